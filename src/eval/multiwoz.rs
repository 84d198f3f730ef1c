//! MultiWOZ: several domains in one dialogue, decided by rules, scored as the benchmark's own evaluator does.
//!
//! Data flow: `data` (dialogues, goals, recorded states) → `track` or recorded states → `agent` (cues, table
//! counts, rules, texts) → `score`. Inform and success reward placeholders that are merely mentioned, so every
//! report carries the degenerate bounds beside the result.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

mod agent;
mod bleu;
mod convention;
pub mod cues;
pub mod data;
mod detokenise;
mod flows;
pub mod fuzzy;
mod say;
pub mod score;
mod track;
pub mod values;
pub mod venues;

pub use agent::{Agent, Move};

use crate::reason::Reasoner;
use convention::Convention;
use data::{Dialogue, State};
use score::{Said, Saids, Scores, score};
use track::Tracker;
use values::{Spellings, slot_name};
use venues::Venues;

/// Why nothing was scored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MultiwozError {
    /// A file could not be read.
    #[error("cannot read `{file}`: {why}")]
    Read {
        /// Its name.
        file: String,
        /// The system's reason.
        why: String,
    },
    /// A file is not what it should be.
    #[error("`{file}` does not follow its format: {why}")]
    Syntax {
        /// Its name.
        file: String,
        /// What is wrong.
        why: String,
    },
    /// The built-in rules do not load.
    #[error("the rules do not load: {0}")]
    Rules(String),
    /// A turn was not decided.
    #[error("no decision: {0}")]
    Decide(String),
}

/// Where the states come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum States {
    /// The recorded ones.
    #[default]
    Oracle,
    /// Tracked from the user's words and the replies before them.
    Own,
}

/// What to evaluate.
#[derive(Clone, Debug)]
pub struct Args {
    /// The data directory: `SPLIT_mwoz21.jsonl`, `db/`, and the evaluator's companion files if present.
    pub data: PathBuf,
    /// `test` or `val`.
    pub split: String,
    /// Where the states come from.
    pub states: States,
    /// Which engines decide.
    pub reasoner: Reasoner,
    /// Score this file of another system's turns instead of our own.
    pub system: Option<PathBuf>,
    /// Only dialogues whose fold (0 to 99, by id) lies in this range.
    pub folds: std::ops::Range<u32>,
    /// Write our turns here, in the form the benchmark's evaluator reads.
    pub predictions: Option<PathBuf>,
}

impl Default for Args {
    fn default() -> Self {
        Self {
            data: PathBuf::new(),
            split: "test".to_owned(),
            states: States::Oracle,
            reasoner: Reasoner::Fast,
            system: None,
            folds: 0..100,
            predictions: None,
        }
    }
}

/// The result with everything it must be read beside.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Which dialogues.
    pub split: String,
    /// Where the states came from.
    pub states: States,
    /// Which replies stand in the history.
    pub history: &'static str,
    /// The result, with the domains the system says it talks about.
    pub scores: Scores,
    /// The same with domains estimated from changes of the state, as for systems that do not say.
    pub estimated_domains: Scores,
    /// The result on dialogues with one domain in their goal.
    pub single_domain: Scores,
    /// What trivial systems reach on the same dialogues.
    pub bounds: BTreeMap<&'static str, Scores>,
}

/// Everything the benchmark's scoring needs.
#[derive(Debug)]
pub struct Benchmark {
    spellings: Arc<Spellings>,
    venues: Venues,
    /// The dialogues.
    pub dialogues: Vec<Dialogue>,
}

/// A dialogue's fold, 0 to 99, from its id alone.
pub fn fold(id: &str) -> u32 {
    // FNV-1a: stable across versions and platforms.
    let hash = id.bytes().fold(0x811c_9dc5_u32, |h, b| (h ^ u32::from(b)).wrapping_mul(0x0100_0193));
    hash % 100
}

impl Benchmark {
    /// Reads the data directory.
    pub fn read(data: &Path, split: &str) -> Result<Self, MultiwozError> {
        let spellings = Arc::new(
            Spellings::parse(include_str!("../../kb/multiwoz/normalise.json"))
                .map_err(|e| MultiwozError::Syntax { file: "normalise.json".to_owned(), why: e.to_string() })?,
        );
        let convention = Arc::new(Convention::built_in()?);
        let venues = Venues::read(data, &spellings, &convention)?;
        let dialogues = data::dialogues(data, split, &spellings, &convention)?;
        Ok(Self { spellings, venues, dialogues })
    }

    /// A response in the form responses are compared in.
    pub fn normal(&self, response: &str) -> String {
        detokenise::normal(response, &self.spellings)
    }

    /// Scores a system's turns.
    pub fn score(&self, said: &Saids) -> Scores {
        score(&self.dialogues, said, &self.venues)
    }

    /// Reads another system's turns: `{dialogue: [{response, state?, active_domains?}]}`.
    pub fn system(&self, file: &Path) -> Result<Saids, MultiwozError> {
        #[derive(Deserialize)]
        struct Raw {
            response: String,
            state: Option<Map<String, Value>>,
            active_domains: Option<Vec<String>>,
        }
        let raw: BTreeMap<String, Vec<Raw>> = data::json(file)?;
        let state = |s: &Map<String, Value>| -> State {
            let canonical = |k: String, v: String| {
                let slot = slot_name(&k);
                let value = self.spellings.value(&slot, &v);
                (slot, value)
            };
            data::state_of(s).into_iter().map(|(d, slots)| (d, slots.into_iter().map(|(k, v)| canonical(k, v)).collect())).collect()
        };
        let turn = |t: &Raw| Said {
            response: self.normal(&t.response),
            words: t.response.clone(),
            state: t.state.as_ref().map(&state),
            active: t.active_domains.clone(),
        };
        let all: Saids = raw.iter().map(|(id, turns)| (id.to_lowercase(), turns.iter().map(turn).collect())).collect();
        Ok(all)
    }

