//! Features of mentions and of whole utterances: words around, sorts, order, and what the conversation is about.

use super::mentions::{Kind, Mention};
use super::network::View;
use crate::link::UNKNOWN;
use crate::term::{Atom, Name, Term};
use crate::understand::Context;
use crate::understand::embedded::chart::Chart;
use crate::understand::embedded::lines::names;
use crate::understand::embedded::phrase::{Article, Head, Which};
use crate::understand::embedded::text;

/// A place of the utterance: a word, a mark or a mention.
struct Place {
    text: String,
    mention: Option<usize>,
    mark: bool,
}

/// What features are read from.
pub struct UtteranceView {
    places: Vec<Place>,
    /// Where each mention stands among the places.
    at: Vec<usize>,
    about: Vec<String>,
    own: Vec<Vec<String>>,
}

/// How many letters of a word are a feature of their own.
const BEGINNINGS: [usize; 2] = [4, 5];

/// Collects hashes.
#[derive(Clone, Default)]
pub(super) struct Sink(Vec<u32>);

impl Sink {
    pub(super) fn add(&mut self, parts: &[&str]) {
        let mut hash = 0x811c_9dc5u32;
        for part in parts {
            for byte in part.bytes().chain([0x1f]) {
                hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
            }
        }
        // The hash's low bits mix well only after a last stir.
        hash ^= hash >> 15;
        self.0.push(hash.wrapping_mul(0x2c1b_3c6d) ^ (hash >> 13));
    }

    pub(super) fn finish(mut self) -> Vec<u32> {
        self.0.sort_unstable();
        self.0.dedup();
        self.0
    }
}

impl UtteranceView {
    /// Looks at an utterance.
    pub fn new(chart: &Chart<'_>, mentions: &[Mention], context: &Context) -> Self {
        let mut places = vec![];
        let mut at = vec![];
        let mut i = 0;
        let mut next = 0;
        while i < chart.tokens.len() {
            if let Some(m) = mentions.get(next).filter(|m| m.start == i) {
                at.push(places.len());
                places.push(Place { text: symbol(chart, m), mention: Some(next), mark: false });
                i = m.end.max(i + 1);
                next += 1;
                continue;
            }
            if let Some(t) = chart.tokens.get(i) {
                places.push(Place { text: word(chart, t), mention: None, mark: t.punct().is_some() });
            }
            i += 1;
        }
        let own = mentions.iter().map(|m| properties(chart, m, context)).collect();
        Self { places, at, about: about(context), own }
    }

    /// Each mention's symbol and properties.
    fn mentioned(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.at.iter().zip(&self.own).map(|(at, own)| (self.text(Some(*at)), own.as_slice()))
    }

    fn text(&self, at: Option<usize>) -> &str {
        at.and_then(|i| self.places.get(i)).map_or("_", |p| &p.text)
    }

