//! What is said once more, otherwise: corrections, names that are completed, numbers that are put right.

use super::{Entry, Picked, Resolver, What};
use crate::term::{Atom, Name, Term};
use crate::understand::embedded::chart::{Bind, Edge};
use crate::understand::embedded::lines::Target;
use crate::understand::embedded::model::Phrasing;
use crate::understand::embedded::phrase::{Article, Head, Np, Which};

impl Resolver<'_, '_> {
    /// A correction by the part alone: "onions, no wait, beans".
    pub(super) fn correct_part(&mut self, np: &Np) -> bool {
        let Some(at) = self.correcting.take() else { return false };
        let mask = self.part_mask();
        let Picked::One(part) = self.pick(np, mask, 0.0) else { return false };
        let Some(Entry { what: What::Change { rest, .. }, .. }) = self.entries.get_mut(at) else { return false };
        match rest.iter_mut().rev().find(|t| matches!(t, Term::Str(_))) {
            Some(slot) => {
                *slot = Term::Str(part);
                true
            }
            None => false,
        }
    }

    /// "We're out of black beans, I mean rice": the name takes the place of the one in what was said last. Of what was said in the turn
    /// before, what the pattern means takes it back, and it is said of this one: "sorry, I meant the veggie one".
    pub(super) fn renames(&mut self, edge: &Edge, pattern: &Phrasing, bound: &[(u8, Term)]) {
        let x = pattern.vars.iter().position(|v| v == "x").and_then(|v| u8::try_from(v).ok());
        let of_x = x.and_then(|x| edge.binds.iter().find(|b| b.0 == x)).and_then(|b| if let Bind::Np(i) = b.1 { self.chart.phrases.get(i) } else { None });
        let Some(np) = of_x.or_else(|| self.phrases_of(edge).next()).cloned() else { return };
        let Some(at) = self.entries.iter().rposition(|e| e.weak < 2 && e.what != What::Gone) else {
            let said = self.said_a_turn_ago();
            if said.is_empty() {
                return;
            }
            for template in pattern.means.iter() {
                self.emit(template, edge, pattern, bound, &[]);
            }
            return self.tell_of(&said, &[np], edge, 0);
        };
        let Some(Entry { what: What::Atom(atom), span, .. }) = self.entries.get(at) else { return };
        let Some(Term::Str(old)) = atom.args.iter().rfind(|t| matches!(t, Term::Str(_))) else { return };
        let (mask, end) = (self.chart.knowledge.mask(old), span.end);
        let Picked::One(name) = self.pick(&np, mask, 0.0) else { return };
        if !self.content_between(end, edge.start) {
            self.correcting = Some(at);
            self.correct(&name, &np, edge);
        }
    }

    /// What was said last in the turn before of something, with what is like it.
    fn said_a_turn_ago(&self) -> Vec<Atom> {
        let form = |a: &Atom| (a.name.clone(), a.args.iter().map(|t| if let Term::Const(c) = t { Some(c.clone()) } else { None }).collect::<Vec<_>>());
        let said = &self.context.said_before;
        let last = said.iter().rfind(|a| is_named(a)).map(form);
        said.iter().filter(|a| is_named(a) && Some(form(a)) == last).cloned().collect()
    }

    /// "Soft Taco to 2.09, and the same for the Crunchy Taco": all that was said last of one is said of each of these. What was said in the
    /// turn before counts where nothing else was said yet: "and the steak quesadilla too", "neither are the pintos".
    pub(super) fn said_of_more(&mut self, edge: &Edge) {
        let nps: Vec<Np> = self.phrases_of(edge).cloned().collect();
        let Some(Entry { span, weak, .. }) = self.entries.iter().rev().find(|e| e.weak < 2 && e.what != What::Gone).cloned() else {
            return self.tell_of(&self.said_a_turn_ago(), &nps, edge, 0);
        };
        let here = self.entries.iter().filter(|e| e.span == span).filter_map(|e| if let What::Atom(a) = &e.what { Some(a) } else { None });
        let said: Vec<Atom> = here.filter(|a| is_named(a)).cloned().collect();
        self.tell_of(&said, &nps, edge, weak);
    }

