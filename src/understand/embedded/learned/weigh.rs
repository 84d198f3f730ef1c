//! Two readings of one utterance, by patterns and by what was learned.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::decode::{Patterns, decode};
use super::labels::{Labels, NONE, labels};
use super::mentions::{Mention, apart, fresh, fresh_and_said, mentions};
use super::trust::{Candidate, Trust, quiet};
use super::weights::exp;
use super::{Learned, RoleModel};
use crate::term::{Atom, Name, Term};
use crate::understand::embedded::chart::Chart;
use crate::understand::embedded::lines::names;
use crate::understand::embedded::model::RoleGrammar;
use crate::understand::embedded::reading::finish;
use crate::understand::embedded::resolve::Resolver;
use crate::understand::embedded::text::Token;
use crate::understand::embedded::{Embedded, Part, bytes};
use crate::understand::{Context, Heard, Unsure};

/// A learned model with the patterns of its labels.
#[derive(Debug)]
pub struct Taught {
    model: Learned,
    patterns: BTreeMap<Name, Patterns>,
}

/// So many mentions count as one utterance: in long ones, doubts about single mentions add up.
const MENTIONS: f32 = 3.0;

/// What labels amount to.
struct Second {
    out: Vec<(Atom, Range<usize>)>,
    unsure: Vec<Unsure>,
    name_score: f32,
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
        model.voice(chart, &said, context)
    }

    /// The readings of an utterance: that of the patterns, and that of what was learned where it has one.
    pub(in crate::understand::embedded) fn candidates(
        &self,
        text: &str,
        context: &Context,
        grammar: &RoleGrammar,
        chart: &Chart<'_>,
        heard: Heard,
        voice: &BTreeMap<String, f32>,
    ) -> Vec<Candidate> {
        let mut patterns = Candidate { heard, ..Candidate::default() };
        let second = self.second(text, context, grammar, (chart, voice), &mut patterns);
        let mut out: Vec<Candidate> = std::iter::once(patterns).chain(second).collect();
        for c in &mut out {
            for act in &mut c.heard.predicates {
                if let Some(changed) = self.absolute(chart.tokens, act, context) {
                    *act = changed;
                    // The word for what the number is of.
                    let unit = |r: &Range<usize>| chart.tokens.iter().any(|t| t.range == *r && self.model.phrase.has("percent", t.id));
                    c.heard.uncovered.retain(|r| !unit(r));
                }
            }
        }
        out
    }

    fn second(
        &self,
        text: &str,
        context: &Context,
        grammar: &RoleGrammar,
        (chart, voice): (&Chart<'_>, &BTreeMap<String, f32>),
        patterns: &mut Candidate,
    ) -> Option<Candidate> {
        let taught = self.learned.as_ref().filter(|_| !self.without.contains(&Part::Learned))?;
        let heard = &patterns.heard;
        // What the engine asked about a name, and code, are no matter of wording; of names that nothing bears little was learned.
        let unsold = heard.predicates.iter().any(|a| self.is_strange(a));
        // A number with a sign is none of those that labels know.
        let signed = chart.tokens.iter().any(|t| self.model.phrase.has("minus", t.id));
        if unsold || signed || !context.asked.is_empty() || !text.chars().any(char::is_alphanumeric) {
            return None;
        }
        let (model, label_patterns) = (taught.model.roles.get(&context.role)?, taught.patterns.get(&context.role)?);
        let new = fresh_and_said(chart, text, &heard.predicates);
        let mut said = mentions(chart, &new);
        let mut guess = model.guess(chart, &said, context, label_patterns, voice);
        if let Some(others) = apart(chart, &new, &said, |m| guess.best.get(m).is_some_and(|l| model.label(*l) == NONE)) {
            guess = model.guess(chart, &others, context, label_patterns, voice);
            said = others;
        }
        let given = labels(chart, &said, &heard.predicates, context);
        let (second, lost) = resolve(chart, grammar, label_patterns, model, &said, &guess.best, &guess.taken, context);
        let (ours, theirs) = model.compare(&guess, &given);
        #[expect(clippy::cast_precision_loss, reason = "a few mentions")]
        let long = (said.len() as f32 / MENTIONS).max(1.0);
        (patterns.likely, patterns.ahead) = (theirs / long, (theirs - ours) / long);
        // What labels cannot say they do not say against it either.
        if given.lost > 0 {
            patterns.doubts.push("beyond labels");
        }
        // A name that could be several is asked about as the patterns ask.
        if second.out.is_empty() && (second.unsure.is_empty() || !heard.unsure.is_empty()) {
            return None;
        }
        // A thing that is named by itself is no small talk.
        let bare = |t: &Token| t.punct().is_some() || ["indefinite", "definite"].iter().any(|kind| self.model.phrase.has(kind, t.id));
        let read = |i: usize| chart.names.iter().any(|e| (e.start..e.end).contains(&i));
        let named = || chart.tokens.iter().enumerate().all(|(i, t)| bare(t) || self.model.fillers.contains(&t.id) || read(i));
        if !second.out.is_empty() && second.out.iter().all(|o| quiet(&o.0)) && named() {
            return None;
        }
        let said_so: Vec<&Atom> = second.out.iter().map(|o| &o.0).collect();
        // "The same again": labels know the thing, not what was copied of it.
        let of_phrase = |words: &Vec<Range<usize>>| heard.predicates.iter().zip(&heard.words).any(|(a, w)| w == words && said_so.contains(&a));
        let mut missing = heard.predicates.iter().zip(&heard.words).filter(|(a, _)| !said_so.contains(a)).peekable();
        let heard_too = said_so.iter().all(|a| heard.predicates.contains(a));
        if heard_too && missing.peek().is_some() && missing.all(|(_, words)| of_phrase(words)) {
            return None;
        }
        // Of what one phrase says that names nothing of it they know nothing at all.
        let whole = heard.words.iter().all(|w| heard.words.first() == Some(w))
            && heard.predicates.iter().any(|a| heard.predicates.first().is_some_and(|f| f.name != a.name));
        let held = |name: &Name| heard.predicates.iter().flat_map(|a| &a.args).any(|t| names(t, name));
        let told = |m: &Mention| m.candidates(chart).iter().filter_map(|c| chart.name(c.name)).any(|name| held(&name));
        if whole && !said.iter().any(told) {
            return None;
        }
        let doubts = doubts(heard, &said_so, lost);
        let mut out = Heard { by: heard.by, confidence: f64::from(second.name_score * exp(ours / 2.0)).clamp(0.0, 1.0), ..Heard::default() };
        out.unsure = second.unsure;
        let read = |i: usize| said.iter().any(|m| (m.start..m.end).contains(&i));
        let left = (0..chart.tokens.len()).filter(|i| chart.strange(*i) && !read(*i));
        out.uncovered = left.filter_map(|i| Some(chart.tokens.get(i)?.range.clone())).collect();
        // Who reads the same has left unread what the patterns left: "don't mark the beans as out".
        if heard_too {
            out.uncovered.retain(|r| !heard.uncovered.contains(r));
            out.uncovered.splice(0..0, heard.uncovered.iter().cloned());
        }
        for (atom, span) in second.out {
            out.predicates.push(atom);
            out.words.push(vec![bytes(chart.tokens, &span)]);
        }
        Some(Candidate { heard: out, learned: true, likely: ours / long, ahead: (ours - theirs) / long, doubts })
    }

    /// How far the readings of a role can be trusted; `None` where nothing was learned.
    pub(in crate::understand::embedded) fn trust(&self, context: &Context) -> Option<&Trust> {
        Some(&self.learned.as_ref()?.model.roles.get(&context.role)?.trust).filter(|t| !t.reading.is_empty())
    }
}

