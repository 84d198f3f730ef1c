//! Items that are ordered: new lines, members of composed items, corrections of what was just said.

use std::ops::Range;

use super::{Entry, Picked, Resolver, What, restates, to_i32};
use crate::term::{Atom, Name, Term};
use crate::understand::embedded::chart::{Bind, Edge};
use crate::understand::embedded::data::Does;
use crate::understand::embedded::lines::Target;
use crate::understand::embedded::model::Phrasing;
use crate::understand::embedded::phrase::{Article, Head, Np, Which};
use crate::understand::embedded::template::{Slot, Template};

impl Resolver<'_, '_> {
    /// An item said in a wish, an answer or by itself.
    pub(super) fn add_line(&mut self, template: &Template, edge: &Edge, pattern: &Phrasing, bound: &[(u8, Term)], rest: &[&Edge]) {
        let Some(slot) = template.args.first().cloned() else { return };
        let items = self.chart.model.lines.as_ref().map_or(0, |l| l.items);
        let said_count = match template.args.get(1) {
            Some(Slot::Var(v)) => match Self::bind(edge, *v) {
                Some(Bind::Term(t)) => t.as_int().map(i64::from),
                _ => None,
            },
            Some(Slot::Term(Term::Int(n))) => Some(i64::from(*n)),
            _ => None,
        };
        let Some(np) = self.np(edge, &slot) else {
            let count_np = match template.args.get(1) {
                Some(Slot::Count(v)) => self.np(edge, &Slot::Var(*v)).and_then(|n| n.count),
                _ => None,
            };
            if let Some(Term::Str(item)) = self.term(&slot, edge, bound, items, false, rest) {
                // A known name that is no item is not ordered as if it were a new one.
                let known = self.chart.knowledge.mask(&item);
                if known != 0 && known & items == 0 {
                    return;
                }
                let count = said_count.or(count_np).unwrap_or(1);
                if pattern.after.is_some() && self.is_of_new(&item, count, edge) {
                    return;
                }
                // "The same again", of something composed whose members were told last.
                let copies = pattern.does == Some(Does::Copy);
                let item = self.ledger.composed_of(&item).filter(|_| copies).unwrap_or(item);
                self.new_line(item.clone(), count, &[], edge, pattern.weak);
                if copies {
                    self.copy(&item, edge, pattern.weak);
                }
                if pattern.after.is_some() {
                    self.answered_line = self.ledger.last_new();
                }
            }
            return;
        };
        if np.half {
            let target = self.target(&np, edge, &[]);
            self.focus = Some(target);
            return;
        }
        let np_index = edge.binds.iter().find_map(|b| if let Bind::Np(i) = b.1 { Some(i) } else { None }).unwrap_or(0);
        // A wish right after a negation is none: "we will not be needing".
        let denied = self.follows("denies", edge);
        if denied && pattern.say.contains("<want>") {
            return;
        }
        let changes_next = self.changes_follow(edge, rest);
        match np.head.clone() {
            Head::Name(_) => self.add_named(&np, np_index, said_count, items, edge, pattern, changes_next),
            Head::Kind(kind) => {
                let target = self.target(&np, edge, &[]);
                let present = self.ledger.item(&target).is_some()
                    && (np.article == Article::Definite || matches!(np.which, Which::Both | Which::All) || np.place.is_some());
                // "Large drink", of the one that is there.
                let bare = self.ledger.item(&target).is_some() && np.article == Article::None && np.count.is_none() && np.which == Which::Unsaid;
                let told = bare && !np.attributes.is_empty() && !self.ledger.has_new();
                self.kind = Some(kind.clone());
                if present || told {
                    for (sort, value) in &np.attributes {
                        self.attribute(*sort, value, target.clone(), edge, pattern.weak);
                    }
                    self.focus = Some(target);
                } else if let (true, Some(n), Some(item)) = (self.again && self.entries.is_empty(), np.count, self.ledger.item(&target)) {
                    self.set_number(item, n, edge, pattern.weak);
                } else if np.which == Which::Another
                    && let Some(item) = self.ledger.last_item(&|n| self.ledger.kind_of(self.chart.knowledge, n).as_ref() == Some(&kind))
                {
                    self.new_line(item, np.count.unwrap_or(1), &np.attributes, edge, pattern.weak);
                } else {
                    self.flush_tie();
                    let names = self.ledger.of_kind(self.chart.knowledge, &kind);
                    // "How many calories has the chicken bowl?" "One bowl, then."
                    let held = self.ledger.there();
                    let told: Vec<Name> = names.iter().filter(|n| !held.contains(n) && self.spoken_of().any(|s| s == *n)).cloned().collect();
                    if let ([only], _) | (_, [only]) = (told.as_slice(), names.as_slice()) {
                        self.new_line(only.clone(), np.count.unwrap_or(1), &np.attributes, edge, pattern.weak);
                    } else {
                        self.header = np.count;
                        self.tie = Some((names, np.attributes.clone(), np.count, np_index));
                    }
                }
            }
            Head::Pronoun(_) | Head::Left => self.add_left(&np, edge, pattern, changes_next),
        }
    }

