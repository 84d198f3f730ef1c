//! Ground terms and atoms: the only language that crosses the border between words and logic.

pub mod pattern;

use std::fmt;
use std::sync::Arc;

use nom::branch::alt;
use nom::bytes::complete::take_while;
use nom::character::complete::{char, digit1, multispace0, satisfy};
use nom::combinator::{opt, recognize};
use nom::error::ErrorKind;
use nom::sequence::{delimited, pair};
use nom::{IResult, Parser};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use pattern::Pattern;

/// A shared, immutable name.
pub type Name = Arc<str>;

/// How deep a term may nest; deeper input is refused, so no parser or printer can run out of stack.
pub const MAX_DEPTH: usize = 16;

/// A ground term. The order of the variants is clingo's order of terms: numbers, constants, strings, functions.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Term {
    /// A 32-bit integer: clingo has no other.
    Int(i32),
    /// A lower-case constant.
    Const(Name),
    /// A double-quoted string: every name a person may say.
    Str(Name),
    /// A function term with at least one argument.
    Fun(Name, Vec<Term>),
}

/// A predicate with its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Atom {
    /// The predicate's name.
    pub name: Name,
    /// Its arguments, none for a bare constant.
    pub args: Vec<Term>,
}

/// Why a text is no atom.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TermError {
    /// The text does not follow the grammar.
    #[error("expected {expected} at character {at}")]
    Syntax {
        /// What would have been accepted.
        expected: &'static str,
        /// Character offset, from 0.
        at: usize,
    },
    /// An integer does not fit 32 bits.
    #[error("the number `{0}` does not fit 32 bits")]
    NumberTooLarge(String),
    /// Nested deeper than [`MAX_DEPTH`].
    #[error("the term nests deeper than {MAX_DEPTH} levels")]
    TooDeep,
}

impl Term {
    /// A constant.
    pub fn constant(name: &str) -> Self {
        Self::Const(name.into())
    }

    /// A string.
    pub fn string(text: &str) -> Self {
        Self::Str(text.into())
    }

    /// A count; more than a number can be is the largest one.
    pub fn number(n: usize) -> Self {
        Self::Int(i32::try_from(n).unwrap_or(i32::MAX))
    }

    /// The text of a string or the name of a constant; `None` for numbers and functions.
    pub fn as_name(&self) -> Option<&str> {
        match self {
            Self::Const(n) | Self::Str(n) => Some(n),
            _ => None,
        }
    }

    /// The value of a number.
    pub fn as_int(&self) -> Option<i32> {
        match self {
            Self::Int(n) => Some(*n),
            _ => None,
        }
    }

    /// The term as an atom: constants and functions are atoms too.
    pub fn to_atom(&self) -> Option<Atom> {
        match self {
            Self::Const(n) => Some(Atom { name: n.clone(), args: vec![] }),
            Self::Fun(n, args) => Some(Atom { name: n.clone(), args: args.clone() }),
            _ => None,
        }
    }

    /// Parses one term from the whole of `text`.
    ///
    /// ```
    /// use duologue::term::Term;
    /// assert_eq!(Term::parse("swap(\"Beef\", 3)").unwrap().to_string(), "swap(\"Beef\",3)");
    /// ```
    pub fn parse(text: &str) -> Result<Self, TermError> {
        Read::read(text)
    }
}

/// What the one grammar of terms is read into: terms, or terms with places left open.
pub trait Read: Sized {
    /// What is expected where nothing of it can begin.
    const EXPECTED: &'static str;

    /// A number, string or constant; nothing where none may stand.
    fn leaf(term: Term) -> Option<Self>;

    /// A function of at least one argument.
    fn function(name: Name, args: Vec<Self>) -> Self;

    /// An open place at the beginning of a text, and what follows it.
    fn open(_text: &str) -> Option<(Self, &str)> {
        None
    }

    /// Reads the whole of a text.
    fn read(text: &str) -> Result<Self, TermError> {
        check_depth(text)?;
        let syntax = |expected, rest: &str| TermError::Syntax { expected, at: text.chars().count().saturating_sub(rest.chars().count()) };
        match delimited(multispace0, term::<Self>, multispace0).parse(text) {
            Ok((_, Err(e))) => Err(e),
            Ok(("", t)) => t,
            Ok((rest, _)) => Err(syntax("the end of the term", rest)),
            Err(nom::Err::Error(e) | nom::Err::Failure(e)) => Err(match e.code {
                ErrorKind::Char => syntax("a comma or a closing bracket", e.input),
                ErrorKind::Eof => syntax("a closing quote", e.input),
                _ => syntax(Self::EXPECTED, e.input),
            }),
            Err(nom::Err::Incomplete(_)) => Err(syntax(Self::EXPECTED, "")),
        }
    }
}

