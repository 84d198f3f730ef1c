//! `duologue check` and `duologue explain`: what is wrong in a domain's files, where, and what to do about it.

use std::io::IsTerminal;
use std::path::Path;

use super::common::Failure;
use crate::check::{self, codes, report};
use crate::diag::{Diagnostic, Severity, Source};
use crate::domain::Files;
use crate::reasoning::Profile;

/// Arguments of `check`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  duologue check                      every domain and reasoning profile there is\n  duologue check drive_thru\n  duologue check my_rules.lp my_facts.lp\n  duologue check my_flow.json         a CHIEF flow\n  duologue check my_agents/           an ADL project, or a program of one\n  duologue check my_domain --root .   a domain of kb/my_domain below this folder\n  duologue explain rule-two-models    what a code means"
)]
pub struct Arguments {
    /// Domains, reasoning profiles, flows, ADL projects, or files of rules and facts.
    what: Vec<String>,
    /// A folder with kb/, rules/ and prompts/ of one's own.
    #[arg(long)]
    root: Option<std::path::PathBuf>,
    /// As JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    beside: super::agents::Beside,
}

/// Arguments of `explain`.
#[derive(clap::Args)]
pub struct Explain {
    /// The code; without it all codes are listed.
    code: Option<String>,
}

/// Checks and prints; the answer tells whether nothing is wrong.
pub fn run(a: &Arguments) -> Result<bool, Failure> {
    let files = a.root.as_deref().map_or_else(Files::built_in, Files::folder);
    let profiles = Profile::names(&files);
    let what = if a.what.is_empty() { [files.domains(), profiles.clone()].concat() } else { a.what.clone() };
    let mut found: Vec<Diagnostic> = vec![];
    let mut loose: Vec<Source> = vec![];
    for w in &what {
        if w.ends_with(".json") || (!files.domains().contains(w) && crate::lang::chief::named(&files, w).is_some()) {
            let (_, wrong) = crate::lang::chief::read(&super::flow::source(w)?);
            found.extend(wrong);
        } else if !files.domains().contains(w) && super::agents::is_project(w) {
            found.extend(super::agents::check(w, &a.beside)?);
        } else if Path::new(w).is_file() {
            let bytes = std::fs::read(w).map_err(|e| Failure::Other(format!("{w}: {e}")))?;
            loose.push(Source::new(w, &String::from_utf8_lossy(&bytes)));
        } else if files.domains().contains(w) {
            found.extend(check::domain(&files, w));
        } else if profiles.contains(w) {
            found.extend(check::profile(&files, w));
        } else {
            let (domains, profiles) = (files.domains().join(", "), profiles.join(", "));
            return Err(Failure::Other(format!("`{w}` is neither a file nor a domain; the domains are {domains}, the reasoning profiles {profiles}")));
        }
    }
    if !loose.is_empty() {
        found.extend(check::loose(&loose));
    }
    if a.json {
        println!("{}", report::json(&found));
    } else if std::io::stdout().is_terminal() {
        let text = |name: &str| loose.iter().find(|s| &*s.name == name).map(|s| s.text.to_string()).or_else(|| files.read(name));
        print!("{}", report::graphical(&found, &text, true));
        println!("{}", report::summary(&found));
    } else {
        print!("{}", report::plain(&found));
        println!("{}", report::summary(&found));
    }
    Ok(found.iter().all(|d| d.severity != Severity::Error))
}

/// Prints what a code means.
pub fn explain(a: &Explain) -> Result<bool, Failure> {
    match &a.code {
        None => {
            for code in codes::all() {
                println!("{code}");
            }
            Ok(true)
        }
        Some(code) => match codes::explain(code) {
            Some(text) => {
                println!("{text}");
                Ok(true)
            }
            None => {
                let near = crate::diag::did_you_mean(code, codes::all());
                Err(Failure::Other(format!(
                    "there is no code `{code}`{}",
                    near.map_or_else(|| "; `duologue explain` lists them".to_owned(), |n| format!(", did you mean `{n}`?"))
                )))
            }
        },
    }
}
