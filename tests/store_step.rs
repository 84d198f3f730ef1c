//! Real processes of `duologue step` on one file: killed at random, side by side in the same and in different sessions.

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
mod step {
    use std::collections::BTreeMap;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::path::Path;
    use std::process::{Child, Command, Stdio};
    use std::sync::mpsc::{Receiver, channel};
    use std::thread;
    use std::time::Duration;

    use duologue::domain::{Domain, Files};
    use duologue::facts::{CommitRule, Store, open_store, verify_log};
    use duologue::turn::record::from_entry;
    use serde_json::{Value, json};

    const SITE: &str = "s";
    const PATIENCE: Duration = Duration::from_secs(120);

    /// A running `step` whose replies arrive one by one.
    struct Step {
        child: Child,
        replies: Receiver<(String, Value)>,
    }

    /// What one talker sends: orders of one item, and after every fourth the end of the conversation.
    fn request(me: &str, session: &str, i: usize) -> (String, String) {
        let id = format!("{me}-{i}");
        let said = if i % 5 == 4 { "quit" } else { "order(\"Soft Taco\",1)" };
        let line = json!({ "site": SITE, "session": session, "role": "customer", "predicates": [said], "request": id });
        (id, line.to_string())
    }

    impl Step {
        /// Starts a process and feeds it; a reply counts when its whole line has arrived, as it does for any caller.
        fn start(path: &Path, requests: Vec<(String, String)>) -> Self {
            let mut child = Command::new(env!("CARGO_BIN_EXE_duologue"))
                .args(["step", "--domain", "drive_thru", "--reasoner", "fast", "--no-why", "--set", "manner=paper", "--store"])
                .arg(path)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let (mut stdin, stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
            let (tell, replies) = channel();
            let ids: Vec<String> = requests.iter().map(|(id, _)| id.clone()).collect();
            thread::spawn(move || requests.iter().try_for_each(|(_, line)| writeln!(stdin, "{line}")));
            thread::spawn(move || {
                for (id, line) in ids.into_iter().zip(stdout.split(b'\n')) {
                    let whole = line.ok().and_then(|l| serde_json::from_slice(&l).ok());
                    if whole.is_none_or(|reply| tell.send((id, reply)).is_err()) {
                        return;
                    }
                }
            });
            Self { child, replies }
        }

        /// Kills the process some time after its first reply; gives the replies that arrived.
        fn kill_after(mut self, pause: Duration) -> Vec<(String, Value)> {
            let first = self.replies.recv_timeout(PATIENCE).unwrap();
            thread::sleep(pause);
            self.child.kill().unwrap();
            self.child.wait().unwrap();
            std::iter::once(first).chain(self.replies).collect()
        }

        /// Lets it answer everything.
        fn finish(mut self) -> Vec<(String, Value)> {
            let all = self.replies.iter().collect();
            let mut said = String::new();
            self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            let status = self.child.wait().unwrap();
            assert!(status.success(), "{status}: {said}");
            all
        }
    }

    fn open(path: &Path) -> std::sync::Arc<dyn Store> {
        open_store(&path.display().to_string(), CommitRule::default()).unwrap()
    }

    /// Every acknowledged reply is in the log, word for word, once; and every conversation holds exactly what was ordered in it.
    fn check(path: &Path, acknowledged: &BTreeMap<String, Value>) {
        let store = open(path);
        let shape = Domain::load(&Files::built_in(), "drive_thru").unwrap().ontology.view.clone();
        assert_eq!(verify_log(&*store, SITE).unwrap(), []);
        store.integrity().unwrap();
        let mut taken: BTreeMap<String, Value> = BTreeMap::new();
        let mut orders: BTreeMap<(String, u64), usize> = BTreeMap::new();
        for entry in store.log(SITE, 0, usize::MAX).unwrap() {
            let Some(turn) = entry.turn() else { continue };
            let mut record: Value = serde_json::from_str(&turn.record).unwrap();
            // The log has what the rules show; `step` prints it in the domain's shape.
            record["state"] = shape.shown(&from_entry(&entry, &shape).unwrap().view);
            let count = orders.entry((turn.session.to_string(), turn.epoch)).or_default();
            if turn.ended {
                assert_eq!(record["state"]["status"], "cancelled");
            } else {
                *count += 1;
                assert_eq!(record["state"]["order"].as_array().unwrap().len(), *count, "turn {} of {}/{}", turn.turn, turn.session, turn.epoch);
            }
            assert_eq!(taken.insert(turn.request.clone().unwrap(), record), None, "{:?} was taken twice", turn.request);
        }
        for (id, reply) in acknowledged {
            let record = taken.get(id).unwrap_or_else(|| panic!("`{id}` is lost: {reply}"));
            for part in ["predicates", "actions", "text", "state"] {
                assert_eq!(record[part], reply[part], "`{id}`: {part}");
            }
        }
    }