impl Read for Term {
    const EXPECTED: &'static str = "a term";

    fn leaf(term: Term) -> Option<Self> {
        Some(term)
    }

    fn function(name: Name, args: Vec<Self>) -> Self {
        Self::Fun(name, args)
    }
}

impl Atom {
    /// An atom from its parts.
    pub fn new(name: &str, args: Vec<Term>) -> Self {
        Self { name: name.into(), args }
    }

    /// Parses one atom (`order("Soft Taco",2)`, `completed`) from the whole of `text`.
    ///
    /// ```
    /// use duologue::term::Atom;
    /// let atom = Atom::parse("order(\"Soft Taco\", 2)").unwrap();
    /// assert_eq!((&*atom.name, atom.args.len()), ("order", 2));
    /// assert!(Atom::parse("order(\"Soft Taco\", 3000000000)").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Self, TermError> {
        let term = Term::parse(text.trim().strip_suffix('.').unwrap_or(text))?;
        term.to_atom().ok_or(TermError::Syntax { expected: "a predicate", at: 0 })
    }

    /// `name/arity`, as diagnostics write it.
    pub fn signature(&self) -> String {
        format!("{}/{}", self.name, self.args.len())
    }

    /// The atom as a term, for use inside another atom.
    pub fn to_term(&self) -> Term {
        if self.args.is_empty() { Term::Const(self.name.clone()) } else { Term::Fun(self.name.clone(), self.args.clone()) }
    }
}

fn check_depth(text: &str) -> Result<(), TermError> {
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for c in text.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            '(' if !in_string => depth += 1,
            ')' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(TermError::TooDeep);
        }
    }
    Ok(())
}

type Parsed<'a, T> = IResult<&'a str, Result<T, TermError>>;

fn term<T: Read>(i: &str) -> Parsed<'_, T> {
    if let Some((open, rest)) = T::open(i) {
        return Ok((rest, Ok(open)));
    }
    let leaf = |rest, t: Result<Term, TermError>| match t.map(T::leaf) {
        Ok(None) => Err(no_term(i, ErrorKind::Verify)),
        Ok(Some(t)) => Ok((rest, Ok(t))),
        Err(e) => Ok((rest, Err(e))),
    };
    match i.chars().next() {
        Some('"') => return string(i).and_then(|(rest, t)| leaf(rest, Ok(t))),
        Some('-' | '0'..='9') => return number(i).and_then(|(rest, t)| leaf(rest, t)),
        _ => {}
    }
    let (rest, name) = identifier(i)?;
    let Some(mut rest) = rest.strip_prefix('(') else { return leaf(rest, Ok(Term::constant(name))) };
    let mut args = Vec::new();
    loop {
        let (after, arg) = delimited(multispace0, term::<T>, multispace0).parse(rest)?;
        match arg {
            Ok(t) => args.push(t),
            Err(e) => return Ok((after, Err(e))),
        }
        let (after, sep) = alt((char(','), char(')'))).parse(after)?;
        rest = after;
        if sep == ')' {
            return Ok((rest, Ok(T::function(name.into(), args))));
        }
    }
}

fn no_term(at: &str, code: ErrorKind) -> nom::Err<nom::error::Error<&str>> {
    nom::Err::Error(nom::error::Error::new(at, code))
}

fn number(i: &str) -> Parsed<'_, Term> {
    let (rest, digits) = recognize(pair(opt(char('-')), digit1)).parse(i)?;
    let value = digits.parse::<i32>().map(Term::Int).map_err(|_| TermError::NumberTooLarge(digits.chars().take(40).collect()));
    Ok((rest, value))
}

fn string(i: &str) -> IResult<&str, Term> {
    let (mut rest, _) = char('"').parse(i)?;
    let mut text = String::new();
    loop {
        let mut chars = rest.chars();
        match chars.next() {
            Some('"') => return Ok((chars.as_str(), Term::Str(text.into()))),
            Some('\\') => match chars.next() {
                Some('n') => text.push('\n'),
                Some(c @ ('"' | '\\')) => text.push(c),
                _ => return Err(no_term(rest, ErrorKind::Escaped)),
            },
            Some(c) => text.push(c),
            None => return Err(no_term(rest, ErrorKind::Eof)),
        }
        rest = chars.as_str();
    }
}

