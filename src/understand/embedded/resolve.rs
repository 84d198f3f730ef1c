//! From the readings to predicates: what phrases refer to, and how predicates get their arguments.

use std::ops::Range;
use std::sync::Arc;

use super::chart::{Bind, Chart, Edge};
use super::data::Does;
use super::lines::{Ledger, Target};
use super::model::{Pattern, RoleGrammar};
use super::phrase::{Article, Head, Np, Which};
use super::template::{Slot, Template};
use crate::ontology::Arg;
use crate::term::{Atom, Name, Term};
use crate::understand::{Context, Unsure};

/// A predicate on its way out.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What it says.
    pub what: What,
    /// Tokens it came from.
    pub span: Range<usize>,
    /// How far it gives way: 0 not, 1 to what is more special, 2 to anything.
    pub weak: u8,
}

/// What an entry says.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A finished predicate.
    Atom(Atom),
    /// A new line of the ledger.
    Line(usize),
    /// A change of instances: the arguments after the item.
    Change {
        /// Instances, by number in the ledger.
        target: Target,
        /// Arguments after the item.
        rest: Vec<Term>,
    },
    /// Taken back.
    Gone,
}

/// Turns a path of edges into entries.
pub struct Resolver<'c, 'a> {
    /// The chart.
    pub chart: &'c Chart<'a>,
    /// The role's grammar.
    pub grammar: &'c RoleGrammar,
    /// What is known of the conversation.
    pub context: &'c Context,
    /// Lines and instances.
    pub ledger: Ledger,
    /// What came out so far.
    pub entries: Vec<Entry>,
    /// Unclear parts.
    pub unsure: Vec<(Range<usize>, Unsure)>,
    /// Lowest closeness of a name taken.
    pub name_score: f32,
    focus: Option<Target>,
    topic: Option<Name>,
    kind: Option<Name>,
    header: Option<i64>,
    wanted: bool,
    correcting: Option<usize>,
    tie: Option<(Vec<Name>, Vec<(u16, Name)>, Option<i64>, usize)>,
    last_name_end: usize,
    answered_line: Option<usize>,
    answered: Vec<(Arc<Vec<Template>>, Vec<(u8, Term)>)>,
}

/// What a name phrase turned out to be.
enum Picked {
    One(Name),
    Tie(Vec<Name>),
    Nothing,
}

impl<'c, 'a> Resolver<'c, 'a> {
    /// A resolver at the start of an utterance.
    pub fn new(chart: &'c Chart<'a>, grammar: &'c RoleGrammar, context: &'c Context) -> Self {
        Self {
            chart,
            grammar,
            context,
            ledger: Ledger::new(chart.model, chart.knowledge, context),
            entries: vec![],
            unsure: vec![],
            name_score: 1.0,
            focus: None,
            topic: None,
            kind: None,
            header: None,
            wanted: false,
            correcting: None,
            tie: None,
            last_name_end: 0,
            answered_line: None,
            answered: vec![],
        }
    }

    /// Works through a path.
    pub fn run(&mut self, edges: &[Edge], path: &[usize], after: &[Option<Vec<(u8, Term)>>]) {
        let steps: Vec<&Edge> = path.iter().filter_map(|i| edges.get(*i)).collect();
        for (i, edge) in steps.iter().enumerate() {
            let Some(pattern) = self.grammar.patterns.get(edge.pattern) else { continue };
            let bound = after.get(edge.pattern).and_then(|a| a.as_deref()).unwrap_or(&[]);
            self.step(edge, pattern, bound, steps.get(i + 1..).unwrap_or(&[]));
        }
        self.flush_tie();
    }

    fn step(&mut self, edge: &Edge, pattern: &Pattern, bound: &[(u8, Term)], rest: &[&Edge]) {
        match pattern.does {
            Some(Does::Want) => {
                self.wanted = true;
                if pattern.means.is_empty() {
                    return;
                }
            }
            Some(Does::Correct) => {
                let unread = self.entries.last().is_none_or(|e| self.content_between(e.span.end, edge.start));
                self.correcting = (!unread).then(|| self.entries.len().wrapping_sub(1));
                return;
            }
            Some(Does::Focus) => {
                let np = edge.binds.iter().find_map(|(_, b)| if let Bind::Np(i) = b { self.chart.phrases.get(*i) } else { None });
                if let Some(np) = np.cloned() {
                    self.focus = Some(self.target(&np, edge, &[]));
                    self.note_kind(&np);
                }
                return;
            }
            Some(Does::Nothing) => return,
            Some(Does::Stop) | None => {}
        }
        let means = match &pattern.means_new {
            Some(new) if self.is_about_new(pattern, edge, bound, rest) => new.clone(),
            _ => pattern.means.clone(),
        };
        // "Sure, I'll try one" answers once.
        if pattern.after.is_some() && edge.binds.is_empty() {
            let answer = (means.clone(), bound.to_vec());
            if self.answered.contains(&answer) {
                return;
            }
            self.answered.push(answer);
        }
        // "Okay, …" before something else is no answer.
        let lead_in = pattern.after.is_some() && (edge.start..edge.end).all(|i| self.chart.skip_cost(i) <= 0.0);
        let softened = Pattern { weak: pattern.weak.max(1), ..pattern.clone() };
        let pattern = if lead_in { &softened } else { pattern };
        let before = self.entries.len();
        for template in means.iter() {
            self.emit(template, edge, pattern, bound, rest);
        }
        if pattern.does == Some(Does::Stop) {
            for e in self.entries.iter_mut().skip(before) {
                e.span.end = e.span.end.max(edge.end);
            }
        }
        if self.entries.len() > before {
            self.correcting = None;
        }
    }

