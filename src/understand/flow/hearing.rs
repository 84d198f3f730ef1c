//! What flows listen for in the language of their speakers: patterns and lists of words, read from `kb/core/hearing.yaml`, which explains them.
#![allow(missing_docs, reason = "each field is explained where it is written")]

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;

use crate::text::english::List;

const FILE: &str = include_str!("../../../kb/core/hearing.yaml");

/// What the file says.
pub static HEARING: LazyLock<Hearing> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct Head {
        months: String,
    }
    let read = serde_saphyr::from_str(FILE).and_then(|head: Head| serde_saphyr::from_str(&FILE.replace("{months}", &head.months)));
    #[expect(clippy::expect_used, reason = "the file is part of the program, and tests read it")]
    read.expect("kb/core/hearing.yaml is well formed")
});

/// Patterns and words.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hearing {
    pub months: String,
    pub signals: BTreeMap<String, Cue>,
    pub cues: Cues,
    pub words: Lists,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cues {
    pub question_start: Cue,
    pub detail: Cue,
    pub detail_plain: Cue,
    pub detail_refused: Cue,
    pub retracts: Cue,
    pub undo: Cue,
    pub of_time: Cue,
    pub of_day: Cue,
    pub offers: Cue,
    pub time: Cue,
    pub time_range: Cue,
    pub vague_time: Cue,
    pub soonest: Cue,
    pub hours: Cue,
    pub until: Cue,
    pub date: Cue,
    pub date_range: Cue,
    pub near_date: Cue,
    pub either_or: Cue,
    pub leaving: Cue,
    pub nights: Cue,
    pub birthdate: Cue,
    pub tomorrow: Cue,
    pub today: Cue,
    pub some_day: Cue,
    pub named: Cue,
    pub named_any_case: Cue,
    pub named_lower: Cue,
    pub name_here: Cue,
    pub from: Cue,
    pub to: Cue,
    pub clock: Cue,
    pub my_place: Cue,
    pub asks: Cue,
    pub own_name: Cue,
    pub asks_day: Cue,
    pub asks_time: Cue,
    pub asks_date: Cue,
    pub told_place: Cue,
    pub told_now: Cue,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lists {
    pub greeting: List,
    pub greeting_company: List,
    pub no_names: List,
    pub place_stops: List,
    pub verbs_after_to: List,
    pub common: List,
    pub empty: List,
    pub negations: List,
}

/// A pattern.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Cue(Regex);

impl TryFrom<String> for Cue {
    type Error = regex::Error;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Regex::new(&text).map(Self)
    }
}

impl Deref for Cue {
    type Target = Regex;

    fn deref(&self) -> &Regex {
        &self.0
    }
}
