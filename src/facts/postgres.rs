//! The store for many nodes: one PostgreSQL database, shared by any number of processes.
//!
//! A turn is two round trips: everything it reads in one (`at_once`), and its commit in another (`take`). A turn that changes
//! the kb, or that no longer stands on what it read, is committed by the transaction that all stores share, statement by statement.

mod link;
mod listen;
mod schema;

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod, Timeouts};
use tokio::sync::broadcast::Receiver;
use tokio_postgres::Config;
use tokio_postgres::error::SqlState;

use super::change::{Change, Op, changes_to_text};
use super::sql::value::{Row, Value};
use super::sql::{Database, Sql, SqlStore};
use super::{CommitRule, Moved, Pending, Receipt, Result, StoreError, TurnCommit};
use crate::ontology::Scope;
use link::{Parameter, Running, numbered, owned, to_row, wait};
use listen::Moves;

/// How a database is used.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    /// When collected kb changes become the next version.
    pub rule: CommitRule,
    /// Most connections of this process.
    pub connections: usize,
    /// How long to wait for a connection, or for another writer of the site, before giving up.
    pub patience: Duration,
    /// Kb versions kept parsed in memory, over all sites.
    pub kb_cache: usize,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self { rule: CommitRule::default(), connections: 8, patience: Duration::from_secs(5), kb_cache: 64 }
    }
}

/// A PostgreSQL database.
pub struct Server {
    place: String,
    options: PostgresOptions,
    config: Config,
    pool: Pool,
    schema: String,
    moves: Moves,
}

/// A store in a PostgreSQL database.
pub type PostgresStore = SqlStore<Server>;

impl PostgresStore {
    /// Connects to `postgres://…` and makes the tables, in the first schema of the search path, if they are not there. A password that
    /// the address does not name is read from `PGPASSWORD`.
    pub fn connect(address: &str, options: PostgresOptions) -> Result<Self> {
        let place = without_password(address);
        let unusable = |detail: String| StoreError::CannotOpen { file: place.clone(), detail };
        let mut config: Config = address.parse().map_err(|e| unusable(in_full(&e)))?;
        if config.get_password().is_none()
            && let Ok(password) = std::env::var("PGPASSWORD")
        {
            config.password(password);
        }
        // A node that is frozen in the middle of a turn must not hold the site up: the server ends its transaction.
        let patience = options.patience.as_millis();
        let own =
            format!("-c lock_timeout={patience} -c statement_timeout={} -c idle_in_transaction_session_timeout={}", link::STATEMENT.as_millis(), patience * 2);
        let options_of_all = config.get_options().map_or_else(|| own.clone(), |given| format!("{own} {given}"));
        if config.get_application_name().is_none() {
            config.application_name("duologue");
        }
        config.options(options_of_all).connect_timeout(options.patience).tcp_user_timeout(options.patience * 2);
        let tls = link::tls().map_err(unusable)?;
        let manager = Manager::from_config(config.clone(), tls, ManagerConfig { recycling_method: RecyclingMethod::Fast });
        let waits = Timeouts { wait: Some(options.patience), create: Some(options.patience), recycle: Some(options.patience) };
        let pool = Pool::builder(manager).max_size(options.connections.max(1)).timeouts(waits).runtime(deadpool_postgres::Runtime::Tokio1).build();
        let pool = pool.map_err(|e| unusable(e.to_string()))?;
        let mut server = Server { place: place.clone(), options, config, pool, schema: String::new(), moves: Moves::default() };
        let opening = server.pool.clone();
        let prepared = wait(async move {
            let client = opening.get().await?;
            schema::prepare(&client, &place).await
        });
        server.schema = prepared.map_err(|e| server.failure(e))?;
        Ok(Self::on(server))
    }
}

/// What can fail on the way to the server and back.
#[derive(Debug)]
pub enum Failing {
    /// The server refused, or was lost.
    Server(tokio_postgres::Error),
    /// No connection was to be had.
    Pool(deadpool_postgres::PoolError),
    /// Something of our own.
    Store(StoreError),
    /// The work was dropped, or no answer came.
    Lost,
}

impl From<tokio_postgres::Error> for Failing {
    fn from(e: tokio_postgres::Error) -> Self {
        Self::Server(e)
    }
}

impl From<deadpool_postgres::PoolError> for Failing {
    fn from(e: deadpool_postgres::PoolError) -> Self {
        match e {
            deadpool_postgres::PoolError::Backend(e) => Self::Server(e),
            other => Self::Pool(other),
        }
    }
}

impl From<StoreError> for Failing {
    fn from(e: StoreError) -> Self {
        Self::Store(e)
    }
}

/// An error with its causes: the driver's own texts say little.
fn in_full(e: &dyn std::error::Error) -> String {
    let mut text = e.to_string();
    let mut cause = e.source();
    while let Some(c) = cause {
        text = format!("{text}: {c}");
        cause = c.source();
    }
    text
}

