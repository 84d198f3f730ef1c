//! Running a flow: what is known and was said so far, and the next act, decided by the flow rules.

mod snapshot;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use snapshot::Snapshot;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::facts::{atom, base, number as edge_number};
use super::{Condition, Flow, Node, NodeKind, Test, When};
use crate::reason::{Base, Budget, Outcome, ReasonError, Reasoner, Rules, decide};
use crate::term::{Atom, Term};
use crate::understand::flow::background::Background;
use crate::understand::flow::cues::normal;
use crate::understand::flow::{Ear, Heard, Known, values};
use crate::understand::question::{Answers, Judge, Question};

/// A flow with everything that is computed from it once.
#[derive(Debug)]
pub struct Ready {
    /// The flow.
    pub flow: Flow,
    /// Its listener.
    pub ear: Ear,
    base: Base,
}

/// How a call came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// As wished.
    Good,
    /// Not as wished.
    Bad,
    /// With nothing.
    None,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Say something: the act's name.
    Say(String),
    /// Call the function of a node.
    Call(i32),
    /// Nothing: the flow has no act for this.
    Silence,
}

/// A decision with what it was decided on.
#[derive(Debug)]
pub struct Decision {
    /// What to do next.
    pub next: Next,
    /// The whole decision, for its proof.
    pub outcome: Outcome,
}

impl Ready {
    /// Prepares a flow.
    pub fn new(rules: &Arc<Rules>, flow: Flow) -> Result<Self, ReasonError> {
        let base = base(rules, &flow)?;
        Ok(Self { ear: Ear::new(&flow), base, flow })
    }
}

/// Where one dialogue stands.
#[derive(Clone, Debug)]
pub struct Dialogue {
    ready: Arc<Ready>,
    /// Slots.
    pub known: Known,
    said: BTreeSet<String>,
    last: Option<String>,
    waiting: Option<i32>,
    awaited: Vec<String>,
    asked: BTreeMap<String, u32>,
    result: Option<Value>,
    class: Option<Class>,
    step: Option<usize>,
    turn: usize,
    background: Background,
    /// Slots whose rule in free words was found to hold; a changed slot opens the question again.
    applies: BTreeSet<String>,
    /// Conditions in free words that were put to somebody, with the answers.
    pub answers: Answers,
}

/// Words by which a result says that a wish cannot be met.
const REFUSALS: [&str; 11] =
    ["unavailable", "conflict", "conflicting", "failed", "unable", "cannot", "must provide", "booked at", "too small", "not authorized", "not available"];

/// How a result is to be read: its message or status says so in words.
pub fn class_of(result: Option<&Value>) -> Class {
    let Some(Value::Object(fields)) = result else { return Class::None };
    let told = fields.iter().filter(|(k, _)| k.ends_with("Message") || k.ends_with("Status") || k.as_str() == "message" || k.as_str() == "status");
    let refused = told.filter_map(|(_, v)| v.as_str()).map(normal).any(|t| REFUSALS.iter().any(|w| values::word_at(&t, w).is_some()));
    if refused { Class::Bad } else { Class::Good }
}

impl Dialogue {
    /// A dialogue that has not begun.
    pub fn new(ready: Arc<Ready>) -> Self {
        Self {
            ready,
            known: Known::default(),
            said: BTreeSet::new(),
            last: None,
            waiting: None,
            awaited: Vec::new(),
            asked: BTreeMap::new(),
            result: None,
            class: None,
            step: None,
            turn: 0,
            background: Background::default(),
            applies: BTreeSet::new(),
            answers: Answers::default(),
        }
    }

    /// The same dialogue, with what the agent was told beforehand: one fact a line, such as what day it is and where the speaker is.
    #[must_use]
    pub fn told(mut self, facts: &str) -> Self {
        self.background = Background::read(facts);
        self
    }

    /// The flow.
    pub fn flow(&self) -> &Flow {
        &self.ready.flow
    }

    /// The node that the last act performed, for drawing.
    pub fn current(&self) -> Option<i32> {
        let last = self.last.as_deref()?;
        let asked = || self.flow().nodes.iter().find(|n| n.slots().iter().any(|s| s.ask.as_deref() == Some(last)));
        self.flow().performed(last).or_else(asked).map(|n| n.id)
    }

    /// The last result of a call.
    pub fn result(&self) -> Option<&Value> {
        self.result.as_ref()
    }

    /// How often slots were asked for.
    pub fn asked(&self) -> &BTreeMap<String, u32> {
        &self.asked
    }

    /// The speaker says something.
    pub fn hear(&mut self, text: &str) -> Heard {
        self.turn += 1;
        self.ready.ear.hear(text, &self.awaited, &self.background, &mut self.known)
    }

