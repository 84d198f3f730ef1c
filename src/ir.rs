//! The intermediate representation: what every authoring language lowers to, and what a domain is made of then.
//!
//! A front-end reads its files to a [`Program`] and lowers that to a [`crate::domain::Domain`]: a vocabulary, rules, facts about the program and
//! templates. The turn takes it from there; nothing here runs. docs/ir.md tells which construct of which language becomes what.

pub mod graph;
pub mod guard;
pub mod script;
pub mod standing;
pub mod value;

use crate::diag::Origin;
use crate::term::Atom;
use guard::Guard;

/// What somebody wrote in one of the authoring languages.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// Its agents.
    pub agents: Vec<Agent>,
    /// The agent that a conversation begins with.
    pub entry: String,
    /// What it may call.
    pub functions: Vec<Function>,
    /// What must hold before something is done.
    pub constraints: Vec<Constraint>,
    /// Where it was written.
    pub origin: Origin,
}

/// Somebody who takes part in conversations.
#[derive(Clone, Debug, PartialEq)]
pub struct Agent {
    /// Its name.
    pub name: String,
    /// What it is for, as far as its author says it.
    pub about: String,
    /// What it works on: the names of its values.
    pub args: Vec<String>,
    /// How it decides what to do next.
    pub body: Body,
    /// Where it was written.
    pub origin: Origin,
}

/// How an agent decides what to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// By the rules of these files.
    Rules(Vec<String>),
    /// By a graph of things to ask, to do and to say.
    Graph(Box<graph::Flow>),
    /// By steps, one after another.
    Script(Vec<script::Block>),
    /// By what a model proposes and rules permit.
    Talk {
        /// What the model is told.
        prompt: String,
        /// The functions that it may propose to call.
        uses: Vec<String>,
    },
    /// By what is found among questions with their answers.
    Know(Vec<(String, String)>),
    /// By choosing who of these answers.
    Team(Vec<String>),
}

/// A function of the outside world.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Inputs and their types as the author wrote them.
    pub inputs: Vec<(String, String)>,
    /// Inputs without which it cannot be called.
    pub required: Vec<String>,
    /// What it gives back.
    pub outputs: Vec<String>,
    /// Calling it twice does no more than calling it once.
    pub idempotent: bool,
    /// Where a result says that what was wished cannot be.
    pub refuses: Option<Guard>,
}

/// Something that must hold before a function is called.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// The function.
    pub call: String,
    /// What must hold.
    pub holds: Guard,
    /// Where it was written.
    pub origin: Origin,
}

impl Program {
    /// The agent that a conversation begins with.
    pub fn first(&self) -> Option<&Agent> {
        self.agents.iter().find(|a| a.name == self.entry)
    }

    /// The graph of the first agent, if it has one.
    pub fn graph(&self) -> Option<&graph::Flow> {
        match &self.first()?.body {
            Body::Graph(flow) => Some(flow),
            _ => None,
        }
    }

    /// The blocks of the first agent, if it is a script.
    pub fn script(&self) -> Option<&[script::Block]> {
        match &self.first()?.body {
            Body::Script(blocks) => Some(blocks),
            _ => None,
        }
    }
}

/// What is found out about a program before rules decide on these facts: which conditions hold, and where a script goes.
pub fn settle(program: Option<&Program>, guards: &[Guard], facts: &[Atom]) -> Vec<Atom> {
    let mut found = guard::settle(guards, facts);
    found.extend(program.map(|p| script::walk::walk(p, facts)).unwrap_or_default());
    found
}
