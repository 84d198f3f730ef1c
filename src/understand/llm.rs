//! Translation by a language model: constrained reply, strict reading, one repair round, then the embedded result, then nothing.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use serde::Serialize;

use super::{Account, Context, Exchange, Guess, Heard, Sources, Understand};
use crate::conversation::Conversation;
use crate::llm::{BlockingModel, ChatRequest, Message, ModelError, Shape, Shaping, Usage};
use crate::ontology::Ontology;
use crate::term::{Atom, Name};
use crate::text::shorten;
use crate::text::words;
use crate::wait::block_on;

pub mod examples;
pub mod families;
pub mod forms;
pub mod grammar;
pub mod names;
pub mod prompt;
pub mod schema;

use examples::Examples;
use forms::Forms;
pub use names::Names;
pub use prompt::Prompts;

/// Confidence in a reply that was well-typed at once.
const SURE: f64 = 0.9;
/// Confidence in a reply that needed the repair round.
const REPAIRED: f64 = 0.75;
/// Most names that a further look shows.
const MOST_NAMES: usize = 400;
/// Taken off for each name that neither the words nor the context resemble.
const UNSUPPORTED: f64 = 0.25;

/// Sizes of a translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Most predicates of one utterance.
    pub predicates: usize,
    /// Names in the prompt.
    pub names: usize,
    /// Examples in the prompt.
    pub examples: usize,
    /// Longest utterance that is sent, in characters.
    pub characters: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { predicates: 30, names: 12, examples: 3, characters: 2_000 }
    }
}

/// What a model was asked and gave, for the turn's record.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Trace {
    /// The model's name.
    pub model: String,
    /// Its replies, shortened, in order.
    pub replies: Vec<String>,
    /// What was wrong with each unusable reply or exchange.
    pub problems: Vec<String>,
    /// The stable word for a fault of the exchange itself.
    pub fault: Option<&'static str>,
    /// What the operator can do about it.
    #[serde(skip)]
    pub hint: Option<&'static str>,
    /// Tokens and cost.
    pub usage: Usage,
    /// Time spent waiting for the model.
    #[serde(skip)]
    pub waited: Duration,
}

/// A translation with everything that led to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Translation {
    /// What counts.
    pub heard: Heard,
    /// The embedded translator's result, if it was asked.
    pub embedded: Option<Heard>,
    /// The model's result, if it gave a usable one.
    pub model: Option<Vec<Atom>>,
    /// How sure the model's result is.
    pub model_confidence: Option<f64>,
    /// The exchanges, if a model was asked.
    pub trace: Option<Trace>,
}

impl Translation {
    /// What counts, with what stood behind it.
    pub fn into_heard(self) -> Heard {
        let sure = self.heard.confidence;
        // Where the model's predicates were not taken, its own confidence is not the one that counts.
        let model = self.model.map(|predicates| Guess { predicates, confidence: self.model_confidence.unwrap_or(sure) });
        let sources = Sources { embedded: self.embedded.as_ref().map(Guess::from), model, exchange: self.trace.map(Exchange::from) };
        Heard { sources: Some(Box::new(sources)), ..self.heard }
    }
}

impl From<Trace> for Exchange {
    fn from(t: Trace) -> Self {
        Self { model: t.model, usage: t.usage, fault: t.fault.map(str::to_owned), problems: t.problems, hint: t.hint.map(str::to_owned), waited: t.waited }
    }
}

/// Who wants to see every translation (the turn record, an evaluation).
pub type Observer = Arc<dyn Fn(&Translation) + Send + Sync>;

/// A translator that asks a model. Clones share everything but the session's own parts.
#[derive(Clone)]
pub struct LlmUnderstand {
    shared: Arc<Shared>,
    names: Arc<Names>,
    /// The examples of roles, by their patterns over the names.
    examples: Arc<Mutex<BTreeMap<Name, Arc<Examples>>>>,
    fallback: Option<Arc<dyn Understand>>,
    observer: Option<Observer>,
}

struct Shared {
    model: BlockingModel,
    roles: BTreeMap<Name, (Forms, String)>,
    prompts: Prompts,
    settings: Settings,
}

impl LlmUnderstand {
    /// A translator for all roles of a domain.
    pub fn new(model: BlockingModel, ontology: &Arc<Ontology>, names: Arc<Names>, prompts: Prompts, settings: Settings) -> Result<Self, ModelError> {
        let mut roles = BTreeMap::new();
        let short = model.model().shaping() != Shaping::PerUtterance;
        for role in ontology.roles.keys() {
            let forms = Forms::of(ontology, role);
            let prefix = prompts.prefix(&forms, short)?;
            roles.insert(role.clone(), (forms, prefix));
        }
        Ok(Self { shared: Arc::new(Shared { model, roles, prompts, settings }), names, examples: Arc::default(), fallback: None, observer: None })
    }

