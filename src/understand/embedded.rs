//! The embedded translator: words to predicates without a language model, from the ontology, the facts' names and data files.
//!
//! ```text
//! text ─tokens─▶ words, numbers ─chart─▶ names, values, phrases, pattern readings ─best path─▶ readings
//!      ─resolve─▶ what they refer to, instances, predicates ─account─▶ confidence, words not accounted for
//! ```
//!
//! Nothing here knows a domain; the file formats are those of [`data`].

pub mod chart;
pub mod data;
pub mod gate;
pub mod grammar;
pub mod learned;
pub mod lines;
pub mod model;
pub mod numbers;
pub mod phrase;
pub mod relative;
pub mod repair;
pub mod resolve;
pub mod template;
pub mod text;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use self::chart::{Chart, Edge, Extra, Hints};
use self::data::{Does, DomainFiles};
use self::learned::trust::Candidate;
use self::learned::weigh::Taught;
use self::model::{Knowledge, Model, RoleGrammar};
use self::repair::{Repair, Settled};
use self::resolve::{Entry, Resolver, What};
use self::text::{Kind, Token, plain_words, tokens};
use super::{Context, Heard, Understand, Unsure};
use crate::diag::Diagnostic;
use crate::link::{Nearness, UNKNOWN, Words};
use crate::ontology::Ontology;
use crate::term::{Atom, Name, Term};

/// The input of a domain for what is nothing to it, by convention.
const IRRELEVANT: &str = "irrelevant";

/// The embedded translator of one domain.
#[derive(Clone, Debug)]
pub struct Embedded {
    model: Arc<Model>,
    words: Arc<Words>,
    knowledge: Arc<Knowledge>,
    nearness: Option<Nearness>,
    learned: Option<Arc<Taught>>,
    without: Vec<Part>,
}

/// A part of the translator that can be left out, to measure what it is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The patterns of the lexicon.
    Patterns,
    /// The reader that was learned from labelled utterances.
    Learned,
    /// The second voice.
    Voice,
    /// The gate.
    Gate,
}

impl std::str::FromStr for Part {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        match s {
            "patterns" => Ok(Self::Patterns),
            "learned" => Ok(Self::Learned),
            "voice" => Ok(Self::Voice),
            "gate" => Ok(Self::Gate),
            other => Err(format!("`{other}` is no part of the translator: leave out patterns, learned, voice or gate")),
        }
    }
}

