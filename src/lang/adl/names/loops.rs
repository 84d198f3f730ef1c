//! Flows that call themselves before anything else can happen, and loops that never wait.

use super::{Callee, Scope};
use crate::lang::adl::error::Findings;
use crate::lang::adl::parse::Word;
use crate::lang::adl::syntax::{Agent, Block, Kind, Step, StepKind};

/// Tells of both.
pub fn check<'a>(scope: Scope<'a>, found: &mut Findings) {
    for agent in &scope.document.agents {
        for block in &agent.blocks {
            for (callee, at) in first_calls(scope, agent, block) {
                let mut seen = vec![];
                if comes_back(scope, callee, (&agent.name.text, &block.name.text), &mut seen) {
                    let message = format!("`{}` calls itself here before anything else can happen", agent.name.text);
                    let help = "put a `user` or a condition before the call, or go back to a label by `next`";
                    found.error("adl-calls-itself", at.span.clone(), message, help);
                }
            }
            endless(agent, Some(&block.name.text), &block.steps, found);
        }
    }
}

type Place<'a> = (&'a Agent, &'a Block);

/// Who is called from a block before a condition, a `user` or a jump, with the word that calls.
fn first_calls<'a>(scope: Scope<'a>, agent: &'a Agent, block: &'a Block) -> Vec<(Place<'a>, &'a Word)> {
    let mut out = vec![];
    for step in &block.steps {
        match &step.kind {
            StepKind::Bot(_) | StepKind::Set(_) | StepKind::Label(_) => {}
            StepKind::Call { target, .. } => match scope.callee(agent, &target.text) {
                Some(Callee::Block(name)) => {
                    if let Some(b) = agent.blocks.iter().find(|b| b.name.text == name) {
                        out.push(((agent, b), target));
                        if waits(scope, (agent, b), &mut vec![]) {
                            break;
                        }
                    }
                }
                Some(Callee::Agent(other)) => {
                    if let Some(b) = other.blocks.first() {
                        out.push(((other, b), target));
                        if other.kind != Kind::Flow || waits(scope, (other, b), &mut vec![]) {
                            break;
                        }
                    } else if other.kind != Kind::Kb {
                        break;
                    }
                }
                Some(Callee::Function(_)) => {}
                Some(Callee::Label) | None => break,
            },
            StepKind::User | StepKind::Next { .. } | StepKind::Return { .. } | StepKind::If { .. } => break,
        }
    }
    out
}

/// Whether a block may wait or branch, so that what follows its call does not follow at once.
fn waits<'a>(scope: Scope<'a>, (agent, block): Place<'a>, seen: &mut Vec<(&'a str, &'a str)>) -> bool {
    let key = (agent.name.text.as_str(), block.name.text.as_str());
    if seen.contains(&key) {
        return false;
    }
    seen.push(key);
    block.steps.iter().any(|s| match &s.kind {
        StepKind::User | StepKind::If { .. } | StepKind::Next { .. } => true,
        StepKind::Call { target, .. } => match scope.callee(agent, &target.text) {
            Some(Callee::Agent(other)) if other.kind == Kind::Flow => other.blocks.first().is_some_and(|b| waits(scope, (other, b), seen)),
            Some(Callee::Agent(other)) => other.kind != Kind::Kb,
            _ => false,
        },
        _ => false,
    })
}

fn comes_back<'a>(scope: Scope<'a>, from: Place<'a>, to: (&str, &str), seen: &mut Vec<(&'a str, &'a str)>) -> bool {
    let key = (from.0.name.text.as_str(), from.1.name.text.as_str());
    if key == to {
        return true;
    }
    if seen.contains(&key) {
        return false;
    }
    seen.push(key);
    first_calls(scope, from.0, from.1).into_iter().any(|(next, _)| comes_back(scope, next, to, seen))
}

/// A label, or a block's beginning, with a jump back to it and nothing in between that waits, ends or decides.
fn endless(agent: &Agent, block: Option<&str>, steps: &[Step], found: &mut Findings) {
    for (n, step) in steps.iter().enumerate() {
        if let StepKind::Next { target, tries: None } = &step.kind
            && let label = steps.iter().take(n).position(|s| matches!(&s.kind, StepKind::Label(l) if l.text == target.text))
            && let Some(from) = label.map(|l| l + 1).or(Some(0).filter(|_| block == Some(&target.text)))
            && steps.iter().take(n).skip(from).all(|s| matches!(s.kind, StepKind::Bot(_) | StepKind::Set(_) | StepKind::Label(_)))
        {
            let message = format!("`{}` goes round from `{}` to here without end: nothing in between waits", agent.name.text, target.text);
            found.warning("adl-endless-loop", target.span.clone(), message, "put a `user` or a condition in between, or limit it by `tries`");
        }
        if let StepKind::If { branches, otherwise } = &step.kind {
            branches.iter().for_each(|b| endless(agent, None, &b.then, found));
            endless(agent, None, otherwise, found);
        }
    }
}
