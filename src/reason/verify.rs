//! Bounded model checking of dialogue rules: every conversation up to a depth over a small set of sayings, shortest violation first.
//!
//! The evaluator takes a step in tens of microseconds, so states are visited one by one, breadth first, and those met before are
//! not entered again; a sample of the steps is confirmed by clingo. What must hold is said by rules that derive `violation(Name,What)`
//! from one turn, and by goals that must stay reachable.

mod search;
mod versions;

use std::time::Duration;

use super::{Base, ReasonError};
use crate::term::{Atom, Name};
pub use versions::{Shown, Versions, Wanted};

/// One who speaks: a role's rules on the site's facts, and what it may say in a turn.
#[derive(Clone, Debug)]
pub struct Speaker {
    /// The role.
    pub role: Name,
    /// Its rules and the stored facts.
    pub base: Base,
    /// The turns it may take: lists of predicates.
    pub turns: Vec<Vec<Atom>>,
    /// How many conversations of it may be open at once.
    pub sessions: usize,
    /// Whether it may change the kb, and is shown what others collected of the next version.
    pub collects: bool,
    /// How its calls may come back: `returned(1,Function,How)` first, then the facts that the call leaves.
    pub results: Vec<Vec<Atom>>,
}

/// Something that must stay possible: from every state with such a fact, those turns alone can lead to an effect.
#[derive(Clone, Debug)]
pub struct Goal {
    /// What a violation is called.
    pub name: String,
    /// Who works towards it.
    pub role: Name,
    /// The fact of the role's session from which on it must be reachable: name and arity.
    pub from: (Name, usize),
    /// The turns that may be taken.
    pub by: Vec<Vec<Atom>>,
    /// Shown atoms each of which means that it is reached.
    pub reached: Vec<Atom>,
    /// In how many turns at most; in any number if unsaid.
    pub within: Option<usize>,
}

/// Who may change what: role, scope (`shared` or `kb`), fact.
pub type MayChange<'a> = dyn Fn(&str, &str, &Atom) -> bool + 'a;

/// What a turn is decided on beside facts and inputs: conditions that are settled before.
pub type Settle<'a> = dyn Fn(&[Atom]) -> Vec<Atom> + 'a;

/// What is checked.
pub struct Model<'a> {
    /// Who speaks.
    pub speakers: Vec<Speaker>,
    /// Rules that derive `violation/2` from a turn, with the stored facts.
    pub properties: Option<Base>,
    /// The kb and its next version.
    pub versions: Versions<'a>,
    /// Rights.
    pub may_change: &'a MayChange<'a>,
    /// Conditions that are settled before a decision.
    pub settle: &'a Settle<'a>,
    /// Atoms that must be shown somewhere; missed only where everything was visited.
    pub somewhere: Vec<Atom>,
    /// What must stay reachable.
    pub goals: Vec<Goal>,
    /// Facts of a conversation that are dropped after every turn because no turn reads them: name and arity.
    pub forget: Vec<(Name, usize)>,
    /// Turns of a conversation.
    pub depth: usize,
    /// When to stop looking.
    pub time: Duration,
    /// Every how many steps clingo confirms.
    pub confirm_every: usize,
}

/// A conversation that should not be possible.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Violation {
    /// Which property.
    pub property: String,
    /// What happened.
    pub detail: String,
    /// Who said what, turn by turn: a role, with a number from its second conversation on.
    pub turns: Vec<(String, Vec<Atom>)>,
    /// For what cannot be reached: what the last turn should have shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wanted: Option<Atom>,
}

/// What was found.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Searched {
    /// States visited.
    pub states: usize,
    /// Turns taken.
    pub steps: usize,
    /// Different decisions among them: the others are known from the same facts of the speaker's conversation and of the site.
    pub decisions: usize,
    /// Decisions that clingo confirmed.
    pub confirmed: usize,
    /// The depth up to which everything was visited.
    pub depth: usize,
    /// One violation for each property, the shortest.
    pub violations: Vec<Violation>,
    /// Goals for which neither a way nor its absence was found in the time.
    pub undecided: Vec<String>,
    /// Rules that derived nothing in any step, by role: the place of each.
    pub never_fired: Vec<String>,
    /// How many rules could have.
    pub rules: usize,
    /// Seconds it took.
    pub seconds: f64,
}

/// Visits all conversations up to the depth.
pub fn verify(model: &Model<'_>) -> Result<Searched, ReasonError> {
    search::Search::new(model).run()
}
