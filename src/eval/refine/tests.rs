//! Remarks, failures, cassettes and prose against a small flow.

use super::*;
use crate::diag::{Severity, Source};
use crate::lang::chief;

fn table() -> Source {
    Source::new("table.json", include_str!("../../../tests/data/refine/table.json"))
}

fn lines(remark: &str) -> Vec<String> {
    let before = table();
    let patch = from_remark(&before, remark).unwrap_or_else(|e| panic!("{remark}: {e}"));
    assert_eq!(Patch::parse(&patch.to_text()).unwrap(), patch, "a patch survives being written and read");
    let weighed = super::weigh::compare(&before, &patch, None).unwrap_or_else(|e| panic!("{remark}: {e}"));
    assert_eq!(weighed.objections(), Vec::<String>::new(), "{remark}");
    weighed.difference.lines
}

#[test]
fn remarks_become_changes_of_the_graph() {
    for (remark, expected) in [
        ("The phone number is optional.", vec!["~ node 1, slot `PhoneNumber`: required is now false"]),
        ("People don't need to give their phone", vec!["~ node 1, slot `PhoneNumber`: required is now false"]),
        ("Never ask for the room", vec!["- node 1, slot `Room`"]),
        (
            "Ask for the start time before the day",
            vec!["~ node 1: asks GuestName, StartTime, Day, PhoneNumber, Room instead of GuestName, Day, StartTime, PhoneNumber, Room"],
        ),
        ("Say \"All set. See you!\" when the table is booked", vec!["~ replies `table_booked`: \"Your table is booked.\" becomes \"All set. See you!\""]),
        ("When asking for the day, say \"Which day suits you?\"", vec!["+ replies `ask_Day`: \"Which day suits you?\""]),
        ("\"outside\" means \"terrace\"", vec!["~ node 1, slot `Room`: synonyms is now {\"terrace\":[\"outside\"]}"]),
        (
            "The room can only be terrace, main hall or bar",
            vec!["~ node 1, slot `Room`: values was [\"terrace\",\"main hall\"], is now [\"terrace\",\"main hall\",\"bar\"]"],
        ),
        (
            "Also ask for the number of guests and their email",
            vec![
                "+ node 1, slot `number_of_guests`: {\"name\":\"number_of_guests\",\"label\":\"number of guests\",\"type\":\"integer\"}",
                "+ node 1, slot `email`: {\"name\":\"email\",\"label\":\"email\",\"type\":\"string\"}",
            ],
        ),
        ("If nothing is free, go from node 4 to node 1", vec!["+ edge 4 -> 1 when \"Nothing is free\""]),
        (
            "Either the day or the start time is enough",
            vec![
                "~ node 1, slot `Day`: rule is now \"either Day or StartTime is enough\"",
                "~ node 1, slot `StartTime`: rule is now \"either Day or StartTime is enough\"",
            ],
        ),
        (
            "Confirm everything before booking",
            vec![
                "+ node 5: inform_and_confirm Confirm everything before booking",
                "- edge 1 -> 2",
                "+ edge 1 -> 5",
                "+ edge 5 -> 1 when \"No\"",
                "+ edge 5 -> 2 when \"Yes\"",
            ],
        ),
    ] {
        assert_eq!(lines(remark), expected, "{remark}");
    }
}

#[test]
fn what_is_no_change_is_said_to_be_none() {
    assert_eq!(from_remark(&table(), "I like it. It is rather blue."), Err(RefineError::NotUnderstood));
}

#[test]
fn the_difference_is_drawn() {
    let before = table();
    let patch = from_remark(&before, "Confirm everything before booking").unwrap();
    let dot = weigh(&before, &patch, None).unwrap().difference.dot;
    for part in [
        "n5 [label=\"5: inform_and_confirm",
        "n1 -> n2 [label=\"\", color=\"#c62828\"]",
        "n1 -> n5 [label=\"\", color=\"#2e7d32\"]",
        "n2 -> n3 [label=\"Success\", color=\"#555555\"]",
    ] {
        assert!(dot.contains(part), "{part} in\n{dot}");
    }
}

