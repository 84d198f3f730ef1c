//! Questions about a turn: why, why not, what if. The turn is taken again on the facts as they were then.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Service;
use super::access::Bearer;
use super::error::ApiError;
use super::sessions::Place;
use crate::facts::SessionKey;
use crate::term::Atom;
use crate::turn::answers::{told, what_if_shown, why_not_shown};
use crate::turn::replay::again;
use crate::turn::{Engine, Options, TurnRecord};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    atom: Option<String>,
    predicates: Option<String>,
}

impl Service {
    /// Takes a turn again and asks about it.
    async fn ask<T: Send + 'static>(
        self: &Arc<Self>,
        bearer: Bearer,
        (id, turn): (String, u64),
        explain: bool,
        question: impl FnOnce(&Engine, &SessionKey, &TurnRecord) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        self.look_back(&id.clone(), move |service| {
            let place = service.place(&bearer, &id)?;
            service.ask_place(&place, turn, explain, question)
        })
        .await?
    }

    /// The same, on a deciding thread already.
    fn ask_place<T>(
        &self,
        place: &Place,
        turn: u64,
        explain: bool,
        question: impl FnOnce(&Engine, &SessionKey, &TurnRecord) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        let turns = place.turns()?;
        let Some(entry) = turns.iter().find(|e| e.turn().is_some_and(|t| t.turn == turn)) else {
            return Err(ApiError::missing(format!("the session took {} turns", turns.len()), "ask about one of them"));
        };
        let options = Options { remember: true, explain, ..self.engine.options().clone() };
        let store = place.engine.store();
        let (replay, taken) = again(place.engine.domain(), &**store, &place.key.site, entry, self.config.rule, options)?;
        question(replay.engine(), &place.key, &taken.is?)
    }

    /// A turn's record with the proof of each action.
    pub(super) fn proofs(&self, place: &Place, turn: u64) -> Result<Value, ApiError> {
        self.ask_place(place, turn, true, |engine, _, record| Ok(told(record, engine)))
    }
}

/// Why a turn said what it said: its record with the proof of each action.
pub async fn why(State(service): State<Arc<Service>>, bearer: Bearer, Path(at): Path<(String, u64)>) -> Result<Json<Value>, ApiError> {
    Ok(Json(service.ask(bearer, at, true, |engine, _, record| Ok(told(record, engine))).await?))
}

/// What kept the rules from deriving something in that turn.
pub async fn why_not(
    State(service): State<Arc<Service>>,
    bearer: Bearer,
    Path(at): Path<(String, u64)>,
    Query(q): Query<Asked>,
) -> Result<Json<Value>, ApiError> {
    let atom = q.atom.ok_or_else(|| ApiError::bad("why not what?", "ask with ?atom=ATOM; _ stands for anything in it"))?;
    let found = service.ask(bearer, at, false, move |engine, key, _| {
        why_not_shown(engine, key, &atom).map_err(|e| ApiError::bad(e, "ask about an action or another atom of the rules"))
    });
    Ok(Json(found.await?))
}

/// What would have come of saying something after that turn.
pub async fn what_if(
    State(service): State<Arc<Service>>,
    bearer: Bearer,
    Path(at): Path<(String, u64)>,
    Query(q): Query<Asked>,
) -> Result<Json<Value>, ApiError> {
    let predicates = q.predicates.ok_or_else(|| ApiError::bad("if what had been said?", "ask with ?predicates=PREDICATES of the role"))?;
    Ok(Json(service.ask(bearer, at, false, move |engine, key, record| Ok(what_if_shown(engine, key, &record.role, &predicates)?)).await?))
}

/// The proof of any atom of that turn.
pub async fn proof(
    State(service): State<Arc<Service>>,
    bearer: Bearer,
    Path(at): Path<(String, u64)>,
    Query(q): Query<Asked>,
) -> Result<Json<Value>, ApiError> {
    let atom: Atom = wanted(q.atom)?.parse().map_err(|e| ApiError::bad(format!("{e}"), "ask for an atom, such as view(price,398)"))?;
    let found =
        service.ask(bearer, at, false, move |engine, key, _| Ok(engine.rounds_decided(key).iter().rev().find_map(|decided| engine.proof_of(decided, &atom))));
    Ok(Json(json!({ "proof": found.await? })))
}

/// What holds in a session now and looks like this, each with its proof.
pub async fn holds(State(service): State<Arc<Service>>, bearer: Bearer, Path(id): Path<String>, Query(q): Query<Asked>) -> Result<Json<Value>, ApiError> {
    let pattern = wanted(q.atom)?;
    let found = service.work(move |service| {
        let place = service.place(&bearer, &id)?;
        Ok::<_, ApiError>(place.engine.holding(&place.key, &place.speaker()?, &pattern)?)
    });
    Ok(Json(json!({ "holds": found.await?? })))
}

/// What would come of saying something now.
pub async fn what_if_now(State(service): State<Arc<Service>>, bearer: Bearer, Path(id): Path<String>, Query(q): Query<Asked>) -> Result<Json<Value>, ApiError> {
    let predicates = q.predicates.ok_or_else(|| ApiError::bad("if what were said?", "ask with ?predicates=PREDICATES"))?;
    let found = service.work(move |service| {
        let place = service.place(&bearer, &id)?;
        Ok::<_, ApiError>(what_if_shown(&place.engine, &place.key, &place.speaker()?, &predicates)?)
    });
    Ok(Json(found.await??))
}

fn wanted(atom: Option<String>) -> Result<String, ApiError> {
    atom.ok_or_else(|| ApiError::bad("ask for what?", "ask with ?atom=unavailable(_,_); _ stands for anything"))
}
