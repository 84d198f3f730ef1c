//! Faithfulness: a reply in a model's words says what the template's reply says, in the same order, no more and no less.
//!
//! The template's text is generated from the action predicates alone, so it is the measure. Both texts are cut into sentences and
//! aligned; in each aligned group the sequence of names, numbers, amounts and constants must be the same, a question must stay a
//! question, a refusal a refusal, and every other word must be the template's own or a word that asserts nothing. So a wrong price, a
//! swapped quantity, a dropped refusal, a foreign name or a promise has no place to stand. [`unsupported`] checks a text against the
//! predicates directly, without a template.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::render::Say;
use crate::term::{Atom, Term};

pub mod scan;

use scan::{Entity, NameIndex, Reading, read, sentences};

/// Words of grammar.
const FUNCTION: &str = include_str!("../../prompts/core/function_words.txt");
/// Further words that may be said in any reply, because they assert nothing.
const NEUTRAL: &str = include_str!("../../prompts/core/neutral_words.txt");
/// Words of which a whole sentence may consist without saying anything.
const FILLER: &str = include_str!("../../prompts/core/filler_words.txt");
/// Most sentences of one side in an aligned group.
const MAX_GROUP: usize = 3;
/// Longest filler sentence, in words.
const MAX_FILLER: usize = 6;

/// Why a text is not faithful, in words for the retry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// Something that the actions do not hold.
    #[error("{0} is not part of the reply and must not occur")]
    Unsupported(String),
    /// Something that the actions hold is missing or in another order.
    #[error("{0} must be said, in the order of the draft")]
    Missing(String),
    /// A word that may assert something the draft does not.
    #[error("the word `{0}` says something that the draft does not")]
    Word(String),
    /// A question was dropped, or one was invented.
    #[error("the draft's questions must stay, and no other may be asked")]
    Question,
    /// A refusal became an assertion or the other way round.
    #[error("what the draft denies must be denied, and nothing else")]
    Negation,
    /// The sentences do not follow the draft.
    #[error("the sentences do not follow the draft; near: {0}")]
    Order(String),
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
            Self::Unsupported(_) => "unsupported",
            Self::Missing(_) => "missing",
            Self::Word(_) => "word",
            Self::Question => "question",
            Self::Negation => "negation",
            Self::Order(_) => "order",
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

/// What a domain's replies may be made of: its names and the words that assert nothing.
#[derive(Clone, Debug)]
pub struct Faithful {
    names: NameIndex,
    function: Arc<BTreeSet<String>>,
    neutral: Arc<BTreeSet<String>>,
    filler: Arc<BTreeSet<String>>,
}

impl Faithful {
    /// For the names of a site; `own_words` are further words that assert nothing in this domain.
    pub fn new<S: AsRef<str>>(names: impl IntoIterator<Item = S>, own_words: &str) -> Self {
        let list = |text: &str| text.lines().filter(|l| !l.starts_with('#')).flat_map(str::split_whitespace).map(str::to_lowercase).collect::<BTreeSet<_>>();
        let function = list(FUNCTION);
        let mut neutral = list(NEUTRAL);
        neutral.extend(function.iter().cloned());
        let filler = list(FILLER);
        neutral.extend(filler.iter().cloned());
        neutral.extend(list(own_words));
        Self { names: NameIndex::new(names), function: Arc::new(function), neutral: Arc::new(neutral), filler: Arc::new(filler) }
    }

    /// The same for a site with other names.
    #[must_use]
    pub fn over<S: AsRef<str>>(&self, names: &[S]) -> Self {
        Self { names: NameIndex::new(names), ..self.clone() }
    }

    /// Checks a text against the template's text for the same actions.
    pub fn check(&self, text: &str, says: &[Say], template: &str) -> Result<(), Violation> {
        let mut checker = self.checker(says, template);
        for sentence in sentences(text) {
            checker.add(&sentence);
        }
        checker.finish()
    }

