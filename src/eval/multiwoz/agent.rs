//! The system under test: cues, tracked states and table counts in, a decision of the rules, a response out.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::MultiwozError;
use super::cues::Cues;
use super::data::{Dialogue, State};
use super::flows::{PREDICATES, atom, facts};
use super::say::Texts;
use super::score::Said;
use super::values::is_any;
use super::venues::{Slots, Venues};
use crate::diag::Source;
use crate::reason::{Base, Budget, Reasoner, Rules, Scope, Signature, decide};
use crate::term::{Atom, Term};

/// The rule files of the policy.
const RULES: [(&str, &str); 2] = [
    ("rules/multiwoz/focus.lp", include_str!("../../../rules/multiwoz/focus.lp")),
    ("rules/multiwoz/policy.lp", include_str!("../../../rules/multiwoz/policy.lp")),
];
/// What a turn brings.
const TURN: [(&str, usize); 6] = [("in", 2), ("said", 1), ("known", 2), ("changed", 2), ("found", 2), ("found_by_name", 2)];
/// What a session keeps.
const SESSION: [(&str, usize); 4] = [("active", 1), ("offered", 1), ("asked", 1), ("done", 1)];

/// The policy with its words.
#[derive(Debug)]
pub struct Agent {
    base: Base,
    reasoner: Reasoner,
    cues: Cues,
    texts: Texts,
}

/// One decided turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Move {
    /// The domains the turn is about.
    pub focus: Vec<String>,
    /// The actions in the order they are said.
    pub actions: Vec<Term>,
}

impl Agent {
    /// Loads flows, rules, cues and texts.
    pub fn new(reasoner: Reasoner) -> Result<Self, MultiwozError> {
        let name = |(n, a): &(&str, usize)| (Arc::from(*n), *a);
        let mut signature = Signature { turn: TURN.iter().map(name).collect(), ..Signature::default() };
        signature.stored.extend(PREDICATES.iter().map(|p| (name(p), Scope::Kb)));
        signature.stored.extend(SESSION.iter().map(|p| (name(p), Scope::Session)));
        let sources: Vec<Source> = RULES.iter().map(|(n, t)| Source::new(n, t)).collect();
        let rules = Rules::load(&sources, &signature).map_err(|found| {
            let all: Vec<String> = found.iter().map(|d| format!("{}: {}", d.origin, d.message)).collect();
            MultiwozError::Rules(all.join("; "))
        })?;
        let base = Base::build(&Arc::new(rules), &facts()?, &[]).map_err(|e| MultiwozError::Rules(e.to_string()))?;
        let cues = Cues::parse(include_str!("../../../kb/multiwoz/cues.json"))?;
        let texts = Texts::parse(include_str!("../../../kb/multiwoz/templates.json"))?;
        Ok(Self { base, reasoner, cues, texts })
    }

    /// The lexicon of cues.
    pub fn cues(&self) -> &Cues {
        &self.cues
    }

    /// The moves of a dialogue, given what is known after each of the user's turns.
    ///
    /// The recorded replies are the history: a turn sees the replies before it and never its own.
    pub fn moves(&self, dialogue: &Dialogue, known: &[State], venues: &Venues) -> Result<Vec<Move>, MultiwozError> {
        let mut session: BTreeSet<Atom> = BTreeSet::new();
        let mut out = Vec::new();
        let mut before: &State = &Vec::new();
        let mut reply = None;
        for (turn, now) in dialogue.turns.iter().zip(known) {
            let mut facts = self.facts(&turn.user, reply, before, now, venues);
            facts.extend(session.iter().cloned());
            out.push(self.decide(&facts, &mut session)?);
            before = now;
            reply = Some(turn.reply.as_str());
        }
        Ok(out)
    }

    /// What the moves are in the form the benchmark scores.
    pub fn said(&self, moves: &[Move], normal: impl Fn(&str) -> String) -> Vec<Said> {
        let said = |m: &Move| {
            let words = self.texts.say(&m.actions);
            Said { response: normal(&words), words, state: None, active: Some(m.focus.clone()) }
        };
        moves.iter().map(said).collect()
    }

    fn facts(&self, user: &str, reply: Option<&str>, before: &State, now: &State, venues: &Venues) -> Vec<Atom> {
        let mut out: Vec<Atom> = (1..).zip(self.cues.heard(user)).map(|(k, cue)| Atom::new("in", vec![Term::Int(k), cue])).collect();
        out.extend(reply.into_iter().flat_map(|r| self.cues.said(r)).map(|cue| Atom::new("said", vec![cue])));
        let slots = |state: &State, d: &str| state.iter().find(|(x, _)| x == d).map(|(_, s)| s.clone()).unwrap_or_default();
        for (d, known) in now {
            let old = slots(before, d);
            for (slot, value) in known {
                out.push(atom("known", &[d, slot], None));
                if old.get(slot) != Some(value) {
                    out.push(atom("changed", &[d, slot], None));
                }
            }
        }
        for d in venues.convention().tables.keys() {
            let constraints: Slots = slots(now, d).into_iter().filter(|(_, v)| !is_any(v)).collect();
            let n = i32::try_from(venues.query(d, &constraints).len()).unwrap_or(i32::MAX);
            out.push(atom("found", &[d], Some(n)));
            if let Some(name) = constraints.get("name") {
                let n = i32::try_from(venues.query(d, &Slots::from([("name".to_owned(), name.clone())])).len()).unwrap_or(i32::MAX);
                out.push(atom("found_by_name", &[d], Some(n)));
            }
        }
        out
    }

    fn decide(&self, facts: &[Atom], session: &mut BTreeSet<Atom>) -> Result<Move, MultiwozError> {
        let outcome = decide(&self.base, facts, self.reasoner, &Budget::default()).map_err(|e| MultiwozError::Decide(e.to_string()))?;
        let mut acts: Vec<(&Term, &Term, &Term)> = Vec::new();
        let mut out = Move::default();
        for a in outcome.shown() {
            match (a.name.as_ref(), a.args.as_slice()) {
                ("act", [phase, k, action]) => acts.push((phase, k, action)),
                ("view", [Term::Fun(name, args)]) if name.as_ref() == "focus" => out.focus.extend(args.iter().map(ToString::to_string)),
                ("effect", [op, _, fact]) => {
                    if let Some(fact) = fact.to_atom() {
                        if op.as_name() == Some("add") {
                            session.insert(fact)
                        } else {
                            session.remove(&fact)
                        };
                    }
                }
                _ => {}
            }
        }
        acts.sort();
        out.actions = acts.into_iter().map(|(_, _, a)| a.clone()).collect();
        Ok(out)
    }
}
