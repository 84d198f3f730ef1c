//! The dialogues with their goals, recorded states and references, read from the data set's own files.
//!
//! The evaluator's companion files are used where they are present; what is missing is rebuilt from the
//! dialogues in the same way, so a directory with dialogues and tables is enough.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::MultiwozError;
use super::convention::Convention;
use super::detokenise::{detokenise, tokenise};
use super::values::{Spellings, is_any, slot_name};
use super::venues::Slots;

/// Per domain the slots with their values, in the order of the file: the estimate of the active domain depends on it.
pub type State = Vec<(String, Slots)>;

/// What a user was told to find in one domain.
#[derive(Clone, Debug, Default)]
pub struct Goal {
    /// The constraints.
    pub informable: Slots,
    /// The placeholders that must be told.
    pub requestable: BTreeSet<String>,
}

/// One exchange: what the user said and what the recorded system knew and replied.
#[derive(Clone, Debug)]
pub struct Turn {
    /// The user's words.
    pub user: String,
    /// The recorded reply; part of the history of later turns, never of this one.
    pub reply: String,
    /// What was recorded as known after the user's words, with "any" values.
    pub known: State,
    /// The same as the benchmark scores it.
    pub state: State,
    /// The domains booked up to this reply.
    pub booked: Vec<String>,
    /// The reply with placeholders, in the form responses are compared in.
    pub reference: String,
}

/// One dialogue.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Its id, lower case.
    pub id: String,
    /// The goals by domain.
    pub goals: BTreeMap<String, Goal>,
    /// The exchanges.
    pub turns: Vec<Turn>,
}

#[derive(Deserialize)]
struct RawDialogue {
    dialogue_id: String,
    goal: Map<String, Value>,
    log: Vec<RawTurn>,
}

#[derive(Deserialize)]
struct RawTurn {
    text: String,
    #[serde(default)]
    metadata: Map<String, Value>,
    #[serde(default)]
    span_info: Vec<(String, String, Value, usize, usize)>,
}

#[derive(Deserialize)]
struct RawGoal {
    informable: Slots,
    requestable: Vec<String>,
}

/// Reads a JSON file.
pub fn json<T: DeserializeOwned>(file: &Path) -> Result<T, MultiwozError> {
    let name = || file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let text = std::fs::read_to_string(file).map_err(|e| MultiwozError::Read { file: name(), why: e.to_string() })?;
    serde_json::from_str(&text).map_err(|e| MultiwozError::Syntax { file: name(), why: e.to_string() })
}

/// Reads the dialogues of one split: `test` or `val`.
pub fn dialogues(data: &Path, split: &str, spellings: &Spellings, convention: &Convention) -> Result<Vec<Recording>, MultiwozError> {
    let name = format!("{split}_mwoz21.jsonl");
    let text = std::fs::read_to_string(data.join(&name)).map_err(|e| MultiwozError::Read { file: name.clone(), why: e.to_string() })?;
    let mut out = BTreeMap::new();
    for (n, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
        let raw: RawDialogue = serde_json::from_str(line).map_err(|e| MultiwozError::Syntax { file: format!("{name}:{}", n + 1), why: e.to_string() })?;
        let d = dialogue(raw, spellings, convention);
        out.insert(d.id.clone(), d);
    }
    let mut out: Vec<Recording> = out.into_values().collect();
    let optional = |name: &str| data.join(name);
    if optional("goals.json").exists() {
        let goals: BTreeMap<String, BTreeMap<String, RawGoal>> = json(&optional("goals.json"))?;
        for d in &mut out {
            if let Some(g) = goals.get(&d.id) {
                d.goals = g
                    .iter()
                    .map(|(k, g)| (k.clone(), Goal { informable: g.informable.clone(), requestable: g.requestable.iter().cloned().collect() }))
                    .collect();
            }
        }
    }
    if optional("references_delex.json").exists() {
        let references: BTreeMap<String, Vec<String>> = json(&optional("references_delex.json"))?;
        each(&mut out, &references, |t, r| t.reference.clone_from(r));
    }
    if optional("booked_domains.json").exists() {
        let booked: BTreeMap<String, Vec<Vec<String>>> = json(&optional("booked_domains.json"))?;
        each(&mut out, &booked, |t, b| t.booked.clone_from(b));
    }
    if optional("gold_states.json").exists() {
        let states: BTreeMap<String, Vec<Map<String, Value>>> = json(&optional("gold_states.json"))?;
        each(&mut out, &states, |t, s| t.state = state_of(s));
    }
    Ok(out)
}

fn each<T>(dialogues: &mut [Recording], given: &BTreeMap<String, Vec<T>>, mut set: impl FnMut(&mut Turn, &T)) {
    for d in dialogues {
        for (turn, x) in d.turns.iter_mut().zip(given.get(&d.id).into_iter().flatten()) {
            set(turn, x);
        }
    }
}

