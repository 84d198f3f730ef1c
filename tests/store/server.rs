//! What a database that several nodes share has of its own. Without a server (see scripts/with-postgres) nothing is tested here.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use duologue::facts::{PostgresOptions, PostgresStore};

use super::*;

const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn two_nodes_take_every_turn_once_and_in_order() {
    let Some(schema) = Schema::fresh() else { return };
    side_by_side(&|| schema.store(PAPER));
}

#[test]
fn a_node_hears_what_another_one_moved() {
    let Some(schema) = Schema::fresh() else { return };
    let (here, there) = (schema.store(PAPER), schema.store(PAPER));
    begun(&*here);
    let mut moves = here.moves().unwrap();
    let mut heard = None;
    // Until the server was asked, nothing is heard.
    for n in 1..1000 {
        take(&*there, "m", "manager", &[&format!("add shared runout({n})")]);
        std::thread::sleep(Duration::from_millis(20));
        heard = moves.try_recv().ok();
        if heard.is_some() {
            break;
        }
    }
    let heard = heard.unwrap();
    assert_eq!((&*heard.site, heard.kb_head), (SITE, 0));
    assert!(heard.shared_revision <= here.shared(SITE).unwrap().0);
    take(&*there, "m", "manager", &["add session a"]);
    quit(&*there, "m", "manager", &["add kb dish(\"Cake\")"]);
    let until = Instant::now() + PATIENCE;
    while heard.kb_head == 0 && Instant::now() < until {
        if moves.try_recv().is_ok_and(|m| m.kb_head == 1) {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("a new kb version was not heard of");
}

#[test]
fn a_run_out_binds_the_next_turn_of_every_other_node() {
    let Some(schema) = Schema::fresh() else { return };
    let (here, there) = (schema.store(PAPER), schema.store(PAPER));
    begun(&*here);
    for n in 1..=100 {
        let fact = format!("runout({n})");
        let early = TurnCommit { read: Some(read(&*there, "c", "customer")), ..turn(&*there, "c", "customer", &["add session sold"]) };
        take(&*here, "m", "manager", &[&format!("add shared {fact}")]);
        assert!(there.commit(&early).unwrap_err().is_stale(), "decided before the run-out, committed after it");
        assert!(there.begin(&key("c"), "customer", None).unwrap().shared.iter().any(|f| f.atom.to_string() == fact));
    }
}

#[test]
fn a_node_that_freezes_in_a_turn_holds_nobody_up() {
    let Some(schema) = Schema::fresh() else { return };
    let options = || PostgresOptions { patience: Duration::from_millis(400), ..PostgresOptions::default() };
    let delay = Arc::new(AtomicU64::new(0));
    let (freezing, store) = (PostgresStore::connect(&over(&schema.address, &delay), options()).unwrap(), schema.store(PAPER));
    begun(&freezing);
    // A change of the kb is committed statement by statement, so the site is held while the next one is on its way.
    let half_done = turn(&freezing, "m", "manager", &["add kb dish(\"Cake\")", "add session a"]);
    delay.store(800, Ordering::SeqCst);
    std::thread::scope(|scope| {
        let late = scope.spawn(|| freezing.commit(&half_done));
        let mut taken = 0;
        while !late.is_finished() {
            match store.commit(&turn(&*store, "c", "customer", &[])) {
                Ok(_) => taken += 1,
                Err(e) => assert_eq!(e.code(), "store::busy", "{e}"),
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(late.join().unwrap().unwrap_err().code(), "store::unreachable");
        assert!(taken > 0);
    });
    delay.store(0, Ordering::SeqCst);
    assert!(own(&*store, "m", "manager").is_empty(), "what it had half done is undone");
    take(&*store, "m", "manager", &["add session b"]);
    let until = Instant::now() + PATIENCE;
    let awake = loop {
        match freezing.commit(&half_done) {
            Err(StoreError::Unreachable { .. }) if Instant::now() < until => std::thread::sleep(Duration::from_millis(50)),
            other => break other,
        }
    };
    assert!(awake.unwrap_err().is_stale(), "awake again, it is behind");
}

#[test]
fn a_store_goes_on_when_its_connections_were_cut() {
    let Some(schema) = Schema::fresh() else { return };
    let store = open_store(&format!("{}&application_name=cut", schema.address), PAPER).unwrap();
    begun(&*store);
    let mut cut = 0;
    for n in 1..=20 {
        let next = turn(&*store, "c", "customer", &[&format!("add session said({n})")]);
        let next = TurnCommit { request: Some(n.to_string()), ..next };
        if n % 5 == 0 {
            run_sql(&schema.address, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'cut'");
            cut += 1;
        }
        // A caller that got no answer sends the same request again.
        let until = Instant::now() + PATIENCE;
        while let Err(e) = store.commit(&next) {
            assert!(e.code() == "store::unreachable" && Instant::now() < until, "{e}");
        }
    }
    assert_eq!((cut, own(&*store, "c", "customer").len(), store.log(SITE, 0, 99).unwrap().len()), (4, 20, 21));
}

/// The same database over a line on which everything takes so many milliseconds, in both directions.
fn over(address: &str, delay: &Arc<AtomicU64>) -> String {
    let folder = address.split("host=").nth(1).unwrap().split('&').next().unwrap();
    let socket = std::path::Path::new(folder).join(".s.PGSQL.5432");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let delay = delay.clone();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (client, server): (TcpStream, _) = (client.unwrap(), UnixStream::connect(&socket).unwrap());
            let (client_too, server_too) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            pump(client.try_clone().unwrap(), server.try_clone().unwrap(), delay.clone(), move || drop(server_too.shutdown(Shutdown::Both)));
            pump(server, client, delay.clone(), move || drop(client_too.shutdown(Shutdown::Both)));
        }
    });
    address.replace(&format!("host={folder}"), &format!("host=127.0.0.1&port={port}&sslmode=disable"))
}

/// Moves what comes from one end to the other, late; an end that is closed closes the other.
fn pump(mut from: impl Read + Send + 'static, mut to: impl Write + Send + 'static, delay: Arc<AtomicU64>, close: impl FnOnce() + Send + 'static) {
    let (late, due) = channel::<(Instant, Vec<u8>)>();
    std::thread::spawn(move || {
        for (at, bytes) in due {
            std::thread::sleep(at.saturating_duration_since(Instant::now()));
            if to.write_all(&bytes).is_err() {
                break;
            }
        }
        close();
    });
    std::thread::spawn(move || {
        let mut buffer = [0; 65536];
        while let Ok(n @ 1..) = from.read(&mut buffer) {
            let at = Instant::now() + Duration::from_millis(delay.load(Ordering::SeqCst));
            if late.send((at, buffer[..n].to_vec())).is_err() {
                return;
            }
        }
    });
}

#[test]
fn a_turn_is_two_round_trips() {
    let Some(schema) = Schema::fresh() else { return };
    let delay = Duration::from_millis(150);
    let address = over(&schema.address, &Arc::new(AtomicU64::new(150)));
    begun(&*schema.store(PAPER));
    let options = PostgresOptions { connections: 1, ..PostgresOptions::default() };
    let store = PostgresStore::connect(&address, options).unwrap();
    let turns = (1..=4).map(|n| {
        let begun = Instant::now();
        let snapshot = store.begin(&key("c"), "customer", Some(&n.to_string())).unwrap();
        let mut turn = snapshot.opened.turn(n);
        (turn.read, turn.request) = (Some(snapshot.revision), Some(n.to_string()));
        turn.changes = vec![format!("add session said({n})").parse().unwrap(), format!("add shared sold({n})").parse().unwrap()];
        done(store.commit(&turn));
        begun.elapsed()
    });
    let fastest = turns.min().unwrap();
    assert!(fastest < delay * 6, "two round trips take {:?} and a little, this took {fastest:?}", delay * 4);
}
