//! Kb versions in the search: what sessions collect of the next one, when it is made, and what is wrong with it.

use std::collections::BTreeSet;

use super::search::{Facts, Search, Seat, State};
use crate::reason::{Base, Budget, ReasonError, Reasoner, decide};
use crate::term::{Atom, Name};

/// A kb change that somebody collected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Whether the fact comes; else it goes.
    pub add: bool,
    /// The fact.
    pub fact: Atom,
    /// Whose conversation it is from.
    pub by: Name,
    /// Whether that conversation ended, so that it only waits for its version.
    pub handed_over: bool,
}

/// What a role is shown of the next version, given whose conversation it is in.
pub type Shown<'a> = dyn Fn(&[Wanted], &str) -> Vec<Atom> + 'a;

/// What a search knows of kb versions.
pub struct Versions<'a> {
    /// The kb that it begins with.
    pub kb: &'a BTreeSet<Atom>,
    /// What every version must hold to: rules that derive `violation/2`, on the first one.
    pub sound: Option<Base>,
    /// What a role that may change the kb is shown of what is collected.
    pub shown: &'a Shown<'a>,
}

/// The change of a fact as it is numbered.
pub(super) fn change(add: bool, fact: &Atom) -> Atom {
    Atom::new(if add { "add" } else { "del" }, vec![fact.to_term()])
}

/// The changed fact, and whether it comes.
fn read(change: &Atom) -> Option<(bool, Atom)> {
    Some((&*change.name == "add", change.args.first()?.to_atom()?))
}

impl Search<'_> {
    /// What somebody in a seat is shown of what is collected.
    pub(super) fn collected(&mut self, state: &State, seat: usize) -> Facts {
        let staged = state.seats.iter().zip(&self.seats).flat_map(|(s, (_, name))| s.staged.iter().map(move |n| (n, name, false)));
        let handed = Name::from("before");
        let all = state.handed.iter().map(|n| (n, &handed, true)).chain(staged);
        let wanted = all.filter_map(|(n, by, handed_over)| {
            let (add, fact) = read(self.atoms.get(*n as usize)?)?;
            Some(Wanted { add, fact, by: by.clone(), handed_over })
        });
        let wanted: Vec<Wanted> = wanted.collect();
        let Some((who, name)) = self.seats.get(seat).cloned() else { return Facts::default() };
        if wanted.is_empty() || !self.model.speakers.get(who).is_some_and(|s| s.collects) {
            return Facts::default();
        }
        let shown = (self.model.versions.shown)(&wanted, &name);
        self.facts_of(&shown)
    }

    /// Whether the next version will hold a fact, as far as it was handed over.
    fn will_hold(&self, state: &State, fact: &Atom) -> bool {
        let said = |changes: &Facts| self.atoms_of(changes).filter_map(read).find(|(_, f)| f == fact).map(|(add, _)| add);
        said(&state.handed).or_else(|| said(&state.kb)).unwrap_or_else(|| self.model.versions.kb.contains(fact))
    }

    /// A session collects changes: one a fact, and none that changes nothing.
    pub(super) fn collect(&mut self, state: &mut State, seat: usize, changes: &Facts) {
        let mut staged: BTreeSet<u32> = state.seats.get(seat).map(|s| s.staged.iter().copied().collect()).unwrap_or_default();
        let changes: Vec<(bool, Atom)> = self.atoms_of(changes).filter_map(read).collect();
        for (add, fact) in changes {
            let other = self.number(&change(!add, &fact));
            staged.remove(&other);
            if self.will_hold(state, &fact) != add {
                staged.insert(self.number(&change(add, &fact)));
            }
        }
        if let Some(s) = state.seats.get_mut(seat) {
            s.staged = staged.into_iter().collect();
        }
    }

    /// A session that ended hands over what it collected; what the version would hold then is judged, and it is made once nobody speaks.
    pub(super) fn hand_over(&mut self, state: &mut State, seat: usize) -> Result<Vec<String>, ReasonError> {
        let staged = state.seats.get_mut(seat).map(|s| std::mem::take(&mut s.staged)).unwrap_or_default();
        let mut wrong = vec![];
        if !staged.is_empty() {
            state.handed = self.over(&state.handed, &staged);
            wrong = self.judged(&self.over(&state.kb, &state.handed))?;
        }
        if !state.handed.is_empty() && state.seats.iter().all(Seat::is_free) {
            state.kb = self.over(&state.kb, &std::mem::take(&mut state.handed));
        }
        Ok(wrong)
    }

    /// Changes after others: of two of one fact the later counts.
    fn over(&self, first: &Facts, then: &Facts) -> Facts {
        let later: BTreeSet<Atom> = self.atoms_of(then).filter_map(read).map(|(_, fact)| fact).collect();
        let stays = |n: &&u32| self.atoms.get(**n as usize).and_then(read).is_none_or(|(_, fact)| !later.contains(&fact));
        first.iter().filter(stays).chain(then.iter()).copied().collect::<BTreeSet<u32>>().into_iter().collect()
    }

    /// What is wrong with a version that was not wrong with the first one.
    fn judged(&mut self, kb: &Facts) -> Result<Vec<String>, ReasonError> {
        if let Some(known) = self.judgements.get(kb) {
            return Ok(known.clone());
        }
        let Some(sound) = &self.model.versions.sound else { return Ok(vec![]) };
        let violations = |base: &Base| -> Result<BTreeSet<String>, ReasonError> {
            let outcome = decide(base, &[], Reasoner::Fast, &Budget::default())?;
            Ok(outcome.shown().iter().filter(|a| &*a.name == "violation").map(ToString::to_string).collect())
        };
        let before = violations(sound)?;
        let found: Vec<String> = violations(&self.on_kb(sound, kb)?)?.difference(&before).cloned().collect();
        self.judgements.insert(kb.clone(), found.clone());
        Ok(found)
    }

    /// What follows from another kb, by a role's rules. They may speak of its facts as things, so all is built anew.
    pub(super) fn on_kb(&self, base: &Base, kb: &Facts) -> Result<Base, ReasonError> {
        let mut facts = self.model.versions.kb.clone();
        for (add, fact) in self.atoms_of(kb).filter_map(read) {
            if add {
                facts.insert(fact)
            } else {
                facts.remove(&fact)
            };
        }
        Base::build(base.rules(), &facts.into_iter().collect::<Vec<_>>(), &[])
    }
}
