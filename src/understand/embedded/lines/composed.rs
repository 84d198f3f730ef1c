//! Composed items among the lines: their places, what may fill them, and what does.

use super::{Ledger, Line, Target};
use crate::term::Name;
use crate::understand::embedded::knowledge::Knowledge;

impl Ledger {
    /// The one member of a composed item that is made with all the parts, where the item itself is meant and made with none of them.
    pub fn made_into(&self, knowledge: &Knowledge, target: &Target, parts: &[Name]) -> Option<Name> {
        let item = self.item(target)?;
        let line = self.lines.iter().rev().find(|l| l.composed && l.item == item && !l.instances.is_empty())?;
        let made = |n: &Name| !parts.is_empty() && parts.iter().all(|p| self.included(knowledge, n, p));
        let mut members = line.slots.iter().filter_map(|s| s.1.as_ref()).filter(|m| self.holds(m) && made(m));
        members.next().filter(|_| members.next().is_none() && !made(&item)).cloned()
    }

    /// The composed line of this turn that may still take members.
    pub fn open_combo(&self) -> Option<usize> {
        self.open
    }

    /// Whether a place may hold an item.
    fn takes(&self, slot: &str, item: &str) -> bool {
        self.members.iter().any(|m| *m.0 == *slot && *m.1 == *item)
    }

    /// The last composed line with an open place that is spoken of, by its item and the members chosen for it.
    pub fn unfilled(&self, spoken_of: &dyn Fn(&Name, &[&Name]) -> bool) -> Option<usize> {
        let chosen = |l: &'_ Line| l.slots.iter().filter(|(slot, fill)| fill.as_ref() != Some(slot)).filter_map(|s| s.1.clone()).collect::<Vec<_>>();
        let spoken = |l: &Line| spoken_of(&l.item, &chosen(l).iter().collect::<Vec<_>>());
        self.lines.iter().rposition(|l| l.composed && l.slots.iter().any(|s| s.1.is_none()) && spoken(l))
    }

    /// An item that took another's place takes members from now on, if it is composed.
    pub fn opens(&mut self, knowledge: &Knowledge, item: &Name) {
        let slots = self.slots(knowledge, item);
        let Some(at) = self.lines.iter().rposition(|l| l.item == *item).filter(|_| !slots.is_empty()) else { return };
        if let Some(l) = self.lines.get_mut(at) {
            (l.composed, l.slots) = (true, slots);
        }
        self.open = Some(at);
    }

    /// A composed item that goes takes no more members.
    pub fn closes(&mut self, item: &Name) {
        let of = |l: &&mut Line| l.composed && l.item == *item && !l.new;
        self.lines.iter_mut().filter(of).for_each(|l| (l.composed, l.slots) = (false, vec![]));
        self.open = self.open.filter(|at| self.lines.get(*at).is_some_and(|l| l.composed));
    }

    /// The last composed line of an item, of this turn or before; it takes members from now on.
    pub fn combo_line(&mut self, knowledge: &Knowledge, item: &Name) -> Option<usize> {
        let at = self.lines.iter().rposition(|l| l.composed && l.item == *item)?;
        let slots = if self.lines.get(at).is_some_and(|l| l.slots.is_empty()) { self.slots(knowledge, item) } else { vec![] };
        if let Some(l) = self.lines.get_mut(at)
            && !slots.is_empty()
        {
            l.slots = slots;
        }
        Some(at)
    }

    /// How many open places of a composed line take an item.
    pub fn places_for(&self, combo: usize, item: &Name) -> usize {
        let takes = |slot: &(Name, Option<Name>)| slot.1.is_none() && self.takes(&slot.0, item);
        self.lines.get(combo).map_or(0, |l| l.slots.iter().filter(|s| takes(s)).count())
    }

    /// The open slot of a composed line that takes the item.
    pub fn slot_for(&self, combo: usize, item: &Name) -> Option<usize> {
        let l = self.lines.get(combo)?;
        l.slots.iter().position(|(g, d)| d.is_none() && self.takes(g, item))
    }

    /// Whether a composed line has the item without a choice.
    pub fn comes_with(&self, combo: usize, item: &Name) -> bool {
        self.lines.get(combo).is_some_and(|l| l.slots.iter().any(|(slot, fill)| slot == item && fill.as_ref() == Some(item)))
    }

    /// The lines of the same composed item, it among them.
    fn alike(&self, combo: usize) -> impl Iterator<Item = (usize, &Line)> {
        let of = self.lines.get(combo).map(|l| &l.item);
        self.lines.iter().enumerate().filter(move |(_, l)| l.composed && Some(&l.item) == of)
    }

