//! Trees to formulas and values: what names and calls mean where they stand, and that everything named is declared.

use super::Fault;
use super::tree::Tree;
use crate::diag::did_you_mean;
use crate::reason::syntax::Rel;
use crate::reasoning::formula::{Bound, Formula, Scope, Value};
use crate::term::Name;

/// How deep formulas may nest once they have a meaning.
type Found<T> = Result<T, Fault>;

/// What names mean in a place.
pub struct Meaning<'a> {
    /// The declared sorts and functions; without any, every name is a thing and every call a predicate.
    pub scope: &'a Scope,
    /// Whether names may be used without being declared.
    pub open: bool,
    /// The variables bound around the place, with their sorts.
    pub bound: Vec<Bound>,
}

impl<'a> Meaning<'a> {
    /// At the top of a statement.
    pub fn new(scope: &'a Scope, open: bool) -> Self {
        Self { scope, open, bound: vec![] }
    }

    /// The statement that a tree makes.
    pub fn formula(&mut self, t: &Tree) -> Found<Formula> {
        Ok(match t {
            Tree::Name(n, _) if n == "True" || n == "False" => Formula::Settled(n == "True"),
            Tree::Name(n, column) => self.predicate(n, &[], *column)?,
            Tree::Call(n, args, column) => self.call(n, args, *column)?,
            Tree::Quantified(all, v, inner) => {
                let bound = vec![Bound { name: v.as_str().into(), sort: None }];
                self.within(bound, |m| m.formula(inner)).map(|(b, f)| quantified(*all, b, f))?
            }
            Tree::Prefix("not", inner) => self.formula(inner)?.negated(),
            Tree::Infix(op, a, b) => match *op {
                "and" => join(Formula::And, self.formula(a)?, self.formula(b)?),
                "or" => join(Formula::Or, self.formula(a)?, self.formula(b)?),
                "xor" => Formula::Xor(vec![self.formula(a)?, self.formula(b)?]),
                "->" | ">>>" => Formula::Implies(self.formula(a)?.into(), self.formula(b)?.into()),
                "iff" => Formula::Iff(self.formula(a)?.into(), self.formula(b)?.into()),
                // A word for a relation like any other, where nothing is declared.
                "in" if self.open && !matches!(**b, Tree::List(_)) => Formula::Holds(Value::Call("in".into(), vec![self.value(a)?, self.value(b)?])),
                "in" => {
                    let of_sort = |n: &String| self.scope.sorts.get(n.as_str()).map(|values| values.iter().filter_map(plain_tree).collect());
                    let items: Vec<Tree> = match &**b {
                        Tree::List(items) => items.clone(),
                        Tree::Name(n, _) => of_sort(n).ok_or_else(|| fault(b, "a list or a sort should follow `in`"))?,
                        other => return Err(fault(other, "a list or a sort should follow `in`")),
                    };
                    Formula::Or(items.iter().map(|i| self.compare(Rel::Eq, a, i)).collect::<Found<_>>()?)
                }
                _ => match relation(op) {
                    Some(r) => self.compare(r, a, b)?,
                    None => return Err(fault(a, "a number is no statement")),
                },
            },
            Tree::Number(_) | Tree::List(_) | Tree::Typed(..) | Tree::Prefix(..) => return Err(fault(t, "this is no statement")),
        })
    }

