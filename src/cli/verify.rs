//! `duologue verify`: bounded model checking of a domain's rules.

use std::path::PathBuf;
use std::time::Duration;

use super::common::{Failure, Place, write};
use crate::eval::verify;

/// Arguments of `verify`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  duologue verify\n  duologue verify hospital --depth 3\n  duologue verify my_flow.json          a CHIEF flow: everything a speaker can do to it\n  duologue verify drive_thru --dialogues found.yaml && echo nothing found || duologue test found.yaml\n\nWhat is searched for:\n  rights            a role changes what it may not\n  two_models        the rules admit two decisions (clingo is asked for a second one)\n  engines_disagree  the evaluator and clingo differ (a sample is confirmed)\n  over_budget, no_decision\n  every NAME for which rules/DOMAIN/invariants.lp derives violation(NAME,WHAT)\n  every goal of kb/DOMAIN/verify.yaml that cannot be reached: an order that is never placed, a question that is asked for ever\nRules that derive nothing in any of the conversations are counted; --silent names them. docs/verify.md says how to declare properties."
)]
pub struct Arguments {
    /// The domain, or a flow; otherwise the domain of --domain.
    name: Option<String>,
    #[command(flatten)]
    place: Place,
    /// How many turns a conversation has at most; otherwise what the domain's file says.
    #[arg(long)]
    depth: Option<usize>,
    /// Seconds to search.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Write the counterexamples to this dialogue file, which `duologue test` runs.
    #[arg(long, value_name = "FILE")]
    dialogues: Option<PathBuf>,
    /// Name the rules that derived nothing.
    #[arg(long)]
    silent: bool,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// Verifies and prints; the answer tells whether nothing was violated.
pub fn run(a: &Arguments) -> Result<bool, Failure> {
    if let Some(project) = a.name.as_deref().filter(|n| !a.place.files().domains().iter().any(|d| d == n) && super::agents::is_project(n)) {
        return super::agents::verify(project, a.json);
    }
    let flow = a.name.clone().filter(|n| super::flow::is_flow(n)).or_else(|| a.place.flow.clone());
    let place = Place { flow, domain: a.name.clone().or_else(|| a.place.domain.clone()), ..a.place.clone() };
    let domain = place.load()?;
    let report = verify::domain(&domain, a.depth, Duration::from_secs(a.seconds)).map_err(Failure::told)?;
    if let Some(path) = a.dialogues.as_ref().filter(|_| !report.violations.is_empty()) {
        write(path, verify::dialogue(&place.name(), &report.violations))?;
    }
    if a.json {
        println!("{}", serde_json::to_string_pretty(&report).unwrap_or_default());
    } else {
        print!("{}", verify::text(&report, a.silent));
    }
    Ok(report.violations.is_empty())
}
