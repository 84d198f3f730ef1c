//! The same conversations as tools of the Model Context Protocol: say, state, facts, why; over HTTP at `/mcp`, or line by line (`duologue mcp`).
//!
//! Four methods with plain JSON in and out; nothing is kept between two requests but the conversation itself, whose token is the protocol's session id.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::Service;
use super::access::Bearer;
use super::edge::Sender;
use super::error::ApiError;
use super::sessions::Place;
use super::turns::{Say, Words, header_of};
use crate::ontology::Scope;

/// Versions of the protocol that are spoken alike, the newest first.
const VERSIONS: [&str; 3] = ["2025-06-18", "2025-03-26", "2024-11-05"];
/// The header of the protocol's session.
const SESSION: &str = "mcp-session-id";

/// The tools, as a client lists them.
fn tools() -> Value {
    let text = |about: &str| json!({ "type": "string", "description": about });
    let session = text("for operators' tokens: a name of yours for the conversation");
    let tool = |name: &str, about: &str, properties: Value, required: &[&str], reads: bool| {
        json!({ "name": name, "description": about, "annotations": { "readOnlyHint": reads, "openWorldHint": false },
            "inputSchema": { "type": "object", "properties": properties, "required": required, "additionalProperties": false } })
    };
    let scope = json!({ "type": "string", "enum": ["session", "shared", "kb"], "description": "whose facts: of this conversation, of the site today, or lasting ones" });
    let turn = json!({ "type": "integer", "minimum": 1, "description": "which turn, from 1; the last one if unsaid" });
    json!([
        tool("say", "Say something in the conversation and get the reply.", json!({ "text": text("what is said"), "session": session }), &["text"], false),
        tool("state", "Where the conversation stands.", json!({ "session": session }), &[], true),
        tool("facts", "The facts that decisions rest on, with who brought them about.", json!({ "scope": scope, "session": session }), &[], true),
        tool("why", "Why a turn said what it said: each action with its proof.", json!({ "turn": turn, "session": session }), &[], true),
    ])
}

/// The text at a place of a message.
fn text<'a>(message: &'a Value, place: &str) -> Option<&'a str> {
    message.pointer(place).and_then(Value::as_str)
}

