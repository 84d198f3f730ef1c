//! Talking to a flow on a store: hear, decide, commit, call what has to be called, commit what came back, say.
//!
//! A turn is one or more entries of the store's log. Whoever finds a call that was intended but has no result (the process broke off in between)
//! goes on from there: a call that may be repeated is made again under the same name, any other counts as interrupted and is never made twice.

mod record;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::run::{Class, Decision, Dialogue, Next, Ready, class_of};
use super::{NodeKind, SlotKind};
use crate::act::{ActError, Call, Functions, Returned};
use crate::facts::{Committed, Opened, SessionKey, Store, StoreError, Ticket};
use crate::reason::{Outcome, ReasonError, Reasoner};
use crate::understand::flow::Heard;
use crate::understand::question::{ByWords, Judge};

use record::{Came, changes};
pub use record::{Intent, Step};

/// Calls in one turn before the flow is taken to be going in circles.
const MAX_CALLS: usize = 4;
/// How often a turn is decided again when another writer was faster.
const MAX_TRIES: usize = 20;
/// The role of who speaks to a flow.
const ROLE: &str = "speaker";

/// Why a turn was not taken, or not ended.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    /// The store refused or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No decision was made.
    #[error(transparent)]
    Reason(#[from] ReasonError),
    /// The session's record cannot be read.
    #[error("the last turn of `{0}` is no turn of a flow: {1}")]
    Record(String, String),
    /// The session speaks with another flow.
    #[error("the session `{session}` speaks with the flow `{flow}`")]
    OtherFlow {
        /// The session.
        session: String,
        /// Its flow.
        flow: String,
    },
    /// Somebody else went on with the session while a call was under way.
    #[error("somebody else went on with the session `{0}` while a call was under way")]
    Overtaken(String),
}

/// A conversation with a flow. It holds no state of its own: the store does.
pub struct Chat {
    ready: Arc<Ready>,
    functions: Functions,
    store: Arc<dyn Store>,
    key: SessionKey,
    judge: Arc<dyn Judge>,
    reasoner: Reasoner,
    told: String,
    clock: fn() -> i64,
}

/// What came of an utterance.
#[derive(Debug)]
pub struct Reply {
    /// What is said; empty when the flow has nothing to say.
    pub text: String,
    /// The act behind it.
    pub act: Option<String>,
    /// The calls made, in order.
    pub calls: Vec<Result<Returned, ActError>>,
    /// Functions that were to be called and are not connected: they are taken to succeed with nothing to tell.
    pub unconnected: Vec<String>,
    /// Fields of the reply's template that nothing fills.
    pub missing: Vec<String>,
    /// The last decision, for its proof.
    pub outcome: Outcome,
}

/// A turn under way.
struct Turn {
    opened: Opened,
    dialogue: Dialogue,
    said: String,
    heard: Heard,
    /// The calls made so far, with those of a process that broke off.
    place: usize,
    calls: Vec<Result<Returned, ActError>>,
    unconnected: Vec<String>,
    /// The result that the next entry of the log records.
    came: Option<Came>,
    facts: Vec<crate::term::Atom>,
}

fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

impl Chat {
    /// A conversation on a store; it goes on where its session stands. Functions that are not declared are taken to succeed with nothing to
    /// tell, so that a flow can be tried before anything is connected.
    pub fn new(ready: Arc<Ready>, functions: Functions, store: Arc<dyn Store>, key: SessionKey) -> Result<Self, ChatError> {
        // The flow itself is in its file: the store needs no facts of it. A site that was begun by a domain keeps that domain's facts.
        let _ = store.install(&key.site, &[], now())?;
        let judge = Arc::new(ByWords);
        Ok(Self { ready, functions, store, key, judge, reasoner: Reasoner::Confirm, told: String::new(), clock: now })
    }

    /// The same with another reader of conditions in free words.
    #[must_use]
    pub fn judged_by(mut self, judge: Arc<dyn Judge>) -> Self {
        self.judge = judge;
        self
    }

    /// The same with another way of deciding.
    #[must_use]
    pub fn decided_by(mut self, reasoner: Reasoner) -> Self {
        self.reasoner = reasoner;
        self
    }

    /// The same with facts that the agent is told beforehand, one a line.
    #[must_use]
    pub fn told(mut self, facts: &str) -> Self {
        facts.clone_into(&mut self.told);
        self
    }

