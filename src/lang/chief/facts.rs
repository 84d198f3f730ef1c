//! A graph as facts: what the rules in `rules/chief` read, each with the place it was written at.

use std::collections::{BTreeMap, BTreeSet};

use crate::diag::Origin;
use crate::ir::Program;
use crate::ir::graph::{Flow, Node, NodeKind, Role, Slot, SlotKind, When};
use crate::ir::guard::Guard;
use crate::term::{Atom, Term};

/// Facts, the places they come from, and the conditions that they number.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Each fact with where it was written.
    pub origins: BTreeMap<Atom, Origin>,
    /// Conditions by number.
    pub guards: Vec<Guard>,
}

/// The facts of a program whose agent is a graph.
pub fn facts(program: &Program, flow: &Flow) -> Facts {
    let mut f = Facts::default();
    if let Some(first) = flow.nodes.first() {
        f.add(&first.origin, "start", vec![Term::Int(first.id)]);
    }
    let mut place = 0;
    for n in &flow.nodes {
        f.node(n);
        for s in n.slots() {
            place += 1;
            f.add(&s.origin, "slot_at", vec![Term::Int(n.id), Term::Int(place), Term::string(&s.name)]);
            f.slot(n, s);
        }
    }
    // A slot that several nodes ask is asked by all of its acts.
    for (_, s) in flow.slots() {
        for act in s.ask.iter().chain(&s.also_asked_by) {
            f.add(&s.origin, "asked_by", vec![Term::string(act), Term::string(&s.name)]);
        }
    }
    if let Some((_, s)) = flow.slots().into_iter().find(|(_, s)| s.kind == SlotKind::Time) {
        f.add(&s.origin, "first_time", vec![Term::string(&s.name)]);
    }
    for e in &flow.edges {
        let when = match &e.when {
            When::Always => Term::constant("always"),
            When::Good => Term::constant("good"),
            When::Bad => Term::constant("bad"),
            When::Given => Term::constant("given"),
            When::Withheld => Term::constant("withheld"),
            When::LastStep => Term::constant("last_step"),
            When::If(guard) => {
                let source = flow.node(e.source).and_then(Node::calls);
                Term::Fun("if".into(), vec![f.guard(at_source(guard, source))])
            }
        };
        f.add(&e.origin, "edge", vec![Term::Int(e.source), Term::Int(e.target), when]);
    }
    let a = &flow.anywhere;
    for (intent, act) in [("greeting", &a.greeting), ("goodbye", &a.goodbye), ("more", &a.more), ("lost", &a.lost), ("nothing", &a.nothing)] {
        if let Some(act) = act {
            f.add(&program.origin, "anywhere", vec![Term::constant(intent), Term::string(act)]);
        }
    }
    for x in &flow.answers {
        f.add(&program.origin, "answers", vec![Term::string(&x.act)]);
    }
    for (n, act) in (0..).zip(acts(flow)) {
        f.add(&program.origin, "act_number", vec![Term::string(act), Term::Int(n)]);
        f.fields(flow, act, flow.performed(act).map_or(&program.origin, |n| &n.origin));
    }
    f.functions(program, flow);
    f
}

/// A field that an edge compares is first looked for in what its own node called.
fn at_source(guard: &Guard, function: Option<&str>) -> Guard {
    match (guard, function) {
        (Guard::Compare(path, how, value), Some(f)) => {
            let mut own = path.clone();
            own.of = Some(f.to_owned());
            Guard::Compare(own, *how, value.clone())
        }
        _ => guard.clone(),
    }
}

/// Everything that the agent can say, sorted.
pub fn acts(flow: &Flow) -> BTreeSet<&str> {
    let a = &flow.anywhere;
    let anywhere = [&a.greeting, &a.goodbye, &a.more, &a.lost, &a.nothing].into_iter().flatten();
    let performing = flow.nodes.iter().flat_map(|n| n.acts.iter().map(|a| &a.name));
    let asking = flow.nodes.iter().flat_map(Node::slots).flat_map(|s| s.ask.iter().chain(&s.also_asked_by));
    anywhere.chain(performing).chain(asking).chain(flow.answers.iter().map(|a| &a.act)).chain(flow.replies.keys()).map(String::as_str).collect()
}

/// A part of a reply's template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// Words.
    Words(&'a str),
    /// A field.
    Field(&'a str),
}

/// The template of an act; the message of its node where it has none.
pub fn template<'a>(flow: &'a Flow, act: &str) -> Vec<Part<'a>> {
    let performed = flow.performed(act);
    let reply = performed.and_then(|n| n.reply.as_deref()).unwrap_or(act);
    let Some(mut rest) = flow.replies.get(reply).map(String::as_str) else {
        return performed.and_then(|n| n.message.as_deref()).map(Part::Words).into_iter().collect();
    };
    let mut out = vec![];
    while let Some((before, after)) = rest.split_once('{') {
        out.push(Part::Words(before));
        let Some((field, after)) = after.split_once('}') else { return out };
        out.push(Part::Field(field.split(':').next().unwrap_or(field)));
        rest = after;
    }
    out.push(Part::Words(rest));
    out
}

