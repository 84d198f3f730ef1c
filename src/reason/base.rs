//! What a site knows before anybody speaks: the stored facts and all that follows from them alone.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use super::ReasonError;
use super::certify::Seen;
use super::eval::store::{FACT, RelId, Relation};
use super::eval::terms::{Id, Terms};
use super::eval::{Evaluation, FALSE, GaveUp, Limits, Scratch};
use super::rules::{Rules, Scope};
use crate::term::Atom;

/// The rules with a site's facts and their consequences; cheap to clone.
#[derive(Clone, Debug)]
pub struct Base {
    pub(super) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub rules: Arc<Rules>,
    pub terms: Arc<Terms>,
    pub relations: Vec<Arc<Relation>>,
    /// How many rows each relation has.
    pub counts: Vec<u32>,
    /// Shown atoms that no turn can change, sorted.
    pub shown: OnceLock<Vec<Atom>>,
    /// The checker's own indexes of the rows.
    pub seen: Seen,
    /// For a base that came by a change from one that was certified: the relations that are the same rows as there.
    pub kept: Vec<bool>,
    pub certified: OnceLock<Result<(), ReasonError>>,
    pub confirmed: OnceLock<Result<(), ReasonError>>,
}

/// Static evaluation happens when facts change, not while somebody waits for an answer.
pub(super) const LIMITS: Limits = Limits { rows: 20_000_000, steps: 2_000_000_000 };

/// How many tables of terms may lie on top of each other.
const MAX_TABLES: usize = 8;

impl Base {
    /// Evaluates what follows from the facts of a knowledge base version and of a site.
    pub fn build(rules: &Arc<Rules>, kb: &[Atom], shared: &[Atom]) -> Result<Self, ReasonError> {
        let mut terms = Terms::over(&rules.terms);
        let mut above = rules.program.relations();
        let mut given: Vec<&Atom> = Vec::new();
        let named = super::reflect::of_kb(rules, kb);
        for (atoms, scope) in [(kb, Scope::Kb), (&*named, Scope::Kb), (shared, Scope::Shared)] {
            // In order, so that the same facts give the same derivations however they arrive.
            let mut ordered: Vec<&Atom> = atoms.iter().collect();
            ordered.sort();
            for a in &ordered {
                let relation = stored(rules, a, scope)?;
                insert_fact(rules, &mut terms, &[], &mut above, relation, a);
            }
            given.extend(ordered);
        }
        let mut scratch = Scratch::default();
        let mut e = Evaluation { program: &rules.program, below: &[], fixed: &[], above: &mut above, terms: &mut terms, scratch: &mut scratch, limits: LIMITS };
        e.run(&rules.program.fixed, &|_| true).map_err(|g| gave_up(rules, g, LIMITS))?;
        for (relation, layout) in above.iter_mut().zip(&rules.program.layouts.layouts) {
            relation.cover_all(layout);
        }
        Self::finished(rules, Arc::new(terms), above.into_iter().map(Arc::new).collect(), None, &|_| true, given)
    }

