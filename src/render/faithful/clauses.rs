//! The second judge: what a sentence names, counts, prices and denies must be what the actions that hold it name, count, price and deny.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Deserialize;

use super::grammar::Grammar;
use super::scan::{Entity, NameIndex, read, tokens};
use super::{Violation, collect, unsupported};
use crate::render::{Render, Say, Tone};

/// Signs of money; only the configured one may be said.
const CURRENCIES: [char; 9] = ['$', '€', '£', '¥', '¢', '₹', '₽', '₩', '฿'];
/// Words between which denials are looked for clause by clause.
const CUTS: [&str; 5] = ["but", "and", "so", "because", "though"];

/// Which words deny, or take away, every name of the row behind them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rows {
    /// No onions or cheese.
    #[serde(deserialize_with = "words_of")]
    pub denying: BTreeSet<String>,
    /// Taken off the taco and two drinks.
    #[serde(deserialize_with = "words_of")]
    pub taking: BTreeSet<String>,
    /// What may stand before a name that is taken away.
    #[serde(deserialize_with = "words_of")]
    pub before: BTreeSet<String>,
    /// What joins a row's last name.
    #[serde(deserialize_with = "words_of")]
    pub joining: BTreeSet<String>,
    /// What says of a name by itself that the same holds of it: the burrito too.
    #[serde(deserialize_with = "words_of")]
    pub likewise: BTreeSet<String>,
    /// What may stand beside such a name.
    #[serde(deserialize_with = "words_of")]
    pub beside: BTreeSet<String>,
}

impl Rows {
    pub fn extend(&mut self, more: Self) {
        self.denying.extend(more.denying);
        self.taking.extend(more.taking);
        self.before.extend(more.before);
        self.joining.extend(more.joining);
        self.likewise.extend(more.likewise);
        self.beside.extend(more.beside);
    }
}

/// Words as a file lists them: one text, spaces between them.
pub fn words_of<'de, D: serde::Deserializer<'de>>(from: D) -> Result<BTreeSet<String>, D::Error> {
    Ok(String::deserialize(from)?.split_whitespace().map(str::to_owned).collect())
}

/// An action with what its plain words show.
#[derive(Clone, Debug)]
struct Held {
    /// The stems of its names.
    names: BTreeSet<String>,
    denies: bool,
    refuses: bool,
}

/// The actions of one reply.
#[derive(Clone, Debug)]
pub struct Clauses {
    says: Vec<Say>,
    /// What each of them shows.
    held: Vec<Held>,
    names: NameIndex,
    foreign: Vec<char>,
    /// What its words mean.
    pub grammar: Arc<Grammar>,
    /// What the template itself names or counts beside the actions.
    known: BTreeSet<Entity>,
}

impl Clauses {
    pub fn new(says: &[Say], tone: &Tone, template: &dyn Render, names: &NameIndex, grammar: &Arc<Grammar>, currency: &str) -> Self {
        let mut all = vec![];
        let held = says.iter().map(|say| {
            let mut own = vec![];
            for atom in std::iter::once(&say.action).chain(&say.input) {
                atom.args.iter().for_each(|t| collect(t, &mut own, &mut BTreeSet::new()));
            }
            let plain = template.render(std::slice::from_ref(say), tone);
            all.extend(own.iter().cloned());
            let names = own.iter().map(|n| stems(n)).collect();
            Held { names, denies: has(&plain, &grammar.denying), refuses: has(&plain, &grammar.refusing) }
        });
        let held: Vec<Held> = held.collect();
        let foreign = CURRENCIES.into_iter().filter(|c| !currency.contains(*c)).collect();
        Self { says: says.to_vec(), held, names: names.with(&all), foreign, grammar: grammar.clone(), known: BTreeSet::new() }
    }

    /// A sentence of the template: what it holds may be said.
    pub fn allow(&mut self, sentence: &str) {
        self.known.extend(read(sentence, &self.names));
    }

    /// Whether a sentence names or counts something.
    pub fn holds_something(&self, sentence: &str) -> bool {
        !read(sentence, &self.names).is_empty()
    }

    /// Which of these names the text holds, each where it is said last.
    pub fn topics(&self, text: &str, of: &BTreeSet<String>) -> Vec<String> {
        let mut out: Vec<String> = vec![];
        for said in read(text, &self.names) {
            let Entity::Name(said) = said else { continue };
            if let Some(name) = of.iter().find(|name| stems(name) == stems(&said)) {
                out.retain(|known| known != name);
                out.push(name.clone());
            }
        }
        out
    }

