//! Taking away, setting numbers, replacing.

use super::{Entry, Picked, Resolver, What, to_i32};
use crate::term::{Atom, Name, Term};
use crate::text::is_plural;
use crate::understand::embedded::chart::{Bind, Edge};
use crate::understand::embedded::lines::is_called;
use crate::understand::embedded::model::Phrasing;
use crate::understand::embedded::phrase::{Article, Head, Np, Which};
use crate::understand::embedded::template::{Slot, Template};

impl Resolver<'_, '_> {
    pub(super) fn remove(&mut self, template: &Template, edge: &Edge, pattern: &Phrasing, bound: &[(u8, Term)]) {
        let items = self.chart.model.lines.as_ref().map_or(0, |l| l.items);
        let Some(slot) = template.args.first().cloned() else { return };
        let Some(np) = self.np(edge, &slot) else {
            let item = match &slot {
                Slot::Hole => self.current_item(&[]),
                s => self.term(s, edge, bound, items, false, &[]).and_then(|t| t.as_name().map(Name::from)),
            };
            if let Some(item) = item {
                let n = match template.args.get(1) {
                    Some(Slot::Term(Term::Int(n))) => *n,
                    _ => 1,
                };
                self.take_off(template, &item, i64::from(n), edge, pattern.weak);
            }
            return;
        };
        // "No Pepsi" where there is none gives way to whatever else is said; "a Milk, no a Pepsi" corrects.
        let denied = self.denies(edge, &np);
        if let (Head::Name(_), None) = (&np.head, np.place) {
            match self.pick(&np, items, 0.5) {
                Picked::One(name) if !self.ledger.holds(&name) && (denied || self.said_like(&name, edge)) => {
                    let said = self.entries.last().is_some_and(|e| matches!(e.what, What::Line(_) | What::Change { .. }) && e.span.end <= edge.start);
                    self.correcting = said.then(|| self.entries.len() - 1);
                    if self.correct(&name, &np, edge) {
                        return;
                    }
                    // "No actually diet", of a Pepsi that is there.
                    let revises = (edge.start..np.start).any(|i| self.chart.is_word("revises", i));
                    match self.like(&name).filter(|_| revises) {
                        Some(old) => self.swap(&old, &name, Some(&np), 1, edge, pattern.weak),
                        None => self.take_off(template, &name, np.count.unwrap_or(1), edge, pattern.weak.max(1)),
                    }
                }
                Picked::One(name) => {
                    // "No, two chalupas", of three that were just told.
                    if let Some(n) = self.counts_anew(&np, &name).filter(|_| denied) {
                        return self.set_number(name, n, edge, pattern.weak);
                    }
                    let there = self.ledger.number_of(&name);
                    let n = np.count.unwrap_or(if np.plural || matches!(np.which, Which::Both | Which::All) { there.max(1) as i64 } else { 1 });
                    self.take_off(template, &name, n, edge, pattern.weak);
                }
                Picked::Tie(names) => {
                    let held: Vec<Name> = names.iter().filter(|n| self.ledger.holds(n)).cloned().collect();
                    if np.plural && !held.is_empty() {
                        for name in held {
                            let there = self.ledger.number_of(&name) as i64;
                            self.take_off(template, &name, there, edge, pattern.weak);
                        }
                    } else {
                        self.be_unsure(&np, names);
                    }
                }
                Picked::Nothing => {}
            }
            return;
        }
        let target = self.target(&np, edge, &[]);
        let groups = self.ledger.by_item(&target);
        if groups.is_empty()
            && let Head::Kind(kind) = &np.head
        {
            if denied {
                self.absorbed += 1;
                return;
            }
            let names = self.ledger.of_kind(self.chart.knowledge, kind);
            self.be_unsure(&np, names);
        }
        for (item, n) in groups {
            let n = if np.count.is_some() || np.plural || matches!(np.which, Which::Both | Which::All) { n } else { 1 };
            self.take_off(template, &item, n, edge, pattern.weak);
        }
    }

