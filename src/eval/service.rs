//! How the service does under load: one process of it or several on one database, turns that arrive when they are due whatever became of those before (an open loop),
//! and beside it, in the same run, a handler that does nothing.
//!
//! A turn's time is counted from when it was due, not from when it was sent, so that a service that stands still is seen to.

mod processors;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use hdrhistogram::Histogram;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::instant;
pub use processors::Processors;
use processors::Ticks;

/// Times are kept in microseconds, to three digits, up to an hour.
const LONGEST: u64 = 3_600_000_000;
/// Turns at once while the capacity is looked for.
const AT_ONCE: usize = 16;
/// How long it is looked for.
const LOOKING: Duration = Duration::from_secs(15);
/// A connection that was idle so long is not used again: the service closes it after twice that.
const IDLE: Duration = Duration::from_secs(5);
/// How often what goes on is told.
const TELLING: Duration = Duration::from_secs(10);
/// Sessions opened at once.
const OPENING: usize = 32;

/// What to measure with.
#[derive(Clone, Debug)]
pub struct Load {
    /// The program to start as a service.
    pub program: PathBuf,
    /// Its arguments after `serve`: domain, store, reasoner.
    pub arguments: Vec<String>,
    /// How many processes of it share its store; turns go to them one after the other.
    pub nodes: usize,
    /// How many sites are spoken with.
    pub sites: usize,
    /// Conversations at once.
    pub sessions: usize,
    /// Turns in the open loop.
    pub turns: usize,
    /// Turns a second; otherwise 60 % of the capacity, which is then looked for first.
    pub rate: Option<f64>,
    /// A model that takes so long, at the listening end; otherwise none.
    pub model: Option<Duration>,
    /// What is said, again and again.
    pub lines: Vec<String>,
}

/// A distribution of times in milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Times {
    /// How many.
    pub n: u64,
    /// Half are faster.
    pub p50: f64,
    /// 99 of 100 are faster.
    pub p99: f64,
    /// 999 of 1,000 are faster.
    pub p999: f64,
    /// The slowest.
    pub max: f64,
}

/// How the service did.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// Conversations at once.
    pub sessions: usize,
    /// Processes of the service.
    pub nodes: usize,
    /// Turns a second that it takes when it is always busy.
    pub capacity: Option<f64>,
    /// Who has the processors meanwhile.
    pub processors: Option<Processors>,
    /// Turns a second that were sent.
    pub rate: f64,
    /// Turns from when they were due until their reply was there.
    pub turns: Times,
    /// Requests that were not answered with a turn, by what was answered.
    pub errors: Vec<(String, usize)>,
    /// The handler that does nothing, at the same rate by the same client.
    pub empty: Times,
    /// Memory of the service's processes in KiB: without sessions, with all of them open, at its highest.
    pub memory_kib: [u64; 3],
    /// KiB that a session takes.
    pub kib_a_session: f64,
    /// All conversations take a turn at the same moment: from then until each had its reply.
    pub all_at_once: Option<Times>,
}

/// The processes of the service.
struct Nodes {
    all: Vec<Service>,
    /// The key that they sign tokens with, where they share one.
    tokens: Option<PathBuf>,
}

impl Nodes {
    fn start(load: &Load) -> Result<Self, String> {
        let tokens = (load.nodes > 1).then(|| std::env::temp_dir().join(format!("duologue-bench-{}.tokens", std::process::id())));
        let mut nodes = Self { all: vec![], tokens };
        for _ in 0..load.nodes.max(1) {
            let node = Service::start(load, nodes.tokens.as_deref())?;
            nodes.all.push(node);
        }
        Ok(nodes)
    }

    fn memory(&self, line: &str) -> u64 {
        self.all.iter().map(|node| node.memory(line)).sum()
    }

    fn ticks(&self) -> Option<Ticks> {
        Ticks::now(self.all.iter().map(|node| node.child.id()))
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        // The file may not have been made.
        self.tokens.iter().for_each(|file| drop(std::fs::remove_file(file)));
    }
}

/// A process of the service, ended with this value.
struct Service {
    child: Child,
    address: String,
}

