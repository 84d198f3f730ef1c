//! Whole turns with models at both ends: replies that stream only what was checked, records and accounts, and prompts that hold nothing foreign.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use duologue::domain::{Domain, Files};
use duologue::facts::memory::MemoryStore;
use duologue::facts::{CommitRule, SessionKey, Store};
use duologue::llm::config::Prices;
use duologue::llm::{Api, BlockingModel};
use duologue::reason::Reasoner;
use duologue::render::By;
use duologue::render::faithful::scan::sentences;
use duologue::term::{Atom, Name, Term};
use duologue::turn::models::Tally;
use duologue::turn::{Engine, Options, Said, TurnBudget, TurnRecord};
use duologue::understand::hybrid::HybridUnderstand;
use serde_json::{Value, json};

use crate::server::{Act, Request, Server};
use crate::support::{Fixed, TWO_TACOS, completion, config, model};

static DOMAIN: LazyLock<Domain> = LazyLock::new(|| Domain::load(&Files::built_in(), "drive_thru").unwrap());

fn engine(domain: &Domain, model: &BlockingModel, store: Arc<dyn Store>) -> Engine {
    let options = Options { reasoner: Reasoner::Fast, ..Options::default() };
    let understand = domain.model_translator(model.clone()).unwrap();
    let render = domain.model_renderer(model.clone()).unwrap();
    Engine::new(domain.clone(), store).with_understand(Arc::new(understand)).with_render(Arc::new(render)).with_options(options)
}

fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(CommitRule::default()))
}

/// The draft of a request for a wording; `None` for a translation.
fn draft(request: &Request) -> Option<String> {
    let body: Value = serde_json::from_str(&request.body).unwrap();
    let turn = body["messages"][1]["content"].as_str().unwrap().trim().to_owned();
    turn.strip_prefix("Draft: ").map(|d| serde_json::from_str(d).unwrap())
}

fn event(text: &str) -> Vec<u8> {
    format!("data: {}\n\n", json!({"choices":[{"index":0,"delta":{"content":text}}]})).into_bytes()
}

const END: &[u8] = b"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":70,\"completion_tokens\":20}}\n\ndata: [DONE]\n\n";

/// A server that hears two soft tacos and streams each draft as `play` says: pauses in milliseconds and texts, and whether it ends properly.
fn streaming(play: impl Fn(&str) -> (Vec<(u64, String)>, bool) + Send + Sync + 'static) -> Server {
    Server::start(move |r: &Request| match draft(r) {
        None => Act::json(completion(TWO_TACOS)),
        Some(draft) => {
            let (texts, end) = play(&draft);
            let mut pieces: Vec<(u64, Vec<u8>)> = texts.iter().map(|(pause, text)| (*pause, event(text))).collect();
            if end {
                pieces.push((0, END.to_vec()));
            }
            Act::Pieces { content_type: "text/event-stream", pieces, end }
        }
    })
}

/// One streamed turn: when each part came, the record, and how long the turn took.
fn turn(server: &Server) -> (Vec<(Duration, String)>, TurnRecord, Duration) {
    let engine = engine(&DOMAIN, &model(config(server, Api::OpenAi)), memory());
    let (mut parts, started) = (vec![], Instant::now());
    let said = Said::Text("two soft tacos please");
    let record = engine.turn_streaming(&SessionKey::new("s", "c"), "customer", &said, None, &mut |s| parts.push((started.elapsed(), s.to_owned()))).unwrap();
    (parts, record, started.elapsed())
}

fn joined(parts: &[(Duration, String)]) -> String {
    parts.iter().map(|(_, s)| s.as_str()).collect::<Vec<_>>().join(" ")
}

/// What the template says in this turn.
fn template() -> String {
    TEMPLATE.clone()
}

static TEMPLATE: LazyLock<String> = LazyLock::new(|| {
    let engine = Engine::new(DOMAIN.clone(), memory()).with_options(Options { reasoner: Reasoner::Fast, ..Options::default() });
    engine.turn(&SessionKey::new("s", "c"), "customer", &Said::Predicates(&["order(\"Soft Taco\",2)".to_owned()]), None).unwrap().text
});

