//! Changes of items: which instances are meant, and which part of an item.

use super::{Entry, Picked, Resolver, What, restates};
use crate::link::names::WHOLE;
use crate::term::{Atom, Name, Term};
use crate::understand::embedded::chart::{Bind, Edge};
use crate::understand::embedded::lines::{Target, names};
use crate::understand::embedded::model::{AttributeModel, Phrasing};
use crate::understand::embedded::phrase::{Article, Head, Np, Which};
use crate::understand::embedded::template::{Slot, Template};

impl Resolver<'_, '_> {
    /// The instances a phrase speaks of. `parts` are names that the change is about, for choosing among several.
    pub(super) fn target(&mut self, np: &Np, edge: &Edge, parts: &[Name]) -> Target {
        if np.half {
            let mut all = self.target(&Np { half: false, which: Which::All, ..np.clone() }, edge, parts);
            if all.ids.len() % 2 == 1 {
                return Target::default();
            }
            all.ids.truncate(all.ids.len() / 2);
            return all;
        }
        if let Some(target) = self.told_apart(np) {
            return target;
        }
        // "The first one with onions and the other one with tomatoes".
        if let Some(others) = self.focus.as_ref().filter(|f| np.which == Which::Other && f.placed).map(|f| self.ledger.others(f)).filter(|o| !o.ids.is_empty())
        {
            return others;
        }
        if np.which == Which::Other
            && let Some(other) = self.other_than(np, edge, parts)
        {
            return other;
        }
        let changed = self.chart.model.lines.as_ref().map_or(u64::MAX, |l| l.changed | l.items);
        let several = np.plural || matches!(np.which, Which::Both | Which::All);
        match &np.head {
            Head::Name(_) => match self.pick(np, changed, 0.5) {
                Picked::One(name) => {
                    self.topic = Some(name.clone());
                    if np.article == Article::Indefinite && !self.ledger.holds(&name) {
                        self.new_line(name.clone(), np.count.unwrap_or(1), &np.attributes, edge, 0);
                    }
                    self.ledger.select(&name, np.place, np.count, several, np.which == Which::Other)
                }
                // "Make all three freezes large", of three different ones.
                Picked::Tie(names) if several && np.place.is_none() && names.iter().any(|n| self.ledger.holds(n)) => {
                    let ids: Vec<usize> = names.iter().flat_map(|n| self.ledger.all_of(n)).collect();
                    let wanted = if np.which == Which::Both { Some(2) } else { np.count };
                    if wanted.is_some_and(|n| usize::try_from(n) != Ok(ids.len())) {
                        self.be_unsure(np, names);
                        return Target::default();
                    }
                    Target { ids, ..Target::default() }
                }
                Picked::Tie(names) => {
                    self.be_unsure(np, names);
                    Target::default()
                }
                Picked::Nothing => Target::default(),
            },
            Head::Kind(kind) if self.is_open_which(np, kind, parts) => Target::default(),
            Head::Kind(kind) => self.ledger.select_kind(self.chart.knowledge, kind, np.place, np.count, several),
            Head::Pronoun(_) | Head::Left => {
                let item = self.current_item(parts);
                // "Make them …" is said of several.
                let plural = |i: &Name| self.ledger.number_of(i) > 1 && parts.iter().all(|p| self.chart.knowledge.relates(i, p));
                let single = np.which == Which::Unsaid && (np.part || np.head == Head::Pronoun(true) && np.count.is_none());
                let lone = self.focus.is_none() && self.topic.is_none() && item.as_ref().is_some_and(|i| self.ledger.number_of(i) == 1);
                let item = if single && lone { self.ledger.last_item(&plural).or(item) } else { item };
                if np.head == Head::Pronoun(false) && np.place.is_none() && np.count.is_none() && !several {
                    return match (&self.focus, item) {
                        (Some(f), _) => f.clone(),
                        (None, Some(item)) => self.ledger.select(&item, None, None, false, false),
                        _ => Target::default(),
                    };
                }
                // "Six crunchy tacos, six soft, no lettuce on any of them".
                let fits = |i: &(Name, i64)| parts.iter().all(|p| self.chart.knowledge.relates(&i.0, p));
                let said = if np.which == Which::All && np.place.is_none() { self.ledger.last_said(usize::MAX) } else { Target::default() };
                let said = if np.which == Which::All && said.ids.is_empty() && self.focus.is_none() { self.told_together() } else { said };
                let kinds = self.ledger.by_item(&said);
                if kinds.len() > 1 && kinds.iter().all(fits) && np.count.is_none_or(|n| usize::try_from(n).is_ok_and(|n| n == said.ids.len())) {
                    return said;
                }
                match item {
                    Some(item) if np.which == Which::Both && self.ledger.number_of(&item) == 1 => {
                        let said = self.ledger.last_said(2);
                        if said.ids.len() == 2 { said } else { self.ledger.select_last(2) }
                    }
                    Some(item) => {
                        let whole = self.focus.as_ref().and_then(|f| f.line).filter(|_| np.place.is_none());
                        match whole {
                            Some(line) if self.ledger.line_item(line) == item => {
                                self.ledger.select_in(line, np.count, several || np.count.is_none(), np.which == Which::Other)
                            }
                            _ => {
                                // Of a single thing none is the first.
                                let there = self.ledger.number_of(&item);
                                let by_position = np.place.is_some_and(|p| there < p.unsigned_abs() as usize || there == 1);
                                if by_position {
                                    return self.ledger.select_position(np.place.unwrap_or(1));
                                }
                                self.ledger.select(&item, np.place, np.count, several, np.which == Which::Other)
                            }
                        }
                    }
                    None => Target::default(),
                }
            }
        }
    }

