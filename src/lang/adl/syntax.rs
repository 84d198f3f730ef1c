//! A program as its author wrote it: agents with their fields and steps, each word with its place.

mod agents;
mod steps;

use std::ops::Range;

use super::error::{Findings, nearest};
use super::parse::{Data, Node, Word};

/// A program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// Its agents, in the author's order.
    pub agents: Vec<Agent>,
    /// Its Python files, if it names them.
    pub tools: Option<Vec<Word>>,
}

/// What an agent is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Answers from questions and documents.
    Kb,
    /// Talks by a prompt.
    Llm,
    /// Goes by steps.
    Flow,
    /// Chooses who answers.
    Ensemble,
}

impl Kind {
    /// All of them, as programs name them.
    pub const ALL: [(&'static str, Kind); 4] =
        [("kb agent", Self::Kb), ("llm agent", Self::Llm), ("flow agent", Self::Flow), ("ensemble agent", Self::Ensemble)];

    /// As programs name it.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, k)| *k == self).map_or("agent", |(n, _)| n)
    }

    /// The fields that it may have.
    pub fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Kb => &["type", "description", "args", "fallback", "exit", "faq", "sources"],
            Self::Llm => &["type", "description", "args", "fallback", "exit", "prompt", "uses", "steps"],
            Self::Flow => &["type", "description", "args", "fallback", "exit", "steps"],
            Self::Ensemble => &["type", "description", "args", "fallback", "exit", "contains", "prompt", "steps"],
        }
    }
}

/// An agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Agent {
    /// Its name.
    pub name: Word,
    /// What it is.
    pub kind: Kind,
    /// What it is for.
    pub description: Option<Word>,
    /// The names of its values, each with what its author says of it.
    pub args: Vec<(Word, String)>,
    /// What happens when it gives up: an agent's name, or a policy in words.
    pub fallback: Option<Word>,
    /// What happens when nothing more is wanted.
    pub exit: Option<Word>,
    /// What the model is told.
    pub prompt: Option<Word>,
    /// The functions that it may call.
    pub uses: Vec<Word>,
    /// Questions with their answers.
    pub faq: Vec<(Word, Word)>,
    /// Files, folders and addresses.
    pub sources: Vec<Word>,
    /// Who answers.
    pub contains: Vec<Member>,
    /// Its steps: the first block is the main one, the others are subflows.
    pub blocks: Vec<Block>,
}

/// An agent in an ensemble.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Its name.
    pub agent: Word,
    /// Its arguments, each with the ensemble's argument that it is bound to, and whether it may change that.
    pub args: Vec<(Word, Word, bool)>,
}

/// Steps under a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Its name; `steps` for a main block without one.
    pub name: Word,
    /// Its steps.
    pub steps: Vec<Step>,
}

/// A step.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What it does.
    pub kind: StepKind,
    /// The key or word that makes it this step.
    pub span: Range<usize>,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq)]
pub enum StepKind {
    /// Waits for the user.
    User,
    /// Says something.
    Bot(Word),
    /// Sets arguments.
    Set(Vec<(Word, Node)>),
    /// Calls an agent, a function or a subflow.
    Call {
        /// Whom.
        target: Word,
        /// With which arguments.
        args: Vec<(Word, Node)>,
        /// How often, if the target is a label.
        tries: Option<u32>,
    },
    /// A place to go on at.
    Label(Word),
    /// Goes on at a label or subflow.
    Next {
        /// Where.
        target: Word,
        /// How often.
        tries: Option<u32>,
    },
    /// Ends the block.
    Return {
        /// Whether it ends well.
        success: bool,
        /// The message.
        message: Word,
    },
    /// Takes the first branch whose condition holds.
    If {
        /// Conditions with their steps.
        branches: Vec<Branch>,
        /// What is done if none holds.
        otherwise: Vec<Step>,
    },
}

/// A condition with what is done if it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// The condition, as written.
    pub condition: Word,
    /// How often it is decided.
    pub tries: Option<u32>,
    /// The steps.
    pub then: Vec<Step>,
}

impl Document {
    /// The agent of a name.
    pub fn agent(&self, name: &str) -> Option<&Agent> {
        self.agents.iter().find(|a| a.name.text == name)
    }
}

impl Agent {
    /// All steps, those of inner branches too.
    pub fn steps(&self) -> Vec<&Step> {
        let mut out = vec![];
        for b in &self.blocks {
            gather(&b.steps, &mut out);
        }
        out
    }

    /// The name that the value of an argument is declared under.
    pub fn declares(&self, name: &str) -> bool {
        self.args.iter().any(|(a, _)| a.text == name)
    }

    /// Names of its arguments.
    pub fn arg_names(&self) -> impl Iterator<Item = &str> {
        self.args.iter().map(|(a, _)| a.text.as_str())
    }

    /// Its labels with their places.
    pub fn labels(&self) -> Vec<&Word> {
        self.steps().into_iter().filter_map(|s| if let StepKind::Label(l) = &s.kind { Some(l) } else { None }).collect()
    }
}

