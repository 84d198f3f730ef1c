//! Measuring translators side by side on cases with known predicates: exact matches, atoms found, time, tokens and cost.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::judge::{Judged, Reliability, common, judge};
pub use super::nlu::Case;
use crate::conversation::Conversation;
use crate::llm::cost::{Usage, dollars};
use crate::term::Atom;
use crate::understand::hybrid::{hold, weigh};
use crate::understand::llm::{LlmUnderstand, Trace, Translation};
use crate::understand::{Context, Heard, Understand};

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
    /// Cases in which an act of a kind was to be done that nobody meant.
    pub wrong_kind: usize,
    /// Cases in which something was asked back.
    pub asked: usize,
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

    /// The share of cases with an act that nobody meant, in per cent.
    pub fn wrong_kind_percent(&self) -> f64 {
        percent(self.wrong_kind, self.cases)
    }

    /// The share of cases in which something was asked back, in per cent.
    pub fn asked_percent(&self) -> f64 {
        percent(self.asked, self.cases)
    }

    pub(super) fn count(&mut self, case: &Case, heard: &Heard) -> Judged {
        let judged = judge(case, heard);
        self.cases += 1;
        self.exact += usize::from(judged.exact);
        self.wrong_kind += usize::from(judged.wrong_kind);
        self.asked += usize::from(heard.asks_back());
        self.right += common(&heard.predicates, &case.gold);
        self.given += heard.predicates.len();
        self.wanted += case.gold.len();
        judged
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of cases are small")]
fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 { 100.0 } else { 100.0 * part as f64 / whole as f64 }
}

/// What a candidate reached.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ReadingReport {
    /// The candidate.
    pub label: String,
    /// Over all cases.
    pub all: Score,
    /// By tag, and by role as `role:NAME`.
    pub by_tag: BTreeMap<String, Score>,
    /// Cases that were put to a model.
    pub asked: usize,
    /// Of these, those for which it gave nothing usable.
    pub failed: usize,
    /// Cases in which the model gave nothing usable, by fault.
    pub faults: BTreeMap<String, usize>,
    /// Requests, tokens and cost.
    pub usage: Usage,
    /// Median time of a translation, in microseconds.
    pub p50_us: u64,
    /// Its 99th percentile.
    pub p99_us: u64,
    /// How often it was right by how sure it was.
    pub reliability: Reliability,
    /// Cases that do not match.
    pub wrong: Vec<Wrong>,
}

/// A case that does not match.
#[derive(Clone, Debug, Serialize)]
pub struct Wrong {
    /// The case.
    pub id: String,
    /// The words.
    pub text: String,
    /// What was produced but not expected.
    pub extra: Vec<String>,
    /// What was expected but not produced.
    pub missing: Vec<String>,
    /// What was asked back.
    pub asked: Vec<String>,
    /// Whether an act was heard of a kind that nobody meant.
    pub wrong_kind: bool,
    /// The translator's confidence.
    pub confidence: f64,
}

/// Measures every candidate on every case.
pub fn understand(cases: &[Case], candidates: &[Candidate<'_>]) -> Vec<ReadingReport> {
    let measure = |candidate: &Candidate<'_>| {
        let mut run = Run::new(&candidate.label);
        for case in cases {
            let started = Instant::now();
            let translation = (candidate.translate)(&case.text, &context(case));
            run.count(case, &translation.heard, translation.trace.as_ref(), translation.model.is_some(), started.elapsed());
        }
        run.done()
    };
    candidates.iter().map(measure).collect()
}

/// Measures the embedded translator, and each model alone and as the hybrid's second translator. A case is put to a model once: what
/// the hybrid would have done follows from the same reply.
pub fn compare(cases: &[Case], embedded: Option<&dyn Understand>, models: &[(String, LlmUnderstand)], below: f64) -> Vec<ReadingReport> {
    let offline: Vec<Candidate<'_>> = embedded.iter().map(|e| Candidate::offline("embedded", *e)).collect();
    let mut reports = understand(cases, &offline);
    for (label, model) in models {
        let (mut alone, mut hybrid) = (Run::new(label), Run::new(&format!("hybrid, {label}")));
        for case in cases {
            let context = context(case);
            let started = Instant::now();
            let first = embedded.map(|e| e.understand(&case.text, &context));
            let embedding = started.elapsed();
            let started = Instant::now();
            let mut translation = model.translate(&case.text, &context, Some(first.clone().unwrap_or_default()));
            let asking = started.elapsed();
            let (own, usable) = (Heard { predicates: translation.model.clone().unwrap_or_default(), ..Heard::default() }, translation.model.is_some());
            alone.count(case, &own, translation.trace.as_ref(), usable, asking);
            let strange = first.as_ref().is_some_and(|f| model.strange(&f.predicates, &context.role));
            match first.filter(|f| f.confidence >= below && !strange) {
                Some(sure) => hybrid.count(case, &sure, None, false, embedding),
                None => {
                    weigh(&mut translation, model, below, &context.role);
                    let trace = translation.trace.clone();
                    let heard = match embedded {
                        Some(embedded) => hold(translation, embedded, &case.text, &context),
                        None => translation.heard,
                    };
                    hybrid.count(case, &heard, trace.as_ref(), usable, embedding + asking);
                }
            }
        }
        reports.push(alone.done());
        if embedded.is_some() {
            reports.push(hybrid.done());
        }
    }
    reports
}

