//! The SQLite file: its tables, how it is opened, and what its errors mean.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{Durability, Fault, SqliteOptions};
use crate::facts::{Result, StoreError};

/// Marks a file as ours ("DUOL"), so that another program's database is never written to.
const APPLICATION_ID: i64 = 0x4455_4f4c;
/// The schema this program writes.
pub const SCHEMA_VERSION: i64 = 1;

/// Every key begins with the site: no row can be reached without naming one, and a site can move to another node whole.
const TABLES: &str = "
CREATE TABLE site (
    site TEXT NOT NULL PRIMARY KEY,
    hash TEXT NOT NULL,
    seq INTEGER NOT NULL,
    kb_head INTEGER NOT NULL,
    shared_revision INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE log (
    site TEXT NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('install', 'rebase', 'turn', 'close')),
    session TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    role TEXT NOT NULL,
    kb_version INTEGER NOT NULL,
    request TEXT,
    ended INTEGER NOT NULL,
    applied INTEGER NOT NULL,
    record TEXT NOT NULL,
    changes TEXT NOT NULL,
    UNIQUE (site, seq)
) STRICT;
CREATE UNIQUE INDEX log_of_session ON log (site, session, epoch, turn) WHERE kind = 'turn';
CREATE UNIQUE INDEX log_of_request ON log (site, session, request) WHERE request IS NOT NULL;
CREATE TABLE session (
    site TEXT NOT NULL,
    session TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    role TEXT NOT NULL,
    kb_version INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    first_seq INTEGER NOT NULL,
    opened_at INTEGER NOT NULL,
    ended_at INTEGER,
    PRIMARY KEY (site, session, epoch)
) STRICT, WITHOUT ROWID;
CREATE INDEX session_open ON session (site) WHERE ended_at IS NULL;
CREATE TABLE session_fact (
    site TEXT NOT NULL,
    session TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    fact TEXT NOT NULL,
    turn INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (site, session, epoch, fact)
) STRICT, WITHOUT ROWID;
CREATE TABLE shared_fact (
    site TEXT NOT NULL,
    fact TEXT NOT NULL,
    role TEXT NOT NULL,
    session TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (site, fact)
) STRICT, WITHOUT ROWID;
CREATE TABLE kb_fact (
    site TEXT NOT NULL,
    fact TEXT NOT NULL,
    since INTEGER NOT NULL,
    until INTEGER,
    role TEXT NOT NULL,
    session TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (site, fact, since)
) STRICT, WITHOUT ROWID;
CREATE TABLE kb_staged (
    site TEXT NOT NULL,
    seq INTEGER NOT NULL,
    i INTEGER NOT NULL,
    ready INTEGER,
    change TEXT NOT NULL,
    role TEXT NOT NULL,
    session TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (site, seq, i)
) STRICT, WITHOUT ROWID;
";

/// Opens the file, creating it if its folder exists, and makes sure that it is ours.
pub fn open(path: &Path, options: &SqliteOptions) -> Result<Connection> {
    let file = path.display().to_string();
    if let Some(folder) = path.parent().filter(|p| !p.as_os_str().is_empty() && !p.is_dir()) {
        return Err(StoreError::MissingFolder(folder.display().to_string()));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let failed = |e| failure(&file, options, &e);
    let conn = Connection::open_with_flags(path, flags).map_err(failed)?;
    conn.busy_timeout(options.busy_timeout).map_err(failed)?;
    conn.set_prepared_statement_cache_capacity(64);
    if conn.is_readonly("main").map_err(failed)? {
        return Err(StoreError::ReadOnly(file));
    }
    let new = is_new(&conn, &file, options)?;
    write_ahead(&conn, &file, options)?;
    if let Some(pages) = options.max_pages {
        conn.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(())).map_err(failed)?;
    }
    if new {
        create(&conn, &file, options)?;
    }
    Ok(conn)
}

/// Whether the file is still empty; an error if it is somebody else's or of a later version.
fn is_new(conn: &Connection, file: &str, options: &SqliteOptions) -> Result<bool> {
    // One statement, so that a process that creates the tables meanwhile is seen wholly or not at all.
    let marks = "SELECT a.application_id, u.user_version, (SELECT count(*) FROM sqlite_schema) FROM pragma_application_id AS a, pragma_user_version AS u";
    let found: (i64, i64, i64) = conn.query_row(marks, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).map_err(|e| failure(file, options, &e))?;
    match (found.0, found.1) {
        (APPLICATION_ID, SCHEMA_VERSION) => Ok(false),
        (APPLICATION_ID, found) if found > SCHEMA_VERSION => Err(StoreError::NewerSchema { file: file.to_owned(), found, known: SCHEMA_VERSION }),
        (0, 0) if found.2 == 0 => Ok(true),
        _ => Err(StoreError::Foreign(file.to_owned())),
    }
}

