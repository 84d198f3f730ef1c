//! What is answered about turns, the same on the command line and over HTTP: a turn as data, and the questions why, why not and what if.

use std::fmt::Write;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use super::calls::Came;
use super::models::Models;
use super::record::{RefusedText, Why};
use super::what_if::{AskError, WhatIf};
use super::{Act, Decided, Engine, TurnRecord};
use crate::facts::SessionKey;
use crate::ontology::Scope;
use crate::term::{Atom, in_line, split_atoms};

/// A turn as its speaker is shown it, with its proofs or without.
pub fn shown<'a>(record: &'a TurnRecord, engine: &Engine, why: bool) -> Shown<'a> {
    Shown {
        predicates: &record.predicates,
        actions: &record.actions,
        text: &record.text,
        state: engine.domain().ontology.view.shown(&record.view),
        why: why.then_some(&record.why),
        models: record.models.as_deref(),
        told: &record.told,
        calls: record.rounds.iter().flat_map(|r| &r.came).collect(),
        refused: &record.refused,
    }
}

/// A turn as its speaker is shown it.
#[derive(Serialize)]
pub struct Shown<'a> {
    predicates: &'a [Atom],
    actions: &'a [Atom],
    text: &'a str,
    state: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a Vec<Why>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    models: Option<&'a Models>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    told: &'a [Atom],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<&'a Came>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    refused: &'a [RefusedText],
}

/// A turn as who asks about it is shown it.
pub fn told(record: &TurnRecord, engine: &Engine) -> Value {
    json!({ "turn": record.turn, "role": record.role, "predicates": record.predicates, "actions": record.actions, "effects": record.effects,
        "refused": record.refused, "text": record.text, "state": engine.domain().ontology.view.shown(&record.view), "why": record.why })
}

/// Why the last decision of a session has its actions: each in a sentence, or those that hold `which` as whole proofs.
pub fn because(engine: &Engine, key: &SessionKey, which: &str) -> Result<String, String> {
    let rounds = decided(engine, key)?;
    let mut out = String::new();
    for decided in &rounds {
        let told = |a: &Atom| engine.told_by(decided, a);
        let said = decided.acts.iter().map(|act| (act.action.clone(), act.shown(), Some(act)));
        let called = decided.outcome.shown().iter().filter(|a| &*a.name == "do").map(|a| (a.clone(), a.clone(), None));
        for (action, shown, act) in said.chain(called).filter(|(action, ..)| which.is_empty() || action.to_string().contains(which)) {
            let Some(proof) = decided.outcome.why(&shown) else { continue };
            let _ = match which {
                "" => writeln!(out, "{action}\n  {}{}", proof.sentence(&told), act.map(|a| together(engine, decided, a)).unwrap_or_default()),
                _ => write!(out, "{}", proof.tree(&told)),
            };
        }
    }
    let acts: Vec<Act> = rounds.iter().flat_map(|d| d.acts.iter().cloned()).collect();
    match (out.is_empty(), which) {
        (true, "") => Ok("nothing was said or called in this turn\n".to_owned()),
        (true, _) => Err(format!("the last reply has no action `{which}`; its actions are {}", actions(&acts))),
        (false, _) => Ok(out),
    }
}

/// The decisions of the session's last turn, round by round.
fn decided(engine: &Engine, key: &SessionKey) -> Result<Vec<Arc<Decided>>, String> {
    let rounds = engine.rounds_decided(key);
    if rounds.is_empty() { Err("nothing was decided in this lane yet".to_owned()) } else { Ok(rounds) }
}

/// Which requests do not go together, where the action refuses one.
fn together(engine: &Engine, decided: &Decided, act: &Act) -> String {
    let together = engine.takes_all_of(decided, act);
    if together.is_empty() {
        return String::new();
    }
    let all: Vec<String> = together.iter().map(ToString::to_string).collect();
    let more = if engine.whatever_else(decided, act, &together) { ", whatever else is said" } else { "" };
    format!("\n  it takes {} together{more}; without any one of them this reply would not be given", all.join(" and "))
}

