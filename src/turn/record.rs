//! The record of a turn: every intermediate value, for replay, explanation, tests and the command line.

use serde::{Deserialize, Serialize};

use super::models::Models;
use super::{Act, proofs};
use crate::facts::{Entry, Provenance};
use crate::ontology::{Ontology, Refused};
use crate::reason::proof::Builder;
use crate::reason::{Budget, Outcome, Refusal, minimal_conflict};
use crate::state::State;
use crate::term::Atom;
use crate::understand::{Heard, Unsure};

/// Everything one turn heard, decided and said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnRecord {
    /// The site.
    pub site: String,
    /// The session's id.
    pub session: String,
    /// Which life of the id.
    pub epoch: u64,
    /// The turn's number, from 1.
    pub turn: u64,
    /// Who spoke.
    pub role: String,
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// The words, if there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// Which translator answered.
    pub heard_by: String,
    /// How sure it was.
    pub confidence: f64,
    /// The predicate texts that arrived.
    pub arrived: Vec<String>,
    /// Parts of the utterance that could mean several things.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unsure: Vec<UnsureText>,
    /// Names that nothing known bears, with names like them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nearest: Vec<UnsureText>,
    /// Words that no predicate accounts for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unheard: Vec<String>,
    /// Those that were admitted.
    pub predicates: Vec<Atom>,
    /// Those that were not, with the reason.
    pub refused: Vec<RefusedText>,
    /// The next-action predicates.
    pub actions: Vec<Atom>,
    /// The changes of facts.
    pub effects: Vec<String>,
    /// How the session ended, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// What was said.
    pub text: String,
    /// The state afterwards.
    pub state: State,
    /// Why each action was taken.
    pub why: Vec<Why>,
    /// What was asked of models at either end, where one is configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub models: Option<Box<Models>>,
}

/// A refused predicate as the record holds it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedText {
    /// Its text.
    pub text: String,
    /// Stable reason.
    pub code: String,
    /// The reason in words.
    pub message: String,
}

/// What the rules show of a conversation beside order and status, as `Name(Value)`.
pub fn shown(state: &State) -> Vec<Atom> {
    state.shows.iter().flat_map(|(name, values)| values.iter().map(|v| Atom::new(name, vec![crate::term::Term::string(v)]))).collect()
}

impl From<&Refused> for RefusedText {
    fn from(r: &Refused) -> Self {
        Self { text: r.text.clone(), code: r.code.to_owned(), message: r.message.clone() }
    }
}

/// A part that could mean several things, as the record holds it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnsureText {
    /// The words.
    pub said: String,
    /// What they may mean, best first.
    pub candidates: Vec<String>,
    /// What each would mean, for the answer to the question about them.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub readings: Vec<Vec<Atom>>,
}

impl From<&Unsure> for UnsureText {
    fn from(u: &Unsure) -> Self {
        Self { said: u.said.clone(), candidates: u.candidates.iter().map(ToString::to_string).collect(), readings: u.readings.clone() }
    }
}

impl From<&UnsureText> for Unsure {
    fn from(u: &UnsureText) -> Self {
        Self { said: u.said.clone(), candidates: u.candidates.iter().map(|c| c.as_str().into()).collect(), readings: u.readings.clone() }
    }
}

/// Why one action was taken.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Why {
    /// The action.
    pub action: String,
    /// One sentence.
    pub sentence: String,
    /// For a refusal of requests that do not go together: the smallest part of what was said that still leads to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub takes_all_of: Vec<Atom>,
    /// The proof tree.
    pub proof: serde_json::Value,
}

impl TurnRecord {
    /// What was heard, for the turn taken again: everything that the decision rests on.
    pub fn heard(&self) -> Heard {
        let all = |list: &[UnsureText]| list.iter().map(Unsure::from).collect();
        let (unsure, nearest) = (all(&self.unsure), all(&self.nearest));
        Heard { confidence: self.confidence, unsure, nearest, unheard: self.unheard.clone(), by: "before", ..Heard::default() }
    }

    /// What was asked back: unclear names, or else whether the name most like an unknown one is meant.
    pub fn asked(&self) -> Vec<Unsure> {
        if !self.unsure.is_empty() {
            return self.unsure.iter().map(Unsure::from).collect();
        }
        let offered = |a: &Atom| (&*a.name == "nearest").then(|| a.args.first().and_then(crate::term::Term::as_name).map(str::to_owned)).flatten();
        let Some(name) = self.actions.iter().find_map(offered) else { return vec![] };
        let reading = |u: &UnsureText| u.candidates.iter().position(|c| *c == name).and_then(|i| u.readings.get(i)).cloned();
        let one = |u: &UnsureText| Some(Unsure { said: u.said.clone(), candidates: vec![name.as_str().into()], readings: vec![reading(u)?] });
        self.nearest.iter().find_map(one).into_iter().collect()
    }

    /// The record as the store's log keeps it: without proofs, which the log's facts give again.
    pub fn to_log(&self) -> String {
        let short = Self { why: vec![], ..self.clone() };
        serde_json::to_string(&short).unwrap_or_default()
    }
}

/// The record that a log entry holds; an entry of an older program may hold less.
pub fn from_entry(entry: &Entry) -> TurnRecord {
    entry.turn().and_then(|t| serde_json::from_str(&t.record).ok()).unwrap_or_default()
}

/// Who said something and when, for proofs.
pub fn provenance_text(p: &Provenance, ontology: &Ontology) -> String {
    let title = ontology.roles.get(&p.role).map_or(&*p.role, |r| &r.title);
    let time = jiff::Timestamp::from_millisecond(p.at).map(|t| t.strftime("%H:%M").to_string()).unwrap_or_default();
    if p.role.as_ref() == crate::facts::DOMAIN_ROLE { String::new() } else { format!("{title}, turn {}, {time}", p.turn) }
}

/// The action by which the core rules refuse.
pub const REFUSAL: &str = "reject";
/// Where more was said at once, nobody asks which of it does not go together.
const MOST_REQUESTS: usize = 12;

/// The smallest part of what was said that still leads to an action, if that is several predicates.
pub fn takes_all_of(outcome: &Outcome, act: &Act) -> Vec<Atom> {
    let said: Vec<Atom> = outcome.facts().iter().filter(|f| &*f.name == "in").cloned().collect();
    if !(2..=MOST_REQUESTS).contains(&said.len()) {
        return vec![];
    }
    let found = minimal_conflict(outcome.base(), outcome.facts(), &said, Refusal::Shown(&act.shown()), &Budget::default()).unwrap_or_default();
    if found.len() < 2 { vec![] } else { super::ask::inputs(&found).into_iter().map(|(_, a)| a).collect() }
}

/// The proofs of all actions of a turn; parts that several share are built once.
pub fn why(outcome: &Outcome, actions: &[Act], provenance: &dyn Fn(&Atom) -> String) -> Vec<Why> {
    let mut builder = Builder::new(outcome);
    let mut explain = |act: &Act| {
        let proof = builder.why(&act.shown())?;
        Some(Why {
            action: act.action.to_string(),
            sentence: proof.sentence(provenance),
            takes_all_of: if &*act.action.name == REFUSAL { takes_all_of(outcome, act) } else { vec![] },
            proof: proofs::steps(&proof, provenance),
        })
    };
    actions.iter().filter_map(&mut explain).collect()
}
