//! Sentence forms with open words, read from data: which words in which order mean which term.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::form::{Choice, Form, Means, Names, Open, Piece, Run, fill};
use super::words::{Known, Sentence, Word};
use crate::term::Term;
use crate::text::ENGLISH;

/// Sentence forms by group.
#[derive(Clone, Debug, Default)]
pub struct Grammar {
    groups: Vec<Vec<Form>>,
    names: Names,
    closed: BTreeSet<String>,
    known: Known,
    /// By group, what is said plainer in other words where no form takes it.
    rewrites: BTreeMap<String, Vec<Form>>,
}

/// How many readings of what begins at one word are kept, and how many of one stretch of words.
const KEPT: usize = 240;
const KEPT_OF_ONE: usize = 12;

/// What a sentence does as a whole, so no part of one does it.
const ALONE: [&str; 4] = ["correct", "forget", "amend", "suppose"];

/// In how many places a sentence is tried to be taken apart.
const MOST_JOINTS: usize = 6;

/// How often a sentence is said plainer in a row, and how many ways of that are tried.
const MOST_REWRITES: usize = 4;
const MOST_TRIES: usize = 40;

/// How many words a sentence may have.
const MAX_WORDS: usize = 80;

impl Grammar {
    /// Reads groups of forms; `Err` says which form is wrong and why.
    pub fn read(groups: &[(String, Vec<String>)], known: Known) -> Result<Self, Vec<String>> {
        let mut g = Self { closed: known.closed.iter().cloned().collect(), known, ..Self::default() };
        for (name, _) in groups {
            let next = g.names.len();
            g.names.entry(name.clone()).or_insert(next);
        }
        g.groups = vec![Vec::new(); g.names.len()];
        let mut wrong = Vec::new();
        for (name, forms) in groups {
            for text in forms {
                match Form::read(&g.names, text) {
                    Ok(f) => {
                        if let Some(group) = g.names.get(name).and_then(|n| g.groups.get_mut(*n)) {
                            group.push(f);
                        }
                    }
                    Err(why) => wrong.push(format!("in `{name}`: `{text}`: {why}")),
                }
            }
        }
        for (group, texts) in std::mem::take(&mut g.known.rewrites) {
            for text in texts {
                match Form::rewrite(&g.names, &text) {
                    Ok(f) => g.rewrites.entry(group.clone()).or_default().push(f),
                    Err(why) => wrong.push(format!("in the rewrites of `{group}`: `{text}`: {why}")),
                }
            }
        }
        if wrong.is_empty() { Ok(g) } else { Err(wrong) }
    }

    /// Whether a word is a function word.
    fn is_closed(&self, word: &str) -> bool {
        self.closed.contains(word)
    }

    /// The open words of a sentence, as far as endings tell in the singular.
    pub fn content<'a>(&'a self, sentence: &'a Sentence) -> impl Iterator<Item = String> + 'a {
        let open = |w: &&Word| w.lower.starts_with(char::is_alphanumeric) && !self.is_closed(&w.lower) && !self.known.fillers.contains(&w.lower);
        sentence.words.iter().filter(open).map(|w| self.known.singular(&w.lower).unwrap_or_else(|| w.lower.clone()))
    }

    /// What a whole sentence means by the forms of a group.
    pub fn parse(&self, group: &str, sentence: &Sentence) -> Option<Term> {
        self.readings(group, sentence).into_iter().next()
    }

    /// Everything that a whole sentence may mean by the forms of a group, the first form's meaning first. Where that is nothing, what only
    /// fills the sentence is left out, then its statements are read one by one, and then it is said plainer.
    pub fn readings(&self, group: &str, sentence: &Sentence) -> Vec<Term> {
        self.read_again(group, &sentence.words, MOST_REWRITES, &mut MOST_TRIES.clone())
    }

