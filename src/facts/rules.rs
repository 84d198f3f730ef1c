//! The rules of a commit that every store applies alike: who may take which turn, and when the kb moves.

use std::collections::BTreeSet;

use super::change::{Change, canonical};
use super::{Cause, CommitRule, Entry, Opened, Overtaken, Pending, Result, Revision, SessionInfo, SessionKey, StoreError, TurnCommit};
use crate::term::{Atom, Name};

/// Longest site, session, role or request name, in bytes.
pub const MAX_NAME_BYTES: usize = 200;
/// Largest record of a turn, in bytes.
pub const MAX_RECORD_BYTES: usize = 16 << 20;
/// Most changes of a turn.
pub const MAX_CHANGES: usize = 20_000;

/// What a store knows before a commit.
#[derive(Clone, Copy, Debug)]
pub struct Standing<'a> {
    /// The newest life of the session's id, if it ever lived.
    pub latest: Option<&'a SessionInfo>,
    /// The newest kb version.
    pub kb_head: u64,
    /// The revision of the shared facts.
    pub shared_revision: u64,
    /// What is collected; only if the turn read it.
    pub pending: Option<Pending>,
    /// Whether the session's end would make the next version.
    pub last_one: bool,
}

/// Checks the parts of a turn that need no store, and gives its changes as a canonical set.
pub fn well_formed(turn: &TurnCommit) -> Result<Vec<Change>> {
    check_key(&turn.key)?;
    check_name("role", &turn.role)?;
    if let Some(request) = &turn.request {
        check_name("request", request)?;
    }
    check_size("bytes of record", turn.record.len(), MAX_RECORD_BYTES)?;
    check_size("changes", turn.changes.len(), MAX_CHANGES)?;
    turn.changes.iter().try_for_each(|c| check_fact(&c.fact))?;
    Ok(canonical(&turn.changes))
}

/// Checks that a turn stands on what still holds; `true` if it begins its session.
pub fn admit(turn: &TurnCommit, standing: Standing<'_>) -> Result<bool> {
    let stale = |overtaken| Err(StoreError::Stale { session: turn.key.session.clone(), overtaken });
    let open = standing.latest.filter(|s| s.ended_at.is_none());
    if let Some(s) = open
        && s.role != turn.role
    {
        return Err(other_role(s, &turn.role));
    }
    let epoch = next_epoch(standing.latest);
    if turn.epoch != epoch {
        return stale(Overtaken::Epoch { given: turn.epoch, current: epoch });
    }
    let next = open.map_or(0, |s| s.turn).saturating_add(1);
    if turn.turn != next {
        return stale(Overtaken::Turn { given: turn.turn, next });
    }
    let version = open.map_or(standing.kb_head, |s| s.kb_version);
    if turn.kb_version != version {
        return stale(Overtaken::Kb { given: turn.kb_version, current: version });
    }
    match turn.read.and_then(|read| overtaken(read, standing)) {
        Some(by) => stale(by),
        None => Ok(open.is_none()),
    }
}

/// What of that which was read beside the session moved since.
fn overtaken(read: Revision, standing: Standing<'_>) -> Option<Overtaken> {
    if read.shared != standing.shared_revision {
        return Some(Overtaken::Shared { given: read.shared, current: standing.shared_revision });
    }
    if read.pending.is_some() && read.pending != standing.pending {
        return Some(Overtaken::Pending);
    }
    read.last_one.is_some_and(|given| given != standing.last_one).then_some(Overtaken::Others)
}

/// Checks the end of a session from outside; `None` if it is not open.
pub fn admit_end(key: &SessionKey, read: Option<Revision>, standing: Standing<'_>) -> Result<Option<u64>> {
    match (standing.latest.filter(|s| s.ended_at.is_none()), read.and_then(|read| overtaken(read, standing))) {
        (None, _) => Ok(None),
        (Some(_), Some(overtaken)) => Err(StoreError::Stale { session: key.session.clone(), overtaken }),
        (Some(open), None) => Ok(Some(open.epoch)),
    }
}

