//! How a conversation with agents stands: the stack of open agents, values, outcomes, what is put aside, and how far a turn is that waits for a call.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::term::{Atom, Term};

/// How something ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Outcome {
    pub success: bool,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

impl Outcome {
    pub fn success() -> Self {
        Self { success: true, message: String::new() }
    }

    pub fn error(message: &str) -> Self {
        Self { success: false, message: message.to_owned() }
    }

    pub fn status(&self) -> &'static str {
        if self.success { "success" } else { "error" }
    }
}

/// Who started an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum By {
    /// The conversation began.
    #[default]
    Main,
    /// The team below chose it.
    Team,
    /// A step of the agent below called it.
    Call,
    /// The agent below gave up.
    Fallback,
    /// The agent below is done.
    Exit,
}

/// What an agent does once the one that it started to give up or to leave is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Then {
    /// It goes on waiting where it waited.
    Wait,
    /// It goes on.
    GoOn,
    /// It steps back for whoever started it.
    StepBack,
    /// It ends so.
    End(Outcome),
    /// It ends so, and who called it is asked what the words mean to it.
    Leave(Outcome),
}

/// An open block, and the step that comes next in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Open {
    pub block: String,
    pub next: usize,
    /// How the block ended that the last step entered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Outcome>,
}

/// A call that waits for a yes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Wish {
    pub function: String,
    pub inputs: BTreeMap<String, Value>,
    /// A model proposed it.
    pub tool: bool,
    /// The step that calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<(String, usize)>,
}

/// An open agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Frame {
    pub agent: String,
    pub by: By,
    /// It is in the steps before its body.
    #[serde(skip_serializing_if = "is_false")]
    pub opening: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<Open>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tries: BTreeMap<String, u32>,
    /// No step was taken yet, so one that waits is met by the message that started it.
    #[serde(skip_serializing_if = "is_false")]
    pub fresh: bool,
    /// A step waits for a message.
    #[serde(skip_serializing_if = "is_false")]
    pub waits: bool,
    /// A call waits for a yes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wish: Option<Wish>,
    /// Rounds of calls that a model proposed in this turn, and those that are left of the last one.
    #[serde(skip_serializing_if = "is_zero")]
    pub rounds: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<(String, BTreeMap<String, Value>)>,
    /// Members that stepped back, as they stood.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aside: Vec<Frame>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub then: Option<Then>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_false(b: &bool) -> bool {
    !*b
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// What a turn keeps while it waits for a call, and what is told of it at its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Turn {
    /// What was said, and what was chosen without words.
    pub message: Option<String>,
    pub click: Option<String>,
    /// Something was said to the speaker.
    pub said: bool,
    /// Proposals that were used up, by their places.
    pub used: BTreeSet<usize>,
    /// Agents that ended or stepped back, whoever started them: they had the message.
    pub had: BTreeSet<String>,
    /// Agents whose fallback ran.
    pub fell: BTreeSet<String>,
    /// An agent that stood in as a fallback failed.
    pub no_fallback: bool,
    pub steps: usize,
    pub breaches: usize,
    pub calls: usize,
    /// Steps told so far.
    pub told: i32,
    pub asked: Vec<Value>,
    pub refused: Vec<Value>,
    pub warnings: Vec<String>,
    /// What was said to the speaker, for questions that follow.
    pub texts: Vec<String>,
    /// What functions gave that a model had called.
    pub results: Vec<String>,
    /// The call under way.
    pub call: Option<Wish>,
}

/// Everything that outlasts a turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Stands {
    pub frames: Vec<Frame>,
    pub values: BTreeMap<(String, String), Value>,
    /// What functions gave.
    pub gave: BTreeMap<(String, String), Value>,
    /// By the agent that a block belongs to, or nobody, and the name.
    pub outcomes: BTreeMap<(String, String), Outcome>,
    pub misses: BTreeMap<String, u32>,
    /// The last message.
    pub heard: Option<String>,
    /// How many times silence was met since.
    pub silences: usize,
    /// What was said lately, for who has to make sense of more: `user: …`, `bot: …`.
    pub lines: Vec<String>,
    pub turn: Option<Turn>,
}

/// A value as rules hand it on; what is neither text nor a small number is JSON.
pub(super) fn term(value: &Value) -> Term {
    match value {
        Value::String(s) => Term::string(s),
        Value::Number(n) => match n.as_i64().and_then(|n| i32::try_from(n).ok()) {
            Some(n) => Term::Int(n),
            None => json(value),
        },
        _ => json(value),
    }
}

