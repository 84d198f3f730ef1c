//! The command line with a model, as a new user meets it: set up, set up wrongly, recorded, replayed, and never with a key in sight.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::server::{Act, Request, Server};
use crate::support::{TWO_TACOS, completion};

const KEY: &str = "sk-test-0123456789";

/// Runs the program; gives its success, its output and what it said of errors.
fn duologue(arguments: &[&str], input: &str, env: &[(&str, &str)]) -> (bool, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_duologue"));
    for name in ["", "_CONFIG", "_API", "_URL", "_KEY", "_RECORD", "_REPLAY"] {
        command.env_remove(format!("DUOLOGUE_MODEL{name}"));
    }
    let mut child = command.args(arguments).envs(env.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.success(), text(&output.stdout), text(&output.stderr))
}

fn written(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_string_lossy().into_owned()
}

fn config(folder: &Path, url: &str) -> String {
    let limits = "{connect_ms: 500, headers_ms: 1000, total_ms: 2000, retries: 0, backoff_ms: 5}";
    written(
        folder,
        "model.yaml",
        &format!("model: test-model\nbase_url: {url}\nkey_env: TEST_KEY\nprices: {{input: 1000000, output: 2000000}}\nlimits: {limits}\n"),
    )
}

/// A server that hears two soft tacos and repeats each draft, whole or as a stream.
fn honest(request: &Request) -> Act {
    let body: Value = serde_json::from_str(&request.body).unwrap();
    let turn = body["messages"][1]["content"].as_str().unwrap();
    let Some(draft) = turn.trim().strip_prefix("Draft: ") else { return Act::json(completion(TWO_TACOS)) };
    let draft: String = serde_json::from_str(draft).unwrap();
    if body["stream"] == json!(true) {
        return Act::events(&[
            json!({"choices":[{"delta":{"content":draft},"finish_reason":"stop"}],"usage":{"prompt_tokens":60,"completion_tokens":20}}).to_string(),
            "[DONE]".into(),
        ]);
    }
    Act::json(completion(&draft))
}

const TALK: &str = "uhm that soft sort of taco thing, you know, twice, with the stuff\n/trace\nand a pepsi please\n!quit\n";

#[test]
fn a_chat_tells_what_was_asked_and_what_it_cost() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(honest);
    let file = config(folder.path(), &server.url("/v1"));
    let arguments = ["chat", "--role", "customer", "--set", "manner=paper", "--wording", "llm", "--model", &file];
    let (ok, out, err) = duologue(&arguments, TALK, &[("TEST_KEY", KEY)]);
    assert!(ok && err.is_empty(), "{out}{err}");
    for part in [
        "embedded ",
        "model    not needed",
        "worded   by the model; test-model: 1 call, 60 tokens in, 20 out",
        "used     conversation ",
        "understanding needed the model in 1 of 2 turns (50 %)",
        "(in this conversation understanding needed the model in 1 of 2 turns (50 %); the bank worded 2 replies without a call; the model worded 1 of 1 replies; 2 calls",
        "worded   by the bank; the bank held 2 of 2 sentences",
    ] {
        assert!(out.contains(part), "{part} is missing:\n{out}");
    }
    assert!(!out.contains(KEY));
    // Every turn as its record.
    let (_, out, _) = duologue(&[arguments.as_slice(), &["--json"]].concat(), TALK.replace("/trace\n", "").as_str(), &[("TEST_KEY", KEY)]);
    let lines: Vec<Value> = out.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(lines.len(), 4, "{out}");
    assert_eq!(lines[0]["models"]["understanding"]["exchange"]["usage"]["calls"], 1);
    assert!(lines[0]["models"]["understanding"]["embedded"]["confidence"].is_number());
    let second = &lines[1]["models"];
    assert_eq!((&second["turn"]["calls"], &lines[3]["models"]["asked"]), (&json!(0), &json!(1)));
    assert_eq!(second["wording"]["bank"], json!({"sentences": 2, "of": 2}), "the record tells what the bank saved");
}

