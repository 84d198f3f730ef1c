//! How far a reading can be trusted: what the voices say of it, judged by linear models that are fitted on utterances held out of the rest.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use super::features::Sink;
use super::weights::{Choice, Weights};
use super::{ASKED, kinds};
use crate::term::{Atom, Term};
use crate::understand::Heard;
use crate::understand::embedded::IRRELEVANT;
use crate::understand::embedded::chart::Chart;

/// A reading of an utterance.
#[derive(Clone, Debug, Default)]
pub struct Candidate {
    /// What was read, and how sure the reader is of it.
    pub heard: Heard,
    /// Whether the labels of what was learned read it, not the patterns.
    pub learned: bool,
    /// How likely its labels are, and how much likelier than those of the other reading, as logarithms.
    pub likely: f32,
    /// See [`Self::likely`].
    pub ahead: f32,
    /// What speaks against it beside the other reading.
    pub doubts: Vec<&'static str>,
}

/// What the clause of an act tells.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clause {
    /// A word beside names and fillers.
    pub carries: bool,
    /// A word that denies and that the reading does not account for.
    pub denied: bool,
    /// A question, or words that only half mean what they say.
    pub doubted: bool,
    /// Words that the reading does not account for.
    pub uncovered: bool,
    /// It is told of another time: yesterday, next week.
    pub elsewhen: bool,
    /// It speaks of one thing, by a pronoun, where several were just told of.
    pub vague: bool,
    /// It asks what is so.
    pub asks: bool,
}

/// What stands to be judged: the reading, the other one, and the likelihood of each kind of act to the second voice.
pub struct Evidence<'a> {
    /// The reading.
    pub of: &'a Candidate,
    /// The other reader's.
    pub other: Option<&'a Candidate>,
    /// By kind of act; empty without a second voice.
    pub voice: &'a BTreeMap<String, f32>,
    /// How many words were said.
    words: usize,
    /// The features of the reading, once somebody asked.
    whole: OnceCell<Sink>,
}

/// The two models of a role.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trust {
    /// Whether all of a reading is meant.
    pub reading: Weights,
    /// Whether an act is to be done; whether it is to be asked back.
    pub act: Weights,
}

/// A row to fit a model with: features, classes, weight.
pub type Row = (Vec<u32>, Vec<usize>, f32);

/// Levels of a likelihood.
const LEVELS: [f32; 13] = [0.0005, 0.002, 0.01, 0.03, 0.07, 0.15, 0.3, 0.5, 0.7, 0.85, 0.94, 0.98, 0.995];
/// Levels of a logarithm of likelihoods.
const LOGARITHMS: [f32; 9] = [-12.0, -8.0, -5.0, -3.0, -1.5, -0.7, -0.3, -0.1, 3.0];

/// The names of levels.
const NUMBERS: [&str; 13] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"];

/// So many words more are a step in length.
const WORDS: usize = 4;

/// Predicates that do nothing.
pub(in crate::understand::embedded) fn quiet(a: &Atom) -> bool {
    a.args.is_empty() && [IRRELEVANT, "unclear", "greet"].contains(&&*a.name)
}

/// Whether two readings come to the same acts.
pub(super) fn same(a: &[Atom], b: &[Atom]) -> bool {
    let sorted = |list: &[Atom]| {
        let mut out: Vec<Atom> = list.iter().filter(|a| !quiet(a)).cloned().collect();
        out.sort();
        out
    };
    sorted(a) == sorted(b)
}

fn steps(out: &mut Sink, name: &str, tag: &str, value: f32, levels: &[f32]) {
    for (level, _) in NUMBERS.iter().zip(levels).filter(|(_, l)| value >= **l) {
        out.add(&[name, level]);
        out.add(&[name, level, tag]);
    }
}

/// How likely an act of this kind is to the second voice; nothing where it knows none.
pub fn said(voice: &BTreeMap<String, f32>, act: &Atom) -> Option<f32> {
    kinds(act).find_map(|k| voice.get(&k)).copied()
}

