//! The part of a program that one decision depends on, as text for clingo.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::analyse::mentions;
use super::base::Base;
use super::decide::Outcome;
use super::eval::Stratum;
use super::eval::run::Touched;
use super::rules::Rules;
use super::syntax::Kind;
use crate::term::{Atom, Name};

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

/// The rules of a decision: those that are not static, and those left to clingo.
pub fn moving_rules(rules: &Rules) -> String {
    text(rules, &rules.program.moving)
}

fn text(rules: &Rules, strata: &[Stratum]) -> String {
    let ids = strata.iter().flat_map(|s| &s.rules).filter_map(|r| rules.program.rules.get(*r as usize)).map(|r| r.statement);
    let wanted: BTreeSet<usize> = ids.chain(rules.left.iter().copied()).collect();
    write_statements(rules, |n| wanted.contains(&n))
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
            out.push_str(&s.text);
            out.push('\n');
        }
    }
    out
}

/// The slice of a decision: its facts, and the static atoms that the evaluator's look-ups met.
pub fn of_decision(outcome: &Outcome, touched: &Touched) -> Slice {
    let base = outcome.base();
    let rules = base.rules();
    let program = &rules.program;
    let mut facts: BTreeSet<Atom> = outcome.facts.iter().cloned().collect();
    let mut seen = touched.clone();
    seen.sort_unstable();
    seen.dedup();
    for (relation, row) in seen {
        let (Some(rows), Some(layout), Some(name)) =
            (base.inner.relations.get(relation as usize), program.layouts.layouts.get(relation as usize), program.layouts.names.get(relation as usize))
        else {
            continue;
        };
        let values = rows.row(layout.arity, row);
        let Some(mut atom) = base.inner.terms.atom(&name.0, values) else { continue };
        if let Some((opened, place)) = layout.opens
            && let Some(view) = program.layouts.layouts.get(opened as usize).and_then(|l| l.views.get(place))
        {
            let args: Vec<_> = atom.args.splice(view.column..view.column + view.arity, [crate::term::Term::Const("".into())]).collect();
            if let Some(slot) = atom.args.get_mut(view.column) {
                *slot = crate::term::Term::Fun(view.functor.clone(), args);
            }
        }
        facts.insert(atom);
    }
    for n in &rules.left {
        let mentioned: Vec<(Name, usize)> = match rules.statements.get(*n).map(|s| &s.kind) {
            Some(Kind::Rule { head, body }) => mentions(head, body).into_iter().map(|(p, _)| p).collect(),
            Some(Kind::Optimise(body)) => mentions(&super::syntax::Head::None, body).into_iter().map(|(p, _)| p).collect(),
            _ => Vec::new(),
        };
        for p in mentioned {
            facts.extend(base.query(&p.0, p.1));
        }
    }
    Slice { rules: moving_rules(rules), facts: facts.into_iter().collect() }
}

/// The whole program with all stored facts: the reference that slices are measured against.
pub fn whole(base: &Base, facts: &[Atom]) -> Slice {
    let rules = base.rules();
    let mut all: Vec<Atom> = facts.to_vec();
    for p in rules.signature.stored.keys() {
        all.extend(base.stored(p));
    }
    Slice { rules: write_statements(rules, |_| true), facts: all }
}
