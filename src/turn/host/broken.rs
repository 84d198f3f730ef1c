//! Turns that broke off: what another process left with a call under way is ended first, and what calls gave is kept whatever comes after.

use super::super::calls::{Came, Intent, changes};
use super::super::{Going, Round, TurnError, TurnRecord};
use super::{Engine, Speaker};
use crate::act::ActError;
use crate::facts::{Entry, SessionKey, Snapshot};
use crate::term::Atom;

impl Engine {
    /// Ends a turn that broke off where the order in which turns are decided has its place for it.
    pub(super) async fn end_in_turn(&self, speaker: &Speaker<'_>, snapshot: &Snapshot) -> Result<Option<TurnRecord>, TurnError> {
        if let Some(gate) = speaker.gate.filter(|_| snapshot.has_calls()) {
            gate.enter();
        }
        // Left by the turn that is to come, not by the one that is ended before it.
        self.end_broken_off(&Speaker { gate: None, ..*speaker }, snapshot).await
    }

    /// Ends the turn that broke off between a call and its result: a call is made again if that does no more than making it once, else it
    /// counts as interrupted.
    pub(super) async fn end_broken_off(&self, speaker: &Speaker<'_>, snapshot: &Snapshot) -> Result<Option<TurnRecord>, TurnError> {
        if !snapshot.has_calls() {
            return Ok(None);
        }
        let Some((entry, ticket)) = self.store.resume(speaker.key, snapshot.opened.epoch)? else { return Ok(None) };
        let left = self.record_of(&entry)?;
        if left.under_way().is_empty() {
            return Ok(None);
        }
        let may_repeat = |i: &Intent| self.functions.get(&i.function).is_some_and(|f| f.idempotent);
        let (again, broken): (Vec<Intent>, Vec<Intent>) = left.under_way().iter().cloned().partition(may_repeat);
        let mut came = self.perform(&again, &ticket, speaker.until).await;
        came.extend(broken.iter().map(|i| Came::of(i, &ticket.name(), Err(ActError::Interrupted(i.function.clone())))));
        came.sort_by_key(|c| c.place);
        self.rounds(speaker, left.going(came), None, None, None).await.map(Some)
    }

    /// What a request was answered that was taken before: the record of its turn's last round.
    pub(super) fn answer_of(&self, key: &SessionKey, before: &Entry) -> Result<TurnRecord, TurnError> {
        let first = self.record_of(before)?;
        if first.under_way().is_empty() {
            return Ok(first);
        }
        let turns = self.store.turns(key, before.turn().map(|t| t.epoch))?;
        for entry in turns.iter().rev() {
            let record = self.record_of(entry)?;
            if record.began() == first.began() {
                return Ok(record);
            }
        }
        Ok(first)
    }

    /// When no decision comes of what calls gave, their results are noted all the same, so that nobody makes the calls again.
    pub(super) fn give_up(&self, speaker: &Speaker<'_>, going: Going, error: TurnError) -> TurnError {
        if going.rounds.is_empty() || matches!(error, TurnError::Overtaken(_)) {
            return error;
        }
        if let Err(e) = self.settle(speaker.key, speaker.role, going, &error.to_string()) {
            tracing::error!("the results of calls could not be noted: {e}");
        }
        error
    }

    /// Notes what calls gave in a round of their own, without a decision.
    pub(in crate::turn) fn settle(&self, key: &SessionKey, role: &str, going: Going, failed: &str) -> Result<TurnRecord, TurnError> {
        let at = self.options.clock.now();
        let opened = self.store.open(key, role)?;
        let mut commit = opened.turn(at);
        let session: Vec<&Atom> = opened.facts.iter().map(|f| &f.atom).collect();
        commit.changes = changes(&going.came, &session);
        let effects = commit.changes.clone();
        let round = Round { turn: commit.turn, at, came: going.came, effects, failed: Some(failed.to_owned()), ..Round::default() };
        let mut record = TurnRecord {
            site: key.site.to_string(),
            session: key.session.to_string(),
            epoch: opened.epoch,
            turn: commit.turn,
            role: role.to_owned(),
            at,
            said: going.said,
            arrived: going.arrived,
            rounds: going.rounds.into_iter().chain([round]).collect(),
            ..TurnRecord::default()
        };
        commit.record = record.to_log();
        self.store.commit(&commit)?;
        Ok(record)
    }
}
