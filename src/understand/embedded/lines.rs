//! The counted lines of a conversation while one utterance is read: which instances there are and which are meant.

mod composed;

use std::sync::Arc;

use super::knowledge::Knowledge;
use super::model::Model;
use crate::term::{Atom, Name, Term};
use crate::text::stem;
use crate::understand::Context;

/// Instances that something is said of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Target {
    /// Their numbers in the ledger; empty if the item is not there.
    pub ids: Vec<usize>,
    /// The item.
    pub item: Option<Name>,
    /// The line, if all are of one.
    pub line: Option<usize>,
    /// Whether the place in the row was said.
    pub placed: bool,
    /// Whether they are some of several.
    pub partial: bool,
}

#[derive(Clone, Debug)]
struct Line {
    item: Name,
    instances: Vec<usize>,
    new: bool,
    slots: Vec<(Name, Option<Name>)>,
    composed: bool,
    cursor: usize,
}

#[derive(Clone, Debug)]
struct Instance {
    item: Name,
    changes: Vec<Atom>,
}

/// The lines and their instances.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    lines: Vec<Line>,
    instances: Vec<Instance>,
    composed: String,
    group: String,
    kind: String,
    open: Option<usize>,
    /// The instances in the order of the conversation's list.
    sequence: Vec<usize>,
    made_with: String,
    /// Groups with their members.
    members: Arc<[(Name, Name)]>,
}

impl Ledger {
    /// How many instances there are, how many of them stand in lines, and the lines' items.
    pub fn size(&self) -> (usize, usize, Vec<Name>) {
        (self.instances.len(), self.lines.iter().map(|l| l.instances.len()).sum(), self.lines.iter().map(|l| l.item.clone()).collect())
    }

    /// The items of the conversation's list, each once, in its order; members of composed items are none of their own.
    pub fn items(&self) -> Vec<Name> {
        let mut out: Vec<Name> = vec![];
        for name in self.sequence.iter().filter_map(|i| self.instances.get(*i)).map(|i| i.item.clone()) {
            if !out.contains(&name) {
                out.push(name);
            }
        }
        out
    }

    /// Every item that was there before this turn, members of composed ones among them, each once.
    pub fn there(&self) -> Vec<Name> {
        let mut out: Vec<Name> = vec![];
        for name in self.lines.iter().filter(|l| !l.new && !l.instances.is_empty()).map(|l| &l.item) {
            if !out.contains(name) {
                out.push(name.clone());
            }
        }
        out
    }

    /// The changes of the last instance of an item, in the form `Op(Option)`, and the members that were chosen for it.
    pub fn last_of(&self, item: &Name) -> (Vec<Atom>, Vec<Name>) {
        let alone = self.sequence.iter().rev().filter_map(|i| self.instances.get(*i)).find(|i| i.item == *item);
        let last = alone.or_else(|| self.instances.iter().rev().find(|i| i.item == *item));
        let slots = self.lines.iter().rev().find(|l| l.item == *item && l.composed && !l.new).map(|l| l.slots.clone()).unwrap_or_default();
        let chosen = slots.into_iter().filter(|(slot, dish)| dish.as_ref().is_some_and(|d| d != slot)).filter_map(|s| s.1).collect();
        (last.map(|i| i.changes.clone()).unwrap_or_default(), chosen)
    }

    /// The conversation's own lines.
    pub fn new(model: &Model, knowledge: &Knowledge, context: &Context) -> Self {
        let mut ledger = Self::default();
        let Some(config) = model.lines.as_ref().map(|l| &l.config) else { return ledger };
        ledger.composed.clone_from(&config.composed);
        ledger.group.clone_from(&config.group);
        ledger.kind.clone_from(&config.kind);
        ledger.made_with.clone_from(&config.made_with);
        ledger.members = knowledge.members.clone();
        for line in context.view.lines() {
            let item = line.item.clone();
            let at = ledger.lines.len();
            ledger.sequence.push(ledger.instances.len());
            let composed = !line.parts.is_empty() || model.lines.as_ref().is_some_and(|l| knowledge.mask(&item) & l.composed != 0);
            if !composed {
                ledger.put(&item, line.changes.clone());
                continue;
            }
            let instances = vec![ledger.instances.len()];
            ledger.instances.push(Instance { item: item.clone(), changes: line.changes.clone() });
            // Who tells of a composed item without its members leaves all of them open.
            let mut slots = if line.parts.is_empty() { ledger.slots(knowledge, &item) } else { vec![] };
            for part in &line.parts {
                if let Some(d) = &part.fill {
                    ledger.put(d, part.changes.clone());
                }
                slots.push((part.slot.clone(), part.fill.clone()));
            }
            ledger.lines.insert(at, Line { item, instances, new: false, slots, composed: true, cursor: 0 });
        }
        ledger
    }

