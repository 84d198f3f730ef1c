//! The naive pass: every instance of every rule, once; what it founds, and what the model lacks.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::plan::{Part, Step};
use super::{Checker, Rule, Seen, hash};
use crate::reason::eval::layouts::Layouts;
use crate::reason::eval::store::{RelId, Relation};
use crate::reason::eval::terms::{Id, Node, Terms};
use crate::reason::order::order;
use crate::reason::syntax::Fold;
use crate::term::Atom;

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

/// Whether to stop before further instances; a verdict stops everything.
type Flow = Result<bool, Verdict>;

/// A row by its relation and number.
type Row = (RelId, u32);

struct Pass<'a> {
    checker: &'a Checker,
    model: &'a Model<'a>,
    terms: &'a mut Terms,
    /// Indexes of the rows in question.
    seen: &'a Seen,
    /// Whether each of them is founded, by relation.
    founded: Vec<Vec<bool>>,
    slots: Vec<Id>,
    /// The rows in question that the present instance rests on.
    support: Vec<Row>,
    /// The heads of instances that rest on what was not founded yet.
    pending: Vec<(Row, Vec<Row>)>,
    steps: u64,
}

impl Checker {
    /// Verifies a decision: the moving rules over the site's static rows, from the facts that were given.
    pub fn decision(&self, model: &Model<'_>, terms: &mut Terms, facts: &[Atom]) -> Verdict {
        let seen = self.seen(None, |_| false);
        let mut pass = Pass::new(self, model, &seen, terms);
        for f in facts {
            let row: Option<Vec<Id>> = f.args.iter().map(|t| pass.terms.find_term(t)).collect();
            let relation = model.layouts.ids.get(&(f.name.clone(), f.args.len()));
            match relation.zip(row).and_then(|(r, row)| pass.find(*r, &row)) {
                Some(found) => found.into_iter().for_each(|row| pass.found(row)),
                None => return Verdict::Differs(format!("the evaluator lacks the fact `{f}`")),
            }
        }
        pass.run(self.moving.iter()).err().unwrap_or(Verdict::Holds)
    }

    /// Verifies what follows from stored facts alone; `given` are the rows that are such facts. Relations that are `kept` were
    /// verified with all that they rest on, unless that is among what changed.
    pub fn statics(&self, model: &Model<'_>, terms: &mut Terms, given: impl Iterator<Item = Row>, kept: &[bool]) -> Verdict {
        let mut changed: BTreeSet<RelId> = (0..).zip(&model.rows).map(|(r, _)| r).filter(|r| kept.get(*r as usize) != Some(&true)).collect();
        let moved = |r: &&Rule, changed: &BTreeSet<RelId>| r.reads.iter().any(|b| changed.contains(b));
        let head = |r: &Rule| r.head.as_ref().map(|h| h.0);
        while let Some(r) = self.fixed.iter().filter(|r| moved(r, &changed)).filter_map(head).find(|h| !changed.contains(h)) {
            changed.insert(r);
        }
        let seen = self.seen(None, |_| false);
        let mut pass = Pass::new(self, model, &seen, terms);
        given.for_each(|row| pass.found(row));
        for (r, founded) in (0..).zip(&mut pass.founded) {
            founded.iter_mut().for_each(|f| *f |= !changed.contains(&r));
        }
        let rules = self.fixed.iter().filter(|r| moved(r, &changed) || head(r).is_none_or(|h| changed.contains(&h)));
        pass.run(rules).err().unwrap_or(Verdict::Holds)
    }
}

impl<'a> Pass<'a> {
    fn new(checker: &'a Checker, model: &'a Model<'a>, seen: &'a Seen, terms: &'a mut Terms) -> Self {
        // Opened views hold the rows of another relation once more.
        let founded = model.rows.iter().zip(&model.layouts.layouts).map(|(rows, l)| vec![l.opens.is_some(); rows.len() as usize]).collect();
        Self { checker, model, terms, seen, founded, slots: Vec::new(), support: Vec::new(), pending: Vec::new(), steps: 0 }
    }

