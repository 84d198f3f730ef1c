//! `duologue draw` and `duologue chat --flow`: flows as drawings and as conversations.

use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::common::Failure;
use crate::act::Functions;
use crate::diag::{Severity, Source};
use crate::domain::Files;
use crate::facts::{SessionKey, Store};
use crate::ir::chat::{Chat, ChatError, Reply};
use crate::ir::draw::{Highlight, dot, svg};
use crate::ir::run::Ready;
use crate::ir::{Flow, facts};
use crate::lang::chief;
use crate::llm::BlockingModel;
use crate::reason::Reasoner;
use crate::state::Conversation;
use crate::term::Atom;
use crate::understand::question::{ByModel, ByWords, Judge};

/// Arguments of `draw`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  duologue draw bank_balance            a built-in flow, as DOT\n  duologue draw my_flow.json --svg -o my_flow.svg\n  duologue draw hotel_book --at 3       with node 3 pointed out"
)]
pub struct Arguments {
    /// A flow file, or the name of a built-in flow.
    flow: String,
    /// SVG instead of DOT.
    #[arg(long)]
    svg: bool,
    /// The node where the dialogue stands.
    #[arg(long)]
    at: Option<i32>,
    /// Known slots, as NAME=VALUE.
    #[arg(long = "slot")]
    slots: Vec<String>,
    /// Write to this file instead of the terminal.
    #[arg(short, long)]
    out: Option<PathBuf>,
}

/// Situations that a search visits at most.
const SITUATIONS: usize = 2000;

/// The text of a flow file, or of a built-in flow by its name.
pub fn source(flow: &str) -> Result<Source, Failure> {
    if Path::new(flow).is_file() {
        let bytes = std::fs::read(flow).map_err(|e| Failure::Other(format!("{flow}: {e}")))?;
        return Ok(Source::new(flow, &String::from_utf8_lossy(&bytes)));
    }
    let files = Files::built_in();
    let name = format!("kb/star/flows/{flow}.json");
    match files.read(&name) {
        Some(text) => Ok(Source::new(&name, &text)),
        None => {
            let known: Vec<String> =
                files.list("kb/star/flows/", ".json").iter().filter_map(|n| Some(Path::new(n).file_stem()?.to_string_lossy().into_owned())).collect();
            let near = crate::diag::did_you_mean(flow, known.iter().map(String::as_str));
            let help = near.map_or_else(|| format!("the built-in flows are {}", known.join(", ")), |n| format!("did you mean `{n}`?"));
            Err(Failure::Other(format!("`{flow}` is neither a file nor a built-in flow; {help}")))
        }
    }
}

/// Whether a name is that of a flow: a JSON file, or a built-in flow that no domain shares its name with.
pub fn is_flow(name: &str) -> bool {
    let files = Files::built_in();
    name.ends_with(".json") || !files.domains().contains(&name.to_owned()) && files.read(&format!("kb/star/flows/{name}.json")).is_some()
}

/// Searches a flow for what a speaker could lead it to.
pub fn verify(flow: &str, json: bool) -> Result<bool, Failure> {
    let ready = Ready::new(&facts::rules()?, load(flow)?).map_err(|e| Failure::Other(e.to_string()))?;
    let found = crate::ir::verify::verify(&Arc::new(ready), SITUATIONS).map_err(|e| Failure::Other(e.to_string()))?;
    if json {
        println!("{}", serde_json::to_string_pretty(&found).unwrap_or_default());
    } else {
        print!("{found}");
    }
    Ok(found.broken.is_empty())
}

fn load(flow: &str) -> Result<Flow, Failure> {
    let (flow, found) = chief::read(&source(flow)?);
    let errors: Vec<_> = found.into_iter().filter(|d| d.severity == Severity::Error).collect();
    match flow {
        Some(flow) if errors.is_empty() => Ok(flow),
        _ => Err(Failure::Domain(errors)),
    }
}

