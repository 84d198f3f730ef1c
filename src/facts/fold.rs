//! The fold: what a site holds as a function of its log. The memory store is this fold, and every other store is checked
//! against it.

use std::collections::{BTreeMap, BTreeSet};

use super::change::{Change, Op, net};
use super::rules::domain_name;
use super::{Cause, Collected, Entry, Fact, Provenance, SessionInfo, Turn};
use crate::ontology::Scope;
use crate::term::{Atom, Name};

/// One stay of a fact in the kb: from a version up to, not including, another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stay {
    /// The first version that holds the fact.
    pub since: u64,
    /// The first version that no longer does.
    pub until: Option<u64>,
    /// Who brought it.
    pub provenance: Provenance,
}

/// A kb change that waits, with who asked for it.
pub type Staged = (Change, Provenance);

/// One life of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Life {
    /// Its row.
    pub info: SessionInfo,
    /// Its facts.
    pub facts: BTreeMap<Atom, Provenance>,
    /// Kb changes it collected and has not handed over.
    pub staged: Vec<Staged>,
}

/// Everything a site holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteState {
    /// Number of the last entry.
    pub seq: u64,
    /// Content hash of the base.
    pub hash: String,
    /// The facts of the domain's files as they were last brought in.
    pub base: BTreeSet<Atom>,
    /// The newest kb version.
    pub kb_head: u64,
    /// Every fact the kb ever held.
    pub kb: BTreeMap<Atom, Vec<Stay>>,
    /// Kb changes of finished sessions that wait for their version.
    pub pending: Vec<Staged>,
    /// The shared facts.
    pub shared: BTreeMap<Atom, Provenance>,
    /// Grows with every turn that changes a shared fact.
    pub shared_revision: u64,
    /// Sessions by id and epoch.
    pub sessions: BTreeMap<(Name, u64), Life>,
    /// Which of them are open: every turn asks, and those that ended grow without end.
    open: BTreeSet<(Name, u64)>,
    /// Which of them collected kb changes.
    collecting: BTreeSet<(Name, u64)>,
}

impl SiteState {
    /// The state after one more entry.
    pub fn apply(&mut self, entry: &Entry) {
        self.seq = entry.seq;
        match &entry.cause {
            Cause::Install { hash } => self.install(hash, entry),
            Cause::Rebase { hash } => {
                self.hash.clone_from(hash);
                for c in &entry.changes {
                    match c.op {
                        Op::Add => self.base.insert(c.fact.clone()),
                        Op::Del => self.base.remove(&c.fact),
                    };
                    self.pending.push((c.clone(), domain_provenance(entry.at)));
                }
            }
            Cause::Turn(turn) => self.turn(turn, entry),
            Cause::Close { session, epoch } => {
                let id = (session.clone(), *epoch);
                if let Some(life) = self.sessions.get_mut(&id) {
                    life.info.ended_at = Some(entry.at);
                    life.staged.clear();
                }
                self.open.remove(&id);
                self.collecting.remove(&id);
                self.pending.extend(entry.changes.iter().map(|c| (c.clone(), domain_provenance(entry.at))));
            }
        }
        if entry.applied {
            self.next_version();
        }
    }

    /// The newest life of a session's id.
    pub fn latest(&self, session: &str) -> Option<&SessionInfo> {
        let from = (Name::from(session), 0);
        self.sessions.range(from..).take_while(|((name, _), _)| &**name == session).last().map(|(_, life)| &life.info)
    }

    /// Whether a session other than `except` is open.
    pub fn any_open(&self, except: Option<(&str, u64)>) -> bool {
        self.open.iter().any(|(session, epoch)| except != Some((session, *epoch)))
    }

    /// The kb of a version, sorted.
    pub fn kb_at(&self, version: u64) -> Vec<Atom> {
        let holds = |s: &Stay| s.since <= version && s.until.is_none_or(|u| u > version);
        self.kb.iter().filter(|(_, stays)| stays.iter().any(holds)).map(|(fact, _)| fact.clone()).collect()
    }

    /// The newest kb with provenance, sorted.
    pub fn kb_now(&self) -> Vec<Fact> {
        let now = self.kb.iter().filter_map(|(fact, stays)| stays.iter().find(|s| s.until.is_none()).map(|s| (fact, &s.provenance)));
        now.map(fact).collect()
    }

    /// The sessions in the order they opened.
    pub fn sessions_in_order(&self) -> Vec<SessionInfo> {
        let mut all: Vec<_> = self.sessions.values().map(|l| l.info.clone()).collect();
        all.sort_by_key(|s| s.first_seq);
        all
    }

    /// What is collected for the next version: handed over, in the order in which it will be applied, then what open sessions collected.
    pub fn collected(&self) -> Vec<Collected> {
        let of = |handed_over| move |(change, by): &Staged| Collected { change: change.clone(), by: by.clone(), handed_over };
        let staged = self.collecting.iter().filter_map(|id| self.sessions.get(id)).flat_map(|life| &life.staged);
        self.pending.iter().map(of(true)).chain(staged.map(of(false))).collect()
    }

