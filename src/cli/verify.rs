//! `duologue verify`: bounded model checking of a domain's rules.

use std::path::PathBuf;
use std::time::Duration;

use super::common::{Failure, Place};
use crate::eval::verify;

/// Arguments of `verify`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  duologue verify\n  duologue verify hospital --depth 4\n  duologue verify my_flow.json          a CHIEF flow: everything a speaker can do to it\n  duologue verify drive_thru --dialogues found.yaml && duologue test found.yaml"
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
    #[arg(long)]
    dialogues: Option<PathBuf>,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// Verifies and prints; the answer tells whether nothing was violated.
pub fn run(a: &Arguments) -> Result<bool, Failure> {
    if let Some(flow) = a.name.as_deref().filter(|n| super::flow::is_flow(n)) {
        return super::flow::verify(flow, a.json);
    }
    let place = Place { domain: a.name.clone().unwrap_or_else(|| a.place.domain.clone()), ..a.place.clone() };
    let domain = place.load()?;
    let report = verify::domain(&domain, a.depth, Duration::from_secs(a.seconds)).map_err(|e| Failure::Other(e.to_string()))?;
    if let Some(path) = &a.dialogues {
        std::fs::write(path, verify::dialogue(&place.domain, &report.violations)).map_err(|e| Failure::Other(format!("{}: {e}", path.display())))?;
    }
    if a.json {
        println!("{}", serde_json::to_string_pretty(&report).unwrap_or_default());
    } else {
        print!("{}", verify::text(&report));
    }
    Ok(report.violations.is_empty())
}
