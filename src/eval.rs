//! Evaluation against data sets.
