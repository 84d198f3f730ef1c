//! The names of the facts, indexed by their words.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::words::Words;
use crate::term::Name;

/// When a candidate is taken, when two are a tie and when none is known.
#[derive(Clone, Copy, Debug)]
pub struct Thresholds {
    /// How much of a name must be said, by weight of its words.
    pub accept: f32,
    /// A second candidate with at least this part of the best one's score ties with it.
    pub tie: f32,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { accept: 0.2, tie: 0.88 }
    }
}

/// A known name that a stretch of words may mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The name's number in [`Names`].
    pub name: usize,
    /// How much of the name was said, 0 to 1.
    pub score: f32,
}

/// From which score on a name was said whole.
pub const WHOLE: f32 = 0.93;

impl Candidate {
    /// Whether the name was said whole.
    pub fn is_whole(&self) -> bool {
        self.score >= WHOLE
    }
}

#[derive(Clone, Debug)]
struct Entry {
    /// What it stands for: one name, or several for a word that means a kind.
    targets: Vec<usize>,
    words: Vec<u32>,
    weight: f32,
    whole_only: bool,
    derived: bool,
}

/// All known names with their aliases.
#[derive(Clone, Debug, Default)]
pub struct Names {
    names: Vec<Name>,
    by_name: BTreeMap<Name, usize>,
    entries: Vec<Entry>,
    postings: FxHashMap<u32, Vec<u32>>,
    weights: FxHashMap<u32, f32>,
}

impl Names {
    /// Registers a name; its words become partial keys to it.
    pub fn add(&mut self, name: &Name, words: &[u32]) -> usize {
        let id = self.number(name);
        self.entry(vec![id], words, false, false);
        id
    }

    /// Registers an alias, which must be said whole.
    pub fn alias(&mut self, targets: &[Name], words: &[u32]) {
        self.alias_of(targets, words, false);
    }

    /// The same, made from others by rule: how often a word stands in names it does not tell.
    pub fn alias_of(&mut self, targets: &[Name], words: &[u32], derived: bool) {
        let targets: Vec<usize> = targets.iter().filter_map(|n| self.by_name.get(n).copied()).collect();
        if !targets.is_empty() {
            self.entry(targets, words, true, derived);
        }
    }

    fn number(&mut self, name: &Name) -> usize {
        if let Some(&id) = self.by_name.get(name) {
            return id;
        }
        self.names.push(name.clone());
        self.by_name.insert(name.clone(), self.names.len() - 1);
        self.names.len() - 1
    }

    fn entry(&mut self, targets: Vec<usize>, words: &[u32], whole_only: bool, derived: bool) {
        let mut words = words.to_vec();
        words.dedup();
        if words.is_empty() {
            return;
        }
        let id = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        for w in &words {
            let list = self.postings.entry(*w).or_default();
            if list.last() != Some(&id) {
                list.push(id);
            }
        }
        self.entries.push(Entry { targets, words, weight: 1.0, whole_only, derived });
    }

    /// Weighs the words once all names are in: a word in many names says little.
    pub fn finish(&mut self) {
        #[expect(clippy::cast_precision_loss, reason = "counts of names are small")]
        let n = self.entries.iter().filter(|e| !e.derived).count() as f32;
        for (w, list) in &self.postings {
            #[expect(clippy::cast_precision_loss, reason = "counts of names are small")]
            // What was made from others by rule tells nothing of how common a word is.
            let df = list.iter().filter(|e| self.entries.get(**e as usize).is_some_and(|e| !e.derived)).count().max(1) as f32;
            self.weights.insert(*w, ((n + 1.0) / df).ln().max(0.5).sqrt());
        }
        for e in &mut self.entries {
            e.weight = e.words.iter().map(|w| self.weights.get(w).copied().unwrap_or(1.0)).sum();
        }
    }

    /// The name with this number.
    pub fn name(&self, id: usize) -> Option<&Name> {
        self.names.get(id)
    }

    /// The number of a name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Whether some name holds the word.
    pub fn knows(&self, word: u32) -> bool {
        self.postings.contains_key(&word)
    }

    /// The entries that hold the word, sorted.
    pub fn entries_with(&self, word: u32) -> &[u32] {
        self.postings.get(&word).map_or(&[], |l| l)
    }

