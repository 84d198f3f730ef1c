//! A flow as facts: what `rules/core/flow.lp` reads.

use std::sync::Arc;

use super::{Flow, NodeKind, When};
use crate::diag::{Diagnostic, Source};
use crate::reason::{Base, ReasonError, Rules, Scope, Signature};
use crate::term::{Atom, Term};

/// The general rules of dialogue flows.
const RULES: &str = include_str!("../../rules/core/flow.lp");

const KB: [(&str, usize); 20] = [
    ("start", 1),
    ("node", 2),
    ("edge", 3),
    ("act_of", 2),
    ("act_if", 3),
    ("last_act", 2),
    ("steps", 1),
    ("judged", 1),
    ("variant", 2),
    ("slot_at", 3),
    ("required", 1),
    ("optional", 1),
    ("ask_act", 2),
    ("identity", 1),
    ("when_slot", 1),
    ("text_slot", 1),
    ("either", 2),
    ("ruled", 1),
    ("anywhere", 2),
    ("answers", 1),
];
const SESSION: [(&str, usize); 16] = [
    ("known", 1),
    ("refused", 1),
    ("asked", 1),
    ("said", 1),
    ("last", 1),
    ("waiting", 1),
    ("awaited", 1),
    ("found", 0),
    ("stepping", 1),
    ("left", 1),
    ("untold", 1),
    ("failed", 0),
    ("default", 1),
    ("echo", 1),
    ("past_first", 0),
    ("past_second", 0),
];

/// The rules of dialogue flows, ready to decide.
pub fn rules() -> Result<Arc<Rules>, Vec<Diagnostic>> {
    rules_of(&Source::new("rules/core/flow.lp", RULES))
}

/// Another text of the rules, for trying out a change of them.
pub fn rules_of(source: &Source) -> Result<Arc<Rules>, Vec<Diagnostic>> {
    let mut signature = Signature::default();
    for ((name, arity), scope) in KB.iter().map(|p| (p, Scope::Kb)).chain(SESSION.iter().map(|p| (p, Scope::Session))) {
        signature.stored.insert(((*name).into(), *arity), scope);
    }
    signature.turn.push(("in".into(), 2));
    Rules::load(std::slice::from_ref(source), &signature).map(Arc::new)
}

/// An atom.
pub(super) fn atom(name: &str, args: Vec<Term>) -> Atom {
    Atom { name: name.into(), args }
}

fn text(t: &str) -> Term {
    Term::string(t)
}

/// The number of an edge.
pub(super) fn number(edge: usize) -> Term {
    Term::Int(i32::try_from(edge).unwrap_or(i32::MAX))
}

/// The flow's facts.
pub fn facts(flow: &Flow) -> Vec<Atom> {
    let mut out = Vec::new();
    if let Some(first) = flow.nodes.first() {
        out.push(atom("start", vec![Term::Int(first.id)]));
    }
    let mut place = 0;
    for n in &flow.nodes {
        let id = Term::Int(n.id);
        let kind = match &n.kind {
            NodeKind::Request { optional: false, .. } => "request",
            NodeKind::Request { optional: true, .. } => "request_optional",
            NodeKind::Call { variant, .. } => {
                out.extend(variant.iter().map(|v| atom("variant", vec![id.clone(), text(v)])));
                "call"
            }
            NodeKind::Inform => "inform",
            NodeKind::Confirm => "confirm",
        };
        out.push(atom("node", vec![id.clone(), Term::constant(kind)]));
        out.extend(n.act.iter().map(|a| atom("act_of", vec![id.clone(), text(a)])));
        out.extend(n.acts_by_outcome.iter().map(|(o, a)| atom("act_if", vec![id.clone(), Term::constant(o), text(a)])));
        out.extend(n.last_act.iter().map(|a| atom("last_act", vec![id.clone(), text(a)])));
        if n.steps.is_some() {
            out.push(atom("steps", vec![id.clone()]));
        }
        if n.judge.is_some() {
            out.push(atom("judged", vec![id.clone()]));
        }
        for s in n.slots() {
            place += 1;
            let slot = text(&s.name);
            out.push(atom("slot_at", vec![id.clone(), Term::Int(place), slot.clone()]));
            if matches!(n.kind, NodeKind::Request { optional: true, .. }) {
                out.push(atom("optional", vec![slot.clone()]));
            } else if s.required {
                out.push(atom("required", vec![slot.clone()]));
            }
            out.extend(s.ask.iter().map(|a| atom("ask_act", vec![slot.clone(), text(a)])));
            out.extend(s.either.iter().filter(|o| **o != s.name).map(|o| atom("either", vec![slot.clone(), text(o)])));
            for (name, holds) in [
                ("identity", s.identity),
                ("ruled", s.only_if.is_some()),
                ("when_slot", s.kind.is_when()),
                ("text_slot", matches!(s.kind, super::SlotKind::Text | super::SlotKind::String)),
            ] {
                if holds {
                    out.push(atom(name, vec![slot.clone()]));
                }
            }
        }
    }
    for (n, e) in flow.edges.iter().enumerate() {
        let when = match &e.when {
            When::Always => Term::constant("always"),
            When::Good => Term::constant("good"),
            When::Bad => Term::constant("bad"),
            When::Given => Term::constant("given"),
            When::Withheld => Term::constant("withheld"),
            When::LastStep => Term::constant("last_step"),
            When::Equals(field, value) => Term::Fun("equals".into(), vec![text(field), text(value)]),
            When::Test(_) => Term::Fun("test".into(), vec![number(n)]),
            // Free text never becomes a symbol: the condition is known by the number of its edge.
            When::Words(_) => Term::Fun("words".into(), vec![number(n)]),
        };
        out.push(atom("edge", vec![Term::Int(e.source), Term::Int(e.target), when]));
    }
    let a = &flow.anywhere;
    for (intent, act) in [("greeting", &a.greeting), ("goodbye", &a.goodbye), ("more", &a.more), ("lost", &a.lost), ("nothing", &a.nothing)] {
        out.extend(act.iter().map(|x| atom("anywhere", vec![Term::constant(intent), text(x)])));
    }
    out.extend(flow.answers.iter().map(|x| atom("answers", vec![text(&x.act)])));
    out.sort();
    out.dedup();
    out
}

/// The flow's facts and what follows from them alone.
pub fn base(rules: &Arc<Rules>, flow: &Flow) -> Result<Base, ReasonError> {
    Base::build(rules, &facts(flow), &[])
}
