//! From what a sentence means, as the forms give it, to facts and rules: who is meant, which names are variables, what follows from what.

use super::super::told::{Form, Goal, Literal, Need, Reading, Rule, Strength, variable, variable_of};
use super::context::{Context, WITNESS};
use crate::term::{Atom, Term};

/// A statement with its connectives.
#[derive(Clone, Debug, PartialEq)]
enum Says {
    Lit(Literal),
    All(Vec<Says>),
    Any(Vec<Says>),
    /// One of them and no other.
    Either(Vec<Says>),
    Not(Box<Says>),
}

/// One sentence on its way to rules.
struct Sentence<'a> {
    context: &'a mut Context,
    /// The variables in the order they came up.
    vars: Vec<i32>,
    /// What the variables were said to be.
    given: Vec<Says>,
    /// What a name was said to be in passing (`the red door` is a door).
    passing: Vec<Literal>,
    /// Whether an unnamed one stands for anybody.
    open: bool,
    /// The letters that stand for anybody in a rule, with their variables.
    letters: Vec<(String, Term)>,
    /// Whether this is a rule.
    ruling: bool,
}

/// The readings of a statement; `Err` says what about it is not understood.
pub fn statement(m: &Term, context: &mut Context) -> Result<Vec<Reading>, String> {
    match m {
        Term::Const(c) if &**c == "nothing" => Ok(vec![]),
        _ if super::connects(m) => readings(m, context),
        Term::Fun(f, args) if &**f == "both" => args.iter().map(|a| statement(a, context)).collect::<Result<Vec<_>, _>>().map(|v| v.concat()),
        Term::Fun(f, args) if &**f == "not" => {
            let inner = args.first().map_or_else(|| Ok(vec![]), |a| statement(a, context))?;
            Ok(inner.into_iter().map(|r| if let Reading::Fact(l) = r { Reading::Fact(l.negated()) } else { r }).collect())
        }
        _ => Ok(plain(m, context).iter().filter_map(Term::to_atom).map(|atom| Reading::Fact(Literal { positive: true, atom })).collect()),
    }
}

/// The form of a question's answer, and what is asked.
pub fn question(m: &Term, context: &mut Context, text: &str) -> (Form, Goal) {
    let unread = |why: String| Goal::Unread(format!("{text} ({why})"));
    let literals = |m: &Term, context: &mut Context| goal(m, context).map_or_else(unread, Goal::Literals);
    match parts(m) {
        Some(("which" | "whom", _)) => (Form::Which, literals(m, context)),
        Some(("count", _)) => (Form::HowMany, literals(m, context)),
        Some((how @ ("can" | "must"), [inner])) => match statement(inner, context).as_deref() {
            Ok([Reading::Fact(l)]) => (Form::Need(if how == "can" { Need::Can } else { Need::Must }), Goal::Literals(vec![l.clone()])),
            _ => (Form::Truth, unread("no one statement".into())),
        },
        Some(("claim", [inner])) if super::connects(inner) => (Form::Truth, of_all(inner, context).unwrap_or_else(|| literals(m, context))),
        Some(("claim", [inner])) => match statement(inner, context).as_deref() {
            Ok([Reading::Fact(l)]) => (Form::Truth, Goal::Literals(vec![l.clone()])),
            _ => (Form::Truth, unread("no one statement".into())),
        },
        _ => (Form::Truth, plain(m, context).into_iter().next().map_or_else(|| unread("nothing is asked".into()), Goal::Asked)),
    }
}

/// Whether all of a kind are so, if that is asked: `every(Kind,Sign,Predicate,Other)`.
fn of_all(m: &Term, context: &mut Context) -> Option<Goal> {
    let Some(("say", [subject, vp])) = parts(m) else { return None };
    let Some(("every", [kind])) = parts(subject) else { return None };
    let mut s = Sentence { context, vars: Vec::new(), given: Vec::new(), passing: Vec::new(), open: true, letters: Vec::new(), ruling: false };
    let x = Term::constant("anybody");
    let (Ok(Says::Lit(is)), Ok(so)) = (s.predicate(kind, &x), s.predicate(vp, &x)) else { return None };
    match (cases(&so).as_slice(), s.given.is_empty()) {
        ([so], true) => match so.as_slice() {
            [l] if l.atom.args.len() < 3 => {
                let other = l.atom.args.get(1).cloned().unwrap_or_else(|| Term::constant("it"));
                let sign = Term::constant(if l.positive { "pos" } else { "neg" });
                Some(Goal::Asked(Term::Fun("every".into(), vec![Term::Const(is.atom.name), sign, Term::Const(l.atom.name.clone()), other])))
            }
            _ => None,
        },
        _ => None,
    }
}

