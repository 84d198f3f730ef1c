//! Which conversation something belongs to, and what the rules show of it.

use crate::term::{Atom, Name};

/// Which conversation something belongs to: for accounts and logs, never for prompts.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Conversation {
    /// The site.
    pub site: String,
    /// The session's id.
    pub session: String,
}

/// What the rules show of a conversation: its `view` atoms, sorted, and the things among them that the domain declares
/// to be lines (`ontology::shape`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    atoms: Vec<Atom>,
    lines: Vec<Line>,
}

impl View {
    /// Only `ontology::shape` knows which atoms are lines.
    pub(crate) fn new(atoms: Vec<Atom>, lines: Vec<Line>) -> Self {
        Self { atoms, lines }
    }

    /// The atoms, sorted.
    pub fn atoms(&self) -> &[Atom] {
        &self.atoms
    }

    /// The lines, by place.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Every name on the lines: the items and what fills their parts.
    pub fn names(&self) -> impl Iterator<Item = &Name> {
        self.lines.iter().flat_map(|l| std::iter::once(&l.item).chain(l.parts.iter().filter_map(|p| p.fill.as_ref())))
    }

    /// Whether a line is of this item or has it as a part.
    pub fn names_item(&self, item: &str) -> bool {
        self.names().any(|n| &**n == item)
    }
}

/// One thing that a conversation holds: one instance of an item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The item.
    pub item: Name,
    /// Its changes in the form `Op(Option)`.
    pub changes: Vec<Atom>,
    /// Members of a composed item; empty for plain ones.
    pub parts: Vec<Part>,
}

/// A member of a composed item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The slot it fills.
    pub slot: Name,
    /// What fills it, `None` while open.
    pub fill: Option<Name>,
    /// Its changes in the form `Op(Option)`.
    pub changes: Vec<Atom>,
}
