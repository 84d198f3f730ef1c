//! From a program whose agent is a script to the domain that the turn takes: the vocabulary of scripts, their rules, the steps as facts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::json;

use super::chief::domain::{declare, name};
use crate::diag::{Diagnostic, Origin, Source, did_you_mean};
use crate::domain::{Domain, Files};
use crate::ir::Program;
use crate::ir::script::{Block, Callee, StepKind, guards, place_of, way_to};
use crate::term::{Atom, Term};

/// The vocabulary that all scripts share.
const VOCABULARY: &str = "kb/core/script.yaml";

/// The domain of a program whose first agent is a script.
pub fn domain(program: &Program, files: &Files) -> Result<Domain, Vec<Diagnostic>> {
    let Some(blocks) = program.script() else {
        return Err(vec![Diagnostic::error("P001", program.origin.clone(), format!("`{}` is no script", program.name))]);
    };
    let wrong = unknown_names(program, blocks);
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let vocabulary = Source::new(VOCABULARY, &files.read(VOCABULARY).unwrap_or_default());
    let rules = json!([{ "action": "say(T)", "say": ["{T}"] }]);
    let templates = Source::new("replies", &json!({ "constants": { "true": "yes", "false": "no" }, "rules": rules, "nothing": [] }).to_string());
    let functions = program.functions.iter().map(|f| declare(f, &program.origin)).collect();
    let mut domain = Domain::assemble(files, &vocabulary, &templates, |ontology| {
        ontology.domain = name(&program.name).as_str().into();
        ontology.title = program.name.clone();
        ontology.functions = functions;
    })?;
    let origins = facts(blocks);
    domain.facts = Arc::new(origins.keys().cloned().collect());
    domain.origins = Arc::new(origins);
    domain.guards = Arc::new(guards(blocks).cloned().collect());
    domain.program = Some(Arc::new(program.clone()));
    Ok(domain)
}

/// The steps as facts, each with where it was written.
fn facts(blocks: &[Block]) -> BTreeMap<Atom, Origin> {
    let int = |n: usize| Term::Int(i32::try_from(n).unwrap_or(i32::MAX));
    let (mut out, mut guard) = (BTreeMap::new(), 0);
    for block in blocks {
        for (k, step) in (1..).zip(&block.steps) {
            let mut add = |fact: &str, more: Vec<Term>| {
                let args = [Term::string(&block.name), int(k)].into_iter().chain(more).collect();
                out.insert(Atom::new(fact, args), step.origin.clone());
            };
            match &step.kind {
                StepKind::Wait => add("waits", vec![]),
                StepKind::Say(_) => add("says", vec![]),
                StepKind::Set(all) => all.iter().for_each(|(path, _)| add("sets", vec![Term::string(&path.name)])),
                StepKind::Call { who: Callee::Function(name) | Callee::Agent(name) | Callee::Block(name), .. } => add("calls", vec![Term::string(name)]),
                StepKind::Choose(ways) => {
                    for way in ways {
                        add("chooses", vec![int(guard), Term::string(&way.to)]);
                        guard += 1;
                    }
                }
                StepKind::Label(_) => {}
                StepKind::Jump { to, .. } => add("jumps", vec![Term::string(to)]),
                StepKind::Return { .. } => add("returns", vec![]),
            }
        }
    }
    out
}

/// Names that steps go on at or call, and nothing bears.
fn unknown_names(program: &Program, blocks: &[Block]) -> Vec<Diagnostic> {
    let labels = blocks.iter().flat_map(|b| &b.steps).filter_map(|s| if let StepKind::Label(l) = &s.kind { Some(l.as_str()) } else { None });
    let places: BTreeSet<&str> = labels.chain(blocks.iter().map(|b| b.name.as_str())).collect();
    let functions: BTreeSet<&str> = program.functions.iter().map(|f| f.name.as_str()).collect();
    let mut found = vec![];
    let mut wrong = |what: &str, name: &str, known: &BTreeSet<&str>, origin: &Origin| {
        let near = did_you_mean(name, known.iter().copied())
            .map_or_else(|| format!("there are: {}", known.iter().copied().collect::<Vec<_>>().join(", ")), |n| format!("did you mean `{n}`?"));
        found.push(Diagnostic::error("P001", origin.clone(), format!("no {what} is called `{name}`")).help(near));
    };
    for step in blocks.iter().flat_map(|b| &b.steps) {
        let targets: Vec<&String> = match &step.kind {
            StepKind::Jump { to, .. } => vec![to],
            StepKind::Choose(ways) => ways.iter().map(|way| &way.to).collect(),
            _ => vec![],
        };
        for to in targets.into_iter().filter(|to| place_of(blocks, to).is_none() && way_to(blocks, to).is_none()) {
            wrong("label or block", to, &places, &step.origin);
        }
        if let StepKind::Call { who: Callee::Function(function), .. } = &step.kind
            && !functions.contains(function.as_str())
        {
            wrong("function", function, &functions, &step.origin);
        }
    }
    found
}
