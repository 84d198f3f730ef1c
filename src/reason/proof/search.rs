//! A plain search over atoms that hold: finds the bindings of variables under which conditions of a rule hold.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use crate::reason::order::order;
use crate::reason::syntax::{Aggregate, AtomPattern, Expr, Fold, Item, Literal, Op, Rel, Sign, is_anonymous};
use crate::term::{Atom, Name, Term};

/// Values of variables, in the order they were found.
#[derive(Clone, Debug, Default)]
pub struct Bindings(Vec<(Name, Term)>);

/// A condition to be met.
#[derive(Clone, Copy, Debug)]
pub enum Goal<'a> {
    /// The pattern's instance is this atom.
    Is(&'a AtomPattern, &'a Atom),
    /// A literal.
    Literal(&'a Literal),
    /// An aggregate.
    Aggregate(&'a Aggregate),
    /// A literal for all instances of a condition.
    All(&'a Literal, &'a [Literal]),
}

impl<'a> Goal<'a> {
    /// The condition of a rule as a goal.
    pub fn of(item: &'a Item) -> Self {
        match item {
            Item::Literal(l) => Self::Literal(l),
            Item::Aggregate(a) => Self::Aggregate(a),
            Item::Conditional { literal, condition, .. } => Self::All(literal, condition),
        }
    }

    /// Whether meeting it means looking through many atoms.
    fn searches(self) -> bool {
        matches!(self, Self::Literal(Literal::Atom { sign: Sign::Plain, .. }))
    }
}

/// A value of an aggregate or comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    Inf,
    Term(Term),
    Sup,
}

impl Value {
    fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Term(a), Self::Term(b)) => order(a, b),
            (a, b) if a == b => Ordering::Equal,
            (Self::Inf, _) | (_, Self::Sup) => Ordering::Less,
            _ => Ordering::Greater,
        }
    }
}

impl Bindings {
    /// The same with a way taken.
    #[must_use]
    pub fn with(&self, way: &[(Name, Term)]) -> Self {
        Self(self.0.iter().chain(way).cloned().collect())
    }

    fn get(&self, name: &Name) -> Option<&Term> {
        self.0.iter().rev().find(|(n, _)| n == name).map(|(_, t)| t)
    }

    /// All values that an expression can have: several for pools and intervals, none where it is undefined; `None` while a
    /// variable has no value.
    fn values(&self, e: &Expr) -> Option<Vec<Value>> {
        let terms =
            |e: &Expr| -> Option<Vec<Term>> { Some(self.values(e)?.into_iter().filter_map(|v| if let Value::Term(t) = v { Some(t) } else { None }).collect()) };
        let ints = |e: &Expr| -> Option<Vec<i32>> { Some(terms(e)?.iter().filter_map(Term::as_int).collect()) };
        Some(match e {
            Expr::Int(n) => vec![Value::Term(Term::Int(*n))],
            Expr::Const(n) => vec![Value::Term(Term::Const(n.clone()))],
            Expr::Str(n) => vec![Value::Term(Term::Str(n.clone()))],
            Expr::Inf => vec![Value::Inf],
            Expr::Sup => vec![Value::Sup],
            Expr::Var(n, _) => vec![Value::Term(self.get(n)?.clone())],
            Expr::Fun(n, args) => {
                let mut rows: Vec<Vec<Term>> = vec![vec![]];
                for a in args {
                    let choices = terms(a)?;
                    rows = rows.iter().flat_map(|r| choices.iter().map(move |c| r.iter().cloned().chain([c.clone()]).collect())).collect();
                }
                rows.into_iter().map(|r| Value::Term(Term::Fun(n.clone(), r))).collect()
            }
            Expr::Neg(a) => ints(a)?.into_iter().filter_map(i32::checked_neg).map(|n| Value::Term(Term::Int(n))).collect(),
            Expr::Abs(a) => ints(a)?.into_iter().filter_map(i32::checked_abs).map(|n| Value::Term(Term::Int(n))).collect(),
            Expr::Binary(op, a, b) => {
                let (a, b) = (ints(a)?, ints(b)?);
                a.iter().flat_map(|x| b.iter().filter_map(move |y| op.of(*x, *y))).map(|n| Value::Term(Term::Int(n))).collect()
            }
            Expr::Interval(a, b) => {
                let (a, b) = (ints(a)?, ints(b)?);
                a.iter().flat_map(|x| b.iter().flat_map(move |y| *x..=*y)).map(|n| Value::Term(Term::Int(n))).collect()
            }
            Expr::Pool(list) => {
                let mut out = vec![];
                for e in list {
                    out.extend(self.values(e)?);
                }
                out
            }
        })
    }

