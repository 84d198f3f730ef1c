//! Acting: calls to the outside, never before commit.
//!
//! A call is typed, has a time limit, and is made again only when that cannot do it twice. What it gives back becomes facts that say where they
//! come from. Nothing here runs unless its caller holds a [`Ticket`], which only the store's commit makes.

mod http;
mod mcp;
mod process;
pub mod python;
mod stand_in;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::facts::Ticket;
use crate::ontology::{Ontology, Sort, StandIn};
use crate::term::{Atom, Term};
use crate::wait::apart;

/// Why a call gave nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ActError {
    /// Nobody declared the function.
    #[error("no function is called `{0}`")]
    Unknown(String),
    /// An input is needed and not there.
    #[error("`{function}` cannot be called without `{input}`")]
    Missing {
        /// The function.
        function: String,
        /// The input.
        input: String,
    },
    /// The function has no such input.
    #[error("`{function}` has no input `{input}`")]
    NoInput {
        /// The function.
        function: String,
        /// The input.
        input: String,
    },
    /// An input is not of its type.
    #[error("the input `{input}` of `{function}` is no {expected}")]
    Type {
        /// The function.
        function: String,
        /// The input.
        input: String,
        /// What it has to be.
        expected: &'static str,
    },
    /// The time limit passed; nobody knows whether the call was carried out.
    #[error("`{function}` did not answer within {millis} ms")]
    Timeout {
        /// The function.
        function: String,
        /// The limit.
        millis: u128,
    },
    /// The function could not be reached at all, so nothing was carried out.
    #[error("`{0}` cannot be reached: {1}")]
    Unreachable(String, String),
    /// The function answered with an error.
    #[error("`{0}` failed: {1}")]
    Failed(String, String),
    /// The process broke off while the call was under way; nobody knows whether it was carried out.
    #[error("`{0}` was interrupted, and nobody knows whether it was carried out")]
    Interrupted(String),
    /// The answer cannot be read.
    #[error("the answer of `{0}` cannot be read: {1}")]
    Unreadable(String, String),
    /// The function answered that it cannot do it, `{"fault": "code"}`.
    #[error("`{0}` answered with the fault `{1}`")]
    Fault(String, String),
}

impl ActError {
    /// The fault as briefly as a program may compare it.
    pub fn brief(&self) -> String {
        match self {
            Self::Timeout { millis, .. } => format!("timeout after {} s", millis.div_ceil(1000)),
            Self::Interrupted(_) => "interrupted".to_owned(),
            Self::Failed(_, what) | Self::Fault(_, what) | Self::Unreadable(_, what) | Self::Unreachable(_, what) => what.clone(),
            Self::Unknown(_) | Self::Missing { .. } | Self::NoInput { .. } | Self::Type { .. } => self.to_string(),
        }
    }

    /// The code by which rules know the fault: the function's own, or one of `invalid`, `timeout`, `unreachable`, `failed`, `interrupted`, `unreadable`.
    pub fn code(&self) -> &str {
        match self {
            Self::Unknown(_) | Self::Missing { .. } | Self::NoInput { .. } | Self::Type { .. } => "invalid",
            Self::Timeout { .. } => "timeout",
            Self::Unreachable(..) => "unreachable",
            Self::Failed(..) => "failed",
            Self::Interrupted(_) => "interrupted",
            Self::Unreadable(..) => "unreadable",
            Self::Fault(_, code) => code,
        }
    }
}

/// The type of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InputType {
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// Yes or no.
    Boolean,
    /// Any value.
    Any,
}

/// An input of a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// Its type.
    #[serde(rename = "type", default = "text")]
    pub kind: InputType,
    /// The call cannot be made without it.
    #[serde(default)]
    pub required: bool,
    /// It is a list of such values.
    #[serde(default)]
    pub list: bool,
    /// The values it may have; any when empty.
    #[serde(default)]
    pub values: Vec<String>,
}

fn text() -> InputType {
    InputType::String
}

