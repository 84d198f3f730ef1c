//! Traffic limits around an endpoint: a concurrency gate, a circuit breaker, and pauses with jitter between attempts.

use std::hash::{BuildHasher, Hasher};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout_at};

use super::config::Limits;
use super::error::{ModelError, Stage};

/// Lets so many exchanges through at once, and none while the breaker is open.
#[derive(Debug)]
pub struct Gate {
    slots: Semaphore,
    breaker: Mutex<Breaker>,
    limits: Limits,
}

#[derive(Debug, Default)]
struct Breaker {
    failures: u32,
    open_until: Option<Instant>,
    probing: bool,
}

/// A slot held for the time of one exchange; its outcome must be reported, else the exchange counts as abandoned.
#[derive(Debug)]
pub struct Pass<'a> {
    gate: &'a Gate,
    _slot: SemaphorePermit<'a>,
    reported: bool,
}

impl Gate {
    /// A gate by the given limits.
    pub fn new(limits: &Limits) -> Self {
        Self { slots: Semaphore::new(limits.concurrency.max(1)), breaker: Mutex::default(), limits: limits.clone() }
    }

    /// Waits for a slot until `deadline`; refuses at once while the breaker is open.
    pub async fn enter(&self, deadline: Instant) -> Result<Pass<'_>, ModelError> {
        self.breaker_admits()?;
        let slot = timeout_at(deadline, self.slots.acquire())
            .await
            .map_err(|_| ModelError::TimedOut { stage: Stage::Queue, limit: self.limits.total() })?
            .map_err(|_| ModelError::Unreachable("the gate is closed".into()))?;
        let mut breaker = self.lock();
        if let Some(until) = breaker.open_until {
            // The cool-down is over for at most one exchange at a time: its outcome decides for the others.
            let now = Instant::now();
            if now < until || breaker.probing {
                return Err(ModelError::CircuitOpen { retry_in: until.saturating_duration_since(now) });
            }
            breaker.probing = true;
        }
        drop(breaker);
        Ok(Pass { gate: self, _slot: slot, reported: false })
    }

    /// Whether the breaker is open.
    pub fn is_open(&self) -> bool {
        self.breaker_admits().is_err()
    }

    fn breaker_admits(&self) -> Result<(), ModelError> {
        let breaker = self.lock();
        match breaker.open_until {
            Some(until) if breaker.probing || Instant::now() < until => {
                Err(ModelError::CircuitOpen { retry_in: until.saturating_duration_since(Instant::now()) })
            }
            _ => Ok(()),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Pass<'_> {
    /// Tells the breaker how it went.
    pub fn report<T>(mut self, outcome: &Result<T, ModelError>) {
        self.reported = true;
        let mut breaker = self.gate.lock();
        breaker.probing = false;
        match outcome {
            Err(error) if error.is_server_fault() => {
                breaker.failures = breaker.failures.saturating_add(1);
                if breaker.failures >= self.gate.limits.breaker_failures.max(1) {
                    breaker.open_until = Some(Instant::now() + Duration::from_millis(self.gate.limits.breaker_ms));
                }
            }
            _ => {
                breaker.failures = 0;
                breaker.open_until = None;
            }
        }
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        // A caller that gave up (its own deadline, a closed session) says nothing about the server, but must not leave the probe taken.
        if !self.reported {
            self.gate.lock().probing = false;
        }
    }
}

/// The pause before attempt `attempt` (from 1): doubling, of which a random half is kept; at least what the server asked for.
pub fn pause(limits: &Limits, attempt: u32, asked: Option<Duration>) -> Duration {
    let full = limits.backoff_ms.saturating_mul(1u64 << attempt.saturating_sub(1).min(10));
    let half = full / 2;
    let jitter = if half == 0 { 0 } else { random() % (half + 1) };
    Duration::from_millis(half + jitter).max(asked.unwrap_or_default())
}

/// A random number for jitter only: the standard library's hasher seeds, no further dependency.
fn random() -> u64 {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut hasher = std::hash::RandomState::new().build_hasher();
    hasher.write_u64(COUNT.fetch_add(1, Ordering::Relaxed));
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        Limits { breaker_failures: 2, breaker_ms: 30, concurrency: 1, backoff_ms: 100, ..Limits::default() }
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(20)
    }

    const DOWN: Result<(), ModelError> = Err(ModelError::Empty);

    #[tokio::test]
    async fn the_breaker_opens_probes_and_closes() {
        let gate = Gate::new(&limits());
        for _ in 0..2 {
            gate.enter(soon()).await.unwrap().report(&DOWN);
        }
        assert!(matches!(gate.enter(soon()).await, Err(ModelError::CircuitOpen { .. })));
        tokio::time::sleep(Duration::from_millis(40)).await;
        let probe = gate.enter(soon()).await.unwrap();
        assert!(gate.is_open(), "one probe at a time");
        drop(probe);
        gate.enter(soon()).await.unwrap().report(&DOWN);
        assert!(gate.is_open(), "a failed probe opens it again");
        tokio::time::sleep(Duration::from_millis(40)).await;
        gate.enter(soon()).await.unwrap().report(&Ok(()));
        assert!(!gate.is_open());
    }

    #[tokio::test]
    async fn callers_mistakes_do_not_open_it() {
        let gate = Gate::new(&limits());
        for _ in 0..5 {
            gate.enter(soon()).await.unwrap().report::<()>(&Err(ModelError::Declined("no".into())));
        }
        assert!(!gate.is_open());
    }

    #[tokio::test]
    async fn a_full_house_times_out_by_name() {
        let gate = Gate::new(&limits());
        let held = gate.enter(soon()).await.unwrap();
        assert!(matches!(gate.enter(soon()).await, Err(ModelError::TimedOut { stage: Stage::Queue, .. })));
        drop(held);
        assert!(gate.enter(soon()).await.is_ok());
    }

    #[test]
    fn pauses_double_with_jitter_and_obey_the_server() {
        for attempt in 1..4 {
            let full = 100 << (attempt - 1);
            for _ in 0..50 {
                let ms = u64::try_from(pause(&limits(), attempt, None).as_millis()).unwrap();
                assert!((full / 2..=full).contains(&ms), "{attempt}: {ms}");
            }
        }
        assert_eq!(pause(&limits(), 1, Some(Duration::from_secs(9))), Duration::from_secs(9));
    }
}
