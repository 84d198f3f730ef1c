//! STAR: the engine's next acts on recorded dialogues, compared with what the human agents did.

pub mod data;
mod flows;
mod replay;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

use super::metrics::{self, Interval, Score, Scored};
use crate::diag::Diagnostic;
use crate::facts::{MemoryStore, StoreError};
use crate::reason::Reasoner;
use crate::turn::{Engine, Options, TurnError};

pub use flows::{Task, load, sources};
pub use replay::{Example, Replay};

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum StarError {
    /// A file cannot be read or written.
    #[error("cannot read or write `{0}`: {1}")]
    Read(String, String),
    /// A line is no dialogue or state.
    #[error("`{0}`, line {1}: {2}")]
    Line(String, usize, String),
    /// A flow or rule file is broken.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Author(Vec<Diagnostic>),
    /// The dialogues are of tasks that no flow covers.
    #[error("no flow for the task `{0}`")]
    NoFlow(String),
    /// No dialogue fits the protocol.
    #[error("no dialogue of the files fits the protocol")]
    Nothing,
    /// A turn was not taken.
    #[error(transparent)]
    Turn(#[from] TurnError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What counts as an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// One act per turn of the speaker, calls made inside the turn.
    P5,
    /// Every act and every call, all earlier events visible.
    P2,
    /// As P2, on the dialogues without instructions and the 22 tasks of earlier work.
    P1,
}

/// Where the slots come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum States {
    /// From the engine's own understanding of the earlier turns.
    Own,
    /// From a file of given states.
    Oracle(PathBuf),
}

/// What to evaluate.
#[derive(Clone, Debug)]
pub struct Args {
    /// Folder of flow files; the built-in ones when absent.
    pub flows: Option<PathBuf>,
    /// Recording files.
    pub dialogues: Vec<PathBuf>,
    /// The protocol.
    pub protocol: Protocol,
    /// The states.
    pub states: States,
    /// Where to write the predictions.
    pub predictions: Option<PathBuf>,
    /// Which engines decide.
    pub reasoner: Reasoner,
    /// Rounds of the bootstrap; none when 0.
    pub rounds: usize,
    /// Whether every prediction comes with its proof.
    pub explain: bool,
}

impl Default for Args {
    fn default() -> Self {
        Self {
            flows: None,
            dialogues: Vec::new(),
            protocol: Protocol::P5,
            states: States::Own,
            predictions: None,
            reasoner: Reasoner::Fast,
            rounds: 1000,
            explain: false,
        }
    }
}

/// The result.
#[derive(Clone, Debug, Serialize)]
pub struct StarScores {
    /// The protocol.
    pub protocol: Protocol,
    /// Whether the states were given.
    pub oracle: bool,
    /// Dialogues.
    pub dialogues: usize,
    /// Examples.
    pub n: usize,
    /// Mean over tasks.
    pub macro_score: Score,
    /// Interval of the mean F1 over tasks.
    pub macro_f1_interval: Interval,
    /// Interval of the mean accuracy over tasks.
    pub macro_accuracy_interval: Interval,
    /// Accuracy over all examples.
    pub micro_accuracy: f64,
    /// By task.
    pub tasks: BTreeMap<String, Score>,
    /// BLEU of the words against the agents' own, over the acts.
    pub bleu: f64,
    /// Of the calls made, how many the human agent made in the same turn, in percent.
    pub call_precision: f64,
    /// Calls made.
    pub calls: usize,
    /// Wall-clock seconds.
    pub seconds: f64,
}

/// The tasks that earlier work left out of its list.
const NOT_IN_P1: [&str; 2] = ["ride_change", "spaceship_life_support"];

/// Runs the evaluation.
pub fn run(args: &Args) -> Result<StarScores, StarError> {
    let began = Instant::now();
    let ready = load(args.flows.as_deref())?;
    let mut dialogues = data::read(&args.dialogues)?;
    dialogues.retain(|d| d.happy && (args.protocol != Protocol::P1 || !d.guided && !NOT_IN_P1.contains(&d.task.as_str())));
    let given = match &args.states {
        States::Own => None,
        States::Oracle(path) => Some(data::states(path)?),
    };
    let mut by_task: BTreeMap<&str, Vec<&data::Recording>> = BTreeMap::new();
    for d in &dialogues {
        by_task.entry(&d.task).or_default().push(d);
    }
    let mut examples = Vec::new();
    for (task, of_task) in by_task {
        let task = ready.get(task).ok_or_else(|| StarError::NoFlow(task.to_owned()))?;
        for some in of_task.chunks(DIALOGUES) {
            examples.extend(predict(task, some, given.as_ref(), args)?);
        }
    }
    // As the files have them.
    let order: BTreeMap<i64, usize> = dialogues.iter().enumerate().map(|(n, d)| (d.id, n)).collect();
    examples.sort_by_key(|e| order.get(&e.dialogue));
    if examples.is_empty() {
        return Err(StarError::Nothing);
    }
    if let Some(path) = &args.predictions {
        write(path, &examples)?;
    }
    Ok(report(args, dialogues.len(), &examples, began))
}

