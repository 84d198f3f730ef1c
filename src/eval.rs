//! Running and measuring: dialogue files, invariants, adversaries, data sets.

pub mod adversary;
pub mod bench;
pub mod dialogues;
pub mod instant;
pub mod invariants;
pub mod judge;
pub mod learn;
pub mod metrics;
pub mod multiwoz;
pub mod nlu;
pub mod paraphrase;
pub mod reason;
pub mod refine;
pub mod rehearse;
pub mod render;
mod said;
#[cfg(feature = "serve")]
pub mod service;
pub mod star;
pub mod understand;
pub mod verify;