    /// The same with another translator for when the model fails.
    #[must_use]
    pub fn fallback(mut self, embedded: Arc<dyn Understand>) -> Self {
        self.fallback = Some(embedded);
        self
    }

    /// The same for a site with other names.
    #[must_use]
    pub fn with_names(&self, names: Arc<Names>) -> Self {
        Self { names, examples: Arc::default(), ..self.clone() }
    }

    /// The model, with its account.
    pub fn model(&self) -> &BlockingModel {
        &self.shared.model
    }

    /// The same with an observer.
    #[must_use]
    pub fn observed(mut self, observer: Observer) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Translates on the calling thread.
    pub fn translate(&self, text: &str, context: &Context, embedded: Option<Heard>) -> Translation {
        block_on(self.translating(text, context, embedded))
    }

    /// Translates; with `embedded` given (the hybrid has it already), the fallback is that result.
    pub async fn translating(&self, text: &str, context: &Context, embedded: Option<Heard>) -> Translation {
        let mut trace = Trace { model: self.shared.model.name().to_owned(), ..Trace::default() };
        let started = Instant::now();
        let outcome = self.ask(text, context, &mut trace).await;
        trace.waited = started.elapsed();
        self.shared.model.book(&context.conversation, trace.usage);
        let mut translation = Translation { embedded, ..Translation::default() };
        match outcome {
            Ok(atoms) => {
                let confidence = self.confidence(&atoms, text, context, trace.replies.len());
                translation.heard = Heard { words: vec![vec![]; atoms.len()], predicates: atoms.clone(), confidence, by: "llm", ..Heard::default() };
                translation.model = Some(atoms);
                translation.model_confidence = Some(confidence);
            }
            Err(error) => {
                tracing::info!(kind = error.kind(), "the model gave no usable translation");
                trace.fault = Some(error.kind());
                trace.hint = error.hint();
                trace.problems.push(shorten(&error.to_string(), 300));
                if translation.embedded.is_none() {
                    translation.embedded = self.fallback.as_ref().map(|f| f.understand(text, context));
                }
                translation.heard = translation.embedded.clone().unwrap_or(Heard { by: "llm", ..Heard::default() });
            }
        }
        translation.trace = Some(trace);
        translation
    }

    async fn ask(&self, text: &str, context: &Context, trace: &mut Trace) -> Result<Vec<Atom>, ModelError> {
        let Shared { model, roles, prompts, settings } = &*self.shared;
        let (forms, prefix) = roles.get(&context.role).ok_or_else(|| ModelError::Config(format!("the domain has no role `{}`", shorten(&context.role, 40))))?;
        if text.chars().count() > settings.characters {
            return Err(ModelError::Config(format!("an utterance of more than {} characters is not sent", settings.characters)));
        }
        let model = &model.until(context.until);
        model.admit(&context.conversation)?;
        let slice = self.names.slice(text, &prompt::own(context), settings.names);
        let shaping = model.model().shaping();
        let short = shaping != Shaping::PerUtterance;
        let known = self.known(forms);
        let examples = known.nearest(forms, text, context, settings.examples);
        let turn = prompts.turn(forms, &self.names, &slice, text, context, &examples, short)?;
        let shape = |names: &Names| {
            (shaping != Shaping::Unshaped).then(|| Shape {
                name: "predicates".into(),
                schema: if short { schema::short() } else { schema::schema(forms, names, text, settings.predicates) },
                grammar: if short { String::new() } else { grammar::grammar(forms, names, text, settings.predicates) },
            })
        };
        let shape_now = shape(&self.names.only(&slice));
        let max_tokens = model.model().limits().reply_tokens;
        let mut request = Arc::new(ChatRequest { prefix: prefix.clone(), messages: vec![Message::user(turn)], shape: shape_now, max_tokens });
        let mut settled: Option<Vec<Atom>> = None;
        for round in 0..2 {
            let reply = match model.ask(request.clone()).await.inspect_err(|e| trace.usage += model.lost(&request, 0, e)) {
                Ok(reply) => reply,
                // The further look failed: what was understood without it stands.
                Err(error) => return settled.ok_or(error),
            };
            trace.usage += reply.usage;
            trace.replies.push(shorten(&reply.text, 2_000));
            let problems = match forms.read(&reply.text, text, &self.names, settings.predicates) {
                Ok(atoms) => {
                    let further = if round == 0 { self.further(&atoms, context, &slice) } else { vec![] };
                    if further.is_empty() {
                        return Ok(atoms);
                    }
                    // It named something that was not among the names shown: all the others are, once.
                    let again = Arc::make_mut(&mut request);
                    again.messages.extend([Message::model(shorten(&reply.text, 2_000)), Message::user(prompts.more(&further))]);
                    again.shape = shape(&self.names);
                    settled = Some(atoms);
                    continue;
                }
                Err(problems) => problems.to_string(),
            };
            if let Some(atoms) = settled {
                return Ok(atoms);
            }
            if round == 1 {
                return Err(ModelError::Unusable(shorten(&problems, 300)));
            }
            let said = if reply.text.trim().is_empty() { "{}".to_owned() } else { shorten(&reply.text, 2_000) };
            Arc::make_mut(&mut request).messages.extend([Message::model(said), Message::user(prompts.repair(&problems)?)]);
            trace.problems.push(problems);
        }
        Err(ModelError::Empty)
    }

