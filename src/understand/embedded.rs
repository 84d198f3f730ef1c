//! The embedded translator: words to predicates without a language model, from the ontology, the facts' names and data files.
//!
//! ```text
//! text ─tokens─▶ words, numbers ─chart─▶ names, values, phrases, pattern readings ─best path─▶ readings
//!      ─resolve─▶ what they refer to, instances, predicates ─account─▶ confidence, words not accounted for
//! ```
//!
//! Nothing here knows a domain; the file formats are those of [`data`].

pub mod borne;
pub mod chart;
pub mod data;
pub mod gate;
pub mod grammar;
pub mod knowledge;
pub mod learned;
pub mod lines;
pub mod model;
pub mod numbers;
pub mod phrase;
pub mod reading;
pub mod relative;
pub mod repair;
pub mod resolve;
pub mod run_on;
pub mod template;
pub mod text;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use self::chart::{Chart, Extra, Hints};
use self::data::DomainFiles;
use self::knowledge::Knowledge;
use self::learned::trust::Candidate;
use self::learned::weigh::Taught;
use self::model::{Model, RoleGrammar};
use self::reading::Reading;
use self::repair::{Repair, Settled};
use self::text::{Kind, Token, plain_words, tokens};
use super::{Context, Heard, Understand};
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
        let knowledge = knowledge::knowledge(&model, words.clone(), facts);
        Ok(Self { model: Arc::new(model), words: Arc::new(words), knowledge: Arc::new(knowledge), nearness: None, learned: None, without: vec![] })
    }

    /// The same translator over changed facts: only the name index is built anew.
    #[must_use]
    pub fn with_names<'f>(&self, facts: impl Iterator<Item = &'f Atom>) -> Self {
        let knowledge = knowledge::knowledge(&self.model, (*self.words).clone(), facts);
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
                here.is_some_and(|h| h.iter().zip(said).all(|(t, w)| t.punct().is_none() && t.id != UNKNOWN && t.id == *w))
            });
            if let Some((said, one)) = found {
                let end = tokens.get(at + said.len() - 1).map_or(0, |t| t.range.end);
                tokens.drain(at + 1..at + said.len());
                if let Some(t) = tokens.get_mut(at) {
                    t.id = self.knowledge.words.id(one);
                    t.text.clone_from(one);
                    t.kind = Kind::Word;
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
        let config = self.model.lines.as_ref().map(|l| &l.config);
        let (group, composed) = config.map(|c| (c.group.clone(), c.composed.clone())).unwrap_or_default();
        let mut hint = |place: &Name, worth: f32| {
            for id in k.second(&group, place).iter().filter_map(|m| k.names.find(m)) {
                let known = hints.entry(id).or_default();
                *known = known.max(worth);
            }
        };
        for action in &context.last_actions {
            for arg in &action.args {
                let Term::Str(name) = arg else { continue };
                // "Steak", after a combo that may be had with the steak one.
                k.second(&composed, name).iter().for_each(|place| hint(place, 0.3));
                if action.args.len() == 3 {
                    hint(name, 0.5);
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
            .chain(context.view.atoms().iter().flat_map(|a| &a.args))
            .filter_map(|t| if let Term::Str(s) = t { Some(s.clone()) } else { None });
        for s in strings.chain(context.view.names().cloned()) {
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
        let (edges, _) = chart.edges(grammar, context);
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

    /// The chart of an utterance.
    fn chart<'a>(&'a self, tokens: &'a [Token], extra: &'a Extra, context: &Context, grammar: &'a RoleGrammar) -> Chart<'a> {
        Chart::new(&self.model, &self.knowledge, tokens, extra, self.hints(context), grammar, self.present(context))
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
        let (tokens, cut) = self.tokens(text);
        let hear = |tokens: &[Token]| {
            let gated = |chart: &Chart<'_>, readings, voice: &BTreeMap<String, f32>| self.gated(context, chart, readings, voice);
            self.with_readings(text, (tokens, cut), context, grammar, gated).unwrap_or_else(|settled| settled)
        };
        let at_once = hear(&tokens);
        self.heard_otherwise(&tokens, context, &at_once, hear).unwrap_or(at_once)
    }

    fn gate(&self, text: &str, context: &Context, heard: Heard) -> Heard {
        let Some(grammar) = self.model.roles.get(&context.role) else { return heard };
        let (tokens, cut) = self.tokens(text);
        let own = |readings: Vec<Candidate>| readings.into_iter().map(|c| c.heard).collect::<Vec<_>>();
        let judge = |chart: &Chart<'_>, own: &[Heard], voice: &BTreeMap<String, f32>| self.borne_out(context, chart, own, voice, heard.clone());
        self.with_readings(text, (&tokens, cut), context, grammar, |chart, readings, voice| judge(chart, &own(readings), voice)).unwrap_or_else(|settled| {
            let extra = self.extra(context);
            let chart = self.chart(&tokens, &extra, context, grammar);
            judge(&chart, &[settled], &self.voice(text, context, &chart))
        })
    }
}

impl Embedded {
    /// Calls with the chart of an utterance, both readings and what the second voice says; what the patterns settle is not judged any more.
    fn with_readings<T>(
        &self,
        text: &str,
        (tokens, cut): (&[Token], Option<usize>),
        context: &Context,
        grammar: &RoleGrammar,
        f: impl FnOnce(&Chart<'_>, Vec<Candidate>, &BTreeMap<String, f32>) -> T,
    ) -> Result<T, Heard> {
        let extra = self.extra(context);
        let mut chart = self.chart(tokens, &extra, context, grammar);
        let (mut heard, settled) = self.by_patterns(text, cut, &mut chart, context, grammar);
        if settled {
            return Err(heard);
        }
        if self.without.contains(&Part::Patterns) {
            heard = Heard { confidence: 0.1, by: "embedded", ..Heard::default() };
        }
        let voice = self.voice(text, context, &chart);
        let readings = self.candidates(text, context, grammar, &chart, heard, &voice);
        Ok(f(&chart, readings, &voice))
    }

    /// The same for an utterance as it is written; nothing where patterns settle it.
    pub(in crate::understand::embedded) fn read_twice<T>(
        &self,
        text: &str,
        context: &Context,
        f: impl FnOnce(&Chart<'_>, &[Candidate], &BTreeMap<String, f32>) -> T,
    ) -> Option<T> {
        let grammar = self.model.roles.get(&context.role)?;
        let (tokens, cut) = self.tokens(text);
        self.with_readings(text, (&tokens, cut), context, grammar, |chart, readings, voice| f(chart, &readings, voice)).ok()
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
    if let (Some(a), Some(b), true) = (last.next(), last.next(), stem.len() > 3)
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
