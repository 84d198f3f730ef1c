//! Repair: what was left over becomes a name that nothing known bears, a question, or an honest "I didn't get that part".
//!
//! The means are re-readings: of the utterance with the leftover words as a name, which shows what was asked for of it; and of
//! the utterance with each candidate's name in the place of the unclear one, which shows what each would mean. So an answer to the
//! question that follows brings count and changes with it.

use std::ops::Range;

use super::chart::Chart;
use super::lines::names;
use super::model::RoleGrammar;
use super::text::{Kind, Token};
use super::{Embedded, Reading, title_case};
use crate::link::Thresholds;
use crate::ontology::Arg;
use crate::term::{Atom, Name, Term};
use crate::understand::{Context, Unsure};

/// How many leftovers of one utterance are looked into.
const GAPS: usize = 3;
/// How many candidates of an unclear name are read to the end.
const CANDIDATES: usize = 5;
/// How like an unknown name a known one must be to be offered instead.
const OFFERED: f32 = 0.34;
/// Longest stretch of words that is taken for a name, or said back.
const LONGEST: usize = 6;

/// What an answer to a question about names says.
pub enum Settled {
    /// One of them is meant: these are the predicates.
    Meant(Vec<Atom>),
    /// It does not say which.
    Open,
}

/// One utterance under repair.
pub struct Repair<'a> {
    /// The translator.
    pub ear: &'a Embedded,
    /// The utterance.
    pub text: &'a str,
    /// Its words.
    pub tokens: &'a [Token],
    /// What is known of the conversation.
    pub context: &'a Context,
    /// The grammar of the speaker's role.
    pub grammar: &'a RoleGrammar,
}