#[test]
fn a_change_that_does_not_fit_is_refused_by_name() {
    let patch = Patch::parse(r#"{"changes": [{"do": "remove_slot", "node": 1, "slot": "Phone"}]}"#).unwrap();
    assert_eq!(apply(&table(), &patch).unwrap_err().to_string(), "change 1 names the slot `Phone`, which the flow does not have");
    assert!(Patch::parse(r#"{"changes": [{"do": "paint", "node": 1}]}"#).unwrap_err().to_string().contains("paint"));
}

#[test]
fn errors_and_worse_dialogues_speak_against_writing() {
    let before = table();
    let broken = Patch::parse(r#"{"changes": [{"do": "set_node", "node": 2, "set": {"type": "external_axion"}}]}"#).unwrap();
    assert!(!weigh(&before, &broken, None).unwrap().objections().is_empty());
    let worse = |s: &Source| Ok(Measure { right: usize::from(s.text.contains("PhoneNumber")), total: 1, failed: Vec::new() });
    let patch = from_remark(&before, "never ask for the phone number").unwrap();
    assert_eq!(weigh(&before, &patch, Some(&worse)).unwrap().objections(), ["1 recorded turns were right before, 0 are after"]);
}

/// Dialogues in which nobody was asked for the phone number, and the start time came before the day.
fn recorded(flow: &Source) -> Result<Measure, String> {
    let value: serde_json::Value = serde_json::from_str(&flow.text).map_err(|e| e.to_string())?;
    let slots = value["nodes"][0]["slots"].as_array().ok_or("no slots")?;
    let asked: Vec<String> =
        slots.iter().filter(|s| s["required"] != serde_json::json!(false)).map(|s| format!("ask_{}", s["name"].as_str().unwrap_or_default())).collect();
    let wanted = ["ask_GuestName", "ask_StartTime", "ask_Day", "ask_Room", "query"];
    let mut out = Measure { total: 3 * wanted.len(), ..Measure::default() };
    for dialogue in 0..3 {
        for (turn, w) in wanted.iter().enumerate() {
            // As in a replay, what was really asked before is known by then.
            let done = asked.iter().find(|a| !wanted[..turn].contains(&a.as_str())).map_or("query", String::as_str);
            if done == *w {
                out.right += 1;
            } else {
                out.failed.push(Failed { dialogue: dialogue.to_string(), turn, wanted: (*w).to_owned(), done: done.to_owned() });
            }
        }
    }
    Ok(out)
}

#[test]
fn failed_dialogues_lead_to_the_changes_that_they_bear_out() {
    let before = table();
    let patch = from_failures(&before, &recorded).unwrap();
    let weighed = weigh(&before, &patch, Some(&recorded)).unwrap();
    assert_eq!(weighed.objections(), Vec::<String>::new());
    assert_eq!(weighed.after_measure.as_ref().map(|m| (m.right, m.total)), Some((15, 15)), "{weighed}");
    assert_eq!(patch.because, "recorded dialogues: 6 of 15 turns right, 15 with these changes");
}

/// The slots that a description asks for.
fn asked_for(prose: &str) -> Vec<String> {
    let first = draft("room", prose);
    assert_eq!(first.not_understood, [""; 0], "{prose}");
    let (flow, found) = chief::read(&first.source);
    assert!(found.iter().all(|d| d.severity != Severity::Error), "{found:?}");
    flow.unwrap().graph().unwrap().slots().iter().map(|(_, s)| s.name.clone()).collect()
}

#[test]
fn things_are_asked_for_in_many_words_and_belong_to_nobody() {
    for prose in [
        "Ask for the user's name, their day and the caller's phone number.",
        "It needs to know the user's name, the day and the phone number.",
        "The bot needs to know their name, the day and their phone number.",
        "The user gives their name, a day and the phone number.",
        "The customer then provides his name, the day and a phone number.",
        "The caller tells the bot the caller's name, the day and their phone number.",
    ] {
        assert_eq!(asked_for(prose), ["name", "day", "phone_number"], "{prose}");
    }
    assert_eq!(asked_for("Find out where the user wants to go and when they want to leave."), ["place_to_go", "time_to_leave"]);
    assert_eq!(asked_for("Find out when the party starts. It needs to know where they are."), ["time_of_the_party", "place"]);
    assert!(!draft("room", "The user smiles. It needs to rain.").not_understood.is_empty());
}

#[test]
fn prose_becomes_a_first_flow() {
    let prose = "Greet the user. Ask for their name, the day and the start time. Optionally ask for a message. Then check the availability. \
                 If it is available, ask whether they want to book. If they agree, book the room and tell them the reference number. \
                 If it is not available, ask for another day. Say goodbye at the end. Bananas are yellow.";
    let first = draft("room", prose);
    let (flow, found) = chief::read(&first.source);
    assert!(found.iter().all(|d| d.severity != Severity::Error), "{found:?}");
    let program = flow.unwrap();
    let flow = program.graph().unwrap();
    let slots: Vec<&str> = flow.slots().iter().map(|(_, s)| s.name.as_str()).collect();
    assert_eq!(slots, ["name", "day", "start_time", "message"]);
    assert!(flow.anywhere.greeting.is_some() && flow.anywhere.goodbye.is_some());
    let edges: Vec<String> = flow.edges.iter().map(|e| format!("{}->{} {}", e.source, e.target, e.text.clone().unwrap_or_default())).collect();
    insta::assert_snapshot!(edges.join("\n"));
    assert_eq!(first.not_understood, ["Bananas are yellow"]);
}
