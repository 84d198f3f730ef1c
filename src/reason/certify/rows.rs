//! The checker's own look-up of rows, which shares no index with the evaluator.

use std::sync::{Arc, OnceLock};

use super::Checker;
use crate::reason::eval::store::{RelId, Relation};
use crate::reason::eval::terms::Id;

/// Relations with fewer rows are gone through, not indexed.
pub const FEW: u32 = 12;

/// The values in the columns of a mask.
pub fn within(mask: u32, columns: impl Iterator<Item = (usize, Id)>) -> impl Iterator<Item = Id> {
    columns.filter(move |(c, _)| *c < 32 && mask & 1 << c != 0).map(|(_, v)| v)
}

/// A hash of values in order.
pub fn hash(values: impl Iterator<Item = Id>) -> u64 {
    values.fold(0xcbf2_9ce4_8422_2325, |h, v| {
        let h = (h ^ u64::from(v)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        h ^ h >> 29
    })
}

/// Rows by a hash of some of their columns, sorted.
type Index = Vec<(u64, u32)>;

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
        let mask = self.masks.get(lookup).map_or(0, |m| m.1);
        let one = |n| (self::hash(within(mask, rows.row(arity, n).iter().copied().enumerate())), n);
        let made = || {
            let mut index: Index = (0..rows.len()).map(one).collect();
            index.sort_unstable();
            Arc::new(index)
        };
        let index = seen.0.get(lookup).filter(|_| rows.len() >= FEW && mask != 0).map(|i| &**i.get_or_init(made));
        let from = index.and_then(|i| i.get(i.partition_point(|e| e.0 < hash)..)).unwrap_or_default();
        let all = 0..if index.is_none() { rows.len() } else { 0 };
        all.chain(from.iter().take_while(move |e| e.0 == hash).map(|e| e.1))
    }
}
