//! The description of the service for programs, from `openapi.yaml` beside this file.
//!
//! It is written by hand: one file reads better than annotations at every handler, and a test holds it to the routes. What any request may be
//! answered is added here.

use std::sync::OnceLock;

use axum::Json;
use serde_json::{Value, json};

use super::error::ApiError;

const TEXT: &str = include_str!("openapi.yaml");

/// The statuses that any request may be answered with when it is not done.
const NOT_DONE: [&str; 9] = ["400", "401", "403", "404", "405", "413", "421", "429", "503"];

fn read() -> Result<Value, String> {
    let mut document: Value = serde_saphyr::from_str(TEXT).map_err(|e| e.to_string())?;
    let paths = document.get_mut("paths").and_then(Value::as_object_mut).into_iter().flat_map(|all| all.values_mut());
    let methods = paths.filter_map(Value::as_object_mut).flat_map(|of_path| of_path.values_mut());
    for answers in methods.filter_map(|m| m.get_mut("responses").and_then(Value::as_object_mut)) {
        for status in NOT_DONE {
            answers.entry(status).or_insert_with(|| json!({ "$ref": "#/components/responses/Problem" }));
        }
    }
    Ok(document)
}

/// The document.
pub async fn document() -> Result<Json<Value>, ApiError> {
    static READ: OnceLock<Result<Value, String>> = OnceLock::new();
    READ.get_or_init(read).clone().map(Json).map_err(|e| ApiError::internal(&e))
}
