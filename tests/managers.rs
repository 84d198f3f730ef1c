//! Several managers change one menu at once: whatever they say in whatever order, every version of the menu is sound.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test that cannot go on must fail loudly"
)]

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use duologue::domain::{Domain, Files};
use duologue::facts::{CommitRule, MemoryStore, SessionKey, Store, open_store, verify_log};
use duologue::reason::Reasoner;
use duologue::term::{Atom, Term};
use duologue::turn::{Clock, Engine, Options, Said, TurnRecord, version};
use proptest::prelude::*;
use serde_json::json;

const SITE: &str = "s";
const PAPER: CommitRule = CommitRule::WhenNoSessionIsOpen;

fn domain() -> Domain {
    // Where a customer's goodbye ends the session whatever was ordered, as it does in section 4.
    let mut domain = Domain::load(&Files::built_in(), "drive_thru").unwrap();
    domain.settle("manner=paper").unwrap();
    domain
}

fn engine(domain: &Domain, store: Arc<dyn Store>) -> Engine {
    let options = Options { reasoner: Reasoner::Fast, clock: Clock::Fixed(0), ..Options::default() };
    Engine::new(domain.clone(), store).with_options(options)
}

fn says(engine: &Engine, session: &str, said: &[&str]) -> TurnRecord {
    let said: Vec<String> = said.iter().map(ToString::to_string).collect();
    let role = if session.starts_with('c') { "customer" } else { "manager" };
    engine.turn(&SessionKey::new(SITE, session), role, &Said::Predicates(&said), None).unwrap()
}

fn actions(record: &TurnRecord) -> Vec<String> {
    record.actions.iter().map(ToString::to_string).collect()
}

/// What the domain's own rules, and a second look that shares nothing with them, find wrong with a menu.
fn flaws(domain: &Domain, kb: &[Atom]) -> Vec<String> {
    let set: BTreeSet<Atom> = kb.iter().cloned().collect();
    let by_rules = version::violations(domain.kb_rules.as_ref().unwrap(), &set).unwrap();
    let named = |names: &[&str], at: usize| -> BTreeSet<&Term> { kb.iter().filter(|a| names.contains(&&*a.name)).filter_map(|a| a.args.get(at)).collect() };
    let (dishes, parts) = (named(&["dish"], 0), named(&["ingredient", "sauce"], 0));
    let (items, groups) = (named(&["dish", "combo"], 0), named(&["combo_option_group"], 0));
    let dangling = |a: &&Atom| match (&*a.name, a.args.as_slice()) {
        ("included_ingredient" | "available_topping" | "popular_topping", [d, p]) => !dishes.contains(d) || !parts.contains(p),
        ("upgrade_price" | "upgrade_cal", [d, p, _]) => !dishes.contains(d) || !parts.contains(p),
        ("original_price" | "original_cal", [i, _]) => !items.contains(i),
        ("combo_contain", [c, x]) => !items.contains(c) || !(dishes.contains(x) || groups.contains(x)),
        ("combo_option_group", [_, d]) | ("category", [d, _]) => !dishes.contains(d),
        _ => false,
    };
    let prices: Vec<&Term> = kb.iter().filter(|a| &*a.name == "original_price").filter_map(|a| a.args.first()).collect();
    let twice = prices.len() - prices.iter().collect::<BTreeSet<_>>().len();
    let dangling = kb.iter().filter(dangling).map(ToString::to_string);
    by_rules.iter().map(ToString::to_string).chain(dangling).chain((twice > 0).then(|| format!("{twice} prices too many"))).collect()
}

/// Every version there ever was.
fn every_version_is_sound(domain: &Domain, store: &dyn Store) -> u64 {
    let head = store.kb_head(SITE).unwrap();
    for v in 1..=head {
        assert_eq!(flaws(domain, &store.kb(SITE, v).unwrap()), [""; 0], "version {v}");
    }
    assert_eq!(verify_log(store, SITE).unwrap(), []);
    head
}

#[test]
fn the_menu_that_we_begin_with_is_sound() {
    let domain = domain();
    assert_eq!(flaws(&domain, &domain.facts), [""; 0]);
}

