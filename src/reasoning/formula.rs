//! Formulas of first-order logic over named things and numbers: what formal parses say, and what rules and facts cannot.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::reason::syntax::Rel;
use crate::term::Name;

/// A statement that is true or false in a model.
#[derive(Clone, Debug, PartialEq)]
pub enum Formula {
    /// Settled.
    Settled(bool),
    /// A predicate, or a function whose value is true or false, of its arguments.
    Holds(Value),
    /// Not.
    Not(Box<Formula>),
    /// All of them.
    And(Vec<Formula>),
    /// One of them at least.
    Or(Vec<Formula>),
    /// An odd number of them.
    Xor(Vec<Formula>),
    /// If the first, then the second.
    Implies(Box<Formula>, Box<Formula>),
    /// Both or neither.
    Iff(Box<Formula>, Box<Formula>),
    /// A comparison of two values; those of a sort are in its order.
    Compare(Rel, Value, Value),
    /// For all values of the variables.
    ForAll(Vec<Bound>, Box<Formula>),
    /// For some.
    Exists(Vec<Bound>, Box<Formula>),
    /// The values differ, for all values of the variables.
    Distinct(Vec<Bound>, Vec<Value>),
}

/// What a term stands for in a model.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Number(i32),
    /// A named thing, or a variable that is bound outside.
    Name(Name),
    /// A function of its arguments.
    Call(Name, Vec<Value>),
    /// A sum.
    Add(Box<Value>, Box<Value>),
    /// A difference.
    Sub(Box<Value>, Box<Value>),
    /// A product.
    Mul(Box<Value>, Box<Value>),
    /// What is left after a division.
    Mod(Box<Value>, Box<Value>),
    /// Without its sign.
    Abs(Box<Value>),
    /// For how many values of the variables it holds.
    Count(Vec<Bound>, Box<Formula>),
    /// The sum over all values of the variables.
    Sum(Vec<Bound>, Box<Value>),
    /// One value or the other.
    If(Box<Formula>, Box<Value>, Box<Value>),
}

/// A bound variable; without a sort it ranges over all things.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Its name.
    pub name: Name,
    /// Its sort.
    pub sort: Option<Name>,
}

/// Over what formulas range.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scope {
    /// The values of each sort, in order.
    pub sorts: BTreeMap<Name, Vec<Value>>,
    /// The functions: sorts of the arguments, and of the value (`bool` and `int` are no sorts of their own).
    pub functions: BTreeMap<Name, (Vec<Name>, Name)>,
}

impl Formula {
    /// A comparison with the smaller value first; anything else as it is.
    #[must_use]
    pub fn forward(self) -> Self {
        match self {
            Self::Compare(Rel::Gt, a, b) => Self::Compare(Rel::Lt, b, a),
            Self::Compare(Rel::Ge, a, b) => Self::Compare(Rel::Le, b, a),
            f => f,
        }
    }

    /// Collects the predicates that it speaks of.
    pub fn predicates(&self, out: &mut BTreeSet<Name>) {
        match self {
            Self::Holds(Value::Call(name, _)) => out.extend([name.clone()]),
            Self::Not(f) | Self::ForAll(_, f) | Self::Exists(_, f) => f.predicates(out),
            Self::And(all) | Self::Or(all) | Self::Xor(all) => all.iter().for_each(|f| f.predicates(out)),
            Self::Implies(a, b) | Self::Iff(a, b) => [a, b].iter().for_each(|f| f.predicates(out)),
            _ => {}
        }
    }

    /// The opposite.
    #[must_use]
    pub fn negated(self) -> Self {
        match self {
            Self::Not(f) => *f,
            Self::Settled(yes) => Self::Settled(!yes),
            f => Self::Not(Box::new(f)),
        }
    }
}

fn list<T: fmt::Display>(f: &mut fmt::Formatter<'_>, name: &str, all: &[T]) -> fmt::Result {
    write!(f, "{name}(")?;
    for (n, a) in all.iter().enumerate() {
        write!(f, "{}{a}", if n == 0 { "" } else { ", " })?;
    }
    f.write_str(")")
}

fn bound(f: &mut fmt::Formatter<'_>, name: &str, vars: &[Bound], inner: &dyn fmt::Display) -> fmt::Result {
    write!(f, "{name} ")?;
    for v in vars {
        write!(f, "{}", v.name)?;
        if let Some(s) = &v.sort {
            write!(f, ":{s}")?;
        }
        f.write_str(" ")?;
    }
    write!(f, "({inner})")
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settled(yes) => yes.fmt(f),
            Self::Holds(v) => v.fmt(f),
            Self::Not(x) => write!(f, "not {x}"),
            Self::And(all) => list(f, "and", all),
            Self::Or(all) => list(f, "or", all),
            Self::Xor(all) => list(f, "xor", all),
            Self::Implies(a, b) => write!(f, "({a} -> {b})"),
            Self::Iff(a, b) => write!(f, "({a} <-> {b})"),
            Self::Compare(r, a, b) => write!(f, "{a} {} {b}", r.symbol()),
            Self::ForAll(vars, x) => bound(f, "all", vars, x),
            Self::Exists(vars, x) => bound(f, "some", vars, x),
            Self::Distinct(vars, all) if vars.is_empty() => list(f, "distinct", all),
            Self::Distinct(vars, all) => all.iter().try_for_each(|v| bound(f, "distinct", vars, v)),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(n) => n.fmt(f),
            Self::Name(n) => f.write_str(n),
            Self::Call(n, args) => list(f, n, args),
            Self::Add(a, b) => write!(f, "({a} + {b})"),
            Self::Sub(a, b) => write!(f, "({a} - {b})"),
            Self::Mul(a, b) => write!(f, "({a} * {b})"),
            Self::Mod(a, b) => write!(f, "({a} % {b})"),
            Self::Abs(a) => write!(f, "|{a}|"),
            Self::Count(vars, x) => bound(f, "count", vars, x),
            Self::Sum(vars, x) => bound(f, "sum", vars, x),
            Self::If(c, a, b) => write!(f, "({c} ? {a} : {b})"),
        }
    }
}
