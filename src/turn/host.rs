//! The host of turns: fetches what a round is decided on, commits what comes of it, makes its calls, and says what is to be said.
//!
//! Nothing is held while a model or a function is waited for but the session's place in the order of its own turns.

mod broken;
mod order;
mod sites;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tracing::Instrument;

use super::audit::{self, Auditor};
use super::bases::Bases;
use super::calls::{Came, Intent};
use super::models::Models;
use super::options::Deadline;
use super::{Act, Given, Going, MAX_UTTERANCE, Options, Said, Taken, TurnError, TurnRecord, beside, conversation, inputs_as_facts, record, taken_in};
use crate::act::Functions;
use crate::conversation::Conversation;
use crate::domain::Domain;
use crate::facts::{Committed, Entry, Fact, Opened, SessionKey, Snapshot, Store, Ticket};
use crate::ir::guard::Guard;
use crate::ontology::{Arrived, Settled};
use crate::reason::{Base, Outcome, ReasonError, Reasoner};
use crate::render::{OnSentence, Render, Say, Tone};
use crate::term::Atom;
use crate::understand::{Context, Heard, Understand};
use crate::wait::{block_on, pause};

use order::Order;
use sites::{Sites, Translators};

/// How often a round is decided again when another writer was faster.
pub(super) const MAX_TRIES: u64 = 60;
/// Who translated where predicates arrived.
const SCRIPTED: &str = "scripted";
/// How many sessions' last decisions are remembered for questions about them.
const REMEMBERED: usize = 16;

/// A domain at work on a store: takes turns of any number of sites and sessions.
pub struct Engine {
    pub(super) domain: Arc<Domain>,
    pub(super) store: Arc<dyn Store>,
    understand: Option<Arc<dyn Understand>>,
    render: Option<Arc<dyn Render>>,
    functions: Arc<Functions>,
    pub(super) options: Options,
    bases: Bases,
    sites: Sites,
    last: Mutex<Vec<(SessionKey, Vec<Arc<Decided>>)>>,
    order: Order,
    pub(super) auditor: Auditor,
}

/// A decision that is remembered, for `why`, `why not` and `what if`.
pub struct Decided {
    /// Its actions.
    pub acts: Vec<Act>,
    /// Everything derived.
    pub outcome: Outcome,
    pub(super) opened: Opened,
    shared: Vec<Fact>,
}

/// Whose turn it is, and until when.
#[derive(Clone, Copy)]
pub(super) struct Speaker<'a> {
    key: &'a SessionKey,
    role: &'a str,
    until: Deadline,
    gate: Option<&'a dyn Gate>,
}

/// Lets a caller that takes turns side by side say in which order they are decided: what was said is understood before the gate, and the reply's
/// words are waited for after it, as is what calls give in domains where no turn changes what others are decided on.
pub trait Gate: Sync {
    /// Waits until this turn may be decided.
    fn enter(&self);
    /// Others may be decided.
    fn leave(&self);
}

/// A round that was committed, or the turn as it was taken before.
enum Done {
    Taken(Box<Made>),
    Before(Box<Entry>),
}

/// A committed round: what is still to be done for it.
struct Made {
    ticket: Option<Ticket>,
    calls: Vec<Intent>,
    says: Vec<Say>,
    tone: Tone,
    record: TurnRecord,
    render: Option<Arc<dyn Render>>,
    /// What the next round is decided on, if there is one and nobody else writes.
    next: Option<Snapshot>,
}

