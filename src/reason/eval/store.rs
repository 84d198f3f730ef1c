//! Relations of interned rows with hash indexes, and where each row came from.

use super::terms::{Id, Terms};

/// A predicate's number.
pub type RelId = u32;
/// A set of columns, as bits.
pub type Mask = u32;
/// No row.
pub const NO_ROW: u32 = u32::MAX;
/// The rule number of a row that is a fact of a file or of the caller.
pub const FACT: u32 = u32::MAX;
/// Relations with fewer rows are scanned, not indexed.
const SMALL: u32 = 10;

/// The rule that derived a row and where the binding of its variables begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Derived {
    /// The rule's number, or [`FACT`].
    pub rule: u32,
    /// Offset into the relation's bindings.
    pub binding: u32,
}

/// Rows by the hash of some columns: a bucket's rows are chained in the order they came, those of other keys among them.
#[derive(Clone, Debug, Default)]
struct Index {
    /// The first and last row of each bucket; as many buckets as a power of two.
    buckets: Vec<(u32, u32)>,
    next: Vec<u32>,
}

/// No row yet.
const EMPTY: (u32, u32) = (NO_ROW, NO_ROW);

impl Index {
    #[inline]
    fn bucket(&self, hash: u64) -> usize {
        hash as usize & self.buckets.len().wrapping_sub(1)
    }

    fn first(&self, hash: u64) -> u32 {
        self.buckets.get(self.bucket(hash)).map_or(NO_ROW, |b| b.0)
    }

    /// Appends the next row.
    fn push(&mut self, hash: u64) {
        let row = u32::try_from(self.next.len()).unwrap_or(NO_ROW);
        self.next.push(NO_ROW);
        let at = self.bucket(hash);
        let Some(bucket) = self.buckets.get_mut(at) else { return };
        let last = std::mem::replace(&mut bucket.1, row);
        if bucket.0 == NO_ROW {
            bucket.0 = row;
        } else if let Some(n) = self.next.get_mut(last as usize) {
            *n = row;
        }
    }

    fn clear(&mut self) {
        if !self.next.is_empty() {
            self.next.clear();
            self.buckets.fill(EMPTY);
        }
    }
}

/// The rows of one predicate.
#[derive(Clone, Debug, Default)]
pub struct Relation {
    data: Vec<Id>,
    /// Where each row came from.
    pub derived: Vec<Derived>,
    /// The variables of the rules that derived the rows.
    pub bindings: Vec<Id>,
    /// One for each mask of the relation's layout; the first is over all columns. Each covers the rows there were when it was
    /// last needed.
    indexes: Vec<Index>,
}

/// A second relation that holds the rows whose `column` is a function term, with its arguments in the column's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facet {
    /// The column that is opened.
    pub column: usize,
    /// The function's name.
    pub functor: crate::term::Name,
    /// The same as an interned constant.
    pub constant: Id,
    /// Its number of arguments.
    pub arity: usize,
    /// The relation of the opened rows.
    pub relation: RelId,
}

/// What is the same for all states of one relation: compiled from the rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Number of columns.
    pub arity: usize,
    /// The columns of each index, without the one over all columns.
    pub masks: Vec<Mask>,
    /// Its opened views.
    pub views: Vec<Facet>,
    /// For an opened view: the relation it opens, and the view's place there.
    pub opens: Option<(RelId, usize)>,
}

