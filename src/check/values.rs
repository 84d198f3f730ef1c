//! Which values each predicate can hold, found by following constants and terms through the rules.
//!
//! A sound over-approximation: a value that is not found here cannot occur, so a literal that asks for it never matches and
//! a term that reaches an output is really said. Strings and numbers are kept as kinds only.

use std::collections::{BTreeMap, BTreeSet};

use crate::diag::Origin;
use crate::ontology::{Arg, Ontology, Scope, Sort};
use crate::reason::syntax::{Expr, Head, Item, Kind, Literal, Predicate, Rel, Sign, Statement};
use crate::term::{Name, Term};

/// A kind of value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// Anything.
    Any,
    /// A number.
    Int,
    /// A string.
    Text,
    /// This constant.
    Const(Name),
    /// A function of values.
    Fun(Name, Vec<Shape>),
}

/// Values of one argument; `None` is any value.
pub type Set = Option<BTreeSet<Shape>>;

/// More kinds of values than this are treated as any value.
const MOST: usize = 64;
/// Deeper terms are treated as any value.
const DEEPEST: usize = 5;

/// The values of all predicates of one role's program.
#[derive(Clone, Debug, Default)]
pub struct Values {
    by: BTreeMap<Predicate, Vec<Set>>,
    /// Where constants and functors were written in heads; facts win over rules.
    written: BTreeMap<Name, (bool, Origin)>,
}

/// Variables with their possible values.
pub type Env = BTreeMap<Name, Set>;

impl Shape {
    /// The shape as a pattern: what is not known matches anything.
    pub fn head(&self) -> Option<(&Name, &[Self])> {
        match self {
            Self::Const(n) => Some((n, &[])),
            Self::Fun(n, args) => Some((n, args)),
            _ => None,
        }
    }

    fn meet(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::Any, x) | (x, Self::Any) => Some(x.clone()),
            (Self::Fun(n, a), Self::Fun(m, b)) if n == m && a.len() == b.len() => {
                Some(Self::Fun(n.clone(), a.iter().zip(b).map(|(x, y)| x.meet(y)).collect::<Option<_>>()?))
            }
            (a, b) => (a == b).then(|| a.clone()),
        }
    }

    /// The constants inside.
    pub fn constants(&self) -> Vec<&Name> {
        match self {
            Self::Const(n) => vec![n],
            Self::Fun(_, args) => args.iter().flat_map(Self::constants).collect(),
            _ => vec![],
        }
    }
}

fn meet(a: &Set, b: &Set) -> Set {
    match (a, b) {
        (None, x) | (x, None) => x.clone(),
        (Some(a), Some(b)) => Some(a.iter().flat_map(|x| b.iter().filter_map(|y| x.meet(y))).collect()),
    }
}

fn bounded(set: BTreeSet<Shape>) -> Set {
    if set.len() > MOST || set.contains(&Shape::Any) { None } else { Some(set) }
}

