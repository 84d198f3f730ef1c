//! Linking: said names to known names, by exact form, alias, inflection, spelling, word order and partial names.
//!
//! A name is a set of word stems. A stretch of the utterance names every known name that holds all its words; how much
//! of the name was said (rare words count more than common ones) is the score. One clear best candidate is taken, two
//! close ones are a tie and lead to a question, weak ones stay unknown: the thresholds are in [`Thresholds`]. Where spelling
//! leaves a name unknown or tied, vectors may be asked ([`Nearness`]): of a language model's server, or of a local table.

pub mod names;
pub mod nearness;
pub mod similar;
pub mod static_vectors;
pub mod words;

pub use names::{Candidate, Names, Thresholds};
pub use nearness::{Nearness, Vectors};
pub use static_vectors::StaticVectors;
pub use words::{UNKNOWN, Words};
