//! One suite that every store passes: what sessions, kb versions and shared facts promise.

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
#[cfg(all(test, feature = "postgres"))]
#[path = "store/server.rs"]
mod server;

use std::sync::Arc;

use common::*;
use duologue::facts::change::Change;
use duologue::facts::{
    CommitRule, Committed, Installed, MemoryStore, Overtaken, Pruned, Revision, SessionKey, SqliteOptions, SqliteStore, Store, StoreError, TurnCommit,
    open_store, verify_log,
};
use duologue::ontology::Scope;
use duologue::term::{Atom, Term};

const PAPER: CommitRule = CommitRule::WhenNoSessionIsOpen;

fn read(store: &dyn Store, session: &str, role: &str) -> Revision {
    store.begin(&key(session), role, None).unwrap().revision
}

fn begun(store: &dyn Store) {
    assert_eq!(store.install(SITE, &atoms(&["dish(\"Soup\")", "dish(\"Pie\")", "price(\"Pie\",300)"]), 1), Ok(Installed::New));
}

#[test]
fn a_site_begins_once_and_tells_when_its_files_changed() {
    on_all(PAPER, |store| {
        assert_eq!(store.kb_head(SITE), Err(StoreError::UnknownSite(SITE.into())));
        assert_eq!(store.open(&key("c"), "customer").unwrap_err(), StoreError::UnknownSite(SITE.into()));
        begun(store);
        let shuffled = atoms(&["price(\"Pie\",300)", "dish(\"Pie\")", "dish(\"Soup\")", "dish(\"Soup\")"]);
        assert_eq!(store.install(SITE, &shuffled, 2), Ok(Installed::Same));
        assert_eq!(store.install(SITE, &atoms(&["dish(\"Soup\")", "dish(\"Tea\")"]), 2), Ok(Installed::Differs(store.kb(SITE, 0).unwrap().to_vec())));
        assert_eq!(kb(store, 0), ["dish(\"Pie\")", "dish(\"Soup\")", "price(\"Pie\",300)"]);
        assert_eq!(&*store.kb_facts(SITE).unwrap()[0].provenance.role, "domain");
    });
}

#[test]
fn changed_files_come_in_as_a_version_and_leave_the_managers_changes() {
    on_all(PAPER, |store| {
        begun(store);
        quit(store, "m", "manager", &["add kb dish(\"Cake\")", "del kb dish(\"Soup\")"]);
        take(store, "c", "customer", &[]);
        let files = atoms(&["dish(\"Soup\")", "dish(\"Pie\")", "price(\"Pie\",350)"]);
        assert!(!store.rebase(SITE, &files, 5).unwrap().kb_changed);
        assert_eq!(store.install(SITE, &files, 6), Ok(Installed::Same));
        assert_eq!(store.kb_head(SITE), Ok(1));
        assert!(quit(store, "c", "customer", &[]).kb_changed);
        assert_eq!(kb(store, 2), ["dish(\"Cake\")", "dish(\"Pie\")", "price(\"Pie\",350)"]);
        assert!(!store.rebase(SITE, &files, 7).unwrap().kb_changed);
    });
}

#[test]
fn a_session_goes_on_with_its_facts_and_their_provenance() {
    on_all(PAPER, |store| {
        begun(store);
        assert_eq!(store.open(&key("c"), "customer").unwrap().turn, 0);
        assert_eq!(store.sessions(SITE).unwrap(), [], "a session begins with its first turn, not when somebody looks");
        take(store, "c", "customer", &["add session line(2,\"Pie\")", "add session line(10,\"Soup\")"]);
        take(store, "c", "customer", &["del session line(2,\"Pie\")", "add session line(10,\"Soup\")", "add session z"]);
        let opened = store.open(&key("c"), "customer").unwrap();
        assert_eq!((opened.epoch, opened.turn, opened.kb_version), (1, 2, 0));
        let facts: Vec<_> = opened.facts.iter().map(|f| (f.atom.to_string(), f.provenance.turn, &*f.provenance.role)).collect();
        assert_eq!(facts, [("line(10,\"Soup\")".into(), 1, "customer"), ("z".into(), 2, "customer")]);
        assert_eq!(store.facts(Scope::Session, &key("c")).unwrap(), opened.facts);
    });
}

