//! From the readings to predicates: what phrases refer to, and how predicates get their arguments.

mod add;
mod change;
mod take;

use std::ops::Range;
use std::sync::Arc;

use super::chart::{Bind, Chart, Edge, NameEdge};
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
    /// The pattern it came from.
    pub pattern: usize,
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
    /// Unclear parts, each with the tokens of its head.
    pub unsure: Vec<(Range<usize>, Unsure)>,
    /// Tokens of readings that led to nothing, and whether they are meant to.
    pub barren: Vec<(Range<usize>, bool)>,
    /// How many readings were taken in by what was there.
    absorbed: usize,
    /// Where wishes were said.
    pub wishes: Vec<usize>,
    /// Where the last reading ended.
    pub read_to: usize,
    /// The same, of those that led to something.
    acted_to: usize,
    /// Lowest closeness of a name taken.
    pub name_score: f32,
    focus: Option<Target>,
    topic: Option<Name>,
    kind: Option<Name>,
    header: Option<i64>,
    wanted: bool,
    correcting: Option<usize>,
    /// Whether what was asked for in the last turn is said anew: "no wait, one …".
    again: bool,
    tie: Option<Tie>,
    last_name_end: usize,
    answered_line: Option<usize>,
    answered: Vec<Answer>,
    /// Whether what is said later may be what is being talked about; not so where each mention has its own place.
    pub looks_ahead: bool,
}

/// What a reading that leads to something changes.
#[derive(PartialEq)]
struct Traces {
    entries: Vec<(std::mem::Discriminant<What>, Range<usize>)>,
    counts: (usize, usize, bool),
    lines: (usize, usize, Vec<Name>),
    talk: (Option<Name>, Option<Name>, Option<Target>),
    pending: (Option<usize>, Option<i64>),
}

/// A name that could be several: the candidates, its attributes, its number and the phrase.
type Tie = (Vec<Name>, Vec<(u16, Name)>, Option<i64>, usize);

