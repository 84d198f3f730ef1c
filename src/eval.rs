//! Evaluation against data sets.

pub mod nlu;
