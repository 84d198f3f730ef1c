//! Which model, where, with which key and limits: read from a YAML file or the environment, keys only ever by reference.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::error::ModelError;

/// A key. It prints as dots, is never serialised, and only the HTTP transport reads it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a key.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The key itself, for the one place that sends it.
    pub(super) fn expose(&self) -> &str {
        &self.0
    }

    /// `text` without the key, however a server quotes it: in any letter case, split by blanks or other signs, or in part. Letters and digits
    /// count, and whatever shows [`RUN`] of them in a row as the key has them is cut.
    pub fn redact(&self, text: &str) -> String {
        let mut quoted = READINGS.map(|escapes| self.quoted(text, escapes)).concat();
        quoted.sort_unstable_by_key(|q| q.start);
        let (mut out, mut from) = (String::with_capacity(text.len()), 0);
        for q in quoted {
            if q.start >= from {
                out.push_str(text.get(from..q.start).unwrap_or_default());
                out.push_str(CUT);
            }
            from = from.max(q.end);
        }
        out + text.get(from..).unwrap_or_default()
    }

    /// Where a text quotes the key.
    fn quoted(&self, text: &str, escapes: bool) -> Vec<Range<usize>> {
        let (key, said) = (self.signs(&self.0, escapes), self.signs(text, escapes));
        let run = key.len().min(RUN);
        let mut out: Vec<Range<usize>> = vec![];
        if run < LEAST {
            return out;
        }
        for shown in said.windows(run).filter(|shown| key.windows(run).any(|k| same(k, shown))) {
            let [(start, _), .., (end, _)] = *shown else { continue };
            match out.last_mut().filter(|q| start < q.end) {
                Some(open) => open.end = end + 1,
                None => out.push(start..end + 1),
            }
        }
        out
    }

    /// The same for a text that may have been cut within the key.
    pub fn redact_cut(&self, text: &str) -> String {
        let whole = self.redact(text);
        let (body, mark) = whole.strip_suffix('…').map_or((whole.as_str(), ""), |body| (body, "…"));
        let begun = READINGS.into_iter().filter_map(|escapes| {
            let (key, said) = (self.signs(&self.0, escapes), self.signs(body, escapes));
            let begins = |n: &usize| key.get(..*n).zip(said.get(said.len().saturating_sub(*n)..)).is_some_and(|(k, s)| same(k, s));
            (LEAST..key.len()).rev().find(begins).and_then(|n| Some(said.get(said.len() - n)?.0))
        });
        begun.min().map_or_else(|| whole.clone(), |at| format!("{}{CUT}{mark}", body.get(..at).unwrap_or_default()))
    }

    /// How many bytes at the end of a redacted text may become part of the key with what follows.
    pub(super) fn begun(&self, text: &str) -> usize {
        if text.ends_with(CUT) {
            return 0;
        }
        let open = READINGS.into_iter().filter_map(|escapes| {
            let (key, said) = (self.signs(&self.0, escapes), self.signs(text, escapes));
            let may = |n: &usize| said.get(said.len().saturating_sub(*n)..).is_some_and(|s| s.len() == *n && key.windows(*n).any(|k| same(k, s)));
            let longest = (1..key.len().min(RUN)).rev().find(may).filter(|_| key.len() >= LEAST)?;
            Some(text.len() - said.get(said.len() - longest)?.0)
        });
        open.max().unwrap_or(0)
    }

    /// The signs by which a key is known, in lower case, each with its place: letters and digits, or all but blanks of a key that has hardly
    /// any. With `escapes` what a backslash begins, as in JSON, is none.
    fn signs(&self, text: &str, escapes: bool) -> Vec<(usize, u8)> {
        let counts = if self.0.bytes().filter(u8::is_ascii_alphanumeric).count() < LEAST { u8::is_ascii_graphic } else { u8::is_ascii_alphanumeric };
        let mut out = vec![];
        let mut bytes = text.bytes().enumerate();
        while let Some((at, byte)) = bytes.next() {
            if escapes && byte == b'\\' && bytes.next().is_some_and(|(_, escaped)| escaped == b'u') {
                bytes.by_ref().take(4).for_each(drop);
            } else if byte != b'\\' && counts(&byte) {
                out.push((at, byte.to_ascii_lowercase()));
            }
        }
        out
    }
}

