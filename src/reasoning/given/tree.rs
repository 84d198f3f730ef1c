//! Formal text to trees: one grammar for first-order notation, `>>>` rules, comparisons and calls in the manner of programs.
//!
//! A bracket that is missing at the end is added, one too many there is dropped, and both are counted: no other place is possible
//! for them without guessing.

use nom::branch::alt;
use nom::bytes::complete::{tag, take_while};
use nom::character::complete::{char, digit1, multispace0, none_of, satisfy};
use nom::combinator::{map, opt, recognize};
use nom::multi::many0;
use nom::sequence::{delimited, pair};
use nom::{IResult, Parser};

use super::Fault;

/// What a formal text consists of, before it means anything.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    /// A number.
    Number(i32),
    /// A name, with its column.
    Name(String, usize),
    /// A name with arguments, with its column.
    Call(String, Vec<Tree>, usize),
    /// `[a, b]`
    List(Vec<Tree>),
    /// `x:sort`
    Typed(Box<Tree>, Box<Tree>),
    /// `∀x` or `∃x` before a statement.
    Quantified(bool, String, Box<Tree>),
    /// An operation before its argument: `not` or `-`.
    Prefix(&'static str, Box<Tree>),
    /// An operation between its arguments.
    Infix(&'static str, Box<Tree>, Box<Tree>),
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(i32),
    Name(String),
    /// `∀` or `∃`
    Binder(bool),
    Op(&'static str),
    Open(char),
    Close(char),
    Comma,
    Colon,
}

/// The operations, longest first, and what they are called here.
const OPERATIONS: [(&str, &str); 36] = [
    (">>>", ">>>"),
    ("<->", "iff"),
    ("<=>", "iff"),
    ("->", "->"),
    ("=>", "->"),
    ("==", "="),
    ("!=", "!="),
    ("<=", "<="),
    (">=", ">="),
    ("&&", "and"),
    ("||", "or"),
    ("→", "->"),
    ("⇒", "->"),
    ("↔", "iff"),
    ("⟷", "iff"),
    ("⇔", "iff"),
    ("∧", "and"),
    ("∨", "or"),
    ("⊕", "xor"),
    ("¬", "not"),
    ("≠", "!="),
    ("≤", "<="),
    ("≥", ">="),
    ("∈", "in"),
    ("&", "and"),
    ("|", "or"),
    ("^", "xor"),
    ("~", "not"),
    ("!", "not"),
    ("=", "="),
    ("<", "<"),
    (">", ">"),
    ("+", "+"),
    ("-", "-"),
    ("*", "*"),
    ("%", "%"),
];

/// Words that stand between or before arguments.
fn word_operation(word: &str, next_opens: bool) -> Option<&'static str> {
    match word.to_lowercase().as_str() {
        // `And(…)` is a call.
        _ if next_opens && word.starts_with(|c: char| c.is_uppercase()) => None,
        "and" => Some("and"),
        "or" => Some("or"),
        "xor" => Some("xor"),
        "not" => Some("not"),
        "in" => Some("in"),
        "mod" => Some("%"),
        "implies" => Some("->"),
        "iff" => Some("iff"),
        _ => None,
    }
}

fn token(i: &str) -> IResult<&str, Token> {
    let number = map(digit1, |d: &str| d.parse().map_or_else(|_| Token::Name(d.to_owned()), Token::Number));
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '\'' | '’' | '.');
    let name = map(recognize(pair(satisfy(|c: char| c.is_alphabetic() || matches!(c, '_' | '$')), take_while(plain))), |n: &str| Token::Name(n.to_owned()));
    // A name that begins with digits: `2008SummerOlympics`.
    let odd = map(recognize((digit1, opt((char('.'), digit1)), satisfy(|c: char| c.is_alphabetic() || c == '_'), take_while(plain))), |n: &str| {
        Token::Name(n.to_owned())
    });
    let quoted = |q: char| map(delimited(char(q), recognize(many0(none_of(if q == '"' { "\"" } else { "'" }))), char(q)), |t: &str| Token::Name(t.to_owned()));
    let mark = alt((
        map(char('∀'), |_| Token::Binder(true)),
        map(char('∃'), |_| Token::Binder(false)),
        map(satisfy(|c| matches!(c, '(' | '[' | '{')), Token::Open),
        map(satisfy(|c| matches!(c, ')' | ']' | '}')), Token::Close),
        map(char(','), |_| Token::Comma),
        map(char(':'), |_| Token::Colon),
    ));
    // What is no whole number is a name.
    let decimal = map(recognize((digit1, char('.'), digit1)), |n: &str| Token::Name(n.to_owned()));
    alt((odd, decimal, number, name, quoted('"'), quoted('\''), mark, operation)).parse(i)
}

