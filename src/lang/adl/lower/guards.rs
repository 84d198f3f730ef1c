//! Conditions to guards.

use super::Lowering;
use super::values::number;
use crate::ir::guard::{Compare, Guard};
use crate::ir::pattern::PythonPattern;
use crate::ir::value::{Given, Path, Value};
use crate::lang::adl::error::Findings;
use crate::lang::adl::names::condition;
use crate::lang::adl::parse::Word;
use crate::lang::adl::syntax::Agent;
use crate::lang::expr::{Expr, Side};

impl Lowering<'_> {
    /// The guard of a condition; one that cannot be read never holds, and was told of.
    pub(super) fn guard(self, agent: &Agent, written: &Word) -> Guard {
        let mut told = Findings::new(self.project.source.clone());
        condition(self.scope, agent, written, &mut told).map_or_else(|| Guard::Any(vec![]), |e| self.expression(agent, &e))
    }

    fn expression(self, agent: &Agent, expr: &Expr) -> Guard {
        match expr {
            Expr::All(parts) => Guard::All(parts.iter().map(|p| self.expression(agent, p)).collect()),
            Expr::Any(parts) => Guard::Any(parts.iter().map(|p| self.expression(agent, p)).collect()),
            Expr::Not(part) => Guard::Not(Box::new(self.expression(agent, part))),
            Expr::Compare(left, operator, right) => self.comparison(agent, left, *operator, right),
            Expr::Match(pattern, value) => {
                PythonPattern::python(pattern).map_or_else(|_| Guard::Any(vec![]), |p| Guard::Match(p, self.path(agent, &value.text)))
            }
            Expr::Claims(phrases, _) => Guard::Heard(phrases.clone()),
            Expr::Clicks(buttons, _) => Guard::Any(buttons.iter().map(|b| Guard::Clicked(b.clone())).collect()),
            Expr::Bare(side) if side.text == "True" => Guard::All(vec![]),
            Expr::Bare(side) if side.text == "False" => Guard::Any(vec![]),
            Expr::Bare(side) => Guard::Holds(self.path(agent, &side.text)),
            Expr::Words(words, _) => Guard::Words(words.clone()),
        }
    }

    fn comparison(self, agent: &Agent, left: &Side, operator: Compare, right: &Side) -> Guard {
        // A text on the left and a name on the right are meant the other way round.
        let named = |s: &Side| if s.quoted { None } else { self.scope.path(agent, &s.text) };
        if named(left).is_none()
            && (left.quoted || number(&left.text).is_some())
            && let Some(path) = named(right)
        {
            return Guard::Exactly(path, mirrored(operator), Given::Is(self.literal(left)));
        }
        let path: Path = self.path(agent, &left.text);
        let value = named(right).map_or_else(|| Given::Is(self.literal(right)), Given::Of);
        Guard::Exactly(path, operator, value)
    }

    /// A side that names nothing: None, a boolean, a number, or text.
    fn literal(self, side: &Side) -> Value {
        match side.text.as_str() {
            _ if side.quoted => Value::Text(side.text.clone()),
            "None" => Value::None,
            "True" => Value::Boolean(true),
            "False" => Value::Boolean(false),
            text => number(text).unwrap_or_else(|| Value::Text(text.to_owned())),
        }
    }
}

fn mirrored(operator: Compare) -> Compare {
    match operator {
        Compare::More => Compare::Less,
        Compare::Less => Compare::More,
        Compare::AtLeast => Compare::AtMost,
        Compare::AtMost => Compare::AtLeast,
        same => same,
    }
}
