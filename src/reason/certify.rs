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
use super::eval::normal::{substitute, substitute_items};
use super::eval::plan::Layouts;
use super::eval::store::RelId;
use super::eval::terms::Terms;
use super::syntax::{Expr, Literal, Pattern, Predicate, Sign};
use crate::diag::{Origin, Source};
use crate::term::Name;

pub use pass::{Model, Verdict};
pub use rows::Seen;

/// The rules of a program as the checker goes through them, those that others depend on first.
#[derive(Clone, Debug, Default)]
pub struct Checker {
    /// What follows from stored facts alone.
    fixed: Vec<Rule>,
    /// What depends on session or turn, as far as something shown or a constraint depends on it.
    moving: Vec<Rule>,
    /// The look-ups that rules make: a relation, and the columns that are known.
    masks: Vec<(RelId, u32)>,
    /// The names of relations, for what is said of a difference.
    names: BTreeMap<RelId, Name>,
}

#[derive(Clone, Debug)]
struct Rule {
    head: Option<(RelId, Vec<plan::Calc>)>,
    /// The relations of its positive atoms: without rows there it has no instance.
    needs: Vec<RelId>,
    /// The relations of all its atoms.
    reads: Vec<RelId>,
    steps: Vec<plan::Step>,
    slots: usize,
    /// How its head's row is looked up among static rows.
    index: usize,
    origin: Origin,
}

impl Checker {
    /// Reads rules. What is not of the stratified fragment is refused, with the reason: clingo then confirms each decision.
    pub fn read(sources: &[Source], moving: &BTreeSet<Predicate>, layouts: &mut Layouts, terms: &mut Terms) -> Result<Self, String> {
        let mut all = Read::default();
        let mut origins = Vec::new();
        for s in sources {
            let read = ast::read(&s.text).map_err(|why| format!("{}: {why}", s.name))?;
            let start = |line: usize| s.text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum::<usize>();
            origins.extend(read.rules.iter().map(|r| s.origin(start(r.line)..start(r.line + 1))));
            all.rules.extend(read.rules);
            all.shown.extend(read.shown);
            all.external.extend(read.external);
            all.constants.extend(read.constants);
            all.shows |= read.shows;
        }
        let moving: BTreeSet<Predicate> = moving.iter().cloned().chain(all.external.iter().cloned()).collect();
        let constants: BTreeMap<Name, Expr> = all.constants.iter().cloned().collect();
        for rule in &mut all.rules {
            rule.head.iter_mut().flat_map(|h| &mut h.args).for_each(|a| substitute(a, &constants));
            substitute_items(&mut rule.body, &constants);
        }
        let order = order(&all, &moving)?;
        let heads = order.iter().filter(|(_, moves)| *moves).filter_map(|(n, _)| all.rules.get(*n)?.head.as_ref());
        let moving: BTreeSet<Predicate> = moving.iter().cloned().chain(heads.map(Pattern::predicate)).collect();
        let mut out = Self::default();
        for (n, moves) in order {
            let (Some(rule), Some(origin)) = (all.rules.get(n), origins.get(n)) else { continue };
            let compiled = plan::compile(rule, origin, &moving, &mut out.masks, layouts, terms).map_err(|why| format!("{origin}: {why}"))?;
            if moves { out.moving.push(compiled) } else { out.fixed.push(compiled) }
        }
        out.names = layouts.ids.iter().map(|(p, r)| (*r, p.0.clone())).collect();
        Ok(out)
    }
}

/// All atoms that a rule mentions in its body, with whether truth is passed on by the presence of each alone.
fn mentioned(r: &ast::Rule) -> Vec<(&Pattern, bool)> {
    r.body
        .iter()
        .flat_map(super::syntax::Item::literals)
        .filter_map(|(l, plain)| if let Literal::Atom { sign, atom } = l { Some((atom, plain && *sign == Sign::Plain)) } else { None })
        .collect()
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
fn order(all: &Read, moving: &BTreeSet<Predicate>) -> Result<Vec<(usize, bool)>, String> {
    let mut by_head: BTreeMap<Predicate, Vec<(usize, &Pattern)>> = BTreeMap::new();
    for (n, r) in all.rules.iter().enumerate() {
        r.head.iter().for_each(|h| by_head.entry(h.predicate()).or_default().push((n, h)));
    }
    let mut graph: DiGraph<usize, bool> = DiGraph::new();
    let nodes: Vec<NodeIndex> = (0..all.rules.len()).map(|n| graph.add_node(n)).collect();
    for (from, r) in nodes.iter().zip(&all.rules) {
        for (atom, plain) in mentioned(r) {
            for (n, head) in by_head.get(&atom.predicate()).into_iter().flatten() {
                if head.args.iter().zip(&atom.args).all(|(a, b)| meet(a, b))
                    && let Some(to) = nodes.get(*n)
                {
                    graph.add_edge(*from, *to, plain);
                }
            }
        }
    }
    let shown = |p: &Predicate| !all.shows || all.shown.contains(p);
    let ends = |n: &usize| all.rules.get(*n).is_some_and(|r| r.head.as_ref().is_none_or(|h| shown(&h.predicate())));
    let mut open: Vec<NodeIndex> = nodes.iter().copied().filter(|n| graph.node_weight(*n).is_some_and(ends)).collect();
    let mut wanted: BTreeSet<NodeIndex> = BTreeSet::new();
    while let Some(n) = open.pop() {
        if wanted.insert(n) {
            open.extend(graph.neighbors(n));
        }
    }
    let mut moves: BTreeSet<NodeIndex> = BTreeSet::new();
    let mut out = Vec::new();
    // Edges lead from rules to what they need, so a component comes after all that it depends on.
    for component in tarjan_scc(&graph) {
        let inside: BTreeSet<NodeIndex> = component.iter().copied().collect();
        if let Some(e) = component.iter().flat_map(|n| graph.edges(*n)).find(|e| inside.contains(&e.target()) && !e.weight()) {
            let line = graph.node_weight(e.source()).and_then(|n| all.rules.get(*n)).map_or(0, |r| r.line);
            return Err(format!("line {line}: a rule that depends on its own absence, or on an aggregate over itself"));
        }
        let rules = || component.iter().filter_map(|n| graph.node_weight(*n)).filter_map(|n| all.rules.get(*n));
        let reads = rules().flat_map(mentioned).any(|(a, _)| moving.contains(&a.predicate()));
        let moved = reads || component.iter().flat_map(|n| graph.neighbors(*n)).any(|n| moves.contains(&n));
        if moved {
            moves.extend(component.iter().copied());
        }
        let counts = component.iter().filter(|n| !moved || wanted.contains(n));
        out.extend(counts.filter_map(|n| graph.node_weight(*n)).map(|n| (*n, moved)));
    }
    Ok(out)
}
