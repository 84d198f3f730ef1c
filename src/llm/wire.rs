//! The border between a provider's notation and the bytes: requests and replies as plain data, so that cassettes and tests can stand in for HTTP.

use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;

use super::error::ModelError;

/// A request as it goes over the wire, without the secret headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireRequest {
    /// Path under the base address, with its leading slash.
    pub path: String,
    /// The JSON body, byte for byte.
    pub body: String,
}

/// A reply as it comes in.
pub struct WireReply {
    /// HTTP status.
    pub status: u16,
    /// `Retry-After`, if the server sent one.
    pub retry_after: Option<Duration>,
    /// `Content-Type` without parameters, in lower case.
    pub content_type: Option<String>,
    /// The body, in the pieces the network gave.
    pub body: BoxStream<'static, Result<Vec<u8>, ModelError>>,
}

/// Whatever carries a request to a server: HTTP, a recorder, a cassette.
pub trait Transport: Send + Sync {
    /// Sends one request; resolves when the reply's headers are there.
    fn send<'a>(&'a self, request: &'a WireRequest) -> BoxFuture<'a, Result<WireReply, ModelError>>;
}

/// Reads `Retry-After`: whole seconds, or an HTTP date relative to `now`. Nonsense is as good as absent.
pub fn retry_after(value: &str, now: jiff::Timestamp) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<u32>() {
        return Some(Duration::from_secs(seconds.into()));
    }
    let at = jiff::fmt::rfc2822::parse(value).ok()?.timestamp();
    let wait = at.as_second().saturating_sub(now.as_second());
    Some(Duration::from_secs(u64::try_from(wait).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now: jiff::Timestamp = "2026-11-20T12:00:00Z".parse().unwrap();
        assert_eq!(retry_after(" 7 ", now), Some(Duration::from_secs(7)));
        assert_eq!(retry_after("Fri, 20 Nov 2026 12:00:30 GMT", now), Some(Duration::from_secs(30)));
        assert_eq!(retry_after("Fri, 20 Nov 2026 11:00:00 GMT", now), Some(Duration::ZERO));
        assert_eq!(retry_after("soon", now), None);
        assert_eq!(retry_after("-3", now), None);
    }
}