/// A backslash may begin an escape, or stand for itself: a key is looked for both ways.
const READINGS: [bool; 2] = [true, false];
/// So many signs of a key in a row are a quotation of it.
const RUN: usize = 8;
/// A key of fewer signs is none.
const LEAST: usize = 4;
/// Stands where a key stood.
const CUT: &str = "[key]";

/// Whether two stretches are of the same signs.
fn same(one: &[(usize, u8)], other: &[(usize, u8)]) -> bool {
    one.iter().map(|s| s.1).eq(other.iter().map(|s| s.1))
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// The wire format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Api {
    /// `/chat/completions` as OpenAI, vLLM, llama.cpp, Ollama, OpenRouter and many others offer it.
    #[default]
    OpenAi,
    /// Anthropic's `/v1/messages`.
    Anthropic,
    /// Ollama's own `/api/chat`, which takes a schema directly.
    Ollama,
}

/// How an OpenAI-compatible server is told the reply's shape; the other two interfaces have one way each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Structured {
    /// `response_format: {type: json_schema, …, strict: true}` (OpenAI, vLLM, llama-server, OpenRouter).
    #[default]
    JsonSchema,
    /// `response_format: {type: json_object, schema: …}` (llama-cpp-python, Together).
    JsonObject,
    /// `grammar: …` in GBNF (llama.cpp).
    Grammar,
    /// Nothing: the prompt asks and the parser checks.
    Prompt,
}

/// What an OpenAI-compatible server calls the bound on a reply's tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenLimit {
    /// `max_tokens`, which nearly every server knows.
    MaxTokens,
    /// `max_completion_tokens`, which OpenAI's newer models ask for.
    MaxCompletionTokens,
}

/// Limits in time and size. Each is exceeded by name (see [`ModelError`]).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Milliseconds to connect.
    pub connect_ms: u64,
    /// Milliseconds until the reply's headers.
    pub headers_ms: u64,
    /// Milliseconds between two pieces of the body.
    pub idle_ms: u64,
    /// Milliseconds for the exchange as a whole, retries included.
    pub total_ms: u64,
    /// Bytes of one reply's body.
    pub reply_bytes: usize,
    /// Tokens of one reply.
    pub reply_tokens: u32,
    /// Further attempts after the first.
    pub retries: u32,
    /// First pause before a retry, in milliseconds; it doubles, with jitter.
    pub backoff_ms: u64,
    /// Exchanges in flight; further ones wait for a place. A server on one machine does one or a few at a time, a hosted one many.
    pub concurrency: usize,
    /// Failures in a row that open the circuit breaker.
    pub breaker_failures: u32,
    /// Milliseconds the breaker stays open.
    pub breaker_ms: u64,
    /// Tokens (in and out) one session may use; 0 = no bound.
    pub session_tokens: u64,
    /// Micro-dollars one site may spend in this process; 0 = no bound.
    pub site_micro_usd: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect_ms: 3_000,
            headers_ms: 15_000,
            idle_ms: 10_000,
            total_ms: 30_000,
            reply_bytes: 1 << 20,
            reply_tokens: 800,
            retries: 2,
            backoff_ms: 250,
            concurrency: 64,
            breaker_failures: 5,
            breaker_ms: 20_000,
            session_tokens: 0,
            site_micro_usd: 0,
        }
    }
}

impl Limits {
    /// [`Limits::headers_ms`] as a duration.
    pub fn headers(&self) -> Duration {
        Duration::from_millis(self.headers_ms)
    }

    /// [`Limits::idle_ms`] as a duration.
    pub fn idle(&self) -> Duration {
        Duration::from_millis(self.idle_ms)
    }

    /// [`Limits::total_ms`] as a duration.
    pub fn total(&self) -> Duration {
        Duration::from_millis(self.total_ms)
    }
}

