//! The service as its clients see it: every route of a server in this process, two sites, and a client that wants what it must not have.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test that cannot go on must fail loudly")]

mod doors;
mod hostile;
mod limits;
mod server;
mod socket;

use serde_json::{Value, json};

use server::{coded, start};

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_with_its_questions() {
    let server = start().await;
    let agents = server.get("/v1/agents", "").await;
    assert_eq!(agents["agents"][0]["agent"], "drive_thru");
    let customer = server.open("main", "customer", "").await;
    let (id, token) = &customer;
    assert_eq!(server.get(&format!("/v1/sessions/{id}"), token).await["turn"], 0, "nobody has spoken at this site yet");
    let first = server.say(&customer, "two soft tacos please").await;
    assert_eq!(first["predicates"], json!(["order(\"Soft Taco\",2)"]), "{first}");
    assert_eq!(first["turn"], 1);
    let state = server.get(&format!("/v1/sessions/{id}"), token).await;
    assert_eq!((&state["state"], &state["turn"], &state["role"]), (&first["state"], &json!(1), &json!("customer")));
    let facts = server.get(&format!("/v1/sessions/{id}/facts"), token).await;
    assert!(facts["facts"].as_array().unwrap().iter().any(|f| f["fact"].as_str().unwrap().contains("Soft Taco")), "{facts}");

    let why = server.get(&format!("/v1/sessions/{id}/turns/1/why"), token).await;
    assert_eq!(why["text"], first["text"]);
    let steps = why["why"][0]["proof"]["steps"].as_array().unwrap();
    assert!(steps.iter().any(|s| s["rule"].as_str().is_some_and(|r| r.contains(".lp:"))), "{why}");
    let whynot = server.get(&format!("/v1/sessions/{id}/turns/1/whynot?atom={}", coded("unavailable(_)")), token).await;
    assert!(!whynot["because"].as_array().unwrap().is_empty(), "{whynot}");
    let whatif = server.get(&format!("/v1/sessions/{id}/turns/1/whatif?predicates={}", coded("order(\"Pepsi\",1)")), token).await;
    assert!(whatif["text"].as_str().unwrap().contains("Pepsi"), "{whatif}");

    let second = server.say(&customer, "and a Pepsi").await;
    assert_eq!(second["turn"], 2);
    let undone = server.post(&format!("/v1/sessions/{id}/undo"), token, json!({})).await;
    assert_eq!(undone["state"]["order"], first["state"]["order"], "{undone}");
    let history = server.get(&format!("/v1/sessions/{id}/history"), token).await;
    let said: Vec<&Value> = history["turns"].as_array().unwrap().iter().map(|t| &t["said"]).collect();
    assert_eq!(said, [&json!("two soft tacos please"), &json!("and a Pepsi"), &Value::Null]);
    assert_eq!(history["turns"][1]["state"], second["state"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_goes_its_own_way_and_the_site_never_hears_of_it() {
    let server = start().await;
    let manager = server.open("main", "manager", &server.manager).await;
    server.say(&manager, "we are out of lettuce").await;
    let forked = server.post(&format!("/v1/sessions/{}/fork", manager.0), &manager.1, json!({ "turn": 1 })).await;
    let fork = (forked["session"].as_str().unwrap().to_owned(), forked["token"].as_str().unwrap().to_owned());
    server.say(&fork, "we are out of beans").await;
    let there = server.get(&format!("/v1/sessions/{}/facts?scope=shared", fork.0), &fork.1).await;
    let here = server.get("/v1/sites/main/facts", &manager.1).await;
    let names = |v: &Value| v["facts"].as_array().unwrap().iter().map(|f| f["fact"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(names(&there), ["runout(\"Beans\")", "runout(\"Lettuce\")"]);
    assert_eq!(names(&here), ["runout(\"Lettuce\")"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_is_streamed_and_a_run_out_is_seen_by_everybody_of_the_site() {
    let server = start().await;
    let customer = server.open("main", "customer", "").await;
    let manager = server.open("main", "manager", &server.manager).await;
    let listen = |site: &str, token: &str| server.client.get(format!("http://{}/v1/sites/{site}/events", server.at)).bearer_auth(token).send();
    let mut events = listen("main", &customer.1).await.unwrap();
    let mut elsewhere = listen("airport", &server.elsewhere).await.unwrap();
    assert!(String::from_utf8_lossy(&events.chunk().await.unwrap().unwrap()).contains("event: hello"));
    assert!(String::from_utf8_lossy(&elsewhere.chunk().await.unwrap().unwrap()).contains("event: hello"));
    let url = format!("http://{}/v1/sessions/{}/turns", server.at, manager.0);
    let reply = server.client.post(url).bearer_auth(&manager.1).header("accept", "text/event-stream").body(r#"{"text":"we ran out of lettuce"}"#);
    let streamed = reply.send().await.unwrap().text().await.unwrap();
    assert!(streamed.contains("event: sentence") && streamed.contains("event: turn"), "{streamed}");
    let seen = String::from_utf8_lossy(&events.chunk().await.unwrap().unwrap()).into_owned();
    assert!(seen.contains("event: facts") && seen.contains("runout(\\\"Lettuce\\\")"), "{seen}");
    let refused = server.say(&customer, "a soft taco with extra lettuce").await;
    assert!(refused["text"].as_str().unwrap().to_lowercase().contains("lettuce"), "{refused}");
    let none = tokio::time::timeout(std::time::Duration::from_millis(300), elsewhere.chunk()).await;
    assert!(none.is_err(), "the other site hears nothing: {none:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_sent_twice_is_taken_once() {
    let server = start().await;
    let (id, token) = server.open("main", "customer", "").await;
    let body = json!({ "text": "one soft taco", "request": "r1" });
    let first = server.post(&format!("/v1/sessions/{id}/turns"), &token, body.clone()).await;
    let again = server.post(&format!("/v1/sessions/{id}/turns"), &token, body).await;
    assert_eq!((&first["turn"], &first["text"], &first["state"]), (&again["turn"], &again["text"], &again["state"]));
}
