//! Conversations with a small flow: the turn takes them as it takes those of any domain.

use std::path::Path;
use std::sync::Arc;

use duologue::act::{Function, Functions, Target};
use duologue::diag::{Severity, Source};
use duologue::domain::{Domain, Files};
use duologue::eval::verify;
use duologue::facts::{CommitRule, MemoryStore, SessionKey, Store};
use duologue::ir::walk::proposed;
use duologue::lang::{adl, chief, script};
use duologue::ontology::{Scope, StandIn};
use duologue::term::{Atom, Term};
use duologue::turn::replay::Replay;
use duologue::turn::{Engine, Options, Said, TurnRecord};
use duologue::understand::question::ByWords;
use serde_json::{Value, json};

const FLOW: &str = include_str!("desk/desk.json");

fn domain(flow: &str) -> Domain {
    let (program, found) = chief::read(&Source::new("desk.json", flow));
    assert!(found.iter().all(|d| d.severity != Severity::Error), "{found:?}");
    chief::domain::domain(&program.unwrap(), &Files::built_in()).unwrap()
}

/// Functions that answer as a table says: the function, an input with its value, the answer.
fn answering(domain: &Domain, table: &[(&str, Value, Value)]) -> Functions {
    let declared = Functions::of(&domain.ontology);
    let cases = |name: &str| {
        let own = table.iter().filter(|(f, _, _)| *f == name);
        own.map(|(_, when, answer)| StandIn { when: serde_json::from_value(when.clone()).unwrap(), answer: answer.clone(), fault: None }).collect()
    };
    Functions::new(declared.names().map(|n| Function { target: Target::StandIn(cases(n)), ..declared.get(n).unwrap().clone() }))
}

struct Talk {
    engine: Engine,
    role: &'static str,
}

impl Talk {
    fn new(domain: Domain, role: &'static str) -> Self {
        let rooms = [
            ("room", json!({ "nights": 3 }), json!({ "Message": "Unavailable" })),
            ("room", json!({}), json!({ "Message": "Available", "room": "12" })),
            ("book", json!({}), json!({ "Message": "Booked" })),
        ];
        let functions = answering(&domain, &rooms);
        let ear = domain.ear(Arc::new(ByWords));
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let mut engine = Engine::new(domain, store).with_functions(functions).with_options(Options { remember: true, explain: true, ..Options::default() });
        if let Some(ear) = ear {
            engine = engine.with_understand(Arc::new(ear));
        }
        Self { engine, role }
    }

    fn key() -> SessionKey {
        SessionKey::new("main", "t")
    }

    fn turn(&self, text: &str) -> TurnRecord {
        self.engine.turn(&Self::key(), self.role, &Said::Text(text), None).unwrap()
    }

    fn say(&self, text: &str) -> String {
        self.turn(text).text
    }

    fn facts(&self) -> Vec<String> {
        self.engine.store().facts(Scope::Session, &Self::key()).unwrap().iter().map(|f| format!("{} by turn {}", f.atom, f.provenance.turn)).collect()
    }
}

fn talk() -> Talk {
    Talk::new(domain(FLOW), "speaker")
}

#[test]
fn a_whole_conversation_with_a_correction() {
    let t = talk();
    assert_eq!(t.say("Hello"), "Hello.");
    assert_eq!(t.say("I need a room for 3 nights please"), "What is your name?");
    assert_eq!(t.say("Ann"), "We are full.");
    assert_eq!(t.say("Then I would like 2 nights"), "Room 12 is free. Shall I book it?");
    assert_eq!(t.say("yes please"), "Booked, ann.");
    assert_eq!(t.say("thank you"), "Anything else?");
    let last = t.turn("no, that's all");
    assert_eq!((last.text.as_str(), last.ended.as_deref()), ("Goodbye.", Some("left")));
}

#[test]
fn a_digression_leaves_the_question_open() {
    let t = talk();
    assert_eq!(t.say("My name is Ann and I need 2 nights"), "Room 12 is free. Shall I book it?");
    assert_eq!(t.say("Have you ever been to the moon?"), "Pardon?");
    assert_eq!(t.say("yes"), "Booked, ann.");
}

/// The last change is taken back: what was said is open again, and a correction goes back to what stood before.
#[test]
fn what_was_said_can_be_taken_back_once() {
    let t = talk();
    assert_eq!(t.say("I need a room please"), "What is your name?");
    assert_eq!(t.say("Ann"), "How many nights?");
    assert_eq!(t.say("oh, take that back please"), "What is your name?");
    assert_eq!(t.say("undo that"), "Pardon?");
    assert_eq!(t.say("Ann"), "How many nights?");
    assert_eq!(t.say("2 nights"), "Room 12 is free. Shall I book it?");
    assert_eq!(t.say("Actually I would like 3 nights"), "We are full.");
    assert_eq!(t.say("undo"), "Room 12 is free. Shall I book it?");
    assert!(t.facts().iter().any(|f| f.starts_with("value(\"nights\",2)")), "{:#?}", t.facts());
    assert_eq!(t.say("yes please"), "Booked, ann.");
}