    /// The same after facts were added and removed; only what depends on them is evaluated again.
    pub fn with_change(&self, add: &[Atom], remove: &[Atom]) -> Result<Self, ReasonError> {
        let rules = &self.inner.rules;
        let program = &rules.program;
        if self.inner.terms.depth() > MAX_TABLES {
            // New names of many changes lie in a table each: building afresh drops those that no fact holds any more.
            return Self::build(rules, &self.stored_of(Scope::Kb), &self.stored_of(Scope::Shared))?.with_change(add, remove);
        }
        let mut terms = Terms::over(&self.inner.terms);
        let mut changed: BTreeSet<RelId> = BTreeSet::new();
        let mut removed: BTreeSet<(RelId, Vec<Id>)> = BTreeSet::new();
        for a in add.iter().chain(remove) {
            let scope = rules.scope(&a.name, a.args.len()).filter(|s| *s != Scope::Session).ok_or_else(|| ReasonError::NotStored(a.signature()))?;
            changed.insert(stored(rules, a, scope)?);
        }
        for a in remove {
            let row: Vec<Id> = a.args.iter().map(|t| terms.of_term(t)).collect();
            if let Some(r) = program.layouts.ids.get(&(a.name.clone(), a.args.len())) {
                removed.insert((*r, row));
            }
        }
        let mut strata_rules = Vec::new();
        // Strata stand in order, so one pass finds everything that depends on a change; a recursive stratum needs its rules looked at until nothing is added.
        for s in &program.fixed {
            loop {
                let before = changed.len();
                for r in s.rules.iter().filter_map(|r| program.rules.get(*r as usize)) {
                    if reads(rules, r).any(|p| changed.contains(&p)) {
                        changed.insert(r.head.0);
                    }
                }
                if changed.len() == before {
                    break;
                }
            }
            strata_rules.extend(s.rules.iter().copied());
        }
        let mut above = Vec::with_capacity(self.inner.relations.len());
        let mut below: Vec<Arc<Relation>> = Vec::with_capacity(self.inner.relations.len());
        let empty = Arc::new(Relation::default());
        for (n, old) in self.inner.relations.iter().enumerate() {
            let id = u32::try_from(n).unwrap_or(u32::MAX);
            let base = program.layouts.layouts.get(n).and_then(|l| l.opens).map_or(id, |(b, _)| b);
            above.push(Relation::default());
            below.push(if changed.contains(&base) { empty.clone() } else { old.clone() });
        }
        // The facts of a changed relation in order, as a base built afresh would hold them.
        let mut facts: Vec<(RelId, Atom)> = Vec::new();
        for (p, r) in program.layouts.ids.iter().filter(|(_, r)| changed.contains(r)) {
            let (Some(old), Some(arity)) = (self.inner.relations.get(*r as usize), program.arities.get(*r as usize)) else {
                continue;
            };
            for (n, d) in old.derived.iter().enumerate() {
                let row = old.row(*arity, u32::try_from(n).unwrap_or(u32::MAX));
                if d.rule == FACT && (removed.is_empty() || !removed.contains(&(*r, row.to_vec()))) {
                    facts.extend(terms.atom(&p.0, row).map(|a| (*r, a)));
                }
            }
        }
        for a in add {
            facts.extend(program.layouts.ids.get(&(a.name.clone(), a.args.len())).map(|r| (*r, a.clone())));
        }
        facts.sort_by(|a, b| (&a.1, a.0).cmp(&(&b.1, b.0)));
        for (r, a) in &facts {
            insert_fact(rules, &mut terms, &below, &mut above, *r, a);
        }
        let mut scratch = Scratch::default();
        let counts: Vec<u32> = below.iter().map(|r| r.len()).collect();
        let mut e = Evaluation { program, below: &below, fixed: &counts, above: &mut above, terms: &mut terms, scratch: &mut scratch, limits: LIMITS };
        let again = |r: u32| program.rules.get(r as usize).is_some_and(|r| changed.contains(&r.head.0));
        e.run(&program.fixed, &again).map_err(|g| gave_up(rules, g, LIMITS))?;
        for (relation, layout) in above.iter_mut().zip(&program.layouts.layouts) {
            relation.cover_all(layout);
        }
        let relations = below
            .into_iter()
            .zip(above)
            .enumerate()
            .map(|(n, (b, a))| {
                let id = u32::try_from(n).unwrap_or(u32::MAX);
                let base = program.layouts.layouts.get(n).and_then(|l| l.opens).map_or(id, |(b, _)| b);
                if changed.contains(&base) { Arc::new(a) } else { b }
            })
            .collect();
        let terms = if terms.own() == 0 { self.inner.terms.clone() } else { Arc::new(terms) };
        let given = facts.iter().map(|(_, a)| a).collect();
        Self::finished(rules, terms, relations, Some(&self.inner), &|r| changed.contains(&r), given)
    }

    /// `given` are the facts that the relations which `changed` must hold.
    fn finished(
        rules: &Arc<Rules>,
        terms: Arc<Terms>,
        relations: Vec<Arc<Relation>>,
        before: Option<&Inner>,
        changed: &dyn Fn(RelId) -> bool,
        mut given: Vec<&Atom>,
    ) -> Result<Self, ReasonError> {
        let broken = rules.program.layouts.ids.get(&(FALSE.into(), 0)).and_then(|r| relations.get(*r as usize)).and_then(|r| r.derived.first().copied());
        if let Some(d) = broken {
            return Err(ReasonError::Inconsistent(rules.name_of(d.rule)));
        }
        // The rows that count as facts are those that were given: all that is verified later rests on them.
        let mut held: Vec<Atom> =
            rules.program.layouts.ids.iter().filter(|(_, r)| changed(**r)).flat_map(|(p, r)| stored_in(&relations, &terms, *r, p)).collect();
        held.sort_unstable();
        given.sort_unstable();
        given.dedup();
        if let Some(a) = held.iter().find(|a| given.binary_search(a).is_err()).or_else(|| given.iter().copied().find(|a| held.binary_search(a).is_err())) {
            return Err(ReasonError::Disagreement { difference: format!("`{a}` is a fact on one side only"), reproducer: String::new() });
        }
        let counts = relations.iter().map(|r| r.len()).collect();
        let same = |r: RelId| before.is_some_and(|b| b.relations.get(r as usize).zip(relations.get(r as usize)).is_some_and(|(x, y)| Arc::ptr_eq(x, y)));
        let seen = rules.checker.as_ref().map(|c| c.seen(before.map(|b| &b.seen), same)).unwrap_or_default();
        let sound = before.is_some_and(|b| matches!(b.certified.get(), Some(Ok(()))));
        let kept = if sound { (0..).take(relations.len()).map(same).collect() } else { Vec::new() };
        let (certified, confirmed) = (OnceLock::new(), OnceLock::new());
        Ok(Self { inner: Arc::new(Inner { rules: rules.clone(), terms, relations, counts, shown: OnceLock::new(), seen, kept, certified, confirmed }) })
    }

