//! From a rule as clingo's parser reads it to the steps by which the checker goes through its instances.

use std::collections::BTreeSet;

use super::Rule;
use crate::diag::Origin;
use crate::reason::clingo::ast;
use crate::reason::eval::plan::Layouts;
use crate::reason::eval::store::RelId;
use crate::reason::eval::terms::{Id, Terms};
use crate::reason::syntax::{Aggregate, Expr, Fold, Item, Literal, Op, Pattern, Predicate, Rel, Sign};
use crate::term::Name;

/// How many arguments an atom or term, and how many terms the tuple of an aggregate may have.
pub const WIDE: usize = 16;

/// A term whose variables are known.
#[derive(Clone, Debug)]
pub enum Calc {
    Slot(usize),
    Id(Id),
    Fun(Id, Vec<Calc>),
    Neg(Box<Calc>),
    Abs(Box<Calc>),
    Binary(Op, Box<Calc>, Box<Calc>),
}

/// A term that a value is compared with; variables that are not known yet take their part of it.
#[derive(Clone, Debug)]
pub enum Match {
    Any,
    Bind(usize),
    Is(Calc),
    Fun(Id, Vec<Match>),
}

/// Where an atom's rows are: those with these values in the known columns.
#[derive(Clone, Debug)]
pub struct Place {
    pub relation: RelId,
    pub key: Vec<(usize, Calc)>,
    pub rest: Vec<(usize, Match)>,
    /// The number of the look-up.
    pub index: usize,
}

/// One step through a body.
#[derive(Clone, Debug)]
pub enum Step {
    /// Each row in turn; what it founds is founded on it.
    Each(Place),
    /// Whether there is a row.
    Some(Place, bool),
    Compare(Calc, Vec<(Rel, Calc)>, bool),
    Let(Match, Calc),
    Range(Match, Calc, Calc),
    ForAll(Vec<Step>, Vec<Step>),
    Fold {
        fold: Fold,
        elements: Vec<(Vec<Step>, Vec<Calc>)>,
        assign: Option<Match>,
        guards: Vec<(Rel, Calc)>,
        wanted: bool,
    },
    Never,
}

type Bound = BTreeSet<Name>;

struct Compiler<'a> {
    /// What has few rows: a turn's, not a site's.
    moving: &'a BTreeSet<Predicate>,
    masks: &'a mut Vec<(RelId, u32)>,
    layouts: &'a mut Layouts,
    terms: &'a mut Terms,
    slots: Vec<Name>,
    globals: Bound,
    lifted: usize,
}

/// The steps of a rule.
pub fn compile(
    rule: &ast::Rule,
    origin: &Origin,
    moving: &BTreeSet<Predicate>,
    masks: &mut Vec<(RelId, u32)>,
    layouts: &mut Layouts,
    terms: &mut Terms,
) -> Result<Rule, String> {
    let mut c = Compiler { moving, masks, layouts, terms, slots: Vec::new(), globals: Bound::new(), lifted: 0 };
    let mut body = rule.body.clone();
    let head = rule.head.as_ref().map(|h| Pattern { args: h.args.iter().map(|a| c.lift(a, false, &mut body)).collect(), ..h.clone() });
    let mut globals = Bound::new();
    head.iter().flat_map(|h| &h.args).for_each(|a| names(a, &mut globals));
    body.iter().for_each(|i| global_names(i, &mut globals));
    c.globals = globals;
    let mut bound = Bound::new();
    let steps = c.plan(body, &mut bound)?;
    let head = match &head {
        Some(h) => Some((c.layouts.relation(&h.predicate()), h.args.iter().map(|a| c.calc(a, &bound)).collect::<Result<Vec<_>, _>>()?)),
        None => None,
    };
    if head.as_ref().is_some_and(|(_, args)| args.len() > WIDE) {
        return Err("an atom with more arguments than the checker takes".into());
    }
    let index = head.as_ref().map_or(0, |(r, args)| c.number(*r, mask(0..args.len())));
    let needs = steps.iter().filter_map(|s| if let Step::Each(p) = s { Some(p.relation) } else { None }).collect();
    let reads = atoms(&rule.body).into_iter().map(|a| c.layouts.relation(&a.predicate())).collect();
    Ok(Rule { head, needs, reads, steps, slots: c.slots.len(), index, origin: origin.clone() })
}

/// The atoms of a body.
fn atoms(body: &[Item]) -> Vec<&Pattern> {
    body.iter().flat_map(Item::literals).filter_map(|(l, _)| if let Literal::Atom { atom, .. } = l { Some(atom) } else { None }).collect()
}

