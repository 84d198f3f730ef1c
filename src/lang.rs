//! Authoring languages: each parses, reports and lowers to the intermediate representation.

pub mod adl;
pub mod chief;
pub mod expr;
pub mod script;
