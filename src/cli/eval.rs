//! `duologue eval`: measuring against data sets.

use std::path::PathBuf;

use super::common::{Failure, How};
use super::common::{Listen, Place};
use crate::eval::{multiwoz, nlu, star};
use crate::reason::Reasoner;

/// Arguments of `eval`.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Utterances with their predicates: exact matches, F1, by tag, latency.
    Understand(Understand),
    /// STAR: the next action in 24 tasks, macro F1 and accuracy with intervals.
    Star(Star),
    /// MultiWOZ: inform, success, BLEU and combined, beside what trivial systems reach.
    Multiwoz(Multiwoz),
}

/// Arguments of `eval multiwoz`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  duologue eval multiwoz --data multiwoz --states oracle\n  duologue eval multiwoz --data multiwoz --system sample_predictions/galaxy.json"
)]
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

/// Arguments of `eval understand`.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  duologue eval understand tests/data/nlu/dev.jsonl")]
struct Understand {
    /// Cases as JSON lines of {"id","role","context","text","gold","tags"}.
    file: PathBuf,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    listen: Listen,
}

/// Arguments of `eval star`.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  duologue eval star --dialogues star/dialogues_happy.jsonl --protocol p5 --states own")]
struct Star {
    /// A folder of flow files instead of the built-in ones.
    #[arg(long)]
    flows: Option<PathBuf>,
    /// Dialogue files (JSON lines).
    #[arg(long, num_args = 1.., required = true)]
    dialogues: Vec<PathBuf>,
    /// Which protocol: p5, p2 or p1.
    #[arg(long, default_value = "p5")]
    protocol: String,
    /// `own`, or `oracle=FILE` with given states.
    #[arg(long, default_value = "own")]
    states: String,
    /// Write the predictions here, one JSON object a line.
    #[arg(long)]
    predictions: Option<PathBuf>,
    /// Which engines decide.
    #[arg(long, value_enum, default_value = "fast")]
    reasoner: How,
    /// Rounds of the bootstrap.
    #[arg(long, default_value_t = 1000)]
    rounds: usize,
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
        What::Understand(u) => {
            let engine = u.listen.equip(u.place.engine()?)?;
            let file = std::fs::File::open(&u.file).map_err(|e| Failure::Other(format!("{}: {e}", u.file.display())))?;
            let cases = nlu::read_cases(std::io::BufReader::new(file)).map_err(|e| Failure::Other(e.to_string()))?;
            let Some(translator) = engine.translator() else { return Err(Failure::Other("no translator is configured".to_owned())) };
            nlu::write_report(&nlu::evaluate(&**translator, &cases), &mut std::io::stdout().lock())?;
            Ok(true)
        }
        What::Star(s) => {
            let protocol = match s.protocol.as_str() {
                "p5" => star::Protocol::P5,
                "p2" => star::Protocol::P2,
                "p1" => star::Protocol::P1,
                other => return Err(Failure::Other(format!("`{other}` is no protocol: use p5, p2 or p1"))),
            };
            let states = match s.states.split_once('=') {
                Some(("oracle", file)) => star::States::Oracle(file.into()),
                None if s.states == "own" => star::States::Own,
                _ => return Err(Failure::Other(format!("`{}` is no source of states: use own or oracle=FILE", s.states))),
            };
            let args = star::Args {
                flows: s.flows.clone(),
                dialogues: s.dialogues.clone(),
                protocol,
                states,
                predictions: s.predictions.clone(),
                reasoner: reasoner(s.reasoner),
                rounds: s.rounds,
            };
            let report = star::run(&args).map_err(|e| Failure::Other(e.to_string()))?;
            if s.json {
                println!("{}", serde_json::to_string_pretty(&report).unwrap_or_default());
            } else {
                print!("{}", report.table());
            }
            Ok(true)
        }
        What::Multiwoz(m) => {
            let states = match m.states.as_str() {
                "oracle" => multiwoz::States::Oracle,
                "own" => multiwoz::States::Own,
                other => return Err(Failure::Other(format!("`{other}` is no source of states: use oracle or own"))),
            };
            let folds = m
                .folds
                .split_once("..")
                .and_then(|(f, t)| Some(f.parse().ok()?..t.parse().ok()?))
                .ok_or_else(|| Failure::Other("folds are written FROM..TO".to_owned()))?;
            let args = multiwoz::Args {
                data: m.data.clone(),
                split: m.split.clone(),
                states,
                reasoner: reasoner(m.reasoner),
                system: m.system.clone(),
                folds,
                predictions: m.predictions.clone(),
            };
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
