//! Measuring a translator against labelled utterances: exact match, atom F1, by tag, and latency.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::ontology::Shape;
use crate::ontology::shape::NotOfShape;
use crate::term::Atom;
use crate::understand::embedded::Embedded;
use crate::understand::{Context, Heard, Understand, Unsure};

/// A labelled utterance of a data set.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name.
    pub id: String,
    /// The speaker's role.
    pub role: String,
    /// What the listener knows.
    pub context: Context,
    /// The words.
    pub text: String,
    /// What they mean, in any order.
    pub gold: Vec<Atom>,
    /// Kinds of difficulty.
    pub tags: Vec<String>,
}

/// A case as its JSON line has it.
#[derive(Deserialize)]
struct CaseLine {
    id: String,
    role: String,
    #[serde(default)]
    context: ContextText,
    text: String,
    gold: Vec<Atom>,
    #[serde(default)]
    tags: Vec<String>,
}

/// The context of a case or of a request. Beside what is named here it holds what the conversation shows, in the shape
/// that the domain declares.
#[derive(Default, Deserialize)]
struct ContextText {
    #[serde(default)]
    last_actions: Vec<Atom>,
    #[serde(default)]
    said_before: Vec<Atom>,
    #[serde(flatten)]
    shown: serde_json::Map<String, serde_json::Value>,
}

impl ContextText {
    fn read(self, role: &str, shape: &Shape) -> Result<Context, NotOfShape> {
        let view = shape.view(shape.atoms(&self.shown)?);
        Ok(Context { role: role.into(), last_actions: self.last_actions, said_before: self.said_before, view, ..Context::default() })
    }
}

/// Agreement on a set of cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Agreement {
    /// Cases.
    pub cases: usize,
    /// Cases with exactly the gold atoms.
    pub exact: usize,
    /// Atoms that are right.
    pub right: usize,
    /// Atoms produced.
    pub produced: usize,
    /// Atoms expected.
    pub expected: usize,
}

impl Agreement {
    fn add(&mut self, got: &[Atom], gold: &[Atom]) -> bool {
        let right = common(got, gold);
        let exact = right == got.len() && right == gold.len();
        self.cases += 1;
        self.exact += usize::from(exact);
        self.right += right;
        self.produced += got.len();
        self.expected += gold.len();
        exact
    }

    /// Part of the cases that match exactly.
    pub fn exact_rate(&self) -> f64 {
        part(self.exact, self.cases)
    }

    /// Harmonic mean of precision and recall over atoms.
    pub fn f1(&self) -> f64 {
        part(2 * self.right, self.produced + self.expected)
    }
}

/// What an evaluation found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// All cases.
    pub all: Agreement,
    /// By tag, and by role as `role:NAME`.
    pub by_tag: BTreeMap<String, Agreement>,
    /// Median time of an utterance in microseconds, each the best of three.
    pub p50_us: u64,
    /// 99th percentile.
    pub p99_us: u64,
    /// Cases that do not match: name, words, produced, expected.
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
    /// The translator's confidence.
    pub confidence: f64,
}

/// Why a data set cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum EvalError {
    /// Reading failed.
    #[error("cannot read the cases: {0}")]
    Read(#[from] std::io::Error),
    /// A line is no case.
    #[error("line {line} is no case: {reason}")]
    Line {
        /// Line number, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
}

/// Reads cases, one JSON object a line; empty lines are skipped. `shape` is the domain's.
pub fn read_cases(reader: impl BufRead, shape: &Shape) -> Result<Vec<Case>, EvalError> {
    let mut out = vec![];
    for (i, line) in reader.lines().enumerate() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let wrong = |reason: String| EvalError::Line { line: i + 1, reason };
        let CaseLine { id, role, context, text, gold, tags } = serde_json::from_str(&line).map_err(|e| wrong(e.to_string()))?;
        let context = context.read(&role, shape).map_err(|e| wrong(e.to_string()))?;
        out.push(Case { id, role, context, text, gold, tags });
    }
    Ok(out)
}

/// Evaluates a translator on cases.
pub fn evaluate(translator: &dyn Understand, cases: &[Case]) -> Report {
    let mut report = Report::default();
    let mut times = vec![];
    for case in cases {
        let context = &case.context;
        // The best of three: what the machine does besides is not the translator's time.
        let mut heard = Heard::default();
        let mut best = u64::MAX;
        for _ in 0..3 {
            let begin = Instant::now();
            heard = translator.understand(&case.text, context);
            best = best.min(u64::try_from(begin.elapsed().as_micros()).unwrap_or(u64::MAX));
        }
        times.push(best);
        let exact = report.all.add(&heard.predicates, &case.gold);
        for tag in case.tags.iter().cloned().chain(std::iter::once(format!("role:{}", case.role))) {
            report.by_tag.entry(tag).or_default().add(&heard.predicates, &case.gold);
        }
        if !exact {
            report.wrong.push(Wrong {
                id: case.id.clone(),
                text: case.text.clone(),
                extra: difference(&heard.predicates, &case.gold),
                missing: difference(&case.gold, &heard.predicates),
                confidence: heard.confidence,
            });
        }
    }
    times.sort_unstable();
    let at = |p: usize| times.get((times.len() * p / 100).min(times.len().saturating_sub(1))).copied().unwrap_or(0);
    report.p50_us = at(50);
    report.p99_us = at(99);
    report
}

