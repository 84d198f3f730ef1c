//! Training: labelled utterances to a model, the same bytes for the same data.

use std::collections::BTreeMap;

use super::features::View;
use super::labels::{HOST, NONE, WITH, labels};
use super::mentions::{fresh, fresh_and_said, mentions};
use super::weights::{Choice, Example, Weights};
use super::{ASKED, Learned, RoleModel, kinds};
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
    /// What they half say.
    pub asks: Vec<Atom>,
    /// How much it counts.
    pub weight: f32,
}

/// How often a label must occur.
const AT_LEAST: usize = 2;
/// Below so many utterances every one of them is needed.
const FEW: usize = 2000;
/// How often the training data is gone through; how often a feature must occur, more often than one wording with several names; the
/// same for the second voice.
const SCHEDULE: (usize, usize, usize) = (10, 5, 3);
/// The same where there are few.
const SCHEDULE_OF_FEW: (usize, usize, usize) = (30, 2, 2);

#[derive(Default)]
struct Data {
    mentions: Vec<(Vec<u32>, String, f32)>,
    wholes: Vec<(Vec<u32>, Vec<String>, f32)>,
    voices: Vec<(Vec<u32>, Vec<String>, f32)>,
}

/// Trains a model for every role that the utterances hold.
pub fn train(translator: &Embedded, utterances: &[Utterance], source: u64) -> Learned {
    let mut data: BTreeMap<Name, Data> = BTreeMap::new();
    for u in utterances {
        let found = translator.with_chart(&u.text, &u.context, |chart, _| {
            let as_heard = mentions(chart, &fresh(chart, &u.text));
            let done = u.gold.iter().flat_map(kinds);
            let asked = u.asks.iter().flat_map(kinds).map(|k| format!("{ASKED}{k}"));
            let voice = (View::new(chart, &as_heard, &u.context).whole(&[]), done.chain(asked).collect::<Vec<_>>(), u.weight);
            // What is half said reads like what is said; whether it may be done is the second voice's to say.
            let unsaid = |a: &&Atom| u.asks.is_empty() || !a.args.is_empty();
            let meant: Vec<Atom> = u.gold.iter().filter(unsaid).chain(&u.asks).cloned().collect();
            let meant: Vec<Atom> = meant.into_iter().map(|a| translator.as_said(chart.tokens, &a).unwrap_or(a)).collect();
            let said = mentions(chart, &fresh_and_said(chart, &u.text, &meant));
            let given = labels(chart, &said, &meant, &u.context);
            if given.lost > 0 {
                return (None, voice);
            }
            let view = View::new(chart, &said, &u.context);
            let mut rows = vec![];
            let mut before = "_".to_owned();
            for (m, label) in given.mentions.iter().enumerate() {
                rows.push((view.mention(m, &before), label.clone(), u.weight));
                before.clone_from(label);
            }
            (Some((rows, (view.whole(&given.mentions), given.acts, u.weight))), voice)
        });
        if let Some((read, voice)) = found {
            let of_role = data.entry(u.context.role.clone()).or_default();
            of_role.voices.push(voice);
            if let Some((rows, whole)) = read {
                of_role.mentions.extend(rows);
                of_role.wholes.push(whole);
            }
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
        let kinds = frequent(&mut self.voices.iter().flat_map(|w| &w.1));
        let number = |list: &[String], l: &String| list.iter().position(|k| k == l);
        let mention: Vec<Example> =
            self.mentions.into_iter().filter_map(|(features, l, weight)| Some(Example { features, classes: vec![number(&labels, &l)?], weight })).collect();
        let several = |rows: Vec<(Vec<u32>, Vec<String>, f32)>, list: &[String]| -> Vec<Example> {
            let row = |(features, l, weight): (_, Vec<String>, _)| Example { features, classes: l.iter().filter_map(|l| number(list, l)).collect(), weight };
            rows.into_iter().map(row).collect()
        };
        let (act, kind) = (several(self.wholes, &acts), several(self.voices, &kinds));
        let (rounds, at_least, heard_at_least) = if kind.len() < FEW { SCHEDULE_OF_FEW } else { SCHEDULE };
        RoleModel {
            mention: Weights::train(&mention, labels.len(), Choice::One, rounds, at_least),
            act: Weights::train(&act, acts.len(), Choice::Any, rounds, at_least),
            kind: Weights::train(&kind, kinds.len(), Choice::Any, rounds, heard_at_least),
            labels,
            acts,
            kinds,
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
