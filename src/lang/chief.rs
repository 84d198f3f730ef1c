//! CHIEF dialogue flows: heterogeneous graphs in JSON.

pub mod condition;
pub mod error;
pub mod lower;
pub mod parse;
pub mod syntax;

use crate::diag::{Diagnostic, Severity, Source};
use crate::ir::Flow;

/// Reads a flow file: what was understood, and everything that is wrong with it. The flow is absent when an error was found.
pub fn read(source: &Source) -> (Option<Flow>, Vec<Diagnostic>) {
    let (value, mut found) = parse::parse(source);
    let flow = value.and_then(|v| {
        let (document, more) = syntax::document(source, &v);
        found.extend(more);
        document.map(|d| {
            let (flow, more) = lower::lower(source, d);
            found.extend(more);
            flow
        })
    });
    let broken = found.iter().any(|d| d.severity == Severity::Error);
    (flow.filter(|_| !broken), found)
}

#[cfg(test)]
mod tests;
