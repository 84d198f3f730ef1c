//! What names of a reply may be called: by their last words, by how they begin or end, without the word that several share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::clauses::Rows;
use super::collect;
use super::grammar::spoken;
use super::phrase::{Fill, Piece};
use super::scan::{NameIndex, tokens};
use super::words::{self, PAUSE, Phrase};
use crate::render::Say;
use crate::term::pattern::Pattern;
use crate::term::{Atom, Term};
use crate::text::ENGLISH;

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

/// Names by their last words, or by the one before a particle, where only one name of the reply has that word and it is no name itself: the bowl,
/// the pico.
pub fn heads(all: &Spoken, names: &NameIndex) -> BTreeMap<String, String> {
    let lone = |head: &String| all.keys().filter(|name| name.contains(head)).count() == 1 && names.longest_at(&tokens(head)).is_none();
    let several = all.iter().filter(|(words, _)| words.len() > 1);
    let ends = |words: &Phrase| words.windows(2).find(|w| w.last().is_some_and(|w| ENGLISH.particles.contains(w))).and_then(|w| w.first().cloned());
    let of =
        |(words, name): (&Phrase, &String)| [words.last().cloned(), ends(words)].into_iter().flatten().map(|head| (head, name.clone())).collect::<Vec<_>>();
    several.flat_map(of).filter(|(head, _)| head.len() > 2 && lone(head)).collect()
}

/// Parts of names that stand for them: how a name begins or ends, where one name alone of the reply does so and it is no name itself; and a name
/// without the last word that others of the reply have too (Cheese, Chicken and Steak Quesadilla). Where one holds the whole name of the other, the
/// part is the other's: the nachos of a Nachos BellGrande Combo.
pub fn parts_of(all: &Spoken, names: &NameIndex) -> BTreeMap<String, Vec<(Phrase, bool)>> {
    let holds = |name: &[String], part: &[String]| name.windows(part.len()).any(|run| run == part);
    let holding = |part: &[String], of: &Phrase| all.keys().filter(|name| holds(name, part) && (*name == of || !holds(name, of))).count();
    let named = |part: &[String]| names.longest_at(&tokens(&part.join(" "))).is_some();
    let parts = |name: &Phrase| -> Vec<(Phrase, bool)> {
        let shared = name.last().is_some_and(|last| all.keys().filter(|other| other.last() == Some(last)).count() > 1);
        let cuts = (1..name.len()).flat_map(|at| [name.split_at(at).0, name.split_at(at).1]).filter(|part| part.len() + 1 == name.len() || part.len() > 1);
        cuts.filter_map(|part| {
            let bare = shared && name.starts_with(part) && part.len() + 1 == name.len();
            ((bare || holding(part, name) == 1 && !named(part)) && part.iter().any(|w| w.len() > 3)).then(|| (part.to_vec(), bare))
        })
        .collect()
    };
    all.iter().map(|(name, text)| (text.clone(), parts(name))).collect()
}

/// What may stand between a name without its last word and the full name of the row, and what counts there.
#[derive(Clone, Debug, Default)]
pub struct Cuts {
    /// The words of names but for their last.
    names: BTreeSet<String>,
    rows: Arc<Rows>,
}

impl Cuts {
    pub fn new(all: &Spoken, rows: &Arc<Rows>) -> Self {
        let lasts: BTreeSet<&String> = all.keys().filter_map(|name| name.last()).collect();
        Self { names: all.keys().flatten().filter(|w| !lasts.contains(w)).cloned().collect(), rows: rows.clone() }
    }

    /// Whether the last word of a name that is cut short at these places stands at the end of the row, counted like the name, or heads the
    /// row: "Quesadillas: Cheese".
    pub fn given(&self, tokens: &[String], last: &str, (start, end): (usize, usize), counted: bool) -> bool {
        let is_last = |t: &String| t.trim_end_matches('s') == last.trim_end_matches('s');
        let counts = |t: &String| self.rows.counting.contains(t) || t.parse::<u8>().is_ok();
        let beside = |t: &String| counts(t) || t == "&" || t == PAUSE || [&self.names, &self.rows.before, &self.rows.joining].iter().any(|l| l.contains(t));
        let rest = tokens.get(end..).unwrap_or_default();
        let full = rest.iter().position(|t| !beside(t)).filter(|at| rest.get(*at).is_some_and(is_last));
        let heads = |at: usize| tokens.get(at).is_some_and(is_last) && at.checked_sub(1).and_then(|b| tokens.get(b)).is_none_or(|b| !self.names.contains(b));
        full.is_some_and(|at| !counted || rest.iter().take(at).any(counts)) || !counted && (0..start).any(heads)
    }
}

/// A name without its last word, as a slot of this form says it behind these words.
pub fn cut(name: &str, part: &Phrase, before: &[Phrase], counted: bool) -> Vec<Piece> {
    let Some(last) = words::tokens(name).pop() else { return vec![] };
    before.iter().map(|w| Piece::Seq(vec![spoken(w.clone()), Piece::Cut(part.clone(), last.clone(), counted)], Fill::Tight)).collect()
}

/// Equal instances of a thing under the name of the first.
pub fn merged(says: &[Say], merge: &[Pattern]) -> Vec<Say> {
    let instance = |atom: &Atom| merge.iter().find(|p| p.matches_atom(atom, &mut vec![])).and_then(|_| atom.args.first().cloned());
    let mut all: BTreeMap<Term, Vec<Vec<Term>>> = BTreeMap::new();
    for say in says {
        if let Some(i) = instance(&say.action) {
            all.entry(i).or_default().push(say.action.args.get(1..).unwrap_or_default().to_vec());
        }
    }
    all.values_mut().for_each(|lines| lines.sort());
    let first = |i: &Term| all.iter().find(|(_, lines)| Some(*lines) == all.get(i)).map_or_else(|| i.clone(), |(f, _)| f.clone());
    let named = |say: &Say| match instance(&say.action) {
        Some(i) => {
            let args = std::iter::once(first(&i)).chain(say.action.args.iter().skip(1).cloned()).collect();
            Say { action: Atom { name: say.action.name.clone(), args }, input: say.input.clone() }
        }
        None => say.clone(),
    };
    says.iter().map(named).collect()
}

/// The first name that an atom holds.
pub fn named(atom: &Atom) -> Option<String> {
    let mut all = vec![];
    atom.args.iter().for_each(|t| collect(t, &mut all, &mut BTreeSet::new()));
    all.into_iter().next()
}