impl<'a> Evidence<'a> {
    /// What is known of one of the readings of an utterance.
    pub fn new(of: &'a Candidate, readings: &'a [Candidate], voice: &'a BTreeMap<String, f32>, chart: &Chart<'_>) -> Self {
        let words = chart.tokens.iter().filter(|t| t.punct().is_none()).count();
        Self { of, other: readings.iter().find(|o| o.learned != of.learned), voice, words, whole: OnceCell::new() }
    }

    fn source(&self) -> &'static str {
        match (self.of.learned, self.other) {
            (false, None) => "patterns alone",
            (true, None) => "labels alone",
            (false, Some(o)) if same(&self.of.heard.predicates, &o.heard.predicates) => "patterns agreed",
            (true, Some(o)) if same(&self.of.heard.predicates, &o.heard.predicates) => "labels agreed",
            (false, Some(o)) if o.heard.predicates.iter().all(quiet) => "patterns unheard",
            (true, Some(o)) if o.heard.predicates.iter().all(quiet) => "labels unheard",
            (false, Some(_)) => "patterns differ",
            (true, Some(_)) => "labels differ",
        }
    }

    fn whole(&self) -> Sink {
        self.whole.get_or_init(|| self.of_whole()).clone()
    }

    fn of_whole(&self) -> Sink {
        let mut out = Sink::default();
        let source = self.source();
        let heard = &self.of.heard;
        let acts = || heard.predicates.iter().filter(|a| !quiet(a));
        out.add(&["bias"]);
        out.add(&["source", source]);
        #[expect(clippy::cast_possible_truncation, reason = "a likelihood")]
        steps(&mut out, "sure", source, heard.confidence as f32, &LEVELS);
        steps(&mut out, "likely", source, self.of.likely, &LOGARITHMS);
        steps(&mut out, "ahead", source, self.of.ahead, &LOGARITHMS);
        let least = acts().filter_map(|a| said(self.voice, a)).fold(1.0, f32::min);
        steps(&mut out, "least", source, least, &LEVELS);
        let known: Vec<String> = heard.predicates.iter().flat_map(kinds).collect();
        // Of a kind and its subkinds one is enough.
        let read = |k: &str| known.iter().any(|o| o == k || o.starts_with(k) || k.starts_with(o.as_str()));
        let of = |asked: bool| {
            let listed = self.voice.iter().filter(|(k, _)| k.starts_with(ASKED) == asked && !read(k));
            listed.map(|v| *v.1).fold(0.0, f32::max)
        };
        steps(&mut out, "unread", source, of(false), &LEVELS);
        steps(&mut out, "half", source, of(true), &LEVELS);
        let count = acts().count().min(4).to_string();
        out.add(&["acts", &count]);
        out.add(&["acts", &count, source]);
        let uncovered = heard.uncovered.len().min(3).to_string();
        out.add(&["uncovered", &uncovered]);
        out.add(&["uncovered", &uncovered, source]);
        for doubt in &self.of.doubts {
            out.add(&["doubt", doubt]);
        }
        for doubt in self.other.into_iter().flat_map(|o| &o.doubts) {
            out.add(&["other's doubt", doubt]);
        }
        let long = (self.words / WORDS).min(5).to_string();
        out.add(&["long", &long]);
        out.add(&["long", &long, &count]);
        out.add(&["asks back", if heard.asks_back() { source } else { "-" }]);
        out.add(&["other asks back", if self.other.is_some_and(|o| o.heard.asks_back()) { source } else { "-" }]);
        for a in acts() {
            let kind = kinds(a).next().unwrap_or_default();
            out.add(&["kind", &kind]);
            out.add(&["kind", &kind, source]);
        }
        out
    }

    /// How likely an act of this kind is to the second voice to be asked back.
    fn half_said(&self, act: &Atom) -> f32 {
        kinds(act).find_map(|k| self.voice.get(&format!("{ASKED}{k}"))).copied().unwrap_or(0.0)
    }

    /// The features of the whole reading.
    pub fn reading(&self) -> Vec<u32> {
        self.whole().finish()
    }

    /// The features of one of its acts.
    pub fn act(&self, act: &Atom, clause: Clause, strange: bool) -> Vec<u32> {
        let mut out = self.whole();
        let kind = kinds(act).next().unwrap_or_default();
        out.add(&["own", &kind]);
        match said(self.voice, act) {
            Some(p) => steps(&mut out, "said", &kind, p, &LEVELS),
            None => out.add(&["unsaid", &kind]),
        }
        steps(&mut out, "own half", &kind, self.half_said(act), &LEVELS);
        let other = match self.other {
            None => "none",
            Some(o) if o.heard.predicates.contains(act) => "same",
            Some(o) if o.heard.predicates.iter().any(|a| a.name == act.name) => "like",
            Some(_) => "no",
        };
        out.add(&["other", other]);
        out.add(&["other", other, &kind]);
        let about = if act.args.iter().any(|a| matches!(a, Term::Str(_))) { "something" } else { "nothing" };
        let told = [
            ("carries", clause.carries),
            ("denied", clause.denied),
            ("doubted", clause.doubted),
            ("left", clause.uncovered),
            ("strange", strange),
            ("elsewhen", clause.elsewhen),
            ("vague", clause.vague),
            ("asks", clause.asks),
        ];
        for (name, holds) in told {
            let holds = if holds { "yes" } else { "no" };
            out.add(&[name, holds, about]);
            out.add(&[name, holds, &kind]);
        }
        out.finish()
    }
}

