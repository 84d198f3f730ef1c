//! Rendering by a language model: the template's text in the house's tone, checked sentence by sentence, with the template in reserve.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use minijinja::{Environment, UndefinedBehavior, context};
use serde::Serialize;
use serde_json::Value;

pub use super::By;
use super::faithful::scan::{sentences, take_sentences};
use super::faithful::{Faithful, Violation};
use super::{Account, Exchange, OnSentence, Render, Say, Tone, Worded};
use crate::conversation::Conversation;
use crate::llm::{BlockingModel, ChatRequest, Message, ModelError, Usage};
use crate::term::Atom;
use crate::text::{CURRENCIES, shown};
use crate::wait::block_on;

/// A reply may be this much longer than its draft, in characters, beside a fixed allowance.
const LONGER: usize = 2;
/// The fixed allowance, in characters.
const ALLOWANCE: usize = 120;

/// A reply with everything that led to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Rendering {
    /// What is said.
    pub text: String,
    /// Whose words they are.
    pub by: By,
    /// The template's text.
    pub template: String,
    /// What was wrong with the model's texts.
    pub violations: Vec<Violation>,
    /// The stable word for a fault of the exchange.
    pub fault: Option<&'static str>,
    /// The fault in words.
    pub problem: Option<String>,
    /// What the operator can do about it.
    #[serde(skip)]
    pub hint: Option<&'static str>,
    /// Tokens and cost.
    pub usage: Usage,
    /// Time spent waiting for the model.
    #[serde(skip)]
    pub waited: Duration,
}

impl Rendering {
    fn failed(&mut self, error: &ModelError) {
        tracing::info!(kind = error.kind(), "the model gave no usable wording");
        (self.fault, self.problem, self.hint) = (Some(error.kind()), Some(crate::text::shorten(&error.to_string(), 300)), error.hint());
    }
}

/// How often the model's words were used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RenderShare {
    /// Replies.
    pub turns: u64,
    /// Of these, those wholly in the model's words.
    pub model: u64,
    /// Of these, those that needed the template.
    pub fallback: u64,
}

/// The prompts of rendering.
#[derive(Clone, Debug)]
pub struct RenderPrompts {
    environment: Environment<'static>,
    prefix: String,
}

/// The core templates by name.
const CORE: [(&str, &str); 3] = [
    ("render", include_str!("../../prompts/core/render.jinja")),
    ("render_turn", include_str!("../../prompts/core/render_turn.jinja")),
    ("render_retry", include_str!("../../prompts/core/render_retry.jinja")),
];

impl RenderPrompts {
    /// The core templates, or those that `own` gives for `NAME.jinja`; the tone from `tone.txt`.
    pub fn with(title: &str, own: impl Fn(&str) -> Option<String>) -> Result<Self, ModelError> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        for (name, core) in CORE {
            let text = own(&format!("{name}.jinja")).unwrap_or_else(|| core.to_owned());
            environment.add_template_owned(name, text).map_err(|e| ModelError::Config(format!("prompt `{name}`: {e:#}")))?;
        }
        let tone = own("tone.txt").unwrap_or_else(|| "friendly, brief and clear.".to_owned());
        let mut prompts = Self { environment, prefix: String::new() };
        prompts.prefix = prompts.fill("render", context!(title, tone => tone.trim()))?;
        Ok(prompts)
    }

    fn fill(&self, name: &str, values: minijinja::Value) -> Result<String, ModelError> {
        self.environment.get_template(name).and_then(|t| t.render(values)).map_err(|e| ModelError::Config(format!("prompt `{name}`: {e:#}")))
    }
}

/// Who wants to see every rendering.
pub type Observer = Arc<dyn Fn(&Rendering) + Send + Sync>;

/// A renderer that asks a model for the words. Clones count together.
#[derive(Clone)]
pub struct LlmRender {
    model: BlockingModel,
    template: Arc<dyn Render>,
    faithful: Faithful,
    prompts: RenderPrompts,
    observer: Option<Observer>,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    turns: AtomicU64,
    model: AtomicU64,
    fallback: AtomicU64,
}

impl LlmRender {
    /// A renderer over the template's own.
    pub fn new(model: BlockingModel, template: Arc<dyn Render>, faithful: Faithful, prompts: RenderPrompts) -> Self {
        Self { model, template, faithful, prompts, observer: None, counts: Arc::default() }
    }

    /// The same for a site with other names.
    #[must_use]
    pub fn with_names(&self, faithful: Faithful) -> Self {
        Self { faithful, ..self.clone() }
    }