/// Where a function lives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Target {
    /// A POST of the inputs as JSON.
    Http {
        /// The address.
        url: String,
    },
    /// A program: the call as one line of JSON on its input, the answer as JSON on its output.
    Process {
        /// The program and its arguments; no shell stands between.
        command: Vec<String>,
    },
    /// A tool of an MCP server that is started as a program.
    Mcp {
        /// The server and its arguments.
        command: Vec<String>,
        /// The tool's name; the function's when absent.
        #[serde(default)]
        tool: Option<String>,
    },
    /// A function of a Python file, run by one of a project's workers.
    #[serde(skip)]
    Python {
        /// The workers.
        workers: Arc<python::Workers>,
        /// The file.
        file: PathBuf,
    },
    /// Nothing outside: the first case that fits answers.
    #[serde(skip)]
    StandIn(Vec<StandIn>),
}

/// A declared function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Its inputs.
    #[serde(default)]
    pub inputs: Vec<Input>,
    /// Where it lives.
    pub target: Target,
    /// Its time limit.
    #[serde(default = "timeout_ms")]
    pub timeout_ms: u64,
    /// How often it is tried again.
    #[serde(default)]
    pub retries: u32,
    /// Calling it twice does no more than calling it once, so it may be tried again after a time-out too.
    #[serde(default)]
    pub idempotent: bool,
    /// It takes inputs of any other name, too.
    #[serde(default)]
    pub open: bool,
}

fn timeout_ms() -> u64 {
    crate::ontology::functions::TIMEOUT_MS
}

/// A call to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The function's name.
    pub function: String,
    /// The inputs.
    pub inputs: BTreeMap<String, Value>,
}

/// What a call gave back, and how.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Returned {
    /// The function's name.
    pub function: String,
    /// The call's own name: the same turn gives the same one, so that the other side can tell a repetition.
    pub id: String,
    /// The value.
    pub value: Value,
    /// How often it was tried.
    pub attempts: u32,
    /// How long it took.
    pub millis: u64,
}

/// Longer text stays outside of the logic: it is in the value, but becomes no symbol.
const MAX_SYMBOL: usize = 1000;
/// Longer lists are cut.
const MAX_ITEMS: usize = 200;
/// The longest answer that is read.
pub(crate) const MAX_ANSWER: usize = 1_048_576;

impl Returned {
    /// The value as facts: `result(Function,Field,Value)` for every plain field, `item(Function,Field,N,Value)` for every plain item of a list, and
    /// `returned(Function,Id)` for where they come from.
    pub fn facts(&self) -> Vec<Atom> {
        let name = Term::string(&self.function);
        let mut out = vec![Atom { name: "returned".into(), args: vec![name.clone(), Term::string(&self.id)] }];
        let plain = |v: &Value| match v {
            Value::Bool(b) => Some(Term::constant(if *b { "true" } else { "false" })),
            Value::Number(n) => Some(n.as_i64().and_then(|n| i32::try_from(n).ok()).map_or_else(|| Term::string(&n.to_string()), Term::Int)),
            Value::String(s) if s.len() <= MAX_SYMBOL => Some(Term::string(s)),
            _ => None,
        };
        let of_field = |field: &str, v: &Value| match v {
            Value::Array(list) => (1..)
                .zip(list.iter().take(MAX_ITEMS))
                .filter_map(|(n, v)| Some(Atom::new("item", vec![name.clone(), Term::string(field), Term::Int(n), plain(v)?])))
                .collect(),
            v => plain(v).map(|v| Atom::new("result", vec![name.clone(), Term::string(field), v])).into_iter().collect::<Vec<_>>(),
        };
        match &self.value {
            Value::Object(fields) => out.extend(fields.iter().flat_map(|(k, v)| of_field(k, v))),
            other => out.extend(of_field("value", other)),
        }
        out.sort();
        out
    }
}

/// The functions that may be called.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Functions {
    by_name: BTreeMap<String, Function>,
}

impl Functions {
    /// Functions from their declarations; a later one of the same name wins.
    pub fn new(functions: impl IntoIterator<Item = Function>) -> Self {
        Self { by_name: functions.into_iter().map(|f| (f.name.clone(), f)).collect() }
    }

