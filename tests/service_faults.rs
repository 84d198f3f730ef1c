//! Faults of the service from a seed: nodes killed in mid-turn, frozen and thawed, their clocks set forth and back, their database's connections cut,
//! the database crashed and restarted; requests doubled, cut off and out of order; clients that never finish. Afterwards a checker compares what was
//! acknowledged with what the log holds. Clocks jump where Debian's `libfaketime` is installed.
//!
//! `FAULT_SEEDS=17` takes one run again, `FAULT_SEEDS=1-500` takes many, of the program that `FAULT_PROGRAM` names (a release). A full device and refused writes are in `store_faults.rs`.

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

#[cfg(all(test, feature = "serve"))]
mod faults {
    use std::collections::{BTreeMap, BTreeSet};
    use std::io::{BufRead, BufReader, Read, Write};
    use std::path::{Path, PathBuf};
    use std::process::{Child, Command, Stdio};
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::sync::{Arc, Mutex};
    use std::time::{Duration, Instant};

    use duologue::facts::{CommitRule, open_store, verify_log};
    use reqwest::Client;
    use serde_json::{Value, json};

    use super::common::{Schema, run_sql};

    const PATIENCE: Duration = Duration::from_secs(60);
    const CUSTOMERS: usize = 3;
    const TURNS: usize = 10;
    /// What is sold; all but the first run out, one after the other.
    const FOODS: [&str; 5] = ["Soft Taco", "Pepsi", "Bean Burrito", "Pintos N Cheese", "Diet Pepsi"];
    /// Two prices that every version of the menu must have alike, once they were changed.
    const PAIR: [&str; 2] = ["Soft Taco", "Bean Burrito"];

    /// Random numbers from a seed (xorshift).
    #[derive(Clone)]
    struct Dice(u64);

    impl Dice {
        fn new(seed: u64) -> Self {
            Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
        }

        fn below(&mut self, n: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 % n
        }
    }

    /// A request as its sender remembers it. Times are ticks of one clock for all senders.
    #[derive(Clone, Debug)]
    struct Sent {
        session: String,
        request: String,
        /// What is told to be out, if it is that.
        runs_out: Option<String>,
        began: u64,
        /// The turn's number and when it was acknowledged.
        acknowledged: Option<(u64, u64)>,
    }

    /// A turn as the log holds it.
    #[derive(Clone, Debug)]
    struct Took {
        session: String,
        epoch: u64,
        turn: u64,
        request: Option<String>,
        changes: Vec<String>,
    }

