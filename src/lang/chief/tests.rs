//! What `read` understands and what it reports.

use super::*;

fn codes(text: &str) -> Vec<&'static str> {
    read(&Source::new("flow.json", text)).1.iter().map(|d| d.code).collect()
}

/// The paper's form: slots by name, no acts, no functions.
const PLAIN: &str = r#"{
  "nodes": [
    {"id": 1, "type": "request", "slots": {
      "customer_name": {"description": "Name of the customer", "type": "categorical", "examples": ["Ann", "Bob"]},
      "ride_id": {"description": "Number of the ride", "type": "integer", "examples": ["102", "500"]}}},
    {"id": 2, "type": "external_action", "action": "query", "query": "RideChange"},
    {"id": 3, "type": "inform", "message": "It is done."},
    {"id": 4, "type": "inform", "message": "It could not be done."}
  ],
  "edges": [
    {"source": 1, "target": 2},
    {"source": 2, "target": 3, "condition": "Success"},
    {"source": 2, "target": 4, "condition": "Failure"}
  ]
}"#;

#[test]
fn the_plain_form_is_read() {
    let (flow, found) = read(&Source::new("ride.json", PLAIN));
    assert_eq!(found, []);
    let program = flow.unwrap();
    let flow = program.graph().unwrap();
    assert_eq!(flow.name, "ride");
    let slots: Vec<_> = flow.slots().iter().map(|(_, s)| (s.name.as_str(), s.kind, s.ask.clone())).collect();
    assert_eq!(slots[0], ("customer_name", crate::ir::graph::SlotKind::Name, Some("ask_customer_name".to_owned())));
    assert_eq!(slots[1].1, crate::ir::graph::SlotKind::Integer);
    let told = flow.nodes[2].acts.iter().find(|a| a.when.is_none());
    assert_eq!(told.map(|a| a.name.as_str()), Some("node_3"));
}

#[test]
fn broken_json_is_reported_where_it_breaks() {
    let (flow, found) = read(&Source::new("flow.json", "{\n  \"nodes\": [1,\n}"));
    assert!(flow.is_none());
    assert_eq!((found[0].code, found[0].origin.line), ("chief-syntax", 3));
}

#[test]
fn dangling_edges_point_at_the_number() {
    let text = PLAIN.replace(r#""target": 4, "condition": "Failure""#, r#""target": 9, "condition": "Failure""#);
    let (_, found) = read(&Source::new("flow.json", &text));
    let d = found.iter().find(|d| d.code == "chief-dangling-edge").unwrap();
    assert_eq!(&text[d.origin.start..d.origin.end], "9");
    assert!(found.iter().any(|d| d.code == "chief-unreachable-node"), "node 4 can no longer be reached");
}

#[test]
fn branches_and_conditions_need_values() {
    assert_eq!(codes(&PLAIN.replace(r#", "condition": "Success""#, "").replace(r#", "condition": "Failure""#, "")), ["chief-branch-without-condition"]);
    assert_eq!(codes(&PLAIN.replace("\"Success\"", "\"Status is\"")), ["chief-condition-without-value"]);
    assert_eq!(codes(&PLAIN.replace("\"Success\"", "\"the customer sounds content with it\"")), ["chief-condition-in-words"]);
}

#[test]
fn a_cycle_has_to_wait_for_somebody() {
    let text = PLAIN.replace(r#""edges": ["#, r#""edges": [{"source": 4, "target": 2},"#);
    assert_eq!(codes(&text), ["chief-cycle-without-wait"]);
    let waits = text.replace(r#""id": 4, "type": "inform""#, r#""id": 4, "type": "inform_and_confirm""#);
    assert_eq!(codes(&waits), [] as [&str; 0]);
}

#[test]
fn functions_have_to_exist_and_their_inputs_to_be_asked() {
    let with = |functions: &str| codes(&PLAIN.replacen('{', &format!("{{\"functions\": {functions},"), 1));
    assert_eq!(with(r#"[{"name": "RideChanges", "inputs": []}]"#), ["chief-unknown-function"]);
    assert_eq!(with(r#"[{"name": "RideChange", "inputs": [{"name": "when"}], "required": ["when"]}]"#), ["chief-slot-never-asked"]);
    assert_eq!(with(r#"[{"name": "RideChange", "inputs": [{"name": "ride_id"}], "required": ["ride_id"]}]"#), [] as [&str; 0]);
}

#[test]
fn unknown_words_get_a_suggestion() {
    let (_, found) = read(&Source::new("flow.json", &PLAIN.replace("\"external_action\"", "\"external_acton\"")));
    let d = found.iter().find(|d| d.code == "chief-unknown-word").unwrap();
    assert_eq!(d.help.as_deref(), Some("did you mean `external_action`?"));
}

#[test]
fn either_slot_rules_become_alternatives() {
    let text = PLAIN.replace(r#""description": "Number of the ride","#, r#""rule": "either customer_name or ride_id is enough","#);
    let (flow, found) = read(&Source::new("flow.json", &text));
    assert_eq!(found, []);
    assert_eq!(flow.unwrap().graph().unwrap().slot("ride_id").unwrap().either, ["customer_name", "ride_id"]);
}

#[test]
fn arbitrary_input_never_stops_the_reader() {
    for text in [
        "",
        "{",
        "[[[[",
        "\"",
        "{\"nodes\": {}, \"edges\": 3}",
        "{\"nodes\": [{\"id\": 1e99, \"type\": 5}], \"edges\": [[]]}",
        "\u{feff}{}",
        "{\"a\":\"\\u12\"}",
    ] {
        let _ = codes(text);
    }
    let deep = "[".repeat(10_000);
    assert_eq!(codes(&deep), ["chief-syntax"]);
}
