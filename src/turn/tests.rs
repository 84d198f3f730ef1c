//! Tests of the turn as a whole.

use super::*;
use crate::domain::Files;
use crate::eval::adversary::{Dice, Known, predicates};
use std::sync::Arc;

use crate::understand::{Context, Understand};

use crate::facts::{MemoryStore, SessionKey};
use crate::reason::Reasoner;

fn engine(domain: &Domain) -> Engine {
    let options = Options { reasoner: Reasoner::Fast, explain: true, clock: Clock::Fixed(0), ..Options::default() };
    Engine::new(domain.clone(), Arc::new(MemoryStore::default())).with_options(options)
}

/// Facts reach the reasoner in another order, and every byte of the decision stays.
#[test]
fn the_order_of_facts_does_not_matter() {
    let domain = Domain::load(&Files::built_in(), "drive_thru").unwrap();
    let engine = engine(&domain);
    let mut dice = Dice::new(11);
    let known = Known { kb: &domain.facts, shared: &[] };
    let turns = std::env::var("SHUFFLED_TURNS").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    for _ in 0..turns {
        let role = if dice.once_in(4) { "manager" } else { "customer" };
        let key = SessionKey::new("s", role);
        let said = predicates(&mut dice, &domain.ontology, known, role);
        engine.turn(&key, role, &Said::Predicates(&said), None).unwrap();
        // The next decision on what now holds, with facts in the store's order and in two others.
        let snapshot = engine.begin(&key, role, None).unwrap();
        let going = Going { arrived: predicates(&mut dice, &domain.ontology, known, role).iter().map(|t| Arrived::read(t)).collect(), ..Going::default() };
        let base = engine.base(role, &snapshot).unwrap();
        let collected = engine.collected(role, &snapshot).unwrap();
        let given = Given { domain: &domain, role, snapshot: &snapshot, base: &base, collected: &collected, going: &going, at: 0 };
        let mut facts = round(&given, Reasoner::Fast, &Budget::default()).unwrap().facts;
        let mut kb = engine.store.kb(&key.site, snapshot.opened.kb_version).unwrap().to_vec();
        let mut shared: Vec<Atom> = snapshot.shared.into_iter().map(|f| f.atom).collect();
        let rules = domain.rules.get(role).unwrap();
        let mut seen: Option<String> = None;
        for _ in 0..3 {
            let base = reason::Base::build(rules, &kb, &shared).unwrap();
            let outcome = reason::decide(&base, &facts, Reasoner::Fast, &engine.options.budget).unwrap();
            let decision = Decision::read(&outcome);
            let proofs: Vec<String> = record::why(&outcome, &decision.acts, &|_| String::new()).iter().map(|w| w.proof.to_string()).collect();
            let bytes = format!("{:?}{proofs:?}", outcome.shown());
            if let Some(first) = &seen {
                assert!(*first == bytes, "the order of facts shows in the decision of {said:?}");
            }
            seen = Some(bytes);
            for list in [&mut facts, &mut kb, &mut shared] {
                for i in (1..list.len()).rev() {
                    list.swap(i, dice.below(i + 1));
                }
            }
        }
    }
}

/// A listener that hears nothing.
struct Deaf;

impl Understand for Deaf {
    fn understand(&self, _: &str, _: &Context) -> Heard {
        Heard::default()
    }
}

/// What was said before decides what words mean, so a turn whose last record is broken is not taken as if nothing had been said.
#[test]
fn a_broken_record_is_an_error_and_no_empty_context() {
    let domain = Domain::load(&Files::built_in(), "drive_thru").unwrap();
    let engine = engine(&domain).with_understand(Arc::new(Deaf));
    let key = SessionKey::new("s", "c");
    engine.turn(&key, "customer", &Said::Text("good morning"), None).unwrap();
    let mut broken = engine.store.begin(&key, "customer", None).unwrap().opened.turn(1);
    broken.record = "{ \"site\"".into();
    engine.store.commit(&broken).unwrap();
    let taken = engine.turn(&key, "customer", &Said::Text("good morning"), None);
    assert!(matches!(&taken, Err(TurnError::BrokenRecord { turn: 2, .. })), "{taken:?}");
    assert_eq!(engine.store.open(&key, "customer").unwrap().turn, 2, "nothing was changed");
}

/// A session that an older program began stands on a kb without the settings that were declared since: an order in it came to nothing.
#[test]
fn a_session_from_before_a_setting_goes_on_under_its_default() {
    let domain = Domain::load(&Files::built_in(), "drive_thru").unwrap();
    let engine = engine(&domain);
    let key = SessionKey::new("s", "c");
    let older: Vec<Atom> = domain.facts.iter().filter(|f| domain.ontology.setting_of(f).is_none()).cloned().collect();
    assert!(older.len() < domain.facts.len());
    let _new = engine.store.install("s", &older, 0).unwrap();
    let mut begun = engine.store.begin(&key, "customer", None).unwrap().opened.turn(0);
    begun.record = "{}".into();
    engine.store.commit(&begun).unwrap();
    let taken = engine.turn(&key, "customer", &Said::Predicates(&["order(\"Soft Taco\",1)".to_owned()]), None).unwrap();
    assert!(taken.effects.iter().any(|e| e.to_string().contains("line(")), "{taken:?}");
}
