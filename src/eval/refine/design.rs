//! How designers word descriptions and remarks, read from `kb/core/design.yaml`, which explains them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// What the file says.
pub static DESIGN: LazyLock<Design> = LazyLock::new(|| {
    let read = serde_saphyr::from_str(include_str!("../../../kb/core/design.yaml"));
    #[expect(clippy::expect_used, reason = "the file is part of the program, and tests read it")]
    read.expect("kb/core/design.yaml is well formed")
});

/// See the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Design {
    pub empty: Vec<String>,
    pub joints: Vec<String>,
    pub before_things: Vec<String>,
    pub questions: BTreeMap<String, String>,
    pub wanting: Vec<String>,
    pub conditions: Vec<String>,
    pub asked: Vec<String>,
    pub asked_until: Vec<String>,
    pub values: Vec<Suggests>,
    pub description: Description,
    pub remark: Remark,
}

/// The kind of value that words suggest.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suggests {
    pub kind: String,
    pub words: Vec<String>,
}

/// Where a sentence holds a further step.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cut {
    pub at: String,
    pub keep: String,
}

/// A description, step after step.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    pub cuts: Vec<Cut>,
    pub openings: Vec<String>,
    pub otherwise: Vec<String>,
    pub failing: Vec<String>,
    pub agreeing: Vec<String>,
    pub before_verb: Vec<String>,
    pub greeting: Vec<String>,
    pub leaving: Vec<String>,
    pub confirming: Vec<String>,
    pub asking: Vec<String>,
    pub knowing: String,
    pub tellers: Vec<String>,
    pub giving: Vec<String>,
    pub finding: String,
    pub whether: Vec<String>,
    pub optional: Vec<String>,
    pub telling: Vec<String>,
    pub doing: Vec<String>,
    pub unnamed: Vec<String>,
    pub replies: BTreeMap<String, String>,
}

impl Description {
    /// What a flow says that nobody worded.
    pub fn reply(&self, act: &str) -> &str {
        self.replies.get(act).map_or("", String::as_str)
    }
}

/// A remark about a flow.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remark {
    pub reply: Vec<String>,
    pub question: Vec<String>,
    pub synonym: Vec<String>,
    pub synonym_between: Vec<String>,
    pub either: Vec<String>,
    pub order: Vec<String>,
    pub later: Vec<String>,
    pub confirm: Vec<String>,
    pub earlier: Vec<String>,
    pub remove: Vec<String>,
    pub optional: Vec<String>,
    pub listed: Vec<String>,
    pub joints: Vec<String>,
    pub going: Vec<String>,
    pub until: String,
    pub node: String,
    pub required: Vec<String>,
    pub ask: Vec<String>,
}

/// Where the first of these phrases that a text holds begins, and how long it is.
pub fn first_of(text: &str, phrases: &[String]) -> Option<(usize, usize)> {
    phrases.iter().find_map(|p| Some((text.find(p.as_str())?, p.len())))
}
