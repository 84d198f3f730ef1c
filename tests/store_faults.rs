//! A turn is whole or absent: write faults at every step, processes that die at every step, processes killed at random,
//! devices that fill up.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test that cannot go on must fail loudly"
)]

#[cfg(test)]
#[path = "store/common.rs"]
mod common;

#[cfg(test)]
mod faults {
    use std::path::Path;
    use std::sync::Arc;

    use duologue::facts::sqlite::Fault;
    use duologue::facts::{CommitRule, Committed, Entry, Fact, Installed, SessionInfo, SqliteOptions, SqliteStore, Store, StoreError, TurnCommit, verify_log};
    use duologue::term::Atom;

    use super::common::*;

    /// Everything a reader can see of the site.
    type Seen = (Vec<Entry>, Vec<SessionInfo>, Vec<Fact>, (u64, Vec<Fact>), u64, Arc<Vec<Atom>>, usize);

    fn seen(store: &dyn Store) -> Seen {
        let head = store.kb_head(SITE).unwrap();
        let own = store.sessions(SITE).unwrap().iter().flat_map(|s| store.session_facts(&key(&s.session), s.epoch).unwrap()).collect();
        (
            store.log(SITE, 0, usize::MAX).unwrap(),
            store.sessions(SITE).unwrap(),
            own,
            store.shared(SITE).unwrap(),
            head,
            store.kb(SITE, head).unwrap(),
            store.pending(SITE).unwrap().len(),
        )
    }

    fn faulty(path: &Path, fault: &Arc<Fault>) -> SqliteStore {
        SqliteStore::open(path, SqliteOptions { fault: Some(fault.clone()), ..SqliteOptions::default() }).unwrap()
    }

    /// A site in mid-conversation: a customer with facts, a manager who has collected kb changes.
    fn prepare(path: &Path) {
        let store = sqlite(path, CommitRule::default());
        let _ = store.install(SITE, &atoms(&["dish(\"Soup\")", "dish(\"Pie\")"]), 1).unwrap();
        take(&store, "c", "customer", &["add session a", "add session b"]);
        quit(&store, "m", "manager", &["add kb dish(\"Cake\")", "del kb dish(\"Pie\")", "add shared runout(\"Beans\")"]);
    }

    /// The customer's last turn: touches every table, and with it the kb moves.
    fn last_turn(store: &dyn Store) -> TurnCommit {
        let changes = ["del session a", "add session c", "del shared runout(\"Beans\")", "add shared runout(\"Peas\")", "add kb dish(\"Jam\")"];
        TurnCommit { ended: true, request: Some("last".into()), ..turn(store, "c", "customer", &changes) }
    }

