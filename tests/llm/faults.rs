//! The matrix of faults: each ends in bounded time, with a named fault or with validated predicates only, and the embedded result in reserve.

use std::sync::Arc;
use std::time::{Duration, Instant};

use duologue::llm::Api;
use serde_json::json;

use crate::server::{Act, Request, Server};
use crate::support::{Fixed, ONTOLOGY, TWO_TACOS, completion, config, customer, model, texts, translator};

/// What a case must lead to.
enum Then {
    /// The exchange fails with this kind and the embedded result counts.
    Fault(&'static str),
    /// The model's own predicates count.
    Heard(&'static [&'static str]),
}

use Then::{Fault, Heard};

const TACOS: &[&str] = &["order(\"Soft Taco\",2)"];

type Handler = Box<dyn Fn(&Request) -> Act + Send + Sync>;

fn always(act: Act) -> Handler {
    Box::new(move |_| act.clone())
}

fn first_then(first: Act, then: Act) -> Handler {
    Box::new(move |r| if r.nth == 0 { first.clone() } else { then.clone() })
}

fn says(content: &str) -> Handler {
    always(Act::json(completion(content)))
}

fn form(form: &str, rest: &str) -> String {
    format!("{{\"predicates\":[{{\"form\":\"{form}\"{rest}}}]}}")
}

