//! One decision: stored facts, session and turn in; shown atoms and their derivations out.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Duration;

use super::ReasonError;
use super::base::{Base, LIMITS, gave_up, insert_fact};
use super::certify::{Model, Seen, Verdict};
use super::clingo::SolveError;
use super::eval::store::{FACT, RelId, Relation};
use super::eval::terms::{Id, Terms};
use super::eval::{Evaluation, FALSE, Limits};
use super::outcome::Outcome;
use super::proof::why_not;
use super::rules::{Rules, Workspace};
use super::slice::reproducer::write;
use super::slice::{self, Slice};
use super::syntax::Predicate;
use crate::term::Atom;

/// Which engines decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reasoner {
    /// The evaluator decides, and the checker must accept it before anything is committed; clingo audits afterwards.
    #[default]
    Confirm,
    /// The evaluator decides, and clingo must agree before anything is committed.
    Clingo,
    /// The evaluator alone.
    Fast,
}

/// What one decision may cost; each limit is exceeded by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Facts of session and turn.
    pub max_input_facts: usize,
    /// Atoms derived.
    pub max_atoms: usize,
    /// Rows tried.
    pub max_steps: u64,
    /// clingo's time.
    pub solve: Duration,
}

impl Default for Budget {
    fn default() -> Self {
        Self { max_input_facts: 10_000, max_atoms: 200_000, max_steps: 20_000_000, solve: Duration::from_secs(2) }
    }
}

/// Decides on the facts of session and turn.
pub fn decide(base: &Base, facts: &[Atom], how: Reasoner, budget: &Budget) -> Result<Outcome, ReasonError> {
    let facts = &*super::reflect::reflect(base.rules(), facts);
    // In order, so that the same facts give the same bytes, proofs too, however they arrive.
    let ordered: Vec<Atom>;
    let facts = if facts.is_sorted() {
        facts
    } else {
        let mut copy = facts.to_vec();
        copy.sort();
        ordered = copy;
        &ordered
    };
    let mut outcome = evaluate(base, facts, budget)?;
    let search = !base.rules().left.is_empty();
    if how == Reasoner::Fast && !search || how == Reasoner::Confirm && certified(&mut outcome, facts, budget)? {
        return Ok(outcome);
    }
    let model = agreed(base, facts, &outcome.shown, budget)?;
    if search {
        outcome.shown.extend(model);
        outcome.shown.sort();
        outcome.shown.dedup();
    }
    Ok(outcome)
}

/// Whether the checker accepts a decision and what it rests on; not, if it cannot tell.
pub(super) fn certified(outcome: &mut Outcome, facts: &[Atom], budget: &Budget) -> Result<bool, ReasonError> {
    let base = outcome.base.clone();
    let Ok(checker) = &base.rules().checker else { return Ok(false) };
    if let Some(Err(e)) = base.verdict() {
        return Err(e.clone());
    }
    base.certified()?;
    let inner = &base.inner;
    let rows = outcome.above.iter().collect();
    // Its searches are plainer than the evaluator's, but not by more than this.
    let model = Model { fixed: &inner.relations, seen: &inner.seen, rows, layouts: &inner.rules.program.layouts, max_steps: budget.max_steps / 10 };
    match checker.decision(&model, &mut outcome.terms, facts) {
        Verdict::Holds => Ok(true),
        Verdict::GaveUp => Ok(false),
        Verdict::Differs(difference) => {
            let reproducer = write(base.rules(), &slice::of_decision(&base, facts), &difference);
            Err(ReasonError::Disagreement { difference, reproducer })
        }
    }
}

/// What follows from the stored facts alone, looked at once.
impl Base {
    /// Whether the checker accepts all that follows from the stored facts alone; it looks once, and clingo where it cannot.
    pub(super) fn certified(&self) -> Result<(), ReasonError> {
        let inner = &self.inner;
        let check = || {
            let Ok(checker) = &inner.rules.checker else { return self.confirmed() };
            let layouts = &inner.rules.program.layouts;
            let rows = inner.relations.iter().map(|r| &**r).collect();
            let model = Model { fixed: &[], seen: &Seen::default(), rows, layouts, max_steps: LIMITS.steps };
            let given =
                inner.relations.iter().zip(0..).flat_map(|(rows, r)| (0..).zip(&rows.derived).filter(|(_, d)| d.rule == FACT).map(move |(n, _)| (r, n)));
            match checker.statics(&model, &mut Terms::over(&inner.terms), given, &inner.kept) {
                Verdict::Holds => Ok(()),
                Verdict::Differs(difference) => Err(self.disagreement(difference)),
                Verdict::GaveUp => self.confirmed(),
            }
        };
        inner.certified.get_or_init(check).clone()
    }

