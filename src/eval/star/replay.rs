//! One recorded dialogue, turn by turn: the engine predicts, then follows what the human agent really did.
//!
//! Two conversations run side by side. In one an observer tells what was said, done and found, so that its facts are the standing that the human
//! agent left. Every prediction is a turn of its own, taken in a new session that begins with those facts; the functions it calls answer what was
//! recorded.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::data::{Event, Recording, States};
use super::flows::Task;
use super::{Protocol, StarError};
use crate::act::{Functions, Returned, Target};
use crate::facts::{Change, SessionKey};
use crate::ir::graph::SlotKind;
use crate::ir::standing::Standing;
use crate::ontology::{Scope, StandIn};
use crate::term::{Atom, Term};
use crate::turn::{Engine, Said, TurnError, TurnRecord};
use crate::understand::flow::Brought;

/// One prediction.
#[derive(Debug)]
pub struct Example {
    /// The dialogue's number.
    pub dialogue: i64,
    /// The event that is predicted.
    pub event: usize,
    /// The task.
    pub task: String,
    /// What the human agent did.
    pub gold: String,
    /// What the engine would do.
    pub predicted: String,
    /// The human agent's words; empty for calls.
    pub gold_text: String,
    /// The engine's words.
    pub text: String,
    /// The engine made a call in the turn.
    pub called: bool,
    /// So did the human agent.
    pub gold_called: bool,
    /// The turn.
    pub record: TurnRecord,
}

/// A dialogue to replay.
pub struct Replay<'a> {
    /// The dialogue.
    pub dialogue: &'a Recording,
    /// Its task.
    pub task: &'a Task,
    /// Given states.
    pub states: Option<&'a States>,
    /// What counts as an example.
    pub protocol: Protocol,
}

/// The role that predicts.
const SPEAKER: &str = "speaker";
/// The role that tells what really happened.
const OBSERVER: &str = "observer";
/// The role that tells what is true of the present.
const INFORMANT: &str = "informant";

/// The stretch from one utterance of the speaker to the next.
struct Stretch<'a> {
    /// What the utterance means, in predicates.
    said: Vec<Atom>,
    rest: &'a [(usize, Event)],
}

/// A dialogue under way.
struct Going<'a> {
    replay: &'a Replay<'a>,
    engine: Engine,
    site: String,
    observed: SessionKey,
    sessions: usize,
    /// How often slots were asked for.
    asked: BTreeMap<String, usize>,
    /// The given state of the turn before.
    before: BTreeMap<String, String>,
}

impl Replay<'_> {
    /// Predicts every example of the dialogue; the engine is handed back for the next one.
    pub fn run(&self, engine: Engine) -> Result<(Vec<Example>, Engine), StarError> {
        // What the agent is told beforehand holds at a place of its own.
        let site = format!("{} {}", self.dialogue.task, self.dialogue.told);
        let site: String = site.chars().filter(|c| !c.is_control()).take(200).collect();
        engine.turn(&SessionKey::new(&site, "told"), INFORMANT, &Said::Text(&self.dialogue.told), Some("told"))?;
        let observed = SessionKey::new(&site, &format!("{} as it was", self.dialogue.id));
        let mut g = Going { replay: self, engine, site, observed, sessions: 0, asked: BTreeMap::new(), before: BTreeMap::new() };
        let mut out = Vec::new();
        let events = &self.dialogue.events;
        let starts: Vec<usize> = events.iter().enumerate().filter(|(_, (_, e))| matches!(e, Event::User(_))).map(|(n, _)| n).collect();
        for (n, start) in starts.iter().enumerate() {
            let end = starts.get(n + 1).copied().unwrap_or(events.len());
            let Some(((at, Event::User(text)), rest)) = events.get(*start..end).and_then(<[_]>::split_first) else { continue };
            let said = g.hear(*at, text)?;
            let stretch = Stretch { said, rest };
            if self.protocol == Protocol::P5 {
                g = g.whole_turn(&stretch, &mut out)?;
                g.follow_all(&stretch)?;
            } else {
                g.every_event(&stretch, &mut out)?;
            }
        }
        Ok((out, g.engine))
    }
}

