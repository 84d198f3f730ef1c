//! Reads proofs off the recorded derivations.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{Because, By, Counted, Failure, Proof, RuleRef};
use crate::reason::eval::run::{Run, UNSET};
use crate::reason::eval::step::{Match, Step};
use crate::reason::eval::store::{FACT, RelId, Relation};
use crate::reason::eval::terms::{Id, Terms};
use crate::reason::eval::{Compiled, Query};
use crate::reason::outcome::Outcome;
use crate::reason::syntax::{AtomPattern, Expr, Item, Literal, Sign, is_anonymous};
use crate::term::{Atom, Name, Term};

/// Deeper proofs are cut: no rule set has such chains, and no reader follows them.
const MAX_DEPTH: usize = 200;
/// How many rows a search for a failing condition may try.
const MAX_STEPS: u64 = 200_000;

/// Builds proofs of one outcome; what is proved or found absent once is shared.
pub struct Builder<'a> {
    outcome: &'a Outcome,
    terms: Terms,
    /// By relation, row, and whether the row is static.
    done: FxHashMap<(RelId, u32, bool), Arc<Proof>>,
    /// By relation and the known columns.
    absent: FxHashMap<(RelId, Vec<Option<Id>>), Arc<[Failure]>>,
}

/// The values of a rule's variables; [`UNSET`] for none.
struct Env<'e> {
    vars: &'e [Name],
    values: &'e [Id],
}

impl Env<'_> {
    fn get(&self, name: &str) -> Option<Id> {
        self.vars.iter().position(|v| **v == *name).and_then(|n| self.values.get(n)).copied().filter(|v| *v != UNSET)
    }
}

impl<'a> Builder<'a> {
    /// A builder for an outcome.
    pub fn new(outcome: &'a Outcome) -> Self {
        Self { outcome, terms: outcome.terms.clone(), done: FxHashMap::default(), absent: FxHashMap::default() }
    }

    /// The proof of an atom, if it was derived.
    pub fn why(&mut self, atom: &Atom) -> Option<Arc<Proof>> {
        let rules = self.outcome.base.rules();
        let relation = rules.program.layouts.ids.get(&(atom.name.clone(), atom.args.len())).copied();
        let row: Option<Vec<Id>> = atom.args.iter().map(|t| self.terms.find_term(t)).collect();
        if let (Some(relation), Some(row)) = (relation, row)
            && let Some(p) = self.prove(relation, &row, 0)
        {
            return Some(p);
        }
        let solved = self.outcome.shown().binary_search(atom).is_ok();
        solved.then(|| Arc::new(Proof { atom: atom.clone(), by: By::Solver }))
    }

    /// The rows of a relation: those of the decision, then the static ones.
    fn rows(&self, relation: RelId) -> [Option<&'a Relation>; 2] {
        let outcome = self.outcome;
        [outcome.above.get(relation as usize), outcome.base.inner.relations.get(relation as usize).map(|r| &**r)]
    }

    fn prove(&mut self, relation: RelId, row: &[Id], depth: usize) -> Option<Arc<Proof>> {
        let found = self.rows(relation);
        let (rows, n, fixed) = found.into_iter().zip([false, true]).find_map(|(r, fixed)| r.and_then(|r| r.find(row).map(|n| (r, n, fixed))))?;
        let key = (relation, n, fixed);
        if let Some(p) = self.done.get(&key) {
            return Some(p.clone());
        }
        let derived = *rows.derived.get(n as usize)?;
        let rules = self.outcome.base.rules();
        let atom = self.terms.atom(&rules.program.layouts.names.get(relation as usize)?.0, row)?;
        let by = match rules.program.rules.get(derived.rule as usize) {
            None => By::Fact,
            Some(c) if derived.rule == FACT || c.body.is_empty() => By::Fact,
            Some(c) => {
                let at = derived.binding as usize;
                let binding = rows.bindings.get(at..at + c.globals)?;
                let env = Env { vars: &c.vars, values: binding };
                let because = if depth > MAX_DEPTH { Vec::new() } else { self.body(c, binding, &env, depth)? };
                By::Rule { rule: self.rule_ref(c.statement, &env), because }
            }
        };
        let proof = Arc::new(Proof { atom, by });
        self.done.insert(key, proof.clone());
        Some(proof)
    }