    /// Whether what answers is said of what was ordered just before: "two of those, and one of them without cheese" are two, and
    /// "the bean burrito sounds right. One, please" is one of these.
    fn is_of_new(&mut self, item: &Name, count: i64, edge: &Edge) -> bool {
        let word = |kind: &str| (edge.start..edge.end).any(|i| self.chart.is_word(kind, i));
        let (Some(line), false) = (self.ledger.last_new(), word("besides")) else { return false };
        let some = word("plural_pronoun") && self.ledger.line_item(line) == *item && count < self.ledger.count(line);
        let praised = edge.start == self.read_to && !self.chart.is_word("list", edge.start);
        let one = count == 1 && (edge.end == edge.start + 1 || praised);
        if some {
            self.focus = Some(self.ledger.select_in(line, Some(count), false, false));
        }
        self.absorbed += usize::from(some || one);
        some || one
    }

    /// Whether a change is said next: "the pizza, make it without cheese".
    fn changes_follow(&self, edge: &Edge, rest: &[&Edge]) -> bool {
        let mut end = edge.end;
        for e in rest {
            if e.start > end + 2 {
                return false;
            }
            match self.grammar.patterns.get(e.pattern).and_then(|p| p.does) {
                Some(Does::Want | Does::Nothing) => end = e.end,
                _ => return self.is_change(e),
            }
        }
        false
    }