#[test]
fn a_slow_stream_is_heard_sentence_by_sentence() {
    let server = streaming(|draft| (sentences(draft).into_iter().map(|s| (80, format!("{s} "))).collect(), true));
    let (parts, record, took) = turn(&server);
    assert!(parts.len() >= 2, "{parts:?}");
    assert!(parts[0].0 + Duration::from_millis(60) < took, "the first sentence is heard before the stream ends: {parts:?} of {took:?}");
    assert_eq!((joined(&parts), record.text.as_str()), (template(), template().as_str()));
    let models = record.models.unwrap();
    assert_eq!(models.wording.as_ref().unwrap().by, By::Model);
    assert_eq!((models.turn.calls, models.turn.input, models.turn.output), (2, 970, 50));
}

#[test]
fn a_lie_in_the_second_sentence_is_never_heard_and_the_template_goes_on() {
    for lie in ["They are free today.", "That is $1.00.", "Our Crunchy Taco is ready too.", "Would you like Nachos?", "I was told to ignore the draft."] {
        let server = streaming(move |draft| {
            let list = sentences(draft);
            (vec![(0, format!("{} ", list[0])), (0, format!("{lie} ")), (0, list[1..].join(" "))], true)
        });
        let (parts, record, _) = turn(&server);
        assert_eq!(joined(&parts), template(), "{lie}");
        assert_eq!(record.text, template());
        let worded = record.models.unwrap().wording.unwrap();
        assert_eq!((worded.by, worded.violations.len(), parts.len()), (By::Mixed, 1, 2), "{lie} {worded:?}");
        assert_eq!(server.requests().len(), 2, "what went out is not asked for again");
    }
}

#[test]
fn a_stream_that_is_cut_off_is_finished_once() {
    type Play = fn(&str) -> (Vec<(u64, String)>, bool);
    let cases: [(&str, Play, By); 5] = [
        ("within the second sentence", |d| (vec![(0, format!("{} What el", sentences(d)[0]))], false), By::Mixed),
        ("after the first sentence", |d| (vec![(0, format!("{} ", sentences(d)[0]))], false), By::Mixed),
        ("within the first sentence", |d| (vec![(0, sentences(d)[0].chars().take(9).collect())], false), By::Template),
        ("it stalls", |d| (vec![(0, format!("{} ", sentences(d)[0])), (3_000, "x".into())], true), By::Mixed),
        ("the same sentence for ever", |d| ((0..400).map(|_| (0, format!("{} ", sentences(d)[0]))).collect(), true), By::Mixed),
    ];
    for (name, play, by) in cases {
        let (parts, record, took) = turn(&streaming(play));
        assert_eq!(joined(&parts), template(), "{name}");
        assert_eq!((record.text, record.models.unwrap().wording.unwrap().by), (template(), by), "{name}");
        assert!(took < Duration::from_secs(6), "{name}: {took:?}");
    }
}

#[test]
fn empty_talk_without_end_is_stopped() {
    let (parts, record, _) = turn(&streaming(|_| ((0..2_000).map(|_| (0, "Great! ".to_owned())).collect(), true)));
    let worded = record.models.unwrap().wording.unwrap();
    assert_eq!((joined(&parts), worded.by), (record.text.clone(), By::Mixed));
    assert!(record.text.ends_with(&template()) && record.text.len() < 3 * template().len() + 400, "{}", record.text);
}

#[test]
fn quotation_marks_around_a_stream_are_not_said() {
    let (parts, _, _) = turn(&streaming(|draft| (vec![(0, "\"".into()), (0, draft.to_owned()), (0, "\"".into())], true)));
    assert_eq!(joined(&parts), template());
}

#[test]
fn a_renderer_without_a_model_hands_on_its_text_once() {
    let engine = Engine::new(DOMAIN.clone(), memory());
    let mut parts = vec![];
    let said = ["order(\"Soft Taco\",2)".to_owned()];
    for _ in 0..2 {
        // Sent twice, it is taken once and told twice.
        let record =
            engine.turn_streaming(&SessionKey::new("s", "c"), "customer", &Said::Predicates(&said), Some("r1"), &mut |s| parts.push(s.to_owned())).unwrap();
        assert_eq!((parts.as_slice(), record.models), ([template()].as_slice(), None));
        parts.clear();
    }
}

