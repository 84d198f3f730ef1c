//! The walk: from where a script waits, step by step, until it waits again, calls or ends. A function of the facts that a round is decided on, like
//! the guards: what comes of it is facts of that round, so replay, proofs and the search walk the same way.
//!
//! `walk(N,step(Block,Step))`: as the N-th, this step is taken; `walk(N,words(Text))`, `walk(N,gives(Input,Value))`, `walk(N,value(Name,Value))`
//! tell what it says, calls with and sets. `walk(0,value(Name,Value))` is what stays or was said, `walk(0,at(Depth,Block,Step))` where it stands then,
//! and `walk(0,end(Status))` that it is over.

use super::{Block, Callee, Step, StepKind, place_of, way_to};
use crate::ir::Program;
use crate::ir::guard::{Guard, Truth};
use crate::ir::standing::Standing;
use crate::ir::value::{Given, Path, Value};
use crate::term::{Atom, Term};

/// Steps in a round; whoever takes more is in an endless loop.
const MOST_STEPS: usize = 10_000;
/// What is told of an endless loop; the rest of it says the same again.
const MOST_TOLD: usize = 1_000;
/// Blocks that may be open at once.
const MOST_OPEN: usize = 64;

/// What the walk of a program's first agent comes to, if that is a script.
pub fn walk(program: &Program, facts: &[Atom]) -> Vec<Atom> {
    let Some(blocks) = program.script() else { return vec![] };
    let mut walk = Walk { blocks, facts: facts.to_vec(), open: vec![], taken: 0, out: vec![], set_by: vec![] };
    walk.hear();
    walk.take_up(facts.iter().any(|a| &*a.name == "in"));
    let ended = walk.go();
    walk.told(ended)
}

struct Walk<'a> {
    blocks: &'a [Block],
    /// The facts, with the values as they are by now.
    facts: Vec<Atom>,
    /// The open blocks, each with the step that comes next.
    open: Vec<(usize, usize)>,
    taken: i32,
    out: Vec<Atom>,
    /// Which step set a value.
    set_by: Vec<(String, i32)>,
}

