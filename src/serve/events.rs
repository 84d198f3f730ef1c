//! What happens at a site, as it happens: shared facts and the menu for everybody there, turns for those whose they are or who may read all.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::sync::broadcast::{self, error::RecvError};

use super::Service;
use super::access::{Bearer, token_of};
use super::error::ApiError;
use super::turns::event;
use crate::facts::{Change, Moved};
use crate::ontology::Scope;
use crate::turn::TurnRecord;

/// How many events wait for a slow reader; one that falls behind is told so and reads the facts again.
const BACKLOG: usize = 256;
/// How many times as many streams as a session's token an operator's may have.
const SCREENS: usize = 8;

/// Something that happened.
#[derive(Clone, Debug)]
struct Happened {
    name: &'static str,
    session: String,
    /// For everybody at the site, or only for the session's own and for who may read all.
    public: bool,
    data: Value,
}

/// Who listens, by site.
#[derive(Default)]
pub struct Events {
    sites: Mutex<BTreeMap<String, broadcast::Sender<Happened>>>,
}

impl Events {
    fn of(&self, site: &str) -> broadcast::Sender<Happened> {
        let mut sites = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
        sites.retain(|name, sender| sender.receiver_count() > 0 || name == site);
        sites.entry(site.to_owned()).or_insert_with(|| broadcast::channel(BACKLOG).0).clone()
    }

    /// The site's listeners, if there are any.
    fn listening(&self, site: &str) -> Option<broadcast::Sender<Happened>> {
        self.sites.lock().unwrap_or_else(PoisonError::into_inner).get(site).cloned()
    }

    /// Tells that shared facts or the menu moved, on whichever node.
    fn moved(&self, moved: &Moved) {
        if let Some(site) = self.listening(&moved.site) {
            let data = json!({ "kb_version": moved.kb_head, "shared_revision": moved.shared_revision });
            let _ = site.send(Happened { name: "moved", session: String::new(), public: true, data });
        }
    }

    /// Tells of a turn that was taken.
    pub fn turn(&self, record: &TurnRecord) {
        let Some(site) = self.listening(&record.site) else { return };
        let changed: Vec<&Change> = record.effects.iter().filter(|c| c.scope != Scope::Session).collect();
        if !changed.is_empty() {
            let data = json!({ "changes": changed, "role": record.role, "turn": record.turn, "at": record.at });
            let _ = site.send(Happened { name: "facts", session: record.session.clone(), public: true, data });
        }
        let data = json!({ "session": record.session, "role": record.role, "turn": record.turn, "said": record.said, "predicates": record.predicates,
            "text": record.text, "ended": record.ended, "at": record.at });
        let _ = site.send(Happened { name: "turn", session: record.session.clone(), public: false, data });
    }
}

/// Hands on what the store tells of other nodes, until the service ends.
pub async fn hear(service: Arc<Service>) {
    let Some(moves) = service.engine.store().moves() else { return };
    let all = stream::unfold(moves, |mut moves| async move {
        match moves.recv().await {
            Ok(moved) => Some((Some(moved), moves)),
            Err(RecvError::Lagged(_)) => Some((None, moves)),
            Err(RecvError::Closed) => None,
        }
    });
    let told = all.for_each(|moved| {
        moved.iter().for_each(|moved| service.events.moved(moved));
        std::future::ready(())
    });
    tokio::select! {
        () = told => {}
        () = service.stopped() => {}
    }
}

/// A stream of what happens at a site; it ends when its token does.
pub async fn events(State(service): State<Arc<Service>>, bearer: Bearer, headers: HeaderMap, Path(site): Path<String>) -> Result<Response, ApiError> {
    bearer.of_site(&site)?;
    let token = token_of(&headers)?.unwrap_or_default().to_owned();
    // A token of an operator may stand on many screens.
    let (own, all, most) = match &bearer {
        Bearer::Speaker(c) => (c.session.clone(), false, service.config.session_queue),
        _ => (String::new(), bearer.observes(), SCREENS * service.config.session_queue),
    };
    service.serves(&site)?;
    let crowded = || ApiError { message: "too many streams of this token are open".to_owned(), ..ApiError::busy() };
    let one = service.under_way.enter(&format!("stream {}", super::access::hash(&token)), most).ok_or_else(crowded)?;
    let receiver = service.events.of(&site).subscribe();
    let sees = move |h: &Happened| h.public || all || h.session == own;
    let first = stream::iter([event("hello", &json!({ "site": site }))]);
    let stopped = service.stopped();
    let holds = move || service.keys.bearer(&token, service.now()).is_ok();
    let rest = stream::unfold((receiver, sees, holds, one), |(mut receiver, sees, holds, one)| async move {
        loop {
            let told: Result<Event, _> = match receiver.recv().await {
                _ if !holds() => return None,
                Ok(h) if sees(&h) => event(h.name, &h.data),
                Ok(_) => continue,
                Err(RecvError::Lagged(missed)) => event("missed", &json!({ "events": missed })),
                Err(RecvError::Closed) => return None,
            };
            return Some((told, (receiver, sees, holds, one)));
        }
    });
    Ok(Sse::new(first.chain(rest).take_until(stopped)).keep_alive(KeepAlive::default()).into_response())
}
