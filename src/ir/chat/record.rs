//! What the store's log holds of a conversation with a flow.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::act::{ActError, Returned};
use crate::facts::{Change, Fact};
use crate::ir::facts::atom;
use crate::ir::run::Snapshot;
use crate::ontology::Scope;
use crate::term::{Atom, Term};
use crate::understand::flow::Heard;
use crate::understand::flow::cues::Signals;

/// One entry of the log: what was heard, what came back, what is to be called or was said, and where the dialogue stands then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The flow's name.
    pub flow: String,
    /// The words that this turn answers.
    pub said: String,
    /// What they brought.
    pub heard: Brought,
    /// The result of a call, when the entry records one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub came: Option<Came>,
    /// The call that is made after this entry; its result stands in the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<Intent>,
    /// The act performed, when the turn ends here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub act: Option<String>,
    /// Its words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Where the dialogue stands.
    pub standing: Snapshot,
}

/// A call that is to be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    /// The node that makes it.
    pub node: i32,
    /// Its place among the calls of the turn.
    pub place: usize,
    /// The function.
    pub function: String,
    /// The inputs.
    pub inputs: BTreeMap<String, Value>,
}

/// What a call gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Came {
    /// The function.
    pub function: String,
    /// The call's own name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// The value.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub value: Value,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How often it was tried.
    #[serde(default)]
    pub attempts: u32,
    /// How long it took.
    #[serde(default)]
    pub millis: u64,
}

impl Came {
    pub(super) fn of(intent: &Intent, result: &Result<Returned, ActError>) -> Self {
        let function = intent.function.clone();
        match result {
            Ok(r) => Self { function, id: r.id.clone(), value: r.value.clone(), error: None, attempts: r.attempts, millis: r.millis },
            Err(e) => Self { function, id: String::new(), value: Value::Null, error: Some(e.to_string()), attempts: 0, millis: 0 },
        }
    }
}

/// What an utterance brought, without its signals: they are read from the words again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Brought {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    gave: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    changed: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    again: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retracts: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wonders: Option<String>,
}

impl From<&Heard> for Brought {
    fn from(h: &Heard) -> Self {
        Self {
            gave: h.gave.iter().cloned().collect(),
            changed: h.changed.iter().cloned().collect(),
            again: h.again.iter().cloned().collect(),
            retracts: h.retracts.clone(),
            wonders: h.wonders.clone(),
        }
    }
}

impl Brought {
    pub(super) fn heard(self, said: &str) -> Heard {
        Heard {
            gave: self.gave.into_iter().collect(),
            changed: self.changed.into_iter().collect(),
            again: self.again.into_iter().collect(),
            retracts: self.retracts,
            wonders: self.wonders,
            signals: Signals::of(said),
        }
    }
}

/// Whether a fact came from a call of the function.
pub(super) fn is_result_of(fact: &Atom, function: &str) -> bool {
    matches!(&*fact.name, "result" | "returned") && fact.args.first() == Some(&Term::string(function))
}

/// The changes that bring the session's facts to where the dialogue stands: slots, acts said, and results with the call they came from.
pub(super) fn changes(before: &[Fact], step: &Step, results: &[Atom]) -> Vec<Change> {
    let text = |t: &str| Term::string(t);
    let mut after: Vec<Atom> = results.iter().filter(|a| matches!(&*a.name, "result" | "returned")).cloned().collect();
    after.extend(step.standing.known.iter().map(|(s, v)| atom("slot", vec![text(s), text(v)])));
    after.extend(step.standing.refused.iter().map(|s| atom("refused", vec![text(s)])));
    after.extend(step.standing.said.iter().map(|a| atom("said", vec![text(a)])));
    if let Some(c) = &step.calls {
        after.push(atom("calling", vec![text(&c.function), Term::Int(i32::try_from(c.place).unwrap_or(i32::MAX))]));
    }
    let gone = before.iter().map(|f| &f.atom).filter(|a| !after.contains(a)).map(|a| Change::del(Scope::Session, a.clone()));
    let come = after.iter().filter(|a| !before.iter().any(|f| f.atom == **a)).map(|a| Change::add(Scope::Session, a.clone()));
    gone.chain(come).collect()
}
