//! The naive pass: every instance of every rule, once; what it founds, and what the model lacks.

use std::cmp::Ordering;
use std::rc::Rc;
use std::sync::Arc;

use super::plan::{Calc, Match, Place, Step, WIDE};
use super::rows::{Index, NONE, Seen, hash, index};
use super::{Checker, Rule};
use crate::reason::eval::plan::Layouts;
use crate::reason::eval::store::{RelId, Relation};
use crate::reason::eval::terms::{Id, Node, Terms};
use crate::reason::syntax::{Fold, Op};
use crate::term::Atom;

/// Relations with fewer rows are gone through, not indexed.
pub const FEW: u32 = 12;

/// What is to be verified.
pub struct Model<'a> {
    /// Static rows, verified before.
    pub fixed: &'a [Arc<Relation>],
    /// The checker's indexes of them.
    pub seen: &'a Seen,
    /// The rows in question, by relation.
    pub rows: Vec<&'a Relation>,
    /// The relations.
    pub layouts: &'a Layouts,
    /// How many rows may be tried.
    pub max_steps: u64,
}

/// What the checker found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The model is the one stable model.
    Holds,
    /// It is not.
    Differs(String),
    /// Too many rows were tried.
    GaveUp,
}

type Flow = Result<bool, Verdict>;

struct Pass<'a> {
    checker: &'a Checker,
    model: &'a Model<'a>,
    terms: &'a mut Terms,
    /// The number of each relation's first row among all rows in question.
    first: Vec<u32>,
    /// The relation and number of each of these rows.
    places: Vec<(RelId, u32)>,
    table: Index,
    indexes: Vec<Option<Rc<Index>>>,
    founded: Vec<bool>,
    regs: Vec<Id>,
    /// The rows in question that the present instance rests on.
    support: Vec<u32>,
    /// Instances that rest on what was not founded yet: the head, and where its support ends in `rests`.
    pending: Vec<(u32, usize)>,
    rests: Vec<u32>,
    steps: u64,
}

impl Checker {
    /// Verifies a decision: the moving rules over the site's static rows, from the facts that were given.
    pub fn decision(&self, model: &Model<'_>, terms: &mut Terms, facts: &[Atom]) -> Verdict {
        let mut pass = Pass::new(self, model, terms);
        for f in facts {
            let mut row = [0; WIDE];
            let known = f.args.len() <= WIDE && row.iter_mut().zip(&f.args).all(|(slot, t)| pass.terms.find_term(t).map(|id| *slot = id).is_some());
            let relation = model.layouts.ids.get(&(f.name.clone(), f.args.len())).filter(|_| known);
            let found = relation.and_then(|r| Some((*r, row.get(..f.args.len())?))).is_some_and(|(r, row)| match pass.find(r, row) {
                Some(n) => pass.founded.get_mut(n as usize).map(|f| *f = true).is_some(),
                None => model.fixed.get(r as usize).is_some_and(|rows| (0..rows.len()).any(|n| rows.row(row.len(), n) == row)),
            });
            if !found {
                return Verdict::Differs(format!("the evaluator lacks the fact `{f}`"));
            }
        }
        pass.run(self.moving.iter())
    }

    /// Verifies what follows from stored facts alone; `given` are the rows that are such facts. Relations that are `kept` were
    /// verified with all that they rest on, unless that is among what changed.
    pub fn statics(&self, model: &Model<'_>, terms: &mut Terms, given: impl Iterator<Item = (RelId, u32)>, kept: &[bool]) -> Verdict {
        let mut kept: Vec<bool> = if kept.is_empty() { vec![false; model.rows.len()] } else { kept.to_vec() };
        let is = |kept: &[bool], r: &RelId| kept.get(*r as usize).copied().unwrap_or(false);
        let stale = |kept: &[bool], r: &Rule| !r.reads.iter().all(|b| is(kept, b));
        while let Some((head, _)) = self.fixed.iter().filter(|r| stale(&kept, r)).filter_map(|r| r.head.as_ref()).find(|h| is(&kept, &h.0)) {
            kept.get_mut(*head as usize).into_iter().for_each(|k| *k = false);
        }
        let mut pass = Pass::new(self, model, terms);
        for ((r, _), founded) in pass.places.iter().zip(&mut pass.founded) {
            *founded = is(&kept, r);
        }
        for (relation, row) in given {
            if let Some(f) = pass.first.get(relation as usize).and_then(|f| pass.founded.get_mut((*f + row) as usize)) {
                *f = true;
            }
        }
        pass.run(self.fixed.iter().filter(|r| stale(&kept, r) || r.head.as_ref().is_none_or(|h| !is(&kept, &h.0))))
    }

