//! Saying what the bank of wordings holds, at random, and asking another renderer for the rest.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Deserialize;

use super::templates::bank::Banked;
use super::templates::{Sentence, Templates};
use super::{Account, By, Held, OnSentence, Render, Say, Tone, Worded};
use crate::conversation::Conversation;
use crate::llm::{BlockingModel, ChatRequest, Message, ModelError, Shape};
use crate::term::Atom;

/// A renderer over a bank. What the bank has no wordings of is said by another renderer: the templates, or a model.
#[derive(Clone)]
pub struct BankRender {
    bank: Arc<Templates>,
    rest: Arc<dyn Render>,
}

impl BankRender {
    /// The templates with their bank, and who says what it lacks.
    pub fn new(templates: &Templates, rest: Arc<dyn Render>) -> Self {
        Self { bank: Arc::new(templates.varied()), rest }
    }

    /// The sentences in their order; those that the bank lacks are said by the other renderer at the place of the first of them.
    async fn said<'a>(&'a self, says: &'a [Say], tone: &'a Tone, mut on_sentence: Option<OnSentence<'a>>) -> Worded {
        let sentences = self.bank.sentences(says, tone);
        let held = sentences.iter().filter(|s| s.banked).count();
        let lacking: Vec<&Sentence> = sentences.iter().filter(|s| !s.banked).collect();
        let more: Vec<Say> = says.iter().enumerate().filter(|(i, _)| lacking.iter().any(|s| s.of.contains(i))).map(|(_, say)| say.clone()).collect();
        let bank = Some(Held { sentences: held, of: sentences.len() });
        if held == 0 {
            return Worded { bank, ..self.rest.saying(says, tone, on_sentence).await };
        }
        let (mut asked, mut worded, mut text) = (false, Worded { by: By::Bank, ..Worded::default() }, vec![]);
        for sentence in &sentences {
            if sentence.banked {
                if let Some(hand_on) = &mut on_sentence {
                    hand_on(&sentence.text);
                }
                text.push(sentence.text.clone());
            } else if !std::mem::replace(&mut asked, true) {
                let saying = match &mut on_sentence {
                    Some(hand_on) => self.rest.saying(&more, tone, Some(&mut **hand_on)),
                    None => self.rest.saying(&more, tone, None),
                };
                worded = saying.await;
                text.push(worded.text.clone());
            }
        }
        Worded { text: text.join(" "), bank, ..worded }
    }
}

impl Render for BankRender {
    fn render(&self, says: &[Say], tone: &Tone) -> String {
        self.word(says, tone).text
    }

    fn saying<'a>(&'a self, says: &'a [Say], tone: &'a Tone, on_sentence: Option<OnSentence<'a>>) -> BoxFuture<'a, Worded> {
        Box::pin(self.said(says, tone, on_sentence))
    }

    fn over(&self, facts: &[Atom]) -> Option<Arc<dyn Render>> {
        self.rest.over(facts).map(|rest| Arc::new(Self { rest, ..self.clone() }) as Arc<dyn Render>)
    }

    fn account(&self, of: &Conversation) -> Option<Account> {
        self.rest.account(of)
    }

    fn ended(&self, of: &Conversation) {
        self.rest.ended(of);
    }
}

/// What a model is asked for.
const PROMPT: &str = include_str!("../../prompts/core/paraphrase.txt");

#[derive(Deserialize)]
struct Proposed {
    wordings: Vec<String>,
}

/// A model's proposals for one sentence, given with its own wordings. Nothing of what it says is believed: all of it is checked.
pub fn propose(model: &BlockingModel, title: &str, own: &[String], each: usize) -> Result<Vec<Banked>, ModelError> {
    let Some(of) = own.first() else { return Ok(vec![]) };
    let asked = serde_json::json!({ "system": title, "sentence": own, "wanted": each }).to_string();
    let schema = serde_json::json!({"type": "object", "properties": {"wordings": {"type": "array", "items": {"type": "string"}}}, "required": ["wordings"], "additionalProperties": false});
    let shape = Some(Shape { name: "wordings".to_owned(), schema, grammar: String::new() });
    let tokens = model.model().limits().reply_tokens;
    let reply = model.chat(ChatRequest { prefix: PROMPT.to_owned(), messages: vec![Message::user(asked)], shape, max_tokens: tokens })?;
    let value = crate::llm::json::read_strict(&reply.text).map_err(|e| ModelError::Unusable(e.to_string()))?;
    let proposed: Proposed = serde_json::from_value(value).map_err(|e| ModelError::Unusable(crate::text::shorten(&e.to_string(), 200)))?;
    Ok(proposed.wordings.into_iter().take(each).map(|say| Banked { of: of.clone(), say, at: 0 }).collect())
}
