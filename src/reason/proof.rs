//! Proofs: which rule derived an atom, from which facts, and what had to be absent; and why an atom was not derived.

mod build;
pub mod check;
pub(super) mod search;
mod text;
pub(super) mod why_not;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;

use super::outcome::Outcome;
use crate::term::{Atom, Term};

pub use build::Builder;

impl Outcome {
    /// Why an atom was derived; `None` if it was not.
    pub fn why(&self, atom: &Atom) -> Option<Proof> {
        Builder::new(self).why(atom).map(|p| (*p).clone())
    }

    /// Why an atom was not derived.
    pub fn why_not(&self, atom: &Atom) -> WhyNot {
        why_not::why_not(self, &why_not::pattern(atom))
    }

    /// Why nothing of this form was derived: an atom in which `_` stands for anything.
    pub fn why_none(&self, pattern: &str) -> Result<WhyNot, String> {
        Ok(why_not::why_not(self, &why_not::read(pattern)?))
    }

    /// Proofs of all shown atoms; shared parts are built once.
    pub fn why_all(&self) -> Vec<Arc<Proof>> {
        let mut b = Builder::new(self);
        self.shown.iter().filter_map(|a| b.why(a)).collect()
    }
}

/// An atom and what it rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Proof {
    /// What holds.
    pub atom: Atom,
    /// Why.
    #[serde(flatten)]
    pub by: By,
}

impl Proof {
    /// Visits every atom that the proof rests on, each once and reasons before what follows from them, itself last.
    pub fn walk(&self, visit: &mut dyn FnMut(&Self)) {
        self.below(&mut BTreeSet::new(), visit);
    }

    fn below(&self, seen: &mut BTreeSet<Atom>, visit: &mut dyn FnMut(&Self)) {
        if !seen.insert(self.atom.clone()) {
            return;
        }
        if let By::Rule { because, .. } = &self.by {
            because.iter().for_each(|b| b.rests(&mut |p| p.below(seen, visit)));
        }
        visit(self);
    }
}

impl Because {
    /// Visits the proofs of what it rests on, in order.
    pub fn rests<'a>(&'a self, visit: &mut dyn FnMut(&'a Arc<Proof>)) {
        match self {
            Self::Holds { proof } => visit(proof),
            Self::Aggregate { elements, .. } => elements.iter().flat_map(|e| &e.because).for_each(|b| b.rests(visit)),
            Self::All { instances, .. } => instances.iter().flatten().for_each(|b| b.rests(visit)),
            Self::Absent { .. } | Self::Test { .. } => {}
        }
    }
}

/// What an atom rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "by", rename_all = "lowercase")]
pub enum By {
    /// It was stored, said, or written in a rule file.
    Fact,
    /// clingo chose it among several possibilities, or decided a rule that the evaluator does not take.
    Solver,
    /// A rule derived it.
    Rule {
        /// The rule.
        rule: RuleRef,
        /// The condition of the rule, in the order of its body.
        because: Vec<Because>,
    },
}

/// A rule, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleRef {
    /// Its English reading with the values put in; empty if the author gave none.
    pub reading: String,
    /// The rule as written.
    #[serde(serialize_with = "plain_text")]
    pub text: Arc<str>,
    /// Its file.
    #[serde(serialize_with = "plain_text")]
    pub file: Arc<str>,
    /// Its line.
    pub line: u32,
    /// Its statement, counted over all files.
    #[serde(skip)]
    pub statement: usize,
}

/// Why one condition of a rule holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Because {
    /// An atom that holds.
    Holds {
        /// With its own proof.
        #[serde(serialize_with = "inner_proof")]
        proof: Arc<Proof>,
    },
    /// Nothing matches.
    Absent {
        /// What does not hold; `_` stands for anything.
        pattern: String,
        /// For each rule that could have derived it: its first condition that fails.
        #[serde(serialize_with = "inner_failures")]
        ways: Arc<[Failure]>,
    },
    /// A comparison.
    Test {
        /// With its values.
        text: String,
    },
    /// An aggregate.
    Aggregate {
        /// With its value.
        text: String,
        /// What was counted or summed.
        elements: Vec<Counted>,
    },
    /// A condition that holds for all instances.
    All {
        /// As written, with values.
        text: String,
        /// Each instance.
        instances: Vec<Vec<Because>>,
    },
}

/// One tuple of an aggregate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Counted {
    /// Its terms.
    #[serde(serialize_with = "tuple_text")]
    pub tuple: Vec<Term>,
    /// Why it counts.
    pub because: Vec<Because>,
}

/// A rule that did not derive something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The rule.
    pub rule: RuleRef,
    /// Its first condition that fails, with the values known there.
    pub fails: String,
    /// How many of its conditions were met.
    pub met: usize,
    /// How many it has.
    pub of: usize,
}

/// Why an atom was not derived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WhyNot {
    /// What was asked about; `_` stands for anything.
    pub atom: String,
    /// What of it was derived after all.
    pub holds: Vec<Atom>,
    /// The rules that could have, closest first.
    pub ways: Vec<Way>,
}

/// A rule that could have derived something, and what kept it from doing so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Way {
    /// The rule.
    pub rule: RuleRef,
    /// Its first condition that fails, with the values known there.
    pub fails: String,
    /// What kind of condition that is.
    pub kind: Fails,
    /// How many of its conditions do not hold.
    pub missing: usize,
    /// How many conditions it has.
    pub of: usize,
    /// Why the condition fails: the rules that could have derived what is missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deeper: Vec<Way>,
    /// Why the condition fails: the proof of what must not hold.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "some_proof")]
    pub because: Option<Arc<Proof>>,
}

/// What kind of condition fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fails {
    /// Nobody said it.
    Unsaid,
    /// Nobody stored it.
    NoFact,
    /// No rule derives it.
    NotDerived,
    /// It holds but must not.
    Holds,
    /// A comparison, aggregate or condition for all instances.
    Test,
}

fn some_proof<S: serde::Serializer>(p: &Option<Arc<Proof>>, s: S) -> Result<S::Ok, S::Error> {
    p.as_deref().serialize(s)
}

fn tuple_text<S: serde::Serializer>(t: &[Term], s: S) -> Result<S::Ok, S::Error> {
    s.collect_seq(t.iter().map(ToString::to_string))
}

fn plain_text<S: serde::Serializer>(t: &Arc<str>, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(t)
}

fn inner_proof<S: serde::Serializer>(p: &Arc<Proof>, s: S) -> Result<S::Ok, S::Error> {
    p.as_ref().serialize(s)
}

fn inner_failures<S: serde::Serializer>(ways: &Arc<[Failure]>, s: S) -> Result<S::Ok, S::Error> {
    ways.as_ref().serialize(s)
}