fn readings(meaning: &Term, context: &mut Context) -> Result<Vec<Reading>, String> {
    let mut s = Sentence { context, vars: Vec::new(), given: Vec::new(), passing: Vec::new(), open: false, letters: Vec::new(), ruling: false };
    let mut out = s.statement(meaning, Strength::Strict)?;
    out.extend(s.passing.into_iter().map(Reading::Fact));
    out.dedup();
    Ok(out)
}

/// What is asked, as literals that must hold together; variables stand for whoever is asked for.
fn goal(meaning: &Term, context: &mut Context) -> Result<Vec<Literal>, String> {
    let mut s = Sentence { context, vars: Vec::new(), given: Vec::new(), passing: Vec::new(), open: true, letters: Vec::new(), ruling: false };
    let says = match parts(meaning) {
        Some(("which" | "count", [vp])) => {
            let x = s.fresh();
            s.predicate(vp, &x)?
        }
        Some(("whom", [subject, vp])) => {
            let x = s.fresh();
            let vp = replace(vp, "it", &x);
            s.say(subject, &vp)?
        }
        Some(("claim", [m])) => s.clauses(m)?,
        _ => s.clauses(meaning)?,
    };
    let given = std::mem::take(&mut s.given);
    let mut all = cases(&Says::All(given.into_iter().chain([says]).collect()));
    if all.len() == 1 { all.pop().ok_or_else(|| "nothing is asked".to_owned()) } else { Err("a question about one or the other".into()) }
}

/// A term without pronouns of place: names as first written, `each` spread, what is said in passing dropped.
fn plain(meaning: &Term, context: &mut Context) -> Vec<Term> {
    match meaning {
        Term::Fun(f, args) if &**f == "the" => args.first().map(|n| plain(n, context)).unwrap_or_default(),
        Term::Fun(f, args) if &**f == "each" => args.iter().flat_map(|a| plain(a, context)).collect(),
        Term::Fun(f, args) => {
            let mut rows: Vec<Vec<Term>> = vec![Vec::new()];
            for a in args {
                let ways = plain(a, context);
                rows = rows.iter().flat_map(|r| ways.iter().map(|w| [r.clone(), vec![w.clone()]].concat())).collect();
            }
            rows.into_iter().map(|r| Term::Fun(f.clone(), r)).collect()
        }
        Term::Str(s) => vec![Term::string(&context.named(s))],
        t => vec![t.clone()],
    }
}

/// A word as the name of a predicate.
pub fn identifier(word: &str) -> String {
    let mut out: String = word.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if !out.starts_with(|c: char| c.is_ascii_lowercase()) {
        out.insert_str(0, "n_");
    }
    out
}

/// The first name in a meaning.
pub fn name_of(t: &Term) -> Option<&str> {
    match t {
        Term::Str(s) => Some(s),
        Term::Fun(_, args) => args.iter().find_map(name_of),
        _ => None,
    }
}

fn parts(t: &Term) -> Option<(&str, &[Term])> {
    match t {
        Term::Fun(f, args) => Some((f, args)),
        Term::Const(f) => Some((f, &[])),
        _ => None,
    }
}

fn replace(t: &Term, what: &str, by: &Term) -> Term {
    match t {
        Term::Const(c) if &**c == what => by.clone(),
        Term::Fun(f, args) if &**f != "pro" => Term::Fun(f.clone(), args.iter().map(|a| replace(a, what, by)).collect()),
        _ => t.clone(),
    }
}

