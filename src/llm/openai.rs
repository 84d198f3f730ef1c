//! The `/chat/completions` notation that OpenAI, vLLM, llama.cpp, Ollama, OpenRouter and many others share.

use serde_json::{Map, Value, json};

use super::config::{ModelConfig, Prices, Structured, TokenLimit};
use super::error::ModelError;
use super::remote::{Dialect, StreamState, number, put_extra, read_event, read_vectors};
use super::sse::Format;
use super::wire::WireRequest;
use super::{ChatReply, ChatRequest, Embeddings, Shape, Speaker, Usage};
use crate::text::shorten;

/// The dialect itself; it has no state.
#[derive(Clone, Copy, Debug)]
pub struct OpenAi;

impl Dialect for OpenAi {
    fn chat(&self, config: &ModelConfig, request: &ChatRequest, stream: bool) -> WireRequest {
        let mut body = Map::new();
        body.insert("model".into(), json!(config.model));
        body.insert("messages".into(), messages(request));
        let limit = match config.token_limit() {
            TokenLimit::MaxTokens => "max_tokens",
            TokenLimit::MaxCompletionTokens => "max_completion_tokens",
        };
        body.insert(limit.into(), json!(request.max_tokens));
        body.insert("temperature".into(), json!(config.temperature));
        if let Some(seed) = config.seed {
            body.insert("seed".into(), json!(seed));
        }
        if let Some(shape) = &request.shape {
            put_shape(&mut body, config.structured, shape);
        }
        if stream {
            body.insert("stream".into(), json!(true));
            body.insert("stream_options".into(), json!({"include_usage": true}));
        }
        put_extra(&mut body, config);
        WireRequest { path: "/chat/completions".into(), body: Value::Object(body).to_string() }
    }

    fn reply(&self, config: &ModelConfig, value: &Value) -> Result<ChatReply, ModelError> {
        let choice = value.pointer("/choices/0").ok_or_else(|| ModelError::Envelope("no `choices`".into()))?;
        let message = choice.get("message").ok_or_else(|| ModelError::Envelope("a choice without `message`".into()))?;
        if let Some(refusal) = message.get("refusal").and_then(Value::as_str).filter(|r| !r.is_empty()) {
            return Err(ModelError::Declined(shorten(refusal, 160)));
        }
        ended(choice.get("finish_reason").and_then(Value::as_str))?;
        let text = content(message.get("content"))?;
        if text.is_empty() {
            let called = message.get("tool_calls").is_some_and(|c| c.as_array().is_some_and(|c| !c.is_empty()))
                || message.get("function_call").is_some_and(Value::is_object);
            return Err(if called { ModelError::ToolCall } else { ModelError::Empty });
        }
        Ok(ChatReply { text, usage: usage(&config.prices, value.get("usage")) })
    }

    fn format(&self) -> Format {
        Format::ServerSent
    }

    fn event(&self, config: &ModelConfig, event: &str, state: &mut StreamState) -> Result<(), ModelError> {
        if event.trim() == "[DONE]" {
            state.done = true;
            return Ok(());
        }
        let value = read_event(event)?;
        if let Some(used) = value.get("usage").filter(|u| u.is_object()) {
            state.usage = usage(&config.prices, Some(used));
        }
        let Some(choice) = value.pointer("/choices/0") else { return Ok(()) };
        if choice.pointer("/delta/tool_calls").is_some_and(|c| c.as_array().is_some_and(|c| !c.is_empty())) {
            return Err(ModelError::ToolCall);
        }
        if let Some(refusal) = choice.pointer("/delta/refusal").and_then(Value::as_str).filter(|r| !r.is_empty()) {
            return Err(ModelError::Declined(shorten(refusal, 160)));
        }
        state.push(&content(choice.pointer("/delta/content"))?);
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
            state.finished = true;
            ended(Some(reason))?;
        }
        Ok(())
    }

    fn embed(&self, config: &ModelConfig, texts: &[String]) -> Result<WireRequest, ModelError> {
        let model = config.embedding_model.as_ref().unwrap_or(&config.model);
        Ok(WireRequest { path: "/embeddings".into(), body: json!({"model": model, "input": texts, "encoding_format": "float"}).to_string() })
    }

    fn vectors(&self, config: &ModelConfig, value: &Value, count: usize) -> Result<Embeddings, ModelError> {
        let data = value.get("data").and_then(Value::as_array).ok_or_else(|| ModelError::Envelope("no `data`".into()))?;
        let mut rows: Vec<(u64, &Value)> = Vec::with_capacity(data.len());
        for (at, row) in data.iter().enumerate() {
            let index = row.get("index").and_then(Value::as_u64).unwrap_or(at as u64);
            rows.push((index, row.get("embedding").ok_or_else(|| ModelError::Envelope("a row without `embedding`".into()))?));
        }
        rows.sort_by_key(|(index, _)| *index);
        let rows: Vec<Value> = rows.into_iter().map(|(_, v)| v.clone()).collect();
        Ok(Embeddings { vectors: read_vectors(&rows, count)?, usage: usage(&config.prices.of_embedding(), value.get("usage")) })
    }
}

fn messages(request: &ChatRequest) -> Value {
    let mut list = vec![json!({"role": "system", "content": request.prefix})];
    list.extend(request.messages.iter().map(|m| {
        let role = match m.speaker {
            Speaker::User => "user",
            Speaker::Model => "assistant",
        };
        json!({"role": role, "content": m.text})
    }));
    Value::Array(list)
}

fn put_shape(body: &mut Map<String, Value>, how: Structured, shape: &Shape) {
    match how {
        Structured::JsonSchema => {
            body.insert("response_format".into(), json!({"type": "json_schema", "json_schema": {"name": shape.name, "strict": true, "schema": shape.schema}}));
        }
        Structured::JsonObject => {
            body.insert("response_format".into(), json!({"type": "json_object", "schema": shape.schema}));
        }
        Structured::Grammar => {
            body.insert("grammar".into(), json!(shape.grammar));
        }
        Structured::Prompt => {}
    }
}

/// Text, or a list of text parts as some servers send it.
fn content(value: Option<&Value>) -> Result<String, ModelError> {
    match value {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Array(parts)) => Ok(parts.iter().filter_map(|p| p.get("text").and_then(Value::as_str)).collect()),
        Some(_) => Err(ModelError::Envelope("`content` is no text".into())),
    }
}

fn ended(reason: Option<&str>) -> Result<(), ModelError> {
    match reason {
        Some("length") => Err(ModelError::CutOff),
        Some("content_filter") => Err(ModelError::Declined("filtered by the provider".into())),
        _ => Ok(()),
    }
}

fn usage(prices: &Prices, value: Option<&Value>) -> Usage {
    let get = |path: &str| number(value.and_then(|v| v.pointer(path)));
    Usage::of(prices, get("/prompt_tokens"), get("/prompt_tokens_details/cached_tokens"), get("/completion_tokens"))
}
