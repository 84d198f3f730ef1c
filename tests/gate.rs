//! What stands between reading and doing: what must be done on these words, what must not, and what is asked back.

#![allow(clippy::unwrap_used, reason = "a test that cannot load its files has nothing to test")]

use std::path::Path;
use std::sync::LazyLock;

use duologue::domain::{Domain, Files};
use duologue::term::Atom;
use duologue::understand::embedded::{Embedded, Part};
use duologue::understand::{Context, Heard, Understand};

static DOMAIN: LazyLock<Domain> = LazyLock::new(|| Domain::load(&Files::folder(Path::new(env!("CARGO_MANIFEST_DIR"))), "drive_thru").unwrap());
static EAR: LazyLock<Embedded> = LazyLock::new(|| DOMAIN.embedded().unwrap().unwrap());

fn context(role: &str, after: &[&str]) -> Context {
    Context { role: role.into(), last_actions: after.iter().map(|a| Atom::parse(a).unwrap()).collect(), ..Context::default() }
}

fn done(role: &str, text: &str) -> Vec<String> {
    EAR.understand(text, &context(role, &[])).predicates.iter().map(ToString::to_string).collect()
}

/// Words that name something, deny, ask, or speak of another time delete nothing and run nothing out.
#[test]
fn a_manager_changes_nothing_without_saying_so() {
    for text in [
        "pepsi",
        "the soft taco supreme",
        "is lettuce out?",
        "are we out of beans?",
        "lettuce is almost gone",
        "we might run out of beans later",
        "don't delete the soft taco",
        "do we still have guac?",
        "what's out of stock?",
        "we got a call about the crunchy taco",
    ] {
        let costly: Vec<String> = done("manager", text).into_iter().filter(|a| DOMAIN.ontology.is_costly("manager", &Atom::parse(a).unwrap())).collect();
        assert!(costly.is_empty(), "{text}: {costly:?}");
    }
}

#[test]
fn what_is_said_outright_is_done() {
    for (text, act) in [
        ("86 the guac", "runout(\"Guacamole\")"),
        ("we're out of lettuce", "runout(\"Lettuce\")"),
        ("lettuce is back", "restore(\"Lettuce\")"),
        ("take Pepsi off the menu", "delete(\"Pepsi\")"),
        ("we ran through all the cinnabon delights", "runout(\"Cinnabon Delights\")"),
        ("make the Grilled Cheese Burrito $3.80", "edit(\"Grilled Cheese Burrito\",price,380)"),
    ] {
        assert_eq!(done("manager", text), [act], "{text}");
    }
}

/// A word of no weight before a number is no part of a name.
#[test]
fn no_name_begins_with_hesitation() {
    for (text, act) in
        [("i need um three flooble burritos please", "order(\"Flooble Burritos\",3)"), ("a bag of like six crunchy tacos", "order(\"Crunchy Taco\",6)")]
    {
        assert_eq!(done("customer", text), [act], "{text}");
    }
}

#[test]
fn both_of_what_was_listed_are_meant() {
    let listed = context("manager", &["answer(out,all,\"Lettuce\")", "answer(out,all,\"Sour Cream\")"]);
    let acts: Vec<String> = EAR.understand("both back in", &listed).predicates.iter().map(ToString::to_string).collect();
    assert_eq!(acts, ["restore(\"Lettuce\")", "restore(\"Sour Cream\")"]);
}

/// A number said as a change is added to what the menu says: the Soft Taco costs 1.99.
#[test]
fn prices_are_raised_and_lowered() {
    for (text, act) in [
        ("raise the price of the Soft Taco by twenty cents", "edit(\"Soft Taco\",price,219)"),
        ("raise the price of the Soft Taco to 2.29", "edit(\"Soft Taco\",price,229)"),
        ("the Soft Taco costs 2,29 now", "edit(\"Soft Taco\",price,229)"),
    ] {
        let heard = EAR.understand(text, &context("manager", &[]));
        let all: Vec<String> = heard.predicates.iter().chain(&heard.asks).map(ToString::to_string).collect();
        assert_eq!(all, [act], "{text}");
    }
}

/// What a model heard passes the same gate: it may not delete on a question.
#[test]
fn a_models_reading_is_held_against_the_words_too() {
    let heard = |text: &str| {
        let model = Heard { predicates: vec![Atom::parse("delete(\"Pepsi\")").unwrap()], confidence: 0.9, by: "llm", ..Heard::default() };
        EAR.gate(text, &context("manager", &[]), model)
    };
    assert_eq!(heard("take the Pepsi off the menu").predicates.len(), 1);
    assert!(heard("is the Pepsi any good?").predicates.is_empty());
    assert!(heard("Pepsi").predicates.is_empty());
}

/// What is told of a thing, or said in words that nobody knows, is no wish; who shouts says the same.
#[test]
fn what_is_told_is_no_wish_and_noise_is_not_beside_the_point() {
    for text in ["the coffee is too hot for me", "that's too hot for me"] {
        assert!(done("customer", text).iter().all(|a| !a.starts_with("order")), "{text}: {:?}", done("customer", text));
    }
    assert!(done("customer", "Flarbl the wug, kindly").is_empty());
    assert_eq!(done("customer", "TWO SOFT TACOS AND A PEPSI"), ["order(\"Soft Taco\",2)", "order(\"Pepsi\",1)"]);
    assert_eq!(done("customer", "diet coke"), ["order(\"Diet Coke\",1)"]);
}

/// A denial beside the act denies something else; a bare number far from what holds may be another unit.
#[test]
fn what_may_be_meant_is_not_lost_and_not_done() {
    let heard = |text: &str, after: &[&str]| EAR.understand(text, &context("manager", after));
    let delete = [Atom::parse("delete(\"Caramel Apple Empanada\")").unwrap()];
    let told = heard("drop the caramel apple empanada from the menu, we won't get it anymore", &[]);
    assert!(told.predicates == delete || told.asks == delete, "{told:?}");
    let denied = heard("don't drop the caramel apple empanada from the menu", &[]);
    assert!(denied.predicates != delete, "{denied:?}");
    let number = heard("make that 30", &["confirm(edit,\"Soft Taco\")"]);
    assert!(number.predicates.is_empty(), "{number:?}");
}

#[test]
fn a_part_can_be_left_out() {
    let ungated = EAR.clone().without(&[Part::Gate]);
    assert!(!ungated.understand("lettuce is almost gone, I think", &context("manager", &[])).predicates.is_empty());
    assert!("pattern".parse::<Part>().is_err());
}