    /// Makes an expression equal to a term, giving values to variables; `None` while that cannot be told.
    pub fn meet(&mut self, e: &Expr, t: &Term) -> Option<bool> {
        if let Some(values) = self.values(e) {
            return Some(values.iter().any(|v| matches!(v, Value::Term(x) if x == t)));
        }
        match (e, t) {
            (Expr::Var(n, _), t) => {
                self.0.push((n.clone(), t.clone()));
                Some(true)
            }
            (Expr::Fun(f, args), Term::Fun(g, terms)) if f == g && args.len() == terms.len() => self.meet_all(args, terms),
            (Expr::Fun(..), _) => Some(false),
            (Expr::Neg(a), Term::Int(n)) => self.meet(a, &Term::Int(n.checked_neg()?)),
            (Expr::Binary(op, a, b), Term::Int(n)) => {
                let known = |e: &Expr| match self.values(e)?.as_slice() {
                    [Value::Term(Term::Int(n))] => Some(*n),
                    _ => None,
                };
                match (op, known(a), known(b)) {
                    (Op::Add, Some(a), None) => self.meet(b, &Term::Int(n.checked_sub(a)?)),
                    (Op::Add, None, Some(b)) => self.meet(a, &Term::Int(n.checked_sub(b)?)),
                    (Op::Sub, Some(a), None) => self.meet(b, &Term::Int(a.checked_sub(*n)?)),
                    (Op::Sub, None, Some(b)) => self.meet(a, &Term::Int(n.checked_add(b)?)),
                    (Op::Mul, Some(k), None) if k != 0 => {
                        if n % k == 0 {
                            self.meet(b, &Term::Int(n / k))
                        } else {
                            Some(false)
                        }
                    }
                    (Op::Mul, None, Some(k)) if k != 0 => {
                        if n % k == 0 {
                            self.meet(a, &Term::Int(n / k))
                        } else {
                            Some(false)
                        }
                    }
                    _ => None,
                }
            }
            (Expr::Binary(..) | Expr::Neg(_), _) => Some(false),
            (Expr::Pool(list), t) => {
                let start = self.0.len();
                for e in list {
                    if self.meet(e, t)? {
                        return Some(true);
                    }
                    self.0.truncate(start);
                }
                Some(false)
            }
            _ => None,
        }
    }

    fn meet_all(&mut self, exprs: &[Expr], terms: &[Term]) -> Option<bool> {
        let mut later: Vec<(&Expr, &Term)> = vec![];
        for (e, t) in exprs.iter().zip(terms) {
            match self.meet(e, t) {
                Some(true) => {}
                Some(false) => return Some(false),
                None => later.push((e, t)),
            }
        }
        // What waited for a variable that a later argument gave.
        for (e, t) in later {
            if !self.meet(e, t)? {
                return Some(false);
            }
        }
        Some(true)
    }

    /// The one value of an expression, if it is known.
    pub fn value(&self, e: &Expr) -> Option<Term> {
        match self.values(e)?.as_slice() {
            [Value::Term(t)] => Some(t.clone()),
            _ => None,
        }
    }

    /// An atom with the values known here; `_` stands for anything.
    pub fn written(&self, p: &AtomPattern) -> String {
        if p.args.is_empty() { p.name.to_string() } else { format!("{}({})", p.name, self.list(&p.args)) }
    }