    /// Adds a line said in this turn.
    pub fn add(&mut self, model: &Model, knowledge: &Knowledge, item: &Name, count: i64) -> usize {
        let composed = model.lines.as_ref().is_some_and(|l| knowledge.mask(item) & l.composed != 0);
        // Each instance has its own places to fill.
        let one = if composed { self.slots(knowledge, item) } else { vec![] };
        let copies = usize::try_from(count.clamp(1, 4)).unwrap_or(1);
        let slots: Vec<(Name, Option<Name>)> = std::iter::repeat_n(one, copies).flatten().collect();
        // What comes with it by itself is there too, and can be changed.
        for member in slots.iter().filter_map(|s| s.1.clone()) {
            self.put(&member, vec![]);
        }
        self.lines.push(Line { item: item.clone(), instances: vec![], new: true, slots, composed, cursor: 0 });
        let line = self.lines.len() - 1;
        self.set_count(line, count);
        if composed {
            self.open = Some(line);
        }
        line
    }

    /// The slots of a composed item; those that are no group are filled by themselves.
    fn slots(&self, knowledge: &Knowledge, item: &Name) -> Vec<(Name, Option<Name>)> {
        let groups = knowledge.second(&self.composed, item);
        groups.iter().map(|g| (g.clone(), knowledge.second(&self.group, g).is_empty().then(|| g.clone()))).collect()
    }

    /// Gives a new line its number of instances.
    pub fn set_count(&mut self, line: usize, count: i64) {
        // Instances beyond what can be changed one by one are counted, not kept.
        let kept = usize::try_from(count.clamp(0, 60)).unwrap_or(0);
        let Some(l) = self.lines.get_mut(line) else { return };
        l.cursor = 0;
        let item = l.item.clone();
        l.instances.truncate(kept);
        while l.instances.len() < kept {
            self.instances.push(Instance { item: item.clone(), changes: vec![] });
            l.instances.push(self.instances.len() - 1);
        }
        self.counts_set(line, count);
    }

    fn counts_set(&mut self, line: usize, count: i64) {
        let large = count > 60;
        if let Some(l) = self.lines.get_mut(line) {
            l.slots.retain(|s| !s.0.starts_with('#'));
            if large {
                l.slots.push((format!("#{count}").as_str().into(), Some("#".into())));
            }
        }
    }

    /// How many of a line.
    pub fn count(&self, line: usize) -> i64 {
        let Some(l) = self.lines.get(line) else { return 0 };
        let large = l.slots.iter().find_map(|s| s.0.strip_prefix('#').and_then(|n| n.parse().ok()));
        large.unwrap_or_else(|| i64::try_from(l.instances.len()).unwrap_or(0))
    }

    /// Makes a new line one of another item.
    pub fn rename(&mut self, line: usize, item: &Name, count: i64) {
        if let Some(l) = self.lines.get_mut(line) {
            l.item = item.clone();
            for i in &l.instances {
                if let Some(x) = self.instances.get_mut(*i) {
                    x.item = item.clone();
                }
            }
        }
        self.set_count(line, count);
    }

    /// A line's item.
    pub fn line_item(&self, line: usize) -> Name {
        self.lines.get(line).map_or_else(|| "".into(), |l| l.item.clone())
    }

    /// All instances of a line.
    pub fn line_target(&self, line: usize) -> Target {
        self.lines.get(line).map_or_else(Target::default, |l| Target {
            ids: l.instances.clone(),
            item: Some(l.item.clone()),
            line: Some(line),
            ..Target::default()
        })
    }

    /// The item of a target.
    pub fn item(&self, target: &Target) -> Option<Name> {
        target.item.clone().or_else(|| target.ids.first().and_then(|i| self.instances.get(*i)).map(|i| i.item.clone()))
    }

    /// The item of an instance.
    pub fn item_of(&self, id: usize) -> Option<Name> {
        self.instances.get(id).map(|i| i.item.clone())
    }

