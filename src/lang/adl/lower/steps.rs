//! Steps to blocks: a branch is a block of its own, within the step that chooses it.

use super::Lowering;
use crate::ir::guard::Guard;
use crate::ir::script::{self, Callee, Way};
use crate::lang::adl::error::path_of;
use crate::lang::adl::names;
use crate::lang::adl::syntax::{Agent, Block, Step, StepKind};

impl<'a> Lowering<'a> {
    /// The blocks of an agent: the main one first, then subflows, then branches.
    pub(super) fn blocks(self, agent: &'a Agent) -> Vec<script::Block> {
        let origin = |b: &Block| self.project.source.origin(b.name.span.clone());
        let mut out: Vec<script::Block> =
            agent.blocks.iter().map(|b| script::Block { name: b.name.text.clone(), steps: vec![], within: None, origin: origin(b) }).collect();
        for (n, block) in agent.blocks.iter().enumerate() {
            self.fill(agent, n, &block.steps, &mut out);
        }
        out
    }

    fn fill(self, agent: &'a Agent, block: usize, steps: &'a [Step], out: &mut Vec<script::Block>) {
        for (place, step) in steps.iter().enumerate() {
            let id = self.id(agent, step.span.start);
            let kind = match &step.kind {
                StepKind::If { branches, otherwise } => {
                    let mut ways = vec![];
                    for b in branches {
                        let to = format!("{}.then", self.id(agent, b.condition.span.start));
                        ways.push(Way { guard: self.guard(agent, &b.condition), tries: b.tries, to: to.clone() });
                        self.branch(agent, (block, place), to, &b.then, step, out);
                    }
                    if !otherwise.is_empty() {
                        let at = otherwise.first().map_or(step.span.start, |s| s.span.start);
                        let inner = self.id(agent, at);
                        // A list of steps has a place after `else`, a single step has none.
                        let to = inner.rsplit_once(".else").map_or_else(|| format!("{id}.else"), |(head, _)| format!("{head}.else"));
                        ways.push(Way { guard: Guard::All(vec![]), tries: None, to: to.clone() });
                        self.branch(agent, (block, place), to, otherwise, step, out);
                    }
                    script::StepKind::Choose(ways)
                }
                simple => self.simple(agent, simple),
            };
            let step = script::Step { id, kind, origin: self.project.source.origin(step.span.clone()) };
            if let Some(b) = out.get_mut(block) {
                b.steps.push(step);
            }
        }
    }

    fn branch(self, agent: &'a Agent, within: (usize, usize), name: String, steps: &'a [Step], of: &Step, out: &mut Vec<script::Block>) {
        let at = out.len();
        out.push(script::Block { name, steps: vec![], within: Some(within), origin: self.project.source.origin(of.span.clone()) });
        self.fill(agent, at, steps, out);
    }

    fn simple(self, agent: &'a Agent, kind: &'a StepKind) -> script::StepKind {
        match kind {
            StepKind::User => script::StepKind::Wait,
            StepKind::Bot(said) => script::StepKind::Say(said.text.clone()),
            StepKind::Set(pairs) => script::StepKind::Set(pairs.iter().map(|(to, value)| (self.path(agent, &to.text), self.given(agent, value))).collect()),
            StepKind::Call { target, args, tries } => {
                let with = || args.iter().map(|(name, value)| (name.text.clone(), self.given(agent, value))).collect();
                let who = match self.scope.callee(agent, &target.text) {
                    Some(names::Callee::Label) => return script::StepKind::Jump { to: target.text.clone(), tries: *tries },
                    Some(names::Callee::Block(b)) => Callee::Block(b.to_owned()),
                    Some(names::Callee::Function(_)) => Callee::Function(target.text.clone()),
                    Some(names::Callee::Agent(_)) | None => Callee::Agent(target.text.clone()),
                };
                script::StepKind::Call { who, with: with() }
            }
            StepKind::Label(label) => script::StepKind::Label(label.text.clone()),
            StepKind::Next { target, tries } => script::StepKind::Jump { to: target.text.clone(), tries: *tries },
            StepKind::Return { success, message } => script::StepKind::Return { success: *success, message: message.text.clone() },
            // Conditions are blocks, made by whoever asks for the other steps.
            StepKind::If { .. } => script::StepKind::Choose(vec![]),
        }
    }

    /// The place of a step as its author sees it, within its agent.
    fn id(self, agent: &Agent, at: usize) -> String {
        let mut path = path_of(self.root, at);
        if path.last().is_some_and(|last| last.parse::<usize>().is_err()) {
            path.pop();
        }
        let inside = path.strip_prefix(std::slice::from_ref(&agent.name.text)).unwrap_or(&path);
        inside.join(".")
    }
}