impl Embedded {
    /// Compiles the data files and indexes the names of the facts.
    pub fn load<'f>(ontology: &Ontology, files: &DomainFiles, facts: impl Iterator<Item = &'f Atom>) -> Result<Self, Vec<Diagnostic>> {
        let (model, words) = model::load(ontology, files)?;
        let knowledge = model::knowledge(&model, words.clone(), facts);
        Ok(Self { model: Arc::new(model), words: Arc::new(words), knowledge: Arc::new(knowledge), nearness: None, learned: None, without: vec![] })
    }

    /// The same translator over changed facts: only the name index is built anew.
    #[must_use]
    pub fn with_names<'f>(&self, facts: impl Iterator<Item = &'f Atom>) -> Self {
        let knowledge = model::knowledge(&self.model, (*self.words).clone(), facts);
        Self { knowledge: Arc::new(knowledge), ..self.clone() }
    }

    /// The same without some of its parts.
    #[must_use]
    pub fn without(mut self, parts: &[Part]) -> Self {
        self.without = parts.to_vec();
        self
    }

    /// The same with a scorer for names that spelling leaves unknown or tied.
    #[must_use]
    pub fn with_nearness(mut self, nearness: Nearness) -> Self {
        self.nearness = Some(nearness);
        self
    }

    /// Known names near a phrase, best first: what to offer instead of an unknown one.
    pub fn similar(&self, phrase: &str, most: usize) -> Vec<Name> {
        self.like(phrase, u64::MAX, most)
    }

    fn tokens(&self, text: &str) -> (Vec<Token>, Option<usize>) {
        let k = &self.knowledge;
        let (mut tokens, cut) = tokens(text, &k.words, &self.model.respell, &|w| k.names.knows(w));
        for t in tokens.iter_mut().filter(|t| t.kind == Kind::Word && t.id == UNKNOWN) {
            // A slip in a word that only patterns hold is set right at once.
            if let Some((w, _)) = t.alts.first().filter(|a| a.1 >= 0.88 && !k.names.knows(a.0)) {
                t.id = *w;
            }
        }
        self.merge(&mut tokens);
        for t in &mut tokens {
            // "seven" is also "7" where names hold the digit.
            if let Some(n) = self.model.numbers.units.get(&t.id).filter(|_| t.kind == Kind::Word) {
                let digit = k.words.id(&n.to_string());
                if digit != UNKNOWN {
                    t.alts.push((digit, 1.0));
                }
            }
            if t.kind == Kind::Word {
                self.widen(t);
            }
        }
        (tokens, cut)
    }

    /// Reads groups of words that stand for one as that one.
    fn merge(&self, tokens: &mut Vec<Token>) {
        let mut at = 0;
        while at < tokens.len() {
            let found = self.model.merge.iter().find(|(said, _)| {
                let here = tokens.get(at..at + said.len());
                here.is_some_and(|h| h.iter().zip(said).all(|(t, w)| t.kind == Kind::Word && t.id == *w))
            });
            if let Some((said, one)) = found {
                let end = tokens.get(at + said.len() - 1).map_or(0, |t| t.range.end);
                tokens.drain(at + 1..at + said.len());
                if let Some(t) = tokens.get_mut(at) {
                    t.id = self.knowledge.words.id(one);
                    t.text.clone_from(one);
                    t.alts.clear();
                    t.plural = false;
                    t.range.end = end;
                }
            }
            at += 1;
        }
    }

    /// Further readings of a word: its base form, and the words that may stand for it.
    fn widen(&self, t: &mut Token) {
        let words = &self.knowledge.words;
        let own = t.id;
        for base in bases(&t.text) {
            let id = words.id(&base);
            if id != UNKNOWN && id != own && t.is(id).is_none() {
                t.alts.push((id, if own == UNKNOWN { 0.95 } else { 0.85 }));
            }
        }
        let mut more: Vec<(u32, f32)> = vec![];
        for (w, c) in t.readings().filter(|r| r.1 > 0.8) {
            more.extend(self.model.alike.get(&w).into_iter().flatten().map(|a| (*a, c * 0.9)));
        }
        for (w, c) in more {
            if t.is(w).is_none() {
                t.alts.push((w, c));
            }
        }
    }

    /// What the context makes likely: members that were asked for, what was offered.
    fn hints(&self, context: &Context) -> Hints {
        let mut hints = Hints::default();
        let k = &self.knowledge;
        let group = self.model.lines.as_ref().map(|l| l.config.group.clone()).unwrap_or_default();
        for action in &context.last_actions {
            for arg in &action.args {
                let Term::Str(s) = arg else { continue };
                if action.args.len() == 3 {
                    for member in k.second(&group, s) {
                        if let Some(id) = k.names.find(member) {
                            hints.insert(id, 0.5);
                        }
                    }
                }
            }
        }
        for candidate in context.asked.first().into_iter().flat_map(|a| &a.candidates) {
            if let Some(id) = k.names.find(candidate) {
                hints.insert(id, 0.5);
            }
        }
        hints
    }

    /// Sort bits of everything that the conversation speaks of: what a pronoun may mean.
    fn present(&self, context: &Context) -> u64 {
        let strings = context.last_actions.iter().chain(&context.said_before).flat_map(|a| &a.args).filter_map(Term::as_name);
        strings
            .chain(context.view.names().map(|n| &**n))
            .map(|n| if self.knowledge.names.find(n).is_some() { self.knowledge.mask(n) } else { 0 })
            .fold(0, |a, b| a | b)
    }

    /// Names of the conversation that the facts do not hold.
    fn extra(&self, context: &Context) -> Extra {
        let mut out: Extra = vec![];
        let strings = context
            .last_actions
            .iter()
            .chain(&context.said_before)
            .flat_map(|a| &a.args)
            .filter_map(|t| if let Term::Str(s) = t { Some(s.clone()) } else { None });
        for s in strings.chain(context.view.lines().iter().map(|l| l.item.clone())) {
            if self.knowledge.names.find(&s).is_none() && !out.iter().any(|e| e.1 == s) {
                let words: Vec<String> =
                    plain_words(&s, &self.model.respell).into_iter().filter(|w| w.chars().next().is_some_and(char::is_alphanumeric)).collect();
                out.push((words, s));
            }
        }
        out
    }

    /// The readings that an utterance was taken apart into: words, pattern and score of each, for people who write patterns.
    pub fn readings(&self, text: &str, context: &Context) -> Vec<String> {
        let (tokens, _) = self.tokens(text);
        let Some(grammar) = self.model.roles.get(&context.role) else { return vec![] };
        let extra = self.extra(context);
        let mut chart = self.chart(&tokens, &extra, context, grammar);
        let after: Vec<Option<Vec<(u8, Term)>>> = grammar.patterns.iter().map(|p| condition(p, context)).collect();
        let edges = chart.edges(grammar, &after);
        let (path, _) = chart.best(grammar, &edges);
        let voice = self.voice(text, context, &chart).into_iter().filter(|(_, p)| *p >= 0.05).map(|(kind, p)| format!("{p:.2} by the second voice: {kind}"));
        path.iter()
            .filter_map(|i| edges.get(*i))
            .map(|e| {
                let words: Vec<&str> = tokens.get(e.start..e.end).into_iter().flatten().map(|t| t.text.as_str()).collect();
                let say = grammar.patterns.get(e.pattern).map_or("", |p| &p.say);
                format!("{:.2} [{}] by {}", e.score, words.join(" "), say.chars().take(90).collect::<String>())
            })
            .chain(voice)
            .collect()
    }

    /// Reads the words with a grammar; `more` are words that stand for names which neither facts nor conversation hold.
    fn read(&self, tokens: &[Token], context: &Context, grammar: &RoleGrammar, more: &[(Vec<String>, Name)]) -> Reading {
        let mut extra = self.extra(context);
        extra.extend(more.iter().cloned());
        self.read_at_once(&mut self.chart(tokens, &extra, context, grammar), context, grammar)
    }

    /// The chart of an utterance.
    fn chart<'a>(&'a self, tokens: &'a [Token], extra: &'a Extra, context: &Context, grammar: &'a RoleGrammar) -> Chart<'a> {
        Chart::new(&self.model, &self.knowledge, tokens, extra, self.hints(context), grammar, self.present(context))
    }

    /// Reads the words of a chart, and what is told at once with something new.
    fn read_at_once(&self, chart: &mut Chart<'_>, context: &Context, grammar: &RoleGrammar) -> Reading {
        let reading = self.read_chart(chart, context, grammar, None);
        let Some((told, from)) = self.told_at_once(context, &reading) else { return reading };
        let before = reading.path.iter().filter(|p| p.start < from).cloned().collect();
        // The new name is no answer to what is asked about it: the chart does not know it.
        let again = self.read_chart(&mut self.chart(chart.tokens, chart.extra, &told, grammar), &told, grammar, Some((before, from)));
        let better = again.uncovered.len() < reading.uncovered.len() || again.out.len() > reading.out.len() && again.uncovered.len() == reading.uncovered.len();
        if better { again } else { reading }
    }

    /// The context in which what is asked about something new is asked already: who speaks of it may tell all at once. With it comes
    /// where the answers begin.
    fn told_at_once(&self, context: &Context, reading: &Reading) -> Option<(Context, usize)> {
        let mut asked = vec![];
        let mut from = 0;
        for (atom, end) in reading.out.iter().map(|o| (&o.0, o.1.end)).chain(context.last_actions.iter().map(|a| (a, 0))) {
            for (said, opens) in &self.model.opens {
                let mut binds = vec![];
                let new = |b: &(u8, Term)| matches!(&b.1, Term::Str(n) if self.knowledge.names.find(n).is_none());
                if said.matches(atom, &mut binds) && binds.iter().any(new) {
                    asked.extend(opens.iter().filter_map(|t| t.filled(&binds)));
                    from = from.max(end);
                }
            }
        }
        asked.retain(|a| !context.last_actions.contains(a));
        // What was asked in truth comes last and is answered first.
        let last_actions = asked.iter().chain(&context.last_actions).cloned().collect();
        (!asked.is_empty()).then(|| (Context { last_actions, ..context.clone() }, from))
    }

    /// Reads the words once; `told` are stretches that were read before and stand, and where they end. What comes after them answers, so
    /// that nothing is guessed over gaps.
    fn read_chart(&self, chart: &mut Chart<'_>, context: &Context, grammar: &RoleGrammar, told: Option<(Vec<Range<usize>>, usize)>) -> Reading {
        let tokens = chart.tokens;
        let after: Vec<Option<Vec<(u8, Term)>>> = grammar.patterns.iter().map(|p| condition(p, context)).collect();
        let mut edges = chart.edges(grammar, &after);
        if let Some((stands, from)) = told {
            let answers = |e: &Edge| grammar.patterns.get(e.pattern).is_some_and(|p| !p.loose || p.after.is_some());
            edges.retain(|e| if e.start < from { stands.contains(&(e.start..e.end)) } else { answers(e) });
        }
        let (path, score) = chart.best(grammar, &edges);
        let chart = &*chart;
        let mut resolver = Resolver::new(chart, grammar, context);
        resolver.run(&edges, &path, &after);
        let mut covered = covered(tokens.len(), &edges, &path, grammar);
        let uncovered: Vec<usize> = (0..tokens.len()).filter(|i| !covered.get(*i).copied().unwrap_or(false) && chart.skip_cost(*i) > 0.3).collect();
        let loose = (0..tokens.len()).filter(|i| !covered.get(*i).copied().unwrap_or(false) && chart.skip_cost(*i) > 0.0).count();
        let mut unsure = std::mem::take(&mut resolver.unsure);
        let mut barren = std::mem::take(&mut resolver.barren);
        let name_score = resolver.name_score;
        let named = (0..tokens.len()).map(|i| chart.names_at.get(i).is_some_and(|n| !n.is_empty()) && covered.get(i).copied().unwrap_or(false)).collect();
        let name_ends = (0..tokens.len())
            .map(|i| chart.names_at.get(i).into_iter().flatten().filter_map(|e| chart.names.get(*e)).map(|e| e.end).max().unwrap_or(i))
            .collect();
        let lost = (0..tokens.len()).map(|i| uncovered.contains(&i)).collect();
        let steps: Vec<&Edge> = path.iter().filter_map(|i| edges.get(*i)).collect();
        let corrects = |e: &&&Edge| grammar.patterns.get(e.pattern).is_some_and(|p| p.does == Some(Does::Correct));
        let corrections = steps.iter().filter(corrects).map(|e| e.start).collect();
        self.unask(&mut resolver, tokens, grammar);
        let mut out = finish(resolver);
        // A part of a name amid words that mean nothing here is a coincidence.
        let spoken = tokens.iter().filter(|t| t.punct().is_none()).count();
        let accidental = name_score < 0.85 && loose * 2 > spoken && spoken > 2;
        let told_of = self.is_told_of(tokens, &edges, &path, grammar);
        if accidental || told_of.is_some() || self.is_mention(tokens, &edges, &path, grammar, loose, spoken) {
            out.clear();
            unsure.clear();
        }
        barren.extend(told_of.map(|span| (span, true)));
        let guessed = path.iter().filter_map(|i| edges.get(*i)).any(|e| grammar.patterns.get(e.pattern).is_some_and(|p| p.loose));
        for at in barren.iter().flat_map(|b| b.0.clone()) {
            covered.get_mut(at).into_iter().for_each(|c| *c = false);
        }
        let path = steps.iter().map(|e| e.start..e.end).collect();
        let gapped = steps.iter().filter(|e| grammar.patterns.get(e.pattern).is_some_and(|p| p.loose)).map(|e| e.start..e.end).collect();
        Reading {
            out,
            unsure,
            uncovered,
            loose,
            name_score,
            score,
            barren,
            covered,
            lost,
            named,
            name_ends,
            corrections,
            path,
            gapped,
            guessed,
            invented: false,
        }
    }

    /// A name that stands by itself in a question is what is asked about, no wish for it.
    fn unask(&self, resolver: &mut Resolver<'_, '_>, tokens: &[Token], grammar: &RoleGrammar) {
        let answers = |e: &Entry| grammar.patterns.get(e.pattern).is_some_and(|p| !p.bare && p.weak < 2);
        if !resolver.entries.iter().any(|e| matches!(e.what, What::Atom(_)) && answers(e)) {
            return;
        }
        let asked = |at: usize| {
            let start = (0..at).rev().find(|i| tokens.get(*i).is_some_and(|t| matches!(t.punct(), Some('.' | '?' | '!')))).map_or(0, |i| i + 1);
            let mut words = (start..at).filter(|i| tokens.get(*i).is_some_and(|t| t.kind == Kind::Word && !self.model.fillers.contains(&t.id)));
            let asks = words.next().and_then(|i| tokens.get(i)).is_some_and(|t| self.model.phrase.has("question", t.id));
            asks && !resolver.wishes.iter().any(|w| *w >= start && *w < at)
        };
        let lines: Vec<usize> = resolver
            .entries
            .iter()
            .filter(|e| grammar.patterns.get(e.pattern).is_some_and(|p| p.bare && p.after.is_none()) && asked(e.span.start))
            .filter_map(|e| if let What::Line(l) = e.what { Some(l) } else { None })
            .collect();
        for e in &mut resolver.entries {
            let gone = match &e.what {
                What::Line(l) => lines.contains(l),
                What::Change { target, .. } => target.line.is_some_and(|l| lines.contains(&l)),
                _ => false,
            };
            if gone {
                e.what = What::Gone;
            }
        }
    }

    /// "The coffee is too hot": where something is told of the one thing that is named, it is no wish for it.
    fn is_told_of(&self, tokens: &[Token], edges: &[Edge], path: &[usize], grammar: &RoleGrammar) -> Option<Range<usize>> {
        let at = |i: usize, kind: &str| tokens.get(i).is_some_and(|t| self.model.phrase.has(kind, t.id));
        let mut read = path.iter().filter_map(|i| edges.get(*i)).filter(|e| {
            let pattern = grammar.patterns.get(e.pattern);
            pattern.is_some_and(|p| !matches!(p.does, Some(Does::Nothing | Does::Want)))
        });
        let (first, more) = (read.next()?, read.next());
        let bare = grammar.patterns.get(first.pattern).is_some_and(|p| p.bare && p.after.is_none());
        // A pronoun names nothing: "that's cool".
        let named = first.end > first.start + 1;
        (named && bare && more.is_none() && at(first.start, "definite") && at(first.end, "states")).then_some(first.start..first.end)
    }

    /// Whether names are only mentioned, in a question or a story that nothing here reads: nothing is asked for then.
    fn is_mention(&self, tokens: &[Token], edges: &[Edge], path: &[usize], grammar: &RoleGrammar, loose: usize, spoken: usize) -> bool {
        let first = tokens.iter().find(|t| t.kind == Kind::Word && !self.model.fillers.contains(&t.id));
        let asks = first.is_some_and(|t| self.model.phrase.has("question", t.id));
        let mut bare = false;
        let mut loose = loose;
        for e in path.iter().filter_map(|i| edges.get(*i)) {
            let Some(p) = grammar.patterns.get(e.pattern) else { continue };
            match p.does {
                Some(Does::Nothing) => {}
                None if p.weak == 2 && p.means.iter().all(|t| &*t.name == IRRELEVANT) => loose += e.end - e.start,
                // At the start of a clause a name is said for itself.
                None if p.bare && p.after.is_none() => {
                    let before = e.start.checked_sub(1).and_then(|i| tokens.get(i));
                    let opens = before.is_none_or(|t| t.punct().is_some() || self.model.fillers.contains(&t.id) || self.model.phrase.has("joint", t.id));
                    if opens && !asks {
                        return false;
                    }
                    bare = true;
                }
                _ => return false,
            }
        }
        bare && (asks && loose > 0 || loose >= 4 && loose * 2 > spoken)
    }

    /// Whether the text is code, data or markup rather than speech.
    fn is_code(text: &str) -> bool {
        let bytes = text.as_bytes();
        let call = text.char_indices().any(|(i, c)| {
            c == '(' && i > 0 && bytes.get(i - 1).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_') && text.get(i..).is_some_and(|r| r.contains(')'))
        });
        let braces = (text.contains('{') && text.contains('}')) || text.contains("</") || text.contains(":-") || text.contains("```");
        call || braces
    }
}

