//! What could be said at each place: names, values, noun phrases, patterns; and the best way through all of them.

mod names;
mod run;
mod slots;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::data::Does;
use super::grammar::{Signs, sign};
use super::knowledge::Knowledge;
use super::model::{Model, RoleGrammar};
use super::phrase::{Np, Phrases};
use super::reading::condition;
use super::text::{Kind, Token};
use crate::link::{Candidate, Thresholds};
use crate::term::{Name, Term};
use crate::understand::Context;
use run::Ways;

/// A stretch of words that may name something.
#[derive(Clone, Debug)]
pub struct NameEdge {
    /// First token.
    pub start: usize,
    /// One past the last.
    pub end: usize,
    /// What it may name, best first.
    pub candidates: Vec<Candidate>,
    /// Whether its last word is a plural.
    pub plural: bool,
    /// How many of its words are the name's.
    pub said: usize,
    /// Whether a longer name begins here that was said whole.
    pub shadowed: bool,
}

impl NameEdge {
    /// Whether a name was said whole.
    pub fn is_whole(&self) -> bool {
        self.candidates.first().is_some_and(Candidate::is_whole)
    }
}

/// What fills a slot.
#[derive(Clone, Debug, PartialEq)]
pub enum Bind {
    /// A noun phrase, by number.
    Np(usize),
    /// A value or number.
    Term(Term),
    /// Free words, by token range.
    Free(usize, usize),
}

/// A reading of a stretch of tokens by a pattern.
#[derive(Clone, Debug)]
pub struct Edge {
    /// First token.
    pub start: usize,
    /// One past the last.
    pub end: usize,
    /// The pattern.
    pub pattern: usize,
    /// The slots, in the order filled; a list fills its variable several times.
    pub binds: Vec<(u8, Bind)>,
    /// How well it reads.
    pub score: f32,
}

/// What the conditions of patterns bind, by pattern; nothing for one that has none.
pub type Bound = FxHashMap<usize, Vec<(u8, Term)>>;

/// What fills a slot: where it ends, its score and the value.
type Filling = (usize, f32, Bind);

/// How much more likely names are because of what was asked or said before.
pub type Hints = FxHashMap<usize, f32>;

/// Names said in the conversation that the facts do not hold (a food being added), by their words.
pub type Extra = Vec<(Vec<String>, Name)>;

/// All readings of one utterance.
pub struct Chart<'a> {
    /// The grammar.
    pub model: &'a Model,
    /// The facts.
    pub knowledge: &'a Knowledge,
    /// The words.
    pub tokens: &'a [Token],
    /// Name readings.
    pub names: Vec<NameEdge>,
    /// Name readings by first token.
    pub names_at: Vec<Vec<usize>>,
    /// Values by first token: end, sort, value, score.
    pub values_at: Vec<Vec<(usize, u16, Name, f32)>>,
    /// Noun phrases.
    pub phrases: Vec<Np>,
    /// Noun phrases by first token.
    pub phrases_at: Vec<Vec<usize>>,
    /// Names not in the facts, with their number beyond the facts' names.
    pub extra: &'a Extra,
    /// What is likely.
    pub hints: Hints,
    known_words: &'a rustc_hash::FxHashSet<u32>,
    role_mask: u64,
    present: u64,
    signs: Vec<(Signs, Signs)>,
    /// The signs of all words from a token on.
    rest: Vec<Signs>,
    /// Where classes end, as far as it was asked for.
    classes: FxHashMap<(u16, usize), Arc<[(usize, f32)]>>,
    /// What fills a slot for names of some sorts at a token, as far as it was asked for.
    named: FxHashMap<(u64, bool, usize), Arc<[Filling]>>,
    /// The memory of programs that ran.
    spare: Vec<Ways>,
}

const EDGE_COST: f32 = 0.5;
/// How much the authors' preferences count: less than a further edge costs, so that they decide only between readings alike.
const PREFERENCE: f32 = 0.4;
const COMMA_COST: f32 = 0.7;
const FILLER_COST: f32 = 0.05;
/// Articles and the like within a pattern that does not have them.
const LIGHT_COST: f32 = 0.3;

