//! The walk: from where a conversation with agents stands, step by step, until somebody waits, calls or is done. A function of the facts that a round
//! is decided on, like the guards: what comes of it is facts of that round, so replay, proofs and the search walk the same way.
//!
//! `walk(N,…)` tells what is done as the N-th, `walk(0,…)` what holds then and is shown of it; `rules/core/agents.lp` makes acts, calls and effects
//! of what is permitted of it.

mod asks;
mod calls;
mod frame;
mod leave;
mod script;
mod talk;
mod team;
mod told;
mod values;
mod words;

pub use asks::{Question, proposed};
pub use frame::value;

use serde_json::Value;

use super::{Body, Program};
use crate::term::{Atom, Term};
use asks::Proposal;
use frame::{By, Frame, Open, Outcome, Stands, Turn};

/// Steps in a turn without waiting; whoever takes more is in an endless loop.
const MOST_STEPS: usize = 10_000;
/// Steps that are left after each time that this was found.
const MORE_STEPS: usize = 500;
/// Agents and blocks that may be open at once.
const MOST_OPEN: usize = 64;
/// Calls of functions in a turn.
pub const MOST_CALLS: usize = 250;

/// Why the walk stops.
#[derive(Clone, Debug, PartialEq)]
enum Stop {
    /// Somebody waits for a message.
    Waits,
    /// A function is called.
    Calls,
    /// The conversation is over.
    Ended,
    /// Nobody answered this yet.
    Asks(Box<Question>),
}

/// What the walk comes to, if the program is one of agents.
pub fn walk(program: &Program, facts: &[Atom]) -> Vec<Atom> {
    if !program.walks() {
        return vec![];
    }
    let mut walk = Walk::new(program, facts, false);
    let ended = walk.turn(facts) == Stop::Ended;
    walk.told(facts, ended)
}

/// What has to be asked next, if the turn cannot go on without.
pub fn question(program: &Program, facts: &[Atom]) -> Option<Question> {
    match Walk::new(program, facts, true).turn(facts) {
        Stop::Asks(question) => Some(*question),
        _ => None,
    }
}

struct Walk<'a> {
    program: &'a Program,
    sender: String,
    stands: Stands,
    turn: Turn,
    proposals: Vec<Proposal>,
    /// A question that nobody answered stops the walk; otherwise it counts as what is usual.
    asking: bool,
    /// What is told of this round.
    out: Vec<Atom>,
    /// The conversation is closed.
    closed: bool,
}

/// What arrives with a turn.
enum Arrives {
    /// Nothing: the conversation is opened.
    Nothing,
    /// Words, or a choice.
    Message(String),
    /// Nobody spoke for so many seconds.
    Silence(u64),
}

impl<'a> Walk<'a> {
    fn new(program: &'a Program, facts: &[Atom], asking: bool) -> Self {
        let stands = Stands::of(facts);
        let heard = |name: &str| facts.iter().filter(|a| &*a.name == name).filter_map(|a| Some((a.args.first()?, a.args.get(1)?))).collect::<Vec<_>>();
        let inputs = heard("heard").into_iter().chain(heard("in"));
        let proposals = inputs.filter_map(|(at, said)| Proposal::read(at, said)).collect();
        let sender = facts.iter().find(|a| &*a.name == "sender").and_then(|a| a.args.first()?.as_name()).unwrap_or_default().to_owned();
        Self { program, sender, stands, turn: Turn::default(), proposals, asking, out: vec![], closed: false }
    }

    /// A turn, or the rest of one that waited for a call.
    fn turn(&mut self, facts: &[Atom]) -> Stop {
        self.mend();
        if let Some(turn) = self.stands.turn.take() {
            self.turn = turn;
            let came = facts.iter().find(|a| &*a.name == "came").and_then(|a| a.args.get(1)?.as_name()).and_then(|t| serde_json::from_str::<Value>(t).ok());
            let broken = came.is_none();
            let came = came.unwrap_or_else(|| serde_json::json!({ "error": "interrupted" }));
            let stop = match self.came(&came) {
                Ok(()) => self.go(),
                Err(stop) => stop,
            };
            if !broken || stop != Stop::Waits {
                return stop;
            }
            // The turn of before is at its end; what arrived begins another one.
            self.turn = Turn { told: self.turn.told, ..Turn::default() };
        }
        match arrives(facts) {
            Arrives::Silence(seconds) => match self.silence(seconds) {
                Ok(()) => self.go(),
                Err(stop) => stop,
            },
            Arrives::Message(text) if text.starts_with("/click link") => Stop::Waits,
            Arrives::Message(text) => {
                self.turn.click = text.strip_prefix("/click:").map(|b| b.trim().to_owned());
                self.stands.heard = Some(text.clone());
                self.stands.silences = 0;
                self.turn.message = Some(text);
                self.begin()
            }
            Arrives::Nothing if self.stands.frames.is_empty() => self.begin(),
            Arrives::Nothing => Stop::Waits,
        }
    }

