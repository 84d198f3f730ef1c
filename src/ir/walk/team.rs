//! Teams on the walk: who answers a message, and what becomes of one that nobody answers; silence.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::frame::{By, Frame, Outcome, Then};
use super::words::WORDS;
use super::{Stop, Walk};
use crate::ir::{Agent, Body, Member, Policy};
use crate::term::Term;

/// Who is chosen.
enum Choice {
    Member(String),
    Nobody,
    Exit,
    Clarify(String),
}

/// How often, and after how many seconds each time, it is usual to ask somebody who is silent whether there is more.
const USUAL_TIMES: usize = 3;
const USUAL_SECONDS: u64 = 30;

impl Walk<'_> {
    /// The team on top has a message: somebody who did not have it answers, as long as there is one.
    pub(super) fn route(&mut self, agent: &Agent, members: &[Member]) -> Result<(), Stop> {
        if self.turn.message.is_none() {
            return Err(Stop::Waits);
        }
        let mut may: Vec<String> = vec![];
        for member in members {
            if !self.turn.had.contains(&member.agent) && !may.contains(&member.agent) {
                may.push(member.agent.clone());
            }
        }
        let choice = if may.is_empty() {
            None
        } else {
            let all: Vec<String> =
                may.iter().cloned().chain(["none".to_owned(), "fallback".to_owned()]).chain(agent.exit.iter().map(|_| "exit".to_owned())).collect();
            let exits = agent.exit.is_some();
            self.next_answer("route", &all, |_, give| choice(give, &may, members, exits))?
        };
        match choice {
            Some((Choice::Member(name), input)) => {
                self.tell_heed("route", input);
                self.tell("routes", vec![Term::string(&agent.name), Term::string(&name)]);
                self.send_to(&name)
            }
            Some((Choice::Clarify(text), input)) => {
                self.tell_heed("route", input);
                let text = self.filled(&text);
                self.say(&text);
                Err(Stop::Waits)
            }
            Some((Choice::Exit, input)) => {
                self.tell_heed("route", input);
                self.exit(agent)
            }
            Some((Choice::Nobody, _)) | None => self.nobody(agent),
        }
    }

    fn send_to(&mut self, name: &str) -> Result<(), Stop> {
        let Some(top) = self.stands.frames.last_mut() else { return Err(Stop::Waits) };
        let Some(at) = top.aside.iter().position(|f| f.agent == name) else { return self.start(name, By::Team) };
        let frame = Frame { rounds: 0, ..top.aside.remove(at) };
        self.tell("takes_up", vec![Term::string(name)]);
        self.stands.frames.push(frame);
        self.receive()
    }

    fn nobody(&mut self, agent: &Agent) -> Result<(), Stop> {
        if self.turn.said {
            return Err(Stop::Waits);
        }
        let falls = agent.fallback.is_some() && !self.turn.no_fallback && self.stands.frames.last().is_some_and(|top| top.by != By::Fallback);
        match self.stands.frames.last().map(|top| top.by) {
            _ if falls => self.give_up(Then::Wait),
            Some(By::Team) => self.step_back(),
            _ => Err(Stop::Waits),
        }
    }

    fn exit(&mut self, agent: &Agent) -> Result<(), Stop> {
        match &agent.exit {
            Some(Policy::Agent(name)) => {
                self.stands.frames.last_mut().into_iter().for_each(|top| top.then = Some(Then::End(Outcome::success())));
                self.start(name, By::Exit)
            }
            Some(Policy::Words(_) | Policy::Usual) => {
                self.word_exit(None)?;
                self.end(Outcome::success())
            }
            None => self.end(Outcome::success()),
        }
    }

    /// Nobody spoke for so long: what the innermost team that knows of silence does about it.
    pub(super) fn silence(&mut self, seconds: u64) -> Result<(), Stop> {
        let mut teams = self.stands.frames.iter().enumerate().rev().filter_map(|(at, f)| match self.program.agent(&f.agent) {
            Some(Agent { body: Body::Team { .. }, exit: Some(exit), .. }) => {
                let times: Vec<u64> = match exit {
                    Policy::Agent(_) => vec![],
                    Policy::Words(text) => durations(text),
                    Policy::Usual => (1..=USUAL_TIMES as u64 + 1).map(|n| n * USUAL_SECONDS).collect(),
                };
                (!times.is_empty()).then_some((at, *exit == Policy::Usual, times))
            }
            _ => None,
        });
        let Some((at, usual, times)) = teams.next() else { return Err(Stop::Waits) };
        while times.get(self.stands.silences).is_some_and(|t| *t <= seconds) {
            self.stands.silences += 1;
            let above = self.stands.frames.split_off(at + 1);
            let last = usual && self.stands.silences > USUAL_TIMES;
            let said = self.turn.said;
            self.turn.said = false;
            let done = self.word_exit(usual.then_some(if last { WORDS.goodbye.as_str() } else { WORDS.anything_else.as_str() }));
            let spoke = self.turn.said;
            self.turn.said |= said;
            done?;
            if last {
                return self.close();
            }
            if !spoke {
                // Nothing is said to somebody who is gone: it is over.
                return self.end(Outcome::success());
            }
            self.stands.frames.extend(above);
        }
        Err(Stop::Waits)
    }
}

fn choice(give: &Value, may: &[String], members: &[Member], exits: bool) -> Result<Choice, String> {
    if let Some(text) = give.as_object().filter(|m| m.len() == 1).and_then(|m| m.get("clarify")).and_then(Value::as_str) {
        return Ok(Choice::Clarify(text.to_owned()));
    }
    let Some(name) = give.as_str() else { return Err("it is neither a name nor {\"clarify\"}".to_owned()) };
    match name {
        _ if may.iter().any(|m| m == name) => Ok(Choice::Member(name.to_owned())),
        _ if members.iter().any(|m| m.agent == name) => Err(format!("`{name}` had this message")),
        "none" | "fallback" => Ok(Choice::Nobody),
        "exit" if exits => Ok(Choice::Exit),
        "exit" => Err("no exit is provided for".to_owned()),
        _ => Err(format!("`{name}` is none of those who can answer")),
    }
}

/// The durations that a text names, as seconds since somebody spoke: each comes on top of the one before where it says so or is no longer.
fn durations(text: &str) -> Vec<u64> {
    static DURATION: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?i)\b(another |further |more )?(\d+|[a-z]+)[ -]?(more |further )?(s|secs?|seconds?|m|mins?|minutes?)\b").ok());
    let mut out: Vec<u64> = vec![];
    for found in DURATION.iter().flat_map(|d| d.captures_iter(text)) {
        let part = |n: usize| found.get(n).map(|m| m.as_str().to_lowercase());
        let Some(number) = part(2).and_then(|n| n.parse().ok().or_else(|| WORDS.numbers.iter().position(|w| *w == n).map(|n| n as u64))) else { continue };
        let seconds = if part(4).is_some_and(|unit| unit.starts_with('m')) { number * 60 } else { number };
        let before = out.last().copied().unwrap_or_default();
        let on_top = part(1).is_some() || part(3).is_some() || seconds <= before;
        out.push(if on_top { before + seconds } else { seconds });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::durations;

    #[test]
    fn durations_are_thresholds_in_order() {
        assert_eq!(durations("If silent after 5 seconds, ask; after another 30 seconds say goodbye"), [5, 35]);
        assert_eq!(durations("after 2 minutes, then after 5 minutes"), [120, 300]);
        assert_eq!(durations("wait ten seconds and then 10 seconds more"), [10, 20]);
        assert_eq!(durations("say goodbye"), [0u64; 0]);
    }
}
