//! What depends on what: strata, static predicates, and which rules the evaluator leaves to clingo.

use std::collections::{BTreeMap, BTreeSet};

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;

use super::syntax::{AtomPattern, Expr, Head, Item, Kind, Literal, Predicate, Sign, Statement};

/// The rules of a program and how they depend on each other.
///
/// Rules depend on rules, not predicates on predicates: a rule for `act(2,K,add(F))` does not depend on one for `act(3,1,price(P))`.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// Statements that depend on each other, those they depend on first.
    pub groups: Vec<Group>,
    /// Statements decided by clingo alone, with the reason.
    pub left: BTreeMap<usize, &'static str>,
    /// Statements that follow from the stored facts of the site alone.
    pub fixed: BTreeSet<usize>,
    /// Statements that what is shown, or a constraint, depends on.
    pub reached: BTreeSet<usize>,
    /// Every predicate that is mentioned.
    pub predicates: BTreeSet<Predicate>,
    /// Predicates that some rule left to clingo derives.
    pub left_predicates: BTreeSet<Predicate>,
    /// Head → what its rules mention; `true` where truth is passed on monotonically.
    pub edges: BTreeSet<(Predicate, Predicate, bool)>,
}

/// Statements that depend on each other.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// Their numbers, in the order of the files.
    pub statements: Vec<usize>,
    /// Whether they depend on their own heads.
    pub recursive: bool,
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

/// The atoms a statement's head may derive.
fn head_patterns(head: &Head) -> Vec<&AtomPattern> {
    match head {
        Head::None => Vec::new(),
        Head::Atom(p) => vec![p],
        Head::Disjunction(es) | Head::Choice(es) => {
            es.iter().filter_map(|e| if let Literal::Atom { atom, .. } = &e.literal { Some(atom) } else { None }).collect()
        }
    }
}

/// The atoms a body mentions, with whether each passes truth on monotonically.
fn body_patterns<'a>(head: &'a Head, body: &'a [Item]) -> Vec<(&'a AtomPattern, bool)> {
    let mut out = Vec::new();
    for (l, direct) in body.iter().flat_map(Item::literals) {
        if let Literal::Atom { sign, atom } = l {
            out.push((atom, direct && *sign == Sign::Plain));
        }
    }
    if let Head::Disjunction(es) | Head::Choice(es) = head {
        for l in es.iter().flat_map(|e| &e.condition) {
            if let Literal::Atom { atom, .. } = l {
                out.push((atom, false));
            }
        }
    }
    out
}

/// Whether two terms may have an instance in common, variables of both taken apart.
fn may_meet(a: &Expr, b: &Expr) -> bool {
    match (a, b) {
        (Expr::Int(x), Expr::Int(y)) => x == y,
        (Expr::Const(x), Expr::Const(y)) | (Expr::Str(x), Expr::Str(y)) => x == y,
        (Expr::Fun(f, x), Expr::Fun(g, y)) => f == g && x.len() == y.len() && x.iter().zip(y).all(|(a, b)| may_meet(a, b)),
        (Expr::Int(_) | Expr::Const(_) | Expr::Str(_) | Expr::Fun(..), Expr::Int(_) | Expr::Const(_) | Expr::Str(_) | Expr::Fun(..)) => false,
        _ => true,
    }
}

/// Whether two atoms may have an instance in common, variables of both taken apart.
pub fn patterns_meet(a: &AtomPattern, b: &AtomPattern) -> bool {
    a.name == b.name && a.args.len() == b.args.len() && a.args.iter().zip(&b.args).all(|(a, b)| may_meet(a, b))
}

/// Analyses the rules; `moving` are the predicates that session and turn may give, `unplanned` the statements the evaluator cannot plan.
pub fn analyse(statements: &[Statement], moving: &BTreeSet<Predicate>, unplanned: &BTreeMap<usize, &'static str>) -> Analysis {
    let mut a = Analysis { predicates: moving.clone(), ..Analysis::default() };
    let mut graph: DiGraph<usize, bool> = DiGraph::new();
    let mut nodes: BTreeMap<usize, NodeIndex> = BTreeMap::new();
    let mut derivers: BTreeMap<Predicate, Vec<(usize, &AtomPattern)>> = BTreeMap::new();
    let mut shown: BTreeSet<Predicate> = BTreeSet::new();
    let mut shows = false;
    for (n, s) in statements.iter().enumerate() {
        match &s.kind {
            Kind::Rule { head, body } => {
                nodes.insert(n, graph.add_node(n));
                let heads = head_patterns(head);
                for h in &heads {
                    derivers.entry(h.predicate()).or_default().push((n, h));
                    a.predicates.insert(h.predicate());
                }
                for (m, plain) in body_patterns(head, body) {
                    a.predicates.insert(m.predicate());
                    a.edges.extend(heads.iter().map(|h| (h.predicate(), m.predicate(), plain)));
                }
            }
            Kind::Show(p) => {
                shows = true;
                shown.insert(p.clone());
            }
            Kind::ShowNothing => shows = true,
            _ => {}
        }
    }
    let producers =
        |p: &AtomPattern| derivers.get(&p.predicate()).into_iter().flatten().filter(|(_, h)| patterns_meet(h, p)).map(|(n, _)| *n).collect::<Vec<_>>();
    let mut open: Vec<usize> = Vec::new();
    for (n, s) in statements.iter().enumerate() {
        match &s.kind {
            Kind::Rule { head, body } => {
                for (m, plain) in body_patterns(head, body) {
                    for d in producers(m) {
                        if let (Some(from), Some(to)) = (nodes.get(&n), nodes.get(&d)) {
                            graph.add_edge(*from, *to, plain);
                        }
                    }
                }
                let heads = head_patterns(head);
                if heads.is_empty() || !shows || heads.iter().any(|h| shown.contains(&h.predicate())) {
                    open.push(n);
                }
            }
            Kind::Optimise(body) => open.extend(body_patterns(&Head::None, body).into_iter().flat_map(|(p, _)| producers(p))),
            _ => {}
        }
    }
    while let Some(n) = open.pop() {
        if a.reached.insert(n)
            && let Some(node) = nodes.get(&n)
        {
            open.extend(graph.neighbors(*node).filter_map(|m| graph.node_weight(m).copied()));
        }
    }
    // Edges lead from rules to what they need, so a component comes after all that it depends on.
    for component in tarjan_scc(&graph) {
        a.add_group(statements, moving, unplanned, &graph, &component);
    }
    let left: Vec<Predicate> =
        a.left.keys().filter_map(|n| statements.get(*n)).flat_map(|s| if let Kind::Rule { head, .. } = &s.kind { heads(head) } else { Vec::new() }).collect();
    a.left_predicates.extend(left);
    a
}

