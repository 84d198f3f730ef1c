//! The kb version that a turn would make: what sessions collected is shown to the rules of those who change the kb, and
//! judged as a whole before it is made.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::host::MAX_TRIES;
use super::{Engine, Given, Taken, TurnError};
use crate::facts::change::{difference, net};
use crate::facts::fold::domain_provenance;
use crate::facts::{Change, Collected, Installed, Op, Opened, Provenance, Receipt, Revision, SessionKey, Snapshot};
use crate::ontology::Scope;
use crate::reason::verify::Wanted;
use crate::reason::{Base, Budget, ReasonError, Reasoner, Rules, decide};
use crate::term::{Atom, Name, Term};

/// A collected change that the version was made without.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// Whose it was.
    pub session: String,
    /// Which life of the session's id.
    pub epoch: u64,
    /// The change.
    pub change: Change,
    /// What it would have broken.
    pub because: Vec<Atom>,
}

/// A session by its name and life.
fn own(opened: &Opened) -> (&str, u64) {
    (&opened.key.session, opened.epoch)
}

/// What is collected, as facts that a session is shown.
fn shown(collected: &[Collected], own: (&str, u64)) -> Vec<Atom> {
    let mut out: BTreeSet<Atom> = BTreeSet::new();
    let handed_over = collected.iter().filter(|c| c.handed_over).map(|c| (&c.change, &c.by));
    for (fact, (op, _)) in net(handed_over) {
        out.insert(Atom::new(if op == Op::Add { "collected_add" } else { "collected_del" }, vec![fact.to_term()]));
    }
    for c in collected {
        out.extend(concerns(&c.change.fact));
        if !c.handed_over && !is_of(c, own) {
            let name = if c.change.op == Op::Add { "collecting_add" } else { "collecting_del" };
            out.insert(Atom::new(name, vec![Term::Str(c.by.session.clone()), c.change.fact.to_term()]));
        }
    }
    out.into_iter().collect()
}

/// Whose a fact is: its first name.
fn concerns(fact: &Atom) -> Option<Atom> {
    let name = fact.args.first().filter(|a| matches!(a, Term::Str(_)))?;
    Some(Atom::new("concerns", vec![fact.to_term(), name.clone()]))
}

fn is_of(c: &Collected, (session, epoch): (&str, u64)) -> bool {
    *c.by.session == *session && c.by.epoch == epoch
}

/// The same for the search, which knows of sessions no more than their names.
pub fn wanted(all: &[Wanted], own: &str) -> Vec<Atom> {
    let collected = all.iter().map(|w| Collected {
        change: if w.add { Change::add(Scope::Kb, w.fact.clone()) } else { Change::del(Scope::Kb, w.fact.clone()) },
        by: Provenance { session: w.by.clone(), ..domain_provenance(0) },
        handed_over: w.handed_over,
    });
    shown(&collected.collect::<Vec<_>>(), (own, 0))
}

impl Engine {
    /// Whether a role may change the kb. Who may not is shown nothing of what is collected, and cannot be overtaken by it.
    fn collects(&self, role: &str) -> bool {
        self.domain.ontology.may_change_kb(role)
    }

    /// What a role is shown of the next version. For a session that began with an older version than the newest, what was made
    /// a version since is as good as handed over.
    pub(super) fn collected(&self, role: &str, snapshot: &Snapshot) -> Result<Vec<Atom>, TurnError> {
        let (site, version) = (&snapshot.opened.key.site, snapshot.opened.kb_version);
        if !self.collects(role) {
            return Ok(vec![]);
        }
        if version == snapshot.kb_head {
            return Ok(shown(&snapshot.pending, own(&snapshot.opened)));
        }
        let facts = |version| self.store.kb(site, version).map(|kb| kb.iter().cloned().collect::<BTreeSet<Atom>>());
        let since = difference(&facts(version)?, &facts(snapshot.kb_head)?);
        let made = since.into_iter().map(|change| Collected { change, by: domain_provenance(0), handed_over: true });
        let all: Vec<Collected> = made.chain(snapshot.pending.iter().cloned()).collect();
        Ok(shown(&all, own(&snapshot.opened)))
    }

