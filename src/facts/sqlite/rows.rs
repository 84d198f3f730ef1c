//! Rows to values: every query of the SQLite store that only reads.

use std::collections::BTreeSet;

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Params, Result, Row};

use crate::facts::change::{Change, text_to_changes};
use crate::facts::{Cause, Collected, Entry, Fact, Provenance, SessionInfo, SessionKey, Turn};
use crate::ontology::Scope;
use crate::term::{Atom, Name};

/// The site's own row.
#[derive(Clone, Debug)]
pub struct SiteRow {
    /// Content hash of the base.
    pub hash: String,
    /// Number of the last log entry.
    pub seq: u64,
    /// The newest kb version.
    pub kb_head: u64,
    /// The revision of the shared facts.
    pub shared_revision: u64,
}

/// All rows of a query.
fn all<T>(conn: &Connection, sql: &str, params: impl Params, read: impl FnMut(&Row<'_>) -> Result<T>) -> Result<Vec<T>> {
    conn.prepare_cached(sql)?.query_map(params, read)?.collect()
}

/// The first row of a query.
fn first<T>(conn: &Connection, sql: &str, params: impl Params, read: impl FnOnce(&Row<'_>) -> Result<T>) -> Result<Option<T>> {
    conn.prepare_cached(sql)?.query_row(params, read).optional()
}

fn unreadable(column: usize, e: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(e))
}

fn atom(row: &Row<'_>, column: usize) -> Result<Atom> {
    Atom::parse(row.get_ref(column)?.as_str()?).map_err(|e| unreadable(column, e))
}

/// A provenance from five columns: role, session, epoch, turn, at.
fn provenance(row: &Row<'_>, from: usize) -> Result<Provenance> {
    Ok(Provenance { role: row.get(from)?, session: row.get(from + 1)?, epoch: row.get(from + 2)?, turn: row.get(from + 3)?, at: row.get(from + 4)? })
}

/// A fact and its provenance from six columns.
fn fact(row: &Row<'_>) -> Result<Fact> {
    Ok(Fact { atom: atom(row, 0)?, provenance: provenance(row, 1)? })
}

/// In the order of terms: the order of their texts is another.
fn sorted(mut facts: Vec<Fact>) -> Vec<Fact> {
    facts.sort_by(|a, b| a.atom.cmp(&b.atom));
    facts
}

pub fn site(conn: &Connection, site: &str) -> Result<Option<SiteRow>> {
    first(conn, "SELECT hash, seq, kb_head, shared_revision FROM site WHERE site = ?1", [site], |row| {
        Ok(SiteRow { hash: row.get(0)?, seq: row.get(1)?, kb_head: row.get(2)?, shared_revision: row.get(3)? })
    })
}

pub fn sites(conn: &Connection) -> Result<Vec<Name>> {
    all(conn, "SELECT site FROM site ORDER BY site", [], |row| row.get(0))
}

macro_rules! sessions_where {
    ($tail:literal) => {
        concat!("SELECT session, epoch, role, kb_version, turn, first_seq, opened_at, ended_at FROM session WHERE ", $tail)
    };
}

fn session(row: &Row<'_>) -> Result<SessionInfo> {
    Ok(SessionInfo {
        session: row.get(0)?,
        epoch: row.get(1)?,
        role: row.get(2)?,
        kb_version: row.get(3)?,
        turn: row.get(4)?,
        first_seq: row.get(5)?,
        opened_at: row.get(6)?,
        ended_at: row.get(7)?,
    })
}

pub fn latest(conn: &Connection, key: &SessionKey) -> Result<Option<SessionInfo>> {
    let sql = sessions_where!("site = ?1 AND session = ?2 ORDER BY epoch DESC LIMIT 1");
    first(conn, sql, (&*key.site, &*key.session), session)
}

pub fn sessions(conn: &Connection, site: &str) -> Result<Vec<SessionInfo>> {
    let sql = sessions_where!("site = ?1 ORDER BY first_seq");
    all(conn, sql, [site], session)
}

pub fn any_open(conn: &Connection, site: &str) -> Result<bool> {
    Ok(first(conn, "SELECT 1 FROM session WHERE site = ?1 AND ended_at IS NULL LIMIT 1", [site], |_| Ok(()))?.is_some())
}

/// Whether another session of the site is open: an id is open in one life at most.
pub fn others_open(conn: &Connection, key: &SessionKey) -> Result<bool> {
    let sql = "SELECT 1 FROM session WHERE site = ?1 AND ended_at IS NULL AND session <> ?2 LIMIT 1";
    Ok(first(conn, sql, (&*key.site, &*key.session), |_| Ok(()))?.is_some())
}

pub fn session_facts(conn: &Connection, key: &SessionKey, epoch: u64) -> Result<Vec<Fact>> {
    let sql = "SELECT f.fact, s.role, f.session, f.epoch, f.turn, f.at FROM session_fact f JOIN session s USING (site, session, epoch)
               WHERE f.site = ?1 AND f.session = ?2 AND f.epoch = ?3";
    all(conn, sql, (&*key.site, &*key.session, epoch), fact).map(sorted)
}

pub fn shared(conn: &Connection, site: &str) -> Result<Vec<Fact>> {
    all(conn, "SELECT fact, role, session, epoch, turn, at FROM shared_fact WHERE site = ?1", [site], fact).map(sorted)
}

pub fn kb_at(conn: &Connection, site: &str, version: u64) -> Result<Vec<Atom>> {
    let sql = "SELECT fact FROM kb_fact WHERE site = ?1 AND since <= ?2 AND (until IS NULL OR until > ?2)";
    let mut facts = all(conn, sql, (site, version), |row| atom(row, 0))?;
    facts.sort();
    Ok(facts)
}

pub fn kb_now(conn: &Connection, site: &str) -> Result<Vec<Fact>> {
    all(conn, "SELECT fact, role, session, epoch, turn, at FROM kb_fact WHERE site = ?1 AND until IS NULL", [site], fact).map(sorted)
}

/// Whether the newest kb holds a fact.
pub fn holds_now(conn: &Connection, site: &str, fact: &Atom) -> Result<bool> {
    let sql = "SELECT 1 FROM kb_fact WHERE site = ?1 AND fact = ?2 AND until IS NULL";
    Ok(first(conn, sql, (site, fact.to_string()), |_| Ok(()))?.is_some())
}

pub fn any_pending(conn: &Connection, site: &str) -> Result<bool> {
    Ok(first(conn, "SELECT 1 FROM kb_staged WHERE site = ?1 AND ready IS NOT NULL LIMIT 1", [site], |_| Ok(()))?.is_some())
}

/// What is collected: handed over, in the order of the sessions' ends, then that of open sessions, session by session.
pub fn collected(conn: &Connection, site: &str) -> Result<Vec<Collected>> {
    let sql = "SELECT change, role, session, epoch, turn, at, ready IS NOT NULL FROM kb_staged WHERE site = ?1
               ORDER BY ready IS NULL, ready, iif(ready IS NULL, session, ''), iif(ready IS NULL, epoch, 0), seq, i";
    all(conn, sql, [site], |row| {
        let change: Change = row.get_ref(0)?.as_str()?.parse().map_err(|e| unreadable(0, e))?;
        Ok(Collected { change, by: provenance(row, 1)?, handed_over: row.get(6)? })
    })
}

/// What a turn reads beside the site's own row.
pub struct Begun {
    pub latest: Option<SessionInfo>,
    pub facts: Vec<Fact>,
    pub shared: Vec<Fact>,
    pub pending: Vec<Collected>,
    pub others_open: bool,
    pub last: Option<Entry>,
    pub answered: Option<Entry>,
}

pub fn begin(conn: &Connection, key: &SessionKey, request: Option<&str>) -> Result<Begun> {
    let answered = request.map_or(Ok(None), |r| answered(conn, key, r))?;
    let latest = latest(conn, key)?;
    let last = match &latest {
        Some(s) if s.ended_at.is_none() => last_turn(conn, key, s.epoch)?,
        _ => None,
    };
    let facts = facts_of_open(conn, key, latest.as_ref())?;
    Ok(Begun { facts, shared: shared(conn, &key.site)?, pending: collected(conn, &key.site)?, others_open: others_open(conn, key)?, last, answered, latest })
}

/// The facts of a session that is open; one that ended, or never began, starts with none.
pub fn facts_of_open(conn: &Connection, key: &SessionKey, latest: Option<&SessionInfo>) -> Result<Vec<Fact>> {
    latest.filter(|s| s.ended_at.is_none()).map_or(Ok(Vec::new()), |s| session_facts(conn, key, s.epoch))
}

macro_rules! entries_where {
    ($tail:literal) => {
        concat!("SELECT seq, at, kind, session, epoch, turn, role, kb_version, request, ended, applied, record, changes FROM log WHERE ", $tail)
    };
}

fn entry(row: &Row<'_>) -> Result<Entry> {
    let cause = match row.get_ref(2)?.as_str()? {
        "install" => Cause::Install { hash: row.get(11)? },
        "rebase" => Cause::Rebase { hash: row.get(11)? },
        "close" => Cause::Close { session: row.get(3)?, epoch: row.get(4)? },
        _ => Cause::Turn(Turn {
            session: row.get(3)?,
            epoch: row.get(4)?,
            turn: row.get(5)?,
            role: row.get(6)?,
            kb_version: row.get(7)?,
            request: row.get(8)?,
            ended: row.get(9)?,
            record: row.get(11)?,
        }),
    };
    let changes = text_to_changes(row.get_ref(12)?.as_str()?).map_err(|e| unreadable(12, e))?;
    Ok(Entry { seq: row.get(0)?, at: row.get(1)?, cause, changes, applied: row.get(10)? })
}

pub fn log(conn: &Connection, site: &str, after: u64, limit: usize) -> Result<Vec<Entry>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let sql = entries_where!("site = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3");
    all(conn, sql, (site, bounded(after), limit), entry)
}

