//! From what a sentence means, as the forms give it, to facts and rules: who is meant, which names are variables, what follows from what.

use super::super::told::{Form, Goal, Literal, Need, Reading, Strength, variable, variable_of};
use super::context::{Context, PLACING, WITNESS};
pub use super::says::compound;
use super::says::{Says, cases, renamed, rules, whole};
use crate::term::{Atom, Term};

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
    /// Whom the statement is about that is being read.
    about: Option<Term>,
    /// Who or what besides was named in this sentence last.
    besides: Vec<Term>,
    /// The kinds that variables were said to be of, by name.
    kinds: Vec<(String, Term)>,
}

/// The readings of a statement; `Err` says what about it is not understood.
pub fn statement(m: &Term, context: &mut Context) -> Result<Vec<Reading>, String> {
    match m {
        Term::Const(c) if &**c == "nothing" => Ok(vec![]),
        // Two statements, each with those of whom it speaks.
        Term::Fun(f, args) if &**f == "and" => args.iter().map(|a| statement(a, context)).collect::<Result<Vec<_>, _>>().map(|v| v.concat()),
        _ if super::connects(m) => readings(m, context),
        Term::Fun(f, args) if &**f == "spare" => statement(&spared(args).ok_or("nobody is excepted")?, context),
        Term::Fun(f, args) if &**f == "both" => args.iter().map(|a| statement(a, context)).collect::<Result<Vec<_>, _>>().map(|v| v.concat()),
        Term::Fun(f, args) if &**f == "not" => match args.first() {
            Some(a) if super::connects(a) => readings(&denied(a)?, context),
            Some(a) => {
                // That the ring is not in the red box does not say that the red box is none.
                let passing = in_passing(a, context);
                let not = |r| if let Reading::Fact(l) = r { Reading::Fact(if passing.contains(&l.atom) { l } else { l.negated() }) } else { r };
                Ok(statement(a, context)?.into_iter().map(not).collect())
            }
            None => Ok(vec![]),
        },
        _ => {
            // A module's rules know whom a pronoun means as long as only it was told of.
            let m = match &context.last {
                Some(who) if !context.by_module => replace(m, "pro", &who.clone()),
                _ => m.clone(),
            };
            let said = plain(&m, context);
            let kinds = in_passing(&m, context);
            said.iter().for_each(|t| context.mention_all(t));
            Ok(kinds.into_iter().chain(said.iter().filter_map(Term::to_atom)).map(|atom| Reading::Fact(Literal { positive: true, atom })).collect())
        }
    }
}

/// A statement of all of a kind but those named (`spare(say(every(Kind),VP),Names)`): it is so unless one is called so, and not so of them.
fn spared(args: &[Term]) -> Option<Term> {
    let fun = |name: &str, args: Vec<Term>| Term::Fun(name.into(), args);
    let [all, names] = args else { return None };
    let ("say", [_, vp]) = parts(all)? else { return None };
    let mut named = vec![names];
    while let Some(("each", [a, b])) = named.last().and_then(|n| parts(n)) {
        named.pop();
        named.extend([a, b]);
    }
    let called = |n: &Term| Some(fun("is", vec![Term::constant("self"), Term::string(&format!("called {}", n.as_name()?))]));
    let any = named.iter().map(|n| called(n)).collect::<Option<Vec<_>>>()?.into_iter().reduce(|a, b| fun("any", vec![a, b]))?;
    let mut out = fun("unless", vec![all.clone(), fun("say", vec![fun("pro", vec![Term::constant("it")]), any])]);
    for n in named {
        let not = fun("all", vec![called(n)?, fun("not", vec![vp.clone()])]);
        out = fun("both", vec![out, fun("say", vec![n.clone(), not])]);
    }
    Some(out)
}

/// That a statement is not so, as a statement of its own: not all are, if it is said of all.
fn denied(m: &Term) -> Result<Term, String> {
    let fun = |name: &str, args: Vec<Term>| Term::Fun(name.into(), args);
    let Some(("say", [subject, vp])) = parts(m) else { return Err("that all of this is not so".into()) };
    let not = fun("not", vec![vp.clone()]);
    let (subject, vp) = match parts(subject) {
        Some(("every", [kind])) => (fun("some", vec![kind.clone()]), not),
        Some(("no", [kind])) => (fun("some", vec![kind.clone()]), vp.clone()),
        Some(("some", [kind])) => (fun("no", vec![kind.clone()]), vp.clone()),
        Some(("each" | "either" | "only" | "other", _)) => return Err("that this is not so of all of them".into()),
        _ => (subject.clone(), not),
    };
    Ok(fun("say", vec![subject, vp]))
}

