//! Formulas over a theory's things to nodes that `rules/reason/formulas.lp` interprets: variables are replaced by every value.
//!
//! Where formulas speak of things without sorts, these are the named ones, a witness for each outer ∃, and two more where an ∃ stands
//! below a ∀: without function symbols, and with no ∃ below a ∀, that is enough for every satisfiable set to have a model.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::formula::{Bound, Formula, Scope, Value};
use crate::reason::syntax::Rel;
use crate::term::{Atom, Name, Term};

/// How many nodes a theory may have.
const MAX_NODES: usize = 200_000;

/// A theory as nodes.
#[derive(Debug, Default)]
pub struct Ground {
    /// The nodes, and what may be assumed about them.
    pub facts: Vec<Atom>,
    /// Whether an ∃ below a ∀ makes the domain a bounded one.
    pub bounded: bool,
}

/// The theory has too many instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Node {
    Atom(Term),
    All(Vec<i32>),
    Any(Vec<i32>),
    None(Vec<i32>),
    Odd(Vec<i32>),
    Same(i32, i32),
    Compare(&'static str, i32, i32),
    Const(Term),
    Slot(Term),
    Call(Name, Vec<i32>),
    Pair(&'static str, i32, i32),
    Size(i32),
    Count(Vec<i32>),
    Choose(i32, i32, i32),
}

struct Grounder<'a> {
    scope: &'a Scope,
    things: Vec<Value>,
    nodes: FxHashMap<Node, i32>,
    facts: Vec<Atom>,
    slots: BTreeSet<Term>,
    bound: Vec<(Name, Value)>,
}

/// Grounds what was told, by line, and what is asked, by number.
pub fn ground(scope: &Scope, told: &[(usize, &Formula)], goals: &[&Formula]) -> Result<Ground, TooLarge> {
    let (things, bounded) = things(scope, told, goals);
    let mut g = Grounder { scope, things, nodes: FxHashMap::default(), facts: vec![], slots: BTreeSet::new(), bound: vec![] };
    for (line, f) in told {
        let n = g.formula(f)?;
        g.facts.push(Atom::new("line", vec![Term::number(*line), Term::Int(n)]));
    }
    for (k, f) in goals.iter().enumerate() {
        let n = g.formula(f)?;
        g.facts.push(Atom::new("goal", vec![Term::number(k), Term::Int(n)]));
    }
    for values in scope.sorts.values() {
        for (n, v) in values.iter().enumerate() {
            if let Value::Name(name) = v {
                g.facts.push(Atom::new("rank", vec![Term::Str(name.clone()), Term::number(n + 1)]));
            }
        }
    }
    // Calls whose arguments are calls may be to any slot of the function.
    let called: BTreeSet<Name> = g.nodes.keys().filter_map(|n| if let Node::Call(f, _) = n { Some(f.clone()) } else { None }).collect();
    for f in called {
        for args in g.instances(&f)? {
            g.slot(&f, args)?;
        }
    }
    g.facts.sort();
    g.facts.dedup();
    Ok(Ground { facts: g.facts, bounded })
}

