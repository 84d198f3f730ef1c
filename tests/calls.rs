//! Calls of a domain's rules: between two commits, told once, kept in the log, taken up again after a break.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test that cannot go on must fail loudly"
)]

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use duologue::act::Functions;
use duologue::domain::{Domain, Files};
use duologue::facts::{self, CommitRule, MemoryStore, SessionKey, Store};
use duologue::ontology::Scope;
use duologue::term::{Atom, Name};
use duologue::turn::replay::Replay;
use duologue::turn::{Clock, Engine, Options, Said, TurnBudget, TurnError, TurnRecord};
use duologue::understand::{Context, Heard, Understand};

/// The desk's files as a domain's folder has them.
fn desk() -> Domain {
    let dir = tempfile::tempdir().unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/calls");
    for (file, to) in [("ontology.yaml", "kb/desk"), ("templates.yaml", "kb/desk"), ("desk.lp", "rules/desk"), ("porter.lp", "rules/desk")] {
        std::fs::create_dir_all(dir.path().join(to)).unwrap();
        std::fs::copy(from.join(file), dir.path().join(to).join(file)).unwrap();
    }
    let found = duologue::check::domain(&Files::folder(dir.path()), "desk");
    assert!(found.iter().all(|d| d.severity != duologue::diag::Severity::Error), "{found:?}");
    Domain::load(&Files::folder(dir.path()), "desk").unwrap()
}

fn options() -> Options {
    Options { clock: Clock::Fixed(0), remember: true, ..Options::default() }
}

fn engine(store: &Arc<dyn Store>) -> Engine {
    Engine::new(desk(), store.clone()).with_options(options())
}

fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::default())
}

fn key() -> SessionKey {
    SessionKey::new("main", "g")
}

fn say(engine: &Engine, predicate: &str) -> TurnRecord {
    engine.turn(&key(), "guest", &Said::Predicates(&[predicate.to_owned()]), None).unwrap()
}

fn session(store: &Arc<dyn Store>) -> Vec<String> {
    store.facts(Scope::Session, &key()).unwrap().iter().map(|f| f.atom.to_string()).filter(|f| !f.starts_with("said_last")).collect()
}

