//! The same conversations through other doors: chat completions, the Model Context Protocol, and what the service says of itself.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::server::{Server, start};

#[tokio::test(flavor = "multi_thread")]
async fn clients_of_chat_completions_hold_a_conversation() {
    let server = start().await;
    let ask = |text: &str, user: &str| json!({ "model": "drive_thru/customer", "user": user, "messages": [{ "role": "user", "content": text }] });
    let models = server.get("/v1/models", "").await;
    assert!(models["data"].as_array().unwrap().iter().any(|m| m["id"] == "drive_thru/customer"));
    let first = server.post("/v1/chat/completions", &server.manager, ask("two soft tacos", "table 4")).await;
    assert_eq!(first["object"], "chat.completion");
    assert_eq!(first["choices"][0]["message"]["content"], first["duologue"]["text"]);
    let second = server.post("/v1/chat/completions", &server.manager, ask("make it three", "table 4")).await;
    assert_eq!(second["duologue"]["turn"], 2, "the same user is the same conversation: {second}");
    let other = server.post("/v1/chat/completions", &server.manager, ask("one soft taco", "table 5")).await;
    assert_eq!(other["duologue"]["turn"], 1);

    let (id, token) = server.open("main", "customer", "").await;
    let mut streamed = ask("two soft tacos", "");
    streamed["stream"] = json!(true);
    let url = format!("http://{}/v1/chat/completions", server.at);
    let text = server.client.post(url).bearer_auth(&token).body(streamed.to_string()).send().await.unwrap().text().await.unwrap();
    let chunks: Vec<Value> =
        text.lines().filter_map(|l| l.strip_prefix("data: ")).filter(|l| *l != "[DONE]").map(|l| serde_json::from_str(l).unwrap()).collect();
    let said: String = chunks.iter().filter_map(|c| c["choices"][0]["delta"]["content"].as_str()).collect();
    let history = server.get(&format!("/v1/sessions/{id}/history"), &token).await;
    assert_eq!(history["turns"][0]["text"], said.as_str());
    assert_eq!(chunks.last().unwrap()["choices"][0]["finish_reason"], "stop");
    assert!(text.trim_end().ends_with("data: [DONE]"));
}