impl Grounder<'_> {
    fn node(&mut self, n: Node) -> Result<i32, TooLarge> {
        if let Some(id) = self.nodes.get(&n) {
            return Ok(*id);
        }
        let id = i32::try_from(self.nodes.len()).unwrap_or(i32::MAX);
        if self.nodes.len() >= MAX_NODES {
            return Err(TooLarge);
        }
        let i = Term::Int;
        let (name, args, of) = match &n {
            Node::Atom(_) => ("atom", vec![], vec![]),
            Node::All(of) => ("all", vec![], of.clone()),
            Node::Any(of) => ("any", vec![], of.clone()),
            Node::None(of) => ("none", vec![], of.clone()),
            Node::Odd(of) => ("odd", vec![Term::number(of.len())], of.clone()),
            Node::Count(of) => {
                self.facts.extend(of.iter().enumerate().map(|(k, m)| Atom::new("counted", vec![i(id), Term::number(k), i(*m)])));
                ("count", vec![Term::number(of.len())], vec![])
            }
            Node::Same(a, b) => ("same", vec![i(*a), i(*b)], vec![]),
            Node::Compare(op, a, b) => ("compare", vec![Term::constant(op), i(*a), i(*b)], vec![]),
            Node::Const(v) => ("const", vec![v.clone()], vec![]),
            Node::Slot(t) => ("value_of", vec![t.clone()], vec![]),
            Node::Call(f, of) => ("call", [vec![Term::Str(f.clone())], of.iter().map(|a| i(*a)).collect()].concat(), vec![]),
            Node::Pair(op, a, b) => (*op, vec![i(*a), i(*b)], vec![]),
            Node::Size(a) => ("size", vec![i(*a)], vec![]),
            Node::Choose(c, a, b) => ("choose", vec![i(*c), i(*a), i(*b)], vec![]),
        };
        self.facts.push(Atom::new(name, [vec![i(id)], args].concat()));
        if let Node::Atom(t) = &n {
            self.facts.push(Atom::new("name", vec![i(id), t.clone()]));
        }
        self.facts.extend(of.into_iter().map(|m| Atom::new("of", vec![i(id), i(m)])));
        self.nodes.insert(n, id);
        Ok(id)
    }

    fn all(&mut self, fs: &[Formula]) -> Result<Vec<i32>, TooLarge> {
        let mut out = fs.iter().map(|f| self.formula(f)).collect::<Result<Vec<_>, _>>()?;
        out.sort_unstable();
        out.dedup();
        Ok(out)
    }

    fn formula(&mut self, f: &Formula) -> Result<i32, TooLarge> {
        let n = match f {
            Formula::Settled(yes) => {
                if *yes {
                    Node::All(vec![])
                } else {
                    Node::Any(vec![])
                }
            }
            Formula::Holds(v) => return self.holds(v),
            Formula::Not(f) => Node::None(vec![self.formula(f)?]),
            Formula::And(fs) => Node::All(self.all(fs)?),
            Formula::Or(fs) => Node::Any(self.all(fs)?),
            Formula::Xor(fs) => {
                // Equal parts count each.
                let mut parts = fs.iter().map(|f| self.formula(f)).collect::<Result<Vec<_>, _>>()?;
                parts.sort_unstable();
                let once = parts.iter().filter(|p| parts.iter().filter(|q| q == p).count() % 2 == 1).copied().collect::<BTreeSet<_>>();
                Node::Odd(once.into_iter().collect())
            }
            Formula::Implies(a, b) => {
                let not = {
                    let a = self.formula(a)?;
                    self.node(Node::None(vec![a]))?
                };
                Node::Any(vec![not, self.formula(b)?])
            }
            Formula::Iff(a, b) => Node::Same(self.formula(a)?, self.formula(b)?),
            Formula::Compare(r, a, b) => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                match r {
                    Rel::Eq => Node::Compare("eq", a, b),
                    Rel::Ne => Node::Compare("ne", a, b),
                    Rel::Lt => Node::Compare("lt", a, b),
                    Rel::Le => Node::Compare("le", a, b),
                    Rel::Gt => Node::Compare("lt", b, a),
                    Rel::Ge => Node::Compare("le", b, a),
                }
            }
            Formula::ForAll(vars, f) => Node::All(self.each(vars, &mut |g| g.formula(f))?),
            Formula::Exists(vars, f) => Node::Any(self.each(vars, &mut |g| g.formula(f))?),
            Formula::Distinct(vars, values) => {
                let mut all = vec![];
                for v in values {
                    all.extend(if vars.is_empty() { vec![self.value(v)?] } else { self.each(vars, &mut |g| g.value(v))? });
                }
                let mut pairs = vec![];
                for (n, a) in all.iter().enumerate() {
                    for b in all.iter().skip(n + 1) {
                        pairs.push(self.node(Node::Compare("ne", *a, *b))?);
                    }
                }
                Node::All(pairs)
            }
        };
        self.node(n)
    }

    /// What a formula or value comes to for every value of the variables.
    fn each(&mut self, vars: &[Bound], make: &mut dyn FnMut(&mut Self) -> Result<i32, TooLarge>) -> Result<Vec<i32>, TooLarge> {
        let Some((first, rest)) = vars.split_first() else { return Ok(vec![make(self)?]) };
        let values = match &first.sort {
            Some(s) => self.scope.sorts.get(s).cloned().unwrap_or_default(),
            None => self.things.clone(),
        };
        let mut out = vec![];
        for v in values {
            self.bound.push((first.name.clone(), v));
            let found = self.each(rest, make);
            self.bound.pop();
            out.extend(found?);
        }
        Ok(out)
    }

    fn holds(&mut self, v: &Value) -> Result<i32, TooLarge> {
        let Value::Call(f, args) = v else {
            let a = self.value(v)?;
            return self.node(Node::Atom(Term::Fun("value".into(), vec![Term::Int(a)])));
        };
        let plain: Option<Vec<Term>> = args.iter().map(|a| self.plain(a)).collect();
        match plain {
            Some(plain) if self.scope.functions.get(f).is_none_or(|(sorts, _)| sorts.iter().zip(&plain).all(|(s, t)| self.of_sort(t, s))) => {
                self.node(Node::Atom(Term::Fun("is".into(), [vec![Term::Str(f.clone())], plain].concat())))
            }
            Some(_) => self.node(Node::Any(vec![])),
            // A statement about a value that depends on the model: it holds of one that is this value.
            None => {
                let mut ways = vec![];
                for instance in self.instances(f)? {
                    let whole = self.node(Node::Atom(Term::Fun("is".into(), [vec![Term::Str(f.clone())], instance.clone()].concat())))?;
                    let mut all = vec![whole];
                    for (a, t) in args.iter().zip(&instance) {
                        let a = self.value(a)?;
                        let t = self.node(Node::Const(t.clone()))?;
                        all.push(self.node(Node::Compare("eq", a, t))?);
                    }
                    all.sort_unstable();
                    ways.push(self.node(Node::All(all))?);
                }
                self.node(Node::Any(ways))
            }
        }
    }

    fn of_sort(&self, t: &Term, sort: &Name) -> bool {
        self.scope.sorts.get(sort).is_none_or(|values| values.iter().any(|v| term(v).as_ref() == Some(t)))
    }

    /// All lists of arguments of a function.
    fn instances(&self, f: &Name) -> Result<Vec<Vec<Term>>, TooLarge> {
        let mut out = vec![vec![]];
        for s in self.scope.functions.get(f).map(|(sorts, _)| sorts.clone()).unwrap_or_default() {
            let values: Vec<Term> = self.scope.sorts.get(&s).into_iter().flatten().filter_map(term).collect();
            out = out.iter().flat_map(|args: &Vec<Term>| values.iter().map(move |v| [args.clone(), vec![v.clone()]].concat())).collect();
            if out.len() > MAX_NODES {
                return Err(TooLarge);
            }
        }
        Ok(out)
    }

    /// The value of an expression that no model changes.
    fn plain(&self, v: &Value) -> Option<Term> {
        let two = |a: &Value, b: &Value| Some((self.plain(a)?.as_int()?, self.plain(b)?.as_int()?));
        Some(match v {
            Value::Name(n) => match self.bound.iter().rev().find(|(b, _)| b == n) {
                Some((_, v)) => term(v)?,
                None => Term::Str(n.clone()),
            },
            Value::Number(n) => Term::Int(*n),
            Value::Add(a, b) => two(a, b).and_then(|(a, b)| a.checked_add(b)).map(Term::Int)?,
            Value::Sub(a, b) => two(a, b).and_then(|(a, b)| a.checked_sub(b)).map(Term::Int)?,
            Value::Mul(a, b) => two(a, b).and_then(|(a, b)| a.checked_mul(b)).map(Term::Int)?,
            Value::Mod(a, b) => two(a, b).and_then(|(a, b)| a.checked_rem(b)).map(Term::Int)?,
            Value::Abs(a) => self.plain(a)?.as_int().and_then(i32::checked_abs).map(Term::Int)?,
            // Things of open formulas are the same only by name: a function's value is one more thing, named by the call.
            Value::Call(f, args) if !self.scope.functions.contains_key(f) => {
                Term::Fun("of".into(), [vec![Term::Str(f.clone())], args.iter().map(|a| self.plain(a)).collect::<Option<Vec<_>>>()?].concat())
            }
            _ => return None,
        })
    }

    fn value(&mut self, v: &Value) -> Result<i32, TooLarge> {
        if let Some(t) = self.plain(v) {
            return self.node(Node::Const(t));
        }
        let n = match v {
            Value::Call(f, args) => {
                let plain: Option<Vec<Term>> = args.iter().map(|a| self.plain(a)).collect();
                match plain {
                    Some(plain) => Node::Slot(self.slot(f, plain)?),
                    None => Node::Call(f.clone(), args.iter().map(|a| self.value(a)).collect::<Result<_, _>>()?),
                }
            }
            Value::Add(a, b) => Node::Pair("sum", self.value(a)?, self.value(b)?),
            Value::Sub(a, b) => Node::Pair("difference", self.value(a)?, self.value(b)?),
            Value::Mul(a, b) => Node::Pair("product", self.value(a)?, self.value(b)?),
            Value::Mod(a, b) => Node::Pair("rest", self.value(a)?, self.value(b)?),
            Value::Abs(a) => Node::Size(self.value(a)?),
            Value::Count(vars, f) => Node::Count(self.each(vars, &mut |g| g.formula(f))?),
            Value::Sum(vars, v) => {
                let mut total = self.node(Node::Const(Term::Int(0)))?;
                for part in self.each(vars, &mut |g| g.value(v))? {
                    total = self.node(Node::Pair("sum", total, part))?;
                }
                return Ok(total);
            }
            Value::If(c, a, b) => Node::Choose(self.formula(c)?, self.value(a)?, self.value(b)?),
            Value::Number(_) | Value::Name(_) => Node::Any(vec![]),
        };
        self.node(n)
    }

    /// A function of given things, with what it may be.
    fn slot(&mut self, f: &Name, args: Vec<Term>) -> Result<Term, TooLarge> {
        let slot = Term::Fun("f".into(), [vec![Term::Str(f.clone())], args.clone()].concat());
        let Some((sorts, to)) = self.scope.functions.get(f) else { return Ok(slot) };
        if sorts.iter().zip(&args).all(|(s, t)| self.of_sort(t, s)) && self.slots.insert(slot.clone()) {
            self.facts.push(Atom::new("slot", vec![slot.clone()]));
            for v in self.scope.sorts.get(to).into_iter().flatten().filter_map(term) {
                self.facts.push(Atom::new("may", vec![slot.clone(), v]));
            }
        }
        Ok(slot)
    }
}

