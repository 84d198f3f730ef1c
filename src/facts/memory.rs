//! The store in memory: the log and its fold, for tests and for conversations that need no file.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::change::{Change, canonical, content_hash, difference};
use super::fold::{SiteState, fact};
use super::prune::{Pruned, kept};
use super::rules::{self, Standing};
use super::{
    Cause, Collected, CommitRule, Committed, Entry, Fact, Installed, Opened, Pending, Receipt, Result, Revision, SessionInfo, SessionKey, Snapshot, Store,
    StoreError, Turn, TurnCommit,
};
use crate::ontology::Scope;
use crate::term::{Atom, Name};

/// A store in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    rule: CommitRule,
    sites: Mutex<BTreeMap<Name, Site>>,
}

#[derive(Debug, Default)]
struct Site {
    log: Vec<Entry>,
    state: SiteState,
    /// Where in the log a session's request was answered.
    requests: BTreeMap<(Name, String), usize>,
    /// Where in the log a session's last turn stands.
    last: BTreeMap<(Name, u64), usize>,
    /// The kb of the newest version that was asked for; older ones are computed when asked for.
    kb: Option<(u64, Arc<Vec<Atom>>)>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new(rule: CommitRule) -> Self {
        Self { rule, sites: Mutex::default() }
    }

    /// A panic elsewhere cannot leave a site half changed: entries are applied whole, after every check.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Name, Site>> {
        self.sites.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, site: &str, f: impl FnOnce(&mut Site) -> Result<T>) -> Result<T> {
        f(self.lock().get_mut(site).ok_or_else(|| StoreError::UnknownSite(site.to_owned()))?)
    }
}

impl Site {
    fn append(&mut self, at: i64, cause: Cause, changes: Vec<Change>, applied: bool) -> Receipt {
        let before = self.state.kb_head;
        let entry = Entry { seq: self.state.seq + 1, at, cause, changes, applied };
        self.state.apply(&entry);
        if let Some(Turn { session, epoch, request, .. }) = entry.turn() {
            self.last.insert((session.clone(), *epoch), self.log.len());
            if let Some(request) = request {
                self.requests.insert((session.clone(), request.clone()), self.log.len());
            }
        }
        self.log.push(entry);
        Receipt { seq: self.state.seq, kb_head: self.state.kb_head, kb_changed: self.state.kb_head != before, shared_revision: self.state.shared_revision }
    }

    fn opened(&self, key: &SessionKey, role: &str) -> Result<Opened> {
        let opened = rules::opened(key, role, self.state.latest(&key.session), self.state.kb_head)?;
        let life = self.state.sessions.get(&(key.session.clone(), opened.epoch));
        Ok(Opened { facts: life.map(|l| l.facts.iter().map(fact).collect()).unwrap_or_default(), ..opened })
    }

    /// What the site knows before a commit that stands on what was read.
    fn standing(&self, rule: CommitRule, key: &SessionKey, read: Option<Revision>) -> Standing<'_> {
        let state = &self.state;
        let latest = state.latest(&key.session);
        let pending = read.and_then(|r| r.pending).map(|_| Pending::of(state.kb_head, &state.collected()));
        let last_one = rules::last_one(rule, state.any_open(latest.map(|l| (&*l.session, l.epoch))));
        Standing { latest, kb_head: state.kb_head, shared_revision: state.shared_revision, pending, last_one }
    }

    fn last_turn(&self, session: &str, epoch: u64) -> Option<&Entry> {
        self.log.get(*self.last.get(&(session.into(), epoch))?)
    }

    fn answered(&self, session: &str, request: &str) -> Option<&Entry> {
        self.log.get(*self.requests.get(&(session.into(), request.to_owned()))?)
    }

    fn turns(&self, key: &SessionKey, epoch: Option<u64>) -> Vec<Entry> {
        let wanted = |t: &Turn| t.session == key.session && epoch.is_none_or(|e| e == t.epoch);
        self.log.iter().filter(|e| e.turn().is_some_and(wanted)).cloned().collect()
    }
}