fn actions(acts: &[Act]) -> String {
    in_line(&acts.iter().map(|a| a.action.clone()).collect::<Vec<_>>())
}

/// What kept the rules from deriving an action or any other atom in the last decision of a session.
pub fn why_not(engine: &Engine, key: &SessionKey, text: &str) -> Result<String, String> {
    let rounds = decided(engine, key)?;
    if text.is_empty() {
        return Err("say what did not come about as an atom of the domain, such as /whynot name(_,\"Value\"); _ stands for anything".to_owned());
    }
    let mut out = String::new();
    for (n, decided) in rounds.iter().enumerate() {
        if rounds.len() > 1 {
            let _ = writeln!(out, "{}:", if n == 0 { "when it was said" } else { "when the call had come back" });
        }
        out.push_str(&engine.why_not(decided, text)?.text(&|a: &Atom| engine.told_by(decided, a)));
    }
    Ok(out)
}

/// What a turn would come to, decided on a copy of the facts and thrown away.
pub fn what_if(engine: &Engine, key: &SessionKey, role: &str, text: &str) -> Result<String, String> {
    let mut out = String::new();
    let _ = match engine.what_if(key, role, &split_atoms(text)).map_err(|e| e.to_string())? {
        WhatIf::Said { record, before } => said(&mut out, engine, &record, &before),
        WhatIf::Earlier { role, changes, gone, come, text } => {
            let changes = if changes.is_empty() { "it changes nothing".to_owned() } else { changes.join("; ") };
            let same = gone.is_empty() && come.is_empty();
            let lines = gone.iter().map(|a| format!("  - {a}\n")).chain(come.iter().map(|a| format!("  + {a}\n"))).collect::<String>();
            let then = if same { "  the reply would have been the same\n".to_owned() } else { format!("{lines}  it would have said: {text}\n") };
            write!(out, "if {role} had said so before your last turn ({changes}):\n{then}")
        }
    };
    out.push_str("  (nothing was changed)\n");
    Ok(out)
}

fn said(out: &mut String, engine: &Engine, record: &TurnRecord, before: &[Atom]) -> std::fmt::Result {
    writeln!(out, "it would say: {}\n  actions: {}", record.text, in_line(&record.actions))?;
    let lines = |view: &[Atom]| engine.domain().ontology.view.text(view).unwrap_or_else(|e| vec![e.to_string()]);
    let (was, is) = (lines(before), lines(&record.view));
    for line in was.iter().filter(|l| !is.contains(l)) {
        writeln!(out, "  - {line}")?;
    }
    for line in is.iter().filter(|l| !was.contains(l)) {
        writeln!(out, "  + {line}")?;
    }
    for call in record.under_way() {
        writeln!(out, "  it would call {} with {}", call.function, json!(call.inputs))?;
    }
    for effect in record.effects.iter().filter(|e| e.scope != Scope::Session) {
        writeln!(out, "  for everybody: {effect}")?;
    }
    record.ended.as_ref().map_or(Ok(()), |end| writeln!(out, "  the conversation would end: {end}"))
}

/// What a turn would come to, as data.
pub fn what_if_shown(engine: &Engine, key: &SessionKey, role: &str, text: &str) -> Result<Value, AskError> {
    Ok(match engine.what_if(key, role, &split_atoms(text))? {
        WhatIf::Said { record, .. } => told(&record, engine),
        WhatIf::Earlier { role, changes, gone, come, text } => {
            json!({ "said_before_by": role, "changes": changes, "gone": gone, "come": come, "text": text })
        }
    })
}

/// What kept something from being derived, as data.
pub fn why_not_shown(engine: &Engine, key: &SessionKey, text: &str) -> Result<Value, String> {
    Ok(json!({ "not": text, "because": why_not(engine, key, text)?.lines().collect::<Vec<_>>() }))
}
