//! From a rule as clingo's parser reads it to the steps by which the checker goes through its instances.

use std::collections::BTreeSet;

use super::{Rule, mentioned};
use crate::reason::clingo::ast;
use crate::reason::eval::layouts::Layouts;
use crate::reason::eval::store::RelId;
use crate::reason::eval::terms::{Id, Terms};
use crate::reason::syntax::{Aggregate, AtomPattern, Expr, Fold, Item, Literal, Op, Predicate, Rel, Sign, globals};
use crate::term::Name;

/// A term over variables: those known have their value in a slot, those not known yet take what they are compared with.
#[derive(Clone, Debug)]
pub enum Part {
    Any,
    Bind(usize),
    Slot(usize),
    Id(Id),
    Fun(Id, Vec<Part>),
    Abs(Box<Part>),
    Binary(Op, Box<Part>, Box<Part>),
}

/// One step through a body.
#[derive(Clone, Debug)]
pub enum Step {
    /// Each row of a relation with these values, by the look-up of those that are known.
    Each {
        relation: RelId,
        lookup: usize,
        columns: Vec<(bool, Part)>,
    },
    /// There is no way through these steps.
    Not(Vec<Step>),
    Compare(Part, Rel, Part),
    Let(Part, Part),
    Range(Part, Part, Part),
    /// The value of an aggregate: each element's way and tuple.
    Fold(Part, Fold, Vec<(Vec<Step>, Vec<Part>)>),
}

type Bound = BTreeSet<Name>;

/// Compiles the rules of a program, one after the other.
pub struct Compiler<'a> {
    /// What has few rows: a turn's, not a site's.
    moving: &'a BTreeSet<Predicate>,
    layouts: &'a mut Layouts,
    terms: &'a mut Terms,
    masks: Vec<(RelId, u32)>,
    /// The variables of the rule.
    slots: Vec<Name>,
    /// The variables that conditions and aggregates share with the rest of the rule.
    globals: Bound,
    lifted: usize,
}

/// The place of something in a list, to whose end it comes if it was not there.
fn place<T: PartialEq>(list: &mut Vec<T>, one: T) -> usize {
    list.iter().position(|o| *o == one).unwrap_or_else(|| {
        list.push(one);
        list.len() - 1
    })
}

/// Whether all variables are bound; `_` never is.
fn is_known(e: &Expr, bound: &Bound) -> bool {
    e.vars().is_subset(bound)
}

/// The number of a look-up by some columns of a relation, of which the first 32 count.
fn number(masks: &mut Vec<(RelId, u32)>, relation: RelId, columns: impl Iterator<Item = usize>) -> usize {
    place(masks, (relation, columns.filter(|c| *c < 32).fold(0, |m, c| m | 1 << c)))
}

impl<'a> Compiler<'a> {
    pub fn new(moving: &'a BTreeSet<Predicate>, layouts: &'a mut Layouts, terms: &'a mut Terms) -> Self {
        Self { moving, layouts, terms, masks: Vec::new(), slots: Vec::new(), globals: Bound::new(), lifted: 0 }
    }

    /// The steps of a rule.
    pub fn rule(&mut self, rule: &ast::Rule) -> Result<Rule, String> {
        self.slots.clear();
        self.globals = globals(rule.head.as_ref(), &rule.body);
        let (mut body, mut bound) = (rule.body.clone(), Bound::new());
        let head = rule.head.as_ref().map(|h| AtomPattern { args: self.lift(&h.args, &mut body), ..h.clone() });
        let steps = self.plan(body, &mut bound)?;
        let head = head.map(|h| Ok::<_, String>((self.layouts.relation(&h.predicate()), self.known(&h.args, &bound)?))).transpose()?;
        let reads = mentioned(&rule.body).map(|(a, _)| self.layouts.relation(&a.predicate())).collect();
        Ok(Rule { head, reads, steps, slots: self.slots.len(), origin: rule.origin.clone() })
    }

    /// The look-ups that the rules make, and for each relation that of a whole row.
    pub fn lookups(mut self) -> (Vec<(RelId, u32)>, Vec<usize>) {
        let whole = (0..).zip(&self.layouts.layouts).map(|(r, l)| number(&mut self.masks, r, 0..l.arity)).collect();
        (self.masks, whole)
    }

    fn variable(&mut self) -> Expr {
        self.lifted += 1;
        Expr::Var(format!("\u{2}{}", self.lifted).into(), 0)
    }

