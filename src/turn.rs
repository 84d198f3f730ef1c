//! The turn, top to bottom: words to predicates, predicates to a decision, the decision to facts and text.

pub mod again;
pub mod ask;
pub mod bases;
pub mod models;
pub mod options;
pub mod proofs;
pub mod record;
pub mod sample;
#[cfg(test)]
mod tests;
pub mod view;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::domain::Domain;
use crate::facts::change::effects_to_changes;
use crate::facts::{Change, Committed, Installed, Opened, SessionKey, Store, StoreError};
use crate::ontology::{Admission, Refused};
use crate::reason::{self, Outcome, ReasonError, Reasoner};
use crate::render::{Render, Say, Tone};
use crate::state::Conversation;
use crate::term::{Atom, Name, Term};
use crate::understand::{Context, Heard, Understand};

use bases::Bases;
use models::Models;
pub use options::{Clock, Options};
pub use record::{TurnRecord, Why};
use sample::Sampler;

/// Longest utterance that is listened to, in bytes; a longer one is answered politely and changes nothing.
pub const MAX_UTTERANCE: usize = 4000;
/// How often a turn is decided again when another writer was faster.
const MAX_TRIES: u64 = 60;

/// A domain at work on a store: takes turns of any number of sites and sessions.
pub struct Engine {
    domain: Arc<Domain>,
    store: Arc<dyn Store>,
    understand: Option<Arc<dyn Understand>>,
    render: Option<Arc<dyn Render>>,
    options: Options,
    bases: Bases,
    ends: Mutex<Vec<(EndsKey, Ends)>>,
    last: Mutex<Vec<Arc<Decided>>>,
    /// Sites that this engine has seen begun.
    begun: Mutex<BTreeSet<Name>>,
    sampler: Sampler,
}

/// A site's kb version and, where names are shared facts, their revision.
type EndsKey = (Name, u64, u64);

/// The translator and the renderer over the names of a site.
#[derive(Clone)]
struct Ends {
    understand: Option<Arc<dyn Understand>>,
    render: Option<Arc<dyn Render>>,
}

/// How many ends over names are kept.
const ENDS: usize = 16;

/// How many decisions are remembered for questions about them.
const REMEMBERED: usize = 16;

/// The last decision of a session, for `why`, `why not` and `what if`.
pub struct Decided {
    key: SessionKey,
    /// Its actions.
    pub acts: Vec<Act>,
    /// Everything derived.
    pub outcome: Outcome,
    opened: Opened,
    shared: Vec<crate::facts::Fact>,
}

/// What a turn is decided on.
struct Before {
    opened: Opened,
    revision: u64,
    shared: Vec<crate::facts::Fact>,
    ends: Ends,
    heard: Heard,
    texts: Vec<String>,
    admission: Admission,
    facts: Vec<Atom>,
    base: reason::Base,
    tone: Tone,
}

