//! ADL projects on the command line: as programs, as domains, and what is wrong with them.

use std::path::Path;

use super::common::Failure;
use crate::diag::{Diagnostic, Severity};
use crate::domain::{Domain, Files};
use crate::ir::Program;
use crate::lang::{adl, script};

/// Whether a path is that of a project: a folder, or a YAML file that is not one of a domain's.
pub fn is_project(path: &str) -> bool {
    const OF_DOMAINS: [&str; 2] = ["sorts:", "rules:"];
    let file = Path::new(path);
    if file.is_dir() {
        return true;
    }
    let yaml = file.extension().is_some_and(|e| e.eq_ignore_ascii_case("yml") || e.eq_ignore_ascii_case("yaml"));
    let text = || std::fs::read(file).map(|b| String::from_utf8_lossy(&b).into_owned()).unwrap_or_default();
    yaml && !text().lines().any(|l| OF_DOMAINS.iter().any(|d| l.starts_with(d)))
}

/// Everything that is wrong with a project.
pub fn check(path: &str) -> Vec<Diagnostic> {
    adl::read(Path::new(path)).1
}

/// The program of a project.
pub fn load(path: &Path) -> Result<Program, Failure> {
    let (program, found) = adl::read(path);
    let errors: Vec<_> = found.into_iter().filter(|d| d.severity == Severity::Error).collect();
    match program {
        Some(program) if errors.is_empty() => Ok(program),
        _ => Err(Failure::Domain(errors)),
    }
}

/// A project as the domain that the turn takes.
pub fn domain(path: &Path, files: &Files) -> Result<Domain, Failure> {
    script::domain(&load(path)?, files).map_err(Failure::Domain)
}
