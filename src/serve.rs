//! The service: conversations with a domain's agents over HTTP (docs/service.md).
//!
//! A request passes the edge (limits, headers), is told from others by its bearer (`access`), and becomes a turn or a question of the one engine.
//! Nothing here decides anything.

pub mod access;
mod agents;
mod asked;
mod completions;
mod console;
mod edge;
mod error;
mod events;
mod flows;
mod forks;
mod health;
pub mod limits;
mod listen;
mod mcp;
mod openapi;
mod sessions;
mod sites;
mod socket;
mod times;
#[cfg(feature = "otel")]
pub mod traces;
mod turns;

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, watch};

use crate::facts::CommitRule;
use crate::turn::Engine;
use crate::turn::shares::Shares;

pub use edge::Rates;
pub use listen::Connections;

use access::Keys;
use error::ApiError;
use events::Events;
use forks::Forks;
use health::Counts;
use limits::{Limits, UnderWay};
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
    /// Threads that decide, and read and write the store.
    pub threads: usize,
    /// How many requests may be under way, those included that wait for a model or a function; more are told to come back.
    pub queue: usize,
    /// The same for one session.
    pub session_queue: usize,
    /// How long a conversation's token holds, in milliseconds.
    pub session_millis: i64,
    /// Longest body of a request, in bytes.
    pub body: usize,
    /// How often each sender may ask.
    pub rates: Rates,
    /// How many connections there may be, and how long they may take.
    pub connections: Connections,
    /// Further names that the service is called by, beside the loopback's.
    pub hosts: Vec<String>,
    /// Origins of other sites whose pages may ask.
    pub origins: Vec<String>,
    /// Whether a proxy of one's own stands before it, which says where requests come from.
    pub proxy: bool,
    /// Who is told what each turn spent its time on, if anybody is.
    #[cfg(feature = "otel")]
    pub traces: Option<traces::Collector>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            sites: vec!["main".to_owned()],
            rule: CommitRule::default(),
            threads: 4 * std::thread::available_parallelism().map_or(2, usize::from),
            queue: 4096,
            session_queue: 8,
            session_millis: 12 * 3_600_000,
            body: 65_536,
            rates: Rates::default(),
            connections: Connections::default(),
            hosts: vec![],
            origins: vec![],
            proxy: false,
            #[cfg(feature = "otel")]
            traces: None,
        }
    }
}

/// One deciding thread in so many may take turns of the past again, which takes the longer the more a site has heard; the others are for turns.
const PAST: usize = 4;

/// The service at work.
pub struct Service {
    engine: Arc<Engine>,
    config: Config,
    keys: Keys,
    events: Events,
    forks: Forks,
    counts: Counts,
    times: Times,
    #[cfg(feature = "otel")]
    traces: traces::Traces,
    shares: tracing::Dispatch,
    limits: Limits,
    under_way: UnderWay,
    deciding: Deciding,
    waiting: Arc<Semaphore>,
    past: Semaphore,
    stopping: watch::Sender<bool>,
}

impl Service {
    /// A service for an engine.
    pub fn new(engine: Engine, keys: Keys, config: Config) -> std::io::Result<Arc<Self>> {
        let threads = Builder::new_multi_thread().worker_threads(config.threads.max(1)).thread_name("duologue-decide").build()?;
        Ok(Arc::new(Self {
            engine: Arc::new(engine),
            keys,
            events: Events::default(),
            forks: Forks::default(),
            counts: Counts::default(),
            times: Times::default(),
            #[cfg(feature = "otel")]
            traces: traces::Traces::to(config.traces.clone()),
            shares: tracing::Dispatch::new(Shares::beside()),
            limits: Limits::default(),
            under_way: UnderWay::default(),
            deciding: Deciding(Some(threads)),
            waiting: Arc::new(Semaphore::new(config.queue)),
            past: Semaphore::new((config.threads / PAST).max(1)),
            stopping: watch::channel(false).0,
            config,
        }))
    }

    /// Milliseconds since 1970, by the engine's clock.
    fn now(&self) -> i64 {
        self.engine.options().clock.now()
    }

    /// Whether the service is about to end.
    fn stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Waits until the service is about to end.
    fn stopped(&self) -> impl Future<Output = ()> + use<> {
        let mut told = self.stopping.subscribe();
        async move { drop(told.wait_for(|stopping| *stopping).await) }
    }

    /// Begins something on the deciding threads; it goes on where nobody waits for it any more. Who finds too much under way comes back later.
    async fn begin<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> Result<T, ApiError> {
        let waiting = self.waiting.clone().try_acquire_owned().map_err(|_| ApiError::busy())?;
        let threads = self.deciding.0.as_ref().ok_or_else(ApiError::busy)?;
        let begun = threads.spawn(async move {
            let _waiting = waiting;
            work.await
        });
        begun.await.map_err(|e| ApiError::internal(&e.to_string()))
    }

