//! What the words of a slot mean: a name among those that it could be, what was just listed, or what is being talked about.

use std::ops::Range;

use super::{Picked, Resolver, to_i32};
use crate::link::names::WHOLE;
use crate::ontology::Arg;
use crate::term::{Atom, Name, Term};
use crate::understand::Unsure;
use crate::understand::embedded::chart::{Bind, Edge, NameEdge};
use crate::understand::embedded::lines::ends_in;
use crate::understand::embedded::model::Phrasing;
use crate::understand::embedded::phrase::{Article, Head, Np, Which};
use crate::understand::embedded::template::{Slot, Template};
use crate::understand::embedded::title_case;

/// How many things that were listed "all" may mean at once.
const ALL: usize = 6;

impl Resolver<'_, '_> {
    /// "Both are back", "the freezes are down": the variable that stands for several things that were just listed or are called alike, and
    /// their names.
    pub(super) fn several(&self, template: &Template, edge: &Edge, masks: &[(u64, bool)]) -> Option<(u8, Vec<Name>)> {
        template.args.iter().zip(masks).find_map(|(slot, (mask, _))| {
            let Slot::Var(var) = slot else { return None };
            let Some(Bind::Np(i)) = Self::bind(edge, *var) else { return None };
            let np = self.chart.phrases.get(*i)?;
            let any = if *mask == 0 { u64::MAX } else { *mask };
            let names = match &np.head {
                Head::Pronoun(_) | Head::Left => self.told_of(np, *mask),
                Head::Name(e) => self.called_alike(np, self.chart.names.get(*e)?, any),
                Head::Kind(kind) if np.which == Which::All && np.plural => {
                    let mut names = self.ledger.all_of_kind(kind, self.chart.knowledge);
                    names.retain(|n| self.chart.knowledge.mask(n) & any != 0);
                    names
                }
                Head::Kind(_) => vec![],
            };
            (1 < names.len() && names.len() <= ALL).then_some((*var, names))
        })
    }

    /// All that is meant by the words in which their names end: "the freezes", "all three freezes", "both cravings boxes".
    fn called_alike(&self, np: &Np, said: &NameEdge, mask: u64) -> Vec<Name> {
        let words: Vec<&str> = self.chart.tokens.get(said.start..said.end).into_iter().flatten().map(|t| t.text.as_str()).collect();
        let Some((word, before)) = words.split_last().filter(|_| np.plural) else { return vec![] };
        let called = |n: &Name| ends_in(n, word) && before.iter().all(|w| n.split_whitespace().any(|own| own.eq_ignore_ascii_case(w)));
        let fit = || said.candidates.iter().filter(|c| self.chart.mask(c.name) & mask != 0);
        let whole = match np.count {
            Some(n) => usize::try_from(n).is_ok_and(|n| n == fit().count()),
            None if np.which == Which::Both => fit().count() == 2,
            // "No freezes": who orders nothing speaks of them all.
            None => np.which == Which::All || np.article == Article::Definite || np.article == Article::None && !self.chart.model.orders(&self.context.role),
        };
        let names: Vec<Name> = fit().filter_map(|c| self.chart.name(c.name)).collect();
        // What is there, or was just spoken of, is meant by itself.
        let known = |n: &Name| self.ledger.holds(n) || self.spoken_of().any(|s| s == n);
        let apart = names.iter().any(known) && !names.iter().all(known);
        if whole && fit().all(|c| !c.is_whole()) && names.iter().all(called) && !apart { names } else { vec![] }
    }

    /// For each argument of a template the sort bits and whether its sort takes new names.
    pub(super) fn form_masks(&self, template: &Template) -> Vec<(u64, bool)> {
        let key = (self.context.role.clone(), template.name.clone(), template.args.len());
        let forms = self.chart.model.forms.get(&key).map_or(&[][..], |f| f);
        (0..template.args.len())
            .map(|i| {
                let mut mask = 0;
                let mut open = false;
                for form in forms {
                    let literal_fits = form.iter().zip(&template.args).all(|(a, s)| match (a, s) {
                        (Arg::Literal(l), Slot::Term(t)) => l == t,
                        (Arg::Literal(_), Slot::Hole) => false,
                        _ => true,
                    });
                    if let (true, Some(Arg::Sort(s))) = (literal_fits, form.get(i)) {
                        mask |= self.chart.model.masks.get(s).copied().unwrap_or(0);
                        open |= self.chart.model.open_sorts.contains(s);
                    }
                }
                (mask, open)
            })
            .collect()
    }