    /// The same base with a defect in its static rows.
    #[cfg(test)]
    pub(super) fn broken(&self, harm: impl FnOnce(&mut Vec<Arc<Relation>>)) -> Self {
        let mut relations = self.inner.relations.clone();
        harm(&mut relations);
        let (i, counts) = (&self.inner, relations.iter().map(|r| r.len()).collect());
        let seen = i.rules.checker.as_ref().map(|c| c.seen(None, |_| false)).unwrap_or_default();
        let (rules, terms, kept) = (i.rules.clone(), i.terms.clone(), Vec::new());
        let (shown, certified, confirmed) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self { inner: Arc::new(Inner { rules, terms, relations, counts, shown, seen, kept, certified, confirmed }) }
    }

    /// The rules.
    pub fn rules(&self) -> &Arc<Rules> {
        &self.inner.rules
    }

    /// All static atoms of a predicate, sorted.
    pub fn query(&self, name: &str, arity: usize) -> Vec<Atom> {
        let name: crate::term::Name = name.into();
        let Some(r) = self.inner.rules.program.layouts.ids.get(&(name.clone(), arity)).and_then(|r| self.inner.relations.get(*r as usize)) else {
            return Vec::new();
        };
        let mut out: Vec<Atom> = (0..r.len()).filter_map(|n| self.inner.terms.atom(&name, r.row(arity, n))).collect();
        out.sort();
        out
    }

    fn stored_of(&self, scope: Scope) -> Vec<Atom> {
        self.inner.rules.signature.stored.iter().filter(|(_, s)| **s == scope).flat_map(|(p, _)| self.stored(p)).collect()
    }

    /// The stored facts of a predicate, without what rules derive.
    pub fn stored(&self, p: &(crate::term::Name, usize)) -> Vec<Atom> {
        let relation = self.inner.rules.program.layouts.ids.get(p);
        relation.map_or_else(Vec::new, |r| stored_in(&self.inner.relations, &self.inner.terms, *r, p))
    }

    pub(super) fn shown(&self) -> &[Atom] {
        self.inner.shown.get_or_init(|| {
            let mut out: Vec<Atom> = self.inner.rules.shown.iter().flat_map(|(_, p)| self.query(&p.0, p.1)).collect();
            out.sort();
            out
        })
    }
}

/// The relations a rule's body reads, negated ones too.
fn reads<'a>(rules: &'a Rules, r: &'a super::eval::Compiled) -> impl Iterator<Item = RelId> + 'a {
    r.body.iter().flat_map(|i| i.literals()).filter_map(|(l, _)| match l {
        super::syntax::Literal::Atom { atom, .. } => rules.program.layouts.ids.get(&atom.predicate()).copied(),
        _ => None,
    })
}

/// The rows of a relation that are facts.
fn stored_in(relations: &[Arc<Relation>], terms: &Terms, r: RelId, p: &super::syntax::Predicate) -> Vec<Atom> {
    let Some(rows) = relations.get(r as usize) else { return Vec::new() };
    let facts = (0..).zip(&rows.derived).filter(|(_, d)| d.rule == FACT);
    facts.filter_map(|(n, _)| terms.atom(&p.0, rows.row(p.1, n))).collect()
}

fn stored(rules: &Rules, a: &Atom, scope: Scope) -> Result<RelId, ReasonError> {
    if rules.scope(&a.name, a.args.len()) != Some(scope) {
        return Err(ReasonError::NotStored(a.signature()));
    }
    rules.program.layouts.ids.get(&(a.name.clone(), a.args.len())).copied().ok_or_else(|| ReasonError::NotStored(a.signature()))
}

/// Adds an atom as a fact.
pub(super) fn insert_fact(rules: &Rules, terms: &mut Terms, below: &[Arc<Relation>], above: &mut [Relation], relation: RelId, a: &Atom) {
    let mut small = [0; 12];
    if let Some(row) = small.get_mut(..a.args.len()) {
        for (slot, t) in row.iter_mut().zip(&a.args) {
            *slot = terms.of_term(t);
        }
        let row = small;
        rules.program.insert(terms, below, above, relation, row.get(..a.args.len()).unwrap_or(&[]), FACT, &[]);
    } else {
        let row: Vec<Id> = a.args.iter().map(|t| terms.of_term(t)).collect();
        rules.program.insert(terms, below, above, relation, &row, FACT, &[]);
    }
}

pub(super) fn gave_up(rules: &Rules, g: GaveUp, limits: Limits) -> ReasonError {
    match g {
        GaveUp::Overflow(r) => ReasonError::Overflow(rules.name_of(r)),
        GaveUp::Rows => ReasonError::OverBudget { what: "derived atoms", limit: limits.rows as u64 },
        GaveUp::Steps => ReasonError::OverBudget { what: "look-ups", limit: limits.steps },
    }
}

impl Rules {
    /// How a rule is named in an error: its reading or text, and its place.
    pub(super) fn name_of(&self, rule: u32) -> String {
        let statement = self.program.rules.get(rule as usize).and_then(|r| self.statements.get(r.statement));
        statement.map_or_else(|| "a rule".to_owned(), |s| format!("{} ({})", s.reading.as_ref().unwrap_or(&s.text), s.origin))
    }
}
