//! Several models: a program with choices is grounded once, and asked under assumptions for a model or for why there is none.

use std::time::Duration;

use super::ReasonError;
use super::clingo::{self, SolveError};
use crate::term::Atom;

pub use super::clingo::Found;

/// A grounded program.
#[derive(Debug)]
pub struct Models {
    ground: clingo::Ground,
    limit: Duration,
}

fn told(e: SolveError) -> ReasonError {
    match e {
        SolveError::Timeout(t) => ReasonError::OverBudget { what: "milliseconds of solving", limit: u64::try_from(t.as_millis()).unwrap_or(u64::MAX) },
        SolveError::Unrepresentable => ReasonError::Unrepresentable("a shown atom".into()),
        SolveError::Failed(text) => ReasonError::Clingo(text),
    }
}

impl Models {
    /// Grounds rules with facts; no text of the facts becomes program text. Atoms of the predicates in `open` may be assumed; each
    /// question may take `limit`.
    pub fn ground(rules: &str, facts: &[Atom], open: &[(&str, u32)], limit: Duration) -> Result<Self, ReasonError> {
        Ok(Self { ground: clingo::Ground::new(rules, facts, open).map_err(told)?, limit })
    }

    /// A model in which all of these hold, or those among them that exclude one; the program must leave them open.
    pub fn with(&mut self, assumed: &[Atom]) -> Result<Found, ReasonError> {
        self.ground.under(assumed, self.limit).map_err(told)
    }

    /// The same, and of what excludes a model no part can be left out.
    pub fn least(&mut self, assumed: &[Atom]) -> Result<Found, ReasonError> {
        let mut needed = match self.with(assumed)? {
            Found::Refuted(needed) => needed,
            model => return Ok(model),
        };
        for a in needed.clone().into_iter().rev() {
            let rest: Vec<Atom> = needed.iter().filter(|n| **n != a).cloned().collect();
            if rest.len() < needed.len()
                && let Found::Refuted(smaller) = self.with(&rest)?
            {
                needed = smaller;
            }
        }
        Ok(Found::Refuted(needed))
    }
}
