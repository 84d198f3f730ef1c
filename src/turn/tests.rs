//! Tests of the turn as a whole.

use super::*;
use crate::domain::Files;
use crate::eval::adversary::{Dice, Known, predicates};
use crate::facts::MemoryStore;
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
        let opened = engine.store.open(&key, role).unwrap();
        let (_, shared) = engine.store.shared(&key.site).unwrap();
        let admission = domain.ontology.admit(role, &predicates(&mut dice, &domain.ontology, known, role));
        let mut facts = engine.facts(role, &opened, &admission, &Heard::default()).unwrap();
        let mut kb = engine.store.kb(&key.site, opened.kb_version).unwrap().to_vec();
        let mut shared: Vec<Atom> = shared.into_iter().map(|f| f.atom).collect();
        let rules = domain.rules.get(role).unwrap();
        let mut seen: Option<String> = None;
        for _ in 0..3 {
            let base = reason::Base::build(rules, &kb, &shared).unwrap();
            let outcome = reason::decide(&base, &facts, Reasoner::Fast, &engine.options.budget).unwrap();
            let decision = Decision::read(&outcome);
            let proofs: Vec<String> = record::why(&outcome, &decision.actions, &|_| String::new()).iter().map(|w| w.proof.to_string()).collect();
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
