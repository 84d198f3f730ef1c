//! A sentence form: pieces in order, what they mean together, and how both are written.

use std::collections::BTreeMap;

use super::words::Word;
use crate::term::{Name, Term};

/// The groups of forms, by name.
pub(super) type Names = BTreeMap<String, usize>;

/// A way to say something: pieces in order, and what they mean together.
#[derive(Clone, Debug)]
pub(super) struct Form {
    pub(super) pieces: Vec<Piece>,
    pub(super) means: Means,
}

impl Form {
    /// `{words:a} , who {words:b} , {words:c} => {a} {c} ; {a} {b}`.
    pub(super) fn rewrite(names: &Names, text: &str) -> Result<Self, String> {
        let (pattern, plainer) = text.split_once("=>").ok_or("a rewrite needs `=>` and plainer words")?;
        let mut slots = Vec::new();
        let mut pieces = pattern_of(names, pattern, &mut slots)?;
        for p in &mut pieces {
            if let Piece::Group(g, slot) = p {
                *p = Piece::Span(Run::Of(*g), *slot);
            }
        }
        let word = |w: &str| match w.strip_prefix('{').and_then(|w| w.strip_suffix('}')) {
            Some(slot) => slots.iter().position(|s| s == slot).map(Means::Slot).ok_or_else(|| format!("there is no slot `{slot}`")),
            None => Ok(Means::Leaf(Term::string(w))),
        };
        let parts = plainer.split(" ; ").map(|p| p.split_whitespace().map(word).collect()).collect::<Result<_, _>>()?;
        Ok(Form { pieces, means: Means::Again(parts) })
    }

