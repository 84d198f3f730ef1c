//! Talking to a flow: hear, decide, call what has to be called, say.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::run::{Class, Dialogue, Next, Ready, class_of};
use super::{NodeKind, SlotKind};
use crate::act::{ActError, Call, Committed, Functions, Returned};
use crate::reason::{Outcome, ReasonError, Reasoner};

/// Calls in one turn before the flow is taken to be going in circles.
const MAX_CALLS: usize = 4;

/// A conversation with a flow.
#[derive(Debug)]
pub struct Chat {
    /// Where it stands.
    pub dialogue: Dialogue,
    functions: Functions,
    session: String,
    turn: u64,
    reasoner: Reasoner,
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
    /// The last decision, for its proof.
    pub outcome: Outcome,
}

impl Chat {
    /// A conversation that has not begun. Functions that are not declared are taken to succeed with nothing to tell, so that a flow can be tried
    /// before anything is connected.
    pub fn new(ready: Arc<Ready>, functions: Functions, session: &str, reasoner: Reasoner) -> Self {
        Self { dialogue: Dialogue::new(ready), functions, session: session.to_owned(), turn: 0, reasoner }
    }

    /// One turn.
    pub fn step(&mut self, text: &str) -> Result<Reply, ReasonError> {
        // A turn whose decision fails leaves the conversation as it was.
        let mut dialogue = self.dialogue.clone();
        let heard = dialogue.hear(text);
        let mut calls = Vec::new();
        let mut decision = dialogue.next(text, &heard, None, self.reasoner)?;
        self.turn += 1;
        while let Next::Call(node) = decision.next {
            if calls.len() >= MAX_CALLS {
                break;
            }
            let committed = Committed::after_commit(&self.session, self.turn);
            let class = match self.call(&dialogue, node, calls.len() + 1, &committed) {
                None => {
                    dialogue.note_result(Some(Value::Object(serde_json::Map::new())));
                    Class::Good
                }
                Some(result) => {
                    let value = result.as_ref().ok().map(|r| r.value.clone()).filter(|v| !v.is_null());
                    let class = if result.is_err() { Class::Bad } else { class_of(value.as_ref()) };
                    dialogue.note_result(value);
                    calls.push(result);
                    class
                }
            };
            decision = dialogue.next(text, &heard, Some((node, class)), self.reasoner)?;
        }
        let (text, act) = match decision.next {
            Next::Say(act) => {
                let words = dialogue.words(&act);
                dialogue.note_act(&act, &words);
                (words, Some(act))
            }
            Next::Call(_) | Next::Silence => (String::new(), None),
        };
        self.dialogue = dialogue;
        Ok(Reply { text, act, calls, outcome: decision.outcome })
    }

