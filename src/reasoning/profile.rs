//! Profiles: which reasoning modules hold, under which semantics, and what the answers sound like.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::notation::Notation;
use super::told::Need;
use crate::diag::{Diagnostic, Origin};
use crate::domain::Files;

/// A set of data, or a conversation, as data: a file of `kb/reason/`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The modules: files of `rules/reason/`, without the ending; `apply(strict)` is one under a name of its own.
    #[serde(default)]
    pub modules: Vec<String>,
    /// Modules for what is told as formulas, which may leave choices: the profile wants several models, and clingo tells what holds
    /// in all, in some, in none.
    #[serde(default)]
    pub choices: Vec<String>,
    /// How what is told is meant.
    #[serde(default)]
    pub semantics: Semantics,
    /// What answers sound like.
    #[serde(default)]
    pub answer: Answers,
    /// Files of `kb/reason/` that the reader of text has its words from, without the ending.
    #[serde(default)]
    pub lexicon: Vec<String>,
    /// The notation in which a model writes what is told and asked: a file of `kb/reason/`, without the ending.
    pub parses: Option<String>,
    /// Questions whose given answer is doubted: reported apart, and scored all the same.
    #[serde(default)]
    pub disputed: Vec<Disputed>,
}

/// How what is told is meant.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Semantics {
    /// Whether what does not follow is unknown or not so.
    pub world: World,
    /// Whether a strict rule says by its opposite what it says.
    pub contraposition: bool,
    /// What several statements about what changes come to.
    pub changes: Changes,
    /// What becomes of an answer where something was told that could not be read.
    pub unread: Unread,
}

/// What becomes of an answer where something was told that could not be read.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Unread {
    /// There is none: it could come out otherwise.
    #[default]
    Blocks,
    /// There is none to what speaks of the same things; what else follows from the rest stands, and what could not be read is said with it.
    Related,
    /// What follows from the rest stands, and what could not be read is said with it: for what follows whatever else is so.
    Passes,
}

/// Whether what does not follow is unknown or not so.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum World {
    /// Unknown.
    #[default]
    Open,
    /// Not so.
    Closed,
}

/// What several statements about what changes come to.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Changes {
    /// A contradiction.
    #[default]
    Contradict,
    /// The last one holds.
    LastWins,
}

/// What answers sound like.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Answers {
    /// The word for a value that rules derive; where a question has options, the option that says so.
    pub words: BTreeMap<String, String>,
    /// What stands between several values.
    pub separator: Option<String>,
    /// What the words of a question ask of the option that is its answer: the first phrase that is among them decides.
    pub need: Vec<(String, Need)>,
}

/// A question whose given answer is doubted.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disputed {
    /// The item.
    pub id: String,
    /// The question; all of the item's if unsaid.
    pub n: Option<u32>,
    /// Why.
    pub reason: String,
}

impl Profile {
    /// The word for a value that rules derive.
    pub fn word(&self, value: String) -> String {
        self.answer.words.get(&value).cloned().unwrap_or(value)
    }

    /// The file of a profile.
    pub fn file(name: &str) -> String {
        format!("kb/reason/{name}.yaml")
    }

    /// A module as rule files are listed: below `rules/`.
    pub fn module(name: &str) -> String {
        let (file, own) = name.split_once('(').map_or((name, String::new()), |(f, own)| (f, format!("({own}")));
        format!("reason/{file}.lp{own}")
    }

    /// The profiles there are.
    pub fn names(files: &Files) -> Vec<String> {
        let all = files.list("kb/reason/", ".yaml");
        let plain = all.iter().filter_map(|n| n.strip_prefix("kb/reason/")?.strip_suffix(".yaml"));
        plain
            .filter(|n| files.read(&Self::file(n)).is_some_and(|t| t.lines().any(|l| l.starts_with("modules:") || l.starts_with("choices:"))))
            .map(str::to_owned)
            .collect()
    }

    /// Reads a profile by name.
    pub fn load(files: &Files, name: &str) -> Result<Self, Vec<Diagnostic>> {
        let file = Self::file(name);
        let at = |line: u32, column: u32| Origin { file: file.as_str().into(), start: 0, end: 0, line, column };
        let Some(text) = files.read(&file) else {
            let help = format!("the profiles here are: {}", Self::names(files).join(", "));
            return Err(vec![Diagnostic::error("R001", at(1, 1), format!("there is no profile `{name}`")).help(help)]);
        };
        let profile: Self = serde_saphyr::from_str(&text).map_err(|e| {
            let place = e.location().map_or((1, 1), |l| (u32::try_from(l.line()).unwrap_or(1), u32::try_from(l.column()).unwrap_or(1)));
            vec![Diagnostic::error("R002", at(place.0, place.1), e.to_string()).help("see docs/reasoning.md for what a profile says")]
        })?;
        let missing = |kind: &str, name: &String, path: String| {
            let line = text.lines().position(|l| l.contains(name.as_str())).map_or(1, |n| u32::try_from(n + 1).unwrap_or(1));
            Diagnostic::error("R003", at(line, 1), format!("there is no {kind} `{name}`")).help(format!("write `{path}`, or name another"))
        };
        let modules =
            profile.modules.iter().chain(&profile.choices).map(|m| ("module", m, format!("rules/{}", Self::module(m).split('(').next().unwrap_or_default())));
        let lexicon = profile.lexicon.iter().map(|m| ("lexicon", m, format!("kb/reason/{m}.yaml")));
        let notation = profile.parses.iter().map(|m| ("notation", m, format!("kb/reason/{m}.yaml")));
        let mut found: Vec<Diagnostic> =
            modules.chain(lexicon).chain(notation).filter(|(_, _, p)| files.read(p).is_none()).map(|(k, m, p)| missing(k, m, p)).collect();
        if found.is_empty() {
            found.extend(profile.parses.iter().filter_map(|n| Notation::load(files, n).err()));
        }
        if found.is_empty() { Ok(profile) } else { Err(found) }
    }
}
