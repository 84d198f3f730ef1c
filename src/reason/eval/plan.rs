//! From a rule to plans: the order in which its literals are looked up, with the columns known at each point.

use std::collections::{BTreeMap, BTreeSet};

use super::layouts::Layouts;
use super::step::{Calc, Lookup, Match, Slot, Step, indexes, mark_once};
use super::store::RelId;
use super::terms::{Id, Terms};
use crate::reason::syntax::{Aggregate, AtomPattern, Expr, Item, Literal, Op, Rel, Sign};
use crate::term::Name;

/// Why a rule has no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoPlan {
    /// Variables that nothing binds, with their places.
    Unsafe(Vec<(Name, usize)>),
    /// A construct the evaluator does not take.
    Unsupported(&'static str),
}

/// An ordered body: each step with the body item it belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The steps.
    pub steps: Vec<Step>,
    /// For each step, the number of its body item.
    pub items: Vec<usize>,
    /// The indexes it looks things up in.
    pub indexes: Vec<(RelId, usize)>,
}

/// Compiles the bodies of one rule.
pub struct Compiler<'a> {
    layouts: &'a mut Layouts,
    terms: &'a mut Terms,
    /// The rule's variables, those that are not local to an aggregate or condition first.
    pub vars: Vec<Name>,
}

type Bound = BTreeSet<Slot>;

impl<'a> Compiler<'a> {
    /// A compiler for a rule with these variables.
    pub fn new(layouts: &'a mut Layouts, terms: &'a mut Terms, globals: &[(Name, usize)]) -> Self {
        Self { layouts, terms, vars: globals.iter().map(|(n, _)| n.clone()).collect() }
    }

    /// The register of a variable.
    pub fn slot(&mut self, name: &Name) -> Slot {
        let at = self.vars.iter().position(|v| v == name).unwrap_or_else(|| {
            self.vars.push(name.clone());
            self.vars.len() - 1
        });
        Slot::try_from(at).unwrap_or(Slot::MAX)
    }

    fn ready(&mut self, e: &Expr, bound: &Bound) -> bool {
        let mut vars = Vec::new();
        e.each_var(&mut |n, _| vars.push(n.clone()));
        vars.iter().all(|v| {
            let s = self.slot(v);
            bound.contains(&s)
        })
    }

    /// A term whose variables are bound.
    pub fn calc(&mut self, e: &Expr) -> Result<Calc, NoPlan> {
        Ok(match e {
            Expr::Int(n) => Calc::Id(self.terms.of_int(*n)),
            Expr::Const(n) => Calc::Id(self.terms.of_const(n)),
            Expr::Str(n) => Calc::Id(self.terms.of_str(n)),
            Expr::Inf => Calc::Id(self.terms.of_inf()),
            Expr::Sup => Calc::Id(self.terms.of_sup()),
            Expr::Var(n, _) => Calc::Slot(self.slot(n)),
            Expr::Fun(n, args) => {
                let args = args.iter().map(|a| self.calc(a)).collect::<Result<Vec<_>, _>>()?;
                let ground: Option<Vec<Id>> = args.iter().map(|a| if let Calc::Id(i) = a { Some(*i) } else { None }).collect();
                let name = self.terms.of_const(n);
                match ground {
                    Some(ids) => Calc::Id(self.terms.of_fun(name, &ids)),
                    None => Calc::Fun(name, args),
                }
            }
            Expr::Binary(op, a, b) => Calc::Binary(*op, Box::new(self.calc(a)?), Box::new(self.calc(b)?)),
            Expr::Neg(a) => Calc::Neg(Box::new(self.calc(a)?)),
            Expr::Abs(a) => Calc::Abs(Box::new(self.calc(a)?)),
            Expr::Interval(..) => return Err(NoPlan::Unsupported("an interval in this place")),
            Expr::Pool(_) => return Err(NoPlan::Unsupported("a pool in this place")),
        })
    }

    fn pattern(&mut self, e: &Expr, bound: &mut Bound) -> Result<Match, NoPlan> {
        Ok(match e {
            Expr::Var(n, _) => {
                let s = self.slot(n);
                if bound.insert(s) { Match::Bind(s) } else { Match::Same(s) }
            }
            Expr::Fun(n, args) if !self.ready(e, bound) => {
                Match::Fun(self.terms.of_const(n), args.iter().map(|a| self.pattern(a, bound)).collect::<Result<_, _>>()?)
            }
            e => match self.calc(e)? {
                Calc::Id(i) => Match::Is(i),
                c => Match::Value(c),
            },
        })
    }

