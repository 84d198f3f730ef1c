//! Programs of patterns and classes run over the tokens of a chart.

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{Bind, Chart};
use crate::understand::embedded::grammar::{Program, Signs, Step};

/// Where a program ends, with its score and what fills its slots.
pub type Ending = (usize, f32, Vec<(u8, Bind)>);

/// How many words a gap may hold.
const GAP: usize = 8;
/// How many steps a program may take.
const BUDGET: usize = 6000;
/// How many slots may be filled on one way.
const FILLED: u8 = 12;

/// A way through a program, up to a step.
#[derive(Clone, Copy, Default)]
struct Thread {
    pc: usize,
    at: usize,
    score: f32,
    listing: bool,
    /// How many slots were filled, and the last one among [`Ways::filled`].
    slots: u8,
    last: usize,
}

/// The ways through a program that are still to be followed, with what they share.
#[derive(Default)]
pub(super) struct Ways {
    open: Vec<Thread>,
    /// What filled slots, each with the one filled before it.
    filled: Vec<(u8, Bind, usize)>,
    /// The best score with which each step was reached at each token: a worse way there is not followed.
    reached: FxHashMap<(usize, usize, bool), f32>,
}

impl Ways {
    fn clear(&mut self) {
        self.open.clear();
        self.filled.clear();
        self.reached.clear();
    }

    /// Whether a way is no better than one that came here before.
    fn is_beaten(&mut self, t: &Thread) -> bool {
        match self.reached.entry((t.pc, t.at, t.listing)) {
            Entry::Occupied(e) if *e.get() >= t.score => return true,
            Entry::Occupied(mut e) => *e.get_mut() = t.score,
            Entry::Vacant(e) => _ = e.insert(t.score),
        }
        false
    }

    /// What fills the slots of a way, in the order filled.
    fn binds(&self, t: &Thread) -> Vec<(u8, Bind)> {
        let mut out = Vec::with_capacity(usize::from(t.slots));
        let mut last = t.last;
        while let Some((var, bind, before)) = self.filled.get(last).filter(|_| out.len() < usize::from(t.slots)) {
            out.push((*var, bind.clone()));
            last = *before;
        }
        out.reverse();
        out
    }
}

