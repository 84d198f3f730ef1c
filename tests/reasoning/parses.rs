//! Parses by a model: its statements are read, what cannot be used goes back to it, readings vote, and a cassette tells the same again.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};

use duologue::domain::Files;
use duologue::eval::reason::{Args, Parses, ReasonReport, run};
use duologue::llm::replay::{Player, Recorder};
use duologue::llm::wire::{Transport, WireReply, WireRequest};
use duologue::llm::{Api, BlockingModel, ModelConfig, ModelError, RemoteModel};
use duologue::reason::Reasoner;
use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};

/// A server that says these things one after the other, and keeps what it was sent.
#[derive(Default)]
struct Desk {
    replies: Mutex<VecDeque<String>>,
    sent: Mutex<Vec<String>>,
}

impl Transport for Desk {
    fn send<'a>(&'a self, request: &'a WireRequest) -> BoxFuture<'a, Result<WireReply, ModelError>> {
        self.sent.lock().unwrap().push(request.body.clone());
        let said = self.replies.lock().unwrap().pop_front().expect("the model was asked once more than it should be");
        let body = json!({"choices": [{"message": {"content": said}}], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}).to_string();
        let body = stream::iter([Ok(body.into_bytes())]).boxed();
        Box::pin(async move { Ok(WireReply { status: 200, retry_after: None, content_type: Some("application/json".into()), body }) })
    }
}

fn reply(lines: &[&[&str]], asked: &[&str]) -> String {
    let lines: Vec<Value> = lines.iter().enumerate().map(|(n, says)| json!({"n": n + 1, "says": says})).collect();
    json!({"lines": lines, "supposed": [], "asked": asked}).to_string()
}

/// What an evaluation over a transport predicts: the lines of the predictions, and the report.
fn predicted(folder: &Path, set: &str, item: &Value, transport: Arc<dyn Transport>, votes: usize) -> (String, ReasonReport) {
    let (data, out) = (folder.join("items.jsonl"), folder.join("out.jsonl"));
    std::fs::write(&data, item.to_string()).unwrap();
    let model = BlockingModel::new(Arc::new(RemoteModel::over(ModelConfig::new(Api::OpenAi, "http://localhost/v1", "told"), transport)));
    let args = Args {
        set: set.into(),
        data: vec![data],
        parses: Parses::Model(model, votes),
        predictions: Some(out.clone()),
        reasoner: Reasoner::Confirm,
        audit: 1,
        jobs: 1,
        files: Files::built_in(),
    };
    let report = run(&args).unwrap();
    assert_eq!(report.differences, [""; 0]);
    (std::fs::read_to_string(out).unwrap(), report)
}

fn newts() -> Value {
    let text = ["Every newt is a grub.", "Grubs are not loud.", "Zed is a newt."];
    json!({"id": "newts", "task": "t", "text": text, "questions": [{"n": 1, "ask": "Is Zed loud?", "answer": "False"}]})
}

const RIGHT: [&[&str]; 3] = [&["Newt($x, True) >>> Grub($x, True)"], &["Grub($x, True) >>> Loud($x, False)"], &["Newt(Zed, True)"]];

#[test]
fn readings_vote_by_what_they_entail_and_faults_go_back_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let desk = Arc::new(Desk::default());
    let right = reply(&RIGHT, &["Loud(Zed, True)"]);
    let faulty = reply(&[RIGHT[0], &["Grub($x, True) >>> "], RIGHT[2]], &["Loud(Zed, True)"]);
    let other = reply(&[RIGHT[0], &["Grub($x, True) >>> Loud($x, True)"], RIGHT[2]], &["Loud(Zed, True)"]);
    desk.replies.lock().unwrap().extend([faulty, right.clone(), other, right]);
    let tape = folder.path().join("tape.jsonl");
    let recorder = Recorder::new(desk.clone(), &tape, None).unwrap();
    let (first, report) = predicted(folder.path(), "proofwriter", &newts(), Arc::new(recorder), 3);
    let p: Value = serde_json::from_str(&first).unwrap();
    assert_eq!((&p["answer"], &p["support"]), (&json!("False"), &json!([1, 2, 3])), "{p}");
    assert!(p["proof"].as_array().unwrap().contains(&json!("2 of 3 readings entail it")), "{p}");
    assert_eq!((report.used.unwrap().calls, report.audited), (4, 1));
    let sent = desk.sent.lock().unwrap().clone();
    assert!(sent[1].contains("line 2: `Grub($x, True) >>>`, column"), "the fault's place goes back: {}", sent[1]);
    assert!(sent[0].contains("Is Zed loud?") && sent[0].contains("json_schema"), "{}", sent[0]);
    // The same from the cassette, without anybody to ask.
    let (again, _) = predicted(folder.path(), "proofwriter", &newts(), Arc::new(Player::open(&tape).unwrap()), 3);
    assert_eq!(first, again);
}

#[test]
fn a_tie_and_what_stays_unusable_have_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    let desk = Arc::new(Desk::default());
    let other = reply(&[RIGHT[0], &["Grub($x, True) >>> Loud($x, True)"], RIGHT[2]], &["Loud(Zed, True)"]);
    desk.replies.lock().unwrap().extend([reply(&RIGHT, &["Loud(Zed, True)"]), other]);
    let (tie, _) = predicted(folder.path(), "proofwriter", &newts(), desk.clone(), 2);
    let tie: Value = serde_json::from_str(&tie).unwrap();
    assert_eq!((&tie["answer"], &tie["status"]), (&Value::Null, &json!("undecided")), "{tie}");
    // A heading, a line left out, and an answer instead of a translation: three times, and no more.
    let bad = [reply(&[&["Query:"], &[], &[]], &["True(Zed, True)"]), reply(&RIGHT[..2], &["Loud(Zed, True)"]), "The answer is False.".to_owned()];
    desk.replies.lock().unwrap().extend(bad);
    let (none, _) = predicted(folder.path(), "proofwriter", &newts(), desk.clone(), 1);
    let none: Value = serde_json::from_str(&none).unwrap();
    assert_eq!((&none["answer"], &none["status"]), (&Value::Null, &json!("unread")), "{none}");
    assert!(desk.replies.lock().unwrap().is_empty());
    assert!(desk.sent.lock().unwrap().last().unwrap().contains("line 3 is missing"));
}

#[test]
fn options_are_translated_and_rules_choose() {
    let folder = tempfile::tempdir().unwrap();
    let desk = Arc::new(Desk::default());
    let lines = json!([{"n": 1, "says": ["AllDifferentConstraint([red, old, tall])"]}, {"n": 2, "says": ["tall == red + 1", "red != 1"]}]);
    let said = json!({"declared": ["red [IN] [1, 2, 3]", "old [IN] [1, 2, 3]", "tall [IN] [1, 2, 3]"], "lines": lines, "supposed": [],
        "asked": ["red == 1", "old == 1", "tall == 1"]});
    desk.replies.lock().unwrap().push_back(said.to_string());
    let item = json!({"id": "jars", "task": "t", "text": ["On a shelf are a red, an old and a tall jar.", "The tall jar is right of the red one, which is not the first."],
        "questions": [{"n": 1, "ask": "Which is true?", "options": ["A) The red jar is the leftmost.", "B) The old jar is the leftmost.", "C) The tall jar is the leftmost."]}]});
    let (out, _) = predicted(folder.path(), "deduction", &item, desk.clone(), 1);
    let p: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&p["answer"], &p["support"]), (&json!("B"), &json!([1, 2])), "{p}");
    assert!(desk.sent.lock().unwrap()[0].contains("The old jar is the leftmost."));
}