impl<'a> Chart<'a> {
    /// Finds names, values and noun phrases.
    pub fn new(
        model: &'a Model,
        knowledge: &'a Knowledge,
        tokens: &'a [Token],
        extra: &'a Extra,
        hints: Hints,
        grammar: &'a RoleGrammar,
        present: u64,
    ) -> Self {
        let n = tokens.len() + 1;
        let mut chart = Self {
            model,
            knowledge,
            tokens,
            names: vec![],
            names_at: vec![vec![]; n],
            values_at: vec![vec![]; n],
            phrases: vec![],
            phrases_at: vec![vec![]; n],
            extra,
            hints,
            known_words: &grammar.words,
            role_mask: grammar.names,
            present,
            signs: vec![],
            rest: vec![],
            classes: FxHashMap::default(),
            named: FxHashMap::default(),
            spare: vec![],
        };
        chart.find_signs();
        chart.find_values();
        chart.find_names();
        chart.shadow_names();
        chart.hint_members();
        chart.present |= chart.names.iter().flat_map(|e| e.candidates.first()).filter(|c| c.score > 0.5).map(|c| chart.mask(c.name)).fold(0, |a, b| a | b);
        chart.find_phrases();
        chart
    }

    /// The name with this number, of the facts or of the conversation.
    pub fn name(&self, id: usize) -> Option<Name> {
        match self.knowledge.names.name(id) {
            Some(n) => Some(n.clone()),
            None => self.extra.get(id.checked_sub(self.knowledge.names.len())?).map(|e| e.1.clone()),
        }
    }

    /// Sort bits of a name; a name of the conversation is of every sort.
    pub fn mask(&self, id: usize) -> u64 {
        if id >= self.knowledge.names.len() { u64::MAX } else { self.knowledge.sorts.get(id).copied().unwrap_or(0) }
    }

    fn hint(&self, name: usize) -> f32 {
        self.hints.get(&name).copied().unwrap_or(0.0)
    }

    /// How well a name edge names something of the mask: the best score of the mask against the best of all.
    /// `kind_of` says that the words tell a kind of thing (the steak one), which other sorts do not compete for.
    pub fn fit(&self, edge: &NameEdge, mask: u64, kind_of: bool) -> Option<f32> {
        let best = |admit: &dyn Fn(usize) -> bool| edge.candidates.iter().filter(|c| admit(c.name)).map(|c| c.score + self.hint(c.name)).fold(0.0f32, f32::max);
        let ours = best(&|n| self.mask(n) & mask != 0);
        if ours <= 0.0 {
            return None;
        }
        let any = if kind_of { ours } else { best(&|n| self.mask(n) & self.role_mask != 0).max(ours) };
        let ratio = ours / any;
        let shadow = if edge.shadowed { 0.4 } else { 1.0 };
        (ratio > 0.4).then_some(shadow * ratio * (0.55 + 0.45 * ours.min(1.0)))
    }

    /// Whether a word stands here that nothing can make sense of after a name: "chicken sandwich".
    pub fn strange(&self, at: usize) -> bool {
        let Some(t) = self.tokens.get(at) else { return false };
        t.kind == Kind::Word
            && t.alts.is_empty()
            && !self.known_words.contains(&t.id)
            && !self.model.fillers.contains(&t.id)
            && !self.model.phrase.has("small", t.id)
            && !self.model.phrase.has("name_end", t.id)
            && !self.model.measures.contains(&t.id)
            && !self.model.numbers.units.contains_key(&t.id)
            && !self.knowledge.names.knows(t.id)
    }

    fn skippable(&self, at: usize) -> Option<f32> {
        let t = self.tokens.get(at)?;
        match t.kind {
            // "No, the chicken one" is no way to leave the chicken out.
            Kind::Punct(',') if self.after_no(at) => Some(COMMA_COST + 1.5),
            Kind::Punct(',' | ':' | '"' | '(' | ')') => Some(COMMA_COST),
            Kind::Word if self.model.fillers.contains(&t.id) => Some(FILLER_COST),
            Kind::Word if self.model.phrase.has("light", t.id) => Some(LIGHT_COST),
            _ => None,
        }
    }

