//! `duologue understand`: words to predicates, JSON lines in and out.

use super::common::{Failure, Listen, Place};
use crate::eval::nlu;

/// Arguments of `understand`.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  echo '{\"id\":1,\"context\":{\"last_actions\":[\"else\"],\"order\":[]},\"text\":\"two soft tacos\"}' | duologue understand --role customer"
)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    listen: Listen,
    /// Whose words they are, unless a line says so itself.
    #[arg(long)]
    role: Option<String>,
    /// Show how the embedded translator takes each utterance apart, for people who write patterns.
    #[arg(long)]
    readings: bool,
}

/// Translates until the input ends.
pub fn run(a: &Arguments) -> Result<bool, Failure> {
    let engine = a.listen.equip(a.place.engine()?)?;
    let role = a.role.clone().or_else(|| engine.domain().ontology.roles.keys().next().map(ToString::to_string)).unwrap_or_default();
    if a.readings {
        let Some(embedded) = engine.domain().embedded()? else { return Err(Failure::Other("the domain ships no lexicon".to_owned())) };
        nlu::readings(&embedded, &engine.domain().ontology.view, &role, std::io::stdin().lock(), &mut std::io::stdout().lock()).map_err(Failure::told)?;
        return Ok(true);
    }
    let Some(translator) = engine.translator() else {
        return Err(Failure::Other(format!(
            "the domain `{}` has no translator: it ships no lexicon and no model is configured",
            engine.domain().ontology.domain
        )));
    };
    nlu::translate_lines(&**translator, &engine.domain().ontology.view, &role, std::io::stdin().lock(), &mut std::io::stdout().lock())
        .map_err(Failure::told)?;
    Ok(true)
}
