//! A model's server that answers at once, or after a time that is always the same, on this machine: what a turn takes beside it is the engine's own time and the wire's.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

/// A running server; its thread ends with the process.
pub struct Instant {
    address: SocketAddr,
    requests: Arc<AtomicU64>,
}

impl Instant {
    /// Starts it on a free port. It speaks the OpenAI-compatible interface, whole and streamed.
    pub fn start() -> std::io::Result<Self> {
        Self::slow(Duration::ZERO)
    }

    /// The same, but that every answer takes so long.
    pub fn slow(delay: Duration) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let requests = Arc::new(AtomicU64::new(0));
        let counted = requests.clone();
        std::thread::Builder::new().name("instant-model".into()).spawn(move || {
            for stream in listener.incoming().flatten() {
                let counted = counted.clone();
                // A connection that breaks concerns its own client alone.
                std::thread::spawn(move || serve(stream, &counted, delay));
            }
        })?;
        Ok(Self { address, requests })
    }

    /// Its base address.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// How many requests it has answered.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }
}

fn serve(stream: TcpStream, requests: &AtomicU64, delay: Duration) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            match line.split_once(':') {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.trim().parse().unwrap_or(0),
                _ if line.trim().is_empty() => break,
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        requests.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(delay);
        writer.write_all(&answer(&body))?;
    }
}

fn answer(body: &[u8]) -> Vec<u8> {
    let request: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
    let turn = request.pointer("/messages/1/content").and_then(Value::as_str).unwrap_or("");
    let text = said(turn);
    let usage = json!({ "prompt_tokens": body.len() / 4, "completion_tokens": text.len() / 4 });
    let (kind, body) = if request.get("stream") == Some(&Value::Bool(true)) {
        let piece = json!({ "choices": [{ "index": 0, "delta": { "content": text }, "finish_reason": "stop" }], "usage": usage });
        ("text/event-stream", format!("data: {piece}\n\ndata: [DONE]\n\n"))
    } else {
        let choice = json!({ "index": 0, "message": { "role": "assistant", "content": text }, "finish_reason": "stop" });
        ("application/json", json!({ "choices": [choice], "usage": usage }).to_string())
    };
    format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// A draft is repeated as it stands; an utterance means what the nearest example in its prompt means.
fn said(turn: &str) -> String {
    if let Some(draft) = turn.trim().strip_prefix("Draft: ") {
        return serde_json::from_str::<String>(draft).unwrap_or_default();
    }
    // Examples with names in the speaker's own words fit their own utterance only.
    let nearest = turn.lines().rev().filter_map(|l| l.rsplit_once(" → ")).map(|(_, json)| json).find(|json| !json.contains("said"));
    format!("{{\"predicates\":{}}}", nearest.unwrap_or("[]"))
}
