//! Flows in the form of the paper's figure 12, each with one mistake, and what `check` says: place, message, remedy.

use std::fmt::Write;

use duologue::check::report;
use duologue::diag::Source;
use duologue::lang::chief;

const FLOW: &str = include_str!("../data/flows/ride.json");

/// What is changed in the sound flow, and why it is then wrong.
const MISTAKES: [(&str, &str, &str); 13] = [
    ("an edge to a node that does not exist", r#""target": 5, "condition": "Failure""#, r#""target": 7, "condition": "Failure""#),
    ("a node that no way leads to", r#"{"source": 3, "target": 5, "condition": "Failure"}"#, r#"{"source": 4, "target": 1}"#),
    ("an input that no node asks for", r#""required": ["ride_id"]"#, r#""required": ["ride_id", "city"]"#),
    ("a condition that compares with nothing", r#""condition": "Success""#, r#""condition": "Status is""#),
    (
        "two ways and no condition",
        r#""target": 3, "condition": "Yes"}, {"source": 2, "target": 1, "condition": "No""#,
        r#""target": 3}, {"source": 2, "target": 1"#,
    ),
    (
        "a circle that waits for nobody",
        r#"{"source": 3, "target": 5, "condition": "Failure"}"#,
        r#"{"source": 3, "target": 5, "condition": "Failure"}, {"source": 5, "target": 3}"#,
    ),
    ("a function that is not declared", r#""query": "RideChange""#, r#""query": "RideChanges""#),
    ("a kind of node that does not exist", r#""external_action""#, r#""external_acton""#),
    ("a type of slot that does not exist", r#""type": "integer", "examples""#, r#""type": "intger", "examples""#),
    ("a condition in free words", r#""condition": "Failure""#, r#""condition": "the customer sounds upset about it""#),
    ("a slot rule in free words", r#""rule": "required""#, r#""rule": "skip it when they seem to be in a hurry""#),
    ("two nodes with one number", r#""id": 5"#, r#""id": 4"#),
    ("a brace too few", r#"{"source": 1, "target": 2}, "#, r#"{"source": 1, "target": 2, "#),
];

#[test]
fn the_form_of_the_paper_has_nothing_wrong() {
    let (flow, found) = chief::read(&Source::new("ride.json", FLOW));
    assert_eq!(found, []);
    assert_eq!(flow.unwrap().graph().unwrap().nodes.len(), 5);
}

#[test]
fn every_mistake_is_told_with_its_place_and_remedy() {
    let mut out = String::new();
    for (what, from, to) in MISTAKES {
        assert!(FLOW.contains(from), "{what}: `{from}` is not in the flow");
        let found = chief::read(&Source::new("ride.json", &FLOW.replacen(from, to, 1))).1;
        assert!(!found.is_empty(), "{what}: nothing is found");
        let _ = writeln!(out, "## {what}\n{}", report::plain(&found));
        assert!(found.iter().all(|d| d.code == "chief-syntax" || d.help.is_some()), "{what}: {found:?}");
    }
    insta::assert_snapshot!(out);
}
