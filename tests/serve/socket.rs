//! One socket a conversation: turns by frames, and a client that sends frames it must not. Both are written byte by byte.

use std::time::Duration;

use duologue::serve::access::Keys;
use duologue::serve::limits::Rate;
use duologue::serve::{Config, Connections, Rates};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::server::{Server, engine, start, start_as, start_with, token};

const PATIENCE: Duration = Duration::from_secs(10);
const TEXT: u8 = 0x81;
const CLOSE: u8 = 0x88;

/// A socket's client, who knows no more of frames than a test needs.
struct Socket(TcpStream);

impl Socket {
    /// What is answered to the request for a socket, and the socket.
    async fn knock(server: &Server, session: &str, more: &str) -> (Self, String) {
        let mut line = TcpStream::connect(server.at).await.unwrap();
        let head = format!(
            "GET /v1/sessions/{session}/socket HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n{more}\r\n"
        );
        line.write_all(head.as_bytes()).await.unwrap();
        let mut answer = vec![];
        while !answer.ends_with(b"\r\n\r\n") {
            answer.push(timeout(PATIENCE, line.read_u8()).await.expect("no answer").unwrap());
        }
        (Self(line), String::from_utf8(answer).unwrap().to_lowercase())
    }

    async fn open(server: &Server, (session, token): &(String, String)) -> Self {
        let (socket, answer) = Self::knock(server, session, &format!("authorization: Bearer {token}\r\n")).await;
        assert!(answer.starts_with("http/1.1 101"), "{answer}");
        socket
    }

    /// A frame as clients send it: masked, here with nothing.
    async fn send(&mut self, kind: u8, payload: &[u8]) {
        let mut frame = vec![kind];
        match payload.len() {
            n @ 0..126 => frame.push(0x80 | u8::try_from(n).unwrap()),
            n => frame.extend([&[0xfe][..], &u16::try_from(n).unwrap().to_be_bytes()].concat()),
        }
        frame.extend([0; 4]);
        frame.extend(payload);
        self.raw(&frame).await;
    }

    async fn raw(&mut self, bytes: &[u8]) {
        // The other side may have closed already: then its answer is what counts.
        let _ = self.0.write_all(bytes).await;
    }

    async fn say(&mut self, body: Value) {
        self.send(TEXT, body.to_string().as_bytes()).await;
    }

    /// The next frame, or nothing where the line has ended.
    async fn next(&mut self) -> Option<(u8, Vec<u8>)> {
        let read = async {
            let kind = self.0.read_u8().await.ok()?;
            let length = match self.0.read_u8().await.ok()? {
                126 => usize::from(self.0.read_u16().await.ok()?),
                127 => usize::try_from(self.0.read_u64().await.ok()?).unwrap(),
                n => usize::from(n),
            };
            let mut payload = vec![0; length];
            self.0.read_exact(&mut payload).await.ok()?;
            Some((kind, payload))
        };
        timeout(PATIENCE, read).await.expect("nothing came")
    }

    async fn event(&mut self) -> Value {
        let (kind, payload) = self.next().await.expect("the line ended");
        assert_eq!(kind, TEXT, "{}", String::from_utf8_lossy(&payload));
        serde_json::from_slice(&payload).unwrap()
    }

    /// All events until one ends the turn.
    async fn turn(&mut self) -> Vec<Value> {
        let mut all = vec![];
        loop {
            all.push(self.event().await);
            if all.last().unwrap()["event"] != "sentence" {
                return all;
            }
        }
    }