    /// "Everything except the drinks": takes off what is in the list and not among what was named; nothing if nothing named is there.
    pub(super) fn remove_others(&mut self, edge: &Edge, pattern: &Phrasing) {
        let items = self.chart.model.lines.as_ref().map_or(0, |l| l.items);
        let Some(template) = pattern.means.first().cloned() else { return };
        let mut kept: Vec<Name> = vec![];
        for (_, bind) in &edge.binds {
            let Bind::Np(i) = bind else { continue };
            let Some(np) = self.chart.phrases.get(*i).cloned() else { continue };
            match &np.head {
                Head::Kind(kind) => {
                    kept.extend(self.ledger.items().into_iter().filter(|n| self.ledger.kind_of(self.chart.knowledge, n).as_ref() == Some(kind)))
                }
                Head::Name(_) => match self.pick(&np, items, 0.5) {
                    Picked::One(name) => kept.push(name),
                    Picked::Tie(names) => kept.extend(names),
                    Picked::Nothing => {}
                },
                Head::Pronoun(_) | Head::Left => {
                    let target = self.target(&np, edge, &[]);
                    kept.extend(self.ledger.by_item(&target).into_iter().map(|g| g.0));
                }
            }
        }
        let all = self.ledger.items();
        if !all.iter().any(|n| kept.contains(n)) {
            return;
        }
        for item in all.into_iter().filter(|n| !kept.contains(n)) {
            let there = self.ledger.number_of(&item) as i64;
            self.take_off(&template, &item, there, edge, pattern.weak);
        }
    }

    pub(super) fn take_off(&mut self, template: &Template, item: &Name, n: i64, edge: &Edge, weak: u8) {
        // What was said in this turn is not ordered at all.
        if let Some(line) = self.ledger.new_line_of(item) {
            let left = self.ledger.count(line) - n;
            if left <= 0 {
                for e in &mut self.entries {
                    let of_line = match &e.what {
                        What::Line(l) => *l == line,
                        What::Change { target, .. } => target.line == Some(line),
                        _ => false,
                    };
                    if of_line {
                        e.what = What::Gone;
                    }
                }
            }
            self.ledger.set_count(line, left.max(0));
            return;
        }
        // "She wants milk, so no orange juice", of a meal's drink: the one takes the other's place.
        if let Some(line) = self.ledger.last_new().filter(|l| self.ledger.shares_place(item, &self.ledger.line_item(*l))) {
            let new = self.ledger.line_item(line);
            self.entries.iter_mut().filter(|e| e.what == What::Line(line)).for_each(|e| e.what = What::Gone);
            self.ledger.set_count(line, 0);
            return self.swap(item, &new, None, n, edge, weak);
        }
        self.topic = Some(item.clone());
        if n >= self.ledger.number_of(item) as i64 {
            self.ledger.closes(item);
            self.filled = None;
        }
        let args = vec![Term::Str(item.clone()), Term::Int(to_i32(n.max(1)))];
        self.push(What::Atom(Atom { name: template.name.clone(), args }), edge, weak);
    }

    /// "A large dew scratch that large baja blast": whether one of its kind was said right before.
    fn said_like(&self, name: &Name, edge: &Edge) -> bool {
        let line = match self.entries.last().filter(|e| e.span.end == edge.start).map(|e| &e.what) {
            Some(What::Line(line)) => Some(*line),
            Some(What::Change { target, .. }) => target.line.filter(|l| self.entries.iter().any(|e| e.what == What::Line(*l))),
            _ => None,
        };
        let kind = |n: &Name| self.ledger.kind_of(self.chart.knowledge, n);
        line.is_some_and(|l| kind(name).is_some() && kind(&self.ledger.line_item(l)) == kind(name))
    }

