//! The record of a turn: every intermediate value, for replay, explanation, tests and the command line.

use serde::{Deserialize, Serialize};

use super::calls::{Came, Intent};
use super::models::Models;
use super::proofs::Steps;
use super::{Act, Going, TurnError, version};
use crate::facts::{Change, Entry, Provenance};
use crate::ontology::{Arrived, Ontology, Refused, Shape};
use crate::reason::proof::Builder;
use crate::reason::{Budget, Outcome, minimal_conflict};
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
    /// The digest of what stood here, where the store was told to forget it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pruned: Option<String>,
    /// The words, if there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// Which translator answered.
    pub heard_by: String,
    /// How sure it was.
    pub confidence: f64,
    /// What arrived as predicates.
    pub arrived: Vec<Arrived>,
    /// Parts of the utterance that could mean several things.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unsure: Vec<UnsureText>,
    /// Names that nothing known bears, with names like them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nearest: Vec<UnsureText>,
    /// Words that no predicate accounts for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unheard: Vec<String>,
    /// Acts that were half heard, to be asked back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<Atom>,
    /// Those that were admitted.
    pub predicates: Vec<Atom>,
    /// What is still spoken of, where none of these is of anything: the last ones before that were.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub still: Vec<Atom>,
    /// Those that were not, with the reason.
    pub refused: Vec<RefusedText>,
    /// The next-action predicates.
    pub actions: Vec<Atom>,
    /// What is said beside them, of what calls gave: actions that the ontology declares as told.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<Atom>,
    /// The changes of facts.
    pub effects: Vec<Change>,
    /// Collected changes, of whichever session, that the kb version this turn made was made without.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused_changes: Vec<version::Refused>,
    /// How the session ended, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// What was said.
    pub text: String,
    /// What the rules show of the conversation afterwards: `view` atoms, sorted.
    pub view: Vec<Atom>,
    /// Why each action was taken.
    #[serde(skip_deserializing)]
    pub why: Vec<Why>,
    /// What was asked of models at either end, where one is configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub models: Option<Box<Models>>,
    /// The rounds, where functions were called; each is an entry of the session's log.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<Round>,
    /// What only an older program's record has: the view as it looked outside.
    #[serde(skip_serializing)]
    pub state: Option<serde_json::Map<String, serde_json::Value>>,
    /// And where the conversation stands.
    #[serde(skip_serializing)]
    pub standing: Option<serde::de::IgnoredAny>,
}

/// One round of a turn that calls functions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Round {
    /// The number of its entry in the session's log, from 1.
    pub turn: u64,
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// What the calls of the round before gave.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub came: Vec<Came>,
    /// What the listener said of conditions in free words then.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settled: Vec<Atom>,
    /// The actions with their places, `act(Phase,K,Action)`.
    pub acts: Vec<Atom>,
    /// The changes of facts.
    pub effects: Vec<Change>,
    /// How it ends the session, with the turn's last round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// The calls that are made after it; what they give stands in the next one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Intent>,
    /// Why nothing was decided on what the calls gave; their results are kept all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// A refused predicate as the record holds it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedText {
    /// What arrived, uncut, as it may be shown.
    pub text: String,
    /// Stable reason.
    pub code: String,
    /// The reason in words.
    pub message: String,
}

