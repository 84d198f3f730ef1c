//! Why something was not derived: the rules that could have, and the cause behind the first condition that fails.

use std::cell::Cell;
use std::sync::Arc;

use super::build::{Builder, fill};
use super::search::{Bindings, Goal, Holding, Search};
use super::{Fails, Proof, RuleRef, Way, WhyNot};
use crate::diag::Source;
use crate::reason::eval::terms::Id;
use crate::reason::order::order;
use crate::reason::outcome::Outcome;
use crate::reason::syntax::{Aggregate, AtomPattern, Element, Expr, Fold, Head, Item, Kind, Literal, Rel, Sign, Statement, parse};
use crate::term::{Atom, Name, Term};

/// How many rules deep the cause is looked for.
const DEPTH: usize = 6;
/// How many rules are told at each level.
const TOLD: [usize; 3] = [4, 2, 1];
/// How many atoms may be looked at in all.
const LOOKED_AT: usize = 60_000;

/// An atom as a pattern.
pub fn pattern(atom: &Atom) -> AtomPattern {
    AtomPattern { name: atom.name.clone(), args: atom.args.iter().map(expr).collect(), span: 0..0 }
}

fn expr(t: &Term) -> Expr {
    match t {
        Term::Int(n) => Expr::Int(*n),
        Term::Const(n) => Expr::Const(n.clone()),
        Term::Str(n) => Expr::Str(n.clone()),
        Term::Fun(n, args) => Expr::Fun(n.clone(), args.iter().map(expr).collect()),
    }
}

/// Reads an atom in which `_` stands for anything.
pub fn read(text: &str) -> Result<AtomPattern, String> {
    let text = text.trim().trim_end_matches('.');
    let (statements, wrong) = parse::parse(&Source::new("the question", &format!("{text}.")));
    match (wrong.first(), statements.as_slice()) {
        (None, [Statement { kind: Kind::Rule { head: Head::Atom(p), body }, .. }]) if body.is_empty() => Ok(p.clone()),
        (Some(d), _) => Err(format!("`{text}` is no predicate: {}", d.message)),
        _ => Err(format!("`{text}` is no predicate")),
    }
}

/// The atoms of a decision.
struct Derived<'a> {
    outcome: &'a Outcome,
    looked_at: Cell<usize>,
}

impl Holding for Derived<'_> {
    fn candidates(&self, (name, arity): (&Name, usize), known: &[(usize, Term)]) -> Vec<Atom> {
        let o = self.outcome;
        let Some(relation) = o.base.rules().program.layouts.ids.get(&(name.clone(), arity)) else { return Vec::new() };
        let Some(known): Option<Vec<(usize, Id)>> = known.iter().map(|(n, t)| o.terms.find_term(t).map(|t| (*n, t))).collect() else { return Vec::new() };
        let mut out = Vec::new();
        for r in [o.above.get(*relation as usize), o.base.inner.relations.get(*relation as usize).map(|r| &**r)].into_iter().flatten() {
            if known.len() == arity {
                let mut row: Vec<Id> = known.iter().map(|(_, id)| *id).collect();
                row.truncate(arity);
                out.extend(r.find(&row).and_then(|_| o.terms.atom(name, &row)));
                continue;
            }
            let fits = |row: &&[Id]| known.iter().all(|(n, t)| row.get(*n) == Some(t));
            out.extend((0..r.len()).map(|n| r.row(arity, n)).filter(fits).filter_map(|row| o.terms.atom(name, row)));
        }
        self.looked_at.set(self.looked_at.get() + out.len() + 1);
        out
    }
}

/// Why nothing of this form was derived.
pub fn why_not(outcome: &Outcome, goal: &AtomPattern) -> WhyNot {
    let derived = Derived { outcome, looked_at: Cell::new(0) };
    let search = Search(&derived);
    let holds = search.ways(Goal::Literal(&Literal::Atom { sign: Sign::Plain, atom: goal.clone() }), &Default::default(), &Bindings::default());
    let holds: Vec<Atom> = holds
        .unwrap_or_default()
        .iter()
        .filter_map(|w| Some(Atom { name: goal.name.clone(), args: goal.args.iter().map(|e| Bindings::default().with(w).value(e)).collect::<Option<_>>()? }))
        .collect();
    let mut asked = Asked { outcome, derived: &derived, builder: Builder::new(outcome), path: Vec::new() };
    let ways = if holds.is_empty() { asked.ways(goal, 0) } else { Vec::new() };
    WhyNot { atom: Bindings::default().written(goal), holds, ways }
}

