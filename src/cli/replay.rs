//! `duologue replay`: decides every turn of a store's log again, on fresh memory, and compares.

use super::common::{Failure, Place};
use crate::diag::Source;
use crate::facts;
use crate::reason::reproduce;
use crate::turn::TurnRecord;
use crate::turn::replay::{Replay, Taken};

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
        let mut again = Replay::new(&domain, &site, a.place.rule(), a.place.options());
        let mut after = 0;
        loop {
            let entries = store.log(&site, after, 500)?;
            let Some(last) = entries.last() else { break };
            after = last.seq;
            for entry in &entries {
                let Some(taken) = again.take(entry).map_err(Failure::told)? else { continue };
                turns += 1;
                let same = taken.agrees();
                different += u64::from(!same);
                if !same || a.all {
                    print(&taken, if same { "same" } else { "DIFFERENT" });
                }
            }
        }
    }
    println!("{turns} turns replayed, {different} different");
    Ok(different == 0)
}

fn print(taken: &Taken, verdict: &str) {
    let Taken { was, is } = taken;
    println!("{} {} #{} turn {}: {verdict}", was.site, was.session, was.epoch, was.turn);
    println!("  said {}", was.arrived_text());
    println!("  was  {}", told(was));
    match is {
        Ok(is) => println!("  is   {}", told(is)),
        Err(e) => println!("  is   error: {e}"),
    }
}

/// The actions, then the changes and the text, of which one at least differs where two turns with the same actions do.
fn told(r: &TurnRecord) -> String {
    let actions = r.actions.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let effects = r.effects.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    format!("{actions} | {effects} | {}", r.text)
}

/// Decides a reproducer by both engines.
fn reproduce(path: &str) -> Result<bool, Failure> {
    let text = std::fs::read_to_string(path).map_err(|e| Failure::Other(format!("{path}: {e}")))?;
    let replayed = reproduce::replay(&Source::new(path, &text)).map_err(Failure::told)?;
    print!("{}", replayed.text());
    Ok(replayed.agrees())
}
