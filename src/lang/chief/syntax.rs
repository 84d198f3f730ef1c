//! A CHIEF document as the author wrote it: typed members, each with its place.

use std::collections::BTreeMap;
use std::ops::Range;

use super::error;
use super::parse::{Data, Value};
use crate::diag::{Diagnostic, Source};

/// A whole file.
#[derive(Clone, Debug)]
pub struct Document<'a> {
    /// The flow's name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Nodes.
    pub nodes: Vec<Node<'a>>,
    /// Edges.
    pub edges: Vec<Edge>,
    /// Acts by intent, global and fallback ones.
    pub intents: Vec<(String, Range<usize>, String)>,
    /// Acts that answer questions.
    pub answers: Vec<(String, Vec<String>)>,
    /// Declared functions; `None` when the file declares none.
    pub functions: Option<Vec<Function>>,
    /// Templates by act.
    pub replies: BTreeMap<String, String>,
    /// Outputs by template field.
    pub fields: BTreeMap<String, String>,
    /// Wordings by act.
    pub wordings: BTreeMap<String, Vec<String>>,
}

/// A node; members that depend on its kind are read when it is lowered.
#[derive(Clone, Debug)]
pub struct Node<'a> {
    /// Its number.
    pub id: i64,
    /// Its kind.
    pub kind: (String, Range<usize>),
    /// The whole value.
    pub value: &'a Value,
    /// Slots with their names.
    pub slots: Vec<(String, &'a Value)>,
}

/// An edge.
#[derive(Clone, Debug)]
pub struct Edge {
    /// From.
    pub source: (i64, Range<usize>),
    /// To.
    pub target: (i64, Range<usize>),
    /// The condition's words.
    pub condition: Option<(String, Range<usize>)>,
    /// The whole edge.
    pub span: Range<usize>,
}

/// A declared function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Its inputs and their types.
    pub inputs: Vec<(String, String)>,
    /// The inputs it needs, with their places.
    pub required: Vec<(String, Range<usize>)>,
    /// Its outputs.
    pub outputs: Vec<String>,
    /// Calling it twice does no more than calling it once.
    pub idempotent: bool,
    /// Words by which a result says no, in addition to the usual ones.
    pub refusals: Vec<String>,
}

const DOCUMENT: [&str; 12] =
    ["task", "name", "description", "nodes", "edges", "global_actions", "fallback_actions", "answers", "functions", "replies", "fields", "wordings"];
/// What STAR calls the act of a node, an intent or an answer, and of a node's last step.
const STAR_ACTION: &str = "star_action";
const LAST_STAR_ACTION: &str = "last_star_action";

/// The act that a node, an intent or an answer names.
pub fn action(v: &Value) -> Option<&Value> {
    v.get(STAR_ACTION).or_else(|| v.get("action"))
}

/// The act of a node's last step.
pub fn last_action(v: &Value) -> Option<&Value> {
    v.get(LAST_STAR_ACTION).or_else(|| v.get("last_action"))
}

const NODE: [&str; 17] = [
    "id",
    "type",
    "slots",
    "message",
    "ask_action",
    "action",
    "last_action",
    STAR_ACTION,
    LAST_STAR_ACTION,
    "query",
    "function",
    "with",
    "steps",
    "details",
    "judge",
    "outcome_words",
    "reply",
];
const SLOT: [&str; 22] = [
    "name",
    "api_slot",
    "label",
    "type",
    "description",
    "examples",
    "rule",
    "values",
    "synonyms",
    "common",
    "open",
    "min",
    "max",
    "cues",
    "role",
    "identity",
    "ask_action",
    "also_asked_by",
    "required",
    "optional",
    "question",
    "default",
];
const EDGE: [&str; 3] = ["source", "target", "condition"];