struct Asked<'a> {
    outcome: &'a Outcome,
    derived: &'a Derived<'a>,
    builder: Builder<'a>,
    path: Vec<String>,
}

/// A rule's conditions as far as they can be met.
struct Tried {
    bindings: Bindings,
    met: usize,
    fails: usize,
    /// Conditions that cannot be met with these bindings.
    missing: usize,
}

/// How far a way is from deriving the goal: what merely was not said or is not so yet is farther off than what stands in the way.
fn distance(w: &Way) -> usize {
    let cause = match w.kind {
        Fails::Holds => 0,
        Fails::Test => 1,
        Fails::NoFact => 2,
        Fails::NotDerived => w.deeper.iter().map(distance).min().unwrap_or(3),
        Fails::Unsaid => 4,
    };
    w.missing.saturating_sub(1) + cause
}

impl Asked<'_> {
    /// The rules that could derive the goal, those that lack least first.
    fn ways(&mut self, goal: &AtomPattern, depth: usize) -> Vec<Way> {
        let written = Bindings::default().written(goal);
        if depth > DEPTH || self.path.contains(&written) {
            return Vec::new();
        }
        self.path.push(written);
        let mut found: Vec<(bool, Way)> = Vec::new();
        for (n, s) in self.outcome.base.rules().statements().iter().enumerate() {
            let Kind::Rule { head: Head::Atom(head), body } = &s.kind else { continue };
            if body.is_empty() || head.name != goal.name || head.args.len() != goal.args.len() {
                continue;
            }
            let Some((bindings, body)) = meet_head(head, goal, body) else { continue };
            let Some(tried) = self.try_rule(&bindings, &body) else { continue };
            // A rule that only passes something on is no reason of its own.
            if let [Item::Literal(Literal::Atom { sign: Sign::Plain, atom })] = body.as_slice()
                && s.reading.is_none()
            {
                let below = self.ways(&instance(atom, &tried.bindings), depth);
                if !below.is_empty() {
                    found.extend(below.into_iter().map(|w| (false, w)));
                    continue;
                }
            }
            // A rule for anything of the kind says little about what was asked for.
            let general = head.args.iter().zip(&goal.args).all(|(h, g)| matches!(h, Expr::Var(..)) || matches!(g, Expr::Var(..)));
            let way = self.way(n, s, &body, &tried, depth);
            found.push((general && !goal.args.is_empty(), way));
        }
        self.path.pop();
        if depth == 0 && found.iter().any(|(general, _)| !general) {
            found.retain(|(general, _)| !general);
        }
        found.sort_by_key(|(_, w)| (distance(w), w.rule.statement));
        found.truncate(TOLD.get(depth).copied().unwrap_or(1));
        found.into_iter().map(|(_, w)| w).collect()
    }

    fn way(&mut self, n: usize, s: &Statement, body: &[Item], tried: &Tried, depth: usize) -> Way {
        let b = &tried.bindings;
        let reading = s.reading.as_deref().map_or_else(String::new, |r| fill(r, &|v| b.value(&Expr::Var(v.into(), 0))));
        let rule = RuleRef { reading, text: s.text.clone(), file: s.origin.file.clone(), line: s.origin.line, statement: n };
        let mut way = Way { rule, fails: String::new(), kind: Fails::Test, missing: tried.missing, of: body.len(), deeper: Vec::new(), because: None };
        match body.get(tried.fails) {
            Some(Item::Literal(Literal::Atom { sign: Sign::Not, atom })) => {
                way.fails = b.written(atom);
                way.kind = Fails::Holds;
                way.because = self.proof(atom, b);
            }
            Some(Item::Literal(Literal::Atom { atom, .. })) => {
                let goal = instance(atom, b);
                way.fails = b.written(atom);
                let rules = self.outcome.base.rules();
                let derives = rules.statements().iter().any(|s| match &s.kind {
                    Kind::Rule { head: Head::Atom(h), body } => !body.is_empty() && h.name == atom.name && h.args.len() == atom.args.len(),
                    _ => false,
                });
                way.kind = match (derives, &*atom.name, atom.args.as_slice()) {
                    (true, ..) => Fails::NotDerived,
                    (_, "in", [_, said]) => {
                        way.fails = b.write(said);
                        Fails::Unsaid
                    }
                    _ => Fails::NoFact,
                };
                if derives {
                    way.deeper = self.ways(&goal, depth + 1);
                }
            }
            Some(item) => match self.empty(item, b) {
                // The least or greatest of nothing: what there is nothing of is the cause.
                Some(atom) => {
                    let single = Item::Literal(Literal::Atom { sign: Sign::Plain, atom });
                    let tried = Tried { bindings: b.clone(), fails: 0, ..*tried };
                    return Way { missing: way.missing, of: way.of, ..self.way(n, s, &[single], &tried, depth) };
                }
                None => match self.rival(item, b) {
                    Some(atom) => {
                        way.fails = atom.to_string();
                        way.kind = Fails::Holds;
                        way.because = self.builder.why(&atom);
                    }
                    None => way.fails = written(item, b),
                },
            },
            None => {}
        }
        way
    }

    /// The atom that an aggregate is about, if there is no instance of it.
    fn empty(&self, item: &Item, b: &Bindings) -> Option<AtomPattern> {
        let Item::Aggregate(a) = item else { return None };
        let [element] = a.elements.as_slice() else { return None };
        let atom = element.condition.iter().find_map(|l| if let Literal::Atom { sign: Sign::Plain, atom } = l { Some(atom) } else { None })?;
        let none = Search(self.derived).ways(Goal::Literal(&Literal::Atom { sign: Sign::Plain, atom: atom.clone() }), &Default::default(), b)?.is_empty();
        none.then(|| atom.clone())
    }

    /// The atom that comes before what was to be the least or greatest of all.
    fn rival(&self, item: &Item, b: &Bindings) -> Option<Atom> {
        let Item::Aggregate(Aggregate { sign: Sign::Plain, fold: fold @ (Fold::Min | Fold::Max), elements, left, right, .. }) = item else { return None };
        let ([Element { terms, condition, .. }], [Literal::Atom { sign: Sign::Plain, atom }]) = (elements.as_slice(), elements.first()?.condition.as_slice())
        else {
            return None;
        };
        let sides = left.iter().map(|(e, r)| (e, *r)).chain(right.iter().map(|(r, e)| (e, *r)));
        let wanted = sides.filter(|(_, r)| *r == Rel::Eq).find_map(|(e, _)| b.value(e))?;
        let all = Search(self.derived).ways(Goal::Literal(condition.first()?), &Default::default(), b)?;
        let instances = all.iter().filter_map(|way| {
            let with = b.with(way);
            let args = atom.args.iter().map(|e| with.value(e)).collect::<Option<_>>()?;
            Some((with.value(terms.first()?)?, Atom { name: atom.name.clone(), args }))
        });
        let before = |a: &Term, b: &Term| if *fold == Fold::Min { order(a, b) } else { order(b, a) };
        let (value, first) = instances.min_by(|(a, _), (b, _)| before(a, b))?;
        before(&value, &wanted).is_lt().then_some(first)
    }

    /// The proof of some instance of an atom that must not hold.
    fn proof(&mut self, atom: &AtomPattern, b: &Bindings) -> Option<Arc<Proof>> {
        let goal = instance(atom, b);
        let ways = Search(self.derived).ways(Goal::Is(&goal, &self.first(&goal)?), &Default::default(), &Bindings::default())?;
        let with = Bindings::default().with(ways.first()?);
        let atom = Atom { name: goal.name.clone(), args: goal.args.iter().map(|e| with.value(e)).collect::<Option<_>>()? };
        self.builder.why(&atom)
    }

    fn first(&self, goal: &AtomPattern) -> Option<Atom> {
        let known: Vec<(usize, Term)> = goal.args.iter().enumerate().filter_map(|(n, e)| Some((n, Bindings::default().value(e)?))).collect();
        let all = self.derived.candidates((&goal.name, goal.args.len()), &known);
        all.into_iter().find(|a| Search(self.derived).ways(Goal::Is(goal, a), &Default::default(), &Bindings::default()).is_some_and(|w| !w.is_empty()))
    }

    /// Meets the conditions one after the other and keeps the bindings under which most of them are met; `None` if all are.
    fn try_rule(&self, bindings: &Bindings, body: &[Item]) -> Option<Tried> {
        let globals = crate::reason::syntax::globals(None, body);
        let mut best: Option<Tried> = None;
        let open: Vec<usize> = (0..body.len()).collect();
        if self.go_on(body, &open, bindings, &globals, &mut best) { None } else { best }
    }

    fn go_on(&self, body: &[Item], open: &[usize], b: &Bindings, globals: &std::collections::BTreeSet<Name>, best: &mut Option<Tried>) -> bool {
        let search = Search(self.derived);
        if open.is_empty() {
            return true;
        }
        // Comparisons and absent atoms are looked at as soon as they can be told.
        let ready = |n: &usize| body.get(*n).and_then(|i| search.ways(Goal::of(i), globals, b)).map(|w| (*n, w));
        let atom = |n: &usize| if let Some(Item::Literal(Literal::Atom { sign: Sign::Plain, atom })) = body.get(*n) { Some(atom) } else { None };
        let cheap = open.iter().filter(|n| atom(n).is_none()).find_map(ready);
        let next = cheap.or_else(|| {
            // Then what is nearest to the question, in whatever order the author wrote it: the atom of which least is open and most
            // is known. What cannot be met whatever else is met is the cause before anything that others lead to.
            let nearness = |n: &usize| {
                let p = atom(n)?;
                let known = p.args.iter().filter(|a| b.value(a).is_some()).count();
                Some((known < p.args.len(), std::cmp::Reverse(known), b.written(p), *n))
            };
            let mut near: Vec<_> = open.iter().filter_map(nearness).collect();
            near.sort();
            let nothing_met = near.len() == (0..body.len()).filter(|n| atom(n).is_some()).count();
            let never = || near.iter().filter_map(|(.., n)| ready(n)).find(|(_, ways)| ways.is_empty());
            nothing_met.then(never).flatten().or_else(|| near.iter().find_map(|(.., n)| ready(n)))
        });
        let Some((n, ways)) = next else { return false };
        let rest: Vec<usize> = open.iter().copied().filter(|m| *m != n).collect();
        if ways.is_empty() {
            let met = body.len() - open.len();
            if best.as_ref().is_none_or(|t| met > t.met) {
                let missing =
                    1 + rest.iter().filter(|m| body.get(**m).is_some_and(|i| search.ways(Goal::of(i), globals, b).is_some_and(|w| w.is_empty()))).count();
                *best = Some(Tried { bindings: b.clone(), met, fails: n, missing });
            }
            return false;
        }
        for way in ways {
            if self.derived.looked_at.get() > LOOKED_AT {
                break;
            }
            if self.go_on(body, &rest, &b.with(&way), globals, best) {
                return true;
            }
        }
        false
    }
}