/// Micro-dollars per million tokens: a list price of 0.40 dollars a million is 400000.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Prices {
    /// Fresh input tokens.
    pub input: u64,
    /// Input tokens read from the provider's prompt cache; as `input` if unsaid, so that a cost is never too low.
    pub cached_input: Option<u64>,
    /// Input tokens written to the provider's prompt cache, where that costs more; as `input` if unsaid.
    pub cache_write: Option<u64>,
    /// Output tokens.
    pub output: u64,
    /// Tokens of texts that are embedded; as `input` if unsaid.
    pub embedding: Option<u64>,
}

impl Prices {
    /// The prices of the embedding model.
    pub fn of_embedding(&self) -> Self {
        Self { input: self.embedding.unwrap_or(self.input), ..Self::default() }
    }
}

/// One model at one endpoint.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelConfig {
    /// The model's name, as the server knows it.
    pub model: String,
    /// The wire format.
    pub api: Api,
    /// Base address; the interface's own path is appended (`…/v1` for OpenAI-compatible servers).
    pub base_url: String,
    /// Environment variable that holds the key; unset for servers without one.
    pub key_env: Option<String>,
    /// File that holds the key.
    pub key_file: Option<String>,
    /// How the reply's shape is requested from an OpenAI-compatible server.
    pub structured: Structured,
    /// What the server calls the bound on a reply's tokens; unsaid, OpenAI's own address gets the newer name and others the older.
    pub token_limit: Option<TokenLimit>,
    /// Sampling temperature; 0 for translation.
    pub temperature: f32,
    /// Sampling seed, where the server takes one.
    pub seed: Option<u64>,
    /// Model for embeddings, if it differs.
    pub embedding_model: Option<String>,
    /// Fields put into the request's body as they are; `null` removes a field the server does not know.
    pub extra: BTreeMap<String, Value>,
    /// Time, size and traffic limits.
    pub limits: Limits,
    /// Prices, for cost accounting.
    pub prices: Prices,
    /// The key itself; never read from or written to a file.
    #[serde(skip)]
    pub key: Option<Secret>,
}

impl Default for ModelConfig {
    fn default() -> Self {
        Self {
            model: String::new(),
            api: Api::OpenAi,
            base_url: String::new(),
            key_env: None,
            key_file: None,
            structured: Structured::JsonSchema,
            token_limit: None,
            temperature: 0.0,
            seed: None,
            embedding_model: None,
            extra: BTreeMap::new(),
            limits: Limits::default(),
            prices: Prices::default(),
            key: None,
        }
    }
}

impl ModelConfig {
    /// A model at an address, everything else by default.
    pub fn new(api: Api, base_url: &str, model: &str) -> Self {
        Self { model: model.into(), api, base_url: base_url.into(), ..Self::default() }
    }

    /// Reads a configuration file. The key is looked up by `env`, so that tests need no process environment.
    ///
    /// ```
    /// use duologue::llm::ModelConfig;
    /// let text = "model: small\nbase_url: http://127.0.0.1:8080/v1\nkey_env: MY_KEY\n";
    /// let config = ModelConfig::from_yaml(text, |name| (name == "MY_KEY").then(|| "secret-value".into())).unwrap();
    /// assert_eq!(config.model, "small");
    /// assert!(!format!("{config:?}").contains("secret-value"));
    /// ```
    pub fn from_yaml(text: &str, env: impl Fn(&str) -> Option<String>) -> Result<Self, ModelError> {
        let config: Self = serde_saphyr::from_str(text).map_err(|e| ModelError::Config(told(&e.to_string())))?;
        config.resolve(env)
    }

