//! What one turn reads: everything a decision may rest on, as of one moment, and how the store tells whether it still holds.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use super::change::{Change, Fnv, canonical};
use super::fold::{fact, put};
use super::{Cause, Entry, Fact, Opened, Provenance, Receipt, TurnCommit};
use crate::ontology::Scope;

/// A kb change that some session collected and no version holds yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Collected {
    /// The change.
    pub change: Change,
    /// Who asked for it, in which turn of which session.
    pub by: Provenance,
    /// Whether its session ended, so that it only waits for its version; else it may still be taken back.
    pub handed_over: bool,
}

/// What a turn was decided on beside its session, for the commit to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revision {
    /// The revision of the shared facts.
    pub shared: u64,
    /// What is collected for the next kb version, by all sessions; `None` where the decision does not read it.
    pub pending: Option<Pending>,
    /// Whether the session's end would make that version; `None` where the decision does not depend on it.
    pub last_one: Option<bool>,
}

/// Stands for a list of collected changes: the same list has the same, whichever store it is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending(u128);

impl Pending {
    /// What stands for the newest kb version with these changes collected.
    pub fn of(kb_head: u64, collected: &[Collected]) -> Self {
        let mut hash = Fnv::new();
        // Hashing cannot fail: the writer below never does.
        let _ = writeln!(hash, "{kb_head}");
        for c in collected {
            let _ = writeln!(hash, "{} {} {:?} {}", c.handed_over, c.by.epoch, c.by.session, c.change);
        }
        Self(hash.finish())
    }
}

/// What a session finds when it takes a turn, read at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The session with its own facts.
    pub opened: Opened,
    /// The newest kb version; the session keeps the one it began with.
    pub kb_head: u64,
    /// The shared facts of the site, sorted.
    pub shared: Vec<Fact>,
    /// What is collected for the next kb version: handed over, in the order in which it will be applied, then what open sessions collected.
    pub pending: Vec<Collected>,
    /// Whether the end of this session would make what is collected the next version.
    pub last_one: bool,
    /// The last turn of this life of the session, if it took any.
    pub last: Option<Entry>,
    /// The turn that answered this request before, in whichever life of the session's id. If there is one, no other is to be decided.
    pub answered: Option<Box<Entry>>,
    /// What the commit compares.
    pub revision: Revision,
}

impl Snapshot {
    /// Whether a call of this session is under way, or was when its process broke off.
    pub fn has_calls(&self) -> bool {
        self.opened.facts.iter().any(|f| &*f.atom.name == "calling")
    }

    /// How things stand after a turn that was decided on this and committed, so that what comes next in it need not be read: had another written
    /// since, the next commit would be refused as stale. `None` where the kb is concerned, which only the store can tell.
    pub fn after(mut self, commit: &TurnCommit, receipt: Receipt) -> Option<Self> {
        let changes = canonical(&commit.changes);
        if commit.ended || receipt.kb_head != self.kb_head || changes.iter().any(|c| c.scope == Scope::Kb) {
            return None;
        }
        let turn = commit.logged();
        let by = turn.by(commit.at);
        for (scope, facts) in [(Scope::Session, &mut self.opened.facts), (Scope::Shared, &mut self.shared)] {
            let mut held: BTreeMap<_, _> = std::mem::take(facts).into_iter().map(|f| (f.atom, f.provenance)).collect();
            for change in changes.iter().filter(|c| c.scope == scope) {
                put(&mut held, change, &by);
            }
            *facts = held.iter().map(fact).collect();
        }
        self.opened.turn = turn.turn;
        self.revision.shared = receipt.shared_revision;
        self.last = Some(Entry { seq: receipt.seq, at: commit.at, cause: Cause::Turn(turn), changes, applied: false });
        Some(self)
    }
}
