//! The typed tree of a rule file: statements with their places and English readings.

pub mod lex;
pub mod parse;

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use crate::diag::Origin;
use crate::term::{Name, Term};

/// A byte range of the source text.
pub type Span = Range<usize>;

/// A predicate: its name and number of arguments.
pub type Predicate = (Name, usize);

/// A binary arithmetic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `\`
    Mod,
    /// `**`
    Pow,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rel {
    /// `=`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

impl Rel {
    /// How it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Eq => "=",
            Self::Ne => "!=",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
        }
    }

    /// The same comparison with its sides exchanged.
    #[must_use]
    pub fn flipped(self) -> Self {
        match self {
            Self::Lt => Self::Gt,
            Self::Le => Self::Ge,
            Self::Gt => Self::Lt,
            Self::Ge => Self::Le,
            same => same,
        }
    }

    /// Whether it holds between two things ordered so.
    pub fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            Self::Eq => order.is_eq(),
            Self::Ne => order.is_ne(),
            Self::Lt => order.is_lt(),
            Self::Le => order.is_le(),
            Self::Gt => order.is_gt(),
            Self::Ge => order.is_ge(),
        }
    }
}

impl Op {
    /// How it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
            Self::Div => "/",
            Self::Mod => "\\",
            Self::Pow => "**",
        }
    }

    /// What it gives for two numbers; none where that is undefined or no number of 32 bits.
    pub fn of(self, a: i32, b: i32) -> Option<i32> {
        match self {
            Self::Add => a.checked_add(b),
            Self::Sub => a.checked_sub(b),
            Self::Mul => a.checked_mul(b),
            Self::Div => a.checked_div(b),
            Self::Mod => a.checked_rem(b),
            Self::Pow => match (a, u32::try_from(b)) {
                (_, Ok(e)) => a.checked_pow(e),
                (0, Err(_)) => None,
                (1, Err(_)) => Some(1),
                (-1, Err(_)) => Some(if b % 2 == 0 { 1 } else { -1 }),
                (_, Err(_)) => Some(0),
            },
        }
    }
}

/// A term with variables and arithmetic.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    /// A number.
    Int(i32),
    /// A constant.
    Const(Name),
    /// A string.
    Str(Name),
    /// `#inf`
    Inf,
    /// `#sup`
    Sup,
    /// A function term; a tuple has the empty name.
    Fun(Name, Vec<Expr>),
    /// A variable and where it stands. An anonymous one is named `_1`, `_2`, … so that each is its own.
    Var(Name, usize),
    /// Arithmetic.
    Binary(Op, Box<Expr>, Box<Expr>),
    /// `-X`
    Neg(Box<Expr>),
    /// `|X|`
    Abs(Box<Expr>),
    /// `l..h`
    Interval(Box<Expr>, Box<Expr>),
    /// `(a;b)`
    Pool(Vec<Expr>),
}

/// An atom with variables.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AtomPattern {
    /// The predicate's name.
    pub name: Name,
    /// Its arguments.
    pub args: Vec<Expr>,
    /// Where it stands.
    pub span: Span,
}

/// How often a literal is negated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sign {
    /// `p`
    Plain,
    /// `not p`
    Not,
    /// `not not p`
    NotNot,
}

/// An atom or comparison, possibly negated.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Literal {
    /// `p(X)`, `not p(X)`
    Atom {
        /// Negation.
        sign: Sign,
        /// The atom.
        atom: AtomPattern,
    },
    /// `X < Y`, `1 < X < 5`
    Compare {
        /// Negation.
        sign: Sign,
        /// The first term.
        left: Expr,
        /// Each following comparison with its right side.
        rest: Vec<(Rel, Expr)>,
        /// Where it stands.
        span: Span,
    },
    /// `#true` or `#false`
    Bool(bool, Span),
}

/// Which aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fold {
    /// `#count`
    Count,
    /// `#sum`
    Sum,
    /// `#sum+`
    SumPlus,
    /// `#min`
    Min,
    /// `#max`
    Max,
}

impl Fold {
    /// How it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Count => "#count",
            Self::Sum => "#sum",
            Self::SumPlus => "#sum+",
            Self::Min => "#min",
            Self::Max => "#max",
        }
    }
}

/// One element of an aggregate: `terms : condition`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Element {
    /// The tuple.
    pub terms: Vec<Expr>,
    /// Its condition.
    pub condition: Vec<Literal>,
    /// Where it stands.
    pub span: Span,
}