    /// The only item there of the kind of one that is not.
    fn like(&self, name: &Name) -> Option<Name> {
        let kind = self.ledger.kind_of(self.chart.knowledge, name)?;
        let of = |n: &Name| self.ledger.kind_of(self.chart.knowledge, n).as_ref() == Some(&kind);
        let mut held = self.ledger.there().into_iter().filter(of);
        held.next().filter(|_| held.next().is_none())
    }

    /// Whether an item goes in this turn.
    fn goes(&self, item: &Name) -> bool {
        let remove = self.chart.model.lines.as_ref().map_or("", |l| l.config.remove.as_str());
        let of = |a: &Atom| *a.name == *remove && a.args.first().and_then(Term::as_name) == Some(item);
        self.entries.iter().any(|e| matches!(&e.what, What::Atom(a) if of(a)))
    }

    pub(super) fn quantity(&mut self, template: &Template, edge: &Edge, pattern: &Phrasing, bound: &[(u8, Term)]) {
        let items = self.chart.model.lines.as_ref().map_or(0, |l| l.items);
        let np = template.args.first().and_then(|s| self.np(edge, s));
        let n = match template.args.get(1) {
            Some(Slot::Count(_)) => np.as_ref().and_then(|n| n.count),
            Some(slot) => self.term(&slot.clone(), edge, bound, 0, false, &[]).and_then(|t| t.as_int()).map(i64::from),
            None => None,
        };
        let item = match (&np, template.args.first().cloned()) {
            (Some(np), _) => match &np.head {
                Head::Name(_) => match self.current_item(&[]).and_then(|i| self.made_up_of(np, &i)).map_or_else(|| self.pick(np, items, 0.5), Picked::One) {
                    Picked::One(name) => Some(name),
                    Picked::Tie(names) => {
                        self.be_unsure(np, names);
                        None
                    }
                    Picked::Nothing => None,
                },
                _ => {
                    let t = self.target(np, edge, &[]);
                    self.ledger.item(&t)
                }
            },
            (None, Some(Slot::Hole)) => self.current_item(&[]),
            (None, Some(slot)) => self.term(&slot, edge, bound, items, false, &[]).and_then(|t| t.as_name().map(Name::from)),
            (None, None) => None,
        };
        let Some(item) = item else { return };
        let counted = n.is_some() || np.as_ref().is_none_or(|p| p.count.is_some());
        if !self.ledger.holds(&item) && np.is_some() {
            // "Make it a …": what is not there yet is ordered, or takes the place of its like.
            let kind = |n: &Name| self.ledger.kind_of(self.chart.knowledge, n);
            let made_up = |c: &Name| np.as_ref().is_some_and(|np| self.made_up_of(np, c).as_ref() == Some(&item));
            let current = self.current_item(&[]).filter(|c| !counted && (kind(c) == kind(&item) || made_up(c)));
            match (current, np) {
                (Some(old), Some(p)) => self.swap(&old, &item, Some(&p), 1, edge, pattern.weak),
                (_, Some(p)) => self.new_line(item, p.count.or(n).unwrap_or(1), &p.attributes, edge, pattern.weak),
                _ => {}
            }
            return;
        }
        // "Just the tacos", "only the last one" say which, not how many.
        if let Some(p) = np.as_ref().filter(|p| n.is_none() && p.place.is_some()) {
            self.focus = Some(self.target(p, edge, &[]));
            return;
        }
        if n.is_none() && np.as_ref().is_some_and(|p| p.article == Article::Definite && p.plural) {
            return;
        }
        let Some(n) = n.or(np.as_ref().and_then(|p| p.attributes.is_empty().then_some(1))) else {
            if let Some(p) = &np {
                let target = self.target(p, edge, &[]);
                for (sort, value) in &p.attributes {
                    self.attribute(*sort, value, target.clone(), edge, pattern.weak);
                }
                self.focus = Some(target);
            }
            return;
        };
        if let Some(line) = self.ledger.new_line_of(&item) {
            self.ledger.set_count(line, n);
            return;
        }
        self.topic = Some(item.clone());
        if self.ledger.holds(&item) {
            self.focus = Some(self.ledger.select(&item, None, None, true, false));
        }
        self.push(What::Atom(Atom { name: template.name.clone(), args: vec![Term::Str(item), Term::Int(to_i32(n))] }), edge, pattern.weak);
    }