    /// What is wrong with a history: nothing acknowledged may be lost or doubled, the turns of a session come in order, nothing is sold in a turn
    /// that began after its run-out was acknowledged, no version of the menu is half of a change.
    fn violations(sent: &[Sent], log: &[Took], prices: &[BTreeMap<String, i64>]) -> Vec<String> {
        let mut found = vec![];
        let mut by_request: BTreeMap<(&str, &str), Vec<&Took>> = BTreeMap::new();
        let mut next: BTreeMap<(&str, u64), u64> = BTreeMap::new();
        for took in log {
            if let Some(request) = &took.request {
                by_request.entry((&took.session, request)).or_default().push(took);
            }
            let due = next.entry((&took.session, took.epoch)).or_insert(1);
            if took.turn != *due {
                found.push(format!("order: turn {} of `{}` stands where {due} was due", took.turn, took.session));
            }
            *due = took.turn + 1;
        }
        let mut last: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for s in sent {
            let took = by_request.get(&(s.session.as_str(), s.request.as_str())).cloned().unwrap_or_default();
            if took.len() > 1 {
                found.push(format!("doubled: request {} of `{}` was taken {} times", s.request, s.session, took.len()));
            }
            let Some((turn, at)) = s.acknowledged else { continue };
            match took.first() {
                None => found.push(format!("lost: request {} of `{}` was acknowledged and is not in the log", s.request, s.session)),
                Some(t) if t.turn != turn => found.push(format!("order: request {} was acknowledged as turn {turn} and is turn {}", s.request, t.turn)),
                Some(_) => {}
            }
            // Whoever sent it after an answer must find it after that answer's turn.
            if let Some((turn_before, at_before)) = last.get(s.session.as_str())
                && *at_before < s.began
                && *turn_before >= turn
            {
                found.push(format!("order: request {} of `{}` was sent after turn {turn_before} and is turn {turn}", s.request, s.session));
            }
            last.insert(&s.session, (turn, at));
        }
        for out in sent.iter().filter(|s| s.runs_out.is_some()) {
            let (Some((_, at)), Some(food)) = (out.acknowledged, &out.runs_out) else { continue };
            for later in sent.iter().filter(|s| s.began > at) {
                for took in by_request.get(&(later.session.as_str(), later.request.as_str())).into_iter().flatten() {
                    if took.changes.iter().any(|c| c.starts_with("add session line(") && c.ends_with(&format!(",\"{food}\")"))) {
                        found.push(format!("stale sale: `{food}` was sold in request {} after its run-out was acknowledged", later.request));
                    }
                }
            }
        }
        for (version, prices) in prices.iter().enumerate().skip(1) {
            let pair: BTreeSet<_> = PAIR.iter().map(|food| prices.get(*food)).collect();
            if pair.len() > 1 {
                found.push(format!("half a menu: version {version} has {pair:?}"));
            }
        }
        found
    }

    #[test]
    fn the_checker_finds_planted_faults() {
        let sent = |session: &str, n: u64, runs_out: Option<&str>| Sent {
            session: session.into(),
            request: format!("{session}{n}"),
            runs_out: runs_out.map(str::to_owned),
            began: n * 10,
            acknowledged: Some((n, n * 10 + 5)),
        };
        let took = |session: &str, n: u64, changes: &[&str]| Took {
            session: session.into(),
            epoch: 1,
            turn: n,
            request: Some(format!("{session}{n}")),
            changes: changes.iter().map(ToString::to_string).collect(),
        };
        let history = vec![sent("m", 1, Some("Pepsi")), sent("c", 1, None), sent("c", 2, None)];
        let log = vec![took("c", 1, &["add session line(1,\"Pepsi\")"]), took("m", 1, &["add shared runout(\"Pepsi\")"]), took("c", 2, &[])];
        let same = |a: i64, b: i64| BTreeMap::from([(PAIR[0].to_owned(), a), (PAIR[1].to_owned(), b)]);
        let menus = vec![same(199, 99), same(500, 500)];
        assert_eq!(violations(&history, &log, &menus), [""; 0]);
        let kinds = |history: &[Sent], log: &[Took], menus: &[BTreeMap<String, i64>]| -> BTreeSet<String> {
            violations(history, log, menus).into_iter().map(|v| v.split(':').next().unwrap().to_owned()).collect()
        };
        let expect = |found: BTreeSet<String>, kind: &str| assert!(found.contains(kind), "{kind}: {found:?}");
        expect(kinds(&history, &log[..2], &menus), "lost");
        let doubled = Took { turn: 3, ..log[2].clone() };
        expect(kinds(&history, &[log.clone(), vec![doubled]].concat(), &menus), "doubled");
        let mut stale = log.clone();
        stale[2].changes.push("add session line(2,\"Pepsi\")".into());
        expect(kinds(&history, &stale, &menus), "stale sale");
        expect(kinds(&history, &[log[2].clone(), log[0].clone(), log[1].clone()], &menus), "order");
        let mut swapped = history.clone();
        swapped[2].acknowledged = Some((1, 25));
        expect(kinds(&swapped, &log, &menus), "order");
        expect(kinds(&history, &log, &[same(199, 99), same(500, 99)]), "half a menu");
    }

    /// A process of the service.
    struct Node {
        child: Child,
        address: String,
    }

