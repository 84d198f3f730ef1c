//! Steps one after another, by name: what a script's agent does until it waits, calls or ends.
//!
//! A place in a script is a block and the number of a step in it. The walk from step to step is code ([`super::walk`]); what comes of it is decided by
//! rules (`rules/core/agents.lp`).

use super::guard::Guard;
use super::value::{Given, Path};
use crate::diag::Origin;

/// Steps under a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Its name.
    pub name: String,
    /// Its steps, in order.
    pub steps: Vec<Step>,
    /// For a branch of a step: the block and the step in it that it is a branch of. Ending it ends the block around it, and steps go on in it only
    /// through the step or one of its labels.
    pub within: Option<(usize, usize)>,
    /// Where it was written.
    pub origin: Origin,
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its place as its author sees it, such as `steps.2.then.0`.
    pub id: String,
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
    /// Sets values one after another; none takes one away.
    Set(Vec<(Path, Given)>),
    /// Calls somebody with these inputs, and goes on when it comes back.
    Call {
        /// Who is called.
        who: Callee,
        /// The inputs.
        with: Vec<(String, Given)>,
    },
    /// Enters the block of the first way whose condition holds, and comes back.
    Choose(Vec<Way>),
    /// A place to jump to.
    Label(String),
    /// Goes on at a label, or at the beginning of a block. One that is open already is gone back to; another is entered, and comes back.
    Jump {
        /// The label or block.
        to: String,
        /// How often in an activation it is taken; afterwards it is passed over.
        tries: Option<u32>,
    },
    /// Ends the block.
    Return {
        /// Whether that was to be.
        success: bool,
        /// What is told of it.
        message: String,
    },
}

/// Who is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Callee {
    /// A function.
    Function(String),
    /// Another agent.
    Agent(String),
    /// A block of the same agent.
    Block(String),
}

/// A way that a step may go.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// When it is gone.
    pub guard: Guard,
    /// How often in an activation its condition is looked at; afterwards it does not hold.
    pub tries: Option<u32>,
    /// The block that is entered.
    pub to: String,
}

/// The place of a name that steps go on at: a label's, or a block's first step.
pub fn place_of(blocks: &[Block], name: &str) -> Option<(usize, usize)> {
    let label = |s: &Step| matches!(&s.kind, StepKind::Label(l) if l == name);
    let labelled = blocks.iter().enumerate().find_map(|(b, block)| Some((b, block.steps.iter().position(label)?)));
    labelled.or_else(|| Some((blocks.iter().position(|b| b.name == name && b.within.is_none())?, 0)))
}

/// The block that a way leads to: a branch of that name, or else a block.
pub fn way_to(blocks: &[Block], name: &str) -> Option<usize> {
    blocks.iter().position(|b| b.name == name && b.within.is_some()).or_else(|| blocks.iter().position(|b| b.name == name))
}