/// The bindings and conditions of a rule when its head is to have the goal's form; `None` if it cannot.
fn meet_head(head: &AtomPattern, goal: &AtomPattern, body: &[Item]) -> Option<(Bindings, Vec<Item>)> {
    let mut b = Bindings::default();
    let mut body = body.to_vec();
    for (h, g) in head.args.iter().zip(&goal.args) {
        if !meet_expr(h, g, &mut b, &mut body) {
            return None;
        }
    }
    Some((b, body))
}

fn meet_expr(head: &Expr, goal: &Expr, b: &mut Bindings, body: &mut [Item]) -> bool {
    if let Some(t) = Bindings::default().value(goal) {
        // An arithmetic head of an unknown number may have any value.
        return b.meet(head, &t).unwrap_or(true);
    }
    match (head, goal) {
        (_, Expr::Var(..)) => true,
        (Expr::Fun(f, hs), Expr::Fun(g, gs)) => f == g && hs.len() == gs.len() && hs.iter().zip(gs).all(|(h, g)| meet_expr(h, g, b, body)),
        (Expr::Var(n, _), g) => {
            body.iter_mut().for_each(|i| put_item(i, n, g));
            true
        }
        _ => false,
    }
}

/// An atom with the values of a binding; variables without one stand for anything.
fn instance(p: &AtomPattern, b: &Bindings) -> AtomPattern {
    let mut next = 0;
    AtomPattern { args: p.args.iter().map(|e| instance_expr(e, b, &mut next)).collect(), ..p.clone() }
}

