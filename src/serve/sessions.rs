//! Conversations: opening one, and reading what it holds.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Service;
use super::access::{Bearer, Claims};
use super::error::{ApiError, no_site};
use crate::facts::{Entry, Fact, SessionKey, StoreError};
use crate::ontology::Scope;
use crate::turn::record::{from_entry, provenance_text};
use crate::turn::{Engine, TurnRecord};

/// A conversation that a bearer has to do with.
#[derive(Clone)]
pub struct Place {
    /// The engine that it is held on: the service's, or a branch of its own.
    pub engine: Arc<Engine>,
    /// Where it stands in that engine's store.
    pub key: SessionKey,
    /// The role that speaks in it; empty for who only reads.
    pub role: String,
    /// Whether the bearer may speak.
    pub speaks: bool,
    /// Whether it is a branch, which the site never hears of.
    pub branch: bool,
}

impl Service {
    /// The conversation of an id, if the bearer may read it.
    pub(super) fn place(&self, bearer: &Bearer, id: &str) -> Result<Place, ApiError> {
        let (site, role, speaks) = match bearer {
            Bearer::Nobody => return Err(ApiError::unauthorised("this needs the token that the session was opened with")),
            Bearer::Speaker(c) if c.session == id => (c.site.clone(), c.role.clone(), true),
            Bearer::Operator(t) if t.observe => (t.site.clone(), String::new(), false),
            _ => return Err(ApiError::forbidden("this token is for another session", "use the token that came with the session")),
        };
        if let Some((engine, key)) = self.forks.get(&site, id) {
            return Ok(Place { engine, key, role, speaks, branch: true });
        }
        Ok(Place { engine: self.engine.clone(), key: SessionKey::new(&site, id), role, speaks, branch: false })
    }

    /// The same, if the bearer may speak in it.
    pub(super) fn speaking(&self, bearer: &Bearer, id: &str) -> Result<Place, ApiError> {
        let place = self.place(bearer, id)?;
        if place.speaks {
            Ok(place)
        } else {
            Err(ApiError::forbidden("this token may read this session, not speak in it", "use the token that came with the session"))
        }
    }

    /// Whether a site is served.
    pub(super) fn serves(&self, site: &str) -> Result<(), ApiError> {
        if self.config.sites.iter().any(|s| s == site) || self.engine.store().sites()?.iter().any(|s| **s == *site) { Ok(()) } else { Err(no_site(site)) }
    }

    /// Roles that anybody may speak in: those that change nothing for anybody else.
    pub(super) fn open_roles(&self) -> BTreeSet<String> {
        let ontology = &self.engine.domain().ontology;
        ontology.roles.keys().filter(|r| ontology.is_for_anybody(r)).map(ToString::to_string).collect()
    }

    /// Makes a conversation's token.
    pub(super) fn opened(&self, site: &str, session: &str, role: &str, bearer: &Bearer) -> Value {
        let until = self.now().saturating_add(self.config.session_millis);
        let (by, expires) = match bearer {
            Bearer::Operator(t) => (t.id.clone(), until.min(t.expires)),
            Bearer::Speaker(c) => (c.by.clone(), until.min(c.expires)),
            Bearer::Nobody => (String::new(), until),
        };
        let claims = Claims { site: site.to_owned(), session: session.to_owned(), role: role.to_owned(), expires, by };
        json!({ "session": session, "site": site, "role": role, "token": self.keys.sign(&claims), "expires": expires })
    }
}

impl Place {
    /// The role that speaks in it: the bearer's, or for who only reads the one that spoke last.
    pub fn speaker(&self) -> Result<String, ApiError> {
        if !self.role.is_empty() {
            return Ok(self.role.clone());
        }
        self.turns()?.last().map_or_else(|| Ok(String::new()), |e| Ok(self.record(e)?.role))
    }

    /// The turns of the session's newest life, in order; an error if it never took one.
    pub fn turns(&self) -> Result<Vec<Entry>, ApiError> {
        let turns = match self.engine.store().turns(&self.key, None) {
            // Opened, but nobody spoke at the site yet.
            Err(StoreError::UnknownSite(_)) => vec![],
            other => other?,
        };
        let epoch = turns.last().and_then(|e| e.turn()).map(|t| t.epoch);
        Ok(turns.into_iter().filter(|e| e.turn().map(|t| t.epoch) == epoch).collect())
    }