    fn list(&self, args: &[Expr]) -> String {
        args.iter().map(|a| self.write(a)).collect::<Vec<_>>().join(",")
    }

    /// An expression with the values known here; `_` stands for anything.
    pub fn write(&self, e: &Expr) -> String {
        match (self.values(e).as_deref(), e) {
            (Some([Value::Term(t)]), _) => t.to_string(),
            (_, Expr::Var(..)) => "_".to_owned(),
            (_, Expr::Fun(n, args)) => format!("{n}({})", self.list(args)),
            (_, e) => e.to_string(),
        }
    }
}

/// Where the search finds atoms that hold.
pub trait Holding {
    /// Those of a predicate whose arguments at some places are known; more than these may be given, fewer not.
    fn candidates(&self, predicate: (&Name, usize), known: &[(usize, Term)]) -> Vec<Atom>;
}

/// The atoms of a model, found by any one argument.
pub struct Model {
    atoms: Vec<Atom>,
    by_predicate: BTreeMap<(Name, usize), Vec<usize>>,
    /// For a predicate and an argument's place: from its value to the atoms, made when first wanted.
    by_argument: RefCell<BTreeMap<(Name, usize, usize), BTreeMap<Term, Vec<usize>>>>,
}

impl Model {
    /// A model of these atoms.
    pub fn new(mut atoms: Vec<Atom>) -> Self {
        atoms.sort();
        atoms.dedup();
        let mut by_predicate: BTreeMap<(Name, usize), Vec<usize>> = BTreeMap::new();
        for (n, a) in atoms.iter().enumerate() {
            by_predicate.entry((a.name.clone(), a.args.len())).or_default().push(n);
        }
        Self { atoms, by_predicate, by_argument: RefCell::default() }
    }

    /// All atoms, sorted.
    pub fn atoms(&self) -> &[Atom] {
        &self.atoms
    }

    /// Whether an atom holds.
    pub fn holds(&self, atom: &Atom) -> bool {
        self.atoms.binary_search(atom).is_ok()
    }
}

impl Holding for Model {
    fn candidates(&self, (name, arity): (&Name, usize), known: &[(usize, Term)]) -> Vec<Atom> {
        let all: &[usize] = self.by_predicate.get(&(name.clone(), arity)).map_or(&[], Vec::as_slice);
        let atoms = |numbers: &[usize]| numbers.iter().filter_map(|n| self.atoms.get(*n).cloned()).collect();
        let Some((place, value)) = known.first() else { return atoms(all) };
        let mut index = self.by_argument.borrow_mut();
        let by_value = index.entry((name.clone(), arity, *place)).or_insert_with(|| {
            let mut made: BTreeMap<Term, Vec<usize>> = BTreeMap::new();
            for n in all {
                if let Some(t) = self.atoms.get(*n).and_then(|a| a.args.get(*place)) {
                    made.entry(t.clone()).or_default().push(*n);
                }
            }
            made
        });
        atoms(by_value.get(value).map_or(&[], Vec::as_slice))
    }
}

/// The ways to meet a goal: values of variables that had none.
pub type Ways = Vec<Vec<(Name, Term)>>;

/// A search over atoms that hold.
pub struct Search<'a>(pub &'a dyn Holding);