    fn call(&mut self, n: &str, args: &[Tree], column: usize) -> Found<Formula> {
        let all = |m: &mut Self| args.iter().map(|a| m.formula(a)).collect::<Found<Vec<_>>>();
        if self.scope.functions.contains_key(n) {
            return self.predicate(n, args, column);
        }
        Ok(match (n.to_lowercase().as_str(), args) {
            ("and", _) => Formula::And(all(self)?),
            ("or", _) => Formula::Or(all(self)?),
            ("xor", _) => Formula::Xor(all(self)?),
            ("not", [a]) => self.formula(a)?.negated(),
            ("implies" | "if", [a, b]) => Formula::Implies(self.formula(a)?.into(), self.formula(b)?.into()),
            ("iff", [a, b]) => Formula::Iff(self.formula(a)?.into(), self.formula(b)?.into()),
            ("if" | "ifthenelse", [c, a, b]) => {
                let c = self.formula(c)?;
                let (yes, no) = (self.formula(a)?, self.formula(b)?);
                Formula::And(vec![Formula::Implies(c.clone().into(), yes.into()), Formula::Or(vec![c, no])])
            }
            ("forall" | "exists", [vars, inner]) => {
                let bound = self.variables(vars)?;
                let (bound, inner) = self.within(bound, |m| m.formula(inner))?;
                quantified(n.eq_ignore_ascii_case("forall"), bound, inner)
            }
            ("distinct" | "alldifferentconstraint" | "alldifferent", [Tree::List(items)]) if !items.iter().any(|i| matches!(i, Tree::Typed(..))) => {
                Formula::Distinct(vec![], items.iter().map(|i| self.value(i)).collect::<Found<_>>()?)
            }
            ("distinct", [vars, inner]) if matches!(vars, Tree::List(_) | Tree::Typed(..)) => {
                let bound = self.variables(vars)?;
                let (bound, inner) = self.within(bound, |m| m.value(inner))?;
                Formula::Distinct(bound, vec![inner])
            }
            ("distinct", _) => Formula::Distinct(vec![], args.iter().map(|i| self.value(i)).collect::<Found<_>>()?),
            _ => self.predicate(n, args, column)?,
        })
    }

    /// A predicate, or a function whose value is true or false.
    fn predicate(&mut self, n: &str, args: &[Tree], column: usize) -> Found<Formula> {
        let values = self.arguments(n, args, column)?;
        if !self.open && self.scope.functions.get(n).is_none_or(|(_, to)| &**to != "bool") {
            return Err(Fault::new(column, format!("`{n}` is no statement: its value is not true or false")));
        }
        Ok(Formula::Holds(Value::Call(n.into(), values)))
    }

    fn arguments(&mut self, n: &str, args: &[Tree], column: usize) -> Found<Vec<Value>> {
        let values = args.iter().map(|a| self.value(a)).collect::<Found<Vec<_>>>()?;
        if self.open {
            return Ok(values);
        }
        let Some((sorts, _)) = self.scope.functions.get(n) else {
            let near = did_you_mean(n, self.scope.functions.keys().map(|k| &**k)).map_or_else(String::new, |d| format!(", did you mean `{d}`?"));
            return Err(Fault::new(column, format!("`{n}` is not declared{near}")));
        };
        if sorts.len() != values.len() {
            return Err(Fault::new(column, format!("`{n}` takes {} arguments, here are {}", sorts.len(), values.len())));
        }
        for (v, s) in values.iter().zip(sorts) {
            if !self.may_be(v, s) {
                return Err(Fault::new(column, format!("`{v}` is none of `{s}`, of which `{n}` speaks")));
            }
        }
        Ok(values)
    }

    /// Whether a value may be of a sort.
    fn may_be(&self, v: &Value, sort: &Name) -> bool {
        if &**sort == "int" || &**sort == "bool" {
            return true;
        }
        let Some(values) = self.scope.sorts.get(sort) else { return false };
        match v {
            Value::Name(n) => match self.bound.iter().rev().find(|b| b.name == *n) {
                Some(b) => b.sort.as_ref().is_some_and(|s| s == sort || self.scope.sorts.get(s).is_some_and(|of| of.iter().any(|v| values.contains(v)))),
                None => values.contains(v),
            },
            Value::Number(_) => values.iter().any(|v| matches!(v, Value::Number(_))),
            Value::Call(f, _) => self.scope.functions.get(f).is_some_and(|(_, to)| to == sort || &**to == "int"),
            _ => true,
        }
    }

    fn compare(&mut self, r: Rel, a: &Tree, b: &Tree) -> Found<Formula> {
        if matches!(r, Rel::Eq | Rel::Ne) && (self.boolean(a) || self.boolean(b)) {
            let (a, b) = (self.formula(a)?, self.formula(b)?);
            return Ok(if r == Rel::Eq { Formula::Iff(a.into(), b.into()) } else { Formula::Xor(vec![a, b]) });
        }
        Ok(Formula::Compare(r, self.value(a)?, self.value(b)?))
    }