    /// The instances of all items that were told last, where they were several: "fire sauce on all of them".
    fn told_together(&self) -> Target {
        let told = self.ledger.items().into_iter().filter(|n| self.spoken_of().any(|s| s == n));
        Target { ids: told.flat_map(|n| self.ledger.all_of(&n)).collect(), ..Target::default() }
    }

    /// What was told last, as a change of an instance says it.
    fn last_change(&self) -> Option<Atom> {
        self.context.last_actions.iter().rev().find_map(|a| match a.args.as_slice() {
            [Term::Const(op), value] => Some(Atom { name: op.clone(), args: vec![value.clone()] }),
            _ => None,
        })
    }

    /// The instances that were changed so, with their items.
    fn touched(&self) -> Vec<(usize, Name)> {
        self.last_change().map(|change| self.ledger.told_apart(&|changes| changes.contains(&change))).unwrap_or_default()
    }

    /// "The other one", "the other taco", after one of two different things was spoken of; of what is there once, or more than twice,
    /// none is the other. `None` if the phrase does not speak so.
    fn other_than(&mut self, np: &Np, edge: &Edge, parts: &[Name]) -> Option<Target> {
        let kind = match &np.head {
            Head::Kind(kind) => Some(kind.clone()),
            Head::Left | Head::Pronoun(_) => None,
            Head::Name(_) => return None,
        };
        let held = self.ledger.there();
        let touched = self.touched().into_iter().map(|x| x.1).next();
        let said = self.focus.as_ref().and_then(|f| self.ledger.item(f));
        let this = said.or(touched).or_else(|| self.spoken_of().find(|n| held.contains(n)).cloned()).or_else(|| self.current_item(parts))?;
        let k = self.chart.knowledge;
        let of = kind.or_else(|| self.ledger.kind_of(k, &this));
        let others: Vec<Name> = held.into_iter().filter(|n| *n != this && self.ledger.kind_of(k, n) == of).collect();
        match (self.ledger.number_of(&this), others.as_slice()) {
            (1, [other]) => Some(self.ledger.select(other, None, None, false, false)),
            (2, _) if self.ledger.kind_of(k, &this) == of => None,
            _ if self.ledger.has_new() => None,
            _ => {
                self.barren.push((edge.start..edge.end, true));
                Some(Target::default())
            }
        }
    }

