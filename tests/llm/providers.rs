//! The three notations: what goes out, what comes back, whole and streamed, embeddings and usage.

use std::ops::ControlFlow;
use std::sync::Arc;

use duologue::llm::config::{Prices, Structured};
use duologue::llm::replay::{Player, Recorder};
use duologue::llm::{Api, ChatRequest, Message, Model, ModelError, RemoteModel, Secret, Shape};
use serde_json::{Value, json};

use crate::server::{Act, Request, Server};
use crate::support::{completion, config, model};

fn request(shape: bool) -> ChatRequest {
    let shape = shape.then(|| Shape { name: "predicates".into(), schema: json!({"type": "object"}), grammar: "root ::= \"{}\"".into() });
    ChatRequest { prefix: "stable".into(), messages: vec![Message::user("vary")], shape, max_tokens: 50 }
}

fn body(server: &Server) -> Value {
    serde_json::from_str(&server.requests().last().unwrap().body).unwrap()
}

fn sse(events: &[Value], done: bool) -> Act {
    let mut texts: Vec<String> = events.iter().map(ToString::to_string).collect();
    if done {
        texts.push("[DONE]".into());
    }
    Act::events(&texts)
}

fn openai_piece(text: &str) -> Value {
    json!({"choices":[{"index":0,"delta":{"content":text},"finish_reason":null}]})
}