    /// The words of an entry.
    pub fn entry_words(&self, entry: u32) -> &[u32] {
        self.entries.get(entry as usize).map_or(&[], |e| &e.words)
    }

    /// Whether `next` stands right after `word` in the entry.
    pub fn follows(&self, entry: u32, word: u32, next: u32) -> bool {
        self.entry_words(entry).windows(2).any(|w| w == [word, next])
    }

    /// Scores an entry for said words (with closeness each, in order): what part of it was said. `None` if not acceptable.
    pub fn score(&self, entry: u32, said: &[(u32, f32)]) -> Option<(&[usize], f32)> {
        let e = self.entries.get(entry as usize)?;
        let mut sum = 0.0;
        let mut last = None;
        let mut in_order = true;
        let mut used = 0usize;
        for (w, closeness) in said {
            let at = e.words.iter().position(|x| x == w)?;
            if last.is_some_and(|l| at <= l) {
                in_order = false;
            }
            last = Some(at);
            used += 1;
            sum += self.weights.get(w).copied().unwrap_or(1.0) * closeness;
        }
        let whole = used >= e.words.len();
        if !in_order && !whole && sum < 0.7 * e.weight {
            return None;
        }
        if e.whole_only && (!whole || !in_order) {
            return None;
        }
        // Words in another order name something only if they are all of its words.
        let order = match (in_order, whole) {
            (true, _) => 1.0,
            (false, true) => 0.97,
            (false, false) => 0.8,
        };
        let score = (sum / e.weight.max(0.01)).min(1.0) * order;
        Some((&e.targets, score))
    }

    /// Names like a whole phrase, best first, each with how like it is (0 to 1): how much of the name was said, and how much of
    /// what was said is the name's. `admits` says which names count.
    pub fn near(&self, words: &Words, phrase: &str, admits: &dyn Fn(usize) -> bool, most: usize) -> Vec<(usize, f32)> {
        let said: Vec<Vec<(u32, f32)>> = phrase.split_whitespace().map(|w| self.readings(words, &w.to_lowercase())).collect();
        #[expect(clippy::cast_precision_loss, reason = "names have few words")]
        let spoken = said.len().max(1) as f32;
        let mut held: BTreeMap<u32, (f32, f32)> = BTreeMap::new();
        for readings in &said {
            let mut of_word: BTreeMap<u32, (f32, f32)> = BTreeMap::new();
            for (w, c) in readings {
                let weight = self.weights.get(w).copied().unwrap_or(1.0) * c;
                for e in self.entries_with(*w) {
                    let best = of_word.entry(*e).or_default();
                    *best = (best.0.max(weight), best.1.max(*c));
                }
            }
            for (e, (weight, closeness)) in of_word {
                let sums = held.entry(e).or_default();
                *sums = (sums.0 + weight, sums.1 + closeness);
            }
        }
        let mut best: BTreeMap<usize, f32> = BTreeMap::new();
        for (e, (weight, closeness)) in held {
            let Some(entry) = self.entries.get(e as usize) else { continue };
            let (of_name, of_said) = ((weight / entry.weight.max(0.01)).min(1.0), closeness / spoken);
            let score = 2.0 * of_name * of_said / (of_name + of_said).max(0.01);
            for t in entry.targets.iter().filter(|t| admits(**t)) {
                let b = best.entry(*t).or_default();
                *b = b.max(score);
            }
        }
        let mut ranked: Vec<(usize, f32)> = best.into_iter().collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ranked.truncate(most);
        ranked
    }

    /// The words of names that a said word may be: itself, what it may be a misspelling of, or a part of a compound.
    fn readings(&self, words: &Words, said: &str) -> Vec<(u32, f32)> {
        let id = words.id(said);
        if self.knows(id) {
            return vec![(id, 1.0)];
        }
        let mut near: Vec<(u32, f32)> = words.nearest(said).into_iter().filter(|n| self.knows(n.0)).collect();
        if near.is_empty() && said.is_ascii() {
            for at in 4..said.len().saturating_sub(2) {
                let (left, right) = said.split_at(at);
                near.extend([left, right].iter().filter(|p| p.len() >= 4).map(|p| (words.id(p), 0.6)).filter(|n| self.knows(n.0)));
            }
        }
        near
    }
}
