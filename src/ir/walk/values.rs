//! Reading and writing values on the walk: whose argument a name is, what stands on a path, which conditions hold, and texts with values in them.

use std::cmp::Ordering;

use serde_json::Value;

use super::{Stop, Walk};
use crate::ir::guard::{Compare, Guard};
use crate::ir::value::{Given, Path};
use crate::ir::{self, Bind, Body};

/// Names that can be read everywhere and set nowhere.
const OWN: [&str; 2] = ["_user_input", "sender"];

impl Walk<'_> {
    /// Whether an agent has an argument of this name.
    pub(super) fn declares(&self, agent: &str, arg: &str) -> bool {
        self.program.agent(agent).is_some_and(|a| a.args.iter().any(|x| x.name == arg))
    }

    /// What an argument has to do with one of the innermost open team that says so.
    fn bound(&self, agent: &str, arg: &str) -> Option<(&str, &Bind)> {
        self.stands.frames.iter().rev().find_map(|frame| {
            let Some(ir::Agent { name, body: Body::Team { members, .. }, .. }) = self.program.agent(&frame.agent) else { return None };
            let binds = members.iter().filter(|m| m.agent == agent).flat_map(|m| &m.binds);
            binds.into_iter().find(|(x, _)| x == arg).map(|(_, bind)| (name.as_str(), bind))
        })
    }

    /// Whose value an argument is, along chains of what is the same.
    fn owner(&self, agent: &str, arg: &str) -> (String, String) {
        let (mut agent, mut arg) = (agent.to_owned(), arg.to_owned());
        for _ in 0..=self.program.agents.len() {
            match self.bound(&agent, &arg) {
                Some((team, Bind::Is(of))) if team != agent || *of != arg => (agent, arg) = (team.to_owned(), of.clone()),
                _ => break,
            }
        }
        (agent, arg)
    }

    /// An argument as its agent reads it.
    pub(super) fn reads(&self, agent: &str, arg: &str) -> Value {
        self.reads_within(agent, arg, self.program.agents.len() + 1)
    }

    fn reads_within(&self, agent: &str, arg: &str, depth: usize) -> Value {
        let (owner, own) = self.owner(agent, arg);
        if let Some(v) = self.stands.values.get(&(owner.clone(), own.clone())).filter(|v| !v.is_null()) {
            return v.clone();
        }
        match self.bound(&owner, &own) {
            Some((_, Bind::Reads(Given::Is(v)))) => v.json(),
            Some((team, Bind::Reads(Given::Of(path)))) if path.of.is_none() && depth > 0 => self.reads_within(team, &path.name, depth - 1),
            _ => Value::Null,
        }
    }

    /// Gives an argument a value; null takes it away. False if there is no such argument.
    pub(super) fn write(&mut self, agent: &str, arg: &str, value: Value) -> bool {
        if !self.declares(agent, arg) {
            self.warn(format!("`{agent}` has no argument `{arg}`, so nothing was set"));
            return false;
        }
        let place = self.owner(agent, arg);
        if value.is_null() {
            self.stands.values.remove(&place);
        } else {
            self.stands.values.insert(place, value);
        }
        true
    }

    /// The agent at work.
    pub(super) fn own(&self) -> &str {
        self.stands.frames.last().map_or("", |f| f.agent.as_str())
    }

    /// What is found on a path; null where there is nothing.
    pub(super) fn find(&self, path: &Path) -> Value {
        let Some(of) = &path.of else {
            return match path.name.as_str() {
                name if self.declares(self.own(), name) => self.reads(self.own(), name),
                "_user_input" => self.stands.heard.as_deref().map_or(Value::Null, Value::from),
                "sender" => Value::from(self.sender.as_str()),
                _ => Value::Null,
            };
        };
        if self.declares(of, &path.name) {
            return self.reads(of, &path.name);
        }
        if let Some(v) = self.stands.gave.get(&(of.clone(), path.name.clone())) {
            return v.clone();
        }
        let own = (self.own().to_owned(), of.clone());
        let outcome = self.stands.outcomes.get(&own).or_else(|| self.stands.outcomes.get(&(String::new(), of.clone())));
        match (path.name.as_str(), outcome) {
            ("success", Some(o)) => Value::from(o.success),
            ("error", Some(o)) => Value::from(!o.success),
            ("status", Some(o)) => Value::from(o.status()),
            ("msg", Some(o)) => Value::from(o.message.as_str()),
            _ => Value::Null,
        }
    }

    pub(super) fn given(&self, given: &Given) -> Value {
        match given {
            Given::Is(v) => v.json(),
            Given::Of(path) => self.find(path),
        }
    }

    /// Sets what a path names.
    pub(super) fn set(&mut self, path: &Path, value: Value) {
        match &path.of {
            None if OWN.contains(&path.name.as_str()) && !self.declares(self.own(), &path.name) => {
                self.warn(format!("`{}` can only be read", path.name));
            }
            None => {
                let own = self.own().to_owned();
                self.write(&own, &path.name, value);
            }
            Some(agent) => {
                self.write(agent, &path.name, value);
            }
        }
    }

    /// A text with values in place of `${name}`, filled in once.
    pub(super) fn filled(&self, text: &str) -> String {
        let (mut out, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once("${") {
            out.push_str(before);
            // Names hold no braces, so one that opens before another closes is no name.
            let Some((name, after)) = after.split_once('}').filter(|(name, _)| !name.contains('{')) else {
                out.push_str("${");
                rest = after;
                continue;
            };
            let name = name.trim();
            let path = match name.rsplit_once('.') {
                Some((of, field)) if !self.declares(self.own(), name) => Path::of(of, field),
                _ => Path::named(name),
            };
            out.push_str(&spelled(&self.find(&path)));
            rest = after;
        }
        out + rest
    }

    /// Whether a condition holds now; who asks is the agent at work.
    pub(super) fn holds(&mut self, guard: &Guard) -> Result<bool, Stop> {
        Ok(match guard {
            Guard::All(parts) => {
                for part in parts {
                    if !self.holds(part)? {
                        return Ok(false);
                    }
                }
                true
            }
            Guard::Any(parts) => {
                for part in parts {
                    if self.holds(part)? {
                        return Ok(true);
                    }
                }
                false
            }
            Guard::Not(part) => !self.holds(part)?,
            Guard::Compare(path, how, value) => {
                let found = self.find(path);
                !found.is_null() && how.holds(&ir::value::Value::from(&found), value)
            }
            Guard::Exactly(path, how, given) => exactly(&self.find(path), *how, &self.given(given)),
            Guard::Known(path) => !matches!(self.find(path), Value::Null) && self.find(path).as_str() != Some(""),
            Guard::Match(pattern, path) => match self.find(path) {
                Value::Null => false,
                found => pattern.matches(&spelled(&found)).unwrap_or_else(|| {
                    self.warn(format!("the pattern `{}` took too many steps", pattern.text()));
                    false
                }),
            },
            Guard::Holds(path) => match self.find(path) {
                Value::Null => false,
                Value::Bool(b) => b,
                Value::Number(n) => n.as_f64() != Some(0.0),
                Value::String(s) => !s.is_empty(),
                Value::Array(l) => !l.is_empty(),
                Value::Object(m) => !m.is_empty(),
            },
            Guard::Clicked(what) => self.turn.click.as_deref() == Some(what.as_str()),
            Guard::Heard(phrases) => self.has_words() && self.agreed("intent", phrases)?,
            Guard::Words(condition) => self.turn.message.is_some() && self.agreed("judge", std::slice::from_ref(condition))?,
            Guard::Says { .. } => false,
        })
    }
}

