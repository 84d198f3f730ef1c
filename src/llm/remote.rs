//! A model behind a server: one dialect, one transport, and around both the time-outs, size limits, retries and the circuit breaker.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::anthropic::Anthropic;
use super::config::{Api, Limits, ModelConfig, Prices, Secret, Structured};
use super::error::{ModelError, Stage};
use super::http::HttpTransport;
use super::limits::{Gate, pause};
use super::ollama::Ollama;
use super::openai::OpenAi;
use super::sse::{EventReader, Format};
use super::wire::{Transport, WireReply, WireRequest};
use super::{ChatReply, ChatRequest, Embeddings, Model, OnText, Shaping, Usage};
use crate::text::shorten;

/// How long a stream is waited for after the model gave its reason for ending.
const AFTERTHOUGHT: Duration = Duration::from_millis(300);
/// How much of an error reply is read for its message.
const ERROR_BYTES: usize = 16 * 1024;

/// A provider's notation: pure functions between requests, JSON and replies.
pub(super) trait Dialect: Send + Sync {
    fn chat(&self, config: &ModelConfig, request: &ChatRequest, stream: bool) -> WireRequest;
    fn reply(&self, config: &ModelConfig, value: &Value) -> Result<ChatReply, ModelError>;
    fn format(&self) -> Format;
    fn event(&self, config: &ModelConfig, event: &str, state: &mut StreamState) -> Result<(), ModelError>;
    fn embed(&self, config: &ModelConfig, texts: &[String]) -> Result<WireRequest, ModelError>;
    fn vectors(&self, config: &ModelConfig, value: &Value, count: usize) -> Result<Embeddings, ModelError>;
}

/// A stream as far as it has been read.
#[derive(Debug, Default)]
pub(super) struct StreamState {
    /// All text so far.
    pub text: String,
    /// Text not handed on yet.
    pub fresh: String,
    /// How much of what is spoken was put there.
    handed: usize,
    /// What must not be quoted.
    key: Option<Secret>,
    /// The model gave a reason for ending.
    pub finished: bool,
    /// The stream's own end marker came.
    pub done: bool,
    /// What it used, as far as known.
    pub usage: Usage,
    /// Fresh input tokens (Anthropic tells them at the start).
    pub input: u64,
    /// Input tokens written to the cache.
    pub written: u64,
    /// Input tokens read from the cache.
    pub cached: u64,
}

impl StreamState {
    /// A stream that never quotes the key.
    pub fn of(key: Option<Secret>) -> Self {
        Self { key, ..Self::default() }
    }

    pub fn push(&mut self, piece: &str) {
        self.text.push_str(piece);
        let said = self.said();
        // What may become the key waits for what follows it.
        let open = self.key.as_ref().map_or(0, |k| k.begun(&said));
        self.hand(said.get(..said.len() - open).unwrap_or_default());
    }

    /// All that is spoken so far, without the key.
    fn said(&self) -> String {
        let said = super::spoken(&self.text);
        self.key.as_ref().map_or_else(|| said.to_owned(), |k| k.redact(said))
    }

    /// Hands on what waited, and tells all of it.
    pub fn end(&mut self) -> String {
        let said = self.said();
        self.hand(&said);
        said
    }

    fn hand(&mut self, said: &str) {
        self.fresh.push_str(said.get(self.handed..).unwrap_or_default());
        self.handed = self.handed.max(said.len());
    }
}

/// A model at a server.
pub struct RemoteModel {
    config: ModelConfig,
    dialect: &'static dyn Dialect,
    transport: Arc<dyn Transport>,
    gate: Gate,
    /// The configuration without what the server refused, once it refused something.
    adapted: Mutex<Option<Arc<ModelConfig>>>,
}

impl RemoteModel {
    /// A model over HTTP.
    pub fn new(config: ModelConfig) -> Result<Self, ModelError> {
        let transport = Arc::new(HttpTransport::new(&config)?);
        Ok(Self::over(config, transport))
    }

