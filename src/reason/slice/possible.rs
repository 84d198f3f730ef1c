//! Which rules could fire at all: an evaluation over outlines of atoms that knows nothing of the evaluator's result.
//!
//! An outline is an atom in which any part may be left open. Facts are outlines without a gap, and atoms that differ only in
//! numbers and names are drawn together; conditions that are not plain atoms count as met. So what follows is a superset of
//! what can be derived, and a rule whose conditions meet no outline cannot fire.

use std::rc::Rc;

use crate::reason::base::Base;
use crate::reason::certify::{FEW, hash, within};
use crate::reason::eval::store::RelId;
use crate::reason::eval::terms::{Id, Node, Terms};
use crate::reason::sketch::{Part, Sketch};
use crate::term::Atom;

/// How many outlines of one predicate are told apart.
const MAX_OUTLINES: usize = 6;

/// What is known of a value.
#[derive(Clone, Debug)]
enum Value {
    Any,
    Is(Id),
    Fun(Id, Rc<[Value]>),
}

/// The evaluation over outlines.
struct Possible<'a> {
    base: &'a Base,
    terms: &'a Terms,
    outlines: Vec<Vec<Vec<Value>>>,
}

/// For each rule whether it could fire on these facts.
pub fn fires(base: &Base, facts: &[Atom]) -> Vec<bool> {
    let program = &base.inner.rules.program;
    let sketches = &base.inner.rules.sketches;
    let mut terms = Terms::over(&base.inner.terms);
    let told = |f: &Atom| Some((*program.layouts.ids.get(&(f.name.clone(), f.args.len()))?, f.args.iter().map(|t| Value::Is(terms.of_term(t))).collect()));
    let told: Vec<(RelId, Vec<Value>)> = facts.iter().filter_map(told).collect();
    let mut p = Possible { base, terms: &terms, outlines: vec![Vec::new(); program.layouts.layouts.len()] };
    for (r, outline) in told {
        p.add(r as usize, outline);
    }
    let mut out = vec![false; sketches.len()];
    for stratum in &program.moving {
        loop {
            let mut grew = false;
            for id in &stratum.rules {
                let (Some(sketch), Some(fired)) = (sketches.get(*id as usize), out.get_mut(*id as usize)) else { continue };
                if sketch.body.iter().any(|(r, _)| p.outlines.get(*r as usize).is_none_or(Vec::is_empty) && !p.stored(*r, &[])) {
                    continue;
                }
                let mut heads = Vec::new();
                p.join(sketch, 0, &vec![Value::Any; sketch.vars], &mut heads);
                *fired |= !heads.is_empty();
                for head in heads {
                    grew |= p.add(sketch.head.0 as usize, head);
                }
            }
            if !stratum.recursive || !grew {
                break;
            }
        }
    }
    out
}

impl Possible<'_> {
    /// Collects the heads of all ways to meet the conditions from `at` on.
    fn join(&self, sketch: &Sketch, at: usize, env: &[Value], heads: &mut Vec<Vec<Value>>) {
        let Some((relation, args)) = sketch.body.get(at) else {
            if sketch.pairs.iter().all(|(equal, a, b)| self.may_hold(*equal, &value(a, env), &value(b, env))) {
                heads.push(sketch.head.1.iter().map(|p| value(p, env)).collect());
            }
            return;
        };
        let known: Vec<(usize, Id)> = args.iter().enumerate().filter_map(|(c, p)| if let Value::Is(i) = value(p, env) { Some((c, i)) } else { None }).collect();
        if self.stored(*relation, &known) {
            self.join(sketch, at + 1, env, heads);
        }
        for outline in self.outlines.get(*relation as usize).into_iter().flatten() {
            let mut env = env.to_vec();
            if args.iter().zip(outline).all(|(p, v)| self.fit(p, v, &mut env)) {
                self.join(sketch, at + 1, &env, heads);
            }
        }
    }

    /// Whether a static row may have these values in these columns; where no index of the checker's fits, any may.
    fn stored(&self, relation: RelId, known: &[(usize, Id)]) -> bool {
        let (r, inner) = (relation as usize, &self.base.inner);
        let (Some(rows), Some(layout)) = (inner.relations.get(r), inner.rules.program.layouts.layouts.get(r)) else { return false };
        let Ok(checker) = &inner.rules.checker else { return !rows.is_empty() };
        let values = |mask| within(mask, known.iter().copied());
        let fits = checker.masks.iter().enumerate().filter(|(_, (r, m))| *r == relation && values(*m).count() == m.count_ones() as usize);
        let (lookup, mask) = fits.max_by_key(|(_, (_, m))| m.count_ones()).map_or((usize::MAX, 0), |(n, (_, m))| (n, *m));
        let has = |n| known.iter().all(|(c, v)| rows.row(layout.arity, n).get(*c) == Some(v));
        mask == 0 && rows.len() >= FEW || checker.candidates(&inner.seen, lookup, rows, layout.arity, hash(values(mask))).any(has)
    }

    /// Adds an outline unless one there covers it; the same but for numbers and names becomes one.
    fn add(&mut self, relation: usize, outline: Vec<Value>) -> bool {
        let terms = self.terms;
        let Some(there) = self.outlines.get_mut(relation) else { return false };
        if there.iter().any(|o| o.iter().zip(&outline).all(|(a, b)| covers(terms, a, b))) {
            return false;
        }
        let near = there.iter().position(|o| o.iter().zip(&outline).all(|(a, b)| alike(terms, a, b)));
        match near.or((there.len() >= MAX_OUTLINES).then_some(0)).and_then(|n| there.get_mut(n)) {
            Some(o) => *o = o.iter().zip(&outline).map(|(a, b)| common(terms, a, b)).collect(),
            None => there.push(outline),
        }
        true
    }

    fn fit(&self, p: &Part, v: &Value, env: &mut [Value]) -> bool {
        match (p, v) {
            (Part::Any, _) => true,
            (Part::Var(s), v) => match env.get_mut(*s) {
                Some(slot) => match meet(self.terms, slot, v) {
                    Some(both) => {
                        *slot = both;
                        true
                    }
                    None => false,
                },
                None => true,
            },
            (_, Value::Any) => true,
            (Part::Is(a), Value::Is(b)) => a == b,
            (Part::Is(_), Value::Fun(..)) => false,
            (Part::Fun(f, parts), Value::Fun(g, values)) => {
                f == g && parts.len() == values.len() && parts.iter().zip(values.iter()).all(|(p, v)| self.fit(p, v, env))
            }
            (Part::Fun(f, parts), Value::Is(i)) => match self.terms.fun(*i) {
                Some((g, args)) => *f == g && parts.len() == args.len() && parts.iter().zip(args).all(|(p, a)| self.fit(p, &Value::Is(*a), env)),
                None => false,
            },
        }
    }

    fn may_hold(&self, equal: bool, a: &Value, b: &Value) -> bool {
        match (equal, a, b) {
            (true, a, b) => meet(self.terms, a, b).is_some(),
            (false, Value::Is(a), Value::Is(b)) => a != b,
            _ => true,
        }
    }
}

