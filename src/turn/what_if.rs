//! Questions about decisions: what would have been said, and what it takes for a reply.

use std::sync::Arc;

use super::{Act, Decided, Decision, Engine, Given, Going, Taken, TurnError, TurnRecord, audit, conversation, record, says};
use crate::facts::{Change, Op, SessionKey, Snapshot};
use crate::ontology::{Arrived, Scope};
use crate::reason;
use crate::render::{Render, Tone};
use crate::term::{Atom, Term};
use crate::understand::Heard;

/// What would be different.
#[derive(Clone, Debug, PartialEq)]
pub enum WhatIf {
    /// If the role said it now: the turn that would be taken, and the state it would be taken in.
    Said {
        /// The turn.
        record: Box<TurnRecord>,
        /// What the rules show as it is.
        before: Vec<Atom>,
    },
    /// If another role had said it before this role's last turn: what that turn would have come to.
    Earlier {
        /// Who would have said it.
        role: String,
        /// What it would have changed for everybody.
        changes: Vec<String>,
        /// Actions of the last turn that would not have been.
        gone: Vec<Atom>,
        /// Actions that would have been instead.
        come: Vec<Atom>,
        /// What the last turn would have said.
        text: String,
    },
}

/// Why nothing can be said about what would be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// The turn would not be taken.
    #[error(transparent)]
    Turn(#[from] TurnError),
    /// It is no predicate.
    #[error("{0}")]
    Unreadable(String),
    /// Nobody may say it.
    #[error("nobody may say that: {0}")]
    Nobody(String),
    /// There is no turn to compare with.
    #[error("`{role}` may not say that, `{other}` may; but nothing was decided here yet that could have come out otherwise")]
    NoTurn {
        /// Who asks.
        role: String,
        /// Who may say it.
        other: String,
    },
}

impl Engine {
    /// What a turn would come to, decided on what the store holds now and then forgotten. What only another role may say is
    /// taken as said before the last turn, which is decided again.
    pub fn what_if(&self, key: &SessionKey, role: &str, predicates: &[String]) -> Result<WhatIf, AskError> {
        self.speaker(key, role)?;
        let arrived: Vec<Arrived> = predicates.iter().map(|t| Arrived::read(t)).collect();
        let own = self.domain.ontology.admit(role, &arrived);
        if own.admitted.is_empty() && !own.refused.is_empty() {
            let admits = |r: &&crate::term::Name| self.domain.ontology.admit(r, &arrived).refused.is_empty();
            return match self.domain.rules.keys().filter(|r| ***r != *role).find(admits) {
                Some(other) => self.what_if_earlier(key, role, &other.clone(), arrived),
                None => Err(AskError::Nobody(own.refused.iter().map(|r| r.message.clone()).collect::<Vec<_>>().join("; "))),
            };
        }
        let (taken, snapshot) = self.try_out(key, role, arrived)?;
        let before = snapshot.last.as_ref().map(|e| self.record_of(e)).transpose().map_err(AskError::Turn)?.map(|r| r.view).unwrap_or_default();
        Ok(WhatIf::Said { record: Box::new(taken.record), before })
    }

    /// The first round of a turn as it would be decided now, and what it is decided on.
    pub(super) fn try_out(&self, key: &SessionKey, role: &str, arrived: Vec<Arrived>) -> Result<(Taken, Snapshot), TurnError> {
        let snapshot = self.begin(key, role, None)?;
        let heard = Heard { confidence: 1.0, by: "scripted", ..Heard::default() };
        let going = Going { heard, arrived, ..Going::default() };
        let base = self.base(role, &snapshot)?;
        let at = self.options.clock.now();
        let collected = self.collected(role, &snapshot)?;
        let taken = self.decide(&Given { domain: &self.domain, role, snapshot: &snapshot, base: &base, collected: &collected, going: &going, at })?;
        Ok((taken, snapshot))
    }

