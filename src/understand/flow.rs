//! Understanding for dialogue flows: slots from the flow's own data (types, values, cue words, wordings), without a model.

pub mod agent;
pub mod background;
pub mod cues;
pub mod hearing;
pub mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use regex::Regex;

use super::question::{Judge, Question};
use super::{Context, Heard, Understand};
use crate::conversation::Conversation;
use crate::ir::graph::{Flow, Role, Slot, SlotKind, When};
use crate::ir::guard::Guard;
use crate::ir::standing::Standing;
use crate::term::{Atom, Term};
use crate::text::{digits, normal, word_at, words};
use crate::wait::block_on;
use background::Background;
use cues::Signals;
use hearing::HEARING;

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
    /// What else the utterance conveys.
    pub signals: Signals,
}

/// A slot with what it takes to hear it.
#[derive(Debug)]
struct Listener {
    slot: Slot,
    /// For closed lists: each value with the forms it is said in.
    forms: Vec<(String, Vec<String>)>,
    /// A cue right before a number.
    before: Option<Regex>,
    /// A cue right after a number.
    after: Option<Regex>,
    /// A superlative of the cue.
    best: Option<Regex>,
    /// The speaker says he cannot give it.
    lacks: Option<Regex>,
    /// "… is X" after a cue.
    is: Option<Regex>,
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

/// Fewer words than this say too little for a slot in the speaker's own words, unless it was asked for.
const MIN_TEXT: usize = 6;

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
        let signals = Signals::of(text);
        let asked: Vec<String> = self.slots.iter().map(|l| &l.slot.name).filter(|s| standing.names("awaited").any(|a| a == *s)).cloned().collect();
        let background = Background::of(standing);
        let mut hearing = Hearing { text, n: &n, words: words(text), signals: &signals, asked: &asked, new: BTreeMap::new() };
        hearing.when(&self.slots);
        hearing.soonest(&self.slots, &background);
        hearing.closed_lists(&self.slots);
        hearing.places(&self.slots);
        hearing.names(&self.slots);
        hearing.numbers(&self.slots);
        hearing.yes_or_no(&self.slots);
        hearing.texts(&self.slots);
        hearing.in_other_words(&self.slots);
        let gives = hearing.new;

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
        Brought { gives, withholds, retracts, wonders, echoes, judged, signals }
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
    async fn agreed(&self, text: &str, gives: &BTreeMap<String, String>, standing: Standing<'_>, of: &Conversation) -> Vec<Atom> {
        let open = |s: &Slot| !gives.contains_key(&s.name) && !standing.values().any(|(n, _)| n == s.name);
        let of_slots = self.flow.slots().into_iter().filter(|(_, s)| open(s)).filter_map(|(_, s)| s.only_if.as_ref());
        let of_ways = self.flow.edges.iter().filter_map(|e| if let When::If(g) = &e.when { Some(g) } else { None });
        let asked: BTreeSet<&str> = of_slots.chain(of_ways).filter_map(|g| if let Guard::Words(w) = g { Some(w.as_str()) } else { None }).collect();
        let known = standing.values().filter(|(s, _)| !gives.contains_key(*s)).map(|(s, v)| format!("{s} = {}", text_of(v)));
        let known = known.chain(gives.iter().map(|(s, v)| format!("{s} = {v}"))).chain(standing.any_result().map(|(_, f, v)| format!("{f} = {v}")));
        let known = if asked.is_empty() { String::new() } else { known.collect::<Vec<_>>().join("\n") };
        let mut agreed = BTreeSet::new();
        for condition in asked {
            let question = Question { condition: condition.to_owned(), said: text.to_owned(), known: known.clone() };
            if self.judge.judging(&question, of).await.holds {
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
            predicates.extend(self.agreed(text, &brought.gives, standing, &context.conversation).await);
            sure(predicates)
        })
    }

    fn settling<'a>(&'a self, text: &'a str, context: &'a Context) -> BoxFuture<'a, Vec<Atom>> {
        Box::pin(async move { self.agreed(text, &BTreeMap::new(), Standing::of(&context.facts), &context.conversation).await })
    }
}

/// A value as it is said.
fn text_of(term: &Term) -> String {
    term.as_name().map_or_else(|| term.to_string(), str::to_owned)
}

