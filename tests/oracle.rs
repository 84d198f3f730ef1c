//! An independent reading of the drive-through ontology, and the engine compared with it turn by turn.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test that cannot go on must fail loudly"
)]
#![allow(missing_docs, reason = "a test program has no public items")]

#[path = "oracle/answers.rs"]
mod answers;
#[path = "oracle/compare.rs"]
mod compare;
#[path = "oracle/customer.rs"]
mod customer;
#[path = "oracle/dialogues.rs"]
mod dialogues;
#[path = "oracle/engine.rs"]
mod engine;
#[path = "oracle/generate.rs"]
mod generate;
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

use std::collections::BTreeMap;
use std::rc::Rc;

const MENU: &str = include_str!("../kb/drive_thru/menu.lp");
const DIALOGUES: &str = include_str!("dialogues/drive_thru_dev.yaml");

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

fn the_menu() -> Rc<menu::Menu> {
    Rc::new(menu::Menu::new(menu::read_facts(MENU)))
}

/// A number from the environment.
fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

#[test]
fn the_generator_reaches_every_corner_of_the_reference() {
    let menu = the_menu();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let (mut turns, mut commits) = (0, 0);
    for seed in 0..300 {
        let mut site = site::Site::new(menu.clone());
        for t in generate::conversation(seed, &menu) {
            let before = site.menu.clone();
            let reply = site.step(&t.session, t.role, &t.predicates);
            commits += usize::from(!Rc::ptr_eq(&before, &site.menu));
            turns += 1;
            *seen.entry(format!("status {}", reply.state.status)).or_default() += 1;
            for a in &reply.actions {
                let word = match (&*a.name, a.args.last()) {
                    ("reject" | "ask", Some(t)) => format!("{} {t}", a.name),
                    ("confirm", _) => format!("confirm {}", a.args[0]),
                    _ => a.name.to_string(),
                };
                *seen.entry(word).or_default() += 1;
            }
        }
    }
    if std::env::var("ORACLE_SHOW").is_ok() {
        println!("{turns} turns, {commits} commits");
        seen.iter().for_each(|(k, n)| println!("{n:6} {k}"));
    }
    assert!(commits > 10, "{commits} commits");
    for word in ["status placed", "status cancelled", "price", "warn", "handoff", "recommend", "answer", "unavailable", "ask choose", "ask size", "ask fresco"]
    {
        assert!(seen.get(word).is_some_and(|n| *n >= 5), "{word} too rare: {:?}", seen.get(word));
    }
    for reason in
        ["unknown_food", "not_ordered", "not_applicable", "already_done", "contradiction", "not_in_combo", "combo_full", "quantity_limit", "empty_order"]
    {
        assert!(seen.contains_key(&format!("reject {reason}")), "{reason} never met");
    }
    for reason in ["already_exists", "unknown_property", "bad_value", "no_such_value", "in_use"] {
        assert!(seen.contains_key(&format!("reject {reason}")), "{reason} never met");
    }
}

/// Runs the conversations of `count` seeds, half of them beside the other half.
fn compare_all(from: u64, count: u64) -> Vec<(u64, compare::Run)> {
    let (start, seconds) = (std::time::Instant::now(), setting("ORACLE_SECONDS", 100_000));
    let half = |odd: u64| {
        let (menu, mut engine) = (the_menu(), engine::Engine::start().unwrap());
        let seeds = (from..from + count).filter(|s| s % 2 == odd).take_while(|_| start.elapsed().as_secs() < seconds as u64);
        seeds.map(|s| (s, compare::run(&mut engine, &menu, &generate::conversation(s, &menu), true))).collect::<Vec<_>>()
    };
    let mut all = std::thread::scope(|scope| {
        let other = scope.spawn(|| half(1));
        let mut all = half(0);
        all.extend(other.join().unwrap());
        all
    });
    all.sort_by_key(|(s, _)| *s);
    all
}

#[test]
fn the_engine_agrees_with_the_reference_turn_by_turn() {
    let menu = the_menu();
    let mut engine = engine::Engine::start().expect("the step command answers");
    let facts = menu.facts.clone();
    let mut bad = vec![];
    for d in dialogues::read(DIALOGUES) {
        engine.next_site();
        bad.extend(dialogues::check(&d, &mut engine, &facts));
    }
    let (count, seed) = (setting("ORACLE_DIALOGUES", 60), setting("ORACLE_SEED", 20_000));
    let (mut turns, mut agreeing, mut whole, mut done) = (0, 0, 0, 0);
    let mut kinds: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for (seed, r) in compare_all(seed as u64, count as u64) {
        done += 1;
        turns += r.turns;
        agreeing += r.agreeing;
        match r.first {
            None => whole += 1,
            Some((_, d)) => kinds.entry(d.signature).or_default().push(seed),
        }
    }
    let mut sorted: Vec<_> = kinds.into_iter().collect();
    sorted.sort_by_key(|(k, v)| (std::cmp::Reverse(v.len()), k.clone()));
    for (signature, seeds) in sorted.iter().take(setting("ORACLE_KINDS", 12)) {
        println!("{} x {signature}  (seeds {:?})", seeds.len(), &seeds[..seeds.len().min(5)]);
        let conversation = generate::conversation(seeds[0], &menu);
        if let Some((small, d)) = compare::shrink(&mut engine, &menu, &conversation, setting("ORACLE_SHRINK", 120)) {
            println!("{}", compare::readable(&menu, &small, &d));
        }
    }
    println!("{agreeing} of {turns} turns agree ({:.2} %), {whole} of {done} dialogues wholly", 100.0 * agreeing as f64 / turns.max(1) as f64);
    bad.iter().for_each(|b| println!("{}", b.chars().take(400).collect::<String>()));
    assert!(bad.is_empty(), "{} scripted expectations do not hold", bad.len());
    assert!(done >= 10 && turns >= 100, "only {done} dialogues with {turns} turns were compared: too few to say anything");
    assert!(agreeing * 100 >= turns * 98, "only {agreeing} of {turns} turns agree");
}