    /// A message goes to the agent on top; if there is none, the conversation begins.
    fn begin(&mut self) -> Stop {
        for frame in &mut self.stands.frames {
            frame.rounds = 0;
        }
        let begun = if self.stands.frames.is_empty() { self.start(&self.program.entry.clone(), By::Main) } else { self.receive() };
        match begun {
            Ok(()) => self.go(),
            Err(stop) => stop,
        }
    }

    /// Goes on until something stops it.
    fn go(&mut self) -> Stop {
        loop {
            self.turn.steps += 1;
            let most = MOST_STEPS + self.turn.breaches * MORE_STEPS;
            let done = if self.turn.steps > most {
                self.turn.breaches += 1;
                if self.turn.breaches > MOST_OPEN { self.close() } else { self.end(Outcome::error("endless loop")) }
            } else {
                self.act()
            };
            if let Err(stop) = done {
                return stop;
            }
        }
    }

    /// What the agent on top does next.
    fn act(&mut self) -> Result<(), Stop> {
        let Some(top) = self.stands.frames.last() else { return Err(Stop::Waits) };
        let Some(agent) = self.program.agent(&top.agent) else { return self.end(Outcome::error("no such agent")) };
        match &agent.body {
            _ if top.wish.is_some() => Err(Stop::Waits),
            _ if top.opening => self.step(&agent.opening),
            Body::Script(blocks) => self.step(blocks),
            Body::Talk { uses, .. } => self.reply(uses),
            Body::Know { .. } => self.answer(),
            Body::Team { members, .. } => self.route(agent, members),
            Body::Rules(_) | Body::Graph(_) => self.end(Outcome::error("it is no agent of this kind")),
        }
    }

    /// Starts an agent with the message at hand.
    fn start(&mut self, name: &str, by: By) -> Result<(), Stop> {
        let Some(agent) = self.program.agent(name) else { return Ok(()) };
        let script = matches!(agent.body, Body::Script(_));
        let opening = !agent.opening.is_empty() && !script;
        let blocks = agent.blocks();
        let open = blocks.first().map(|b| Open { block: b.name.clone(), ..Open::default() }).filter(|_| script || opening);
        let fresh = self.turn.message.is_some();
        self.tell("starts", vec![Term::string(name), Term::constant(by.name())]);
        self.stands.frames.push(Frame { agent: name.to_owned(), by, opening, open: open.into_iter().collect(), fresh, ..Frame::default() });
        if script && self.extract()? { self.leave(false) } else { Ok(()) }
    }

    /// The agent on top gets a message.
    fn receive(&mut self) -> Result<(), Stop> {
        if self.stands.frames.last().is_some_and(|top| top.wish.is_some()) {
            return self.decide_wish();
        }
        let Some(top) = self.stands.frames.last_mut() else { return Ok(()) };
        let waited = std::mem::take(&mut top.waits);
        let script = !top.opening && self.program.agent(&top.agent).is_some_and(|a| matches!(a.body, Body::Script(_)));
        if script && self.extract()? { self.leave(waited) } else { Ok(()) }
    }

    /// Where the program changed under the conversation, an agent whose place is gone begins anew.
    fn mend(&mut self) {
        let program = self.program;
        let known = self.stands.frames.iter().take_while(|f| program.agent(&f.agent).is_some()).count();
        self.stands.frames.truncate(known);
        let mut anew = vec![];
        for frame in &mut self.stands.frames {
            let Some(agent) = program.agent(&frame.agent) else { continue };
            let blocks = agent.blocks();
            let stands = |o: &Open| blocks.iter().any(|b| b.name == o.block && o.next <= b.steps.len());
            if !frame.open.iter().all(stands) {
                frame.open = blocks.first().map(|b| Open { block: b.name.clone(), ..Open::default() }).into_iter().collect();
                frame.waits = false;
                anew.push(frame.agent.clone());
            }
        }
        for agent in anew {
            self.warn(format!("the program changed, and `{agent}` begins anew"));
        }
    }

    fn warn(&mut self, text: String) {
        if !self.turn.warnings.contains(&text) {
            self.turn.warnings.push(text);
        }
    }
}

impl By {
    fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Team => "team",
            Self::Call => "call",
            Self::Fallback => "fallback",
            Self::Exit => "exit",
        }
    }
}

fn arrives(facts: &[Atom]) -> Arrives {
    let said = facts.iter().filter(|a| matches!(&*a.name, "in" | "heard")).filter_map(|a| match a.args.get(1)? {
        Term::Fun(name, args) => Some((&**name, args.first()?)),
        _ => None,
    });
    for (name, arg) in said {
        match (name, arg) {
            ("message", text) => {
                let text = text.as_name().unwrap_or_default();
                return if text.trim() == "/init" { Arrives::Nothing } else { Arrives::Message(text.to_owned()) };
            }
            ("silent", Term::Int(n)) => return Arrives::Silence(u64::try_from(*n).unwrap_or_default()),
            _ => {}
        }
    }
    Arrives::Nothing
}
