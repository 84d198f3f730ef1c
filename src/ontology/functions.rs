//! Functions that a domain's rules may call: what goes in, what comes out, who may call them, and what the built-in stand-in answers.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Ontology, Scope, Sort};
use crate::diag::Origin;
use crate::term::{Atom, Name, Term};

/// Session facts that the engine writes for calls; every domain has them without declaring them:
/// `calling(Id,F)` while a call is under way, and of the last call of `F` `returned(F,Id)`, `result(F,Field,Value)`, `item(F,Field,N,Value)` or
/// `fault(F,Code)`.
pub const CALL_FACTS: [(&str, usize); 5] = [("calling", 2), ("returned", 2), ("result", 3), ("item", 4), ("fault", 2)];

/// How long an attempt may take where nobody says it.
pub const TIMEOUT_MS: u64 = 10_000;

/// A declared function.
#[derive(Clone, Debug)]
pub struct FunctionDecl {
    /// Its name.
    pub name: String,
    /// What it does, one line.
    pub about: String,
    /// What it takes.
    pub inputs: Vec<Parameter>,
    /// What it gives back.
    pub outputs: Vec<Parameter>,
    /// Roles whose rules may call it.
    pub roles: Vec<Name>,
    /// Calling it twice does no more than calling it once, so it is called again after a break or a time-out.
    pub idempotent: bool,
    /// How long one attempt may take.
    pub timeout_ms: u64,
    /// How often it is tried again.
    pub retries: u32,
    /// What the built-in stand-in answers, the first case that fits; with none it answers nothing and succeeds.
    pub stand_in: Vec<StandIn>,
    /// Where it is declared.
    pub origin: Origin,
}

/// An input or output of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its sort.
    pub sort: Name,
    /// Several values make a list.
    pub list: bool,
    /// It may be missing.
    pub optional: bool,
}

/// One case of what the stand-in answers.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StandIn {
    /// Inputs that the call must have for this case.
    pub when: BTreeMap<String, Value>,
    /// The answer; `{from: 1, to: 99}` in place of a value is a number that the call's own name decides.
    pub answer: Value,
    /// Or the fault that it answers with.
    pub fault: Option<String>,
}

impl Ontology {
    /// The declaration of a function.
    pub fn function(&self, name: &str) -> Option<&FunctionDecl> {
        self.functions.iter().find(|f| f.name == name)
    }

    /// Whether a fact is one that the engine writes for calls.
    pub fn is_call_fact(scope: Scope, name: &str, arity: usize) -> bool {
        scope == Scope::Session && CALL_FACTS.contains(&(name, arity))
    }

    /// Whether an action is told of a call, beside the actions proper.
    pub fn is_told(&self, action: &Atom) -> bool {
        self.actions.iter().any(|f| f.told && f.name == action.name && f.args.len() == action.args.len())
    }

    /// A value that rules derived as a function takes it: numbers as numbers, `true` and `false` where a sort has nothing else, `f(a,b)` as
    /// `{"f":[a,b]}`, else text.
    pub fn to_value(&self, term: &Term, sort: &str) -> Value {
        match term {
            Term::Int(n) => Value::from(*n),
            Term::Str(s) => Value::from(&**s),
            Term::Const(c) if self.is_yes_or_no(sort) => Value::from(&**c == "true"),
            Term::Fun(name, args) if &**name == "json" => args.first().and_then(Term::as_name).and_then(|t| serde_json::from_str(t).ok()).unwrap_or_default(),
            Term::Fun(name, args) => json!({ &**name: args.iter().map(|a| self.to_value(a, "")).collect::<Vec<_>>() }),
            Term::Const(c) => Value::from(&**c),
        }
    }

    /// Whether a sort's values are `true` and `false`.
    pub fn is_yes_or_no(&self, sort: &str) -> bool {
        matches!(self.sorts.get(sort), Some(Sort::Values(list)) if !list.is_empty() && list.iter().all(|v| matches!(&**v, "true" | "false")))
    }
}