    /// A model over any transport: a cassette, a recorder, a test's own.
    pub fn over(config: ModelConfig, transport: Arc<dyn Transport>) -> Self {
        let dialect: &'static dyn Dialect = match config.api {
            Api::OpenAi => &OpenAi,
            Api::Anthropic => &Anthropic,
            Api::Ollama => &Ollama,
        };
        let gate = Gate::new(&config.limits);
        Self { config, dialect, transport, gate, adapted: Mutex::default() }
    }

    /// A text of the server's without the key, should it quote it.
    fn redact(&self, text: &str) -> String {
        self.config.key().map_or_else(|| text.to_owned(), |k| k.redact_cut(text))
    }

    fn safe<T>(&self, outcome: Result<T, ModelError>) -> Result<T, ModelError> {
        outcome.map_err(|e| e.map_text(|t| self.redact(t)))
    }

    fn in_use(&self) -> Arc<ModelConfig> {
        let adapted = self.adapted.lock().unwrap_or_else(PoisonError::into_inner);
        adapted.clone().unwrap_or_else(|| Arc::new(self.config.clone()))
    }

    /// One chat; a field that the server refuses by name is left out from then on.
    async fn exchange(&self, request: &ChatRequest, sink: &mut Sink<'_, '_>) -> Result<(Outcome, u32), ModelError> {
        let deadline = Instant::now() + self.config.limits.total();
        let mut refusals = 0;
        loop {
            let config = self.in_use();
            let wire = self.dialect.chat(&config, request, sink.on_text.is_some());
            match self.attempts(&wire, sink, deadline).await {
                Ok((outcome, calls)) => return Ok((outcome, refusals + calls)),
                Err(error) => {
                    // Each adaptation takes one thing away, so this ends.
                    let adapted = config.without_refused(&error).ok_or_else(|| error.clone())?;
                    tracing::info!(%error, "the request is sent again without what the server refuses");
                    *self.adapted.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(adapted));
                    refusals += 1;
                }
            }
        }
    }

    /// Attempts until one succeeds, the fault is no passing one, or time is up. `sink` tells whether text went out already: then there is no second attempt.
    async fn attempts(&self, wire: &WireRequest, sink: &mut Sink<'_, '_>, deadline: Instant) -> Result<(Outcome, u32), ModelError> {
        let limits = &self.config.limits;
        let mut attempt = 0;
        loop {
            attempt += 1;
            let pass = self.gate.enter(deadline).await?;
            let outcome = match timeout_at(deadline, self.once(wire, sink)).await {
                Ok(outcome) => outcome,
                Err(_) => Err(ModelError::TimedOut { stage: Stage::Total, limit: limits.total() }),
            };
            pass.report(&outcome);
            let error = match outcome {
                Ok(outcome) => return Ok((outcome, attempt)),
                Err(error) => error,
            };
            let asked = match &error {
                ModelError::RateLimited { retry_after } => *retry_after,
                _ => None,
            };
            let wait = pause(limits, attempt, asked);
            let again = error.is_transient() && self.in_use().without_refused(&error).is_none();
            if !again || attempt > limits.retries || sink.delivered || Instant::now() + wait >= deadline {
                return Err(error);
            }
            tracing::debug!(kind = error.kind(), attempt, "asking the model again");
            sleep(wait).await;
        }
    }

    async fn once(&self, wire: &WireRequest, sink: &mut Sink<'_, '_>) -> Result<Outcome, ModelError> {
        let limits = &self.config.limits;
        let sent = timeout(limits.headers(), self.transport.send(wire)).await;
        let reply = sent.map_err(|_| ModelError::TimedOut { stage: Stage::Headers, limit: limits.headers() })??;
        let streamed = match (reply.status, reply.content_type.as_deref()) {
            (200..=299, Some("text/event-stream" | "application/x-ndjson")) if sink.on_text.is_some() => true,
            // Ollama's older versions label their JSON lines as JSON; a server that ignores `stream` sends one JSON object either way.
            (200..=299, None | Some("application/json")) => sink.on_text.is_some() && self.dialect.format() == Format::JsonLines,
            (200..=299, Some(other)) => return Err(ModelError::ContentType(shorten(&self.redact(other), 60))),
            (300..=399, _) => return Err(ModelError::Redirected(reply.status)),
            _ => return Err(self.refused(reply).await),
        };
        if streamed { self.read_stream(reply, sink).await.map(Outcome::Streamed) } else { self.read_whole(reply).await.map(Outcome::Whole) }
    }

    async fn refused(&self, mut reply: WireReply) -> ModelError {
        if reply.status == 429 {
            return ModelError::RateLimited { retry_after: reply.retry_after };
        }
        let bytes = read_body(&mut reply, ERROR_BYTES, self.config.limits.idle()).await.unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let value: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
        let said = ["/error/message", "/error", "/message", "/detail"].into_iter().find_map(|path| value.pointer(path));
        // Some servers give a list of what is wrong with each field instead of a sentence.
        let said = said.map(|s| s.as_str().map_or_else(|| s.to_string(), str::to_owned));
        ModelError::Status { status: reply.status, message: shorten(&self.redact(said.as_deref().unwrap_or("no message")), 300) }
    }

    async fn read_whole(&self, mut reply: WireReply) -> Result<Value, ModelError> {
        let bytes = read_body(&mut reply, self.config.limits.reply_bytes, self.config.limits.idle()).await?;
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(ModelError::Empty);
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| ModelError::NotUtf8)?;
        // A tool's input comes as JSON within the reply: what is said twice there must not be settled by whoever is last.
        if self.config.api == Api::Anthropic {
            return super::json::read_strict(text).map_err(|e| ModelError::Envelope(e.to_string()));
        }
        serde_json::from_str(text).map_err(|e| ModelError::Envelope(shorten(&e.to_string(), 160)))
    }

    async fn read_stream(&self, mut reply: WireReply, sink: &mut Sink<'_, '_>) -> Result<ChatReply, ModelError> {
        let limits = &self.config.limits;
        let (mut reader, mut size) = (EventReader::new(self.dialect.format(), limits.reply_bytes), 0usize);
        let mut state = StreamState::of(self.config.key().cloned());
        while !state.done {
            // Behind the reason for ending only the usage may follow, and not every server closes the stream.
            let piece = match state.finished {
                true => next_piece(&mut reply, limits.idle().min(AFTERTHOUGHT)).await.unwrap_or(None),
                false => next_piece(&mut reply, limits.idle()).await?,
            };
            let Some(piece) = piece else { break };
            size = size.saturating_add(piece.len());
            if size > limits.reply_bytes {
                return Err(ModelError::TooLarge { limit: limits.reply_bytes });
            }
            for event in reader.feed(&piece)? {
                self.dialect.event(&self.config, &event, &mut state)?;
                sink.deliver(&mut state)?;
            }
        }
        if !state.done {
            for event in reader.finish()? {
                self.dialect.event(&self.config, &event, &mut state)?;
                sink.deliver(&mut state)?;
            }
        }
        let said = state.end();
        sink.deliver(&mut state)?;
        match (state.done || state.finished, said.is_empty()) {
            (true, false) => Ok(ChatReply { text: said, usage: Usage { calls: 1, ..state.usage } }),
            (true, true) => Err(ModelError::Empty),
            (false, _) if size == 0 => Err(ModelError::Empty),
            (false, _) => Err(ModelError::BrokenOff("the stream ended without its end marker".into())),
        }
    }
}