/// Steps with those inside of them, in the author's order.
pub fn gather<'a>(steps: &'a [Step], out: &mut Vec<&'a Step>) {
    for step in steps {
        out.push(step);
        if let StepKind::If { branches, otherwise } = &step.kind {
            for b in branches {
                gather(&b.then, out);
            }
            gather(otherwise, out);
        }
    }
}

/// Keys of programs from before ADL 1.0.
const BEFORE: [&str; 6] = ["llm_agents", "flow_agents", "kb_agents", "ensemble_agents", "ensemble_agent", "pythons"];

/// Reads a program.
pub fn document(root: &Node, found: &mut Findings) -> Document {
    let mut out = Document::default();
    let Data::Map(members) = &root.data else {
        let at = root.span.start..root.span.start;
        if root.is_nothing() {
            found.error("adl-empty", at, "the program holds nothing but comments", "write an agent called `main`, or take the comment signs away");
        } else {
            found.error(
                "adl-no-agents",
                at,
                format!("a program is a map of agents, but this is {}", root.kind()),
                "write `main:` and indent its fields below it",
            );
        }
        return out;
    };
    if let Some((old, _)) = members.iter().find(|(k, _)| BEFORE.contains(&k.text.as_str())) {
        let help = "write each agent at the top level with a `type` (`llm agent`, `flow agent`, `kb agent`, `ensemble agent`), and `tools:` for Python files";
        found.error("adl-before-1-0", old.span.clone(), format!("`{}` is of the dialect before ADL 1.0, which is not read", old.text), help);
        return out;
    }
    for (name, node) in members {
        let is_agent = !node.members().is_empty();
        match name.text.as_str() {
            "tools" if !is_agent => out.tools = Some(names(node, "tools", found)),
            "schedule" if !is_agent || node.get("type").is_none() => {
                found.warning("adl-old-spelling", name.span.clone(), "`schedule` is of an older spelling and is ignored", "remove it");
            }
            _ if is_agent => out.agents.push(agents::agent(name, node, found)),
            _ => not_an_agent(name, node, found),
        }
    }
    if !members.iter().any(|(k, _)| k.text == "main") {
        let at = members.first().map_or(0..0, |(k, _)| k.span.clone());
        let help = match super::error::like("main", members.iter().map(|(k, _)| k.text.as_str())) {
            Some(near) => format!("did you mean `main` where `{near}` stands?"),
            None => "add `main`, the agent that conversations begin with".to_owned(),
        };
        found.error("adl-no-main", at, "the program has no agent `main`", help);
    }
    out
}

fn not_an_agent(name: &Word, node: &Node, found: &mut Findings) {
    let near = nearest(&name.text, ["tools", "main"], "write the agent's fields below its name, beginning with `type`");
    let help = match &node.data {
        Data::List(_) if !near.starts_with("did you") => "a subflow belongs to an agent: indent it below one, beside `steps`".to_owned(),
        _ => near,
    };
    found.error("adl-no-agent", name.span.clone(), format!("`{}` is no agent, but {}", name.text, node.kind()), help);
}

/// A list of names; one name stands for a list of it.
fn names(node: &Node, field: &str, found: &mut Findings) -> Vec<Word> {
    if node.is_nothing() {
        return vec![];
    }
    let items = match &node.data {
        Data::List(items) => items.as_slice(),
        Data::Scalar { .. } => std::slice::from_ref(node),
        Data::Map(_) => {
            found.error(
                "adl-wrong-form",
                node.span.clone(),
                format!("`{field}` is a list of names, but this is a map"),
                format!("write `{field}:` and below it `- NAME`"),
            );
            return vec![];
        }
    };
    let mut out = vec![];
    for item in items {
        match item.word().filter(|w| !w.text.trim().is_empty()) {
            Some(word) => out.push(word),
            None => found.error("adl-wrong-form", item.span.clone(), format!("an item of `{field}` is a name, but this is {}", item.kind()), "write a name"),
        }
    }
    out
}

/// The text of a field.
fn text(key: &Word, node: &Node, found: &mut Findings) -> Option<Word> {
    match node.word() {
        Some(word) => Some(word),
        None => {
            let message = format!("`{}` is a text, but this is {}", key.text, node.kind());
            found.error("adl-wrong-form", key.span.clone(), message, "write one text; `|` begins one of several lines");
            None
        }
    }
}

/// A name must not look like a place to fill in.
fn name_is_sound(name: &Word, what: &str, found: &mut Findings) {
    if name.text.contains(['{', '}']) {
        found.error(
            "adl-bad-name",
            name.span.clone(),
            format!("the {what} `{}` has a brace in its name", name.text),
            "leave `{` and `}` out: they mark what is filled in",
        );
    }
}

/// How often, as a whole number from 1.
fn tries(node: &Node, found: &mut Findings) -> Option<u32> {
    let read = node.word().and_then(|w| w.text.trim().parse::<u32>().ok()).filter(|n| *n > 0);
    if read.is_none() {
        let shown = node.word().map_or_else(|| node.kind().to_owned(), |w| format!("`{}`", w.text));
        found.error(
            "adl-tries",
            node.span.clone(),
            format!("`tries` is a whole number from 1, not {shown}"),
            "write how often the step is taken, such as `tries: 3`",
        );
    }
    read
}
