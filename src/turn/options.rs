//! What an operator may choose.

use std::time::{Duration, Instant};

use crate::reason::{Budget, Reasoner};

/// Options of an engine.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Which engines decide.
    pub reasoner: Reasoner,
    /// What one decision may cost.
    pub budget: Budget,
    /// What one turn may take.
    pub turn: TurnBudget,
    /// Whether every turn's record holds its proofs.
    pub explain: bool,
    /// Whether the last decision of a session is kept for questions about it.
    pub remember: bool,
    /// Of how many decisions clingo audits at least one after its commit; 0 for none.
    pub audit: u64,
    /// Where a disagreement of the engines leaves its reproducer; the system's temporary folder if unsaid.
    pub reproducers: Option<std::path::PathBuf>,
    /// Where times come from.
    pub clock: Clock,
}

/// What one turn may take, whatever is waited for in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnBudget {
    /// From the words to the reply: waiting for the session's turn, models, functions and the store together.
    pub time: Duration,
    /// Rounds; each but the last one makes calls.
    pub rounds: usize,
}

impl Default for TurnBudget {
    fn default() -> Self {
        Self { time: Duration::from_secs(60), rounds: 8 }
    }
}

impl TurnBudget {
    /// How much of the time is kept for what comes after the words: a tenth, at most two seconds. A model that has not answered by then is not
    /// waited for, so that the turn is taken without it.
    pub fn kept(self) -> Duration {
        (self.time / 10).min(Duration::from_secs(2))
    }
}

/// When a turn has to be over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deadline(pub Option<Instant>);

impl Deadline {
    /// So long from now; a time beyond all clocks is none.
    pub fn after(time: Duration) -> Self {
        Self(Instant::now().checked_add(time))
    }

    /// So much earlier.
    pub fn before(self, time: Duration) -> Self {
        Self(self.0.map(|at| at.checked_sub(time).unwrap_or(at)))
    }

    /// The time that is left.
    pub fn left(self) -> Duration {
        self.0.map_or(Duration::MAX, |at| at.saturating_duration_since(Instant::now()))
    }

    /// Whether the time is over.
    pub fn passed(self) -> bool {
        self.left().is_zero()
    }
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
