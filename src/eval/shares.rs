//! Where the time of turns goes: the spans that the engine opens around each part of a turn, summed by name.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Listens to spans on one thread and sums what was spent in each name.
#[derive(Debug, Default)]
pub struct Shares {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    names: Vec<&'static str>,
    /// The spans entered, with what their own time excludes: that of the spans inside.
    open: Vec<(usize, Instant, Duration)>,
    spent: Vec<Duration>,
}

impl Shares {
    /// What was spent in each part, without the parts inside it.
    pub fn spent(&self) -> BTreeMap<&'static str, Duration> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.names.iter().copied().zip(inner.spent.iter().copied()).collect()
    }
}

impl Subscriber for Shares {
    fn enabled(&self, of: &Metadata<'_>) -> bool {
        of.is_span() && of.target().starts_with("duologue::turn")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let name = span.metadata().name();
        let at = inner.names.iter().position(|n| *n == name).unwrap_or_else(|| {
            inner.names.push(name);
            inner.spent.push(Duration::ZERO);
            inner.names.len() - 1
        });
        Id::from_u64(at as u64 + 1)
    }

    fn enter(&self, span: &Id) {
        let at = usize::try_from(span.into_u64() - 1).unwrap_or_default();
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).open.push((at, Instant::now(), Duration::ZERO));
    }

    fn exit(&self, _: &Id) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((at, began, inside)) = inner.open.pop() else { return };
        let whole = began.elapsed();
        if let Some(outer) = inner.open.last_mut() {
            outer.2 += whole;
        }
        if let Some(spent) = inner.spent.get_mut(at) {
            *spent += whole.saturating_sub(inside);
        }
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_inside_counts_once() {
        let shares = std::sync::Arc::new(Shares::default());
        tracing::subscriber::with_default(shares.clone(), || {
            let span = |name| match name {
                "outer" => tracing::debug_span!(target: "duologue::turn", "outer"),
                _ => tracing::debug_span!(target: "duologue::turn", "inner"),
            };
            span("outer").in_scope(|| span("inner").in_scope(|| std::thread::sleep(Duration::from_millis(20))));
            tracing::debug_span!(target: "elsewhere", "other").in_scope(|| ());
        });
        let spent = shares.spent();
        assert_eq!(spent.keys().copied().collect::<Vec<_>>(), ["inner", "outer"]);
        assert!(spent["inner"] >= Duration::from_millis(20) && spent["outer"] < spent["inner"], "{spent:?}");
    }
}