    pub(super) fn bind(edge: &Edge, var: u8) -> Option<&Bind> {
        edge.binds.iter().find(|b| b.0 == var).map(|b| &b.1)
    }

    pub(super) fn np(&self, edge: &Edge, slot: &Slot) -> Option<Np> {
        match slot {
            Slot::Var(v) => match Self::bind(edge, *v) {
                Some(Bind::Np(i)) => self.chart.phrases.get(*i).cloned(),
                _ => None,
            },
            _ => None,
        }
    }

    /// The value of a slot, `None` if the words do not give one (then the predicate is not produced).
    pub(super) fn term(&mut self, slot: &Slot, edge: &Edge, bound: &[(u8, Term)], mask: u64, open: bool, rest: &[&Edge]) -> Option<Term> {
        match slot {
            Slot::Term(t) => Some(t.clone()),
            Slot::Any => None,
            Slot::Fun(f, args) => {
                let inner: Option<Vec<Term>> = args.iter().map(|a| self.term(a, edge, bound, mask, open, rest)).collect();
                Some(Term::Fun(f.clone(), inner?))
            }
            Slot::Count(v) => Some(Term::Int(match Self::bind(edge, *v) {
                Some(Bind::Np(i)) => self.chart.phrases.get(*i).and_then(|np| np.count).map_or(1, to_i32),
                _ => 1,
            })),
            Slot::Var(v) => {
                if let Some((_, t)) = bound.iter().find(|b| b.0 == *v) {
                    return Some(t.clone());
                }
                match Self::bind(edge, *v).cloned() {
                    Some(Bind::Term(t)) => Some(t),
                    Some(Bind::Free(from, to)) => Some(Term::string(&self.title_case(from, to))),
                    Some(Bind::Np(i)) => {
                        let np = self.chart.phrases.get(i).cloned()?;
                        self.np_term(&np, if mask == 0 { u64::MAX } else { mask }, open, edge)
                    }
                    None => self.hole(mask, open, rest),
                }
            }
            // "Two more of those and a Pepsi": those are what was told, not what comes.
            Slot::Hole => {
                let points = self.spoken_of().next().is_some() && (edge.start..edge.end).any(|i| self.chart.is_word("plural_pronoun", i));
                self.hole(mask, open, if points { &[] } else { rest })
            }
        }
    }

    pub(super) fn np_term(&mut self, np: &Np, mask: u64, open: bool, edge: &Edge) -> Option<Term> {
        match &np.head {
            Head::Name(_) => match self.like_before(np).map_or_else(|| self.pick(np, mask, 0.3), Picked::One) {
                Picked::One(n) => Some(Term::Str(n)),
                Picked::Tie(names) => {
                    self.be_unsure(np, names);
                    None
                }
                Picked::Nothing => None,
            },
            Head::Kind(kind) => {
                let kind = kind.clone();
                let target = self.target(np, edge, &[]);
                match self.ledger.item(&target) {
                    Some(item) if self.chart.knowledge.mask(&item) & mask != 0 => Some(Term::Str(item)),
                    _ => {
                        // "That bowl", of the one that was spoken of.
                        let one = if np.article == Article::Definite && !np.plural { self.told_of_kind(&kind, mask) } else { None };
                        if let Some(one) = one {
                            return Some(Term::Str(one));
                        }
                        let names = self.ledger.of_kind(self.chart.knowledge, &kind);
                        self.be_unsure(np, names);
                        None
                    }
                }
            }
            Head::Pronoun(_) | Head::Left => {
                // "The first one", of what is there.
                let there = |s: &mut Self| {
                    let item = np.place.map(|_| s.target(np, edge, &[])).and_then(|t| s.ledger.item(&t))?;
                    (s.chart.knowledge.mask(&item) & mask != 0).then_some(Term::Str(item))
                };
                match self.told_of(np, mask).first() {
                    Some(name) => Some(Term::Str(name.clone())),
                    None => there(self).or_else(|| self.hole(mask, open, &[])),
                }
            }
        }
    }

