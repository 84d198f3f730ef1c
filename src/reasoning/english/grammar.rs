//! Sentence forms with open words, read from data: which words in which order mean which term.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::words::{Known, Sentence, Word};
use crate::term::{Name, Term};

/// A way to say something: pieces in order, and what they mean together.
#[derive(Clone, Debug)]
struct Form {
    pieces: Vec<Piece>,
    means: Means,
}

#[derive(Clone, Debug)]
enum Piece {
    /// One of these words.
    Words(Vec<String>),
    /// One of these words, or none.
    Maybe(Vec<String>),
    /// Something of a group of forms.
    Group(usize, Option<usize>),
    /// An open word.
    Open(Open, Option<usize>),
    /// Something of a group any number of times, not at all too.
    Many(usize),
    /// Any words, none too, among which nothing of a group begins.
    Rest(Option<usize>),
    /// The rest of the sentence, in which things of a group stand among other words: at each word the longest, and before it a name alone.
    Among(usize, Option<usize>),
}

/// The kinds of open words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    /// Any word that is no function word.
    Word,
    /// A word with a capital letter.
    Name,
    /// A plural, as its singular.
    Plural,
    /// A verb's form in `-s`, as its base.
    Third,
    /// A verb's past form, as its base.
    Past,
    /// A verb's form in `-ing`, as its base.
    Ing,
    /// A single letter or a number, as a label.
    Label,
    /// A number in digits.
    Number,
    /// Any word that is no function word, as a constant.
    Symbol,
    /// An adjective's form in `-er`, as its base.
    Comparative,
    /// An adjective's form in `-est`, as its base.
    Superlative,
}

const OPEN: [(&str, Open); 11] = [
    ("word", Open::Word),
    ("Name", Open::Name),
    ("plural", Open::Plural),
    ("third", Open::Third),
    ("past", Open::Past),
    ("ing", Open::Ing),
    ("label", Open::Label),
    ("number", Open::Number),
    ("symbol", Open::Symbol),
    ("comparative", Open::Comparative),
    ("superlative", Open::Superlative),
];

#[derive(Clone, Debug)]
enum Means {
    Slot(usize),
    Leaf(Term),
    Fun(Name, Vec<Means>),
    /// The words themselves.
    Words,
}

/// Sentence forms by group.
#[derive(Clone, Debug, Default)]
pub struct Grammar {
    groups: Vec<Vec<Form>>,
    names: BTreeMap<String, usize>,
    closed: BTreeSet<String>,
    known: Known,
}

/// How many readings of one stretch of words are kept.
const KEPT: usize = 24;

/// What a sentence does as a whole, so no part of one does it.
const ALONE: [&str; 4] = ["correct", "forget", "amend", "suppose"];

