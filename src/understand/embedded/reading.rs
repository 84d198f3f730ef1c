//! What one role's grammar makes of an utterance: the best way through the chart, what it says, and what it leaves unread.

use std::ops::Range;
use std::sync::Arc;

use super::chart::{Chart, Edge, NameEdge};
use super::data::{Does, Lines};
use super::lines::Ledger;
use super::model::{Phrasing, RoleGrammar};
use super::resolve::{Entry, Resolver, What, to_i32};
use super::template::Template;
use super::text::{Kind, Token};
use super::{Embedded, IRRELEVANT};
use crate::term::{Atom, Name, Term};
use crate::understand::{Context, Unsure};

impl Embedded {
    /// Reads the words with a grammar; `more` are words that stand for names which neither facts nor conversation hold.
    pub(super) fn read(&self, tokens: &[Token], context: &Context, grammar: &RoleGrammar, more: &[(Vec<String>, Name)]) -> Reading {
        let mut extra = self.extra(context);
        extra.extend(more.iter().cloned());
        self.read_at_once(&mut self.chart(tokens, &extra, context, grammar), context, grammar)
    }

    /// Reads the words of a chart, and what is told at once with something new.
    pub(super) fn read_at_once(&self, chart: &mut Chart<'_>, context: &Context, grammar: &RoleGrammar) -> Reading {
        let reading = self.read_chart(chart, context, grammar, None);
        let Some((told, from)) = self.told_at_once(context, &reading) else { return reading };
        let before = reading.path.iter().filter(|p| p.start < from).cloned().collect();
        // The new name is no answer to what is asked about it: the chart does not know it.
        let again = self.read_chart(&mut self.chart(chart.tokens, chart.extra, &told, grammar), &told, grammar, Some((before, from)));
        let better = again.uncovered.len() < reading.uncovered.len() || again.out.len() > reading.out.len() && again.uncovered.len() == reading.uncovered.len();
        if better { again } else { reading }
    }

    /// The context in which what is asked about something new is asked already: who speaks of it may tell all at once. With it comes
    /// where the answers begin.
    fn told_at_once(&self, context: &Context, reading: &Reading) -> Option<(Context, usize)> {
        let mut asked = vec![];
        let mut from = 0;
        for (atom, end) in reading.out.iter().map(|o| (&o.0, o.1.end)).chain(context.last_actions.iter().map(|a| (a, 0))) {
            for (said, opens) in &self.model.opens {
                let mut binds = vec![];
                let new = |b: &(u8, Term)| matches!(&b.1, Term::Str(n) if self.knowledge.names.find(n).is_none());
                if said.matches(atom, &mut binds) && binds.iter().any(new) {
                    asked.extend(opens.iter().filter_map(|t| t.filled(&binds)));
                    from = from.max(end);
                }
            }
        }
        asked.retain(|a| !context.last_actions.contains(a));
        // What was asked in truth comes last and is answered first.
        let last_actions = asked.iter().chain(&context.last_actions).cloned().collect();
        (!asked.is_empty()).then(|| (Context { last_actions, ..context.clone() }, from))
    }