    /// What sets a process's clock, where it is installed.
    fn clock_setter() -> Option<PathBuf> {
        let usual = format!("/usr/lib/{}-linux-gnu/faketime/libfaketime.so.1", std::env::consts::ARCH);
        Some(PathBuf::from(usual)).filter(|file| file.exists())
    }

    /// The clock of a run's nodes, as the setter reads it.
    fn set_clock(folder: &Path, seconds: i64) {
        let new = folder.join("clock.new");
        std::fs::write(&new, format!("{seconds:+}\n")).unwrap();
        std::fs::rename(new, folder.join("clock")).unwrap();
    }

    impl Node {
        fn start(store: &str, tokens: &Path) -> (Self, String) {
            let mut command = Command::new(std::env::var_os("FAULT_PROGRAM").unwrap_or_else(|| env!("CARGO_BIN_EXE_duologue").into()));
            if let (Some(setter), Some(folder)) = (clock_setter(), tokens.parent()) {
                command.env("LD_PRELOAD", setter).env("FAKETIME_TIMESTAMP_FILE", folder.join("clock"));
                command.env("FAKETIME_NO_CACHE", "1").env("FAKETIME_DONT_FAKE_MONOTONIC", "1").env("NO_FAKE_STAT", "1");
            }
            let mut child = command
                .args(["serve", "--address", "127.0.0.1:0", "--reasoner", "fast", "--audit", "0", "--commit", "quit", "--demo", "--store", store, "--tokens"])
                .arg(tokens)
                .env_remove("DUOLOGUE_MODEL")
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
            let mut node = Self { child, address: String::new() };
            let (tell, told) = std::sync::mpsc::channel();
            std::thread::spawn(move || {
                let address = lines.find_map(|l| l.strip_prefix("listening on ").map(str::to_owned));
                let token = lines.find_map(|l| l.split_once(", for a day: ").map(|(_, t)| t.to_owned()));
                let _ = tell.send(address.zip(token));
            });
            let (address, token) = told.recv_timeout(PATIENCE * 5).ok().flatten().expect("the service did not start");
            node.address = address;
            (node, token)
        }

        fn signal(&self, name: &str) {
            Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        }
    }

    impl Drop for Node {
        fn drop(&mut self) {
            self.signal("-KILL");
            self.child.wait().unwrap();
        }
    }

    /// What all senders of a run share.
    struct Run {
        addresses: Mutex<Vec<String>>,
        token: String,
        tick: AtomicU64,
        sent: Mutex<Vec<Sent>>,
        over: AtomicBool,
        /// Lines of clients that never finish what they say.
        hanging: Mutex<Vec<std::net::TcpStream>>,
        seed: u64,
    }

    impl Run {
        fn tick(&self) -> u64 {
            self.tick.fetch_add(1, Ordering::SeqCst)
        }

        fn address(&self, dice: &mut Dice) -> String {
            let all = self.addresses.lock().unwrap();
            all[usize::try_from(dice.below(all.len() as u64)).unwrap()].clone()
        }

