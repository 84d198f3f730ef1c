//! Terms of rules, from the loosest operator to what stands for itself.

use super::{Parsed, Parser};
use crate::reason::syntax::lex::Token;
use crate::reason::syntax::{Expr, Op};
use crate::term::MAX_DEPTH;

impl Parser<'_> {
    /// After `(`: arguments up to and with `)`; `p(a;b)` becomes one argument that is a pool.
    pub(super) fn arguments(&mut self) -> Parsed<Vec<Expr>> {
        let start = self.here();
        let mut pools = vec![Vec::new()];
        if self.take(")") {
            return Ok(Vec::new());
        }
        loop {
            let e = self.expr()?;
            if let Some(last) = pools.last_mut() {
                last.push(e);
            }
            if self.take(",") {
                continue;
            }
            if self.take(";") {
                pools.push(Vec::new());
                continue;
            }
            self.want(")")?;
            break;
        }
        if pools.len() == 1 {
            return Ok(pools.pop().unwrap_or_default());
        }
        if pools.iter().all(|p| p.len() == 1) {
            return Ok(vec![Expr::Pool(pools.into_iter().flatten().collect())]);
        }
        self.refuse(start, "rule-pool", "a pool over several arguments is not supported", "write the pool inside the argument: `p(1,(a;b))`")
    }

    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        self.depth += 1;
        if self.depth > MAX_DEPTH * 2 {
            return self.refuse(self.here(), "rule-too-deep", "the term nests too deeply", "name the parts in predicates of their own");
        }
        let low = self.sum()?;
        let out = if self.take("..") { Expr::Interval(Box::new(low), Box::new(self.sum()?)) } else { low };
        self.depth -= 1;
        Ok(out)
    }

    fn sum(&mut self) -> Parsed<Expr> {
        let mut left = self.product()?;
        loop {
            let op = if self.take("+") {
                Op::Add
            } else if self.take("-") {
                Op::Sub
            } else {
                return Ok(left);
            };
            left = Expr::Binary(op, Box::new(left), Box::new(self.product()?));
        }
    }

    fn product(&mut self) -> Parsed<Expr> {
        let mut left = self.unary()?;
        loop {
            let op = if self.take("*") {
                Op::Mul
            } else if self.take("/") {
                Op::Div
            } else if self.take("\\") {
                Op::Mod
            } else {
                return Ok(left);
            };
            left = Expr::Binary(op, Box::new(left), Box::new(self.unary()?));
        }
    }

    /// Unary minus binds tighter than `**`, as in clingo.
    fn unary(&mut self) -> Parsed<Expr> {
        let base = self.signed()?;
        if self.take("**") {
            return Ok(Expr::Binary(Op::Pow, Box::new(base), Box::new(self.unary()?)));
        }
        Ok(base)
    }

    fn signed(&mut self) -> Parsed<Expr> {
        if !self.take("-") {
            return self.primary();
        }
        self.depth += 1;
        let out = match self.signed()? {
            Expr::Int(n) => Expr::Int(n.wrapping_neg()),
            e => Expr::Neg(Box::new(e)),
        };
        self.depth -= 1;
        Ok(out)
    }

    fn primary(&mut self) -> Parsed<Expr> {
        if self.depth > MAX_DEPTH * 2 {
            return self.refuse(self.here(), "rule-too-deep", "the term nests too deeply", "name the parts in predicates of their own");
        }
        let span = self.here();
        let Some(token) = self.peek().cloned() else { return self.wrong("a term") };
        self.at += 1;
        match token {
            Token::Int(d) => match d.parse::<i32>() {
                Ok(n) => Ok(Expr::Int(n)),
                Err(_) => self.refuse(
                    span,
                    "rule-number-too-large",
                    format!("the number `{d}` does not fit 32 bits"),
                    "count money in cents and keep numbers below 2147483648",
                ),
            },
            Token::Str(s) => Ok(Expr::Str(s.as_str().into())),
            Token::Var(v) => Ok(Expr::Var(v.as_str().into(), span.start)),
            Token::Anonymous => {
                self.anonymous += 1;
                Ok(Expr::Var(format!("_{}", self.anonymous).into(), span.start))
            }
            Token::Directive(d) if d == "#inf" => Ok(Expr::Inf),
            Token::Directive(d) if d == "#sup" => Ok(Expr::Sup),
            Token::Ident(n) if n != "not" => {
                if self.take("(") {
                    let args = self.arguments()?;
                    return Ok(if args.is_empty() { Expr::Const(n.as_str().into()) } else { Expr::Fun(n.as_str().into(), args) });
                }
                Ok(Expr::Const(n.as_str().into()))
            }
            Token::Sign("|") => {
                let inner = self.expr()?;
                self.want("|")?;
                Ok(Expr::Abs(Box::new(inner)))
            }
            Token::Sign("(") => self.parenthesis(),
            Token::Sign("@") => {
                self.refuse(span, "rule-external-function", "external functions are not available to rules", "compute the value in a fact instead")
            }
            _ => {
                self.at -= 1;
                self.wrong("a term")
            }
        }
    }

    fn parenthesis(&mut self) -> Parsed<Expr> {
        let (mut alternatives, mut items, mut comma) = (Vec::new(), Vec::new(), false);
        loop {
            if !self.is(")") {
                items.push(self.expr()?);
            }
            if self.take(",") {
                comma = true;
                continue;
            }
            let one = match <[Expr; 1]>::try_from(items) {
                Ok([one]) if !comma => one,
                Ok([one]) => Expr::Fun("".into(), vec![one]),
                Err(many) => Expr::Fun("".into(), many),
            };
            alternatives.push(one);
            (items, comma) = (Vec::new(), false);
            if self.take(";") {
                continue;
            }
            self.want(")")?;
            return Ok(match <[Expr; 1]>::try_from(alternatives) {
                Ok([one]) => one,
                Err(many) => Expr::Pool(many),
            });
        }
    }
}