#[test]
fn step_shows_what_each_turn_used() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(honest);
    let file = config(folder.path(), &server.url("/v1"));
    let line = r#"{"site":"s","session":"c","role":"customer","text":"uhm the thing, you know, twice"}"#;
    let (ok, out, err) = duologue(&["step", "--understanding", "llm", "--model", &file, "--no-why"], &format!("{line}\n{line}\n"), &[("TEST_KEY", KEY)]);
    assert!(ok, "{err}");
    let second: Value = serde_json::from_str(out.lines().nth(1).unwrap()).unwrap();
    assert_eq!((&second["models"]["turn"]["calls"], &second["models"]["account"]["session"]["calls"]), (&json!(1), &json!(2)), "{out}");
    assert_eq!(second["models"]["account"]["site"]["micro_usd"], json!(2 * (900 + 60)));
}

/// A request overlaps with another that arrives before it is answered; had the sessions waited for each other, none would.
#[test]
fn step_asks_for_several_sessions_at_once_and_answers_in_order() {
    const ANSWERS_AFTER: u64 = 300;
    let folder = tempfile::tempdir().unwrap();
    let arrivals = std::sync::Arc::new(std::sync::Mutex::new(vec![]));
    let seen = arrivals.clone();
    let server = Server::start(move |_| {
        seen.lock().unwrap().push(std::time::Instant::now());
        Act::Pieces { content_type: "application/json", pieces: vec![(ANSWERS_AFTER, completion(TWO_TACOS).into_bytes())], end: true }
    });
    let file = config(folder.path(), &server.url("/v1"));
    let text = "two soft tacos please";
    let line = |n: usize| json!({"site": "s", "session": format!("c{}", n % 20), "role": "customer", "text": text}).to_string() + "\n";
    let lines: String = (0..40).map(line).collect();
    let (ok, out, err) = duologue(&["step", "--understanding", "llm", "--model", &file, "--no-why", "--reasoner", "fast"], &lines, &[("TEST_KEY", KEY)]);
    assert!(ok, "{err}");
    let answers: Vec<Value> = out.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    // The first line of each session orders two, the second has four in its order.
    let counts: Vec<usize> = answers.iter().map(|a| a["state"]["order"].as_array().unwrap().len()).collect();
    assert_eq!(counts, [vec![2; 20], vec![4; 20]].concat());
    let arrivals = arrivals.lock().unwrap();
    assert_eq!(arrivals.len(), 40);
    let open_at = |t: &std::time::Instant| arrivals.iter().filter(|a| *a <= t && t.duration_since(**a).as_millis() < u128::from(ANSWERS_AFTER)).count();
    let most = arrivals.iter().map(open_at).max().unwrap();
    assert!(most >= 4, "at most {most} requests were open at once");
}

#[test]
fn set_ups_that_are_wrong_say_so_and_the_talk_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let refusing = Server::start(|r: &Request| {
        let told = r.headers.lines().find(|l| l.starts_with("authorization")).unwrap_or("").to_owned();
        Act::status(401, json!({"error":{"message":format!("Incorrect API key provided: {told}")}}).to_string())
    });
    let elsewhere = Server::start(|_| Act::status(404, "404 page not found"));
    let page = Server::start(|_| Act::Reply { status: 200, headers: vec![("content-type", "text/html".into())], body: b"<h1>It works!</h1>".to_vec() });
    let down = Server::start(|_| Act::Close).url("/v1");
    for (url, parts) in [
        (refusing.url("/v1"), ["status 401: Incorrect API key provided", "is the key right that `key_env` or `key_file` names?"]),
        (elsewhere.url(""), ["status 404", "are `model` and `base_url` right?"]),
        (page.url("/v1"), ["content type `text/html`", "does the server speak the interface that `api` names?"]),
        (down, ["cannot be reached", "is the server running, and is `base_url` right?"]),
    ] {
        let file = config(folder.path(), &url);
        let talk = "uhm the thing, you know, twice\nand the other thing, dunno\n!order(\"Soft Taco\",2)\n";
        let (ok, out, err) = duologue(&["chat", "--role", "customer", "--wording", "llm", "--model", &file], talk, &[("TEST_KEY", KEY)]);
        assert!(ok, "{err}");
        for part in parts {
            assert_eq!(out.matches(part).count(), 1, "once and no more: {part}\n{out}");
        }
        assert!(out.contains("without a usable reply") && out.contains("Soft Tacos") && !out.contains(KEY), "{out}");
    }
}

