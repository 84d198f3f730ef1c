//! What a request hears when it is not done: a status, a stable code, a message, and what helps.

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::facts::StoreError;
use crate::reason::ReasonError;
use crate::turn::TurnError;
use crate::turn::what_if::AskError;

/// Why a request was not done.
#[derive(Clone, Debug)]
pub struct ApiError {
    /// The status.
    pub status: StatusCode,
    /// A stable code.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// What helps.
    pub help: String,
    /// What the speaker of a turn hears.
    pub text: Option<&'static str>,
    /// In how many seconds it makes sense to come back.
    pub retry_after: Option<u64>,
}

impl ApiError {
    /// An error from its parts.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), help: help.into(), text: None, retry_after: None }
    }

    /// A request that cannot be read.
    pub fn bad(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", message, help)
    }

    /// No bearer, or one that does not hold.
    pub fn unauthorised(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorised", message, "send `Authorization: Bearer TOKEN` with a token of this service that has not expired")
    }

    /// A bearer that is for something else.
    pub fn forbidden(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", message, help)
    }

    /// Nothing there.
    pub fn missing(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message, help)
    }

    /// Too many wait.
    pub fn busy() -> Self {
        Self {
            retry_after: Some(1),
            ..Self::new(StatusCode::TOO_MANY_REQUESTS, "busy", "too many requests are waiting", "come back after the time in Retry-After")
        }
    }

    /// A defect of the service; what it was is for the log only.
    pub fn internal(detail: &str) -> Self {
        tracing::error!(detail, "a request failed");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the service failed", "try again; the operator finds the cause in the log")
    }

    /// As a body says it.
    pub fn shown(&self) -> serde_json::Value {
        let mut out = json!({ "error": { "code": self.code, "message": self.message, "help": self.help } });
        if let (Some(text), Some(map)) = (self.text, out.as_object_mut()) {
            map.insert("text".into(), text.into());
        }
        out
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.shown())).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<StoreError> for ApiError {
    fn from(e: StoreError) -> Self {
        match &e {
            StoreError::UnknownSite(site) => no_site(site),
            StoreError::BadName { .. } | StoreError::TooLarge { .. } | StoreError::UnknownVersion { .. } => Self::bad(e.to_string(), e.help()),
            StoreError::OtherRole { .. } => Self::forbidden(e.to_string(), e.help()),
            StoreError::Busy { .. } | StoreError::Stale { .. } | StoreError::Full(_) => {
                tracing::warn!("the store did not take a turn: {e}");
                let message = "the store cannot take this now; nothing was changed";
                Self { retry_after: Some(1), ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message, "send it again with the same `request`") }
            }
            _ => Self::internal(&e.to_string()),
        }
    }
}

impl From<TurnError> for ApiError {
    fn from(e: TurnError) -> Self {
        let text = Some(e.polite());
        let error = match e {
            TurnError::Store(e) => e.into(),
            TurnError::UnknownRole { .. } | TurnError::NoTranslator => Self::bad(e.to_string(), "see /v1/agents for what there is"),
            TurnError::Reason(ReasonError::OverBudget { .. }) => Self::new(StatusCode::UNPROCESSABLE_ENTITY, "over_budget", e.to_string(), "say less at once"),
            TurnError::OverTime { .. } => {
                Self { retry_after: Some(2), ..Self::new(StatusCode::GATEWAY_TIMEOUT, "over_time", e.to_string(), "send it again with the same `request`") }
            }
            TurnError::Overtaken(_) => Self::new(StatusCode::CONFLICT, "overtaken", e.to_string(), "read the session again"),
            e => Self::internal(&e.to_string()),
        };
        Self { text, ..error }
    }
}

impl From<AskError> for ApiError {
    fn from(e: AskError) -> Self {
        match e {
            AskError::Turn(e) => e.into(),
            e => Self::new(StatusCode::UNPROCESSABLE_ENTITY, "cannot_say", e.to_string(), "ask with predicates of the role's vocabulary"),
        }
    }
}

/// A site that is not served.
pub fn no_site(site: &str) -> ApiError {
    ApiError::missing(format!("there is no site `{site}`"), "the operator names sites with --site")
}

/// No such path.
pub async fn no_such_place(uri: axum::http::Uri) -> ApiError {
    ApiError::missing(format!("there is nothing at `{}`", uri.path()), "see docs/service.md or /openapi.json for what there is")
}

/// No such method.
pub async fn no_such_method() -> ApiError {
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method", "this address takes another method", "see docs/service.md or /openapi.json for what there is")
}
