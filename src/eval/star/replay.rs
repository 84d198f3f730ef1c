//! One recorded dialogue, turn by turn: the engine predicts, then follows what the human agent really did.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::data::{Dialogue, Event, States};
use super::{Protocol, StarError};
use crate::ir::run::{self, Class, Decision, Next, Ready, class_of};
use crate::ir::{NodeKind, SlotKind};
use crate::reason::Reasoner;
use crate::understand::flow::{Heard, Known};
use crate::understand::question::ByWords;

/// One prediction.
#[derive(Debug)]
pub struct Example {
    /// The dialogue's number.
    pub dialogue: i64,
    /// The event that is predicted.
    pub event: usize,
    /// The task.
    pub task: String,
    /// What the human agent did.
    pub gold: String,
    /// What the engine would do.
    pub predicted: String,
    /// The human agent's words; empty for calls.
    pub gold_text: String,
    /// The engine's words.
    pub text: String,
    /// The engine made a call in the turn.
    pub called: bool,
    /// So did the human agent.
    pub gold_called: bool,
    /// The decisions of the turn, for their proofs: the calls, then the act.
    pub decisions: Vec<Decision>,
}

/// A dialogue to replay.
pub struct Replay<'a> {
    /// The dialogue.
    pub dialogue: &'a Dialogue,
    /// Its flow.
    pub flow: &'a Arc<Ready>,
    /// Given states.
    pub states: Option<&'a States>,
    /// What counts as an example.
    pub protocol: Protocol,
    /// Which engines decide.
    pub reasoner: Reasoner,
}

/// Calls in one turn before the engine gives up.
const MAX_CALLS: usize = 3;

/// The stretch from one utterance of the speaker to the next.
struct Turn<'a> {
    text: &'a str,
    heard: Heard,
    rest: &'a [(usize, Event)],
}