fn instance_expr(e: &Expr, b: &Bindings, next: &mut usize) -> Expr {
    if let Some(t) = b.value(e) {
        return expr(&t);
    }
    match e {
        Expr::Fun(n, args) => Expr::Fun(n.clone(), args.iter().map(|a| instance_expr(a, b, next)).collect()),
        _ => {
            *next += 1;
            Expr::Var(format!("_{next}").into(), 0)
        }
    }
}

fn put(e: &mut Expr, name: &Name, by: &Expr) {
    match e {
        Expr::Var(n, _) if n == name => *e = by.clone(),
        Expr::Fun(_, args) | Expr::Pool(args) => args.iter_mut().for_each(|a| put(a, name, by)),
        Expr::Binary(_, a, b) | Expr::Interval(a, b) => {
            put(a, name, by);
            put(b, name, by);
        }
        Expr::Neg(a) | Expr::Abs(a) => put(a, name, by),
        _ => {}
    }
}

fn put_literal(l: &mut Literal, name: &Name, by: &Expr) {
    match l {
        Literal::Atom { atom, .. } => atom.args.iter_mut().for_each(|a| put(a, name, by)),
        Literal::Compare { left, rest, .. } => {
            put(left, name, by);
            rest.iter_mut().for_each(|(_, e)| put(e, name, by));
        }
        Literal::Bool(..) => {}
    }
}

