//! Facts: three scopes in one typed store, where the log of turns is the truth and every table a fold of it.
//!
//! * **kb** is versioned per site: a session keeps the version it began with.
//! * **shared** is per site and seen by everybody at the next turn.
//! * **session** belongs to one conversation: a site, a session id and an epoch (an id starts afresh after its end).
//!
//! A turn reads once ([`Store::begin`]; the kb of a version never changes, so [`Store::kb`] is asked once a version),
//! decides without holding anything, and writes once ([`Store::commit`]). Nothing is locked in between; a commit whose
//! reading has been overtaken is refused as [`StoreError::Stale`] and the caller decides again on fresh facts. A session exists from its first committed turn, so
//! a turn that never committed leaves nothing behind.
//!
//! ```
//! use duologue::facts::{Committed, MemoryStore, SessionKey, Store};
//! use duologue::term::Atom;
//!
//! let store = MemoryStore::default();
//! store.install("main street", &[Atom::parse("dish(\"Soup\")")?], 0)?;
//! let key = SessionKey::new("main street", "c1");
//! let snapshot = store.begin(&key, "customer", None)?;
//! let mut turn = snapshot.opened.turn(1_700_000_000_000);
//! turn.read = Some(snapshot.revision);
//! turn.changes.push("add session line(1,\"Soup\")".parse()?);
//! turn.record = "{}".into();
//! assert!(matches!(store.commit(&turn)?, Committed::Done(_)));
//! assert_eq!(store.open(&key, "customer")?.turn, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod bench;
pub mod change;
pub mod error;
pub mod fold;
pub mod memory;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod prune;
pub mod rules;
pub mod snapshot;
mod sql;
pub mod sqlite;
pub mod verify;

use std::path::Path;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use tokio::sync::broadcast::Receiver;

use crate::ontology::Scope;
use crate::term::{Atom, Name};

pub use change::{Change, Op};
pub use error::{Overtaken, StoreError};
pub use memory::MemoryStore;
#[cfg(feature = "postgres")]
pub use postgres::{PostgresOptions, PostgresStore};
pub use prune::Pruned;
pub use snapshot::{Collected, Pending, Revision, Snapshot};
pub use sqlite::{Durability, SqliteOptions, SqliteStore};
pub use verify::{Difference, verify_log};

/// What a store call gives.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// A conversation as its callers name it. The epoch is the store's own affair.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct SessionKey {
    /// The site: the unit of isolation.
    #[serde(serialize_with = "as_text")]
    pub site: Name,
    /// The session's id within the site.
    #[serde(serialize_with = "as_text")]
    pub session: Name,
}

impl SessionKey {
    /// A key from its parts.
    pub fn new(site: &str, session: &str) -> Self {
        Self { site: site.into(), session: session.into() }
    }
}

/// Who brought a fact about, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Provenance {
    /// The role that spoke; [`DOMAIN_ROLE`] for what came with the domain's own files.
    #[serde(serialize_with = "as_text")]
    pub role: Name,
    /// The session, empty for the domain's own files.
    #[serde(serialize_with = "as_text")]
    pub session: Name,
    /// Which life of the session's id.
    pub epoch: u64,
    /// The turn within the session, from 1.
    pub turn: u64,
    /// When, in milliseconds since 1970, as the caller's clock said.
    pub at: i64,
}

/// The role that stands in the provenance of facts from the domain's own files.
pub const DOMAIN_ROLE: &str = "domain";

/// A fact with its provenance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// The fact.
    pub atom: Atom,
    /// Where it comes from.
    pub provenance: Provenance,
}

/// When collected kb changes become the next version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CommitRule {
    /// When no session of the site is open, checked in the transaction of the turn that ends the last one.
    #[default]
    WhenNoSessionIsOpen,
    /// At the quit of the session that collected them; sessions that are open keep their version.
    AtManagersQuit,
}

/// What a session finds when it takes a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The session.
    pub key: SessionKey,
    /// The role that speaks in it.
    pub role: Name,
    /// Which life of the id this is, from 1.
    pub epoch: u64,
    /// The kb version it began with, or would begin with now.
    pub kb_version: u64,
    /// Turns taken so far.
    pub turn: u64,
    /// Its own facts, sorted.
    pub facts: Vec<Fact>,
}

