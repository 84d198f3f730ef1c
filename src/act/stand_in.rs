//! The built-in stand-in for functions that nothing is connected to: it answers from data, and alike whenever the same call is made.

use serde_json::{Map, Value, json};

use super::Call;
use crate::ontology::StandIn;

/// The answer of the first case that fits the call; without one the call succeeds with nothing to tell.
pub(super) fn answer(cases: &[StandIn], call: &Call, id: &str) -> Value {
    let fits = |case: &&StandIn| case.when.iter().all(|(name, value)| call.inputs.get(name) == Some(value));
    match cases.iter().find(fits) {
        Some(StandIn { fault: Some(code), .. }) => json!({ "fault": code }),
        Some(case) => filled(&case.answer, id),
        None => Value::Object(Map::new()),
    }
}

/// The answer with a number in place of every `{"from", "to"}`.
fn filled(value: &Value, id: &str) -> Value {
    match value {
        Value::Object(fields) => match (fields.len(), fields.get("from").and_then(Value::as_u64), fields.get("to").and_then(Value::as_u64)) {
            (2, Some(from), Some(to)) => Value::from(from + hash(id) % (to.saturating_sub(from) + 1)),
            _ => Value::Object(fields.iter().map(|(name, v)| (name.clone(), filled(v, id))).collect()),
        },
        Value::Null => Value::Object(Map::new()),
        other => other.clone(),
    }
}

/// FNV-1a with 64 bits: the same on every machine and in every version of this program.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3))
}