fn operation(i: &str) -> IResult<&str, Token> {
    for (text, name) in OPERATIONS {
        if let Ok((rest, _)) = tag::<_, _, nom::error::Error<&str>>(text).parse(i) {
            return Ok((rest, Token::Op(name)));
        }
    }
    Err(nom::Err::Error(nom::error::Error::new(i, nom::error::ErrorKind::Tag)))
}

fn tokens(text: &str) -> Result<Vec<(Token, usize)>, Fault> {
    let mut out: Vec<(Token, usize)> = vec![];
    let mut rest = text;
    loop {
        rest = multispace0::<_, nom::error::Error<&str>>.parse(rest).map_or(rest, |(r, _)| r).trim_start();
        let column = text.chars().count() - rest.chars().count() + 1;
        if rest.is_empty() {
            return Ok(out);
        }
        let Ok((after, t)) = token(rest) else { return Err(Fault::new(column, format!("`{}` begins nothing", rest.chars().take(1).collect::<String>()))) };
        let t = match t {
            Token::Name(n) => {
                // A full stop ends the statement, it is of no name.
                let n = n.trim_end_matches('.').to_owned();
                let opens = after.trim_start().starts_with('(');
                let operand = matches!(out.last(), Some((Token::Name(_) | Token::Number(_) | Token::Close(_), _)));
                match word_operation(&n, opens && !operand) {
                    Some(op) => Token::Op(op),
                    None => Token::Name(n),
                }
            }
            t => t,
        };
        out.push((t, column));
        rest = after;
    }
}

/// How tightly an operation between arguments binds, and whether from the right.
fn binding(op: &str) -> (u8, bool) {
    match op {
        ">>>" => (1, false),
        "iff" => (2, false),
        "->" => (3, true),
        "or" | "xor" => (4, false),
        "and" => (5, false),
        "=" | "!=" | "<" | "<=" | ">" | ">=" | "in" => (7, false),
        "+" | "-" => (8, false),
        "*" | "%" => (9, false),
        _ => (0, false),
    }
}

/// What was repaired in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repairs(pub usize);

struct Reading<'a> {
    tokens: &'a [(Token, usize)],
    at: usize,
    end: usize,
    /// Whether a quantifier reaches as far right as it can, or to the next statement only.
    wide: bool,
    /// Whether a comma stands between statements: in brackets that are no arguments it can only join them.
    commas: bool,
    repairs: usize,
    depth: usize,
}

/// How deep brackets may nest.
const MAX_DEPTH: usize = 60;

