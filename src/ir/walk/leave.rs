//! How agents end, step back and give up, and who goes on then.

use super::frame::{By, Outcome, Then};
use super::words::WORDS;
use super::{Stop, Walk};
use crate::ir::{Body, Policy};
use crate::term::Term;

impl Walk<'_> {
    /// The agent on top is done. What its author provides for a good end comes first; a team has its own time for that.
    pub(super) fn end(&mut self, outcome: Outcome) -> Result<(), Stop> {
        let policy = self.stands.frames.last().and_then(|top| self.program.agent(&top.agent)).filter(|a| !matches!(a.body, Body::Team { .. }));
        match policy.and_then(|a| a.exit.clone()).filter(|_| outcome.success) {
            Some(Policy::Agent(name)) => self.stand_in(&name, By::Exit, Then::End(outcome)),
            Some(Policy::Words(_)) => {
                self.word_exit(None)?;
                self.leave_top(outcome, false)
            }
            Some(Policy::Usual) | None => self.leave_top(outcome, false),
        }
    }

    /// Another agent takes over from the one on top; afterwards that does the rest.
    fn stand_in(&mut self, name: &str, by: By, then: Then) -> Result<(), Stop> {
        self.stands.frames.last_mut().into_iter().for_each(|top| top.then = Some(then.clone()));
        self.start(name, by)
    }

    /// The agent on top is over; who started it goes on.
    fn leave_top(&mut self, outcome: Outcome, left: bool) -> Result<(), Stop> {
        let Some(top) = self.stands.frames.pop() else { return Err(Stop::Waits) };
        self.tell("ends", vec![Term::string(&top.agent), Term::constant(outcome.status())]);
        self.stands.outcomes.insert((String::new(), top.agent.clone()), outcome.clone());
        self.turn.had.insert(top.agent.clone());
        match top.by {
            By::Main if self.program.agent(&top.agent).is_some_and(|a| matches!(a.body, Body::Know { .. })) => Err(Stop::Waits),
            By::Main => self.close(),
            By::Team => Ok(()),
            By::Call if left => self.ask_caller(),
            By::Call => Ok(()),
            By::Fallback | By::Exit => {
                self.turn.no_fallback |= top.by == By::Fallback && !outcome.success;
                match self.stands.frames.last_mut().and_then(|below| below.then.take()) {
                    Some(then) => self.then(then),
                    None => Ok(()),
                }
            }
        }
    }

    /// What was called was left: who called it is asked what the words mean to it; it steps back too, or goes on after the call.
    fn ask_caller(&mut self) -> Result<(), Stop> {
        let script = |f: &super::Frame| !f.opening && self.program.agent(&f.agent).is_some_and(|a| matches!(a.body, Body::Script(_)));
        if !self.stands.frames.last().is_some_and(script) || !self.extract()? {
            return Ok(());
        }
        self.leave(false)
    }

    /// The speaker leaves the script on top, which may have been waiting.
    pub(super) fn leave(&mut self, waited: bool) -> Result<(), Stop> {
        let main = self.stands.frames.last().is_some_and(|top| top.by == By::Main);
        self.give_up(match (main, waited) {
            (true, true) => Then::Wait,
            (true, false) => Then::GoOn,
            (false, _) => {
                // Taken up again it goes on where it waited: what it hears then is its answer.
                Then::StepBack
            }
        })
    }

    /// The agent on top gives up: what its author provides for that comes first.
    pub(super) fn give_up(&mut self, then: Then) -> Result<(), Stop> {
        let Some(top) = self.stands.frames.last() else { return Err(Stop::Waits) };
        let (name, stands_in) = (top.agent.clone(), top.by == By::Fallback);
        let policy = self.program.agent(&name).and_then(|a| a.fallback.clone()).filter(|_| !stands_in && !self.turn.no_fallback);
        let Some(policy) = policy else { return self.then(then) };
        if self.turn.fell.insert(name.clone()) {
            let misses = self.stands.misses.entry(name.clone()).or_default();
            *misses = misses.saturating_add(1);
        }
        match policy {
            Policy::Agent(agent) => self.stand_in(&agent, By::Fallback, then),
            Policy::Words(_) | Policy::Usual => {
                let ends = match self.next_answer("fallback", &[], |_, give| worded(give))? {
                    Some(((text, ends), input)) => {
                        self.tell_heed("fallback", input);
                        let text = self.filled(&text);
                        self.say(&text);
                        ends
                    }
                    None => {
                        self.tell("usual", vec![Term::string(&name)]);
                        self.say(&WORDS.sorry);
                        false
                    }
                };
                if ends { self.close() } else { self.then(then) }
            }
        }
    }

    fn then(&mut self, then: Then) -> Result<(), Stop> {
        match then {
            Then::Wait => {
                let Some(top) = self.stands.frames.last_mut() else { return Err(Stop::Waits) };
                let team = self.program.agent(&top.agent).is_some_and(|a| matches!(a.body, Body::Team { .. }));
                // Who stood in for a team may have heard later words to their end.
                if team && !self.turn.fell.contains(&top.agent) {
                    return Ok(());
                }
                top.waits = !team;
                Err(Stop::Waits)
            }
            Then::GoOn => {
                self.stands.frames.last_mut().into_iter().for_each(|top| top.fresh = false);
                Ok(())
            }
            Then::StepBack => self.step_back(),
            Then::End(outcome) => self.leave_top(outcome, false),
            Then::Leave(outcome) => self.leave_top(outcome, true),
        }
    }

    /// The agent on top steps back with the message. A team puts it aside as it stands.
    pub(super) fn step_back(&mut self) -> Result<(), Stop> {
        if self.stands.frames.last().is_none_or(|top| top.by != By::Team) {
            return self.leave_top(Outcome::error("left"), true);
        }
        let Some(top) = self.stands.frames.pop() else { return Err(Stop::Waits) };
        self.tell("steps_back", vec![Term::string(&top.agent)]);
        self.turn.had.insert(top.agent.clone());
        if let Some(team) = self.stands.frames.last_mut() {
            team.aside.retain(|f| f.agent != top.agent);
            team.aside.push(top);
        }
        Ok(())
    }

    /// Words an agent's farewell, if it is proposed; without, it is silent, or says what is usual. An end closes the conversation.
    pub(super) fn word_exit(&mut self, usual: Option<&str>) -> Result<(), Stop> {
        let name = self.own().to_owned();
        match self.next_answer("exit", &[], |_, give| worded(give))? {
            Some(((text, ends), input)) => {
                self.tell_heed("exit", input);
                let text = self.filled(&text);
                self.say(&text);
                if ends { self.close() } else { Ok(()) }
            }
            None => {
                if let Some(text) = usual {
                    self.tell("usual", vec![Term::string(&name)]);
                    self.say(text);
                }
                Ok(())
            }
        }
    }

    /// The conversation is over.
    pub(super) fn close(&mut self) -> Result<(), Stop> {
        self.stands.frames.clear();
        self.closed = true;
        Err(Stop::Ended)
    }
}

/// What a policy is worded as, and whether it ends the conversation: a text, or `{"bot","end"}`.
fn worded(give: &serde_json::Value) -> Result<(String, bool), String> {
    if let Some(text) = give.as_str() {
        return Ok((text.to_owned(), false));
    }
    let wrong = || "it is neither a text nor {\"bot\", \"end\"}".to_owned();
    let map = give.as_object().ok_or_else(wrong)?;
    let text = match map.get("bot") {
        None | Some(serde_json::Value::Null) => "",
        Some(text) => text.as_str().ok_or_else(wrong)?,
    };
    let ends = match map.get("end") {
        None | Some(serde_json::Value::Null) => false,
        Some(ends) => ends.as_bool().ok_or_else(wrong)?,
    };
    Ok((text.to_owned(), ends))
}