    /// Where the session stands.
    pub fn dialogue(&self) -> Result<Dialogue, ChatError> {
        let opened = self.store.open(&self.key, ROLE)?;
        Ok(self.standing(&opened)?.0)
    }

    /// Where an opened session stands, with the last entry of its log and the ticket of that turn.
    fn standing(&self, opened: &Opened) -> Result<(Dialogue, Option<(Step, Ticket)>), ChatError> {
        let Some((entry, ticket)) = self.store.resume(&self.key, opened.epoch)? else {
            return Ok((Dialogue::new(self.ready.clone()).told(&self.told), None));
        };
        let record = entry.turn().map(|t| t.record.as_str()).unwrap_or_default();
        let step: Step = serde_json::from_str(record).map_err(|e| ChatError::Record(self.key.session.to_string(), e.to_string()))?;
        if step.flow != self.ready.flow.name {
            return Err(ChatError::OtherFlow { session: self.key.session.to_string(), flow: step.flow });
        }
        Ok((Dialogue::resumed(self.ready.clone(), step.standing.clone()), Some((step, ticket))))
    }

    /// Ends the turn that another process left with a call under way, if there is one.
    pub fn resume(&self) -> Result<Option<Reply>, ChatError> {
        let opened = self.store.open(&self.key, ROLE)?;
        let (dialogue, Some((step, ticket))) = self.standing(&opened)? else { return Ok(None) };
        let Some(intent) = step.calls else { return Ok(None) };
        let heard = step.heard.heard(&step.said);
        let facts = opened.facts.iter().map(|f| f.atom.clone()).collect();
        let mut turn = Turn { opened, dialogue, said: step.said, heard, place: intent.place, calls: vec![], unconnected: vec![], came: None, facts };
        let may_repeat = self.functions.get(&intent.function).is_some_and(|f| f.idempotent);
        let result = if may_repeat { self.perform(&intent, &ticket) } else { Err(ActError::Interrupted(intent.function.clone())) };
        let decision = self.note(&mut turn, &intent, result)?;
        self.go_on(turn, decision).map(Some)
    }

    /// One turn.
    pub fn step(&self, text: &str) -> Result<Reply, ChatError> {
        self.resume()?;
        let mut tries = 0;
        loop {
            match self.first(text) {
                Err(ChatError::Store(e)) if e.is_stale() && tries < MAX_TRIES => tries += 1,
                other => return other,
            }
        }
    }

    fn first(&self, text: &str) -> Result<Reply, ChatError> {
        let opened = self.store.open(&self.key, ROLE)?;
        let (mut dialogue, _) = self.standing(&opened)?;
        let heard = dialogue.hear(text);
        dialogue.settle(text, &heard, &*self.judge);
        let decision = dialogue.next(text, &heard, None, self.reasoner)?;
        let facts = opened.facts.iter().map(|f| f.atom.clone()).collect();
        let turn = Turn { opened, dialogue, said: text.to_owned(), heard, place: 0, calls: vec![], unconnected: vec![], came: None, facts };
        self.go_on(turn, decision)
    }

    /// Makes the calls that the decision asks for, each between the commit of its intent and the commit of its result, and says what comes of it.
    fn go_on(&self, mut turn: Turn, mut decision: Decision) -> Result<Reply, ChatError> {
        while let Next::Call(node) = decision.next {
            if turn.place >= MAX_CALLS {
                break;
            }
            turn.place += 1;
            decision = match self.intent(&turn, node) {
                Ok(intent) => {
                    let ticket = self.commit(&mut turn, Some(intent.clone()), None, String::new(), false)?;
                    let result = self.perform(&intent, &ticket);
                    self.note(&mut turn, &intent, result)?
                }
                Err(function) => {
                    turn.unconnected.push(function);
                    turn.dialogue.note_result(Some(Value::Object(serde_json::Map::new())));
                    turn.dialogue.settle(&turn.said, &turn.heard, &*self.judge);
                    turn.dialogue.next(&turn.said, &turn.heard, Some((node, Class::Good)), self.reasoner)?
                }
            };
        }
        let (act, text, missing) = match decision.next {
            Next::Say(act) => {
                let (text, missing) = turn.dialogue.filled(&act);
                turn.dialogue.note_act(&act, &text);
                (Some(act), text, missing)
            }
            Next::Call(_) | Next::Silence => (None, String::new(), Vec::new()),
        };
        let leaves = act.is_some() && act == self.ready.flow.anywhere.goodbye;
        self.commit(&mut turn, None, act.clone(), text.clone(), leaves)?;
        Ok(Reply { text, act, calls: turn.calls, unconnected: turn.unconnected, missing, outcome: decision.outcome })
    }

