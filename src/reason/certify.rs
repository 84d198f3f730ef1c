//! The second opinion on a decision: a model is accepted only if every instance of every rule holds in it and founds it.
//!
//! The evaluator finds a model; this verifies it. It reads the rules through clingo's own parser, looks every atom up in rows
//! that it hashes itself, orders and calculates terms itself, and goes through all instances of all rules in one naive pass.
//! Nothing of the evaluator but its rows is looked at, and they are not believed:
//!
//! 1. every instance whose body holds in the model has its head in the model;
//! 2. every atom of the model follows, from the facts that were given, by instances whose positive atoms were founded before.
//!
//! So the model is the least one of its own reduct, which is what a stable model is. [`Checker::read`] accepts stratified rules
//! alone, those in which nothing depends on its own absence or on an aggregate over itself: they have no other stable model.

mod pass;
mod plan;
mod rows;

use std::collections::{BTreeMap, BTreeSet};

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;

use super::clingo::ast::{self, Read};
use super::eval::layouts::Layouts;
use super::eval::store::RelId;
use super::eval::terms::Terms;
use super::syntax::{AtomPattern, Expr, Item, Literal, Predicate, Sign};
use crate::diag::{Origin, Source};

pub use pass::{Model, Verdict};
pub use rows::{FEW, Seen, hash, within};

/// The rules of a program as the checker goes through them, those that others depend on first.
#[derive(Clone, Debug, Default)]
pub struct Checker {
    /// What follows from stored facts alone.
    fixed: Vec<Rule>,
    /// What depends on session or turn, as far as something shown or a constraint depends on it.
    moving: Vec<Rule>,
    /// The look-ups that rules make: a relation, and the columns that are known.
    pub(super) masks: Vec<(RelId, u32)>,
    /// For each relation, the look-up of a whole row.
    whole: Vec<usize>,
}

#[derive(Clone, Debug)]
struct Rule {
    head: Option<(RelId, Vec<plan::Part>)>,
    /// The relations of all atoms of its body.
    reads: Vec<RelId>,
    steps: Vec<plan::Step>,
    slots: usize,
    origin: Origin,
}

impl Checker {
    /// Reads rules. What is not of the stratified fragment is refused, with the reason: clingo then confirms each decision.
    pub fn read(sources: &[Source], moving: &BTreeSet<Predicate>, layouts: &mut Layouts, terms: &mut Terms) -> Result<Self, String> {
        let mut all = Read::default();
        for s in sources {
            ast::read(s, &mut all).map_err(|why| format!("{}: {why}", s.name))?;
        }
        all.fill_in_constants();
        let mut moving: BTreeSet<Predicate> = moving.iter().chain(&all.external).cloned().collect();
        let order = order(&all, &moving)?;
        moving.extend(order.iter().filter(|(_, moves)| *moves).filter_map(|(r, _)| Some(r.head.as_ref()?.predicate())));
        let mut out = Self::default();
        let mut compiler = plan::Compiler::new(&moving, layouts, terms);
        for (rule, moves) in order {
            let compiled = compiler.rule(rule).map_err(|why| format!("{}: {why}", rule.origin))?;
            if moves { out.moving.push(compiled) } else { out.fixed.push(compiled) }
        }
        (out.masks, out.whole) = compiler.lookups();
        Ok(out)
    }
}

/// All atoms of a body, with whether truth is passed on by the presence of each alone.
fn mentioned(body: &[Item]) -> impl Iterator<Item = (&AtomPattern, bool)> {
    body.iter()
        .flat_map(Item::literals)
        .filter_map(|(l, plain)| if let Literal::Atom { sign, atom } = l { Some((atom, plain && *sign == Sign::Plain)) } else { None })
}

/// Whether two terms, variables of both taken apart, may be the same.
fn meet(a: &Expr, b: &Expr) -> bool {
    match (a, b) {
        (Expr::Fun(f, x), Expr::Fun(g, y)) => f == g && x.len() == y.len() && x.iter().zip(y).all(|(a, b)| meet(a, b)),
        (Expr::Int(_) | Expr::Const(_) | Expr::Str(_) | Expr::Fun(..), Expr::Int(_) | Expr::Const(_) | Expr::Str(_) | Expr::Fun(..)) => a == b,
        _ => true,
    }
}

/// The rules that count, each after those it depends on, with whether it depends on session or turn.
fn order<'a>(all: &'a Read, moving: &BTreeSet<Predicate>) -> Result<Vec<(&'a ast::Rule, bool)>, String> {
    // Edges lead from rules to what they need.
    let mut graph: DiGraph<&ast::Rule, bool> = DiGraph::new();
    let mut by_head: BTreeMap<Predicate, Vec<(NodeIndex, &AtomPattern)>> = BTreeMap::new();
    for r in &all.rules {
        let node = graph.add_node(r);
        r.head.iter().for_each(|h| by_head.entry(h.predicate()).or_default().push((node, h)));
    }
    for (from, r) in graph.node_indices().zip(&all.rules) {
        for (atom, plain) in mentioned(&r.body) {
            for (to, head) in by_head.get(&atom.predicate()).into_iter().flatten() {
                if head.args.iter().zip(&atom.args).all(|(a, b)| meet(a, b)) {
                    graph.add_edge(from, *to, plain);
                }
            }
        }
    }
    // Every component comes after all that it depends on.
    let components = tarjan_scc(&graph);
    let rules = |component: &[NodeIndex]| component.iter().filter_map(|n| graph.node_weight(*n).copied()).collect::<Vec<&ast::Rule>>();
    let ends = |r: &ast::Rule| r.head.as_ref().is_none_or(|h| !all.shows || all.shown.contains(&h.predicate()));
    let (mut wanted, mut moves, mut out) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for component in components.iter().rev() {
        if component.iter().any(|n| wanted.contains(n)) || rules(component).into_iter().any(ends) {
            wanted.extend(component.iter().flat_map(|n| graph.neighbors(*n).chain([*n])));
        }
    }
    for component in &components {
        let edges = || component.iter().flat_map(|n| graph.edges(*n));
        if let Some(e) = edges().find(|e| !e.weight() && component.contains(&e.target())) {
            let at = graph.node_weight(e.source()).map_or_else(String::new, |r| r.origin.to_string());
            return Err(format!("{at}: a rule that depends on its own absence, or on an aggregate over itself"));
        }
        let reads = |r: &ast::Rule| mentioned(&r.body).any(|(a, _)| moving.contains(&a.predicate()));
        let moved = rules(component).into_iter().any(reads) || edges().any(|e| moves.contains(&e.target()));
        if moved {
            moves.extend(component.iter().copied());
        }
        if !moved || component.iter().any(|n| wanted.contains(n)) {
            out.extend(rules(component).into_iter().map(|r| (r, moved)));
        }
    }
    Ok(out)
}
