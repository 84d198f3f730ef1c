//! What the store's tests share: the stores, and turns in few words.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

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

/// Runs one case on every store; on PostgreSQL if `scripts/with-postgres` started one.
pub fn on_all(rule: CommitRule, case: impl Fn(&dyn Store)) {
    let folder = tempfile::tempdir().unwrap();
    let server = Schema::fresh();
    let mut stores: Vec<Arc<dyn Store>> = vec![Arc::new(MemoryStore::new(rule)), Arc::new(sqlite(&folder.path().join("a.db"), rule))];
    stores.extend(server.as_ref().map(|schema| schema.store(rule)));
    for store in stores {
        case(&*store);
        for site in store.sites().unwrap() {
            assert_eq!(duologue::facts::verify_log(&*store, &site).unwrap(), []);
        }
        store.integrity().unwrap();
    }
}

/// A schema of a throw-away PostgreSQL, for one test at a time.
pub struct Schema {
    pub address: String,
}

/// Schemas whose tests are over: making one takes longer than emptying it.
static FREE: Mutex<Vec<String>> = Mutex::new(vec![]);
static MADE: AtomicUsize = AtomicUsize::new(0);

impl Schema {
    /// An empty one, if there is a server.
    pub fn fresh() -> Option<Self> {
        let server = std::env::var("DUOLOGUE_TEST_POSTGRES").ok()?;
        if let Some(address) = FREE.lock().unwrap().pop() {
            return Some(Self { address });
        }
        let name = format!("test_{}_{}", std::process::id(), MADE.fetch_add(1, Ordering::SeqCst));
        run_sql(&server, &format!("CREATE SCHEMA {name}"));
        Some(Self { address: format!("{server}&options=-csearch_path%3D{name}") })
    }

    pub fn store(&self, rule: CommitRule) -> Arc<dyn Store> {
        duologue::facts::open_store(&self.address, rule).unwrap()
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let tables = ["site", "log", "session", "session_fact", "shared_fact", "kb_fact", "kb_staged"];
            run_sql(&self.address, &tables.map(|t| format!("DELETE FROM {t};")).concat());
            FREE.lock().unwrap().push(self.address.clone());
        }
    }
}

/// Says something to a server behind the store's back.
pub fn run_sql(address: &str, text: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(address, tokio_postgres::NoTls).await.unwrap();
        let moving = tokio::spawn(connection);
        client.batch_execute(text).await.unwrap();
        drop(client);
        moving.await.unwrap().unwrap();
    });
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