fn error(id: &Value, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

impl Service {
    /// Answers one message; a notification gets no answer.
    pub async fn mcp(self: &Arc<Self>, bearer: &Bearer, message: &Value) -> Option<Value> {
        let (Some(method), "2.0") = (text(message, "/method"), text(message, "/jsonrpc").unwrap_or_default()) else {
            return Some(error(message.get("id").unwrap_or(&Value::Null), -32600, "this is no request of JSON-RPC 2.0"));
        };
        let id = message.get("id")?;
        let result = match method {
            "initialize" => {
                let asked = text(message, "/params/protocolVersion").unwrap_or_default();
                let version = VERSIONS.iter().find(|v| **v == asked).or(VERSIONS.first());
                let title = &self.engine.domain().ontology.title;
                json!({ "protocolVersion": version, "capabilities": { "tools": {} }, "serverInfo": { "name": "duologue", "version": env!("CARGO_PKG_VERSION") },
                    "instructions": format!("A conversation with {title}. Say what a person would say; rules decide what happens, and `why` proves it.") })
            }
            "ping" => json!({}),
            "tools/list" => json!({ "tools": tools() }),
            "tools/call" => {
                let name = text(message, "/params/name").unwrap_or_default();
                let outcome = match name {
                    "say" | "state" | "facts" | "why" => self.tool(bearer, name, message).await,
                    other => return Some(error(id, -32602, &format!("there is no tool `{other}`"))),
                };
                match outcome {
                    Ok((text, value)) => json!({ "content": [{ "type": "text", "text": text }], "structuredContent": value, "isError": false }),
                    Err(e) => json!({ "content": [{ "type": "text", "text": format!("{} ({})", e.message, e.help) }], "isError": true }),
                }
            }
            other => return Some(error(id, -32601, &format!("there is no method `{other}`"))),
        };
        Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
    }

    async fn tool(self: &Arc<Self>, bearer: &Bearer, name: &str, message: &Value) -> Result<(String, Value), ApiError> {
        let session = text(message, "/params/arguments/session");
        let place = self.named(bearer, "", session.or(Some("mcp")))?;
        if name == "say" {
            let said = text(message, "/params/arguments/text").ok_or_else(|| ApiError::bad("`say` needs a `text`", "send what is said"))?;
            let say = Say { words: Words::Text(said.to_owned()), request: None, why: false };
            let turn = self.turn(place, say, None).await?;
            return Ok((text(&turn, "/text").unwrap_or_default().to_owned(), turn));
        }
        let (turn, scope) = (message.pointer("/params/arguments/turn").and_then(Value::as_u64), text(message, "/params/arguments/scope").map(str::to_owned));
        let (observes, back, name, of) = (bearer.observes(), name == "why", name.to_owned(), place.key.session.to_string());
        let read = move |service: &Arc<Self>| read(service, &place, &name, turn, scope.as_deref(), observes);
        let value = if back { self.look_back(&of, read).await?? } else { self.work(read).await?? };
        Ok((value.to_string(), value))
    }
}

fn read(service: &Service, place: &Place, name: &str, turn: Option<u64>, scope: Option<&str>, observes: bool) -> Result<Value, ApiError> {
    match name {
        "state" => place.state(&place.key.session),
        "facts" => place.facts(super::sessions::scope(scope, Scope::Session)?, observes),
        _ => {
            let last = place.turns()?.last().and_then(|e| e.turn()).map_or(0, |t| t.turn);
            service.proofs(place, turn.unwrap_or(last))
        }
    }
}

/// A message over HTTP. Who comes without a token is given an open role's conversation, whose token is the protocol's session id.
pub async fn post(State(service): State<Arc<Service>>, bearer: Bearer, headers: HeaderMap, bytes: Bytes) -> Result<Response, ApiError> {
    let message: Value = match serde_json::from_slice(&bytes) {
        Ok(message) => message,
        Err(e) => return Ok((StatusCode::BAD_REQUEST, Json(error(&Value::Null, -32700, &e.to_string()))).into_response()),
    };
    let session = header_of(&headers, SESSION);
    let mut opened = None;
    let bearer = match (bearer, &session) {
        // Who does not know its session any more is told to begin anew: 404, as the protocol has it. An operator's token is no session.
        (Bearer::Nobody, Some(token)) => {
            service.afford(&Sender::only(token))?;
            let of = service.keys.bearer(token, service.now());
            let of = of.and_then(|of| if matches!(of, Bearer::Speaker(_)) { Ok(of) } else { Err(ApiError::unauthorised("this is no session")) });
            of.map_err(|e| ApiError { status: StatusCode::NOT_FOUND, ..e })?
        }
        (Bearer::Nobody, None) if text(&message, "/method") == Some("initialize") => {
            let role = service.open_roles().first().cloned().ok_or_else(|| ApiError::unauthorised("no role of this domain is open to anybody"))?;
            let site = service.config.sites.first().cloned().unwrap_or_default();
            let token = service.opened(&site, &super::access::random(12).map_err(|e| ApiError::internal(&e.to_string()))?, &role, &Bearer::Nobody);
            opened = text(&token, "/token").and_then(|t| HeaderValue::from_str(t).ok());
            Bearer::Nobody
        }
        (bearer, _) => bearer,
    };
    let mut response = match service.mcp(&bearer, &message).await {
        Some(answer) => Json(answer).into_response(),
        None => StatusCode::ACCEPTED.into_response(),
    };
    if let Some(session) = opened {
        response.headers_mut().insert(SESSION, session);
    }
    Ok(response)
}
