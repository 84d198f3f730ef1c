//! Bounded model checking of dialogue rules: every conversation up to a depth over a small set of sayings, shortest violation first.
//!
//! The evaluator takes a step in tens of microseconds, so states are visited one by one, breadth first, and those met before are
//! not entered again; a sample of the steps is confirmed by clingo. What must hold is said by rules that derive `violation(Name,What)`
//! from one turn, and by goals that must stay reachable.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use std::time::{Duration, Instant};

use super::{Base, Budget, Outcome, ReasonError, Reasoner, decide};
use crate::term::{Atom, Name, Term};

/// One who speaks: a role's rules on the site's facts, and what it may say in a turn.
#[derive(Clone, Debug)]
pub struct Speaker {
    /// The role.
    pub role: Name,
    /// Its rules and the stored facts.
    pub base: Base,
    /// The turns it may take: lists of predicates.
    pub turns: Vec<Vec<Atom>>,
}

/// Something that must stay possible: from every state with such a fact, those turns alone can lead to an effect.
#[derive(Clone, Debug)]
pub struct Goal {
    /// What a violation is called.
    pub name: String,
    /// Who works towards it.
    pub role: Name,
    /// The fact of the role's session from which on it must be reachable: name and arity.
    pub from: (Name, usize),
    /// The turns that may be taken.
    pub by: Vec<Vec<Atom>>,
    /// A shown atom that means it is reached.
    pub reached: Atom,
    /// In how many turns.
    pub within: usize,
}

/// Who may change what: role, scope (`shared` or `kb`), fact.
pub type MayChange<'a> = dyn Fn(&str, &str, &Atom) -> bool + 'a;

/// What is checked.
pub struct Model<'a> {
    /// Who speaks.
    pub speakers: Vec<Speaker>,
    /// Rules that derive `violation/2` from a turn, with the stored facts.
    pub properties: Option<Base>,
    /// Rights.
    pub may_change: &'a MayChange<'a>,
    /// What must stay reachable.
    pub goals: Vec<Goal>,
    /// Turns of a conversation.
    pub depth: usize,
    /// When to stop looking.
    pub time: Duration,
    /// Every how many steps clingo confirms.
    pub confirm_every: usize,
}

/// A conversation that should not be possible.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Violation {
    /// Which property.
    pub property: String,
    /// What happened.
    pub detail: String,
    /// Who said what, turn by turn.
    pub turns: Vec<(String, Vec<Atom>)>,
}

/// What was found.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Report {
    /// States visited.
    pub states: usize,
    /// Turns taken.
    pub steps: usize,
    /// Steps that clingo confirmed.
    pub confirmed: usize,
    /// The depth up to which everything was visited.
    pub depth: usize,
    /// One violation for each property, the shortest.
    pub violations: Vec<Violation>,
    /// Rules that derived nothing in any step, by role: the place of each.
    pub never_fired: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    sessions: Vec<BTreeSet<Atom>>,
    shared: BTreeSet<Atom>,
}

/// How a state was reached: from which, by whom, with which of its turns.
type Came = Option<(usize, usize, usize)>;

struct Search<'a> {
    model: &'a Model<'a>,
    bases: BTreeMap<(usize, BTreeSet<Atom>), Base>,
    found: BTreeMap<String, Violation>,
    fired: Vec<BTreeSet<usize>>,
    report: Report,
    states: Vec<(State, Came)>,
}

/// The speaker whose number stands for the properties' own base.
const PROPERTIES: usize = usize::MAX;

/// Visits all conversations up to the depth.
pub fn verify(model: &Model<'_>) -> Result<Report, ReasonError> {
    let start = State { sessions: vec![BTreeSet::new(); model.speakers.len()], shared: BTreeSet::new() };
    let mut s = Search {
        model,
        bases: BTreeMap::new(),
        found: BTreeMap::new(),
        fired: vec![BTreeSet::new(); model.speakers.len()],
        report: Report::default(),
        states: vec![(start.clone(), None)],
    };
    let end = Instant::now() + model.time;
    let mut known: BTreeMap<State, usize> = [(start, 0)].into();
    let mut level: Vec<usize> = vec![0];
    for depth in 0..model.depth {
        let mut next = Vec::new();
        for at in std::mem::take(&mut level) {
            if Instant::now() > end {
                return Ok(s.finish());
            }
            for (who, speaker) in model.speakers.iter().enumerate() {
                for (n, turn) in speaker.turns.iter().enumerate() {
                    let Some((from, _)) = s.states.get(at) else { continue };
                    let from = from.clone();
                    let Some(to) = s.step(&from, who, turn, Some((at, who, n)))? else { continue };
                    if !known.contains_key(&to) {
                        known.insert(to.clone(), s.states.len());
                        next.push(s.states.len());
                        s.states.push((to, Some((at, who, n))));
                    }
                }
            }
        }
        level = next;
        s.report.depth = depth + 1;
    }
    s.goals(end)?;
    Ok(s.finish())
}

