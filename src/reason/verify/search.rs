//! The search: states as sorted numbers of facts, decisions remembered by the facts they were made on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Goal, Model, Searched, Speaker, Violation};
use crate::reason::{Base, Budget, Outcome, ReasonError, Reasoner, decide};
use crate::term::{Atom, Term};

/// Facts by number, sorted.
type Facts = Arc<[u32]>;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    sessions: Vec<Facts>,
    shared: Facts,
}

/// What one speaker's turn is decided on: which speaker, its conversation, the site, and which of its turns.
type Situation = (usize, Facts, Facts, usize);

/// What a turn comes to.
#[derive(Clone, Debug)]
struct Step {
    session: Facts,
    shared: Facts,
    ended: bool,
    /// Which goals it reaches.
    reached: Vec<bool>,
    /// Properties it violates, with what happened.
    violated: Vec<(String, String)>,
}

/// How a state was reached: from which, by whom, with which of its turns.
type Came = Option<(usize, usize, usize)>;

/// How many states a search for a goal may visit before it is left undecided.
const CLOSURE: usize = 5_000;
/// How many answers a counterexample shows that lead nowhere.
const IN_VAIN: usize = 8;
/// The speaker whose number stands for the properties' own base.
const PROPERTIES: usize = usize::MAX;

pub struct Search<'a> {
    model: &'a Model<'a>,
    begin: Instant,
    end: Instant,
    numbers: FxHashMap<Atom, u32>,
    atoms: Vec<Atom>,
    /// Each speaker's turns, those of its goals last.
    turns: Vec<Vec<Vec<Atom>>>,
    bases: FxHashMap<(usize, Facts), Base>,
    steps: FxHashMap<Situation, Option<Arc<Step>>>,
    found: BTreeMap<String, Violation>,
    fired: Vec<BTreeSet<usize>>,
    report: Searched,
    states: Vec<(State, Came)>,
    /// What was shown of the atoms that must be shown somewhere.
    shown: BTreeSet<Atom>,
}

/// Whether a goal can be reached.
enum Reach {
    Yes,
    /// Not at all; these turns lead nowhere.
    No(Vec<usize>),
    /// The search was too large or too long.
    Unknown,
}

impl<'a> Search<'a> {
    pub fn new(model: &'a Model<'a>) -> Self {
        let begin = Instant::now();
        let nothing: Facts = Arc::from([]);
        let start = State { sessions: vec![nothing.clone(); model.speakers.len()], shared: nothing };
        let turns = model.speakers.iter().map(|s| with_goals(s, &model.goals)).collect();
        Self {
            model,
            begin,
            end: begin + model.time,
            numbers: FxHashMap::default(),
            atoms: Vec::new(),
            turns,
            bases: FxHashMap::default(),
            steps: FxHashMap::default(),
            found: BTreeMap::new(),
            fired: vec![BTreeSet::new(); model.speakers.len()],
            report: Searched::default(),
            states: vec![(start, None)],
            shown: BTreeSet::new(),
        }
    }

    /// Level by level, then the goals.
    pub fn run(mut self) -> Result<Searched, ReasonError> {
        let mut known: FxHashSet<State> = self.states.iter().map(|(s, _)| s.clone()).collect();
        let mut level: Vec<usize> = vec![0];
        for depth in 0..self.model.depth {
            let mut next = Vec::new();
            for at in std::mem::take(&mut level) {
                if Instant::now() > self.end {
                    return Ok(self.finish());
                }
                for (who, speaker) in self.model.speakers.iter().enumerate() {
                    for n in 0..speaker.turns.len() + speaker.results.len() {
                        let Some((from, _)) = self.states.get(at) else { continue };
                        let Some(session) = from.sessions.get(who) else { continue };
                        let situation = (who, session.clone(), from.shared.clone(), n);
                        self.report.steps += 1;
                        let Some(step) = self.step(&situation, Some((at, who, n)))? else { continue };
                        for (property, detail) in &step.violated {
                            self.violated(property, detail, Some((at, who, n)));
                        }
                        let Some((from, _)) = self.states.get(at) else { continue };
                        let mut to = State { sessions: from.sessions.clone(), shared: step.shared.clone() };
                        if let Some(s) = to.sessions.get_mut(who) {
                            *s = step.session.clone();
                        }
                        if known.insert(to.clone()) {
                            next.push(self.states.len());
                            self.states.push((to, Some((at, who, n))));
                        }
                    }
                }
            }
            level = next;
            self.report.depth = depth + 1;
            if level.is_empty() {
                self.missed();
                break;
            }
        }
        self.goals()?;
        Ok(self.finish())
    }