impl Listener {
    fn new(slot: &Slot) -> Self {
        let any = slot.cues.iter().map(|c| regex::escape(&normal(c))).collect::<Vec<_>>().join("|");
        let with = |text: String| if any.is_empty() { None } else { Regex::new(&text).ok() };
        let names_itself = matches!(slot.kind, SlotKind::Digits | SlotKind::Birthdate | SlotKind::String);
        Self {
            forms: values::forms(&slot.values, &slot.synonyms, &slot.common),
            before: with(format!(r"\b(?:{any})\b[^0-9]{{0,14}}$")),
            after: with(format!(r"^\w+[ -]?(?:or more |more |other |additional |\w+ )?(?:{any})\b")),
            best: with(format!(r"\b(?:highest|best|high|good|top) (?:{any})\b")),
            lacks: if names_itself {
                with(format!(
                    r"(?:don'?t|do not|forgot|can'?t|cannot|not sure|no idea|lost|unsure)[^.!?]{{0,40}}\b(?:{any})\b|\b(?:{any})\b[^.!?]{{0,25}}(?:don'?t|forgot|can'?t)"
                ))
            } else {
                None
            },
            is: with(format!(r"\b(?:{any})(?:'s)?(?: name)?(?: is| was|:)\s+(\w+)")),
            slot: slot.clone(),
        }
    }

    fn cue(&self, n: &str) -> bool {
        self.slot.cues.iter().any(|c| word_at(n, &normal(c)).is_some())
    }

    /// A slot whose range starts this high admits numbers that no other slot would hold.
    fn admits_alone(&self, number: &str, all: &[Listener]) -> bool {
        let admits = |l: &Listener| {
            let v = number.parse::<i64>().unwrap_or(i64::MAX);
            l.slot.range.0.is_none_or(|min| v >= min) && l.slot.range.1.is_none_or(|max| v <= max)
        };
        let high = self.slot.range.0.is_some_and(|min| min >= 100);
        high && number.len() >= 3
            && !all.iter().any(|l| l.slot.name != self.slot.name && l.slot.kind == SlotKind::Integer && admits(l) && l.slot.range != (None, None))
            && self.slot.range.0.is_some_and(|min| number.parse::<i64>().is_ok_and(|v| v >= min || number.len() >= 6))
    }
}

/// One utterance being listened to.
struct Hearing<'a> {
    text: &'a str,
    n: &'a str,
    words: Vec<String>,
    signals: &'a Signals,
    asked: &'a [String],
    new: BTreeMap<String, String>,
}

