//! Conversation files of programs of agents: what is said, by whom, what is decided of it, and what has to come back.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::agents::connect;
use super::super::common::{Failure, Listen, Place, read};
use super::super::step::SPEAKER;
use super::super::step::agents::{inputs, seconds, shown};
use crate::domain::Domain;
use crate::facts::{MemoryStore, SessionKey, Store};
use crate::turn::{Clock, Engine, Options, Said};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    conversations: Vec<Conversation>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Conversation {
    name: String,
    turns: Vec<Turn>,
    #[serde(default)]
    args: Value,
    #[serde(default)]
    outcomes: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Turn {
    user: Option<String>,
    #[serde(rename = "as")]
    sender: Option<String>,
    silent_s: Option<u64>,
    decisions: Option<Vec<Value>>,
    bot: Option<Words>,
}

/// One message, or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum Words {
    One(String),
    Several(Vec<String>),
}

/// How a conversation came out.
#[derive(Serialize)]
struct Outcome {
    file: String,
    name: String,
    differences: Vec<String>,
}

/// Runs the files; the answer tells whether all hold.
pub fn run(place: &Place, listen: &Listen, files: &[PathBuf], json: bool) -> Result<bool, Failure> {
    let domain = place.load()?;
    // The workers of the functions serve all conversations.
    let functions = connect(fresh(place, &domain))?.functions().clone();
    let mut outcomes: Vec<Outcome> = vec![];
    for path in files {
        let file: File = serde_saphyr::from_str(&read(path)?).map_err(Failure::at(path))?;
        for conversation in &file.conversations {
            let engine = listen.equip(fresh(place, &domain).with_functions(functions.clone()))?;
            outcomes.push(one(&engine, path, conversation));
        }
    }
    let failed = outcomes.iter().filter(|o| !o.differences.is_empty()).count();
    if json {
        println!("{}", serde_json::to_string_pretty(&outcomes).unwrap_or_default());
    } else {
        for o in outcomes.iter().filter(|o| !o.differences.is_empty()) {
            println!("{}: {}", o.file, o.name);
            o.differences.iter().for_each(|d| println!("  {d}"));
        }
        println!("{} conversations: {} hold, {failed} differ", outcomes.len(), outcomes.len() - failed);
    }
    Ok(failed == 0)
}

/// An engine on a store of its own.
fn fresh(place: &Place, domain: &Domain) -> Engine {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(place.rule()));
    Engine::new(domain.clone(), store).with_options(Options { clock: Clock::Fixed(0), ..place.options() })
}

fn one(engine: &Engine, path: &Path, conversation: &Conversation) -> Outcome {
    let (mut differences, mut last) = (vec![], Value::Null);
    for (n, turn) in conversation.turns.iter().enumerate() {
        let key = SessionKey::new("test", turn.sender.as_deref().unwrap_or("user"));
        let text = turn.user.as_deref();
        let given;
        let said = match (text, turn.silent_s, &turn.decisions) {
            (Some(text), _, None) => Said::Text(text),
            (None, Some(silent), None) => Said::Silence(seconds(silent)),
            _ => {
                given = inputs(text, turn.silent_s, turn.decisions.as_deref().unwrap_or_default());
                Said::Atoms(text, &given)
            }
        };
        match engine.turn(&key, SPEAKER, &said, None) {
            Ok(record) => last = shown(&record, false),
            Err(e) => {
                differences.push(format!("turn {n}: {e}"));
                break;
            }
        }
        let want = turn.bot.as_ref().map(|b| match b {
            Words::One(text) => vec![text.as_str()],
            Words::Several(texts) => texts.iter().map(String::as_str).collect(),
        });
        let got: Vec<&str> = last.get("bot").and_then(Value::as_array).map(|l| l.iter().filter_map(Value::as_str).collect()).unwrap_or_default();
        if let Some(want) = want.filter(|w| *w != got) {
            differences.push(format!("turn {n} ({}): wanted {want:?}, got {got:?}", text.unwrap_or("silence")));
        }
    }
    for (part, want) in [("args", &conversation.args), ("outcomes", &conversation.outcomes)] {
        for (agent, values) in want.as_object().into_iter().flatten() {
            for (name, value) in values.as_object().into_iter().flatten() {
                let got = last.pointer(&format!("/{part}/{agent}/{name}")).unwrap_or(&Value::Null);
                if got != value {
                    differences.push(format!("at the end, {part} {agent}.{name}: wanted {value}, got {got}"));
                }
            }
        }
    }
    Outcome { file: path.display().to_string(), name: conversation.name.clone(), differences }
}
