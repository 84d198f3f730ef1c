//! Turns as OpenTelemetry traces: one span a turn, its parts inside (begin, understand, decide, commit, act, render …), told to a collector over
//! HTTP in OTLP's JSON form. What was said is not among what is told.
//!
//! The form is written by hand: it is one object, while the official crates would bring forty more and a second way of counting time.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout_at;

use super::sessions::Place;
use crate::turn::TurnRecord;
use crate::turn::shares::Part;

/// How many turns wait to be told; while nobody takes them, further ones are left out.
const WAITING: usize = 4096;
/// How many are told at once, and how long is waited for so many.
const AT_ONCE: usize = 256;
const GATHER: Duration = Duration::from_secs(1);
/// How long a collector may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whom to tell, by OpenTelemetry's own environment variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collector {
    /// The whole address.
    pub address: String,
    /// What the service is called there.
    pub name: String,
    /// Headers that the collector asks for. They may hold a key, so they are printed nowhere.
    pub headers: HeaderMap,
}

impl Collector {
    /// The collector that the environment names, if it names one.
    pub fn from_env(env: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let named = |name: &str| env(name).filter(|value| !value.is_empty());
        let whole = named("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
        let address = whole.or_else(|| Some(format!("{}/v1/traces", named("OTEL_EXPORTER_OTLP_ENDPOINT")?.trim_end_matches('/'))))?;
        let headers = named("OTEL_EXPORTER_OTLP_HEADERS").unwrap_or_default();
        let headers = headers.split(',').filter_map(|header| {
            let (name, value) = header.split_once('=')?;
            let mut value = HeaderValue::from_str(value.trim()).ok()?;
            value.set_sensitive(true);
            Some((HeaderName::from_bytes(name.trim().as_bytes()).ok()?, value))
        });
        let headers = headers.collect();
        Some(Self { address, name: named("OTEL_SERVICE_NAME").unwrap_or_else(|| "duologue".to_owned()), headers })
    }
}

/// Where turns are handed to, to be told in their own time. A turn without spans is the last one.
pub struct Traces {
    collector: Option<Collector>,
    hand_on: mpsc::Sender<Vec<Value>>,
    turns: Mutex<Option<mpsc::Receiver<Vec<Value>>>>,
}

impl Traces {
    /// For a collector; nothing is told where there is none.
    pub fn to(collector: Option<Collector>) -> Self {
        let (hand_on, turns) = mpsc::channel(WAITING);
        Self { collector, hand_on, turns: Mutex::new(Some(turns)) }
    }

    /// Tells, until the last one.
    pub async fn tell(&self) {
        let turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((collector, turns)) = self.collector.clone().zip(turns) else { return };
        match client(&collector) {
            Ok(client) => tell(&client, &collector, turns).await,
            Err(e) => tracing::error!("traces cannot be told: {}", e.without_url()),
        }
    }

    /// No more will come.
    pub fn end(&self) {
        let _ = self.hand_on.try_send(vec![]);
    }

    /// Hands on a turn that has just been taken, or failed.
    pub(super) fn turn(&self, began: Instant, parts: &[Part], place: &Place, record: Option<&TurnRecord>) {
        let Some((trace, id)) = self.collector.as_ref().and_then(|_| random(16).zip(random(8))) else { return };
        let (now, clock) = (Instant::now(), SystemTime::now());
        let nanos = |at: Instant| {
            let at = clock.checked_sub(now.saturating_duration_since(at)).and_then(|t| t.duration_since(SystemTime::UNIX_EPOCH).ok());
            at.unwrap_or_default().as_nanos().to_string()
        };
        let text = |key: &str, value: &str| json!({ "key": key, "value": { "stringValue": value } });
        let mut about = vec![text("duologue.site", &place.key.site), text("session.id", &place.key.session), text("duologue.role", &place.role)];
        if let Some(r) = record {
            let number = |key: &str, value: u64| json!({ "key": key, "value": { "intValue": value.to_string() } });
            about.extend([
                number("duologue.turn", r.turn),
                number("duologue.rounds", r.rounds.len() as u64),
                number("duologue.actions", r.actions.len() as u64),
            ]);
        }
        // 1 is well, 2 is not; of kinds 1 is the service's own work, 2 an answer to others.
        let status = json!({ "code": if record.is_some() { 1 } else { 2 } });
        let whole = json!({ "traceId": trace, "spanId": id, "name": "turn", "kind": 2, "startTimeUnixNano": nanos(began), "endTimeUnixNano": nanos(now),
            "attributes": about, "status": status });
        let mut spans = vec![whole];
        for part in parts {
            let Some(own) = random(8) else { return };
            let end = part.began.checked_add(part.took).unwrap_or(now);
            spans.push(json!({ "traceId": trace, "spanId": own, "parentSpanId": id, "name": part.name, "kind": 1,
                "startTimeUnixNano": nanos(part.began), "endTimeUnixNano": nanos(end) }));
        }
        if self.hand_on.try_send(spans).is_err() {
            tracing::debug!("a turn's trace was left out: the collector takes none at the moment");
        }
    }
}

/// So many random bytes, none of which need be kept from anybody.
fn random(bytes: usize) -> Option<String> {
    let mut drawn = vec![0; bytes];
    SystemRandom::new().fill(&mut drawn).ok()?;
    Some(super::hex(&drawn))
}

fn client(collector: &Collector) -> reqwest::Result<reqwest::Client> {
    // rustls is built without a default provider; whoever comes first installs one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().redirect(Policy::none()).timeout(PATIENCE).default_headers(collector.headers.clone()).build()
}

async fn tell(client: &reqwest::Client, collector: &Collector, mut turns: mpsc::Receiver<Vec<Value>>) {
    let mut last = false;
    while !last {
        let (mut spans, until) = (vec![], tokio::time::Instant::now() + GATHER);
        for n in 0..AT_ONCE {
            let next = if n == 0 { Ok(turns.recv().await) } else { timeout_at(until, turns.recv()).await };
            let Ok(next) = next else { break };
            last = next.as_ref().is_none_or(Vec::is_empty);
            spans.extend(next.unwrap_or_default());
            if last {
                break;
            }
        }
        if spans.is_empty() {
            continue;
        }
        let name = json!([{ "key": "service.name", "value": { "stringValue": collector.name } }]);
        let scope = json!({ "name": "duologue", "version": env!("CARGO_PKG_VERSION") });
        let body = json!({ "resourceSpans": [{ "resource": { "attributes": name }, "scopeSpans": [{ "scope": scope, "spans": spans }] }] });
        let told = client.post(&collector.address).json(&body).send().await.and_then(reqwest::Response::error_for_status);
        if let Err(e) = told {
            tracing::warn!("the collector of traces took nothing: {}", e.without_url());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_names_the_collector() {
        let env = |all: &'static [(&str, &str)]| Collector::from_env(move |name| all.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()));
        assert_eq!(env(&[]), None);
        assert_eq!(env(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "")]), None);
        let usual = env(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/"), ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=s3cret, x-team=a")]).unwrap();
        assert_eq!((&*usual.address, &*usual.name, usual.headers.len()), ("http://c:4318/v1/traces", "duologue", 2));
        assert!(!format!("{usual:?}").contains("s3cret"));
        let whole = env(&[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://c/t"), ("OTEL_SERVICE_NAME", "counter")]).unwrap();
        assert_eq!((&*whole.address, &*whole.name), ("http://c/t", "counter"));
    }
}