        /// Sends until there is an answer, whatever becomes of nodes and lines.
        async fn insist(&self, dice: &mut Dice, client: &Client, path: &str, token: &str, body: &Value) -> Value {
            // A machine may have others to serve before these nodes.
            let until = Instant::now() + PATIENCE * 5;
            loop {
                assert!(Instant::now() < until, "seed {}: no answer to {path} {body}", self.seed);
                let (address, other) = (self.address(dice), self.address(dice));
                let to = |address: &str| {
                    let request = client.post(format!("{address}{path}")).json(body);
                    if token.is_empty() { request } else { request.bearer_auth(token) }
                };
                let send = || to(&address);
                match dice.below(6) {
                    // Cut off before the answer is there.
                    0 => drop(send().timeout(Duration::from_millis(1 + dice.below(8))).send().await),
                    // Sent twice at once.
                    1 => {
                        let soon = Duration::from_secs(5);
                        let (a, b) = (tokio::spawn(send().timeout(soon).send()), tokio::spawn(to(&other).timeout(soon).send()));
                        drop((a.await, b.await));
                    }
                    // Begun and never finished.
                    2 => {
                        if let Some(Ok(mut line)) = address.strip_prefix("http://").map(std::net::TcpStream::connect) {
                            let _ = write!(line, "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: 900\r\n\r\n{{\"pre");
                            self.hanging.lock().unwrap().push(line);
                        }
                    }
                    _ => {}
                }
                if let Ok(answer) = send().timeout(Duration::from_secs(5)).send().await {
                    let status = answer.status();
                    match answer.json::<Value>().await {
                        Ok(value) if status.is_success() => return value,
                        Ok(value) => {
                            assert!(status.is_server_error() || [408, 409, 429].contains(&status.as_u16()), "seed {}: {status} {value} to {body}", self.seed)
                        }
                        Err(_) => {}
                    }
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }

        /// One speaker: a session, and turns one after the other.
        async fn talk(self: Arc<Self>, who: String, lines: Vec<(Vec<String>, Option<String>)>) {
            let (mut dice, client) = (Dice::new(self.seed ^ (who.bytes().map(u64::from).sum::<u64>() << 20)), Client::new());
            let (role, bearer) = if who.starts_with('m') { (json!({ "role": "manager" }), self.token.as_str()) } else { (json!({}), "") };
            let opened = self.insist(&mut dice, &client, "/v1/sites/main/sessions", bearer, &role).await;
            let (session, token) = (opened["session"].as_str().unwrap().to_owned(), opened["token"].as_str().unwrap().to_owned());
            for (n, (predicates, runs_out)) in lines.into_iter().enumerate() {
                let request = format!("{who}-{n}");
                let began = self.tick();
                let body = json!({ "predicates": predicates, "request": request });
                let answer = self.insist(&mut dice, &client, &format!("/v1/sessions/{session}/turns"), &token, &body).await;
                let acknowledged = Some((answer["turn"].as_u64().unwrap(), self.tick()));
                self.sent.lock().unwrap().push(Sent { session: session.clone(), request, runs_out, began, acknowledged });
            }
        }
    }

    /// What each speaker says.
    fn script(dice: &mut Dice) -> Vec<(String, Vec<(Vec<String>, Option<String>)>)> {
        let mut all = vec![];
        for c in 0..CUSTOMERS {
            let food = |dice: &mut Dice| FOODS[usize::try_from(dice.below(FOODS.len() as u64)).unwrap()];
            all.push((format!("c{c}"), (0..TURNS).map(|_| (vec![format!("order(\"{}\",1)", food(dice))], None)).collect()));
        }
        let outs = FOODS[1..].iter().map(|food| (vec![format!("runout(\"{food}\")")], Some((*food).to_owned())));
        all.push(("m-stock".to_owned(), outs.collect()));
        let cents = 500 + dice.below(200);
        let mut menu: Vec<_> = PAIR.iter().map(|food| (vec![format!("edit(\"{food}\",price,{cents})")], None)).collect();
        menu.push((vec!["quit".to_owned()], None));
        all.push(("m-menu".to_owned(), menu));
        all
    }

    fn run(seed: u64) {
        let mut dice = Dice::new(seed);
        let folder = tempfile::tempdir().unwrap();
        // Every other run is on PostgreSQL with two nodes, if there is one.
        let schema = if seed.is_multiple_of(2) { Schema::fresh() } else { None };
        let name = format!("faults{seed}");
        let store = match &schema {
            Some(schema) => format!("{}&application_name={name}", schema.address),
            None => folder.path().join("a.db").display().to_string(),
        };
        let tokens = folder.path().join("tokens");
        set_clock(folder.path(), 0);
        let (first, token) = Node::start(&store, &tokens);
        let mut nodes = vec![first];
        if schema.is_some() {
            nodes.push(Node::start(&store, &tokens).0);
        }
        let addresses = nodes.iter().map(|n| n.address.clone()).collect();
        let run = Arc::new(Run {
            addresses: Mutex::new(addresses),
            token,
            tick: AtomicU64::new(1),
            sent: Mutex::default(),
            over: AtomicBool::new(false),
            hanging: Mutex::default(),
            seed,
        });
        let speakers = script(&mut dice);
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        std::thread::scope(|scope| {
            let talking = run.clone();
            let talk = scope.spawn(move || {
                runtime.block_on(async {
                    let all: Vec<_> = speakers.into_iter().map(|(who, lines)| tokio::spawn(talking.clone().talk(who, lines))).collect();
                    let mut failed = None;
                    for one in all {
                        failed = one.await.err().or(failed);
                    }
                    talking.over.store(true, Ordering::SeqCst);
                    assert!(failed.is_none(), "{failed:?}");
                });
            });
            let mut faults = 0;
            while !run.over.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(100 + dice.below(300)));
                if faults >= 4 {
                    continue;
                }
                faults += 1;
                let at = usize::try_from(dice.below(nodes.len() as u64)).unwrap();
                match dice.below(5) {
                    0 => {
                        nodes[at].signal("-KILL");
                        nodes[at].child.wait().unwrap();
                        nodes[at] = Node::start(&store, &tokens).0;
                        run.addresses.lock().unwrap()[at] = nodes[at].address.clone();
                    }
                    1 => {
                        nodes[at].signal("-STOP");
                        std::thread::sleep(Duration::from_millis(dice.below(1500)));
                        nodes[at].signal("-CONT");
                    }
                    2 => {
                        let hours = i64::try_from(dice.below(10)).unwrap() - 5;
                        set_clock(folder.path(), hours * 3600);
                    }
                    3 => {
                        if let (Some(_), Some(restart)) = (&schema, std::env::var_os("DUOLOGUE_TEST_POSTGRES_RESTART")) {
                            assert!(Command::new(restart).status().unwrap().success(), "seed {seed}: the database does not start again");
                        }
                    }
                    _ => {
                        if let Some(schema) = &schema {
                            let text = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{name}'");
                            run_sql(&schema.address, &text);
                        }
                    }
                }
            }
            talk.join().unwrap();
        });
        drop(nodes);
        let store = open_store(&store, CommitRule::AtManagersQuit).unwrap();
        assert_eq!(verify_log(&*store, "main").unwrap(), [], "seed {seed}");
        let log: Vec<Took> = store
            .log("main", 0, usize::MAX)
            .unwrap()
            .iter()
            .filter_map(|e| {
                let t = e.turn()?;
                let changes = e.changes.iter().map(ToString::to_string).collect();
                Some(Took { session: t.session.to_string(), epoch: t.epoch, turn: t.turn, request: t.request.clone(), changes })
            })
            .collect();
        let prices = (0..=store.kb_head("main").unwrap()).map(|v| {
            let kb = store.kb("main", v).unwrap();
            let price =
                |a: &duologue::term::Atom| Some((a.args.first()?.to_string().trim_matches('"').to_owned(), a.args.get(1)?.to_string().parse::<i64>().ok()?));
            kb.iter().filter(|a| &*a.name == "original_price").filter_map(price).collect::<BTreeMap<String, i64>>()
        });
        let sent = run.sent.lock().unwrap();
        assert_eq!(sent.len(), CUSTOMERS * TURNS + FOODS.len() - 1 + PAIR.len() + 1);
        assert_eq!(store.kb_head("main").unwrap(), 1, "seed {seed}: the menu was changed once");
        assert_eq!(violations(&sent, &log, &prices.collect::<Vec<_>>()), [""; 0], "FAULT_SEEDS={seed} takes it again");
    }