    /// Whether something is named that nothing here bears, by a role that gives no new names.
    pub fn strange(&self, atoms: &[Atom], role: &str) -> bool {
        self.shared.roles.get(role).is_some_and(|(forms, _)| self.names.strange(forms, atoms))
    }

    /// The names that were not shown, if the model named something that is not known: it may be one of them under another word.
    fn further(&self, atoms: &[Atom], context: &Context, slice: &[Name]) -> Vec<Name> {
        let all = self.names.all();
        if self.strange(atoms, &context.role) && all.len() <= MOST_NAMES { all.into_iter().filter(|n| !slice.contains(n)).cloned().collect() } else { vec![] }
    }

    fn known(&self, forms: &Forms) -> Arc<Examples> {
        let mut examples = self.examples.lock().unwrap_or_else(PoisonError::into_inner);
        examples.entry(forms.role.clone()).or_insert_with(|| Arc::new(Examples::of(forms, &self.names))).clone()
    }

    /// A well-typed reply may still name things that nobody spoke of; then the confidence says so and the engine may ask back.
    fn confidence(&self, atoms: &[Atom], text: &str, context: &Context, rounds: usize) -> f64 {
        let mut near: Vec<String> = words(text);
        near.extend(context.view.names().flat_map(|n| words(n)));
        near.extend(context.last_actions.iter().chain(&context.said_before).flat_map(|a| words(&a.to_string())));
        let resembles = |part: &String| {
            near.iter().any(|w| (w.len() > 2 && (part.starts_with(w.as_str()) || w.starts_with(part.as_str()))) || strsim::jaro_winkler(part, w) > 0.85)
        };
        let names: std::collections::BTreeSet<Name> = atoms.iter().flat_map(prompt::strings_of).collect();
        let strange = names.iter().filter(|n| !words(n).iter().any(resembles)).count();
        let base = if rounds > 1 { REPAIRED } else { SURE };
        let off = (0..strange).fold(0.0, |sum, _| sum + UNSUPPORTED);
        if atoms.is_empty() { 0.0 } else { (base - off).max(0.1) }
    }
}

impl LlmUnderstand {
    /// The same over the names of a site's facts, its fallback too.
    #[must_use]
    pub fn over_facts(&self, facts: &[Atom]) -> Self {
        let ontology = self.shared.roles.values().next().map(|(forms, _)| forms.ontology());
        let names = ontology.map_or_else(|| self.names.clone(), |o| Arc::new(Names::of(o, facts).like(&self.names)));
        let fallback = self.fallback.as_ref().map(|f| f.over(facts).unwrap_or_else(|| f.clone()));
        Self { names, examples: Arc::default(), fallback, ..self.clone() }
    }
}

impl Understand for LlmUnderstand {
    fn over(&self, facts: &[Atom]) -> Option<Arc<dyn Understand>> {
        Some(Arc::new(self.over_facts(facts)))
    }

    fn understand(&self, text: &str, context: &Context) -> Heard {
        block_on(self.hearing(text, context))
    }

    fn hearing<'a>(&'a self, text: &'a str, context: &'a Context) -> BoxFuture<'a, Heard> {
        Box::pin(async move {
            let translation = self.translating(text, context, None).await;
            if let Some(observer) = &self.observer {
                observer(&translation);
            }
            let by_model = translation.model.is_some();
            let heard = translation.into_heard();
            match &self.fallback {
                Some(embedded) if by_model => embedded.gate(text, context, heard),
                _ => heard,
            }
        })
    }

    fn account(&self, of: &Conversation) -> Option<Account> {
        Some(self.shared.model.account(of))
    }

    fn ended(&self, of: &Conversation) {
        self.shared.model.close(of);
    }
}