impl Service {
    fn start(load: &Load, tokens: Option<&Path>) -> Result<Self, String> {
        let mut command = Command::new(&load.program);
        command.args(["serve", "--address", "127.0.0.1:0"]).args(&load.arguments);
        for n in 0..load.sites.max(1) {
            command.arg("--site").arg(site(n));
        }
        if let Some(tokens) = tokens {
            command.arg("--tokens").arg(tokens);
        }
        command.env_remove("DUOLOGUE_MODEL").env_remove("DUOLOGUE_MODEL_CONFIG");
        let mut config = String::new();
        if let Some(delay) = load.model {
            let model = instant::Instant::slow(delay).map_err(|e| e.to_string())?;
            // All may ask at once: what is measured is the service, not its patience with a model.
            config = json!({ "model": "slow", "api": "openai", "base_url": model.url(), "limits": { "concurrency": load.sessions.max(1) } }).to_string();
            command.args(["--understanding", "llm", "--model", "/dev/stdin"]);
        }
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = spawned.map_err(|e| format!("cannot start `{}`: {e}", load.program.display()))?;
        // Dropped, it ends: a program that reads it waits for no more.
        child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(config.as_bytes())).map_err(|e| e.to_string())?;
        let mut lines = child.stdout.take().map(BufReader::new).into_iter().flat_map(BufRead::lines).map_while(Result::ok);
        let address = lines.find_map(|line| line.strip_prefix("listening on ").map(str::to_owned));
        match address {
            Some(address) => Ok(Self { child, address }),
            None => Err("the service ended before it listened; what it said stands above".to_owned()),
        }
    }

    /// A line of what Linux tells of the process, in KiB; 0 elsewhere.
    fn memory(&self, line: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let found = status.lines().find_map(|l| l.strip_prefix(line));
        found.and_then(|l| l.split_whitespace().next()?.parse().ok()).unwrap_or(0)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The name of a site.
fn site(n: usize) -> String {
    format!("bench-{n}")
}

/// A conversation: its token, and how many turns it took.
struct Talk {
    path: String,
    token: String,
    turns: usize,
}

struct Client {
    http: reqwest::Client,
    addresses: Vec<String>,
    sites: usize,
    lines: Vec<String>,
    talks: Vec<Mutex<Option<Talk>>>,
}

impl Client {
    fn address(&self, at: usize) -> &str {
        self.addresses.get(at % self.addresses.len().max(1)).map(String::as_str).unwrap_or_default()
    }

    async fn open(&self, at: usize) -> Result<Talk, String> {
        let to = format!("{}/v1/sites/{}/sessions", self.address(at), site(at % self.sites));
        let answer = self.http.post(to).json(&json!({})).send().await.map_err(|e| e.to_string())?;
        let status = answer.status();
        let opened: Value = answer.json().await.map_err(|e| e.to_string())?;
        let text = |name: &str| opened.get(name).and_then(Value::as_str).map(str::to_owned).ok_or_else(|| format!("{status}: {opened}"));
        Ok(Talk { path: format!("/v1/sessions/{}/turns", text("session")?), token: text("token")?, turns: 0 })
    }

    /// The next turn of a conversation; one that ended is followed by a new one.
    async fn turn(&self, at: usize) -> Result<(), String> {
        let Some(place) = self.talks.get(at % self.talks.len().max(1)) else { return Ok(()) };
        let mut place = place.lock().await;
        let mut talk = match place.take() {
            Some(talk) => talk,
            None => self.open(at).await?,
        };
        let said = self.lines.get((at + talk.turns) % self.lines.len().max(1)).map(String::as_str).unwrap_or_default();
        let to = format!("{}{}", self.address(at + talk.turns), talk.path);
        let sent = self.http.post(to).bearer_auth(&talk.token).json(&json!({ "text": said, "request": format!("{at}-{}", talk.turns) }));
        talk.turns += 1;
        let answer = sent.send().await.map_err(|e| broken(&e))?;
        let status = answer.status();
        let turn: Value = answer.json().await.map_err(|e| e.to_string())?;
        if !status.is_success() {
            let code = turn.pointer("/error/code").and_then(Value::as_str).unwrap_or_default();
            *place = Some(talk);
            return Err(format!("{} {code}", status.as_u16()));
        }
        *place = turn.get("ended").is_none_or(Value::is_null).then_some(talk);
        Ok(())
    }
}

/// Why a request got no answer, in words that are the same for every session.
fn broken(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    if error.is_timeout() { "timed out".to_owned() } else { cause.to_string() }
}

/// Measures.
pub async fn measure(load: &Load, progress: &mut dyn FnMut(&str)) -> Result<Measured, String> {
    let nodes = Nodes::start(load)?;
    // rustls is built without a default provider; whoever comes first installs one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::builder()
        .timeout(Duration::from_secs(120))
        .pool_max_idle_per_host(load.sessions)
        .pool_idle_timeout(IDLE)
        .build()
        .map_err(|e| e.to_string())?;
    let talks = (0..load.sessions.max(1)).map(|_| Mutex::new(None)).collect();
    let addresses = nodes.all.iter().map(|node| node.address.clone()).collect();
    let client = Arc::new(Client { http: http.clone(), addresses, sites: load.sites.max(1), lines: load.lines.clone(), talks });
    // What is loaded once is no session's.
    let first = Instant::now();
    for at in 0..nodes.all.len() {
        client.turn(at).await?;
    }
    progress(&format!("first turn after {:.1} s", first.elapsed().as_secs_f64()));
    let before = nodes.memory("VmRSS:");
    let numbers: Vec<usize> = (nodes.all.len()..load.sessions).collect();
    for some in numbers.chunks(OPENING) {
        for done in join_all(some.iter().map(|at| client.turn(*at))).await {
            done?;
        }
    }
    let open = nodes.memory("VmRSS:");
    progress(&format!("{} sessions have taken a turn", load.sessions));
    let (all_at_once, capacity, processors) = match load.model {
        Some(_) => (Some(at_once(&client, load.sessions).await?), None, None),
        None if load.rate.is_some() => (None, None, None),
        None => {
            // An order that has just begun is decided faster than one that everything has been said of.
            progress("every session hears every line once");
            let all = load.sessions * load.lines.len();
            busy(&client, move |sent, _| sent < all).await?;
            progress(&format!("looking for the capacity for {} s", LOOKING.as_secs()));
            let before = nodes.ticks();
            let capacity = busy(&client, |_, since| since < LOOKING).await?;
            (None, Some(capacity), before.zip(nodes.ticks()).map(|(before, after)| after.since(&before)))
        }
    };
    let rate = load.rate.or(capacity.map(|c| c * 0.6)).unwrap_or(100.0).max(0.1);
    progress(&format!("{} turns at {rate:.0} a second: {:.0} s", load.turns, load.turns as f64 / rate));
    let sender = client.clone();
    let send = move |at| {
        let client = sender.clone();
        async move { client.turn(at).await }
    };
    let (turns, errors) = open_loop(load.turns, rate, progress, send).await?;
    progress("the same client against a handler that does nothing");
    let empty = empty(&http, load.turns.min(10_000), rate).await?;
    let memory_kib = [before, open, nodes.memory("VmHWM:")];
    let kib_a_session = open.saturating_sub(before) as f64 / load.sessions.max(1) as f64;
    Ok(Measured { sessions: load.sessions, nodes: nodes.all.len(), capacity, processors, rate, turns, errors, empty, memory_kib, kib_a_session, all_at_once })
}

/// Turns a second when the next one is sent as soon as one is answered, while there are more to send.
async fn busy(client: &Arc<Client>, more: impl Fn(usize, Duration) -> bool + Copy + Send + 'static) -> Result<f64, String> {
    let (next, begun) = (Arc::new(AtomicUsize::new(0)), Instant::now());
    let workers = (0..AT_ONCE).map(|_| {
        let (client, next) = (client.clone(), next.clone());
        tokio::spawn(async move {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                if !more(at, begun.elapsed()) {
                    return Ok::<(), String>(());
                }
                client.turn(at).await?;
            }
        })
    });
    for worker in join_all(workers).await {
        worker.map_err(|e| e.to_string())??;
    }
    // Each worker drew one number that it did not send.
    Ok(next.load(Ordering::Relaxed).saturating_sub(AT_ONCE) as f64 / begun.elapsed().as_secs_f64().max(f64::EPSILON))
}