    /// What it costs to let a gap hold a token; nothing that may change the meaning goes into one.
    fn gap_cost(&self, at: usize) -> Option<f32> {
        let t = self.tokens.get(at)?;
        match t.kind {
            Kind::Punct(',' | ':' | '"' | '=') => Some(0.35),
            Kind::Punct(_) | Kind::Number { .. } => None,
            Kind::Word if ["both", "all"].iter().any(|k| self.model.phrase.has(k, t.id)) => {
                let opens = self.names_at.get(at + 1).is_some_and(|n| !n.is_empty())
                    || self.tokens.get(at + 1).is_some_and(|n| ["of", "definite"].iter().any(|k| self.model.phrase.has(k, n.id)));
                (!opens).then_some(0.2)
            }
            Kind::Word if ["negation", "another", "break"].iter().any(|k| self.model.phrase.has(k, t.id)) => None,
            Kind::Word if self.model.numbers.units.contains_key(&t.id) || self.model.ordinals.contains_key(&t.id) => None,
            Kind::Word if self.model.fillers.contains(&t.id) => Some(0.05),
            Kind::Word if self.model.phrase.has("small", t.id) => Some(0.1),
            Kind::Word
                if self
                    .names_at
                    .get(at)
                    .into_iter()
                    .flatten()
                    .any(|e| self.names.get(*e).and_then(|e| e.candidates.first()).is_some_and(|c| c.score > 0.8)) =>
            {
                None
            }
            Kind::Word if self.model.ordinary.contains(&t.id) || self.known_words.contains(&t.id) => Some(0.2),
            // A stranger right before a name belongs to it: a lobster roll.
            Kind::Word if self.strange(at) && self.names_at.get(at + 1).is_some_and(|n| !n.is_empty()) => None,
            Kind::Word => Some(0.55),
        }
    }

    fn word_value(&self, at: usize) -> f32 {
        let Some(t) = self.tokens.get(at) else { return 1.0 };
        match () {
            () if self.model.phrase.has("list", t.id) => 0.3,
            () if self.model.fillers.contains(&t.id) => 0.6,
            () => 1.0,
        }
    }

    /// The signs of the words that a program at a token may read next, over what it may skip.
    fn signs_at(&self, at: usize, strict: bool) -> Signs {
        let (own, over) = self.signs.get(at).copied().unwrap_or((0, 0));
        if strict { own } else { over }
    }

    fn find_signs(&mut self) {
        let own: Vec<Signs> = self.tokens.iter().map(|t| t.readings().fold(0, |a, r| a | sign(r.0))).collect();
        self.rest.clone_from(&own);
        for at in (1..own.len()).rev() {
            let after = self.rest.get(at).copied().unwrap_or(0);
            self.rest.get_mut(at - 1).into_iter().for_each(|s| *s |= after);
        }
        self.signs = (0..own.len())
            .map(|at| {
                let mut over = 0;
                let mut i = at;
                while let Some(s) = own.get(i) {
                    over |= s;
                    if self.skippable(i).is_none() || i > at + 4 {
                        break;
                    }
                    i += 1;
                }
                (own.get(at).copied().unwrap_or(0), over)
            })
            .collect();
    }

    /// All pattern readings, and what the conditions of their patterns bind.
    pub fn edges(&mut self, grammar: &RoleGrammar, context: &Context) -> (Vec<Edge>, Bound) {
        let mut out = vec![];
        // A condition is looked at when its pattern is first tried, as most are not.
        let mut conditions: FxHashMap<u16, Option<Vec<(u8, Term)>>> = FxHashMap::default();
        let mut any = grammar.any.clone();
        for at in 0..self.tokens.len() {
            for p in self.tried(grammar, at, &mut any) {
                let Some(pattern) = grammar.patterns.get(usize::from(p)) else { continue };
                let conditional = pattern.after.is_some() || pattern.needs_line;
                if conditional && conditions.entry(p).or_insert_with(|| condition(pattern, context)).is_none() {
                    continue;
                }
                let preferred = if pattern.after.is_some() { 0.35 } else { 0.0 };
                for (end, score, binds) in self.run(&pattern.program, at) {
                    if end > at && (!pattern.alone || self.is_all(at, end)) && (!pattern.clause || self.is_clause(at, end)) {
                        let score = score + PREFERENCE * (pattern.weight + preferred) - EDGE_COST;
                        out.push(Edge { start: at, end, pattern: usize::from(p), binds, score });
                    }
                }
            }
        }
        (out, conditions.into_iter().filter_map(|(p, binds)| Some((usize::from(p), binds?))).collect())
    }

    /// The patterns that may begin at a token, in their order: those of its words, and of `any`, which begin with a slot. What needs words that
    /// do not come from here on is left out of these for good.
    fn tried(&self, grammar: &RoleGrammar, at: usize, any: &mut Vec<u16>) -> Vec<u16> {
        let (Some(t), Some(rest)) = (self.tokens.get(at), self.rest.get(at)) else { return vec![] };
        let slot = self.phrases_at.get(at).is_some_and(|p| !p.is_empty())
            || self.values_at.get(at).is_some_and(|v| !v.is_empty())
            || matches!(t.kind, Kind::Number { .. } | Kind::Word);
        let by_word = t.readings().filter_map(|(w, _)| grammar.by_word.get(&w)).flatten();
        let may = |p: &u16| grammar.needs.get(usize::from(*p)).is_none_or(|signs| signs.iter().all(|s| s & rest != 0 || *s == Signs::MAX));
        any.retain(may);
        let mut out: Vec<u16> = by_word.copied().filter(may).chain(any.iter().copied().filter(|_| slot)).collect();
        out.sort_unstable();
        out.dedup();
        out
    }