    /// Reads the words once; `told` are stretches that were read before and stand, and where they end. What comes after them answers, so
    /// that nothing is guessed over gaps.
    fn read_chart(&self, chart: &mut Chart<'_>, context: &Context, grammar: &RoleGrammar, told: Option<(Vec<Range<usize>>, usize)>) -> Reading {
        let tokens = chart.tokens;
        let (mut edges, after) = chart.edges(grammar, context);
        if let Some((stands, from)) = told {
            let answers = |e: &Edge| grammar.patterns.get(e.pattern).is_some_and(|p| !p.loose || p.after.is_some());
            edges.retain(|e| if e.start < from { stands.contains(&(e.start..e.end)) } else { answers(e) });
        }
        let (path, score) = chart.best(grammar, &edges);
        let chart = &*chart;
        let go = |path: Vec<usize>, score: f32| {
            let mut resolver = Resolver::new(chart, grammar, context);
            resolver.run(&edges, &path, &after);
            let covered = covered(tokens.len(), &edges, &path, grammar);
            let uncovered = (0..tokens.len()).filter(|i| !covered.get(*i).copied().unwrap_or(false) && chart.skip_cost(*i) > 0.3).collect();
            Way { path, score, resolver, covered, uncovered }
        };
        let mut way = go(path, score);
        // What a reading that led to nothing stood in the way of is read without it: "just two tacos" changes no number of none.
        let idle = |e: &usize| edges.get(*e).is_some_and(|e| way.resolver.barren.iter().any(|(b, meant)| !meant && *b == (e.start..e.end)));
        let stuck: Vec<usize> = way.path.iter().copied().filter(idle).collect();
        if !stuck.is_empty() {
            let others: Vec<usize> = (0..edges.len()).filter(|i| !stuck.contains(i)).collect();
            let fewer: Vec<Edge> = others.iter().filter_map(|i| edges.get(*i)).cloned().collect();
            let (again, score) = chart.best(grammar, &fewer);
            let other = go(again.iter().filter_map(|i| others.get(*i)).copied().collect(), score);
            if other.beats(&way) {
                way = other;
            }
        }
        let Way { path, score, mut resolver, mut covered, uncovered } = way;
        let loose = (0..tokens.len()).filter(|i| !covered.get(*i).copied().unwrap_or(false) && chart.skip_cost(*i) > 0.0).count();
        let mut unsure = std::mem::take(&mut resolver.unsure);
        let mut barren = std::mem::take(&mut resolver.barren);
        let name_score = resolver.name_score;
        let named = (0..tokens.len()).map(|i| chart.names_at.get(i).is_some_and(|n| !n.is_empty()) && covered.get(i).copied().unwrap_or(false)).collect();
        let name_ends = (0..tokens.len())
            .map(|i| chart.names_at.get(i).into_iter().flatten().filter_map(|e| chart.names.get(*e)).map(|e| e.end).max().unwrap_or(i))
            .collect();
        let lost = (0..tokens.len()).map(|i| uncovered.contains(&i)).collect();
        let steps: Vec<&Edge> = path.iter().filter_map(|i| edges.get(*i)).collect();
        let corrects = |e: &&&Edge| grammar.patterns.get(e.pattern).is_some_and(|p| p.does == Some(Does::Correct));
        let corrections = steps.iter().filter(corrects).map(|e| e.start).collect();
        self.unask(&mut resolver, tokens, grammar);
        let mut out = finish(resolver);
        // A part of a name amid words that mean nothing here is a coincidence.
        let spoken = tokens.iter().filter(|t| t.punct().is_none()).count();
        let accidental = name_score < 0.85 && loose * 2 > spoken && spoken > 2;
        let told_of = self.is_told_of(tokens, &edges, &path, grammar);
        if accidental || told_of.is_some() || self.is_mention(tokens, &edges, &path, grammar, loose, spoken) {
            out.clear();
            unsure.clear();
        }
        barren.extend(told_of.map(|span| (span, true)));
        let guessed = path.iter().filter_map(|i| edges.get(*i)).any(|e| grammar.patterns.get(e.pattern).is_some_and(|p| p.loose));
        for at in barren.iter().flat_map(|b| b.0.clone()) {
            covered.get_mut(at).into_iter().for_each(|c| *c = false);
        }
        let path = steps.iter().map(|e| e.start..e.end).collect();
        let gapped = steps.iter().filter(|e| grammar.patterns.get(e.pattern).is_some_and(|p| p.loose)).map(|e| e.start..e.end).collect();
        Reading {
            out,
            unsure,
            uncovered,
            loose,
            name_score,
            score,
            barren,
            covered,
            lost,
            named,
            name_ends,
            corrections,
            path,
            gapped,
            guessed,
            invented: false,
        }
    }

