//! The web console: its files, all in the binary, and what its pages must know of the domain.

use std::sync::{Arc, LazyLock};

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ring::digest;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Service;
use super::access::Bearer;
use super::error::ApiError;

/// How many lines around a rule are shown.
const AROUND: usize = 4;

/// What the console may load: its own scripts, styles and pictures, and the service it came from.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; \
                      form-action 'self'; frame-ancestors 'none'";

macro_rules! files {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!("web/", $name)))),*] };
}

/// The console's files, the page first.
static FILES: &[(&str, &str)] = files![
    "index.html",
    "mark.svg",
    "base.css",
    "counter.css",
    "turn.css",
    "pages.css",
    "theme.js",
    "app.js",
    "api.js",
    "authors.js",
    "counter.js",
    "desk.js",
    "dom.js",
    "flow.js",
    "format.js",
    "keep.js",
    "lane.js",
    "layout.js",
    "menu.js",
    "proof.js",
    "shared.js",
    "store.js",
    "ticket.js",
    "timeline.js",
    "turn.js",
];

/// Changes with any of them, so that a browser keeps what it has until then.
static TAG: LazyLock<String> = LazyLock::new(|| {
    let mut all = digest::Context::new(&digest::SHA256);
    FILES.iter().for_each(|(_, text)| all.update(text.as_bytes()));
    let hash = all.finish();
    format!("\"{}\"", super::hex(hash.as_ref().get(..8).unwrap_or_default()))
});

fn kind(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        _ => "image/svg+xml",
    }
}

/// The page.
pub async fn page(headers: HeaderMap) -> Response {
    file(Path("index.html".to_owned()), headers).await
}

/// One file of the console.
pub async fn file(Path(name): Path<String>, headers: HeaderMap) -> Response {
    let Some((name, text)) = FILES.iter().find(|(n, _)| *n == name) else {
        return ApiError::missing(format!("there is nothing at /{name}"), "the console is at /, the addresses of the service are in docs/service.md")
            .into_response();
    };
    let known = headers.get(header::IF_NONE_MATCH).is_some_and(|tag| tag.as_bytes() == TAG.as_bytes());
    let mut response = if known { StatusCode::NOT_MODIFIED.into_response() } else { ([(header::CONTENT_TYPE, kind(name))], *text).into_response() };
    let own = response.headers_mut();
    own.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    own.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Ok(tag) = HeaderValue::from_str(&TAG) {
        own.insert(header::ETAG, tag);
    }
    response
}

/// What the domain's author planned for the console (`kb/<domain>/console.json`); nothing, where the usual panes do.
pub async fn plan(State(service): State<Arc<Service>>) -> Result<Json<Value>, ApiError> {
    let domain = service.engine.domain();
    let name = format!("kb/{}/console.json", domain.ontology.domain);
    let plan = domain.files.read(&name).map(|text| serde_json::from_str(&text)).transpose();
    Ok(Json(plan.map_err(|e| ApiError::internal(&format!("{name}: {e}")))?.unwrap_or_else(|| json!({}))))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    file: String,
    line: usize,
}

/// The lines around a rule or a fact that a proof names; for operators, since rules are their author's.
pub async fn source(State(service): State<Arc<Service>>, bearer: Bearer, Query(at): Query<Line>) -> Result<Json<Value>, ApiError> {
    if !matches!(bearer, Bearer::Operator(_)) {
        return Err(ApiError::unauthorised("rules are shown to operators only"));
    }
    let named = (at.file.starts_with("rules/") || at.file.starts_with("kb/")) && [".lp", ".yaml", ".json"].iter().any(|e| at.file.ends_with(e));
    let text = named.then(|| service.engine.domain().files.read(&at.file)).flatten();
    let text = text.ok_or_else(|| {
        ApiError::missing(format!("there is no file `{}` of rules or facts", at.file), "name a file as proofs do, such as rules/core/turn.lp")
    })?;
    let from = at.line.saturating_sub(AROUND).max(1);
    let lines: Vec<&str> = text.lines().skip(from - 1).take(2 * AROUND + 1).collect();
    Ok(Json(json!({ "file": at.file, "line": at.line, "from": from, "lines": lines })))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A module that is written but not listed would be missing in the binary only.
    #[test]
    fn every_file_of_the_console_is_served() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/serve/web");
        let mut there: Vec<String> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        let mut listed: Vec<String> = FILES.iter().map(|(n, _)| (*n).to_owned()).collect();
        there.sort();
        listed.sort();
        assert_eq!(there, listed);
    }

    /// The policy forbids them, so they would silently not run.
    #[test]
    fn no_page_has_scripts_or_styles_of_its_own() {
        let page = FILES[0].1;
        assert!(!page.contains("<style") && !page.contains(" style=") && !page.contains(" onclick="));
        assert!(page.split("<script").skip(1).all(|s| s.split('>').next().unwrap().contains("src=")));
    }
}