    /// Judges one sentence, which stands behind something refused or not; gives whether what it names last is refused.
    pub fn sentence(&self, text: &str, behind: bool) -> Result<bool, Violation> {
        if let Some(sign) = text.chars().find(|c| self.foreign.contains(c)) {
            return Err(Violation::Unsupported(format!("`{sign}`")));
        }
        let of = self.about(text);
        if let Some(foreign) = unsupported(text, &self.says, &self.names).iter().find(|e| !self.known.contains(*e)) {
            return Err(Violation::Unsupported(foreign.to_string()));
        }
        let plain = |e: &&Entity| matches!(e, Entity::Money(_));
        let said = |at: &dyn Fn(&Held) -> bool| self.held.iter().zip(&self.says).filter(|(h, _)| at(h)).map(|(_, s)| s.clone()).collect::<Vec<_>>();
        let near = if of.is_empty() { vec![] } else { said(&|h| of.iter().any(|o| std::ptr::eq(*o, h))) };
        if let Some(amount) = unsupported(text, &near, &self.names).iter().find(plain).filter(|_| !of.is_empty()) {
            let lone = said(&|h| h.names.is_empty());
            if unsupported(&amount_in(amount), &lone, &self.names).iter().any(|e| e == amount) {
                return Err(Violation::Unsupported(format!("{amount} there")));
            }
        }
        let near = || text.chars().take(60).collect();
        if !self.rows_hold(text) {
            return Err(Violation::Negation(near()));
        }
        if !of.is_empty() && of.iter().all(|h| h.denies) && !has(text, &self.grammar.refusing) {
            return Err(Violation::Negation(near()));
        }
        let mut refused = behind;
        let mut joined = tokens(text).first().is_some_and(|t| self.grammar.rows.joining.contains(&t.word));
        // What names nothing may be denied beside what is named: registered, with no allergies.
        let nameless = self.held.iter().any(|h| h.names.is_empty() && h.denies);
        let all: Vec<(Vec<&Held>, String)> = clauses(text).into_iter().map(|clause| (self.about(&clause), clause)).collect();
        for (at, (of, clause)) in all.iter().enumerate().filter(|(_, (of, _))| !of.is_empty()) {
            let refuses = of.iter().any(|h| h.refuses);
            if !nameless && !refuses && has(clause, &self.grammar.denying) {
                return Err(Violation::Negation(near()));
            }
            // A name by itself goes with what was said last: "And the burrito.", "The burrito, too."
            let Some(too) = self.alone(clause) else {
                (refused, joined) = (refuses, false);
                continue;
            };
            let next = all.get(at + 1).filter(|(of, _)| of.is_empty()).and_then(|(_, next)| self.alone(next));
            if refused && !refuses && (too || joined || next == Some(true)) {
                return Err(Violation::Negation(near()));
            }
            refused |= refuses;
        }
        Ok(refused)
    }

    /// Whether a clause that does no more than name says "too", so that what was said last holds of it: the bowl is off, and the burrito too.
    fn alone(&self, clause: &str) -> Option<bool> {
        let all = tokens(clause);
        let Rows { before, likewise, beside, .. } = &self.grammar.rows;
        let (mut at, mut too) = (0, false);
        while let Some(first) = all.get(at) {
            let named = self.names.longest_at(all.get(at..).unwrap_or_default()).map(|(_, length)| length);
            let says = |lists: &[&BTreeSet<String>]| named.is_none() && lists.iter().any(|list| list.contains(&first.word));
            too |= says(&[likewise]);
            let bare = says(&[before, likewise, beside]) || first.word.bytes().all(|b| b.is_ascii_digit());
            at += named.or_else(|| bare.then_some(1))?;
        }
        Some(too)
    }

    /// What stands in one row with what is denied is denied too: without this and that.
    fn rows_hold(&self, text: &str) -> bool {
        let all = tokens(text);
        let Rows { denying, taking, before, joining, .. } = &self.grammar.rows;
        let any = |at: usize, list: &BTreeSet<String>| all.get(at).is_some_and(|t| list.contains(&t.word));
        let name = |at: usize| self.names.longest_at(all.get(at..).unwrap_or_default());
        let counted = |at: usize| any(at, before) || all.get(at).is_some_and(|t| t.word.bytes().all(|b| b.is_ascii_digit()));
        let bare = |at: usize, taken: bool| at + (at..all.len()).take_while(|at| taken && counted(*at)).count();
        let starts = (0..all.len()).filter(|at| any(*at, denying) || any(*at, taking)).map(|at| (bare(at + 1, any(at, taking)), any(at, taking)));
        let next = |(at, taken): &(usize, bool)| {
            let end = name(*at).map(|(_, length)| at + length)?;
            let joint = usize::from(any(end, joining));
            // Signs are no words here, so what is taken may follow bare, behind its comma.
            (joint > 0 || *taken).then(|| (bare(end + joint, *taken), *taken))
        };
        let further = starts.flat_map(|first| std::iter::successors(Some(first), next).skip(1)).filter_map(|(at, _)| name(at));
        further.map(|(name, _)| self.about(name)).all(|of| of.is_empty() || of.iter().any(|h| h.denies || h.refuses))
    }

    /// The actions that hold a name of the text.
    fn about(&self, text: &str) -> Vec<&Held> {
        let named: BTreeSet<String> = read(text, &self.names).iter().filter_map(|e| if let Entity::Name(n) = e { Some(stems(n)) } else { None }).collect();
        self.held.iter().filter(|h| h.names.intersection(&named).next().is_some()).collect()
    }
}

fn amount_in(amount: &Entity) -> String {
    if let Entity::Money(n) = amount { format!("{}.{:02} dollars", n / 100, n % 100) } else { String::new() }
}

fn stems(name: &str) -> String {
    tokens(name).into_iter().map(|t| t.stem).collect::<Vec<_>>().join(" ")
}

/// Whether one of the words is said. Who asks why not denies nothing.
fn has(text: &str, words: &BTreeSet<String>) -> bool {
    let said = super::words::tokens(text);
    said.iter().enumerate().any(|(at, w)| words.contains(w) && !(w == "not" && at.checked_sub(1).and_then(|i| said.get(i)).is_some_and(|b| b == "why")))
}

/// The clauses of a sentence, cut at its signs and joints.
fn clauses(text: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    for word in super::words::tokens(text) {
        if word == super::words::PAUSE || CUTS.contains(&word.as_str()) {
            out.push(String::new());
        } else if let Some(last) = out.last_mut() {
            last.push_str(&word);
            last.push(' ');
        }
    }
    out
}
