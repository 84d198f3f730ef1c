//! A model behind a cassette: a remark becomes a patch, prose a first flow, a condition in free words a yes or no.
//!
//! `DUOLOGUE_RECORD=1 cargo test --test flows` records the cassettes anew, with the replies written below.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use duologue::conversation::Conversation;
use duologue::diag::Source;
use duologue::eval::refine::{self, RefineError};
use duologue::lang::chief;
use duologue::llm::replay::{Player, Recorder};
use duologue::llm::wire::{Transport, WireReply, WireRequest};
use duologue::llm::{Api, BlockingModel, ChatRequest, Message, ModelConfig, ModelError, RemoteModel};
use duologue::understand::question::{ByModel, Judge, Question};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;

/// Answers whose request holds a word, the last that fits; for recording only.
struct Scripted(&'static [(&'static str, &'static str)]);

impl Transport for Scripted {
    fn send<'a>(&'a self, request: &'a WireRequest) -> BoxFuture<'a, Result<WireReply, ModelError>> {
        Box::pin(async move {
            let says = self.0.iter().rev().find(|(asks, _)| request.body.contains(asks)).map_or("I cannot say.", |(_, says)| says);
            let body = serde_json::json!({"choices": [{"message": {"role": "assistant", "content": says}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1, "completion_tokens": 1}});
            let body = futures_util::stream::iter([Ok(body.to_string().into_bytes())]).boxed();
            Ok(WireReply { status: 200, retry_after: None, content_type: Some("application/json".into()), body })
        })
    }
}

fn taped(name: &str, script: &'static [(&'static str, &'static str)]) -> BlockingModel {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/flows").join(name);
    let transport: Arc<dyn Transport> = if std::env::var_os("DUOLOGUE_RECORD").is_some() {
        let _ = std::fs::remove_file(&path);
        Arc::new(Recorder::new(Arc::new(Scripted(script)), &path, None).unwrap())
    } else {
        Arc::new(Player::open(&path).unwrap())
    };
    let config = ModelConfig::new(Api::OpenAi, "http://127.0.0.1:9/v1", "recorded");
    BlockingModel::new(Arc::new(RemoteModel::over(config, transport)))
}

fn ask(model: &BlockingModel) -> impl Fn(&str) -> Result<String, String> {
    |prompt| {
        let request = ChatRequest { prefix: String::new(), messages: vec![Message::user(prompt)], shape: None, max_tokens: 4000 };
        model.chat(request).map(|r| r.text).map_err(|e| e.to_string())
    }
}

#[test]
fn a_remark_becomes_a_patch_that_is_corrected_once() {
    let model = taped(
        "patch.tape.jsonl",
        &[
            ("nobody's business", r#"Here is the change: {"changes": [{"do": "remove_slot", "node": 1, "slot": "Phone"}]}"#),
            ("does not have", r#"{"changes": [{"do": "remove_slot", "node": 1, "slot": "PhoneNumber"}]}"#),
            ("paint it blue", "I would rather not."),
        ],
    );
    let table = Source::new("table.json", include_str!("../data/refine/table.json"));
    let patch = refine::from_model(&table, "The phone number is nobody's business", &ask(&model)).unwrap();
    let weighed = refine::weigh(&table, &patch, None).unwrap();
    assert_eq!(weighed.difference.lines, ["- node 1, slot `PhoneNumber`"]);
    assert_eq!(weighed.objections(), [""; 0], "{weighed}");
    assert!(matches!(refine::from_model(&table, "paint it blue", &ask(&model)), Err(RefineError::Model(_))));
}

#[test]
fn prose_becomes_a_first_flow() {
    let model = taped(
        "draft.tape.jsonl",
        &[(
            "lends bicycles",
            r#"{"task": "bicycles", "nodes": [{"id": 1, "type": "request", "slots": [{"name": "day", "label": "day", "type": "day"}]}, {"id": 2, "type": "inform", "message": "Tell the price"}], "edges": [{"source": 1, "target": 2}]}"#,
        )],
    );
    let draft = refine::draft_by_model("bicycles", "A shop that lends bicycles by the day.", &ask(&model)).unwrap();
    let (flow, found) = chief::read(&draft.source);
    assert_eq!(found, []);
    assert_eq!(flow.unwrap().graph().unwrap().slots().len(), 1);
}

#[test]
fn conditions_in_free_words_are_put_to_the_model() {
    let model = taped("question.tape.jsonl", &[("upset", r#"{"holds": true}"#), ("all is fine", r#"{"holds": false}"#), ("hurry", "perhaps")]);
    let judge = ByModel::new(model);
    let asks = |condition: &str, said: &str| {
        let question = Question { condition: condition.into(), said: said.into(), known: "ride_id = 102".into(), until: None };
        judge.judge(&question, &Conversation::default())
    };
    let a = asks("the customer sounds upset", "this is the third time that nobody came");
    assert_eq!((a.holds, a.by.as_str()), (true, "model"));
    assert!(!asks("the customer sounds upset", "all is fine").holds);
    // A reply that is no answer leaves the question to the comparison of words.
    let b = asks("the customer is in a hurry", "I am in a hurry");
    assert_eq!((b.holds, b.by.as_str()), (true, "words"));
}