/// Dialogues that share a store, so that none grows large.
const DIALOGUES: usize = 20;

/// Replays dialogues of one task.
pub(super) fn predict(task: &Task, dialogues: &[&data::Recording], states: Option<&data::States>, args: &Args) -> Result<Vec<Example>, StarError> {
    let options = Options { reasoner: args.reasoner, explain: args.explain, ..Options::default() };
    let mut engine = Engine::new(task.domain.clone(), Arc::new(MemoryStore::default())).with_options(options).with_understand(task.ear.clone());
    let mut out = Vec::new();
    for dialogue in dialogues {
        let (examples, back) = Replay { dialogue, task, states, protocol: args.protocol }.run(engine)?;
        out.extend(examples);
        engine = back;
    }
    Ok(out)
}

fn scored(e: &Example) -> Scored<'_> {
    Scored { group: &e.task, gold: &e.gold, predicted: &e.predicted }
}

fn report(args: &Args, dialogues: usize, examples: &[Example], began: Instant) -> StarScores {
    let (macro_score, tasks) = metrics::by_group(examples.iter().map(scored));
    let mut by_dialogue: BTreeMap<i64, Vec<&Example>> = BTreeMap::new();
    for e in examples {
        by_dialogue.entry(e.dialogue).or_default().push(e);
    }
    let units: Vec<Vec<&Example>> = by_dialogue.into_values().collect();
    let [f1, accuracy] = metrics::bootstrap(&units, args.rounds, 20_251_120, |drawn| {
        let (m, _) = metrics::by_group(drawn.iter().flat_map(|u| u.iter().map(|e| scored(e))));
        [m.f1, m.accuracy]
    });
    let texts: Vec<_> =
        examples.iter().filter(|e| !e.gold_text.is_empty()).map(|e| (metrics::tokens_13a(&e.text), metrics::tokens_13a(&e.gold_text))).collect();
    let (calls, right): (usize, usize) = examples.iter().filter(|e| e.called).fold((0, 0), |(c, r), e| (c + 1, r + usize::from(e.gold_called)));
    let all = metrics::score(examples.iter().map(|e| (e.gold.as_str(), e.predicted.as_str())));
    #[expect(clippy::cast_precision_loss, reason = "counts of calls")]
    let call_precision = if calls == 0 { 0.0 } else { 100.0 * right as f64 / calls as f64 };
    StarScores {
        protocol: args.protocol,
        oracle: args.states != States::Own,
        dialogues,
        n: examples.len(),
        macro_score,
        macro_f1_interval: f1,
        macro_accuracy_interval: accuracy,
        micro_accuracy: all.accuracy,
        tasks,
        bleu: metrics::bleu(&texts),
        call_precision,
        calls,
        seconds: began.elapsed().as_secs_f64(),
    }
}

fn write(path: &std::path::Path, examples: &[Example]) -> Result<(), StarError> {
    let mut out = String::new();
    for e in examples {
        let line = serde_json::json!({"dialogue": e.dialogue, "event": e.event, "task": e.task, "gold": e.gold, "predicted": e.predicted});
        out.push_str(&line.to_string());
        out.push('\n');
    }
    std::fs::write(path, out).map_err(|e| StarError::Read(path.display().to_string(), e.to_string()))
}

impl StarScores {
    /// The report as a table for people.
    pub fn table(&self) -> String {
        use std::fmt::Write;
        let mut out = String::new();
        let states = if self.oracle { "given states" } else { "own states" };
        let protocol = format!("{:?}", self.protocol).to_lowercase();
        let _ = writeln!(out, "STAR {protocol}, {states}: {} dialogues, {} examples, {} tasks", self.dialogues, self.n, self.tasks.len());
        let line = |name: &str, v: f64, i: Interval| format!("{name:<22}{v:>6.1}   [{:.1}, {:.1}]\n", i.low, i.high);
        out.push_str(&line("macro F1", self.macro_score.f1, self.macro_f1_interval));
        out.push_str(&line("macro accuracy", self.macro_score.accuracy, self.macro_accuracy_interval));
        let _ = writeln!(out, "{:<22}{:>6.1}", "micro accuracy", self.micro_accuracy);
        let _ = writeln!(out, "{:<22}{:>6.1}", "BLEU", self.bleu);
        let _ = writeln!(out, "{:<22}{:>6.1}   of {} calls", "call precision", self.call_precision, self.calls);
        let _ = writeln!(out, "{:<22}{:>6.1}", "seconds", self.seconds);
        let _ = writeln!(out, "\n{:<26}{:>6}{:>8}{:>8}", "task", "n", "F1", "acc.");
        for (t, s) in &self.tasks {
            let _ = writeln!(out, "{t:<26}{:>6}{:>8.1}{:>8.1}", s.n, s.f1, s.accuracy);
        }
        out
    }
}

#[cfg(test)]
mod tests;
