//! A client that wants what it must not have: every attempt of `tests/data/serve/hostile.jsonl` gets its clear answer, and nothing has changed.

use duologue::serve::access::{Claims, Keys};
use reqwest::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::server::{Server, engine, start_as, token};
use duologue::serve::{Config, Rates};

#[derive(Deserialize)]
struct Attempt {
    name: String,
    method: String,
    path: String,
    bearer: String,
    body: Option<Value>,
    raw: Option<String>,
    #[serde(default)]
    headers: std::collections::BTreeMap<String, String>,
    status: u16,
}

/// What the customer whom nobody may hear says.
const SECRET: &str = "a large Pepsi for Zebulon";

/// The bearers that an attempt may name.
struct Bearers {
    server: Server,
    keys: Vec<(&'static str, String)>,
    replaced: Vec<(&'static str, String)>,
}

async fn bearers() -> Bearers {
    let keys = Keys::in_memory().unwrap();
    let hour = 3_600_000;
    let (manager_id, manager) = token(&keys, "main", true, hour);
    let (_, elsewhere) = token(&keys, "airport", true, hour);
    let (_, plain) = token(&keys, "main", false, hour);
    let (_, expired_operator) = token(&keys, "main", true, -1);
    let (revoked_id, revoked) = token(&keys, "main", true, hour);
    keys.revoke(&revoked_id).unwrap();
    let hash = keys.list().iter().find(|t| t.id == manager_id).unwrap().hash.clone();
    let expired = keys.sign(&Claims { site: "main".into(), session: "x".into(), role: "manager".into(), expires: 1, by: String::new() });
    let config = Config { rates: Rates::of(0), ..Config::default() };
    let server = start_as(engine(), config, keys, manager.clone(), elsewhere.clone()).await;
    let (mine, my_token) = server.open("main", "customer", "").await;
    let theirs = server.open("main", "customer", "").await;
    let (_, abroad) = server.open("airport", "customer", "").await;
    server.say(&theirs, SECRET).await;
    let (body, tag) = my_token.split_once('.').unwrap();
    let forged = format!("{}A.{tag}", &body[..body.len() - 1]);
    let keys = vec![
        ("mine", my_token.clone()),
        ("abroad", abroad),
        ("manager", manager.clone()),
        ("elsewhere", elsewhere),
        ("plain", plain),
        ("expired_operator", expired_operator),
        ("revoked", revoked),
        ("garbage", "not.a.token".to_owned()),
        ("forged", forged),
        ("unsigned", format!("{body}.")),
        ("expired", expired),
        ("guess", format!("duo_{manager_id}_{}", "A".repeat(43))),
        ("hash", format!("duo_{manager_id}_{hash}")),
    ];
    let replaced = vec![("{mine}", mine), ("{theirs}", theirs.0), ("{their_token}", theirs.1), ("{manager_token}", manager)];
    Bearers { server, keys, replaced }
}

impl Bearers {
    fn filled(&self, text: &str) -> String {
        self.replaced.iter().fold(text.to_owned(), |t, (name, value)| t.replace(name, value))
    }

    async fn attempt(&self, a: &Attempt) -> (StatusCode, Value) {
        let method = Method::from_bytes(a.method.as_bytes()).unwrap();
        let mut request = self.server.client.request(method, format!("http://{}{}", self.server.at, self.filled(&a.path)));
        request = match a.bearer.as_str() {
            "none" => request,
            "empty" => request.header("authorization", "Bearer "),
            "basic" => request.basic_auth("manager", Some("manager")),
            "twice" => request.bearer_auth(&self.keys[0].1).bearer_auth(&self.keys[2].1),
            name => request.bearer_auth(&self.keys.iter().find(|(n, _)| *n == name).unwrap_or_else(|| panic!("no bearer {name}")).1),
        };
        for (name, value) in &a.headers {
            request = request.header(name, self.filled(value));
        }
        request = match (a.raw.as_deref(), &a.body) {
            (Some("LARGE"), _) => request.body(json!({ "text": "x".repeat(70_000) }).to_string()),
            (Some("NEST"), _) => request.body("[".repeat(30_000)),
            (Some("REQUEST"), _) => request.body(json!({ "text": "hi", "request": "r".repeat(5_000) }).to_string()),
            (Some(raw), _) => request.body(raw.to_owned()),
            (None, Some(body)) => request.body(self.filled(&body.to_string())),
            (None, None) => request,
        };
        let response = request.send().await.unwrap();
        let status = response.status();
        // What is a stream is not read: that it began is its answer.
        if response.headers().get("content-type").is_some_and(|t| t.as_bytes().starts_with(b"text/event-stream")) {
            return (status, Value::Null);
        }
        let text = response.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_client_gets_nothing_and_a_clear_answer() {
    let all = bearers().await;
    let text = include_str!("../data/serve/hostile.jsonl");
    let attempts: Vec<Attempt> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert!(attempts.len() >= 100);
    let theirs = all.filled("/v1/sessions/{theirs}/history");
    let facts = |all: &Bearers| {
        let (server, manager) = (&all.server, all.server.manager.clone());
        let client = server.client.clone();
        let at = server.at;
        async move {
            let mut out = vec![];
            for path in ["/v1/sites/main/facts", "/v1/sites/main/facts?scope=kb"] {
                out.push(client.get(format!("http://{at}{path}")).bearer_auth(&manager).send().await.unwrap().text().await.unwrap());
            }
            out
        }
    };
    let before = (all.server.get(&theirs, &all.server.manager).await, facts(&all).await);
    let mut wrong = vec![];
    for (n, a) in attempts.iter().enumerate() {
        let (status, answer) = all.attempt(a).await;
        let line = format!("line {}: {} ({} {})", n + 1, a.name, a.method, a.path);
        if status.as_u16() != a.status {
            wrong.push(format!("{line}: {status}, not {}: {answer}", a.status));
        }
        let clear = answer["error"]["message"].as_str().is_some_and(|m| !m.is_empty()) && answer["error"]["help"].is_string();
        if !status.is_success() && !clear {
            wrong.push(format!("{line}: no clear answer: {answer}"));
        }
        if answer.to_string().contains("Zebulon") {
            wrong.push(format!("{line}: hears what another customer said: {answer}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} attempts:\n{}", wrong.len(), attempts.len(), wrong.join("\n"));
    let after = (all.server.get(&theirs, &all.server.manager).await, facts(&all).await);
    assert_eq!(before, after, "nothing of the other conversation, the menu or the shared facts has changed");
}

/// What a proxy may read as one request and the service as two: refused, and the line closed, before a second one is looked at.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_within_another_is_not_taken() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let all = bearers().await;
    let head = format!("POST /v1/sites/main/sessions HTTP/1.1\r\nhost: {}\r\n", all.server.at);
    let within = format!("GET /healthz HTTP/1.1\r\nhost: {}\r\n\r\n", all.server.at);
    for odd in [
        "content-length: 2\r\ncontent-length: 40\r\n\r\n{}",
        "content-length: +2\r\n\r\n{}",
        "content-length: 2, 40\r\n\r\n{}",
        "transfer-encoding: xchunked\r\n\r\n0\r\n\r\n",
        "transfer-encoding : chunked\r\n\r\n0\r\n\r\n",
        "transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        "transfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}",
        "x: a\0b\r\n\r\n",
    ] {
        let mut line = tokio::net::TcpStream::connect(all.server.at).await.unwrap();
        line.write_all(format!("{head}{odd}{within}").as_bytes()).await.unwrap();
        let mut told = vec![];
        let ended = tokio::time::timeout(std::time::Duration::from_secs(20), line.read_to_end(&mut told)).await;
        let told = String::from_utf8_lossy(&told).into_owned();
        assert!(ended.is_ok() && told.starts_with("HTTP/1.1 4") && told.matches("HTTP/1.1").count() == 1, "{odd:?}: {told}");
    }
}

/// What one site's manager says is nothing to another site, whatever is asked there.
#[tokio::test(flavor = "multi_thread")]
async fn no_fact_or_text_of_one_site_reaches_another() {
    let all = bearers().await;
    let server = &all.server;
    let manager = server.open("main", "manager", &server.manager).await;
    server.say(&manager, "we are out of lettuce").await;
    let there = server.open("airport", "customer", "").await;
    let reply = server.say(&there, "one soft taco").await;
    assert!(reply["actions"].as_array().unwrap().iter().all(|a| !a.as_str().unwrap().contains("unavailable")), "{reply}");
    let elsewhere = server.elsewhere.clone();
    for path in ["facts", "sessions", "unheard", "audit"] {
        let told = server.get(&format!("/v1/sites/airport/{path}"), &elsewhere).await.to_string();
        assert!(!told.contains("Lettuce\")") || path == "facts", "{path}: {told}");
        assert!(!told.contains("Zebulon") && !told.contains(&manager.0), "{path}: {told}");
    }
    let shared = server.get("/v1/sites/airport/facts", &elsewhere).await;
    assert_eq!(shared["facts"], json!([]));
    let audit = server.get("/v1/sites/main/audit", &server.manager).await;
    assert_eq!(audit["changes"][0]["said"], "we are out of lettuce", "who changed what, by which words: {audit}");
    assert_eq!(audit["changes"][0]["session"], manager.0.as_str());
}