    /// The functions that a domain declares, each answered by its stand-in.
    pub fn of(ontology: &Ontology) -> Self {
        let kind = |sort: &str| match ontology.sorts.get(sort) {
            Some(Sort::Int { .. }) => InputType::Integer,
            Some(Sort::Values(_)) if ontology.is_yes_or_no(sort) => InputType::Boolean,
            Some(Sort::Values(_) | Sort::Names(_) | Sort::NewName) => InputType::String,
            _ => InputType::Any,
        };
        let values = |sort: &str| match ontology.sorts.get(sort) {
            Some(Sort::Values(list)) if !ontology.is_yes_or_no(sort) => list.iter().map(ToString::to_string).collect(),
            _ => vec![],
        };
        Self::new(ontology.functions.iter().map(|f| {
            Function {
                name: f.name.clone(),
                inputs: (f.inputs.iter())
                    .map(|i| Input { name: i.name.clone(), kind: kind(&i.sort), required: !i.optional && !i.list, list: i.list, values: values(&i.sort) })
                    .collect(),
                target: Target::StandIn(f.stand_in.clone()),
                timeout_ms: f.timeout_ms,
                retries: f.retries,
                idempotent: f.idempotent,
                open: false,
            }
        }))
    }

    /// The same with targets that an operator configured, a JSON list of `{"name", "target", "timeout_ms"?, "retries"?}`; what a function takes, gives
    /// and promises stays as the domain declares it.
    pub fn configured(mut self, text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Configured {
            name: String,
            target: Target,
            timeout_ms: Option<u64>,
            retries: Option<u32>,
        }
        for c in serde_json::from_str::<Vec<Configured>>(text).map_err(|e| e.to_string())? {
            let known = self.names().collect::<Vec<_>>().join(", ");
            let Some(f) = self.by_name.get_mut(&c.name) else {
                let has = if known.is_empty() { "it declares none".to_owned() } else { format!("it declares: {known}") };
                return Err(format!("the domain declares no function `{}`; {has}", c.name));
            };
            f.target = c.target;
            f.timeout_ms = c.timeout_ms.unwrap_or(f.timeout_ms);
            f.retries = c.retries.unwrap_or(f.retries);
        }
        Ok(self)
    }

    /// The same with these in place of those of their names.
    #[must_use]
    pub fn with(mut self, functions: impl IntoIterator<Item = Function>) -> Self {
        self.by_name.extend(functions.into_iter().map(|f| (f.name.clone(), f)));
        self
    }

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// A function by its name.
    pub fn get(&self, name: &str) -> Option<&Function> {
        self.by_name.get(name)
    }

    /// Whether a call can be made: the function exists, and its inputs are there and of their types.
    pub fn check(&self, call: &Call) -> Result<&Function, ActError> {
        let f = self.by_name.get(&call.function).ok_or_else(|| ActError::Unknown(call.function.clone()))?;
        for i in &f.inputs {
            match call.inputs.get(&i.name) {
                // To Python nothing is a value like others.
                Some(Value::Null) if matches!(f.target, Target::Python { .. }) => {}
                None | Some(Value::Null) if i.required => return Err(ActError::Missing { function: f.name.clone(), input: i.name.clone() }),
                None | Some(Value::Null) => {}
                Some(v) => i.admits(v).map_err(|expected| ActError::Type { function: f.name.clone(), input: i.name.clone(), expected })?,
            }
        }
        if let Some(other) = call.inputs.keys().find(|k| !f.open && !f.inputs.iter().any(|i| i.name == **k)) {
            return Err(ActError::NoInput { function: f.name.clone(), input: other.clone() });
        }
        Ok(f)
    }

    /// Makes a call of a committed turn; no attempt goes on, and none begins, after `until`.
    pub async fn perform(&self, call: &Call, place: usize, ticket: &Ticket, until: Option<Instant>) -> Result<Returned, ActError> {
        let f = self.check(call)?;
        let id = format!("{}.{place}", ticket.name());
        let began = Instant::now();
        let mut attempts = 0;
        loop {
            let left = until.map_or(Duration::MAX, |u| u.saturating_duration_since(Instant::now()));
            // A worker keeps the function's time itself, which does not begin before it has started.
            let limit = if matches!(f.target, Target::Python { .. }) { left } else { left.min(Duration::from_millis(f.timeout_ms)) };
            if limit.is_zero() {
                return Err(ActError::Timeout { function: f.name.clone(), millis: began.elapsed().as_millis() });
            }
            attempts += 1;
            let answer = tokio::time::timeout(limit, f.once(call, &id)).await;
            let answer = answer.unwrap_or_else(|_| Err(ActError::Timeout { function: f.name.clone(), millis: limit.as_millis() }));
            match answer.and_then(|value| fault_of(&f.name, value)) {
                Ok(value) => {
                    let millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
                    return Ok(Returned { function: f.name.clone(), id, value, attempts, millis });
                }
                Err(e) if attempts <= f.retries && f.may_repeat(&e) => {
                    tracing::debug!(function = %f.name, attempts, error = %e, "the call is made again");
                    tokio::time::sleep(Duration::from_millis(50 << attempts.min(6))).await;
                }
                Err(e) => return Err(e),
            }
        }
    }

