//! The embedded store: one SQLite file in WAL mode, shared by any number of threads and processes.

pub mod fault;
mod schema;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, Connection};

use super::sql::value::{Cell, Row, Value};
use super::sql::{Database, Sql, SqlStore};
use super::{CommitRule, Result, StoreError};

pub use fault::Fault;

/// What a committed turn survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The end of the process at any moment (`kill -9`, a crash); a power failure may cost the last turns, whole.
    #[default]
    Process,
    /// A power failure too, at the price of waiting for the device at every turn.
    Power,
}

/// How a file is used.
#[derive(Clone, Debug)]
pub struct SqliteOptions {
    /// When collected kb changes become the next version.
    pub rule: CommitRule,
    /// What a committed turn survives.
    pub durability: Durability,
    /// How long to wait for another process before giving up with [`StoreError::Busy`].
    pub busy_timeout: Duration,
    /// Kb versions kept parsed in memory, over all sites.
    pub kb_cache: usize,
    /// Most pages the file may have, `None` for SQLite's own limit; beyond it turns are refused as [`StoreError::Full`].
    pub max_pages: Option<u32>,
    /// Faults on purpose, for tests.
    pub fault: Option<Arc<Fault>>,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            rule: CommitRule::default(),
            durability: Durability::default(),
            busy_timeout: Duration::from_secs(5),
            kb_cache: 64,
            max_pages: None,
            fault: None,
        }
    }
}

/// A SQLite file.
#[derive(Debug)]
pub struct File {
    name: String,
    options: SqliteOptions,
    conn: Mutex<Connection>,
}

/// A store in a SQLite file.
pub type SqliteStore = SqlStore<File>;

impl SqliteStore {
    /// Opens the file, or creates it if its folder exists.
    pub fn open(path: &Path, options: SqliteOptions) -> Result<Self> {
        let conn = schema::open(path, &options)?;
        Ok(Self::on(File { name: path.display().to_string(), options, conn: Mutex::new(conn) }))
    }
}

impl File {
    /// A panic while the lock is held drops the transaction, which rolls it back.
    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.conn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Database for File {
    fn place(&self) -> &str {
        &self.name
    }

    fn rule(&self) -> CommitRule {
        self.options.rule
    }

    fn kb_cache(&self) -> usize {
        self.options.kb_cache
    }

    fn read<T>(&self, f: impl FnOnce(&dyn Sql) -> Result<T>) -> Result<T> {
        let conn = self.lock();
        let tx = Tx { conn: &conn, file: self, open: false };
        let run = |text| tx.prepared(text, &[]).and_then(|mut s| s.raw_execute()).map_err(|e| tx.failure(&e));
        let result = run("BEGIN").and_then(|_| f(&tx));
        let ended = run("COMMIT");
        result.and_then(|value| ended.map(|_| value))
    }

    fn write<T>(&self, f: impl FnOnce(&dyn Sql) -> Result<T>) -> Result<T> {
        let conn = self.lock();
        let mut tx = Tx { conn: &conn, file: self, open: false };
        tx.run("BEGIN IMMEDIATE", &[])?;
        tx.open = true;
        let value = f(&tx)?;
        tx.run("COMMIT", &[])?;
        tx.open = false;
        tx.hit()?;
        Ok(value)
    }

    fn integrity(&self) -> Result<()> {
        let found: Vec<Row> = self.read(|sql| sql.rows("PRAGMA integrity_check(5)", &[]))?;
        match found.first().map(|row| row.text(0)) {
            Some(Ok("ok")) => Ok(()),
            _ => {
                let said: Vec<&str> = found.iter().filter_map(|row| row.text(0).ok()).collect();
                Err(StoreError::Corrupt { file: self.name.clone(), detail: said.join("; ") })
            }
        }
    }
}

/// A transaction. One that writes takes the write lock at once, so what it reads still holds when it writes; dropped while it is
/// open it leaves no trace.
struct Tx<'c> {
    conn: &'c Connection,
    file: &'c File,
    open: bool,
}

impl<'c> Tx<'c> {
    fn failure(&self, e: &rusqlite::Error) -> StoreError {
        schema::failure(&self.file.name, &self.file.options, e)
    }

    fn hit(&self) -> Result<()> {
        self.file.options.fault.as_deref().map_or(Ok(()), Fault::hit)
    }

    fn prepared(&self, text: &str, params: &[Value<'_>]) -> rusqlite::Result<CachedStatement<'c>> {
        let mut statement = self.conn.prepare_cached(text)?;
        for (n, value) in (1..).zip(params) {
            match value {
                Value::Null => statement.raw_bind_parameter(n, rusqlite::types::Null)?,
                Value::Int(i) => statement.raw_bind_parameter(n, i)?,
                Value::Text(t) => statement.raw_bind_parameter(n, t)?,
            }
        }
        Ok(statement)
    }

    fn read(&self, text: &str, params: &[Value<'_>]) -> rusqlite::Result<Vec<Row>> {
        let mut statement = self.prepared(text, params)?;
        let columns = statement.column_count();
        let mut found = statement.raw_query();
        let mut rows = Vec::new();
        while let Some(row) = found.next()? {
            let cell = |column| -> rusqlite::Result<Cell> {
                Ok(match row.get_ref(column)? {
                    ValueRef::Integer(n) => Cell::Int(n),
                    ValueRef::Text(_) => Cell::Text(row.get(column)?),
                    // The tables are strict: nothing else is ever in them.
                    _ => Cell::Null,
                })
            };
            rows.push(Row((0..columns).map(cell).collect::<rusqlite::Result<_>>()?));
        }
        Ok(rows)
    }
}

impl Sql for Tx<'_> {
    fn place(&self) -> &str {
        &self.file.name
    }

    fn run(&self, text: &str, params: &[Value<'_>]) -> Result<usize> {
        self.hit()?;
        self.prepared(text, params).and_then(|mut s| s.raw_execute()).map_err(|e| self.failure(&e))
    }

    fn rows(&self, text: &str, params: &[Value<'_>]) -> Result<Vec<Row>> {
        self.read(text, params).map_err(|e| self.failure(&e))
    }
}

impl Drop for Tx<'_> {
    fn drop(&mut self) {
        // A failed rollback leaves nothing to do: SQLite rolls back by itself when the connection closes or the file is next opened.
        if self.open && !self.conn.is_autocommit() {
            let _ = self.conn.execute_batch("ROLLBACK");
        }
    }
}
