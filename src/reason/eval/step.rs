//! What plans are made of: look-ups, tests and values, and which variables each of them uses and binds.

use std::collections::BTreeSet;

use super::store::RelId;
use super::terms::Id;
use crate::reason::syntax::{Fold, Op, Rel};

/// A variable's place in the registers.
pub type Slot = u16;

/// A term to compute from bound variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Calc {
    /// A variable.
    Slot(Slot),
    /// A ground term.
    Id(Id),
    /// Arithmetic.
    Binary(Op, Box<Calc>, Box<Calc>),
    /// Minus.
    Neg(Box<Calc>),
    /// Absolute value.
    Abs(Box<Calc>),
    /// A function term with the constant of its name.
    Fun(Id, Vec<Calc>),
}

/// How a value is matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Match {
    /// Anything.
    Any,
    /// Anything, kept in a variable.
    Bind(Slot),
    /// The value of a variable.
    Same(Slot),
    /// A ground term.
    Is(Id),
    /// A function term with the constant of its name and such arguments.
    Fun(Id, Vec<Match>),
    /// A computed value.
    Value(Calc),
}

/// A look-up in a relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// The relation.
    pub relation: RelId,
    /// The known columns and their values; those of the index first.
    pub key: Vec<(usize, Calc)>,
    /// The index over the first `hashed` of these columns; `usize::MAX` for none.
    pub index: usize,
    /// How many columns of the key the index is over.
    pub hashed: usize,
    /// The other columns.
    pub rest: Vec<(usize, Match)>,
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// For each row that matches.
    Scan {
        /// Where and what.
        lookup: Lookup,
        /// Whether one row is enough, since what it binds is not used.
        once: bool,
        /// Whether only the rows of the last round count.
        delta: bool,
    },
    /// If no row matches, or if one does.
    Exists {
        /// Where and what.
        lookup: Lookup,
        /// Whether a row must be there.
        wanted: bool,
    },
    /// If the comparisons hold, or fail to.
    Test {
        /// The first term.
        left: Calc,
        /// Each comparison.
        rest: Vec<(Rel, Calc)>,
        /// Whether they must hold.
        wanted: bool,
    },
    /// Matches a computed value.
    Let {
        /// The pattern.
        pattern: Match,
        /// The value.
        value: Calc,
    },
    /// For each number of an interval.
    Range {
        /// The pattern.
        pattern: Match,
        /// The lower end.
        low: Calc,
        /// The upper end.
        high: Calc,
    },
    /// If for every solution of `condition`, `then` has one.
    ForAll {
        /// The instances.
        condition: Vec<Step>,
        /// What must hold for each.
        then: Vec<Step>,
    },
    /// An aggregate.
    Fold {
        /// Which.
        fold: Fold,
        /// For each element: how its condition is solved, and its tuple.
        elements: Vec<(Vec<Step>, Vec<Calc>)>,
        /// The variable that gets the value.
        assign: Option<Slot>,
        /// Comparisons of the value.
        guards: Vec<(Rel, Calc)>,
        /// Whether they must hold.
        wanted: bool,
    },
    /// Never, or always.
    Bool(bool),
}

fn calc_slots(c: &Calc, out: &mut BTreeSet<Slot>) {
    match c {
        Calc::Slot(s) => {
            out.insert(*s);
        }
        Calc::Id(_) => {}
        Calc::Binary(_, a, b) => {
            calc_slots(a, out);
            calc_slots(b, out);
        }
        Calc::Neg(a) | Calc::Abs(a) => calc_slots(a, out),
        Calc::Fun(_, args) => args.iter().for_each(|a| calc_slots(a, out)),
    }
}

fn match_slots(m: &Match, used: &mut BTreeSet<Slot>, binds: &mut BTreeSet<Slot>) {
    match m {
        Match::Any | Match::Is(_) => {}
        Match::Bind(s) => {
            binds.insert(*s);
        }
        Match::Same(s) => {
            used.insert(*s);
        }
        Match::Fun(_, args) => args.iter().for_each(|a| match_slots(a, used, binds)),
        Match::Value(c) => calc_slots(c, used),
    }
}

fn lookup_slots(l: &Lookup, used: &mut BTreeSet<Slot>, binds: &mut BTreeSet<Slot>) {
    l.key.iter().for_each(|(_, c)| calc_slots(c, used));
    l.rest.iter().for_each(|(_, m)| match_slots(m, used, binds));
}

pub(super) fn indexes(s: &Step, out: &mut Vec<(RelId, usize)>) {
    match s {
        Step::Scan { lookup, .. } | Step::Exists { lookup, .. } if lookup.index != usize::MAX => out.push((lookup.relation, lookup.index)),
        Step::ForAll { condition, then } => condition.iter().chain(then).for_each(|s| indexes(s, out)),
        Step::Fold { elements, .. } => elements.iter().flat_map(|(steps, _)| steps).for_each(|s| indexes(s, out)),
        _ => {}
    }
}

fn step_slots(s: &Step, used: &mut BTreeSet<Slot>, binds: &mut BTreeSet<Slot>) {
    match s {
        Step::Scan { lookup, .. } | Step::Exists { lookup, .. } => lookup_slots(lookup, used, binds),
        Step::Test { left, rest, .. } => {
            calc_slots(left, used);
            rest.iter().for_each(|(_, c)| calc_slots(c, used));
        }
        Step::Let { pattern, value } => {
            calc_slots(value, used);
            match_slots(pattern, used, binds);
        }
        Step::Range { pattern, low, high } => {
            calc_slots(low, used);
            calc_slots(high, used);
            match_slots(pattern, used, binds);
        }
        Step::ForAll { condition, then } => condition.iter().chain(then).for_each(|s| step_slots(s, used, binds)),
        Step::Fold { elements, guards, .. } => {
            for (steps, terms) in elements {
                steps.iter().for_each(|s| step_slots(s, used, binds));
                terms.iter().for_each(|c| calc_slots(c, used));
            }
            guards.iter().for_each(|(_, c)| calc_slots(c, used));
        }
        Step::Bool(_) => {}
    }
}

/// A look-up whose new variables nobody uses later needs one row only.
pub(super) fn mark_once(steps: &mut [Step], needed: &BTreeSet<Slot>) {
    let mut used = needed.clone();
    for s in steps.iter_mut().rev() {
        let mut binds = BTreeSet::new();
        let mut uses = BTreeSet::new();
        step_slots(s, &mut uses, &mut binds);
        if let Step::Scan { once, .. } = s {
            *once = binds.iter().all(|b| !used.contains(b));
        }
        used.extend(uses);
    }
}
