//! The engines on small programs: they agree with each other and with what is written down.

use std::sync::Arc;

use super::*;
use crate::diag::Source;
use crate::term::Atom;

pub(super) fn atoms(text: &str) -> Vec<Atom> {
    text.split_terminator('.').map(str::trim).filter(|t| !t.is_empty()).map(|t| Atom::parse(t).unwrap()).collect()
}

pub(super) fn signature(kb: &str, shared: &str, session: &str, turn: &str) -> Signature {
    let list = |t: &str| -> Vec<(crate::term::Name, usize)> {
        t.split_whitespace()
            .map(|p| {
                let (n, a) = p.split_once('/').unwrap();
                (n.into(), a.parse().unwrap())
            })
            .collect()
    };
    let mut stored = std::collections::BTreeMap::new();
    for (t, s) in [(kb, Scope::Kb), (shared, Scope::Shared), (session, Scope::Session)] {
        stored.extend(list(t).into_iter().map(|p| (p, s)));
    }
    Signature { stored, turn: list(turn) }
}

pub(super) fn load(text: &str, s: &Signature) -> Arc<Rules> {
    Arc::new(Rules::load(&[Source::new("test.lp", text)], s).unwrap_or_else(|d| panic!("{}", d.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))))
}

/// All engines on the facts: their common answer.
fn both(rules: &str, facts: &str) -> String {
    let s = signature("", "", "e/1 e/2 e/3", "");
    let rules = load(rules, &s);
    let base = Base::build(&rules, &[], &[]).unwrap();
    let [out, by_clingo] =
        [Reasoner::Confirm, Reasoner::Clingo].map(|how| decide(&base, &atoms(facts), how, &Budget::default()).unwrap_or_else(|e| panic!("{e}")));
    assert_eq!(out.shown(), by_clingo.shown());
    out.shown().iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

#[test]
fn engines_agree_on_each_construct() {
    for (rules, facts, want) in [
        ("p(X) :- e(X), not e(X,X). #show p/1.", "e(1). e(2). e(2,2)", "p(1)"),
        ("t(X,Y) :- e(X,Y). t(X,Z) :- t(X,Y), e(Y,Z). #show t/2.", "e(1,2). e(2,3). e(3,1)", "t(1,1) t(1,2) t(1,3) t(2,1) t(2,2) t(2,3) t(3,1) t(3,2) t(3,3)"),
        ("n(N) :- N = #count { X : e(X) }. #show n/1.", "e(1). e(b)", "n(2)"),
        ("n(N) :- N = #sum { C,X : e(X,C) }. #show n/1.", "e(a,5). e(b,5). e(b,-1)", "n(9)"),
        ("n(A,B) :- A = #min { X : e(X) }, B = #max { X : e(X) }. #show n/2.", "e(1). e(b). e(\"b\"). e(f(1))", "n(1,f(1))"),
        ("p(X+1,-X,|X|,X*2,X/2,X\\2,X**2) :- e(X). #show p/7.", "e(-3). e(3). e(a)", "p(-2,3,3,-6,-1,-1,9) p(4,-3,3,6,1,1,9)"),
        ("p(X,Y) :- e(X), Y = 1..X. q(1..2). p(a,X) :- q(X). #show p/2.", "e(2)", "p(2,1) p(2,2) p(a,1) p(a,2)"),
        ("ok :- e(X) : e(X,_). #show ok/0.", "e(1). e(1,2)", "ok"),
        ("ok :- e(X) : e(X,_). #show ok/0.", "e(1). e(2,2)", ""),
        ("p(X) :- e(X,f(X,g(Y))), e(Y). #show p/1.", "e(1,f(1,g(a))). e(2,f(2,g(b))). e(3,f(2,g(a))). e(a)", "p(1)"),
        ("p(X) :- e(X), not e(f(X)). #show p/1.", "e(1). e(f(1)). e(2)", "p(2) p(f(1))"),
        ("p(X) :- e(X), not e(X,f(_)). #show p/1.", "e(1). e(2). e(1,f(3)). e(2,g(3))", "p(2)"),
        ("p((a;b)). p(X) :- e(X;Y), X = Y. q(X) :- p(X), X != b. #show q/1.", "e(1)", "q(1) q(a)"),
        ("p(X) :- e(Y), Y = X + 2. p(X) :- e(Y), f(X) = Y. #show p/1.", "e(3). e(f(z))", "p(1) p(z)"),
        ("p(X) :- e(X), 1 < X <= 3, not 2 < X < 4. #show p/1.", "e(1). e(2). e(3)", "p(2)"),
        ("p(X,Y) :- e(X), e(Y), X < Y. #show p/2.", "e(1). e(a). e(\"A\"). e(f(1))", "p(1,a) p(1,\"A\") p(1,f(1)) p(a,\"A\") p(a,f(1)) p(\"A\",f(1))"),
        ("big :- 2 <= #count { X : e(X) } <= 3. small :- not 2 <= #count { X : e(X) }. #show big/0. #show small/0.", "e(1). e(2)", "big"),
        ("p(X) :- e(X-1). p(Y) :- e(X,2*Y+1), e(Y). #show p/1.", "e(4). e(1). e(7,9). e(7,4)", "p(2) p(4) p(5)"),
        ("p(X/Y) :- e(X,Y). #show p/1.", "e(1,0). e(7,-2). e(-7,2)", "p(-3)"),
        ("p :- not not e(1). q :- #true, not #false. #show p/0. #show q/0.", "e(1)", "p q"),
        ("#const k = 3. p(k). p(X) :- e(X), X > k. #show p/1.", "e(4). e(3)", "p(3) p(4)"),
        ("s(X,S) :- e(X), S = #sum { 1,Y : e(X,Y) ; 2,Y : e(Y,X) }. #show s/2.", "e(1). e(2). e(1,2). e(1,3)", "s(1,2) s(2,2)"),
        ("m(M) :- M = #min { X : e(X), X > 10 }, M != #sup. n :- not m(_). #show m/1. #show n/0.", "e(1)", "n"),
        // clingo's strings end at a null character.
        ("p(X) :- e(X). #show p/1.", "e(\"a\0b\")", "p(\"a\0b\")"),
        ("p(X) :- e(X). #show p/1.", "e(\"a\u{f0000}0\u{f0000}\")", "p(\"a\u{f0000}0\u{f0000}\")"),
        ("even(0). even(N+2) :- even(N), N < 6. #show even/1.", "", "even(0) even(2) even(4) even(6)"),
    ] {
        assert_eq!(both(rules, facts), want, "{rules}");
    }
}

#[test]
fn clingo_gets_the_rules_that_could_fire_and_lead_to_something_shown() {
    let rules = load(
        "said(K,F) :- in(K,order(F)). known(K) :- said(K,F), dish(F). unknown(K) :- said(K,F), not dish(F). drinks(K) :- said(K,F), drink(F).
         gone(K) :- in(K,drop(_)). again(K) :- gone(K). twice(K) :- said(K,F), said(L,F), K != L. idle(K) :- known(K). other(K) :- said(K,F), F != pie.
         #show known/1. #show unknown/1. #show drinks/1. #show again/1. #show twice/1. #show other/1.",
        &signature("dish/1 drink/1", "", "", "in/2"),
    );
    let base = Base::build(&rules, &atoms("dish(pie). dish(soup). drink(tea)"), &[]).unwrap();
    let heads = |facts: &str| {
        let slice = slice_of(&base, &atoms(facts));
        let heads: Vec<&str> = slice.rules.lines().filter(|l| !l.starts_with('#')).filter_map(|l| l.split('(').next()).collect();
        heads.join(" ")
    };
    // What is said twice is two atoms that differ in a number, so they count as one that may be any.
    assert_eq!(heads("in(1,order(pie))"), "said known unknown");
    assert_eq!(heads("in(1,order(tea))"), "said unknown drinks other");
    assert_eq!(heads("in(1,order(pie)). in(2,order(pie))"), "said known unknown twice");
    assert_eq!(heads("in(1,drop(pie))"), "gone again");
    assert_eq!(
        decide(&base, &atoms("in(1,order(pie)). in(2,order(tea))"), Reasoner::Confirm, &Budget::default()).unwrap().shown(),
        atoms("drinks(2). known(1). other(2). unknown(2)")
    );
}

#[test]
fn a_choice_is_left_to_clingo_and_two_models_are_an_error() {
    let s = signature("", "", "e/1", "");
    let rules = load("{ p(X) } :- e(X). q(X) :- p(X). :- e(X), not p(X), X > 1. r(X) :- e(X). #show q/1. #show r/1.", &s);
    assert_eq!(rules.left_to_clingo().len(), 3);
    let base = Base::build(&rules, &[], &[]).unwrap();
    let out = decide(&base, &atoms("e(2)"), Reasoner::Fast, &Budget::default()).unwrap();
    assert_eq!(out.shown(), atoms("q(2). r(2)"));
    assert!(matches!(decide(&base, &atoms("e(1)"), Reasoner::Confirm, &Budget::default()), Err(ReasonError::TwoModels { .. })));
}

#[test]
fn many_changes_with_new_names_leave_nothing_behind() {
    let s = signature("", "out/1", "", "");
    let rules = load("p(X) :- out(X). #show p/1.", &s);
    let mut base = Base::build(&rules, &[], &atoms("out(kept)")).unwrap();
    for n in 0..200 {
        let fact = atoms(&format!("out(name{n})"));
        base = base.with_change(&fact, &[]).unwrap();
        assert_eq!(base.query("p", 1).len(), 2);
        base = base.with_change(&[], &fact).unwrap();
    }
    assert_eq!(base.query("p", 1), atoms("p(kept)"));
    assert!(base.inner.terms.len() < 40, "{}", base.inner.terms.len());
}

#[test]
fn limits_and_mistakes_have_names() {
    let s = signature("", "", "e/1", "");
    let rules = load("p(X) :- e(X). p(X+1) :- p(X). :- e(no). #show p/1.", &s);
    let base = Base::build(&rules, &[], &[]).unwrap();
    let go = |facts: &str| decide(&base, &atoms(facts), Reasoner::Fast, &Budget { max_atoms: 1000, ..Budget::default() }).map(|_| ());
    assert_eq!(go("e(1)"), Err(ReasonError::OverBudget { what: "derived atoms", limit: 1000 }));
    assert!(matches!(go("e(2147483647)"), Err(ReasonError::Overflow(r)) if r.contains("test.lp:1:15")));
    assert!(matches!(go("e(no)"), Err(ReasonError::Inconsistent(_))));
    assert_eq!(go("z(1)"), Err(ReasonError::UnknownPredicate("z/1".into())));
}

#[test]
fn says_what_is_wrong_with_rules() {
    let s = signature("menu/2", "", "", "in/2");
    let codes = |text: &str| match Rules::load(&[Source::new("test.lp", text)], &s) {
        Ok(r) => r.warnings().iter().map(|d| d.to_string()).collect::<Vec<_>>().join("\n"),
        Err(d) => d.iter().map(|d| d.to_string()).collect::<Vec<_>>().join("\n"),
    };
    assert!(codes("p(X) :- not menu(X,1). #show p/1.").contains("test.lp:1:18: error[rule-unsafe-variable]: nothing in the rule says what `X` can be"));
    assert!(codes("p(X) :- menuu(X,1). #show p/1.").contains("did you mean `menu`?"));
    assert!(codes("p(X) :- menu(X). #show p/1.").contains("there is `menu/2`"));
    assert!(codes("p(X) :- in(X,_). q(X) :- p(X). #show p/1.").contains("rule-never-used"));
    assert!(codes("#show p/1.").contains("rule-shown-unknown"));
    assert!(codes("p(N) :- N = #sum { C : menu(X,C), C > M }. #show p/1.").contains("`M`"));
}

#[test]
fn a_change_of_facts_equals_building_afresh() {
    let s = signature("has/2", "out/1", "", "in/2");
    let rules = load(
        "gone(X) :- out(X). gone(X) :- has(X,Y), gone(Y). good(X) :- has(X,_), not gone(X). act(K,X) :- in(K,want(X)), good(X). #show act/2. #show good/1.",
        &s,
    );
    let kb = atoms("has(a,b). has(b,c). has(d,c). has(e,f)");
    let base = Base::build(&rules, &kb, &[]).unwrap();
    assert_eq!(base.query("good", 1).len(), 4);
    let changed = base.with_change(&atoms("out(c). out(x)"), &[]).unwrap();
    let fresh = Base::build(&rules, &kb, &atoms("out(c). out(x)")).unwrap();
    for p in ["good", "gone", "out"] {
        assert_eq!(changed.query(p, 1), fresh.query(p, 1), "{p}");
    }
    assert_eq!(changed.query("good", 1), atoms("good(e)"));
    let back = changed.with_change(&[], &atoms("out(c). out(x)")).unwrap();
    assert_eq!(back.query("good", 1), base.query("good", 1));
    let out = decide(&changed, &atoms("in(1,want(a)). in(2,want(e))"), Reasoner::Confirm, &Budget::default()).unwrap();
    assert_eq!(out.shown(), atoms("act(2,e). good(e)"));
}

const ORDERING: &str = r#"
    %: {F} has {I}, which is not to be had
    unavailable(F) :- part(F,I), out(I).
    %: I cannot offer {F}
    act(1,K,refuse(F)) :- in(K,order(F,_)), unavailable(F).
    %: {N} {F} are added
    act(2,K,add(F,N)) :- in(K,order(F,N)), menu(F,_), not unavailable(F).
    line(K,F,N) :- act(2,K,add(F,N)).
    %: the price is {P} cents
    act(3,1,price(P)) :- P = #sum { C*N,K : line(K,F,N), menu(F,C) }, P > 0.
    %: everything can be had
    act(3,2,fine) :- in(_,order(_,_)), not unavailable(F) : in(_,order(F,_)).
    #show act/3.
"#;

#[test]
fn proofs_lead_back_to_the_authors_rules_and_the_told_facts() {
    let s = signature("menu/2 part/2", "out/1", "", "in/2");
    let rules = load(ORDERING, &s);
    let kb = atoms("menu(\"Soft Taco\",129). menu(\"Soup\",300). part(\"Soup\",\"Chicken\")");
    let base = Base::build(&rules, &kb, &atoms("out(\"Chicken\")")).unwrap();
    let out = decide(&base, &atoms("in(1,order(\"Soft Taco\",2)). in(2,order(\"Soup\",1))"), Reasoner::Confirm, &Budget::default()).unwrap();
    let who = |a: &Atom| if &*a.name == "out" { "manager, turn 1".to_owned() } else { String::new() };
    assert_eq!(out.shown().len(), 3);
    let text: String = out.why_all().iter().map(|p| format!("{}\n{}", p.sentence(&who), p.tree(&who))).collect();
    assert_eq!(
        text,
        r#"I cannot offer Soup, because Soup has Chicken, which is not to be had (manager, turn 1)
act(1,2,refuse("Soup")): I cannot offer Soup [test.lp:5]
  in(2,order("Soup",1))
  unavailable("Soup"): Soup has Chicken, which is not to be had [test.lp:3]
    part("Soup","Chicken")
    out("Chicken") (manager, turn 1)
2 Soft Taco are added
act(2,1,add("Soft Taco",2)): 2 Soft Taco are added [test.lp:7]
  in(1,order("Soft Taco",2))
  menu("Soft Taco",129)
  no unavailable("Soft Taco")
    no part("Soft Taco",_): not by "Soft Taco has something, which is not to be had" [test.lp:3]
the price is 258 cents, because 2 Soft Taco are added
act(3,1,price(258)): the price is 258 cents [test.lp:10]
  258 = #sum { C*N,K : line(K,F,N), menu(F,C) }
    258,1:
      line(1,"Soft Taco",2) [test.lp:8]
        act(2,1,add("Soft Taco",2)): 2 Soft Taco are added [test.lp:7]
          in(1,order("Soft Taco",2))
          menu("Soft Taco",129)
          no unavailable("Soft Taco")
            no part("Soft Taco",_): not by "Soft Taco has something, which is not to be had" [test.lp:3]
      menu("Soft Taco",129)
  258 > 0
"#
    );
    let not = out.why_not(&Atom::parse("act(2,2,add(\"Soup\",1))").unwrap());
    assert_eq!(
        not.text(&|_| String::new()),
        "act(2,2,add(\"Soup\",1)) was not derived; what rules for it lack, closest first:\n  \"1 Soup are added\" [test.lp:7]\n    it is so: Soup has Chicken, which is not to be had\n"
    );
}

mod agree;
mod faults;
