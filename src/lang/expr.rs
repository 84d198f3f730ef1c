//! Conditions as authors write them: comparisons of paths and values, claims and clicks of the speaker, patterns, and plain words, with the
//! place of every part.

use std::ops::Range;

use crate::ir::guard::Compare;

/// A condition, or part of one.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// All of these hold.
    All(Vec<Expr>),
    /// One of these holds.
    Any(Vec<Expr>),
    /// It does not hold.
    Not(Box<Expr>),
    /// Two sides compare so.
    Compare(Side, Compare, Side),
    /// `re.match(pattern, path)`.
    Match(String, Side),
    /// The speaker claims one of these phrases.
    Claims(Vec<String>, Range<usize>),
    /// The speaker clicked one of these.
    Clicks(Vec<String>, Range<usize>),
    /// A path or value by itself.
    Bare(Side),
    /// Plain words, for whoever listens to judge.
    Words(String, Range<usize>),
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// What is written, without quotes.
    pub text: String,
    /// It stands in quotes.
    pub quoted: bool,
    /// Its bytes in the condition.
    pub span: Range<usize>,
}

/// Why a condition cannot be read, where, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
    /// Where, in bytes of the condition.
    pub span: Range<usize>,
    /// It can be read all the same.
    pub mild: bool,
}

/// Reads a condition. `names` tells whether a text names a value, an outcome or the like by itself, so that it is no plain words.
pub fn read(text: &str, names: &dyn Fn(&str) -> bool) -> (Option<Expr>, Vec<Fault>) {
    let mut faults = vec![];
    let (tokens, mut lexed) = tokens(text);
    faults.append(&mut lexed);
    if text.trim().is_empty() {
        let span = 0..text.len();
        return (None, vec![fault("the condition is empty", "write what has to hold", span)]);
    }
    if let Some(called) = called(text, &tokens) {
        return (None, vec![called]);
    }
    let looks = tokens.iter().any(|t| matches!(t.kind, Kind::Compare(_) | Kind::Single | Kind::Pattern)) || has_intent(text);
    if !looks && !names(strip_not(text)) && !parts(&tokens).iter().any(|p| names(text.get(p.clone()).unwrap_or("").trim())) {
        let trimmed = text.trim();
        let at = text.find(trimmed).unwrap_or(0);
        return (Some(Expr::Words(trimmed.to_owned(), at..at + trimmed.len())), vec![]);
    }
    let mut reader = Reader { text, tokens: &tokens, at: 0, names, faults, depth: 0 };
    let expr = reader.any();
    if let (Some(_), Some(t)) = (&expr, reader.peek()) {
        let span = t.span.clone();
        let shown = text.get(span.clone()).unwrap_or("").to_owned();
        reader.faults.push(fault(&format!("`{shown}` is not expected here"), "join conditions with `and` or `or`", span));
    }
    let broken = reader.faults.iter().any(|f| !f.mild);
    (expr.filter(|_| !broken), reader.faults)
}

/// A function where a condition begins: the only one that conditions know is `re.match`.
fn called(text: &str, tokens: &[Token]) -> Option<Fault> {
    let mut tokens = tokens.iter().skip_while(|t| matches!(t.kind, Kind::Not | Kind::Open));
    let (name, open) = (tokens.next().filter(|t| t.kind == Kind::Word)?, tokens.next()?);
    if open.kind != Kind::Open || open.span.start != name.span.end {
        return None;
    }
    let shown = text.get(name.span.clone()).unwrap_or("");
    let help = if shown.starts_with("re.") {
        "write re.match(\"PATTERN\", ARGUMENT)".to_owned()
    } else {
        format!("call it in a step before, and compare what it gave: `{shown}.NAME`")
    };
    Some(fault(&format!("`{shown}` cannot be called in a condition"), &help, name.span.clone()))
}

fn fault(message: &str, help: &str, span: Range<usize>) -> Fault {
    Fault { message: message.to_owned(), help: help.to_owned(), span, mild: false }
}

fn strip_not(text: &str) -> &str {
    let t = text.trim();
    t.strip_prefix("not ").map_or(t, str::trim)
}

/// Whether the text speaks of a claim or a click of the user.
fn has_intent(text: &str) -> bool {
    intent_at(text).is_some()
}

