//! CHIEF dialogue flows: heterogeneous graphs in JSON.

pub mod condition;
pub mod domain;
pub mod error;
pub mod facts;
pub mod lower;
pub mod parse;
pub mod syntax;

use crate::diag::{Diagnostic, Severity, Source};
use crate::ir::Program;

/// Reads a flow file: what was understood, and everything that is wrong with it. The program is absent when an error was found.
pub fn read(source: &Source) -> (Option<Program>, Vec<Diagnostic>) {
    let (value, mut found) = parse::parse(source);
    let program = value.and_then(|v| {
        let (document, more) = syntax::document(source, &v);
        found.extend(more);
        document.map(|d| {
            let (program, more) = lower::lower(source, d);
            found.extend(more);
            program
        })
    });
    let broken = found.iter().any(|d| d.severity == Severity::Error);
    (program.filter(|_| !broken), found)
}

#[cfg(test)]
mod tests;