    /// What a turn's commit rests on beside its session: a turn is overtaken only by what it was shown, or makes a version of.
    pub(super) fn rests_on(&self, role: &str, snapshot: &Snapshot, ends: bool) -> Revision {
        let pending = snapshot.revision.pending.filter(|_| self.collects(role) || (ends && snapshot.last_one));
        Revision { pending, last_one: snapshot.revision.last_one.filter(|_| ends), ..snapshot.revision }
    }

    /// A turn that makes a version, without what of it no longer holds; who is refused hears it before leaving.
    pub(super) fn judged(&self, given: &Given<'_>, mut taken: Taken) -> Result<Taken, TurnError> {
        let mut refused = self.ends_with(given.snapshot, &taken.changes)?;
        if refused.is_empty() {
            return Ok(taken);
        }
        let void = void(&refused, &given.snapshot.opened);
        if !void.is_empty() {
            let collected: Vec<Atom> = given.collected.iter().cloned().chain(void).collect();
            taken = self.decide(&Given { collected: &collected, ..*given })?;
            // What it says now may change other things.
            let further = self.ends_with(given.snapshot, &taken.changes)?;
            refused.extend(further.into_iter().filter(|(f, _)| !refused.iter().any(|(c, _)| c == f)).collect::<Vec<_>>());
        }
        for (c, _) in &refused {
            tracing::warn!(session = %c.by.session, change = %c.change, "a collected change no longer holds and is left out of the kb version");
        }
        taken.record.refused_changes = told(&refused);
        taken.changes = without(std::mem::take(&mut taken.changes), &refused, &given.snapshot.opened);
        Ok(taken)
    }

    /// Ends an open session of a role from outside (abandoned, timed out); `None` if it is not open, an error if nobody ever spoke at the site. The version that this makes, if nobody
    /// else speaks, is judged like any other, and what it was made without is told.
    pub fn close(&self, key: &SessionKey, role: &str, at: i64) -> Result<Option<(Receipt, Vec<Refused>)>, TurnError> {
        let mut tries = 0;
        loop {
            let snapshot = self.store.begin(key, role, None)?;
            let mut refused = vec![];
            if snapshot.last_one {
                let handed_over = snapshot.pending.iter().filter(|c| c.handed_over).cloned().collect();
                refused = self.judge(&snapshot, handed_over)?;
            }
            match self.store.close(key, at, &without(vec![], &refused, &snapshot.opened), Some(snapshot.revision)) {
                Err(e) if e.is_stale() && tries < MAX_TRIES => tries += 1,
                closed => return Ok(closed?.map(|receipt| (receipt, told(&refused)))),
            }
        }
    }

    /// What would be wrong with a site's kb, and is not yet, with these facts of the domain's files in place of those that it has.
    pub fn breaks(&self, site: &str, files: &[Atom], at: i64) -> Result<Vec<Atom>, TurnError> {
        let (Some(rules), Installed::Differs(base)) = (&self.domain.kb_rules, self.store.install(site, files, at)?) else { return Ok(vec![]) };
        let head: BTreeSet<Atom> = self.store.kb_facts(site)?.into_iter().map(|f| f.atom).collect();
        let changes = difference(&base.into_iter().collect(), &files.iter().cloned().collect());
        let brought: Vec<Collected> = changes.into_iter().map(|change| Collected { change, by: domain_provenance(0), handed_over: true }).collect();
        Ok(broken(rules, &violations(rules, &head)?, &applied(&head, &brought))?)
    }

    /// What the next version must do without, if this turn ends its session and makes that version with these changes.
    fn ends_with(&self, snapshot: &Snapshot, changes: &[Change]) -> Result<Vec<(Collected, Vec<Atom>)>, TurnError> {
        let opened = &snapshot.opened;
        let by = Provenance { role: opened.role.clone(), session: opened.key.session.clone(), epoch: opened.epoch, turn: opened.turn + 1, at: 0 };
        let now = changes.iter().filter(|c| c.scope == Scope::Kb).map(|c| Collected { change: c.clone(), by: by.clone(), handed_over: true });
        let next: Vec<Collected> = snapshot.pending.iter().filter(|c| c.handed_over || is_of(c, own(opened))).cloned().chain(now).collect();
        self.judge(snapshot, next)
    }

