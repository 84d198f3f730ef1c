//! Cassettes: every exchange with a model recorded byte for byte and played back without a network.
//!
//! A cassette is a file of JSON lines, one exchange each: the request's path and body, and the reply's status, headers and body pieces.
//! Headers of the request are not part of it, so a cassette holds no key.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::config::Secret;
use super::error::ModelError;
use super::wire::{Transport, WireReply, WireRequest};

/// One recorded exchange.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// Request path.
    pub path: String,
    /// Request body.
    pub request: String,
    /// Reply status; 0 when there was no reply.
    pub status: u16,
    /// `Retry-After` in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
    /// Reply content type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// Reply body in its pieces.
    pub reply: Vec<Piece>,
    /// What went wrong on the way, if anything did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// A piece of a body: text, or hexadecimal where it is no UTF-8.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Piece {
    /// UTF-8.
    Text(String),
    /// Anything else.
    Bytes {
        /// Two digits a byte.
        hex: String,
    },
}

impl Piece {
    fn of(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Bytes { hex: bytes.iter().map(|b| format!("{b:02x}")).collect() },
        }
    }

    fn bytes(&self) -> Result<Vec<u8>, ModelError> {
        match self {
            Self::Text(text) => Ok(text.clone().into_bytes()),
            Self::Bytes { hex } => {
                let digits: Option<Vec<u8>> = hex.chars().map(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok())).collect();
                let digits = digits.filter(|d| d.len() % 2 == 0).ok_or_else(|| ModelError::Cassette("a piece is no hexadecimal".into()))?;
                Ok(digits.chunks(2).map(|pair| pair.iter().fold(0, |n, d| n * 16 + d)).collect())
            }
        }
    }
}

/// A transport that writes down what passes through it.
pub struct Recorder {
    inner: Arc<dyn Transport>,
    file: Arc<Mutex<File>>,
    key: Option<Secret>,
}

impl Recorder {
    /// Records what `inner` carries, appended to the file. `key` is taken out of whatever the server echoes.
    pub fn new(inner: Arc<dyn Transport>, path: &Path, key: Option<Secret>) -> Result<Self, ModelError> {
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(|e| ModelError::Cassette(e.to_string()))?;
        Ok(Self { inner, file: Arc::new(Mutex::new(file)), key })
    }
}

/// An exchange under way; it is written when the body ends or the reader lets go of it, whichever comes first.
struct Draft {
    exchange: Option<Exchange>,
    bytes: Vec<Vec<u8>>,
    file: Arc<Mutex<File>>,
    key: Option<Secret>,
}

impl Draft {
    fn write(&mut self) -> Result<(), ModelError> {
        let Some(mut exchange) = self.exchange.take() else { return Ok(()) };
        let whole = String::from_utf8_lossy(&self.bytes.concat()).into_owned();
        exchange.reply = match &self.key {
            // A key in the reply may straddle two pieces; then the pieces are joined before it is taken out.
            Some(key) if key.redact(&whole) != whole => vec![Piece::Text(whole)],
            _ => self.bytes.iter().map(|b| Piece::of(b)).collect(),
        };
        let unreadable = |e: serde_json::Error| ModelError::Cassette(e.to_string());
        let mut line = serde_json::to_value(&exchange).map_err(unreadable)?;
        if let Some(key) = &self.key {
            redact(&mut line, key);
        }
        let mut line = line.to_string();
        line.push('\n');
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.write_all(line.as_bytes()).and_then(|()| file.flush()).map_err(|e| ModelError::Cassette(e.to_string()))
    }
}

/// What of a line was sent, and tells which reply to play: nothing that a server quotes.
const SENT: [&str; 2] = ["path", "request"];