fn value(p: &Part, env: &[Value]) -> Value {
    match p {
        Part::Any => Value::Any,
        Part::Var(s) => env.get(*s).cloned().unwrap_or(Value::Any),
        Part::Is(i) => Value::Is(*i),
        Part::Fun(f, args) => Value::Fun(*f, args.iter().map(|a| value(a, env)).collect()),
    }
}

/// The arguments of a value that is a function term.
fn opened(terms: &Terms, v: &Value) -> Option<(Id, Rc<[Value]>)> {
    match v {
        Value::Any => None,
        Value::Is(i) => terms.fun(*i).map(|(f, args)| (f, args.iter().map(|a| Value::Is(*a)).collect())),
        Value::Fun(f, args) => Some((*f, args.clone())),
    }
}

/// Applies `f` to the arguments of two function terms of the same name and number of arguments.
fn both<T>(terms: &Terms, a: &Value, b: &Value, f: impl FnOnce(Id, &[Value], &[Value]) -> T) -> Option<T> {
    let ((g, x), (h, y)) = (opened(terms, a)?, opened(terms, b)?);
    (g == h && x.len() == y.len()).then(|| f(g, &x, &y))
}

/// What two values have in common if they may be the same.
fn meet(terms: &Terms, a: &Value, b: &Value) -> Option<Value> {
    match (a, b) {
        (Value::Any, v) | (v, Value::Any) => Some(v.clone()),
        (Value::Is(x), Value::Is(y)) => (x == y).then(|| a.clone()),
        _ => both(terms, a, b, |f, x, y| Some(Value::Fun(f, x.iter().zip(y).map(|(a, b)| meet(terms, a, b)).collect::<Option<_>>()?)))?,
    }
}

/// The closest outline that covers both.
fn common(terms: &Terms, a: &Value, b: &Value) -> Value {
    match (a, b) {
        (Value::Any, _) | (_, Value::Any) => Value::Any,
        (Value::Is(x), Value::Is(y)) if x == y => a.clone(),
        _ => both(terms, a, b, |f, x, y| Value::Fun(f, x.iter().zip(y).map(|(a, b)| common(terms, a, b)).collect())).unwrap_or(Value::Any),
    }
}

fn covers(terms: &Terms, a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Any, _) => true,
        (_, Value::Any) => false,
        (Value::Is(x), Value::Is(y)) => x == y,
        _ => both(terms, a, b, |_, x, y| x.iter().zip(y).all(|(a, b)| covers(terms, a, b))).unwrap_or(false),
    }
}

/// Whether two values differ in numbers and strings only.
fn alike(terms: &Terms, a: &Value, b: &Value) -> bool {
    let data = |v: &Value| match v {
        Value::Any => true,
        Value::Is(i) => terms.int(*i).is_some() || matches!(terms.node(*i), Some(Node::Str(_))),
        Value::Fun(..) => false,
    };
    match (a, b) {
        (Value::Is(x), Value::Is(y)) if x == y => true,
        _ if data(a) && data(b) => true,
        _ => both(terms, a, b, |_, x, y| x.iter().zip(y).all(|(a, b)| alike(terms, a, b))).unwrap_or(false),
    }
}
