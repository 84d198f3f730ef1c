//! Whether the service lives and can work, and its counts in Prometheus' text format.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::Service;
use super::error::ApiError;
use crate::turn::TurnRecord;

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Adds.
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Upper bounds of the buckets of a turn's time, in milliseconds.
const BOUNDS: [u64; 12] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 60_000];

/// What is counted.
#[derive(Debug, Default)]
pub struct Counts {
    /// Sessions opened.
    pub sessions: Count,
    /// Requests that were told to come back.
    pub limited: Count,
    turns: Count,
    failed: Count,
    asked: Count,
    tokens: Count,
    micro_usd: Count,
    answers: [Count; 5],
    micros: Count,
    buckets: [Count; BOUNDS.len()],
}

impl Counts {
    /// Counts a turn.
    pub fn turn(&self, took: Duration, taken: Option<&TurnRecord>) {
        let Some(record) = taken else { return self.failed.add(1) };
        if let Some(models) = &record.models {
            self.asked.add(u64::from(models.turn.calls));
            self.tokens.add(models.turn.input.saturating_add(models.turn.output));
            self.micro_usd.add(models.turn.micro_usd);
        }
        self.turns.add(1);
        self.micros.add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
        let millis = took.as_millis();
        for (bucket, _) in self.buckets.iter().zip(BOUNDS).filter(|(_, bound)| millis < u128::from(*bound)) {
            bucket.add(1);
        }
    }

    /// Counts an answer by the first digit of its status.
    pub fn answer(&self, status: StatusCode) {
        if let Some(count) = self.answers.get(usize::from(status.as_u16() / 100).saturating_sub(1)) {
            count.add(1);
        }
    }

    fn text(&self, service: &Service) -> String {
        let mut out = String::new();
        let mut one = |name: &str, kind: &str, help: &str, value: &dyn std::fmt::Display| {
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
        };
        let audited = service.engine.audited();
        one("duologue_sessions_opened_total", "counter", "Sessions opened.", &self.sessions.get());
        one("duologue_turns_failed_total", "counter", "Turns that were not taken.", &self.failed.get());
        one("duologue_requests_limited_total", "counter", "Requests that were told to come back.", &self.limited.get());
        one("duologue_model_calls_total", "counter", "Requests to models.", &self.asked.get());
        one("duologue_model_tokens_total", "counter", "Tokens of models, in and out.", &self.tokens.get());
        one("duologue_model_micro_usd_total", "counter", "Cost of models in micro-dollars.", &self.micro_usd.get());
        one(
            "duologue_requests_waiting",
            "gauge",
            "Requests that wait or are at work.",
            &service.config.queue.saturating_sub(service.waiting.available_permits()),
        );
        one("duologue_audits_confirmed_total", "counter", "Decisions that clingo agreed with.", &audited.confirmed);
        one("duologue_audits_differed_total", "counter", "Decisions that clingo did not agree with.", &audited.differed);
        one("duologue_audits_left_out_total", "counter", "Decisions that were not audited.", &audited.left_out);
        let name = "duologue_answers_total";
        let _ = writeln!(out, "# HELP {name} Answers by class of status.\n# TYPE {name} counter");
        for (class, count) in (1..).zip(&self.answers) {
            let _ = writeln!(out, "{name}{{status=\"{class}xx\"}} {}", count.get());
        }
        let name = "duologue_turn_seconds";
        let _ = writeln!(out, "# HELP {name} Time of a turn.\n# TYPE {name} histogram");
        for (bucket, bound) in self.buckets.iter().zip(BOUNDS) {
            let _ = writeln!(out, "{name}_bucket{{le=\"{}\"}} {}", std::time::Duration::from_millis(bound).as_secs_f64(), bucket.get());
        }
        let seconds = Duration::from_micros(self.micros.get()).as_secs_f64();
        let _ = writeln!(out, "{name}_bucket{{le=\"+Inf\"}} {0}\n{name}_sum {seconds}\n{name}_count {0}", self.turns.get());
        out
    }
}

/// The process lives.
pub async fn healthz() -> Json<Value> {
    Json(json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") }))
}

/// The store answers.
pub async fn readyz(State(service): State<Arc<Service>>) -> Result<Json<Value>, ApiError> {
    if service.stopping() {
        return Err(ApiError {
            retry_after: Some(5),
            ..ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "stopping", "the service is about to end", "ask another one")
        });
    }
    let sites = service.work(|service| service.engine.store().sites()).await??;
    Ok(Json(json!({ "status": "ready", "sites": sites.len() })))
}

/// The counts.
pub async fn metrics(State(service): State<Arc<Service>>) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], service.counts.text(&service)).into_response()
}
