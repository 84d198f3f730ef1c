//! Diagnostics: what is wrong in an author's file, where, and what to do about it.

pub mod yaml;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;

/// A text an author wrote, with the name its diagnostics carry (relative to the domain's root, never absolute).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// File name as shown to the author.
    pub name: Arc<str>,
    /// The whole text.
    pub text: Arc<str>,
    /// Where its lines begin: every rule and node asks for its place.
    lines: Arc<[usize]>,
}

impl Source {
    /// A source from its name and text.
    pub fn new(name: &str, text: &str) -> Self {
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { name: name.into(), text: text.into(), lines }
    }

    /// The place of a byte range of the text.
    pub fn origin(&self, span: Range<usize>) -> Origin {
        let before = self.text.get(..span.start).unwrap_or(&self.text);
        let line = self.lines.partition_point(|start| *start <= before.len());
        let start = self.lines.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let column = before.get(start..).unwrap_or("").chars().count() + 1;
        Origin { file: self.name.clone(), start: span.start, end: span.end, line: to_u32(line), column: to_u32(column) }
    }

    /// The place of a line, from 1, without its end.
    pub fn line(&self, line: usize) -> Origin {
        let start = line_start(&self.text, line);
        let length = self.text.get(start..).and_then(|rest| rest.lines().next()).map_or(0, str::len);
        self.origin(start..start + length)
    }
}

/// Where a line of a text begins, counted from 1.
pub fn line_start(text: &str, line: usize) -> usize {
    text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum()
}

fn to_u32(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Where something was written: every rule, node, error and proof step leads back to one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Origin {
    /// File name as shown to the author.
    #[serde(serialize_with = "as_text")]
    pub file: Arc<str>,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

fn as_text<S: serde::Serializer>(text: &Arc<str>, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(text)
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// How bad it is: errors stop a domain from loading, warnings do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The domain cannot be used.
    Error,
    /// It can, but probably not as meant.
    Warning,
}

/// One finding. Messages are lower case, without a full stop, with the author's own words in backticks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Stable code, for `duologue explain CODE`.
    pub code: &'static str,
    /// Error or warning.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// The way there through what the author wrote, such as `main.steps.2.if`, for languages that have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Where.
    pub origin: Origin,
    /// What the marked place is, if the message does not say.
    pub label: Option<String>,
    /// The remedy.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at a place.
    pub fn error(code: &'static str, origin: Origin, message: impl Into<String>) -> Self {
        Self { code, severity: Severity::Error, message: message.into(), path: None, origin, label: None, help: None }
    }

    /// A warning at a place.
    pub fn warning(code: &'static str, origin: Origin, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, origin, message) }
    }

    /// The same with a remedy.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{}: {kind}[{}]: {}", self.origin, self.code, self.message)?;
        if let Some(label) = &self.label {
            write!(f, "\n  here: {label}")?;
        }
        if let Some(help) = &self.help {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

/// The candidate most like `word`, if one is near enough to be what was meant.
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|c| (strsim::normalized_damerau_levenshtein(word, c), c))
        .filter(|(score, c)| *score >= 0.6 && *c != word)
        .max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.cmp(a.1)))
        .map(|(_, c)| c)
}
