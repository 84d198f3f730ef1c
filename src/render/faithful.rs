//! Faithfulness: a reply in other words says what its actions hold, no more and no less.
//!
//! Two judges must agree. The first reads the reply back into actions by a grammar made of the domain's replies, templates and names
//! for this very reply (`grammar`, `chart`): every word is accounted for by a wording of some action, by the template's own sentence,
//! or by words that assert nothing, and every action is said once. The second (`clauses`) knows no grammar: it binds names, numbers,
//! amounts and denials clause by clause to the actions that hold them. [`unsupported`] checks a text against predicates alone.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::render::templates::text::Words;
use crate::render::{Render, Say, Tone};
use crate::term::{Atom, Term};

mod alike;
mod chart;
mod clauses;
pub mod grammar;
mod names;
mod phrase;
pub mod scan;
mod words;

use chart::{Reading, State};
use clauses::{Behind, Clauses};
use grammar::{ACTIONS, Grammar, Ground, Mask};
use names::Reach;
use scan::{Entity, NameIndex, read, sentences};

/// Wordings of the template that are known beside the turn's own.
const VARIANTS: u64 = 6;

/// Why a text is not faithful, in words for the retry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// Words that no action, no sentence of the draft and no social phrase accounts for.
    #[error("`{0}` says something that the draft does not, or in a way that is not understood")]
    Words(String),
    /// Something that the actions do not hold.
    #[error("{0} is not part of the reply and must not occur")]
    Unsupported(String),
    /// Something that the actions hold is missing.
    #[error("this must be said too, once: {0}")]
    Missing(String),
    /// A refusal became an assertion or the other way round.
    #[error("what the draft denies must be denied, and nothing else; near: {0}")]
    Negation(String),
    /// Far more was said than the draft holds.
    #[error("the text is much longer than the draft")]
    Length,
    /// Nothing was said.
    #[error("the reply is empty")]
    Empty,
}

impl Violation {
    /// A stable word for reports.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Words(_) => "words",
            Self::Unsupported(_) => "unsupported",
            Self::Missing(_) => "missing",
            Self::Negation(_) => "negation",
            Self::Length => "length",
            Self::Empty => "empty",
        }
    }
}

impl serde::Serialize for Violation {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

/// What a domain's replies may be made of.
#[derive(Clone, Debug)]
pub struct Faithful {
    names: NameIndex,
    /// What the grammar asks of the site.
    facts: Arc<[Atom]>,
    grammar: Arc<Grammar>,
    words: Arc<Words>,
}

impl Faithful {
    /// For the facts of a site, by the domain's grammar of replies and its words.
    pub fn new(facts: &[Atom], grammar: Arc<Grammar>, words: Words) -> Self {
        Self { names: NameIndex::default(), facts: Arc::default(), grammar, words: Arc::new(words) }.over(facts)
    }

    /// The same for a site with other facts.
    #[must_use]
    pub fn over(&self, facts: &[Atom]) -> Self {
        let (mut names, mut kinds) = (vec![], BTreeSet::new());
        facts.iter().flat_map(|f| &f.args).for_each(|t| collect(t, &mut names, &mut kinds));
        // A name that is also the word for a kind of thing ("a drink") names nothing by itself.
        let names = NameIndex::new(names.into_iter().filter(|n| !kinds.contains(&n.to_lowercase())));
        Self { names, facts: self.grammar.asked_of(facts).cloned().collect(), ..self.clone() }
    }

    /// Checks a text against the actions; `template` gives their plain words.
    pub fn check(&self, text: &str, says: &[Say], tone: &Tone, template: &dyn Render) -> Result<(), Violation> {
        let mut checker = self.checker(says, tone, template);
        for sentence in sentences(text) {
            checker.add(&sentence);
        }
        checker.finish()
    }

