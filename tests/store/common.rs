//! What the store's tests share: both stores, and turns in few words.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::path::Path;
use std::sync::Arc;

use duologue::facts::{CommitRule, Committed, MemoryStore, Receipt, SessionKey, SqliteOptions, SqliteStore, Store, StoreError, TurnCommit};
use duologue::term::Atom;

pub const SITE: &str = "main street";

pub fn atoms(texts: &[&str]) -> Vec<Atom> {
    texts.iter().map(|t| Atom::parse(t).unwrap()).collect()
}

pub fn key(session: &str) -> SessionKey {
    SessionKey::new(SITE, session)
}

pub fn sqlite(path: &Path, rule: CommitRule) -> SqliteStore {
    SqliteStore::open(path, SqliteOptions { rule, ..SqliteOptions::default() }).unwrap()
}

/// Runs one case on every store.
pub fn on_both(rule: CommitRule, case: impl Fn(&dyn Store)) {
    let folder = tempfile::tempdir().unwrap();
    let stores: [Arc<dyn Store>; 2] = [Arc::new(MemoryStore::new(rule)), Arc::new(sqlite(&folder.path().join("a.db"), rule))];
    for store in stores {
        case(&*store);
        for site in store.sites().unwrap() {
            assert_eq!(duologue::facts::verify_log(&*store, &site).unwrap(), []);
        }
        store.integrity().unwrap();
    }
}

/// The next turn of a session, with changes as text.
pub fn turn(store: &dyn Store, session: &str, role: &str, changes: &[&str]) -> TurnCommit {
    let mut turn = store.open(&key(session), role).unwrap().turn(1000);
    turn.changes = changes.iter().map(|c| c.parse().unwrap()).collect();
    turn.record = format!("{{\"turn\":{}}}", turn.turn);
    turn
}

pub fn take(store: &dyn Store, session: &str, role: &str, changes: &[&str]) -> Receipt {
    done(store.commit(&turn(store, session, role, changes)))
}

pub fn quit(store: &dyn Store, session: &str, role: &str, changes: &[&str]) -> Receipt {
    done(store.commit(&TurnCommit { ended: true, ..turn(store, session, role, changes) }))
}

pub fn done(result: Result<Committed, StoreError>) -> Receipt {
    match result {
        Ok(Committed::Done(receipt)) => receipt,
        other => panic!("the turn was not taken: {other:?}"),
    }
}

pub fn own(store: &dyn Store, session: &str, role: &str) -> Vec<String> {
    store.open(&key(session), role).unwrap().facts.iter().map(|f| f.atom.to_string()).collect()
}

/// The collected kb changes of sessions that ended.
pub fn handed_over(store: &dyn Store) -> Vec<String> {
    store.pending(SITE).unwrap().into_iter().filter(|c| c.handed_over).map(|c| c.change.to_string()).collect()
}

pub fn shared(store: &dyn Store) -> Vec<String> {
    store.shared(SITE).unwrap().1.iter().map(|f| f.atom.to_string()).collect()
}

pub fn kb(store: &dyn Store, version: u64) -> Vec<String> {
    store.kb(SITE, version).unwrap().iter().map(ToString::to_string).collect()
}