    /// "The burrito", of two different ones of which none was spoken of: which is meant is asked.
    fn is_open_which(&mut self, np: &Np, kind: &Name, parts: &[Name]) -> bool {
        let one = np.article == Article::Definite && np.which == Which::Unsaid && np.place.is_none() && np.count.is_none() && !np.plural;
        if !one || self.ledger.has_new() || self.focus.is_some() || self.topic.is_some() {
            return false;
        }
        let k = self.chart.knowledge;
        let mut held: Vec<Name> = self.ledger.there().into_iter().filter(|n| self.ledger.kind_of(k, n).as_ref() == Some(kind)).collect();
        let made: Vec<Name> = held.iter().filter(|n| parts.iter().all(|p| self.ledger.included(k, n, p))).cloned().collect();
        if !made.is_empty() {
            held = made;
        }
        let open = held.len() > 1 && !self.spoken_of().any(|n| held.contains(n));
        if open {
            self.be_unsure(np, held);
        }
        open
    }

    /// Instances that are told apart by what was changed in them: "the plain one", "the one with beans", "the bean one", and after a
    /// change "the other one". `None` where the phrase does not speak so, or nothing tells them apart.
    fn told_apart(&self, np: &Np) -> Option<Target> {
        let config = self.chart.model.lines.as_ref().map(|l| &l.config);
        let no = config.and_then(|c| c.undone.get(&c.in_place.as_ref()?.puts));
        let by_name = |e: usize, without: Option<bool>, held: &dyn Fn(&Name) -> bool| {
            let named = self.chart.names.get(e)?.candidates.iter().filter_map(|c| self.chart.name(c.name)).find(|n| held(n))?;
            let so = |c: &&Atom| without.is_none_or(|without| no.is_some_and(|no| *no == *c.name) == without);
            Some(self.ledger.told_apart(&|changes| changes.iter().filter(so).flat_map(|c| &c.args).any(|t| names(t, &named))))
        };
        let changed = |n: &Name| !self.ledger.told_apart(&|changes| changes.iter().flat_map(|c| &c.args).any(|t| names(t, n))).is_empty();
        let mut found = match (&np.head, np.which, np.having) {
            (_, _, Some((e, without))) => by_name(e, Some(without), &changed)?,
            // "The bean one": of something that no item is called.
            (Head::Name(e), Which::Unsaid, None) if self.chart.names.get(*e).is_some_and(|x| np.end > x.end) => {
                let item = |n: &Name| self.ledger.holds(n);
                let called = self.chart.names.get(*e).is_some_and(|x| x.candidates.iter().filter_map(|c| self.chart.name(c.name)).any(|n| item(&n)));
                if called { None } else { by_name(*e, None, &changed) }?
            }
            (Head::Left | Head::Pronoun(_), Which::Plain, None) => {
                let touched: Vec<Name> = self.ledger.told_apart(&|changes| !changes.is_empty()).into_iter().map(|x| x.1).collect();
                let mut plain = self.ledger.told_apart(&|changes| changes.is_empty());
                plain.retain(|p| touched.contains(&p.1));
                plain
            }
            (Head::Left | Head::Pronoun(_), Which::Other, None) => {
                let last = self.last_change()?;
                let touched = self.ledger.told_apart(&|changes| changes.contains(&last));
                let item = touched.first()?.1.clone();
                let mut others = self.ledger.told_apart(&|changes| !changes.contains(&last));
                others.retain(|o| o.1 == item);
                others
            }
            _ => return None,
        };
        let item = found.first()?.1.clone();
        found.retain(|f| f.1 == item);
        let wanted = np.count.map_or(1, |n| usize::try_from(n).unwrap_or(1));
        (found.len() == wanted || np.plural).then(|| self.ledger.these(found.into_iter().map(|f| f.0).collect(), item))
    }

    /// Whether parts are spoken of and the item is made of none, nor takes these, while something that does is there: "a kids meal with
    /// milk, no lettuce".
    fn lacks_parts(&self, item: &Name, parts: &[Name]) -> bool {
        let k = self.chart.knowledge;
        let takes = |n: &Name| parts.iter().all(|p| k.relates(n, p));
        !parts.is_empty() && !self.ledger.is_made(k, item) && !takes(item) && self.ledger.last_item(&takes).is_some()
    }

