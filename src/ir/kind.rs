//! What an input of a function may be, as a typed declaration that values are checked against and models are shown.

use serde_json::{Value, json};

/// What a value may be.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Kind {
    /// Anything.
    #[default]
    Any,
    /// Text.
    Text,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// Yes or no.
    Boolean,
    /// Several of a kind.
    List(Box<Kind>),
    /// Values under names.
    Map,
    /// One of these.
    OneOf(Vec<Value>),
    /// Of one of these kinds.
    Either(Vec<Kind>),
    /// Nothing.
    Null,
}

impl Kind {
    /// Whether a value is of the kind.
    pub fn admits(&self, value: &Value) -> bool {
        match self {
            Self::Any => true,
            Self::Text => value.is_string(),
            Self::Integer => value.is_i64() || value.is_u64(),
            Self::Number => value.is_number(),
            Self::Boolean => value.is_boolean(),
            Self::List(kind) => value.as_array().is_some_and(|list| list.iter().all(|v| kind.admits(v))),
            Self::Map => value.is_object(),
            Self::OneOf(values) => values.contains(value),
            Self::Either(kinds) => kinds.iter().any(|k| k.admits(value)),
            Self::Null => value.is_null(),
        }
    }

    /// As a JSON Schema.
    pub fn schema(&self) -> Value {
        let named = |name: &str| json!({ "type": name });
        match self {
            Self::Any => json!({}),
            Self::Text => named("string"),
            Self::Integer => named("integer"),
            Self::Number => named("number"),
            Self::Boolean => named("boolean"),
            Self::List(kind) => json!({ "type": "array", "items": kind.schema() }),
            Self::Map => named("object"),
            Self::OneOf(values) => json!({ "enum": values }),
            Self::Either(kinds) => json!({ "anyOf": kinds.iter().map(Self::schema).collect::<Vec<_>>() }),
            Self::Null => named("null"),
        }
    }
}