#[test]
fn configurations_that_cannot_be_used_are_refused_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    for (text, part) in [
        ("model: m\nkey_env: NO_SUCH_KEY\n", "the environment variable `NO_SUCH_KEY` is not set"),
        ("model: m\nkey_file: /no/such/file\n", "/no/such/file"),
        ("model: m\nbase_url: 127.0.0.1:8080/v1\n", "must begin with http:// or https://"),
        ("model: m\nkey: sk-test-0123456789\n", "key"),
        ("model: m\ntimeout: 3\n", "timeout"),
        ("base_url: http://127.0.0.1:1/v1\n", "`model` is missing"),
    ] {
        let file = written(folder.path(), "wrong.yaml", text);
        let (ok, out, err) = duologue(&["chat", "--model", &file], "hello\n", &[]);
        assert!(!ok && out.is_empty() && err.contains(part) && err.contains("wrong.yaml") && !err.contains(KEY), "{part}: {out}{err}");
    }
    let (ok, _, err) = duologue(&["chat", "--model", "no_such.yaml"], "", &[]);
    assert!(!ok && err.contains("no_such.yaml"), "{err}");
    let (ok, _, err) = duologue(&["chat", "--understanding", "hybrid"], "", &[]);
    assert!(!ok && err.contains("no model is configured"), "{err}");
    let (ok, _, err) = duologue(&["chat"], "", &[("DUOLOGUE_MODEL", "m"), ("DUOLOGUE_MODEL_API", "opanai")]);
    assert!(!ok && err.contains("unknown interface `opanai`"), "{err}");
}

#[test]
fn what_was_recorded_is_replayed_without_a_server_or_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let tape = folder.path().join("tape.jsonl").to_string_lossy().into_owned();
    let server = Server::start(honest);
    let file = config(folder.path(), &server.url("/v1"));
    let arguments = ["chat", "--role", "customer", "--wording", "llm", "--model", &file, "--json"];
    let talk = TALK.replace("/trace\n", "");
    let (_, live, _) = duologue(&arguments, &talk, &[("TEST_KEY", KEY), ("DUOLOGUE_MODEL_RECORD", &tape)]);
    drop(server);
    let (ok, replayed, err) = duologue(&arguments, &talk, &[("DUOLOGUE_MODEL_REPLAY", &tape)]);
    let timeless = |text: &str| -> Vec<Value> {
        let record = |line: &str| {
            let mut value: Value = serde_json::from_str(line).unwrap();
            value.as_object_mut().unwrap().remove("at");
            value
        };
        text.lines().map(record).collect()
    };
    assert!(ok && timeless(&live) == timeless(&replayed) && live.lines().count() == 4, "{live}\n{replayed}{err}");
    assert!(!std::fs::read_to_string(&tape).unwrap().contains(KEY));
    let (_, out, _) =
        duologue(&["chat", "--model", &file], "my cousin painted the fence mauve yesterday, and the bells\n", &[("DUOLOGUE_MODEL_REPLAY", &tape)]);
    assert!(out.contains("DUOLOGUE_MODEL_RECORD"), "{out}");
}

