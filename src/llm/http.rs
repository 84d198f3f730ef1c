//! The real transport: reqwest with ring, no redirects, no proxy surprises, and the key only in a header marked sensitive.

use std::sync::Once;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};

use super::config::{Api, ModelConfig, Secret};
use super::error::ModelError;
use super::wire::{Transport, WireReply, WireRequest, retry_after};
use crate::text::shorten;

/// Anthropic's version header; the messages interface has been stable under it.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// HTTP to one base address.
pub struct HttpTransport {
    client: reqwest::Client,
    base_url: String,
    key: Option<Secret>,
}

impl HttpTransport {
    /// A client for the configured endpoint.
    pub fn new(config: &ModelConfig) -> Result<Self, ModelError> {
        install_crypto();
        let client = reqwest::Client::builder()
            .default_headers(headers(config)?)
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(Duration::from_millis(config.limits.connect_ms))
            .pool_max_idle_per_host(config.limits.concurrency)
            .tcp_nodelay(true)
            .user_agent(concat!("duologue/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|e| ModelError::Config(told(&e)))?;
        Ok(Self { client, base_url: config.base_url.trim_end_matches('/').to_owned(), key: config.key().cloned() })
    }

    fn told(&self, error: &reqwest::Error) -> String {
        let text = told(error);
        self.key.as_ref().map_or(text.clone(), |k| k.redact(&text))
    }
}

/// rustls is built without a default provider; one is installed once for the process, whoever comes first.
fn install_crypto() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An embedding program may have installed its own; that one then serves.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

fn headers(config: &ModelConfig) -> Result<HeaderMap, ModelError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if config.api == Api::Anthropic {
        headers.insert(HeaderName::from_static("anthropic-version"), HeaderValue::from_static(ANTHROPIC_VERSION));
    }
    if let Some(key) = config.key() {
        let (name, value) = match config.api {
            Api::Anthropic => (HeaderName::from_static("x-api-key"), key.expose().to_owned()),
            Api::OpenAi | Api::Ollama => (reqwest::header::AUTHORIZATION, format!("Bearer {}", key.expose())),
        };
        let mut value = HeaderValue::from_str(&value).map_err(|_| ModelError::Config("the key holds characters that no HTTP header may hold".into()))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// The innermost cause says what happened; the address stays out of the text.
fn told(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    if std::ptr::addr_eq(cause, error) { "the request failed".to_owned() } else { shorten(&cause.to_string(), 160) }
}

impl Transport for HttpTransport {
    fn send<'a>(&'a self, request: &'a WireRequest) -> BoxFuture<'a, Result<WireReply, ModelError>> {
        Box::pin(async move {
            let sent = self.client.post(format!("{}{}", self.base_url, request.path)).body(request.body.clone()).send().await;
            let reply = sent.map_err(|e| ModelError::Unreachable(self.told(&e)))?;
            let text = |name: HeaderName| reply.headers().get(name).and_then(|v| v.to_str().ok()).map(str::to_owned);
            let content_type = text(CONTENT_TYPE).map(|t| t.split(';').next().unwrap_or("").trim().to_ascii_lowercase());
            let wait = text(RETRY_AFTER).and_then(|v| retry_after(&v, jiff::Timestamp::now()));
            let status = reply.status().as_u16();
            let body = reply.bytes_stream().map(|piece| piece.map(|b| b.to_vec()).map_err(|e| ModelError::BrokenOff(told(&e)))).boxed();
            Ok(WireReply { status, retry_after: wait, content_type, body })
        })
    }
}
