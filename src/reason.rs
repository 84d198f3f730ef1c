//! Reasoning: rules and facts in, one decision with its proofs out.

pub mod analyse;
mod base;
pub mod bench;
mod certify;
mod clingo;
mod clingo_text;
mod complaints;
mod conflict;
mod decide;
pub mod eval;
pub mod models;
mod order;
mod outcome;
pub mod proof;
pub mod reflect;
pub mod reproduce;
mod rules;
mod sketch;
pub mod slice;
pub mod syntax;
pub mod verify;

pub use base::Base;
pub use complaints::complaints;
pub use conflict::{minimal_conflict, unsat_core};
pub use decide::{Budget, Reasoner, arity_of, audit, decide, slice as slice_of};
pub use outcome::Outcome;
pub use proof::{Because, Builder, By, Counted, Fails, Failure, Proof, RuleRef, Way, WhyNot};
pub use rules::{Rules, Scope, Signature};

/// Why no decision was made; the turn then fails closed with its state unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReasonError {
    /// A fact of session or turn that the rules do not declare as such.
    #[error("`{0}` is no predicate of session or turn")]
    UnknownPredicate(String),
    /// A fact given as knowledge base or shared fact that is declared otherwise.
    #[error("`{0}` is not declared as a fact of this scope")]
    NotStored(String),
    /// Arithmetic left 32 bits.
    #[error("a number leaves 32 bits in the rule `{0}`")]
    Overflow(String),
    /// A limit was reached.
    #[error("over budget: more than {limit} {what}")]
    OverBudget {
        /// Of what.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// The facts break an integrity constraint.
    #[error("the facts break the constraint `{0}`")]
    Inconsistent(String),
    /// A shown atom holds `#inf` or `#sup`.
    #[error("`{0}` is shown with the bound of an empty aggregate")]
    Unrepresentable(String),
    /// The rules admit several models for the same facts.
    #[error("the rules admit two models: one has `{only}`, the other has not")]
    TwoModels {
        /// An atom of one that the other lacks.
        only: String,
    },
    /// The rules admit no model for the facts.
    #[error("the rules admit no model")]
    NoModel,
    /// clingo refused or broke off.
    #[error("clingo: {0}")]
    Clingo(String),
    /// The two engines derived different atoms.
    #[error("the engines disagree: {difference}")]
    Disagreement {
        /// What only one of them derived.
        difference: String,
        /// A file that replays the decision.
        reproducer: String,
    },
}

#[cfg(test)]
mod tests;
