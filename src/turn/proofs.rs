//! Proofs as data for other programs: a list of steps, each atom once, so that shared parts do not multiply.
//!
//! `{"atom": …, "steps": [{"atom","rule":"file.lp:line","reading","from":[…]} | {"atom","fact":"who told it"}]}`. A step's
//! `from` names the atoms it rests on (`{"atom"}`), which have steps of their own further down, what had to be absent
//! (`{"absent","ways"}`), comparisons (`{"test"}`), aggregates (`{"aggregate","elements"}`) and conditions (`{"all","instances"}`).

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::reason::{Because, By, Failure, Proof, RuleRef};
use crate::term::Atom;

/// The steps of a proof, the proved atom first, every atom before those it rests on where they were not needed earlier.
pub fn steps(proof: &Arc<Proof>, provenance: &dyn Fn(&Atom) -> String) -> Value {
    let mut steps = vec![];
    let mut seen: BTreeSet<Atom> = BTreeSet::from([proof.atom.clone()]);
    let mut open: VecDeque<Arc<Proof>> = VecDeque::from([proof.clone()]);
    while let Some(p) = open.pop_front() {
        let mut below = vec![];
        steps.push(match &p.by {
            By::Fact => json!({ "atom": p.atom, "fact": provenance(&p.atom) }),
            By::Solver => json!({ "atom": p.atom, "rule": "chosen by the solver" }),
            By::Rule { rule, because } => {
                let from: Vec<Value> = because.iter().map(|b| reason(b, &mut below)).collect();
                json!({ "atom": p.atom, "rule": place(rule), "reading": rule.reading, "from": from })
            }
        });
        for b in below {
            if seen.insert(b.atom.clone()) {
                open.push_back(b);
            }
        }
    }
    json!({ "atom": proof.atom, "steps": steps })
}

fn place(rule: &RuleRef) -> String {
    format!("{}:{}", rule.file, rule.line)
}

fn reason(because: &Because, below: &mut Vec<Arc<Proof>>) -> Value {
    match because {
        Because::Holds { proof } => {
            below.push(proof.clone());
            json!({ "atom": proof.atom })
        }
        Because::Absent { pattern, ways } => json!({ "absent": pattern, "ways": ways.iter().map(way).collect::<Vec<_>>() }),
        Because::Test { text } => json!({ "test": text }),
        Because::Aggregate { text, elements } => {
            let elements: Vec<Value> = elements
                .iter()
                .map(|e| json!({ "tuple": e.tuple.iter().map(ToString::to_string).collect::<Vec<_>>(), "from": e.because.iter().map(|b| reason(b, below)).collect::<Vec<_>>() }))
                .collect();
            json!({ "aggregate": text, "elements": elements })
        }
        Because::All { text, instances } => {
            let instances: Vec<Value> = instances.iter().map(|i| Value::Array(i.iter().map(|b| reason(b, below)).collect())).collect();
            json!({ "all": text, "instances": instances })
        }
    }
}

fn way(f: &Failure) -> Value {
    json!({ "rule": place(&f.rule), "fails": f.fails })
}