    /// What a sentence means that lacks what the one before says.
    pub fn following(&self, group: &str, before: &[Word], words: &[Word]) -> Option<Term> {
        let end = Word { lower: ";".into(), shown: ";".into() };
        let both = [before, &[end], words].concat();
        let ways = self.plainer(&format!("{group}_after"), &self.unfilled(&both));
        let mut tries = MOST_TRIES;
        ways.iter().find_map(|w| self.of_parts(group, w, 2, &mut tries).into_iter().next())
    }

    /// What must not be taken for several statements in a row is said plainer before that is tried, everything else after it.
    fn read_again(&self, group: &str, words: &[Word], depth: usize, tries: &mut usize) -> Vec<Term> {
        let found = self.whole(group, words);
        if !found.is_empty() || words.len() > MAX_WORDS {
            return found;
        }
        let plain = self.unfilled(words);
        let ways: Vec<Vec<Word>> = [words, &plain].into_iter().flat_map(expanded).collect();
        let found = ways.iter().skip(1).map(|w| self.whole(group, w)).find(|f| !f.is_empty()).unwrap_or_default();
        if !found.is_empty() {
            return found;
        }
        let found = self.rewritten(&format!("{group}_first"), group, [words, words], depth, tries);
        if !found.is_empty() {
            return found;
        }
        let found = self.whole(&format!("{group}_last"), words);
        if !found.is_empty() {
            return found;
        }
        match if group == "told" { ways.iter().find_map(|w| self.joined(w)) } else { None } {
            Some(m) => vec![m],
            None => self.rewritten(group, group, [words, &plain], depth, tries),
        }
    }

    fn rewritten(&self, by: &str, group: &str, ways: [&[Word]; 2], depth: usize, tries: &mut usize) -> Vec<Term> {
        let differ = if depth == 0 { 0 } else { 1 + usize::from(ways.first() != ways.last()) };
        for parts in ways.iter().take(differ).flat_map(|w| self.plainer(by, w)) {
            *tries = tries.saturating_sub(1);
            let found = if *tries == 0 { break } else { self.of_parts(group, &parts, depth - 1, tries) };
            if !found.is_empty() {
                return found;
            }
        }
        vec![]
    }

    /// What sentences mean together, if each of them is read.
    fn of_parts(&self, group: &str, parts: &[Vec<Word>], depth: usize, tries: &mut usize) -> Vec<Term> {
        if let [one] = parts {
            return self.read_again(group, one, depth, tries);
        }
        let part = |p: &Vec<Word>, tries: &mut usize| self.read_again(group, p, depth, tries).into_iter().find(|m| !alone(m));
        let all: Option<Vec<Term>> = parts.iter().map(|p| part(p, tries)).collect();
        all.and_then(|all| all.into_iter().rev().reduce(|rest, m| Term::Fun("both".into(), vec![m, rest]))).into_iter().collect()
    }

    /// The ways to say a sentence plainer, each in one or several sentences.
    fn plainer(&self, group: &str, words: &[Word]) -> Vec<Vec<Vec<Word>>> {
        let Some(forms) = self.rewrites.get(group).filter(|_| words.len() <= MAX_WORDS) else { return vec![] };
        let mut p = self.parse_of(words);
        let mut out: Vec<Vec<Vec<Word>>> = Vec::new();
        for form in forms {
            let mut found = Vec::new();
            p.pieces(form, (0, 0), 0, &mut vec![None; form.pieces.len()], &mut found);
            for (_, t) in found.iter().filter(|(end, _)| *end == words.len()) {
                let Term::Fun(_, parts) = t else { continue };
                let said: Vec<Vec<Word>> = parts.iter().map(|t| spoken(t, words)).collect();
                if !out.contains(&said) {
                    out.push(said);
                }
            }
        }
        out
    }

    fn whole(&self, group: &str, words: &[Word]) -> Vec<Term> {
        let Some(start) = self.names.get(group).filter(|_| words.len() <= MAX_WORDS) else { return vec![] };
        let found = self.parse_of(words).group(*start, 0);
        found.iter().filter(|(end, _)| *end == words.len()).map(|(_, t)| t.clone()).collect()
    }