/// What one role's grammar makes of an utterance.
pub struct Reading {
    out: Vec<(Atom, Range<usize>)>,
    unsure: Vec<(Range<usize>, Unsure)>,
    uncovered: Vec<usize>,
    loose: usize,
    name_score: f32,
    score: f32,
    /// Stretches whose reading led to nothing, and whether it is meant to.
    barren: Vec<(Range<usize>, bool)>,
    /// For each token whether a reading that led to something holds it.
    covered: Vec<bool>,
    /// For each token whether it matters and nothing holds it.
    lost: Vec<bool>,
    /// For each token whether a name that was read begins there.
    named: Vec<bool>,
    /// For each token the end of the longest name that begins there.
    name_ends: Vec<usize>,
    /// Where corrections begin.
    corrections: Vec<usize>,
    /// The stretches of the readings, in order.
    path: Vec<Range<usize>>,
    /// Those of them that were read with gaps.
    gapped: Vec<Range<usize>>,
    /// Whether words were taken for a name that nothing known bears.
    invented: bool,
    /// Whether a reading with gaps was taken.
    guessed: bool,
}

/// The words as a name: capitals but for small words inside.
fn title_case(tokens: &[Token]) -> String {
    let mut out: Vec<String> = vec![];
    for t in tokens {
        let mut chars = t.text.chars();
        let word = chars.next().map(|c| c.to_uppercase().collect::<String>() + chars.as_str()).unwrap_or_default();
        let small = !out.is_empty() && matches!(t.text.as_str(), "and" | "of" | "with" | "the" | "in" | "on" | "de" | "van" | "von" | "der" | "la" | "di");
        out.push(if small { t.text.clone() } else { word });
    }
    out.join(" ")
}