    /// "The chicken quesadilla or the steak": after an item the other of its kind that is told from it by the word alone.
    pub(super) fn like_before(&self, np: &Np) -> Option<Name> {
        let Head::Name(e) = np.head else { return None };
        let said = self.chart.names.get(e).filter(|x| x.end == np.end && x.end == x.start + 1)?;
        let joined = np.start.checked_sub(1).is_some_and(|i| self.chart.is_word("list", i));
        let item = self.topic.as_ref().filter(|_| joined)?;
        let kind = self.ledger.kind_of(self.chart.knowledge, item)?;
        let word = &self.chart.tokens.get(said.start)?.text;
        let last = |n: &str| n.split_whitespace().next_back().map(str::to_lowercase);
        // The word that both end with was left out, and what was said is no name of its own kind.
        let other = |n: &Name| n != item && last(n) == last(item) && n.split_whitespace().any(|w| w.eq_ignore_ascii_case(word));
        let own = said.candidates.iter().filter_map(|c| self.chart.name(c.name).filter(|_| c.is_whole()));
        if own.into_iter().any(|n| self.ledger.kind_of(self.chart.knowledge, &n).is_some()) {
            return None;
        }
        let mut fit = self.ledger.all_of_kind(&kind, self.chart.knowledge).into_iter().filter(other);
        fit.next().filter(|_| fit.next().is_none())
    }

    /// Which of the things that were just listed are meant: "the first one", "the last one", "both".
    pub(super) fn told_of(&self, np: &Np, mask: u64) -> Vec<Name> {
        let mut names = self.listed(mask);
        if let Some((fact, most)) = np.rank.and_then(|r| self.chart.model.ranks.get(&r)) {
            let amount = |n: &Name| self.chart.knowledge.amounts.get(&(fact.clone(), n.clone())).map(|a| if *most { -a } else { *a });
            names.sort_by_key(|n| amount(n).unwrap_or(i64::MAX));
            names.truncate(usize::from(names.len() > 1));
            return names;
        }
        match np.place {
            _ if names.len() < 2 => vec![],
            Some(place) => {
                let steps = usize::try_from(place.unsigned_abs()).ok().and_then(|n| n.checked_sub(1));
                let mut from_end = names.iter().rev();
                steps.and_then(|n| if place < 0 { from_end.nth(n) } else { names.get(n) }).cloned().into_iter().collect()
            }
            None if np.which == Which::Both && names.len() == 2 => names,
            None if np.which == Which::All && names.len() <= ALL => names,
            None => vec![],
        }
    }

    /// The things that were listed last: what several actions of one form tell apart. What is there already was not offered.
    fn listed(&self, mask: u64) -> Vec<Name> {
        let actions = &self.context.last_actions;
        let names_at = |of: &Atom, at: usize| -> Option<Vec<Name>> {
            let alike = actions.iter().filter(|a| a.name == of.name && a.args.len() == of.args.len());
            let mut names: Vec<Name> =
                alike.map(|a| a.args.get(at).and_then(|t| if let Term::Str(n) = t { Some(n.clone()) } else { None })).collect::<Option<_>>()?;
            let before = names.len();
            names.dedup();
            let fits = |n: &Name| self.chart.knowledge.mask(n) & mask != 0 && !self.ledger.holds(n);
            (names.len() == before && before > 1 && names.iter().all(fits)).then_some(names)
        };
        actions.iter().rev().find_map(|a| (0..a.args.len()).rev().find_map(|at| names_at(a, at))).unwrap_or_default()
    }

    pub(super) fn be_unsure(&mut self, np: &Np, candidates: Vec<Name>) {
        let said = self.chart.tokens.get(np.start..np.end).into_iter().flatten().map(|t| t.text.as_str()).collect::<Vec<_>>().join(" ");
        let head = self.head_of(np);
        if self.unsure.iter().all(|u| u.0 != head) {
            self.unsure.push((head, Unsure { said, candidates, readings: vec![] }));
        }
    }

    /// The tokens of a phrase that name something, without article, number and attributes.
    pub(super) fn head_of(&self, np: &Np) -> Range<usize> {
        match &np.head {
            Head::Name(e) => self.chart.names.get(*e).map_or(np.start..np.end, |n| n.start..n.end),
            Head::Kind(kind) => (np.start..np.end)
                .rev()
                .find_map(|at| self.chart.values_at.get(at)?.iter().find(|v| v.2 == *kind && v.0 <= np.end).map(|v| at..v.0))
                .unwrap_or(np.start..np.end),
            _ => np.start..np.end,
        }
    }

