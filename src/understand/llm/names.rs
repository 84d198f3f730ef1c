//! The names that may occur in a turn, by the fact that declares them, and the slice of them that looks like the utterance.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::examples::FUNCTION;
use super::forms::Forms;
use crate::ontology::{Ontology, Sort};
use crate::term::{Atom, Name, Term};
use crate::text::{stem, words};

/// From this likeness of two words on, in thousandths, one may be meant by the other.
const ALIKE: i64 = 880;

/// Every name of the site's current facts, by declaring fact predicate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    by_fact: BTreeMap<Name, Vec<Name>>,
    /// Each name with its words, which every turn compares with what was said.
    parts: BTreeMap<Name, Vec<String>>,
    /// The names of each kind, by the kind's word.
    kinds: Arc<BTreeMap<String, BTreeSet<Name>>>,
    /// Other words for names, whatever their spelling.
    also: Arc<Vec<(Vec<String>, Vec<Name>)>>,
}

impl Names {
    /// The names that the ontology's sorts admit, out of the given facts.
    pub fn of<'a>(ontology: &Ontology, facts: impl IntoIterator<Item = &'a Atom>) -> Self {
        let declaring: BTreeSet<&Name> =
            ontology.sorts.values().filter_map(|s| if let Sort::Names(facts) = s { Some(facts) } else { None }).flatten().collect();
        let mut sets: BTreeMap<Name, BTreeSet<Name>> = BTreeMap::new();
        let mut kinds: BTreeMap<String, BTreeSet<Name>> = BTreeMap::new();
        for fact in facts {
            if let [Term::Str(name), Term::Const(kind)] = fact.args.as_slice() {
                kinds.entry(stem(kind)).or_default().insert(name.clone());
            }
            if let (true, Some(Term::Str(name))) = (declaring.contains(&fact.name), fact.args.first()) {
                sets.entry(fact.name.clone()).or_default().insert(name.clone());
            }
        }
        let by_fact = Self::by_fact(sets.into_iter().map(|(fact, names)| (fact, names.into_iter().collect())).collect());
        Self { kinds: Arc::new(kinds), ..by_fact }
    }

    fn by_fact(by_fact: BTreeMap<Name, Vec<Name>>) -> Self {
        let parts = by_fact.values().flatten().map(|n| (n.clone(), words(n))).collect();
        Self { by_fact, parts, ..Self::default() }
    }

    /// The same with other words for names.
    #[must_use]
    pub fn also<'a>(mut self, others: impl IntoIterator<Item = (&'a String, &'a Vec<String>)>) -> Self {
        let entry = |(said, names): (&String, &Vec<String>)| (words(said), names.iter().map(|n| n.as_str().into()).collect());
        self.also = Arc::new(others.into_iter().map(entry).collect());
        self
    }

    /// The same words for the names of other facts.
    #[must_use]
    pub fn like(self, other: &Self) -> Self {
        Self { also: other.also.clone(), ..self }
    }

    /// These names alone.
    #[must_use]
    pub fn only(&self, names: &[Name]) -> Self {
        let keep = |list: &Vec<Name>| list.iter().filter(|n| names.contains(n)).cloned().collect();
        let by_fact = self.by_fact.iter().map(|(fact, list)| (fact.clone(), keep(list))).collect();
        Self::by_fact(by_fact).like(self)
    }

    /// The words that names are made of.
    pub fn words(&self) -> impl Iterator<Item = &String> {
        self.parts.values().flatten()
    }

    /// The names of some declaring facts, sorted, each once.
    pub fn of_facts<'a>(&'a self, facts: &'a [Name]) -> BTreeSet<&'a Name> {
        facts.iter().filter_map(|f| self.by_fact.get(f)).flatten().collect()
    }

    /// All names, sorted, each once.
    pub fn all(&self) -> BTreeSet<&Name> {
        self.by_fact.values().flatten().collect()
    }

    /// The known spelling of a name, if it is known in any letter case.
    pub fn known<'a>(&'a self, facts: &'a [Name], said: &str) -> Option<&'a Name> {
        let names = self.of_facts(facts);
        names.iter().find(|n| ****n == *said).or_else(|| names.iter().find(|n| n.to_lowercase() == said.to_lowercase())).copied()
    }

    /// Whether something is named that nothing here bears, by a role that gives no new names.
    pub fn strange(&self, forms: &Forms, atoms: &[Atom]) -> bool {
        let all = self.all();
        forms.kinds.values().all(|k| !k.new) && atoms.iter().flat_map(super::prompt::strings_of).any(|n| !all.contains(&n))
    }

    /// The names that the utterance may mean, at most `limit`, in order of name: by spelling, by other words for them, by their kind;
    /// `always` come first into the slice (the conversation's own).
    pub fn slice(&self, utterance: &str, always: &BTreeSet<Name>, limit: usize) -> Vec<Name> {
        let said = words(utterance);
        // A word is a part of many names, and is compared once.
        let mut seen: BTreeMap<&str, i64> = BTreeMap::new();
        let telling = |w: &&String| !FUNCTION.contains(w.as_str());
        let like = |part: &String| -> i64 { said.iter().filter(telling).map(|w| thousandths(strsim::jaro_winkler(part, w))).max().unwrap_or(0) };
        for part in self.words().filter(telling) {
            seen.entry(part).or_insert_with(|| like(part));
        }
        let meant: BTreeSet<&Name> =
            self.also.iter().filter(|(other, _)| said.windows(other.len().max(1)).any(|w| w == other)).flat_map(|(_, names)| names).collect();
        let kind: BTreeSet<&Name> = said.iter().filter_map(|w| self.kinds.get(&stem(w))).flatten().collect();
        let score = |(name, parts): (&Name, &Vec<String>)| {
            if always.contains(name) || meant.contains(name) {
                return i64::MAX;
            }
            // Where all find room, none is left out.
            likeness(parts, &seen).unwrap_or_else(|| i64::from(kind.contains(name) || self.parts.len() <= limit))
        };
        let mut scored: Vec<(i64, &Name)> = self.parts.iter().map(|(n, parts)| (score((n, parts)), n)).filter(|(score, _)| *score > 0).collect();
        scored.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
        let mut slice: Vec<Name> = scored.into_iter().take(limit).map(|(_, n)| n.clone()).collect();
        slice.sort();
        slice
    }
}

