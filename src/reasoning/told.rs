//! What is told and asked, read: facts, rules and formulas with the lines they came from, and as facts that rules speak about.

use std::fmt;

use super::formula::{Formula, Scope};
use crate::term::{Atom, Term};

/// The variable with a number, as a term: told rules are data, so their variables are terms too.
pub fn variable(n: i32) -> Term {
    Term::Fun("v".into(), vec![Term::Int(n)])
}

/// Which variable a term is.
pub fn variable_of(t: &Term) -> Option<i32> {
    match t {
        Term::Fun(f, args) if &**f == "v" => args.first().and_then(Term::as_int),
        _ => None,
    }
}

/// A statement about things or variables, or that it is not so.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Literal {
    /// Whether it is so.
    pub positive: bool,
    /// What: arguments are terms or variables.
    pub atom: Atom,
}

impl Literal {
    /// The opposite.
    #[must_use]
    pub fn negated(&self) -> Self {
        Self { positive: !self.positive, atom: self.atom.clone() }
    }

    fn sign(&self) -> Term {
        Term::constant(if self.positive { "pos" } else { "neg" })
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.positive { "" } else { "-" }, self.atom)
    }
}

/// Whether a told rule has exceptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Strength {
    /// None.
    Strict,
    /// It yields to what is strict, and to what is more specific.
    Default,
}

/// If all of `body` and nothing of `unless`, then `head`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// What follows.
    pub head: Literal,
    /// From what.
    pub body: Vec<Literal>,
    /// What must not follow.
    pub unless: Vec<Literal>,
    /// With exceptions or without.
    pub strength: Strength,
}

/// What a told sentence says.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// Something is so, or not so.
    Fact(Literal),
    /// A rule.
    Rule(Rule),
    /// Any other statement of first-order logic with numbers.
    Formula(Formula),
    /// Words that could not be read.
    Unread(String),
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fact(l) => l.fmt(f),
            Self::Rule(r) => {
                let all = |ls: &[Literal]| ls.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                write!(f, "{} {} {}", r.head, if r.strength == Strength::Strict { ":-" } else { ":~" }, all(&r.body))?;
                if r.unless.is_empty() { Ok(()) } else { write!(f, " unless {}", all(&r.unless)) }
            }
            Self::Formula(x) => x.fmt(f),
            Self::Unread(words) => write!(f, "unread: {words}"),
        }
    }
}

/// A told sentence, read; a line that says several things is several of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// The line, from 1.
    pub line: usize,
    /// Its words.
    pub text: String,
    /// What they say.
    pub reading: Reading,
}

/// All that was told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Theory {
    /// In order.
    pub told: Vec<Told>,
    /// What is given as atoms, without words.
    pub given: Vec<Atom>,
    /// Over what formulas range: sorts and functions with their values.
    pub scope: Scope,
}

impl Theory {
    /// The first words that could not be read.
    pub fn unread(&self) -> impl Iterator<Item = &str> {
        self.told.iter().filter_map(|t| if let Reading::Unread(w) = &t.reading { Some(w.as_str()) } else { None })
    }
}

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub enum Goal {
    /// Whether all of these hold; with variables, for whom.
    Literals(Vec<Literal>),
    /// Whether a formula holds.
    Formula(Formula),
    /// Something that a module answers: its rules see `asked(Term)` and derive `answer(Value)`.
    Asked(Term),
    /// Nothing beside what the options say.
    None,
    /// Words that could not be read.
    Unread(String),
}

/// What must be so of an option for it to be the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// It holds in all models.
    #[default]
    Must,
    /// It holds in some model.
    Can,
    /// It holds in no model.
    Cannot,
    /// It fails in some model.
    NotMust,
}

impl Need {
    /// What must be so of the exception.
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Self::Must => Self::NotMust,
            Self::NotMust => Self::Must,
            Self::Can => Self::Cannot,
            Self::Cannot => Self::Can,
        }
    }
}

/// A condition of an option.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// What is looked at.
    pub goal: Formula,
    /// What must be so of it.
    pub need: Need,
}

