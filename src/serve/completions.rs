//! The same conversations for clients that speak OpenAI's chat completions: the last message is what is said, the conversation is the service's own.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Service;
use super::access::{Bearer, hash};
use super::error::ApiError;
use super::sessions::{Place, body};
use super::turns::{Say, Told, Words, header_of};
use crate::facts::SessionKey;

#[derive(Deserialize)]
struct Ask {
    #[serde(default)]
    model: String,
    messages: Vec<Message>,
    #[serde(default)]
    stream: bool,
    user: Option<String>,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    #[serde(default)]
    content: Value,
}

/// A message's words: a text, or the texts among its parts.
fn words(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|p| p.get("text").and_then(Value::as_str)).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

impl Service {
    /// The conversation that a bearer means by a name of its own: a session's token means that session, an operator's has one for each name and role.
    pub(super) fn named(&self, bearer: &Bearer, role: &str, name: Option<&str>) -> Result<Place, ApiError> {
        let t = match bearer {
            Bearer::Nobody => return Err(ApiError::unauthorised("this needs a session's token, or an operator's")),
            Bearer::Speaker(c) => return self.speaking(bearer, &c.session),
            Bearer::Operator(t) => t,
        };
        let role = if role.is_empty() { &*t.role } else { role };
        if !self.engine.domain().ontology.roles.contains_key(role) {
            return Err(ApiError::missing(format!("there is no role `{role}`"), "see /v1/models"));
        }
        if role != t.role && !self.engine.domain().ontology.is_for_anybody(role) {
            return Err(ApiError::forbidden(format!("this token does not speak as `{role}`"), "use a token for this role"));
        }
        let name = name
            .filter(|n| !n.is_empty())
            .ok_or_else(|| ApiError::bad("whose conversation?", "send `user`, or the header `X-Session`, with a name of yours"))?;
        // What a client calls its conversation is no key to somebody else's.
        let own: String = hash(&format!("{role} {name}")).chars().take(22).collect();
        let key = SessionKey::new(&t.site, &format!("{}-{own}", t.id));
        Ok(Place { engine: self.engine.clone(), key, role: role.to_owned(), speaks: true, branch: false })
    }
}

/// What can be asked for as a model: each role of the domain.
pub async fn models(State(service): State<Arc<Service>>) -> Json<Value> {
    let ontology = &service.engine.domain().ontology;
    let one = |role: &str| json!({ "id": format!("{}/{role}", ontology.domain), "object": "model", "created": 0, "owned_by": "duologue" });
    Json(json!({ "object": "list", "data": ontology.roles.keys().map(|r| one(r)).collect::<Vec<_>>() }))
}

/// One turn.
pub async fn complete(State(service): State<Arc<Service>>, bearer: Bearer, headers: HeaderMap, bytes: Bytes) -> Result<Response, ApiError> {
    let ask: Ask = body(&bytes)?;
    let said = ask.messages.iter().rfind(|m| m.role == "user").map(|m| words(&m.content)).filter(|t| !t.trim().is_empty());
    let said = said.ok_or_else(|| ApiError::bad("nothing was said", "send a message of the role `user`"))?;
    let domain = &service.engine.domain().ontology.domain;
    let role = ask.model.strip_prefix(&format!("{domain}/")).unwrap_or_default().to_owned();
    let name = header_of(&headers, "x-session").or(ask.user);
    let place = service.named(&bearer, &role, name.as_deref())?;
    let id = format!("chatcmpl-{}", super::access::random(12).map_err(|e| ApiError::internal(&e.to_string()))?);
    let created = service.now() / 1000;
    let model = format!("{domain}/{}", place.role);
    let say = Say { words: Words::Text(said), request: header_of(&headers, "idempotency-key"), why: false };
    if !ask.stream {
        let turn = service.turn(place, say, None).await?;
        let message = json!({ "role": "assistant", "content": turn.get("text") });
        return Ok(Json(json!({ "id": id, "object": "chat.completion", "created": created, "model": model,
            "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }],
            "usage": { "prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0 }, "duologue": turn }))
        .into_response());
    }
    let chunk = move |delta: Value, finish: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        let chunk = json!({ "id": id, "object": "chat.completion.chunk", "created": created, "model": model, "choices": [choice] });
        Event::default().data(chunk.to_string())
    };
    let mut spoke = false;
    let told = service.told(place, say).flat_map(move |told| {
        let events = match told {
            Told::Sentence(text) => {
                let text = if std::mem::replace(&mut spoke, true) { format!(" {text}") } else { text };
                vec![chunk(json!({ "role": "assistant", "content": text }), Value::Null)]
            }
            Told::Done(_) => vec![chunk(json!({}), "stop".into()), Event::default().data("[DONE]")],
            Told::Failed(e) => vec![Event::default().data(e.shown().to_string()), Event::default().data("[DONE]")],
        };
        stream::iter(events.into_iter().map(Ok::<_, std::convert::Infallible>))
    });
    Ok(Sse::new(told).keep_alive(KeepAlive::default()).into_response())
}
