//! Where the time of recent turns went, for who opens them up. Kept in memory only: a record is the same whenever it is made.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use crate::turn::TurnRecord;
use crate::turn::shares::{Part, summed};

/// How many turns' times are kept; the oldest go first.
const MOST: usize = 2_000;

/// A turn: its session, its number, and when it was taken, since a session may have had several lives.
type Of = (String, u64, i64);

/// The times of the last turns.
#[derive(Debug, Default)]
pub struct Times {
    kept: Mutex<VecDeque<(Of, Value)>>,
}

impl Times {
    /// Keeps what a turn took, in microseconds: each of its parts, all of it, and the waiting for models in it.
    pub fn keep(&self, record: &TurnRecord, parts: &[Part], total: Duration) -> Value {
        let micros = |d: Duration| u64::try_from(d.as_micros()).unwrap_or(u64::MAX);
        let model: Duration = record.models.iter().flat_map(|m| m.exchanges()).map(|e| e.waited).sum();
        let mut all: BTreeMap<&str, u64> = summed(parts).into_iter().map(|(name, spent)| (name, micros(spent))).collect();
        all.extend([("total", micros(total)), ("model", micros(model))]);
        let times = json!(all);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_back((of(record), times.clone()));
        while kept.len() > MOST {
            kept.pop_front();
        }
        times
    }

    /// What a turn took, if it is kept.
    pub fn get(&self, record: &TurnRecord) -> Option<Value> {
        let wanted = of(record);
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().rev().find(|(of, _)| *of == wanted).map(|(_, times)| times.clone())
    }
}

fn of(record: &TurnRecord) -> Of {
    (record.session.clone(), record.turn, record.at)
}
