//! Branches: a conversation as it was after one of its turns, on a copy of the site in memory, for trying out what else could have been said.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use super::Service;
use super::access::Bearer;
use super::error::ApiError;
use super::sessions::body;
use crate::facts::SessionKey;
use crate::turn::Engine;
use crate::turn::replay::branch;

/// How many branches are kept; the oldest goes first.
const MOST: usize = 32;

struct Branch {
    id: String,
    engine: Arc<Engine>,
    key: SessionKey,
}

/// The branches that are kept.
#[derive(Default)]
pub struct Forks {
    kept: Mutex<VecDeque<Branch>>,
}

impl Forks {
    /// The branch of an id.
    pub fn get(&self, site: &str, id: &str) -> Option<(Arc<Engine>, SessionKey)> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|b| b.id == id && *b.key.site == *site).map(|b| (b.engine.clone(), b.key.clone()))
    }

    /// Keeps a conversation under an id of its own.
    pub fn keep(&self, id: &str, engine: Engine, key: SessionKey) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_back(Branch { id: id.to_owned(), engine: Arc::new(engine), key });
        while kept.len() > MOST {
            kept.pop_front();
        }
    }
}

/// Branches off a conversation after one of its turns.
pub async fn fork(State(service): State<Arc<Service>>, bearer: Bearer, Path(id): Path<String>, bytes: Bytes) -> Result<(StatusCode, Json<Value>), ApiError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Fork {
        turn: u64,
    }
    let Fork { turn } = body(&bytes)?;
    let opened = service
        .look_back(&id.clone(), move |service| {
            let place = service.place(&bearer, &id)?;
            let turns = place.turns()?;
            let Some(entry) = turns.iter().find(|e| e.turn().is_some_and(|t| t.turn == turn)) else {
                return Err(ApiError::missing(format!("the session took {} turns", turns.len()), "branch off after one of them"));
            };
            let role = place.record(entry)?.role;
            let options = service.engine.options().clone();
            let store = place.engine.store();
            let mut engine = branch(place.engine.domain(), &**store, &place.key.site, entry, &place.key.session, service.config.rule, options)?;
            if let Some(understand) = service.engine.translator() {
                engine = engine.with_understand(understand.clone());
            }
            let name = super::access::random(12).map_err(|e| ApiError::internal(&e.to_string()))?;
            service.forks.keep(&name, engine, place.key.clone());
            Ok(service.opened(&place.key.site, &name, &role, &bearer))
        })
        .await??;
    Ok((StatusCode::CREATED, Json(opened)))
}
