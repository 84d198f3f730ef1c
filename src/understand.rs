//! Understanding: words to predicates, by several implementations behind one trait.

pub mod agents;
pub mod embedded;
pub mod embedding;
pub mod flow;
pub mod hybrid;
pub mod llm;
pub mod question;
pub mod spot;

use std::future::ready;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::conversation::{Conversation, View};
pub use crate::llm::{Account, Exchange, Usage};
use crate::term::{Atom, Name};

/// What the listener knows while it listens: nothing of other conversations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// The speaker's role.
    pub role: Name,
    /// The engine's last actions in this conversation, in order.
    pub last_actions: Vec<Atom>,
    /// What the rules show of the conversation.
    pub view: View,
    /// Atoms of the speaker's previous turn, for ellipsis and pronouns.
    pub said_before: Vec<Atom>,
    /// The words of the speaker's previous turn, if it had any.
    pub words_before: Option<String>,
    /// What the engine asked back in its last reply, the first of them in words.
    pub asked: Vec<Unsure>,
    /// The facts of the conversation and those that its site shares.
    pub facts: Vec<Atom>,
    /// Whose conversation it is, for the account of a model's exchanges.
    pub conversation: Conversation,
    /// Until when a model may take: what comes after it in the turn needs time too.
    pub until: Option<std::time::Instant>,
}

/// What was heard.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heard {
    /// The predicates, in the order said.
    pub predicates: Vec<Atom>,
    /// Acts that were half heard: not to be done, but to be asked back.
    pub asks: Vec<Atom>,
    /// How sure, 0 to 1.
    pub confidence: f64,
    /// For each predicate the byte ranges of the words it came from.
    pub words: Vec<Vec<std::ops::Range<usize>>>,
    /// Byte ranges of meaningful words that no predicate accounts for.
    pub uncovered: Vec<std::ops::Range<usize>>,
    /// Names that could mean several things, each with its candidates, best first: the engine asks back.
    pub unsure: Vec<Unsure>,
    /// Names in the predicates that nothing known bears, each with the names that are like it.
    pub nearest: Vec<Unsure>,
    /// Words that seem to ask for something and that no predicate accounts for: the engine says that it did not get them.
    pub unheard: Vec<String>,
    /// Which implementation answered (`embedded`, `llm`, `hybrid`, `scripted`), for the record.
    pub by: &'static str,
    /// What stood behind it, where a model is configured.
    pub sources: Option<Box<Sources>>,
}

impl Heard {
    /// Whether something is left to ask the speaker about.
    pub fn asks_back(&self) -> bool {
        !self.asks.is_empty() || !self.unsure.is_empty() || !self.unheard.is_empty() || !self.nearest.is_empty()
    }
}

/// What stood behind a translation: each translator's own result, and the exchange if a model was asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sources {
    /// The embedded translator's result, if it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embedded: Option<Guess>,
    /// The model's result, if it gave a usable one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Guess>,
    /// The exchange, if a model was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchange: Option<Exchange>,
}

/// One translator's result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Guess {
    /// Its predicates.
    pub predicates: Vec<Atom>,
    /// How sure it was.
    pub confidence: f64,
}

impl From<&Heard> for Guess {
    fn from(heard: &Heard) -> Self {
        Self { predicates: heard.predicates.clone(), confidence: heard.confidence }
    }
}

/// A part of the utterance that could mean several things.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unsure {
    /// The words.
    pub said: String,
    /// What they may mean, best first.
    pub candidates: Vec<Name>,
    /// For each candidate the predicates that the utterance means beyond its sure part, if the candidate is meant.
    pub readings: Vec<Vec<Atom>>,
}

/// A translator from words to predicates. It decides nothing: its output is validated like anybody's.
pub trait Understand: Send + Sync {
    /// Translates one utterance.
    fn understand(&self, text: &str, context: &Context) -> Heard;

    /// The same, awaited: who asks somebody else holds no thread meanwhile.
    fn hearing<'a>(&'a self, text: &'a str, context: &'a Context) -> BoxFuture<'a, Heard> {
        Box::pin(async move { self.understand(text, context) })
    }

    /// What it means that nobody has spoken for so many seconds; nothing to most.
    fn silence<'a>(&'a self, _seconds: i32, _context: &'a Context) -> BoxFuture<'a, Heard> {
        Box::pin(ready(Heard::default()))
    }

    /// What of another translator's reading the words bear out; the rest of it is to be asked back, or nothing. Who cannot judge lets it be.
    fn gate(&self, _text: &str, _context: &Context, heard: Heard) -> Heard {
        heard
    }

    /// What it says of conditions in free words once calls of the same turn came back.
    fn settling<'a>(&'a self, _text: &'a str, _context: &'a Context) -> BoxFuture<'a, Vec<Atom>> {
        Box::pin(ready(vec![]))
    }

    /// The same translator over the names of a site's facts; `None` if facts are nothing to it.
    fn over(&self, _facts: &[Atom]) -> Option<std::sync::Arc<dyn Understand>> {
        None
    }

    /// What a conversation and its site have used of a model so far; `None` where no model is asked.
    fn account(&self, _of: &Conversation) -> Option<Account> {
        None
    }

    /// Told that a conversation ended, so that its account can be closed.
    fn ended(&self, _of: &Conversation) {}
}