    /// A name that stands by itself in a question is what is asked about, no wish for it.
    fn unask(&self, resolver: &mut Resolver<'_, '_>, tokens: &[Token], grammar: &RoleGrammar) {
        let answers = |e: &Entry| grammar.patterns.get(e.pattern).is_some_and(|p| !p.bare && p.weak < 2);
        if !resolver.entries.iter().any(|e| matches!(e.what, What::Atom(_)) && answers(e)) {
            return;
        }
        let asked = |at: usize| {
            let start = (0..at).rev().find(|i| tokens.get(*i).is_some_and(|t| matches!(t.punct(), Some('.' | '?' | '!')))).map_or(0, |i| i + 1);
            let mut words = (start..at).filter(|i| tokens.get(*i).is_some_and(|t| t.kind == Kind::Word && !self.model.fillers.contains(&t.id)));
            let asks = words.next().and_then(|i| tokens.get(i)).is_some_and(|t| self.model.phrase.has("question", t.id));
            asks && !resolver.wishes.iter().any(|w| *w >= start && *w < at)
        };
        let lines: Vec<usize> = resolver
            .entries
            .iter()
            .filter(|e| grammar.patterns.get(e.pattern).is_some_and(|p| p.bare && p.after.is_none()) && asked(e.span.start))
            .filter_map(|e| if let What::Line(l) = e.what { Some(l) } else { None })
            .collect();
        for e in &mut resolver.entries {
            let gone = match &e.what {
                What::Line(l) => lines.contains(l),
                What::Change { target, .. } => target.line.is_some_and(|l| lines.contains(&l)),
                _ => false,
            };
            if gone {
                e.what = What::Gone;
            }
        }
    }

    /// "The coffee is too hot": where something is told of the one thing that is named, it is no wish for it.
    fn is_told_of(&self, tokens: &[Token], edges: &[Edge], path: &[usize], grammar: &RoleGrammar) -> Option<Range<usize>> {
        let at = |i: usize, kind: &str| tokens.get(i).is_some_and(|t| self.model.phrase.has(kind, t.id));
        let mut read = path.iter().filter_map(|i| edges.get(*i)).filter(|e| {
            let pattern = grammar.patterns.get(e.pattern);
            pattern.is_some_and(|p| !matches!(p.does, Some(Does::Nothing | Does::Want)))
        });
        let (first, more) = (read.next()?, read.next());
        let bare = grammar.patterns.get(first.pattern).is_some_and(|p| p.bare && p.after.is_none());
        // A pronoun names nothing: "that's cool".
        let named = first.end > first.start + 1;
        (named && bare && more.is_none() && at(first.start, "definite") && at(first.end, "states")).then_some(first.start..first.end)
    }

    /// Whether names are only mentioned, in a question or a story that nothing here reads: nothing is asked for then.
    fn is_mention(&self, tokens: &[Token], edges: &[Edge], path: &[usize], grammar: &RoleGrammar, loose: usize, spoken: usize) -> bool {
        let first = tokens.iter().find(|t| t.kind == Kind::Word && !self.model.fillers.contains(&t.id));
        let asks = first.is_some_and(|t| self.model.phrase.has("question", t.id));
        let mut bare = false;
        let mut loose = loose;
        for e in path.iter().filter_map(|i| edges.get(*i)) {
            let Some(p) = grammar.patterns.get(e.pattern) else { continue };
            match p.does {
                Some(Does::Nothing) => {}
                None if p.weak == 2 && p.means.iter().all(|t| &*t.name == IRRELEVANT) => loose += e.end - e.start,
                // At the start of a clause a name is said for itself.
                None if p.bare && p.after.is_none() => {
                    let before = e.start.checked_sub(1).and_then(|i| tokens.get(i));
                    let opens = before.is_none_or(|t| t.punct().is_some() || self.model.fillers.contains(&t.id) || self.model.phrase.has("joint", t.id));
                    if opens && !asks {
                        return false;
                    }
                    bare = true;
                }
                _ => return false,
            }
        }
        bare && (asks && loose > 0 || loose >= 4 && loose * 2 > spoken)
    }
}