impl Going<'_> {
    /// How the conversation stands as it really went.
    fn facts(&self) -> Result<Vec<Atom>, StarError> {
        let store = self.engine.store();
        let own = store.open(&self.observed, OBSERVER)?.facts;
        Ok(own.into_iter().chain(store.shared(&self.observed.site)?.1).map(|f| f.atom).collect())
    }

    /// What an utterance means; where states are given, their values come first.
    fn hear(&mut self, at: usize, text: &str) -> Result<Vec<Atom>, StarError> {
        let facts = self.facts()?;
        let mut brought = self.replay.task.ear.hear(text, Standing::of(&facts));
        if let Some(states) = self.replay.states {
            let given = states.get(&(self.replay.dialogue.id, at)).cloned().unwrap_or_default();
            let silent = self.take(&mut brought, Standing::of(&facts), &given);
            self.before = given;
            let changes = silent.iter().flat_map(|(slot, value)| {
                let old = facts.iter().filter(|f| &*f.name == "value" && f.args.first().and_then(Term::as_name) == Some(slot));
                let old = old.map(|f| Change::del(Scope::Session, f.clone()));
                old.chain([Change::add(Scope::Session, Atom::new("value", vec![Term::string(slot), Term::string(value)]))])
            });
            self.note(&self.observed, changes.collect())?;
        }
        Ok(self.replay.task.ear.predicates(&brought))
    }

    /// Changes a session's facts as a turn would.
    fn note(&self, key: &SessionKey, changes: Vec<Change>) -> Result<(), StarError> {
        if changes.is_empty() {
            return Ok(());
        }
        let role = if *key == self.observed { OBSERVER } else { SPEAKER };
        self.seed(key, role, changes)
    }

    fn seed(&self, key: &SessionKey, role: &str, changes: Vec<Change>) -> Result<(), StarError> {
        let mut commit = self.engine.store().open(key, role)?.turn(0);
        commit.changes = changes;
        commit.record = TurnRecord::default().to_log();
        self.engine.store().commit(&commit)?;
        Ok(())
    }

    /// Predicts the agent's act for the turn; the calls it takes are answered with the results that the human agent got in the same turn.
    fn whole_turn(mut self, stretch: &Stretch<'_>, out: &mut Vec<Example>) -> Result<Self, StarError> {
        let Some(place) = stretch.rest.iter().position(|(_, e)| matches!(e, Event::Act(..))) else { return Ok(self) };
        let (Some((event, Event::Act(gold, gold_text))), Some(earlier)) = (stretch.rest.get(place), stretch.rest.get(..place)) else { return Ok(self) };
        let results = results(earlier);
        self.engine = self.engine.with_functions(self.replay.task.functions(&results));
        let record = self.predict(SPEAKER, &stretch.said)?;
        let predicted = match said(&record) {
            Some(act) => act,
            None => self.replay.task.last_call(&record).unwrap_or_else(|| "out_of_scope".to_owned()),
        };
        let called = !record.rounds.is_empty();
        out.push(self.example(*event, gold, gold_text, predicted, called, !results.is_empty(), record));
        Ok(self)
    }

    /// A turn in a session of its own that begins as the dialogue stands.
    fn predict(&mut self, role: &str, inputs: &[Atom]) -> Result<TurnRecord, StarError> {
        self.sessions += 1;
        let key = SessionKey::new(&self.site, &format!("{}.{}", self.replay.dialogue.id, self.sessions));
        let facts = self.engine.store().open(&self.observed, OBSERVER)?.facts;
        self.seed(&key, role, facts.into_iter().map(|f| Change::add(Scope::Session, f.atom)).collect())?;
        match self.engine.turn(&key, role, &Said::Predicates(&texts(inputs)), None) {
            // A flow that calls and calls says nothing.
            Err(TurnError::OverRounds(_)) => Ok(TurnRecord::default()),
            other => Ok(other?),
        }
    }

    fn every_event(&mut self, stretch: &Stretch<'_>, out: &mut Vec<Example>) -> Result<(), StarError> {
        let utterance = [vec![Atom::new("utterance", vec![])], stretch.said.clone()].concat();
        self.observe(&utterance)?;
        // The last call's result, until the agent has told it.
        let mut pending = false;
        let heard = stretch.said.iter().filter(|a| !matches!(&*a.name, "gives" | "withholds")).cloned();
        let heard: Vec<Atom> = heard.chain([Atom::new("next", vec![])]).collect();
        for (event, e) in stretch.rest {
            let gold = match e {
                Event::Act(label, text) => Some((label.clone(), text.as_str())),
                Event::Query(v) => Some((query(v), "")),
                _ => None,
            };
            if let Some((gold, gold_text)) = gold {
                let mut inputs = heard.clone();
                inputs.extend(pending.then(|| Atom::new("just_came", vec![])));
                let record = self.predict(OBSERVER, &inputs)?;
                let call = self.replay.task.call_of(&record);
                let predicted = call.clone().or_else(|| said(&record)).unwrap_or_else(|| "out_of_scope".to_owned());
                out.push(self.example(*event, &gold, gold_text, predicted, call.is_some(), matches!(e, Event::Query(_)), record));
            }
            match e {
                Event::Result(_) => pending = true,
                Event::Act(..) => pending = false,
                _ => {}
            }
            let told = self.tell(e)?;
            if !told.is_empty() {
                self.observe(&told)?;
            }
        }
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of one record")]
    fn example(&self, event: usize, gold: &str, gold_text: &str, predicted: String, called: bool, gold_called: bool, record: TurnRecord) -> Example {
        Example {
            dialogue: self.replay.dialogue.id,
            event,
            task: self.replay.dialogue.task.clone(),
            gold: gold.to_owned(),
            text: if gold_text.is_empty() { String::new() } else { record.text.clone() },
            predicted,
            gold_text: gold_text.to_owned(),
            called,
            gold_called,
            record,
        }
    }

    fn observe(&self, inputs: &[Atom]) -> Result<(), StarError> {
        self.engine.turn(&self.observed, OBSERVER, &Said::Predicates(&texts(inputs)), None)?;
        Ok(())
    }

    /// The dialogue goes on as it really did: the utterance and what the agent first did or said are told in one turn.
    fn follow_all(&mut self, stretch: &Stretch<'_>) -> Result<(), StarError> {
        let mut telling = vec![Atom::new("utterance", vec![])];
        telling.extend(stretch.said.iter().cloned());
        // One thing that the agent did or said a turn.
        let mut acted = false;
        for (_, e) in stretch.rest {
            if acted {
                self.observe(&std::mem::take(&mut telling))?;
            }
            telling.extend(self.tell(e)?);
            acted = matches!(e, Event::Act(..) | Event::Words(_));
        }
        if telling.is_empty() { Ok(()) } else { self.observe(&telling) }
    }

    /// What an observer tells of an event; what a call gave is noted at once.
    fn tell(&mut self, event: &Event) -> Result<Vec<Atom>, StarError> {
        let task = self.replay.task;
        let told = match event {
            Event::User(_) => vec![],
            Event::Act(label, text) => {
                let facts = self.facts()?;
                let step = task.ear.told_step(text, Standing::of(&facts));
                [Atom::new("did", vec![Term::string(label)])].into_iter().chain(step).collect()
            }
            Event::Words(text) => {
                let facts = self.facts()?;
                task.ear.overhear(text, Standing::of(&facts))
            }
            Event::Query(v) => task.node(v).map(|n| Atom::new("came", vec![Term::Int(n)])).into_iter().collect(),
            Event::Result(result) => {
                let Some(function) = task.function() else { return Ok(vec![]) };
                let gave = |f: &Atom| matches!(&*f.name, "returned" | "result" | "item" | "fault");
                let value = result.clone().unwrap_or(Value::Null);
                let now = Returned { function: function.to_owned(), id: "recorded".to_owned(), value, attempts: 1, millis: 0 }.facts();
                let old = self.facts()?.into_iter().filter(|f| gave(f) && !now.contains(f)).map(|f| Change::del(Scope::Session, f));
                let changes = old.chain(now.iter().cloned().map(|f| Change::add(Scope::Session, f))).collect();
                self.note(&self.observed, changes)?;
                return Ok(vec![]);
            }
        };
        if let Event::Act(label, _) = event
            && task.flow().anywhere.lost.as_ref() != Some(label)
        {
            task.flow().asked_by(label).into_iter().for_each(|s| *self.asked.entry(s.to_owned()).or_default() += 1);
        }
        for s in told.iter().filter(|a| &*a.name == "asks").filter_map(|a| a.args.first()?.as_name()) {
            *self.asked.entry(s.to_owned()).or_default() += 1;
        }
        Ok(told)
    }

    /// The given state's values replace the engine's own. A state that was made from the calls of the human agent leaves out what he did not use in
    /// one and holds some values before they were said. So a slot that it lacks keeps what the engine heard, a value of a closed kind counts once it
    /// was heard or asked for (a number that is a name, or a date of birth, only once it was heard), and what the speaker says he cannot give is not
    /// known. What is known without being news is given back.
    fn take(&self, brought: &mut Brought, standing: Standing<'_>, given: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let flow = self.replay.task.flow();
        let kind = |s: &str| flow.slot(s).map(|s| s.kind);
        let open = |s: &str| kind(s).is_some_and(|k| matches!(k, SlotKind::Name | SlotKind::Place | SlotKind::String | SlotKind::Text));
        let exact = |s: &str| kind(s).is_some_and(|k| matches!(k, SlotKind::Digits | SlotKind::Birthdate));
        let earlier: BTreeMap<String, String> =
            standing.values().map(|(s, v)| (s.to_owned(), v.as_name().map_or_else(|| v.to_string(), str::to_owned))).collect();
        let own = |s: &String| earlier.contains_key(s) || brought.gives.contains_key(s);
        let refused = |s: &String| !brought.gives.contains_key(s) && (brought.withholds.contains(s) || standing.names("withheld").any(|w| w == s));
        let asked = |s: &String| self.asked.contains_key(s) && !exact(s);
        let counts = |s: &String| own(s) || !refused(s) && (open(s) || asked(s));
        let given: BTreeMap<&String, &String> = given.iter().filter(|(s, _)| counts(s)).collect();
        let said: BTreeSet<String> = brought.gives.keys().cloned().collect();
        let news = |s: &String| open(s) || said.contains(s) || standing.names("awaited").any(|a| a == s);
        let mut silent = BTreeMap::new();
        // Asked for twice and answered somehow, it is not asked for again.
        let twice = self.asked.iter().filter(|(s, n)| **n >= 2 && !own(s) && !given.contains_key(s));
        silent.extend(twice.map(|(s, _)| (s.clone(), String::new())));
        for (s, v) in given {
            let new = !self.before.contains_key(s) && !earlier.contains_key(s) && news(s);
            let changed = self.before.get(s).is_some_and(|old| old != v) && news(s);
            if !new && !changed && earlier.get(s) != Some(v) {
                silent.insert(s.clone(), v.clone());
            }
            if new || changed || said.contains(s) {
                brought.gives.insert(s.clone(), v.clone());
            }
        }
        silent
    }
}

