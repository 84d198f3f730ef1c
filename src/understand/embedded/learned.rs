//! What was learned from labelled utterances: the place of each mention in a predicate, and what is said without mentions.
//!
//! The patterns of the lexicon read what their authors foresaw. This part reads the rest: it finds the mentions (names, values,
//! numbers, references), gives each a label (a template of a predicate, with the mention's place in it) by a linear model over
//! the words around, and lets the resolver make predicates of them as it does for the patterns. No label names a domain in
//! code: labels are read off the examples, see [`labels`].

pub mod decode;
pub mod features;
pub mod labels;
pub mod mentions;
pub mod network;
pub mod store;
pub mod train;
pub mod trust;
pub mod weigh;
pub mod weights;

use std::collections::BTreeMap;

use self::decode::Patterns;
use self::features::UtteranceView;
use self::labels::Labels;
use self::mentions::Mention;
use self::network::Network;
use self::trust::Trust;
use self::weights::{Choice, Weights};
use super::chart::Chart;
use crate::term::{Atom, Name, Term};
use crate::understand::Context;

/// From which probability on something is taken to be said beside the mentions.
const TAKEN: f32 = 0.5;
/// The same where nothing else is.
const SILENT: f32 = 0.35;

/// The learned model of a domain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Learned {
    /// What it was learned from, as a number: see [`train::fingerprint`].
    pub source: u64,
    /// By role.
    pub roles: BTreeMap<Name, RoleModel>,
}

/// The learned model of a role.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RoleModel {
    /// Labels of mentions.
    pub labels: Vec<String>,
    /// Labels of whole utterances.
    pub acts: Vec<String>,
    /// Weights of the mentions' labels.
    pub mention: Weights,
    /// Weights of the utterances' labels.
    pub act: Weights,
    /// Kinds of acts, as the second voice tells them; with [`ASKED`] before those that were to be asked back.
    pub kinds: Vec<String>,
    /// Tells the kinds.
    pub network: Network,
    /// How far readings can be trusted.
    pub trust: Trust,
}

/// Stands before a kind of act that is only half said.
pub const ASKED: char = '?';

/// The kinds of an act: its name, and that with its first constant.
pub fn kinds(act: &Atom) -> impl Iterator<Item = String> {
    let constant = act.args.iter().find_map(|t| if let Term::Const(c) = t { Some(format!("{} {c}", act.name)) } else { None });
    constant.into_iter().chain([act.name.to_string()])
}

/// How the model reads an utterance.
#[derive(Clone, Debug, Default)]
pub struct Guess {
    /// For each mention the probability of each label.
    pub chances: Vec<Vec<f32>>,
    /// The likeliest label of each mention.
    pub best: Vec<usize>,
    /// The probability of each act.
    pub acts: Vec<f32>,
    /// The acts taken.
    pub taken: Vec<usize>,
}

impl RoleModel {
    fn label(&self, at: usize) -> &str {
        self.labels.get(at).map_or("", |l| l)
    }

    /// Labels the mentions from left to right, then the whole.
    pub fn guess(&self, chart: &Chart<'_>, mentions: &[Mention], context: &Context, patterns: &Patterns) -> Guess {
        let view = UtteranceView::new(chart, mentions, context);
        let mut out = Guess::default();
        let mut before = "_".to_owned();
        let mut said = vec![];
        for (m, mention) in mentions.iter().enumerate() {
            let mut chances = self.mention.read(&view.mention(m, &before), self.labels.len(), Choice::One);
            for (l, c) in chances.iter_mut().enumerate() {
                if !patterns.fits(l, mention) {
                    *c *= 1e-4;
                }
            }
            let best = chances.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(&a.0))).map_or(0, |x| x.0);
            self.label(best).clone_into(&mut before);
            said.push(before.clone());
            out.best.push(best);
            out.chances.push(chances);
        }
        out.acts = self.act.read(&view.whole(&said), self.acts.len(), Choice::Any);
        out.taken = out.acts.iter().enumerate().filter(|(_, p)| **p > TAKEN).map(|x| x.0).collect();
        // Something was said: if nothing is likely, the likeliest is taken, and the confidence tells how unsure that is.
        let quiet = |l: usize| matches!(self.label(l), labels::NONE | labels::HOST | labels::WITH);
        if out.taken.is_empty() && out.best.iter().all(|b| quiet(*b)) {
            let act = out.acts.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(&a.0))).map(|(a, p)| (a, *p));
            let of = |(m, chances): (usize, &Vec<f32>)| {
                let top = chances.iter().enumerate().filter(|(l, _)| !quiet(*l)).max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(&a.0)))?;
                Some((m, top.0, *top.1))
            };
            let mention = out.chances.iter().enumerate().filter_map(of).max_by(|a, b| a.2.total_cmp(&b.2).then(b.0.cmp(&a.0)));
            match (act, mention) {
                (a, Some((m, l, p))) if p > SILENT && a.is_none_or(|a| a.1 < p) => {
                    if let Some(slot) = out.best.get_mut(m) {
                        *slot = l;
                    }
                }
                (Some((a, p)), _) if p > SILENT => out.taken.push(a),
                _ => {}
            }
        }
        out
    }

    /// How likely each kind of act is, to the second voice: from the words with their names masked, whatever else was read in them.
    pub fn voice(&self, chart: &Chart<'_>, mentions: &[Mention], context: &Context) -> BTreeMap<String, f32> {
        let chances = self.network.read(&UtteranceView::new(chart, mentions, context).places());
        self.kinds.iter().cloned().zip(chances).collect()
    }

    /// The logarithm of the guess's probability, and that of a given labelling. A label never seen counts as improbable.
    pub fn compare(&self, guess: &Guess, given: &Labels) -> (f32, f32) {
        let log = |p: f32| p.clamp(1e-5, 1.0).ln();
        let (mut ours, mut theirs) = (0.0, 0.0);
        for (m, chances) in guess.chances.iter().enumerate() {
            let at = |l: usize| log(chances.get(l).copied().unwrap_or(0.0));
            ours += guess.best.get(m).map_or(0.0, |l| at(*l));
            let label = given.mentions.get(m).and_then(|g| self.labels.iter().position(|l| l == g));
            theirs += label.map_or(log(1e-4), at);
        }
        for (a, p) in guess.acts.iter().enumerate() {
            let p_of = |holds: bool| if holds { log(*p) } else { log(1.0 - *p) };
            ours += p_of(guess.taken.contains(&a));
            theirs += p_of(self.acts.get(a).is_some_and(|l| given.acts.contains(l)));
        }
        let strange = given.acts.iter().filter(|a| !self.acts.contains(a)).count();
        #[expect(clippy::cast_precision_loss, reason = "a few acts")]
        let strange = strange as f32;
        (ours, theirs + strange * log(1e-4))
    }
}
