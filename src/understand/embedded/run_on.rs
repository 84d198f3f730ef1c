//! Speech without marks: where one sentence may have ended and the next begun, and what is heard if it did.

use super::Embedded;
use super::learned::trust::quiet;
use super::text::{Kind, Token};
use crate::understand::{Context, Heard};

/// From which confidence on what is heard apart is taken.
const ENOUGH: f64 = 0.5;
/// How many places of one utterance are looked at.
const PLACES: usize = 4;

impl Embedded {
    /// What is heard otherwise where the words at once lead to nothing or to a question.
    pub(super) fn heard_otherwise(&self, tokens: &[Token], context: &Context, at_once: &Heard, hear: impl Fn(&[Token]) -> Heard) -> Option<Heard> {
        if !context.asked.is_empty() || !at_once.unsure.is_empty() || is_clear(at_once) {
            return None;
        }
        let still = |heard: &Heard| at_once.predicates.iter().all(|a| quiet(a) || heard.predicates.contains(a));
        let enough = |heard: &Heard| is_clear(heard) && heard.confidence >= ENOUGH && still(heard) && !self.speaks_against(tokens, context, heard);
        self.apart(tokens).map(|words| hear(&words)).find(enough).or_else(|| self.heard_alone(tokens, context, hear).filter(enough))
    }

    /// The words with full stops where a sentence may begin among them: "two tacos without lettuce they won't touch it".
    fn apart(&self, tokens: &[Token]) -> impl Iterator<Item = Vec<Token>> {
        let places: Vec<usize> = (1..tokens.len()).filter(|at| self.begins(tokens, *at)).take(PLACES).collect();
        let all = (places.len() > 1).then(|| places.clone());
        let each = places.into_iter().map(|at| vec![at]);
        all.into_iter().chain(each).map(|at| ended(tokens, &at))
    }

    /// What one sentence says by itself where the others name nothing and come to nothing: "my wallet's at home. Cancel the whole order".
    fn heard_alone(&self, tokens: &[Token], context: &Context, hear: impl Fn(&[Token]) -> Heard) -> Option<Heard> {
        let parts = tokens.split_inclusive(Token::ends_sentence).filter(|part| part.iter().any(|t| t.punct().is_none()));
        let names = |part: &[Token]| part.iter().any(|t| t.kind == Kind::Word && self.knowledge.names.knows(t.id) && !self.is_common(t, context));
        let parts: Vec<(&[Token], bool)> = parts.map(|part| (part, names(part))).collect();
        if !(2..=PLACES).contains(&parts.len()) || parts.iter().filter(|part| part.1).count() > 1 {
            return None;
        }
        let heard = parts.into_iter().map(|(part, names)| (names, hear(part)));
        let (mut clear, others): (Vec<_>, Vec<_>) = heard.partition(|(_, heard)| is_clear(heard));
        let says_nothing = |(names, heard): &(bool, Heard)| !names && heard.unsure.is_empty() && heard.asks.is_empty() && heard.predicates.iter().all(quiet);
        let (_, one) = clear.pop()?;
        (clear.is_empty() && others.iter().all(says_nothing)).then_some(one)
    }

    /// Whether a sentence may begin with a word: its subject, a verb before it, or a word that begins anew; and the words before it can end.
    fn begins(&self, tokens: &[Token], at: usize) -> bool {
        let has = |kind: &str, i: usize| tokens.get(i).is_some_and(|t| t.kind == Kind::Word && self.model.phrase.has(kind, t.id));
        let name = |i: usize| tokens.get(i).is_some_and(|t| self.knowledge.names.knows(t.id));
        let Some(before) = at.checked_sub(1).filter(|b| tokens.get(*b).is_some_and(|t| t.punct().is_none()) && !has("unended", *b)) else { return false };
        has("subject", at)
            || has("anew", at)
            || has("verb", at) && (has("subject", at + 1) || has("object", at + 1))
            || has("object", at) && has("verb", at + 1)
            || has("definite", at) && (name(before) || has("ended", before))
    }

    /// Whether a costly act was heard beside words that deny, ask, only half mean something or tell what others say.
    fn speaks_against(&self, tokens: &[Token], context: &Context, heard: &Heard) -> bool {
        let unsure = |t: &Token| t.kind == Kind::Word && ["denies", "half_meant", "of_others", "unmeant"].iter().any(|kind| self.model.phrase.has(kind, t.id));
        let against = |t: &Token| unsure(t) || t.punct() == Some('?');
        heard.predicates.iter().any(|act| self.is_costly(act, context)) && tokens.iter().any(against)
    }
}

/// Whether something was heard, and nothing of it is to be asked back.
fn is_clear(heard: &Heard) -> bool {
    !heard.asks_back() && heard.predicates.iter().any(|a| !quiet(a))
}

/// The words with full stops before some of them.
fn ended(tokens: &[Token], at: &[usize]) -> Vec<Token> {
    let stop = |t: &Token| Token {
        text: ".".into(),
        id: crate::link::UNKNOWN,
        alts: vec![],
        range: t.range.start..t.range.start,
        kind: Kind::Punct('.'),
        plural: false,
    };
    tokens.iter().enumerate().flat_map(|(i, t)| at.contains(&i).then(|| stop(t)).into_iter().chain([t.clone()])).collect()
}