impl Opened {
    /// The next turn of this session, still empty.
    pub fn turn(&self, at: i64) -> TurnCommit {
        TurnCommit {
            key: self.key.clone(),
            role: self.role.clone(),
            epoch: self.epoch,
            turn: self.turn.saturating_add(1),
            kb_version: self.kb_version,
            read: None,
            request: None,
            at,
            changes: Vec::new(),
            ended: false,
            record: String::new(),
        }
    }
}

/// Everything one turn changes, committed in one transaction or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnCommit {
    /// The session.
    pub key: SessionKey,
    /// The role that spoke.
    pub role: Name,
    /// The epoch that was read.
    pub epoch: u64,
    /// This turn's number: one more than the turns that were read.
    pub turn: u64,
    /// The kb version that was read.
    pub kb_version: u64,
    /// What else the decision read; if given and no longer current, the turn is stale.
    pub read: Option<Revision>,
    /// The caller's own name for this request: sent twice in a session, it is taken once and answered alike.
    pub request: Option<String>,
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// The changes, as a set: a fact both deleted and added stays.
    pub changes: Vec<Change>,
    /// Whether the session ends with this turn.
    pub ended: bool,
    /// The turn's record, for replay and explanation (JSON; the store does not look into it).
    pub record: String,
}

/// What became of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Committed {
    /// The turn was taken.
    Done(Receipt),
    /// A turn with this request had been taken before; here it is, and nothing changed.
    Before(Box<Entry>),
}

/// Proof that a turn is in the log. Nobody but the store can make one, so whoever holds it may act on the outside for that turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    key: SessionKey,
    epoch: u64,
    turn: u64,
}

impl Ticket {
    /// The turn's own name, from letters, digits, `-`, `.` and `_` alone: the same turn always has the same one, and no other turn has it.
    pub fn name(&self) -> String {
        turn_name(&self.key, self.epoch, self.turn)
    }
}

impl TurnCommit {
    /// The turn as the log keeps it.
    fn logged(&self) -> Turn {
        Turn {
            session: self.key.session.clone(),
            epoch: self.epoch,
            turn: self.turn,
            role: self.role.clone(),
            kb_version: self.kb_version,
            request: self.request.clone(),
            ended: self.ended,
            record: self.record.clone(),
        }
    }

    /// The name that the ticket will have when the turn is committed, for facts about calls that are still to be made.
    pub fn name(&self) -> String {
        turn_name(&self.key, self.epoch, self.turn)
    }
}

fn turn_name(key: &SessionKey, epoch: u64, turn: u64) -> String {
    let plain = |name: &str| -> String {
        name.bytes().map(|b| if b.is_ascii_alphanumeric() || b == b'-' { char::from(b).to_string() } else { format!("_{b:02x}") }).collect()
    };
    format!("{}.{}.{}.{}", plain(&key.site), plain(&key.session), epoch, turn)
}

/// Where the site stands after an entry of its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The entry's number in the site's log.
    pub seq: u64,
    /// The newest kb version.
    pub kb_head: u64,
    /// Whether this entry made that version.
    pub kb_changed: bool,
    /// The revision of the shared facts.
    pub shared_revision: u64,
}

/// Where a site stands since something moved that its sessions share: a shared fact, or the kb.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The site.
    pub site: Name,
    /// The newest kb version.
    pub kb_head: u64,
    /// The revision of the shared facts.
    pub shared_revision: u64,
}

/// What [`Store::install`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "`Differs` means that the site goes on with other facts than the domain's files hold"]
pub enum Installed {
    /// The site is new and holds these facts as version 0.
    New,
    /// The site was begun with the same facts.
    Same,
    /// The site was begun with other facts, these, and keeps them; [`Store::rebase`] brings the difference in.
    Differs(Vec<Atom>),
}

/// One entry of a site's log. The log is append-only and in one order per site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Its number, from 1.
    pub seq: u64,
    /// When.
    pub at: i64,
    /// What happened.
    pub cause: Cause,
    /// What it changed (for `Install` the initial facts).
    pub changes: Vec<Change>,
    /// Whether pending kb changes were applied with it.
    pub applied: bool,
}