    /// What the rules do on every dialogue.
    pub fn run(&self, agent: &Agent, states: States) -> Result<Saids, MultiwozError> {
        let tracker = Tracker::new(&self.venues)?;
        let mut out = Saids::new();
        for d in &self.dialogues {
            let known: Vec<State> = match states {
                States::Oracle => d.turns.iter().map(|t| t.known.clone()).collect(),
                States::Own => tracker.track(d, agent.cues(), &self.spellings),
            };
            let moves = agent.moves(d, &known, &self.venues)?;
            let mut said = agent.said(&moves, |r| self.normal(r));
            if states == States::Own {
                said.iter_mut().zip(known).for_each(|(s, k)| s.state = Some(k));
            }
            out.insert(d.id.clone(), said);
        }
        Ok(out)
    }

    /// Systems that understand nothing, and the recorded replies themselves.
    pub fn bounds(&self) -> BTreeMap<&'static str, Scores> {
        let constant = |response: &str| -> Saids {
            let said = |d: &Dialogue| d.turns.iter().map(|_| Said { response: response.to_owned(), ..Said::default() }).collect();
            self.dialogues.iter().map(|d| (d.id.clone(), said(d))).collect()
        };
        let recorded = |d: &Dialogue| d.turns.iter().map(|t| Said { response: t.reference.clone(), ..Said::default() }).collect();
        BTreeMap::from([
            ("every placeholder in every turn", self.score(&constant("NAME TRAINID PHONE ADDRESS POST REFERENCE"))),
            ("one polite sentence in every turn", self.score(&constant("is there anything else i can help you with today?"))),
            ("the recorded replies", self.score(&self.dialogues.iter().map(|d| (d.id.clone(), recorded(d))).collect())),
        ])
    }
}

/// Runs the evaluation.
pub fn run(args: &Args) -> Result<Report, MultiwozError> {
    let mut benchmark = Benchmark::read(&args.data, &args.split)?;
    benchmark.dialogues.retain(|d| args.folds.contains(&fold(&d.id)));
    let said = match &args.system {
        Some(file) => benchmark.system(file)?,
        None => benchmark.run(&Agent::new(args.reasoner)?, args.states)?,
    };
    if let Some(file) = &args.predictions {
        write(file, &said)?;
    }
    let scores = benchmark.score(&said);
    let silent: Saids = said.iter().map(|(id, turns)| (id.clone(), turns.iter().map(|t| Said { active: None, ..t.clone() }).collect())).collect();
    let estimated_domains = benchmark.score(&silent);
    let bounds = benchmark.bounds();
    benchmark.dialogues.retain(|d| d.goals.len() == 1);
    let single_domain = benchmark.score(&said);
    Ok(Report { split: args.split.clone(), states: args.states, history: "recorded replies", scores, estimated_domains, single_domain, bounds })
}

fn write(file: &Path, said: &Saids) -> Result<(), MultiwozError> {
    let turn = |t: &Said| {
        let mut out = Map::new();
        out.insert("response".to_owned(), Value::from(t.words.clone()));
        if let Some(state) = &t.state {
            let slots = |s: &venues::Slots| Value::Object(s.iter().map(|(k, v)| (k.clone(), Value::from(v.clone()))).collect());
            out.insert("state".to_owned(), Value::Object(state.iter().map(|(d, s)| (d.clone(), slots(s))).collect()));
        }
        if let Some(active) = &t.active {
            out.insert("active_domains".to_owned(), Value::from(active.clone()));
        }
        Value::Object(out)
    };
    let all: Map<String, Value> = said.iter().map(|(id, turns)| (id.clone(), Value::Array(turns.iter().map(turn).collect()))).collect();
    let name = file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    std::fs::write(file, Value::Object(all).to_string()).map_err(|e| MultiwozError::Read { file: name, why: e.to_string() })
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let states = if self.states == States::Own { "own" } else { "recorded" };
        writeln!(f, "MultiWOZ {}: {} dialogues, {} turns, {states} states, history: {}", self.split, self.scores.dialogues, self.scores.turns, self.history)?;
        writeln!(f, "{:<36}{:>5}{:>9}{:>9}{:>8}{:>10}", "", "n", "inform", "success", "BLEU", "combined")?;
        let mut row =
            |name: &str, s: &Scores| writeln!(f, "{name:<36}{:>5}{:>9.1}{:>9.1}{:>8.2}{:>10.2}", s.dialogues, s.inform, s.success, s.bleu, s.combined);
        row("result", &self.scores)?;
        row("  with estimated active domains", &self.estimated_domains)?;
        row("  on single-domain goals", &self.single_domain)?;
        for (name, bound) in &self.bounds {
            row(&format!("bound: {name}"), bound)?;
        }
        for (domain, s) in &self.scores.domains {
            writeln!(f, "  {domain:<12} n {:>4}  inform {:>5.1}  success {:>5.1}", s.dialogues, s.inform, s.success)?;
        }
        if let Some(t) = &self.scores.tracking {
            writeln!(
                f,
                "joint goal accuracy {:.1}, slot F1 {:.1} (precision {:.1}, recall {:.1})",
                t.joint_accuracy, t.slot_f1, t.slot_precision, t.slot_recall
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