fn json(value: &Value) -> Term {
    Term::Fun("json".into(), vec![Term::string(&value.to_string())])
}

/// The value that rules hand on as a term.
pub fn value(term: &Term) -> Value {
    match term {
        Term::Int(n) => Value::from(*n),
        Term::Fun(name, args) if &**name == "json" => args.first().and_then(Term::as_name).and_then(|t| serde_json::from_str(t).ok()).unwrap_or_default(),
        Term::Const(s) | Term::Str(s) => Value::from(&**s),
        Term::Fun(..) => Value::from(term.to_string()),
    }
}

fn read<T: for<'a> Deserialize<'a>>(term: &Term) -> Option<T> {
    serde_json::from_str(term.as_name()?).ok()
}

fn written<T: Serialize>(what: &T) -> Term {
    Term::string(&serde_json::to_string(what).unwrap_or_default())
}

impl Stands {
    /// As facts tell it.
    pub fn of(facts: &[Atom]) -> Self {
        let mut out = Self::default();
        let (mut frames, mut lines) = (BTreeMap::new(), BTreeMap::new());
        let name = |t: &Term| t.as_name().unwrap_or_default().to_owned();
        for a in facts {
            match (&*a.name, a.args.as_slice()) {
                ("value", [agent, arg, v]) => drop(out.values.insert((name(agent), name(arg)), value(v))),
                ("gave", [function, field, v]) => drop(out.gave.insert((name(function), name(field)), value(v))),
                ("outcome", [owner, of, status, message]) => {
                    let outcome = Outcome { success: status.as_name() == Some("success"), message: name(message) };
                    out.outcomes.insert((name(owner), name(of)), outcome);
                }
                ("misses", [agent, Term::Int(n)]) => drop(out.misses.insert(name(agent), u32::try_from(*n).unwrap_or_default())),
                ("frame", [Term::Int(depth), _, frame]) => drop(frames.insert(*depth, read::<Frame>(frame))),
                ("line", [Term::Int(n), line]) => drop(lines.insert(*n, name(line))),
                ("heard_last", [text]) => out.heard = Some(name(text)),
                ("silences", [Term::Int(n)]) => out.silences = usize::try_from(*n).unwrap_or_default(),
                ("under_way", [turn]) => out.turn = read(turn),
                _ => {}
            }
        }
        // What an older program wrote and this one cannot read ends there.
        out.frames = frames.into_values().map_while(|f| f).collect();
        out.lines = lines.into_values().collect();
        out
    }

    /// As facts.
    pub fn facts(&self) -> Vec<Atom> {
        let text = |t: &str| Term::string(t);
        let mut out = vec![];
        out.extend(self.values.iter().map(|((agent, arg), v)| Atom::new("value", vec![text(agent), text(arg), term(v)])));
        out.extend(self.gave.iter().map(|((function, field), v)| Atom::new("gave", vec![text(function), text(field), term(v)])));
        let outcome =
            |((owner, of), o): (&(String, String), &Outcome)| Atom::new("outcome", vec![text(owner), text(of), Term::constant(o.status()), text(&o.message)]);
        out.extend(self.outcomes.iter().map(outcome));
        out.extend(self.misses.iter().map(|(agent, n)| Atom::new("misses", vec![text(agent), Term::number(*n as usize)])));
        out.extend((1..).zip(&self.frames).map(|(depth, f)| Atom::new("frame", vec![Term::number(depth), text(&f.agent), written(f)])));
        for f in &self.frames {
            let wished = f.wish.iter().filter(|w| w.tool).map(|w| &w.function).chain(f.tools.iter().map(|(function, _)| function));
            out.extend(wished.map(|function| Atom::new("wishes", vec![text(&f.agent), text(function)])));
        }
        out.extend((1..).zip(&self.lines).map(|(n, line)| Atom::new("line", vec![Term::number(n), text(line)])));
        out.extend(self.heard.iter().map(|h| Atom::new("heard_last", vec![text(h)])));
        out.extend((self.silences > 0).then(|| Atom::new("silences", vec![Term::number(self.silences)])));
        out.extend(self.turn.iter().map(|t| Atom::new("under_way", vec![written(t)])));
        out
    }
}
