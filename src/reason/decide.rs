//! One decision: stored facts, session and turn in; shown atoms and their derivations out.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::ReasonError;
use super::base::{Base, gave_up, insert_fact};
use super::clingo::SolveError;
use super::eval::run::Touched;
use super::eval::store::{FACT, RelId, Relation};
use super::eval::terms::{Id, Terms};
use super::eval::{Evaluation, FALSE, Limits, Scratch};
use super::proof::{Builder, Proof, WhyNot, why_not};
use super::rules::{Rules, Workspace};
use super::slice::{self, Slice};
use super::syntax::Predicate;
use crate::term::Atom;

/// Which engines decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reasoner {
    /// The evaluator decides, clingo must agree.
    #[default]
    Confirm,
    /// clingo alone.
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

/// A decision with everything needed to explain it.
#[derive(Debug)]
pub struct Outcome {
    pub(super) base: Base,
    pub(super) above: Vec<Relation>,
    pub(super) terms: Terms,
    facts: OnceLock<Vec<Atom>>,
    scratch: Scratch,
    shown: Vec<Atom>,
}

impl Drop for Outcome {
    fn drop(&mut self) {
        let (above, terms, scratch) = (std::mem::take(&mut self.above), std::mem::take(&mut self.terms), std::mem::take(&mut self.scratch));
        self.base.rules().give_back(Workspace { above, terms, scratch });
    }
}

impl Outcome {
    /// All shown atoms, sorted.
    pub fn shown(&self) -> &[Atom] {
        &self.shown
    }

    /// The site's facts and rules it was decided on.
    pub fn base(&self) -> &Base {
        &self.base
    }

    /// The facts of session and turn it was decided on.
    pub fn facts(&self) -> &[Atom] {
        self.facts.get_or_init(|| {
            let layouts = &self.base.rules().program.layouts;
            let mut out = Vec::new();
            for ((relation, layout), name) in self.above.iter().zip(&layouts.layouts).zip(&layouts.names).filter(|((_, l), _)| l.opens.is_none()) {
                let told = (0..).zip(&relation.derived).filter(|(_, d)| d.rule == FACT);
                out.extend(told.filter_map(|(n, _)| self.terms.atom(&name.0, relation.row(layout.arity, n))));
            }
            out.sort();
            out
        })
    }

    /// Why an atom was derived; `None` if it was not.
    pub fn why(&self, atom: &Atom) -> Option<Proof> {
        Builder::new(self).why(atom).map(|p| (*p).clone())
    }

    /// Why an atom was not derived.
    pub fn why_not(&self, atom: &Atom) -> WhyNot {
        why_not::why_not(self, &why_not::pattern(atom))
    }

    /// Why nothing of this form was derived: an atom in which `_` stands for anything.
    pub fn why_none(&self, pattern: &str) -> Result<WhyNot, String> {
        Ok(why_not::why_not(self, &why_not::read(pattern)?))
    }

    /// Proofs of all shown atoms; shared parts are built once.
    pub fn why_all(&self) -> Vec<Arc<Proof>> {
        let mut b = Builder::new(self);
        self.shown.iter().filter_map(|a| b.why(a)).collect()
    }

    /// Bytes held, roughly.
    pub fn bytes(&self) -> usize {
        self.above.iter().map(Relation::bytes).sum::<usize>() + self.terms.own() * 64
    }
}

/// Decides on the facts of session and turn.
pub fn decide(base: &Base, facts: &[Atom], how: Reasoner, budget: &Budget) -> Result<Outcome, ReasonError> {
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
    let ask = how != Reasoner::Fast || !base.rules().left.is_empty();
    let mut touched = ask.then(Touched::new);
    let mut outcome = evaluate(base, facts, budget, touched.as_mut())?;
    let Some(touched) = touched else { return Ok(outcome) };
    let slice = slice::of_decision(&outcome, &touched);
    let search = !base.rules().left.is_empty();
    let model = one_model(&slice, search.then_some(budget.solve))?;
    if how != Reasoner::Clingo {
        compare(&outcome, &model, &slice)?;
    }
    let fixed = base.shown();
    outcome.shown = if how == Reasoner::Clingo { Vec::new() } else { std::mem::take(&mut outcome.shown) };
    outcome.shown.extend(fixed.iter().cloned());
    outcome.shown.extend(model);
    outcome.shown.sort();
    outcome.shown.dedup();
    Ok(outcome)
}

/// How many arguments an atom has that is written with `_` for anything.
pub fn arity_of(pattern: &str) -> Option<usize> {
    why_not::read(pattern).ok().map(|p| p.args.len())
}

/// The program that clingo gets to confirm a decision: also what a reproducer holds.
pub fn slice(base: &Base, facts: &[Atom], budget: &Budget) -> Result<Slice, ReasonError> {
    let mut touched = Touched::new();
    let outcome = evaluate(base, facts, budget, Some(&mut touched))?;
    Ok(slice::of_decision(&outcome, &touched))
}

fn one_model(slice: &Slice, limit: Option<Duration>) -> Result<Vec<Atom>, ReasonError> {
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

/// Both engines must have derived the same atoms of the predicates that both decide.
fn compare(outcome: &Outcome, model: &[Atom], slice: &Slice) -> Result<(), ReasonError> {
    let rules = outcome.base.rules();
    let fixed = outcome.base.shown();
    let both = |a: &Atom| !rules.analysis.left_predicates.contains(&(a.name.clone(), a.args.len()));
    let missing = outcome.shown.iter().find(|a| both(a) && model.binary_search(a).is_err() && fixed.binary_search(a).is_err());
    let extra = model.iter().find(|a| both(a) && outcome.shown.binary_search(a).is_err());
    let difference = match (missing, extra) {
        (None, None) => return Ok(()),
        (Some(a), _) => format!("only the evaluator derives `{a}`"),
        (None, Some(a)) => format!("only clingo derives `{a}`"),
    };
    Err(ReasonError::Disagreement { reproducer: super::reproduce::write(rules, slice, &difference), difference })
}

fn evaluate(base: &Base, facts: &[Atom], budget: &Budget, touched: Option<&mut Touched>) -> Result<Outcome, ReasonError> {
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
    let mut e = Evaluation { program, below, fixed: &base.inner.counts, above: &mut above, terms: &mut terms, scratch: &mut scratch, limits, touched };
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