/// Where `the user claims` or `the user clicks` begins and ends in a text, outside of quotes.
fn intent_at(text: &str) -> Option<(Range<usize>, bool)> {
    let lower = text.to_ascii_lowercase();
    let mut best: Option<(Range<usize>, bool)> = None;
    for (word, clicks) in [("claims", false), ("clicks", true)] {
        for (at, _) in lower.match_indices(word) {
            let Some(before) = lower.get(..at) else { continue };
            let head = before.trim_end();
            let Some(rest) = head.strip_suffix("user").map(str::trim_end) else { continue };
            let Some(start) = rest.strip_suffix("the").map(str::len) else { continue };
            let boundary = rest.get(..start).is_some_and(|r| !r.ends_with(|c: char| c.is_alphanumeric() || c == '_'));
            let gap = head.len() < before.len() && lower.get(at + word.len()..).is_none_or(|r| !r.starts_with(|c: char| c.is_alphanumeric() || c == '_'));
            if boundary && gap && !in_quotes(text, start) && best.as_ref().is_none_or(|(r, _)| start < r.start) {
                best = Some((start..at + word.len(), clicks));
            }
        }
    }
    best
}

/// Whether a byte of the text stands within double quotes.
fn in_quotes(text: &str, at: usize) -> bool {
    let mut open = false;
    let mut escaped = false;
    for c in text.get(..at).unwrap_or("").chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => open = !open,
            _ => {}
        }
    }
    open
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    /// `(`
    Open,
    /// `)`
    Close,
    /// `,`
    Comma,
    And,
    Or,
    Not,
    Compare(Compare),
    /// A single `=`.
    Single,
    /// A quoted text, read.
    Quoted(String),
    /// `re.match`
    Pattern,
    /// `the user claims`, `the user clicks`
    Intent(bool),
    /// Any other word.
    Word,
}

#[derive(Clone, Debug)]
struct Token {
    kind: Kind,
    span: Range<usize>,
}

fn is_word(c: char) -> bool {
    !c.is_whitespace() && !matches!(c, '(' | ')' | ',' | '=' | '!' | '<' | '>' | '"')
}

fn tokens(text: &str) -> (Vec<Token>, Vec<Fault>) {
    let (mut out, mut faults): (Vec<Token>, Vec<Fault>) = (vec![], vec![]);
    let mut at = 0;
    while let Some(c) = text.get(at..).and_then(|r| r.chars().next()) {
        let rest = text.get(at..).unwrap_or("");
        let one = |kind, n| Some((kind, n));
        let read: Option<(Kind, usize)> = match c {
            c if c.is_whitespace() => {
                at += c.len_utf8();
                continue;
            }
            '(' => one(Kind::Open, 1),
            ')' => one(Kind::Close, 1),
            ',' => one(Kind::Comma, 1),
            '=' if rest.starts_with("==") => one(Kind::Compare(Compare::Is), 2),
            '!' if rest.starts_with("!=") => one(Kind::Compare(Compare::IsNot), 2),
            '>' if rest.starts_with(">=") => one(Kind::Compare(Compare::AtLeast), 2),
            '<' if rest.starts_with("<=") => one(Kind::Compare(Compare::AtMost), 2),
            '>' => one(Kind::Compare(Compare::More), 1),
            '<' => one(Kind::Compare(Compare::Less), 1),
            '=' => one(Kind::Single, 1),
            '"' => Some(quoted(rest, '"', false).unwrap_or_else(|| {
                faults.push(fault("this quote is never closed", "write `\"` at the end of the text", at..at + 1));
                (Kind::Quoted(rest.get(1..).unwrap_or("").to_owned()), rest.len())
            })),
            '\'' if starts_value(&out) && quoted(rest, '\'', false).is_some() => quoted(rest, '\'', false),
            'r' | 'R' if matches!(rest.chars().nth(1), Some('"' | '\'')) => {
                let q = rest.chars().nth(1).unwrap_or('"');
                rest.get(1..).and_then(|r| quoted(r, q, true)).map(|(k, n)| (k, n + 1))
            }
            _ => None,
        };
        let (kind, len) = read.unwrap_or_else(|| word(rest));
        out.push(Token { kind, span: at..at + len });
        at += len;
    }
    (out, faults)
}

/// An apostrophe opens a text where a value may begin, not within words.
fn starts_value(before: &[Token]) -> bool {
    before.last().is_none_or(|t| !matches!(t.kind, Kind::Word))
}