    /// The relation and columns that a literal reads: an opened view if an argument is a function term with variables.
    fn reads(&mut self, atom: &AtomPattern) -> (RelId, Vec<Expr>) {
        let base = self.layouts.relation(&atom.predicate());
        for (c, e) in atom.args.iter().enumerate() {
            if let Expr::Fun(f, args) = e
                && !f.is_empty()
                && !e.vars().is_empty()
                && let Some(relation) = self.layouts.view(base, c, f, self.terms.of_const(f), args.len())
            {
                let mut columns = atom.args.clone();
                columns.splice(c..=c, args.iter().cloned());
                return (relation, columns);
            }
        }
        (base, atom.args.clone())
    }

    fn lookup(&mut self, atom: &AtomPattern, bound: &mut Bound, anonymous: bool) -> Result<Lookup, NoPlan> {
        let (relation, columns) = self.reads(atom);
        let (mut key, mut rest) = (Vec::new(), Vec::new());
        let before = bound.clone();
        for (c, e) in columns.iter().enumerate() {
            if self.ready(e, &before) {
                key.push((c, self.calc(e)?));
            }
        }
        for (c, e) in columns.iter().enumerate() {
            if key.iter().any(|(k, _)| *k == c) {
                continue;
            }
            match e {
                Expr::Var(n, _) if anonymous && crate::reason::syntax::is_anonymous(n) => rest.push((c, Match::Any)),
                e => rest.push((c, self.pattern(e, bound)?)),
            }
        }
        let (index, mask) = self.layouts.index(relation, key.iter().map(|(c, _)| *c));
        key.sort_by_key(|(c, _)| (mask & (1 << (*c).min(31)) == 0, *c));
        Ok(Lookup { relation, key, index, hashed: mask.count_ones() as usize, rest })
    }

    /// Orders items: tests as soon as they can be made, then the look-up with the most known columns.
    pub fn plan(&mut self, items: &[Item], bound: &mut BTreeSet<Slot>, first: Option<usize>, delta: bool, needed: &BTreeSet<Slot>) -> Result<Plan, NoPlan> {
        let mut left: Vec<usize> = (0..items.len()).collect();
        let mut plan = Plan::default();
        let outer: BTreeSet<Name> = self.outer_names(items, bound, needed);
        if let Some(f) = first
            && let Some(Item::Literal(Literal::Atom { sign: Sign::Plain, atom })) = items.get(f)
        {
            let lookup = self.lookup(atom, bound, false)?;
            plan.steps.push(Step::Scan { lookup, once: false, delta });
            plan.items.push(f);
            left.retain(|i| *i != f);
        }
        while !left.is_empty() {
            let mut chosen = None;
            for (n, i) in left.iter().enumerate() {
                if let Some(item) = items.get(*i)
                    && let Some(step) = self.test(item, &outer, bound)?
                {
                    chosen = Some((n, step));
                    break;
                }
            }
            if chosen.is_none() {
                let mut best: Option<(usize, usize)> = None;
                for (n, i) in left.iter().enumerate() {
                    if let Some(Item::Literal(Literal::Atom { sign: Sign::Plain, atom })) = items.get(*i) {
                        let known = self.known(atom, bound);
                        if best.is_none_or(|(_, k)| known > k) {
                            best = Some((n, known));
                        }
                    }
                }
                if let Some((n, _)) = best
                    && let Some(Item::Literal(Literal::Atom { atom, .. })) = left.get(n).and_then(|i| items.get(*i))
                {
                    let lookup = self.lookup(atom, bound, false)?;
                    chosen = Some((n, Step::Scan { lookup, once: false, delta: false }));
                }
            }
            let Some((n, step)) = chosen else {
                return Err(self.unbound(items, &left, bound));
            };
            plan.items.push(left.remove(n));
            plan.steps.push(step);
        }
        mark_once(&mut plan.steps, needed);
        plan.steps.iter().for_each(|s| indexes(s, &mut plan.indexes));
        plan.indexes.sort_unstable();
        plan.indexes.dedup();
        Ok(plan)
    }

    fn known(&mut self, atom: &AtomPattern, bound: &Bound) -> usize {
        // A literal all of whose columns are known is a mere check; constants alone say little about how few rows there are.
        let ready = atom.args.iter().filter(|a| self.ready(a, bound)).count();
        let vars = atom.args.iter().filter(|a| !a.vars().is_empty() && self.ready(a, bound)).count();
        if ready == atom.args.len() { usize::MAX } else { vars * 16 + ready }
    }

    /// Names that occur outside of aggregates and conditions: the global variables of these items.
    fn outer_names(&mut self, items: &[Item], bound: &Bound, needed: &BTreeSet<Slot>) -> BTreeSet<Name> {
        let mut out: BTreeSet<Name> = bound.iter().chain(needed).filter_map(|s| self.vars.get(*s as usize).cloned()).collect();
        for item in items {
            item.each_global(&mut |n, _| {
                out.insert(n.clone());
            });
        }
        out
    }