    fn parse_of<'a>(&'a self, words: &'a [Word]) -> Parse<'a> {
        Parse { grammar: self, words, bases: words.iter().map(|w| self.known.bases(&w.lower)).collect(), memo: BTreeMap::new() }
    }

    /// The words without fillers, and without the commas that stood beside them or nowhere else.
    fn unfilled(&self, words: &[Word]) -> Vec<Word> {
        let mut out: Vec<Word> = Vec::new();
        let mut at = 0;
        while let Some(w) = words.get(at) {
            let begins = |f: &&String| f.split(' ').enumerate().all(|(n, part)| words.get(at + n).is_some_and(|w| w.lower == part));
            // `The well` is a thing.
            let noun = out.last().is_some_and(|w| ENGLISH.is_before_noun(&w.lower));
            if let Some(f) = self.known.fillers.iter().filter(|f| !noun || f.contains(' ')).filter(begins).max_by_key(|f| f.len()) {
                at += f.split(' ').count();
                let before = out.last().is_none_or(|w| w.lower == ",");
                let after = words.get(at).is_some_and(|w| w.lower == ",");
                if before && (after || at == words.len()) {
                    at += usize::from(after);
                    out.pop();
                }
            } else {
                out.push(w.clone());
                at += 1;
            }
        }
        out
    }

    /// Several statements of one sentence, read one by one.
    fn joined(&self, words: &[Word]) -> Option<Term> {
        let joint = |w: &Word| self.known.joints.contains(&w.lower);
        let read = |words: &[Word]| self.whole("told", words).into_iter().next().or_else(|| self.whole("told", &self.unfilled(words)).into_iter().next());
        let told = |words: &[Word]| read(words).filter(|m| !alone(m));
        let ends = words.iter().enumerate().filter(|(at, w)| *at > 0 && joint(w)).map(|(at, _)| at);
        ends.take(MOST_JOINTS).find_map(|at| {
            let (left, right) = words.split_at_checked(at)?;
            let right = right.get(right.iter().take_while(|w| joint(w)).count()..).filter(|r| !r.is_empty())?;
            let first = told(left)?;
            // `Ada took the rope and went home`: the same does both.
            let plain = self.unfilled(left);
            let again = || [subject(&plain), right].concat();
            let rest = told(right).or_else(|| self.joined(right)).or_else(|| told(&again())).or_else(|| self.joined(&again()))?;
            Some(Term::Fun("both".into(), vec![first, rest]))
        })
    }
}

/// Whether a meaning is what a sentence does as a whole.
fn alone(m: &Term) -> bool {
    matches!(m, Term::Fun(f, _) if ALONE.contains(&&**f))
}

/// The words of a sentence said plainer: its own, and those that stand in the sentence rewritten.
fn spoken(part: &Term, words: &[Word]) -> Vec<Word> {
    let Term::Fun(_, args) = part else { return vec![] };
    let said = |t: &Term| match t {
        Term::Fun(_, at) => match at.as_slice() {
            [Term::Int(from), Term::Int(to)] => words.get(usize::try_from(*from).unwrap_or(0)..usize::try_from(*to).unwrap_or(0)).unwrap_or(&[]).to_vec(),
            _ => vec![],
        },
        _ => t.as_name().map(|n| Word { lower: n.to_lowercase(), shown: n.to_owned() }).into_iter().collect(),
    };
    args.iter().flat_map(said).collect()
}

/// Whom or what a statement is about, by its first words: a name, a name of two words, or an article with its noun.
fn subject(words: &[Word]) -> &[Word] {
    let two = match words {
        [a, b, ..] => ENGLISH.is_before_noun(&a.lower) || a.capital() && b.capital(),
        _ => false,
    };
    words.get(..if two { 2 } else { 1 }).unwrap_or(words)
}

/// The words, and what they may be short for: `'s` for a verb.
fn expanded(words: &[Word]) -> Vec<Vec<Word>> {
    let with = |verb: &str| words.iter().map(|w| if w.lower == "'s" { Word { lower: verb.into(), shown: verb.into() } } else { w.clone() }).collect();
    let short = words.iter().any(|w| w.lower == "'s");
    [words.to_vec()].into_iter().chain(["is", "has"].into_iter().filter(|_| short).map(with)).collect()
}

