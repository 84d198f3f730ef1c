//! What is told and asked, read: facts, rules and formulas with the lines they came from, and as facts that rules speak about.

use std::collections::BTreeSet;
use std::fmt;

use super::formula::{Formula, Scope};
use crate::term::{Atom, Name, Term};
use crate::text::word_at;

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

impl Reading {
    /// Whether a fact or rule speaks of somebody or something of this name, or of a kind.
    pub fn speaks_of(&self, name: &str, kind: &str) -> bool {
        let of = |l: &Literal| &*l.atom.name == kind || l.atom.args.iter().any(|a| a.as_name() == Some(name));
        match self {
            Self::Fact(l) => of(l),
            Self::Rule(r) => [&r.head].into_iter().chain(&r.body).chain(&r.unless).any(of),
            Self::Formula(_) | Self::Unread(_) => false,
        }
    }
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
    /// The kinds that were told in full, each with one of it.
    pub values: Vec<(String, String)>,
}

impl Theory {
    /// Where a name stands first in what was told: the statement, and the place in its words; last what stands nowhere.
    pub fn mentioned(&self, name: &Term) -> (usize, usize) {
        let name = name.as_name().map(str::to_lowercase).unwrap_or_default();
        let place = |t: &Told| word_at(&t.text.to_lowercase(), &name);
        self.told.iter().enumerate().find_map(|(n, t)| Some((n, place(t)?))).unwrap_or((usize::MAX, 0))
    }

    /// Calls the one of a kind that was told in full by its own name: where red is one of the hats, the red hat is red.
    pub fn name_values(&self, l: &mut Literal) {
        for a in &mut l.atom.args {
            let short =
                a.as_name().and_then(|n| self.values.iter().find(|(k, v)| n.strip_prefix(&**v).is_some_and(|rest| rest.trim_start() == k && rest != k)));
            if let Some((_, v)) = short {
                *a = Term::string(v);
            }
        }
    }