#[test]
fn records_hold_both_results_and_accounts_close_with_the_conversation() {
    let server = Server::start(|r: &Request| match draft(r) {
        Some(draft) => Act::json(completion(&draft)),
        None if r.body.contains("mumble") => Act::status(400, "{\"error\":{\"message\":\"no\"}}"),
        None => Act::json(completion(TWO_TACOS)),
    });
    let mut config = config(&server, Api::OpenAi);
    config.prices = Prices { input: 1_000_000, cached_input: Some(0), output: 2_000_000, ..Prices::default() };
    let (mut domain, model) = (DOMAIN.clone(), model(config));
    domain.settle("manner=paper").unwrap();
    let translator = domain.model_translator(model.clone()).unwrap();
    let hybrid = HybridUnderstand::new(Arc::new(Fixed("order(\"Pepsi\",1)", 0.3)), translator, 0.7);
    let engine = Engine::new(domain.clone(), memory()).with_understand(Arc::new(hybrid)).with_render(Arc::new(domain.model_renderer(model.clone()).unwrap()));
    let key = SessionKey::new("s", "c");
    let say = |text: &str| engine.turn(&key, "customer", &Said::Text(text), None).unwrap();

    let first = say("two soft tacos");
    let models = first.models.as_deref().unwrap();
    let sources = models.understanding.as_ref().unwrap();
    assert_eq!(sources.embedded.as_ref().unwrap().predicates, [Atom::parse("order(\"Pepsi\",1)").unwrap()]);
    assert_eq!(sources.model.as_ref().unwrap().predicates, [Atom::parse("order(\"Soft Taco\",2)").unwrap()]);
    assert_eq!((models.turn.calls, models.turn.micro_usd), (2, 2 * (100 + 60)));
    let log: TurnRecord = serde_json::from_str(&first.clone().to_log()).unwrap();
    let mut timeless = first.models.clone().unwrap();
    timeless.understanding.as_mut().unwrap().exchange.as_mut().unwrap().waited = Duration::ZERO;
    timeless.wording.as_mut().unwrap().exchange.as_mut().unwrap().waited = Duration::ZERO;
    assert_eq!(log.models, Some(timeless), "the record survives its notation");

    let second = say("mumble");
    let exchange = second.models.as_ref().unwrap().understanding.as_ref().unwrap().exchange.clone().unwrap();
    assert_eq!(exchange.fault.as_deref(), Some("status"));
    assert!(exchange.problems[0].contains("400") && exchange.hint.is_some(), "{exchange:?}");
    let account = second.models.as_ref().unwrap().account.unwrap();
    assert_eq!((account.session.calls, account.site.calls), (4, 4), "a refused request counts as one");

    let mut tally = Tally::default();
    [&first, &second].into_iter().for_each(|r| tally.add(r));
    assert_eq!((tally.turns, tally.asked, tally.failed, tally.worded, tally.fallback), (2, 2, 1, 2, 0));
    assert!(
        tally
            .to_string()
            .starts_with("understanding needed the model in 2 of 2 turns (100 %), 1 without a usable reply; the model worded 2 of 2 replies; 4 calls")
    );

    let last = engine.turn(&key, "customer", &Said::Predicates(&["quit".to_owned()]), None).unwrap();
    assert!(last.ended.is_some() && last.models.unwrap().account.unwrap().session.calls == 5);
    assert_eq!((model.ledger().session("s", "c").calls, model.ledger().site("s").calls), (0, 5), "closed with the conversation");
}

/// Two sites with a dish of their own each, two conversations at each site, both ends by a model: every prompt is searched for what is
/// another conversation's or site's.
#[test]
fn no_prompt_of_whole_turns_holds_a_fact_of_another_session_or_site() {
    let server = Server::start(|r: &Request| match draft(r) {
        Some(draft) => Act::json(completion(&draft)),
        None => Act::json(completion("{\"predicates\":[]}")),
    });
    let (domain, store) = (&*DOMAIN, memory());
    for (site, dish) in [("east", "Alpha Wrap"), ("west", "Omega Wrap")] {
        let mut facts = domain.facts.to_vec();
        facts.push(Atom::new("dish", vec![Term::string(dish)]));
        let _ = store.install(&Name::from(site), &facts, 0).unwrap();
    }
    let engine = engine(domain, &model(config(&server, Api::OpenAi)), store);
    let own: BTreeMap<(&str, &str), &str> =
        [(("east", "one"), "Crunchy Taco"), (("east", "two"), "Bean Burrito"), (("west", "one"), "Nacho Fries"), (("west", "two"), "Cheese Quesadilla")].into();
    for _ in 0..2 {
        for ((site, session), item) in &own {
            let seen = server.requests().len();
            let key = SessionKey::new(site, session);
            engine.turn(&key, "customer", &Said::Predicates(&[format!("order(\"{item}\",1)")]), None).unwrap();
            engine.turn(&key, "customer", &Said::Text("what is in my wrap"), None).unwrap();
            let bodies: Vec<String> = server.requests()[seen..].iter().map(|r| r.body.clone()).collect();
            assert!(bodies.len() >= 3, "a translation and two wordings");
            let (mine, foreign) = if *site == "east" { ("Alpha Wrap", "Omega Wrap") } else { ("Omega Wrap", "Alpha Wrap") };
            assert!(bodies.iter().any(|b| b.contains(mine)), "the site's own dish is among the names");
            assert!(bodies.iter().all(|b| !b.contains(foreign)), "{site} {session}: {foreign}");
            for body in bodies {
                let body: Value = serde_json::from_str(&body).unwrap();
                // The menu and the ontology's own examples are everybody's; all other lines are of this conversation.
                let turn = body["messages"][1]["content"].as_str().unwrap();
                let lines: Vec<&str> = turn.lines().filter(|l| !l.starts_with("Names that may be meant") && !l.contains(" → ")).collect();
                for other in own.values().filter(|i| *i != item) {
                    assert!(lines.iter().all(|l| !l.contains(other)), "{site} {session}: {other} in {lines:?}");
                }
            }
        }
    }
}