impl Store for MemoryStore {
    fn install(&self, site: &str, facts: &[Atom], at: i64) -> Result<Installed> {
        rules::check_name("site", site)?;
        let hash = content_hash(facts);
        let mut sites = self.lock();
        if sites.get(site).is_some_and(|s| s.state.hash == hash) {
            return Ok(Installed::Same);
        }
        let new = rules::base_of(facts)?;
        if let Some(s) = sites.get(site) {
            return Ok(Installed::Differs(s.state.base.iter().cloned().collect()));
        }
        let changes = new.into_iter().map(|f| Change::add(Scope::Kb, f)).collect();
        sites.entry(site.into()).or_default().append(at, Cause::Install { hash }, changes, false);
        Ok(Installed::New)
    }

    fn rebase(&self, site: &str, facts: &[Atom], at: i64) -> Result<Receipt> {
        let new = rules::base_of(facts)?;
        self.with(site, |s| {
            let changes = canonical(&difference(&s.state.base, &new));
            let any_pending = !changes.is_empty() || !s.state.pending.is_empty();
            let applied = rules::applies(self.rule, any_pending, s.state.any_open(None));
            Ok(s.append(at, Cause::Rebase { hash: content_hash(&new) }, changes, applied))
        })
    }

    fn begin(&self, key: &SessionKey, role: &str, request: Option<&str>) -> Result<Snapshot> {
        rules::check_key(key)?;
        self.with(&key.site, |s| {
            let answered = request.and_then(|r| s.answered(&key.session, r)).cloned().map(Box::new);
            let opened = match &answered {
                Some(_) => rules::whoever_speaks(key, role, s.state.latest(&key.session), s.state.kb_head),
                None => s.opened(key, role)?,
            };
            let pending = s.state.collected();
            let last_one = rules::last_one(self.rule, s.state.any_open(Some((&key.session, opened.epoch))));
            Ok(Snapshot {
                kb_head: s.state.kb_head,
                last_one,
                shared: s.state.shared.iter().map(fact).collect(),
                last: s.last_turn(&key.session, opened.epoch).cloned(),
                answered,
                revision: Revision { shared: s.state.shared_revision, pending: Some(Pending::of(s.state.kb_head, &pending)), last_one: Some(last_one) },
                pending,
                opened,
            })
        })
    }

    fn open(&self, key: &SessionKey, role: &str) -> Result<Opened> {
        rules::check_key(key)?;
        self.with(&key.site, |s| s.opened(key, role))
    }

    fn commit(&self, turn: &TurnCommit) -> Result<Committed> {
        let changes = rules::well_formed(turn)?;
        self.with(&turn.key.site, |s| {
            if let Some(before) = turn.request.as_deref().and_then(|r| s.answered(&turn.key.session, r)) {
                return Ok(Committed::Before(Box::new(before.clone())));
            }
            let id = (turn.key.session.clone(), turn.epoch);
            rules::admit(turn, s.standing(self.rule, &turn.key, turn.read))?;
            let any_pending = !s.state.pending.is_empty() || (turn.ended && s.state.would_collect((&id.0, id.1), &changes));
            let any_open = !turn.ended || s.state.any_open(Some((&id.0, id.1)));
            let applied = rules::applies(self.rule, any_pending, any_open);
            let cause = Cause::Turn(turn.logged());
            Ok(Committed::Done(s.append(turn.at, cause, changes, applied)))
        })
    }

    fn close(&self, key: &SessionKey, at: i64, changes: &[Change], read: Option<Revision>) -> Result<Option<Receipt>> {
        let changes = canonical(changes);
        self.with(&key.site, |s| {
            let Some(epoch) = rules::admit_end(key, read, s.standing(self.rule, key, read))? else { return Ok(None) };
            let any_open = s.state.any_open(Some((&key.session, epoch)));
            let applied = rules::applies(self.rule, !s.state.pending.is_empty() || !changes.is_empty(), any_open);
            Ok(Some(s.append(at, Cause::Close { session: key.session.clone(), epoch }, changes, applied)))
        })
    }

