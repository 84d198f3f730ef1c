//! The bottom-up evaluator: strata of compiled rules over interned rows, each row with the rule and binding that derived it.

#[cfg(test)]
pub mod fault;
pub mod layouts;
pub mod normal;
pub mod plan;
pub mod run;
pub mod step;
pub mod store;
pub mod terms;

use std::collections::BTreeSet;
use std::sync::Arc;

use layouts::Layouts;
use plan::{Compiler, NoPlan, Plan};
use run::{Run, Stop, UNSET};
use step::{Calc, Match, Slot, Step};
use store::{Derived, RelId, Relation, open_row};
use terms::{Id, Terms};

use super::syntax::{AtomPattern, Expr, Item, Literal, Predicate, Sign};
use crate::term::Name;

/// The predicate that an integrity constraint derives: no author can write it.
pub const FALSE: &str = "\u{1}false";

/// A rule in the form the evaluator runs.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// What it derives.
    pub head: (RelId, Vec<Calc>),
    /// The same as written, after pools are expanded.
    pub pattern: AtomPattern,
    /// Its body, with intervals and arithmetic lifted out.
    pub body: Vec<Item>,
    /// Its variables; the first `globals` make up a binding.
    pub vars: Vec<Name>,
    /// How many of them are not local to an aggregate or condition.
    pub globals: usize,
    /// The statement it came from.
    pub statement: usize,
    /// A plan for when there is no positive literal to begin with.
    default: Option<Plan>,
    /// A plan beginning with each positive literal.
    starts: Vec<(RelId, Plan)>,
    /// For recursive rules: a plan beginning with the last round's rows of each recursive literal.
    deltas: Vec<(RelId, Plan)>,
}

/// A plan that asks whether a rule could derive a given head.
#[derive(Clone, Debug)]
pub struct Query {
    /// The rule's variables and the parameters.
    pub vars: Vec<Name>,
    /// The registers of the given columns.
    pub params: Vec<Slot>,
    /// How many items, before those of the body, say that the head is the given one.
    pub head_items: usize,
    /// The plan over both.
    pub plan: Plan,
}

impl Compiled {
    /// Any of its plans: all contain the same steps for the aggregates and conditions inside.
    pub fn any_plan(&self) -> Option<&Plan> {
        self.default.as_ref().or_else(|| self.starts.first().map(|(_, p)| p))
    }
}

/// Rules whose heads depend on each other only.
#[derive(Clone, Debug, Default)]
pub struct Stratum {
    /// Their numbers.
    pub rules: Vec<u32>,
    /// Whether they depend on their own heads.
    pub recursive: bool,
}

/// All rules the evaluator runs, in the order it runs them.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Relations and indexes.
    pub layouts: Layouts,
    /// The rules' own terms.
    pub terms: Terms,
    /// By number.
    pub rules: Vec<Compiled>,
    /// The relations of the rules' positive literals, one rule's after another's: without rows there, a rule derives nothing.
    needs: Vec<RelId>,
    /// Where those of each rule end.
    needed: Vec<usize>,
    /// What follows from the stored facts of the site alone.
    pub fixed: Vec<Stratum>,
    /// What depends on the session or the turn.
    pub moving: Vec<Stratum>,
    /// Numbers of columns by relation.
    pub arities: Vec<usize>,
}

/// What an evaluation may cost.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Rows derived.
    pub rows: usize,
    /// Rows tried.
    pub steps: u64,
}

/// Why an evaluation gave up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GaveUp {
    /// In this rule's arithmetic.
    Overflow(u32),
    /// Too many rows derived.
    Rows,
    /// Too many rows tried.
    Steps,
}

/// The variables of a rule that are not local to an aggregate or condition, with their places.
pub fn globals(head: Option<&AtomPattern>, body: &[Item]) -> Vec<(Name, usize)> {
    let mut out: Vec<(Name, usize)> = Vec::new();
    let mut note = |n: &Name, at: usize| {
        if !out.iter().any(|(m, _)| m == n) {
            out.push((n.clone(), at));
        }
    };
    if let Some(h) = head {
        h.args.iter().for_each(|a| a.each_var(&mut note));
    }
    body.iter().for_each(|i| i.each_global(&mut note));
    out
}

