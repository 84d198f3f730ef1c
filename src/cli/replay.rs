//! `duologue replay`: decides every turn of a store's log again, on fresh memory, and compares.

use std::sync::Arc;

use super::common::{Failure, Place};
use crate::diag::Source;
use crate::facts::{self, Cause, MemoryStore, SessionKey, Store};
use crate::reason::reproduce;
use crate::turn::{Clock, Said, TurnRecord, record};

/// Arguments of `replay`.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  duologue replay shop.db\n  duologue replay duologue-disagreement-1.lp")]
pub struct Arguments {
    /// The store whose log is replayed, or the reproducer (.lp) that a disagreement of the engines left.
    log: String,
    #[command(flatten)]
    place: Place,
    /// Print every turn, not only the differing ones.
    #[arg(long)]
    all: bool,
}

/// Replays all sites; the answer tells whether every turn came out the same.
pub fn run(a: &Arguments) -> Result<bool, Failure> {
    if a.log == ":memory:" || !std::path::Path::new(&a.log).exists() {
        return Err(Failure::Other(format!("there is no store `{}`", a.log)));
    }
    if a.log.ends_with(".lp") {
        return reproduce(&a.log);
    }
    let store = facts::open_store(&a.log, a.place.rule())?;
    let domain = a.place.load()?;
    let (mut turns, mut different) = (0u64, 0u64);
    for site in store.sites()? {
        let fresh: Arc<dyn Store> = Arc::new(MemoryStore::new(a.place.rule()));
        let mut after = 0;
        loop {
            let entries = store.log(&site, after, 500)?;
            let Some(last) = entries.last() else { break };
            after = last.seq;
            for entry in &entries {
                match &entry.cause {
                    Cause::Install { .. } => {
                        let initial: Vec<_> = entry.changes.iter().map(|c| c.fact.clone()).collect();
                        let _ = fresh.install(&site, &initial, entry.at)?;
                    }
                    Cause::Rebase { .. } => {}
                    Cause::Close { session, .. } => {
                        fresh.close(&SessionKey::new(&site, session), entry.at)?;
                    }
                    Cause::Turn(turn) => {
                        let old = record::from_entry(entry);
                        let options = crate::turn::Options { clock: Clock::Fixed(entry.at), ..a.place.options() };
                        let engine = a.place.engine_on(&domain, fresh.clone()).with_options(options);
                        let new = engine.turn(&SessionKey::new(&site, &turn.session), &turn.role, &Said::Predicates(&old.arrived), None);
                        turns += 1;
                        let same = new.as_ref().is_ok_and(|n| agrees(&old, n));
                        different += u64::from(!same);
                        if !same || a.all {
                            println!("{site} {} #{} turn {}: {}", turn.session, turn.epoch, turn.turn, if same { "same" } else { "DIFFERENT" });
                            println!("  said {}", old.arrived.join(" "));
                            println!("  was  {}", join(&old));
                            match new {
                                Ok(n) => println!("  is   {}", join(&n)),
                                Err(e) => println!("  is   error: {e}"),
                            }
                        }
                    }
                }
            }
        }
    }
    println!("{turns} turns replayed, {different} different");
    Ok(different == 0)
}

fn agrees(old: &TurnRecord, new: &TurnRecord) -> bool {
    (&old.actions, &old.effects, &old.state, &old.text) == (&new.actions, &new.effects, &new.state, &new.text)
}

fn join(r: &TurnRecord) -> String {
    r.actions.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// Decides a reproducer by both engines.
fn reproduce(path: &str) -> Result<bool, Failure> {
    let text = std::fs::read_to_string(path).map_err(|e| Failure::Other(format!("{path}: {e}")))?;
    let replayed = reproduce::replay(&Source::new(path, &text)).map_err(|e| Failure::Other(e.to_string()))?;
    print!("{}", replayed.text());
    Ok(replayed.agrees())
}
