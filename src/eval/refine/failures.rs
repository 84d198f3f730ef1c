//! Reads failed dialogues as changes: where a flow asks what nobody asked, skips what everybody asked, or asks in another order.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde_json::{Map, json};

use super::RefineError;
use super::patch::{Change, Patch, flow_json};
use super::remarks::{SlotAt, Vocabulary, flow_title};
use super::weigh::{Failed, Rehearsal, compare};
use crate::diag::Source;

/// A single slip is no reason to change a flow.
const ENOUGH: usize = 2;

/// More changes than this at a time nobody reads.
const AT_MOST: usize = 6;

/// The best change so far of a round.
struct Step {
    /// Turns right, then how light the change is.
    rank: (usize, Reverse<u8>),
    change: Change,
    after: Source,
    failed: Vec<Failed>,
}

/// Proposes the changes that the failures suggest and that the recorded dialogues bear out: the best one first, the next on top of it.
pub fn from_failures(source: &Source, rehearse: &Rehearsal<'_>) -> Result<Patch, RefineError> {
    let mut kept = Patch { flow: flow_title(&flow_json(source)?), because: "recorded dialogues".to_owned(), changes: Vec::new() };
    let before = rehearse(source).map_err(RefineError::Rehearsal)?;
    let (mut right, mut failed) = (before.right, before.failed);
    let mut now = source.clone();
    while kept.changes.len() < AT_MOST {
        let mut best: Option<Step> = None;
        for change in suggestions(&Vocabulary::new(&now)?, &failed) {
            let one = Patch { changes: vec![change.clone()], ..Patch::default() };
            let Ok(weighed) = compare(&now, &one, Some(rehearse)) else { continue };
            let objected = !weighed.objections().is_empty();
            let Some(measure) = weighed.after_measure.filter(|m| m.right > right && !objected) else { continue };
            let rank = (measure.right, Reverse(weight(&change)));
            if best.as_ref().is_none_or(|b| rank > b.rank) {
                best = Some(Step { rank, change, after: weighed.after, failed: measure.failed });
            }
        }
        let Some(step) = best else { break };
        kept.changes.push(step.change);
        (right, failed, now) = (step.rank.0, step.failed, step.after);
    }
    if kept.changes.is_empty() {
        return Err(RefineError::NotUnderstood);
    }
    kept.because = format!("recorded dialogues: {} of {} turns right, {right} with these changes", before.right, before.total);
    Ok(kept)
}

/// How much a change takes away from what the author wrote: of equally good ones the lightest is proposed.
fn weight(change: &Change) -> u8 {
    match change {
        Change::MoveSlot { .. } => 0,
        Change::SetSlot { set, .. } if set.get("required") == Some(&json!(true)) => 1,
        _ => 2,
    }
}

/// What the failures suggest, most frequent first.
fn suggestions(view: &Vocabulary, failed: &[Failed]) -> Vec<Change> {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for f in failed {
        *counts.entry((f.wanted.as_str(), f.done.as_str())).or_default() += 1;
    }
    let mut pairs: Vec<((&str, &str), usize)> = counts.into_iter().filter(|(_, n)| *n >= ENOUGH).collect();
    pairs.sort_by_key(|(pair, n)| (Reverse(*n), *pair));
    let asked_by = |act: &str| -> Vec<&SlotAt> { view.slots.iter().filter(|s| s.ask == act).collect() };
    let required = |s: &SlotAt, yes: bool| Change::SetSlot { node: s.node, slot: s.name.clone(), set: Map::from_iter([("required".to_owned(), json!(yes))]) };
    let mut out: Vec<Change> = Vec::new();
    for ((wanted, done), _) in pairs {
        let (should, does) = (asked_by(wanted), asked_by(done));
        let mut more = Vec::new();
        for s in &should {
            for d in does.iter().filter(|d| d.node == s.node) {
                more.push(Change::MoveSlot { node: s.node, slot: s.name.clone(), before: Some(d.name.clone()) });
            }
        }
        more.extend(does.iter().map(|s| required(s, false)));
        more.extend(should.iter().map(|s| required(s, true)));
        for change in more {
            if !out.contains(&change) {
                out.push(change);
            }
        }
    }
    out
}
