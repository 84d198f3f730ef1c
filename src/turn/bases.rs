//! The static part of reasoning, kept per site, role and kb version, and followed when shared facts change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use super::TurnError;
use crate::facts::Fact;
use crate::reason::{Base, Rules};
use crate::term::{Atom, Name};

/// How many bases are kept; the least recently used one goes first.
const MAX_BASES: usize = 64;

/// A bounded cache. Its lock is held for a look and an entry only: a base is built, and the kb read, without it.
#[derive(Default)]
pub struct Bases {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    used: u64,
    kept: BTreeMap<Key, Kept>,
}

/// A site, a role and a kb version.
type Key = (Name, Name, u64);

#[derive(Clone)]
struct Kept {
    revision: u64,
    shared: Arc<BTreeSet<Atom>>,
    base: Base,
    used: u64,
}

impl Bases {
    /// The base of a site for a role's rules, at a kb version and a revision of the shared facts.
    pub fn get(
        &self,
        (site, role, version): (&Name, &str, u64),
        (revision, shared): (u64, &[Fact]),
        rules: &Arc<Rules>,
        kb: impl FnOnce() -> Result<Vec<Atom>, TurnError>,
    ) -> Result<Base, TurnError> {
        let key = (site.clone(), Name::from(role), version);
        let before = self.look(&key);
        if let Some(kept) = before.as_ref().filter(|k| k.revision == revision) {
            return Ok(kept.base.clone());
        }
        let wanted: BTreeSet<Atom> = shared.iter().map(|f| f.atom.clone()).collect();
        let base = match before {
            Some(kept) => {
                let add: Vec<Atom> = wanted.difference(&kept.shared).cloned().collect();
                let remove: Vec<Atom> = kept.shared.difference(&wanted).cloned().collect();
                kept.base.with_change(&add, &remove)?
            }
            None => Base::build(rules, &kb()?, &wanted.iter().cloned().collect::<Vec<_>>())?,
        };
        self.keep(key, Kept { revision, shared: Arc::new(wanted), base: base.clone(), used: 0 });
        Ok(base)
    }

    fn look(&self, key: &Key) -> Option<Kept> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.used += 1;
        let now = inner.used;
        let kept = inner.kept.get_mut(key)?;
        kept.used = now;
        Some(kept.clone())
    }

    /// Keeps a base unless somebody was faster with a later one.
    fn keep(&self, key: Key, new: Kept) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.kept.get(&key).is_some_and(|k| k.revision > new.revision) {
            return;
        }
        while inner.kept.len() >= MAX_BASES && !inner.kept.contains_key(&key) {
            let Some(oldest) = inner.kept.iter().min_by_key(|(_, k)| k.used).map(|(key, _)| key.clone()) else { break };
            inner.kept.remove(&oldest);
        }
        inner.used += 1;
        let used = inner.used;
        inner.kept.insert(key, Kept { used, ..new });
    }
}