/// The ingredient goes in one conversation and into a dish in another: whoever comes second is refused.
#[test]
fn one_manager_deletes_what_another_puts_into_a_dish() {
    let domain = domain();
    let use_it = "add(\"Pintos N Cheese\",included_ingredient,\"Relish\")";
    for first_deletes in [true, false] {
        for rule in [PAPER, CommitRule::AtManagersQuit] {
            let store: Arc<dyn Store> = Arc::new(MemoryStore::new(rule));
            let engine = engine(&domain, store.clone());
            says(&engine, "m", &["add(ingredient,\"Relish\")"]);
            says(&engine, "m", &["quit"]);
            says(&engine, "a", &["greet"]);
            says(&engine, "b", &["greet"]);
            let (first, second) = if first_deletes { ("delete(\"Relish\")", use_it) } else { (use_it, "delete(\"Relish\")") };
            assert!(actions(&says(&engine, "a", &[first]))[0].starts_with("confirm"), "{first}");
            assert_eq!(actions(&says(&engine, "b", &[second]))[0], format!("reject({second},being_changed)"));
            says(&engine, "a", &["quit"]);
            // Handed over, it stands, and what it excludes is refused for its own reason.
            let reason = if first_deletes { "unknown_food" } else { "in_use" };
            assert_eq!(actions(&says(&engine, "b", &[second]))[0], format!("reject({second},{reason})"));
            says(&engine, "b", &["quit"]);
            assert_eq!(every_version_is_sound(&domain, &*store), 2);
        }
    }
}

/// What was collected and taken back, by its manager or with the conversation, keeps nobody from anything.
#[test]
fn what_is_taken_back_holds_nobody_up() {
    let domain = domain();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(PAPER));
    let engine = engine(&domain, store.clone());
    let price = |session, cents: i32| actions(&says(&engine, session, &[&format!("edit(\"Pintos N Cheese\",price,{cents})")]))[0].clone();
    assert_eq!(price("a", 100), "confirm(edit,\"Pintos N Cheese\")");
    assert_eq!(price("b", 200), "reject(edit(\"Pintos N Cheese\",price,200),being_changed)");
    assert_eq!(price("a", 199), "confirm(edit,\"Pintos N Cheese\")", "as it was");
    assert_eq!(price("b", 200), "confirm(edit,\"Pintos N Cheese\")");
    engine.close(&SessionKey::new(SITE, "b"), "manager", 1).unwrap();
    assert_eq!(price("a", 150), "confirm(edit,\"Pintos N Cheese\")");
    says(&engine, "a", &["quit"]);
    assert_eq!(every_version_is_sound(&domain, &*store), 1);
    assert!(store.kb(SITE, 1).unwrap().contains(&Atom::parse("original_price(\"Pintos N Cheese\",150)").unwrap()));
}

/// Changes that go in without a decision, as by another program.
fn collect(store: &dyn Store, session: &str, changes: &[&str], ended: bool) {
    let mut turn = store.begin(&SessionKey::new(SITE, session), "manager", None).unwrap().opened.turn(0);
    (turn.changes, turn.ended, turn.record) = (changes.iter().map(|c| c.parse().unwrap()).collect(), ended, "{}".into());
    store.commit(&turn).unwrap();
}

/// The version is made without what no longer holds, its
/// manager hears it by name, and the record tells.
#[test]
fn a_version_is_judged_as_a_whole_before_it_is_made() {
    let domain = domain();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(PAPER));
    let engine = engine(&domain, store.clone());
    says(&engine, "c", &["order(\"Pepsi\",1)"]);
    says(&engine, "a", &["greet"]);
    collect(&*store, "x", &["del kb ingredient(\"Cheese\")"], true);
    collect(&*store, "a", &["add kb included_ingredient(\"Pintos N Cheese\",\"Unheard Of\")", "add kb ingredient(\"Relish\")"], false);
    says(&engine, "c", &["quit"]);
    let last = says(&engine, "a", &["quit"]);
    let refused: Vec<_> = last.refused_changes.iter().map(|r| (r.session.as_str(), r.change.to_string())).collect();
    let expected = [("x", "del kb ingredient(\"Cheese\")".into()), ("a", "add kb included_ingredient(\"Pintos N Cheese\",\"Unheard Of\")".to_owned())];
    assert_eq!(refused, expected);
    assert!(actions(&last).contains(&"reject(add(\"Pintos N Cheese\"),no_longer)".to_owned()), "{:?}", last.actions);
    assert!(last.text.contains("Pintos N Cheese"), "{}", last.text);
    assert_eq!(every_version_is_sound(&domain, &*store), 1);
    assert!(store.kb(SITE, 1).unwrap().contains(&Atom::parse("ingredient(\"Relish\")").unwrap()), "the rest is made");
}