    /// Says what was said of some names of others.
    fn tell_of(&mut self, said: &[Atom], nps: &[Np], edge: &Edge, weak: u8) {
        for atom in said {
            let name = |(i, t): (usize, &Term)| if let Term::Str(n) = t { Some((i, self.chart.knowledge.mask(n))) } else { None };
            let places: Vec<(usize, u64)> = atom.args.iter().enumerate().filter_map(name).collect();
            let mask = places.iter().fold(0, |all, n| all | n.1);
            let mut new: Vec<(usize, Name)> = vec![];
            for np in nps {
                // "The steak one" is of the kind of what was spoken of.
                let sorts = if self.is_one_of_kind(np) { mask } else { u64::MAX };
                let old = || places.iter().filter_map(|p| if let Some(Term::Str(n)) = atom.args.get(p.0) { Some(n) } else { None });
                let name = match self.pick(np, sorts, 0.0) {
                    Picked::One(name) => name,
                    // "The soft one", after the crunchy taco: the soft taco, not that with steak.
                    Picked::Tie(names) => match names.iter().find(|n| old().any(|o| are_twins(n, o))) {
                        Some(twin) => twin.clone(),
                        None => continue,
                    },
                    Picked::Nothing => continue,
                };
                // Of several names that one gives way which is most of the kind of the new one: the narrowest sort holds both.
                let own = self.chart.knowledge.mask(&name);
                let width = |both: u64| self.chart.model.masks.values().filter(|s| *s & both == both).map(|s| s.count_ones()).min().unwrap_or(u32::MAX);
                new.extend(places.iter().min_by_key(|p| (width(own | p.1), p.0)).map(|p| (p.0, name)));
            }
            // "The same with onions on the nachos": both give way at once.
            let apart = new.len() > 1 && new.iter().enumerate().all(|(i, n)| new.iter().skip(i + 1).all(|o| o.0 != n.0));
            let together: Vec<&[(usize, Name)]> = if apart { vec![&new] } else { new.chunks(1).collect() };
            for names in together {
                let given = |i: usize| names.iter().find(|n| n.0 == i).map(|n| Term::Str(n.1.clone()));
                let args = atom.args.iter().enumerate().map(|(i, t)| given(i).unwrap_or_else(|| t.clone()));
                self.push(What::Atom(Atom { name: atom.name.clone(), args: args.collect() }), edge, weak);
            }
        }
    }

    /// Whether a phrase says of a word that is a name, or part of one, only which of its kind is meant: "the steak one".
    fn is_one_of_kind(&self, np: &Np) -> bool {
        matches!(np.head, Head::Name(e) if self.chart.names.get(e).is_some_and(|e| np.end > e.end))
    }

    /// The last item of the last turn, where words correct what was heard in it.
    pub(super) fn corrected(&self, edge: &Edge) -> Option<&Name> {
        let joint = self.follows("joint", edge);
        let spoken_of = |a: &'_ &Atom| matches!(a.args.last(), Some(Term::Str(s)) if self.ledger.holds(s) && self.ledger.new_line_of(s).is_none());
        let last = self.context.last_actions.iter().rfind(spoken_of).filter(|_| self.again && !(joint && self.entries.is_empty()))?;
        if let Some(Term::Str(item)) = last.args.last() { Some(item) } else { None }
    }

    /// Whether an item of the last turn is asked for anew, in its place: "no wait, one soft taco".
    pub(super) fn says_again(&self, name: &Name, edge: &Edge) -> bool {
        self.corrected(edge).is_some_and(|last| last == name)
    }

    /// What an item takes the place of that was misheard or misspoken in the last turn: "sorry, I meant a Diet Pepsi".
    pub(super) fn meant_instead(&self, name: &Name, edge: &Edge) -> Option<Name> {
        let kind = |n: &Name| self.ledger.kind_of(self.chart.knowledge, n);
        let alike = |last: &&Name| kind(last).is_some() && kind(last) == kind(name);
        let bare = self.entries.is_empty() && !self.wanted && self.wishes.is_empty() && !self.ledger.holds(name);
        let last = self.corrected(edge).filter(|_| bare)?;
        // "I said crunchy tacos": of what was said before, the only thing of the kind.
        let held = || self.ledger.there().into_iter().filter(|n| kind(n).is_some() && kind(n) == kind(name));
        let only = || held().next().filter(|_| self.insists && held().count() == 1);
        Some(last).filter(alike).cloned().or_else(only)
    }

