//! A translator that spots: what stands somewhere in long, loose talk, without reading the whole of it.
//!
//! Three kinds of things are spotted, all of them data (`kb/<domain>/spots.yaml`): cues (phrases that mean a predicate, wherever they stand),
//! mentions (values, names of facts, numbers, times of day), and the ends of sentences. What a mention means is decided by the words beside it,
//! or by what was asked last. What to make of it all is left to the rules.

mod file;
mod words;

use std::sync::Arc;

use self::file::File;
use self::words::{Word, phrase, stands, words};
use super::{Context, Heard, Understand};
use crate::diag::{Diagnostic, Source};
use crate::ontology::Ontology;
use crate::term::{Atom, Name, Term};
use crate::text::minutes;

/// How sure a translator is that saw words and not sentences.
const CONFIDENCE: f64 = 0.7;
/// Stands for the mentioned value in what a reading means.
const VALUE: &str = "V";

/// The translator.
#[derive(Clone, Debug)]
pub struct Spotter {
    cues: Vec<(Atom, Vec<Phrase>)>,
    alone: Vec<(Atom, Vec<Phrase>)>,
    things: Arc<Vec<Thing>>,
    /// Phrases of all things, longest first: the thing, its phrase and what the phrase stands for.
    mentions: Vec<(usize, Phrase, Term)>,
    pause: Option<Atom>,
}

/// Words in a row.
type Phrase = Vec<String>;

/// A kind of mention.
#[derive(Clone, Debug)]
struct Thing {
    values: Vec<(Phrase, Term)>,
    /// Facts whose first argument is a name, and words that a name may do without at its ends.
    names: Vec<Name>,
    leave_out: Vec<Phrase>,
    numbers: bool,
    clock: bool,
    /// Whether it leaves its words to other things.
    shared: bool,
    reads: Vec<Read>,
}

/// What a mention means among such neighbours.
#[derive(Clone, Debug)]
struct Read {
    means: Atom,
    before: Vec<Phrase>,
    after: Vec<Phrase>,
    reach: usize,
    /// Whether it gives way to any reading with a neighbour of its own.
    weak: bool,
    asked: Vec<Atom>,
}

/// A mention in an utterance.
struct Found {
    thing: usize,
    at: usize,
    len: usize,
    value: Term,
}

impl Spotter {
    /// Compiles a file of spots; names come from the facts.
    pub fn load<'f>(source: &Source, ontology: &Ontology, facts: impl Iterator<Item = &'f Atom>) -> Result<Self, Vec<Diagnostic>> {
        let mut spotter = File::read(source, ontology)?;
        spotter.index(facts);
        Ok(spotter)
    }

    /// Collects the phrases of all things, with the names of these facts.
    fn index<'f>(&mut self, facts: impl Iterator<Item = &'f Atom>) {
        let mut mentions: Vec<(usize, Phrase, Term)> = vec![];
        for (n, thing) in self.things.iter().enumerate() {
            mentions.extend(thing.values.iter().map(|(p, v)| (n, p.clone(), v.clone())));
        }
        for fact in facts {
            let Some(Term::Str(name)) = fact.args.first() else { continue };
            for (n, thing) in self.things.iter().enumerate().filter(|(_, t)| t.names.contains(&fact.name)) {
                let full: Phrase = phrase(name);
                for form in forms(&full, &thing.leave_out) {
                    mentions.push((n, form, Term::Str(name.clone())));
                }
            }
        }
        mentions.retain(|m| !m.1.is_empty());
        mentions.sort_by(|a, b| (b.1.len(), a.0, &a.1, &a.2).cmp(&(a.1.len(), b.0, &b.1, &b.2)));
        mentions.dedup();
        self.mentions = mentions;
    }

    /// The mentions of an utterance; longer ones take their words first.
    fn mentions(&self, said: &[Word]) -> Vec<Found> {
        let mut taken = vec![false; said.len()];
        let mut out = vec![];
        let mut take = |found: Found, shared: bool| {
            let Some(own) = taken.get_mut(found.at..found.at + found.len) else { return };
            if !own.iter().any(|t| *t) {
                if !shared {
                    own.fill(true);
                }
                out.push(found);
            }
        };
        for (thing, phrase, value) in &self.mentions {
            let shared = self.things.get(*thing).is_some_and(|t| t.shared);
            for at in 0..said.len() {
                if stands(said, at, phrase) {
                    take(Found { thing: *thing, at, len: phrase.len(), value: value.clone() }, shared);
                }
            }
        }
        for (n, thing) in self.things.iter().enumerate() {
            for (at, word) in said.iter().enumerate() {
                let value = if thing.clock {
                    minutes(&word.text)
                } else if thing.numbers {
                    words::number(&word.text)
                } else {
                    None
                };
                if let Some(value) = value {
                    take(Found { thing: n, at, len: 1, value: Term::Int(value) }, false);
                }
            }
        }
        out
    }

    /// What a mention means here: the reading whose neighbour stands nearest, the first of equals.
    fn meaning(&self, found: &Found, said: &[Word], context: &Context) -> Option<Atom> {
        let reads = &self.things.get(found.thing)?.reads;
        let near = reads.iter().filter_map(|r| Some((r.distance(found, said, context)?, r)));
        let read = near.min_by_key(|(distance, _)| *distance)?.1;
        let args = read.means.args.iter().map(|a| if is_value(a) { found.value.clone() } else { a.clone() }).collect();
        Some(Atom { name: read.means.name.clone(), args })
    }
}

