//! Each session's turns in order: whoever speaks into a session whose turn is under way waits for its end, in the order of speaking.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, PoisonError};

use crate::facts::SessionKey;
use crate::turn::options::Deadline;

/// The turns under way and those that wait, by session.
#[derive(Default)]
pub struct Order {
    inner: Mutex<Inner>,
    moved: Condvar,
}

#[derive(Default)]
struct Inner {
    last: u64,
    queues: BTreeMap<SessionKey, VecDeque<u64>>,
}

/// A turn that is due; its end lets the next one in.
pub struct Due<'a> {
    order: &'a Order,
    key: SessionKey,
    number: u64,
}

impl Order {
    /// Waits until it is this turn's time; `None` if that takes longer than the turn may.
    pub fn enter(&self, key: &SessionKey, until: Deadline) -> Option<Due<'_>> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.last += 1;
        let number = inner.last;
        inner.queues.entry(key.clone()).or_default().push_back(number);
        // Made before the wait, so that a turn that gives up leaves the queue as one that ended does.
        let due = Due { order: self, key: key.clone(), number };
        while inner.queues.get(key).and_then(|q| q.front()) != Some(&number) {
            let left = until.left();
            if left.is_zero() {
                drop(inner);
                return None;
            }
            inner = self.moved.wait_timeout(inner, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(inner);
        Some(due)
    }
}

impl Drop for Due<'_> {
    fn drop(&mut self) {
        let mut inner = self.order.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = inner.queues.get_mut(&self.key) {
            queue.retain(|n| *n != self.number);
            if queue.is_empty() {
                inner.queues.remove(&self.key);
            }
        }
        drop(inner);
        self.order.moved.notify_all();
    }
}
