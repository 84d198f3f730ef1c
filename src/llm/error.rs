//! Why an exchange with a model gave nothing usable: every fault has a name, so that callers fall back instead of guessing.

use std::time::Duration;

/// Where a time-out struck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Waiting for a free slot of the concurrency limit.
    Queue,
    /// Connecting, sending and waiting for the reply's headers.
    Headers,
    /// Between two pieces of the body.
    Body,
    /// The exchange as a whole, retries included.
    Total,
}

impl std::fmt::Display for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Queue => "a free slot",
            Self::Headers => "the reply's headers",
            Self::Body => "the reply's body",
            Self::Total => "the whole exchange",
        })
    }
}

/// A failed exchange.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// The configuration cannot be used.
    #[error("the model configuration is unusable: {0}")]
    Config(String),
    /// No connection, or it broke before the reply's headers.
    #[error("the model's server cannot be reached: {0}")]
    Unreachable(String),
    /// The connection broke within the reply.
    #[error("the model's server broke off its reply: {0}")]
    BrokenOff(String),
    /// Too slow.
    #[error("no reply within {limit:?} ({stage})")]
    TimedOut {
        /// Where.
        stage: Stage,
        /// The limit that was exceeded.
        limit: Duration,
    },
    /// The server asks for less traffic.
    #[error("the model's server limits the rate")]
    RateLimited {
        /// How long it asks to wait, if it said so.
        retry_after: Option<Duration>,
    },
    /// The server answered with an error status.
    #[error("the model's server answered with status {status}: {message}")]
    Status {
        /// The HTTP status.
        status: u16,
        /// The server's own words, shortened, with secrets removed.
        message: String,
    },
    /// The server points elsewhere; a key is never sent to a second address.
    #[error("the model's server redirects (status {0}), which is not followed")]
    Redirected(u16),
    /// The reply is larger than its budget.
    #[error("the model's reply exceeds {limit} bytes")]
    TooLarge {
        /// The budget.
        limit: usize,
    },
    /// Nothing came back.
    #[error("the model's reply is empty")]
    Empty,
    /// The reply is no UTF-8.
    #[error("the model's reply is not valid UTF-8")]
    NotUtf8,
    /// The reply's content type is neither JSON nor a stream.
    #[error("the model's server sent content type `{0}`")]
    ContentType(String),
    /// The envelope is no JSON, or not the one this interface sends.
    #[error("the model's reply cannot be read: {0}")]
    Envelope(String),
    /// The reply came, but is not what was asked for, even after the repair round.
    #[error("the model's reply is no list of the role's predicates: {0}")]
    Unusable(String),
    /// The model ran into its token limit.
    #[error("the model's reply was cut at its token limit")]
    CutOff,
    /// The model declined.
    #[error("the model declined: {0}")]
    Declined(String),
    /// The model called a tool where text was asked for.
    #[error("the model called a tool instead of replying")]
    ToolCall,
    /// Too many failures in a row; no request is sent until the cool-down ends.
    #[error("the model's server failed repeatedly; not asked again for {} s", retry_in.as_secs().saturating_add(1))]
    CircuitOpen {
        /// Time left.
        retry_in: Duration,
    },
    /// The token or cost budget is used up.
    #[error("the {scope} has used its model budget of {limit}")]
    OverBudget {
        /// `turn`, `session` or `site`.
        scope: &'static str,
        /// The budget, with its unit.
        limit: String,
    },
    /// The endpoint cannot do what was asked (Anthropic has no embeddings).
    #[error("this interface offers no {0}")]
    Unsupported(&'static str),
    /// A cassette does not hold this exchange, or cannot be read or written.
    #[error("cassette: {0}")]
    Cassette(String),
    /// The receiver of the stream asked to stop.
    #[error("the stream was stopped by its receiver")]
    Stopped,
}

