//! `duologue serve`: conversations over HTTP.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::common::{Calls, Failure, Listen, Place};
use crate::serve::access::{Keys, New};
use crate::serve::{Config, Service, serve};

/// Arguments of `serve`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  duologue serve --demo\n  duologue serve --store shop.db --site main --site airport\n  duologue serve --flow bank_balance\n\nThe addresses stand in docs/service.md. Roles that change nothing for others are open to anybody; for the others make a token with `duologue token new`."
)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    listen: Listen,
    #[command(flatten)]
    calls: Calls,
    /// Where to listen. Port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:8080", value_name = "ADDRESS:PORT")]
    address: SocketAddr,
    /// A site that is served beside those in the store; may be given several times. Otherwise `main`, and of a flow the one that bears its name.
    #[arg(long)]
    site: Vec<String>,
    /// The file of tokens; otherwise beside the store, or for a store in memory none that outlives the process.
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    /// Make a token of a day for every role that needs one, and print it.
    #[arg(long)]
    demo: bool,
}

/// The file of tokens that belongs to a store.
pub fn tokens_of(given: Option<&PathBuf>, place: &Place) -> Option<PathBuf> {
    given.cloned().or_else(|| (place.store != ":memory:" && !place.store.contains("://")).then(|| PathBuf::from(format!("{}.tokens", place.store))))
}

/// Serves until the process is asked to end.
pub fn run(a: &Arguments) -> Result<bool, Failure> {
    let engine = a.calls.connect(a.listen.equip(a.place.engine()?)?)?;
    let sites = if a.site.is_empty() { vec![a.place.site(None, engine.domain())] } else { a.site.clone() };
    let told = |e: &dyn std::fmt::Display| Failure::Other(e.to_string());
    let keys = match tokens_of(a.tokens.as_ref(), &a.place) {
        Some(file) => Keys::open(&file),
        None => Keys::in_memory(),
    };
    let keys = keys.map_err(|e| told(&e))?;
    let mut tokens = vec![];
    if a.demo {
        let now = engine.options().clock.now();
        let (domain, site) = (engine.domain(), sites.first().cloned().unwrap_or_default());
        for role in domain.ontology.roles.keys().filter(|r| !domain.ontology.is_for_anybody(r)) {
            let new = New { site: site.clone(), role: role.to_string(), observe: true, millis: 86_400_000, note: "demo".to_owned() };
            let (_, token) = keys.make(new, now).map_err(|e| told(&e))?;
            tokens.push((role.to_string(), token));
        }
    }
    let config = Config { listen: a.address, sites, rule: a.place.rule(), ..Config::default() };
    let service = Service::new(engine, keys, config);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let ready = |at: SocketAddr| {
        println!("listening on http://{at}");
        for (role, token) in &tokens {
            println!("token for {role}, for a day: {token}");
        }
        // The part after # stays in the browser; the console keeps it and opens the other side with it.
        if let Some((role, token)) = tokens.first() {
            println!("console, with {role}'s side: http://{at}/#token={token}");
        } else {
            println!("console: http://{at}/");
        }
    };
    runtime.block_on(serve(service, ready, asked_to_end()))?;
    Ok(true)
}

/// Ctrl-C, or the signal by which systems end a service.
async fn asked_to_end() {
    #[cfg(unix)]
    if let Ok(mut ended) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        tokio::select! {
            _ = ended.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
        return;
    }
    let _ = tokio::signal::ctrl_c().await;
}
