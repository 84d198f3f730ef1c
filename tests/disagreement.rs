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
use duologue::turn::audit::Audited;
use duologue::turn::{Clock, Engine, Options, Said, TurnError};

/// A drive-through in which checker and clingo read one rule otherwise than its author wrote it: of two items one is added.
fn domain_with_a_defect() -> Domain {
    let mut domain = Domain::load(&Files::built_in(), "drive_thru").unwrap();
    let rules = Arc::get_mut(domain.rules.get_mut("customer").unwrap()).unwrap();
    let at = rules.statements().iter().position(|s| s.text.starts_with("added(P+B+X,I)")).unwrap();
    rules.let_clingo_read(at, "added(P+B+X,I) :- offset(_,I,N,B), top(P), X = 2..N.");
    domain
}

fn engine(domain: Domain, how: Reasoner, audit: u64, reproducers: &Path) -> Engine {
    let options = Options { reasoner: how, audit, reproducers: Some(reproducers.to_owned()), clock: Clock::Fixed(7), ..Options::default() };
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
    for (how, written) in [(Reasoner::Confirm, "written down: nothing founds "), (Reasoner::Clingo, "written down: only the evaluator derives ")] {
        fails_closed(how, written);
    }
}

fn fails_closed(how: Reasoner, written: &str) {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(domain_with_a_defect(), how, 0, folder.path());
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
    assert!(said.starts_with(written), "{said}");
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
    engine.settle_audits();
    assert_eq!(engine.audited(), Audited { confirmed: 0, differed: 1, left_out: 0 });
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
    engine.settle_audits();
    assert_eq!(engine.audited(), Audited { confirmed: 3, differed: 0, left_out: 0 });
    assert!(reproducers(folder.path()).is_empty());
}

/// Clingo's tables are taken down at the end of the process, so no thread may still be at work in them. Of 1,834 processes that
/// ended while a sample was confirmed, 24 died of it; `DUOLOGUE_RUNS=2000` looks as long.
#[test]
fn a_process_that_ends_while_clingo_is_at_work_ends_well() {
    let runs: usize = std::env::var("DUOLOGUE_RUNS").ok().and_then(|n| n.parse().ok()).unwrap_or(6);
    let turn = |n: usize| format!(r#"{{"site":"s","session":"c{n}","role":"customer","predicates":["order(\"Soft Taco\",2)"]}}"#);
    let said: String = (0..6).map(|n| turn(n) + "\n").collect();
    for run in 0..runs {
        let mut command = assert_cmd::Command::cargo_bin("duologue").unwrap();
        let reasoner = if run % 2 == 0 { "fast" } else { "confirm" };
        let out = command.args(["step", "--reasoner", reasoner, "--audit", "1"]).write_stdin(said.clone()).output().unwrap();
        assert!(out.status.success(), "run {run}: {}", out.status);
        assert_eq!(String::from_utf8(out.stdout).unwrap().lines().count(), 6);
    }
}

/// The same when the reader of what is printed goes away.
#[test]
#[cfg(unix)]
fn a_process_whose_reader_goes_away_ends_well() {
    use std::io::Write;
    use std::process::{Command, Stdio};
    for _ in 0..3 {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("duologue"));
        let mut child = command.args(["step", "--reasoner", "fast", "--audit", "1"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let turn = r#"{"site":"s","session":"c","role":"customer","predicates":["order(\"Soft Taco\",2)"]}"#;
        let mut input = child.stdin.take().unwrap();
        // It may be gone before it has read everything.
        let _ = (0..5).try_for_each(|_| writeln!(input, "{turn}"));
        drop(input);
        // No signal ended it.
        assert!(child.wait().unwrap().code().is_some());
    }
}
