//! What every request passes: the name it was sent to, its sender's rate, the size and time of its body; and what every answer carries.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::error::ApiError;
use super::limits::Rate;
use super::{Config, Service};

/// How long the body of a request may take.
const BODY_TIME: Duration = Duration::from_secs(10);

/// What an answer carries: no script, frame or style of others, no guessing of types, no address told on.
const HEADERS: [(&str, &str); 7] = [
    ("content-security-policy", "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), payment=()"),
];

/// What each sender may ask for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// A token.
    pub bearer: Rate,
    /// An address, whatever it sends.
    pub address: Rate,
    /// Whether this machine's own addresses are counted: behind a proxy of one's own they are everybody's.
    pub loopback: bool,
}

impl Rates {
    /// So many requests of a token a second; 0 for as many as it likes.
    pub fn of(a_second: u32) -> Self {
        let rate = |times: f64| match f64::from(a_second) * times {
            0.0 => Rate { per_second: f64::MAX, burst: f64::MAX },
            n => Rate { per_second: n, burst: 5.0 * n },
        };
        Self { bearer: rate(1.0), address: rate(2.5), loopback: false }
    }

    /// Whether this address is counted.
    pub(super) fn counts(&self, address: IpAddr) -> bool {
        self.loopback || !address.is_loopback()
    }
}

impl Default for Rates {
    fn default() -> Self {
        Self::of(20)
    }
}

/// Whose share a request is taken from.
#[derive(Clone, Debug)]
pub struct Sender {
    address: Option<IpAddr>,
    /// The hash of what it is told by.
    bearer: Option<String>,
}

impl Sender {
    /// The same sender, told by a token that did not come in the usual header.
    pub fn with(self, token: &str) -> Self {
        Self { bearer: Some(super::access::hash(token)), ..self }
    }

    /// The token's share alone: the address's was taken at the edge.
    pub fn only(token: &str) -> Self {
        Self { address: None, bearer: Some(super::access::hash(token)) }
    }
}

impl Service {
    /// Takes one from the sender's shares; nothing left is told with when to come back.
    pub(super) fn afford(&self, from: &Sender) -> Result<(), ApiError> {
        let (rates, now) = (&self.config.rates, Instant::now());
        let slow = |seconds: u64, what: &str| {
            self.counts.limited.add(1);
            let message = format!("too many requests from this {what}");
            let help = "come back after the time in Retry-After";
            ApiError { retry_after: Some(seconds), ..ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too_many", message, help) }
        };
        if let Some(address) = &from.address {
            self.limits.take(&address.to_string(), rates.address, now).map_err(|s| slow(s, "address"))?;
        }
        from.bearer.as_ref().map_or(Ok(()), |bearer| self.limits.take(bearer, rates.bearer, now).map_err(|s| slow(s, "token")))
    }
}

/// Lets a request through to its route, and gives the answer its headers.
pub async fn edge(State(service): State<Arc<Service>>, request: Request, next: Next) -> Response {
    let origin = request.headers().get(header::ORIGIN).cloned();
    let api = request.uri().path().starts_with("/v1");
    let mut response = match through(&service, request).await {
        Ok(Some(request)) => clear(next.run(request).await).await,
        Ok(None) => StatusCode::NO_CONTENT.into_response(),
        Err(error) => error.into_response(),
    };
    service.counts.answer(response.status());
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.entry(HeaderName::from_static(name)).or_insert(HeaderValue::from_static(value));
    }
    if api {
        headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    }
    if let Some(origin) = origin.filter(|o| allowed(&service.config, o)) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST"));
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("authorization, content-type, idempotency-key"));
        headers.insert(header::VARY, HeaderValue::from_static("origin"));
        headers.insert("cross-origin-resource-policy", HeaderValue::from_static("cross-origin"));
    }
    response
}

