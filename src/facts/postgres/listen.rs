//! Hears from the database that a site's shared facts or its kb moved, on whichever node.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::broadcast::{Receiver, Sender, channel};
use tokio_postgres::{AsyncMessage, Config};

use super::Failing;
use super::link::{runtime, tls};
use crate::facts::{Moved, StoreError};

/// How long to wait before listening anew after the server was lost.
const PAUSE: Duration = Duration::from_secs(1);
/// How many moves a slow listener may be behind before it is told that it missed some.
const BEHIND: usize = 256;

/// The listeners of a store.
pub struct Moves {
    tell: Arc<Sender<Moved>>,
    begun: AtomicBool,
}

impl Default for Moves {
    fn default() -> Self {
        Self { tell: Arc::new(channel(BEHIND).0), begun: AtomicBool::new(false) }
    }
}

impl Moves {
    /// What is told from now on. The first listener has the server asked, until the store is gone.
    pub fn listen(&self, config: &Config, schema: &str) -> Receiver<Moved> {
        let heard = self.tell.subscribe();
        if let Ok(runtime) = runtime()
            && !self.begun.swap(true, Ordering::SeqCst)
        {
            let text = format!("LISTEN \"duologue_{}\"", schema.replace('"', "\"\""));
            runtime.spawn(listen_on(config.clone(), text, Arc::downgrade(&self.tell)));
        }
        heard
    }
}

async fn listen_on(config: Config, text: String, tell: Weak<Sender<Moved>>) {
    while tell.strong_count() > 0 {
        if let Err(e) = listen(&config, &text, &tell).await {
            tracing::warn!(error = ?e, "cannot hear of what other nodes change; trying again");
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn listen(config: &Config, text: &str, tell: &Weak<Sender<Moved>>) -> Result<(), Failing> {
    let tls = tls().map_err(|detail| StoreError::CannotOpen { file: "postgres".to_owned(), detail })?;
    let (client, mut connection) = config.connect(tls).await?;
    let (heard, mut messages) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(Ok(message)) = std::future::poll_fn(|cx| connection.poll_message(cx)).await {
            if let AsyncMessage::Notification(n) = message
                && heard.send(n.payload().to_owned()).is_err()
            {
                return;
            }
        }
    });
    client.batch_execute(text).await?;
    loop {
        // Now and then it looks whether the store is still there.
        let message = tokio::time::timeout(PAUSE, messages.recv()).await;
        let Some(tell) = tell.upgrade() else { return Ok(()) };
        match message {
            Ok(None) => return Ok(()),
            // Nobody may be listening at the moment.
            Ok(Some(payload)) => drop(read(&payload).map(|moved| tell.send(moved))),
            Err(_) => {}
        }
    }
}

/// The newest kb version, the revision of the shared facts, and the site.
fn read(payload: &str) -> Option<Moved> {
    let (head, rest) = payload.split_once(' ')?;
    let (revision, site) = rest.split_once(' ')?;
    Some(Moved { site: site.into(), kb_head: head.parse().ok()?, shared_revision: revision.parse().ok()? })
}
