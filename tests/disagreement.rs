//! When the two engines differ: nothing is committed, a reproducer is left, and `duologue replay` shows the difference.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test that cannot go on must fail loudly"
)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use duologue::domain::{Domain, Files};
use duologue::facts::{MemoryStore, SessionKey};
use duologue::ontology::Scope;
use duologue::reason::{ReasonError, Reasoner};
use duologue::turn::sample::Sampled;
use duologue::turn::{Clock, Engine, Options, Said, TurnError};

/// A drive-through in which clingo reads one rule otherwise than its author wrote it: every second item costs nothing.
fn domain_with_a_defect() -> Domain {
    let mut domain = Domain::load(&Files::built_in(), "drive_thru").unwrap();
    let rules = Arc::get_mut(domain.rules.get_mut("customer").unwrap()).unwrap();
    let at = rules.statements().iter().position(|s| s.text.starts_with("added(P+B+X,I)")).unwrap();
    rules.let_clingo_read(at, "added(P+B+X,I) :- offset(_,I,N,B), top(P), X = 2..N.");
    domain
}

fn engine(domain: Domain, how: Reasoner, sample: u64, reproducers: &Path) -> Engine {
    let options = Options { reasoner: how, sample, reproducers: Some(reproducers.to_owned()), clock: Clock::Fixed(7), ..Options::default() };
    Engine::new(domain, Arc::new(MemoryStore::default())).with_options(options)
}

fn order(engine: &Engine) -> Result<(), TurnError> {
    engine.turn(&SessionKey::new("s", "c"), "customer", &Said::Predicates(&["order(\"Soft Taco\",2)".to_owned()]), None).map(|_| ())
}

fn reproducers(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect()
}

fn replayed(file: &Path) -> (bool, String) {
    let out = assert_cmd::Command::cargo_bin("duologue").unwrap().arg("replay").arg(file).output().unwrap();
    (out.status.success(), String::from_utf8(out.stdout).unwrap())
}

#[test]
fn a_difference_fails_closed_and_is_replayed_from_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(domain_with_a_defect(), Reasoner::Confirm, 0, folder.path());
    let error = order(&engine).unwrap_err();
    assert!(matches!(error, TurnError::Reason(ReasonError::Disagreement { .. })), "{error}");
    assert!(error.polite().contains("nothing was changed"));
    // Nothing of the turn is in the store.
    let key = SessionKey::new("s", "c");
    assert_eq!(engine.store().facts(Scope::Session, &key).unwrap(), []);
    assert_eq!(engine.store().open(&key, "customer").unwrap().turn, 0);
    // What has nothing to do with the difference goes on.
    engine.turn(&key, "customer", &Said::Predicates(&["greet".to_owned()]), None).unwrap();

    let files = reproducers(folder.path());
    assert_eq!(files.len(), 1);
    let (agrees, said) = replayed(&files[0]);
    assert!(!agrees);
    assert!(said.starts_with("written down: only "), "{said}");
    assert!(said.contains("only the evaluator derives effect(add,session,line(1,\"Soft Taco\"))"), "{said}");
    // Somebody repairs the defect: the same file now says so.
    let healed: String = std::fs::read_to_string(&files[0]).unwrap().lines().filter(|l| !l.starts_with("%clingo:")).map(|l| format!("{l}\n")).collect();
    std::fs::write(&files[0], healed).unwrap();
    let (agrees, said) = replayed(&files[0]);
    assert!(agrees && said.contains("the engines agree now"), "{said}");
}

#[test]
fn a_sampled_difference_is_counted_and_ends_the_trust_in_one_engine() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(domain_with_a_defect(), Reasoner::Fast, 1, folder.path());
    // The reply does not wait for the confirmation.
    order(&engine).unwrap();
    engine.settle_samples();
    assert_eq!(engine.sampled(), Sampled { confirmed: 0, differed: 1, left_out: 0 });
    assert_eq!(reproducers(folder.path()).len(), 1);
    assert!(!replayed(&reproducers(folder.path())[0]).0);
    // From now on every decision is confirmed before it is committed.
    assert!(matches!(order(&engine).unwrap_err(), TurnError::Reason(ReasonError::Disagreement { .. })));
    assert_eq!(engine.store().open(&SessionKey::new("s", "c"), "customer").unwrap().turn, 1);
}

#[test]
fn every_nth_decision_is_sampled() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(Domain::load(&Files::built_in(), "drive_thru").unwrap(), Reasoner::Fast, 3, folder.path());
    for _ in 0..7 {
        order(&engine).unwrap();
    }
    engine.settle_samples();
    assert_eq!(engine.sampled(), Sampled { confirmed: 3, differed: 0, left_out: 0 });
    assert!(reproducers(folder.path()).is_empty());
}