/// The columns as bits.
fn mask(columns: impl Iterator<Item = usize>) -> u32 {
    columns.fold(0, |m, c| m | 1 << c)
}

fn names(e: &Expr, out: &mut Bound) {
    e.each_var(&mut |n, _| {
        if &**n != "_" {
            out.insert(n.clone());
        }
    });
}

fn literal_names(l: &Literal, out: &mut Bound) {
    match l {
        Literal::Atom { atom, .. } => atom.args.iter().for_each(|a| names(a, out)),
        Literal::Compare { left, rest, .. } => std::iter::once(left).chain(rest.iter().map(|(_, e)| e)).for_each(|e| names(e, out)),
        Literal::Bool(..) => {}
    }
}

/// The variables that an item shares with the rest of its rule.
fn global_names(i: &Item, out: &mut Bound) {
    match i {
        Item::Literal(l) => literal_names(l, out),
        Item::Conditional { .. } => {}
        Item::Aggregate(a) => a.left.iter().map(|(e, _)| e).chain(a.right.iter().map(|(_, e)| e)).for_each(|e| names(e, out)),
    }
}

/// All variables of an item.
fn all_names(i: &Item, out: &mut Bound) {
    global_names(i, out);
    match i {
        Item::Literal(_) => {}
        Item::Conditional { literal, condition, .. } => std::iter::once(literal).chain(condition).for_each(|l| literal_names(l, out)),
        Item::Aggregate(a) => {
            for e in &a.elements {
                e.terms.iter().for_each(|t| names(t, out));
                e.condition.iter().for_each(|l| literal_names(l, out));
            }
        }
    }
}

fn equation(left: Expr, right: Expr) -> Item {
    Item::Literal(Literal::Compare { sign: Sign::Plain, left, rest: vec![(Rel::Eq, right)], span: 0..0 })
}

