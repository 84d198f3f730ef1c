//! Training the embedded translator and measuring by cross-validation what it gains on words it has not seen.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::nlu::{Case, ReadingReport, evaluate};
use crate::understand::embedded::Embedded;
use crate::understand::embedded::learned::Learned;
use crate::understand::embedded::learned::network::learning::Progress;
use crate::understand::embedded::learned::train::{Utterance, train};

/// How the cases are divided for cross-validation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Folds {
    /// Into so many parts, case by case in turn.
    Parts(usize),
    /// By who wrote them: what stands before the first dash of a case's name.
    Sets,
}

/// A fold: its name, the reports without and with what was learned from the other folds.
pub struct Fold {
    /// Its name.
    pub name: String,
    /// The patterns alone.
    pub without: ReadingReport,
    /// With what was learned.
    pub with: ReadingReport,
}

/// Cases as the training takes them.
pub fn utterances<'c>(cases: impl Iterator<Item = &'c Case>) -> Vec<Utterance> {
    cases
        .map(|c| Utterance {
            context: c.context.clone(),
            text: c.text.clone(),
            gold: c.gold.clone(),
            asks: c.asks.clone(),
            also: c.also.clone(),
            weight: c.weight,
        })
        .collect()
}

/// Learns from cases; how far it can be trusted, from those held out.
pub fn learn<'c>(translator: &Embedded, cases: impl Iterator<Item = &'c Case>, held_out: &[Case], source: u64, progress: Progress<'_>) -> Learned {
    train(translator, &utterances(cases), &utterances(held_out.iter()), source, progress)
}

/// Cross-validates: each fold is read by a translator that learned from all others. Folds are worked on side by side.
pub fn cross_validate(translator: &Embedded, cases: &[Case], folds: Folds, only: &[String], threads: usize) -> Vec<Fold> {
    let mut parts: BTreeMap<String, Vec<&Case>> = BTreeMap::new();
    for (i, case) in cases.iter().enumerate() {
        let name = match folds {
            Folds::Parts(n) => format!("fold {}", i % n.max(1) + 1),
            Folds::Sets => case.id.split('-').next().unwrap_or("").to_owned(),
        };
        parts.entry(name).or_default().push(case);
    }
    let names: Vec<&String> = parts.keys().filter(|n| only.is_empty() || only.contains(n)).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = vec![];
        while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
            let others = parts.iter().filter(|(n, _)| n != name).flat_map(|(_, c)| c.iter().copied());
            let learned = translator.with_learned(learn(translator, others, &[], 0, &|_| ()));
            let held: Vec<Case> = parts.get(*name).into_iter().flatten().map(|c| (*c).clone()).collect();
            done.push(Fold { name: (*name).clone(), without: evaluate(translator, &held), with: evaluate(&learned, &held) });
        }
        done
    };
    let mut out: Vec<Fold> = std::thread::scope(|s| {
        let workers: Vec<_> = (0..threads.max(1)).map(|_| s.spawn(work)).collect();
        workers.into_iter().flat_map(|w| w.join().unwrap_or_default()).collect()
    });
    out.sort_by(|a, b| a.name.cmp(&b.name));
    out
}

/// How many cases labels can express: their predicates come out again when they are turned into labels and back.
pub fn expressible(translator: &Embedded, cases: &[Case]) -> usize {
    let same = |c: &&Case| {
        let Some((mut got, _)) = translator.through_labels(&c.text, &c.context, &c.gold) else { return false };
        let mut gold = c.gold.clone();
        got.sort();
        gold.sort();
        got == gold
    };
    cases.iter().filter(same).count()
}
