//! Which names, values and noun phrases may stand where in a chart.

use std::collections::{BTreeMap, BTreeSet};

use super::{Candidate, Chart, Kind, NameEdge, Phrases, Thresholds, Token};
use crate::link::names::WHOLE;
use crate::understand::embedded::lines::ends_in;

impl Chart<'_> {
    pub(super) fn find_values(&mut self) {
        for (at, token) in self.tokens.iter().enumerate() {
            // A common word stands for no value by another that is like it: who puts something in says no pop.
            let common = self.model.ordinary.contains(&token.id);
            let words: Vec<u32> = token.readings().map(|r| r.0).filter(|w| *w == token.id || !common).collect();
            for v in &self.model.values {
                if !words.iter().any(|w| v.firsts.binary_search(w).is_ok()) {
                    continue;
                }
                let longest = self.run(&v.program, at).into_iter().map(|(e, s, _)| (e, s)).max_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
                if let (Some((end, score)), Some(list)) = (longest, self.values_at.get_mut(at)) {
                    list.push((end, v.sort, v.value.clone(), score));
                }
            }
        }
    }

    pub(super) fn find_names(&mut self) {
        for at in 0..self.tokens.len() {
            self.extra_names(at);
            self.names_from(at);
        }
    }

    /// A name that is the beginning of a longer one that was said whole is hardly meant: the beans of a bean burrito.
    pub(super) fn shadow_names(&mut self) {
        // "A chips and guacamole": over a joining word, too, where an article or a number says that it is one thing.
        let counted = |at: usize| at > 0 && (self.is_word("indefinite", at - 1) || self.model.numbers.whole(self.tokens, at - 1).is_some());
        let links = |e: &NameEdge| if counted(e.start) { (e.start..e.end).filter(|i| self.is_word("name_link", *i)).count() } else { 0 };
        let said_whole: Vec<bool> = self.names.iter().map(|e| e.said + links(e) == e.end - e.start).collect();
        for at in 0..self.names_at.len() {
            let edges = self.names_at.get(at).cloned().unwrap_or_default();
            let whole = edges
                .iter()
                .filter(|i| said_whole.get(**i).copied().unwrap_or(false))
                .filter_map(|i| self.names.get(*i))
                .filter(|e| e.is_whole())
                .map(|e| e.end)
                .max();
            for i in edges {
                if let Some(e) = self.names.get_mut(i) {
                    e.shadowed = whole.is_some_and(|w| w > e.end);
                }
            }
        }
        // The end of a name said whole is hardly meant by itself either.
        let wholes: Vec<(usize, usize)> =
            self.names.iter().zip(&said_whole).filter(|(e, whole)| e.said > 1 && **whole && e.is_whole()).map(|(e, _)| (e.start, e.end)).collect();
        for e in &mut self.names {
            e.shadowed |= wholes.iter().any(|(s, t)| *s < e.start && e.end <= *t);
        }
    }

    /// Whether what is named most likely is of a kind.
    pub fn is_kind(&self, edge: &NameEdge, kind: &str) -> bool {
        let Some(lines) = self.model.lines.as_ref() else { return false };
        let name = edge.candidates.first().and_then(|c| self.name(c.name));
        name.is_some_and(|n| self.knowledge.second(&lines.config.kind, &n).iter().any(|k| **k == *kind))
    }

    /// A composed item that is named makes its members likely.
    pub(super) fn hint_members(&mut self) {
        let Some(lines) = self.model.lines.as_ref() else { return };
        let mut members = vec![];
        for edge in &self.names {
            let Some(best) = edge.candidates.first().filter(|c| c.is_whole() && self.mask(c.name) & lines.composed != 0) else { continue };
            let Some(name) = self.name(best.name) else { continue };
            for group in self.knowledge.second(&lines.config.composed, &name) {
                members.extend(self.knowledge.second(&lines.config.group, group).iter().filter_map(|m| self.knowledge.names.find(m)));
            }
        }
        for m in members {
            self.hints.entry(m).or_insert(0.45);
        }
    }

    fn extra_names(&mut self, at: usize) {
        for (i, (words, _)) in self.extra.iter().enumerate() {
            let said = words.iter().enumerate().all(|(k, w)| self.tokens.get(at + k).is_some_and(|t| t.text == *w));
            if said && !words.is_empty() {
                let candidates = vec![Candidate { name: self.knowledge.names.len() + i, score: 1.0 }];
                self.push_name(NameEdge { start: at, end: at + words.len(), candidates, plural: false, said: words.len(), shadowed: false });
            }
        }
    }

    fn push_name(&mut self, edge: NameEdge) {
        let at = edge.start;
        self.names.push(edge);
        let i = self.names.len() - 1;
        if let Some(list) = self.names_at.get_mut(at) {
            list.push(i);
        }
    }

    /// Grows a stretch from `at` as long as some name holds all its words.
    fn names_from(&mut self, at: usize) {
        let names = &self.knowledge.names;
        let Some(first) = self.tokens.get(at) else { return };
        if self.model.phrase.has("no_name_start", first.id) {
            return;
        }
        // Alive: entry, with the words said of it so far.
        let mut alive: Vec<(u32, Vec<(u32, f32)>)> = vec![];
        for (w, c) in first.readings() {
            for e in names.entries_with(w) {
                alive.push((*e, vec![(w, c)]));
            }
        }
        let mut end = at + 1;
        let mut bridged = false;
        let mut exact_before = false;
        // "Too hot": what is said to a degree is no part of a name.
        let measured = at.checked_sub(1).and_then(|b| self.tokens.get(b)).is_some_and(|t| self.model.phrase.has("degree", t.id));
        while !alive.is_empty() && end <= at + 9 {
            let mut scores: BTreeMap<usize, f32> = BTreeMap::new();
            for (e, said) in &alive {
                if let Some((targets, s)) = names.score(*e, said) {
                    let content = said.iter().any(|(w, _)| !self.is_small(*w) && !self.model.phrase.has("small", *w));
                    if content && s >= Thresholds::default().accept {
                        for t in targets {
                            let best = scores.entry(*t).or_insert(0.0);
                            *best = best.max(s);
                        }
                    }
                }
            }
            if bridged || measured {
                scores.retain(|_, s| *s >= WHOLE && !(bridged && exact_before));
            }
            if end == at + 1 && first.plural {
                self.all_called(&first.text, &mut scores);
            }
            if !scores.is_empty() {
                let mut candidates: Vec<Candidate> = scores.into_iter().map(|(name, score)| Candidate { name, score }).collect();
                candidates.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.name.cmp(&b.name)));
                exact_before |= !bridged && candidates.first().is_some_and(|c| c.is_whole());
                let plural = self.tokens.get(end - 1).is_some_and(|t| t.plural);
                let said = alive.iter().map(|a| a.1.len()).max().unwrap_or(1) + usize::from(bridged);
                self.push_name(NameEdge { start: at, end, candidates, plural, said, shadowed: false });
            }
            // The next word of the name, over joining words.
            let mut next = end;
            let mut over_with = false;
            while let Some(t) = self.tokens.get(next) {
                let link = self.model.phrase.has("name_link", t.id);
                let with =
                    self.model.phrase.has("name_with", t.id) || (bridged || over_with) && (t.punct() == Some(',') || self.model.phrase.has("definite", t.id));
                // Hesitation within a name: "soft uh taco".
                let pause = next < end + 2 && t.kind == Kind::Word && self.model.fillers.contains(&t.id);
                if !(link || with || pause) || names_in(&alive, names, t) {
                    break;
                }
                over_with |= with;
                next += 1;
            }
            let Some(t) = self.tokens.get(next) else { break };
            let mut grown = vec![];
            for (w, c) in t.readings() {
                for (e, said) in &alive {
                    let fits = names.entry_words(*e).contains(&w) && !said.iter().any(|s| s.0 == w);
                    if fits && (!self.is_letter(w) || next == end && names.follows(*e, said.last().map_or(0, |s| s.0), w)) {
                        let mut more = said.clone();
                        more.push((w, c));
                        grown.push((*e, more));
                    }
                }
            }
            bridged |= over_with;
            alive = grown;
            end = next + 1;
        }
    }

    /// "The freezes" are all that is called a freeze: not what has one in it, nor the choice of one.
    fn all_called(&self, word: &str, scores: &mut BTreeMap<usize, f32>) {
        let names = &self.knowledge.names;
        let group = self.model.lines.as_ref().map_or("", |l| &l.config.group);
        let choices = |id: usize| names.name(id).map_or(&[][..], |n| self.knowledge.second(group, n));
        if scores.iter().any(|(id, s)| *s >= WHOLE && choices(*id).is_empty()) {
            return;
        }
        let of_groups = scores.keys().flat_map(|id| choices(*id)).filter_map(|n| names.find(n));
        let all: BTreeSet<usize> =
            scores.keys().copied().chain(of_groups).filter(|id| choices(*id).is_empty() && names.name(*id).is_some_and(|n| ends_in(n, word))).collect();
        if all.len() > 1 {
            let score = scores.values().copied().fold(0.0, f32::max).min(0.9);
            *scores = all.into_iter().map(|id| (id, score)).collect();
        }
    }

    /// Numbers and single letters name nothing by themselves.
    fn is_small(&self, word: u32) -> bool {
        let number = || self.model.numbers.units.contains_key(&word) || self.knowledge.words.stem_of(word).chars().all(|c| c.is_ascii_digit());
        self.is_letter(word) || number()
    }

    fn is_letter(&self, word: u32) -> bool {
        let stem = self.knowledge.words.stem_of(word);
        stem.len() == 1 && stem.chars().all(|c| c.is_ascii_alphabetic())
    }

    pub(super) fn find_phrases(&mut self) {
        for at in 0..self.tokens.len() {
            let found = Phrases { chart: self }.at(at);
            for np in found {
                self.phrases.push(np);
                let i = self.phrases.len() - 1;
                if let Some(list) = self.phrases_at.get_mut(at) {
                    list.push(i);
                }
            }
        }
    }
}

fn names_in(alive: &[(u32, Vec<(u32, f32)>)], names: &crate::link::Names, t: &Token) -> bool {
    alive.iter().any(|(e, said)| names.entry_words(*e).contains(&t.id) && !said.iter().any(|s| s.0 == t.id))
}
