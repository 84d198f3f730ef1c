//! Evaluation against data sets.
pub mod multiwoz;
