//! The checker's own look-up of rows, which shares no index with the evaluator.

use std::sync::{Arc, OnceLock};

use super::Checker;
use super::pass::FEW;
use super::plan::WIDE;
use crate::reason::eval::store::{RelId, Relation};
use crate::reason::eval::terms::Id;

/// No row.
pub const NONE: u32 = u32::MAX;

/// Rows by a hash of some of their columns.
#[derive(Debug, Default)]
pub struct Index {
    first: Vec<u32>,
    next: Vec<u32>,
}

/// A hash of values in order.
pub fn hash(seed: u32, values: impl Iterator<Item = Id>) -> u64 {
    let mut h = u64::from(seed) ^ 0xcbf2_9ce4_8422_2325;
    for v in values {
        h = (h ^ u64::from(v)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        h ^= h >> 29;
    }
    h
}

impl Index {
    /// An index of rows with these hashes.
    pub fn of(hashes: impl ExactSizeIterator<Item = u64>) -> Self {
        let buckets = (hashes.len() * 2).next_power_of_two().max(4);
        let mut out = Self { first: vec![NONE; buckets], next: Vec::with_capacity(hashes.len()) };
        for (row, h) in (0..).zip(hashes) {
            let bucket = out.bucket(h);
            let before = out.first.get_mut(bucket).map_or(NONE, |f| std::mem::replace(f, row));
            out.next.push(before);
        }
        out
    }

    fn bucket(&self, hash: u64) -> usize {
        usize::try_from(hash >> 32).unwrap_or(0) & (self.first.len() - 1)
    }

    /// The last row that may have this hash.
    pub fn first(&self, hash: u64) -> u32 {
        self.first.get(self.bucket(hash)).copied().unwrap_or(NONE)
    }

    /// The one before it.
    pub fn next(&self, row: u32) -> u32 {
        self.next.get(row as usize).copied().unwrap_or(NONE)
    }
}

/// An index of a relation's rows by the columns of a mask.
pub fn index(relation: &Relation, arity: usize, mask: u32) -> Index {
    let rows = 0..relation.len() as usize;
    Index::of(rows.map(|n| hash(0, masked(relation.row(arity, u32::try_from(n).unwrap_or(NONE)), mask))))
}

/// The values in the columns of a mask.
pub fn masked(row: &[Id], mask: u32) -> impl Iterator<Item = Id> + '_ {
    row.iter().enumerate().filter(move |(c, _)| mask & 1 << c != 0).map(|(_, v)| *v)
}

/// The checker's indexes of a site's static rows, each made when it is first asked for.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    indexes: Vec<Arc<OnceLock<Index>>>,
}

impl Seen {
    /// Indexes for these look-ups; those of relations that are as `before` are kept.
    pub fn of(masks: &[(RelId, u32)], before: Option<&Self>, same: impl Fn(RelId) -> bool) -> Self {
        let kept = |n: usize| before.and_then(|b| b.indexes.get(n)).cloned();
        let index = |(n, (r, _)): (usize, &(RelId, u32))| if same(*r) { kept(n).unwrap_or_default() } else { Arc::default() };
        Self { indexes: masks.iter().enumerate().map(index).collect() }
    }

    /// The index of this number over these rows.
    pub fn index(&self, number: usize, relation: &Relation, arity: usize, mask: u32) -> Option<&Index> {
        self.indexes.get(number).map(|i| i.get_or_init(|| index(relation, arity, mask)))
    }
}

impl Checker {
    /// Whether a static row may have these values in these columns; where no index fits, any may.
    pub fn may_hold(&self, seen: &Seen, relation: RelId, rows: &Relation, arity: usize, known: &[(usize, Id)]) -> bool {
        let has = |n: u32| known.iter().all(|(c, v)| rows.row(arity, n).get(*c) == Some(v));
        if rows.len() < FEW {
            return (0..rows.len()).any(has);
        }
        let wanted = known.iter().filter(|(c, _)| *c < WIDE).fold(0u32, |m, (c, _)| m | 1 << c);
        let fits = self.masks.iter().enumerate().filter(|(_, (r, m))| *r == relation && *m != 0 && m & wanted == *m);
        let Some((number, (_, mask))) = fits.max_by_key(|(_, (_, m))| m.count_ones()) else { return true };
        let Some(index) = seen.index(number, rows, arity, *mask) else { return true };
        let values = known.iter().filter(|(c, _)| *c < WIDE && mask & 1 << c != 0).map(|(_, v)| *v);
        let mut at = index.first(hash(0, values));
        while at != NONE && !has(at) {
            at = index.next(at);
        }
        at != NONE
    }
}