impl Facts {
    fn add(&mut self, origin: &Origin, name: &str, args: Vec<Term>) {
        self.origins.entry(Atom::new(name, args)).or_insert_with(|| origin.clone());
    }

    fn guard(&mut self, guard: Guard) -> Term {
        self.guards.push(guard);
        Term::number(self.guards.len() - 1)
    }

    fn node(&mut self, n: &Node) {
        let id = Term::Int(n.id);
        let kind = match &n.kind {
            NodeKind::Request { optional: false, .. } => "request",
            NodeKind::Request { optional: true, .. } => "request_optional",
            NodeKind::Call { function, with } => {
                self.add(&n.origin, "calls", vec![id.clone(), Term::string(function)]);
                for (input, value) in with {
                    self.add(&n.origin, "variant", vec![id.clone(), Term::string(input), Term::string(value)]);
                }
                "call"
            }
            NodeKind::Inform => "inform",
            NodeKind::Confirm => "confirm",
        };
        self.add(&n.origin, "node", vec![id.clone(), Term::constant(kind)]);
        for a in &n.acts {
            match &a.when {
                None => self.add(&n.origin, "act_of", vec![id.clone(), Term::string(&a.name)]),
                Some(case) => self.add(&n.origin, "act_if", vec![id.clone(), Term::constant(case), Term::string(&a.name)]),
            }
            if !self.origins.keys().any(|f| &*f.name == "performed" && f.args.first() == Some(&Term::string(&a.name))) {
                self.add(&n.origin, "performed", vec![Term::string(&a.name), id.clone()]);
            }
        }
        for (what, output) in &n.looks_at {
            match what.as_str() {
                "judge" => self.add(&n.origin, "judged", vec![id.clone()]),
                what => self.add(&n.origin, what, vec![id.clone(), Term::string(output)]),
            }
        }
    }

    fn slot(&mut self, n: &Node, s: &Slot) {
        let slot = Term::string(&s.name);
        let mut one = |name: &str, holds: bool| {
            if holds {
                self.add(&s.origin, name, vec![slot.clone()]);
            }
        };
        let optional = matches!(n.kind, NodeKind::Request { optional: true, .. });
        one("slot", true);
        one("optional", optional);
        one("required", s.required && !optional);
        one("identity", s.identity);
        one("when_slot", s.kind.is_when());
        one("text_slot", matches!(s.kind, SlotKind::Text | SlotKind::String));
        one("yes_or_no", s.kind == SlotKind::Boolean);
        one("starts_way", s.kind == SlotKind::Place && s.role == Some(Role::From));
        one("in_words", matches!(s.only_if, Some(Guard::Words(_))));
        if let Some(act) = &s.ask {
            self.add(&s.origin, "ask_act", vec![slot.clone(), Term::string(act)]);
        }
        for other in s.either.iter().filter(|o| **o != s.name) {
            self.add(&s.origin, "either", vec![slot.clone(), Term::string(other)]);
        }
        if let Some(guard) = &s.only_if {
            let number = self.guard(guard.clone());
            self.add(&s.origin, "ruled", vec![slot.clone(), number]);
        }
        if s.kind == SlotKind::Categorical && s.role.is_none() {
            for v in &s.values {
                self.add(&s.origin, "listed", vec![slot.clone(), Term::string(&v.to_lowercase()), Term::string(v)]);
            }
        }
    }

    /// The fields of an act's words, and where each is filled from.
    fn fields(&mut self, flow: &Flow, act: &str, origin: &Origin) {
        for part in template(flow, act) {
            let Part::Field(field) = part else { continue };
            let output = flow.fields.get(field).map_or(field, String::as_str);
            let from = match output {
                "$step" => Term::constant("step"),
                "$detail" => Term::constant("detail"),
                output => Term::Fun("output".into(), vec![Term::string(output)]),
            };
            self.add(origin, "field", vec![Term::string(act), Term::string(field), from]);
            self.add(origin, "blank", vec![Term::string(field), Term::string(&format!("[{}]", field.replace('_', " ")))]);
        }
    }

    fn functions(&mut self, program: &Program, flow: &Flow) {
        for f in &program.functions {
            for input in f.inputs.iter().map(|i| &i.name).filter(|i| flow.slot(i).is_some()) {
                self.add(&program.origin, "takes", vec![Term::string(&f.name), Term::string(input)]);
            }
            for input in f.inputs.iter().filter(|i| i.required).map(|i| &i.name).filter(|i| flow.slot(i).is_some()) {
                self.add(&program.origin, "needs", vec![Term::string(&f.name), Term::string(input)]);
            }
            if let Some(guard) = &f.refuses {
                let number = self.guard(guard.clone());
                self.add(&program.origin, "no_where", vec![Term::string(&f.name), number]);
            }
        }
    }
}
