//! What the host keeps of sites: which it has seen begun, and both ends over their names.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::domain::Domain;
use crate::facts::{Installed, Snapshot, Store};
use crate::render::Render;
use crate::term::Name;
use crate::turn::TurnError;
use crate::understand::Understand;

/// How many ends over names are kept.
const ENDS: usize = 16;

/// A site's kb version and, where names are shared facts, their revision.
type Names = (Name, u64, u64);

/// The translator and the renderer over the names of a site.
#[derive(Clone)]
pub struct Translators {
    /// Words to predicates.
    pub understand: Option<Arc<dyn Understand>>,
    /// Actions to words.
    pub render: Option<Arc<dyn Render>>,
}

/// What is kept. Its locks are held for a look and an entry only, never while a store is read or anything is built.
#[derive(Default)]
pub struct Sites {
    begun: Mutex<BTreeSet<Name>>,
    ends: Mutex<Vec<(Names, Translators)>>,
}

impl Sites {
    /// Begins the site if it is new, and settles what is to be settled for it; comparing the facts of one that is known costs more than a turn,
    /// so once is enough.
    pub fn begin(&self, store: &dyn Store, site: &Name, domain: &Domain, at: i64) -> Result<(), TurnError> {
        if self.begun.lock().unwrap_or_else(PoisonError::into_inner).contains(site) {
            return Ok(());
        }
        if let Installed::Differs(base) = store.install(site, &domain.facts, at)? {
            let settled = domain.settled_for(&base);
            if settled != base {
                store.rebase(site, &settled, at)?;
            }
            let (site_has, files_have) = (BTreeSet::from_iter(&settled), domain.ontology.with_settings(&domain.facts, &domain.settled, &settled));
            let files_have = BTreeSet::from_iter(&files_have);
            let (added, removed) = (files_have.difference(&site_has).count(), site_has.difference(&files_have).count());
            if added + removed > 0 {
                tracing::warn!(%site, added, removed, "the site goes on with the facts it began with: the domain's files changed since (`duologue store rebase` brings them in)");
            }
        }
        self.has_begun(site);
        Ok(())
    }

    /// Takes the site as begun, with whatever facts it has.
    pub fn has_begun(&self, site: &str) {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).insert(site.into());
    }

    /// Both ends over the names that a session sees.
    pub fn translators(&self, own: Translators, store: &dyn Store, snapshot: &Snapshot, domain: &Domain) -> Result<Translators, TurnError> {
        let names = domain.ontology.shared_names();
        let (site, version) = (&snapshot.opened.key.site, snapshot.opened.kb_version);
        let key = (site.clone(), version, if names.is_empty() { 0 } else { snapshot.revision.shared });
        if let Some((_, ends)) = self.ends.lock().unwrap_or_else(PoisonError::into_inner).iter().find(|(k, _)| *k == key) {
            return Ok(ends.clone());
        }
        let mut facts = store.kb(site, version)?.to_vec();
        facts.extend(snapshot.shared.iter().map(|f| f.atom.clone()).filter(|a| names.contains(&a.name)));
        let ends = if facts == *domain.facts {
            own
        } else {
            let understand = own.understand.map(|u| u.over(&facts).unwrap_or(u));
            let render = own.render.map(|r| r.over(&facts).unwrap_or(r));
            Translators { understand, render }
        };
        let mut kept = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(k, _)| *k != key);
        kept.truncate(ENDS - 1);
        kept.insert(0, (key, ends.clone()));
        Ok(ends)
    }
}
