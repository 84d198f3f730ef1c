//! The part of a program that one decision depends on, as text for clingo.

mod possible;
pub mod reproducer;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::analyse::mentions;
use super::base::Base;
use super::eval::{Compiled, FALSE};
use super::rules::Rules;
use super::syntax::{Kind, Predicate};
use crate::term::Atom;

/// A program in clingo's language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The rules, with constants and what is shown.
    pub rules: String,
    /// The facts.
    pub facts: Vec<Atom>,
}

impl Slice {
    /// The whole text.
    pub fn text(&self) -> String {
        let mut out = self.rules.clone();
        for f in &self.facts {
            let _ = writeln!(out, "{f}.");
        }
        out
    }
}

/// The statements that can fire on a decision's facts and that something shown, or a constraint, depends on; found without
/// looking at what the evaluator derived.
fn possible(base: &Base, facts: &[Atom]) -> BTreeSet<usize> {
    let rules = base.rules();
    let fires = possible::fires(base, facts);
    let fires = |n: u32| fires.get(n as usize).copied().unwrap_or(false);
    let ends = |r: &Compiled| r.pattern.name.as_ref() == FALSE || rules.shown.iter().any(|(s, _)| *s == r.head.0) || !rules.left.is_empty();
    let mut next: Vec<u32> = (0u32..).zip(&rules.program.rules).filter(|(n, r)| fires(*n) && ends(r)).map(|(n, _)| n).collect();
    let mut wanted = vec![false; rules.program.rules.len()];
    let mut out: BTreeSet<usize> = rules.left.iter().copied().collect();
    while let Some(n) = next.pop() {
        let Some(w) = wanted.get_mut(n as usize).filter(|w| !**w) else { continue };
        *w = true;
        out.extend(rules.program.rules.get(n as usize).map(|r| r.statement));
        next.extend(rules.supplies.get(n as usize).into_iter().flatten().filter(|p| fires(**p)));
    }
    out
}

fn write_statements(rules: &Rules, wanted: impl Fn(usize) -> bool) -> String {
    let mut out = String::new();
    for (n, s) in rules.statements.iter().enumerate() {
        let take = match &s.kind {
            Kind::Rule { .. } | Kind::Optimise(_) => wanted(n),
            Kind::Show(_) | Kind::ShowNothing | Kind::Const(..) => true,
            Kind::External(..) | Kind::Defined(_) | Kind::ProgramBase => false,
        };
        if take {
            out.push_str(rules.texts.get(n).unwrap_or(&s.text));
            out.push('\n');
        }
    }
    out
}

/// The slice of a decision: its facts, the rules that could fire on them, and all static atoms of the predicates that these mention.
/// What the evaluator looked up or derived in this decision has no part in it.
pub fn of_decision(base: &Base, facts: &[Atom]) -> Slice {
    let rules = base.rules();
    let statements = possible(base, facts);
    let mentioned: BTreeSet<Predicate> = statements
        .iter()
        .filter_map(|n| rules.statements.get(*n))
        .flat_map(|s| match &s.kind {
            Kind::Rule { head, body } => mentions(head, body),
            Kind::Optimise(body) => mentions(&super::syntax::Head::None, body),
            _ => Vec::new(),
        })
        .map(|(p, _)| p)
        .collect();
    let all: BTreeSet<Atom> = facts.iter().cloned().chain(mentioned.iter().flat_map(|p| base.query(&p.0, p.1))).collect();
    Slice { rules: write_statements(rules, |n| statements.contains(&n)), facts: all.into_iter().collect() }
}

/// What follows from the stored facts alone: they, and the rules that depend on nothing else.
pub fn of_facts(base: &Base) -> Slice {
    let rules = base.rules();
    let facts = rules.signature.stored.keys().flat_map(|p| base.stored(p)).collect();
    let fixed = rules.analysis.fixed.iter().filter_map(|n| rules.texts.get(*n));
    let constants = rules.statements.iter().filter(|s| matches!(s.kind, Kind::Const(..))).map(|s| &s.text);
    Slice { rules: constants.chain(fixed).map(|t| format!("{t}\n")).collect(), facts }
}

/// The whole program with all stored facts: the reference that slices are measured against.
pub fn whole(base: &Base, facts: &[Atom]) -> Slice {
    let rules = base.rules();
    let mut all = super::reflect::reflect(rules, facts).into_owned();
    for p in rules.signature.stored.keys() {
        all.extend(base.stored(p));
    }
    Slice { rules: write_statements(rules, |_| true), facts: all }
}