#[test]
fn models_are_measured_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    let (good, bad) = (Server::start(honest), Server::start(|_| Act::json(completion("All free!"))));
    let limits = "limits: {retries: 0, headers_ms: 2000}\n";
    let one = written(folder.path(), "good.yaml", &format!("model: a\nbase_url: {}\nprices: {{input: 1000000}}\n{limits}", good.url("/v1")));
    let two = written(folder.path(), "bad.yaml", &format!("model: b\nbase_url: {}\n{limits}", bad.url("/v1")));
    let cases = written(
        folder.path(),
        "cases.jsonl",
        "{\"id\":\"1\",\"role\":\"customer\",\"text\":\"two soft tacos\",\"gold\":[\"order(\\\"Soft Taco\\\",2)\"],\"tags\":[\"plural\"]}\n{\"id\":\"2\",\"role\":\"customer\",\"text\":\"soft taco for me and ditto for my wife\",\"gold\":[\"order(\\\"Soft Taco\\\",2)\"]}\n",
    );
    let (ok, out, err) = duologue(&["eval", "understand", &cases, "--model", &one, "--model", &two], "", &[]);
    assert!(ok, "{err}");
    let row = |label: &str| -> Vec<String> {
        let line = out.lines().find(|l| l.starts_with(label)).unwrap_or_else(|| panic!("{label}:\n{out}"));
        line.replace(label, "").split_whitespace().map(str::to_owned).collect()
    };
    assert_eq!(row("embedded")[..2], ["2", "50.0"]);
    assert_eq!((&row("good")[..2], &row("good")[5]), (["2".to_owned(), "100.0".to_owned()].as_slice(), &"2".to_owned()));
    assert_eq!(row("hybrid, good")[..7], ["2", "100.0", "%", "100.0", "%", "1", "(50"]);
    assert_eq!(row("bad")[1], "0.0");
    assert!(out.contains("bad: fault unusable in 2 cases") && out.contains("plural"), "{out}");
    assert_eq!(good.requests().len(), 2, "each utterance is put to a model once");

    let dialogues = written(
        folder.path(),
        "talk.yaml",
        "- id: D1\n  title: one\n  steps:\n    - {who: customer, say: \"two soft tacos\", parsed: ['order(\"Soft Taco\",2)']}\n",
    );
    let (ok, out, err) = duologue(&["eval", "render", &dialogues, "--model", &one, "--model", &two], "", &[]);
    assert!(ok, "{err}");
    assert!(out.contains("bad: violation") && out.lines().any(|l| l.starts_with("good") && l.contains("100.0 %")), "{out}");
    let (ok, out, err) = duologue(&["eval", "render", &dialogues, "--model", &one, "--json"], "", &[]);
    let report: Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}{err}"));
    assert_eq!((ok, &report[0]["first"]), (true, &json!(1)));
}

#[test]
fn the_bench_brings_its_own_instant_model() {
    let (ok, out, err) = duologue(&["bench", "llm", "--turns", "20", "--json"], "", &[]);
    assert!(ok, "{err}");
    let figures: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(figures["n"], 20);
}

/// Of what a model proposes for the bank, what promises something is refused, and what says the same is kept.
#[test]
fn a_model_proposes_wordings_and_the_checked_ones_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(|request: &Request| {
        let body: Value = serde_json::from_str(&request.body).unwrap();
        let asked: Value = serde_json::from_str(body["messages"][1]["content"].as_str().unwrap()).unwrap();
        let proposed = if asked["sentence"][0] == "Noted, we are out of {items}." {
            json!(["We have run out of {items}, noted.", "We are out of {items} until Monday."])
        } else {
            json!([])
        };
        Act::json(completion(&json!({ "wordings": proposed }).to_string()))
    });
    let file = config(folder.path(), &server.url("/v1"));
    let (ok, out, err) = duologue(&["paraphrase", "hospital", "--model", &file], "", &[("TEST_KEY", KEY)]);
    assert!(ok && out.contains("We have run out of {items}, noted.") && !out.contains("until Monday"), "{out}{err}");
    assert!(err.contains("2 proposals: 1 hold") && err.contains("refused: We are out of {items} until Monday."), "{err}");
    assert!(server.requests().len() > 20 && !out.contains(KEY) && !err.contains(KEY), "every sentence is put to the model once");
}
