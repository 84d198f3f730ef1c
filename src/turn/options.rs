//! What an operator may choose.

use crate::reason::{Budget, Reasoner};

/// Options of an engine.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Which engines decide.
    pub reasoner: Reasoner,
    /// What one decision may cost.
    pub budget: Budget,
    /// Whether every turn's record holds its proofs.
    pub explain: bool,
    /// Whether the last decision of a session is kept for questions about it.
    pub remember: bool,
    /// With the evaluator alone: every how many decisions clingo confirms one after the reply; 0 for never.
    pub sample: u64,
    /// Where a disagreement of the engines leaves its reproducer; the system's temporary folder if unsaid.
    pub reproducers: Option<std::path::PathBuf>,
    /// Where times come from.
    pub clock: Clock,
}

/// A clock: the system's, or a counting one for tests and replays, so that the same turns give the same bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// The system's time.
    #[default]
    System,
    /// Always this time, in milliseconds since 1970.
    Fixed(i64),
}

impl Clock {
    /// Milliseconds since 1970.
    pub fn now(self) -> i64 {
        match self {
            Self::System => jiff::Timestamp::now().as_millisecond(),
            Self::Fixed(at) => at,
        }
    }
}