    pub(super) fn replace(&mut self, template: &Template, edge: &Edge, pattern: &Phrasing, bound: &[(u8, Term)]) {
        let items = self.chart.model.lines.as_ref().map_or(0, |l| l.items);
        let old_np = template.args.first().and_then(|s| self.np(edge, s));
        let mut copies = 1;
        let old = match &old_np {
            Some(np) => {
                if let Head::Name(_) = np.head {
                    match self.pick(np, items, 0.5) {
                        Picked::One(name) => {
                            if np.plural || matches!(np.which, Which::Both | Which::All) {
                                copies = np.count.unwrap_or(self.ledger.number_of(&name).max(1) as i64);
                            } else {
                                copies = np.count.unwrap_or(1);
                            }
                            Some(name)
                        }
                        Picked::Tie(names) => {
                            self.be_unsure(np, names);
                            None
                        }
                        Picked::Nothing => None,
                    }
                } else {
                    let t = self.target(np, edge, &[]);
                    if np.plural || matches!(np.which, Which::Both | Which::All) {
                        copies = t.ids.len().max(1) as i64;
                    }
                    self.ledger.item(&t)
                }
            }
            None => match template.args.first().cloned() {
                Some(Slot::Hole) => self.current_item(&[]),
                Some(slot) => self.term(&slot, edge, bound, items, false, &[]).and_then(|t| t.as_name().map(Name::from)),
                None => None,
            },
        };
        let Some(old) = old else { return };
        self.kind = self.ledger.kind_of(self.chart.knowledge, &old).or(self.kind.take());
        let new_np = template.args.get(1).and_then(|s| self.np(edge, s));
        // "One of those tacos" names what is there once more.
        let beside = old_np.as_ref().zip(new_np.as_ref()).filter(|(o, n)| matches!(o.head, Head::Pronoun(_)) && n.start == o.end);
        if let Some((of, called)) = beside.map(|(o, n)| (o.clone(), n.clone()))
            && let Picked::Tie(names) = self.pick(&called, items, 0.0)
            && let Some(held) = names.iter().find(|n| self.ledger.holds(n))
        {
            self.focus = Some(self.ledger.select(held, None, of.count, of.plural && of.count.is_none(), false));
            return;
        }
        let new = match &new_np {
            Some(np) => match &np.head {
                Head::Name(_) => match self.pick_other(np, items, &old) {
                    Picked::One(name) => Some(name),
                    Picked::Tie(names) => {
                        self.be_unsure(np, names);
                        None
                    }
                    Picked::Nothing => None,
                },
                _ => None,
            },
            None => template.args.get(1).cloned().and_then(|s| self.term(&s, edge, bound, items, false, &[])).and_then(|t| t.as_name().map(Name::from)),
        };
        let Some(new) = new else { return };
        // "I mean crunchy tacos, not soft", of three that are there.
        let all = new_np.as_ref().is_some_and(|np| np.plural && np.count.is_none() && !is_plural(new.rsplit(' ').next().unwrap_or_default()));
        if all && old_np.as_ref().is_none_or(|np| np.article == Article::None && np.count.is_none()) {
            copies = copies.max(self.ledger.number_of(&old) as i64);
        }
        // "I asked for the steak quesadilla", "make that a steak quesadilla", of a Chicken Quesadilla that is there beside what was said last.
        let hole = old_np.is_none() && self.focus.is_none() && self.topic.is_none();
        let kind = |n: &Name| self.ledger.kind_of(self.chart.knowledge, n);
        let old = self.like(&new).filter(|_| hole && kind(&old) != kind(&new) && !self.ledger.holds(&new)).unwrap_or(old);
        if new == old {
            return;
        }
        // "The burrito instead", of one that is there, takes no other's place.
        let there = old_np.is_none() && self.ledger.holds(&new) && new_np.as_ref().is_some_and(|np| np.article == Article::Definite);
        if !there {
            self.swap(&old, &new, new_np.as_ref(), copies, edge, pattern.weak);
        }
    }