impl Search<'_> {
    /// Searches for bindings that meet all goals, until `found` is content with one.
    pub fn solve(&self, goals: &[Goal<'_>], globals: &BTreeSet<Name>, b: &mut Bindings, found: &mut dyn FnMut(&Bindings) -> bool) -> bool {
        if goals.is_empty() {
            return found(b);
        }
        // Goals that can be told at once come first, those that search the model last.
        let mut turn: Vec<usize> = (0..goals.len()).collect();
        turn.sort_by_key(|n| goals.get(*n).is_some_and(|g| g.searches()));
        for n in turn {
            let Some(goal) = goals.get(n) else { continue };
            let Some(ways) = self.ways(*goal, globals, b) else { continue };
            let rest: Vec<Goal<'_>> = goals.iter().enumerate().filter(|(m, _)| *m != n).map(|(_, g)| *g).collect();
            let start = b.0.len();
            for way in ways {
                b.0.extend(way);
                if self.solve(&rest, globals, b, found) {
                    return true;
                }
                b.0.truncate(start);
            }
            return false;
        }
        false
    }

    /// All ways to meet a goal; `None` while variables lack values that it needs.
    pub fn ways(&self, goal: Goal<'_>, globals: &BTreeSet<Name>, b: &Bindings) -> Option<Ways> {
        let yes_no = |yes: bool| if yes { vec![vec![]] } else { vec![] };
        match goal {
            Goal::Is(p, atom) => {
                if p.name != atom.name || p.args.len() != atom.args.len() {
                    return Some(vec![]);
                }
                self.matching(p, [atom].into_iter(), b)
            }
            Goal::Literal(Literal::Bool(yes, _)) => Some(yes_no(*yes)),
            Goal::Literal(Literal::Atom { sign: Sign::Plain, atom }) => self.instances_of(atom, b),
            Goal::Literal(Literal::Atom { sign, atom }) => {
                let mut open = false;
                atom.args.iter().for_each(|a| a.each_var(&mut |n, _| open |= !is_anonymous(n) && b.get(n).is_none()));
                if open {
                    return None;
                }
                let some = !self.instances_of(atom, b)?.is_empty();
                Some(yes_no(some == (*sign == Sign::NotNot)))
            }
            Goal::Literal(Literal::Compare { sign, left, rest, .. }) => compare(*sign, left, rest, b),
            Goal::Aggregate(a) => self.aggregate(a, globals, b),
            Goal::All(literal, condition) => {
                let mut open = false;
                for l in condition.iter().chain([literal]) {
                    l.each_var(&mut |n, _| open |= globals.contains(n) && b.get(n).is_none());
                }
                if open {
                    return None;
                }
                let goals: Vec<Goal<'_>> = condition.iter().map(Goal::Literal).collect();
                let fails = self.solve(&goals, globals, &mut b.clone(), &mut |b| self.ways(Goal::Literal(literal), globals, b).is_none_or(|w| w.is_empty()));
                Some(yes_no(!fails))
            }
        }
    }

    fn matching<'m>(&self, p: &AtomPattern, atoms: impl Iterator<Item = &'m Atom>, b: &Bindings) -> Option<Ways> {
        let mut out = vec![];
        let mut trial = b.clone();
        for a in atoms {
            if trial.meet_all(&p.args, &a.args)? {
                out.push(trial.0.get(b.0.len()..).unwrap_or(&[]).to_vec());
            }
            trial.0.truncate(b.0.len());
        }
        Some(out)
    }

    fn instances_of(&self, p: &AtomPattern, b: &Bindings) -> Option<Ways> {
        let known: Vec<(usize, Term)> = p
            .args
            .iter()
            .enumerate()
            .filter_map(|(n, e)| match b.values(e)?.as_slice() {
                [Value::Term(t)] => Some((n, t.clone())),
                _ => None,
            })
            .collect();
        self.matching(p, self.0.candidates((&p.name, p.args.len()), &known).iter(), b)
    }

    /// The different tuples of an aggregate under a binding.
    pub fn tuples(&self, a: &Aggregate, globals: &BTreeSet<Name>, b: &Bindings) -> BTreeSet<Vec<Term>> {
        let mut out = BTreeSet::new();
        for e in &a.elements {
            let goals: Vec<Goal<'_>> = e.condition.iter().map(Goal::Literal).collect();
            self.solve(&goals, globals, &mut b.clone(), &mut |b| {
                let tuple = Expr::Fun("".into(), e.terms.clone());
                for v in b.values(&tuple).unwrap_or_default() {
                    if let Value::Term(Term::Fun(_, row)) = v {
                        out.insert(row);
                    }
                }
                false
            });
        }
        out
    }

    /// How many instances a condition has under a binding.
    pub fn instances(&self, condition: &[Literal], globals: &BTreeSet<Name>, b: &Bindings) -> usize {
        let goals: Vec<Goal<'_>> = condition.iter().map(Goal::Literal).collect();
        let mut n = 0;
        self.solve(&goals, globals, &mut b.clone(), &mut |_| {
            n += 1;
            false
        });
        n
    }

    fn aggregate(&self, a: &Aggregate, globals: &BTreeSet<Name>, b: &Bindings) -> Option<Ways> {
        let mut open = false;
        let mut look = |n: &Name, _: usize| open |= globals.contains(n) && b.get(n).is_none();
        for e in &a.elements {
            e.terms.iter().for_each(|t| t.each_var(&mut look));
            e.condition.iter().for_each(|l| l.each_var(&mut look));
        }
        if open {
            return None;
        }
        let value = fold(a.fold, &self.tuples(a, globals, b));
        let guards = a.left.iter().map(|(e, r)| (r.flipped(), e)).chain(a.right.iter().map(|(r, e)| (*r, e)));
        let mut ways: Ways = vec![vec![]];
        let mut holds = true;
        for (rel, e) in guards {
            match b.values(e) {
                Some(values) => holds &= values.iter().any(|v| rel.holds(value.order(v))),
                None if rel == Rel::Eq && a.sign == Sign::Plain => {
                    let mut trial = b.clone();
                    let Value::Term(t) = &value else { return Some(vec![]) };
                    holds &= trial.meet(e, t)?;
                    ways = vec![trial.0.get(b.0.len()..).unwrap_or(&[]).to_vec()];
                }
                None => return None,
            }
        }
        Some(if holds == (a.sign != Sign::Not) { ways } else { vec![] })
    }
}