/// Why not: down to the rule that could have said it.
#[test]
fn why_an_act_is_not_said_leads_to_what_it_waits_for() {
    let t = talk();
    t.say("I need a room for 2 nights please");
    let decided = t.engine.decided(&Talk::key()).unwrap();
    let found = t.engine.why_not(&decided, "say(\"offer_room\")").unwrap().text(&|_| String::new());
    for words in ["nothing more urgent is to be said", "it could be done", "want(_,say(\"offer_room\")) does not hold"] {
        assert!(found.contains(words), "{words}: {found}");
    }
    assert!(!found.contains("act_number"), "{found}");
}

#[test]
fn a_reply_shows_what_nothing_fills() {
    let t = talk();
    let engine = Engine::new(domain(FLOW), Arc::new(MemoryStore::default())).with_understand(Arc::new(domain(FLOW).ear(Arc::new(ByWords)).unwrap()));
    let unconnected = Talk { engine, role: "speaker" };
    assert_eq!(unconnected.say("My name is Ann and I need 2 nights"), "Room [room] is free. Shall I book it?");
    assert_eq!(t.say("My name is Ann and I need 2 nights"), "Room 12 is free. Shall I book it?");
}

#[test]
fn the_store_holds_values_and_results_with_the_turn_that_they_came_from() {
    let t = talk();
    t.turn("I need a room for 2 nights please");
    t.turn("Ann");
    let facts = t.facts();
    for fact in ["value(\"guest\",\"ann\") by turn 2", "value(\"nights\",2) by turn 1", "result(\"room\",\"room\",\"12\") by turn 3", "waiting(3) by turn 3"] {
        assert!(facts.iter().any(|f| f == fact), "{fact}: {facts:#?}");
    }
}

#[test]
fn a_request_sent_twice_is_taken_once_and_a_replay_takes_every_turn_again() {
    let t = talk();
    let send = |text: &str, request: &str| t.engine.turn(&Talk::key(), "speaker", &Said::Text(text), Some(request)).unwrap();
    let first = send("My name is Ann and I need 2 nights", "r1");
    assert_eq!(send("My name is Ann and I need 2 nights", "r1").text, first.text);
    let kept = t.facts();
    send("yes please", "r2");
    assert_ne!(t.facts(), kept);
    // What calls gave is taken from the log: nothing is called again.
    let log = t.engine.store().log("main", 0, 100).unwrap();
    let mut again = Replay::new(&domain(FLOW), "main", CommitRule::default(), Options::default());
    for entry in &log {
        if let Some(taken) = again.take(entry).unwrap() {
            assert!(taken.agrees(), "turn {}", entry.seq);
        }
    }
}

#[test]
fn a_proof_names_the_line_that_the_author_wrote() {
    let record = talk().turn("I need a room for 2 nights please");
    let why = &record.why[0];
    assert_eq!(why.action, "say(\"ask_guest\")");
    assert!(why.proof.to_string().contains("desk.json:4"), "{}", why.proof);
}

#[test]
fn nobody_can_say_what_his_role_may_not() {
    let t = talk();
    let said = ["did(\"booked\")".to_owned(), "present(day,\"monday\")".to_owned(), "gives(\"no_such_slot\",\"x\")".to_owned()];
    let record = t.engine.turn(&Talk::key(), "speaker", &Said::Predicates(&said), None).unwrap();
    let codes: Vec<&str> = record.refused.iter().map(|r| r.code.as_str()).collect();
    assert_eq!(codes, ["no_right", "no_right"]);
    assert!(!t.facts().iter().any(|f| f.contains("booked") || f.contains("no_such_slot")));
}

