//! The search: states as sorted numbers of facts, decisions remembered by the facts they were made on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use rustc_hash::{FxHashMap, FxHashSet};

use super::versions::change;
use super::{Goal, Model, Searched, Speaker, Violation};
use crate::reason::{Base, Budget, Outcome, ReasonError, Reasoner, decide};
use crate::term::{Atom, Name, Term};

/// Facts by number, sorted.
pub(super) type Facts = Arc<[u32]>;

/// One conversation of a role: its facts, and what it collected of the next kb version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Seat {
    pub facts: Facts,
    pub staged: Facts,
}

impl Seat {
    /// Whether nobody speaks there.
    pub fn is_free(&self) -> bool {
        self.facts.is_empty() && self.staged.is_empty()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub seats: Vec<Seat>,
    pub shared: Facts,
    /// Kb changes that wait for their version.
    pub handed: Facts,
    /// How the kb differs from the one that the search began with.
    pub kb: Facts,
}

/// What holds for everybody.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Site {
    pub shared: Facts,
    pub kb: Facts,
}

/// What a turn is decided on beside what is said: the conversation, the site, and what is shown of the next version.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Here {
    session: Facts,
    site: Site,
    collected: Facts,
}

/// Which speaker is where, and which of its turns it takes.
type Situation = (usize, Here, usize);

/// What a turn comes to.
#[derive(Clone, Debug)]
struct Step {
    session: Facts,
    shared: Facts,
    /// Kb changes.
    changes: Facts,
    ended: bool,
    /// Which goals it reaches.
    reached: Vec<bool>,
    /// Properties it violates, with what happened.
    violated: Vec<(String, String)>,
}

/// How a state was reached: from which, in which seat, with which of its turns.
type Came = Option<(usize, usize, usize)>;

/// How many states a search for a goal may visit before it is left undecided.
const CLOSURE: usize = 5_000;
/// How many answers a counterexample shows that lead nowhere.
const IN_VAIN: usize = 8;
/// The speaker whose number stands for the properties' own base.
const PROPERTIES: usize = usize::MAX;

