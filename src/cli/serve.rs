//! `duologue serve`: conversations over HTTP.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::common::{Calls, Failure, Listen, Place};
use crate::serve::access::{Keys, New};
use crate::serve::{Config, Connections, Rates, Service, serve};

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
    /// A name that the service is called by, beside the loopback's; may be given several times. Needed where it listens on the loopback behind a
    /// proxy that hands names on.
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    /// An origin whose pages may ask from a browser; may be given several times.
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,
    /// A proxy of one's own stands before it: requests come from where its X-Forwarded-For says.
    #[arg(long)]
    behind_proxy: bool,
    /// Threads that decide, and read and write the store; otherwise four a processor.
    #[arg(long)]
    threads: Option<usize>,
    /// How many requests may be under way, those included that wait for a model or a function; more are told to come back.
    #[arg(long, default_value_t = 4096)]
    queue: usize,
    /// How many connections there may be at once.
    #[arg(long, default_value_t = 4096)]
    connections: usize,
    /// How many requests a second a token may send, with five times that at once; an address may send two and a half times that. 0: as many as it likes.
    #[arg(long, default_value_t = 20)]
    rate: u32,
    /// How long running requests have to finish when the service is asked to end, in seconds.
    #[arg(long, default_value_t = 20)]
    drain: u64,
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
    let usual = Config::default();
    let config = Config {
        listen: a.address,
        sites,
        rule: a.place.rule(),
        threads: a.threads.unwrap_or(usual.threads),
        queue: a.queue.max(1),
        connections: Connections { most: a.connections.max(1), drain: Duration::from_secs(a.drain), ..usual.connections },
        rates: Rates::of(a.rate),
        hosts: a.host.clone(),
        origins: a.allow_origin.clone(),
        proxy: a.behind_proxy,
        #[cfg(feature = "otel")]
        traces: crate::serve::traces::Collector::from_env(|name| std::env::var(name).ok()),
        ..usual
    };
    let service = Service::new(engine, keys, config)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let ready = |at: SocketAddr| {
        say(&format!("listening on http://{at}"));
        for (role, token) in &tokens {
            say(&format!("token for {role}, for a day: {token}"));
        }
        // The part after # stays in the browser; the console keeps it and opens the other side with it.
        match tokens.first() {
            Some((role, token)) => say(&format!("console, with {role}'s side: http://{at}/#token={token}")),
            None => say(&format!("console: http://{at}/")),
        }
    };
    let finished = runtime.block_on(serve(service, ready, asked_to_end()))?;
    say(if finished { "ended" } else { "ended; some requests did not finish in time and can be sent again" });
    Ok(true)
}

/// A line for whoever started the service. It serves on when nobody reads it any more.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
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
