//! Random command sequences: all stores give the same answers, and the log stays the truth.

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
mod properties {
    use duologue::facts::change::{Change, Op};
    use duologue::facts::verify::fold_log;
    use duologue::facts::{
        CommitRule, Committed, MemoryStore, PostgresOptions, PostgresStore, Revision, SessionKey, SqliteOptions, SqliteStore, Store, TurnCommit, verify_log,
    };
    use duologue::ontology::Scope;
    use duologue::term::Atom;
    use proptest::prelude::*;

    use super::common::{Schema, sqlite};

    const SITES: [&str; 2] = ["a", "b"];
    const ROLES: [&str; 2] = ["customer", "manager"];

    #[derive(Clone, Debug)]
    enum Command {
        Install { site: usize, facts: Vec<Atom> },
        Rebase { site: usize, facts: Vec<Atom> },
        Close { key: (usize, usize), handed_over: Vec<Atom> },
        Turn(Taken),
        Reopen,
    }

    /// A turn: decided on a fresh reading, or off by something.
    #[derive(Clone, Debug)]
    struct Taken {
        key: (usize, usize),
        role: usize,
        changes: Vec<Change>,
        ended: bool,
        off: Off,
        request: Option<u8>,
        /// Whether it read the shared facts, and what is collected.
        reads: Option<bool>,
        /// Committed only after the next turns were.
        late: bool,
    }

    #[derive(Clone, Copy, Debug)]
    enum Off {
        Nothing,
        Turn(i8),
        Epoch(i8),
        Kb(i8),
        Shared(i8),
    }

    fn fact() -> impl Strategy<Value = Atom> {
        prop_oneof![
            (0..6_i32).prop_map(|n| Atom::parse(&format!("n({n})")).unwrap()),
            (0..4_i32).prop_map(|n| Atom::parse(&format!("line({n},\"it's \\\"{n}\\\"\\n\")")).unwrap()),
            Just(Atom::parse("flag").unwrap()),
        ]
    }

    fn change() -> impl Strategy<Value = Change> {
        let scope = prop_oneof![Just(Scope::Session), Just(Scope::Shared), Just(Scope::Kb)];
        (scope, any::<bool>(), fact()).prop_map(|(scope, add, fact)| Change { scope, op: if add { Op::Add } else { Op::Del }, fact })
    }

    fn command() -> impl Strategy<Value = Command> {
        let key = || (0..2_usize, 0..3_usize);
        let off = prop_oneof![
            8 => Just(Off::Nothing),
            1 => (-1..=2_i8).prop_map(Off::Turn),
            1 => (-1..=1_i8).prop_map(Off::Epoch),
            1 => (-1..=1_i8).prop_map(Off::Kb),
            1 => (-1..=1_i8).prop_map(Off::Shared),
        ];
        let request = proptest::option::weighted(0.3, 0..4_u8);
        let turn = (key(), 0..2_usize, prop::collection::vec(change(), 0..6), any::<bool>(), off, request, any::<Option<bool>>(), prop::bool::weighted(0.1));
        prop_oneof![
            1 => (0..2_usize, prop::collection::vec(fact(), 0..4)).prop_map(|(site, facts)| Command::Install { site, facts }),
            1 => (0..2_usize, prop::collection::vec(fact(), 0..4)).prop_map(|(site, facts)| Command::Rebase { site, facts }),
            1 => (key(), prop::collection::vec(fact(), 0..3)).prop_map(|(key, handed_over)| Command::Close { key, handed_over }),
            1 => Just(Command::Reopen),
            16 => turn.prop_map(|(key, role, changes, ended, off, request, reads, late)| {
                Command::Turn(Taken { key, role, changes, ended, off, request, reads, late })
            }),
        ]
    }

    fn key_of((site, session): (usize, usize)) -> SessionKey {
        SessionKey::new(SITES[site], &format!("s{session}"))
    }

    fn shifted(n: u64, by: i8) -> u64 {
        n.saturating_add_signed(by.into())
    }

    fn sent(store: &dyn Store, t: &Taken, at: i64) -> Result<TurnCommit, String> {
        let key = key_of(t.key);
        let opened = store.open(&key, ROLES[t.role]).map_err(|e| format!("{e:?}"))?;
        let mut turn = opened.turn(at);
        (turn.changes, turn.ended, turn.record) = (t.changes.clone(), t.ended, format!("{{\"at\":{at}}}"));
        turn.request = t.request.map(|r| format!("r{r}"));
        let revision = store.begin(&key, ROLES[t.role], None).map_err(|e| format!("{e:?}"))?.revision;
        turn.read =
            t.reads.map(|pending| Revision { pending: revision.pending.filter(|_| pending), last_one: revision.last_one.filter(|_| pending), ..revision });
        match t.off {
            Off::Nothing => {}
            Off::Turn(by) => turn.turn = shifted(turn.turn, by),
            Off::Epoch(by) => turn.epoch = shifted(turn.epoch, by),
            Off::Kb(by) => turn.kb_version = shifted(turn.kb_version, by),
            Off::Shared(by) => turn.read = turn.read.map(|r| Revision { shared: shifted(r.shared, by), ..r }),
        }
        Ok(turn)
    }

