//! Steps one after another, by name: what a script's agent does until it waits, calls or ends.
//!
//! Nothing lowers scripts to a domain yet; a place in one is told by its block and the number of its step.

use super::guard::Guard;
use super::value::{Path, Value};
use crate::diag::Origin;

/// Steps under a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Its name.
    pub name: String,
    /// Its steps, in order.
    pub steps: Vec<Step>,
    /// Where it was written.
    pub origin: Origin,
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What it does.
    pub kind: StepKind,
    /// Where it was written.
    pub origin: Origin,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq)]
pub enum StepKind {
    /// Waits for what the speaker says.
    Wait,
    /// Says something; `{name}` stands for a value.
    Say(String),
    /// Sets a value.
    Set(Path, Value),
    /// Calls a function with these inputs.
    Call {
        /// The function.
        function: String,
        /// Its inputs, from values.
        with: Vec<(String, Path)>,
    },
    /// Goes on with the first block whose condition holds.
    Choose(Vec<(Guard, String)>),
    /// A place to jump to.
    Label(String),
    /// Goes on at a label or block.
    Jump(String),
    /// Ends the block.
    Return,
}
