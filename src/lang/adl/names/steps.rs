//! The names in steps: who is called with what, where a jump leads, what is set, said and compared.

use super::{Callee, GIVEN, Scope, condition};
use crate::lang::adl::error::{Findings, like, nearest, within};
use crate::lang::adl::parse::{Data, Node, Word};
use crate::lang::adl::syntax::{Agent, Block, Step, StepKind};

/// Checks the steps of an agent.
pub fn check<'a>(scope: Scope<'a>, agent: &'a Agent, found: &mut Findings) {
    for step in agent.steps() {
        match &step.kind {
            StepKind::Bot(said) => filled(scope, agent, said, found),
            StepKind::Return { message, .. } => filled(scope, agent, message, found),
            StepKind::Set(pairs) => {
                for (target, value) in pairs {
                    settable(scope, agent, target, found);
                    given(scope, agent, value, found);
                }
            }
            StepKind::Call { target, args, tries } => call(scope, agent, target, args, tries.is_some(), found),
            StepKind::Next { target, .. } => jump(scope, agent, target, found),
            StepKind::If { branches, .. } => {
                for branch in branches {
                    condition(scope, agent, &branch.condition, found);
                }
            }
            StepKind::User | StepKind::Label(_) => {}
        }
    }
    for block in &agent.blocks {
        unreachable(agent, block, &block.steps, found);
    }
}

fn call<'a>(scope: Scope<'a>, agent: &'a Agent, target: &Word, args: &[(Word, Node)], tries: bool, found: &mut Findings) {
    for (_, value) in args {
        given(scope, agent, value, found);
    }
    let callee = scope.callee(agent, &target.text);
    if tries && !matches!(callee, Some(Callee::Label)) {
        found.error("adl-beside-step", target.span.clone(), "`tries` has no business beside `call`", "it belongs to `next` and `if`");
    }
    match callee {
        Some(Callee::Agent(other)) => {
            for (name, _) in args.iter().filter(|(n, _)| !other.declares(&n.text)) {
                let message = format!("`{}` has no argument `{}`", target.text, name.text);
                found.error(
                    "adl-unknown-argument",
                    name.span.clone(),
                    message,
                    nearest(&name.text, other.arg_names(), &format!("declare it under `args` of `{}`", target.text)),
                );
            }
        }
        Some(Callee::Function(function)) => {
            let parameters = &function.def.parameters;
            for (name, _) in args.iter().filter(|(n, _)| !function.def.takes_more && !parameters.iter().any(|p| p.name == n.text)) {
                let message = format!("the function `{}` takes no `{}`, so the call ends with an error", target.text, name.text);
                found.warning(
                    "adl-function-argument",
                    name.span.clone(),
                    message,
                    nearest(&name.text, parameters.iter().map(|p| p.name.as_str()), "remove it"),
                );
            }
            for p in parameters.iter().filter(|p| p.default.is_none() && !args.iter().any(|(n, _)| n.text == p.name)) {
                let message = format!("the function `{}` is called without `{}`, so the call ends with an error", target.text, p.name);
                found.warning("adl-function-argument", target.span.clone(), message, format!("write `{}: VALUE` below `args`", p.name));
            }
        }
        Some(Callee::Block(_)) => {
            if let Some((first, _)) = args.first() {
                let message = format!("`{}` is a subflow and shares the arguments of `{}`: what is given here is ignored", target.text, agent.name.text);
                found.warning("adl-subflow-argument", first.span.clone(), message, "use `set` before the call");
            }
        }
        Some(Callee::Label) => {
            found.warning(
                "adl-call-label",
                target.span.clone(),
                format!("`{}` is a label, so this goes on there and does not come back", target.text),
                format!("write `next: {}`", target.text),
            );
        }
        None if scope.complete || like(&target.text, scope.callable(agent)).is_some() => {
            let message = format!("`{}` calls `{}`, which is no agent, function or subflow", agent.name.text, target.text);
            let help = nearest(&target.text, scope.callable(agent), "write it, or correct the name");
            found.error("adl-unknown-callee", target.span.clone(), message, help);
        }
        None => {}
    }
}

fn jump(scope: Scope<'_>, agent: &Agent, target: &Word, found: &mut Findings) {
    let labels = agent.labels();
    let places: Vec<&str> = labels.iter().map(|l| l.text.as_str()).chain(agent.blocks.iter().map(|b| b.name.text.as_str())).collect();
    if places.contains(&target.text.as_str()) {
        return;
    }
    let message = format!("`{}` has no label or subflow `{}`", agent.name.text, target.text);
    let help = if scope.document.agent(&target.text).is_some() || scope.function(&target.text).is_some() {
        format!("`next` stays within the agent: write `call: {}`", target.text)
    } else {
        nearest(&target.text, places.iter().copied().filter(|p| *p != "steps"), &format!("write `- label: {}` where it goes on", target.text))
    };
    found.error("adl-unknown-label", target.span.clone(), message, help);
}

