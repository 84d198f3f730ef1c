//! What another translator read, held against the words: what nothing in them bears out is asked back.

use std::collections::BTreeMap;

use super::chart::Chart;
use super::gate::{AFFIRM, DONE, Verdict, against};
use super::learned::trust::{Clause, said};
use super::lines::names;
use super::text::{Kind, Token};
use super::{Embedded, data};
use crate::link::UNKNOWN;
use crate::term::{Atom, Name, Term};
use crate::text::{name_words, stem};
use crate::understand::llm::prompt::strings_of;
use crate::understand::{Context, Heard};

/// From which likelihood to the second voice a kind of act was said at all.
const HEARD: f32 = 0.1;
/// From which likeness on a word may be another misspelt.
const ALIKE: f64 = 0.85;

/// What the words say, to who doubts what another read in them.
struct Words<'a> {
    ear: &'a Embedded,
    chart: &'a Chart<'a>,
    context: &'a Context,
    voice: &'a BTreeMap<String, f32>,
    /// What the readings of these words hold.
    own: Vec<&'a Atom>,
}

impl Embedded {
    /// Of what another translator read, what the words bear out; `own` are the readings of the same words here.
    pub(super) fn borne_out(&self, context: &Context, chart: &Chart<'_>, own: &[Heard], voice: &BTreeMap<String, f32>, mut heard: Heard) -> Heard {
        let own = own.iter().flat_map(|h| h.predicates.iter().chain(&h.asks)).collect();
        let words = Words { ear: self, chart, context, voice, own };
        let (kept, doubted): (Vec<Atom>, Vec<Atom>) = std::mem::take(&mut heard.predicates).into_iter().partition(|a| words.bear(a));
        heard.predicates = kept;
        for act in doubted {
            if !heard.asks.contains(&act) {
                heard.asks.push(act);
            }
        }
        heard.words = vec![vec![]; heard.predicates.len()];
        // How far another's readings can be trusted was not fitted: the words and the second voice must not speak against it.
        let believed = |act: &Atom, clause: Clause| match against(clause) {
            _ if !self.is_costly(act, context) => Verdict::Do,
            Some(verdict) => verdict,
            None if clause.uncovered || said(voice, act).is_some_and(|p| p < DONE) => Verdict::Ask,
            None => Verdict::Do,
        };
        self.sift(&mut heard, believed, context, chart);
        if !heard.asks.is_empty() {
            heard.confidence /= 2.0;
        }
        heard
    }
}

impl Words<'_> {
    /// Whether the words bear out an act of lines: what it is about, how many, and that something is taken away.
    fn bear(&self, act: &Atom) -> bool {
        let Some(config) = self.ear.model.lines.as_ref().map(|l| &l.config) else { return true };
        if !of_lines(config).contains(&&*act.name) || self.own.contains(&act) {
            return true;
        }
        let named = self.is_named(act, config);
        named && self.is_counted(act, config) && (!taking(config).contains(&&*act.name) || self.is_told(&taking(config)) || self.is_agreed(act))
    }

    /// Whether every name is said, or was spoken of just before by who says now what is to become of it.
    fn is_named(&self, act: &Atom, config: &data::Lines) -> bool {
        let (said, unsaid): (Vec<Name>, Vec<Name>) = strings_of(act).into_iter().partition(|n| self.says(n, config));
        unsaid.iter().all(|n| self.is_known(n)) && (!said.is_empty() || self.is_told(&of_lines(config)) || self.is_agreed(act))
    }

    /// Whether some word may be one of the name's, by whatever synonym, or of its kind.
    fn says(&self, name: &Name, config: &data::Lines) -> bool {
        let chart = self.chart;
        let linked = |id: usize| chart.name(id).as_ref() == Some(name);
        let own: Vec<String> = name_words(name).iter().map(|w| stem(w)).collect();
        let kinds = self.ear.knowledge.second(&config.kind, name);
        let resembles = |t: &Token| {
            let word = stem(&t.text);
            let spelt = t.readings().any(|r| r.0 != UNKNOWN && own.contains(&self.ear.knowledge.words.stem_of(r.0).to_owned()));
            spelt || own.iter().any(|o| strsim::jaro_winkler(o, &word) > ALIKE) || kinds.iter().any(|k| stem(k) == word)
        };
        chart.names.iter().flat_map(|e| &e.candidates).any(|c| linked(c.name)) || chart.tokens.iter().filter(|t| self.ear.says(t)).any(resembles)
    }

    /// Whether it was spoken of before.
    fn is_known(&self, name: &Name) -> bool {
        let context = self.context;
        let spoken = || context.last_actions.iter().chain(&context.said_before).flat_map(|a| &a.args).any(|t| names(t, name));
        context.view.names_item(name) || spoken() || context.asked.iter().flat_map(|a| &a.candidates).any(|c| c == name)
    }

    /// Whether the words say that something of these kinds is done: to the second voice, or in a reading of their own.
    fn is_told(&self, kinds: &[&str]) -> bool {
        kinds.iter().any(|k| self.voice.get(*k).is_some_and(|p| *p >= HEARD)) || self.own.iter().any(|a| kinds.contains(&&*a.name))
    }

    /// Whether the words agree to what was told of its names.
    fn is_agreed(&self, act: &Atom) -> bool {
        let told = |n: &Name| self.context.last_actions.iter().flat_map(|a| &a.args).any(|t| names(t, n));
        self.is_told(&[AFFIRM]) && strings_of(act).iter().all(told)
    }

    /// Whether the words say how many, where it is several: in a number, in as many parts ("one for me, and ditto for her"), or by what was said of
    /// it before.
    fn is_counted(&self, act: &Atom, config: &data::Lines) -> bool {
        let counts = [&config.add, &config.quantity].iter().any(|n| **n == *act.name);
        let Some(count) = act.args.iter().find_map(|t| if let Term::Int(n) = t { Some(*n) } else { None }).filter(|n| counts && *n > 1) else { return true };
        let (chart, model) = (self.chart, &self.ear.model);
        let number = |at: usize| chart.tokens.get(at).is_some_and(|t| matches!(t.kind, Kind::Number { .. })) || model.numbers.whole(chart.tokens, at).is_some();
        let joins = |t: &&Token| t.punct() == Some(',') || model.phrase.has("list", t.id);
        let parts = i32::try_from(1 + chart.tokens.iter().filter(joins).count()).unwrap_or(i32::MAX);
        let both = |t: &Token| model.phrase.has("both", t.id);
        let before = || {
            let context = self.context;
            let lines = context.view.lines().iter().filter(|l| act.args.iter().any(|t| names(t, &l.item))).count();
            let spoken = context.last_actions.iter().chain(&context.said_before).any(|a| a.args.contains(&Term::Int(count)));
            spoken || i32::try_from(lines).is_ok_and(|n| n == count)
        };
        let again = || strings_of(act).iter().all(|n| !self.says(n, config)) && before();
        count <= parts || (0..chart.tokens.len()).any(number) || chart.tokens.iter().any(both) || again() || self.is_agreed(act) && before()
    }
}

/// The kinds of acts by which things are ordered, counted, changed and taken away.
fn of_lines(config: &data::Lines) -> [&str; 6] {
    [&config.add, &config.quantity, &config.remove, &config.replace, &config.change, &config.member].map(String::as_str)
}

/// Those by which something is taken away.
fn taking(config: &data::Lines) -> [&str; 2] {
    [&config.remove, &config.replace].map(String::as_str)
}
