//! What a turn asked of models at either end, for its record, and the sum over turns.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::TurnRecord;
use crate::render::{By, Worded};
use crate::understand::{Account, Exchange, Sources, Usage};

/// Both ends of one turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Models {
    /// The translators' results, where a model may be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub understanding: Option<Sources>,
    /// Whose words the reply is in, where a model was asked. The log was written before that, so it holds the understanding only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wording: Option<Worded>,
    /// What this turn used.
    pub turn: Usage,
    /// What its conversation and site have used, this turn included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<Account>,
}

impl Models {
    /// The exchanges of the turn, understanding first.
    pub fn exchanges(&self) -> impl Iterator<Item = &Exchange> {
        let understanding = self.understanding.as_ref().and_then(|s| s.exchange.as_ref());
        understanding.into_iter().chain(self.wording.as_ref().and_then(|w| w.exchange.as_ref()))
    }

    /// The record of both ends; `None` where no model is configured at either.
    pub(super) fn of(understanding: Option<Sources>, wording: Option<Worded>, account: Option<Account>) -> Option<Box<Self>> {
        if understanding.is_none() && wording.is_none() {
            return None;
        }
        let mut models = Self { understanding, wording, account, ..Self::default() };
        let mut turn = Usage::default();
        models.exchanges().for_each(|e| turn += e.usage);
        models.turn = turn;
        Some(Box::new(models))
    }
}

/// How often models were needed, and what they cost, over the turns that were counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Turns in which words were translated and a model might have been asked.
    pub turns: u64,
    /// Of these, those that were put to the model.
    pub asked: u64,
    /// Of these, those for which the model gave nothing usable.
    pub failed: u64,
    /// Replies that the bank of wordings held whole, each a call saved.
    pub banked: u64,
    /// Replies that a model was asked to word.
    pub worded: u64,
    /// Of these, those that needed the template, wholly or for the rest.
    pub fallback: u64,
    /// Tokens and cost.
    pub usage: Usage,
}

impl Tally {
    /// Counts a turn.
    pub fn add(&mut self, record: &TurnRecord) {
        let Some(models) = &record.models else { return };
        if let Some(sources) = &models.understanding {
            self.turns += 1;
            if sources.exchange.is_some() {
                self.asked += 1;
                self.failed += u64::from(sources.model.is_none());
            }
        }
        if let Some(worded) = &models.wording {
            self.banked += u64::from(worded.by == By::Bank);
            self.worded += u64::from(worded.exchange.is_some());
            self.fallback += u64::from(worded.exchange.is_some() && matches!(worded.by, By::Template | By::Mixed));
        }
        self.usage += models.turn;
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |part: u64, whole: u64| (100 * part + whole / 2).checked_div(whole).unwrap_or(0);
        let mut parts = vec![];
        if self.turns > 0 {
            let failed = if self.failed > 0 { format!(", {} without a usable reply", self.failed) } else { String::new() };
            parts.push(format!("understanding needed the model in {} of {} turns ({} %){failed}", self.asked, self.turns, percent(self.asked, self.turns)));
        }
        if self.banked > 0 {
            parts.push(format!("the bank worded {} {} without a call", self.banked, if self.banked == 1 { "reply" } else { "replies" }));
        }
        if self.worded > 0 {
            parts.push(format!("the model worded {} of {} replies", self.worded - self.fallback, self.worded));
        }
        parts.push(self.usage.to_string());
        f.write_str(&parts.join("; "))
    }
}
