//! Memory stays flat over many mixed decisions in one process:
//! `DUOLOGUE_TURNS=1000000 cargo test --release --test reason_memory -- --nocapture` prints the curve.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stdout, reason = "a test that cannot go on must fail loudly")]

use std::time::{Duration, Instant};

use duologue::domain::{Domain, Files};
use duologue::reason::bench::after_turns;
use duologue::reason::{Base, Budget, Reasoner, decide};
use duologue::term::Atom;

fn resident() -> Option<u64> {
    let pages: u64 = std::fs::read_to_string("/proc/self/statm").ok()?.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

#[test]
fn memory_is_flat_and_time_does_not_grow() {
    let turns: usize = std::env::var("DUOLOGUE_TURNS").ok().and_then(|n| n.parse().ok()).unwrap_or(6_000);
    let d = Domain::load(&Files::built_in(), "drive_thru").unwrap();
    let said: Vec<Vec<Vec<Atom>>> =
        [vec!["order(\"Soft Taco\",2)"], vec!["order(\"Pepsi\",1)", "completed"], vec!["need_recommend(burrito,category)"], vec!["order(\"Combo A\",1)"]]
            .iter()
            .map(|t| vec![t.iter().map(|p| Atom::parse(p).unwrap()).collect()])
            .collect();
    let mut base = Base::build(&d.rules["customer"], &d.facts, &[]).unwrap();
    let runout = [Atom::parse("runout(\"Tomatoes\")").unwrap()];
    let (mut warm, mut first, mut last) = (0, Duration::ZERO, Duration::ZERO);
    // Clingo takes a hundred times as long as the evaluator, so in a long run it confirms a smaller share.
    let clingo_every = if turns > 50_000 { 200 } else { 20 };
    let mut tenth: Vec<Duration> = vec![];
    for n in 0..turns {
        if n > 0 && n % (turns / 10).max(1) == 0 {
            tenth.sort();
            let at = |p: usize| tenth[(tenth.len() - 1) * p / 100];
            println!("{n} turns: {} KiB resident, decision p50 {:?}, p99 {:?}", resident().unwrap_or_default() / 1024, at(50), at(99));
            tenth.clear();
        }
        if n % 50 == 0 {
            base = if n % 100 == 0 { base.with_change(&runout, &[]).unwrap() } else { base.with_change(&[], &runout).unwrap() };
        }
        let (_, facts) = after_turns(&base, "customer", &said[n % said.len()]).unwrap();
        let how = if n % clingo_every == 0 { Reasoner::Clingo } else { Reasoner::Confirm };
        let start = Instant::now();
        let out = decide(&base, &facts, how, &Budget::default()).unwrap();
        if how == Reasoner::Confirm {
            let took = start.elapsed();
            if n < turns / 2 {
                first += took
            } else {
                last += took
            }
            tenth.push(took);
        }
        drop(out.why_all());
        drop(out);
        if n == turns / 2 {
            warm = resident().unwrap_or_default();
        }
    }
    let grown = resident().unwrap_or_default().saturating_sub(warm);
    assert!(grown < 4 << 20, "{grown} bytes more than halfway");
    assert!(last < first * 2, "{first:?} then {last:?}");
}
