//! Audits: clingo is asked, on a thread of its own, whether it agrees with a decision that was committed.
//!
//! Of decisions that the checker accepted, all are audited while there is time, and at least one in N when more come than clingo
//! manages; of decisions that the evaluator takes alone, every N-th. After a difference clingo is asked before each commit.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::Options;
use crate::reason::{self, Base, ReasonError, Reasoner};
use crate::term::Atom;

/// How many decisions may wait for their audit; they are kept in memory.
const WAITING: usize = 32;

/// What became of the audits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Audited {
    /// Decisions that clingo agrees with.
    pub confirmed: u64,
    /// Decisions that it does not; each left a reproducer.
    pub differed: u64,
    /// Decisions that it could not tell of within its budget, or that were left out because too many waited.
    pub left_out: u64,
}

#[derive(Debug, Default)]
struct Counts {
    confirmed: AtomicU64,
    differed: AtomicU64,
    left_out: AtomicU64,
    doubtful: AtomicBool,
}

/// A decision to be audited.
struct Case {
    base: Base,
    facts: Vec<Atom>,
    shown: Vec<Atom>,
    options: Options,
}

/// Audits decisions on a thread of its own, which the first one starts and which has ended when this is dropped: clingo must not be
/// at work while its tables are taken down at the end of the process.
#[derive(Default)]
pub struct Auditor {
    taken: AtomicU64,
    /// How many were left out since the last one that was not.
    passed: AtomicU64,
    counts: Arc<Counts>,
    worker: Mutex<Option<(SyncSender<Case>, JoinHandle<()>)>>,
}

impl Auditor {
    /// Considers a decision that was committed without clingo.
    pub fn offer(&self, options: &Options, base: &Base, facts: Vec<Atom>, shown: &[Atom]) {
        let wanted = match options.reasoner {
            Reasoner::Clingo => false,
            Reasoner::Confirm => options.audit > 0,
            Reasoner::Fast => options.audit > 0 && self.taken.fetch_add(1, Ordering::Relaxed).is_multiple_of(options.audit),
        };
        if !wanted || self.doubtful() {
            return;
        }
        let sender = {
            let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
            let (sender, _) = worker.get_or_insert_with(|| {
                let (sender, receiver) = sync_channel(WAITING);
                let counts = self.counts.clone();
                (sender, std::thread::spawn(move || audit_all(&receiver, &counts)))
            });
            sender.clone()
        };
        let case = Case { base: base.clone(), facts, shown: shown.to_vec(), options: options.clone() };
        match sender.try_send(case) {
            Ok(()) => self.passed.store(0, Ordering::Relaxed),
            // One in N is waited for; the thread that takes cases only ends when no sender is left.
            Err(TrySendError::Full(case)) if options.reasoner == Reasoner::Confirm && self.passed.fetch_add(1, Ordering::Relaxed) + 1 >= options.audit => {
                self.passed.store(0, Ordering::Relaxed);
                let _ = sender.send(case);
            }
            Err(_) => {
                self.counts.left_out.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Whether an audit has shown a difference.
    pub fn doubtful(&self) -> bool {
        self.counts.doubtful.load(Ordering::Relaxed)
    }

    /// What became of the audits so far.
    pub fn audited(&self) -> Audited {
        let read = |n: &AtomicU64| n.load(Ordering::Relaxed);
        Audited { confirmed: read(&self.counts.confirmed), differed: read(&self.counts.differed), left_out: read(&self.counts.left_out) }
    }

    /// Waits until all decisions offered so far are audited.
    pub fn settle(&self) {
        let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((sender, thread)) = worker {
            drop(sender);
            let _ = thread.join();
        }
    }
}

impl Drop for Auditor {
    fn drop(&mut self) {
        self.settle();
    }
}

fn audit_all(cases: &Receiver<Case>, counts: &Counts) {
    for c in cases {
        match reason::audit(&c.base, &c.facts, &c.shown, &c.options.budget) {
            Ok(()) => counts.confirmed.fetch_add(1, Ordering::Relaxed),
            Err(e @ (ReasonError::Disagreement { .. } | ReasonError::TwoModels { .. } | ReasonError::NoModel)) => {
                counts.doubtful.store(true, Ordering::Relaxed);
                keep_reproducer(&c.options, &e);
                tracing::error!("clingo does not agree with a decision ({e}); from now on it is asked before every commit");
                counts.differed.fetch_add(1, Ordering::Relaxed)
            }
            Err(e) => {
                tracing::warn!("a decision could not be audited: {e}");
                counts.left_out.fetch_add(1, Ordering::Relaxed)
            }
        };
    }
}

/// Engines that disagree leave a file that `duologue replay` runs; that it cannot be written changes nothing for the speaker.
pub fn keep_reproducer(options: &Options, error: &ReasonError) {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let ReasonError::Disagreement { difference, reproducer } = error else { return };
    let name = format!("duologue-disagreement-{}-{}.lp", options.clock.now(), WRITTEN.fetch_add(1, Ordering::Relaxed));
    let place = options.reproducers.clone().unwrap_or_else(std::env::temp_dir).join(name);
    match std::fs::write(&place, reproducer) {
        Ok(()) => tracing::error!("the engines disagree ({difference}); `duologue replay {}` shows it", place.display()),
        Err(e) => tracing::error!("the engines disagree ({difference}); the reproducer could not be written: {e}"),
    }
}