/// So is the version that an operator makes who ends the last session from outside.
#[test]
fn ending_an_abandoned_session_makes_no_version_that_nobody_judged() {
    let domain = domain();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(PAPER));
    let engine = engine(&domain, store.clone());
    says(&engine, "left", &["greet"]);
    collect(&*store, "x", &["del kb ingredient(\"Cheese\")"], true);
    collect(&*store, "y", &["add kb ingredient(\"Relish\")"], true);
    let (receipt, refused) = engine.close(&SessionKey::new(SITE, "left"), "manager", 1).unwrap().unwrap();
    assert!(receipt.kb_changed, "the rest is made");
    assert_eq!(refused.iter().map(|r| r.change.to_string()).collect::<Vec<_>>(), ["del kb ingredient(\"Cheese\")"]);
    assert_eq!(every_version_is_sound(&domain, &*store), 1);
    assert_eq!(engine.close(&SessionKey::new(SITE, "left"), "manager", 2), Ok(None));
    assert!(verify_log(&*store, SITE).unwrap().is_empty());
}

/// Nor do changed files of the domain that no longer go with what managers changed.
#[test]
fn files_that_do_not_go_with_the_kb_are_told_before_they_are_brought_in() {
    let domain = domain();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(PAPER));
    let engine = engine(&domain, store.clone());
    says(&engine, "a", &["add(ingredient,\"Relish\")", "add(\"Pintos N Cheese\",included_ingredient,\"Relish\")"]);
    says(&engine, "a", &["quit"]);
    let without = |name: &str| domain.facts.iter().filter(|f| f.to_string() != format!("ingredient({name:?})")).cloned().collect::<Vec<_>>();
    assert_eq!(engine.breaks(SITE, &without("Relish"), 1).unwrap(), [], "it never was in the files");
    assert!(!engine.breaks(SITE, &without("Cheese"), 1).unwrap().is_empty());
    assert_eq!(store.kb_head(SITE).unwrap(), 1, "asking changes nothing");
}

/// What goes and comes again, in one conversation or by two that do not know of each other, comes with its price and calories.
#[test]
fn a_topping_that_comes_again_has_its_price() {
    let domain = domain();
    let [go, come] = ["delete(\"Crunchy Taco\",available_topping,\"Cheese\")", "add(\"Crunchy Taco\",available_topping,\"Cheese\")"];
    let popular = "add(\"Crunchy Taco\",popular_topping,\"Cheese\")";
    let alone = "edit(\"Crunchy Taco\",available_topping,\"Lettuce\")";
    let nothing = "delete(\"Nachos\",available_topping,\"Moon Cheese\")";
    let talks: [&[(&str, &[&str])]; 6] = [
        &[("m", &[go]), ("m", &[come]), ("m", &["quit"])],
        &[("m", &[go]), ("m", &[popular]), ("m", &["quit"])],
        &[("m", &[alone]), ("m", &[come, popular]), ("m", &["quit"])],
        &[("b", &["greet"]), ("a", &[go, "quit"]), ("b", &[come]), ("b", &["quit"])],
        &[("b", &["greet"]), ("a", &[alone, "quit"]), ("b", &[popular]), ("b", &["quit"])],
        &[("b", &["greet"]), ("a", &[alone, "quit"]), ("b", &[popular]), ("a", &[nothing]), ("a", &["quit"]), ("b", &["quit"])],
    ];
    for (talk, rule) in talks.iter().flat_map(|t| [(t, PAPER), (t, CommitRule::AtManagersQuit)]) {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(rule));
        let engine = engine(&domain, store.clone());
        for (who, said) in *talk {
            let record = says(&engine, who, said);
            assert_eq!(record.refused_changes, [], "{talk:?}");
            assert!(actions(&record).iter().all(|a| !a.contains("no_longer")), "{talk:?}: {:?}", actions(&record));
        }
        every_version_is_sound(&domain, &*store);
        let kb = store.kb(SITE, store.kb_head(SITE).unwrap()).unwrap();
        let cheese: Vec<String> = kb.iter().map(ToString::to_string).filter(|f| f.contains("(\"Crunchy Taco\",\"Cheese\"")).collect();
        for fact in
            ["available_topping(\"Crunchy Taco\",\"Cheese\")", "upgrade_price(\"Crunchy Taco\",\"Cheese\",50)", "upgrade_cal(\"Crunchy Taco\",\"Cheese\",60)"]
        {
            assert!(cheese.iter().any(|f| f == fact), "{talk:?}: {fact} is not in {cheese:?}");
        }
    }
}

