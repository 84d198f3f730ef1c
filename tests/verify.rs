//! `verify` finds nothing in the drive-through's rules, and each of eleven defects planted in copies of them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test that cannot go on must fail loudly"
)]

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use duologue::domain::{Domain, Files};
use duologue::eval::dialogues::{self, Dialogue};
use duologue::eval::invariants::Invariants;
use duologue::eval::verify;
use duologue::facts::MemoryStore;
use duologue::reason::Reasoner;
use duologue::turn::{Clock, Options};

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() { copy(&entry.path(), &target) } else { assert!(std::fs::copy(entry.path(), target).is_ok()) }
    }
}

fn load(root: &Path) -> Domain {
    Domain::load(&Files::folder(root), "drive_thru").unwrap_or_else(|d| panic!("{}", d.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")))
}

/// The same in the manner of section 4, which has more questions.
fn load_paper(root: &Path) -> Domain {
    let mut domain = load(root);
    domain.settle("manner=paper").unwrap();
    domain
}

#[test]
fn the_drive_through_has_no_violation() {
    for domain in [load(Path::new(".")), load_paper(Path::new("."))] {
        let report = verify::domain(&domain, Some(3), Duration::from_secs(120)).unwrap();
        assert_eq!((report.violations.as_slice(), report.undecided.as_slice()), ([].as_slice(), [].as_slice()), "{}", verify::text(&report, false));
        assert_eq!(report.depth, 3);
        assert!(report.states > 300, "{}", verify::text(&report, false));
    }
}

/// A defect: the file, what is replaced by what, and the property that must be found violated.
const DEFECTS: [(&str, &str, &str, &str); 11] = [
    ("service.lp", "order_nth(K,I,N,J) :- in(K,order(I,N)), item(I), not out(I),", "order_nth(K,I,N,J) :- in(K,order(I,N)), item(I),", "i1_unavailable"),
    ("service.lp", "stays(P,I) :- was(line(P,I)), not drops(I).", "stays(P,I) :- was(line(P,I)).", "i1_unavailable"),
    ("service.lp", "order_ok(K,I,N) :- order_nth(K,I,N,J), room_for(I,J,R), N <= R.", "order_ok(K,I,N) :- order_nth(K,I,N,_).", "i1_limit"),
    (
        "service.lp",
        "removed(P) :- from_latest(P,I,R), remove_total(I,T), R <= T.",
        "removed(P) :- from_latest(_,I,R), remove_total(I,T), R <= T, stays(P,_).",
        "i2_lost",
    ),
    (
        "ask.lp",
        "placing :- manner(paper), leaving, mode(check), ordered_something.",
        "placing :- leaving, mode(check), ordered_something, denied, settle_all.",
        "can_be_placed",
    ),
    ("ask.lp", "answered_q(Q) :- denied, asking(_,_,Q), optional(Q).", "", "questions_end"),
    ("ask.lp", "act(7,0,else) :- staying, serious, not closing.", "act(7,0,else) :- staying, serious, not closing, changed_order.", "i4_no_way_on"),
    (
        "service.lp",
        "added(P+B+X,I) :- offset(_,I,N,B), top(P), X = 1..N.",
        "added(P+B+X,I) :- offset(_,I,N,B), top(P), X = 1..N. { lucky(I) } :- added(_,I). order(line(99,I)) :- lucky(I).",
        "two_models",
    ),
    ("service.lp", "next(allergy(T)) :- new_allergy(T).", "next(allergy(T)) :- new_allergy(T). effect(add,shared,runout(I)) :- in(_,remove(I,_)).", "rights"),
    ("update.lp", "mod_after(P,S,O,X) :- mod_before(P,S,O,X), not taken_back(P,S,O,X).", "mod_after(P,S,O,X) :- mod_before(P,S,O,X).", "i1_two_sizes"),
    // What one manager changes and has not handed over keeps nobody else from resting on it.
    (
        "manager.lp",
        "held(K) :- held_by(K,_,_).\n%: {F} is being changed in the conversation {S}\nrefuse(K,being_changed) :- held_by(K,F,S).",
        "held(K) :- held_by(K,_,_), K < 0.",
        "version",
    ),
];

#[test]
fn the_hospital_has_no_violation() {
    let domain = Domain::load(&Files::built_in(), "hospital").unwrap();
    let report = verify::domain(&domain, None, Duration::from_secs(60)).unwrap();
    assert_eq!((report.violations.as_slice(), report.undecided.as_slice()), ([].as_slice(), [].as_slice()), "{}", verify::text(&report, false));
    assert_eq!(report.depth, 4);
    assert!(report.states > 500, "{}", verify::text(&report, false));
}

/// How a counterexample runs as a dialogue on a domain.
fn played(text: &str, domain: &Domain) -> Vec<String> {
    let read: Vec<Dialogue> = dialogues::read(text).unwrap_or_else(|e| panic!("{e}\n{text}")).dialogues;
    let invariants = Invariants::load(domain).unwrap();
    let options = Options { reasoner: Reasoner::Fast, clock: Clock::Fixed(0), ..Options::default() };
    let engine = dialogues::fresh(domain, Arc::new(MemoryStore::default()), options);
    dialogues::run(&read[0], &engine, false, invariants.as_ref()).differences.into_iter().map(|d| d.what).collect()
}

#[test]
fn finds_each_of_eleven_planted_defects() {
    let sound = load_paper(Path::new("."));
    let (next, missed) = (AtomicUsize::new(0), Mutex::new(vec![]));
    let find = || {
        loop {
            let defect = next.fetch_add(1, Ordering::Relaxed);
            if defect >= DEFECTS.len() {
                return;
            }
            let found = finds(defect, &sound);
            missed.lock().unwrap().extend(found);
        }
    };
    std::thread::scope(|all| (0..std::thread::available_parallelism().map_or(1, usize::from)).for_each(|_| drop(all.spawn(find))));
    let missed = missed.into_inner().unwrap();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// Why a defect was not found, if it was not.
fn finds(n: usize, sound: &Domain) -> Option<String> {
    let (file, from, to, property) = DEFECTS.get(n)?;
    let root = tempfile::tempdir().unwrap();
    copy(Path::new("kb"), &root.path().join("kb"));
    copy(Path::new("rules"), &root.path().join("rules"));
    let path = root.path().join("rules/drive_thru").join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "defect {n}: `{from}` is not in {file}");
    std::fs::write(&path, text.replace(from, to)).unwrap();
    let broken = load_paper(root.path());
    let start = Instant::now();
    let report = verify::domain(&broken, Some(3), Duration::from_secs(120)).unwrap();
    println!("defect {n} ({property}): {:.1} s", start.elapsed().as_secs_f64());
    match report.violations.iter().find(|v| v.property == *property) {
        Some(v) => {
            // The counterexample is a dialogue that fails as long as the defect is there, and no longer.
            let text = verify::dialogue("drive_thru", std::slice::from_ref(v));
            assert!(!played(&text, &broken).is_empty(), "defect {n} does not show in its counterexample:\n{text}");
            // Answers that lead nowhere with the defect need not be those that lead on without it.
            if v.wanted.is_none() {
                assert_eq!(played(&text, sound), [""; 0], "defect {n}: its counterexample fails without it:\n{text}");
            }
        }
        None => return Some(format!("defect {n} ({property}): {}", verify::text(&report, false))),
    }
    None
}