impl Hearing<'_> {
    fn asked_kind(&self, slots: &[Listener], kind: SlotKind) -> Option<String> {
        self.asked.iter().find(|a| slots.iter().any(|l| l.slot.name == **a && l.slot.kind == kind)).cloned()
    }

    fn give(&mut self, slot: &str, value: impl Into<String>) {
        self.new.insert(slot.to_owned(), value.into());
    }

    fn given(&self, slot: &str) -> bool {
        self.new.contains_key(slot)
    }

    fn when(&mut self, slots: &[Listener]) {
        let of = |kind| slots.iter().filter(|l| l.slot.kind == kind).map(|l| l.slot.name.clone()).collect::<Vec<_>>();
        let times = of(SlotKind::Time);
        let asked = self.asked_kind(slots, SlotKind::Time);
        let said = values::times(self.n, asked.is_some());
        let range = values::time_range(self.n);
        self.ends(&times, said, range, asked, values::is_end, values::lasts_hours);
        if let (Some(day), Some(last)) = (of(SlotKind::Day).first(), values::days(self.n).last()) {
            self.give(day, last.clone());
        }
        let dates = of(SlotKind::Date);
        let asked = self.asked_kind(slots, SlotKind::Date);
        let said = values::dates(self.n, asked.is_some());
        let pair = if let [a, b, ..] = said.as_slice() { Some((a.clone(), b.clone())) } else { None };
        self.ends(&dates, said, pair, asked, values::is_leaving, values::lasts_nights);
    }

    /// "As soon as possible" says day and time at once to an agent who knows the present ones.
    fn soonest(&mut self, slots: &[Listener], background: &Background) {
        if !values::soonest(self.n) {
            return;
        }
        for (kind, now) in [(SlotKind::Day, &background.day), (SlotKind::Time, &background.time)] {
            if let (Some(now), Some(l)) = (now, slots.iter().find(|l| l.slot.kind == kind))
                && !self.given(&l.slot.name)
            {
                self.give(&l.slot.name, now.clone());
            }
        }
    }

    /// One slot takes the last value said; of two, the first is the start and the second the end.
    fn ends(
        &mut self,
        slots: &[String],
        said: Vec<String>,
        range: Option<(String, String)>,
        asked: Option<String>,
        is_end: fn(&str) -> bool,
        lasts: fn(&str) -> bool,
    ) {
        let Some(first) = said.first().cloned() else {
            if let [_, end, ..] = slots
                && lasts(self.n)
            {
                self.give(end, "lasting");
            }
            return;
        };
        match slots {
            [] => {}
            [only] => self.give(only, said.last().cloned().unwrap_or(first)),
            [start, end, ..] => {
                if let Some((a, b)) = range.or_else(|| said.get(1).map(|b| (first.clone(), b.clone()))) {
                    self.give(start, a);
                    self.give(end, b);
                } else if let Some(asked) = asked {
                    self.give(&asked, first);
                } else {
                    self.give(if is_end(self.n) { end } else { start }, first);
                }
                if lasts(self.n) {
                    self.give(end, "lasting");
                }
            }
        }
    }

    fn closed_lists(&mut self, slots: &[Listener]) {
        let mut done: Vec<&[String]> = Vec::new();
        for l in slots.iter().filter(|l| l.slot.kind == SlotKind::Categorical && !l.slot.values.is_empty()) {
            if done.contains(&l.slot.values.as_slice()) {
                continue;
            }
            done.push(&l.slot.values);
            let group: Vec<&Listener> = slots.iter().filter(|o| o.slot.kind == SlotKind::Categorical && o.slot.values == l.slot.values).collect();
            let said = values::said(&l.forms, self.n);
            let (Some(first), Some(last)) = (said.first().cloned(), said.last().cloned()) else { continue };
            let asked = group.iter().any(|g| self.asked.contains(&g.slot.name));
            if self.signals.has("unknowing") && !asked && said.len() == 1 && self.lacked(&first) {
                continue;
            }
            match group.as_slice() {
                [only] => {
                    let value = if said.len() == 1 || self.signals.has("wait") { last } else { first };
                    self.give(&only.slot.name, value);
                }
                [a, b, ..] if a.slot.role.is_some() => self.by_role(a, b, &l.forms, &said),
                many => {
                    for (n, g) in many.iter().enumerate() {
                        if self.asked.contains(&g.slot.name) || n == 0 && g.cue(self.n) {
                            self.give(&g.slot.name, first.clone());
                        } else if g.cue(self.n) {
                            self.give(&g.slot.name, last.clone());
                        }
                    }
                }
            }
        }
    }

    fn lacked(&self, value: &str) -> bool {
        let first = normal(value).split_whitespace().next().unwrap_or("").to_owned();
        ["don't", "dont", "do not", "forgot", "not sure", "no idea", "lost"]
            .iter()
            .any(|w| self.n.match_indices(w).any(|(at, _)| self.n.get(at..).is_some_and(|t| t.find(&first).is_some_and(|p| p <= w.len() + 30))))
    }

    /// Two slots over one list, such as where a way starts and where it ends.
    fn by_role(&mut self, a: &Listener, b: &Listener, forms: &[(String, Vec<String>)], said: &[String]) {
        let (start, end) = if a.slot.role == Some(Role::To) { (b, a) } else { (a, b) };
        let after = |words: &[&str], v: &String| {
            let said_as = forms.iter().find(|(x, _)| x == v).map(|(_, f)| f.as_slice()).unwrap_or_default();
            said_as.iter().any(|f| words.iter().any(|w| word_at(self.n, &format!("{w} {f}")).is_some()))
        };
        let mut to = said.iter().find(|v| after(&["to", "into", "destination", "to be", "destination be"], v)).cloned();
        let mut from = said.iter().find(|v| after(&["from", "leaving", "in", "between"], v)).cloned();
        if said.len() >= 2 && (to.is_none() || from.is_none()) {
            if let Some(t) = &to {
                from = said.iter().find(|v| *v != t).cloned();
            } else if let Some(f) = &from {
                to = said.iter().find(|v| *v != f).cloned();
            } else {
                (from, to) = (said.first().cloned(), said.get(1).cloned());
            }
        }
        if to.is_none() && from.is_none() {
            let asked_start = self.asked.iter().find(|x| **x == start.slot.name || **x == end.slot.name).is_some_and(|x| *x == start.slot.name);
            if asked_start { from = said.first().cloned() } else { to = said.first().cloned() }
        }
        if let Some(f) = from {
            self.give(&start.slot.name, f);
        }
        if let Some(t) = to {
            self.give(&end.slot.name, t);
        }
    }

    fn places(&mut self, slots: &[Listener]) {
        let (from, to) = values::way(self.text);
        let of = |role| slots.iter().find(|l| l.slot.kind == SlotKind::Place && l.slot.role == Some(role)).map(|l| l.slot.name.clone());
        if let (Some(slot), Some(v)) = (of(Role::From), from) {
            self.give(&slot, v);
        }
        if let (Some(slot), Some(v)) = (of(Role::To), to) {
            self.give(&slot, v);
        }
        if let Some(asked) = self.asked_kind(slots, SlotKind::Place)
            && !self.given(&asked)
            && (!self.signals.has("question") || self.signals.has("unknowing"))
        {
            self.give(&asked, self.text);
        }
    }

    fn names(&mut self, slots: &[Listener]) {
        let name = values::own_name(self.text);
        if let Some(asked) = self.asked_kind(slots, SlotKind::Name) {
            let asks_back = self.signals.has("question") && name.is_none();
            let cannot = self.words.len() > 6 && name.is_none() && self.signals.has("unknowing");
            let named = self.text.get(1..).is_some_and(|t| t.split_whitespace().any(|w| w.len() > 1 && w.chars().next().is_some_and(char::is_uppercase)));
            let thanks = name.is_none() && self.courtesy();
            if !asks_back && !cannot && !thanks && (name.is_some() || self.words.len() <= 8 || named) {
                self.give(&asked, normal(name.as_deref().unwrap_or(self.text)));
            }
        } else if let (Some(v), Some(own)) = (&name, slots.iter().find(|l| l.slot.identity)) {
            self.give(&own.slot.name, normal(v));
        }
        for l in slots.iter().filter(|l| l.slot.kind == SlotKind::Name && !l.slot.identity) {
            if !self.given(&l.slot.name)
                && let Some(v) = l.slot.cues.iter().find_map(|c| named_with(self.text, c))
            {
                self.give(&l.slot.name, v);
            }
        }
    }

    fn numbers(&mut self, slots: &[Listener]) {
        let numbers = values::numbers(self.n);
        let is_number = |l: &&Listener| matches!(l.slot.kind, SlotKind::Integer | SlotKind::Digits);
        let asked: Vec<&String> = self.asked.iter().filter(|a| slots.iter().filter(is_number).any(|l| l.slot.name == **a)).collect();
        // "It is either 1596 or 0314": who offers two numbers does not know it.
        let guesses = numbers.len() >= 2 && values::either_or(self.n);
        for (n, a) in asked.iter().enumerate() {
            let listener = slots.iter().find(|l| l.slot.name == **a);
            if listener.is_some_and(|l| l.slot.kind == SlotKind::Digits && (guesses || l.lacks.as_ref().is_some_and(|p| p.is_match(self.n)))) {
                continue;
            }
            let place = if asked.len() > 1 { n.min(numbers.len().saturating_sub(1)) } else { 0 };
            if let Some((_, v)) = numbers.get(place) {
                self.new.insert((*a).clone(), v.clone());
            } else if ["just me", "alone", "myself", "none", "only me", "one", "no one", "nobody"].iter().any(|w| word_at(self.n, w).is_some()) {
                self.new.insert((*a).clone(), "1".into());
            }
        }
        for l in slots.iter().filter(is_number) {
            if self.given(&l.slot.name) || guesses && l.slot.kind == SlotKind::Digits {
                continue;
            }
            let long_ago = |at: usize| (at.saturating_sub(22)..=at).find_map(|s| self.n.get(s..at)).unwrap_or("");
            let value = numbers.iter().find(|(at, v)| {
                let before = l.before.as_ref().is_some_and(|p| p.is_match(long_ago(*at)));
                let after = l.slot.kind == SlotKind::Integer && l.after.as_ref().is_some_and(|p| p.is_match(self.n.get(*at..).unwrap_or("")));
                // "My account number is 5, my PIN 7": a cue of another slot between this slot's cue and the number takes the number away.
                let theirs = slots.iter().filter(is_number).any(|o| o.slot.name != l.slot.name && nearer(o, l, long_ago(*at)));
                (before && !theirs) || after || l.admits_alone(v, slots)
            });
            if let Some((_, v)) = value {
                self.give(&l.slot.name, v.clone());
            } else if l.slot.kind == SlotKind::Integer && l.best.as_ref().is_some_and(|p| p.is_match(self.n)) {
                self.give(&l.slot.name, "high");
            }
        }
        for l in slots.iter().filter(|l| l.slot.kind == SlotKind::Birthdate) {
            if let Some(d) = values::birthdate(self.n) {
                self.give(&l.slot.name, d);
            } else if let (true, Some((_, v))) = (self.asked.contains(&l.slot.name), numbers.first()) {
                self.give(&l.slot.name, v.clone());
            }
        }
    }

    fn yes_or_no(&mut self, slots: &[Listener]) {
        for l in slots.iter().filter(|l| l.slot.kind == SlotKind::Boolean) {
            let s = self.signals;
            let answered = self.asked.contains(&l.slot.name) && (["affirm", "deny", "unknowing", "indifferent"].iter().any(|x| s.has(x)) || !s.has("question"));
            if l.cue(self.n) || answered {
                self.give(&l.slot.name, if s.has("deny") { "no" } else { "yes" });
            }
        }
    }

    fn texts(&mut self, slots: &[Listener]) {
        for l in slots.iter().filter(|l| matches!(l.slot.kind, SlotKind::Text | SlotKind::String)) {
            let s = self.signals;
            let asks_back = s.has("question") && self.words.len() < 14 && !s.has("unknowing") && s.has("mark") || self.courtesy();
            if self.asked.contains(&l.slot.name) {
                if !s.has("greeting_only") && !asks_back {
                    self.give(&l.slot.name, self.n);
                }
            } else if l.slot.kind == SlotKind::Text {
                if self.words.len() >= MIN_TEXT && l.cue(self.n) {
                    self.give(&l.slot.name, self.n);
                }
            } else if let Some(v) = l.is.as_ref().and_then(|p| p.captures(self.n)).and_then(|c| c.get(1)) {
                self.give(&l.slot.name, v.as_str());
            } else if l.slot.cues.iter().any(|c| c.contains(' ') && c.ends_with(" by") && word_at(self.n, &normal(c)).is_some()) {
                self.give(&l.slot.name, self.n);
            }
        }
    }

    /// Thanks or a farewell, and nothing else: no answer to what was asked.
    fn courtesy(&self) -> bool {
        let s = self.signals;
        let parts = s.has("bye") || s.has("done") || s.has("thanks") && !s.has("deny");
        parts && self.new.is_empty() && self.words.len() <= 8 && !s.has("book") && digits(self.n).is_empty()
    }

    /// Asked and answered, in whatever words: anything short that is no question counts as the answer.
    fn in_other_words(&mut self, slots: &[Listener]) {
        let s = self.signals;
        if self.courtesy()
            || s.has("mark")
            || s.has("greeting_only")
            || HEARING.cues.question_start.is_match(self.n)
            || (s.has("unknowing") && !s.has("indifferent"))
        {
            return;
        }
        for l in slots.iter().filter(|l| self.asked.contains(&l.slot.name)) {
            let exact = matches!(l.slot.kind, SlotKind::Birthdate | SlotKind::Digits);
            if !self.given(&l.slot.name) && !exact && (s.has("indifferent") || self.words.len() <= 8 || l.slot.open) {
                self.new.insert(l.slot.name.clone(), self.n.to_owned());
            }
        }
    }
}

