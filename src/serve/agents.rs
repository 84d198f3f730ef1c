//! What can be spoken to: the domain's roles and vocabulary, and the drawing of a flow.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Service;
use super::error::ApiError;
use crate::ir::graph::draw::{Highlight, svg};

/// The agents of this service.
pub async fn list(State(service): State<Arc<Service>>) -> Json<Value> {
    let domain = service.engine.domain();
    let ontology = &domain.ontology;
    let open = service.open_roles();
    let roles: Vec<Value> = ontology
        .roles
        .iter()
        .map(|(name, role)| {
            let says: Vec<Value> = ontology
                .inputs_of(name)
                .map(|f| json!({ "form": f.to_string(), "means": f.means, "examples": f.examples.iter().map(|e| e.say.clone()).collect::<Vec<_>>() }))
                .collect();
            json!({ "role": name.to_string(), "title": role.title, "greeting": role.greeting, "anybody": open.contains(&**name), "may_say": says })
        })
        .collect();
    let graph = domain.program.as_ref().and_then(|p| p.graph()).is_some();
    Json(json!({ "agents": [{ "agent": ontology.domain.to_string(), "title": ontology.title, "roles": roles, "graph": graph,
        "sites": service.config.sites, "functions": ontology.functions.iter().map(|f| f.name.clone()).collect::<Vec<_>>() }] }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct At {
    at: Option<i32>,
}

/// The drawing of a flow, with the node where a conversation stands.
pub async fn drawing(State(service): State<Arc<Service>>, Path(agent): Path<String>, Query(q): Query<At>) -> Result<Response, ApiError> {
    let domain = service.engine.domain();
    if *domain.ontology.domain != *agent {
        return Err(ApiError::missing(format!("there is no agent `{agent}`"), "see /v1/agents"));
    }
    let Some(flow) = domain.program.as_ref().and_then(|p| p.graph()) else {
        return Err(ApiError::missing(format!("`{agent}` is no flow, so there is nothing to draw"), "start the service with --flow"));
    };
    Ok(([(header::CONTENT_TYPE, "image/svg+xml")], svg(flow, &Highlight { current: q.at, ..Highlight::default() })).into_response())
}