/// In how many places a sentence is tried to be taken apart.
const MOST_JOINTS: usize = 6;

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
                match g.form(text) {
                    Ok(f) => {
                        if let Some(group) = g.names.get(name).and_then(|n| g.groups.get_mut(*n)) {
                            group.push(f);
                        }
                    }
                    Err(why) => wrong.push(format!("in `{name}`: `{text}`: {why}")),
                }
            }
        }
        if wrong.is_empty() { Ok(g) } else { Err(wrong) }
    }

    fn form(&self, text: &str) -> Result<Form, String> {
        let (pattern, means) = text.split_once("=>").map_or((text, None), |(p, m)| (p, Some(m.trim())));
        let mut slots: Vec<String> = Vec::new();
        let mut pieces = Vec::new();
        for part in pattern.split_whitespace() {
            if let Some(inner) = part.strip_prefix('{').and_then(|p| p.strip_suffix('}')) {
                let (what, slot) = inner.split_once(':').map_or((inner, None), |(w, s)| (w, Some(s)));
                let slot = slot.map(|s| {
                    slots.push(s.to_owned());
                    slots.len() - 1
                });
                let named = |group: &str| self.names.get(group).copied().ok_or_else(|| format!("nothing is called `{group}`"));
                if what == "rest" {
                    pieces.push(Piece::Rest(None));
                    continue;
                }
                if let Some(group) = what.strip_prefix("rest!") {
                    pieces.push(Piece::Rest(Some(named(group)?)));
                    continue;
                }
                if let Some(group) = what.strip_suffix('~') {
                    pieces.push(Piece::Among(named(group)?, slot));
                    continue;
                }
                if let Some(group) = what.strip_suffix('*') {
                    pieces.push(Piece::Many(named(group)?));
                    continue;
                }
                pieces.push(match OPEN.iter().find(|(n, _)| *n == what) {
                    Some((_, open)) => Piece::Open(*open, slot),
                    None => Piece::Group(named(what)?, slot),
                });
            } else if let Some(word) = part.strip_suffix('?') {
                pieces.push(Piece::Maybe(word.split('|').map(str::to_owned).collect()));
            } else {
                pieces.push(Piece::Words(part.split('|').map(str::to_owned).collect()));
            }
        }
        if pieces.is_empty() {
            return Err("a form needs at least one word".into());
        }
        // A form of one open piece means what that piece means.
        let mut open = pieces.iter_mut().filter_map(|p| if let Piece::Group(_, slot) | Piece::Open(_, slot) = p { Some(slot) } else { None });
        if let (Some(slot @ None), None, None) = (open.next(), open.next(), means) {
            *slot = Some(0);
            slots.push(String::new());
        }
        let means = match means {
            Some(m) => means_of(m, &slots)?,
            None if slots.len() == 1 => Means::Slot(0),
            None => Means::Words,
        };
        Ok(Form { pieces, means })
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
    /// fills the sentence is left out, and then its statements are read one by one.
    pub fn readings(&self, group: &str, sentence: &Sentence) -> Vec<Term> {
        let found = self.whole(group, &sentence.words);
        if !found.is_empty() || sentence.words.len() > MAX_WORDS {
            return found;
        }
        let plain = self.unfilled(&sentence.words);
        let found = if plain.len() < sentence.words.len() { self.whole(group, &plain) } else { found };
        if found.is_empty() && group == "told" { self.joined(&plain).into_iter().collect() } else { found }
    }

    fn whole(&self, group: &str, words: &[Word]) -> Vec<Term> {
        let Some(start) = self.names.get(group).filter(|_| words.len() <= MAX_WORDS) else { return vec![] };
        let mut p = Parse { grammar: self, words, memo: BTreeMap::new() };
        let found = p.group(*start, 0);
        found.iter().filter(|(end, _)| *end == words.len()).map(|(_, t)| t.clone()).collect()
    }

    /// The words without fillers, and without the commas that stood beside them or nowhere else.
    fn unfilled(&self, words: &[Word]) -> Vec<Word> {
        let mut out: Vec<Word> = Vec::new();
        let mut at = 0;
        while let Some(w) = words.get(at) {
            let begins = |f: &&String| f.split(' ').enumerate().all(|(n, part)| words.get(at + n).is_some_and(|w| w.lower == part));
            if let Some(f) = self.known.fillers.iter().filter(begins).max_by_key(|f| f.len()) {
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
        let told = |words: &[Word]| self.whole("told", words).into_iter().next().filter(|m| !matches!(m, Term::Fun(f, _) if ALONE.contains(&&**f)));
        let ends = words.iter().enumerate().filter(|(at, w)| *at > 0 && joint(w)).map(|(at, _)| at);
        ends.take(MOST_JOINTS).find_map(|at| {
            let (left, right) = words.split_at_checked(at)?;
            let right = right.get(right.iter().take_while(|w| joint(w)).count()..).filter(|r| !r.is_empty())?;
            let first = told(left)?;
            let rest = told(right).or_else(|| self.joined(right))?;
            Some(Term::Fun("both".into(), vec![first, rest]))
        })
    }
}

/// A meaning with its slots: `{x}` stands for what the slot `x` holds.
fn means_of(text: &str, slots: &[String]) -> Result<Means, String> {
    let mut plain = text.to_owned();
    for (n, s) in slots.iter().enumerate() {
        plain = plain.replace(&format!("{{{s}}}"), &format!("\"\u{1}{n}\""));
    }
    let term = Term::parse(&plain).map_err(|e| format!("`{text}` is no meaning: {e}"))?;
    Ok(of_term(&term))
}

fn of_term(t: &Term) -> Means {
    match t {
        Term::Str(s) => match s.strip_prefix('\u{1}').and_then(|n| n.parse().ok()) {
            Some(n) => Means::Slot(n),
            None => Means::Leaf(t.clone()),
        },
        Term::Fun(n, args) => Means::Fun(n.clone(), args.iter().map(of_term).collect()),
        _ => Means::Leaf(t.clone()),
    }
}

fn fill(m: &Means, slots: &[Option<Term>], words: &[Word]) -> Option<Term> {
    Some(match m {
        Means::Words => Term::string(&words.iter().map(|w| w.lower.as_str()).collect::<Vec<_>>().join(" ")),
        Means::Slot(n) => slots.get(*n).cloned().flatten()?,
        Means::Leaf(t) => t.clone(),
        Means::Fun(name, args) => {
            let args: Vec<Term> = args.iter().map(|a| fill(a, slots, words)).collect::<Option<_>>()?;
            match &**name {
                "join" => Term::string(&args.iter().map(|a| a.as_name().map_or_else(|| a.to_string(), str::to_owned)).collect::<Vec<_>>().join(" ")),
                _ => Term::Fun(name.clone(), args),
            }
        }
    })
}

type Found = Rc<Vec<(usize, Term)>>;

struct Parse<'a> {
    grammar: &'a Grammar,
    words: &'a [Word],
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
                && !out.iter().any(|(e, o)| *e == at && *o == t)
            {
                out.push((at, t));
            }
            return;
        };
        match piece {
            Piece::Words(words) => {
                if self.words.get(at).is_some_and(|w| words.contains(&w.lower)) {
                    self.pieces(form, (n + 1, start), at + 1, slots, out);
                }
            }
            Piece::Maybe(words) => {
                if self.words.get(at).is_some_and(|w| words.contains(&w.lower)) {
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
            Piece::Among(g, slot) => {
                if let Some(all) = self.among(*g, at) {
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
            Piece::Open(open, slot) => {
                if let Some(t) = self.words.get(at).and_then(|w| self.open(*open, w)) {
                    if let Some(s) = slot.and_then(|s| slots.get_mut(s)) {
                        *s = Some(t);
                    }
                    self.pieces(form, (n + 1, start), at + 1, slots, out);
                }
            }
        }
    }

    /// What stands among the words from here on: at each word the longest, and before it what the group's first form finds, which alone
    /// says nothing yet.
    fn among(&mut self, group: usize, at: usize) -> Option<Term> {
        let first =
            self.grammar.groups.get(group).and_then(|g| g.first()).and_then(|f| if let Means::Fun(name, _) = &f.means { Some(name.clone()) } else { None });
        let bare = |t: &Term| matches!(t, Term::Fun(f, _) if Some(f) == first.as_ref());
        let (mut found, mut more) = (vec![], false);
        for at in at..self.words.len() {
            let here = self.group(group, at);
            let plain = here.iter().map(|(_, t)| t).find(|t| bare(t));
            // Of several that are equally long the first form's.
            let longest = here.iter().rev().max_by_key(|(end, _)| *end).map(|(_, t)| t).filter(|t| !bare(t));
            more |= longest.is_some();
            found.extend(plain.into_iter().chain(longest).cloned());
        }
        let all = found.into_iter().rev().reduce(|rest, t| Term::Fun("both".into(), vec![t, rest]));
        all.filter(|_| more)
    }

    fn open(&self, open: Open, w: &Word) -> Option<Term> {
        let g = self.grammar;
        let letter = w.shown.chars().count() == 1 && w.capital();
        if !w.lower.chars().next().is_some_and(char::is_alphanumeric) || g.is_closed(&w.lower) && !(letter && matches!(open, Open::Label | Open::Name)) {
            return None;
        }
        let text = match open {
            Open::Word => w.lower.clone(),
            Open::Name => w.shown.clone(),
            Open::Plural => g.known.singular(&w.lower)?,
            Open::Third => g.known.third(&w.lower)?,
            Open::Past => g.known.past(&w.lower)?,
            Open::Ing => g.known.ing(&w.lower)?,
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