    /// A checker that takes sentences as they come and tells which may be released.
    pub fn checker(&self, says: &[Say], template: &str) -> Checker {
        let mut strings = Vec::new();
        let mut constants = BTreeSet::new();
        for atom in says.iter().flat_map(|s| std::iter::once(&s.action).chain(&s.input)) {
            atom.args.iter().for_each(|t| collect(t, &mut strings, &mut constants));
        }
        let names = self.names.with(&strings);
        // Constants matter where they stand in the text as themselves; those that are neutral words ("order", "add") assert nothing alone.
        constants.retain(|c| !self.neutral.contains(c));
        let drafts: Vec<Draft> = sentences(template).into_iter().map(|text| Draft { reading: read(&text, &names, &constants), text }).collect();
        let denies = drafts.iter().any(|d| d.reading.negations > 0);
        Checker { rules: self.clone(), names, constants, drafts, denies, said: 0, held: Vec::new(), near: None, fault: None, spoke: false }
    }

    fn is_filler(&self, reading: &Reading) -> bool {
        reading.entities.is_empty()
            && !reading.question
            && reading.negations == 0
            && reading.words.len() <= MAX_FILLER
            && reading.words.iter().all(|w| self.filler.contains(&w.word))
    }

    /// Whether one group says the same as its drafts.
    fn same(&self, drafts: &[Draft], texts: &[Reading]) -> Result<(), Violation> {
        let wanted: Vec<&Entity> = dedup(drafts.iter().flat_map(|d| &d.reading.entities));
        let said: Vec<&Entity> = dedup(texts.iter().flat_map(|r| &r.entities));
        if let Some(foreign) = said.iter().find(|e| !wanted.contains(e)) {
            return Err(Violation::Unsupported(foreign.to_string()));
        }
        if wanted != said {
            let missing = wanted.iter().zip(said.iter().map(Some).chain(std::iter::repeat(None))).find(|(w, s)| Some(*w) != *s).map(|(w, _)| w.to_string());
            return Err(Violation::Missing(missing.unwrap_or_else(|| "everything".into())));
        }
        if drafts.iter().filter(|d| d.reading.question).count() != texts.iter().filter(|r| r.question).count() {
            return Err(Violation::Question);
        }
        let count = |readings: &mut dyn Iterator<Item = &Reading>| readings.map(|r| r.negations).sum::<usize>();
        if count(&mut drafts.iter().map(|d| &d.reading)) != count(&mut texts.iter()) {
            return Err(Violation::Negation);
        }
        // Without anything checkable, a sentence must at least speak of the same thing: one question cannot stand for another.
        let topic = |w: &&scan::Token| !self.function.contains(&w.word);
        let topics: BTreeSet<&str> = drafts.iter().flat_map(|d| &d.reading.words).filter(topic).map(|w| w.stem.as_str()).collect();
        if wanted.is_empty() && !topics.is_empty() && !texts.iter().flat_map(|r| &r.words).filter(topic).any(|w| topics.contains(w.stem.as_str())) {
            return Err(Violation::Missing(format!("\u{201c}{}\u{201d}", drafts.first().map_or("", |d| d.text.as_str()))));
        }
        let own: BTreeSet<&str> = drafts.iter().flat_map(|d| &d.reading.words).map(|w| w.stem.as_str()).collect();
        match texts.iter().flat_map(|r| &r.words).find(|w| !own.contains(w.stem.as_str()) && !self.neutral.contains(&w.word)) {
            Some(word) => Err(Violation::Word(word.word.clone())),
            None => Ok(()),
        }
    }
}

#[derive(Clone, Debug)]
struct Draft {
    text: String,
    reading: Reading,
}

/// A check under way. Sentences are held until they close a group with the draft's; then they are released for good.
#[derive(Clone, Debug)]
pub struct Checker {
    rules: Faithful,
    names: NameIndex,
    constants: BTreeSet<String>,
    drafts: Vec<Draft>,
    denies: bool,
    /// Drafts that released sentences have said.
    said: usize,
    held: Vec<(String, Reading)>,
    /// What was wrong with the first of the held sentences.
    near: Option<Violation>,
    fault: Option<Violation>,
    spoke: bool,
}

