//! Vectors of a server as a further scorer of names: only where spelling leaves a name unknown or tied, and never needed.

use std::sync::Arc;

use duologue::conversation::Conversation;
use duologue::diag::Source;
use duologue::link::{Nearness, Vectors};
use duologue::llm::Api;
use duologue::understand::Understand;
use duologue::understand::embedded::Embedded;
use duologue::understand::embedded::data::DomainFiles;
use duologue::understand::embedding::ServerVectors;

use crate::server::{Act, Request, Server};
use crate::support::{FACTS, ONTOLOGY, config, customer, model, texts};

/// Two directions: what is sweet and frozen, and everything else.
fn vector(text: &str) -> [f32; 2] {
    if ["freeze", "slushie", "gelido"].iter().any(|w| text.contains(w)) { [1.0, if text.contains("cherry") { 0.0 } else { 0.6 }] } else { [-0.2, 1.0] }
}

fn reply(request: &Request) -> Act {
    let body: serde_json::Value = serde_json::from_str(&request.body).unwrap();
    let rows: Vec<serde_json::Value> = body["input"]
        .as_array()
        .unwrap()
        .iter()
        .enumerate()
        .map(|(i, t)| serde_json::json!({"object": "embedding", "index": i, "embedding": vector(t.as_str().unwrap())}))
        .collect();
    Act::json(serde_json::json!({"object": "list", "data": rows, "model": "test-model", "usage": {"prompt_tokens": 1, "total_tokens": 1}}).to_string())
}

fn translator() -> Embedded {
    let file = |name: &str, text: &str| Source::new(name, text);
    let files = DomainFiles {
        english: file("english.yaml", include_str!("../../kb/core/english.yaml")),
        lexicon: file("lexicon.yaml", include_str!("../../kb/drive_thru/lexicon.yaml")),
        synonyms: file("synonyms.yaml", include_str!("../../kb/drive_thru/synonyms.yaml")),
    };
    Embedded::load(&ONTOLOGY, &files, FACTS.iter()).unwrap()
}

#[test]
fn a_name_that_spelling_does_not_know_is_offered_by_meaning() {
    let server = Server::start(reply);
    let vectors = Arc::new(ServerVectors::new(model(config(&server, Api::OpenAi)), "test-model"));
    let heard = translator().with_nearness(Nearness::new(vectors)).understand("a cherry gelido", &customer());
    assert_eq!(texts(&heard.predicates), ["order(\"Cherry Gelido\",1)"], "nothing is taken that was not said");
    let offered: Vec<&str> = heard.nearest.iter().flat_map(|n| &n.candidates).map(|c| &**c).collect();
    assert_eq!(offered.first(), Some(&"Wild Cherry Freeze"), "{offered:?}");
}

#[test]
fn a_known_name_asks_no_server() {
    let server = Server::start(reply);
    let vectors = Arc::new(ServerVectors::new(model(config(&server, Api::OpenAi)), "test-model"));
    let heard = translator().with_nearness(Nearness::new(vectors)).understand("two soft tacos", &customer());
    assert_eq!(texts(&heard.predicates), ["order(\"Soft Taco\",2)"]);
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn a_server_that_is_down_changes_nothing() {
    let server = Server::start(|_| Act::status(500, "{}"));
    let vectors = Arc::new(ServerVectors::new(model(config(&server, Api::OpenAi)), "test-model"));
    let with = translator().with_nearness(Nearness::new(vectors)).understand("a cherry gelido", &customer());
    let without = translator().understand("a cherry gelido", &customer());
    assert_eq!((with.predicates, with.nearest), (without.predicates, without.nearest));
}

/// A request for vectors that fails is a call, and tokens where the server worked on it.
#[test]
fn vectors_that_do_not_come_are_booked() {
    for (act, tokens) in [(Act::status(400, "{}"), 0), (Act::json("{}"), 4)] {
        let server = Server::start(move |_| act.clone());
        let model = model(config(&server, Api::OpenAi));
        let vectors = ServerVectors::new(model.clone(), "test-model");
        assert_eq!(vectors.vectors(&["a cherry gelido".to_owned()]), None);
        let used = model.account(&Conversation::default()).site;
        assert_eq!((server.requests().len(), used.calls, used.input), (1, 1, tokens));
    }
}
