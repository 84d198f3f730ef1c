//! `duologue why`: ask a store about any turn it ever took; the same questions as in `chat`.

use std::fmt::Write;
use std::sync::Arc;

use serde_json::{Value, json};

use super::common::{Failure, Place, join, split_atoms};
use crate::facts::{self, SessionKey};
use crate::ontology::Scope;
use crate::term::Atom;
use crate::turn::replay::Replay;
use crate::turn::what_if::WhatIf;
use crate::turn::{Act, Decided, Engine, Options, TurnRecord};

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
    let site = a.place.site(a.site.as_deref(), &domain);
    let sessions = store.sessions(&site)?;
    if sessions.is_empty() {
        let sites = store.sites()?.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        return Err(Failure::Other(format!("nobody spoke at the site `{site}`; the store has: {sites}")));
    }
    let mut entries = vec![];
    loop {
        let more = store.log(&site, entries.last().map_or(0, |e: &facts::Entry| e.seq), 500)?;
        if more.is_empty() {
            break;
        }
        entries.extend(more);
    }
    let newest = |id: &str| sessions.iter().rfind(|s| &*s.session == id).map(|s| s.epoch);
    let last = entries.iter().rev().find_map(|e| e.turn()).map(|t| t.session.to_string()).unwrap_or_default();
    let session = a.session.clone().unwrap_or(last);
    let Some(epoch) = newest(&session) else {
        let known = sessions.iter().map(|s| &*s.session).collect::<std::collections::BTreeSet<_>>();
        return Err(Failure::Other(format!("there is no session `{session}`; the site has: {}", known.into_iter().collect::<Vec<_>>().join(", "))));
    };
    let asked = |e: &&facts::Entry| e.turn().is_some_and(|t| *t.session == *session && t.epoch == epoch && a.turn.is_none_or(|n| t.turn == n));
    let Some(asked) = entries.iter().rfind(asked).map(|e| e.seq) else {
        let turns = sessions.iter().rfind(|s| *s.session == *session).map_or(0, |s| s.turn);
        return Err(Failure::Other(format!("the session `{session}` took {turns} turns")));
    };
    let options = Options { remember: true, explain: a.json, ..a.place.options() };
    let mut again = Replay::new(&domain, &site, a.place.rule(), options);
    let mut taken = None;
    for entry in entries.iter().take_while(|e| e.seq <= asked) {
        taken = again.take(entry).map_err(|e| Failure::Other(e.to_string()))?.or(taken);
    }
    let Some(taken) = taken else { return Ok(false) };
    if !taken.agrees() {
        println!("(the rules have changed since: this turn is decided differently today; `duologue replay {}` shows it)", a.place.store);
    }
    let is = taken.is.map_err(|e| Failure::Other(e.to_string()))?;
    let (engine, key) = (again.engine(), SessionKey::new(&site, &session));
    if let (Some(predicates), true) = (&a.r#if, a.json) {
        let answer = match engine.what_if(&key, &is.role, &split_atoms(predicates)).map_err(|e| Failure::Other(e.to_string()))? {
            WhatIf::Said { record, .. } => told(&record, engine),
            WhatIf::Earlier { role, changes, gone, come, text } => {
                json!({ "said_before_by": role, "changes": changes, "gone": gone, "come": come, "text": text })
            }
        };
        println!("{answer}");
        return Ok(true);
    }
    if let (Some(atom), true) = (&a.not, a.json) {
        println!("{}", json!({ "not": atom, "because": why_not(engine, &key, atom).map_err(Failure::Other)?.lines().collect::<Vec<_>>() }));
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

fn told(record: &TurnRecord, engine: &Engine) -> Value {
    json!({ "turn": record.turn, "role": record.role, "predicates": record.predicates, "actions": record.actions, "effects": record.effects,
        "refused": record.refused, "text": record.text, "state": engine.domain().ontology.view.shown(&record.view), "why": record.why })
}

/// Why the last decision of a session has its actions: each in a sentence, or those that hold `which` as whole proofs.
pub fn because(engine: &Engine, key: &SessionKey, which: &str) -> Result<String, String> {
    let rounds = decided(engine, key)?;
    let mut out = String::new();
    for decided in &rounds {
        let told = |a: &Atom| engine.told_by(decided, a);
        for act in decided.acts.iter().filter(|act| which.is_empty() || act.action.to_string().contains(which)) {
            let Some(proof) = decided.outcome.why(&act.shown()) else { continue };
            let _ = match which {
                "" => writeln!(out, "{}\n  {}{}", act.action, proof.sentence(&told), together(engine, decided, act)),
                _ => write!(out, "{}", proof.tree(&told)),
            };
        }
    }
    let acts: Vec<Act> = rounds.iter().flat_map(|d| d.acts.iter().cloned()).collect();
    if out.is_empty() { Err(format!("the last reply has no action `{which}`; its actions are {}", actions(&acts))) } else { Ok(out) }
}

/// The decisions of the session's last turn, round by round.
fn decided(engine: &Engine, key: &SessionKey) -> Result<Vec<Arc<Decided>>, String> {
    let rounds = engine.rounds_decided(key);
    if rounds.is_empty() { Err("nothing was decided in this lane yet".to_owned()) } else { Ok(rounds) }
}

/// Which requests do not go together, where the action refuses one.
fn together(engine: &Engine, decided: &Decided, act: &Act) -> String {
    let together = engine.takes_all_of(decided, act);
    if together.is_empty() {
        return String::new();
    }
    let all: Vec<String> = together.iter().map(ToString::to_string).collect();
    let more = if engine.whatever_else(decided, act, &together) { ", whatever else is said" } else { "" };
    format!("\n  it takes {} together{more}; without any one of them this reply would not be given", all.join(" and "))
}

fn actions(acts: &[Act]) -> String {
    join(&acts.iter().map(|a| a.action.clone()).collect::<Vec<_>>())
}

/// What kept the rules from deriving an action or any other atom in the last decision of a session.
pub fn why_not(engine: &Engine, key: &SessionKey, text: &str) -> Result<String, String> {
    let rounds = decided(engine, key)?;
    if text.is_empty() {
        return Err("say what did not come about, such as /whynot recommend(_,\"Bean Burrito\"); _ stands for anything".to_owned());
    }
    let mut out = String::new();
    for (n, decided) in rounds.iter().enumerate() {
        if rounds.len() > 1 {
            let _ = writeln!(out, "{}:", if n == 0 { "when it was said" } else { "when the call had come back" });
        }
        out.push_str(&engine.why_not(decided, text)?.text(&|a: &Atom| engine.told_by(decided, a)));
    }
    Ok(out)
}

/// What a turn would come to, decided on a copy of the facts and thrown away.
pub fn what_if(engine: &Engine, key: &SessionKey, role: &str, text: &str) -> Result<String, String> {
    let mut out = String::new();
    let _ = match engine.what_if(key, role, &split_atoms(text)).map_err(|e| e.to_string())? {
        WhatIf::Said { record, before } => said(&mut out, engine, &record, &before),
        WhatIf::Earlier { role, changes, gone, come, text } => {
            let changes = if changes.is_empty() { "it changes nothing".to_owned() } else { changes.join("; ") };
            let same = gone.is_empty() && come.is_empty();
            let lines = gone.iter().map(|a| format!("  - {a}\n")).chain(come.iter().map(|a| format!("  + {a}\n"))).collect::<String>();
            let then = if same { "  the reply would have been the same\n".to_owned() } else { format!("{lines}  it would have said: {text}\n") };
            write!(out, "if {role} had said so before your last turn ({changes}):\n{then}")
        }
    };
    out.push_str("  (nothing was changed)\n");
    Ok(out)
}

fn said(out: &mut String, engine: &Engine, record: &TurnRecord, before: &[Atom]) -> std::fmt::Result {
    writeln!(out, "it would say: {}\n  actions: {}", record.text, join(&record.actions))?;
    let lines = |view: &[Atom]| engine.domain().ontology.view.text(view).unwrap_or_else(|e| vec![e.to_string()]);
    let (was, is) = (lines(before), lines(&record.view));
    for line in was.iter().filter(|l| !is.contains(l)) {
        writeln!(out, "  - {line}")?;
    }
    for line in is.iter().filter(|l| !was.contains(l)) {
        writeln!(out, "  + {line}")?;
    }
    for call in record.under_way() {
        writeln!(out, "  it would call {} with {}", call.function, json!(call.inputs))?;
    }
    for effect in record.effects.iter().filter(|e| e.scope != Scope::Session) {
        writeln!(out, "  for everybody: {effect}")?;
    }
    record.ended.as_ref().map_or(Ok(()), |end| writeln!(out, "  the conversation would end: {end}"))
}