    /// Whether clingo derives the same from the stored facts alone; it is asked once, which takes as long as grounding them all.
    pub(super) fn confirmed(&self) -> Result<(), ReasonError> {
        let ask = || {
            let clingo = one_model(&slice::of_facts(self), None)?;
            let ids = &self.inner.rules.program.layouts.ids;
            let mut held: Vec<Atom> = ids.keys().filter(|p| &*p.0 != FALSE).flat_map(|p| self.query(&p.0, p.1)).collect();
            held.sort_unstable();
            match difference(&held, &clingo) {
                Some(difference) => Err(self.disagreement(difference)),
                None => Ok(()),
            }
        };
        self.inner.confirmed.get_or_init(ask).clone()
    }

    /// What clingo said of the stored facts' consequences, if it was asked.
    pub(super) fn verdict(&self) -> Option<&Result<(), ReasonError>> {
        self.inner.confirmed.get()
    }

    fn disagreement(&self, difference: String) -> ReasonError {
        let reproducer = write(&self.inner.rules, &slice::of_facts(self), &difference);
        ReasonError::Disagreement { difference, reproducer }
    }
}

/// What clingo shows for a decision, if it agrees with what the evaluator shows and with what both rest on.
fn agreed(base: &Base, facts: &[Atom], shown: &[Atom], budget: &Budget) -> Result<Vec<Atom>, ReasonError> {
    base.confirmed()?;
    let rules = base.rules();
    let slice = slice::of_decision(base, facts);
    let model = by_clingo(base, &slice, budget)?;
    let both = |a: &&Atom| !rules.analysis.left_predicates.contains(&(a.name.clone(), a.args.len()));
    let of_both = |atoms: &[Atom]| atoms.iter().filter(both).cloned().collect::<Vec<_>>();
    let same = if rules.left.is_empty() { difference(shown, &model) } else { difference(&of_both(shown), &of_both(&model)) };
    match same {
        None => Ok(model),
        Some(difference) => Err(ReasonError::Disagreement { reproducer: write(rules, &slice, &difference), difference }),
    }
}

/// What clingo shows for a slice, with the static atoms that are shown in every turn.
pub(super) fn by_clingo(base: &Base, slice: &Slice, budget: &Budget) -> Result<Vec<Atom>, ReasonError> {
    let mut model = one_model(slice, (!base.rules().left.is_empty()).then_some(budget.solve))?;
    model.extend(base.shown().iter().cloned());
    model.sort();
    model.dedup();
    Ok(model)
}

/// Asks clingo afterwards whether it agrees with what was shown of a decision.
pub fn audit(base: &Base, facts: &[Atom], shown: &[Atom], budget: &Budget) -> Result<(), ReasonError> {
    agreed(base, &super::reflect::reflect(base.rules(), facts), shown, budget).map(drop)
}

/// How many arguments an atom has that is written with `_` for anything.
pub fn arity_of(pattern: &str) -> Option<usize> {
    why_not::read(pattern).ok().map(|p| p.args.len())
}

/// The program that clingo gets to confirm a decision: also what a reproducer holds.
pub fn slice(base: &Base, facts: &[Atom]) -> Slice {
    slice::of_decision(base, &super::reflect::reflect(base.rules(), facts))
}

pub(super) fn one_model(slice: &Slice, limit: Option<Duration>) -> Result<Vec<Atom>, ReasonError> {
    let solved = super::clingo::solve(&slice.rules, &slice.facts, 2, limit).map_err(|e| match e {
        SolveError::Timeout(t) => ReasonError::OverBudget { what: "milliseconds of solving", limit: u64::try_from(t.as_millis()).unwrap_or(u64::MAX) },
        SolveError::Unrepresentable => ReasonError::Unrepresentable("a shown atom".into()),
        SolveError::Failed(text) => ReasonError::Clingo(text),
    })?;
    let mut models = solved.models.into_iter();
    match (models.next(), models.next()) {
        (None, _) => Err(ReasonError::NoModel),
        (Some(one), None) => Ok(one),
        (Some(a), Some(b)) => {
            let only = a.iter().find(|x| !b.contains(x)).or_else(|| b.iter().find(|x| !a.contains(x)));
            Err(ReasonError::TwoModels { only: only.map_or_else(|| "something not shown".to_owned(), Atom::to_string) })
        }
    }
}