    /// One test at a time has the database: the other one restarts it.
    static DATABASE: Mutex<()> = Mutex::new(());

    /// What runs out on one node is refused on the other at its next turn, and told there without being asked; `RUN_OUTS=1000` does it so often.
    #[test]
    fn what_one_node_changes_the_other_heeds_at_its_next_turn_and_tells() {
        let Some(schema) = Schema::fresh() else { return };
        let _alone = DATABASE.lock();
        let folder = tempfile::tempdir().unwrap();
        let tokens = folder.path().join("tokens");
        set_clock(folder.path(), 0);
        let (one, token) = Node::start(&schema.address, &tokens);
        let other = Node::start(&schema.address, &tokens).0;
        let times: usize = std::env::var("RUN_OUTS").map_or(3, |n| n.parse().unwrap());
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let work = async {
            let client = Client::new();
            let post = |address: &str, path: String, bearer: &str, body: Value| {
                let request = client.post(format!("{address}{path}")).timeout(PATIENCE).json(&body);
                let request = if bearer.is_empty() { request } else { request.bearer_auth(bearer) };
                async move { request.send().await.unwrap().json::<Value>().await.unwrap() }
            };
            let open = async |address: &str, bearer: &str, role: &str| {
                let opened = post(address, "/v1/sites/main/sessions".to_owned(), bearer, json!({ "role": role })).await;
                let text = |name: &str| opened[name].as_str().unwrap().to_owned();
                (format!("/v1/sessions/{}/turns", text("session")), text("token"))
            };
            let (manager, customer) = (open(&one.address, &token, "manager").await, open(&other.address, "", "customer").await);
            let mut events = client.get(format!("{}/v1/sites/main/events", other.address)).bearer_auth(&customer.1).send().await.unwrap();
            let mut told = String::new();
            for n in 0..times {
                post(&one.address, manager.0.clone(), &manager.1, json!({ "predicates": ["runout(\"Pepsi\")"] })).await;
                let refused = post(&other.address, customer.0.clone(), &customer.1, json!({ "predicates": ["order(\"Pepsi\",1)"] })).await;
                assert!(refused["actions"].to_string().contains("unavailable("), "{n}: {refused}");
                post(&one.address, manager.0.clone(), &manager.1, json!({ "predicates": ["restore(\"Pepsi\")"] })).await;
                while told.matches("event: moved").count() < 2 * (n + 1) {
                    told.push_str(&String::from_utf8_lossy(&events.chunk().await.unwrap().expect("the stream ended")));
                }
            }
            let sold = post(&other.address, customer.0.clone(), &customer.1, json!({ "predicates": ["order(\"Pepsi\",1)"] })).await;
            assert!(!sold["actions"].to_string().contains("unavailable("), "it is back: {sold}");
        };
        runtime.block_on(async { tokio::time::timeout(PATIENCE * 10, work).await.expect("no answer") });
    }

    /// Whoever started it may have gone: a line that nobody reads ended the service without a word.
    #[test]
    fn it_serves_when_nobody_reads_what_it_prints() {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_duologue"));
        command.args(["serve", "--store", ":memory:", "--demo", "--address", &free.to_string()]).env_remove("DUOLOGUE_MODEL");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        drop(child.stdout.take());
        let node = Node { child, address: free.to_string() };
        let until = Instant::now() + PATIENCE;
        let mut answer = String::new();
        while answer.is_empty() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(50));
            let Ok(mut line) = std::net::TcpStream::connect(&node.address) else { continue };
            write!(line, "GET /healthz HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", node.address).unwrap();
            let _ = line.read_to_string(&mut answer);
        }
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    #[test]
    fn nothing_acknowledged_is_lost_doubled_out_of_order_or_sold_after_it_ran_out() {
        let _alone = DATABASE.lock();
        let seeds = std::env::var("FAULT_SEEDS").unwrap_or_else(|_| "1".to_owned());
        let (from, to) = seeds.split_once('-').unwrap_or((&seeds, &seeds));
        for seed in from.parse::<u64>().unwrap()..=to.parse().unwrap() {
            run(seed);
        }
    }
}