    /// The item in question: said in this turn, asked about, or the last one that fits the parts.
    pub(super) fn current_item(&self, parts: &[Name]) -> Option<Name> {
        let said = self.focus.as_ref().and_then(|f| self.ledger.item(f)).or_else(|| self.topic.clone().filter(|t| self.ledger.holds(t)));
        if let Some(item) = said.filter(|i| !self.lacks_parts(i, parts)) {
            return Some(item);
        }
        let k = self.chart.knowledge;
        let changed = self.chart.model.lines.as_ref().map_or(0, |l| l.changed | l.items);
        let asked = self.context.last_actions.iter().rev().filter(|a| a.args.len() == 3).find_map(|a| match a.args.get(1) {
            Some(Term::Str(s)) if k.mask(s) & changed != 0 && self.ledger.holds(s) => Some(s.clone()),
            _ => None,
        });
        if asked.is_some() {
            return asked;
        }
        let confirmed: Vec<Name> = self
            .context
            .last_actions
            .iter()
            .rev()
            .filter_map(|a| match a.args.last() {
                Some(Term::Str(s)) if k.mask(s) & changed != 0 && self.ledger.holds(s) => Some(s.clone()),
                _ => None,
            })
            .collect();
        let fits = |n: &Name| parts.iter().all(|p| k.relates(n, p) || self.ledger.has_change(n, p));
        // "Onions on it", after "no beans on the pizza": what was changed last.
        let touched = || if confirmed.is_empty() { self.touched().pop().map(|x| x.1) } else { None };
        // Parts are changed of what is made with some.
        let made = |n: &Name| !parts.is_empty() && self.ledger.is_made(k, n);
        confirmed
            .iter()
            .find(|n| fits(n))
            .cloned()
            .or_else(|| touched().filter(|n| fits(n)))
            .or_else(|| self.ledger.last_item(&|n| self.ledger.kind_of(k, n).is_some() && fits(n)))
            .or_else(|| confirmed.iter().find(|n| made(n)).cloned())
            .or_else(|| self.ledger.last_item(&made))
            .or_else(|| confirmed.first().cloned())
            .or_else(|| self.ledger.last_item(&|_| true))
    }