/// The form of a question's answer, and what is asked.
pub fn question(m: &Term, context: &mut Context, text: &str) -> (Form, Goal) {
    let unread = |why: String| Goal::Unread(format!("{text} ({why})"));
    let literals = |m: &Term, context: &mut Context| goal(m, context).map_or_else(unread, Goal::Literals);
    match parts(m) {
        Some(("which" | "whom", _)) => (Form::Which, literals(m, context)),
        Some(("count", _)) => (Form::HowMany, literals(m, context)),
        // `And Zed, is he tall?`
        Some(("about", [who, asked])) => {
            if let Some(who) = plain(who, context).first() {
                context.speak_of(who);
            }
            question(asked, context, text)
        }
        Some((how @ ("can" | "must"), [inner])) => match statement(inner, context).as_deref() {
            Ok([.., Reading::Fact(l)]) => (Form::Need(if how == "can" { Need::Can } else { Need::Must }), Goal::Literals(vec![l.clone()])),
            _ => (Form::Truth, unread("no one statement".into())),
        },
        Some(("claim", [inner])) if super::connects(inner) => (Form::Truth, of_all(inner, context).unwrap_or_else(|| literals(m, context))),
        Some(("claim", [inner])) => match statement(inner, context).as_deref() {
            Ok([Reading::Fact(l)]) if l.positive && l.atom.args.len() > 2 => (Form::Truth, Goal::Asked(Term::Fun("is_so".into(), vec![l.atom.to_term()]))),
            Ok([Reading::Fact(l)]) => (Form::Truth, Goal::Literals(vec![l.clone()])),
            _ => (Form::Truth, unread("no one statement".into())),
        },
        _ => (Form::Truth, plain(m, context).into_iter().next().map_or_else(|| unread("nothing is asked".into()), Goal::Asked)),
    }
}

/// Whether all of a kind are so, if that is asked: `every(Kinds,Sign,Predicate,Other)`, where the kinds are a list of what all of them are.
fn of_all(m: &Term, context: &mut Context) -> Option<Goal> {
    let Some(("say", [subject, vp])) = parts(m) else { return None };
    let Some(("every", [kind])) = parts(subject) else { return None };
    let mut s = Sentence::new(context, true);
    let x = Term::constant("anybody");
    let mut one = |vp: &Term| match cases(&s.predicate(vp, &x).ok()?).as_slice() {
        [ls] if s.given.is_empty() => ls.iter().map(said_of_all).collect::<Option<Vec<_>>>(),
        _ => None,
    };
    let (kinds, so) = (one(kind), one(vp));
    Some(match (kinds, so.as_deref()) {
        (Some(kinds), Some([so])) => {
            let list = kinds.into_iter().rev().fold(Term::constant("nil"), |rest, k| Term::Fun("c".into(), vec![Term::Fun("k".into(), k.to_vec()), rest]));
            Goal::Asked(Term::Fun("every".into(), [vec![list], so.to_vec()].concat()))
        }
        _ => Goal::Unread("whether all are so is asked of kinds and what they are only".into()),
    })
}

/// What is said of the one who stands for all: sign, predicate and the other thing.
fn said_of_all(l: &Literal) -> Option<[Term; 3]> {
    let other = l.atom.args.get(1).cloned().unwrap_or_else(|| Term::constant("it"));
    let whole = l.atom.args.len() < 3 && !l.atom.args.iter().any(|a| variable_of(a).is_some());
    whole.then(|| [Term::constant(if l.positive { "pos" } else { "neg" }), Term::Const(l.atom.name.clone()), other])
}

fn readings(meaning: &Term, context: &mut Context) -> Result<Vec<Reading>, String> {
    let mut s = Sentence::new(context, false);
    let said = s.statement(meaning, Strength::Strict)?;
    // What is said in passing comes first: what a correction is about is the statement itself.
    let mut out: Vec<Reading> = s.passing.into_iter().map(Reading::Fact).chain(said).collect();
    out.dedup();
    Ok(out)
}

/// What is asked, as literals that must hold together; variables stand for whoever is asked for.
fn goal(meaning: &Term, context: &mut Context) -> Result<Vec<Literal>, String> {
    let mut s = Sentence::new(context, true);
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
        Term::Fun(f, args) if matches!(&**f, "the" | "def") => args.first().map(|n| plain(n, context)).unwrap_or_default(),
        Term::Fun(f, args) if &**f == "pro" => {
            let thing = args.first().and_then(Term::as_name) == Some("thing");
            vec![context.meant(thing, None).cloned().unwrap_or_else(|| Term::string("it"))]
        }
        Term::Fun(f, args) if &**f == "each" => args.iter().flat_map(|a| plain(a, context)).collect(),
        // One of a kind is none of those that were spoken of.
        Term::Fun(f, args) if matches!((&**f, args.last()), ("one" | "some", Some(Term::Str(_)))) => vec![meaning.clone()],
        Term::Fun(f, args) => {
            let mut rows: Vec<Vec<Term>> = vec![Vec::new()];
            for a in args {
                let ways = plain(a, context);
                rows = rows.iter().flat_map(|r| ways.iter().map(|w| [r.clone(), vec![w.clone()]].concat())).collect();
            }
            rows.into_iter().map(|r| Term::Fun(f.clone(), r)).collect()
        }
        Term::Str(s) => vec![Term::string(&context.meant_by(s))],
        t => vec![t.clone()],
    }
}