#[test]
fn facts_come_in_the_order_of_terms() {
    on_all(PAPER, |store| {
        begun(store);
        take(store, "c", "customer", &["add session n(10)", "add session n(9)", "add session n(-1)", "add session n(\"9\")", "add session n(a)"]);
        assert_eq!(own(store, "c", "customer"), ["n(-1)", "n(9)", "n(10)", "n(a)", "n(\"9\")"]);
    });
}

#[test]
fn after_its_end_an_id_starts_afresh() {
    on_all(PAPER, |store| {
        begun(store);
        take(store, "c", "customer", &["add session a"]);
        quit(store, "c", "customer", &["add session status(placed)"]);
        let opened = store.open(&key("c"), "manager").unwrap();
        assert_eq!((opened.epoch, opened.turn, opened.facts.len()), (2, 0, 0));
        assert_eq!(store.facts(Scope::Session, &key("c")).unwrap(), []);
        assert_eq!(store.session_facts(&key("c"), 1).unwrap().len(), 2, "what was placed stays readable");
        take(store, "c", "manager", &["add session b"]);
        let sessions: Vec<_> = store.sessions(SITE).unwrap().into_iter().map(|s| (s.epoch, s.role.to_string(), s.turn, s.ended_at)).collect();
        assert_eq!(sessions, [(1, "customer".into(), 2, Some(1000)), (2, "manager".into(), 1, None)]);
        let turns = |epoch| store.turns(&key("c"), epoch).unwrap().len();
        assert_eq!((turns(Some(1)), turns(Some(2)), turns(None)), (2, 1, 3));
        let last = |epoch| store.last_turn(&key("c"), epoch).unwrap().map(|e| e.seq);
        assert_eq!((last(1), last(2), last(3)), (Some(3), Some(4), None));
    });
}

#[test]
fn an_open_session_belongs_to_its_role() {
    on_all(PAPER, |store| {
        begun(store);
        let early = turn(store, "c", "manager", &[]);
        take(store, "c", "customer", &[]);
        let refused = Err(StoreError::OtherRole { session: "c".into(), holder: "customer".into(), asked: "manager".into() });
        assert_eq!(store.open(&key("c"), "manager").map(|_| ()), refused);
        assert_eq!(store.commit(&early).map(|_| ()), refused);
    });
}

#[test]
fn a_stale_turn_is_refused_and_changes_nothing() {
    on_all(PAPER, |store| {
        begun(store);
        let (a, b) = (turn(store, "c", "customer", &["add session a"]), turn(store, "c", "customer", &["add session b"]));
        done(store.commit(&a));
        let stale = |overtaken| Err(StoreError::Stale { session: "c".into(), overtaken });
        assert_eq!(store.commit(&b), stale(Overtaken::Turn { given: 1, next: 2 }));
        assert_eq!(store.commit(&TurnCommit { turn: 3, ..b.clone() }), stale(Overtaken::Turn { given: 3, next: 2 }));
        assert_eq!(store.commit(&TurnCommit { turn: 2, epoch: 2, ..b.clone() }), stale(Overtaken::Epoch { given: 2, current: 1 }));
        assert_eq!(store.commit(&TurnCommit { turn: 2, kb_version: 1, ..b }), stale(Overtaken::Kb { given: 1, current: 0 }));
        assert_eq!(own(store, "c", "customer"), ["a"]);
        assert_eq!(store.log(SITE, 0, 100).unwrap().len(), 2);
        let late = turn(store, "c", "customer", &[]);
        quit(store, "c", "customer", &[]);
        assert_eq!(store.commit(&late), stale(Overtaken::Epoch { given: 1, current: 2 }));
    });
}

#[test]
fn a_turn_decided_on_old_shared_facts_can_ask_to_be_refused() {
    on_all(PAPER, |store| {
        begun(store);
        let last_one = |session| TurnCommit { read: Some(read(store, session, "customer")), ..turn(store, session, "customer", &["add shared sold(\"Pie\")"]) };
        let (a, b) = (last_one("a"), last_one("b"));
        done(store.commit(&a));
        let overtaken = Overtaken::Shared { given: 0, current: 1 };
        assert_eq!(store.commit(&b), Err(StoreError::Stale { session: "b".into(), overtaken }));
        assert!(store.commit(&b).unwrap_err().is_stale());
        assert_eq!(take(store, "a", "customer", &["add shared sold(\"Pie\")"]).shared_revision, 1, "nothing new, no revision");
        done(store.commit(&last_one("b")));
    });
}