    /// The number of an instance among those of its item, from 1.
    pub fn place_of(&self, id: usize) -> usize {
        let Some(item) = self.item_of(id) else { return 1 };
        self.all_of(&item).iter().position(|i| *i == id).map_or(1, |p| p + 1)
    }

    /// The instances of an item.
    pub fn all_of(&self, item: &Name) -> Vec<usize> {
        self.lines.iter().filter(|l| l.item == *item).flat_map(|l| l.instances.iter().copied()).collect()
    }

    /// Whether the conversation or this turn holds the item.
    pub fn holds(&self, item: &str) -> bool {
        self.lines.iter().any(|l| &*l.item == item && !l.instances.is_empty())
    }

    /// How many instances of an item there are.
    pub fn number_of(&self, item: &Name) -> usize {
        self.all_of(item).len()
    }

    /// Whether this turn has added lines.
    pub fn has_new(&self) -> bool {
        self.lines.iter().any(|l| l.new)
    }

    /// The last line that this turn added.
    pub fn last_new(&self) -> Option<usize> {
        self.lines.iter().rposition(|l| l.new && !l.instances.is_empty())
    }

    /// The line that this turn added for the item.
    pub fn new_line_of(&self, item: &Name) -> Option<usize> {
        self.lines.iter().rposition(|l| l.new && l.item == *item && !l.instances.is_empty())
    }

    /// Whether there are several of an item, all alike.
    pub fn are_equal(&self, item: &Name) -> bool {
        let mut all = self.all_of(item).into_iter().filter_map(|id| self.instances.get(id)).map(|i| &i.changes);
        let first = all.next();
        let mut others = all.peekable();
        others.peek().is_some() && others.all(|c| Some(c) == first)
    }

    /// The last item that fits.
    pub fn last_item(&self, fits: &dyn Fn(&Name) -> bool) -> Option<Name> {
        self.lines.iter().rev().filter(|l| !l.instances.is_empty()).map(|l| &l.item).find(|n| fits(n)).cloned()
    }

    /// A target for an item that the ledger holds.
    pub fn of_item(&self, item: &Name) -> Option<Target> {
        let ids = self.all_of(item);
        let first = ids.first().copied()?;
        Some(Target { ids: vec![first], item: Some(item.clone()), ..Target::default() })
    }

    /// The kind of an item.
    pub fn kind_of(&self, knowledge: &Knowledge, item: &Name) -> Option<Name> {
        knowledge.second(&self.kind, item).first().cloned()
    }

    /// All items of a kind, those the conversation holds alone if there are any.
    pub fn of_kind(&self, knowledge: &Knowledge, kind: &Name) -> Vec<Name> {
        let out = self.all_of_kind(kind, knowledge);
        let held: Vec<Name> = out.iter().filter(|n| self.holds(n)).cloned().collect();
        if held.is_empty() { out } else { held }
    }

    /// All items of a kind that are known.
    pub fn all_of_kind(&self, kind: &Name, knowledge: &Knowledge) -> Vec<Name> {
        let predicate: Name = self.kind.as_str().into();
        let mut out: Vec<Name> = knowledge.pairs.iter().filter(|(k, v)| k.0 == predicate && v.contains(kind)).map(|(k, _)| k.1.clone()).collect();
        out.sort();
        out
    }

    /// Whether an instance of the item has been changed in a part.
    pub fn has_change(&self, item: &Name, part: &Name) -> bool {
        self.instances.iter().any(|i| i.item == *item && i.changes.iter().flat_map(|c| &c.args).any(|t| names(t, part)))
    }

    /// Whether the item is made with the part.
    pub fn included(&self, knowledge: &Knowledge, item: &Name, part: &Name) -> bool {
        knowledge.second(&self.made_with, item).contains(part)
    }

    /// Whether the item is made with anything.
    pub fn is_made(&self, knowledge: &Knowledge, item: &Name) -> bool {
        !knowledge.second(&self.made_with, item).is_empty()
    }

