//! MultiWOZ: several domains in one dialogue, decided by rules, scored as the benchmark's own evaluator does.
//!
//! Data flow: `data` (dialogues, goals, recorded states) → `client` (the turns of the domain `multiwoz`, and their replies with placeholders) →
//! `score`. Inform and success reward placeholders that are merely mentioned, so the result tells contact data only to who asks, a row beside it
//! volunteers them, and degenerate systems are scored like the result.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

mod client;
mod convention;
pub mod data;
mod detokenise;
pub mod fuzzy;
pub mod score;
pub mod values;
pub mod venues;

pub use client::{Client, Move};

use crate::domain::Files;
use crate::reason::Reasoner;
use convention::Convention;
use data::{Recording, State};
use score::{Said, Saids, Scores, score};
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
    /// The domain's own, from the user's words and the replies before them.
    Own,
}

/// Whether contact data are told before anybody asks for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Manner {
    /// Only to who asks.
    #[default]
    Withholds,
    /// With every offer.
    Volunteers,
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
    /// Where the domain is read from.
    pub files: Files,
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
            files: Files::built_in(),
            predictions: None,
        }
    }
}

/// The result with everything it must be read beside.
#[derive(Clone, Debug, Serialize)]
pub struct MultiwozScores {
    /// Which dialogues.
    pub split: String,
    /// Where the states came from.
    pub states: States,
    /// Which replies stand in the history.
    pub history: &'static str,
    /// The result, with the domains the system says it talks about; contact data are told to who asks.
    pub scores: Scores,
    /// The same where contact data are told with every offer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volunteering: Option<Scores>,
    /// The same with domains estimated from changes of the state, as for systems that do not say.
    pub estimated_domains: Scores,
    /// The result on dialogues with one domain in their goal.
    pub single_domain: Scores,
    /// What trivial systems reach on the same dialogues, with the domains that the result talks about.
    pub bounds: BTreeMap<&'static str, Scores>,
}

/// Everything the benchmark's scoring needs.
#[derive(Debug)]
pub struct Benchmark {
    spellings: Arc<Spellings>,
    convention: Arc<Convention>,
    venues: Venues,
    /// The dialogues.
    pub dialogues: Vec<Recording>,
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
            Spellings::parse(include_str!("multiwoz/spellings.json"))
                .map_err(|e| MultiwozError::Syntax { file: "spellings.json".to_owned(), why: e.to_string() })?,
        );
        let convention = Arc::new(Convention::built_in()?);
        let venues = Venues::read(data, &spellings, &convention)?;
        let dialogues = data::dialogues(data, split, &spellings, &convention)?;
        Ok(Self { spellings, convention, venues, dialogues })
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

    /// The domain at work on these data.
    pub fn client(&self, files: &Files, reasoner: Reasoner, manner: Manner) -> Result<Client, MultiwozError> {
        Client::new(files, reasoner, manner, &self.spellings, &self.convention)
    }

    /// What the domain does on every dialogue.
    pub fn run(&self, client: &Client, states: States) -> Result<Saids, MultiwozError> {
        let turns = |d: &Recording| Ok((d.id.clone(), client.said(&client.moves(d, states)?, states, |r| self.normal(r))));
        self.dialogues.iter().map(turns).collect()
    }

    /// Systems that understand nothing, and the recorded replies themselves, with the states and domains of a system; where it has none, with
    /// recorded states and estimated domains.
    pub fn bounds(&self, like: &Saids) -> BTreeMap<&'static str, Scores> {
        let said = |d: &Recording, n: usize, response: &str| {
            let own = like.get(&d.id).and_then(|turns| turns.get(n)).cloned().unwrap_or_default();
            Said { response: response.to_owned(), words: response.to_owned(), ..own }
        };
        let of = |response: &dyn Fn(&data::Turn) -> String| -> Scores {
            let turns = |d: &Recording| d.turns.iter().enumerate().map(|(n, t)| said(d, n, &response(t))).collect();
            self.score(&self.dialogues.iter().map(|d| (d.id.clone(), turns(d))).collect())
        };
        BTreeMap::from([
            ("every placeholder in every turn", of(&|_| "NAME TRAINID PHONE ADDRESS POST REFERENCE".to_owned())),
            ("one polite sentence in every turn", of(&|_| "is there anything else i can help you with today?".to_owned())),
            ("the recorded replies", of(&|t| t.reference.clone())),
        ])
    }
}

/// Runs the evaluation.
pub fn run(args: &Args) -> Result<MultiwozScores, MultiwozError> {
    let mut benchmark = Benchmark::read(&args.data, &args.split)?;
    benchmark.dialogues.retain(|d| args.folds.contains(&fold(&d.id)));
    let said = match &args.system {
        Some(file) => benchmark.system(file)?,
        None => benchmark.run(&benchmark.client(&args.files, args.reasoner, Manner::Withholds)?, args.states)?,
    };
    let volunteering = match &args.system {
        Some(_) => None,
        None => Some(benchmark.score(&benchmark.run(&benchmark.client(&args.files, args.reasoner, Manner::Volunteers)?, args.states)?)),
    };
    if let Some(file) = &args.predictions {
        write(file, &said)?;
    }
    let scores = benchmark.score(&said);
    let silent: Saids = said.iter().map(|(id, turns)| (id.clone(), turns.iter().map(|t| Said { active: None, ..t.clone() }).collect())).collect();
    let estimated_domains = benchmark.score(&silent);
    let bounds = benchmark.bounds(&said);
    benchmark.dialogues.retain(|d| d.goals.len() == 1);
    let single_domain = benchmark.score(&said);
    Ok(MultiwozScores {
        split: args.split.clone(),
        states: args.states,
        history: "recorded replies",
        scores,
        volunteering,
        estimated_domains,
        single_domain,
        bounds,
    })
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

impl fmt::Display for MultiwozScores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let states = if self.states == States::Own { "own" } else { "recorded" };
        writeln!(f, "MultiWOZ {}: {} dialogues, {} turns, {states} states, history: {}", self.split, self.scores.dialogues, self.scores.turns, self.history)?;
        writeln!(f, "{:<36}{:>5}{:>9}{:>9}{:>8}{:>10}", "", "n", "inform", "success", "BLEU", "combined")?;
        let mut row =
            |name: &str, s: &Scores| writeln!(f, "{name:<36}{:>5}{:>9.1}{:>9.1}{:>8.2}{:>10.2}", s.dialogues, s.inform, s.success, s.bleu, s.combined);
        row("result", &self.scores)?;
        if let Some(volunteering) = &self.volunteering {
            row("  with contact data told unasked", volunteering)?;
        }
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
