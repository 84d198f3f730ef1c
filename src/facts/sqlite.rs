//! The embedded store: one SQLite file in WAL mode, shared by any number of threads and processes.

pub mod fault;
mod rows;
mod schema;
mod write;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::Connection;

use self::rows::SiteRow;
use self::write::{Draft, Tx};
use super::change::{Change, canonical, content_hash, difference};
use super::rules::{self, Standing};
use super::{
    Cause, Collected, CommitRule, Committed, Entry, Fact, Installed, Opened, Pending, Receipt, Result, Revision, SessionInfo, SessionKey, Snapshot, Store,
    StoreError, Turn, TurnCommit,
};
use crate::ontology::Scope;
use crate::term::{Atom, Name};

pub use fault::Fault;

/// What a committed turn survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The end of the process at any moment (`kill -9`, a crash); a power failure may cost the last turns, whole.
    #[default]
    Process,
    /// A power failure too, at the price of waiting for the device at every turn.
    Power,
}

/// How a file is used.
#[derive(Clone, Debug)]
pub struct SqliteOptions {
    /// When collected kb changes become the next version.
    pub rule: CommitRule,
    /// What a committed turn survives.
    pub durability: Durability,
    /// How long to wait for another process before giving up with [`StoreError::Busy`].
    pub busy_timeout: Duration,
    /// Kb versions kept parsed in memory, over all sites.
    pub kb_cache: usize,
    /// Most pages the file may have, `None` for SQLite's own limit; beyond it turns are refused as [`StoreError::Full`].
    pub max_pages: Option<u32>,
    /// Faults on purpose, for tests.
    pub fault: Option<Arc<Fault>>,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            rule: CommitRule::default(),
            durability: Durability::default(),
            busy_timeout: Duration::from_secs(5),
            kb_cache: 64,
            max_pages: None,
            fault: None,
        }
    }
}

/// A store in a SQLite file.
#[derive(Debug)]
pub struct SqliteStore {
    file: String,
    options: SqliteOptions,
    conn: Mutex<Connection>,
    /// Least recently used first. A version never changes, so nothing here ever goes stale.
    cache: Mutex<VecDeque<Cached>>,
}

#[derive(Debug)]
struct Cached {
    site: Name,
    version: u64,
    kb: Arc<Vec<Atom>>,
}

impl SqliteStore {
    /// Opens the file, or creates it if its folder exists.
    pub fn open(path: &Path, options: SqliteOptions) -> Result<Self> {
        let conn = schema::open(path, &options)?;
        Ok(Self { file: path.display().to_string(), options, conn: Mutex::new(conn), cache: Mutex::default() })
    }

    /// A panic while the lock is held drops the transaction, which rolls it back.
    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.conn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Several reads as of one moment.
    fn read<T>(&self, f: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        let conn = self.lock();
        let result = conn.prepare_cached("BEGIN").and_then(|mut s| s.execute([])).and_then(|_| f(&conn));
        let ended = conn.prepare_cached("COMMIT").and_then(|mut s| s.execute([]));
        result.and_then(|value| ended.map(|_| value)).map_err(|e| schema::failure(&self.file, &self.options, &e))
    }

    /// Several reads of one site as of one moment.
    fn read_site<T>(&self, site: &str, f: impl FnOnce(&Connection, &SiteRow) -> rusqlite::Result<T>) -> Result<T> {
        let found = self.read(|conn| rows::site(conn, site)?.map(|row| f(conn, &row)).transpose())?;
        found.ok_or_else(|| StoreError::UnknownSite(site.to_owned()))
    }