type Found = Rc<Vec<(usize, Term)>>;

struct Parse<'a> {
    grammar: &'a Grammar,
    words: &'a [Word],
    /// What verb each word could be a form of.
    bases: Vec<Vec<String>>,
    memo: BTreeMap<(usize, usize), Found>,
}

impl Parse<'_> {
    fn group(&mut self, group: usize, at: usize) -> Found {
        if let Some(found) = self.memo.get(&(group, at)) {
            return found.clone();
        }
        // A form that begins with its own group finds nothing there, so every search ends.
        self.memo.insert((group, at), Rc::new(Vec::new()));
        let mut out: Vec<(usize, Term)> = Vec::new();
        let grammar = self.grammar;
        for form in grammar.groups.get(group).into_iter().flatten() {
            let mut slots = vec![None; form.pieces.len()];
            self.pieces(form, (0, at), at, &mut slots, &mut out);
            if out.len() >= KEPT {
                break;
            }
        }
        let out = Rc::new(out);
        self.memo.insert((group, at), out.clone());
        out
    }

    fn pieces(&mut self, form: &Form, (n, start): (usize, usize), at: usize, slots: &mut [Option<Term>], out: &mut Vec<(usize, Term)>) {
        let Some(piece) = form.pieces.get(n) else {
            if let Some(t) = fill(&form.means, slots, self.words.get(start..at).unwrap_or(&[]))
                && out.len() < KEPT
                && out.iter().filter(|(e, _)| *e == at).count() < KEPT_OF_ONE
                && !out.iter().any(|(e, o)| *e == at && *o == t)
            {
                out.push((at, t));
            }
            return;
        };
        match piece {
            Piece::Words(words) => {
                if self.is_one(words, at) {
                    self.pieces(form, (n + 1, start), at + 1, slots, out);
                }
            }
            Piece::Maybe(words) => {
                if self.is_one(words, at) {
                    self.pieces(form, (n + 1, start), at + 1, slots, out);
                }
                self.pieces(form, (n + 1, start), at, slots, out);
            }
            Piece::Many(g) => {
                self.pieces(form, (n + 1, start), at, slots, out);
                for (end, _) in self.group(*g, at).iter().filter(|(end, _)| *end > at) {
                    self.pieces(form, (n, start), *end, slots, out);
                }
            }
            Piece::Rest(but) => {
                for end in at..=self.words.len() {
                    self.pieces(form, (n + 1, start), end, slots, out);
                    if but.is_some_and(|g| !self.group(g, end).is_empty()) {
                        break;
                    }
                }
            }
            Piece::Among(g, slot, alone) => {
                if let Some(all) = self.among(*g, at, *alone) {
                    if let Some(s) = slot.and_then(|s| slots.get_mut(s)) {
                        *s = Some(all);
                    }
                    self.pieces(form, (n + 1, start), self.words.len(), slots, out);
                }
            }
            Piece::Group(g, slot) => {
                for (end, t) in self.group(*g, at).iter() {
                    if let Some(s) = slot.and_then(|s| slots.get_mut(s)) {
                        *s = Some(t.clone());
                    }
                    self.pieces(form, (n + 1, start), *end, slots, out);
                }
            }
            Piece::Span(run, slot) => {
                let last = n + 1 == form.pieces.len();
                let ends: Vec<usize> = match run {
                    Run::Of(g) => self.group(*g, at).iter().map(|(end, _)| *end).collect::<BTreeSet<_>>().into_iter().rev().collect(),
                    Run::Any => (at + 1..=self.words.len()).collect(),
                    Run::Phrase => {
                        let long = self.words.iter().skip(at).take_while(|w| !matches!(&*w.lower, "," | ":" | ";")).count();
                        (at + 1..=at + long).collect()
                    }
                };
                for end in ends.into_iter().filter(|end| !last || *end == self.words.len()) {
                    if let Some(s) = slot.and_then(|s| slots.get_mut(s)) {
                        *s = Some(Term::Fun("words".into(), [at, end].iter().filter_map(|n| i32::try_from(*n).ok()).map(Term::Int).collect()));
                    }
                    self.pieces(form, (n + 1, start), end, slots, out);
                }
            }
            Piece::Open(open, slot) => {
                if let Some(t) = self.words.get(at).and_then(|w| self.open(*open, w, at)) {
                    if let Some(s) = slot.and_then(|s| slots.get_mut(s)) {
                        *s = Some(t);
                    }
                    self.pieces(form, (n + 1, start), at + 1, slots, out);
                }
            }
        }
    }

    fn is_one(&self, of: &Choice, at: usize) -> bool {
        let verb = || !of.verbs.is_empty() && self.bases.get(at).is_some_and(|b| b.iter().any(|b| of.verbs.contains(b)));
        self.words.get(at).is_some_and(|w| of.words.contains(&w.lower) || verb())
    }

    /// What stands among the words from here on: at each word the longest, and before it what the group's first form finds, which alone
    /// says nothing yet.
    fn among(&mut self, group: usize, at: usize, alone: bool) -> Option<Term> {
        let first =
            self.grammar.groups.get(group).and_then(|g| g.first()).and_then(|f| if let Means::Fun(name, _) = &f.means { Some(name.clone()) } else { None });
        let bare = |t: &Term| matches!(t, Term::Fun(f, _) if Some(f) == first.as_ref());
        let (mut found, mut more, mut covered) = (vec![], false, at);
        for at in at..self.words.len() {
            let here = self.group(group, at);
            let plain = here.iter().map(|(_, t)| t).find(|t| bare(t));
            // Of several that are equally long the first form's.
            let longest = here.iter().rev().max_by_key(|(end, _)| *end).filter(|(_, t)| !bare(t));
            covered = covered.max(longest.map_or(at, |(end, _)| *end));
            if alone && covered <= at && !self.words.get(at).is_some_and(|w| self.grammar.known.joints.contains(&w.lower)) {
                return None;
            }
            let longest = longest.map(|(_, t)| t);
            more |= longest.is_some();
            found.extend(plain.into_iter().chain(longest).cloned());
        }
        let all = found.into_iter().rev().reduce(|rest, t| Term::Fun("both".into(), vec![t, rest]));
        all.filter(|_| more)
    }

    fn open(&self, open: Open, w: &Word, at: usize) -> Option<Term> {
        let g = self.grammar;
        let letter = w.shown.chars().count() == 1 && w.capital();
        // `the will`: no verb follows an article.
        let noun = || g.known.nouns.contains(&w.lower) && at.checked_sub(1).and_then(|n| self.words.get(n)).is_some_and(|w| ENGLISH.is_article(&w.lower));
        if !w.lower.chars().next().is_some_and(char::is_alphanumeric)
            || g.is_closed(&w.lower) && !(letter && matches!(open, Open::Label | Open::Name) || open == Open::Word && noun())
        {
            return None;
        }
        let text = match open {
            Open::Word => w.lower.clone(),
            Open::Name => w.shown.clone(),
            Open::Plural if w.capital() && g.known.names.contains(&w.lower) => return None,
            Open::Plural => g.known.singular(&w.lower)?,
            Open::Third => g.known.third(&w.lower)?,
            Open::Past => g.known.past(&w.lower)?,
            Open::Ing => g.known.ing(&w.lower)?,
            Open::Participle => g.known.past(&w.lower).map(|_| w.lower.clone())?,
            Open::Label => w.lower.clone(),
            Open::Comparative => g.known.degree(&w.lower, "er")?,
            Open::Superlative => g.known.degree(&w.lower, "est")?,
            Open::Symbol => return Some(Term::constant(&super::logic::identifier(&w.lower))),
            Open::Number => return w.lower.parse().ok().map(Term::Int),
        };
        match open {
            Open::Name if !w.capital() => None,
            Open::Label if !letter && w.lower.parse::<u32>().is_err() => None,
            _ => Some(Term::string(&text)),
        }
    }
}
