//! Weighs a change: findings, difference and recorded dialogues before and after, and what speaks against writing it.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::RefineError;
use super::difference::{Difference, difference};
use super::patch::{Patch, apply};
use crate::diag::{Diagnostic, Severity, Source};
use crate::domain::Files;
use crate::eval::verify;
use crate::lang::chief;
use crate::reason::verify::{Searched, Violation};

/// Turns of the conversations that are visited on either side.
const DEPTH: usize = 3;
/// How long either side is searched at most.
const TIME: Duration = Duration::from_secs(10);

/// A turn that a flow got wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Failed {
    /// The dialogue.
    pub dialogue: String,
    /// The turn or event in it.
    pub turn: usize,
    /// What should have been done.
    pub wanted: String,
    /// What the flow did.
    pub done: String,
}

/// How a flow does on recorded dialogues.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Measure {
    /// Turns as recorded.
    pub right: usize,
    /// All turns.
    pub total: usize,
    /// The others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<Failed>,
}

/// Runs the recorded dialogues through a flow.
pub type Rehearsal<'a> = dyn Fn(&Source) -> Result<Measure, String> + 'a;

/// A change with everything to judge it by.
#[derive(Clone, Debug, Serialize)]
pub struct Weighed {
    /// The new file.
    #[serde(skip)]
    pub after: Source,
    /// What it does to the graph.
    pub difference: Difference,
    /// Findings of `check` that the change brings.
    pub new_findings: Vec<Diagnostic>,
    /// Findings that it settles.
    pub settled_findings: Vec<Diagnostic>,
    /// What a speaker can lead the old flow to; none when it cannot run.
    pub before_verified: Option<Searched>,
    /// The same of the new flow.
    pub after_verified: Option<Searched>,
    /// The recorded dialogues before, if there are any.
    pub before_measure: Option<Measure>,
    /// The recorded dialogues after.
    pub after_measure: Option<Measure>,
}

/// Applies a patch to a copy and looks at both sides: findings, what a speaker can lead either to, recorded dialogues.
pub fn weigh(before: &Source, patch: &Patch, rehearse: Option<&Rehearsal<'_>>) -> Result<Weighed, RefineError> {
    let mut weighed = compare(before, patch, rehearse)?;
    weighed.before_verified = verified(before)?;
    weighed.after_verified = verified(&weighed.after)?;
    Ok(weighed)
}

/// The same without the search, for trying out many changes.
pub(super) fn compare(before: &Source, patch: &Patch, rehearse: Option<&Rehearsal<'_>>) -> Result<Weighed, RefineError> {
    let after = apply(before, patch)?;
    let (old, new) = (chief::read(before).1, chief::read(&after).1);
    let other = |d: &Diagnostic, all: &[Diagnostic]| !all.iter().any(|x| x.code == d.code && x.message == d.message);
    let new_findings: Vec<Diagnostic> = new.iter().filter(|d| other(d, &old)).cloned().collect();
    let settled_findings = old.iter().filter(|d| other(d, &new)).cloned().collect();
    let broken = new.iter().any(|d| d.severity == Severity::Error);
    let run = |s: &Source, skip: bool| -> Result<Option<Measure>, RefineError> {
        rehearse.filter(|_| !skip).map(|r| r(s).map_err(RefineError::Rehearsal)).transpose()
    };
    let was_broken = old.iter().any(|d| d.severity == Severity::Error);
    let before_measure = run(before, was_broken)?;
    let after_measure = run(&after, broken)?;
    let difference = difference(before, &after)?;
    Ok(Weighed { difference, after, new_findings, settled_findings, before_verified: None, after_verified: None, before_measure, after_measure })
}

/// Searches a flow, if it has no errors.
fn verified(source: &Source) -> Result<Option<Searched>, RefineError> {
    let (Some(program), found) = chief::read(source) else { return Ok(None) };
    if found.iter().any(|d| d.severity == Severity::Error) {
        return Ok(None);
    }
    let failed = |e: &dyn fmt::Display| RefineError::Verification(e.to_string());
    let domain =
        chief::domain::domain(&program, &Files::built_in()).map_err(|found| failed(&found.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")))?;
    verify::domain(&domain, Some(DEPTH), TIME).map(Some).map_err(|e| failed(&e))
}

impl Weighed {
    /// Properties that the change breaks.
    pub fn newly_broken(&self) -> Vec<&Violation> {
        let old = self.before_verified.as_ref().map(|v| v.violations.as_slice()).unwrap_or_default();
        let new = self.after_verified.as_ref().map(|v| v.violations.as_slice()).unwrap_or_default();
        new.iter().filter(|b| !old.iter().any(|o| o.property == b.property && o.detail == b.detail)).collect()
    }

    /// What speaks against writing the change; empty when nothing does.
    pub fn objections(&self) -> Vec<String> {
        let mut out: Vec<String> = Vec::new();
        if self.difference.is_empty() {
            out.push("nothing changes".to_owned());
        }
        out.extend(self.new_findings.iter().filter(|d| d.severity == Severity::Error).map(|d| format!("{}: {}", d.origin, d.message)));
        out.extend(self.newly_broken().iter().map(|b| format!("breaks {}: {}", b.property, b.detail)));
        if let (Some(b), Some(a)) = (&self.before_measure, &self.after_measure)
            && a.right < b.right
        {
            out.push(format!("{} recorded turns were right before, {} are after", b.right, a.right));
        }
        out
    }
}

impl fmt::Display for Weighed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.difference)?;
        for d in &self.new_findings {
            writeln!(f, "new finding: {}: {}", d.origin, d.message)?;
        }
        for d in &self.settled_findings {
            writeln!(f, "settled: {}", d.message)?;
        }
        if let (Some(b), Some(a)) = (&self.before_verified, &self.after_verified) {
            writeln!(
                f,
                "verified: {} situations and {} broken properties before, {} and {} after",
                b.states,
                b.violations.len(),
                a.states,
                a.violations.len()
            )?;
        }
        if let (Some(b), Some(a)) = (&self.before_measure, &self.after_measure) {
            writeln!(f, "recorded turns right: {} of {} before, {} of {} after", b.right, b.total, a.right, a.total)?;
            for x in a.failed.iter().filter(|x| !b.failed.iter().any(|y| y.dialogue == x.dialogue && y.turn == x.turn)).take(5) {
                writeln!(f, "  newly wrong: dialogue {}, turn {}: `{}` where `{}` was recorded", x.dialogue, x.turn, x.done, x.wanted)?;
            }
        }
        for o in self.objections() {
            writeln!(f, "objection: {o}")?;
        }
        Ok(())
    }
}
