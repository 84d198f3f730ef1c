//! Calls to programs, servers and tools that the tests start themselves.

use std::sync::Arc;

use std::io::{Read, Write};

use super::*;
use crate::facts::{MemoryStore, SessionKey, Store};

fn function(target: Target) -> Function {
    let input = |name: &str, kind, required| Input { name: name.into(), kind, required, list: false, values: vec![] };
    Function {
        name: "book".into(),
        inputs: vec![input("guest", InputType::String, true), input("nights", InputType::Integer, false)],
        target,
        timeout_ms: 5_000,
        retries: 0,
        idempotent: false,
        open: false,
    }
}

fn call(inputs: &[(&str, Value)]) -> Call {
    Call { function: "book".into(), inputs: inputs.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect() }
}

fn shell(script: &str) -> Vec<String> {
    ["sh", "-c", script].map(str::to_owned).to_vec()
}

/// A ticket as a store gives it for the first turn of a session.
fn ticket() -> Ticket {
    let store = MemoryStore::default();
    let _ = store.install("x", &[], 0).unwrap();
    let mut turn = store.open(&SessionKey::new("x", "s"), "speaker").unwrap().turn(0);
    turn.record = "{}".into();
    store.commit_to_act(&turn).unwrap().1.unwrap()
}

fn perform(f: Function, inputs: &[(&str, Value)]) -> Result<Returned, ActError> {
    let made = Arc::new(Functions::new([f]));
    crate::wait::block_on(made.perform_all(vec![(call(inputs), 1)], ticket(), None)).remove(0)
}

#[test]
fn inputs_are_checked_before_anything_is_called() {
    let f = function(Target::Process { command: shell("exit 1") });
    let error = |inputs: &[(&str, Value)]| perform(f.clone(), inputs).unwrap_err().to_string();
    assert_eq!(error(&[]), "`book` cannot be called without `guest`");
    assert_eq!(error(&[("guest", "Ann".into()), ("nights", "two".into())]), "the input `nights` of `book` is no whole number");
    assert_eq!(error(&[("guest", "Ann".into()), ("pets", 1.into())]), "`book` has no input `pets`");
}

#[test]
fn a_program_gets_json_and_gives_facts() {
    let script = r#"read line; case "$line" in *'"guest":"Ann"'*) echo '{"result": {"Number": 12, "Status": "booked", "Paid": false}}';; *) exit 3;; esac"#;
    let r = perform(function(Target::Process { command: shell(script) }), &[("guest", "Ann".into())]).unwrap();
    assert_eq!(r.attempts, 1);
    let facts: Vec<String> = r.facts().iter().map(ToString::to_string).collect();
    assert_eq!(
        facts,
        ["result(\"book\",\"Number\",12)", "result(\"book\",\"Paid\",false)", "result(\"book\",\"Status\",\"booked\")", "returned(\"book\",\"x.s.1.1.1\")"]
    );
}

#[test]
fn errors_and_silence_of_a_program_have_names() {
    let run = |script: &str, f: fn(&mut Function)| {
        let mut x = function(Target::Process { command: shell(script) });
        f(&mut x);
        perform(x, &[("guest", "Ann".into())]).unwrap_err()
    };
    assert_eq!(run("echo '{\"error\": \"full\"}'", |_| ()), ActError::Failed("book".into(), "full".into()));
    assert!(matches!(run("echo nonsense", |_| ()), ActError::Unreadable(..)));
    assert!(matches!(run("exit 4", |_| ()), ActError::Failed(..)));
    assert!(matches!(run("sleep 20", |f| f.timeout_ms = 100), ActError::Timeout { millis: 100, .. }));
    let missing = function(Target::Process { command: vec!["no-such-program-anywhere".into()] });
    assert!(matches!(perform(missing, &[("guest", "Ann".into())]), Err(ActError::Unreachable(..))));
}

#[test]
fn only_idempotent_calls_are_repeated_after_a_failure() {
    let dir = tempfile::tempdir().unwrap();
    let count = dir.path().join("count");
    let script = format!("echo x >> '{0}'; test $(wc -l < '{0}') -ge 3 || exit 1; echo '{{\"ok\": true}}'", count.display());
    let mut f = function(Target::Process { command: shell(&script) });
    f.retries = 5;
    assert!(perform(f.clone(), &[("guest", "Ann".into())]).is_err());
    f.idempotent = true;
    assert_eq!(perform(f, &[("guest", "Ann".into())]).unwrap().attempts, 2);
}

#[test]
fn a_server_gets_a_post_with_the_name_of_the_call() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/book", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut s, _) = listener.accept().unwrap();
        let mut seen = Vec::new();
        let mut part = [0; 4096];
        while !seen.ends_with(b"}") {
            let n = s.read(&mut part).unwrap();
            seen.extend_from_slice(&part[..n]);
        }
        s.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 13\r\nconnection: close\r\n\r\n{\"Number\": 5}").unwrap();
        String::from_utf8(seen).unwrap()
    });
    let r = perform(function(Target::Http { url }), &[("guest", "Ann".into())]).unwrap();
    assert_eq!(r.value["Number"], 5);
    let seen = server.join().unwrap();
    assert!(seen.starts_with("POST /book ") && seen.contains("idempotency-key: x.s.1.1.1") && seen.ends_with("{\"guest\":\"Ann\"}"), "{seen}");
}

#[test]
fn a_tool_of_an_mcp_server_is_called_after_the_handshake() {
    let script = r#"read a; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18"}}'
        read b; read c; echo '{"jsonrpc":"2.0","method":"notifications/message","params":{}}'
        case "$c" in *reserve_room*) echo '{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"{\"Number\": 8}"}]}}';; esac"#;
    let target = Target::Mcp { command: shell(script), tool: Some("reserve_room".into()) };
    assert_eq!(perform(function(target), &[("guest", "Ann".into())]).unwrap().value["Number"], 8);
    let target = Target::Mcp { command: shell("read a; exit 0"), tool: None };
    assert!(matches!(perform(function(target), &[("guest", "Ann".into())]), Err(ActError::Failed(..))));
}

#[test]
fn declarations_are_read_strictly() {
    let read = |text: &str| serde_json::from_str::<Function>(text);
    let f = read(r#"{"name": "book", "inputs": [{"name": "guest", "required": true}], "target": {"process": {"command": ["./book.py"]}}, "retries": 2}"#);
    assert_eq!(f.unwrap().name, "book");
    assert!(read(r#"{"name": "book", "target": {"process": {"command": []}}, "retrys": 2}"#).is_err());
}