const PARTS: [&str; 5] = ["Relish", "Pickles", "Cheese", "Guacamole", "Lettuce"];
const DISHES: [&str; 5] = ["Pintos N Cheese", "Soft Taco", "Crunchy Taco", "Nachos", "New Taco"];
const COMBOS: [&str; 2] = ["Combo A", "New Combo"];

/// What managers say, over few names, so that they meet.
fn saying() -> impl Strategy<Value = Vec<String>> {
    let (part, dish, combo) = (|| prop::sample::select(&PARTS[..]), || prop::sample::select(&DISHES[..]), || prop::sample::select(&COMBOS[..]));
    let q = |t: &str| format!("{t:?}");
    let one = move |text: String| vec![text];
    let property = || prop::sample::select(&["included_ingredient", "available_topping", "popular_topping"][..]);
    prop_oneof![
        3 => part().prop_map(move |p| one(format!("add(ingredient,{})", q(p)))),
        1 => part().prop_map(move |p| one(format!("add(sauce,{})", q(p)))),
        2 => part().prop_map(move |p| one(format!("delete({})", q(p)))),
        1 => dish().prop_map(move |d| one(format!("delete({})", q(d)))),
        1 => combo().prop_map(move |c| one(format!("delete({})", q(c)))),
        1 => dish().prop_map(move |d| one(format!("add({})", q(d)))),
        4 => (dish(), property(), part()).prop_map(move |(d, w, p)| one(format!("add({},{w},{})", q(d), q(p)))),
        2 => (dish(), property(), part()).prop_map(move |(d, w, p)| one(format!("delete({},{w},{})", q(d), q(p)))),
        2 => (dish(), property(), part(), part()).prop_map(move |(d, w, p, r)| one(format!("edit({},{w},{},{})", q(d), q(p), q(r)))),
        2 => (dish(), property(), part()).prop_map(move |(d, w, p)| one(format!("edit({},{w},{})", q(d), q(p)))),
        2 => (dish(), 100..103_i32).prop_map(move |(d, n)| one(format!("edit({},price,{n})", q(d)))),
        1 => dish().prop_map(move |d| one(format!("add({},special_style,grill)", q(d)))),
        1 => dish().prop_map(move |d| one(format!("delete({},special_style,grill)", q(d)))),
        2 => (combo(), dish()).prop_map(move |(c, d)| one(format!("add({},combo_contain,{})", q(c), q(d)))),
        1 => (combo(), dish()).prop_map(move |(c, d)| one(format!("delete({},combo_contain,{})", q(c), q(d)))),
        2 => (dish(), part()).prop_map(move |(d, p)| {
            let d = q(d);
            let given = ["category,taco", "price,300", "calories,200"].map(|g| format!("add({d},{g})"));
            let first = [format!("add(dish,{d})"), format!("add({d},included_ingredient,{})", q(p)), format!("add({d},popular_topping,none)")];
            given.into_iter().chain(first).collect()
        }),
        1 => (combo(), dish()).prop_map(move |(c, d)| {
            let c = q(c);
            vec![format!("add(combo,{c})"), format!("add({c},price,500)"), format!("add({c},calories,500)"), format!("add({c},combo_contain,{})", q(d))]
        }),
        4 => Just(vec!["quit".to_owned()]),
    ]
}