/// All that was measured.
#[derive(Debug, Serialize)]
pub struct Measured {
    /// Each candidate's report.
    pub reports: Vec<ReadingReport>,
    /// How good the hybrid can be at most, where there is an embedded translator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cap: Option<Cap>,
}

/// How good the hybrid can be at most: with a model that is always right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cap {
    /// Cases.
    pub cases: usize,
    /// Of these, those that would be put to the model.
    pub asked: usize,
    /// Cases that would be right then: of these those whose right reading the words bear out, and those that the embedded translator is sure of
    /// and reads rightly.
    pub right: usize,
}

impl std::fmt::Display for Cap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let of = |n| percent(n, self.cases);
        write!(f, "hybrid with a model that is always right: {:.1} % exact, asking it {:.1} %", of(self.right), of(self.asked))
    }
}

/// The hybrid's cap over the embedded translator; `asks` tells whether what it heard in a role is put to the model.
pub fn cap(cases: &[Case], embedded: &dyn Understand, asks: impl Fn(&Heard, &str) -> bool) -> Cap {
    let mut cap = Cap { cases: cases.len(), ..Cap::default() };
    for case in cases {
        let heard = embedded.understand(&case.text, &context(case));
        let asked = asks(&heard, &case.role);
        let right = || Heard { predicates: case.gold.clone(), asks: case.asks.clone(), confidence: 1.0, by: "llm", ..Heard::default() };
        let counts = if asked { embedded.gate(&case.text, &context(case), right()) } else { heard };
        cap.asked += usize::from(asked);
        cap.right += usize::from(Score::default().count(case, &counts).exact);
    }
    cap
}

/// Every case is a conversation of its own, so that a budget for conversations does not stop the whole.
fn context(case: &Case) -> Context {
    Context { conversation: Conversation { site: "eval".into(), session: case.id.clone() }, ..case.context.clone() }
}

struct Run {
    report: ReadingReport,
    times: Vec<Duration>,
}

impl Run {
    fn new(label: &str) -> Self {
        Self { report: ReadingReport { label: label.to_owned(), ..ReadingReport::default() }, times: vec![] }
    }

    fn count(&mut self, case: &Case, got: &Heard, asked: Option<&Trace>, usable: bool, took: Duration) {
        let report = &mut self.report;
        self.times.push(took);
        let judged = report.all.count(case, got);
        report.reliability.count(got.confidence, judged.exact);
        for tag in case.tags.iter().cloned().chain([format!("role:{}", case.role)]) {
            report.by_tag.entry(tag).or_default().count(case, got);
        }
        if let Some(trace) = asked {
            report.asked += 1;
            report.failed += usize::from(!usable);
            report.usage += trace.usage;
            if let Some(fault) = trace.fault {
                *report.faults.entry(fault.to_owned()).or_default() += 1;
            }
        }
        if !judged.exact {
            report.wrong.push(Wrong {
                id: case.id.clone(),
                text: case.text.clone(),
                extra: difference(&got.predicates, &case.gold),
                missing: difference(&case.gold, &got.predicates),
                asked: got.asks.iter().map(ToString::to_string).collect(),
                wrong_kind: judged.wrong_kind,
                confidence: got.confidence,
            });
        }
    }

    fn done(mut self) -> ReadingReport {
        (self.report.p50_us, self.report.p99_us) = (percentile(&mut self.times, 50), percentile(&mut self.times, 99));
        self.report
    }
}