    pub(super) fn change(&mut self, template: &Template, edge: &Edge, pattern: &Phrasing, bound: &[(u8, Term)]) {
        let masks = self.form_masks(template);
        // Names of the changed item's parts first: they help to find the item.
        let parts: Vec<Name> = template.args.iter().skip(1).flat_map(|s| self.part_names(s, edge)).collect();
        let attribute =
            self.chart.model.lines.as_ref().and_then(|l| l.attributes.values().find(|a| a.means.iter().any(|m| m.args.get(1) == template.args.get(1))));
        let fact = attribute.and_then(|a| a.only_if.clone());
        let knowledge = self.chart.knowledge;
        let able = |n: &Name| fact.as_ref().is_none_or(|f| knowledge.holds(f, n));
        let on_made_with = self.chart.model.lines.as_ref().map_or(&[][..], |l| &l.config.on_made_with);
        let there = matches!(template.args.get(1), Some(Slot::Term(Term::Const(op))) if on_made_with.iter().any(|o| **o == **op));
        // "… and a large coke": of something that nobody sells.
        let strange = self.chart.tokens.get(edge.end).is_some_and(|t| t.id == crate::link::UNKNOWN);
        let target = match template.args.first() {
            Some(Slot::Var(v)) if bound.iter().any(|b| b.0 == *v) => {
                let item = bound.iter().find(|b| b.0 == *v).and_then(|b| b.1.as_name()).map(Name::from);
                // "Make it a Diet Pepsi, large": what was asked about has made room for another.
                let gone = item.as_ref().is_some_and(|i| !self.ledger.holds(i));
                let item = self.topic.clone().filter(|t| gone && self.ledger.holds(t)).or(item);
                item.map(|i| self.ledger.select(&i, None, None, false, false)).unwrap_or_default()
            }
            Some(slot @ Slot::Var(_)) if self.np(edge, slot).is_some() => {
                let Some(np) = self.np(edge, slot) else { return };
                let t = match attribute.and_then(|a| self.spread(&np, a)) {
                    Some(all) => all,
                    None if self.opens_line(&np) => self.open_line(&np, edge, pattern),
                    None => self.target(&np, edge, &parts),
                };
                self.focus = Some(t.clone());
                t
            }
            // "The other one with guac", where there is no other.
            _ if self.focus == Some(Target::default()) && self.barren.last().is_some_and(|b| b.1 && !self.content_between(b.0.end, edge.start)) => return,
            _ => match self.focus.clone() {
                Some(f) if self.ledger.item(&f).is_some_and(|i| (able(&i) || !strange) && !self.lacks_parts(&i, &parts)) => f,
                _ => {
                    // Only what can have the attribute is meant, if anything is; what was added is left out where it was added.
                    let added = |n: &Name| !parts.is_empty() && parts.iter().all(|p| self.ledger.has_change(n, p));
                    let made = |n: &Name| parts.iter().all(|p| self.ledger.included(knowledge, n, p) || self.ledger.has_change(n, p));
                    let current = self.current_item(&parts);
                    let has = || self.ledger.last_item(&added).filter(|_| there && !current.as_ref().is_some_and(made));
                    match has().or(current).filter(able).or_else(|| self.ledger.last_item(&able)) {
                        // What is said of one of several equal ones is said of all.
                        Some(i) => self.ledger.select(&i, None, None, self.ledger.are_equal(&i), false),
                        None => return,
                    }
                }
            },
        };
        let Some(item) = self.ledger.item(&target) else { return };
        if self.picks_by_part(&item, template, edge, pattern.weak) {
            return;
        }
        // "The crunchwrap meal without tomatoes": what is in one of its members is changed there.
        let (target, item) = match self.ledger.made_into(self.chart.knowledge, &target, &parts) {
            Some(member) => (self.ledger.select(&member, None, None, false, false), member),
            None => (target, item),
        };
        let mut rest = vec![];
        for (i, slot) in template.args.iter().enumerate().skip(1) {
            let mask = masks.get(i).map_or(0, |m| m.0);
            let mask = if mask == 0 { self.part_mask() } else { mask };
            if there && let Some(part) = self.only_made_with(slot, edge, mask, &item) {
                rest.push(Term::Str(part));
                continue;
            }
            match self.part_term(slot, edge, bound, mask, &item) {
                Some(t) => rest.push(t),
                None => return,
            }
        }
        // "The normal way", of what has no sizes.
        let usual = |a: &AttributeModel| matches!(rest.last(), Some(Term::Const(value)) if a.values.contains(value));
        if attribute.is_some_and(usual) && !able(&item) {
            self.absorbed += 1;
            return;
        }
        if let [Term::Const(value), Term::Const(yes)] = rest.as_slice()
            && &**yes == "yes"
            && restates(&item, value)
        {
            return;
        }
        self.carry(template, edge, &item, &mut rest);
        if let Some(swap) = self.in_place(edge, &item, &rest) {
            rest = swap;
        }
        if let Some(less) = self.a_little(template, edge, &item, &rest) {
            rest = less;
        }
        let (target, rest) = self.only_of_some(edge, &target, &rest).unwrap_or((target, rest));
        // "Grilled? No wait, fresco": the change before gives way.
        if let Some(at) = self.correcting.take()
            && let Some(entry) = self.entries.get_mut(at)
            && matches!(&entry.what, What::Change { target: t, .. } if t.item == target.item)
        {
            entry.what = What::Gone;
        }
        self.push(What::Change { target, rest }, edge, pattern.weak);
    }