impl Sentence<'_> {
    fn fresh(&mut self) -> Term {
        let n = i32::try_from(self.vars.len() + 1).unwrap_or(i32::MAX);
        self.vars.push(n);
        variable(n)
    }

    fn statement(&mut self, m: &Term, strength: Strength) -> Result<Vec<Reading>, String> {
        match parts(m) {
            Some(("usually", [inner])) => self.statement(inner, Strength::Default),
            Some(("if", [c, d])) => {
                (self.open, self.ruling) = (true, true);
                let body = self.clauses(c)?;
                self.conclude(d, vec![body], vec![], strength)
            }
            Some(("if_after", [d, c])) => {
                // The words come in the other order, and so do the pronouns.
                (self.open, self.ruling) = (true, true);
                let (head, strength) = self.conclusion(d, strength)?;
                let body = self.clauses(c)?;
                let given = std::mem::take(&mut self.given);
                Ok(rules(&Says::All(given.into_iter().chain([body]).collect()), &head, &[], strength))
            }
            Some(("unless", [d, c])) => {
                let (head, strength) = self.conclusion(d, strength)?;
                self.open = true;
                let unless = self.clauses(c)?;
                let given = std::mem::take(&mut self.given);
                let ways = cases(&unless);
                let Some(one) = ways.iter().map(|w| if let [l] = w.as_slice() { Some(l.clone()) } else { None }).collect::<Option<Vec<_>>>() else {
                    return Err("an exception of several conditions".into());
                };
                Ok(rules(&Says::All(given), &head, &one, strength))
            }
            _ => self.conclude(m, vec![], vec![], strength),
        }
    }

    fn conclusion(&mut self, d: &Term, strength: Strength) -> Result<(Says, Strength), String> {
        match parts(d) {
            Some(("usually", [inner])) => Ok((self.clauses(inner)?, Strength::Default)),
            _ => Ok((self.clauses(d)?, strength)),
        }
    }

    fn conclude(&mut self, d: &Term, body: Vec<Says>, unless: Vec<Literal>, strength: Strength) -> Result<Vec<Reading>, String> {
        // `Only A B`: who B is A.
        if let Some(("say", [subject, vp])) = parts(d)
            && let Some(("only", [kind])) = parts(subject)
        {
            let x = self.fresh();
            let (does, is) = (self.predicate(vp, &x)?, self.predicate(kind, &x)?);
            let given = std::mem::take(&mut self.given);
            return Ok(rules(&Says::All(given.into_iter().chain(body).chain([does]).collect()), &is, &unless, strength));
        }
        let (head, strength) = self.conclusion(d, strength)?;
        let given = std::mem::take(&mut self.given);
        Ok(rules(&Says::All(body.into_iter().chain(given).collect()), &head, &unless, strength))
    }

    fn clauses(&mut self, m: &Term) -> Result<Says, String> {
        match parts(m) {
            Some(("and", [a, b])) => Ok(Says::All(vec![self.clauses(a)?, self.clauses(b)?])),
            Some(("or", [a, b])) => Ok(Says::Any(vec![self.clauses(a)?, self.clauses(b)?])),
            Some(("say", [subject, vp])) => self.say(subject, vp),
            Some(("not", [a])) => Ok(Says::Not(Box::new(self.clauses(a)?))),
            Some((name, args)) if !args.is_empty() => Ok(Says::Lit(Literal { positive: true, atom: Atom::new(name, args.to_vec()) })),
            _ => Err(format!("`{m}` is no statement")),
        }
    }

    fn say(&mut self, subject: &Term, vp: &Term) -> Result<Says, String> {
        match parts(subject) {
            Some(("each", [a, b])) => Ok(Says::All(vec![self.say(a, vp)?, self.say(b, vp)?])),
            Some(("either", [a, b])) => Ok(Says::Either(vec![self.say(a, vp)?, self.say(b, vp)?])),
            Some(("no", [kind])) => {
                let x = self.of_kind(kind)?;
                Ok(Says::Not(Box::new(self.predicate(vp, &x)?)))
            }
            _ => {
                let x = self.thing(subject)?;
                if matches!(x, Term::Str(_)) {
                    self.context.speak_of(&x);
                }
                self.predicate(vp, &x)
            }
        }
    }

    /// A variable for one of a kind.
    fn of_kind(&mut self, kind: &Term) -> Result<Term, String> {
        let x = self.fresh();
        let is = self.predicate(kind, &x)?;
        self.given.push(is);
        Ok(x)
    }

    /// Who or what is meant.
    fn thing(&mut self, t: &Term) -> Result<Term, String> {
        let named = match t {
            // The X and the Y of a rule.
            Term::Str(s) if self.ruling && matches!(&*s.to_uppercase(), "X" | "Y" | "Z") => {
                if let Some((_, v)) = self.letters.iter().find(|(l, _)| l.eq_ignore_ascii_case(s)) {
                    return Ok(v.clone());
                }
                let v = self.fresh();
                self.letters.push((s.to_string(), v.clone()));
                return Ok(v);
            }
            Term::Str(s) => Term::string(&self.context.named(s)),
            Term::Fun(f, args) => match (&**f, args.as_slice()) {
                ("v", _) => return Ok(t.clone()),
                ("the", [name, kind]) => {
                    let name = self.thing(name)?;
                    if let Some(k) = kind.as_name() {
                        self.passing.push(Literal { positive: true, atom: Atom::new(&identifier(k), vec![name.clone()]) });
                    }
                    name
                }
                ("every" | "other", [kind]) => return self.of_kind(kind),
                // `You`: whom the sentence was about before, else anybody.
                ("anybody", [kind]) => {
                    return match self.vars.first() {
                        Some(v) => Ok(variable(*v)),
                        None => self.of_kind(kind),
                    };
                }
                ("some", [kind]) if self.open => return self.of_kind(kind),
                ("some", [kind]) => {
                    self.context.witnesses += 1;
                    let x = Term::string(&format!("{WITNESS}{}", self.context.witnesses));
                    let is = self.predicate(kind, &x)?;
                    self.passing.extend(cases(&is).into_iter().next().unwrap_or_default());
                    x
                }
                ("pro", [which]) => {
                    let object = which.as_name() == Some("them");
                    let var = if object && self.vars.len() > 1 { self.vars.last() } else { self.vars.first() };
                    return match var {
                        Some(v) => Ok(variable(*v)),
                        // Without anybody whom it could mean, it is the `it` of `it rains`.
                        None if object && self.context.other.is_some() => Ok(self.context.other.clone().unwrap_or_else(|| Term::string("it"))),
                        None => Ok(self.context.last.clone().unwrap_or_else(|| Term::string("it"))),
                    };
                }
                _ => return Err(format!("`{t}` is no one thing")),
            },
            _ => return Err(format!("`{t}` is no one thing")),
        };
        Ok(named)
    }

    /// What is said of one thing.
    fn predicate(&mut self, vp: &Term, x: &Term) -> Result<Says, String> {
        let Some((name, args)) = parts(vp) else { return Err(format!("`{vp}` says nothing")) };
        let both = |s: &mut Self, a: &Term, b: &Term| Ok::<_, String>(vec![s.predicate(a, x)?, s.predicate(b, x)?]);
        Ok(match (name, args) {
            ("true", []) => Says::All(vec![]),
            ("all", [a, b]) => Says::All(both(self, a, b)?),
            ("any", [a, b]) => Says::Any(both(self, a, b)?),
            ("either", [a, b]) => Says::Either(both(self, a, b)?),
            ("not", [a]) => Says::Not(Box::new(self.predicate(a, x)?)),
            ("may", [modal, a]) => renamed(self.predicate(a, x)?, modal.as_name().unwrap_or("may")),
            ("is", [_, k]) => self.literal(k, &[], x)?,
            ("does", [_, v]) => self.literal(v, &[], x)?,
            ("rel", [v, a, b]) => self.literal(v, &[a, b], x)?,
            (_, args) => {
                let args: Vec<&Term> = args.iter().collect();
                self.literal(&Term::string(name), &args, x)?
            }
        })
    }

    fn literal(&mut self, name: &Term, args: &[&Term], x: &Term) -> Result<Says, String> {
        let Some(name) = name.as_name() else { return Err(format!("`{name}` is no predicate")) };
        let name = identifier(name);
        let mut rows: Vec<Vec<Term>> = vec![Vec::new()];
        let (mut none, mut either) = (false, false);
        if args.is_empty() {
            rows = vec![vec![x.clone()]];
        }
        for a in args {
            let ways = match parts(a) {
                Some(("self", [])) => vec![x.clone()],
                None if a.as_int().is_some() => vec![(*a).clone()],
                Some(("each", _)) => self.several(a)?,
                Some(("either", _)) => {
                    either = true;
                    self.several(a)?
                }
                Some(("no", [kind])) => {
                    none = true;
                    vec![self.of_kind(kind)?]
                }
                _ => vec![self.thing(a)?],
            };
            rows = rows.iter().flat_map(|r| ways.iter().map(|w| [r.clone(), vec![w.clone()]].concat())).collect();
        }
        let mut all: Vec<Says> = rows.into_iter().map(|r| Says::Lit(Literal { positive: true, atom: Atom::new(&name, r) })).collect();
        let one = if all.len() == 1 {
            all.pop().unwrap_or(Says::All(vec![]))
        } else if either {
            Says::Any(all)
        } else {
            Says::All(all)
        };
        Ok(if none { Says::Not(Box::new(one)) } else { one })
    }

    fn several(&mut self, t: &Term) -> Result<Vec<Term>, String> {
        match parts(t) {
            Some(("each" | "either", [a, b])) => Ok([self.several(a)?, self.several(b)?].concat()),
            _ => Ok(vec![self.thing(t)?]),
        }
    }
}

