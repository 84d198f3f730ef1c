//! A patch of a flow: a short list of changes that a person can read, edit and apply.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::RefineError;
use crate::diag::Source;

/// A proposed change of one flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Patch {
    /// The flow's name.
    #[serde(default)]
    pub flow: String,
    /// What asked for the change.
    #[serde(default)]
    pub because: String,
    /// The changes, made in this order.
    pub changes: Vec<Change>,
}

/// One change. Nodes are named by number, slots by name, edges by their ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Change {
    /// Sets members of a slot; `null` takes a member away.
    SetSlot {
        /// The node.
        node: i64,
        /// The slot.
        slot: String,
        /// The members.
        set: Map<String, Value>,
    },
    /// Adds a slot to a node, at the end or before another.
    AddSlot {
        /// The node.
        node: i64,
        /// The slot with its `name`.
        slot: Map<String, Value>,
        /// The slot it comes before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<String>,
    },
    /// Takes a slot out of a node.
    RemoveSlot {
        /// The node.
        node: i64,
        /// The slot.
        slot: String,
    },
    /// Moves a slot before another of the same node, or to the end.
    MoveSlot {
        /// The node.
        node: i64,
        /// The slot.
        slot: String,
        /// The slot it comes before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<String>,
    },
    /// Sets members of a node; `null` takes a member away.
    SetNode {
        /// The node.
        node: i64,
        /// The members.
        set: Map<String, Value>,
    },
    /// Adds a node.
    AddNode {
        /// The node with its `id` and `type`.
        node: Map<String, Value>,
    },
    /// Takes a node away, with the edges at it.
    RemoveNode {
        /// The node.
        node: i64,
    },
    /// Adds an edge.
    AddEdge {
        /// From.
        source: i64,
        /// To.
        target: i64,
        /// When.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        condition: Option<String>,
    },
    /// Takes the edges between two nodes away.
    RemoveEdge {
        /// From.
        source: i64,
        /// To.
        target: i64,
    },
    /// Sets the template of an act.
    SetReply {
        /// The act.
        act: String,
        /// The template.
        text: String,
    },
}

impl Patch {
    /// Reads a patch as a person or a model wrote it.
    pub fn parse(text: &str) -> Result<Self, RefineError> {
        serde_json::from_str(text).map_err(|e| RefineError::NoPatch(e.to_string()))
    }

    /// The patch as a file: one change a line, so that lines can be deleted or edited by hand.
    pub fn to_text(&self) -> String {
        let line = |c: &Change| format!("    {}", serde_json::to_string(c).unwrap_or_default());
        let changes: Vec<String> = self.changes.iter().map(line).collect();
        format!("{{\n  \"flow\": {},\n  \"because\": {},\n  \"changes\": [\n{}\n  ]\n}}\n", json!(self.flow), json!(self.because), changes.join(",\n"))
    }
}

/// The flow's JSON.
pub fn flow_json(source: &Source) -> Result<Value, RefineError> {
    serde_json::from_str(&source.text).ok().filter(Value::is_object).ok_or_else(|| RefineError::NoFlow(source.name.to_string()))
}

/// The id of a node or end of an edge, written as a number or as text.
pub fn id_of(v: &Value) -> Option<i64> {
    v.as_i64().or_else(|| v.as_str()?.trim().parse().ok())
}

/// The name of a slot in a list.
pub fn slot_name(v: &Value) -> Option<&str> {
    v.get("name").or_else(|| v.get("api_slot")).and_then(Value::as_str)
}

/// Applies a patch; the answer is the new file.
pub fn apply(source: &Source, patch: &Patch) -> Result<Source, RefineError> {
    let mut flow = flow_json(source)?;
    for (number, change) in (1..).zip(&patch.changes) {
        change_flow(&mut flow, change, number)?;
    }
    let text = serde_json::to_string_pretty(&flow).unwrap_or_default();
    Ok(Source::new(&source.name, &format!("{text}\n")))
}

fn list<'v>(flow: &'v mut Value, key: &str) -> Result<&'v mut Vec<Value>, RefineError> {
    let missing = || RefineError::NoFlow(format!("{key} of the flow"));
    let map = flow.as_object_mut().ok_or_else(missing)?;
    map.entry(key).or_insert_with(|| Value::Array(Vec::new())).as_array_mut().ok_or_else(missing)
}

fn node(flow: &mut Value, id: i64, number: usize) -> Result<&mut Map<String, Value>, RefineError> {
    let found = list(flow, "nodes")?.iter_mut().find(|n| n.get("id").and_then(id_of) == Some(id));
    found.and_then(Value::as_object_mut).ok_or(RefineError::Missing { number, what: "the node", name: id.to_string() })
}

fn set_members(map: &mut Map<String, Value>, set: &Map<String, Value>) {
    for (k, v) in set {
        if v.is_null() {
            map.shift_remove(k);
        } else {
            map.insert(k.clone(), v.clone());
        }
    }
}

