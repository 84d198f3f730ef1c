//! Numbers said as a change of what holds: "up twenty cents", "ten percent off". Which predicates set what fact is the lexicon's to say.

use std::ops::Range;

use super::Embedded;
use super::knowledge::Knowledge;
use super::template::Template;
use super::text::{Kind, Token};
use crate::term::{Atom, Name, Term};
use crate::understand::Context;

/// A predicate whose number sets a fact's: `edit($x,price,$n)` sets `original_price($x,$n)`.
#[derive(Clone, Debug)]
pub struct Sets {
    /// The predicate; its first variable is the name, its second the number.
    pub template: Template,
    /// The fact.
    pub fact: Name,
}

/// A change of a number.
#[derive(Clone, Copy, Debug)]
struct Change {
    raises: bool,
    by: i64,
    percent: Option<i64>,
}

/// A whole one of a currency: what is less is put on a price sooner than it is one.
const WHOLE: i64 = 100;
/// From how many times what holds on a bare number is hardly meant as it stands.
const FAR: i64 = 4;

impl Change {
    fn of(self, present: i64) -> i64 {
        let by = self.percent.map_or(self.by, |percent| (present * percent + 50) / 100);
        if self.raises { present + by } else { present - by }
    }
}

impl Embedded {
    /// The act with the number that it comes to, if its number was said as a change of what the fact holds.
    pub(super) fn absolute(&self, tokens: &[Token], act: &Atom, context: &Context) -> Option<Atom> {
        let (at, present, said) = self.set_number(act)?;
        // "And the starry too", after the Pepsi went up ten cents: it goes up as much.
        if let Some((_, was, _)) = context.said_before.iter().find_map(|a| self.set_number(a).filter(|b| b.2 == said))
            && self.numbers_at(tokens).next().is_none()
        {
            let words = self.tokens(context.words_before.as_deref()?).0;
            let change = self.changes(&words, act, || Some(was < said)).find(|(_, c)| c.of(was) == said)?.1;
            return with_number(act, at, change.of(present));
        }
        let before = || context.said_before.iter().rev().find_map(|a| self.set_number(a));
        let went_up = || before().map(|(_, present, set)| present < set);
        // What was set just now counts, though the facts do not hold it yet.
        let alike = |a: &&Atom| with_number(a, at, 0).is_some_and(|a| Some(a) == with_number(act, at, 0));
        let told = context.said_before.iter().rev().find(alike).and_then(|a| if let Some(Term::Int(n)) = a.args.get(at) { Some(i64::from(*n)) } else { None });
        let change = self.changes(tokens, act, went_up).find(|(_, c)| c.by == said && (c.percent.is_some() || said < told.unwrap_or(present)))?.1;
        // Who says the same change again says it once more only with a word for that.
        let again = tokens.iter().any(|t| self.model.phrase.has("again", t.id));
        let base = told.filter(|told| again || *told != change.of(present)).unwrap_or(present);
        with_number(act, at, change.of(base))
    }

    /// The act with the number as it was said, if it comes to the act's by a change: what the reader is to find in the words.
    pub(super) fn as_said(&self, tokens: &[Token], act: &Atom) -> Option<Atom> {
        let (at, present, wanted) = self.set_number(act)?;
        let said = |n: i64| self.numbers_at(tokens).any(|(_, _, v)| v == n);
        // Whether it went up tells the number that it comes to.
        let change = self.changes(tokens, act, || Some(present < wanted)).find(|(_, c)| c.of(present) == wanted).filter(|_| !said(wanted))?.1;
        with_number(act, at, change.by)
    }

    /// Whether an act's number was said without a unit and is so far from what holds that another unit may be meant: "make that 30", of
    /// what costs 2.19.
    pub(super) fn is_far(&self, tokens: &[Token], act: &Atom) -> bool {
        let Some((_, present, said)) = self.set_number(act) else { return false };
        let bare = |at: usize| self.model.numbers.money(tokens, at).is_some_and(|n| n.value == said && !n.money);
        present > 0 && said > FAR * present && (0..tokens.len()).any(bare)
    }

    /// Where an act that sets a fact has its number, the fact's present number, and the act's.
    fn set_number(&self, act: &Atom) -> Option<(usize, i64, i64)> {
        self.model.sets.iter().find_map(|s| {
            let mut binds = vec![];
            s.template.matches(act, &mut binds).then_some(())?;
            let bound = |var: u8| binds.iter().find(|b: &&(u8, Term)| b.0 == var).map(|b| &b.1);
            let (Some(Term::Str(name)), Some(Term::Int(n))) = (bound(0), bound(1)) else { return None };
            let at = act.args.iter().position(|a| matches!(a, Term::Int(_)))?;
            Some((at, present(&self.knowledge, &s.fact, name)?, i64::from(*n)))
        })
    }