/// A target that runs a script of the shell; `$0` is not seen by it.
fn script(name: &str, script: &str) -> String {
    format!(r#"{{"name": "{name}", "target": {{"process": {{"command": ["sh", "-c", {}]}}}}}}"#, serde_json::to_string(script).unwrap())
}

fn configured(store: &Arc<dyn Store>, targets: &[String]) -> Engine {
    let engine = engine(store);
    let functions = engine.functions().clone().configured(&format!("[{}]", targets.join(","))).unwrap();
    engine.with_functions(functions)
}

#[test]
fn a_turn_calls_takes_in_calls_again_and_says_it_all_at_once() {
    let store = memory();
    let engine = engine(&store);
    let record = say(&engine, "stay(\"Ann\",2)");
    assert_eq!(record.rounds.len(), 3);
    let calls: Vec<String> =
        record.rounds.iter().flat_map(|r| &r.calls).map(|c| format!("{} {}", c.function, serde_json::to_string(&c.inputs).unwrap())).collect();
    let room = record.rounds[1].came[0].value["room"].as_i64().unwrap();
    assert!((10..20).contains(&room));
    assert_eq!(calls, ["rooms {\"guests\":[\"Ann\"],\"nights\":2}".to_owned(), format!("book {{\"guest\":\"Ann\",\"room\":{room}}}")]);
    assert_eq!(record.text, format!("One moment. Ann has room {room}."));
    let expected = [
        format!("booked({room})"),
        "guest(\"Ann\")".to_owned(),
        "nights(2)".to_owned(),
        "result(\"book\",\"number\",7)".to_owned(),
        "result(\"rooms\",\"note\",\"quiet\")".to_owned(),
        format!("result(\"rooms\",\"room\",{room})"),
        "returned(\"book\",\"main.g.1.2.2\")".to_owned(),
        "returned(\"rooms\",\"main.g.1.1.1\")".to_owned(),
    ];
    assert_eq!(session(&store), expected);
}

#[test]
fn a_fault_is_an_input_with_its_code() {
    let store = memory();
    assert_eq!(say(&engine(&store), "stay(\"Ann\",30)").text, "One moment. Sorry: full.");
    assert!(session(&store).contains(&"fault(\"rooms\",\"full\")".to_owned()));
    for (target, code) in [("exit 1", "failed"), ("echo nonsense", "unreadable"), ("echo '{\"fault\": \"strike\"}'", "strike")] {
        let store = memory();
        assert_eq!(say(&configured(&store, &[script("rooms", target)]), "stay(\"Ann\",2)").text, format!("One moment. Sorry: {code}."));
        // The next result takes the fault's place.
        say(&engine(&store), "stay(\"Ben\",3)");
        assert!(session(&store).iter().all(|f| !f.starts_with("fault")), "{:?}", session(&store));
    }
}

#[test]
fn what_changed_for_everybody_while_a_call_was_under_way_counts_in_the_next_round() {
    let store = memory();
    let dir = tempfile::tempdir().unwrap();
    let (called, go) = (dir.path().join("called"), dir.path().join("go"));
    let wait = format!("touch '{}'; while [ ! -e '{}' ]; do sleep 0.01; done; echo '{{\"room\": 5}}'", called.display(), go.display());
    let guests = configured(&store, &[script("rooms", &wait)]);
    std::thread::scope(|scope| {
        let guest = scope.spawn(|| say(&guests, "stay(\"Ann\",2)"));
        while !called.exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let porter = SessionKey::new("main", "p");
        guests.turn(&porter, "porter", &Said::Predicates(&["close".to_owned()]), None).unwrap();
        std::fs::write(&go, "").unwrap();
        assert_eq!(guest.join().unwrap().text, "One moment. Sorry: closed.");
    });
}

#[test]
fn a_session_ends_when_its_last_call_has_come_back() {
    let store = memory();
    let record = say(&engine(&store), "quit");
    assert_eq!((record.ended.as_deref(), record.text.as_str(), record.rounds.len()), (Some("left"), "Goodbye.", 2));
    assert!(store.sessions("main").unwrap().iter().all(|s| s.ended_at.is_some() && s.turn == 2));
}

#[test]
fn rules_that_always_call_again_are_stopped_by_name_and_what_came_back_is_kept() {
    let store = memory();
    let engine = engine(&store).with_options(Options { turn: TurnBudget { rounds: 3, ..TurnBudget::default() }, ..options() });
    let e = engine.turn(&key(), "guest", &Said::Predicates(&["circle".to_owned()]), None).unwrap_err();
    assert_eq!(e, TurnError::OverRounds(3));
    assert!(session(&store).iter().any(|f| f.starts_with("returned")) && session(&store).iter().all(|f| !f.starts_with("calling")));
    assert_eq!(say(&engine, "stay(\"Ann\",2)").rounds.len(), 3, "the session goes on");
}

#[test]
fn replay_takes_results_from_the_log_and_calls_nobody() {
    let store = memory();
    let dir = tempfile::tempdir().unwrap();
    let count = dir.path().join("count");
    let engine = configured(&store, &[script("rooms", &format!("echo x >> '{}'; echo '{{\"room\": 77}}'", count.display()))]);
    say(&engine, "stay(\"Ann\",2)");
    say(&engine, "quit");
    let mut again = Replay::new(&desk(), "main", CommitRule::default(), options());
    let mut taken = 0;
    for entry in store.log("main", 0, 100).unwrap() {
        if let Some(t) = again.take(&entry).unwrap() {
            assert!(t.agrees(), "{:?}\n{:?}", t.was, t.is);
            taken += 1;
        }
    }
    assert_eq!((taken, std::fs::read_to_string(&count).unwrap().lines().count()), (5, 2));
}

#[test]
fn a_request_sent_twice_is_answered_by_the_end_of_its_turn() {
    let store = memory();
    let engine = engine(&store);
    let once = |_| engine.turn(&key(), "guest", &Said::Predicates(&["stay(\"Ann\",2)".to_owned()]), Some("r1")).unwrap();
    let [first, second] = [0, 1].map(once);
    assert_eq!((first.text.clone(), first.turn), (second.text, second.turn));
    assert_eq!(store.turns(&key(), None).unwrap().len(), 3);
}

#[test]
fn a_role_calls_only_what_it_may() {
    let mut domain = desk();
    let mut ontology = (*domain.ontology).clone();
    ontology.functions[0].roles = vec!["porter".into()];
    domain.ontology = Arc::new(ontology);
    let store = memory();
    let engine = Engine::new(domain, store.clone()).with_options(options());
    let e = engine.turn(&key(), "guest", &Said::Predicates(&["stay(\"Ann\",2)".to_owned()]), None).unwrap_err();
    assert_eq!(e, TurnError::Denied("`do(1,call(\"rooms\"))` is nothing that a guest may call".to_owned()));
    assert_eq!(session(&store), [""; 0]);
}

#[test]
fn an_operator_configures_targets_of_declared_functions_only() {
    let functions = Functions::of(&desk().ontology);
    let e = functions.configured(&format!("[{}]", script("kitchen", "true"))).unwrap_err();
    assert_eq!(e, "the domain declares no function `kitchen`; it declares: book, rooms");
}

/// What a process leaves that broke off between the commit of the n-th intent and the result: the log up to there.
fn broken_off(entries: usize) -> Replay {
    let store = memory();
    say(&engine(&store), "stay(\"Ann\",2)");
    let mut again = Replay::new(&desk(), "main", CommitRule::default(), options());
    for entry in store.log("main", 0, 1 + entries).unwrap() {
        again.take(&entry).unwrap();
    }
    again
}

#[test]
fn after_a_break_a_call_is_made_again_only_where_twice_is_as_good_as_once() {
    // `rooms` may be called again, so the turn goes on as if nothing had happened.
    let again = broken_off(1);
    let store = again.engine().store().clone();
    assert!(session(&store).contains(&"calling(\"main.g.1.1.1\",\"rooms\")".to_owned()));
    let record = again.engine().resume(&key(), "guest").unwrap().unwrap();
    assert!(record.text.starts_with("One moment. Ann has room"), "{}", record.text);
    assert_eq!((record.began(), record.turn, again.engine().resume(&key(), "guest").unwrap()), (1, 3, None));

    // `book` may not: nobody knows whether it was carried out, and the rules hear so.
    let again = broken_off(2);
    let store = again.engine().store().clone();
    assert!(session(&store).contains(&"calling(\"main.g.1.2.2\",\"book\")".to_owned()));
    let record = again.engine().resume(&key(), "guest").unwrap().unwrap();
    assert_eq!(record.text, "One moment. Sorry: interrupted.");
    assert!(session(&store).contains(&"fault(\"book\",\"interrupted\")".to_owned()));
}

#[test]
fn the_next_turn_ends_a_turn_that_broke_off_first() {
    let again = broken_off(2);
    let record = say(again.engine(), "stay(\"Ben\",3)");
    assert_eq!((record.began(), record.turn), (4, 6));
    let left = again.engine().store().turns(&key(), None).unwrap();
    let view = &again.engine().domain().ontology.view;
    let texts: Vec<String> = left.iter().map(|e| duologue::turn::record::from_entry(e, view).unwrap().text).collect();
    assert_eq!(texts[2], "One moment. Sorry: interrupted.");
    assert!(texts[5].starts_with("One moment. Ben has room"), "{texts:?}");
}

/// Hears the same whatever is said, and counts how often it was asked; whoever listens meanwhile lets somebody else speak.
struct Listener<F: Fn() + Send + Sync>(std::sync::atomic::AtomicUsize, F);

impl<F: Fn() + Send + Sync> Understand for Listener<F> {
    fn understand(&self, _: &str, _: &Context) -> Heard {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        (self.1)();
        Heard { predicates: vec![Atom::parse("stay(\"Ann\",2)").unwrap()], confidence: 1.0, by: "llm", ..Heard::default() }
    }
}

#[test]
fn what_was_heard_is_kept_when_others_write_while_a_turn_is_decided() {
    let store = memory();
    let porters = engine(&store);
    let closes = move || {
        let key = SessionKey::new("main", "p");
        porters.turn(&key, "porter", &Said::Predicates(&["close".to_owned()]), None).unwrap();
    };
    let listener = Arc::new(Listener(0.into(), closes));
    // The desk is closed after the turn has read what holds and before it is committed: it is stale, and decided again.
    let listening: Arc<dyn Understand> = listener.clone();
    let record = engine(&store).with_understand(listening).turn(&key(), "guest", &Said::Text("a room for two nights"), None).unwrap();
    assert_eq!(record.text, "Sorry: closed.");
    assert_eq!(listener.0.load(std::sync::atomic::Ordering::Relaxed), 1);
}

#[test]
fn a_turn_whose_time_is_over_changes_nothing_and_says_so() {
    let store = memory();
    let slow = Arc::new(Listener(0.into(), || std::thread::sleep(Duration::from_millis(60))));
    let hasty = Options { turn: TurnBudget { time: Duration::from_millis(50), ..TurnBudget::default() }, ..options() };
    let engine = engine(&store).with_options(hasty).with_understand(slow);
    let e = engine.turn(&key(), "guest", &Said::Text("a room"), None).unwrap_err();
    assert!(matches!(e, TurnError::OverTime { millis: 50, .. }), "{e}");
    assert_eq!((e.polite(), session(&store)), ("Sorry, that took too long on our side. Could you say that again?", vec![]));
}

#[test]
fn a_call_has_no_more_time_than_its_turn() {
    let store = memory();
    let engine = configured(&store, &[script("rooms", "sleep 20")]);
    let hasty = Options { turn: TurnBudget { time: Duration::from_millis(1500), ..TurnBudget::default() }, ..options() };
    // The function itself may take two seconds an attempt.
    let record = say(&engine.with_options(hasty), "stay(\"Ann\",2)");
    assert_eq!(record.text, "One moment. Sorry: timeout.");
    let told = record.rounds[1].came[0].error.clone().unwrap();
    assert!(!told.contains("2000"), "{told}");
}

/// The drive-through's kitchen as somebody configures it.
fn drive_thru(store: &Arc<dyn Store>, kitchen: Option<&str>) -> Engine {
    let domain = Domain::load(&Files::built_in(), "drive_thru").unwrap();
    let engine = Engine::new(domain, store.clone()).with_options(options());
    match kitchen {
        None => engine,
        Some(answers) => {
            let functions = engine.functions().clone().configured(&format!("[{}]", script("kitchen", answers))).unwrap();
            engine.with_functions(functions)
        }
    }
}

fn customer(engine: &Engine, predicates: &[&str]) -> TurnRecord {
    let said: Vec<String> = predicates.iter().map(|p| (*p).to_owned()).collect();
    engine.turn(&SessionKey::new("main", "c"), "customer", &Said::Predicates(&said), None).unwrap()
}

/// Up to the read-back; the next goodbye places it.
fn ready(engine: &Engine) {
    customer(engine, &["order(\"Soft Taco\",2)", "update(\"Soft Taco\",add,\"Guacamole\")", "order(\"Pepsi\",1)"]);
    customer(engine, &["completed"]);
    customer(engine, &["completed"]);
}

fn status(record: &TurnRecord) -> String {
    record.view.iter().filter(|a| &*a.name == "view" && a.args[0].to_string() == "status").map(|a| a.args[1].to_string()).collect()
}

#[test]
fn the_kitchen_gets_a_placed_order_and_its_number_is_told_beside_the_actions() {
    let dir = tempfile::tempdir().unwrap();
    let ticket = dir.path().join("ticket");
    let store = memory();
    let engine = drive_thru(&store, Some(&format!("cat > '{}'; echo '{{\"ticket\": 17}}'", ticket.display())));
    ready(&engine);
    let record = customer(&engine, &["quit"]);
    let actions: Vec<String> = record.actions.iter().map(ToString::to_string).collect();
    assert_eq!(actions, ["confirm(quit,none)", "placed(707)", "quit"]);
    assert_eq!(record.told.iter().map(ToString::to_string).collect::<Vec<_>>(), ["ticket(17)"]);
    assert!(record.text.contains("number 17") && record.text.contains("oodbye"), "{}", record.text);
    assert_eq!((record.ended.as_deref(), status(&record).as_str(), record.rounds.len()), (Some("placed"), "placed", 2));
    let sent: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&ticket).unwrap()).unwrap();
    let text = sent.to_string();
    assert!(text.contains(r#"{"line":[1,"Soft Taco"]}"#) && text.contains(r#"{"mod":[1,"self","add","Guacamole"]}"#), "{text}");
}

#[test]
fn without_a_kitchen_the_stand_in_gives_the_number() {
    let store = memory();
    let engine = drive_thru(&store, None);
    ready(&engine);
    let record = customer(&engine, &["quit"]);
    assert_eq!(record.told.len(), 1);
    assert_eq!(record.ended.as_deref(), Some("placed"));
}

#[test]
fn an_order_that_the_kitchen_cannot_take_is_kept_and_tried_again_on_a_yes() {
    let dir = tempfile::tempdir().unwrap();
    let open = dir.path().join("open");
    let kitchen = format!("if [ -e '{}' ]; then echo '{{\"ticket\": 5}}'; else echo '{{\"fault\": \"busy\"}}'; fi", open.display());
    let store = memory();
    let engine = drive_thru(&store, Some(&kitchen));
    ready(&engine);
    let record = customer(&engine, &["quit"]);
    assert!(record.text.contains("kept") && !record.text.contains("oodbye"), "{}", record.text);
    assert_eq!((record.ended.as_deref(), status(&record).as_str()), (None, "open"));
    assert!(record.view.iter().any(|a| a.to_string() == "view(line,3,\"Pepsi\")"), "{:?}", record.view);
    std::fs::write(&open, "").unwrap();
    let record = customer(&engine, &["affirm"]);
    assert!(record.text.contains("number 5"), "{}", record.text);
    // A yes places it, and the customer has not said goodbye.
    assert_eq!((record.ended.as_deref(), status(&record).as_str()), (None, "placed"));
    let record = customer(&engine, &["quit"]);
    assert_eq!((record.ended.as_deref(), status(&record).as_str()), (Some("placed"), "placed"));
}

#[test]
fn what_runs_out_while_the_kitchen_is_called_stays_in_the_order_that_it_took() {
    let dir = tempfile::tempdir().unwrap();
    let (called, go) = (dir.path().join("called"), dir.path().join("go"));
    let wait = format!("touch '{}'; while [ ! -e '{}' ]; do sleep 0.01; done; echo '{{\"ticket\": 8}}'", called.display(), go.display());
    let store = memory();
    let engine = drive_thru(&store, Some(&wait));
    ready(&engine);
    std::thread::scope(|scope| {
        let guest = scope.spawn(|| customer(&engine, &["quit"]));
        while !called.exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        engine.turn(&SessionKey::new("main", "m"), "manager", &Said::Predicates(&["runout(\"Pepsi\")".to_owned()]), None).unwrap();
        std::fs::write(&go, "").unwrap();
        let record = guest.join().unwrap();
        assert!(record.view.iter().any(|a| a.to_string() == "view(line,3,\"Pepsi\")"), "{:?}", record.view);
        assert_eq!((record.ended.as_deref(), record.told[0].to_string().as_str()), (Some("placed"), "ticket(8)"));
    });
}

/// One line to a `step` process on a store with this kitchen, and its answer.
fn step(store: &Path, functions: &Path, lines: &str) -> (std::process::Child, std::io::BufReader<std::process::ChildStdout>) {
    use std::io::Write;
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_duologue"))
        .args(["step", "--domain", "drive_thru", "--store", store.to_str().unwrap(), "--functions", functions.to_str().unwrap()])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.as_mut().unwrap().write_all(lines.as_bytes()).unwrap();
    let out = std::io::BufReader::new(child.stdout.take().unwrap());
    (child, out)
}

/// The next line, of whoever shares facts, is decided after the last round of a turn that waits for the kitchen, not between its rounds: with a
/// slow kitchen the same lines come to the same as with a fast one.
#[test]
fn the_next_line_is_decided_after_the_last_round_of_the_one_before() {
    let dir = tempfile::tempdir().unwrap();
    let functions = dir.path().join("functions.json");
    std::fs::write(&functions, format!("[{}]", script("kitchen", "sleep 1; echo '{\"ticket\": 8}'"))).unwrap();
    let out = serde_json::json!({ "site": "s", "session": "m", "role": "manager", "predicates": ["runout(\"Lettuce\")"] });
    let lines = [line(&["order(\"Soft Taco\",1)"]), line(&["completed"]), line(&["completed"]), format!("{out}\n")].concat();
    let (mut child, answers) = step(&dir.path().join("store.db"), &functions, &lines);
    drop(child.stdin.take());
    let answers = std::io::read_to_string(answers).unwrap();
    assert!(child.wait().unwrap().success() && answers.contains("ticket(8)") && answers.contains("confirm(runout"), "{answers}");
    // Lettuce is not out yet when the kitchen's number is taken in: nothing is said of what would drop the taco if the order were not sent.
    assert!(!answers.contains("sent holds"), "{answers}");
}

fn line(predicates: &[&str]) -> String {
    format!("{}\n", serde_json::json!({ "site": "s", "session": "c", "role": "customer", "predicates": predicates }))
}

/// The process dies by SIGKILL between the commit of the intent and the result. The kitchen, which may have the order, is never called again, and
/// the customer hears so with whatever is said next.
#[test]
fn a_killed_process_does_not_send_an_order_twice_and_the_customer_hears_of_it() {
    use std::io::BufRead;
    let dir = tempfile::tempdir().unwrap();
    let (store, functions, calls) = (dir.path().join("store.db"), dir.path().join("functions.json"), dir.path().join("calls"));
    let kitchen = format!("echo x >> '{}'; exec sleep 30", calls.display());
    std::fs::write(&functions, format!("[{}]", script("kitchen", &kitchen))).unwrap();
    let order = [line(&["order(\"Soft Taco\",1)"]), line(&["completed"]), line(&["completed"]), line(&["quit"])].concat();
    let (mut child, _out) = step(&store, &functions, &order);
    let begin = std::time::Instant::now();
    while !calls.exists() {
        assert!(begin.elapsed() < Duration::from_secs(60), "the kitchen is never called");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();

    let (mut child, out) = step(&store, &functions, &[line(&["greet"]), line(&["review"])].concat());
    drop(child.stdin.take());
    let answers: Vec<serde_json::Value> = out.lines().map(|l| serde_json::from_str(&l.unwrap()).unwrap()).collect();
    assert!(child.wait().unwrap().success());
    let first = answers[0]["text"].as_str().unwrap();
    assert!(first.contains("can't tell whether the kitchen got your order") && first.ends_with("What can I get for you?"), "{first}");
    assert!(!answers[1]["text"].as_str().unwrap().contains("kitchen"), "{answers:?}");
    assert_eq!(std::fs::read_to_string(&calls).unwrap().lines().count(), 1, "the kitchen was called again");
}

/// A store that keeps what it was asked.
#[derive(Default)]
struct Counting {
    store: MemoryStore,
    asked: Mutex<Vec<&'static str>>,
}

impl Counting {
    fn asked(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

macro_rules! handed_on {
    ($(fn $name:ident(&$me:ident $(, $arg:ident: $sort:ty)*) -> $out:ty;)*) => {
        $(fn $name(&$me $(, $arg: $sort)*) -> facts::Result<$out> {
            $me.asked.lock().unwrap().push(stringify!($name));
            $me.store.$name($($arg),*)
        })*
    };
}

impl Store for Counting {
    handed_on! {
        fn install(&self, site: &str, facts: &[Atom], at: i64) -> facts::Installed;
        fn rebase(&self, site: &str, facts: &[Atom], at: i64) -> facts::Receipt;
        fn begin(&self, key: &SessionKey, role: &str, request: Option<&str>) -> facts::Snapshot;
        fn open(&self, key: &SessionKey, role: &str) -> facts::Opened;
        fn commit(&self, turn: &facts::TurnCommit) -> facts::Committed;
        fn close(&self, key: &SessionKey, at: i64, changes: &[facts::Change], read: Option<facts::Revision>) -> Option<facts::Receipt>;
        fn restore(&self, site: &str, entries: &[facts::Entry]) -> ();
        fn prune(&self, site: &str, before: i64) -> facts::Pruned;
        fn kb(&self, site: &str, version: u64) -> Arc<Vec<Atom>>;
        fn kb_head(&self, site: &str) -> u64;
        fn pending(&self, site: &str) -> Vec<facts::Collected>;
        fn shared(&self, site: &str) -> (u64, Vec<facts::Fact>);
        fn session_facts(&self, key: &SessionKey, epoch: u64) -> Vec<facts::Fact>;
        fn sites(&self) -> Vec<Name>;
        fn sessions(&self, site: &str) -> Vec<facts::SessionInfo>;
        fn log(&self, site: &str, after: u64, limit: usize) -> Vec<facts::Entry>;
        fn turns(&self, key: &SessionKey, epoch: Option<u64>) -> Vec<facts::Entry>;
        fn last_turn(&self, key: &SessionKey, epoch: u64) -> Option<facts::Entry>;
        fn kb_facts(&self, site: &str) -> Vec<facts::Fact>;
    }
}

/// A turn is one read and one commit; a call adds one commit. What others changed meanwhile counts in it: its round is then decided again.
#[test]
fn a_turn_asks_the_store_twice_and_once_more_after_a_call() {
    let counting = Arc::new(Counting::default());
    let store: Arc<dyn Store> = counting.clone();
    let engine = engine(&store);
    // The site's first turn begins the site.
    say(&engine, "hello");
    counting.asked();
    say(&engine, "hello");
    assert_eq!(counting.asked(), ["begin", "commit"]);
    assert_eq!(say(&engine, "stay(\"Ann\",30)").rounds.len(), 2);
    assert_eq!(counting.asked(), ["begin", "commit", "commit"]);
}
