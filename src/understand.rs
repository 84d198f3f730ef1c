//! Understanding: words to predicates, by several implementations behind one trait.

pub mod embedded;
pub mod flow;
pub mod hybrid;
pub mod llm;
pub mod question;

use crate::state::{Conversation, Line};
use crate::term::{Atom, Name};

/// What the listener knows while it listens: nothing of other conversations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// The speaker's role.
    pub role: Name,
    /// The engine's last actions in this conversation, in order.
    pub last_actions: Vec<Atom>,
    /// The conversation's own order.
    pub order: Vec<Line>,
    /// Atoms of the speaker's previous turn, for ellipsis and pronouns.
    pub said_before: Vec<Atom>,
    /// Whose conversation it is, for the account of a model's exchanges.
    pub conversation: Conversation,
}

/// What was heard.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heard {
    /// The predicates, in the order said.
    pub predicates: Vec<Atom>,
    /// How sure, 0 to 1.
    pub confidence: f64,
    /// For each predicate the byte ranges of the words it came from.
    pub words: Vec<Vec<std::ops::Range<usize>>>,
    /// Byte ranges of meaningful words that no predicate accounts for.
    pub uncovered: Vec<std::ops::Range<usize>>,
    /// Names that could mean several things, each with its candidates, best first: the engine asks back.
    pub unsure: Vec<Unsure>,
    /// Which implementation answered (`embedded`, `llm`, `hybrid`, `scripted`), for the record.
    pub by: &'static str,
}

/// A part of the utterance that could mean several things.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsure {
    /// The words.
    pub said: String,
    /// What they may mean, best first.
    pub candidates: Vec<Name>,
}

/// A translator from words to predicates. It decides nothing: its output is validated like anybody's.
pub trait Understand: Send + Sync {
    /// Translates one utterance.
    fn understand(&self, text: &str, context: &Context) -> Heard;

    /// The same translator over the names of a site's facts; `None` if facts are nothing to it.
    fn over(&self, _facts: &[Atom]) -> Option<std::sync::Arc<dyn Understand>> {
        None
    }
}