    /// Whether a tree is true or false, as far as its outside tells.
    fn boolean(&self, t: &Tree) -> bool {
        match t {
            Tree::Name(n, _) => n == "True" || n == "False",
            Tree::Call(n, ..) => match self.scope.functions.get(n.as_str()) {
                Some((_, to)) => &**to == "bool",
                None => matches!(n.to_lowercase().as_str(), "and" | "or" | "not" | "implies" | "exists" | "forall"),
            },
            Tree::Infix(op, ..) => matches!(*op, "and" | "or" | "xor" | "->" | "iff" | "=" | "!=" | "<" | "<=" | ">" | ">="),
            Tree::Prefix(op, _) => *op == "not",
            _ => false,
        }
    }

    /// What a tree stands for.
    pub fn value(&mut self, t: &Tree) -> Found<Value> {
        let both = |m: &mut Self, a: &Tree, b: &Tree| Ok((Box::new(m.value(a)?), Box::new(m.value(b)?)));
        Ok(match t {
            Tree::Number(n) => Value::Number(*n),
            Tree::Name(n, column) => self.name(n, *column)?,
            Tree::Prefix("-", inner) => Value::Sub(Box::new(Value::Number(0)), Box::new(self.value(inner)?)),
            Tree::Infix(op @ ("+" | "-" | "*" | "%"), a, b) => {
                let (a, b) = both(self, a, b)?;
                match *op {
                    "+" => Value::Add(a, b),
                    "-" => Value::Sub(a, b),
                    "*" => Value::Mul(a, b),
                    _ => Value::Mod(a, b),
                }
            }
            Tree::Call(n, args, column) => match (n.to_lowercase().as_str(), args.as_slice()) {
                ("count", [vars, inner]) => {
                    let bound = self.variables(vars)?;
                    let (bound, inner) = self.within(bound, |m| m.formula(inner))?;
                    Value::Count(bound, inner.into())
                }
                ("sum", [vars, inner]) if matches!(vars, Tree::List(_) | Tree::Typed(..)) => {
                    let bound = self.variables(vars)?;
                    let (bound, inner) = self.within(bound, |m| if m.boolean(inner) { Ok(Err(m.formula(inner)?)) } else { Ok(Ok(m.value(inner)?)) })?;
                    match inner {
                        Ok(v) => Value::Sum(bound, v.into()),
                        Err(f) => Value::Count(bound, f.into()),
                    }
                }
                ("abs", [a]) => Value::Abs(self.value(a)?.into()),
                ("if" | "ifthenelse", [c, a, b]) => {
                    let c = self.formula(c)?;
                    let (a, b) = both(self, a, b)?;
                    Value::If(c.into(), a, b)
                }
                _ => Value::Call(n.as_str().into(), self.arguments(n, args, *column)?),
            },
            other => return Err(fault(other, "this stands for nothing")),
        })
    }

    fn name(&self, n: &str, column: usize) -> Found<Value> {
        let value = Value::Name(n.into());
        if self.open || self.bound.iter().any(|b| *b.name == *n) || self.scope.sorts.values().any(|v| v.contains(&value)) {
            return Ok(value);
        }
        if self.scope.functions.get(n).is_some_and(|(args, _)| args.is_empty()) {
            return Ok(Value::Call(n.into(), vec![]));
        }
        let known = self.scope.sorts.values().flatten().filter_map(|v| if let Value::Name(n) = v { Some(&**n) } else { None });
        let near = did_you_mean(n, known).map_or_else(String::new, |d| format!(", did you mean `{d}`?"));
        Err(Fault::new(column, format!("`{n}` is not declared{near}")))
    }

    fn variables(&self, t: &Tree) -> Found<Vec<Bound>> {
        let one = |t: &Tree| match t {
            Tree::Typed(v, s) => match (&**v, &**s) {
                (Tree::Name(v, _), Tree::Name(s, column)) => {
                    if !self.scope.sorts.contains_key(s.as_str()) {
                        let near = did_you_mean(s, self.scope.sorts.keys().map(|k| &**k)).map_or_else(String::new, |d| format!(", did you mean `{d}`?"));
                        return Err(Fault::new(*column, format!("the sort `{s}` is not declared{near}")));
                    }
                    Ok(Bound { name: v.as_str().into(), sort: Some(s.as_str().into()) })
                }
                _ => Err(fault(v, "a variable has a name and a sort: `x:sort`")),
            },
            other => Err(fault(other, "a variable is written with its sort: `x:sort`")),
        };
        match t {
            Tree::List(all) => all.iter().map(one).collect(),
            t => Ok(vec![one(t)?]),
        }
    }