fn texts(atoms: &[Atom]) -> Vec<String> {
    atoms.iter().map(ToString::to_string).collect()
}

/// What a turn said.
fn said(record: &TurnRecord) -> Option<String> {
    record.actions.iter().find(|a| &*a.name == "say").and_then(|a| Some(a.args.first()?.as_name()?.to_owned()))
}

/// The label of a call.
pub fn query(variant: &str) -> String {
    if variant.is_empty() { "query".to_owned() } else { format!("query_{variant}") }
}

/// The calls of a turn with their results.
fn results(events: &[(usize, Event)]) -> Vec<(String, Option<Value>)> {
    let mut out = Vec::new();
    let mut open: Option<&String> = None;
    for (_, e) in events {
        match e {
            Event::Query(v) => open = Some(v),
            Event::Result(r) => out.extend(open.map(|v| (v.clone(), r.clone()))),
            _ => {}
        }
    }
    out
}

impl Task {
    /// The task's functions, answering what was recorded: the result of the same kind of call, or else of the last one; where nothing was, the
    /// outcome that was hoped for.
    fn functions(&self, results: &[(String, Option<Value>)]) -> Functions {
        let mut cases: Vec<StandIn> = vec![];
        for (variant, result) in results.iter().rev() {
            let when = self.with(variant);
            if !when.is_empty() {
                cases.push(StandIn { when, answer: result.clone().unwrap_or(Value::Null), fault: None });
            }
        }
        let otherwise = results.last().map_or_else(|| json!({ "done": true }), |(_, r)| r.clone().unwrap_or(Value::Null));
        cases.push(StandIn { answer: otherwise, ..StandIn::default() });
        let declared = Functions::of(&self.domain.ontology);
        Functions::new(declared.names().filter_map(|n| declared.get(n)).cloned().map(|f| crate::act::Function { target: Target::StandIn(cases.clone()), ..f }))
    }

    /// The label of a turn's last call, if it called.
    fn last_call(&self, record: &TurnRecord) -> Option<String> {
        let call = record.rounds.iter().flat_map(|r| &r.calls).next_back()?;
        let inputs: BTreeMap<&str, &str> = call.inputs.iter().filter_map(|(k, v)| Some((k.as_str(), v.as_str()?))).collect();
        Some(query(&self.variant(|k| inputs.get(k).copied())))
    }

    /// The label of the call that an observer was told of.
    fn call_of(&self, record: &TurnRecord) -> Option<String> {
        let id = record.actions.iter().find(|a| &*a.name == "call")?.args.first()?.as_int()?;
        Some(query(&self.variant_of(id)))
    }
}