impl Values {
    /// Follows values through the statements of one role's program until nothing changes.
    pub fn of(statements: &[Statement], ontology: Option<&Ontology>, role: &str, turn: &[(Name, usize)]) -> Self {
        let mut v = Self::default();
        for (name, arity) in turn {
            v.by.insert((name.clone(), *arity), vec![None; *arity]);
        }
        if let Some(o) = ontology {
            let mut said: BTreeSet<Shape> = o.inputs_of(role).map(|f| shape_of_form(&f.name, &f.args)).collect();
            if !o.functions.is_empty() {
                said.insert(Shape::Fun("returned".into(), vec![Shape::Any, Shape::Any, Shape::Any]));
            }
            v.by.insert(("in".into(), 2), vec![None, bounded(said)]);
            for f in &o.facts {
                let sets = match f.scope {
                    Scope::Session => vec![Some(BTreeSet::new()); f.args.len()],
                    _ => f.args.iter().map(|a| values_of_arg(o, a)).collect(),
                };
                v.by.insert((f.name.clone(), f.args.len()), sets);
            }
        }
        for s in statements {
            match &s.kind {
                Kind::External(p, _) => {
                    v.by.insert(p.predicate(), vec![None; p.args.len()]);
                }
                Kind::Rule { head, body } => v.remember(s, head, body.is_empty()),
                _ => {}
            }
        }
        let rules: Vec<(&Head, Vec<Literal>, BTreeSet<Predicate>)> = statements
            .iter()
            .filter_map(|s| if let Kind::Rule { head, body } = &s.kind { Some((head, body)) } else { None })
            .map(|(head, body)| {
                let literals = plain_literals(body);
                let conditions = heads_of(head).into_iter().flat_map(|(_, c)| c);
                let reads =
                    literals.iter().chain(conditions).filter_map(|l| if let Literal::Atom { atom, .. } = l { Some(atom.predicate()) } else { None }).collect();
                (head, literals, reads)
            })
            .collect();
        // Values only grow and are bounded, so this ends; the limit guards against a mistake here, not in the rules.
        let mut news: Option<BTreeSet<Predicate>> = None;
        for _ in 0..400 {
            let mut changed = BTreeSet::new();
            for (head, literals, reads) in &rules {
                if news.as_ref().is_some_and(|n| n.is_disjoint(reads) && changed.is_disjoint(reads)) {
                    continue;
                }
                let Some(env) = v.env_with(&Env::new(), literals) else { continue };
                for (atom, extra) in heads_of(head) {
                    let narrowed = if extra.is_empty() { Some(env.clone()) } else { v.env_with(&env, extra) };
                    let Some(env) = narrowed else { continue };
                    let sets: Vec<Set> = atom.args.iter().map(|e| shapes(e, &env, 0)).collect();
                    v.store(&sets, &mut changed);
                    if v.add(&atom.predicate(), &sets) {
                        changed.insert(atom.predicate());
                    }
                }
            }
            if changed.is_empty() {
                break;
            }
            news = Some(changed);
        }
        v
    }

    /// The values of a predicate's arguments, if anything derives or declares it.
    pub fn get(&self, p: &Predicate) -> Option<&[Set]> {
        self.by.get(p).map(Vec::as_slice)
    }

    /// Where a constant or functor was first written in a head.
    pub fn written(&self, name: &str) -> Option<&Origin> {
        self.written.get(name).map(|(_, o)| o)
    }

    /// What reaches the session through an effect becomes a value of that fact.
    fn store(&mut self, sets: &[Set], changed: &mut BTreeSet<Predicate>) {
        let [op, scope, fact] = sets else { return };
        let has = |set: &Set, word: &str| set.as_ref().is_some_and(|s| s.contains(&Shape::Const(word.into())));
        if !(has(op, "add") && has(scope, "session")) {
            return;
        }
        for shape in fact.iter().flatten() {
            let Some((name, args)) = shape.head() else { continue };
            let p = (name.clone(), args.len());
            if self.by.contains_key(&p) {
                let sets: Vec<Set> = args.iter().map(|a| bounded([a.clone()].into())).collect();
                if self.add(&p, &sets) {
                    changed.insert(p);
                }
            }
        }
    }

    fn add(&mut self, p: &Predicate, sets: &[Set]) -> bool {
        let mut changed = !self.by.contains_key(p);
        let known = self.by.entry(p.clone()).or_insert_with(|| vec![Some(BTreeSet::new()); sets.len()]);
        for (old, new) in known.iter_mut().zip(sets) {
            let Some(have) = old else { continue };
            match new {
                None => {
                    *old = None;
                    changed = true;
                }
                Some(more) => {
                    let before = have.len();
                    have.extend(more.iter().cloned());
                    if have.len() > MOST {
                        *old = None;
                        changed = true;
                    } else {
                        changed |= have.len() != before;
                    }
                }
            }
        }
        changed
    }

    fn remember(&mut self, s: &Statement, head: &Head, fact: bool) {
        for (atom, _) in heads_of(head) {
            let from = atom.span.start.saturating_sub(s.origin.start);
            let text = s.text.get(from..).unwrap_or("");
            let mut names = vec![];
            atom.args.iter().for_each(|a| names_in(a, &mut names));
            for n in names {
                if self.written.get(&n).is_some_and(|(was_fact, _)| *was_fact || !fact) {
                    continue;
                }
                self.written.insert(n.clone(), (fact, at_word(s, atom.span.start, text, &n)));
            }
        }
    }