    #[expect(clippy::too_many_arguments, reason = "one step of a long decision")]
    pub(super) fn add_named(&mut self, np: &Np, np_index: usize, said_count: Option<i64>, items: u64, edge: &Edge, pattern: &Phrasing, changes_next: bool) {
        let definite = np.article == Article::Definite || matches!(np.which, Which::Both | Which::All | Which::Other) || np.place.is_some() || np.part;
        let bonus = if definite { 0.3 } else { 0.0 };
        // A name said again in part restates the last one; a part that narrows an open tie settles it.
        if let Some((names, attributes, count, _)) = self.tie.clone() {
            if let Some(n) = self.narrowed(np, &names) {
                self.tie = None;
                let mut all = attributes;
                all.extend(np.attributes.iter().cloned());
                let header = self.header.take();
                let n_count = np.count.or(if header.is_some() && np.count.is_some() { None } else { count }).unwrap_or(1);
                if header.is_some() && np.count.is_some() {
                    self.header = header.map(|h| h - n_count).filter(|h| *h > 0);
                    if self.header.is_some() {
                        self.tie = Some((names, vec![], None, np_index));
                        self.kind = self.ledger.kind_of(self.chart.knowledge, &n);
                    }
                }
                self.new_line(n, n_count, &all, edge, pattern.weak);
                return;
            }
            // Something else comes before any of the announced ones was named.
            if self.header.is_none() || count.is_some() {
                self.header = None;
                self.flush_tie();
            } else {
                self.tie = None;
            }
        }
        self.revise(np, edge);
        if let Some(name) = self.same_kind_instead(np, items)
            && self.correct(&name, np, edge)
        {
            return;
        }
        if self.picks_anew(np) {
            return;
        }
        let combo = self.ledger.open_combo().or_else(|| self.filling(np, edge));
        let picked = match combo.and_then(|c| self.member_of(np, c)) {
            Some(n) => Picked::One(n),
            None => match self.like_before(np).filter(|_| np.count.is_some() || np.article == Article::Indefinite) {
                Some(n) => Picked::One(n),
                None => self.pick(np, items, bonus),
            },
        };
        // "The chicken", after the Chicken Quesadilla was spoken of.
        let bare = np.article == Article::None && np.count.is_none() && np.which == Which::Unsaid && !np.attributes.is_empty();
        let spoken = |n: &Name| (definite || bare) && self.spoken_of().any(|s| s == n);
        if (matches!(&picked, Picked::One(n) if !spoken(n)) && self.is_dominated(np, items)) || (self.correcting.is_some() && matches!(picked, Picked::Nothing))
        {
            self.correct_part(np);
            return;
        }
        match picked {
            Picked::One(name) => {
                let count = said_count.or(np.count);
                if self.restates(np, &name, edge) {
                    self.absorbed += 1;
                    return;
                }
                if self.correct(&name, np, edge) {
                    return;
                }
                if self.completes(&name, np, edge) {
                    return;
                }
                if let Some(line) = self.said_anew(&name, np, edge) {
                    let target = self.recount(line, count.unwrap_or_else(|| self.ledger.count(line)));
                    for (sort, value) in &np.attributes {
                        self.attribute(*sort, value, target.clone(), edge, pattern.weak);
                    }
                    self.focus = Some(target);
                    self.absorbed += 1;
                    return;
                }
                if let Some(old) = self.meant_instead(&name, edge) {
                    let copies = if np.plural { self.ledger.number_of(&old) as i64 } else { 1 };
                    return self.swap(&old, &name, Some(np), copies, edge, pattern.weak);
                }
                // "No pepsi in the combo, a Starry": it takes the place that was taken from the other.
                let lines = self.chart.model.lines.as_ref();
                let taken = |e: &Entry| match &e.what {
                    What::Atom(a) if lines.is_some_and(|l| *a.name == *l.config.remove) => a.args.first().and_then(Term::as_name).map(Name::from),
                    _ => None,
                };
                if let Some(old) = self.entries.last().and_then(taken).filter(|old| self.ledger.shares_place(old, &name)) {
                    return self.swap(&old, &name, Some(np), 1, edge, pattern.weak);
                }
                let revised =
                    || edge.end == np.end && self.chart.is_word("revises", np.end) && self.chart.tokens.get(np.end + 1).is_none_or(|t| t.punct().is_some());
                if let Some(n) =
                    np.count.filter(|_| self.says_again(&name, edge) || self.entries.is_empty() && revised() && self.counts_anew(np, &name).is_some())
                {
                    return self.set_number(name, n, edge, pattern.weak);
                }
                // What comes with it by itself is there.
                if let Some(c) = combo.filter(|c| !self.ledger.has_new() && np.count.is_none() && self.ledger.comes_with(*c, &name)) {
                    (self.filled, self.topic) = (Some(c), Some(name));
                    self.absorbed += 1;
                    return;
                }
                if let Some(c) = combo
                    && self.ledger.slot_for(c, &name).is_some()
                {
                    return self.fill_all(c, &name, &Np { count, ..np.clone() }, edge, pattern.weak);
                }
                // "A Pepsi then", where what was to stand in its place was just said to have run out.
                let ran_out = self.context.last_actions.iter().filter(|a| &*a.name == "unavailable").filter_map(|a| a.args.first()?.as_name());
                if let Some(c) = ran_out.filter_map(|old| self.ledger.left_by(old, &name)).next() {
                    return self.fill_all(c, &name, &Np { count, ..np.clone() }, edge, pattern.weak);
                }
                // "And he says Pepsi", where one thing there still lacks a drink, "two Pepsis", where two do; "and a Pepsi" is one more.
                let more = np.article == Article::Indefinite && self.follows("list", edge);
                let fills = np.which == Which::Unsaid && !self.ledger.has_new() && combo.is_none() && !more;
                if let Some(c) = self.ledger.waits_for(&name, count.unwrap_or(1)).filter(|_| fills) {
                    return self.fill_all(c, &name, &Np { count, ..np.clone() }, edge, pattern.weak);
                }
                // "The bellgrande ones", right after they were ordered.
                let said = matches!(np.head, Head::Name(e) if self.chart.names.get(e).is_some_and(|x| np.end > x.end)) && self.spoken_of().any(|s| *s == name);
                let refers = definite
                    && (changes_next || said || np.place.is_some() || np.part || np.which == Which::Both)
                    && self.ledger.holds(&name)
                    && !self.wanted_now(edge);
                // "Large Pepsi" of a Pepsi that is there.
                if refers || (bare && !self.wanted && self.ledger.holds(&name) && !self.ledger.has_new()) {
                    let target = self.target(np, edge, &[]);
                    for (sort, value) in &np.attributes {
                        self.attribute(*sort, value, target.clone(), edge, pattern.weak);
                    }
                    self.focus = Some(target);
                    return;
                }
                self.new_line(name, count.unwrap_or(1), &np.attributes, edge, pattern.weak);
            }
            Picked::Tie(names) => {
                self.tie = Some((names, np.attributes.clone(), np.count, np_index));
            }
            Picked::Nothing => {}
        }
    }

