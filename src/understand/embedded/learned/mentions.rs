//! What an utterance mentions: names, values, numbers and references, without overlaps.

use crate::link::{Candidate, UNKNOWN};
use crate::term::{Atom, Name, Term};
use crate::understand::embedded::chart::{Chart, NameEdge};
use crate::understand::embedded::phrase::{Head, Np, Which};
use crate::understand::embedded::text::{self, Token, plain_words};

/// What kind of thing is mentioned.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Something that the facts name.
    Name,
    /// A value of a closed sort: its number and the value.
    Value(u16, Name),
    /// A number: as a whole number and as an amount of money.
    Number(Option<i64>, Option<i64>),
    /// Something said before: `it`, `both`, `the second one`.
    Refer,
    /// Words that may be a new name.
    New,
}

/// A mention.
#[derive(Clone, Debug, PartialEq)]
pub struct Mention {
    /// First token, of the whole noun phrase.
    pub start: usize,
    /// One past the last.
    pub end: usize,
    /// What it is.
    pub kind: Kind,
    /// Its noun phrase in the chart, if it has one.
    pub np: Option<usize>,
    /// Sort bits of the names it may be.
    pub mask: u64,
}

impl Mention {
    /// What it may name, likeliest first; nothing where its head is no name.
    pub fn candidates<'c>(&self, chart: &'c Chart<'_>) -> &'c [Candidate] {
        self.edge(chart).and_then(|e| chart.names.get(e)).map_or(&[], |e| &e.candidates)
    }

    /// The stretch of the chart that its head is, where that is a name.
    fn edge(&self, chart: &Chart<'_>) -> Option<usize> {
        match self.np.and_then(|n| chart.phrases.get(n)).map(|np| &np.head) {
            Some(Head::Name(e)) => Some(*e),
            _ => None,
        }
    }
}

/// What a name's further words are worth beside what they were worth alone: "steak soft taco" is one name, not two.
const JOINED: f32 = 0.9;

struct Found {
    start: usize,
    end: usize,
    worth: f32,
    kind: Kind,
    np: Option<usize>,
    edge: Option<usize>,
}

/// The mentions of an utterance from left to right; `fresh` are stretches that may be new names.
pub fn mentions(chart: &Chart<'_>, fresh: &[(usize, usize)]) -> Vec<Mention> {
    widen(chart, choose(chart.tokens.len(), found(chart, fresh)))
}

/// The mentions where names that were said in part and mean nothing no longer stand before what they hold: "the city centre" is a part of
/// town where no restaurant of that name is meant. Nothing where there are none.
pub fn apart(chart: &Chart<'_>, fresh: &[(usize, usize)], said: &[Mention], means_nothing: impl Fn(usize) -> bool) -> Option<Vec<Mention>> {
    let nothing = said.iter().enumerate().filter(|(i, _)| means_nothing(*i)).filter_map(|(_, m)| m.edge(chart));
    let idle: Vec<usize> = nothing.filter(|e| hides(chart, *e)).collect();
    let left = || found(chart, fresh).into_iter().filter(|f| f.edge.is_none_or(|e| !idle.contains(&e))).collect();
    (!idle.is_empty()).then(|| widen(chart, choose(chart.tokens.len(), left())))
}

/// Whether a name was said in part, and holds a whole one or a value.
fn hides(chart: &Chart<'_>, at: usize) -> bool {
    let Some(edge) = chart.names.get(at) else { return false };
    let within = |start: usize, end: usize| start >= edge.start && end <= edge.end && end - start < edge.end - edge.start;
    let values = || (edge.start..edge.end).flat_map(|at| chart.values_at.get(at).into_iter().flatten().map(move |v| (at, v)));
    let value = || values().any(|(at, v)| chart.model.tells(v.1) && within(at, v.0));
    !edge.is_whole() && (chart.names.iter().any(|e| e.is_whole() && within(e.start, e.end)) || value())
}

/// Everything that may be mentioned.
fn found(chart: &Chart<'_>, fresh: &[(usize, usize)]) -> Vec<Found> {
    let mut found = vec![];
    names(chart, &mut found);
    values(chart, &mut found);
    numbers(chart, &mut found);
    references(chart, &mut found);
    let new = |(start, end): &(usize, usize)| Found { start: *start, end: *end, worth: 1.3 * length(*start, *end), kind: Kind::New, np: None, edge: None };
    found.extend(fresh.iter().map(new));
    found
}

#[expect(clippy::cast_precision_loss, reason = "spans are short")]
fn length(start: usize, end: usize) -> f32 {
    end.saturating_sub(start) as f32
}

