//! Where a dialogue stands, as its record keeps it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Class, Dialogue, Ready};
use crate::understand::flow::Known;
use crate::understand::flow::background::Background;
use crate::understand::question::{Answer, Question};

/// Everything that a dialogue's next turn depends on, apart from its flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Slots by name.
    pub known: BTreeMap<String, String>,
    /// Slots asked for in vain.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub refused: BTreeSet<String>,
    /// Acts performed.
    pub said: BTreeSet<String>,
    /// The last act.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// The node that awaits a yes or no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<i32>,
    /// Slots that were just asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub awaited: Vec<String>,
    /// How often slots were asked for.
    pub asked: BTreeMap<String, u32>,
    /// The last result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// How it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// The step of the result that was told last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<usize>,
    /// What the agent was told beforehand: day, time, place.
    #[serde(default)]
    pub background: [Option<String>; 3],
    /// Utterances heard.
    pub turn: usize,
    /// Slots whose rule in free words holds.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub applies: BTreeSet<String>,
    /// Conditions in free words, with their answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<(Question, Answer)>,
}

impl Dialogue {
    /// Where it stands.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            known: self.known.values.clone(),
            refused: self.known.refused.clone(),
            said: self.said.clone(),
            last: self.last.clone(),
            waiting: self.waiting,
            awaited: self.awaited.clone(),
            asked: self.asked.clone(),
            result: self.result.clone(),
            class: self.class,
            step: self.step,
            background: [self.background.day.clone(), self.background.time.clone(), self.background.place.clone()],
            turn: self.turn,
            applies: self.applies.clone(),
            answers: self.answers.iter().map(|(q, a)| (q.clone(), a.clone())).collect(),
        }
    }

    /// The dialogue that stood there.
    pub fn resumed(ready: Arc<Ready>, s: Snapshot) -> Self {
        let [day, time, place] = s.background;
        Self {
            ready,
            known: Known { values: s.known, refused: s.refused },
            said: s.said,
            last: s.last,
            waiting: s.waiting,
            awaited: s.awaited,
            asked: s.asked,
            result: s.result,
            class: s.class,
            step: s.step,
            background: Background { day, time, place },
            turn: s.turn,
            applies: s.applies,
            answers: s.answers.into_iter().collect(),
        }
    }
}
