//! Graphs of things to ask, to do and to say.

pub mod draw;

use std::collections::BTreeMap;

use super::guard::Guard;
use crate::diag::Origin;

/// A dialogue flow: a graph of things to ask, to do and to say.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its name.
    pub name: String,
    /// The nodes, in the author's order; the first is where a dialogue starts.
    pub nodes: Vec<Node>,
    /// The edges, in the author's order.
    pub edges: Vec<Edge>,
    /// The acts that belong to no node.
    pub anywhere: Anywhere,
    /// Acts that answer a question about what was found.
    pub answers: Vec<Answer>,
    /// Reply templates by act.
    pub replies: BTreeMap<String, String>,
    /// Which output fills a field of a template.
    pub fields: BTreeMap<String, String>,
    /// Other wordings of the agent by act.
    pub wordings: BTreeMap<String, Vec<String>>,
}

/// The acts that are not tied to a step of the dialogue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Anywhere {
    /// Answer to a greeting.
    pub greeting: Option<String>,
    /// Farewell.
    pub goodbye: Option<String>,
    /// Offer of further help.
    pub more: Option<String>,
    /// What is said when nothing fits.
    pub lost: Option<String>,
    /// A search found nothing.
    pub nothing: Option<String>,
}

/// An act that tells one attribute, and the words that ask for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The act.
    pub act: String,
    /// Words of the question.
    pub about: Vec<String>,
}

/// One step of the dialogue.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its number.
    pub id: i32,
    /// What kind of step.
    pub kind: NodeKind,
    /// The acts that perform it.
    pub acts: Vec<Act>,
    /// What the author says it does.
    pub message: Option<String>,
    /// The reply template, where it is not the act's own.
    pub reply: Option<String>,
    /// Which output of the last call it looks at, by what for.
    pub looks_at: BTreeMap<String, String>,
    /// Words by which an answer has an outcome, by outcome.
    pub outcome_words: BTreeMap<String, Vec<String>>,
    /// Where it was written.
    pub origin: Origin,
}

/// An act that performs a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Act {
    /// In which case; always when absent.
    pub when: Option<String>,
    /// Its name.
    pub name: String,
}

/// The kinds of nodes.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeKind {
    /// Asks for slots.
    Request {
        /// The slots, in asking order.
        slots: Vec<Slot>,
        /// They may stay unknown.
        optional: bool,
    },
    /// Calls a function.
    Call {
        /// Its name.
        function: String,
        /// Inputs that this node gives it, such as that it is a check before a booking.
        with: BTreeMap<String, String>,
    },
    /// Tells something.
    Inform,
    /// Tells something and waits for a yes or no.
    Confirm,
}

/// What a slot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SlotKind {
    /// One of listed values.
    Categorical,
    /// A weekday.
    Day,
    /// A time of day.
    Time,
    /// A day of the month.
    Date,
    /// A full date of birth.
    Birthdate,
    /// Yes or no.
    Boolean,
    /// A number.
    Integer,
    /// A number that is a name: an account, a PIN.
    Digits,
    /// A person's name.
    Name,
    /// A place.
    Place,
    /// A short text.
    String,
    /// A longer text in the speaker's own words.
    Text,
}

impl SlotKind {
    /// The author's word for it.
    pub const NAMES: [(&'static str, Self); 12] = [
        ("categorical", Self::Categorical),
        ("day", Self::Day),
        ("time", Self::Time),
        ("date", Self::Date),
        ("birthdate", Self::Birthdate),
        ("boolean", Self::Boolean),
        ("integer", Self::Integer),
        ("digits", Self::Digits),
        ("name", Self::Name),
        ("place", Self::Place),
        ("string", Self::String),
        ("text", Self::Text),
    ];

    /// Whether it says when something happens.
    pub fn is_when(self) -> bool {
        matches!(self, Self::Day | Self::Time | Self::Date)
    }
}

/// Which end of a range or a way a slot is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The beginning.
    From,
    /// The end.
    To,
}

