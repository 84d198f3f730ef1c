//! Runs plans: a depth-first join over the rows below (static) and above (this decision).
#![expect(clippy::indexing_slicing, reason = "registers and relations are numbered by the planner, which sizes both")]

use std::cmp::Ordering;
use std::sync::Arc;

use super::plan::{Calc, Lookup, Match, Slot, Step};
use super::store::{NO_ROW, RelId, Relation, key_hash};
use super::terms::{Id, Terms};
use crate::reason::syntax::{Fold, Op};

/// The value of a register nobody has set.
pub const UNSET: Id = u32::MAX >> 1;

/// Why an evaluation stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Arithmetic left the 32 bits that clingo has.
    Overflow,
    /// More steps than the budget allows.
    Steps,
}

/// `true`: no more solutions are wanted.
pub type Flow = Result<bool, Stop>;

/// The static rows a decision has looked at, for the slice that clingo confirms.
pub type Touched = Vec<(RelId, u32)>;

/// One run of a plan.
pub struct Run<'a> {
    /// The terms; function terms made on the way are added.
    pub terms: &'a mut Terms,
    /// Static relations by number; empty while they are themselves built.
    pub below: &'a [Arc<Relation>],
    /// How many rows each of them has, close together.
    pub fixed: &'a [u32],
    /// The relations under construction.
    pub above: &'a [Relation],
    /// Numbers of columns by relation.
    pub arities: &'a [usize],
    /// The variables.
    pub regs: &'a mut Vec<Id>,
    /// The rows of `above` that count for a delta look-up.
    pub delta: std::ops::Range<u32>,
    /// Rows tried so far.
    pub steps: &'a mut u64,
    /// How many may be tried.
    pub max_steps: u64,
    /// Static rows looked at, if wanted.
    pub touched: Option<&'a mut Touched>,
    /// The longest prefix of the plan that had a solution, if wanted, with the registers then.
    pub deepest: Option<&'a mut (usize, Vec<Id>)>,
}

const KEY: usize = 12;

impl<'a> Run<'a> {
    /// Calls `done` for each solution of `steps`.
    pub fn solve(&mut self, steps: &[Step], done: &mut dyn FnMut(&mut Self) -> Flow) -> Flow {
        self.go(steps, 0, done)
    }

    fn go(&mut self, steps: &[Step], at: usize, done: &mut dyn FnMut(&mut Self) -> Flow) -> Flow {
        if let Some(d) = &mut self.deepest
            && (at > d.0 || d.1.is_empty())
        {
            (d.0, d.1) = (at, self.regs.clone());
        }
        let Some(step) = steps.get(at) else { return done(self) };
        match step {
            Step::Bool(b) => {
                if *b {
                    return self.go(steps, at + 1, done);
                }
            }
            Step::Test { left, rest, wanted } => {
                if self.chain(left, rest)? == Some(*wanted) {
                    return self.go(steps, at + 1, done);
                }
            }
            Step::Let { pattern, value } => {
                if let Some(v) = self.calc(value)?
                    && self.matches(pattern, v)?
                {
                    return self.go(steps, at + 1, done);
                }
            }
            Step::Range { pattern, low, high } => {
                if let (Some(low), Some(high)) = (self.calc(low)?, self.calc(high)?)
                    && let (Some(low), Some(high)) = (self.terms.int(low), self.terms.int(high))
                {
                    for n in low..=high {
                        self.count()?;
                        let v = self.terms.of_int(n);
                        if self.matches(pattern, v)? && self.go(steps, at + 1, done)? {
                            return Ok(true);
                        }
                    }
                }
            }
            Step::Exists { lookup, wanted } => {
                let mut found = false;
                let possible = self.rows(lookup, 0..NO_ROW, true, &mut |_| {
                    found = true;
                    Ok(true)
                })?;
                if possible.is_some() && found == *wanted {
                    return self.go(steps, at + 1, done);
                }
            }
            Step::Scan { lookup, once, delta } => {
                let range = if *delta { self.delta.clone() } else { 0..NO_ROW };
                let mut stop = false;
                self.rows(lookup, range, !delta, &mut |run| {
                    stop = run.go(steps, at + 1, done)?;
                    Ok(stop || *once)
                })?;
                return Ok(stop);
            }
            Step::ForAll { condition, then } => {
                let mut all = true;
                self.inner(|run| {
                    run.go(condition, 0, &mut |run| {
                        let mut one = false;
                        run.go(then, 0, &mut |_| {
                            one = true;
                            Ok(true)
                        })?;
                        all &= one;
                        Ok(!all)
                    })
                })?;
                if all {
                    return self.go(steps, at + 1, done);
                }
            }
            Step::Fold { fold, elements, assign, guards, wanted } => {
                if let Some(value) = self.fold(*fold, elements)? {
                    if let Some(s) = assign {
                        self.regs[*s as usize] = value;
                    }
                    let mut holds = true;
                    for (rel, c) in guards {
                        let Some(v) = self.calc(c)? else { return Ok(false) };
                        holds &= rel.holds(self.terms.order(value, v));
                    }
                    if holds == *wanted {
                        return self.go(steps, at + 1, done);
                    }
                }
            }
        }
        Ok(false)
    }