/// What an entry of the log records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// The site began.
    Install {
        /// Content hash of the facts.
        hash: String,
    },
    /// The domain's files changed and the difference was brought in.
    Rebase {
        /// Content hash of the new base.
        hash: String,
    },
    /// A turn was taken.
    Turn(Turn),
    /// A session was closed from outside; its uncommitted kb changes are dropped.
    Close {
        /// The session.
        #[serde(serialize_with = "as_text")]
        session: Name,
        /// Its epoch.
        epoch: u64,
    },
}

/// A turn as the log holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Turn {
    /// The session.
    #[serde(serialize_with = "as_text")]
    pub session: Name,
    /// Its epoch.
    pub epoch: u64,
    /// The turn's number, from 1.
    pub turn: u64,
    /// Who spoke.
    #[serde(serialize_with = "as_text")]
    pub role: Name,
    /// The kb version it was decided on.
    pub kb_version: u64,
    /// The caller's name for the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Whether the session ended with it.
    pub ended: bool,
    /// The record its caller gave.
    pub record: String,
}

impl Turn {
    /// The provenance of what it brought about.
    fn by(&self, at: i64) -> Provenance {
        Provenance { role: self.role.clone(), session: self.session.clone(), epoch: self.epoch, turn: self.turn, at }
    }
}

impl Entry {
    /// The turn, if the entry is one.
    pub fn turn(&self) -> Option<&Turn> {
        match &self.cause {
            Cause::Turn(t) => Some(t),
            _ => None,
        }
    }
}

/// One life of a session id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionInfo {
    /// The id.
    #[serde(serialize_with = "as_text")]
    pub session: Name,
    /// Which life, from 1.
    pub epoch: u64,
    /// Who speaks in it.
    #[serde(serialize_with = "as_text")]
    pub role: Name,
    /// The kb version it began with.
    pub kb_version: u64,
    /// Turns taken.
    pub turn: u64,
    /// The log entry of its first turn.
    pub first_seq: u64,
    /// When it opened.
    pub opened_at: i64,
    /// When it ended; `None` while it is open.
    pub ended_at: Option<i64>,
}

/// A typed store of facts. Every call is about one site and sees nothing of another.
pub trait Store: Send + Sync {
    /// Begins a site with its initial kb facts as version 0, or tells whether it was begun with the same.
    fn install(&self, site: &str, facts: &[Atom], at: i64) -> Result<Installed>;

    /// Brings the difference between the site's base and `facts` in as kb changes, under the commit rule; what managers
    /// changed since stays, unless the same fact is concerned.
    fn rebase(&self, site: &str, facts: &[Atom], at: i64) -> Result<Receipt>;

    /// Everything that a turn is decided on, but for the kb, in one read. Writes nothing: a session begins with its first commit.
    fn begin(&self, key: &SessionKey, role: &str, request: Option<&str>) -> Result<Snapshot>;

    /// What the session finds now, without the rest of the site.
    fn open(&self, key: &SessionKey, role: &str) -> Result<Opened>;

    /// Takes a turn: log entry, facts, kb and the session's end in one transaction.
    fn commit(&self, turn: &TurnCommit) -> Result<Committed>;

    /// Takes a turn whose calls are to be made: the ticket allows them. A turn that was taken before gives none, since its calls were made then.
    fn commit_to_act(&self, turn: &TurnCommit) -> Result<(Committed, Option<Ticket>)> {
        let committed = self.commit(turn)?;
        let ticket = matches!(committed, Committed::Done(_)).then(|| Ticket { key: turn.key.clone(), epoch: turn.epoch, turn: turn.turn });
        Ok((committed, ticket))
    }

    /// The last turn of one life of a session with its ticket, for a process that goes on after another one broke off between a commit and its calls.
    fn resume(&self, key: &SessionKey, epoch: u64) -> Result<Option<(Entry, Ticket)>> {
        Ok(self.last_turn(key, epoch)?.and_then(|entry| {
            let turn = entry.turn()?.turn;
            Some((entry, Ticket { key: key.clone(), epoch, turn }))
        }))
    }

    /// Ends an open session from outside (abandoned, timed out); `None` if none is open. What it collected is dropped, and the kb changes given
    /// are handed over with its end, which stands on what was read: the version that it may make was judged so.
    fn close(&self, key: &SessionKey, at: i64, changes: &[Change], read: Option<Revision>) -> Result<Option<Receipt>>;

    /// Takes over entries of another store's log as they are, all or none: where a site stands, they go on; entry 1 begins it.
    fn restore(&self, site: &str, entries: &[Entry]) -> Result<()>;

