//! Phrases of a file of replies: `(added|put) <ordered+> [(on|to) your order]`, with slots in braces and parts by name in angles;
//! `* <dropped+> * (off|removed) ~ i|have|now` has its members in any order, and between them any of the words behind `~`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::term::Name;
use crate::term::pattern::Pattern;

use super::words::{PAUSE, Phrase, tokens};

/// A piece of wording, with slots still open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    Seq(Vec<Shape>),
    /// One of these.
    Alt(Vec<Shape>),
    Word(String),
    /// A comma, or any sign that parts clauses, or nothing.
    Pause(Fill),
    Slot(Slot),
    Part(Part),
    /// All of these once, in any order, among words that assert nothing there.
    Bag(Vec<Shape>, Arc<Among>),
    /// What has no slot and no part says the same in every reply.
    Closed(Arc<Piece>),
}

/// A piece of wording of one reply: nothing in it is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// These in a row; with words of no weight between them, or not.
    Seq(Vec<Piece>, Fill),
    /// These once each, in any order, among words.
    Bag(Vec<Piece>, Arc<Among>),
    /// One of these.
    Alt(Vec<Piece>),
    /// A word, or one that says the same.
    Word(String),
    /// This very word: of a name, a number, a sentence of the template.
    Exact(String),
    /// A comma or nothing; where words belong together, any sign that parts clauses.
    Pause(Fill),
    /// A name without its last word, which the rest of a row gives: Cheese, Chicken and Steak Quesadilla; and whether a number counts it.
    Cut(Phrase, String, bool),
    /// A part by its place, or a list of such parts with the word before the last.
    Part(usize, Option<&'static str>),
    /// A piece that many replies share.
    Shared(Arc<Piece>),
}

/// Whether words of no weight may stand between the pieces of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// They may.
    Loose,
    /// The words belong together: a name, a number, a sentence of the template.
    Tight,
}

/// Runs of words by their first.
pub type Among = BTreeMap<String, Vec<Phrase>>;

/// A variable, and how it is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    pub var: Name,
    pub form: Form,
}

/// How a variable is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// `{X}`: as it is.
    Plain,
    /// `{the X}`: as something known, with or without an article.
    Known,
    /// `{it X}`: as a pronoun, where nothing else can be meant.
    Pronoun,
    /// `{N X}`: counted by `N`.
    Counted(Name),
    /// `{#N}`: the number before a noun.
    Number,
    /// `{N*X}`: the noun behind its number.
    Noun(Name),
    /// `{N~X}`: as something known, so many of them.
    All(Name),
    /// `{Xs}`: as a plural.
    Plural,
    /// `{X th}`: a place in a row.
    Ordinal,
    /// `{X|way}`: money, or a wording of the templates.
    Way(String),
}

/// A part of the grammar, or a list of such parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub name: Name,
    pub keys: Vec<Pattern>,
    /// The word before the last of several; a single one if there is none.
    pub list: Option<&'static str>,
}

/// Reads a phrase; the error says what was expected.
pub fn phrase(text: &str) -> Result<Shape, String> {
    if let Some(bag) = text.strip_prefix("* ") {
        let (members, words) = bag.split_once(" ~ ").unwrap_or((bag, ""));
        let members = members.split(" * ").map(|m| phrase(m.trim())).collect::<Result<_, _>>()?;
        return Ok(Shape::Bag(members, Arc::new(among(words)?)));
    }
    let mut rest = text;
    let shape = alternatives(&mut rest)?;
    if rest.is_empty() { Ok(shape) } else { Err(format!("the end of the phrase, not `{rest}`")) }
}

/// Words that may stand anywhere, by their first; they hold no slot and no part.
pub fn among(text: &str) -> Result<Among, String> {
    let mut out = Among::new();
    for run in phrase(text)?.runs().ok_or("words only")? {
        if let Some(first) = run.first() {
            out.entry(first.clone()).or_default().push(run);
        }
    }
    Ok(out)
}

fn alternatives(rest: &mut &str) -> Result<Shape, String> {
    let mut all = vec![sequence(rest)?];
    while let Some(after) = rest.strip_prefix('|') {
        *rest = after;
        all.push(sequence(rest)?);
    }
    Ok(if all.len() == 1 { all.remove(0) } else { Shape::Alt(all) })
}