/// Whose turn it is, and what is said: one saying or several at once.
fn turns(length: usize) -> impl Strategy<Value = Vec<(usize, Vec<String>)>> {
    let several = prop::collection::vec(saying(), 1..=3).prop_map(|s| s.concat());
    prop::collection::vec((0..4_usize, prop_oneof![3 => saying(), 1 => several]), 1..length)
}

/// Few cases by default; `PROPTEST_CASES` asks for more.
fn config(cases: u32) -> ProptestConfig {
    let more = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok());
    ProptestConfig { cases: more.unwrap_or(cases), failure_persistence: None, ..ProptestConfig::default() }
}

/// Everybody who is still there leaves.
fn all_leave(store: &dyn Store, engine: &Engine) {
    for s in store.sessions(SITE).unwrap().into_iter().filter(|s| s.ended_at.is_none()) {
        says(engine, &s.session, &["quit"]);
    }
}

proptest! {
    #![proptest_config(config(8))]

    #[test]
    fn turn_by_turn_every_version_is_sound(at_quit in any::<bool>(), turns in turns(40), closed in prop::option::weighted(0.3, 1..40_usize)) {
        let domain = domain();
        let rule = if at_quit { CommitRule::AtManagersQuit } else { PAPER };
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(rule));
        let engine = engine(&domain, store.clone());
        for (at, (who, said)) in turns.iter().enumerate() {
            // Not before somebody has spoken: until then there is no such site.
            if closed == Some(at) {
                engine.close(&SessionKey::new(SITE, "m1"), "manager", 0).unwrap();
            }
            // The last one is a customer, who may be the one whose leaving makes the version.
            let quits = said.iter().any(|s| s == "quit");
            let record = match who {
                3 if quits => says(&engine, "c", &["quit"]),
                3 => says(&engine, "c", &["order(\"Pepsi\",1)"]),
                _ => says(&engine, &format!("m{who}"), &said.iter().map(String::as_str).collect::<Vec<_>>()),
            };
            // The rules see to it by themselves; nothing is left to the last look.
            prop_assert_eq!(&record.refused_changes, &[], "{:?}", said);
        }
        all_leave(&*store, &engine);
        every_version_is_sound(&domain, &*store);
    }
}

proptest! {
    #![proptest_config(config(2))]

    #[test]
    fn side_by_side_in_one_process_every_version_is_sound(talks in prop::collection::vec(turns(25), 3)) {
        let domain = domain();
        let folder = tempfile::tempdir().unwrap();
        let store = open_store(folder.path().join("a.db").to_str().unwrap(), PAPER).unwrap();
        let engine = engine(&domain, store.clone());
        std::thread::scope(|scope| {
            for (n, talk) in talks.iter().enumerate() {
                let engine = &engine;
                scope.spawn(move || talk.iter().for_each(|(_, said)| drop(says(engine, &format!("m{n}"), &said.iter().map(String::as_str).collect::<Vec<_>>()))));
            }
        });
        all_leave(&*store, &engine);
        every_version_is_sound(&domain, &*store);
    }

    #[test]
    fn side_by_side_in_two_processes_every_version_is_sound(talks in prop::collection::vec(turns(25), 2)) {
        let domain = domain();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let running: Vec<_> = talks.iter().enumerate().map(|(n, talk)| step(&path, &format!("m{n}"), talk)).collect();
        for child in running {
            let out = child.wait_with_output().unwrap();
            assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        }
        let store = open_store(path.to_str().unwrap(), PAPER).unwrap();
        let engine = engine(&domain, store.clone());
        all_leave(&*store, &engine);
        every_version_is_sound(&domain, &*store);
    }
}

/// A process that says all this in one conversation.
fn step(path: &Path, session: &str, talk: &[(usize, Vec<String>)]) -> std::process::Child {
    let mut child = Command::new(env!("CARGO_BIN_EXE_duologue"))
        .args(["step", "--domain", "drive_thru", "--reasoner", "fast", "--no-why", "--store"])
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let lines: Vec<String> =
        talk.iter().map(|(_, said)| json!({ "site": SITE, "session": session, "role": "manager", "predicates": said }).to_string()).collect();
    std::thread::spawn(move || lines.iter().try_for_each(|l| writeln!(stdin, "{l}")));
    child
}
