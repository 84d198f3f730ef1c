//! An independent check of proofs: each step must be an instance of the author's rule that is true in the whole model.
//!
//! Nothing here is shared with the evaluator or with the code that builds proofs: the model is clingo's, of the whole program with
//! all stored facts; terms are compared as terms, rules are read from their syntax trees, and bindings are searched for.

use std::collections::{BTreeMap, BTreeSet};

use super::search::{Bindings, Goal, Model, Search};
use super::{Because, By, Proof, RuleRef};
use crate::diag::Source;
use crate::reason::clingo;
use crate::reason::outcome::Outcome;
use crate::reason::syntax::{Head, Item, Kind, Literal, Sign, Statement, globals, parse};
use crate::reason::{ReasonError, slice};
use crate::term::{Atom, Name, Term};

/// Why a proof is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// The atom rests on itself.
    #[error("`{0}` is proved by itself")]
    Circle(Atom),
    /// The atom is not in the model.
    #[error("`{0}` is proved but does not hold")]
    NotInModel(Atom),
    /// It is called a fact but nobody stored, said or wrote it.
    #[error("`{0}` is called a fact, but nobody stored, said or wrote it")]
    NotTold(Atom),
    /// It is called chosen, but no rule leaves it to the solver.
    #[error("`{0}` is called chosen by the solver, but no rule leaves it to the solver")]
    NotChosen(Atom),
    /// The rule that is named is not the author's.
    #[error("`{atom}` rests on {place}, which is no such rule")]
    NoRule {
        /// The atom.
        atom: Atom,
        /// The file and line given.
        place: String,
    },
    /// A condition of the rule has no part in the proof, or another one.
    #[error("`{atom}` by {place}: the proof does not go through the condition `{condition}`")]
    Missing {
        /// The atom.
        atom: Atom,
        /// The rule.
        place: String,
        /// Its condition.
        condition: String,
    },
    /// No binding of the rule's variables gives the atom from the steps before it.
    #[error("`{atom}` is no instance of {place} over what it is said to rest on")]
    NoInstance {
        /// The atom.
        atom: Atom,
        /// The rule.
        place: String,
    },
    /// A comparison that is shown is not true.
    #[error("`{0}` is shown as a reason but is not true")]
    Untrue(String),
    /// Something shown has no proof.
    #[error("`{0}` is shown without a proof")]
    NoProof(Atom),
    /// The decision is not what the whole program derives.
    #[error("the whole program differs from the decision: {0}")]
    OtherModel(String),
}

/// What was checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Shown atoms, each with its proof.
    pub proofs: usize,
    /// Different steps of all proofs.
    pub steps: usize,
}

/// Everything that the whole program derives from all stored facts and those of the decision, by clingo.
pub fn model(outcome: &Outcome) -> Result<Vec<Atom>, ReasonError> {
    let whole = slice::whole(outcome.base(), outcome.facts());
    let rules: String = whole.rules.lines().filter(|l| !l.trim_start().starts_with("#show")).map(|l| format!("{l}\n")).collect();
    let text = slice::Slice { rules, facts: whole.facts }.text();
    let solved = clingo::solve(&text, &[], 1, None).map_err(|e| ReasonError::Clingo(e.to_string()))?;
    solved.models.into_iter().next().ok_or(ReasonError::NoModel)
}

/// Checks a decision: the whole program derives what is shown and nothing else, and every shown atom has a proof without a flaw.
pub fn decision(outcome: &Outcome) -> Result<Result<Checked, Flaw>, ReasonError> {
    let model = model(outcome)?;
    Ok(Checker::new(outcome, model).all(outcome, &outcome.why_all()))
}

/// Checks the proofs of one decision against a model.
pub struct Checker<'a> {
    outcome: &'a Outcome,
    model: Model,
    told: BTreeSet<&'a Atom>,
    stored: BTreeSet<Atom>,
    done: BTreeSet<Atom>,
    tests: BTreeMap<String, bool>,
}

impl<'a> Checker<'a> {
    /// A checker of proofs that belong to `outcome`, against the atoms that hold.
    pub fn new(outcome: &'a Outcome, model: Vec<Atom>) -> Self {
        let stored = slice::whole(outcome.base(), &[]).facts.into_iter().collect();
        Self { outcome, model: Model::new(model), told: outcome.facts().iter().collect(), stored, done: BTreeSet::new(), tests: BTreeMap::new() }
    }