fn settable(scope: Scope<'_>, agent: &Agent, target: &Word, found: &mut Findings) {
    let name = target.text.trim();
    if agent.declares(name) {
        return;
    }
    if GIVEN.contains(&name) {
        found.warning("adl-read-only", target.span.clone(), format!("`{name}` can only be read: this sets nothing"), "set an argument of your own");
        return;
    }
    let (of, arg) = name.rsplit_once('.').map_or((None, name), |(of, arg)| (Some(of), arg));
    let help = match of.map(|of| (of, scope.document.agent(of))) {
        Some((_, Some(other))) if other.declares(arg) => return,
        Some((of, Some(other))) => nearest(arg, other.arg_names(), &format!("declare it under `args` of `{of}`")),
        Some((of, None)) => nearest(of, scope.document.agents.iter().map(|a| a.name.text.as_str()), &format!("no agent is called `{of}`")),
        None => nearest(arg, agent.arg_names(), &format!("declare it under `args` of `{}`", agent.name.text)),
    };
    found.warning("adl-undeclared", target.span.clone(), format!("`{name}` is not declared, so this sets nothing (in `{}`)", agent.name.text), help);
}

/// A value that was hardly meant as it is read.
fn given(scope: Scope<'_>, agent: &Agent, value: &Node, found: &mut Findings) {
    let Data::Scalar { text, plain } = &value.data else { return };
    let name = text.trim();
    if scope.path(agent, name).is_some() {
        if !plain && agent.declares(name) {
            let message = format!("`{name}` names an argument, so its value is meant, in quotes too");
            found.warning("adl-quoted-reference", value.span.clone(), message, "rename the argument if the text itself is meant");
        }
        if let Some(help) = scope.unknown_part(agent, name) {
            found.warning("adl-unknown-value", value.span.clone(), format!("`{name}` never has a value"), help);
        }
        return;
    }
    // A text with a point in it that is nearly a path.
    if let Some((of, _)) = name.rsplit_once('.').filter(|_| *plain && !name.contains(char::is_whitespace) && name.parse::<f64>().is_err())
        && let Some(near) = like(of, scope.value_owners())
    {
        found.warning(
            "adl-unknown-value",
            value.span.clone(),
            format!("`{name}` names no value and is taken for a text"),
            format!("did you mean `{near}` before the point?"),
        );
    }
}

/// What is to be filled in names something.
fn filled(scope: Scope<'_>, agent: &Agent, said: &Word, found: &mut Findings) {
    for part in said.text.split("${").skip(1).filter_map(|rest| rest.split_once('}')).map(|(p, _)| p) {
        let name = part.trim();
        if let Some(help) = scope.unknown_part(agent, name) {
            let at = within(found.source(), &said.span, name);
            found.warning("adl-unknown-value", at, format!("`{name}` never has a value, so nothing is filled in"), help);
        }
    }
}

/// Steps that nothing leads to. Whether the steps end for good.
fn unreachable(agent: &Agent, block: &Block, steps: &[Step], found: &mut Findings) -> bool {
    let mut ended: Option<&str> = None;
    let mut told = false;
    for step in steps {
        if matches!(step.kind, StepKind::Label(_)) {
            ended = None;
        } else if let Some(by) = ended.filter(|_| !told) {
            told = true;
            found.warning(
                "adl-unreachable",
                step.span.clone(),
                format!("nothing leads to this step of `{}`: {by} stands before it", agent.name.text),
                "move it before that, or remove it",
            );
        }
        match &step.kind {
            StepKind::Return { .. } => ended = ended.or(Some("a `return`")),
            StepKind::Next { target, tries: None } if leaves(agent, block, &target.text) => ended = ended.or(Some("a `next`")),
            StepKind::If { branches, otherwise } => {
                let all: Vec<bool> = branches.iter().map(|b| unreachable(agent, block, &b.then, found)).collect();
                let last = unreachable(agent, block, otherwise, found);
                if last && all.iter().all(|e| *e) {
                    ended = ended.or(Some("a condition whose branches all leave"));
                }
            }
            _ => {}
        }
    }
    ended.is_some()
}

/// Whether a jump leaves what is open for good: into the block itself or the main one.
fn leaves(agent: &Agent, block: &Block, target: &str) -> bool {
    let holds = |b: &Block| {
        let mut steps = vec![];
        crate::lang::adl::syntax::gather(&b.steps, &mut steps);
        b.name.text == target || steps.iter().any(|s| matches!(&s.kind, StepKind::Label(l) if l.text == target))
    };
    holds(block) || agent.blocks.first().is_some_and(holds)
}