/// A way through the chart, and where it leads.
struct Way<'c, 'a> {
    path: Vec<usize>,
    score: f32,
    resolver: Resolver<'c, 'a>,
    covered: Vec<bool>,
    uncovered: Vec<usize>,
}

impl Way<'_, '_> {
    /// Whether it leads to more than another way, or to as much without a step for nothing, and leaves no more open.
    fn beats(&self, other: &Self) -> bool {
        let (own, theirs) = (self.resolver.entries.len(), other.resolver.entries.len());
        let gains = own > theirs || own == theirs && self.resolver.barren.is_empty();
        gains && self.uncovered.len() <= other.uncovered.len() && self.resolver.unsure.len() <= other.resolver.unsure.len()
    }
}

/// What one role's grammar makes of an utterance.
pub struct Reading {
    pub(super) out: Vec<(Atom, Range<usize>)>,
    pub(super) unsure: Vec<(Range<usize>, Unsure)>,
    pub(super) uncovered: Vec<usize>,
    pub(super) loose: usize,
    pub(super) name_score: f32,
    pub(super) score: f32,
    /// Stretches whose reading led to nothing, and whether it is meant to.
    pub(super) barren: Vec<(Range<usize>, bool)>,
    /// For each token whether a reading that led to something holds it.
    pub(super) covered: Vec<bool>,
    /// For each token whether it matters and nothing holds it.
    pub(super) lost: Vec<bool>,
    /// For each token whether a name that was read begins there.
    pub(super) named: Vec<bool>,
    /// For each token the end of the longest name that begins there.
    pub(super) name_ends: Vec<usize>,
    /// Where corrections begin.
    pub(super) corrections: Vec<usize>,
    /// The stretches of the readings, in order.
    pub(super) path: Vec<Range<usize>>,
    /// Those of them that were read with gaps.
    pub(super) gapped: Vec<Range<usize>>,
    /// Whether words were taken for a name that nothing known bears.
    pub(super) invented: bool,
    /// Whether a reading with gaps was taken.
    pub(super) guessed: bool,
}

/// The bindings of a pattern's condition, `None` if it does not hold. The latest action that matches counts, then what the
/// conversation holds, then what was said before.
pub(super) fn condition(p: &Phrasing, context: &Context) -> Option<Vec<(u8, Term)>> {
    if p.needs_line && context.view.lines().is_empty() {
        return None;
    }
    let Some(after) = &p.after else { return Some(vec![]) };
    let binds = |a: &Atom| {
        let mut binds = vec![];
        after.matches(a, &mut binds).then_some(binds)
    };
    context.last_actions.iter().rev().chain(context.view.atoms()).chain(context.said_before.iter().rev()).find_map(binds)
}

fn covered(n: usize, edges: &[Edge], path: &[usize], grammar: &RoleGrammar) -> Vec<bool> {
    let mut out = vec![false; n];
    for e in path.iter().filter_map(|i| edges.get(*i)) {
        let stop = grammar.patterns.get(e.pattern).is_some_and(|p| p.does == Some(Does::Stop));
        let end = if stop { n } else { e.end };
        out.iter_mut().take(end).skip(e.start).for_each(|c| *c = true);
    }
    out
}

/// Instances of a line, and what is said of them.
type Group = (usize, Vec<usize>, Vec<Vec<Term>>);