    /// Checks that the model shows what the decision shows, and the proofs of all of it.
    pub fn all(&mut self, outcome: &Outcome, proofs: &[std::sync::Arc<Proof>]) -> Result<Checked, Flaw> {
        let rules = outcome.base().rules();
        let shows = |a: &Atom| rules.shown.iter().any(|(_, p)| p.0 == a.name && p.1 == a.args.len());
        let shown: BTreeSet<&Atom> = outcome.shown().iter().collect();
        if let Some(a) = self.model.atoms().iter().find(|a| shows(a) && !shown.contains(a)) {
            return Err(Flaw::OtherModel(format!("it derives `{a}`")));
        }
        if let Some(a) = shown.iter().find(|a| !self.model.holds(a)) {
            return Err(Flaw::OtherModel(format!("it does not derive `{a}`")));
        }
        let proved: BTreeSet<&Atom> = proofs.iter().map(|p| &p.atom).collect();
        if let Some(a) = shown.iter().find(|a| !proved.contains(*a)) {
            return Err(Flaw::NoProof((*a).clone()));
        }
        for p in proofs {
            self.proof(p, &mut Vec::new())?;
        }
        Ok(Checked { proofs: proofs.len(), steps: self.done.len() })
    }

    /// Checks one proof and all below it.
    pub fn proof(&mut self, p: &Proof, path: &mut Vec<Atom>) -> Result<(), Flaw> {
        if path.contains(&p.atom) {
            return Err(Flaw::Circle(p.atom.clone()));
        }
        if self.done.contains(&p.atom) {
            return Ok(());
        }
        if !self.model.holds(&p.atom) {
            return Err(Flaw::NotInModel(p.atom.clone()));
        }
        match &p.by {
            By::Fact => {
                if !self.told.contains(&p.atom) && !self.stored.contains(&p.atom) && !self.written(&p.atom) {
                    return Err(Flaw::NotTold(p.atom.clone()));
                }
            }
            By::Solver => {
                let left = &self.outcome.base().rules().analysis.left_predicates;
                if !left.contains(&(p.atom.name.clone(), p.atom.args.len())) {
                    return Err(Flaw::NotChosen(p.atom.clone()));
                }
            }
            By::Rule { rule, because } => {
                path.push(p.atom.clone());
                because.iter().try_for_each(|b| self.below(b, path))?;
                path.pop();
                self.step(&p.atom, rule, because)?;
            }
        }
        self.done.insert(p.atom.clone());
        Ok(())
    }

    /// The proofs that a reason contains.
    fn below(&mut self, b: &Because, path: &mut Vec<Atom>) -> Result<(), Flaw> {
        match b {
            Because::Holds { proof } => self.proof(proof, path),
            Because::Test { text } if !self.is_true(text) => Err(Flaw::Untrue(text.clone())),
            Because::Test { .. } | Because::Absent { .. } => Ok(()),
            Because::Aggregate { elements, .. } => elements.iter().flat_map(|e| &e.because).try_for_each(|b| self.below(b, path)),
            Because::All { instances, .. } => instances.iter().flatten().try_for_each(|b| self.below(b, path)),
        }
    }

    /// Whether a shown comparison is true as it stands.
    fn is_true(&mut self, text: &str) -> bool {
        if let Some(known) = self.tests.get(text) {
            return *known;
        }
        let (statements, wrong) = parse::parse(&Source::new("a reason", &format!("true :- {text}.")));
        let holds = match statements.first().map(|s| &s.kind) {
            Some(Kind::Rule { body, .. }) if wrong.is_empty() => {
                let goals: Vec<Goal<'_>> = body.iter().map(Goal::of).collect();
                Search(&self.model).solve(&goals, &BTreeSet::new(), &mut Bindings::default(), &mut |_| true)
            }
            _ => false,
        };
        self.tests.insert(text.to_owned(), holds);
        holds
    }