    /// The terms in which intervals and arithmetic became variables, each with an equation.
    fn lift(&mut self, args: &[Expr], out: &mut Vec<Item>) -> Vec<Expr> {
        let one = |e: &Expr| match e {
            Expr::Fun(n, args) => Expr::Fun(n.clone(), self.lift(args, out)),
            Expr::Interval(..) | Expr::Neg(_) | Expr::Abs(_) | Expr::Binary(..) => {
                let left = self.variable();
                out.push(Item::Literal(Literal::Compare { sign: Sign::Plain, left: left.clone(), rest: vec![(Rel::Eq, e.clone())], span: 0..0 }));
                left
            }
            e => e.clone(),
        };
        args.iter().map(one).collect()
    }

    /// An item as some that are stepped through: without arithmetic where rows are looked up or something is negated, by single
    /// comparisons, and aggregates only as equations.
    fn split(&mut self, i: Item, out: &mut Vec<Item>) {
        let i = match i {
            Item::Literal(Literal::Bool(true, _)) => return,
            Item::Literal(Literal::Atom { sign, atom }) => {
                let args = self.lift(&atom.args, out);
                Item::Literal(Literal::Atom { sign, atom: AtomPattern { args, ..atom } })
            }
            Item::Literal(Literal::Compare { sign: Sign::Plain, mut left, rest, span }) => {
                for (rel, right) in rest {
                    out.push(Item::Literal(Literal::Compare { sign: Sign::Plain, left, rest: vec![(rel, right.clone())], span: span.clone() }));
                    left = right;
                }
                return;
            }
            Item::Literal(Literal::Compare { sign, left, rest, span }) => {
                let (rels, terms): (Vec<Rel>, Vec<Expr>) = rest.into_iter().unzip();
                let mut terms = self.lift(&[vec![left], terms].concat(), out).into_iter();
                let Some(left) = terms.next() else { return };
                Item::Literal(Literal::Compare { sign, left, rest: rels.into_iter().zip(terms).collect(), span })
            }
            Item::Aggregate(a) => {
                let value = self.variable();
                let (left, first) = a.left.map_or((value.clone(), None), |(e, rel)| (e, Some((rel, value.clone()))));
                let rest = first.into_iter().chain(a.right).collect();
                self.split(Item::Literal(Literal::Compare { sign: a.sign, left, rest, span: a.span.clone() }), out);
                Item::Aggregate(Aggregate { sign: Sign::Plain, left: Some((value, Rel::Eq)), right: None, ..a })
            }
            i => i,
        };
        out.push(i);
    }

    /// Orders a body: each step needs only what those before it made known, and what tests comes before what searches.
    fn plan(&mut self, body: Vec<Item>, bound: &mut Bound) -> Result<Vec<Step>, String> {
        let (mut open, mut steps) = (Vec::new(), Vec::new());
        body.into_iter().for_each(|i| self.split(i, &mut open));
        while !open.is_empty() {
            let best = open.iter().enumerate().filter_map(|(n, i)| Some((self.rank(i, bound)?, n))).min();
            let Some((_, n)) = best else { return Err("a rule in which the checker finds no order of its conditions".into()) };
            steps.push(self.step(open.remove(n), bound)?);
        }
        Ok(steps)
    }

    /// How early an item comes; `None` while something it needs is not known.
    fn rank(&self, i: &Item, bound: &Bound) -> Option<usize> {
        let settled = |n: &Name| &**n == "_" || bound.contains(n);
        match i {
            Item::Literal(Literal::Atom { sign: Sign::Plain, atom }) => {
                let free = atom.args.iter().filter(|a| !is_known(a, bound)).count();
                let many = if self.moving.contains(&atom.predicate()) { 0 } else { 60 };
                Some(2 + if free == 0 { 0 } else { free + many + if free < atom.args.len() { 0 } else { 30 } })
            }
            Item::Literal(Literal::Compare { sign: Sign::Plain, left, rest, .. }) if matches!(rest.as_slice(), [(Rel::Eq, _)]) => {
                let binds = |a, b| is_known(a, bound) && (is_known(b, bound) || matches!(b, Expr::Var(..) | Expr::Fun(..)));
                rest.iter().any(|(_, right)| binds(left, right) || binds(right, left)).then_some(1)
            }
            Item::Literal(l) => l.vars().iter().all(settled).then_some(0),
            i => {
                let terms = if let Item::Aggregate(a) = i { a.elements.iter().flat_map(|e| &e.terms).flat_map(Expr::vars).collect() } else { Bound::new() };
                let inside: Bound = i.literals().into_iter().flat_map(|(l, _)| l.vars()).chain(terms).collect();
                inside.intersection(&self.globals).all(settled).then_some(20)
            }
        }
    }