    fn rule_ref(&self, statement: usize, env: &Env<'_>) -> RuleRef {
        let Some(s) = self.outcome.base.rules().statements().get(statement) else {
            return RuleRef { reading: String::new(), text: "".into(), file: "".into(), line: 0, statement };
        };
        let reading = s.reading.as_deref().map_or_else(String::new, |r| fill(r, &|n| env.get(n).and_then(|v| self.terms.term(v))));
        RuleRef { reading, text: s.text.clone(), file: s.origin.file.clone(), line: s.origin.line, statement }
    }

    fn body(&mut self, c: &Compiled, binding: &[Id], env: &Env<'_>, depth: usize) -> Option<Vec<Because>> {
        let mut out = Vec::with_capacity(c.body.len());
        for (n, item) in c.body.iter().enumerate() {
            match item {
                Item::Literal(l) => out.extend(self.literal(l, env, depth)?),
                Item::Aggregate(a) => {
                    let elements = self.elements(c, binding, n, a, depth)?;
                    out.push(Because::Aggregate { text: item_text(item, env, &self.terms), elements });
                }
                Item::Conditional { literal, condition, .. } => {
                    let instances = self.instances(c, binding, n, literal, condition, depth)?;
                    out.push(Because::All { text: item_text(item, env, &self.terms), instances });
                }
            }
        }
        Some(out)
    }

    fn literal(&mut self, l: &Literal, env: &Env<'_>, depth: usize) -> Option<Option<Because>> {
        Some(match l {
            Literal::Bool(..) => None,
            Literal::Compare { left: Expr::Var(n, _), .. } if n.starts_with('\u{1}') => None,
            Literal::Compare { .. } => {
                let mut text = String::new();
                write_literal(&mut text, l, env, &self.terms);
                Some(Because::Test { text })
            }
            Literal::Atom { sign: Sign::Not, atom } => {
                let args: Vec<Option<Id>> = atom.args.iter().map(|e| ground(&mut self.terms, e, env)).collect();
                let mut pattern = String::new();
                write_pattern(&mut pattern, atom, env, &self.terms);
                Some(Because::Absent { pattern, ways: self.fail_ways(&atom.predicate(), args) })
            }
            Literal::Atom { atom, .. } => Some(Because::Holds { proof: self.holding(atom, env, depth + 1)? }),
        })
    }

    /// The proof of a body atom: of its instance, or of any if it has anonymous variables that the binding does not keep.
    fn holding(&mut self, atom: &AtomPattern, env: &Env<'_>, depth: usize) -> Option<Arc<Proof>> {
        let relation = *self.outcome.base.rules().program.layouts.ids.get(&atom.predicate())?;
        let wanted: Vec<Option<Id>> = atom.args.iter().map(|e| ground(&mut self.terms, e, env)).collect();
        if let Some(row) = wanted.iter().copied().collect::<Option<Vec<Id>>>() {
            return self.prove(relation, &row, depth);
        }
        let arity = wanted.len();
        let row = self.rows(relation).into_iter().flatten().find_map(|r| {
            (0..r.len()).map(|n| r.row(arity, n)).find(|row| row.iter().zip(&wanted).all(|(v, w)| w.is_none_or(|w| w == *v))).map(<[Id]>::to_vec)
        })?;
        self.prove(relation, &row, depth)
    }

    /// A run over the outcome's rows with these registers.
    fn run<'r>(&'r mut self, regs: &'r mut Vec<Id>, steps: &'r mut u64, deepest: Option<&'r mut (usize, Vec<Id>)>) -> Run<'r> {
        let outcome: &'r Outcome = self.outcome;
        Run {
            terms: &mut self.terms,
            below: &outcome.base.inner.relations,
            fixed: &outcome.base.inner.counts,
            above: &outcome.above,
            arities: &outcome.base.rules().program.arities,
            regs,
            delta: 0..0,
            steps,
            max_steps: MAX_STEPS,
            deepest,
        }
    }

    /// Solves inner steps of an aggregate or condition and hands each solution's registers out.
    fn solutions(&mut self, c: &Compiled, binding: &[Id], steps: &[Step]) -> Vec<Vec<Id>> {
        let mut regs = vec![UNSET; c.vars.len()];
        regs.iter_mut().zip(binding).for_each(|(slot, v)| *slot = *v);
        let mut out = Vec::new();
        let mut tried = 0;
        let _ = self.run(&mut regs, &mut tried, None).solve(steps, &mut |r| {
            out.push(r.regs.clone());
            Ok(false)
        });
        out
    }