/// What speaks against the labels' reading beside that of the patterns: what it left out or tore apart.
fn doubts(heard: &Heard, said_so: &[&Atom], lost: usize) -> Vec<&'static str> {
    // Two values of one thing, or of an act less than the patterns heard.
    let two = |a: &Atom, b: &Atom| a.name == b.name && a.args.len() > 2 && a.args.split_last().map(|x| x.1) == b.args.split_last().map(|x| x.1);
    let values = |a: &Atom| matches!(a.args.last(), Some(Term::Int(_)));
    let less = |a: &Atom, b: &Atom| a.name == b.name && a.args.len() < b.args.len() && b.args.starts_with(&a.args);
    let torn = said_so.iter().enumerate().any(|(i, a)| values(a) && said_so.iter().skip(i + 1).any(|b| *a != *b && values(b) && two(a, b)));
    let mut missing = heard.predicates.iter().filter(|a| !said_so.contains(a)).peekable();
    let part = said_so.iter().all(|a| heard.predicates.contains(a)) && missing.peek().is_some();
    // Of a thing that the patterns hear asked for it only tells what is to be changed.
    let of_it = |a: &Atom| {
        let thing = a.args.first().filter(|t| matches!(t, Term::Str(_))).cloned();
        said_so.iter().filter(move |b| thing.is_some() && b.args.first() == thing.as_ref())
    };
    let apart = heard.predicates.iter().any(|a| of_it(a).next().is_some() && of_it(a).all(|b| b.name != a.name));
    let found = [
        ("lost", lost > 0),
        ("apart", apart),
        ("torn", torn),
        ("fewer", part && missing.all(|a| said_so.iter().any(|b| a.name == b.name))),
        ("less", said_so.iter().any(|a| heard.predicates.iter().any(|b| less(a, b) && !said_so.contains(&b)))),
    ];
    found.into_iter().filter(|f| f.1).map(|f| f.0).collect()
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
    let decoded = decode(chart, patterns, model, said, labels, acts, context);
    let path: Vec<usize> = (0..decoded.edges.len()).collect();
    let mut resolver = Resolver::new(chart, grammar, context);
    resolver.looks_ahead = false;
    resolver.run(&decoded.edges, &path, &decoded.after);
    let unsure = std::mem::take(&mut resolver.unsure).into_iter().map(|u| u.1).collect();
    let name_score = resolver.name_score;
    (Second { out: finish(resolver), unsure, name_score }, decoded.lost)
}