impl Repair<'_> {
    fn word(&self, at: usize) -> Option<&Token> {
        self.tokens.get(at).filter(|t| t.punct().is_none())
    }

    fn is(&self, set: &str, at: usize) -> bool {
        self.word(at).is_some_and(|t| self.ear.model.phrase.has(set, t.id))
    }

    fn is_filler(&self, at: usize) -> bool {
        self.word(at).is_some_and(|t| self.ear.model.fillers.contains(&t.id))
    }

    /// A word that could be part of what somebody asks for, though it may be an ordinary word.
    fn is_plain(&self, at: usize) -> bool {
        let m = &self.ear.model;
        self.word(at).is_some_and(|t| {
            t.kind == Kind::Word
                && m.ordinary.contains(&t.id)
                && !m.fillers.contains(&t.id)
                && !m.not_things.contains(&t.id)
                && !m.phrase.has("small", t.id)
                && !self.grammar.words.contains(&t.id)
        })
    }

    /// A word of the grammar that no name holds.
    fn is_of_grammar(&self, at: usize) -> bool {
        self.word(at).is_some_and(|t| self.grammar.words.contains(&t.id) && !self.ear.knowledge.names.knows(t.id))
    }

    fn is_count(&self, at: usize) -> bool {
        self.is("indefinite", at) || self.ear.model.numbers.whole(self.tokens, at).is_some()
    }

    /// Whether the words before (or after) a place belong to something that was read, or there are none.
    fn bounded(&self, reading: &Reading, mut at: usize, left: bool) -> bool {
        loop {
            let Some(here) = (if left { at.checked_sub(1) } else { Some(at) }) else { return true };
            let Some(t) = self.tokens.get(here) else { return true };
            let read = reading.covered.get(here).copied().unwrap_or(false);
            if t.punct().is_some() || self.is("list", here) || self.is("negation", here) || read {
                return true;
            }
            if !self.is_filler(here) {
                return false;
            }
            at = if left { here } else { here + 1 };
        }
    }

    /// Stretches of words that no reading accounts for.
    fn gaps(&self, reading: &Reading) -> Vec<Range<usize>> {
        let unread = |at: usize| !reading.covered.get(at).copied().unwrap_or(false);
        let barren = |at: usize| self.is_name_word(at) && !self.is_filler(at) && reading.barren.iter().any(|(b, meant)| !meant && b.contains(&at));
        let lost = |at: usize| (reading.lost.get(at).copied().unwrap_or(false) || barren(at)) && self.word(at).is_some() && !self.is("negation", at);
        let mut out: Vec<Range<usize>> = vec![];
        let mut at = 0;
        while at < self.tokens.len() {
            let starts = lost(at) || (self.is_plain(at) && unread(at) && self.opens(at));
            if !starts {
                at += 1;
                continue;
            }
            let mut start = at;
            while start > 0 && unread(start - 1) && (lost(start - 1) || self.is_plain(start - 1)) && out.last().is_none_or(|o| o.end < start) {
                start -= 1;
            }
            let mut end = at + 1;
            while end < self.tokens.len() && unread(end) && (lost(end) || self.is_plain(end)) {
                end += 1;
            }
            // Words that a hyphen joins belong together.
            while end < self.tokens.len() && unread(end) && self.is_joined(end - 1) {
                end += 1;
            }
            out.push(start..end);
            at = end;
        }
        out.retain(|g| !self.is_corrected(reading, g.end));
        out.truncate(GAPS);
        out
    }

    /// Whether a hyphen joins the word to the next.
    fn is_joined(&self, at: usize) -> bool {
        let (Some(a), Some(b)) = (self.tokens.get(at), self.tokens.get(at + 1)) else { return false };
        self.text.get(a.range.end..b.range.start) == Some("-")
    }

    /// Whether a thing of its own begins here: after a number or an article that follows nothing or a joining word.
    fn opens(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1) else { return false };
        self.is_count(before) && before.checked_sub(1).is_none_or(|b| self.tokens.get(b).is_some_and(|t| t.punct().is_some()) || self.is("list", b))
    }

    /// "sprite, I mean Starry": what is taken back at once needs no answer.
    fn is_corrected(&self, reading: &Reading, end: usize) -> bool {
        reading.corrections.iter().any(|c| *c >= end && *c <= end + LONGEST)
    }

    /// The part of a gap that may be a name: without words of the grammar at its ends.
    fn name_in(&self, gap: &Range<usize>) -> Option<Range<usize>> {
        let mut name = gap.clone();
        let outside =
            |at: usize| self.is_of_grammar(at) || self.is("small", at) || self.is("times", at) || self.ear.model.numbers.whole(self.tokens, at).is_some();
        while name.start < name.end && outside(name.start) {
            name.start += 1;
        }
        while name.start < name.end && outside(name.end - 1) {
            name.end -= 1;
        }
        let letters = name.clone().any(|i| self.word(i).is_some_and(|t| t.text.chars().filter(|c| c.is_alphabetic()).count() > 1));
        // A single word that names hold was the beginning of a name, not a name of its own.
        let own = name.len() > 1 || !self.is_name_word(name.start);
        (letters && !name.is_empty() && own && name.len() <= LONGEST).then_some(name)
    }

    /// Whether the word stands for a name that has more words.
    fn is_part_of_name(&self, at: usize) -> bool {
        let k = &self.ear.knowledge;
        let longer = |w: u32| k.names.entries_with(w).iter().any(|e| k.names.entry_words(*e).len() > 1);
        self.word(at).is_some_and(|t| k.names.knows(t.id) && longer(t.id))
    }

    fn is_name_word(&self, at: usize) -> bool {
        self.word(at).is_some_and(|t| t.readings().any(|(w, c)| c >= 0.8 && self.ear.knowledge.names.knows(w)))
    }

    /// The words as they were said.
    fn said(&self, span: &Range<usize>) -> String {
        let range = super::bytes(self.tokens, span);
        self.text.get(range).unwrap_or("").split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Leftovers become names where that makes sense of them; the others are given back in their words.
    pub fn fill(&self, mut reading: Reading) -> (Reading, Vec<String>) {
        let small_talk = !reading.out.is_empty() && reading.out.iter().all(|(a, _)| &*a.name == "irrelevant");
        if small_talk {
            return (reading, vec![]);
        }
        let mut unheard: Vec<Range<usize>> = vec![];
        let mut names: Vec<(Vec<String>, Name)> = vec![];
        for gap in self.gaps(&reading) {
            // "A gluten-free bean burrito": words right before a name make it another name.
            let before = gap.start..reading.name_ends.get(gap.end).copied().unwrap_or(gap.end);
            let strange = gap.clone().all(|i| !self.is_name_word(i));
            let named = |at: usize| reading.named.get(at).copied().unwrap_or(false);
            // "Diet coke": so do words right after one word of a name.
            let after = gap.start.checked_sub(1).filter(|b| named(*b) && self.is_part_of_name(*b)).map(|b| b..gap.end);
            let whole = if named(gap.end) { Some(before) } else { after };
            if let Some(whole) = whole.filter(|w| strange && w.len() <= LONGEST) {
                let said: Vec<String> = self.tokens.get(whole.clone()).into_iter().flatten().map(|t| t.text.clone()).collect();
                let name: Name = title_case(self.tokens.get(whole.clone()).unwrap_or(&[])).into();
                let mut more = names.clone();
                more.push((said, name.clone()));
                let again = self.ear.read(self.tokens, self.context, self.grammar, &more);
                if self.becomes(&reading, &again, &name) {
                    reading = again;
                    reading.invented = true;
                    names = more;
                    continue;
                }
            }
            let Some(span) = self.name_in(&gap) else {
                let known = gap.clone().any(|i| reading.lost.get(i).copied().unwrap_or(false) && self.is_name_word(i)) && self.asks(&reading, &gap);
                if known || reading.named.get(gap.end).copied().unwrap_or(false) {
                    unheard.push(gap);
                }
                continue;
            };
            let said: Vec<String> = self.tokens.get(span.clone()).into_iter().flatten().map(|t| t.text.clone()).collect();
            let name: Name = title_case(self.tokens.get(span.clone()).unwrap_or(&[])).into();
            let mut more = names.clone();
            more.push((said, name.clone()));
            let again = self.ear.read(self.tokens, self.context, self.grammar, &more);
            if self.makes_sense(&reading, &again, &span, &name) {
                reading = again;
                reading.invented = true;
                names = more;
            } else if self.asks(&reading, &span) {
                unheard.push(span);
            }
        }
        unheard.retain(|u| u.clone().any(|i| !reading.covered.get(i).copied().unwrap_or(false)));
        for (span, meant) in &reading.barren {
            // What was said of an unclear name is part of its readings; a word alone was but the rest of a name.
            let counts = *meant || (reading.unsure.is_empty() && span.len() > 1);
            let matters = span.clone().any(|i| self.is_name_word(i) && !self.is_filler(i));
            let apart = !unheard.iter().any(|u| u.start < span.end && span.start < u.end) && !names.iter().any(|n| self.holds(span, &n.0));
            if counts && matters && apart && span.len() <= 2 * LONGEST {
                unheard.push(span.clone());
            }
        }
        unheard.retain(|u| !self.is_restated(u, &reading));
        // "No flurbs": the denial belongs to what was not understood.
        reading.out.retain(|(a, at)| !(a.args.is_empty() && unheard.iter().any(|u| at.end == u.start && self.is("negation", at.end.wrapping_sub(1)))));
        unheard.sort_by_key(|u| u.start);
        if reading.out.is_empty() && reading.unsure.is_empty() && unheard.iter().all(|u| u.start == 0 || !self.is("negation", u.start - 1)) {
            unheard.clear();
        }
        let words = unheard.iter().map(|u| self.said(u)).filter(|w| is_speakable(w)).collect();
        (reading, words)
    }

    /// Whether reading more words into a name says of the longer name what was said of the shorter one.
    fn becomes(&self, before: &Reading, after: &Reading, name: &Name) -> bool {
        let (old, new) = (atoms(before), atoms(after));
        let (added, gone) = (without(&new, &old), without(&old, &new));
        let holds = |a: &Atom| a.args.iter().enumerate().any(|(i, t)| names(t, name) && self.sort_of(a, i).is_some_and(|(mask, open)| mask != 0 && !open));
        let same = |a: &Atom| added.iter().any(|b| a.name == b.name && a.args.len() == b.args.len());
        !added.is_empty() && added.iter().all(holds) && added.len() == gone.len() && gone.iter().all(same)
    }

    /// Whether the words that matter are words of names that were understood.
    fn is_restated(&self, span: &Range<usize>, reading: &Reading) -> bool {
        let start = |w: &str| w.chars().take(4).collect::<String>().to_lowercase();
        let named: Vec<String> = reading.out.iter().flat_map(|(a, _)| &a.args).filter_map(Term::as_name).flat_map(str::split_whitespace).map(start).collect();
        let mut matter = span.clone().filter(|i| self.is_name_word(*i) || reading.lost.get(*i).copied().unwrap_or(false)).peekable();
        matter.peek().is_some() && matter.all(|i| self.word(i).is_some_and(|t| named.contains(&start(&t.text))))
    }

    /// Whether the words stand within a span.
    fn holds(&self, span: &Range<usize>, words: &[String]) -> bool {
        let said: Vec<&String> = self.tokens.get(span.clone()).into_iter().flatten().map(|t| &t.text).collect();
        said.windows(words.len().max(1)).any(|w| w.iter().zip(words).all(|(a, b)| *a == b))
    }

    /// Whether reading the words as a name adds something that is said of it, and nothing else.
    fn makes_sense(&self, before: &Reading, after: &Reading, span: &Range<usize>, name: &Name) -> bool {
        let (old, new) = (atoms(before), atoms(after));
        let added = without(&new, &old);
        let gone = without(&old, &new);
        let holds = |a: &Atom| a.args.iter().enumerate().any(|(i, t)| names(t, name) && self.sort_of(a, i).is_some_and(|(mask, open)| mask != 0 && !open));
        // What was read before may have been read of less than was said, but nothing of it gets lost.
        let kept = |a: &Atom| a.args.iter().all(|t| !matches!(t, Term::Str(s) if !added.iter().flat_map(|n| &n.args).any(|t| names(t, s))));
        if added.is_empty() || !added.iter().all(holds) || !gone.iter().all(kept) {
            return false;
        }
        let Some(edge) = after.path.iter().find(|e| e.start <= span.start && span.end <= e.end) else { return false };
        // Readings with gaps make sense of anything, so they prove nothing.
        if after.gapped.contains(edge) {
            return false;
        }
        let joined = edge.start.checked_sub(1).is_some_and(|b| self.is("list", b)) || self.is("list", edge.end);
        let framed = edge.len() > span.len() || (joined && !old.is_empty()) || span.clone().any(|i| self.is_name_word(i));
        framed && self.bounded(after, edge.start, true) && self.bounded(after, edge.end, false)
    }

    /// Whether the words stand where something is asked for, or right before a name.
    fn asks(&self, reading: &Reading, span: &Range<usize>) -> bool {
        let mut start = span.start;
        while start > 0 && (self.is("definite", start - 1) || self.is_count(start - 1)) && !reading.covered.get(start - 1).copied().unwrap_or(false) {
            start -= 1;
        }
        let before_name = reading.named.get(span.end).copied().unwrap_or(false);
        let after = before_name || self.tokens.get(span.end).is_none_or(|t| t.punct().is_some()) || self.is("list", span.end) || self.is_filler(span.end);
        let content = span.clone().any(|i| !self.is_plain(i));
        content && after && self.bounded(reading, start, true)
    }

    /// The sort bits that an argument of an input admits, and whether it takes new names.
    fn sort_of(&self, atom: &Atom, at: usize) -> Option<(u64, bool)> {
        let model = &self.ear.model;
        let forms = model.forms.get(&(self.context.role.clone(), atom.name.clone(), atom.args.len()))?;
        let (mut mask, mut open) = (0, false);
        for form in forms {
            let fits = form.iter().zip(&atom.args).all(|(a, t)| !matches!(a, Arg::Literal(l) if l != t));
            let sorts: Vec<&Name> = match form.get(at) {
                Some(Arg::Sort(s)) => vec![s],
                Some(Arg::Fun(_, inner)) => inner.iter().filter_map(|a| if let Arg::Sort(s) = a { Some(s) } else { None }).collect(),
                _ => vec![],
            };
            for s in sorts.iter().filter(|_| fits) {
                mask |= model.masks.get(*s).copied().unwrap_or(0);
                open |= model.open_sorts.contains(*s);
            }
        }
        Some((mask, open))
    }

    /// For every unclear name what each candidate would mean, and what is meant whichever it is.
    pub fn alternatives(&self, mut reading: Reading) -> Reading {
        let mut sure: Vec<Atom> = atoms(&reading);
        let mut unsure = std::mem::take(&mut reading.unsure);
        // "Cheesy, I mean": the words before were meant by it.
        unsure.retain(|(head, u)| {
            let meant = u.candidates.iter().any(|c| sure.iter().any(|a| a.args.iter().any(|t| names(t, c))));
            !(meant && self.is_corrected(&reading, head.end))
        });
        // "A taco, no wait, two burritos": whichever taco was meant, it is wanted no more.
        let taken_back = (0..unsure.len()).map(|i| self.is_taken_back(&reading, &unsure, i)).collect::<Vec<bool>>();
        let mut taken_back = taken_back.into_iter();
        unsure.retain(|_| !taken_back.next().unwrap_or(false));
        for (head, u) in unsure.iter_mut().take(2) {
            let range = super::bytes(self.tokens, head);
            let (Some(left), Some(right)) = (self.text.get(..range.start), self.text.get(range.end..)) else { continue };
            let mut read: Vec<(Name, Vec<Atom>)> = vec![];
            for name in u.candidates.iter().take(CANDIDATES) {
                let said = format!("{left} {name} {right}");
                let (tokens, _) = self.ear.tokens(&said);
                let out = atoms(&self.ear.read(&tokens, self.context, self.grammar, &[]));
                if out.iter().any(|a| a.args.iter().any(|t| names(t, name))) {
                    read.push((name.clone(), out));
                }
            }
            let Some((_, first)) = read.first() else { continue };
            let common = read.iter().skip(1).fold(first.clone(), |common, (_, out)| both(&common, out));
            u.readings = read.iter().map(|(_, out)| without(out, &common)).collect();
            let rest = u.candidates.iter().filter(|c| !read.iter().any(|r| r.0 == **c)).skip(CANDIDATES).cloned().collect::<Vec<_>>();
            u.candidates = read.into_iter().map(|(name, _)| name).collect();
            u.candidates.extend(rest);
            sure = both(&sure, &common);
        }
        // One of several that spelling cannot tell apart may be meant clearly.
        let mut settled = vec![];
        if let Some(nearness) = &self.ear.nearness {
            unsure.retain(|(_, u)| {
                let meant =
                    nearness.clear(&u.said, &u.candidates).and_then(|name| u.candidates.iter().position(|c| *c == name)).and_then(|i| u.readings.get(i));
                settled.extend(meant.into_iter().flatten().cloned());
                meant.is_none()
            });
        }
        let mut left = sure;
        reading.out.retain(|(a, _)| left.iter().position(|s| s == a).map(|i| left.swap_remove(i)).is_some());
        let whole = 0..self.tokens.len();
        reading.out.extend(settled.into_iter().map(|a| (a, whole.clone())));
        reading.unsure = unsure;
        reading
    }

    /// Whether an unclear name is put right at once: with a name said in its place, and in those of the others, nothing is about it.
    fn is_taken_back(&self, reading: &Reading, unsure: &[(Range<usize>, Unsure)], at: usize) -> bool {
        let Some((head, own)) = unsure.get(at).filter(|(head, _)| self.is_corrected(reading, head.end)) else { return false };
        let others = || unsure.iter().filter(|(h, _)| h != head).filter_map(|(h, u)| Some((h, u.candidates.first()?)));
        let Some(name) = own.candidates.iter().find(|c| others().all(|o| o.1 != *c)) else { return false };
        let mut named: Vec<(Range<usize>, &Name)> = others().chain([(head, name)]).map(|(h, n)| (super::bytes(self.tokens, h), n)).collect();
        named.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
        let mut said = self.text.to_owned();
        for (range, name) in named.into_iter().filter(|(r, _)| self.text.get(r.clone()).is_some()) {
            said.replace_range(range, name);
        }
        let (tokens, _) = self.ear.tokens(&said);
        let out = atoms(&self.ear.read(&tokens, self.context, self.grammar, &[]));
        !out.is_empty() && !out.iter().any(|a| a.args.iter().any(|t| names(t, name)))
    }

    /// Names like those in the predicates that nothing known bears.
    pub fn nearest(&self, out: &[Atom]) -> Vec<Unsure> {
        let k = &self.ear.knowledge;
        let mut found: Vec<Unsure> = vec![];
        for atom in out {
            for (i, arg) in atom.args.iter().enumerate() {
                let Term::Str(said) = arg else { continue };
                let known = k.names.find(said).is_some() || found.iter().any(|f| f.said == **said);
                let Some((mask, false)) = self.sort_of(atom, i).filter(|s| s.0 != 0 && !known) else { continue };
                let candidates = self.ear.like(said, mask, CANDIDATES);
                if candidates.is_empty() {
                    continue;
                }
                let readings = candidates.iter().map(|c| vec![renamed(atom, said, c)]).collect();
                found.push(Unsure { said: said.to_string(), candidates, readings });
            }
        }
        found
    }

    /// What an answer to the question about names says, if it answers it.
    pub fn settle(&self) -> Option<Settled> {
        let asked = self.context.asked.first()?;
        let words: Vec<usize> = (0..self.tokens.len()).filter(|i| self.word(*i).is_some() && !self.is_filler(*i)).collect();
        let first = *words.first()?;
        let extra = self.ear.extra(self.context);
        let hints = self.ear.hints(self.context);
        let mut chart = Chart::new(&self.ear.model, &self.ear.knowledge, self.tokens, &extra, hints, self.grammar, u64::MAX);
        let meant = |i: usize| asked.readings.get(i).filter(|r| !r.is_empty()).map(|r| Settled::Meant(r.clone()));
        if self.is_all("yes", &mut chart, first) || self.is_all("right", &mut chart, first) {
            return if asked.candidates.len() == 1 { meant(0) } else { Some(Settled::Open) };
        }
        let light = |at: usize| chart.skip_cost(at) <= 0.15;
        let place = |at: usize| self.word(at).and_then(|t| self.ear.model.ordinals.get(&t.id)).copied();
        let places: Vec<i64> = words.iter().filter_map(|i| place(*i)).collect();
        if let [one] = places.as_slice()
            && words.iter().all(|i| place(*i).is_some() || light(*i))
        {
            let shown = asked.candidates.len().min(3);
            let index = if *one < 0 { shown.checked_sub(1) } else { usize::try_from(one - 1).ok().filter(|i| *i < shown) };
            return index.and_then(meant);
        }
        // "What is in the bowl now?" asks something else.
        if self.is("question", first) && !self.is("request", first) && !self.is("verb", first) {
            return None;
        }
        let mut edges: Vec<_> = chart.names.iter().collect();
        edges.sort_by_key(|e| (std::cmp::Reverse(e.end - e.start), e.start));
        let counted = |at: usize| self.ear.model.numbers.whole(self.tokens, at).is_some() && !self.is("indefinite", at) && !self.is("one", at);
        let edge = edges.into_iter().find(|e| words.iter().all(|i| (e.start..e.end).contains(i) || (light(*i) && !counted(*i))))?;
        let mut inside: Vec<(f32, usize)> =
            edge.candidates.iter().filter_map(|c| Some((c.score, asked.candidates.iter().position(|a| Some(a) == chart.name(c.name).as_ref())?))).collect();
        inside.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let best = inside.first()?;
        let elsewhere = edge.candidates.first().is_some_and(|c| c.is_whole() && !inside.iter().any(|i| i.0 >= c.score));
        let clear = inside.get(1).is_none_or(|s| s.0 < best.0 * Thresholds::default().tie);
        if elsewhere || !clear { None } else { meant(best.1) }
    }

    /// Whether a class of phrases accounts for all words.
    fn is_all(&self, class: &str, chart: &mut Chart<'_>, first: usize) -> bool {
        let Some(number) = self.ear.model.class_names.get(class).copied() else { return false };
        // Fillers may be the answer themselves ("okay, sure").
        let starts = [first, 0];
        starts.iter().any(|s| {
            chart.class_ends(number, *s).iter().any(|(end, _)| *end > first && (*end..self.tokens.len()).all(|i| self.word(i).is_none() || self.is_filler(i)))
        })
    }
}

