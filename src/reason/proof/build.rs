//! Reads proofs off the recorded derivations.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Because, By, Counted, Failure, Proof, RuleRef};
use crate::reason::decide::Outcome;
use crate::reason::eval::plan::{Match, Step};
use crate::reason::eval::run::{Run, UNSET};
use crate::reason::eval::store::{FACT, RelId};
use crate::reason::eval::terms::{Id, Terms};
use crate::reason::eval::{Compiled, Query};
use crate::reason::syntax::{Expr, Item, Literal, Op, Pattern, Rel, Sign, is_anonymous};
use crate::term::{Atom, Name, Term};

/// Deeper proofs are cut: no rule set has such chains, and no reader follows them.
const MAX_DEPTH: usize = 200;
/// How many rows a search for a failing condition may try.
const MAX_STEPS: u64 = 200_000;

/// Builds proofs of one outcome; what is proved once is shared.
pub struct Builder<'a> {
    outcome: &'a Outcome,
    terms: Terms,
    done: BTreeMap<(RelId, Vec<Id>), Arc<Proof>>,
}

/// The values of a rule's variables.
struct Env<'e> {
    vars: &'e [Name],
    values: Vec<Option<Term>>,
}

impl Env<'_> {
    fn get(&self, name: &Name) -> Option<&Term> {
        self.vars.iter().position(|v| v == name).and_then(|n| self.values.get(n)).and_then(Option::as_ref)
    }
}

