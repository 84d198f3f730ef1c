//! Steps one after another, by name: what a script's agent does until it waits, calls or ends.
//!
//! A place in a script is a block and the number of a step in it; where a conversation stands is a stack of such places, as facts
//! `at(Depth,Block,Step)`. The walk from step to step is code ([`walk`]); what comes of it is decided by rules (`rules/core/script.lp`).

pub mod walk;

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
    /// Says something; `${name}` stands for a value.
    Say(String),
    /// Sets a value; none takes it away.
    Set(String, Given),
    /// Calls a function with these inputs.
    Call {
        /// The function.
        function: String,
        /// Its inputs.
        with: Vec<(String, Given)>,
    },
    /// Enters the first block whose condition holds, and comes back.
    Choose(Vec<(Guard, String)>),
    /// A place to jump to.
    Label(String),
    /// Goes on at a label, or at the beginning of a block. One that is open already is gone back to; another is entered, and comes back.
    Jump(String),
    /// Ends the block.
    Return,
}

/// What is given: a value, or what is found on a path at the time.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// This value.
    Is(Value),
    /// What is found there.
    Of(Path),
}

/// The place of a name that steps go on at: a label's, or a block's first step.
pub fn place_of(blocks: &[Block], name: &str) -> Option<(usize, usize)> {
    let label = |s: &Step| matches!(&s.kind, StepKind::Label(l) if l == name);
    let labelled = blocks.iter().enumerate().find_map(|(b, block)| Some((b, block.steps.iter().position(label)?)));
    labelled.or_else(|| Some((blocks.iter().position(|b| b.name == name)?, 0)))
}

/// The conditions of all steps in order, as they are numbered.
pub fn guards(blocks: &[Block]) -> impl Iterator<Item = &Guard> {
    blocks
        .iter()
        .flat_map(|b| &b.steps)
        .flat_map(|s| match &s.kind {
            StepKind::Choose(ways) => ways.as_slice(),
            _ => &[],
        })
        .map(|(guard, _)| guard)
}