/// Every conversation takes a turn at the same moment.
async fn at_once(client: &Arc<Client>, sessions: usize) -> Result<Times, String> {
    let sender = client.clone();
    let send = move |at| {
        let client = sender.clone();
        async move { client.turn(at).await }
    };
    let (times, errors) = open_loop(sessions, f64::INFINITY, &mut |_| {}, send).await?;
    if errors.is_empty() { Ok(times) } else { Err(format!("{errors:?}")) }
}

/// Sends each request when it is due, and counts from then.
async fn open_loop<F>(n: usize, rate: f64, progress: &mut dyn FnMut(&str), send: impl Fn(usize) -> F) -> Result<(Times, Vec<(String, usize)>), String>
where
    F: Future<Output = Result<(), String>> + Send + 'static,
{
    let begun = tokio::time::Instant::now();
    let (mut sent, mut told_at) = (Vec::with_capacity(n), begun);
    for at in 0..n {
        if told_at.elapsed() > TELLING {
            told_at = tokio::time::Instant::now();
            let open = sent.iter().filter(|s: &&tokio::task::JoinHandle<_>| !s.is_finished()).count();
            progress(&format!("{at} of {n} sent, {open} of them not answered yet"));
        }
        let due = begun + Duration::from_secs_f64(if rate.is_finite() { at as f64 / rate } else { 0.0 });
        tokio::time::sleep_until(due).await;
        let request = send(at);
        sent.push(tokio::spawn(async move { (request.await, due.elapsed()) }));
    }
    let mut times = histogram()?;
    let mut errors = std::collections::BTreeMap::<String, usize>::new();
    for request in sent {
        let (answer, took) = request.await.map_err(|e| e.to_string())?;
        times.saturating_record(u64::try_from(took.as_micros()).unwrap_or(LONGEST));
        if let Err(e) = answer {
            *errors.entry(e).or_default() += 1;
        }
    }
    Ok((told(&times), errors.into_iter().collect()))
}

