//! How much one sender may ask for: tokens that come back with time, and how much of one conversation may be under way.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// How many senders are remembered; who has been silent long enough is forgotten first.
const REMEMBERED: usize = 50_000;

/// How often something may be done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// In the long run, a second.
    pub per_second: f64,
    /// At once.
    pub burst: f64,
}

#[derive(Clone, Copy)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Bucket {
    fn filled(self, rate: Rate, now: Instant) -> f64 {
        (self.left + now.saturating_duration_since(self.at).as_secs_f64() * rate.per_second).min(rate.burst)
    }
}

/// What senders have left.
#[derive(Default)]
pub struct Limits {
    buckets: Mutex<HashMap<String, Bucket>>,
}

impl Limits {
    /// Takes one; if nothing is left, in how many seconds there will be.
    pub fn take(&self, sender: &str, rate: Rate, now: Instant) -> Result<(), u64> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= REMEMBERED {
            buckets.retain(|_, b| b.filled(rate, now) < rate.burst);
            if buckets.len() >= REMEMBERED {
                return Err(1);
            }
        }
        let bucket = buckets.entry(sender.to_owned()).or_insert(Bucket { left: rate.burst, at: now });
        let left = bucket.filled(rate, now);
        *bucket = Bucket { left: if left < 1.0 { left } else { left - 1.0 }, at: now };
        if left >= 1.0 {
            return Ok(());
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few seconds, upwards of nothing")]
        let seconds = ((1.0 - left) / rate.per_second.max(0.001)).ceil().clamp(1.0, 3600.0) as u64;
        Err(seconds)
    }
}

/// How many turns of each conversation are under way.
#[derive(Clone, Default)]
pub struct UnderWay {
    counts: Arc<Mutex<HashMap<String, usize>>>,
}

/// One turn under way.
pub struct Underway {
    of: UnderWay,
    session: String,
}

impl UnderWay {
    /// One more, unless there are as many as may be.
    pub fn enter(&self, session: &str, most: usize) -> Option<Underway> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(session.to_owned()).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        Some(Underway { of: self.clone(), session: session.to_owned() })
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        let mut counts = self.of.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Entry::Occupied(mut count) = counts.entry(std::mem::take(&mut self.session)) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_was_taken_comes_back_with_time_and_each_sender_has_its_own() {
        let (limits, now, rate) = (Limits::default(), Instant::now(), Rate { per_second: 0.5, burst: 2.0 });
        assert_eq!([(); 3].map(|()| limits.take("a", rate, now)), [Ok(()), Ok(()), Err(2)]);
        assert_eq!(limits.take("b", rate, now), Ok(()));
        let later = now.checked_add(Duration::from_secs(2)).unwrap();
        assert_eq!([(); 2].map(|()| limits.take("a", rate, later)), [Ok(()), Err(2)]);
    }

    #[test]
    fn what_ends_makes_room() {
        let all = UnderWay::default();
        let first = all.enter("s", 1);
        assert!(first.is_some() && all.enter("s", 1).is_none() && all.enter("t", 1).is_some());
        drop(first);
        assert!(all.enter("s", 1).is_some());
    }
}
