//! Understanding for dialogue flows: slots from the flow's own data (types, values, cue words, wordings), without a model.

pub mod agent;
pub mod background;
pub mod cues;
pub mod hearing;
mod listen;
pub mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::question::{Judge, Question};
use super::{Context, Heard, Understand};
use crate::ir::graph::{Flow, Slot, SlotKind, When};
use crate::ir::guard::Guard;
use crate::ir::standing::Standing;
use crate::term::{Atom, Term};
use crate::text::{normal, word_at};
use crate::wait::block_on;
use background::Background;
use cues::Signals;
use hearing::HEARING;
use listen::Listener;

/// The longest value that becomes a symbol, in characters; longer ones are cut.
const MAX_VALUE: usize = 1000;

/// What one utterance brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Brought {
    /// Values by slot.
    pub gives: BTreeMap<String, String>,
    /// Slots that the speaker cannot give.
    pub withholds: BTreeSet<String>,
    /// A slot that is taken back without a new value.
    pub retracts: Option<String>,
    /// The act that would answer the speaker's question.
    pub wonders: Option<String>,
    /// Slots whose value repeats what was found.
    pub echoes: BTreeSet<String>,
    /// How the answer compares with the right one.
    pub judged: Option<String>,
    /// The last change is to be taken back, and nothing else is said.
    pub undo: bool,
    /// What else the utterance conveys.
    pub signals: Signals,
}

/// A flow made ready to listen.
pub struct Ear {
    flow: Arc<Flow>,
    guards: Arc<Vec<Guard>>,
    slots: Vec<Listener>,
    answers: Vec<(String, Vec<String>)>,
    judge: Arc<dyn Judge>,
    /// The agent's own wordings.
    pub agent: agent::Wordings,
}

impl Ear {
    /// Prepares a flow; whoever judges answers its conditions in free words, which stand among the guards.
    pub fn new(flow: &Flow, guards: Arc<Vec<Guard>>, judge: Arc<dyn Judge>) -> Self {
        let slots = flow.slots().into_iter().map(|(_, s)| Listener::new(s)).collect();
        let answers = flow.answers.iter().map(|a| (a.act.clone(), a.about.iter().map(|w| normal(w)).collect())).collect();
        Self { flow: Arc::new(flow.clone()), guards, slots, answers, judge, agent: agent::Wordings::new(flow) }
    }

    /// Listens to an utterance in a conversation that stands so.
    pub fn hear(&self, text: &str, standing: Standing<'_>) -> Brought {
        let n = normal(text);
        if HEARING.cues.undo.is_match(n.trim()) {
            return Brought { undo: true, ..Brought::default() };
        }
        let signals = Signals::of(text);
        let asked: Vec<String> = self.slots.iter().map(|l| &l.slot.name).filter(|s| standing.names("awaited").any(|a| a == *s)).cloned().collect();
        let gives = listen::values(&self.slots, text, &signals, &asked, &Background::of(standing));

        let mut withholds = BTreeSet::new();
        for l in &self.slots {
            let name = &l.slot.name;
            if gives.contains_key(name) {
                continue;
            }
            let was_asked = asked.contains(name) && (signals.has("unknowing") || signals.has("indifferent") || signals.has("refuse"));
            let named = signals.has("unknowing") && l.lacks.as_ref().is_some_and(|p| p.is_match(&n));
            if was_asked || named {
                withholds.insert(name.clone());
            }
        }
        let known: BTreeMap<&str, String> = standing.values().map(|(s, v)| (s, text_of(v))).collect();
        let found = normal(&standing.any_result().map(|(_, _, v)| v.to_string()).chain(standing.all_items().map(str::to_owned)).collect::<Vec<_>>().join("\n"));
        let news = |s: &String, v: &String| known.get(s.as_str()) != Some(v);
        let echoes = gives.iter().filter(|(s, v)| news(s, v) && !v.is_empty() && found.contains(normal(v).as_str())).map(|(s, _)| s.clone()).collect();
        let wonders = self.answers.iter().find(|(_, about)| about.iter().any(|w| word_at(&n, w).is_some())).map(|(act, _)| act.clone());
        let retracts = self.retracted(&n, &gives, &known);
        let judged = self.judged(&n, &signals, standing);
        Brought { gives, withholds, retracts, wonders, echoes, judged, undo: false, signals }
    }

