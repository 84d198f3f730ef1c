//! A conversation with a flow whose process is killed in the middle of a call goes on, and the call is not made twice.

use std::path::Path;

use assert_cmd::Command;

const FLOW: &str = r#"{"task": "desk",
  "nodes": [
    {"id": 1, "type": "request", "slots": {"guest": {"type": "name", "identity": true, "label": "Guest", "ask_action": "ask_guest"}}},
    {"id": 2, "type": "external_action", "query": "room"},
    {"id": 3, "type": "inform", "star_action": "booked"},
    {"id": 4, "type": "inform", "star_action": "sorry"}],
  "edges": [{"source": 1, "target": 2}, {"source": 2, "target": 3, "condition": "Success"}, {"source": 2, "target": 4, "condition": "Failure"}],
  "functions": [{"name": "room", "inputs": [{"name": "guest"}], "required": ["guest"], "idempotent": IDEMPOTENT}],
  "fallback_actions": [{"intent": "goodbye", "star_action": "bye"}, {"intent": "anything_else", "star_action": "more"}, {"intent": "out_of_scope", "star_action": "lost"}],
  "replies": {"ask_guest": "What is your name?", "booked": "Room {room:s} is yours, {guest:s}.", "sorry": "That did not work.", "bye": "Goodbye.", "more": "Anything else?", "lost": "Pardon?"}}"#;

/// Connects a function that writes down its call and then does what the script says.
fn functions(dir: &Path, script: &str) {
    let script = serde_json::to_string(&format!("read l; echo \"$l\" >> '{}'; {script}", dir.join("calls").display())).unwrap();
    let text = format!(r#"[{{"name": "room", "target": {{"process": {{"command": ["sh", "-c", {script}]}}}}}}]"#);
    std::fs::write(dir.join("functions.json"), text).unwrap();
}

fn talk(dir: &Path, lines: &str) -> std::process::Output {
    let place = |name: &str| dir.join(name).to_string_lossy().into_owned();
    Command::cargo_bin("duologue")
        .unwrap()
        .args(["chat", "--flow", &place("desk.json"), "--functions", &place("functions.json"), "--store", &place("store.db"), "--session", "s"])
        .write_stdin(lines.to_owned())
        .output()
        .unwrap()
}

fn killed_then(idempotent: bool) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("desk.json"), FLOW.replace("IDEMPOTENT", &idempotent.to_string())).unwrap();
    functions(dir.path(), "kill -9 $PPID; sleep 5");
    let first = talk(dir.path(), "I need a room\nmy name is Ann\n");
    assert!(!first.status.success(), "the process was to be killed: {}", String::from_utf8_lossy(&first.stdout));
    functions(dir.path(), r#"echo '{"room": "12"}'"#);
    let second = talk(dir.path(), "/facts\nthank you\n");
    assert!(second.status.success(), "{}", String::from_utf8_lossy(&second.stderr));
    (dir, String::from_utf8_lossy(&second.stdout).into_owned())
}

#[test]
fn a_call_under_way_is_not_made_again() {
    let (dir, said) = killed_then(false);
    assert_eq!(std::fs::read_to_string(dir.path().join("calls")).unwrap().lines().count(), 1);
    assert!(said.contains("was interrupted, and nobody knows whether it was carried out"), "{said}");
    assert!(said.contains("bot> That did not work.") && said.contains("value(\"guest\",\"ann\")") && said.contains("bot> Anything else?"), "{said}");
}

/// `chat` keeps each flow at a site of its own; `why` looks there too.
#[test]
fn why_finds_a_conversation_with_a_flow_where_chat_left_it() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("desk.json"), FLOW.replace("IDEMPOTENT", "true")).unwrap();
    functions(dir.path(), r#"echo '{"room": "12"}'"#);
    assert!(talk(dir.path(), "I need a room\n").status.success());
    let place = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
    let why = Command::cargo_bin("duologue").unwrap().args(["why", "--flow", &place("desk.json"), "--store", &place("store.db")]).output().unwrap();
    let told = String::from_utf8_lossy(&why.stdout);
    assert!(told.contains("What is your name?") && told.contains("desk.json:3"), "{told}{}", String::from_utf8_lossy(&why.stderr));
}

#[test]
fn a_call_that_may_be_repeated_is_made_again_under_its_name() {
    let (dir, said) = killed_then(true);
    let calls = std::fs::read_to_string(dir.path().join("calls")).unwrap();
    let lines: Vec<&str> = calls.lines().collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0], lines[1], "the second call has the same name as the first");
    assert!(said.contains("bot> Room 12 is yours, ann."), "{said}");
}
