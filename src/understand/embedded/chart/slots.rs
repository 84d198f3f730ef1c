//! What may fill a slot of a pattern: noun phrases, values, numbers, free words.

use std::sync::Arc;

use super::{Bind, Chart, Filling, NameEdge};
use crate::link::Candidate;
use crate::term::Term;
use crate::understand::embedded::grammar::Fill;
use crate::understand::embedded::phrase::{Article, Head};
use crate::understand::embedded::text::{Kind, Token};

impl Chart<'_> {
    /// What fills a slot at a token.
    pub(super) fn fills(&mut self, fill: &Fill, at: usize) -> Arc<[Filling]> {
        let Fill::Name { mask, reference } = fill else { return self.found(fill, at).into() };
        if let Some(known) = self.named.get(&(*mask, *reference, at)) {
            return known.clone();
        }
        let found: Arc<[Filling]> = self.found(fill, at).into();
        self.named.insert((*mask, *reference, at), found.clone());
        found
    }

    fn found(&self, fill: &Fill, at: usize) -> Vec<Filling> {
        match fill {
            Fill::Name { mask, reference } => {
                let list = self.phrases_at.get(at).cloned().unwrap_or_default();
                let mut out = vec![];
                for i in list {
                    let Some(np) = self.phrases.get(i) else { continue };
                    let score = match &np.head {
                        Head::Name(e) => self.names.get(*e).and_then(|edge| {
                            #[expect(clippy::cast_precision_loss, reason = "spans are short")]
                            let words = edge.said as f32;
                            let items = self.model.lines.as_ref().map_or(0, |l| l.items);
                            let half = self.half_named(edge, mask & items != 0);
                            let noun_follows = if half {
                                1.8
                            } else if self.strange(np.end) {
                                0.7
                            } else {
                                0.0
                            };
                            let kind_of = np.end > edge.end;
                            // "The bean one" is a thing, hardly ever a part of one.
                            let thing = kind_of && np.article == Article::Definite && self.model.lines.as_ref().is_some_and(|l| mask & l.items == 0);
                            // The more so where something that is called so was spoken of or is there.
                            let known = |c: &Candidate| self.hints.contains_key(&c.name) && self.mask(c.name) & items != 0;
                            let part = if !thing {
                                0.0
                            } else if edge.candidates.iter().any(known) {
                                2.5
                            } else {
                                1.0
                            };
                            Some(np.extra_score + (words + 0.25 * (words - 1.0)) * self.fit(edge, *mask, kind_of)? - noun_follows - part)
                        }),
                        // A number right before a name is that name's.
                        Head::Left if *reference && np.count.is_some() => {
                            let torn = self.names_at.get(np.end).is_some_and(|n| !n.is_empty());
                            Some(np.extra_score - if torn { 0.6 } else { 0.0 })
                        }
                        _ if *reference && self.present & *mask != 0 => Some(np.extra_score),
                        _ => None,
                    };
                    if let Some(s) = score {
                        out.push((np.end, s, Bind::Np(i)));
                    }
                }
                out
            }
            Fill::Value(sort) => {
                let mut out = vec![];
                // An article before a value: "it is a taco".
                let skip =
                    usize::from(self.tokens.get(at).is_some_and(|t| self.model.phrase.has("indefinite", t.id) || self.model.phrase.has("definite", t.id)));
                for from in [at, at + skip] {
                    for (end, s, value, score) in self.values_at.get(from).into_iter().flatten() {
                        if s == sort {
                            #[expect(clippy::cast_precision_loss, reason = "spans are short")]
                            out.push((*end, score + 0.5 * (from - at) as f32, Bind::Term(Term::Const(value.clone()))));
                        }
                    }
                    if skip == 0 {
                        break;
                    }
                }
                out
            }
            Fill::Number { min, max, money, strict } => {
                let n = &self.model.numbers;
                // A number with its sign is not the number.
                if at.checked_sub(1).and_then(|b| self.tokens.get(b)).is_some_and(|t| self.model.phrase.has("minus", t.id)) {
                    return vec![];
                }
                let read = if *money { n.money(self.tokens, at) } else { n.value(self.tokens, at) };
                let Some(r) = read.filter(|r| r.value >= *min && r.value <= *max && (*money || !r.money) && (!*strict || r.money)) else { return vec![] };
                #[expect(clippy::cast_precision_loss, reason = "spans are short")]
                let score = (r.end - at) as f32;
                vec![(r.end, score, Bind::Term(Term::Int(i32::try_from(r.value).unwrap_or(i32::MAX))))]
            }
            Fill::Free { strict } => self.free(at, *strict),
        }
    }

    /// Whether a word that says a name in part stands right before another name, and no name has both: "apple juice".
    fn half_named(&self, edge: &NameEdge, item: bool) -> bool {
        let at = |from: usize| self.names_at.get(from).into_iter().flatten().filter_map(|e| self.names.get(*e));
        let in_part = |e: &NameEdge| e.end == e.start + 1 && e.candidates.iter().all(|c| c.score < 0.9);
        let parts = |from: usize, to: &NameEdge| {
            let other = |e: &NameEdge| e.candidates.iter().all(|c| to.candidates.iter().all(|o| o.name != c.name));
            let ends = (0..from).flat_map(at).any(|e| e.end == from + 1);
            let counts = self.model.numbers.whole(self.tokens, from).is_some();
            let placed = self.tokens.get(from).is_some_and(|t| self.model.ordinals.contains_key(&t.id));
            !ends && !placed && !counts && at(from).all(|e| in_part(e) && other(e)) && at(from).next().is_some()
        };
        let before = item && edge.start.checked_sub(1).is_some_and(|from| edge.end == edge.start + 1 && parts(from, edge));
        let after = in_part(edge) && at(edge.start).all(|e| e.end <= edge.end) && at(edge.end).any(|e| e.end == edge.end + 1 && parts(edge.start, e));
        before || after
    }

    /// Free names (`strict`: not of common words alone, and none that is known): up to seven words up to a mark or a word that ends names.
    fn free(&self, at: usize, strict: bool) -> Vec<Filling> {
        let mut out = vec![];
        let mut start = at;
        while start < at + 2 && self.tokens.get(start).is_some_and(|t| self.model.phrase.has("definite", t.id) || self.model.phrase.has("indefinite", t.id)) {
            start += 1;
        }
        let mut end = start;
        while let Some(t) = self.tokens.get(end) {
            let mark = !matches!(t.kind, Kind::Word | Kind::Number { money: false, .. });
            let no_start = || self.model.phrase.has("no_free_start", t.id) || (strict && self.hedges(start));
            if end > start && self.goes_on(start, end) {
                end += 1;
                continue;
            }
            if mark || end >= start + 7 || self.model.phrase.has("name_end", t.id) || (end == start && no_start()) {
                break;
            }
            end += 1;
            // A name holds a word that the language's common ones do not explain; alone, it is no word of any pattern either.
            let single = end == start + 1;
            let real = self.tokens.get(start..end).into_iter().flatten().any(|t| {
                t.kind == Kind::Word
                    && !self.model.fillers.contains(&t.id)
                    && !self.model.not_things.contains(&t.id)
                    && !self.model.numbers.units.contains_key(&t.id)
                    && !self.model.phrase.has("small", t.id)
                    && !(strict && (self.model.ordinary.contains(&t.id) || single && self.model.alike.contains_key(&t.id)))
            });
            // A day alone is none: "a new taco on Friday".
            let real = real && !(single && self.model.phrase.has("half_meant", t.id));
            // "A new taco" says a kind and no name.
            let real = real && !self.is_new_kind(start, end) && !(single && self.is_kind_word(start));
            let last_is_thing = !(self.model.fillers.contains(&t.id) || strict && self.model.phrase.has("small", t.id));
            // A name that stops before a further word is half a name.
            let cut =
                self.tokens.get(end).is_some_and(|n| n.kind == Kind::Word && !self.model.phrase.has("name_end", n.id) && !self.model.fillers.contains(&n.id));
            let known = strict
                && self.names.iter().any(|e| {
                    e.start >= start
                        && e.end <= end
                        && (e.said > 1 && e.said + 1 >= end - start || e.said == end - start || self.counted(start, e.start))
                        && e.said == e.end - e.start
                        && e.is_whole()
                });
            if real && last_is_thing && !known {
                #[expect(clippy::cast_precision_loss, reason = "spans are short")]
                let score = 0.5 * (end - start) as f32 + 0.2 * (start - at) as f32 - if cut { 1.2 } else { 0.0 };
                out.push((end, score, Bind::Free(start, end)));
            }
        }
        out
    }

    /// Whether a name goes on behind an "and" to the kind in which it ends: "the Steak and Egg Burrito", where nothing in it is a thing itself.
    fn goes_on(&self, from: usize, at: usize) -> bool {
        let is = |kind: &str, t: &Token| self.model.phrase.has(kind, t.id);
        let counts = |t: &Token| self.model.numbers.units.contains_key(&t.id);
        let word = |t: &Token| t.kind == Kind::Word && !counts(t) && !["definite", "indefinite", "list"].iter().any(|k| is(k, t));
        let words = |range: std::ops::Range<usize>| self.tokens.get(range).is_some_and(|all| all.iter().all(word));
        let ends = |i: usize| self.tokens.get(i).is_none_or(|t| t.punct().is_some());
        let items = self.model.lines.as_ref().map_or(0, |l| l.items);
        let thing = |e: &NameEdge| e.said == e.end - e.start && e.candidates.first().is_some_and(|c| c.is_whole() && self.mask(c.name) & items != 0);
        let things = |to: usize| self.names.iter().any(|e| from <= e.start && e.end <= to && thing(e));
        let ending = |kind: usize| words(at + 1..kind + 1) && self.is_kind_word(kind) && ends(kind + 1) && !things(kind + 1);
        self.tokens.get(at).is_some_and(|t| is("list", t)) && !self.is_kind_word(at - 1) && (at + 2..at + 4).any(ending)
    }

    /// Whether a word of no weight stands before a number ("um three …", "like six …"): no name begins there.
    fn hedges(&self, at: usize) -> bool {
        let light = |i: usize| self.tokens.get(i).is_some_and(|t| self.model.fillers.contains(&t.id));
        light(at) && (light(at + 1) || self.model.numbers.value(self.tokens, at + 1).is_some())
    }

    /// Whether a number stands right before a name: "a bag of six crunchy tacos" is no name.
    fn counted(&self, from: usize, name: usize) -> bool {
        name > from && self.model.numbers.value(self.tokens, name - 1).is_some_and(|n| n.end == name)
    }

    /// Whether a word is one for a kind of thing: "bowl" names no bowl.
    fn is_kind_word(&self, at: usize) -> bool {
        let kind = self.model.lines.as_ref().and_then(|l| l.kind_sort);
        self.values_at.get(at).is_some_and(|v| v.iter().any(|v| v.0 == at + 1 && Some(v.1) == kind))
    }

    fn is_new_kind(&self, start: usize, end: usize) -> bool {
        let new = self.tokens.get(start).is_some_and(|t| self.model.phrase.has("new", t.id));
        let kind = self.model.lines.as_ref().and_then(|l| l.kind_sort);
        new && (end == start + 1 || self.values_at.get(start + 1).is_some_and(|v| v.iter().any(|v| v.0 == end && Some(v.1) == kind)))
    }
}
