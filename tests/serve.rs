//! The service as its clients see it: every route of a server in this process, two sites, and a client that wants what it must not have.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test that cannot go on must fail loudly")]

use std::net::SocketAddr;
use std::sync::Arc;

use duologue::domain::{Domain, Files};
use duologue::facts::{MemoryStore, Store};
use duologue::reason::Reasoner;
use duologue::serve::access::{Keys, New};
use duologue::serve::{Config, Service, serve};
use duologue::turn::{Engine, Options};
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};
use tokio::sync::oneshot;

/// A server of the drive-through for two sites.
struct Server {
    at: SocketAddr,
    client: Client,
    manager: String,
    elsewhere: String,
    stop: Option<oneshot::Sender<()>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.stop.take().map(|s| s.send(()));
    }
}

fn engine() -> Engine {
    let domain = Domain::load(&Files::built_in(), "drive_thru").unwrap();
    let understand = domain.embedded().unwrap().unwrap();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    Engine::new(domain, store).with_options(Options { reasoner: Reasoner::Fast, ..Options::default() }).with_understand(Arc::new(understand))
}

async fn start_with(engine: Engine, config: Config) -> Server {
    let keys = Keys::in_memory().unwrap();
    let token = |site: &str| {
        let new = New { site: site.into(), role: "manager".into(), observe: true, millis: 3_600_000, note: String::new() };
        keys.make(new, jiff::Timestamp::now().as_millisecond()).unwrap().1
    };
    let (manager, elsewhere) = (token("main"), token("airport"));
    let config = Config { listen: SocketAddr::from(([127, 0, 0, 1], 0)), sites: vec!["main".into(), "airport".into()], ..config };
    let service = Service::new(engine, keys, config);
    let (told, ready) = oneshot::channel();
    let (stop, stopped) = oneshot::channel::<()>();
    tokio::spawn(async move {
        serve(service, |at| told.send(at).unwrap(), async { drop(stopped.await) }).await.unwrap();
    });
    // The crate picks rustls' provider itself; a client over plain HTTP needs none.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Server { at: ready.await.unwrap(), client: Client::new(), manager, elsewhere, stop: Some(stop) }
}

async fn start() -> Server {
    start_with(engine(), Config::default()).await
}

