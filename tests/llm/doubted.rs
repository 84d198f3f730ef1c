//! A model's reading is doubted: what names nothing in the words, or counts what nobody counted, is asked back, in either way of asking a model.

use std::sync::{Arc, LazyLock};

use duologue::domain::{Domain, Files};
use duologue::eval::nlu::read_cases;
use duologue::eval::understand::compare;
use duologue::llm::Api;
use duologue::term::Atom;
use duologue::understand::embedded::Embedded;
use duologue::understand::hybrid::HybridUnderstand;
use duologue::understand::{Context, Heard, Understand};
use serde_json::json;

use crate::server::{Act, Server};
use crate::support::{Fixed, ONTOLOGY, completion, config, customer, model, texts, translator};

static EAR: LazyLock<Arc<Embedded>> = LazyLock::new(|| {
    let domain = Domain::load(&Files::built_in(), "drive_thru").unwrap();
    Arc::new(domain.embedded().unwrap().unwrap())
});

fn atoms(texts: &[&str]) -> Vec<Atom> {
    texts.iter().map(|t| Atom::parse(t).unwrap()).collect()
}

/// After these actions, with one of each of these on the order.
fn after(actions: &[&str], order: &[&str]) -> Context {
    let lines: Vec<Atom> = order.iter().enumerate().map(|(i, item)| Atom::parse(&format!("view(line,{},\"{item}\")", i + 1)).unwrap()).collect();
    Context { last_actions: atoms(actions), view: ONTOLOGY.view.view(lines), ..customer() }
}

/// A server whose model reads these acts in everything.
fn reads(acts: &[&str]) -> Server {
    let reply = completion(&json!({ "predicates": acts }).to_string());
    Server::start(move |_| Act::json(reply.clone()))
}

/// What is heard with a model that reads these acts, asked always and asked where the embedded translator is unsure.
fn heard(text: &str, context: &Context, acts: &[&str]) -> [Heard; 2] {
    let server = reads(acts);
    let by_model = || translator(model(config(&server, Api::OpenAi)));
    [by_model().fallback(EAR.clone()).understand(text, context), HybridUnderstand::new(EAR.clone(), by_model(), 0.7).understand(text, context)]
}

#[test]
fn what_nothing_in_the_words_bears_out_is_asked_back() {
    let tacos = after(&["confirm(order,\"Soft Taco\")", "else"], &["Soft Taco", "Pepsi"]);
    for (text, context, act) in [
        ("flib", &customer(), "order(\"Pepsi\",1)"),
        ("flib", &tacos, "order(\"Pepsi\",1)"),
        ("wobble the frobnicator", &customer(), "order(\"Pepsi\",3)"),
        ("gimme that crunchy snacky thing", &customer(), "order(\"Nachos BellGrande\",20)"),
        ("nachos bellgrande please", &customer(), "order(\"Nachos BellGrande\",20)"),
        ("it is quite sunny out", &tacos, "remove(\"Soft Taco\",1)"),
        ("the soft taco looks good", &tacos, "replace(\"Soft Taco\",\"Pepsi\")"),
    ] {
        let [by_model, hybrid] = heard(text, context, &[act]);
        assert_eq!((by_model.by, texts(&by_model.predicates), texts(&by_model.asks)), ("llm", vec![], vec![act.to_owned()]), "{text}");
        assert!(by_model.confidence < 0.5 && !texts(&hybrid.predicates).contains(&act.to_owned()), "{text}: {hybrid:?}");
    }
}