    /// The checker's indexes of static rows.
    pub fn seen(&self, before: Option<&Seen>, same: impl Fn(RelId) -> bool) -> Seen {
        Seen::of(&self.masks, before, same)
    }
}

impl<'a> Pass<'a> {
    fn new(checker: &'a Checker, model: &'a Model<'a>, terms: &'a mut Terms) -> Self {
        let (mut first, mut places, mut hashes) = (Vec::with_capacity(model.rows.len()), Vec::new(), Vec::new());
        for ((r, rows), layout) in (0..).zip(&model.rows).zip(&model.layouts.layouts) {
            first.push(u32::try_from(places.len()).unwrap_or(NONE));
            // Opened views hold the rows of another relation once more.
            if layout.opens.is_none() {
                places.extend((0..rows.len()).map(|n| (r, n)));
                hashes.extend((0..rows.len()).map(|n| hash(r, rows.row(layout.arity, n).iter().copied())));
            }
        }
        let (table, founded) = (Index::of(hashes.into_iter()), vec![false; places.len()]);
        let indexes = vec![None; checker.masks.len()];
        let (regs, support, pending, rests) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { checker, model, terms, first, places, table, indexes, founded, regs, support, pending, rests, steps: 0 }
    }

    fn run<'r>(mut self, rules: impl Iterator<Item = &'r Rule>) -> Verdict {
        for rule in rules {
            let rows = |r: &RelId| self.model.rows.get(*r as usize).map_or(0, |r| r.len()) + self.model.fixed.get(*r as usize).map_or(0, |r| r.len());
            if rule.needs.iter().any(|r| rows(r) == 0) {
                continue;
            }
            self.regs.clear();
            self.regs.resize(rule.slots, 0);
            self.support.clear();
            if let Err(verdict) = self.go(&rule.steps, &mut |pass| pass.instance(rule)) {
                return verdict;
            }
        }
        loop {
            let (mut grew, mut from) = (false, 0);
            for (head, to) in &self.pending {
                let rests = self.rests.get(from..*to).unwrap_or(&[]);
                from = *to;
                let is = |n: &u32| self.founded.get(*n as usize).copied().unwrap_or(false);
                if !is(head) && rests.iter().all(is) {
                    self.founded.get_mut(*head as usize).into_iter().for_each(|f| *f = true);
                    grew = true;
                }
            }
            if !grew {
                break;
            }
        }
        match self.founded.iter().zip(&self.places).find(|(f, _)| !**f) {
            Some((_, (r, n))) => {
                let arity = self.arity(*r);
                let row = self.model.rows.get(*r as usize).map_or(&[][..], |rows| rows.row(arity, *n));
                Verdict::Differs(format!("nothing founds `{}`", self.atom(*r, row)))
            }
            None => Verdict::Holds,
        }
    }

    /// One instance of a rule whose body holds.
    fn instance(&mut self, rule: &Rule) -> Flow {
        let Some((relation, args)) = &rule.head else {
            return Err(Verdict::Differs(format!("the constraint of {} is broken", rule.origin)));
        };
        let mut row = [0; WIDE];
        for (slot, a) in row.iter_mut().zip(args) {
            let Some(v) = self.calc(a) else { return Ok(false) };
            *slot = v;
        }
        let row = row.get(..args.len()).unwrap_or(&[]);
        let ground = args.iter().all(|a| matches!(a, Calc::Id(_)));
        let Some(head) = self.find(*relation, row) else {
            if self.is_fixed(*relation, row, rule.index) {
                return Ok(ground);
            }
            return Err(Verdict::Differs(format!("the evaluator lacks `{}`, which {} derives", self.atom(*relation, row), rule.origin)));
        };
        let is = |n: &u32| self.founded.get(*n as usize).copied().unwrap_or(false);
        if !is(&head) {
            if self.support.iter().all(is) {
                self.founded.get_mut(head as usize).into_iter().for_each(|f| *f = true);
            } else {
                self.rests.extend_from_slice(&self.support);
                self.pending.push((head, self.rests.len()));
                return Ok(false);
            }
        }
        // Other instances with the same head have nothing to add.
        Ok(ground)
    }

    fn atom(&self, relation: RelId, row: &[Id]) -> String {
        let atom = self.checker.names.get(&relation).and_then(|n| self.terms.atom(n, row));
        atom.map_or_else(|| "an atom without a text".to_owned(), |a| a.to_string())
    }

    fn arity(&self, r: RelId) -> usize {
        self.model.layouts.layouts.get(r as usize).map_or(0, |l| l.arity)
    }

    /// The number of a row in question.
    fn find(&self, relation: RelId, row: &[Id]) -> Option<u32> {
        let rows = self.model.rows.get(relation as usize).filter(|r| !r.is_empty())?;
        let mut at = self.table.first(hash(relation, row.iter().copied()));
        while at != NONE {
            if let Some((r, n)) = self.places.get(at as usize)
                && *r == relation
                && rows.row(row.len(), *n) == row
            {
                return Some(at);
            }
            at = self.table.next(at);
        }
        None
    }

    fn is_fixed(&self, relation: RelId, row: &[Id], number: usize) -> bool {
        let Some(rows) = self.model.fixed.get(relation as usize).filter(|r| !r.is_empty()) else { return false };
        let mask = self.checker.masks.get(number).map_or(0, |m| m.1);
        let Some(index) = self.model.seen.index(number, rows, row.len(), mask) else { return false };
        let mut at = index.first(hash(0, row.iter().copied()));
        while at != NONE && rows.row(row.len(), at) != row {
            at = index.next(at);
        }
        at != NONE
    }

    fn go(&mut self, steps: &[Step], done: &mut dyn FnMut(&mut Self) -> Flow) -> Flow {
        let Some((step, rest)) = steps.split_first() else { return done(self) };
        let goes_on = match step {
            Step::Each(place) => return self.rows(place, &mut |pass| pass.go(rest, done)),
            Step::Range(m, low, high) => {
                let bounds = self.calc(low).and_then(|l| self.terms.int(l)).zip(self.calc(high).and_then(|h| self.terms.int(h)));
                let Some((low, high)) = bounds else { return Ok(false) };
                for n in low..=high {
                    self.count()?;
                    let v = self.terms.of_int(n);
                    if self.matches(m, v) && self.go(rest, done)? {
                        return Ok(true);
                    }
                }
                return Ok(false);
            }
            Step::Some(place, wanted) => {
                let mut some = false;
                let defined = place.key.iter().all(|(_, c)| self.calc(c).is_some());
                self.rows(place, &mut |_| {
                    some = true;
                    Ok(true)
                })?;
                defined && some == *wanted
            }
            Step::Compare(left, others, wanted) => self.compare(left, others) == Some(*wanted),
            Step::Let(m, value) => self.calc(value).is_some_and(|v| self.matches(m, v)),
            Step::ForAll(condition, then) => {
                let mut all = true;
                self.go(condition, &mut |pass| {
                    all = pass.go(then, &mut |_| Ok(true))?;
                    Ok(!all)
                })?;
                all
            }
            Step::Fold { fold, elements, assign, guards, wanted } => {
                let value = self.fold(*fold, elements)?;
                let mut holds = assign.as_ref().is_none_or(|m| self.matches(m, value));
                for (rel, e) in guards {
                    let Some(v) = self.calc(e) else { return Ok(false) };
                    holds &= rel.holds(self.order(value, v));
                }
                holds == *wanted
            }
            Step::Never => false,
        };
        if goes_on { self.go(rest, done) } else { Ok(false) }
    }

    fn count(&mut self) -> Result<(), Verdict> {
        self.steps += 1;
        if self.steps > self.model.max_steps { Err(Verdict::GaveUp) } else { Ok(()) }
    }

    /// Calls `each` for each row of a place, static ones first.
    fn rows(&mut self, place: &Place, each: &mut dyn FnMut(&mut Self) -> Flow) -> Flow {
        let mut key = [0; WIDE];
        for (slot, (_, c)) in key.iter_mut().zip(&place.key) {
            let Some(v) = self.calc(c) else { return Ok(false) };
            *slot = v;
        }
        let (r, arity, model) = (place.relation as usize, self.arity(place.relation), self.model);
        let hashed = || hash(0, key.iter().copied().take(place.key.len()));
        let mask = self.checker.masks.get(place.index).map_or(0, |m| m.1);
        if let Some(rows) = model.fixed.get(r).filter(|r| !r.is_empty()) {
            let index = if place.key.is_empty() || rows.len() < FEW { None } else { model.seen.index(place.index, rows, arity, mask) };
            if self.chain(rows, arity, index, hashed(), place, &key, None, each)? {
                return Ok(true);
            }
        }
        let Some(rows) = model.rows.get(r).filter(|r| !r.is_empty()) else { return Ok(false) };
        let own = if place.key.is_empty() || rows.len() < FEW {
            None
        } else {
            self.indexes.get_mut(place.index).map(|i| i.get_or_insert_with(|| Rc::new(index(rows, arity, mask))).clone())
        };
        let first = self.first.get(r).copied();
        self.chain(rows, arity, own.as_deref(), hashed(), place, &key, first, each)
    }

    fn chain(
        &mut self,
        rows: &Relation,
        arity: usize,
        index: Option<&Index>,
        hashed: u64,
        place: &Place,
        key: &[Id; WIDE],
        first: Option<u32>,
        each: &mut dyn FnMut(&mut Self) -> Flow,
    ) -> Flow {
        let mut at = index.map_or(0, |i| i.first(hashed));
        while at < rows.len() {
            self.count()?;
            let row = rows.row(arity, at);
            let fits = place.key.iter().zip(key).all(|((c, _), v)| row.get(*c) == Some(v));
            if fits && place.rest.iter().all(|(c, m)| row.get(*c).is_some_and(|v| self.matches(m, *v))) {
                self.support.extend(first.map(|f| f + at));
                let stop = each(self)?;
                if first.is_some() {
                    self.support.pop();
                }
                if stop {
                    return Ok(true);
                }
            }
            at = index.map_or(at + 1, |i| i.next(at));
        }
        Ok(false)
    }

    fn matches(&mut self, m: &Match, v: Id) -> bool {
        match m {
            Match::Any => true,
            Match::Bind(slot) => {
                self.regs.get_mut(*slot).into_iter().for_each(|r| *r = v);
                true
            }
            Match::Is(c) => self.calc(c) == Some(v),
            Match::Fun(name, parts) => {
                let mut args = [0; WIDE];
                match self.terms.fun(v) {
                    Some((n, found)) if n == *name && found.len() == parts.len() && found.len() <= WIDE => {
                        args.iter_mut().zip(found).for_each(|(slot, a)| *slot = *a);
                    }
                    _ => return false,
                }
                parts.iter().zip(args).all(|(m, a)| self.matches(m, a))
            }
        }
    }

    /// A term's value; `None` where clingo calls the operation undefined. Numbers wrap at 32 bits as clingo's do.
    fn calc(&mut self, c: &Calc) -> Option<Id> {
        let number = match c {
            Calc::Slot(s) => return self.regs.get(*s).copied(),
            Calc::Id(i) => return Some(*i),
            Calc::Fun(name, args) => {
                let ids = args.iter().map(|a| self.calc(a)).collect::<Option<Vec<Id>>>()?;
                return Some(self.terms.of_fun(*name, &ids));
            }
            Calc::Neg(a) => self.calc(a).and_then(|a| self.terms.int(a))?.wrapping_neg(),
            Calc::Abs(a) => self.calc(a).and_then(|a| self.terms.int(a))?.wrapping_abs(),
            Calc::Binary(op, a, b) => {
                let a = self.calc(a).and_then(|a| self.terms.int(a))?;
                let b = self.calc(b).and_then(|b| self.terms.int(b))?;
                match op {
                    Op::Add => a.wrapping_add(b),
                    Op::Sub => a.wrapping_sub(b),
                    Op::Mul => a.wrapping_mul(b),
                    Op::Div | Op::Mod if b == 0 => return None,
                    Op::Div => a.wrapping_div(b),
                    Op::Mod => a.wrapping_rem(b),
                    Op::Pow => match u32::try_from(b) {
                        Ok(e) => a.wrapping_pow(e),
                        Err(_) if a == 0 => return None,
                        Err(_) if a == 1 || a == -1 && b % 2 == 0 => 1,
                        Err(_) if a == -1 => -1,
                        Err(_) => 0,
                    },
                }
            }
        };
        Some(self.terms.of_int(number))
    }

    fn compare(&mut self, left: &Calc, others: &[(crate::reason::syntax::Rel, Calc)]) -> Option<bool> {
        let (mut from, mut all) = (self.calc(left)?, true);
        for (rel, to) in others {
            let to = self.calc(to)?;
            all &= rel.holds(self.order(from, to));
            from = to;
        }
        Some(all)
    }

    /// An aggregate's value over its tuples, each of which counts once.
    fn fold(&mut self, fold: Fold, elements: &[(Vec<Step>, Vec<Calc>)]) -> Result<Id, Verdict> {
        let mut tuples: Vec<Vec<Id>> = Vec::new();
        for (steps, terms) in elements {
            self.go(steps, &mut |pass| {
                tuples.extend(terms.iter().map(|t| pass.calc(t)).collect::<Option<Vec<_>>>());
                Ok(false)
            })?;
        }
        tuples.sort_unstable();
        tuples.dedup();
        let firsts = || tuples.iter().map(|t| t.first().copied().unwrap_or(0));
        let best = |wanted: Ordering| firsts().reduce(|a, b| if self.order(b, a) == wanted { b } else { a });
        let numbers = || firsts().map(|v| self.terms.int(v).map_or(0, i64::from));
        let total = match fold {
            Fold::Min => return Ok(best(Ordering::Less).unwrap_or_else(|| self.terms.of_sup())),
            Fold::Max => return Ok(best(Ordering::Greater).unwrap_or_else(|| self.terms.of_inf())),
            Fold::Count => i64::try_from(tuples.len()).unwrap_or(i64::MAX),
            Fold::Sum => numbers().sum(),
            Fold::SumPlus => numbers().map(|n| n.max(0)).sum(),
        };
        #[expect(clippy::cast_possible_truncation, reason = "sums wrap at 32 bits as clingo's do")]
        Ok(self.terms.of_int(total as i32))
    }

    /// clingo's order of terms: `#inf`, numbers, constants, strings, functions by arity, name and arguments, `#sup`.
    fn order(&self, a: Id, b: Id) -> Ordering {
        let kind = |x: Id| match self.terms.node(x) {
            Some(Node::Inf) => 0,
            None | Some(Node::Int(_)) => 1,
            Some(Node::Const(_)) => 2,
            Some(Node::Str(_)) => 3,
            Some(Node::Fun { .. }) => 4,
            Some(Node::Sup) => 5,
        };
        kind(a).cmp(&kind(b)).then_with(|| match (self.terms.node(a), self.terms.node(b)) {
            (Some(Node::Const(x) | Node::Str(x)), Some(Node::Const(y) | Node::Str(y))) => x.as_bytes().cmp(y.as_bytes()),
            (Some(Node::Fun { name: f, .. }), Some(Node::Fun { name: g, .. })) => {
                let (x, y) = (self.terms.fun(a).map_or(&[][..], |f| f.1), self.terms.fun(b).map_or(&[][..], |f| f.1));
                let arguments = || x.iter().zip(y).map(|(x, y)| self.order(*x, *y)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal);
                x.len().cmp(&y.len()).then_with(|| self.order(*f, *g)).then_with(arguments)
            }
            _ => self.terms.int(a).cmp(&self.terms.int(b)),
        })
    }
}
