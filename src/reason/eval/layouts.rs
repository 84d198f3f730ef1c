//! The relations that rules speak of: their numbers, views into function terms, and the indexes that look-ups need.

use std::collections::BTreeMap;

use super::store::{Facet, Layout, Mask, RelId};
use super::terms::Id;
use crate::reason::syntax::Predicate;
use crate::term::Name;

/// The relations, constants and indexes that the plans of all rules share.
#[derive(Clone, Debug, Default)]
pub struct Layouts {
    /// By number.
    pub layouts: Vec<Layout>,
    /// The name of each relation; a view has its base's.
    pub names: Vec<Predicate>,
    /// By name.
    pub ids: BTreeMap<Predicate, RelId>,
    /// Whether new look-ups must do with the indexes that are there.
    pub frozen: bool,
}

impl Layouts {
    /// The relation of a predicate.
    pub fn relation(&mut self, p: &Predicate) -> RelId {
        if let Some(id) = self.ids.get(p) {
            return *id;
        }
        let id = self.add(p.clone(), p.1, None);
        self.ids.insert(p.clone(), id);
        id
    }

    fn add(&mut self, name: Predicate, arity: usize, opens: Option<(RelId, usize)>) -> RelId {
        let id = u32::try_from(self.layouts.len()).unwrap_or(u32::MAX);
        self.layouts.push(Layout { arity, opens, ..Layout::default() });
        self.names.push(name);
        id
    }

    /// The relation of rows opened at a column where terms of this function stand; made if it may be.
    pub fn view(&mut self, base: RelId, column: usize, functor: &Name, constant: Id, arity: usize) -> Option<RelId> {
        let layout = self.layouts.get(base as usize)?;
        if let Some(v) = layout.views.iter().find(|v| v.column == column && v.functor == *functor && v.arity == arity) {
            return Some(v.relation);
        }
        if self.frozen {
            return None;
        }
        let (columns, place) = (layout.arity - 1 + arity, layout.views.len());
        let name = self.names.get(base as usize).cloned().unwrap_or_else(|| ("".into(), 0));
        let relation = self.add(name, columns, Some((base, place)));
        if let Some(layout) = self.layouts.get_mut(base as usize) {
            layout.views.push(Facet { column, functor: functor.clone(), constant, arity, relation });
        }
        Some(relation)
    }

    /// The index to use for these known columns, and the columns it is over.
    pub fn index(&mut self, relation: RelId, columns: impl Iterator<Item = usize>) -> (usize, Mask) {
        let mask: Mask = columns.filter(|c| *c < 32).fold(0, |m, c| m | (1 << c));
        let Some(layout) = self.layouts.get_mut(relation as usize) else {
            return (usize::MAX, 0);
        };
        if mask == 0 {
            return (usize::MAX, 0);
        }
        if mask.count_ones() as usize == layout.arity {
            return (0, mask);
        }
        if let Some(at) = layout.masks.iter().position(|m| *m == mask) {
            return (at + 1, mask);
        }
        if !self.frozen {
            layout.masks.push(mask);
            return (layout.masks.len(), mask);
        }
        let fitting = layout.masks.iter().enumerate().filter(|(_, m)| **m & mask == **m).max_by_key(|(_, m)| m.count_ones());
        fitting.map_or((usize::MAX, 0), |(at, m)| (at + 1, *m))
    }
}