/// What a speaker said: words, or predicates from somebody who translated already.
#[derive(Clone, Debug, PartialEq)]
pub enum Said<'a> {
    /// Words.
    Text(&'a str),
    /// Predicates as texts; they are validated like everybody's.
    Predicates(&'a [String]),
    /// What was heard in a turn before, its doubts included.
    Before(&'a TurnRecord),
}

/// Why a turn was not taken. The state is as before.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TurnError {
    /// The role does not exist in the domain.
    #[error("the domain `{domain}` has no role `{role}`; it has {known}")]
    UnknownRole {
        /// The domain.
        domain: Name,
        /// What was asked for.
        role: String,
        /// What there is.
        known: String,
    },
    /// The store refused or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No decision was made.
    #[error(transparent)]
    Reason(#[from] ReasonError),
    /// The rules derived an effect that the role has no right to: a defect of the rules, so nothing is done.
    #[error("{0}")]
    Denied(String),
    /// Words came in, but no translator is configured.
    #[error("no translator is configured: give predicates (in a conversation a line starting with `!`)")]
    NoTranslator,
}

impl TurnError {
    /// What the speaker hears: never a technical word.
    pub fn polite(&self) -> &'static str {
        match self {
            Self::Store(StoreError::OtherRole { .. }) => "This conversation belongs to somebody else. Please start your own.",
            Self::Reason(ReasonError::OverBudget { .. }) => "That was too much at once. Could you say it in smaller steps?",
            Self::NoTranslator => "I only take predicates at the moment.",
            _ => "Sorry, something went wrong on our side and nothing was changed. Could you say that again?",
        }
    }
}

impl Engine {
    /// An engine for a domain on a store.
    pub fn new(domain: Domain, store: Arc<dyn Store>) -> Self {
        Self {
            domain: Arc::new(domain),
            store,
            understand: None,
            render: None,
            options: Options::default(),
            bases: Bases::default(),
            ends: Mutex::default(),
            last: Mutex::default(),
            begun: Mutex::default(),
            sampler: Sampler::default(),
        }
    }

    /// The same with a translator for words.
    #[must_use]
    pub fn with_understand(mut self, understand: Arc<dyn Understand>) -> Self {
        self.understand = Some(understand);
        self
    }

    /// The same with another renderer than the domain's templates.
    #[must_use]
    pub fn with_render(mut self, render: Arc<dyn Render>) -> Self {
        self.render = Some(render);
        self
    }

    /// The same with other options.
    #[must_use]
    pub fn with_options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// The domain.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The translator, if there is one.
    pub fn translator(&self) -> Option<&Arc<dyn Understand>> {
        self.understand.as_ref()
    }

    /// The options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Takes one turn: everything happens or nothing. `request` names it for its sender: sent twice, it is taken once.
    pub fn turn(&self, key: &SessionKey, role: &str, said: &Said<'_>, request: Option<&str>) -> Result<TurnRecord, TurnError> {
        self.turn_to(key, role, said, request, None)
    }

    /// The same, with the reply handed on in parts as they become safe to say; joined by blanks they are the record's text.
    pub fn turn_streaming(
        &self,
        key: &SessionKey,
        role: &str,
        said: &Said<'_>,
        request: Option<&str>,
        on_sentence: &mut dyn FnMut(&str),
    ) -> Result<TurnRecord, TurnError> {
        let mut spoke = false;
        let mut hand_on = |sentence: &str| {
            spoke = true;
            on_sentence(sentence);
        };
        let record = self.turn_to(key, role, said, request, Some(&mut hand_on))?;
        if !spoke && !record.text.is_empty() {
            on_sentence(&record.text);
        }
        Ok(record)
    }

    fn turn_to(
        &self,
        key: &SessionKey,
        role: &str,
        said: &Said<'_>,
        request: Option<&str>,
        mut on_sentence: Option<&mut dyn FnMut(&str)>,
    ) -> Result<TurnRecord, TurnError> {
        self.check_role(role)?;
        self.begin_site(&key.site)?;
        let mut tries = 0;
        loop {
            match self.turn_once(key, role, said, request, on_sentence.as_mut().map(|f| &mut **f as &mut dyn FnMut(&str))) {
                Err(TurnError::Store(e)) if e.is_stale() && tries < MAX_TRIES => {
                    tries += 1;
                    // The other writer is let through; the pause differs from process to process.
                    std::thread::sleep(std::time::Duration::from_micros(tries * 200 + u64::from(std::process::id() % 500)));
                }
                other => return other,
            }
        }
    }

    fn turn_once(
        &self,
        key: &SessionKey,
        role: &str,
        said: &Said<'_>,
        request: Option<&str>,
        on_sentence: Option<&mut dyn FnMut(&str)>,
    ) -> Result<TurnRecord, TurnError> {
        if let Some(before) = request.map(|r| self.store.answered(key, r)).transpose()?.flatten() {
            return Ok(record::from_entry(&before));
        }
        let at = self.options.clock.now();
        let before = self.read(key, role, said)?;
        let outcome = self.decide(&before)?;
        let decision = Decision::read(&outcome);
        let (mut record, says, changes) = self.draft(&before, &decision, said, role, at)?;
        if self.options.explain {
            record.why = record::why(&outcome, &decision.actions, &self.provenance(&before.opened, &before.shared));
        }
        let Before { opened, revision, shared, ends, base, facts, tone, .. } = before;

        let mut commit = opened.turn(at);
        commit.shared_read = Some(revision);
        commit.request = request.map(str::to_owned);
        commit.changes = changes;
        commit.ended = decision.ended.is_some();
        commit.record = record.to_log();
        if let Committed::Before(entry) = self.store.commit(&commit)? {
            return Ok(record::from_entry(&entry));
        }
        if self.options.remember {
            let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            last.retain(|d| d.key != *key);
            last.truncate(REMEMBERED - 1);
            last.insert(0, Arc::new(Decided { key: key.clone(), acts: decision.actions, outcome, opened, shared }));
        }
        self.sampler.offer(&self.options, &base, &facts);
        // The model's wording comes after the commit: it may be slow, and it can change nothing.
        if let Some(render) = &ends.render {
            let mut worded = match on_sentence {
                Some(hand_on) => render.stream(&says, &tone, hand_on),
                None => render.word(&says, &tone),
            };
            record.text = std::mem::take(&mut worded.text);
            let worded = worded.exchange.is_some().then_some(worded);
            record.models = Models::of(record.models.take().and_then(|m| m.understanding), worded, self.account(&tone.conversation));
        }
        if record.ended.is_some() {
            self.understand.iter().for_each(|u| u.ended(&tone.conversation));
            self.render.iter().for_each(|r| r.ended(&tone.conversation));
        }
        Ok(record)
    }

    /// The reading half of a turn: what was said as predicates, and all facts it is decided on.
    fn read(&self, key: &SessionKey, role: &str, said: &Said<'_>) -> Result<Before, TurnError> {
        let opened = self.store.open(key, role)?;
        let (revision, shared) = self.store.shared(&key.site)?;
        let ends = self.ends(&key.site, opened.kb_version)?;
        let (heard, texts) = self.understand(said, role, &opened, &ends)?;
        let admission = self.domain.ontology.admit(role, &texts);
        let facts = self.facts(role, &opened, &admission, &heard)?;
        let base = self.base(&key.site, role, opened.kb_version, revision, &shared)?;
        let tone = Tone { role: role.to_owned(), turn: opened.turn + 1, first: opened.turn == 0, conversation: conversation(&opened.key) };
        Ok(Before { opened, revision, shared, ends, heard, texts, admission, facts, base, tone })
    }

    /// The decision; where a sample showed that the engines differ, clingo confirms from then on.
    fn decide(&self, before: &Before) -> Result<Outcome, ReasonError> {
        let how = if self.sampler.doubtful() { Reasoner::Confirm } else { self.options.reasoner };
        reason::decide(&before.base, &before.facts, how, &self.options.budget).inspect_err(|e| sample::keep_reproducer(&self.options, e))
    }

    /// The record of a decision, what it says, and what it changes: nothing of it has happened yet.
    fn draft(&self, before: &Before, decision: &Decision, said: &Said<'_>, role: &str, at: i64) -> Result<(TurnRecord, Vec<Say>, Vec<Change>), TurnError> {
        let (changes, denied) = effects_to_changes(&decision.effects, &self.domain.ontology, role);
        if let Some(d) = denied.first() {
            return Err(TurnError::Denied(d.to_string()));
        }
        let Before { opened, heard, admission, tone, .. } = before;
        let says = says(&decision.actions, &admission.admitted);
        let record = TurnRecord {
            site: opened.key.site.to_string(),
            session: opened.key.session.to_string(),
            epoch: opened.epoch,
            turn: opened.turn + 1,
            role: role.to_owned(),
            at,
            said: match said {
                Said::Text(t) => Some((*t).to_owned()),
                Said::Predicates(_) => None,
                Said::Before(r) => r.said.clone(),
            },
            heard_by: heard.by.to_owned(),
            confidence: heard.confidence,
            arrived: before.texts.clone(),
            unsure: heard.unsure.iter().map(record::UnsureText::from).collect(),
            nearest: heard.nearest.iter().map(record::UnsureText::from).collect(),
            unheard: heard.unheard.clone(),
            predicates: admission.admitted.iter().map(|(_, a)| a.clone()).collect(),
            refused: admission.refused.iter().map(record::RefusedText::from).collect(),
            actions: decision.actions.iter().map(|a| a.action.clone()).collect(),
            effects: changes.iter().map(ToString::to_string).collect(),
            ended: decision.ended.clone(),
            text: self.domain.templates.render(&says, tone),
            state: view::state(&decision.view),
            why: vec![],
            models: Models::of(heard.sources.as_deref().cloned(), None, self.account(&tone.conversation)),
        };
        Ok((record, says, changes))
    }

    /// What a conversation and its site have used of models, if there are any.
    fn account(&self, of: &Conversation) -> Option<crate::understand::Account> {
        self.understand.as_ref().and_then(|u| u.account(of)).or_else(|| self.render.as_ref().and_then(|r| r.account(of)))
    }

    /// Begins the site if it is new; comparing the facts of one that is known costs more than a turn, so once is enough.
    fn begin_site(&self, site: &Name) -> Result<(), TurnError> {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        if !begun.contains(site) {
            if let Installed::Differs { added, removed } = self.store.install(site, &self.domain.facts, self.options.clock.now())? {
                tracing::warn!(%site, added, removed, "the site goes on with the facts it began with: the domain's files changed since (`duologue store rebase` brings them in)");
            }
            begun.insert(site.clone());
        }
        Ok(())
    }

    fn check_role(&self, role: &str) -> Result<(), TurnError> {
        if self.domain.rules.contains_key(role) {
            return Ok(());
        }
        let known = self.domain.rules.keys().map(|k| &**k).collect::<Vec<_>>().join(", ");
        Err(TurnError::UnknownRole { domain: self.domain.ontology.domain.clone(), role: role.to_owned(), known })
    }

    /// Words to predicate texts. What is too long or no text is not listened to.
    fn understand(&self, said: &Said<'_>, role: &str, opened: &Opened, ends: &Ends) -> Result<(Heard, Vec<String>), TurnError> {
        let text = match said {
            Said::Predicates(p) => return Ok((Heard { confidence: 1.0, by: "scripted", ..Heard::default() }, p.to_vec())),
            Said::Before(r) => return Ok((r.heard(), r.arrived.clone())),
            Said::Text(t) => *t,
        };
        let understand = ends.understand.as_ref().ok_or(TurnError::NoTranslator)?;
        let heard =
            if text.len() > MAX_UTTERANCE || text.trim().is_empty() { Heard::default() } else { understand.understand(text, &self.context(role, opened)) };
        let mut texts: Vec<String> = heard.predicates.iter().map(ToString::to_string).collect();
        let unclear = self.domain.ontology.inputs_of(role).any(|f| &*f.name == "unclear" && f.args.is_empty());
        if texts.is_empty() && heard.unsure.is_empty() && heard.unheard.is_empty() && unclear {
            texts.push("unclear".to_owned());
        }
        Ok((heard, texts))
    }

    /// Both ends over the names of this kb version: a food that was added is understood, and watched for, as soon as it can be ordered.
    fn ends(&self, site: &Name, version: u64) -> Result<Ends, TurnError> {
        let own = Ends { understand: self.understand.clone(), render: self.render.clone() };
        if own.understand.is_none() && own.render.is_none() {
            return Ok(own);
        }
        let names = self.domain.ontology.shared_names();
        let (revision, shared) = if names.is_empty() { (0, vec![]) } else { self.store.shared(site)? };
        let key = (site.clone(), version, revision);
        let mut kept = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, ends)) = kept.iter().find(|(k, _)| *k == key) {
            return Ok(ends.clone());
        }
        let mut facts = self.store.kb(site, version)?.to_vec();
        facts.extend(shared.into_iter().map(|f| f.atom).filter(|a| names.contains(&a.name)));
        let ends = if facts == *self.domain.facts {
            own
        } else {
            let understand = own.understand.map(|u| u.over(&facts).unwrap_or(u));
            let render = own.render.map(|r| r.over(&facts).unwrap_or(r));
            Ends { understand, render }
        };
        kept.truncate(ENDS - 1);
        kept.insert(0, (key, ends.clone()));
        Ok(ends)
    }

    /// What the listener may know: this conversation only.
    pub fn context(&self, role: &str, opened: &Opened) -> Context {
        let last: Vec<TurnRecord> =
            self.store.last_turn(&opened.key, opened.epoch).ok().flatten().map(|entry| record::from_entry(&entry)).into_iter().collect();
        let last = last.first();
        Context {
            role: role.into(),
            last_actions: last.map(|r| r.actions.clone()).unwrap_or_default(),
            order: last.map(|r| r.state.order.clone()).unwrap_or_default(),
            said_before: last.map(|r| r.predicates.clone()).unwrap_or_default(),
            holds: last.map(|r| record::shown(&r.state)).unwrap_or_default(),
            asked: last.map(TurnRecord::asked).unwrap_or_default(),
            conversation: conversation(&opened.key),
        }
    }

    /// The facts of session and turn.
    fn facts(&self, role: &str, opened: &Opened, admission: &Admission, heard: &Heard) -> Result<Vec<Atom>, StoreError> {
        let mut facts: Vec<Atom> = opened.facts.iter().map(|f| f.atom.clone()).collect();
        facts.push(Atom::new("role", vec![Term::constant(role)]));
        for (at, atom) in &admission.admitted {
            facts.push(Atom::new("in", vec![Term::Int(*at), atom.to_term()]));
        }
        for r in &admission.refused {
            facts.push(refused_fact(r));
        }
        for (n, unsure) in heard.unsure.iter().enumerate() {
            for (rank, name) in unsure.candidates.iter().take(5).enumerate() {
                facts.push(Atom::new("unsure", vec![int(n + 1), int(rank + 1), Term::Str(name.clone())]));
            }
        }
        for (n, words) in heard.unheard.iter().enumerate() {
            facts.push(Atom::new("unheard", vec![int(n + 1), Term::string(words)]));
        }
        for (n, near) in heard.nearest.iter().enumerate() {
            for (rank, name) in near.candidates.iter().enumerate() {
                facts.push(Atom::new("similar", vec![int(n + 1), int(rank + 1), Term::Str(name.clone())]));
            }
        }
        for change in self.store.kb_pending(&opened.key.site)? {
            let name = if change.op == crate::facts::Op::Add { "collected_add" } else { "collected_del" };
            facts.push(Atom::new(name, vec![change.fact.to_term()]));
        }
        facts.sort();
        Ok(facts)
    }

    fn base(&self, site: &Name, role: &str, version: u64, revision: u64, shared: &[crate::facts::Fact]) -> Result<reason::Base, TurnError> {
        let Some(rules) = self.domain.rules.get(role) else { return Err(ReasonError::NoModel.into()) };
        self.bases.get((site, role, version), (revision, shared), rules, || self.store.kb(site, version).map_err(TurnError::from))
    }

    /// The state after the session's last turn, if it has taken one.
    pub fn last_state(&self, opened: &Opened) -> Option<crate::state::State> {
        let last = self.store.last_turn(&opened.key, opened.epoch).ok()??;
        Some(record::from_entry(&last).state)
    }

    /// Who brought a fact about, as that decision knew it.
    pub fn told_by(&self, decided: &Decided, atom: &Atom) -> String {
        self.provenance(&decided.opened, &decided.shared)(atom)
    }

    /// Who brought a fact about, in words; for proofs.
    fn provenance<'a>(&'a self, opened: &'a Opened, shared: &'a [crate::facts::Fact]) -> impl Fn(&Atom) -> String + 'a {
        move |atom: &Atom| {
            let fact = opened.facts.iter().chain(shared).find(|f| f.atom == *atom);
            fact.map(|f| record::provenance_text(&f.provenance, &self.domain.ontology)).unwrap_or_default()
        }
    }
}