pub struct Search<'a> {
    pub(super) model: &'a Model<'a>,
    /// Each conversation's speaker and name.
    pub(super) seats: Vec<(usize, Name)>,
    /// What is wrong with kb versions.
    pub(super) judgements: FxHashMap<Facts, Vec<String>>,
    begin: Instant,
    end: Instant,
    numbers: FxHashMap<Atom, u32>,
    pub(super) atoms: Vec<Atom>,
    /// Each speaker's turns, those of its goals last.
    turns: Vec<Vec<Vec<Atom>>>,
    bases: FxHashMap<(usize, Site), Base>,
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
        let name = |s: &Speaker, k: usize| if k == 1 { s.role.clone() } else { format!("{} {k}", s.role).into() };
        let seats: Vec<(usize, Name)> = model.speakers.iter().enumerate().flat_map(|(n, s)| (1..=s.sessions).map(move |k| (n, name(s, k)))).collect();
        let start = State { seats: vec![Seat::default(); seats.len()], shared: Facts::default(), handed: Facts::default(), kb: Facts::default() };
        let turns = model.speakers.iter().map(|s| with_goals(s, &model.goals)).collect();
        Self {
            model,
            seats,
            judgements: FxHashMap::default(),
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
                for seat in 0..self.seats.len() {
                    let Some((who, here)) = self.here(at, seat) else { continue };
                    for n in 0..self.model.speakers.get(who).map_or(0, |s| s.turns.len() + s.results.len()) {
                        let came = Some((at, seat, n));
                        self.report.steps += 1;
                        let Some(step) = self.step(&(who, here.clone(), n), came)? else { continue };
                        for (property, detail) in &step.violated {
                            self.violated(property, detail, came);
                        }
                        let Some(to) = self.after(at, seat, &step, came)? else { continue };
                        if known.insert(to.clone()) {
                            next.push(self.states.len());
                            self.states.push((to, came));
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

    /// Where somebody in a seat speaks from; conversations of one role that nobody began are alike, so the first of them is begun.
    fn here(&mut self, at: usize, seat: usize) -> Option<(usize, Here)> {
        let state = self.states.get(at)?.0.clone();
        let who = self.seats.get(seat)?.0;
        let mut before = self.seats.iter().zip(&state.seats).take(seat).filter(|((w, _), _)| *w == who);
        if before.any(|(_, s)| s.is_free()) {
            return None;
        }
        let collected = self.collected(&state, seat);
        let session = state.seats.get(seat)?.facts.clone();
        Some((who, Here { session, site: Site { shared: state.shared, kb: state.kb }, collected }))
    }

    /// The state after a step.
    fn after(&mut self, at: usize, seat: usize, step: &Step, came: Came) -> Result<Option<State>, ReasonError> {
        let Some(mut to) = self.states.get(at).map(|(s, _)| s.clone()) else { return Ok(None) };
        to.shared = step.shared.clone();
        if let Some(s) = to.seats.get_mut(seat) {
            s.facts = step.session.clone();
        }
        if !step.changes.is_empty() {
            self.collect(&mut to, seat, &step.changes);
        }
        if step.ended {
            for detail in self.hand_over(&mut to, seat)? {
                self.violated("version", &detail, came);
            }
        }
        Ok(Some(to))
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

    pub(super) fn number(&mut self, a: &Atom) -> u32 {
        if let Some(n) = self.numbers.get(a) {
            return *n;
        }
        let n = u32::try_from(self.atoms.len()).unwrap_or(u32::MAX);
        self.numbers.insert(a.clone(), n);
        self.atoms.push(a.clone());
        n
    }

    /// Facts by their numbers.
    pub(super) fn facts_of(&mut self, atoms: &[Atom]) -> Facts {
        atoms.iter().map(|a| self.number(a)).collect::<BTreeSet<u32>>().into_iter().collect()
    }

    pub(super) fn atoms_of<'s>(&'s self, facts: &'s [u32]) -> impl Iterator<Item = &'s Atom> {
        facts.iter().filter_map(|n| self.atoms.get(*n as usize))
    }

    fn base(&mut self, who: usize, site: &Site) -> Result<Base, ReasonError> {
        let key = (who, site.clone());
        if let Some(b) = self.bases.get(&key) {
            return Ok(b.clone());
        }
        let base = if who == PROPERTIES { self.model.properties.as_ref() } else { self.model.speakers.get(who).map(|s| &s.base) };
        let base = base.ok_or(ReasonError::NoModel)?;
        let base = match (site.shared.is_empty(), site.kb.is_empty()) {
            (true, true) => base.clone(),
            (true, false) => self.on_kb(base, &site.kb)?,
            // Another kb is built once, what is shared comes on top.
            (false, _) => {
                let shared: Vec<Atom> = self.atoms_of(&site.shared).cloned().collect();
                self.base(who, &Site { shared: Facts::default(), kb: site.kb.clone() })?.with_change(&shared, &[])?
            }
        };
        self.bases.insert(key, base.clone());
        Ok(base)
    }

    /// Takes one turn and checks it, unless that was done before; `None` where no decision was made.
    fn step(&mut self, situation: &Situation, came: Came) -> Result<Option<Arc<Step>>, ReasonError> {
        if let Some(known) = self.steps.get(situation) {
            return Ok(known.clone());
        }
        let (who, here, n) = situation;
        let model = self.model;
        let (Some(speaker), Some(turn)) = (model.speakers.get(*who), self.turns.get(*who).and_then(|t| t.get(*n)).cloned()) else { return Ok(None) };
        let base = self.base(*who, &here.site)?;
        let Some((session, said)) = self.round(&here.session, turn) else {
            self.steps.insert(situation.clone(), None);
            return Ok(None);
        };
        let session = &session;
        let mut facts: Vec<Atom> = self.atoms_of(session).chain(self.atoms_of(&here.collected)).cloned().collect();
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
        let (mut step, ended) = self.apply(speaker, session, &here.site.shared, &out);
        step.session = self.under_way(&step.session, &said, &out);
        self.shown.extend(out.shown().iter().filter(|a| model.somewhere.contains(a)).cloned());
        step.violated.extend(self.properties((session, &here.site), &step, &facts, &out, &ended)?);
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
        let mut changes = BTreeSet::new();
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
            if &**scope == "kb" {
                // What comes and goes at once comes.
                if &**op == "add" || !out.shown().contains(&Atom::new("effect", vec![Term::constant("add"), Term::constant("kb"), fact.to_term()])) {
                    changes.insert(self.number(&change(&**op == "add", &fact)));
                }
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
        let reached = self.model.goals.iter().map(|g| g.role == speaker.role && g.reached.iter().any(|r| out.shown().binary_search(r).is_ok())).collect();
        (
            Step {
                session: own.into_iter().collect(),
                shared: all.into_iter().collect(),
                changes: changes.into_iter().collect(),
                ended: ended.is_some(),
                reached,
                violated,
            },
            ended,
        )
    }

    fn properties(
        &mut self,
        before: (&Facts, &Site),
        step: &Step,
        facts: &[Atom],
        out: &Outcome,
        ended: &Option<Term>,
    ) -> Result<Vec<(String, String)>, ReasonError> {
        if self.model.properties.is_none() {
            return Ok(vec![]);
        }
        let base = self.base(PROPERTIES, &Site { shared: step.shared.clone(), kb: before.1.kb.clone() })?;
        let rules = base.rules();
        let takes = |a: &Atom| rules.moving.contains(&(a.name.clone(), a.args.len()));
        let status = ended.clone().unwrap_or_else(|| Term::constant("open"));
        let mut seen: Vec<Atom> = facts.iter().filter(|a| matches!(&*a.name, "in" | "role" | "heard")).cloned().collect();
        seen.push(Atom::new("view", vec![Term::constant("status"), status]));
        seen.extend(self.atoms_of(&step.session).cloned());
        seen.extend(self.atoms_of(before.0).chain(self.atoms_of(&before.1.shared)).map(|f| Atom::new("before", vec![f.to_term()])));
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
        while let Some((at, seat, n)) = came {
            out.extend(self.said(seat, n));
            came = self.states.get(at).and_then(|(_, c)| *c);
        }
        out.reverse();
        out
    }

    fn said(&self, seat: usize, n: usize) -> Option<(String, Vec<Atom>)> {
        let (who, name) = self.seats.get(seat)?;
        Some((name.to_string(), self.turns.get(*who)?.get(n)?.clone()))
    }

    /// From every visited state that has a goal's fact, the goal must be reachable by its own turns.
    fn goals(&mut self) -> Result<(), ReasonError> {
        let model = self.model;
        for (g, goal) in model.goals.iter().enumerate() {
            let Some(who) = model.speakers.iter().position(|s| s.role == goal.role) else { continue };
            // What calls give comes whoever works towards the goal.
            let results = model.speakers.get(who).map_or(0..0, |s| s.turns.len()..s.turns.len() + s.results.len());
            let by: Vec<usize> = goal.by.iter().filter_map(|t| self.turns.get(who)?.iter().position(|u| u == t)).chain(results).collect();
            let Some(seat) = self.seats.iter().position(|(w, _)| *w == who) else { continue };
            let mut good: FxHashSet<Here> = FxHashSet::default();
            for n in 0..self.states.len() {
                let (Some((_, here)), Some((_, came))) = (self.here(n, seat), self.states.get(n).cloned()) else { continue };
                if !self.atoms_of(&here.session).any(|a| a.name == goal.from.0 && a.args.len() == goal.from.1) {
                    continue;
                }
                match self.reach(g, goal, who, &by, here, &mut good)? {
                    Reach::Yes => {}
                    Reach::Unknown => {
                        self.report.undecided.push(goal.name.clone());
                        break;
                    }
                    Reach::No(in_vain) => {
                        let mut turns = self.trace(came);
                        turns.extend(in_vain.into_iter().filter_map(|n| self.said(seat, n)));
                        let within = goal.within.map_or_else(String::new, |n| format!(" within {n} turns"));
                        let goals: Vec<String> = goal.reached.iter().map(ToString::to_string).collect();
                        let detail = format!("{} cannot be reached{within}, whatever of the listed turns is said", goals.join(" or "));
                        let violation = Violation { property: goal.name.clone(), detail, turns, wanted: goal.reached.first().cloned() };
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
    fn reach(&mut self, g: usize, goal: &Goal, who: usize, by: &[usize], start: Here, good: &mut FxHashSet<Here>) -> Result<Reach, ReasonError> {
        let deep = self.walk(g, goal, who, by, start.clone(), good, false)?;
        if goal.within.is_some() && matches!(deep, Reach::No(_)) { self.walk(g, goal, who, by, start, good, true) } else { Ok(deep) }
    }

    fn walk(&mut self, g: usize, goal: &Goal, who: usize, by: &[usize], start: Here, good: &mut FxHashSet<Here>, broad: bool) -> Result<Reach, ReasonError> {
        let mut visited: Vec<(Here, Option<usize>, usize, usize)> = vec![(start.clone(), None, 0, 0)];
        let mut seen: FxHashSet<Here> = [start].into_iter().collect();
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
                let Some(step) = self.step(&(who, here.clone(), *n), None)? else { continue };
                if step.reached.get(g) == Some(&true) {
                    // With a limit on turns nothing is known of the states on the way.
                    self.mark(&visited, if goal.within.is_some() { 0 } else { at }, good);
                    return Ok(Reach::Yes);
                }
                let site = Site { shared: step.shared.clone(), kb: here.site.kb.clone() };
                let to = Here { session: step.session.clone(), site, collected: here.collected.clone() };
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
    fn mark(&self, visited: &[(Here, Option<usize>, usize, usize)], mut at: usize, good: &mut FxHashSet<Here>) {
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
