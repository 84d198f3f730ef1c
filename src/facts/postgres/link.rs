//! The line to the server: what goes over it, and how a calling thread waits for what comes back.

use std::error::Error;
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

use bytes::BytesMut;
use deadpool_postgres::Object;
use futures_util::future::{join_all, try_join};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::Failing;
use crate::facts::sql::value::{Cell, Row, Value};
use crate::facts::{Result, StoreError};

/// How long the server works on one statement.
pub const STATEMENT: Duration = Duration::from_secs(60);
/// How much longer its answer may be on the way: a server, or a line to it, that is frozen holds no caller for ever.
const ON_THE_WAY: Duration = Duration::from_secs(5);

/// A parameter on its way.
#[derive(Debug)]
pub enum Parameter {
    /// Nothing.
    Null,
    /// A number.
    Int(i64),
    /// Text.
    Text(String),
}

impl Parameter {
    pub fn as_sql(&self) -> &(dyn ToSql + Sync) {
        self
    }
}

impl ToSql for Parameter {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(n) => n.to_sql(ty, out),
            Self::Text(text) => text.to_sql(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// Parameters that outlive the call.
pub fn owned(params: &[Value<'_>]) -> Result<Vec<Parameter>> {
    let one = |value: &Value<'_>| match value {
        Value::Null => Ok(Parameter::Null),
        Value::Int(n) => Ok(Parameter::Int(*n)),
        Value::Text(text) => storable(text).map(|()| Parameter::Text((*text).to_owned())),
    };
    params.iter().map(one).collect()
}

/// PostgreSQL keeps every character but one.
pub fn storable(text: &str) -> Result<()> {
    if text.contains('\0') { Err(StoreError::BadFact(text.chars().filter(|c| *c != '\0').take(120).collect())) } else { Ok(()) }
}

/// A statement with its parameters as PostgreSQL writes them.
pub fn numbered(text: &str) -> String {
    text.replace('?', "$")
}

/// A row as every store reads it.
pub fn to_row(row: &tokio_postgres::Row) -> Result<Row, Failing> {
    let cell = |(n, column): (usize, &tokio_postgres::Column)| -> Result<Cell, Failing> {
        Ok(match *column.type_() {
            Type::INT8 => row.try_get::<_, Option<i64>>(n)?.map_or(Cell::Null, Cell::Int),
            Type::INT4 => row.try_get::<_, Option<i32>>(n)?.map_or(Cell::Null, |i| Cell::Int(i.into())),
            _ => row.try_get::<_, Option<String>>(n)?.map_or(Cell::Null, Cell::Text),
        })
    };
    row.columns().iter().enumerate().map(cell).collect::<Result<_, _>>().map(Row)
}

/// Queries sent together and answered together, as of one moment.
pub async fn at_once(client: &Arc<Object>, queries: &[(String, Vec<Parameter>)]) -> Result<Vec<Vec<Row>>, Failing> {
    let mut statements = Vec::with_capacity(queries.len());
    for (text, _) in queries {
        statements.push(client.prepare_cached(text).await?);
    }
    let mut running = Running::on(client.clone());
    let asked = statements.iter().zip(queries).map(|(statement, (_, params))| async move {
        let refs: Vec<_> = params.iter().map(Parameter::as_sql).collect();
        client.query(statement, &refs).await
    });
    // Each is sent when it is first asked how far it is, and they are asked in this order.
    let begin = client.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    let all = async { Ok(join_all(asked).await) };
    let (_, (answers, ())) = try_join(begin, try_join(all, client.batch_execute("COMMIT"))).await?;
    running.is_over();
    answers.into_iter().map(|rows| -> Result<Vec<Row>, Failing> { rows?.iter().map(to_row).collect() }).collect()
}

/// A turn as `take_turn` takes it.
pub struct Taken {
    pub site: String,
    pub session: String,
    pub epoch: i64,
    pub turn: i64,
    pub role: String,
    pub kb_version: i64,
    pub request: Option<String>,
    pub at: i64,
    pub ends: bool,
    pub read_shared: Option<i64>,
    pub read_head: Option<i64>,
    pub read_others: Option<bool>,
    pub nothing_collected: bool,
    pub record: String,
    pub changes: String,
    /// Session facts added and deleted, shared facts added and deleted.
    pub lists: [Vec<String>; 4],
}

/// Takes a turn in one round trip: its number in the log, the newest kb version, the revision of the shared facts.
pub async fn take(client: &Object, t: &Taken) -> Result<Option<(u64, u64, u64)>, Failing> {
    let text = "SELECT new_seq, head, revision FROM take_turn($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)";
    let statement = client.prepare_cached(text).await?;
    let [session_add, session_del, shared_add, shared_del] = &t.lists;
    let params: [&(dyn ToSql + Sync); 19] = [
        &t.site,
        &t.session,
        &t.epoch,
        &t.turn,
        &t.role,
        &t.kb_version,
        &t.request,
        &t.at,
        &t.ends,
        &t.read_shared,
        &t.read_head,
        &t.read_others,
        &t.nothing_collected,
        &t.record,
        &t.changes,
        session_add,
        session_del,
        shared_add,
        shared_del,
    ];
    let Some(row) = client.query_opt(&statement, &params).await? else { return Ok(None) };
    let number = |n: usize| row.try_get::<_, i64>(n).map(i64::unsigned_abs);
    Ok(Some((number(0)?, number(1)?, number(2)?)))
}

/// A transaction under way. If it is dropped before it is over, nobody gets its connection again: the server rolls back what was open.
pub struct Running {
    client: Option<Arc<Object>>,
}

impl Running {
    pub fn on(client: Arc<Object>) -> Self {
        Self { client: Some(client) }
    }

    pub fn is_over(&mut self) {
        self.client = None;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            // Asks the server to end the connection; a connection that is lost anyway has nothing left to ask.
            runtime().iter().for_each(|runtime| {
                let client = client.clone();
                runtime.spawn(async move { client.batch_execute("SELECT pg_terminate_backend(pg_backend_pid())").await });
            });
        }
    }
}

/// TLS as the system's certificates have it (`SSL_CERT_FILE` names others); the address says whether it is wanted (`sslmode`).
pub fn tls() -> Result<MakeRustlsConnect, String> {
    use rustls_platform_verifier::BuilderVerifierExt;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().map_err(|e| e.to_string())?;
    let config = builder.with_platform_verifier().map_err(|e| e.to_string())?.with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

/// Blocks the calling thread, which may be one of an asynchronous program, until the work is done.
pub fn wait<T: Send + 'static>(work: impl Future<Output = Result<T, Failing>> + Send + 'static) -> Result<T, Failing> {
    let (done, outcome) = mpsc::channel();
    runtime().as_ref().map_err(|e| StoreError::Unreachable { place: "postgres".to_owned(), detail: e.clone() })?.spawn(async move {
        let _ = done.send(tokio::time::timeout(STATEMENT + ON_THE_WAY, work).await.unwrap_or(Err(Failing::Lost)));
    });
    outcome.recv().unwrap_or(Err(Failing::Lost))
}

/// One worker thread moves the bytes of all stores of the process; what they say is made and read by the threads that wait.
pub fn runtime() -> &'static Result<Runtime, String> {
    static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();
    RUNTIME.get_or_init(|| Builder::new_multi_thread().worker_threads(1).thread_name("duologue-store").enable_all().build().map_err(|e| e.to_string()))
}
