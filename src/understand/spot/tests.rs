//! What is spotted in loose talk.

use super::*;
use crate::domain::{Domain, Files};

fn hear(after: &[&str], text: &str) -> String {
    let domain = Domain::load(&Files::built_in(), "multiwoz").unwrap();
    let spotter = domain.spotter().unwrap().unwrap();
    let last_actions = after.iter().map(|a| Atom::parse(a).unwrap()).collect();
    let heard = spotter.understand(text, &Context { role: "guest".into(), last_actions, ..Context::default() });
    heard.predicates.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

#[test]
fn cues_and_values_come_in_the_order_of_the_words() {
    assert_eq!(hear(&[], "A cheap place to eat in the north, please."), "price(cheap) topic(restaurant) area(north)");
    assert_eq!(hear(&[], "What is the phone number? I also need a taxi."), "want(phone) pause also topic(taxi)");
}

#[test]
fn a_name_takes_its_words_so_that_its_area_is_none() {
    assert_eq!(hear(&[], "Tell me about Pizza Hut City Centre"), "details info name(\"Pizza Hut City Centre\")");
    assert_eq!(hear(&[], "the acorn guest house"), "name(\"Acorn Guest House\") topic(hotel)");
}

#[test]
fn what_a_mention_means_is_told_by_its_neighbours_or_by_what_was_asked() {
    assert_eq!(hear(&[], "from Cambridge to Ely on Monday, arriving by 10:15"), "from(\"Cambridge\") to(\"Ely\") day(monday) arrive(615)");
    assert_eq!(hear(&["ask(train,departure)"], "Ely"), "from(\"Ely\")");
    assert_eq!(hear(&["ask(hotel,bookpeople)"], "3"), "people(3)");
    assert_eq!(hear(&[], "for 3 nights and 2 people"), "nights(3) people(2)");
    assert_eq!(hear(&[], "I do n't need parking"), "deny parking(no) want(parking)");
}

#[test]
fn a_greeting_counts_only_by_itself() {
    assert_eq!(hear(&[], "Hello!"), "greet");
    assert_eq!(hear(&[], "Hello, a taxi please"), "topic(taxi)");
}