    /// A checker that takes sentences as they come and tells which may be released.
    pub fn checker(&self, says: &[Say], tone: &Tone, template: &dyn Render) -> Checker {
        let too_many = says.len() > ACTIONS;
        let says = says.get(..says.len().min(ACTIONS)).unwrap_or_default();
        let drafts = template.parts(says, tone);
        let mut checker = Checker {
            ground: self.grammar.ground(says, &tone.role, &self.words, &self.names, &self.facts),
            clauses: Clauses::new(says, tone, template, &self.names, &self.grammar, &self.words.currency),
            drafts: drafts.iter().map(|(of, text)| (mask(of), text.clone())).collect(),
            drafted: drafts.iter().flat_map(|(_, text)| sentences(text)).map(|s| words::tokens(&s)).collect(),
            silent: self.grammar.silent(says),
            bound: vec![],
            states: vec![State::default()],
            held: vec![],
            fault: too_many.then_some(Violation::Length),
            behind: Behind::default(),
            spoken: vec![],
            asks: says.iter().enumerate().filter_map(|(at, say)| Some((1 << at, self.grammar.asked(&say.action)?))).collect(),
            topics: vec![],
            opening: None,
        };
        let tones = (0..VARIANTS).map(|turn| Tone { turn: tone.turn.wrapping_add(turn), ..tone.clone() });
        let known: BTreeSet<(Vec<usize>, String)> = tones.flat_map(|tone| template.parts(says, &tone)).collect();
        for (of, text) in known {
            checker.clauses.allow(&text);
            checker.literal(mask(&of), &text, &self.grammar);
        }
        checker
    }
}

/// A text with its words in full that are cut short.
fn shorts<'a>(text: &str, stands_for: impl Fn(&str) -> Option<&'a String>) -> String {
    let full = |piece: &str| {
        let word = piece.trim_end_matches(|c: char| !c.is_alphanumeric());
        stands_for(&word.to_lowercase()).and_then(|name| Some(name.clone() + piece.strip_prefix(word)?)).unwrap_or_else(|| piece.to_owned())
    };
    text.split_inclusive(|c: char| !c.is_alphanumeric()).map(full).collect()
}

fn mask(of: &[usize]) -> Mask {
    of.iter().fold(0, |m, i| m | 1 << i)
}

/// A check under way. Sentences are held until what they say closes with sentences of the draft; then they are released for good.
#[derive(Clone, Debug)]
pub struct Checker {
    ground: Ground,
    clauses: Clauses,
    /// The draft's sentences with the actions that they say.
    drafts: Vec<(Mask, String)>,
    /// The words of each of them.
    drafted: Vec<words::Phrase>,
    /// Actions that need no words.
    silent: Mask,
    /// Who says the first of these as the template does must say the second too.
    bound: Vec<(Mask, Mask)>,
    states: Vec<State>,
    held: Vec<String>,
    fault: Option<Violation>,
    /// What was named last.
    behind: Behind,
    /// What was said so far, sentence by sentence.
    spoken: Vec<words::Phrase>,
    /// Questions about one thing, each with its name.
    asks: Vec<(Mask, String)>,
    /// What was spoken of last.
    topics: Vec<String>,
    /// A name that was asked by itself.
    opening: Option<String>,
}

impl Checker {
    /// The template's own sentences may be said as they are; the way on behind a refusal may be left out, what holds something not.
    fn literal(&mut self, of: Mask, text: &str, grammar: &Grammar) {
        let (mut first, mut needed) = (of, 0);
        let all = sentences(text);
        let further: Vec<Mask> = all.iter().skip(1).map(|_| self.ground.bit()).collect();
        for (sentence, own) in all.iter().skip(1).zip(&further) {
            needed |= if self.clauses.holds_something(sentence) { *own } else { 0 };
        }
        if needed != 0 {
            let used = self.ground.bit();
            first |= used;
            self.bound.push((used, needed));
        }
        for (sentence, own) in all.iter().zip(std::iter::once(&first).chain(&further)) {
            let mut words = words::tokens(sentence);
            let asks = words.last().is_some_and(|w| w == "?");
            if words.last().is_some_and(|w| w == words::STOP) {
                words.pop();
            }
            let refuses = words.iter().any(|w| grammar.refusing.contains(w));
            let name = if asks {
                "question"
            } else if refuses {
                "refusal"
            } else {
                "clause"
            };
            self.ground.add(name, words, *own);
        }
    }

