//! Checks that the log is the truth: its fold must equal what the store's tables hold.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::fold::{SiteState, fact};
use super::{Result, SessionKey, Store};

/// Log entries read at a time.
const PAGE: usize = 1000;

/// One place where a store's tables do not hold what its log says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The site.
    pub site: String,
    /// What differs: a session, the shared facts, a kb version…
    pub what: String,
    /// What the log says.
    pub log: String,
    /// What the table holds.
    pub table: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "site `{}`: {}: the log says {}, the table holds {}", self.site, self.what, self.log, self.table)
    }
}

/// The fold of a site's log.
pub fn fold_log(store: &dyn Store, site: &str) -> Result<SiteState> {
    let (state, _) = fold_with_gaps(store, site)?;
    Ok(state)
}

fn fold_with_gaps(store: &dyn Store, site: &str) -> Result<(SiteState, Vec<String>)> {
    let (mut state, mut gaps) = (SiteState::default(), Vec::new());
    loop {
        let page = store.log(site, state.seq, PAGE)?;
        for entry in &page {
            if entry.seq != state.seq + 1 {
                gaps.push(format!("entry {} follows entry {}", entry.seq, state.seq));
            }
            if let Some(t) = entry.turn() {
                let before = state.sessions.get(&(t.session.clone(), t.epoch)).map(|l| &l.info);
                let due = before.map_or(0, |i| i.turn) + 1;
                let closed = before.is_some_and(|i| i.ended_at.is_some());
                let moved = before.is_some_and(|i| i.kb_version != t.kb_version || i.role != t.role);
                if t.turn != due || closed || moved {
                    gaps.push(format!("entry {} is turn {} of session `{}` where turn {due} was due in an open session", entry.seq, t.turn, t.session));
                }
            }
            state.apply(entry);
        }
        if page.len() < PAGE {
            return Ok((state, gaps));
        }
    }
}

/// Every difference between a site's log and its tables; none if all is well. The site should be at rest meanwhile.
pub fn verify_log(store: &dyn Store, site: &str) -> Result<Vec<Difference>> {
    let (state, gaps) = fold_with_gaps(store, site)?;
    let mut found: Vec<Difference> = Vec::new();
    let mut differ = |what: String, log: String, table: String| found.push(Difference { site: site.to_owned(), what, log, table });
    for gap in gaps {
        differ("the order of the log".into(), "every entry follows the one before".into(), gap);
    }
    let head = store.kb_head(site)?;
    if head != state.kb_head {
        differ("the newest kb version".into(), state.kb_head.to_string(), head.to_string());
    }
    for version in 0..=head.min(state.kb_head) {
        compare(&format!("kb version {version}"), &state.kb_at(version), &store.kb(site, version)?, &mut differ);
    }
    compare("the newest kb with provenance", &state.kb_now(), &store.kb_facts(site)?, &mut differ);
    compare("collected kb changes", &state.collected(), &store.pending(site)?, &mut differ);
    let (revision, shared) = store.shared(site)?;
    compare("the revision of the shared facts", &[state.shared_revision], &[revision], &mut differ);
    compare("the shared facts", &state.shared.iter().map(fact).collect::<Vec<_>>(), &shared, &mut differ);
    let sessions = store.sessions(site)?;
    compare("the list of sessions", &state.sessions_in_order(), &sessions, &mut differ);
    let known: BTreeMap<_, _> = state.sessions.iter().collect();
    for s in &sessions {
        let told = known.get(&(s.session.clone(), s.epoch)).map(|l| l.facts.iter().map(fact).collect::<Vec<_>>()).unwrap_or_default();
        let key = SessionKey { site: site.into(), session: s.session.clone() };
        compare(&format!("session `{}`, epoch {}", s.session, s.epoch), &told, &store.session_facts(&key, s.epoch)?, &mut differ);
    }
    Ok(found)
}

/// Reports the first place where two lists differ: enough to find it, short enough to read.
fn compare<T: PartialEq + fmt::Debug>(what: &str, log: &[T], table: &[T], differ: &mut impl FnMut(String, String, String)) {
    if log == table {
        return;
    }
    let at = log.iter().zip(table).take_while(|(a, b)| a == b).count();
    let show = |list: &[T]| list.get(at).map_or_else(|| format!("{} entries, no more", list.len()), |x| format!("{x:?} at {at}"));
    differ(what.to_owned(), show(log), show(table));
}