/// A text in quotes at the beginning of `rest`, and how many bytes it takes.
fn quoted(rest: &str, quote: char, raw: bool) -> Option<(Kind, usize)> {
    let mut out = String::new();
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((n, c)) = chars.next() {
        match c {
            c if c == quote => return Some((Kind::Quoted(out), n + c.len_utf8())),
            '\\' => match chars.peek().copied() {
                Some((_, q)) if q == quote || (!raw && q == '\\') => {
                    // In a raw text the backslash stays, as in Python; the quote does not end it.
                    if raw {
                        out.push('\\');
                    }
                    out.push(q);
                    chars.next();
                }
                _ => out.push('\\'),
            },
            c => out.push(c),
        }
    }
    None
}

fn word(rest: &str) -> (Kind, usize) {
    if let Some((span, clicks)) = intent_at(rest).filter(|(s, _)| s.start == 0) {
        return (Kind::Intent(clicks), span.len());
    }
    if rest.strip_prefix("re.match").is_some_and(|after| after.is_empty() || after.starts_with(|c: char| c == '(' || c.is_whitespace())) {
        return (Kind::Pattern, "re.match".len());
    }
    let len: usize = rest.chars().take_while(|c| is_word(*c)).map(char::len_utf8).sum();
    let len = len.max(rest.chars().next().map_or(1, char::len_utf8));
    match rest.get(..len) {
        Some("and") => (Kind::And, len),
        Some("or") => (Kind::Or, len),
        Some("not") => (Kind::Not, len),
        _ => (Kind::Word, len),
    }
}

/// The parts of a condition between `and`, `or`, `not` and parentheses.
fn parts(tokens: &[Token]) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = vec![];
    let mut open: Option<Range<usize>> = None;
    for t in tokens {
        if matches!(t.kind, Kind::And | Kind::Or | Kind::Not | Kind::Open | Kind::Close) {
            out.extend(open.take());
        } else {
            open = Some(open.map_or(t.span.clone(), |o| o.start..t.span.end));
        }
    }
    out.extend(open);
    out
}

struct Reader<'a> {
    text: &'a str,
    tokens: &'a [Token],
    at: usize,
    names: &'a dyn Fn(&str) -> bool,
    faults: Vec<Fault>,
    depth: usize,
}

/// How deep parentheses may nest.
const MOST_DEPTH: usize = 50;

