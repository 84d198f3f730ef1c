//! The sockets: so many connections at once, each with its time for the head of a request, and an end that lets running requests finish.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use futures_util::future::{Either, select};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tower::ServiceExt;

/// What connections may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connections {
    /// How many there may be at once; further ones wait to be accepted.
    pub most: usize,
    /// How long the head of a request may take.
    pub head: Duration,
    /// How long running requests have at the end.
    pub drain: Duration,
}

impl Default for Connections {
    fn default() -> Self {
        Self { most: 4096, head: Duration::from_secs(10), drain: Duration::from_secs(20) }
    }
}

/// Accepts until `stop`; then running requests have their time to finish. Whether they did.
pub async fn listen(listener: TcpListener, app: Router, limits: Connections, stop: impl Future<Output = ()>) -> bool {
    let permits = Arc::new(Semaphore::new(limits.most));
    let graceful = GracefulShutdown::new();
    let mut stop = pin!(stop);
    loop {
        let next = async {
            let permit = permits.clone().acquire_owned().await;
            (permit, listener.accept().await)
        };
        let (permit, accepted) = match select(pin!(next), stop.as_mut()).await {
            Either::Left((next, _)) => next,
            Either::Right(_) => break,
        };
        let (stream, peer): (_, SocketAddr) = match accepted {
            Ok(accepted) => accepted,
            Err(e) => {
                // Out of descriptors, most likely: connections that end give some back.
                tracing::warn!("a connection could not be accepted: {e}");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let app = app.clone();
        let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(ConnectInfo(peer));
            app.clone().oneshot(request)
        });
        let _ = stream.set_nodelay(true);
        let connection = http1::Builder::new().timer(TokioTimer::new()).header_read_timeout(limits.head).serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // That a peer went away, or sent no HTTP, is its own affair.
            let _ = connection.await;
            drop(permit);
        });
    }
    drop(listener);
    tokio::time::timeout(limits.drain, graceful.shutdown()).await.is_ok()
}