    /// Makes the calls of a committed turn side by side, on the network's thread; whoever awaits them holds none.
    pub async fn perform_all(self: &Arc<Self>, calls: Vec<(Call, usize)>, ticket: Ticket, until: Option<Instant>) -> Vec<Result<Returned, ActError>> {
        let (functions, names) = (self.clone(), calls.iter().map(|(call, _)| call.function.clone()).collect::<Vec<_>>());
        let made = apart(async move {
            let all = calls.iter().map(|(call, place)| functions.perform(call, *place, &ticket, until));
            futures_util::future::join_all(all).await
        });
        let lost = |name| Err(ActError::Unreachable(name, "the call was abandoned".to_owned()));
        made.await.unwrap_or_else(|| names.into_iter().map(lost).collect())
    }
}

/// The text at an address, if it comes in time.
pub async fn page(url: String, limit: Duration) -> Result<String, ActError> {
    let name = url.clone();
    let late = ActError::Timeout { function: url.clone(), millis: limit.as_millis() };
    let read = apart(async move { tokio::time::timeout(limit, http::page(&url)).await });
    match read.await {
        Some(Ok(text)) => text,
        Some(Err(_)) => Err(late),
        None => Err(ActError::Unreachable(name, "the request was abandoned".to_owned())),
    }
}

/// An answer that says that it cannot be done is a fault.
fn fault_of(function: &str, value: Value) -> Result<Value, ActError> {
    match value.get("fault").and_then(Value::as_str) {
        Some(code) if code.len() <= MAX_SYMBOL => Err(ActError::Fault(function.to_owned(), code.to_owned())),
        _ => Ok(value),
    }
}

impl Input {
    fn admits(&self, v: &Value) -> Result<(), &'static str> {
        match v {
            Value::Array(values) if self.list => values.iter().try_for_each(|v| self.admits_one(v)),
            _ if self.list => Err("list"),
            _ => self.admits_one(v),
        }
    }

    fn admits_one(&self, v: &Value) -> Result<(), &'static str> {
        let (fits, expected) = match self.kind {
            InputType::String => (v.is_string(), "text"),
            InputType::Integer => (v.is_i64() || v.is_u64(), "whole number"),
            InputType::Number => (v.is_number(), "number"),
            InputType::Boolean => (v.is_boolean(), "yes or no"),
            InputType::Any => (true, "value"),
        };
        if !fits {
            return Err(expected);
        }
        if !self.values.is_empty() && !v.as_str().is_some_and(|s| self.values.iter().any(|x| x == s)) {
            return Err("value of its list");
        }
        Ok(())
    }
}

impl Function {
    async fn once(&self, call: &Call, id: &str) -> Result<Value, ActError> {
        match &self.target {
            Target::Http { url } => http::call(&self.name, url, call, id).await,
            Target::Process { command } => process::call(&self.name, command, call, id).await,
            Target::Mcp { command, tool } => mcp::call(&self.name, command, tool.as_deref().unwrap_or(&self.name), call).await,
            Target::Python { workers, file } => {
                let (workers, file, made, limit) = (workers.clone(), file.clone(), call.clone(), Duration::from_millis(self.timeout_ms));
                let done = tokio::task::spawn_blocking(move || workers.call(&file, &made, limit)).await;
                done.unwrap_or_else(|e| Err(ActError::Failed(self.name.clone(), e.to_string())))
            }
            Target::StandIn(cases) => Ok(stand_in::answer(cases, call, id)),
        }
    }

    /// What was never carried out may always be tried again; what may have been, only if twice is as good as once.
    fn may_repeat(&self, e: &ActError) -> bool {
        match e {
            ActError::Unreachable(..) => true,
            ActError::Timeout { .. } | ActError::Failed(..) | ActError::Unreadable(..) => self.idempotent,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests;
