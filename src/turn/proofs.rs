//! Proofs as data for other programs: a list of steps, each atom once, so that shared parts do not multiply.
//!
//! `{"atom": …, "steps": [{"atom","rule":"file.lp:line","reading","from":[…]} | {"atom","fact":"who told it"}]}`. A step's
//! `from` names the atoms it rests on (`{"atom"}`), which have steps of their own further down, what had to be absent
//! (`{"absent","ways"}`), comparisons (`{"test"}`), aggregates (`{"aggregate","elements"}`) and conditions (`{"all","instances"}`).

use std::sync::Arc;

use rustc_hash::FxHashSet;
use serde::{Serialize, Serializer};

use crate::reason::{Because, By, Proof, RuleRef};
use crate::term::{Atom, Term};

/// A proof with what it rests on, each atom once: those that a rule derived, and facts with who told them. It is written out when it is asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steps(Vec<(Arc<Proof>, String)>);

impl Steps {
    /// The proved atom first, every atom before those it rests on where they were not needed earlier.
    pub fn of(proof: &Arc<Proof>, provenance: &dyn Fn(&Atom) -> String) -> Self {
        let (mut order, mut seen, mut at) = (vec![proof], FxHashSet::from_iter([&proof.atom]), 0);
        while let Some(p) = order.get(at) {
            at += 1;
            if let By::Rule { because, .. } = &p.by {
                because.iter().for_each(|b| b.rests(&mut |p| order.extend(seen.insert(&p.atom).then_some(p))));
            }
        }
        let told = |p: &Arc<Proof>| if p.by == By::Fact { provenance(&p.atom) } else { String::new() };
        Self(order.into_iter().map(|p| (p.clone(), told(p))).collect())
    }
}

impl std::fmt::Display for Steps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| std::fmt::Error)?)
    }
}

impl Serialize for Steps {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Whole<'a> {
            atom: Option<&'a Atom>,
            steps: Vec<Step<'a>>,
        }
        let steps = self.0.iter().map(|(p, told)| match &p.by {
            By::Fact => Step::Fact { atom: &p.atom, fact: told },
            By::Solver => Step::Solver { atom: &p.atom, rule: "chosen by the solver" },
            By::Rule { rule, because } => Step::Rule { atom: &p.atom, rule: Place(rule), reading: &rule.reading, from: supports(because) },
        });
        Whole { atom: self.0.first().map(|(p, _)| &p.atom), steps: steps.collect() }.serialize(s)
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Step<'a> {
    Fact { atom: &'a Atom, fact: &'a str },
    Solver { atom: &'a Atom, rule: &'a str },
    Rule { atom: &'a Atom, rule: Place<'a>, reading: &'a str, from: Vec<Support<'a>> },
}

/// What a step rests on.
#[derive(Serialize)]
#[serde(untagged)]
enum Support<'a> {
    Holds { atom: &'a Atom },
    Absent { absent: &'a str, ways: Vec<Way<'a>> },
    Test { test: &'a str },
    Aggregate { aggregate: &'a str, elements: Vec<Element<'a>> },
    All { all: &'a str, instances: Vec<Vec<Support<'a>>> },
}

#[derive(Serialize)]
struct Way<'a> {
    rule: Place<'a>,
    fails: &'a str,
}

#[derive(Serialize)]
struct Element<'a> {
    #[serde(serialize_with = "texts")]
    tuple: &'a [Term],
    from: Vec<Support<'a>>,
}

struct Place<'a>(&'a RuleRef);

impl Serialize for Place<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(&format_args!("{}:{}", self.0.file, self.0.line))
    }
}

fn texts<S: Serializer>(terms: &[Term], s: S) -> Result<S::Ok, S::Error> {
    s.collect_seq(terms.iter().map(ToString::to_string))
}

fn supports(because: &[Because]) -> Vec<Support<'_>> {
    because.iter().map(support).collect()
}

fn support(because: &Because) -> Support<'_> {
    match because {
        Because::Holds { proof } => Support::Holds { atom: &proof.atom },
        Because::Absent { pattern, ways } => {
            Support::Absent { absent: pattern, ways: ways.iter().map(|f| Way { rule: Place(&f.rule), fails: &f.fails }).collect() }
        }
        Because::Test { text } => Support::Test { test: text },
        Because::Aggregate { text, elements } => {
            Support::Aggregate { aggregate: text, elements: elements.iter().map(|e| Element { tuple: &e.tuple, from: supports(&e.because) }).collect() }
        }
        Because::All { text, instances } => Support::All { all: text, instances: instances.iter().map(|i| supports(i)).collect() },
    }
}
