//! Authoring languages: each parses, reports and lowers to the intermediate representation.

pub mod chief;
pub mod script;
