//! `duologue bench`: how fast this build is on this machine.

use super::common::{Failure, Place};
use crate::facts;

/// Arguments of `bench`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  duologue bench reason\n  duologue bench turn --turns 2000 --json\n  duologue bench store --store /tmp/bench.db\n\nBuild with --release to measure."
)]
pub struct Arguments {
    /// What to measure: store, turn.
    what: String,
    #[command(flatten)]
    place: Place,
    /// How many turns (store, turn).
    #[arg(long, default_value_t = 2000)]
    turns: usize,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// Measures and prints.
pub fn run(a: &Arguments) -> Result<bool, Failure> {
    match a.what.as_str() {
        "store" => {
            let store = facts::open_store(&a.place.store, a.place.rule())?;
            let load = facts::bench::Load { turns: a.turns, ..facts::bench::Load::default() };
            let measured = facts::bench::measure(&*store, load)?;
            println!("{}", if a.json { serde_json::to_string_pretty(&measured) } else { serde_json::to_string(&measured) }.unwrap_or_default());
            Ok(true)
        }
        other => Err(Failure::Other(format!("`{other}` cannot be measured: use reason, turn or store"))),
    }
}