fn conversation(key: &SessionKey) -> Conversation {
    Conversation { site: key.site.to_string(), session: key.session.to_string() }
}

fn int(n: usize) -> Term {
    Term::Int(i32::try_from(n).unwrap_or(i32::MAX))
}

/// A predicate of the role's own with arguments that fit no form is shown to the rules, so that they can refuse it with
/// its reason; of everything else they see the code only.
fn refused_fact(r: &Refused) -> Atom {
    let own = matches!(r.code, "wrong_argument" | "number_out_of_bounds");
    match Atom::parse(&r.text) {
        Ok(atom) if own => Atom::new("faulty", vec![Term::Int(r.at), atom.to_term()]),
        _ => Atom::new("refused", vec![Term::Int(r.at), Term::constant(r.code)]),
    }
}

/// An action with the input that it answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Act {
    /// The phase and the position in it.
    pub place: (i32, i32),
    /// The action.
    pub action: Atom,
}

impl Act {
    /// The atom that the rules show for it.
    pub fn shown(&self) -> Atom {
        Atom::new("act", vec![Term::Int(self.place.0), Term::Int(self.place.1), self.action.to_term()])
    }
}

/// A decision as the turn uses it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Decision {
    actions: Vec<Act>,
    effects: Vec<Atom>,
    ended: Option<String>,
    view: Vec<Atom>,
}

impl Decision {
    /// Reads the shown atoms, which come sorted: actions by phase and position.
    fn read(outcome: &Outcome) -> Self {
        let mut decision = Self::default();
        for atom in outcome.shown() {
            match (&*atom.name, atom.args.as_slice()) {
                ("act", [Term::Int(phase), Term::Int(k), action]) => {
                    if let Some(action) = action.to_atom() {
                        decision.actions.push(Act { place: (*phase, *k), action });
                    }
                }
                ("effect", [Term::Const(op), _, status]) if &**op == "end" => decision.ended = Some(status.to_string()),
                ("effect", _) => decision.effects.push(atom.clone()),
                ("view", _) => decision.view.push(atom.clone()),
                _ => {}
            }
        }
        decision
    }
}

/// The reply phase stands at the position of the input it answers.
const REPLIES: i32 = 2;

fn says(actions: &[Act], inputs: &[(i32, Atom)]) -> Vec<Say> {
    let input = |act: &Act| (act.place.0 == REPLIES).then(|| inputs.iter().find(|(at, _)| *at == act.place.1).map(|(_, a)| a.clone())).flatten();
    actions.iter().map(|a| Say { action: a.action.clone(), input: input(a) }).collect()
}
