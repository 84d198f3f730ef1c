//! What depends on what: strata, static predicates, and which rules the evaluator leaves to clingo.

use std::collections::{BTreeMap, BTreeSet};

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;

use super::syntax::{Head, Item, Kind, Literal, Predicate, Sign, Statement};

/// The predicates of a program and how they depend on each other.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// Groups of predicates that depend on each other, those they depend on first.
    pub groups: Vec<Vec<Predicate>>,
    /// Groups that depend on themselves.
    pub recursive: BTreeSet<Predicate>,
    /// Predicates decided by clingo alone, with the reason.
    pub left: BTreeMap<Predicate, &'static str>,
    /// Predicates that follow from the stored facts of the site alone.
    pub fixed: BTreeSet<Predicate>,
    /// Predicates that what is shown, or a constraint, depends on.
    pub reached: BTreeSet<Predicate>,
    /// Head → what its rules mention; `true` where truth is passed on monotonically.
    pub edges: BTreeSet<(Predicate, Predicate, bool)>,
}

/// The predicates a statement's head derives.
pub fn heads(head: &Head) -> Vec<Predicate> {
    match head {
        Head::None => Vec::new(),
        Head::Atom(p) => vec![p.predicate()],
        Head::Disjunction(es) | Head::Choice(es) => {
            es.iter().filter_map(|e| if let Literal::Atom { atom, .. } = &e.literal { Some(atom.predicate()) } else { None }).collect()
        }
    }
}

/// The predicates a body mentions, with whether each passes truth on monotonically.
pub fn mentions(head: &Head, body: &[Item]) -> Vec<(Predicate, bool)> {
    let mut out = Vec::new();
    for item in body {
        for (l, direct) in item.literals() {
            if let Literal::Atom { sign, atom } = l {
                out.push((atom.predicate(), direct && *sign == Sign::Plain));
            }
        }
    }
    if let Head::Disjunction(es) | Head::Choice(es) = head {
        for l in es.iter().flat_map(|e| &e.condition) {
            if let Literal::Atom { atom, .. } = l {
                out.push((atom.predicate(), false));
            }
        }
    }
    out
}

/// Analyses the rules; `moving` are the predicates that session and turn may give, `unplanned` the statements the evaluator cannot plan.
pub fn analyse(statements: &[Statement], moving: &BTreeSet<Predicate>, unplanned: &BTreeMap<usize, &'static str>) -> Analysis {
    let mut a = Analysis::default();
    let mut shown = BTreeSet::new();
    let mut shows = false;
    let mut roots = BTreeSet::new();
    let mut all = moving.clone();
    for (n, s) in statements.iter().enumerate() {
        match &s.kind {
            Kind::Rule { head, body } => {
                let heads = heads(head);
                let mentioned = mentions(head, body);
                all.extend(heads.iter().cloned().chain(mentioned.iter().map(|(p, _)| p.clone())));
                let why = match head {
                    Head::Disjunction(_) => Some("a disjunction"),
                    Head::Choice(_) => Some("a choice"),
                    _ => unplanned.get(&n).copied(),
                };
                for h in &heads {
                    if let Some(why) = why {
                        a.left.entry(h.clone()).or_insert(why);
                    }
                    for (m, plain) in &mentioned {
                        a.edges.insert((h.clone(), m.clone(), *plain));
                    }
                }
                if heads.is_empty() {
                    roots.extend(mentioned.into_iter().map(|(p, _)| p));
                }
            }
            Kind::Show(p) => {
                shows = true;
                shown.insert(p.clone());
            }
            Kind::ShowNothing => shows = true,
            Kind::Optimise(body) => roots.extend(mentions(&Head::None, body).into_iter().map(|(p, _)| p)),
            _ => {}
        }
    }
    let mut graph: DiGraph<Predicate, bool> = DiGraph::new();
    let nodes: BTreeMap<Predicate, NodeIndex> = all.iter().map(|p| (p.clone(), graph.add_node(p.clone()))).collect();
    for (h, m, plain) in &a.edges {
        if let (Some(h), Some(m)) = (nodes.get(h), nodes.get(m)) {
            graph.add_edge(*h, *m, *plain);
        }
    }
    // Edges lead from heads to what they need, so a component comes after all that it depends on.
    for component in tarjan_scc(&graph) {
        let inside: BTreeSet<NodeIndex> = component.iter().copied().collect();
        let (mut recursive, mut negative) = (false, false);
        for n in &component {
            for e in graph.edges(*n).filter(|e| inside.contains(&e.target())) {
                recursive = true;
                negative |= !e.weight();
            }
        }
        let mut group: Vec<Predicate> = component.iter().filter_map(|n| graph.node_weight(*n).cloned()).collect();
        group.sort();
        if recursive {
            a.recursive.extend(group.iter().cloned());
        }
        if negative {
            for p in &group {
                a.left.entry(p.clone()).or_insert("a predicate that depends on its own absence");
            }
        }
        let needs: BTreeSet<Predicate> =
            component.iter().flat_map(|n| graph.neighbors(*n)).filter_map(|n| graph.node_weight(n).cloned()).filter(|p| !group.contains(p)).collect();
        let left = group.iter().any(|p| a.left.contains_key(p));
        if left || needs.iter().any(|p| a.left.contains_key(p)) {
            for p in &group {
                a.left.entry(p.clone()).or_insert("something left to clingo");
            }
        }
        if !group.iter().any(|p| moving.contains(p) || a.left.contains_key(p)) && needs.iter().all(|p| a.fixed.contains(p)) {
            a.fixed.extend(group.iter().cloned());
        }
        a.groups.push(group);
    }
    let mut open: Vec<Predicate> = if shows { shown.into_iter().chain(roots).collect() } else { all.into_iter().collect() };
    while let Some(p) = open.pop() {
        if a.reached.insert(p.clone()) {
            open.extend(a.edges.iter().filter(|(h, ..)| *h == p).map(|(_, m, _)| m.clone()));
        }
    }
    a
}

impl Analysis {
    /// The dependency graph in Graphviz's language.
    pub fn dot(&self) -> String {
        let mut out = String::from("digraph rules {\n  rankdir=LR;\n");
        let name = |p: &Predicate| format!("\"{}/{}\"", p.0, p.1);
        for p in self.groups.iter().flatten() {
            let style = if self.left.contains_key(p) {
                " [shape=box,style=dashed]"
            } else if self.fixed.contains(p) {
                " [shape=box]"
            } else {
                ""
            };
            out.push_str(&format!("  {}{style};\n", name(p)));
        }
        for (h, m, plain) in &self.edges {
            out.push_str(&format!("  {} -> {}{};\n", name(m), name(h), if *plain { "" } else { " [style=dotted]" }));
        }
        out.push_str("}\n");
        out
    }
}
