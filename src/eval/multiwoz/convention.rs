//! What the benchmark fixes about its domains, read from data.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::MultiwozError;

/// The domains and how they are scored.
#[derive(Clone, Debug, Deserialize)]
pub struct Convention {
    /// All domains.
    pub domains: Vec<String>,
    /// Domains in which nothing has to be offered.
    pub unmatched: Vec<String>,
    /// Domains whose bookings have no reference.
    pub unbooked: Vec<String>,
    /// The domains that have a table.
    pub tables: BTreeMap<String, Table>,
    /// Columns of tables that constrain nothing.
    pub no_constraint: Vec<String>,
    /// What is heard of the words beside states that are given.
    pub cues: Vec<String>,
    /// Slots that hold times of day.
    pub times: Vec<String>,
    /// What a goal asks for, by its name in the goals.
    pub requests: BTreeMap<String, String>,
    /// What stands for an annotated span of a recorded reply, by its slot.
    pub spans: BTreeMap<String, String>,
    /// For actions of the domain, what stands in the place of each value after the constants.
    pub placeholders: BTreeMap<String, Vec<Option<String>>>,
}

/// How a table is searched and scored.
#[derive(Clone, Debug, Deserialize)]
pub struct Table {
    /// The column that identifies an entry.
    pub id: String,
    /// The columns whose values need only be similar.
    pub similar: Vec<String>,
    /// The placeholder that offers an entry.
    pub says: String,
    /// A goal that does not ask for this placeholder is met by no offer at all.
    #[serde(default)]
    pub unsought: bool,
}

impl Convention {
    /// The built-in one.
    pub fn built_in() -> Result<Self, MultiwozError> {
        let text = include_str!("convention.json");
        serde_json::from_str(text).map_err(|e| MultiwozError::Syntax { file: "convention.json".to_owned(), why: e.to_string() })
    }
}
