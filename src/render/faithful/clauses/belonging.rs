//! To whom something belongs: which thing is large, of which there is another, where a thing begins behind what one is made without.

use std::collections::BTreeSet;

use super::{Clauses, Held, Rows, has_any, is_several, marked, stems};
use crate::render::Say;
use crate::render::faithful::scan::{Entity, read, tokens};
use crate::term::{Atom, Term};

impl Clauses {
    /// Whether a thing begins behind the name of what another is made without: no onions, Soft Taco.
    pub(super) fn begins_behind(&self, lacked: Option<(&str, usize)>, next: Option<(&str, usize)>) -> bool {
        let Rows { lacking, things, .. } = &*self.grammar.rows;
        let told = |name: Option<(&str, usize)>, list| name.is_some_and(|(name, _)| self.about(name).iter().any(|h| has_any(&h.words, list)));
        told(lacked, lacking) && told(next, things)
    }

    /// Whether a clause that does no more than name begins with a thing of its own: counted, or joined and no more.
    pub(super) fn begins(&self, clause: &str, of: &[&Held]) -> bool {
        let Rows { things, counting, joining, likewise, .. } = &*self.grammar.rows;
        let words = tokens(clause);
        let name = (0..words.len()).find(|at| self.names.longest_at(words.get(*at..).unwrap_or_default()).is_some()).unwrap_or_default();
        let (front, rest) = words.split_at(name);
        let counted = front.last().is_some_and(|t| counting.contains(&t.word) || t.word.bytes().all(|b| b.is_ascii_digit()));
        let joined = !front.is_empty() && front.iter().all(|t| joining.contains(&t.word)) && !rest.iter().any(|t| likewise.contains(&t.word));
        of.iter().any(|h| has_any(&h.words, things)) && (counted || joined)
    }

    /// Whether another one is told of where there is one: another Water.
    pub(super) fn tells_of_more(&self, text: &str) -> bool {
        let Rows { further, counted, .. } = &*self.grammar.rows;
        let words = tokens(text);
        let single = |name: &str| {
            let of = self.about(name);
            let stems = stems(name);
            let orders = || self.orders_of(&stems);
            !of.is_empty() && of.iter().all(|h| has_any(&h.words, counted)) && orders().count() == 1 && !orders().any(is_several)
        };
        let at = |from: usize| self.names.longest_at(words.get(from..).unwrap_or_default());
        let more = words.iter().enumerate().filter(|(_, t)| further.contains(&t.word)).filter_map(|(i, _)| {
            let order = if words.get(i + 2).is_some_and(|t| t.word == "of") { 2 } else { 0 };
            at(i + 1 + order)
        });
        more.map(|(name, _)| name).any(single)
    }

    /// Whether what was set is told of as put on top: 330 calories added.
    pub(super) fn raises(&self, text: &str) -> bool {
        let Rows { setting, raising, .. } = &*self.grammar.rows;
        let set = |(h, s): (&Held, &Say)| has_any(&h.words, setting) && s.input.iter().flat_map(|a| &a.args).any(|t| t.as_int().is_some());
        let of: Vec<(&Held, &Say)> = self.held.iter().zip(&self.says).filter(|(h, _)| !h.names.is_empty()).collect();
        let amount = || read(text, &self.names).iter().any(|e| !matches!(e, Entity::Name(_)));
        !of.is_empty() && of.into_iter().all(set) && tokens(text).iter().any(|t| raising.contains(&t.word)) && amount()
    }

    /// What says how many there are of a name with these stems.
    fn orders_of(&self, name: &str) -> impl Iterator<Item = &Say> {
        let counted = &self.grammar.rows.counted;
        self.held.iter().zip(&self.says).filter(move |(h, _)| h.names.contains(name) && has_any(&h.words, counted)).map(|(_, say)| say)
    }

    /// Whether something is told of the wrong one: a Starry and a Quesadilla, in large; both large. What a thing is put into is told of with it.
    pub(super) fn fits_another(&self, text: &str) -> bool {
        let Rows { fitting, things, before, several, each, .. } = &*self.grammar.rows;
        if text.trim_end().ends_with('?') {
            return false;
        }
        let words = tokens(&marked(text));
        let mut named: Vec<String> = vec![];
        let mut pronoun = false;
        let mut at = 0;
        while let Some(word) = words.get(at).map(|t| t.word.as_str()) {
            if let Some((name, length)) = self.names.longest_at(words.get(at..).unwrap_or_default()) {
                let name = stems(name);
                if self.held.iter().any(|h| h.own.contains(&name) && has_any(&h.words, things)) {
                    named.push(name);
                    pronoun = false;
                }
                at += length;
                continue;
            }
            at += 1;
            pronoun |= several.contains(word) || each.contains(word) && word != "one";
            let Some(of) = fitting.contains(word).then(|| self.fitted(word)).flatten() else { continue };
            let beside = |word: &String| before.contains(word) || self.held.iter().any(|h| h.words.contains(word) && has_any(&h.words, fitting));
            let ahead = (at..words.len()).find(|at| !words.get(*at).is_some_and(|t| beside(&t.word))).unwrap_or(words.len());
            if self.names.longest_at(words.get(ahead..).unwrap_or_default()).is_some() {
                continue;
            }
            let many = |name: &String| self.orders_of(name).count() > 1 || self.orders_of(name).any(is_several);
            let told = named.iter().rev().take(if pronoun && !named.last().is_some_and(many) { 2 } else { 1 });
            let belongs = |name: &String| of.contains(name) || self.held.iter().any(|h| h.names.contains(name) && of.intersection(&h.names).next().is_some());
            if !told.into_iter().all(belongs) {
                return true;
            }
        }
        false
    }

    /// The stems of what is so by the actions that hold the word, each by its own names or those of its line; nothing if one tells of none.
    fn fitted(&self, word: &str) -> Option<BTreeSet<String>> {
        let line = |a: &Atom| a.args.first().and_then(Term::as_int);
        let all = || self.held.iter().zip(&self.says);
        let of = |(h, say): (&Held, &Say)| -> BTreeSet<String> {
            let Some(own) = line(&say.action) else { return h.names.clone() };
            let beside = all().filter(|(o, s)| line(&s.action) == Some(own) && (h.names.is_empty() || o.names.intersection(&h.names).next().is_some()));
            beside.filter(|(o, _)| has_any(&o.words, &self.grammar.rows.things)).flat_map(|(o, _)| o.names.clone()).collect()
        };
        let each: Vec<BTreeSet<String>> = all().filter(|(h, _)| h.words.iter().any(|k| k == word)).map(of).collect();
        (!each.is_empty() && each.iter().all(|names| !names.is_empty())).then(|| each.into_iter().flatten().collect())
    }
}
