//! Tokens of a rule file with their places.

use nom::branch::alt;
use nom::bytes::complete::{is_not, tag, take_until, take_while, take_while1};
use nom::character::complete::{anychar, char, digit1, multispace1, satisfy};
use nom::combinator::{map, opt, recognize, rest};
use nom::sequence::{delimited, pair, preceded};
use nom::{IResult, Parser};

use super::Span;

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// Digits.
    Int(String),
    /// A lower-case name.
    Ident(String),
    /// An upper-case name.
    Var(String),
    /// `_`
    Anonymous,
    /// A string, unescaped.
    Str(String),
    /// `#word`
    Directive(String),
    /// An operator or bracket.
    Sign(&'static str),
    /// The end of a statement.
    Dot,
    /// A `%:` line.
    Reading(String),
    /// A character that begins no token.
    Unknown(char),
}

/// A token and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lexeme {
    /// The token.
    pub token: Token,
    /// Its place.
    pub span: Span,
}

/// Longer signs stand before their prefixes.
const SIGNS: [&str; 31] = [
    ":~", ":-", "..", "**", "!=", "<>", "<=", ">=", "==", "=", "<", ">", "+", "-", "*", "/", "\\", "|", "(", ")", "{", "}", "[", "]", ",", ";", ":", "@", "&",
    "?", "~",
];

fn escaped(i: &str) -> IResult<&str, String> {
    let mut out = String::new();
    let (mut i, _) = char('"').parse(i)?;
    loop {
        let (after, piece) = opt(is_not("\\\"\n")).parse(i)?;
        out.push_str(piece.unwrap_or(""));
        let (after, c) = anychar.parse(after)?;
        match c {
            '"' => return Ok((after, out)),
            '\\' => {
                let (after, c) = anychar.parse(after)?;
                match c {
                    'n' => out.push('\n'),
                    '"' | '\\' => out.push(c),
                    _ => return Err(nom::Err::Error(nom::error::Error::new(i, nom::error::ErrorKind::Escaped))),
                }
                i = after;
            }
            _ => return Err(nom::Err::Error(nom::error::Error::new(i, nom::error::ErrorKind::Char))),
        }
    }
}

fn word(i: &str) -> IResult<&str, &str> {
    take_while(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '\'').parse(i)
}

fn token(i: &str) -> IResult<&str, Option<Token>> {
    alt((
        map(multispace1, |_| None),
        map(delimited(tag("%*"), take_until("*%"), tag("*%")), |_| None),
        map(preceded(tag("%:"), alt((take_until("\n"), rest))), |t: &str| Some(Token::Reading(t.trim().to_owned()))),
        map(preceded(char('%'), alt((take_until("\n"), rest))), |_| None),
        map(digit1, |d: &str| Some(Token::Int(d.to_owned()))),
        map(escaped, |s| Some(Token::Str(s))),
        map(recognize((take_while(|c| c == '_'), satisfy(|c| c.is_ascii_lowercase()), word)), |s: &str| Some(Token::Ident(s.to_owned()))),
        map(recognize((take_while(|c| c == '_'), satisfy(|c| c.is_ascii_uppercase()), word)), |s: &str| Some(Token::Var(s.to_owned()))),
        map(char('_'), |_| Some(Token::Anonymous)),
        map(recognize((char('#'), take_while1(|c: char| c.is_ascii_lowercase()), opt(char('+')))), |s: &str| Some(Token::Directive(s.to_owned()))),
        sign,
        map(char('.'), |_| Some(Token::Dot)),
        map(pair(anychar, nom::combinator::success(())), |(c, ())| Some(Token::Unknown(c))),
    ))
    .parse(i)
}

fn sign(i: &str) -> IResult<&str, Option<Token>> {
    match SIGNS.iter().find(|s| i.starts_with(**s)) {
        Some(s) => Ok((i.get(s.len()..).unwrap_or(""), Some(Token::Sign(s)))),
        None => Err(nom::Err::Error(nom::error::Error::new(i, nom::error::ErrorKind::Tag))),
    }
}

/// All tokens of a text. Never fails: what is no token becomes [`Token::Unknown`].
pub fn lex(text: &str) -> Vec<Lexeme> {
    let mut out = Vec::new();
    let mut left = text;
    while !left.is_empty() {
        let start = text.len() - left.len();
        let Ok((after, token)) = token(left) else { break };
        let end = text.len() - after.len();
        if let Some(token) = token {
            out.push(Lexeme { token, span: start..end });
        }
        left = after;
    }
    out
}
