//! Conversations with a small flow on a store in memory.

use super::*;
use crate::diag::Source;
use crate::facts::MemoryStore;
use crate::ir::facts;
use crate::lang::chief;

const FLOW: &str = r#"{"task": "desk",
  "nodes": [
    {"id": 1, "type": "request", "slots": {
      "guest": {"type": "name", "identity": true, "label": "Guest", "ask_action": "ask_guest"},
      "nights": {"type": "integer", "cues": ["nights", "night"], "ask_action": "ask_nights"}}},
    {"id": 2, "type": "external_action", "query": "room", "request_type": "Check"},
    {"id": 3, "type": "inform_and_confirm", "star_action": "offer_room"},
    {"id": 4, "type": "inform", "star_action": "sorry"},
    {"id": 5, "type": "external_action", "query": "room", "request_type": "Book"},
    {"id": 6, "type": "inform", "star_action": "booked"}],
  "edges": [{"source": 1, "target": 2}, {"source": 2, "target": 3, "condition": "Available"}, {"source": 2, "target": 4, "condition": "Unavailable"},
    {"source": 3, "target": 5, "condition": "Yes"}, {"source": 3, "target": 1, "condition": "No"}, {"source": 5, "target": 6}],
  "global_actions": [{"intent": "greeting", "star_action": "hello"}],
  "fallback_actions": [{"intent": "goodbye", "star_action": "bye"}, {"intent": "anything_else", "star_action": "more"}, {"intent": "out_of_scope", "star_action": "lost"}],
  "replies": {"hello": "Hello.", "ask_guest": "What is your name?", "ask_nights": "How many nights?", "offer_room": "Room {room:s} is free. Shall I book it?",
    "booked": "Booked, {guest:s}.", "sorry": "We are full.", "bye": "Goodbye.", "more": "Anything else?", "lost": "Pardon?"}}"#;

fn ready(flow: &str) -> Arc<Ready> {
    let (flow, found) = chief::read(&Source::new("desk.json", flow));
    assert!(found.iter().all(|d| d.severity != crate::diag::Severity::Error), "{found:?}");
    Arc::new(Ready::new(&facts::rules().unwrap(), flow.unwrap()).unwrap())
}

