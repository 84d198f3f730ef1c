//! The feedback loop: a remark or failed dialogues become a proposed change of a flow, which is weighed before it is written.
//!
//! ```text
//! remark ─remarks─▶ ┐
//! failed dialogues ─failures─▶ ├ patch (hand-editable) ─apply─▶ new flow ─weigh─▶ difference, findings, recorded dialogues before and after
//! a model's reply ─model─▶ ┘
//! prose ─draft─▶ first flow
//! ```
//!
//! Nothing here writes a file: who calls decides after `Weighed::objections` is empty, or despite it.

mod design;
mod difference;
mod draft;
mod failures;
mod model;
mod patch;
mod remarks;
mod weigh;

pub use difference::{Difference, difference};
pub use draft::{Draft, draft};
pub use failures::from_failures;
pub use model::{Ask, draft_by_model, from_model};
pub use patch::{Change, Patch, apply};
pub use remarks::from_remark;
pub use weigh::{Failed, Measure, Rehearsal, Weighed, weigh};

/// Why no change was proposed or applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefineError {
    /// The flow is no JSON object.
    #[error("`{0}` is no flow in JSON")]
    NoFlow(String),
    /// The patch does not follow its format.
    #[error("the patch does not follow its format: {0}")]
    NoPatch(String),
    /// A change names something that the flow does not have.
    #[error("change {number} names {what} `{name}`, which the flow does not have")]
    Missing {
        /// Which change, from 1.
        number: usize,
        /// The kind of thing.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// A change adds something that is there already.
    #[error("change {number} adds {what} `{name}`, which the flow has already")]
    Present {
        /// Which change, from 1.
        number: usize,
        /// The kind of thing.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// Nothing in the remark is a change that can be made without a model.
    #[error("no change can be read from the remark without a model")]
    NotUnderstood,
    /// The model failed, or twice proposed nothing that applies.
    #[error("the model proposed nothing usable: {0}")]
    Model(String),
    /// The flow could not be searched.
    #[error("the flow could not be verified: {0}")]
    Verification(String),
    /// The recorded dialogues could not be run.
    #[error("the recorded dialogues could not be run: {0}")]
    Rehearsal(String),
}

#[cfg(test)]
mod tests;
