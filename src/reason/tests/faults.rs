//! Faults planted in the evaluator: whatever changes something that is shown is stopped before it could be committed.

use std::sync::Arc;

use crate::domain::{Domain, Files};
use crate::reason::bench::after_turns;
use crate::reason::eval::fault::{Fault, with};
use crate::reason::eval::store::{FACT, Relation};
use crate::reason::eval::terms::Id;
use crate::reason::{Base, Budget, ReasonError, Reasoner, decide};
use crate::term::{Atom, Term};

/// How often each kind of fault is planted; `DUOLOGUE_FAULTS=5000` for a long run.
fn places() -> u64 {
    std::env::var("DUOLOGUE_FAULTS").ok().and_then(|n| n.parse().ok()).unwrap_or(200)
}

struct Dice(u64);

impl Dice {
    fn roll(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % n.max(1)
    }
}

/// Decisions of every kind: the last turns of some conversations.
fn decisions() -> Vec<(Base, Vec<Atom>)> {
    let domain = Domain::load(&Files::built_in(), "drive_thru").unwrap();
    let conversations: &[(&str, &[&str])] = &[
        ("customer", &["order(\"Soft Taco\",2)", "update(\"Soft Taco\",remove,\"Lettuce\",1)", "order(\"Combo A\",1)", "completed"]),
        ("customer", &["order(\"Crunchy Taco\",3). order(\"Pepsi\",1)", "remove(\"Crunchy Taco\",1)", "set_quantity(\"Crunchy Taco\",4)"]),
        ("customer", &["need_recommend(burrito,category)", "need_recommend(\"Soft Taco\",upgrade)", "query(price,\"Soft Taco\")"]),
        ("customer", &["order(\"Combo B\",1)", "replace(\"Combo B\",\"Combo A\")", "completed", "affirm"]),
        ("manager", &["runout(\"Tomatoes\")", "add(\"Mango Taco\",taco)", "add(\"Mango Taco\",price,250)", "delete(\"Pepsi\")"]),
    ];
    let mut out = Vec::new();
    for (role, said) in conversations {
        let base = Base::build(&domain.rules[*role], &domain.facts, &[]).unwrap();
        let turns: Vec<Vec<Atom>> = said.iter().map(|t| t.split(". ").filter_map(|a| Atom::parse(a).ok()).collect()).collect();
        for n in 1..=turns.len() {
            out.push(after_turns(&base, role, &turns[..n]).unwrap());
        }
    }
    out
}

/// The strings of a turn as static rows hold them: a menu has many rows that a turn never looks at.
fn names(base: &Base, facts: &[Atom]) -> Vec<Id> {
    fn strings(t: &Term, out: &mut Vec<Term>) {
        match t {
            Term::Str(_) => out.push(t.clone()),
            Term::Fun(_, args) => args.iter().for_each(|a| strings(a, out)),
            Term::Int(_) | Term::Const(_) => {}
        }
    }
    let mut out = Vec::new();
    facts.iter().flat_map(|f| &f.args).for_each(|t| strings(t, &mut out));
    out.iter().filter_map(|t| base.inner.terms.find_term(t)).collect()
}

/// The rows of a relation that hold one of these names, of those that rules derived if only they are wanted.
fn rows_with(relation: &Relation, arity: usize, names: &[Id], derived: bool) -> Vec<u32> {
    let named = |n: &u32| relation.row(arity, *n).iter().any(|v| names.contains(v));
    let wanted = |n: &u32| !derived || relation.derived[*n as usize].rule != FACT;
    (0..relation.len()).filter(named).filter(wanted).collect()
}

