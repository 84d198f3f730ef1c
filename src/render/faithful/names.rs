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
use crate::render::english::Nouns;
use crate::term::pattern::Pattern;
use crate::term::{Atom, Term};
use crate::text::ENGLISH;

/// Every name that the actions and what they answer hold, by its words.
pub type Spoken = BTreeMap<Phrase, String>;

/// Names by what stands for them.
#[derive(Clone, Debug, Default)]
pub struct Heads {
    strong: BTreeMap<Phrase, String>,
    /// By a single first word, which may be a word of its own.
    weak: BTreeMap<Phrase, String>,
    /// In the plural: bare it would be all of the kind.
    many: BTreeMap<Phrase, String>,
    /// Without the last word that others have too, where it is said: a Soft Taco for the Crunchy.
    beside: BTreeMap<Phrase, String>,
}

/// Where parts of names stand for them: behind an article, not a weak one, or anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    Known,
    Strong,
    All,
}

/// What is spoken of.
pub fn names_of(says: &[Say]) -> Spoken {
    let mut strings = vec![];
    for atom in says.iter().flat_map(|s| std::iter::once(&s.action).chain(&s.input)) {
        atom.args.iter().for_each(|t| collect(t, &mut strings, &mut BTreeSet::new()));
    }
    strings.into_iter().map(|s| (words::tokens(&s), s)).collect()
}

/// Names by parts of them, in the singular and the plural: the last word, or the one before a particle; how a name begins or ends; one of its words
/// with the last. One name alone of the reply has the part, which is no name itself: the bowl, the pico, two Crunchwraps, the Deluxe Box.
pub fn heads(all: &Spoken, names: &NameIndex, nouns: &Nouns, counted: &BTreeSet<String>) -> Heads {
    let has = |name: &Phrase, part: &[String]| {
        let mut rest = name.iter();
        part.iter().all(|w| rest.any(|n| n == w))
    };
    let free = |part: &[String]| names.longest_at(&tokens(&part.join(" "))).is_none();
    // The nachos of a Nachos BellGrande Combo are the other's.
    let holds = |other: &Phrase, name: &Phrase| other.windows(name.len()).any(|run| run == name.as_slice());
    let lone = |part: &[String], of: &Phrase| free(part) && all.keys().filter(|name| has(name, part) && (*name == of || !holds(name, of))).count() == 1;
    let mut out = Heads::default();
    for (words, name) in all.iter().filter(|(words, _)| words.len() > 1) {
        let Some((last, front)) = words.split_last() else { continue };
        // The rest of a row may give the last word: Cheese and Chicken Quesadilla.
        let shared = all.keys().filter(|other| other.last() == Some(last)).count() > 1;
        // "First" counts: of a First Taco the last word alone stands for it.
        let place = words.iter().any(|w| counted.contains(w));
        let long = |part: &&[String]| !place && (part.len() > 1 || part.len() + 1 == words.len()) && part.iter().any(|w| w.len() > 3);
        let particle = words.windows(2).filter_map(|w| w.split_first().filter(|(_, rest)| rest.iter().any(|w| ENGLISH.particles.contains(w))));
        let mut parts: Vec<Phrase> = particle.map(|(w, _)| vec![w.clone()]).chain([vec![last.clone()]]).filter(|p| p.concat().len() > 2).collect();
        parts.extend((1..words.len()).flat_map(|at| [words.split_at(at).0, words.split_at(at).1]).filter(long).map(<[String]>::to_vec));
        parts.extend(front.iter().filter(|w| !place && words.len() > 2 && w.len() > 3).map(|w| vec![w.clone(), last.clone()]));
        let plural = nouns.plural(name);
        let several = words::tokens(&plural).pop().unwrap_or_default();
        for part in parts.into_iter().filter(|p| lone(p, words)) {
            let Some((end, before)) = part.split_last() else { continue };
            let of = |end: String| before.iter().cloned().chain([end]).collect::<Phrase>();
            let (one, more) = if end == last { (end.trim_end_matches('s').to_owned(), several.clone()) } else { (end.clone(), format!("{end}s")) };
            let Heads { strong, weak, many, beside } = &mut out;
            let single = match before.is_empty() && words.len() == 2 {
                _ if end != last && shared => beside,
                true if end != last => weak,
                _ => strong,
            };
            for end in [&one, end] {
                if free(&of(end.clone())) {
                    single.insert(of(end.clone()), name.clone());
                }
            }
            if *end != more && free(&of(more.clone())) {
                many.insert(of(more), plural.clone());
            }
        }
    }
    out
}

/// A text with the names that parts of them stand for. No part is taken out of its whole name.
pub fn in_full(text: &str, all: &Spoken, heads: &Heads, counting: &BTreeSet<String>, reach: Reach) -> String {
    let pieces: Vec<&str> = text.split_inclusive(|c: char| !c.is_alphanumeric()).collect();
    let words: Vec<String> = pieces.iter().map(|p| p.trim_end_matches(|c: char| !c.is_alphanumeric()).to_lowercase()).collect();
    let run = |at: usize, n: usize| -> Option<&[String]> {
        let inner = pieces.get(at..at + n - 1)?.iter().all(|p| p.ends_with(' '));
        words.get(at..at + n).filter(|w| inner && w.iter().all(|w| !w.is_empty()))
    };
    let same = |at: usize, n: &String, w: &String| n == w || at == 0 && n.trim_end_matches('s') == w.trim_end_matches('s');
    let is =
        |name: &Phrase, run: &[String]| name.len() > 1 && name.len() == run.len() && name.iter().zip(run).rev().enumerate().all(|(at, (n, w))| same(at, n, w));
    let (mut out, mut at) = (String::new(), 0);
    while let Some(piece) = pieces.get(at) {
        let longest = |found: &dyn Fn(&[String]) -> bool| (1..=6).rev().find(|n| run(at, *n).is_some_and(found));
        let before = at.checked_sub(1).and_then(|b| words.get(b)).map_or("", String::as_str);
        let known = matches!(before, "the" | "your" | "that" | "this" | "those");
        let counts = |w: &str| matches!(w, "the" | "your" | "those" | "these" | "both" | "of" | "more") || counting.contains(w) || w.parse::<u8>().is_ok();
        let counted = counts(before) || at.checked_sub(2).and_then(|b| words.get(b)).is_some_and(|w| counts(w));
        let part = |part: &[String]| {
            let name =
                heads.strong.get(part).or_else(|| heads.weak.get(part).filter(|_| reach != Reach::Strong)).or_else(|| heads.many.get(part).filter(|_| counted));
            let given = |name: &&String| name.split_whitespace().next_back().is_some_and(|last| words.iter().any(|w| w.eq_ignore_ascii_case(last)));
            let name = name.or_else(|| heads.beside.get(part).filter(given).filter(|_| reach == Reach::All));
            name.filter(|name| known || reach != Reach::Known && !words::tokens(name).iter().any(|w| w == before))
        };
        let (length, said) = if let Some(n) = longest(&|r| all.keys().any(|name| is(name, r))) {
            (n, None)
        } else {
            longest(&|r| part(r).is_some()).map_or((1, None), |n| (n, run(at, n).and_then(part)))
        };
        let last = pieces.get(at + length - 1).zip(words.get(at + length - 1));
        match said.zip(last) {
            Some((name, (piece, word))) => out.extend([name, piece.get(word.len()..).unwrap_or_default()]),
            None if length > 1 => out.extend(pieces.get(at..at + length).into_iter().flatten().copied()),
            None => out.push_str(piece),
        }
        at += length;
    }
    out
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