impl Reader<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn kind(&self) -> Option<&Kind> {
        self.peek().map(|t| &t.kind)
    }

    fn end(&self) -> Range<usize> {
        self.text.trim_end().len()..self.text.trim_end().len()
    }

    /// Notes what is wrong at the next token, or at the end.
    fn wrong(&mut self, message: &str, help: &str) -> Option<Expr> {
        let span = self.peek().map_or_else(|| self.tokens.last().map_or_else(|| self.end(), |t| t.span.clone()), |t| t.span.clone());
        self.faults.push(fault(message, help, span));
        None
    }

    fn any(&mut self) -> Option<Expr> {
        let mut parts = vec![self.all()?];
        while self.kind() == Some(&Kind::Or) {
            self.at += 1;
            parts.push(self.all()?);
        }
        if parts.len() == 1 { parts.pop() } else { Some(Expr::Any(parts)) }
    }

    fn all(&mut self) -> Option<Expr> {
        let mut parts = vec![self.not()?];
        while self.kind() == Some(&Kind::And) {
            self.at += 1;
            parts.push(self.not()?);
        }
        if parts.len() == 1 { parts.pop() } else { Some(Expr::All(parts)) }
    }

    fn not(&mut self) -> Option<Expr> {
        if self.kind() == Some(&Kind::Not) {
            self.at += 1;
            self.depth += 1;
            if self.depth > MOST_DEPTH {
                return self.wrong("the condition nests too deep", "set an argument first and compare that");
            }
            let inner = self.not()?;
            self.depth -= 1;
            return Some(Expr::Not(Box::new(inner)));
        }
        self.part()
    }

    fn part(&mut self) -> Option<Expr> {
        match self.kind().cloned() {
            None => self.wrong("a condition is missing here", "write what has to hold, or remove the word before it"),
            Some(Kind::Open) => {
                self.at += 1;
                self.depth += 1;
                if self.depth > MOST_DEPTH {
                    return self.wrong("the condition nests too deep", "set an argument first and compare that");
                }
                let inner = self.any()?;
                self.depth -= 1;
                if self.kind() != Some(&Kind::Close) {
                    return self.wrong("a parenthesis is never closed", "write `)` at its end");
                }
                self.at += 1;
                Some(inner)
            }
            Some(Kind::Close) => self.wrong("this parenthesis was never opened", "remove it, or write `(` where it begins"),
            Some(Kind::Intent(clicks)) => Some(self.intent(clicks)),
            Some(Kind::Pattern) => self.pattern(),
            _ => self.comparison(),
        }
    }

    fn intent(&mut self, clicks: bool) -> Expr {
        let start = self.peek().map_or(0, |t| t.span.start);
        self.at += 1;
        let mut phrases = vec![];
        let first = self.at;
        loop {
            match self.kind().cloned() {
                Some(Kind::Quoted(text)) => {
                    phrases.push(text);
                    self.at += 1;
                }
                Some(Kind::Comma) if !phrases.is_empty() => self.at += 1,
                // `"a" or "b"`: another phrase, unless a condition of its own follows.
                Some(Kind::Or)
                    if !phrases.is_empty() && matches!(self.tokens.get(self.at + 1).map(|t| &t.kind), Some(Kind::Quoted(_))) && !self.compared(self.at + 2) =>
                {
                    self.at += 1;
                }
                _ => break,
            }
        }
        if phrases.is_empty() {
            // Without quotes the rest is one phrase.
            let from = self.tokens.get(first).map_or(self.text.len(), |t| t.span.start);
            let rest = self.text.get(from..).unwrap_or("").trim();
            let span = from..from + rest.len();
            self.at = self.tokens.len();
            if rest.is_empty() {
                let shown = self.text.get(start..).unwrap_or("").trim_end();
                self.faults.push(fault(&format!("`{shown}` lacks its phrase"), "write what the user says in quotes", start..start + shown.len()));
            } else {
                let help = format!("write it in quotes: \"{rest}\"");
                self.faults.push(Fault { mild: true, ..fault(&format!("the phrase `{rest}` stands without quotes"), &help, span) });
            }
            phrases.push(rest.to_owned());
        }
        let end = self.at.checked_sub(1).and_then(|k| self.tokens.get(k)).map_or(self.text.len(), |t| t.span.end);
        if clicks { Expr::Clicks(phrases, start..end) } else { Expr::Claims(phrases, start..end) }
    }

    /// Whether a comparison goes on at this token.
    fn compared(&self, at: usize) -> bool {
        matches!(self.tokens.get(at).map(|t| &t.kind), Some(Kind::Compare(_) | Kind::Single))
    }

    fn pattern(&mut self) -> Option<Expr> {
        const FORM: &str = "write re.match(\"PATTERN\", ARGUMENT)";
        self.at += 1;
        if self.kind() != Some(&Kind::Open) {
            return self.wrong("`re.match` needs parentheses", FORM);
        }
        self.at += 1;
        let pattern = match self.kind().cloned() {
            Some(Kind::Quoted(pattern)) => {
                self.at += 1;
                pattern
            }
            _ => self.bare_pattern()?,
        };
        if self.kind() != Some(&Kind::Comma) {
            return self.wrong("`re.match` needs a comma after the pattern", FORM);
        }
        self.at += 1;
        let Some(side) = self.side() else { return self.wrong("`re.match` does not say which argument is meant", FORM) };
        if self.kind() != Some(&Kind::Close) {
            return self.wrong("`re.match` is never closed", FORM);
        }
        self.at += 1;
        Some(Expr::Match(pattern, side))
    }

    /// A pattern without quotes ends at the last comma.
    fn bare_pattern(&mut self) -> Option<String> {
        let comma = self.tokens.iter().rposition(|t| t.kind == Kind::Comma).filter(|k| *k > self.at);
        let (Some(comma), Some(first)) = (comma, self.peek().map(|t| t.span.start)) else {
            self.wrong("the pattern of `re.match` is missing", "write re.match(\"PATTERN\", ARGUMENT)");
            return None;
        };
        let end = self.tokens.get(comma).map_or(first, |t| t.span.start);
        let pattern = self.text.get(first..end).unwrap_or("").trim().to_owned();
        let help = format!("write re.match(\"{pattern}\", ARGUMENT)");
        self.faults.push(Fault { mild: true, ..fault(&format!("the pattern `{pattern}` stands without quotes"), &help, first..end) });
        self.at = comma;
        Some(pattern)
    }

    /// Words until something that ends a side.
    fn side(&mut self) -> Option<Side> {
        if let Some(Token { kind: Kind::Quoted(text), span }) = self.peek().cloned() {
            self.at += 1;
            return Some(Side { text, quoted: true, span });
        }
        let mut span: Option<Range<usize>> = None;
        while let Some(t) = self.peek() {
            let ends = match &t.kind {
                Kind::Word | Kind::Quoted(_) => false,
                // A name may hold `and` and `or` in words of several names.
                Kind::And | Kind::Or | Kind::Not => !self.runs_on(&span),
                _ => true,
            };
            if ends {
                break;
            }
            span = Some(span.map_or(t.span.clone(), |s| s.start..t.span.end));
            self.at += 1;
        }
        let span = span?;
        Some(Side { text: self.text.get(span.clone()).unwrap_or("").to_owned(), quoted: false, span })
    }

    /// Whether what stands so far is only the beginning of a name that goes on over the next word.
    fn runs_on(&self, so_far: &Option<Range<usize>>) -> bool {
        let Some(so_far) = so_far else { return false };
        let mut k = self.at;
        while let Some(t) = self.tokens.get(k) {
            if !matches!(t.kind, Kind::Word | Kind::And | Kind::Or | Kind::Not) {
                break;
            }
            k += 1;
            let whole = self.text.get(so_far.start..t.span.end).unwrap_or("");
            // What is a name without the words before it stands for itself.
            let after = self.tokens.get(self.at + 1).map_or("", |next| self.text.get(next.span.start..t.span.end).unwrap_or(""));
            if k > self.at + 1 && (self.names)(whole) && !(self.names)(after) {
                return true;
            }
        }
        false
    }

    fn comparison(&mut self) -> Option<Expr> {
        const FORM: &str = "write ARGUMENT == VALUE";
        let start = self.peek().map_or(0, |t| t.span.start);
        let left = match self.side() {
            Some(s) => s,
            None => {
                let shown = self.peek().and_then(|t| self.text.get(t.span.clone())).unwrap_or("").to_owned();
                return self.wrong(&format!("something is missing before `{shown}`"), FORM);
            }
        };
        match self.kind().cloned() {
            Some(Kind::Compare(op)) => {
                self.at += 1;
                match self.side() {
                    Some(right) => {
                        if matches!(self.kind(), Some(Kind::Compare(_))) {
                            return self.wrong("two comparisons follow one another", "join them with `and`");
                        }
                        Some(Expr::Compare(left, op, right))
                    }
                    None => self.wrong("the comparison has no right side", FORM),
                }
            }
            Some(Kind::Single) => match self.tokens.get(self.at + 1).map(|t| &t.kind) {
                Some(Kind::Compare(Compare::More)) => self.wrong("`=>` is no comparison", "write `>=`"),
                Some(Kind::Compare(Compare::Less)) => self.wrong("`=<` is no comparison", "write `<=`"),
                _ => self.wrong("a single `=` compares nothing", "write `==`"),
            },
            Some(Kind::Open | Kind::Comma) if !left.quoted => {
                // Plain words with parentheses or commas in them.
                let mut depth = 0usize;
                while let Some(t) = self.peek() {
                    match t.kind {
                        Kind::Open => depth += 1,
                        Kind::Close if depth == 0 => break,
                        Kind::Close => depth -= 1,
                        Kind::And | Kind::Or if depth == 0 => break,
                        Kind::Compare(_) | Kind::Single => return self.wrong("the comparison cannot be read", FORM),
                        _ => {}
                    }
                    self.at += 1;
                }
                let end = self.at.checked_sub(1).and_then(|k| self.tokens.get(k)).map_or(left.span.end, |t| t.span.end);
                Some(Expr::Words(self.text.get(start..end).unwrap_or("").to_owned(), start..end))
            }
            _ if !left.quoted && (self.names)(&left.text) => Some(Expr::Bare(left)),
            _ => {
                let end = self.at.checked_sub(1).and_then(|k| self.tokens.get(k)).map_or(left.span.end, |t| t.span.end);
                Some(Expr::Words(self.text.get(start..end).unwrap_or("").to_owned(), start..end))
            }
        }
    }
}