    /// The same with an observer.
    #[must_use]
    pub fn observed(mut self, observer: Observer) -> Self {
        self.observer = Some(observer);
        self
    }

    /// The model, with its account.
    pub fn model(&self) -> &BlockingModel {
        &self.model
    }

    /// How often the model's words were used so far.
    pub fn share(&self) -> RenderShare {
        let get = |n: &AtomicU64| n.load(Ordering::Relaxed);
        RenderShare { turns: get(&self.counts.turns), model: get(&self.counts.model), fallback: get(&self.counts.fallback) }
    }

    /// The reply as a whole, with what led to it.
    pub fn compose(&self, says: &[Say], tone: &Tone) -> Rendering {
        block_on(self.composing(says, tone, None))
    }

    /// The reply in sentences as they are checked; what is handed on is final. The rendering's text is all of it together.
    pub fn stream(&self, says: &[Say], tone: &Tone, on_sentence: OnSentence<'_>) -> Rendering {
        block_on(self.composing(says, tone, Some(on_sentence)))
    }

    /// The reply, as a whole or in sentences.
    async fn composing(&self, says: &[Say], tone: &Tone, mut on_sentence: Option<OnSentence<'_>>) -> Rendering {
        let draft = self.template.render(says, tone);
        let mut rendering = Rendering { text: draft.clone(), template: draft, ..Rendering::default() };
        let started = Instant::now();
        let outcome = if rendering.template.trim().is_empty() { Ok(()) } else { self.two_rounds(says, tone, &mut rendering, &mut on_sentence).await };
        if let Err(error) = outcome {
            rendering.failed(&error);
        }
        rendering.waited = started.elapsed();
        self.model.book(&tone.conversation, rendering.usage);
        self.counts.turns.fetch_add(1, Ordering::Relaxed);
        let counter = if matches!(rendering.by, By::Model | By::Retry) { &self.counts.model } else { &self.counts.fallback };
        counter.fetch_add(1, Ordering::Relaxed);
        if let Some(observer) = &self.observer {
            observer(&rendering);
        }
        if let Some(on_sentence) = on_sentence.filter(|_| rendering.by == By::Template && !rendering.text.is_empty()) {
            on_sentence(&rendering.text);
        }
        rendering
    }

    /// One text, one retry; an error leaves it to the template.
    async fn two_rounds(&self, says: &[Say], tone: &Tone, rendering: &mut Rendering, on_sentence: &mut Option<OnSentence<'_>>) -> Result<(), ModelError> {
        self.model.admit(&tone.conversation)?;
        let turn = self.prompts.fill("render_turn", context!(draft => Value::from(rendering.template.as_str()).to_string()))?;
        // A token has about four characters; twice that is room enough for a long draft.
        let tokens = u32::try_from(rendering.template.chars().count() / 2).unwrap_or(u32::MAX);
        let max_tokens = tokens.max(self.model.model().limits().reply_tokens);
        let mut request = Arc::new(ChatRequest { prefix: self.prompts.prefix.clone(), messages: vec![Message::user(turn)], shape: None, max_tokens });
        for by in [By::Model, By::Retry] {
            let Attempt { text, verdict, finished } = match on_sentence {
                None => self.whole(says, tone, rendering, request.clone()).await?,
                Some(hand_on) => self.in_sentences(says, tone, rendering, request.clone(), &mut **hand_on).await?,
            };
            match verdict {
                Ok(()) => {
                    rendering.text = text;
                    rendering.by = if finished { By::Mixed } else { by };
                    return Ok(());
                }
                Err(violation) => {
                    let problem = violation.to_string();
                    let said = if text.is_empty() { "…".to_owned() } else { crate::text::shorten(&text, 1_000) };
                    Arc::make_mut(&mut request)
                        .messages
                        .extend([Message::model(said), Message::user(self.prompts.fill("render_retry", context!(problem => problem.as_str()))?)]);
                    rendering.violations.push(violation);
                }
            }
        }
        Ok(())
    }

    async fn whole(&self, says: &[Say], tone: &Tone, rendering: &mut Rendering, request: Arc<ChatRequest>) -> Result<Attempt, ModelError> {
        let reply = self.model.until(tone.until).ask(request.clone()).await.inspect_err(|e| rendering.usage += self.model.lost(&request, 0, e))?;
        rendering.usage += reply.usage;
        let text = tidy(&shown(&sentences(&reply.text).join(" "), CURRENCIES));
        let verdict =
            if text.chars().count() > room(&rendering.template) { Err(Violation::Length) } else { self.faithful.check(&text, says, tone, &*self.template) };
        Ok(Attempt { text, verdict, finished: false })
    }

