//! The checker accepts the proofs of small programs and finds every way in which one can be wrong.

use std::sync::Arc;

use super::*;
use crate::reason::tests::{atoms, load, signature};
use crate::reason::{Base, Budget, Reasoner, decide};

const RULES: &str = "t(X,Y) :- e(X,Y).
t(X,Z) :- t(X,Y), e(Y,Z).
far(X) :- e(X,_), not e(X).
n(X,N) :- e(X,_), N = #sum { Y,Z : t(X,Y), e(Y,Z) }, X < N.
all(X) :- e(X,_), t(X,Y) : e(X,Y).
#show t/2. #show far/1. #show n/2. #show all/1.";

fn outcome(facts: &str) -> Outcome {
    let s = signature("", "", "e/1 e/2", "");
    let base = Base::build(&load(RULES, &s), &[], &[]).unwrap();
    decide(&base, &atoms(facts), Reasoner::Confirm, &Budget::default()).unwrap()
}

#[test]
fn accepts_what_was_derived() {
    let out = outcome("e(1,2). e(2,3). e(3,1). e(3)");
    let checked = decision(&out).unwrap().unwrap();
    assert_eq!(checked.proofs, out.shown().len());
    assert!(checked.proofs > 12, "{checked:?}");
}

/// Changes one proof and gives the flaw that is found.
fn flaw(atom: &str, change: impl Fn(&mut Proof)) -> Flaw {
    let out = outcome("e(1,2). e(2,3). e(3)");
    let mut proof = out.why(&Atom::parse(atom).unwrap()).unwrap();
    change(&mut proof);
    Checker::new(&out, model(&out).unwrap()).proof(&proof, &mut vec![]).unwrap_err()
}

fn because(p: &mut Proof) -> &mut Vec<Because> {
    let By::Rule { because, .. } = &mut p.by else { panic!("not by a rule") };
    because
}

fn fact(text: &str) -> Because {
    Because::Holds { proof: Arc::new(Proof { atom: Atom::parse(text).unwrap(), by: By::Fact }) }
}

#[test]
fn finds_each_flaw() {
    assert!(matches!(flaw("far(1)", |p| p.by = By::Fact), Flaw::NotTold(_)));
    assert!(matches!(flaw("far(1)", |p| p.by = By::Solver), Flaw::NotChosen(_)));
    assert!(matches!(flaw("far(1)", |p| p.atom = Atom::parse("far(3)").unwrap()), Flaw::NotInModel(_)));
    // An atom that holds, but not by these steps.
    assert!(matches!(flaw("t(1,2)", |p| p.atom = Atom::parse("t(2,3)").unwrap()), Flaw::NoInstance { .. }));
    assert!(matches!(flaw("t(1,3)", |p| because(p)[1] = fact("e(1,2)")), Flaw::NoInstance { .. }));
    assert!(matches!(flaw("t(1,3)", |p| because(p)[0] = Because::Holds { proof: Arc::new(p.clone()) }), Flaw::Circle(_)));
    // Something is left out, added, or said of something else.
    assert!(matches!(flaw("t(1,3)", |p| drop(because(p).pop())), Flaw::Missing { .. }));
    assert!(matches!(flaw("t(1,3)", |p| because(p).push(fact("e(1,2)"))), Flaw::NoInstance { .. }));
    assert!(matches!(flaw("far(1)", |p| because(p)[1] = Because::Absent { pattern: "e(2)".into(), ways: std::sync::Arc::default() }), Flaw::NoInstance { .. }));
    assert!(matches!(flaw("far(1)", |p| because(p)[1] = fact("e(3)")), Flaw::Missing { .. }));
    let by_other_rule = |p: &mut Proof| {
        if let By::Rule { rule, .. } = &mut p.by {
            rule.statement = 1;
        }
    };
    assert!(matches!(flaw("t(1,2)", by_other_rule), Flaw::NoRule { .. }));
    // A sum that lacks a line, a comparison that is not true, a condition without an instance.
    let lacks = |p: &mut Proof| {
        if let Some(Because::Aggregate { elements, .. }) = because(p).iter_mut().find(|b| matches!(b, Because::Aggregate { .. })) {
            elements.clear();
        }
    };
    assert!(matches!(flaw("n(1,2)", lacks), Flaw::NoInstance { .. }));
    let untrue = |p: &mut Proof| {
        if let Some(Because::Test { text }) = because(p).iter_mut().find(|b| matches!(b, Because::Test { .. })) {
            *text = "3 < 2".into();
        }
    };
    assert_eq!(flaw("n(1,2)", untrue), Flaw::Untrue("3 < 2".into()));
    let no_instance = |p: &mut Proof| {
        if let Some(Because::All { instances, .. }) = because(p).iter_mut().find(|b| matches!(b, Because::All { .. })) {
            instances.clear();
        }
    };
    assert!(matches!(flaw("all(1)", no_instance), Flaw::NoInstance { .. }));
}