#[test]
fn what_a_turn_reads_is_of_one_moment() {
    on_all(PAPER, |store| {
        begun(store);
        let nothing = store.begin(&key("c"), "customer", None).unwrap();
        assert_eq!((nothing.opened.turn, nothing.last, nothing.pending.len()), (0, None, 0));
        take(store, "c", "customer", &["add session line(1,\"Pie\")", "add shared runout(\"Beans\")"]);
        take(store, "m", "manager", &["add kb dish(\"Cake\")"]);
        quit(store, "b", "manager", &["del kb dish(\"Soup\")"]);
        let now = store.begin(&key("c"), "customer", Some("r")).unwrap();
        assert_eq!(now.opened, store.open(&key("c"), "customer").unwrap());
        assert_eq!((now.revision.shared, now.shared), store.shared(SITE).unwrap());
        assert_eq!((now.last, now.answered), (store.last_turn(&key("c"), 1).unwrap(), None));
        assert_eq!(now.pending, store.pending(SITE).unwrap());
        let pending: Vec<_> = now.pending.iter().map(|c| (c.change.to_string(), c.by.session.to_string(), c.handed_over)).collect();
        let expected = [("del kb dish(\"Soup\")".into(), "b".into(), true), ("add kb dish(\"Cake\")".into(), "m".into(), false)];
        assert_eq!(pending, expected, "handed over comes first");
        assert_eq!(store.begin(&key("c"), "manager", None).unwrap_err().code(), "store::other_role");
        quit(store, "c", "customer", &[]);
        assert_eq!(store.begin(&key("c"), "manager", None).unwrap().last, None, "the id's next life begins with nothing said");
    });
}

#[test]
fn a_turn_decided_on_other_collected_changes_is_stale() {
    on_all(PAPER, |store| {
        begun(store);
        take(store, "c", "customer", &[]);
        let add = |session| TurnCommit { read: Some(read(store, session, "manager")), ..turn(store, session, "manager", &["add kb dish(\"Cake\")"]) };
        let overtaken = |session: &str| Err(StoreError::Stale { session: session.into(), overtaken: Overtaken::Pending });
        let (a, b) = (add("a"), add("b"));
        done(store.commit(&a));
        assert_eq!(store.commit(&b), overtaken("b"), "collected by an open session");
        let b = add("b");
        quit(store, "a", "manager", &[]);
        assert_eq!(store.commit(&b), overtaken("b"), "handed over");
        let b = add("b");
        quit(store, "c", "customer", &[]);
        assert_eq!(store.commit(&b).unwrap_err().code(), "store::stale", "made a version");
        let (a, b) = (add("a"), add("b"));
        done(store.commit(&a));
        let blind = TurnCommit { read: b.read.map(|r| Revision { pending: None, last_one: None, ..r }), ..b };
        done(store.commit(&blind));
    });
}

#[test]
fn shared_facts_are_seen_by_every_session_of_the_site_at_once() {
    on_all(PAPER, |store| {
        begun(store);
        take(store, "c", "customer", &[]);
        take(store, "m", "manager", &["add shared runout(\"Beans\")"]);
        assert_eq!(shared(store), ["runout(\"Beans\")"]);
        let fact = &store.shared(SITE).unwrap().1[0];
        assert_eq!((&*fact.provenance.role, &*fact.provenance.session, fact.provenance.turn, fact.provenance.at), ("manager", "m", 1, 1000));
        take(store, "n", "manager", &["del shared runout(\"Beans\")"]);
        assert!(shared(store).is_empty());
    });
}

#[test]
fn the_kb_moves_when_no_session_of_either_role_is_open() {
    on_all(PAPER, |store| {
        begun(store);
        take(store, "c", "customer", &[]);
        assert!(!quit(store, "m", "manager", &["add kb dish(\"Cake\")", "del kb dish(\"Soup\")"]).kb_changed);
        assert_eq!(handed_over(store), ["del kb dish(\"Soup\")", "add kb dish(\"Cake\")"]);
        assert!(!quit(store, "n", "manager", &["add kb dish(\"Soup\")"]).kb_changed);
        assert_eq!(store.open(&key("d"), "customer").unwrap().kb_version, 0, "not visible before it is committed");
        let last = quit(store, "c", "customer", &[]);
        assert_eq!((last.kb_changed, last.kb_head), (true, 1));
        assert_eq!(kb(store, 0), ["dish(\"Pie\")", "dish(\"Soup\")", "price(\"Pie\",300)"]);
        assert_eq!(kb(store, 1), ["dish(\"Cake\")", "dish(\"Pie\")", "dish(\"Soup\")", "price(\"Pie\",300)"]);
        assert_eq!(store.pending(SITE).unwrap(), []);
        assert_eq!(store.open(&key("d"), "customer").unwrap().kb_version, 1);
        assert_eq!(store.kb(SITE, 2), Err(StoreError::UnknownVersion { site: SITE.into(), version: 2, head: 1 }));
        let cake = store.kb_facts(SITE).unwrap().into_iter().find(|f| f.atom.to_string() == "dish(\"Cake\")").unwrap();
        assert_eq!((&*cake.provenance.session, cake.provenance.turn), ("m", 1));
    });
}