impl Program {
    /// Adds a rule; `recursive` says which predicates are of the rule's own stratum.
    pub fn add(&mut self, statement: usize, head: Option<&AtomPattern>, body: Vec<Item>, recursive: &BTreeSet<Predicate>) -> Result<u32, NoPlan> {
        let globals = globals(head, &body);
        let pattern = head.cloned().unwrap_or_else(|| AtomPattern { name: FALSE.into(), args: Vec::new(), span: 0..0 });
        let relation = self.layouts.relation(&pattern.predicate());
        let count = globals.len();
        let mut c = Compiler::new(&mut self.layouts, &mut self.terms, &globals);
        let needed: BTreeSet<Slot> = (0..Slot::try_from(count).unwrap_or(Slot::MAX)).filter(|s| used_in(&pattern.args, &globals, *s)).collect();
        let positive: Vec<usize> = body.iter().enumerate().filter(|(_, i)| plain(i).is_some()).map(|(n, _)| n).collect();
        let default = c.plan(&body, &mut BTreeSet::new(), None, false, &needed)?;
        let bound: BTreeSet<Slot> = bound_by(&default.steps);
        let free: Vec<(Name, usize)> =
            globals.iter().enumerate().filter(|(n, _)| needed.contains(&(*n as Slot)) && !bound.contains(&(*n as Slot))).map(|(_, g)| g.clone()).collect();
        if !free.is_empty() {
            return Err(NoPlan::Unsafe(free));
        }
        let (mut starts, mut deltas, mut needs) = (Vec::new(), Vec::new(), Vec::new());
        let bare = |i: usize| body.get(i).and_then(plain).is_some_and(|a| a.args.is_empty());
        let all_bare = positive.iter().all(|i| bare(*i));
        for i in &positive {
            let p = c.plan(&body, &mut BTreeSet::new(), Some(*i), false, &needed)?;
            let d = c.plan(&body, &mut BTreeSet::new(), Some(*i), true, &needed)?;
            if let Some(Step::Scan { lookup, .. }) = p.steps.first() {
                needs.push(lookup.relation);
                // A condition without arguments binds nothing: beginning there would leave a look-up with constants alone as the next step.
                if all_bare || !bare(*i) {
                    starts.push((lookup.relation, p.clone()));
                }
                if body.get(*i).and_then(plain).is_some_and(|a| recursive.contains(&a.predicate())) {
                    deltas.push((lookup.relation, d));
                }
            }
        }
        let args = pattern.args.iter().map(|a| c.calc(a)).collect::<Result<_, _>>()?;
        let vars = c.vars.clone();
        let default = positive.is_empty().then_some(default);
        let id = u32::try_from(self.rules.len()).unwrap_or(u32::MAX);
        self.needs.append(&mut needs);
        self.needed.push(self.needs.len());
        self.rules.push(Compiled { head: (relation, args), pattern, body, vars, globals: count, statement, default, starts, deltas });
        Ok(id)
    }

    /// The relations that a rule needs rows of.
    fn needs(&self, rule: u32) -> &[RelId] {
        let from = rule.checked_sub(1).and_then(|before| self.needed.get(before as usize)).copied().unwrap_or(0);
        self.needed.get(rule as usize).and_then(|to| self.needs.get(from..*to)).unwrap_or(&[])
    }

    /// A plan that asks whether a rule derives a head whose columns in `mask` are given; needs no new index.
    pub fn query(&mut self, rule: u32, mask: u32) -> Option<Query> {
        use super::syntax::Rel;
        let (globals, pattern, body) = self.rules.get(rule as usize).map(|c| (c.vars.clone(), c.pattern.clone(), c.body.clone()))?;
        let globals: Vec<(Name, usize)> = globals.into_iter().map(|n| (n, 0)).collect();
        self.layouts.frozen = true;
        let mut c = Compiler::new(&mut self.layouts, &mut self.terms, &globals);
        let (mut params, mut items) = (Vec::new(), Vec::new());
        for (n, e) in pattern.args.iter().enumerate().filter(|(n, _)| mask & (1 << (*n).min(31)) != 0) {
            let name: Name = format!("\u{1}p{n}").into();
            params.push(c.slot(&name));
            items.push(Item::Literal(Literal::Compare { sign: Sign::Plain, left: e.clone(), rest: vec![(Rel::Eq, Expr::Var(name, 0))], span: 0..0 }));
        }
        let head_items = items.len();
        items.extend(body);
        let plan = c.plan(&items, &mut params.iter().copied().collect(), None, false, &BTreeSet::new()).ok()?;
        Some(Query { vars: c.vars, params, head_items, plan })
    }

