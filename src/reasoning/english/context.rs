//! What is known of a text or a conversation while it is read: names as they are written, whom a pronoun may mean, what a correction takes back.

use std::collections::{BTreeMap, BTreeSet};

use super::super::told::{Literal, Reading, Theory};
use crate::term::Term;

/// What those are called of whom no more is known than that there is one.
pub(super) const WITNESS: &str = "someone ";

/// What is known of a text while it is read.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// Names as they were written first, by their lower case.
    names: BTreeMap<String, String>,
    /// Whom a pronoun may mean.
    pub(super) last: Option<Term>,
    /// Whom the one before was about, if that was somebody else.
    pub(super) other: Option<Term>,
    pub(super) witnesses: usize,
    /// The facts told so far, in order.
    facts: Vec<Literal>,
    /// Everything that was told of by name, in lower case.
    known: BTreeSet<String>,
}

impl Context {
    /// What a theory's sentences leave behind.
    pub fn of(theory: &Theory) -> Self {
        let mut c = Self::default();
        for t in &theory.told {
            match &t.reading {
                Reading::Fact(l) => l.atom.args.iter().for_each(|a| c.learn(a)),
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
        }
        c
    }

    /// A statement about somebody or something begins.
    pub(super) fn speak_of(&mut self, about: &Term) {
        if self.last.as_ref() != Some(about) {
            self.other = self.last.replace(about.clone());
        }
    }

    /// Keeps what was told for what corrects it.
    pub fn keep(&mut self, said: &[Reading]) {
        self.facts.extend(said.iter().filter_map(|r| if let Reading::Fact(l) = r { Some(l.clone()) } else { None }));
    }

    /// The last fact, and the same with another thing at its end.
    pub fn amended(&mut self, other: &Term) -> Option<(Literal, Literal)> {
        let old = self.facts.iter().rev().find(|l| l.atom.args.last().is_some_and(|t| matches!(t, Term::Str(_))))?.clone();
        let mut new = old.clone();
        *new.atom.args.last_mut()? = other.as_name().map_or_else(|| other.clone(), |n| Term::string(&self.named(n)));
        Some((old, new))
    }

    /// What a correction takes back: its opposites, the last that said the same of its first thing and another one, and what was said last
    /// if that says something else of the same one thing.
    pub fn corrected(&self, said: &[Reading]) -> Vec<Reading> {
        let mut out: Vec<Reading> = said.iter().filter_map(super::opposite).collect();
        for l in said.iter().filter_map(|r| if let Reading::Fact(l) = r { Some(l) } else { None }).filter(|l| l.positive) {
            let alike = |f: &&Literal| f.positive && f.atom.args.first() == l.atom.args.first() && f.atom.args.len() == l.atom.args.len() && f.atom != l.atom;
            let other = match l.atom.args.len() {
                1 => self.facts.iter().rev().find(|f| !said.contains(&Reading::Fact((*f).clone()))).filter(alike),
                _ => self.facts.iter().rev().filter(alike).find(|f| f.atom.name == l.atom.name),
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
                self.named(s);
            }
            Term::Fun(_, args) => args.iter().for_each(|a| self.learn(a)),
            _ => {}
        }
    }

    /// A name as it was written first.
    pub fn named(&mut self, shown: &str) -> String {
        let lower = shown.to_lowercase();
        if let Some(n) = self.names.get(&lower) {
            return n.clone();
        }
        if shown != lower {
            self.names.insert(lower, shown.to_owned());
        }
        shown.to_owned()
    }
}
