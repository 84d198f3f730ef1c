//! Agents that a model speaks for, and agents that answer from what they know, on the walk: what is proposed, and what is permitted of it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::frame::{Outcome, Then};
use super::{Stop, Walk};
use crate::term::Term;

/// Rounds of calls that a model may have made in a turn.
const MOST_ROUNDS: u32 = 8;
/// What who knows nothing answers.
const NO_ANSWER: &str = "No answer";

/// What is proposed for a model's agent.
enum Reply {
    Calls(Vec<(String, BTreeMap<String, Value>)>),
    Says { bot: String, data: Option<Value>, status: String },
    Fails(String),
}

impl Walk<'_> {
    /// What the model's agent on top replies, or has called.
    pub(super) fn reply(&mut self, uses: &[String]) -> Result<(), Stop> {
        let Some(top) = self.stands.frames.last_mut() else { return Err(Stop::Waits) };
        if !top.tools.is_empty() {
            let (function, inputs) = top.tools.remove(0);
            return self.call_tool(&function, inputs, uses);
        }
        let Some((reply, input)) = self.next_answer("reply", &[], |_, give| read(give))? else {
            return self.end(Outcome::error("no reply"));
        };
        self.tell_heed("reply", input);
        match reply {
            Reply::Fails(message) => self.end(Outcome::error(&message)),
            Reply::Calls(calls) => {
                let Some(top) = self.stands.frames.last_mut() else { return Err(Stop::Waits) };
                top.rounds += 1;
                if top.rounds > MOST_ROUNDS {
                    return self.end(Outcome::error("too many calls"));
                }
                top.tools = calls;
                Ok(())
            }
            Reply::Says { bot, data, status } => {
                self.take_data("reply", data.as_ref(), input);
                self.tell_heed("reply", input);
                let bot = self.filled(&bot);
                self.say(&bot);
                match status.as_str() {
                    "complete" => self.end(Outcome::success()),
                    "quit" => self.give_up(Then::Leave(Outcome::error("left"))),
                    _ => Err(Stop::Waits),
                }
            }
        }
    }

    /// Calls what a model proposed, if the agent uses it and the inputs are of their types; the model is told what is wrong.
    fn call_tool(&mut self, name: &str, inputs: BTreeMap<String, Value>, uses: &[String]) -> Result<(), Stop> {
        let by = self.own().to_owned();
        let wrong = match self.program.function(name).filter(|_| uses.iter().any(|u| u == name)) {
            None => Some(format!("`{by}` uses no function `{name}`")),
            Some(f) => {
                let missing = f.inputs.iter().find(|i| i.required && !inputs.contains_key(&i.name)).map(|i| format!("`{name}` needs `{}`", i.name));
                let unknown = inputs.keys().find(|k| !f.open && !f.inputs.iter().any(|i| i.name == **k)).map(|k| format!("`{name}` takes no `{k}`"));
                let typed = f.inputs.iter().find(|i| inputs.get(&i.name).is_some_and(|v| !i.kind.admits(v)));
                missing.or(unknown).or_else(|| typed.map(|i| format!("`{}` of `{name}` is not of its type", i.name)))
            }
        };
        match wrong {
            Some(reason) => {
                self.refuse("reply", &by, &serde_json::json!({ "tool": name, "args": inputs }), &reason);
                self.turn.results.push(format!("{name}: error: {reason}"));
                Ok(())
            }
            None => {
                self.tell("tool", vec![Term::string(&by), Term::string(name)]);
                self.call(name, inputs, None)
            }
        }
    }

    /// What the agent on top knows of the message.
    pub(super) fn answer(&mut self) -> Result<(), Stop> {
        let found = if self.turn.message.is_none() {
            None
        } else {
            self.next_answer("answer", &[], |_, give| give.as_str().map(str::to_owned).ok_or_else(|| "it is no text".to_owned()))?
        };
        match found.filter(|(text, _)| text != NO_ANSWER && !text.trim().is_empty()) {
            Some((text, input)) => {
                self.tell_heed("answer", input);
                self.say(&text);
                self.end(Outcome::success())
            }
            None => self.give_up(Then::End(Outcome::error("no answer"))),
        }
    }
}

fn read(give: &Value) -> Result<Reply, String> {
    match give {
        Value::Object(map) => of_map(map),
        Value::Array(list) => {
            let calls = list.iter().map(|v| v.as_object().ok_or_else(wrong).and_then(tool));
            Ok(Reply::Calls(calls.collect::<Result<_, _>>()?))
        }
        Value::String(text) => {
            // A model may wrap what it means in words or fences.
            let inside =
                text.find('{').zip(text.rfind('}')).and_then(|(a, b)| text.get(a..=b)).and_then(|t| serde_json::from_str::<Map<String, Value>>(t).ok());
            match inside.filter(|m| ["bot", "data", "status", "tool"].iter().any(|k| m.contains_key(*k))) {
                Some(map) => of_map(&map),
                None => Ok(Reply::Says { bot: text.clone(), data: None, status: String::new() }),
            }
        }
        _ => Err(wrong()),
    }
}

fn wrong() -> String {
    "it is neither {\"bot\", \"data\", \"status\"} nor {\"tool\", \"args\"} nor a text".to_owned()
}

fn tool(map: &Map<String, Value>) -> Result<(String, BTreeMap<String, Value>), String> {
    let name = map.get("tool").and_then(Value::as_str).ok_or_else(wrong)?;
    let args = match map.get("args") {
        None | Some(Value::Null) => BTreeMap::new(),
        Some(Value::Object(args)) => args.iter().map(|(k, v)| (k.clone(), v.clone())).collect(),
        Some(_) => return Err("`args` are no object".to_owned()),
    };
    Ok((name.to_owned(), args))
}

fn of_map(map: &Map<String, Value>) -> Result<Reply, String> {
    if map.contains_key("tool") {
        return Ok(Reply::Calls(vec![tool(map)?]));
    }
    if let Some(message) = map.get("error").and_then(Value::as_str).filter(|_| map.len() == 1) {
        return Ok(Reply::Fails(message.to_owned()));
    }
    let text = |key: &str| match map.get(key) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(s)) => Ok(s.clone()),
        Some(other) if key == "bot" => Ok(super::values::spelled(other)),
        Some(_) => Err(wrong()),
    };
    let status = text("status")?;
    if !matches!(status.as_str(), "" | "running" | "complete" | "quit") {
        return Err(format!("`{status}` is no status: running, complete or quit"));
    }
    Ok(Reply::Says { bot: text("bot")?, data: map.get("data").cloned(), status })
}
