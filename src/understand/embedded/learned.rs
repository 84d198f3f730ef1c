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
const SILENT: f32 = 0.2;
/// From which probability on the second voice is sure of a kind of act.
const HEARD: f32 = 0.9;
/// From which probability on a mention may be what it is sure of.
const RECALLED: f32 = 0.1;

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

impl Guess {
    /// Gives a mention another label.
    fn mean(&mut self, mention: usize, label: usize) {
        if let Some(slot) = self.best.get_mut(mention) {
            *slot = label;
        }
    }
}

/// The first of the likeliest.
fn likeliest(chances: impl Iterator<Item = (usize, f32)>) -> Option<(usize, f32)> {
    chances.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))
}

/// What two voices come to together: the mean of what speaks for and against.
fn between(one: f32, other: f32) -> f32 {
    let product = |a: f32, b: f32| (a.clamp(1e-4, 1.0) * b.clamp(1e-4, 1.0)).sqrt();
    let (holds, fails) = (product(one, other), product(1.0 - one, 1.0 - other));
    holds / (holds + fails)
}

impl RoleModel {
    fn label(&self, at: usize) -> &str {
        self.labels.get(at).map_or("", |l| l)
    }

    /// Labels the mentions from left to right, then the whole. What the second voice is sure of is looked for once more among what the
    /// labels take to mean nothing.
    pub fn guess(&self, chart: &Chart<'_>, mentions: &[Mention], context: &Context, patterns: &Patterns, voice: &BTreeMap<String, f32>) -> Guess {
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
            let best = likeliest(chances.iter().copied().enumerate()).map_or(0, |x| x.0);
            self.label(best).clone_into(&mut before);
            said.push(before.clone());
            out.best.push(best);
            out.chances.push(chances);
        }
        out.acts = self.act.read(&view.whole(&said), self.acts.len(), Choice::Any);
        out.taken = out.acts.iter().enumerate().filter(|(_, p)| **p > TAKEN).map(|x| x.0).collect();
        for (kind, _) in voice.iter().filter(|(_, p)| **p >= HEARD) {
            self.recall(kind, &mut out);
        }
        // Something was said: if nothing is likely, the likeliest is taken, and the confidence tells how unsure that is.
        if self.is_silent(&out) {
            let of = |(a, p): (usize, &f32)| {
                let heard = self.acts.get(a).and_then(|l| voice.get(l));
                (a, heard.map_or(*p, |v| between(*p, *v)))
            };
            let act = likeliest(out.acts.iter().enumerate().map(of));
            match (act, self.likeliest_mention(&out, |_| true)) {
                (a, Some((m, l, p))) if p > SILENT && a.is_none_or(|a| a.1 < p) => out.mean(m, l),
                (Some((a, p)), _) if p > SILENT => out.taken.push(a),
                _ => {}
            }
        }
        out
    }

    fn is_quiet(&self, label: usize) -> bool {
        matches!(self.label(label), labels::NONE | labels::HOST | labels::WITH)
    }

    fn is_silent(&self, guess: &Guess) -> bool {
        guess.taken.is_empty() && guess.best.iter().all(|b| self.is_quiet(*b))
    }

    /// The mention that is likeliest to be something said of a sort, though it is taken to mean nothing, with its label.
    fn likeliest_mention(&self, guess: &Guess, of: impl Fn(&str) -> bool) -> Option<(usize, usize, f32)> {
        let idle = guess.chances.iter().enumerate().filter(|(m, _)| guess.best.get(*m).is_some_and(|b| self.is_quiet(*b)));
        let top = idle.filter_map(|(m, chances)| {
            let (l, p) = likeliest(chances.iter().copied().enumerate().filter(|(l, _)| !self.is_quiet(*l)))?;
            of(self.label(l)).then_some((m, l, p))
        });
        top.max_by(|a, b| a.2.total_cmp(&b.2).then(b.0.cmp(&a.0)))
    }

    /// Takes what is of a kind and may be said, where nothing else of the kind is.
    fn recall(&self, kind: &str, guess: &mut Guess) {
        let is = |label: &str| label.split("; ").any(|l| l.split('(').next() == Some(kind));
        let said = guess.best.iter().any(|b| is(self.label(*b))) || guess.taken.iter().any(|a| self.acts.get(*a).is_some_and(|l| is(l)));
        if let Some((m, l, _)) = self.likeliest_mention(guess, is).filter(|(.., p)| !said && *p >= RECALLED) {
            guess.mean(m, l);
        }
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