    /// The predicates that what was told speaks of.
    pub fn predicates(&self) -> BTreeSet<Name> {
        let mut out = BTreeSet::new();
        for t in &self.told {
            match &t.reading {
                Reading::Fact(l) => out.extend([l.atom.name.clone()]),
                Reading::Rule(r) => out.extend([&r.head].into_iter().chain(&r.body).chain(&r.unless).map(|l| l.atom.name.clone())),
                Reading::Formula(f) => f.predicates(&mut out),
                Reading::Unread(_) => {}
            }
        }
        out
    }

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
    /// Whether it must, can, cannot or need not be so.
    Need(Need),
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

/// The predicates under which rules see what was told and asked, with their arities; `rules/reason/statements.lp` takes the terms apart.
///
/// - `stands(S,L,Statement)`: statement S was told in line L. It is `fact(Sign,Term)`, `fact(Sign,Term,P,A,B)` where it says of A (and B, else
///   `it`) that P is so (`pos`) or not (`neg`), or `rule(strict|default,Conditions,Exceptions,Head)`.
/// - `given(Atom)`: given without words.
/// - `question(asks(Term))`: a module's question; `question(all(Conditions))`: whether these hold; `question(need(can|must,Conditions))`:
///   whether they can or must hold;
///   `question(who(which|how_many|some,Conditions))`: who meets them, how many do, or whether anybody does.
///
/// Conditions are a list `c(First,Rest)` to `nil` of `l(Sign,P,T,U)`, where T and U are `c(Thing)`, `f(I)` (the rule's variable I, here for
/// the first time) or `b(I)`.
pub const PREDICATES: [(&str, usize); 3] = [("stands", 3), ("given", 1), ("question", 1)];

/// What was told and asked, as facts; the number of a statement is its place.
pub fn facts(theory: &Theory, question: Option<&Question>, contraposition: bool) -> Vec<Atom> {
    let given = theory.given.iter().map(|a| Atom::new("given", vec![a.to_term()]));
    let stated = theory.told.iter().flat_map(|t| statements(&t.reading, contraposition).into_iter().map(|s| (t.line, s)));
    let stands = stated.enumerate().map(|(n, (line, s))| Atom::new("stands", vec![Term::number(n + 1), Term::number(line), s]));
    let asked = question.and_then(question_term).map(|q| Atom::new("question", vec![q]));
    given.chain(stands).chain(asked).collect()
}

/// What a reading states, as terms that rules take apart; formulas are nothing to them.
pub fn statements(reading: &Reading, contraposition: bool) -> Vec<Term> {
    match reading {
        Reading::Fact(l) => {
            let mut args = vec![l.sign(), l.atom.to_term()];
            if let Some([a, b]) = two(&l.atom) {
                args.extend([predicate(&l.atom), a, b]);
            }
            vec![Term::Fun("fact".into(), args)]
        }
        Reading::Rule(r) => variants(r, contraposition).iter().filter_map(rule).collect(),
        Reading::Formula(_) | Reading::Unread(_) => vec![],
    }
}

/// What is asked, as a term that rules take apart.
pub fn question_term(question: &Question) -> Option<Term> {
    let who = |how: &str, ls: &[Literal]| Some(Term::Fun("who".into(), vec![Term::constant(how), conditions(ls, &mut vec![])?]));
    match (&question.goal, &question.form) {
        (Goal::Asked(t), _) => Some(Term::Fun("asks".into(), vec![t.clone()])),
        (Goal::Literals(ls), Form::Which) => who("which", ls),
        (Goal::Literals(ls), Form::HowMany) => who("how_many", ls),
        (Goal::Literals(ls), Form::Truth) if ls.iter().flat_map(|l| &l.atom.args).any(|t| variable_of(t).is_some()) => who("some", ls),
        (Goal::Literals(ls), Form::Need(Need::Can | Need::Must)) => {
            let need = Term::constant(if question.form == Form::Need(Need::Can) { "can" } else { "must" });
            Some(Term::Fun("need".into(), vec![need, conditions(ls, &mut vec![])?]))
        }
        (Goal::Literals(ls), _) => Some(Term::Fun("all".into(), vec![conditions(ls, &mut vec![])?])),
        _ => None,
    }
}

/// A list as a term: `c(First,Rest)` to `nil`.
fn list(items: Vec<Term>) -> Term {
    items.into_iter().rev().fold(Term::constant("nil"), |rest, first| Term::Fun("c".into(), vec![first, rest]))
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

/// A rule as a term; nothing if a statement of it is about more than two things.
fn rule(r: &Rule) -> Option<Term> {
    let mut known = vec![];
    let strength = Term::constant(if r.strength == Strength::Strict { "strict" } else { "default" });
    // An exception is about whom the conditions or, without any, the head is about.
    let (body, head) = (conditions(&r.body, &mut known)?, part(&r.head, &mut known)?);
    Some(Term::Fun("rule".into(), vec![strength, body, conditions(&r.unless, &mut known)?, head]))
}

fn conditions(body: &[Literal], known: &mut Vec<i32>) -> Option<Term> {
    body.iter().map(|l| part(l, known)).collect::<Option<Vec<Term>>>().map(list)
}

/// Sign, predicate and two arguments, each with whether its variable was met before.
fn part(l: &Literal, known: &mut Vec<i32>) -> Option<Term> {
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
    Some(Term::Fun("l".into(), [vec![l.sign(), predicate(&l.atom)], args.to_vec()].concat()))
}

/// What a statement says, as rules see it: that one is more so than another (`more_tall`) by the word, as the module that compares has it.
fn predicate(a: &Atom) -> Term {
    let compared = a.name.strip_prefix("more_").filter(|_| a.args.len() == 2);
    compared.map_or_else(|| Term::Const(a.name.clone()), |word| Term::Fun("more".into(), vec![Term::string(word)]))
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