impl Search<'_> {
    fn finish(mut self) -> Report {
        for (speaker, fired) in self.model.speakers.iter().zip(&self.fired) {
            let rules = speaker.base.rules();
            for (n, s) in rules.statements().iter().enumerate() {
                let moving = rules.analysis().reached.contains(&n) && !rules.analysis().fixed.contains(&n);
                if moving && !fired.contains(&n) {
                    self.report.never_fired.push(format!("{} ({})", s.origin, speaker.role));
                }
            }
        }
        self.report.states = self.states.len();
        self.report.violations = self.found.into_values().collect();
        self.report.violations.sort_by(|a, b| (a.turns.len(), &a.property).cmp(&(b.turns.len(), &b.property)));
        self.report
    }

    fn base(&mut self, who: usize, shared: &BTreeSet<Atom>) -> Result<Base, ReasonError> {
        let key = (who, shared.clone());
        if let Some(b) = self.bases.get(&key) {
            return Ok(b.clone());
        }
        let base = if who == PROPERTIES { self.model.properties.as_ref() } else { self.model.speakers.get(who).map(|s| &s.base) };
        let add: Vec<Atom> = shared.iter().cloned().collect();
        let base = base.ok_or(ReasonError::NoModel)?.with_change(&add, &[])?;
        self.bases.insert(key, base.clone());
        Ok(base)
    }

    /// Takes one turn, checks it, and gives the state after it; `None` where no decision was made.
    fn step(&mut self, from: &State, who: usize, turn: &[Atom], came: Came) -> Result<Option<State>, ReasonError> {
        let (Some(speaker), Some(session)) = (self.model.speakers.get(who), from.sessions.get(who)) else { return Ok(None) };
        let base = self.base(who, &from.shared)?;
        let mut facts: Vec<Atom> = session.iter().cloned().collect();
        facts.push(Atom::new("role", vec![Term::Const(speaker.role.clone())]));
        facts.extend((1..).zip(turn).map(|(k, a)| Atom::new("in", vec![Term::Int(k), a.to_term()])));
        self.report.steps += 1;
        let confirm = self.report.steps.is_multiple_of(self.model.confirm_every.max(1));
        self.report.confirmed += usize::from(confirm);
        let how = if confirm { Reasoner::Confirm } else { Reasoner::Fast };
        let out = match decide(&base, &facts, how, &Budget::default()) {
            Ok(out) => out,
            Err(e) => {
                let property = match &e {
                    ReasonError::TwoModels { .. } => "two_models",
                    ReasonError::Disagreement { .. } => "engines_disagree",
                    ReasonError::OverBudget { .. } => "over_budget",
                    _ => "no_decision",
                };
                self.violated(property, e.to_string(), came);
                return Ok(None);
            }
        };
        for r in out.above.iter().flat_map(|r| &r.derived).filter_map(|d| base.rules().program.rules.get(d.rule as usize)) {
            if let Some(f) = self.fired.get_mut(who) {
                f.insert(r.statement);
            }
        }
        let (to, ended) = self.apply(from, who, &speaker.role.clone(), &out, came);
        self.properties(from, &to, who, &facts, &out, ended, came)?;
        Ok(Some(to))
    }

    /// The state after a decision; a change that the role may not make is a violation.
    fn apply(&mut self, from: &State, who: usize, role: &str, out: &Outcome, came: Came) -> (State, Option<Term>) {
        let mut to = from.clone();
        let mut ended = None;
        for a in out.shown() {
            let ("effect", [Term::Const(op), Term::Const(scope), fact]) = (&*a.name, a.args.as_slice()) else { continue };
            if &**op == "end" {
                ended = Some(fact.clone());
                continue;
            }
            let Some(fact) = fact.to_atom() else { continue };
            if &**scope != "session" && !(self.model.may_change)(role, scope, &fact) {
                self.violated("rights", format!("{role}: {a}"), came);
                continue;
            }
            let own = match &**scope {
                "session" => to.sessions.get_mut(who),
                "shared" => Some(&mut to.shared),
                _ => None,
            };
            match (own, &**op) {
                (Some(own), "add") => drop(own.insert(fact)),
                (Some(own), "del") => drop(own.remove(&fact)),
                _ => {}
            }
        }
        (to, ended)
    }

    #[expect(clippy::too_many_arguments, reason = "a turn has as many parts")]
    fn properties(&mut self, from: &State, to: &State, who: usize, facts: &[Atom], out: &Outcome, ended: Option<Term>, came: Came) -> Result<(), ReasonError> {
        if self.model.properties.is_none() {
            return Ok(());
        }
        let base = self.base(PROPERTIES, &to.shared)?;
        let rules = base.rules().clone();
        let takes = |a: &Atom| rules.moving.contains(&(a.name.clone(), a.args.len()));
        let status = ended.unwrap_or_else(|| Term::constant("open"));
        let mut seen: Vec<Atom> = facts.iter().filter(|a| matches!(&*a.name, "in" | "role")).cloned().collect();
        seen.push(Atom::new("view", vec![Term::constant("status"), status]));
        seen.extend(to.sessions.get(who).into_iter().flatten().cloned());
        seen.extend(from.sessions.get(who).into_iter().flatten().map(|f| Atom::new("before", vec![f.to_term()])));
        seen.extend(out.shown().iter().cloned());
        seen.retain(takes);
        let judged = decide(&base, &seen, Reasoner::Fast, &Budget::default())?;
        for v in judged.shown().iter().filter(|a| &*a.name == "violation") {
            let name = v.args.first().map_or_else(String::new, Term::to_string);
            self.violated(&name, v.to_string(), came);
        }
        Ok(())
    }

    fn violated(&mut self, property: &str, detail: String, came: Came) {
        if self.found.contains_key(property) {
            return;
        }
        let turns = self.trace(came);
        self.found.insert(property.to_owned(), Violation { property: property.to_owned(), detail, turns });
    }

    fn trace(&self, mut came: Came) -> Vec<(String, Vec<Atom>)> {
        let mut out = Vec::new();
        while let Some((at, who, n)) = came {
            if let Some(s) = self.model.speakers.get(who) {
                out.push((s.role.to_string(), s.turns.get(n).cloned().unwrap_or_default()));
            }
            came = self.states.get(at).and_then(|(_, c)| *c);
        }
        out.reverse();
        out
    }

    /// From every visited state that has a goal's fact, the goal must be reachable by its own turns.
    fn goals(&mut self, end: Instant) -> Result<(), ReasonError> {
        let model = self.model;
        for goal in &model.goals {
            let Some(who) = model.speakers.iter().position(|s| s.role == goal.role) else { continue };
            let mut good: BTreeSet<State> = BTreeSet::new();
            for n in 0..self.states.len() {
                let Some((state, came)) = self.states.get(n).cloned() else { continue };
                let asked = state.sessions.get(who).is_some_and(|s| s.iter().any(|a| a.name == goal.from.0 && a.args.len() == goal.from.1));
                if !asked {
                    continue;
                }
                if Instant::now() > end {
                    return Ok(());
                }
                // Going deep finds some way soon; only going broad shows that there is none.
                if !self.reaches(goal, who, &state, &mut good, end, true)? && !self.reaches(goal, who, &state, &mut good, end, false)? {
                    self.violated(&goal.name, format!("{} cannot be reached within {} turns", goal.reached, goal.within), came);
                    break;
                }
            }
        }
        Ok(())
    }

    fn reaches(&mut self, goal: &Goal, who: usize, start: &State, good: &mut BTreeSet<State>, end: Instant, deep: bool) -> Result<bool, ReasonError> {
        let mut open: VecDeque<(State, Vec<State>)> = [(start.clone(), Vec::new())].into();
        let mut seen: BTreeSet<State> = [start.clone()].into();
        while let Some((state, path)) = if deep { open.pop_back() } else { open.pop_front() } {
            if good.contains(&state) {
                good.extend(path);
                return Ok(true);
            }
            // Out of time is no violation: nothing was shown to be impossible.
            if Instant::now() > end {
                return Ok(true);
            }
            if path.len() >= goal.within {
                continue;
            }
            for turn in &goal.by {
                let base = self.base(who, &state.shared)?;
                let mut facts: Vec<Atom> = state.sessions.get(who).into_iter().flatten().cloned().collect();
                facts.push(Atom::new("role", vec![Term::Const(goal.role.clone())]));
                facts.extend((1..).zip(turn).map(|(k, a)| Atom::new("in", vec![Term::Int(k), a.to_term()])));
                let Ok(out) = decide(&base, &facts, Reasoner::Fast, &Budget::default()) else { continue };
                let mut path = path.clone();
                path.push(state.clone());
                if out.shown().binary_search(&goal.reached).is_ok() {
                    good.extend(path);
                    return Ok(true);
                }
                let (to, ended) = self.apply(&state, who, &goal.role, &out, None);
                if ended.is_none() && seen.insert(to.clone()) {
                    open.push_back((to, path));
                }
            }
        }
        Ok(false)
    }
}