/// The bindings of a pattern's condition, `None` if it does not hold. The latest action that matches counts, then what the
/// conversation holds, then what was said before.
fn condition(p: &model::Pattern, context: &Context) -> Option<Vec<(u8, Term)>> {
    if p.needs_line && context.view.lines().is_empty() {
        return None;
    }
    let Some(after) = &p.after else { return Some(vec![]) };
    let binds = |a: &Atom| {
        let mut binds = vec![];
        after.matches(a, &mut binds).then_some(binds)
    };
    context.last_actions.iter().rev().chain(context.view.atoms()).chain(context.said_before.iter().rev()).find_map(binds)
}

fn covered(n: usize, edges: &[Edge], path: &[usize], grammar: &RoleGrammar) -> Vec<bool> {
    let mut out = vec![false; n];
    for e in path.iter().filter_map(|i| edges.get(*i)) {
        let stop = grammar.patterns.get(e.pattern).is_some_and(|p| p.does == Some(Does::Stop));
        let end = if stop { n } else { e.end };
        out.iter_mut().take(end).skip(e.start).for_each(|c| *c = true);
    }
    out
}

/// Entries to atoms: weak ones give way, equal changes of one instance count once, numbered ones get their number.
fn finish(resolver: Resolver<'_, '_>) -> Vec<(Atom, Range<usize>)> {
    let Resolver { chart, grammar, ledger, mut entries, .. } = resolver;
    let change: Name = chart.model.lines.as_ref().map_or("", |l| l.config.change.as_str()).into();
    void(grammar, &change, &mut entries);
    let strength = entries.iter().filter(|e| e.what != What::Gone).map(|e| e.weak).min().unwrap_or(0);
    let member = chart.model.lines.as_ref().map(|l| l.config.member.clone()).unwrap_or_default();
    let replace = chart.model.lines.as_ref().map(|l| l.config.replace.clone()).unwrap_or_default();
    // Nothing takes its own place.
    let idle = |what: &What| matches!(what, What::Atom(a) if *a.name == *replace && a.args.first() == a.args.get(1));
    let mut kept: Vec<Entry> = vec![];
    for e in entries {
        if e.what == What::Gone || idle(&e.what) || e.weak > strength {
            continue;
        }
        let again = kept.iter().any(|k| match (&k.what, &e.what) {
            (What::Atom(a), What::Atom(b)) => a == b && k.span != e.span && *a.name != *member,
            (What::Change { target: a, rest: r }, What::Change { target: b, rest: s }) => r == s && a.item == b.item && !a.ids.is_empty() && a.ids == b.ids,
            _ => false,
        });
        if !again {
            kept.push(e);
        }
    }
    let Some(lines) = chart.model.lines.as_ref() else {
        return kept.into_iter().filter_map(|e| if let What::Atom(a) = e.what { Some((a, e.span)) } else { None }).collect();
    };
    // Groups of a line that are told apart get numbers.
    let mut groups: Vec<(usize, Vec<usize>)> = vec![];
    for e in &kept {
        if let What::Change { target, .. } = &e.what
            && let (true, Some(line)) = (target.partial && !target.placed, target.line)
            && !groups.iter().any(|g| g.0 == line && g.1 == target.ids)
        {
            groups.push((line, target.ids.clone()));
        }
    }
    let mut out = vec![];
    for e in kept {
        match e.what {
            What::Atom(a) => out.push((a, e.span)),
            What::Line(l) => {
                let count = ledger.count(l);
                if count > 0 {
                    out.push((
                        Atom { name: lines.config.add.as_str().into(), args: vec![Term::Str(ledger.line_item(l)), Term::Int(resolve::to_i32(count))] },
                        e.span,
                    ));
                }
            }
            What::Change { target, rest } => {
                let told_apart = target.line.is_some_and(|l| target.partial && groups.iter().filter(|g| g.0 == l).count() > 1);
                let name: Name = lines.config.change.as_str().into();
                if target.ids.is_empty()
                    && let Some(item) = &target.item
                {
                    let args = std::iter::once(Term::Str(item.clone())).chain(rest.iter().cloned()).collect();
                    out.push((Atom { name: name.clone(), args }, e.span.clone()));
                }
                for id in &target.ids {
                    let Some(item) = ledger.item_of(*id) else { continue };
                    let mut args: Vec<Term> = std::iter::once(Term::Str(item)).chain(rest.iter().cloned()).collect();
                    if target.placed || told_apart {
                        args.push(Term::Int(i32::try_from(ledger.place_of(*id)).unwrap_or(1)));
                    }
                    out.push((Atom { name: name.clone(), args }, e.span.clone()));
                }
            }
            What::Gone => {}
        }
    }
    out
}

