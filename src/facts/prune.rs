//! Forgetting what ended conversations said: their records and their own facts go; what they changed for others stays, with a digest of what went.

use ring::digest::{SHA256, digest};
use serde_json::json;

use super::change::changes_to_text;
use super::{Change, Entry, Turn};
use crate::ontology::Scope;

/// How the record of a forgotten turn begins.
pub const MARK: &str = "{\"pruned\":";

/// What was forgotten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Conversations.
    pub sessions: usize,
    /// Their turns.
    pub turns: usize,
}

/// What is kept of a turn: its place in the log, its changes of what is shared and of the kb, and the digest of its record and all its changes, by
/// which a copy of the log from before is known to be this one's. `None` of what is no turn, or is forgotten already.
pub fn kept(site: &str, entry: &Entry) -> Option<(Turn, Vec<Change>)> {
    let turn = entry.turn().filter(|t| !t.record.starts_with(MARK))?;
    let whole = digest(&SHA256, format!("{}\n{}", turn.record, changes_to_text(&entry.changes)).as_bytes());
    let hex: String = whole.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let rest = json!({ "site": site, "session": *turn.session, "epoch": turn.epoch, "turn": turn.turn, "role": *turn.role, "at": entry.at });
    // The digest stands first: by it a query tells what is forgotten already.
    let record = format!("{MARK}\"sha256 {hex}\",{}", rest.to_string().trim_start_matches('{'));
    let changes = entry.changes.iter().filter(|c| c.scope != Scope::Session).cloned().collect();
    Some((Turn { record, ..turn.clone() }, changes))
}