    /// Where it stands: what `step` calls its state, beside what the rules show of it.
    pub fn state(&self, id: &str) -> Result<Value, ApiError> {
        let last = self.turns()?.last().map(|e| self.record(e)).transpose()?;
        let domain = self.engine.domain();
        let (view, role) = last.as_ref().map_or((vec![], self.role.clone()), |r| (r.view.clone(), r.role.clone()));
        Ok(json!({
            "session": id,
            "site": self.key.site.to_string(),
            "role": role,
            "branch": self.branch,
            "turn": last.as_ref().map_or(0, |r| r.turn),
            "ended": last.as_ref().and_then(|r| r.ended.clone()),
            "asked": last.as_ref().map(|r| r.actions.clone()).unwrap_or_default(),
            "state": domain.ontology.view.shown(&view),
            "lines": domain.ontology.view.text(&view).unwrap_or_default(),
            "view": view,
        }))
    }

    /// Its facts, or what it sees of its site.
    pub fn facts(&self, scope: Scope, all: bool) -> Result<Value, ApiError> {
        let facts = match self.engine.store().facts(scope, &self.key) {
            Err(StoreError::UnknownSite(_)) => vec![],
            other => other?,
        };
        Ok(json!({ "scope": scope, "facts": told(&self.engine, &facts, all) }))
    }

    /// What a log entry records.
    pub fn record(&self, entry: &Entry) -> Result<TurnRecord, ApiError> {
        Ok(from_entry(entry, &self.engine.domain().ontology.view)?)
    }
}

