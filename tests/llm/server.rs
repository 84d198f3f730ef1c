//! A local HTTP server that misbehaves on request: the tests' and benches' stand-in for a model's server.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Request {
    pub path: String,
    pub headers: String,
    pub body: String,
    /// How many requests came before.
    pub nth: usize,
}

/// What the server does with a request.
#[derive(Clone, Debug)]
pub enum Act {
    /// A complete reply.
    Reply { status: u16, headers: Vec<(&'static str, String)>, body: Vec<u8> },
    /// Headers, then pieces after pauses in milliseconds; `end` closes the body properly.
    Pieces { content_type: &'static str, pieces: Vec<(u64, Vec<u8>)>, end: bool },
    /// The piece again and again, for ever.
    Endless { content_type: &'static str, piece: Vec<u8> },
    /// Nothing for so many milliseconds, then the connection is closed.
    Silence(u64),
    /// Part of the status line, then the connection is closed.
    CloseInHeaders,
    /// The connection is closed at once.
    Close,
    /// A body shorter than its announced length.
    Short(Vec<u8>),
    /// A status line of no HTTP.
    Garbage,
}

impl Act {
    /// A reply with a JSON body.
    pub fn json(body: impl Into<String>) -> Self {
        Self::status(200, body)
    }

    /// A reply with a status and a JSON body.
    pub fn status(status: u16, body: impl Into<String>) -> Self {
        Self::Reply { status, headers: vec![("content-type", "application/json".into())], body: body.into().into_bytes() }
    }

    /// A stream of server-sent events.
    pub fn events(events: &[String]) -> Self {
        let pieces = events.iter().map(|e| (0, format!("data: {e}\n\n").into_bytes())).collect();
        Self::Pieces { content_type: "text/event-stream", pieces, end: true }
    }
}

/// A running server; it stops with the process.
pub struct Server {
    pub address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    _runtime: Option<tokio::runtime::Runtime>,
}

impl Server {
    /// Starts a server whose `handler` says what to do with each request.
    pub fn start(handler: impl Fn(&Request) -> Act + Send + Sync + 'static) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, handler) = (requests.clone(), Arc::new(handler));
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, handler) = (seen.clone(), handler.clone());
                tokio::spawn(async move { serve(stream, &seen, &*handler).await });
            }
        });
        Self { address, requests, _runtime: Some(runtime) }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Connections may still be asleep; they are let go without waiting.
        if let Some(runtime) = self._runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn serve(mut stream: TcpStream, seen: &Mutex<Vec<Request>>, handler: &(dyn Fn(&Request) -> Act + Send + Sync)) {
    let _ = stream.set_nodelay(true);
    let mut buffer = Vec::new();
    loop {
        let Some(mut request) = read(&mut stream, &mut buffer).await else { return };
        {
            let mut seen = seen.lock().unwrap();
            request.nth = seen.len();
            seen.push(request.clone());
        }
        if !perform(&mut stream, handler(&request)).await {
            return;
        }
    }
}

async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Request> {
    let mut chunk = [0; 16 * 1024];
    loop {
        if let Some(end) = buffer.windows(4).position(|w| w == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
            let length = head.lines().filter_map(|l| l.split_once(':')).find(|(n, _)| n.eq_ignore_ascii_case("content-length"));
            let length: usize = length.map_or(0, |(_, v)| v.trim().parse().unwrap());
            if buffer.len() >= end + 4 + length {
                let body = String::from_utf8_lossy(&buffer[end + 4..end + 4 + length]).into_owned();
                buffer.drain(..end + 4 + length);
                let path = head.split(' ').nth(1).unwrap_or("").to_owned();
                return Some(Request { path, headers: head, body, nth: 0 });
            }
        }
        match stream.read(&mut chunk).await {
            Ok(n) if n > 0 => buffer.extend_from_slice(&chunk[..n]),
            _ => return None,
        }
    }
}

/// Does it; false when the connection is to be closed.
async fn perform(stream: &mut TcpStream, act: Act) -> bool {
    let done = match act {
        Act::Reply { status, headers, body } => {
            let mut head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n", body.len());
            for (name, value) in headers {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
            let mut bytes = (head + "\r\n").into_bytes();
            bytes.extend(body);
            return stream.write_all(&bytes).await.is_ok();
        }
        Act::Pieces { content_type, pieces, end } => chunks(stream, content_type, pieces, end).await,
        Act::Endless { content_type, piece } => {
            chunks(stream, content_type, vec![], false).await;
            let chunk = [format!("{:x}\r\n", piece.len()).into_bytes(), piece, b"\r\n".to_vec()].concat();
            while stream.write_all(&chunk).await.is_ok() {}
            false
        }
        Act::Silence(ms) => {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            false
        }
        Act::CloseInHeaders => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nconte").await;
            false
        }
        Act::Close => false,
        Act::Short(body) => {
            let head = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len() + 100);
            let _ = stream.write_all(head.as_bytes()).await;
            let _ = stream.write_all(&body).await;
            false
        }
        Act::Garbage => {
            let _ = stream.write_all(b"220 smtp.invalid ready\r\n\r\n").await;
            false
        }
    };
    let _ = stream.flush().await;
    done
}

async fn chunks(stream: &mut TcpStream, content_type: &str, pieces: Vec<(u64, Vec<u8>)>, end: bool) -> bool {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n\r\n");
    let mut ok = stream.write_all(head.as_bytes()).await.is_ok();
    for (pause, piece) in pieces {
        if pause > 0 {
            let _ = stream.flush().await;
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
        let chunk = [format!("{:x}\r\n", piece.len()).into_bytes(), piece, b"\r\n".to_vec()].concat();
        ok &= stream.write_all(&chunk).await.is_ok();
    }
    end && stream.write_all(b"0\r\n\r\n").await.is_ok() && ok
}