impl Analysis {
    fn add_group(
        &mut self,
        statements: &[Statement],
        moving: &BTreeSet<Predicate>,
        unplanned: &BTreeMap<usize, &'static str>,
        graph: &DiGraph<usize, bool>,
        component: &[NodeIndex],
    ) {
        let inside: BTreeSet<NodeIndex> = component.iter().copied().collect();
        let (mut recursive, mut negative) = (false, false);
        for e in component.iter().flat_map(|n| graph.edges(*n)).filter(|e| inside.contains(&e.target())) {
            recursive = true;
            negative |= !e.weight();
        }
        let mut group: Vec<usize> = component.iter().filter_map(|n| graph.node_weight(*n).copied()).collect();
        group.sort_unstable();
        let needs: BTreeSet<usize> =
            component.iter().flat_map(|n| graph.neighbors(*n)).filter_map(|n| graph.node_weight(n).copied()).filter(|n| !group.contains(n)).collect();
        let own = group.iter().find_map(|n| match statements.get(*n).map(|s| &s.kind) {
            Some(Kind::Rule { head: Head::Disjunction(_), .. }) => Some("a disjunction"),
            Some(Kind::Rule { head: Head::Choice(_), .. }) => Some("a choice"),
            _ => unplanned.get(n).copied(),
        });
        let why = own
            .or_else(|| negative.then_some("a rule that depends on its own absence"))
            .or_else(|| needs.iter().any(|n| self.left.contains_key(n)).then_some("it needs something left to clingo"));
        if let Some(why) = why {
            self.left.extend(group.iter().map(|n| (*n, why)));
        } else if needs.iter().all(|n| self.fixed.contains(n)) && !group.iter().any(|n| statements.get(*n).is_some_and(|s| reads_any(s, moving))) {
            self.fixed.extend(group.iter().copied());
        }
        self.groups.push(Group { statements: group, recursive });
    }
}

fn reads_any(s: &Statement, moving: &BTreeSet<Predicate>) -> bool {
    matches!(&s.kind, Kind::Rule { head, body } if mentions(head, body).iter().any(|(p, _)| moving.contains(p)))
}

pub(super) const STORED: &str = "stored";
pub(super) const MENTIONS: &str = "mentions";
/// Static: made with a site's base.
pub const KB_MENTIONS: &str = "kb_mentions";

/// The predicates that come with session and turn; a signature declares them.
pub const MOVING: [(&str, usize); 2] = [(STORED, 2), (MENTIONS, 2)];

/// Which of the facts about facts some rule reads.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    pub(super) stored: bool,
    pub(super) mentions: bool,
    pub(super) kb_mentions: bool,
}

impl Wanted {
    /// What these rules read.
    pub(super) fn of(analysis: &Analysis) -> Self {
        let read = |name: &str| analysis.edges.iter().any(|(_, p, _): &(Predicate, Predicate, bool)| p.1 == 2 && &*p.0 == name);
        Self { stored: read(STORED), mentions: read(MENTIONS), kb_mentions: read(KB_MENTIONS) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Source;

    #[test]
    fn rules_depend_on_rules_whose_heads_they_can_use() {
        let (s, d) = crate::reason::syntax::parse::parse(&Source::new(
            "a.lp",
            "act(2,F) :- in(F). act(3,f(N)) :- N = #count { F : act(2,F) }. p(X) :- act(3,g(X)), not p(1). q :- not r. r :- not q. s :- q. t(X) :- kb(X). #show act/2. #show s/0.",
        ));
        assert_eq!(d, []);
        let a = analyse(&s, &[("in".into(), 1)].into(), &BTreeMap::new());
        assert_eq!(a.left.keys().copied().collect::<Vec<_>>(), [2, 3, 4, 5]);
        assert_eq!(a.fixed.iter().copied().collect::<Vec<_>>(), [6]);
        assert_eq!(a.reached.iter().copied().collect::<Vec<_>>(), [0, 1, 3, 4, 5]);
    }
}