    /// Whether words that matter stand between two tokens.
    fn content_between(&self, from: usize, to: usize) -> bool {
        (from..to).any(|i| self.chart.skip_cost(i) > 0.3)
    }

    fn push(&mut self, what: What, edge: &Edge, weak: u8) {
        self.entries.push(Entry { what, span: edge.start..edge.end, weak });
    }

    /// Emits one template, once for each member of the list that it holds.
    fn emit(&mut self, template: &Template, edge: &Edge, pattern: &Pattern, bound: &[(u8, Term)], rest: &[&Edge]) {
        let many = edge.binds.iter().map(|b| b.0).find(|v| edge.binds.iter().filter(|b| b.0 == *v).count() > 1 && uses(&template.args, *v));
        match many {
            None => self.emit_one(template, edge, pattern, bound, rest),
            Some(var) => {
                let members: Vec<Bind> = edge.binds.iter().filter(|b| b.0 == var).map(|b| b.1.clone()).collect();
                for m in members {
                    let mut binds: Vec<(u8, Bind)> = edge.binds.iter().filter(|b| b.0 != var).cloned().collect();
                    binds.push((var, m));
                    let single = Edge { binds, ..edge.clone() };
                    self.emit_one(template, &single, pattern, bound, rest);
                }
            }
        }
    }

    fn emit_one(&mut self, template: &Template, edge: &Edge, pattern: &Pattern, bound: &[(u8, Term)], rest: &[&Edge]) {
        let lines = self.chart.model.lines.as_ref();
        let is = |name: &str| &*template.name == name;
        if let Some(l) = lines {
            if is(&l.config.add) {
                return self.add_line(template, edge, pattern, bound, rest);
            }
            if is(&l.config.change) {
                return self.change(template, edge, pattern, bound);
            }
            if is(&l.config.remove) && template.args.iter().any(|a| matches!(a, Slot::Var(_) | Slot::Hole)) {
                return self.remove(template, edge, pattern, bound);
            }
            if is(&l.config.replace) {
                return self.replace(template, edge, pattern, bound);
            }
            if is(&l.config.quantity) {
                return self.quantity(template, edge, pattern, bound);
            }
            if is(&l.config.member) {
                return self.member(template, edge, pattern, bound);
            }
        }
        let masks = self.form_masks(template);
        let mut args = vec![];
        for (i, slot) in template.args.iter().enumerate() {
            let (mask, open) = masks.get(i).copied().unwrap_or((0, false));
            match self.term(slot, edge, bound, mask, open, rest) {
                Some(t) => args.push(t),
                None => return,
            }
        }
        if let Some(Term::Str(s)) = args.iter().find(|a| matches!(a, Term::Str(_))) {
            self.topic = Some(s.clone());
            self.last_name_end = edge.end;
            if let Some(target) = self.ledger.of_item(s) {
                self.focus = Some(target);
            }
        }
        self.push(What::Atom(Atom { name: template.name.clone(), args }), edge, pattern.weak);
    }