    /// Runs something inside a step: the search for the deepest prefix does not descend there.
    fn inner(&mut self, f: impl FnOnce(&mut Self) -> Flow) -> Flow {
        let kept = self.deepest.take();
        let out = f(self);
        self.deepest = kept;
        out
    }

    fn count(&mut self) -> Result<(), Stop> {
        *self.steps += 1;
        if *self.steps > self.max_steps { Err(Stop::Steps) } else { Ok(()) }
    }

    /// Calls `each` for each row that matches; `None` if the key is undefined.
    fn rows(&mut self, lookup: &Lookup, range: std::ops::Range<u32>, below: bool, each: &mut dyn FnMut(&mut Self) -> Flow) -> Result<Option<bool>, Stop> {
        let mut key = [(0usize, 0 as Id); KEY];
        let mut wide = Vec::new();
        let key: &[(usize, Id)] = if lookup.key.len() <= KEY {
            for (slot, (column, c)) in key.iter_mut().zip(&lookup.key) {
                let Some(v) = self.calc(c)? else { return Ok(None) };
                *slot = (*column, v);
            }
            &key[..lookup.key.len()]
        } else {
            for (column, c) in &lookup.key {
                let Some(v) = self.calc(c)? else { return Ok(None) };
                wide.push((*column, v));
            }
            &wide
        };
        let r = lookup.relation as usize;
        let arity = self.arities[r];
        let hash = key_hash(key.iter().take(lookup.hashed).map(|(_, v)| *v));
        if below
            && self.fixed.get(r).is_some_and(|n| *n > 0)
            && let Some(relation) = self.below.get(r)
        {
            let (mut row, chained) = relation.first(lookup.index, hash);
            while row != NO_ROW {
                self.count()?;
                let values = relation.row(arity, row);
                if key.iter().all(|(c, v)| values[*c] == *v) {
                    if let Some(t) = &mut self.touched {
                        t.push((lookup.relation, row));
                    }
                    if self.rest(&lookup.rest, values)? && each(self)? {
                        return Ok(Some(true));
                    }
                }
                row = relation.after(lookup.index, row, chained);
            }
        }
        let relation: &'a Relation = &self.above[r];
        if relation.is_empty() {
            return Ok(Some(false));
        }
        if range.end != NO_ROW {
            for row in range {
                self.count()?;
                let values = relation.row(arity, row);
                if key.iter().all(|(c, v)| values[*c] == *v) && self.rest(&lookup.rest, values)? && each(self)? {
                    return Ok(Some(true));
                }
            }
            return Ok(Some(false));
        }
        let (mut row, chained) = relation.first(lookup.index, hash);
        while row != NO_ROW {
            self.count()?;
            let values = relation.row(arity, row);
            if key.iter().all(|(c, v)| values[*c] == *v) && self.rest(&lookup.rest, values)? && each(self)? {
                return Ok(Some(true));
            }
            row = relation.after(lookup.index, row, chained);
        }
        Ok(Some(false))
    }

