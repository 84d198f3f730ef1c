//! What one sender, one session and one slow model may take, and how the service ends.

use std::sync::Arc;
use std::time::{Duration, Instant};

use duologue::serve::access::Keys;
use duologue::serve::limits::Rate;
use duologue::serve::{Config, Rates};
use duologue::understand::{Context, Heard, Understand};
use duologue::wait::{block_on, pause};
use futures_util::future::{BoxFuture, join_all};
use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::server::{Server, engine, start_as, start_with, token};

/// A listener that thinks for a while, as a model does; at the airport it is quick.
struct Slow(Duration);

impl Understand for Slow {
    fn understand(&self, text: &str, context: &Context) -> Heard {
        block_on(self.hearing(text, context))
    }

    fn hearing<'a>(&'a self, _: &'a str, context: &'a Context) -> BoxFuture<'a, Heard> {
        Box::pin(async move {
            if context.conversation.site != "airport" {
                pause(self.0).await;
            }
            let predicates = vec![duologue::term::Atom::parse("order(\"Soft Taco\",1)").unwrap()];
            Heard { predicates, confidence: 1.0, by: "slow", ..Heard::default() }
        })
    }
}

fn slow(millis: u64) -> duologue::turn::Engine {
    engine().with_understand(Arc::new(Slow(Duration::from_millis(millis))))
}

