//! The adversary against a program of agents: messages with arbitrary proposals in place of whoever listens, and arbitrary answers of functions;
//! mostly of what the program knows, so that the run goes deep.

use serde_json::{Map, Value, json};

use super::{Dice, INJECTED};
use crate::ir::walk::proposed;
use crate::ir::{Agent, Body, Program};
use crate::ontology::StandIn;
use crate::term::{Atom, Term};
use crate::understand::agents::conditions;

const ASKS: [&str; 8] = ["route", "extract", "intent", "judge", "reply", "answer", "fallback", "exit"];
const MESSAGES: [&str; 8] = ["hello", "/init", "/click: Buy", "yes", "no", "42", "cancel", "${sender}"];

/// One turn's message with what is proposed of it.
pub fn predicates(dice: &mut Dice, program: &Program) -> Vec<String> {
    let message = match dice.below(12) {
        0 => Atom::new("silent", vec![Term::Int(i32::try_from(dice.below(300)).unwrap_or(0))]),
        1 => Atom::new("message", vec![Term::string(dice.pick(INJECTED).copied().unwrap_or_default())]),
        _ => Atom::new("message", vec![Term::string(dice.pick(&MESSAGES).copied().unwrap_or_default())]),
    };
    let count = dice.below(8);
    std::iter::once(message).chain((0..count).map(|_| proposal(dice, program))).map(|a| a.to_string()).collect()
}

fn proposal(dice: &mut Dice, program: &Program) -> Atom {
    let Some(agent) = dice.pick(&program.agents) else { return Atom::new("nothing", vec![]) };
    let own: &[&str] = match &agent.body {
        Body::Team { .. } => &["route", "route", "fallback", "exit", "intent"],
        Body::Talk { .. } => &["reply", "reply", "reply", "fallback"],
        Body::Know { .. } => &["answer", "fallback"],
        _ => &["extract", "intent", "intent", "judge", "fallback"],
    };
    let asks: &[&str] = if dice.once_in(8) { &ASKS } else { own };
    let ask = dice.pick(asks).copied().unwrap_or("route");
    let about = conditions(agent).into_iter().filter(|(a, _)| *a == ask).map(|(_, about)| about).collect::<Vec<_>>();
    let about = dice.pick(&about).cloned().unwrap_or_default();
    let by = if dice.once_in(6) { "" } else { agent.name.as_str() };
    let give = give(dice, program, agent, ask);
    proposed(ask, by, &about, &give)
}

fn give(dice: &mut Dice, program: &Program, agent: &Agent, ask: &str) -> Value {
    if dice.once_in(15) {
        return dice
            .pick(&[Value::Null, json!(7), json!([]), json!({ "data": 5 }), json!({ "tool": 3 }), json!({ "status": "fly" })])
            .cloned()
            .unwrap_or_default();
    }
    let text = |dice: &mut Dice| json!(dice.pick(&["hello", "${main.a}", "", "all is well"]));
    match ask {
        "route" => match dice.below(10) {
            0 => json!("none"),
            1 => json!("exit"),
            2 => json!({ "clarify": "which?" }),
            3 => dice.pick(&program.agents).map_or(Value::Null, |a| json!(a.name)),
            _ => match &agent.body {
                Body::Team { members, .. } => dice.pick(members).map_or(Value::Null, |m| json!(m.agent)),
                _ => json!("main"),
            },
        },
        "extract" => {
            let quits = dice.once_in(6);
            let data = data(dice, program, agent);
            if quits { json!({ "data": data, "status": "quit" }) } else { json!({ "data": data }) }
        }
        "intent" | "judge" => json!(!dice.once_in(3)),
        "reply" => match dice.below(5) {
            0 => text(dice),
            1 | 2 => {
                let uses = match &agent.body {
                    Body::Talk { uses, .. } if !dice.once_in(8) => dice.pick(uses).cloned(),
                    _ => dice.pick(&program.functions).map(|f| f.name.clone()),
                };
                let function = uses.as_ref().and_then(|name| program.function(name));
                let args: Map<String, Value> = function.iter().flat_map(|f| &f.inputs).map(|i| (i.name.clone(), value(dice))).collect();
                json!({ "tool": uses, "args": args })
            }
            _ => {
                let status = dice.pick(&["running", "running", "complete", "quit"]).copied();
                json!({ "bot": text(dice), "data": data(dice, program, agent), "status": status })
            }
        },
        "answer" if dice.once_in(3) => json!("No answer"),
        "answer" => text(dice),
        _ => json!({ "bot": text(dice), "end": dice.once_in(6) }),
    }
}

fn data(dice: &mut Dice, program: &Program, agent: &Agent) -> Map<String, Value> {
    let mut out = Map::new();
    for _ in 0..dice.below(3) {
        let of = if dice.once_in(8) { dice.pick(&program.agents) } else { Some(agent) };
        if let Some(arg) = of.and_then(|a| dice.pick(&a.args)) {
            out.insert(arg.name.clone(), value(dice));
        }
    }
    out
}

fn value(dice: &mut Dice) -> Value {
    let all = [
        json!(true),
        json!(false),
        json!(3),
        json!(-1),
        json!(2.5),
        json!("red"),
        json!("12"),
        json!(""),
        json!([1, "x"]),
        json!({ "a": { "b": 1 } }),
        Value::Null,
    ];
    dice.pick(&all).cloned().unwrap_or_default()
}

/// What a function answers: items of every kind, among them values for arguments that are not its business.
pub fn answers(dice: &mut Dice, program: &Program) -> Vec<StandIn> {
    if dice.once_in(5) {
        return vec![StandIn { fault: Some("broken".to_owned()), ..StandIn::default() }];
    }
    let mut items = vec![];
    for _ in 0..dice.below(4) {
        let agent = dice.pick(&program.agents);
        let arg = agent.and_then(|a| Some((a, dice.pick(&a.args)?)));
        items.push(match (dice.below(6), arg) {
            (0, _) => json!({ "bot": "told" }),
            (1, _) => json!({ "status": dice.pick(&["success", "error", "odd"]), "msg": "so" }),
            (2, _) => json!({ "arg": "status", "value": value(dice) }),
            (3, _) => value(dice),
            (_, Some((a, arg))) if dice.once_in(2) => json!({ "arg": format!("{}.{}", a.name, arg.name), "value": value(dice) }),
            (_, Some((_, arg))) => json!({ "arg": arg.name, "value": value(dice) }),
            _ => json!({ "arg": "nobody.nothing" }),
        });
    }
    vec![StandIn { answer: Value::from(items), ..StandIn::default() }]
}