fn fold(how: Fold, tuples: &BTreeSet<Vec<Term>>) -> Value {
    let firsts = || tuples.iter().filter_map(|t| t.first());
    let number = |n: i64| i32::try_from(n).map_or(Value::Sup, |n| Value::Term(Term::Int(n)));
    match how {
        Fold::Count => number(i64::try_from(tuples.len()).unwrap_or(i64::MAX)),
        Fold::Sum => number(firsts().filter_map(Term::as_int).map(i64::from).sum()),
        Fold::SumPlus => number(firsts().filter_map(Term::as_int).filter(|n| *n > 0).map(i64::from).sum()),
        Fold::Min => firsts().min_by(|a, b| order(a, b)).map_or(Value::Sup, |t| Value::Term(t.clone())),
        Fold::Max => firsts().max_by(|a, b| order(a, b)).map_or(Value::Inf, |t| Value::Term(t.clone())),
    }
}

/// The ways to make a chain of comparisons true: all sides have values, or one equation gives a side its value.
fn compare(sign: Sign, left: &Expr, rest: &[(Rel, Expr)], b: &Bindings) -> Option<Ways> {
    if let (Sign::Plain, [(Rel::Eq, right)]) = (sign, rest) {
        for (known, open) in [(left, right), (right, left)] {
            if let (Some(values), None) = (b.values(known), b.values(open)) {
                let mut out = vec![];
                for v in values {
                    let Value::Term(t) = v else { continue };
                    let mut trial = b.clone();
                    if trial.meet(open, &t)? {
                        out.push(trial.0.get(b.0.len()..).unwrap_or(&[]).to_vec());
                    }
                }
                return Some(out);
            }
        }
    }
    let mut sides = vec![b.values(left)?];
    for (_, e) in rest {
        sides.push(b.values(e)?);
    }
    let holds = sides.iter().zip(sides.iter().skip(1)).zip(rest).all(|((x, y), (rel, _))| x.iter().any(|x| y.iter().any(|y| rel.holds(x.order(y)))));
    Some(if holds == (sign != Sign::Not) { vec![vec![]] } else { vec![] })
}