/// Something the dialogue has to find out.
#[derive(Clone, Debug, PartialEq)]
pub struct Slot {
    /// Its name, as the functions call it.
    pub name: String,
    /// Its name, as people read it.
    pub label: String,
    /// What it means.
    pub description: Option<String>,
    /// What it holds.
    pub kind: SlotKind,
    /// The values it may have, when they are listed.
    pub values: Vec<String>,
    /// Other words for the values.
    pub synonyms: BTreeMap<String, Vec<String>>,
    /// Words of the values that are too common to stand for one.
    pub common: Vec<String>,
    /// Other values than the listed ones are taken when asked for.
    pub open: bool,
    /// The bounds of a number.
    pub range: (Option<i64>, Option<i64>),
    /// Words that show that the slot is spoken of.
    pub cues: Vec<String>,
    /// Which end of a range it is.
    pub role: Option<Role>,
    /// It is the speaker's own name.
    pub identity: bool,
    /// The act that asks for it.
    pub ask: Option<String>,
    /// Other acts that ask for it too.
    pub also_asked_by: Vec<String>,
    /// The dialogue cannot go on without it.
    pub required: bool,
    /// Slots of which one is enough, this one included.
    pub either: Vec<String>,
    /// It is asked for only where this holds.
    pub only_if: Option<Guard>,
    /// Where it was written.
    pub origin: Origin,
}

/// A way from node to node.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// From.
    pub source: i32,
    /// To.
    pub target: i32,
    /// When.
    pub when: When,
    /// The author's words for it.
    pub text: Option<String>,
    /// Where it was written.
    pub origin: Origin,
}

/// When an edge is taken.
#[derive(Clone, Debug, PartialEq)]
pub enum When {
    /// Always.
    Always,
    /// The call succeeded, the speaker agreed.
    Good,
    /// The call failed, the speaker refused.
    Bad,
    /// The speaker gave what was asked.
    Given,
    /// The speaker cannot give it.
    Withheld,
    /// The speaker agreed and the last step was told.
    LastStep,
    /// This holds.
    If(Guard),
}

impl Flow {
    /// All slots with their node and their place in it, in asking order; a slot that several nodes ask counts once.
    pub fn slots(&self) -> Vec<(&Node, &Slot)> {
        let mut seen = Vec::new();
        let mut out = Vec::new();
        for n in &self.nodes {
            for s in n.slots() {
                if !seen.contains(&s.name.as_str()) {
                    seen.push(&s.name);
                    out.push((n, s));
                }
            }
        }
        out
    }

    /// A slot by name.
    pub fn slot(&self, name: &str) -> Option<&Slot> {
        self.nodes.iter().flat_map(Node::slots).find(|s| s.name == name)
    }

    /// A node by number.
    pub fn node(&self, id: i32) -> Option<&Node> {
        self.nodes.iter().find(|n| n.id == id)
    }

    /// The slots that an act asks for.
    pub fn asked_by(&self, act: &str) -> Vec<&str> {
        self.slots().iter().filter(|(_, s)| s.ask.as_deref() == Some(act) || s.also_asked_by.iter().any(|a| a == act)).map(|(_, s)| s.name.as_str()).collect()
    }

    /// The node that an act performs.
    pub fn performed(&self, act: &str) -> Option<&Node> {
        self.nodes.iter().find(|n| n.acts.iter().any(|a| a.name == act))
    }
}

impl Node {
    /// The slots it asks for; none for other nodes.
    pub fn slots(&self) -> &[Slot] {
        match &self.kind {
            NodeKind::Request { slots, .. } => slots,
            _ => &[],
        }
    }

    /// The function that it calls.
    pub fn calls(&self) -> Option<&str> {
        match &self.kind {
            NodeKind::Call { function, .. } => Some(function),
            _ => None,
        }
    }
}
