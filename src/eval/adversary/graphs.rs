//! The adversary against a dialogue graph: what its functions may answer.

use serde_json::{Map, Value, json};

use super::Dice;
use crate::ir::Function;
use crate::ir::guard::Guard;
use crate::ontology::StandIn;

/// One way that a function answers: with what it promises, with nothing, with a result that says no, or with a fault.
pub fn answers(dice: &mut Dice, function: &Function) -> Vec<StandIn> {
    let answer = match dice.below(6) {
        0 => return vec![StandIn { fault: Some("broken".to_owned()), ..StandIn::default() }],
        1 => Map::new(),
        2 | 3 => result(dice, function).into_iter().chain(refusal(dice, function)).collect(),
        _ => result(dice, function),
    };
    vec![StandIn { answer: Value::Object(answer), ..StandIn::default() }]
}

/// Values for most of what it gives back.
fn result(dice: &mut Dice, function: &Function) -> Map<String, Value> {
    let mut out = Map::new();
    for name in &function.outputs {
        let values = [json!("red"), json!(7), json!(true), json!(["one", "two", "three"]), json!("")];
        if let Some(value) = dice.pick(&values).filter(|_| !dice.once_in(6)).cloned() {
            out.insert(name.clone(), value);
        }
    }
    out
}

/// What makes the result say no: one of its words in a field where it is looked for.
fn refusal(dice: &mut Dice, function: &Function) -> Option<(String, Value)> {
    let Some(Guard::Says { fields, words, .. }) = &function.refuses else { return None };
    let said = |name: &&String| fields.iter().any(|f| name.ends_with(f.as_str()));
    let field = function.outputs.iter().find(said).or_else(|| fields.first())?;
    Some((field.clone(), json!(dice.pick(words)?)))
}