#[test]
fn a_manager_alone_commits_at_quit_and_an_unfinished_one_not_at_all() {
    on_all(PAPER, |store| {
        begun(store);
        take(store, "m", "manager", &["add kb dish(\"Cake\")"]);
        take(store, "n", "manager", &["add kb dish(\"Tea\")"]);
        assert_eq!(handed_over(store), [""; 0], "collected is not yet handed over");
        assert!(!quit(store, "m", "manager", &["del kb dish(\"Pie\")"]).kb_changed);
        assert!(store.close(&key("n"), 9, &[], None).unwrap().unwrap().kb_changed, "the abandoned session was the last one open");
        assert_eq!(store.close(&key("n"), 9, &[], None), Ok(None));
        assert_eq!(kb(store, 1), ["dish(\"Cake\")", "dish(\"Soup\")", "price(\"Pie\",300)"]);
    });
}

#[test]
fn what_a_session_takes_back_is_no_change_of_its_own() {
    on_all(PAPER, |store| {
        begun(store);
        let collected = || store.pending(SITE).unwrap().into_iter().map(|c| c.change.to_string()).collect::<Vec<_>>();
        take(store, "a", "manager", &["del kb dish(\"Soup\")", "add kb dish(\"Cake\")", "add kb dish(\"Pie\")"]);
        take(store, "a", "manager", &["del kb dish(\"Soup\")", "del kb dish(\"Cake\")"]);
        assert_eq!(collected(), ["del kb dish(\"Soup\")"], "said twice, taken back, and no change at all");
        take(store, "b", "manager", &["del kb dish(\"Soup\")", "add kb dish(\"Cake\")"]);
        take(store, "a", "manager", &["add kb dish(\"Soup\")", "del kb dish(\"Pie\")"]);
        assert_eq!(collected(), ["del kb dish(\"Pie\")", "del kb dish(\"Soup\")", "add kb dish(\"Cake\")"]);
        take(store, "a", "manager", &["add kb dish(\"Pie\")"]);
        quit(store, "b", "manager", &[]);
        take(store, "a", "manager", &["del kb dish(\"Cake\")"]);
        assert_eq!(collected().last().unwrap(), "del kb dish(\"Cake\")", "what was handed over counts as there");
        take(store, "a", "manager", &["add kb dish(\"Cake\")"]);
        assert!(quit(store, "a", "manager", &[]).kb_changed);
        assert_eq!(kb(store, 1), ["dish(\"Cake\")", "dish(\"Pie\")", "price(\"Pie\",300)"], "b's changes stand although a ended later");
        take(store, "a", "manager", &["add kb dish(\"Tea\")"]);
        assert!(!quit(store, "a", "manager", &["del kb dish(\"Tea\")"]).kb_changed);
        assert!(!store.log(SITE, 0, 100).unwrap().last().unwrap().applied, "nothing was left to apply");
    });
}

#[test]
fn a_turn_knows_whether_its_end_would_make_a_version() {
    on_all(PAPER, |store| {
        begun(store);
        let last_one = |session, role| store.begin(&key(session), role, None).unwrap().last_one;
        assert!(last_one("m", "manager"));
        take(store, "m", "manager", &["add kb dish(\"Cake\")"]);
        assert!(last_one("m", "manager") && !last_one("c", "customer"));
        let end = || TurnCommit { read: Some(read(store, "m", "manager")), ended: true, ..turn(store, "m", "manager", &[]) };
        let alone = end();
        take(store, "c", "customer", &[]);
        let overtaken = Err(StoreError::Stale { session: "m".into(), overtaken: Overtaken::Others });
        assert_eq!(store.commit(&alone), overtaken, "it would make no version now");
        let one_of_two = end();
        quit(store, "c", "customer", &[]);
        assert_eq!(store.commit(&one_of_two), overtaken, "it would make one now");
        assert!(done(store.commit(&end())).kb_changed);
    });
    on_all(CommitRule::AtManagersQuit, |store| {
        begun(store);
        take(store, "c", "customer", &[]);
        assert!(store.begin(&key("m"), "manager", None).unwrap().last_one);
    });
}

