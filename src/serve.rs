//! The service: conversations with a domain's agents over HTTP (docs/service.md).
//!
//! A request passes the edge (limits, headers), is told from others by its bearer (`access`), and becomes a turn or a question of the one engine.
//! Nothing here decides anything.

pub mod access;
mod agents;
mod asked;
mod console;
mod error;
mod events;
mod flows;
mod forks;
mod health;
mod sessions;
mod sites;
mod times;
mod turns;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use tokio::sync::Semaphore;

use crate::facts::CommitRule;
use crate::turn::Engine;
use crate::turn::shares::Shares;

use access::Keys;
use error::ApiError;
use events::Events;
use forks::Forks;
use health::Counts;
use times::Times;

/// What an operator may choose.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Sites that are served beside those that the store holds already.
    pub sites: Vec<String>,
    /// The store's commit rule, for turns that are taken again.
    pub rule: CommitRule,
    /// How many requests may wait for the deciding threads; more are told to come back.
    pub queue: usize,
    /// How long a conversation's token holds, in milliseconds.
    pub session_millis: i64,
    /// Longest body of a request, in bytes.
    pub body: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            sites: vec!["main".to_owned()],
            rule: CommitRule::default(),
            queue: 256,
            session_millis: 12 * 3_600_000,
            body: 65_536,
        }
    }
}

/// The service at work.
pub struct Service {
    engine: Arc<Engine>,
    config: Config,
    keys: Keys,
    events: Events,
    forks: Forks,
    counts: Counts,
    times: Times,
    shares: tracing::Dispatch,
    deciding: Semaphore,
    waiting: Semaphore,
}

impl Service {
    /// A service for an engine.
    pub fn new(engine: Engine, keys: Keys, config: Config) -> Arc<Self> {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Arc::new(Self {
            engine: Arc::new(engine),
            keys,
            events: Events::default(),
            forks: Forks::default(),
            counts: Counts::default(),
            times: Times::default(),
            shares: tracing::Dispatch::new(Shares::beside()),
            deciding: Semaphore::new(cores),
            waiting: Semaphore::new(config.queue),
            config,
        })
    }

    /// Milliseconds since 1970, by the engine's clock.
    fn now(&self) -> i64 {
        self.engine.options().clock.now()
    }

    /// Work that computes or reads the store, on one of the deciding threads; who finds too many waiting comes back later.
    async fn work<T: Send + 'static>(self: &Arc<Self>, work: impl FnOnce(&Arc<Self>) -> T + Send + 'static) -> Result<T, ApiError> {
        let _waiting = self.waiting.try_acquire().map_err(|_| ApiError::busy())?;
        let _deciding = self.deciding.acquire().await.map_err(|_| ApiError::busy())?;
        let service = self.clone();
        tokio::task::spawn_blocking(move || work(&service)).await.map_err(|e| ApiError::internal(&e.to_string()))
    }
}

/// Every route.
pub fn router(service: Arc<Service>) -> Router {
    Router::new()
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(health::metrics))
        .route("/", get(console::page))
        .route("/{file}", get(console::file))
        .route("/v1/console", get(console::plan))
        .route("/v1/source", get(console::source))
        .route("/v1/flows", get(flows::list))
        .route("/v1/flows/{flow}/sessions", post(flows::open))
        .route("/v1/agents", get(agents::list))
        .route("/v1/agents/{agent}/drawing", get(agents::drawing))
        .route("/v1/sites/{site}/sessions", post(sessions::open).get(sessions::list))
        .route("/v1/sites/{site}/facts", get(sites::facts))
        .route("/v1/sites/{site}/events", get(events::events))
        .route("/v1/sites/{site}/unheard", get(sites::unheard))
        .route("/v1/sessions/{session}", get(sessions::state))
        .route("/v1/sessions/{session}/facts", get(sessions::facts))
        .route("/v1/sessions/{session}/history", get(sessions::history))
        .route("/v1/sessions/{session}/holds", get(asked::holds))
        .route("/v1/sessions/{session}/whatif", get(asked::what_if_now))
        .route("/v1/sessions/{session}/turns", post(turns::say))
        .route("/v1/sessions/{session}/undo", post(turns::undo))
        .route("/v1/sessions/{session}/turns/{turn}/why", get(asked::why))
        .route("/v1/sessions/{session}/turns/{turn}/proof", get(asked::proof))
        .route("/v1/sessions/{session}/turns/{turn}/whynot", get(asked::why_not))
        .route("/v1/sessions/{session}/turns/{turn}/whatif", get(asked::what_if))
        .route("/v1/sessions/{session}/fork", post(forks::fork))
        .fallback(error::no_such_place)
        .method_not_allowed_fallback(error::no_such_method)
        .layer(axum::extract::DefaultBodyLimit::max(service.config.body))
        .with_state(service)
}

/// Listens until `stop`; `ready` is told the address.
pub async fn serve(service: Arc<Service>, ready: impl FnOnce(SocketAddr), stop: impl Future<Output = ()> + Send + 'static) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::bind(service.config.listen).await?;
    ready(listener.local_addr()?);
    let app = router(service).into_make_service_with_connect_info::<SocketAddr>();
    axum::serve(listener, app).with_graceful_shutdown(stop).await
}
