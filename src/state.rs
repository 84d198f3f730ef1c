//! What a conversation holds, as the command line, the translators and the tests see it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Which conversation something belongs to: for accounts and logs, never for prompts.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Conversation {
    /// The site.
    pub site: String,
    /// The session's id.
    pub session: String,
}

/// The state of one conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// `open`, `placed` or `cancelled`, or what the domain's rules derive.
    pub status: String,
    /// The lines of the conversation's order (or list), by position.
    pub order: Vec<Line>,
    /// Total in cents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<i64>,
    /// What else the domain's rules show of the conversation, by name: `view(Name, Value)`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub shows: BTreeMap<String, Vec<String>>,
}

/// One line: one instance of an item.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Running number, from 1.
    pub i: i64,
    /// The item.
    pub item: String,
    /// Modifications in the form `Op(Opt)`, sorted.
    #[serde(default)]
    pub mods: Vec<String>,
    /// Members of a composed item; empty for plain ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
}

/// A member of a composed item.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The slot it fills.
    pub slot: String,
    /// What fills it, `None` while open.
    pub dish: Option<String>,
    /// Its modifications in the form `Op(Opt)`, sorted.
    #[serde(default)]
    pub mods: Vec<String>,
}
