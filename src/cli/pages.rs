//! Pages of the web that agents know from: read when a question needs them, in limited time, and kept for a day.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::act;
use crate::ir::Passage;
use crate::lang::adl;
use crate::understand::agents::Pages;

/// The longest that a page is waited for.
const LONGEST: Duration = Duration::from_secs(5);
/// How long a page is kept, and how long it is known that one cannot be read.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
const MISSED: Duration = Duration::from_secs(60);

/// A reader of pages.
pub fn reader() -> Pages {
    let kept: Arc<Mutex<BTreeMap<String, (Instant, Vec<Passage>)>>> = Arc::default();
    Arc::new(move |address: String| {
        let kept = kept.clone();
        Box::pin(async move {
            let known = kept.lock().unwrap_or_else(PoisonError::into_inner).get(&address).cloned();
            if let Some((at, passages)) = known
                && at.elapsed() < if passages.is_empty() { MISSED } else { KEPT }
            {
                return passages;
            }
            let passages = match act::page(address.clone(), LONGEST).await {
                Ok(text) => adl::page(&address, &text),
                Err(e) => {
                    tracing::warn!(error = %e, "a page that an agent knows from cannot be read");
                    vec![]
                }
            };
            kept.lock().unwrap_or_else(PoisonError::into_inner).insert(address, (Instant::now(), passages.clone()));
            passages
        })
    })
}
