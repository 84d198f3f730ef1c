//! CHIEF dialogue flows: heterogeneous graphs in JSON.

pub mod condition;
pub mod domain;
pub mod error;
pub mod facts;
pub mod lower;
pub mod parse;
pub mod syntax;

use crate::diag::{Diagnostic, Severity, Source};
use crate::domain::Files;
use crate::ir::Program;

/// Where the flows lie that come along.
const FLOWS: &str = "kb/star/flows/";

/// The names of the flows among the files, sorted.
pub fn names(files: &Files) -> Vec<String> {
    let listed = files.list(FLOWS, ".json");
    listed.iter().filter_map(|f| Some(f.strip_prefix(FLOWS)?.strip_suffix(".json")?.to_owned())).collect()
}

/// The text of a flow among the files, by its name.
pub fn named(files: &Files, name: &str) -> Option<Source> {
    let file = format!("{FLOWS}{name}.json");
    let text = files.read(&file).filter(|_| !name.contains('/'))?;
    Some(Source::new(&file, &text))
}

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