/// Evaluates a translator that asks no model; each time is the best of three, as what the machine does besides is not the translator's time.
pub fn evaluate(translator: &dyn Understand, cases: &[Case]) -> ReadingReport {
    let mut run = Run::new("");
    for case in cases {
        let once = || {
            let started = Instant::now();
            (translator.understand(&case.text, &case.context), started.elapsed())
        };
        if let Some((heard, took)) = [once(), once(), once()].into_iter().min_by_key(|(_, took)| *took) {
            run.count(case, &heard, None, false, took);
        }
    }
    run.done()
}

/// The atoms that are not among the others, each as often as it is not.
fn difference(a: &[Atom], b: &[Atom]) -> Vec<String> {
    let mut left: Vec<&Atom> = b.iter().collect();
    let is_lacking = |x: &&Atom| left.iter().position(|y| y == x).map(|i| left.swap_remove(i)).is_none();
    a.iter().filter(is_lacking).map(ToString::to_string).collect()
}

/// A percentile in microseconds; sorts the times.
pub(super) fn percentile(times: &mut [Duration], per_cent: usize) -> u64 {
    times.sort_unstable();
    let at = (times.len() * per_cent / 100).min(times.len().saturating_sub(1));
    times.get(at).map_or(0, |t| u64::try_from(t.as_micros()).unwrap_or(u64::MAX))
}

/// Writes a report of one translator that asks no model for people: every case that does not match, then shares by tag.
pub fn write_report(report: &ReadingReport, out: &mut dyn Write) -> std::io::Result<()> {
    for w in &report.wrong {
        writeln!(out, "{}{}: {}", if w.wrong_kind { "! " } else { "" }, w.id, w.text)?;
        for (sign, list) in [("+", &w.extra), ("-", &w.missing), ("?", &w.asked)] {
            for atom in list {
                writeln!(out, "    {sign} {atom}")?;
            }
        }
    }
    for (name, a) in report.by_tag.iter().chain([(&"all".to_owned(), &report.all)]) {
        let (exact, f1, wrong, asked) = (a.exact_percent(), a.f1_percent(), a.wrong_kind_percent(), a.asked_percent());
        let cases = a.cases;
        writeln!(out, "{name:<18} {cases:>4} cases  exact {exact:>5.1} %  F1 {f1:>5.1} %  wrong kind {wrong:>5.1} %  asked {asked:>5.1} %")?;
    }
    writeln!(out, "how often right by how sure: {}", report.reliability)?;
    writeln!(out, "time per utterance  p50 {} us  p99 {} us", report.p50_us, report.p99_us)
}

/// The columns of what a model's use took.
pub(super) const SPENT: [&str; 7] = ["calls", "tokens in", "cached", "out", "cost", "p50 ms", "p99 ms"];

/// Such columns, with their heads as wide.
pub(super) fn spent(columns: [impl std::fmt::Display; 7]) -> String {
    let [calls, input, cached, output, cost, p50, p99] = columns;
    format!("{calls:>6} {input:>10} {cached:>10} {output:>8} {cost:>12} {p50:>10} {p99:>10}\n")
}

/// What a model's use took, in these columns.
pub(super) fn spent_on(usage: &Usage, p50_us: u64, p99_us: u64) -> String {
    let Usage { calls, input, cached, output, micro_usd } = usage;
    let counts = [u64::from(*calls), *input, *cached, *output].map(|n| n.to_string());
    let [calls, input, cached, output] = counts;
    spent([calls, input, cached, output, dollars(*micro_usd), milliseconds(p50_us), milliseconds(p99_us)])
}

/// Reports side by side: totals, then exact matches by tag, then faults.
pub fn table(reports: &[ReadingReport]) -> String {
    let width = reports.iter().map(|r| r.label.chars().count()).max().unwrap_or(0).max(12);
    let mut out = format!("{:<width$} {:>6} {:>8} {:>8} {:>14} {:>7} {}", "", "cases", "exact", "F1", "model asked", "failed", spent(SPENT));
    for r in reports {
        let (exact, f1) = (r.all.exact_percent(), r.all.f1_percent());
        let asked = format!("{} ({:.0} %)", r.asked, if r.all.cases == 0 { 0.0 } else { percent(r.asked, r.all.cases) });
        let spent = spent_on(&r.usage, r.p50_us, r.p99_us);
        out.push_str(&format!("{:<width$} {:>6} {exact:>6.1} % {f1:>6.1} % {asked:>14} {:>7} {spent}", r.label, r.all.cases, r.failed));
    }
    out.push_str("\nexact matches by tag\n");
    let tags: BTreeSet<&String> = reports.iter().flat_map(|r| r.by_tag.keys()).collect();
    for tag in tags {
        let score = |r: &ReadingReport| r.by_tag.get(tag).copied().unwrap_or_default();
        let cases = reports.first().map_or(0, |r| score(r).cases);
        let shares: String = reports.iter().map(|r| format!(" {:>6.1} %", score(r).exact_percent())).collect();
        out.push_str(&format!("{tag:<24} {cases:>6}{shares}\n"));
    }
    for r in reports {
        out.push_str(&format!(
            "{}: wrong kind {:.1} %, asked {:.1} %; how often right by how sure:{}\n",
            r.label,
            r.all.wrong_kind_percent(),
            r.all.asked_percent(),
            r.reliability
        ));
    }
    for (r, (fault, n)) in reports.iter().flat_map(|r| r.faults.iter().map(move |f| (r, f))) {
        out.push_str(&format!("{}: fault {fault} in {n} cases\n", r.label));
    }
    out
}

