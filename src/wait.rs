//! Waiting without holding a thread: whose thread serves the network, and how a caller that is not async waits.
//!
//! Futures of this crate may be polled by anybody: what needs a runtime (sockets, processes, timers) is put to the one below.

use std::pin::pin;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use futures_util::future::{Either, select};
use tokio::runtime::{Builder, Runtime};

/// Waits on the calling thread, which may itself be one of an asynchronous program.
pub use pollster::block_on;

/// One worker thread serves models and functions of the process: they wait for the network, they do not compute.
pub fn network() -> Result<&'static Runtime, &'static str> {
    static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();
    RUNTIME
        .get_or_init(|| Builder::new_multi_thread().worker_threads(1).thread_name("duologue-network").enable_all().build().map_err(|e| e.to_string()))
        .as_ref()
        .map_err(String::as_str)
}

/// Runs something on the network's thread; `None` if there is none, or it was abandoned.
pub async fn apart<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> Option<T> {
    network().ok()?.spawn(future).await.ok()
}

/// What comes in time; `None` if that time is over before.
pub async fn in_time<T>(until: Option<Instant>, future: impl Future<Output = T>) -> Option<T> {
    let (Some(until), Ok(runtime)) = (until, network()) else { return Some(future.await) };
    let over = {
        let _inside = runtime.enter();
        tokio::time::sleep_until(until.into())
    };
    match select(pin!(future), pin!(over)).await {
        Either::Left((out, _)) => Some(out),
        Either::Right(_) => None,
    }
}

/// A pause.
pub async fn pause(time: Duration) {
    let _ = in_time(Instant::now().checked_add(time), std::future::pending::<()>()).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_too_long_is_given_up() {
        let soon = Instant::now().checked_add(Duration::from_millis(20));
        assert_eq!(block_on(in_time(soon, std::future::pending::<()>())), None);
        assert_eq!(block_on(in_time(soon, std::future::ready(3))), Some(3));
        // Who waits may do so within an asynchronous program.
        assert_eq!(block_on(apart(async { block_on(in_time(None, std::future::ready(4))) })), Some(Some(4)));
    }
}