#[test]
fn changes_that_change_nothing_make_no_version() {
    on_all(PAPER, |store| {
        begun(store);
        assert!(!quit(store, "m", "manager", &["add kb dish(\"Pie\")", "del kb dish(\"Tea\")"]).kb_changed);
        assert_eq!((store.kb_head(SITE), store.pending(SITE)), (Ok(0), Ok(vec![])));
    });
}

#[test]
fn by_configuration_the_kb_moves_at_the_managers_quit_for_later_sessions() {
    on_all(CommitRule::AtManagersQuit, |store| {
        begun(store);
        take(store, "c", "customer", &[]);
        assert!(quit(store, "m", "manager", &["add kb dish(\"Cake\")"]).kb_changed);
        assert_eq!(store.open(&key("c"), "customer").unwrap().kb_version, 0);
        assert_eq!(store.open(&key("d"), "customer").unwrap().kb_version, 1);
        take(store, "c", "customer", &[]);
        take(store, "d", "customer", &[]);
    });
}

#[test]
fn a_first_turn_decided_before_the_kb_moved_is_stale() {
    on_all(PAPER, |store| {
        begun(store);
        let early = turn(store, "c", "customer", &[]);
        quit(store, "m", "manager", &["add kb dish(\"Cake\")"]);
        let overtaken = Overtaken::Kb { given: 0, current: 1 };
        assert_eq!(store.commit(&early), Err(StoreError::Stale { session: "c".into(), overtaken }));
        take(store, "c", "customer", &[]);
    });
}

#[test]
fn a_request_sent_twice_is_taken_once() {
    on_all(PAPER, |store| {
        begun(store);
        let sent = TurnCommit { request: Some("r1".into()), ended: true, ..turn(store, "c", "customer", &["add session a"]) };
        done(store.commit(&sent));
        let Ok(Committed::Before(entry)) = store.commit(&sent) else { panic!("taken twice") };
        assert_eq!((entry.seq, entry.turn().unwrap().record.as_str()), (2, "{\"turn\":1}"));
        let again = TurnCommit { request: Some("r1".into()), ..turn(store, "c", "customer", &[]) };
        assert_eq!(store.commit(&again), Ok(Committed::Before(entry.clone())), "also in the id's next life");
        let answered = |session, request| store.begin(&key(session), "customer", Some(request)).unwrap().answered;
        assert_eq!((answered("c", "r1"), answered("d", "r1"), answered("c", "r2")), (Some(entry.clone()), None, None));
        take(store, "c", "manager", &[]);
        assert_eq!(answered("c", "r1"), Some(entry), "whoever speaks in the session now");
        assert_eq!(store.log(SITE, 0, 100).unwrap().len(), 3);
    });
}

#[test]
fn sites_see_nothing_of_each_other() {
    on_all(PAPER, |store| {
        begun(store);
        let other = SessionKey::new("elm street", "c");
        let _ = store.install(&other.site, &atoms(&["dish(\"Tea\")"]), 1).unwrap();
        take(store, "c", "customer", &["add session secret", "add shared runout(\"Beans\")"]);
        let opened = store.open(&other, "manager").unwrap();
        assert_eq!((opened.turn, opened.facts.len(), store.shared(&other.site).unwrap()), (0, 0, (0, vec![])));
        let mut quit_there = opened.turn(5);
        (quit_there.ended, quit_there.changes) = (true, vec!["del kb dish(\"Pie\")".parse().unwrap(), "add kb dish(\"Jam\")".parse().unwrap()]);
        quit_there.request = Some("r".into());
        assert!(done(store.commit(&quit_there)).kb_changed, "a session that is open elsewhere holds nothing up");
        assert_eq!((store.kb_head(SITE), store.kb_head(&other.site)), (Ok(0), Ok(1)));
        assert_eq!(kb(store, 0).len(), 3);
        assert_eq!(store.begin(&key("c"), "customer", Some("r")).unwrap().answered, None);
        assert_eq!((store.sessions(SITE).unwrap().len(), store.log(SITE, 0, 100).unwrap().len()), (1, 2));
        assert_eq!(store.close(&SessionKey::new("elm street", "c"), 9, &[], None), Ok(None));
        assert_eq!(store.sites().unwrap(), ["elm street".into(), SITE.into()]);
    });
}

