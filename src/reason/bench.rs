//! Measures decisions: engines and cases interleaved in one run, medians and tails.

use std::hint::black_box;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::slice::whole;
use super::{Base, Budget, ReasonError, Reasoner, decide};
use crate::term::{Atom, Term};

/// A decision to measure.
#[derive(Clone, Debug)]
pub struct Case {
    /// What it is called in the report.
    pub name: String,
    /// How many facts the knowledge base has.
    pub kb_facts: usize,
    /// The site's facts and rules.
    pub base: Base,
    /// The facts of session and turn.
    pub facts: Vec<Atom>,
}

/// Who decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// The evaluator.
    Fast,
    /// The evaluator, confirmed by clingo on the slice.
    Confirm,
    /// clingo on the slice.
    Clingo,
    /// A fresh clingo on all rules and all facts: the baseline.
    Whole,
    /// The evaluator, and the proofs of everything shown.
    Proofs,
}

/// Times of one case by one engine, in microseconds.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The case.
    pub case: String,
    /// Facts of the knowledge base.
    pub kb_facts: usize,
    /// Facts of session and turn.
    pub turn_facts: usize,
    /// Who decided.
    pub engine: Engine,
    /// How often it was measured.
    pub n: usize,
    /// The median.
    pub p50_us: f64,
    /// 99 % took at most this.
    pub p99_us: f64,
    /// Bytes that the outcome holds.
    pub outcome_bytes: usize,
}

/// The facts of session and turn for a turn that follows others: the effects of the earlier ones on the session are applied.
pub fn after_turns(base: &Base, role: &str, turns: &[Vec<Atom>]) -> Result<(Base, Vec<Atom>), ReasonError> {
    let mut base = base.clone();
    let mut session: Vec<Atom> = Vec::new();
    let Some((last, before)) = turns.split_last() else { return Ok((base, session)) };
    for turn in before {
        let out = decide(&base, &input(role, turn, &session), Reasoner::Fast, &Budget::default())?;
        let (mut add, mut del) = (Vec::new(), Vec::new());
        for a in out.shown() {
            if let ("effect", [op, scope, fact]) = (&*a.name, a.args.as_slice())
                && let Some(fact) = fact.to_atom()
            {
                match (op.as_name(), scope.as_name()) {
                    (Some("add"), Some("session")) => session.push(fact),
                    (Some("del"), Some("session")) => session.retain(|f| *f != fact),
                    (Some("add"), Some("shared")) => add.push(fact),
                    (Some("del"), Some("shared")) => del.push(fact),
                    _ => {}
                }
            }
        }
        session.sort();
        session.dedup();
        base = base.with_change(&add, &del)?;
    }
    let mut facts = input(role, last, &session);
    facts.sort();
    Ok((base, facts))
}

fn input(role: &str, turn: &[Atom], session: &[Atom]) -> Vec<Atom> {
    let mut facts = session.to_vec();
    facts.push(Atom::new("role", vec![Term::constant(role)]));
    facts.extend((1..).zip(turn).map(|(k, a)| Atom::new("in", vec![Term::Int(k), a.to_term()])));
    facts
}

/// Facts made into at least `wanted`: copies of all of them in which every string has a number added.
pub fn scaled(facts: &[Atom], wanted: usize) -> Vec<Atom> {
    fn renamed(t: &Term, n: usize) -> Term {
        match t {
            Term::Str(s) => Term::string(&format!("{s} {n}")),
            Term::Fun(f, args) => Term::Fun(f.clone(), args.iter().map(|a| renamed(a, n)).collect()),
            t => t.clone(),
        }
    }
    let mut out = facts.to_vec();
    let mut copy = 2;
    while out.len() < wanted && !facts.is_empty() {
        out.extend(facts.iter().take(wanted - out.len()).map(|a| Atom { name: a.name.clone(), args: a.args.iter().map(|t| renamed(t, copy)).collect() }));
        copy += 1;
    }
    out
}

/// Measures all cases by all engines, one round after the other so that all see the same machine.
pub fn run(cases: &[Case], engines: &[Engine], rounds: usize) -> Result<Vec<Row>, ReasonError> {
    let budget = Budget { solve: Duration::from_secs(60), ..Budget::default() };
    let mut times: Vec<Vec<u64>> = vec![Vec::new(); cases.len() * engines.len()];
    let mut bytes = vec![0; cases.len()];
    // The first round warms caches and is not counted.
    for round in 0..=rounds {
        for (c, case) in cases.iter().enumerate() {
            for (e, engine) in engines.iter().enumerate() {
                let repeat = if round == 0 { 1 } else { repeats(*engine, case.kb_facts, round) };
                for _ in 0..repeat {
                    let (took, held) = once(case, *engine, &budget)?;
                    if let Some(b) = bytes.get_mut(c) {
                        *b = held.max(*b);
                    }
                    if round > 0
                        && let Some(t) = times.get_mut(c * engines.len() + e)
                    {
                        t.push(took);
                    }
                }
            }
        }
    }
    let mut rows = Vec::new();
    for (c, case) in cases.iter().enumerate() {
        for (e, engine) in engines.iter().enumerate() {
            let Some(t) = times.get_mut(c * engines.len() + e).filter(|t| !t.is_empty()) else { continue };
            t.sort_unstable();
            let at = |q: usize| t.get(((t.len() - 1) * q).div_ceil(100)).copied().unwrap_or(0);
            rows.push(Row {
                case: case.name.clone(),
                kb_facts: case.kb_facts,
                turn_facts: case.facts.len(),
                engine: *engine,
                n: t.len(),
                p50_us: micros(at(50)),
                p99_us: micros(at(99)),
                outcome_bytes: bytes.get(c).copied().unwrap_or(0),
            });
        }
    }
    Ok(rows)
}

/// Fast engines are measured more often in a round; the baseline on a large menu only in some rounds.
fn repeats(engine: Engine, kb_facts: usize, round: usize) -> usize {
    match engine {
        Engine::Fast | Engine::Proofs => 20,
        Engine::Confirm | Engine::Clingo => 2,
        Engine::Whole if kb_facts > 5_000 => usize::from(round % 10 == 1),
        Engine::Whole => 1,
    }
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds of a measurement are far below 2^52")]
fn micros(nanos: u64) -> f64 {
    (nanos as f64 / 100.0).round() / 10.0
}

fn once(case: &Case, engine: Engine, budget: &Budget) -> Result<(u64, usize), ReasonError> {
    let how = match engine {
        Engine::Fast | Engine::Proofs => Reasoner::Fast,
        Engine::Confirm => Reasoner::Confirm,
        Engine::Clingo => Reasoner::Clingo,
        Engine::Whole => {
            let start = Instant::now();
            let text = whole(&case.base, &case.facts).text();
            super::clingo::solve(&text, &[], 2, None).map_err(|e| ReasonError::Clingo(e.to_string()))?;
            return Ok((nanos(start), 0));
        }
    };
    let start = Instant::now();
    let out = decide(&case.base, black_box(&case.facts), how, budget)?;
    black_box(out.shown());
    if engine == Engine::Proofs {
        let start = Instant::now();
        black_box(out.why_all());
        return Ok((nanos(start), out.bytes()));
    }
    let took = nanos(start);
    Ok((took, out.bytes()))
}

fn nanos(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