/// Draws a flow.
pub fn draw(a: &Arguments) -> Result<bool, Failure> {
    let flow = load(&a.flow)?;
    let mut highlight = Highlight { current: a.at, ..Highlight::default() };
    for slot in &a.slots {
        let (name, value) = slot.split_once('=').ok_or_else(|| Failure::Other(format!("`{slot}` is no slot: write NAME=VALUE")))?;
        highlight.slots.insert(name.to_owned(), value.to_owned());
    }
    let text = if a.svg { svg(&flow, &highlight) } else { dot(&flow, &highlight) };
    match &a.out {
        Some(path) => std::fs::write(path, text).map_err(|e| Failure::Other(format!("{}: {e}", path.display())))?,
        None => println!("{text}"),
    }
    Ok(true)
}

/// How to converse with a flow.
pub struct Talk<'a> {
    /// The flow.
    pub flow: &'a str,
    /// Declarations of its functions.
    pub functions: Option<&'a Path>,
    /// The store.
    pub store: Arc<dyn Store>,
    /// Site and session.
    pub key: SessionKey,
    /// Which engines decide.
    pub reasoner: Reasoner,
    /// Who answers conditions in free words; the comparison of words without one.
    pub model: Option<BlockingModel>,
    /// What the agent is told beforehand.
    pub told: &'a str,
}

/// Converses with a flow until the input ends.
pub fn chat(t: Talk<'_>) -> Result<bool, Failure> {
    let flow = load(t.flow)?;
    let functions = match t.functions {
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|e| Failure::Other(format!("{}: {e}", path.display())))?;
            Functions::from_json(&text).map_err(|e| Failure::Other(format!("{}: {e}", path.display())))?
        }
        None => Functions::default(),
    };
    println!("You speak with the flow `{}`. /why explains the last reply, /slots shows what is known, /draw draws the flow, /quit ends.", flow.name);
    let rules = facts::rules()?;
    let ready = Ready::new(&rules, flow).map_err(|e| Failure::Other(e.to_string()))?;
    let judge: Arc<dyn Judge> = match t.model {
        Some(model) => Arc::new(ByModel::new(model, Conversation { site: t.key.site.to_string(), session: t.key.session.to_string() })),
        None => Arc::new(ByWords),
    };
    let failed = |e: ChatError| Failure::Other(e.to_string());
    let chat = Chat::new(Arc::new(ready), functions, t.store, t.key).map_err(failed)?.judged_by(judge).decided_by(t.reasoner).told(t.told);
    let mut why: Vec<String> = vec![];
    if let Some(reply) = chat.resume().map_err(failed)? {
        println!("(the last turn was broken off; it goes on)");
        why = show(&reply);
    }
    let echo = !std::io::stdin().is_terminal();
    for line in std::io::stdin().lock().split(b'\n') {
        let line = String::from_utf8_lossy(&line?).trim().to_owned();
        if echo {
            println!("you> {line}");
        }
        match line.as_str() {
            "" => {}
            "/quit" => break,
            "/why" => why.iter().for_each(|w| println!("{w}")),
            "/slots" => chat.dialogue().map_err(failed)?.known.values.iter().for_each(|(n, v)| println!("{n} = {v}")),
            "/draw" => {
                let dialogue = chat.dialogue().map_err(failed)?;
                println!("{}", dot(dialogue.flow(), &Highlight::of(&dialogue)));
            }
            text => match chat.step(text) {
                Ok(reply) => why = show(&reply),
                Err(e) => println!("bot> Sorry, something went wrong and nothing was changed.\n({e})"),
            },
        }
    }
    Ok(true)
}

/// Prints a reply and what was done for it; gives back why.
fn show(reply: &Reply) -> Vec<String> {
    for call in &reply.calls {
        match call {
            Ok(r) => println!("(called {} as {}: {})", r.function, r.id, r.value),
            Err(e) => println!("(call failed: {e})"),
        }
    }
    println!("bot> {}", if reply.text.is_empty() { "…" } else { &reply.text });
    if !reply.missing.is_empty() {
        let fields = reply.missing.iter().map(|f| format!("`{f}`")).collect::<Vec<_>>().join(", ");
        match reply.unconnected.as_slice() {
            [] => println!("(nothing fills {fields})"),
            names => println!("(nothing fills {fields}: connect {} with --functions)", names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")),
        }
    }
    let told = |_: &Atom| String::new();
    let acts = reply.outcome.shown().iter().filter(|a| &*a.name == "act");
    acts.filter_map(|a| reply.outcome.why(a)).map(|p| p.tree(&told)).collect()
}