fn renamed(s: Says, modal: &str) -> Says {
    match s {
        Says::Lit(l) => Says::Lit(Literal { positive: l.positive, atom: Atom { name: format!("{modal}_{}", l.atom.name).into(), args: l.atom.args } }),
        Says::All(v) => Says::All(v.into_iter().map(|s| renamed(s, modal)).collect()),
        Says::Any(v) => Says::Any(v.into_iter().map(|s| renamed(s, modal)).collect()),
        Says::Either(v) => Says::Either(v.into_iter().map(|s| renamed(s, modal)).collect()),
        Says::Not(s) => Says::Not(Box::new(renamed(*s, modal))),
    }
}

fn not(s: &Says) -> Says {
    match s {
        Says::Lit(l) => Says::Lit(l.negated()),
        Says::All(v) => Says::Any(v.iter().map(not).collect()),
        Says::Any(v) => Says::All(v.iter().map(not).collect()),
        Says::Either(v) => Says::All(v.iter().map(not).collect()),
        Says::Not(s) => (**s).clone(),
    }
}

/// The ways in which a statement can be so: each a list of literals.
fn cases(s: &Says) -> Vec<Vec<Literal>> {
    match s {
        Says::Lit(l) => vec![vec![l.clone()]],
        Says::Not(s) => match &**s {
            Says::Not(inner) => cases(inner),
            inner => cases(&not(inner)),
        },
        Says::Any(v) | Says::Either(v) => v.iter().flat_map(cases).collect(),
        Says::All(v) => {
            let mut out: Vec<Vec<Literal>> = vec![Vec::new()];
            for s in v {
                let ways = cases(s);
                out = out.iter().flat_map(|o| ways.iter().map(|w| [o.clone(), w.clone()].concat())).collect();
                out.truncate(64);
            }
            out
        }
    }
}