    /// The features of a mention; `before` is the label of the mention to its left.
    pub fn mention(&self, m: usize, before: &str) -> Vec<u32> {
        let mut out = Sink::default();
        let Some(&at) = self.at.get(m) else { return vec![] };
        let me = self.text(Some(at)).to_owned();
        out.add(&["bias"]);
        out.add(&["me", &me]);
        out.add(&["before", before]);
        out.add(&["before+me", before, &me]);
        for (k, (symbol, own)) in self.mentioned().enumerate().filter(|(k, _)| *k != m) {
            let side = if k < m { "l" } else { "r" };
            own.iter().for_each(|p| out.add(&["other", side, p, symbol]));
        }
        for c in &self.about {
            out.add(&["about", c]);
            out.add(&["about+me", c, &me]);
        }
        let back = |k: usize| at.checked_sub(k);
        let word = |k: i32| if k < 0 { self.text(back(k.unsigned_abs() as usize)) } else { self.text(Some(at + k as usize)) };
        for p in self.own.get(m).into_iter().flatten() {
            out.add(&["own", p]);
            out.add(&["own+me", p, &me]);
            out.add(&["own+before", p, before]);
            out.add(&["own+w", p, word(-1)]);
        }
        for (k, place) in [(-4i32, "-4"), (-3, "-3"), (-2, "-2"), (-1, "-1"), (1, "1"), (2, "2"), (3, "3"), (4, "4")] {
            out.add(&["w", place, word(k)]);
            if k.abs() <= 2 {
                out.add(&["w+me", place, word(k), &me]);
                let w = word(k);
                for n in BEGINNINGS {
                    if let Some(p) = w.get(..n) {
                        out.add(&["p", place, p]);
                    }
                }
            }
        }
        for (a, place, b) in [(-2, "-2", -1), (-1, "-1", 1), (1, "1", 2), (-3, "-3", -2), (2, "2", 3)] {
            out.add(&["ww", place, word(a), word(b), &me]);
        }
        out.add(&["www", "-", word(-3), word(-2), word(-1)]);
        out.add(&["www", "+", word(1), word(2), word(3)]);
        // The clause, then everything.
        let marks = |p: &Place| p.mark;
        let from = self.places.get(..at).and_then(|l| l.iter().rposition(marks)).map_or(0, |i| i + 1);
        let to = self.places.get(at..).and_then(|l| l.iter().position(marks)).map_or(self.places.len(), |i| at + i);
        let mut previous = "_";
        for (i, p) in self.places.iter().enumerate() {
            let side = if i < at { "l" } else { "r" };
            let near = i >= from && i < to;
            if i != at {
                out.add(&["u", &p.text]);
                out.add(&["u+me", &p.text, &me]);
                if near {
                    out.add(&["c", side, &p.text]);
                    out.add(&["c+me", &p.text, &me]);
                }
                if p.mention.is_none() && p.text.len() > 5 {
                    out.add(&["up", p.text.get(..5).unwrap_or("")]);
                }
            }
            let mine = |i: usize| i == at;
            let (a, b) = (if i > 0 && mine(i - 1) { "*" } else { previous }, if mine(i) { "*" } else { p.text.as_str() });
            if near {
                out.add(&["cc", a, b]);
            }
            out.add(&["uu", a, b]);
            previous = &p.text;
        }
        out.add(&["cc", previous, "_"]);
        let kinds: Vec<&str> = self.places.iter().filter(|p| p.mention.is_some()).map(|p| p.text.as_str()).collect();
        let left = kinds.get(..m).and_then(|k| k.last()).copied().unwrap_or("_");
        let right = kinds.get(m + 1).copied().unwrap_or("_");
        out.add(&["left", left, &me]);
        out.add(&["right", right, &me]);
        out.add(&["only", if kinds.len() == 1 { "1" } else { "n" }, if self.places.len() == 1 { "alone" } else { "" }, &me]);
        out.add(&["first", self.text(Some(0))]);
        out.add(&["first2", self.text(Some(0)), self.text(Some(1))]);
        out.add(&["end", self.text(self.places.len().checked_sub(1))]);
        out.finish()
    }

    /// The features of the whole utterance; `labels` are those of its mentions.
    pub fn whole(&self, labels: &[String]) -> Vec<u32> {
        let mut out = Sink::default();
        out.add(&["bias"]);
        let kinds: Vec<&str> = self.places.iter().filter(|p| p.mention.is_some()).map(|p| p.text.as_str()).collect();
        out.add(&["mentions", &kinds.len().min(3).to_string()]);
        for l in labels {
            out.add(&["label", l]);
        }
        for c in &self.about {
            out.add(&["about", c]);
        }
        let mut before = ["_", "_"];
        for p in &self.places {
            out.add(&["u", &p.text]);
            out.add(&["uu", before[1], &p.text]);
            out.add(&["uuu", before[0], before[1], &p.text]);
            if p.mention.is_none() {
                for c in &self.about {
                    out.add(&["about+u", c, &p.text]);
                }
                for n in BEGINNINGS {
                    if p.text.len() > n {
                        out.add(&["up", p.text.get(..n).unwrap_or("")]);
                    }
                }
            }
            before = [before[1], &p.text];
        }
        out.add(&["uu", before[1], "_"]);
        out.add(&["first", self.text(Some(0))]);
        out.add(&["first2", self.text(Some(0)), self.text(Some(1))]);
        out.add(&["length", &(self.places.len().min(12) / 3).to_string()]);
        out.finish()
    }

    /// What the network reads: of words their beginnings too, of mentions what is known of them.
    pub fn places(&self) -> View {
        let of = |p: &Place| {
            let mut out = Sink::default();
            out.add(&["text", &p.text]);
            match p.mention {
                Some(m) => {
                    out.add(&["mention"]);
                    self.own.get(m).into_iter().flatten().for_each(|own| out.add(&["own", own]));
                }
                None if p.mark => {}
                None => {
                    out.add(&["word"]);
                    BEGINNINGS.into_iter().filter_map(|n| p.text.get(..n).filter(|w| w.len() < p.text.len())).for_each(|w| out.add(&["begins", w]));
                }
            }
            out.finish()
        };
        let mut around = Sink::default();
        self.about.iter().for_each(|c| around.add(&["about", c]));
        View { places: self.places.iter().map(of).collect(), around: around.finish() }
    }
}