    fn test(&mut self, item: &Item, outer: &BTreeSet<Name>, bound: &mut Bound) -> Result<Option<Step>, NoPlan> {
        match item {
            Item::Literal(Literal::Bool(b, _)) => Ok(Some(Step::Bool(*b))),
            Item::Literal(Literal::Atom { sign: Sign::Plain, atom }) => {
                if !atom.args.iter().all(|a| self.ready(a, bound)) {
                    return Ok(None);
                }
                Ok(Some(Step::Exists { lookup: self.lookup(atom, bound, false)?, wanted: true }))
            }
            Item::Literal(Literal::Atom { sign, atom }) => {
                let mut vars = Vec::new();
                atom.args.iter().for_each(|a| a.each_var(&mut |n, _| vars.push(n.clone())));
                let ready = vars.iter().all(|n| crate::reason::syntax::is_anonymous(n) || bound.contains(&self.slot(n)));
                if !ready {
                    return Ok(None);
                }
                let lookup = self.lookup(atom, &mut bound.clone(), true)?;
                Ok(Some(Step::Exists { lookup, wanted: *sign == Sign::NotNot }))
            }
            Item::Literal(Literal::Compare { sign, left, rest, .. }) => self.compare(*sign, left, rest, bound),
            Item::Conditional { literal, condition, .. } => {
                if !self.inner_ready(std::iter::once(literal).chain(condition), outer, bound) {
                    return Ok(None);
                }
                let mut inner = bound.clone();
                let needed: BTreeSet<Slot> = self.slots_of(std::iter::once(literal));
                let condition = self.literals(condition, &mut inner, &needed)?;
                let then = self.literals(std::slice::from_ref(literal), &mut inner, &BTreeSet::new())?;
                Ok(Some(Step::ForAll { condition, then }))
            }
            Item::Aggregate(a) => self.aggregate(a, outer, bound),
        }
    }

