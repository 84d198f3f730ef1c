//! `duologue refine`: change a flow by a remark or by failed dialogues, or draft one from prose; written only after it was weighed.

use std::path::PathBuf;

use super::common::{Failure, Listen, read, write};
use crate::diag::Source;
use crate::eval::refine::{self, Patch, RefineError};
use crate::eval::rehearse::Recorded;
use crate::llm::{BlockingModel, ChatRequest, Message};

/// Arguments of `refine`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  duologue refine table.json --feedback \"The phone number is optional\"\n  duologue refine table.json --dialogues recorded.jsonl --patch proposal.json\n  duologue refine table.json --apply proposal.json --write\n  duologue refine room.json --prose description.txt --write"
)]
pub struct Arguments {
    /// The flow file (with --prose: the file to write).
    flow: PathBuf,
    /// A remark on what should be different.
    #[arg(long)]
    feedback: Option<String>,
    /// Recorded dialogues: without a remark they are what the change is read from, and in any case the change is weighed on them.
    #[arg(long, num_args = 1..)]
    dialogues: Vec<PathBuf>,
    /// A patch that was proposed before and perhaps edited.
    #[arg(long)]
    apply: Option<PathBuf>,
    /// A description in prose for a first flow.
    #[arg(long)]
    prose: Option<PathBuf>,
    /// Keep the proposal in this file.
    #[arg(long)]
    patch: Option<PathBuf>,
    /// Keep the drawing of the difference (DOT) in this file.
    #[arg(long)]
    dot: Option<PathBuf>,
    /// Write the flow if nothing speaks against it.
    #[arg(long)]
    write: bool,
    /// Write it in spite of objections, but never with an error in it.
    #[arg(long, requires = "write")]
    force: bool,
    /// The model's configuration (YAML); without one, and without DUOLOGUE_MODEL, remarks are read by rules.
    #[arg(long)]
    model: Option<PathBuf>,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

impl From<RefineError> for Failure {
    fn from(e: RefineError) -> Self {
        Self::Other(e.to_string())
    }
}

fn ask(model: &BlockingModel, prompt: &str) -> Result<String, String> {
    let request = ChatRequest { prefix: String::new(), messages: vec![Message::user(prompt)], shape: None, max_tokens: 4000 };
    model.chat(request).map(|r| r.text).map_err(|e| e.to_string())
}

/// Proposes, weighs, and writes if it may; the answer tells whether nothing speaks against the change.
pub fn run(a: &Arguments) -> Result<bool, Failure> {
    let model = Listen { model: a.model.clone(), ..Listen::default() }.configured()?;
    if let Some(prose) = &a.prose {
        return first_draft(a, &read(prose)?, model.as_ref());
    }
    let flow = Source::new(&a.flow.display().to_string(), &read(&a.flow)?);
    let recorded = if a.dialogues.is_empty() { None } else { Some(Recorded::of(&flow, &a.dialogues).map_err(Failure::Other)?) };
    let rehearse = recorded.as_ref().map(|r| move |s: &Source| r.rehearse(s));
    let rehearsal = rehearse.as_ref().map(|r| r as &refine::Rehearsal<'_>);
    let patch = match (&a.apply, &a.feedback, rehearsal) {
        (Some(file), _, _) => Patch::parse(&read(file)?)?,
        (None, Some(remark), _) => match (refine::from_remark(&flow, remark), &model) {
            (Err(RefineError::NotUnderstood), Some(m)) => refine::from_model(&flow, remark, &|p| ask(m, p))?,
            (read, _) => read?,
        },
        (None, None, Some(rehearsal)) => refine::from_failures(&flow, rehearsal)?,
        (None, None, None) => return Err(Failure::Other("say what should change: --feedback, --dialogues, --apply or --prose".to_owned())),
    };
    if let Some(file) = &a.patch {
        write(file, patch.to_text())?;
    }
    let weighed = refine::weigh(&flow, &patch, rehearsal)?;
    if let Some(file) = &a.dot {
        write(file, &weighed.difference.dot)?;
    }
    let objections = weighed.objections();
    let broken = weighed.new_findings.iter().any(|d| d.severity == crate::diag::Severity::Error);
    let writes = a.write && !broken && (objections.is_empty() || a.force);
    if writes {
        write(&a.flow, &weighed.after.text)?;
    }
    if a.json {
        println!("{}", serde_json::json!({"patch": patch, "weighed": weighed, "objections": objections, "written": writes}));
    } else {
        print!("{}\n{weighed}", patch.to_text());
        match (writes, a.write) {
            (true, _) => println!("written to {}", a.flow.display()),
            (false, true) => println!("not written"),
            (false, false) => println!("nothing is written without --write"),
        }
    }
    Ok(objections.is_empty())
}

fn first_draft(a: &Arguments, prose: &str, model: Option<&BlockingModel>) -> Result<bool, Failure> {
    let name = a.flow.file_stem().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let draft = match model {
        Some(m) => refine::draft_by_model(&name, prose, &|p| ask(m, p))?,
        None => refine::draft(&name, prose),
    };
    let found = crate::lang::chief::read(&draft.source).1;
    let sound = found.iter().all(|d| d.severity != crate::diag::Severity::Error);
    if a.write && sound {
        if a.flow.exists() && !a.force {
            return Err(Failure::Other(format!("{} exists: --force replaces it", a.flow.display())));
        }
        write(&a.flow, &draft.source.text)?;
    }
    if a.json {
        println!(
            "{}",
            serde_json::json!({"flow": draft.source.text.as_ref(), "findings": found, "not_understood": draft.not_understood, "written": a.write && sound})
        );
    } else {
        print!("{}", draft.source.text);
        found.iter().for_each(|d| println!("{}: {}", d.origin, d.message));
        draft.not_understood.iter().for_each(|s| println!("not in the flow: {s}"));
    }
    Ok(sound)
}
