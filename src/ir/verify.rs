//! Verifies a flow: plays everything that a speaker can do to it and every way its calls can come back, and tells where it goes wrong.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use super::run::{Class, Decision, Dialogue, Next, Ready};
use super::{Flow, NodeKind};
use crate::reason::{ReasonError, Reasoner};
use crate::understand::flow::Heard;
use crate::understand::flow::cues::Signals;

/// Calls in one turn before the flow is taken to be going in circles.
const MAX_CALLS: usize = 4;

/// What a flow was found to do wrong, and what leads there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Broken {
    /// The property: `answers`, `rests`, `inputs` or `reached`.
    pub property: &'static str,
    /// What is wrong.
    pub what: String,
    /// What the speaker does, move by move; empty where nothing leads there at all.
    pub after: Vec<String>,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.property, self.what)?;
        if self.after.is_empty() { Ok(()) } else { write!(f, " (after: {})", self.after.join(", ")) }
    }
}

/// What the search found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// Situations that were visited.
    pub situations: usize,
    /// Whether these are all that there are.
    pub complete: bool,
    /// What is wrong, sorted; of each kind and place the shortest way there.
    pub broken: Vec<Broken>,
}

impl fmt::Display for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = if self.complete { "all" } else { "the first" };
        writeln!(f, "{all} {} situations visited, {} properties broken", self.situations, self.broken.len())?;
        self.broken.iter().try_for_each(|b| writeln!(f, "  {b}"))
    }
}

/// What a speaker can do.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Move {
    /// Says words that carry signals only.
    Says(&'static str),
    /// Gives slots.
    Gives(Vec<String>),
    /// Gives another value for a slot.
    Changes(String),
    /// Cannot give what was asked.
    Withholds(Vec<String>),
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Says(words) => write!(f, "says \"{words}\""),
            Self::Gives(slots) => write!(f, "gives {}", slots.join(" and ")),
            Self::Changes(slot) => write!(f, "changes {slot}"),
            Self::Withholds(slots) => write!(f, "cannot give {}", slots.join(" and ")),
        }
    }
}

/// The moves that make sense in a situation.
fn moves(d: &Dialogue) -> Vec<Move> {
    let mut out: Vec<Move> = ["hello", "yes please", "no", "thank you", "goodbye", "what do you mean?"].map(Move::Says).to_vec();
    let open: Vec<String> = d.awaited().iter().filter(|s| !d.known.values.contains_key(*s)).cloned().collect();
    if !open.is_empty() {
        out.push(Move::Withholds(open.clone()));
        out.push(Move::Gives(open));
    }
    let slots = d.flow().slots();
    let unknown: Vec<String> = slots.iter().map(|(_, s)| s.name.clone()).filter(|s| !d.known.values.contains_key(s)).collect();
    out.extend(unknown.first().map(|s| Move::Gives(vec![s.clone()])));
    if unknown.len() > 1 {
        out.push(Move::Gives(unknown));
    }
    out.extend(slots.iter().map(|(_, s)| &s.name).find(|s| d.known.values.contains_key(*s)).map(|s| Move::Changes(s.clone())));
    out
}

/// The words and meaning of a move, made in a dialogue.
fn make(d: &mut Dialogue, m: &Move) -> (&'static str, Heard) {
    d.begin();
    let mut heard = Heard::default();
    let words = match m {
        Move::Says(words) => words,
        Move::Gives(slots) => {
            for s in slots {
                d.known.refused.remove(s);
                d.known.values.insert(s.clone(), "given".to_owned());
                heard.gave.insert(s.clone());
            }
            ""
        }
        Move::Changes(slot) => {
            heard.changed.insert(slot.clone());
            ""
        }
        Move::Withholds(slots) => {
            d.known.refused.extend(slots.iter().cloned());
            "i don't know"
        }
    };
    heard.signals = Signals::of(words);
    (words, heard)
}

/// The results that a call may have.
fn results(flow: &Flow) -> [(Class, Option<Value>); 3] {
    // A result that holds every field that a step or a judge looks for.
    let mut good = serde_json::Map::new();
    for n in &flow.nodes {
        if let Some((suffix, prefix)) = &n.steps {
            good.insert(format!("x{suffix}"), json!(["one", "two", "three"]));
            good.insert(format!("{prefix}x{suffix}"), json!(["one", "two", "three"]));
        }
        if let Some(j) = &n.judge {
            good.insert(j.clone(), json!("yes"));
        }
    }
    [(Class::Good, Some(Value::Object(good))), (Class::Bad, Some(json!({"Message": "unavailable"}))), (Class::None, None)]
}

struct Search {
    flow: Arc<Ready>,
    found: BTreeMap<(&'static str, String), Vec<String>>,
    performed: BTreeSet<i32>,
    next: VecDeque<(Dialogue, Vec<String>)>,
    seen: BTreeSet<String>,
}

/// Visits at most `limit` situations.
pub fn verify(ready: &Arc<Ready>, limit: usize) -> Result<Verified, ReasonError> {
    let start = Dialogue::new(ready.clone());
    let mut s = Search { flow: ready.clone(), found: BTreeMap::new(), performed: BTreeSet::new(), next: VecDeque::new(), seen: BTreeSet::new() };
    s.next.push_back((start, Vec::new()));
    let mut situations = 0;
    while let Some((d, way)) = s.next.pop_front() {
        if situations == limit {
            s.next.push_front((d, way));
            break;
        }
        situations += 1;
        for m in moves(&d) {
            let mut after = d.clone();
            let (words, heard) = make(&mut after, &m);
            let mut way = way.clone();
            way.push(m.to_string());
            let decision = after.next(words, &heard, None, Reasoner::Fast)?;
            s.follow(after, words, &heard, decision, way, 0)?;
        }
    }
    let complete = s.next.is_empty();
    if complete {
        for n in s.flow.flow.nodes.iter().filter(|n| !s.performed.contains(&n.id) && (!n.slots().is_empty() || n.act.is_some() || is_call(&n.kind))) {
            s.found.insert(("reached", format!("nothing leads to node {}", n.id)), Vec::new());
        }
    }
    let broken = s.found.into_iter().map(|((property, what), after)| Broken { property, what, after }).collect();
    Ok(Verified { situations, complete, broken })
}

fn is_call(kind: &NodeKind) -> bool {
    matches!(kind, NodeKind::Call { .. })
}

impl Search {
    fn breaks(&mut self, property: &'static str, what: String, way: &[String]) {
        self.found.entry((property, what)).or_insert_with(|| way.to_vec());
    }