impl Compiler<'_> {
    fn slot(&mut self, n: &Name) -> usize {
        self.slots.iter().position(|s| s == n).unwrap_or_else(|| {
            self.slots.push(n.clone());
            self.slots.len() - 1
        })
    }

    fn number(&mut self, relation: RelId, mask: u32) -> usize {
        self.masks.iter().position(|m| *m == (relation, mask)).unwrap_or_else(|| {
            self.masks.push((relation, mask));
            self.masks.len() - 1
        })
    }

    /// The term in which intervals, and arithmetic where rows are to be found by it, became variables with an equation.
    fn lift(&mut self, e: &Expr, arithmetic: bool, out: &mut Vec<Item>) -> Expr {
        let name = |this: &mut Self, e: Expr, out: &mut Vec<Item>| {
            this.lifted += 1;
            let var = Expr::Var(format!("\u{2}{}", this.lifted).into(), 0);
            out.push(equation(var.clone(), e));
            var
        };
        match e {
            Expr::Fun(n, args) => Expr::Fun(n.clone(), args.iter().map(|a| self.lift(a, arithmetic, out)).collect()),
            Expr::Neg(x) if matches!(**x, Expr::Int(_)) => e.clone(),
            Expr::Interval(..) => name(self, e.clone(), out),
            Expr::Neg(_) | Expr::Abs(_) | Expr::Binary(..) if arithmetic => name(self, e.clone(), out),
            e => e.clone(),
        }
    }

    fn lift_literal(&mut self, l: Literal, out: &mut Vec<Item>) {
        let l = match l {
            Literal::Atom { sign, atom } => {
                let args = atom.args.iter().map(|a| self.lift(a, sign == Sign::Plain, out)).collect();
                Literal::Atom { sign, atom: Pattern { args, ..atom } }
            }
            Literal::Compare { sign: Sign::Plain, mut left, rest, span } => {
                for (rel, right) in rest {
                    let l = Literal::Compare { sign: Sign::Plain, left, rest: vec![(rel, right.clone())], span: span.clone() };
                    out.push(Item::Literal(l));
                    left = right;
                }
                return;
            }
            l => l,
        };
        out.push(Item::Literal(l));
    }

    /// Orders a body: each step needs only what those before it made known, and what tests comes before what searches.
    fn plan(&mut self, body: Vec<Item>, bound: &mut Bound) -> Result<Vec<Step>, String> {
        let mut open = Vec::new();
        for i in body {
            match i {
                Item::Literal(l) => self.lift_literal(l, &mut open),
                i => open.push(i),
            }
        }
        let mut steps = Vec::new();
        while !open.is_empty() {
            let best = open.iter().enumerate().filter_map(|(n, i)| Some((self.rank(i, bound)?, n))).min();
            let Some((_, n)) = best else { return Err("a rule in which the checker finds no order of its conditions".into()) };
            let step = self.step(open.remove(n), bound)?;
            steps.push(step);
        }
        Ok(steps)
    }

    /// How early an item comes; `None` while something it needs is not known.
    fn rank(&self, i: &Item, bound: &Bound) -> Option<usize> {
        let known = |e: &Expr| {
            let mut n = Bound::new();
            names(e, &mut n);
            n.is_subset(bound)
        };
        let mut all = Bound::new();
        all_names(i, &mut all);
        match i {
            Item::Literal(Literal::Atom { sign: Sign::Plain, atom }) => {
                let free = atom.args.iter().filter(|a| !known(a) || matches!(a, Expr::Var(n, _) if &**n == "_")).count();
                let few = self.moving.contains(&atom.predicate());
                Some(match (free, free < atom.args.len()) {
                    (0, _) => 2,
                    (_, true) if few => 3 + free,
                    (_, false) if few => 30 + free,
                    (_, true) => 60 + free,
                    (_, false) => 100 + free,
                })
            }
            Item::Literal(Literal::Compare { sign: Sign::Plain, left, rest, .. }) if matches!(rest.as_slice(), [(Rel::Eq, _)]) => {
                let right = &rest.first()?.1;
                let binds = |a: &Expr, b: &Expr| known(a) && !matches!(b, Expr::Binary(..) | Expr::Neg(_) | Expr::Abs(_) | Expr::Interval(..));
                (all.is_subset(bound) || binds(left, right) || binds(right, left)).then_some(1)
            }
            Item::Literal(_) => all.is_subset(bound).then_some(0),
            Item::Conditional { .. } => all.intersection(&self.globals).all(|n| bound.contains(n)).then_some(20),
            Item::Aggregate(a) => {
                let assigned = assigned(a, bound);
                let waits = |n: &Name| self.globals.contains(n) && !bound.contains(n) && assigned != Some(n);
                (!all.iter().any(waits)).then_some(20)
            }
        }
    }

    fn step(&mut self, i: Item, bound: &mut Bound) -> Result<Step, String> {
        match i {
            Item::Literal(Literal::Bool(b, _)) => Ok(if b { Step::Compare(Calc::Id(0), Vec::new(), true) } else { Step::Never }),
            Item::Literal(Literal::Atom { sign, atom }) => {
                // What a negated atom leaves open is known to nobody after it.
                let mut inner = bound.clone();
                let place = self.place(&atom, &mut inner)?;
                if sign == Sign::Plain {
                    *bound = inner;
                    return Ok(Step::Each(place));
                }
                Ok(Step::Some(place, sign == Sign::NotNot))
            }
            Item::Literal(Literal::Compare { sign: Sign::Plain, left, rest, .. }) if matches!(rest.as_slice(), [(Rel::Eq, _)]) => {
                let Some((_, right)) = rest.into_iter().next() else { return Ok(Step::Never) };
                let known = |e: &Expr| {
                    let mut n = Bound::new();
                    names(e, &mut n);
                    n.is_subset(bound)
                };
                let (to, from) = if matches!(right, Expr::Interval(..)) || known(&right) { (left, right) } else { (right, left) };
                if let Expr::Interval(low, high) = &from {
                    let (low, high) = (self.calc(low, bound)?, self.calc(high, bound)?);
                    return Ok(Step::Range(self.matching(&to, bound)?, low, high));
                }
                let value = self.calc(&from, bound)?;
                Ok(Step::Let(self.matching(&to, bound)?, value))
            }
            Item::Literal(Literal::Compare { sign, left, rest, .. }) => {
                let rest = rest.iter().map(|(r, e)| Ok((*r, self.calc(e, bound)?))).collect::<Result<_, String>>()?;
                Ok(Step::Compare(self.calc(&left, bound)?, rest, sign != Sign::Not))
            }
            Item::Conditional { literal, condition, .. } => {
                let mut inner = bound.clone();
                let condition = self.plan(condition.into_iter().map(Item::Literal).collect(), &mut inner)?;
                Ok(Step::ForAll(condition, self.plan(vec![Item::Literal(literal)], &mut inner)?))
            }
            Item::Aggregate(a) => self.fold(a, bound),
        }
    }

    fn fold(&mut self, a: Aggregate, bound: &mut Bound) -> Result<Step, String> {
        let mut elements = Vec::new();
        for e in &a.elements {
            let (mut inner, mut condition) = (bound.clone(), e.condition.iter().cloned().map(Item::Literal).collect::<Vec<_>>());
            let terms: Vec<Expr> = e.terms.iter().map(|t| self.lift(t, false, &mut condition)).collect();
            let steps = self.plan(condition, &mut inner)?;
            if terms.len() > WIDE {
                return Err("an aggregate over more terms than the checker takes".into());
            }
            elements.push((steps, terms.iter().map(|t| self.calc(t, &inner)).collect::<Result<_, _>>()?));
        }
        let assigned = assigned(&a, bound).cloned();
        let (mut assign, mut guards) = (None, Vec::new());
        for (rel, e) in a.left.iter().map(|(e, r)| (r.flipped(), e)).chain(a.right.iter().map(|(r, e)| (*r, e))) {
            match (&assigned, e) {
                (Some(n), Expr::Var(m, _)) if n == m && rel == Rel::Eq && assign.is_none() => assign = Some(self.matching(e, bound)?),
                _ => guards.push((rel, self.calc(e, bound)?)),
            }
        }
        if assign.is_some() && a.sign != Sign::Plain {
            return Err("a negated aggregate that gives a variable its value".into());
        }
        Ok(Step::Fold { fold: a.fold, elements, assign, guards, wanted: a.sign != Sign::Not })
    }

    fn place(&mut self, atom: &Pattern, bound: &mut Bound) -> Result<Place, String> {
        let relation = self.layouts.relation(&atom.predicate());
        let (mut key, mut rest) = (Vec::new(), Vec::new());
        let before = bound.clone();
        for (c, a) in atom.args.iter().enumerate() {
            match self.calc(a, &before) {
                Ok(value) => key.push((c, value)),
                Err(_) => rest.push((c, self.matching(a, bound)?)),
            }
        }
        if atom.args.len() > WIDE {
            return Err("an atom with more arguments than the checker takes".into());
        }
        let index = self.number(relation, mask(key.iter().map(|(c, _)| *c)));
        Ok(Place { relation, key, rest, index })
    }

    fn matching(&mut self, e: &Expr, bound: &mut Bound) -> Result<Match, String> {
        if let Ok(value) = self.calc(e, bound) {
            return Ok(Match::Is(value));
        }
        match e {
            Expr::Var(n, _) if &**n == "_" => Ok(Match::Any),
            Expr::Var(n, _) => {
                bound.insert(n.clone());
                Ok(Match::Bind(self.slot(n)))
            }
            Expr::Fun(n, args) => Ok(Match::Fun(self.terms.of_const(n), args.iter().map(|a| self.matching(a, bound)).collect::<Result<_, _>>()?)),
            _ => Err("arithmetic over what is not known".into()),
        }
    }

    /// A term over what is known.
    fn calc(&mut self, e: &Expr, bound: &Bound) -> Result<Calc, String> {
        let mut inner = |e: &Expr| self.calc(e, bound).map(Box::new);
        Ok(match e {
            Expr::Int(n) => Calc::Id(self.terms.of_int(*n)),
            Expr::Str(n) => Calc::Id(self.terms.of_str(n)),
            Expr::Inf => Calc::Id(self.terms.of_inf()),
            Expr::Sup => Calc::Id(self.terms.of_sup()),
            Expr::Const(n) => Calc::Id(self.terms.of_const(n)),
            Expr::Var(n, _) if bound.contains(n) => Calc::Slot(self.slot(n)),
            Expr::Var(n, _) => return Err(format!("nothing says what `{n}` can be")),
            Expr::Fun(n, args) => {
                let args = args.iter().map(|a| self.calc(a, bound)).collect::<Result<Vec<_>, _>>()?;
                let name = self.terms.of_const(n);
                let ids: Option<Vec<Id>> = args.iter().map(|a| if let Calc::Id(i) = a { Some(*i) } else { None }).collect();
                ids.map_or_else(|| Calc::Fun(name, args), |ids| Calc::Id(self.terms.of_fun(name, &ids)))
            }
            Expr::Neg(a) => Calc::Neg(inner(a)?),
            Expr::Abs(a) => Calc::Abs(inner(a)?),
            Expr::Binary(op, a, b) => Calc::Binary(*op, inner(a)?, inner(b)?),
            Expr::Interval(..) | Expr::Pool(_) => return Err("an interval where one value is wanted".into()),
        })
    }
}

/// The variable that an aggregate gives its value.
fn assigned<'a>(a: &'a Aggregate, bound: &Bound) -> Option<&'a Name> {
    let guards = a.left.iter().map(|(e, r)| (r, e)).chain(a.right.iter().map(|(r, e)| (r, e)));
    guards.filter(|(r, _)| **r == Rel::Eq).find_map(|(_, e)| if let Expr::Var(n, _) = e { Some(n).filter(|n| !bound.contains(*n)) } else { None })
}