    /// "Make it a combo": of what the words may mean the one that is made up of the item, among other things.
    fn made_up_of(&self, np: &Np, item: &Name) -> Option<Name> {
        let Head::Name(e) = np.head else { return None };
        let lines = self.chart.model.lines.as_ref()?;
        let knowledge = self.chart.knowledge;
        let holds = |n: &Name| {
            let parts = knowledge.second(&lines.config.composed, n);
            parts.contains(item) || parts.iter().any(|p| knowledge.second(&lines.config.group, p).contains(item))
        };
        let edge = self.chart.names.get(e).filter(|x| x.end == x.start + 1 && x.candidates.first().is_some_and(|c| !c.is_whole()))?;
        let word = &self.chart.tokens.get(edge.start)?.text;
        // "A meal" is called a combo.
        if let Some(called) = lines.config.composed_called.get(word) {
            let composed = knowledge.pairs.keys().filter(|k| *k.0 == *lines.config.composed).map(|k| &k.1);
            let mut all = composed.filter(|n| is_called(n, called) && holds(n));
            return all.next().filter(|_| all.next().is_none()).cloned();
        }
        let mut all = edge
            .candidates
            .iter()
            .filter_map(|c| self.chart.name(c.name))
            .filter(|n| n.split_whitespace().next_back().is_some_and(|w| w.eq_ignore_ascii_case(word)) && holds(n));
        all.next().filter(|_| all.next().is_none())
    }

    /// Like pick, but never the item that is to go.
    pub(super) fn pick_other(&mut self, np: &Np, mask: u64, not: &Name) -> Picked {
        if let Some(name) = self.made_up_of(np, not) {
            return Picked::One(name);
        }
        match self.pick(np, mask, 0.0) {
            Picked::Tie(names) => {
                let others: Vec<Name> = names.into_iter().filter(|n| n != not).collect();
                match others.as_slice() {
                    [one] => Picked::One(one.clone()),
                    _ => Picked::Tie(others),
                }
            }
            p => p,
        }
    }