fn identifier(i: &str) -> IResult<&str, &str> {
    recognize((take_while(|c| c == '_'), satisfy(|c: char| c.is_ascii_lowercase()), take_while(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '\'')))
        .parse(i)
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(n) => write!(f, "{n}"),
            Self::Const(n) => f.write_str(n),
            Self::Str(s) => {
                f.write_str("\"")?;
                for c in s.chars() {
                    match c {
                        '"' => f.write_str("\\\"")?,
                        '\\' => f.write_str("\\\\")?,
                        '\n' => f.write_str("\\n")?,
                        c => write!(f, "{c}")?,
                    }
                }
                f.write_str("\"")
            }
            Self::Fun(n, args) => call(f, n, args),
        }
    }
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        call(f, &self.name, &self.args)
    }
}

fn call(f: &mut fmt::Formatter<'_>, name: &str, args: &[Term]) -> fmt::Result {
    f.write_str(name)?;
    for (i, a) in args.iter().enumerate() {
        write!(f, "{}{a}", if i == 0 { "(" } else { "," })?;
    }
    if args.is_empty() { Ok(()) } else { f.write_str(")") }
}

impl Serialize for Atom {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Atom {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

impl std::str::FromStr for Atom {
    type Err = TermError;
    fn from_str(s: &str) -> Result<Self, Self::Err> {
        Self::parse(s)
    }
}

/// Atoms in one line.
pub fn in_line(atoms: &[Atom]) -> String {
    atoms.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// Splits `a(1,2), b. c` at commas, points and blanks outside parentheses and quotes.
pub fn split_atoms(text: &str) -> Vec<String> {
    let (mut out, mut current, mut depth, mut in_string, mut escaped) = (vec![], String::new(), 0i32, false, false);
    for c in text.chars() {
        let between = depth <= 0 && !in_string && (c == ',' || c == '.' || c == ';' || c.is_whitespace());
        if between {
            if !current.is_empty() {
                out.push(std::mem::take(&mut current));
            }
            continue;
        }
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            '(' if !in_string => depth += 1,
            ')' if !in_string => depth -= 1,
            _ => {}
        }
        current.push(c);
    }
    if !current.is_empty() {
        out.push(current);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_people_and_models_write() {
        for (text, printed) in [
            ("completed", "completed"),
            (" order( \"Soft Taco\" , 2 ) ", "order(\"Soft Taco\",2)"),
            ("update(\"A\",change,swap(\"B\",\"C\")).", "update(\"A\",change,swap(\"B\",\"C\"))"),
            ("p(\"say \\\"hi\\\"\\n\",-3)", "p(\"say \\\"hi\\\"\\n\",-3)"),
        ] {
            assert_eq!(Atom::parse(text).unwrap().to_string(), printed);
        }
    }

    #[test]
    fn refuses_what_is_no_atom() {
        for text in ["", "Order(1)", "order(", "order()", "order(1) x", "3", "\"name\"", "p(\"open)", "p(X)", "p(1+2)", "p(3000000000)", "p;q"] {
            assert!(Atom::parse(text).is_err(), "{text}");
        }
        let deep = format!("{}a{}", "f(".repeat(20), ")".repeat(20));
        assert_eq!(Atom::parse(&deep), Err(TermError::TooDeep));
    }

    fn any_term() -> impl Strategy<Value = Term> {
        let leaf = prop_oneof![
            any::<i32>().prop_map(Term::Int),
            "[a-z][a-zA-Z0-9_]{0,8}".prop_map(|s| Term::constant(&s)),
            any::<String>().prop_map(|s| Term::string(&s)),
        ];
        leaf.prop_recursive(3, 16, 3, |inner| ("[a-z][a-z_]{0,6}", prop::collection::vec(inner, 1..4)).prop_map(|(n, a)| Term::Fun(n.as_str().into(), a)))
    }

    proptest! {
        #[test]
        fn printing_then_parsing_is_the_identity(t in any_term()) {
            prop_assert_eq!(Term::parse(&t.to_string()), Ok(t));
        }

        #[test]
        fn any_text_is_read_or_refused_without_a_panic(text in any::<String>()) {
            let _ = Atom::parse(&text);
        }
    }
}