    /// Goes on after a decision: through every result of the calls it makes, to what is said.
    fn follow(&mut self, d: Dialogue, words: &str, heard: &Heard, decision: Decision, way: Vec<String>, calls: usize) -> Result<(), ReasonError> {
        match decision.next {
            Next::Silence => self.breaks("answers", "the flow has nothing to say".to_owned(), &way),
            Next::Call(node) => {
                self.performed.insert(node);
                if calls == MAX_CALLS {
                    self.breaks("rests", format!("node {node} is called again and again within one turn"), &way);
                    return Ok(());
                }
                self.check_inputs(&d, node, &way);
                for (class, value) in results(&self.flow.flow) {
                    let mut back = d.clone();
                    back.note_result(value);
                    let mut way = way.clone();
                    way.push(format!("node {node} comes back {}", format!("{class:?}").to_lowercase()));
                    let decision = back.next(words, heard, Some((node, class)), Reasoner::Fast)?;
                    self.follow(back, words, heard, decision, way, calls + 1)?;
                }
            }
            Next::Say(act) => {
                let mut d = d;
                self.performed.extend(self.flow.flow.nodes.iter().filter(|n| n.acts().any(|a| a == act)).map(|n| n.id));
                let asks = |n: &&super::Node| n.slots().iter().any(|s| s.ask.as_deref() == Some(act.as_str()) || s.also_asked_by.contains(&act));
                self.performed.extend(self.flow.flow.nodes.iter().filter(asks).map(|n| n.id));
                let text = d.words(&act);
                d.note_act(&act, &text);
                if self.seen.insert(situation(&d)) {
                    self.next.push_back((d, way));
                }
            }
        }
        Ok(())
    }

    /// A call has the inputs that its declaration requires.
    fn check_inputs(&mut self, d: &Dialogue, node: i32, way: &[String]) {
        let flow = self.flow.clone();
        let Some(NodeKind::Call { function, .. }) = flow.flow.node(node).map(|n| &n.kind) else { return };
        let Some(f) = flow.flow.functions.iter().find(|f| f.name == *function) else { return };
        for input in &f.required {
            let Some(slot) = flow.flow.slot(input) else { continue };
            let enough = slot.either.iter().any(|o| d.known.values.contains_key(o));
            if !enough && !d.known.values.contains_key(input) && !d.known.refused.contains(input) {
                self.breaks("inputs", format!("node {node} calls `{function}` without `{input}`"), way);
            }
        }
    }
}

/// What makes two situations differ: not how many turns ago the dialogue began, nor how often something was asked.
fn situation(d: &Dialogue) -> String {
    let mut s = d.snapshot();
    s.turn = s.turn.min(3);
    s.asked.values_mut().for_each(|n| *n = 1);
    serde_json::to_string(&s).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Source;
    use crate::ir::facts;
    use crate::lang::chief;

    fn verified(text: &str) -> Verified {
        let flow = chief::read(&Source::new("f.json", text)).0.unwrap();
        verify(&Arc::new(Ready::new(&facts::rules().unwrap(), flow).unwrap()), 400).unwrap()
    }

    const FLOW: &str = r#"{"task": "desk", "functions": [{"name": "room", "inputs": [{"name": "guest"}], "required": ["guest"]}],
      "nodes": [{"id": 1, "type": "request", "slots": [{"name": "guest", "type": "name", "ask_action": "ask_guest"}]},
        {"id": 2, "type": "external_action", "query": "room"},
        {"id": 3, "type": "inform", "action": "booked", "message": "Booked."}, {"id": 4, "type": "inform", "message": "Full."}],
      "edges": [{"source": 1, "target": 2}, {"source": 2, "target": 3, "condition": "Success"}, {"source": 2, "target": 4, "condition": "Failure"}],
      "fallback_actions": [{"intent": "goodbye", "action": "bye"}, {"intent": "anything_else", "action": "more"}, {"intent": "out_of_scope", "action": "lost"}]}"#;

    #[test]
    fn a_sound_flow_breaks_nothing() {
        let v = verified(FLOW);
        assert!(v.complete && v.broken.is_empty(), "{v}");
    }

    #[test]
    fn what_goes_wrong_is_told_with_the_way_there() {
        let v = verified(&FLOW.replace(r#""ask_action": "ask_guest""#, r#""ask_action": "ask_guest", "required": false"#));
        let b = v.broken.iter().find(|b| b.property == "inputs").unwrap_or_else(|| panic!("{v}"));
        assert_eq!((b.what.as_str(), b.after.len()), ("node 2 calls `room` without `guest`", 1));
        let v = verified(&FLOW.replace(r#", {"source": 2, "target": 4, "condition": "Failure"}"#, ""));
        assert!(v.broken.iter().any(|b| b.to_string() == "reached: nothing leads to node 4"), "{v}");
    }
}