/// An address fit for messages.
fn without_password(address: &str) -> String {
    let (before, query) = address.split_once('?').unwrap_or((address, ""));
    let shown: Vec<&str> = query.split('&').filter(|part| !part.is_empty() && !part.to_ascii_lowercase().starts_with("password=")).collect();
    let before = match (before.find("://"), before.rfind('@')) {
        (Some(scheme), Some(at)) if scheme + 3 <= at => {
            let user = before.get(scheme + 3..at).and_then(|u| u.split(':').next()).unwrap_or_default();
            format!("{}{user}{}", before.get(..scheme + 3).unwrap_or_default(), before.get(at..).unwrap_or_default())
        }
        _ => before.to_owned(),
    };
    if shown.is_empty() { before } else { format!("{before}?{}", shown.join("&")) }
}

impl Server {
    /// What a failure means for the caller.
    fn failure(&self, failing: Failing) -> StoreError {
        let file = self.place.clone();
        let e = match failing {
            Failing::Store(e) => return e,
            Failing::Pool(deadpool_postgres::PoolError::Timeout(_)) => return self.busy(),
            Failing::Pool(e) => return StoreError::Unreachable { place: file, detail: e.to_string() },
            Failing::Lost => return StoreError::Unreachable { place: file, detail: "no answer came".to_owned() },
            Failing::Server(e) => e,
        };
        let detail = in_full(&e);
        let Some(code) = e.code() else { return StoreError::Unreachable { place: file, detail } };
        match code.code().get(..2).unwrap_or_default() {
            _ if *code == SqlState::DISK_FULL => StoreError::Full(file),
            _ if [SqlState::LOCK_NOT_AVAILABLE, SqlState::QUERY_CANCELED, SqlState::T_R_DEADLOCK_DETECTED].contains(code) => self.busy(),
            _ if *code == SqlState::READ_ONLY_SQL_TRANSACTION => StoreError::ReadOnly(file),
            "28" | "3D" | "3F" => StoreError::CannotOpen { file, detail },
            // A right that is missing is told like a file that may not be written.
            _ if *code == SqlState::INSUFFICIENT_PRIVILEGE => StoreError::CannotOpen { file, detail },
            "08" | "53" | "57" | "25" => StoreError::Unreachable { place: file, detail },
            "22" | "23" | "42" | "XX" => StoreError::Corrupt { file, detail },
            _ => StoreError::Io { file, detail },
        }
    }

    fn busy(&self) -> StoreError {
        let waited_ms = u64::try_from(self.options.patience.as_millis()).unwrap_or(u64::MAX);
        StoreError::Busy { file: self.place.clone(), waited_ms }
    }

    fn wait<T: Send + 'static>(&self, work: impl Future<Output = Result<T, Failing>> + Send + 'static) -> Result<T> {
        wait(work).map_err(|e| self.failure(e))
    }

    fn client(&self) -> Result<Arc<Object>> {
        let pool = self.pool.clone();
        self.wait(async move { Ok(Arc::new(pool.get().await?)) })
    }

    /// A transaction that begins so; kept if `f` succeeds.
    fn transaction<T>(&self, begin: &'static str, writes: bool, f: impl FnOnce(&dyn Sql) -> Result<T>) -> Result<T> {
        let client = self.client()?;
        let said = |text: &'static str| {
            let client = client.clone();
            self.wait(async move { Ok(client.batch_execute(text).await?) })
        };
        let mut running = Running::on(client.clone());
        said(begin)?;
        let value = f(&Tx { server: self, client: client.clone(), writes });
        let ended = said(if value.is_ok() { "COMMIT" } else { "ROLLBACK" });
        if ended.is_ok() {
            running.is_over();
        }
        value.and_then(|value| ended.map(|()| value))
    }
}

/// Reading is tried once more where a connection was lost: after a restart of the server, the pool's are all dead.
fn again<T>(read: impl Fn() -> Result<T>) -> Result<T> {
    match read() {
        Err(StoreError::Unreachable { .. }) => read(),
        other => other,
    }
}

impl Database for Server {
    fn place(&self) -> &str {
        &self.place
    }

    fn rule(&self) -> CommitRule {
        self.options.rule
    }

    fn kb_cache(&self) -> usize {
        self.options.kb_cache
    }

    fn read<T>(&self, f: impl FnOnce(&dyn Sql) -> Result<T>) -> Result<T> {
        self.transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", false, f)
    }

    fn write<T>(&self, f: impl FnOnce(&dyn Sql) -> Result<T>) -> Result<T> {
        self.transaction("BEGIN", true, f)
    }