fn put_item(i: &mut Item, name: &Name, by: &Expr) {
    match i {
        Item::Literal(l) => put_literal(l, name, by),
        Item::Conditional { literal, condition, .. } => {
            put_literal(literal, name, by);
            condition.iter_mut().for_each(|l| put_literal(l, name, by));
        }
        Item::Aggregate(a) => {
            a.left.iter_mut().for_each(|(e, _)| put(e, name, by));
            a.right.iter_mut().for_each(|(_, e)| put(e, name, by));
            for Element { terms, condition, .. } in &mut a.elements {
                terms.iter_mut().for_each(|t| put(t, name, by));
                condition.iter_mut().for_each(|l| put_literal(l, name, by));
            }
        }
    }
}

/// A condition with the values known.
fn written(item: &Item, b: &Bindings) -> String {
    let literal = |l: &Literal| match l {
        Literal::Atom { sign, atom } => format!("{}{}", sign_text(*sign), b.written(atom)),
        Literal::Compare { sign, left, rest, .. } => {
            let rest: String = rest.iter().map(|(r, e)| format!(" {} {}", r.symbol(), b.write(e))).collect();
            format!("{}{}{rest}", sign_text(*sign), b.write(left))
        }
        Literal::Bool(yes, _) => if *yes { "#true" } else { "#false" }.to_owned(),
    };
    let literals = |ls: &[Literal]| ls.iter().map(literal).collect::<Vec<_>>().join(", ");
    match item {
        Item::Literal(l) => literal(l),
        Item::Conditional { literal: l, condition, .. } => format!("{} for all {}", literal(l), literals(condition)),
        Item::Aggregate(a) => {
            let side = |e: &Expr, r: Rel| (b.write(e), r.symbol());
            let left = a.left.as_ref().map(|(e, r)| side(e, *r)).map_or_else(String::new, |(e, r)| format!("{e} {r} "));
            let right = a.right.as_ref().map(|(r, e)| side(e, *r)).map_or_else(String::new, |(e, r)| format!(" {r} {e}"));
            let element = |e: &Element| format!("{} : {}", e.terms.iter().map(|t| b.write(t)).collect::<Vec<_>>().join(","), literals(&e.condition));
            format!("{}{left}{} {{ {} }}{right}", sign_text(a.sign), a.fold.symbol(), a.elements.iter().map(element).collect::<Vec<_>>().join("; "))
        }
    }
}

fn sign_text(s: Sign) -> &'static str {
    match s {
        Sign::Plain => "",
        Sign::Not => "not ",
        Sign::NotNot => "not not ",
    }
}
