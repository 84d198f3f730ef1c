//! The intermediate representation: what every authoring language lowers to, and what a domain is made of then.
//!
//! A front-end reads its files to a [`Program`] and lowers that to a [`crate::domain::Domain`]: a vocabulary, rules, facts about the program and
//! templates. The turn takes it from there; nothing here runs. docs/ir.md tells which construct of which language becomes what.

pub mod draw;
pub mod graph;
pub mod guard;
pub mod kind;
pub mod pattern;
pub mod script;
pub mod standing;
pub mod value;
pub mod walk;

use std::path::PathBuf;

use crate::diag::Origin;
use crate::term::Atom;
use guard::Guard;
use kind::Kind;
use value::Given;

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
    /// What stands beside its text.
    pub project: Project,
    /// Where it was written.
    pub origin: Origin,
}

/// What a program has beside its text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Project {
    /// The folder that its functions run in, if it is one.
    pub folder: Option<PathBuf>,
    /// Files with functions, each a module of its own.
    pub python: Vec<PathBuf>,
    /// Names of the environment's variables that functions see.
    pub environment: Vec<String>,
    /// The model that listens, if nobody names another one.
    pub model: Option<Model>,
    /// What its functions may take.
    pub limits: Limits,
}

/// A language model as a project names it. Its key never prints.
#[derive(Clone, PartialEq)]
pub struct Model {
    /// Its name, as the server knows it.
    pub name: String,
    /// The server's address, if it is not the provider's own.
    pub server: Option<String>,
    /// The key, where it is written into the project.
    pub key: Option<String>,
    /// How freely it chooses its words.
    pub temperature: Option<f32>,
    /// The model for embeddings.
    pub embedding: Option<String>,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model").field("name", &self.name).field("server", &self.server).finish_non_exhaustive()
    }
}

/// What functions in processes of their own may take, where an author says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The longest call, if a function has no limit of its own.
    pub timeout_ms: Option<u64>,
    /// Bytes of memory of a process.
    pub memory: Option<u64>,
    /// Processes at once.
    pub workers: Option<usize>,
}

/// Somebody who takes part in conversations.
#[derive(Clone, Debug, PartialEq)]
pub struct Agent {
    /// Its name.
    pub name: String,
    /// What it is for, as far as its author says it.
    pub about: String,
    /// What it works on.
    pub args: Vec<Arg>,
    /// How it decides what to do next.
    pub body: Body,
    /// Steps that come before its body, once an activation; the first block is entered. Empty if there are none, and for scripts.
    pub opening: Vec<script::Block>,
    /// What is done when it gives up.
    pub fallback: Option<Policy>,
    /// What is done when nothing more is to be done.
    pub exit: Option<Policy>,
    /// Where it was written.
    pub origin: Origin,
}

/// A value that an agent works on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arg {
    /// Its name.
    pub name: String,
    /// What it is, as far as its author says it.
    pub about: String,
    /// The program compares it with numbers and booleans only, so a text that spells one is taken for it when it is said.
    pub spelled: bool,
}

impl Arg {
    /// A value of this name.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }
}

/// What is done in a case that an author provides for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Policy {
    /// This agent takes over.
    Agent(String),
    /// What is said is worded after this.
    Words(String),
    /// What is usual.
    Usual,
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
    /// By what is found.
    Know {
        /// Questions with their answers.
        questions: Vec<(String, String)>,
        /// Passages of documents.
        passages: Vec<Passage>,
        /// Addresses that are read when they are first needed.
        addresses: Vec<String>,
    },
    /// By choosing who answers.
    Team {
        /// How to choose, in its author's words.
        prompt: String,
        /// Who can answer.
        members: Vec<Member>,
    },
}

/// Part of a document.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Passage {
    /// Its words.
    pub text: String,
    /// The document.
    pub from: String,
}

/// Somebody who answers in a team.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The agent.
    pub agent: String,
    /// What its arguments have to do with those of the team.
    pub binds: Vec<(String, Bind)>,
    /// Where it was written.
    pub origin: Origin,
}

/// What an argument of a member has to do with the team's.
#[derive(Clone, Debug, PartialEq)]
pub enum Bind {
    /// It is this argument of the team, both ways.
    Is(String),
    /// It reads this while it has no value of its own; a path is of the team.
    Reads(Given),
}

/// A function of the outside world.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// What it does, as far as its author says it.
    pub about: String,
    /// Its inputs.
    pub inputs: Vec<Input>,
    /// It takes inputs of any other name, too.
    pub open: bool,
    /// What it gives back.
    pub outputs: Vec<String>,
    /// Calling it twice does no more than calling it once.
    pub idempotent: bool,
    /// Whoever proposes the call, the speaker is asked before.
    pub confirm: bool,
    /// The longest it may take, if not what is usual.
    pub timeout_ms: Option<u64>,
    /// The file of the project that defines it, if it is written in Python.
    pub python: Option<PathBuf>,
    /// Where a result says that what was wished cannot be.
    pub refuses: Option<Guard>,
}

/// An input of a function.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// What it may be.
    pub kind: Kind,
    /// The function cannot be called without it.
    pub required: bool,
}

impl Program {
    /// The agent that a conversation begins with.
    pub fn first(&self) -> Option<&Agent> {
        self.agent(&self.entry)
    }

    /// An agent by its name.
    pub fn agent(&self, name: &str) -> Option<&Agent> {
        self.agents.iter().find(|a| a.name == name)
    }

    /// A function by its name.
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|f| f.name == name)
    }

    /// The graph of the first agent, if it has one.
    pub fn graph(&self) -> Option<&graph::Flow> {
        match &self.first()?.body {
            Body::Graph(flow) => Some(flow),
            _ => None,
        }
    }

    /// Whether it is a program of agents that are walked from step to step.
    pub fn walks(&self) -> bool {
        self.first().is_some_and(|a| !matches!(a.body, Body::Rules(_) | Body::Graph(_)))
    }
}

impl Agent {
    /// The blocks that its steps stand in.
    pub fn blocks(&self) -> &[script::Block] {
        match &self.body {
            Body::Script(blocks) => blocks,
            _ => &self.opening,
        }
    }
}

/// What is found out about a program before rules decide on these facts: which conditions hold, and where the walk goes. What the rules do not see
/// stands beside the facts: `sender(Name)`, and as `came(K,JSON)` what a call gave.
pub fn settle(program: Option<&Program>, guards: &[Guard], facts: &[Atom], beside: &[Atom]) -> Vec<Atom> {
    match program {
        Some(program) if program.walks() => walk::walk(program, &[facts, beside].concat()),
        _ => guard::settle(guards, facts),
    }
}