    fn inner_step(c: &Compiled, n: usize) -> Option<&Step> {
        let plan = c.any_plan()?;
        let at = plan.items.iter().position(|i| *i == n)?;
        plan.steps.get(at)
    }

    fn elements(&mut self, c: &Compiled, binding: &[Id], n: usize, a: &crate::reason::syntax::Aggregate, depth: usize) -> Option<Vec<Counted>> {
        let Some(Step::Fold { elements, .. }) = Self::inner_step(c, n) else {
            return Some(Vec::new());
        };
        let mut out: BTreeMap<Vec<Term>, Vec<Because>> = BTreeMap::new();
        for ((steps, _), element) in elements.iter().zip(&a.elements) {
            for regs in self.solutions(c, binding, steps) {
                let env = Env { vars: &c.vars, values: &regs };
                let tuple = element.terms.iter().map(|t| ground(&mut self.terms, t, &env).and_then(|v| self.terms.term(v))).collect::<Option<Vec<_>>>();
                let Some(tuple) = tuple.filter(|t| !out.contains_key(t)) else { continue };
                let because = self.literals(&element.condition, &env, depth)?;
                out.insert(tuple, because);
            }
        }
        Some(out.into_iter().map(|(tuple, because)| Counted { tuple, because }).collect())
    }

    fn instances(&mut self, c: &Compiled, binding: &[Id], n: usize, literal: &Literal, condition: &[Literal], depth: usize) -> Option<Vec<Vec<Because>>> {
        let Some(Step::ForAll { condition: steps, .. }) = Self::inner_step(c, n) else {
            return Some(Vec::new());
        };
        let mut out = Vec::new();
        for regs in self.solutions(c, binding, steps) {
            let env = Env { vars: &c.vars, values: &regs };
            let mut because = self.literals(condition, &env, depth)?;
            because.extend(self.literal(literal, &env, depth)?);
            out.push(because);
        }
        Some(out)
    }

    fn literals(&mut self, literals: &[Literal], env: &Env<'_>, depth: usize) -> Option<Vec<Because>> {
        let mut out = Vec::new();
        for l in literals {
            out.extend(self.literal(l, env, depth)?);
        }
        Some(out)
    }

    fn fail_ways(&mut self, predicate: &(Name, usize), args: Vec<Option<Id>>) -> Arc<[Failure]> {
        let rules = self.outcome.base.rules();
        let Some(relation) = rules.program.layouts.ids.get(predicate) else {
            return Arc::default();
        };
        let key = (*relation, args);
        if let Some(ways) = self.absent.get(&key) {
            return ways.clone();
        }
        let mask = key.1.iter().enumerate().fold(0, |m, (c, a)| if a.is_some() { m | (1 << c) } else { m });
        let mut out = Vec::new();
        for r in rules.by_head.get(relation).map_or(&[][..], Vec::as_slice) {
            let (Some(c), Some(q)) = (rules.program.rules.get(*r as usize), rules.queries.get(&(*r, mask))) else {
                continue;
            };
            out.extend(self.failure(c, q, &key.1));
        }
        out.sort_by_key(|f| (f.of - f.met, f.rule.statement));
        let ways: Arc<[Failure]> = out.into();
        self.absent.insert(key, ways.clone());
        ways
    }

    /// The first condition of a rule that fails for a wanted head; `None` if the head cannot match.
    fn failure(&mut self, c: &Compiled, q: &Query, args: &[Option<Id>]) -> Option<Failure> {
        let mut regs = vec![UNSET; q.vars.len()];
        for (slot, a) in q.params.iter().zip(args.iter().flatten()) {
            *regs.get_mut(*slot as usize)? = *a;
        }
        let mut deepest = (0, Vec::new());
        let mut tried = 0;
        let _ = self.run(&mut regs, &mut tried, Some(&mut deepest)).solve(&q.plan.steps, &mut |_| Ok(true));
        let (at, mut regs) = deepest;
        let item = *q.plan.items.get(at)?;
        // The first items say that the head is the wanted atom: a rule that fails there is about something else.
        let body_item = item.checked_sub(q.head_items)?;
        let known = bound(q.plan.steps.get(..at)?, &q.params);
        (0..).zip(&mut regs).filter(|(n, _)| !known.contains(n)).for_each(|(_, v)| *v = UNSET);
        let env = Env { vars: &q.vars, values: &regs };
        let mut fails = String::new();
        match c.body.get(body_item)? {
            Item::Literal(Literal::Atom { sign: Sign::Not, atom }) => {
                write_pattern(&mut fails, atom, &env, &self.terms);
                fails.push_str(" holds");
            }
            Item::Literal(Literal::Atom { atom, .. }) => {
                fails.push_str("no ");
                write_pattern(&mut fails, atom, &env, &self.terms);
            }
            other => {
                fails = item_text(other, &env, &self.terms);
                fails.push_str(" does not hold");
            }
        }
        let met = q.plan.items.get(..at)?.iter().filter(|i| **i >= q.head_items).count();
        Some(Failure { rule: self.rule_ref(c.statement, &env), fails, met, of: c.body.len() })
    }
}