#[test]
fn of_two_places_told_in_one_breath_the_last_is_where_the_speaker_is() {
    let ride = Talk::new(domain(include_str!("../../kb/star/flows/ride_book.json")), "informant");
    let told = |places: [&str; 2]| {
        let said = places.map(|p| format!("present(place,\"{p}\")"));
        ride.engine.turn(&SessionKey::new("main", "elsewhere"), "informant", &Said::Predicates(&said), None).unwrap();
        let kept = ride.engine.store().facts(Scope::Shared, &Talk::key()).unwrap();
        kept.iter().map(|f| f.atom.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(told(["Kings Road", "Mill Lane"]), ["present(place,\"Mill Lane\")"]);
    assert_eq!(told(["Mill Lane", "Kings Road"]), ["present(place,\"Kings Road\")"]);
    let said = ["gives(\"CustomerName\",\"Ann\")".to_owned(), "gives(\"ArrivalLocation\",\"Station\")".to_owned()];
    let record = ride.engine.turn(&Talk::key(), "speaker", &Said::Predicates(&said), None).unwrap();
    let call = record.rounds.iter().flat_map(|r| &r.calls).next().unwrap();
    assert_eq!(call.inputs.get("DepartureLocation"), Some(&json!("Kings Road")));
}

#[test]
fn a_sound_flow_breaks_nothing_and_what_goes_wrong_is_told_with_the_way_there() {
    let search = |flow: &str| verify::domain(&domain(flow), Some(3), std::time::Duration::from_secs(60)).unwrap();
    let sound = search(FLOW);
    assert_eq!(sound.violations, []);
    assert!(sound.states > 20, "{}", sound.states);
    let optional = search(&FLOW.replace(r#""nights", "night"], "#, r#""nights", "night"], "required": false, "#));
    let found = optional.violations.iter().find(|v| v.property == "inputs").unwrap_or_else(|| panic!("{:#?}", optional.violations));
    assert!(found.detail.contains("nights"), "{}", found.detail);
}

/// The same bot written as a domain: its files stand beside the flow.
fn written_as_a_domain() -> Domain {
    let dir = tempfile::tempdir().unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/flows/desk");
    for (file, to) in [("ontology.yaml", "kb/desk"), ("templates.yaml", "kb/desk"), ("desk.lp", "rules/desk")] {
        std::fs::create_dir_all(dir.path().join(to)).unwrap();
        std::fs::copy(from.join(file), dir.path().join(to).join(file)).unwrap();
    }
    Domain::load(&Files::folder(dir.path()), "desk").unwrap()
}

#[test]
fn one_bot_written_as_a_domain_and_as_a_flow_gives_one_transcript() {
    let flow = talk();
    let rules = Talk::new(written_as_a_domain(), "guest");
    let said = [
        ("Hello", "greet"),
        ("I need a room for 3 nights please", "nights(3)"),
        ("Ann", "name(\"ann\")"),
        ("Then I would like 2 nights", "nights(2)"),
        ("yes please", "yes"),
        ("thank you", "thanks"),
        ("no, that's all", "quit"),
    ];
    for (words, predicate) in said {
        let of_rules = rules.engine.turn(&Talk::key(), "guest", &Said::Predicates(&[predicate.to_owned()]), None).unwrap();
        same(words, &flow.turn(words), &of_rules);
    }
}

/// What is said and called is the same.
fn same(words: &str, one: &TurnRecord, other: &TurnRecord) {
    assert_eq!(one.text, other.text, "{words}");
    let calls = |r: &TurnRecord| r.rounds.iter().flat_map(|r| &r.calls).map(|c| (c.function.clone(), c.inputs.clone())).collect::<Vec<_>>();
    assert_eq!(calls(one), calls(other), "{words}");
}

#[test]
fn one_bot_written_in_chief_and_in_adl_gives_one_transcript() {
    let (program, found) = adl::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/flows/desk/agents.yml"));
    assert!(found.is_empty(), "{found:?}");
    let domain = script::domain(&program.unwrap(), &Files::built_in()).unwrap();
    let rooms = [
        ("room", json!({ "nights": 3 }), json!({ "error": "Unavailable" })),
        ("room", json!({}), json!([{ "arg": "room", "value": "12" }])),
        ("book", json!({}), json!([])),
    ];
    let functions = answering(&domain, &rooms);
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let steps = Engine::new(domain, store).with_functions(functions);
    let flow = talk();
    let gives = |data: Value| proposed("extract", "main", &[], &json!({ "data": data }));
    let claims = |phrase: &str| proposed("intent", "main", &[phrase.to_owned()], &json!(true));
    let said = [
        ("Hello", vec![claims("hello")]),
        ("I need a room for 3 nights please", vec![gives(json!({ "nights": 3 }))]),
        ("Ann", vec![gives(json!({ "guest": "ann" }))]),
        ("Then I would like 2 nights", vec![gives(json!({ "nights": 2 }))]),
        ("yes please", vec![claims("yes")]),
        ("thank you", vec![]),
        ("no, that's all", vec![]),
    ];
    for (words, proposals) in said {
        let inputs: Vec<Atom> = std::iter::once(Atom::new("message", vec![Term::string(words)])).chain(proposals).collect();
        let of_steps = steps.turn(&Talk::key(), "speaker", &Said::Atoms(Some(words), &inputs), None).unwrap();
        let of_flow = flow.turn(words);
        same(words, &of_flow, &of_steps);
        assert_eq!(of_flow.ended.is_some(), of_steps.ended.is_some(), "{words}");
    }
}