    #[test]
    fn killed_at_random_no_acknowledged_turn_is_lost_doubled_or_half_applied() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let mut acknowledged = BTreeMap::new();
        let mut pause: u64 = 11;
        for round in 0..3 {
            let talk = |me: String, session: &str| Step::start(&path, (0..2000).map(|i| request(&me, session, i)).collect());
            // Two talkers share a conversation, and each round goes on in the one that the killed processes left.
            let running = [talk(format!("{round}a"), "c1"), talk(format!("{round}b"), "c1")];
            for step in running {
                pause = (pause * 48_271) % 2_147_483_647;
                acknowledged.extend(step.kill_after(Duration::from_millis(pause % 400)));
            }
            check(&path, &acknowledged);
        }
        assert!(acknowledged.len() > 10, "{}", acknowledged.len());
        // What was cut off is sent again: taken now if it was not, answered as before if it was.
        let mut again: Vec<_> = (0..3).flat_map(|round| ["a", "b"].map(|t| format!("{round}{t}"))).collect();
        again.sort();
        for me in again {
            let done = acknowledged.keys().filter(|id| id.split('-').next() == Some(&me)).count();
            let from = done.saturating_sub(2);
            let replies = Step::start(&path, (from..done + 2).map(|i| request(&me, "c1", i)).collect()).finish();
            assert_eq!(replies.len(), done + 2 - from);
            for (id, reply) in replies {
                let first = acknowledged.entry(id.clone()).or_insert_with(|| reply.clone());
                assert_eq!((&first["actions"], &first["text"]), (&reply["actions"], &reply["text"]), "{id}");
            }
        }
        check(&path, &acknowledged);
    }

    #[test]
    fn two_processes_in_the_same_and_in_different_sessions_take_every_turn_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let talk = |me: &str, sessions: [&str; 2]| Step::start(&path, (0..40).map(|i| request(me, sessions[i / 5 % 2], i)).collect());
        let running = [talk("a", ["both", "a"]), talk("b", ["both", "b"])];
        let acknowledged: BTreeMap<String, Value> = running.into_iter().flat_map(Step::finish).collect();
        assert_eq!(acknowledged.len(), 80);
        assert!(acknowledged.values().all(|r| r["error"].is_null()), "{acknowledged:?}");
        check(&path, &acknowledged);
        assert_eq!(open(&path).log(SITE, 0, usize::MAX).unwrap().len(), 81);
    }

    #[test]
    fn a_killed_process_leaves_shared_facts_and_the_menu_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let line = |role: &str, session: &str, predicates: &[&str], id: String| {
            (id.clone(), json!({ "site": SITE, "session": session, "role": role, "predicates": predicates, "request": id }).to_string())
        };
        // Each manager's conversation raises the price of a dish, takes an ingredient off and puts it back, and ends.
        let requests = (0..500).flat_map(|i| {
            let edit = format!("edit(\"Soft Taco\",price,{})", 300 + i);
            [line("manager", "m", &["runout(\"Beans\")", &edit], format!("{i}-1")), line("manager", "m", &["restore(\"Beans\")", "quit"], format!("{i}-2"))]
        });
        let replies = Step::start(&path, requests.collect()).kill_after(Duration::from_millis(600));
        let store = open(&path);
        assert_eq!(verify_log(&*store, SITE).unwrap(), []);
        let acknowledged = replies.len() as u64;
        let turns = store.turns(&duologue::facts::SessionKey::new(SITE, "m"), None).unwrap();
        assert!(turns.len() as u64 >= acknowledged && turns.len() as u64 <= acknowledged + 1, "{} of {acknowledged}", turns.len());
        let finished = turns.len() as u64 / 2;
        assert_eq!(store.kb_head(SITE).unwrap(), finished, "one version for every manager who finished");
        let out = store.shared(SITE).unwrap().1.iter().any(|f| f.atom.to_string() == "runout(\"Beans\")");
        assert_eq!(out, turns.len() % 2 == 1, "the run-out is there exactly between the two turns");
        let price = |version: u64| store.kb(SITE, version).unwrap().iter().filter(|a| a.to_string().starts_with("original_price(\"Soft Taco\",")).count();
        assert!((0..=finished).all(|v| price(v) == 1), "never two prices, never none");
    }
}
