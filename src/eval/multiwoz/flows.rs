//! Flows of the domains as data: nodes that request, search, inform and book, lowered to facts.

use serde::Deserialize;

use super::MultiwozError;
use crate::term::{Atom, Term};

/// The predicates that a flow lowers to, with their arities.
pub const PREDICATES: [(&str, usize); 11] = [
    ("domain", 1),
    ("order", 2),
    ("slot", 3),
    ("required", 3),
    ("book_slot", 3),
    ("tells", 3),
    ("bookable", 1),
    ("venue", 1),
    ("limit", 2),
    ("timed_domain", 1),
    ("no_query", 1),
];

#[derive(Deserialize)]
struct Flows {
    flows: Vec<Flow>,
}

#[derive(Deserialize)]
struct Flow {
    domain: String,
    order: i32,
    #[serde(default)]
    kind: String,
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Node {
    Request {
        #[serde(default)]
        optional: bool,
        rule: Option<String>,
        slots: Vec<Slot>,
    },
    ExternalAction {
        limit: Option<i32>,
    },
    Inform {
        slots: Vec<String>,
    },
    InformAndConfirm {
        slots: Vec<Slot>,
    },
}

#[derive(Deserialize)]
struct Slot {
    name: String,
}

/// An atom over constants and one number at the end.
pub fn atom(name: &str, constants: &[&str], number: Option<i32>) -> Atom {
    let mut args: Vec<Term> = constants.iter().map(|c| Term::constant(c)).collect();
    args.extend(number.map(Term::Int));
    Atom::new(name, args)
}

/// Lowers the flows of all domains to facts.
pub fn facts() -> Result<Vec<Atom>, MultiwozError> {
    let text = include_str!("../../../kb/multiwoz/flows.json");
    let all: Flows = serde_json::from_str(text).map_err(|e| MultiwozError::Syntax { file: "flows.json".to_owned(), why: e.to_string() })?;
    let mut out = Vec::new();
    for flow in &all.flows {
        lower(flow, &mut out);
    }
    Ok(out)
}

fn lower(flow: &Flow, out: &mut Vec<Atom>) {
    let d = flow.domain.as_str();
    out.push(atom("domain", &[d], None));
    out.push(atom("order", &[d], Some(flow.order)));
    if flow.kind == "venue" {
        out.push(atom("venue", &[d], None));
    }
    let mut searches = false;
    let mut slot = 0;
    for node in &flow.nodes {
        match node {
            Node::Request { optional, rule, slots } => {
                let either = rule.as_deref() == Some("either");
                if either {
                    out.push(atom("timed_domain", &[d], None));
                }
                for s in slots {
                    slot += 1;
                    out.push(atom("slot", &[d, &s.name], Some(slot)));
                    if !optional && !either {
                        out.push(atom("required", &[d, &s.name], Some(slot)));
                    }
                }
            }
            Node::ExternalAction { limit: Some(limit) } => {
                searches = true;
                out.push(atom("limit", &[d], Some(*limit)));
            }
            Node::ExternalAction { limit: None } => {}
            Node::Inform { slots } => out.extend((1..).zip(slots).map(|(k, s)| atom("tells", &[d, s], Some(k)))),
            Node::InformAndConfirm { slots } => {
                out.push(atom("bookable", &[d], None));
                out.extend((1..).zip(slots).map(|(k, s)| atom("book_slot", &[d, &s.name], Some(k))));
            }
        }
    }
    if !searches {
        out.push(atom("no_query", &[d], None));
    }
}
