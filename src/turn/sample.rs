//! Sampled confirmation: of decisions that the evaluator takes alone, clingo confirms every n-th after the reply.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::Options;
use crate::reason::{self, Base, ReasonError, Reasoner};
use crate::term::Atom;

/// How many decisions may wait for their confirmation; beyond that a sample is left out rather than kept in memory.
const WAITING: usize = 32;

/// What became of the sampled decisions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sampled {
    /// Decisions that were confirmed.
    pub confirmed: u64,
    /// Decisions on which the engines differ; each left a reproducer.
    pub differed: u64,
    /// Decisions that clingo could not confirm within its budget, or that were left out because too many waited.
    pub left_out: u64,
}

#[derive(Debug, Default)]
struct Counts {
    confirmed: AtomicU64,
    differed: AtomicU64,
    left_out: AtomicU64,
    doubtful: AtomicBool,
}

/// A decision to be confirmed.
struct Sample {
    base: Base,
    facts: Vec<Atom>,
    options: Options,
}

/// Takes samples and confirms them on a thread of its own, which is started by the first one.
#[derive(Default)]
pub struct Sampler {
    taken: AtomicU64,
    counts: Arc<Counts>,
    worker: Mutex<Option<(SyncSender<Sample>, JoinHandle<()>)>>,
}

impl Sampler {
    /// Considers a decision that was taken by the evaluator alone.
    pub fn offer(&self, options: &Options, base: &Base, facts: &[Atom]) {
        if options.reasoner != Reasoner::Fast || options.sample == 0 || !self.taken.fetch_add(1, Ordering::Relaxed).is_multiple_of(options.sample) {
            return;
        }
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        let (sender, _) = worker.get_or_insert_with(|| {
            let (sender, receiver) = sync_channel(WAITING);
            let counts = self.counts.clone();
            (sender, std::thread::spawn(move || confirm_all(&receiver, &counts)))
        });
        let sample = Sample { base: base.clone(), facts: facts.to_vec(), options: options.clone() };
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = sender.try_send(sample) {
            self.counts.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether a sample has shown a difference.
    pub fn doubtful(&self) -> bool {
        self.counts.doubtful.load(Ordering::Relaxed)
    }

    /// What became of the samples so far.
    pub fn sampled(&self) -> Sampled {
        let read = |n: &AtomicU64| n.load(Ordering::Relaxed);
        Sampled { confirmed: read(&self.counts.confirmed), differed: read(&self.counts.differed), left_out: read(&self.counts.left_out) }
    }

    /// Waits until all samples taken so far are confirmed.
    pub fn settle(&self) {
        let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((sender, thread)) = worker {
            drop(sender);
            let _ = thread.join();
        }
    }
}

fn confirm_all(samples: &Receiver<Sample>, counts: &Counts) {
    for s in samples {
        match reason::decide(&s.base, &s.facts, Reasoner::Confirm, &s.options.budget) {
            Ok(_) => counts.confirmed.fetch_add(1, Ordering::Relaxed),
            Err(e @ (ReasonError::Disagreement { .. } | ReasonError::TwoModels { .. } | ReasonError::NoModel)) => {
                counts.doubtful.store(true, Ordering::Relaxed);
                keep_reproducer(&s.options, &e);
                tracing::error!("a sampled decision is not confirmed ({e}); from now on clingo confirms every decision before it is committed");
                counts.differed.fetch_add(1, Ordering::Relaxed)
            }
            Err(e) => {
                tracing::warn!("a sampled decision could not be confirmed: {e}");
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