/// If `body` then `head`, as facts and rules.
fn rules(body: &Says, head: &Says, unless: &[Literal], strength: Strength) -> Vec<Reading> {
    match head {
        Says::All(v) => v.iter().flat_map(|h| rules(body, h, unless, strength)).collect(),
        Says::Not(s) => match &**s {
            Says::Lit(l) => rules(body, &Says::Lit(l.negated()), unless, strength),
            Says::Not(inner) => rules(body, inner, unless, strength),
            inner => rules(body, &not(inner), unless, strength),
        },
        Says::Any(v) | Says::Either(v) => {
            // One of several: if the others are not so, the last one is; and where only one can be, the others are not.
            let mut out = Vec::new();
            for (n, h) in v.iter().enumerate() {
                let others = v.iter().enumerate().filter(|(i, _)| *i != n).map(|(_, o)| o);
                let lacking = others.clone().map(not);
                out.extend(rules(&Says::All([body.clone()].into_iter().chain(lacking).collect()), h, unless, strength));
                if matches!(head, Says::Either(_)) {
                    for o in others {
                        out.extend(rules(&Says::All(vec![body.clone(), h.clone()]), &not(o), unless, strength));
                    }
                }
            }
            out
        }
        Says::Lit(l) => cases(body)
            .into_iter()
            .map(|mut body| {
                body.dedup();
                if body.is_empty() && unless.is_empty() && strength == Strength::Strict && !l.atom.args.iter().any(|a| variable_of(a).is_some()) {
                    Reading::Fact(l.clone())
                } else {
                    Reading::Rule(Rule { head: l.clone(), body, unless: unless.to_vec(), strength })
                }
            })
            .collect(),
    }
}