    /// Whether a session would have collected anything after these changes.
    pub fn would_collect(&self, (session, epoch): (&Name, u64), changes: &[Change]) -> bool {
        let mut staged = self.sessions.get(&(session.clone(), epoch)).map(|l| l.staged.clone()).unwrap_or_default();
        for c in changes.iter().filter(|c| c.scope == Scope::Kb) {
            collect(&mut staged, c, &domain_provenance(0), will_hold(&self.kb, &self.pending, &c.fact));
        }
        !staged.is_empty()
    }

    fn install(&mut self, hash: &str, entry: &Entry) {
        self.hash = hash.to_owned();
        for c in &entry.changes {
            self.base.insert(c.fact.clone());
            self.kb.insert(c.fact.clone(), vec![Stay { since: 0, until: None, provenance: domain_provenance(entry.at) }]);
        }
    }

    fn turn(&mut self, turn: &Turn, entry: &Entry) {
        let from = turn.by(entry.at);
        let id = (turn.session.clone(), turn.epoch);
        let life = self.sessions.entry(id.clone()).or_insert_with(|| Life {
            info: SessionInfo {
                session: turn.session.clone(),
                epoch: turn.epoch,
                role: turn.role.clone(),
                kb_version: turn.kb_version,
                turn: 0,
                first_seq: entry.seq,
                opened_at: entry.at,
                ended_at: None,
            },
            facts: BTreeMap::new(),
            staged: Vec::new(),
        });
        life.info.turn = turn.turn;
        let mut shared_moves = false;
        for c in &entry.changes {
            match c.scope {
                Scope::Session => {
                    put(&mut life.facts, c, &from);
                }
                Scope::Shared => shared_moves |= put(&mut self.shared, c, &from),
                Scope::Kb => collect(&mut life.staged, c, &from, will_hold(&self.kb, &self.pending, &c.fact)),
            }
        }
        if shared_moves {
            self.shared_revision += 1;
        }
        if turn.ended {
            life.info.ended_at = Some(entry.at);
            self.pending.append(&mut life.staged);
        }
        let (open, collecting) = (!turn.ended, !life.staged.is_empty());
        keep(&mut self.open, &id, open);
        keep(&mut self.collecting, &id, collecting);
    }

    /// Applies what is pending as the next version; changes that change nothing make no version.
    fn next_version(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        let next = self.kb_head + 1;
        let mut moved = false;
        for (fact, (op, provenance)) in net(pending.iter().map(|(c, p)| (c, p))) {
            let now = self.kb.get_mut(fact).and_then(|stays| stays.iter_mut().find(|s| s.until.is_none()));
            match (op, now) {
                (Op::Add, None) => {
                    self.kb.entry(fact.clone()).or_default().push(Stay { since: next, until: None, provenance: provenance.clone() });
                    moved = true;
                }
                (Op::Del, Some(stay)) => {
                    stay.until = Some(next);
                    moved = true;
                }
                (Op::Add, Some(_)) | (Op::Del, None) => {}
            }
        }
        if moved {
            self.kb_head = next;
        }
    }
}

/// Whether the next version would hold a fact, from the newest one and what was handed over.
fn will_hold(kb: &BTreeMap<Atom, Vec<Stay>>, pending: &[Staged], fact: &Atom) -> bool {
    match pending.iter().rfind(|(c, _)| c.fact == *fact) {
        Some((last, _)) => last.op == Op::Add,
        None => kb.get(fact).is_some_and(|stays| stays.iter().any(|s| s.until.is_none())),
    }
}

/// A session's collected changes hold at most one change a fact: said again it is there already, said the other way round
/// it is taken back, and what changes nothing of the next version is none.
fn collect(staged: &mut Vec<Staged>, c: &Change, from: &Provenance, will_hold: bool) {
    if staged.iter().any(|(own, _)| own == c) {
        return;
    }
    staged.retain(|(own, _)| own.fact != c.fact);
    if will_hold != (c.op == Op::Add) {
        staged.push((c.clone(), from.clone()));
    }
}

/// Whether a session is among those.
fn keep(among: &mut BTreeSet<(Name, u64)>, id: &(Name, u64), it: bool) {
    if it {
        among.insert(id.clone())
    } else {
        among.remove(id)
    };
}

/// Adds or removes; whether that changed anything. A fact that is there keeps its provenance.
pub(super) fn put(facts: &mut BTreeMap<Atom, Provenance>, c: &Change, from: &Provenance) -> bool {
    match c.op {
        Op::Del => facts.remove(&c.fact).is_some(),
        Op::Add if facts.contains_key(&c.fact) => false,
        Op::Add => facts.insert(c.fact.clone(), from.clone()).is_none(),
    }
}

/// A fact from its parts.
pub fn fact((atom, provenance): (&Atom, &Provenance)) -> Fact {
    Fact { atom: atom.clone(), provenance: provenance.clone() }
}

/// The provenance of facts from the domain's own files.
pub fn domain_provenance(at: i64) -> Provenance {
    Provenance { role: domain_name(), session: "".into(), epoch: 0, turn: 0, at }
}
