//! `duologue why`: why a stored turn was decided so, why not otherwise, and what would be if.

use std::sync::Arc;

use serde_json::json;

use super::common::{Failure, Place};
use crate::facts::{self, Cause, MemoryStore, SessionKey, Store};
use crate::term::Atom;
use crate::turn::ask::WhatIf;
use crate::turn::{Clock, Engine, Options, Said, proofs, record};

/// Arguments of `why`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  duologue why --store shop.db --session c1\n  duologue why --store shop.db --session c1 --turn 3 reject\n  duologue why --store shop.db --session c1 --not 'recommend(_,\"Bean Burrito\")'\n  duologue why --store shop.db --session c1 --if 'restore(\"Tomatoes\")'\n\nThe site's log is decided again up to that turn, so the answer is about exactly the facts of then."
)]
pub struct Arguments {
    /// Only actions whose text contains this, each with its whole proof.
    action: Option<String>,
    #[command(flatten)]
    place: Place,
    /// The site.
    #[arg(long, default_value = "main")]
    site: String,
    /// The session.
    #[arg(long)]
    session: String,
    /// Which of the session's turns; otherwise its last one.
    #[arg(long)]
    turn: Option<u64>,
    /// What did not come about, such as `recommend(_,"Bean Burrito")`; `_` stands for anything.
    #[arg(long, value_name = "ATOM")]
    not: Option<String>,
    /// What would be if this were said then, by this or another role; may be given several times.
    #[arg(long = "if", value_name = "PREDICATE")]
    what_if: Vec<String>,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// Answers the question; the answer tells whether there was something to answer.
pub fn run(a: &Arguments) -> Result<bool, Failure> {
    let Some((engine, key, role)) = decided_again(a)? else {
        return Err(Failure::Other(format!("the store has no such turn of the session `{}` on the site `{}`", a.session, a.site)));
    };
    let Some(decided) = engine.decided(&key) else { return Err(Failure::Other("the turn gave no decision".to_owned())) };
    let told = |atom: &Atom| engine.told_by(&decided, atom);
    if let Some(atom) = &a.not {
        let found = engine.why_not(&decided, atom).map_err(Failure::Other)?;
        print_or(a.json, || json!(found), || found.text(&told));
        return Ok(true);
    }
    if !a.what_if.is_empty() {
        let found = engine.what_if(&key, &role, &a.what_if).map_err(|e| Failure::Other(e.to_string()))?;
        print_or(a.json, || what_if_json(&found), || what_if_text(&found));
        return Ok(true);
    }
    let mut found = false;
    let mut all = vec![];
    for act in &decided.acts {
        let name = act.action.to_string();
        let Some(proof) = decided.outcome.why(&act.shown()).filter(|_| a.action.as_ref().is_none_or(|w| name.contains(w.as_str()))) else { continue };
        found = true;
        let together = engine.takes_all_of(&decided, act);
        if a.json {
            all.push(json!({ "action": name, "sentence": proof.sentence(&told), "takes_all_of": together, "proof": proofs::steps(&Arc::new(proof), &told) }));
        } else if a.action.is_some() {
            print!("{}", proof.tree(&told));
        } else {
            println!("{name}\n  {}", proof.sentence(&told));
            if !together.is_empty() {
                println!("  {}", takes(&together));
            }
        }
    }
    if a.json {
        println!("{}", serde_json::to_string_pretty(&all).unwrap_or_default());
    } else if !found {
        println!("the turn has no such action; without one named, `why` lists them all");
    }
    Ok(found)
}

/// What a refusal of a combination depends on, in words.
pub fn takes(together: &[Atom]) -> String {
    let all: Vec<String> = together.iter().map(ToString::to_string).collect();
    format!("it takes {}: without any one of them this reply would not be given", all.join(" and "))
}

fn print_or(as_json: bool, json: impl FnOnce() -> serde_json::Value, text: impl FnOnce() -> String) {
    if as_json {
        println!("{}", serde_json::to_string_pretty(&json()).unwrap_or_default());
    } else {
        print!("{}", text());
    }
}

fn what_if_json(w: &WhatIf) -> serde_json::Value {
    match w {
        WhatIf::Said { record, before } => {
            json!({ "actions": record.actions, "effects": record.effects, "text": record.text, "before": before, "after": record.state, "ended": record.ended })
        }
        WhatIf::Earlier { role, changes, gone, come, text } => json!({ "said_by": role, "changes": changes, "gone": gone, "come": come, "text": text }),
    }
}

/// What would be different, in words.
pub fn what_if_text(w: &WhatIf) -> String {
    let mut out = Vec::new();
    match w {
        WhatIf::Said { record, before } => {
            out.push(format!("it would say: {}", record.text));
            out.push(format!("  actions: {}", record.actions.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")));
            let (was, is) = (super::chat::state_lines(before), super::chat::state_lines(&record.state));
            out.extend(was.iter().filter(|l| !is.contains(l)).map(|l| format!("  - {l}")));
            out.extend(is.iter().filter(|l| !was.contains(l)).map(|l| format!("  + {l}")));
            out.extend(record.effects.iter().filter(|e| !e.contains(" session ")).map(|e| format!("  for everybody: {e}")));
            out.extend(record.ended.iter().map(|end| format!("  the conversation would end: {end}")));
        }
        WhatIf::Earlier { role, changes, gone, come, text } => {
            let changes = if changes.is_empty() { "it changes nothing".to_owned() } else { changes.join("; ") };
            out.push(format!("if {role} had said so before this turn ({changes}):"));
            if gone.is_empty() && come.is_empty() {
                out.push("  the reply would have been the same".to_owned());
            } else {
                out.extend(gone.iter().map(|a| format!("  - {a}")));
                out.extend(come.iter().map(|a| format!("  + {a}")));
                out.push(format!("  it would have said: {text}"));
            }
        }
    }
    out.push("  (nothing was changed)".to_owned());
    out.iter().map(|l| format!("{l}\n")).collect()
}

/// Decides the site's log again on fresh memory, up to the turn in question.
fn decided_again(a: &Arguments) -> Result<Option<(Engine, SessionKey, String)>, Failure> {
    if a.place.store == ":memory:" || !std::path::Path::new(&a.place.store).exists() {
        return Err(Failure::Other(format!("name the store of the conversation with --store: there is none at `{}`", a.place.store)));
    }
    let store = facts::open_store(&a.place.store, a.place.rule())?;
    let domain = a.place.load()?;
    let (site, session): (crate::term::Name, crate::term::Name) = (a.site.as_str().into(), a.session.as_str().into());
    let mut entries = vec![];
    let mut after = 0;
    loop {
        let more = store.log(&site, after, 500)?;
        let Some(last) = more.last() else { break };
        after = last.seq;
        entries.extend(more);
    }
    let wanted = |cause: &Cause| matches!(cause, Cause::Turn(t) if t.session == session && a.turn.is_none_or(|n| t.turn == n));
    let Some(last) = entries.iter().rposition(|e| wanted(&e.cause)) else { return Ok(None) };
    let fresh: Arc<dyn Store> = Arc::new(MemoryStore::new(a.place.rule()));
    let mut engine = Engine::new(domain, fresh.clone());
    let mut role = String::new();
    for entry in entries.iter().take(last + 1) {
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
                engine = engine.with_options(Options { clock: Clock::Fixed(entry.at), remember: true, ..a.place.options() });
                engine
                    .turn(&SessionKey::new(&site, &turn.session), &turn.role, &Said::Predicates(&old.arrived), None)
                    .map_err(|e| Failure::Other(format!("turn {} of the session `{}` cannot be decided again: {e}", turn.turn, turn.session)))?;
                role = turn.role.to_string();
            }
        }
    }
    Ok(Some((engine, SessionKey::new(&site, &session), role)))
}
