//! What is known of a text or a conversation while it is read: names as they are written, whom a pronoun may mean, what a correction takes back.

use std::collections::{BTreeMap, BTreeSet};

use super::super::told::{Literal, Reading, Theory};
use super::words::{Word, sentences};
use crate::term::Term;

/// What those are called of whom no more is known than that there is one.
pub(super) const WITNESS: &str = "someone ";

/// What stands between the name of a thing and its place.
const PLACES: [&str; 8] = ["in", "at", "on", "inside", "under", "behind", "near", "from"];

/// How predicates end whose last thing is a place.
pub(super) const PLACING: [&str; 6] = ["in", "at", "from", "near", "into", "go"];

/// What is known of a text while it is read.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// Names as they were written first, by their lower case.
    names: BTreeMap<String, String>,
    /// Whom a pronoun may mean.
    pub(super) last: Option<Term>,
    /// Whom the one before was about, if that was somebody else.
    pub(super) other: Option<Term>,
    /// The kind that the last statement was about, if it was about all of one.
    pub(super) kind: Option<Term>,
    /// Who and what was spoken of, the last one last.
    mentions: Vec<Term>,
    /// Whether a module's rules know whom the last statement was about.
    pub(super) by_module: bool,
    pub(super) witnesses: usize,
    /// The facts told so far, in order.
    facts: Vec<Literal>,
    /// What the last sentence told.
    latest: Vec<Reading>,
    /// The words of the statement before.
    pub(super) before: Vec<Word>,
    /// Everything that was told of by name, in lower case.
    known: BTreeSet<String>,
    /// What was spoken of as a place.
    places: BTreeSet<Term>,
}

impl Context {
    /// What a theory's sentences leave behind.
    pub fn of(theory: &Theory) -> Self {
        let mut c = Self::default();
        theory.values.iter().for_each(|(_, v)| c.learn(&Term::string(v)));
        for t in &theory.told {
            match &t.reading {
                // Whom it is about is spoken of last: that is whom a pronoun means.
                Reading::Fact(l) => {
                    if l.atom.name.rsplit('_').next().is_some_and(|w| PLACING.contains(&w)) {
                        c.places.extend(l.atom.args.iter().skip(1).cloned());
                    }
                    l.atom.args.iter().rev().for_each(|a| c.learn(a));
                }
                Reading::Rule(r) => [&r.head].into_iter().chain(&r.body).flat_map(|l| &l.atom.args).for_each(|a| c.learn(a)),
                _ => {}
            }
        }
        c
    }