/// The hole of a meaning: terms have no variables, so it is written as a string.
fn is_value(term: &Term) -> bool {
    matches!(term, Term::Str(s) if &**s == VALUE)
}

/// A name as it is said: in full, and without words that it may do without at either end.
fn forms(full: &Phrase, leave_out: &[Phrase]) -> Vec<Phrase> {
    let mut out = vec![full.clone()];
    out.extend(leave_out.iter().filter_map(|p| full.strip_prefix(p.as_slice())).map(<[String]>::to_vec));
    out.extend(leave_out.iter().filter_map(|p| full.strip_suffix(p.as_slice())).map(<[String]>::to_vec));
    // One word that is left is too common to be a name by itself.
    out.retain(|form| form.len() > 1 || form.len() == full.len());
    out
}

impl Read {
    /// How far the neighbour is that this reading needs, if it is there; a reading without needs stands behind all that have some.
    fn distance(&self, found: &Found, said: &[Word], context: &Context) -> Option<usize> {
        /// Behind any neighbour: what was asked, and what needs nothing.
        const ASKED: usize = 100;
        if self.before.is_empty() && self.after.is_empty() {
            if self.asked.is_empty() {
                return Some(2 * ASKED);
            }
            let asked = context.last_actions.iter().any(|a| self.asked.iter().any(|p| alike(p, a)));
            return asked.then_some(ASKED);
        }
        let sentence = said.get(found.at)?.sentence;
        let here = |at: usize| said.get(at).is_some_and(|w| w.sentence == sentence);
        let before = self
            .before
            .iter()
            .flat_map(|p| (0..=self.reach).filter(move |d| found.at.checked_sub(d + p.len()).is_some_and(|at| here(at) && stands(said, at, p))));
        let end = found.at + found.len;
        let after = self.after.iter().flat_map(|p| (0..=self.reach).filter(move |d| here(end + d) && stands(said, end + d, p)));
        before.chain(after).min().map(|d| if self.weak { d + ASKED / 2 } else { d })
    }
}

/// Whether an action is of a form, in which `_` stands for anything.
fn alike(form: &Atom, action: &Atom) -> bool {
    let any = |t: &Term| matches!(t, Term::Str(s) if &**s == "_");
    form.name == action.name && form.args.len() == action.args.len() && form.args.iter().zip(&action.args).all(|(f, a)| any(f) || f == a)
}

impl Understand for Spotter {
    fn understand(&self, text: &str, context: &Context) -> Heard {
        let said = words(text);
        let mut spots: Vec<(usize, usize, Atom)> = vec![];
        let first = |phrases: &[Phrase]| {
            let places = phrases.iter().filter_map(|p| (0..said.len()).find(|at| stands(&said, *at, p)).map(|at| (at, p.len())));
            places.min_by_key(|(at, len)| (*at, std::cmp::Reverse(*len)))
        };
        for (cue, phrases) in &self.cues {
            spots.extend(first(phrases).map(|(at, len)| (at, len, cue.clone())));
        }
        let found = self.mentions(&said);
        spots.extend(found.iter().filter_map(|f| Some((f.at, f.len, self.meaning(f, &said, context)?))));
        if spots.is_empty() {
            for (cue, phrases) in &self.alone {
                spots.extend(first(phrases).map(|(at, len)| (at, len, cue.clone())));
            }
        }
        spots.sort_by_cached_key(|(at, len, atom)| (*at, *len, atom.to_string()));
        let mut heard = Heard { by: "spotted", confidence: if spots.is_empty() { 0.0 } else { CONFIDENCE }, ..Heard::default() };
        let mut sentence = None;
        for (at, len, atom) in spots {
            let here = said.get(at).map(|w| w.sentence);
            if let Some(pause) = self.pause.as_ref().filter(|_| sentence.is_some() && sentence != here) {
                heard.predicates.push(pause.clone());
                heard.words.push(vec![]);
            }
            sentence = here;
            if !heard.predicates.contains(&atom) {
                let range = said.get(at).map_or(0, |w| w.range.start)..said.get(at + len - 1).map_or(0, |w| w.range.end);
                heard.predicates.push(atom);
                heard.words.push(vec![range]);
            }
        }
        heard
    }

    fn over(&self, facts: &[Atom]) -> Option<Arc<dyn Understand>> {
        let mut other = self.clone();
        other.index(facts.iter());
        Some(Arc::new(other))
    }
}

#[cfg(test)]
mod tests;
