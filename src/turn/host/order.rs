//! Each session's turns in order: whoever speaks into a session whose turn is under way waits for its end, in the order of speaking.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use tokio::sync::oneshot;

use crate::facts::SessionKey;
use crate::turn::options::Deadline;
use crate::wait::in_time;

/// The turns under way and those that wait, by session.
#[derive(Default)]
pub struct Order {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    last: u64,
    queues: BTreeMap<SessionKey, VecDeque<Waiting>>,
}

/// A turn in its session's queue; the first one is under way.
struct Waiting {
    number: u64,
    due: Option<oneshot::Sender<()>>,
}

/// A turn that is due; its end lets the next one in.
pub struct Due<'a> {
    order: &'a Order,
    key: SessionKey,
    number: u64,
}

impl Order {
    /// Waits until it is this turn's time; `None` if that takes longer than the turn may.
    pub async fn enter(&self, key: &SessionKey, until: Deadline) -> Option<Due<'_>> {
        let (tell, told) = oneshot::channel();
        // Made before the wait, so that a turn that gives up leaves the queue as one that ended does.
        let (due, first) = {
            let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            inner.last += 1;
            let number = inner.last;
            let queue = inner.queues.entry(key.clone()).or_default();
            let first = queue.is_empty();
            queue.push_back(Waiting { number, due: (!first).then_some(tell) });
            (Due { order: self, key: key.clone(), number }, first)
        };
        if first {
            return Some(due);
        }
        match in_time(until.0, told).await {
            Some(Ok(())) => Some(due),
            _ => None,
        }
    }
}

impl Drop for Due<'_> {
    fn drop(&mut self) {
        let mut inner = self.order.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(queue) = inner.queues.get_mut(&self.key) else { return };
        queue.retain(|w| w.number != self.number);
        match queue.front_mut() {
            // Who gave up meanwhile leaves the queue itself, and lets the next one in then.
            Some(next) => drop(next.due.take().map(|due| due.send(()))),
            None => drop(inner.queues.remove(&self.key)),
        }
    }
}
