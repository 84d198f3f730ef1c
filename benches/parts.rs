//! The parts of a turn by themselves: understanding, a decision, its proofs, a confirmed decision, the base, a whole turn.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot be set up must fail loudly")]

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use duologue::domain::{Domain, Files};
use duologue::facts::{MemoryStore, SessionKey};
use duologue::reason::{Base, Budget, Reasoner, decide};
use duologue::term::Atom;
use duologue::turn::{Engine, Options, Said};
use duologue::understand::{Context, Understand};

fn parts(c: &mut Criterion) {
    let domain = Domain::load(&Files::built_in(), "drive_thru").unwrap();
    let rules = domain.rules.get("customer").unwrap();
    let base = Base::build(rules, &domain.facts, &[]).unwrap();
    let facts: Vec<Atom> = ["in(1,order(\"Soft Taco\",2))", "in(2,order(\"Pepsi\",1))", "role(customer)"].iter().map(|t| Atom::parse(t).unwrap()).collect();
    let budget = Budget::default();

    c.bench_function("base of 1,574 facts", |b| b.iter(|| Base::build(rules, black_box(&domain.facts), &[]).unwrap()));
    c.bench_function("base after a shortage", |b| b.iter(|| base.with_change(&[Atom::parse("runout(\"Lettuce\")").unwrap()], &[]).unwrap()));
    c.bench_function("decision, fast", |b| b.iter(|| decide(&base, black_box(&facts), Reasoner::Fast, &budget).unwrap()));
    c.bench_function("decision, confirmed", |b| b.iter(|| decide(&base, black_box(&facts), Reasoner::Confirm, &budget).unwrap()));
    let outcome = decide(&base, &facts, Reasoner::Fast, &budget).unwrap();
    c.bench_function("all proofs of a decision", |b| b.iter(|| black_box(&outcome).why_all()));

    let translator = domain.embedded().unwrap().unwrap();
    let context = Context { role: "customer".into(), ..Context::default() };
    c.bench_function("an utterance", |b| b.iter(|| translator.understand(black_box("two soft tacos, one without lettuce, and a large pepsi"), &context)));

    let engine = Engine::new(domain.clone(), Arc::new(MemoryStore::default())).with_options(Options { reasoner: Reasoner::Fast, ..Options::default() });
    let said = ["query(price,\"Bean Burrito\")".to_owned()];
    let key = SessionKey::new("bench", "c1");
    c.bench_function("a whole turn in memory", |b| b.iter(|| engine.turn(&key, "customer", &Said::Predicates(black_box(&said)), None).unwrap()));
}

criterion_group!(benches, parts);
criterion_main!(benches);
