//! `duologue eval`: measuring against data sets.

use std::path::PathBuf;
use std::sync::Arc;

use super::common::{Failure, How, Listen, Place, model_of, read};
use crate::domain::Domain;
use crate::eval::{dialogues, multiwoz, nlu, reason, render, star, understand};
use crate::facts::MemoryStore;
use crate::llm::BlockingModel;
use crate::reason::Reasoner;
use crate::turn::Options;
use crate::understand::Heard;
use crate::understand::embedded::{Embedded, Part};
use crate::understand::hybrid::DEFAULT_BELOW;
use crate::understand::llm::Names;
use crate::understand::llm::forms::Forms;

/// Arguments of `eval`.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Utterances with their predicates: exact matches, F1, by tag, latency, cost; several models side by side.
    Understand(Understand),
    /// Replies in a model's words over the built-in dialogues: faithfulness and fallbacks.
    Render(Rendered),
    /// STAR: the next action in 24 tasks, macro F1 and accuracy with intervals.
    Star(Star),
    /// MultiWOZ: inform, success, BLEU and combined, beside what trivial systems reach.
    Multiwoz(Multiwoz),
    /// Reasoning over what is told: answers with proofs, by a profile of kb/reason/.
    Reason(Reasoned),
}

/// Arguments of `eval reason`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  duologue eval reason proofwriter --data proofwriter.jsonl\n  duologue eval reason proofwriter --data proofwriter.jsonl --parses given=given/proofwriter.jsonl --predictions out.jsonl\n  duologue eval reason proofwriter --data proofwriter.jsonl --parses model --model model.yaml --votes 3"
)]
struct Reasoned {
    /// The profile: its modules, semantics and answers.
    set: String,
    /// Items as JSON lines (docs/reasoning.md).
    #[arg(long, num_args = 1.., required = true)]
    data: Vec<PathBuf>,
    /// `none`: the text is read; `given=FILE`: formal text that was written for it; `model`: a model writes it, and rules decide.
    #[arg(long, default_value = "none")]
    parses: String,
    /// The model that parses (docs/models.md); if unsaid, the one that the environment names.
    #[arg(long)]
    model: Option<PathBuf>,
    /// How many readings of each question the model is asked for; they vote by what they entail.
    #[arg(long, default_value_t = 1)]
    votes: usize,
    /// Write the answers here, one JSON object a line.
    #[arg(long)]
    predictions: Option<PathBuf>,
    /// Which engines decide.
    #[arg(long, value_enum, default_value = "fast")]
    reasoner: How,
    /// Decide so many of the questions, spread over all, by every engine, and check every proof; a difference is a failure.
    #[arg(long, default_value_t = 0)]
    audit: usize,
    /// Threads; if unsaid, as many as the machine has.
    #[arg(long)]
    jobs: Option<usize>,
    /// Take profiles and rules from the folders kb/ and rules/ below this one instead of the built-in ones.
    #[arg(long)]
    root: Option<PathBuf>,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// Arguments of `eval multiwoz`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  duologue eval multiwoz --data multiwoz --states oracle\n  duologue eval multiwoz --data multiwoz --system sample_predictions/galaxy.json"
)]
struct Multiwoz {
    /// The data folder.
    #[arg(long)]
    data: PathBuf,
    /// `oracle`: recorded states; `own`: the engine's own tracking.
    #[arg(long, default_value = "own")]
    states: String,
    /// `test` or `val`.
    #[arg(long, default_value = "test")]
    split: String,
    /// Score another system's turns instead.
    #[arg(long)]
    system: Option<PathBuf>,
    /// Only dialogues whose fold (0 to 99, by id) is in FROM..TO.
    #[arg(long, default_value = "0..100")]
    folds: String,
    /// Write our turns here.
    #[arg(long)]
    predictions: Option<PathBuf>,
    /// Which engines decide.
    #[arg(long, value_enum, default_value = "fast")]
    reasoner: How,
    /// Take the domain from the folders kb/ and rules/ below this one instead of the built-in one.
    #[arg(long)]
    root: Option<PathBuf>,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// Arguments of `eval understand`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  duologue eval understand tests/data/nlu/dev.jsonl\n  duologue eval understand tests/data/nlu/dev.jsonl --model small.yaml --model large.yaml\n\nWith models, the table shows the embedded translator, each model alone, and the hybrid of both, with the share of utterances it puts to the model. Every utterance is put to each model once."
)]
struct Understand {
    /// Cases as JSON lines of {"id","role","context","text","gold","tags"}.
    file: PathBuf,
    #[command(flatten)]
    place: Place,
    /// Configurations of models (see docs/models.md); otherwise the DUOLOGUE_MODEL… variables are read.
    #[arg(long = "model")]
    models: Vec<PathBuf>,
    /// Leave out a part of the embedded translator, to see what it is worth: patterns, learned, voice or gate.
    #[arg(long, value_name = "PART", value_delimiter = ',')]
    without: Vec<Part>,
    /// Only so many cases, evenly chosen from the file.
    #[arg(long)]
    cases: Option<usize>,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// Arguments of `eval render`.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  duologue eval render tests/dialogues/drive_thru_dev.yaml --model model.yaml --model other.yaml")]
struct Rendered {
    /// Dialogue files whose replies are worded.
    #[arg(required = true)]
    dialogues: Vec<PathBuf>,
    #[command(flatten)]
    place: Place,
    /// Configurations of models (see docs/models.md); otherwise the DUOLOGUE_MODEL… variables are read.
    #[arg(long = "model")]
    models: Vec<PathBuf>,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// Arguments of `eval star`.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  duologue eval star --dialogues star/dialogues_happy.jsonl --protocol p5 --states own")]
struct Star {
    /// A folder of flow files instead of the built-in ones.
    #[arg(long)]
    flows: Option<PathBuf>,
    /// Dialogue files (JSON lines).
    #[arg(long, num_args = 1.., required = true)]
    dialogues: Vec<PathBuf>,
    /// Which protocol: p5, p2 or p1.
    #[arg(long, default_value = "p5")]
    protocol: String,
    /// `own`, or `oracle=FILE` with given states.
    #[arg(long, default_value = "own")]
    states: String,
    /// Write the predictions here, one JSON object a line.
    #[arg(long)]
    predictions: Option<PathBuf>,
    /// Which engines decide.
    #[arg(long, value_enum, default_value = "fast")]
    reasoner: How,
    /// Rounds of the bootstrap.
    #[arg(long, default_value_t = 1000)]
    rounds: usize,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// Runs an evaluation and prints its report.
pub fn run(a: &Arguments) -> Result<bool, Failure> {
    match &a.what {
        What::Understand(u) => {
            let domain = u.place.load()?;
            let embedded = domain.embedded()?.map(|e| e.without(&u.without));
            let mut cases = nlu::read_cases(read(&u.file)?.as_bytes(), &domain.ontology.view).map_err(Failure::at(&u.file))?;
            if let Some(most) = u.cases.filter(|n| *n < cases.len()) {
                let all = cases.len();
                cases = cases.into_iter().enumerate().filter(|(i, _)| (i * most) / all != ((i + 1) * most) / all).map(|(_, c)| c).collect();
            }
            let mut models = vec![];
            for (label, model) in models_of(&u.models)? {
                models.push((label, domain.model_translator(model).map_err(Failure::told)?));
            }
            let names = Names::of(&domain.ontology, domain.facts.iter());
            let strange = |heard: &Heard, role: &str| names.strange(&Forms::of(&domain.ontology, role), &heard.predicates);
            let cap = |e: &Embedded| understand::cap(&cases, e, |heard, role| heard.confidence < DEFAULT_BELOW || strange(heard, role));
            let cap = embedded.as_ref().map(cap);
            match &embedded {
                Some(embedded) if models.is_empty() && !u.json => nlu::write_report(&nlu::evaluate(embedded, &cases), &mut std::io::stdout().lock())?,
                None if models.is_empty() => return Err(Failure::Other("no translator: the domain ships no lexicon, and no model is configured".to_owned())),
                _ => {
                    let embedded = embedded.as_ref().map(|e| e as &dyn crate::understand::Understand);
                    let measured = understand::Measured { reports: understand::compare(&cases, embedded, &models, DEFAULT_BELOW), cap };
                    show(&measured, u.json, |m| understand::table(&m.reports));
                }
            }
            if let Some(cap) = cap.filter(|_| !u.json) {
                println!("{cap}");
            }
        }
        What::Render(r) => {
            let domain = r.place.load()?;
            let cases = replies(&domain, &r.dialogues)?;
            let mut renderers = vec![];
            for (label, model) in models_of(&r.models)? {
                renderers.push((label, domain.model_renderer(model).map_err(Failure::told)?));
            }
            if renderers.is_empty() {
                return Err(no_model());
            }
            show(&render::render(&cases, &renderers), r.json, |r| render::table(r));
        }
        What::Star(s) => {
            let protocol = match s.protocol.as_str() {
                "p5" => star::Protocol::P5,
                "p2" => star::Protocol::P2,
                "p1" => star::Protocol::P1,
                other => return Err(Failure::Other(format!("`{other}` is no protocol: use p5, p2 or p1"))),
            };
            let states = match s.states.split_once('=') {
                Some(("oracle", file)) => star::States::Oracle(file.into()),
                None if s.states == "own" => star::States::Own,
                _ => return Err(Failure::Other(format!("`{}` is no source of states: use own or oracle=FILE", s.states))),
            };
            let args = star::Args {
                flows: s.flows.clone(),
                dialogues: s.dialogues.clone(),
                protocol,
                states,
                predictions: s.predictions.clone(),
                reasoner: s.reasoner.into(),
                rounds: s.rounds,
                explain: false,
            };
            let report = star::run(&args).map_err(Failure::told)?;
            show(&report, s.json, |r| r.table());
        }
        What::Reason(r) => {
            let parses = match r.parses.split_once('=') {
                Some(("given", file)) => reason::Parses::Given(file.into()),
                None if r.parses == "none" => reason::Parses::Text,
                None if r.parses == "model" => {
                    let model = models_of(r.model.as_slice())?.into_iter().next().ok_or_else(no_model)?;
                    reason::Parses::Model(model.1, r.votes)
                }
                _ => return Err(Failure::Other(format!("`{}` is no source of parses: use none, given=FILE or model", r.parses))),
            };
            let args = reason::Args {
                set: r.set.clone(),
                data: r.data.clone(),
                parses,
                predictions: r.predictions.clone(),
                reasoner: r.reasoner.into(),
                audit: r.audit,
                jobs: r.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)),
                files: r.root.as_deref().map_or_else(crate::domain::Files::built_in, crate::domain::Files::folder),
            };
            let report = reason::run(&args).map_err(Failure::told)?;
            show(&report, r.json, |r| r.to_string());
            return Ok(report.differences.is_empty());
        }
        What::Multiwoz(m) => {
            let states = match m.states.as_str() {
                "oracle" => multiwoz::States::Oracle,
                "own" => multiwoz::States::Own,
                other => return Err(Failure::Other(format!("`{other}` is no source of states: use oracle or own"))),
            };
            let folds = m
                .folds
                .split_once("..")
                .and_then(|(f, t)| Some(f.parse().ok()?..t.parse().ok()?))
                .ok_or_else(|| Failure::Other("folds are written FROM..TO".to_owned()))?;
            let args = multiwoz::Args {
                data: m.data.clone(),
                split: m.split.clone(),
                states,
                reasoner: m.reasoner.into(),
                system: m.system.clone(),
                folds,
                predictions: m.predictions.clone(),
                files: m.root.as_deref().map_or_else(crate::domain::Files::built_in, crate::domain::Files::folder),
            };
            let report = multiwoz::run(&args).map_err(Failure::told)?;
            show(&report, m.json, |r| r.to_string());
        }
    }
    Ok(true)
}

fn show<R: serde::Serialize>(report: &R, json: bool, text: impl Fn(&R) -> String) {
    if json {
        println!("{}", serde_json::to_string_pretty(report).unwrap_or_default());
    } else {
        print!("{}", text(report));
    }
}

/// The models that files configure, each by its file's name, or the one that the environment names.
fn models_of(files: &[PathBuf]) -> Result<Vec<(String, BlockingModel)>, Failure> {
    if files.is_empty() {
        return Ok(Listen::default().configured()?.map(|m| (m.name().to_owned(), m)).into_iter().collect());
    }
    let label = |path: &PathBuf| path.file_stem().map_or_else(|| path.display().to_string(), |s| s.to_string_lossy().into_owned());
    files.iter().map(|path| Ok((label(path), model_of(path)?))).collect()
}

fn no_model() -> Failure {
    Failure::Other("no model is configured: use --model FILE or set DUOLOGUE_MODEL (see docs/models.md)".to_owned())
}

/// Every reply of the dialogues, as its renderer was asked for it.
fn replies(domain: &Domain, files: &[PathBuf]) -> Result<Vec<render::Case>, Failure> {
    let collect = Arc::new(render::Collect::new(domain.templates.clone()));
    for file in files {
        let all = dialogues::read(&read(file)?).map_err(Failure::at(file))?;
        let domain = all.settle(domain).map_err(Failure::at(file))?;
        for dialogue in all.dialogues {
            let options = Options { reasoner: Reasoner::Fast, ..Options::default() };
            let engine = dialogues::fresh(&domain, Arc::new(MemoryStore::default()), options).with_render(collect.clone());
            dialogues::run(&dialogue, &engine, false, None);
        }
    }
    Ok(collect.take())
}
