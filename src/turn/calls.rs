//! Calls of a turn: what the rules want called, what came back, and the facts that both leave in the session.
//!
//! Rules derive `do(K,call(F))` and `with(K,Input,Value)`. The commit of the intent writes `calling(Id,F)`; the commit of the result takes it away and
//! writes `returned(F,Id)` and `result(F,Field,Value)`, or `fault(F,Code)`, in place of what the last call of `F` left. In the round after it
//! the rules see `in(N,returned(K,F,ok))` or `in(N,returned(K,F,fault(Code)))`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::TurnError;
use crate::act::{ActError, Call, Returned};
use crate::facts::Change;
use crate::ontology::{Ontology, Scope};
use crate::term::{Atom, Term};

/// A call that is to be made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    /// Its place among the calls of its round; it orders and names the call.
    pub place: i32,
    /// The function.
    pub function: String,
    /// The inputs.
    pub inputs: BTreeMap<String, Value>,
}

/// What a call gave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Came {
    /// The call's place in its round.
    pub place: i32,
    /// The function.
    pub function: String,
    /// The call's own name.
    pub id: String,
    /// The value.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub value: Value,
    /// The code of the fault, if it gave none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// The fault in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The fault in as few words as a program may compare.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brief: Option<String>,
    /// How often it was tried.
    pub attempts: u32,
    /// How long it took.
    pub millis: u64,
}

impl Intent {
    /// The call's own name in the turn of this name.
    pub fn id(&self, turn: &str) -> String {
        format!("{turn}.{}", self.place)
    }

    /// As it is made.
    pub fn call(&self) -> Call {
        Call { function: self.function.clone(), inputs: self.inputs.clone() }
    }

    /// The fact that stands while the call is under way.
    pub fn calling(&self, turn: &str) -> Atom {
        Atom::new("calling", vec![Term::string(&self.id(turn)), Term::string(&self.function)])
    }
}

impl Came {
    /// What became of a call.
    pub fn of(intent: &Intent, turn: &str, result: Result<Returned, ActError>) -> Self {
        let came = Self { place: intent.place, function: intent.function.clone(), id: intent.id(turn), ..Self::default() };
        match result {
            Ok(r) => Self { value: r.value, attempts: r.attempts, millis: r.millis, ..came },
            Err(e) => Self { fault: Some(e.code().to_owned()), error: Some(e.to_string()), brief: Some(e.brief()), ..came },
        }
    }

    /// What it gave, whole: `{"value": …}`, or `{"error": …}` in few words.
    pub fn whole(&self) -> String {
        match (&self.brief, &self.fault) {
            (Some(error), _) | (None, Some(error)) => serde_json::json!({ "error": error }),
            (None, None) => serde_json::json!({ "value": self.value }),
        }
        .to_string()
    }

    /// The input that the rules see: `returned(K,F,ok)` or `returned(K,F,fault(Code))`.
    pub fn input(&self) -> Atom {
        let how = match &self.fault {
            None => Term::constant("ok"),
            Some(code) => Term::Fun("fault".into(), vec![Term::string(code)]),
        };
        Atom::new("returned", vec![Term::Int(self.place), Term::string(&self.function), how])
    }

    /// What the session holds of it from now on.
    fn facts(&self) -> Vec<Atom> {
        match &self.fault {
            Some(code) => vec![Atom::new("fault", vec![Term::string(&self.function), Term::string(code)])],
            None => Returned { function: self.function.clone(), id: self.id.clone(), value: self.value.clone(), attempts: self.attempts, millis: self.millis }
                .facts(),
        }
    }
}

/// What results change in the session's facts: they replace the results of earlier calls of the same functions.
pub fn changes(came: &[Came], session: &[&Atom]) -> Vec<Change> {
    let named = |a: &Atom, at: usize| came.iter().any(|c| a.args.get(at).and_then(Term::as_name) == Some(&c.function));
    let ended = |a: &Atom| &*a.name == "calling" && came.iter().any(|c| a.args.first().and_then(Term::as_name) == Some(&c.id));
    let old = |a: &&&Atom| ended(a) || (matches!(&*a.name, "returned" | "result" | "item" | "fault") && named(a, 0));
    let gone = session.iter().filter(old).map(|a| Change::del(Scope::Session, (*a).clone()));
    gone.chain(came.iter().flat_map(Came::facts).map(|f| Change::add(Scope::Session, f))).collect()
}

/// The calls among the shown atoms, in order; a call that the role may not make is a defect of the rules.
pub fn intents(shown: &[Atom], ontology: &Ontology, role: &str) -> Result<Vec<Intent>, TurnError> {
    let mut intents: Vec<Intent> = vec![];
    for atom in shown.iter().filter(|a| &*a.name == "do") {
        let [Term::Int(place), Term::Fun(call, function)] = atom.args.as_slice() else { return Err(denied(atom, "is no call")) };
        let (true, Some(name)) = (&**call == "call", function.first().and_then(Term::as_name)) else { return Err(denied(atom, "is no call")) };
        match ontology.function(name) {
            None => return Err(denied(atom, "calls a function that the domain does not declare")),
            Some(f) if !f.roles.iter().any(|r| &**r == role) => return Err(denied(atom, &format!("is nothing that a {role} may call"))),
            Some(_) if intents.iter().any(|i| i.place == *place) => return Err(denied(atom, "has the place of another call")),
            Some(_) => intents.push(Intent { place: *place, function: name.to_owned(), inputs: BTreeMap::new() }),
        }
    }
    for atom in shown.iter().filter(|a| &*a.name == "with") {
        let [Term::Int(place), input, value] = atom.args.as_slice() else { return Err(denied(atom, "is no input of a call")) };
        // Rules may say what a call would take without saying again when it is made.
        let Some(intent) = intents.iter_mut().find(|i| i.place == *place) else { continue };
        let name = input.as_name().map_or_else(|| input.to_string(), str::to_owned);
        let declared = ontology.function(&intent.function).and_then(|f| f.inputs.iter().find(|i| i.name == name));
        let value = ontology.to_value(value, declared.map_or("", |i| &i.sort));
        match (declared.is_some_and(|i| i.list), intent.inputs.get_mut(&name)) {
            (true, Some(Value::Array(list))) => list.push(value),
            (true, _) => drop(intent.inputs.insert(name, Value::Array(vec![value]))),
            (false, Some(_)) => return Err(denied(atom, "is a second value of an input that takes one")),
            (false, None) => drop(intent.inputs.insert(name, value)),
        }
    }
    intents.sort_by_key(|i| i.place);
    Ok(intents)
}

fn denied(atom: &Atom, what: &str) -> TurnError {
    TurnError::Denied(format!("`{atom}` {what}"))
}
