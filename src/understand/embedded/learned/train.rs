//! Training: labelled utterances to a model, the same bytes for the same data.

use std::collections::BTreeMap;

use super::features::View;
use super::labels::{HOST, NONE, WITH, labels};
use super::mentions::{fresh_and_said, mentions};
use super::weights::{Choice, Example, Weights};
use super::{Learned, RoleModel};
use crate::term::{Atom, Name};
use crate::understand::Context;
use crate::understand::embedded::Embedded;

/// A labelled utterance.
#[derive(Clone, Debug)]
pub struct Utterance {
    /// The context; its role is the speaker's.
    pub context: Context,
    /// The words.
    pub text: String,
    /// What they mean.
    pub gold: Vec<Atom>,
}

/// How often the training data is gone through.
const ROUNDS: usize = 10;
/// How often a label must occur.
const AT_LEAST: usize = 2;
/// How often a feature must occur: more often than one wording with several names.
const FEATURE_AT_LEAST: usize = 5;

#[derive(Default)]
struct Data {
    mentions: Vec<(Vec<u32>, String)>,
    wholes: Vec<(Vec<u32>, Vec<String>)>,
}

/// Trains a model for every role that the utterances hold.
pub fn train(translator: &Embedded, utterances: &[Utterance], source: u64) -> Learned {
    let mut data: BTreeMap<Name, Data> = BTreeMap::new();
    for u in utterances {
        let found = translator.with_chart(&u.text, &u.context, |chart, _| {
            let said = mentions(chart, &fresh_and_said(chart, &u.text, &u.gold));
            let given = labels(chart, &said, &u.gold, &u.context);
            if given.lost > 0 {
                return None;
            }
            let view = View::new(chart, &said, &u.context);
            let mut rows = vec![];
            let mut before = "_".to_owned();
            for (m, label) in given.mentions.iter().enumerate() {
                rows.push((view.mention(m, &before), label.clone()));
                before.clone_from(label);
            }
            Some((rows, (view.whole(&given.mentions), given.acts)))
        });
        if let Some(Some((rows, whole))) = found {
            let of_role = data.entry(u.context.role.clone()).or_default();
            of_role.mentions.extend(rows);
            of_role.wholes.push(whole);
        }
    }
    Learned { source, roles: data.into_iter().map(|(role, d)| (role, d.train())).collect() }
}

impl Data {
    fn train(self) -> RoleModel {
        // Class numbers are bytes.
        let frequent = |all: &mut dyn Iterator<Item = &String>| {
            let mut counts: BTreeMap<String, usize> = BTreeMap::new();
            for l in all {
                *counts.entry(l.clone()).or_default() += 1;
            }
            counts.retain(|_, n| *n >= AT_LEAST);
            counts.into_keys().take(250).collect::<Vec<String>>()
        };
        let mut labels = frequent(&mut self.mentions.iter().map(|m| &m.1));
        for l in [HOST, NONE, WITH] {
            if !labels.iter().any(|k| k == l) {
                labels.push(l.to_owned());
            }
        }
        let acts = frequent(&mut self.wholes.iter().flat_map(|w| &w.1));
        let number = |list: &[String], l: &String| list.iter().position(|k| k == l);
        let mention: Vec<Example> =
            self.mentions.into_iter().filter_map(|(features, l)| Some(Example { features, classes: vec![number(&labels, &l)?], weight: 1.0 })).collect();
        let act: Vec<Example> = self
            .wholes
            .into_iter()
            .map(|(features, l)| Example { features, classes: l.iter().filter_map(|l| number(&acts, l)).collect(), weight: 1.0 })
            .collect();
        RoleModel {
            mention: Weights::train(&mention, labels.len(), Choice::One, ROUNDS, FEATURE_AT_LEAST),
            act: Weights::train(&act, acts.len(), Choice::Any, ROUNDS, FEATURE_AT_LEAST),
            labels,
            acts,
        }
    }
}

/// A number for what a model depends on: it changes with any of the texts.
pub fn fingerprint<'t>(texts: impl Iterator<Item = &'t str>) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for byte in texts.flat_map(|t| t.bytes().chain([0])) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash
}
