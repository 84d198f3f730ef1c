//! Measuring translators side by side on cases with known predicates: exact matches, atoms found, time, tokens and cost.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::nlu;
pub use super::nlu::{Case, CaseContext};
use crate::term::{Atom, Name};
use crate::understand::llm::Translation;
use crate::understand::{Context, Understand};

/// Reads cases, one JSON object a line.
pub fn read(text: &str) -> Result<Vec<Case>, String> {
    nlu::read_cases(text.as_bytes()).map_err(|e| e.to_string())
}

/// A translator under measurement.
pub struct Candidate<'a> {
    /// What the report calls it.
    pub label: String,
    /// How it translates.
    pub translate: Translate<'a>,
}

/// A way of translating that tells what led to its result.
pub type Translate<'a> = Box<dyn Fn(&str, &Context) -> Translation + 'a>;

impl<'a> Candidate<'a> {
    /// A translator that uses no model.
    pub fn offline(label: &str, translator: &'a dyn Understand) -> Self {
        Self {
            label: label.to_owned(),
            translate: Box::new(|text, context| Translation { heard: translator.understand(text, context), ..Translation::default() }),
        }
    }

    /// A translator that records its exchanges.
    pub fn new(label: &str, translate: impl Fn(&str, &Context) -> Translation + 'a) -> Self {
        Self { label: label.to_owned(), translate: Box::new(translate) }
    }
}

/// Counts of one group of cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Score {
    /// Cases.
    pub cases: usize,
    /// Cases whose predicates are the gold ones, as a multiset.
    pub exact: usize,
    /// Atoms that are right.
    pub right: usize,
    /// Atoms given.
    pub given: usize,
    /// Atoms wanted.
    pub wanted: usize,
}

impl Score {
    /// Exact matches, in per cent.
    pub fn exact_percent(&self) -> f64 {
        percent(self.exact, self.cases)
    }

    /// The harmonic mean of precision and recall over atoms, in per cent.
    pub fn f1_percent(&self) -> f64 {
        percent(2 * self.right, self.given + self.wanted)
    }

    fn count(&mut self, gold: &[Atom], got: &[Atom]) {
        let mut left: Vec<&Atom> = gold.iter().collect();
        let right = got.iter().filter(|a| left.iter().position(|g| g == a).map(|i| left.swap_remove(i)).is_some()).count();
        self.cases += 1;
        self.exact += usize::from(right == gold.len() && right == got.len());
        self.right += right;
        self.given += got.len();
        self.wanted += gold.len();
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of cases are small")]
fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 { 100.0 } else { 100.0 * part as f64 / whole as f64 }
}

/// What a candidate reached.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// The candidate.
    pub label: String,
    /// Over all cases.
    pub all: Score,
    /// By tag, and by role as `role:NAME`.
    pub by_tag: BTreeMap<String, Score>,
    /// Cases that were put to a model.
    pub asked: usize,
    /// Cases in which the model gave nothing usable, by fault.
    pub faults: BTreeMap<String, usize>,
    /// Requests, tokens and cost.
    pub calls: u64,
    /// Input tokens.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Micro-dollars.
    pub micro_usd: u64,
    /// Median time of a translation, in microseconds.
    pub p50_us: u64,
    /// Its 99th percentile.
    pub p99_us: u64,
    /// What differed: case, wanted, got.
    pub differences: Vec<(String, Vec<Atom>, Vec<Atom>)>,
}