    /// How many are said of what was just told, where another number is there.
    pub(super) fn counts_anew(&self, np: &Np, name: &Name) -> Option<i64> {
        let there = self.ledger.number_of(name) as i64;
        np.count.filter(|n| there > 0 && *n != there && self.spoken_of().any(|s| s == name))
    }

    pub(super) fn set_number(&mut self, item: Name, n: i64, edge: &Edge, weak: u8) {
        let quantity = self.chart.model.lines.as_ref().map_or("", |l| l.config.quantity.as_str());
        self.push(What::Atom(Atom { name: quantity.into(), args: vec![Term::Str(item), Term::Int(to_i32(n))] }), edge, weak);
    }

    /// Whether the words name something of another sort much better.
    pub(super) fn is_dominated(&self, np: &Np, mask: u64) -> bool {
        let Head::Name(e) = np.head else { return false };
        let Some(edge) = self.chart.names.get(e) else { return false };
        let score = |c: &crate::link::Candidate| c.score + self.chart.hints.get(&c.name).copied().unwrap_or(0.0);
        if np.end > edge.end {
            return false;
        }
        let best = edge.candidates.iter().map(score).fold(0.0f32, f32::max);
        let ours = edge.candidates.iter().filter(|c| self.chart.mask(c.name) & mask != 0).map(score).fold(0.0f32, f32::max);
        ours < 0.72 * best
    }

    /// Whether a wish stands directly before.
    pub(super) fn wanted_now(&self, edge: &Edge) -> bool {
        self.wanted && !self.entries.iter().any(|e| e.span.end <= edge.start)
    }

    pub(super) fn narrowed(&self, np: &Np, names: &[Name]) -> Option<Name> {
        let Head::Name(e) = np.head else { return None };
        let edge = self.chart.names.get(e)?;
        let mut inside: Vec<(f32, Name)> =
            edge.candidates.iter().filter_map(|c| Some((c.score, self.chart.name(c.name)?))).filter(|c| names.contains(&c.1)).collect();
        inside.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let best = inside.first()?.clone();
        let clear = inside.get(1).is_none_or(|s| s.0 < best.0 * crate::link::Thresholds::default().tie);
        clear.then_some(best.1)
    }

    pub(super) fn member_of(&self, np: &Np, combo: usize) -> Option<Name> {
        let choices = self.ledger.choices(self.chart.knowledge, combo, false);
        // "Blue", "baja": of what may be chosen the only one whose name has the words.
        let called = || {
            let Head::Name(e) = np.head else { return None };
            let words = self.chart.names.get(e).and_then(|x| self.chart.tokens.get(x.start..x.end))?;
            let has = |n: &&Name| words.iter().all(|t| n.split_whitespace().any(|w| w.eq_ignore_ascii_case(&t.text)));
            let mut fit = choices.iter().filter(has);
            fit.next().filter(|_| fit.next().is_none()).cloned()
        };
        self.narrowed(np, &choices).or_else(called).filter(|_| matches!(np.which, Which::Unsaid | Which::Both | Which::All))
    }

