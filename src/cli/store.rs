//! `duologue store`: what an operator does to a store: end abandoned sessions, forget old ones, bring in changed files, copy, compare.

use std::sync::Arc;

use super::common::{Failure, Place};
use crate::facts::{self, CommitRule, Receipt, SessionKey, Store, verify_log};
use crate::term::Atom;
use crate::turn::Engine;

/// Arguments of `store`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  duologue store close --store shop.db --session c1\n  duologue store close --store shop.db --idle 120\n  duologue store rebase --store shop.db --domain drive_thru\n  duologue store copy shop.db postgres://db.example/duologue\n  duologue store prune --store shop.db --days 90\n  duologue store check --store shop.db"
)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// End open sessions from outside: their changes of the kb that were never finished are dropped, the log keeps all.
    Close {
        #[command(flatten)]
        place: Place,
        /// The site.
        #[arg(long, default_value = "main")]
        site: String,
        /// The session to end.
        #[arg(long, required_unless_present = "idle")]
        session: Option<String>,
        /// Or every session that has been silent for so many minutes.
        #[arg(long, value_name = "MINUTES", conflicts_with = "session")]
        idle: Option<u32>,
    },
    /// Bring what changed in the domain's files into a site that was begun before; what managers changed stays.
    Rebase {
        #[command(flatten)]
        place: Place,
        /// The site.
        #[arg(long, default_value = "main")]
        site: String,
    },
    /// Copy every site of a store into another one, such as a file into PostgreSQL or back, entry by entry, and compare them.
    Copy {
        /// The store to copy, as --store names it elsewhere; nobody should talk to it meanwhile.
        from: String,
        /// The store to copy into. What it has of the same logs already is not copied again.
        to: String,
    },
    /// Forget what conversations said that ended long ago: their words, records and own facts. What they changed for others stays, with a SHA-256
    /// of each record that went; then the tables are compared with the log.
    Prune {
        #[command(flatten)]
        place: Place,
        /// The site; otherwise all of the store.
        #[arg(long)]
        site: Option<String>,
        /// Those that ended more than so many days ago. `close` ends abandoned ones.
        #[arg(long)]
        days: u32,
    },
    /// Compare the tables with a fold of the log.
    Check {
        #[command(flatten)]
        place: Place,
    },
}

/// Does it; the answer tells whether there was something to do, or for `check` whether all is sound.
pub fn run(a: &Arguments) -> Result<bool, Failure> {
    match &a.what {
        What::Close { place, site, session, idle } => close(place, site, session.as_deref(), *idle),
        What::Rebase { place, site } => rebase(place, site),
        What::Copy { from, to } => copy(&*open_at(from, CommitRule::default())?, &*facts::open_store(to, CommitRule::default())?),
        What::Prune { place, site, days } => prune(place, site.as_deref(), *days),
        What::Check { place } => check(&*open(place)?),
    }
}

fn open(place: &Place) -> Result<Arc<dyn Store>, Failure> {
    open_at(&place.store, place.rule())
}

/// The store, which must be there: an operator who mistypes a name is not given an empty one.
fn open_at(place: &str, rule: CommitRule) -> Result<Arc<dyn Store>, Failure> {
    if !facts::is_address(place) && !std::path::Path::new(place).exists() {
        return Err(Failure::Other(format!("there is no store `{place}`: name its file, or an address such as postgres://host/database")));
    }
    Ok(facts::open_store(place, rule)?)
}

/// Log entries copied in one transaction.
const PAGE: usize = 500;

/// Copies every site's log; the tables follow from it.
fn copy(from: &dyn Store, to: &dyn Store) -> Result<bool, Failure> {
    let there = to.sites()?;
    for site in from.sites()? {
        let mut after = 0;
        if there.contains(&site) {
            // A copy that broke off goes on, if what is there is the beginning of the same log.
            loop {
                let (new, old) = (from.log(&site, after, PAGE)?, to.log(&site, after, PAGE)?);
                let Some(last) = old.last() else { break };
                if new.get(..old.len()) != Some(old.as_slice()) {
                    let why = "its log is another one; copy into a store that does not know the site";
                    return Err(Failure::Other(format!("the site `{site}` is in both stores: {why}")));
                }
                after = last.seq;
            }
        }
        let mut copied = 0;
        loop {
            let page = from.log(&site, after, PAGE)?;
            let Some(last) = page.last() else { break };
            to.restore(&site, &page)?;
            (after, copied) = (last.seq, copied + page.len());
        }
        println!("{site}: {copied} entries copied, {after} in all");
    }
    check(to)
}

