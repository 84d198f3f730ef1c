//! Labelled utterances and translations as JSON lines.

use std::io::{BufRead, Write};

use serde::{Deserialize, Serialize};

pub use super::understand::{ReadingReport, evaluate, write_report};
use crate::ontology::Shape;
use crate::ontology::shape::NotOfShape;
use crate::term::Atom;
use crate::understand::embedded::Embedded;
use crate::understand::{Context, Understand, Unsure};

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
    /// What is to be asked back and not done.
    pub asks: Vec<Atom>,
    /// What is right as well: `ask`, `do`, `either`, `unclear`, `irrelevant`, `nothing` or a predicate.
    pub also: Vec<Atom>,
    /// How much it counts where something is learned from it.
    pub weight: f32,
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
    asks: Vec<Atom>,
    #[serde(default)]
    also: Vec<Atom>,
    #[serde(default = "one")]
    weight: f32,
    #[serde(default)]
    class: Option<u32>,
    #[serde(default)]
    tags: Vec<String>,
}

fn one() -> f32 {
    1.0
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
        if i == 0 && line.starts_with("{\"about\"") {
            continue;
        }
        let CaseLine { id, role, context, text, gold, asks, also, weight, class, mut tags } = serde_json::from_str(&line).map_err(|e| wrong(e.to_string()))?;
        let context = context.read(&role, shape).map_err(|e| wrong(e.to_string()))?;
        tags.extend(class.map(|c| format!("class:{c:02}")));
        out.push(Case { id, role, context, text, gold, asks, also, weight, tags });
    }
    Ok(out)
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
    asks: Vec<Atom>,
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
        let response = Response { id: request.id, predicates: heard.predicates, asks: heard.asks, confidence, unsure, nearest, unheard, uncovered };
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