fn names(chart: &Chart<'_>, found: &mut Vec<Found>) {
    for (i, edge) in chart.names.iter().enumerate() {
        let Some(best) = edge.candidates.first() else { continue };
        // A name that no noun phrase holds begins with a word that is nothing.
        let bare = |np: &Np| np.head == Head::Name(i) && np.start == edge.start && np.end == edge.end;
        let Some(np) = chart.phrases_at.get(edge.start).into_iter().flatten().copied().find(|p| chart.phrases.get(*p).is_some_and(bare)) else { continue };
        let counts = |t: &Token| matches!(t.kind, text::Kind::Number { .. }) || chart.model.numbers.units.contains_key(&t.id);
        if edge.shadowed || chart.tokens.get(edge.start..edge.end).into_iter().flatten().all(counts) {
            continue;
        }
        let said = length(0, edge.said);
        let worth = said * (0.4 + 0.6 * best.score) + JOINED * (said - 1.0);
        found.push(Found { start: edge.start, end: edge.end, worth, kind: Kind::Name, np: Some(np), edge: Some(i) });
    }
}

fn values(chart: &Chart<'_>, found: &mut Vec<Found>) {
    for (at, list) in chart.values_at.iter().enumerate() {
        for (end, sort, value, _) in list {
            if !chart.model.tells(*sort) {
                continue;
            }
            let kind = |np: &Np| matches!(&np.head, Head::Kind(k) if k == value) && np.end == *end;
            let np = chart.phrases_at.get(at).into_iter().flatten().copied().find(|p| chart.phrases.get(*p).is_some_and(kind));
            found.push(Found { start: at, end: *end, worth: 1.1 * length(at, *end), kind: Kind::Value(*sort, value.clone()), np, edge: None });
        }
    }
}

fn numbers(chart: &Chart<'_>, found: &mut Vec<Found>) {
    let n = &chart.model.numbers;
    for at in 0..chart.tokens.len() {
        let (whole, money) = (n.value(chart.tokens, at).filter(|v| !v.money), n.money(chart.tokens, at));
        let end = whole.map_or(at, |w| w.end).max(money.map_or(at, |m| m.end));
        if end > at {
            let left = |np: &Np| np.head == Head::Left && np.end == end && np.count.is_some();
            let np = chart.phrases_at.get(at).into_iter().flatten().copied().find(|p| chart.phrases.get(*p).is_some_and(left));
            let kind = Kind::Number(whole.map(|w| w.value), money.map(|m| m.value));
            found.push(Found { start: at, end, worth: 0.6 * length(at, end), kind, np, edge: None });
        }
    }
}

fn references(chart: &Chart<'_>, found: &mut Vec<Found>) {
    for (i, np) in chart.phrases.iter().enumerate() {
        let refers = match np.head {
            Head::Pronoun(_) => true,
            Head::Left => np.place.is_some() || np.which != Which::Unsaid || np.part || np.end > np.start + 1,
            _ => false,
        };
        if refers {
            let worth = 0.35 * length(np.start, np.end) + 0.1 * (np.extra_score / 2.0).min(1.0);
            found.push(Found { start: np.start, end: np.end, worth, kind: Kind::Refer, np: Some(i), edge: None });
        }
    }
}

/// The stretches worth most together.
fn choose(n: usize, found: Vec<Found>) -> Vec<Found> {
    let mut best: Vec<(f32, Option<usize>, usize)> = vec![(0.0, None, 0); n + 1];
    for at in 0..n {
        let here = best.get(at).map_or(0.0, |b| b.0);
        let mut offer = |to: usize, worth: f32, which: Option<usize>| {
            if let Some(b) = best.get_mut(to)
                && (worth > b.0 + 1e-6 || (b.1.is_none() && which.is_none() && worth >= b.0))
            {
                *b = (worth, which, at);
            }
        };
        offer(at + 1, here, None);
        for (i, f) in found.iter().enumerate().filter(|(_, f)| f.start == at) {
            offer(f.end, here + f.worth, Some(i));
        }
    }
    let mut chosen = vec![];
    let mut at = n;
    while at > 0 {
        let Some((_, which, from)) = best.get(at).copied() else { break };
        chosen.extend(which);
        at = from.min(at - 1);
    }
    chosen.sort_unstable();
    let mut out: Vec<Found> = found.into_iter().enumerate().filter(|(i, _)| chosen.contains(i)).map(|(_, f)| f).collect();
    out.sort_by_key(|f| f.start);
    out
}