impl Checker {
    /// Takes the next sentence and gives what may be released now: nothing, or the held sentences with it.
    pub fn add(&mut self, sentence: &str) -> Vec<String> {
        if self.fault.is_some() {
            return vec![];
        }
        self.spoke = true;
        let reading = read(sentence, &self.names, &self.constants);
        self.held.push((sentence.to_owned(), reading));
        let texts: Vec<Reading> = self.held.iter().map(|(_, r)| r.clone()).collect();
        // The shortest run of drafts that the held sentences say is taken; drafts that say nothing may be passed over.
        for skip in 0..=self.idle_drafts() {
            for size in 1..=MAX_GROUP {
                let Some(group) = self.drafts.get(self.said + skip..self.said + skip + size) else { continue };
                // Several drafts may become one sentence only if each leaves something in it that is checked.
                if size > 1 && group.iter().any(|d| d.reading.entities.is_empty()) {
                    continue;
                }
                match self.rules.same(group, &texts) {
                    Ok(()) => {
                        self.said += skip + size;
                        return self.release();
                    }
                    Err(violation) if size == 1 && skip == 0 && self.near.is_none() => self.near = Some(violation),
                    Err(_) => {}
                }
            }
        }
        let alone = self.held.len() == 1 && texts.iter().all(|t| self.rules.is_filler(t));
        if alone && !self.denies {
            return self.release();
        }
        if self.held.len() >= MAX_GROUP || self.hopeless(&texts) {
            self.fault = Some(self.near.take().unwrap_or_else(|| Violation::Order(sentence.chars().take(60).collect())));
        }
        vec![]
    }

    /// The verdict at the end of the text.
    pub fn finish(self) -> Result<(), Violation> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        if !self.spoke {
            return Err(Violation::Empty);
        }
        let left = self.drafts.get(self.said..).unwrap_or_default();
        if let Some((sentence, _)) = self.held.first() {
            return Err(self.near.unwrap_or_else(|| Violation::Order(sentence.chars().take(60).collect())));
        }
        match left.iter().find(|d| !self.rules.is_filler(&d.reading)) {
            Some(draft) => Err(draft
                .reading
                .entities
                .first()
                .map_or_else(|| Violation::Missing(format!("\u{201c}{}\u{201d}", draft.text)), |e| Violation::Missing(e.to_string()))),
            None => Ok(()),
        }
    }

    /// What the template still has to say after the released sentences.
    pub fn rest(&self) -> String {
        self.drafts.get(self.said..).unwrap_or_default().iter().map(|d| d.text.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// Whether a fault was found; nothing more is released then.
    pub fn failed(&self) -> bool {
        self.fault.is_some()
    }

    /// How many drafts in a row, from the next on, say nothing.
    fn idle_drafts(&self) -> usize {
        self.drafts.get(self.said..).unwrap_or_default().iter().take_while(|d| self.rules.is_filler(&d.reading)).count()
    }

    /// A sentence with something that no remaining draft holds can never be released.
    fn hopeless(&self, texts: &[Reading]) -> bool {
        let left: BTreeSet<&Entity> = self.drafts.get(self.said..).unwrap_or_default().iter().flat_map(|d| &d.reading.entities).collect();
        texts.iter().flat_map(|t| &t.entities).any(|e| !left.contains(e))
    }

    fn release(&mut self) -> Vec<String> {
        self.near = None;
        std::mem::take(&mut self.held).into_iter().map(|(s, _)| s).collect()
    }
}

fn dedup<'a>(entities: impl Iterator<Item = &'a Entity>) -> Vec<&'a Entity> {
    let mut list: Vec<&Entity> = entities.collect();
    list.dedup();
    list
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
    let mut numbers: BTreeSet<i64> = (0..=i64::try_from(says.len()).unwrap_or(i64::MAX)).collect();
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
    let reading = read(text, &index, &BTreeSet::new());
    let supported = |e: &Entity| match e {
        Entity::Name(n) => held.contains(n.as_str()) || scan::tokens(n).iter().all(|t| own.contains(&t.stem)),
        Entity::Number(n) => n % 100 == 0 && numbers.contains(&(n / 100)),
        Entity::Money(n) => numbers.contains(n),
        Entity::Constant(_) => true,
    };
    reading.entities.into_iter().filter(|e| !supported(e)).collect()
}

fn integers(term: &Term, out: &mut BTreeSet<i64>) {
    match term {
        Term::Int(n) => {
            // A sign is a mark of its own to the reader of texts.
            out.extend([i64::from(*n), i64::from(*n).abs()]);
        }
        Term::Fun(_, args) => args.iter().for_each(|a| integers(a, out)),
        _ => {}
    }
}
