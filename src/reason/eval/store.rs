//! Relations of interned rows with hash indexes, and where each row came from.

use rustc_hash::FxHashMap;

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
const SMALL: u32 = 24;

/// The rule that derived a row and where the binding of its variables begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Derived {
    /// The rule's number, or [`FACT`].
    pub rule: u32,
    /// Offset into the relation's bindings.
    pub binding: u32,
}

#[derive(Clone, Debug, Default)]
struct Index {
    /// From a key's hash to its first and last row.
    ends: FxHashMap<u64, (u32, u32)>,
    next: Vec<u32>,
}

/// The rows of one predicate.
#[derive(Clone, Debug, Default)]
pub struct Relation {
    data: Vec<Id>,
    /// Where each row came from.
    pub derived: Vec<Derived>,
    /// The variables of the rules that derived the rows.
    pub bindings: Vec<Id>,
    /// One for each mask of the relation's layout; the first is over all columns.
    indexes: Vec<Index>,
    built: bool,
}

/// A second relation that holds the rows whose `column` is a function term, with its arguments in the column's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
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
    pub views: Vec<View>,
    /// For an opened view: the relation it opens, and the view's place there.
    pub opens: Option<(RelId, usize)>,
}

/// The hash of the columns of a mask.
pub fn key_hash(values: impl Iterator<Item = Id>) -> u64 {
    let mut h: u64 = 0x9e37_79b9_7f4a_7c15;
    for v in values {
        h = (h.rotate_left(5) ^ u64::from(v)).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
    h ^ (h >> 29)
}

/// Equality of short rows, without a call.
fn same(a: &[Id], b: &[Id]) -> bool {
    a.iter().zip(b).all(|(x, y)| x == y)
}

impl Relation {
    /// The number of rows.
    pub fn len(&self) -> u32 {
        u32::try_from(self.derived.len()).unwrap_or(u32::MAX)
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.derived.is_empty()
    }

    /// A row's values.
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
        if self.built {
            for i in &mut self.indexes {
                i.ends.clear();
                i.next.clear();
            }
        }
        self.built = false;
    }

    /// The row with these values.
    pub fn find(&self, values: &[Id]) -> Option<u32> {
        let arity = values.len();
        if !self.built {
            return (0..self.len()).find(|r| same(self.row(arity, *r), values));
        }
        let index = self.indexes.first()?;
        let mut at = index.ends.get(&key_hash(values.iter().copied()))?.0;
        while at != NO_ROW {
            if same(self.row(arity, at), values) {
                return Some(at);
            }
            at = index.next.get(at as usize).copied().unwrap_or(NO_ROW);
        }
        None
    }

    /// The first row that may have this key in the columns of index `index` (1 is the layout's first mask), and how to go on.
    pub fn first(&self, index: usize, hash: u64) -> (u32, bool) {
        if self.derived.is_empty() {
            return (NO_ROW, false);
        }
        if !self.built || index == usize::MAX {
            return (0, false);
        }
        (self.indexes.get(index).and_then(|i| i.ends.get(&hash)).map_or(NO_ROW, |e| e.0), true)
    }

    /// The row after `row`, along an index if `chained`.
    pub fn after(&self, index: usize, row: u32, chained: bool) -> u32 {
        if chained {
            return self.indexes.get(index).and_then(|i| i.next.get(row as usize)).copied().unwrap_or(NO_ROW);
        }
        if row + 1 < self.len() { row + 1 } else { NO_ROW }
    }

    /// Adds a row that is not there yet.
    pub fn push(&mut self, layout: &Layout, values: &[Id], derived: Derived) {
        let row = self.len();
        self.data.extend_from_slice(values);
        self.derived.push(derived);
        if self.built {
            self.index_row(layout, row);
        } else if row >= SMALL {
            self.built = true;
            self.indexes.resize_with(layout.masks.len() + 1, Index::default);
            for r in 0..=row {
                self.index_row(layout, r);
            }
        }
    }

    fn index_row(&mut self, layout: &Layout, row: u32) {
        let at = row as usize * layout.arity;
        let Some(values) = self.data.get(at..at + layout.arity) else { return };
        for (i, index) in self.indexes.iter_mut().enumerate() {
            let hash = match i.checked_sub(1).and_then(|m| layout.masks.get(m)) {
                None => key_hash(values.iter().copied()),
                Some(mask) => key_hash(values.iter().enumerate().filter(|(c, _)| mask & (1 << c) != 0).map(|(_, v)| *v)),
            };
            match index.ends.entry(hash) {
                std::collections::hash_map::Entry::Occupied(mut e) => {
                    let last = std::mem::replace(&mut e.get_mut().1, row);
                    if let Some(n) = index.next.get_mut(last as usize) {
                        *n = row;
                    }
                }
                std::collections::hash_map::Entry::Vacant(e) => {
                    e.insert((row, row));
                }
            }
            index.next.push(NO_ROW);
        }
    }

    /// Bytes held, roughly.
    pub fn bytes(&self) -> usize {
        (self.data.capacity() + self.bindings.capacity()) * 4
            + self.derived.capacity() * 8
            + self.indexes.iter().map(|i| i.ends.capacity() * 17 + i.next.capacity() * 4).sum::<usize>()
    }
}

/// Opens a row for a view: the values with the function's arguments in its column's place; `None` if the column holds something else.
pub fn open_row(terms: &Terms, view: &View, row: &[Id], out: &mut Vec<Id>) -> Option<()> {
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
