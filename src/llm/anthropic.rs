//! Anthropic's messages notation: the prefix is marked for the prompt cache, and a shaped reply is a forced call of one tool.

use serde_json::{Map, Value, json};

use super::config::ModelConfig;
use super::error::ModelError;
use super::remote::{Dialect, StreamState, number, put_extra, read_event};
use super::sse::Format;
use super::wire::WireRequest;
use super::{ChatReply, ChatRequest, Embeddings, Speaker, Usage};
use crate::text::shorten;

/// The dialect itself; it has no state.
#[derive(Clone, Copy, Debug)]
pub struct Anthropic;

impl Dialect for Anthropic {
    fn chat(&self, config: &ModelConfig, request: &ChatRequest, stream: bool) -> WireRequest {
        let mut body = Map::new();
        body.insert("model".into(), json!(config.model));
        body.insert("max_tokens".into(), json!(request.max_tokens));
        body.insert("temperature".into(), json!(config.temperature));
        body.insert("system".into(), json!([{"type": "text", "text": request.prefix, "cache_control": {"type": "ephemeral"}}]));
        let messages: Vec<Value> = request
            .messages
            .iter()
            .map(|m| {
                let role = match m.speaker {
                    Speaker::User => "user",
                    Speaker::Model => "assistant",
                };
                json!({"role": role, "content": m.text})
            })
            .collect();
        body.insert("messages".into(), Value::Array(messages));
        if let Some(shape) = &request.shape {
            body.insert("tools".into(), json!([{"name": shape.name, "description": "Hands over the result.", "input_schema": shape.schema}]));
            body.insert("tool_choice".into(), json!({"type": "tool", "name": shape.name, "disable_parallel_tool_use": true}));
        }
        if stream {
            body.insert("stream".into(), json!(true));
        }
        put_extra(&mut body, config);
        WireRequest { path: "/v1/messages".into(), body: Value::Object(body).to_string() }
    }

    fn reply(&self, config: &ModelConfig, value: &Value) -> Result<ChatReply, ModelError> {
        let blocks = value.get("content").and_then(Value::as_array).ok_or_else(|| ModelError::Envelope("no `content`".into()))?;
        ended(value.get("stop_reason").and_then(Value::as_str))?;
        let mut text = String::new();
        for block in blocks {
            match block.get("type").and_then(Value::as_str) {
                Some("text") => text.push_str(block.get("text").and_then(Value::as_str).unwrap_or("")),
                // The forced tool call is how a shape is asked for here; its input is the reply, and replaces any text before it.
                Some("tool_use") => {
                    let input = block.get("input").filter(|i| i.is_object()).ok_or_else(|| ModelError::Envelope("a tool call without `input`".into()))?;
                    return Ok(ChatReply { text: input.to_string(), usage: usage(config, value.get("usage")) });
                }
                _ => {}
            }
        }
        if text.is_empty() { Err(ModelError::Empty) } else { Ok(ChatReply { text, usage: usage(config, value.get("usage")) }) }
    }

    fn format(&self) -> Format {
        Format::ServerSent
    }

    fn event(&self, config: &ModelConfig, event: &str, state: &mut StreamState) -> Result<(), ModelError> {
        let value = read_event(event)?;
        match value.get("type").and_then(Value::as_str) {
            Some("message_start") => {
                state.usage = usage(config, value.pointer("/message/usage"));
                state.input = number(value.pointer("/message/usage/input_tokens"));
                state.written = number(value.pointer("/message/usage/cache_creation_input_tokens"));
                state.cached = number(value.pointer("/message/usage/cache_read_input_tokens"));
            }
            Some("content_block_delta") => {
                let piece = value.pointer("/delta/text").or_else(|| value.pointer("/delta/partial_json"));
                state.push(piece.and_then(Value::as_str).unwrap_or(""));
            }
            Some("message_delta") => {
                let output = number(value.pointer("/usage/output_tokens"));
                let input = state.input.saturating_add(state.written).saturating_add(state.cached);
                state.usage = Usage::with_cache(&config.prices, input, (state.cached, state.written), output);
                if let Some(reason) = value.pointer("/delta/stop_reason").and_then(Value::as_str) {
                    state.finished = true;
                    ended(Some(reason))?;
                }
            }
            Some("message_stop") => state.done = true,
            Some("error") => {
                let kind = value.pointer("/error/type").and_then(Value::as_str).unwrap_or("");
                if kind == "overloaded_error" || kind == "rate_limit_error" {
                    return Err(ModelError::RateLimited { retry_after: None });
                }
                return Err(ModelError::BrokenOff(shorten(value.pointer("/error/message").and_then(Value::as_str).unwrap_or(kind), 160)));
            }
            _ => {}
        }
        Ok(())
    }

    fn embed(&self, _: &ModelConfig, _: &[String]) -> Result<WireRequest, ModelError> {
        Err(ModelError::Unsupported("embeddings"))
    }

    fn vectors(&self, _: &ModelConfig, _: &Value, _: usize) -> Result<Embeddings, ModelError> {
        Err(ModelError::Unsupported("embeddings"))
    }
}

fn ended(reason: Option<&str>) -> Result<(), ModelError> {
    match reason {
        Some("max_tokens" | "model_context_window_exceeded") => Err(ModelError::CutOff),
        Some("refusal") => Err(ModelError::Declined("refused by the model".into())),
        _ => Ok(()),
    }
}

/// Anthropic counts fresh, cache-written and cache-read input apart; [`Usage::input`] is their sum.
fn usage(config: &ModelConfig, value: Option<&Value>) -> Usage {
    let get = |key: &str| number(value.and_then(|v| v.get(key)));
    let (cached, written) = (get("cache_read_input_tokens"), get("cache_creation_input_tokens"));
    Usage::with_cache(&config.prices, get("input_tokens").saturating_add(written).saturating_add(cached), (cached, written), get("output_tokens"))
}