    /// One write transaction.
    fn write<T>(&self, f: impl FnOnce(&Tx<'_>) -> Result<T>) -> Result<T> {
        let conn = self.lock();
        let tx = Tx::begin(&conn, &self.file, &self.options)?;
        let value = f(&tx)?;
        tx.commit()?;
        Ok(value)
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
        while cache.len() > self.options.kb_cache.max(1) {
            cache.pop_front();
        }
    }
}

fn site_row(tx: &Tx<'_>, site: &str) -> Result<SiteRow> {
    rows::site(tx.conn, site).map_err(|e| tx.failure(&e))?.ok_or_else(|| StoreError::UnknownSite(site.to_owned()))
}

impl Store for SqliteStore {
    fn install(&self, site: &str, facts: &[Atom], at: i64) -> Result<Installed> {
        rules::check_name("site", site)?;
        let hash = content_hash(facts);
        // Nearly always the site is there with the same facts: look before checking them and taking the write lock.
        if let Some(row) = self.read(|conn| rows::site(conn, site))? {
            if row.hash == hash {
                return Ok(Installed::Same);
            }
            rules::base_of(facts)?;
            return Ok(Installed::Differs(self.read(|conn| rows::base(conn, site))?.into_iter().collect()));
        }
        let new = rules::base_of(facts)?;
        let begun = self.write(|tx| {
            if rows::site(tx.conn, site).map_err(|e| tx.failure(&e))?.is_some() {
                return Ok(false);
            }
            tx.run("INSERT INTO site (site, hash, seq, kb_head, shared_revision) VALUES (?1, ?2, 0, 0, 0)", (site, &hash))?;
            let row = site_row(tx, site)?;
            let changes = new.iter().map(|f| Change::add(Scope::Kb, f.clone())).collect();
            tx.append(&Draft { site, row: &row, at, cause: Cause::Install { hash: hash.clone() }, changes, begins: false })?;
            Ok(true)
        })?;
        // Another process may have begun the site since the look.
        if begun { Ok(Installed::New) } else { self.install(site, facts, at) }
    }

    fn rebase(&self, site: &str, facts: &[Atom], at: i64) -> Result<Receipt> {
        let new = rules::base_of(facts)?;
        self.write(|tx| {
            let row = site_row(tx, site)?;
            let old = rows::base(tx.conn, site).map_err(|e| tx.failure(&e))?;
            let changes = canonical(&difference(&old, &new));
            tx.append(&Draft { site, row: &row, at, cause: Cause::Rebase { hash: content_hash(&new) }, changes, begins: false })
        })
    }

    fn begin(&self, key: &SessionKey, role: &str, request: Option<&str>) -> Result<Snapshot> {
        rules::check_key(key)?;
        let (row, read) = self.read_site(&key.site, |conn, row| Ok((row.clone(), rows::begin(conn, key, request)?)))?;
        let latest = read.latest.as_ref();
        let opened = match &read.answered {
            Some(_) => rules::whoever_speaks(key, role, latest, row.kb_head),
            None => Opened { facts: read.facts, ..rules::opened(key, role, latest, row.kb_head)? },
        };
        let (kb_head, last_one) = (row.kb_head, rules::last_one(self.options.rule, read.others_open));
        let revision = Revision { shared: row.shared_revision, pending: Some(Pending::of(kb_head, &read.pending)), last_one: Some(last_one) };
        let (shared, pending, last, answered) = (read.shared, read.pending, read.last, read.answered.map(Box::new));
        Ok(Snapshot { opened, kb_head, shared, pending, last_one, last, answered, revision })
    }

    fn open(&self, key: &SessionKey, role: &str) -> Result<Opened> {
        rules::check_key(key)?;
        let (latest, kb_head, facts) = self.read_site(&key.site, |conn, row| {
            let latest = rows::latest(conn, key)?;
            Ok((latest.clone(), row.kb_head, rows::facts_of_open(conn, key, latest.as_ref())?))
        })?;
        Ok(Opened { facts, ..rules::opened(key, role, latest.as_ref(), kb_head)? })
    }