    fn restore(&self, site: &str, entries: &[Entry]) -> Result<()> {
        rules::check_name("site", site)?;
        if entries.is_empty() {
            return Ok(());
        }
        let mut sites = self.lock();
        let stands = sites.get(site).map_or(0, |s| s.state.seq);
        for (seq, entry) in (stands..).zip(entries) {
            rules::follows(site, seq, entry)?;
        }
        let site = sites.entry(site.into()).or_default();
        for entry in entries {
            site.append(entry.at, entry.cause.clone(), entry.changes.clone(), entry.applied);
        }
        Ok(())
    }

    fn prune(&self, site: &str, before: i64) -> Result<Pruned> {
        self.with(site, |s| {
            let mut pruned = Pruned::default();
            for ((session, epoch), life) in s.state.sessions.iter_mut().filter(|(_, l)| l.info.ended_at.is_some_and(|at| at < before)) {
                let mut turns = 0;
                for entry in s.log.iter_mut().filter(|e| e.turn().is_some_and(|t| t.session == *session && t.epoch == *epoch)) {
                    if let Some((turn, changes)) = kept(site, entry) {
                        (entry.cause, entry.changes) = (Cause::Turn(turn), changes);
                        turns += 1;
                    }
                }
                life.facts.clear();
                pruned = Pruned { sessions: pruned.sessions + usize::from(turns > 0), turns: pruned.turns + turns };
            }
            Ok(pruned)
        })
    }

    fn kb(&self, site: &str, version: u64) -> Result<Arc<Vec<Atom>>> {
        self.with(site, |s| {
            let head = s.state.kb_head;
            match &s.kb {
                _ if version > head => return Err(StoreError::UnknownVersion { site: site.to_owned(), version, head }),
                Some((v, kb)) if *v == version => return Ok(kb.clone()),
                _ => {}
            }
            let kb = Arc::new(s.state.kb_at(version));
            if s.kb.as_ref().is_none_or(|(v, _)| *v < version) {
                s.kb = Some((version, kb.clone()));
            }
            Ok(kb)
        })
    }

    fn kb_head(&self, site: &str) -> Result<u64> {
        self.with(site, |s| Ok(s.state.kb_head))
    }

    fn pending(&self, site: &str) -> Result<Vec<Collected>> {
        self.with(site, |s| Ok(s.state.collected()))
    }

    fn shared(&self, site: &str) -> Result<(u64, Vec<Fact>)> {
        self.with(site, |s| Ok((s.state.shared_revision, s.state.shared.iter().map(fact).collect())))
    }

    fn session_facts(&self, key: &SessionKey, epoch: u64) -> Result<Vec<Fact>> {
        self.with(&key.site, |s| {
            let life = s.state.sessions.get(&(key.session.clone(), epoch));
            Ok(life.map(|l| l.facts.iter().map(fact).collect()).unwrap_or_default())
        })
    }

    fn sites(&self) -> Result<Vec<Name>> {
        Ok(self.lock().keys().cloned().collect())
    }

    fn sessions(&self, site: &str) -> Result<Vec<SessionInfo>> {
        self.with(site, |s| Ok(s.state.sessions_in_order()))
    }

    fn log(&self, site: &str, after: u64, limit: usize) -> Result<Vec<Entry>> {
        self.with(site, |s| Ok(s.log.iter().skip(s.log.partition_point(|e| e.seq <= after)).take(limit).cloned().collect()))
    }

    fn turns(&self, key: &SessionKey, epoch: Option<u64>) -> Result<Vec<Entry>> {
        self.with(&key.site, |s| Ok(s.turns(key, epoch)))
    }

    fn last_turn(&self, key: &SessionKey, epoch: u64) -> Result<Option<Entry>> {
        self.with(&key.site, |s| Ok(s.last_turn(&key.session, epoch).cloned()))
    }

    fn kb_facts(&self, site: &str) -> Result<Vec<Fact>> {
        self.with(site, |s| Ok(s.state.kb_now()))
    }
}
