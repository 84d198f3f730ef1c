//! JSON with the place of every value, so that a finding can point at the author's line.

use std::ops::Range;

use super::error;
use crate::diag::{Diagnostic, Source};

/// A JSON value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// The value.
    pub data: Data,
    /// Its bytes in the source.
    pub span: Range<usize>,
}

/// What a JSON value holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(f64),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Value>),
    /// Members in the author's order, each key with its place.
    Map(Vec<(String, Range<usize>, Value)>),
}

impl Value {
    /// The member of a map.
    pub fn get(&self, key: &str) -> Option<&Value> {
        match &self.data {
            Data::Map(m) => m.iter().find(|(k, _, _)| k == key).map(|(_, _, v)| v).filter(|v| v.data != Data::Null),
            _ => None,
        }
    }

    /// The text of a string.
    pub fn text(&self) -> Option<&str> {
        match &self.data {
            Data::Text(t) => Some(t),
            _ => None,
        }
    }

    /// The items of a list.
    pub fn list(&self) -> &[Value] {
        match &self.data {
            Data::List(l) => l,
            _ => &[],
        }
    }

    /// The members of a map.
    pub fn members(&self) -> &[(String, Range<usize>, Value)] {
        match &self.data {
            Data::Map(m) => m,
            _ => &[],
        }
    }

    /// A whole number.
    pub fn int(&self) -> Option<i64> {
        match self.data {
            #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and small")]
            Data::Number(n) if n.fract() == 0.0 && n.abs() < 1e15 => Some(n as i64),
            _ => None,
        }
    }

    /// The strings of a list of strings, or of one string.
    pub fn texts(&self) -> Vec<String> {
        match &self.data {
            Data::Text(t) => vec![t.clone()],
            Data::List(l) => l.iter().filter_map(|v| v.text().map(str::to_owned)).collect(),
            _ => Vec::new(),
        }
    }
}

/// How deep a file may nest.
const MAX_DEPTH: usize = 32;

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

/// What stopped the reader, and where.
type Stop = (&'static str, usize);

/// Parses a whole JSON text; a syntax error ends it, as JSON has no place to go on from.
pub fn parse(source: &Source) -> (Option<Value>, Vec<Diagnostic>) {
    let mut r = Reader { text: &source.text, at: 0 };
    let read = r.value(0).and_then(|v| {
        r.space();
        if r.at == r.text.len() { Ok(v) } else { Err(("the end of the file", r.at)) }
    });
    match read {
        Ok(v) => (Some(v), Vec::new()),
        Err((expected, at)) => (None, vec![error::syntax(source, at, expected)]),
    }
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    fn eat(&mut self, c: char, expected: &'static str) -> Result<(), Stop> {
        self.space();
        if self.peek() == Some(c) {
            self.at += c.len_utf8();
            return Ok(());
        }
        Err((expected, self.at))
    }

    fn value(&mut self, depth: usize) -> Result<Value, Stop> {
        if depth > MAX_DEPTH {
            return Err(("less nesting", self.at));
        }
        self.space();
        let start = self.at;
        let data = match self.peek() {
            Some('{') => self.map(depth)?,
            Some('[') => self.items(depth)?,
            Some('"') => Data::Text(self.string()?),
            Some(c) if c == '-' || c.is_ascii_digit() => self.number()?,
            _ => self.word()?,
        };
        Ok(Value { data, span: start..self.at })
    }

    fn word(&mut self) -> Result<Data, Stop> {
        for (word, data) in [("null", Data::Null), ("true", Data::Bool(true)), ("false", Data::Bool(false))] {
            if self.rest().starts_with(word) {
                self.at += word.len();
                return Ok(data);
            }
        }
        Err(("a value", self.at))
    }

    fn number(&mut self) -> Result<Data, Stop> {
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E'))).unwrap_or(rest.len());
        let n = rest.get(..end).and_then(|t| t.parse::<f64>().ok()).ok_or(("a number", self.at))?;
        self.at += end;
        Ok(Data::Number(n))
    }

    fn string(&mut self) -> Result<String, Stop> {
        let start = self.at;
        let mut escaped = false;
        let end = self.rest().char_indices().skip(1).find_map(|(n, c)| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends.then_some(n + 1)
        });
        let literal = end.and_then(|n| self.rest().get(..n)).ok_or(("the end of the string", start))?;
        let text = serde_json::from_str(literal).map_err(|_| ("a valid string", start))?;
        self.at += literal.len();
        Ok(text)
    }

    fn items(&mut self, depth: usize) -> Result<Data, Stop> {
        self.eat('[', "`[`")?;
        let mut out = Vec::new();
        self.space();
        if self.peek() == Some(']') {
            self.at += 1;
            return Ok(Data::List(out));
        }
        loop {
            out.push(self.value(depth + 1)?);
            self.space();
            if self.peek() == Some(',') {
                self.at += 1;
            } else {
                self.eat(']', "`,` or `]`")?;
                return Ok(Data::List(out));
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Data, Stop> {
        self.eat('{', "`{`")?;
        let mut out = Vec::new();
        self.space();
        if self.peek() == Some('}') {
            self.at += 1;
            return Ok(Data::Map(out));
        }
        loop {
            self.space();
            let start = self.at;
            if self.peek() != Some('"') {
                return Err(("a key in quotes", start));
            }
            let key = self.string()?;
            let span = start..self.at;
            self.eat(':', "`:`")?;
            out.push((key, span, self.value(depth + 1)?));
            self.space();
            if self.peek() == Some(',') {
                self.at += 1;
            } else {
                self.eat('}', "`,` or `}`")?;
                return Ok(Data::Map(out));
            }
        }
    }
}