    /// What is being talked about, of one of the sorts.
    pub(super) fn hole(&mut self, mask: u64, open: bool, rest: &[&Edge]) -> Option<Term> {
        let k = self.chart.knowledge;
        let fits = |n: &Name| open || k.mask(n) & mask != 0 || (k.mask(n) == 0 && self.chart.extra.iter().any(|e| e.1 == *n));
        if let Some(t) = self.topic.clone().filter(|t| fits(t)) {
            return Some(Term::Str(t));
        }
        if let Some(item) = self.focus.as_ref().and_then(|f| self.ledger.item(f)).filter(|t| fits(t)) {
            return Some(Term::Str(item));
        }
        let ahead = if self.looks_ahead { rest } else { &[] };
        for e in ahead {
            for (_, b) in &e.binds {
                match b {
                    Bind::Free(from, to) if open => return Some(Term::string(&self.title_case(*from, *to))),
                    Bind::Np(i) => {
                        if let Some(np) = self.chart.phrases.get(*i).cloned()
                            && matches!(np.head, Head::Name(_))
                            && let Picked::One(n) = self.pick(&np, if open { u64::MAX } else { mask }, 0.0)
                        {
                            return Some(Term::Str(n));
                        }
                    }
                    _ => {}
                }
            }
        }
        for a in self.context.last_actions.iter().rev() {
            // Of several that are told apart, "do you mean this or that?", none is the one.
            let named = |t: &Term| matches!(t, Term::Str(s) if fits(s));
            if a.args.len() > 1 && a.args.iter().all(named) {
                return None;
            }
            if let Some(name) = a.args.iter().find(|t| named(t)) {
                return Some(name.clone());
            }
        }
        if let Some(last) = self.ledger.last_item(&|n| fits(n)) {
            return Some(Term::Str(last));
        }
        for a in self.context.said_before.iter().rev() {
            for arg in &a.args {
                if let Term::Str(s) = arg
                    && fits(s)
                {
                    return Some(arg.clone());
                }
            }
        }
        None
    }

    /// Whether a pattern speaks of a name that the facts do not hold (yet).
    pub(super) fn is_about_new(&mut self, pattern: &Phrasing, edge: &Edge, bound: &[(u8, Term)], rest: &[&Edge]) -> bool {
        let Some(template) = pattern.means.first() else { return false };
        let Some(slot) = template.args.first().cloned() else { return false };
        let (mask, open) = self.form_masks(template).first().copied().unwrap_or((0, false));
        let subject = self.term(&slot, edge, bound, mask, open, rest);
        let Some(Term::Str(name)) = subject else { return false };
        self.chart.knowledge.mask(&name) == 0
    }

    pub(super) fn title_case(&self, from: usize, to: usize) -> String {
        title_case(self.chart.tokens.get(from..to).unwrap_or(&[]))
    }

