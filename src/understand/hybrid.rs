//! The embedded translator first; a model only for what it is unsure of. Both results are recorded, and how often the model was needed is counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::BoxFuture;
use serde::Serialize;

use super::llm::{LlmUnderstand, Observer, Translation};
use super::{Account, Context, Heard, Understand};
use crate::conversation::Conversation;
use crate::wait::block_on;

/// Below this confidence the model is asked, unless configured otherwise.
pub const DEFAULT_BELOW: f64 = 0.7;

/// Embedded and model together.
#[derive(Clone)]
pub struct HybridUnderstand {
    embedded: Arc<dyn Understand>,
    model: LlmUnderstand,
    below: f64,
    counts: Arc<Counts>,
    observer: Option<Observer>,
}

#[derive(Debug, Default)]
struct Counts {
    turns: AtomicU64,
    asked: AtomicU64,
    failed: AtomicU64,
}

/// How often the model was needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Share {
    /// Utterances translated.
    pub turns: u64,
    /// Of these, those that were put to the model.
    pub asked: u64,
    /// Of these, those for which the model gave nothing usable.
    pub failed: u64,
}

impl HybridUnderstand {
    /// Asks the model below a confidence.
    pub fn new(embedded: Arc<dyn Understand>, model: LlmUnderstand, below: f64) -> Self {
        Self { embedded, model, below, counts: Arc::default(), observer: None }
    }

    /// The same with an observer, who sees both results of every turn.
    #[must_use]
    pub fn observed(mut self, observer: Observer) -> Self {
        self.observer = Some(observer);
        self
    }

    /// How often the model was needed so far.
    pub fn share(&self) -> Share {
        let get = |n: &AtomicU64| n.load(Ordering::Relaxed);
        Share { turns: get(&self.counts.turns), asked: get(&self.counts.asked), failed: get(&self.counts.failed) }
    }

    /// Translates, with both results.
    pub async fn translating(&self, text: &str, context: &Context) -> Translation {
        let embedded = self.embedded.understand(text, context);
        self.counts.turns.fetch_add(1, Ordering::Relaxed);
        // A name that nothing here bears may be one under a word that patterns do not know.
        let strange = self.model.strange(&embedded.predicates, &context.role);
        if embedded.confidence >= self.below && !strange {
            return Translation { heard: embedded.clone(), embedded: Some(embedded), ..Translation::default() };
        }
        self.counts.asked.fetch_add(1, Ordering::Relaxed);
        let mut translation = self.model.translating(text, context, Some(embedded)).await;
        if translation.model.is_none() {
            self.counts.failed.fetch_add(1, Ordering::Relaxed);
        }
        weigh(&mut translation, &self.model, self.below, &context.role);
        translation
    }
}

/// A model that found nothing, or names nobody spoke of, does not outweigh what the embedded translator is surer of. Of a name that nothing
/// bears it is never surer than `below`; where it read such a one and the model a known one, what the model alone read is to be asked back.
pub fn weigh(translation: &mut Translation, model: &LlmUnderstand, below: f64, role: &str) {
    let (Some(by_model), Some(embedded)) = (&translation.model, &translation.embedded) else { return };
    let strange = model.strange(&embedded.predicates, role);
    if embedded.confidence.min(if strange { below } else { 1.0 }) <= translation.heard.confidence {
        return;
    }
    if !strange || by_model.is_empty() || model.strange(by_model, role) {
        translation.heard = embedded.clone();
        return;
    }
    let heard = &mut translation.heard;
    let (both, alone) = std::mem::take(&mut heard.predicates).into_iter().partition(|a| embedded.predicates.contains(a));
    (heard.predicates, heard.asks) = (both, alone);
    heard.words.truncate(heard.predicates.len());
}

/// What counts of a translation: a model's reading is held against the words, what the embedded translator reads has passed its gate.
pub fn hold(translation: Translation, embedded: &dyn Understand, text: &str, context: &Context) -> Heard {
    let by_model = translation.embedded.as_ref().is_none_or(|e| e.by != translation.heard.by);
    let heard = translation.into_heard();
    if by_model { embedded.gate(text, context, heard) } else { heard }
}

impl Understand for HybridUnderstand {
    fn over(&self, facts: &[crate::term::Atom]) -> Option<Arc<dyn Understand>> {
        let embedded = self.embedded.over(facts).unwrap_or_else(|| self.embedded.clone());
        Some(Arc::new(Self { embedded, model: self.model.over_facts(facts), ..self.clone() }))
    }

    fn understand(&self, text: &str, context: &Context) -> Heard {
        block_on(self.hearing(text, context))
    }

    fn hearing<'a>(&'a self, text: &'a str, context: &'a Context) -> BoxFuture<'a, Heard> {
        Box::pin(async move {
            let translation = self.translating(text, context).await;
            if let Some(observer) = &self.observer {
                observer(&translation);
            }
            hold(translation, &*self.embedded, text, context)
        })
    }

    fn account(&self, of: &Conversation) -> Option<Account> {
        self.model.account(of)
    }

    fn ended(&self, of: &Conversation) {
        self.model.ended(of);
    }
}