    pub(super) fn read(names: &Names, text: &str) -> Result<Self, String> {
        let (pattern, means) = text.split_once("=>").map_or((text, None), |(p, m)| (p, Some(m.trim())));
        let mut slots: Vec<String> = Vec::new();
        let mut pieces = pattern_of(names, pattern, &mut slots)?;
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
}

#[derive(Clone, Debug)]
pub(super) enum Piece {
    /// One of these words.
    Words(Choice),
    /// One of these words, or none.
    Maybe(Choice),
    /// Something of a group of forms.
    Group(usize, Option<usize>),
    /// An open word.
    Open(Open, Option<usize>),
    /// Something of a group any number of times, not at all too.
    Many(usize),
    /// Any words, none too, among which nothing of a group begins.
    Rest(Option<usize>),
    /// The rest of the sentence, in which things of a group stand among other words: at each word the longest, and before it a name alone.
    /// Or, if nothing else may stand there, among joints.
    Among(usize, Option<usize>, bool),
    /// In a rewriting, words as they stand: something of a group, or any.
    Span(Run, Option<usize>),
}

/// Which words a rewriting takes over.
#[derive(Clone, Copy, Debug)]
pub(super) enum Run {
    /// One or more.
    Any,
    /// One or more without a comma.
    Phrase,
    /// Something of a group.
    Of(usize),
}

/// Words of which one stands there: in this form, or verbs in any.
#[derive(Clone, Debug, Default)]
pub(super) struct Choice {
    pub(super) words: Vec<String>,
    pub(super) verbs: Vec<String>,
}

impl Choice {
    /// `a|b~`: `~` marks a verb that may stand there in any of its forms.
    fn read(text: &str) -> Self {
        let (verbs, words): (Vec<&str>, Vec<&str>) = text.split('|').partition(|w| w.len() > 1 && w.ends_with('~'));
        Self { words: words.into_iter().map(str::to_owned).collect(), verbs: verbs.into_iter().map(|v| v.trim_end_matches('~').to_owned()).collect() }
    }
}

/// The kinds of open words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Open {
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
    /// A verb's past form, as it stands there.
    Participle,
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

const OPEN: [(&str, Open); 12] = [
    ("word", Open::Word),
    ("Name", Open::Name),
    ("plural", Open::Plural),
    ("third", Open::Third),
    ("past", Open::Past),
    ("ing", Open::Ing),
    ("participle", Open::Participle),
    ("label", Open::Label),
    ("number", Open::Number),
    ("symbol", Open::Symbol),
    ("comparative", Open::Comparative),
    ("superlative", Open::Superlative),
];

#[derive(Clone, Debug)]
pub(super) enum Means {
    Slot(usize),
    Leaf(Term),
    Fun(Name, Vec<Means>),
    /// The words themselves.
    Words,
    /// Other words for the same, sentence by sentence.
    Again(Vec<Vec<Means>>),
}

fn pattern_of(names: &Names, pattern: &str, slots: &mut Vec<String>) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    for part in pattern.split_whitespace() {
        if let Some(inner) = part.strip_prefix('{').and_then(|p| p.strip_suffix('}')) {
            let (what, slot) = inner.split_once(':').map_or((inner, None), |(w, s)| (w, Some(s)));
            let slot = slot.map(|s| {
                slots.push(s.to_owned());
                slots.len() - 1
            });
            let named = |group: &str| names.get(group).copied().ok_or_else(|| format!("nothing is called `{group}`"));
            if what == "rest" {
                pieces.push(Piece::Rest(None));
                continue;
            }
            if let Some(group) = what.strip_prefix("rest!") {
                pieces.push(Piece::Rest(Some(named(group)?)));
                continue;
            }
            if let Some(group) = what.strip_suffix(['~', '^']) {
                pieces.push(Piece::Among(named(group)?, slot, what.ends_with('^')));
                continue;
            }
            if let Some(group) = what.strip_suffix('*') {
                pieces.push(Piece::Many(named(group)?));
                continue;
            }
            pieces.push(match OPEN.iter().find(|(n, _)| *n == what) {
                Some((_, open)) => Piece::Open(*open, slot),
                None if what == "words" => Piece::Span(Run::Any, slot),
                None if what == "phrase" => Piece::Span(Run::Phrase, slot),
                None => Piece::Group(named(what)?, slot),
            });
        } else if let Some(word) = part.strip_suffix('?') {
            pieces.push(Piece::Maybe(Choice::read(word)));
        } else {
            pieces.push(Piece::Words(Choice::read(part)));
        }
    }
    if pieces.is_empty() { Err("a form needs at least one word".into()) } else { Ok(pieces) }
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

pub(super) fn fill(m: &Means, slots: &[Option<Term>], words: &[Word]) -> Option<Term> {
    Some(match m {
        Means::Words => Term::string(&words.iter().map(|w| w.lower.as_str()).collect::<Vec<_>>().join(" ")),
        Means::Slot(n) => slots.get(*n).cloned().flatten()?,
        Means::Leaf(t) => t.clone(),
        Means::Again(parts) => {
            let part = |p: &Vec<Means>| Some(Term::Fun("part".into(), p.iter().map(|m| fill(m, slots, words)).collect::<Option<_>>()?));
            Term::Fun("again".into(), parts.iter().map(part).collect::<Option<_>>()?)
        }
        Means::Fun(name, args) => {
            let args: Vec<Term> = args.iter().map(|a| fill(a, slots, words)).collect::<Option<_>>()?;
            match &**name {
                "join" => Term::string(&args.iter().map(name_in).collect::<Option<Vec<_>>>()?.join(" ").replace(" 's", "'s")),
                _ => Term::Fun(name.clone(), args),
            }
        }
    })
}

/// A name in other words: of a thing whose kind is told in passing the name alone, and of who is meant by no name none.
fn name_in(t: &Term) -> Option<String> {
    match t {
        Term::Fun(f, args) if matches!(&**f, "the" | "def") => args.first().and_then(name_in),
        Term::Fun(..) => None,
        _ => Some(t.as_name().map_or_else(|| t.to_string(), str::to_owned)),
    }
}
