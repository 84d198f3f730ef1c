//! `duologue paraphrase`: proposals for a domain's bank of wordings, from a model or an author, checked before they are kept.

use std::path::PathBuf;

use super::common::{Failure, model_of, variable, write};
use crate::diag::Source;
use crate::domain::{Domain, Files};
use crate::eval::paraphrase::{check, readable};
use crate::llm::BlockingModel;
use crate::render::bank::propose;
use crate::render::templates::bank::{Banked, read, written};

/// Arguments of `paraphrase`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  duologue paraphrase drive_thru --from mine.yaml               check an author's wordings, print the bank\n  duologue paraphrase drive_thru --root . --model model.yaml    let a model propose, write kb/drive_thru/wordings.yaml\n  duologue paraphrase drive_thru --check                        check the bank at hand\n  duologue chat --wording bank                                  speak by it"
)]
pub struct Arguments {
    /// The domain.
    domain: String,
    /// A folder with kb/, rules/ and prompts/ of one's own; the bank is written there.
    #[arg(long)]
    root: Option<PathBuf>,
    /// A file of proposals, in the bank's own format (see docs/templates.md).
    #[arg(long, conflicts_with = "model")]
    from: Option<PathBuf>,
    /// The configuration of the model that proposes; otherwise the DUOLOGUE_MODEL… variables are read.
    #[arg(long)]
    model: Option<PathBuf>,
    /// How many wordings the model is asked for, for each sentence.
    #[arg(long, default_value_t = 4)]
    each: usize,
    /// Propose nothing; check the bank at hand again.
    #[arg(long, conflicts_with_all = ["model", "from"])]
    check: bool,
}

/// Checks proposals and keeps the good ones; false if one of an author's, or of the bank's own, is refused.
pub fn run(a: &Arguments) -> Result<bool, Failure> {
    let files = a.root.as_deref().map_or_else(Files::built_in, Files::folder);
    let domain = Domain::load(&files, &a.domain)?;
    if a.check {
        let verdicts = check(&domain, &domain.templates);
        let bad: Vec<_> = verdicts.iter().filter(|v| v.fault.is_some()).collect();
        bad.iter().for_each(|v| println!("refused: {}\n  {}", v.wording.say, v.fault.as_deref().unwrap_or_default()));
        println!("{} of {} wordings hold", verdicts.len() - bad.len(), verdicts.len());
        return Ok(bad.is_empty());
    }
    let proposals = match &a.from {
        Some(path) => {
            let text = super::common::read(path)?;
            read(&Source::new(&path.display().to_string(), &text)).map_err(Failure::Domain)?
        }
        None => ask(a, &domain)?,
    };
    let (templates, mut refused) = readable(&domain, &proposals).map_err(Failure::Domain)?;
    let (good, bad): (Vec<_>, Vec<_>) = check(&domain, &templates).into_iter().partition(|v| v.fault.is_none());
    refused.extend(bad);
    for v in &refused {
        eprintln!("refused: {}\n  for {}\n  {}", v.wording.say, v.wording.of, v.fault.as_deref().unwrap_or_default());
    }
    let bank: Vec<Banked> = domain.templates.bank().iter().cloned().chain(good.iter().map(|v| v.wording.clone())).collect();
    let title = format!("Other wordings of the sentences of templates.yaml, each checked by `duologue paraphrase {}`. Format: docs/templates.md.", a.domain);
    let text = written(&title, &bank);
    let tried: usize = good.iter().map(|v| v.tried).sum();
    eprintln!(
        "{} proposals: {} hold (tried in {tried} replies), {} refused; the bank has {} wordings now",
        proposals.len(),
        good.len(),
        refused.len(),
        bank.len()
    );
    match &a.root {
        Some(root) => {
            let path = root.join(format!("kb/{}/wordings.yaml", a.domain));
            write(&path, text)?;
        }
        None => print!("{text}"),
    }
    Ok(a.from.is_none() || refused.is_empty())
}

/// What a model proposes, sentence by sentence; what it fails at is reported and passed over.
fn ask(a: &Arguments, domain: &Domain) -> Result<Vec<Banked>, Failure> {
    let model = match &a.model {
        Some(path) => Some(model_of(path)?),
        None => BlockingModel::from_env(variable).map_err(Failure::told)?,
    };
    let model = model.ok_or_else(|| Failure::Other("nobody proposes: use --from FILE, --model FILE or set DUOLOGUE_MODEL (see docs/models.md)".to_owned()))?;
    let mut out = vec![];
    for own in domain.templates.own() {
        match propose(&model, &domain.ontology.title, own, a.each) {
            Ok(more) => out.extend(more),
            Err(e) if e.is_server_fault() || e.was_sent() => eprintln!("no proposals for {}: {e}", own.first().map_or("", String::as_str)),
            Err(e) => return Err(Failure::Other(e.to_string())),
        }
    }
    Ok(out)
}
