//! `duologue train`: what the embedded translator learns from a domain's labelled utterances.

use std::path::PathBuf;

use super::common::{Failure, Place, read};
use crate::domain::ends::{examples_file, held_out_files, model_file};
use crate::eval::learn::{Fold, Folds, cross_validate, expressible, learn};
use crate::eval::nlu::{self, Case};
use crate::ontology::Shape;
use crate::understand::embedded::Part;
use crate::understand::embedded::learned::Learned;
use crate::understand::embedded::learned::train::fingerprint;

/// Arguments of `train`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  duologue train --root .                  learn from kb/drive_thru/examples.jsonl, write kb/drive_thru/model.txt\n  duologue train --root . --folds 5        cross-validate in five parts\n  duologue train --root . --folds sets     leave out one author's utterances at a time\n  duologue train --root . --check          fail unless the model is the one that the examples give"
)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    /// Labelled utterances to learn from instead of the domain's own; nothing is written then.
    files: Vec<PathBuf>,
    /// Cross-validate instead of writing: so many parts, or `sets` to leave out one author's cases (by what stands before the first dash of their names) at a time.
    #[arg(long)]
    folds: Option<String>,
    /// With --folds: only these folds.
    #[arg(long)]
    only: Vec<String>,
    /// With --folds: how many folds to work on side by side.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Measure what was learned on these cases, and write nothing.
    #[arg(long)]
    test: Vec<PathBuf>,
    /// With --test: leave out a part of the translator, to see what it is worth: patterns, learned, voice or gate.
    #[arg(long, value_name = "PART", value_delimiter = ',')]
    without: Vec<Part>,
    /// Write nothing; fail if the model at hand is another one.
    #[arg(long)]
    check: bool,
    /// Show the cases that do not match.
    #[arg(long)]
    wrong: bool,
}

fn cases(text: &str, name: &str, shape: &Shape) -> Result<Vec<Case>, Failure> {
    nlu::read_cases(text.as_bytes(), shape).map_err(|e| Failure::Other(format!("{name}: {e}")))
}

/// Trains or cross-validates.
pub fn run(a: &Arguments) -> Result<bool, Failure> {
    let domain = a.place.load()?;
    let name = domain.ontology.domain.to_string();
    let translator = domain.patterns()?.ok_or_else(|| Failure::Other("the domain ships no lexicon".to_owned()))?;
    let mut texts = vec![];
    for f in &a.files {
        texts.push((f.display().to_string(), read(f)?));
    }
    if texts.is_empty() {
        let file = examples_file(&name);
        let text = domain.files.read(&file).ok_or_else(|| Failure::Other(format!("there is no {file}; give --root or files of cases")))?;
        texts.push((file, text));
    }
    let mut all = vec![];
    for (name, text) in &texts {
        all.extend(cases(text, name, &domain.ontology.view)?);
    }
    let mut held_out = vec![];
    for file in held_out_files(&domain.files, &name).into_iter().filter(|_| a.files.is_empty()) {
        let text = domain.files.read(&file).unwrap_or_default();
        held_out.extend(cases(&text, &file, &domain.ontology.view)?);
        texts.push((file, text));
    }
    if let Some(folds) = &a.folds {
        let parts = || folds.parse().map(Folds::Parts).map_err(|_| Failure::Other(format!("`{folds}` is no number of folds")));
        let folds = if folds == "sets" { Folds::Sets } else { parts()? };
        for fold in cross_validate(&translator, &all, folds, &a.only, a.threads) {
            print_fold(&fold, a.wrong)?;
        }
        return Ok(true);
    }
    let source = fingerprint(texts.iter().map(|t| t.1.as_str()));
    let learned = learn(&translator, all.iter(), &held_out, source, &|what| eprintln!("{what}"));
    let written = learned.to_text();
    let taught = translator.with_learned(learned.clone());
    print_model(&learned, &written, all.len(), expressible(&taught, &all));
    for path in &a.test {
        let report = nlu::evaluate(&taught.clone().without(&a.without), &cases(&read(path)?, &path.display().to_string(), &domain.ontology.view)?);
        nlu::write_report(&report, &mut std::io::stdout().lock())?;
    }
    let file = model_file(&name);
    if a.check {
        let same = domain.files.read(&file).is_some_and(|t| t == written);
        println!("{file} {}", if same { "is what the examples give" } else { "is not what the examples give: train anew" });
        return Ok(same);
    }
    if a.files.is_empty() && a.test.is_empty() {
        let Some(root) = &a.place.root else { return Err(Failure::Other("give --root, the folder whose model is to be written".to_owned())) };
        std::fs::write(root.join(&file), written).map_err(|e| Failure::Other(format!("{file}: {e}")))?;
        println!("wrote {file}");
    }
    Ok(true)
}

fn print_model(learned: &Learned, written: &str, cases: usize, expressible: usize) {
    println!("learned from {cases} utterances; labels express {expressible} of them; {} bytes", written.len());
    for (role, m) in &learned.roles {
        println!("  {role}: {} labels of mentions, {} of utterances, {} weights", m.labels.len(), m.acts.len(), m.mention.len() + m.act.len());
    }
}

fn print_fold(fold: &Fold, wrong: bool) -> Result<(), Failure> {
    if wrong {
        nlu::write_report(&fold.with, &mut std::io::stdout().lock())?;
    }
    for (part, report) in [("patterns alone", &fold.without), ("with learning", &fold.with)] {
        let a = report.all;
        println!(
            "{:<12} {part:<14} {:>5} cases  exact {:>5.1} %  F1 {:>5.1} %  wrong kind {:>5.1} %  asked {:>5.1} %  p50 {} us",
            fold.name,
            a.cases,
            a.exact_percent(),
            a.f1_percent(),
            a.wrong_kind_percent(),
            a.asked_percent(),
            report.p50_us
        );
    }
    Ok(())
}