/// Writes a report for people.
pub fn write_report(report: &Report, out: &mut dyn Write) -> std::io::Result<()> {
    for w in &report.wrong {
        writeln!(out, "{}: {}", w.id, w.text)?;
        for (sign, list) in [("+", &w.extra), ("-", &w.missing)] {
            for atom in list {
                writeln!(out, "    {sign} {atom}")?;
            }
        }
    }
    for (tag, a) in &report.by_tag {
        writeln!(out, "{tag:<18} {:>4} cases  exact {:>5.1} %  F1 {:>5.1} %", a.cases, 100.0 * a.exact_rate(), 100.0 * a.f1())?;
    }
    let a = &report.all;
    writeln!(out, "{:<18} {:>4} cases  exact {:>5.1} %  F1 {:>5.1} %", "all", a.cases, 100.0 * a.exact_rate(), 100.0 * a.f1())?;
    writeln!(out, "time per utterance  p50 {} us  p99 {} us", report.p50_us, report.p99_us)
}

#[derive(Deserialize)]
struct Request {
    id: serde_json::Value,
    #[serde(default)]
    context: ContextText,
    text: String,
    #[serde(default)]
    role: Option<String>,
}

#[derive(Serialize)]
struct Response {
    id: serde_json::Value,
    predicates: Vec<Atom>,
    confidence: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unsure: Vec<serde_json::Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nearest: Vec<serde_json::Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unheard: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    uncovered: Vec<String>,
}

fn request(line: &str, role: &str, shape: &Shape) -> Result<(Request, Context), String> {
    let mut request: Request = serde_json::from_str(line).map_err(|e| e.to_string())?;
    let context = std::mem::take(&mut request.context).read(request.role.as_deref().unwrap_or(role), shape).map_err(|e| e.to_string())?;
    Ok((request, context))
}

/// Translates JSON lines of `{"id","context","text"}` to `{"id","predicates","confidence"}`; a line may name its own role.
pub fn translate_lines(translator: &dyn Understand, shape: &Shape, role: &str, reader: impl BufRead, out: &mut dyn Write) -> Result<(), EvalError> {
    for (i, line) in reader.lines().enumerate() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let (request, context) = request(&line, role, shape).map_err(|reason| EvalError::Line { line: i + 1, reason })?;
        let heard = translator.understand(&request.text, &context);
        let asked = |list: &[Unsure]| -> Vec<serde_json::Value> {
            let names = |u: &Unsure| u.candidates.iter().map(ToString::to_string).collect::<Vec<_>>();
            list.iter().map(|u| serde_json::json!({"said": u.said, "candidates": names(u), "readings": u.readings})).collect()
        };
        let (unsure, nearest, unheard) = (asked(&heard.unsure), asked(&heard.nearest), heard.unheard.clone());
        let uncovered = heard.uncovered.iter().filter_map(|r| request.text.get(r.clone())).map(str::to_owned).collect();
        let confidence = (heard.confidence * 1000.0).round() / 1000.0;
        let response = Response { id: request.id, predicates: heard.predicates, confidence, unsure, nearest, unheard, uncovered };
        let text = serde_json::to_string(&response).map_err(|e| EvalError::Line { line: i + 1, reason: e.to_string() })?;
        writeln!(out, "{text}")?;
    }
    Ok(())
}

/// For JSON lines as [`translate_lines`] takes them, the readings that each utterance was taken apart into.
pub fn readings(translator: &Embedded, shape: &Shape, role: &str, reader: impl BufRead, out: &mut dyn Write) -> Result<(), EvalError> {
    for (i, line) in reader.lines().enumerate() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let (request, context) = request(&line, role, shape).map_err(|reason| EvalError::Line { line: i + 1, reason })?;
        writeln!(out, "{}", request.text)?;
        for reading in translator.readings(&request.text, &context) {
            writeln!(out, "  {reading}")?;
        }
    }
    Ok(())
}

fn common(a: &[Atom], b: &[Atom]) -> usize {
    let mut left: Vec<&Atom> = b.iter().collect();
    a.iter()
        .filter(|x| match left.iter().position(|y| y == x) {
            Some(i) => {
                left.swap_remove(i);
                true
            }
            None => false,
        })
        .count()
}

fn difference(a: &[Atom], b: &[Atom]) -> Vec<String> {
    let mut left: Vec<&Atom> = b.iter().collect();
    let mut out = vec![];
    for x in a {
        match left.iter().position(|y| *y == x) {
            Some(i) => {
                left.swap_remove(i);
            }
            None => out.push(x.to_string()),
        }
    }
    out
}

fn part(a: usize, b: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts of cases are small")]
    if b == 0 { 1.0 } else { a as f64 / b as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_atoms_count() {
        let a: Vec<Atom> = ["p(1)", "p(1)", "q"].iter().map(|t| Atom::parse(t).unwrap()).collect();
        assert_eq!(common(&a, &a), 3);
        assert_eq!(common(&a[..1], &a), 1);
        assert_eq!(difference(&a, &a[1..]), ["p(1)"]);
    }
}
