//! Saying something: one turn, answered as JSON or sentence by sentence.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt, stream};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::Service;
use super::access::Bearer;
use super::error::ApiError;
use super::sessions::{Place, body};
use crate::turn::answers::shown;
use crate::turn::shares::Shares;
use crate::turn::{Said, TurnRecord};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Turn {
    text: Option<String>,
    predicates: Option<Vec<String>>,
    request: Option<String>,
    #[serde(default)]
    why: bool,
}

/// What is said, owned.
pub(super) enum Words {
    Text(String),
    Predicates(Vec<String>),
}

/// A turn to be taken.
pub(super) struct Say {
    /// What is said.
    pub words: Words,
    /// The sender's name for it.
    pub request: Option<String>,
    /// Whether its proofs are wanted.
    pub why: bool,
}

/// What is told of a turn under way.
pub(super) enum Told {
    Sentence(String),
    Done(Value),
    Failed(ApiError),
}

impl Say {
    /// What a body says, under the name that came beside it where it has none of its own.
    pub fn of(bytes: &Bytes, named: Option<String>) -> Result<Self, ApiError> {
        let Turn { text, predicates, request, why } = body(bytes)?;
        let words = match (text, predicates) {
            (Some(t), None) => Words::Text(t),
            (None, Some(p)) => Words::Predicates(p),
            _ => return Err(ApiError::bad("a turn has either `text` or `predicates`", "send one of them")),
        };
        Ok(Self { words, request: request.or(named), why })
    }
}

/// A header's text.
pub(super) fn header_of(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).and_then(|v| v.to_str().ok()).map(str::to_owned)
}

/// A turn as it is answered.
fn answer(place: &Place, record: &TurnRecord, millis: u128) -> Value {
    let mut out = json!(shown(record, &place.engine, false));
    if let Some(map) = out.as_object_mut() {
        map.insert("turn".into(), record.turn.into());
        map.insert("session".into(), record.session.clone().into());
        map.insert("ended".into(), json!(record.ended));
        map.insert("lines".into(), json!(place.engine.domain().ontology.view.text(&record.view).unwrap_or_default()));
        map.insert("millis".into(), u64::try_from(millis).unwrap_or(u64::MAX).into());
    }
    out
}

impl Service {
    /// Takes a turn; sentences are handed on as they become safe to say. Begun, it goes on where its sender hangs up: it is taken once, and told
    /// again to who asks with the same request.
    pub(super) async fn turn(self: &Arc<Self>, place: Place, say: Say, sentences: Option<mpsc::UnboundedSender<String>>) -> Result<Value, ApiError> {
        let crowded = || ApiError { message: "too many turns of this session are under way".to_owned(), ..ApiError::busy() };
        let queued = self.under_way.enter(&place.key.session, self.config.session_queue).ok_or_else(crowded)?;
        let began = Instant::now();
        let (service, asked) = (self.clone(), say.why.then(|| place.clone()));
        let taken = self.begin(async move {
            let Say { words, request, .. } = say;
            let said = match &words {
                Words::Text(text) => Said::Text(text),
                Words::Predicates(list) => Said::Predicates(list),
            };
            let mut hand_on = |sentence: &str| {
                if let Some(sentences) = &sentences {
                    let _ = sentences.send(sentence.to_owned());
                }
            };
            let turn = place.engine.take(&place.key, &place.role, &said, request.as_deref(), Some(&mut hand_on));
            let (record, parts) = Shares::of(&service.shares, turn).await;
            let times = record.as_ref().ok().map(|r| service.times.keep(r, &parts, began.elapsed()));
            service.counts.turn(began.elapsed(), record.as_ref().ok());
            #[cfg(feature = "otel")]
            service.traces.turn(began, &parts, &place, record.as_ref().ok());
            if let (Ok(record), false) = (&record, place.branch) {
                service.events.turn(record);
            }
            drop(queued);
            record.map(|r| {
                let mut out = answer(&place, &r, began.elapsed().as_millis());
                if let Some(map) = out.as_object_mut() {
                    map.insert("times".into(), json!(times));
                }
                out
            })
        });
        let mut out = taken.await??;
        if let (Some(place), Some(turn)) = (asked, out.get("turn").and_then(Value::as_u64)) {
            // The turn is taken, whether its proofs can be had now or not.
            let session = place.key.session.clone();
            let proofs = self.look_back(session.as_ref(), move |service| service.proofs(&place, turn)).await.and_then(|proofs| proofs);
            let why = proofs.ok().and_then(|proofs| proofs.get("why").cloned()).unwrap_or_else(|| json!([]));
            out.as_object_mut().map(|out| out.insert("why".into(), why));
        }
        Ok(out)
    }

    /// The same as a stream of what is told of it.
    pub(super) fn told(self: &Arc<Self>, place: Place, say: Say) -> impl Stream<Item = Told> + use<> {
        let (hand_on, mut sentences) = mpsc::unbounded_channel();
        let (done, mut outcome) = mpsc::channel(1);
        let service = self.clone();
        tokio::spawn(async move {
            let _ = done.send(service.turn(place, say, Some(hand_on)).await).await;
        });
        stream::poll_fn(move |cx| match sentences.poll_recv(cx) {
            Poll::Ready(Some(sentence)) => Poll::Ready(Some(Told::Sentence(sentence))),
            Poll::Pending => Poll::Pending,
            Poll::Ready(None) => outcome.poll_recv(cx).map(|o| o.map(|o| o.map_or_else(Told::Failed, Told::Done))),
        })
    }
}

/// Takes a turn.
pub async fn say(State(service): State<Arc<Service>>, bearer: Bearer, Path(id): Path<String>, headers: HeaderMap, bytes: Bytes) -> Result<Response, ApiError> {
    let say = Say::of(&bytes, header_of(&headers, "idempotency-key"))?;
    let place = service.speaking(&bearer, &id)?;
    if header_of(&headers, header::ACCEPT.as_str()).is_some_and(|v| v.contains("text/event-stream")) {
        let events = service.told(place, say).map(|told| match told {
            Told::Sentence(text) => event("sentence", &json!({ "text": text })),
            Told::Done(turn) => event("turn", &turn),
            Told::Failed(e) => event("error", &e.shown()),
        });
        return Ok(Sse::new(events).keep_alive(KeepAlive::default()).into_response());
    }
    Ok(Json(service.turn(place, say, None).await?).into_response())
}

/// One event of a stream.
pub fn event(name: &str, data: &Value) -> Result<Event, Infallible> {
    Ok(Event::default().event(name).data(data.to_string()))
}

/// Takes the last change back, where the role's vocabulary has a word for it.
pub async fn undo(State(service): State<Arc<Service>>, bearer: Bearer, Path(id): Path<String>, bytes: Bytes) -> Result<Json<Value>, ApiError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Undo {
        request: Option<String>,
    }
    let Undo { request } = body(&bytes)?;
    let place = service.speaking(&bearer, &id)?;
    if !place.engine.domain().ontology.takes_back(&place.role) {
        return Err(ApiError::new(axum::http::StatusCode::CONFLICT, "no_undo", "nothing can be taken back in this role", "say what is to be different"));
    }
    let say = Say { words: Words::Predicates(vec!["undo".to_owned()]), request, why: false };
    Ok(Json(service.turn(place, say, None).await?))
}