    /// For each argument of a template the sort bits and whether its sort takes new names.
    fn form_masks(&self, template: &Template) -> Vec<(u64, bool)> {
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

    fn bind<'e>(edge: &'e Edge, var: u8) -> Option<&'e Bind> {
        edge.binds.iter().find(|b| b.0 == var).map(|b| &b.1)
    }

    fn np(&self, edge: &Edge, slot: &Slot) -> Option<Np> {
        match slot {
            Slot::Var(v) => match Self::bind(edge, *v) {
                Some(Bind::Np(i)) => self.chart.phrases.get(*i).cloned(),
                _ => None,
            },
            _ => None,
        }
    }

    /// The value of a slot, `None` if the words do not give one (then the predicate is not produced).
    fn term(&mut self, slot: &Slot, edge: &Edge, bound: &[(u8, Term)], mask: u64, open: bool, rest: &[&Edge]) -> Option<Term> {
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
                    None => self.hole(mask, open, rest, edge),
                }
            }
            Slot::Hole => self.hole(mask, open, rest, edge),
        }
    }

    fn np_term(&mut self, np: &Np, mask: u64, open: bool, edge: &Edge) -> Option<Term> {
        match &np.head {
            Head::Name(_) => match self.pick(np, mask, 0.3) {
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
                        let names = self.ledger.of_kind(self.chart.knowledge, &kind);
                        self.be_unsure(np, names);
                        None
                    }
                }
            }
            Head::Pronoun(_) | Head::Left => self.hole(mask, open, &[], edge),
        }
    }

    fn be_unsure(&mut self, np: &Np, candidates: Vec<Name>) {
        let said = self.chart.tokens.get(np.start..np.end).into_iter().flatten().map(|t| t.text.as_str()).collect::<Vec<_>>().join(" ");
        self.unsure.push((np.start..np.end, Unsure { said, candidates }));
    }

    /// What is being talked about, of one of the sorts.
    fn hole(&mut self, mask: u64, open: bool, rest: &[&Edge], edge: &Edge) -> Option<Term> {
        let k = self.chart.knowledge;
        let fits = |n: &Name| open || k.mask(n) & mask != 0 || (k.mask(n) == 0 && self.chart.extra.iter().any(|e| e.1 == *n));
        if let Some(t) = self.topic.clone().filter(|t| fits(t)) {
            return Some(Term::Str(t));
        }
        if let Some(item) = self.focus.as_ref().and_then(|f| self.ledger.item(f)).filter(|t| fits(t)) {
            return Some(Term::Str(item));
        }
        for e in rest {
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
        let _ = edge;
        let actions = self.context.last_actions.iter().rev().filter(|a| a.name.as_ref() != "price");
        for a in actions {
            for arg in &a.args {
                if let Term::Str(s) = arg
                    && fits(s)
                {
                    return Some(arg.clone());
                }
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
    fn is_about_new(&mut self, pattern: &Pattern, edge: &Edge, bound: &[(u8, Term)], rest: &[&Edge]) -> bool {
        let Some(template) = pattern.means.first() else { return false };
        let Some(slot) = template.args.first().cloned() else { return false };
        let (mask, open) = self.form_masks(template).first().copied().unwrap_or((0, false));
        let subject = self.term(&slot, edge, bound, mask, open, rest);
        let Some(Term::Str(name)) = subject else { return false };
        let added_now = self.entries.iter().any(|e| matches!(&e.what, What::Atom(a) if a.args.len() <= 2 && a.args.last() == Some(&Term::Str(name.clone()))));
        let being_added = self.context.last_actions.iter().any(|a| a.args.first() == Some(&Term::Str(name.clone())) && a.args.len() == 2);
        self.chart.knowledge.mask(&name) == 0 || (being_added && self.chart.knowledge.mask(&name) == 0) || (added_now && self.chart.knowledge.mask(&name) == 0)
    }

    fn title_case(&self, from: usize, to: usize) -> String {
        let mut out: Vec<String> = vec![];
        for t in self.chart.tokens.get(from..to).into_iter().flatten() {
            let mut chars = t.text.chars();
            let word = chars.next().map(|c| c.to_uppercase().collect::<String>() + chars.as_str()).unwrap_or_default();
            let small = !out.is_empty() && matches!(t.text.as_str(), "and" | "of" | "with" | "the" | "in" | "on");
            out.push(if small { t.text.clone() } else { word });
        }
        out.join(" ")
    }

    /// Chooses among what a name phrase may mean. `in_order` is the bonus for names that the conversation holds.
    fn pick(&mut self, np: &Np, mask: u64, in_order: f32) -> Picked {
        let Head::Name(e) = np.head else { return Picked::Nothing };
        let Some(edge) = self.chart.names.get(e) else { return Picked::Nothing };
        let mut scored: Vec<(f32, f32, Name)> = vec![];
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
                && c.score < 0.93
            {
                s += 0.3;
            }
            scored.push((s, c.score, name));
        }
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.2.cmp(&b.2)));
        let Some((best, raw, name)) = scored.first().cloned() else { return Picked::Nothing };
        let ties: Vec<Name> = scored.iter().filter(|s| s.0 >= best * crate::link::Thresholds::default().tie).map(|s| s.2.clone()).collect();
        let held = ties.iter().filter(|n| self.ledger.holds(n)).count();
        if in_order >= 0.5 && held == 1 {
            if let Some(n) = ties.iter().find(|n| self.ledger.holds(n)) {
                return Picked::One(n.clone());
            }
        }
        let whole = raw >= 0.93 && scored.get(1).is_none_or(|s| s.1 < 0.93);
        if ties.len() > 1 && !whole {
            return Picked::Tie(ties);
        }
        self.name_score = self.name_score.min(0.5 + raw / 2.0);
        Picked::One(name)
    }

    fn note_kind(&mut self, np: &Np) {
        if let Head::Kind(k) = &np.head {
            self.kind = Some(k.clone());
        }
    }

    fn flush_tie(&mut self) {
        if let Some((names, _, _, at)) = self.tie.take() {
            let Some(np) = self.chart.phrases.get(at).cloned() else { return };
            self.be_unsure(&np, names);
        }
    }

    /// An item said in a wish, an answer or by itself.
    fn add_line(&mut self, template: &Template, edge: &Edge, pattern: &Pattern, bound: &[(u8, Term)], rest: &[&Edge]) {
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
                self.new_line(item, said_count.or(count_np).unwrap_or(1), &[], edge, pattern.weak);
                if pattern.after.is_some() {
                    self.answered_line = self.ledger.last_new();
                }
            }
            return;
        };
        let np_index = edge.binds.iter().find_map(|b| if let Bind::Np(i) = b.1 { Some(i) } else { None }).unwrap_or(0);
        let changes_next = rest.first().is_some_and(|e| self.is_change(e) && e.start <= edge.end + 2);
        match np.head.clone() {
            Head::Name(_) => self.add_named(&np, np_index, said_count, items, edge, pattern, changes_next),
            Head::Kind(kind) => {
                let target = self.target(&np, edge, &[]);
                let present = self.ledger.item(&target).is_some()
                    && (np.article == Article::Definite || matches!(np.which, Which::Both | Which::All) || np.place.is_some());
                self.kind = Some(kind.clone());
                if present {
                    self.focus = Some(target);
                } else if np.which == Which::Another
                    && let Some(item) = self.ledger.last_item(&|n| self.ledger.kind_of(self.chart.knowledge, n).as_ref() == Some(&kind))
                {
                    self.new_line(item, np.count.unwrap_or(1), &np.attributes, edge, pattern.weak);
                } else {
                    self.flush_tie();
                    let names = self.ledger.of_kind(self.chart.knowledge, &kind);
                    if let ([only], true) = (names.as_slice(), true) {
                        let only = only.clone();
                        self.new_line(only, np.count.unwrap_or(1), &np.attributes, edge, pattern.weak);
                    } else {
                        self.header = np.count;
                        self.tie = Some((names, np.attributes.clone(), np.count, np_index));
                    }
                }
            }
            Head::Pronoun(_) | Head::Left => self.add_left(&np, edge, pattern, changes_next),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one step of a long decision")]
    fn add_named(&mut self, np: &Np, np_index: usize, said_count: Option<i64>, items: u64, edge: &Edge, pattern: &Pattern, changes_next: bool) {
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
            if self.header.is_none() {
                self.flush_tie();
            } else {
                self.tie = None;
            }
        }
        let combo = self.ledger.open_combo();
        let picked = match combo.and_then(|c| self.member_pick(np, c)) {
            Some(n) => Picked::One(n),
            None => self.pick(np, items, bonus),
        };
        if matches!(picked, Picked::One(_)) && self.is_dominated(np, items) {
            return;
        }
        match picked {
            Picked::One(name) => {
                let count = said_count.or(np.count);
                if self.restates(np, &name, edge) {
                    return;
                }
                if self.correct(&name, np, edge) {
                    return;
                }
                if let Some(c) = combo
                    && self.ledger.slot_for(c, &name).is_some()
                {
                    for _ in 0..count.unwrap_or(1).clamp(1, 4) {
                        self.fill(c, &name, &np.attributes, edge, pattern.weak);
                    }
                    return;
                }
                let refers = definite
                    && (changes_next || np.place.is_some() || np.part || np.which == Which::Both)
                    && self.ledger.holds(&name)
                    && !self.wanted_now(edge);
                // "Large Pepsi" of a Pepsi that is there.
                let bare = np.article == Article::None && np.count.is_none() && np.which == Which::Unsaid && !np.attributes.is_empty();
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

    /// Whether the words name something of another sort much better.
    fn is_dominated(&self, np: &Np, mask: u64) -> bool {
        let Head::Name(e) = np.head else { return false };
        let Some(edge) = self.chart.names.get(e) else { return false };
        let score = |c: &crate::link::Candidate| c.score + self.chart.hints.get(&c.name).copied().unwrap_or(0.0);
        let best = edge.candidates.iter().map(score).fold(0.0f32, f32::max);
        let ours = edge.candidates.iter().filter(|c| self.chart.mask(c.name) & mask != 0).map(score).fold(0.0f32, f32::max);
        ours < 0.72 * best
    }

    /// Whether a wish stands directly before.
    fn wanted_now(&self, edge: &Edge) -> bool {
        self.wanted && !self.entries.iter().any(|e| e.span.end <= edge.start)
    }

    fn narrowed(&mut self, np: &Np, names: &[Name]) -> Option<Name> {
        let Head::Name(e) = np.head else { return None };
        let edge = self.chart.names.get(e)?;
        let mut inside: Vec<(f32, Name)> =
            edge.candidates.iter().filter_map(|c| Some((c.score, self.chart.name(c.name)?))).filter(|c| names.contains(&c.1)).collect();
        inside.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let best = inside.first()?.clone();
        let clear = inside.get(1).is_none_or(|s| s.0 < best.0 * crate::link::Thresholds::default().tie);
        clear.then_some(best.1)
    }

    fn member_pick(&mut self, np: &Np, combo: usize) -> Option<Name> {
        let names = self.ledger.choices(self.chart.knowledge, combo);
        self.narrowed(np, &names).filter(|_| np.which == Which::Unsaid)
    }

    /// "cheesy, I mean": a bare partial name of what was just named adds nothing.
    fn restates(&mut self, np: &Np, name: &Name, edge: &Edge) -> bool {
        let Head::Name(e) = np.head else { return false };
        let partial = self.chart.names.get(e).is_some_and(|x| x.candidates.first().is_some_and(|c| c.score < 0.9));
        let bare = np.count.is_none() && np.article != Article::Indefinite && np.which == Which::Unsaid && np.attributes.is_empty();
        partial && bare && self.last_name_end > 0 && edge.start <= self.last_name_end + 2 && self.topic.as_ref() == Some(name)
    }

    /// Applies a correction to the entry before it. True if the new item was absorbed.
    fn correct(&mut self, name: &Name, np: &Np, edge: &Edge) -> bool {
        let Some(at) = self.correcting.take() else { return false };
        let Some(entry) = self.entries.get(at).cloned() else { return false };
        match entry.what {
            What::Line(line) => {
                let count = np.count.unwrap_or_else(|| self.ledger.count(line));
                self.ledger.rename(line, name, count);
                self.focus = Some(self.ledger.line_target(line));
                self.topic = Some(name.clone());
            }
            What::Atom(mut atom) => {
                let Some(slot) = atom.args.iter_mut().rev().find(|a| matches!(a, Term::Str(_))) else { return false };
                *slot = Term::Str(name.clone());
                self.topic = Some(name.clone());
                if let Some(e) = self.entries.get_mut(at) {
                    e.what = What::Atom(atom);
                }
            }
            _ => return false,
        }
        let _ = edge;
        true
    }

    fn is_change(&self, edge: &Edge) -> bool {
        let change = self.chart.model.lines.as_ref().map_or("", |l| l.config.change.as_str());
        self.grammar.patterns.get(edge.pattern).is_some_and(|p| p.means.iter().any(|t| &*t.name == change) || p.does == Some(Does::Focus))
    }

    /// A phrase without a name: some of the instances, or as many of what was offered.
    fn add_left(&mut self, np: &Np, edge: &Edge, pattern: &Pattern, changes_next: bool) {
        let offered = self.context.last_actions.iter().rev().find_map(|a| match a.args.as_slice() {
            [Term::Const(c), Term::Str(s)] if &*a.name == "recommend" && &**c != "upgrade" => Some(s.clone()),
            _ => None,
        });
        let said_lines = self.ledger.has_new();
        if np.which == Which::Another {
            if let Some(item) = self.ledger.last_item(&|_| true).or(offered) {
                self.new_line(item, np.count.unwrap_or(1), &np.attributes, edge, pattern.weak);
            }
            return;
        }
        // "chicken tacos, two of them": the number of the line just said.
        if let (Some(n), Some(line), false) = (np.count, self.ledger.last_new(), changes_next) {
            if np.part || self.correcting.is_some() || self.answered_line == Some(line) {
                self.ledger.set_count(line, n);
                self.focus = Some(self.ledger.line_target(line));
                self.correcting = None;
                return;
            }
        }
        if changes_next || np.place.is_some() || matches!(np.which, Which::Both | Which::All | Which::Other) || !np.attributes.is_empty() {
            let target = self.target(np, edge, &[]);
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
        let unknown = self.topic.as_ref().is_some_and(|t| self.chart.knowledge.mask(t) == 0);
        if let (Some(item), true) = (self.topic.clone(), self.wanted || unknown) {
            self.new_line(item, np.count.unwrap_or(1), &np.attributes, edge, pattern.weak);
        }
    }

    fn new_line(&mut self, item: Name, count: i64, attributes: &[(u16, Name)], edge: &Edge, weak: u8) {
        let line = self.ledger.add(self.chart.model, self.chart.knowledge, &item, count);
        self.topic = Some(item.clone());
        self.kind = self.ledger.kind_of(self.chart.knowledge, &item);
        self.last_name_end = edge.end;
        self.push(What::Line(line), edge, weak);
        let target = self.ledger.line_target(line);
        for (sort, value) in attributes {
            self.attribute(*sort, value, target.clone(), edge, weak);
        }
        self.focus = Some(target);
    }

    fn fill(&mut self, combo: usize, name: &Name, attributes: &[(u16, Name)], edge: &Edge, weak: u8) {
        let Some(member) = self.chart.model.lines.as_ref().map(|l| l.config.member.clone()) else { return };
        let item = self.ledger.line_item(combo);
        let target = self.ledger.fill(combo, name);
        self.topic = Some(name.clone());
        self.last_name_end = edge.end;
        self.push(What::Atom(Atom { name: member.as_str().into(), args: vec![Term::Str(item), Term::Str(name.clone())] }), edge, weak);
        for (sort, value) in attributes {
            self.attribute(*sort, value, target.clone(), edge, weak);
        }
        self.focus = Some(target);
    }

    fn attribute(&mut self, sort: u16, value: &Name, target: Target, edge: &Edge, weak: u8) {
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

    /// The instances a phrase speaks of. `parts` are names that the change is about, for choosing among several.
    fn target(&mut self, np: &Np, edge: &Edge, parts: &[Name]) -> Target {
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
                Picked::Tie(names) => {
                    self.be_unsure(np, names);
                    Target::default()
                }
                Picked::Nothing => Target::default(),
            },
            Head::Kind(kind) => self.ledger.select_kind(self.chart.knowledge, kind, np.place, np.count, several),
            Head::Pronoun(_) | Head::Left => {
                let item = self.current_item(parts);
                if np.head == Head::Pronoun(false) && np.place.is_none() && np.count.is_none() && !several {
                    return match (&self.focus, item) {
                        (Some(f), _) => f.clone(),
                        (None, Some(item)) => self.ledger.select(&item, None, None, false, false),
                        _ => Target::default(),
                    };
                }
                match item {
                    Some(item) => {
                        let whole = self.focus.as_ref().and_then(|f| f.line).filter(|_| np.place.is_none());
                        match whole {
                            Some(line) if self.ledger.line_item(line) == item => {
                                self.ledger.select_in(line, np.count, several || np.count.is_none(), np.which == Which::Other)
                            }
                            _ => {
                                let by_position = np.place.is_some() && self.ledger.number_of(&item) < np.place.unwrap_or(1).unsigned_abs() as usize;
                                if by_position {
                                    return self.ledger.select_position(np.place.unwrap_or(1));
                                }
                                if matches!(np.which, Which::Both) && self.ledger.number_of(&item) == 1 {
                                    return self.ledger.select_last(2);
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

    /// The item in question: said in this turn, asked about, or the last one that fits the parts.
    fn current_item(&self, parts: &[Name]) -> Option<Name> {
        if let Some(i) = self.focus.as_ref().and_then(|f| self.ledger.item(f)) {
            return Some(i);
        }
        if let Some(topic) = self.topic.clone().filter(|t| self.ledger.holds(t)) {
            return Some(topic);
        }
        let k = self.chart.knowledge;
        let changed = self.chart.model.lines.as_ref().map_or(0, |l| l.changed | l.items);
        let asked = self.context.last_actions.iter().rev().filter(|a| a.args.len() == 3).find_map(|a| match a.args.get(1) {
            Some(Term::Str(s)) if k.mask(s) & changed != 0 => Some(s.clone()),
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
        confirmed
            .iter()
            .find(|n| fits(n))
            .cloned()
            .or_else(|| self.ledger.last_item(&|n| self.ledger.kind_of(k, n).is_some() && fits(n)))
            .or_else(|| confirmed.first().cloned())
            .or_else(|| self.ledger.last_item(&|_| true))
    }

    fn change(&mut self, template: &Template, edge: &Edge, pattern: &Pattern, bound: &[(u8, Term)]) {
        let masks = self.form_masks(template);
        // Names of the changed item's parts first: they help to find the item.
        let parts: Vec<Name> = template.args.iter().skip(1).flat_map(|s| self.part_names(s, edge)).collect();
        let target = match template.args.first() {
            Some(Slot::Var(v)) if bound.iter().any(|b| b.0 == *v) => {
                let item = bound.iter().find(|b| b.0 == *v).and_then(|b| b.1.as_name()).map(Name::from);
                item.map(|i| self.ledger.select(&i, None, None, false, false)).unwrap_or_default()
            }
            Some(slot @ Slot::Var(_)) if self.np(edge, slot).is_some() => {
                let Some(np) = self.np(edge, slot) else { return };
                let t = if self.opens_line(&np) { self.open_line(&np, edge, pattern) } else { self.target(&np, edge, &parts) };
                self.focus = Some(t.clone());
                t
            }
            _ => match self.focus.clone() {
                Some(f) if self.ledger.item(&f).is_some() => f,
                _ => match self.current_item(&parts) {
                    Some(i) => self.ledger.select(&i, None, None, false, false),
                    None => return,
                },
            },
        };
        let Some(item) = self.ledger.item(&target) else { return };
        let mut rest = vec![];
        for (i, slot) in template.args.iter().enumerate().skip(1) {
            let mask = masks.get(i).map_or(0, |m| m.0);
            let mask = if mask == 0 { self.part_mask() } else { mask };
            match self.part_term(slot, edge, bound, mask, &item) {
                Some(t) => rest.push(t),
                None => return,
            }
        }
        if let [Term::Const(value), Term::Const(yes)] = rest.as_slice()
            && &**yes == "yes"
            && restates(&item, value)
        {
            return;
        }
        // "Grilled? No wait, fresco": the change before gives way.
        if let Some(at) = self.correcting.take()
            && let Some(entry) = self.entries.get_mut(at)
            && matches!(&entry.what, What::Change { target: t, .. } if t.item == target.item)
        {
            entry.what = What::Gone;
        }
        self.push(What::Change { target, rest }, edge, pattern.weak);
    }

    /// Whether a phrase that something is said of orders the item by that: "a Bean Burrito made grilled".
    fn opens_line(&mut self, np: &Np) -> bool {
        let Head::Name(_) = np.head else { return false };
        if np.article == Article::Definite || np.which != Which::Unsaid || np.place.is_some() || np.part {
            return false;
        }
        let items = self.chart.model.lines.as_ref().map_or(0, |l| l.items);
        let Picked::One(name) = self.pick(np, items, 0.0) else { return false };
        let member = self.ledger.open_combo().is_some_and(|c| self.ledger.slot_for(c, &name).is_some());
        let enough = np.count.is_some_and(|n| n <= i64::try_from(self.ledger.number_of(&name)).unwrap_or(0));
        member || np.article == Article::Indefinite || !self.ledger.holds(&name) || (np.count.is_some() && !enough)
    }

    fn open_line(&mut self, np: &Np, edge: &Edge, pattern: &Pattern) -> Target {
        let items = self.chart.model.lines.as_ref().map_or(0, |l| l.items);
        self.add_named(np, 0, None, items, edge, pattern, false);
        self.focus.clone().unwrap_or_default()
    }

    /// Sort bits of everything that is no item of a line.
    fn part_mask(&self) -> u64 {
        let items = self.chart.model.lines.as_ref().map_or(0, |l| l.items);
        !items
    }

    fn part_names(&self, slot: &Slot, edge: &Edge) -> Vec<Name> {
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

    /// A part of an item: among equal readings the one that the facts connect with the item.
    fn part_term(&mut self, slot: &Slot, edge: &Edge, bound: &[(u8, Term)], mask: u64, item: &Name) -> Option<Term> {
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
                    let exact_unrelated = candidates.iter().filter(|c| self.chart.mask(c.name) & mask != 0 && c.score >= 0.93).count() == 1;
                    if let Some((s, n)) = related.first().cloned() {
                        let clear = related.get(1).is_none_or(|r| r.0 < s * 0.88);
                        if (s >= 0.93 || !exact_unrelated) && (clear || related.len() == 1) {
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

    fn remove(&mut self, template: &Template, edge: &Edge, pattern: &Pattern, bound: &[(u8, Term)]) {
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
        if let (Head::Name(_), None) = (&np.head, np.place) {
            match self.pick(&np, items, 0.5) {
                Picked::One(name) => {
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
            let names = self.ledger.of_kind(self.chart.knowledge, kind);
            self.be_unsure(&np, names);
        }
        for (item, n) in groups {
            let n = if np.count.is_some() || np.plural || matches!(np.which, Which::Both | Which::All) { n } else { 1 };
            self.take_off(template, &item, n, edge, pattern.weak);
        }
    }

    fn take_off(&mut self, template: &Template, item: &Name, n: i64, edge: &Edge, weak: u8) {
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
        self.topic = Some(item.clone());
        let args = vec![Term::Str(item.clone()), Term::Int(to_i32(n.max(1)))];
        self.push(What::Atom(Atom { name: template.name.clone(), args }), edge, weak);
    }

    fn quantity(&mut self, template: &Template, edge: &Edge, pattern: &Pattern, bound: &[(u8, Term)]) {
        let items = self.chart.model.lines.as_ref().map_or(0, |l| l.items);
        let np = template.args.first().and_then(|s| self.np(edge, s));
        let n = match template.args.get(1) {
            Some(Slot::Count(_)) => np.as_ref().and_then(|n| n.count),
            Some(slot) => self.term(&slot.clone(), edge, bound, 0, false, &[]).and_then(|t| t.as_int()).map(i64::from),
            None => None,
        };
        let item = match (&np, template.args.first().cloned()) {
            (Some(np), _) => match &np.head {
                Head::Name(_) => match self.pick(np, items, 0.5) {
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
        let counted = np.as_ref().is_none_or(|p| p.count.is_some());
        if !self.ledger.holds(&item) && np.is_some() {
            // "Make it a …": what is not there yet is ordered, or takes the place of its like.
            let current =
                self.current_item(&[]).filter(|c| !counted && self.ledger.kind_of(self.chart.knowledge, c) == self.ledger.kind_of(self.chart.knowledge, &item));
            match (current, np) {
                (Some(old), Some(p)) => self.swap_member(&old, &item, &p, edge, pattern),
                (_, Some(p)) => self.new_line(item, p.count.unwrap_or(1), &p.attributes, edge, pattern.weak),
                _ => {}
            }
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

    fn replace(&mut self, template: &Template, edge: &Edge, pattern: &Pattern, bound: &[(u8, Term)]) {
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
        if new == old {
            return;
        }
        if let Some(line) = self.ledger.new_line_of(&old) {
            let count = self.ledger.count(line);
            self.ledger.rename(line, &new, count);
            self.focus = Some(self.ledger.line_target(line));
            self.topic = Some(new);
            return;
        }
        for _ in 0..copies.clamp(1, 25) {
            self.push(What::Atom(Atom { name: template.name.clone(), args: vec![Term::Str(old.clone()), Term::Str(new.clone())] }), edge, pattern.weak);
        }
        let target = self.ledger.replaced(&old, &new);
        if let Some(np) = &new_np {
            for (sort, value) in &np.attributes {
                self.attribute(*sort, value, target.clone(), edge, pattern.weak);
            }
        }
        self.topic = Some(new);
        self.focus = Some(target);
    }

    /// Like pick, but never the item that is to go.
    fn pick_other(&mut self, np: &Np, mask: u64, not: &Name) -> Picked {
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

    fn member(&mut self, template: &Template, edge: &Edge, pattern: &Pattern, bound: &[(u8, Term)]) {
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
        let Some(combo) = combo else { return };
        let Some(line) = self.ledger.combo_line(self.chart.model, self.chart.knowledge, &combo) else { return };
        let Some(np) = template.args.get(1).and_then(|s| self.np(edge, s)) else { return };
        let picked = match &np.head {
            Head::Name(_) => match self.member_pick(&np, line) {
                Some(n) => Picked::One(n),
                None => self.pick(&np, items, 0.0),
            },
            _ => Picked::Nothing,
        };
        match picked {
            Picked::One(name) => {
                if self.restates(&np, &name, edge) || self.correct(&name, &np, edge) {
                    return;
                }
                if pattern.after.is_none()
                    && let Some(old) = self.ledger.filled_by(line, &name)
                {
                    return self.swap_member(&old, &name, &np, edge, pattern);
                }
                for _ in 0..np.count.unwrap_or(1).clamp(1, 4) {
                    self.fill(line, &name, &np.attributes, edge, pattern.weak);
                }
            }
            Picked::Tie(names) => self.be_unsure(&np, names),
            Picked::Nothing => {}
        }
    }
}

impl Resolver<'_, '_> {
    /// A pick for a slot that is filled replaces what fills it.
    fn swap_member(&mut self, old: &Name, new: &Name, np: &Np, edge: &Edge, pattern: &Pattern) {
        let Some(replace) = self.chart.model.lines.as_ref().map(|l| l.config.replace.clone()) else { return };
        self.push(What::Atom(Atom { name: replace.as_str().into(), args: vec![Term::Str(old.clone()), Term::Str(new.clone())] }), edge, pattern.weak);
        let target = self.ledger.replaced(old, new);
        for (sort, value) in &np.attributes {
            self.attribute(*sort, value, target.clone(), edge, pattern.weak);
        }
        self.topic = Some(new.clone());
        self.focus = Some(target);
    }
}

/// Whether the item's name already holds the value: grilled, of a Grilled Steak Bowl.
fn restates(item: &str, value: &str) -> bool {
    item.to_lowercase().split_whitespace().any(|w| w.starts_with(value))
}

fn uses(slots: &[Slot], var: u8) -> bool {
    slots.iter().any(|s| match s {
        Slot::Var(v) | Slot::Count(v) => *v == var,
        Slot::Fun(_, inner) => uses(inner, var),
        _ => false,
    })
}

/// A count as the vocabulary's number.
pub fn to_i32(n: i64) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}
