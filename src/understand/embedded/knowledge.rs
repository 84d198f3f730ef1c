//! What the facts say to the translator: names, how they are related, and their numbers.

use rustc_hash::{FxHashMap, FxHashSet};

use super::model::Model;
use super::text::plain_words;
use crate::link::{Names, Words};
use crate::term::{Atom, Name, Term};

/// What the facts say.
#[derive(Clone, Debug, Default)]
pub struct Knowledge {
    /// All words.
    pub words: Words,
    /// All names.
    pub names: Names,
    /// Sort bits per name.
    pub sorts: Vec<u64>,
    /// Pairs of names that stand in one fact.
    pub related: FxHashSet<(usize, usize)>,
    /// Numbers of facts: predicate and name to the number.
    pub amounts: FxHashMap<(Name, Name), i64>,
    /// Facts of one or two arguments: predicate and first argument to the second ones.
    pub pairs: FxHashMap<(Name, Name), Vec<Name>>,
}

impl Knowledge {
    /// Whether a fact `predicate(name)` or `predicate(name, _)` holds.
    pub fn holds(&self, predicate: &Name, name: &Name) -> bool {
        self.pairs.contains_key(&(predicate.clone(), name.clone()))
    }

    /// The second arguments of `predicate(name, X)`.
    pub fn second(&self, predicate: &str, name: &Name) -> &[Name] {
        self.pairs.get(&(Name::from(predicate), name.clone())).map_or(&[], |v| v)
    }

    /// The sort bits of a name, 0 if it is unknown.
    pub fn mask(&self, name: &str) -> u64 {
        self.names.find(name).and_then(|i| self.sorts.get(i)).copied().unwrap_or(0)
    }

    /// Whether a fact connects the names.
    pub fn relates(&self, a: &str, b: &str) -> bool {
        match (self.names.find(a), self.names.find(b)) {
            (Some(a), Some(b)) => self.related.contains(&(a, b)),
            _ => false,
        }
    }
}

/// Builds names and relations from the facts.
pub fn knowledge<'a>(model: &Model, mut words: Words, facts: impl Iterator<Item = &'a Atom>) -> Knowledge {
    let mut k = Knowledge::default();
    let mut strings: Vec<(Name, Vec<Name>)> = vec![];
    for fact in facts {
        let named: Vec<Name> = fact.args.iter().filter_map(|a| if let Term::Str(s) = a { Some(s.clone()) } else { None }).collect();
        if let (Some(mask), Some(Term::Str(name))) = (model.name_facts.get(&fact.name), fact.args.first()) {
            let word_ids: Vec<u32> = name_words(model, name).iter().map(|w| words.intern(w, true)).collect();
            let id = k.names.find(name).unwrap_or_else(|| k.names.add(name, &word_ids));
            if k.sorts.len() <= id {
                k.sorts.resize(id + 1, 0);
            }
            if let Some(s) = k.sorts.get_mut(id) {
                *s |= mask;
            }
        }
        if let Some(first) = fact.args.first().and_then(Term::as_name) {
            let second = fact.args.get(1).and_then(Term::as_name).map(Name::from);
            k.pairs.entry((fact.name.clone(), first.into())).or_default().extend(second);
            if let [_, Term::Int(n)] = fact.args.as_slice() {
                k.amounts.insert((fact.name.clone(), first.into()), i64::from(*n));
            }
        }
        if named.len() > 1 {
            strings.push((fact.name.clone(), named));
        }
    }
    for (said, targets) in &model.aliases {
        let ids: Vec<u32> = said.iter().filter(|w| !is_link(w)).map(|w| words.intern(w, true)).collect();
        k.names.alias(targets, &ids);
    }
    k.names.finish();
    for (_, named) in &strings {
        let ids: Vec<usize> = named.iter().filter_map(|n| k.names.find(n)).collect();
        for a in &ids {
            for b in &ids {
                if a != b {
                    k.related.insert((*a, *b));
                }
            }
        }
    }
    k.words = words;
    k
}

/// The words of a name that count.
pub fn name_words(model: &Model, name: &str) -> Vec<String> {
    let mut words = plain_words(name, &model.respell);
    words.retain(|w| w.chars().next().is_some_and(char::is_alphanumeric));
    let all = words.clone();
    words.retain(|w| !is_link(w));
    if words.is_empty() { all } else { words }
}

/// Words that join parts of a name and may be left out.
fn is_link(word: &str) -> bool {
    matches!(word, "and" | "of" | "with" | "the")
}
