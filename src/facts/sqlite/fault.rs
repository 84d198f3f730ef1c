//! Faults on purpose: makes one chosen write step of the store fail, for the tests that prove a turn is whole or absent.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::facts::{Result, StoreError};

/// Counts the write steps (begin, every statement, commit, and the moment after commit) and fails at a chosen one.
#[derive(Debug, Default)]
pub struct Fault {
    steps: AtomicU64,
    fail_at: AtomicU64,
    abort: bool,
}

impl Fault {
    /// Fails with an error.
    pub fn failing() -> Self {
        Self::default()
    }

    /// Ends the process without any clean-up, as `kill -9` would.
    pub fn aborting() -> Self {
        Self { abort: true, ..Self::default() }
    }

    /// Starts counting afresh and fails at this step, from 1; 0 never fails.
    pub fn arm(&self, step: u64) {
        self.steps.store(0, Ordering::SeqCst);
        self.fail_at.store(step, Ordering::SeqCst);
    }

    /// Steps since the last [`Fault::arm`].
    pub fn steps(&self) -> u64 {
        self.steps.load(Ordering::SeqCst)
    }

    /// One write step.
    pub fn hit(&self) -> Result<()> {
        let step = self.steps.fetch_add(1, Ordering::SeqCst) + 1;
        if step != self.fail_at.load(Ordering::SeqCst) {
            return Ok(());
        }
        if self.abort {
            std::process::abort();
        }
        Err(StoreError::Io { file: "injected".into(), detail: format!("fault at write step {step}") })
    }
}