    /// Fixes the layout once all rules are added.
    pub fn finish(&mut self) {
        self.arities = self.layouts.layouts.iter().map(|l| l.arity).collect();
    }

    /// Empty relations for all predicates.
    pub fn relations(&self) -> Vec<Relation> {
        self.arities.iter().map(|_| Relation::default()).collect()
    }

    /// Adds a row, with its opened views, unless it is there.
    #[expect(clippy::too_many_arguments, reason = "the row's place, values and derivation are borrowed from different owners")]
    pub fn insert(&self, terms: &Terms, below: &[Arc<Relation>], above: &mut [Relation], relation: RelId, row: &[Id], rule: u32, binding: &[Id]) -> bool {
        let r = relation as usize;
        if below.get(r).is_some_and(|b| !b.is_empty() && b.find(row).is_some()) {
            return false;
        }
        let (Some(target), Some(layout)) = (above.get_mut(r), self.layouts.layouts.get(r)) else {
            return false;
        };
        if !target.is_empty() && target.find(row).is_some() {
            return false;
        }
        #[cfg(test)]
        if rule != store::FACT && fault::loses() {
            return false;
        }
        let at = u32::try_from(target.bindings.len()).unwrap_or(u32::MAX);
        target.bindings.extend_from_slice(binding);
        target.push(row, Derived { rule, binding: at });
        target.cover(layout, 0);
        if !layout.views.is_empty() {
            let mut opened = Vec::new();
            for v in &layout.views {
                if open_row(terms, v, row, &mut opened).is_some()
                    && let Some(target) = above.get_mut(v.relation as usize)
                {
                    target.push(&opened, Derived { rule, binding: 0 });
                }
            }
        }
        true
    }
}

/// The atom of a plain positive literal.
pub fn plain(i: &Item) -> Option<&AtomPattern> {
    match i {
        Item::Literal(Literal::Atom { sign: Sign::Plain, atom }) => Some(atom),
        _ => None,
    }
}

fn used_in(args: &[Expr], globals: &[(Name, usize)], slot: Slot) -> bool {
    let mut yes = false;
    for a in args {
        a.each_var(&mut |n, _| yes |= globals.get(slot as usize).is_some_and(|(g, _)| g == n));
    }
    yes
}

fn bound_by(steps: &[Step]) -> BTreeSet<Slot> {
    fn of(m: &Match, out: &mut BTreeSet<Slot>) {
        match m {
            Match::Bind(s) => {
                out.insert(*s);
            }
            Match::Fun(_, args) => args.iter().for_each(|a| of(a, out)),
            _ => {}
        }
    }
    let mut out = BTreeSet::new();
    for s in steps {
        match s {
            Step::Scan { lookup, .. } => lookup.rest.iter().for_each(|(_, m)| of(m, &mut out)),
            Step::Let { pattern, .. } | Step::Range { pattern, .. } => of(pattern, &mut out),
            Step::Fold { assign: Some(s), .. } => {
                out.insert(*s);
            }
            _ => {}
        }
    }
    out
}

/// Memory that is used again from rule to rule and from decision to decision.
#[derive(Debug, Default)]
pub struct Scratch {
    regs: Vec<Id>,
    out: Vec<Id>,
    bindings: Vec<Id>,
    /// Rows tried.
    pub steps: u64,
    /// Rows derived.
    pub rows: usize,
}

/// One evaluation: the rows below it, and those it adds.
pub struct Evaluation<'a> {
    /// The rules.
    pub program: &'a Program,
    /// Static relations; empty while they are themselves evaluated.
    pub below: &'a [Arc<Relation>],
    /// Rows added.
    pub above: &'a mut Vec<Relation>,
    /// Terms.
    pub terms: &'a mut Terms,
    /// How many rows each static relation has.
    pub fixed: &'a [u32],
    /// Scratch memory.
    pub scratch: &'a mut Scratch,
    /// Limits.
    pub limits: Limits,
}

