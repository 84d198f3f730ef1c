//! Composed items and their places: which line is being filled, with what, and how often.

use super::{Entry, Resolver, What};
use crate::term::{Atom, Name, Term};
use crate::understand::embedded::chart::Edge;
use crate::understand::embedded::phrase::{Article, Np, Which};

/// So many places are filled by one phrase at most.
const MOST: usize = 12;
/// A share that is all of the lines.
const EVERY: i64 = i64::MAX;

impl Resolver<'_, '_> {
    /// Of how many of several composed lines with open places a phrase speaks, if it does.
    pub(super) fn share_of(&self, np: &Np, edge: &Edge) -> Option<i64> {
        let combo = self.ledger.open_combo().or_else(|| self.ledger.unfilled(&|_, _| true))?;
        let all = self.ledger.count_alike(combo);
        match np.which {
            Which::Both | Which::All if all > 1 => Some(EVERY),
            Which::Unsaid if np.place.is_none() && self.chart.is_word("name_with", edge.end) => np.count.filter(|n| *n < all),
            _ => None,
        }
    }

    /// The composed line that the last turn left open, where a name comes next that fills a place of it: a bare name after the line was
    /// said, any name while its members are being told.
    pub(super) fn filling(&self, np: &Np, edge: &Edge) -> Option<usize> {
        if np.place.is_some() || self.ledger.has_new() || self.denies(edge, np) || self.follows("negation", edge) {
            return None;
        }
        let joined = self.follows("list", edge);
        let with = (edge.start.saturating_sub(1)..np.start).any(|i| self.chart.is_word("name_with", i));
        // "Soft taco and milk", "the chicken one with a Pepsi", "with the steak one, a taco and a Pepsi": after one place the next.
        let row = edge.start.checked_sub(1).and_then(|i| self.chart.tokens.get(i)).is_some_and(|t| t.punct() == Some(','));
        if let Some(line) = self.filled.filter(|line| (joined || with || row) && self.member_of(np, *line).is_some()) {
            return Some(line);
        }
        // "A chalupa.", right after a box that may hold one.
        let first = (0..edge.start).all(|i| self.chart.skip_cost(i) <= 0.0);
        let bare = with || (first || np.article != Article::Indefinite) && !self.wanted && !joined;
        let spoken_of = |n: &Name| self.spoken_of().any(|s| s == n);
        let told = self.ledger.unfilled(&|item, members| (bare || self.share.is_some()) && spoken_of(item) || members.iter().any(|m| spoken_of(m)));
        // What may fill its places was just listed: "which tacos may I choose from?"
        let listed = |c: &usize| self.ledger.choices(self.chart.knowledge, *c, false).iter().filter(|n| spoken_of(n)).count() > 1;
        // "With a large Pepsi", though something else was told last.
        let goes_with = |c: &usize| first && with && self.member_of(np, *c).is_some();
        let open = told.or_else(|| self.ledger.unfilled(&|_, _| true).filter(|c| listed(c) || goes_with(c)))?;
        // A number is meant for the line if it has just so many places for the name, or that many of what was listed.
        let places = self.member_of(np, open).map_or(0, |name| self.ledger.places_for(open, &name));
        let fits = |n: i64| usize::try_from(n).is_ok_and(|n| n == places || n < places && listed(&open));
        np.count.is_none_or(fits).then_some(open)
    }

    /// "The same again with a Starry": another pick for the line that was copied.
    pub(super) fn picks_anew(&mut self, np: &Np) -> bool {
        let Some(line) = self.copied else { return false };
        let Some(new) = self.narrowed(np, &self.ledger.choices(self.chart.knowledge, line, true)) else { return false };
        let Some(old) = self.ledger.filled_by(line, &new) else { return false };
        let taken = |e: &&mut Entry| matches!(&e.what, What::Atom(a) if a.args.len() == 2 && a.args.get(1).and_then(Term::as_name) == Some(&*old));
        let Some(Entry { what: What::Atom(atom), .. }) = self.entries.iter_mut().rev().find(taken) else { return false };
        if let Some(member) = atom.args.get_mut(1) {
            *member = Term::Str(new.clone());
        }
        self.ledger.refill(line, &old, &new);
        self.topic = Some(new);
        self.absorbed += 1;
        true
    }

    /// "A Steak Quesadilla Combo": what is named right before a composed item, and may be chosen for it, is.
    pub(super) fn take_in(&mut self, line: usize, edge: &Edge, weak: u8) {
        let Some(at) = self.entries.len().checked_sub(2) else { return };
        let Some(Entry { what: What::Line(before), span, .. }) = self.entries.get(at).cloned() else { return };
        let member = self.ledger.line_item(before);
        if span.end == edge.start && self.ledger.count(before) == 1 && self.ledger.slot_for(line, &member).is_some() {
            self.entries.iter_mut().filter(|e| e.what == What::Line(before)).for_each(|e| e.what = What::Gone);
            self.ledger.set_count(before, 0);
            self.fill(line, &member, &[], edge, weak);
        }
    }

    /// Puts a member where it was said to go: so many times, into both or all places, into each of the lines alike.
    pub(super) fn fill_all(&mut self, combo: usize, name: &Name, np: &Np, edge: &Edge, weak: u8) {
        // What is said of all goes on, a number counts once.
        let share = self.share;
        self.share = share.filter(|n| *n == EVERY);
        // "Milk for both of them", "they will all have milk".
        let ends = |i: &usize| self.chart.tokens.get(*i).is_some_and(|t| t.punct().is_some()) || self.chart.is_word("list", *i);
        let quantified = |i: usize| self.chart.is_word("both", i) || self.chart.is_word("all", i);
        // "Both with a bean burrito and a soft taco."
        if (0..np.start).rev().take_while(|i| !ends(i)).any(quantified) {
            self.share = Some(EVERY);
        }
        let every = self.share == Some(EVERY) || (np.end..self.chart.tokens.len()).take_while(|i| !ends(i)).any(quantified);
        let n = match np.count.or(share.filter(|_| !every)).and_then(|n| usize::try_from(n).ok()) {
            Some(n) => n,
            None if matches!(np.which, Which::Both | Which::All) => self.ledger.places_for(combo, name).max(self.ledger.open_for(combo, name, false)),
            None if every || np.plural => self.ledger.open_for(combo, name, np.plural),
            None => 1,
        };
        for _ in 0..n.clamp(1, MOST) {
            let open = self.ledger.slot_for(combo, name).is_some();
            let line = if open && !every { combo } else { self.ledger.beside(combo, name).unwrap_or(combo) };
            self.fill(line, name, &np.attributes, edge, weak);
        }
    }

    pub(super) fn fill(&mut self, combo: usize, name: &Name, attributes: &[(u16, Name)], edge: &Edge, weak: u8) {
        let Some(member) = self.chart.model.lines.as_ref().map(|l| l.config.member.clone()) else { return };
        let item = self.ledger.line_item(combo);
        self.filled = Some(combo);
        let target = self.ledger.fill(combo, name);
        self.topic = Some(name.clone());
        self.last_name_end = edge.end;
        self.push(What::Atom(Atom { name: member.as_str().into(), args: vec![Term::Str(item), Term::Str(name.clone())] }), edge, weak);
        for (sort, value) in attributes {
            self.attribute(*sort, value, target.clone(), edge, weak);
        }
        self.focus = Some(target);
    }
}