    /// Another line of the same composed item that has an open place for the item: "one with milk and the other one with water".
    pub fn beside(&self, combo: usize, item: &Name) -> Option<usize> {
        self.alike(combo).map(|(i, _)| i).find(|i| self.slot_for(*i, item).is_some())
    }

    /// How many there are of a composed item.
    pub fn count_alike(&self, combo: usize) -> i64 {
        self.alike(combo).map(|(i, _)| self.count(i)).sum()
    }

    /// How many of the same composed item have an open place for the item; or how many such places there are in them.
    pub fn open_for(&self, combo: usize, item: &Name, places: bool) -> usize {
        self.alike(combo).map(|(i, l)| self.places_for(i, item).min(if places { usize::MAX } else { l.instances.len() })).sum()
    }

    /// Whether a member that the conversation holds, and holds only as one, stands where the item may stand too.
    pub fn shares_place(&self, member: &Name, item: &Name) -> bool {
        let fills = |l: &Line| l.slots.iter().any(|s| s.1.as_ref() == Some(member) && self.takes(&s.0, item));
        !self.is_alone(member) && member != item && self.lines.iter().any(|l| !l.new && fills(l))
    }

    fn is_alone(&self, item: &Name) -> bool {
        self.sequence.iter().any(|i| self.instances.get(*i).is_some_and(|i| i.item == *item))
    }

    /// The last composed item that something which is held only so is a member of.
    pub fn composed_of(&self, member: &Name) -> Option<Name> {
        let of = |l: &&Line| l.composed && l.slots.iter().any(|s| s.1.as_ref() == Some(member));
        self.lines.iter().rev().find(of).filter(|_| !self.is_alone(member)).map(|l| l.item.clone())
    }

    /// The first of the conversation's lines with an open place that takes the item, if they are so many, all of one composed item.
    pub fn waits_for(&self, item: &Name, many: i64) -> Option<usize> {
        let waits = |i: &usize| self.lines.get(*i).is_some_and(|l| !l.new && l.composed) && self.slot_for(*i, item).is_some();
        let waiting: Vec<usize> = (0..self.lines.len()).filter(waits).collect();
        let first = waiting.first().copied()?;
        let of = |i: &usize| self.lines.get(*i).map(|l| &l.item);
        (usize::try_from(many) == Ok(waiting.len()) && waiting.iter().all(|i| of(i) == of(&first))).then_some(first)
    }

    /// The line with an open place that would take either.
    pub fn left_by(&self, member: &str, item: &Name) -> Option<usize> {
        self.lines.iter().position(|l| !l.new && l.slots.iter().any(|s| s.1.is_none() && self.takes(&s.0, item) && self.takes(&s.0, member)))
    }

    /// Another member takes the place of one.
    pub fn refill(&mut self, combo: usize, old: &Name, new: &Name) {
        let slot = self.lines.get_mut(combo).and_then(|l| l.slots.iter_mut().find(|s| s.1.as_ref() == Some(old)));
        slot.into_iter().for_each(|s| s.1 = Some(new.clone()));
    }

    /// What fills the slots that take the item, if none of them is open.
    pub fn filled_by(&self, combo: usize, item: &Name) -> Option<Name> {
        if self.slot_for(combo, item).is_some() {
            return None;
        }
        let l = self.lines.get(combo)?;
        l.slots.iter().find(|(g, d)| d.is_some() && self.takes(g, item)).and_then(|s| s.1.clone()).filter(|d| d != item)
    }

    /// What the open slots of a composed line take; if `filled`, what the others take.
    pub fn choices(&self, knowledge: &Knowledge, combo: usize, filled: bool) -> Vec<Name> {
        let Some(l) = self.lines.get(combo) else { return vec![] };
        let mut out: Vec<Name> = l.slots.iter().filter(|s| s.1.is_some() == filled).flat_map(|s| knowledge.second(&self.group, &s.0).iter().cloned()).collect();
        out.sort();
        out.dedup();
        out
    }

    /// Puts a member into a composed line.
    pub fn fill(&mut self, combo: usize, item: &Name) -> Target {
        let slot = self.slot_for(combo, item);
        if let (Some(l), Some(s)) = (self.lines.get_mut(combo), slot)
            && let Some(x) = l.slots.get_mut(s)
        {
            x.1 = Some(item.clone());
        }
        self.put(item, vec![])
    }
}
