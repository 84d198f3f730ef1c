//! The evaluation as a client of the turn: recorded dialogues in, the domain's replies with placeholders out.
//!
//! The agent listens in on a conversation that the recorded system leads: each turn brings what the user's words say, what the reply before
//! did, and, where states are given, what is known by now. It answers as it would answer a user; values are then put out of its actions, and the
//! domain's own templates word what is left. No turn sees its own recorded reply or anything after it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::convention::Convention;
use super::data::{Recording, State};
use super::fuzzy::partial_ratio;
use super::score::Said as Scored;
use super::values::{Spellings, is_any, minutes};
use super::venues::Slots;
use super::{Manner, MultiwozError, States};
use crate::diag::Source;
use crate::domain::{Domain, Files};
use crate::facts::{MemoryStore, SessionKey};
use crate::ontology::Ontology;
use crate::reason::Reasoner;
use crate::render::{Render, Say, Tone};
use crate::term::{Atom, Term};
use crate::turn::{Clock, Engine, Options, Said, TurnRecord};
use crate::understand::spot::Spotter;
use crate::understand::{Context, Understand};

/// The domain that is evaluated.
const DOMAIN: &str = "multiwoz";
/// Who listens in.
const ROLE: &str = "listener";
/// How similar a recorded name has to be to one of the domain's.
const SIMILAR: u32 = 90;

/// The engine with what stands between it and the data.
pub struct Client {
    engine: Engine,
    guest: Spotter,
    replies: Spotter,
    spellings: Arc<Spellings>,
    convention: Arc<Convention>,
    /// The domain's names and values by their spelling in the data.
    terms: BTreeMap<String, Term>,
}

/// One turn as it was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The services that the turn was about.
    pub focus: Vec<String>,
    /// The actions.
    pub actions: Vec<Atom>,
    /// What is said with placeholders.
    pub words: String,
    /// What is known.
    pub known: State,
}