/// A body as JSON; an empty one is an empty object.
pub fn body<T: for<'a> Deserialize<'a>>(bytes: &Bytes) -> Result<T, ApiError> {
    let bytes: &[u8] = if bytes.is_empty() { b"{}" } else { bytes };
    serde_json::from_slice(bytes).map_err(|e| ApiError::bad(format!("the body cannot be read: {e}"), "see docs/service.md for what it holds"))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Open {
    role: Option<String>,
}

/// Opens a conversation.
pub async fn open(State(service): State<Arc<Service>>, bearer: Bearer, Path(site): Path<String>, bytes: Bytes) -> Result<(StatusCode, Json<Value>), ApiError> {
    let Open { role } = body(&bytes)?;
    let opened = service
        .work(move |service| {
            service.serves(&site)?;
            if bearer != Bearer::Nobody {
                bearer.of_site(&site)?;
            }
            let open = service.open_roles();
            let own = if let Bearer::Operator(t) = &bearer { Some(t.role.clone()) } else { None };
            let role = role.or_else(|| own.clone()).or_else(|| open.first().cloned()).unwrap_or_default();
            if !service.engine.domain().ontology.roles.contains_key(role.as_str()) {
                return Err(ApiError::bad(format!("there is no role `{role}`"), "see /v1/agents for the roles"));
            }
            let anybody = open.contains(&role);
            if !anybody && own.as_deref() != Some(&role) {
                let help = "send the token that the operator made with `duologue token new` for this role and site";
                return Err(match bearer {
                    Bearer::Nobody => ApiError { help: help.to_owned(), ..ApiError::unauthorised(format!("the role `{role}` needs a token")) },
                    _ => ApiError::forbidden(format!("this token does not open conversations as `{role}`"), help),
                });
            }
            let random = super::access::random(12).map_err(|e| ApiError::internal(&e.to_string()))?;
            // The log tells by its sessions' names which token changed something.
            let session = if let (Bearer::Operator(t), false) = (&bearer, anybody) { format!("{}-{random}", t.id) } else { random };
            tracing::info!(target: "audit", site, role, session, "a session was opened");
            let mut opened = service.opened(&site, &session, &role, if anybody { &Bearer::Nobody } else { &bearer });
            let greeting = service.engine.domain().ontology.roles.get(role.as_str()).map(|r| r.greeting.clone()).unwrap_or_default();
            if let Some(map) = opened.as_object_mut() {
                map.insert("text".into(), greeting.into());
            }
            service.counts.sessions.add(1);
            Ok(opened)
        })
        .await??;
    Ok((StatusCode::CREATED, Json(opened)))
}

/// The conversations of a site, for who may read them all.
pub async fn list(State(service): State<Arc<Service>>, bearer: Bearer, Path(site): Path<String>) -> Result<Json<Value>, ApiError> {
    bearer.observing(&site)?;
    let sessions = service.work(move |service| service.engine.store().sessions(&site)).await??;
    Ok(Json(json!({ "sessions": sessions })))
}

/// Where a conversation stands: what `step` calls its state, beside what the rules show of it.
pub async fn state(State(service): State<Arc<Service>>, bearer: Bearer, Path(id): Path<String>) -> Result<Json<Value>, ApiError> {
    Ok(Json(service.work(move |service| service.place(&bearer, &id)?.state(&id)).await??))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Which {
    pub(super) scope: Option<String>,
}

/// Facts with who brought them about; session ids only for who may read every conversation.
pub fn told(engine: &Engine, facts: &[Fact], all: bool) -> Vec<Value> {
    let one = |f: &Fact| {
        let mut out =
            json!({ "fact": f.atom, "by": provenance_text(&f.provenance, &engine.domain().ontology), "at": f.provenance.at, "turn": f.provenance.turn });
        if let Some(map) = out.as_object_mut().filter(|_| all) {
            map.insert("session".into(), f.provenance.session.to_string().into());
        }
        out
    };
    facts.iter().map(one).collect()
}

/// The scope that a query names.
pub fn scope(text: Option<&str>, usual: Scope) -> Result<Scope, ApiError> {
    let Some(text) = text else { return Ok(usual) };
    text.parse().map_err(|()| ApiError::bad(format!("`{text}` is no scope"), "use kb, shared or session"))
}

/// The facts of a conversation, or what it sees of its site.
pub async fn facts(State(service): State<Arc<Service>>, bearer: Bearer, Path(id): Path<String>, Query(q): Query<Which>) -> Result<Json<Value>, ApiError> {
    let scope = scope(q.scope.as_deref(), Scope::Session)?;
    Ok(Json(service.work(move |service| service.place(&bearer, &id)?.facts(scope, bearer.observes())).await??))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Range {
    after: Option<u64>,
    limit: Option<usize>,
}

/// The records of a conversation's turns, opened up.
pub async fn history(State(service): State<Arc<Service>>, bearer: Bearer, Path(id): Path<String>, Query(q): Query<Range>) -> Result<Json<Value>, ApiError> {
    let found = service
        .work(move |service| -> Result<Value, ApiError> {
            let place = service.place(&bearer, &id)?;
            let after = q.after.unwrap_or(0);
            let turns = place.turns()?;
            let wanted = turns.iter().filter(|e| e.turn().is_some_and(|t| t.turn > after)).take(q.limit.unwrap_or(200).min(1000));
            let records = wanted.map(|e| opened_up(service, &place, e)).collect::<Result<Vec<_>, _>>()?;
            Ok(json!({ "session": id, "turns": records, "of": turns.len() }))
        })
        .await??;
    Ok(Json(found))
}

/// A turn with every intermediate value, and its state as it looks outside.
fn opened_up(service: &Service, place: &Place, entry: &Entry) -> Result<Value, ApiError> {
    let record = place.record(entry)?;
    let mut out = serde_json::to_value(&record).map_err(|e| ApiError::internal(&e.to_string()))?;
    if let Some(map) = out.as_object_mut() {
        map.insert("state".into(), place.engine.domain().ontology.view.shown(&record.view));
        map.insert("kb_version".into(), json!(entry.turn().map(|t| t.kb_version)));
        map.insert("seq".into(), entry.seq.into());
        if let Some(times) = service.times.get(&record) {
            map.insert("times".into(), times);
        }
        map.insert("request".into(), json!(entry.turn().and_then(|t| t.request.clone())));
    }
    Ok(out)
}