fn openai_stream() -> Act {
    sse(
        &[
            json!({"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}),
            openai_piece("Two "),
            openai_piece("tacos."),
            json!({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}),
            json!({"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":3}}),
        ],
        true,
    )
}

fn anthropic_reply(blocks: &Value) -> String {
    json!({"type":"message","content":blocks,"stop_reason":"end_turn","usage":{"input_tokens":5,"cache_creation_input_tokens":0,"cache_read_input_tokens":90,"output_tokens":7}}).to_string()
}

#[test]
fn openai_takes_each_way_of_shaping() {
    let server = Server::start(|_| Act::json(completion("{}")));
    for (how, pointer) in [
        (Structured::JsonSchema, "/response_format/json_schema/schema/type"),
        (Structured::JsonObject, "/response_format/schema/type"),
        (Structured::Grammar, "/grammar"),
    ] {
        let mut config = config(&server, Api::OpenAi);
        config.structured = how;
        config.seed = Some(7);
        config.extra.insert("temperature".into(), Value::Null);
        config.extra.insert("max_completion_tokens".into(), json!(60));
        config.prices = Prices { input: 1_000_000, cached_input: Some(100_000), output: 2_000_000, ..Prices::default() };
        let reply = model(config).chat(request(true)).unwrap();
        assert_eq!((reply.usage.input, reply.usage.cached, reply.usage.output, reply.usage.micro_usd), (900, 800, 30, 100 + 80 + 60));
        let sent = body(&server);
        assert!(sent.pointer(pointer).is_some(), "{sent}");
        assert_eq!((sent.get("temperature"), &sent["max_completion_tokens"], &sent["seed"]), (None, &json!(60), &json!(7)));
        assert_eq!(sent["messages"], json!([{"role":"system","content":"stable"},{"role":"user","content":"vary"}]));
    }
}

#[test]
fn anthropic_marks_the_prefix_and_forces_the_shape() {
    let server = Server::start(|_| {
        Act::json(anthropic_reply(&json!([{"type":"text","text":"I think"},{"type":"tool_use","id":"1","name":"predicates","input":{"predicates":[]}}])))
    });
    let config = config(&server, Api::Anthropic).with_key(Secret::new("key-for-test"));
    let reply = model(config).chat(request(true)).unwrap();
    assert_eq!((reply.text.as_str(), reply.usage.input, reply.usage.cached, reply.usage.output), ("{\"predicates\":[]}", 95, 90, 7));
    let sent = body(&server);
    assert_eq!(sent.pointer("/system/0/cache_control/type"), Some(&json!("ephemeral")));
    assert_eq!(sent.pointer("/tool_choice/name"), Some(&json!("predicates")));
    let request = server.requests().pop().unwrap();
    assert_eq!(request.path, "/v1/messages");
    assert!(request.headers.contains("x-api-key: key-for-test") && request.headers.contains("anthropic-version: "));
}

#[test]
fn ollama_takes_the_schema_as_format() {
    let server = Server::start(|_| {
        Act::json(json!({"message":{"role":"assistant","content":"{}"},"done":true,"done_reason":"stop","prompt_eval_count":20,"eval_count":4}).to_string())
    });
    let reply = model(config(&server, Api::Ollama)).chat(request(true)).unwrap();
    assert_eq!((reply.text.as_str(), reply.usage.input, reply.usage.output, reply.usage.calls), ("{}", 20, 4, 1));
    let sent = body(&server);
    assert_eq!((&sent["format"], &sent["stream"], &sent["options"]["num_predict"]), (&json!({"type":"object"}), &json!(false), &json!(50)));
}

#[test]
fn a_field_that_the_server_refuses_by_name_is_left_out_from_then_on() {
    // As OpenAI's newer models answer.
    let server = Server::start(|r: &Request| {
        let body: Value = serde_json::from_str(&r.body).unwrap();
        let refused = |message: &str, param: &str| {
            Act::status(400, json!({"error":{"message":message,"type":"invalid_request_error","param":param,"code":"unsupported_parameter"}}).to_string())
        };
        if body.get("max_tokens").is_some() {
            return refused("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "max_tokens");
        }
        if body.get("temperature").is_some() {
            return refused("Unsupported value: 'temperature' does not support 0 with this model.", "temperature");
        }
        Act::json(completion("{}"))
    });
    let model = model(config(&server, Api::OpenAi));
    assert_eq!(model.chat(request(true)).unwrap().usage.calls, 3);
    assert_eq!(model.chat(request(true)).unwrap().usage.calls, 1, "what was learnt stays");
    let sent = body(&server);
    assert_eq!((sent.get("max_tokens"), sent.get("temperature"), &sent["max_completion_tokens"]), (None, None, &json!(50)));

    // As servers on FastAPI answer whose `response_format` knows no `json_schema`; llama-cpp-python's does it with status 500.
    for status in [422, 500] {
        let server = Server::start(move |r: &Request| {
            let body: Value = serde_json::from_str(&r.body).unwrap();
            match body.pointer("/response_format/type").and_then(Value::as_str) {
                Some("json_object") => Act::json(completion("{}")),
                _ => Act::status(
                    status,
                    json!({"detail":[{"type":"literal_error","loc":["body","response_format","type"],"msg":"Input should be 'text' or 'json_object'"}]})
                        .to_string(),
                ),
            }
        });
        let model = model_of(&server, Api::OpenAi);
        assert_eq!((model.chat(request(true)).unwrap().usage.calls, model.chat(request(true)).unwrap().usage.calls), (2, 1));
        assert_eq!(body(&server).pointer("/response_format/schema/type"), Some(&json!("object")));
        assert_eq!(model.model().shaping(), duologue::llm::Shaping::PerUtterance);
    }

    // What cannot be left out stays an error, with the server's words.
    let server = Server::start(|_| Act::status(400, r#"{"error":{"message":"messages: too long"}}"#));
    let error = model_of(&server, Api::OpenAi).chat(request(true)).unwrap_err();
    assert_eq!((server.requests().len(), error.to_string().contains("messages: too long")), (1, true));
}

fn model_of(server: &Server, api: Api) -> duologue::llm::BlockingModel {
    model(config(server, api))
}

#[test]
fn extra_fields_are_put_beside_an_object_s_own() {
    let server = Server::start(|_| Act::json(json!({"message":{"content":"{}"},"done":true}).to_string()));
    let mut config = config(&server, Api::Ollama);
    config.extra = [("options".to_owned(), json!({"num_ctx": 8192})), ("think".to_owned(), json!(false))].into();
    model(config).chat(request(true)).unwrap();
    let sent = body(&server);
    assert_eq!((&sent["options"]["num_ctx"], &sent["options"]["num_predict"], &sent["think"]), (&json!(8192), &json!(50), &json!(false)));
}

#[test]
fn anthropic_s_own_stream_of_a_forced_call_and_its_errors() {
    let started = json!({"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"usage":{"input_tokens":6,"cache_creation_input_tokens":1200,"cache_read_input_tokens":0,"output_tokens":2}}});
    let piece = |text: &str| json!({"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":text}});
    let events = [
        started.clone(),
        json!({"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"predicates","input":{}}}),
        piece(""),
        piece("{\"predicates\""),
        piece(": []}"),
        json!({"type":"content_block_stop","index":0}),
        json!({"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":21}}),
        json!({"type":"message_stop"}),
    ];
    // Its events carry their names on a line of their own.
    let bytes: String = events.iter().map(|e| format!("event: {}\ndata: {e}\n\n", e["type"].as_str().unwrap())).collect();
    let act = Act::Pieces { content_type: "text/event-stream", pieces: vec![(0, bytes.into_bytes())], end: true };
    let server = Server::start(move |_| act.clone());
    let mut config = config(&server, Api::Anthropic);
    config.prices = Prices { input: 1_000_000, cache_write: Some(1_250_000), output: 5_000_000, ..Prices::default() };
    let reply = model(config).stream(request(true), &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!((reply.text.as_str(), reply.usage.input, reply.usage.output), ("{\"predicates\": []}", 1206, 21));
    assert_eq!(reply.usage.micro_usd, 6 + 1500 + 105);

    let overloaded = json!({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}});
    let (_, reply) = streamed(Api::Anthropic, sse(&[started, overloaded.clone()], false));
    assert_eq!(reply.unwrap_err().kind(), "rate_limited");
    let server =
        Server::start(
            move |r: &Request| {
                if r.nth == 0 { Act::status(529, overloaded.to_string()) } else { Act::json(anthropic_reply(&json!([{"type":"text","text":"hi"}]))) }
            },
        );
    assert_eq!(model_of(&server, Api::Anthropic).chat(request(false)).unwrap().usage.calls, 2, "an overloaded server is asked again");
    let refused = json!({"type":"message","content":[],"stop_reason":"refusal","usage":{"input_tokens":1,"output_tokens":1}}).to_string();
    let server = Server::start(move |_| Act::json(refused.clone()));
    assert_eq!(model_of(&server, Api::Anthropic).chat(request(false)).unwrap_err().kind(), "declined");
}

#[test]
fn ollama_s_own_stream_embeddings_and_errors() {
    let line = |content: &str, more: Value| {
        let mut value = json!({"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":content},"done":false});
        value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        format!("{value}\n").into_bytes()
    };
    let last = json!({"done":true,"done_reason":"stop","total_duration":9,"load_duration":1,"prompt_eval_count":26,"prompt_eval_duration":2,"eval_count":8,"eval_duration":6});
    let pieces = vec![
        // A model that thinks aloud does so in a field of its own.
        (0, line("", json!({"message":{"role":"assistant","content":"","thinking":"two tacos?"}}))),
        (0, line("Two ", json!({}))),
        (0, line("tacos.", json!({}))),
        (0, line("", last)),
    ];
    let (heard, reply) = streamed(Api::Ollama, Act::Pieces { content_type: "application/x-ndjson", pieces, end: true });
    let reply = reply.unwrap();
    assert_eq!((heard.concat().as_str(), reply.usage.input, reply.usage.output), ("Two tacos.", 26, 8));

    let pieces = vec![(0, line("Two ", json!({}))), (0, b"{\"error\":\"an error was encountered while running the model\"}\n".to_vec())];
    let (_, reply) = streamed(Api::Ollama, Act::Pieces { content_type: "application/x-ndjson", pieces, end: true });
    assert_eq!(reply.unwrap_err().kind(), "broken_off");

    let server = Server::start(|_| Act::status(404, r#"{"error":"model 'm' not found"}"#));
    let error = model_of(&server, Api::Ollama).chat(request(false)).unwrap_err();
    assert!(error.to_string().contains("model 'm' not found") && error.hint().unwrap().contains("`model`"), "{error}");

    let server = Server::start(|_| Act::json(r#"{"model":"e","embeddings":[[0.5,-0.25]],"total_duration":14,"load_duration":1,"prompt_eval_count":8}"#));
    let mut config = config(&server, Api::Ollama);
    config.embedding_model = Some("e".into());
    config.prices = Prices { input: 9_000_000, embedding: Some(1_000_000), ..Prices::default() };
    let reply = model(config).embed(vec!["two tacos".into()]).unwrap();
    assert_eq!((reply.vectors, reply.usage.micro_usd), (vec![vec![0.5, -0.25]], 8));
    assert_eq!((server.requests()[0].path.as_str(), &body(&server)["model"], &body(&server)["input"]), ("/api/embed", &json!("e"), &json!(["two tacos"])));
}

fn streamed(api: Api, act: Act) -> (Vec<String>, Result<duologue::llm::ChatReply, ModelError>) {
    let server = Server::start(move |_| act.clone());
    let mut pieces = Vec::new();
    let reply = model(config(&server, api)).stream(request(false), &mut |piece| {
        pieces.push(piece.to_owned());
        ControlFlow::Continue(())
    });
    (pieces, reply)
}

#[test]
fn all_three_stream() {
    let (pieces, reply) = streamed(Api::OpenAi, openai_stream());
    assert_eq!((pieces, reply.unwrap().usage.output), (vec!["Two ".to_owned(), "tacos.".to_owned()], 3));
    let anthropic = sse(
        &[
            json!({"type":"message_start","message":{"usage":{"input_tokens":5,"cache_read_input_tokens":40,"output_tokens":1}}}),
            json!({"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}),
            json!({"type":"ping"}),
            json!({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Two "}}),
            json!({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"tacos."}}),
            json!({"type":"content_block_stop","index":0}),
            json!({"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}),
            json!({"type":"message_stop"}),
        ],
        false,
    );
    let (pieces, reply) = streamed(Api::Anthropic, anthropic);
    let reply = reply.unwrap();
    assert_eq!(
        (pieces.concat().as_str(), reply.text.as_str(), reply.usage.input, reply.usage.cached, reply.usage.output),
        ("Two tacos.", "Two tacos.", 45, 40, 9)
    );
    let lines = "{\"message\":{\"content\":\"Two \"},\"done\":false}\n{\"message\":{\"content\":\"tacos.\"},\"done\":false}\n{\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"eval_count\":3,\"prompt_eval_count\":8}\n";
    // The line ends do not fall on the network's piece borders.
    let pieces: Vec<(u64, Vec<u8>)> = lines.as_bytes().chunks(17).map(|c| (1, c.to_vec())).collect();
    let (pieces, reply) = streamed(Api::Ollama, Act::Pieces { content_type: "application/x-ndjson", pieces, end: true });
    assert_eq!((pieces.concat().as_str(), reply.unwrap().usage.tokens()), ("Two tacos.", 11));
}

#[test]
fn a_server_that_ignores_streaming_still_serves() {
    let (pieces, reply) = streamed(Api::OpenAi, Act::json(completion("Two tacos.")));
    assert_eq!((pieces, reply.unwrap().text.as_str()), (vec!["Two tacos.".to_owned()], "Two tacos."));
}

#[test]
fn faults_within_a_stream_have_names() {
    let stream = |pieces: Vec<(u64, Vec<u8>)>, end| Act::Pieces { content_type: "text/event-stream", pieces, end };
    let event = |text: &str| format!("data: {}\n\n", openai_piece(text)).into_bytes();
    for (name, act, kind) in [
        ("stalls", stream(vec![(0, event("Two")), (3_000, vec![])], true), "timed_out"),
        ("breaks off", stream(vec![(0, event("Two"))], false), "broken_off"),
        ("ends without its end", stream(vec![(0, event("Two"))], true), "broken_off"),
        ("nothing at all", stream(vec![], true), "empty"),
        ("only its end", Act::events(&["[DONE]".into()]), "empty"),
        ("no JSON", stream(vec![(0, b"data: {oops\n\n".to_vec())], true), "envelope"),
        ("no UTF-8", stream(vec![(0, b"data: \xff\n\n".to_vec())], true), "not_utf8"),
        ("an error event", stream(vec![(0, event("Two")), (0, b"data: {\"error\":{\"message\":\"overloaded\"}}\n\n".to_vec())], true), "broken_off"),
        ("endless events", Act::Endless { content_type: "text/event-stream", piece: event("taco ") }, "too_large"),
        ("endless comment", Act::Endless { content_type: "text/event-stream", piece: b": hm ".repeat(400) }, "too_large"),
        ("a tool call", sse(&[json!({"choices":[{"delta":{"tool_calls":[{"index":0}]}}]})], true), "tool_call"),
        ("a refusal", sse(&[json!({"choices":[{"delta":{"refusal":"no"}}]})], true), "declined"),
        ("the token limit", sse(&[openai_piece("Two"), json!({"choices":[{"delta":{},"finish_reason":"length"}]})], true), "cut_off"),
        ("HTML", Act::Reply { status: 200, headers: vec![("content-type", "text/html".into())], body: b"<p>".to_vec() }, "content_type"),
    ] {
        let (_, reply) = streamed(Api::OpenAi, act);
        assert_eq!(reply.unwrap_err().kind(), kind, "{name}");
    }
}

#[test]
fn a_stream_is_not_begun_again_once_text_went_out() {
    let server = Server::start(|_| Act::Pieces {
        content_type: "text/event-stream",
        pieces: vec![(0, format!("data: {}\n\n", openai_piece("Two")).into_bytes())],
        end: false,
    });
    let mut pieces = 0;
    let reply = model(config(&server, Api::OpenAi)).stream(request(false), &mut |_| {
        pieces += 1;
        ControlFlow::Continue(())
    });
    assert!(reply.is_err());
    assert_eq!((pieces, server.requests().len()), (1, 1), "nothing is said twice");
}

#[test]
fn the_receiver_may_stop_a_stream() {
    let server = Server::start(|_| openai_stream());
    let reply = model(config(&server, Api::OpenAi)).stream(request(false), &mut |_| ControlFlow::Break(()));
    assert_eq!(reply, Err(ModelError::Stopped));
}

#[test]
fn embeddings_come_in_the_order_of_the_texts() {
    let server = Server::start(|r: &Request| {
        if r.path.ends_with("/embeddings") {
            Act::json(r#"{"data":[{"index":1,"embedding":[0,1]},{"index":0,"embedding":[1,0.5]}],"usage":{"prompt_tokens":4}}"#)
        } else {
            Act::json(r#"{"embeddings":[[1,0.5],[0,1]],"prompt_eval_count":4}"#)
        }
    });
    let texts = || vec!["a".to_owned(), "b".to_owned()];
    for api in [Api::OpenAi, Api::Ollama] {
        let reply = model(config(&server, api)).embed(texts()).unwrap();
        assert_eq!((reply.vectors, reply.usage.input), (vec![vec![1.0, 0.5], vec![0.0, 1.0]], 4));
    }
    assert_eq!(model(config(&server, Api::Anthropic)).embed(texts()), Err(ModelError::Unsupported("embeddings")));
    for wrong in [r#"{"data":[]}"#, r#"{"data":[{"embedding":[1]},{"embedding":[1,2]}]}"#, r#"{"data":[{"embedding":["x"]},{"embedding":[1]}]}"#, "{}"] {
        let server = Server::start(move |_| Act::json(wrong));
        assert_eq!(model(config(&server, Api::OpenAi)).embed(texts()).unwrap_err().kind(), "envelope", "{wrong}");
    }
}

#[test]
fn a_key_is_sent_but_never_shown() {
    let key = "sk-test-0123456789";
    let server = Server::start(|r: &Request| {
        let told = r.headers.lines().find(|l| l.starts_with("authorization")).unwrap_or("").to_owned();
        Act::status(400, json!({"error":{"message":format!("wrong key: {told}")}}).to_string())
    });
    let error = model(config(&server, Api::OpenAi).with_key(Secret::new(key))).chat(request(false)).unwrap_err();
    assert!(server.requests()[0].headers.contains(key));
    assert!(error.to_string().contains("[key]") && !format!("{error} {error:?}").contains(key), "{error}");
    // Wherever else a server may quote it.
    for act in [
        Act::json(completion(key)),
        Act::json(json!({"choices":[{"message":{"content":null,"refusal":key}}]}).to_string()),
        Act::Reply { status: 200, headers: vec![("content-type", key.into())], body: vec![] },
        Act::status(500, json!({"detail":[{"input":key}]}).to_string()),
        Act::status(400, format!("{{\"error\":\"{}{key}\"}}", "x".repeat(290))),
    ] {
        let server = Server::start(move |_| act.clone());
        let reply = model(config(&server, Api::OpenAi).with_key(Secret::new(key))).chat(request(false));
        assert!(!format!("{reply:?}").contains("0123456789"), "{reply:?}");
    }
}

#[test]
fn a_recorded_conversation_replays_without_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let tape = folder.path().join("tape.jsonl");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let exchange = |model: &RemoteModel| {
        let mut pieces = Vec::new();
        let mut hear = |piece: &str| {
            pieces.push(piece.to_owned());
            ControlFlow::Continue(())
        };
        let stream = request(false);
        let streamed = runtime.block_on(model.stream(&stream, &mut hear));
        let chat = runtime.block_on(model.chat(&request(true)));
        (pieces, streamed, chat)
    };
    let server = Server::start(|r: &Request| if r.body.contains("\"stream\":true") { openai_stream() } else { Act::json(completion("{\"a\":\"é\"}")) });
    let config = config(&server, Api::OpenAi).with_key(Secret::new("sk-test-0123456789"));
    let http = Arc::new(duologue::llm::http::HttpTransport::new(&config).unwrap());
    let live = exchange(&RemoteModel::over(config.clone(), Arc::new(Recorder::new(http, &tape, config.key().cloned()).unwrap())));
    drop(server);
    let replayed = exchange(&RemoteModel::over(config.clone(), Arc::new(Player::open(&tape).unwrap())));
    assert_eq!(live, replayed);
    assert!(live.1.is_ok() && live.2.is_ok());
    assert!(!std::fs::read_to_string(&tape).unwrap().contains("sk-test"));
}

#[test]
fn a_stream_ends_with_the_model_s_reason_although_the_server_keeps_it_open() {
    let mut events: Vec<(u64, Vec<u8>)> = ["Two ", "tacos."].iter().map(|t| (0, format!("data: {}\n\n", openai_piece(t)).into_bytes())).collect();
    events.push((0, format!("data: {}\n\n", json!({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})).into_bytes()));
    events.push((20_000, b": still here\n\n".to_vec()));
    let started = std::time::Instant::now();
    let (heard, reply) = streamed(Api::OpenAi, Act::Pieces { content_type: "text/event-stream", pieces: events, end: true });
    assert_eq!((heard.concat().as_str(), reply.unwrap().text.as_str()), ("Two tacos.", "Two tacos."));
    assert!(started.elapsed() < std::time::Duration::from_secs(10), "{:?}", started.elapsed());
}

#[test]
fn a_key_is_never_quoted_in_any_case_cut_or_split() {
    let key = "sk-Test-0123456789";
    // In a content type, in small letters, and longer than what an error shows of it.
    for kind in ["text/plain; k=sk-test-0123456789", "text/plain; padding=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; k=sk-test-0123456789"] {
        let kind = kind.to_owned();
        let server = Server::start(move |_| Act::Reply { status: 200, headers: vec![("content-type", kind.clone())], body: b"{}".to_vec() });
        let error = model(config(&server, Api::OpenAi).with_key(Secret::new(key))).chat(request(false)).unwrap_err();
        assert!(!error.to_string().to_lowercase().contains("sk-test-0"), "{error}");
    }
    // Split over the pieces of a stream.
    let server = Server::start(|_| sse(&[openai_piece("Your key is sk-Te"), openai_piece("st-01234"), openai_piece("56789, thanks.")], true));
    let mut heard = String::new();
    let reply = model(config(&server, Api::OpenAi).with_key(Secret::new(key))).stream(request(false), &mut |p| {
        heard.push_str(p);
        ControlFlow::Continue(())
    });
    assert_eq!((heard.as_str(), reply.unwrap().text.as_str()), ("Your key is [key], thanks.", "Your key is [key], thanks."));
    // In what a server says of embeddings.
    let server = Server::start(|_| Act::status(401, r#"{"error":{"message":"wrong key SK-TEST-0123456789"}}"#));
    let error = model(config(&server, Api::OpenAi).with_key(Secret::new(key))).embed(vec!["x".into()]).unwrap_err();
    assert!(error.to_string().contains("[key]") && !error.to_string().to_lowercase().contains("sk-test"), "{error}");
}

#[test]
fn a_tool_s_input_that_says_something_twice_is_refused() {
    let twice = r#"{"type":"message","content":[{"type":"tool_use","id":"t","name":"predicates","input":{"predicates":[],"predicates":[1]}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}"#;
    let server = Server::start(move |_| Act::json(twice));
    let error = model_of(&server, Api::Anthropic).chat(request(true)).unwrap_err();
    assert!(error.kind() == "envelope" && error.to_string().contains("duplicate"), "{error}");
}

#[test]
fn what_failed_after_it_was_sent_is_counted() {
    let server = Server::start(|_| Act::Silence(1));
    let model = model_of(&server, Api::OpenAi);
    let asked = request(false);
    let error = model.stream(asked.clone(), &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert_eq!(model.lost(&asked, 0, &error).calls, 1, "{error}");
    let stopped = model.lost(&asked, 40, &ModelError::Stopped);
    assert_eq!((stopped.input, stopped.output), (3, 10), "a token has about four bytes");
    assert_eq!(model.lost(&asked, 0, &ModelError::Config("x".into())).calls, 0);
}