    /// Reads `DUOLOGUE_MODEL_CONFIG` (a file) or `DUOLOGUE_MODEL`, `DUOLOGUE_MODEL_API`, `DUOLOGUE_MODEL_URL`, `DUOLOGUE_MODEL_KEY`.
    /// `Ok(None)` when neither is set: the engine then works without a model.
    pub fn from_env(env: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, ModelError> {
        if let Some(path) = env("DUOLOGUE_MODEL_CONFIG").filter(|p| !p.is_empty()) {
            let text = std::fs::read_to_string(&path).map_err(|e| ModelError::Config(format!("`{path}`: {e}")))?;
            return Self::from_yaml(&text, env).map(Some);
        }
        let Some(model) = env("DUOLOGUE_MODEL").filter(|m| !m.is_empty()) else {
            return Ok(None);
        };
        let api = match env("DUOLOGUE_MODEL_API").as_deref() {
            None | Some("" | "openai") => Api::OpenAi,
            Some("anthropic") => Api::Anthropic,
            Some("ollama") => Api::Ollama,
            Some(other) => return Err(ModelError::Config(format!("unknown interface `{}`", crate::text::shorten(other, 40)))),
        };
        let key_env = if env("DUOLOGUE_MODEL_KEY").is_some() { Some("DUOLOGUE_MODEL_KEY".to_owned()) } else { None };
        let config = Self { model, api, base_url: env("DUOLOGUE_MODEL_URL").unwrap_or_default(), key_env, ..Self::default() };
        config.resolve(env).map(Some)
    }

    /// The field that bounds a reply's tokens.
    pub fn token_limit(&self) -> TokenLimit {
        let newer = self.base_url.starts_with("https://api.openai.com");
        self.token_limit.unwrap_or(if newer { TokenLimit::MaxCompletionTokens } else { TokenLimit::MaxTokens })
    }

    /// The same without what the server has just refused by name, if anything of it can be left out or said otherwise. Servers and
    /// models differ in the fields they take, and their own message is the surest way to learn it.
    pub fn without_refused(&self, error: &ModelError) -> Option<Self> {
        let ModelError::Status { status: status @ (400 | 422 | 500), message } = error else { return None };
        // A request that fails its validation is answered with 500 by llama-cpp-python; of other fields a 500 says nothing.
        let names = |field: &str| message.contains(field) && (*status != 500 || field == "response_format");
        let mut adapted = self.clone();
        if names("max_completion_tokens") && self.token_limit() == TokenLimit::MaxTokens {
            adapted.token_limit = Some(TokenLimit::MaxCompletionTokens);
        } else if names("max_completion_tokens") && self.token_limit.is_none() {
            adapted.token_limit = Some(TokenLimit::MaxTokens);
        } else if (names("response_format") || names("json_schema")) && self.structured == Structured::JsonSchema {
            adapted.structured = Structured::JsonObject;
        } else if names("response_format") && self.structured == Structured::JsonObject {
            adapted.structured = Structured::Prompt;
        } else {
            let field = ["temperature", "seed", "stream_options"].into_iter().find(|f| names(f) && !self.extra.contains_key(*f))?;
            adapted.extra.insert(field.to_owned(), Value::Null);
        }
        Some(adapted)
    }

    /// The key, if there is one.
    pub fn key(&self) -> Option<&Secret> {
        self.key.as_ref()
    }

    /// The same with a key.
    #[must_use]
    pub fn with_key(mut self, key: Secret) -> Self {
        self.key = Some(key);
        self
    }

    fn resolve(mut self, env: impl Fn(&str) -> Option<String>) -> Result<Self, ModelError> {
        if self.model.is_empty() {
            return Err(ModelError::Config("`model` is missing".into()));
        }
        if self.base_url.is_empty() {
            self.base_url = match self.api {
                Api::OpenAi => "https://api.openai.com/v1",
                Api::Anthropic => "https://api.anthropic.com",
                Api::Ollama => "http://127.0.0.1:11434",
            }
            .to_owned();
        }
        while self.base_url.ends_with('/') {
            self.base_url.pop();
        }
        if !(self.base_url.starts_with("http://") || self.base_url.starts_with("https://")) {
            return Err(ModelError::Config(format!("`base_url` must begin with http:// or https://, not `{}`", crate::text::shorten(&self.base_url, 60))));
        }
        if self.base_url.contains('@') {
            return Err(ModelError::Config("`base_url` must not hold a user or password; use `key_env` or `key_file`".into()));
        }
        if self.limits.concurrency == 0 || self.limits.reply_bytes == 0 || self.limits.reply_tokens == 0 || self.limits.total_ms == 0 {
            return Err(ModelError::Config("`concurrency`, `reply_bytes`, `reply_tokens` and `total_ms` must be at least 1".into()));
        }
        if let Some(name) = &self.key_env {
            if !name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_') {
                // Whoever wrote the key itself here should not see it in a log.
                return Err(ModelError::Config("`key_env` is the name of an environment variable, in capitals, not the key itself".into()));
            }
            let key = env(name).map(|k| k.trim().to_owned()).filter(|k| !k.is_empty());
            self.key = Some(Secret::new(key.ok_or_else(|| ModelError::Config(format!("the environment variable `{name}` is not set")))?));
        } else if let Some(path) = &self.key_file {
            let key = std::fs::read_to_string(path).map_err(|e| ModelError::Config(format!("`{path}`: {e}")))?;
            self.key = Some(Secret::new(key.trim()));
        }
        if self.key.as_ref().is_some_and(|k| k.expose().chars().any(|c| c.is_control() || !c.is_ascii())) {
            return Err(ModelError::Config("the key holds characters that no HTTP header may hold".into()));
        }
        Ok(self)
    }
}