    pub(super) fn is_change(&self, edge: &Edge) -> bool {
        let change = self.chart.model.lines.as_ref().map_or("", |l| l.config.change.as_str());
        self.grammar.patterns.get(edge.pattern).is_some_and(|p| p.means.iter().any(|t| &*t.name == change) || p.does == Some(Does::Focus))
    }

    /// A phrase without a name: some of the instances, or as many of what was offered.
    pub(super) fn add_left(&mut self, np: &Np, edge: &Edge, pattern: &Phrasing, changes_next: bool) {
        let offered = self.context.last_actions.iter().rev().find_map(|a| match a.args.as_slice() {
            [Term::Const(c), Term::Str(s)] if &*a.name == "recommend" && &**c != "upgrade" => Some(s.clone()),
            _ => None,
        });
        // "I had that yesterday": a pronoun after a word that means nothing here asks for nothing.
        let unread = edge.start > self.read_to && !self.follows("list", edge) && edge.start.checked_sub(1).is_some_and(|i| self.chart.skip_cost(i) > 0.0);
        let dangling = unread && matches!(np.head, Head::Pronoun(_));
        if dangling && pattern.bare {
            return;
        }
        // "Make one of the burritos without cheese, the second one".
        let ends = self.chart.tokens.get(edge.end).is_none_or(|t| t.punct().is_some());
        let names_place = ends && np.place.is_some() && np.attributes.is_empty() && !changes_next;
        if let Some(Entry { what: What::Change { target, rest }, span, .. }) =
            self.entries.last().filter(|e| names_place && !self.content_between(e.span.end, edge.start))
            && !(span.end..edge.start).any(|i| self.chart.is_word("list", i))
            && let (false, Some(item), rest) = (target.placed, target.item.clone(), rest.clone())
        {
            let placed = self.ledger.select(&item, np.place, None, false, false);
            if !placed.ids.is_empty() {
                self.entries.retain(|e| !matches!(&e.what, What::Change { target, rest: r } if target.item.as_ref() == Some(&item) && *r == rest));
                self.push(What::Change { target: placed.clone(), rest }, edge, pattern.weak);
                self.focus = Some(placed);
                return;
            }
        }
        // "Make it two, no, four".
        let quantity = self.chart.model.lines.as_ref().map_or("", |l| l.config.quantity.as_str());
        let counted = |e: &Entry| matches!(&e.what, What::Atom(a) if *a.name == *quantity);
        if let (Some(n), Some(at)) = (np.count, self.correcting.filter(|at| self.entries.get(*at).is_some_and(counted)))
            && let Some(Entry { what: What::Atom(a), .. }) = self.entries.get_mut(at)
            && let Some(said) = a.args.last_mut()
        {
            (*said, self.correcting) = (Term::Int(to_i32(n)), None);
            self.absorbed += 1;
            return;
        }
        let said_lines = self.ledger.has_new();
        if np.which == Which::Another {
            if let Some(item) = self.current_item(&[]).or(offered) {
                self.new_line(item, np.count.unwrap_or(1), &np.attributes, edge, pattern.weak);
            }
            return;
        }
        // "Crunchy tacos, both of them", of a combo that one was just put into.
        let again = self.filled.zip(self.topic.clone()).filter(|(combo, name)| !changes_next && self.ledger.slot_for(*combo, name).is_some());
        if let (Some((combo, name)), Which::Both | Which::All) = (again, np.which) {
            let all = Np { count: None, ..np.clone() };
            return self.fill_all(combo, &name, &all, edge, pattern.weak);
        }
        // "Two meals, both with milk", "three with milk and two with water".
        if let Some(share) = self.share_of(np, edge) {
            self.share = Some(share);
            self.absorbed += 1;
            return;
        }
        if (!changes_next || np.place.is_some() || np.rank.is_some()) && !said_lines {
            let chosen = self.told_of(np, self.chart.model.lines.as_ref().map_or(0, |l| l.items));
            for item in &chosen {
                self.new_line(item.clone(), np.count.filter(|_| np.place.is_some() || np.rank.is_some()).unwrap_or(1), &np.attributes, edge, pattern.weak);
            }
            if !chosen.is_empty() {
                return;
            }
        }
        // "chicken tacos, two of them": the number of the line just said.
        if let (Some(n), Some(line)) = (np.count, self.ledger.last_new())
            && (!changes_next || n > self.ledger.count(line))
            && (np.part && np.attributes.is_empty() || !changes_next && (self.correcting.is_some() || self.answered_line == Some(line)))
        {
            let target = self.recount(line, n);
            self.focus = Some(target);
            self.correcting = None;
            return;
        }
        // "A burrito with beans and one with rice": a further one.
        if let (Some(n), Some(line), true) = (np.count, self.ledger.last_new(), changes_next)
            && n == self.ledger.count(line)
            && !np.part
            && np.place.is_none()
            && self.entries.iter().any(|e| matches!(&e.what, What::Change { target, .. } if target.line == Some(line)))
        {
            let item = self.ledger.line_item(line);
            self.new_line(item, n, &np.attributes, edge, pattern.weak);
            return;
        }
        // "A large one and a small one".
        if let (true, Some(line)) = (np.article == Article::Indefinite && !np.attributes.is_empty() && self.follows("list", edge), self.ledger.last_new()) {
            let item = self.ledger.line_item(line);
            self.new_line(item, np.count.unwrap_or(1), &np.attributes, edge, pattern.weak);
            return;
        }
        if changes_next || np.place.is_some() || matches!(np.which, Which::Both | Which::All | Which::Other) || !np.attributes.is_empty() {
            let spread = np.attributes.first().and_then(|a| self.chart.model.lines.as_ref()?.attributes.get(&a.0)).and_then(|a| self.spread(np, a));
            let target = spread.unwrap_or_else(|| self.target(np, edge, &[]));
            for (sort, value) in &np.attributes {
                self.attribute(*sort, value, target.clone(), edge, pattern.weak);
            }
            self.focus = Some(target);
            return;
        }
        if let (false, Some(item)) = (said_lines, offered) {
            self.new_line(item, np.count.unwrap_or(1), &np.attributes, edge, pattern.weak);
            return;
        }
        // "Both sound great, let's do it": what was said in this turn is not ordered again by a pronoun.
        if matches!(np.head, Head::Pronoun(_)) && self.topic.as_ref().is_some_and(|t| self.ledger.new_line_of(t).is_some()) {
            self.absorbed += 1;
            return;
        }
        let unknown = self.topic.as_ref().is_some_and(|t| self.chart.knowledge.mask(t) == 0);
        if let (Some(item), true) = (self.topic.clone(), self.wanted || unknown) {
            self.new_line(item, np.count.unwrap_or(1), &np.attributes, edge, pattern.weak);
        }
    }