async fn rpc(server: &Server, token: &str, session: &str, id: u64, method: &str, params: Value) -> (Option<String>, Value) {
    let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    let mut request = server.client.post(format!("http://{}/mcp", server.at)).header("accept", "application/json, text/event-stream").body(body.to_string());
    if !token.is_empty() {
        request = request.bearer_auth(token);
    }
    if !session.is_empty() {
        request = request.header("mcp-session-id", session);
    }
    let response = request.send().await.unwrap();
    let session = response.headers().get("mcp-session-id").and_then(|v| v.to_str().ok()).map(str::to_owned);
    (session, serde_json::from_str(&response.text().await.unwrap()).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_of_the_model_context_protocol_hold_a_conversation() {
    let server = start().await;
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
    let (session, opened) = rpc(&server, "", "", 1, "initialize", hello).await;
    assert_eq!(opened["result"]["protocolVersion"], "2025-06-18");
    let session = session.expect("who comes without a token is given a conversation of its own");
    let noticed = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(server.send(Method::POST, "/mcp", "", Some(noticed)).await.0, StatusCode::ACCEPTED);
    let (_, tools) = rpc(&server, "", &session, 2, "tools/list", json!({})).await;
    let names: Vec<&str> = tools["result"]["tools"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["say", "state", "facts", "why"]);
    let call = |name: &str, arguments: Value| json!({ "name": name, "arguments": arguments });
    let (_, said) = rpc(&server, "", &session, 3, "tools/call", call("say", json!({ "text": "two soft tacos" }))).await;
    assert_eq!(said["result"]["isError"], false, "{said}");
    assert_eq!(said["result"]["structuredContent"]["predicates"], json!(["order(\"Soft Taco\",2)"]));
    let (_, state) = rpc(&server, "", &session, 4, "tools/call", call("state", json!({}))).await;
    assert_eq!(state["result"]["structuredContent"]["state"], said["result"]["structuredContent"]["state"]);
    let (_, why) = rpc(&server, "", &session, 5, "tools/call", call("why", json!({}))).await;
    assert!(!why["result"]["structuredContent"]["why"].as_array().unwrap().is_empty(), "{why}");
    let (_, facts) = rpc(&server, &server.manager, "", 6, "tools/call", call("facts", json!({ "scope": "kb" }))).await;
    assert_eq!(facts["result"]["isError"], false, "{facts}");
    let (_, none) = rpc(&server, "", &session, 7, "tools/call", call("drop", json!({}))).await;
    assert_eq!(none["error"]["code"], -32602);
    assert_eq!(rpc(&server, "", &session, 8, "resources/list", json!({})).await.1["error"]["code"], -32601);
}

/// The routes as the source declares them: `/path get post`.
fn routes() -> Vec<String> {
    let source = include_str!("../../src/serve.rs");
    let of = |line: &str| {
        let (path, methods) = line.trim().strip_prefix(".route(\"")?.split_once("\", ")?;
        Some(["get", "post"].iter().filter(|m| methods.contains(&format!("{m}("))).map(|m| format!("{m} {path}")).collect::<Vec<_>>())
    };
    let mut all: Vec<String> = source.lines().filter_map(of).flatten().collect();
    all.sort();
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn the_description_says_what_there_is_and_answers_keep_to_it() {
    let server = start().await;
    let document = server.get("/openapi.json", "").await;
    let mut described: Vec<String> = vec![];
    for (path, methods) in document["paths"].as_object().unwrap() {
        described.extend(methods.as_object().unwrap().keys().map(|m| format!("{m} {path}")));
    }
    described.sort();
    let served: Vec<String> = routes()
        .into_iter()
        .filter(|r| r.contains("/v1") || r.contains("/mcp") || r.contains("z") || r.contains("/metrics") || r.contains("/openapi"))
        .collect();
    assert_eq!(described, served);

    let (id, token) = server.open("main", "customer", "").await;
    let turn = server.post(&format!("/v1/sessions/{id}/turns"), &token, json!({ "text": "two soft tacos" })).await;
    let schema = &document["components"]["schemas"]["Turn"];
    for required in schema["required"].as_array().unwrap() {
        assert!(!turn[required.as_str().unwrap()].is_null(), "{required} of {turn}");
    }
    for name in turn.as_object().unwrap().keys() {
        assert!(!schema["properties"][name].is_null(), "{name} is not described");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_carry_what_browsers_heed_and_counts_add_up() {
    let server = start().await;
    let customer = server.open("main", "customer", "").await;
    server.say(&customer, "two soft tacos").await;
    let response = server.client.get(format!("http://{}/v1/agents", server.at)).send().await.unwrap();
    for (name, part) in
        [("content-security-policy", "default-src 'self'"), ("x-content-type-options", "nosniff"), ("x-frame-options", "DENY"), ("cache-control", "no-store")]
    {
        assert!(response.headers()[name].to_str().unwrap().contains(part), "{name}");
    }
    assert!(!response.headers().contains_key("access-control-allow-origin"));
    let (status, _) = server.send(Method::GET, "/readyz", "", None).await;
    assert_eq!(status, StatusCode::OK);
    let counts = server.client.get(format!("http://{}/metrics", server.at)).send().await.unwrap().text().await.unwrap();
    for line in
        ["duologue_sessions_opened_total 1", "duologue_turn_seconds_count 1", "duologue_turns_failed_total 0", "duologue_turn_seconds_bucket{le=\"+Inf\"} 1"]
    {
        assert!(counts.lines().any(|l| l == line), "{line} in\n{counts}");
    }
}

/// What a collector of traces is told: a span a turn with its parts inside, and no word of what was said.
#[cfg(feature = "otel")]
#[tokio::test(flavor = "multi_thread")]
async fn turns_are_told_to_a_collector_of_traces() {
    use std::sync::{Arc, Mutex};

    use duologue::serve::Config;
    use duologue::serve::traces::Collector;

    let told = Arc::new(Mutex::new(Vec::<Value>::new()));
    let collector = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/v1/traces", collector.local_addr().unwrap());
    let heard = told.clone();
    let take = move |headers: axum::http::HeaderMap, body: String| async move {
        assert_eq!(headers["x-key"], "k");
        heard.lock().unwrap().push(serde_json::from_str(&body).unwrap());
        "{}"
    };
    let collecting = tokio::spawn(async move { axum::serve(collector, axum::Router::new().route("/v1/traces", axum::routing::post(take))).await });
    let headers = [("x-key".parse().unwrap(), "k".parse().unwrap())].into_iter().collect();
    let traces = Some(Collector { address, name: "counter".to_owned(), headers });
    let mut server = crate::server::start_with(crate::server::engine(), Config { traces, ..Config::default() }).await;
    let customer = server.open("main", "customer", "").await;
    server.say(&customer, "two soft tacos please").await;
    server.say(&customer, "that's all").await;
    let ordered = server.say(&customer, "all good, thanks").await;
    server.stop.take().unwrap().send(()).unwrap();
    assert!((&mut server.ended).await.unwrap(), "the end waits for what is still to be told");
    collecting.abort();

    let told = told.lock().unwrap();
    assert!(told.iter().all(|t| t["resourceSpans"][0]["resource"]["attributes"][0]["value"]["stringValue"] == "counter"), "{told:?}");
    assert!(!format!("{told:?}").to_lowercase().contains("taco"), "what was said stays here");
    let spans: Vec<&Value> = told.iter().flat_map(|t| t["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap()).collect();
    let turns: Vec<&Value> = spans.iter().copied().filter(|s| s["name"] == "turn").collect();
    assert_eq!(turns.len(), 3);
    let nanos = |span: &Value, end: &str| span[format!("{end}TimeUnixNano")].as_str().unwrap().parse::<u128>().unwrap();
    for (n, turn) in turns.iter().enumerate() {
        let parts: Vec<&Value> = spans.iter().copied().filter(|s| s["parentSpanId"] == turn["spanId"]).collect();
        let names: Vec<&str> = parts.iter().map(|p| p["name"].as_str().unwrap()).collect();
        for part in ["begin", "understand", "decide", "commit", "template"].into_iter().chain((n == 2).then_some("act")) {
            assert!(names.contains(&part), "turn {n} without {part}: {names:?}; {ordered}");
        }
        for part in parts {
            assert_eq!(part["traceId"], turn["traceId"]);
            assert!(nanos(turn, "start") <= nanos(part, "start") && nanos(part, "end") <= nanos(turn, "end"), "{part} is not within {turn}");
        }
    }
}
