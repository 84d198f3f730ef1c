//! Turns taken again: a site's log decided once more on fresh memory, to compare it and to ask about turns long past.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Clock, Engine, Options, TurnError, TurnRecord, record};
use crate::domain::Domain;
use crate::facts::{Cause, CommitRule, Entry, MemoryStore, Op, SessionKey, Store, TurnCommit};
use crate::term::Atom;

/// How many entries of a log are read at once.
const PAGE: usize = 500;

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
                self.engine.store.close(&SessionKey::new(&self.site, session), entry.at, &entry.changes, None)?;
            }
            Cause::Turn(turn) => {
                self.engine.options.clock = Clock::Fixed(entry.at);
                let was = record::from_entry(entry, &self.engine.domain.ontology.view)?;
                if was.pruned.is_some() {
                    return self.pass(entry, "").map(|()| None);
                }
                let is = self.engine.retake(&SessionKey::new(&self.site, &turn.session), &was);
                return Ok(Some(Taken { was, is }));
            }
        }
        Ok(None)
    }

    /// Brings in what a turn changed, as the log has it, without deciding it again. Of sessions other than `whose` no record is kept.
    fn pass(&mut self, entry: &Entry, whose: &str) -> Result<(), TurnError> {
        let Some(turn) = entry.turn() else { return self.take(entry).map(|_| ()) };
        let record = if *turn.session == *whose { turn.record.clone() } else { "{}".to_owned() };
        let commit = TurnCommit {
            key: SessionKey::new(&self.site, &turn.session),
            role: turn.role.clone(),
            epoch: turn.epoch,
            turn: turn.turn,
            kb_version: turn.kb_version,
            read: None,
            request: turn.request.clone(),
            at: entry.at,
            changes: entry.changes.clone(),
            ended: turn.ended,
            record,
        };
        self.engine.store.commit(&commit)?;
        Ok(())
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

/// A turn of the log decided again on the facts as they were then; what came before it is brought in as the log has it.
pub fn again(domain: &Domain, store: &dyn Store, site: &str, asked: &Entry, rule: CommitRule, options: Options) -> Result<(Replay, Taken), TurnError> {
    let record = record::from_entry(asked, &domain.ontology.view)?;
    let began = record.began();
    let own = |e: &Entry| e.turn().is_some_and(|t| *t.session == *record.session && t.epoch == record.epoch && t.turn >= began);
    let mut replay = Replay::new(domain, site, rule, options);
    each_before(store, site, asked.seq, |entry| match own(entry) {
        true => replay.take(entry).map(|_| ()),
        false => replay.pass(entry, &record.session),
    })?;
    let detail = "what was said in it was forgotten (`duologue store prune`); what it changed for others is kept".to_owned();
    let taken = replay.take(asked)?.ok_or_else(|| TurnError::BrokenRecord { session: record.session.into(), turn: record.turn, detail })?;
    Ok((replay, taken))
}

/// A site as it was after an entry of its log, in memory, for turns that it never hears of. Only the records of session `whose` come along.
pub fn branch(domain: &Domain, store: &dyn Store, site: &str, after: &Entry, whose: &str, rule: CommitRule, options: Options) -> Result<Engine, TurnError> {
    let mut replay = Replay::new(domain, site, rule, options);
    each_before(store, site, after.seq, |entry| replay.pass(entry, whose))?;
    replay.pass(after, whose)?;
    Ok(replay.engine)
}

/// Does something with the entries of a site's log before one, in order; a page of them is in memory at a time.
fn each_before(store: &dyn Store, site: &str, seq: u64, mut what: impl FnMut(&Entry) -> Result<(), TurnError>) -> Result<(), TurnError> {
    let mut after = 0;
    loop {
        let page = store.log(site, after, PAGE)?;
        for entry in page.iter().take_while(|e| e.seq < seq) {
            what(entry)?;
        }
        match page.last() {
            Some(last) if page.len() == PAGE && last.seq + 1 < seq => after = last.seq,
            _ => return Ok(()),
        }
    }
}
