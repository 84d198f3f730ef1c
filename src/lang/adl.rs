//! ADL 1.0, the language of MICA: YAML agents that call one another and Python functions.

mod archive;
mod compare;
mod config;
pub mod error;
mod export;
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
use parse::Node;
use project::{Found, Project};
pub use sources::page;
use syntax::Document;

/// A project that was read: what was understood, and everything that is wrong with it.
#[derive(Debug)]
pub struct Reading {
    /// What it was read from.
    pub project: Project,
    /// Everything that is wrong with it.
    pub found: Vec<Diagnostic>,
    /// The program, unless an error was found.
    pub program: Option<Program>,
    root: Option<Node>,
    document: Document,
    tools: Found,
}

/// Reads a project: a folder, or a program in one. The program is absent when an error was found. No line of an author's Python runs.
pub fn read(path: &Path) -> (Option<Program>, Vec<Diagnostic>) {
    match open(path, None) {
        Ok(reading) => (reading.program, reading.found),
        Err(wrong) => (None, vec![wrong]),
    }
}

/// Reads a project, and keeps what it was read from. With `mica_root`, paths lead where they would for MICA's server in that folder.
pub fn open(path: &Path, mica_root: Option<&Path>) -> Result<Reading, Diagnostic> {
    let mica_root = mica_root.and_then(|r| r.canonicalize().ok());
    let project = Project { mica_root, ..project::open(path)? };
    let mut found = Findings::new(project.source.clone());
    let Some(root) = parse::parse(&mut found) else {
        let found = found.done(None);
        return Ok(Reading { project, found, program: None, root: None, document: Document::default(), tools: Found::default() });
    };
    let document = syntax::document(&root, &mut found);
    let tools = project.tools(&document, &mut found);
    let config = config::read(&project, &tools, &mut found);
    let scope = Scope { document: &document, functions: &tools.functions, complete: tools.complete };
    names::check(scope, &mut found);
    functions::check(scope, &tools.files, &mut found);
    let program = lower::lower(&project, scope, &root, &tools, config, &mut found);
    let found = found.done(Some(&root));
    let broken = found.iter().any(|d| d.severity == Severity::Error);
    Ok(Reading { project, found, program: Some(program).filter(|_| !broken), root: Some(root), document, tools })
}

impl Reading {
    fn scope(&self) -> Scope<'_> {
        Scope { document: &self.document, functions: &self.tools.functions, complete: self.tools.complete }
    }

    /// What MICA does otherwise with the program, under the rows of the conformance list.
    pub fn compared_with_mica(&self) -> Vec<Diagnostic> {
        self.root.as_ref().map(|root| compare::with_mica(&self.project.source, self.scope(), root, &self.tools.files)).unwrap_or_default()
    }

    /// Where the program needs a language model, and what is done without one.
    pub fn offline(&self) -> Vec<Diagnostic> {
        self.root.as_ref().map(|root| compare::without_model(&self.project.source, self.scope(), root)).unwrap_or_default()
    }

    /// The program in ADL 1.0 form, comments kept.
    pub fn exported(&self) -> Option<String> {
        self.root.as_ref().map(|root| export::export(&self.project.source, root, &self.document))
    }
}
