//! Parses by a model: it writes what a text tells and asks, the parser sends back what it cannot use, and several readings vote by what they entail.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::{Asked, Item};
use crate::conversation::Conversation;
use crate::llm::json::read_strict;
use crate::llm::{BlockingModel, ChatRequest, Message, ModelError, Shape, Shaping, Usage};
use crate::reasoning::given::Read;
use crate::reasoning::notation::Notation;
use crate::reasoning::{Answer, Status};
use crate::text::shorten;

/// How often what is wrong with a reply goes back to the model.
const SENT_BACK: usize = 2;
/// The longest text that is sent, in characters.
const LONGEST: usize = 20_000;
/// The account on which an evaluation's exchanges are booked.
const SITE: &str = "eval reason";

/// A model that translates.
#[derive(Debug)]
pub struct Translator {
    /// The model.
    pub model: BlockingModel,
    /// How it writes.
    pub notation: Notation,
    /// How many readings of each question it is asked for.
    pub votes: usize,
}

impl Translator {
    /// Readings of an item's lines and one question, each with what became of it; `Err` says why there is none.
    pub fn readings(&self, item: &Item, asked: &Asked) -> Vec<Result<Read, String>> {
        (0..self.votes.max(1)).map(|_| self.reading(item, asked)).collect()
    }

    /// What all questions so far have used.
    pub fn used(&self) -> Usage {
        self.model.account(&Conversation { site: SITE.to_owned(), session: String::new() }).site
    }

    fn reading(&self, item: &Item, asked: &Asked) -> Result<Read, String> {
        let of = Conversation { site: SITE.to_owned(), session: format!("{} {}", item.id, asked.n) };
        self.model.admit(&of).map_err(|e| e.to_string())?;
        let mut used = Usage::default();
        let read = self.exchange(item, asked, &mut used);
        self.model.book(&of, used);
        read
    }

    fn exchange(&self, item: &Item, asked: &Asked, used: &mut Usage) -> Result<Read, String> {
        let lines = asked.after.and_then(|a| item.text.get(..a)).unwrap_or(&item.text);
        let turn = self.notation.turn(lines, &asked.ask, &asked.options);
        if turn.chars().count() > LONGEST {
            return Err(format!("a text of more than {LONGEST} characters is not sent"));
        }
        let shape = (self.model.model().shaping() != Shaping::Unshaped).then(|| Shape {
            name: "statements".into(),
            schema: self.notation.schema(),
            grammar: self.notation.gbnf(),
        });
        let limits = self.model.model().limits();
        let mut request = ChatRequest { prefix: self.notation.prefix(), messages: vec![Message::user(turn)], shape, max_tokens: limits.reply_tokens };
        let model = self.model.until(Some(Instant::now() + limits.total() * u32::try_from(SENT_BACK + 1).unwrap_or(1) + Duration::from_secs(1)));
        let mut problems = String::new();
        for _ in 0..=SENT_BACK {
            let lost = |e: &ModelError| *used += model.lost(&request, 0, e);
            let reply = model.chat(request.clone()).inspect_err(lost).map_err(|e| e.to_string())?;
            *used += reply.usage;
            let read = read_strict(&reply.text).map_err(|e| vec![format!("the reply is not one JSON object: {e}")]);
            match read.and_then(|v| self.notation.read(v, lines, &asked.options)) {
                Ok(read) => return Ok(read),
                Err(wrong) => problems = wrong.join("; "),
            }
            let said = if reply.text.trim().is_empty() { "{}".to_owned() } else { reply.text };
            let back = format!("That reply cannot be used: {problems}\n\nSend the corrected JSON object for the same text, and nothing else.");
            request.messages.extend([Message::model(said), Message::user(back)]);
        }
        Err(format!("no usable parse: {}", shorten(&problems, 300)))
    }
}

/// Of several readings of a question the first that has an answer, if what is told leaves the first one open; else that one.
pub fn settled(mut found: impl Iterator<Item = (Read, Answer)>) -> (Read, Answer) {
    let Some(first) = found.next() else { return elected(vec![]) };
    let open = first.1.status == Status::Undecided || first.1.status == Status::Answered && first.1.support.is_empty();
    let other = if open { found.find(|(_, a)| a.status == Status::Answered && !a.support.is_empty()) } else { None };
    other.unwrap_or(first)
}

/// The answer that most readings entail, with the first reading that does; where as many entail another, there is none.
pub fn elected(mut found: Vec<(Read, Answer)>) -> (Read, Answer) {
    let mut votes: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, a) in found.iter().filter(|(_, a)| a.status == Status::Answered) {
        *votes.entry(a.value.as_deref().unwrap_or_default()).or_default() += 1;
    }
    let most = votes.values().copied().max().unwrap_or_default();
    let best: Vec<String> = votes.iter().filter(|(_, n)| **n == most).map(|(v, _)| (*v).to_owned()).collect();
    let all = found.len();
    match best.as_slice() {
        [only] => {
            let at = found.iter().position(|(_, a)| a.status == Status::Answered && a.value.as_ref() == Some(only)).unwrap_or_default();
            let (read, mut answer) = found.swap_remove(at);
            if all > 1 {
                answer.proof.push(format!("{most} of {all} readings entail it"));
            }
            (read, answer)
        }
        // Nobody answered: the first says why.
        [] if all > 0 => found.swap_remove(0),
        tied => (Read::default(), Answer::none(Status::Undecided, format!("as many readings entail each of {}", tied.join(", ")))),
    }
}
