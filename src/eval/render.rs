//! Measuring renderers side by side: how often a model's words are faithful, how often the template had to step in, time, tokens and cost.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;

use super::understand::percentile;
use crate::render::llm::{By, LlmRender};
use crate::render::{Render, Say, Tone};

/// A reply to be worded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Its actions.
    pub says: Vec<Say>,
    /// Its tone.
    pub tone: Tone,
}

/// A renderer that keeps what it was asked to say: put into an engine while dialogues run, it collects the cases.
pub struct Collect {
    inner: Arc<dyn Render>,
    cases: Mutex<Vec<Case>>,
}

impl Collect {
    /// Renders as `inner` does, and collects.
    pub fn new(inner: Arc<dyn Render>) -> Self {
        Self { inner, cases: Mutex::default() }
    }

    /// The cases so far; begins again.
    pub fn take(&self) -> Vec<Case> {
        std::mem::take(&mut self.cases.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Render for Collect {
    fn render(&self, says: &[Say], tone: &Tone) -> String {
        self.cases.lock().unwrap_or_else(PoisonError::into_inner).push(Case { says: says.to_vec(), tone: tone.clone() });
        self.inner.render(says, tone)
    }
}

/// What a renderer reached.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// The renderer.
    pub label: String,
    /// Replies.
    pub cases: usize,
    /// Replies whose first text was faithful.
    pub first: usize,
    /// Replies whose second text was.
    pub retried: usize,
    /// Replies that the template had to give.
    pub fallbacks: usize,
    /// Texts that were not faithful, by what was wrong with them.
    pub violations: BTreeMap<&'static str, usize>,
    /// Exchanges that failed, by fault.
    pub faults: BTreeMap<&'static str, usize>,
    /// Requests.
    pub calls: u64,
    /// Input tokens.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Micro-dollars.
    pub micro_usd: u64,
    /// Median time of a reply, in microseconds.
    pub p50_us: u64,
    /// Its 99th percentile.
    pub p99_us: u64,
}

/// Measures every renderer on every reply.
pub fn render(cases: &[Case], renderers: &[(String, LlmRender)]) -> Vec<Report> {
    renderers.iter().map(|(label, renderer)| measure(cases, label, renderer)).collect()
}

fn measure(cases: &[Case], label: &str, renderer: &LlmRender) -> Report {
    let mut report = Report { label: label.to_owned(), cases: cases.len(), ..Report::default() };
    let mut times = Vec::with_capacity(cases.len());
    for case in cases {
        let rendering = renderer.compose(&case.says, &case.tone);
        times.push(rendering.waited);
        match rendering.by {
            By::Model => report.first += 1,
            By::Retry => report.retried += 1,
            By::Template | By::Mixed => report.fallbacks += 1,
        }
        for violation in &rendering.violations {
            *report.violations.entry(violation.kind()).or_default() += 1;
        }
        if let Some(fault) = rendering.fault {
            *report.faults.entry(fault).or_default() += 1;
        }
        report.calls += u64::from(rendering.usage.calls);
        report.input_tokens += rendering.usage.input;
        report.output_tokens += rendering.usage.output;
        report.micro_usd += rendering.usage.micro_usd;
    }
    (report.p50_us, report.p99_us) = (percentile(&mut times, 50), percentile(&mut times, 99));
    report
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {} replies, faithful at once {}, after a retry {}, template {}", self.label, self.cases, self.first, self.retried, self.fallbacks)?;
        writeln!(f, "  time p50 {} µs, p99 {} µs", self.p50_us, self.p99_us)?;
        writeln!(f, "  calls {}, tokens {} in, {} out, cost {} micro-dollars", self.calls, self.input_tokens, self.output_tokens, self.micro_usd)?;
        for (name, counts) in [("violation", &self.violations), ("fault", &self.faults)] {
            for (kind, n) in counts {
                writeln!(f, "  {name} {kind}: {n}")?;
            }
        }
        Ok(())
    }
}