/// Whether the other slot's cue stands nearer to the end of the text than this slot's.
fn nearer(other: &Listener, this: &Listener, before: &str) -> bool {
    let last = |l: &Listener| l.slot.cues.iter().filter_map(|c| before.rfind(&normal(c))).max();
    match (last(other), last(this)) {
        (Some(o), Some(t)) => o > t,
        (Some(_), None) => true,
        _ => false,
    }
}

/// "hosted by X", "the host is X", "X's party": a capitalised name next to a cue.
fn named_with(text: &str, cue: &str) -> Option<String> {
    let w: Vec<&str> = text.split_whitespace().collect();
    let cue_words: Vec<String> = cue.split_whitespace().map(str::to_lowercase).collect();
    let clean = |x: &str| x.trim_matches(|c: char| !c.is_alphanumeric() && c != '\'').to_owned();
    let name = |x: &&str| {
        let c = clean(x);
        (c.len() > 1 && c.chars().next().is_some_and(char::is_uppercase) && c != "I" && !c.starts_with("I'")).then(|| c.trim_end_matches("'s").to_owned())
    };
    for at in 0..w.len() {
        let here: Vec<String> = w.iter().skip(at).take(cue_words.len()).map(|x| clean(x).to_lowercase().trim_end_matches("'s").to_owned()).collect();
        if here != cue_words {
            continue;
        }
        if at > 0
            && let Some(owner) = w.get(at - 1).filter(|x| clean(x).ends_with("'s"))
        {
            return name(owner);
        }
        let rest: Vec<&str> = w.iter().skip(at + cue_words.len()).copied().collect();
        let skip = rest.iter().take_while(|x| ["is", "by", "of", "for", "hosted", "name", "name's"].contains(&clean(x).to_lowercase().as_str())).count();
        if (skip > 0 || cue.contains(' '))
            && let Some(n) = rest.get(skip).and_then(name)
        {
            return Some(n);
        }
    }
    None
}
