//! What a change does to the graph: nodes, slots, edges and replies that come, go or differ.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use serde::Serialize;
use serde_json::{Map, Value};

use super::RefineError;
use super::patch::{flow_json, id_of, slot_name};
use crate::diag::Source;

/// How a part of the graph changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Mark {
    Added,
    Removed,
    Changed,
    Same,
}

/// The difference of two flows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// One line for each part that changed: `+`, `-` or `~`, and what.
    pub lines: Vec<String>,
    /// The graph in DOT, with what came in green, what went in red and what changed in orange.
    pub dot: String,
}

impl Difference {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|l| writeln!(f, "{l}"))
    }
}

type Slots = Vec<(String, Value)>;

struct Graph {
    nodes: BTreeMap<i64, (Map<String, Value>, Slots)>,
    edges: BTreeMap<(i64, i64, String), ()>,
    rest: BTreeMap<String, Value>,
}

fn graph(flow: &Value) -> Graph {
    let list = |key: &str| flow.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let node = |n: &Value| {
        let mut members = n.as_object().cloned().unwrap_or_default();
        let slots = match members.shift_remove("slots") {
            Some(Value::Array(l)) => l.into_iter().map(|s| (slot_name(&s).unwrap_or_default().to_owned(), s)).collect(),
            Some(Value::Object(m)) => m.into_iter().collect(),
            _ => Vec::new(),
        };
        Some((n.get("id").and_then(id_of)?, (members, slots)))
    };
    let edge = |e: &Value| {
        let end = |k: &str| e.get(k).and_then(id_of);
        Some(((end("source")?, end("target")?, e.get("condition").and_then(Value::as_str).unwrap_or_default().to_owned()), ()))
    };
    let rest = flow.as_object().into_iter().flatten().filter(|(k, _)| !matches!(k.as_str(), "nodes" | "edges"));
    let mut flat = BTreeMap::new();
    for (k, v) in rest {
        match v.as_object() {
            Some(m) => flat.extend(m.iter().map(|(n, v)| (format!("{k} `{n}`"), v.clone()))),
            None => drop(flat.insert(k.clone(), v.clone())),
        }
    }
    Graph { nodes: list("nodes").iter().filter_map(node).collect(), edges: list("edges").iter().filter_map(edge).collect(), rest: flat }
}

/// Compares two flow files.
pub fn difference(before: &Source, after: &Source) -> Result<Difference, RefineError> {
    let (old, new) = (graph(&flow_json(before)?), graph(&flow_json(after)?));
    let mut lines = Vec::new();
    let mut marks: BTreeMap<i64, Mark> = BTreeMap::new();
    let ids: std::collections::BTreeSet<i64> = old.nodes.keys().chain(new.nodes.keys()).copied().collect();
    for id in ids {
        let mark = match (old.nodes.get(&id), new.nodes.get(&id)) {
            (None, Some((m, s))) => {
                lines.push(format!("+ node {id}: {}", described(m, s)));
                Mark::Added
            }
            (Some((m, s)), None) => {
                lines.push(format!("- node {id}: {}", described(m, s)));
                Mark::Removed
            }
            (Some(a), Some(b)) => node_lines(id, a, b, &mut lines),
            (None, None) => continue,
        };
        marks.insert(id, mark);
    }
    let arrow = |(s, t, c): &(i64, i64, String)| if c.is_empty() { format!("{s} -> {t}") } else { format!("{s} -> {t} when \"{c}\"") };
    lines.extend(old.edges.keys().filter(|e| !new.edges.contains_key(*e)).map(|e| format!("- edge {}", arrow(e))));
    lines.extend(new.edges.keys().filter(|e| !old.edges.contains_key(*e)).map(|e| format!("+ edge {}", arrow(e))));
    for (k, v) in &new.rest {
        match old.rest.get(k) {
            None => lines.push(format!("+ {k}: {v}")),
            Some(o) if o != v => lines.push(format!("~ {k}: {o} becomes {v}")),
            Some(_) => {}
        }
    }
    lines.extend(old.rest.keys().filter(|k| !new.rest.contains_key(*k)).map(|k| format!("- {k}")));
    Ok(Difference { dot: dot(&old, &new, &marks), lines })
}