fn free() -> Config {
    Config { rates: Rates::of(0), ..Config::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_model_of_one_site_slows_no_other() {
    let server = Arc::new(start_with(slow(3_000), free()).await);
    let mut open = vec![];
    for _ in 0..30 {
        open.push(server.open("main", "customer", "").await);
    }
    let quick = server.open("airport", "customer", "").await;
    let began = Instant::now();
    let turns: Vec<_> = open
        .into_iter()
        .map(|session| {
            let server = server.clone();
            tokio::spawn(async move { server.say(&session, "a taco").await["turn"].as_u64() })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(300)).await;
    server.say(&quick, "a taco").await;
    assert!(began.elapsed() < Duration::from_millis(2_900), "the other site waited: {:?}", began.elapsed());
    for turn in turns {
        assert_eq!(turn.await.unwrap(), Some(1));
    }
    // One after the other would take a minute and a half.
    assert!(began.elapsed() < Duration::from_secs(25), "{:?}", began.elapsed());
}

/// A number that Linux tells of this process.
fn of_process(line: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|l| l.strip_prefix(line)?.split_whitespace().next()?.parse().ok())
}

/// As many as a process with 1,024 descriptors can hold both ends of; `bench service --model-ms 800` does it with 1,000.
const WAITING: usize = 400;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turns_that_wait_for_a_model_hold_no_thread_and_none_is_refused() {
    let server = start_with(slow(4_000), Config { threads: 2, ..free() }).await;
    let mut open = vec![];
    for n in 0..WAITING {
        open.push(server.open(["main", "airport"][usize::from(n == 0)], "customer", "").await);
    }
    let before = of_process("Threads:");
    let began = Instant::now();
    let quick = async {
        tokio::time::sleep(Duration::from_millis(2_000)).await;
        let during = of_process("Threads:");
        server.say(&open[0], "a taco").await;
        (began.elapsed(), during)
    };
    let all = join_all(open[1..].iter().map(|session| server.say(session, "a taco")));
    let (turns, (quick, during)) = tokio::join!(all, quick);
    assert!(turns.iter().all(|turn| turn["turn"] == 1), "each was taken");
    assert!(quick < Duration::from_millis(3_800), "who has no model to wait for waited: {quick:?}");
    // One after the other on two threads would take a quarter of an hour.
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    if let (Some(before), Some(during)) = (before, during) {
        assert!(during <= before + 8, "{during} threads while {WAITING} wait, {before} before");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_of_a_session_come_in_order_and_too_many_are_told_to_come_back() {
    let server = Arc::new(start_with(slow(1_500), Config { session_queue: 4, ..free() }).await);
    let session = server.open("main", "customer", "").await;
    let mut sent = vec![];
    for n in 0..6 {
        let (server, (id, token)) = (server.clone(), session.clone());
        sent.push(tokio::spawn(async move {
            let request = server.client.post(format!("http://{}/v1/sessions/{id}/turns", server.at)).bearer_auth(token);
            let response = request.body(json!({ "text": "a taco", "request": format!("r{n}") }).to_string()).send().await.unwrap();
            let again = response.headers().get("retry-after").and_then(|v| v.to_str().ok()).map(str::to_owned);
            let status = response.status();
            (status, again, serde_json::from_str::<serde_json::Value>(&response.text().await.unwrap()).unwrap())
        }));
        tokio::time::sleep(Duration::from_millis(150)).await;
    }
    let mut taken = vec![];
    for (n, answer) in sent.into_iter().enumerate() {
        let (status, again, body) = answer.await.unwrap();
        if n < 4 {
            assert_eq!(status, StatusCode::OK, "{body}");
            taken.push(body["turn"].as_u64().unwrap());
        } else {
            assert_eq!((status, again.as_deref()), (StatusCode::TOO_MANY_REQUESTS, Some("1")), "{body}");
        }
    }
    assert_eq!(taken, [1, 2, 3, 4]);
}

/// A service where each token has three requests, and an address what is given.
async fn start_of_three(address: Rate) -> Server {
    let rates = Rates { bearer: Rate { per_second: 0.01, burst: 3.0 }, address, loopback: true };
    start_with(engine(), Config { rates, ..Config::default() }).await
}

#[tokio::test(flavor = "multi_thread")]
async fn each_sender_has_its_rate_and_the_service_its_queue() {
    let server = start_of_three(Rate { per_second: 0.01, burst: 12.0 }).await;
    let (id, token) = server.open("main", "customer", "").await;
    let mut last = StatusCode::OK;
    for _ in 0..4 {
        last = server.send(Method::GET, &format!("/v1/sessions/{id}"), &token, None).await.0;
    }
    assert_eq!(last, StatusCode::TOO_MANY_REQUESTS, "this token has had its share");
    let (_, other) = server.open("main", "customer", "").await;
    assert_eq!(server.send(Method::GET, "/v1/sites/main/facts", &other, None).await.0, StatusCode::OK, "another one has not");
    let mut statuses = vec![];
    for _ in 0..8 {
        statuses.push(server.send(Method::GET, "/v1/agents", "", None).await.0);
    }
    assert_eq!(statuses.last(), Some(&StatusCode::TOO_MANY_REQUESTS), "this address has had its share");

    let server = Arc::new(start_with(slow(1_500), Config { queue: 1, ..free() }).await);
    let session = server.open("main", "customer", "").await;
    let waiting = tokio::spawn({
        let server = server.clone();
        async move { server.say(&session, "a taco").await }
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    let (status, _) = server.send(Method::GET, "/readyz", "", None).await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS, "one is under way, and no more may be");
    waiting.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_end_a_turn_under_way_is_answered_and_streams_close() {
    let mut server = start_with(slow(1_000), free()).await;
    let (id, token) = server.open("main", "customer", "").await;
    let url = format!("http://{}/v1/sessions/{id}/turns", server.at);
    let reply = tokio::spawn(server.client.post(url).bearer_auth(&token).body(r#"{"text":"a taco"}"#).send());
    let events = server.client.get(format!("http://{}/v1/sites/main/events", server.at)).bearer_auth(&token).send().await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    server.stop.take().unwrap().send(()).unwrap();
    assert_eq!(reply.await.unwrap().unwrap().status(), StatusCode::OK);
    let _ = tokio::time::timeout(Duration::from_secs(5), events.text()).await.expect("the stream of events ends");
    assert!((&mut server.ended).await.unwrap(), "everything finished in time");
    assert!(server.client.get(format!("http://{}/healthz", server.at)).send().await.is_err(), "nobody listens any more");
}

/// Slow to send its head, or its body: neither holds the service, and a connection that says nothing is closed.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_client_is_closed() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let connections = duologue::serve::Connections { head: Duration::from_millis(500), ..Default::default() };
    let server = start_with(engine(), Config { connections, ..free() }).await;
    let mut slow = tokio::net::TcpStream::connect(server.at).await.unwrap();
    slow.write_all(b"GET /healthz HTT").await.unwrap();
    let mut rest = vec![];
    let closed = tokio::time::timeout(Duration::from_secs(10), slow.read_to_end(&mut rest)).await;
    assert!(closed.is_ok(), "the connection was left open");
    assert!(!String::from_utf8_lossy(&rest).starts_with("HTTP/1.1 200"));
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_kept_as_hashes_rotated_and_revoked_while_the_service_runs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokens");
    let keys = Keys::open(&file).unwrap();
    let (id, secret) = token(&keys, "main", true, 3_600_000);
    let text = std::fs::read_to_string(&file).unwrap();
    // What is secret of a token may hold the sign that parts the two.
    let own = secret.split_once(&format!("{id}_")).unwrap().1;
    assert!(text.contains(&id) && own.len() > 20 && !text.contains(own), "{text}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let server = start_as(engine(), free(), Keys::open(&file).unwrap(), secret.clone(), String::new()).await;
    let manager = server.open("main", "manager", &secret).await;
    server.say(&manager, "we are out of lettuce").await;
    // Another process changes the file; some file systems count modification times in hundredths.
    tokio::time::sleep(Duration::from_millis(20)).await;
    let rotated = Keys::open(&file).unwrap().rotate(&id).unwrap();
    assert_eq!(server.send(Method::GET, "/v1/sites/main/facts", &secret, None).await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(server.send(Method::GET, "/v1/sites/main/facts", &rotated, None).await.0, StatusCode::OK);
    let path = format!("/v1/sessions/{}", manager.0);
    assert_eq!(server.send(Method::GET, &path, &manager.1, None).await.0, StatusCode::OK, "the session goes on: its token is the same one");
    tokio::time::sleep(Duration::from_millis(20)).await;
    Keys::open(&file).unwrap().revoke(&id).unwrap();
    for token in [&rotated, &manager.1] {
        assert_eq!(server.send(Method::GET, &path, token, None).await.0, StatusCode::UNAUTHORIZED);
    }
}

/// A token has its share by what it is, not by how it is written or where it stands.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_has_one_share_however_it_is_sent() {
    let server = start_of_three(Rate { per_second: 100.0, burst: 1000.0 }).await;
    let (id, token) = server.open("main", "customer", "").await;
    let url = format!("http://{}/v1/sessions/{id}", server.at);
    let mut last = StatusCode::OK;
    for written in ["Bearer ", "bearer ", "Bearer  ", "Bearer    "] {
        last = server.client.get(&url).header("authorization", format!("{written}{token}")).send().await.unwrap().status();
    }
    assert_eq!(last, StatusCode::TOO_MANY_REQUESTS);
    let (_, token) = server.open("main", "customer", "").await;
    for _ in 0..4 {
        let tools = server.client.post(format!("http://{}/mcp", server.at)).header("mcp-session-id", &token);
        last = tools.body(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).send().await.unwrap().status();
    }
    assert_eq!(last, StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_with_its_token_and_a_token_has_but_so_many() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokens");
    let (id, manager) = token(&Keys::open(&file).unwrap(), "main", true, 3_600_000);
    let server = start_as(engine(), free(), Keys::open(&file).unwrap(), manager, String::new()).await;
    let listen = |token: &str| server.client.get(format!("http://{}/v1/sites/main/events", server.at)).bearer_auth(token).send();
    let watched = listen(&server.manager).await.unwrap();
    let customer = server.open("main", "customer", "").await;
    server.say(&customer, "a taco").await;
    // Some file systems count modification times in hundredths.
    tokio::time::sleep(Duration::from_millis(20)).await;
    Keys::open(&file).unwrap().revoke(&id).unwrap();
    server.say(&customer, "a burrito").await;
    let seen = tokio::time::timeout(Duration::from_secs(10), watched.text()).await.expect("the stream goes on after its token ended").unwrap();
    assert!(seen.contains("a taco") && !seen.contains("a burrito"), "{seen}");

    let mut open = vec![];
    for _ in 0..Config::default().session_queue {
        open.push(listen(&customer.1).await.unwrap());
    }
    assert!(open.iter().all(|stream| stream.status() == StatusCode::OK));
    assert_eq!(listen(&customer.1).await.unwrap().status(), StatusCode::TOO_MANY_REQUESTS);
    drop(open);
    // That a reader went away is seen when something is written to it.
    server.say(&customer, "a pepsi").await;
    let mut status = StatusCode::TOO_MANY_REQUESTS;
    for _ in 0..100 {
        status = listen(&customer.1).await.unwrap().status();
        if status == StatusCode::OK {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(status, StatusCode::OK, "streams that ended make room");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_has_a_share_of_the_connections() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let connections = duologue::serve::Connections { most: 8, ..Default::default() };
    let rates = Rates { loopback: true, ..Rates::of(0) };
    let server = start_with(engine(), Config { rates, connections, ..Config::default() }).await;
    let ask = async || {
        let mut line = tokio::net::TcpStream::connect(server.at).await.unwrap();
        line.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
        let mut answer = [0; 12];
        line.read_exact(&mut answer).await.unwrap();
        (line, String::from_utf8_lossy(&answer).into_owned())
    };
    let (first, second) = (ask().await, ask().await);
    assert_eq!((first.1.as_str(), second.1.as_str()), ("HTTP/1.1 200", "HTTP/1.1 200"));
    assert_eq!(ask().await.1, "HTTP/1.1 429", "a quarter of eight are two");
    drop(first);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(ask().await.1, "HTTP/1.1 200");
}
