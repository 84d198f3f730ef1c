//! What names of a reply may be called: by their last words, by how they begin or end, without the word that several share.

use std::collections::{BTreeMap, BTreeSet};

use super::clauses::Rows;
use super::collect;
use super::scan::{NameIndex, tokens};
use super::words::{self, Phrase};
use crate::render::Say;
use crate::term::Atom;

/// Every name that the actions and what they answer hold, by its words.
pub type Spoken = BTreeMap<Phrase, String>;

/// What is spoken of.
pub fn names_of(says: &[Say]) -> Spoken {
    let mut strings = vec![];
    for atom in says.iter().flat_map(|s| std::iter::once(&s.action).chain(&s.input)) {
        atom.args.iter().for_each(|t| collect(t, &mut strings, &mut BTreeSet::new()));
    }
    strings.into_iter().map(|s| (words::tokens(&s), s)).collect()
}

/// Names by their last words, where only one name of the reply has that word and it is no name itself: the bowl.
pub fn heads(all: &Spoken, names: &NameIndex) -> BTreeMap<String, String> {
    let lone = |head: &String| all.keys().filter(|name| name.contains(head)).count() == 1 && names.longest_at(&tokens(head)).is_none();
    let several = all.iter().filter(|(words, _)| words.len() > 1);
    several.filter_map(|(words, name)| Some((words.last().filter(|head| head.len() > 2 && lone(head))?.clone(), name.clone()))).collect()
}

/// Parts of names that stand for them: how a name begins or ends, where one name alone of the reply does so and it is no name itself; and a name
/// without the last word that others of the reply have too (Cheese, Chicken and Steak Quesadilla).
pub fn parts_of(all: &Spoken, names: &NameIndex) -> BTreeMap<String, Vec<(Phrase, bool)>> {
    let holding = |part: &[String]| all.keys().filter(|name| name.windows(part.len()).any(|run| run == part)).count();
    let named = |part: &[String]| names.longest_at(&tokens(&part.join(" "))).is_some();
    let parts = |name: &Phrase| -> Vec<(Phrase, bool)> {
        let shared = name.last().is_some_and(|last| all.keys().filter(|other| other.last() == Some(last)).count() > 1);
        let cuts = (1..name.len()).flat_map(|at| [name.split_at(at).0, name.split_at(at).1]).filter(|part| part.len() + 1 == name.len() || part.len() > 1);
        cuts.filter_map(|part| {
            let bare = shared && name.starts_with(part) && part.len() + 1 == name.len();
            ((bare || holding(part) == 1 && !named(part)) && part.iter().any(|w| w.len() > 3)).then(|| (part.to_vec(), bare))
        })
        .collect()
    };
    all.iter().map(|(name, text)| (text.clone(), parts(name))).collect()
}

/// The words of names but for their last.
pub fn name_words(all: &Spoken) -> BTreeSet<String> {
    let lasts: BTreeSet<&String> = all.keys().filter_map(|name| name.last()).collect();
    all.keys().flatten().filter(|w| !lasts.contains(w)).cloned().collect()
}

/// What may stand between a name without its last word and the full name that ends the row: other names, and what counts or joins them.
pub fn beside_cut(name_words: &BTreeSet<String>, rows: &Rows) -> BTreeSet<String> {
    name_words
        .iter()
        .cloned()
        .chain(rows.before.iter().chain(&rows.joining).cloned())
        .chain(["&", words::PAUSE].map(str::to_owned))
        .chain((1..20).map(|n| n.to_string()))
        .collect()
}

/// The first name that an atom holds.
pub fn named(atom: &Atom) -> Option<String> {
    let mut all = vec![];
    atom.args.iter().for_each(|t| collect(t, &mut all, &mut BTreeSet::new()));
    all.into_iter().next()
}
