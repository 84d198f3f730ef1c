//! Rules brought into the form that plans are made from: no pools, no intervals or arithmetic inside looked-up atoms, no comparison chains.

use std::collections::BTreeMap;

use crate::reason::syntax::{Aggregate, AtomPattern, Element, Expr, HeadElement, Item, Literal, Rel, Sign};
use crate::term::Name;

/// A head atom, if any, and a body.
pub type Plain = (Option<AtomPattern>, Vec<Item>);

/// All rules that one rule stands for when its pools are expanded.
pub fn expand(head: Option<&AtomPattern>, body: &[Item]) -> Vec<Plain> {
    let mut out: Vec<Plain> = match head {
        None => vec![(None, Vec::new())],
        Some(h) => patterns(h).into_iter().map(|p| (Some(p), Vec::new())).collect(),
    };
    for item in body {
        let alternatives = items(item);
        out = out.into_iter().flat_map(|(h, b)| alternatives.iter().map(move |i| (h.clone(), b.iter().cloned().chain([i.clone()]).collect()))).collect();
    }
    for (head, body) in &mut out {
        *body = flatten(std::mem::take(body), 0);
        if let Some(h) = head {
            let mut aux = Aux { next: body.len() * 64, found: Vec::new(), arithmetic: false };
            for a in &mut h.args {
                *a = aux.lift(a);
            }
            body.extend(aux.found);
        }
    }
    out
}

/// Lifts intervals and arithmetic out of atoms, and splits comparison chains; new variables are numbered from `base`.
pub fn flatten(body: Vec<Item>, base: usize) -> Vec<Item> {
    let mut out = Vec::new();
    for (n, item) in body.into_iter().enumerate() {
        match item {
            Item::Literal(Literal::Atom { sign, mut atom }) => {
                let mut aux = Aux { next: base + n * 64, found: Vec::new(), arithmetic: sign == Sign::Plain };
                for a in &mut atom.args {
                    *a = aux.lift(a);
                }
                out.push(Item::Literal(Literal::Atom { sign, atom }));
                out.extend(aux.found);
            }
            Item::Literal(Literal::Compare { sign: Sign::Plain, left, rest, span }) => {
                let mut from = left;
                for (rel, to) in rest {
                    out.push(Item::Literal(Literal::Compare { sign: Sign::Plain, left: from, rest: vec![(rel, to.clone())], span: span.clone() }));
                    from = to;
                }
            }
            other => out.push(other),
        }
    }
    out
}

struct Aux {
    next: usize,
    found: Vec<Item>,
    arithmetic: bool,
}

impl Aux {
    fn lift(&mut self, e: &Expr) -> Expr {
        match e {
            Expr::Interval(..) => self.name(e),
            Expr::Binary(..) | Expr::Neg(_) | Expr::Abs(_) if self.arithmetic => self.name(e),
            Expr::Fun(n, args) => Expr::Fun(n.clone(), args.iter().map(|a| self.lift(a)).collect()),
            e => e.clone(),
        }
    }

    fn name(&mut self, e: &Expr) -> Expr {
        self.next += 1;
        // No author can write a name that begins so.
        let var = Expr::Var(format!("\u{1}{}", self.next).into(), 0);
        self.found.push(Item::Literal(Literal::Compare { sign: Sign::Plain, left: var.clone(), rest: vec![(Rel::Eq, e.clone())], span: 0..0 }));
        var
    }
}

fn product<T: Clone>(lists: &[Vec<T>]) -> Vec<Vec<T>> {
    let mut out = vec![Vec::new()];
    for list in lists {
        out = out.into_iter().flat_map(|p: Vec<T>| list.iter().map(move |x| p.iter().cloned().chain([x.clone()]).collect())).collect();
    }
    out
}

fn exprs(e: &Expr) -> Vec<Expr> {
    match e {
        Expr::Pool(alternatives) => alternatives.iter().flat_map(exprs).collect(),
        Expr::Fun(n, args) => product(&args.iter().map(exprs).collect::<Vec<_>>()).into_iter().map(|a| Expr::Fun(n.clone(), a)).collect(),
        Expr::Binary(op, a, b) => product(&[exprs(a), exprs(b)]).into_iter().filter_map(|p| two(p).map(|(a, b)| Expr::Binary(*op, a, b))).collect(),
        Expr::Interval(a, b) => product(&[exprs(a), exprs(b)]).into_iter().filter_map(|p| two(p).map(|(a, b)| Expr::Interval(a, b))).collect(),
        Expr::Neg(a) => exprs(a).into_iter().map(|a| Expr::Neg(Box::new(a))).collect(),
        Expr::Abs(a) => exprs(a).into_iter().map(|a| Expr::Abs(Box::new(a))).collect(),
        e => vec![e.clone()],
    }
}

