//! A script takes the one turn: it waits, says, sets, calls, branches, jumps and returns; its standing survives a kill between any two turns, its
//! log replays equal, and every reply leads back to the step that its author wrote.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test that cannot go on must fail loudly")]

use std::path::Path as File;
use std::sync::Arc;

use duologue::diag::Origin;
use duologue::domain::{Domain, Files};
use duologue::facts::{CommitRule, SessionKey, Store, open_store};
use duologue::ir::guard::{Compare, Guard};
use duologue::ir::kind::Kind;
use duologue::ir::script::{Block, Callee, Step, StepKind, Way};
use duologue::ir::value::{Given, Path, Value};
use duologue::ir::walk::proposed;
use duologue::ir::{Agent, Arg, Body, Function, Input, Program, Project};
use duologue::lang;
use duologue::ontology::Scope;
use duologue::term::{Atom, Term};
use duologue::turn::replay::Replay;
use duologue::turn::{Clock, Engine, Options, Said, TurnRecord};

fn at(line: u32) -> Origin {
    Origin { file: "boats.script".into(), start: 0, end: 0, line, column: 1 }
}

/// A block whose steps stand one a line from `line` on.
fn block(name: &str, line: u32, steps: Vec<StepKind>) -> Block {
    let steps = (line + 1..).zip(steps).map(|(line, kind)| Step { id: String::new(), kind, origin: at(line) }).collect();
    Block { name: name.to_owned(), steps, within: None, origin: at(line) }
}

fn say(text: &str) -> StepKind {
    StepKind::Say(text.to_owned())
}

fn jump(to: &str) -> StepKind {
    StepKind::Jump { to: to.to_owned(), tries: None }
}

fn way(guard: Guard, to: &str) -> Way {
    Way { guard, tries: None, to: to.to_owned() }
}

fn people(how: Compare, n: i64) -> Guard {
    Guard::Compare(Path::named("people"), how, Value::Integer(n))
}

/// Hires boats out: asks for how many, at most eight, counts how often it had to ask, books, and tells what came of it.
fn boats() -> Program {
    let given = |name: &str| Given::Of(Path::named(name));
    let main = vec![
        say("Welcome to the boat hire."),
        StepKind::Label("ask".into()),
        say("How many are you?"),
        StepKind::Wait,
        StepKind::Choose(vec![way(Guard::Not(Box::new(Guard::Known(Path::named("people")))), "unheard"), way(people(Compare::More, 8), "too many")]),
        StepKind::Set(vec![(Path::named("party"), given("people"))]),
        StepKind::Call { who: Callee::Function("book".into()), with: vec![("seats".into(), given("party"))] },
        StepKind::Choose(vec![way(Guard::Known(Path::of("book", "boat")), "booked")]),
        StepKind::Choose(vec![way(Guard::Not(Box::new(Guard::Known(Path::of("book", "boat")))), "sorry")]),
        say("Goodbye."),
    ];
    let unheard = vec![say("I did not get that."), jump("ask")];
    let too_many = vec![say("${people} are too many, eight at most."), StepKind::Set(vec![(Path::named("people"), Given::Is(Value::None))]), jump("ask")];
    let booked = vec![say("Boat ${book.boat} is yours, for ${party}."), StepKind::Return { success: true, message: String::new() }, say("Never said.")];
    let sorry = vec![say("No boat is free."), jump("again")];
    let again = vec![say("Shall I try once more?"), StepKind::Wait, jump("main")];
    let blocks = vec![
        block("main", 1, main),
        block("unheard", 20, unheard),
        block("too many", 30, too_many),
        block("booked", 40, booked),
        block("sorry", 50, sorry),
        block("again", 60, again),
    ];
    let agent = Agent {
        name: "hire".into(),
        about: String::new(),
        args: vec![Arg::named("people"), Arg::named("party")],
        body: Body::Script(blocks),
        opening: vec![],
        fallback: None,
        exit: None,
        origin: at(1),
    };
    let book = Function {
        name: "book".into(),
        inputs: vec![Input { name: "seats".into(), kind: Kind::Integer, required: false }],
        outputs: vec!["boat".into()],
        ..Function::default()
    };
    Program { name: "boats".into(), agents: vec![agent], entry: "hire".into(), functions: vec![book], project: Project::default(), origin: at(1) }
}

fn domain() -> Domain {
    lang::script::domain(&boats(), &Files::built_in()).unwrap_or_else(|found| panic!("{found:?}"))
}

fn options() -> Options {
    Options { clock: Clock::Fixed(0), remember: true, explain: true, ..Options::default() }
}

/// As a process that just started: nothing but the store is there. The harbour has boats for up to five people.
fn engine(file: &File) -> Engine {
    let store: Arc<dyn Store> = open_store(file.to_str().unwrap(), CommitRule::default()).unwrap();
    let engine = Engine::new(domain(), store).with_options(options());
    let script = r#"read call; case "$call" in *:[1-5][,}]*) echo '[{"arg": "boat", "value": 7}]';; *) echo '{"fault": "none"}';; esac"#;
    let target = serde_json::json!([{ "name": "book", "target": { "process": { "command": ["sh", "-c", script] } } }]);
    let functions = engine.functions().clone().configured(&target.to_string()).unwrap();
    engine.with_functions(functions)
}