/// WAL lets readers and one writer work side by side. With `synchronous = NORMAL` a commit is in the operating system's
/// hands before the turn is acknowledged, so no killed process loses one, and the file stays sound even if the power
/// fails; only the last commits before a power failure may be missing (and are missing whole). `FULL` waits for the
/// device at every turn and keeps those too.
fn write_ahead(conn: &Connection, file: &str, options: &SqliteOptions) -> Result<()> {
    let begun = Instant::now();
    // Two processes that open a new file at once collide here, and SQLite does not wait on its own for this statement.
    let mode = loop {
        match conn.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0)) {
            Err(e) if is_busy(&e) && begun.elapsed() < options.busy_timeout => std::thread::sleep(Duration::from_millis(5)),
            other => break other.map_err(|e| failure(file, options, &e))?,
        }
    };
    // Copying the log of writes into the file waits for the device: done four times as seldom as SQLite would, few turns feel it.
    // A file system without shared memory keeps the rollback journal, which is only as safe with FULL.
    let level = if options.durability == Durability::Process && mode == "wal" { "NORMAL" } else { "FULL" };
    let rest = format!(
        "PRAGMA synchronous = {level}; PRAGMA wal_autocheckpoint = 4000; PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF;"
    );
    conn.execute_batch(&rest).map_err(|e| failure(file, options, &e))
}

/// Creates the tables, unless another process just did.
fn create(conn: &Connection, file: &str, options: &SqliteOptions) -> Result<()> {
    let fault = options.fault.as_deref();
    let failed = |e| failure(file, options, &e);
    conn.execute_batch("BEGIN IMMEDIATE").map_err(failed)?;
    let made = is_new(conn, file, options).and_then(|new| {
        fault.map_or(Ok(()), Fault::hit)?;
        if new {
            let marks = format!("{TABLES} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA_VERSION};");
            conn.execute_batch(&marks).map_err(failed)?;
        }
        fault.map_or(Ok(()), Fault::hit)?;
        conn.execute_batch("COMMIT").map_err(failed)
    });
    if made.is_err() && !conn.is_autocommit() {
        conn.execute_batch("ROLLBACK").map_err(failed)?;
    }
    made
}

fn is_busy(e: &rusqlite::Error) -> bool {
    matches!(e.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// What an error of SQLite means for the caller.
pub fn failure(file: &str, options: &SqliteOptions, e: &rusqlite::Error) -> StoreError {
    let file = file.to_owned();
    let detail = e.to_string();
    match e.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreError::Busy { file, waited_ms: u64::try_from(options.busy_timeout.as_millis()).unwrap_or(u64::MAX) }
        }
        Some(ErrorCode::DiskFull) => StoreError::Full(file),
        Some(ErrorCode::ReadOnly) => StoreError::ReadOnly(file),
        Some(ErrorCode::NotADatabase) => StoreError::NotADatabase(file),
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => StoreError::CannotOpen { file, detail },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch | ErrorCode::Unknown) => {
            StoreError::Corrupt { file, detail }
        }
        // Values that are not what the schema promises, or tables that are not there: the file is not as we left it.
        None => StoreError::Corrupt { file, detail },
        Some(_) => StoreError::Io { file, detail },
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn what_the_system_says_becomes_an_error_with_a_remedy() {
        let codes = [
            (ffi::SQLITE_BUSY, "store::busy"),
            (ffi::SQLITE_LOCKED, "store::busy"),
            (ffi::SQLITE_FULL, "store::full"),
            (ffi::SQLITE_READONLY, "store::read_only"),
            (ffi::SQLITE_READONLY_DIRECTORY, "store::read_only"),
            (ffi::SQLITE_NOTADB, "store::not_a_database"),
            (ffi::SQLITE_CANTOPEN, "store::cannot_open"),
            (ffi::SQLITE_CORRUPT, "store::corrupt"),
            (ffi::SQLITE_CONSTRAINT_UNIQUE, "store::corrupt"),
            (ffi::SQLITE_IOERR_WRITE, "store::io"),
            (ffi::SQLITE_IOERR_FSYNC, "store::io"),
            (ffi::SQLITE_NOMEM, "store::io"),
        ];
        for (code, expected) in codes {
            let said = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            let error = failure("a.db", &SqliteOptions::default(), &said);
            assert_eq!(error.code(), expected, "{code}");
            assert!(!error.help().is_empty() && error.to_string().contains("`a.db`"), "{error}");
        }
    }
}
