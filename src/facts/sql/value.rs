//! What goes into a statement and what comes out of it, whichever database it is.

use crate::facts::{Result, StoreError};
use crate::term::Name;

/// A parameter of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// Nothing.
    Null,
    /// A number; flags are 0 and 1.
    Int(i64),
    /// Text.
    Text(&'a str),
}

/// A field of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// Nothing.
    Null,
    /// A number; flags are 0 and 1.
    Int(i64),
    /// Text.
    Text(String),
}

/// A row of an answer.
#[derive(Clone, Debug)]
pub struct Row(pub Vec<Cell>);

/// Why a row cannot be what the schema promises: the database is not as this program left it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("column {column}: {why}")]
pub struct Unreadable {
    column: usize,
    why: String,
}

impl Unreadable {
    /// A column whose text says nothing to this program.
    pub fn text(column: usize, why: &dyn std::fmt::Display) -> Self {
        Self { column, why: why.to_string() }
    }

    /// The error of the store at a place.
    pub fn at(&self, place: &str) -> StoreError {
        StoreError::Corrupt { file: place.to_owned(), detail: self.to_string() }
    }
}

impl Row {
    /// A column's text.
    pub fn text(&self, column: usize) -> Result<&str, Unreadable> {
        match self.0.get(column) {
            Some(Cell::Text(text)) => Ok(text),
            other => Err(Unreadable::text(column, &format!("expected text, found {other:?}"))),
        }
    }

    /// A column's text, kept.
    pub fn owned(&self, column: usize) -> Result<String, Unreadable> {
        self.text(column).map(str::to_owned)
    }

    /// A column's name.
    pub fn name(&self, column: usize) -> Result<Name, Unreadable> {
        self.text(column).map(Name::from)
    }

    /// A column's time.
    pub fn time(&self, column: usize) -> Result<i64, Unreadable> {
        match self.0.get(column) {
            Some(Cell::Int(n)) => Ok(*n),
            other => Err(Unreadable::text(column, &format!("expected a number, found {other:?}"))),
        }
    }

    /// A column's number: counters are never negative.
    pub fn number(&self, column: usize) -> Result<u64, Unreadable> {
        self.time(column)?.try_into().map_err(|e| Unreadable::text(column, &e))
    }

    /// Whether a flag is set.
    pub fn flag(&self, column: usize) -> Result<bool, Unreadable> {
        self.time(column).map(|n| n != 0)
    }

    /// A column that may hold nothing.
    pub fn maybe<T>(&self, column: usize, read: impl FnOnce(&Self, usize) -> Result<T, Unreadable>) -> Result<Option<T>, Unreadable> {
        if self.0.get(column) == Some(&Cell::Null) { Ok(None) } else { read(self, column).map(Some) }
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a Name> for Value<'a> {
    fn from(name: &'a Name) -> Self {
        Self::Text(name)
    }
}

impl From<i64> for Value<'_> {
    fn from(n: i64) -> Self {
        Self::Int(n)
    }
}

impl From<u64> for Value<'_> {
    /// The integers of databases are signed; no counter of ours comes near.
    fn from(n: u64) -> Self {
        Self::Int(i64::try_from(n).unwrap_or(i64::MAX))
    }
}

impl From<bool> for Value<'_> {
    fn from(flag: bool) -> Self {
        Self::Int(flag.into())
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(maybe: Option<T>) -> Self {
        maybe.map_or(Self::Null, Into::into)
    }
}

/// The parameters of a statement from values of several types.
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$($crate::facts::sql::value::Value::from($value)),*] };
}
pub(in crate::facts) use values;
