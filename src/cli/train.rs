//! `duologue train`: what the embedded translator learns from a domain's labelled utterances.

use std::path::PathBuf;

use super::common::{Failure, Place};
use crate::eval::learn::{Folds, cross_validate, learn};
use crate::eval::nlu::{self, Case};
use crate::understand::embedded::Embedded;

/// Arguments of `train`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  duologue train --root . --domain drive_thru\n  duologue train --folds sets")]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    /// Further files of cases.
    files: Vec<PathBuf>,
    /// Cross-validate instead: so many parts, or `sets` to leave out one author's cases at a time.
    #[arg(long)]
    folds: Option<String>,
    /// Only these folds.
    #[arg(long)]
    only: Vec<String>,
    /// Learn and measure on these cases.
    #[arg(long)]
    test: Vec<PathBuf>,
    /// How many folds to work on side by side.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Show what differs.
    #[arg(long)]
    wrong: bool,
}

fn cases(path: &PathBuf) -> Result<Vec<Case>, Failure> {
    let file = std::fs::File::open(path).map_err(|e| Failure::Other(format!("{}: {e}", path.display())))?;
    nlu::read_cases(std::io::BufReader::new(file)).map_err(|e| Failure::Other(format!("{}: {e}", path.display())))
}

/// Trains or cross-validates.
pub fn run(a: &Arguments) -> Result<bool, Failure> {
    let domain = a.place.load()?;
    let translator: Embedded = domain.embedded()?.ok_or_else(|| Failure::Other("the domain ships no lexicon".to_owned()))?;
    let mut all = vec![];
    for f in &a.files {
        all.extend(cases(f)?);
    }
    if let Some(folds) = &a.folds {
        let folds = if folds == "sets" { Folds::Sets } else { Folds::Parts(folds.parse().map_err(|_| Failure::Other(format!("`{folds}` is no number of folds")))?) };
        for f in cross_validate(&translator, &all, folds, &a.only, a.threads) {
            if a.wrong {
                nlu::write_report(&f.with, &mut std::io::stdout().lock())?;
            }
            let (w, l) = (f.without.all, f.with.all);
            println!(
                "{:<12} {:>5} cases  patterns alone: exact {:>5.1} % F1 {:>5.1} %   with learning: exact {:>5.1} % F1 {:>5.1} %   p50 {} us p99 {} us",
                f.name,
                w.cases,
                100.0 * w.exact_rate(),
                100.0 * w.f1(),
                100.0 * l.exact_rate(),
                100.0 * l.f1(),
                f.with.p50_us,
                f.with.p99_us
            );
        }
        return Ok(true);
    }
    let learned = learn(&translator, all.iter(), 0);
    for (role, m) in &learned.roles {
        println!("{role}: {} labels, {} acts, {} + {} weights", m.labels.len(), m.acts.len(), m.mention.len(), m.act.len());
    }
    let taught = translator.with_learned(learned);
    for t in &a.test {
        let held = cases(t)?;
        nlu::write_report(&nlu::evaluate(&taught, &held), &mut std::io::stdout().lock())?;
    }
    Ok(true)
}
