//! A turn on a file stays well below a millisecond (`cargo test --release --test store_bench -- --ignored --nocapture`).

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
mod tests {
    use duologue::facts::bench::{Load, measure};
    use duologue::facts::{MemoryStore, SqliteOptions, SqliteStore};

    #[test]
    fn the_measure_takes_every_turn() {
        let load = Load { sites: 2, sessions: 3, turns: 60, kb_facts: 20, record_bytes: 10 };
        let measured = measure(&MemoryStore::default(), load).unwrap();
        assert!(measured.turn.p50 > 0.0 && measured.turn.p50 <= measured.turn.max && measured.turns_per_second > 0.0);
    }

    #[test]
    #[ignore = "measures: needs a release build and a quiet machine"]
    fn a_turn_on_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("a.db"), SqliteOptions::default()).unwrap();
        let measured = measure(&store, Load::default()).unwrap();
        println!("{measured:#?}");
        assert!(measured.turn.p50 < 500.0, "{measured:?}");
    }
}