/// Measures every candidate on every case.
pub fn understand(cases: &[Case], candidates: &[Candidate<'_>]) -> Vec<Report> {
    candidates.iter().map(|c| measure(cases, c)).collect()
}

fn measure(cases: &[Case], candidate: &Candidate<'_>) -> Report {
    let mut report = Report { label: candidate.label.clone(), ..Report::default() };
    let mut times = Vec::with_capacity(cases.len());
    for case in cases {
        let started = Instant::now();
        let translation = (candidate.translate)(&case.text, &case.context.of_role(&case.role));
        times.push(started.elapsed());
        let got = &translation.heard.predicates;
        report.all.count(&case.gold, got);
        for tag in case.tags.iter().cloned().chain([format!("role:{}", case.role)]) {
            report.by_tag.entry(tag).or_default().count(&case.gold, got);
        }
        if let Some(trace) = &translation.trace {
            report.asked += 1;
            report.calls += u64::from(trace.usage.calls);
            report.input_tokens += trace.usage.input;
            report.output_tokens += trace.usage.output;
            report.micro_usd += trace.usage.micro_usd;
            if let Some(fault) = trace.fault {
                *report.faults.entry(fault.to_owned()).or_default() += 1;
            }
        }
        let (mut wanted, mut given) = (case.gold.clone(), got.clone());
        wanted.sort();
        given.sort();
        if wanted != given {
            report.differences.push((case.id.clone(), wanted, given));
        }
    }
    (report.p50_us, report.p99_us) = (percentile(&mut times, 50), percentile(&mut times, 99));
    report
}

/// A percentile in microseconds; sorts the times.
pub(super) fn percentile(times: &mut [Duration], per_cent: usize) -> u64 {
    times.sort_unstable();
    let at = (times.len() * per_cent / 100).min(times.len().saturating_sub(1));
    times.get(at).map_or(0, |t| u64::try_from(t.as_micros()).unwrap_or(u64::MAX))
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: exact {:.1} % of {}, atom F1 {:.1} %", self.label, self.all.exact_percent(), self.all.cases, self.all.f1_percent())?;
        writeln!(f, "  time p50 {} µs, p99 {} µs; model asked in {} cases", self.p50_us, self.p99_us, self.asked)?;
        writeln!(f, "  calls {}, tokens {} in, {} out, cost {} micro-dollars", self.calls, self.input_tokens, self.output_tokens, self.micro_usd)?;
        for (fault, n) in &self.faults {
            writeln!(f, "  fault {fault}: {n}")?;
        }
        for (tag, score) in &self.by_tag {
            writeln!(f, "  {tag}: exact {:.1} % of {}, F1 {:.1} %", score.exact_percent(), score.cases, score.f1_percent())?;
        }
        Ok(())
    }
}

/// The names of roles that cases use, for checks before a costly run.
pub fn roles(cases: &[Case]) -> Vec<Name> {
    let mut roles: Vec<Name> = cases.iter().map(|c| Name::from(c.role.as_str())).collect();
    roles.sort();
    roles.dedup();
    roles
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::understand::Heard;

    struct Always(&'static str);

    impl Understand for Always {
        fn understand(&self, _: &str, _: &Context) -> Heard {
            Heard { predicates: self.0.split(';').map(|a| Atom::parse(a).unwrap()).collect(), ..Heard::default() }
        }
    }

    #[test]
    fn scores_count_atoms_as_multisets() {
        let cases = read(concat!(
            r#"{"id":"a","role":"customer","text":"x","gold":["f(1)","f(1)","g"],"tags":["t"]}"#,
            "\n\n",
            r#"{"id":"b","role":"customer","context":{"last_actions":["else"],"order":[{"i":1,"item":"Pepsi"}]},"text":"y","gold":["f(1)","g"]}"#,
        ))
        .unwrap();
        let translator = Always("g;f(1)");
        let reports = understand(&cases, &[Candidate::offline("one", &translator)]);
        let report = &reports[0];
        assert_eq!(report.all, Score { cases: 2, exact: 1, right: 4, given: 4, wanted: 5 });
        assert_eq!((report.by_tag["t"].exact, report.by_tag["role:customer"].cases, report.differences.len()), (0, 2, 1));
        assert!((report.all.f1_percent() - 800.0 / 9.0).abs() < 1e-9);
        assert!(report.to_string().starts_with("one: exact 50.0 % of 2"));
        assert!(read("{\"id\":1}").unwrap_err().starts_with("line 1"));
    }
}