impl Reading<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|t| &t.0)
    }

    fn column(&self) -> usize {
        self.tokens.get(self.at).map_or(self.end, |t| t.1)
    }

    fn take(&mut self, t: &Token) -> bool {
        let yes = self.peek() == Some(t);
        self.at += usize::from(yes);
        yes
    }

    fn fault(&self, message: impl Into<String>) -> Fault {
        Fault::new(self.column(), message)
    }

    fn expression(&mut self, least: u8) -> Result<Tree, Fault> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.fault(format!("brackets nest deeper than {MAX_DEPTH} levels")));
        }
        let mut left = self.operand(least)?;
        loop {
            let op = match self.peek() {
                Some(Token::Op(op)) => *op,
                Some(Token::Comma) if self.commas => "and",
                _ => break,
            };
            let (level, right) = binding(op);
            // `x not in [a]`
            if op == "not" && matches!(self.tokens.get(self.at + 1), Some((Token::Op("in"), _))) && least <= 7 {
                self.at += 2;
                let list = self.expression(8)?;
                left = Tree::Prefix("not", Box::new(Tree::Infix("in", Box::new(left), Box::new(list))));
                continue;
            }
            if level == 0 || level < least {
                break;
            }
            self.repairs += usize::from(self.peek() == Some(&Token::Comma));
            self.at += 1;
            let next = self.expression(if right { level } else { level + 1 })?;
            left = match left {
                // `1 <= x <= 5`
                Tree::Infix(first, a, b) if level == 7 && binding(first).0 == 7 => {
                    let second = Tree::Infix(op, b.clone(), Box::new(next));
                    Tree::Infix("and", Box::new(Tree::Infix(first, a, b)), Box::new(second))
                }
                left => Tree::Infix(op, Box::new(left), Box::new(next)),
            };
        }
        self.depth -= 1;
        Ok(left)
    }

    fn operand(&mut self, least: u8) -> Result<Tree, Fault> {
        let column = self.column();
        let Some(t) = self.peek().cloned() else { return Err(self.fault("something is missing at the end")) };
        self.at += 1;
        Ok(match t {
            Token::Number(n) => Tree::Number(n),
            Token::Op("not") => Tree::Prefix("not", Box::new(self.expression(least.max(7))?)),
            Token::Op("-") => Tree::Prefix("-", Box::new(self.expression(10)?)),
            Token::Binder(all) => {
                let Some(Token::Name(v)) = self.peek().cloned() else { return Err(self.fault("a variable should follow the quantifier")) };
                self.at += 1;
                let mut more = vec![v];
                while self.peek() == Some(&Token::Comma)
                    && let Some((Token::Name(v), _)) = self.tokens.get(self.at + 1).cloned()
                {
                    self.at += 2;
                    more.push(v);
                }
                self.take(&Token::Op("."));
                let inner = self.expression(if self.wide { 2 } else { 7 })?;
                more.into_iter().rev().fold(inner, |inner, v| Tree::Quantified(all, v, Box::new(inner)))
            }
            Token::Open('(') => {
                let outer = std::mem::replace(&mut self.commas, true);
                let inner = self.expression(1)?;
                self.commas = outer;
                self.close(')')?;
                inner
            }
            Token::Open(c) => Tree::List(self.arguments(if c == '{' { '}' } else { ']' })?),
            Token::Name(n) if self.take(&Token::Open('(')) => Tree::Call(n, self.arguments(')')?, column),
            Token::Name(n) => Tree::Name(n, column),
            other => {
                self.at -= 1;
                return Err(self.fault(format!("{} does not belong here", shown(&other))));
            }
        })
    }

    fn arguments(&mut self, close: char) -> Result<Vec<Tree>, Fault> {
        let outer = std::mem::replace(&mut self.commas, false);
        let found = self.listed(close);
        self.commas = outer;
        found
    }

    fn listed(&mut self, close: char) -> Result<Vec<Tree>, Fault> {
        let mut out = vec![];
        if self.take(&Token::Close(close)) {
            return Ok(out);
        }
        loop {
            let mut t = self.expression(1)?;
            if self.take(&Token::Colon) {
                t = Tree::Typed(Box::new(t), Box::new(self.expression(8)?));
            }
            out.push(t);
            if !self.take(&Token::Comma) {
                self.close(close)?;
                return Ok(out);
            }
        }
    }

    fn close(&mut self, close: char) -> Result<(), Fault> {
        if self.take(&Token::Close(close)) {
            return Ok(());
        }
        if self.at >= self.tokens.len() {
            self.repairs += 1;
            return Ok(());
        }
        Err(self.fault(format!("`{close}` is missing before {}", self.peek().map_or_else(String::new, shown))))
    }
}

fn shown(t: &Token) -> String {
    match t {
        Token::Number(n) => format!("`{n}`"),
        Token::Name(n) => format!("`{n}`"),
        Token::Binder(all) => format!("`{}`", if *all { '∀' } else { '∃' }),
        Token::Op(o) => format!("`{o}`"),
        Token::Open(c) | Token::Close(c) => format!("`{c}`"),
        Token::Comma => "`,`".to_owned(),
        Token::Colon => "`:`".to_owned(),
    }
}

/// Reads a text; `wide` quantifiers reach to the end of their bracket, others to the next statement only.
pub fn parse(text: &str, wide: bool, repairs: &mut Repairs) -> Result<Tree, Fault> {
    let all = tokens(text)?;
    let mut p = Reading { tokens: &all, at: 0, end: text.chars().count() + 1, wide, commas: false, repairs: 0, depth: 0 };
    let tree = p.expression(1)?;
    while p.at < all.len() {
        if !matches!(p.peek(), Some(Token::Close(_))) {
            return Err(p.fault(format!("{} does not belong here", p.peek().map_or_else(String::new, shown))));
        }
        p.at += 1;
        p.repairs += 1;
    }
    repairs.0 += p.repairs;
    Ok(tree)
}