/// What a session finds, its facts still to be filled in.
pub fn opened(key: &SessionKey, role: &str, latest: Option<&SessionInfo>, kb_head: u64) -> Result<Opened> {
    let open = latest.filter(|s| s.ended_at.is_none());
    match open {
        Some(s) if &*s.role != role => Err(other_role(s, role)),
        _ => Ok(whoever_speaks(key, role, latest, kb_head)),
    }
}

/// The same whoever speaks in it now: for a request that was answered before.
pub fn whoever_speaks(key: &SessionKey, role: &str, latest: Option<&SessionInfo>, kb_head: u64) -> Opened {
    let open = latest.filter(|s| s.ended_at.is_none());
    Opened {
        key: key.clone(),
        role: role.into(),
        epoch: next_epoch(latest),
        kb_version: open.map_or(kb_head, |s| s.kb_version),
        turn: open.map_or(0, |s| s.turn),
        facts: Vec::new(),
    }
}

/// The epoch that a turn may belong to now.
fn next_epoch(latest: Option<&SessionInfo>) -> u64 {
    match latest {
        None => 1,
        Some(s) if s.ended_at.is_none() => s.epoch,
        Some(s) => s.epoch.saturating_add(1),
    }
}

/// Whether a session's end makes what is collected the next version.
pub fn last_one(rule: CommitRule, others_open: bool) -> bool {
    applies(rule, true, others_open)
}

/// Whether pending kb changes become the next version now.
pub fn applies(rule: CommitRule, any_pending: bool, any_open: bool) -> bool {
    any_pending
        && match rule {
            CommitRule::WhenNoSessionIsOpen => !any_open,
            CommitRule::AtManagersQuit => true,
        }
}

/// Checks that an entry of another store's log is the next one of a site that has `seq` entries.
pub fn follows(site: &str, seq: u64, entry: &Entry) -> Result<()> {
    let begins = matches!(entry.cause, Cause::Install { .. });
    if entry.seq == seq + 1 && begins == (seq == 0) {
        return Ok(());
    }
    Err(StoreError::NotNext { site: site.to_owned(), seq: entry.seq, stands: seq })
}

fn other_role(session: &SessionInfo, asked: &str) -> StoreError {
    StoreError::OtherRole { session: session.session.clone(), holder: session.role.clone(), asked: asked.into() }
}

/// Checks the names of a session.
pub fn check_key(key: &SessionKey) -> Result<()> {
    check_name("site", &key.site)?;
    check_name("session", &key.session)
}

/// Checks that a name is short and printable, so that it can stand in messages, keys and logs.
pub fn check_name(kind: &'static str, name: &str) -> Result<()> {
    if name.is_empty() || name.len() > MAX_NAME_BYTES || name.chars().any(char::is_control) {
        let shown = name.chars().filter(|c| !c.is_control()).take(40).collect();
        return Err(StoreError::BadName { kind, shown, limit: MAX_NAME_BYTES });
    }
    Ok(())
}

fn check_size(what: &'static str, found: usize, limit: usize) -> Result<()> {
    if found > limit { Err(StoreError::TooLarge { what, found, limit }) } else { Ok(()) }
}

/// Checks that a fact reads back as it was written: a fact that did not would lock its session for good.
fn check_fact(fact: &Atom) -> Result<()> {
    let text = fact.to_string();
    match Atom::parse(&text) {
        Ok(back) if back == *fact => Ok(()),
        _ => Err(StoreError::BadFact(text.chars().take(120).collect())),
    }
}

/// The facts of a base as a set, each checked.
pub fn base_of(facts: &[Atom]) -> Result<BTreeSet<Atom>> {
    facts.iter().try_for_each(check_fact)?;
    Ok(facts.iter().cloned().collect())
}

/// A name of the domain's own provenance.
pub fn domain_name() -> Name {
    super::DOMAIN_ROLE.into()
}