#[test]
fn names_and_facts_that_could_not_be_read_back_are_refused() {
    on_all(PAPER, |store| {
        begun(store);
        for bad in ["", "a\nb", &"x".repeat(300)] {
            assert_eq!(store.open(&key(bad), "customer").unwrap_err().code(), "store::bad_name");
            assert_eq!(store.install(bad, &[], 0).unwrap_err().code(), "store::bad_name");
        }
        let deep = (0..20).fold(Term::Int(1), |t, _| Term::Fun("f".into(), vec![t]));
        for fact in [Atom::new("p", vec![deep]), Atom::new("", vec![]), Atom::new("P", vec![]), Atom::new("a b", vec![])] {
            let bad = TurnCommit { changes: vec![Change::add(Scope::Session, fact)], ..turn(store, "c", "customer", &[]) };
            assert_eq!(store.commit(&bad).unwrap_err().code(), "store::bad_fact");
        }
        let huge = TurnCommit { record: "x".repeat((16 << 20) + 1), ..turn(store, "c", "customer", &[]) };
        assert_eq!(store.commit(&huge).unwrap_err().code(), "store::too_large");
        take(store, "'; DROP TABLE log; --", "customer", &["add session said(\"'); DELETE FROM log; -- \\\"\\n%_\")"]);
        assert_eq!(own(store, "'; DROP TABLE log; --", "customer"), ["said(\"'); DELETE FROM log; -- \\\"\\n%_\")"]);
    });
}

#[test]
fn a_file_opened_again_goes_on_exactly_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let first = sqlite(&path, PAPER);
    begun(&first);
    take(&first, "c", "customer", &["add session a"]);
    quit(&first, "m", "manager", &["add kb dish(\"Cake\")", "add shared runout(\"Beans\")"]);
    let before = (first.open(&key("c"), "customer"), first.shared(SITE), first.pending(SITE), first.sessions(SITE), first.log(SITE, 0, 99));
    drop(first);
    let again = open_store(&path.display().to_string(), PAPER).unwrap();
    let after = (again.open(&key("c"), "customer"), again.shared(SITE), again.pending(SITE), again.sessions(SITE), again.log(SITE, 0, 99));
    assert_eq!(before, after);
    assert!(quit(&*again, "c", "customer", &[]).kb_changed);
    assert_eq!(duologue::facts::verify_log(&*again, SITE).unwrap(), []);
}

/// Several writers, each with a store of its own, as several processes have.
fn side_by_side(open: &(dyn Fn() -> Arc<dyn Store> + Sync)) {
    begun(&*open());
    std::thread::scope(|scope| {
        for writer in 0..4 {
            scope.spawn(move || {
                let store = open();
                let mut taken = 0;
                while taken < 50 {
                    let session = if taken % 2 == 0 { "both".to_owned() } else { format!("own {writer}") };
                    match store.commit(&turn(&*store, &session, "customer", &[&format!("add session said({writer},{taken})")])) {
                        Ok(Committed::Done(_)) => taken += 1,
                        Err(e) if e.is_stale() => {}
                        other => panic!("{other:?}"),
                    }
                }
            });
        }
    });
    let store = open();
    assert_eq!(own(&*store, "both", "customer").len(), 100);
    assert_eq!(store.open(&key("both"), "customer").unwrap().turn, 100);
    assert_eq!(store.log(SITE, 0, usize::MAX).unwrap().len(), 201);
    assert_eq!(duologue::facts::verify_log(&*store, SITE).unwrap(), []);
}

#[test]
fn two_stores_on_one_file_take_every_turn_once_and_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    side_by_side(&|| Arc::new(sqlite(&path, PAPER)));
}