/// Plants faults and counts those that change what is shown: every one of them has to be refused.
fn stopped(name: &str, mut plant: impl FnMut(&mut Dice, &Base, &[Atom], &mut dyn FnMut(&Base, Option<Fault>))) {
    let decisions = decisions();
    let mut dice = Dice(41);
    let (mut planted, mut changed, mut refused) = (0u64, 0, 0);
    // Most rows matter to no decision: more are planted until enough of them do.
    while planted < places() || changed < 10 && planted < 20 * places() {
        let (base, facts) = &decisions[dice.roll(decisions.len())];
        let sound = decide(base, facts, Reasoner::Fast, &Budget::default()).unwrap().shown().to_vec();
        plant(&mut dice, base, facts, &mut |base, fault| {
            planted += 1;
            let go = |how| match fault {
                Some(f) => with(f, || decide(base, facts, how, &Budget::default())),
                None => decide(base, facts, how, &Budget::default()),
            };
            let alone = go(Reasoner::Fast);
            let accepted = go(Reasoner::Confirm);
            refused += usize::from(accepted.is_err());
            // What is refused by the evaluator itself is never shown.
            let Ok(alone) = alone else { return };
            if *alone.shown() != sound {
                changed += 1;
                let stopped = matches!(accepted, Err(ReasonError::Disagreement { .. }));
                assert!(stopped, "{name}: {fault:?} is not stopped on {facts:?}");
            }
        });
    }
    println!("{name}: {planted} planted, {changed} changed what is shown, {refused} refused");
    assert!(changed >= 10, "{name}: only {changed} of {planted} changed something");
}

#[test]
fn a_rule_that_is_skipped() {
    stopped("a rule skipped", |dice, base, facts, plant| {
        // One that derives something, or nothing would change.
        let out = decide(base, facts, Reasoner::Fast, &Budget::default()).unwrap();
        let fired: Vec<u32> = out.above.iter().flat_map(|r| &r.derived).map(|d| d.rule).filter(|r| *r != FACT).collect();
        plant(base, Some(Fault::Skip(fired[dice.roll(fired.len())])));
    });
}

#[test]
fn an_atom_that_is_lost() {
    stopped("an atom lost", |dice, base, facts, plant| {
        let out = decide(base, facts, Reasoner::Fast, &Budget::default()).unwrap();
        let derived = out.above.iter().flat_map(|r| &r.derived).filter(|d| d.rule != FACT).count();
        plant(base, Some(Fault::Lose(u32::try_from(dice.roll(derived)).unwrap())));
    });
}

#[test]
fn an_atom_from_nowhere() {
    stopped("an atom added", |dice, base, _, plant| {
        let strata = base.rules().program.moving.len();
        plant(base, Some(Fault::Add(u32::try_from(dice.roll(strata)).unwrap(), dice.roll(1 << 30) as u64)));
    });
}

#[test]
fn a_row_that_an_index_lacks() {
    stopped("a row missing from an index", |dice, base, facts, plant| {
        let (layouts, names) = (&base.rules().program.layouts.layouts, names(base, facts));
        let broken = base.broken(|relations| {
            let rows = |n: usize| rows_with(&relations[n], layouts[n].arity, &names, false);
            let indexed = |n: &usize| relations[*n].len() >= 10 && !layouts[*n].masks.is_empty() && !rows(*n).is_empty();
            let all: Vec<usize> = (0..relations.len()).filter(indexed).collect();
            if all.is_empty() {
                return;
            }
            let at = all[dice.roll(all.len())];
            let rows = rows(at);
            let index = 1 + dice.roll(layouts[at].masks.len());
            assert!(Arc::make_mut(&mut relations[at]).drop_from_index(index, rows[dice.roll(rows.len())]));
        });
        plant(&broken, None);
    });
}

#[test]
fn a_static_atom_that_is_wrong() {
    stopped("a static atom corrupted", |dice, base, facts, plant| {
        let (layouts, names) = (&base.rules().program.layouts.layouts, names(base, facts));
        let broken = base.broken(|relations| {
            let rows = |n: usize| rows_with(&relations[n], layouts[n].arity, &names, true);
            let derived = |n: &usize| layouts[*n].opens.is_none() && !rows(*n).is_empty() && relations[*n].len() > 1;
            let all: Vec<usize> = (0..relations.len()).filter(derived).collect();
            if all.is_empty() {
                return;
            }
            let at = all[dice.roll(all.len())];
            let (rows, arity) = (rows(at), layouts[at].arity);
            let (row, column) = (rows[dice.roll(rows.len())], dice.roll(arity));
            let other = u32::try_from(dice.roll(relations[at].len() as usize)).unwrap();
            let value = relations[at].row(arity, other)[column];
            Arc::make_mut(&mut relations[at]).corrupt(&layouts[at], row, column, value);
        });
        plant(&broken, None);
    });
}
