//! From the text of a rule file to its tree; every mistake of the file is reported, not only the first.

mod readings;
mod terms;

pub use self::readings::placeholders;
use super::lex::{Lexeme, Token, lex};
use super::{Aggregate, AtomPattern, Element, Fold, Head, HeadElement, Item, Kind, Literal, Rel, Sign, Span, Statement};
use crate::diag::{Diagnostic, Source};
use crate::term::Name;

/// What was understood of a file, and all that was wrong with it.
pub fn parse(source: &Source) -> (Vec<Statement>, Vec<Diagnostic>) {
    let tokens = lex(&source.text);
    let mut p = Parser { source, tokens: &tokens, at: 0, anonymous: 0, depth: 0, found: Vec::new() };
    let statements = p.file();
    (statements, p.found)
}

struct Parser<'a> {
    source: &'a Source,
    tokens: &'a [Lexeme],
    at: usize,
    anonymous: usize,
    depth: usize,
    found: Vec<Diagnostic>,
}

/// A mistake: where, which code, what, and what to do.
struct Mistake {
    span: Span,
    code: &'static str,
    message: String,
    help: Option<&'static str>,
}

type Parsed<T> = Result<T, Mistake>;

impl Parser<'_> {
    fn file(&mut self) -> Vec<Statement> {
        let mut out = Vec::new();
        let mut reading: Vec<(String, Span)> = Vec::new();
        while let Some(lexeme) = self.tokens.get(self.at) {
            if let Token::Reading(text) = &lexeme.token {
                if reading.last().is_some_and(|(_, s)| !self.adjacent(s.end, lexeme.span.start)) {
                    self.dangling(&std::mem::take(&mut reading));
                }
                reading.push((text.clone(), lexeme.span.clone()));
                self.at += 1;
                continue;
            }
            if reading.last().is_some_and(|(_, s)| !self.adjacent(s.end, lexeme.span.start)) {
                self.dangling(&std::mem::take(&mut reading));
            }
            let (first, start) = (self.at, lexeme.span.start);
            self.anonymous = 0;
            self.depth = 0;
            match self.statement() {
                Ok(kind) => {
                    let end = self.tokens.get(self.at.saturating_sub(1)).map_or(start, |l| l.span.end);
                    let text: Name = self.source.text.get(start..end).unwrap_or("").into();
                    let reading = (!reading.is_empty()).then(|| reading.iter().map(|(t, _)| t.as_str()).collect::<Vec<_>>().join(" ").into());
                    let statement = Statement { kind, origin: self.source.origin(start..end), text, reading };
                    self.check_reading(&statement);
                    out.push(statement);
                }
                Err(m) => {
                    let mut d = Diagnostic::error(m.code, self.source.origin(m.span), m.message);
                    d.help = m.help.map(Into::into);
                    self.found.push(d);
                    self.at = self.at.max(first);
                    while let Some(l) = self.tokens.get(self.at) {
                        self.at += 1;
                        if l.token == Token::Dot {
                            break;
                        }
                    }
                }
            }
            reading.clear();
        }
        self.dangling(&reading);
        out
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|l| &l.token)
    }

    fn here(&self) -> Span {
        self.tokens.get(self.at).map_or(self.source.text.len()..self.source.text.len(), |l| l.span.clone())
    }

    fn last_end(&self) -> usize {
        self.tokens.get(self.at.wrapping_sub(1)).map_or(0, |l| l.span.end)
    }

    fn wrong<T>(&self, expected: &str) -> Parsed<T> {
        let span = self.here();
        let found = match self.source.text.get(span.clone()) {
            Some("") | None => "the end of the file".to_owned(),
            Some(t) => format!("`{t}`"),
        };
        Err(Mistake { span, code: "rule-syntax", message: format!("expected {expected}, found {found}"), help: None })
    }

    fn refuse<T>(&self, span: Span, code: &'static str, message: impl Into<String>, help: &'static str) -> Parsed<T> {
        Err(Mistake { span, code, message: message.into(), help: Some(help) })
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self.peek(), Some(Token::Sign(s)) if *s == sign)
    }

    fn take(&mut self, sign: &str) -> bool {
        let yes = self.is(sign);
        self.at += usize::from(yes);
        yes
    }

    fn want(&mut self, sign: &str) -> Parsed<()> {
        if self.take(sign) { Ok(()) } else { self.wrong(&format!("`{sign}`")) }
    }

    fn is_ident(&self, word: &str) -> bool {
        matches!(self.peek(), Some(Token::Ident(w)) if w == word)
    }

    fn dot(&mut self) -> Parsed<()> {
        if self.peek() == Some(&Token::Dot) {
            self.at += 1;
            Ok(())
        } else {
            self.wrong("`.` or more of the rule")
        }
    }

    fn statement(&mut self) -> Parsed<Kind> {
        match self.peek() {
            Some(Token::Directive(d)) if !matches!(d.as_str(), "#true" | "#false" | "#count" | "#sum" | "#sum+" | "#min" | "#max") => {
                let d = d.clone();
                self.directive(&d)
            }
            Some(Token::Sign(":~")) => {
                self.at += 1;
                let body = self.body()?;
                self.dot()?;
                self.weight()?;
                Ok(Kind::Optimise(body))
            }
            Some(Token::Sign(":-")) => {
                self.at += 1;
                let body = self.body()?;
                self.dot()?;
                Ok(Kind::Rule { head: Head::None, body })
            }
            _ => {
                let head = self.head()?;
                let body = if self.take(":-") && self.peek() != Some(&Token::Dot) { self.body()? } else { Vec::new() };
                self.dot()?;
                Ok(Kind::Rule { head, body })
            }
        }
    }

    fn weight(&mut self) -> Parsed<()> {
        self.want("[")?;
        self.expr()?;
        if self.take("@") {
            self.expr()?;
        }
        while self.take(",") {
            self.expr()?;
        }
        self.want("]")
    }

    fn directive(&mut self, word: &str) -> Parsed<Kind> {
        let span = self.here();
        self.at += 1;
        let kind = match word {
            "#show" => {
                if self.peek() == Some(&Token::Dot) {
                    Kind::ShowNothing
                } else {
                    Kind::Show(self.signature("`#show name/arity.`")?)
                }
            }
            "#defined" => Kind::Defined(self.signature("`#defined name/arity.`")?),
            "#const" => {
                let name = self.ident("a constant's name")?;
                self.want("=")?;
                Kind::Const(name, self.expr()?)
            }
            "#external" => {
                let atom = self.atom()?;
                let body = if self.take(":") { self.body()? } else { Vec::new() };
                Kind::External(atom, body)
            }
            "#program" => {
                let name = self.ident("`base`")?;
                if &*name != "base" {
                    return self.refuse(span, "rule-program-part", format!("the program part `{name}` is not used"), "write everything in the base part");
                }
                Kind::ProgramBase
            }
            "#minimize" | "#maximize" => {
                self.want("{")?;
                let mut items = Vec::new();
                while !self.is("}") {
                    self.expr()?;
                    if self.take("@") {
                        self.expr()?;
                    }
                    while self.take(",") {
                        self.expr()?;
                    }
                    if self.take(":") {
                        items.extend(self.condition()?.into_iter().map(Item::Literal));
                    }
                    if !self.take(";") {
                        break;
                    }
                }
                self.want("}")?;
                Kind::Optimise(items)
            }
            "#include" | "#script" => {
                return self.refuse(
                    span,
                    "rule-directive-refused",
                    format!("`{word}` is not allowed in a rule file"),
                    "list every rule file of the domain instead; rules cannot run code or read files",
                );
            }
            _ => {
                return self.refuse(
                    span,
                    "rule-directive-unknown",
                    format!("`{word}` is no directive known here"),
                    "known are #show, #const, #external, #defined, #minimize, #maximize, #program base",
                );
            }
        };
        self.dot()?;
        Ok(kind)
    }

    fn signature(&mut self, what: &str) -> Parsed<super::Predicate> {
        let span = self.here();
        let name = self.ident(what)?;
        if !self.take("/") {
            return self.refuse(span, "rule-syntax", "`#show` of a term is not supported", "derive an atom and show its signature: `#show name/arity.`");
        }
        match self.peek() {
            Some(Token::Int(n)) => {
                let n = n.parse::<usize>().unwrap_or(usize::MAX);
                self.at += 1;
                Ok((name, n))
            }
            _ => self.wrong("a number of arguments"),
        }
    }

    fn ident(&mut self, what: &str) -> Parsed<Name> {
        match self.peek() {
            Some(Token::Ident(n)) if n != "not" => {
                let n = n.as_str().into();
                self.at += 1;
                Ok(n)
            }
            _ => self.wrong(what),
        }
    }

    fn head(&mut self) -> Parsed<Head> {
        let start = self.at;
        // A choice may carry a lower bound in front of its brace.
        if self.is("{") || self.bounded_choice() {
            while !self.is("{") {
                self.at += 1;
            }
            self.at += 1;
            let elements = self.head_elements("}")?;
            self.want("}")?;
            if let Some(rel) = self.rel() {
                let _ = rel;
                self.expr()?;
            } else if !self.is(":-") && self.peek() != Some(&Token::Dot) {
                self.expr()?;
            }
            return Ok(Head::Choice(elements));
        }
        self.at = start;
        let elements = self.head_elements(":-")?;
        match <[HeadElement; 1]>::try_from(elements) {
            Ok([HeadElement { literal: Literal::Atom { sign: Sign::Plain, atom }, condition }]) if condition.is_empty() => Ok(Head::Atom(atom)),
            Ok([HeadElement { literal: Literal::Bool(false, _), condition }]) if condition.is_empty() => Ok(Head::None),
            Ok([one]) => Ok(Head::Disjunction(vec![one])),
            Err(many) => Ok(Head::Disjunction(many)),
        }
    }

    fn bounded_choice(&mut self) -> bool {
        let start = self.at;
        let found = self.found.len();
        let yes = self.expr().is_ok() && {
            let _ = self.rel();
            self.is("{")
        };
        self.at = start;
        self.found.truncate(found);
        yes
    }

    fn head_elements(&mut self, end: &str) -> Parsed<Vec<HeadElement>> {
        let mut out = Vec::new();
        while !self.is(end) && self.peek() != Some(&Token::Dot) {
            let literal = self.literal()?;
            let condition = if self.take(":") { self.condition()? } else { Vec::new() };
            out.push(HeadElement { literal, condition });
            if !(self.take(";") || self.take("|") || self.take(",")) {
                break;
            }
        }
        Ok(out)
    }

    fn body(&mut self) -> Parsed<Vec<Item>> {
        let mut out = Vec::new();
        loop {
            out.push(self.item()?);
            // After a condition `,` would have been eaten by it, so both separators are alike here.
            if !(self.take(",") || self.take(";")) {
                return Ok(out);
            }
        }
    }

    fn item(&mut self) -> Parsed<Item> {
        let start = self.here().start;
        let before = self.at;
        let sign = self.sign();
        let aggregate = match self.peek() {
            Some(Token::Directive(d)) => fold(d).map(|f| (f, None)),
            _ if self.is("{") => {
                return self.refuse(self.here(), "rule-body-choice", "a choice cannot stand in a body", "count with `#count { … }` instead");
            }
            _ => {
                let from = self.at;
                let found = self.found.len();
                let guard = self.expr().ok().and_then(|e| self.rel().map(|r| (e, r)));
                let f = match (guard.is_some(), self.peek()) {
                    (true, Some(Token::Directive(d))) => fold(d),
                    _ => None,
                };
                self.found.truncate(found);
                if f.is_none() {
                    self.at = from;
                }
                f.map(|f| (f, guard))
            }
        };
        if let Some((fold, left)) = aggregate {
            self.at += 1;
            let elements = self.elements()?;
            let right = match self.rel() {
                Some(r) => Some((r, self.expr()?)),
                None => None,
            };
            return Ok(Item::Aggregate(Aggregate { sign, left, fold, elements, right, span: start..self.last_end() }));
        }
        self.at = before;
        let literal = self.literal()?;
        if !self.take(":") {
            return Ok(Item::Literal(literal));
        }
        let condition = if self.is(";") || self.peek() == Some(&Token::Dot) { Vec::new() } else { self.condition()? };
        Ok(Item::Conditional { literal, condition, span: start..self.last_end() })
    }

    fn elements(&mut self) -> Parsed<Vec<Element>> {
        self.want("{")?;
        let mut out = Vec::new();
        while !self.is("}") {
            let start = self.here().start;
            let mut terms = vec![self.expr()?];
            while self.take(",") {
                terms.push(self.expr()?);
            }
            let condition = if self.take(":") { self.condition()? } else { Vec::new() };
            out.push(Element { terms, condition, span: start..self.last_end() });
            if !self.take(";") {
                break;
            }
        }
        self.want("}")?;
        Ok(out)
    }

    fn condition(&mut self) -> Parsed<Vec<Literal>> {
        let mut out = vec![self.literal()?];
        while self.take(",") {
            out.push(self.literal()?);
        }
        Ok(out)
    }

    fn sign(&mut self) -> Sign {
        let mut n = 0;
        while self.is_ident("not") {
            self.at += 1;
            n += 1;
        }
        match n {
            0 => Sign::Plain,
            n if n % 2 == 1 => Sign::Not,
            _ => Sign::NotNot,
        }
    }

    fn rel(&mut self) -> Option<Rel> {
        let rel = match self.peek() {
            Some(Token::Sign("=" | "==")) => Rel::Eq,
            Some(Token::Sign("!=")) => Rel::Ne,
            Some(Token::Sign("<")) => Rel::Lt,
            Some(Token::Sign("<=")) => Rel::Le,
            Some(Token::Sign(">")) => Rel::Gt,
            Some(Token::Sign(">=")) => Rel::Ge,
            _ => return None,
        };
        self.at += 1;
        Some(rel)
    }

    fn literal(&mut self) -> Parsed<Literal> {
        let start = self.here().start;
        let sign = self.sign();
        if let Some(Token::Directive(d)) = self.peek() {
            let value = match d.as_str() {
                "#true" => Some(true),
                "#false" => Some(false),
                _ => None,
            };
            if let Some(value) = value {
                self.at += 1;
                return Ok(Literal::Bool(value != (sign == Sign::Not), start..self.last_end()));
            }
        }
        let from = self.at;
        let left = self.expr()?;
        let mut rest = Vec::new();
        while let Some(rel) = self.rel() {
            rest.push((rel, self.expr()?));
        }
        if !rest.is_empty() {
            return Ok(Literal::Compare { sign, left, rest, span: start..self.last_end() });
        }
        self.at = from;
        let atom = self.atom()?;
        Ok(Literal::Atom { sign, atom })
    }

    fn atom(&mut self) -> Parsed<AtomPattern> {
        let start = self.here().start;
        if self.is("-") {
            return self.refuse(
                self.here(),
                "rule-classical-negation",
                "classical negation is not supported",
                "use an own predicate, such as `unavailable` beside `available`",
            );
        }
        let name = self.ident("an atom")?;
        let args = if self.take("(") { self.arguments()? } else { Vec::new() };
        Ok(AtomPattern { name, args, span: start..self.last_end() })
    }
}