impl ModelError {
    /// Whether asking again may help: overload and transport faults, never a wrong request.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::BrokenOff(_) | Self::RateLimited { .. } | Self::Empty => true,
            Self::TimedOut { stage, .. } => matches!(stage, Stage::Headers | Stage::Body),
            Self::Status { status, .. } => matches!(status, 408 | 409 | 425 | 500 | 502 | 503 | 504 | 520..=529),
            _ => false,
        }
    }

    /// Whether a request went out, which counts whatever came of it.
    pub fn was_sent(&self) -> bool {
        let held = matches!(self, Self::Config(_) | Self::CircuitOpen { .. } | Self::OverBudget { .. } | Self::Unsupported(_) | Self::Cassette(_));
        !held && !matches!(self, Self::TimedOut { stage: Stage::Queue, .. })
    }

    /// Whether the server may have worked on the request, and so bills its tokens.
    pub fn was_worked_on(&self) -> bool {
        self.was_sent() && !matches!(self, Self::Unreachable(_) | Self::RateLimited { .. } | Self::Status { .. } | Self::Redirected(_))
    }

    /// Whether the fault is the server's (and counts for the circuit breaker) rather than the caller's.
    pub fn is_server_fault(&self) -> bool {
        self.is_transient()
            || matches!(self, Self::TimedOut { stage: Stage::Total, .. } | Self::TooLarge { .. } | Self::NotUtf8 | Self::ContentType(_) | Self::Envelope(_))
    }

    /// The same with `change` applied to every text that may come from the server.
    #[must_use]
    pub fn map_text(self, change: impl Fn(&str) -> String) -> Self {
        match self {
            Self::Unreachable(t) => Self::Unreachable(change(&t)),
            Self::BrokenOff(t) => Self::BrokenOff(change(&t)),
            Self::Status { status, message } => Self::Status { status, message: change(&message) },
            Self::ContentType(t) => Self::ContentType(change(&t)),
            Self::Envelope(t) => Self::Envelope(change(&t)),
            Self::Declined(t) => Self::Declined(change(&t)),
            other => other,
        }
    }

    /// What the operator can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Unreachable(_) => "is the server running, and is `base_url` right?",
            Self::Status { status: 401 | 403, .. } => "is the key right that `key_env` or `key_file` names?",
            Self::Status { status: 404, .. } => "are `model` and `base_url` right? OpenAI-compatible servers usually want a base ending in /v1",
            Self::Status { status: 400 | 422, .. } => "the server refuses the request: `structured` and `extra` change what is sent",
            Self::Redirected(_) => "put the address that it points to into `base_url`",
            Self::TimedOut { stage: Stage::Queue, .. } => "more exchanges at once need a higher `limits.concurrency`",
            Self::TimedOut { .. } => "a slow model needs higher `limits` (`headers_ms`, `idle_ms`, `total_ms`)",
            Self::Envelope(_) | Self::ContentType(_) | Self::NotUtf8 => "does the server speak the interface that `api` names?",
            Self::Unusable(_) => "a larger model, or a server that keeps replies in shape (`structured`), follows the schema",
            Self::CutOff => "raise `limits.reply_tokens`; models that think before they answer need more",
            Self::OverBudget { .. } => "`limits.session_tokens` and `limits.site_micro_usd` set the budgets",
            Self::RateLimited { .. } => "the provider's limit for this key is reached",
            Self::Cassette(_) => "record the exchange with DUOLOGUE_MODEL_RECORD=FILE",
            _ => return None,
        })
    }

    /// A stable word for reports.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Config(_) => "config",
            Self::Unreachable(_) => "unreachable",
            Self::BrokenOff(_) => "broken_off",
            Self::TimedOut { .. } => "timed_out",
            Self::RateLimited { .. } => "rate_limited",
            Self::Status { .. } => "status",
            Self::Redirected(_) => "redirected",
            Self::TooLarge { .. } => "too_large",
            Self::Empty => "empty",
            Self::NotUtf8 => "not_utf8",
            Self::ContentType(_) => "content_type",
            Self::Envelope(_) => "envelope",
            Self::Unusable(_) => "unusable",
            Self::CutOff => "cut_off",
            Self::Declined(_) => "declined",
            Self::ToolCall => "tool_call",
            Self::CircuitOpen { .. } => "circuit_open",
            Self::OverBudget { .. } => "over_budget",
            Self::Unsupported(_) => "unsupported",
            Self::Cassette(_) => "cassette",
            Self::Stopped => "stopped",
        }
    }
}