    async fn in_sentences(
        &self,
        says: &[Say],
        tone: &Tone,
        rendering: &mut Rendering,
        request: Arc<ChatRequest>,
        on_sentence: OnSentence<'_>,
    ) -> Result<Attempt, ModelError> {
        let mut checker = self.faithful.checker(says, tone, &*self.template);
        let (mut open, mut released, mut length) = (String::new(), Vec::new(), 0);
        let room = room(&rendering.template);
        let model = self.model.until(tone.until);
        let outcome = model
            .streaming(request.clone(), &mut |piece| {
                // A quotation mark around the whole is no part of what is said.
                open.push_str(if length == 0 { piece.trim_start_matches(['"', ' ']) } else { piece });
                length += piece.chars().count();
                for sentence in take_sentences(&mut open) {
                    for checked in checker.add(&shown(&sentence, CURRENCIES)) {
                        on_sentence(&checked);
                        released.push(checked);
                    }
                }
                if checker.failed() || length > room { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
            .await;
        match &outcome {
            Ok(reply) => {
                rendering.usage += reply.usage;
                let last = if open.matches('"').count() == 1 { open.trim().trim_end_matches('"') } else { open.trim() };
                for checked in sentences(last).iter().flat_map(|s| checker.add(&shown(s, CURRENCIES))).collect::<Vec<_>>() {
                    on_sentence(&checked);
                    released.push(checked);
                }
            }
            // The provider tells what a stream used at its end only.
            Err(error) => rendering.usage += self.model.lost(&request, length, error),
        }
        let rest = checker.rest();
        let verdict = if length > room { Err(Violation::Length) } else { checker.finish() };
        let (text, verdict, finished) = match (outcome, released.is_empty()) {
            (Err(error), true) if error != ModelError::Stopped => return Err(error),
            (_, true) => (String::new(), verdict.and(Err(Violation::Empty)), false),
            (Ok(_), false) if verdict.is_ok() => (released.join(" "), Ok(()), false),
            // Sentences went out already: the template says what is left.
            (outcome, false) => {
                if let Some(error) = outcome.err().filter(|e| *e != ModelError::Stopped) {
                    rendering.failed(&error);
                }
                rendering.violations.extend(verdict.err());
                if !rest.is_empty() {
                    on_sentence(&rest);
                    released.push(rest);
                }
                (released.join(" "), Ok(()), true)
            }
        };
        Ok(Attempt { text, verdict, finished })
    }
}

/// What came of asking a model once.
struct Attempt {
    text: String,
    verdict: Result<(), Violation>,
    /// Whether the template finished it.
    finished: bool,
}

/// How many characters a model may use for a draft.
fn room(draft: &str) -> usize {
    draft.chars().count() * LONGER + ALLOWANCE
}

/// The text without white space and quotation marks around it.
fn tidy(text: &str) -> String {
    let text = text.trim();
    let inner = text.strip_prefix('"').and_then(|t| t.strip_suffix('"')).filter(|t| !t.contains('"')).unwrap_or(text);
    inner.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl LlmRender {
    fn worded(&self, r: Rendering) -> Worded {
        let problems = r.problem.into_iter().collect();
        let exchange = Exchange {
            model: self.model.name().to_owned(),
            usage: r.usage,
            fault: r.fault.map(str::to_owned),
            problems,
            hint: r.hint.map(str::to_owned),
            waited: r.waited,
        };
        Worded { text: r.text, by: r.by, bank: None, violations: r.violations.iter().map(ToString::to_string).collect(), exchange: Some(exchange) }
    }
}

impl Render for LlmRender {
    fn render(&self, says: &[Say], tone: &Tone) -> String {
        self.word(says, tone).text
    }

    fn saying<'a>(&'a self, says: &'a [Say], tone: &'a Tone, on_sentence: Option<OnSentence<'a>>) -> BoxFuture<'a, Worded> {
        Box::pin(async move { self.worded(self.composing(says, tone, on_sentence).await) })
    }

    fn over(&self, facts: &[Atom]) -> Option<Arc<dyn Render>> {
        Some(Arc::new(self.with_names(self.faithful.over(facts))))
    }

    fn account(&self, of: &Conversation) -> Option<Account> {
        Some(self.model.account(of))
    }

    fn ended(&self, of: &Conversation) {
        self.model.close(of);
    }
}