fn sequence(rest: &mut &str) -> Result<Shape, String> {
    let mut out = vec![];
    while let Some(c) = rest.chars().next() {
        let inside = rest.get(1..).unwrap_or_default();
        match c {
            '|' | ')' | ']' => break,
            '(' | '[' => {
                let mut inner = inside;
                let shape = alternatives(&mut inner)?;
                let close = if c == '(' { ')' } else { ']' };
                *rest = inner.strip_prefix(close).ok_or_else(|| format!("`{close}`"))?;
                out.push(if c == '(' { shape } else { Shape::Alt(vec![shape, Shape::Seq(vec![])]) });
            }
            '{' | '<' => {
                let (content, after) = inside.split_once(if c == '{' { '}' } else { '>' }).ok_or("a closing brace")?;
                *rest = after;
                out.push(if c == '{' { Shape::Slot(slot(content)?) } else { Shape::Part(part(content)?) });
            }
            ',' | ':' | ';' => {
                *rest = inside;
                out.push(Shape::Pause(if c == ',' { Fill::Loose } else { Fill::Tight }));
            }
            _ => {
                let end = rest.find(['|', ')', ']', '(', '[', '{', '<', ',', ':', ';']).unwrap_or(rest.len());
                let (words, after) = rest.split_at(end);
                *rest = after;
                let own = words.strip_prefix("'s").filter(|rest| rest.is_empty() || rest.starts_with(' '));
                out.extend(own.map(|_| Shape::Word("'s".into())));
                let words = own.unwrap_or(words);
                out.extend(tokens(words).into_iter().map(Shape::Word));
            }
        }
    }
    Ok(Shape::Seq(out))
}

fn slot(text: &str) -> Result<Slot, String> {
    let made = |var: &str, form| Ok(Slot { var: var.trim().into(), form });
    if let Some((var, way)) = text.split_once('|') {
        return made(var, Form::Way(way.into()));
    }
    if let Some(var) = text.strip_prefix('#') {
        return made(var, Form::Number);
    }
    for (sign, form) in [('*', Form::Noun as fn(Name) -> Form), ('~', Form::All)] {
        if let Some((count, var)) = text.split_once(sign) {
            return made(var, form(count.into()));
        }
    }
    match text.split_once(' ') {
        None if text.len() == 2 && text.ends_with('s') => made(text.trim_end_matches('s'), Form::Plural),
        None => made(text, Form::Plain),
        Some(("the", var)) => made(var, Form::Known),
        Some(("it", var)) => made(var, Form::Pronoun),
        Some((var, "th")) => made(var, Form::Ordinal),
        Some((count, var)) => made(var, Form::Counted(count.into())),
    }
}

fn part(text: &str) -> Result<Part, String> {
    let (name, list) = match (text.strip_suffix("+or"), text.strip_suffix('+')) {
        (Some(name), _) => (name, Some("or")),
        (None, Some(name)) => (name, Some("and")),
        (None, None) => (text, None),
    };
    let pattern = Pattern::parse(name.trim())?;
    let (name, keys) = pattern.head().ok_or("the name of a part")?;
    Ok(Part { name: name.into(), keys: keys.to_vec(), list })
}

impl Shape {
    /// Calls on every slot and part.
    pub fn each<'a>(&'a self, on: &mut dyn FnMut(&'a Self)) {
        on(self);
        if let Self::Seq(all) | Self::Alt(all) | Self::Bag(all, _) = self {
            all.iter().for_each(|s| s.each(on));
        }
    }

    /// Everything that the shape says, if it is made of words.
    fn runs(&self) -> Option<Vec<Phrase>> {
        match self {
            Self::Word(w) => Some(vec![vec![w.clone()]]),
            Self::Alt(all) => Some(all.iter().map(Self::runs).collect::<Option<Vec<_>>>()?.concat()),
            Self::Seq(all) => all.iter().try_fold(vec![vec![]], |runs, next| {
                let next = next.runs()?;
                Some(runs.iter().flat_map(|r: &Phrase| next.iter().map(move |n| [r.as_slice(), n].concat())).collect())
            }),
            Self::Pause(_) => Some(vec![vec![PAUSE.into()]]),
            Self::Slot(_) | Self::Part(_) | Self::Bag(..) | Self::Closed(_) => None,
        }
    }

    /// The shape with all that is closed made into pieces, once for all replies.
    pub fn closing(self) -> Self {
        match self.closed() {
            Some(piece) => Self::Closed(Arc::new(piece)),
            None => match self {
                Self::Seq(all) => Self::Seq(all.into_iter().map(Self::closing).collect()),
                Self::Alt(all) => Self::Alt(all.into_iter().map(Self::closing).collect()),
                Self::Bag(all, among) => Self::Bag(all.into_iter().map(Self::closing).collect(), among),
                open => open,
            },
        }
    }

    fn closed(&self) -> Option<Piece> {
        let all = |shapes: &[Self]| shapes.iter().map(Self::closed).collect::<Option<Vec<_>>>();
        Some(match self {
            Self::Seq(shapes) => Piece::Seq(all(shapes)?, Fill::Loose),
            Self::Alt(shapes) => Piece::Alt(all(shapes)?),
            Self::Bag(shapes, among) => Piece::Bag(all(shapes)?, among.clone()),
            Self::Word(w) => Piece::Word(w.clone()),
            Self::Pause(fill) => Piece::Pause(*fill),
            Self::Closed(piece) => Piece::Shared(piece.clone()),
            Self::Slot(_) | Self::Part(_) => return None,
        })
    }
}