    /// Whether nothing but fillers and marks stands around a stretch.
    fn is_all(&self, start: usize, end: usize) -> bool {
        (0..start).chain(end..self.tokens.len()).all(|i| self.tokens.get(i).is_none_or(|t| t.punct().is_some() || self.model.fillers.contains(&t.id)))
    }

    /// Whether a stretch is a clause: before it begins the text, a mark, a joining word or a name ends, after it a mark or a joining word comes.
    fn is_clause(&self, start: usize, end: usize) -> bool {
        let joint =
            |i: usize| self.tokens.get(i).is_none_or(|t| t.punct().is_some() || self.model.fillers.contains(&t.id) || self.model.phrase.has("joint", t.id));
        let named = || self.names.iter().any(|e| e.end == start && e.candidates.first().is_some_and(|c| c.score > 0.8));
        (start == 0 || joint(start - 1) || named()) && joint(end)
    }

    /// Whether a mark stands between a "no" and an article.
    fn after_no(&self, at: usize) -> bool {
        at > 0 && self.is_word("corrects", at - 1) && (self.is_word("definite", at + 1) || self.is_word("indefinite", at + 1))
    }

    /// Whether a token is a word of a kind.
    pub fn is_word(&self, kind: &str, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|t| self.model.phrase.has(kind, t.id))
    }

    /// What it costs to leave a token unread.
    pub fn skip_cost(&self, at: usize) -> f32 {
        let Some(t) = self.tokens.get(at) else { return 0.0 };
        match t.kind {
            Kind::Punct(_) => 0.0,
            Kind::Word if self.model.fillers.contains(&t.id) => 0.0,
            // What a denial leaves unread may turn the meaning round.
            Kind::Word if self.model.phrase.has("negation", t.id) => 1.2,
            Kind::Word if self.model.ordinary.contains(&t.id) || self.model.phrase.has("small", t.id) => 0.15,
            _ => 0.6,
        }
    }

    /// The best sequence of edges, by dynamic programming from the left; a stop edge runs to the end.
    pub fn best(&self, grammar: &RoleGrammar, edges: &[Edge]) -> (Vec<usize>, f32) {
        let n = self.tokens.len();
        let mut best: Vec<(f32, Option<usize>, usize)> = vec![(f32::MIN, None, 0); n + 1];
        if let Some(first) = best.get_mut(0) {
            first.0 = 0.0;
        }
        let mut by_start: Vec<Vec<usize>> = vec![vec![]; n + 1];
        for (i, e) in edges.iter().enumerate() {
            if let Some(list) = by_start.get_mut(e.start) {
                list.push(i);
            }
        }
        for at in 0..n {
            let here = best.get(at).map_or(f32::MIN, |b| b.0);
            if here == f32::MIN {
                continue;
            }
            let offer = |to: usize, score: f32, edge: Option<usize>, best: &mut Vec<(f32, Option<usize>, usize)>| {
                if let Some(b) = best.get_mut(to)
                    && score > b.0 + 1e-6
                {
                    *b = (score, edge, at);
                }
            };
            for &i in by_start.get(at).into_iter().flatten() {
                let Some(e) = edges.get(i) else { continue };
                let stop = grammar.patterns.get(e.pattern).is_some_and(|p| p.does == Some(Does::Stop));
                if stop {
                    #[expect(clippy::cast_precision_loss, reason = "utterances are short")]
                    let rest = (n - e.end) as f32;
                    offer(n, here + e.score + rest, Some(i), &mut best);
                } else {
                    offer(e.end, here + e.score, Some(i), &mut best);
                }
            }
            offer(at + 1, here - self.skip_cost(at), None, &mut best);
        }
        let mut path = vec![];
        let mut at = n;
        while at > 0 {
            let Some((_, edge, from)) = best.get(at) else { break };
            if let Some(e) = edge {
                path.push(*e);
            }
            at = *from;
        }
        path.reverse();
        (path, best.get(n).map_or(0.0, |b| b.0))
    }
}
