//! Functions in a local program: one line of JSON in, JSON out.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

use super::{ActError, Call, MAX_ANSWER};

/// Starts a program with pipes; it dies with its handle.
pub(super) fn start(name: &str, command: &[String]) -> Result<Child, ActError> {
    let (program, args) = command.split_first().ok_or_else(|| ActError::Unreachable(name.to_owned(), "no program is named".to_owned()))?;
    Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|e| ActError::Unreachable(name.to_owned(), e.to_string()))
}

/// Sends a call and reads the answer: `{"result": …}` or `{"error": "…"}`, or any other JSON as the result itself.
pub(super) async fn call(name: &str, command: &[String], call: &Call, id: &str) -> Result<Value, ActError> {
    let failed = |e: std::io::Error| ActError::Failed(name.to_owned(), e.to_string());
    let mut child = start(name, command)?;
    let line = json!({"id": id, "function": call.function, "inputs": call.inputs}).to_string();
    if let Some(mut input) = child.stdin.take() {
        // A program that answers without reading its input closes the pipe; that is no failure.
        let _ = input.write_all(format!("{line}\n").as_bytes()).await;
    }
    let mut text = Vec::new();
    if let Some(output) = child.stdout.take() {
        output.take(MAX_ANSWER as u64 + 1).read_to_end(&mut text).await.map_err(failed)?;
    }
    if text.len() > MAX_ANSWER {
        return Err(ActError::Unreadable(name.to_owned(), format!("longer than {MAX_ANSWER} bytes")));
    }
    let status = child.wait().await.map_err(failed)?;
    if !status.success() {
        return Err(ActError::Failed(name.to_owned(), format!("the program ended with {status}")));
    }
    let answer: Value = serde_json::from_slice(&text).map_err(|e| ActError::Unreadable(name.to_owned(), e.to_string()))?;
    if let Some(e) = answer.get("error").filter(|e| !e.is_null()) {
        return Err(ActError::Failed(name.to_owned(), e.as_str().map_or_else(|| e.to_string(), str::to_owned)));
    }
    Ok(answer.get("result").cloned().unwrap_or(answer))
}
