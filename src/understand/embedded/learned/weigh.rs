//! Two readings of one utterance, by patterns and by what was learned: which one stands.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::decode::{Patterns, decode};
use super::labels::{Labels, labels};
use super::mentions::{Mention, fresh, fresh_and_said, mentions};
use super::weights::exp;
use super::{Learned, RoleModel};
use crate::term::{Atom, Name, Term};
use crate::understand::embedded::chart::Chart;
use crate::understand::embedded::model::RoleGrammar;
use crate::understand::embedded::resolve::Resolver;
use crate::understand::embedded::{Embedded, IRRELEVANT, Part, bytes, finish};
use crate::understand::{Context, Heard, Unsure};

/// A learned model with the patterns of its labels.
#[derive(Debug)]
pub struct Taught {
    model: Learned,
    patterns: BTreeMap<Name, Patterns>,
}

/// How much likelier the learned reading must be, as a logarithm, by how sure the patterns are of theirs; where they are sure, it has no say.
const AHEAD_OF_LIKELY: f32 = 5.0;
const AHEAD_OF_UNSURE: f32 = 1.0;
/// From which confidence on the patterns are sure, and from which on they are likely right.
const SURE: f64 = 0.95;
const LIKELY: f64 = 0.6;
/// How likely the learned reading must be where the patterns have none, as a logarithm.
const LIKELY_ALONE: f32 = -1.4;
/// So many mentions count as one utterance: in long ones, doubts about single mentions add up.
const MENTIONS: f32 = 3.0;

/// What was learned, applied to an utterance.
struct Second {
    out: Vec<(Atom, Range<usize>)>,
    unsure: Vec<Unsure>,
    name_score: f32,
    /// Logarithms of the probabilities of its own labels and of those that the other reading amounts to.
    ours: f32,
    theirs: f32,
    /// Mentions with a label that no predicate could be made of.
    lost: usize,
    /// Mentions in all.
    mentions: usize,
}

impl Second {
    fn stands(&self, confidence: f64) -> bool {
        if self.lost > 0 || (self.out.is_empty() && self.unsure.is_empty()) {
            return false;
        }
        #[expect(clippy::cast_precision_loss, reason = "a few mentions")]
        let ahead = (self.ours - self.theirs) / (self.mentions as f32 / MENTIONS).max(1.0);
        match confidence {
            c if c <= 0.0 => self.ours > LIKELY_ALONE,
            c if c >= LIKELY => ahead > AHEAD_OF_LIKELY,
            _ => ahead > AHEAD_OF_UNSURE,
        }
    }
}

impl Embedded {
    /// The same translator with what was learned, in place of what it had learned before.
    #[must_use]
    pub fn with_learned(&self, learned: Learned) -> Self {
        let mut model = (*self.model).clone();
        let patterns = learned.roles.iter().map(|(role, of_role)| (role.clone(), Patterns::add(role, of_role, &mut model))).collect();
        Self { model: Arc::new(model), learned: Some(Arc::new(Taught { model: learned, patterns })), ..self.clone() }
    }

