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
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tower::ServiceExt;

use super::edge::Rates;
use super::limits::{UnderWay, Underway};

/// Of the connections there may be at once, an address may have one in so many.
const SHARE: usize = 4;
/// What it is told when it wants more.
const CROWDED: &[u8] = b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// What connections may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connections {
    /// How many there may be at once; further ones wait to be accepted.
    pub most: usize,
    /// How long the head of a request may take.
    pub head: Duration,
    /// How long running requests have at the end.
    pub drain: Duration,
    /// How long nothing may be said on a socket before it is closed.
    pub quiet: Duration,
}

/// One of the connections there may be at once. A request that outlives its connection's protocol keeps it.
#[derive(Clone)]
pub struct Held(#[expect(dead_code, reason = "they count while they are there")] Arc<(OwnedSemaphorePermit, Option<Underway>)>);

impl Default for Connections {
    fn default() -> Self {
        Self { most: 4096, head: Duration::from_secs(10), drain: Duration::from_secs(20), quiet: Duration::from_secs(600) }
    }
}

/// Accepts until `stop`; then running requests have their time to finish. Whether they did. Of addresses that count none has all connections.
pub async fn listen(listener: TcpListener, app: Router, limits: Connections, counted: Option<Rates>, stop: impl Future<Output = ()>) -> bool {
    let (addresses, share) = (UnderWay::default(), (limits.most / SHARE).max(1));
    let permits = Arc::new(Semaphore::new(limits.most));
    let stopping = watch::Sender::new(false);
    let mut stop = pin!(stop);
    loop {
        let next = async {
            let permit = permits.clone().acquire_owned().await.ok()?;
            Some((permit, listener.accept().await))
        };
        let (permit, accepted) = match select(pin!(next), stop.as_mut()).await {
            Either::Left((Some(next), _)) => next,
            _ => break,
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
        let of_address = match counted.filter(|rates| rates.counts(peer.ip())) {
            None => None,
            Some(_) => match addresses.enter(&peer.ip().to_string(), share) {
                Some(one) => Some(one),
                None => {
                    // It may have gone by now.
                    let _ = stream.try_write(CROWDED);
                    continue;
                }
            },
        };
        let held = Held(Arc::new((permit, of_address)));
        let (app, of_requests) = (app.clone(), held.clone());
        let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(ConnectInfo(peer));
            request.extensions_mut().insert(of_requests.clone());
            app.clone().oneshot(request)
        });
        let _ = stream.set_nodelay(true);
        let connection = http1::Builder::new().timer(TokioTimer::new()).header_read_timeout(limits.head).serve_connection(TokioIo::new(stream), service);
        let mut stop = stopping.subscribe();
        tokio::spawn(async move {
            let mut connection = pin!(connection.with_upgrades());
            // That a peer went away, or sent no HTTP, is its own affair.
            tokio::select! {
                _ = connection.as_mut() => return drop(held),
                _ = stop.wait_for(|stop| *stop) => {}
            }
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
            drop(held);
        });
    }
    drop(listener);
    stopping.send_replace(true);
    let all = u32::try_from(limits.most).unwrap_or(u32::MAX);
    tokio::time::timeout(limits.drain, permits.acquire_many(all)).await.is_ok()
}