    /// The variables of a body with their values; `None` if some literal can never match.
    pub fn env(&self, body: &[Item]) -> Option<Env> {
        self.env_with(&Env::new(), &plain_literals(body))
    }

    fn env_with(&self, env: &Env, literals: &[Literal]) -> Option<Env> {
        let mut env = env.clone();
        for l in literals {
            match l {
                Literal::Atom { sign: Sign::Plain, atom } => {
                    let sets = self.by.get(&atom.predicate())?;
                    for (e, set) in atom.args.iter().zip(sets) {
                        narrow(e, set, &mut env)?;
                    }
                }
                Literal::Compare { sign: Sign::Plain, left: Expr::Var(v, _), rest, .. } => {
                    if let [(Rel::Eq, e)] = rest.as_slice() {
                        let set = shapes(e, &env, 0);
                        narrow(&Expr::Var(v.clone(), 0), &set, &mut env)?;
                    }
                }
                _ => {}
            }
        }
        Some(env)
    }
}

/// The literals of a body that say what its variables can be.
fn plain_literals(body: &[Item]) -> Vec<Literal> {
    let useful = |l: &&Literal| matches!(l, Literal::Atom { sign: Sign::Plain, .. } | Literal::Compare { sign: Sign::Plain, .. });
    body.iter().filter_map(|i| if let Item::Literal(l) = i { Some(l) } else { None }).filter(useful).cloned().collect()
}

/// The head's atoms with the conditions of their own.
pub fn heads_of(head: &Head) -> Vec<(&crate::reason::syntax::AtomPattern, &[Literal])> {
    match head {
        Head::None => vec![],
        Head::Atom(a) => vec![(a, &[])],
        Head::Disjunction(es) | Head::Choice(es) => es
            .iter()
            .filter_map(|e| match &e.literal {
                Literal::Atom { atom, .. } => Some((atom, e.condition.as_slice())),
                _ => None,
            })
            .collect(),
    }
}

/// The place of a word in a statement, searched from `start` on; the whole statement if it is not there.
pub fn at_word(s: &Statement, start: usize, text: &str, word: &str) -> Origin {
    let boundary = |c: Option<char>| !c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
    let found = text
        .match_indices(word)
        .find(|(i, w)| boundary(text.get(..*i).and_then(|t| t.chars().next_back())) && boundary(text.get(i + w.len()..).and_then(|t| t.chars().next())));
    let Some((i, w)) = found else { return s.origin.clone() };
    // Lines are counted from the statement's own place, which is known.
    let before = s.text.get(..(start + i).saturating_sub(s.origin.start)).unwrap_or("");
    let lines = u32::try_from(before.matches('\n').count()).unwrap_or(0);
    let last = before.rsplit('\n').next().unwrap_or("");
    let column = u32::try_from(last.chars().count()).unwrap_or(0) + if lines == 0 { s.origin.column } else { 1 };
    Origin { file: s.origin.file.clone(), start: start + i, end: start + i + w.len(), line: s.origin.line + lines, column }
}

fn names_in(e: &Expr, out: &mut Vec<Name>) {
    match e {
        Expr::Const(n) => out.push(n.clone()),
        Expr::Fun(n, args) => {
            out.push(n.clone());
            args.iter().for_each(|a| names_in(a, out));
        }
        Expr::Pool(args) => args.iter().for_each(|a| names_in(a, out)),
        _ => {}
    }
}

/// Narrows the variables of an argument to what the set admits; `None` if nothing of it matches.
fn narrow(e: &Expr, set: &Set, env: &mut Env) -> Option<()> {
    let Some(set) = set else { return Some(()) };
    let mut bound: BTreeMap<Name, BTreeSet<Shape>> = BTreeMap::new();
    let mut matched = false;
    for shape in set {
        let mut one = BTreeMap::new();
        if matches(e, shape, &mut one) {
            matched = true;
            for (v, s) in one {
                bound.entry(v).or_default().insert(s);
            }
        }
    }
    if !matched {
        return None;
    }
    for (v, shapes) in bound {
        let new = meet(env.get(&v).unwrap_or(&None), &bounded(shapes));
        if new.as_ref().is_some_and(BTreeSet::is_empty) {
            return None;
        }
        env.insert(v, new);
    }
    Some(())
}