impl Embedded {
    /// Known names of some sorts that are like a said one, best first: what is offered in its place.
    pub fn like(&self, said: &str, mask: u64, most: usize) -> Vec<Name> {
        let k = &self.knowledge;
        let admits = |id: usize| k.sorts.get(id).copied().unwrap_or(0) & mask != 0;
        let near = k.names.near(&k.words, said, &admits, most);
        let best = near.first().map_or(0.0, |n| n.1);
        let tied = near.get(1).is_some_and(|s| s.1 >= best * Thresholds::default().tie);
        let spelt: Vec<Name> = near.into_iter().filter(|n| n.1 >= OFFERED && n.1 >= 0.5 * best).filter_map(|n| k.names.name(n.0).cloned()).collect();
        let Some(nearness) = self.nearness.as_ref().filter(|_| spelt.is_empty() || tied) else { return spelt };
        // Names that spelling knows are put in order; where it knows none, all are asked.
        let asked: Vec<Name> =
            if spelt.is_empty() { (0..k.names.len()).filter(|i| admits(*i)).filter_map(|i| k.names.name(i).cloned()).collect() } else { spelt.clone() };
        let mut ranked: Vec<Name> = nearness.rank(said, &asked).into_iter().take(most).map(|n| n.0).collect();
        ranked.extend(spelt.into_iter().filter(|n| !ranked.contains(n)).collect::<Vec<_>>());
        ranked
    }
}