/// Gives names the article, number and attributes that stand before them.
fn widen(chart: &Chart<'_>, found: Vec<Found>) -> Vec<Mention> {
    let mut out: Vec<Mention> = vec![];
    for f in &found {
        let mut m = Mention { start: f.start, end: f.end, kind: f.kind.clone(), np: f.np, mask: 0 };
        if let Some(edge) = f.edge.and_then(|e| chart.names.get(e)) {
            let top = edge.candidates.first().map_or(0.0, |c| c.score);
            m.mask = edge.candidates.iter().filter(|c| c.score >= 0.6 * top).map(|c| chart.mask(c.name)).fold(0, |a, b| a | b);
        }
        let head = match f.edge {
            Some(e) => Some(Head::Name(e)),
            None => f.np.and_then(|i| chart.phrases.get(i)).map(|np| np.head.clone()).filter(|h| matches!(h, Head::Kind(_))),
        };
        if let Some(head) = head {
            // What a wider phrase may swallow: numbers and values, but no other name.
            let from = found.iter().filter(|o| o.end <= f.start && matches!(o.kind, Kind::Name | Kind::New)).map(|o| o.end).max().unwrap_or(0);
            let after = found.iter().filter(|o| o.start >= f.end && !matches!(o.kind, Kind::Number(..)));
            let to = after.map(|o| o.start).min().unwrap_or(chart.tokens.len());
            let wider = chart
                .phrases
                .iter()
                .enumerate()
                .filter(|(_, np)| np.head == head && np.start >= from && np.start <= f.start && np.end >= f.end && np.end <= to.max(f.end))
                .max_by(|a, b| a.1.extra_score.total_cmp(&b.1.extra_score).then((b.1.end - b.1.start).cmp(&(a.1.end - a.1.start))).then(b.0.cmp(&a.0)));
            if let Some((i, np)) = wider {
                (m.start, m.end, m.np) = (np.start, np.end, Some(i));
                out.retain(|o| o.end <= m.start);
            }
        }
        if out.last().is_none_or(|o| o.end <= m.start) {
            out.push(m);
        }
    }
    out
}

/// Stretches that may be new names: words with capitals that are no known name and no value as a whole. Who shouts says no names by it.
pub fn fresh(chart: &Chart<'_>, text: &str) -> Vec<(usize, usize)> {
    let loud = |said: &str| said.chars().any(char::is_uppercase) && !said.chars().any(char::is_lowercase);
    let all_loud = loud(text);
    let capital = |i: usize| {
        chart.tokens.get(i).is_some_and(|t| {
            let said = text.get(t.range.clone()).unwrap_or("");
            // The second word of "Pepsi's" has no capital of its own.
            let opened = i.checked_sub(1).and_then(|b| chart.tokens.get(b)).is_some_and(|b| b.range == t.range);
            let shouted = all_loud || said.chars().count() > 1 && loud(said) && t.id != UNKNOWN;
            t.punct().is_none() && said.chars().next().is_some_and(char::is_uppercase) && !shouted && !opened
        })
    };
    let begins = |i: usize| i == 0 || chart.tokens.get(i - 1).is_some_and(|t| matches!(t.punct(), Some('.' | '!' | '?')));
    let mut out = vec![];
    let mut i = 0;
    while i < chart.tokens.len() {
        let mut end = i;
        while capital(end) {
            end += 1;
        }
        let mut start = i;
        if end > start && begins(start) && end - start > 1 && chart.skip_cost(start) < 0.3 {
            start += 1;
        }
        let lone = end == start + 1 && (begins(start) || chart.tokens.get(start).is_some_and(|t| t.text.len() < 3));
        let whole = |e: &&NameEdge| e.is_whole() && e.start < end && start < e.end;
        let known = chart.names.iter().filter(whole).any(|e| (e.end - e.start) * 2 >= end - start && e.end == end);
        let value = chart.values_at.get(start).into_iter().flatten().any(|v| v.0 == end);
        if end > start && !lone && !known && !value {
            out.push((start, end));
        }
        i = end.max(i) + 1;
    }
    out
}

/// Where new names of given predicates were said.
pub fn said(chart: &Chart<'_>, atoms: &[Atom]) -> Vec<(usize, usize)> {
    let mut out = vec![];
    for name in atoms.iter().flat_map(|a| &a.args).filter_map(|t| if let Term::Str(s) = t { Some(s) } else { None }) {
        if chart.knowledge.mask(name) != 0 {
            continue;
        }
        let words: Vec<String> = plain_words(name, &chart.model.respell);
        let found = chart.tokens.windows(words.len().max(1)).position(|w| w.iter().zip(&words).all(|(t, w)| t.text == *w));
        if let Some(at) = found
            && !out.contains(&(at, at + words.len()))
            && !words.is_empty()
        {
            out.push((at, at + words.len()));
        }
    }
    out
}

/// New names as they are found without knowing, and those of given predicates.
pub fn fresh_and_said(chart: &Chart<'_>, text: &str, atoms: &[Atom]) -> Vec<(usize, usize)> {
    let mut new = said(chart, atoms);
    for f in fresh(chart, text) {
        if new.iter().all(|n| n.1 <= f.0 || f.1 <= n.0) {
            new.push(f);
        }
    }
    new
}
