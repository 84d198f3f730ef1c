//! Why-not over all dialogues: every action that did not come about can be asked for, and the answer comes at once.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test that cannot go on must fail loudly"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use duologue::domain::{Domain, Files};
use duologue::eval::dialogues;
use duologue::facts::MemoryStore;
use duologue::reason::proof::Fails;
use duologue::reason::{Reasoner, minimal_conflict, unsat_core};
use duologue::term::Atom;
use duologue::turn::{Clock, Options};

/// Runs the dialogues of a domain and looks at every decision.
fn each_decision(file: &str, domain: &str, see: &mut dyn FnMut(&duologue::turn::Engine, &duologue::turn::Decided)) {
    let domain = Domain::load(&Files::built_in(), domain).unwrap();
    let text = std::fs::read_to_string(format!("tests/dialogues/{file}")).unwrap();
    let read = dialogues::read(&text).unwrap();
    let domain = read.settle(&domain).unwrap();
    for d in read.dialogues {
        let options = Options { reasoner: Reasoner::Fast, remember: true, clock: Clock::Fixed(0), ..Options::default() };
        let engine = dialogues::fresh(&domain, Arc::new(MemoryStore::default()), options);
        dialogues::run_and(&d, &engine, false, None, &mut |engine, key| {
            see(engine, &engine.decided(key).unwrap());
            vec![]
        });
    }
}

const FILES: [(&str, &str); 4] = [
    ("drive_thru_dev.yaml", "drive_thru"),
    ("drive_thru_policy.yaml", "drive_thru"),
    ("drive_thru_situations.yaml", "drive_thru"),
    ("hospital_dev.yaml", "hospital"),
];

/// `cargo test --release --test why_not -- --nocapture` prints the times; a debug build looks at fewer turns.
#[test]
fn every_missing_action_has_an_answer_at_once() {
    let mut times: Vec<Duration> = vec![];
    let (mut asked, mut blocked) = (0, 0);
    let every = if cfg!(debug_assertions) { 12 } else { 1 };
    for (file, domain) in FILES {
        let mut n = 0;
        each_decision(file, domain, &mut |engine, decided| {
            n += 1;
            if n % every != 0 {
                return;
            }
            for form in &engine.domain().ontology.actions {
                let wild = vec!["_"; form.args.len()].join(",");
                let question = if wild.is_empty() { form.name.to_string() } else { format!("{}({wild})", form.name) };
                let start = Instant::now();
                let found = engine.why_not(decided, &question).unwrap_or_else(|e| panic!("{question}: {e}"));
                times.push(start.elapsed());
                asked += 1;
                let took = decided.acts.iter().any(|a| a.action.name == form.name && a.action.args.len() == form.args.len());
                assert_eq!(!found.holds.is_empty(), took, "{question}: {found:?}");
                assert!(took || !found.ways.is_empty() || found.text(&|_| String::new()).contains("no rule"), "{question}");
                blocked += usize::from(found.ways.first().is_some_and(|w| w.kind == Fails::Holds));
            }
        });
    }
    times.sort();
    let at = |p: usize| times[(times.len() - 1) * p / 100];
    println!("{asked} questions, {blocked} blocked by what holds; p50 {:?}, p99 {:?}, longest {:?}", at(50), at(99), at(100));
    assert!(asked >= 200 && blocked >= 20, "{asked} questions, {blocked} blocked by what holds: too few to say anything");
}

/// Where a refusal depends on several requests, the smallest part of them that the evaluator finds by leaving out, and the solver's
/// unsatisfiable core over everything that could be said beside, belong together.
#[test]
fn conflicts_found_by_leaving_out_are_parts_of_the_solvers_cores() {
    let (mut refusals, mut combined, mut same) = (0, 0, 0);
    let every = if cfg!(debug_assertions) { 4 } else { 1 };
    for (file, domain) in FILES {
        let mut n = 0;
        each_decision(file, domain, &mut |engine, decided| {
            let out = &decided.outcome;
            let said: Vec<Atom> = out.facts().iter().filter(|f| &*f.name == "in").cloned().collect();
            if !(2..=8).contains(&said.len()) {
                return;
            }
            n += 1;
            if n % every != 0 {
                return;
            }
            for act in decided.acts.iter().filter(|a| &*a.action.name == "reject") {
                refusals += 1;
                let shown = act.shown();
                let small = minimal_conflict(out.base(), out.facts(), &said, &shown, &engine.options().budget).unwrap();
                if small.is_empty() {
                    // Refused for its form alone: no input that was let in has a part in it.
                    continue;
                }
                combined += usize::from(small.len() > 1);
                if let Some(core) = unsat_core(out.base(), out.facts(), &said, &shown).unwrap() {
                    // What is certain whatever else is said, is so when nothing else is said.
                    let within = minimal_conflict(out.base(), out.facts(), &core, &shown, &engine.options().budget);
                    assert!(within.is_some_and(|w| w.iter().all(|a| core.contains(a))), "{shown}: {core:?}");
                    same += usize::from(core == small);
                    assert!(core.len() >= small.len() || !core.iter().all(|a| small.contains(a)), "{shown}: {core:?} is smaller than {small:?}");
                }
            }
        });
    }
    println!("{refusals} refusals among several requests, {combined} of them of a combination; the solver's core is the same in {same}");
    assert!(refusals > 3, "{refusals}");
}