/// Whether an argument can be this value; binds its variables.
pub fn matches(e: &Expr, shape: &Shape, bound: &mut BTreeMap<Name, Shape>) -> bool {
    match (e, shape) {
        (Expr::Var(v, _), s) => match bound.get(v).map(|old| old.meet(s)) {
            Some(None) => false,
            Some(Some(m)) => {
                bound.insert(v.clone(), m);
                true
            }
            None => {
                bound.insert(v.clone(), s.clone());
                true
            }
        },
        (Expr::Fun(n, args), Shape::Fun(m, values)) => n == m && args.len() == values.len() && args.iter().zip(values).all(|(a, s)| matches(a, s, bound)),
        (Expr::Fun(_, args), Shape::Any) => args.iter().all(|a| matches(a, &Shape::Any, bound)),
        (Expr::Const(n), Shape::Const(m)) => n == m,
        (Expr::Str(_), Shape::Text) | (_, Shape::Any) | (Expr::Int(_), Shape::Int) => true,
        (Expr::Binary(..) | Expr::Neg(_) | Expr::Abs(_) | Expr::Interval(..), Shape::Int) => true,
        (Expr::Pool(options), s) => options.iter().any(|o| matches(o, s, bound)),
        _ => false,
    }
}

/// The values a term can have.
pub fn shapes(e: &Expr, env: &Env, depth: usize) -> Set {
    if depth > DEEPEST {
        return None;
    }
    match e {
        Expr::Const(n) => Some([Shape::Const(n.clone())].into()),
        Expr::Str(_) => Some([Shape::Text].into()),
        Expr::Inf | Expr::Sup => None,
        Expr::Var(v, _) => env.get(v).cloned().unwrap_or(None),
        Expr::Int(_) | Expr::Binary(..) | Expr::Neg(_) | Expr::Abs(_) | Expr::Interval(..) => Some([Shape::Int].into()),
        Expr::Pool(options) => {
            let mut all = BTreeSet::new();
            for o in options {
                all.extend(shapes(o, env, depth + 1)?);
            }
            bounded(all)
        }
        Expr::Fun(n, args) => {
            let mut rows: Vec<Vec<Shape>> = vec![vec![]];
            for a in args {
                let options: Vec<Shape> = shapes(a, env, depth + 1).map_or_else(|| vec![Shape::Any], |s| s.into_iter().collect());
                let options = if rows.len() * options.len() > MOST { vec![Shape::Any] } else { options };
                rows = rows.iter().flat_map(|r| options.iter().map(move |o| r.iter().cloned().chain([o.clone()]).collect())).collect();
            }
            bounded(rows.into_iter().map(|r| Shape::Fun(n.clone(), r)).collect())
        }
    }
}

/// A declared form as a shape: sorts of closed lists stay open, so that one form is one shape.
pub fn shape_of_form(name: &Name, args: &[Arg]) -> Shape {
    fn of(a: &Arg) -> Shape {
        match a {
            Arg::Sort(_) => Shape::Any,
            Arg::Literal(Term::Const(n)) => Shape::Const(n.clone()),
            Arg::Literal(Term::Int(_)) => Shape::Int,
            Arg::Literal(_) => Shape::Any,
            Arg::Fun(n, args) => Shape::Fun(n.clone(), args.iter().map(of).collect()),
        }
    }
    if args.is_empty() { Shape::Const(name.clone()) } else { Shape::Fun(name.clone(), args.iter().map(of).collect()) }
}

fn values_of_arg(o: &Ontology, a: &Arg) -> Set {
    match a {
        Arg::Sort(s) => match o.sorts.get(s) {
            Some(Sort::Values(list)) => Some(list.iter().map(|n| Shape::Const(n.clone())).collect()),
            Some(Sort::Int { .. }) => Some([Shape::Int].into()),
            Some(Sort::Names(_) | Sort::NewName) => Some([Shape::Text].into()),
            _ => None,
        },
        Arg::Literal(Term::Const(n)) => Some([Shape::Const(n.clone())].into()),
        _ => None,
    }
}
