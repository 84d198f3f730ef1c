//! Who may do what: operators' tokens of a site and a role, kept as hashes in a file, and signed tokens of single conversations, kept nowhere.

mod keep;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::{digest, hmac};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use super::Service;
use super::error::ApiError;

pub(super) use keep::random;
pub use keep::{Keys, KeysError, New};

/// What the token of a conversation allows: speaking and reading in this one conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// The site.
    #[serde(rename = "s")]
    pub site: String,
    /// The session.
    #[serde(rename = "c")]
    pub session: String,
    /// The role.
    #[serde(rename = "r")]
    pub role: String,
    /// Until when, in milliseconds since 1970.
    #[serde(rename = "e")]
    pub expires: i64,
    /// The operator's token that it was made with, if any: it falls with it.
    #[serde(rename = "b", default, skip_serializing_if = "String::is_empty")]
    pub by: String,
}

/// An operator's token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// Its public name.
    pub id: String,
    /// The hash of its secret.
    pub hash: String,
    /// The site it is for.
    pub site: String,
    /// The role that its bearer may open conversations in.
    pub role: String,
    /// Whether its bearer may read all conversations of the site.
    #[serde(default)]
    pub observe: bool,
    /// When it was made, in milliseconds since 1970.
    pub created: i64,
    /// Until when it holds.
    pub expires: i64,
    /// What it is for, in the operator's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// Who sends a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bearer {
    /// Nobody in particular.
    Nobody,
    /// The speaker of one conversation.
    Speaker(Claims),
    /// The bearer of an operator's token.
    Operator(Token),
}

impl Bearer {
    /// The site that the bearer belongs to; to others it has no access whatever it asks for.
    pub fn of_site(&self, site: &str) -> Result<(), ApiError> {
        let own = match self {
            Self::Nobody => return Err(ApiError::unauthorised("this needs a token")),
            Self::Speaker(c) => &c.site,
            Self::Operator(t) => &t.site,
        };
        if own == site { Ok(()) } else { Err(ApiError::forbidden("this token is for another site", "use a token of this site")) }
    }

    /// Whether all conversations of the bearer's site may be read.
    pub fn observes(&self) -> bool {
        matches!(self, Self::Operator(t) if t.observe)
    }

    /// Only who may read all conversations of the site.
    pub fn observing(&self, site: &str) -> Result<(), ApiError> {
        self.of_site(site)?;
        let help = "use a token that was made with `duologue token new --observe`";
        if self.observes() { Ok(()) } else { Err(ApiError::forbidden("this token may not read other conversations", help)) }
    }
}

impl FromRequestParts<Arc<Service>> for Bearer {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<Self, ApiError> {
        token_of(&parts.headers)?.map_or(Ok(Self::Nobody), |token| service.keys.bearer(token, service.now()))
    }
}

/// The token that a request brings in its one header for it.
pub fn token_of(headers: &HeaderMap) -> Result<Option<&str>, ApiError> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = given.next() else { return Ok(None) };
    if given.next().is_some() {
        return Err(ApiError::unauthorised("two Authorization headers"));
    }
    let token = value.to_str().ok().and_then(|v| v.strip_prefix("Bearer ").or_else(|| v.strip_prefix("bearer "))).map(str::trim);
    token.map(Some).ok_or_else(|| ApiError::unauthorised("the Authorization header holds no bearer token"))
}

/// The token of a conversation.
pub fn sign(key: &hmac::Key, claims: &Claims) -> String {
    let body = URL_SAFE_NO_PAD.encode(serde_json::to_vec(claims).unwrap_or_default());
    let tag = hmac::sign(key, body.as_bytes());
    format!("{body}.{}", URL_SAFE_NO_PAD.encode(tag))
}

/// What a conversation's token claims, if this key signed it.
pub fn verify(key: &hmac::Key, token: &str) -> Option<Claims> {
    let (body, tag) = token.split_once('.')?;
    let tag = URL_SAFE_NO_PAD.decode(tag).ok()?;
    hmac::verify(key, body.as_bytes(), &tag).ok()?;
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(body).ok()?).ok()
}

/// The hash of a secret, as it is kept. Secrets are 256 random bits, so one round is enough.
pub fn hash(secret: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, secret.as_bytes()))
}