    /// Everything was visited: what was never shown cannot be reached.
    fn missed(&mut self) {
        for a in self.model.somewhere.iter().filter(|a| !self.shown.contains(*a)) {
            let detail = format!("nothing leads to {a}");
            self.found.insert(format!("reached {a}"), Violation { property: "reached".to_owned(), detail, turns: vec![], wanted: None });
        }
    }

    fn finish(mut self) -> Searched {
        for (speaker, fired) in self.model.speakers.iter().zip(&self.fired) {
            let rules = speaker.base.rules();
            for (n, s) in rules.statements().iter().enumerate() {
                if rules.analysis().reached.contains(&n) && !rules.analysis().fixed.contains(&n) {
                    self.report.rules += 1;
                    if !fired.contains(&n) {
                        self.report.never_fired.push(format!("{} ({})", s.origin, speaker.role));
                    }
                }
            }
        }
        self.report.states = self.states.len();
        self.report.violations = self.found.into_values().collect();
        self.report.violations.sort_by(|a, b| (a.turns.len(), &a.property).cmp(&(b.turns.len(), &b.property)));
        self.report.seconds = self.begin.elapsed().as_secs_f64();
        self.report
    }

    fn number(&mut self, a: &Atom) -> u32 {
        if let Some(n) = self.numbers.get(a) {
            return *n;
        }
        let n = u32::try_from(self.atoms.len()).unwrap_or(u32::MAX);
        self.numbers.insert(a.clone(), n);
        self.atoms.push(a.clone());
        n
    }

    fn atoms_of<'s>(&'s self, facts: &'s [u32]) -> impl Iterator<Item = &'s Atom> {
        facts.iter().filter_map(|n| self.atoms.get(*n as usize))
    }

    fn base(&mut self, who: usize, shared: &Facts) -> Result<Base, ReasonError> {
        let key = (who, shared.clone());
        if let Some(b) = self.bases.get(&key) {
            return Ok(b.clone());
        }
        let base = if who == PROPERTIES { self.model.properties.as_ref() } else { self.model.speakers.get(who).map(|s| &s.base) };
        let add: Vec<Atom> = self.atoms_of(shared).cloned().collect();
        let base = base.ok_or(ReasonError::NoModel)?.with_change(&add, &[])?;
        self.bases.insert(key, base.clone());
        Ok(base)
    }

