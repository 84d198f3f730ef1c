//! ADL projects on the command line: as programs, as domains, and what is wrong with them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::common::{Failure, variable, write};
use crate::act::python::{Failed, StartError, Workers};
use crate::act::{Function, Input, InputType, Target};
use crate::check::report;
use crate::diag::{Diagnostic, Severity, Source};
use crate::domain::{Domain, Files};
use crate::ir::{self, Program};
use crate::lang::{adl, script};
use crate::llm::{Api, BlockingModel, ModelConfig, Secret};
use crate::ontology::functions::TIMEOUT_MS;
use crate::turn::Engine;

/// Whether a path is that of a project: a folder, a zip, or a YAML file that is not one of a domain's.
pub fn is_project(path: &str) -> bool {
    const OF_DOMAINS: [&str; 2] = ["sorts:", "rules:"];
    let file = Path::new(path);
    let ends = |ending: &str| file.extension().is_some_and(|e| e.eq_ignore_ascii_case(ending));
    if file.is_dir() || ends("zip") {
        return true;
    }
    let yaml = ends("yml") || ends("yaml");
    let text = || std::fs::read(file).map(|b| String::from_utf8_lossy(&b).into_owned()).unwrap_or_default();
    yaml && !text().lines().any(|l| OF_DOMAINS.iter().any(|d| l.starts_with(d)))
}

/// What is asked of a project beside what is wrong with it.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Beside {
    /// What another implementation of the language does otherwise, with line and row: `mica`.
    #[arg(long, value_name = "mica")]
    compare: Option<String>,
    /// Where an ADL program needs a language model, and what is done without one.
    #[arg(long)]
    offline: bool,
    /// Take the paths of an ADL program as MICA's server would that runs in this folder.
    #[arg(long, value_name = "DIR")]
    mica_root: Option<PathBuf>,
}

/// Everything that is wrong with a project, and what else is asked of it.
pub fn check(path: &str, beside: &Beside) -> Result<Vec<Diagnostic>, Failure> {
    let reading = match adl::open(Path::new(path), beside.mica_root.as_deref()) {
        Ok(reading) => reading,
        Err(wrong) => return Ok(vec![wrong]),
    };
    let mut found = reading.found.clone();
    match beside.compare.as_deref() {
        Some("mica") => found.extend(reading.compared_with_mica()),
        Some(other) => return Err(Failure::Other(format!("`{other}` cannot be compared with: use --compare mica"))),
        None => {}
    }
    if beside.offline {
        found.extend(reading.offline());
    }
    Ok(found)
}

/// What the text of a program alone proves: what nothing leads to, what never waits, functions that are called without what they need.
const PROVED: [&str; 5] = ["adl-unused", "adl-unreachable", "adl-endless-loop", "adl-calls-itself", "adl-function-argument"];

/// Tells what no proposal can reach, what never waits, and which functions are called without what they need.
pub fn verify(path: &str, json: bool) -> Result<bool, Failure> {
    let reading = adl::open(Path::new(path), None).map_err(|d| Failure::Domain(vec![d]))?;
    let errors: Vec<Diagnostic> = reading.found.iter().filter(|d| d.severity == Severity::Error && !PROVED.contains(&d.code)).cloned().collect();
    if !errors.is_empty() {
        return Err(Failure::Domain(errors));
    }
    let found: Vec<Diagnostic> = reading.found.into_iter().filter(|d| PROVED.contains(&d.code)).collect();
    if json {
        println!("{}", report::json(&found));
    } else {
        print!("{}", report::plain(&found));
        println!("{}", report::summary(&found));
    }
    Ok(found.is_empty())
}

/// Arguments of `export`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  duologue export my_agents/              the program in ADL 1.0 form on the terminal\n  duologue export my_agents/ -o new.yml   into a file"
)]
pub struct Export {
    /// A folder with an ADL program, or the program.
    path: PathBuf,
    /// Write to this file instead of the terminal.
    #[arg(short, long)]
    out: Option<PathBuf>,
}

