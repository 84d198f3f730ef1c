//! Duologue: a neuro-symbolic dialogue engine. Language models translate, logic decides.
//!
//! One turn is five arrows between plain data:
//!
//! ```text
//! utterance ─understand─▶ predicates ─link─▶ predicates over known names
//!    facts (kb ⊕ shared ⊕ session) ─decide─▶ effects, actions, proofs
//!    ─commit─▶ store ─act─▶ outbox ─render─▶ text
//! ```
//!
//! The modules stand in reading order.

pub mod act;
pub mod check;
pub mod cli;
pub mod diag;
pub mod domain;
pub mod eval;
pub mod facts;
pub mod ir;
pub mod lang;
pub mod link;
pub mod llm;
pub mod ontology;
pub mod reason;
pub mod render;
pub mod state;
pub mod term;
pub mod turn;
pub mod understand;
