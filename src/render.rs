//! Rendering: action predicates to text, by templates or by a language model whose text is checked.

pub mod english;
pub mod faithful;
pub mod llm;
pub mod templates;

use crate::state::Conversation;
use crate::term::Atom;

/// An action with the input it answers: confirmations need the quantity and the names that were said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Say {
    /// The action.
    pub action: Atom,
    /// The admitted input atom that it answers, if it answers one.
    pub input: Option<Atom>,
}

/// What a renderer may know of the conversation besides its actions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tone {
    /// The listener's role.
    pub role: String,
    /// Turn number, which varies the wording deterministically.
    pub turn: u64,
    /// Whether this is the first reply of the conversation.
    pub first: bool,
    /// Whose conversation it is, for the account of a model's exchanges.
    pub conversation: Conversation,
}

/// Turns actions into one fluent reply.
pub trait Render: Send + Sync {
    /// The reply to say.
    fn render(&self, says: &[Say], tone: &Tone) -> String;
}
