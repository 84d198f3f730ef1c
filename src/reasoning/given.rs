//! Given parses: the formal text that a model or a person wrote for a story, read into what was told and asked.
//!
//! ```text
//! program ──sections──▶ lines ──tree──▶ trees ──meaning──▶ facts, rules, formulas, options
//! ```
//!
//! Four dialects share one grammar and one meaning; what a program declares decides how it is read: `>>>` rules with a query,
//! formulas with a conclusion, variables with values and options, sorts and functions with checks of options. Faults are repaired
//! only where one repair is possible.

mod meaning;
mod program;
mod rules;
pub mod tree;

pub use program::{Read, formulas, program, program_with_words};

/// What is wrong with a formal text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct Fault {
    /// The line of the program, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// What is wrong there.
    pub message: String,
}

impl Fault {
    /// At a column of a line that is told later.
    pub fn new(column: usize, message: impl Into<String>) -> Self {
        Self { line: 1, column, message: message.into() }
    }

    /// In a line.
    #[must_use]
    pub fn at(self, line: usize) -> Self {
        Self { line, ..self }
    }
}