    fn commit(&self, turn: &TurnCommit) -> Result<Committed> {
        let changes = rules::well_formed(turn)?;
        let (site, key) = (&*turn.key.site, &turn.key);
        self.write(|tx| {
            let failed = |e| tx.failure(&e);
            let row = site_row(tx, site)?;
            if let Some(request) = &turn.request
                && let Some(before) = rows::answered(tx.conn, key, request).map_err(failed)?
            {
                return Ok(Committed::Before(Box::new(before)));
            }
            let latest = rows::latest(tx.conn, key).map_err(failed)?;
            let pending = match turn.read.and_then(|r| r.pending) {
                Some(_) => Some(Pending::of(row.kb_head, &rows::collected(tx.conn, site).map_err(failed)?)),
                None => None,
            };
            let last_one = rules::last_one(self.options.rule, rows::others_open(tx.conn, key).map_err(failed)?);
            let standing = Standing { latest: latest.as_ref(), kb_head: row.kb_head, shared_revision: row.shared_revision, pending, last_one };
            let begins = rules::admit(turn, standing)?;
            let cause = Cause::Turn(Turn {
                session: key.session.clone(),
                epoch: turn.epoch,
                turn: turn.turn,
                role: turn.role.clone(),
                kb_version: turn.kb_version,
                request: turn.request.clone(),
                ended: turn.ended,
                record: turn.record.clone(),
            });
            tx.append(&Draft { site, row: &row, at: turn.at, cause, changes, begins }).map(Committed::Done)
        })
    }

    fn close(&self, key: &SessionKey, at: i64) -> Result<Option<Receipt>> {
        self.write(|tx| {
            let row = site_row(tx, &key.site)?;
            let latest = rows::latest(tx.conn, key).map_err(|e| tx.failure(&e))?;
            let Some(open) = latest.filter(|s| s.ended_at.is_none()) else { return Ok(None) };
            let cause = Cause::Close { session: open.session, epoch: open.epoch };
            tx.append(&Draft { site: &key.site, row: &row, at, cause, changes: Vec::new(), begins: false }).map(Some)
        })
    }

    fn kb(&self, site: &str, version: u64) -> Result<Arc<Vec<Atom>>> {
        if let Some(kb) = self.cached(site, version) {
            return Ok(kb);
        }
        let (head, facts) = self.read_site(site, |conn, row| {
            let facts = if version > row.kb_head { Vec::new() } else { rows::kb_at(conn, site, version)? };
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
        self.read_site(site, |conn, _| rows::collected(conn, site))
    }

    fn shared(&self, site: &str) -> Result<(u64, Vec<Fact>)> {
        self.read_site(site, |conn, row| Ok((row.shared_revision, rows::shared(conn, site)?)))
    }

    fn session_facts(&self, key: &SessionKey, epoch: u64) -> Result<Vec<Fact>> {
        self.read_site(&key.site, |conn, _| rows::session_facts(conn, key, epoch))
    }

    fn sites(&self) -> Result<Vec<Name>> {
        self.read(rows::sites)
    }

    fn sessions(&self, site: &str) -> Result<Vec<SessionInfo>> {
        self.read_site(site, |conn, _| rows::sessions(conn, site))
    }

    fn log(&self, site: &str, after: u64, limit: usize) -> Result<Vec<Entry>> {
        self.read_site(site, |conn, _| rows::log(conn, site, after, limit))
    }

    fn turns(&self, key: &SessionKey, epoch: Option<u64>) -> Result<Vec<Entry>> {
        self.read_site(&key.site, |conn, _| rows::turns(conn, key, epoch))
    }

    fn last_turn(&self, key: &SessionKey, epoch: u64) -> Result<Option<Entry>> {
        self.read_site(&key.site, |conn, _| rows::last_turn(conn, key, epoch))
    }

    fn kb_facts(&self, site: &str) -> Result<Vec<Fact>> {
        self.read_site(site, |conn, _| rows::kb_now(conn, site))
    }

    fn integrity(&self) -> Result<()> {
        let found: Vec<String> = self.read(|conn| conn.prepare("PRAGMA integrity_check(5)")?.query_map([], |row| row.get(0))?.collect())?;
        match found.first() {
            Some(first) if first == "ok" => Ok(()),
            _ => Err(StoreError::Corrupt { file: self.file.clone(), detail: found.join("; ") }),
        }
    }
}
