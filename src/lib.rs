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
//!
//! The README's program, run as a test:
#![doc = include_str!("../README.md")]

pub mod diag;
pub mod wait;
pub mod text;
pub mod term;
pub mod conversation;
pub mod ontology;
pub mod domain;
pub mod facts;
pub mod reason;
pub mod reasoning;
pub mod understand;
pub mod link;
pub mod render;
pub mod act;
pub mod turn;
pub mod llm;
pub mod ir;
pub mod lang;
pub mod check;
pub mod eval;
#[cfg(feature = "serve")]
pub mod serve;
pub mod cli;