    fn run<'r>(mut self, rules: impl Iterator<Item = &'r Rule>) -> Result<(), Verdict> {
        for rule in rules {
            let has_rows = |s: &Step| if let Step::Each { relation, .. } = s { self.layers(*relation).any(|l| !l.0.is_empty()) } else { true };
            if rule.steps.iter().all(has_rows) {
                // What stands in a slot is bound before it is looked at.
                self.slots.resize(rule.slots, 0);
                self.go(&rule.steps, &mut |pass| pass.instance(rule))?;
            }
        }
        let mut before = usize::MAX;
        while self.pending.len() < before {
            before = self.pending.len();
            for (head, rests) in std::mem::take(&mut self.pending) {
                if rests.iter().all(|r| self.is_founded(r)) { self.found(head) } else { self.pending.push((head, rests)) }
            }
        }
        for (r, rows) in (0..).zip(&self.model.rows) {
            if let Some(n) = (0..rows.len()).find(|n| !self.is_founded(&(r, *n))) {
                let arity = self.model.layouts.layouts.get(r as usize).map_or(0, |l| l.arity);
                return Err(Verdict::Differs(format!("nothing founds `{}`", self.atom(r, rows.row(arity, n)))));
            }
        }
        Ok(())
    }

    fn is_founded(&self, (relation, row): &Row) -> bool {
        self.founded.get(*relation as usize).and_then(|r| r.get(*row as usize)).is_some_and(|f| *f)
    }

    fn found(&mut self, (relation, row): Row) {
        self.founded.get_mut(relation as usize).and_then(|r| r.get_mut(row as usize)).into_iter().for_each(|f| *f = true);
    }

    /// One instance of a rule whose body holds.
    fn instance(&mut self, rule: &Rule) -> Flow {
        let Some((relation, args)) = &rule.head else {
            return Err(Verdict::Differs(format!("the constraint of {} is broken", rule.origin)));
        };
        let Some(row) = args.iter().map(|a| self.value(a)).collect::<Option<Vec<Id>>>() else { return Ok(false) };
        match self.find(*relation, &row) {
            None => return Err(Verdict::Differs(format!("the evaluator lacks `{}`, which {} derives", self.atom(*relation, &row), rule.origin))),
            Some(Some(head)) if !self.is_founded(&head) => {
                if !self.support.iter().all(|r| self.is_founded(r)) {
                    self.pending.push((head, self.support.clone()));
                    return Ok(false);
                }
                self.found(head);
            }
            Some(_) => {}
        }
        // Other instances with the same head have nothing to add.
        Ok(args.iter().all(|a| matches!(a, Part::Id(_))))
    }

    fn atom(&self, relation: RelId, row: &[Id]) -> String {
        let atom = self.model.layouts.names.get(relation as usize).and_then(|(name, _)| self.terms.atom(name, row));
        atom.map_or_else(|| "an atom without a text".to_owned(), |a| a.to_string())
    }

    /// The rows of a relation with their indexes: those in question (`true`), and static ones.
    fn layers(&self, relation: RelId) -> impl Iterator<Item = (&'a Relation, &'a Seen, bool)> + use<'a> {
        let (r, model) = (relation as usize, self.model);
        let moving = model.rows.get(r).map(|rows| (*rows, self.seen, true));
        moving.into_iter().chain(model.fixed.get(r).map(|rows| (&**rows, model.seen, false)))
    }

    /// Whether there is a row, and which if it is in question.
    fn find(&self, relation: RelId, row: &[Id]) -> Option<Option<Row>> {
        let lookup = self.checker.whole.get(relation as usize).copied().unwrap_or(usize::MAX);
        self.layers(relation).find_map(|(rows, seen, moving)| {
            let mut candidates = self.checker.candidates(seen, lookup, rows, row.len(), hash(row.iter().copied()));
            candidates.find(|n| rows.row(row.len(), *n) == row).map(|n| moving.then_some((relation, n)))
        })
    }

    /// Calls `done` for each way through some steps until it says stop.
    fn go(&mut self, steps: &[Step], done: &mut dyn FnMut(&mut Self) -> Flow) -> Flow {
        let Some((step, rest)) = steps.split_first() else { return done(self) };
        let holds = match step {
            Step::Each { relation, lookup, columns } => {
                let known = columns.iter().filter(|(known, _)| *known);
                let (arity, hashed) = (columns.len(), hash(known.filter_map(|(_, p)| self.value(p))));
                for (rows, seen, moving) in self.layers(*relation) {
                    for n in self.checker.candidates(seen, *lookup, rows, arity, hashed) {
                        self.count()?;
                        let row = rows.row(arity, n);
                        if columns.iter().zip(row).all(|((_, p), v)| self.matches(p, *v)) {
                            let before = self.support.len();
                            self.support.extend(moving.then_some((*relation, n)));
                            let stop = self.go(rest, done)?;
                            self.support.truncate(before);
                            if stop {
                                return Ok(true);
                            }
                        }
                    }
                }
                false
            }
            Step::Range(to, low, high) => {
                let (Some(low), Some(high)) = (self.number(low), self.number(high)) else { return Ok(false) };
                for n in low..=high {
                    self.count()?;
                    let v = self.terms.of_int(n);
                    if self.matches(to, v) && self.go(rest, done)? {
                        return Ok(true);
                    }
                }
                false
            }
            Step::Not(steps) => !self.go(steps, &mut |_| Ok(true))?,
            Step::Compare(left, rel, right) => self.value(left).zip(self.value(right)).is_some_and(|(a, b)| rel.holds(self.order(a, b))),
            Step::Let(to, from) => self.value(from).is_some_and(|v| self.matches(to, v)),
            Step::Fold(to, fold, elements) => {
                let value = self.fold(*fold, elements)?;
                self.matches(to, value)
            }
        };
        if holds { self.go(rest, done) } else { Ok(false) }
    }

    fn count(&mut self) -> Result<(), Verdict> {
        self.steps += 1;
        if self.steps > self.model.max_steps { Err(Verdict::GaveUp) } else { Ok(()) }
    }

    fn matches(&mut self, p: &Part, v: Id) -> bool {
        match p {
            Part::Any => true,
            Part::Bind(slot) => self.slots.get_mut(*slot).map(|s| *s = v).is_some(),
            Part::Fun(name, parts) => {
                let argument = |pass: &Self, n| pass.terms.fun(v).and_then(|(_, args)| args.get(n).copied());
                let fits = self.terms.fun(v).is_some_and(|(n, args)| n == *name && args.len() == parts.len());
                fits && parts.iter().enumerate().all(|(n, p)| argument(self, n).is_some_and(|a| self.matches(p, a)))
            }
            known => self.value(known) == Some(v),
        }
    }

    /// A term's value; `None` where clingo calls the operation undefined, or where a number does not fit 32 bits: of that there is no decision.
    fn value(&mut self, p: &Part) -> Option<Id> {
        let number = match p {
            Part::Slot(s) => return self.slots.get(*s).copied(),
            Part::Id(i) => return Some(*i),
            Part::Any | Part::Bind(_) => return None,
            Part::Fun(name, args) => {
                let ids = args.iter().map(|a| self.value(a)).collect::<Option<Vec<Id>>>()?;
                return Some(self.terms.of_fun(*name, &ids));
            }
            Part::Abs(a) => self.number(a)?.checked_abs()?,
            Part::Binary(op, a, b) => op.of(self.number(a)?, self.number(b)?)?,
        };
        Some(self.terms.of_int(number))
    }

    fn number(&mut self, p: &Part) -> Option<i32> {
        self.value(p).and_then(|v| self.terms.int(v))
    }

    /// An aggregate's value over its tuples, each of which counts once.
    fn fold(&mut self, fold: Fold, elements: &[(Vec<Step>, Vec<Part>)]) -> Result<Id, Verdict> {
        let mut tuples: BTreeSet<Vec<Id>> = BTreeSet::new();
        for (steps, terms) in elements {
            self.go(steps, &mut |pass| {
                tuples.extend(terms.iter().map(|t| pass.value(t)).collect::<Option<Vec<_>>>());
                Ok(false)
            })?;
        }
        let firsts = || tuples.iter().map(|t| t.first().copied().unwrap_or(0));
        let numbers = || firsts().map(|v| self.terms.int(v).map_or(0, i64::from));
        let total = match fold {
            Fold::Min => return Ok(firsts().min_by(|a, b| self.order(*a, *b)).unwrap_or_else(|| self.terms.of_sup())),
            Fold::Max => return Ok(firsts().max_by(|a, b| self.order(*a, *b)).unwrap_or_else(|| self.terms.of_inf())),
            Fold::Count => i64::try_from(tuples.len()).unwrap_or(i64::MAX),
            Fold::Sum => numbers().sum(),
            Fold::SumPlus => numbers().map(|n| n.max(0)).sum(),
        };
        // Of larger sums there is no decision.
        i32::try_from(total).map(|n| self.terms.of_int(n)).map_err(|_| Verdict::GaveUp)
    }

    /// clingo's order of terms, with `#inf` before all of them and `#sup` behind.
    fn order(&self, a: Id, b: Id) -> Ordering {
        if let (Some(x), Some(y)) = (self.terms.int(a), self.terms.int(b)) {
            return x.cmp(&y);
        }
        let end = |x: Id| self.terms.node(x).map_or(0, |n| i8::from(*n == Node::Sup) - i8::from(*n == Node::Inf));
        let terms = || self.terms.term(a).zip(self.terms.term(b)).map_or(Ordering::Equal, |(a, b)| order(&a, &b));
        end(a).cmp(&end(b)).then_with(terms)
    }
}