#[test]
fn what_the_words_bear_out_is_done() {
    let pepsi = after(&["confirm(order,\"Pepsi\")", "else"], &["Pepsi"]);
    for (text, context, act) in [
        ("two of those tacos", &after(&["recommend(none,\"Soft Taco\")"], &[]), "order(\"Soft Taco\",2)"),
        ("yeah the first one", &after(&["recommend(none,\"Soft Taco\")", "recommend(none,\"Pepsi\")"], &[]), "order(\"Soft Taco\",1)"),
        ("make it two", &pepsi, "set_quantity(\"Pepsi\",2)"),
        ("a couple more of those", &pepsi, "order(\"Pepsi\",2)"),
        ("a soft taco for me and ditto for my wife", &customer(), "order(\"Soft Taco\",2)"),
        ("get rid of it", &pepsi, "remove(\"Pepsi\",1)"),
        ("make it a root beer instead", &pepsi, "replace(\"Pepsi\",\"Mug Root Beer\")"),
        ("large", &after(&["ask(none,\"Pepsi\",size)"], &["Pepsi"]), "update(\"Pepsi\",size,large)"),
        ("yes please", &after(&["ask(none,\"Soft Taco\",fresco)"], &["Soft Taco"]), "update(\"Soft Taco\",fresco,yes)"),
        ("guac", &after(&["confirm(order,\"Soft Taco\")", "else"], &["Soft Taco"]), "update(\"Soft Taco\",add,\"Guacamole\")"),
        ("could you do me a cuple of sofft taccos", &customer(), "order(\"Soft Taco\",2)"),
        ("a soft drink, the root beer one", &customer(), "order(\"Mug Root Beer\",1)"),
    ] {
        let [by_model, hybrid] = heard(text, context, &[act]);
        assert_eq!((texts(&by_model.predicates), texts(&by_model.asks)), (vec![act.to_owned()], vec![]), "{text}");
        let done = if hybrid.by == "llm" { texts(&hybrid.predicates) } else { vec![act.to_owned()] };
        assert_eq!((done, hybrid.asks), (vec![act.to_owned()], vec![]), "{text}");
    }
}

/// What is borne out of a reading is done, the rest of it asked.
#[test]
fn an_act_is_judged_by_itself() {
    let [by_model, _] = heard("a soft taco please", &customer(), &["order(\"Soft Taco\",1)", "order(\"Nachos BellGrande\",20)"]);
    assert_eq!((texts(&by_model.predicates), texts(&by_model.asks)), (vec!["order(\"Soft Taco\",1)".into()], vec!["order(\"Nachos BellGrande\",20)".into()]));
}

/// "A coke", where nobody sells one: the model knows what is meant, and is asked back instead of being overruled.
#[test]
fn a_known_name_of_the_models_is_asked_back_sooner_than_an_unknown_one_is_refused() {
    let asked = |heard: &Heard| (texts(&heard.predicates), texts(&heard.asks));
    let pepsi = (vec![], vec!["order(\"Pepsi\",1)".to_owned()]);
    assert_eq!(heard("a coke", &customer(), &["order(\"Pepsi\",1)"]).each_ref().map(asked), [pepsi.clone(), pepsi.clone()]);
    let hybrid = |embedded: &'static str, acts: &[&str], text: &str| {
        let server = reads(acts);
        HybridUnderstand::new(Arc::new(Fixed(embedded, 0.95)), translator(model(config(&server, Api::OpenAi))), 0.7).understand(text, &customer())
    };
    assert_eq!(asked(&hybrid("order(\"Coke\",1)", &["order(\"Pepsi\",1)"], "a coke")), pepsi);
    // What both read is done; where the model knows no name either, or says nothing, the unknown one is told.
    let both = hybrid("order(\"Coke\",1);order(\"Cheesy Roll Up\",1)", &["order(\"Pepsi\",1)", "order(\"Cheesy Roll Up\",1)"], "a coke and the usual");
    assert_eq!(asked(&both), (vec!["order(\"Cheesy Roll Up\",1)".to_owned()], pepsi.1.clone()));
    for acts in [&["order(said(\"coke\"),1)"][..], &[]] {
        assert_eq!(texts(&hybrid("order(\"Coke\",1)", acts, "a coke").predicates).len(), 1, "{acts:?}");
    }
}

/// Hears nothing, and doubts as the embedded translator does.
struct Deaf;

impl Understand for Deaf {
    fn understand(&self, _: &str, _: &Context) -> Heard {
        Heard::default()
    }

    fn gate(&self, text: &str, context: &Context, heard: Heard) -> Heard {
        EAR.gate(text, context, heard)
    }
}

/// What is measured is what the hybrid says: the gate counts.
#[test]
fn a_measured_hybrid_has_passed_the_gate() {
    let server = reads(&["order(\"Pepsi\",3)"]);
    let line = r#"{"id":"1","role":"customer","text":"wobble the frobnicator","gold":["order(\"Pepsi\",3)"]}"#;
    let cases = read_cases(line.as_bytes(), &ONTOLOGY.view).unwrap();
    let models = [("double".to_owned(), translator(model(config(&server, Api::OpenAi))))];
    let reports = compare(&cases, Some(&Deaf), &models, 0.7);
    let of = |label: &str| reports.iter().find(|r| r.label == label).map(|r| (r.all.exact, r.all.asked));
    assert_eq!((of("double"), of("hybrid, double")), (Some((1, 0)), Some((0, 1))));
}
