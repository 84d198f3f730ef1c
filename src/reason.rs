//! Reasoning: rules and facts in, one decision with its proofs out.

pub mod analyse;
pub mod eval;
pub mod syntax;