/// What things are said to be in passing (`the red door` is a door).
fn in_passing(meaning: &Term, context: &mut Context) -> Vec<Atom> {
    match parts(meaning) {
        Some(("the", [Term::Str(name), kind])) => {
            kind.as_name().map(|k| Atom::new(&identifier(k), vec![Term::string(&context.meant_by(name))])).into_iter().collect()
        }
        Some((_, args)) => args.iter().flat_map(|a| in_passing(a, context)).collect(),
        None => vec![],
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

/// The noun of a kind, the last that one is said to be in it.
fn noun_of(kind: &Term) -> Option<String> {
    match parts(kind)? {
        ("all", [a, b]) => noun_of(b).or_else(|| noun_of(a)),
        ("is", [_, k]) => k.as_name().map(str::to_lowercase),
        _ => None,
    }
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

impl<'a> Sentence<'a> {
    fn new(context: &'a mut Context, open: bool) -> Self {
        let (vars, given, passing, letters, besides, kinds) = Default::default();
        Self { context, vars, given, passing, open, letters, ruling: false, about: None, besides, kinds }
    }

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
                let mut given = std::mem::take(&mut self.given);
                let unless = self.clauses(c)?;
                let met = std::mem::take(&mut self.given);
                // `Unless there is a strike`: that there is one is all that is said of it.
                let unless = if unless == Says::All(vec![]) {
                    Says::All(met)
                } else {
                    given.extend(met);
                    unless
                };
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
            let body = Says::All(given.into_iter().chain(body).chain([does]).collect());
            let whole = whole(&is).map(|one| rules(&body, &Says::Lit(one), &unless, strength));
            return Ok([rules(&body, &is, &unless, strength), whole.unwrap_or_default()].concat());
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
            Some(("not", [a])) if super::connects(a) => self.clauses(&denied(a)?),
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
                self.about = Some(x.clone());
                let says = self.predicate(vp, &x);
                self.about = None;
                Ok(Says::Not(Box::new(says?)))
            }
            _ => {
                let x = self.thing(subject)?;
                self.about = Some(x.clone());
                if matches!(x, Term::Str(_)) {
                    self.context.speak_of(&x);
                } else if let (Some(("every", [kind])), false) = (parts(subject), self.open) {
                    self.context.kind = Some(kind.clone());
                }
                let says = self.predicate(vp, &x);
                self.about = None;
                says
            }
        }
    }

    /// A variable for one of a kind.
    fn of_kind(&mut self, kind: &Term) -> Result<Term, String> {
        let x = self.fresh();
        // What is said of the kind is a condition, in which `some` is anybody.
        let (about, open) = (self.about.replace(x.clone()), std::mem::replace(&mut self.open, true));
        let is = self.predicate(kind, &x)?;
        (self.about, self.open) = (about, open);
        self.given.push(is);
        self.kinds.extend(noun_of(kind).map(|k| (k, x.clone())));
        Ok(x)
    }

    /// The one of a kind that this sentence spoke of: in `a dog chases a cat if the dog is hungry` the dog.
    fn definite(&self, name: &Term) -> Option<Term> {
        let name = name.as_name()?.to_lowercase();
        self.kinds.iter().rev().find(|(k, _)| *k == name).map(|(_, x)| x.clone())
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
            Term::Str(s) => Term::string(&self.context.meant_by(s)),
            Term::Fun(f, args) => match (&**f, args.as_slice()) {
                ("v", _) => return Ok(t.clone()),
                ("def", [name]) => match self.definite(name) {
                    Some(x) => return Ok(x),
                    None => self.thing(name)?,
                },
                ("the", [name, kind]) => {
                    if let Some(x) = self.definite(name) {
                        return Ok(x);
                    }
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
                    let object = matches!(which.as_name(), Some("them" | "that"));
                    let thing = matches!(which.as_name(), Some("thing" | "that"));
                    let mut vars = self.vars.iter().map(|v| variable(*v));
                    let var = if object { vars.rfind(|v| Some(v) != self.about.as_ref()) } else { vars.next() };
                    let kind = self.context.kind.clone().filter(|_| self.vars.is_empty());
                    let fits = |t: &&Term| Some(*t) != self.about.as_ref() && thing != t.as_name().is_some_and(|n| n.starts_with(char::is_uppercase));
                    let named = self.besides.iter().rev().find(fits).filter(|_| object).cloned();
                    return match (var.or(named), kind) {
                        (Some(v), _) => Ok(v),
                        (None, Some(kind)) => self.of_kind(&kind),
                        // Without anybody whom it could mean, it is the `it` of `it rains`.
                        (None, None) => {
                            let about = if object { self.about.as_ref() } else { None };
                            Ok(self.context.meant(thing, about).cloned().unwrap_or_else(|| Term::string("it")))
                        }
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
                _ => {
                    let thing = self.thing(a)?;
                    if matches!(thing, Term::Str(_)) {
                        self.context.mention(&thing);
                        self.besides.push(thing.clone());
                        if name.rsplit('_').next().is_some_and(|w| PLACING.contains(&w)) {
                            self.context.stays_in(&thing);
                        }
                    }
                    vec![thing]
                }
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