fn described(members: &Map<String, Value>, slots: &Slots) -> String {
    let kind = members.get("type").and_then(Value::as_str).unwrap_or("node");
    let names: Vec<&str> = slots.iter().map(|(n, _)| n.as_str()).collect();
    let what = ["message", "query", "function"].iter().find_map(|k| members.get(*k)?.as_str()).map(str::to_owned);
    format!("{kind} {}", what.unwrap_or_else(|| names.join(", ")))
}

fn members_lines(what: &str, old: &Map<String, Value>, new: &Map<String, Value>, lines: &mut Vec<String>) {
    for (k, v) in new {
        match old.get(k) {
            None => lines.push(format!("~ {what}: {k} is now {v}")),
            Some(o) if o != v => lines.push(format!("~ {what}: {k} was {o}, is now {v}")),
            Some(_) => {}
        }
    }
    lines.extend(old.keys().filter(|k| !new.contains_key(*k)).map(|k| format!("~ {what}: {k} is gone")));
}

fn node_lines(id: i64, old: &(Map<String, Value>, Slots), new: &(Map<String, Value>, Slots), lines: &mut Vec<String>) -> Mark {
    let before = lines.len();
    members_lines(&format!("node {id}"), &old.0, &new.0, lines);
    for (name, slot) in &new.1 {
        match old.1.iter().find(|(n, _)| n == name) {
            None => lines.push(format!("+ node {id}, slot `{name}`: {slot}")),
            Some((_, o)) if o != slot => {
                let map = |v: &Value| v.as_object().cloned().unwrap_or_default();
                members_lines(&format!("node {id}, slot `{name}`"), &map(o), &map(slot), lines);
            }
            Some(_) => {}
        }
    }
    lines.extend(old.1.iter().filter(|(n, _)| !new.1.iter().any(|(m, _)| m == n)).map(|(n, _)| format!("- node {id}, slot `{n}`")));
    // The order matters where it is the order of asking; additions alone do not count as a new order.
    let kept = |a: &Slots, b: &Slots| -> Vec<String> { a.iter().map(|s| s.0.clone()).filter(|n| b.iter().any(|(m, _)| m == n)).collect() };
    let (was, is) = (kept(&old.1, &new.1), kept(&new.1, &old.1));
    if was != is {
        lines.push(format!("~ node {id}: asks {} instead of {}", is.join(", "), was.join(", ")));
    }
    if lines.len() > before { Mark::Changed } else { Mark::Same }
}

fn dot(old: &Graph, new: &Graph, marks: &BTreeMap<i64, Mark>) -> String {
    let colour = |m: Mark| match m {
        Mark::Added => "#2e7d32",
        Mark::Removed => "#c62828",
        Mark::Changed => "#ef6c00",
        Mark::Same => "#555555",
    };
    let quoted = |s: &str| s.replace('\\', "\\\\").replace('"', "\\\"");
    let mut out = String::from("digraph difference {\n  node [shape=box, style=rounded];\n");
    for (id, mark) in marks {
        if let Some((m, s)) = new.nodes.get(id).or_else(|| old.nodes.get(id)) {
            let _ = writeln!(out, "  n{id} [label=\"{id}: {}\", color=\"{c}\", fontcolor=\"{c}\"];", quoted(&described(m, s)), c = colour(*mark));
        }
    }
    let all: std::collections::BTreeSet<&(i64, i64, String)> = old.edges.keys().chain(new.edges.keys()).collect();
    for e in all {
        let mark = match (old.edges.contains_key(e), new.edges.contains_key(e)) {
            (true, true) => Mark::Same,
            (false, _) => Mark::Added,
            (true, false) => Mark::Removed,
        };
        let _ = writeln!(out, "  n{} -> n{} [label=\"{}\", color=\"{}\"];", e.0, e.1, quoted(&e.2), colour(mark));
    }
    out.push_str("}\n");
    out
}
