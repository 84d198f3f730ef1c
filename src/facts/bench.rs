//! Measures a store under turns like those of real conversations.

use std::time::Instant;

use serde::Serialize;

use super::change::Change;
use super::{Result, SessionKey, Snapshot, Store};
use crate::ontology::Scope;
use crate::term::{Atom, Term};

/// What to measure with.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Load {
    /// Sites, each with its own kb.
    pub sites: usize,
    /// Conversations that go on at the same time, over all sites.
    pub sessions: usize,
    /// Turns to take, over all sessions.
    pub turns: usize,
    /// Facts in the kb of a site.
    pub kb_facts: usize,
    /// Bytes of each turn's record.
    pub record_bytes: usize,
}

impl Default for Load {
    fn default() -> Self {
        Self { sites: 4, sessions: 40, turns: 5000, kb_facts: 1500, record_bytes: 4000 }
    }
}

/// Turns of a conversation before it ends.
const TURNS_OF_A_SESSION: usize = 12;

/// How a store did. Times are in microseconds.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// The load.
    pub load: Load,
    /// Turns a second, one after the other.
    pub turns_per_second: f64,
    /// A whole turn: read the session, the kb and the shared facts, commit.
    pub turn: Spread,
    /// Its reading part.
    pub read: Spread,
    /// Its writing part.
    pub commit: Spread,
    /// Beginning a site with its kb.
    pub install: Spread,
    /// Finding that a site was begun with the same kb.
    pub known: Spread,
}

/// A distribution of times in microseconds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Spread {
    /// Half are faster.
    pub p50: f64,
    /// 95 of 100 are faster.
    pub p95: f64,
    /// 99 of 100 are faster.
    pub p99: f64,
    /// The slowest.
    pub max: f64,
}

impl Spread {
    fn of(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        let at = |percent: usize| times.get((times.len() * percent / 100).min(times.len().saturating_sub(1))).copied().unwrap_or_default();
        Self { p50: at(50), p95: at(95), p99: at(99), max: at(100) }
    }
}

/// Takes turns on a store and measures them. The store should be new: sites and sessions are named `bench-N`.
pub fn measure(store: &dyn Store, load: Load) -> Result<Measured> {
    let (mut install, mut known, mut reads, mut commits, mut turns) = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let kb: Vec<Atom> = (0..load.kb_facts).map(|i| Atom::new("price", vec![Term::string(&format!("Item {i}")), Term::number(i)])).collect();
    for site in 0..load.sites.max(1) {
        let begun = Instant::now();
        let _ = store.install(&format!("bench-{site}"), &kb, 0)?;
        install.push(micros(begun));
        let begun = Instant::now();
        let _ = store.install(&format!("bench-{site}"), &kb, 0)?;
        known.push(micros(begun));
    }
    let record = "x".repeat(load.record_bytes);
    let all = Instant::now();
    for i in 0..load.turns {
        let n = i % load.sessions.max(1);
        let key = SessionKey::new(&format!("bench-{}", n % load.sites.max(1)), &format!("bench-{n}"));
        let begun = Instant::now();
        let Snapshot { opened, revision, .. } = store.begin(&key, "customer", None)?;
        let kb = store.kb(&key.site, opened.kb_version)?;
        reads.push(micros(begun));
        let mut turn = opened.turn(i64::try_from(i).unwrap_or(i64::MAX));
        let k = i / load.sessions.max(1) % TURNS_OF_A_SESSION;
        let item = kb.get(i % kb.len().max(1)).and_then(|a| a.args.first()).cloned().unwrap_or(Term::Int(0));
        let fact = |name: &str, k: usize| Atom::new(name, vec![Term::number(k), item.clone()]);
        turn.changes = ["line", "mod", "asked", "said"].iter().map(|name| Change::add(Scope::Session, fact(name, k))).collect();
        turn.changes.extend(opened.facts.iter().filter(|f| &*f.atom.name == "said").map(|f| Change::del(Scope::Session, f.atom.clone())));
        turn.read = Some(revision);
        turn.ended = k + 1 == TURNS_OF_A_SESSION;
        turn.record.clone_from(&record);
        let deciding = Instant::now();
        store.commit(&turn)?;
        commits.push(micros(deciding));
        turns.push(micros(begun));
    }
    let seconds = all.elapsed().as_secs_f64().max(f64::EPSILON);
    #[expect(clippy::cast_precision_loss, reason = "a rate needs no more digits than a float has")]
    let turns_per_second = load.turns as f64 / seconds;
    let [turn, read, commit, install, known] = [turns, reads, commits, install, known].map(Spread::of);
    Ok(Measured { load, turns_per_second, turn, read, commit, install, known })
}

fn micros(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e6
}