/// Entries to atoms: weak ones give way, equal changes of one instance count once, numbered ones get their number.
pub(super) fn finish(resolver: Resolver<'_, '_>) -> Vec<(Atom, Range<usize>)> {
    let Resolver { chart, grammar, context, ledger, mut entries, .. } = resolver;
    let change: Name = chart.model.lines.as_ref().map_or("", |l| l.config.change.as_str()).into();
    void(grammar, &change, &mut entries);
    let strength = entries.iter().filter(|e| e.what != What::Gone).map(|e| e.weak).min().unwrap_or(0);
    let member = chart.model.lines.as_ref().map(|l| l.config.member.clone()).unwrap_or_default();
    let replace = chart.model.lines.as_ref().map(|l| l.config.replace.clone()).unwrap_or_default();
    // Nothing takes its own place.
    let idle = |what: &What| matches!(what, What::Atom(a) if *a.name == *replace && a.args.first() == a.args.get(1));
    let mut kept: Vec<Entry> = vec![];
    for mut e in entries {
        if e.what == What::Gone || idle(&e.what) || e.weak > strength {
            continue;
        }
        // Of what is said of the same twice, and not alike, the last holds where it corrects: "extra cheese, actually no cheese".
        let revised = |k: &Entry| {
            let between = chart.tokens.get(k.span.end..e.span.start).unwrap_or(&[]);
            between.iter().any(|t| ["corrects", "revises"].iter().any(|kind| chart.model.phrase.has(kind, t.id)))
        };
        let added = |item: &Name, part: &Name| !ledger.included(chart.knowledge, item, part);
        if let Some(first) = kept.iter().find_map(|k| instead(&k.what, &e.what, &added)) {
            kept.retain(|k| instead(&k.what, &e.what, &added).is_none());
            e.what = first;
        }
        kept.retain(|k| !(contradicts(&k.what, &e.what) && revised(k)));
        kept.retain(|k| !is_in_swap(&k.what, &e.what, chart.model.lines.as_ref().map(|l| &l.config)));
        let again = kept.iter().any(|k| match (&k.what, &e.what) {
            (What::Atom(a), What::Atom(b)) => a == b && k.span != e.span && *a.name != *member,
            (What::Change { target: a, rest: r }, What::Change { target: b, rest: s }) => r == s && a.item == b.item && !a.ids.is_empty() && a.ids == b.ids,
            _ => false,
        });
        if !again {
            kept.push(e);
        }
    }
    let Some(lines) = chart.model.lines.as_ref() else {
        return kept.into_iter().filter_map(|e| if let What::Atom(a) = e.what { Some((a, e.span)) } else { None }).collect();
    };
    // What is ordered twice is one line of so many.
    let mut ordered: Vec<(Name, Vec<usize>)> = vec![];
    for line in kept.iter().filter_map(|e| if let What::Line(l) = e.what { Some(l) } else { None }).filter(|l| ledger.count(*l) > 0) {
        let item = ledger.line_item(line);
        match ordered.iter_mut().find(|o| o.0 == item) {
            Some(same) => same.1.push(line),
            None => ordered.push((item, vec![line])),
        }
    }
    let as_one = |line: usize| ordered.iter().map(|o| &o.1).find(|l| l.contains(&line) && l.len() > 1);
    let first_of = |line: usize| as_one(line).and_then(|l| l.first()).copied().unwrap_or(line);
    // Groups of a line that are told apart get numbers.
    let mut groups: Vec<Group> = vec![];
    for e in &kept {
        if let What::Change { target, rest } = &e.what
            && let (false, Some(line)) = (target.placed, target.line)
            && (target.partial || as_one(line).is_some())
        {
            let line = first_of(line);
            match groups.iter_mut().find(|g| g.0 == line && g.1 == target.ids) {
                Some(group) => group.2.push(rest.clone()),
                None => groups.push((line, target.ids.clone(), vec![rest.clone()])),
            }
        }
    }
    let differ = |line: usize| {
        let first = first_of(line);
        let mut of_line = groups.iter().filter(|g| g.0 == first);
        of_line.next().is_some_and(|first| of_line.any(|g| g.2 != first.2))
    };
    let mut out = vec![];
    // "A large one and a small one, no, both large": the same of the same instance is said once.
    let mut changed: Vec<(usize, Vec<Term>)> = vec![];
    for e in kept {
        match e.what {
            What::Atom(a) => out.push((a, e.span)),
            What::Line(l) => {
                let all = as_one(l).cloned().unwrap_or_else(|| vec![l]);
                let count: i64 = all.iter().map(|l| ledger.count(*l)).sum();
                if count > 0 && all.first() == Some(&l) {
                    out.push((Atom { name: lines.config.add.as_str().into(), args: vec![Term::Str(ledger.line_item(l)), Term::Int(to_i32(count))] }, e.span));
                }
            }
            What::Change { target, rest } => {
                let told_apart = target.line.is_some_and(|l| (target.partial || as_one(l).is_some()) && differ(l));
                let name: Name = lines.config.change.as_str().into();
                if target.ids.is_empty()
                    && let Some(item) = &target.item
                {
                    let args = std::iter::once(Term::Str(item.clone())).chain(rest.iter().cloned()).collect();
                    out.push((Atom { name: name.clone(), args }, e.span.clone()));
                }
                for id in &target.ids {
                    let Some(item) = ledger.item_of(*id).filter(|_| !changed.iter().any(|(i, r)| i == id && *r == rest)) else { continue };
                    changed.push((*id, rest.clone()));
                    let mut args: Vec<Term> = std::iter::once(Term::Str(item)).chain(rest.iter().cloned()).collect();
                    if target.placed || told_apart {
                        args.push(Term::Int(i32::try_from(ledger.place_of(*id)).unwrap_or(1)));
                    }
                    out.push((Atom { name: name.clone(), args }, e.span.clone()));
                }
            }
            What::Gone => {}
        }
    }
    presume(&mut out, chart, context, &ledger);
    out
}