/// An aggregate in a body.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Aggregate {
    /// Negation.
    pub sign: Sign,
    /// `left rel #…`
    pub left: Option<(Expr, Rel)>,
    /// Which one.
    pub fold: Fold,
    /// Its elements.
    pub elements: Vec<Element>,
    /// `… rel right`
    pub right: Option<(Rel, Expr)>,
    /// Where it stands.
    pub span: Span,
}

/// One item of a body.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Item {
    /// A literal.
    Literal(Literal),
    /// `literal : condition`: for all instances of the condition.
    Conditional {
        /// What must hold.
        literal: Literal,
        /// For every instance of this.
        condition: Vec<Literal>,
        /// Where it stands.
        span: Span,
    },
    /// An aggregate.
    Aggregate(Aggregate),
}

/// A literal of a disjunctive or choice head with its condition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HeadElement {
    /// The literal.
    pub literal: Literal,
    /// Its condition.
    pub condition: Vec<Literal>,
}

/// What a rule derives.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Head {
    /// Nothing: an integrity constraint.
    None,
    /// One atom.
    Atom(AtomPattern),
    /// One of several.
    Disjunction(Vec<HeadElement>),
    /// Any of several, within bounds.
    Choice(Vec<HeadElement>),
}

/// A statement's meaning.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A fact, rule or constraint.
    Rule {
        /// What is derived.
        head: Head,
        /// From what.
        body: Vec<Item>,
    },
    /// `#show p/n.`
    Show(Predicate),
    /// `#show.`: nothing but what else is shown.
    ShowNothing,
    /// `#const name = value.`
    Const(Name, Expr),
    /// `#external p(X) : q(X).`
    External(AtomPattern, Vec<Item>),
    /// `#defined p/n.`
    Defined(Predicate),
    /// `#minimize`, `#maximize` and weak constraints: their conditions.
    Optimise(Vec<Item>),
    /// `#program base.`
    ProgramBase,
}

/// A statement, where it stands and how it reads in English.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// What it says.
    pub kind: Kind,
    /// Its place.
    pub origin: Origin,
    /// Its text, as the author wrote it.
    pub text: Name,
    /// The `%:` lines above it, joined.
    pub reading: Option<Name>,
}

impl Expr {
    /// Calls `f` with every variable.
    pub fn each_var(&self, f: &mut dyn FnMut(&Name, usize)) {
        match self {
            Self::Int(_) | Self::Const(_) | Self::Str(_) | Self::Inf | Self::Sup => {}
            Self::Var(n, at) => f(n, *at),
            Self::Fun(_, args) | Self::Pool(args) => args.iter().for_each(|a| a.each_var(f)),
            Self::Binary(_, a, b) | Self::Interval(a, b) => {
                a.each_var(f);
                b.each_var(f);
            }
            Self::Neg(a) | Self::Abs(a) => a.each_var(f),
        }
    }

    /// The term that a fact may hold: without variables, tuples and calculation, but for a number's sign.
    pub fn ground(&self) -> Option<Term> {
        match self {
            Self::Int(n) => Some(Term::Int(*n)),
            Self::Const(n) => Some(Term::Const(n.clone())),
            Self::Str(n) => Some(Term::Str(n.clone())),
            Self::Neg(inner) => inner.ground()?.as_int().and_then(i32::checked_neg).map(Term::Int),
            Self::Fun(n, args) if !n.is_empty() => Some(Term::Fun(n.clone(), args.iter().map(Self::ground).collect::<Option<_>>()?)),
            _ => None,
        }
    }

    /// The names of its variables.
    pub fn vars(&self) -> BTreeSet<Name> {
        let mut out = BTreeSet::new();
        self.each_var(&mut |n, _| {
            out.insert(n.clone());
        });
        out
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, args: &[Expr], between: &str| -> fmt::Result {
            for (n, a) in args.iter().enumerate() {
                write!(f, "{}{a}", if n == 0 { "" } else { between })?;
            }
            Ok(())
        };
        match self {
            Self::Int(n) => write!(f, "{n}"),
            Self::Const(n) => f.write_str(n),
            Self::Str(n) => write!(f, "{}", crate::term::Term::Str(n.clone())),
            Self::Inf => f.write_str("#inf"),
            Self::Sup => f.write_str("#sup"),
            Self::Var(n, _) => f.write_str(if is_anonymous(n) { "_" } else { n }),
            Self::Fun(n, args) => {
                write!(f, "{n}(")?;
                list(f, args, ",")?;
                f.write_str(if n.is_empty() && args.len() == 1 { ",)" } else { ")" })
            }
            Self::Binary(op, a, b) => write!(f, "({a}{}{b})", op.symbol()),
            Self::Neg(a) => write!(f, "(-{a})"),
            Self::Abs(a) => write!(f, "|{a}|"),
            Self::Interval(a, b) => write!(f, "({a}..{b})"),
            Self::Pool(args) => {
                f.write_str("(")?;
                list(f, args, ";")?;
                f.write_str(")")
            }
        }
    }
}