fn bound(steps: &[Step], params: &[u16]) -> Vec<usize> {
    fn of(m: &Match, out: &mut Vec<usize>) {
        match m {
            Match::Bind(s) => out.push(usize::from(*s)),
            Match::Fun(_, args) => args.iter().for_each(|a| of(a, out)),
            _ => {}
        }
    }
    let mut out: Vec<usize> = params.iter().map(|s| usize::from(*s)).collect();
    for s in steps {
        match s {
            Step::Scan { lookup, .. } => lookup.rest.iter().for_each(|(_, m)| of(m, &mut out)),
            Step::Let { pattern, .. } | Step::Range { pattern, .. } => of(pattern, &mut out),
            Step::Fold { assign: Some(s), .. } => out.push(usize::from(*s)),
            _ => {}
        }
    }
    out
}

/// Puts values into a reading: `{X}` becomes the value of `X`, strings without quotes.
pub fn fill(reading: &str, value: &dyn Fn(&str) -> Option<Term>) -> String {
    let mut out = String::with_capacity(reading.len() + 16);
    let mut rest = reading;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let Some((name, after)) = after.split_once('}') else {
            out.push('{');
            rest = after;
            continue;
        };
        match value(name) {
            Some(Term::Str(s)) => out.push_str(&s),
            Some(t) => {
                let _ = write!(out, "{t}");
            }
            None => out.push_str("something"),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The value of a term, if all its variables have one.
fn ground(terms: &mut Terms, e: &Expr, env: &Env<'_>) -> Option<Id> {
    Some(match e {
        Expr::Var(n, _) => env.get(n)?,
        Expr::Int(n) => terms.of_int(*n),
        Expr::Const(n) => terms.of_const(n),
        Expr::Str(n) => terms.of_str(n),
        Expr::Fun(n, args) => {
            let args = args.iter().map(|a| ground(terms, a, env)).collect::<Option<Vec<_>>>()?;
            let name = terms.of_const(n);
            terms.of_fun(name, &args)
        }
        Expr::Neg(_) | Expr::Abs(_) | Expr::Binary(..) => {
            let n = number(e, env, terms)?;
            terms.of_int(n)
        }
        Expr::Inf | Expr::Sup | Expr::Interval(..) | Expr::Pool(_) => return None,
    })
}

/// The value of a term that is a number.
fn number(e: &Expr, env: &Env<'_>, terms: &Terms) -> Option<i32> {
    match e {
        Expr::Int(n) => Some(*n),
        Expr::Var(n, _) => terms.int(env.get(n)?),
        Expr::Neg(a) => number(a, env, terms)?.checked_neg(),
        Expr::Abs(a) => number(a, env, terms)?.checked_abs(),
        Expr::Binary(op, a, b) => op.of(number(a, env, terms)?, number(b, env, terms)?),
        _ => None,
    }
}

fn write_list(out: &mut String, args: &[Expr], env: &Env<'_>, terms: &Terms) {
    for (n, a) in args.iter().enumerate() {
        if n > 0 {
            out.push(',');
        }
        write_expr(out, a, env, terms);
    }
}

fn write_expr(out: &mut String, e: &Expr, env: &Env<'_>, terms: &Terms) {
    match e {
        Expr::Var(n, _) => match env.get(n).and_then(|v| terms.term(v)) {
            Some(Term::Const(c)) => out.push_str(&c),
            Some(t) => drop(write!(out, "{t}")),
            None if is_anonymous(n) || n.starts_with('\u{1}') => out.push('_'),
            None => out.push_str(n),
        },
        Expr::Int(n) => drop(write!(out, "{n}")),
        Expr::Const(n) => out.push_str(n),
        Expr::Str(n) => drop(write!(out, "{}", Term::Str(n.clone()))),
        Expr::Fun(n, args) => {
            out.push_str(n);
            out.push('(');
            write_list(out, args, env, terms);
            out.push(')');
        }
        Expr::Binary(..) | Expr::Neg(_) | Expr::Abs(_) if let Some(n) = number(e, env, terms) => drop(write!(out, "{n}")),
        Expr::Binary(op, a, b) => {
            write_expr(out, a, env, terms);
            out.push_str(op.symbol());
            write_expr(out, b, env, terms);
        }
        Expr::Neg(a) => {
            out.push('-');
            write_expr(out, a, env, terms);
        }
        Expr::Abs(a) => {
            out.push('|');
            write_expr(out, a, env, terms);
            out.push('|');
        }
        Expr::Interval(a, b) => {
            write_expr(out, a, env, terms);
            out.push_str("..");
            write_expr(out, b, env, terms);
        }
        Expr::Pool(args) => {
            out.push('(');
            write_list(out, args, env, terms);
            out.push(')');
        }
        Expr::Inf => out.push_str("#inf"),
        Expr::Sup => out.push_str("#sup"),
    }
}

/// An atom whose unknown variables stand for anything.
fn write_pattern(out: &mut String, p: &AtomPattern, env: &Env<'_>, terms: &Terms) {
    out.push_str(&p.name);
    for (n, e) in p.args.iter().enumerate() {
        out.push(if n == 0 { '(' } else { ',' });
        match e {
            Expr::Var(v, _) if env.get(v).is_none() => out.push('_'),
            e => write_expr(out, e, env, terms),
        }
    }
    if !p.args.is_empty() {
        out.push(')');
    }
}

fn write_literal(out: &mut String, l: &Literal, env: &Env<'_>, terms: &Terms) {
    let (Literal::Atom { sign, .. } | Literal::Compare { sign, .. }) = l else {
        out.push_str(if matches!(l, Literal::Bool(true, _)) { "#true" } else { "#false" });
        return;
    };
    out.push_str(match sign {
        Sign::Plain => "",
        Sign::Not => "not ",
        Sign::NotNot => "not not ",
    });
    match l {
        Literal::Atom { atom, .. } => {
            out.push_str(&atom.name);
            if !atom.args.is_empty() {
                out.push('(');
                write_list(out, &atom.args, env, terms);
                out.push(')');
            }
        }
        Literal::Compare { left, rest, .. } => {
            write_expr(out, left, env, terms);
            for (rel, e) in rest {
                out.push(' ');
                out.push_str(rel.symbol());
                out.push(' ');
                write_expr(out, e, env, terms);
            }
        }
        Literal::Bool(..) => {}
    }
}

fn write_literals(out: &mut String, literals: &[Literal], env: &Env<'_>, terms: &Terms) {
    for (n, l) in literals.iter().enumerate() {
        if n > 0 {
            out.push_str(", ");
        }
        write_literal(out, l, env, terms);
    }
}

fn item_text(item: &Item, env: &Env<'_>, terms: &Terms) -> String {
    let mut out = String::new();
    match item {
        Item::Literal(l) => write_literal(&mut out, l, env, terms),
        Item::Conditional { literal, condition, .. } => {
            write_literal(&mut out, literal, env, terms);
            out.push_str(" : ");
            write_literals(&mut out, condition, env, terms);
        }
        Item::Aggregate(a) => {
            if let Some((e, r)) = &a.left {
                write_expr(&mut out, e, env, terms);
                let _ = write!(out, " {} ", r.symbol());
            }
            let _ = write!(out, "{} {{ ", a.fold.symbol());
            for (n, e) in a.elements.iter().enumerate() {
                if n > 0 {
                    out.push_str("; ");
                }
                write_list(&mut out, &e.terms, env, terms);
                out.push_str(" : ");
                write_literals(&mut out, &e.condition, env, terms);
            }
            out.push_str(" }");
            if let Some((r, e)) = &a.right {
                let _ = write!(out, " {} ", r.symbol());
                write_expr(&mut out, e, env, terms);
            }
        }
    }
    out
}
