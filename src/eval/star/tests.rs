//! The evaluation on a small excerpt of STAR.

use std::path::{Path, PathBuf};

use super::data::Event;
use super::*;
use crate::ir::run;

fn excerpt() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/star/dialogues.jsonl")
}

fn examples(protocol: Protocol, reasoner: Reasoner) -> Vec<Example> {
    let ready = load(None).unwrap();
    let dialogues = data::read(&[excerpt()]).unwrap();
    dialogues.iter().flat_map(|dialogue| Replay { dialogue, flow: &ready[&dialogue.task], states: None, protocol, reasoner }.run().unwrap()).collect()
}

#[test]
fn the_24_flows_load_without_errors() {
    let ready = load(None).unwrap();
    assert_eq!(ready.len(), 24);
    for s in sources(None).unwrap() {
        let (_, found) = crate::lang::chief::read(&s);
        assert!(found.is_empty(), "{}: {found:#?}", s.name);
    }
}

#[test]
fn most_acts_of_the_excerpt_are_predicted() {
    let report = run(&Args { dialogues: vec![excerpt()], rounds: 50, ..Args::default() }).unwrap();
    assert_eq!(report.dialogues, 11);
    assert!(report.macro_score.accuracy > 60.0, "{}", report.table());
    assert!(report.macro_f1_interval.low <= report.macro_score.f1);
}

#[test]
fn every_prediction_has_a_proof_from_the_nodes_of_its_flow() {
    let ready = load(None).unwrap();
    let mut seen = 0;
    for e in examples(Protocol::P5, Reasoner::Fast) {
        let flow = &ready[&e.task].flow;
        for d in &e.decisions {
            let act = d.outcome.shown().iter().find(|a| &*a.name == "act").unwrap_or_else(|| panic!("{}: nothing was decided", e.event));
            let proof = d.outcome.why(act).unwrap().tree(&|_| String::new());
            // What was decided names an act or a node of the flow, and the proof rests on the flow's fact that says so.
            let rests = |fact: &str| proof.contains(fact);
            let from_flow = match &d.next {
                run::Next::Call(node) => flow.node(*node).is_some() && rests(&format!("node({node},call)")),
                run::Next::Say(a) => {
                    ["act_of(", "ask_act(", "anywhere(", "act_if(", "last_act("].iter().any(|p| proof.lines().any(|l| l.contains(p) && l.contains(a.as_str())))
                        || proof.contains(&format!("wonders(\"{a}\")")) && flow.answers.iter().any(|x| x.act == *a)
                }
                run::Next::Silence => false,
            };
            assert!(from_flow, "{} {}: {proof}", e.dialogue, e.event);
            seen += 1;
        }
    }
    assert!(seen > 50, "{seen}");
}

#[test]
fn clingo_derives_the_same_acts() {
    let fast: Vec<String> = examples(Protocol::P5, Reasoner::Fast).into_iter().map(|e| e.predicted).collect();
    let confirmed: Vec<String> = examples(Protocol::P5, Reasoner::Confirm).into_iter().map(|e| e.predicted).collect();
    assert_eq!(fast, confirmed);
}

#[test]
fn the_next_turns_do_not_leak_into_a_prediction() {
    let ready = load(None).unwrap();
    for dialogue in data::read(&[excerpt()]).unwrap() {
        let predict = |d: &data::Dialogue| {
            let r = Replay { dialogue: d, flow: &ready[&d.task], states: None, protocol: Protocol::P5, reasoner: Reasoner::Fast };
            r.run().unwrap().into_iter().map(|e| (e.event, e.predicted)).collect::<BTreeMap<_, _>>()
        };
        let whole = predict(&dialogue);
        // What comes after the middle is replaced by noise; the predictions before it stay as they are.
        let mut cut = dialogue.clone();
        let middle = cut.events.len() / 2;
        let turn = cut.events.iter().skip(middle).find(|(_, e)| matches!(e, Event::User(_))).map_or(usize::MAX, |(n, _)| *n);
        for (n, e) in &mut cut.events {
            if *n >= turn
                && let Event::User(text) | Event::Words(text) | Event::Act(_, text) = e
            {
                *text = "something else entirely".into();
            }
        }
        let changed = predict(&cut);
        for (event, act) in whole.iter().filter(|(n, _)| **n < turn) {
            assert_eq!(changed.get(event), Some(act), "{}", dialogue.id);
        }
    }
}

#[test]
fn a_result_is_read_by_its_words() {
    let class = |json: &str| run::class_of(Some(&serde_json::from_str(json).unwrap()));
    assert_eq!(class(r#"{"Message": "That time is unavailable. Please try another time."}"#), run::Class::Bad);
    assert_eq!(class(r#"{"Message": "The time slot is available."}"#), run::Class::Good);
    assert_eq!(class(r#"{"Name": "Unavailable Inn", "Cost": "Cheap"}"#), run::Class::Good);
    assert_eq!(run::class_of(None), run::Class::None);
}