impl Evaluation<'_> {
    /// Evaluates strata in order, only those rules that `wanted` names.
    pub fn run(&mut self, strata: &[Stratum], wanted: &dyn Fn(u32) -> bool) -> Result<(), GaveUp> {
        for s in strata {
            for r in &s.rules {
                if wanted(*r) {
                    self.fire(*r, None)?;
                }
            }
            #[cfg(test)]
            if let Some((relation, row)) = fault::adds(self.above, &self.program.layouts) {
                self.program.insert(self.terms, self.below, self.above, relation, &row, s.rules.first().copied().unwrap_or(0), &[0; 64]);
            }
            if s.recursive {
                self.rounds(s, wanted)?;
            }
        }
        Ok(())
    }

    fn rounds(&mut self, s: &Stratum, wanted: &dyn Fn(u32) -> bool) -> Result<(), GaveUp> {
        let program = self.program;
        let rules: Vec<&Compiled> = s.rules.iter().filter(|r| wanted(**r)).filter_map(|r| program.rules.get(*r as usize)).collect();
        let mut seen: Vec<(RelId, u32, u32)> = Vec::new();
        for (r, _) in rules.iter().flat_map(|c| &c.deltas) {
            if !seen.iter().any(|(s, ..)| s == r) {
                seen.push((*r, 0, 0));
            }
        }
        loop {
            let mut grew = false;
            for (r, low, high) in &mut seen {
                let len = self.above.get(*r as usize).map_or(0, Relation::len);
                (*low, *high) = (*high, len);
                grew |= low < high;
            }
            if !grew {
                return Ok(());
            }
            for r in s.rules.iter().filter(|r| wanted(**r)) {
                let Some(c) = program.rules.get(*r as usize) else { continue };
                for (n, (relation, _)) in c.deltas.iter().enumerate() {
                    if let Some((_, low, high)) = seen.iter().find(|(s, ..)| s == relation)
                        && low < high
                    {
                        self.fire(*r, Some((n, *low..*high)))?;
                    }
                }
            }
        }
    }

    fn rows(&self, r: RelId) -> u32 {
        self.above.get(r as usize).map_or(0, Relation::len) + self.fixed.get(r as usize).copied().unwrap_or(0)
    }

    fn fire(&mut self, rule: u32, delta: Option<(usize, std::ops::Range<u32>)>) -> Result<(), GaveUp> {
        let program = self.program;
        if program.needs(rule).iter().any(|r| self.rows(*r) == 0) {
            return Ok(());
        }
        let Some(c) = program.rules.get(rule as usize) else { return Ok(()) };
        #[cfg(test)]
        if fault::skips(rule) {
            return Ok(());
        }
        let (plan, range) = match &delta {
            Some((n, range)) => (c.deltas.get(*n).map(|(_, p)| p), range.clone()),
            None => {
                let best = c.starts.iter().min_by_key(|(r, _)| self.rows(*r)).map(|(_, p)| p);
                (best.or(c.default.as_ref()), 0..0)
            }
        };
        let Some(plan) = plan else { return Ok(()) };
        for (r, index) in &plan.indexes {
            if let (Some(relation), Some(layout)) = (self.above.get_mut(*r as usize), program.layouts.layouts.get(*r as usize)) {
                relation.cover(layout, *index);
            }
        }
        let Scratch { regs, out, bindings, steps, .. } = &mut *self.scratch;
        regs.clear();
        regs.resize(c.vars.len(), UNSET);
        out.clear();
        bindings.clear();
        let mut count = 0usize;
        let mut run = Run {
            terms: self.terms,
            below: self.below,
            fixed: self.fixed,
            above: self.above,
            arities: &program.arities,
            regs,
            delta: range,
            steps,
            max_steps: self.limits.steps,
            deepest: None,
        };
        let solved = run.solve(&plan.steps, &mut |run| {
            let start = out.len();
            for a in &c.head.1 {
                match run.calc(a)? {
                    Some(v) => out.push(v),
                    None => {
                        out.truncate(start);
                        return Ok(false);
                    }
                }
            }
            bindings.extend_from_slice(run.regs.get(..c.globals).unwrap_or(&[]));
            count += 1;
            // A head without arguments is derived once at most.
            Ok(c.head.1.is_empty())
        });
        match solved {
            Ok(_) => {}
            Err(Stop::Overflow) => return Err(GaveUp::Overflow(rule)),
            Err(Stop::Steps) => return Err(GaveUp::Steps),
        }
        let arity = c.head.1.len();
        for n in 0..count {
            let row = self.scratch.out.get(n * arity..(n + 1) * arity).unwrap_or(&[]);
            let binding = self.scratch.bindings.get(n * c.globals..(n + 1) * c.globals).unwrap_or(&[]);
            if program.insert(self.terms, self.below, self.above, c.head.0, row, rule, binding) {
                self.scratch.rows += 1;
                if self.scratch.rows > self.limits.rows {
                    return Err(GaveUp::Rows);
                }
            }
        }
        Ok(())
    }
}