fn close(place: &Place, site: &str, session: Option<&str>, idle: Option<u32>) -> Result<bool, Failure> {
    let store = open(place)?;
    let engine = Engine::new(place.load()?, store.clone()).with_options(place.options());
    let now = place.options().clock.now();
    let mut closed = 0;
    for s in store.sessions(site)?.into_iter().filter(|s| s.ended_at.is_none()) {
        let key = SessionKey::new(site, &s.session);
        let meant = match (session, idle) {
            (Some(name), _) => *s.session == *name,
            (None, Some(minutes)) => {
                let last = store.last_turn(&key, s.epoch)?.map_or(s.opened_at, |e| e.at);
                now.saturating_sub(last) >= i64::from(minutes) * 60_000
            }
            (None, None) => false,
        };
        if meant && let Some((receipt, refused)) = engine.close(&key, &s.role, now).map_err(Failure::told)? {
            closed += 1;
            for r in refused {
                println!("{site}: left out of the kb: {} (by {})", r.change, r.session);
            }
            println!("{site} {} #{} ended after {} turns{}", s.session, s.epoch, s.turn, version(&receipt));
        }
    }
    if closed == 0 {
        println!("no open session to end");
    }
    Ok(closed > 0)
}

fn rebase(place: &Place, site: &str) -> Result<bool, Failure> {
    let store = open(place)?;
    let domain = place.load()?;
    if !store.sites()?.iter().any(|s| **s == *site) {
        return Err(Failure::Other(format!("the store has no site `{site}`")));
    }
    // What the site settled for itself stays, unless something else is settled now.
    let has: Vec<Atom> = store.kb_facts(site)?.into_iter().map(|f| f.atom).collect();
    let files = domain.ontology.with_settings(&domain.facts, &domain.settled, &has);
    let now = place.options().clock.now();
    let broken = Engine::new(domain, store.clone()).breaks(site, &files, now).map_err(Failure::told)?;
    if !broken.is_empty() {
        let broken: Vec<String> = broken.iter().map(|a| format!("\n  {a}")).collect();
        let why = "the domain's files and what managers changed do not go together, so nothing was brought in";
        return Err(Failure::Other(format!("{site}: {why}:{}\nMend the files, or let a manager take back what is in their way.", broken.concat())));
    }
    let receipt = store.rebase(site, &files, now)?;
    let changes = store.log(site, receipt.seq.saturating_sub(1), 1)?.first().map_or(0, |e| e.changes.len());
    match (changes, receipt.kb_changed) {
        (0, _) => println!("{site}: the domain's files say what they said before"),
        (n, true) => println!("{site}: {n} changes brought in{}", version(&receipt)),
        (n, false) => println!("{site}: {n} changes wait until no session is open; `duologue store close` ends abandoned ones"),
    }
    Ok(true)
}

fn prune(place: &Place, site: Option<&str>, days: u32) -> Result<bool, Failure> {
    let store = open(place)?;
    let before = place.options().clock.now().saturating_sub(i64::from(days) * 86_400_000);
    for name in store.sites()?.iter().filter(|name| site.is_none_or(|s| *s == ***name)) {
        let pruned = store.prune(name, before)?;
        println!("{name}: {} turns of {} conversations forgotten", pruned.turns, pruned.sessions);
    }
    check(&*store)
}

/// Compares every site's tables with a fold of its log.
pub fn check(store: &dyn Store) -> Result<bool, Failure> {
    store.integrity()?;
    let mut sound = true;
    for site in store.sites()? {
        let differences = verify_log(store, &site)?;
        sound &= differences.is_empty();
        println!("{site}: {}", if differences.is_empty() { "the log and the tables agree".to_owned() } else { format!("{} differences", differences.len()) });
        for d in differences {
            println!("  {d}");
        }
    }
    Ok(sound)
}

fn version(receipt: &Receipt) -> String {
    if receipt.kb_changed { format!("; the kb is at version {} now", receipt.kb_head) } else { String::new() }
}