impl Walk<'_> {
    /// What the speaker gives is known from now on.
    fn hear(&mut self) {
        let said = std::mem::take(&mut self.facts);
        let (given, rest): (Vec<Atom>, Vec<Atom>) = said.into_iter().partition(|a| gives(a).is_some());
        self.facts = rest;
        for (name, value) in given.iter().filter_map(gives) {
            self.set(&name, Some(value));
        }
    }

    /// Goes on after the step where it stood. A place that the program does not have any more begins it anew.
    fn take_up(&mut self, heard: bool) {
        let mut stored: Vec<(i32, Option<(usize, usize)>)> = self.facts.iter().filter_map(|a| self.place(a)).collect();
        stored.sort_unstable();
        self.open = stored.iter().map(|(_, place)| *place).collect::<Option<_>>().unwrap_or_default();
        if self.open.is_empty() {
            // The words that begin a conversation are the first that it waits for.
            self.open.push((0, usize::from(heard && matches!(self.step(0, 0), Some(Step { kind: StepKind::Wait, .. })))));
        }
    }

    /// The step after the one that a fact says was taken last.
    fn place(&self, stored: &Atom) -> Option<(i32, Option<(usize, usize)>)> {
        match (&*stored.name, stored.args.as_slice()) {
            ("at", [Term::Int(depth), block, Term::Int(step)]) => {
                let block = self.blocks.iter().position(|b| Some(b.name.as_str()) == block.as_name());
                let taken = usize::try_from(*step).ok();
                Some((*depth, block.zip(taken).filter(|(b, k)| k.checked_sub(1).is_some_and(|k| self.step(*b, k).is_some()))))
            }
            _ => None,
        }
    }

    fn step(&self, block: usize, step: usize) -> Option<&Step> {
        self.blocks.get(block)?.steps.get(step)
    }

    /// Takes steps; how it ended, if it did.
    fn go(&mut self) -> Option<&'static str> {
        let blocks = self.blocks;
        for _ in 0..MOST_STEPS {
            let Some(&(b, k)) = self.open.last() else { return Some("done") };
            let Some(step) = blocks.get(b).and_then(|b| b.steps.get(k)) else {
                self.open.pop();
                continue;
            };
            self.taken += 1;
            let (n, number) = (self.taken, Term::Int(i32::try_from(k + 1).unwrap_or(i32::MAX)));
            let name = blocks.get(b).map_or("", |b| b.name.as_str());
            // Of a step that only goes on elsewhere there is nothing to decide.
            if !matches!(step.kind, StepKind::Label(_) | StepKind::Jump { .. } | StepKind::Choose(_) | StepKind::Return { .. }) {
                self.tell(n, "step", vec![Term::string(name), number]);
            }
            match &step.kind {
                StepKind::Wait => return None,
                StepKind::Say(text) => {
                    let text = self.filled(text);
                    self.tell(n, "words", vec![Term::string(&text)]);
                }
                StepKind::Set(all) => {
                    for (Path { name, .. }, given) in all {
                        let value = self.given(given).as_ref().and_then(term);
                        self.set(name, value);
                        self.set_by.retain(|(known, _)| known != name);
                        self.set_by.push((name.clone(), n));
                    }
                }
                StepKind::Call { who: Callee::Agent(_) | Callee::Block(_), .. } => {}
                StepKind::Call { who: Callee::Function(_), with } => {
                    for (input, given) in with {
                        if let Some(value) = self.given(given).as_ref().and_then(term) {
                            self.tell(n, "gives", vec![Term::string(input), value]);
                        }
                    }
                    return None;
                }
                StepKind::Choose(ways) => {
                    let first = self.first_guard(b, k);
                    let way =
                        (first..).zip(ways).find(|(number, way)| self.holds(&way.guard, *number)).and_then(|(_, way)| Some((way_to(blocks, &way.to)?, 0)));
                    self.next();
                    self.open.extend(way);
                }
                StepKind::Label(_) => {}
                StepKind::Jump { to, .. } => {
                    if let Some((b, k)) = place_of(blocks, to) {
                        match self.open.iter().rposition(|(open, _)| *open == b) {
                            Some(at) => self.open.truncate(at),
                            None => self.next(),
                        }
                        self.open.push((b, k));
                    }
                }
                StepKind::Return { .. } => drop(self.open.pop()),
            }
            if matches!(step.kind, StepKind::Say(_) | StepKind::Set(..) | StepKind::Label(_) | StepKind::Call { .. }) {
                self.next();
            }
            if self.open.len() > MOST_OPEN {
                return Some("too_deep");
            }
        }
        self.out.truncate(MOST_TOLD);
        Some("endless_loop")
    }

    fn next(&mut self) {
        if let Some(top) = self.open.last_mut() {
            top.1 += 1;
        }
    }

    fn tell(&mut self, n: i32, what: &str, args: Vec<Term>) {
        self.out.push(Atom::new("walk", vec![Term::Int(n), Term::Fun(what.into(), args)]));
    }

    fn set(&mut self, name: &str, value: Option<Term>) {
        self.facts.retain(|a| !(&*a.name == "value" && a.args.len() == 2 && a.args.first().and_then(Term::as_name) == Some(name)));
        self.facts.extend(value.map(|v| Atom::new("value", vec![Term::string(name), v])));
    }

    fn given(&self, given: &Given) -> Option<Value> {
        match given {
            Given::Is(value) => Some(value.clone()),
            Given::Of(path) => Standing::of(&self.facts).find(path),
        }
    }

    /// Whether a condition holds: by what is known, or because whoever listens said so.
    fn holds(&self, guard: &Guard, number: usize) -> bool {
        let number = Term::Int(i32::try_from(number).unwrap_or(i32::MAX));
        let agreed = Term::Fun("agreed".into(), vec![number]);
        guard.truth(&Standing::of(&self.facts)) == Truth::Yes || self.facts.iter().any(|a| &*a.name == "in" && a.args.get(1) == Some(&agreed))
    }

    /// The number of a step's first condition among all of the program's.
    fn first_guard(&self, block: usize, step: usize) -> usize {
        let ways = |s: &Step| if let StepKind::Choose(ways) = &s.kind { ways.len() } else { 0 };
        let before = self.blocks.iter().enumerate().flat_map(|(b, block)| block.steps.iter().enumerate().map(move |(k, s)| ((b, k), s)));
        before.take_while(|(place, _)| *place < (block, step)).map(|(_, s)| ways(s)).sum()
    }

    /// A text with values in place of `${name}`; what has none is left out.
    fn filled(&self, text: &str) -> String {
        let (mut out, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once("${") {
            let Some((name, after)) = after.split_once('}') else { break };
            let path = match name.trim().rsplit_once('.') {
                Some((function, field)) => Path::of(function, field),
                None => Path::named(name.trim()),
            };
            out.push_str(before);
            out.push_str(&Standing::of(&self.facts).find(&path).map_or_else(String::new, |v| v.to_string()));
            rest = after;
        }
        out + rest
    }

    /// Everything that the walk came to.
    fn told(mut self, ended: Option<&'static str>) -> Vec<Atom> {
        let values: Vec<(String, Term)> = Standing::of(&self.facts).values().map(|(name, v)| (name.to_owned(), v.clone())).collect();
        for (name, value) in values {
            let by = self.set_by.iter().find(|(known, _)| *known == name).map_or(0, |(_, n)| *n);
            self.tell(by, "value", vec![Term::string(&name), value]);
        }
        match ended {
            Some(status) => self.tell(0, "end", vec![Term::constant(status)]),
            None => {
                // Of the blocks below the top the next step is known, at the top it stands at the one just taken.
                let top = self.open.len();
                let places: Vec<(usize, usize, usize)> = (1..).zip(&self.open).map(|(depth, (b, k))| (depth, *b, k + usize::from(depth == top))).collect();
                let int = |n: usize| Term::Int(i32::try_from(n).unwrap_or(i32::MAX));
                for (depth, b, taken) in places {
                    let block = Term::string(self.blocks.get(b).map_or("", |b| b.name.as_str()));
                    self.tell(0, "at", vec![int(depth), block, int(taken)]);
                }
            }
        }
        self.out
    }
}

fn gives(a: &Atom) -> Option<(String, Term)> {
    match a.args.as_slice() {
        [_, Term::Fun(said, args)] if &*a.name == "in" && &**said == "gives" => Some((args.first()?.as_name()?.to_owned(), args.get(1)?.clone())),
        _ => None,
    }
}

/// A value as rules hand it on; none is none.
fn term(value: &Value) -> Option<Term> {
    Some(match value {
        Value::None => return None,
        Value::Boolean(b) => Term::constant(if *b { "true" } else { "false" }),
        Value::Integer(n) => i32::try_from(*n).map_or_else(|_| Term::string(&n.to_string()), Term::Int),
        Value::Decimal(_) | Value::Text(_) | Value::List(_) | Value::Map(_) => Term::string(&value.to_string()),
    })
}