    /// Chooses among what a name phrase may mean. `in_order` is the bonus for names that the conversation holds.
    pub(super) fn pick(&mut self, np: &Np, mask: u64, in_order: f32) -> Picked {
        let Head::Name(e) = np.head else { return Picked::Nothing };
        let Some(edge) = self.chart.names.get(e) else { return Picked::Nothing };
        let mut scored: Vec<(f32, f32, Name)> = vec![];
        // Beside a name that was said whole no other is helped by its kind.
        let whole = edge.candidates.iter().any(|c| self.chart.mask(c.name) & mask != 0 && c.is_whole());
        for c in &edge.candidates {
            if self.chart.mask(c.name) & mask == 0 {
                continue;
            }
            let Some(name) = self.chart.name(c.name) else { continue };
            let mut s = c.score + self.chart.hints.get(&c.name).copied().unwrap_or(0.0);
            if self.ledger.holds(&name) {
                s += in_order;
            }
            if let Some(kind) = &self.kind
                && self.ledger.kind_of(self.chart.knowledge, &name).as_ref() == Some(kind)
                && !whole
            {
                s += 0.3;
            }
            scored.push((s, c.score, name));
        }
        // "The cheese one" is one of what is there, or was just spoken of, or of that kind; so is "the cheese" where nothing is called that.
        let one = np.end > edge.end;
        // "Regular freeze is fine" is of the freeze that was just spoken of.
        let told = |n: &Name| self.spoken_of().any(|s| s == n);
        let still = !np.attributes.is_empty() && np.count.is_none() && scored.iter().any(|s| told(&s.2));
        if (np.article == Article::Definite || (one || still) && np.article == Article::None) && (one || scored.iter().all(|s| s.1 < WHOLE)) {
            let spoken = |n: &Name| self.ledger.holds(n) || told(n);
            let kind = self.spoken_of().find_map(|s| self.ledger.kind_of(self.chart.knowledge, s)).filter(|_| one);
            let like = |n: &Name| kind.is_some() && self.ledger.kind_of(self.chart.knowledge, n) == kind;
            if scored.iter().any(|s| spoken(&s.2)) {
                scored.retain(|s| spoken(&s.2));
            } else if scored.iter().any(|s| like(&s.2)) {
                scored.retain(|s| like(&s.2));
            }
        }
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.2.cmp(&b.2)));
        let Some((best, raw, name)) = scored.first().cloned() else { return Picked::Nothing };
        // "The pizza with onions", of the veggie pizza that is there.
        let short = np.article == Article::Definite && name.split_whitespace().count() > edge.end - edge.start;
        if (in_order >= 0.5 && np.article != Article::Indefinite || short)
            && !self.ledger.holds(&name)
            && let Some(held) = self.held_by_part(edge, mask)
        {
            return Picked::One(held);
        }
        // "A bowl": the word for a kind, and no name, means any that is called so.
        let kind = self.ledger.kind_of(self.chart.knowledge, &name).filter(|_| raw < WHOLE && edge.end == edge.start + 1);
        let generic = kind.is_some_and(|k| self.chart.values_at.get(edge.start).is_some_and(|v| v.iter().any(|v| v.0 == edge.end && v.2 == k)));
        let least = if generic { 0.0 } else { best * crate::link::Thresholds::default().tie };
        let ties: Vec<Name> = scored.iter().filter(|s| s.0 >= least).map(|s| s.2.clone()).collect();
        let held = ties.iter().filter(|n| self.ledger.holds(n)).count();
        if in_order >= 0.5
            && held == 1
            && let Some(n) = ties.iter().find(|n| self.ledger.holds(n))
        {
            return Picked::One(n.clone());
        }
        let whole = raw >= WHOLE && scored.get(1).is_none_or(|s| s.1 < WHOLE);
        if ties.len() > 1 && !whole {
            return Picked::Tie(ties);
        }
        self.name_score = self.name_score.min(0.5 + raw / 2.0);
        Picked::One(name)
    }

    /// The one thing of a kind that was spoken of last; of several none is the one.
    fn told_of_kind(&self, kind: &Name, mask: u64) -> Option<Name> {
        let k = self.chart.knowledge;
        let fits = |n: &&Name| self.ledger.kind_of(k, n).as_ref() == Some(kind) && k.mask(n) & mask != 0;
        let before = self.context.said_before.iter().rev().flat_map(|a| &a.args).filter_map(|t| if let Term::Str(s) = t { Some(s) } else { None });
        let here: Vec<&Name> = self.topic.iter().filter(fits).collect();
        let told: Vec<&Name> = if here.is_empty() { self.spoken_of().filter(fits).collect() } else { here };
        let told = if told.is_empty() { before.filter(fits).collect() } else { told };
        let one = *told.first()?;
        told.iter().all(|n| *n == one).then(|| one.clone())
    }

    /// The names that were just spoken of, the last first.
    pub(super) fn spoken_of(&self) -> impl Iterator<Item = &Name> {
        self.context.last_actions.iter().rev().flat_map(|a| &a.args).filter_map(|t| if let Term::Str(s) = t { Some(s) } else { None })
    }

    /// The one thing there whose name holds all the words that were said: "the nachos", of Loaded Beef Nachos.
    pub(super) fn held_by_part(&self, said: &NameEdge, mask: u64) -> Option<Name> {
        let words = self.chart.tokens.get(said.start..said.end)?;
        let in_name = |name: &Name| {
            let name = name.to_lowercase();
            words.iter().all(|t| name.split_whitespace().any(|w| w == t.text || t.text.strip_suffix('s') == Some(w)))
        };
        let mut held = self.ledger.there().into_iter().filter(|n| self.chart.knowledge.mask(n) & mask != 0 && in_name(n));
        held.next().filter(|_| held.next().is_none())
    }
}