    /// What of these changes the next version must do without.
    fn judge(&self, snapshot: &Snapshot, next: Vec<Collected>) -> Result<Vec<(Collected, Vec<Atom>)>, TurnError> {
        let Some(rules) = self.domain.kb_rules.as_ref().filter(|_| !next.is_empty()) else { return Ok(vec![]) };
        let head: BTreeSet<Atom> = self.store.kb(&snapshot.opened.key.site, snapshot.kb_head)?.iter().cloned().collect();
        Ok(judge(rules, &head, next)?)
    }
}

/// The changes that a version cannot be made with: of each session, in the order of their ends, as many of its foods (what
/// is said of one name goes together) are taken as leave the kb no worse than it was.
fn judge(rules: &Arc<Rules>, head: &BTreeSet<Atom>, next: Vec<Collected>) -> Result<Vec<(Collected, Vec<Atom>)>, ReasonError> {
    let before = violations(rules, head)?;
    if broken(rules, &before, &applied(head, &next))?.is_empty() {
        return Ok(vec![]);
    }
    let mut sessions: Vec<((Name, u64), BTreeMap<String, Vec<Collected>>)> = Vec::new();
    for c in next {
        let (id, about) = ((c.by.session.clone(), c.by.epoch), c.change.fact.args.first().map_or_else(String::new, Term::to_string));
        match sessions.iter_mut().find(|(known, _)| *known == id) {
            Some((_, parts)) => parts.entry(about).or_default().push(c),
            None => sessions.push((id, [(about, vec![c])].into())),
        }
    }
    let mut kb = head.clone();
    let mut refused = Vec::new();
    for (_, mut parts) in sessions {
        // A part may need another of the same session, so those that do not fit are tried again while any did.
        loop {
            let mut left = BTreeMap::new();
            let mut any = false;
            for (about, part) in parts {
                let with = applied(&kb, &part);
                let broken = broken(rules, &before, &with)?;
                if broken.is_empty() {
                    (kb, any) = (with, true);
                } else {
                    left.insert(about, (part, broken));
                }
            }
            if any && !left.is_empty() {
                parts = left.into_iter().map(|(about, (part, _))| (about, part)).collect();
                continue;
            }
            refused.extend(left.into_values().flat_map(|(part, broken)| part.into_iter().map(move |c| (c, broken.clone()))));
            break;
        }
    }
    Ok(refused)
}

fn applied(kb: &BTreeSet<Atom>, changes: &[Collected]) -> BTreeSet<Atom> {
    let mut kb = kb.clone();
    for (fact, (op, _)) in net(changes.iter().map(|c| (&c.change, &c.by))) {
        match op {
            Op::Add => kb.insert(fact.clone()),
            Op::Del => kb.remove(fact),
        };
    }
    kb
}

/// What is wrong with a kb that was not wrong before.
fn broken(rules: &Arc<Rules>, before: &BTreeSet<Atom>, kb: &BTreeSet<Atom>) -> Result<Vec<Atom>, ReasonError> {
    Ok(violations(rules, kb)?.difference(before).cloned().collect())
}

/// What the domain's rules of its kb find wrong with a version.
pub fn violations(rules: &Arc<Rules>, kb: &BTreeSet<Atom>) -> Result<BTreeSet<Atom>, ReasonError> {
    let kb: Vec<Atom> = kb.iter().cloned().collect();
    let outcome = decide(&Base::build(rules, &kb, &[])?, &[], Reasoner::Fast, &Budget::default())?;
    Ok(outcome.shown().iter().filter(|a| &*a.name == "violation").cloned().collect())
}

/// The facts that tell a session which of its own changes are not made.
fn void(refused: &[(Collected, Vec<Atom>)], session: &Opened) -> Vec<Atom> {
    let mut out: BTreeSet<Atom> = BTreeSet::new();
    for (c, _) in refused.iter().filter(|(c, _)| is_of(c, own(session))) {
        out.extend(concerns(&c.change.fact));
        out.insert(Atom::new("void", vec![Term::constant(&c.change.op.to_string()), c.change.fact.to_term()]));
    }
    out.into_iter().collect()
}

