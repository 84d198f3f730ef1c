//! What belongs to a site: its facts, and what its speakers said that nobody understood.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Service;
use super::access::Bearer;
use super::error::{ApiError, no_site};
use super::sessions::{Which, scope, told};
use crate::facts::{SessionKey, StoreError};
use crate::ontology::Scope;
use crate::turn::record::from_entry;

/// How many entries of the log are looked through for what was not understood, about: the newest ones.
const LOOKED_THROUGH: u64 = 20_000;
/// How many entries of the log are read for one answer.
const PAGE: usize = 1000;

/// The kb or the shared facts of a site.
pub async fn facts(State(service): State<Arc<Service>>, bearer: Bearer, Path(site): Path<String>, Query(q): Query<Which>) -> Result<Json<Value>, ApiError> {
    bearer.of_site(&site)?;
    let scope = scope(q.scope.as_deref(), Scope::Shared)?;
    if scope == Scope::Session {
        return Err(ApiError::bad("a site has no session facts", "ask /v1/sessions/{session}/facts"));
    }
    let found = service
        .work(move |service| -> Result<Value, ApiError> {
            service.serves(&site)?;
            let store = service.engine.store();
            let read = |scope| match store.facts(scope, &SessionKey::new(&site, "")) {
                // Named, but nobody spoke there yet: its menu is the domain's.
                Err(StoreError::UnknownSite(_)) if scope == Scope::Shared => Ok(vec![]),
                Err(StoreError::UnknownSite(site)) => {
                    let _ = store.install(&site, &service.engine.domain().facts, service.now())?;
                    Ok(store.facts(scope, &SessionKey::new(&site, ""))?)
                }
                other => other.map_err(ApiError::from),
            };
            let facts = read(scope)?;
            let version = store.kb_head(&site).unwrap_or_default();
            let pending = if service.engine.domain().ontology.roles.keys().any(|r| matches!(&bearer, Bearer::Operator(t) if *t.role == **r)) {
                store.pending(&site).unwrap_or_default().iter().map(|c| c.change.to_string()).collect::<Vec<_>>()
            } else {
                vec![]
            };
            Ok(json!({ "site": site, "scope": scope, "kb_version": version, "facts": told(&service.engine, &facts, bearer.observes()), "pending": pending }))
        })
        .await??;
    Ok(Json(found))
}

/// What was said and not understood, or held to be beside the point, the most frequent first: there an author finds what is missing.
pub async fn unheard(State(service): State<Arc<Service>>, bearer: Bearer, Path(site): Path<String>) -> Result<Json<Value>, ApiError> {
    bearer.observing(&site)?;
    let found = service
        .work(move |service| -> Result<Value, ApiError> {
            let store = service.engine.store();
            let sessions = store.sessions(&site).map_err(|_| no_site(&site))?;
            let mut after = sessions.last().map_or(0, |s| s.first_seq).saturating_sub(LOOKED_THROUGH);
            let (mut counted, mut turns) = (BTreeMap::<String, (u64, String, u64, String)>::new(), 0u64);
            loop {
                let entries = store.log(&site, after, PAGE)?;
                let Some(last) = entries.last() else { break };
                after = last.seq;
                for entry in entries.iter().filter(|e| e.turn().is_some()) {
                    let record = from_entry(entry, &service.engine.domain().ontology.view)?;
                    turns += 1;
                    let lost = record.predicates.is_empty() || record.predicates.iter().any(|p| ["unclear", "irrelevant"].contains(&&*p.name));
                    let Some(said) = record.said.filter(|_| lost || !record.unheard.is_empty()) else { continue };
                    let heard: Vec<String> = record.predicates.iter().map(ToString::to_string).collect();
                    let one = counted.entry(said.trim().to_lowercase()).or_default();
                    *one = (one.0 + 1, record.session, record.turn, heard.join(", "));
                }
            }
            let mut list: Vec<_> = counted.into_iter().collect();
            list.sort_by(|(a, (n, ..)), (b, (m, ..))| m.cmp(n).then_with(|| a.cmp(b)));
            let shown: Vec<Value> = list
                .into_iter()
                .take(200)
                .map(|(said, (times, session, turn, heard))| json!({ "said": said, "heard": heard, "times": times, "session": session, "turn": turn }))
                .collect();
            Ok(json!({ "site": site, "sessions": sessions.len(), "turns": turns, "unheard": shown }))
        })
        .await??;
    Ok(Json(found))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct After {
    #[serde(default)]
    after: u64,
}

/// Who changed the site's kb and shared facts, when, in which session and by which words; the session's name begins with its token's.
pub async fn audit(State(service): State<Arc<Service>>, bearer: Bearer, Path(site): Path<String>, Query(q): Query<After>) -> Result<Json<Value>, ApiError> {
    bearer.observing(&site)?;
    let found = service
        .work(move |service| -> Result<Value, ApiError> {
            let entries = service.engine.store().log(&site, q.after, PAGE)?;
            let mut changes = vec![];
            for entry in &entries {
                let changed: Vec<String> = entry.changes.iter().filter(|c| c.scope != Scope::Session).map(ToString::to_string).collect();
                let Some(turn) = entry.turn().filter(|_| !changed.is_empty()) else { continue };
                let record = from_entry(entry, &service.engine.domain().ontology.view)?;
                changes.push(json!({ "seq": entry.seq, "at": entry.at, "role": record.role, "session": record.session, "turn": turn.turn,
                    "said": record.said, "predicates": record.predicates, "changes": changed, "refused": record.refused_changes }));
            }
            let next = entries.last().filter(|_| entries.len() == PAGE).map(|e| e.seq);
            Ok(json!({ "site": site, "changes": changes, "next": next }))
        })
        .await??;
    Ok(Json(found))
}