#[test]
fn a_log_taken_over_makes_the_same_store_anywhere() {
    let source = duologue::facts::MemoryStore::new(CommitRule::AtManagersQuit);
    begun(&source);
    take(&source, "c", "customer", &["add session a", "add shared runout(\"Beans\")"]);
    quit(&source, "m", "manager", &["add kb dish(\"Cake\")", "del kb dish(\"Soup\")"]);
    take(&source, "n", "manager", &["add kb dish(\"Tea\")"]);
    source.close(&key("n"), 9, &[], None).unwrap();
    source.rebase(SITE, &atoms(&["dish(\"Soup\")", "dish(\"Jam\")"]), 10).unwrap();
    done(source.commit(&TurnCommit { request: Some("r".into()), ended: true, ..turn(&source, "c", "customer", &["del session a"]) }));
    take(&source, "c", "customer", &["add session b"]);
    let log = source.log(SITE, 0, usize::MAX).unwrap();
    // The versions are made where they were made, whatever rule the other store has.
    on_all(PAPER, |store| {
        assert_eq!(store.restore(SITE, &log[1..]).unwrap_err().code(), "store::not_next");
        store.restore(SITE, &log[..3]).unwrap();
        assert_eq!(store.restore(SITE, &log[4..]).unwrap_err().code(), "store::not_next");
        store.restore(SITE, &log[3..]).unwrap();
        assert_eq!(store.log(SITE, 0, usize::MAX).unwrap(), log);
        assert_eq!((store.kb_facts(SITE), store.sessions(SITE)), (source.kb_facts(SITE), source.sessions(SITE)));
        let answered = |store: &dyn Store| store.begin(&key("c"), "customer", Some("r")).unwrap().answered;
        assert_eq!(answered(store), answered(&source));
        take(store, "c", "customer", &["add session c"]);
    });
}

#[test]
fn the_check_finds_a_table_that_left_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let store = sqlite(&path, PAPER);
    begun(&store);
    take(&store, "c", "customer", &["add session a", "add shared runout(\"Beans\")"]);
    quit(&store, "m", "manager", &["add kb dish(\"Cake\")"]);
    assert_eq!(duologue::facts::verify_log(&store, SITE).unwrap(), []);
    let spoils = [
        "UPDATE session_fact SET fact = 'b'",
        "DELETE FROM shared_fact",
        "UPDATE kb_fact SET until = 1 WHERE fact = 'dish(\"Pie\")'",
        "UPDATE session SET turn = 7 WHERE session = 'c'",
        "DELETE FROM kb_staged",
        "UPDATE site SET kb_head = 1",
        "DELETE FROM log WHERE seq = 2",
        "UPDATE log SET changes = 'add session c' WHERE seq = 2",
        "UPDATE log SET turn = 5 WHERE seq = 2",
    ];
    for spoil in spoils {
        let copy = folder.path().join("copy.db");
        let _ = std::fs::remove_file(&copy);
        rusqlite::Connection::open(&path).unwrap().execute("VACUUM INTO ?1", [copy.display().to_string()]).unwrap();
        assert!(rusqlite::Connection::open(&copy).unwrap().execute(spoil, []).unwrap() > 0);
        let spoilt = sqlite(&copy, PAPER);
        let found = duologue::facts::verify_log(&spoilt, SITE).unwrap();
        assert!(!found.is_empty(), "{spoil}");
        assert!(found[0].to_string().starts_with("site `main street`: "), "{}", found[0]);
    }
}

#[cfg(test)]
mod files {
    //! Files that cannot serve, each refused by name with a remedy and left as it was.

    use super::*;

    fn refused(path: &std::path::Path) -> StoreError {
        let error = SqliteStore::open(path, SqliteOptions::default()).and_then(|s| s.sites()).expect_err("it serves");
        assert!(!error.help().is_empty() && !error.to_string().ends_with('.') && !error.to_string().starts_with(char::is_uppercase), "{error}");
        error
    }

