//! From the readings to predicates: what phrases refer to, and how predicates get their arguments.

mod add;
mod change;
mod compose;
mod correct;
mod meant;
mod take;

use std::ops::Range;
use std::sync::Arc;

use super::chart::{Bind, Bound, Chart, Edge};
use super::data::Does;
use super::lines::{Ledger, Target};
use super::model::{Phrasing, RoleGrammar};
use super::phrase::{Head, Np};
use super::template::{Slot, Template};
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
    /// Whether the speaker says what was said or meant before.
    insists: bool,
    tie: Option<Tie>,
    last_name_end: usize,
    answered_line: Option<usize>,
    answered: Vec<Answer>,
    /// The composed line that repeats one before it, while nothing else was said of it.
    copied: Option<usize>,
    /// The composed line of before whose places are being told.
    filled: Option<usize>,
    /// Of how many of the composed lines what comes next is said, where that was told: "both with milk", "three with milk and two …".
    share: Option<i64>,
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
            insists: false,
            tie: None,
            last_name_end: 0,
            answered_line: None,
            answered: vec![],
            copied: None,
            filled: None,
            share: None,
            looks_ahead: true,
        }
    }

    /// Works through a path.
    pub fn run(&mut self, edges: &[Edge], path: &[usize], after: &Bound) {
        let steps: Vec<&Edge> = path.iter().filter_map(|i| edges.get(*i)).collect();
        for (i, edge) in steps.iter().enumerate() {
            let Some(pattern) = self.grammar.patterns.get(edge.pattern) else { continue };
            let bound = after.get(&edge.pattern).map_or(&[][..], |a| a);
            let before = self.traces();
            // "No tomatoes, wait, no lettuce": the word that corrects may belong to the reading.
            let own = usize::from(self.chart.is_word("corrects", edge.start) && !self.chart.is_word("negation", edge.start));
            if let Some(at) = self.says_otherwise(self.acted_to, edge.start + own) {
                self.correcting = Some(at);
            }
            self.step(edge, pattern, bound, steps.get(i + 1..).unwrap_or(&[]));
            self.read_to = edge.end;
            if pattern.does != Some(Does::Nothing) && pattern.weak < 2 {
                self.acted_to = edge.end;
            }
            let leads = matches!(pattern.does, None | Some(Does::Stop | Does::Except | Does::Instead | Does::Likewise | Does::Copy));
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

    fn step(&mut self, edge: &Edge, pattern: &Phrasing, bound: &[(u8, Term)], rest: &[&Edge]) {
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
                self.insists |= (edge.start..edge.end).any(|i| self.chart.is_word("insists", i));
                // A "no" before it says nothing by itself.
                let said = self.entries.iter().rposition(|e| e.weak == 0).or(self.entries.len().checked_sub(1));
                self.correcting = said.filter(|_| !unread);
                return;
            }
            Some(Does::Focus) => {
                if let Some(np) = self.phrases_of(edge).next().cloned() {
                    self.focus = Some(self.target(&np, edge, &[]));
                    self.note_kind(&np);
                }
                return;
            }
            Some(Does::Nothing) => return,
            Some(Does::Except) => return self.remove_others(edge, pattern),
            Some(Does::Instead) => return self.renames(edge, pattern, bound),
            Some(Does::Likewise) => return self.said_of_more(edge),
            Some(Does::Stop | Does::Copy) | None => {}
        }
        let means = match &pattern.means_new {
            Some(new) if self.is_about_new(pattern, edge, bound, rest) => new.clone(),
            _ => pattern.means.clone(),
        };
        // "Sour cream is here, and guac": what goes on within the words goes on with what they said, not with the turn before.
        let goes_on =
            pattern.after.is_some() && (self.chart.is_word("list", edge.start) || self.follows("list", edge)) && self.phrases_of(edge).next().is_some();
        let one = |t: &Template| t.args.len() == 1;
        if goes_on
            && let Some(Entry { what: What::Atom(said), span, .. }) = self.entries.last().filter(|e| e.weak < 2)
            && said.args.len() == 1
            && means.iter().all(|t| one(t) && t.name != said.name)
            && !self.content_between(span.end, edge.start)
        {
            return self.said_of_more(edge);
        }
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
        let softened = Phrasing { weak: pattern.weak.max(1), ..pattern.clone() };
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

    /// What was read last, if between it and what follows there is nothing but a "no": then the one takes the place of the other.
    fn says_otherwise(&self, from: usize, to: usize) -> Option<usize> {
        let at = self.entries.iter().rposition(|e| e.weak < 2).filter(|at| self.entries.get(*at).is_some_and(|e| e.what != What::Gone && e.weak == 0))?;
        let nothing = |i: usize| self.chart.is_word("corrects", i) || self.chart.is_word("list", i) || self.chart.skip_cost(i) <= 0.0;
        ((from..to).any(|i| self.chart.is_word("corrects", i)) && (from..to).all(nothing)).then_some(at)
    }

    /// Whether a reading denies something: a "no" or "not" stands in it before the phrase.
    fn denies(&self, edge: &Edge, np: &Np) -> bool {
        (edge.start..np.start).any(|i| self.chart.is_word("negation", i))
    }

    /// Whether a word of a kind stands right before a reading.
    fn follows(&self, kind: &str, edge: &Edge) -> bool {
        edge.start.checked_sub(1).is_some_and(|i| self.chart.is_word(kind, i))
    }

    /// Whether words that matter stand between two tokens.
    fn content_between(&self, from: usize, to: usize) -> bool {
        (from..to).any(|i| self.chart.skip_cost(i) > 0.3)
    }

    fn push(&mut self, what: What, edge: &Edge, weak: u8) {
        self.entries.push(Entry { what, span: edge.start..edge.end, weak, pattern: edge.pattern });
    }

    /// Emits one template, once for each member of the list that it holds.
    fn emit(&mut self, template: &Template, edge: &Edge, pattern: &Phrasing, bound: &[(u8, Term)], rest: &[&Edge]) {
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

    fn emit_one(&mut self, template: &Template, edge: &Edge, pattern: &Phrasing, bound: &[(u8, Term)], rest: &[&Edge]) {
        let lines = self.chart.model.lines.as_ref();
        let is = |name: &str| &*template.name == name;
        if let Some(l) = lines {
            if is(&l.config.add) {
                return self.add_line(template, edge, pattern, bound, rest);
            }
            // "All large" is said of no line of its own.
            if is(&l.config.change) && !matches!(template.args.first(), Some(Slot::Term(_))) {
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
            && !atom.args.is_empty()
            && !self.chart.tokens.get(edge.end).is_some_and(|t| self.chart.model.phrase.has("besides", t.id))
            && old.args.iter().zip(&atom.args).filter(|(a, b)| a != b).count() == 1
        {
            e.what = What::Atom(atom);
            return;
        }
        self.push(What::Atom(atom), edge, pattern.weak);
    }

    /// The name phrases that a reading binds.
    fn phrases_of<'e>(&self, edge: &'e Edge) -> impl Iterator<Item = &'c Np> + use<'e, 'c, 'a> {
        let chart = self.chart;
        edge.binds.iter().filter_map(|(_, b)| if let Bind::Np(i) = b { chart.phrases.get(*i) } else { None })
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