fn term(v: &Value) -> Option<Term> {
    match v {
        Value::Name(n) => Some(Term::Str(n.clone())),
        Value::Number(n) => Some(Term::Int(*n)),
        _ => None,
    }
}

/// The things that variables without a sort stand for, and whether more could matter.
fn things(scope: &Scope, told: &[(usize, &Formula)], goals: &[&Formula]) -> (Vec<Value>, bool) {
    let mut names = vec![];
    let (mut outer, mut inner) = (0, false);
    let mut look = |f: &Formula, sign: bool| {
        let (some, below) = witnesses(f, sign, false);
        outer += some;
        inner |= below;
        named(f, &mut vec![], &mut names);
    };
    told.iter().for_each(|(_, f)| look(f, true));
    // A goal is believed and denied in turn: the larger need counts for both.
    goals.iter().for_each(|f| {
        look(f, true);
        look(f, false);
    });
    let mut out: Vec<Value> = if scope.sorts.is_empty() { names } else { scope.sorts.values().flatten().cloned().collect() };
    if scope.sorts.is_empty() {
        let more = outer + if inner { 2 } else { 0 };
        let more = if out.is_empty() { more.max(1) } else { more };
        out.extend((1..=more).map(|n| Value::Name(format!("someone {n}").into())));
    }
    (out, inner && scope.sorts.is_empty())
}