    fn slots_of<'b>(&mut self, literals: impl Iterator<Item = &'b Literal>) -> BTreeSet<Slot> {
        let mut names = Vec::new();
        literals.for_each(|l| l.each_var(&mut |n, _| names.push(n.clone())));
        names.iter().map(|n| self.slot(n)).collect()
    }

    /// Whether all global variables inside are bound.
    fn inner_ready<'b>(&mut self, literals: impl Iterator<Item = &'b Literal>, outer: &BTreeSet<Name>, bound: &Bound) -> bool {
        let mut names = Vec::new();
        literals.for_each(|l| l.each_var(&mut |n, _| names.push(n.clone())));
        names.iter().all(|n| !outer.contains(n) || bound.contains(&self.slot(n)))
    }

    fn literals(&mut self, literals: &[Literal], bound: &mut Bound, needed: &BTreeSet<Slot>) -> Result<Vec<Step>, NoPlan> {
        let items: Vec<Item> = super::normal::flatten(literals.iter().cloned().map(Item::Literal).collect(), (self.vars.len() + 1) * 4096);
        Ok(self.plan(&items, bound, None, false, needed)?.steps)
    }

    fn aggregate(&mut self, a: &Aggregate, outer: &BTreeSet<Name>, bound: &mut Bound) -> Result<Option<Step>, NoPlan> {
        let guards: Vec<(Rel, &Expr)> = a.left.iter().map(|(e, r)| (r.flipped(), e)).chain(a.right.iter().map(|(r, e)| (*r, e))).collect();
        let mut assign = None;
        let mut tests = Vec::new();
        for (rel, e) in guards {
            match e {
                Expr::Var(n, _) if rel == Rel::Eq && a.sign == Sign::Plain && assign.is_none() && !bound.contains(&self.slot(n)) => assign = Some(self.slot(n)),
                e if self.ready(e, bound) => tests.push((rel, self.calc(e)?)),
                _ => return Ok(None),
            }
        }
        for e in &a.elements {
            let mut names = Vec::new();
            e.terms.iter().for_each(|t| t.each_var(&mut |n, _| names.push(n.clone())));
            let assigned = |c: &Self, n: &Name| assign.is_some_and(|s| c.vars.get(s as usize) == Some(n));
            if names.iter().any(|n| assigned(self, n) || outer.contains(n) && !bound.contains(&self.slot(n)))
                || !self.inner_ready(e.condition.iter(), outer, bound)
            {
                return Ok(None);
            }
        }
        let mut elements = Vec::new();
        for e in &a.elements {
            let mut inner = bound.clone();
            let mut names = Vec::new();
            e.terms.iter().for_each(|t| t.each_var(&mut |n, at| names.push((n.clone(), at))));
            let needed: BTreeSet<Slot> = names.iter().map(|(n, _)| self.slot(n)).collect();
            let steps = self.literals(&e.condition, &mut inner, &needed)?;
            let free: Vec<(Name, usize)> = names.into_iter().filter(|(n, _)| !inner.contains(&self.slot(n))).collect();
            if !free.is_empty() {
                return Err(NoPlan::Unsafe(free));
            }
            elements.push((steps, e.terms.iter().map(|t| self.calc(t)).collect::<Result<_, _>>()?));
        }
        if let Some(s) = assign {
            bound.insert(s);
        }
        Ok(Some(Step::Fold { fold: a.fold, elements, assign, guards: tests, wanted: a.sign != Sign::Not }))
    }

    fn compare(&mut self, sign: Sign, left: &Expr, rest: &[(Rel, Expr)], bound: &mut Bound) -> Result<Option<Step>, NoPlan> {
        if let (Sign::Plain, [(Rel::Eq, right)]) = (sign, rest) {
            for (a, b) in [(left, right), (right, left)] {
                if let Expr::Interval(low, high) = b {
                    if !self.ready(low, bound) || !self.ready(high, bound) || !matches!(a, Expr::Var(..)) && !self.ready(a, bound) {
                        return Ok(None);
                    }
                    let (low, high) = (self.calc(low)?, self.calc(high)?);
                    return Ok(Some(Step::Range { pattern: self.pattern(a, bound)?, low, high }));
                }
            }
            for (a, b) in [(left, right), (right, left)] {
                if !self.ready(b, bound) || self.ready(a, bound) {
                    continue;
                }
                let value = self.calc(b)?;
                if let Some((var, value)) = self.solve(a, value, bound)? {
                    return Ok(Some(Step::Let { pattern: self.pattern(&var, bound)?, value }));
                }
            }
        }
        if !self.ready(left, bound) || !rest.iter().all(|(_, e)| self.ready(e, bound)) {
            return Ok(None);
        }
        let left = self.calc(left)?;
        let rest = rest.iter().map(|(r, e)| Ok((*r, self.calc(e)?))).collect::<Result<_, NoPlan>>()?;
        Ok(Some(Step::Test { left, rest, wanted: sign != Sign::Not }))
    }

    /// Turns `a = value` around until a variable or function pattern stands alone; `None` if it cannot.
    fn solve(&mut self, a: &Expr, value: Calc, bound: &Bound) -> Result<Option<(Expr, Calc)>, NoPlan> {
        match a {
            Expr::Var(..) => Ok(Some((a.clone(), value))),
            Expr::Fun(..) if !has_arithmetic(a) => Ok(Some((a.clone(), value))),
            Expr::Neg(x) => self.solve(x, Calc::Neg(Box::new(value)), bound),
            Expr::Binary(Op::Add, x, y) if self.ready(y, bound) => {
                let y = self.calc(y)?;
                self.solve(x, Calc::Binary(Op::Sub, Box::new(value), Box::new(y)), bound)
            }
            Expr::Binary(Op::Add, y, x) if self.ready(y, bound) => {
                let y = self.calc(y)?;
                self.solve(x, Calc::Binary(Op::Sub, Box::new(value), Box::new(y)), bound)
            }
            Expr::Binary(Op::Sub, x, y) if self.ready(y, bound) => {
                let y = self.calc(y)?;
                self.solve(x, Calc::Binary(Op::Add, Box::new(value), Box::new(y)), bound)
            }
            Expr::Binary(Op::Sub, y, x) if self.ready(y, bound) => {
                let y = self.calc(y)?;
                self.solve(x, Calc::Binary(Op::Sub, Box::new(y), Box::new(value)), bound)
            }
            _ => Ok(None),
        }
    }

    fn unbound(&mut self, items: &[Item], left: &[usize], bound: &Bound) -> NoPlan {
        let mut out: BTreeMap<Name, usize> = BTreeMap::new();
        for item in left.iter().filter_map(|i| items.get(*i)) {
            let mut vars = Vec::new();
            item.each_global(&mut |n, at| vars.push((n.clone(), at)));
            if vars.is_empty() {
                item.literals().iter().for_each(|(l, _)| l.each_var(&mut |n, at| vars.push((n.clone(), at))));
            }
            for (n, at) in vars {
                if !bound.contains(&self.slot(&n)) && !n.starts_with('\u{1}') {
                    out.entry(n).or_insert(at);
                }
            }
        }
        NoPlan::Unsafe(out.into_iter().collect())
    }
}

fn has_arithmetic(e: &Expr) -> bool {
    match e {
        Expr::Binary(..) | Expr::Neg(_) | Expr::Abs(_) | Expr::Interval(..) | Expr::Pool(_) => true,
        Expr::Fun(_, args) => args.iter().any(has_arithmetic),
        _ => false,
    }
}