    /// What statements as rules see them leave behind, in the order in which they were told: `last` is whom the last one was about.
    pub fn of_statements<'a>(statements: impl Iterator<Item = &'a Term>) -> Self {
        let mut c = Self::default();
        for s in statements {
            c.learn(s);
            let Term::Fun(f, args) = s else { continue };
            let ("fact", [sign, what, ..]) = (&**f, args.as_slice()) else { continue };
            c.facts.extend(what.to_atom().map(|atom| Literal { positive: sign.as_name() == Some("pos"), atom }));
            if let Some(about @ Term::Str(name)) = args.get(3) {
                c.speak_of(about);
                c.witnesses += usize::from(name.starts_with(WITNESS));
            }
            c.mention_all(what);
            c.by_module = !matches!(args.get(3), Some(Term::Str(_)));
        }
        c
    }

    /// What is said next follows these words.
    pub fn goes_on(&mut self, before: &str) {
        self.before = sentences(before).pop().map(|s| s.words).unwrap_or_default();
    }

    /// A statement about somebody or something begins.
    pub(super) fn speak_of(&mut self, about: &Term) {
        if self.last.as_ref() != Some(about) {
            self.other = self.last.replace(about.clone());
        }
        (self.kind, self.by_module) = (None, false);
        self.mention(about);
    }

    /// Somebody or something is spoken of.
    pub(super) fn mention(&mut self, what: &Term) {
        self.mentions.retain(|m| m != what);
        self.mentions.push(what.clone());
    }

    /// Something is spoken of as a place, so `she` does not mean it.
    pub(super) fn stays_in(&mut self, place: &Term) {
        self.places.insert(place.clone());
    }

    /// A module's statement was told: all its names are spoken of, and it is about the first.
    pub(super) fn mention_all(&mut self, said: &Term) {
        if let Term::Fun(f, args) = said {
            if let (true, [_, places @ ..]) = (PLACING.contains(&&**f) || &**f == "either", args.as_slice()) {
                self.places.extend(places.iter().cloned());
            }
            let names: Vec<&Term> = args.iter().filter(|a| matches!(a, Term::Str(_))).collect();
            names.iter().for_each(|n| self.mention(n));
            if let Some(first) = names.first() {
                self.speak_of(first);
                self.by_module = true;
            }
        }
    }

    /// Whom a pronoun means: `it` what bears no name of its own if anything was spoken of that does not, another one who bears one;
    /// but not the one that the sentence is about already.
    pub(super) fn meant(&self, thing: bool, about: Option<&Term>) -> Option<&Term> {
        let fits = |m: &&Term| thing != (m.as_name().is_some_and(|n| n.starts_with(char::is_uppercase)) && !self.places.contains(*m));
        let last = self.last.as_ref().filter(|l| Some(*l) != about);
        let other = self.other.as_ref().filter(|o| Some(*o) != about);
        let of_all = || self.mentions.iter().rev().filter(|m| Some(*m) != about).find(fits);
        last.filter(fits).or(other.filter(fits)).or_else(of_all).or(last).or(other)
    }

    /// Keeps what was told for what corrects it.
    pub fn keep(&mut self, said: &[Reading]) {
        self.latest = said.to_vec();
        self.facts.extend(said.iter().filter_map(|r| if let Reading::Fact(l) = r { Some(l.clone()) } else { None }));
    }

    /// What the last sentence told; of a conversation taken up again the last fact.
    pub fn latest(&self) -> Vec<Reading> {
        if self.latest.is_empty() { self.facts.last().cloned().map(Reading::Fact).into_iter().collect() } else { self.latest.clone() }
    }

    /// The last fact, and the same with another thing at its end.
    pub fn amended(&mut self, other: &Term) -> Option<(Literal, Literal)> {
        let old = self.facts.iter().rev().find(|l| l.atom.args.last().is_some_and(|t| matches!(t, Term::Str(_))))?.clone();
        let mut new = old.clone();
        *new.atom.args.last_mut()? = other.as_name().map_or_else(|| other.clone(), |n| Term::string(&self.named(n)));
        Some((old, new))
    }

    /// What a correction takes back: its opposites, the last that said the same of its first thing and another one, and what was said last
    /// if that says something else of the same one thing, or the same of another one.
    pub fn corrected(&self, said: &[Reading], of_a_sort: &dyn Fn(&Term, &Term) -> bool) -> Vec<Reading> {
        let mut out: Vec<Reading> = said.iter().filter_map(super::opposite).collect();
        let news = |l: &&Literal| l.positive && !self.facts.contains(&l.negated());
        for l in said.iter().filter_map(|r| if let Reading::Fact(l) = r { Some(l) } else { None }).filter(news) {
            let alike = |f: &&Literal| f.positive && f.atom.args.first() == l.atom.args.first() && f.atom.args.len() == l.atom.args.len() && f.atom != l.atom;
            let other = match l.atom.args.len() {
                1 => {
                    let of_other = |f: &&Literal| f.positive && f.atom.args.len() == 1 && f.atom.name == l.atom.name && f.atom != l.atom;
                    let before = self.facts.iter().rev().find(|f| !said.contains(&Reading::Fact((*f).clone())));
                    before.filter(|f| alike(f) || of_other(f))
                }
                _ => {
                    let ends = |f: &Literal| matches!((f.atom.args.last(), l.atom.args.last()), (Some(a), Some(b)) if of_a_sort(a, b));
                    let same = |f: &&Literal| f.positive && f.atom.name == l.atom.name && f.atom != l.atom && ends(f);
                    let of_one = |f: &&Literal| f.atom.args.len() == 2 && f.atom.args.last() == l.atom.args.last();
                    self.facts.iter().rev().filter(same).find(alike).or_else(|| self.facts.iter().rev().filter(same).find(of_one))
                }
            };
            out.extend(other.map(|f| Reading::Fact(f.clone())));
        }
        out
    }

    /// Whether a meaning speaks of anything that was not told of.
    pub fn strange(&self, t: &Term) -> bool {
        match t {
            Term::Str(s) => !self.known.contains(&s.to_lowercase()),
            Term::Fun(_, args) => args.iter().any(|a| self.strange(a)),
            _ => false,
        }
    }

    /// How many words of a meaning belong to names that were told.
    pub fn familiar(&self, t: &Term) -> usize {
        match t {
            Term::Str(s) if self.known.contains(&s.to_lowercase()) => s.split(' ').count(),
            Term::Fun(_, args) => args.iter().map(|a| self.familiar(a)).sum(),
            _ => 0,
        }
    }

    fn learn(&mut self, t: &Term) {
        match t {
            Term::Str(s) => {
                self.known.insert(s.to_lowercase());
                let named = self.named(s);
                self.mention(&Term::string(&named));
            }
            Term::Fun(_, args) => args.iter().for_each(|a| self.learn(a)),
            _ => {}
        }
    }

    /// What a name means that nobody bears: the only one whose name ends so (`the folder`, after `the blue folder`) or goes on with its place
    /// (`the folder`, after `the folder in the drawer`), the only one named so of its kind (`the blue one`), or for `my folder` the folder of
    /// which was spoken.
    pub(super) fn meant_by(&mut self, shown: &str) -> String {
        let lower = shown.to_lowercase();
        let names: BTreeSet<String> = self.mentions.iter().filter_map(|m| m.as_name()).map(str::to_lowercase).collect();
        let front = lower.strip_suffix(" one");
        let ends = |n: &&String| {
            let placed = |rest: &str| rest.strip_prefix(' ').and_then(|r| r.split(' ').next()).is_some_and(|w| PLACES.contains(&w));
            n.strip_suffix(&lower).is_some_and(|front| front.ends_with(' '))
                || n.strip_prefix(&lower).is_some_and(placed)
                || front.and_then(|f| n.strip_prefix(f)).is_some_and(|rest| rest.starts_with(' '))
        };
        let mut longer = names.iter().filter(ends);
        let other = match (names.contains(&lower), longer.next(), longer.next()) {
            (false, Some(one), None) => Some(one.clone()),
            (false, None, _) => lower.strip_prefix("my ").filter(|n| names.contains(*n)).map(str::to_owned),
            _ => None,
        };
        match other.and_then(|o| self.mentions.iter().filter_map(|m| m.as_name()).find(|n| n.to_lowercase() == o).map(str::to_owned)) {
            Some(n) => n,
            None => self.named(shown),
        }
    }

    /// A name as it was written first.
    pub fn named(&mut self, shown: &str) -> String {
        let lower = shown.to_lowercase();
        if let Some(n) = self.names.get(&lower) {
            return n.clone();
        }
        self.names.insert(lower, shown.to_owned());
        shown.to_owned()
    }
}
