//! ADL 1.0, the language of MICA: YAML agents that call one another and Python functions.

mod config;
pub mod error;
mod functions;
mod lower;
pub mod names;
pub mod parse;
pub mod project;
mod python;
mod sources;
pub mod syntax;

use std::path::Path;

use crate::diag::{Diagnostic, Severity};
use crate::ir::Program;
use error::Findings;
use names::Scope;
use project::{Found, Project};

/// Reads a project: a folder, or a program in one. What was understood, and everything that is wrong with it; the program is absent when an error
/// was found. No line of an author's Python runs.
pub fn read(path: &Path) -> (Option<Program>, Vec<Diagnostic>) {
    match project::open(path) {
        Ok(project) => read_project(&project),
        Err(wrong) => (None, vec![wrong]),
    }
}

/// Reads a project that was opened.
pub fn read_project(project: &Project) -> (Option<Program>, Vec<Diagnostic>) {
    let mut found = Findings::new(project.source.clone());
    let Some(root) = parse::parse(&mut found) else { return (None, found.done(None)) };
    let document = syntax::document(&root, &mut found);
    let tools: Found = project.tools(&document, &mut found);
    let config = config::read(project, &mut found);
    let scope = Scope { document: &document, functions: &tools.functions, complete: tools.complete };
    names::check(scope, &mut found);
    functions::check(scope, &tools.files, &mut found);
    let program = lower::lower(project, scope, &root, &tools, config, &mut found);
    let found = found.done(Some(&root));
    let broken = found.iter().any(|d| d.severity == Severity::Error);
    (Some(program).filter(|_| !broken), found)
}