fn chat(script: &str) -> Chat {
    let inputs = r#"[{"name": "guest"}, {"name": "nights", "type": "integer"}, {"name": "request_type", "values": ["check", "book"]}]"#;
    let script = serde_json::to_string(script).unwrap();
    let json = format!(r#"[{{"name": "room", "inputs": {inputs}, "target": {{"process": {{"command": ["sh", "-c", {script}]}}}}}}]"#);
    let store = Arc::new(MemoryStore::default());
    Chat::new(ready(FLOW), Functions::from_json(&json).unwrap(), store, SessionKey::new("main", "t")).unwrap()
}

#[test]
fn a_whole_conversation_with_a_correction() {
    let c = chat(r#"read l; case "$l" in *'"nights":3'*) echo '{"Message": "Unavailable"}';; *) echo '{"Message": "Available", "room": "12"}';; esac"#);
    let say = |text: &str| c.step(text).unwrap().text;
    assert_eq!(say("Hello"), "Hello.");
    assert_eq!(say("I need a room for 3 nights please"), "What is your name?");
    assert_eq!(say("Ann"), "We are full.");
    assert_eq!(say("Then I would like 2 nights"), "Room 12 is free. Shall I book it?");
    assert_eq!(say("yes please"), "Booked, ann.");
    assert_eq!(say("thank you"), "Anything else?");
    assert_eq!(say("no, that's all"), "Goodbye.");
}

#[test]
fn a_digression_leaves_the_question_open() {
    let c = chat(r#"echo '{"Message": "Available", "room": "12"}'"#);
    let say = |text: &str| c.step(text).unwrap().text;
    assert_eq!(say("My name is Ann and I need 2 nights"), "Room 12 is free. Shall I book it?");
    assert_eq!(say("Have you ever been to the moon?"), "Pardon?");
    assert_eq!(say("yes"), "Booked, ann.");
}

#[test]
fn a_function_that_fails_is_bad_news_not_a_crash() {
    let c = chat("exit 1");
    assert_eq!(c.step("My name is Ann and I need 2 nights").unwrap().text, "We are full.");
    let r = c.step("hm").unwrap();
    assert!(r.calls.is_empty());
}

#[test]
fn every_act_can_be_explained() {
    let c = chat("echo '{}'");
    let r = c.step("I need a room for 2 nights").unwrap();
    let act = r.outcome.shown().iter().find(|a| &*a.name == "act").unwrap().clone();
    assert!(format!("{:?}", r.outcome.why(&act).unwrap()).contains("first_missing"));
}

#[test]
fn a_reply_says_what_nothing_fills() {
    let c = Chat::new(ready(FLOW), Functions::default(), Arc::new(MemoryStore::default()), SessionKey::new("main", "t")).unwrap();
    let r = c.step("My name is Ann and I need 2 nights").unwrap();
    assert_eq!(r.text, "Room [room] is free. Shall I book it?");
    assert_eq!((r.missing, r.unconnected), (vec!["room".to_owned()], vec!["room".to_owned()]));
}

#[test]
fn the_store_holds_slots_and_results_with_the_turn_they_came_from() {
    let c = chat(r#"echo '{"Message": "Available", "room": "12"}'"#);
    c.step("I need a room for 2 nights please").unwrap();
    c.step("Ann").unwrap();
    let facts = c.store.open(&c.key, ROLE).unwrap().facts;
    let shown: Vec<String> = facts.iter().map(|f| format!("{} by turn {}", f.atom, f.provenance.turn)).collect();
    assert_eq!(
        shown,
        [
            "result(\"room\",\"Message\",\"Available\") by turn 3",
            "result(\"room\",\"room\",\"12\") by turn 3",
            "returned(\"room\",\"main.t.1.2.1\") by turn 3",
            "said(\"ask_guest\") by turn 1",
            "said(\"offer_room\") by turn 3",
            "slot(\"guest\",\"ann\") by turn 2",
            "slot(\"nights\",\"2\") by turn 1",
        ]
    );
}

#[test]
fn another_process_goes_on_where_the_session_stands() {
    let a = chat(r#"echo '{"Message": "Available", "room": "12"}'"#);
    a.step("My name is Ann and I need 2 nights").unwrap();
    let b = Chat::new(a.ready.clone(), a.functions.clone(), a.store.clone(), a.key.clone()).unwrap();
    assert_eq!(b.step("yes please").unwrap().text, "Booked, ann.");
    let other = ready(&FLOW.replace("\"desk\"", "\"counter\""));
    let c = Chat::new(other, Functions::default(), a.store.clone(), a.key.clone()).unwrap();
    assert!(matches!(c.step("hello"), Err(ChatError::OtherFlow { .. })));
}

/// A session whose process broke off right after the commit of its intent.
fn broken_off(functions: &str) -> Chat {
    let c = Chat::new(ready(FLOW), Functions::from_json(functions).unwrap(), Arc::new(MemoryStore::default()), SessionKey::new("main", "t")).unwrap();
    let opened = c.store.open(&c.key, ROLE).unwrap();
    let (mut dialogue, _) = c.standing(&opened).unwrap();
    let text = "My name is Ann and I need 2 nights";
    let heard = dialogue.hear(text);
    let mut turn = Turn { opened, dialogue, said: text.into(), heard, place: 1, calls: vec![], unconnected: vec![], came: None, facts: vec![] };
    let intent = c.intent(&turn, 2).unwrap();
    c.commit(&mut turn, Some(intent), None, String::new(), false).unwrap();
    c
}

#[test]
fn a_call_is_made_again_after_a_break_only_where_twice_is_as_good_as_once() {
    let dir = tempfile::tempdir().unwrap();
    let count = dir.path().join("count");
    let script =
        serde_json::to_string(&format!("read l; echo \"$l\" >> '{}'; echo '{{\"Message\": \"Available\", \"room\": \"7\"}}'", count.display())).unwrap();
    let inputs = r#"[{"name": "guest"}, {"name": "nights", "type": "integer"}, {"name": "request_type"}]"#;
    let json = |idempotent: bool| {
        format!(r#"[{{"name": "room", "inputs": {inputs}, "idempotent": {idempotent}, "target": {{"process": {{"command": ["sh", "-c", {script}]}}}}}}]"#)
    };
    let c = broken_off(&json(false));
    let r = c.resume().unwrap().unwrap();
    assert_eq!(r.calls, [Err(ActError::Interrupted("room".into()))]);
    assert_eq!(r.text, "We are full.");
    assert!(!count.exists() && c.resume().unwrap().is_none());
    let c = broken_off(&json(true));
    assert_eq!(c.resume().unwrap().unwrap().text, "Room 7 is free. Shall I book it?");
    assert_eq!(std::fs::read_to_string(&count).unwrap().lines().count(), 1);
}

#[test]
fn conditions_in_words_are_put_to_a_judge_once_and_kept() {
    use crate::understand::question::{Answer, Question};
    struct Counts(std::sync::atomic::AtomicUsize);
    impl Judge for Counts {
        fn judge(&self, q: &Question) -> Answer {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Answer { holds: q.condition.contains("children") && q.said.contains("kids"), by: "model".into() }
        }
    }
    let flow = r#"{"task": "family", "nodes": [
        {"id": 1, "type": "request", "slots": {
          "guest": {"type": "name", "identity": true, "label": "Guest", "ask_action": "ask_guest"},
          "cots": {"type": "integer", "cues": ["cots"], "ask_action": "ask_cots", "rule": "only when children come along"}}},
        {"id": 2, "type": "inform", "message": "Welcome."}],
      "edges": [{"source": 1, "target": 2}], "replies": {"ask_guest": "Who are you?", "ask_cots": "How many cots?"},
      "fallback_actions": [{"intent": "out_of_scope", "action": "lost"}]}"#;
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let talk = |session: &str, judge: Arc<Counts>| {
        Chat::new(ready(flow), Functions::default(), store.clone(), SessionKey::new("main", session)).unwrap().judged_by(judge)
    };
    let judge = Arc::new(Counts(0.into()));
    let c = talk("a", judge.clone());
    assert_eq!(c.step("I come with the kids").unwrap().act.as_deref(), Some("ask_guest"));
    assert_eq!(c.step("my name is Ann").unwrap().act.as_deref(), Some("ask_cots"));
    assert_ne!(talk("b", judge.clone()).step("my name is Ann").unwrap().act.as_deref(), Some("ask_cots"));
    let asked = judge.0.load(std::sync::atomic::Ordering::Relaxed);
    // The answers are in the record: a replay asks nobody.
    let again = c.dialogue().unwrap();
    assert_eq!(again.answers.iter().count(), 1);
    assert_eq!(asked, 2);
}
