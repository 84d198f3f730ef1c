//! Reasoning: rules and facts in, one decision with its proofs out.
