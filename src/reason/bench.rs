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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// The evaluator.
    Fast,
    /// The evaluator, accepted by the checker.
    Confirm,
    /// The checker alone, on what the evaluator found.
    Check,
    /// The evaluator, confirmed by clingo on the slice.
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
    /// The median, warm.
    pub p50_us: f64,
    /// 99 % took at most this, warm.
    pub p99_us: f64,
    /// The median of the first decision of each round, after the other engines had the caches.
    pub cold_us: f64,
    /// Bytes that the outcome holds.
    pub outcome_bytes: usize,
    /// What one decision allocates on the Rust side; only in a build with the feature `allocations`.
    #[serde(flatten)]
    pub allocated: Option<Allocated>,
}

/// What one decision allocates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Allocated {
    /// How often.
    pub allocations: u64,
    /// How many bytes in all.
    pub allocated_bytes: u64,
    /// How many bytes were held at most.
    pub peak_bytes: u64,
}

/// What a call allocates, if this build can tell.
#[cfg(feature = "allocations")]
fn allocated(call: impl FnOnce()) -> Option<Allocated> {
    let info = allocation_counter::measure(call);
    Some(Allocated { allocations: info.count_total, allocated_bytes: info.bytes_total, peak_bytes: info.bytes_max })
}

/// What a call allocates, if this build can tell.
#[cfg(not(feature = "allocations"))]
fn allocated(_: impl FnOnce()) -> Option<Allocated> {
    None
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

/// The times of one case by one engine, in nanoseconds.
#[derive(Clone, Default)]
struct Times {
    warm: Vec<u64>,
    cold: Vec<u64>,
    bytes: usize,
    allocated: Option<Allocated>,
}

/// Measures all cases by all engines, one round after the other so that all see the same machine. In each round an engine's
/// first decision finds the caches as the other engines left them, so it is counted apart.
pub fn run(cases: &[Case], engines: &[Engine], rounds: usize, progress: &mut dyn FnMut(&str)) -> Result<Vec<Row>, ReasonError> {
    let budget = Budget { solve: Duration::from_secs(60), ..Budget::default() };
    let all: Vec<(&Case, Engine)> = cases.iter().flat_map(|c| engines.iter().map(move |e| (c, *e))).collect();
    let mut times = vec![Times::default(); all.len()];
    // The first round fills what is filled once and is not counted.
    let begin = Instant::now();
    for round in 0..=rounds {
        progress(&format!("round {round} of {rounds} over {} cases, {} s", cases.len(), begin.elapsed().as_secs()));
        for ((case, engine), t) in all.iter().zip(&mut times) {
            for n in 0..repeats(*engine, case.kb_facts, round) {
                let (took, held) = once(case, *engine, &budget)?;
                t.bytes = t.bytes.max(held);
                match (round, n) {
                    (0, _) => break,
                    (_, 0) => t.cold.push(took),
                    _ => t.warm.push(took),
                }
            }
        }
    }
    for ((case, engine), t) in all.iter().zip(&mut times) {
        let mut failed = Ok(());
        t.allocated = allocated(|| failed = once(case, *engine, &budget).map(drop));
        failed?;
    }
    let row = |((case, engine), t): (&(&Case, Engine), &mut Times)| {
        // An engine too slow to be repeated in a round is as slow warm as cold.
        let warm = if t.warm.is_empty() { &mut t.cold.clone() } else { &mut t.warm };
        Row {
            case: case.name.clone(),
            kb_facts: case.kb_facts,
            turn_facts: case.facts.len(),
            engine: *engine,
            n: warm.len(),
            p50_us: micros(at(warm, 50)),
            p99_us: micros(at(warm, 99)),
            cold_us: micros(at(&mut t.cold, 50)),
            outcome_bytes: t.bytes,
            allocated: t.allocated,
        }
    };
    Ok(all.iter().zip(&mut times).map(row).collect())
}

/// The value that `percent` of all do not exceed; 0 of none.
fn at(times: &mut [u64], percent: usize) -> u64 {
    times.sort_unstable();
    times.get((times.len().saturating_sub(1) * percent).div_ceil(100)).copied().unwrap_or(0)
}

/// How often a decision is repeated when the caches are warm, for its median over all turns of dialogues.
const REPEATS: usize = 9;

/// Times of the decisions of many turns, in microseconds: of each turn its median, and over the turns these.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Turns {
    /// How many turns.
    pub turns: usize,
    /// By engine: the median, what 90 % do not exceed, and the most.
    pub engines: Vec<(Engine, f64, f64, f64)>,
}

impl Turns {
    /// What one engine takes of another's time: at the median, and where 90 % do not take more.
    pub fn ratio(&self, one: Engine, other: Engine) -> Option<(f64, f64)> {
        let of = |e: Engine| self.engines.iter().find(|(n, ..)| *n == e);
        of(one).zip(of(other)).map(|(a, b)| (a.1 / b.1, a.2 / b.2))
    }
}

/// Measures turns that were taken before: their bases and their facts.
pub fn of_turns(turns: &[Case], progress: &mut dyn FnMut(&str)) -> Result<Turns, ReasonError> {
    let engines = [Engine::Fast, Engine::Check, Engine::Confirm, Engine::Clingo, Engine::Proofs];
    let mut medians = vec![Vec::with_capacity(turns.len()); engines.len()];
    // Turn by turn, so that all engines see the same machine.
    for (n, turn) in turns.iter().enumerate() {
        if n % 20 == 0 {
            progress(&format!("turn {n} of {}", turns.len()));
        }
        for (engine, medians) in engines.iter().zip(&mut medians) {
            let repeats = if *engine == Engine::Clingo { 3 } else { REPEATS };
            let mut times = (0..repeats).map(|_| Ok(once(turn, *engine, &Budget::default())?.0)).collect::<Result<Vec<_>, ReasonError>>()?;
            medians.push(at(&mut times, 50));
        }
    }
    let row = |(engine, medians): (&Engine, &mut Vec<u64>)| (*engine, micros(at(medians, 50)), micros(at(medians, 90)), micros(at(medians, 100)));
    Ok(Turns { turns: turns.len(), engines: engines.iter().zip(&mut medians).map(row).collect() })
}

/// Fast engines are measured more often in a round; the baseline on a large menu only in some rounds.
fn repeats(engine: Engine, kb_facts: usize, round: usize) -> usize {
    match engine {
        Engine::Fast | Engine::Proofs | Engine::Check | Engine::Confirm => 21,
        // On a large menu these take as long as all others together.
        Engine::Clingo | Engine::Whole if kb_facts > 5_000 => usize::from(round <= 1),
        Engine::Clingo => 3,
        Engine::Whole => 1,
    }
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds of a measurement are far below 2^52")]
fn micros(nanos: u64) -> f64 {
    (nanos as f64 / 100.0).round() / 10.0
}

fn once(case: &Case, engine: Engine, budget: &Budget) -> Result<(u64, usize), ReasonError> {
    let how = match engine {
        Engine::Fast | Engine::Proofs | Engine::Check => Reasoner::Fast,
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
    let mut out = decide(&case.base, black_box(&case.facts), how, budget)?;
    black_box(out.shown());
    if engine == Engine::Check {
        let facts = super::reflect::reflect(case.base.rules(), &case.facts);
        let start = Instant::now();
        if !super::decide::certified(&mut out, &facts, budget)? {
            return Err(ReasonError::OverBudget { what: "look-ups of the checker", limit: budget.max_steps });
        }
        return Ok((nanos(start), out.bytes()));
    }
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