    /// "I cannot make it that day": the time is given up, and no other one is named.
    fn retracted(&self, n: &str, gives: &BTreeMap<String, String>, known: &BTreeMap<&str, String>) -> Option<String> {
        let when: Vec<&Slot> = self.slots.iter().map(|l| &l.slot).filter(|s| s.kind.is_when()).collect();
        let renewed = when.iter().any(|s| gives.get(&s.name).is_some_and(|v| known.get(s.name.as_str()) != Some(v)));
        let open = |s: &&Slot| s.required && !known.contains_key(s.name.as_str()) && !gives.contains_key(&s.name);
        if renewed || !HEARING.cues.retracts.is_match(n) || when.iter().any(open) {
            return None;
        }
        let time = when.iter().find(|s| s.kind == SlotKind::Time);
        let day = when.iter().find(|s| s.kind != SlotKind::Time);
        let (first, second) = if HEARING.cues.of_time.is_match(n) && !HEARING.cues.of_day.is_match(n) { (time, day) } else { (day, time) };
        first.or(second).map(|s| s.name.clone())
    }

    /// How the answer to the last question compares with the one that the last call gave.
    fn judged(&self, n: &str, signals: &Signals, standing: Standing<'_>) -> Option<String> {
        let node = self.flow.performed(standing.names("last").next()?)?;
        let field = node.looks_at.get("judge")?;
        let right = normal(&standing.any_result().find(|(_, f, _)| f == field)?.2.to_string());
        if values::same_answer(&right, n) {
            return Some("correct".to_owned());
        }
        let starts = |at: usize| !n.get(..at).and_then(|t| t.chars().next_back()).is_some_and(|c| c.is_alphanumeric() || c == '_');
        if !right.is_empty() && n.match_indices(&right).any(|(at, _)| starts(at)) {
            return Some("correct".to_owned());
        }
        let worded = node.outcome_words.iter().find(|(_, list)| list.iter().any(|w| word_at(n, w).is_some())).map(|(o, _)| o.clone());
        Some(worded.unwrap_or_else(|| if signals.has("unknowing") { "none" } else { "wrong" }.to_owned()))
    }

    /// What an utterance of the agent itself tells an observer, in predicates: which act it was near to, what it asked for, which step it told.
    pub fn overhear(&self, text: &str, standing: Standing<'_>) -> Vec<Atom> {
        let spoken = self.agent.read(text);
        let mut out = vec![Atom::new("spoke", vec![])];
        out.extend(spoken.act.iter().map(|a| Atom::new("worded", vec![Term::string(a)])));
        out.extend(spoken.asks.iter().map(|s| Atom::new("asks", vec![Term::string(s)])));
        out.extend(spoken.offers.then(|| Atom::new("offers", vec![])));
        out.extend(self.told_step(text, standing));
        out
    }

    /// The step that a text of the agent tells.
    pub fn told_step(&self, text: &str, standing: Standing<'_>) -> Option<Atom> {
        let node = self.flow.nodes.iter().find(|n| n.looks_at.contains_key("steps"))?;
        let n = normal(text);
        let told = |what: &str| {
            standing.items(node.looks_at.get(what)?).iter().rposition(|s| {
                let start: String = normal(s).chars().take(30).collect();
                !start.is_empty() && n.contains(&start)
            })
        };
        let step = told("details").or_else(|| told("steps"))?;
        Some(Atom::new("told", vec![Term::Int(i32::try_from(step + 1).ok()?)]))
    }