/// What is said of a thing that is not there presumes it, unless it is spoken of as if it were there: "the large lemonade with mine",
/// "get me that box with the pizza".
fn presume(out: &mut Vec<(Atom, Range<usize>)>, chart: &Chart<'_>, context: &Context, ledger: &Ledger) {
    let Some(config) = chart.model.lines.as_ref().map(|l| &l.config) else { return };
    let name = |t: Option<&Term>| t.and_then(Term::as_name).map(Name::from);
    let mut at = 0;
    while let Some((act, span)) = out.get(at).cloned() {
        at += 1;
        let (member, change) = (*act.name == *config.member, *act.name == *config.change);
        let Some(item) = name(act.args.first()).filter(|n| (member || change) && chart.knowledge.mask(n) != 0) else { continue };
        let brings = |a: &Atom| {
            *a.name == *config.add && name(a.args.first()).as_ref() == Some(&item) || a.args.len() == 2 && name(a.args.get(1)).as_ref() == Some(&item)
        };
        if ledger.holds(&item) || context.view.names_item(&item) || out.iter().any(|(a, _)| brings(a)) {
            continue;
        }
        let called = |e: &NameEdge| e.candidates.first().and_then(|c| chart.name(c.name)).as_ref() == Some(&item);
        let there = |e: &&NameEdge| e.start.checked_sub(1).is_some_and(|i| chart.is_word("definite", i));
        let said: Vec<&NameEdge> = chart.names.iter().filter(|e| called(e)).collect();
        // "The large one then", of what was just answered.
        let answered = || context.last_actions.iter().any(|a| a.args.len() == 3 && name(a.args.first()).as_ref() == Some(&item));
        let open = ledger.unfilled(&|_, _| true).filter(|c| ledger.slot_for(*c, &item).is_some());
        // "The wild cherry freeze in regular" is there where a place for it is open.
        if change && (said.is_empty() && !answered() || said.iter().any(there) && open.is_none()) {
            continue;
        }
        let (name, args) = match open {
            Some(combo) => (&config.member, vec![Term::Str(ledger.line_item(combo)), Term::Str(item)]),
            None => (&config.add, vec![Term::Str(item), Term::Int(1)]),
        };
        out.insert(at - 1, (Atom { name: name.as_str().into(), args }, span));
        at += 1;
    }
}