/// The hash of the columns of a mask; its low bits choose a bucket.
#[inline]
pub fn key_hash(values: impl Iterator<Item = Id>) -> u64 {
    let mut h: u64 = 0x9e37_79b9_7f4a_7c15;
    for v in values {
        h = (h.rotate_left(5) ^ u64::from(v)).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
    h ^ (h >> 32)
}

/// Equality of short rows, without a call.
fn same(a: &[Id], b: &[Id]) -> bool {
    a.iter().zip(b).all(|(x, y)| x == y)
}

impl Relation {
    /// The number of rows.
    #[inline]
    pub fn len(&self) -> u32 {
        u32::try_from(self.derived.len()).unwrap_or(u32::MAX)
    }

    /// Whether there is no row.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.derived.is_empty()
    }

    /// A row's values.
    #[inline]
    pub fn row(&self, arity: usize, row: u32) -> &[Id] {
        let at = row as usize * arity;
        self.data.get(at..at + arity).unwrap_or(&[])
    }

    /// Forgets all rows, keeping the memory.
    pub fn clear(&mut self) {
        if self.derived.is_empty() {
            return;
        }
        self.data.clear();
        self.derived.clear();
        self.bindings.clear();
        self.indexes.iter_mut().for_each(Index::clear);
    }

    /// The index of this number, if it covers all rows.
    #[inline]
    fn whole(&self, index: usize) -> Option<&Index> {
        self.indexes.get(index).filter(|i| i.next.len() == self.derived.len())
    }

    /// The row with these values.
    #[inline]
    pub fn find(&self, values: &[Id]) -> Option<u32> {
        let arity = values.len();
        let Some(index) = self.whole(0) else {
            return (0..self.len()).find(|r| same(self.row(arity, *r), values));
        };
        let mut at = index.first(key_hash(values.iter().copied()));
        while at != NO_ROW {
            if same(self.row(arity, at), values) {
                return Some(at);
            }
            at = index.next.get(at as usize).copied().unwrap_or(NO_ROW);
        }
        None
    }

    /// The first row that may have this key in the columns of index `index` (1 is the layout's first mask), and how to go on.
    #[inline]
    pub fn first(&self, index: usize, hash: u64) -> (u32, bool) {
        if self.derived.is_empty() {
            return (NO_ROW, false);
        }
        match self.whole(index) {
            Some(i) => (i.first(hash), true),
            None => (0, false),
        }
    }

    /// The row after `row`, along an index if `chained`.
    #[inline]
    pub fn after(&self, index: usize, row: u32, chained: bool) -> u32 {
        if chained {
            return self.indexes.get(index).and_then(|i| i.next.get(row as usize)).copied().unwrap_or(NO_ROW);
        }
        if row + 1 < self.len() { row + 1 } else { NO_ROW }
    }

    /// Adds a row that is not there yet.
    pub fn push(&mut self, values: &[Id], derived: Derived) {
        self.data.extend_from_slice(values);
        self.derived.push(derived);
    }

    /// Makes an index cover all rows, if there are enough of them to be worth it.
    #[inline]
    pub fn cover(&mut self, layout: &Layout, index: usize) {
        let rows = self.len();
        if rows < SMALL || index > layout.masks.len() || self.whole(index).is_some() {
            return;
        }
        if self.indexes.is_empty() {
            self.indexes.resize_with(layout.masks.len() + 1, Index::default);
        }
        let mask = index.checked_sub(1).and_then(|m| layout.masks.get(m));
        let (data, arity) = (&self.data, layout.arity);
        let Some(index) = self.indexes.get_mut(index) else { return };
        if index.buckets.len() < rows as usize {
            index.next.clear();
            index.buckets.clear();
            index.buckets.resize((rows as usize * 2).next_power_of_two(), EMPTY);
        }
        for row in index.next.len()..rows as usize {
            let values = data.get(row * arity..(row + 1) * arity).unwrap_or(&[]);
            index.push(match mask {
                None => key_hash(values.iter().copied()),
                Some(mask) => key_hash(values.iter().enumerate().filter(|(c, _)| mask & (1 << c) != 0).map(|(_, v)| *v)),
            });
        }
    }

    /// Makes all indexes cover all rows, for a relation that will not change any more.
    pub fn cover_all(&mut self, layout: &Layout) {
        (0..=layout.masks.len()).for_each(|i| self.cover(layout, i));
    }

    /// A defect: an index no longer leads to a row.
    #[cfg(test)]
    pub fn drop_from_index(&mut self, index: usize, row: u32) -> bool {
        let Some(i) = self.indexes.get_mut(index).filter(|i| !i.next.is_empty()) else { return false };
        let after = i.next.get(row as usize).copied().unwrap_or(NO_ROW);
        i.buckets.iter_mut().filter(|b| b.0 == row).for_each(|b| b.0 = after);
        i.next.iter_mut().filter(|n| **n == row).for_each(|n| *n = after);
        true
    }

    /// A defect: a row has another value in one column; the indexes know it.
    #[cfg(test)]
    pub fn corrupt(&mut self, layout: &Layout, row: u32, column: usize, value: Id) {
        if let Some(v) = self.data.get_mut(row as usize * layout.arity + column) {
            *v = value;
        }
        self.indexes.clear();
        self.cover_all(layout);
    }

    /// Bytes held, roughly.
    pub fn bytes(&self) -> usize {
        (self.data.capacity() + self.bindings.capacity()) * 4
            + self.derived.capacity() * 8
            + self.indexes.iter().map(|i| i.buckets.capacity() * 8 + i.next.capacity() * 4).sum::<usize>()
    }
}

/// Opens a row for a view: the values with the function's arguments in its column's place; `None` if the column holds something else.
pub fn open_row(terms: &Terms, view: &Facet, row: &[Id], out: &mut Vec<Id>) -> Option<()> {
    let (name, args) = terms.fun(*row.get(view.column)?)?;
    if args.len() != view.arity || name != view.constant {
        return None;
    }
    out.clear();
    out.extend_from_slice(row.get(..view.column)?);
    out.extend_from_slice(args);
    out.extend_from_slice(row.get(view.column + 1..)?);
    Some(())
}
