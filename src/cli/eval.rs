//! `duologue eval`: measuring against data sets.

use std::path::PathBuf;

use super::common::{Failure, How};
use crate::eval::multiwoz;
use crate::reason::Reasoner;

/// Arguments of `eval`.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// MultiWOZ: inform, success, BLEU and combined, beside what trivial systems reach.
    Multiwoz(Multiwoz),
}

/// Arguments of `eval multiwoz`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  duologue eval multiwoz --data multiwoz --states oracle\n  duologue eval multiwoz --data multiwoz --system sample_predictions/galaxy.json")]
struct Multiwoz {
    /// The data folder.
    #[arg(long)]
    data: PathBuf,
    /// `oracle`: recorded states; `own`: the engine's own tracking.
    #[arg(long, default_value = "own")]
    states: String,
    /// `test` or `val`.
    #[arg(long, default_value = "test")]
    split: String,
    /// Score another system's turns instead.
    #[arg(long)]
    system: Option<PathBuf>,
    /// Only dialogues whose fold (0 to 99, by id) is in FROM..TO.
    #[arg(long, default_value = "0..100")]
    folds: String,
    /// Write our turns here.
    #[arg(long)]
    predictions: Option<PathBuf>,
    /// Which engines decide.
    #[arg(long, value_enum, default_value = "fast")]
    reasoner: How,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

fn reasoner(how: How) -> Reasoner {
    match how {
        How::Confirm => Reasoner::Confirm,
        How::Clingo => Reasoner::Clingo,
        How::Fast => Reasoner::Fast,
    }
}

/// Runs an evaluation and prints its report.
pub fn run(a: &Arguments) -> Result<bool, Failure> {
    match &a.what {
        What::Multiwoz(m) => {
            let states = match m.states.as_str() {
                "oracle" => multiwoz::States::Oracle,
                "own" => multiwoz::States::Own,
                other => return Err(Failure::Other(format!("`{other}` is no source of states: use oracle or own"))),
            };
            let folds = m.folds.split_once("..").and_then(|(f, t)| Some(f.parse().ok()?..t.parse().ok()?)).ok_or_else(|| Failure::Other("folds are written FROM..TO".to_owned()))?;
            let args = multiwoz::Args { data: m.data.clone(), split: m.split.clone(), states, reasoner: reasoner(m.reasoner), system: m.system.clone(), folds, predictions: m.predictions.clone() };
            let report = multiwoz::run(&args).map_err(|e| Failure::Other(e.to_string()))?;
            if m.json {
                println!("{}", serde_json::to_string_pretty(&report).unwrap_or_default());
            } else {
                print!("{report}");
            }
            Ok(true)
        }
    }
}
