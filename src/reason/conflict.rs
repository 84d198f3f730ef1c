//! Which of several requests do not go together: the smallest part of what was said that still leads to a refusal.

use super::base::Base;
use super::decide::{Budget, Reasoner, decide};
use super::{Outcome, ReasonError};
use crate::term::Atom;

/// What counts as the refusal.
#[derive(Clone, Copy, Debug)]
pub enum Refusal<'a> {
    /// This atom is shown.
    Shown(&'a Atom),
    /// The facts break an integrity constraint, or the rules admit no model.
    NoDecision,
}

impl Refusal<'_> {
    fn met(self, out: &Result<Outcome, ReasonError>) -> bool {
        match (self, out) {
            (Self::Shown(atom), Ok(out)) => out.shown().binary_search(atom).is_ok(),
            (Self::NoDecision, Err(ReasonError::Inconsistent(_) | ReasonError::NoModel)) => true,
            _ => false,
        }
    }
}

/// A part of `candidates` from which nothing can be left out without the refusal going away; the other facts stay as they are.
/// `None` if there is no refusal in the first place.
///
/// A decision takes microseconds, so candidates are left out one after the other, the latest first: what remains is minimal.
pub fn minimal_conflict(base: &Base, facts: &[Atom], candidates: &[Atom], refusal: Refusal<'_>, budget: &Budget) -> Option<Vec<Atom>> {
    let decided = |left_out: &[Atom]| {
        let rest: Vec<Atom> = facts.iter().filter(|f| !left_out.contains(f)).cloned().collect();
        decide(base, &rest, Reasoner::Fast, budget)
    };
    if !refusal.met(&decided(&[])) {
        return None;
    }
    let mut left_out: Vec<Atom> = Vec::new();
    let mut needed: Vec<Atom> = Vec::new();
    for c in candidates.iter().rev() {
        left_out.push(c.clone());
        if !refusal.met(&decided(&left_out)) {
            left_out.pop();
            needed.push(c.clone());
        }
    }
    needed.reverse();
    Some(needed)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{atoms, load, signature};
    use super::*;

    #[test]
    fn leaves_out_whatever_is_not_needed() {
        let s = signature("", "", "", "in/2");
        let rules = load("act(refuse) :- in(_,no(X)), in(_,add(X)). :- in(_,big), in(_,small). #show act/1.", &s);
        let base = Base::build(&rules, &[], &[]).unwrap();
        let said = atoms("in(1,add(a)). in(2,add(b)). in(3,no(b)). in(4,add(c))");
        let refused = &atoms("act(refuse)")[0];
        let found = minimal_conflict(&base, &said, &said, Refusal::Shown(refused), &Budget::default());
        assert_eq!(found, Some(atoms("in(2,add(b)). in(3,no(b))")));
        let said = atoms("in(1,small). in(2,add(b)). in(3,big)");
        assert_eq!(minimal_conflict(&base, &said, &said, Refusal::NoDecision, &Budget::default()), Some(atoms("in(1,small). in(3,big)")));
        assert_eq!(minimal_conflict(&base, &said[1..], &said, Refusal::NoDecision, &Budget::default()), None);
    }
}
