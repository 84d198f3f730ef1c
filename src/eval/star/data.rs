//! STAR dialogues: what the evaluation reads of them, and nothing that gives the answer away.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::StarError;

#[derive(Deserialize)]
struct Raw {
    #[serde(rename = "DialogueID")]
    id: Value,
    #[serde(rename = "Scenario")]
    scenario: Scenario,
    #[serde(rename = "Events")]
    events: Vec<RawEvent>,
}

#[derive(Deserialize)]
struct Scenario {
    #[serde(rename = "Happy", default)]
    happy: bool,
    #[serde(rename = "WizardTask", default)]
    told: String,
    #[serde(rename = "MultiTask", default)]
    multi: bool,
    #[serde(rename = "WizardCapabilities", default)]
    capabilities: Vec<Capability>,
}

#[derive(Deserialize)]
struct Capability {
    #[serde(rename = "Task")]
    task: String,
}

// The options offered to the wizard, his drafts and the instructions of the user's guide are not read at all: they hold the answer.
#[derive(Deserialize)]
struct RawEvent {
    #[serde(rename = "Agent")]
    agent: String,
    #[serde(rename = "Action")]
    action: String,
    #[serde(rename = "Text", default)]
    text: Option<String>,
    #[serde(rename = "ActionLabel", default)]
    label: Option<String>,
    #[serde(rename = "Constraints", default)]
    constraints: Vec<BTreeMap<String, Value>>,
    #[serde(rename = "Item", default)]
    item: Option<Value>,
}

/// A dialogue of one task.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Its number.
    pub id: i64,
    /// Its task.
    pub task: String,
    /// Marked as happy in the data set.
    pub happy: bool,
    /// What the agent was told beforehand.
    pub told: String,
    /// The speaker followed instructions.
    pub guided: bool,
    /// Its events with their place in the file.
    pub events: Vec<(usize, Event)>,
}

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The speaker says something.
    User(String),
    /// The agent performs an act of the flow, in these words.
    Act(String, String),
    /// The agent says something in free words.
    Words(String),
    /// The agent calls the function: `check`, `book` or nothing in particular.
    Query(String),
    /// The function gives something back, or nothing.
    Result(Option<Value>),
}

fn variant(constraints: &[BTreeMap<String, Value>]) -> String {
    let types = || constraints.iter().filter_map(|c| c.get("RequestType")).map(ToString::to_string);
    let kind = if types().any(|t| t.contains("Check")) {
        "check"
    } else if types().any(|t| t.contains("Book")) {
        "book"
    } else {
        ""
    };
    kind.to_owned()
}

/// Reads dialogue files, one JSON object a line; only dialogues of a single task are kept.
pub fn read(paths: &[std::path::PathBuf]) -> Result<Vec<Recording>, StarError> {
    let mut out = Vec::new();
    for p in paths {
        let text = std::fs::read_to_string(p).map_err(|e| StarError::Read(p.display().to_string(), e.to_string()))?;
        for (n, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
            let raw: Raw = serde_json::from_str(line).map_err(|e| StarError::Line(p.display().to_string(), n + 1, e.to_string()))?;
            out.extend(dialogue(raw));
        }
    }
    Ok(out)
}

fn dialogue(raw: Raw) -> Option<Recording> {
    let id = raw.id.as_i64().or_else(|| raw.id.as_str()?.parse().ok())?;
    let task = raw.scenario.capabilities.into_iter().next()?.task;
    if raw.scenario.multi {
        return None;
    }
    let guided = raw.events.iter().any(|e| e.agent == "UserGuide");
    let events = raw.events.into_iter().enumerate().filter_map(|(n, e)| {
        let event = match (e.agent.as_str(), e.action.as_str()) {
            ("User", "utter") => Event::User(e.text?),
            ("Wizard", "pick_suggestion") => Event::Act(e.label?, e.text.unwrap_or_default()),
            ("Wizard", "utter") => Event::Words(e.text?),
            ("Wizard", "query") => Event::Query(variant(&e.constraints)),
            ("KnowledgeBase", "return_item") => Event::Result(e.item.map(item)),
            _ => return None,
        };
        Some((n, event))
    });
    Some(Recording { id, task, happy: raw.scenario.happy, told: raw.scenario.told, guided, events: events.collect() })
}

/// What a function gave back. Directions come under the name of their means of travel; the flow knows them as instructions.
fn item(item: Value) -> Value {
    let Value::Object(fields) = item else { return item };
    let named = |key: String| match key.strip_suffix("Instructions") {
        Some(means) if means.starts_with("Detailed") => "DetailedInstructions".to_owned(),
        Some(_) => "Instructions".to_owned(),
        None => key,
    };
    Value::Object(fields.into_iter().map(|(k, v)| (named(k), v)).collect())
}

/// Given states by dialogue and event of the speaker's utterance.
pub type States = BTreeMap<(i64, usize), BTreeMap<String, String>>;

#[derive(Deserialize)]
struct RawStates {
    dialogue: i64,
    states: Vec<RawState>,
}

#[derive(Deserialize)]
struct RawState {
    event: usize,
    state: BTreeMap<String, Value>,
}

/// Reads a file of given states.
pub fn states(path: &Path) -> Result<States, StarError> {
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|e| StarError::Read(shown.clone(), e.to_string()))?;
    let mut out = States::new();
    for (n, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
        let raw: RawStates = serde_json::from_str(line).map_err(|e| StarError::Line(shown.clone(), n + 1, e.to_string()))?;
        for s in raw.states {
            let values = s.state.into_iter().map(|(k, v)| (k, v.as_str().map_or_else(|| v.to_string(), str::to_owned).to_lowercase()));
            out.insert((raw.dialogue, s.event), values.collect());
        }
    }
    Ok(out)
}