impl Trust {
    /// Fits both models.
    pub fn fit(readings: &[Row], acts: &[Row], rounds: usize, at_least: usize) -> Self {
        let examples = |rows: &[Row]| -> Vec<super::weights::Example> {
            rows.iter().map(|(f, c, w)| super::weights::Example { features: f.clone(), classes: c.clone(), weight: *w }).collect()
        };
        Self {
            reading: Weights::train(&examples(readings), 1, Choice::Any, rounds, at_least),
            act: Weights::train(&examples(acts), 2, Choice::Any, rounds, at_least),
        }
    }

    /// How likely all of a reading is meant.
    pub fn of_reading(&self, evidence: &Evidence<'_>) -> f32 {
        self.reading.read(&evidence.reading(), 1, Choice::Any).first().copied().unwrap_or(0.0)
    }

    /// How likely an act is to be done, and to be asked back.
    pub fn of_act(&self, evidence: &Evidence<'_>, act: &Atom, clause: Clause, strange: bool) -> (f32, f32) {
        let p = self.act.read(&evidence.act(act, clause, strange), 2, Choice::Any);
        (p.first().copied().unwrap_or(0.0), p.get(1).copied().unwrap_or(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(act: &str, learned: bool) -> Candidate {
        let heard = Heard { predicates: vec![Atom::parse(act).unwrap()], confidence: 0.99, ..Heard::default() };
        Candidate { heard, learned, ..Candidate::default() }
    }

    /// What the second voice hears is trusted, what it does not hear is not, however sure the patterns are.
    #[test]
    fn trust_follows_what_was_right_before() {
        let of = candidate("f(1)", false);
        let heard = BTreeMap::from([("f".to_owned(), 0.9)]);
        let unheard = BTreeMap::from([("f".to_owned(), 0.01)]);
        let evidence = |voice| Evidence { of: &of, other: None, voice, words: 4, whole: OnceCell::new() };
        let act = Atom::parse("f(1)").unwrap();
        let row = |voice, right: bool| (evidence(voice).act(&act, Clause::default(), false), if right { vec![0] } else { vec![] }, 1.0);
        let rows: Vec<Row> = (0..40).map(|i| row(if i % 2 == 0 { &heard } else { &unheard }, i % 2 == 0)).collect();
        let trust = Trust::fit(&rows, &rows, 20, 2);
        let of_act = |voice| trust.of_act(&evidence(voice), &act, Clause::default(), false).0;
        assert!(of_act(&heard) > 0.9 && of_act(&unheard) < 0.1, "{} {}", of_act(&heard), of_act(&unheard));
    }

    #[test]
    fn readings_that_differ_in_what_does_nothing_are_the_same() {
        let atoms = |list: &[&str]| list.iter().map(|a| Atom::parse(a).unwrap()).collect::<Vec<_>>();
        assert!(same(&atoms(&["f(1)", "greet"]), &atoms(&["f(1)"])) && same(&atoms(&["g", "f(1)"]), &atoms(&["f(1)", "g"])));
        assert!(!same(&atoms(&["f(1)", "f(1)"]), &atoms(&["f(1)"])));
    }
}