/// How many witnesses a formula needs if it is so (or not so), and whether an ∃ stands below a ∀.
fn witnesses(f: &Formula, sign: bool, below: bool) -> (usize, bool) {
    let all = |fs: &mut dyn Iterator<Item = (&Formula, bool)>| fs.map(|(f, s)| witnesses(f, s, below)).fold((0, false), |a, b| (a.0 + b.0, a.1 || b.1));
    match f {
        Formula::Settled(_) | Formula::Holds(_) | Formula::Compare(..) | Formula::Distinct(..) => (0, false),
        Formula::Not(f) => witnesses(f, !sign, below),
        Formula::And(fs) | Formula::Or(fs) => all(&mut fs.iter().map(|f| (f, sign))),
        Formula::Implies(a, b) => all(&mut [(&**a, !sign), (&**b, sign)].into_iter()),
        // Each part may be so or not.
        Formula::Xor(fs) => all(&mut fs.iter().flat_map(|f| [(f, true), (f, false)])),
        Formula::Iff(a, b) => all(&mut [(&**a, true), (&**a, false), (&**b, true), (&**b, false)].into_iter()),
        Formula::ForAll(vars, inner) | Formula::Exists(vars, inner) => {
            let exists = matches!(f, Formula::Exists(..)) == sign;
            let (n, deep) = witnesses(inner, sign, below || !exists);
            if exists && !below { (n + vars.len(), deep) } else { (n, deep || exists) }
        }
    }
}