    /// A turn of the speaker begins whose meaning is given, not heard.
    pub fn begin(&mut self) {
        self.turn += 1;
    }

    /// Slots that were just asked for.
    pub fn awaited(&self) -> &[String] {
        &self.awaited
    }

    /// Has the conditions in free words answered that bear on the next act. Without this they are taken not to hold.
    pub fn settle(&mut self, text: &str, heard: &Heard, judge: &dyn Judge) {
        if !heard.changed.is_empty() {
            self.applies.clear();
        }
        let questions: Vec<(Option<String>, Question)> = {
            let flow = self.flow();
            let rules = flow.slots().into_iter().filter_map(|(_, s)| match &s.only_if {
                Some(Condition::Words(rule)) if !self.known.values.contains_key(&s.name) && !self.applies.contains(&s.name) => {
                    Some((Some(s.name.clone()), rule))
                }
                _ => None,
            });
            let edges = flow.edges.iter().filter_map(|e| if let When::Words(t) = &e.when { Some((None, t)) } else { None });
            rules.chain(edges).map(|(slot, condition)| (slot, self.question(condition, text))).collect()
        };
        for (slot, question) in questions {
            let holds = self.answers.settle(question, judge).holds;
            self.applies.extend(slot.filter(|_| holds));
        }
    }

    fn question(&self, condition: &str, text: &str) -> Question {
        let mut known: Vec<String> = self.known.values.iter().map(|(s, v)| format!("{s} = {v}")).collect();
        if let Some(Value::Object(fields)) = &self.result {
            known.extend(fields.iter().map(|(k, v)| format!("{k} = {}", v.as_str().map_or_else(|| v.to_string(), str::to_owned))));
        }
        Question { condition: condition.to_owned(), said: text.to_owned(), known: known.join("\n") }
    }

