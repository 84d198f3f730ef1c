//! `duologue why`: ask a store about any turn it ever took; the same questions as in `chat`.

use super::common::{Failure, Place};
use crate::facts::{self, SessionKey, Store};
use crate::turn::Options;
use crate::turn::answers::{because, told, what_if, what_if_shown, why_not, why_not_shown};
use crate::turn::replay::again;

/// Arguments of `why`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  duologue why --store shop.db --session c1\n  duologue why --store shop.db --session c1 --turn 3 unavailable\n  duologue why --store shop.db --session c1 --not 'recommend(category,\"Bean Burrito\")'\n  duologue why --store shop.db --session c1 --turn 3 --if 'order(\"Pepsi\",1)'\n\nThe log is decided again up to the turn asked about, so the answer is the one the turn had, with every fact as it was then."
)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    /// The site; otherwise `main`, and of a flow the one that bears its name.
    #[arg(long)]
    site: Option<String>,
    /// The session; without it the one that spoke last.
    #[arg(long)]
    session: Option<String>,
    /// The turn, counted from 1 in the session's newest life; without it the last one.
    #[arg(long)]
    turn: Option<u64>,
    /// Actions with these words: their whole proofs, with file and line. Without it each action in a sentence.
    action: Option<String>,
    /// What kept the rules from deriving this.
    #[arg(long = "not", value_name = "ATOM", conflicts_with_all = ["action", "if"])]
    not: Option<String>,
    /// What these predicates would have come to as the session's next turn.
    #[arg(long = "if", value_name = "PREDICATES", conflicts_with = "action")]
    r#if: Option<String>,
    /// As JSON; without a question the turn with all its proofs.
    #[arg(long, conflicts_with = "action")]
    json: bool,
}

/// Answers the question.
pub fn run(a: &Arguments) -> Result<bool, Failure> {
    if !std::path::Path::new(&a.place.store).exists() {
        return Err(Failure::Other(format!("there is no store `{}`: name the file of a conversation with --store", a.place.store)));
    }
    let store = facts::open_store(&a.place.store, a.place.rule())?;
    let domain = a.place.load()?;
    let site = a.place.site_in(a.site.as_deref(), &domain, &*store)?;
    let sessions = store.sessions(&site)?;
    if sessions.is_empty() {
        let sites = store.sites()?.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        return Err(Failure::Other(format!("nobody spoke at the site `{site}`; the store has: {sites}")));
    }
    let session = match &a.session {
        Some(session) => session.clone(),
        None => spoke_last(&*store, &site, &sessions)?,
    };
    let Some(epoch) = sessions.iter().rfind(|s| *s.session == *session).map(|s| s.epoch) else {
        let known = sessions.iter().map(|s| &*s.session).collect::<std::collections::BTreeSet<_>>();
        return Err(Failure::Other(format!("there is no session `{session}`; the site has: {}", known.into_iter().collect::<Vec<_>>().join(", "))));
    };
    let turns = store.turns(&SessionKey::new(&site, &session), None)?;
    let asked = |e: &&facts::Entry| e.turn().is_some_and(|t| t.epoch == epoch && a.turn.is_none_or(|n| t.turn == n));
    let Some(asked) = turns.iter().rfind(asked) else {
        let turns = sessions.iter().rfind(|s| *s.session == *session).map_or(0, |s| s.turn);
        return Err(Failure::Other(format!("the session `{session}` took {turns} turns")));
    };
    let options = Options { remember: true, explain: a.json, ..a.place.options() };
    let (replay, taken) = again(&domain, &*store, &site, asked, a.place.rule(), options).map_err(Failure::told)?;
    if !taken.agrees() {
        println!("(the rules have changed since: this turn is decided differently today; `duologue replay {}` shows it)", a.place.store);
    }
    let is = taken.is.map_err(Failure::told)?;
    let (engine, key) = (replay.engine(), SessionKey::new(&site, &session));
    if let (Some(predicates), true) = (&a.r#if, a.json) {
        println!("{}", what_if_shown(engine, &key, &is.role, predicates).map_err(Failure::told)?);
        return Ok(true);
    }
    if let (Some(atom), true) = (&a.not, a.json) {
        println!("{}", why_not_shown(engine, &key, atom).map_err(Failure::Other)?);
        return Ok(true);
    }
    if a.json {
        println!("{}", told(&is, engine));
        return Ok(true);
    }
    let answer = match (&a.not, &a.r#if) {
        (Some(atom), _) => why_not(engine, &key, atom),
        (_, Some(predicates)) => what_if(engine, &key, &is.role, predicates),
        _ => {
            println!("{} #{epoch}, turn {}, {}: {}", session, is.turn, is.role, is.said.clone().unwrap_or_else(|| is.arrived_text()));
            println!("{}\n", is.text);
            because(engine, &key, a.action.as_deref().unwrap_or_default())
        }
    };
    print!("{}", answer.map_err(Failure::Other)?);
    Ok(true)
}

/// The session of the site's last turn.
fn spoke_last(store: &dyn Store, site: &str, sessions: &[facts::SessionInfo]) -> Result<String, Failure> {
    let mut last: Option<facts::Entry> = None;
    for s in sessions {
        let turn = store.last_turn(&SessionKey::new(site, &s.session), s.epoch)?;
        last = last.into_iter().chain(turn).max_by_key(|e| e.seq);
    }
    Ok(last.as_ref().and_then(|e| e.turn()).map(|t| t.session.to_string()).unwrap_or_default())
}
