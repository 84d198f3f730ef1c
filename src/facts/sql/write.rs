//! The one transaction of a turn: every statement of the stores that writes.

use std::collections::BTreeMap;

use super::Sql;
use super::rows::{self, SiteRow};
use super::value::{Value, values};
use crate::facts::change::{Change, Op, changes_to_text, net};
use crate::facts::fold::domain_provenance;
use crate::facts::prune::{Pruned, kept};
use crate::facts::rules;
use crate::facts::{Cause, Collected, CommitRule, Provenance, Receipt, Result, SessionKey};
use crate::ontology::Scope;
use crate::term::Atom;

/// A statement that writes, in a transaction that keeps other writers of the site away.
pub struct Tx<'a> {
    pub sql: &'a dyn Sql,
    pub rule: CommitRule,
}

/// An entry about to be appended.
pub struct Draft<'a> {
    pub site: &'a str,
    pub row: &'a SiteRow,
    pub at: i64,
    pub cause: Cause,
    pub changes: Vec<Change>,
    /// Whether this turn begins its session.
    pub begins: bool,
    /// Whether it made a kb version, if that was settled before: the entry comes from another store.
    pub applied: Option<bool>,
}

impl Tx<'_> {
    fn run(&self, text: &str, params: &[Value<'_>]) -> Result<usize> {
        self.sql.run(text, params)
    }

    /// Puts a site's row there, unless somebody else did.
    pub fn begin_site(&self, site: &str, hash: &str) -> Result<bool> {
        let text = "INSERT INTO site (site, hash, seq, kb_head, shared_revision) VALUES (?1, ?2, 0, 0, 0) ON CONFLICT DO NOTHING";
        Ok(self.run(text, values![site, hash])? > 0)
    }

    /// Appends an entry to the site's log and brings every table up to it.
    pub fn append(&self, draft: &Draft<'_>) -> Result<Receipt> {
        let (site, seq) = (draft.site, draft.row.seq + 1);
        let revision = match &draft.cause {
            Cause::Install { .. } => {
                for c in &draft.changes {
                    self.kb_add(site, c, 0, &domain_provenance(draft.at))?;
                }
                draft.row.shared_revision
            }
            Cause::Rebase { .. } => {
                self.stage(site, seq, &draft.changes, &domain_provenance(draft.at), Some(seq))?;
                draft.row.shared_revision
            }
            Cause::Turn(_) => self.turn(draft, seq)?,
            Cause::Close { session, epoch } => {
                self.run("UPDATE session SET ended_at = ?4 WHERE site = ?1 AND session = ?2 AND epoch = ?3", values![site, session, *epoch, draft.at])?;
                self.run("DELETE FROM kb_staged WHERE site = ?1 AND session = ?2 AND epoch = ?3 AND ready IS NULL", values![site, session, *epoch])?;
                self.stage(site, seq, &draft.changes, &domain_provenance(draft.at), Some(seq))?;
                draft.row.shared_revision
            }
        };
        let applied = match draft.applied {
            Some(as_it_was) => as_it_was,
            None => {
                let any_pending = rows::any_pending(self.sql, site)?;
                rules::applies(self.rule, any_pending, any_pending && rows::any_open(self.sql, site)?)
            }
        };
        let kb_head = if applied { self.next_version(site, draft.row.kb_head)? } else { draft.row.kb_head };
        self.log(draft, seq, applied)?;
        let hash = match &draft.cause {
            Cause::Install { hash } | Cause::Rebase { hash } => hash,
            _ => &draft.row.hash,
        };
        self.run("UPDATE site SET hash = ?2, seq = ?3, kb_head = ?4, shared_revision = ?5 WHERE site = ?1", values![site, hash, seq, kb_head, revision])?;
        Ok(Receipt { seq, kb_head, kb_changed: kb_head != draft.row.kb_head, shared_revision: revision })
    }

    /// Forgets some sessions that ended before.
    pub fn prune(&self, site: &str, before: i64) -> Result<Pruned> {
        let mut pruned = Pruned::default();
        for s in rows::to_prune(self.sql, site, before)? {
            let key = SessionKey { site: site.into(), session: s.session };
            for entry in rows::turns(self.sql, &key, Some(s.epoch))? {
                let Some((turn, changes)) = kept(site, &entry) else { continue };
                let sql = "UPDATE log SET record = ?3, changes = ?4 WHERE site = ?1 AND seq = ?2";
                pruned.turns += self.run(sql, values![site, entry.seq, &turn.record, &changes_to_text(&changes)])?;
            }
            self.run("DELETE FROM session_fact WHERE site = ?1 AND session = ?2 AND epoch = ?3", values![site, &key.session, s.epoch])?;
            pruned.sessions += 1;
        }
        Ok(pruned)
    }

    /// The tables after a turn; gives the revision of the shared facts.
    fn turn(&self, draft: &Draft<'_>, seq: u64) -> Result<u64> {
        let (site, Cause::Turn(turn)) = (draft.site, &draft.cause) else { return Ok(draft.row.shared_revision) };
        let id = (site, &*turn.session, turn.epoch);
        let ended_at = turn.ended.then_some(draft.at);
        if draft.begins {
            let sql = "INSERT INTO session (site, session, epoch, role, kb_version, turn, first_seq, opened_at, ended_at)
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
            self.run(sql, values![id.0, id.1, id.2, &turn.role, turn.kb_version, turn.turn, seq, draft.at, ended_at])?;
        } else {
            let sql = "UPDATE session SET turn = ?4, ended_at = ?5 WHERE site = ?1 AND session = ?2 AND epoch = ?3";
            self.run(sql, values![id.0, id.1, id.2, turn.turn, ended_at])?;
        }
        let from = turn.by(draft.at);
        let mut shared_moves = false;
        for c in draft.changes.iter().filter(|c| c.scope != Scope::Kb) {
            let fact = c.fact.to_string();
            let moved = match (c.scope, c.op) {
                (Scope::Session, Op::Add) => {
                    let sql = "INSERT INTO session_fact (site, session, epoch, fact, turn, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING";
                    self.run(sql, values![id.0, id.1, id.2, &fact, from.turn, from.at])?
                }
                (Scope::Session, Op::Del) => {
                    let sql = "DELETE FROM session_fact WHERE site = ?1 AND session = ?2 AND epoch = ?3 AND fact = ?4";
                    self.run(sql, values![id.0, id.1, id.2, &fact])?
                }
                (_, Op::Add) => {
                    let sql = "INSERT INTO shared_fact (site, fact, role, session, epoch, turn, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING";
                    self.run(sql, values![site, &fact, &from.role, &from.session, from.epoch, from.turn, from.at])?
                }
                (_, Op::Del) => self.run("DELETE FROM shared_fact WHERE site = ?1 AND fact = ?2", values![site, &fact])?,
            };
            shared_moves |= c.scope == Scope::Shared && moved > 0;
        }
        let kb: Vec<Change> = draft.changes.iter().filter(|c| c.scope == Scope::Kb).cloned().collect();
        let kb = self.collect(site, kb, &from)?;
        self.stage(site, seq, &kb, &from, None)?;
        if turn.ended {
            let sql = "UPDATE kb_staged SET ready = ?4 WHERE site = ?1 AND session = ?2 AND epoch = ?3 AND ready IS NULL";
            self.run(sql, values![id.0, id.1, id.2, seq])?;
        }
        Ok(draft.row.shared_revision + u64::from(shared_moves))
    }

    /// What of a turn's kb changes is new to what its session collected, which holds at most one change a fact: said again it
    /// is there already, said the other way round it is taken back, and what changes nothing of the next version is none.
    fn collect(&self, site: &str, kb: Vec<Change>, from: &Provenance) -> Result<Vec<Change>> {
        if kb.is_empty() {
            return Ok(kb);
        }
        let all = rows::collected(self.sql, site)?;
        let own = |c: &&Collected| !c.handed_over && c.by.session == from.session && c.by.epoch == from.epoch;
        let before: BTreeMap<&Atom, Op> = all.iter().filter(own).map(|c| (&c.change.fact, c.change.op)).collect();
        let handed_over = net(all.iter().filter(|c| c.handed_over).map(|c| (&c.change, &c.by)));
        let mut new = Vec::new();
        for c in kb {
            let collected = before.get(&c.fact);
            if collected == Some(&c.op) {
                continue;
            }
            if let Some(op) = collected {
                let sql = "DELETE FROM kb_staged WHERE site = ?1 AND session = ?2 AND epoch = ?3 AND ready IS NULL AND change = ?4";
                self.run(sql, values![site, &from.session, from.epoch, &Change { op: *op, ..c.clone() }.to_string()])?;
            }
            let will_hold = match handed_over.get(&c.fact) {
                Some((op, _)) => *op == Op::Add,
                None => rows::holds_now(self.sql, site, &c.fact)?,
            };
            if will_hold != (c.op == Op::Add) {
                new.push(c);
            }
        }
        Ok(new)
    }

    fn stage(&self, site: &str, seq: u64, changes: &[Change], from: &Provenance, ready: Option<u64>) -> Result<()> {
        let sql = "INSERT INTO kb_staged (site, seq, i, ready, change, role, session, epoch, turn, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
        for (i, c) in (0_i64..).zip(changes) {
            self.run(sql, values![site, seq, i, ready, &c.to_string(), &from.role, &from.session, from.epoch, from.turn, from.at])?;
        }
        Ok(())
    }

    fn kb_add(&self, site: &str, c: &Change, since: u64, from: &Provenance) -> Result<usize> {
        let sql = "INSERT INTO kb_fact (site, fact, since, until, role, session, epoch, turn, at)
                   SELECT ?1, ?2, CAST(?3 AS BIGINT), NULL, ?4, ?5, CAST(?6 AS BIGINT), CAST(?7 AS BIGINT), CAST(?8 AS BIGINT)
                   WHERE NOT EXISTS (SELECT 1 FROM kb_fact WHERE site = ?1 AND fact = ?2 AND until IS NULL)";
        self.run(sql, values![site, &c.fact.to_string(), since, &from.role, &from.session, from.epoch, from.turn, from.at])
    }

    /// Applies what is pending as the next version; changes that change nothing make no version.
    fn next_version(&self, site: &str, head: u64) -> Result<u64> {
        let pending = rows::collected(self.sql, site)?;
        let next = head + 1;
        let mut moved = 0;
        for (fact, (op, from)) in net(pending.iter().filter(|c| c.handed_over).map(|c| (&c.change, &c.by))) {
            moved += match op {
                Op::Add => self.kb_add(site, &Change::add(Scope::Kb, fact.clone()), next, from)?,
                Op::Del => {
                    let sql = "UPDATE kb_fact SET until = ?3 WHERE site = ?1 AND fact = ?2 AND until IS NULL";
                    self.run(sql, values![site, &fact.to_string(), next])?
                }
            };
        }
        self.run("DELETE FROM kb_staged WHERE site = ?1 AND ready IS NOT NULL", values![site])?;
        Ok(if moved > 0 { next } else { head })
    }

    fn log(&self, draft: &Draft<'_>, seq: u64, applied: bool) -> Result<()> {
        let sql = "INSERT INTO log (site, seq, at, kind, session, epoch, turn, role, kb_version, request, ended, applied, record, changes)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";
        let none = ("", 0, 0, "", 0, None, false);
        let (kind, (session, epoch, turn, role, version, request, ended), record) = match &draft.cause {
            Cause::Install { hash } => ("install", none, hash.as_str()),
            Cause::Rebase { hash } => ("rebase", none, hash.as_str()),
            Cause::Close { session, epoch } => ("close", (&**session, *epoch, none.2, none.3, none.4, none.5, none.6), ""),
            Cause::Turn(t) => ("turn", (&*t.session, t.epoch, t.turn, &*t.role, t.kb_version, t.request.as_deref(), t.ended), t.record.as_str()),
        };
        let changes = changes_to_text(&draft.changes);
        let (site, at) = (draft.site, draft.at);
        self.run(sql, values![site, seq, at, kind, session, epoch, turn, role, version, request, ended, applied, record, &changes])?;
        Ok(())
    }
}
