//! The static part of reasoning, kept per site, role and kb version, and followed when shared facts change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use super::TurnError;
use crate::facts::Fact;
use crate::reason::{Base, Rules};
use crate::term::{Atom, Name};

/// How many bases are kept; the least recently used one goes first.
const MAX_BASES: usize = 64;

/// A bounded cache.
#[derive(Default)]
pub struct Bases {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    used: u64,
    kept: BTreeMap<(Name, Name, u64), Kept>,
}

struct Kept {
    revision: u64,
    shared: BTreeSet<Atom>,
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
        kb: impl FnOnce() -> Result<Arc<Vec<Atom>>, TurnError>,
    ) -> Result<Base, TurnError> {
        let key = (site.clone(), Name::from(role), version);
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.used += 1;
        let now = inner.used;
        if let Some(kept) = inner.kept.get_mut(&key) {
            kept.used = now;
            if kept.revision == revision {
                return Ok(kept.base.clone());
            }
            let wanted: BTreeSet<Atom> = shared.iter().map(|f| f.atom.clone()).collect();
            let add: Vec<Atom> = wanted.difference(&kept.shared).cloned().collect();
            let remove: Vec<Atom> = kept.shared.difference(&wanted).cloned().collect();
            let base = kept.base.with_change(&add, &remove)?;
            *kept = Kept { revision, shared: wanted, base: base.clone(), used: now };
            return Ok(base);
        }
        let atoms: Vec<Atom> = shared.iter().map(|f| f.atom.clone()).collect();
        let base = Base::build(rules, &kb()?, &atoms)?;
        while inner.kept.len() >= MAX_BASES {
            let oldest = inner.kept.iter().min_by_key(|(_, k)| k.used).map(|(key, _)| key.clone());
            match oldest {
                Some(key) => inner.kept.remove(&key),
                None => break,
            };
        }
        inner.kept.insert(key, Kept { revision, shared: atoms.into_iter().collect(), base: base.clone(), used: now });
        Ok(base)
    }
}
