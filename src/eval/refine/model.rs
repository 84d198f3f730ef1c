//! Asks a language model for a patch or a first draft; what it says is read as a patch or a flow and nothing else.

use serde_json::Value;

use super::RefineError;
use super::draft::Draft;
use super::patch::{Patch, apply};
use crate::diag::{Severity, Source};
use crate::lang::chief;

/// Puts a prompt to whatever model is configured and gives back its words.
pub type Ask<'a> = dyn Fn(&str) -> Result<String, String> + 'a;

/// How a patch is written, for the prompt.
const PATCH_FORMAT: &str = include_str!("../../../prompts/flow/patch.txt");
/// How a flow is written, for the prompt.
const FLOW_FORMAT: &str = include_str!("../../../prompts/flow/draft.txt");

/// A patch for a remark; one that does not apply is sent back once with the reason.
pub fn from_model(source: &Source, remark: &str, ask: &Ask<'_>) -> Result<Patch, RefineError> {
    let prompt = format!("{PATCH_FORMAT}\nThe flow:\n{}\n\nThe remark:\n{}\n", source.text.trim(), remark.trim());
    let read = |reply: &str| -> Result<Patch, RefineError> {
        let json = object(reply).ok_or_else(|| RefineError::NoPatch("no JSON object in the reply".to_owned()))?;
        let patch = Patch::parse(json)?;
        sound(&apply(source, &patch)?)?;
        Ok(Patch { because: remark.trim().to_owned(), ..patch })
    };
    with_repair(&prompt, ask, read)
}

/// A first flow for a description in prose.
pub fn draft_by_model(name: &str, prose: &str, ask: &Ask<'_>) -> Result<Draft, RefineError> {
    let prompt = format!("{FLOW_FORMAT}\nThe flow's name: {name}\n\nThe description:\n{}\n", prose.trim());
    let read = |reply: &str| -> Result<Draft, RefineError> {
        let json = object(reply).ok_or_else(|| RefineError::NoFlow(name.to_owned()))?;
        let value: Value = serde_json::from_str(json).map_err(|e| RefineError::NoPatch(e.to_string()))?;
        let source = Source::new(&format!("{name}.json"), &format!("{}\n", serde_json::to_string_pretty(&value).unwrap_or_default()));
        sound(&source)?;
        Ok(Draft { source, not_understood: Vec::new() })
    };
    with_repair(&prompt, ask, read)
}

fn with_repair<T>(prompt: &str, ask: &Ask<'_>, read: impl Fn(&str) -> Result<T, RefineError>) -> Result<T, RefineError> {
    let reply = ask(prompt).map_err(RefineError::Model)?;
    let wrong = match read(&reply) {
        Ok(found) => return Ok(found),
        Err(e) => e,
    };
    let again = format!("{prompt}\nYour last reply:\n{}\n\nIt cannot be used: {wrong}. Reply with the corrected JSON only.\n", reply.trim());
    let reply = ask(&again).map_err(RefineError::Model)?;
    read(&reply).map_err(|e| RefineError::Model(e.to_string()))
}

/// The outermost JSON object in a text.
fn object(reply: &str) -> Option<&str> {
    reply.get(reply.find('{')?..=reply.rfind('}')?)
}

/// A flow with an error is no proposal.
fn sound(source: &Source) -> Result<(), RefineError> {
    let found = chief::read(source).1;
    found.iter().find(|d| d.severity == Severity::Error).map_or(Ok(()), |d| Err(RefineError::NoPatch(format!("{}: {}", d.origin, d.message))))
}