/// How two values compare as they are.
fn exactly(left: &Value, how: Compare, right: &Value) -> bool {
    let order = match (left, right) {
        (Value::Number(a), Value::Number(b)) => a.as_f64().zip(b.as_f64()).and_then(|(a, b)| a.partial_cmp(&b)),
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        _ => None,
    };
    let same = order.map_or_else(|| left == right, Ordering::is_eq);
    match how {
        Compare::Is => same,
        Compare::IsNot => !same,
        Compare::More => order.is_some_and(Ordering::is_gt),
        Compare::Less => order.is_some_and(Ordering::is_lt),
        Compare::AtLeast => order.is_some_and(Ordering::is_ge),
        Compare::AtMost => order.is_some_and(Ordering::is_le),
    }
}

/// A value as it is said.
pub(super) fn spelled(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(b) => (if *b { "True" } else { "False" }).to_owned(),
        Value::String(s) => s.clone(),
        Value::Array(list) if list.iter().all(|v| !v.is_array() && !v.is_object()) => list.iter().map(spelled).collect::<Vec<_>>().join(", "),
        Value::Number(_) => value.to_string(),
        Value::Array(_) | Value::Object(_) => spaced(value),
    }
}

/// JSON with a blank after commas and colons, as functions would print it.
fn spaced(value: &Value) -> String {
    match value {
        Value::Array(list) => format!("[{}]", list.iter().map(spaced).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let entry = |(k, v): (&String, &Value)| format!("{}: {}", Value::from(k.as_str()), spaced(v));
            format!("{{{}}}", map.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        _ => value.to_string(),
    }
}

/// The number or boolean that a text spells.
pub(super) fn unspelled(value: Value) -> Value {
    let Value::String(text) = &value else { return value };
    match text.trim() {
        "true" | "True" | "TRUE" => Value::from(true),
        "false" | "False" | "FALSE" => Value::from(false),
        t => match (t.parse::<i64>(), t.parse::<f64>()) {
            (Ok(n), _) => Value::from(n),
            (_, Ok(x)) if x.is_finite() => Value::from(x),
            _ => value,
        },
    }
}
