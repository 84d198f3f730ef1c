//! The tables of a PostgreSQL store: how they come to be, and how they move on with the program.

use tokio_postgres::Client;

use super::Failing;
use crate::facts::StoreError;

/// What brings an empty schema to version 1, that to version 2, and so on. What stands here never changes; more is added.
const STEPS: [&str; 1] = [include_str!("001_tables.sql")];

/// Two programs that start at once make the tables one after the other.
const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtext('duologue ' || current_schema()))";
const VERSION: &str = "SELECT version FROM store_schema";

/// Makes sure that the tables are there and of this program's version, and gives the schema's name.
pub async fn prepare(client: &Client, place: &str) -> Result<String, Failing> {
    let missing = "SELECT current_schema(), to_regclass('store_schema') IS NULL, to_regclass('site') IS NOT NULL OR to_regclass('log') IS NOT NULL";
    let found = client.query_one(missing, &[]).await?;
    let Some(schema) = found.try_get::<_, Option<String>>(0)? else {
        let detail = "no schema of the search path exists".to_owned();
        return Err(StoreError::CannotOpen { file: place.to_owned(), detail }.into());
    };
    let (is_new, has_others): (bool, bool) = (found.try_get(1)?, found.try_get(2)?);
    if !is_new && current(client, place).await? == STEPS.len() {
        return Ok(schema);
    }
    if is_new && has_others {
        return Err(StoreError::Foreign(place.to_owned()).into());
    }
    client.batch_execute("BEGIN").await?;
    let made = migrate(client, place).await;
    client.batch_execute(if made.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
    made.map(|()| schema)
}

async fn migrate(client: &Client, place: &str) -> Result<(), Failing> {
    client.batch_execute(LOCK).await?;
    client.batch_execute("CREATE TABLE IF NOT EXISTS store_schema (version BIGINT NOT NULL)").await?;
    let at = match client.query_opt(VERSION, &[]).await? {
        Some(_) => current(client, place).await?,
        None => {
            client.batch_execute("INSERT INTO store_schema VALUES (0)").await?;
            0
        }
    };
    for step in STEPS.iter().skip(at) {
        client.batch_execute(step).await?;
    }
    client.batch_execute(&format!("UPDATE store_schema SET version = {}", STEPS.len())).await?;
    Ok(())
}

/// The version of the tables, which must be one that this program knows.
async fn current(client: &Client, place: &str) -> Result<usize, Failing> {
    let found: i64 = client.query_one(VERSION, &[]).await?.try_get(0)?;
    let known = i64::try_from(STEPS.len()).unwrap_or(i64::MAX);
    match usize::try_from(found) {
        Ok(version) if found <= known => Ok(version),
        _ => Err(StoreError::NewerSchema { file: place.to_owned(), found, known }.into()),
    }
}