    /// Work that computes or reads the store.
    async fn work<T: Send + 'static>(self: &Arc<Self>, work: impl FnOnce(&Arc<Self>) -> T + Send + 'static) -> Result<T, ApiError> {
        let service = self.clone();
        self.begin(async move { work(&service) }).await
    }
}

impl Service {
    /// Work that takes a turn of the past again. A conversation has as many of it under way as it may have turns.
    async fn look_back<T: Send + 'static>(self: &Arc<Self>, session: &str, work: impl FnOnce(&Arc<Self>) -> T + Send + 'static) -> Result<T, ApiError> {
        let crowded = || ApiError { message: "too many questions about this session are under way".to_owned(), ..ApiError::busy() };
        let _one = self.under_way.enter(&format!("past {session}"), self.config.session_queue).ok_or_else(crowded)?;
        let _may = self.past.acquire().await.map_err(|_| ApiError::busy())?;
        self.work(work).await
    }
}

/// The threads that decide. What waits for a model or a function holds none of them, and those that serve connections compute nothing.
struct Deciding(Option<Runtime>);

impl Drop for Deciding {
    fn drop(&mut self) {
        // The last to hold a service may be an asynchronous program, which must not wait for threads.
        self.0.take().into_iter().for_each(Runtime::shutdown_background);
    }
}

/// Bytes as hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
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
        .route("/openapi.json", get(openapi::document))
        .route("/mcp", post(mcp::post))
        .route("/v1/models", get(completions::models))
        .route("/v1/chat/completions", post(completions::complete))
        .route("/v1/agents", get(agents::list))
        .route("/v1/agents/{agent}/drawing", get(agents::drawing))
        .route("/v1/sites/{site}/sessions", post(sessions::open).get(sessions::list))
        .route("/v1/sites/{site}/facts", get(sites::facts))
        .route("/v1/sites/{site}/events", get(events::events))
        .route("/v1/sites/{site}/unheard", get(sites::unheard))
        .route("/v1/sites/{site}/audit", get(sites::audit))
        .route("/v1/sessions/{session}", get(sessions::state))
        .route("/v1/sessions/{session}/facts", get(sessions::facts))
        .route("/v1/sessions/{session}/history", get(sessions::history))
        .route("/v1/sessions/{session}/holds", get(asked::holds))
        .route("/v1/sessions/{session}/whatif", get(asked::what_if_now))
        .route("/v1/sessions/{session}/turns", post(turns::say))
        .route("/v1/sessions/{session}/socket", get(socket::open))
        .route("/v1/sessions/{session}/undo", post(turns::undo))
        .route("/v1/sessions/{session}/turns/{turn}/why", get(asked::why))
        .route("/v1/sessions/{session}/turns/{turn}/proof", get(asked::proof))
        .route("/v1/sessions/{session}/turns/{turn}/whynot", get(asked::why_not))
        .route("/v1/sessions/{session}/turns/{turn}/whatif", get(asked::what_if))
        .route("/v1/sessions/{session}/fork", post(forks::fork))
        .fallback(error::no_such_place)
        .method_not_allowed_fallback(error::no_such_method)
        .layer(from_fn_with_state(service.clone(), edge::edge))
        .with_state(service)
}

/// Listens until `stop`, then lets running requests finish; `ready` is told the address. Whether they finished in time.
pub async fn serve(service: Arc<Service>, ready: impl FnOnce(SocketAddr), stop: impl Future<Output = ()>) -> std::io::Result<bool> {
    let listener = tokio::net::TcpListener::bind(service.config.listen).await?;
    ready(listener.local_addr()?);
    let (app, connections) = (router(service.clone()), service.config.connections);
    tokio::spawn(events::hear(service.clone()));
    #[cfg(feature = "otel")]
    let telling = tokio::spawn({
        let service = service.clone();
        async move { service.traces.tell().await }
    });
    let stop = async {
        stop.await;
        service.stopping.send_replace(true);
    };
    // Behind a proxy all connections come from it.
    let counted = (!service.config.proxy).then_some(service.config.rates);
    let finished = listen::listen(listener, app, connections, counted, stop).await;
    // Turns whose senders hung up are under way, too.
    let all = u32::try_from(service.config.queue).unwrap_or(u32::MAX);
    let idle = tokio::time::timeout(connections.drain, service.waiting.acquire_many(all)).await.is_ok();
    #[cfg(feature = "otel")]
    {
        service.traces.end();
        let _ = tokio::time::timeout(connections.drain, telling).await;
    }
    Ok(finished && idle)
}
