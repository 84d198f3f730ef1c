//! Lines for programs of agents: decisions as the proposals that they are, and what a turn came to.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::ir::walk::proposed;
use crate::term::{Atom, Term};
use crate::turn::TurnRecord;

/// A turn's inputs: what is said, or how long nobody spoke, and what is decided of it.
pub fn inputs(text: Option<&str>, silent: Option<u64>, decisions: &[Value]) -> Vec<Atom> {
    let said = text.map(|t| Atom::new("message", vec![Term::string(t)]));
    let silence = silent.map(|s| Atom::new("silent", vec![Term::Int(seconds(s))]));
    said.into_iter().chain(silence).chain(decisions.iter().map(proposal)).collect()
}

/// So many seconds, as far as they are counted.
pub fn seconds(n: u64) -> i32 {
    const MOST: i32 = 1_000_000_000;
    i32::try_from(n).unwrap_or(MOST).min(MOST)
}

fn proposal(decision: &Value) -> Atom {
    let text = |key: &str| decision.get(key).and_then(Value::as_str).unwrap_or_default();
    let about: Vec<String> = match decision.get("claims").or_else(|| decision.get("condition")) {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => vec![],
    };
    proposed(text("ask"), text("by"), &about, decision.get("give").unwrap_or(&Value::Null))
}

/// What a turn came to.
pub fn shown(record: &TurnRecord, why: bool) -> Value {
    let mut out = Shown::default();
    for atom in &record.view {
        if let [_, Term::Fun(name, args)] = atom.args.as_slice() {
            out.take(name, args);
        }
    }
    let mut bot: Vec<&str> = record.actions.iter().filter(|a| &*a.name == "say").filter_map(|a| a.args.first()?.as_name()).collect();
    // A turn that broke off was ended first; what it still had to say stands before this one's text.
    let own = bot.join(" ");
    if let Some(left) = record.text.strip_suffix(own.as_str()).map(str::trim).filter(|left| !left.is_empty()) {
        bot.insert(0, left);
    }
    let refused = record.refused.iter().map(|r| json!({ "give": r.text, "reason": r.message }));
    out.refused.extend(refused);
    let mut shown = json!({
        "bot": bot,
        "args": out.args,
        "outcomes": out.outcomes,
        "floor": out.floor,
        "closed": out.closed || record.ended.is_some(),
        "asked": out.asked,
        "refused": out.refused,
        "warnings": out.warnings,
        "text": bot.join(" "),
    });
    if let Some(map) = shown.as_object_mut() {
        if why {
            map.insert("why".into(), json!(record.why));
        }
        if let Some(models) = &record.models {
            map.insert("models".into(), json!(models));
        }
        let calls: Vec<_> = record.rounds.iter().flat_map(|r| &r.came).collect();
        if !calls.is_empty() {
            map.insert("calls".into(), json!(calls));
        }
    }
    shown
}

#[derive(Default)]
struct Shown {
    args: BTreeMap<String, Map<String, Value>>,
    outcomes: Map<String, Value>,
    floor: Vec<String>,
    asked: Vec<Value>,
    refused: Vec<Value>,
    warnings: Vec<Value>,
    closed: bool,
}

impl Shown {
    fn take(&mut self, name: &str, args: &[Term]) {
        let text = |t: &Term| t.as_name().unwrap_or_default().to_owned();
        let json = |t: &Term| serde_json::from_str(t.as_name().unwrap_or_default()).unwrap_or_default();
        match (name, args) {
            ("agent", [agent]) => drop(self.of(&text(agent))),
            ("arg", [agent, arg, value]) => drop(self.of(&text(agent)).insert(text(arg), crate::ir::walk::value(value))),
            ("outcome", [of, status, message]) => drop(self.outcomes.insert(text(of), json!({ "status": text(status), "msg": text(message) }))),
            ("floor", [_, agent]) => self.floor.push(text(agent)),
            ("asked", [_, asked]) => self.asked.push(json(asked)),
            ("refused", [_, refused]) => self.refused.push(json(refused)),
            ("warning", [_, warning]) => self.warnings.push(json(warning)),
            ("closed", _) => self.closed = true,
            _ => {}
        }
    }

    fn of(&mut self, agent: &str) -> &mut Map<String, Value> {
        self.args.entry(agent.to_owned()).or_default()
    }
}