    #[test]
    fn no_database() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.txt");
        let text = "this is a text of some length, but it is no database at all, however long one reads it, line by line by line";
        std::fs::write(&path, text).unwrap();
        assert_eq!(refused(&path), StoreError::NotADatabase(path.display().to_string()));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }

    #[test]
    fn another_programs_database() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("other.db");
        rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE mine (x)").unwrap();
        let before = std::fs::read(&path).unwrap();
        assert_eq!(refused(&path), StoreError::Foreign(path.display().to_string()));
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }

    #[test]
    fn a_later_schema() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        drop(sqlite(&path, PAPER));
        rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
        assert_eq!(refused(&path), StoreError::NewerSchema { file: path.display().to_string(), found: 99, known: 1 });
    }

    #[test]
    fn a_missing_folder_and_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("no/such/a.db");
        assert_eq!(refused(&path), StoreError::MissingFolder(folder.path().join("no/such").display().to_string()));
        assert_eq!(refused(folder.path()).code(), "store::cannot_open");
    }

    #[test]
    fn a_file_that_may_not_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        drop(sqlite(&path, PAPER));
        let mut rights = std::fs::metadata(&path).unwrap().permissions();
        rights.set_readonly(true);
        std::fs::set_permissions(&path, rights).unwrap();
        // An administrator may write every file, whatever its rights say.
        if std::fs::OpenOptions::new().write(true).open(&path).is_err() {
            assert_eq!(refused(&path), StoreError::ReadOnly(path.display().to_string()));
        }
    }

    #[test]
    fn an_empty_file_is_a_new_store() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        std::fs::write(&path, "").unwrap();
        begun(&sqlite(&path, PAPER));
    }

    #[test]
    fn a_damaged_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let store = sqlite(&path, PAPER);
        begun(&store);
        for _ in 0..200 {
            take(&store, "c", "customer", &[]);
        }
        drop(store);
        let mut bytes = std::fs::read(&path).unwrap();
        for page in bytes.chunks_mut(4096).skip(1) {
            page[..64].fill(0xa5);
        }
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(refused(&path).code(), "store::corrupt");
        let store = SqliteStore::open(&path, SqliteOptions::default()).unwrap();
        assert_eq!(store.integrity().unwrap_err().code(), "store::corrupt");
        assert_eq!(store.open(&key("c"), "customer").unwrap_err().code(), "store::corrupt");
    }

    #[test]
    fn a_truncated_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        drop(sqlite(&path, PAPER));
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        assert_eq!(refused(&path).code(), "store::corrupt");
    }

    #[test]
    fn a_file_that_somebody_holds() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let options = SqliteOptions { busy_timeout: std::time::Duration::from_millis(50), ..SqliteOptions::default() };
        let store = SqliteStore::open(&path, options).unwrap();
        begun(&store);
        let holder = rusqlite::Connection::open(&path).unwrap();
        holder.execute_batch("BEGIN IMMEDIATE").unwrap();
        let waiting = turn(&store, "c", "customer", &["add session a"]);
        assert_eq!(store.commit(&waiting), Err(StoreError::Busy { file: path.display().to_string(), waited_ms: 50 }));
        holder.execute_batch("ROLLBACK").unwrap();
        done(store.commit(&waiting));
    }
}

#[test]
fn what_ended_long_ago_is_forgotten_and_the_log_still_tells_the_rest() {
    on_all(CommitRule::AtManagersQuit, |store| {
        begun(store);
        take(store, "c", "customer", &["add session line(1,\"Pie\")"]);
        quit(store, "c", "customer", &["add shared runout(\"Pie\")", "add session line(2,\"Soup\")"]);
        quit(store, "m", "manager", &["add kb dish(\"Cake\")"]);
        take(store, "open", "customer", &["add session line(1,\"Tea\")"]);
        let (kb_before, shared_before, log_before) = (kb(store, 1), shared(store), store.log(SITE, 0, 100).unwrap());
        assert_eq!(store.prune(SITE, 1000), Ok(Pruned::default()), "they ended at 1000, not before");
        assert_eq!(store.prune(SITE, 1001), Ok(Pruned { sessions: 2, turns: 3 }));
        assert_eq!(store.prune(SITE, 1001), Ok(Pruned::default()), "once is enough");
        assert_eq!((kb(store, 1), shared(store), own(store, "open", "customer").len()), (kb_before, shared_before, 1));
        assert_eq!(store.session_facts(&key("c"), 1), Ok(vec![]));
        let log = store.log(SITE, 0, 100).unwrap();
        let changes: Vec<_> = log[1..].iter().map(|e| e.changes.iter().map(ToString::to_string).collect::<Vec<_>>()).collect();
        assert_eq!(
            changes,
            [vec![], vec!["add shared runout(\"Pie\")".to_owned()], vec!["add kb dish(\"Cake\")".to_owned()], vec!["add session line(1,\"Tea\")".to_owned()]]
        );
        // Who kept the log of before can show that it is this one's.
        for (then, now) in log_before[1..4].iter().zip(&log[1..4]) {
            let now = &now.turn().unwrap().record;
            assert!(now.starts_with("{\"pruned\":\"sha256 ") && !now.contains("Soup"), "{now}");
            assert_eq!(*now, duologue::facts::prune::kept(SITE, then).unwrap().0.record);
        }
        assert_eq!(verify_log(store, SITE), Ok(vec![]));
        // A copy of it is as good.
        let copy = MemoryStore::new(CommitRule::AtManagersQuit);
        copy.restore(SITE, &log).unwrap();
        assert_eq!((copy.log(SITE, 0, 100), shared(&copy)), (Ok(log), shared(store)));
    });
}
