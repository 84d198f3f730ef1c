//! Words that say the same, so that no phrase of the grammar has to list them all, and words of no weight, which may stand anywhere in it.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::grammar::Mask;
use super::phrase::Among;
use super::words::{Phrase, firsts, fits, tokens};

/// A class of words and runs that may stand for each other, by its place in the files.
type Class = u16;

/// Where a run that begins at a place ends, and its class.
pub type Links = Vec<(usize, Class)>;

/// Classes of words that say the same.
#[derive(Clone, Debug, Default)]
pub struct Alike {
    /// Runs of the text by their first word.
    runs: BTreeMap<String, Vec<(Phrase, Class)>>,
    /// What a phrase may ask for by one word.
    words: FxHashMap<String, Vec<Class>>,
    /// The words of each class.
    members: Vec<Vec<String>>,
}

impl Alike {
    /// Adds a class: `made|prepared|put together`.
    pub fn add(&mut self, class: &str) {
        let known = Class::try_from(self.members.len()).unwrap_or(Class::MAX);
        let mut members = vec![];
        for run in class.split('|').map(tokens) {
            if let [word] = run.as_slice() {
                self.words.entry(word.clone()).or_default().push(known);
                members.push(word.clone());
            }
            if let Some(first) = run.first().cloned() {
                self.runs.entry(first).or_default().push((run, known));
            }
        }
        self.members.push(members);
    }

    /// What the words at each place of the text may stand for.
    pub fn links(&self, text: &[String]) -> Vec<Links> {
        let at = |here: usize| -> Links {
            let rest = text.get(here..).unwrap_or_default();
            let runs = rest.first().into_iter().flat_map(|first| firsts(first)).filter_map(|first| self.runs.get(first)).flatten();
            let said = |run: &Phrase| rest.len() >= run.len() && run.iter().zip(rest).all(|(w, t)| fits(w, t));
            runs.filter(|(run, _)| said(run)).map(|(run, class)| (here + run.len(), *class)).collect()
        };
        (0..text.len()).map(at).collect()
    }

    /// Whether a word may be said by a run of the class.
    pub fn holds(&self, word: &str, class: Class) -> bool {
        self.words.get(word).is_some_and(|all| all.contains(&class))
    }

    /// The words of a class.
    pub fn members(&self, class: Class) -> impl Iterator<Item = &str> {
        self.members.get(usize::from(class)).into_iter().flatten().map(String::as_str)
    }
}

/// Regret was said among the words of a piece, or ready assent.
pub const REGRETS: Mask = 1 << 126;
pub const ASSENTS: Mask = 1 << 125;
/// A question left its mark to the one behind it.
pub const OPEN: Mask = 1 << 127;

/// The words of a text without its signs.
pub fn unmarked(text: &str) -> Phrase {
    let mut out: Phrase = tokens(text).into_iter().filter(|t| t.contains(char::is_alphanumeric)).collect();
    out.iter_mut().filter(|t| *t == "'s").for_each(|t| "is".clone_into(t));
    out
}

/// Words of no weight, with what they set.
#[derive(Clone, Debug, Default)]
pub struct Filling(pub Vec<(Mask, Among)>);

impl Filling {
    /// Where words of no weight that begin here end, with what they set; none is said by another word.
    pub fn ends(&self, tokens: &[String], at: usize) -> Vec<(usize, Mask)> {
        let rest = tokens.get(at..).unwrap_or_default();
        let first = rest.first().map_or("", String::as_str);
        let fit = |run: &&Phrase| rest.len() >= run.len() && run.iter().zip(rest).all(|(w, t)| fits(w, t));
        let ends = |(mood, words): &(Mask, Among)| -> Vec<(usize, Mask)> {
            let runs = firsts(first).filter_map(|w| words.get(w)).flatten();
            runs.filter(fit).map(|run| (at + run.len(), *mood)).collect()
        };
        self.0.iter().flat_map(ends).collect()
    }

    /// Words without those of no weight.
    pub fn weighty(&self, said: &[String]) -> Phrase {
        let (mut at, mut out) = (0, vec![]);
        while let Some(word) = said.get(at) {
            let end = self.ends(said, at).into_iter().map(|(end, _)| end).max();
            out.extend(end.is_none().then(|| word.clone()));
            at = end.unwrap_or(at + 1);
        }
        out
    }

    pub fn extend(&mut self, mood: Mask, more: Among) {
        let known = self.0.iter().position(|(m, _)| *m == mood);
        let at = known.unwrap_or_else(|| {
            self.0.push((mood, Among::new()));
            self.0.len() - 1
        });
        if let Some((_, own)) = self.0.get_mut(at) {
            more.into_iter().for_each(|(first, runs)| own.entry(first).or_default().extend(runs));
        }
    }
}