fn fold(directive: &str) -> Option<Fold> {
    Some(match directive {
        "#count" => Fold::Count,
        "#sum" => Fold::Sum,
        "#sum+" => Fold::SumPlus,
        "#min" => Fold::Min,
        "#max" => Fold::Max,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<Statement>, Vec<Diagnostic>) {
        parse(&Source::new("rules.lp", text))
    }

    #[test]
    fn reads_the_whole_fragment() {
        let text = r#"
            % a comment
            #const limit = 20.
            #show act/3. #show.
            #external ready(X) : item(X).
            #program base.
            item("Soft Taco"). price(x,(1;2)). p(1..3).
            %: {X} costs {P} cents
            cost(X,P) :- item(X), P = #sum { C,K : part(X,K,C), not gift(K) ; 1 }, P >= 0.
            few :- 1 <= #count { X : item(X) } <= limit.
            all :- ok(X) : item(X); other.
            q(X+1,-X,|X|,X**2,X\2,(X,1)) :- p(X), X != 2, not not r(f(X,_)), 1 < X <= 4.
            :- p(X), not q(X).
            1 { a ; b : c } 1 :- d.
            a | b. a ; b :- c.
            :~ p(X). [X@1,X]
            #minimize { X@2,Y : r(X,Y) }.
        "#;
        let (s, d) = read(text);
        assert_eq!(d, vec![]);
        assert_eq!(s.len(), 18);
        assert_eq!(s[8].reading.as_deref(), Some("{X} costs {P} cents"));
        assert_eq!(&*s[9].text, "few :- 1 <= #count { X : item(X) } <= limit.");
        assert_eq!(s[9].origin.line, 10);
    }

    #[test]
    fn reports_every_mistake_of_a_file() {
        let text = "p(X :- q.\n-p(1).\nok.\n#include \"x.lp\".\nq(3000000000).\n%: {Y} is\nr(X) :- s(X).\n%: nothing\n";
        let (s, d) = read(text);
        let codes: Vec<_> = d.iter().map(|d| (d.code, d.origin.line)).collect();
        assert_eq!(
            codes,
            [
                ("rule-syntax", 1),
                ("rule-classical-negation", 2),
                ("rule-directive-refused", 4),
                ("rule-number-too-large", 5),
                ("reading-unknown-variable", 7),
                ("reading-without-rule", 8)
            ]
        );
        assert_eq!(s.len(), 2);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused_without_a_panic(text in "[ -~\n]{0,80}") {
            let _ = read(&text);
        }
    }
}
