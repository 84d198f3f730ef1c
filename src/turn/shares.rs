//! Where the time of turns goes: what passes between the opening and the closing of the spans that the engine opens around each part of a turn.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::pin;
use std::time::{Duration, Instant};

use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Dispatch, Event, Metadata, Subscriber, dispatcher};

/// Listens to the engine's spans on every thread that it is set for; what else happens goes on to whoever listened before.
#[derive(Debug)]
pub struct Shares {
    onward: Dispatch,
}

/// A part of a turn: a span that was opened and closed.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Which part.
    pub name: &'static str,
    /// When it began.
    pub began: Instant,
    /// How long it took.
    pub took: Duration,
    /// How much of that went by in parts inside it.
    inside: Duration,
}

/// What was spent in each part, without the parts inside it.
pub fn summed(parts: &[Part]) -> BTreeMap<&'static str, Duration> {
    let mut sums = BTreeMap::new();
    for part in parts {
        *sums.entry(part.name).or_default() += part.took.saturating_sub(part.inside);
    }
    sums
}

#[derive(Debug, Default)]
struct Inner {
    open: Vec<Part>,
    closed: Vec<Part>,
}

thread_local! {
    static INNER: RefCell<Inner> = RefCell::default();
}

impl Shares {
    /// Beside who listens on this thread now.
    pub fn beside() -> Self {
        Self { onward: dispatcher::get_default(Clone::clone) }
    }

    /// What was spent in each part on this thread since it was last asked, without the parts inside it.
    pub fn taken() -> BTreeMap<&'static str, Duration> {
        summed(&INNER.take().closed)
    }

    /// What comes of something that may be polled on many threads, with its parts in the order in which they ended; what is waited for counts.
    pub async fn of<T>(shares: &Dispatch, turn: impl Future<Output = T>) -> (T, Vec<Part>) {
        let (mut turn, mut inner) = (pin!(turn), Inner::default());
        let out = poll_fn(|cx| {
            INNER.set(std::mem::take(&mut inner));
            let polled = dispatcher::with_default(shares, || turn.as_mut().poll(cx));
            inner = INNER.take();
            polled
        });
        let out = out.await;
        (out, inner.closed)
    }

    fn is_own(of: &Metadata<'_>) -> bool {
        of.is_span() && of.target().starts_with("duologue::turn")
    }
}

impl Subscriber for Shares {
    fn register_callsite(&self, of: &'static Metadata<'static>) -> Interest {
        if Self::is_own(of) { Interest::always() } else { Interest::sometimes() }
    }

    fn enabled(&self, of: &Metadata<'_>) -> bool {
        Self::is_own(of) || of.is_event() && self.onward.enabled(of)
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        INNER.with_borrow_mut(|inner| {
            inner.open.push(Part { name: span.metadata().name(), began: Instant::now(), took: Duration::ZERO, inside: Duration::ZERO });
            Id::from_u64(inner.open.len() as u64)
        })
    }

    fn try_close(&self, _: Id) -> bool {
        INNER.with_borrow_mut(|inner| {
            // A turn that was given up closes its spans where nobody counts.
            let Some(part) = inner.open.pop() else { return };
            let took = part.began.elapsed();
            if let Some(outer) = inner.open.last_mut() {
                outer.inside += took;
            }
            inner.closed.push(Part { took, ..part });
        });
        true
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.onward.event(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_inside_counts_once() {
        tracing::subscriber::with_default(Shares::beside(), || {
            let span = |name| match name {
                "outer" => tracing::debug_span!(target: "duologue::turn", "outer"),
                _ => tracing::debug_span!(target: "duologue::turn", "inner"),
            };
            span("outer").in_scope(|| span("inner").in_scope(|| std::thread::sleep(Duration::from_millis(20))));
            tracing::debug_span!(target: "elsewhere", "other").in_scope(|| ());
        });
        let spent = Shares::taken();
        assert_eq!(spent.keys().copied().collect::<Vec<_>>(), ["inner", "outer"]);
        assert!(spent["inner"] >= Duration::from_millis(20) && spent["outer"] < spent["inner"], "{spent:?}");
        assert_eq!(Shares::taken(), BTreeMap::new());
    }
}