/// The same client against a handler that does nothing.
async fn empty(http: &reqwest::Client, n: usize, rate: f64) -> Result<Times, String> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.map_err(|e| e.to_string())?;
    let address = format!("http://{}/", listener.local_addr().map_err(|e| e.to_string())?);
    let nothing = axum::Router::new().route("/", axum::routing::post(|_: axum::body::Bytes| async { "{}" }));
    let serving = tokio::spawn(async move { axum::serve(listener, nothing).await });
    let http = http.clone();
    let (times, errors) = open_loop(n, rate, &mut |_| {}, move |_| {
        let sent = http.post(&address).json(&json!({ "text": "nothing" })).send();
        async move { sent.await.map(|_| ()).map_err(|e| e.to_string()) }
    })
    .await?;
    serving.abort();
    if errors.is_empty() { Ok(times) } else { Err(format!("{errors:?}")) }
}

fn histogram() -> Result<Histogram<u64>, String> {
    Histogram::new_with_bounds(1, LONGEST, 3).map_err(|e| e.to_string())
}

fn told(times: &Histogram<u64>) -> Times {
    let at = |share| times.value_at_quantile(share) as f64 / 1e3;
    Times { n: times.len(), p50: at(0.5), p99: at(0.99), p999: at(0.999), max: times.max() as f64 / 1e3 }
}

impl std::fmt::Display for Times {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "p50 {:.1} ms, p99 {:.1} ms, p99.9 {:.1} ms, slowest {:.1} ms", self.p50, self.p99, self.p999, self.max)
    }
}

impl std::fmt::Display for Measured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(capacity) = self.capacity {
            writeln!(
                f,
                "capacity      {capacity:.0} turns a second, {} of the service",
                if self.nodes == 1 { "1 process".to_owned() } else { format!("{} processes", self.nodes) }
            )?;
        }
        if let Some(processors) = &self.processors {
            writeln!(f, "processors    {processors}")?;
        }
        if let Some(times) = &self.all_at_once {
            writeln!(f, "all at once   {} sessions: {times}", self.sessions)?;
        }
        writeln!(f, "open loop     {} turns at {:.0} a second: {}", self.turns.n, self.rate, self.turns)?;
        writeln!(f, "empty handler {} requests at the same rate: {}", self.empty.n, self.empty)?;
        let [before, open, most] = self.memory_kib.map(|kib| kib as f64 / 1024.0);
        writeln!(
            f,
            "memory        {before:.0} MiB, with {} sessions {open:.0} MiB ({:.0} KiB each), at most {most:.0} MiB",
            self.sessions, self.kib_a_session
        )?;
        let errors: usize = self.errors.iter().map(|e| e.1).sum();
        write!(f, "errors        {errors}")?;
        self.errors.iter().try_for_each(|(what, n)| write!(f, "\n  {n} times {what}"))
    }
}
