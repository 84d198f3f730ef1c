//! Rendering: action predicates to text, by templates or by a language model whose text is checked.

pub mod bank;
pub mod english;
pub mod faithful;
pub mod llm;
pub mod templates;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::conversation::Conversation;
pub use crate::llm::{Account, Exchange};
use crate::term::Atom;
use crate::wait::block_on;

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
    /// Until when the turn may take: no model is waited for longer.
    pub until: Option<std::time::Instant>,
}

/// Whose words a reply is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// The model's first text.
    Model,
    /// The model's second text.
    Retry,
    /// The template's: no model was asked, it failed, or it was not faithful.
    #[default]
    Template,
    /// The bank's of wordings: nobody was asked.
    Bank,
    /// Sentences of the model that were released while it streamed, the rest from the template.
    Mixed,
}

/// How much of a reply a bank of wordings held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// Sentences that it held.
    pub sentences: usize,
    /// Sentences of the reply.
    pub of: usize,
}

/// A reply with what stood behind its words, for the turn's record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Worded {
    /// What is said; the record holds it as its text.
    #[serde(skip)]
    pub text: String,
    /// Whose words they are.
    pub by: By,
    /// What the bank of wordings held of it, where there is one; a reply that it held whole saved a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bank: Option<Held>,
    /// What was wrong with the model's texts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<String>,
    /// The exchange, if a model was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchange: Option<Exchange>,
}

/// What receives a reply in parts.
pub type OnSentence<'a> = &'a mut (dyn FnMut(&str) + Send);

/// Turns actions into one fluent reply.
pub trait Render: Send + Sync {
    /// The reply to say.
    fn render(&self, says: &[Say], tone: &Tone) -> String;

    /// The reply sentence by sentence (or what was made as one), each with the places of the actions that it says.
    fn parts(&self, says: &[Say], tone: &Tone) -> Vec<(Vec<usize>, String)> {
        vec![((0..says.len()).collect(), self.render(says, tone))]
    }

    /// The same with what stood behind it; what is asked of somebody else is waited for.
    fn word(&self, says: &[Say], tone: &Tone) -> Worded {
        block_on(self.saying(says, tone, None))
    }

    /// The same, awaited: who asks somebody else holds no thread meanwhile. With `on_sentence` the reply is handed on in parts as they become safe
    /// to say; what is handed on is final, and joined by blanks it is the text.
    fn saying<'a>(&'a self, says: &'a [Say], tone: &'a Tone, on_sentence: Option<OnSentence<'a>>) -> BoxFuture<'a, Worded> {
        Box::pin(async move {
            let text = self.render(says, tone);
            if let Some(on_sentence) = on_sentence.filter(|_| !text.is_empty()) {
                on_sentence(&text);
            }
            Worded { text, ..Worded::default() }
        })
    }

    /// The same over the names of a site's facts; `None` if facts are nothing to it.
    fn over(&self, _facts: &[Atom]) -> Option<std::sync::Arc<dyn Render>> {
        None
    }

    /// What a conversation and its site have used of a model so far; `None` where no model is asked.
    fn account(&self, _of: &Conversation) -> Option<Account> {
        None
    }

    /// Told that a conversation ended, so that its account can be closed.
    fn ended(&self, _of: &Conversation) {}
}