    /// Takes the next sentence and gives what may be released now: nothing, or the held sentences with it.
    pub fn add(&mut self, said: &str) -> Vec<String> {
        if self.fault.is_some() {
            return vec![];
        }
        let sentence = &(self.opening.take().unwrap_or_default() + said);
        let tokens = words::tokens(sentence);
        // A sentence is said once, or as often as the draft has it.
        let before = self.spoken.iter().filter(|s| **s == tokens).count();
        let drafts = || self.drafted.iter().filter(|s| **s == tokens).count();
        if before > 0 && tokens.len() > 1 && before >= drafts() {
            self.fault = Some(Violation::Words(sentence.to_owned()));
            return vec![];
        }
        self.spoken.push(tokens);
        let plain = shorts(&words::years(sentence), |word| self.clauses.grammar.in_full(word));
        let spelled = |reach| names::in_full(&plain, &self.ground.spoken, &self.ground.heads, &self.ground.rows.counting, reach);
        let full = [plain.clone(), spelled(Reach::Known), spelled(Reach::Strong), spelled(Reach::All)];
        let resolved: Vec<String> = full.iter().map(|text| self.resolved(text)).collect();
        let mut texts: Vec<String> = full.into_iter().chain(resolved).collect();
        texts.dedup();
        // Every way to read it counts: a name may be said in full, and a pronoun too.
        let (mut states, mut behind, mut fault, mut near) = (BTreeSet::new(), self.behind, None, String::new());
        for text in &texts {
            let tokens = words::tokens(text);
            let mut reading = Reading::new(&self.ground, &tokens);
            let read = reading.sentence(&self.states);
            if read.is_empty() {
                near = tokens.get(reading.reached.saturating_sub(2)..).unwrap_or_default().iter().take(8).map(String::as_str).collect::<Vec<_>>().join(" ");
                continue;
            }
            match self.clauses.sentence(text, self.behind) {
                Ok(named) => {
                    behind = named;
                    states.extend(read.into_iter().filter(|state| !self.asks_of_other(state, text)));
                }
                Err(wrong) => fault = fault.or(Some(wrong)),
            }
        }
        // A name asked by itself opens what is said of it: "Otto Weiss? No allergies."
        let asked = sentence.trim_end_matches('?').trim();
        let mut own = words::tokens(asked);
        own.drain(..usize::from(own.first().is_some_and(|w| matches!(w.as_str(), "the" | "your" | "a" | "an"))));
        if states.is_empty() && fault.is_none() && asked.len() < sentence.len() && self.ground.topics.iter().any(|t| words::tokens(t) == own) {
            self.opening = Some(format!("{asked}, "));
            self.held.push(said.to_owned());
            return vec![];
        }
        if let Some(fault) = fault.or_else(|| states.is_empty().then_some(Violation::Words(near))) {
            self.fault = Some(fault);
            return vec![];
        }
        self.behind = behind;
        let states: Vec<State> = states.into_iter().collect();
        let topics = texts.iter().map(|text| self.clauses.topics(text, &self.ground.topics)).max_by_key(Vec::len).unwrap_or_default();
        if !topics.is_empty() {
            self.topics = topics;
        }
        self.states = states;
        self.held.push(said.to_owned());
        let closed: Vec<State> = self.states.iter().filter(|s| self.closed(s)).copied().collect();
        if closed.is_empty() {
            return vec![];
        }
        self.states = closed;
        std::mem::take(&mut self.held)
    }

    /// Whether a question that names nothing is about something else than what was spoken of last: "One coffee. Which size?" is not about the Pepsi.
    fn asks_of_other(&self, state: &State, text: &str) -> bool {
        let before = self.states.iter().fold(0, |mask, s| mask | s.said);
        let other = |(bit, name): &(Mask, String)| state.said & !before & bit != 0 && !self.topics.contains(name);
        !self.topics.is_empty() && !self.clauses.holds_something(text) && self.asks.iter().any(other)
    }

    /// The text with what its first pronoun stands for: what was spoken of last, in this sentence or before; several only where they are one thing.
    fn resolved(&self, text: &str) -> String {
        let mut out = String::new();
        let plain = text.replace("that one", "it");
        let mut pieces = plain.split_inclusive(|c: char| !c.is_alphanumeric());
        for piece in pieces.by_ref() {
            let word = piece.trim_end_matches(|c: char| !c.is_alphanumeric());
            let several = matches!(word.to_lowercase().as_str(), "they" | "them" | "those" | "these");
            if several || word.eq_ignore_ascii_case("it") {
                let here = self.clauses.topics(&out, &self.ground.topics);
                let of = if here.is_empty() { &self.topics } else { &here };
                if let Some(name) = of.last().filter(|_| !several || of.len() == 1) {
                    out.push_str(name);
                    out.extend(piece.strip_prefix(word));
                    break;
                }
            }
            out.push_str(piece);
        }
        out.extend(pieces);
        out
    }