impl Replay<'_> {
    /// Predicts every example of the dialogue.
    pub fn run(&self) -> Result<Vec<Example>, StarError> {
        let mut state = run::Dialogue::new(self.flow.clone()).told(&self.dialogue.told);
        let mut before: BTreeMap<String, String> = BTreeMap::new();
        let mut out = Vec::new();
        let events = &self.dialogue.events;
        let starts: Vec<usize> = events.iter().enumerate().filter(|(_, (_, e))| matches!(e, Event::User(_))).map(|(n, _)| n).collect();
        for (n, start) in starts.iter().enumerate() {
            let end = starts.get(n + 1).copied().unwrap_or(events.len());
            let Some(((at, Event::User(text)), rest)) = events.get(*start..end).and_then(<[_]>::split_first) else { continue };
            let earlier = state.known.clone();
            let mut heard = state.hear(text);
            if let Some(states) = self.states {
                let given = states.get(&(self.dialogue.id, *at)).cloned().unwrap_or_default();
                take(&mut state, &mut heard, &earlier, &before, &given);
                before = given;
            }
            state.settle(text, &heard, &ByWords);
            let turn = Turn { text, heard, rest };
            if self.protocol == Protocol::P5 {
                out.extend(self.whole_turn(&state, &turn)?);
                turn.rest.iter().for_each(|(_, e)| follow(&mut state, e));
            } else {
                self.every_event(&mut state, &turn, &mut out)?;
            }
        }
        Ok(out)
    }

    /// One act per turn; the calls it takes are made with the results the human agent got in the same turn.
    fn whole_turn(&self, state: &run::Dialogue, turn: &Turn<'_>) -> Result<Option<Example>, StarError> {
        let Some(place) = turn.rest.iter().position(|(_, e)| matches!(e, Event::Act(..))) else { return Ok(None) };
        let (Some((event, Event::Act(gold, gold_text))), Some(earlier)) = (turn.rest.get(place), turn.rest.get(..place)) else { return Ok(None) };
        let results = results(earlier);
        let mut state = state.clone();
        let mut called = false;
        let mut decision = state.next(turn.text, &turn.heard, None, self.reasoner)?;
        let mut decisions = Vec::new();
        for _ in 0..MAX_CALLS {
            let Next::Call(node) = decision.next else { break };
            called = true;
            let class = self.call(&mut state, node, &results);
            decisions.push(decision);
            decision = state.next(turn.text, &turn.heard, Some((node, class)), self.reasoner)?;
        }
        let predicted = self.label(&decision.next);
        decisions.push(decision);
        Ok(Some(self.example(*event, gold, gold_text, predicted, &state, called, !results.is_empty(), decisions)))
    }

    /// What a call gives: the recorded result of the same kind of call in this turn, or, when there is none, the outcome that was hoped for.
    fn call(&self, state: &mut run::Dialogue, node: i32, results: &[(String, Option<Value>)]) -> Class {
        let variant = match self.flow.flow.node(node).map(|n| &n.kind) {
            Some(NodeKind::Call { variant, .. }) => variant.clone().unwrap_or_default(),
            _ => String::new(),
        };
        let found = results.iter().rfind(|(v, _)| *v == variant).or_else(|| results.last());
        match found {
            Some((_, result)) => {
                let class = class_of(result.as_ref());
                state.note_result(result.clone());
                class
            }
            None => Class::Good,
        }
    }

    fn every_event(&self, state: &mut run::Dialogue, turn: &Turn<'_>, out: &mut Vec<Example>) -> Result<(), StarError> {
        // The last call's result, until the agent has told it.
        let mut pending: Option<(i32, Class)> = None;
        let mut calls = self
            .flow
            .flow
            .nodes
            .iter()
            .filter_map(|n| if let NodeKind::Call { variant, .. } = &n.kind { Some((n.id, variant.clone().unwrap_or_default())) } else { None });
        let calls: Vec<(i32, String)> = calls.by_ref().collect();
        let mut last_call = calls.first().map_or(0, |(id, _)| *id);
        for (event, e) in turn.rest {
            let gold = match e {
                Event::Act(label, text) => Some((label.clone(), text.as_str())),
                Event::Query(v) => Some((query(v), "")),
                _ => None,
            };
            if let Some((gold, gold_text)) = gold {
                let decision = state.next(turn.text, &turn.heard, pending, self.reasoner)?;
                let predicted = self.label(&decision.next);
                let (called, gold_called) = (matches!(decision.next, Next::Call(_)), matches!(e, Event::Query(_)));
                out.push(self.example(*event, &gold, gold_text, predicted, state, called, gold_called, vec![decision]));
            }
            match e {
                Event::Query(v) => last_call = calls.iter().find(|(_, x)| x == v).or_else(|| calls.first()).map_or(0, |(id, _)| *id),
                Event::Result(r) => pending = Some((last_call, class_of(r.as_ref()))),
                Event::Act(..) => pending = None,
                _ => {}
            }
            follow(state, e);
        }
        Ok(())
    }

    fn label(&self, next: &Next) -> String {
        match next {
            Next::Say(act) => act.clone(),
            Next::Call(node) => match self.flow.flow.node(*node).map(|n| &n.kind) {
                Some(NodeKind::Call { variant, .. }) => query(variant.as_deref().unwrap_or("")),
                _ => query(""),
            },
            Next::Silence => "out_of_scope".to_owned(),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of one record")]
    fn example(
        &self,
        event: usize,
        gold: &str,
        gold_text: &str,
        predicted: String,
        state: &run::Dialogue,
        called: bool,
        gold_called: bool,
        decisions: Vec<Decision>,
    ) -> Example {
        let text = if gold_text.is_empty() { String::new() } else { state.words(&predicted) };
        Example {
            dialogue: self.dialogue.id,
            event,
            task: self.dialogue.task.clone(),
            gold: gold.to_owned(),
            text,
            predicted,
            gold_text: gold_text.to_owned(),
            called,
            gold_called,
            decisions,
        }
    }
}

fn query(variant: &str) -> String {
    if variant.is_empty() { "query".to_owned() } else { format!("query_{variant}") }
}

/// Kinds whose values are whatever the speaker says; for all others the engine's own ear knows what a value looks like.
fn is_open(kind: SlotKind) -> bool {
    matches!(kind, SlotKind::Name | SlotKind::Place | SlotKind::String | SlotKind::Text)
}

/// The given state's values replace the engine's own. A state that was made from the calls of the human agent leaves out what he did not use in
/// one and holds some values before they were said: so a slot that it lacks keeps what the engine heard, a value of a closed kind counts once it
/// was heard or asked for (a number that is a name, or a date of birth, only once it was heard), and what the speaker says he cannot give is not
/// known.
fn take(state: &mut run::Dialogue, heard: &mut Heard, earlier: &Known, before: &BTreeMap<String, String>, given: &BTreeMap<String, String>) {
    let own = std::mem::take(&mut state.known.values);
    let flow = state.flow();
    let open = |s: &str| flow.slot(s).is_some_and(|s| is_open(s.kind));
    let exact = |s: &str| flow.slot(s).is_some_and(|s| matches!(s.kind, SlotKind::Digits | SlotKind::Birthdate));
    let asked = |s: &String| state.asked().contains_key(s) && !exact(s);
    let counts = |s: &String| own.contains_key(s) || !state.known.refused.contains(s) && (open(s) || asked(s));
    let given: BTreeMap<String, String> = given.iter().filter(|(s, _)| counts(s)).map(|(s, v)| (s.clone(), v.clone())).collect();
    let said: BTreeSet<String> = heard.gave.iter().chain(&heard.changed).chain(&heard.again).cloned().collect();
    let news = |s: &String| open(s) || said.contains(s) || state.awaited().contains(s);
    heard.again.extend(said.iter().cloned());
    heard.gave.retain(|s| !given.contains_key(s));
    heard.changed.retain(|s| !given.contains_key(s));
    heard.gave.extend(given.keys().filter(|s| !before.contains_key(*s) && !earlier.values.contains_key(*s) && news(s)).cloned());
    heard.changed.extend(given.iter().filter(|(s, v)| before.get(*s).is_some_and(|o| o != *v) && news(s)).map(|(s, _)| s.clone()));
    let mut values = own;
    // Asked for twice and answered somehow, it is not asked for again.
    for (s, _) in state.asked().clone().into_iter().filter(|(_, n)| *n >= 2) {
        values.entry(s).or_default();
    }
    values.extend(given);
    state.known.values = values;
}

/// The calls of a turn with their results.
fn results(events: &[(usize, Event)]) -> Vec<(String, Option<Value>)> {
    let mut out = Vec::new();
    let mut open: Option<&String> = None;
    for (_, e) in events {
        match e {
            Event::Query(v) => open = Some(v),
            Event::Result(r) => out.extend(open.map(|v| (v.clone(), r.clone()))),
            _ => {}
        }
    }
    out
}

/// The dialogue goes on as it really did.
fn follow(state: &mut run::Dialogue, event: &Event) {
    match event {
        Event::Act(label, text) => state.note_act(label, text),
        Event::Words(text) => state.note_words(text),
        Event::Result(r) => state.note_result(r.clone()),
        Event::User(_) | Event::Query(_) => {}
    }
}