    /// "A steak bowl, actually a chicken bowl": a word that revises, before another of the kind that was said last.
    pub(super) fn revise(&mut self, np: &Np, edge: &Edge) {
        let Some(at) = self.entries.iter().rposition(|e| e.weak < 2) else { return };
        let Some(Entry { what: What::Line(line), span, .. }) = self.entries.get(at) else { return };
        let Head::Name(e) = np.head else { return };
        let between = self.chart.tokens.get(span.end..edge.start.max(np.start)).unwrap_or(&[]);
        let has = |kind: &str| between.iter().any(|t| self.chart.model.phrase.has(kind, t.id));
        let kind = self.ledger.kind_of(self.chart.knowledge, &self.ledger.line_item(*line));
        let named = self.chart.names.get(e).and_then(|e| self.chart.name(e.candidates.first()?.name));
        let alike = kind.is_some() && named.is_some_and(|n| self.ledger.kind_of(self.chart.knowledge, &n) == kind);
        // "The chicken bowl. No, wait a moment. The veggie bowl": a "no" that stands by itself.
        let marks = |i: usize| self.chart.tokens.get(i).is_none_or(|t| t.punct().is_some());
        let refuses = |i: usize| {
            let no = self.chart.is_word("corrects", i) && self.chart.is_word("negation", i) && !self.entries.iter().any(|e| e.span.contains(&i));
            no && marks(i.wrapping_sub(1)) && (marks(i + 1) || self.chart.is_word("corrects", i + 1))
        };
        if self.correcting.is_none() && alike && (has("revises") || (span.end..edge.start).any(refuses)) && !has("list") {
            self.correcting = Some(at);
        }
    }

    /// "Pepsi. Diet.": the word that makes another name of the one said right before. True if the name became that.
    pub(super) fn completes(&mut self, name: &Name, np: &Np, edge: &Edge) -> bool {
        let bare = np.article == Article::None && np.count.is_none() && np.which == Which::Unsaid && np.end == np.start + 1;
        let Some(Entry { what: What::Line(line), span, .. }) = self.entries.last().filter(|_| bare) else { return false };
        let line = *line;
        let close = span.end < edge.start && (span.end..edge.start).all(|i| self.chart.tokens.get(i).is_some_and(|t| t.punct().is_some()));
        let before = self.ledger.line_item(line);
        let word = self.chart.tokens.get(np.start).map(|t| t.text.clone()).unwrap_or_default();
        let has = |w: &str| before.split_whitespace().any(|x| x.eq_ignore_ascii_case(w));
        let grows = name.split_whitespace().all(|w| has(w) || w.eq_ignore_ascii_case(&word)) && before.split_whitespace().all(|w| name.contains(w));
        if !close || !grows || *name == before {
            return false;
        }
        let count = self.ledger.count(line);
        self.ledger.rename(line, name, count);
        (self.topic, self.last_name_end, self.focus) = (Some(name.clone()), edge.end, Some(self.ledger.line_target(line)));
        self.absorbed += 1;
        true
    }

    /// Of what the words may name the one of the kind of a line that is corrected: "the steak bowl, no, the chicken one".
    pub(super) fn same_kind_instead(&self, np: &Np, items: u64) -> Option<Name> {
        let What::Line(line) = self.entries.get(self.correcting?)?.what else { return None };
        let kind = self.ledger.kind_of(self.chart.knowledge, &self.ledger.line_item(line))?;
        let Head::Name(e) = np.head else { return None };
        let candidates = self.chart.names.get(e)?.candidates.iter().filter(|c| self.chart.mask(c.name) & items != 0);
        let mut of_kind = candidates.filter_map(|c| self.chart.name(c.name)).filter(|n| self.ledger.kind_of(self.chart.knowledge, n).as_ref() == Some(&kind));
        let only = of_kind.next()?;
        of_kind.next().is_none().then_some(only)
    }

    /// "cheesy, I mean": a bare partial name of what was just named adds nothing.
    pub(super) fn restates(&mut self, np: &Np, name: &Name, edge: &Edge) -> bool {
        let Head::Name(e) = np.head else { return false };
        let partial = self.chart.names.get(e).is_some_and(|x| np.end > x.end || x.candidates.first().is_some_and(|c| c.score < 0.9));
        let bare = np.count.is_none() && np.article != Article::Indefinite && np.which == Which::Unsaid && np.attributes.is_empty();
        partial && bare && self.last_name_end > 0 && edge.start <= self.last_name_end + 2 && self.topic.as_ref() == Some(name)
    }

