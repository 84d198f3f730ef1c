//! Running and measuring: dialogue files, invariants, adversaries, data sets.

pub mod adversary;
pub mod dialogues;
pub mod invariants;
pub mod multiwoz;
pub mod render;
pub mod understand;