pub fn answered(conn: &Connection, key: &SessionKey, request: &str) -> Result<Option<Entry>> {
    let sql = entries_where!("site = ?1 AND session = ?2 AND request = ?3 AND request IS NOT NULL");
    first(conn, sql, (&*key.site, &*key.session, request), entry)
}

pub fn turns(conn: &Connection, key: &SessionKey, epoch: Option<u64>) -> Result<Vec<Entry>> {
    let sql = entries_where!("site = ?1 AND session = ?2 AND kind = 'turn' AND (?3 IS NULL OR epoch = ?3) ORDER BY seq");
    all(conn, sql, (&*key.site, &*key.session, epoch.map(bounded)), entry)
}

pub fn last_turn(conn: &Connection, key: &SessionKey, epoch: u64) -> Result<Option<Entry>> {
    let sql = entries_where!("site = ?1 AND session = ?2 AND epoch = ?3 AND kind = 'turn' ORDER BY turn DESC LIMIT 1");
    first(conn, sql, (&*key.site, &*key.session, epoch), entry)
}

/// The facts of the domain's files as they were last brought in: the fold of the entries that did.
pub fn base(conn: &Connection, site: &str) -> Result<BTreeSet<Atom>> {
    let sql = entries_where!("site = ?1 AND kind IN ('install', 'rebase') ORDER BY seq");
    let mut base = BTreeSet::new();
    for change in all(conn, sql, [site], entry)?.into_iter().flat_map(|e| e.changes).filter(|c| c.scope == Scope::Kb) {
        match change.op {
            crate::facts::Op::Add => base.insert(change.fact),
            crate::facts::Op::Del => base.remove(&change.fact),
        };
    }
    Ok(base)
}

/// SQLite's integers are signed; no counter of ours comes near.
fn bounded(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