    /// Applies a correction to the entry before it. True if the new item was absorbed.
    pub(super) fn correct(&mut self, name: &Name, np: &Np, edge: &Edge) -> bool {
        let Some(at) = self.correcting.take() else { return false };
        let Some(mut entry) = self.entries.get(at).cloned() else { return false };
        // A new line that was changed at once: the line is what is corrected, and what is said anew of it counts.
        if let What::Change { target, .. } = &entry.what
            && let Some(line) = target.line
            && self.entries.iter().any(|e| e.what == What::Line(line))
        {
            if !np.attributes.is_empty() {
                for e in &mut self.entries {
                    if matches!(&e.what, What::Change { target, .. } if target.line == Some(line)) {
                        e.what = What::Gone;
                    }
                }
            }
            entry.what = What::Line(line);
        }
        match entry.what {
            What::Line(line) => {
                let count = np.count.unwrap_or_else(|| self.ledger.count(line));
                self.ledger.rename(line, name, count);
                let target = self.ledger.line_target(line);
                for (sort, value) in &np.attributes {
                    self.attribute(*sort, value, target.clone(), edge, entry.weak);
                }
                self.focus = Some(target);
                self.topic = Some(name.clone());
                self.last_name_end = edge.end;
            }
            What::Atom(mut atom) => {
                // "Swap the soft for a Gordita, no, the crunchy": of what is there the other goes.
                let goes = np.article == Article::Definite && self.ledger.holds(name);
                let mut names = atom.args.iter_mut().filter(|a| matches!(a, Term::Str(_)));
                let Some(slot) = (if goes { names.next() } else { names.next_back() }) else { return false };
                *slot = Term::Str(name.clone());
                self.topic = Some(name.clone());
                if let Some(e) = self.entries.get_mut(at) {
                    e.what = What::Atom(atom);
                }
            }
            _ => return false,
        }
        if let Some(e) = self.entries.get_mut(at) {
            e.span.end = e.span.end.max(edge.end);
        }
        true
    }

    /// The line of this turn that is said anew, where a word of doubt stands between, "four bean burritos, hold on, five bean burritos",
    /// where it was only named before, "milk, three milks", or where it is only named again: "a water, plain water".
    pub(super) fn said_anew(&self, name: &Name, np: &Np, edge: &Edge) -> Option<usize> {
        let line = self.ledger.new_line_of(name).filter(|_| np.which == Which::Unsaid && !self.follows("list", edge))?;
        let at = self.entries.iter().rposition(|e| e.what == What::Line(line))?;
        let before = self.entries.get(at)?;
        let doubts = |i: usize| ["corrects", "revises", "hesitates"].iter().any(|kind| self.chart.is_word(kind, i));
        let doubted = (before.span.end..edge.start).any(|i| doubts(i) && !self.entries.iter().any(|e| e.span.contains(&i)));
        let counts = |i: usize| self.chart.is_word("indefinite", i) || self.chart.model.numbers.whole(self.chart.tokens, i).is_some();
        let bare = !self.looks_ahead || self.grammar.patterns.get(before.pattern).is_some_and(|p| p.bare);
        let (last, counted) = (at + 1 == self.entries.len(), before.span.clone().any(counts));
        let told = np.count.is_some() || np.article == Article::Indefinite;
        let comma = matches!(self.chart.tokens.get(before.span.end..edge.start), Some([t]) if t.punct() == Some(','));
        let named = bare && !counted && told;
        let again = counted && !told && !np.plural && comma;
        (doubted || last && (named || again)).then_some(line)
    }

    /// "Only one of them with onions", where all have them: they come off the others.
    pub(super) fn only_of_some(&self, edge: &Edge, of: &Target, change: &[Term]) -> Option<(Target, Vec<Term>)> {
        let only = |i: usize| self.chart.is_word("only", i);
        let [Term::Const(op), value] = change else { return None };
        let told = Atom { name: op.clone(), args: vec![value.clone()] };
        let others = self.ledger.others(of);
        let so = self.ledger.told_apart(&|changes| changes.contains(&told));
        let all_so = || of.ids.iter().chain(&others.ids).all(|id| so.iter().any(|s| s.0 == *id));
        if of.ids.is_empty() || others.ids.is_empty() || !(self.read_to..edge.end).any(only) || !all_so() {
            return None;
        }
        let undone = &self.chart.model.lines.as_ref()?.config.undone;
        let back = |t: &Term| if let Term::Const(c) = t { undone.get(&**c).map(|to| Term::Const(to.as_str().into())) } else { None };
        let change = back(change.first()?).map(|op| vec![op, value.clone()]).or_else(|| back(value).map(|v| vec![Term::Const(op.clone()), v]))?;
        Some((others, change))
    }
}

/// Whether an act is about something that has a name.
fn is_named(a: &Atom) -> bool {
    a.args.iter().any(|t| matches!(t, Term::Str(_)))
}

/// Whether two names differ in nothing but one word before the last: Soft Taco, Crunchy Taco.
fn are_twins(a: &str, b: &str) -> bool {
    let (a, b): (Vec<&str>, Vec<&str>) = (a.split_whitespace().collect(), b.split_whitespace().collect());
    a.len() == b.len() && a.last() == b.last() && a.iter().zip(&b).filter(|(x, y)| x != y).count() == 1
}
