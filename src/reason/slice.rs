//! The part of a program that one decision depends on, as text for clingo.

pub mod possible;

use std::collections::BTreeSet;
use std::fmt::Write;

use super::analyse::{mentions, patterns_meet};
use super::base::Base;
use super::eval::{Compiled, FALSE, Stratum};
use super::rules::Rules;
use super::syntax::{AtomPattern, Item, Kind, Literal, Predicate, Rel, Sign, Statement, is_anonymous};
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
    let meets = |p: u32, atom: &AtomPattern| rules.get(p as usize).is_some_and(|p| patterns_meet(&p.pattern, atom));
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