impl Engine {
    /// An engine for a domain on a store; its functions are answered by their stand-ins.
    pub fn new(domain: Domain, store: Arc<dyn Store>) -> Self {
        let functions = Arc::new(Functions::of(&domain.ontology));
        Self {
            domain: Arc::new(domain),
            store,
            understand: None,
            render: None,
            functions,
            options: Options::default(),
            bases: Bases::default(),
            sites: Sites::default(),
            last: Mutex::default(),
            order: Order::default(),
            auditor: Auditor::default(),
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

    /// The same with other targets of its functions.
    #[must_use]
    pub fn with_functions(mut self, functions: Functions) -> Self {
        self.functions = Arc::new(functions);
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

    /// The functions.
    pub fn functions(&self) -> &Functions {
        &self.functions
    }

    /// The options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Takes one turn. Each of its rounds happens or does not; a turn without calls has one. `request` names it for its sender: sent twice, it is
    /// taken once. A turn of the session that broke off between a call and its result is ended first.
    pub fn turn(&self, key: &SessionKey, role: &str, said: &Said<'_>, request: Option<&str>) -> Result<TurnRecord, TurnError> {
        block_on(self.take(key, role, said, request, None))
    }

    /// The same, awaited: while it waits for a model, a function or the turn before it, it holds no thread. Between two waits it computes and reads
    /// and writes the store, so it belongs on threads that are there for that. With `on_sentence` the reply is handed on in parts as they become
    /// safe to say; joined by blanks they are the record's text.
    pub async fn take(
        &self,
        key: &SessionKey,
        role: &str,
        said: &Said<'_>,
        request: Option<&str>,
        on_sentence: Option<OnSentence<'_>>,
    ) -> Result<TurnRecord, TurnError> {
        let speaker = self.speaker(key, role)?;
        let Some(on_sentence) = on_sentence else { return self.turn_of(&speaker, said, request, None).await };
        let mut spoke = false;
        let mut hand_on = |sentence: &str| {
            spoke = true;
            on_sentence(sentence);
        };
        let record = self.turn_of(&speaker, said, request, Some(&mut hand_on)).await?;
        if !spoke && !record.text.is_empty() {
            on_sentence(&record.text);
        }
        Ok(record)
    }

    /// The same for a caller that takes turns side by side and has an order in which they are decided.
    pub fn turn_through(&self, gate: &dyn Gate, key: &SessionKey, role: &str, said: &Said<'_>, request: Option<&str>) -> Result<TurnRecord, TurnError> {
        block_on(self.turn_of(&Speaker { gate: Some(gate), ..self.speaker(key, role)? }, said, request, None))
    }

    /// The same as `turn`, with the reply handed on in parts.
    pub fn turn_streaming(
        &self,
        key: &SessionKey,
        role: &str,
        said: &Said<'_>,
        request: Option<&str>,
        on_sentence: OnSentence<'_>,
    ) -> Result<TurnRecord, TurnError> {
        block_on(self.take(key, role, said, request, Some(on_sentence)))
    }

    /// Ends the session's turn that another process left with a call under way, if there is one.
    pub fn resume(&self, key: &SessionKey, role: &str) -> Result<Option<TurnRecord>, TurnError> {
        let speaker = self.speaker(key, role)?;
        block_on(async {
            let _due = self.due(&speaker).await?;
            let snapshot = self.begin(key, role, None)?;
            self.end_broken_off(&speaker, &snapshot).await
        })
    }

    async fn turn_of(
        &self,
        speaker: &Speaker<'_>,
        said: &Said<'_>,
        request: Option<&str>,
        mut on_sentence: Option<OnSentence<'_>>,
    ) -> Result<TurnRecord, TurnError> {
        let Speaker { key, role, .. } = *speaker;
        let _due = self.due(speaker).await?;
        let mut snapshot = self.begin(key, role, request)?;
        if let Some(before) = &snapshot.answered {
            // Its turn may have broken off between a call and its result.
            let now = self.begin(key, role, None)?;
            self.end_in_turn(speaker, &now).await?;
            return self.answer_of(key, before);
        }
        let left = self.end_in_turn(speaker, &snapshot).await?.map(|record| record.text).filter(|text| !text.is_empty());
        if snapshot.has_calls() {
            snapshot = self.begin(key, role, request)?;
        }
        if let (Some(text), Some(hand_on), Some(_)) = (&left, &mut on_sentence, &self.render) {
            hand_on(text);
        }
        let going = self.listen(speaker, said, &snapshot).await?.answering(&snapshot.opened);
        let snapshot = match speaker.gate {
            None => Some(snapshot),
            Some(gate) => {
                gate.enter();
                // What was read before may be of yesterday by now.
                None
            }
        };
        let mut record = self.rounds(speaker, going, snapshot, request, on_sentence).await?;
        if let Some(text) = left {
            record.text = [text, std::mem::take(&mut record.text)].join(" ").trim_end().to_owned();
        }
        Ok(record)
    }

    async fn due(&self, speaker: &Speaker<'_>) -> Result<order::Due<'_>, TurnError> {
        self.order.enter(speaker.key, speaker.until).await.ok_or_else(|| self.over_time("it waited for the turn before it"))
    }

    fn over_time(&self, what: &'static str) -> TurnError {
        TurnError::OverTime { millis: self.options.turn.time.as_millis(), what }
    }

    /// What a round is decided on, as it stands now.
    pub(super) fn begin(&self, key: &SessionKey, role: &str, request: Option<&str>) -> Result<Snapshot, TurnError> {
        let _span = tracing::debug_span!("begin").entered();
        Ok(self.store.begin(key, role, request)?)
    }

    /// Rounds until nothing is left to do but wait, and then the reply.
    async fn rounds(
        &self,
        speaker: &Speaker<'_>,
        mut going: Going,
        mut snapshot: Option<Snapshot>,
        request: Option<&str>,
        on_sentence: Option<OnSentence<'_>>,
    ) -> Result<TurnRecord, TurnError> {
        let mut why = vec![];
        loop {
            let mut made = match self.round(speaker, &going, snapshot.take(), request).await {
                Ok(Done::Before(entry)) => return self.answer_of(speaker.key, &entry),
                Ok(Done::Taken(made)) => made,
                Err(e) => return Err(self.give_up(speaker, going, e)),
            };
            let ticket = made.ticket.take().filter(|_| !made.calls.is_empty());
            // A round to come could be decided on what the next turn changes, as fast as calls happen to answer.
            if let Some(gate) = speaker.gate.filter(|_| ticket.is_none() || !self.domain.ontology.shares()) {
                gate.leave();
            }
            why.append(&mut made.record.why);
            let Some(ticket) = ticket else {
                made.record.why = why;
                made.tone.until = speaker.until.0;
                return Ok(self.say(*made, going.heard, on_sentence).await);
            };
            going.came = self.perform(&made.calls, &ticket, speaker.until).await;
            going.rounds = made.record.rounds;
            snapshot = match self.settle_conditions(speaker, &mut going, made.next).await {
                Ok(snapshot) => snapshot,
                Err(e) => return Err(self.give_up(speaker, going, e)),
            };
        }
    }

    /// One round, decided and committed; decided again when another writer was faster.
    async fn round(&self, speaker: &Speaker<'_>, going: &Going, mut snapshot: Option<Snapshot>, request: Option<&str>) -> Result<Done, TurnError> {
        let Speaker { key, role, until, .. } = *speaker;
        // The first round's commit carries the request's name: from it on, the request is taken.
        let request = request.filter(|_| going.rounds.is_empty());
        let mut tries = 0;
        loop {
            if until.passed() && going.rounds.is_empty() {
                return Err(self.over_time("it was being decided"));
            }
            let at = self.options.clock.now();
            let snapshot = snapshot.take().map_or_else(|| self.begin(key, role, request), Ok)?;
            if let Some(before) = snapshot.answered {
                return Ok(Done::Before(before));
            }
            if going.rounds.last().is_some_and(|r| r.turn != snapshot.opened.turn) {
                return Err(TurnError::Overtaken(key.session.clone()));
            }
            let (base, collected) = {
                let _span = tracing::debug_span!("facts").entered();
                (self.base(role, &snapshot)?, self.collected(role, &snapshot)?)
            };
            let given = Given { domain: &self.domain, role, snapshot: &snapshot, base: &base, collected: &collected, going, at };
            let mut taken = self.decide(&given)?;
            // A session ends with its last round: what the calls give is still to be noted.
            let ends = taken.calls.is_empty() && taken.record.ended.is_some();
            if ends && snapshot.last_one {
                taken = self.judged(&given, taken)?;
            }
            if !taken.calls.is_empty() && going.rounds.len() + 1 >= self.options.turn.rounds {
                return Err(TurnError::OverRounds(self.options.turn.rounds));
            }
            let account = self.account(&taken.tone.conversation);
            taken.record.models = Models::of(going.heard.sources.as_deref().cloned(), None, account);
            if self.options.explain {
                let _span = tracing::debug_span!("explain").entered();
                taken.record.why = record::why(&taken.outcome, &taken.acts, &self.provenance(&snapshot.opened, &snapshot.shared));
            }
            let mut commit = snapshot.opened.turn(at);
            commit.read = Some(self.rests_on(role, &snapshot, ends));
            commit.request = request.map(str::to_owned);
            commit.changes = std::mem::take(&mut taken.changes);
            commit.ended = ends;
            commit.record = taken.record.to_log();
            match tracing::debug_span!("commit").in_scope(|| self.store.commit_to_act(&commit)) {
                Ok((Committed::Before(entry), _)) => return Ok(Done::Before(entry)),
                Ok((Committed::Done(receipt), ticket)) => {
                    self.auditor.offer(&self.options, &base, std::mem::take(&mut taken.facts), taken.outcome.shown());
                    let render = self.translators(&snapshot)?.render;
                    let Taken { outcome, acts, calls, says, tone, record, .. } = taken;
                    let next = if calls.is_empty() { None } else { snapshot.clone().after(&commit, receipt) };
                    if self.options.remember {
                        self.remember(key, going, Decided { acts, outcome, opened: snapshot.opened, shared: snapshot.shared });
                    }
                    return Ok(Done::Taken(Box::new(Made { ticket, calls, says, tone, record, render, next })));
                }
                Err(e) if e.is_stale() && tries < MAX_TRIES => {
                    tries += 1;
                    // The other writer is let through; the pause differs from process to process.
                    pause(Duration::from_micros(tries * 200 + u64::from(std::process::id() % 500))).await;
                }
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// The decision; where an audit showed that the engines differ, clingo must agree from then on.
    pub(super) fn decide(&self, given: &Given<'_>) -> Result<Taken, TurnError> {
        let how = if self.auditor.doubtful() { Reasoner::Clingo } else { self.options.reasoner };
        super::round(given, how, &self.options.budget).inspect_err(|e| {
            if let TurnError::Reason(e) = e {
                audit::keep_reproducer(&self.options, e);
            }
        })
    }

    /// Makes the calls of a committed round.
    async fn perform(&self, calls: &[Intent], ticket: &Ticket, until: Deadline) -> Vec<Came> {
        let placed: Vec<_> = calls.iter().map(|i| (i.call(), usize::try_from(i.place).unwrap_or_default())).collect();
        let results = self.functions.perform_all(placed, ticket.clone(), until.0).instrument(tracing::debug_span!("act")).await;
        calls.iter().zip(results).map(|(intent, result)| Came::of(intent, &ticket.name(), result)).collect()
    }

    /// Takes the last round of a record again, with what was heard and what calls gave as the record has it; nothing is called.
    pub(super) fn retake(&self, key: &SessionKey, was: &TurnRecord) -> Result<TurnRecord, TurnError> {
        let speaker = self.speaker(key, &was.role)?;
        let going = was.before_last_round();
        if let Some(failed) = was.rounds.last().and_then(|r| r.failed.clone()) {
            return self.settle(key, &was.role, going, &failed);
        }
        match block_on(self.round(&speaker, &going, None, None))? {
            Done::Taken(made) => Ok(made.record),
            Done::Before(entry) => self.record_of(&entry),
        }
    }

    /// Keeps the decision for questions about it, beside those of the turn's rounds before.
    fn remember(&self, key: &SessionKey, going: &Going, decided: Decided) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let before = last.iter().position(|(k, _)| k == key).map(|at| last.remove(at).1).filter(|_| !going.rounds.is_empty());
        last.truncate(REMEMBERED - 1);
        last.insert(0, (key.clone(), before.into_iter().flatten().chain([Arc::new(decided)]).collect()));
    }

    /// The decisions of a session's last turn, round by round, if the options say that decisions are remembered.
    pub fn rounds_decided(&self, key: &SessionKey) -> Vec<Arc<Decided>> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.iter().find(|(k, _)| k == key).map(|(_, rounds)| rounds.clone()).unwrap_or_default()
    }

    /// Words to predicates. What is too long or no text is not listened to.
    async fn listen(&self, speaker: &Speaker<'_>, said: &Said<'_>, snapshot: &Snapshot) -> Result<Going, TurnError> {
        let text = match said {
            Said::Predicates(p) => {
                let heard = Heard { confidence: 1.0, by: SCRIPTED, ..Heard::default() };
                return Ok(Going { heard, arrived: p.iter().map(|t| Arrived::read(t)).collect(), ..Going::default() }.doubting());
            }
            Said::Atoms(words, atoms) => {
                let heard = Heard { confidence: 1.0, by: SCRIPTED, ..Heard::default() };
                return Ok(Going { said: words.map(str::to_owned), heard, arrived: atoms.iter().cloned().map(Arrived::from).collect(), ..Going::default() });
            }
            Said::Silence(seconds) => {
                let understand = self.translators(snapshot)?.understand.ok_or(TurnError::NoTranslator)?;
                let heard = understand.silence(*seconds, &self.context(speaker, snapshot)?).await;
                let arrived = heard.predicates.iter().cloned().map(Arrived::from).collect();
                return Ok(Going { heard, arrived, ..Going::default() });
            }
            Said::Text(t) => *t,
        };
        let understand = self.translators(snapshot)?.understand.ok_or(TurnError::NoTranslator)?;
        let listens = text.len() <= MAX_UTTERANCE && !text.trim().is_empty();
        let context = self.context(speaker, snapshot)?;
        let mut heard = if listens { understand.hearing(text, &context).instrument(tracing::debug_span!("understand")).await } else { Heard::default() };
        let mut arrived: Vec<Arrived> = heard.predicates.iter().cloned().map(Arrived::from).collect();
        let unclear = self.domain.ontology.inputs_of(speaker.role).any(|f| &*f.name == "unclear" && f.args.is_empty());
        // Who cannot ask back says that it was not understood.
        if !self.domain.ontology.asks_back() {
            heard.asks.clear();
        }
        if arrived.is_empty() && heard.unsure.is_empty() && heard.unheard.is_empty() && heard.asks.is_empty() && unclear {
            arrived.push(Atom::new("unclear", vec![]).into());
        }
        if speaker.until.passed() {
            return Err(self.over_time("the words were being understood"));
        }
        Ok(Going { said: Some(text.to_owned()), heard, arrived, before: context.said_before, ..Going::default() })
    }

    /// Says what is to be said. A model's wording comes after the commit: it may be slow, and it can change nothing.
    async fn say(&self, made: Made, heard: Heard, on_sentence: Option<OnSentence<'_>>) -> TurnRecord {
        let Made { says, tone, mut record, render, .. } = made;
        if let Some(render) = render {
            let saying = match on_sentence {
                Some(hand_on) => render.saying(&says, &tone, Some(&mut *hand_on)),
                None => render.saying(&says, &tone, None),
            };
            let mut worded = saying.instrument(tracing::debug_span!("render")).await;
            record.text = std::mem::take(&mut worded.text);
            let worded = (worded.exchange.is_some() || worded.bank.is_some()).then_some(worded);
            record.models = Models::of(heard.sources.map(|s| *s), worded, self.account(&tone.conversation));
        }
        if record.ended.is_some() {
            self.understand.iter().for_each(|u| u.ended(&tone.conversation));
            self.render.iter().for_each(|r| r.ended(&tone.conversation));
        }
        record
    }

    /// What a conversation and its site have used of models, if there are any.
    fn account(&self, of: &Conversation) -> Option<crate::understand::Account> {
        self.understand.as_ref().and_then(|u| u.account(of)).or_else(|| self.render.as_ref().and_then(|r| r.account(of)))
    }

    pub(super) fn check_role(&self, role: &str) -> Result<(), TurnError> {
        if self.domain.rules.contains_key(role) {
            return Ok(());
        }
        let known = self.domain.roles();
        Err(TurnError::UnknownRole { domain: self.domain.ontology.domain.clone(), role: role.to_owned(), known })
    }

    /// Begins the site if it is new, and says until when a turn may take.
    pub(super) fn speaker<'a>(&self, key: &'a SessionKey, role: &'a str) -> Result<Speaker<'a>, TurnError> {
        let until = Deadline::after(self.options.turn.time);
        self.check_role(role)?;
        self.sites.begin(&*self.store, &key.site, &self.domain, self.options.clock.now())?;
        Ok(Speaker { key, role, until, gate: None })
    }

    /// Takes a site as begun, with whatever facts it has.
    pub(super) fn has_begun(&self, site: &str) {
        self.sites.has_begun(site);
    }

    /// Both ends over the names of this kb version: a food that was added is understood, and watched for, as soon as it can be ordered.
    fn translators(&self, snapshot: &Snapshot) -> Result<Translators, TurnError> {
        let own = Translators { understand: self.understand.clone(), render: self.render.clone() };
        if own.understand.is_none() && own.render.is_none() {
            return Ok(own);
        }
        self.sites.translators(own, &*self.store, snapshot, &self.domain)
    }

    pub(super) fn base(&self, role: &str, snapshot: &Snapshot) -> Result<Base, TurnError> {
        let Some(rules) = self.domain.rules.get(role) else { return Err(ReasonError::NoModel.into()) };
        let (site, version) = (&snapshot.opened.key.site, snapshot.opened.kb_version);
        self.bases.get((site, role, version), (snapshot.revision.shared, &snapshot.shared), rules, || {
            let kb = self.store.kb(site, version)?;
            // A version from before a setting was declared stands under its default.
            Ok(self.domain.ontology.with_settings(&kb, &Settled::default(), &kb).into_iter().chain(self.domain.written.iter().cloned()).collect())
        })
    }

    /// The session's last turn, if it has taken one.
    pub fn last_turn(&self, opened: &Opened) -> Result<Option<TurnRecord>, TurnError> {
        let last = self.store.last_turn(&opened.key, opened.epoch)?;
        last.map(|entry| self.record_of(&entry)).transpose()
    }

    /// The record that an entry of the log holds.
    pub(super) fn record_of(&self, entry: &Entry) -> Result<TurnRecord, TurnError> {
        record::from_entry(entry, &self.domain.ontology.view)
    }

    /// What the listener may know: this conversation only.
    fn context(&self, speaker: &Speaker<'_>, snapshot: &Snapshot) -> Result<Context, TurnError> {
        let facts = snapshot.opened.facts.iter().chain(&snapshot.shared).map(|f| f.atom.clone()).collect();
        let until = speaker.until.before(self.options.turn.kept()).0;
        let context = Context { role: speaker.role.into(), conversation: conversation(&snapshot.opened), facts, until, ..Context::default() };
        Ok(match snapshot.last.as_ref().map(|entry| self.record_of(entry)).transpose()? {
            None => context,
            Some(last) => {
                let asked = last.asked();
                let view = self.domain.ontology.view.view(last.view);
                // The words are of what is still spoken of only where nothing came between.
                let (said_before, words_before) = if last.still.is_empty() { (last.predicates, last.said) } else { (last.still, None) };
                Context { asked, last_actions: last.actions, view, said_before, words_before, ..context }
            }
        })
    }

    /// What the listener says of conditions in free words, now that calls came back; with what the next round is decided on.
    async fn settle_conditions(&self, speaker: &Speaker<'_>, going: &mut Going, now: Option<Snapshot>) -> Result<Option<Snapshot>, TurnError> {
        going.settled.clear();
        let walks = self.domain.program.as_ref().is_some_and(|p| p.walks());
        let asks = if walks { going.heard.by != SCRIPTED } else { self.domain.guards.iter().any(Guard::is_in_words) };
        let Some(text) = going.said.clone().filter(|_| asks) else { return Ok(now) };
        let snapshot = now.map_or_else(|| self.begin(speaker.key, speaker.role, None), Ok)?;
        let Some(understand) = self.translators(&snapshot)?.understand else { return Ok(Some(snapshot)) };
        let mut context = self.context(speaker, &snapshot)?;
        context.facts = taken_in(&snapshot, going).1.into_iter().chain(snapshot.shared.iter().map(|f| f.atom.clone())).collect();
        if walks {
            let admission = self.domain.ontology.admit(speaker.role, &going.arrived);
            context.facts.extend(inputs_as_facts(going, &admission));
            context.facts.extend(beside(&snapshot.opened, going));
        }
        let said = understand.settling(&text, &context).await.into_iter();
        going.settled = said.filter_map(|atom| self.domain.ontology.admit_atom(speaker.role, &atom).ok()).collect();
        Ok(Some(snapshot))
    }

    /// Who brought a fact about, as that decision knew it.
    pub fn told_by(&self, decided: &Decided, atom: &Atom) -> String {
        self.provenance(&decided.opened, &decided.shared)(atom)
    }

    /// Who brought a fact about, in words; for proofs.
    pub(super) fn provenance<'a>(&'a self, opened: &'a Opened, shared: &'a [Fact]) -> impl Fn(&Atom) -> String + 'a {
        move |atom: &Atom| {
            let fact = opened.facts.iter().chain(shared).find(|f| f.atom == *atom);
            let written = || match (self.domain.origins.get(atom), self.domain.ontology.setting_of(atom)) {
                (Some(o), _) => format!("{}:{}", o.file, o.line),
                (None, Some(s)) => format!("a setting of the site, {}:{}", s.origin.file, s.origin.line),
                (None, None) => String::new(),
            };
            fact.map_or_else(written, |f| record::provenance_text(&f.provenance, &self.domain.ontology))
        }
    }
}