    fn rest(&mut self, rest: &[(usize, Match)], values: &[Id]) -> Result<bool, Stop> {
        for (c, m) in rest {
            if !self.matches(m, values[*c])? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn matches(&mut self, m: &Match, v: Id) -> Result<bool, Stop> {
        Ok(match m {
            Match::Any => true,
            Match::Bind(s) => {
                self.regs[*s as usize] = v;
                true
            }
            Match::Same(s) => self.regs[*s as usize] == v,
            Match::Is(i) => *i == v,
            Match::Value(c) => self.calc(c)? == Some(v),
            Match::Fun(name, args) => {
                let Some((n, found)) = self.terms.fun(v) else { return Ok(false) };
                if found.len() != args.len() || n != *name {
                    return Ok(false);
                }
                if found.len() > KEY {
                    let found = found.to_vec();
                    for (m, v) in args.iter().zip(found) {
                        if !self.matches(m, v)? {
                            return Ok(false);
                        }
                    }
                    return Ok(true);
                }
                let mut ids = [0; KEY];
                ids[..found.len()].copy_from_slice(found);
                for (m, v) in args.iter().zip(ids) {
                    if !self.matches(m, v)? {
                        return Ok(false);
                    }
                }
                true
            }
        })
    }

    /// The value of a term; `None` where clingo calls the operation undefined.
    pub fn calc(&mut self, c: &Calc) -> Result<Option<Id>, Stop> {
        Ok(match c {
            Calc::Slot(s) => Some(self.regs[*s as usize]),
            Calc::Id(i) => Some(*i),
            Calc::Fun(n, args) => {
                let mut ids = [0; KEY];
                if args.len() > KEY {
                    let mut ids = Vec::with_capacity(args.len());
                    for a in args {
                        let Some(v) = self.calc(a)? else { return Ok(None) };
                        ids.push(v);
                    }
                    return Ok(Some(self.terms.of_fun(*n, &ids)));
                }
                for (slot, a) in ids.iter_mut().zip(args) {
                    let Some(v) = self.calc(a)? else { return Ok(None) };
                    *slot = v;
                }
                Some(self.terms.of_fun(*n, &ids[..args.len()]))
            }
            Calc::Neg(a) => self.number(a, |n| n.checked_neg())?,
            Calc::Abs(a) => self.number(a, |n| n.checked_abs())?,
            Calc::Binary(op, a, b) => {
                let (Some(a), Some(b)) = (self.calc(a)?, self.calc(b)?) else { return Ok(None) };
                let (Some(a), Some(b)) = (self.terms.int(a), self.terms.int(b)) else { return Ok(None) };
                let value = match op {
                    Op::Add => a.checked_add(b),
                    Op::Sub => a.checked_sub(b),
                    Op::Mul => a.checked_mul(b),
                    Op::Div | Op::Mod if b == 0 => return Ok(None),
                    Op::Div => a.checked_div(b),
                    Op::Mod => a.checked_rem(b),
                    Op::Pow => match power(a, b) {
                        Some(v) => v,
                        None => return Ok(None),
                    },
                };
                Some(self.terms.of_int(value.ok_or(Stop::Overflow)?))
            }
        })
    }

    fn number(&mut self, c: &Calc, f: impl Fn(i32) -> Option<i32>) -> Result<Option<Id>, Stop> {
        let Some(n) = self.calc(c)?.and_then(|v| self.terms.int(v)) else { return Ok(None) };
        let n = f(n).ok_or(Stop::Overflow)?;
        Ok(Some(self.terms.of_int(n)))
    }

    fn chain(&mut self, left: &Calc, rest: &[(crate::reason::syntax::Rel, Calc)]) -> Result<Option<bool>, Stop> {
        let Some(mut from) = self.calc(left)? else { return Ok(None) };
        let mut all = true;
        for (rel, to) in rest {
            let Some(to) = self.calc(to)? else { return Ok(None) };
            all &= rel.holds(self.terms.order(from, to));
            from = to;
        }
        Ok(Some(all))
    }

    /// The first terms of an aggregate's tuples, each tuple counted once.
    fn firsts(&mut self, elements: &[(Vec<Step>, Vec<Calc>)]) -> Result<Vec<Id>, Stop> {
        // Tuples of up to three terms fit a number; the length keeps those of different elements apart.
        let mut narrow: Vec<u128> = Vec::new();
        let mut wide: Vec<Vec<Id>> = Vec::new();
        for (steps, terms) in elements {
            let mut done = |run: &mut Self| {
                if terms.len() > 3 {
                    let mut tuple = Vec::with_capacity(terms.len());
                    for t in terms {
                        let Some(v) = run.calc(t)? else { return Ok(false) };
                        tuple.push(v);
                    }
                    wide.push(tuple);
                    return Ok(false);
                }
                let mut key = terms.len() as u128;
                for t in terms {
                    let Some(v) = run.calc(t)? else { return Ok(false) };
                    key = key << 32 | u128::from(v);
                }
                narrow.push(key << (32 * (3 - terms.len())));
                Ok(false)
            };
            let kept = self.deepest.take();
            let out = self.go(steps, 0, &mut done);
            self.deepest = kept;
            out?;
        }
        narrow.sort_unstable();
        narrow.dedup();
        wide.sort_unstable();
        wide.dedup();
        let first = |key: &u128| u32::try_from(key >> 64 & u128::from(u32::MAX)).unwrap_or(0);
        Ok(narrow.iter().map(first).chain(wide.iter().filter_map(|t| t.first().copied())).collect())
    }

    fn fold(&mut self, fold: Fold, elements: &[(Vec<Step>, Vec<Calc>)]) -> Result<Option<Id>, Stop> {
        let firsts = self.firsts(elements)?;
        let numbers = || firsts.iter().filter_map(|v| self.terms.int(*v)).map(i64::from);
        Ok(Some(match fold {
            Fold::Count => self.whole(i64::try_from(firsts.len()).unwrap_or(i64::MAX))?,
            Fold::Sum => self.whole(numbers().sum())?,
            Fold::SumPlus => self.whole(numbers().filter(|n| *n > 0).sum())?,
            Fold::Min => match firsts.iter().min_by(|a, b| self.terms.order(**a, **b)) {
                Some(v) => *v,
                None => self.terms.of_sup(),
            },
            Fold::Max => match firsts.iter().max_by(|a, b| self.terms.order(**a, **b)) {
                Some(v) => *v,
                None => self.terms.of_inf(),
            },
        }))
    }

    fn whole(&mut self, n: i64) -> Result<Id, Stop> {
        Ok(self.terms.of_int(i32::try_from(n).map_err(|_| Stop::Overflow)?))
    }

    /// How two terms compare.
    pub fn order(&self, a: Id, b: Id) -> Ordering {
        self.terms.order(a, b)
    }

    /// Sets a variable before a run.
    pub fn set(&mut self, slot: Slot, value: Id) {
        self.regs[slot as usize] = value;
    }
}

/// `a ** b`: outer `None` where clingo calls it undefined, inner `None` where it overflows.
fn power(a: i32, b: i32) -> Option<Option<i32>> {
    match (a, u32::try_from(b)) {
        (_, Ok(e)) => Some(a.checked_pow(e)),
        (0, Err(_)) => None,
        (1, Err(_)) => Some(Some(1)),
        (-1, Err(_)) => Some(Some(if b % 2 == 0 { 1 } else { -1 })),
        (_, Err(_)) => Some(Some(0)),
    }
}