/// The things that formulas speak of by name, and those of the sorts, sorted.
pub fn names<'a>(scope: &Scope, formulas: impl Iterator<Item = &'a Formula>) -> Vec<Term> {
    let mut out: Vec<Value> = scope.sorts.values().flatten().cloned().collect();
    formulas.for_each(|f| named(f, &mut vec![], &mut out));
    // Things that have a place of their own are named by it.
    let placed = scope.functions.iter().filter(|(_, (args, _))| args.is_empty()).map(|(f, _)| Term::Str(f.clone()));
    let mut out: Vec<Term> = out.iter().filter_map(term).chain(placed).collect();
    out.sort();
    out.dedup();
    out
}

/// The things that a formula speaks of by name.
fn named(f: &Formula, bound: &mut Vec<Name>, out: &mut Vec<Value>) {
    match f {
        Formula::Settled(_) => {}
        Formula::Holds(Value::Call(_, args)) => args.iter().for_each(|a| of_value(a, bound, out)),
        Formula::Holds(v) => of_value(v, bound, out),
        Formula::Not(f) => named(f, bound, out),
        Formula::And(fs) | Formula::Or(fs) | Formula::Xor(fs) => fs.iter().for_each(|f| named(f, bound, out)),
        Formula::Implies(a, b) | Formula::Iff(a, b) => {
            named(a, bound, out);
            named(b, bound, out);
        }
        Formula::Compare(_, a, b) => {
            of_value(a, bound, out);
            of_value(b, bound, out);
        }
        Formula::ForAll(vars, f) | Formula::Exists(vars, f) => {
            let n = bound.len();
            bound.extend(vars.iter().map(|v| v.name.clone()));
            named(f, bound, out);
            bound.truncate(n);
        }
        Formula::Distinct(_, values) => values.iter().for_each(|v| of_value(v, bound, out)),
    }
}

fn of_value(v: &Value, bound: &mut Vec<Name>, out: &mut Vec<Value>) {
    match v {
        Value::Name(n) if bound.contains(n) => {}
        Value::Name(_) | Value::Number(_) => {
            if !out.contains(v) {
                out.push(v.clone());
            }
        }
        Value::Call(_, args) => args.iter().for_each(|a| of_value(a, bound, out)),
        Value::Add(a, b) | Value::Sub(a, b) | Value::Mul(a, b) | Value::Mod(a, b) => {
            of_value(a, bound, out);
            of_value(b, bound, out);
        }
        Value::Abs(a) => of_value(a, bound, out),
        Value::Count(..) | Value::Sum(..) | Value::If(..) => {}
    }
}
