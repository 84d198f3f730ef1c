//! Ollama's own notation: the schema goes into `format` as it is, the model stays loaded, and streams are JSON lines.

use serde_json::{Map, Value, json};

use super::config::{ModelConfig, Prices};
use super::error::ModelError;
use super::remote::{Dialect, StreamState, number, put_extra, read_event, read_vectors};
use super::sse::Format;
use super::wire::WireRequest;
use super::{ChatReply, ChatRequest, Embeddings, Speaker, Usage};
use crate::text::shorten;

/// How long the server keeps the model in memory after a turn.
const KEEP_ALIVE: &str = "30m";

/// The dialect itself; it has no state.
#[derive(Clone, Copy, Debug)]
pub struct Ollama;

impl Dialect for Ollama {
    fn chat(&self, config: &ModelConfig, request: &ChatRequest, stream: bool) -> WireRequest {
        let mut body = Map::new();
        body.insert("model".into(), json!(config.model));
        let mut messages = vec![json!({"role": "system", "content": request.prefix})];
        messages.extend(request.messages.iter().map(|m| {
            let role = match m.speaker {
                Speaker::User => "user",
                Speaker::Model => "assistant",
            };
            json!({"role": role, "content": m.text})
        }));
        body.insert("messages".into(), Value::Array(messages));
        body.insert("stream".into(), json!(stream));
        body.insert("keep_alive".into(), json!(KEEP_ALIVE));
        if let Some(shape) = &request.shape {
            body.insert("format".into(), shape.schema.clone());
        }
        let mut options = json!({"temperature": config.temperature, "num_predict": request.max_tokens});
        if let (Some(seed), Some(map)) = (config.seed, options.as_object_mut()) {
            map.insert("seed".into(), json!(seed));
        }
        body.insert("options".into(), options);
        put_extra(&mut body, config);
        WireRequest { path: "/api/chat".into(), body: Value::Object(body).to_string() }
    }

    fn reply(&self, config: &ModelConfig, value: &Value) -> Result<ChatReply, ModelError> {
        failed(value)?;
        let message = value.get("message").ok_or_else(|| ModelError::Envelope("no `message`".into()))?;
        if value.get("done_reason").and_then(Value::as_str) == Some("length") {
            return Err(ModelError::CutOff);
        }
        let text = message.get("content").and_then(Value::as_str).unwrap_or("").to_owned();
        if text.is_empty() {
            let called = message.get("tool_calls").is_some_and(|c| c.as_array().is_some_and(|c| !c.is_empty()));
            return Err(if called { ModelError::ToolCall } else { ModelError::Empty });
        }
        Ok(ChatReply { text, usage: usage(&config.prices, value) })
    }

    fn format(&self) -> Format {
        Format::JsonLines
    }

    fn event(&self, config: &ModelConfig, event: &str, state: &mut StreamState) -> Result<(), ModelError> {
        let value = read_event(event)?;
        failed(&value)?;
        state.push(value.pointer("/message/content").and_then(Value::as_str).unwrap_or(""));
        if value.get("done").and_then(Value::as_bool) == Some(true) {
            state.done = true;
            state.finished = true;
            state.usage = usage(&config.prices, &value);
            if value.get("done_reason").and_then(Value::as_str) == Some("length") {
                return Err(ModelError::CutOff);
            }
        }
        Ok(())
    }

    fn embed(&self, config: &ModelConfig, texts: &[String]) -> Result<WireRequest, ModelError> {
        let model = config.embedding_model.as_ref().unwrap_or(&config.model);
        Ok(WireRequest { path: "/api/embed".into(), body: json!({"model": model, "input": texts, "keep_alive": KEEP_ALIVE}).to_string() })
    }

    fn vectors(&self, config: &ModelConfig, value: &Value, count: usize) -> Result<Embeddings, ModelError> {
        failed(value)?;
        let rows = value.get("embeddings").and_then(Value::as_array).ok_or_else(|| ModelError::Envelope("no `embeddings`".into()))?;
        Ok(Embeddings { vectors: read_vectors(rows, count)?, usage: usage(&config.prices.of_embedding(), value) })
    }
}

fn failed(value: &Value) -> Result<(), ModelError> {
    match value.get("error") {
        None | Some(Value::Null) => Ok(()),
        Some(error) => Err(ModelError::BrokenOff(shorten(error.as_str().unwrap_or("unspecified error"), 160))),
    }
}

fn usage(prices: &Prices, value: &Value) -> Usage {
    Usage::of(prices, number(value.get("prompt_eval_count")), 0, number(value.get("eval_count")))
}
