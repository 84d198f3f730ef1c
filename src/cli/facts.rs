//! `duologue facts`: what a store holds, with provenance.

use super::common::{Failure, Place};
use crate::facts::{self, SessionKey};
use crate::ontology::Scope;
use crate::turn::record::provenance_text;

/// Arguments of `facts`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  duologue facts --store shop.db shared\n  duologue facts --store shop.db session --session c1\n  duologue facts --store shop.db --check"
)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    /// Which facts: kb, shared or session. Without it the sites and their sessions are listed.
    scope: Option<String>,
    /// The site; otherwise `main`, and of a flow the one that bears its name.
    #[arg(long)]
    site: Option<String>,
    /// The session.
    #[arg(long, default_value = "")]
    session: String,
    /// Compare the tables with a fold of the log.
    #[arg(long)]
    check: bool,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// Prints facts, sessions, or what a check found.
pub fn run(a: &Arguments) -> Result<bool, Failure> {
    let store = facts::open_store(&a.place.store, a.place.rule())?;
    let domain = a.place.load()?;
    let site = a.place.site_in(a.site.as_deref(), &domain, &*store)?;
    if a.place.store == ":memory:" {
        let _ = store.install(&site, &domain.facts, 0)?;
    }
    if a.check {
        return super::store::check(&*store);
    }
    let key = SessionKey::new(&site, &a.session);
    let Some(scope) = &a.scope else {
        for site in store.sites()? {
            println!("{site} (kb version {})", store.kb_head(&site)?);
            for s in store.sessions(&site)? {
                let end = if s.ended_at.is_some() { "ended" } else { "open" };
                println!("  {} #{} {} {} turns, kb version {}, {end}", s.session, s.epoch, s.role, s.turn, s.kb_version);
            }
        }
        return Ok(true);
    };
    let scope: Scope = scope.parse().map_err(|()| Failure::Other(format!("`{scope}` is no scope: use kb, shared or session")))?;
    for fact in store.facts(scope, &key)? {
        if a.json {
            println!("{}", serde_json::to_string(&fact).unwrap_or_default());
        } else {
            let who = provenance_text(&fact.provenance, &domain.ontology);
            println!("{}.{}", fact.atom, if who.is_empty() { String::new() } else { format!("  % {who}") });
        }
    }
    Ok(true)
}