    fn within<T>(&mut self, bound: Vec<Bound>, inner: impl FnOnce(&mut Self) -> Found<T>) -> Found<(Vec<Bound>, T)> {
        let n = self.bound.len();
        self.bound.extend(bound);
        let found = inner(self);
        let bound = self.bound.split_off(n);
        Ok((bound, found?))
    }
}

fn quantified(all: bool, bound: Vec<Bound>, inner: Formula) -> Formula {
    if all { Formula::ForAll(bound, inner.into()) } else { Formula::Exists(bound, inner.into()) }
}

/// `a ∧ b ∧ c` is one conjunction.
fn join(make: fn(Vec<Formula>) -> Formula, a: Formula, b: Formula) -> Formula {
    let whole = make(vec![b.clone()]);
    match (a, &whole) {
        (Formula::And(mut all), Formula::And(_)) => {
            all.push(b);
            Formula::And(all)
        }
        (Formula::Or(mut all), Formula::Or(_)) => {
            all.push(b);
            Formula::Or(all)
        }
        (a, _) => make(vec![a, b]),
    }
}

/// A value of a sort as it is written.
fn plain_tree(v: &Value) -> Option<Tree> {
    match v {
        Value::Number(n) => Some(Tree::Number(*n)),
        Value::Name(n) => Some(Tree::Name(n.to_string(), 1)),
        _ => None,
    }
}

fn relation(op: &str) -> Option<Rel> {
    Some(match op {
        "=" => Rel::Eq,
        "!=" => Rel::Ne,
        "<" => Rel::Lt,
        "<=" => Rel::Le,
        ">" => Rel::Gt,
        ">=" => Rel::Ge,
        _ => return None,
    })
}

/// At the first name of a tree.
pub fn fault(t: &Tree, message: &str) -> Fault {
    fn column(t: &Tree) -> Option<usize> {
        match t {
            Tree::Name(_, c) | Tree::Call(_, _, c) => Some(*c),
            Tree::Number(_) => None,
            Tree::List(all) => all.iter().find_map(column),
            Tree::Typed(a, b) | Tree::Infix(_, a, b) => column(a).or_else(|| column(b)),
            Tree::Quantified(_, _, a) | Tree::Prefix(_, a) => column(a),
        }
    }
    Fault::new(column(t).unwrap_or(1), message)
}

/// The variables that quantifiers bind somewhere in a statement.
pub fn quantified_in(t: &Tree, out: &mut Vec<String>) {
    if let Tree::Quantified(_, v, _) = t
        && !out.contains(v)
    {
        out.push(v.clone());
    }
    each(t, &mut |inner| quantified_in(inner, out));
}

/// Those of the variables that a statement names where nothing binds them.
pub fn free_in(t: &Tree, of: &[String]) -> Vec<String> {
    fn walk(t: &Tree, of: &[String], bound: &mut Vec<String>, out: &mut Vec<String>) {
        match t {
            Tree::Name(n, _) if of.contains(n) && !bound.contains(n) && !out.contains(n) => out.push(n.clone()),
            Tree::Quantified(_, v, inner) => {
                bound.push(v.clone());
                walk(inner, of, bound, out);
                bound.pop();
            }
            t => each(t, &mut |inner| walk(inner, of, bound, out)),
        }
    }
    let mut out = vec![];
    walk(t, of, &mut vec![], &mut out);
    out
}

fn each<'t>(t: &'t Tree, f: &mut dyn FnMut(&'t Tree)) {
    match t {
        Tree::Number(_) | Tree::Name(..) => {}
        Tree::Call(_, all, _) | Tree::List(all) => all.iter().for_each(f),
        Tree::Typed(a, b) | Tree::Infix(_, a, b) => {
            f(a);
            f(b);
        }
        Tree::Quantified(_, _, a) | Tree::Prefix(_, a) => f(a),
    }
}