/// "I don't eat bacon, make it with sausage": what is swapped for another need not be left out.
fn is_in_swap(left_out: &What, swapped: &What, config: Option<&Lines>) -> bool {
    let (What::Change { target: a, rest: left_out }, What::Change { target: b, rest: swapped }) = (left_out, swapped) else { return false };
    let takes_out = |op: &Name| config.is_some_and(|c| c.in_place.as_ref().is_some_and(|how| c.undone.get(&how.puts).is_some_and(|no| **no == **op)));
    match (left_out.as_slice(), swapped.as_slice()) {
        ([Term::Const(op), Term::Str(part)], [Term::Const(_), Term::Fun(_, pair)]) => {
            let same = !a.ids.is_empty() && a.ids.iter().all(|id| b.ids.contains(id));
            same && takes_out(op) && matches!(pair.first(), Some(Term::Str(out)) if out == part)
        }
        _ => false,
    }
}

/// Whether a change says otherwise of the same instances than one before: another operation on the part, or another value.
fn contradicts(before: &What, after: &What) -> bool {
    let (What::Change { target: a, rest: r }, What::Change { target: b, rest: s }) = (before, after) else { return false };
    let differs = match (r.as_slice(), s.as_slice()) {
        ([op, part @ Term::Str(_)], [other, same]) => part == same && op != other,
        ([op, value @ Term::Const(_)], [same, other @ Term::Const(_)]) => op == same && value != other,
        _ => false,
    };
    differs && !a.ids.is_empty() && a.ids.iter().all(|id| b.ids.contains(id))
}

/// "With pico, actually guac instead of the pico": where another part takes the place of one that was just put on, the other is.
fn instead(before: &What, after: &What, added: &dyn Fn(&Name, &Name) -> bool) -> Option<What> {
    let (What::Change { target: a, rest: r }, What::Change { target: b, rest: s }) = (before, after) else { return None };
    match (r.as_slice(), s.as_slice()) {
        ([op, Term::Str(part)], [_, Term::Fun(_, parts)]) if a.ids == b.ids => match parts.as_slice() {
            [Term::Str(old), new] if old == part && a.item.as_ref().is_some_and(|item| added(item, part)) => {
                Some(What::Change { target: b.clone(), rest: vec![op.clone(), new.clone()] })
            }
            _ => None,
        },
        _ => None,
    }
}

/// Takes out what something else said in the turn makes void: the question for the total, of who is done.
fn void(grammar: &RoleGrammar, change: &Name, entries: &mut [Entry]) {
    let over: Vec<(usize, Option<Atom>, Arc<Vec<Template>>)> = entries
        .iter()
        .filter(|e| e.what != What::Gone)
        .filter_map(|e| {
            let own = if let What::Atom(a) = &e.what { Some(a.clone()) } else { None };
            Some((e.pattern, own, grammar.patterns.get(e.pattern)?.over.clone()))
        })
        .filter(|o| !o.2.is_empty())
        .collect();
    for e in entries.iter_mut() {
        let atom = match &e.what {
            What::Atom(atom) => atom.clone(),
            What::Change { target, rest } => {
                let item = target.item.as_ref().map(|i| Term::Str(i.clone()));
                Atom { name: change.clone(), args: item.into_iter().chain(rest.iter().cloned()).collect() }
            }
            _ => continue,
        };
        let void = |(p, own, o): &(usize, Option<Atom>, Arc<Vec<Template>>)| {
            *p != e.pattern && own.as_ref() != Some(&atom) && o.iter().any(|t| t.matches(&atom, &mut vec![]))
        };
        if over.iter().any(void) {
            e.what = What::Gone;
        }
    }
}
