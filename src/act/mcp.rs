//! Tools of an MCP server on standard input and output: the handshake, one call, and the server is let go.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{ChildStdin, ChildStdout};

use super::process::start;
use super::{ActError, Call, MAX_ANSWER};

const PROTOCOL: &str = "2025-06-18";

struct Session {
    name: String,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    next: u64,
}

/// Calls a tool.
pub(super) async fn call(name: &str, command: &[String], tool: &str, call: &Call) -> Result<Value, ActError> {
    let mut child = start(name, command)?;
    let pipes = child.stdin.take().zip(child.stdout.take());
    let (input, output) = pipes.ok_or_else(|| ActError::Unreachable(name.to_owned(), "the server has no pipes".to_owned()))?;
    let mut s = Session { name: name.to_owned(), input, output: BufReader::new(output).lines(), next: 0 };
    let client = json!({"name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION")});
    s.request("initialize", &json!({"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client})).await?;
    s.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await?;
    let result = s.request("tools/call", &json!({"name": tool, "arguments": call.inputs})).await?;
    value(name, &result)
}

impl Session {
    fn failed(&self, why: impl ToString) -> ActError {
        ActError::Failed(self.name.clone(), why.to_string())
    }

    async fn send(&mut self, message: &Value) -> Result<(), ActError> {
        let line = format!("{message}\n");
        let sent = self.input.write_all(line.as_bytes()).await;
        sent.map_err(|e| self.failed(e))
    }

    /// Sends a request and waits for its answer; what the server says meanwhile on its own account is passed over.
    async fn request(&mut self, method: &str, params: &Value) -> Result<Value, ActError> {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await?;
        let mut read = 0;
        loop {
            let line = self.output.next_line().await.map_err(|e| self.failed(e))?;
            let line = line.ok_or_else(|| self.failed("the server ended"))?;
            read += line.len();
            if read > MAX_ANSWER {
                return Err(ActError::Unreadable(self.name.clone(), format!("longer than {MAX_ANSWER} bytes")));
            }
            let message: Value = serde_json::from_str(&line).map_err(|e| ActError::Unreadable(self.name.clone(), e.to_string()))?;
            if message.get("id").and_then(Value::as_u64) != Some(id) || message.get("method").is_some() {
                continue;
            }
            if let Some(e) = message.get("error") {
                return Err(self.failed(e.get("message").and_then(Value::as_str).unwrap_or("an error without a message")));
            }
            return Ok(message.get("result").cloned().unwrap_or(Value::Null));
        }
    }
}

/// The value of a tool's result: its structured content, or its text, read as JSON where it is JSON.
fn value(name: &str, result: &Value) -> Result<Value, ActError> {
    let texts = result.get("content").and_then(Value::as_array).into_iter().flatten().filter_map(|c| c.get("text")?.as_str());
    let text = texts.collect::<Vec<_>>().join("\n");
    if result.get("isError").and_then(Value::as_bool) == Some(true) {
        return Err(ActError::Failed(name.to_owned(), text));
    }
    if let Some(v) = result.get("structuredContent").filter(|v| !v.is_null()) {
        return Ok(v.clone());
    }
    Ok(serde_json::from_str(&text).unwrap_or(Value::String(text)))
}