/// A state from JSON: `{domain: {slot: value}}`.
pub fn state_of(json: &Map<String, Value>) -> State {
    json.iter().map(|(d, s)| (d.clone(), s.as_object().into_iter().flatten().map(|(k, v)| (k.clone(), text(v))).collect())).collect()
}

fn text(v: &Value) -> String {
    v.as_str().map_or_else(|| v.to_string(), str::to_owned)
}

fn dialogue(raw: RawDialogue, spellings: &Spellings, convention: &Convention) -> Recording {
    let id = raw.dialogue_id.to_lowercase();
    let id = id.split('.').next().unwrap_or_default().to_owned();
    let goals =
        convention.domains.iter().filter_map(|d| Some((d.clone(), goal(raw.goal.get(d)?.as_object().filter(|g| !g.is_empty())?, convention)))).collect();
    let turns =
        raw.log.chunks_exact(2).filter_map(|pair| if let [user, system] = pair { Some(turn(user, system, spellings, convention)) } else { None }).collect();
    Recording { id, goals, turns }
}

fn goal(raw: &Map<String, Value>, convention: &Convention) -> Goal {
    let informable = raw.get("info").and_then(Value::as_object).into_iter().flatten().map(|(k, v)| (slot_name(k), text(v))).collect();
    let mut requestable: BTreeSet<String> =
        raw.get("reqt").and_then(Value::as_array).into_iter().flatten().filter_map(|r| convention.requests.get(&r.as_str()?.to_lowercase()).cloned()).collect();
    if raw.contains_key("book") {
        requestable.insert("REFERENCE".to_owned());
    }
    Goal { informable, requestable }
}

fn turn(user: &RawTurn, system: &RawTurn, spellings: &Spellings, convention: &Convention) -> Turn {
    let known = recorded(&system.metadata, convention);
    let scored = |s: &Slots| -> Slots { s.iter().filter(|(_, v)| !is_any(v)).map(|(k, v)| (k.clone(), spellings.value(k, v))).collect() };
    let state = known.iter().map(|(d, s)| (d.clone(), scored(s))).filter(|(_, s)| !s.is_empty()).collect();
    // What has no reference is not booked in the benchmark's sense.
    let is_booked = |d: &String| {
        !convention.unbooked.contains(d) && system.metadata.get(d).and_then(|m| m.get("book")?.get("booked")?.as_array()).is_some_and(|b| !b.is_empty())
    };
    let booked = convention.domains.iter().filter(|d| is_booked(d)).cloned().collect();
    Turn { user: user.text.clone(), reply: system.text.clone(), known, state, booked, reference: reference(system, convention) }
}

fn recorded(metadata: &Map<String, Value>, convention: &Convention) -> State {
    let part = |m: &Value, part: &str, prefix: &str| -> Slots {
        let slots = m.get(part).and_then(Value::as_object).into_iter().flatten();
        let said = slots.filter(|(k, _)| *k != "booked").filter_map(|(k, v)| Some((k, v.as_str()?)));
        said.filter(|(_, v)| !matches!(*v, "" | "none" | "not mentioned")).map(|(k, v)| (format!("{prefix}{}", slot_name(k)), v.to_owned())).collect()
    };
    let one = |d: &str| {
        let m = metadata.get(d)?;
        let mut slots = part(m, "semi", "");
        slots.extend(part(m, "book", "book"));
        (!slots.is_empty()).then(|| (d.to_owned(), slots))
    };
    metadata.keys().filter(|d| convention.domains.contains(d)).filter_map(|d| one(d)).collect()
}

/// The recorded reply with placeholders for the annotated spans.
fn reference(system: &RawTurn, convention: &Convention) -> String {
    let tokens: Vec<&str> = system.text.split_whitespace().collect();
    let mut spans: Vec<(usize, usize, &str)> =
        system.span_info.iter().filter(|s| s.2.as_str() != Some("dontcare")).filter_map(|s| Some((s.3, s.4, convention.spans.get(&s.1)?.as_str()))).collect();
    spans.sort_by_key(|s| s.0);
    let mut out: Vec<String> = Vec::new();
    let mut next = 0;
    let lower = |t: &&str| t.to_lowercase().replace("-s", "").replace("-ly", "");
    for (first, last, placeholder) in spans {
        if first >= next {
            out.extend(tokens.get(next..first).unwrap_or_default().iter().map(lower));
            out.push(placeholder.to_owned());
            next = last + 1;
        }
    }
    out.extend(tokens.get(next..).unwrap_or_default().iter().map(lower));
    detokenise(&tokenise(&out.join(" ")))
}
