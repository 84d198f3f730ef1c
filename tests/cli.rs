//! The command line as scripts and people use it: the contract of `step`, bad input, help, and the adversary.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on must fail loudly")]

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn duologue(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_duologue"))
        .args(arguments)
        .env_remove("DUOLOGUE_MODEL")
        .env_remove("DUOLOGUE_MODEL_CONFIG")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

fn step(lines: &[&str], more: &[&str]) -> Vec<Value> {
    let arguments = [&["step", "--domain", "drive_thru", "--reasoner", "fast"], more].concat();
    let output = duologue(&arguments, (lines.join("\n") + "\n").as_bytes());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect()
}

#[test]
fn step_keeps_its_contract() {
    let out = step(
        &[
            r#"{"site":"s","session":"c1","role":"customer","predicates":["order(\"Soft Taco\",2)"]}"#,
            r#"{"facts":"session","site":"s","session":"c1"}"#,
            r#"{"site":"s","session":"c1","role":"customer","predicates":["order(\"Combo A\",1)","specify(\"Combo A\",\"Pepsi\")"]}"#,
            r#"{"site":"s","session":"c1","role":"customer","predicates":["quit"]}"#,
            r#"{"site":"s","session":"c1","role":"customer","predicates":["review"]}"#,
        ],
        &["--set", "manner=paper"],
    );
    assert_eq!(out[0]["actions"], serde_json::json!(["confirm(order,\"Soft Taco\")", "else"]));
    assert_eq!(out[0]["state"]["status"], "open");
    assert_eq!(out[0]["state"]["price"], 398);
    assert_eq!(out[0]["state"]["order"][1], serde_json::json!({"i": 2, "item": "Soft Taco", "mods": []}));
    // A proof names its rules by file and line, and every atom it rests on has a step of its own.
    let proof = &out[0]["why"][0]["proof"];
    assert!(proof["steps"].as_array().unwrap().iter().any(|s| s["rule"].as_str().is_some_and(|r| r.contains("service.lp:"))), "{proof}");
    assert!(out[1]["facts"].as_array().unwrap().contains(&Value::from("line(1,\"Soft Taco\")")));
    let combo = &out[2]["state"]["order"][2];
    assert_eq!(combo["parts"].as_array().unwrap().len(), 3);
    assert_eq!(combo["parts"][2], serde_json::json!({"slot": "Drink", "dish": "Pepsi", "mods": []}));
    assert_eq!(out[3]["state"]["status"], "cancelled");
    assert_eq!(out[4]["actions"][0], "reject(review,empty_order)", "after quit an id starts afresh");
}

/// Where everybody has the same role it need not be said; where not, the line is told which there are.
#[test]
fn a_line_without_a_role_is_the_only_roles_or_told_of() {
    let said = |domain: &str| {
        let output = duologue(&["step", "--domain", domain, "--no-why"], b"{\"session\":\"s\",\"text\":\"Every cat is a mammal.\"}\n");
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    assert_eq!(said("reason")["actions"], serde_json::json!(["confirm(told,1)"]));
    assert_eq!(said("drive_thru"), serde_json::json!({"error": {"code": "bad_line", "message": "a turn needs a `role`: customer, manager"}}));
}

/// Conversations of words alone are judged by what they came to, whoever is named as a listener or nobody; none holds unheard.
#[test]
fn conversations_of_words_alone_are_taken_from_words() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("talk.yaml");
    let run = |price: usize, more: &[&str]| {
        let order = format!("final: {{orders: [{{status: placed, items: [{{item: Cheese Quesadilla}}], price: {price}}}]}}");
        let talk = ["a cheese quesadilla please", "no thanks, that is all", "yes"].map(|say| format!("  - {{who: customer, say: \"{say}\"}}\n")).concat();
        std::fs::write(&file, format!("- id: T1\n  name: one dish\n  steps:\n{talk}  {order}\n")).unwrap();
        let output = duologue(&[&["test", file.to_str().unwrap()], more].concat(), b"");
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    let (held, told) = run(419, &[]);
    assert!(held && told.contains("1 dialogues, 3 turns: 1 hold"), "{told}");
    assert!(!run(1, &[]).0, "a wrong price must differ");
    let (_, told) = run(419, &["--understanding", "scripted"]);
    assert!(told.contains("1 left out") && told.contains("0 dialogues"), "{told}");
}

#[test]
fn a_folder_with_one_domain_needs_no_name() {
    let folder = tempfile::tempdir().unwrap();
    for (file, to) in [("ontology.yaml", "kb/desk"), ("templates.yaml", "kb/desk"), ("desk.lp", "rules/desk"), ("porter.lp", "rules/desk")] {
        std::fs::create_dir_all(folder.path().join(to)).unwrap();
        std::fs::copy(std::path::Path::new("tests/calls").join(file), folder.path().join(to).join(file)).unwrap();
    }
    let line = br#"{"site":"s","session":"g","role":"guest","predicates":["quit"]}"#;
    let output = duologue(&["step", "--root", folder.path().to_str().unwrap()], line);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["text"], "Goodbye.", "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_site_settles_a_limit_and_keeps_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("shop.db").display().to_string();
    let order = |session: &str| format!(r#"{{"site":"s","session":"{session}","role":"customer","predicates":["order(\"Soft Taco\",4)","quit"]}}"#);
    let take = |session: &str, more: &[&str]| {
        let lines = [order(session), r#"{"facts":"kb","site":"s"}"#.to_owned()];
        let out = step(&lines.iter().map(String::as_str).collect::<Vec<_>>(), &[&["--store", &store, "--set", "manner=paper"], more].concat());
        let settled = out[1]["settings"].as_array().unwrap().iter().filter_map(Value::as_str).find(|s| s.starts_with("most_of_one_item")).map(str::to_owned);
        (out[0]["actions"][0].as_str().unwrap().to_owned(), settled.unwrap())
    };
    let (taken, refused) = ("confirm(order,\"Soft Taco\")".to_owned(), "reject(order(\"Soft Taco\",4),quantity_limit)".to_owned());
    assert_eq!(take("a", &[]), (taken.clone(), "most_of_one_item(25)".to_owned()));
    assert_eq!(take("b", &["--set", "most_of_one_item=3"]), (refused.clone(), "most_of_one_item(3)".to_owned()));
    assert_eq!(take("c", &[]), (refused, "most_of_one_item(3)".to_owned()), "the site keeps what it settled");
    assert_eq!(take("d", &["--set", "most_of_one_item=4"]), (taken, "most_of_one_item(4)".to_owned()));
    for (wrong, told) in [("most=3", "there is no setting `most`"), ("most_of_one_item=many", "a whole number from 1 to 1000000")] {
        let output = duologue(&["step", "--store", &store, "--set", wrong], b"");
        assert!(!output.status.success());
        assert!(String::from_utf8_lossy(&output.stderr).contains(told), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_name_that_acts_on_the_screen_is_not_admitted() {
    let add = |name: &str| serde_json::json!({"site": "s", "session": "m", "role": "manager", "predicates": [format!("add(dish,\"{name}\")")]}).to_string();
    let order = serde_json::json!({"site": "s", "session": "c", "role": "customer", "predicates": ["order(\"Ta\u{202e}co\",1)"]}).to_string();
    let lines =
        [add("Big\u{8}Taco"), add("Taco \u{202e}cot"), add("Sm\u{430}ll Taco"), add("Taco\u{200b}\u{1f32e}"), order, add("Taco $0.00"), add("Big Taco")];
    let out = step(&lines.iter().map(String::as_str).collect::<Vec<_>>(), &["--no-why"]);
    for o in &out[..6] {
        let said = format!("{}{}{}{}", o["actions"], o["text"], o["refused"][0]["text"], o["refused"][0]["message"]);
        assert!(said.contains("Taco") && !said.contains("confirm(add"), "{o}");
        assert!(!said.contains(['\u{8}', '\u{202e}', '\u{430}', '\u{200b}', '\u{1f32e}']), "{o}");
        assert_eq!(o["predicates"], serde_json::json!([]));
    }
    assert_eq!(out[6]["actions"][0], "confirm(add,\"Big Taco\")");
}

#[test]
fn what_a_customer_says_does_not_act_on_the_screen() {
    let output = duologue(&["chat", "--reasoner", "fast"], b"a soft taco\x1b[2K\x08\x08\x08 please\n");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("customer> a soft taco[2K please") && !shown.contains(['\u{1b}', '\u{8}']), "{shown}");
}

#[test]
fn bad_lines_are_answered_and_change_nothing() {
    let long = format!(r#"{{"site":"s","session":"c1","role":"customer","text":"{}"}}"#, "taco ".repeat(2000));
    let many = format!(r#"{{"site":"s","session":"c1","role":"customer","predicates":[{}]}}"#, vec![r#""order(\"Pepsi\",1)""#; 300].join(","));
    let out = step(
        &[
            "nonsense",
            r#"{"site":"s","session":"c1","role":"king","predicates":["quit"]}"#,
            r#"{"site":"s","session":"c1","role":"customer"}"#,
            r#"{"site":"s","session":"c1","role":"customer","predicates":["order(\"Soft Taco\",99999999999999)","runout(\"Beans\")","order(\"\u0000\",1)"]}"#,
            &long,
            &many,
            r#"{"site":"s","session":"","role":"customer","predicates":["greet"]}"#,
            r#"{"facts":"nowhere","site":"s"}"#,
            r#"{"facts":"shared","site":"s"}"#,
        ],
        &["--no-why"],
    );
    assert!(out[0]["error"]["message"].as_str().unwrap().contains("no request"));
    assert!(out[1]["error"]["message"].as_str().unwrap().contains("has no role `king`"));
    assert!(out[2]["error"]["message"].as_str().unwrap().contains("either `predicates` or `text`"));
    assert_eq!(out[3]["actions"][0], "reject(order(\"Soft Taco\",1000000),quantity_limit)");
    assert_eq!(out[3]["refused"][0]["code"], "no_right");
    assert_eq!(out[4]["state"]["order"], serde_json::json!([]), "ten thousand characters are not listened to");
    assert_eq!(out[5]["state"]["order"].as_array().unwrap().len(), 25, "the limit holds in one turn too");
    assert_eq!(out[5]["refused"].as_array().unwrap().len(), 100);
    assert!(out[6]["error"]["message"].is_string());
    assert!(out[7]["error"]["message"].as_str().unwrap().contains("kb, shared or session"));
    assert_eq!(out[8]["facts"], serde_json::json!([]));
}

#[test]
fn binary_input_is_answered() {
    let output = duologue(&["step", "--reasoner", "fast"], b"\xff\xfe\x00garbage\n\n{}\n");
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().filter(|l| l.contains("error")).count(), 2);
}

#[test]
fn a_request_sent_twice_is_taken_once() {
    let line = r#"{"site":"s","session":"c1","role":"customer","predicates":["order(\"Pepsi\",1)"],"request":"r1"}"#;
    let out = step(&[line, line], &["--no-why"]);
    assert_eq!(out[0], out[1]);
    assert_eq!(out[1]["state"]["order"].as_array().unwrap().len(), 1);
}

#[test]
fn a_store_answers_about_turns_long_past() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("shop.db").display().to_string();
    let words = "/manager\nwe are out of tomatoes\n/customer\ntwo soft tacos and a crunchy taco supreme please\na burrito\n/manager\ntomatoes are back\nquit\n";
    assert!(duologue(&["chat", "--reasoner", "fast", "--store", &store], words.as_bytes()).status.success());
    let ask = |arguments: &[&str]| {
        let all = [arguments, &["--reasoner", "fast", "--store", &store]].concat();
        let output = duologue(&all, b"");
        assert!(output.status.success(), "{all:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let why = ask(&["why", "--session", "customer", "--turn", "1", "unavailable"]);
    assert!(why.contains("runout(\"Tomatoes\") (the manager, turn 1"), "as it was then, though the tomatoes are back now: {why}");
    let not = ask(&["why", "--session", "customer", "--turn", "1", "--not", "confirm(order,\"Crunchy Taco Supreme\")"]);
    assert!(not.contains("does not hold"), "{not}");
    let r#if = ask(&["why", "--session", "customer", "--if", "order(\"Pepsi\",1)", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&r#if).unwrap()["actions"][0], "confirm(order,\"Pepsi\")");

    // A doubtful name is part of the turn, so the turn taken again is the same.
    let replayed = duologue(&["replay", &store, "--all"], b"");
    assert!(replayed.status.success(), "{}", String::from_utf8_lossy(&replayed.stdout));
    assert!(ask(&["store", "close", "--idle", "0"]).contains("customer #1 ended after 2 turns"));
    assert!(ask(&["store", "rebase"]).contains("say what they said before"));
    assert!(ask(&["store", "check"]).contains("agree"));
}

#[test]
fn failures_name_their_remedy() {
    for (arguments, words) in [
        (&["chat", "--domain", "drive_true"][..], "the domains here are"),
        (&["step", "--store", "no/such/folder/x.db"][..], "folder"),
        (&["check", "no_such_file.lp"][..], "neither a file nor a domain"),
        (&["explain", "rule-two-model"][..], "did you mean `rule-two-models`"),
        (&["replay", "missing.db"][..], "there is no store"),
        (&["why", "--store", "missing.db"][..], "there is no store"),
        (&["store", "check", "--store", "missing.db"][..], "there is no store"),
        (&["chat", "--understanding", "hybrid"][..], "DUOLOGUE_MODEL"),
        (&["draw", "bank_balanc"][..], "did you mean `bank_balance`"),
    ] {
        let output = duologue(arguments, b"");
        assert!(!output.status.success(), "{arguments:?}");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains(words), "{arguments:?}: {text}");
    }
}

#[test]
fn the_adversary_breaks_nothing() {
    for what in [["--domain", "drive_thru"], ["--domain", "hospital"], ["--flow", "trivia"], ["--flow", "ride_change"]] {
        let output = duologue(&[&["test", "--adversary", "5", "--steps", "250", "--reasoner", "fast"], what.as_slice()].concat(), b"");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

#[test]
fn the_built_in_domains_are_in_order() {
    let output = duologue(&["check", "drive_thru", "hospital"], b"");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// Undo is offered where the role has a word for it, and is no turn where it has none.
#[test]
fn what_cannot_be_taken_back_is_not_offered() {
    for (domain, can) in [("drive_thru", true), ("hospital", false), ("multiwoz", false)] {
        let output = duologue(&["chat", "--reasoner", "fast", "--understanding", "none", "--domain", domain], b"/help\n/undo\n");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}");
        assert_eq!((text.contains("  /undo"), text.contains("(nothing can be taken back in this role")), (can, !can), "{domain}: {text}");
        assert!(!text.contains("refused undo"), "{text}");
    }
}

#[test]
fn a_conversation_without_a_listener_plays_the_sample() {
    let output = duologue(&["chat", "--reasoner", "fast"], b"");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("$8.97 at the window"), "{text}");
}
