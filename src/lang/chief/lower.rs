//! From a CHIEF document to the intermediate representation, with everything that cannot work reported.

use std::ops::Range;

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use petgraph::visit::Bfs;

use super::condition::{self, SlotRule};
use super::error;
use super::parse::{Data, Value};
use super::syntax::{self, Document};
use crate::diag::{Diagnostic, Source};
use crate::ir::graph::{Act, Answer, Anywhere, Edge, Flow, Node, NodeKind, Role, Slot, SlotKind, When};
use crate::ir::guard::Guard;
use crate::ir::kind::Kind;
use crate::ir::{Agent, Arg, Body, Function, Input, Program, Project};

const KINDS: [&str; 5] = ["request", "request_optional", "external_action", "inform", "inform_and_confirm"];
const INTENTS: [&str; 5] = ["greeting", "goodbye", "anything_else", "out_of_scope", "nothing_found"];

/// Lowers a document; the program is complete as far as the document was understood.
pub fn lower(source: &Source, d: Document<'_>) -> (Program, Vec<Diagnostic>) {
    let mut l = Lowering { source, found: Vec::new() };
    let mut flow = Flow {
        name: d.name.clone(),
        nodes: Vec::new(),
        edges: Vec::new(),
        anywhere: l.anywhere(&d),
        answers: d.answers.iter().map(|(act, about)| Answer { act: act.clone(), about: about.clone() }).collect(),
        replies: d.replies.clone(),
        fields: d.fields.clone(),
        wordings: d.wordings.clone(),
    };
    let names: Vec<&str> = d.nodes.iter().flat_map(|n| n.slots.iter().map(|(s, _)| s.as_str())).collect();
    for n in &d.nodes {
        if let Some(node) = l.node(n, &names) {
            if flow.node(node.id).is_some() {
                l.found.push(error::duplicate_node(source, n.value.span.clone(), n.id));
            } else {
                flow.nodes.push(node);
            }
        }
    }
    l.edges(&d, &mut flow);
    let functions = l.functions(&d, &flow);
    l.graph(&d, &flow);
    let origin = source.origin(0..0);
    let agent = Agent {
        name: d.name.clone(),
        about: d.description.clone(),
        args: flow.slots().into_iter().map(|(_, s)| Arg::named(&s.name)).collect(),
        body: Body::Graph(Box::new(flow)),
        opening: vec![],
        fallback: None,
        exit: None,
        origin: origin.clone(),
    };
    (Program { name: d.name.clone(), agents: vec![agent], entry: d.name, functions, project: Project::default(), origin }, l.found)
}

struct Lowering<'s> {
    source: &'s Source,
    found: Vec<Diagnostic>,
}

fn input(name: &str, kind: &str, required: &[(String, Range<usize>)]) -> Input {
    let kind = if kind.eq_ignore_ascii_case("boolean") { Kind::Boolean } else { Kind::Text };
    Input { name: name.to_owned(), kind, required: required.iter().any(|(r, _)| r == name) }
}

fn small(id: i64) -> i32 {
    i32::try_from(id).unwrap_or(i32::MAX)
}

fn text(v: &Value, key: &str) -> Option<String> {
    v.get(key).and_then(Value::text).map(str::to_owned)
}

fn flag(v: &Value, key: &str) -> Option<bool> {
    match v.get(key)?.data {
        Data::Bool(b) => Some(b),
        _ => None,
    }
}

