//! From a program of agents to the domain that the turn takes: the vocabulary of agents, their rules, and the program as facts.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use super::chief::domain::{declare, name};
use crate::diag::{Diagnostic, Origin, Source, did_you_mean};
use crate::domain::{Domain, Files};
use crate::ir::script::{Block, Callee, Step, StepKind, place_of, way_to};
use crate::ir::{Agent, Body, Policy, Program};
use crate::term::{Atom, Term};

/// The vocabulary that all programs of agents share.
const VOCABULARY: &str = "kb/core/agents.yaml";

/// The domain of a program of agents.
pub fn domain(program: &Program, files: &Files) -> Result<Domain, Vec<Diagnostic>> {
    if !program.walks() {
        return Err(vec![Diagnostic::error("P001", program.origin.clone(), format!("`{}` is no program of agents", program.name))]);
    }
    let wrong = unknown_names(program);
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let vocabulary = Source::new(VOCABULARY, &files.read(VOCABULARY).unwrap_or_default());
    let rules = json!([{ "action": "say(T)", "say": ["{T}"] }]);
    let templates = Source::new("replies", &json!({ "rules": rules, "nothing": [] }).to_string());
    let functions = program.functions.iter().map(|f| declare(f, &program.origin)).collect();
    let mut domain = Domain::assemble(files, &vocabulary, &templates, |ontology| {
        ontology.domain = name(&program.name).as_str().into();
        ontology.title = program.name.clone();
        ontology.functions = functions;
    })?;
    let origins = facts(program);
    domain.written = Arc::new(origins.keys().cloned().collect());
    domain.origins = Arc::new(origins);
    domain.program = Some(Arc::new(program.clone()));
    Ok(domain)
}

/// The program as facts, each with where it was written.
fn facts(program: &Program) -> BTreeMap<Atom, Origin> {
    let mut out = BTreeMap::new();
    let mut add = |fact: &str, args: &[&str], origin: &Origin| {
        out.insert(Atom::new(fact, args.iter().map(|a| Term::string(a)).collect()), origin.clone());
    };
    add("entry", &[&program.entry], &program.origin);
    for f in &program.functions {
        add("function", &[&f.name], &program.origin);
    }
    for agent in &program.agents {
        let (name, origin) = (agent.name.as_str(), &agent.origin);
        add("agent", &[name], origin);
        for arg in &agent.args {
            add("declares", &[name, &arg.name], origin);
        }
        for (ask, policy) in [("fallback", &agent.fallback), ("exit", &agent.exit)] {
            match policy {
                Some(Policy::Agent(other)) => add("provides", &[name, other], origin),
                Some(Policy::Words(_) | Policy::Usual) => add("speaks", &[name, ask], origin),
                None => {}
            }
        }
        match &agent.body {
            Body::Team { members, .. } => {
                add("speaks", &[name, "route"], origin);
                members.iter().for_each(|m| add("contains", &[name, &m.agent], &m.origin));
            }
            Body::Talk { uses, .. } => {
                add("speaks", &[name, "reply"], origin);
                uses.iter().for_each(|f| add("uses", &[name, f], origin));
            }
            Body::Know { .. } => add("speaks", &[name, "answer"], origin),
            Body::Script(_) | Body::Rules(_) | Body::Graph(_) => {}
        }
    }
    for (agent, block, number, step) in steps(program) {
        let mut add = |fact: &str, more: Option<&str>| {
            let place = [Term::string(&agent.name), Term::string(&block.name), Term::Int(number)];
            out.insert(Atom::new(fact, place.into_iter().chain(more.map(Term::string)).collect()), step.origin.clone());
        };
        match &step.kind {
            StepKind::Say(_) => add("says", None),
            StepKind::Set(all) => all.iter().for_each(|(path, _)| add("sets", Some(&path.to_string()))),
            StepKind::Call { who: Callee::Function(called) | Callee::Agent(called), .. } => add("calls", Some(called)),
            StepKind::Call { .. } | StepKind::Wait | StepKind::Choose(_) | StepKind::Label(_) | StepKind::Jump { .. } | StepKind::Return { .. } => {}
        }
    }
    out
}

/// All steps, with whose they are and their numbers from 1.
fn steps(program: &Program) -> impl Iterator<Item = (&Agent, &Block, i32, &Step)> {
    program.agents.iter().flat_map(|agent| agent.blocks().iter().flat_map(move |block| (1..).zip(&block.steps).map(move |(n, step)| (agent, block, n, step))))
}

/// Names that steps go on at or call, and nothing bears.
fn unknown_names(program: &Program) -> Vec<Diagnostic> {
    let agents: Vec<&str> = program.agents.iter().map(|a| a.name.as_str()).collect();
    let functions: Vec<&str> = program.functions.iter().map(|f| f.name.as_str()).collect();
    let mut found = vec![];
    let mut wrong = |what: &str, name: &str, known: &[&str], origin: &Origin| {
        let near = did_you_mean(name, known.iter().copied()).map_or_else(|| format!("there are: {}", known.join(", ")), |n| format!("did you mean `{n}`?"));
        found.push(Diagnostic::error("P001", origin.clone(), format!("no {what} is called `{name}`")).help(near));
    };
    for (agent, _, _, step) in steps(program) {
        let blocks = agent.blocks();
        let labels = blocks.iter().flat_map(|b| &b.steps).filter_map(|s| if let StepKind::Label(l) = &s.kind { Some(l.as_str()) } else { None });
        let places: Vec<&str> = labels.chain(blocks.iter().map(|b| b.name.as_str())).collect();
        let mut target = |to: &String| {
            if place_of(blocks, to).is_none() && way_to(blocks, to).is_none() {
                wrong("label or block", to, &places, &step.origin);
            }
        };
        match &step.kind {
            StepKind::Jump { to, .. } | StepKind::Call { who: Callee::Block(to), .. } => target(to),
            StepKind::Choose(ways) => ways.iter().for_each(|way| target(&way.to)),
            StepKind::Call { who: Callee::Function(f), .. } if !functions.contains(&f.as_str()) => wrong("function", f, &functions, &step.origin),
            StepKind::Call { who: Callee::Agent(a), .. } if !agents.contains(&a.as_str()) => wrong("agent", a, &agents, &step.origin),
            _ => {}
        }
    }
    found
}
