//! Calls of functions on the walk, and what becomes of what they give.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::frame::{Outcome, Wish};
use super::words::WORDS;
use super::{MOST_CALLS, Stop, Walk};
use crate::term::Term;

impl Walk<'_> {
    /// Wants a function called: by a step of its author, or because a model proposed it.
    pub(super) fn call(&mut self, function: &str, inputs: BTreeMap<String, Value>, step: Option<(String, usize)>) -> Result<(), Stop> {
        let wish = Wish { function: function.to_owned(), inputs, tool: step.is_none(), step };
        self.stands.gave.retain(|(of, _), _| of != function);
        if !self.program.function(function).is_some_and(|f| f.confirm) {
            return self.make(wish);
        }
        let inputs: Vec<String> = wish.inputs.iter().map(|(k, v)| format!("{k}: {}", super::values::spelled(v))).collect();
        let question = WORDS.confirm.replace("{function}", function).replace("{inputs}", &inputs.join(", "));
        self.tell("usual", vec![Term::string(self.own())]);
        self.say(&question);
        self.stands.frames.last_mut().into_iter().for_each(|top| top.wish = Some(wish.clone()));
        Err(Stop::Waits)
    }

    fn make(&mut self, wish: Wish) -> Result<(), Stop> {
        self.turn.calls += 1;
        if self.turn.calls > MOST_CALLS {
            return self.end(Outcome::error("endless loop"));
        }
        match &wish.step {
            Some((block, step)) => self.tell_step(block, *step),
            None => self.tell("tool", vec![Term::string(self.own()), Term::string(&wish.function)]),
        }
        self.tell_same("calls", vec![Term::string(&wish.function)]);
        for (input, value) in &wish.inputs {
            self.tell_same("gives", vec![Term::string(input), super::frame::term(value)]);
        }
        self.turn.call = Some(wish);
        Err(Stop::Calls)
    }

    /// The speaker was asked whether a call may be made.
    pub(super) fn decide_wish(&mut self) -> Result<(), Stop> {
        let Some(wish) = self.stands.frames.last_mut().and_then(|top| top.wish.take()) else { return Ok(()) };
        let said = self.turn.message.clone().unwrap_or_default().to_lowercase();
        let word = said.trim_start_matches("/click:").split(|c: char| !c.is_alphanumeric()).find(|w| !w.is_empty()).unwrap_or_default().to_owned();
        if WORDS.yes.contains(&word) {
            return self.make(wish);
        }
        self.turn.call = Some(wish);
        self.came(&serde_json::json!({ "error": "declined" }))
    }

    /// What the call under way gave: `{"value": …}` or `{"error": message}`.
    pub(super) fn came(&mut self, came: &Value) -> Result<(), Stop> {
        let Some(wish) = self.turn.call.take() else { return Ok(()) };
        let function = wish.function.clone();
        if let Some(message) = came.get("error") {
            let outcome = Outcome::error(&super::values::spelled(message));
            self.turn.results.push(format!("{function}: error: {}", outcome.message));
            self.stands.outcomes.insert((String::new(), function), outcome);
            return Ok(());
        }
        let value = came.get("value").cloned().unwrap_or_default();
        let (result, printed) = match value.as_object().filter(|m| m.len() == 2 && m.contains_key("printed") && m.contains_key("result")) {
            Some(map) => (map.get("result").cloned().unwrap_or_default(), map.get("printed").and_then(Value::as_str).unwrap_or_default().to_owned()),
            None => (value, String::new()),
        };
        let outcome = self.take_result(&function, &result, wish.tool);
        let told = match (printed.is_empty(), &outcome) {
            (false, _) => printed,
            (true, o) if o.message.is_empty() => o.status().to_owned(),
            (true, o) => format!("{}: {}", o.status(), o.message),
        };
        self.turn.results.push(format!("{function}: {told}"));
        self.stands.outcomes.insert((String::new(), function), outcome);
        Ok(())
    }

    /// Items in order: values, words for the speaker, how it ended.
    fn take_result(&mut self, function: &str, result: &Value, tool: bool) -> Outcome {
        let mut outcome = Outcome::success();
        let one;
        let items: &[Value] = match result {
            Value::Null => &[],
            Value::Array(items) => items,
            Value::Object(_) => {
                one = [result.clone()];
                &one
            }
            _ => {
                self.warn(format!("`{function}` gave back what is no list of items; it was ignored"));
                &[]
            }
        };
        for item in items {
            match item.as_object().filter(|m| KEYS.iter().any(|k| m.contains_key(*k))) {
                Some(item) => self.take_item(function, item, tool, &mut outcome),
                None => self.warn(format!("`{function}` gave back an item without `bot`, `arg` or `status`; it was ignored")),
            }
        }
        outcome
    }

    fn take_item(&mut self, function: &str, item: &Map<String, Value>, tool: bool, outcome: &mut Outcome) {
        if let Some(arg) = item.get("arg").or_else(|| item.get("slot_name")).map(super::values::spelled) {
            if !item.contains_key("value") {
                self.warn(format!("`{function}` gave `{arg}` without a value"));
            }
            let value = item.get("value").cloned().unwrap_or_default();
            if tool {
                self.set_by_tool(&arg, value);
            } else {
                self.stands.gave.insert((function.to_owned(), arg), value);
            }
        }
        if let Some(text) = item.get("bot").or_else(|| item.get("text")).filter(|t| !t.is_null()) {
            self.tell("tells", vec![Term::string(function)]);
            self.say(&super::values::spelled(text));
        }
        if let Some(error) = item.get("error").filter(|e| !e.is_null()) {
            *outcome = Outcome::error(&super::values::spelled(error));
        }
        if let Some(status) = item.get("status").filter(|s| !s.is_null()) {
            let word = super::values::spelled(status).trim().to_lowercase();
            let success = matches!(word.as_str(), "success" | "succeed");
            if !success && word != "error" {
                self.warn(format!("`{function}` ended with the status `{word}`, which counts as error"));
            }
            *outcome = Outcome { success, message: item.get("msg").map(super::values::spelled).unwrap_or_default() };
        }
    }

    /// A value that a function gives whom a model had call it: the agent's own, or another's.
    fn set_by_tool(&mut self, arg: &str, value: Value) {
        let own = self.own().to_owned();
        match arg.rsplit_once('.') {
            Some((agent, arg)) if !self.declares(&own, &format!("{agent}.{arg}")) => drop(self.write(agent, arg, value)),
            _ => drop(self.write(&own, arg, value)),
        }
    }
}

/// What an item may hold.
const KEYS: [&str; 6] = ["bot", "text", "arg", "slot_name", "status", "error"];