    fn what_if_earlier(&self, key: &SessionKey, role: &str, other: &str, arrived: Vec<Arrived>) -> Result<WhatIf, AskError> {
        let decided = self.decided(key).ok_or_else(|| AskError::NoTurn { role: role.to_owned(), other: other.to_owned() })?;
        // The other role speaks in a conversation of its own that nobody has begun.
        let theirs = SessionKey::new(&key.site, &format!("{}?", key.session));
        let (taken, _) = self.try_out(&theirs, other, arrived)?;
        let for_all: Vec<Change> = taken.changes.into_iter().filter(|c| c.scope != Scope::Session).collect();
        let atoms = |op: Op| for_all.iter().filter(|c| c.op == op).map(|c| c.fact.clone()).collect::<Vec<_>>();
        let base = decided.outcome.base().with_change(&atoms(Op::Add), &atoms(Op::Del)).map_err(TurnError::from)?;
        let again = reason::decide(&base, decided.outcome.facts(), self.options.reasoner, &self.options.budget)
            .inspect_err(|e| audit::keep_reproducer(&self.options, e))
            .map_err(TurnError::from)?;
        let decision = Decision::read(&again);
        let without = |from: &[Act], what: &[Act]| from.iter().filter(|a| !what.iter().any(|b| a.action == b.action)).map(|a| a.action.clone()).collect();
        let opened = &decided.opened;
        let tone = Tone { role: role.to_owned(), turn: opened.turn + 1, first: opened.turn == 0, conversation: conversation(opened), until: None };
        Ok(WhatIf::Earlier {
            role: self.domain.ontology.roles.get(other).map_or_else(|| other.to_owned(), |r| r.title.clone()),
            changes: for_all.iter().map(|c| if c.op == Op::Add { c.fact.to_string() } else { format!("no longer {}", c.fact) }).collect(),
            gone: without(&decided.acts, &decision.acts),
            come: without(&decision.acts, &decided.acts),
            text: self.domain.templates.render(&says(&decision.acts, &inputs(decided.outcome.facts())), &tone),
        })
    }

    /// The smallest part of what was said in a turn that still leads to an action, if it takes more than one of several
    /// predicates: which requests do not go together, where the action refuses one.
    pub fn takes_all_of(&self, decided: &Decided, act: &Act) -> Vec<Atom> {
        record::takes_all_of(&decided.outcome, act)
    }

    /// Whether that part leads to the action whatever else of what was said is said or not: then it is clingo's unsatisfiable core.
    pub fn whatever_else(&self, decided: &Decided, act: &Act, together: &[Atom]) -> bool {
        let facts = decided.outcome.facts();
        let said: Vec<Atom> = facts.iter().filter(|f| &*f.name == "in").cloned().collect();
        let core = reason::unsat_core(decided.outcome.base(), facts, &said, &act.shown());
        core.ok().flatten().is_some_and(|c| inputs(&c).into_iter().map(|(_, a)| a).eq(together.iter().cloned()))
    }

    /// Why something was not decided: an action, wherever it could stand among the actions, or any other atom; `_` stands for anything.
    /// An action with fewer arguments than the vocabulary gives it is completed in front.
    pub fn why_not(&self, decided: &Decided, text: &str) -> Result<reason::WhyNot, String> {
        let text = text.trim().trim_end_matches('.').trim_end();
        let (name, arguments) = text.split_once('(').map_or((text, ""), |(n, rest)| (n.trim(), rest.strip_suffix(')').unwrap_or(rest)));
        let forms: Vec<usize> = self.domain.ontology.actions.iter().filter(|f| *f.name == *name).map(|f| f.args.len()).collect();
        let Some(given) = reason::arity_of(text).filter(|_| !forms.is_empty()) else { return decided.outcome.why_none(text) };
        let more = forms.iter().filter(|n| **n >= given).min().map_or(0, |n| n - given);
        let all: Vec<&str> = std::iter::repeat_n("_", more).chain((!arguments.trim().is_empty()).then_some(arguments)).collect();
        let action = if all.is_empty() { name.to_owned() } else { format!("{name}({})", all.join(",")) };
        decided.outcome.why_none(&format!("act(_,_,{action})"))
    }

    /// The last decision of a session, if the options say that decisions are remembered.
    pub fn decided(&self, key: &SessionKey) -> Option<Arc<Decided>> {
        self.rounds_decided(key).pop()
    }

    /// What became of the decisions that clingo was asked about after their commit.
    pub fn audited(&self) -> audit::Audited {
        self.auditor.audited()
    }

    /// Waits until all decisions offered so far are audited.
    pub fn settle_audits(&self) {
        self.auditor.settle();
    }
}

/// What was said, with its position.
pub(super) fn inputs(facts: &[Atom]) -> Vec<(i32, Atom)> {
    let input = |f: &Atom| match (&*f.name, f.args.as_slice()) {
        ("in", [Term::Int(k), said]) => said.to_atom().map(|a| (*k, a)),
        _ => None,
    };
    facts.iter().filter_map(input).collect()
}