/// A word as features see it: misspellings mended, without plural endings.
fn word(chart: &Chart<'_>, t: &text::Token) -> String {
    let words = &chart.knowledge.words;
    if t.kind != text::Kind::Word {
        return t.text.clone();
    }
    match t.alts.first() {
        Some((id, close)) if t.id == UNKNOWN && *close > 0.8 => words.stem_of(*id).to_owned(),
        _ if t.id == UNKNOWN => crate::text::stem(&t.text),
        _ => words.stem_of(t.id).to_owned(),
    }
}

fn symbol(chart: &Chart<'_>, m: &Mention) -> String {
    match &m.kind {
        Kind::Name => format!("<{:x}>", m.mask),
        Kind::Value(sort, _) => format!("<={}>", chart.model.value_sorts.get(usize::from(*sort)).map_or("", |s| s)),
        Kind::Number(None, Some(_)) => "<$>".to_owned(),
        Kind::Number(Some(0..=1), _) | Kind::Refer => {
            chart.tokens.get(m.start..m.end).into_iter().flatten().map(|t| t.text.as_str()).collect::<Vec<_>>().join(" ")
        }
        Kind::Number(..) => "<#>".to_owned(),
        Kind::New => "<new>".to_owned(),
    }
}

fn properties(chart: &Chart<'_>, m: &Mention, context: &Context) -> Vec<String> {
    let mut out = vec![];
    if let Some(np) = m.np.and_then(|i| chart.phrases.get(i)) {
        out.push(format!(
            "article {}",
            match np.article {
                Article::None => "-",
                Article::Indefinite => "a",
                Article::Definite => "the",
            }
        ));
        out.push(format!("count {}", np.count.map_or("-", |c| if c == 1 { "1" } else { "n" })));
        out.push(format!("place {}", np.place.is_some()));
        out.push(format!(
            "which {}",
            match np.which {
                Which::Unsaid => "-",
                Which::Both => "both",
                Which::All => "all",
                Which::Other => "other",
                Which::Another => "another",
                Which::Plain => "plain",
            }
        ));
        out.push(format!("plural {} part {}", np.plural, np.part));
        out.push(format!("attributes {}", np.attributes.len().min(1)));
        if let Head::Name(_) = np.head {
            out.push(format!("whole {}", m.candidates(chart).first().is_some_and(|c| c.is_whole())));
            out.extend(named(chart, m).into_iter().flat_map(|name| known(chart, context, &name)));
        }
    }
    if let Kind::Value(_, v) = &m.kind {
        out.push(format!("value {v}"));
    }
    if let Kind::Number(whole, money) = m.kind {
        out.push(format!("whole {} money {}", whole.is_some(), money.is_some()));
        out.push(format!("size {}", whole.map_or(0, |w| w.to_string().len())));
    }
    out
}

/// What a mention names, most likely.
fn named(chart: &Chart<'_>, m: &Mention) -> Option<Name> {
    chart.name(m.candidates(chart).first()?.name)
}

/// What the conversation knows of a name: whether it was ordered, told of or changed, or is part of what was.
fn known(chart: &Chart<'_>, context: &Context, name: &str) -> Vec<String> {
    let told = || context.last_actions.iter().flat_map(|a| &a.args).filter_map(Term::as_name);
    let lines = context.view.lines();
    let changed = lines.iter().flat_map(|l| &l.changes).any(|c| c.args.iter().any(|t| names(t, name)));
    let part_of_line = lines.iter().any(|l| chart.knowledge.relates(&l.item, name));
    let of_it = context.last_actions.iter().filter(|a| a.args.iter().any(|t| names(t, name)));
    let mut out: Vec<String> = of_it.take(2).map(|a| format!("told by {}", shape(a))).collect();
    out.push(format!("ordered {}", context.view.names_item(name)));
    out.push(format!("asked {}", told().any(|n| *n == *name)));
    out.push(format!("part {part_of_line} {}", told().any(|n| chart.knowledge.relates(n, name))));
    out.push(format!("changed {changed}"));
    out
}

/// What the conversation is about: the last actions, without their names.
fn about(context: &Context) -> Vec<String> {
    let mut out: Vec<String> = context.last_actions.iter().map(shape).collect();
    out.dedup();
    if out.is_empty() {
        out.push("start".to_owned());
    }
    out.push(format!("lines {}", context.view.lines().len().min(2)));
    out
}

fn shape(a: &Atom) -> String {
    let args: Vec<String> = a.args.iter().filter_map(|t| if let Term::Const(c) = t { Some(c.to_string()) } else { None }).collect();
    format!("{} {}", a.name, args.join(" "))
}