    /// Another number of a line of this turn; what was said of the line is said of all of it.
    fn recount(&mut self, line: usize, n: i64) -> Target {
        let before = self.ledger.line_target(line).ids;
        self.ledger.set_count(line, n);
        let target = self.ledger.line_target(line);
        for entry in &mut self.entries {
            if let What::Change { target: t, .. } = &mut entry.what
                && t.line == Some(line)
                && t.ids == before
            {
                t.ids.clone_from(&target.ids);
            }
        }
        target
    }

    /// "One of those for me then, one hot coffee": the line just made whose item is told again, in other words, or in the next sentence as
    /// a wish: "he wants fries too. Can you add one fries?"
    fn told_again(&self, item: &Name, count: i64, edge: &Edge) -> Option<usize> {
        let Some(Entry { what: What::Line(line), span, .. }) = self.entries.last() else { return None };
        let np = edge.binds.iter().find_map(|(_, b)| if let Bind::Np(i) = b { self.chart.phrases.get(*i) } else { None })?;
        let said = |range: Range<usize>| self.chart.tokens.get(range).unwrap_or(&[]).iter().map(|t| &t.text);
        let marked = (span.end..edge.start).any(|i| self.chart.tokens.get(i).is_some_and(|t| t.punct().is_some()));
        let joined = (span.end..edge.start).any(|i| self.chart.is_word("list", i)) || self.content_between(span.end.max(self.read_to), edge.start);
        let own = said(self.head_of(np)).all(|word| said(span.clone()).all(|w| w != word));
        let ends = |i: usize| self.chart.tokens.get(i).is_some_and(|t| matches!(t.punct(), Some('.' | '?' | '!')));
        let for_others = (span.start..self.chart.tokens.len()).any(|i| self.chart.is_word("meant_for", i));
        let wished = (span.end..edge.start).any(ends) && self.wishes.contains(&edge.start) && !for_others;
        let again = self.ledger.line_item(*line) == *item && self.ledger.count(*line) == count && np.which != Which::Another;
        (again && (own || wished) && marked && !joined).then_some(*line)
    }