/// The first line of a reader's message: what follows quotes the file, which may hold a key that does not belong there.
fn told(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    let line = crate::text::shorten(line.strip_prefix("error: ").unwrap_or(line), 400);
    let hint = if line.contains("unknown field `key`") { "; a key is never written into this file: `key_env` names a variable, `key_file` a file" } else { "" };
    line + hint
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_never_prints() {
        let config = ModelConfig::new(Api::OpenAi, "http://localhost/v1", "m").with_key(Secret::new("sk-very-secret"));
        let secret = config.key().unwrap();
        for shown in [format!("{config:?}"), format!("{config:#?}"), format!("{secret}"), format!("{secret:?}"), secret.redact("bad key sk-very-secret!")] {
            assert!(!shown.contains("very-secret"), "{shown}");
        }
        assert_eq!(secret.redact("bad SK-Very-Secret, sk-very-secret"), "bad [key], [key]");
        assert_eq!((secret.redact_cut("you sent sk-very-se…"), secret.redact_cut("ask")), ("you sent [key]…".into(), "ask".into()));
    }

    /// A server may quote a key in pieces, with signs between, or without its beginning.
    #[test]
    fn a_key_in_pieces_is_cut() {
        let secret = Secret::new("sk-proj-Ab12Cd34Ef56Gh78");
        for (said, safe) in [
            ("key sk-proj Ab12Cd34 Ef56Gh78 is wrong", "key [key] is wrong"),
            ("key ...Cd34Ef56Gh78", "key ...[key]"),
            ("key s k - p r o j - A b 1 2!", "key [key]!"),
            ("key AB12_CD34.EF56 or Gh78", "key [key] or Gh78"),
            (r"key Ab12\nCd34\u000aEf56", "key [key]"),
            (r"key \Ab12Cd34\", r"key \[key]\"),
            ("your project Ab12 is unknown", "your project Ab12 is unknown"),
        ] {
            assert_eq!(secret.redact(said), safe);
        }
        assert_eq!(Secret::new("$%&/()=?").redact("not $%&/ ()=?!"), "not [key]!");
    }

    proptest::proptest! {
        /// Whatever stands between its signs and around it: eight of a key in a row are never shown, all at once or piece by piece.
        #[test]
        fn no_part_of_a_key_is_shown(key in "[a-zA-Z0-9_-]{12,40}", from in 0usize..8, between in "[ .,:/_\n-]{0,3}", around in "[ -~äß]{0,12}", cut in 0usize..60) {
            let secret = Secret::new(&key);
            let quoted: String = key.get(from..).unwrap_or_default().chars().map(|c| format!("{c}{between}")).collect();
            let said = format!("{around}{quoted}{around}");
            let letters = |t: &str| t.to_lowercase().chars().filter(|c| c.is_ascii_alphanumeric() || *c == 'ä').collect::<String>();
            let (own, cut) = (letters(&key), said.floor_char_boundary(cut));
            let mut streamed = crate::llm::remote::StreamState::of(Some(secret.clone()));
            [&said[..cut], &said[cut..]].iter().for_each(|piece| streamed.push(piece));
            streamed.end();
            for shown in [secret.redact(&said), secret.redact_cut(&said), streamed.fresh] {
                let shown = letters(&shown.replace("[key]", "ä"));
                let leaks = own.len() >= 8 && own.as_bytes().windows(8).any(|w| shown.as_bytes().windows(8).any(|s| s == w));
                proptest::prop_assert!(!leaks, "{said:?} gave {shown:?}");
            }
        }
    }

    #[test]
    fn what_a_server_refuses_by_name_is_left_out_once() {
        let refused = |message: &str| ModelError::Status { status: 400, message: message.into() };
        let config = ModelConfig::new(Api::OpenAi, "http://localhost/v1", "m");
        let newer = config.without_refused(&refused("'max_tokens' is not supported, use 'max_completion_tokens'")).unwrap();
        assert_eq!(newer.token_limit(), TokenLimit::MaxCompletionTokens);
        let object = config.without_refused(&refused("body.response_format.type: expected 'json_object'")).unwrap();
        assert_eq!(object.structured, Structured::JsonObject);
        let prompt = object.without_refused(&refused("response_format is unknown")).unwrap();
        assert_eq!((prompt.structured, prompt.without_refused(&refused("response_format is unknown"))), (Structured::Prompt, None));
        let cold = config.without_refused(&refused("temperature must be 1")).unwrap();
        assert_eq!((cold.extra.get("temperature"), cold.without_refused(&refused("temperature must be 1"))), (Some(&Value::Null), None));
        assert_eq!(config.without_refused(&refused("bad request")), None);
        assert_eq!(config.without_refused(&ModelError::Status { status: 500, message: "temperature".into() }), None);
        let odd = ModelError::Status { status: 500, message: "'loc': ('body', 'response_format', 'type')".into() };
        assert_eq!(config.without_refused(&odd).unwrap().structured, Structured::JsonObject);
        assert_eq!(ModelConfig::new(Api::OpenAi, "https://api.openai.com/v1", "m").token_limit(), TokenLimit::MaxCompletionTokens);
    }

    #[test]
    fn wrong_configurations_are_refused_by_name() {
        for (yaml, part) in [
            ("base_url: http://x\n", "`model` is missing"),
            ("model: m\nbase_url: ftp://x\n", "http"),
            ("model: m\nbase_url: http://u:p@x\n", "user or password"),
            ("model: m\nkey: sk-123\n", "key"),
            ("model: m\nkey: sk-123\n", "line 2 column 1"),
            ("model: m\nkey_env: NOT_SET\n", "NOT_SET"),
            ("model: m\nkey_env: sk-123\n", "in capitals"),
            ("model: m\nlimits: {concurrency: 0}\n", "at least 1"),
            ("model: m\nlimits: {total: 5}\n", "total"),
        ] {
            let error = ModelConfig::from_yaml(yaml, |_| None).unwrap_err().to_string();
            assert!(error.contains(part) && !error.contains("sk-123"), "{yaml} gave {error}");
        }
    }

    #[test]
    fn the_environment_names_a_model_or_none() {
        assert_eq!(ModelConfig::from_env(|_| None).unwrap(), None);
        let env = |name: &str| match name {
            "DUOLOGUE_MODEL" => Some("tiny".into()),
            "DUOLOGUE_MODEL_API" => Some("ollama".into()),
            _ => None,
        };
        let config = ModelConfig::from_env(env).unwrap().unwrap();
        assert_eq!((config.api, config.base_url.as_str()), (Api::Ollama, "http://127.0.0.1:11434"));
    }
}