    /// Notes what a call gave, and decides again.
    fn note(&self, turn: &mut Turn, intent: &Intent, result: Result<Returned, ActError>) -> Result<Decision, ChatError> {
        let value = result.as_ref().ok().map(|r| r.value.clone()).filter(|v| !v.is_null());
        let class = if result.is_err() { Class::Bad } else { class_of(value.as_ref()) };
        turn.dialogue.note_result(value);
        if result.is_err() {
            turn.dialogue.note_failure();
        }
        turn.came = Some(Came::of(intent, &result));
        turn.facts.retain(|f| !record::is_result_of(f, &intent.function));
        turn.facts.extend(result.iter().flat_map(Returned::facts));
        turn.calls.push(result);
        turn.dialogue.settle(&turn.said, &turn.heard, &*self.judge);
        Ok(turn.dialogue.next(&turn.said, &turn.heard, Some((intent.node, class)), self.reasoner)?)
    }

    fn perform(&self, intent: &Intent, ticket: &Ticket) -> Result<Returned, ActError> {
        let call = Call { function: intent.function.clone(), inputs: intent.inputs.clone() };
        self.functions.perform_blocking(&call, intent.place, ticket)
    }

    /// The call that a node makes; the function's name when nobody declared it.
    fn intent(&self, turn: &Turn, node: i32) -> Result<Intent, String> {
        let flow = turn.dialogue.flow();
        let Some(NodeKind::Call { function, variant }) = flow.node(node).map(|n| &n.kind) else { return Err(String::new()) };
        let Some(declared) = self.functions.get(function) else { return Err(function.clone()) };
        let mut inputs: BTreeMap<String, Value> = BTreeMap::new();
        let defaults = turn.dialogue.defaults();
        for (name, value) in defaults.iter().chain(&turn.dialogue.known.values).filter(|(_, v)| !v.is_empty()) {
            let kind = flow.slot(name).map(|s| s.kind);
            let typed = match (kind, value.parse::<i64>()) {
                (Some(SlotKind::Integer), Ok(n)) => Value::from(n),
                (Some(SlotKind::Boolean), _) => Value::from(value == "yes"),
                _ => Value::from(value.as_str()),
            };
            inputs.insert(name.clone(), typed);
        }
        if let Some(v) = variant {
            inputs.insert("request_type".to_owned(), Value::from(v.as_str()));
        }
        // The function takes what it declares: slots of other calls of the flow are none of its business.
        inputs.retain(|name, _| declared.inputs.iter().any(|i| i.name == *name));
        Ok(Intent { node, place: turn.place, function: function.clone(), inputs })
    }

    fn commit(&self, turn: &mut Turn, calls: Option<Intent>, act: Option<String>, text: String, ended: bool) -> Result<Ticket, ChatError> {
        let step = Step {
            flow: self.ready.flow.name.clone(),
            said: turn.said.clone(),
            heard: (&turn.heard).into(),
            came: turn.came.take(),
            calls,
            act,
            text,
            standing: turn.dialogue.snapshot(),
        };
        let mut commit = turn.opened.turn((self.clock)());
        commit.changes = changes(&turn.opened.facts, &step, &turn.facts);
        commit.record = serde_json::to_string(&step).map_err(|e| ChatError::Record(self.key.session.to_string(), e.to_string()))?;
        commit.ended = ended;
        let overtaken = || ChatError::Overtaken(self.key.session.to_string());
        let first = turn.place <= 1 && turn.calls.is_empty();
        let (committed, ticket) = match self.store.commit_to_act(&commit) {
            Err(e) if e.is_stale() && !first => return Err(overtaken()),
            other => other?,
        };
        let (Committed::Done(_), Some(ticket)) = (committed, ticket) else { return Err(overtaken()) };
        if !ended {
            turn.opened = self.store.open(&self.key, ROLE)?;
            if turn.opened.turn != commit.turn || turn.opened.epoch != commit.epoch {
                return Err(overtaken());
            }
        }
        Ok(ticket)
    }
}
