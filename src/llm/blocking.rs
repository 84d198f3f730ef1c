//! A model for everybody in the process: exchanges run on the network's thread, so they may be awaited by any executor, or waited for by a thread.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::mpsc;

use super::config::{ModelConfig, Prices};
use super::cost::{Account, Ledger, Usage};
use super::error::{ModelError, Stage};
use super::http::HttpTransport;
use super::remote::RemoteModel;
use super::replay::{Player, Recorder};
use super::wire::Transport;
use super::{ChatReply, ChatRequest, Embeddings, Model};
use crate::conversation::Conversation;
use crate::wait::{apart, block_on, network};

/// A shared model, the runtime that serves it, and the account of what was used. Clones share all of it.
#[derive(Clone, Debug)]
pub struct BlockingModel {
    model: Arc<dyn Model>,
    ledger: Arc<Ledger>,
    until: Option<Instant>,
}

impl BlockingModel {
    /// Wraps a model.
    pub fn new(model: Arc<dyn Model>) -> Self {
        Self { model, ledger: Arc::default(), until: None }
    }

    /// The model that the environment names (see [`ModelConfig::from_env`]), with its limits; `None` without one. `DUOLOGUE_MODEL_RECORD`
    /// names a cassette to record to, `DUOLOGUE_MODEL_REPLAY` one to play instead of asking anybody.
    pub fn from_env(env: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, ModelError> {
        let Some(config) = ModelConfig::from_env(&env)? else { return Ok(None) };
        Self::configured(config, env).map(Some)
    }

    /// A model by its configuration, over HTTP or the cassette that the environment names.
    pub fn configured(config: ModelConfig, env: impl Fn(&str) -> Option<String>) -> Result<Self, ModelError> {
        let named = |name: &str| env(name).filter(|v| !v.is_empty());
        let transport: Arc<dyn Transport> = match (named("DUOLOGUE_MODEL_REPLAY"), named("DUOLOGUE_MODEL_RECORD")) {
            (Some(tape), _) => Arc::new(Player::open(Path::new(&tape))?),
            (None, Some(tape)) => Arc::new(Recorder::new(Arc::new(HttpTransport::new(&config)?), Path::new(&tape), config.key().cloned())?),
            (None, None) => Arc::new(HttpTransport::new(&config)?),
        };
        Ok(Self::new(Arc::new(RemoteModel::over(config, transport))))
    }

    /// The same model, waited for no longer than until then, whatever its own limits are.
    #[must_use]
    pub fn until(&self, until: Option<Instant>) -> Self {
        Self { until, ..self.clone() }
    }

    /// The model itself, for async callers.
    pub fn model(&self) -> &Arc<dyn Model> {
        &self.model
    }

    /// What sessions and sites have used.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Refuses when a conversation has used up a budget.
    pub fn admit(&self, of: &Conversation) -> Result<(), ModelError> {
        self.ledger.admit(&self.model.limits(), &of.site, &of.session)
    }

    /// Books what a conversation used.
    pub fn book(&self, of: &Conversation, used: Usage) {
        self.ledger.book(&of.site, &of.session, used);
    }

    /// What an exchange used that gave no report of it: it failed, or was stopped after `said` characters.
    pub fn lost(&self, request: &ChatRequest, said: usize, error: &ModelError) -> Usage {
        let shape = request.shape.as_ref().map_or(0, |s| s.schema.to_string().len());
        let sent = request.prefix.len() + shape + request.messages.iter().map(|m| m.text.len()).sum::<usize>();
        unreported(&self.model.prices(), sent, said, error)
    }

    /// The same of vectors that did not come.
    pub fn lost_vectors(&self, texts: &[String], error: &ModelError) -> Usage {
        unreported(&self.model.prices().of_embedding(), texts.iter().map(String::len).sum(), 0, error)
    }

    /// What a conversation and its site have used.
    pub fn account(&self, of: &Conversation) -> Account {
        self.ledger.account(&of.site, &of.session)
    }

    /// Forgets the sum of a conversation that ended; its site's sum keeps it.
    pub fn close(&self, of: &Conversation) {
        self.ledger.close(&of.site, &of.session);
    }

    /// The model's name.
    pub fn name(&self) -> &str {
        self.model.name()
    }

    /// One exchange.
    pub async fn ask(&self, request: impl Into<Arc<ChatRequest>>) -> Result<ChatReply, ModelError> {
        let (model, until, request) = (self.model.clone(), self.until, request.into());
        wait(async move { in_time(until, model.chat(&request)).await }).await
    }

    /// One exchange; blocks the calling thread until it ends.
    pub fn chat(&self, request: ChatRequest) -> Result<ChatReply, ModelError> {
        block_on(self.ask(request))
    }

    /// One vector per text; blocks the calling thread.
    pub fn embed(&self, texts: Vec<String>) -> Result<Embeddings, ModelError> {
        let (model, until) = (self.model.clone(), self.until);
        block_on(wait(async move { in_time(until, model.embed(&texts)).await }))
    }

    /// One streamed exchange on the calling thread.
    pub fn stream(&self, request: ChatRequest, on_text: OnPiece<'_>) -> Result<ChatReply, ModelError> {
        block_on(self.streaming(request, on_text))
    }

    /// One streamed exchange; `on_text` runs where this is awaited.
    pub async fn streaming(&self, request: impl Into<Arc<ChatRequest>>, on_text: OnPiece<'_>) -> Result<ChatReply, ModelError> {
        let (model, until, request) = (self.model.clone(), self.until, request.into());
        let (pieces, mut received) = mpsc::unbounded_channel::<String>();
        let exchange = network().map_err(|e| ModelError::Config(e.to_owned()))?.spawn(async move {
            // The receiver hangs up to stop the stream: the next piece then finds nobody.
            let mut hand_on = move |piece: &str| match pieces.send(piece.to_owned()) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            };
            in_time(until, model.stream(&request, &mut hand_on)).await
        });
        while let Some(piece) = received.recv().await {
            if on_text(&piece).is_break() {
                return Err(ModelError::Stopped);
            }
        }
        exchange.await.map_err(|_| lost())?
    }
}

/// What was sent and said, in bytes, as far as the server worked on it. A token has about four.
fn unreported(prices: &Prices, sent: usize, said: usize, error: &ModelError) -> Usage {
    if !error.was_sent() {
        return Usage::default();
    }
    if !error.was_worked_on() {
        return Usage { calls: 1, ..Usage::default() };
    }
    let tokens = |bytes: usize| u64::try_from(bytes.div_ceil(4)).unwrap_or(u64::MAX);
    Usage::of(prices, tokens(sent), 0, tokens(said))
}

/// What receives the pieces of a streamed exchange.
pub type OnPiece<'a> = &'a mut (dyn FnMut(&str) -> ControlFlow<()> + Send);

/// What comes of an exchange that ends in time; one that does not is given up.
async fn in_time<T>(until: Option<Instant>, exchange: impl Future<Output = Result<T, ModelError>>) -> Result<T, ModelError> {
    let Some(until) = until else { return exchange.await };
    let limit = until.saturating_duration_since(Instant::now());
    tokio::time::timeout(limit, exchange).await.unwrap_or(Err(ModelError::TimedOut { stage: Stage::Total, limit }))
}

async fn wait<T: Send + 'static>(future: impl Future<Output = Result<T, ModelError>> + Send + 'static) -> Result<T, ModelError> {
    apart(future).await.unwrap_or_else(|| Err(lost()))
}

fn lost() -> ModelError {
    ModelError::Unreachable("the exchange was abandoned".into())
}