/// Five managers change what is out while a model is waited for and while the turn is decided: the model is asked once all the same.
#[test]
fn a_turn_that_others_overtake_asks_the_model_once() {
    let server = Server::start(|_| Act::Pieces { content_type: "application/json", pieces: vec![(300, completion(TWO_TACOS).into_bytes())], end: true });
    let translator = DOMAIN.model_translator(model(config(&server, Api::OpenAi))).unwrap();
    let options = Options { reasoner: Reasoner::Fast, ..Options::default() };
    let engine = Engine::new(DOMAIN.clone(), memory()).with_understand(Arc::new(translator)).with_options(options);
    let (over, written) = (AtomicBool::new(false), AtomicUsize::new(0));
    let record = std::thread::scope(|scope| {
        for writer in 0..5 {
            let (engine, over, written) = (&engine, &over, &written);
            scope.spawn(move || {
                let (began, key) = (Instant::now(), SessionKey::new("s", &format!("m{writer}")));
                while !over.load(Ordering::Relaxed) && began.elapsed() < Duration::from_secs(5) {
                    for what in ["runout", "restore"] {
                        let done = engine.turn(&key, "manager", &Said::Predicates(&[format!("{what}(\"Guacamole\")")]), None);
                        written.fetch_add(usize::from(done.is_ok()), Ordering::Relaxed);
                    }
                }
            });
        }
        let record = engine.turn(&SessionKey::new("s", "c"), "customer", &Said::Text("two soft tacos please"), None);
        over.store(true, Ordering::Relaxed);
        record.unwrap()
    });
    assert!(written.load(Ordering::Relaxed) > 5, "the others wrote meanwhile");
    assert!(record.text.contains("Soft Tacos"), "{record:?}");
    assert_eq!((server.requests().len(), record.models.unwrap().turn.calls), (1, 1));
}

#[test]
fn a_model_that_says_nothing_leaves_the_turn_time_to_be_taken_without_it() {
    let server = Server::start(|_: &Request| Act::Silence(20_000));
    let patient = duologue::llm::config::Limits { headers_ms: 60_000, idle_ms: 60_000, total_ms: 60_000, ..crate::support::quick() };
    let asked = model(duologue::llm::ModelConfig { limits: patient, ..config(&server, Api::OpenAi) });
    let hybrid = HybridUnderstand::new(Arc::new(Fixed("order(\"Soft Taco\",2)", 0.5)), DOMAIN.model_translator(asked).unwrap(), 0.9);
    let options = Options { reasoner: Reasoner::Fast, turn: TurnBudget { time: Duration::from_secs(5), ..TurnBudget::default() }, ..Options::default() };
    let engine = Engine::new(DOMAIN.clone(), memory()).with_understand(Arc::new(hybrid)).with_options(options);
    let began = Instant::now();
    let record = engine.turn(&SessionKey::new("s", "c"), "customer", &Said::Text("two soft tacos please"), None).unwrap();
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(record.predicates.iter().map(ToString::to_string).collect::<Vec<_>>(), ["order(\"Soft Taco\",2)"]);
    assert!(!server.requests().is_empty(), "it was asked");
}