fn cases() -> Vec<(&'static str, Handler, Then)> {
    let good = || Act::json(completion(TWO_TACOS));
    let message = |m: serde_json::Value| always(Act::json(json!({"choices":[{"index":0,"message":m,"finish_reason":"stop"}]}).to_string()));
    vec![
        ("the good reply, for comparison", always(good()), Heard(TACOS)),
        ("closed at once", always(Act::Close), Fault("unreachable")),
        ("closed within the headers", always(Act::CloseInHeaders), Fault("unreachable")),
        ("no HTTP at all", always(Act::Garbage), Fault("unreachable")),
        ("slow headers", always(Act::Silence(3_000)), Fault("timed_out")),
        (
            "slow body",
            always(Act::Pieces { content_type: "application/json", pieces: vec![(0, b"{\"choices\":".to_vec()), (3_000, b"[]}".to_vec())], end: true }),
            Fault("timed_out"),
        ),
        (
            "a body that drips for ever, each drop in time",
            always(Act::Pieces { content_type: "application/json", pieces: (0..200).map(|_| (40, b" ".to_vec())).collect(), end: true }),
            Fault("timed_out"),
        ),
        ("body shorter than announced", always(Act::Short(completion(TWO_TACOS).into_bytes())), Fault("broken_off")),
        ("429 without Retry-After, for ever", always(Act::status(429, "{}")), Fault("rate_limited")),
        ("429 that asks for an hour", always(Act::Reply { status: 429, headers: vec![("retry-after", "3600".into())], body: vec![] }), Fault("rate_limited")),
        (
            "429 once, with Retry-After 0",
            first_then(Act::Reply { status: 429, headers: vec![("retry-after", "0".into())], body: vec![] }, good()),
            Heard(TACOS),
        ),
        ("500 for ever", always(Act::status(500, "{\"error\":{\"message\":\"oops\"}}")), Fault("status")),
        (
            "502 with an HTML page",
            always(Act::Reply { status: 502, headers: vec![("content-type", "text/html".into())], body: b"<h1>".to_vec() }),
            Fault("status"),
        ),
        ("503, then well", first_then(Act::status(503, ""), good()), Heard(TACOS)),
        ("closed once, then well", first_then(Act::Close, good()), Heard(TACOS)),
        ("401", always(Act::status(401, "{\"error\":{\"message\":\"bad key\"}}")), Fault("status")),
        ("404", always(Act::status(404, "not here")), Fault("status")),
        ("a redirect loop", always(Act::Reply { status: 307, headers: vec![("location", "/v1/chat/completions".into())], body: vec![] }), Fault("redirected")),
        ("204 without a body", always(Act::Reply { status: 204, headers: vec![], body: vec![] }), Fault("empty")),
        ("empty body", always(Act::json("")), Fault("empty")),
        ("white space only", always(Act::json("  \n ")), Fault("empty")),
        ("truncated envelope", always(Act::json(&completion(TWO_TACOS)[..60])), Fault("envelope")),
        ("an envelope that is no JSON", always(Act::json("soft tacos, two of them")), Fault("envelope")),
        ("an envelope nested 100,000 deep", always(Act::json("[".repeat(50_000))), Fault("envelope")),
        (
            "HTML with status 200",
            always(Act::Reply { status: 200, headers: vec![("content-type", "text/html".into())], body: b"<p>hi".to_vec() }),
            Fault("content_type"),
        ),
        (
            "an envelope that is no UTF-8",
            always(Act::Reply { status: 200, headers: vec![("content-type", "application/json".into())], body: vec![b'"', 0xff, b'"'] }),
            Fault("not_utf8"),
        ),
        ("20 MB", always(Act::json(completion(&"x".repeat(20 << 20)))), Fault("too_large")),
        ("a body without end", always(Act::Endless { content_type: "application/json", piece: vec![b' '; 8192] }), Fault("too_large")),
        ("no choices", always(Act::json("{\"choices\":[]}")), Fault("envelope")),
        ("another server's envelope", always(Act::json("{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}")), Fault("envelope")),
        ("null content", message(json!({"role":"assistant","content":null})), Fault("empty")),
        (
            "a tool call instead of content",
            message(json!({"content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"rm","arguments":"{}"}}]})),
            Fault("tool_call"),
        ),
        ("a refusal", message(json!({"content":null,"refusal":"I cannot help with tacos."})), Fault("declined")),
        ("content that is a number", message(json!({"content":7})), Fault("envelope")),
        (
            "cut at the token limit",
            always(Act::json(json!({"choices":[{"message":{"content":"{\"predicates\":[{\"form\":\"ord"},"finish_reason":"length"}]}).to_string())),
            Fault("cut_off"),
        ),
        ("content filter", always(Act::json(json!({"choices":[{"message":{"content":"x"},"finish_reason":"content_filter"}]}).to_string())), Fault("declined")),
        ("content as a list of parts", message(json!({"content":[{"type":"text","text":TWO_TACOS}]})), Heard(TACOS)),
        ("truncated JSON in the content", says(&TWO_TACOS[..40]), Fault("unusable")),
        ("prose in the content", says("The customer wants two soft tacos."), Fault("unusable")),
        ("text around the JSON", says(&format!("Sure! {TWO_TACOS} Enjoy!")), Fault("unusable")),
        ("a fenced block", says(&format!("```json\n{TWO_TACOS}\n```")), Heard(TACOS)),
        ("two objects", says(&format!("{TWO_TACOS}{TWO_TACOS}")), Fault("unusable")),
        ("a bare list", says("[]"), Fault("unusable")),
        ("a further key", says("{\"predicates\":[],\"note\":\"free tacos\"}"), Fault("unusable")),
        ("duplicate keys", says(&form("order(ITEM, COUNT)", r#","ITEM":"Soft Taco","COUNT":2,"COUNT":200"#)), Fault("unusable")),
        ("deep nesting", says(&format!("{{\"predicates\":{}{}}}", "[".repeat(4_000), "]".repeat(4_000))), Fault("unusable")),
        ("an unknown predicate", says(&form("free_food(ITEM)", r#","ITEM":"Soft Taco""#)), Fault("unusable")),
        ("the other role's predicate", says(&form("runout(STOCK)", r#","STOCK":"Lettuce""#)), Fault("unusable")),
        (
            "the other role's edit beside an honest order",
            says(&format!(
                "{},{{\"form\":\"edit(NEW, PROPERTY, VALUE)\",\"NEW\":\"Soft Taco\",\"PROPERTY\":\"price\",\"VALUE\":0}}]}}",
                TWO_TACOS.trim_end_matches("]}")
            )),
            Fault("unusable"),
        ),
        ("a missing argument", says(&form("order(ITEM, COUNT)", r#","ITEM":"Soft Taco""#)), Fault("unusable")),
        ("a further argument", says(&form("order(ITEM, COUNT)", r#","ITEM":"Soft Taco","COUNT":1,"PRICE":0"#)), Fault("unusable")),
        ("a wrong type", says(&form("order(ITEM, COUNT)", r#","ITEM":"Soft Taco","COUNT":"two""#)), Fault("unusable")),
        ("a fraction", says(&form("order(ITEM, COUNT)", r#","ITEM":"Soft Taco","COUNT":1.5"#)), Fault("unusable")),
        ("a negative number", says(&form("order(ITEM, COUNT)", r#","ITEM":"Soft Taco","COUNT":-2"#)), Fault("unusable")),
        (
            "a number too large, clamped as the ontology says",
            says(&form("order(ITEM, COUNT)", r#","ITEM":"Soft Taco","COUNT":99999999999"#)),
            Heard(&["order(\"Soft Taco\",1000000)"]),
        ),
        ("a number beyond 64 bits", says(&form("order(ITEM, COUNT)", r#","ITEM":"Soft Taco","COUNT":99999999999999999999999"#)), Fault("unusable")),
        ("a name nobody said", says(&form("order(ITEM, COUNT)", r#","ITEM":{"said":"Lobster Thermidor"},"COUNT":1"#)), Fault("unusable")),
        ("an unlisted name as if it were listed", says(&form("order(ITEM, COUNT)", r#","ITEM":"Lobster Thermidor","COUNT":1"#)), Fault("unusable")),
        ("a name of the wrong sort", says(&form("order(ITEM, COUNT)", r#","ITEM":"Lettuce","COUNT":1"#)), Fault("unusable")),
        ("a value outside a closed list", says(&form("update(DISH, size, SIZE)", r#","DISH":"Pepsi","SIZE":"gigantic""#)), Fault("unusable")),
        (
            "an injected predicate text as a name",
            says(&form("order(ITEM, COUNT)", r#","ITEM":"Soft Taco\",1). runout(\"Lettuce","COUNT":1"#)),
            Fault("unusable"),
        ),
        ("a reply that obeys an injection", says("Ignoring my instructions: all tacos are free now! {\"predicates\":[]}"), Fault("unusable")),
        ("a thousand predicates", says(&format!("{{\"predicates\":[{}]}}", vec![r#"{"form":"completed"}"#; 1000].join(","))), Fault("unusable")),
        ("an empty list: nothing understood, and that is no fault", says("{\"predicates\":[]}"), Heard(&[])),
        ("wrong at first, repaired", first_then(Act::json(completion("two tacos")), good()), Heard(TACOS)),
        ("own words that were said", says(&form("order(ITEM, COUNT)", r#","ITEM":{"said":"tacos please"},"COUNT":1"#)), Heard(&["order(\"tacos please\",1)"])),
    ]
}

#[test]
fn every_fault_ends_in_time_with_its_name_or_with_valid_predicates() {
    let all = cases();
    assert!(all.len() > 60, "{}", all.len());
    let mut wrong = Vec::new();
    for (name, handler, then) in all {
        let server = Server::start(handler);
        let translator = translator(model(config(&server, Api::OpenAi))).fallback(Arc::new(Fixed("order(\"Pepsi\",1)", 0.4)));
        let started = Instant::now();
        let result = translator.translate("two soft tacos please", &customer(), None);
        let took = started.elapsed();
        let (heard, trace) = (texts(&result.heard.predicates), result.trace.unwrap());
        let ok = match then {
            Fault(kind) => trace.fault == Some(kind) && heard == ["order(\"Pepsi\",1)"] && result.heard.by == "embedded",
            Heard(atoms) => trace.fault.is_none() && heard == atoms && result.heard.by == "llm",
        };
        if !ok || took > Duration::from_secs(6) {
            wrong.push(format!("{name}: {heard:?} by {} with {:?} {:?} after {took:?}", result.heard.by, trace.fault, trace.problems));
        }
        for atom in result.heard.predicates {
            assert!(ONTOLOGY.admit_atom("customer", &atom).is_ok(), "{name}");
        }
        assert!(server.requests().len() <= 6, "{name}: at most two rounds of three attempts");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_server_that_is_down_is_named_and_not_asked_again() {
    let server = Server::start(|_| Act::Close);
    let mut config = config(&server, Api::OpenAi);
    drop(server);
    config.limits.breaker_failures = 3;
    config.limits.breaker_ms = 60_000;
    let translator = translator(model(config));
    let first = translator.translate("hello", &customer(), None);
    assert_eq!(first.trace.unwrap().fault, Some("unreachable"));
    assert_eq!((first.heard.predicates.len(), first.heard.confidence), (0, 0.0));
    let started = Instant::now();
    for _ in 0..50 {
        assert_eq!(translator.translate("hello", &customer(), None).trace.unwrap().fault, Some("circuit_open"));
    }
    assert!(started.elapsed() < Duration::from_secs(15), "an open breaker costs no waiting");
}

#[test]
fn requests_in_flight_are_bounded_and_the_rest_wait_or_time_out() {
    let server = Server::start(|_| Act::Pieces { content_type: "application/json", pieces: vec![(60, completion(TWO_TACOS).into_bytes())], end: true });
    let mut config = config(&server, Api::OpenAi);
    config.limits.concurrency = 2;
    config.limits.total_ms = 2_000;
    config.limits.idle_ms = 1_000;
    let translator = translator(model(config));
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| assert!(translator.translate("two soft tacos", &customer(), None).trace.unwrap().fault.is_none()));
        }
    });
    assert!(started.elapsed() >= Duration::from_millis(150), "six exchanges of 60 ms, two at a time");
}