/// Reads a document from JSON.
pub fn document<'a>(source: &Source, value: &'a Value) -> (Option<Document<'a>>, Vec<Diagnostic>) {
    let mut r = Reading { source, found: Vec::new() };
    if !matches!(value.data, Data::Map(_)) {
        return (None, vec![error::syntax(source, value.span.start, "an object with `nodes` and `edges`")]);
    }
    r.members(value, "flow", &DOCUMENT);
    for member in ["nodes", "edges"] {
        if value.get(member).is_none() {
            r.found.push(error::missing(source, value.span.start..value.span.start + 1, "flow", member));
        }
    }
    let list = |key: &str| value.get(key).map(Value::list).unwrap_or_default();
    let nodes = list("nodes").iter().filter_map(|n| r.node(n)).collect();
    let edges = list("edges").iter().filter_map(|e| r.edge(e)).collect();
    let mut intents = Vec::new();
    for v in list("global_actions").iter().chain(list("fallback_actions")) {
        if let (Some(i), Some(a)) = (r.need(v, "intent", "action"), action(v)) {
            intents.push((i.text().unwrap_or("").to_owned(), i.span.clone(), a.text().unwrap_or("").to_owned()));
        }
    }
    let answers = list("answers")
        .iter()
        .filter_map(|v| Some((action(v).or_else(|| r.need(v, "action", "answer"))?.text()?.to_owned(), v.get("about").map(Value::texts).unwrap_or_default())))
        .collect();
    let functions = value.get("functions").map(|v| v.list().iter().filter_map(|f| r.function(f)).collect());
    let texts =
        |key: &str| value.get(key).map(Value::members).unwrap_or_default().iter().filter_map(|(k, _, v)| Some((k.clone(), v.text()?.to_owned()))).collect();
    let wordings = value.get("wordings").map(Value::members).unwrap_or_default().iter().map(|(k, _, v)| (k.clone(), v.texts())).collect();
    let name = value
        .get("task")
        .or_else(|| value.get("name"))
        .and_then(Value::text)
        .map_or_else(|| source.name.rsplit('/').next().unwrap_or("flow").trim_end_matches(".json").to_owned(), str::to_owned);
    let description = value.get("description").and_then(Value::text).unwrap_or("").to_owned();
    let d = Document { name, description, nodes, edges, intents, answers, functions, replies: texts("replies"), fields: texts("fields"), wordings };
    (Some(d), r.found)
}

struct Reading<'s> {
    source: &'s Source,
    found: Vec<Diagnostic>,
}

impl Reading<'_> {
    fn members(&mut self, v: &Value, what: &str, known: &[&str]) {
        for (k, span, _) in v.members() {
            if !known.contains(&k.as_str()) && !k.starts_with('_') {
                self.found.push(error::unknown_member(self.source, span.clone(), what, k, known));
            }
        }
    }

    fn need<'v>(&mut self, v: &'v Value, member: &str, what: &str) -> Option<&'v Value> {
        let found = v.get(member);
        if found.is_none() {
            self.found.push(error::missing(self.source, v.span.clone(), what, member));
        }
        found
    }

    fn number(&mut self, v: &Value, member: &str, what: &str) -> Option<(i64, Range<usize>)> {
        let n = self.need(v, member, what)?;
        let id = n.int().or_else(|| n.text().and_then(|t| t.trim().parse().ok())).filter(|n| i32::try_from(*n).is_ok());
        if id.is_none() {
            self.found.push(error::syntax(self.source, n.span.start, "the number of a node"));
        }
        Some((id?, n.span.clone()))
    }

    fn node<'v>(&mut self, v: &'v Value) -> Option<Node<'v>> {
        self.members(v, "node", &NODE);
        let (id, _) = self.number(v, "id", "node")?;
        let kind = self.need(v, "type", "node")?;
        let mut slots = Vec::new();
        if let Some(s) = v.get("slots") {
            // Either a list of slots or, as in the paper's figures, an object by slot name.
            for (k, _, inner) in s.members() {
                self.members(inner, "slot", &SLOT);
                slots.push((k.clone(), inner));
            }
            for inner in s.list() {
                self.members(inner, "slot", &SLOT);
                match inner.get("name").or_else(|| inner.get("api_slot")).and_then(Value::text) {
                    Some(name) => slots.push((name.to_owned(), inner)),
                    None => self.found.push(error::missing(self.source, inner.span.clone(), "slot", "name")),
                }
            }
        }
        Some(Node { id, kind: (kind.text().unwrap_or("").to_owned(), kind.span.clone()), value: v, slots })
    }

    fn edge(&mut self, v: &Value) -> Option<Edge> {
        self.members(v, "edge", &EDGE);
        let source = self.number(v, "source", "edge")?;
        let target = self.number(v, "target", "edge")?;
        let condition = v.get("condition").and_then(|c| Some((c.text()?.to_owned(), c.span.clone())));
        Some(Edge { source, target, condition, span: v.span.clone() })
    }

    fn function(&mut self, v: &Value) -> Option<Function> {
        let name = self.need(v, "name", "function")?.text()?.to_owned();
        let inputs = v.get("inputs").map(Value::list).unwrap_or_default();
        let inputs = inputs
            .iter()
            .filter_map(|i| Some((i.get("name")?.text()?.to_owned(), i.get("type").and_then(Value::text).unwrap_or("string").to_owned())))
            .collect();
        let required = v.get("required").map(Value::list).unwrap_or_default().iter().filter_map(|r| Some((r.text()?.to_owned(), r.span.clone()))).collect();
        let outputs = v.get("outputs").map(Value::texts).unwrap_or_default();
        let idempotent = matches!(v.get("idempotent").map(|i| &i.data), Some(Data::Bool(true)));
        let refusals = v.get("refusals").map(Value::texts).unwrap_or_default();
        Some(Function { name, inputs, required, outputs, idempotent, refusals })
    }
}
