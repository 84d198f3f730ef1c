//! Questions that words or a model have to settle, and the proposals that answer them: used up in the order given, or looked up.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Stop, Walk};
use crate::ir::Passage;
use crate::term::{Atom, Term};

/// What a program asks of whoever listens.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// `route`, `extract`, `intent`, `judge`, `reply`, `answer`, `fallback` or `exit`.
    pub ask: String,
    /// The agent that asks.
    pub by: String,
    /// The phrases that are claimed, or the condition.
    pub about: Vec<String>,
    /// Who may be chosen.
    pub may: Vec<String>,
    /// The agent's arguments as it reads them.
    pub args: Map<String, Value>,
    /// How many turns in a row its fallback ran, this one included.
    pub misses: u32,
    /// What was said lately, in this turn, too.
    pub lines: Vec<String>,
    /// What the functions that it called gave in this turn.
    pub results: Vec<String>,
    /// What stands on the pages that the agent knows from, once they were read.
    pub pages: Vec<Passage>,
}

/// How often in one place something may be proposed that is not permitted, before what is usual counts.
const MOST_REFUSED: usize = 3;

/// What somebody proposes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Proposal {
    ask: String,
    by: String,
    about: Vec<String>,
    give: Value,
    /// Its place among the inputs of its round.
    input: i32,
}

impl Proposal {
    /// `proposed(Ask,By,About,Give)`, the last two as JSON, as it stands among the inputs.
    pub fn read(input: &Term, said: &Term) -> Option<Self> {
        let (Term::Int(input), Term::Fun(name, args)) = (input, said) else { return None };
        match (&**name, args.as_slice()) {
            ("proposed", [ask, by, about, give]) => Some(Self {
                ask: ask.as_name()?.to_owned(),
                by: by.as_name()?.to_owned(),
                about: serde_json::from_str(about.as_name()?).unwrap_or_default(),
                give: serde_json::from_str(give.as_name()?).ok()?,
                input: *input,
            }),
            _ => None,
        }
    }
}

/// A proposal as an input of the turn.
pub fn proposed(ask: &str, by: &str, about: &[String], give: &Value) -> Atom {
    Atom::new("proposed", vec![Term::string(ask), Term::string(by), Term::string(&json!(about).to_string()), Term::string(&give.to_string())])
}

