//! Built-in flows to try: each conversation on an engine of its own in memory, kept like a branch.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::Service;
use super::access::Bearer;
use super::error::ApiError;
use crate::facts::{MemoryStore, SessionKey};
use crate::lang::chief;
use crate::turn::Engine;
use crate::understand::question::ByWords;

/// Who speaks to a flow.
const SPEAKER: &str = "speaker";

/// The names of the flows.
pub async fn list(State(service): State<Arc<Service>>) -> Json<Value> {
    Json(json!({ "flows": chief::names(&service.engine.domain().files) }))
}

/// Opens a conversation with a flow; functions are answered by their stand-ins.
pub async fn open(State(service): State<Arc<Service>>, bearer: Bearer, Path(name): Path<String>) -> Result<(StatusCode, Json<Value>), ApiError> {
    let Bearer::Operator(token) = &bearer else { return Err(ApiError::unauthorised("flows are tried by operators")) };
    let site = token.site.clone();
    let opened = service
        .work(move |service| {
            let engine = engine(service, &name)?;
            let id = super::access::random(12).map_err(|e| ApiError::internal(&e.to_string()))?;
            let key = SessionKey::new(&site, &id);
            // The graph stands in the facts of a site that has begun.
            engine.resume(&key, SPEAKER)?;
            service.forks.keep(&id, engine, key);
            Ok::<_, ApiError>(service.opened(&site, &id, SPEAKER, &bearer))
        })
        .await??;
    Ok((StatusCode::CREATED, Json(opened)))
}

fn engine(service: &Service, name: &str) -> Result<Engine, ApiError> {
    let files = &service.engine.domain().files;
    let missing = || ApiError::missing(format!("there is no flow `{name}`"), "see /v1/flows");
    let source = chief::named(files, name).ok_or_else(missing)?;
    let program = chief::read(&source).0.ok_or_else(missing)?;
    let domain = chief::domain::domain(&program, files).map_err(|found| ApiError::internal(&found.iter().map(ToString::to_string).collect::<String>()))?;
    let ear = domain.ear(Arc::new(ByWords));
    let engine = Engine::new(domain, Arc::new(MemoryStore::default())).with_options(service.engine.options().clone());
    Ok(match ear {
        Some(ear) => engine.with_understand(Arc::new(ear)),
        None => engine,
    })
}