/// What can be said back: words, and not many.
fn is_speakable(words: &str) -> bool {
    words.len() <= 60
        && words.chars().any(char::is_alphabetic)
        && words.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '\'' | '-' | '\u{2019}' | '.' | '&'))
}

fn atoms(reading: &Reading) -> Vec<Atom> {
    reading.out.iter().map(|(a, _)| a.clone()).collect()
}

/// The first without the second, each occurrence once.
fn without(a: &[Atom], b: &[Atom]) -> Vec<Atom> {
    let mut left: Vec<&Atom> = b.iter().collect();
    a.iter().filter(|x| left.iter().position(|y| y == x).map(|i| left.swap_remove(i)).is_none()).cloned().collect()
}

/// What both hold, each occurrence once.
fn both(a: &[Atom], b: &[Atom]) -> Vec<Atom> {
    let mut left: Vec<&Atom> = b.iter().collect();
    a.iter().filter(|x| left.iter().position(|y| y == x).map(|i| left.swap_remove(i)).is_some()).cloned().collect()
}

fn renamed(atom: &Atom, from: &str, to: &Name) -> Atom {
    fn term(t: &Term, from: &str, to: &Name) -> Term {
        match t {
            Term::Str(s) if **s == *from => Term::Str(to.clone()),
            Term::Fun(f, inner) => Term::Fun(f.clone(), inner.iter().map(|t| term(t, from, to)).collect()),
            other => other.clone(),
        }
    }
    Atom { name: atom.name.clone(), args: atom.args.iter().map(|t| term(t, from, to)).collect() }
}