    /// "Drop the sour cream on the crunchy and the tomatoes on the soft": a part after an "and" without a word of its own for what is to be
    /// done with it goes the way of the one before, if the item is made with it.
    fn carry(&self, template: &Template, edge: &Edge, item: &Name, rest: &mut [Term]) {
        let [_, _, part @ Slot::Var(_)] = &*template.args else { return };
        let bare = self.np(edge, part).is_some_and(|np| np.start == edge.start || self.chart.is_word("list", edge.start) && np.start == edge.start + 1);
        let joined = self.follows("list", edge) || self.chart.is_word("list", edge.start);
        let Some(Entry { what: What::Change { rest: before, .. }, .. }) = self.entries.last().filter(|_| bare && joined) else { return };
        if let ([Term::Const(op), Term::Str(_)], [own, Term::Str(part)]) = (before.as_slice(), rest)
            && self.ledger.included(self.chart.knowledge, item, part)
        {
            *own = Term::Const(op.clone());
        }
    }

    /// "A crunchwrap with sausage", of one that comes with bacon and has sausage only in its place.
    fn in_place(&self, edge: &Edge, item: &Name, rest: &[Term]) -> Option<Vec<Term>> {
        let how = self.chart.model.lines.as_ref()?.config.in_place.as_ref()?;
        let [Term::Const(op), Term::Str(part)] = rest else { return None };
        let knowledge = self.chart.knowledge;
        let free = knowledge.second(&how.free, item).contains(part) || self.ledger.included(knowledge, item, part);
        // Who says "add" is told that it is not offered so.
        let adds = (edge.start..edge.end).any(|i| self.chart.is_word("puts", i));
        let mut old = knowledge.in_place.get(&[item.clone(), part.clone()])?.iter().filter(|old| self.ledger.included(knowledge, item, old));
        let out = old.next().filter(|_| **op == *how.puts && !free && !adds && old.next().is_none())?;
        Some(vec![Term::Const(how.change.as_str().into()), Term::Fun(how.pair.as_str().into(), [out, part].map(|p| Term::Str(p.clone())).into())])
    }

    /// "A little cheese", on what is made with it: less of it, unless it can be put on top and the words say so.
    fn a_little(&self, template: &Template, edge: &Edge, item: &Name, rest: &[Term]) -> Option<Vec<Term>> {
        let config = &self.chart.model.lines.as_ref()?.config;
        let (how, less) = (config.in_place.as_ref()?, config.a_little.as_ref()?);
        let [Term::Const(op), Term::Str(part)] = rest else { return None };
        let knowledge = self.chart.knowledge;
        let adds = (edge.start..edge.end).any(|i| self.chart.is_word("puts", i));
        let made_with = self.ledger.included(knowledge, item, part) && !(adds && knowledge.second(&how.free, item).contains(part));
        let said = self.np(edge, template.args.last()?)?;
        let little = (said.start.saturating_sub(2)..said.end).any(|i| self.chart.is_word("scant", i));
        (**op == *how.puts && made_with && little).then(|| vec![Term::Const(less.as_str().into()), Term::Str(part.clone())])
    }

    /// "Steak", of a combo with a choice of quesadillas: the choice that is called so. True if there is one.
    fn picks_by_part(&mut self, item: &Name, template: &Template, edge: &Edge, weak: u8) -> bool {
        let Some(lines) = self.chart.model.lines.as_ref() else { return false };
        let composed = self.chart.knowledge.mask(item) & lines.composed != 0;
        let on_made_with = |s: &Slot| matches!(s, Slot::Term(Term::Const(op)) if lines.config.on_made_with.iter().any(|o| **o == **op));
        let [_, op, part @ Slot::Var(_)] = &*template.args else { return false };
        let Some(np) = self.np(edge, part).filter(|_| composed && !on_made_with(op)) else { return false };
        let Some(line) = self.ledger.combo_line(self.chart.knowledge, item) else { return false };
        let Some(member) = self.member_of(&np, line) else { return false };
        self.fill_all(line, &member, &np, edge, weak);
        true
    }

