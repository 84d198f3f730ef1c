//! Evaluation and whole turns with a model at both ends: what the reports count and the records hold.

use std::sync::Arc;
use std::time::{Duration, Instant};

use duologue::domain::{Domain, Files};
use duologue::eval;
use duologue::facts::memory::MemoryStore;
use duologue::facts::{CommitRule, SessionKey};
use duologue::llm::Api;
use duologue::reason::Reasoner;
use duologue::render::llm::LlmRender;
use duologue::turn::{Engine, Options, Said};
use serde_json::Value;

use crate::server::{Act, Request, Server};
use crate::support::{ONTOLOGY, TWO_TACOS, completion, config, model};

fn domain() -> Domain {
    Domain::load(&Files::built_in(), "drive_thru").unwrap()
}

/// A server that understands every utterance as two soft tacos and repeats every draft, at once.
fn instant(request: &Request) -> Act {
    let body: Value = serde_json::from_str(&request.body).unwrap();
    let turn = body["messages"][1]["content"].as_str().unwrap();
    match turn.trim().strip_prefix("Draft: ") {
        Some(draft) => Act::json(completion(serde_json::from_str::<Value>(draft).unwrap().as_str().unwrap())),
        None => Act::json(completion(TWO_TACOS)),
    }
}

/// An engine with the model at both ends.
fn engine(server: &Server) -> (Engine, LlmRender) {
    let domain = domain();
    let understand = domain.model_translator(model(config(server, Api::OpenAi))).unwrap();
    let render = domain.model_renderer(model(config(server, Api::OpenAi))).unwrap();
    let options = Options { reasoner: Reasoner::Fast, ..Options::default() };
    let store = Arc::new(MemoryStore::new(CommitRule::default()));
    (Engine::new(domain, store).with_understand(Arc::new(understand)).with_render(Arc::new(render.clone())).with_options(options), render)
}

fn view(engine: &Engine, record: &duologue::turn::TurnRecord) -> duologue::conversation::View {
    engine.domain().ontology.view.view(record.view.clone())
}

#[test]
fn a_whole_turn_needs_two_calls_at_most() {
    let server = Server::start(instant);
    let (engine, render) = engine(&server);
    let record = engine.turn(&SessionKey::new("s", "c"), "customer", &Said::Text("two soft tacos please"), None).unwrap();
    assert_eq!((record.heard_by.as_str(), view(&engine, &record).lines().len()), ("llm", 2));
    assert!(record.text.contains("wo Soft Tacos"), "{}", record.text);
    assert_eq!((server.requests().len(), render.share().model), (2, 1));
    assert_eq!(render.model().ledger().session("s", "c").calls, 1, "each end books on the conversation's account");
}

#[test]
fn a_model_that_fails_at_both_ends_leaves_a_polite_reply_and_the_state_unchanged() {
    for act in
        [Act::Close, Act::status(500, "{}"), Act::json("{}"), Act::json(completion("{\"predicates\":[{\"form\":\"runout(STOCK)\",\"STOCK\":\"Lettuce\"}]}"))]
    {
        let server = Server::start(move |_| act.clone());
        let (engine, _) = engine(&server);
        let started = Instant::now();
        let record = engine.turn(&SessionKey::new("s", "c"), "customer", &Said::Text("two soft tacos please"), None).unwrap();
        assert!(started.elapsed() < Duration::from_secs(15), "bounded, on a busy machine too");
        assert!(view(&engine, &record).lines().is_empty() && !record.text.is_empty(), "{record:?}");
        assert!(engine.store().shared(&duologue::term::Name::from("s")).unwrap().1.is_empty());
    }
}

#[test]
fn reports_stand_side_by_side() {
    let server = Server::start(instant);
    let domain = domain();
    let translator = domain.model_translator(model(config(&server, Api::OpenAi))).unwrap();
    let lines = concat!(
        r#"{"id":"1","role":"customer","text":"two soft tacos","gold":["order(\"Soft Taco\",2)"],"tags":["plural"]}"#,
        "\n",
        r#"{"id":"2","role":"customer","text":"hello","gold":["greet"],"tags":[]}"#
    );
    let cases = eval::nlu::read_cases(lines.as_bytes(), &ONTOLOGY.view).unwrap();
    let fixed = crate::support::Fixed("greet", 1.0);
    let candidates =
        [eval::understand::Candidate::offline("fixed", &fixed), eval::understand::Candidate::new("model", |t, c| translator.translate(t, c, None))];
    let reports = eval::understand::understand(&cases, &candidates);
    let summary: Vec<_> = reports.iter().map(|r| (r.label.as_str(), r.all.exact, r.asked, r.usage.calls)).collect();
    assert_eq!(summary, [("fixed", 1, 0, 0), ("model", 1, 2, 2)]);
    assert_eq!(reports[1].by_tag["plural"].exact, 1);

    let collect = Arc::new(eval::render::Collect::new(domain.templates.clone()));
    let engine = Engine::new(domain.clone(), Arc::new(MemoryStore::new(CommitRule::default()))).with_render(collect.clone());
    for predicate in ["order(\"Soft Taco\",2)", "completed", "deny"] {
        engine.turn(&SessionKey::new("s", "c"), "customer", &Said::Predicates(&[predicate.to_owned()]), None).unwrap();
    }
    let cases = collect.take();
    let wrong = Server::start(|_| Act::json(completion("Everything is free today.")));
    let renderer = |server: &Server| domain.model_renderer(model(config(server, Api::OpenAi))).unwrap();
    let reports = eval::render::render(&cases, &[("faithful".into(), renderer(&server)), ("free".into(), renderer(&wrong))]);
    let summary: Vec<_> = reports.iter().map(|r| (r.label.as_str(), r.cases, r.first, r.fallbacks, r.usage.calls)).collect();
    assert_eq!(summary, [("faithful", 3, 3, 0, 3), ("free", 3, 0, 3, 6)]);
    assert_eq!(reports[1].violations.values().sum::<usize>(), 6);
}