impl From<&Refused> for RefusedText {
    fn from(r: &Refused) -> Self {
        Self { text: r.what.shown(), code: r.code.to_owned(), message: r.message.clone() }
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
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Why {
    /// The action.
    pub action: String,
    /// One sentence.
    pub sentence: String,
    /// For a refusal of requests that do not go together: the smallest part of what was said that still leads to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub takes_all_of: Vec<Atom>,
    /// The proof.
    pub proof: Steps,
}

impl TurnRecord {
    /// The number of the turn's first entry in the session's log.
    pub fn began(&self) -> u64 {
        self.rounds.first().map_or(self.turn, |r| r.turn)
    }

    /// The calls that this record leaves under way.
    pub fn under_way(&self) -> &[Intent] {
        self.rounds.last().map_or(&[], |r| &r.calls)
    }

    /// The turn as it stands after this record, with calls that gave this.
    pub fn going(&self, came: Vec<Came>) -> Going {
        Going {
            said: self.said.clone(),
            heard: self.heard(),
            arrived: self.arrived.clone(),
            rounds: self.rounds.clone(),
            came,
            settled: vec![],
            before: self.still.clone(),
        }
    }

    /// The turn as it stood before the last round of this record.
    pub fn before_last_round(&self) -> Going {
        let mut going = self.going(vec![]);
        if let Some(last) = going.rounds.pop() {
            going.came = last.came;
            going.settled = last.settled;
        }
        going
    }

    /// What was heard, for the turn taken again: everything that the decision rests on.
    pub fn heard(&self) -> Heard {
        let all = |list: &[UnsureText]| list.iter().map(Unsure::from).collect();
        let (unsure, nearest) = (all(&self.unsure), all(&self.nearest));
        Heard { confidence: self.confidence, unsure, nearest, unheard: self.unheard.clone(), asks: self.asks.clone(), by: "before", ..Heard::default() }
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

    /// What arrived, in one line, as it may be shown.
    pub fn arrived_text(&self) -> String {
        self.arrived.iter().map(Arrived::shown).collect::<Vec<_>>().join(" ")
    }

    /// The record as the store's log keeps it: without proofs, which the log's facts give again.
    pub fn to_log(&mut self) -> String {
        let why = std::mem::take(&mut self.why);
        let log = serde_json::to_string(self).unwrap_or_default();
        self.why = why;
        log
    }
}

/// The record that a log entry holds. An older program's record may hold less, and instead of `view` atoms what they
/// looked like outside, as `state`. What cannot be read is an error: a turn decided as if nothing had been said before
/// would be a wrong one.
pub fn from_entry(entry: &Entry, shape: &Shape) -> Result<TurnRecord, TurnError> {
    let broken = |session: &str, turn, detail: String| TurnError::BrokenRecord { session: session.into(), turn, detail };
    let turn = entry.turn().ok_or_else(|| broken("", 0, format!("entry {} is no turn", entry.seq)))?;
    let unreadable = |detail: String| broken(&turn.session, turn.turn, detail);
    let read = |e: serde_json::Error| unreadable(e.to_string());
    let mut record: TurnRecord = serde_json::from_str(&turn.record).map_err(read)?;
    if record.standing.is_some() {
        return Err(unreadable("an older program kept in it where the conversation stands, which is now kept as facts; begin a new session".to_owned()));
    }
    if let Some(state) = record.state.take() {
        record.view = shape.atoms(&state).map_err(|e| unreadable(e.to_string()))?;
    }
    Ok(record)
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
    let found = minimal_conflict(outcome.base(), outcome.facts(), &said, &act.shown(), &Budget::default()).unwrap_or_default();
    if found.len() < 2 { vec![] } else { super::what_if::inputs(&found).into_iter().map(|(_, a)| a).collect() }
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
            proof: Steps::of(&proof, provenance),
        })
    };
    actions.iter().filter_map(&mut explain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Domain, Files};
    use crate::facts::{MemoryStore, SessionKey, Store};
    use crate::turn::{Engine, Options, Said};

    fn entry(record: &str) -> Entry {
        let domain = Domain::load(&Files::built_in(), "drive_thru").unwrap();
        let store = std::sync::Arc::new(MemoryStore::default());
        let engine = Engine::new(domain, store.clone()).with_options(Options { reasoner: crate::reason::Reasoner::Fast, ..Options::default() });
        let key = SessionKey::new("s", "c");
        engine.turn(&key, "customer", &Said::Predicates(&["completed".to_owned()]), None).unwrap();
        let mut entry = store.last_turn(&key, 1).unwrap().unwrap();
        if let crate::facts::Cause::Turn(turn) = &mut entry.cause {
            turn.record = record.to_owned();
        }
        entry
    }

    fn shape() -> Shape {
        Domain::load(&Files::built_in(), "drive_thru").unwrap().ontology.view.clone()
    }

    /// Written before the log held `view` atoms: the order stood there as it looks outside.
    #[test]
    fn a_record_with_a_state_is_read_as_view_atoms() {
        let old = include_str!("../../tests/data/records/state.json");
        let mut record = from_entry(&entry(old), &shape()).unwrap();
        let was: serde_json::Value = serde_json::from_str(old).unwrap();
        assert_eq!(shape().shown(&record.view), was["state"]);
        assert_eq!(shape().view(record.view.clone()).lines().len(), 3);
        assert_eq!(record.effects.first().map(ToString::to_string).as_deref(), was["effects"][0].as_str());
        assert_eq!(record.refused.iter().map(|r| r.text.as_str()).collect::<Vec<_>>(), ["order(\"Soft Taco\""]);
        let again: TurnRecord = serde_json::from_str(&record.to_log()).unwrap();
        assert_eq!(again.view, record.view);
    }

    /// Flows once had records of their own. Read as if nothing had been said, their conversations would begin anew in the middle.
    #[test]
    fn a_record_that_holds_the_standing_itself_says_to_begin_anew() {
        let old = include_str!("../../tests/data/records/standing.json");
        let said = from_entry(&entry(old), &shape()).unwrap_err().to_string();
        assert!(said.ends_with("which is now kept as facts; begin a new session"), "{said}");
    }

    #[test]
    fn a_broken_record_is_an_error() {
        for broken in ["", "{", r#"{"effects":["add nowhere x"]}"#, r#"{"state":{"order":[{}]}}"#] {
            assert!(matches!(from_entry(&entry(broken), &shape()), Err(TurnError::BrokenRecord { .. })), "{broken}");
        }
    }
}