/// How much of a name the words hold, in thousandths: the mean over its words of the best spelling match, so that misspelt and partial names rank too.
/// Nothing if no word is like one of it.
fn likeness(parts: &[String], seen: &BTreeMap<&str, i64>) -> Option<i64> {
    let (sum, top) = parts.iter().map(|p| seen.get(p.as_str()).copied().unwrap_or(0)).fold((0, 0), |(sum, top), s| (sum + s, s.max(top)));
    let mean = sum / i64::try_from(parts.len().max(1)).unwrap_or(1);
    // One word said in full ranks a long name above a short one that merely resembles something.
    (top >= ALIKE).then_some(mean + top)
}

#[expect(clippy::cast_possible_truncation, reason = "a similarity lies between 0 and 1")]
fn thousandths(similarity: f64) -> i64 {
    (similarity * 1000.0) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slice_prefers_what_was_said_and_what_the_conversation_holds() {
        let facts: Vec<Atom> = ["Lamp", "Floor Lamp", "Oak Table", "Pine Table", "Sofa"].iter().map(|n| Atom::new("item", vec![Term::string(n)])).collect();
        let names = Names::by_fact([("item".into(), facts.iter().filter_map(|a| a.args[0].as_name().map(Into::into)).collect())].into());
        let slice = names.slice("the oak tabel please", &BTreeSet::from([Name::from("Sofa")]), 3);
        assert_eq!(slice, ["Oak Table", "Pine Table", "Sofa"].map(Name::from));
        assert_eq!(names.slice("the one there, please", &BTreeSet::new(), 3), Vec::<Name>::new());
        let settee = names.clone().also([(&"settee".to_owned(), &vec!["Sofa".to_owned()])]);
        assert_eq!(settee.slice("a settee please", &BTreeSet::new(), 1), ["Sofa"].map(Name::from));
        assert_eq!(settee.only(&["Lamp".into()]).all(), BTreeSet::from([&Name::from("Lamp")]));
        assert_eq!(names.known(&["item".into()], "floor lamp").map(|n| &**n), Some("Floor Lamp"));
        assert_eq!(names.known(&["other".into()], "Lamp"), None);
    }
}
