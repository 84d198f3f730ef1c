//! Steps on the walk: what the next one says, sets, calls, chooses, and where it goes on.

use super::frame::{By, Open, Outcome};
use super::{MOST_OPEN, Stop, Walk};
use crate::ir::Body;
use crate::ir::script::{Block, Callee, StepKind, Way, place_of, way_to};
use crate::ir::value::Given;

impl Walk<'_> {
    /// Takes the next step of the agent on top.
    pub(super) fn step(&mut self, blocks: &[Block]) -> Result<(), Stop> {
        let Some(top) = self.stands.frames.last_mut() else { return Ok(()) };
        if top.waits {
            return Err(Stop::Waits);
        }
        let Some(open) = top.open.last_mut() else { return self.done(Outcome::success(), false) };
        let at = open.next;
        let block = blocks.iter().position(|b| b.name == open.block);
        let step = block.and_then(|b| blocks.get(b)).and_then(|b| Some((b.name.clone(), b.steps.get(at)?)));
        let Some((name, step)) = step else { return self.fall_off(blocks) };
        open.next += 1;
        let fresh = top.fresh;
        top.fresh = fresh && matches!(step.kind, StepKind::Label(_));
        if !matches!(step.kind, StepKind::Label(_) | StepKind::Choose(_)) {
            self.entered(blocks, None);
        }
        let key = format!("{name}#{at}");
        match &step.kind {
            StepKind::Wait if fresh && self.turn.message.is_some() => Ok(()),
            StepKind::Wait => {
                self.stands.frames.last_mut().into_iter().for_each(|top| top.waits = true);
                Err(Stop::Waits)
            }
            StepKind::Say(text) => {
                let text = self.filled(text);
                self.tell_step(&name, at);
                self.say(&text);
                Ok(())
            }
            StepKind::Set(all) => {
                self.tell_step(&name, at);
                for (path, given) in all {
                    let value = self.given(given);
                    self.set(path, value);
                }
                Ok(())
            }
            StepKind::Call { who: Callee::Function(function), with } => {
                self.tell_step(&name, at);
                let inputs = with.iter().map(|(input, given)| (input.clone(), self.given(given))).collect();
                self.call(function, inputs, Some((name, at)))
            }
            StepKind::Call { who: Callee::Agent(agent), with } => {
                self.tell_step(&name, at);
                self.call_agent(agent, with)
            }
            StepKind::Call { who: Callee::Block(to), .. } => {
                self.enter(to);
                Ok(())
            }
            StepKind::Choose(ways) => self.choose(blocks, &key, ways),
            StepKind::Label(_) => Ok(()),
            StepKind::Jump { to, tries } => {
                if self.may(&key, *tries) {
                    self.jump(blocks, to);
                }
                Ok(())
            }
            StepKind::Return { success, message } => {
                let message = self.filled(message);
                self.return_from(blocks, Outcome { success: *success, message })
            }
        }
    }

    /// Counts a step that has only so many tries in an activation; whether it has one left.
    fn may(&mut self, key: &str, tries: Option<u32>) -> bool {
        let (Some(most), Some(top)) = (tries, self.stands.frames.last_mut()) else { return true };
        let taken = top.tries.entry(key.to_owned()).or_default();
        *taken = taken.saturating_add(1);
        *taken <= most
    }

    fn choose(&mut self, blocks: &[Block], key: &str, ways: &[Way]) -> Result<(), Stop> {
        for (n, way) in ways.iter().enumerate() {
            if self.may(&format!("{key}#{n}"), way.tries) && self.holds(&way.guard)? {
                match way_to(blocks, &way.to).and_then(|b| blocks.get(b)) {
                    Some(block) if block.within.is_some() => self.open(block.name.clone()),
                    Some(block) => self.enter(&block.name),
                    None => {}
                }
                return Ok(());
            }
        }
        Ok(())
    }

    /// Enters a block, unless too many are open.
    fn enter(&mut self, block: &str) {
        if self.too_deep() {
            let own = self.own().to_owned();
            self.stands.outcomes.insert((own, block.to_owned()), Outcome::error("too deep"));
        } else {
            self.open(block.to_owned());
        }
    }

    fn open(&mut self, block: String) {
        self.stands.frames.last_mut().into_iter().for_each(|top| top.open.push(Open { block: block.clone(), ..Open::default() }));
    }

    /// Whether one more agent or block may be opened.
    fn too_deep(&self) -> bool {
        let blocks: usize = self.stands.frames.iter().map(|f| self.roots(f).saturating_sub(1)).sum();
        self.stands.frames.len() + blocks >= MOST_OPEN
    }

    /// How many blocks of an agent are open that are no branches.
    fn roots(&self, frame: &super::Frame) -> usize {
        let Some(agent) = self.program.agent(&frame.agent) else { return 0 };
        let blocks = agent.blocks();
        frame.open.iter().filter(|o| blocks.iter().any(|b| b.name == o.block && b.within.is_none())).count()
    }

    fn call_agent(&mut self, agent: &str, with: &[(String, Given)]) -> Result<(), Stop> {
        if self.too_deep() {
            self.stands.outcomes.insert((String::new(), agent.to_owned()), Outcome::error("too deep"));
            return Ok(());
        }
        for (arg, given) in with {
            let value = self.given(given);
            self.write(agent, arg, value);
        }
        self.start(agent, By::Call)
    }

    /// Goes on at a label or a block: back where that is open, leaving what is above it; else it is entered, and comes back.
    fn jump(&mut self, blocks: &[Block], to: &str) {
        let Some((block, step)) = place_of(blocks, to) else { return };
        // The branches that the place lies in, outermost last.
        let mut inside = vec![(block, step)];
        let mut at = block;
        while let Some((around, step)) = blocks.get(at).and_then(|b| b.within) {
            inside.push((around, step + 1));
            at = around;
        }
        let name = |b: usize| blocks.get(b).map_or_else(String::new, |b| b.name.clone());
        let root = name(at);
        let Some(top) = self.stands.frames.last() else { return };
        let open = top.open.iter().rposition(|o| o.block == root);
        if open.is_none() && self.too_deep() {
            return self.enter(&root);
        }
        let Some(top) = self.stands.frames.last_mut() else { return };
        let kept = open.unwrap_or(top.open.len());
        let last = open.and_then(|at| top.open.get(at)).and_then(|o| o.last.clone());
        top.open.truncate(kept);
        for (b, next) in inside.into_iter().rev() {
            let last = last.clone().filter(|_| name(b) == root);
            top.open.push(Open { block: name(b), next, last });
        }
    }

    /// Notes how the block ended that the last step of the innermost open block entered.
    fn entered(&mut self, blocks: &[Block], outcome: Option<Outcome>) {
        let root = |o: &&mut Open| blocks.iter().any(|b| b.name == o.block && b.within.is_none());
        let around = self.stands.frames.last_mut().and_then(|top| top.open.iter_mut().rev().find(root));
        around.into_iter().for_each(|o| o.last = outcome.clone());
    }

    /// The end of a block. A branch goes on after its step; another block ends as the block that its last step entered, or else well.
    fn fall_off(&mut self, blocks: &[Block]) -> Result<(), Stop> {
        let Some(open) = self.stands.frames.last_mut().and_then(|top| top.open.pop()) else { return Ok(()) };
        if blocks.iter().any(|b| b.name == open.block && b.within.is_some()) {
            return Ok(());
        }
        self.left_block(blocks, &open.block, open.last.unwrap_or_else(Outcome::success), false)
    }

    fn return_from(&mut self, blocks: &[Block], outcome: Outcome) -> Result<(), Stop> {
        loop {
            let Some(open) = self.stands.frames.last_mut().and_then(|top| top.open.pop()) else { return self.done(outcome, true) };
            if blocks.iter().any(|b| b.name == open.block && b.within.is_none()) {
                return self.left_block(blocks, &open.block, outcome, true);
            }
        }
    }

    fn left_block(&mut self, blocks: &[Block], block: &str, outcome: Outcome, returned: bool) -> Result<(), Stop> {
        if self.stands.frames.last().is_some_and(|top| top.open.is_empty()) {
            return self.done(outcome, returned);
        }
        let own = self.own().to_owned();
        self.stands.outcomes.insert((own, block.to_owned()), outcome.clone());
        self.entered(blocks, Some(outcome));
        Ok(())
    }

    /// The steps are over: a script ends so; after an opening comes the agent's body, unless a model's agent returned.
    fn done(&mut self, outcome: Outcome, returned: bool) -> Result<(), Stop> {
        let opening = self.stands.frames.last().is_some_and(|top| top.opening);
        if !opening {
            return self.end(outcome);
        }
        let Some(top) = self.stands.frames.last_mut() else { return Ok(()) };
        top.opening = false;
        top.open.clear();
        let talks = self.program.agent(&top.agent).is_some_and(|a| matches!(a.body, Body::Talk { .. }));
        if talks && returned { self.end(outcome) } else { Ok(()) }
    }
}