/// Where streamed text goes, and whether any has gone there.
struct Sink<'s, 'f> {
    on_text: Option<&'s mut OnText<'f>>,
    delivered: bool,
}

impl Sink<'_, '_> {
    fn deliver(&mut self, state: &mut StreamState) -> Result<(), ModelError> {
        if state.fresh.is_empty() {
            return Ok(());
        }
        let piece = std::mem::take(&mut state.fresh);
        self.delivered = true;
        match self.on_text.as_mut().map_or(ControlFlow::Continue(()), |f| f(&piece)) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(ModelError::Stopped),
        }
    }
}

enum Outcome {
    Whole(Value),
    Streamed(ChatReply),
}

async fn next_piece(reply: &mut WireReply, idle: Duration) -> Result<Option<Vec<u8>>, ModelError> {
    timeout(idle, reply.body.next()).await.map_err(|_| ModelError::TimedOut { stage: Stage::Body, limit: idle })?.transpose()
}

async fn read_body(reply: &mut WireReply, limit: usize, idle: Duration) -> Result<Vec<u8>, ModelError> {
    let mut bytes = Vec::new();
    while let Some(piece) = next_piece(reply, idle).await? {
        if bytes.len().saturating_add(piece.len()) > limit {
            return Err(ModelError::TooLarge { limit });
        }
        bytes.extend(piece);
    }
    Ok(bytes)
}

impl Model for RemoteModel {
    fn name(&self) -> &str {
        &self.config.model
    }

    fn shaping(&self) -> Shaping {
        let config = self.in_use();
        match (config.api, config.structured) {
            (Api::OpenAi, Structured::Prompt) => Shaping::Unshaped,
            (Api::OpenAi, Structured::JsonObject | Structured::Grammar) | (Api::Ollama, _) => Shaping::PerUtterance,
            (Api::OpenAi, Structured::JsonSchema) | (Api::Anthropic, _) => Shaping::Stable,
        }
    }

    fn limits(&self) -> Limits {
        self.config.limits.clone()
    }

    fn prices(&self) -> Prices {
        self.config.prices
    }

