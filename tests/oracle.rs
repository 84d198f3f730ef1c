//! An independent reading of the drive-through ontology, and the engine compared with it turn by turn.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test program may stop at the first surprise")]
#![allow(missing_docs, reason = "a test program has no public items")]

#[path = "oracle/answers.rs"]
mod answers;
#[path = "oracle/customer.rs"]
mod customer;
#[path = "oracle/dialogues.rs"]
mod dialogues;
#[path = "oracle/manager.rs"]
mod manager;
#[path = "oracle/menu.rs"]
mod menu;
#[path = "oracle/questions.rs"]
mod questions;
#[path = "oracle/site.rs"]
mod site;
#[path = "oracle/state.rs"]
mod state;
#[path = "oracle/updates.rs"]
mod updates;

use std::rc::Rc;

const MENU: &str = include_str!("../kb/drive_thru/menu.lp");
const DIALOGUES: &str = include_str!("dialogues/drive-thru.yaml");

#[test]
fn the_reference_holds_every_scripted_dialogue() {
    let facts = menu::read_facts(MENU);
    let menu = Rc::new(menu::Menu::new(facts.clone()));
    let dialogues = dialogues::read(DIALOGUES);
    assert!(dialogues.len() >= 12);
    let bad: Vec<_> = dialogues.iter().flat_map(|d| dialogues::check(d, &mut site::Site::new(menu.clone()), &facts)).collect();
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn patterns_match_as_the_case_checker_does() {
    let atom = |s: &str| duologue::term::Atom::parse(s).unwrap();
    for (pattern, text, holds) in [
        ("ask/3", "ask(none,\"Pepsi\",size)", true),
        ("ask/2", "ask(none,\"Pepsi\",size)", false),
        ("check(_,order(\"Pepsi\"))", "check(3,order(\"Pepsi\"))", true),
        ("check(_,order(\"Water\"))", "check(3,order(\"Pepsi\"))", false),
        ("ask(\"Combo A\",_,_)", "ask(\"Combo A\",\"Drink\",choose)", true),
        ("else", "else", true),
        ("confirm(fresco,no)", "confirm(fresco,\"no\")", false),
    ] {
        assert_eq!(dialogues::pattern_matches(pattern, &atom(text)), holds, "{pattern} on {text}");
    }
}
