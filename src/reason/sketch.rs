//! What is kept of rules for the search for those that could fire: their plain atoms, and who supplies whom.

use std::collections::BTreeSet;

use super::analyse::patterns_meet;
use super::eval::layouts::Layouts;
use super::eval::store::RelId;
use super::eval::terms::{Id, Terms};
use super::eval::{Compiled, Stratum, plain};
use super::syntax::{AtomPattern, Expr, Item, Literal, Rel, Sign, is_anonymous};
use crate::term::Name;

/// A term of a rule.
#[derive(Clone, Debug)]
pub enum Part {
    Any,
    Var(usize),
    Is(Id),
    Fun(Id, Vec<Part>),
}

/// A rule without what does not count here.
#[derive(Clone, Debug, Default)]
pub struct Sketch {
    pub head: (RelId, Vec<Part>),
    pub body: Vec<(RelId, Vec<Part>)>,
    /// Pairs that must be equal, or must differ.
    pub pairs: Vec<(bool, Part, Part)>,
    pub vars: usize,
}

/// The sketches of rules, by number; static rules have an empty one, since what they derive is part of the base.
pub fn sketches(rules: &[Compiled], moving: &[Stratum], layouts: &Layouts, terms: &mut Terms) -> Vec<Sketch> {
    let mut out = vec![Sketch::default(); rules.len()];
    for id in moving.iter().flat_map(|s| &s.rules) {
        let (Some(rule), Some(slot)) = (rules.get(*id as usize), out.get_mut(*id as usize)) else { continue };
        let mut parts = |args: &[Expr]| args.iter().map(|e| part(e, &rule.vars, terms)).collect::<Vec<_>>();
        let head = (rule.head.0, parts(&rule.pattern.args));
        let body = rule.body.iter().filter_map(plain).filter_map(|a| Some((*layouts.ids.get(&a.predicate())?, parts(&a.args)))).collect();
        let mut pairs = Vec::new();
        for item in &rule.body {
            if let Item::Literal(Literal::Compare { sign: Sign::Plain, left, rest, .. }) = item
                && let [(rel @ (Rel::Eq | Rel::Ne), right)] = rest.as_slice()
            {
                pairs.push((*rel == Rel::Eq, part(left, &rule.vars, terms), part(right, &rule.vars, terms)));
            }
        }
        *slot = Sketch { head, body, pairs, vars: rule.vars.len() };
    }
    out
}

fn part(e: &Expr, vars: &[Name], terms: &mut Terms) -> Part {
    match e {
        Expr::Var(n, _) if !is_anonymous(n) => vars.iter().position(|v| v == n).map_or(Part::Any, Part::Var),
        Expr::Int(n) => Part::Is(terms.of_int(*n)),
        Expr::Const(n) => Part::Is(terms.of_const(n)),
        Expr::Str(n) => Part::Is(terms.of_str(n)),
        Expr::Fun(n, args) => Part::Fun(terms.of_const(n), args.iter().map(|a| part(a, vars, terms)).collect()),
        _ => Part::Any,
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