    /// Instances of an item: one, several, a numbered one.
    pub fn select(&mut self, item: &Name, place: Option<i64>, count: Option<i64>, several: bool, other: bool) -> Target {
        let held = |l: &Line| l.item == *item && !l.instances.is_empty();
        let line = self.lines.iter().rposition(|l| l.new && held(l)).or_else(|| self.lines.iter().rposition(held));
        let new = line.and_then(|l| self.lines.get(l)).is_some_and(|l| l.new);
        let all = self.all_of(item);
        if let (Some(p), Some(n)) = (place, count.and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 1)) {
            // "The first two", "the last three".
            let ids = if p < 0 { all.get(all.len().saturating_sub(n)..) } else { usize::try_from(p - 1).ok().and_then(|p| all.get(p..all.len().min(p + n))) };
            return Target { ids: ids.unwrap_or(&[]).to_vec(), item: Some(item.clone()), line, placed: all.len() > n, partial: false };
        }
        if let Some(p) = place {
            let id = at_place(&all, p);
            return Target { ids: id.into_iter().collect(), item: Some(item.clone()), line, placed: all.len() > 1, partial: false };
        }
        if let (Some(line), true) = (line, all.len() > 1 && (new || other || count.is_some())) {
            return self.select_in(line, count, several || (new && count.is_none()), other);
        }
        let wanted = match count {
            Some(n) => usize::try_from(n).unwrap_or(1).min(all.len().max(1)),
            None if several => all.len(),
            None => 1,
        };
        let partial = count.is_some() && wanted < all.len();
        Target { ids: all.into_iter().take(wanted).collect(), item: Some(item.clone()), line, placed: false, partial }
    }

    /// Some or all instances of a line; some are taken in turn.
    pub fn select_in(&mut self, line: usize, count: Option<i64>, several: bool, other: bool) -> Target {
        let Some(l) = self.lines.get_mut(line) else { return Target::default() };
        let total = l.instances.len();
        let n = match count {
            Some(n) => usize::try_from(n).unwrap_or(1),
            None if other => total.saturating_sub(l.cursor).max(1),
            None if several => total,
            None => 1,
        };
        if n >= total && !other {
            return Target { ids: l.instances.clone(), item: Some(l.item.clone()), line: Some(line), ..Target::default() };
        }
        let from = if l.cursor + n > total { 0 } else { l.cursor };
        l.cursor = from + n;
        let ids = l.instances.get(from..(from + n).min(total)).unwrap_or(&[]).to_vec();
        Target { ids, item: Some(l.item.clone()), line: Some(line), placed: false, partial: true }
    }

    /// Instances of a kind: all, one, a numbered one.
    pub fn select_kind(&mut self, knowledge: &Knowledge, kind: &Name, place: Option<i64>, count: Option<i64>, several: bool) -> Target {
        let ids_of = |fits: &dyn Fn(&Name) -> bool| -> Vec<usize> {
            self.lines.iter().filter(|l| !l.composed && fits(&l.item)).flat_map(|l| l.instances.iter().copied()).collect()
        };
        let mut ids = ids_of(&|n| self.kind_of(knowledge, n).as_ref() == Some(kind));
        // "The quesadilla", of a Breakfast Quesadilla, which counts as breakfast.
        if ids.is_empty() {
            ids = ids_of(&|n| is_called(n, kind));
        }
        let mut items: Vec<Name> = ids.iter().filter_map(|i| self.item_of(*i)).collect();
        items.dedup();
        if let Some(p) = place {
            let id = at_place(&ids, p);
            let item = id.and_then(|i| self.item_of(i));
            let placed = item.as_ref().is_some_and(|i| self.number_of(i) > 1);
            return Target { ids: id.into_iter().collect(), item, placed, ..Target::default() };
        }
        if let ([item], true) = (items.as_slice(), count.is_some()) {
            let item = item.clone();
            return self.select(&item, None, count, several, false);
        }
        let chosen: Vec<usize> = if several && count.is_none() {
            ids
        } else if let Some(n) = count {
            ids.into_iter().take(usize::try_from(n).unwrap_or(1)).collect()
        } else {
            // One of a kind: of the item said last, its first instance.
            match items.last() {
                Some(last) => self.all_of(last).into_iter().take(1).collect(),
                None => vec![],
            }
        };
        let item = if items.len() == 1 { items.first().cloned() } else { None };
        Target { ids: chosen, item, ..Target::default() }
    }

    /// The line at a position of the whole list.
    pub fn select_position(&self, place: i64) -> Target {
        let id = at_place(&self.sequence, place);
        Target { item: id.and_then(|i| self.item_of(i)), ids: id.into_iter().collect(), ..Target::default() }
    }

    /// The last instances of the whole list.
    pub fn select_last(&self, n: usize) -> Target {
        let ids = &self.sequence;
        Target { ids: ids.get(ids.len().saturating_sub(n)..).unwrap_or(&[]).to_vec(), ..Target::default() }
    }

    /// The last instances that this turn added.
    pub fn last_said(&self, n: usize) -> Target {
        let ids: Vec<usize> = self.lines.iter().filter(|l| l.new && !l.composed).flat_map(|l| l.instances.iter().copied()).collect();
        Target { ids: ids.get(ids.len().saturating_sub(n)..).unwrap_or(&[]).to_vec(), ..Target::default() }
    }

    /// The items of a target with how many of each.
    pub fn by_item(&self, target: &Target) -> Vec<(Name, i64)> {
        let mut out: Vec<(Name, i64)> = vec![];
        for id in &target.ids {
            let Some(item) = self.item_of(*id) else { continue };
            match out.iter_mut().find(|o| o.0 == item) {
                Some(o) => o.1 += 1,
                None => out.push((item, 1)),
            }
        }
        if let (true, Some(i)) = (out.is_empty(), &target.item) {
            out.push((i.clone(), 1));
        }
        out
    }

    /// The instances of all items whose changes do as asked, with each its item.
    pub fn told_apart(&self, by: &dyn Fn(&[Atom]) -> bool) -> Vec<(usize, Name)> {
        self.instances.iter().enumerate().filter(|(_, i)| by(&i.changes)).map(|(id, i)| (id, i.item.clone())).collect()
    }

    /// The instances of the same item that are not among some.
    pub fn others(&self, of: &Target) -> Target {
        let Some(item) = self.item(of) else { return Target::default() };
        let ids = self.all_of(&item).into_iter().filter(|id| !of.ids.contains(id)).collect();
        self.these(ids, item)
    }

    /// Some instances of an item, told by their places if there are more of it.
    pub fn these(&self, ids: Vec<usize>, item: Name) -> Target {
        Target { placed: self.number_of(&item) > ids.len(), ids, item: Some(item), ..Target::default() }
    }

    /// One more of an item that is not composed, by itself or as a member, in the line that the conversation has for it.
    fn put(&mut self, item: &Name, changes: Vec<Atom>) -> Target {
        self.instances.push(Instance { item: item.clone(), changes });
        let id = self.instances.len() - 1;
        let line = self.lines.iter().position(|l| !l.composed && !l.new && l.item == *item).unwrap_or(self.lines.len());
        match self.lines.get_mut(line) {
            Some(l) => l.instances.push(id),
            None => self.lines.push(Line { item: item.clone(), instances: vec![id], new: false, slots: vec![], composed: false, cursor: 0 }),
        }
        Target { ids: vec![id], item: Some(item.clone()), line: Some(line), ..Target::default() }
    }

    /// One instance became another item.
    pub fn replaced(&mut self, old: &Name, new: &Name) -> Target {
        let id = self.all_of(old).first().copied();
        if let Some(i) = id.and_then(|i| self.instances.get_mut(i)) {
            i.item = new.clone();
        }
        for l in &mut self.lines {
            if id.is_some_and(|i| l.instances.contains(&i)) && l.instances.len() == 1 {
                l.item = new.clone();
            }
        }
        Target { ids: id.into_iter().collect(), item: Some(new.clone()), ..Target::default() }
    }
}

/// Whether a word of the name is the kind.
pub fn is_called(name: &str, kind: &str) -> bool {
    name.split_whitespace().any(|w| w.eq_ignore_ascii_case(kind))
}

/// Whether the name ends in the word, in whatever number.
pub fn ends_in(name: &str, word: &str) -> bool {
    name.split_whitespace().next_back().is_some_and(|last| stem(&last.to_lowercase()) == stem(word))
}

/// Whether a term names something.
pub fn names(t: &Term, name: &str) -> bool {
    match t {
        Term::Str(s) => **s == *name,
        Term::Fun(_, args) => args.iter().any(|t| names(t, name)),
        Term::Int(_) | Term::Const(_) => false,
    }
}

fn at_place(ids: &[usize], place: i64) -> Option<usize> {
    let n = i64::try_from(ids.len()).ok()?;
    let index = if place < 0 { n + place } else { place - 1 };
    usize::try_from(index).ok().and_then(|i| ids.get(i)).copied()
}