    fn step(&mut self, i: Item, bound: &mut Bound) -> Result<Step, String> {
        Ok(match i {
            Item::Literal(Literal::Atom { sign: Sign::Plain, atom }) => {
                let (relation, before) = (self.layouts.relation(&atom.predicate()), bound.clone());
                let column = |a: &Expr| Ok((is_known(a, &before), self.part(a, bound)?));
                let columns: Vec<(bool, Part)> = atom.args.iter().map(column).collect::<Result<_, String>>()?;
                let known = (0..).zip(&columns).filter(|(_, c)| c.0).map(|(n, _)| n);
                Step::Each { relation, lookup: number(&mut self.masks, relation, known), columns }
            }
            Item::Literal(Literal::Compare { sign: Sign::Plain, left, mut rest, .. }) => match rest.pop() {
                Some((Rel::Eq, right)) => {
                    let (to, from) = if is_known(&right, bound) { (left, right) } else { (right, left) };
                    match &from {
                        Expr::Interval(low, high) => Step::Range(self.part(&to, bound)?, self.part(low, bound)?, self.part(high, bound)?),
                        from => Step::Let(self.part(&to, bound)?, self.part(from, bound)?),
                    }
                }
                Some((rel, right)) => Step::Compare(self.part(&left, bound)?, rel, self.part(&right, bound)?),
                None => return Err("a comparison with nothing".into()),
            },
            Item::Literal(Literal::Bool(..)) => Step::Not(Vec::new()),
            // What stands inside is known to nobody outside.
            Item::Literal(l) => Step::Not(self.plan(vec![Item::Literal(l.negated())], &mut bound.clone())?),
            Item::Conditional { literal, condition, .. } => {
                let body = condition.into_iter().chain([literal.negated()]).map(Item::Literal).collect();
                Step::Not(self.plan(body, &mut bound.clone())?)
            }
            Item::Aggregate(a) => {
                let mut elements = Vec::new();
                for e in a.elements {
                    let (mut inner, mut condition) = (bound.clone(), e.condition.into_iter().map(Item::Literal).collect());
                    let terms = self.lift(&e.terms, &mut condition);
                    let steps = self.plan(condition, &mut inner)?;
                    elements.push((steps, self.known(&terms, &inner)?));
                }
                let value = a.left.map_or(Ok(Part::Any), |(e, _)| self.part(&e, bound))?;
                Step::Fold(value, a.fold, elements)
            }
        })
    }

    /// Terms over what is known.
    fn known(&mut self, terms: &[Expr], bound: &Bound) -> Result<Vec<Part>, String> {
        match terms.iter().find(|e| !is_known(e, bound)) {
            Some(e) => Err(format!("nothing says what `{e}` can be")),
            None => terms.iter().map(|e| self.part(e, &mut bound.clone())).collect(),
        }
    }

    fn part(&mut self, e: &Expr, bound: &mut Bound) -> Result<Part, String> {
        if !is_known(e, bound) && !matches!(e, Expr::Var(..) | Expr::Fun(..)) {
            return Err("arithmetic over what is not known".into());
        }
        Ok(match e {
            Expr::Int(n) => Part::Id(self.terms.of_int(*n)),
            Expr::Str(n) => Part::Id(self.terms.of_str(n)),
            Expr::Inf => Part::Id(self.terms.of_inf()),
            Expr::Sup => Part::Id(self.terms.of_sup()),
            Expr::Const(n) => Part::Id(self.terms.of_const(n)),
            Expr::Var(n, _) if &**n == "_" => Part::Any,
            Expr::Var(n, _) if bound.insert(n.clone()) => Part::Bind(place(&mut self.slots, n.clone())),
            Expr::Var(n, _) => Part::Slot(place(&mut self.slots, n.clone())),
            Expr::Fun(n, args) => {
                let args = args.iter().map(|a| self.part(a, bound)).collect::<Result<Vec<_>, _>>()?;
                let name = self.terms.of_const(n);
                let ids: Option<Vec<Id>> = args.iter().map(|a| if let Part::Id(i) = a { Some(*i) } else { None }).collect();
                ids.map_or_else(|| Part::Fun(name, args), |ids| Part::Id(self.terms.of_fun(name, &ids)))
            }
            Expr::Neg(a) => Part::Binary(Op::Sub, Box::new(self.part(&Expr::Int(0), bound)?), Box::new(self.part(a, bound)?)),
            Expr::Abs(a) => Part::Abs(Box::new(self.part(a, bound)?)),
            Expr::Binary(op, a, b) => Part::Binary(*op, Box::new(self.part(a, bound)?), Box::new(self.part(b, bound)?)),
            Expr::Interval(..) | Expr::Pool(_) => return Err("an interval where one value is wanted".into()),
        })
    }
}
