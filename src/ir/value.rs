//! Values: what people say, functions give back and programs compare.

use std::fmt;

use crate::term::Term;

/// A value.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// Nothing.
    #[default]
    None,
    /// Yes or no.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// Another number.
    Decimal(f64),
    /// Text.
    Text(String),
    /// Several values.
    List(Vec<Value>),
    /// Values under names, in the order given.
    Map(Vec<(String, Value)>),
}

/// Where a value is found: among what a function gave back, of an agent, or else among the values at hand. What ended has an outcome, too: `success`,
/// `error`, `status` and `msg` of an agent, a function or a block of the agent's own, unless a value has this name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path {
    /// The function, agent or block, if it is one in particular.
    pub of: Option<String>,
    /// The field or the value's name.
    pub name: String,
}

/// What is given: a value, or what is found on a path at the time.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// This value.
    Is(Value),
    /// What is found there.
    Of(Path),
}

impl Path {
    /// A value of the conversation, or a field of whatever was called.
    pub fn named(name: &str) -> Self {
        Self { of: None, name: name.to_owned() }
    }

    /// A value of this function, agent or block.
    pub fn of(of: &str, name: &str) -> Self {
        Self { of: Some(of.to_owned()), name: name.to_owned() }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.of.iter().try_for_each(|of| write!(f, "{of}."))?;
        f.write_str(&self.name)
    }
}

impl Value {
    /// The number that it is or spells.
    pub fn number(&self) -> Option<f64> {
        match self {
            #[expect(clippy::cast_precision_loss, reason = "a comparison of numbers that people say")]
            Self::Integer(n) => Some(*n as f64),
            Self::Decimal(n) => Some(*n),
            Self::Text(t) => t.trim().parse().ok(),
            _ => None,
        }
    }

    /// Whether there is nothing to it.
    pub fn is_none(&self) -> bool {
        matches!(self, Self::None) || matches!(self, Self::Text(t) if t.is_empty())
    }
}

impl Value {
    /// As JSON.
    pub fn json(&self) -> serde_json::Value {
        match self {
            Self::None => serde_json::Value::Null,
            Self::Boolean(b) => (*b).into(),
            Self::Integer(n) => (*n).into(),
            Self::Decimal(n) => (*n).into(),
            Self::Text(t) => t.as_str().into(),
            Self::List(l) => l.iter().map(Self::json).collect(),
            Self::Map(m) => m.iter().map(|(k, v)| (k.clone(), v.json())).collect(),
        }
    }
}

impl From<&serde_json::Value> for Value {
    fn from(json: &serde_json::Value) -> Self {
        match json {
            serde_json::Value::Null => Self::None,
            serde_json::Value::Bool(b) => Self::Boolean(*b),
            serde_json::Value::Number(n) => n.as_i64().map_or_else(|| Self::Decimal(n.as_f64().unwrap_or_default()), Self::Integer),
            serde_json::Value::String(t) => Self::Text(t.clone()),
            serde_json::Value::Array(l) => Self::List(l.iter().map(Self::from).collect()),
            serde_json::Value::Object(m) => Self::Map(m.iter().map(|(k, v)| (k.clone(), v.into())).collect()),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Boolean(b) => f.write_str(if *b { "true" } else { "false" }),
            Self::Integer(n) => write!(f, "{n}"),
            Self::Decimal(n) => write!(f, "{n}"),
            Self::Text(t) => f.write_str(t),
            Self::Map(m) => f.write_str(&m.iter().map(|(k, v)| format!("{k}: {v}")).collect::<Vec<_>>().join(", ")),
            Self::List(l) => f.write_str(&l.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
        }
    }
}

impl From<&Term> for Value {
    fn from(term: &Term) -> Self {
        match term {
            Term::Int(n) => Self::Integer(i64::from(*n)),
            Term::Str(s) => Self::Text(s.to_string()),
            Term::Const(c) if &**c == "true" => Self::Boolean(true),
            Term::Const(c) if &**c == "false" => Self::Boolean(false),
            Term::Const(_) | Term::Fun(..) => Self::Text(term.to_string()),
        }
    }
}