/// An option of a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Its letter.
    pub label: String,
    /// What it demands, all of it; nothing if it could not be read.
    pub checks: Vec<Check>,
}

/// The form of the answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// Yes, no, unknown or a contradiction.
    Truth,
    /// Those that may stand for the goal's first variable.
    Which,
    /// How many.
    HowMany,
    /// The one option that is so.
    Choice(Vec<Choice>),
}

/// A question, read.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Its words.
    pub text: String,
    /// The form of its answer.
    pub form: Form,
    /// What is asked; not looked at where options say it.
    pub goal: Goal,
}

impl Question {
    /// What was made of its words.
    pub fn read(&self) -> String {
        match (&self.goal, &self.form) {
            (Goal::Literals(ls), _) => format!("? {}", ls.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
            (Goal::Formula(f), _) => format!("? {f}"),
            (Goal::Asked(t), _) => format!("? {t}"),
            (Goal::Unread(w), _) => format!("? unread: {w}"),
            (Goal::None, Form::Choice(all)) => {
                let option =
                    |c: &Choice| format!("{}) {}", c.label, c.checks.iter().map(|k| format!("{:?} {}", k.need, k.goal)).collect::<Vec<_>>().join(", "));
                format!("? {}", all.iter().map(option).collect::<Vec<_>>().join("; "))
            }
            (Goal::None, _) => "?".to_owned(),
        }
    }
}

/// The predicates under which rules see what was told and asked, with their arities.
///
/// - `told(S,L)`: statement S was told in line L.
/// - `fact(S,Sign,P,A,B)`: it says of A (and B, else `it`) that P is so (`pos`) or not (`neg`).
/// - `said(S,Sign,Term)`: the same as one term, for predicates of any arity.
/// - `rule(S,N)`: it is a rule of N conditions, `strength(S,strict|default)`; `part(S,K,Sign,P,T,U)` are these, `unless(S,Sign,P,T,U)` exceptions and
///   `then(S,Sign,P,T,U)` what follows. T and U are `c(Thing)`, `f(I)` (the rule's variable I, here for the first time) or `b(I)`.
/// - `given(Atom)`: given without words.
/// - `asked(Term)`: a module's question; `goal(K,Sign,P,T,U)`: one of the statements that are asked about, `goals(N)` how many.
/// - `form(which|how_many|some)`: who meets the conditions of rule 0, how many do, or whether anybody does.
pub const PREDICATES: [(&str, usize); 13] = [
    ("told", 2),
    ("fact", 5),
    ("said", 3),
    ("rule", 2),
    ("strength", 2),
    ("form", 1),
    ("part", 6),
    ("unless", 5),
    ("then", 5),
    ("given", 1),
    ("asked", 1),
    ("goal", 5),
    ("goals", 1),
];

/// What was told and asked, as facts; the number of a statement is its place.
pub fn facts(theory: &Theory, question: Option<&Question>, contraposition: bool) -> Vec<Atom> {
    let mut out: Vec<Atom> = theory.given.iter().map(|a| Atom::new("given", vec![a.to_term()])).collect();
    let mut number = 0;
    let mut state = |line: usize, out: &mut Vec<Atom>| {
        number += 1;
        out.push(Atom::new("told", vec![Term::Int(number), int(line)]));
        Term::Int(number)
    };
    for t in &theory.told {
        match &t.reading {
            Reading::Fact(l) => {
                let s = state(t.line, &mut out);
                let mut args = vec![s.clone(), l.sign()];
                out.push(Atom::new("said", vec![s, l.sign(), l.atom.to_term()]));
                if let Some([a, b]) = two(&l.atom) {
                    args.extend([Term::Const(l.atom.name.clone()), a, b]);
                    out.push(Atom::new("fact", args));
                }
            }
            Reading::Rule(r) => {
                for r in variants(r, contraposition) {
                    let s = state(t.line, &mut out);
                    rule(&s, &r, &mut out);
                }
            }
            Reading::Formula(_) | Reading::Unread(_) => {}
        }
    }
    match question.map(|q| (&q.goal, &q.form)) {
        Some((Goal::Asked(t), _)) => out.push(Atom::new("asked", vec![t.clone()])),
        Some((Goal::Literals(ls), form @ (Form::Which | Form::HowMany))) => {
            // Who meets all conditions: the conditions of a rule without a head.
            out.push(Atom::new("form", vec![Term::constant(if *form == Form::Which { "which" } else { "how_many" })]));
            conditions(&Term::Int(0), ls, &mut vec![], &mut out);
        }
        Some((Goal::Literals(ls), Form::Truth)) if ls.iter().flat_map(|l| &l.atom.args).any(|t| variable_of(t).is_some()) => {
            // Whether there is one that meets all conditions.
            out.push(Atom::new("form", vec![Term::constant("some")]));
            conditions(&Term::Int(0), ls, &mut vec![], &mut out);
        }
        Some((Goal::Literals(ls), _)) => {
            out.push(Atom::new("goals", vec![int(ls.len())]));
            let mut known = vec![];
            for (k, l) in ls.iter().enumerate() {
                out.extend(part(l, &mut known).map(|p| Atom::new("goal", [vec![int(k + 1)], p].concat())));
            }
        }
        _ => {}
    }
    out
}

/// The rule, and where strict rules contrapose, what it says of each of its conditions.
fn variants(r: &Rule, contraposition: bool) -> Vec<Rule> {
    let mut out = vec![r.clone()];
    if contraposition && r.strength == Strength::Strict && r.unless.is_empty() {
        for (k, l) in r.body.iter().enumerate() {
            // The negated head first: it binds most of the variables.
            let mut body = vec![r.head.negated()];
            body.extend(r.body.iter().enumerate().filter(|(i, _)| *i != k).map(|(_, l)| l.clone()));
            out.push(Rule { head: l.negated(), body, unless: vec![], strength: Strength::Strict });
        }
    }
    out
}

fn rule(s: &Term, r: &Rule, out: &mut Vec<Atom>) {
    let mut known = vec![];
    let strength = if r.strength == Strength::Strict { "strict" } else { "default" };
    out.push(Atom::new("strength", vec![s.clone(), Term::constant(strength)]));
    conditions(s, &r.body, &mut known, out);
    for l in &r.unless {
        out.extend(part(l, &mut known).map(|p| Atom::new("unless", [vec![s.clone()], p].concat())));
    }
    out.extend(part(&r.head, &mut known).map(|p| Atom::new("then", [vec![s.clone()], p].concat())));
}

fn conditions(s: &Term, body: &[Literal], known: &mut Vec<i32>, out: &mut Vec<Atom>) {
    out.push(Atom::new("rule", vec![s.clone(), int(body.len())]));
    for (k, l) in body.iter().enumerate() {
        out.extend(part(l, known).map(|p| Atom::new("part", [vec![s.clone(), int(k + 1)], p].concat())));
    }
}

/// Sign, predicate and two arguments, each with whether its variable was met before.
fn part(l: &Literal, known: &mut Vec<i32>) -> Option<Vec<Term>> {
    let args = two(&l.atom)?.map(|t| match variable_of(&t) {
        None => Term::Fun("c".into(), vec![t]),
        Some(n) => {
            let met = known.contains(&n);
            if !met {
                known.push(n);
            }
            Term::Fun(if met { "b" } else { "f" }.into(), vec![Term::Int(n)])
        }
    });
    Some([vec![l.sign(), Term::Const(l.atom.name.clone())], args.to_vec()].concat())
}

/// The arguments of a statement about one or two things; `it` where there is no second, and no first.
fn two(a: &Atom) -> Option<[Term; 2]> {
    let it = || Term::constant("it");
    match a.args.as_slice() {
        [] => Some([it(), it()]),
        [x] => Some([x.clone(), it()]),
        [x, y] => Some([x.clone(), y.clone()]),
        _ => None,
    }
}

fn int(n: usize) -> Term {
    Term::Int(i32::try_from(n).unwrap_or(i32::MAX))
}