    fn chat<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(async move {
            let (outcome, calls) = self.safe(self.exchange(request, &mut Sink { on_text: None, delivered: false }).await)?;
            let mut reply = match outcome {
                Outcome::Whole(value) => self.safe(self.dialect.reply(&self.config, &value))?,
                Outcome::Streamed(reply) => reply,
            };
            reply.text = self.redact(super::spoken(&reply.text));
            reply.usage.calls = calls;
            if reply.text.is_empty() { Err(ModelError::Empty) } else { Ok(reply) }
        })
    }

    fn stream<'a>(&'a self, request: &'a ChatRequest, on_text: &'a mut OnText<'a>) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(async move {
            let mut sink = Sink { on_text: Some(on_text), delivered: false };
            let (outcome, calls) = self.safe(self.exchange(request, &mut sink).await)?;
            let mut reply = match outcome {
                Outcome::Streamed(reply) => reply,
                // A server that ignored `stream`: its whole text is handed on at once.
                Outcome::Whole(value) => {
                    let mut reply = self.safe(self.dialect.reply(&self.config, &value))?;
                    reply.text = self.redact(super::spoken(&reply.text));
                    sink.deliver(&mut StreamState { fresh: reply.text.clone(), ..StreamState::default() })?;
                    reply
                }
            };
            reply.usage.calls = calls;
            Ok(reply)
        })
    }

    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Embeddings, ModelError>> {
        Box::pin(async move {
            if texts.is_empty() {
                return Ok(Embeddings::default());
            }
            let wire = self.dialect.embed(&self.config, texts)?;
            let deadline = Instant::now() + self.config.limits.total();
            let (outcome, calls) = self.safe(self.attempts(&wire, &mut Sink { on_text: None, delivered: false }, deadline).await)?;
            let Outcome::Whole(value) = outcome else {
                return Err(ModelError::Envelope("a stream where one object was expected".into()));
            };
            let mut vectors = self.safe(self.dialect.vectors(&self.config, &value, texts.len()))?;
            vectors.usage.calls = calls;
            Ok(vectors)
        })
    }
}

/// A count in a usage report; absent or odd values count as nothing rather than failing the turn.
pub(super) fn number(value: Option<&Value>) -> u64 {
    value.and_then(Value::as_u64).unwrap_or(0)
}

/// The author's own body fields: set, or with `null` removed. Fields of an object that is there already are put beside its own.
pub(super) fn put_extra(body: &mut Map<String, Value>, config: &ModelConfig) {
    for (name, value) in &config.extra {
        match (body.get_mut(name), value) {
            (_, Value::Null) => {
                body.shift_remove(name);
            }
            (Some(Value::Object(own)), Value::Object(more)) => own.extend(more.clone()),
            _ => {
                body.insert(name.clone(), value.clone());
            }
        }
    }
}

/// One event of a stream as JSON.
pub(super) fn read_event(event: &str) -> Result<Value, ModelError> {
    let value: Value = serde_json::from_str(event).map_err(|e| ModelError::Envelope(shorten(&e.to_string(), 160)))?;
    match value.get("error").filter(|e| !e.is_null() && value.get("type").is_none()) {
        Some(error) => {
            let said = error.get("message").and_then(Value::as_str).or(error.as_str()).unwrap_or("unspecified error");
            Err(ModelError::BrokenOff(shorten(said, 160)))
        }
        None => Ok(value),
    }
}

/// Rows of numbers, as many as asked for and all of one length.
#[expect(clippy::cast_possible_truncation, reason = "embeddings are single precision by nature")]
pub(super) fn read_vectors(rows: &[Value], count: usize) -> Result<Vec<Vec<f32>>, ModelError> {
    let wrong = |what: &str| ModelError::Envelope(what.to_owned());
    if rows.len() != count {
        return Err(wrong("a different number of vectors than texts"));
    }
    let mut vectors: Vec<Vec<f32>> = Vec::with_capacity(count);
    for row in rows {
        let numbers = row.as_array().ok_or_else(|| wrong("a vector that is no list"))?;
        let vector: Option<Vec<f32>> = numbers.iter().map(|n| n.as_f64().map(|x| x as f32).filter(|x| x.is_finite())).collect();
        let vector = vector.filter(|v| !v.is_empty()).ok_or_else(|| wrong("a vector with something else than numbers"))?;
        if vectors.first().is_some_and(|first| first.len() != vector.len()) {
            return Err(wrong("vectors of different lengths"));
        }
        vectors.push(vector);
    }
    Ok(vectors)
}