    /// "Both large", "all of them regular", "the other one large": the instances of several things that can have the attribute, those that were asked about
    /// first. `None` where no such phrase, or not so many, or the thing in question has several itself.
    pub(super) fn spread(&self, np: &Np, attribute: &AttributeModel) -> Option<Target> {
        let fact = attribute.only_if.as_ref()?;
        let op = attribute.means.first()?.args.get(1)?;
        let Slot::Term(op @ Term::Const(name)) = op else { return None };
        let several = matches!(np.which, Which::Both | Which::All | Which::Other) || np.head == Head::Pronoun(true);
        if !several || !matches!(np.head, Head::Left | Head::Pronoun(_)) || np.place.is_some() || self.ledger.has_new() {
            return None;
        }
        let able = |by: &dyn Fn(&[Atom]) -> bool| {
            let mut found = self.ledger.told_apart(by);
            found.retain(|f| self.chart.knowledge.holds(fact, &f.1));
            found
        };
        // "The other one", after one of two drinks.
        if np.which == Which::Other {
            let current = self.current_item(&[]).filter(|i| self.ledger.number_of(i) == 1)?;
            let others: Vec<usize> = able(&|_| true).into_iter().filter(|f| f.1 != current).map(|f| f.0).collect();
            return (others.len() == 1).then(|| Target { ids: others, ..Target::default() });
        }
        let asked = self.context.last_actions.iter().any(|a| a.args.len() == 3 && a.args.last() == Some(op));
        let open = able(&|changes| changes.iter().all(|c| c.name != *name));
        let all = if asked && !open.is_empty() { open } else { able(&|_| true) };
        let wanted = np.count.or((np.which == Which::Both).then_some(2)).and_then(|n| usize::try_from(n).ok());
        let current = self.current_item(&[]).filter(|i| self.chart.knowledge.holds(fact, i)).map_or(0, |i| self.ledger.number_of(&i));
        let own = !asked && current > 1 && wanted.is_none_or(|n| n == current);
        (!own && wanted.is_none_or(|n| n == all.len())).then(|| Target { ids: all.into_iter().map(|f| f.0).collect(), ..Target::default() })
    }

    /// Whether a phrase that something is said of orders the item by that: "a Bean Burrito made grilled".
    pub(super) fn opens_line(&mut self, np: &Np) -> bool {
        let Head::Name(_) = np.head else { return false };
        if np.which != Which::Unsaid || np.place.is_some() || np.part {
            return false;
        }
        let items = self.chart.model.lines.as_ref().map_or(0, |l| l.items);
        let Picked::One(name) = self.pick(np, items, 0.0) else { return false };
        let member = self.ledger.open_combo().is_some_and(|c| self.ledger.slot_for(c, &name).is_some());
        // "Combo B, and the Pepsi is a large": it is there as soon as it is spoken of.
        if np.article == Article::Definite {
            return member && !self.ledger.holds(&name);
        }
        let enough = np.count.is_some_and(|n| n <= i64::try_from(self.ledger.number_of(&name)).unwrap_or(0));
        member || np.article == Article::Indefinite || !self.ledger.holds(&name) || (np.count.is_some() && !enough)
    }

    pub(super) fn open_line(&mut self, np: &Np, edge: &Edge, pattern: &Phrasing) -> Target {
        let items = self.chart.model.lines.as_ref().map_or(0, |l| l.items);
        self.add_named(np, 0, None, items, edge, pattern, false);
        self.focus.clone().unwrap_or_default()
    }

    /// Sort bits of everything that is no item of a line.
    pub(super) fn part_mask(&self) -> u64 {
        let items = self.chart.model.lines.as_ref().map_or(0, |l| l.items);
        !items
    }

    pub(super) fn part_names(&self, slot: &Slot, edge: &Edge) -> Vec<Name> {
        match slot {
            Slot::Var(v) => match Self::bind(edge, *v) {
                Some(Bind::Np(i)) => {
                    let Some(Head::Name(e)) = self.chart.phrases.get(*i).map(|n| n.head.clone()) else { return vec![] };
                    let Some(x) = self.chart.names.get(e) else { return vec![] };
                    match x.candidates.as_slice() {
                        [only] => self.chart.name(only.name).into_iter().collect(),
                        [best, second, ..] if second.score < best.score * 0.88 => self.chart.name(best.name).into_iter().collect(),
                        _ => vec![],
                    }
                }
                _ => vec![],
            },
            Slot::Fun(_, args) => args.iter().flat_map(|a| self.part_names(a, edge)).collect(),
            _ => vec![],
        }
    }