/// What one of two sorted lists of atoms has and the other lacks, in words.
pub(super) fn difference(evaluator: &[Atom], clingo: &[Atom]) -> Option<String> {
    let only = |a: &[Atom], b: &[Atom]| a.iter().find(|x| b.binary_search(x).is_err()).cloned();
    let one = only(evaluator, clingo).map(|a| format!("only the evaluator derives `{a}`"));
    one.or_else(|| only(clingo, evaluator).map(|a| format!("only clingo derives `{a}`")))
}

fn evaluate(base: &Base, facts: &[Atom], budget: &Budget) -> Result<Outcome, ReasonError> {
    if facts.len() > budget.max_input_facts {
        return Err(ReasonError::OverBudget { what: "facts of session and turn", limit: budget.max_input_facts as u64 });
    }
    let rules = base.rules();
    let program = &rules.program;
    let below = &base.inner.relations;
    let Workspace { mut above, mut terms, mut scratch } = rules.workspace();
    terms.reset(&base.inner.terms);
    (scratch.rows, scratch.steps) = (0, 0);
    let mut seen: BTreeMap<(&str, usize), u32> = BTreeMap::new();
    for a in facts {
        let key = (&*a.name, a.args.len());
        let relation = match seen.get(&key) {
            Some(r) => *r,
            None => {
                let p = (a.name.clone(), a.args.len());
                let r =
                    program.layouts.ids.get(&p).copied().filter(|_| rules.moving.contains(&p)).ok_or_else(|| ReasonError::UnknownPredicate(a.signature()))?;
                seen.insert(key, r);
                r
            }
        };
        insert_fact(rules, &mut terms, below, &mut above, relation, a);
    }
    let limits = Limits { rows: budget.max_atoms, steps: budget.max_steps };
    let mut e = Evaluation { program, below, fixed: &base.inner.counts, above: &mut above, terms: &mut terms, scratch: &mut scratch, limits };
    e.run(&program.moving, &|_| true).map_err(|g| gave_up(rules, g, limits))?;
    if let Some(d) = program.layouts.ids.get(&(FALSE.into(), 0)).and_then(|r| above.get(*r as usize)).and_then(|r| r.derived.first()) {
        return Err(ReasonError::Inconsistent(rules.name_of(d.rule)));
    }
    let shown = shown(rules, &terms, &above, base.shown())?;
    Ok(Outcome { base: base.clone(), above, terms, scratch, facts: OnceLock::new(), shown })
}

/// The shown atoms, sorted: first by their numbers, which is faster than by their texts.
fn shown(rules: &Rules, terms: &Terms, above: &[Relation], fixed: &[Atom]) -> Result<Vec<Atom>, ReasonError> {
    let rows = |r: &RelId| above.get(*r as usize).map_or(0, Relation::len);
    let mut out: Vec<Atom> = Vec::with_capacity(fixed.len() + rules.shown.iter().map(|(r, _)| rows(r) as usize).sum::<usize>());
    let mut group: Vec<(&[Id], &Predicate)> = Vec::new();
    // Relations are in the order of their names, so one name after the other.
    let mut shown = rules.shown.iter().peekable();
    while let Some((r, p)) = shown.next() {
        if let Some(relation) = above.get(*r as usize) {
            group.extend((0..relation.len()).map(|n| (relation.row(p.1, n), p)));
        }
        if shown.peek().is_some_and(|(_, next)| next.0 == p.0) {
            continue;
        }
        group.sort_by(|a, b| terms.plain_rows(a.0, b.0));
        for (row, p) in group.drain(..) {
            out.push(terms.atom(&p.0, row).ok_or_else(|| ReasonError::Unrepresentable(format!("{}/{}", p.0, p.1)))?);
        }
    }
    if !fixed.is_empty() {
        out.extend_from_slice(fixed);
        out.sort();
    }
    Ok(out)
}