impl Walk<'_> {
    /// Whether there are words that something can be found in.
    pub(super) fn has_words(&self) -> bool {
        self.turn.message.is_some() && self.turn.click.is_none()
    }

    fn note(&mut self, ask: &str, by: &str) {
        let mut asked = json!({ "ask": ask, "by": by });
        if let Some(map) = asked.as_object_mut().filter(|_| ask == "fallback") {
            map.insert("misses".into(), json!(self.stands.misses.get(by).copied().unwrap_or_default()));
        }
        self.turn.asked.push(asked);
    }

    fn question(&self, ask: &str, by: &str, about: &[String], may: &[String]) -> Question {
        let args = self.program.agent(by).map(|a| a.args.iter().map(|x| (x.name.clone(), self.reads(by, &x.name))).collect()).unwrap_or_default();
        let lines = self.stands.lines.iter().cloned().chain(self.turn.message.iter().map(|m| format!("user: {m}")));
        let lines = lines.chain(self.turn.texts.iter().map(|t| format!("bot: {t}"))).collect();
        Question {
            ask: ask.to_owned(),
            by: by.to_owned(),
            about: about.to_vec(),
            may: may.to_vec(),
            args,
            misses: self.stands.misses.get(by).copied().unwrap_or_default(),
            lines,
            results: self.turn.results.clone(),
            pages: vec![],
        }
    }

    /// What is proposed for a question, the first of what was not used up that is permitted; the input that it came as, too.
    pub(super) fn next_answer<T>(&mut self, ask: &str, may: &[String], read: impl Fn(&Self, &Value) -> Result<T, String>) -> Result<Option<(T, i32)>, Stop> {
        let by = self.own().to_owned();
        self.note(ask, &by);
        let (mut answered, mut refused) = (false, 0);
        for at in 0..self.proposals.len() {
            let Some(p) = self.proposals.get(at).filter(|p| p.ask == ask && (p.by.is_empty() || p.by == by)) else { continue };
            if self.turn.used.contains(&at) {
                continue;
            }
            answered = true;
            let (give, input) = (p.give.clone(), p.input);
            self.turn.used.insert(at);
            // A null says that nobody answered.
            if give.is_null() {
                return Ok(None);
            }
            match read(self, &give) {
                Ok(found) => return Ok(Some((found, input))),
                Err(reason) => {
                    refused += 1;
                    self.refuse(ask, &by, &give, &reason);
                }
            }
        }
        // Whoever proposed what is not permitted may think again, but not for ever.
        if self.asking && (!answered || (1..MOST_REFUSED).contains(&refused)) {
            return Err(Stop::Asks(Box::new(self.question(ask, &by, &[], may))));
        }
        Ok(None)
    }

    /// Whether somebody agrees that one of these was said, or that a condition holds.
    pub(super) fn agreed(&mut self, ask: &str, about: &[String]) -> Result<bool, Stop> {
        let by = self.own().to_owned();
        self.note(ask, &by);
        let fits = |p: &&Proposal| p.ask == ask && (p.by.is_empty() || p.by == by) && p.about.iter().any(|a| about.iter().any(|b| same(a, b)));
        let said: Vec<(Value, i32)> = self.proposals.iter().filter(fits).map(|p| (p.give.clone(), p.input)).collect();
        if said.is_empty() && self.asking {
            return Err(Stop::Asks(Box::new(self.question(ask, &by, about, &[]))));
        }
        let mut agreed = false;
        for (give, input) in said {
            match give.as_bool() {
                Some(yes) if yes => {
                    agreed = true;
                    self.tell_heed(ask, input);
                }
                Some(_) => {}
                None => self.refuse(ask, &by, &give, "it is neither true nor false"),
            }
        }
        Ok(agreed)
    }

    /// What the words mean to the flow at work: its arguments are set; whether the speaker leaves it.
    pub(super) fn extract(&mut self) -> Result<bool, Stop> {
        if !self.has_words() {
            return Ok(false);
        }
        let by = self.own().to_owned();
        self.note("extract", &by);
        let found = self.proposals.iter().find(|p| p.ask == "extract" && (p.by.is_empty() || p.by == by)).map(|p| (p.give.clone(), p.input));
        let Some((give, input)) = found else {
            return if self.asking { Err(Stop::Asks(Box::new(self.question("extract", &by, &[], &[])))) } else { Ok(false) };
        };
        let Some(map) = give.as_object() else {
            self.refuse("extract", &by, &give, "it is no object");
            return Ok(false);
        };
        self.take_data("extract", map.get("data"), input);
        match map.get("status") {
            None | Some(Value::Null) => Ok(false),
            Some(Value::String(s)) if s == "quit" => {
                self.tell_heed("extract", input);
                Ok(true)
            }
            Some(other) => {
                let other = other.clone();
                self.refuse("extract", &by, &json!({ "status": other }), "a flow can only be left: `quit`");
                Ok(false)
            }
        }
    }

    /// Sets what the words or a model say of the arguments of the agent at work.
    pub(super) fn take_data(&mut self, ask: &str, data: Option<&Value>, input: i32) {
        let by = self.own().to_owned();
        match data {
            None | Some(Value::Null) => {}
            Some(Value::Object(data)) => {
                for (arg, value) in data.clone() {
                    let declared = self.program.agent(&by).and_then(|a| a.args.iter().find(|x| x.name == arg));
                    match declared {
                        None => self.refuse(ask, &by, &json!({ "data": { arg.as_str(): value } }), &format!("`{by}` has no argument `{arg}`")),
                        Some(_) if value.is_null() => {}
                        Some(declared) => {
                            let value = if declared.spelled { super::values::unspelled(value) } else { value };
                            self.tell_heed(ask, input);
                            self.write(&by, &arg, value);
                        }
                    }
                }
            }
            Some(other) => {
                let other = other.clone();
                self.refuse(ask, &by, &json!({ "data": other }), "the data are no object");
            }
        }
    }

    pub(super) fn refuse(&mut self, ask: &str, by: &str, give: &Value, reason: &str) {
        self.turn.refused.push(json!({ "ask": ask, "by": by, "give": give, "reason": reason }));
    }
}

/// Phrases are the same whatever their blanks.
fn same(a: &str, b: &str) -> bool {
    a == b || a.split_whitespace().eq(b.split_whitespace())
}