impl Client {
    /// The domain at work.
    pub fn new(files: &Files, reasoner: Reasoner, manner: Manner, spellings: &Arc<Spellings>, convention: &Arc<Convention>) -> Result<Self, MultiwozError> {
        let load = |found: Vec<crate::diag::Diagnostic>| MultiwozError::Rules(found.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "));
        let mut domain = Domain::load(files, DOMAIN).map_err(load)?;
        if manner == Manner::Volunteers {
            domain.settle("contacts=unasked").map_err(MultiwozError::Rules)?;
        }
        // Bookings come about, as they mostly did in the recorded conversations.
        for function in &mut Arc::make_mut(&mut domain.ontology).functions {
            function.stand_in.retain(|s| s.fault.is_none());
        }
        let guest = domain.spotter().map_err(load)?.ok_or_else(|| MultiwozError::Rules("the domain has no file of spots".to_owned()))?;
        let source = Source::new("replies.yaml", include_str!("replies.yaml"));
        let replies = Spotter::load(&source, &domain.ontology, domain.facts.iter()).map_err(load)?;
        let terms = terms(&domain.ontology, &domain.facts, spellings);
        let options = Options { reasoner, audit: 0, clock: Clock::Fixed(0), ..Options::default() };
        let engine = Engine::new(domain, Arc::new(MemoryStore::default())).with_options(options);
        Ok(Self { engine, guest, replies, spellings: spellings.clone(), convention: convention.clone(), terms })
    }

    /// The turns of a dialogue, each after the recorded replies before it.
    pub fn moves(&self, dialogue: &Recording, states: States) -> Result<Vec<Move>, MultiwozError> {
        let key = SessionKey::new(&dialogue.id, "benchmark");
        let mut out = Vec::new();
        let mut before: &State = &Vec::new();
        let mut reply = None;
        for turn in &dialogue.turns {
            let (replied, asked): (Vec<Atom>, Vec<Atom>) = match reply {
                Some(r) => self.replies.understand(r, &Context::default()).predicates.into_iter().partition(|a| &*a.name != "ask"),
                None => Default::default(),
            };
            let context = Context { role: ROLE.into(), last_actions: asked, ..Context::default() };
            let mut heard = self.guest.understand(&turn.user, &context).predicates;
            if states == States::Oracle {
                heard.retain(|a| self.convention.cues.iter().any(|c| **c == *a.name));
                heard.push(Atom::new("given", vec![]));
                heard.extend(self.news(before, &turn.known));
            }
            heard.extend(replied);
            let texts: Vec<String> = heard.iter().map(ToString::to_string).collect();
            let record = self.engine.turn(&key, ROLE, &Said::Predicates(&texts), None).map_err(|e| MultiwozError::Decide(e.to_string()))?;
            if let Some(refused) = record.refused.first() {
                return Err(MultiwozError::Decide(format!("{}: {}", dialogue.id, refused.message)));
            }
            out.push(self.read(&record));
            before = &turn.known;
            reply = Some(turn.reply.as_str());
        }
        Ok(out)
    }

    /// What the moves are in the form the benchmark scores.
    pub fn said(&self, moves: &[Move], states: States, normal: impl Fn(&str) -> String) -> Vec<Scored> {
        let said = |m: &Move| Scored {
            response: normal(&m.words),
            words: m.words.clone(),
            state: (states == States::Own).then(|| m.known.clone()),
            active: Some(m.focus.clone()),
        };
        moves.iter().map(said).collect()
    }

    /// What is known now and was not before, or no longer.
    fn news(&self, before: &State, now: &State) -> Vec<Atom> {
        let slots = |state: &State, d: &str| state.iter().find(|(x, _)| x == d).map(|(_, s)| s.clone()).unwrap_or_default();
        let mut out = Vec::new();
        for (domain, known) in now {
            let old = slots(before, domain);
            let changed = known.iter().filter(|(slot, value)| old.get(*slot) != Some(value));
            out.extend(changed.map(|(s, v)| Atom::new("state", vec![Term::constant(domain), Term::constant(s), self.term(s, v)])));
        }
        for (domain, old) in before {
            let known = slots(now, domain);
            let gone = old.keys().filter(|slot| !known.contains_key(*slot));
            out.extend(gone.map(|s| Atom::new("forgotten", vec![Term::constant(domain), Term::constant(s)])));
        }
        out
    }

    /// A recorded value in the domain's terms.
    fn term(&self, slot: &str, value: &str) -> Term {
        if is_any(value) {
            return Term::constant("any");
        }
        let value = self.spellings.value(slot, value);
        if self.convention.times.iter().any(|t| t == slot) {
            return Term::Int(minutes(&value));
        }
        if let Ok(n) = value.parse() {
            return Term::Int(n);
        }
        if let Some(term) = self.terms.get(&value) {
            return term.clone();
        }
        let near = self.terms.iter().filter(|(_, t)| matches!(t, Term::Str(_))).map(|(k, t)| (partial_ratio(k, &value), t));
        match near.max_by_key(|(r, _)| *r).filter(|(r, _)| *r >= SIMILAR) {
            Some((_, term)) => term.clone(),
            None => Term::string(&value),
        }
    }

    fn read(&self, record: &TurnRecord) -> Move {
        let mut known: BTreeMap<String, Slots> = BTreeMap::new();
        let mut focus = Vec::new();
        for atom in &record.view {
            match atom.args.as_slice() {
                [Term::Const(what), domain] if &**what == "focus" => focus.push(domain.to_string()),
                [Term::Const(what), domain, slot, value] if &**what == "known" => {
                    let slot = slot.to_string();
                    let value = self.spellings.value(&slot, &self.spelled(&slot, value));
                    known.entry(domain.to_string()).or_default().insert(slot, value);
                }
                _ => {}
            }
        }
        Move { focus, words: self.words(&record.actions), actions: record.actions.clone(), known: known.into_iter().collect() }
    }

    /// A value of the domain as the data spells it.
    fn spelled(&self, slot: &str, value: &Term) -> String {
        match value {
            Term::Int(n) if self.convention.times.iter().any(|t| t == slot) => format!("{:02}:{:02}", n / 60, n % 60),
            Term::Const(c) if &**c == "any" => "dontcare".to_owned(),
            Term::Const(c) => c.replace('_', " "),
            Term::Str(s) => s.to_lowercase().replace('\'', ""),
            other => other.to_string(),
        }
    }

    /// The actions with placeholders in the place of values, in the words of the domain's templates.
    fn words(&self, actions: &[Atom]) -> String {
        let says: Vec<Say> = actions.iter().map(|a| Say { action: self.bare(a), input: None }).collect();
        let tone = Tone { role: ROLE.to_owned(), ..Tone::default() };
        self.engine.domain().templates.render(&says, &tone)
    }

    /// An action without its values: what stands in their place is listed by its name and the constants that it begins with.
    fn bare(&self, action: &Atom) -> Atom {
        let constants: Vec<&str> = action.args.iter().map_while(Term::as_name).collect();
        let key = |n: usize| match constants.get(..n) {
            Some([]) | None => action.name.to_string(),
            Some(first) => format!("{}({})", action.name, first.join(",")),
        };
        let found = (0..=constants.len()).rev().find_map(|n| Some((n, self.convention.placeholders.get(&key(n))?)));
        let mut out = action.clone();
        let Some((constants, slots)) = found else { return out };
        for (arg, slot) in out.args.iter_mut().skip(constants).zip(slots) {
            if let Some(slot) = slot.as_deref().filter(|_| !is_nothing(arg)) {
                *arg = Term::string(&format!("[{slot}]"));
            }
        }
        out
    }
}

/// What stands where there is no value, or where the value was said before.
fn is_nothing(term: &Term) -> bool {
    matches!(term.as_name(), Some("none" | "named"))
}

/// The domain's names and values by their spelling in the data.
fn terms(ontology: &Ontology, facts: &[Atom], spellings: &Spellings) -> BTreeMap<String, Term> {
    let mut out = BTreeMap::new();
    for term in facts.iter().flat_map(|f| &f.args) {
        if let Term::Str(s) = term {
            out.insert(spellings.value("name", &s.to_lowercase().replace('\'', "")), term.clone());
        }
    }
    let values = ontology.sorts.values().filter_map(|s| if let crate::ontology::Sort::Values(v) = s { Some(v) } else { None });
    for value in values.flatten() {
        out.insert(value.replace('_', " "), Term::constant(value));
    }
    out
}