impl<'a> Builder<'a> {
    /// A builder for an outcome.
    pub fn new(outcome: &'a Outcome) -> Self {
        Self { outcome, terms: outcome.terms.clone(), done: BTreeMap::new() }
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

    fn prove(&mut self, relation: RelId, row: &[Id], depth: usize) -> Option<Arc<Proof>> {
        let key = (relation, row.to_vec());
        if let Some(p) = self.done.get(&key) {
            return Some(p.clone());
        }
        let outcome = self.outcome;
        let rules = outcome.base.rules();
        let name = &rules.program.layouts.names.get(relation as usize)?.0;
        let found = [outcome.above.get(relation as usize), outcome.base.inner.relations.get(relation as usize).map(|r| &**r)];
        let (derived, rows) = found.into_iter().flatten().find_map(|r| r.find(row).and_then(|n| r.derived.get(n as usize)).map(|d| (*d, r)))?;
        let atom = self.terms.atom(name, row)?;
        let by = match rules.program.rules.get(derived.rule as usize) {
            None => By::Fact,
            Some(c) if derived.rule == FACT || c.body.is_empty() => By::Fact,
            Some(c) => {
                let at = derived.binding as usize;
                let binding = rows.bindings.get(at..at + c.globals)?;
                let env = self.env(c, binding);
                let because = if depth > MAX_DEPTH { Vec::new() } else { self.body(c, binding, &env, depth)? };
                By::Rule { rule: self.rule_ref(c.statement, &env), because }
            }
        };
        let proof = Arc::new(Proof { atom, by });
        self.done.insert(key, proof.clone());
        Some(proof)
    }

    fn env<'e>(&self, c: &'e Compiled, binding: &[Id]) -> Env<'e> {
        Env { vars: &c.vars, values: binding.iter().map(|v| if *v == UNSET { None } else { self.terms.term(*v) }).collect() }
    }

    fn rule_ref(&self, statement: usize, env: &Env<'_>) -> RuleRef {
        let Some(s) = self.outcome.base.rules().statements().get(statement) else {
            return RuleRef { reading: String::new(), text: "".into(), file: "".into(), line: 0, statement };
        };
        let reading = s.reading.as_deref().map_or_else(String::new, |r| fill(r, &|n| env.get(n).cloned()));
        RuleRef { reading, text: s.text.clone(), file: s.origin.file.clone(), line: s.origin.line, statement }
    }

    fn body(&mut self, c: &Compiled, binding: &[Id], env: &Env<'_>, depth: usize) -> Option<Vec<Because>> {
        let mut out = Vec::new();
        for (n, item) in c.body.iter().enumerate() {
            out.extend(self.item(c, binding, env, n, item, depth)?);
        }
        Some(out)
    }

    fn item(&mut self, c: &Compiled, binding: &[Id], env: &Env<'_>, n: usize, item: &Item, depth: usize) -> Option<Option<Because>> {
        Some(match item {
            Item::Literal(l) => self.literal(l, env, depth)?,
            Item::Aggregate(a) => {
                let elements = self.elements(c, binding, n, a, depth)?;
                Some(Because::Aggregate { text: item_text(item, env), elements })
            }
            Item::Conditional { literal, condition, .. } => {
                let instances = self.instances(c, binding, n, literal, condition, depth)?;
                Some(Because::All { text: item_text(item, env), instances })
            }
        })
    }

    fn literal(&mut self, l: &Literal, env: &Env<'_>, depth: usize) -> Option<Option<Because>> {
        Some(match l {
            Literal::Bool(..) => None,
            Literal::Compare { left: Expr::Var(n, _), .. } if n.starts_with('\u{1}') => None,
            Literal::Compare { .. } => Some(Because::Test { text: literal_text(l, env) }),
            Literal::Atom { sign: Sign::Not, atom } => {
                let pattern = pattern_text(atom, env);
                let ways = self.failures(atom, env);
                Some(Because::Absent { pattern, ways })
            }
            Literal::Atom { atom, .. } => {
                let proof = self.holding(atom, env, depth + 1)?;
                Some(Because::Holds { proof })
            }
        })
    }

    /// The proof of a body atom: of its instance, or of any if it has anonymous variables that the binding does not keep.
    fn holding(&mut self, atom: &Pattern, env: &Env<'_>, depth: usize) -> Option<Arc<Proof>> {
        let relation = *self.outcome.base.rules().program.layouts.ids.get(&atom.predicate())?;
        let row: Option<Vec<Id>> = atom.args.iter().map(|e| ground(e, env).and_then(|t| self.terms.find_term(&t))).collect();
        if let Some(row) = row {
            return self.prove(relation, &row, depth);
        }
        let wanted: Vec<Option<Id>> = atom.args.iter().map(|e| ground(e, env).and_then(|t| self.terms.find_term(&t))).collect();
        let outcome = self.outcome;
        let arity = atom.args.len();
        let found = [outcome.above.get(relation as usize), outcome.base.inner.relations.get(relation as usize).map(|r| &**r)];
        let row = found.into_iter().flatten().find_map(|r| {
            (0..r.len()).map(|n| r.row(arity, n)).find(|row| row.iter().zip(&wanted).all(|(v, w)| w.is_none_or(|w| w == *v))).map(<[Id]>::to_vec)
        })?;
        self.prove(relation, &row, depth)
    }

    /// Solves inner steps of an aggregate or condition and hands each solution's registers out.
    fn solutions(&mut self, c: &Compiled, binding: &[Id], steps: &[Step]) -> Vec<Vec<Id>> {
        let program = &self.outcome.base.rules().program;
        let mut regs = vec![UNSET; c.vars.len()];
        for (slot, v) in regs.iter_mut().zip(binding) {
            *slot = *v;
        }
        let mut out = Vec::new();
        let mut tried = 0;
        let mut run = Run {
            terms: &mut self.terms,
            below: &self.outcome.base.inner.relations,
            fixed: &self.outcome.base.inner.counts,
            above: &self.outcome.above,
            arities: &program.arities,
            regs: &mut regs,
            delta: 0..0,
            steps: &mut tried,
            max_steps: MAX_STEPS,
            touched: None,
            deepest: None,
        };
        let _ = run.solve(steps, &mut |r| {
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
        let Some(Step::Fold { elements, .. }) = Self::inner_step(c, n) else { return Some(Vec::new()) };
        let mut out: BTreeMap<Vec<Term>, Vec<Because>> = BTreeMap::new();
        for ((steps, _), element) in elements.iter().zip(&a.elements) {
            for regs in self.solutions(c, binding, steps) {
                let env = self.env(c, &regs);
                let Some(tuple) = element.terms.iter().map(|t| ground(t, &env)).collect::<Option<Vec<_>>>() else { continue };
                if out.contains_key(&tuple) {
                    continue;
                }
                let because = self.literals(&element.condition, &env, depth)?;
                out.insert(tuple, because);
            }
        }
        Some(out.into_iter().map(|(tuple, because)| Counted { tuple, because }).collect())
    }

    fn instances(&mut self, c: &Compiled, binding: &[Id], n: usize, literal: &Literal, condition: &[Literal], depth: usize) -> Option<Vec<Vec<Because>>> {
        let Some(Step::ForAll { condition: steps, .. }) = Self::inner_step(c, n) else { return Some(Vec::new()) };
        let mut out = Vec::new();
        for regs in self.solutions(c, binding, steps) {
            let env = self.env(c, &regs);
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

    fn failures(&mut self, atom: &Pattern, env: &Env<'_>) -> Vec<Failure> {
        let args: Vec<Option<Term>> = atom.args.iter().map(|e| ground(e, env)).collect();
        self.fail_ways(&atom.predicate(), &args)
    }

    fn fail_ways(&mut self, predicate: &(Name, usize), args: &[Option<Term>]) -> Vec<Failure> {
        let rules = self.outcome.base.rules();
        let Some(relation) = rules.program.layouts.ids.get(predicate) else { return Vec::new() };
        let mask = args.iter().enumerate().fold(0, |m, (c, a)| if a.is_some() { m | (1 << c) } else { m });
        let mut out = Vec::new();
        for r in rules.by_head.get(relation).map_or(&[][..], Vec::as_slice) {
            let (Some(c), Some(q)) = (rules.program.rules.get(*r as usize), rules.queries.get(&(*r, mask))) else { continue };
            out.extend(self.failure(c, q, args));
        }
        out.sort_by_key(|f| (f.of - f.met, f.rule.statement));
        out
    }

    /// The first condition of a rule that fails for a wanted head; `None` if the head cannot match.
    fn failure(&mut self, c: &Compiled, q: &Query, args: &[Option<Term>]) -> Option<Failure> {
        let program = &self.outcome.base.rules().program;
        let mut regs = vec![UNSET; q.vars.len()];
        for (slot, a) in q.params.iter().zip(args.iter().flatten()) {
            *regs.get_mut(*slot as usize)? = self.terms.of_term(a);
        }
        let mut deepest = (0, Vec::new());
        let mut tried = 0;
        let mut run = Run {
            terms: &mut self.terms,
            below: &self.outcome.base.inner.relations,
            fixed: &self.outcome.base.inner.counts,
            above: &self.outcome.above,
            arities: &program.arities,
            regs: &mut regs,
            delta: 0..0,
            steps: &mut tried,
            max_steps: MAX_STEPS,
            touched: None,
            deepest: Some(&mut deepest),
        };
        let _ = run.solve(&q.plan.steps, &mut |_| Ok(true));
        let (at, regs) = deepest;
        let item = *q.plan.items.get(at)?;
        // The first items say that the head is the wanted atom: a rule that fails there is about something else.
        let body_item = item.checked_sub(q.head_items)?;
        let known = bound(q.plan.steps.get(..at)?, &q.params);
        let values = regs.iter().enumerate().map(|(n, v)| if known.contains(&n) { self.terms.term(*v) } else { None }).collect();
        let env = Env { vars: &q.vars, values };
        let fails = match c.body.get(body_item)? {
            Item::Literal(Literal::Atom { sign: Sign::Not, atom }) => format!("{} holds", pattern_text(atom, &env)),
            Item::Literal(Literal::Atom { atom, .. }) => format!("no {}", pattern_text(atom, &env)),
            other => format!("{} does not hold", item_text(other, &env)),
        };
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
pub fn fill(reading: &str, value: &dyn Fn(&Name) -> Option<Term>) -> String {
    let mut out = String::new();
    let mut rest = reading;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let Some((name, after)) = after.split_once('}') else {
            out.push('{');
            rest = after;
            continue;
        };
        match value(&name.into()) {
            Some(Term::Str(s)) => out.push_str(&s),
            Some(t) => out.push_str(&t.to_string()),
            None => out.push_str("something"),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The value of a term, if all its variables have one.
fn ground(e: &Expr, env: &Env<'_>) -> Option<Term> {
    let int = |e: &Expr| ground(e, env).and_then(|t| t.as_int());
    Some(match e {
        Expr::Int(n) => Term::Int(*n),
        Expr::Const(n) => Term::Const(n.clone()),
        Expr::Str(n) => Term::Str(n.clone()),
        Expr::Fun(n, args) => Term::Fun(n.clone(), args.iter().map(|a| ground(a, env)).collect::<Option<_>>()?),
        Expr::Var(n, _) => env.get(n)?.clone(),
        Expr::Neg(a) => Term::Int(int(a)?.checked_neg()?),
        Expr::Abs(a) => Term::Int(int(a)?.checked_abs()?),
        Expr::Binary(op, a, b) => {
            let (a, b) = (int(a)?, int(b)?);
            Term::Int(match op {
                Op::Add => a.checked_add(b)?,
                Op::Sub => a.checked_sub(b)?,
                Op::Mul => a.checked_mul(b)?,
                Op::Div => a.checked_div(b)?,
                Op::Mod => a.checked_rem(b)?,
                Op::Pow => a.checked_pow(u32::try_from(b).ok()?)?,
            })
        }
        Expr::Inf | Expr::Sup | Expr::Interval(..) | Expr::Pool(_) => return None,
    })
}

fn expr_text(e: &Expr, env: &Env<'_>) -> String {
    if let Some(t) = ground(e, env) {
        return t.to_string();
    }
    let list = |args: &[Expr]| args.iter().map(|a| expr_text(a, env)).collect::<Vec<_>>().join(",");
    match e {
        Expr::Var(n, _) if is_anonymous(n) || n.starts_with('\u{1}') => "_".into(),
        Expr::Var(n, _) => n.to_string(),
        Expr::Fun(n, args) => format!("{n}({})", list(args)),
        Expr::Binary(op, a, b) => format!("{}{}{}", expr_text(a, env), op.symbol(), expr_text(b, env)),
        Expr::Neg(a) => format!("-{}", expr_text(a, env)),
        Expr::Abs(a) => format!("|{}|", expr_text(a, env)),
        Expr::Interval(a, b) => format!("{}..{}", expr_text(a, env), expr_text(b, env)),
        Expr::Pool(args) => format!("({})", list(args)),
        Expr::Inf => "#inf".into(),
        Expr::Sup => "#sup".into(),
        _ => String::new(),
    }
}

fn pattern_text(p: &Pattern, env: &Env<'_>) -> String {
    if p.args.is_empty() {
        return p.name.to_string();
    }
    let arg = |e: &Expr| match e {
        Expr::Var(n, _) if env.get(n).is_none() => "_".to_owned(),
        e => expr_text(e, env),
    };
    format!("{}({})", p.name, p.args.iter().map(arg).collect::<Vec<_>>().join(","))
}

fn literal_text(l: &Literal, env: &Env<'_>) -> String {
    let sign = |s: Sign| match s {
        Sign::Plain => "",
        Sign::Not => "not ",
        Sign::NotNot => "not not ",
    };
    match l {
        Literal::Atom { sign: s, atom } if atom.args.is_empty() => format!("{}{}", sign(*s), atom.name),
        Literal::Atom { sign: s, atom } => format!("{}{}({})", sign(*s), atom.name, atom.args.iter().map(|a| expr_text(a, env)).collect::<Vec<_>>().join(",")),
        Literal::Compare { sign: s, left, rest, .. } => {
            let mut out = format!("{}{}", sign(*s), expr_text(left, env));
            for (rel, e) in rest {
                out.push_str(&format!(" {} {}", rel.symbol(), expr_text(e, env)));
            }
            out
        }
        Literal::Bool(b, _) => if *b { "#true" } else { "#false" }.into(),
    }
}

fn item_text(item: &Item, env: &Env<'_>) -> String {
    let literals = |ls: &[Literal]| ls.iter().map(|l| literal_text(l, env)).collect::<Vec<_>>().join(", ");
    match item {
        Item::Literal(l) => literal_text(l, env),
        Item::Conditional { literal, condition, .. } => format!("{} : {}", literal_text(literal, env), literals(condition)),
        Item::Aggregate(a) => {
            let side = |e: &Expr, r: Rel| format!("{} {}", r.symbol(), expr_text(e, env));
            let elements: Vec<String> = a
                .elements
                .iter()
                .map(|e| format!("{} : {}", e.terms.iter().map(|t| expr_text(t, env)).collect::<Vec<_>>().join(","), literals(&e.condition)))
                .collect();
            let mut out = String::new();
            if let Some((e, r)) = &a.left {
                out.push_str(&format!("{} {} ", expr_text(e, env), r.symbol()));
            }
            out.push_str(&format!("{} {{ {} }}", a.fold.symbol(), elements.join("; ")));
            if let Some((r, e)) = &a.right {
                out.push_str(&format!(" {}", side(e, *r)));
            }
            out
        }
    }
}