/// Takes out what something else said in the turn makes void: the question for the total, of who is done.
fn void(grammar: &RoleGrammar, change: &Name, entries: &mut [Entry]) {
    let over: Vec<(usize, Option<Atom>, Arc<Vec<template::Template>>)> = entries
        .iter()
        .filter(|e| e.what != What::Gone)
        .filter_map(|e| {
            let own = if let What::Atom(a) = &e.what { Some(a.clone()) } else { None };
            Some((e.pattern, own, grammar.patterns.get(e.pattern)?.over.clone()))
        })
        .filter(|o| !o.2.is_empty())
        .collect();
    for e in entries.iter_mut() {
        let atom = match &e.what {
            What::Atom(atom) => atom.clone(),
            What::Change { target, rest } => {
                let item = target.item.as_ref().map(|i| Term::Str(i.clone()));
                Atom { name: change.clone(), args: item.into_iter().chain(rest.iter().cloned()).collect() }
            }
            _ => continue,
        };
        let void = |(p, own, o): &(usize, Option<Atom>, Arc<Vec<template::Template>>)| {
            *p != e.pattern && own.as_ref() != Some(&atom) && o.iter().any(|t| t.matches(&atom, &mut vec![]))
        };
        if over.iter().any(void) {
            e.what = What::Gone;
        }
    }
}

