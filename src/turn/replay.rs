//! Turns taken again: a site's log decided once more on fresh memory, to compare it and to ask about turns long past.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Clock, Engine, Options, TurnError, TurnRecord, record};
use crate::domain::Domain;
use crate::facts::{Cause, CommitRule, Entry, MemoryStore, Op, SessionKey};
use crate::term::Atom;

/// A site that relives its log.
pub struct Replay {
    engine: Engine,
    site: String,
    /// The domain's facts as the log last brought them in.
    base: BTreeSet<Atom>,
}

/// A turn of the log and what it comes to now.
pub struct Taken {
    /// As the log has it.
    pub was: TurnRecord,
    /// As it is decided today.
    pub is: Result<TurnRecord, TurnError>,
}

impl Taken {
    /// Whether both say, do and leave the same.
    pub fn agrees(&self) -> bool {
        let told = |r: &TurnRecord| (r.actions.clone(), r.effects.clone(), r.view.clone(), r.text.clone(), r.ended.clone());
        self.is.as_ref().is_ok_and(|is| told(&self.was) == told(is))
    }
}

impl Replay {
    /// Before the log's first entry.
    pub fn new(domain: &Domain, site: &str, rule: CommitRule, options: Options) -> Self {
        let engine = Engine::new(domain.clone(), Arc::new(MemoryStore::new(rule))).with_options(options);
        Self { engine, site: site.to_owned(), base: BTreeSet::new() }
    }

    /// The engine, with the facts and the remembered decisions of the entries so far.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Relives one entry; a turn is decided again at the time it was taken.
    pub fn take(&mut self, entry: &Entry) -> Result<Option<Taken>, TurnError> {
        match &entry.cause {
            Cause::Install { .. } => {
                self.change_base(entry);
                let facts: Vec<Atom> = self.base.iter().cloned().collect();
                let _ = self.engine.store.install(&self.site, &facts, entry.at)?;
                // The site is the log's, even where the domain's files have changed since.
                self.engine.has_begun(&self.site);
            }
            Cause::Rebase { .. } => {
                self.change_base(entry);
                let facts: Vec<Atom> = self.base.iter().cloned().collect();
                self.engine.store.rebase(&self.site, &facts, entry.at)?;
            }
            Cause::Close { session, .. } => {
                self.engine.store.close(&SessionKey::new(&self.site, session), entry.at)?;
            }
            Cause::Turn(turn) => {
                self.engine.options.clock = Clock::Fixed(entry.at);
                let was = record::from_entry(entry, &self.engine.domain.ontology.view)?;
                let is = self.engine.retake(&SessionKey::new(&self.site, &turn.session), &was);
                return Ok(Some(Taken { was, is }));
            }
        }
        Ok(None)
    }

    fn change_base(&mut self, entry: &Entry) {
        for c in &entry.changes {
            match c.op {
                Op::Add => self.base.insert(c.fact.clone()),
                Op::Del => self.base.remove(&c.fact),
            };
        }
    }
}
