//! Why a turn was not taken, and what its speaker hears then.

use crate::facts::StoreError;
use crate::reason::ReasonError;
use crate::term::Name;

/// Why a turn was not taken. The state is as before the round that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TurnError {
    /// The role does not exist in the domain.
    #[error("the domain `{domain}` has no role `{role}`; it has {known}")]
    UnknownRole {
        /// The domain.
        domain: Name,
        /// What was asked for.
        role: String,
        /// What there is.
        known: String,
    },
    /// The store refused or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No decision was made.
    #[error(transparent)]
    Reason(#[from] ReasonError),
    /// The rules derived an effect or a call that the role has no right to: a defect of the rules, so nothing is done.
    #[error("{0}")]
    Denied(String),
    /// A turn's record in the log is not what this program writes, or wrote.
    #[error("the record of turn {turn} of session `{session}` cannot be read: {detail}")]
    BrokenRecord {
        /// The session.
        session: Name,
        /// The turn.
        turn: u64,
        /// What is wrong.
        detail: String,
    },
    /// Words came in, but no translator is configured.
    #[error("no translator is configured: give predicates (in a conversation a line starting with `!`)")]
    NoTranslator,
    /// The turn's time is over.
    #[error("the turn took longer than {millis} ms, while {what}")]
    OverTime {
        /// The limit.
        millis: u128,
        /// What it was at.
        what: &'static str,
    },
    /// The rules go on calling.
    #[error("the turn took {0} rounds and still wants to call a function: rules that call again whatever comes back go in circles")]
    OverRounds(usize),
    /// Somebody else went on with the session while a call was under way.
    #[error("somebody else went on with the session `{0}` while a call was under way")]
    Overtaken(Name),
}

impl TurnError {
    /// What the speaker hears: never a technical word.
    pub fn polite(&self) -> &'static str {
        match self {
            Self::Store(StoreError::OtherRole { .. }) => "This conversation belongs to somebody else. Please start your own.",
            Self::Reason(ReasonError::OverBudget { .. }) => "That was too much at once. Could you say it in smaller steps?",
            Self::OverTime { .. } => "Sorry, that took too long on our side. Could you say that again?",
            Self::NoTranslator => "I only take predicates at the moment.",
            _ => "Sorry, something went wrong on our side and nothing was changed. Could you say that again?",
        }
    }
}