    pub(super) fn member(&mut self, template: &Template, edge: &Edge, pattern: &Phrasing, bound: &[(u8, Term)]) {
        let (items, composed) = self.chart.model.lines.as_ref().map_or((0, 0), |l| (l.items & !l.composed, l.composed));
        let combo = match template.args.first().cloned() {
            Some(slot) if self.np(edge, &slot).is_some() => {
                let np = self.np(edge, &slot).unwrap_or_default();
                match self.pick(&np, composed, 0.5) {
                    Picked::One(n) => Some(n),
                    _ => self.ledger.last_item(&|n| self.chart.knowledge.mask(n) & composed != 0),
                }
            }
            Some(Slot::Hole) | None => self.ledger.last_item(&|n| self.chart.knowledge.mask(n) & composed != 0),
            Some(slot) => self.term(&slot, edge, bound, composed, false, &[]).and_then(|t| t.as_name().map(Name::from)),
        };
        let mut np = template.args.get(1).and_then(|s| self.np(edge, s)).unwrap_or_default();
        // "Two of them with orange juice, one with milk".
        let counted = |p: &&Np| p.end == edge.start && p.count.is_some() && matches!(p.head, Head::Left | Head::Pronoun(_));
        np.count = np.count.or_else(|| self.chart.phrases.iter().filter(counted).max_by_key(|p| p.end - p.start)?.count);
        let Some(combo) = combo else {
            // "Water to drink", where there is nothing that it could be a part of.
            if let (Some(Slot::Hole), Picked::One(name)) = (template.args.first(), self.pick(&np, items, 0.0)) {
                self.new_line(name, np.count.unwrap_or(1), &np.attributes, edge, pattern.weak);
            }
            return;
        };
        // "Never mind the box, just the crunchwrap".
        if self.goes(&combo)
            && let Picked::One(name) = self.pick(&np, items, 0.0)
        {
            return self.new_line(name, np.count.unwrap_or(1), &np.attributes, edge, pattern.weak);
        }
        let Some(line) = self.ledger.combo_line(self.chart.knowledge, &combo) else { return };
        let picked = match &np.head {
            // "Same again": what was picked last.
            Head::Left if template.args.get(1) == Some(&Slot::Hole) => {
                self.ledger.last_item(&|n| self.ledger.slot_for(line, n).is_some()).map_or(Picked::Nothing, Picked::One)
            }
            Head::Name(_) => match self.member_of(&np, line) {
                Some(n) => Picked::One(n),
                None => self.pick(&np, items, 0.0),
            },
            // "Burrito", where only one of the choices is one.
            Head::Kind(kind) => {
                let of = |n: &Name| self.ledger.kind_of(self.chart.knowledge, n).as_ref() == Some(kind) || is_called(n, kind);
                let mut fit = self.ledger.choices(self.chart.knowledge, line, false).into_iter().filter(of);
                fit.next().filter(|_| fit.next().is_none()).map_or(Picked::Nothing, Picked::One)
            }
            _ => Picked::Nothing,
        };
        match picked {
            Picked::One(name) => {
                if self.restates(&np, &name, edge) || self.correct(&name, &np, edge) {
                    return;
                }
                let open = self.ledger.slot_for(line, &name).is_some();
                let line = if open { line } else { self.ledger.beside(line, &name).unwrap_or(line) };
                if template.args.first() == Some(&Slot::Hole)
                    && let Some(old) = self.ledger.filled_by(line, &name)
                {
                    return self.swap(&old, &name, Some(&np), 1, edge, pattern.weak);
                }
                // "And a burrito" is no pick where no place takes one.
                if pattern.after.is_some() && np.article == Article::Indefinite && self.ledger.slot_for(line, &name).is_none() {
                    return self.new_line(name, np.count.unwrap_or(1), &np.attributes, edge, pattern.weak);
                }
                self.fill_all(line, &name, &np, edge, pattern.weak);
            }
            Picked::Tie(names) => self.be_unsure(&np, names),
            Picked::Nothing => {}
        }
    }

    /// One thing takes the place of another: in this turn's own line at once, else by a predicate for each of so many instances.
    pub(super) fn swap(&mut self, old: &Name, new: &Name, np: Option<&Np>, copies: i64, edge: &Edge, weak: u8) {
        let Some(lines) = self.chart.model.lines.as_ref() else { return };
        let target = if let Some(line) = self.ledger.new_line_of(old) {
            let count = self.ledger.count(line);
            self.ledger.rename(line, new, count);
            self.ledger.line_target(line)
        } else {
            // "No root beer, I said Dr Pepper": what is replaced does not go besides.
            let goes =
                |e: &Entry| matches!(&e.what, What::Atom(a) if *a.name == *lines.config.remove && a.args.first().and_then(Term::as_name) == Some(&**old));
            self.entries.iter_mut().filter(|e| goes(e)).for_each(|e| e.what = What::Gone);
            for _ in 0..copies.clamp(1, 25) {
                let args = vec![Term::Str(old.clone()), Term::Str(new.clone())];
                self.push(What::Atom(Atom { name: lines.config.replace.as_str().into(), args }), edge, weak);
            }
            self.ledger.replaced(old, new)
        };
        self.ledger.opens(self.chart.knowledge, new);
        for (sort, value) in np.iter().flat_map(|np| &np.attributes) {
            self.attribute(*sort, value, target.clone(), edge, weak);
        }
        self.topic = Some(new.clone());
        self.focus = Some(target);
    }
}
