//! Which of several requests do not go together: the smallest part of what was said that still leads to a refusal.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::analyse::heads;
use super::base::Base;
use super::decide::{Budget, Reasoner, decide};
use super::syntax::{Head, Kind, Predicate};
use super::{ReasonError, clingo, slice};
use crate::term::Atom;

/// A part of `candidates` from which nothing can be left out without the refusal going away; the other facts stay as they are.
/// `None` if there is no refusal in the first place.
///
/// A decision takes microseconds, so candidates are left out one after the other, the latest first: what remains is minimal.
pub fn minimal_conflict(base: &Base, facts: &[Atom], candidates: &[Atom], refused: &Atom, budget: &Budget) -> Option<Vec<Atom>> {
    let is_refused = |left_out: &[Atom]| {
        let rest: Vec<Atom> = facts.iter().filter(|f| !left_out.contains(f)).cloned().collect();
        decide(base, &rest, Reasoner::Fast, budget).is_ok_and(|out| out.shown().binary_search(refused).is_ok())
    };
    if !is_refused(&[]) {
        return None;
    }
    let mut left_out: Vec<Atom> = Vec::new();
    let mut needed: Vec<Atom> = Vec::new();
    for c in candidates.iter().rev() {
        left_out.push(c.clone());
        if !is_refused(&left_out) {
            left_out.pop();
            needed.push(c.clone());
        }
    }
    needed.reverse();
    Some(needed)
}

/// More requests than these are not put to the solver: what depends on which of them were made grows too fast.
const MOST: usize = 12;

/// The reference: a part of `candidates` that leads to the refusal whatever else of them is said or not, and of which no part does.
/// clingo finds it as an unsatisfiable core of assumptions over the whole program in which every candidate is left open.
///
/// `None` if some choice of the others prevents the refusal, so that it takes what was not said as well. What [`minimal_conflict`]
/// finds is a part of it: there, what is left out is known not to be said.
pub fn unsat_core(base: &Base, facts: &[Atom], candidates: &[Atom], refused: &Atom) -> Result<Option<Vec<Atom>>, ReasonError> {
    if candidates.len() > MOST {
        return Err(ReasonError::OverBudget { what: "requests in a conflict", limit: MOST as u64 });
    }
    let rest: Vec<Atom> = facts.iter().filter(|f| !candidates.contains(f)).cloned().collect();
    let mut program = slice::Slice { rules: rules_for(base, refused), facts: slice::whole(base, &rest).facts }.text();
    for c in candidates {
        let _ = writeln!(program, "{{ {c} }}.");
    }
    let _ = writeln!(program, ":- {refused}.\n#show.");
    let found = clingo::core(&program, candidates).map_err(|e| ReasonError::Clingo(e.to_string()))?;
    Ok(found)
}

/// The rules that the refusal depends on.
fn rules_for(base: &Base, refused: &Atom) -> String {
    let rules = base.rules();
    let wanted = |head: &Head, open: &BTreeSet<Predicate>| heads(head).iter().any(|p| open.contains(p));
    let mut open: BTreeSet<Predicate> = [(refused.name.clone(), refused.args.len())].into();
    loop {
        let before = open.len();
        for s in &rules.statements {
            if let Kind::Rule { head, body } = &s.kind
                && wanted(head, &open)
            {
                open.extend(super::analyse::mentions(head, body).into_iter().map(|(p, _)| p));
            }
        }
        if open.len() == before {
            break;
        }
    }
    let mut out = String::new();
    for (s, text) in rules.statements.iter().zip(&rules.texts) {
        if matches!(&s.kind, Kind::Rule { head, .. } if wanted(head, &open)) || matches!(s.kind, Kind::Const(..)) {
            out.push_str(text);
            out.push('\n');
        }
    }
    out
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
        let found = minimal_conflict(&base, &said, &said, refused, &Budget::default());
        assert_eq!(found, Some(atoms("in(2,add(b)). in(3,no(b))")));
    }

    #[test]
    fn the_solver_finds_the_same_where_nothing_depends_on_what_is_not_said() {
        let s = signature("", "", "", "in/2");
        let rules = load("act(refuse) :- in(_,no(X)), in(_,add(X)). act(ask) :- in(_,add(a)), not in(_,sure). :- in(_,big), in(_,small). #show act/1.", &s);
        let base = Base::build(&rules, &[], &[]).unwrap();
        let said = atoms("in(1,add(a)). in(2,add(b)). in(3,no(b)). in(4,sure)");
        let (refuse, ask) = (&atoms("act(refuse)")[0], &atoms("act(ask)")[0]);
        assert_eq!(unsat_core(&base, &said, &said, refuse), Ok(Some(atoms("in(2,add(b)). in(3,no(b))"))));
        assert_eq!(unsat_core(&base, &said, &said[..3], ask), Ok(None));
        assert_eq!(unsat_core(&base, &said[..3], &said[..3], ask), Ok(Some(atoms("in(1,add(a))"))));
    }
}
