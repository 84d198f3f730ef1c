//! Stores that speak SQL: the promises of the trait kept in one place, over what SQLite and PostgreSQL each have of their own.

pub(super) mod rows;
pub(super) mod value;
mod write;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::broadcast::Receiver;

use self::rows::SiteRow;
use self::value::{Row, Value};
use self::write::{Draft, Tx};
use super::change::{Change, canonical, content_hash, difference};
use super::rules::{self, Standing};
use super::{
    Cause, Collected, CommitRule, Committed, Entry, Fact, Installed, Moved, Opened, Pending, Pruned, Receipt, Result, Revision, SessionInfo, SessionKey,
    Snapshot, Store, StoreError, TurnCommit,
};
use crate::ontology::Scope;
use crate::term::{Atom, Name};

/// Statements within one transaction. Their parameters are written `?1`, `?2`….
pub trait Sql {
    /// The store's name in messages.
    fn place(&self) -> &str;

    /// What makes a query keep its rows from other writers until the transaction ends, where the transaction alone does not.
    fn to_write(&self) -> &'static str {
        ""
    }

    /// A statement that writes; how many rows it changed.
    fn run(&self, text: &str, params: &[Value<'_>]) -> Result<usize>;

    /// A query.
    fn rows(&self, text: &str, params: &[Value<'_>]) -> Result<Vec<Row>>;
}

/// What a database must offer to hold a store.
pub trait Database: Send + Sync {
    /// The store's name in messages: the file, or the address without its password.
    fn place(&self) -> &str;

    /// When collected kb changes become the next version.
    fn rule(&self) -> CommitRule;

    /// How many kb versions are kept parsed in memory, over all sites.
    fn kb_cache(&self) -> usize;

    /// Several reads as of one moment.
    fn read<T>(&self, f: impl FnOnce(&dyn Sql) -> Result<T>) -> Result<T>;

    /// One write transaction: kept whole if `f` succeeds, else leaving no trace.
    fn write<T>(&self, f: impl FnOnce(&dyn Sql) -> Result<T>) -> Result<T>;

    /// Queries that do not wait for one another, as of one moment.
    fn at_once(&self, queries: &[(&str, &[Value<'_>])]) -> Result<Vec<Vec<Row>>> {
        self.read(|sql| queries.iter().map(|(text, params)| sql.rows(text, params)).collect())
    }

    /// Takes an ordinary turn in one step, if the database can and everything the turn stands on still holds; `None` leaves it to
    /// the transaction that can tell why not. `changes` are the turn's, in canonical order.
    fn take(&self, _turn: &TurnCommit, _changes: &[Change]) -> Result<Option<Receipt>> {
        Ok(None)
    }

    /// What moves in the store from now on, in this process or another, where the database can tell.
    fn moves(&self) -> Option<Receiver<Moved>> {
        None
    }

    /// Whether the medium itself is sound.
    fn integrity(&self) -> Result<()>;
}

/// A store on a database.
#[derive(Debug)]
pub struct SqlStore<D> {
    pub(super) database: D,
    /// Least recently used first. A version never changes, so nothing here ever goes stale.
    cache: Mutex<VecDeque<Cached>>,
}

#[derive(Debug)]
struct Cached {
    site: Name,
    version: u64,
    kb: Arc<Vec<Atom>>,
}

impl<D: Database> SqlStore<D> {
    /// The store on a database whose tables are there.
    pub(super) fn on(database: D) -> Self {
        Self { database, cache: Mutex::default() }
    }

    /// Several reads of one site as of one moment.
    fn read_site<T>(&self, site: &str, f: impl FnOnce(&dyn Sql, &SiteRow) -> Result<T>) -> Result<T> {
        let found = self.database.read(|sql| rows::site(sql, site)?.map(|row| f(sql, &row)).transpose())?;
        found.ok_or_else(|| StoreError::UnknownSite(site.to_owned()))
    }

    /// One write transaction on a site.
    fn write_site<T>(&self, site: &str, f: impl FnOnce(&Tx<'_>, &SiteRow) -> Result<T>) -> Result<T> {
        let rule = self.database.rule();
        self.database.write(|sql| {
            let row = rows::site_to_write(sql, site)?.ok_or_else(|| StoreError::UnknownSite(site.to_owned()))?;
            f(&Tx { sql, rule }, &row)
        })
    }

    fn cached(&self, site: &str, version: u64) -> Option<Arc<Vec<Atom>>> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let at = cache.iter().position(|c| &*c.site == site && c.version == version)?;
        let hit = cache.remove(at)?;
        let kb = hit.kb.clone();
        cache.push_back(hit);
        Some(kb)
    }

    fn remember(&self, site: &str, version: u64, kb: &Arc<Vec<Atom>>) {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.push_back(Cached { site: site.into(), version, kb: kb.clone() });
        while cache.len() > self.database.kb_cache().max(1) {
            cache.pop_front();
        }
    }
}

/// What the site knows before a commit that stands on what was read.
fn standing<'a>(tx: &Tx<'_>, key: &SessionKey, row: &SiteRow, latest: Option<&'a SessionInfo>, read: Option<Revision>) -> Result<Standing<'a>> {
    let pending = match read.and_then(|r| r.pending) {
        Some(_) => Some(Pending::of(row.kb_head, &rows::collected(tx.sql, &key.site)?)),
        None => None,
    };
    let last_one = rules::last_one(tx.rule, rows::others_open(tx.sql, key)?);
    Ok(Standing { latest, kb_head: row.kb_head, shared_revision: row.shared_revision, pending, last_one })
}

impl<D: Database> Store for SqlStore<D> {
    fn install(&self, site: &str, facts: &[Atom], at: i64) -> Result<Installed> {
        rules::check_name("site", site)?;
        let hash = content_hash(facts);
        // Nearly always the site is there with the same facts: look before checking them and keeping writers away.
        if let Some(row) = self.database.read(|sql| rows::site(sql, site))? {
            if row.hash == hash {
                return Ok(Installed::Same);
            }
            rules::base_of(facts)?;
            return Ok(Installed::Differs(self.database.read(|sql| rows::base(sql, site))?.into_iter().collect()));
        }
        let new = rules::base_of(facts)?;
        let rule = self.database.rule();
        let begun = self.database.write(|sql| {
            let tx = Tx { sql, rule };
            if !tx.begin_site(site, &hash)? {
                return Ok(false);
            }
            let row = SiteRow { hash: hash.clone(), seq: 0, kb_head: 0, shared_revision: 0 };
            let changes = new.iter().map(|f| Change::add(Scope::Kb, f.clone())).collect();
            tx.append(&Draft { site, row: &row, at, cause: Cause::Install { hash: hash.clone() }, changes, begins: false, applied: None })?;
            Ok(true)
        })?;
        // Another process may have begun the site since the look.
        if begun { Ok(Installed::New) } else { self.install(site, facts, at) }
    }

    fn rebase(&self, site: &str, facts: &[Atom], at: i64) -> Result<Receipt> {
        let new = rules::base_of(facts)?;
        self.write_site(site, |tx, row| {
            let changes = canonical(&difference(&rows::base(tx.sql, site)?, &new));
            tx.append(&Draft { site, row, at, cause: Cause::Rebase { hash: content_hash(&new) }, changes, begins: false, applied: None })
        })
    }

    fn begin(&self, key: &SessionKey, role: &str, request: Option<&str>) -> Result<Snapshot> {
        rules::check_key(key)?;
        let read = rows::begin(&self.database, key, request)?;
        let row = read.row.ok_or_else(|| StoreError::UnknownSite(key.site.to_string()))?;
        let latest = read.latest.as_ref();
        let opened = match &read.answered {
            Some(_) => rules::whoever_speaks(key, role, latest, row.kb_head),
            None => Opened { facts: read.facts, ..rules::opened(key, role, latest, row.kb_head)? },
        };
        let (kb_head, last_one) = (row.kb_head, rules::last_one(self.database.rule(), read.others_open));
        let revision = Revision { shared: row.shared_revision, pending: Some(Pending::of(kb_head, &read.pending)), last_one: Some(last_one) };
        let (shared, pending, last, answered) = (read.shared, read.pending, read.last, read.answered.map(Box::new));
        Ok(Snapshot { opened, kb_head, shared, pending, last_one, last, answered, revision })
    }

    fn open(&self, key: &SessionKey, role: &str) -> Result<Opened> {
        rules::check_key(key)?;
        let (latest, kb_head, facts) = self.read_site(&key.site, |sql, row| Ok((rows::latest(sql, key)?, row.kb_head, rows::facts_of_open(sql, key)?)))?;
        Ok(Opened { facts, ..rules::opened(key, role, latest.as_ref(), kb_head)? })
    }

    fn commit(&self, turn: &TurnCommit) -> Result<Committed> {
        let changes = rules::well_formed(turn)?;
        if let Some(receipt) = self.database.take(turn, &changes)? {
            return Ok(Committed::Done(receipt));
        }
        let (site, key) = (&*turn.key.site, &turn.key);
        self.write_site(site, |tx, row| {
            if let Some(request) = &turn.request
                && let Some(before) = rows::answered(tx.sql, key, request)?
            {
                return Ok(Committed::Before(Box::new(before)));
            }
            let latest = rows::latest(tx.sql, key)?;
            let begins = rules::admit(turn, standing(tx, key, row, latest.as_ref(), turn.read)?)?;
            let cause = Cause::Turn(turn.logged());
            tx.append(&Draft { site, row, at: turn.at, cause, changes, begins, applied: None }).map(Committed::Done)
        })
    }

    fn close(&self, key: &SessionKey, at: i64, changes: &[Change], read: Option<Revision>) -> Result<Option<Receipt>> {
        let changes = canonical(changes);
        self.write_site(&key.site, |tx, row| {
            let latest = rows::latest(tx.sql, key)?;
            let standing = standing(tx, key, row, latest.as_ref(), read)?;
            let Some(epoch) = rules::admit_end(key, read, standing)? else { return Ok(None) };
            let cause = Cause::Close { session: key.session.clone(), epoch };
            tx.append(&Draft { site: &key.site, row, at, cause, changes: changes.clone(), begins: false, applied: None }).map(Some)
        })
    }

    fn restore(&self, site: &str, entries: &[Entry]) -> Result<()> {
        rules::check_name("site", site)?;
        let rule = self.database.rule();
        self.database.write(|sql| {
            let tx = Tx { sql, rule };
            for entry in entries {
                if let (1, Cause::Install { hash }) = (entry.seq, &entry.cause) {
                    tx.begin_site(site, hash)?;
                }
                let row = rows::site_to_write(sql, site)?;
                rules::follows(site, row.as_ref().map_or(0, |r| r.seq), entry)?;
                let row = row.ok_or_else(|| StoreError::UnknownSite(site.to_owned()))?;
                let begins = entry.turn().is_some_and(|t| t.turn == 1);
                let (cause, changes) = (entry.cause.clone(), entry.changes.clone());
                tx.append(&Draft { site, row: &row, at: entry.at, cause, changes, begins, applied: Some(entry.applied) })?;
            }
            Ok(())
        })
    }

    fn prune(&self, site: &str, before: i64) -> Result<Pruned> {
        let mut pruned = Pruned::default();
        loop {
            // A few at a time: turns of the site that are under way wait for no more.
            let some = self.write_site(site, |tx, _| tx.prune(site, before))?;
            pruned = Pruned { sessions: pruned.sessions + some.sessions, turns: pruned.turns + some.turns };
            if some.sessions == 0 {
                return Ok(pruned);
            }
        }
    }

    fn kb(&self, site: &str, version: u64) -> Result<Arc<Vec<Atom>>> {
        if let Some(kb) = self.cached(site, version) {
            return Ok(kb);
        }
        let (head, facts) = self.read_site(site, |sql, row| {
            let facts = if version > row.kb_head { Vec::new() } else { rows::kb_at(sql, site, version)? };
            Ok((row.kb_head, facts))
        })?;
        if version > head {
            return Err(StoreError::UnknownVersion { site: site.to_owned(), version, head });
        }
        let kb = Arc::new(facts);
        self.remember(site, version, &kb);
        Ok(kb)
    }

    fn kb_head(&self, site: &str) -> Result<u64> {
        self.read_site(site, |_, row| Ok(row.kb_head))
    }

    fn pending(&self, site: &str) -> Result<Vec<Collected>> {
        self.read_site(site, |sql, _| rows::collected(sql, site))
    }

    fn shared(&self, site: &str) -> Result<(u64, Vec<Fact>)> {
        self.read_site(site, |sql, row| Ok((row.shared_revision, rows::shared(sql, site)?)))
    }

    fn session_facts(&self, key: &SessionKey, epoch: u64) -> Result<Vec<Fact>> {
        self.read_site(&key.site, |sql, _| rows::session_facts(sql, key, epoch))
    }

    fn sites(&self) -> Result<Vec<Name>> {
        self.database.read(rows::sites)
    }

    fn sessions(&self, site: &str) -> Result<Vec<SessionInfo>> {
        self.read_site(site, |sql, _| rows::sessions(sql, site))
    }

    fn log(&self, site: &str, after: u64, limit: usize) -> Result<Vec<Entry>> {
        self.read_site(site, |sql, _| rows::log(sql, site, after, limit))
    }

    fn turns(&self, key: &SessionKey, epoch: Option<u64>) -> Result<Vec<Entry>> {
        self.read_site(&key.site, |sql, _| rows::turns(sql, key, epoch))
    }

    fn last_turn(&self, key: &SessionKey, epoch: u64) -> Result<Option<Entry>> {
        self.read_site(&key.site, |sql, _| rows::last_turn(sql, key, epoch))
    }

    fn kb_facts(&self, site: &str) -> Result<Vec<Fact>> {
        self.read_site(site, |sql, _| rows::kb_now(sql, site))
    }

    fn moves(&self) -> Option<Receiver<Moved>> {
        self.database.moves()
    }

    fn integrity(&self) -> Result<()> {
        self.database.integrity()
    }
}
