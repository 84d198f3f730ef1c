//! Measuring renderers side by side: how often a model's words are faithful, how often the template had to step in, time, tokens and cost.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;

use super::understand::{SPENT, percentile, spent, spent_on};
use crate::llm::cost::Usage;
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
pub struct Wordings {
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
    /// Requests, tokens and cost.
    pub usage: Usage,
    /// Median time of a reply, in microseconds.
    pub p50_us: u64,
    /// Its 99th percentile.
    pub p99_us: u64,
}

/// Measures every renderer on every reply.
pub fn render(cases: &[Case], renderers: &[(String, LlmRender)]) -> Vec<Wordings> {
    renderers.iter().map(|(label, renderer)| measure(cases, label, renderer)).collect()
}

fn measure(cases: &[Case], label: &str, renderer: &LlmRender) -> Wordings {
    let mut report = Wordings { label: label.to_owned(), cases: cases.len(), ..Wordings::default() };
    let mut times = Vec::with_capacity(cases.len());
    for case in cases {
        let rendering = renderer.compose(&case.says, &case.tone);
        times.push(rendering.waited);
        match rendering.by {
            By::Model => report.first += 1,
            By::Retry => report.retried += 1,
            By::Template | By::Mixed | By::Bank => report.fallbacks += 1,
        }
        for violation in &rendering.violations {
            *report.violations.entry(violation.kind()).or_default() += 1;
        }
        if let Some(fault) = rendering.fault {
            *report.faults.entry(fault).or_default() += 1;
        }
        report.usage += rendering.usage;
    }
    (report.p50_us, report.p99_us) = (percentile(&mut times, 50), percentile(&mut times, 99));
    report
}

/// Reports side by side: totals, then what was wrong with texts and exchanges.
pub fn table(reports: &[Wordings]) -> String {
    let width = reports.iter().map(|r| r.label.chars().count()).max().unwrap_or(0).max(12);
    let mut out = format!("{:<width$} {:>8} {:>10} {:>8} {:>12} {:>12} {}", "", "replies", "at once", "retried", "template", "faithful", spent(SPENT));
    for r in reports {
        let faithful = if r.cases == 0 { 0.0 } else { 100.0 * (r.first + r.retried) as f64 / r.cases as f64 };
        let spent = spent_on(&r.usage, r.p50_us, r.p99_us);
        let (cases, first, retried, fallbacks) = (r.cases, r.first, r.retried, r.fallbacks);
        out.push_str(&format!("{:<width$} {cases:>8} {first:>10} {retried:>8} {fallbacks:>12} {faithful:>10.1} % {spent}", r.label));
    }
    for r in reports {
        for (name, counts) in [("violation", &r.violations), ("fault", &r.faults)] {
            for (kind, n) in counts {
                out.push_str(&format!("{}: {name} {kind}: {n}\n", r.label));
            }
        }
    }
    out
}