    /// What the store answers, command by command.
    struct Run<'a> {
        store: Box<dyn Store>,
        reopen: Box<dyn Fn() -> Option<Box<dyn Store>> + 'a>,
        waiting: Vec<TurnCommit>,
    }

    impl Run<'_> {
        fn step(&mut self, command: &Command, at: i64) -> String {
            let store = &*self.store;
            match command {
                Command::Install { site, facts } => format!("{:?}", store.install(SITES[*site], facts, at)),
                Command::Rebase { site, facts } => format!("{:?}", store.rebase(SITES[*site], facts, at)),
                Command::Close { key, handed_over } => {
                    let changes: Vec<Change> = handed_over.iter().map(|f| Change::add(Scope::Kb, f.clone())).collect();
                    format!("{:?}", store.close(&key_of(*key), at, &changes, None))
                }
                Command::Reopen => {
                    if let Some(again) = (self.reopen)() {
                        self.store = again;
                    }
                    String::new()
                }
                Command::Turn(t) => match sent(store, t, at) {
                    Err(e) => e,
                    Ok(turn) if t.late => {
                        self.waiting.push(turn);
                        String::new()
                    }
                    Ok(turn) => {
                        let read = store.begin(&turn.key, &turn.role, None).unwrap();
                        let committed = store.commit(&turn);
                        let mut answers = format!("{committed:?}");
                        let after = match committed {
                            Ok(Committed::Done(receipt)) => read.after(&turn, receipt),
                            _ => None,
                        };
                        if let Some(after) = after {
                            assert_eq!(after, store.begin(&turn.key, &turn.role, None).unwrap(), "what its writer knows is what would be read");
                        }
                        for late in self.waiting.drain(..) {
                            answers += &format!(" then {:?}", store.commit(&late));
                        }
                        answers
                    }
                },
            }
        }

        /// Everything a reader can see.
        fn seen(&self) -> String {
            let store = &*self.store;
            let mut all = format!("{:?}", store.sites());
            for site in SITES {
                let head = store.kb_head(site).unwrap_or_default();
                all += &format!("{head} {:?} {:?}", store.kb_facts(site), store.pending(site));
                all += &(0..=head + 1).map(|v| format!("{:?}", store.kb(site, v))).collect::<String>();
                all += &format!("{:?} {:?} {:?} {:?}", store.shared(site), store.sessions(site), store.log(site, 0, 1000), store.log(site, 3, 2));
                for session in 0..3 {
                    let key = SessionKey::new(site, &format!("s{session}"));
                    all += &format!("{:?} {:?} {:?}", store.open(&key, "customer"), store.turns(&key, None), store.turns(&key, Some(2)));
                    all += &format!("{:?} {:?}", store.session_facts(&key, 1), store.begin(&key, "customer", Some("r1")));
                    all += &format!("{:?} {:?}", store.last_turn(&key, 1), store.last_turn(&key, 9));
                    all += &[Scope::Kb, Scope::Shared, Scope::Session].map(|s| format!("{:?}", store.facts(s, &key))).concat();
                }
            }
            all
        }
    }

    fn rule(at_quit: bool) -> CommitRule {
        if at_quit { CommitRule::AtManagersQuit } else { CommitRule::WhenNoSessionIsOpen }
    }

    /// Few cases by default; `PROPTEST_CASES` asks for more.
    fn config() -> ProptestConfig {
        let more = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok());
        ProptestConfig { cases: more.unwrap_or(48), failure_persistence: None, ..ProptestConfig::default() }
    }

    proptest! {
        #![proptest_config(config())]

        #[test]
        fn memory_and_sqlite_agree_and_their_logs_tell_the_truth(at_quit in any::<bool>(), commands in prop::collection::vec(command(), 1..60)) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.db");
            let file = || -> Box<dyn Store> {
                // A cache of one version makes every other reading come from the file.
                let options = SqliteOptions { rule: rule(at_quit), kb_cache: 1, ..SqliteOptions::default() };
                Box::new(SqliteStore::open(&path, options).unwrap())
            };
            let mut sqlite = Run { store: file(), reopen: Box::new(|| Some(file())), waiting: vec![] };
            let mut memory = Run { store: Box::new(MemoryStore::new(rule(at_quit))), reopen: Box::new(|| None), waiting: vec![] };
            for site in SITES {
                let install = Command::Install { site: SITES.iter().position(|s| *s == site).unwrap(), facts: vec![Atom::parse("flag").unwrap()] };
                prop_assert_eq!(sqlite.step(&install, 0), memory.step(&install, 0));
            }
            for (at, command) in (1..).zip(&commands) {
                prop_assert_eq!(sqlite.step(command, at), memory.step(command, at), "{:?}", command);
            }
            prop_assert_eq!(sqlite.seen(), memory.seen());
            for site in SITES {
                prop_assert_eq!(verify_log(&*sqlite.store, site).unwrap(), vec![]);
                prop_assert_eq!(verify_log(&*memory.store, site).unwrap(), vec![]);
                prop_assert_eq!(fold_log(&*sqlite.store, site).unwrap(), fold_log(&*memory.store, site).unwrap());
            }
        }

        #[test]
        fn memory_and_a_server_agree_and_their_logs_tell_the_truth(at_quit in any::<bool>(), commands in prop::collection::vec(command(), 1..40)) {
            // Nothing to compare with, if there is no server.
            let Some(schema) = Schema::fresh() else { return Ok(()) };
            let open = || -> Box<dyn Store> {
                let options = PostgresOptions { rule: rule(at_quit), kb_cache: 1, ..PostgresOptions::default() };
                Box::new(PostgresStore::connect(&schema.address, options).unwrap())
            };
            let mut server = Run { store: open(), reopen: Box::new(|| Some(open())), waiting: vec![] };
            let mut memory = Run { store: Box::new(MemoryStore::new(rule(at_quit))), reopen: Box::new(|| None), waiting: vec![] };
            for site in 0..SITES.len() {
                let install = Command::Install { site, facts: vec![Atom::parse("flag").unwrap()] };
                prop_assert_eq!(server.step(&install, 0), memory.step(&install, 0));
            }
            for (at, command) in (1..).zip(&commands) {
                prop_assert_eq!(server.step(command, at), memory.step(command, at), "{:?}", command);
            }
            prop_assert_eq!(server.seen(), memory.seen());
            for site in SITES {
                prop_assert_eq!(verify_log(&*server.store, site).unwrap(), vec![]);
            }
        }

        #[test]
        fn no_kb_moves_while_a_session_is_open_and_every_session_keeps_its_version(commands in prop::collection::vec(command(), 1..60)) {
            let store = MemoryStore::new(CommitRule::WhenNoSessionIsOpen);
            for site in SITES {
                let _ = store.install(site, &[], 0).unwrap();
            }
            let mut run = Run { store: Box::new(store), reopen: Box::new(|| None), waiting: vec![] };
            for (at, command) in (1..).zip(commands) {
                // One turn at a time: a late one may open a session in the same step in which another moved the kb.
                let command = if let Command::Turn(t) = command { Command::Turn(Taken { late: false, ..t }) } else { command };
                let before: Vec<_> = SITES.iter().map(|s| run.store.kb_head(s).unwrap()).collect();
                run.step(&command, at);
                for (site, head) in SITES.iter().zip(before) {
                    let sessions = run.store.sessions(site).unwrap();
                    let any_open = sessions.iter().any(|s| s.ended_at.is_none());
                    prop_assert!(run.store.kb_head(site).unwrap() == head || !any_open, "{command:?} moved the kb of {site}");
                    prop_assert!(run.store.pending(site).unwrap().is_empty() || any_open, "{command:?} left changes lying in {site}");
                }
            }
        }

        #[test]
        fn the_order_of_a_turns_changes_does_not_matter(changes in prop::collection::vec(change(), 0..12), seed in any::<u64>()) {
            let folder = tempfile::tempdir().unwrap();
            let mut shuffled = changes.clone();
            for i in (1..shuffled.len()).rev() {
                shuffled.swap(i, (seed >> (i % 60)) as usize % (i + 1));
            }
            let seen = [changes, shuffled].map(|changes| {
                let store = sqlite(&folder.path().join("a.db"), CommitRule::default());
                let site = format!("site {}", store.sites().unwrap().len());
                let _ = store.install(&site, &[], 0).unwrap();
                let key = SessionKey::new(&site, "s");
                for (ended, changes) in [(false, changes.clone()), (true, changes)] {
                    let turn = TurnCommit { changes, ended, ..store.open(&key, "manager").unwrap().turn(1) };
                    assert!(matches!(store.commit(&turn), Ok(Committed::Done(_))));
                }
                format!("{:?} {:?} {:?} {:?}", store.log(&site, 0, 9), store.session_facts(&key, 1), store.shared(&site), store.kb_facts(&site))
            });
            prop_assert_eq!(&seen[0], &seen[1]);
        }
    }
}
