//! Functions over HTTP: the inputs as a JSON body, the answer as JSON.

use futures_util::StreamExt;
use reqwest::redirect::Policy;
use serde_json::Value;

use super::{ActError, Call, MAX_ANSWER};

/// Posts a call. The call's name goes along as an idempotency key; redirects are not followed, as they could lead inside.
pub(super) async fn call(name: &str, url: &str, call: &Call, id: &str) -> Result<Value, ActError> {
    let answer = client(name, Policy::none())?.post(url).header("idempotency-key", id).json(&call.inputs).send().await.map_err(|e| {
        let connects = e.is_connect() || e.is_builder();
        if connects { unreachable(name, e) } else { ActError::Failed(name.to_owned(), e.without_url().to_string()) }
    })?;
    let body = body(name, answer).await?;
    serde_json::from_slice(&body).map_err(|e| ActError::Unreadable(name.to_owned(), e.to_string()))
}

/// What stands at an address. Redirects are followed a little way: its author chose the address.
pub(super) async fn page(url: &str) -> Result<String, ActError> {
    let answer = client(url, Policy::limited(5))?.get(url).send().await.map_err(|e| unreachable(url, e))?;
    Ok(String::from_utf8_lossy(&body(url, answer).await?).into_owned())
}

fn client(name: &str, redirects: Policy) -> Result<reqwest::Client, ActError> {
    // rustls is built without a default provider; whoever comes first installs one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().redirect(redirects).build().map_err(|e| unreachable(name, e))
}

fn unreachable(name: &str, e: reqwest::Error) -> ActError {
    ActError::Unreachable(name.to_owned(), e.without_url().to_string())
}

/// The whole of an answer that is none too long.
async fn body(name: &str, answer: reqwest::Response) -> Result<Vec<u8>, ActError> {
    let status = answer.status();
    let mut body = Vec::new();
    let mut stream = answer.bytes_stream();
    while let Some(part) = stream.next().await {
        let part = part.map_err(|e| ActError::Failed(name.to_owned(), e.without_url().to_string()))?;
        if body.len() + part.len() > MAX_ANSWER {
            return Err(ActError::Unreadable(name.to_owned(), format!("longer than {MAX_ANSWER} bytes")));
        }
        body.extend_from_slice(&part);
    }
    if !status.is_success() {
        return Err(ActError::Failed(name.to_owned(), format!("status {}", status.as_u16())));
    }
    Ok(body)
}