/// Takes the key out of whatever the server said.
fn redact(line: &mut Value, key: &Secret) {
    match line {
        Value::String(text) => *text = key.redact(text),
        Value::Array(list) => list.iter_mut().for_each(|v| redact(v, key)),
        Value::Object(map) => map.iter_mut().filter(|(name, _)| !SENT.contains(&name.as_str())).for_each(|(_, v)| redact(v, key)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Err(error) = self.write() {
            tracing::warn!(%error, "an exchange could not be recorded");
        }
    }
}

impl Transport for Recorder {
    fn send<'a>(&'a self, request: &'a WireRequest) -> BoxFuture<'a, Result<WireReply, ModelError>> {
        Box::pin(async move {
            let exchange = Exchange {
                path: request.path.clone(),
                request: request.body.clone(),
                status: 0,
                retry_after: None,
                content_type: None,
                reply: Vec::new(),
                fault: None,
            };
            let mut draft = Draft { exchange: Some(exchange), bytes: Vec::new(), file: self.file.clone(), key: self.key.clone() };
            let reply = match self.inner.send(request).await {
                Ok(reply) => reply,
                Err(error) => {
                    if let Some(e) = &mut draft.exchange {
                        e.fault = Some(error.to_string());
                    }
                    draft.write()?;
                    return Err(error);
                }
            };
            if let Some(e) = &mut draft.exchange {
                e.status = reply.status;
                e.retry_after = reply.retry_after.map(|d| d.as_secs());
                e.content_type.clone_from(&reply.content_type);
            }
            let body = stream::unfold((reply.body, draft), |(mut body, mut draft)| async move {
                match body.next().await {
                    Some(Ok(piece)) => {
                        draft.bytes.push(piece.clone());
                        Some((Ok(piece), (body, draft)))
                    }
                    Some(Err(error)) => {
                        if let Some(e) = &mut draft.exchange {
                            e.fault = Some(error.to_string());
                        }
                        Some((Err(error), (body, draft)))
                    }
                    None => None,
                }
            });
            Ok(WireReply { body: body.boxed(), ..reply })
        })
    }
}

/// By path and request body: how many were played, and the exchanges in recorded order.
type Tapes = BTreeMap<(String, String), (usize, Vec<Exchange>)>;

/// A transport that plays a cassette. Equal requests are answered in recorded order; the last answer then stays.
pub struct Player {
    tapes: Mutex<Tapes>,
}

impl Player {
    /// Reads a cassette's text.
    pub fn new(cassette: &str) -> Result<Self, ModelError> {
        let mut tapes = Tapes::new();
        for (number, line) in cassette.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
            let exchange: Exchange = serde_json::from_str(line).map_err(|e| ModelError::Cassette(format!("line {}: {e}", number + 1)))?;
            tapes.entry((exchange.path.clone(), exchange.request.clone())).or_default().1.push(exchange);
        }
        Ok(Self { tapes: Mutex::new(tapes) })
    }

    /// Reads a cassette file.
    pub fn open(path: &Path) -> Result<Self, ModelError> {
        Self::new(&std::fs::read_to_string(path).map_err(|e| ModelError::Cassette(e.to_string()))?)
    }

    fn next(&self, request: &WireRequest) -> Result<Exchange, ModelError> {
        let mut tapes = self.tapes.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let missing = || ModelError::Cassette(format!("no exchange for this request to `{}`; record it again", request.path));
        let (at, exchanges) = tapes.get_mut(&(request.path.clone(), request.body.clone())).ok_or_else(missing)?;
        let exchange = exchanges.get(*at).or_else(|| exchanges.last()).cloned().ok_or_else(missing)?;
        *at += 1;
        Ok(exchange)
    }
}

impl Transport for Player {
    fn send<'a>(&'a self, request: &'a WireRequest) -> BoxFuture<'a, Result<WireReply, ModelError>> {
        Box::pin(async move {
            let exchange = self.next(request)?;
            let fault = exchange.fault.clone();
            if exchange.status == 0 {
                return Err(ModelError::Unreachable(fault.unwrap_or_default()));
            }
            let mut pieces: Vec<Result<Vec<u8>, ModelError>> = exchange.reply.iter().map(Piece::bytes).collect();
            pieces.extend(fault.map(|f| Err(ModelError::BrokenOff(f))));
            Ok(WireReply {
                status: exchange.status,
                retry_after: exchange.retry_after.map(Duration::from_secs),
                content_type: exchange.content_type,
                body: stream::iter(pieces).boxed(),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = "application/json";

    /// A reply's pieces and content type.
    struct Fixed(Vec<Vec<u8>>, &'static str);

    impl Transport for Fixed {
        fn send<'a>(&'a self, _: &'a WireRequest) -> BoxFuture<'a, Result<WireReply, ModelError>> {
            let pieces: Vec<Result<Vec<u8>, ModelError>> = self.0.iter().cloned().map(Ok).collect();
            let reply =
                WireReply { status: 200, retry_after: Some(Duration::from_secs(3)), content_type: Some(self.1.into()), body: stream::iter(pieces).boxed() };
            Box::pin(async move { Ok(reply) })
        }
    }

    async fn all(transport: &dyn Transport, request: &WireRequest) -> (u16, Vec<Vec<u8>>) {
        let reply = transport.send(request).await.unwrap();
        let pieces: Vec<_> = reply.body.collect().await;
        (reply.status, pieces.into_iter().map(Result::unwrap).collect())
    }

    #[tokio::test]
    async fn what_was_recorded_plays_byte_for_byte() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tape.jsonl");
        let pieces = vec![b"{\"a\":\"\xc3".to_vec(), b"\xa4\"}\r\n".to_vec(), vec![], vec![0, 255, 10]];
        let request = WireRequest { path: "/v1/x".into(), body: "{\"q\":1}".into() };
        let recorder = Recorder::new(Arc::new(Fixed(pieces.clone(), JSON)), &path, None).unwrap();
        assert_eq!(all(&recorder, &request).await, (200, pieces.clone()));
        let player = Player::open(&path).unwrap();
        for _ in 0..2 {
            assert_eq!(all(&player, &request).await, (200, pieces.clone()));
        }
        let other = WireRequest { body: "{\"q\":2}".into(), ..request };
        assert!(matches!(player.send(&other).await, Err(ModelError::Cassette(_))));
    }

    #[tokio::test]
    async fn a_cassette_holds_no_key() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tape.jsonl");
        let quotes = [(vec![b"wrong key sk-se".to_vec(), b"cret-1".to_vec()], JSON), (vec![b"{}".to_vec()], "wrong key SK-Secret-1")];
        for (pieces, content_type) in quotes {
            let recorder = Recorder::new(Arc::new(Fixed(pieces, content_type)), &path, Some(Secret::new("sk-secret-1"))).unwrap();
            all(&recorder, &WireRequest { path: "/v1/x".into(), body: "{}".into() }).await;
        }
        let tape = std::fs::read_to_string(&path).unwrap();
        assert!(tape.matches("wrong key [key]").count() == 2 && !tape.to_lowercase().contains("secret-1"), "{tape}");
        assert!(Player::open(&path).is_ok(), "{tape}");
    }
}