fn bytes(tokens: &[Token], span: &Range<usize>) -> Range<usize> {
    let start = tokens.get(span.start).map_or(0, |t| t.range.start);
    let end = span.end.checked_sub(1).and_then(|i| tokens.get(i)).map_or(start, |t| t.range.end);
    start..end.max(start)
}

impl Understand for Embedded {
    fn over(&self, facts: &[Atom]) -> Option<Arc<dyn Understand>> {
        Some(Arc::new(self.with_names(facts.iter())))
    }

    fn understand(&self, text: &str, context: &Context) -> Heard {
        let nothing = Heard { by: "embedded", ..Heard::default() };
        let Some(grammar) = self.model.roles.get(&context.role) else { return nothing };
        if Self::is_code(text) && self.says_irrelevant(context) {
            let irrelevant = Atom { name: IRRELEVANT.into(), args: vec![] };
            return Heard { predicates: vec![irrelevant], words: vec![vec![0..text.len()]], confidence: 0.95, ..nothing };
        }
        self.with_readings(text, context, grammar, |chart, readings| self.gated(text, context, chart, readings)).unwrap_or_else(|settled| settled)
    }

    fn gate(&self, text: &str, context: &Context, heard: Heard) -> Heard {
        self.with_chart(text, context, |chart, _| self.borne_out(text, context, chart, heard.clone())).unwrap_or(heard)
    }
}