    /// Takes one turn and checks it, unless that was done before; `None` where no decision was made.
    fn step(&mut self, situation: &Situation, came: Came) -> Result<Option<Arc<Step>>, ReasonError> {
        if let Some(known) = self.steps.get(situation) {
            return Ok(known.clone());
        }
        let (who, session, shared, n) = situation;
        let model = self.model;
        let (Some(speaker), Some(turn)) = (model.speakers.get(*who), self.turns.get(*who).and_then(|t| t.get(*n)).cloned()) else { return Ok(None) };
        let base = self.base(*who, shared)?;
        let Some((session, said)) = self.round(session, turn) else {
            self.steps.insert(situation.clone(), None);
            return Ok(None);
        };
        let session = &session;
        let mut facts: Vec<Atom> = self.atoms_of(session).cloned().collect();
        facts.push(Atom::new("role", vec![Term::Const(speaker.role.clone())]));
        facts.extend((1..).zip(&said).map(|(k, a)| Atom::new("in", vec![Term::Int(k), a.to_term()])));
        facts.extend((model.settle)(&facts));
        self.report.decisions += 1;
        let confirm = self.report.decisions.is_multiple_of(model.confirm_every.max(1));
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
                self.violated(property, &e.to_string(), came);
                self.steps.insert(situation.clone(), None);
                return Ok(None);
            }
        };
        if let Some(fired) = self.fired.get_mut(*who) {
            let rules = &base.rules().program.rules;
            fired.extend(out.above.iter().flat_map(|r| &r.derived).filter_map(|d| rules.get(d.rule as usize)).map(|r| r.statement));
        }
        let (mut step, ended) = self.apply(speaker, session, shared, &out);
        step.session = self.under_way(&step.session, &said, &out);
        self.shown.extend(out.shown().iter().filter(|a| model.somewhere.contains(a)).cloned());
        step.violated.extend(self.properties((session, shared), &step, &facts, &out, &ended)?);
        // A conversation that ended is followed by a new one.
        if ended.is_some() {
            step.session = Arc::from([]);
        }
        let step = Arc::new(step);
        self.steps.insert(situation.clone(), Some(step.clone()));
        Ok(Some(step))
    }

    /// What a round begins with: a turn with what was said, or a result with what the call left. A call that is under way is followed by its
    /// result and by nothing else.
    fn round(&mut self, session: &Facts, turn: Vec<Atom>) -> Option<(Facts, Vec<Atom>)> {
        let function = |a: &Atom, at: usize| a.args.get(at).and_then(Term::as_name).map(str::to_owned);
        let calling: Vec<String> = self.atoms_of(session).filter(|a| &*a.name == "calling").filter_map(|a| function(a, 1)).collect();
        let returned = turn.first().filter(|a| &*a.name == "returned").and_then(|a| function(a, 1));
        let Some(returned) = returned else { return calling.is_empty().then(|| (session.clone(), turn)) };
        if !calling.contains(&returned) {
            return None;
        }
        let of_call = |a: &Atom| match &*a.name {
            "calling" => function(a, 1).as_ref() == Some(&returned),
            "returned" | "result" | "item" | "fault" => function(a, 0).as_ref() == Some(&returned),
            _ => false,
        };
        let mut held: Vec<Atom> = self.atoms_of(session).filter(|a| !of_call(a)).cloned().collect();
        held.extend(turn.iter().skip(1).cloned());
        let mut numbers: Vec<u32> = held.iter().map(|a| self.number(a)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        Some((numbers.into(), turn.into_iter().take(1).collect()))
    }

    /// The session while calls are under way: what was said in this turn is kept until they are back.
    fn under_way(&mut self, session: &Facts, said: &[Atom], out: &Outcome) -> Facts {
        let called = |a: &Atom| match a.args.as_slice() {
            [_, Term::Fun(_, f)] if &*a.name == "do" => f.first().cloned(),
            _ => None,
        };
        let calls: Vec<Term> = out.shown().iter().filter_map(called).collect();
        let is_heard = |a: &Atom| &*a.name == "heard";
        let mut held: Vec<Atom> = self.atoms_of(session).filter(|a| !calls.is_empty() || !is_heard(a)).cloned().collect();
        if !calls.is_empty() {
            // Each round's inputs have places of their own.
            let before = held.iter().filter(|a| is_heard(a)).count();
            let heard = (1..).zip(said).map(|(k, a)| Atom::new("heard", vec![Term::Int(k + i32::try_from(before).unwrap_or(0)), a.to_term()]));
            held.extend(heard);
            held.extend(calls.into_iter().map(|f| Atom::new("calling", vec![Term::string("call"), f])));
        }
        let mut numbers: Vec<u32> = held.iter().map(|a| self.number(a)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.into()
    }

    /// The state after a decision; a change that the role may not make is a violation.
    fn apply(&mut self, speaker: &Speaker, session: &Facts, shared: &Facts, out: &Outcome) -> (Step, Option<Term>) {
        let mut own: BTreeSet<u32> = session.iter().copied().collect();
        let mut all: BTreeSet<u32> = shared.iter().copied().collect();
        let mut ended = None;
        let mut violated = Vec::new();
        for a in out.shown() {
            let ("effect", [Term::Const(op), Term::Const(scope), fact]) = (&*a.name, a.args.as_slice()) else { continue };
            if &**op == "end" {
                ended = Some(fact.clone());
                continue;
            }
            let Some(fact) = fact.to_atom() else { continue };
            if &**scope != "session" && !(self.model.may_change)(&speaker.role, scope, &fact) {
                violated.push(("rights".to_owned(), format!("{}: {a}", speaker.role)));
                continue;
            }
            if &**scope == "session" && self.model.forget.iter().any(|(n, arity)| *n == fact.name && *arity == fact.args.len()) {
                continue;
            }
            let number = self.number(&fact);
            let set = match &**scope {
                "session" => &mut own,
                "shared" => &mut all,
                _ => continue,
            };
            match &**op {
                "add" => drop(set.insert(number)),
                "del" => drop(set.remove(&number)),
                _ => {}
            }
        }
        let reached = self.model.goals.iter().map(|g| g.role == speaker.role && out.shown().binary_search(&g.reached).is_ok()).collect();
        (Step { session: own.into_iter().collect(), shared: all.into_iter().collect(), ended: ended.is_some(), reached, violated }, ended)
    }

    fn properties(
        &mut self,
        before: (&Facts, &Facts),
        step: &Step,
        facts: &[Atom],
        out: &Outcome,
        ended: &Option<Term>,
    ) -> Result<Vec<(String, String)>, ReasonError> {
        if self.model.properties.is_none() {
            return Ok(vec![]);
        }
        let base = self.base(PROPERTIES, &step.shared)?;
        let rules = base.rules();
        let takes = |a: &Atom| rules.moving.contains(&(a.name.clone(), a.args.len()));
        let status = ended.clone().unwrap_or_else(|| Term::constant("open"));
        let mut seen: Vec<Atom> = facts.iter().filter(|a| matches!(&*a.name, "in" | "role" | "heard")).cloned().collect();
        seen.push(Atom::new("view", vec![Term::constant("status"), status]));
        seen.extend(self.atoms_of(&step.session).cloned());
        seen.extend(self.atoms_of(before.0).chain(self.atoms_of(before.1)).map(|f| Atom::new("before", vec![f.to_term()])));
        seen.extend(out.shown().iter().cloned());
        seen.retain(takes);
        let judged = decide(&base, &seen, Reasoner::Fast, &Budget::default())?;
        let violations = judged.shown().iter().filter(|a| &*a.name == "violation");
        Ok(violations.map(|v| (v.args.first().map_or_else(String::new, Term::to_string), v.to_string())).collect())
    }

    fn violated(&mut self, property: &str, detail: &str, came: Came) {
        if !self.found.contains_key(property) {
            let turns = self.trace(came);
            self.found.insert(property.to_owned(), Violation { property: property.to_owned(), detail: detail.to_owned(), turns, wanted: None });
        }
    }

    fn trace(&self, mut came: Came) -> Vec<(String, Vec<Atom>)> {
        let mut out = Vec::new();
        while let Some((at, who, n)) = came {
            out.extend(self.said(who, n));
            came = self.states.get(at).and_then(|(_, c)| *c);
        }
        out.reverse();
        out
    }

    fn said(&self, who: usize, n: usize) -> Option<(String, Vec<Atom>)> {
        let role = self.model.speakers.get(who)?.role.to_string();
        Some((role, self.turns.get(who)?.get(n)?.clone()))
    }

    /// From every visited state that has a goal's fact, the goal must be reachable by its own turns.
    fn goals(&mut self) -> Result<(), ReasonError> {
        let model = self.model;
        for (g, goal) in model.goals.iter().enumerate() {
            let Some(who) = model.speakers.iter().position(|s| s.role == goal.role) else { continue };
            // What calls give comes whoever works towards the goal.
            let results = model.speakers.get(who).map_or(0..0, |s| s.turns.len()..s.turns.len() + s.results.len());
            let by: Vec<usize> = goal.by.iter().filter_map(|t| self.turns.get(who)?.iter().position(|u| u == t)).chain(results).collect();
            let mut good: FxHashSet<(Facts, Facts)> = FxHashSet::default();
            for n in 0..self.states.len() {
                let Some((state, came)) = self.states.get(n) else { continue };
                let (Some(session), shared, came) = (state.sessions.get(who).cloned(), state.shared.clone(), *came) else { continue };
                if !self.atoms_of(&session).any(|a| a.name == goal.from.0 && a.args.len() == goal.from.1) {
                    continue;
                }
                match self.reach(g, goal, who, &by, (session, shared), &mut good)? {
                    Reach::Yes => {}
                    Reach::Unknown => {
                        self.report.undecided.push(goal.name.clone());
                        break;
                    }
                    Reach::No(in_vain) => {
                        let mut turns = self.trace(came);
                        turns.extend(in_vain.into_iter().filter_map(|n| self.said(who, n)));
                        let within = goal.within.map_or_else(String::new, |n| format!(" within {n} turns"));
                        let detail = format!("{} cannot be reached{within}, whatever of the listed turns is said", goal.reached);
                        let violation = Violation { property: goal.name.clone(), detail, turns, wanted: Some(goal.reached.clone()) };
                        self.found.entry(goal.name.clone()).or_insert(violation);
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Goes deep, so that some way is found soon; all that can be reached is visited before there is said to be none. With a limit on
    /// turns only going broad shows that there is no way within it.
    fn reach(
        &mut self,
        g: usize,
        goal: &Goal,
        who: usize,
        by: &[usize],
        start: (Facts, Facts),
        good: &mut FxHashSet<(Facts, Facts)>,
    ) -> Result<Reach, ReasonError> {
        let deep = self.walk(g, goal, who, by, start.clone(), good, false)?;
        if goal.within.is_some() && matches!(deep, Reach::No(_)) { self.walk(g, goal, who, by, start, good, true) } else { Ok(deep) }
    }

    fn walk(
        &mut self,
        g: usize,
        goal: &Goal,
        who: usize,
        by: &[usize],
        start: (Facts, Facts),
        good: &mut FxHashSet<(Facts, Facts)>,
        broad: bool,
    ) -> Result<Reach, ReasonError> {
        let mut visited: Vec<((Facts, Facts), Option<usize>, usize, usize)> = vec![(start.clone(), None, 0, 0)];
        let mut seen: FxHashSet<(Facts, Facts)> = [start].into_iter().collect();
        let mut open: std::collections::VecDeque<usize> = [0].into();
        while let Some(at) = if broad { open.pop_front() } else { open.pop_back() } {
            let Some((here, _, _, depth)) = visited.get(at).cloned() else { continue };
            if good.contains(&here) && (goal.within.is_none() || at == 0) {
                self.mark(&visited, at, good);
                return Ok(Reach::Yes);
            }
            // Out of time is no violation: nothing was shown to be impossible.
            if Instant::now() > self.end || visited.len() > CLOSURE {
                return Ok(Reach::Unknown);
            }
            if goal.within.is_some_and(|w| depth >= w) {
                continue;
            }
            let mut next = Vec::new();
            for n in by {
                let Some(step) = self.step(&(who, here.0.clone(), here.1.clone(), *n), None)? else { continue };
                if step.reached.get(g) == Some(&true) {
                    // With a limit on turns nothing is known of the states on the way.
                    self.mark(&visited, if goal.within.is_some() { 0 } else { at }, good);
                    return Ok(Reach::Yes);
                }
                let to = (step.session.clone(), step.shared.clone());
                if !step.ended && seen.insert(to.clone()) {
                    next.push(visited.len());
                    visited.push((to, Some(at), *n, depth + 1));
                }
            }
            // Going deep, what is listed first is tried first.
            if broad { open.extend(next) } else { open.extend(next.into_iter().rev()) }
        }
        // The first turn once more where nothing leads on at all.
        let mut last = visited.len() - 1;
        let mut path = Vec::new();
        while let Some((_, Some(from), n, _)) = visited.get(last) {
            path.push(*n);
            last = *from;
        }
        path.reverse();
        path.truncate(IN_VAIN);
        if path.is_empty() {
            path.extend(by.first());
        }
        Ok(Reach::No(path))
    }

    /// Everything on the way to a state from which the goal is reached reaches it too.
    fn mark(&self, visited: &[((Facts, Facts), Option<usize>, usize, usize)], mut at: usize, good: &mut FxHashSet<(Facts, Facts)>) {
        while let Some((here, from, ..)) = visited.get(at) {
            good.insert(here.clone());
            match from {
                Some(f) => at = *f,
                None => return,
            }
        }
    }
}

/// A speaker's turns and those of the goals it works towards.
fn with_goals(speaker: &Speaker, goals: &[Goal]) -> Vec<Vec<Atom>> {
    let mut out: Vec<Vec<Atom>> = speaker.turns.iter().chain(&speaker.results).cloned().collect();
    for t in goals.iter().filter(|g| g.role == speaker.role).flat_map(|g| &g.by) {
        if !out.contains(t) {
            out.push(t.clone());
        }
    }
    out
}