/// Writes a program in ADL 1.0 form, comments kept.
pub fn export(a: &Export) -> Result<bool, Failure> {
    let reading = adl::open(&a.path, None).map_err(|d| Failure::Domain(vec![d]))?;
    let Some(text) = reading.exported() else { return Err(Failure::Domain(reading.found)) };
    match &a.out {
        Some(path) => write(path, text)?,
        None => print!("{text}"),
    }
    Ok(true)
}

/// The program of a project.
pub fn load(path: &Path, mica_root: Option<&Path>) -> Result<Program, Failure> {
    let (program, found) = match adl::open(path, mica_root) {
        Ok(reading) => (reading.program, reading.found),
        Err(wrong) => (None, vec![wrong]),
    };
    let errors: Vec<_> = found.into_iter().filter(|d| d.severity == Severity::Error).collect();
    match program {
        Some(program) if errors.is_empty() => Ok(program),
        _ => Err(Failure::Domain(errors)),
    }
}

/// The engine with the program's own functions, which run in workers of their own.
pub fn connect(engine: Engine) -> Result<Engine, Failure> {
    let Some(program) = engine.domain().program.clone().filter(|p| p.functions.iter().any(|f| f.python.is_some())) else { return Ok(engine) };
    let folder = program.project.folder.clone().unwrap_or_default();
    let ir::Project { python, environment, limits, .. } = &program.project;
    let workers = Workers::start(&folder, python, environment, limits.memory, limits.workers).map_err(|e| match e {
        StartError::Files(failed) => Failure::Domain(failed.iter().map(of_top_level).collect()),
        e => Failure::Other(e.to_string()),
    })?;
    let workers = Arc::new(workers);
    let input = |i: &ir::Input| Input { name: i.name.clone(), kind: InputType::Any, required: i.required, list: false, values: vec![] };
    let functions = program.functions.iter().filter_map(|f| {
        Some(Function {
            name: f.name.clone(),
            inputs: f.inputs.iter().map(input).collect(),
            target: Target::Python { workers: workers.clone(), file: f.python.clone()? },
            timeout_ms: f.timeout_ms.unwrap_or(TIMEOUT_MS),
            retries: 0,
            idempotent: f.idempotent,
            open: f.open,
        })
    });
    let functions = engine.functions().clone().with(functions);
    Ok(engine.with_functions(functions))
}

/// The model that a project names; without an address of its own it is the provider's, which wants a key.
pub fn model(program: &Program) -> Result<Option<BlockingModel>, Failure> {
    let Some(named) = &program.project.model else { return Ok(None) };
    let key = named.key.clone().or_else(|| variable("OPENAI_API_KEY").filter(|_| named.server.is_none()));
    if named.server.is_none() && key.is_none() {
        return Ok(None);
    }
    let config = ModelConfig::new(Api::OpenAi, named.server.as_deref().unwrap_or("https://api.openai.com/v1"), &named.name);
    let config = ModelConfig { temperature: named.temperature.unwrap_or(config.temperature), embedding_model: named.embedding.clone(), ..config };
    let config = if let Some(key) = key { config.with_key(Secret::new(key)) } else { config };
    BlockingModel::configured(config, variable).map(Some).map_err(Failure::told)
}

/// What goes wrong when a file is run, where it stands.
fn of_top_level(failed: &Failed) -> Diagnostic {
    let text = std::fs::read(&failed.file).map(|b| String::from_utf8_lossy(&b).into_owned()).unwrap_or_default();
    let origin = Source::new(&failed.file.to_string_lossy(), &text).line(usize::try_from(failed.line).unwrap_or(1));
    Diagnostic::error("adl-python-start", origin, failed.message.clone())
        .help("mend the file, or install what it imports; it is run when a conversation begins")
}

/// A project as the domain that the turn takes.
pub fn domain(path: &Path, mica_root: Option<&Path>, files: &Files) -> Result<Domain, Failure> {
    script::domain(&load(path, mica_root)?, files).map_err(Failure::Domain)
}
