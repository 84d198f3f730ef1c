//! One socket a conversation: what is said comes in frame by frame, sentences and turns go out, by the rules that hold for one request each.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout, timeout_at};

use super::Service;
use super::access::token_of;
use super::edge::Sender;
use super::error::ApiError;
use super::limits::Underway;
use super::listen::Held;
use super::turns::{Say, Told};

/// What is spoken on a socket. A page can send its token in no header but the one that names protocols: as a second name with this beginning.
const PROTOCOL: &str = "duologue";
const BEARER: &str = "bearer.";
/// How long a frame may take to be sent: who does not read is left.
const SLOW: Duration = Duration::from_secs(10);

/// Who speaks on a socket, and what it holds as long as it is open.
struct Speaker {
    session: String,
    token: String,
    from: Sender,
    _one_of_the_session: Underway,
    _connection: Option<Extension<Held>>,
}

/// Opens a socket for who may speak in the conversation.
pub async fn open(
    State(service): State<Arc<Service>>,
    Path(session): Path<String>,
    Extension(from): Extension<Sender>,
    connection: Option<Extension<Held>>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    let protocols = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|v| v.to_str().ok()).flat_map(|v| v.split(','));
    let mut named = protocols.filter_map(|p| p.trim().strip_prefix(BEARER));
    let (token, from) = match (token_of(&headers)?, named.next(), named.next()) {
        (Some(token), None, _) => (token.to_owned(), from),
        (None, Some(token), None) => (token.to_owned(), from.with(token)),
        (None, None, _) => return Err(ApiError::unauthorised("this needs the token that the session was opened with")),
        _ => return Err(ApiError::unauthorised("two tokens")),
    };
    service.speaking(&service.keys.bearer(&token, service.now())?, &session)?;
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(e) => return Ok(e.into_response()),
    };
    let crowded = || ApiError { message: "too many sockets of this session are open".to_owned(), ..ApiError::busy() };
    let one = service.under_way.enter(&format!("socket {session}"), service.config.session_queue).ok_or_else(crowded)?;
    let speaker = Speaker { session, token, from, _one_of_the_session: one, _connection: connection };
    let most = service.config.body;
    Ok(upgrade.protocols([PROTOCOL]).max_message_size(most).max_frame_size(most).on_upgrade(|socket| talk(service, socket, speaker)))
}

/// Answers frame by frame until one side ends it.
async fn talk(service: Arc<Service>, mut socket: WebSocket, speaker: Speaker) {
    let mut stopped = pin!(service.stopped());
    let quiet = service.config.connections.quiet;
    let mut until = Instant::now() + quiet;
    let (code, reason) = loop {
        let frame = tokio::select! {
            frame = timeout_at(until, socket.recv()) => frame,
            () = &mut stopped => break (close_code::AWAY, "the service is about to end"),
        };
        let frame = match frame {
            Err(_) => break (close_code::NORMAL, "nothing was said for a long time"),
            Ok(None | Some(Ok(Message::Close(_)))) => return,
            Ok(Some(Err(_))) => break (close_code::PROTOCOL, "this is no frame, or too large a one"),
            Ok(Some(Ok(frame))) => frame,
        };
        let text = match (service.may_go_on(&speaker), frame) {
            (Err(e), _) if e.status == StatusCode::UNAUTHORIZED => break (close_code::POLICY, "the token does not hold any more"),
            (Err(e), Message::Text(_)) => {
                if !send(&mut socket, told(None, &Told::Failed(e))).await {
                    return;
                }
                continue;
            }
            (Err(_), _) => break (close_code::POLICY, "too many frames"),
            (Ok(()), Message::Text(text)) => text,
            (Ok(()), Message::Binary(_)) => break (close_code::UNSUPPORTED, "a frame is text"),
            (Ok(()), _) => continue,
        };
        if !service.answer(&mut socket, &speaker, text.into()).await {
            return;
        }
        until = Instant::now() + quiet;
    };
    let end = Message::Close(Some(CloseFrame { code, reason: reason.into() }));
    let _ = timeout(SLOW, socket.send(end)).await;
}

impl Service {
    /// Every frame is a request: it takes from its sender's shares, and its token must still hold.
    fn may_go_on(&self, speaker: &Speaker) -> Result<(), ApiError> {
        self.keys.bearer(&speaker.token, self.now())?;
        self.afford(&speaker.from)
    }

    /// Takes one turn and tells of it; whether the other side still listens.
    async fn answer(self: &Arc<Self>, socket: &mut WebSocket, speaker: &Speaker, frame: axum::body::Bytes) -> bool {
        let placed = Say::of(&frame, None).and_then(|say| {
            let bearer = self.keys.bearer(&speaker.token, self.now())?;
            Ok((self.speaking(&bearer, &speaker.session)?, say))
        });
        let (place, say) = match placed {
            Ok(placed) => placed,
            Err(e) => return send(socket, told(None, &Told::Failed(e))).await,
        };
        let request = say.request.clone();
        let mut all = pin!(self.told(place, say));
        while let Some(one) = all.next().await {
            if !send(socket, told(request.as_deref(), &one)).await {
                return false;
            }
        }
        true
    }
}

/// A frame of what is told, as a stream of events would have it, with the request that it answers.
fn told(request: Option<&str>, told: &Told) -> Value {
    match told {
        Told::Sentence(text) => json!({ "event": "sentence", "request": request, "data": { "text": text } }),
        Told::Done(turn) => json!({ "event": "turn", "request": request, "data": turn }),
        Told::Failed(e) => {
            json!({ "event": "error", "request": request, "status": e.status.as_u16(), "retry_after": e.retry_after, "data": e.shown() })
        }
    }
}

async fn send(socket: &mut WebSocket, frame: Value) -> bool {
    matches!(timeout(SLOW, socket.send(Message::Text(frame.to_string().into()))).await, Ok(Ok(())))
}