impl Chart<'_> {
    /// Where a class that begins at a token may end, with scores.
    pub fn class_ends(&mut self, class: u16, at: usize) -> Arc<[(usize, f32)]> {
        if let Some(known) = self.classes.get(&(class, at)) {
            return known.clone();
        }
        let (model, rest) = (self.model, self.rest.get(at).copied().unwrap_or(0));
        let mut best: BTreeMap<usize, f32> = BTreeMap::new();
        let may = |p: &&Program| p.must.iter().all(|m| m & rest != 0);
        for (e, s, _) in model.classes.get(usize::from(class)).filter(may).map_or(vec![], |p| self.run(p, at)) {
            let b = best.entry(e).or_insert(f32::MIN);
            *b = b.max(s);
        }
        let ends: Arc<[(usize, f32)]> = best.into_iter().collect();
        self.classes.insert((class, at), ends.clone());
        ends
    }

    /// Runs a program from a token; ends with scores and bindings.
    pub fn run(&mut self, program: &Program, start: usize) -> Vec<Ending> {
        // A class within a program runs while the program does.
        let mut ways = self.spare.pop().unwrap_or_default();
        let out = self.follow(program, start, &mut ways);
        ways.clear();
        self.spare.push(ways);
        out
    }

    fn follow(&mut self, program: &Program, start: usize, ways: &mut Ways) -> Vec<Ending> {
        let mut out: Vec<Ending> = vec![];
        ways.open.push(Thread { at: start, ..Thread::default() });
        for _ in 1..BUDGET {
            let Some(t) = ways.open.pop() else { break };
            if t.slots > 0 && ways.is_beaten(&t) {
                continue;
            }
            match program.steps.get(t.pc) {
                None => {}
                Some(Step::Accept) => match out.iter_mut().find(|o| o.0 == t.at) {
                    Some(o) if o.1 >= t.score => {}
                    Some(o) => *o = (t.at, t.score, ways.binds(&t)),
                    None => out.push((t.at, t.score, ways.binds(&t))),
                },
                Some(Step::Jump(to)) => ways.open.push(Thread { pc: usize::from(*to), ..t }),
                Some(Step::Split(a, b)) => {
                    let here = self.signs_at(t.at, t.at == start || t.listing);
                    let may = |pc: &usize| program.next.get(*pc).is_none_or(|n| n & here != 0 || *n == Signs::MAX);
                    // The first is followed first.
                    ways.open.extend([usize::from(*b), usize::from(*a)].into_iter().filter(may).map(|pc| Thread { pc, ..t }));
                }
                Some(Step::Gap) => {
                    let mut cost = 0.0;
                    for at in t.at..=t.at + GAP {
                        ways.open.push(Thread { pc: t.pc + 1, at, score: t.score - cost, ..t });
                        let Some(c) = self.gap_cost(at) else { break };
                        cost += c;
                    }
                }
                Some(step) => {
                    let mut at = t.at;
                    let mut cost = 0.0;
                    loop {
                        self.consume(program, step, &Thread { score: t.score - cost, ..t }, at, ways);
                        if t.listing || t.at == start || at > t.at + 3 {
                            break;
                        }
                        match self.skippable(at) {
                            Some(c) => {
                                at += 1;
                                cost += c;
                            }
                            None => break,
                        }
                    }
                }
            }
        }
        out
    }

    /// Goes on behind what a step reads at a token.
    fn consume(&mut self, program: &Program, step: &Step, t: &Thread, at: usize, ways: &mut Ways) {
        let signs = program.next.get(t.pc + 1).copied().unwrap_or(Signs::MAX);
        let goes_on = |chart: &Self, end: usize| signs == Signs::MAX || signs & chart.signs_at(end, false) != 0;
        match step {
            Step::Word(w) => {
                if let Some(c) = self.tokens.get(at).and_then(|k| k.is(*w))
                    && goes_on(self, at + 1)
                {
                    ways.open.push(Thread { pc: t.pc + 1, at: at + 1, score: t.score + self.word_value(at) * c, ..*t });
                }
            }
            Step::Class(c) => {
                for (end, s) in self.class_ends(*c, at).iter() {
                    if goes_on(self, *end) {
                        ways.open.push(Thread { pc: t.pc + 1, at: *end, score: t.score + s, ..*t });
                    }
                }
            }
            Step::Slot { var, fill, list } => {
                for (end, s, bind) in self.fills(fill, at).iter() {
                    let (end, goes_on) = (*end, goes_on(self, *end));
                    if !goes_on && !*list {
                        continue;
                    }
                    let last = ways.filled.len();
                    ways.filled.push((*var, bind.clone(), t.last));
                    let next = Thread { pc: t.pc + 1, at: end, score: t.score + s, listing: false, slots: t.slots + 1, last };
                    if *list && next.slots < FILLED {
                        for (after, worth) in self.separators(end) {
                            ways.open.push(Thread { pc: t.pc, at: after, score: next.score + worth, listing: true, ..next });
                        }
                    }
                    if goes_on {
                        ways.open.push(next);
                    }
                }
            }
            _ => {}
        }
    }

    /// Places where a further member of a list may begin.
    fn separators(&self, at: usize) -> Vec<(usize, f32)> {
        let mut out = vec![];
        let mut i = at;
        let mut worth = 0.0;
        if self.tokens.get(i).is_some_and(|t| t.punct() == Some(',')) {
            i += 1;
            out.push((i, worth));
        }
        while self.tokens.get(i).is_some_and(|t| self.model.fillers.contains(&t.id)) {
            i += 1;
        }
        if self.tokens.get(i).is_some_and(|t| self.model.phrase.has("list", t.id)) {
            i += 1;
            worth += 0.5;
            out.push((i, worth));
            while self.tokens.get(i).is_some_and(|t| self.model.fillers.contains(&t.id) || t.punct() == Some(',')) {
                i += 1;
                out.push((i, worth));
            }
        }
        out
    }
}