    /// Of parts that are called alike the one that the item is made with, where it is made with one and not with what was named.
    fn only_made_with(&self, slot: &Slot, edge: &Edge, mask: u64, item: &Name) -> Option<Name> {
        let Slot::Var(v) = slot else { return None };
        let Some(Bind::Np(i)) = Self::bind(edge, *v) else { return None };
        let Head::Name(e) = self.chart.phrases.get(*i)?.head else { return None };
        let made = |n: &Name| self.ledger.included(self.chart.knowledge, item, n);
        let called = self.chart.names.get(e)?.candidates.iter().filter(|c| self.chart.mask(c.name) & mask != 0);
        let mut called = called.filter_map(|c| self.chart.name(c.name)).peekable();
        // What was put on it is what comes off.
        let put_on = called.peek().is_some_and(|best| self.ledger.has_change(item, best));
        let mut made = called.filter(made);
        let only = made.next()?;
        (made.next().is_none() && !put_on).then_some(only)
    }

    /// A part of an item: among equal readings the one that the facts connect with the item.
    pub(super) fn part_term(&mut self, slot: &Slot, edge: &Edge, bound: &[(u8, Term)], mask: u64, item: &Name) -> Option<Term> {
        match slot {
            Slot::Fun(f, args) => {
                let inner: Option<Vec<Term>> = args.iter().map(|a| self.part_term(a, edge, bound, mask, item)).collect();
                let mut inner = inner?;
                // What goes out is in the item: said the other way round, it is turned.
                if let [Term::Str(out), Term::Str(new)] = inner.as_slice()
                    && !self.ledger.included(self.chart.knowledge, item, out)
                    && self.ledger.included(self.chart.knowledge, item, new)
                {
                    inner.reverse();
                }
                Some(Term::Fun(f.clone(), inner))
            }
            Slot::Var(v) if bound.iter().all(|b| b.0 != *v) => match Self::bind(edge, *v).cloned() {
                Some(Bind::Np(i)) => {
                    let np = self.chart.phrases.get(i).cloned()?;
                    let Head::Name(e) = np.head else { return self.np_term(&np, mask, false, edge) };
                    let candidates = self.chart.names.get(e).map(|x| x.candidates.clone()).unwrap_or_default();
                    let best = candidates.first().map_or(0.0, |c| c.score);
                    let mut related: Vec<(f32, Name)> = candidates
                        .iter()
                        .filter(|c| self.chart.mask(c.name) & mask != 0 && c.score >= best * 0.45)
                        .filter_map(|c| Some((c.score, self.chart.name(c.name)?)))
                        .filter(|c| self.chart.knowledge.relates(item, &c.1))
                        .collect();
                    related.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
                    let exact_unrelated = candidates.iter().filter(|c| self.chart.mask(c.name) & mask != 0 && c.is_whole()).count() == 1;
                    if let Some((s, n)) = related.first().cloned() {
                        let clear = related.get(1).is_none_or(|r| r.0 < s * 0.88);
                        if (s >= WHOLE || !exact_unrelated) && (clear || related.len() == 1) {
                            return Some(Term::Str(n));
                        }
                        if !exact_unrelated {
                            // Several parts of the item fit: the one it is made with, if only one is.
                            let included: Vec<&(f32, Name)> = related.iter().filter(|r| self.ledger.included(self.chart.knowledge, item, &r.1)).collect();
                            if let [only] = included.as_slice() {
                                return Some(Term::Str(only.1.clone()));
                            }
                        }
                    }
                    self.np_term(&np, mask, false, edge)
                }
                Some(Bind::Term(t)) => Some(t),
                _ => None,
            },
            other => self.term(other, edge, bound, mask, false, &[]),
        }
    }
}