    /// The conditions in free words that hold now, put to whoever judges: those of slots that are open, and those of ways.
    async fn agreed(&self, text: &str, gives: &BTreeMap<String, String>, standing: Standing<'_>, context: &Context) -> Vec<Atom> {
        let open = |s: &Slot| !gives.contains_key(&s.name) && !standing.values().any(|(n, _)| n == s.name);
        let of_slots = self.flow.slots().into_iter().filter(|(_, s)| open(s)).filter_map(|(_, s)| s.only_if.as_ref());
        let of_ways = self.flow.edges.iter().filter_map(|e| if let When::If(g) = &e.when { Some(g) } else { None });
        let asked: BTreeSet<&str> = of_slots.chain(of_ways).filter_map(|g| if let Guard::Words(w) = g { Some(w.as_str()) } else { None }).collect();
        let known = standing.values().filter(|(s, _)| !gives.contains_key(*s)).map(|(s, v)| format!("{s} = {}", text_of(v)));
        let known = known.chain(gives.iter().map(|(s, v)| format!("{s} = {v}"))).chain(standing.any_result().map(|(_, f, v)| format!("{f} = {v}")));
        let known = if asked.is_empty() { String::new() } else { known.collect::<Vec<_>>().join("\n") };
        let mut agreed = BTreeSet::new();
        for condition in asked {
            let question = Question { condition: condition.to_owned(), said: text.to_owned(), known: known.clone(), until: context.until };
            if self.judge.judging(&question, &context.conversation).await.holds {
                agreed.insert(condition);
            }
        }
        let numbered = (0..).zip(self.guards.iter()).filter(|(_, g)| matches!(g, Guard::Words(w) if agreed.contains(w.as_str())));
        numbered.map(|(n, _)| Atom::new("agreed", vec![Term::Int(n)])).collect()
    }

    fn value(&self, slot: &str, text: &str) -> Term {
        let number = self.flow.slot(slot).is_some_and(|s| s.kind == SlotKind::Integer);
        match text.parse::<i32>() {
            Ok(n) if number => Term::Int(n),
            _ => Term::string(&text.chars().take(MAX_VALUE).collect::<String>()),
        }
    }

    /// What was brought, in the predicates of the vocabulary.
    pub fn predicates(&self, brought: &Brought) -> Vec<Atom> {
        let one = |name: &str, arg: Term| Atom::new(name, vec![arg]);
        let mut out: Vec<Atom> = brought.signals.iter().map(|s| one("hears", Term::constant(s))).collect();
        out.extend(brought.gives.iter().map(|(s, v)| Atom::new("gives", vec![Term::string(s), self.value(s, v)])));
        out.extend(brought.withholds.iter().map(|s| one("withholds", Term::string(s))));
        out.extend(brought.retracts.iter().map(|s| one("retracts", Term::string(s))));
        out.extend(brought.wonders.iter().map(|a| one("wonders", Term::string(a))));
        out.extend(brought.echoes.iter().map(|s| one("echoes", Term::string(s))));
        out.extend(brought.judged.iter().map(|o| one("judged", Term::constant(o))));
        out.extend(brought.undo.then(|| Atom::new("undo", vec![])));
        out
    }
}

impl Understand for Ear {
    fn understand(&self, text: &str, context: &Context) -> Heard {
        block_on(self.hearing(text, context))
    }

    fn hearing<'a>(&'a self, text: &'a str, context: &'a Context) -> BoxFuture<'a, Heard> {
        Box::pin(async move {
            let sure = |predicates| Heard { predicates, confidence: 1.0, by: "embedded", ..Heard::default() };
            if &*context.role == "informant" {
                return sure(Background::read(text).predicates());
            }
            let standing = Standing::of(&context.facts);
            let brought = self.hear(text, standing);
            let mut predicates = self.predicates(&brought);
            predicates.extend(self.agreed(text, &brought.gives, standing, context).await);
            sure(predicates)
        })
    }

    fn settling<'a>(&'a self, text: &'a str, context: &'a Context) -> BoxFuture<'a, Vec<Atom>> {
        Box::pin(async move { self.agreed(text, &BTreeMap::new(), Standing::of(&context.facts), context).await })
    }
}

/// A value as it is said.
fn text_of(term: &Term) -> String {
    term.as_name().map_or_else(|| term.to_string(), str::to_owned)
}
