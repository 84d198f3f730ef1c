//! The checker's own look-up of rows, which shares no index with the evaluator.

use std::sync::{Arc, OnceLock};

use super::Checker;
use crate::reason::eval::store::{RelId, Relation};
use crate::reason::eval::terms::Id;

/// No row.
const NONE: u32 = u32::MAX;

/// Relations with fewer rows are gone through, not indexed.
const FEW: u32 = 12;

/// The values in the columns of a mask.
fn within(mask: u32, columns: impl Iterator<Item = (usize, Id)>) -> impl Iterator<Item = Id> {
    columns.filter(move |(c, _)| *c < 32 && mask & 1 << c != 0).map(|(_, v)| v)
}

/// Rows by a hash of some of their columns.
#[derive(Debug)]
struct Index {
    first: Vec<u32>,
    next: Vec<u32>,
}

impl Index {
    fn of(rows: &Relation, arity: usize, mask: u32) -> Self {
        let mut out = Self { first: vec![NONE; (rows.len() as usize * 2).next_power_of_two()], next: Vec::new() };
        for n in 0..rows.len() {
            let bucket = out.bucket(hash(within(mask, rows.row(arity, n).iter().copied().enumerate())));
            out.next.push(out.first.get_mut(bucket).map_or(NONE, |f| std::mem::replace(f, n)));
        }
        out
    }

    fn bucket(&self, hash: u64) -> usize {
        usize::try_from(hash >> 32).unwrap_or(0) & (self.first.len() - 1)
    }
}

/// A hash of values in order.
pub fn hash(values: impl Iterator<Item = Id>) -> u64 {
    values.fold(0xcbf2_9ce4_8422_2325, |h, v| {
        let h = (h ^ u64::from(v)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        h ^ h >> 29
    })
}

/// The checker's indexes of some rows, one for each of its look-ups, made when it is first asked for.
#[derive(Clone, Debug, Default)]
pub struct Seen(Vec<OnceLock<Arc<Index>>>);

impl Checker {
    /// Indexes for the look-ups; those of relations that are as `before` are kept.
    pub fn seen(&self, before: Option<&Seen>, same: impl Fn(RelId) -> bool) -> Seen {
        let kept = |n: usize| before.and_then(|b| b.0.get(n)).cloned();
        Seen(self.masks.iter().enumerate().map(|(n, (r, _))| if same(*r) { kept(n) } else { None }.unwrap_or_default()).collect())
    }

    /// The rows of a relation that may have values of this hash in the columns of a look-up.
    pub fn candidates<'s>(&self, seen: &'s Seen, lookup: usize, rows: &Relation, arity: usize, hash: u64) -> impl Iterator<Item = u32> + use<'s> {
        let (mask, end) = (self.masks.get(lookup).map_or(0, |m| m.1), rows.len());
        let index = seen.0.get(lookup).filter(|_| end >= FEW && mask != 0);
        let index = index.map(|i| &**i.get_or_init(|| Arc::new(Index::of(rows, arity, mask))));
        let first = index.map_or(0, |i| i.first.get(i.bucket(hash)).copied().unwrap_or(NONE));
        let next = move |n: &u32| Some(index.map_or_else(|| n + 1, |i| i.next.get(*n as usize).copied().unwrap_or(NONE)));
        std::iter::successors(Some(first), next).take_while(move |n| *n < end)
    }

    /// Whether a static row may have these values in these columns; where no index fits, any may.
    pub fn may_hold(&self, seen: &Seen, relation: RelId, rows: &Relation, arity: usize, known: &[(usize, Id)]) -> bool {
        let values = |mask| within(mask, known.iter().copied());
        let fits = self.masks.iter().enumerate().filter(|(_, (r, m))| *r == relation && values(*m).count() == m.count_ones() as usize);
        let (lookup, mask) = fits.max_by_key(|(_, (_, m))| m.count_ones()).map_or((usize::MAX, 0), |(n, (_, m))| (n, *m));
        let has = |n| known.iter().all(|(c, v)| rows.row(arity, n).get(*c) == Some(v));
        mask == 0 && rows.len() >= FEW || self.candidates(seen, lookup, rows, arity, hash(values(mask))).any(has)
    }
}
