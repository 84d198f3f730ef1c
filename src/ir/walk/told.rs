//! What the walk tells the rules: what is done one after another, what holds then, and what is shown of it.

use serde_json::{Value, json};

use super::Walk;
use super::frame::{Stands, term};
use crate::term::{Atom, Term};

/// Lines of a conversation that are kept for who has to make sense of more.
const MOST_LINES: usize = 24;
/// The longest that is kept of one.
const LONGEST_LINE: usize = 500;

impl Walk<'_> {
    /// Tells that something is done, as the next.
    pub(super) fn tell(&mut self, what: &str, args: Vec<Term>) {
        self.turn.told = self.turn.told.saturating_add(1);
        self.tell_same(what, args);
    }

    /// Tells more of what is done.
    pub(super) fn tell_same(&mut self, what: &str, args: Vec<Term>) {
        self.out.push(Atom::new("walk", vec![Term::Int(self.turn.told), Term::Fun(what.into(), args)]));
    }

    pub(super) fn tell_step(&mut self, block: &str, at: usize) {
        let number = Term::number(at + 1);
        self.tell("step", vec![Term::string(self.own()), Term::string(block), number]);
    }

    /// Tells that a proposal is heeded, by its place among the inputs.
    pub(super) fn tell_heed(&mut self, ask: &str, input: i32) {
        self.tell("heeds", vec![Term::string(ask), Term::string(self.own()), Term::Int(input)]);
    }

    /// Says something, unless there is nothing to it.
    pub(super) fn say(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        self.turn.said = true;
        self.turn.texts.push(text.to_owned());
        self.tell_same("words", vec![Term::string(text)]);
        // Two messages of one step or proposal have places of their own.
        self.turn.told = self.turn.told.saturating_add(1);
    }

    /// Everything that the walk came to.
    pub(super) fn told(mut self, before: &[Atom], ended: bool) -> Vec<Atom> {
        let calls = self.turn.call.is_some();
        if calls {
            self.stands.turn = Some(std::mem::take(&mut self.turn));
        } else {
            self.settle_turn();
            self.show();
        }
        let mut out = std::mem::take(&mut self.out);
        let known = Stands::of(before).facts();
        for fact in self.stands.facts() {
            out.push(Atom::new("walk", vec![Term::Int(0), Term::Fun(if known.contains(&fact) { "stays" } else { "holds" }.into(), vec![fact.to_term()])]));
        }
        out.extend(ended.then(|| Atom::new("walk", vec![Term::Int(0), Term::Fun("end".into(), vec![Term::constant("done")])])));
        out
    }

    /// The turn is over: who fell back in it, and what was said.
    fn settle_turn(&mut self) {
        if self.turn.said {
            let fell = &self.turn.fell;
            self.stands.misses.retain(|agent, _| fell.contains(agent));
        }
        let short = |who: &str, text: &str| format!("{who}: {}", text.chars().take(LONGEST_LINE).collect::<String>());
        self.stands.lines.extend(self.turn.message.iter().map(|m| short("user", m)));
        self.stands.lines.extend(self.turn.texts.iter().map(|t| short("bot", t)));
        let over = self.stands.lines.len().saturating_sub(MOST_LINES);
        self.stands.lines.drain(..over);
    }

    /// What is shown of the conversation from now on.
    fn show(&mut self) {
        let text = |t: &str| Term::string(t);
        let mut shown = vec![];
        for agent in &self.program.agents {
            shown.push(("agent", vec![text(&agent.name)]));
            for arg in &agent.args {
                shown.push(("arg", vec![text(&agent.name), text(&arg.name), term(&self.reads(&agent.name, &arg.name))]));
            }
        }
        shown.extend(self.stands.gave.iter().map(|((function, field), v)| ("arg", vec![text(function), text(field), term(v)])));
        for ((_, name), outcome) in &self.stands.outcomes {
            shown.push(("outcome", vec![text(name), Term::constant(outcome.status()), text(&outcome.message)]));
        }
        shown.extend((1..).zip(&self.stands.frames).map(|(depth, f)| ("floor", vec![Term::number(depth), text(&f.agent)])));
        let list = |name: &'static str, all: &[Value]| (1..).zip(all).map(|(n, v)| (name, vec![Term::number(n), text(&v.to_string())])).collect::<Vec<_>>();
        shown.extend(list("asked", &self.turn.asked));
        shown.extend(list("refused", &self.turn.refused));
        shown.extend(list("warning", &self.turn.warnings.iter().map(|w| json!(w)).collect::<Vec<_>>()));
        if self.closed {
            shown.push(("closed", vec![Term::constant("true")]));
        }
        let told = |(name, args): (&str, Vec<Term>)| Atom::new("walk", vec![Term::Int(0), Term::Fun("shows".into(), vec![Term::Fun(name.into(), args)])]);
        self.out.extend(shown.into_iter().map(told));
    }
}