/// The slots of a node as a list, whichever of the two forms the file uses.
fn slots(node: &Map<String, Value>) -> (Vec<Value>, bool) {
    match node.get("slots") {
        Some(Value::Object(by_name)) => {
            let named = |(name, s): (&String, &Value)| {
                let mut slot = Map::from_iter([("name".to_owned(), json!(name))]);
                slot.extend(s.as_object().cloned().unwrap_or_default());
                Value::Object(slot)
            };
            (by_name.iter().map(named).collect(), true)
        }
        Some(Value::Array(list)) => (list.clone(), false),
        _ => (Vec::new(), false),
    }
}

fn put_slots(node: &mut Map<String, Value>, slots: Vec<Value>, by_name: bool) {
    let value = if by_name {
        let named = |s: Value| {
            let name = slot_name(&s).unwrap_or_default().to_owned();
            let mut members = s.as_object().cloned().unwrap_or_default();
            members.shift_remove("name");
            (name, Value::Object(members))
        };
        Value::Object(slots.into_iter().map(named).collect())
    } else {
        Value::Array(slots)
    };
    node.insert("slots".to_owned(), value);
}

fn place(slots: &[Value], name: &str, number: usize) -> Result<usize, RefineError> {
    let missing = || RefineError::Missing { number, what: "the slot", name: name.to_owned() };
    slots.iter().position(|s| slot_name(s) == Some(name)).ok_or_else(missing)
}

fn change_flow(flow: &mut Value, change: &Change, number: usize) -> Result<(), RefineError> {
    match change {
        Change::SetSlot { node: id, slot, set } => {
            let node = node(flow, *id, number)?;
            let (mut all, by_name) = slots(node);
            let at = place(&all, slot, number)?;
            if let Some(map) = all.get_mut(at).and_then(Value::as_object_mut) {
                set_members(map, set);
            }
            put_slots(node, all, by_name);
        }
        Change::AddSlot { node: id, slot, before } => {
            let node = node(flow, *id, number)?;
            let (mut all, by_name) = slots(node);
            let value = Value::Object(slot.clone());
            let name = slot_name(&value).unwrap_or_default().to_owned();
            if place(&all, &name, number).is_ok() {
                return Err(RefineError::Present { number, what: "the slot", name });
            }
            let at = before.as_deref().map_or(Ok(all.len()), |b| place(&all, b, number))?;
            all.insert(at, value);
            put_slots(node, all, by_name);
        }
        Change::RemoveSlot { node: id, slot } => {
            let node = node(flow, *id, number)?;
            let (mut all, by_name) = slots(node);
            all.remove(place(&all, slot, number)?);
            put_slots(node, all, by_name);
        }
        Change::MoveSlot { node: id, slot, before } => {
            let node = node(flow, *id, number)?;
            let (mut all, by_name) = slots(node);
            let moved = all.remove(place(&all, slot, number)?);
            let at = before.as_deref().map_or(Ok(all.len()), |b| place(&all, b, number))?;
            all.insert(at, moved);
            put_slots(node, all, by_name);
        }
        Change::SetNode { node: id, set } => set_members(node(flow, *id, number)?, set),
        Change::AddNode { node: added } => {
            let id = added.get("id").and_then(id_of).unwrap_or_default();
            if node(flow, id, number).is_ok() {
                return Err(RefineError::Present { number, what: "the node", name: id.to_string() });
            }
            list(flow, "nodes")?.push(Value::Object(added.clone()));
        }
        Change::RemoveNode { node: id } => {
            node(flow, *id, number)?;
            list(flow, "nodes")?.retain(|n| n.get("id").and_then(id_of) != Some(*id));
            list(flow, "edges")?.retain(|e| ["source", "target"].iter().all(|end| e.get(*end).and_then(id_of) != Some(*id)));
        }
        Change::AddEdge { source, target, condition } => {
            node(flow, *source, number)?;
            node(flow, *target, number)?;
            let mut edge = Map::from_iter([("source".to_owned(), json!(source)), ("target".to_owned(), json!(target))]);
            edge.extend(condition.iter().map(|c| ("condition".to_owned(), json!(c))));
            let edge = Value::Object(edge);
            let edges = list(flow, "edges")?;
            if edges.contains(&edge) {
                return Err(RefineError::Present { number, what: "the edge", name: format!("{source} -> {target}") });
            }
            edges.push(edge);
        }
        Change::RemoveEdge { source, target } => {
            let edges = list(flow, "edges")?;
            let before = edges.len();
            edges.retain(|e| e.get("source").and_then(id_of) != Some(*source) || e.get("target").and_then(id_of) != Some(*target));
            if edges.len() == before {
                return Err(RefineError::Missing { number, what: "the edge", name: format!("{source} -> {target}") });
            }
        }
        Change::SetReply { act, text } => {
            let map = flow.as_object_mut().ok_or_else(|| RefineError::NoFlow("the flow".to_owned()))?;
            let replies = map.entry("replies").or_insert_with(|| json!({}));
            if let Some(replies) = replies.as_object_mut() {
                replies.insert(act.clone(), json!(text));
            }
        }
    }
    Ok(())
}