    #[test]
    fn a_fault_at_any_write_step_leaves_the_state_before_or_after_and_the_next_turn_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let reference = folder.path().join("reference.db");
        prepare(&reference);
        let before = seen(&sqlite(&reference, CommitRule::default()));
        let fault = Arc::new(Fault::failing());
        let store = faulty(&reference, &fault);
        fault.arm(0);
        done(store.commit(&last_turn(&store)));
        let (after, steps) = (seen(&store), fault.steps());
        assert!(steps > 12, "{steps}");
        assert_eq!((after.4, after.6), (1, 0), "the kb moved with the last turn");
        for step in 1..=steps {
            let path = folder.path().join(format!("{step}.db"));
            prepare(&path);
            let fault = Arc::new(Fault::failing());
            let store = faulty(&path, &fault);
            let sent = last_turn(&store);
            fault.arm(step);
            let failed = store.commit(&sent).unwrap_err();
            assert_eq!(failed, StoreError::Io { file: "injected".into(), detail: format!("fault at write step {step}") });
            let now = seen(&store);
            let expected = if step == steps { &after } else { &before };
            assert_eq!(&now, expected, "step {step} of {steps}");
            assert_eq!(verify_log(&store, SITE).unwrap(), []);
            // The caller cannot know which it is: the same request again is taken once in either case.
            match store.commit(&sent).unwrap() {
                Committed::Done(_) => assert!(step < steps),
                Committed::Before(entry) => assert_eq!((step, entry.seq), (steps, 4)),
            }
            assert_eq!(seen(&store), after);
            drop(store);
            let again = sqlite(&path, CommitRule::default());
            assert_eq!(seen(&again), after);
            take(&again, "c", "customer", &["add session afresh"]);
            assert_eq!(verify_log(&again, SITE).unwrap(), []);
            again.integrity().unwrap();
        }
    }

    #[test]
    fn a_fault_while_a_site_begins_leaves_no_site() {
        let folder = tempfile::tempdir().unwrap();
        let facts = atoms(&["dish(\"Soup\")", "dish(\"Pie\")"]);
        for step in 1..100 {
            let fault = Arc::new(Fault::failing());
            let store = faulty(&folder.path().join(format!("{step}.db")), &fault);
            fault.arm(step);
            match store.install(SITE, &facts, 1) {
                Ok(Installed::New) if fault.steps() < step => return,
                Err(StoreError::Io { .. }) => {}
                other => panic!("{other:?}"),
            }
            let made = store.sites().unwrap().len();
            assert_eq!(store.install(SITE, &facts, 1), Ok(if made == 0 { Installed::New } else { Installed::Same }));
            assert_eq!(verify_log(&store, SITE).unwrap(), []);
        }
        panic!("no end of steps");
    }

    #[test]
    fn a_full_device_refuses_the_turn_by_name_and_keeps_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        prepare(&path);
        let store = sqlite(&path, CommitRule::default());
        // SQLite's own limit on pages fails in the middle of a transaction exactly as a full device does.
        let pages: i64 = rusqlite::Connection::open(&path).unwrap().query_row("PRAGMA page_count", [], |r| r.get(0)).unwrap();
        let limited = SqliteStore::open(&path, SqliteOptions { max_pages: Some(u32::try_from(pages).unwrap() + 2), ..SqliteOptions::default() }).unwrap();
        let before = seen(&limited);
        let large = TurnCommit { record: "x".repeat(100_000), ..last_turn(&limited) };
        assert_eq!(limited.commit(&large), Err(StoreError::Full(path.display().to_string())));
        assert_eq!(seen(&limited), before);
        done(limited.commit(&last_turn(&limited)));
        assert_eq!(verify_log(&store, SITE).unwrap(), []);
    }

    /// Runs this test binary again as a child that only does `work` on `path`.
    fn child(work: &str, path: &Path) -> std::process::Command {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "faults::work_of_a_child", "--nocapture", "--test-threads=1"]);
        command.env("STORE_WORK", work).env("STORE_FILE", path).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null());
        command
    }

    /// Not a test of its own: what a child process does, told by its environment.
    #[test]
    fn work_of_a_child() {
        let (Ok(work), Ok(path)) = (std::env::var("STORE_WORK"), std::env::var("STORE_FILE")) else { return };
        let (name, argument) = work.split_once(' ').unwrap();
        match name {
            "abort" => {
                let fault = Arc::new(Fault::aborting());
                let store = faulty(Path::new(&path), &fault);
                let sent = last_turn(&store);
                fault.arm(argument.parse().unwrap());
                done(store.commit(&sent));
            }
            "talk" => talk(&sqlite(Path::new(&path), CommitRule::default()), argument),
            "fill" => {
                let store = sqlite(Path::new(&path), CommitRule::default());
                for i in 0.. {
                    let sent = TurnCommit { record: "x".repeat(3000), ..turn(&store, "c", "customer", &[&format!("add session n({i})")]) };
                    match store.commit(&sent) {
                        Ok(_) => println!("ack {i}"),
                        Err(e) => return println!("refused {}", e.code()),
                    }
                }
            }
            other => panic!("{other}"),
        }
    }

    /// Takes turns for ever, in a session of its own and in one that all talkers share, and acknowledges each.
    fn talk(store: &dyn Store, me: &str) {
        use std::io::Write;
        let mut out = std::io::stdout().lock();
        for i in 0..1_000_000 {
            let session = if i % 3 == 0 { "shared".to_owned() } else { format!("own {me}") };
            let changes = [format!("add session said({me},{i})"), format!("del session said({me},{})", i - 6), format!("add shared heard({me},{i})")];
            let changes: Vec<&str> = changes.iter().map(String::as_str).collect();
            loop {
                let mut sent = turn(store, &session, "customer", &changes);
                sent.request = Some(format!("{me}-{i}"));
                sent.ended = i % 20 == 19;
                match store.commit(&sent) {
                    Ok(Committed::Done(r)) => {
                        writeln!(out, "ack {me}-{i} {}", r.seq).unwrap();
                        out.flush().unwrap();
                        break;
                    }
                    Err(e) if e.is_stale() => {}
                    other => panic!("{other:?}"),
                }
            }
        }
    }

    #[test]
    fn a_process_that_dies_at_any_write_step_leaves_the_state_before_or_after() {
        let folder = tempfile::tempdir().unwrap();
        let template = folder.path().join("template.db");
        prepare(&template);
        let fault = Arc::new(Fault::failing());
        let store = faulty(&template, &fault);
        let before = seen(&store);
        fault.arm(0);
        done(store.commit(&last_turn(&store)));
        let (after, steps) = (seen(&store), fault.steps());
        for step in 1..=steps {
            let path = folder.path().join(format!("{step}.db"));
            prepare(&path);
            let status = child(&format!("abort {step}"), &path).status().unwrap();
            assert!(!status.success(), "step {step}");
            let store = sqlite(&path, CommitRule::default());
            assert_eq!(seen(&store), *if step == steps { &after } else { &before }, "step {step} of {steps}");
            store.integrity().unwrap();
            if step < steps {
                done(store.commit(&last_turn(&store)));
            }
            assert_eq!(seen(&store), after);
            assert_eq!(verify_log(&store, SITE).unwrap(), []);
        }
    }

    #[test]
    fn processes_killed_at_random_lose_no_acknowledged_turn_and_double_none() {
        use std::collections::BTreeMap;
        use std::io::{BufRead, BufReader};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let _ = sqlite(&path, CommitRule::default()).install(SITE, &atoms(&["dish(\"Soup\")"]), 1).unwrap();
        let mut acknowledged: BTreeMap<String, u64> = BTreeMap::new();
        let mut pause: u64 = 7;
        for round in 0..8 {
            let mut children: Vec<_> = (0..2).map(|n| child(&format!("talk {}", round * 2 + n), &path).spawn().unwrap()).collect();
            let readers: Vec<_> = children
                .iter_mut()
                .map(|c| {
                    let out = BufReader::new(c.stdout.take().unwrap());
                    // A line cut off by the kill was not acknowledged: only whole ones count.
                    std::thread::spawn(move || out.split(b'\n').map_while(Result::ok).collect::<Vec<_>>())
                })
                .collect();
            for c in &mut children {
                pause = (pause * 48_271) % 2_147_483_647;
                std::thread::sleep(std::time::Duration::from_millis(120 + pause % 180));
                c.kill().unwrap();
                c.wait().unwrap();
            }
            for reader in readers {
                for line in reader.join().unwrap() {
                    let line = String::from_utf8(line).unwrap();
                    let Some((_, rest)) = line.split_once("ack ") else { continue };
                    let Some((request, seq)) = rest.split_once(' ') else { continue };
                    if let Ok(seq) = seq.parse() {
                        acknowledged.insert(request.to_owned(), seq);
                    }
                }
            }
            let store = sqlite(&path, CommitRule::default());
            assert_eq!(verify_log(&store, SITE).unwrap(), []);
            store.integrity().unwrap();
            let log = store.log(SITE, 0, usize::MAX).unwrap();
            let mut taken: BTreeMap<String, u64> = BTreeMap::new();
            for entry in &log {
                if let Some(request) = entry.turn().and_then(|t| t.request.clone()) {
                    assert_eq!(taken.insert(request.clone(), entry.seq), None, "`{request}` was taken twice");
                }
            }
            for (request, seq) in &acknowledged {
                // The last line may have been cut within its number: then it is a beginning of the true one.
                let found = taken.get(request).unwrap_or_else(|| panic!("`{request}` is lost"));
                assert!(found.to_string().starts_with(&seq.to_string()), "`{request}` is entry {found}, was acknowledged as {seq}");
            }
        }
        assert!(acknowledged.len() > 50, "the children got to talk: {}", acknowledged.len());
    }

    #[test]
    #[cfg(unix)]
    fn writes_that_the_system_refuses_lose_no_acknowledged_turn() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        prepare(&path);
        // A limit on the size of files makes the system's own write calls fail half-way; the signal for it is ignored.
        let inner = child("fill -", &path);
        let mut command = std::process::Command::new("sh");
        command.arg("-c").arg("trap '' XFSZ; ulimit -f 6000; exec \"$0\" \"$@\"").arg(inner.get_program()).args(inner.get_args());
        command.envs(inner.get_envs().filter_map(|(k, v)| v.map(|v| (k, v))));
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let acknowledged = said.lines().filter(|l| l.contains("ack ")).count();
        assert!(acknowledged > 10 && (said.contains("refused store::io") || said.contains("refused store::full")), "{said}");
        let store = sqlite(&path, CommitRule::default());
        assert_eq!(verify_log(&store, SITE).unwrap(), []);
        store.integrity().unwrap();
        assert_eq!(store.open(&key("c"), "customer").unwrap().turn, 1 + acknowledged as u64);
        take(&store, "c", "customer", &[]);
    }
}