impl AtomPattern {
    /// Its predicate.
    pub fn predicate(&self) -> Predicate {
        (self.name.clone(), self.args.len())
    }
}

impl Literal {
    /// Calls `f` with every variable.
    pub fn each_var(&self, f: &mut dyn FnMut(&Name, usize)) {
        match self {
            Self::Atom { atom, .. } => atom.args.iter().for_each(|a| a.each_var(f)),
            Self::Compare { left, rest, .. } => {
                left.each_var(f);
                rest.iter().for_each(|(_, e)| e.each_var(f));
            }
            Self::Bool(..) => {}
        }
    }

    /// The names of its variables.
    pub fn vars(&self) -> BTreeSet<Name> {
        let mut out = BTreeSet::new();
        self.each_var(&mut |n, _| {
            out.insert(n.clone());
        });
        out
    }

    /// The literal that holds where this one does not.
    #[must_use]
    pub fn negated(self) -> Self {
        let other = |sign| if sign == Sign::Not { Sign::Plain } else { Sign::Not };
        match self {
            Self::Atom { sign, atom } => Self::Atom { sign: other(sign), atom },
            Self::Compare { sign, left, rest, span } => Self::Compare { sign: other(sign), left, rest, span },
            Self::Bool(b, span) => Self::Bool(!b, span),
        }
    }

    /// Where it stands.
    pub fn span(&self) -> &Span {
        match self {
            Self::Atom { atom, .. } => &atom.span,
            Self::Compare { span, .. } | Self::Bool(_, span) => span,
        }
    }
}

impl Item {
    /// Calls `f` with every variable that is not local to it.
    pub fn each_global(&self, f: &mut dyn FnMut(&Name, usize)) {
        match self {
            Self::Literal(Literal::Atom { sign: Sign::Not | Sign::NotNot, atom }) => {
                let mut named = |n: &Name, at| {
                    if !is_anonymous(n) {
                        f(n, at)
                    }
                };
                atom.args.iter().for_each(|a| a.each_var(&mut named));
            }
            Self::Literal(l) => l.each_var(f),
            Self::Conditional { .. } => {}
            Self::Aggregate(a) => {
                a.left.iter().for_each(|(e, _)| e.each_var(f));
                a.right.iter().for_each(|(_, e)| e.each_var(f));
            }
        }
    }

    /// Where it stands.
    pub fn span(&self) -> &Span {
        match self {
            Self::Literal(l) => l.span(),
            Self::Conditional { span, .. } => span,
            Self::Aggregate(a) => &a.span,
        }
    }

    /// Every literal inside, with whether its truth is passed on monotonically (a plain positive literal of the body itself).
    pub fn literals(&self) -> Vec<(&Literal, bool)> {
        match self {
            Self::Literal(l) => vec![(l, true)],
            Self::Conditional { literal, condition, .. } => std::iter::once(literal).chain(condition).map(|l| (l, false)).collect(),
            Self::Aggregate(a) => a.elements.iter().flat_map(|e| &e.condition).map(|l| (l, false)).collect(),
        }
    }
}

/// The variables of a rule that have one value in all of it, not one in each element of an aggregate or instance of a condition.
pub fn globals(head: Option<&AtomPattern>, body: &[Item]) -> BTreeSet<Name> {
    let mut out: BTreeSet<Name> = head.iter().flat_map(|h| &h.args).flat_map(Expr::vars).collect();
    body.iter().for_each(|i| i.each_global(&mut |n, _| out.extend([n.clone()])));
    out
}

/// Whether a variable was written `_`.
pub fn is_anonymous(name: &str) -> bool {
    name.strip_prefix('_').is_some_and(|r| r.starts_with(|c: char| c.is_ascii_digit()))
}