    fn call(&self, dialogue: &Dialogue, node: i32, place: usize, committed: &Committed) -> Option<Result<Returned, ActError>> {
        let NodeKind::Call { function, variant } = &dialogue.flow().node(node)?.kind else { return None };
        if !self.functions.names().any(|n| n == function) {
            return None;
        }
        let mut inputs: BTreeMap<String, Value> = BTreeMap::new();
        for (name, value) in &dialogue.known.values {
            let kind = dialogue.flow().slot(name).map(|s| s.kind);
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
        let call = Call { function: function.clone(), inputs };
        Some(self.functions.perform_blocking(&call, place, committed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Source;
    use crate::ir::facts;
    use crate::lang::chief;

    const FLOW: &str = r#"{"task": "desk",
      "nodes": [
        {"id": 1, "type": "request", "slots": {
          "guest": {"type": "name", "identity": true, "label": "Guest", "ask_action": "ask_guest"},
          "nights": {"type": "integer", "cues": ["nights", "night"], "ask_action": "ask_nights"}}},
        {"id": 2, "type": "external_action", "query": "room", "request_type": "Check"},
        {"id": 3, "type": "inform_and_confirm", "star_action": "offer_room"},
        {"id": 4, "type": "inform", "star_action": "sorry"},
        {"id": 5, "type": "external_action", "query": "room", "request_type": "Book"},
        {"id": 6, "type": "inform", "star_action": "booked"}],
      "edges": [{"source": 1, "target": 2}, {"source": 2, "target": 3, "condition": "Available"}, {"source": 2, "target": 4, "condition": "Unavailable"},
        {"source": 3, "target": 5, "condition": "Yes"}, {"source": 3, "target": 1, "condition": "No"}, {"source": 5, "target": 6}],
      "global_actions": [{"intent": "greeting", "star_action": "hello"}],
      "fallback_actions": [{"intent": "goodbye", "star_action": "bye"}, {"intent": "anything_else", "star_action": "more"}, {"intent": "out_of_scope", "star_action": "lost"}],
      "replies": {"hello": "Hello.", "ask_guest": "What is your name?", "ask_nights": "How many nights?", "offer_room": "Room {room:s} is free. Shall I book it?",
        "booked": "Booked, {guest:s}.", "sorry": "We are full.", "bye": "Goodbye.", "more": "Anything else?", "lost": "Pardon?"}}"#;

    fn chat(script: &str) -> Chat {
        let (flow, found) = chief::read(&Source::new("desk.json", FLOW));
        assert_eq!(found, []);
        let ready = Ready::new(&facts::rules().unwrap(), flow.unwrap()).unwrap();
        let inputs = r#"[{"name": "guest"}, {"name": "nights", "type": "integer"}, {"name": "request_type", "values": ["check", "book"]}]"#;
        let script = serde_json::to_string(script).unwrap();
        let json = format!(r#"[{{"name": "room", "inputs": {inputs}, "target": {{"process": {{"command": ["sh", "-c", {script}]}}}}}}]"#);
        Chat::new(Arc::new(ready), Functions::from_json(&json).unwrap(), "t", Reasoner::Confirm)
    }

    #[test]
    fn a_whole_conversation_with_a_correction() {
        let mut c = chat(r#"read l; case "$l" in *'"nights":3'*) echo '{"Message": "Unavailable"}';; *) echo '{"Message": "Available", "room": "12"}';; esac"#);
        let mut say = |text: &str| c.step(text).unwrap().text;
        assert_eq!(say("Hello"), "Hello.");
        assert_eq!(say("I need a room for 3 nights please"), "What is your name?");
        assert_eq!(say("Ann"), "We are full.");
        assert_eq!(say("Then I would like 2 nights"), "Room 12 is free. Shall I book it?");
        assert_eq!(say("yes please"), "Booked, ann.");
        assert_eq!(say("thank you"), "Anything else?");
        assert_eq!(say("no, that's all"), "Goodbye.");
    }

    #[test]
    fn a_digression_leaves_the_question_open() {
        let mut c = chat(r#"echo '{"Message": "Available", "room": "12"}'"#);
        let mut say = |text: &str| c.step(text).unwrap().text;
        assert_eq!(say("My name is Ann and I need 2 nights"), "Room 12 is free. Shall I book it?");
        assert_eq!(say("Have you ever been to the moon?"), "Pardon?");
        assert_eq!(say("yes"), "Booked, ann.");
    }

    #[test]
    fn a_function_that_fails_is_bad_news_not_a_crash() {
        let mut c = chat("exit 1");
        assert_eq!(c.step("My name is Ann and I need 2 nights").unwrap().text, "We are full.");
        let r = c.step("hm").unwrap();
        assert!(r.calls.is_empty());
    }

    #[test]
    fn every_act_can_be_explained() {
        let mut c = chat("echo '{}'");
        let r = c.step("I need a room for 2 nights").unwrap();
        let act = r.outcome.shown().iter().find(|a| &*a.name == "act").unwrap().clone();
        assert!(format!("{:?}", r.outcome.why(&act).unwrap()).contains("first_missing"));
    }
}