/// An answer in plain words, from where a path or a query is read, in the form of all others.
async fn clear(response: Response) -> Response {
    let json = response.headers().get(header::CONTENT_TYPE).is_some_and(|t| t.as_bytes().starts_with(b"application/json"));
    if json || !response.status().is_client_error() {
        return response;
    }
    let status = response.status();
    let text = to_bytes(response.into_body(), 4096).await.unwrap_or_default();
    ApiError::new(status, "bad_request", String::from_utf8_lossy(&text), "see docs/service.md or /openapi.json for what there is").into_response()
}

fn allowed(config: &Config, origin: &HeaderValue) -> bool {
    config.origins.iter().any(|o| o.as_bytes() == origin.as_bytes())
}

/// The request with its body read, or nothing for a question of a browser that its answer's headers answer.
async fn through(service: &Service, request: Request) -> Result<Option<Request>, ApiError> {
    let config = &service.config;
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|c| c.0.ip());
    named(config, request.headers())?;
    let address = sender(config, request.headers(), peer);
    // Told by the token itself, however its header is written.
    let bearer = super::access::token_of(request.headers()).ok().flatten().map(super::access::hash);
    let from = Sender { address: address.filter(|a| config.rates.counts(*a)), bearer };
    service.afford(&from)?;
    own_origin(config, request.headers())?;
    if request.method() == Method::OPTIONS {
        return Ok(None);
    }
    let (mut parts, body) = request.into_parts();
    parts.extensions.insert(from);
    let too_large = || ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", format!("a request has at most {} bytes", config.body), "say less at once");
    let length = parts.headers.get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()).and_then(|v| v.parse::<usize>().ok());
    if length.is_some_and(|n| n > config.body) {
        return Err(too_large());
    }
    let read = tokio::time::timeout(BODY_TIME, to_bytes(body, config.body)).await;
    let bytes = read.map_err(|_| ApiError::new(StatusCode::REQUEST_TIMEOUT, "slow", "the body took too long", "send it faster"))?.map_err(|_| too_large())?;
    Ok(Some(Request::from_parts(parts, Body::from(bytes))))
}

/// A page of another origin asks only where the operator lets it.
fn own_origin(config: &Config, headers: &HeaderMap) -> Result<(), ApiError> {
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
    let own = headers.get(header::HOST).and_then(|h| h.to_str().ok()).zip(origin.to_str().ok());
    let own = own.is_some_and(|(host, origin)| origin.split_once("://").is_some_and(|(_, name)| name.eq_ignore_ascii_case(host)));
    let help = "the operator allows origins with --allow-origin";
    if own || allowed(config, origin) { Ok(()) } else { Err(ApiError::forbidden("pages of this origin may not ask", help)) }
}

/// A page elsewhere may have its own name lead here; what it sends says that name.
fn named(config: &Config, headers: &HeaderMap) -> Result<(), ApiError> {
    let wrong = |message: &str| ApiError::new(StatusCode::MISDIRECTED_REQUEST, "host", message.to_owned(), "the operator names further hosts with --host");
    if headers.get_all(header::HOST).iter().nth(1).is_some() {
        return Err(ApiError::bad("the request names two hosts", "name the one it is for"));
    }
    if !config.listen.ip().is_loopback() && config.hosts.is_empty() {
        return Ok(());
    }
    let host = headers.get(header::HOST).and_then(|h| h.to_str().ok()).ok_or_else(|| wrong("the request names no host"))?;
    let name = host.rsplit_once(':').filter(|(_, port)| port.chars().all(|c| c.is_ascii_digit())).map_or(host, |(name, _)| name);
    let name = name.trim_start_matches('[').trim_end_matches(']');
    let own = name == "localhost" || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    if own || config.hosts.iter().any(|h| h.eq_ignore_ascii_case(name)) { Ok(()) } else { Err(wrong("this service is not called so")) }
}

/// Where a request comes from; behind a proxy, what the proxy says.
fn sender(config: &Config, headers: &HeaderMap, peer: Option<IpAddr>) -> Option<IpAddr> {
    let told = || headers.get_all("x-forwarded-for").iter().next_back()?.to_str().ok()?.rsplit(',').next()?.trim().parse().ok();
    if config.proxy { told().or(peer) } else { peer }
}
