//! The part of a program that one decision depends on, as text for clingo.

pub mod possible;

use std::collections::BTreeSet;
use std::fmt::Write;

use super::analyse::{mentions, patterns_meet};
use super::base::Base;
use super::decide::Outcome;
use super::eval::run::Touched;
use super::eval::{Compiled, FALSE, Stratum};
use super::rules::Rules;
use super::syntax::{Item, Kind, Literal, Pattern, Rel, Sign, Statement, is_anonymous};
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

/// For each rule the rules whose heads any of its literals can meet: negated ones and those inside aggregates and conditions too.
pub fn supplies(rules: &[Compiled], moving: &[Stratum]) -> Vec<Vec<u32>> {
    let ids: BTreeSet<u32> = moving.iter().flat_map(|s| s.rules.iter().copied()).collect();
    let meets = |p: u32, atom: &Pattern| rules.get(p as usize).is_some_and(|p| patterns_meet(&p.pattern, atom));
    let mut out = vec![Vec::new(); rules.len()];
    for id in &ids {
        let (Some(rule), Some(slot)) = (rules.get(*id as usize), out.get_mut(*id as usize)) else { continue };
        let mut producers: BTreeSet<u32> = BTreeSet::new();
        for (l, _) in rule.body.iter().flat_map(Item::literals) {
            if let Literal::Atom { atom, .. } = l {
                producers.extend(ids.iter().copied().filter(|p| meets(*p, atom)));
            }
        }
        *slot = producers.into_iter().collect();
    }
    out
}

/// The statements that can fire on a decision's facts and that something shown, or a constraint, depends on; found without
/// looking at what the evaluator derived.
fn possible(outcome: &Outcome) -> BTreeSet<usize> {
    let rules = outcome.base().rules();
    let fires = possible::fires(outcome.base(), &outcome.above, &outcome.terms);
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

/// A statement for clingo: without bounds, and `_` of a plain condition gets a name: the instances are the same, but clingo
/// makes no rule of its own to leave the column out.
pub fn for_clingo(s: &Statement) -> Name {
    let Kind::Rule { body, .. } = &s.kind else { return s.text.clone() };
    let mut places = bounds(body);
    let mut stem = String::from("Any");
    while s.text.contains(&stem) {
        stem.push('y');
    }
    for item in body {
        let named = match item {
            Item::Literal(l) => std::slice::from_ref(l),
            Item::Conditional { condition, .. } => condition.as_slice(),
            Item::Aggregate(_) => &[],
        };
        let inner = if let Item::Aggregate(a) = item { a.elements.iter().flat_map(|e| &e.condition).collect() } else { Vec::new() };
        for l in named.iter().chain(inner) {
            if let Literal::Atom { sign: Sign::Plain, atom } = l {
                atom.args.iter().for_each(|a| {
                    a.each_var(&mut |n, at| {
                        if is_anonymous(n) {
                            places.push((at, at + 1, format!("{stem}{}", places.len())));
                        }
                    });
                });
            }
        }
    }
    replaced(s, places)
}

/// A statement with `X < Y` written as `(X,) < (Y,)`: the order is the same, but clingo does not reason about integer bounds.
/// Left to itself it enumerates `0 <= X <= 1000000` and never ends on `X < Y, Y < X`.
pub fn without_bounds(s: &Statement) -> Name {
    if let Kind::Rule { body, .. } = &s.kind { replaced(s, bounds(body)) } else { s.text.clone() }
}

/// Places of a source and what stands there instead.
type Places = Vec<(usize, usize, String)>;

fn bounds(body: &[Item]) -> Places {
    let mut places = Places::new();
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
    places
}

fn replaced(s: &Statement, mut places: Places) -> Name {
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
    let mut facts: BTreeSet<Atom> = outcome.facts().iter().cloned().collect();
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
