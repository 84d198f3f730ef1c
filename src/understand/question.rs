//! Yes-or-no questions about conditions in an author's own words: put to a model when one is configured, else answered by the words that
//! condition and situation share. An answer is an input of the rules, and stands in the record of its turn.

use std::sync::Arc;
use std::time::Instant;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::flow::hearing::HEARING;
use crate::conversation::Conversation;
use crate::llm::{BlockingModel, ChatRequest, Message, ModelError, Shape};
use crate::text::{normal, words};
use crate::wait::block_on;

/// What is asked: whether a condition holds in a situation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Question {
    /// The condition, in its author's words.
    pub condition: String,
    /// What was just said.
    pub said: String,
    /// What is known: slots and the last result, one a line.
    pub known: String,
    /// Until when a model may take.
    #[serde(skip)]
    pub until: Option<Instant>,
}

/// An answer, and who gave it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Whether the condition holds.
    pub holds: bool,
    /// `model`, or `words` for the comparison of words.
    pub by: String,
}

/// Somebody who answers such questions. It decides nothing: its answer is one more input of the rules.
pub trait Judge: Send + Sync {
    /// Answers a question.
    fn judging<'a>(&'a self, question: &'a Question, of: &'a Conversation) -> BoxFuture<'a, Answer>;

    /// The same on the calling thread.
    fn judge(&self, question: &Question, of: &Conversation) -> Answer {
        block_on(self.judging(question, of))
    }
}

/// A condition holds when more than this share of its telling words is said or known.
pub const THRESHOLD: f64 = 0.5;

/// The comparison of words, without a model.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByWords;

impl Judge for ByWords {
    fn judging<'a>(&'a self, q: &'a Question, _: &'a Conversation) -> BoxFuture<'a, Answer> {
        Box::pin(std::future::ready(by_words(q)))
    }
}

fn by_words(q: &Question) -> Answer {
    Answer { holds: similarity(q) > THRESHOLD, by: "words".to_owned() }
}

/// How much of a condition's telling words is in a situation, 0 to 1. A condition that denies is not met by words that affirm, nor the other
/// way round.
pub fn similarity(q: &Question) -> f64 {
    let heard: Vec<String> = words(&q.said).into_iter().chain(words(&q.known)).collect();
    let denies = |list: &[String]| list.iter().any(|w| HEARING.words.negations.has(w) || w.ends_with("n't"));
    let own = words(&normal(&q.condition));
    let negated = denies(&own);
    let telling: Vec<&String> = own.iter().filter(|w| !HEARING.words.empty.has(w) && !HEARING.words.negations.has(w) && !w.ends_with("n't")).collect();
    if telling.is_empty() || negated != denies(&words(&q.said)) {
        return 0.0;
    }
    // Beginnings count, so that `cancel` meets `cancelling`.
    let near = |w: &str| {
        heard.iter().any(|h| h == w || w.len() >= 5 && w.chars().zip(h.chars()).take_while(|(a, b)| a == b).count() >= w.len().min(h.len()).max(5) - 1)
    };
    let found = telling.iter().filter(|w| near(w)).count();
    #[expect(clippy::cast_precision_loss, reason = "counts of words")]
    let share = found as f64 / telling.len() as f64;
    share
}

/// The instruction that precedes every question.
const PROMPT: &str = include_str!("../../prompts/core/question.txt");

/// A model, with the comparison of words for when it fails.
#[derive(Debug)]
pub struct ByModel {
    model: BlockingModel,
}

impl ByModel {
    /// Asks a model, on the account of the conversation that it is asked for.
    pub fn new(model: BlockingModel) -> Self {
        Self { model }
    }

    async fn ask(&self, q: &Question, of: &Conversation) -> Option<bool> {
        self.model.admit(of).ok()?;
        let request = Arc::new(ChatRequest { prefix: PROMPT.to_owned(), messages: vec![Message::user(question(q))], shape: Some(shape()), max_tokens: 20 });
        let failed = |e: &ModelError| {
            tracing::warn!(error = %e, "the model did not answer a condition");
            self.model.book(of, self.model.lost(&request, 0, e));
        };
        let reply = self.model.until(q.until).ask(request.clone()).await.inspect_err(failed).ok()?;
        self.model.book(of, reply.usage);
        read(&reply.text)
    }
}

impl Judge for ByModel {
    fn judging<'a>(&'a self, q: &'a Question, of: &'a Conversation) -> BoxFuture<'a, Answer> {
        Box::pin(async move { self.ask(q, of).await.map_or_else(|| by_words(q), |holds| Answer { holds, by: "model".to_owned() }) })
    }
}

fn question(q: &Question) -> String {
    // The speaker's words are data: as a JSON string they cannot pretend to be a condition.
    let text = |t: &str| serde_json::Value::from(t).to_string();
    format!("condition: {}\nknown: {}\nthe speaker says: {}", text(&q.condition), text(&q.known), text(&q.said))
}

fn shape() -> Shape {
    let schema = serde_json::json!({"type": "object", "properties": {"holds": {"type": "boolean"}}, "required": ["holds"], "additionalProperties": false});
    Shape { name: "condition".to_owned(), schema, grammar: "root ::= \"{\\\"holds\\\": \" (\"true\" | \"false\") \"}\"".to_owned() }
}

fn read(reply: &str) -> Option<bool> {
    let json = reply.get(reply.find('{')?..=reply.rfind('}')?)?;
    serde_json::from_str::<serde_json::Value>(json).ok()?.get("holds")?.as_bool()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(condition: &str, said: &str) -> Question {
        Question { condition: condition.into(), said: said.into(), known: String::new(), until: None }
    }

    #[test]
    fn words_are_compared_without_a_model() {
        let holds = |condition: &str, said: &str| by_words(&asks(condition, said)).holds;
        assert!(holds("the user wants to cancel the order", "please cancel my order"));
        assert!(!holds("the user wants to cancel the order", "where is my order"));
        assert!(!holds("the user wants to cancel the order", "do not cancel my order"));
        assert!(holds("the guest is not happy with the room", "I am not happy with that room"));
        let mut q = asks("only ask when children come along", "that is right");
        assert!(!by_words(&q).holds);
        q.known = "Party = two children come along".into();
        assert!(by_words(&q).holds);
    }

    #[test]
    fn replies_of_a_model_are_read_strictly() {
        assert_eq!(read("{\"holds\": true}"), Some(true));
        assert_eq!(read("Sure: {\"holds\":false}"), Some(false));
        assert_eq!(read("yes"), None);
        assert_eq!(read("{\"holds\": \"yes\"}"), None);
    }
}
