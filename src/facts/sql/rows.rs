//! Rows to values: every query of the stores that only reads.

use std::collections::BTreeSet;

use super::value::{Row, Unreadable, Value, values};
use super::{Database, Sql};
use crate::facts::change::{Change, text_to_changes};
use crate::facts::prune::MARK;
use crate::facts::{Cause, Collected, Entry, Fact, Op, Provenance, Result, SessionInfo, SessionKey, Turn};
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

type Read<T> = std::result::Result<T, Unreadable>;

/// All rows of a query.
fn all<T>(sql: &dyn Sql, text: &str, params: &[Value<'_>], read: impl Fn(&Row) -> Read<T>) -> Result<Vec<T>> {
    each(sql.place(), &sql.rows(text, params)?, read)
}

/// The first row of a query.
fn first<T>(sql: &dyn Sql, text: &str, params: &[Value<'_>], read: impl Fn(&Row) -> Read<T>) -> Result<Option<T>> {
    Ok(all(sql, text, params, read)?.into_iter().next())
}

fn each<T>(place: &str, rows: &[Row], read: impl Fn(&Row) -> Read<T>) -> Result<Vec<T>> {
    rows.iter().map(|row| read(row).map_err(|e| e.at(place))).collect()
}

fn atom(row: &Row, column: usize) -> Read<Atom> {
    Atom::parse(row.text(column)?).map_err(|e| Unreadable::text(column, &e))
}

/// A provenance from five columns: role, session, epoch, turn, at.
fn provenance(row: &Row, from: usize) -> Read<Provenance> {
    let (role, session) = (row.name(from)?, row.name(from + 1)?);
    Ok(Provenance { role, session, epoch: row.number(from + 2)?, turn: row.number(from + 3)?, at: row.time(from + 4)? })
}

/// A fact and its provenance from six columns.
fn fact(row: &Row) -> Read<Fact> {
    Ok(Fact { atom: atom(row, 0)?, provenance: provenance(row, 1)? })
}

/// In the order of terms: the order of their texts is another.
fn sorted(mut facts: Vec<Fact>) -> Vec<Fact> {
    facts.sort_by(|a, b| a.atom.cmp(&b.atom));
    facts
}

const SITE: &str = "SELECT hash, seq, kb_head, shared_revision FROM site WHERE site = ?1";

fn site_row(row: &Row) -> Read<SiteRow> {
    Ok(SiteRow { hash: row.owned(0)?, seq: row.number(1)?, kb_head: row.number(2)?, shared_revision: row.number(3)? })
}

pub fn site(sql: &dyn Sql, site: &str) -> Result<Option<SiteRow>> {
    first(sql, SITE, values![site], site_row)
}

/// The same, kept from other writers until the transaction ends.
pub fn site_to_write(sql: &dyn Sql, site: &str) -> Result<Option<SiteRow>> {
    first(sql, &format!("{SITE}{}", sql.to_write()), values![site], site_row)
}

pub fn sites(sql: &dyn Sql) -> Result<Vec<Name>> {
    all(sql, "SELECT site FROM site ORDER BY site", &[], |row| row.name(0))
}

macro_rules! sessions_where {
    ($tail:literal) => {
        concat!("SELECT session, epoch, role, kb_version, turn, first_seq, opened_at, ended_at FROM session WHERE ", $tail)
    };
}

fn session(row: &Row) -> Read<SessionInfo> {
    Ok(SessionInfo {
        session: row.name(0)?,
        epoch: row.number(1)?,
        role: row.name(2)?,
        kb_version: row.number(3)?,
        turn: row.number(4)?,
        first_seq: row.number(5)?,
        opened_at: row.time(6)?,
        ended_at: row.maybe(7, Row::time)?,
    })
}

const LATEST: &str = sessions_where!("site = ?1 AND session = ?2 ORDER BY epoch DESC LIMIT 1");

pub fn latest(sql: &dyn Sql, key: &SessionKey) -> Result<Option<SessionInfo>> {
    first(sql, LATEST, values![&key.site, &key.session], session)
}

pub fn sessions(sql: &dyn Sql, site: &str) -> Result<Vec<SessionInfo>> {
    all(sql, sessions_where!("site = ?1 ORDER BY first_seq"), values![site], session)
}

/// Sessions that ended before and are not forgotten, some of them. A forgotten turn's record is told by its first letters.
pub fn to_prune(sql: &dyn Sql, site: &str, before: i64) -> Result<Vec<SessionInfo>> {
    let text = sessions_where!(
        "site = ?1 AND ended_at < ?2 AND EXISTS (SELECT 1 FROM log l WHERE l.site = session.site AND l.session = session.session
         AND l.epoch = session.epoch AND l.turn = 1 AND l.kind = 'turn' AND substr(l.record, 1, 10) <> ?3) LIMIT 50"
    );
    all(sql, text, values![site, before, MARK], session)
}

pub fn any_open(sql: &dyn Sql, site: &str) -> Result<bool> {
    any(sql, "SELECT 1 FROM session WHERE site = ?1 AND ended_at IS NULL LIMIT 1", values![site])
}

fn any(sql: &dyn Sql, text: &str, params: &[Value<'_>]) -> Result<bool> {
    Ok(!sql.rows(text, params)?.is_empty())
}

/// An id is open in one life at most, so another session is one of another id.
const OTHERS_OPEN: &str = "SELECT 1 FROM session WHERE site = ?1 AND ended_at IS NULL AND session <> ?2 LIMIT 1";

/// Whether another session of the site is open.
pub fn others_open(sql: &dyn Sql, key: &SessionKey) -> Result<bool> {
    any(sql, OTHERS_OPEN, values![&key.site, &key.session])
}

pub fn session_facts(sql: &dyn Sql, key: &SessionKey, epoch: u64) -> Result<Vec<Fact>> {
    let text = "SELECT f.fact, s.role, f.session, f.epoch, f.turn, f.at FROM session_fact f JOIN session s USING (site, session, epoch)
                WHERE f.site = ?1 AND f.session = ?2 AND f.epoch = ?3";
    all(sql, text, values![&key.site, &key.session, epoch], fact).map(sorted)
}

/// The facts of a session that is open; one that ended, or never began, starts with none.
const FACTS_OF_OPEN: &str = "SELECT f.fact, s.role, f.session, f.epoch, f.turn, f.at FROM session s JOIN session_fact f USING (site, session, epoch)
     WHERE s.site = ?1 AND s.session = ?2 AND s.ended_at IS NULL";

const SHARED: &str = "SELECT fact, role, session, epoch, turn, at FROM shared_fact WHERE site = ?1";

pub fn shared(sql: &dyn Sql, site: &str) -> Result<Vec<Fact>> {
    all(sql, SHARED, values![site], fact).map(sorted)
}

pub fn kb_at(sql: &dyn Sql, site: &str, version: u64) -> Result<Vec<Atom>> {
    let text = "SELECT fact FROM kb_fact WHERE site = ?1 AND since <= ?2 AND (until IS NULL OR until > ?2)";
    let mut facts = all(sql, text, values![site, version], |row| atom(row, 0))?;
    facts.sort();
    Ok(facts)
}

pub fn kb_now(sql: &dyn Sql, site: &str) -> Result<Vec<Fact>> {
    all(sql, "SELECT fact, role, session, epoch, turn, at FROM kb_fact WHERE site = ?1 AND until IS NULL", values![site], fact).map(sorted)
}

/// Whether the newest kb holds a fact.
pub fn holds_now(sql: &dyn Sql, site: &str, fact: &Atom) -> Result<bool> {
    any(sql, "SELECT 1 FROM kb_fact WHERE site = ?1 AND fact = ?2 AND until IS NULL", values![site, &fact.to_string()])
}

pub fn any_pending(sql: &dyn Sql, site: &str) -> Result<bool> {
    any(sql, "SELECT 1 FROM kb_staged WHERE site = ?1 AND ready IS NOT NULL LIMIT 1", values![site])
}

/// What is collected: handed over, in the order of the sessions' ends, then that of open sessions, session by session.
const COLLECTED: &str = "SELECT change, role, session, epoch, turn, at, CASE WHEN ready IS NULL THEN 0 ELSE 1 END FROM kb_staged WHERE site = ?1
     ORDER BY ready IS NULL, ready, CASE WHEN ready IS NULL THEN session ELSE '' END, CASE WHEN ready IS NULL THEN epoch ELSE 0 END, seq, i";

pub fn collected(sql: &dyn Sql, site: &str) -> Result<Vec<Collected>> {
    all(sql, COLLECTED, values![site], one_collected)
}

fn one_collected(row: &Row) -> Read<Collected> {
    let change: Change = row.text(0)?.parse().map_err(|e| Unreadable::text(0, &e))?;
    Ok(Collected { change, by: provenance(row, 1)?, handed_over: row.flag(6)? })
}

/// What a turn reads.
pub struct Begun {
    pub row: Option<SiteRow>,
    pub latest: Option<SessionInfo>,
    pub facts: Vec<Fact>,
    pub shared: Vec<Fact>,
    pub pending: Vec<Collected>,
    pub others_open: bool,
    pub last: Option<Entry>,
    pub answered: Option<Entry>,
}

/// Everything that a turn reads, in queries that do not wait for one another.
pub fn begin(database: &impl Database, key: &SessionKey, request: Option<&str>) -> Result<Begun> {
    let (own, site): (&[Value<'_>], &[Value<'_>]) = (values![&key.site, &key.session], values![&key.site]);
    let asked: &[Value<'_>] = values![&key.site, &key.session, request];
    let mut queries = vec![(SITE, site), (LATEST, own), (FACTS_OF_OPEN, own), (SHARED, site), (COLLECTED, site), (OTHERS_OPEN, own), (LAST_OF_OPEN, own)];
    if request.is_some() {
        queries.push((ANSWERED, asked));
    }
    let answers = database.at_once(&queries)?;
    let place = database.place();
    let rows = |n: usize| answers.get(n).map(Vec::as_slice).unwrap_or_default();
    Ok(Begun {
        row: each(place, rows(0), site_row)?.pop(),
        latest: each(place, rows(1), session)?.pop(),
        facts: sorted(each(place, rows(2), fact)?),
        shared: sorted(each(place, rows(3), fact)?),
        pending: each(place, rows(4), one_collected)?,
        others_open: !rows(5).is_empty(),
        last: each(place, rows(6), entry)?.pop(),
        answered: each(place, rows(7), entry)?.pop(),
    })
}

/// The facts of a session that is open.
pub fn facts_of_open(sql: &dyn Sql, key: &SessionKey) -> Result<Vec<Fact>> {
    all(sql, FACTS_OF_OPEN, values![&key.site, &key.session], fact).map(sorted)
}

macro_rules! entries_where {
    ($tail:literal) => {
        concat!("SELECT seq, at, kind, session, epoch, turn, role, kb_version, request, ended, applied, record, changes FROM log WHERE ", $tail)
    };
}

fn entry(row: &Row) -> Read<Entry> {
    let cause = match row.text(2)? {
        "install" => Cause::Install { hash: row.owned(11)? },
        "rebase" => Cause::Rebase { hash: row.owned(11)? },
        "close" => Cause::Close { session: row.name(3)?, epoch: row.number(4)? },
        _ => Cause::Turn(Turn {
            session: row.name(3)?,
            epoch: row.number(4)?,
            turn: row.number(5)?,
            role: row.name(6)?,
            kb_version: row.number(7)?,
            request: row.maybe(8, Row::owned)?,
            ended: row.flag(9)?,
            record: row.owned(11)?,
        }),
    };
    let changes = text_to_changes(row.text(12)?).map_err(|e| Unreadable::text(12, &e))?;
    Ok(Entry { seq: row.number(0)?, at: row.time(1)?, cause, changes, applied: row.flag(10)? })
}

pub fn log(sql: &dyn Sql, site: &str, after: u64, limit: usize) -> Result<Vec<Entry>> {
    let limit = u64::try_from(limit).unwrap_or(u64::MAX);
    all(sql, entries_where!("site = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3"), values![site, after, limit], entry)
}

const ANSWERED: &str = entries_where!("site = ?1 AND session = ?2 AND request = ?3 AND request IS NOT NULL");

pub fn answered(sql: &dyn Sql, key: &SessionKey, request: &str) -> Result<Option<Entry>> {
    first(sql, ANSWERED, values![&key.site, &key.session, request], entry)
}

pub fn turns(sql: &dyn Sql, key: &SessionKey, epoch: Option<u64>) -> Result<Vec<Entry>> {
    let text = entries_where!("site = ?1 AND session = ?2 AND kind = 'turn' AND (CAST(?3 AS BIGINT) IS NULL OR epoch = CAST(?3 AS BIGINT)) ORDER BY seq");
    all(sql, text, values![&key.site, &key.session, epoch], entry)
}

pub fn last_turn(sql: &dyn Sql, key: &SessionKey, epoch: u64) -> Result<Option<Entry>> {
    let text = entries_where!("site = ?1 AND session = ?2 AND epoch = ?3 AND kind = 'turn' ORDER BY turn DESC LIMIT 1");
    first(sql, text, values![&key.site, &key.session, epoch], entry)
}

/// The last turn of a session that is open.
const LAST_OF_OPEN: &str = entries_where!(
    "site = ?1 AND session = ?2 AND kind = 'turn'
     AND epoch = (SELECT max(s.epoch) FROM session s WHERE s.site = ?1 AND s.session = ?2 AND s.ended_at IS NULL) ORDER BY turn DESC LIMIT 1"
);

/// The facts of the domain's files as they were last brought in: the fold of the entries that did.
pub fn base(sql: &dyn Sql, site: &str) -> Result<BTreeSet<Atom>> {
    let text = entries_where!("site = ?1 AND kind IN ('install', 'rebase') ORDER BY seq");
    let mut base = BTreeSet::new();
    for change in all(sql, text, values![site], entry)?.into_iter().flat_map(|e| e.changes).filter(|c| c.scope == Scope::Kb) {
        match change.op {
            Op::Add => base.insert(change.fact),
            Op::Del => base.remove(&change.fact),
        };
    }
    Ok(base)
}