    /// Whether every sentence of the draft is said wholly or not at all.
    fn closed(&self, state: &State) -> bool {
        self.may_end(state) && self.drafts.iter().all(|(of, _)| state.said & of == 0 || self.whole(state.said, *of))
    }

    /// Whether all that needs words of a sentence of the draft is said.
    fn whole(&self, said: Mask, of: Mask) -> bool {
        (said | self.silent) & of == of
    }

    fn may_end(&self, state: &State) -> bool {
        state.may_end() && self.bound.iter().all(|(used, needed)| state.said & used == 0 || state.said & needed == *needed)
    }

    /// The verdict at the end of the text.
    pub fn finish(self) -> Result<(), Violation> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        if let Some(name) = self.opening {
            return Err(Violation::Words(name));
        }
        if self.spoken.is_empty() {
            return Err(Violation::Empty);
        }
        let whole = |s: &&State| self.may_end(s) && self.drafts.iter().all(|(of, _)| self.whole(s.said, *of));
        match self.states.iter().find(whole) {
            Some(_) => Ok(()),
            None => Err(Violation::Missing(self.rest())),
        }
    }

    /// What the draft still has to say after the released sentences.
    pub fn rest(&self) -> String {
        let said = self.states.first().map_or(0, |s| s.said);
        self.drafts.iter().filter(|(of, _)| !self.whole(said, *of)).map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// Whether a fault was found; nothing more is released then.
    pub fn failed(&self) -> bool {
        self.fault.is_some()
    }
}

fn collect(term: &Term, strings: &mut Vec<String>, constants: &mut BTreeSet<String>) {
    match term {
        Term::Str(s) => strings.push(s.to_string()),
        Term::Const(c) => {
            constants.insert(c.to_string());
        }
        Term::Fun(_, args) => args.iter().for_each(|a| collect(a, strings, constants)),
        Term::Int(_) => {}
    }
}

/// Numbers, amounts and names of `text` that no predicate of the reply holds: the check without a template. A number is held if it is an
/// argument, a place in a row, or a count or sum of equal actions; a name if it is an argument or part of one.
pub fn unsupported(text: &str, says: &[Say], names: &NameIndex) -> Vec<Entity> {
    let (mut strings, mut constants) = (Vec::new(), BTreeSet::new());
    // As many as there are actions, or things in one of them: two possible matches.
    let most = says.iter().map(|say| say.action.args.len()).chain([says.len()]).max().unwrap_or_default();
    let mut numbers: BTreeSet<i64> = (0..=i64::try_from(most).unwrap_or(i64::MAX)).collect();
    let mut sums: std::collections::BTreeMap<&Atom, i64> = std::collections::BTreeMap::new();
    for say in says {
        for atom in std::iter::once(&say.action).chain(&say.input) {
            atom.args.iter().for_each(|t| collect(t, &mut strings, &mut constants));
            atom.args.iter().for_each(|t| integers(t, &mut numbers));
        }
        let count = say.input.iter().flat_map(|i| &i.args).find_map(Term::as_int).map_or(1, i64::from);
        let sum = sums.entry(&say.action).or_default();
        *sum = sum.saturating_add(count);
        numbers.insert(*sum);
    }
    // A name beside a constant may read like a longer name: a Soft Taco that is made supreme.
    let own: BTreeSet<String> = strings.iter().chain(&constants).flat_map(|s| scan::tokens(s)).map(|t| t.stem).collect();
    let index = names.with(&strings);
    let held: BTreeSet<&str> = strings.iter().map(String::as_str).collect();
    let supported = |e: &Entity| match e {
        Entity::Name(n) => held.contains(n.as_str()) || scan::tokens(n).iter().all(|t| own.contains(&t.stem)),
        // "9.35" is an amount without its sign.
        Entity::Number(n) if n % 100 == 0 => numbers.contains(&(n / 100)),
        Entity::Number(n) | Entity::Money(n) => numbers.contains(n),
    };
    read(text, &index).into_iter().filter(|e| !supported(e)).collect()
}

fn integers(term: &Term, out: &mut BTreeSet<i64>) {
    match term {
        Term::Int(n) => {
            // A sign is a mark of its own to the reader of texts, and an hour after noon has two names.
            out.extend([i64::from(*n), i64::from(*n).abs()]);
            out.extend(Some(i64::from(*n) - 12).filter(|hour| (1..12).contains(hour)));
        }
        Term::Fun(_, args) => args.iter().for_each(|a| integers(a, out)),
        _ => {}
    }
}