    /// Forgets what conversations said that ended before `before`, in milliseconds since 1970: their facts, and of their turns all but what they
    /// changed for others and a digest of what went. The log stays whole, and the tables stay its fold.
    fn prune(&self, site: &str, before: i64) -> Result<Pruned>;

    /// The kb facts of a version, sorted.
    fn kb(&self, site: &str, version: u64) -> Result<Arc<Vec<Atom>>>;

    /// The newest kb version.
    fn kb_head(&self, site: &str) -> Result<u64>;

    /// What is collected for the next kb version: handed over, in the order in which it will be applied, then what open sessions collected.
    fn pending(&self, site: &str) -> Result<Vec<Collected>>;

    /// The shared facts, sorted, with their revision.
    fn shared(&self, site: &str) -> Result<(u64, Vec<Fact>)>;

    /// The facts of one life of a session, sorted; they stay readable after its end.
    fn session_facts(&self, key: &SessionKey, epoch: u64) -> Result<Vec<Fact>>;

    /// The sites, sorted.
    fn sites(&self) -> Result<Vec<Name>>;

    /// The sessions of a site in the order they opened.
    fn sessions(&self, site: &str) -> Result<Vec<SessionInfo>>;

    /// Entries of the site's log with a number above `after`, at most `limit`, in order.
    fn log(&self, site: &str, after: u64, limit: usize) -> Result<Vec<Entry>>;

    /// The turns of one life of a session (`None`: of all), in order.
    fn turns(&self, key: &SessionKey, epoch: Option<u64>) -> Result<Vec<Entry>>;

    /// The last turn of one life of a session, if it took any: what was said and done just before.
    fn last_turn(&self, key: &SessionKey, epoch: u64) -> Result<Option<Entry>>;

    /// The newest kb facts with their provenance, sorted.
    fn kb_facts(&self, site: &str) -> Result<Vec<Fact>>;

    /// What moves from now on, in this process or another, where the store can tell. Turns need not listen: each reads how things stand.
    fn moves(&self) -> Option<Receiver<Moved>> {
        None
    }

    /// Whether the medium itself is sound (not whether the log and the tables agree: see [`verify_log`]).
    fn integrity(&self) -> Result<()> {
        Ok(())
    }

    /// The facts of a scope as they stand: newest kb, shared, or those of an open session (none if it is not open).
    fn facts(&self, scope: Scope, key: &SessionKey) -> Result<Vec<Fact>> {
        match scope {
            Scope::Kb => self.kb_facts(&key.site),
            Scope::Shared => self.shared(&key.site).map(|(_, facts)| facts),
            Scope::Session => {
                let open = self.sessions(&key.site)?.into_iter().rfind(|s| s.session == key.session && s.ended_at.is_none());
                open.map_or_else(|| Ok(Vec::new()), |s| self.session_facts(key, s.epoch))
            }
        }
    }
}

fn as_text<S: Serializer>(name: &Name, s: S) -> std::result::Result<S::Ok, S::Error> {
    s.serialize_str(name)
}

/// Whether a place is the address of a PostgreSQL database.
pub fn is_address(place: &str) -> bool {
    place.starts_with("postgres://") || place.starts_with("postgresql://")
}

/// Opens the store that `place` names: `:memory:`, the address of a PostgreSQL database, or a file.
pub fn open_store(place: &str, rule: CommitRule) -> Result<Arc<dyn Store>> {
    if place == ":memory:" {
        return Ok(Arc::new(MemoryStore::new(rule)));
    }
    if is_address(place) {
        return open_server(place, rule);
    }
    let options = SqliteOptions { rule, ..SqliteOptions::default() };
    Ok(Arc::new(SqliteStore::open(Path::new(place), options)?))
}

#[cfg(feature = "postgres")]
fn open_server(place: &str, rule: CommitRule) -> Result<Arc<dyn Store>> {
    let options = PostgresOptions { rule, ..PostgresOptions::default() };
    Ok(Arc::new(PostgresStore::connect(place, options)?))
}

#[cfg(not(feature = "postgres"))]
fn open_server(_: &str, _: CommitRule) -> Result<Arc<dyn Store>> {
    Err(StoreError::CannotOpen { file: "postgres".to_owned(), detail: "this program was built without the feature `postgres`".to_owned() })
}
