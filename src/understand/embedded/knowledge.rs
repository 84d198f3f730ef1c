//! What the facts say to the translator: names, how they are related, and their numbers.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::model::Model;
use super::text::{Respell, plain_words};
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
    /// What a part stands in for on an item: the item and the part to the old ones.
    pub in_place: FxHashMap<[Name; 2], Vec<Name>>,
    /// Groups with their members.
    pub members: Arc<[(Name, Name)]>,
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
            let word_ids: Vec<u32> = name_words(&model.respell, name).iter().map(|w| words.intern(w, true)).collect();
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
        let swaps = model.lines.as_ref().and_then(|l| l.config.in_place.as_ref()).is_some_and(|p| *p.fact == *fact.name);
        if let ([item, old, new], true) = (named.as_slice(), swaps) {
            k.in_place.entry([item.clone(), new.clone()]).or_default().push(old.clone());
        }
        if named.len() > 1 {
            strings.push((fact.name.clone(), named));
        }
    }
    for (i, (said, targets)) in ways_to_say(model, &k.names).into_iter().enumerate() {
        let ids: Vec<u32> = said.iter().map(|w| words.intern(w, true)).collect();
        k.names.alias_of(&targets, &ids, i >= model.aliases.len());
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
    if let Some(group) = model.lines.as_ref().map(|l| l.config.group.as_str()) {
        let groups = k.pairs.iter().filter(|((predicate, _), _)| **predicate == *group);
        k.members = groups.flat_map(|((_, group), members)| members.iter().map(|m| (group.clone(), m.clone()))).collect();
    }
    k.words = words;
    k
}

/// Other ways to say the names: those that the domain lists, and of all of them those in which a part is said otherwise.
fn ways_to_say(model: &Model, names: &Names) -> Vec<(Vec<String>, Vec<Name>)> {
    let own: Vec<Name> = (0..names.len()).filter_map(|i| names.name(i)).cloned().collect();
    let mut ways: Vec<(Vec<String>, Vec<Name>)> = own.into_iter().map(|n| (name_words(&model.respell, &n), vec![n])).collect();
    let named = ways.len();
    ways.extend(model.aliases.iter().map(|(said, targets)| (said.iter().filter(|w| !is_link(w)).cloned().collect(), targets.clone())));
    let mut known: FxHashSet<Vec<String>> = ways.iter().map(|w| w.0.clone()).collect();
    for (part, other) in &model.within {
        let mut more: Vec<(Vec<String>, Vec<Name>)> = vec![];
        for (words, targets) in &ways {
            let Some(at) = words.windows(part.len().max(1)).position(|w| w == part.as_slice()) else { continue };
            let said: Vec<String> = words.iter().take(at).chain(other).chain(words.iter().skip(at + part.len())).cloned().collect();
            match more.iter_mut().find(|m| m.0 == said) {
                Some(same) => same.1.extend(targets.iter().filter(|t| !same.1.contains(t)).cloned().collect::<Vec<_>>()),
                None if known.contains(&said) => {}
                None => more.push((said, targets.clone())),
            }
        }
        known.extend(more.iter().map(|m| m.0.clone()));
        ways.extend(more);
    }
    ways.split_off(named)
}

/// The words of a name that count.
pub fn name_words(respell: &Respell, name: &str) -> Vec<String> {
    let mut words = plain_words(name, respell);
    words.retain(|w| w.chars().next().is_some_and(char::is_alphanumeric));
    let all = words.clone();
    words.retain(|w| !is_link(w));
    if words.is_empty() { all } else { words }
}

/// Words that join parts of a name and may be left out.
fn is_link(word: &str) -> bool {
    matches!(word, "and" | "of" | "with" | "the")
}