    fn at_once(&self, queries: &[(&str, &[Value<'_>])]) -> Result<Vec<Vec<Row>>> {
        let queries: Vec<(String, Vec<Parameter>)> = queries.iter().map(|(text, params)| Ok((numbered(text), owned(params)?))).collect::<Result<_>>()?;
        let queries = Arc::new(queries);
        again(|| {
            let (pool, queries) = (self.pool.clone(), queries.clone());
            self.wait(async move { link::at_once(&Arc::new(pool.get().await?), &queries).await })
        })
    }

    fn take(&self, turn: &TurnCommit, changes: &[Change]) -> Result<Option<Receipt>> {
        let idle = self.options.rule == CommitRule::WhenNoSessionIsOpen;
        let read = turn.read;
        // What a turn read of the collected changes is a digest; the database can tell only whether there are none.
        let nothing_read = read.and_then(|r| r.pending).map(|p| p == Pending::of(turn.kb_version, &[]));
        let others = read.and_then(|r| r.last_one);
        if nothing_read == Some(false) || changes.iter().any(|c| c.scope == Scope::Kb) || others.is_some_and(|last_one| !last_one && !idle) {
            return Ok(None);
        }
        let facts = |scope, op| -> Vec<String> { changes.iter().filter(|c| c.scope == scope && c.op == op).map(|c| c.fact.to_string()).collect() };
        let lists = [(Scope::Session, Op::Add), (Scope::Session, Op::Del), (Scope::Shared, Op::Add), (Scope::Shared, Op::Del)].map(|(s, o)| facts(s, o));
        let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let taken = link::Taken {
            site: turn.key.site.to_string(),
            session: turn.key.session.to_string(),
            epoch: number(turn.epoch),
            turn: number(turn.turn),
            role: turn.role.to_string(),
            kb_version: number(turn.kb_version),
            request: turn.request.clone(),
            at: turn.at,
            ends: turn.ended,
            read_shared: read.map(|r| number(r.shared)),
            read_head: nothing_read.map(|_| number(turn.kb_version)),
            read_others: others.filter(|_| idle).map(|last_one| !last_one),
            nothing_collected: nothing_read.is_some() || turn.ended || !idle,
            record: turn.record.clone(),
            changes: changes_to_text(changes),
            lists,
        };
        link::storable(&taken.record)?;
        link::storable(&taken.changes)?;
        let pool = self.pool.clone();
        let answer = self.wait(async move { link::take(&pool.get().await?, &taken).await })?;
        Ok(answer.map(|(seq, kb_head, shared_revision)| Receipt { seq, kb_head, kb_changed: false, shared_revision }))
    }

    fn integrity(&self) -> Result<()> {
        again(|| self.read(|sql| sql.rows("SELECT version FROM store_schema", &[]))).map(|_| ())
    }

    fn moves(&self) -> Option<Receiver<Moved>> {
        Some(self.moves.listen(&self.config, &self.schema))
    }
}

/// A transaction.
struct Tx<'a> {
    server: &'a Server,
    client: Arc<Object>,
    writes: bool,
}

impl Sql for Tx<'_> {
    fn place(&self) -> &str {
        &self.server.place
    }

    fn to_write(&self) -> &'static str {
        if self.writes { " FOR UPDATE" } else { "" }
    }

    fn run(&self, text: &str, params: &[Value<'_>]) -> Result<usize> {
        let (client, text, params) = (self.client.clone(), numbered(text), owned(params)?);
        self.server.wait(async move {
            let statement = client.prepare_cached(&text).await?;
            let changed = client.execute_raw(&statement, params).await?;
            Ok(usize::try_from(changed).unwrap_or(usize::MAX))
        })
    }

    fn rows(&self, text: &str, params: &[Value<'_>]) -> Result<Vec<Row>> {
        let (client, text, params) = (self.client.clone(), numbered(text), owned(params)?);
        self.server.wait(async move {
            let statement = client.prepare_cached(&text).await?;
            let refs: Vec<_> = params.iter().map(Parameter::as_sql).collect();
            client.query(&statement, &refs).await?.iter().map(to_row).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_message_shows_a_password() {
        let shown = [
            ("postgres://u:secret@host/db", "postgres://u@host/db"),
            ("postgres://u:se@cret@host:5432/db?sslmode=require", "postgres://u@host:5432/db?sslmode=require"),
            ("postgresql:///db?host=/run/pg&password=secret", "postgresql:///db?host=/run/pg"),
            ("postgres://host/db", "postgres://host/db"),
        ];
        for (address, expected) in shown {
            assert_eq!(without_password(address), expected);
        }
        let Err(refused) = PostgresStore::connect("postgres://u:secret@127.0.0.1:1/db", PostgresOptions::default()) else { panic!("it serves") };
        assert_eq!(refused.code(), "store::unreachable", "{refused}");
        assert!(!refused.to_string().contains("secret"), "{refused}");
    }
}