impl Lowering<'_> {
    fn anywhere(&mut self, d: &Document<'_>) -> Anywhere {
        let mut out = Anywhere::default();
        for (intent, span, act) in &d.intents {
            let place = match intent.as_str() {
                "greeting" => &mut out.greeting,
                "goodbye" => &mut out.goodbye,
                "anything_else" => &mut out.more,
                "out_of_scope" => &mut out.lost,
                "nothing_found" => &mut out.nothing,
                _ => {
                    self.found.push(error::unknown_word(self.source, span.clone(), "intent", intent, &INTENTS));
                    continue;
                }
            };
            *place = Some(act.clone());
        }
        out
    }

    fn node(&mut self, n: &syntax::Node<'_>, names: &[&str]) -> Option<Node> {
        let v = n.value;
        let slots = |l: &mut Self, optional: bool| n.slots.iter().map(|(name, s)| l.slot(name, s, names, optional)).collect::<Vec<_>>();
        let kind = match n.kind.0.as_str() {
            "request" => NodeKind::Request { slots: slots(self, false), optional: false },
            "request_optional" => NodeKind::Request { slots: slots(self, true), optional: true },
            "external_action" => {
                let function = text(v, "query").or_else(|| text(v, "function"));
                let Some(function) = function else {
                    self.found.push(error::missing(self.source, v.span.clone(), "external_action", "query"));
                    return None;
                };
                let with = v.get("with").map(Value::members).unwrap_or_default();
                NodeKind::Call { function, with: with.iter().filter_map(|(k, _, v)| Some((k.clone(), v.text()?.to_owned()))).collect() }
            }
            "inform" => NodeKind::Inform,
            "inform_and_confirm" => NodeKind::Confirm,
            other => {
                self.found.push(error::unknown_word(self.source, n.kind.1.clone(), "type of node", other, &KINDS));
                return None;
            }
        };
        let is_call = matches!(kind, NodeKind::Call { .. });
        let action = syntax::action(v);
        let plain = action.and_then(Value::text).map(str::to_owned).or_else(|| text(v, "ask_action"));
        let mut acts: Vec<Act> = plain.map(|name| Act { when: None, name }).into_iter().collect();
        for (outcome, _, a) in action.map(Value::members).unwrap_or_default() {
            acts.extend(a.text().map(|a| Act { when: Some(outcome.clone()), name: a.to_owned() }));
        }
        // A flow without act names still has something to say: the node itself is the act, unless its message is told in free words.
        if acts.is_empty() && !is_call && n.slots.is_empty() && v.get("reply").is_none() {
            acts.push(Act { when: None, name: format!("node_{}", n.id) });
        }
        if is_call {
            acts.clear();
        }
        let last = syntax::last_action(v).and_then(Value::text);
        acts.extend(last.map(|name| Act { when: Some("last".to_owned()), name: name.to_owned() }));
        let looks_at = ["steps", "details", "judge"].iter().filter_map(|what| Some(((*what).to_owned(), text(v, what)?)));
        let words = v.get("outcome_words").map(Value::members).unwrap_or_default();
        Some(Node {
            id: small(n.id),
            kind,
            acts,
            message: text(v, "message"),
            reply: text(v, "reply"),
            looks_at: looks_at.collect(),
            outcome_words: words.iter().map(|(outcome, _, w)| (outcome.clone(), w.texts())).collect(),
            origin: self.source.origin(v.span.clone()),
        })
    }

    fn slot(&mut self, name: &str, v: &Value, names: &[&str], optional: bool) -> Slot {
        let described = text(v, "description");
        let label = text(v, "label").unwrap_or_else(|| name.replace('_', " "));
        let examples = v.get("examples").map(Value::texts).unwrap_or_default();
        let mut values = v.get("values").map(Value::texts).unwrap_or_default();
        let mut open = flag(v, "open").unwrap_or(false);
        let kind = self.slot_kind(v, name, &label, &examples, &mut values, &mut open);
        let role = text(v, "role").and_then(|r| match r.as_str() {
            "from" => Some(Role::From),
            "to" => Some(Role::To),
            _ => None,
        });
        let mut required = !optional && flag(v, "required").unwrap_or(true) && !flag(v, "optional").unwrap_or(false);
        let mut either = Vec::new();
        let mut only_if = None;
        if let Some((rule, span)) = v.get("rule").and_then(|r| Some((r.text()?, r.span.clone()))) {
            match condition::slot(rule, names) {
                SlotRule::Optional => required = false,
                SlotRule::Required => required = true,
                SlotRule::Either(slots) => either = slots,
                SlotRule::OnlyIf(guard) => only_if = Some(guard),
                SlotRule::Words => {
                    self.found.push(error::rule_in_words(self.source, span, rule));
                    only_if = Some(Guard::Words(rule.to_owned()));
                }
            }
        }
        let mut cues = v.get("cues").map(Value::texts).unwrap_or_default();
        if cues.is_empty() && matches!(kind, SlotKind::Integer | SlotKind::Digits) {
            cues = label.split_whitespace().map(str::to_lowercase).filter(|w| w.len() > 2).collect();
        }
        Slot {
            name: name.to_owned(),
            label,
            description: described,
            kind,
            values,
            synonyms: v.get("synonyms").map(Value::members).unwrap_or_default().iter().map(|(k, _, w)| (k.clone(), w.texts())).collect(),
            common: v.get("common").map(Value::texts).unwrap_or_default(),
            open,
            range: (v.get("min").and_then(Value::int), v.get("max").and_then(Value::int)),
            cues,
            role,
            identity: flag(v, "identity").unwrap_or(false),
            // The author of a plain flow names no act: asking for a slot is then an act of its own.
            ask: text(v, "ask_action").or_else(|| (!optional && v.get("api_slot").is_none()).then(|| format!("ask_{name}"))),
            also_asked_by: v.get("also_asked_by").map(Value::texts).unwrap_or_default(),
            required,
            either,
            only_if,
            origin: self.source.origin(v.span.clone()),
        }
    }

    fn slot_kind(&mut self, v: &Value, name: &str, label: &str, examples: &[String], values: &mut Vec<String>, open: &mut bool) -> SlotKind {
        let Some(written) = v.get("type") else { return SlotKind::String };
        let word = written.text().unwrap_or("").to_lowercase();
        let named = |w: &str| name.to_lowercase().contains(w) || label.to_lowercase().contains(w);
        match word.as_str() {
            // The paper's own examples call a person's name categorical and list two names.
            "categorical" if values.is_empty() && named("name") => SlotKind::Name,
            "categorical" if values.is_empty() => {
                values.extend(examples.iter().cloned());
                *open = true;
                SlotKind::Categorical
            }
            "number" | "int" => SlotKind::Integer,
            "bool" => SlotKind::Boolean,
            _ => match SlotKind::NAMES.iter().find(|(n, _)| *n == word) {
                Some((_, k)) => *k,
                None => {
                    let known: Vec<&str> = SlotKind::NAMES.iter().map(|(n, _)| *n).collect();
                    self.found.push(error::unknown_word(self.source, written.span.clone(), "type of slot", &word, &known));
                    SlotKind::String
                }
            },
        }
    }

    fn edges(&mut self, d: &Document<'_>, flow: &mut Flow) {
        for e in &d.edges {
            let mut whole = true;
            for (id, span) in [&e.source, &e.target] {
                if flow.node(small(*id)).is_none() && !d.nodes.iter().any(|n| n.id == *id) {
                    self.found.push(error::dangling_edge(self.source, span.clone(), *id));
                    whole = false;
                }
            }
            let words = e.condition.as_ref().map(|(t, _)| t.as_str());
            let when = condition::edge(words).unwrap_or_else(|_| {
                let span = e.condition.as_ref().map_or_else(|| e.span.clone(), |(_, s)| s.clone());
                self.found.push(error::no_value(self.source, span, words.unwrap_or("")));
                When::Always
            });
            if let (When::If(Guard::Words(t)), Some((_, span))) = (&when, &e.condition) {
                self.found.push(error::words(self.source, span.clone(), t));
            }
            if whole {
                flow.edges.push(Edge {
                    source: small(e.source.0),
                    target: small(e.target.0),
                    when,
                    text: words.map(str::to_owned),
                    origin: self.source.origin(e.span.clone()),
                });
            }
        }
        for n in &flow.nodes {
            let out: Vec<(usize, &Edge)> = flow.edges.iter().enumerate().filter(|(_, e)| e.source == n.id).collect();
            // One unconditional edge beside conditional ones is their "otherwise"; a second one never happens.
            let plain: Vec<&Edge> = out.iter().map(|(_, e)| *e).filter(|e| e.when == When::Always).collect();
            if let Some(second) = plain.get(1) {
                self.found.push(error::no_condition(self.source, second.origin.start..second.origin.end, n.id));
            }
        }
    }

    /// The declared functions; one that nobody declares takes every slot.
    fn functions(&mut self, d: &Document<'_>, flow: &Flow) -> Vec<Function> {
        let Some(declared) = &d.functions else {
            let inputs: Vec<Input> = flow.slots().iter().map(|(_, s)| Input { name: s.name.clone(), kind: Kind::Text, required: false }).collect();
            let mut names: Vec<&str> = flow.nodes.iter().filter_map(Node::calls).collect();
            names.sort_unstable();
            names.dedup();
            return names.into_iter().map(|name| Function { name: name.to_owned(), inputs: inputs.clone(), ..Function::default() }).collect();
        };
        let known: Vec<&str> = declared.iter().map(|f| f.name.as_str()).collect();
        for n in &d.nodes {
            if n.kind.0 != "external_action" {
                continue;
            }
            let Some((name, span)) = n.value.get("query").or_else(|| n.value.get("function")).and_then(|q| Some((q.text()?, q.span.clone()))) else { continue };
            match declared.iter().find(|f| f.name == name) {
                None => self.found.push(error::unknown_function(self.source, span, name, &known)),
                Some(f) => {
                    for (input, span) in &f.required {
                        let is_given = n.value.get("with").is_some_and(|w| w.get(input).is_some());
                        if flow.slot(input).is_none()
                            && !is_given
                            && !self.found.iter().any(|x| x.code == "chief-slot-never-asked" && x.origin.start == span.start)
                        {
                            self.found.push(error::never_asked(self.source, span.clone(), input, name));
                        }
                    }
                }
            }
        }
        declared
            .iter()
            .map(|f| Function {
                name: f.name.clone(),
                inputs: f.inputs.iter().map(|(name, kind)| input(name, kind, &f.required)).collect(),
                outputs: f.outputs.clone(),
                idempotent: f.idempotent,
                refuses: (!f.refusals.is_empty()).then(|| Guard::Says { function: f.name.clone(), fields: vec![], words: f.refusals.clone() }),
                ..Function::default()
            })
            .collect()
    }

    fn graph(&mut self, d: &Document<'_>, flow: &Flow) {
        let mut g: DiGraphMap<i32, ()> = DiGraphMap::new();
        for n in &flow.nodes {
            g.add_node(n.id);
        }
        for e in &flow.edges {
            g.add_edge(e.source, e.target, ());
        }
        let Some(start) = flow.nodes.first() else { return };
        let span = |id: i32| -> Range<usize> { d.nodes.iter().find(|n| small(n.id) == id).map_or(0..0, |n| n.value.span.clone()) };
        let mut reached = vec![];
        let mut walk = Bfs::new(&g, start.id);
        while let Some(id) = walk.next(&g) {
            reached.push(id);
        }
        for n in flow.nodes.iter().filter(|n| !reached.contains(&n.id)) {
            self.found.push(error::unreachable(self.source, span(n.id), n.id));
        }
        // Nodes that wait are taken out: a cycle among the rest would never give the speaker a turn.
        for n in flow.nodes.iter().filter(|n| matches!(n.kind, NodeKind::Request { .. } | NodeKind::Confirm)) {
            g.remove_node(n.id);
        }
        for mut cycle in tarjan_scc(&g) {
            cycle.sort_unstable();
            if let Some(first) = cycle.first()
                && (cycle.len() > 1 || g.contains_edge(*first, *first))
            {
                self.found.push(error::restless_cycle(self.source, span(*first), &cycle));
            }
        }
    }
}