/// What a contextual pattern answered: its templates with the values of the action it answers.
type Answer = (Arc<Vec<Template>>, Vec<(u8, Term)>);

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
            barren: vec![],
            absorbed: 0,
            wishes: vec![],
            read_to: 0,
            acted_to: 0,
            name_score: 1.0,
            focus: None,
            topic: None,
            kind: None,
            header: None,
            wanted: false,
            correcting: None,
            again: false,
            tie: None,
            last_name_end: 0,
            answered_line: None,
            answered: vec![],
            looks_ahead: true,
        }
    }

    /// Works through a path.
    pub fn run(&mut self, edges: &[Edge], path: &[usize], after: &[Option<Vec<(u8, Term)>>]) {
        let steps: Vec<&Edge> = path.iter().filter_map(|i| edges.get(*i)).collect();
        for (i, edge) in steps.iter().enumerate() {
            let Some(pattern) = self.grammar.patterns.get(edge.pattern) else { continue };
            let bound = after.get(edge.pattern).and_then(|a| a.as_deref()).unwrap_or(&[]);
            let before = self.traces();
            if self.says_otherwise(self.acted_to, edge.start) {
                self.correcting = Some(self.entries.len() - 1);
            }
            self.step(edge, pattern, bound, steps.get(i + 1..).unwrap_or(&[]));
            self.read_to = edge.end;
            if pattern.does != Some(Does::Nothing) && pattern.weak < 2 {
                self.acted_to = edge.end;
            }
            let leads = matches!(pattern.does, None | Some(Does::Stop | Does::Except | Does::Copy));
            if leads && self.traces() == before {
                self.barren.push((edge.start..edge.end, pattern.means.is_empty()));
            }
        }
        self.flush_tie();
    }

    fn traces(&self) -> Traces {
        Traces {
            entries: self.entries.iter().map(|e| (std::mem::discriminant(&e.what), e.span.clone())).collect(),
            counts: (self.unsure.len(), self.answered.len() + self.absorbed, self.tie.is_some()),
            lines: self.ledger.size(),
            talk: (self.topic.clone(), self.kind.clone(), self.focus.clone()),
            pending: (self.correcting, self.header),
        }
    }

    fn step(&mut self, edge: &Edge, pattern: &Pattern, bound: &[(u8, Term)], rest: &[&Edge]) {
        if pattern.say.contains("<want>") {
            self.wishes.push(edge.start);
        }
        match pattern.does {
            Some(Does::Want) => {
                self.wanted = true;
                if pattern.means.is_empty() {
                    return;
                }
            }
            Some(Does::Correct) => {
                let unread = self.entries.last().is_none_or(|e| self.content_between(e.span.end, edge.start));
                self.again |= self.entries.is_empty();
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
            Some(Does::Except) => return self.remove_others(edge, pattern),
            Some(Does::Stop | Does::Copy) | None => {}
        }
        let means = match &pattern.means_new {
            Some(new) if self.is_about_new(pattern, edge, bound, rest) => new.clone(),
            _ => pattern.means.clone(),
        };
        // "Sure, I'll try one" answers once.
        if pattern.after.is_some() && edge.binds.is_empty() {
            let answer = (means.clone(), bound.to_vec());
            if self.answered.contains(&answer) {
                self.absorbed += 1;
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

    /// Whether between what was read and what follows there is nothing but a "no": then the one takes the place of the other.
    fn says_otherwise(&self, from: usize, to: usize) -> bool {
        let corrects = |i: &usize| self.chart.tokens.get(*i).is_some_and(|t| self.chart.model.phrase.has("corrects", t.id));
        let said = self.entries.last().is_some_and(|e| e.what != What::Gone && e.weak == 0);
        said && (from..to).any(|i| corrects(&i)) && (from..to).all(|i| corrects(&i) || self.chart.skip_cost(i) <= 0.0)
    }

    /// Whether a reading denies something: a "no" or "not" stands in it before the phrase.
    fn denies(&self, edge: &Edge, np: &Np) -> bool {
        (edge.start..np.start).any(|i| self.chart.tokens.get(i).is_some_and(|t| self.chart.model.phrase.has("negation", t.id)))
    }

    /// Whether a word of a kind stands right before a reading.
    fn follows(&self, kind: &str, edge: &Edge) -> bool {
        edge.start.checked_sub(1).and_then(|i| self.chart.tokens.get(i)).is_some_and(|t| self.chart.model.phrase.has(kind, t.id))
    }

    /// Whether words that matter stand between two tokens.
    fn content_between(&self, from: usize, to: usize) -> bool {
        (from..to).any(|i| self.chart.skip_cost(i) > 0.3)
    }

    fn push(&mut self, what: What, edge: &Edge, weak: u8) {
        self.entries.push(Entry { what, span: edge.start..edge.end, weak, pattern: edge.pattern });
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
        if let Some((var, names)) = self.several(template, edge, &masks) {
            for name in names {
                let others = edge.binds.iter().filter(|b| b.0 != var).cloned();
                let single = Edge { binds: others.chain([(var, Bind::Term(Term::Str(name)))]).collect(), ..edge.clone() };
                self.emit_one(template, &single, pattern, bound, rest);
            }
            return;
        }
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
        let atom = Atom { name: template.name.clone(), args };
        // "2.99, sorry, 2.09": what is said again in other words takes the place of the first.
        if let Some(e) = self.correcting.and_then(|at| self.entries.get_mut(at))
            && let What::Atom(old) = &e.what
            && old.name == atom.name
            && old.args.len() == atom.args.len()
            && atom.args.len() > 1
            && old.args.iter().zip(&atom.args).filter(|(a, b)| a != b).count() == 1
        {
            e.what = What::Atom(atom);
            return;
        }
        self.push(What::Atom(atom), edge, pattern.weak);
    }

    /// "Both are back": the variable that stands for several of the things that were just listed, and their names.
    fn several(&self, template: &Template, edge: &Edge, masks: &[(u64, bool)]) -> Option<(u8, Vec<Name>)> {
        template.args.iter().zip(masks).find_map(|(slot, (mask, _))| {
            let Slot::Var(var) = slot else { return None };
            let Some(Bind::Np(i)) = Self::bind(edge, *var) else { return None };
            let np = self.chart.phrases.get(*i).filter(|np| matches!(np.head, Head::Pronoun(_) | Head::Left))?;
            let names = self.told_of(np, *mask);
            (names.len() > 1).then_some((*var, names))
        })
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

    fn bind(edge: &Edge, var: u8) -> Option<&Bind> {
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
            Head::Pronoun(_) | Head::Left => match self.told_of(np, mask).first() {
                Some(name) => Some(Term::Str(name.clone())),
                None => self.hole(mask, open, &[], edge),
            },
        }
    }

    /// Which of the things that were just listed are meant: "the first one", "the last one", "both".
    fn told_of(&self, np: &Np, mask: u64) -> Vec<Name> {
        let answer = self.context.last_actions.iter().rfind(|a| a.args.len() > 2);
        let listed = self.context.last_actions.iter().filter(|a| answer.is_some_and(|l| l.name == a.name && l.args.get(..2) == a.args.get(..2)));
        let names: Vec<Name> = listed
            .filter_map(|a| match a.args.last() {
                Some(Term::Str(n)) if self.chart.knowledge.mask(n) & mask != 0 => Some(n.clone()),
                _ => None,
            })
            .collect();
        match np.place {
            _ if names.len() < 2 => vec![],
            Some(place) => {
                let steps = usize::try_from(place.unsigned_abs()).ok().and_then(|n| n.checked_sub(1));
                let mut from_end = names.iter().rev();
                steps.and_then(|n| if place < 0 { from_end.nth(n) } else { names.get(n) }).cloned().into_iter().collect()
            }
            None if np.which == Which::Both && names.len() == 2 => names,
            None => vec![],
        }
    }

    fn be_unsure(&mut self, np: &Np, candidates: Vec<Name>) {
        let said = self.chart.tokens.get(np.start..np.end).into_iter().flatten().map(|t| t.text.as_str()).collect::<Vec<_>>().join(" ");
        self.unsure.push((self.head_of(np), Unsure { said, candidates, readings: vec![] }));
    }

    /// The tokens of a phrase that name something, without article, number and attributes.
    fn head_of(&self, np: &Np) -> Range<usize> {
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
    fn hole(&mut self, mask: u64, open: bool, rest: &[&Edge], edge: &Edge) -> Option<Term> {
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
        super::title_case(self.chart.tokens.get(from..to).unwrap_or(&[]))
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
        // "The cheese one" is one of what is there, or was just spoken of, or of that kind; so is "the cheese" where nothing is called that.
        let one = np.end > edge.end;
        if (np.article == Article::Definite || one && np.article == Article::None) && (one || scored.iter().all(|s| s.1 < 0.93)) {
            let spoken = |n: &Name| self.ledger.holds(n) || self.spoken_of().any(|s| s == n);
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
        if in_order >= 0.5
            && np.article != Article::Indefinite
            && !self.ledger.holds(&name)
            && let Some(held) = self.held_by_part(edge, mask)
        {
            return Picked::One(held);
        }
        let ties: Vec<Name> = scored.iter().filter(|s| s.0 >= best * crate::link::Thresholds::default().tie).map(|s| s.2.clone()).collect();
        let held = ties.iter().filter(|n| self.ledger.holds(n)).count();
        if in_order >= 0.5
            && held == 1
            && let Some(n) = ties.iter().find(|n| self.ledger.holds(n))
        {
            return Picked::One(n.clone());
        }
        let whole = raw >= 0.93 && scored.get(1).is_none_or(|s| s.1 < 0.93);
        if ties.len() > 1 && !whole {
            return Picked::Tie(ties);
        }
        self.name_score = self.name_score.min(0.5 + raw / 2.0);
        Picked::One(name)
    }

    /// The names that were just spoken of, the last first.
    fn spoken_of(&self) -> impl Iterator<Item = &Name> {
        self.context.last_actions.iter().rev().flat_map(|a| &a.args).filter_map(|t| if let Term::Str(s) = t { Some(s) } else { None })
    }

    /// The one thing there whose name holds all the words that were said: "the nachos", of Loaded Beef Nachos.
    fn held_by_part(&self, said: &NameEdge, mask: u64) -> Option<Name> {
        let words = self.chart.tokens.get(said.start..said.end)?;
        let in_name = |name: &Name| {
            let name = name.to_lowercase();
            words.iter().all(|t| name.split_whitespace().any(|w| w == t.text || t.text.strip_suffix('s') == Some(w)))
        };
        let mut held = self.ledger.there().into_iter().filter(|n| self.chart.knowledge.mask(n) & mask != 0 && in_name(n));
        held.next().filter(|_| held.next().is_none())
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