/// A turn's changes so that the version is made without what is refused: what this turn wanted is left out, what was collected before it
/// is taken back with it, as the last to be applied, also where this turn wanted it once more.
fn without(changes: Vec<Change>, refused: &[(Collected, Vec<Atom>)], session: &Opened) -> Vec<Change> {
    let mut kept: Vec<Change> = changes.into_iter().filter(|c| !refused.iter().any(|(r, _)| r.change == *c)).collect();
    let other = |op| if op == Op::Add { Op::Del } else { Op::Add };
    let before = refused.iter().map(|(r, _)| r).filter(|r| !(is_of(r, own(session)) && r.by.turn > session.turn));
    for r in before {
        let back = Change { op: other(r.change.op), ..r.change.clone() };
        if !kept.contains(&back) {
            kept.push(back);
        }
    }
    kept
}

/// What is refused, as the record holds it.
fn told(refused: &[(Collected, Vec<Atom>)]) -> Vec<Refused> {
    let one = |(c, because): &(Collected, Vec<Atom>)| Refused {
        session: c.by.session.to_string(),
        epoch: c.by.epoch,
        change: c.change.clone(),
        because: because.clone(),
    };
    refused.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Domain, Files};

    fn collected(session: &str, texts: &[&str]) -> Vec<Collected> {
        let by = Provenance { session: session.into(), ..domain_provenance(0) };
        texts.iter().map(|t| Collected { change: t.parse().unwrap(), by: by.clone(), handed_over: true }).collect()
    }

    /// Which changes the drive-through's menu cannot take, by session.
    fn refused(next: &[Vec<Collected>]) -> Vec<String> {
        let domain = Domain::load(&Files::built_in(), "drive_thru").unwrap();
        let head = domain.facts.iter().cloned().collect();
        let found = judge(domain.kb_rules.as_ref().unwrap(), &head, next.concat()).unwrap();
        found.iter().map(|(c, _)| format!("{}: {}", c.by.session, c.change)).collect()
    }

    const RELISH: [&str; 2] = ["add kb ingredient(\"Relish\")", "add kb included_ingredient(\"Pintos N Cheese\",\"Relish\")"];

    #[test]
    fn what_holds_together_is_taken() {
        assert_eq!(refused(&[collected("a", &RELISH)]), [""; 0]);
        assert_eq!(refused(&[collected("a", &RELISH[..1]), collected("b", &RELISH[1..])]), [""; 0]);
    }

    #[test]
    fn who_came_later_is_refused_what_no_longer_holds_and_keeps_the_rest() {
        let beans = ["del kb ingredient(\"Lettuce\")", "del kb veggie(\"Pintos N Cheese\")"];
        let all = refused(&[collected("a", &RELISH), collected("b", &beans), collected("c", &["del kb ingredient(\"Relish\")"])]);
        assert_eq!(all, ["b: del kb ingredient(\"Lettuce\")", "c: del kb ingredient(\"Relish\")"]);
    }

    /// What was collected earlier and is wanted again by the turn that makes the version is not made by either.
    #[test]
    fn what_is_refused_is_taken_back_however_often_it_was_wanted() {
        let session = Opened { key: SessionKey::new("s", "a"), role: "manager".into(), epoch: 1, kb_version: 0, turn: 2, facts: vec![] };
        let by = |turn| Provenance { role: "manager".into(), session: "a".into(), epoch: 1, turn, at: 0 };
        let [food, use_of_it]: [Change; 2] = RELISH.map(|t| t.parse().unwrap());
        let refused = |turn| (Collected { change: food.clone(), by: by(turn), handed_over: true }, vec![]);
        let back: Change = "del kb ingredient(\"Relish\")".parse().unwrap();
        let wanted = vec![food.clone(), use_of_it.clone()];
        assert_eq!(without(wanted.clone(), &[refused(1), refused(3)], &session), [use_of_it.clone(), back], "of turn 1 and of this one");
        assert_eq!(without(wanted, &[refused(3)], &session), [use_of_it], "of this turn alone");
    }

    #[test]
    fn parts_of_one_session_may_need_each_other_in_any_order() {
        let [food, use_of_it] = RELISH;
        let bad = "add kb included_ingredient(\"Nachos\",\"Unheard Of\")";
        assert_eq!(refused(&[collected("a", &[use_of_it, food, bad])]), [format!("a: {bad}")]);
    }
}