fn two(p: Vec<Expr>) -> Option<(Box<Expr>, Box<Expr>)> {
    <[Expr; 2]>::try_from(p).ok().map(|[a, b]| (Box::new(a), Box::new(b)))
}

fn patterns(p: &AtomPattern) -> Vec<AtomPattern> {
    product(&p.args.iter().map(exprs).collect::<Vec<_>>()).into_iter().map(|args| AtomPattern { args, ..p.clone() }).collect()
}

fn literals(l: &Literal) -> Vec<Literal> {
    match l {
        Literal::Atom { sign, atom } => patterns(atom).into_iter().map(|atom| Literal::Atom { sign: *sign, atom }).collect(),
        Literal::Compare { sign, left, rest, span } => {
            let lists: Vec<Vec<Expr>> = std::iter::once(left).chain(rest.iter().map(|(_, e)| e)).map(exprs).collect();
            let rels: Vec<Rel> = rest.iter().map(|(r, _)| *r).collect();
            let mut out = Vec::new();
            for p in product(&lists) {
                let mut p = p.into_iter();
                if let Some(left) = p.next() {
                    out.push(Literal::Compare { sign: *sign, left, rest: rels.iter().copied().zip(p).collect(), span: span.clone() });
                }
            }
            out
        }
        Literal::Bool(..) => vec![l.clone()],
    }
}

fn items(item: &Item) -> Vec<Item> {
    match item {
        Item::Literal(l) => literals(l).into_iter().map(Item::Literal).collect(),
        Item::Conditional { .. } => vec![item.clone()],
        Item::Aggregate(a) => {
            let mut elements = Vec::new();
            for e in &a.elements {
                let conditions = product(&e.condition.iter().map(literals).collect::<Vec<_>>());
                for terms in product(&e.terms.iter().map(exprs).collect::<Vec<_>>()) {
                    elements.extend(conditions.iter().map(|c| Element { terms: terms.clone(), condition: c.clone(), span: e.span.clone() }));
                }
            }
            vec![Item::Aggregate(Aggregate { elements, ..a.clone() })]
        }
    }
}

/// Replaces the constants of `#const` by their values.
pub fn substitute_items(items: &mut [Item], consts: &BTreeMap<Name, Expr>) {
    if consts.is_empty() {
        return;
    }
    for item in items {
        match item {
            Item::Literal(l) => substitute_literal(l, consts),
            Item::Conditional { literal, condition, .. } => {
                substitute_literal(literal, consts);
                condition.iter_mut().for_each(|l| substitute_literal(l, consts));
            }
            Item::Aggregate(a) => {
                a.left.iter_mut().for_each(|(e, _)| substitute(e, consts));
                a.right.iter_mut().for_each(|(_, e)| substitute(e, consts));
                for e in &mut a.elements {
                    e.terms.iter_mut().for_each(|t| substitute(t, consts));
                    e.condition.iter_mut().for_each(|l| substitute_literal(l, consts));
                }
            }
        }
    }
}

/// Replaces the constants of `#const` in the elements of a head.
pub fn substitute_head(elements: &mut [HeadElement], consts: &BTreeMap<Name, Expr>) {
    for e in elements {
        substitute_literal(&mut e.literal, consts);
        e.condition.iter_mut().for_each(|l| substitute_literal(l, consts));
    }
}

fn substitute_literal(l: &mut Literal, consts: &BTreeMap<Name, Expr>) {
    match l {
        Literal::Atom { atom, .. } => atom.args.iter_mut().for_each(|a| substitute(a, consts)),
        Literal::Compare { left, rest, .. } => {
            substitute(left, consts);
            rest.iter_mut().for_each(|(_, e)| substitute(e, consts));
        }
        Literal::Bool(..) => {}
    }
}

/// Replaces the constants of `#const` in a term.
pub fn substitute(e: &mut Expr, consts: &BTreeMap<Name, Expr>) {
    match e {
        Expr::Const(n) => {
            if let Some(v) = consts.get(n) {
                *e = v.clone();
            }
        }
        Expr::Fun(_, args) | Expr::Pool(args) => args.iter_mut().for_each(|a| substitute(a, consts)),
        Expr::Binary(_, a, b) | Expr::Interval(a, b) => {
            substitute(a, consts);
            substitute(b, consts);
        }
        Expr::Neg(a) | Expr::Abs(a) => substitute(a, consts),
        _ => {}
    }
}
