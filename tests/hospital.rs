//! The second domain, made of data only: its words are understood, its dialogues hold from words alone, no arbitrary predicates break it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot be set up must fail loudly")]

use std::sync::Arc;

use duologue::domain::{Domain, Files};
use duologue::eval::adversary::{self, Dice, Known};
use duologue::eval::invariants::Invariants;
use duologue::eval::{dialogues, nlu};
use duologue::facts::{MemoryStore, SessionKey};
use duologue::ontology::Scope;
use duologue::reason::Reasoner;
use duologue::turn::{Clock, Engine, Options, Said};

fn hospital() -> (Domain, Invariants) {
    let domain = Domain::load(&Files::built_in(), "hospital").unwrap_or_else(|found| panic!("{found:?}"));
    let invariants = Invariants::load(&domain).unwrap_or_else(|found| panic!("{found:?}")).unwrap();
    (domain, invariants)
}

fn engine(domain: &Domain) -> Engine {
    let options = Options { reasoner: Reasoner::Fast, clock: Clock::Fixed(0), ..Options::default() };
    dialogues::fresh(domain, Arc::new(MemoryStore::default()), options)
}

#[test]
fn its_language_cases_are_understood() {
    let (domain, _) = hospital();
    let translator = domain.embedded().unwrap_or_else(|found| panic!("{found:?}")).unwrap();
    let cases = nlu::read_cases(include_str!("data/nlu/hospital.jsonl").as_bytes(), &domain.ontology.view).unwrap();
    let report = nlu::evaluate(&translator, &cases);
    assert!(cases.len() >= 60, "there are only {} cases", cases.len());
    assert!(report.all.exact_percent() >= 95.0, "{:#?}", report.wrong);
}

#[test]
fn its_dialogues_hold_from_words_alone() {
    let (domain, invariants) = hospital();
    let translator = Arc::new(domain.embedded().unwrap_or_else(|found| panic!("{found:?}")).unwrap());
    for dialogue in dialogues::read(include_str!("dialogues/hospital_dev.yaml")).unwrap().dialogues {
        let outcome = dialogues::run(&dialogue, &engine(&domain).with_understand(translator.clone()), true, Some(&invariants));
        assert!(outcome.differences.is_empty(), "{}: {:#?}", outcome.id, outcome.differences);
    }
}

#[test]
fn arbitrary_predicates_break_neither_an_invariant_nor_a_right() {
    let (domain, invariants) = hospital();
    let roles: Vec<String> = domain.ontology.roles.keys().map(ToString::to_string).collect();
    let mut dice = Dice::new(11);
    for _ in 0..3 {
        let engine = engine(&domain);
        for _ in 0..150 {
            let role = dice.pick(&roles).unwrap().clone();
            let key = SessionKey::new("test", &format!("{role}{}", dice.below(2)));
            let shared: Vec<_> = engine.store().facts(Scope::Shared, &key).unwrap_or_default().into_iter().map(|f| f.atom).collect();
            let said = adversary::predicates(&mut dice, &domain.ontology, Known { kb: &domain.facts, shared: &shared }, &role);
            let before = invariants.before(&engine, &key, &role);
            let record = engine.turn(&key, &role, &Said::Predicates(&said), None).unwrap();
            assert_eq!(invariants.after(&engine, &before, &record), Vec::<String>::new(), "after {said:?}");
        }
    }
}