fn key() -> SessionKey {
    SessionKey::new("s", "c")
}

/// Nothing is said: the conversation is opened.
const OPENED: &[Atom] = &[];

/// Words, and how many people they tell of.
fn says(people: Option<i64>) -> Vec<Atom> {
    let words = Atom::new("message", vec![Term::string("well")]);
    let told = people.map(|n| proposed("extract", "hire", &[], &serde_json::json!({ "data": { "people": n } })));
    std::iter::once(words).chain(told).collect()
}

/// One turn in a process of its own.
fn turn(file: &File, said: &[Atom]) -> TurnRecord {
    engine(file).turn(&key(), "speaker", &Said::Atoms(None, said), None).unwrap()
}

/// The values, outcomes and results that the conversation holds.
fn facts(file: &File) -> Vec<String> {
    let kept = engine(file).store().facts(Scope::Session, &key()).unwrap();
    kept.iter().filter(|f| matches!(&*f.atom.name, "value" | "outcome" | "gave" | "under_way")).map(|f| f.atom.to_string()).collect()
}

#[test]
fn a_script_goes_on_where_it_stood_whatever_process_takes_its_turns() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("store.db");
    assert_eq!(turn(&file, OPENED).text, "Welcome to the boat hire. How many are you?");
    assert_eq!(turn(&file, &says(None)).text, "I did not get that. How many are you?");
    assert_eq!(turn(&file, &says(Some(12))).text, "12 are too many, eight at most. How many are you?");
    assert_eq!(facts(&file), [""; 0], "what was taken away is gone");

    // The call is one of the one way to call, its fault an outcome.
    let record = turn(&file, &says(Some(6)));
    assert_eq!((record.text.as_str(), record.rounds.len()), ("No boat is free. Shall I try once more?", 2));
    let expected = ["outcome(\"\",\"book\",error,\"none\")", "value(\"hire\",\"party\",6)", "value(\"hire\",\"people\",6)"];
    assert_eq!(facts(&file), expected);

    // A jump to an open block leaves all above it; the label's question is asked anew.
    assert_eq!(turn(&file, &says(None)).text, "Welcome to the boat hire. How many are you?");
    let record = turn(&file, &says(Some(3)));
    assert_eq!((record.text.as_str(), record.ended.as_deref()), ("Boat 7 is yours, for 3. Goodbye.", Some("done")));
    let call = &record.rounds[0].calls[0];
    assert_eq!((call.function.as_str(), call.inputs["seats"].as_i64()), ("book", Some(3)));
}

#[test]
fn why_a_script_says_something_is_the_line_where_it_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("store.db");
    turn(&file, OPENED);
    let record = turn(&file, &says(Some(12)));
    let why = serde_json::to_string(&record.why).unwrap();
    assert!(why.contains("says(\\\"hire\\\",\\\"too many\\\",1)") && why.contains("boats.script:31"), "{why}");
    assert!(why.contains("step 1 of too many of hire is taken"), "{why}");
}

#[test]
fn the_log_of_a_script_replays_equal_and_calls_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("store.db");
    for said in [vec![], says(Some(6)), says(None), says(Some(2))] {
        turn(&file, &said);
    }
    let mut replay = Replay::new(&domain(), "s", CommitRule::default(), options());
    let mut taken = 0;
    for entry in engine(&file).store().log("s", 0, 100).unwrap() {
        if let Some(t) = replay.take(&entry).unwrap() {
            assert!(t.agrees(), "{:?}\n{:?}", t.was, t.is);
            taken += 1;
        }
    }
    assert_eq!(taken, 6, "four turns, two of them with a call");
}

#[test]
fn a_script_without_an_end_is_stopped_and_says_so() {
    let mut program = boats();
    program.agents[0].body = Body::Script(vec![block("main", 1, vec![StepKind::Label("on".into()), jump("on")])]);
    let domain = lang::script::domain(&program, &Files::built_in()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = open_store(dir.path().join("s.db").to_str().unwrap(), CommitRule::default()).unwrap();
    let options = Options { reasoner: duologue::reason::Reasoner::Fast, ..options() };
    let record = Engine::new(domain, store).with_options(options).turn(&key(), "speaker", &Said::Atoms(None, OPENED), None).unwrap();
    assert_eq!(record.ended.as_deref(), Some("done"));
    assert!(record.view.iter().any(|a| a.to_string().contains("outcome(\"hire\",error,\"endless loop\")")), "{:?}", record.view);
}

#[test]
fn names_that_nothing_bears_are_found_where_they_were_written() {
    let mut program = boats();
    let bad = vec![jump("aks"), StepKind::Label("ask".into()), StepKind::Call { who: Callee::Function("bok".into()), with: vec![] }];
    program.agents[0].body = Body::Script(vec![block("main", 1, bad)]);
    let found = lang::script::domain(&program, &Files::built_in()).unwrap_err();
    let told: Vec<_> = found.iter().map(|d| (d.origin.line, d.message.as_str(), d.help.as_deref().unwrap_or_default())).collect();
    assert_eq!(told, [(2, "no label or block is called `aks`", "did you mean `ask`?"), (4, "no function is called `bok`", "did you mean `book`?")]);
}