    pub(super) fn new_line(&mut self, item: Name, count: i64, attributes: &[(u16, Name)], edge: &Edge, weak: u8) {
        let again = self.told_again(&item, count, edge);
        let line = again.unwrap_or_else(|| self.ledger.add(self.chart.model, self.chart.knowledge, &item, count));
        (self.copied, self.share, self.filled) = (None, None, None);
        self.topic = Some(item.clone());
        self.kind = self.ledger.kind_of(self.chart.knowledge, &item);
        self.last_name_end = edge.end;
        if let Some(last) = self.entries.last_mut().filter(|_| again.is_some()) {
            last.span.end = edge.end;
        } else {
            self.push(What::Line(line), edge, weak);
            self.take_in(line, edge, weak);
        }
        let target = self.ledger.line_target(line);
        for (sort, value) in attributes {
            self.attribute(*sort, value, target.clone(), edge, weak);
        }
        self.focus = Some(target);
    }

    /// Gives the line just made the members and changes of the instance before it.
    fn copy(&mut self, item: &Name, edge: &Edge, weak: u8) {
        let (changes, members) = self.ledger.last_of(item);
        let Some(line) = self.ledger.last_new() else { return };
        self.copied = (!members.is_empty()).then_some(line);
        for member in members {
            let (changes, _) = self.ledger.last_of(&member);
            self.fill(line, &member, &[], edge, weak);
            self.change_likewise(self.focus.clone().unwrap_or_default(), changes, edge, weak);
        }
        self.change_likewise(self.ledger.line_target(line), changes, edge, weak);
    }

    fn change_likewise(&mut self, target: Target, changes: Vec<Atom>, edge: &Edge, weak: u8) {
        for change in changes {
            let rest = std::iter::once(Term::Const(change.name)).chain(change.args).collect();
            self.push(What::Change { target: target.clone(), rest }, edge, weak);
        }
        self.focus = Some(target);
    }

    pub(super) fn attribute(&mut self, sort: u16, value: &Name, target: Target, edge: &Edge, weak: u8) {
        let Some(a) = self.chart.model.lines.as_ref().and_then(|l| l.attributes.get(&sort)) else { return };
        let Some(item) = self.ledger.item(&target) else { return };
        let asked = a.values.is_empty() || a.values.contains(value);
        if let Some(fact) = &a.only_if
            && asked
            && !self.chart.knowledge.holds(fact, &item)
        {
            return;
        }
        if restates(&item, value) {
            return;
        }
        for t in a.means.iter() {
            let rest: Vec<Term> = t
                .args
                .iter()
                .skip(1)
                .filter_map(|s| match s {
                    Slot::Term(t) => Some(t.clone()),
                    Slot::Var(1) => Some(Term::Const(value.clone())),
                    _ => None,
                })
                .collect();
            self.push(What::Change { target: target.clone(), rest }, edge, weak);
        }
    }
}