    /// Calls with the chart of an utterance; `None` if the role has no grammar.
    pub fn with_chart<T>(&self, text: &str, context: &Context, f: impl FnOnce(&Chart<'_>, &RoleGrammar) -> T) -> Option<T> {
        let (tokens, _) = self.tokens(text);
        let grammar = self.model.roles.get(&context.role)?;
        let extra = self.extra(context);
        Some(f(&self.chart(&tokens, &extra, context, grammar), grammar))
    }

    /// The predicates that the labels of given predicates are read as: the same ones, where labels can express them.
    pub fn through_labels(&self, text: &str, context: &Context, given: &[Atom]) -> Option<(Vec<Atom>, Labels)> {
        let taught = self.learned.as_ref()?;
        let (model, patterns) = (taught.model.roles.get(&context.role)?, taught.patterns.get(&context.role)?);
        self.with_chart(text, context, |chart, grammar| {
            let said = mentions(chart, &fresh_and_said(chart, text, given));
            let labels = labels(chart, &said, given, context);
            let number = |list: &[String], l: &String| list.iter().position(|k| k == l);
            let of_mentions: Vec<usize> = labels.mentions.iter().map(|l| number(&model.labels, l).unwrap_or(usize::MAX)).collect();
            let acts: Vec<usize> = labels.acts.iter().filter_map(|l| number(&model.acts, l)).collect();
            let (out, _) = resolve(chart, grammar, patterns, model, &said, &of_mentions, &acts, context);
            (out.out.into_iter().map(|o| o.0).collect(), labels)
        })
    }

    /// How likely each kind of act is, to the second voice; nothing where there is none.
    pub(in crate::understand::embedded) fn voice(&self, text: &str, context: &Context, chart: &Chart<'_>) -> BTreeMap<String, f32> {
        let learned = self.learned.as_ref().filter(|_| !self.without.contains(&Part::Voice));
        let Some(model) = learned.and_then(|t| t.model.roles.get(&context.role)) else { return BTreeMap::new() };
        let said = mentions(chart, &fresh(chart, text));
        model.voice(chart, &said, context).into_iter().map(|(k, p)| (k.to_owned(), p)).collect()
    }

    /// Lets what was learned read the words too, and returns the reading that stands.
    pub(in crate::understand::embedded) fn weigh(
        &self,
        taught: &Taught,
        text: &str,
        context: &Context,
        grammar: &RoleGrammar,
        chart: &Chart<'_>,
        heard: Heard,
    ) -> Heard {
        let (Some(model), Some(patterns)) = (taught.model.roles.get(&context.role), taught.patterns.get(&context.role)) else { return heard };
        let nothing = heard.unsure.is_empty() && heard.predicates.iter().all(|a| *a.name == *IRRELEVANT) && heard.confidence <= LIKELY;
        // Where the patterns are sure what was learned has no say.
        if !nothing && heard.confidence >= SURE {
            return heard;
        }
        // A guess that leaves out what the patterns heard of would lose it silently: there the patterns stand.
        if !nothing && heard.predicates.iter().flat_map(|a| &a.args).any(|t| matches!(t, Term::Str(name) if self.knowledge.names.find(name).is_none())) {
            return heard;
        }
        // A number with a sign is none of the numbers that the labels know.
        if chart.tokens.iter().any(|t| self.model.phrase.has("minus", t.id)) {
            return heard;
        }
        let said = mentions(chart, &fresh_and_said(chart, text, &heard.predicates));
        let guess = model.guess(chart, &said, context, patterns);
        let given = labels(chart, &said, &heard.predicates, context);
        let (mut second, lost) = resolve(chart, grammar, patterns, model, &said, &guess.best, &guess.taken, context);
        (second.ours, second.theirs) = model.compare(&guess, &given);
        second.lost = lost;
        if !second.stands(if nothing { 0.0 } else { heard.confidence }) {
            return heard;
        }
        let unsure = if second.unsure.is_empty() { 1.0 } else { 0.5 };
        let mut out = Heard { by: heard.by, confidence: f64::from(second.name_score * exp(second.ours / 2.0) * unsure), ..Heard::default() };
        out.confidence = out.confidence.clamp(0.05, 0.95);
        out.unsure = second.unsure;
        let read = |i: usize| said.iter().any(|m| (m.start..m.end).contains(&i));
        let strange = (0..chart.tokens.len()).filter(|i| chart.strange(*i) && !read(*i));
        out.uncovered = strange.filter_map(|i| Some(chart.tokens.get(i)?.range.clone())).collect();
        for (atom, span) in second.out {
            out.predicates.push(atom);
            out.words.push(vec![bytes(chart.tokens, &span)]);
        }
        out
    }
}

/// Makes predicates of labels; the number beside them counts the mentions that none could be made of.
fn resolve(
    chart: &Chart<'_>,
    grammar: &RoleGrammar,
    patterns: &Patterns,
    model: &RoleModel,
    said: &[Mention],
    labels: &[usize],
    acts: &[usize],
    context: &Context,
) -> (Second, usize) {
    let decoded = decode(chart, grammar, patterns, model, said, labels, acts, context);
    let path: Vec<usize> = (0..decoded.edges.len()).collect();
    let mut resolver = Resolver::new(chart, grammar, context);
    resolver.looks_ahead = false;
    resolver.run(&decoded.edges, &path, &decoded.after);
    let unsure = std::mem::take(&mut resolver.unsure).into_iter().map(|u| u.1).collect();
    let name_score = resolver.name_score;
    (Second { out: finish(resolver), unsure, name_score, ours: 0.0, theirs: 0.0, lost: 0, mentions: said.len() }, decoded.lost)
}
