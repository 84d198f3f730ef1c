//! Values as programs write them: what is a number, what a reference, and what is text.

use super::Lowering;
use crate::ir::value::{Given, Value};
use crate::lang::adl::parse::{Data, Node};
use crate::lang::adl::syntax::Agent;

impl Lowering<'_> {
    /// What is given by a value of `set` or of a call's `args`.
    pub(super) fn given(self, agent: &Agent, node: &Node) -> Given {
        match &node.data {
            Data::Scalar { text, .. } if text.trim() == "None" => Given::Is(Value::None),
            Data::Scalar { text, .. } => match self.scope.path(agent, text) {
                Some(path) => Given::Of(path),
                None => Given::Is(value(node)),
            },
            Data::List(_) | Data::Map(_) => Given::Is(value(node)),
        }
    }
}

/// A value as it is, without references.
fn value(node: &Node) -> Value {
    match &node.data {
        Data::Scalar { text, plain: false } => Value::Text(text.clone()),
        Data::Scalar { .. } if node.is_nothing() => Value::None,
        Data::Scalar { text, .. } => scalar(text),
        Data::List(items) => Value::List(items.iter().map(value).collect()),
        Data::Map(members) => Value::Map(members.iter().map(|(k, v)| (k.text.clone(), value(v))).collect()),
    }
}

/// A scalar without quotes: a boolean, a number, nothing, or text.
pub fn scalar(text: &str) -> Value {
    match text.trim() {
        "None" => Value::None,
        "true" | "True" | "TRUE" => Value::Boolean(true),
        "false" | "False" | "FALSE" => Value::Boolean(false),
        t => number(t).unwrap_or_else(|| Value::Text(text.to_owned())),
    }
}

/// A number as it is written.
pub fn number(text: &str) -> Option<Value> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') || !digits.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if digits.bytes().all(|b| b.is_ascii_digit())
        && let Ok(n) = text.strip_prefix('+').unwrap_or(text).parse()
    {
        return Some(Value::Integer(n));
    }
    text.parse::<f64>().ok().filter(|n| n.is_finite()).map(Value::Decimal)
}
