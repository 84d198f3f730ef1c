//! A server in this process, and a client for it.

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
pub struct Server {
    pub at: SocketAddr,
    pub client: Client,
    pub manager: String,
    pub elsewhere: String,
    pub stop: Option<oneshot::Sender<()>>,
    /// Whether everything under way was finished at the end.
    pub ended: oneshot::Receiver<bool>,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.stop.take().map(|s| s.send(()));
    }
}

pub fn engine() -> Engine {
    let domain = Domain::load(&Files::built_in(), "drive_thru").unwrap();
    let understand = domain.embedded().unwrap().unwrap();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    Engine::new(domain, store).with_options(Options { reasoner: Reasoner::Fast, ..Options::default() }).with_understand(Arc::new(understand))
}

pub async fn start_with(engine: Engine, config: Config) -> Server {
    let keys = Keys::in_memory().unwrap();
    let (manager, elsewhere) = (token(&keys, "main", true, 3_600_000).1, token(&keys, "airport", true, 3_600_000).1);
    start_as(engine, config, keys, manager, elsewhere).await
}

/// A manager's token: its id and the token.
pub fn token(keys: &Keys, site: &str, observe: bool, millis: i64) -> (String, String) {
    let new = New { site: site.into(), role: "manager".into(), observe, millis, note: String::new() };
    let (token, secret) = keys.make(new, jiff::Timestamp::now().as_millisecond()).unwrap();
    (token.id, secret)
}

pub async fn start_as(engine: Engine, config: Config, keys: Keys, manager: String, elsewhere: String) -> Server {
    let config = Config { listen: SocketAddr::from(([127, 0, 0, 1], 0)), sites: vec!["main".into(), "airport".into()], ..config };
    let service = Service::new(engine, keys, config).unwrap();
    let (told, ready) = oneshot::channel();
    let (stop, stopped) = oneshot::channel::<()>();
    let (end, ended) = oneshot::channel();
    tokio::spawn(async move {
        let finished = serve(service, |at| told.send(at).unwrap(), async { drop(stopped.await) }).await.unwrap();
        let _ = end.send(finished);
    });
    // The crate picks rustls' provider itself; a client over plain HTTP needs none.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Server { at: ready.await.unwrap(), client: Client::new(), manager, elsewhere, stop: Some(stop), ended }
}

pub async fn start() -> Server {
    start_with(engine(), Config::default()).await
}

impl Server {
    pub async fn send(&self, method: Method, path: &str, token: &str, body: Option<Value>) -> (StatusCode, Value) {
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

    pub async fn get(&self, path: &str, token: &str) -> Value {
        let (status, body) = self.send(Method::GET, path, token, None).await;
        assert_eq!(status, StatusCode::OK, "{path}: {body}");
        body
    }

    pub async fn post(&self, path: &str, token: &str, body: Value) -> Value {
        let (status, answer) = self.send(Method::POST, path, token, Some(body)).await;
        assert!(status.is_success(), "{path}: {status} {answer}");
        answer
    }

    /// Opens a session: its id and its token.
    pub async fn open(&self, site: &str, role: &str, token: &str) -> (String, String) {
        let opened = self.post(&format!("/v1/sites/{site}/sessions"), token, json!({ "role": role })).await;
        (opened["session"].as_str().unwrap().to_owned(), opened["token"].as_str().unwrap().to_owned())
    }

    pub async fn say(&self, (id, token): &(String, String), text: &str) -> Value {
        self.post(&format!("/v1/sessions/{id}/turns"), token, json!({ "text": text })).await
    }
}

/// A percent-encoded query value.
pub fn coded(text: &str) -> String {
    text.bytes().map(|b| if b.is_ascii_alphanumeric() { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}