/// Microseconds as milliseconds with two digits.
fn milliseconds(us: u64) -> String {
    format!("{}.{:02}", us / 1000, us % 1000 / 10)
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
    fn repeated_atoms_count() {
        let a: Vec<Atom> = ["p(1)", "p(1)", "q"].iter().map(|t| Atom::parse(t).unwrap()).collect();
        assert_eq!(difference(&a, &a[1..]), ["p(1)"]);
    }

    /// Sure of `g` alone, and lets nobody else say `h`.
    struct Doubting;

    impl Understand for Doubting {
        fn understand(&self, text: &str, _: &Context) -> Heard {
            Heard { predicates: vec![Atom::parse("g").unwrap()], confidence: if text == "sure" { 0.9 } else { 0.1 }, ..Heard::default() }
        }

        fn gate(&self, _: &str, _: &Context, heard: Heard) -> Heard {
            let (asks, predicates) = heard.predicates.into_iter().partition(|a| &*a.name == "h");
            Heard { asks, predicates, ..heard }
        }
    }

    #[test]
    fn a_model_that_is_always_right_is_asked_back_and_not_asked_where_the_translator_is_sure() {
        let line = |text: &str, gold: &str| format!(r#"{{"id":"{text}{gold}","role":"customer","text":"{text}","gold":["{gold}"]}}"#);
        let lines = [line("sure", "g"), line("sure", "f(1)"), line("unsure", "f(1)"), line("unsure", "h")].join("\n");
        let cases = crate::eval::nlu::read_cases(lines.as_bytes(), &crate::ontology::Shape::default()).unwrap();
        let cap = cap(&cases, &Doubting, |heard, _| heard.confidence < 0.7);
        assert_eq!(cap, Cap { cases: 4, asked: 2, right: 2 });
        assert_eq!(cap.to_string(), "hybrid with a model that is always right: 50.0 % exact, asking it 50.0 %");
        let json = serde_json::to_value(Measured { reports: vec![], cap: Some(cap) }).unwrap();
        assert_eq!(json["cap"], serde_json::json!({"cases": 4, "asked": 2, "right": 2}));
    }

    #[test]
    fn scores_count_atoms_as_multisets() {
        let lines = concat!(
            r#"{"id":"a","role":"customer","text":"x","gold":["f(1)","f(1)","g"],"tags":["t"]}"#,
            "\n\n",
            r#"{"id":"b","role":"customer","context":{"last_actions":["else"],"order":[{"i":1,"item":"Pepsi"}]},"text":"y","gold":["f(1)","g"]}"#,
        );
        let cases = crate::eval::nlu::read_cases(lines.as_bytes(), &crate::ontology::Shape::default()).unwrap();
        let translator = Always("g;f(1)");
        let reports = understand(&cases, &[Candidate::offline("one", &translator)]);
        let report = &reports[0];
        assert_eq!(report.all, Score { cases: 2, exact: 1, right: 4, given: 4, wanted: 5, wrong_kind: 0, asked: 0 });
        assert_eq!((report.by_tag["t"].exact, report.by_tag["role:customer"].cases, report.wrong.len()), (0, 2, 1));
        assert!((report.all.f1_percent() - 800.0 / 9.0).abs() < 1e-9);
        let table = table(&reports);
        assert!(table.contains("one") && table.contains("50.0 %") && table.contains("role:customer"), "{table}");
        let wrong = crate::eval::nlu::read_cases(&b"{\"id\":1}"[..], &crate::ontology::Shape::default());
        assert!(wrong.unwrap_err().to_string().starts_with("line 1"));
    }
}
