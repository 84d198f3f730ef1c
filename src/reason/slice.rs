//! The part of a program that one decision depends on, as text for clingo.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::analyse::{mentions, patterns_meet};
use super::base::Base;
use super::decide::Outcome;
use super::eval::run::Touched;
use super::eval::store::{FACT, RelId};
use super::eval::{Compiled, Stratum, plain};
use super::rules::Rules;
use super::syntax::{Item, Kind, Literal, Rel, Sign, Statement};
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

/// Where the rows of a positive literal can come from.
#[derive(Clone, Debug)]
pub struct Supply {
    /// The relation it reads.
    relation: RelId,
    /// The rules whose heads it can meet.
    producers: Vec<u32>,
}

/// For each rule, the supplies of its positive literals; for static rules nothing, since their rows are facts of the slice.
pub fn supplies(rules: &[Compiled], moving: &[Stratum]) -> Vec<Vec<Supply>> {
    let ids: Vec<u32> = moving.iter().flat_map(|s| s.rules.iter().copied()).collect();
    let mut out = vec![Vec::new(); rules.len()];
    for id in &ids {
        let Some(rule) = rules.get(*id as usize) else { continue };
        let found = rule.body.iter().filter_map(plain).zip(rule.needs()).map(|(atom, relation)| {
            let producers = ids.iter().copied().filter(|p| rules.get(*p as usize).is_some_and(|p| patterns_meet(&p.pattern, atom))).collect();
            Supply { relation: *relation, producers }
        });
        if let Some(slot) = out.get_mut(*id as usize) {
            *slot = found.collect();
        }
    }
    out
}

/// The statements that can fire on a decision's facts, found without looking at what the evaluator derived.
fn possible(outcome: &Outcome) -> BTreeSet<usize> {
    let base = outcome.base();
    let rules = base.rules();
    let told = |r: RelId| {
        base.inner.counts.get(r as usize).is_some_and(|n| *n > 0) || outcome.above.get(r as usize).is_some_and(|r| r.derived.iter().any(|d| d.rule == FACT))
    };
    let mut fires = vec![false; rules.program.rules.len()];
    loop {
        let mut grew = false;
        for id in rules.program.moving.iter().flat_map(|s| &s.rules) {
            let n = *id as usize;
            if fires.get(n).copied().unwrap_or(true) {
                continue;
            }
            let ready = rules
                .supplies
                .get(n)
                .is_some_and(|s| s.iter().all(|l| told(l.relation) || l.producers.iter().any(|p| fires.get(*p as usize).copied().unwrap_or(true))));
            if ready && let Some(f) = fires.get_mut(n) {
                *f = true;
                grew = true;
            }
        }
        if !grew {
            break;
        }
    }
    let firing = fires.iter().enumerate().filter(|(_, f)| **f).filter_map(|(n, _)| rules.program.rules.get(n)).map(|r| r.statement);
    firing.chain(rules.left.iter().copied()).collect()
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

/// A statement for clingo, with `X < Y` written as `(X,) < (Y,)`: the order is the same, but clingo does not reason about
/// integer bounds. Left to itself it enumerates `0 <= X <= 1000000` and never ends on `X < Y, Y < X`.
pub fn without_bounds(s: &Statement) -> Name {
    let Kind::Rule { body, .. } = &s.kind else { return s.text.clone() };
    let mut places: Vec<(usize, usize, String)> = Vec::new();
    for (l, _) in body.iter().flat_map(Item::literals) {
        if let Literal::Compare { sign, left, rest, span } = l
            && rest.iter().any(|(r, _)| !matches!(r, Rel::Eq | Rel::Ne))
            && rest.iter().all(|(r, _)| *r != Rel::Eq)
        {
            let sign = match sign {
                Sign::Plain => "",
                Sign::Not => "not ",
                Sign::NotNot => "not not ",
            };
            let mut text = format!("{sign}({left},)");
            for (r, e) in rest {
                let _ = write!(text, " {} ({e},)", r.symbol());
            }
            places.push((span.start, span.end, text));
        }
    }
    places.sort();
    let mut out = s.text.to_string();
    for (start, end, text) in places.into_iter().rev() {
        let (from, to) = (start.wrapping_sub(s.origin.start), end.wrapping_sub(s.origin.start));
        if out.get(from..to).is_some() {
            out.replace_range(from..to, &text);
        }
    }
    out.into()
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
    let fires = possible(outcome);
    Slice { rules: write_statements(rules, |n| fires.contains(&n)), facts: facts.into_iter().collect() }
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
