//! What the words of a program name: agents, functions, subflows, labels and arguments; and what names nothing.

mod conditions;
mod loops;
mod steps;

use super::error::{Findings, like, nearest};
use super::parse::Word;
use super::python::Def;
use super::syntax::{Agent, Document, Kind, StepKind};
use crate::ir::value::Path;

pub use conditions::{compares_with_values, condition, read_condition};

/// A function with the file that defines it.
#[derive(Clone, Debug, PartialEq)]
pub struct Callable {
    /// The file, as the project names it.
    pub file: String,
    /// The function.
    pub def: Def,
}

/// What the words of a program may name.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// The program.
    pub document: &'a Document,
    /// The functions of its files.
    pub functions: &'a [Callable],
    /// All files could be read, so what no file defines does not exist.
    pub complete: bool,
}

/// Values that every conversation has, and nobody sets.
pub const GIVEN: [&str; 2] = ["sender", "_user_input"];

/// What an agent, a function or a subflow leaves behind when it ends.
pub const OUTCOME: [&str; 4] = ["success", "error", "status", "msg"];

/// Who a `call` calls.
#[derive(Clone, Debug, PartialEq)]
pub enum Callee<'a> {
    /// A subflow of the same agent.
    Block(&'a str),
    /// An agent.
    Agent(&'a Agent),
    /// A function.
    Function(&'a Callable),
    /// A label, where `next` was meant.
    Label,
}

impl<'a> Scope<'a> {
    /// A function by its name.
    pub fn function(&self, name: &str) -> Option<&'a Callable> {
        self.functions.iter().find(|f| f.def.name == name)
    }

    /// Whom a name means after `call`.
    pub fn callee(&self, agent: &'a Agent, name: &str) -> Option<Callee<'a>> {
        let block = agent.blocks.iter().find(|b| b.name.text == name).map(|b| Callee::Block(&b.name.text));
        let other = || self.document.agent(name).map(Callee::Agent);
        let function = || self.function(name).map(Callee::Function);
        let label = || agent.labels().iter().any(|l| l.text == name).then_some(Callee::Label);
        block.or_else(other).or_else(function).or_else(label)
    }

    /// The value that a text names for an agent, if it names one.
    pub fn path(&self, agent: &Agent, text: &str) -> Option<Path> {
        let text = text.trim();
        if agent.declares(text) || GIVEN.contains(&text) {
            return Some(Path::named(text));
        }
        let (of, name) = text.rsplit_once('.')?;
        self.owns_values(of).then(|| Path::of(of, name))
    }

    /// Whether values and outcomes stand under a name.
    fn owns_values(&self, name: &str) -> bool {
        let block = || self.document.agents.iter().any(|a| a.blocks.iter().any(|b| b.name.text == name));
        !name.is_empty() && (self.document.agent(name).is_some() || self.function(name).is_some() || block())
    }

    /// Whether a path that is well formed can ever have a value; otherwise the remedy.
    fn unknown_part(&self, agent: &Agent, text: &str) -> Option<String> {
        let text = text.trim();
        if agent.declares(text) || GIVEN.contains(&text) {
            return None;
        }
        let Some((of, name)) = text.rsplit_once('.') else {
            return Some(nearest(text, agent.arg_names(), &format!("declare it under `args` of `{}`", agent.name.text)));
        };
        if OUTCOME.contains(&name) && self.owns_values(of) {
            return None;
        }
        match self.document.agent(of) {
            Some(other) if other.declares(name) => None,
            Some(other) => Some(nearest(name, other.arg_names().chain(OUTCOME), &format!("declare it under `args` of `{of}`"))),
            // What a function gives is known only once it was called.
            None if self.function(of).is_some() || !self.complete => None,
            None if self.owns_values(of) => Some(nearest(name, OUTCOME, "a subflow has nothing but its outcome")),
            None => {
                let known: Vec<&str> = self.value_owners().collect();
                Some(nearest(of, known, &format!("no agent, function or subflow is called `{of}`")))
            }
        }
    }

    /// Names that values may stand under.
    fn value_owners(&self) -> impl Iterator<Item = &'a str> {
        let agents = self.document.agents.iter().map(|a| a.name.text.as_str());
        agents.chain(self.functions.iter().map(|f| f.def.name.as_str()))
    }

    /// All that can be called.
    fn callable(&self, agent: &'a Agent) -> Vec<&'a str> {
        let blocks = agent.blocks.iter().map(|b| b.name.text.as_str());
        self.value_owners().chain(blocks.filter(|b| *b != "steps")).collect()
    }
}

/// Everything that names nothing, or something else than was meant.
pub fn check(scope: Scope<'_>, found: &mut Findings) {
    for agent in &scope.document.agents {
        policy(scope, agent, "fallback", agent.fallback.as_ref(), found);
        policy(scope, agent, "exit", agent.exit.as_ref(), found);
        members(scope, agent, found);
        for used in &agent.uses {
            function(scope, used, found);
        }
        places(agent, found);
        steps::check(scope, agent, found);
    }
    loops::check(scope, found);
    same_functions(scope, found);
    unreached(scope, found);
}

/// One word that is nearly an agent's name was hardly meant as a policy.
fn policy(scope: Scope<'_>, agent: &Agent, field: &str, policy: Option<&Word>, found: &mut Findings) {
    let Some(word) = policy else { return };
    let text = word.text.trim();
    if text.contains(char::is_whitespace) || text == "default" || scope.document.agent(text).is_some() {
        return;
    }
    let names = scope.document.agents.iter().map(|a| a.name.text.as_str()).chain(["default"]);
    if let Some(near) = like(text, names) {
        let message = format!("`{text}` names no agent, so it is taken for a policy in words (`{field}` of `{}`)", agent.name.text);
        found.warning("adl-policy-like-agent", word.span.clone(), message, format!("did you mean `{near}`?"));
    }
}

fn members(scope: Scope<'_>, agent: &Agent, found: &mut Findings) {
    for member in &agent.contains {
        let name = &member.agent.text;
        let Some(other) = scope.document.agent(name) else {
            let known = scope.document.agents.iter().map(|a| a.name.text.as_str()).filter(|n| *n != agent.name.text);
            let message = format!("`{}` contains `{name}`, but there is no such agent", agent.name.text);
            found.error("adl-unknown-agent", member.agent.span.clone(), message, nearest(name, known, "write the agent, or remove its name"));
            continue;
        };
        if reaches(scope, other, &agent.name.text, &mut vec![]) {
            let message =
                if *name == agent.name.text { format!("`{name}` contains itself") } else { format!("`{}` contains itself through `{name}`", agent.name.text) };
            found.error("adl-contains-itself", member.agent.span.clone(), message, "remove it from `contains`");
        }
        for (arg, to, reference) in &member.args {
            if !other.declares(&arg.text) {
                let message = format!("`{name}` has no argument `{}`", arg.text);
                found.error(
                    "adl-unknown-argument",
                    arg.span.clone(),
                    message,
                    nearest(&arg.text, other.arg_names(), &format!("declare it under `args` of `{name}`")),
                );
            }
            if agent.declares(&to.text) {
                continue;
            }
            let message = format!("`{}` is no argument of `{}`", to.text, agent.name.text);
            let help = nearest(&to.text, agent.arg_names(), &format!("declare it under `args` of `{}`", agent.name.text));
            if *reference {
                found.error("adl-unknown-argument", to.span.clone(), message, help);
            } else if scope.path(agent, &to.text).is_none() {
                found.warning("adl-unknown-value", to.span.clone(), message, help);
            }
        }
    }
}

/// Whether an agent contains another one, or is it.
fn reaches<'a>(scope: Scope<'a>, from: &'a Agent, to: &str, seen: &mut Vec<&'a str>) -> bool {
    if from.name.text == to {
        return true;
    }
    if seen.contains(&from.name.text.as_str()) {
        return false;
    }
    seen.push(&from.name.text);
    from.contains.iter().filter_map(|m| scope.document.agent(&m.agent.text)).any(|a| reaches(scope, a, to, seen))
}

/// A function that an llm agent may call.
fn function(scope: Scope<'_>, used: &Word, found: &mut Findings) {
    if !scope.complete || scope.function(&used.text).is_some() {
        return;
    }
    let known = scope.functions.iter().map(|f| f.def.name.as_str());
    let help = if used.text.starts_with('_') {
        "names that begin with `_` cannot be called".to_owned()
    } else {
        nearest(&used.text, known, "define it at the top level of a Python file of the program")
    };
    found.error("adl-unknown-function", used.span.clone(), format!("there is no function `{}`", used.text), help);
}

/// Labels and subflows have names of their own.
fn places(agent: &Agent, found: &mut Findings) {
    for (n, block) in agent.blocks.iter().enumerate() {
        let main = |b: &super::syntax::Block| b.name.text == "steps";
        if let Some(first) = agent.blocks.iter().take(n).find(|b| b.name.text == block.name.text && !main(b)) {
            let line = found.source().origin(first.name.span.clone()).line;
            let message = format!("`{}` has a second subflow `{}`; the first is in line {line}", agent.name.text, block.name.text);
            found.error("adl-subflow-twice", block.name.span.clone(), message, "rename one of them");
        }
    }
    let labels = agent.labels();
    for (n, label) in labels.iter().enumerate() {
        if let Some(first) = labels.iter().take(n).find(|l| l.text == label.text) {
            let line = found.source().origin(first.span.clone()).line;
            let message = format!("`{}` has a second label `{}`; the first is in line {line}", agent.name.text, label.text);
            found.error("adl-label-twice", label.span.clone(), message, "rename one of them: labels are unique within an agent");
        }
        if agent.blocks.iter().any(|b| b.name.text == label.text) {
            let message = format!("the label `{}` is called as a subflow of `{}`", label.text, agent.name.text);
            found.error("adl-label-like-subflow", label.span.clone(), message, "rename the label");
        }
    }
}

/// A function of one name in two files, if the program names it.
fn same_functions(scope: Scope<'_>, found: &mut Findings) {
    for agent in &scope.document.agents {
        let called = agent.steps().into_iter().filter_map(|s| match &s.kind {
            StepKind::Call { target, .. } if matches!(scope.callee(agent, &target.text), Some(Callee::Function(_))) => Some(target),
            _ => None,
        });
        for name in called.chain(&agent.uses) {
            let files: Vec<&str> = scope.functions.iter().filter(|f| f.def.name == name.text).map(|f| f.file.as_str()).collect();
            if files.len() > 1 {
                let message = format!("`{}` is defined in {}", name.text, files.iter().map(|f| format!("`{f}`")).collect::<Vec<_>>().join(" and in "));
                found.error("adl-function-twice", name.span.clone(), message, "rename one of them");
            }
        }
    }
}

/// Agents and subflows that nothing leads to.
fn unreached(scope: Scope<'_>, found: &mut Findings) {
    let mut open: Vec<&str> = vec!["main"];
    let mut seen: Vec<&str> = vec![];
    while let Some(name) = open.pop() {
        let Some(agent) = scope.document.agent(name).filter(|_| !seen.contains(&name)) else { continue };
        seen.push(&agent.name.text);
        open.extend(agent.contains.iter().map(|m| m.agent.text.as_str()));
        open.extend([&agent.fallback, &agent.exit].into_iter().flatten().map(|w| w.text.trim()));
        for step in agent.steps() {
            if let StepKind::Call { target, .. } = &step.kind {
                open.push(&target.text);
            }
        }
    }
    if scope.document.agent("main").is_none() {
        return;
    }
    for agent in scope.document.agents.iter().filter(|a| !seen.contains(&a.name.text.as_str())) {
        found.warning(
            "adl-unused",
            agent.name.span.clone(),
            format!("nothing leads from `main` to `{}`", agent.name.text),
            "call it, contain it in an ensemble, or remove it",
        );
    }
    for agent in scope.document.agents.iter().filter(|a| a.kind != Kind::Kb) {
        let named: Vec<&str> = agent
            .steps()
            .into_iter()
            .filter_map(|s| match &s.kind {
                StepKind::Call { target, .. } | StepKind::Next { target, .. } => Some(target.text.as_str()),
                _ => None,
            })
            .collect();
        for block in agent.blocks.iter().skip(1) {
            let inside = |label: &&Word| named.contains(&label.text.as_str()) && block.name.span.start < label.span.start;
            let mut steps = vec![];
            super::syntax::gather(&block.steps, &mut steps);
            let labels = steps.iter().filter_map(|s| if let StepKind::Label(l) = &s.kind { Some(l) } else { None });
            if !named.contains(&block.name.text.as_str()) && !labels.clone().any(|l| inside(&l)) && block.name.text != "steps" {
                let message = format!("nothing leads to the subflow `{}` of `{}`", block.name.text, agent.name.text);
                found.warning("adl-unused", block.name.span.clone(), message, format!("enter it by `next: {}`, or remove it", block.name.text));
            }
        }
    }
}