impl Embedded {
    /// Calls with the chart of an utterance and what was read of it; what the patterns settle is not judged any more.
    fn with_readings<T>(&self, text: &str, context: &Context, grammar: &RoleGrammar, f: impl FnOnce(&Chart<'_>, Vec<Candidate>) -> T) -> Result<T, Heard> {
        let (tokens, cut) = self.tokens(text);
        let extra = self.extra(context);
        let mut chart = self.chart(&tokens, &extra, context, grammar);
        let (mut heard, settled) = self.by_patterns(text, cut, &mut chart, context, grammar);
        if settled {
            return Err(heard);
        }
        if self.without.contains(&Part::Patterns) {
            heard = Heard { confidence: 0.1, by: "embedded", ..Heard::default() };
        }
        let readings = self.candidates(text, context, grammar, &chart, heard);
        Ok(f(&chart, readings))
    }

    /// Calls with the chart of an utterance, both readings and what the second voice says; nothing where patterns settle it.
    pub(in crate::understand::embedded) fn read_twice<T>(
        &self,
        text: &str,
        context: &Context,
        f: impl FnOnce(&Chart<'_>, &[Candidate], &BTreeMap<String, f32>) -> T,
    ) -> Option<T> {
        let grammar = self.model.roles.get(&context.role)?;
        self.with_readings(text, context, grammar, |chart, readings| f(chart, &readings, &self.voice(text, context, chart))).ok()
    }

    /// Whether the speaker's vocabulary has a word for what is nothing to it.
    fn says_irrelevant(&self, context: &Context) -> bool {
        self.model.forms.contains_key(&(context.role.clone(), IRRELEVANT.into(), 0))
    }

    /// What the patterns make of an utterance, and whether that is all that can be made of it.
    fn by_patterns(&self, text: &str, cut: Option<usize>, chart: &mut Chart<'_>, context: &Context, grammar: &RoleGrammar) -> (Heard, bool) {
        let mut heard = Heard { by: "embedded", ..Heard::default() };
        let tokens = chart.tokens;
        let repair = Repair { ear: self, text, tokens, context, grammar };
        if let Some(settled) = repair.settle() {
            return (Self::settled(settled, context, text), true);
        }
        let (reading, unheard) = repair.fill(self.read_at_once(chart, context, grammar));
        let reading = if reading.unsure.is_empty() { reading } else { repair.alternatives(reading) };
        heard.unheard = unheard;
        let nothing = reading.barren.iter().any(|b| b.1);
        heard.uncovered = reading.uncovered.iter().filter_map(|i| tokens.get(*i)).map(|t| t.range.clone()).collect();
        heard.uncovered.extend(cut.map(|c| c..text.len()));
        heard.unsure = reading.unsure.iter().map(|u| u.1.clone()).collect();
        let spoken = tokens.iter().filter(|t| t.punct().is_none()).count();
        if reading.out.is_empty() && heard.unsure.is_empty() && heard.unheard.is_empty() {
            if self.says_irrelevant(context) && (self.is_other_roles(tokens, context) || self.is_small_talk(tokens)) {
                heard.predicates.push(Atom { name: IRRELEVANT.into(), args: vec![] });
                heard.words.push(vec![0..text.len()]);
                heard.uncovered.clear();
                heard.confidence = 0.6;
            } else {
                heard.confidence = 0.1;
            }
            return (heard, nothing);
        }
        heard.nearest = repair.nearest(&reading.out.iter().map(|(a, _)| a.clone()).collect::<Vec<_>>());
        for (atom, span) in reading.out {
            heard.predicates.push(atom);
            heard.words.push(vec![bytes(tokens, &span)]);
        }
        let lost = 0.75 * ratio(reading.uncovered.len() * 2, spoken) + 0.15 * ratio(reading.loose, spoken);
        let unsure = if heard.unsure.is_empty() { 1.0 } else { 0.5 };
        heard.confidence = ((1.0 - lost).max(0.05) * f64::from(reading.name_score) * unsure).clamp(0.05, 0.99);
        let denied = reading.uncovered.iter().filter_map(|i| tokens.get(*i)).any(|t| self.model.phrase.has("negation", t.id));
        if denied {
            heard.confidence *= 0.5;
        }
        if reading.guessed {
            heard.confidence *= 0.9;
        }
        if reading.invented || !heard.unheard.is_empty() {
            heard.confidence *= 0.6;
        }
        if cut.is_some() {
            heard.confidence = heard.confidence.min(0.3);
        }
        (heard, nothing)
    }

    /// An answer to the engine's question about a name, with the questions that are still open.
    fn settled(settled: Settled, context: &Context, text: &str) -> Heard {
        let open = Heard { by: "embedded", confidence: 0.5, ..Heard::default() };
        match settled {
            Settled::Open => Heard { unsure: context.asked.clone(), ..open },
            Settled::Meant(predicates) => {
                let words = vec![vec![0..text.len()]; predicates.len()];
                let unsure = context.asked.iter().skip(1).cloned().collect();
                Heard { words, predicates, unsure, confidence: 0.9, ..open }
            }
        }
    }

    /// Whether another role's grammar reads the words well: then they are a wish for the rights of others.
    fn is_other_roles(&self, tokens: &[Token], context: &Context) -> bool {
        self.model.roles.iter().filter(|(r, _)| **r != context.role).any(|(role, grammar)| {
            let other = Context { role: role.clone(), ..Context::default() };
            let reading = self.read(tokens, &other, grammar, &[]);
            !reading.out.is_empty() && reading.score > 0.0 && reading.uncovered.len() * 3 <= tokens.len()
        })
    }

    /// Whether the words are a sentence of the language, though of nothing that is done here.
    fn is_small_talk(&self, tokens: &[Token]) -> bool {
        let words: Vec<&Token> = tokens.iter().filter(|t| t.kind == Kind::Word).collect();
        let known =
            words.iter().filter(|t| self.model.ordinary.contains(&t.id) || self.model.fillers.contains(&t.id) || self.model.phrase.has("small", t.id)).count();
        words.len() >= 3 && known * 2 >= words.len()
    }
}

/// The forms that a word in -ing or -ed may be of: put of putting, take of taking, drop of dropped.
fn bases(word: &str) -> Vec<String> {
    if !word.is_ascii() {
        return vec![];
    }
    let stem = word.strip_suffix("ing").filter(|s| s.len() > 1).or_else(|| word.strip_suffix("ed").filter(|s| s.len() > 2));
    let Some(stem) = stem else { return vec![] };
    let mut out = vec![stem.to_owned(), format!("{stem}e")];
    let mut last = stem.chars().rev();
    if let (Some(a), Some(b)) = (last.next(), last.next())
        && a == b
    {
        out.push(stem.get(..stem.len() - 1).unwrap_or(stem).to_owned());
    }
    out
}

fn ratio(part: usize, whole: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts of words are small")]
    if whole == 0 { 0.0 } else { (part as f64 / whole as f64).min(1.0) }
}
