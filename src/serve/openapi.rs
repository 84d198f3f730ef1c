//! The description of the service for programs, from `openapi.yaml` beside this file.
//!
//! It is written by hand: one file of forty lines a subject reads better than annotations at every handler, and a test holds it to the routes.

use std::sync::OnceLock;

use axum::Json;
use serde_json::Value;

use super::error::ApiError;

const TEXT: &str = include_str!("openapi.yaml");

/// The document.
pub async fn document() -> Result<Json<Value>, ApiError> {
    static READ: OnceLock<Result<Value, String>> = OnceLock::new();
    READ.get_or_init(|| serde_saphyr::from_str(TEXT).map_err(|e| e.to_string())).clone().map(Json).map_err(|e| ApiError::internal(&e))
}