    /// The code by which the other side closes; 0 where it only ends the line.
    async fn closed(&mut self) -> u16 {
        while let Some((kind, payload)) = self.next().await {
            if kind == CLOSE {
                return payload.first_chunk().map_or(1005, |code| u16::from_be_bytes(*code));
            }
        }
        0
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_on_one_socket() {
    let server = start().await;
    let customer = server.open("main", "customer", "").await;
    let mut socket = Socket::open(&server, &customer).await;
    socket.say(json!({ "text": "two soft tacos please", "request": "r1" })).await;
    let told = socket.turn().await;
    let (last, sentences) = told.split_last().unwrap();
    assert!(last["event"] == "turn" && last["request"] == "r1" && last["data"]["turn"] == 1, "{last}");
    let said: Vec<&str> = sentences.iter().map(|s| s["data"]["text"].as_str().unwrap()).collect();
    assert_eq!(last["data"]["text"], said.join(" "), "the sentences came before the turn, and are its text");
    socket.say(json!({ "text": "two soft tacos please", "request": "r1" })).await;
    let again = socket.turn().await;
    assert_eq!(
        (&again.last().unwrap()["data"]["turn"], &again.last().unwrap()["data"]["state"]),
        (&json!(1), &last["data"]["state"]),
        "sent twice, taken once"
    );
    // What cannot be read is told, and the conversation goes on.
    for body in [json!({ "txt": "x" }), json!({ "text": "x", "role": "manager" }), json!({}), json!([])] {
        socket.say(body).await;
        let told = socket.event().await;
        assert!(told["event"] == "error" && told["status"] == 400 && told["data"]["error"]["code"] == "bad_request", "{told}");
    }
    // The other door leads to the same conversation, and what comes by one is seen by the other.
    assert_eq!(server.say(&customer, "and a Pepsi").await["turn"], 2);
    socket.say(json!({ "predicates": ["order(\"Bean Burrito\",1)"], "why": true })).await;
    let third = socket.turn().await.pop().unwrap();
    assert!(third["data"]["turn"] == 3 && third["data"]["why"].is_array(), "{third}");
    // A page has no other header for its token than the protocols'.
    let (mut page, answer) = Socket::knock(&server, &customer.0, &format!("sec-websocket-protocol: duologue, bearer.{}\r\n", customer.1)).await;
    assert!(answer.starts_with("http/1.1 101") && answer.contains("sec-websocket-protocol: duologue\r\n"), "{answer}");
    page.say(json!({ "text": "that's all" })).await;
    assert_eq!(page.turn().await.pop().unwrap()["data"]["turn"], 4);
}

/// Attempts on the way in: nobody, others' tokens, other pages, other protocols.
#[tokio::test(flavor = "multi_thread")]
async fn a_socket_opens_for_the_speaker_alone() {
    let keys = Keys::in_memory().unwrap();
    let (observer, elsewhere) = (token(&keys, "main", true, 3_600_000).1, token(&keys, "airport", true, 3_600_000).1);
    let server = start_as(engine(), Config { rates: Rates::of(0), ..Config::default() }, keys, observer.clone(), elsewhere.clone()).await;
    let (mine, theirs) = (server.open("main", "customer", "").await, server.open("main", "customer", "").await);
    let bearer = |token: &str| format!("authorization: Bearer {token}\r\n");
    let forged = format!("{}A.{}", &mine.1[..10], mine.1.split_once('.').unwrap().1);
    let attempts = [
        ("no token", String::new(), 401),
        ("somebody else's token", bearer(&theirs.1), 403),
        ("an observer reads and does not speak", bearer(&observer), 403),
        ("another site's operator", bearer(&elsewhere), 403),
        ("a forged token", bearer(&forged), 401),
        ("somebody else's token as a protocol", format!("sec-websocket-protocol: duologue, bearer.{}\r\n", theirs.1), 403),
        ("nothing as a protocol's token", "sec-websocket-protocol: duologue, bearer.\r\n".to_owned(), 401),
        ("a token in each header", format!("{}sec-websocket-protocol: bearer.{}\r\n", bearer(&mine.1), mine.1), 401),
        ("two tokens as protocols", format!("sec-websocket-protocol: bearer.{0}, bearer.{0}\r\n", mine.1), 401),
        ("a token in a cookie", format!("cookie: token={}\r\n", mine.1), 401),
        ("a page of another origin", format!("{}origin: https://evil.example\r\n", bearer(&mine.1)), 403),
        ("a host of another name", format!("{}host: evil.example\r\n", bearer(&mine.1)), 400),
    ];
    for (name, more, status) in attempts {
        let (_, answer) = Socket::knock(&server, &mine.0, &more).await;
        assert!(answer.starts_with(&format!("http/1.1 {status} ")), "{name}: {answer}");
    }
    let asked = server.send(reqwest::Method::GET, &format!("/v1/sessions/{}/socket?token={}", mine.0, mine.1), "", None).await;
    assert_eq!(asked.0, 401, "a token in the address is none: {}", asked.1);
    let plain = server.send(reqwest::Method::GET, &format!("/v1/sessions/{}/socket", mine.0), &mine.1, None).await;
    assert!(plain.0 == 400 && plain.1["error"]["help"].is_string(), "who does not ask for a socket hears so: {plain:?}");
    // One conversation has so many sockets, and one that ends makes room.
    let mut all = vec![];
    for _ in 0..Config::default().session_queue {
        all.push(Socket::open(&server, &mine).await);
    }
    assert!(Socket::knock(&server, &mine.0, &bearer(&mine.1)).await.1.starts_with("http/1.1 429"));
    let mut last = all.pop().unwrap();
    last.send(CLOSE, &1000u16.to_be_bytes()).await;
    last.closed().await;
    let again = async {
        while !Socket::knock(&server, &mine.0, &bearer(&mine.1)).await.1.starts_with("http/1.1 101") {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, again).await.expect("a socket that ended made no room");
}

/// Attempts with frames: each is closed with its code, and the service and the conversation go on.
#[tokio::test(flavor = "multi_thread")]
async fn frames_that_are_none_close_the_socket_and_nothing_else() {
    let server = start_with(engine(), Config { rates: Rates::of(0), ..Config::default() }).await;
    let customer = server.open("main", "customer", "").await;
    let long = |length: u64| [&[TEXT, 0xff][..], &length.to_be_bytes(), &[0; 4]].concat();
    let text = |text: &[u8]| [&[TEXT, 0x80 | u8::try_from(text.len()).unwrap(), 0, 0, 0, 0], text].concat();
    let mut pieces = vec![0x01, 0xfe, 0x7f, 0xff, 0, 0, 0, 0];
    pieces.extend([b' '; 0x7fff]);
    let mut more = pieces.clone();
    more[0] = 0x00;
    let attempts = [
        ("a frame without a mask", vec![TEXT, 0x02, b'{', b'}'], 1002),
        ("bits that nobody agreed on", vec![0xf1, 0x80, 0, 0, 0, 0], 1002),
        ("a kind that there is not", vec![0x83, 0x80, 0, 0, 0, 0], 1002),
        ("a ping in pieces", vec![0x09, 0x80, 0, 0, 0, 0], 1002),
        ("a ping that is too long", [&[0x89, 0xfe, 0, 126, 0, 0, 0, 0][..], &[0; 126]].concat(), 1002),
        ("a piece of nothing", vec![0x80, 0x80, 0, 0, 0, 0], 1002),
        ("text that is none", text(&[0xff, 0xfe]), 1002),
        ("a frame longer than memory", long(u64::MAX >> 1), 1002),
        ("a frame longer than a request may be", long(70_000), 1002),
        ("pieces that together are", [&pieces[..], &more, &more].concat(), 1002),
        ("bytes", vec![0x82, 0x81, 0, 0, 0, 0, 7], 1003),
        ("plain HTTP", b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n".to_vec(), 1002),
    ];
    for (name, bytes, code) in attempts {
        let mut socket = Socket::open(&server, &customer).await;
        socket.raw(&bytes).await;
        assert_eq!(socket.closed().await, code, "{name}");
    }
    assert_eq!(server.say(&customer, "one soft taco").await["turn"], 1, "nothing of it was a turn");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_has_the_shares_and_the_token_of_its_speaker_and_ends_when_it_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokens");
    let keys = Keys::open(&file).unwrap();
    let (id, manager) = token(&keys, "main", true, 3_600_000);
    let connections = Connections { quiet: Duration::from_secs(3), ..Connections::default() };
    // Five requests, and no more while the test lasts.
    let rates = Rates { bearer: Rate { per_second: 0.001, burst: 5.0 }, ..Rates::of(0) };
    let server = start_as(engine(), Config { rates, connections, ..Config::default() }, keys, manager.clone(), String::new()).await;
    // Frames are requests: they are counted, and so are those that say nothing.
    let customer = server.open("main", "customer", "").await;
    let mut socket = Socket::open(&server, &customer).await;
    for n in 0..6 {
        socket.say(json!({ "text": "a Pepsi", "request": "same" })).await;
        let last = socket.turn().await.pop().unwrap();
        // The request for the socket was the first one.
        let limited = last["event"] == "error" && last["status"] == 429 && last["retry_after"].is_u64();
        assert_eq!(limited, n >= 4, "{n}: {last}");
    }
    for _ in 0..9 {
        socket.send(0x89, b"").await;
    }
    assert_eq!(socket.closed().await, 1008, "pings are frames, too");
    // Pings keep a line, not a socket.
    let other = server.open("main", "customer", "").await;
    let mut socket = Socket::open(&server, &other).await;
    socket.send(0x89, b"").await;
    assert_eq!(socket.closed().await, 1000, "nothing was said");
    // What a token opened ends with it.
    let speaker = server.open("main", "manager", &manager).await;
    let mut socket = Socket::open(&server, &speaker).await;
    socket.say(json!({ "text": "we are out of lettuce" })).await;
    assert_eq!(socket.turn().await.pop().unwrap()["event"], "turn");
    tokio::time::sleep(Duration::from_millis(20)).await;
    Keys::open(&file).unwrap().revoke(&id).unwrap();
    socket.say(json!({ "text": "we are out of beans" })).await;
    assert_eq!(socket.closed().await, 1008, "its token does not hold any more");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_is_one_of_the_connections_and_ends_with_the_service() {
    let connections = Connections { most: 2, ..Connections::default() };
    let mut server = start_with(engine(), Config { rates: Rates::of(0), connections, ..Config::default() }).await;
    let customer = server.open("main", "customer", "").await;
    // The client's own connection is the other one.
    let mut socket = Socket::open(&server, &customer).await;
    let mut third = TcpStream::connect(server.at).await.unwrap();
    third.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    assert!(timeout(Duration::from_millis(300), third.read_u8()).await.is_err(), "a socket still counts as a connection");
    socket.say(json!({ "text": "a taco" })).await;
    assert_eq!(socket.turn().await.pop().unwrap()["event"], "turn");
    server.stop.take().unwrap().send(()).unwrap();
    assert_eq!(socket.closed().await, 1001, "the service is about to end");
    assert!((&mut server.ended).await.unwrap(), "everything finished in time");
}