    /// A field of the last result, or else a slot.
    fn found(&self, field: &str) -> Option<String> {
        let told = self.result.as_ref().and_then(|r| r.get(field)).map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned));
        told.or_else(|| self.known.values.get(field).cloned())
    }

    fn meets(&self, test: &Test) -> bool {
        test.holds(self.found(&test.field).as_deref())
    }

    /// The next act after an utterance, or after calls that came back.
    pub fn next(&self, text: &str, heard: &Heard, returned: Option<(i32, Class)>, how: Reasoner) -> Result<Decision, ReasonError> {
        let outcome = decide(&self.ready.base, &self.facts(text, heard, returned), how, &Budget::default())?;
        let next = outcome
            .shown()
            .iter()
            .filter(|a| &*a.name == "act")
            .find_map(|a| match a.args.get(2)? {
                Term::Fun(f, args) => match (&**f, args.first()?) {
                    ("say", Term::Str(act)) => Some(Next::Say(act.to_string())),
                    ("call", Term::Int(node)) => Some(Next::Call(*node)),
                    _ => None,
                },
                _ => None,
            })
            .unwrap_or(Next::Silence);
        Ok(Decision { next, outcome })
    }

    fn facts(&self, text: &str, heard: &Heard, returned: Option<(i32, Class)>) -> Vec<Atom> {
        let mut out = Vec::new();
        let mut one = |name: &str, arg: &str| out.push(atom(name, vec![Term::string(arg)]));
        self.known.values.keys().for_each(|s| one("known", s));
        self.known.refused.iter().for_each(|s| one("refused", s));
        self.asked.keys().for_each(|s| one("asked", s));
        self.said.iter().for_each(|a| one("said", a));
        self.last.iter().for_each(|a| one("last", a));
        self.awaited.iter().for_each(|s| one("awaited", s));
        self.background.slots(self.flow()).iter().filter(|(s, _)| !self.known.values.contains_key(s)).for_each(|(s, _)| one("default", s));
        let told = self.result.as_ref().map(|r| normal(&r.to_string())).unwrap_or_default();
        for s in heard.gave.iter().chain(&heard.changed) {
            if let Some(v) = self.known.values.get(s).map(|v| normal(v)).filter(|v| !v.is_empty() && told.contains(v.as_str())) {
                tracing::trace!(slot = %s, value = %v, "the value repeats the last result");
                one("echo", s);
            }
        }
        let mut number = |name: &str, n: i32| out.push(atom(name, vec![Term::Int(n)]));
        self.waiting.iter().for_each(|n| number("waiting", *n));
        if let (Some(node), Some(step)) = (self.steps_node(), self.step) {
            number("stepping", node.id);
            let left = self.steps().len().saturating_sub(1).saturating_sub(step);
            number("left", i32::try_from(left).unwrap_or(i32::MAX));
        } else if let Some(node) = self.steps_node().filter(|_| !self.steps().is_empty()) {
            number("untold", node.id);
        }
        for (name, holds) in [
            ("found", self.result.is_some()),
            ("past_first", self.turn > 1),
            ("past_second", self.turn > 2),
            ("failed", self.class.is_some_and(|c| c != Class::Good)),
        ] {
            if holds {
                out.push(atom(name, vec![]));
            }
        }
        let mut place = 0;
        let mut says = |t: Term| {
            place += 1;
            out.push(atom("in", vec![Term::Int(place), t]));
        };
        let fun = |name: &str, arg: Term| Term::Fun(name.into(), vec![arg]);
        heard.signals.iter().for_each(|s| says(fun("hears", Term::constant(s))));
        heard.gave.iter().for_each(|s| says(fun("gave", Term::string(s))));
        heard.changed.iter().for_each(|s| says(fun("changed", Term::string(s))));
        heard.again.iter().for_each(|s| says(fun("repeats", Term::string(s))));
        heard.retracts.iter().for_each(|s| says(fun("retracts", Term::string(s))));
        heard.wonders.iter().for_each(|a| says(fun("wonders", Term::string(a))));
        if let Some(o) = self.judged(text, heard) {
            says(fun("judged", Term::constant(o)));
        }
        if let Some((node, class)) = returned {
            let class = match class {
                Class::Good => "good",
                Class::Bad => "bad",
                Class::None => "none",
            };
            says(Term::Fun("returned".into(), vec![Term::Int(node), Term::constant(class)]));
        }
        for (_, s) in self.flow().slots() {
            let applies = match &s.only_if {
                Some(Condition::Test(test)) => self.meets(test),
                Some(Condition::Words(_)) => self.applies.contains(&s.name),
                None => false,
            };
            if applies {
                says(fun("applies", Term::string(&s.name)));
            }
        }
        for (n, e) in self.flow().edges.iter().enumerate() {
            match &e.when {
                When::Words(condition) if self.answers.get(&self.question(condition, text)).is_some_and(|a| a.holds) => says(fun("holds", edge_number(n))),
                When::Test(test) if self.meets(test) => says(fun("holds", edge_number(n))),
                When::Equals(field, value) if self.found(field).is_some_and(|v| normal(&v) == normal(value)) => {
                    says(Term::Fun("value".into(), vec![Term::string(field), Term::string(value)]));
                }
                _ => {}
            }
        }
        out
    }

    /// How the answer to the last question compares with the one that the result holds.
    fn judged(&self, text: &str, heard: &Heard) -> Option<&'static str> {
        let field = self.flow().performed(self.last.as_deref()?)?.judge.as_ref()?;
        let right = normal(self.result.as_ref()?.get(field)?.as_str()?);
        let n = normal(text);
        if values::same_answer(&right, &n) {
            return Some("correct");
        }
        let starts = |at: usize| !n.get(..at).and_then(|t| t.chars().next_back()).is_some_and(|c| c.is_alphanumeric() || c == '_');
        if !right.is_empty() && n.match_indices(&right).any(|(at, _)| starts(at)) {
            return Some("correct");
        }
        let passes = ["give up", "pass", "skip", "clue", "idea", "tell me", "hint"].iter().any(|w| values::word_at(&n, w).is_some());
        Some(if passes || heard.signals.has("unknowing") { "none" } else { "wrong" })
    }

    fn steps_node(&self) -> Option<&Node> {
        self.flow().nodes.iter().find(|n| n.steps.is_some())
    }

    fn lists(&self, suffix: &str, prefix: &str, with_prefix: bool) -> Vec<&str> {
        let Some(Value::Object(fields)) = &self.result else { return Vec::new() };
        let lists = fields.iter().filter(|(k, _)| k.ends_with(suffix) && k.starts_with(prefix) == with_prefix);
        lists.filter_map(|(_, v)| v.as_array()).next().map(|l| l.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
    }

    fn steps(&self) -> Vec<&str> {
        match self.steps_node().and_then(|n| n.steps.as_ref()) {
            Some((suffix, prefix)) => self.lists(suffix, prefix, false),
            None => Vec::new(),
        }
    }

    fn details(&self) -> Vec<&str> {
        match self.steps_node().and_then(|n| n.steps.as_ref()) {
            Some((suffix, prefix)) => self.lists(suffix, prefix, true),
            None => Vec::new(),
        }
    }

    /// A text of the agent tells which step was told.
    fn note_step(&mut self, text: &str) {
        let n = normal(text);
        let told = |list: &[&str]| {
            list.iter().rposition(|s| {
                let start: String = normal(s).chars().take(30).collect();
                !start.is_empty() && n.contains(&start)
            })
        };
        let step = told(&self.details()).or_else(|| told(&self.steps()));
        self.step = step.or(self.step);
    }

    /// The words of an act: its template with the fields filled from the last result and the slots. A field that nothing fills stands in
    /// brackets.
    pub fn words(&self, act: &str) -> String {
        self.filled(act).0
    }

    /// The words of an act, and the fields that nothing fills.
    pub fn filled(&self, act: &str) -> (String, Vec<String>) {
        let flow = self.flow();
        let performed = flow.performed(act);
        let reply = performed.and_then(|n| n.reply.as_deref()).unwrap_or(act);
        let Some(template) = flow.replies.get(reply) else {
            return (performed.and_then(|n| n.message.clone()).unwrap_or_default(), Vec::new());
        };
        let (mut out, mut missing) = (String::new(), Vec::new());
        let mut rest = template.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            out.push_str(before);
            let Some((field, after)) = after.split_once('}') else { break };
            let name = field.split(':').next().unwrap_or(field);
            match self.field(name) {
                Some(value) => out.push_str(&value),
                None => {
                    out.push_str(&format!("[{}]", name.replace('_', " ")));
                    missing.push(name.to_owned());
                }
            }
            rest = after;
        }
        out.push_str(rest);
        (out, missing)
    }

    fn field(&self, field: &str) -> Option<String> {
        let output = self.flow().fields.get(field).map_or(field, String::as_str);
        let at = |list: Vec<&str>, n: usize| list.get(n).map(|s| (*s).to_owned());
        match output {
            "$step" => return at(self.steps(), self.step.map_or(0, |s| s + 1)),
            "$detail" => return at(self.details(), self.step.unwrap_or(0)),
            _ => {}
        }
        let value = self.result.as_ref().and_then(|r| r.get(output)).filter(|v| !v.is_null());
        match value {
            Some(Value::String(s)) => Some(s.clone()),
            Some(Value::Array(l)) => Some(l.iter().map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned)).collect::<Vec<_>>().join(" and ")),
            Some(Value::Bool(b)) => Some(if *b { "yes" } else { "no" }.to_owned()),
            Some(v) => Some(v.to_string()),
            None => self.known.values.get(output).filter(|v| !v.is_empty()).cloned(),
        }
    }

    /// A call came back.
    pub fn note_result(&mut self, result: Option<Value>) {
        self.class = Some(class_of(result.as_ref()));
        self.result = Some(result.unwrap_or_else(|| Value::Object(serde_json::Map::new())));
        self.step = None;
    }

    /// The last call failed: what it would have told is unknown.
    pub fn note_failure(&mut self) {
        self.class = Some(Class::Bad);
    }

    /// Slots that the agent need not ask for, with the values it was told beforehand.
    pub fn defaults(&self) -> BTreeMap<String, String> {
        self.background.slots(self.flow()).into_iter().collect()
    }

    /// The agent performed an act in these words.
    pub fn note_act(&mut self, act: &str, text: &str) {
        let flow = &self.ready.flow;
        // After a digression that the flow has no answer to, the dialogue returns to what was open before it.
        let digressed = flow.anywhere.lost.as_deref() == Some(act);
        let confirms = flow.performed(act).filter(|n| n.kind == NodeKind::Confirm).map(|n| n.id);
        // An answer to a question of the speaker leaves the agent's own question open.
        let keeps = digressed || flow.answers.iter().any(|a| a.act == act);
        self.waiting = if keeps { self.waiting } else { confirms };
        if digressed {
            let known = &self.known.values;
            self.awaited.retain(|s| !known.contains_key(s));
        } else {
            self.awaited = flow.asked_by(act).into_iter().map(str::to_owned).collect();
            for s in &self.awaited {
                *self.asked.entry(s.clone()).or_default() += 1;
            }
        }
        self.said.insert(act.to_owned());
        self.last = Some(act.to_owned());
        self.note_step(text);
    }

    /// The agent said something in free words.
    pub fn note_words(&mut self, text: &str) {
        let spoken = self.ready.ear.agent.read(text);
        self.note_step(text);
        let flow = &self.ready.flow;
        let confirms: Vec<i32> = flow.nodes.iter().filter(|n| n.kind == NodeKind::Confirm).map(|n| n.id).collect();
        let calls = flow.nodes.iter().filter(|n| matches!(n.kind, NodeKind::Call { .. })).count();
        let confirmed = spoken.act.as_deref().and_then(|a| flow.performed(a)).is_some_and(|n| confirms.contains(&n.id));
        let offered = spoken.offers && calls > 1 && self.result.is_some() && self.class != Some(Class::Bad);
        self.last.clone_from(&spoken.act);
        if let (Some(first), true) = (confirms.first(), confirmed || offered) {
            self.waiting = Some(*first);
            self.awaited = Vec::new();
        } else {
            self.waiting = None;
            for s in &spoken.asks {
                *self.asked.entry(s.clone()).or_default() += 1;
            }
            self.awaited = spoken.asks;
        }
        self.said.extend(spoken.act);
    }
}
