//! Runs plans: a depth-first join over the rows below (static) and above (this decision).
#![expect(clippy::indexing_slicing, reason = "registers and relations are numbered by the planner, which sizes both")]

use std::cmp::Ordering;
use std::sync::Arc;

use super::step::{Calc, Lookup, Match, Step};
use super::store::{NO_ROW, Relation, key_hash};
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
        let (mut narrow, mut wide) = ([0 as Id; KEY], Vec::new());
        let key: &[Id] = if lookup.key.len() <= KEY {
            for (slot, (_, c)) in narrow.iter_mut().zip(&lookup.key) {
                let Some(v) = self.calc(c)? else { return Ok(None) };
                *slot = v;
            }
            &narrow[..lookup.key.len()]
        } else {
            for (_, c) in &lookup.key {
                let Some(v) = self.calc(c)? else { return Ok(None) };
                wide.push(v);
            }
            &wide
        };
        let fits = |values: &[Id]| lookup.key.iter().zip(key).all(|((c, _), v)| values[*c] == *v);
        let r = lookup.relation as usize;
        let arity = self.arities[r];
        let hash = key_hash(key.iter().take(lookup.hashed).copied());
        let above: &'a Relation = &self.above[r];
        let fixed = self.below.get(r).filter(|_| below && self.fixed.get(r).is_some_and(|n| *n > 0));
        for relation in fixed.map(|r: &'a Arc<Relation>| &**r).into_iter().chain([above]) {
            // Those of the last round stand one behind the other.
            let (mut row, chained) = if range.end == NO_ROW { relation.first(lookup.index, hash) } else { (range.start, false) };
            while row < range.end {
                self.count()?;
                let values = relation.row(arity, row);
                if fits(values) && self.rest(&lookup.rest, values)? && each(self)? {
                    return Ok(Some(true));
                }
                row = relation.after(lookup.index, row, chained);
            }
        }
        Ok(Some(false))
    }

    #[inline]
    fn rest(&mut self, rest: &[(usize, Match)], values: &[Id]) -> Result<bool, Stop> {
        for (c, m) in rest {
            let v = values[*c];
            let fits = match m {
                Match::Bind(s) => {
                    self.regs[*s as usize] = v;
                    true
                }
                Match::Any => true,
                m => self.matches(m, v)?,
            };
            if !fits {
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
    #[inline]
    pub fn calc(&mut self, c: &Calc) -> Result<Option<Id>, Stop> {
        match c {
            Calc::Slot(s) => Ok(Some(self.regs[*s as usize])),
            Calc::Id(i) => Ok(Some(*i)),
            c => self.computed(c),
        }
    }

    fn computed(&mut self, c: &Calc) -> Result<Option<Id>, Stop> {
        Ok(match c {
            Calc::Slot(_) | Calc::Id(_) => self.calc(c)?,
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
                let (Some(a), Some(b)) = (self.calc(a)?, self.calc(b)?) else {
                    return Ok(None);
                };
                let (Some(a), Some(b)) = (self.terms.int(a), self.terms.int(b)) else {
                    return Ok(None);
                };
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
        let Some(n) = self.calc(c)?.and_then(|v| self.terms.int(v)) else {
            return Ok(None);
        };
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

    /// The tuples of an aggregate that fit a number, each once: the term first, then the others, then how many there are.
    fn narrow(&mut self, elements: &[(Vec<Step>, Vec<Calc>)]) -> Result<Vec<u128>, Stop> {
        let mut out: Vec<u128> = Vec::new();
        for (steps, terms) in elements {
            self.inner(|run| {
                run.go(steps, 0, &mut |run| {
                    let mut key = 0;
                    for t in terms {
                        let Some(v) = run.calc(t)? else { return Ok(false) };
                        key = key << 32 | u128::from(v);
                    }
                    out.push(key << (32 * (4 - terms.len())) | terms.len() as u128);
                    Ok(false)
                })
            })?;
        }
        once_each(&mut out);
        Ok(out)
    }

    /// The same for pairs alone, which are the most frequent.
    fn pairs(&mut self, elements: &[(Vec<Step>, Vec<Calc>)]) -> Result<Vec<u64>, Stop> {
        let mut out: Vec<u64> = Vec::new();
        for (steps, terms) in elements {
            let [a, b] = terms.as_slice() else { continue };
            self.inner(|run| {
                run.go(steps, 0, &mut |run| {
                    if let (Some(a), Some(b)) = (run.calc(a)?, run.calc(b)?) {
                        out.push(u64::from(a) << 32 | u64::from(b));
                    }
                    Ok(false)
                })
            })?;
        }
        once_each(&mut out);
        Ok(out)
    }

    /// Tuples of any length, each once.
    fn wide(&mut self, elements: &[(Vec<Step>, Vec<Calc>)]) -> Result<Vec<Vec<Id>>, Stop> {
        let mut out: Vec<Vec<Id>> = Vec::new();
        for (steps, terms) in elements {
            self.inner(|run| {
                run.go(steps, 0, &mut |run| {
                    let mut tuple = Vec::with_capacity(terms.len());
                    for t in terms {
                        let Some(v) = run.calc(t)? else { return Ok(false) };
                        tuple.push(v);
                    }
                    out.push(tuple);
                    Ok(false)
                })
            })?;
        }
        once_each(&mut out);
        Ok(out)
    }

    fn fold(&mut self, fold: Fold, elements: &[(Vec<Step>, Vec<Calc>)]) -> Result<Option<Id>, Stop> {
        let lengths = || elements.iter().map(|(_, terms)| terms.len());
        // The first term is the upper half of a pair, and the upper quarter of a longer key.
        let upper = |v: u64| u32::try_from(v >> 32).unwrap_or(0);
        if lengths().all(|n| n == 2) {
            let tuples = self.pairs(elements)?;
            self.folded(fold, tuples.iter().map(|t| upper(*t)))
        } else if lengths().all(|n| (1..=3).contains(&n)) {
            let tuples = self.narrow(elements)?;
            self.folded(fold, tuples.iter().map(|t| upper(u64::try_from(*t >> 64).unwrap_or(0))))
        } else {
            let tuples = self.wide(elements)?;
            self.folded(fold, tuples.iter().map(|t| t.first().copied().unwrap_or(UNSET)))
        }
    }

    /// An aggregate's value from the first terms of its tuples.
    fn folded(&mut self, fold: Fold, firsts: impl Iterator<Item = Id>) -> Result<Option<Id>, Stop> {
        let terms = &*self.terms;
        let best = |wanted: Ordering, firsts: &mut dyn Iterator<Item = Id>| firsts.reduce(|a, b| if terms.order(b, a) == wanted { b } else { a });
        let (mut count, mut sum) = (0i64, 0i64);
        let mut firsts = firsts;
        match fold {
            Fold::Min => return Ok(Some(best(Ordering::Less, &mut firsts).unwrap_or_else(|| self.terms.of_sup()))),
            Fold::Max => return Ok(Some(best(Ordering::Greater, &mut firsts).unwrap_or_else(|| self.terms.of_inf()))),
            Fold::Count | Fold::Sum | Fold::SumPlus => {}
        }
        for v in firsts {
            let n = terms.int(v).map_or(0, i64::from);
            count += 1;
            sum += if fold == Fold::SumPlus { n.max(0) } else { n };
        }
        self.whole(if fold == Fold::Count { count } else { sum }).map(Some)
    }

    fn whole(&mut self, n: i64) -> Result<Id, Stop> {
        Ok(self.terms.of_int(i32::try_from(n).map_err(|_| Stop::Overflow)?))
    }
}

/// Equal tuples count once; few are in order already.
fn once_each<T: Ord>(tuples: &mut Vec<T>) {
    if !tuples.is_sorted() {
        tuples.sort_unstable();
    }
    tuples.dedup();
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
