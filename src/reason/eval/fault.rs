//! Faults of the evaluator, for tests of what finds them: there is none of this in a product build.

use std::cell::Cell;

use super::layouts::Layouts;
use super::store::{RelId, Relation};
use super::terms::Id;

/// A defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A rule is never run.
    Skip(u32),
    /// The atom that is derived after this many others is lost.
    Lose(u32),
    /// After this many strata an atom appears from nowhere: another one with a value of a third in one place.
    Add(u32, u64),
}

thread_local! {
    static FAULT: Cell<Option<Fault>> = const { Cell::new(None) };
    static SEEN: Cell<u32> = const { Cell::new(0) };
}

/// Runs something with a defect.
pub fn with<T>(fault: Fault, run: impl FnOnce() -> T) -> T {
    FAULT.set(Some(fault));
    SEEN.set(0);
    let out = run();
    FAULT.set(None);
    out
}

/// Whether a rule is skipped.
pub fn skips(rule: u32) -> bool {
    FAULT.get() == Some(Fault::Skip(rule))
}

fn now(at: u32) -> bool {
    SEEN.set(SEEN.get() + 1);
    SEEN.get() == at + 1
}

/// Whether the atom that is derived now is lost.
pub fn loses() -> bool {
    matches!(FAULT.get(), Some(Fault::Lose(at)) if now(at))
}

/// The atom that appears now.
pub fn adds(above: &[Relation], layouts: &Layouts) -> Option<(RelId, Vec<Id>)> {
    let Some(Fault::Add(at, seed)) = FAULT.get() else { return None };
    if !now(at) {
        return None;
    }
    let pick =
        |n: usize, salt: u64| usize::try_from(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(salt).rotate_left(17) % n.max(1) as u64).unwrap_or(0);
    let full: Vec<(RelId, &Relation, usize)> = (0..)
        .zip(above)
        .zip(&layouts.layouts)
        .filter(|((_, r), l)| !r.is_empty() && l.opens.is_none() && l.arity > 0)
        .map(|((id, r), l)| (id, r, l.arity))
        .collect();
    let (id, relation, arity) = *full.get(pick(full.len(), 1))?;
    let mut row = relation.row(arity, u32::try_from(pick(relation.len() as usize, 2)).unwrap_or(0)).to_vec();
    let (_, other, columns) = *full.get(pick(full.len(), 3))?;
    let value = *other.row(columns, 0).first()?;
    *row.get_mut(pick(arity, 4))? = value;
    Some((id, row))
}
