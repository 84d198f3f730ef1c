//! What a decision came to, with everything that explains it.

use std::sync::OnceLock;

use super::base::Base;
use super::eval::Scratch;
use super::eval::store::{FACT, Relation};
use super::eval::terms::Terms;
use super::rules::Workspace;
use crate::term::Atom;

/// A decision with everything needed to explain it.
#[derive(Debug)]
pub struct Outcome {
    pub(super) base: Base,
    pub(super) above: Vec<Relation>,
    pub(super) terms: Terms,
    pub(super) facts: OnceLock<Vec<Atom>>,
    pub(super) scratch: Scratch,
    pub(super) shown: Vec<Atom>,
}

impl Drop for Outcome {
    fn drop(&mut self) {
        let (above, terms, scratch) = (std::mem::take(&mut self.above), std::mem::take(&mut self.terms), std::mem::take(&mut self.scratch));
        self.base.rules().give_back(Workspace { above, terms, scratch });
    }
}

impl Outcome {
    /// All shown atoms, sorted.
    pub fn shown(&self) -> &[Atom] {
        &self.shown
    }

    /// The site's facts and rules it was decided on.
    pub fn base(&self) -> &Base {
        &self.base
    }

    /// The facts of session and turn it was decided on.
    pub fn facts(&self) -> &[Atom] {
        self.facts.get_or_init(|| {
            let layouts = &self.base.rules().program.layouts;
            let mut out = Vec::new();
            for ((relation, layout), name) in self.above.iter().zip(&layouts.layouts).zip(&layouts.names).filter(|((_, l), _)| l.opens.is_none()) {
                let told = (0..).zip(&relation.derived).filter(|(_, d)| d.rule == FACT);
                out.extend(told.filter_map(|(n, _)| self.terms.atom(&name.0, relation.row(layout.arity, n))));
            }
            out.sort();
            out
        })
    }

    /// Bytes held, roughly.
    pub fn bytes(&self) -> usize {
        self.above.iter().map(Relation::bytes).sum::<usize>() + self.terms.own() * 64
    }
}