impl Server {
    async fn send(&self, method: Method, path: &str, token: &str, body: Option<Value>) -> (StatusCode, Value) {
        let mut request = self.client.request(method, format!("http://{}{path}", self.at));
        if !token.is_empty() {
            request = request.bearer_auth(token);
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let response = request.send().await.unwrap();
        let status = response.status();
        let text = response.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    async fn get(&self, path: &str, token: &str) -> Value {
        let (status, body) = self.send(Method::GET, path, token, None).await;
        assert_eq!(status, StatusCode::OK, "{path}: {body}");
        body
    }

    async fn post(&self, path: &str, token: &str, body: Value) -> Value {
        let (status, answer) = self.send(Method::POST, path, token, Some(body)).await;
        assert!(status.is_success(), "{path}: {status} {answer}");
        answer
    }

    /// Opens a session: its id and its token.
    async fn open(&self, site: &str, role: &str, token: &str) -> (String, String) {
        let opened = self.post(&format!("/v1/sites/{site}/sessions"), token, json!({ "role": role })).await;
        (opened["session"].as_str().unwrap().to_owned(), opened["token"].as_str().unwrap().to_owned())
    }

    async fn say(&self, (id, token): &(String, String), text: &str) -> Value {
        self.post(&format!("/v1/sessions/{id}/turns"), token, json!({ "text": text })).await
    }
}

/// A percent-encoded query value.
fn coded(text: &str) -> String {
    text.bytes().map(|b| if b.is_ascii_alphanumeric() { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_with_its_questions() {
    let server = start().await;
    let agents = server.get("/v1/agents", "").await;
    assert_eq!(agents["agents"][0]["agent"], "drive_thru");
    let customer = server.open("main", "customer", "").await;
    let (id, token) = &customer;
    let first = server.say(&customer, "two soft tacos please").await;
    assert_eq!(first["predicates"], json!(["order(\"Soft Taco\",2)"]), "{first}");
    assert_eq!(first["turn"], 1);
    let state = server.get(&format!("/v1/sessions/{id}"), token).await;
    assert_eq!((&state["state"], &state["turn"], &state["role"]), (&first["state"], &json!(1), &json!("customer")));
    let facts = server.get(&format!("/v1/sessions/{id}/facts"), token).await;
    assert!(facts["facts"].as_array().unwrap().iter().any(|f| f["fact"].as_str().unwrap().contains("Soft Taco")), "{facts}");

    let why = server.get(&format!("/v1/sessions/{id}/turns/1/why"), token).await;
    assert_eq!(why["text"], first["text"]);
    let steps = why["why"][0]["proof"]["steps"].as_array().unwrap();
    assert!(steps.iter().any(|s| s["rule"].as_str().is_some_and(|r| r.contains(".lp:"))), "{why}");
    let whynot = server.get(&format!("/v1/sessions/{id}/turns/1/whynot?atom={}", coded("unavailable(_)")), token).await;
    assert!(!whynot["because"].as_array().unwrap().is_empty(), "{whynot}");
    let whatif = server.get(&format!("/v1/sessions/{id}/turns/1/whatif?predicates={}", coded("order(\"Pepsi\",1)")), token).await;
    assert!(whatif["text"].as_str().unwrap().contains("Pepsi"), "{whatif}");

    let second = server.say(&customer, "and a Pepsi").await;
    assert_eq!(second["turn"], 2);
    let undone = server.post(&format!("/v1/sessions/{id}/undo"), token, json!({})).await;
    assert_eq!(undone["state"]["order"], first["state"]["order"], "{undone}");
    let history = server.get(&format!("/v1/sessions/{id}/history"), token).await;
    let said: Vec<&Value> = history["turns"].as_array().unwrap().iter().map(|t| &t["said"]).collect();
    assert_eq!(said, [&json!("two soft tacos please"), &json!("and a Pepsi"), &Value::Null]);
    assert_eq!(history["turns"][1]["state"], second["state"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_goes_its_own_way_and_the_site_never_hears_of_it() {
    let server = start().await;
    let manager = server.open("main", "manager", &server.manager).await;
    server.say(&manager, "we are out of lettuce").await;
    let forked = server.post(&format!("/v1/sessions/{}/fork", manager.0), &manager.1, json!({ "turn": 1 })).await;
    let fork = (forked["session"].as_str().unwrap().to_owned(), forked["token"].as_str().unwrap().to_owned());
    server.say(&fork, "we are out of beans").await;
    let there = server.get(&format!("/v1/sessions/{}/facts?scope=shared", fork.0), &fork.1).await;
    let here = server.get("/v1/sites/main/facts", &manager.1).await;
    let names = |v: &Value| v["facts"].as_array().unwrap().iter().map(|f| f["fact"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(names(&there), ["runout(\"Beans\")", "runout(\"Lettuce\")"]);
    assert_eq!(names(&here), ["runout(\"Lettuce\")"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_is_streamed_and_a_run_out_is_seen_by_everybody_of_the_site() {
    let server = start().await;
    let customer = server.open("main", "customer", "").await;
    let manager = server.open("main", "manager", &server.manager).await;
    let listen = |site: &str, token: &str| server.client.get(format!("http://{}/v1/sites/{site}/events", server.at)).bearer_auth(token).send();
    let mut events = listen("main", &customer.1).await.unwrap();
    let mut elsewhere = listen("airport", &server.elsewhere).await.unwrap();
    assert!(String::from_utf8_lossy(&events.chunk().await.unwrap().unwrap()).contains("event: hello"));
    assert!(String::from_utf8_lossy(&elsewhere.chunk().await.unwrap().unwrap()).contains("event: hello"));
    let url = format!("http://{}/v1/sessions/{}/turns", server.at, manager.0);
    let reply = server.client.post(url).bearer_auth(&manager.1).header("accept", "text/event-stream").body(r#"{"text":"we ran out of lettuce"}"#);
    let streamed = reply.send().await.unwrap().text().await.unwrap();
    assert!(streamed.contains("event: sentence") && streamed.contains("event: turn"), "{streamed}");
    let seen = String::from_utf8_lossy(&events.chunk().await.unwrap().unwrap()).into_owned();
    assert!(seen.contains("event: facts") && seen.contains("runout(\\\"Lettuce\\\")"), "{seen}");
    let refused = server.say(&customer, "a soft taco with extra lettuce").await;
    assert!(refused["text"].as_str().unwrap().to_lowercase().contains("lettuce"), "{refused}");
    let none = tokio::time::timeout(std::time::Duration::from_millis(300), elsewhere.chunk()).await;
    assert!(none.is_err(), "the other site hears nothing: {none:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_sent_twice_is_taken_once() {
    let server = start().await;
    let (id, token) = server.open("main", "customer", "").await;
    let body = json!({ "text": "one soft taco", "request": "r1" });
    let first = server.post(&format!("/v1/sessions/{id}/turns"), &token, body.clone()).await;
    let again = server.post(&format!("/v1/sessions/{id}/turns"), &token, body).await;
    assert_eq!((&first["turn"], &first["text"], &first["state"]), (&again["turn"], &again["text"], &again["state"]));
}