    /// Whether a rule file states the atom as a fact.
    fn written(&self, atom: &Atom) -> bool {
        self.outcome.base().rules().statements().iter().any(|s| match &s.kind {
            Kind::Rule { head: Head::Atom(head), body } if body.is_empty() => {
                Search(&self.model).solve(&[Goal::Is(head, atom)], &BTreeSet::new(), &mut Bindings::default(), &mut |_| true)
            }
            _ => false,
        })
    }

    /// One step: there is a binding under which the author's rule gives the atom from the named atoms, in this model.
    fn step(&self, atom: &Atom, rule: &RuleRef, because: &[Because]) -> Result<(), Flaw> {
        let place = format!("{}:{}", rule.file, rule.line);
        let no_rule = || Flaw::NoRule { atom: atom.clone(), place: place.clone() };
        let s: &Statement = self.outcome.base().rules().statements().get(rule.statement).ok_or_else(no_rule)?;
        let Kind::Rule { head: Head::Atom(head), body } = &s.kind else { return Err(no_rule()) };
        if s.text != rule.text || s.origin.file != rule.file || s.origin.line != rule.line {
            return Err(no_rule());
        }
        let mut given = because.iter();
        let mut goals: Vec<Goal<'_>> = Vec::new();
        let mut said: Vec<(&Item, &Because)> = Vec::new();
        for item in body {
            let missing = || Flaw::Missing { atom: atom.clone(), place: place.clone(), condition: condition(s, item) };
            for _ in 0..parts(item) {
                let b = given.next().ok_or_else(missing)?;
                match (item, b) {
                    (Item::Literal(Literal::Atom { sign: Sign::Not, .. }), Because::Absent { .. })
                    | (Item::Aggregate(_), Because::Aggregate { .. })
                    | (Item::Conditional { .. }, Because::All { .. }) => said.push((item, b)),
                    (Item::Literal(Literal::Atom { sign: Sign::Plain | Sign::NotNot, atom }), Because::Holds { proof }) => {
                        goals.push(Goal::Is(atom, &proof.atom));
                    }
                    (Item::Literal(Literal::Compare { .. }), Because::Test { .. }) => {}
                    _ => return Err(missing()),
                }
            }
            goals.push(Goal::of(item));
        }
        if given.next().is_some() {
            return Err(Flaw::NoInstance { atom: atom.clone(), place });
        }
        goals.push(Goal::Is(head, atom));
        let globals = globals(Some(head), body);
        let as_said = |b: &Bindings| said.iter().all(|(item, because)| self.as_said(item, because, &globals, b));
        if Search(&self.model).solve(&goals, &globals, &mut Bindings::default(), &mut |b| as_said(b)) {
            return Ok(());
        }
        Err(Flaw::NoInstance { atom: atom.clone(), place })
    }

    /// Whether the proof says of absent atoms, aggregates and conditions what is so under a binding.
    fn as_said(&self, item: &Item, because: &Because, globals: &BTreeSet<Name>, b: &Bindings) -> bool {
        match (item, because) {
            (Item::Literal(Literal::Atom { atom, .. }), Because::Absent { pattern, .. }) => b.written(atom) == *pattern,
            (Item::Aggregate(a), Because::Aggregate { elements, .. }) => {
                let told: BTreeSet<Vec<Term>> = elements.iter().map(|e| e.tuple.clone()).collect();
                told.len() == elements.len() && told == Search(&self.model).tuples(a, globals, b)
            }
            (Item::Conditional { condition, .. }, Because::All { instances, .. }) => Search(&self.model).instances(condition, globals, b) == instances.len(),
            _ => false,
        }
    }
}

/// How many reasons a proof gives for a condition.
fn parts(item: &Item) -> usize {
    match item {
        Item::Literal(Literal::Bool(..)) => 0,
        Item::Literal(Literal::Compare { sign: Sign::Plain, rest, .. }) => rest.len(),
        _ => 1,
    }
}

/// The text of a condition, as the author wrote it.
fn condition(s: &Statement, item: &Item) -> String {
    let (from, to) = (item.span().start.wrapping_sub(s.origin.start), item.span().end.wrapping_sub(s.origin.start));
    s.text.get(from..to).unwrap_or(&s.text).to_owned()
}

#[cfg(test)]
mod tests;