    /// Every number of the words, as a count and as money: where it begins and ends, and its value.
    fn numbers_at<'t>(&'t self, tokens: &'t [Token]) -> impl Iterator<Item = (usize, usize, i64)> + 't {
        let n = &self.model.numbers;
        let read = move |at: usize| n.value(tokens, at).into_iter().chain(n.money(tokens, at)).map(move |v| (at, v.end, v.value));
        (0..tokens.len()).flat_map(read)
    }

    /// Where two or more words of a name are said in a row.
    fn said_as(&self, tokens: &[Token], name: &str) -> Vec<Range<usize>> {
        let name = self.tokens(name).0;
        let run = |at: usize| {
            let from = |n: usize| tokens.iter().skip(at).zip(name.iter().skip(n)).take_while(|(a, b)| a.id == b.id).count();
            (0..name.len()).map(from).max().filter(|run| *run > 1)
        };
        let bytes = |at: usize| Some(tokens.get(at)?.range.start..tokens.get(at + run(at)? - 1)?.range.end);
        (0..tokens.len()).filter_map(bytes).collect()
    }

    /// The numbers that are said as a change: a word for up or down stands in the clause, and nothing says that the number is the new one.
    /// "And the other by ten cents" goes the way that the one before went. The words of a name say nothing of it: "sell the roll up for 1.39".
    fn changes<'t>(&'t self, tokens: &'t [Token], act: &Atom, went_up: impl Fn() -> Option<bool> + 't) -> impl Iterator<Item = (usize, Change)> + 't {
        let named: Vec<Range<usize>> = act.args.iter().filter_map(Term::as_name).flat_map(|name| self.said_as(tokens, name)).collect();
        let of_name = move |t: &Token| named.iter().any(|n| n.contains(&t.range.start));
        let has = move |kind: &'static str, t: &Token| t.kind == Kind::Word && !of_name(t) && self.model.phrase.has(kind, t.id);
        let stops = |t: &Token| matches!(t.punct(), Some('.' | '?' | '!' | ','));
        self.numbers_at(tokens).filter_map(move |(at, end, by)| {
            let from = tokens.get(..at)?.iter().rposition(stops).map_or(0, |i| i + 1);
            let to = tokens.get(end..)?.iter().position(stops).map_or(tokens.len(), |i| end + i);
            let mut clause = tokens.get(from..to)?.iter();
            // "To a dollar ninety": the article belongs to the number.
            let before = tokens.get(..at)?.iter().rev().find(|t| !self.model.numbers.one.contains(&t.id));
            // "Costs ten cents more", "put ten cents on it": what comes right after says that it is a change.
            let said_on = by < WHOLE && tokens.get(end).is_some_and(|t| has("onto", t));
            let after = said_on || tokens.get(end).is_some_and(|t| has("raises", t) || has("lowers", t));
            let set_to = before.is_some_and(|t| has("set_to", t));
            let (onto, set) = (said_on && !set_to, set_to && !after);
            let direction = clause.clone().find(|t| has("raises", t) || has("lowers", t)).filter(|_| !set);
            let step = before.is_some_and(|t| has("step", t));
            (direction.is_some() || onto || step).then_some(())?;
            let percent = tokens.get(end).is_some_and(|t| t.punct() == Some('%') || has("percent", t));
            let percent = self.model.numbers.value(tokens, at).filter(|_| percent).map(|n| n.value);
            let lowers = clause.any(|t| has("lowers", t));
            let raises = direction.map(|d| has("raises", d)).or_else(|| onto.then_some(true)).or_else(&went_up)?;
            Some((at, Change { raises: raises && !lowers, by, percent }))
        })
    }
}

fn with_number(act: &Atom, at: usize, n: i64) -> Option<Atom> {
    let mut out = act.clone();
    *out.args.get_mut(at)? = Term::Int(i32::try_from(n).ok().filter(|n| *n >= 0)?);
    Some(out)
}

fn present(knowledge: &Knowledge, fact: &Name, name: &Name) -> Option<i64> {
    knowledge.amounts.get(&(fact.clone(), name.clone())).copied()
}
