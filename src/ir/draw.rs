//! Drawings of programs: who calls whom and every script, as DOT, with the place where a conversation stands.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::script::{Block, Callee, Step, StepKind, place_of, way_to};
use super::{Agent, Body, Policy, Program};

/// The program as a DOT graph: a box for every agent with its steps in it, an arrow for whoever is called, contained or takes over.
/// `at` are places where a conversation stands: an agent, or an agent and a step such as `order.steps.2`.
pub fn dot(program: &Program, at: &[String]) -> String {
    let mut out = format!(
        "digraph \"{}\" {{\n  compound=true;\n  node [shape=box, style=\"rounded,filled\", fillcolor=\"#f7f7f7\", fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\"];\n",
        quote(&program.name)
    );
    for (n, agent) in program.agents.iter().enumerate() {
        let here = at.contains(&agent.name);
        let colour = if here { "#c00000" } else { "#888888" };
        let _ =
            writeln!(out, "  subgraph cluster_{n} {{\n    label=\"{} ({})\"; color=\"{colour}\"; fontname=\"sans-serif\";", quote(&agent.name), kind(agent));
        let _ = writeln!(
            out,
            "    a{n} [label=\"{}\", fillcolor=\"#dbe9f6\"];",
            quote(&wrap(if agent.about.is_empty() { &agent.name } else { &agent.about }).join("\n"))
        );
        let blocks = blocks(agent);
        for (b, block) in blocks.iter().enumerate() {
            for (s, step) in block.steps.iter().enumerate() {
                let place = format!("{}.{}", agent.name, step.id);
                let mark = if at.contains(&place) { ", color=\"#c00000\", penwidth=3" } else { "" };
                let _ = writeln!(out, "    {} [label=\"{}\", fillcolor=\"{}\"{mark}];", node(n, b, s), quote(&label(step)), fill(step));
            }
        }
        out.push_str("  }\n");
        if blocks.first().is_some_and(|b| !b.steps.is_empty()) {
            let _ = writeln!(out, "  a{n} -> {};", node(n, 0, 0));
        }
        for (b, block) in blocks.iter().enumerate() {
            arrows(program, n, blocks, b, block, &mut out);
        }
        relations(program, n, agent, &mut out);
    }
    let functions: BTreeSet<&str> = called(program);
    for f in functions {
        let _ = writeln!(out, "  \"f {0}\" [label=\"{0}()\", shape=ellipse, fillcolor=\"#e5e5e5\"];", quote(f));
    }
    out.push_str("}\n");
    out
}

/// A text as it may stand in quotes of DOT.
pub fn quote(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// A text in lines that fit a box.
pub fn wrap(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for w in text.split_whitespace() {
        match out.last_mut() {
            Some(last) if last.chars().count() + w.chars().count() < 35 => {
                last.push(' ');
                last.push_str(w);
            }
            _ => out.push(w.to_owned()),
        }
    }
    out
}

fn kind(agent: &Agent) -> &'static str {
    match agent.body {
        Body::Rules(_) => "rules",
        Body::Graph(_) => "graph",
        Body::Script(_) => "flow",
        Body::Talk { .. } => "llm",
        Body::Know { .. } => "kb",
        Body::Team { .. } => "ensemble",
    }
}

fn blocks(agent: &Agent) -> &[Block] {
    match &agent.body {
        Body::Script(blocks) => blocks,
        _ => &agent.opening,
    }
}

fn node(agent: usize, block: usize, step: usize) -> String {
    format!("s{agent}_{block}_{step}")
}

fn label(step: &Step) -> String {
    let text = match &step.kind {
        StepKind::Wait => "user".to_owned(),
        StepKind::Say(text) => format!("bot: {text}"),
        StepKind::Set(pairs) => format!("set {}", pairs.iter().map(|(p, _)| p.name.clone()).collect::<Vec<_>>().join(", ")),
        StepKind::Call { who: Callee::Function(f) | Callee::Agent(f) | Callee::Block(f), .. } => format!("call {f}"),
        StepKind::Choose(_) => "if".to_owned(),
        StepKind::Label(l) => format!("label {l}"),
        StepKind::Jump { to, tries } => format!("next {to}{}", tries.map_or_else(String::new, |n| format!(" (at most {n} times)"))),
        StepKind::Return { success, .. } => format!("return {}", if *success { "success" } else { "error" }),
    };
    wrap(&text).join("\n")
}

fn fill(step: &Step) -> &'static str {
    match step.kind {
        StepKind::Wait => "#fff2cc",
        StepKind::Say(_) => "#e2f0d9",
        StepKind::Call { .. } => "#e5e5e5",
        StepKind::Choose(_) => "#fce4d6",
        _ => "#f7f7f7",
    }
}

/// The arrows from the steps of a block: to the next one, into branches, and to where jumps and calls lead.
fn arrows(program: &Program, n: usize, blocks: &[Block], b: usize, block: &Block, out: &mut String) {
    for (s, step) in block.steps.iter().enumerate() {
        let from = node(n, b, s);
        if s + 1 < block.steps.len() && !matches!(step.kind, StepKind::Return { .. }) {
            let _ = writeln!(out, "  {from} -> {};", node(n, b, s + 1));
        }
        match &step.kind {
            StepKind::Choose(ways) => {
                for way in ways {
                    if let Some(to) = way_to(blocks, &way.to).filter(|to| blocks.get(*to).is_some_and(|b| !b.steps.is_empty())) {
                        let label = if way.guard == super::guard::Guard::All(vec![]) { "else" } else { "then" };
                        let _ = writeln!(out, "  {from} -> {} [label=\"{label}\"];", node(n, to, 0));
                    }
                }
            }
            StepKind::Jump { to, .. } => {
                if let Some((to, at)) = place_of(blocks, to) {
                    let _ = writeln!(out, "  {from} -> {} [style=dashed];", node(n, to, at));
                }
            }
            StepKind::Call { who: Callee::Block(to), .. } => {
                if let Some((to, at)) = place_of(blocks, to) {
                    let _ = writeln!(out, "  {from} -> {} [style=dashed];", node(n, to, at));
                }
            }
            StepKind::Call { who: Callee::Agent(to), .. } => {
                if let Some(k) = program.agents.iter().position(|a| a.name == *to) {
                    let _ = writeln!(out, "  {from} -> a{k} [lhead=cluster_{k}, label=\"calls\"];");
                }
            }
            StepKind::Call { who: Callee::Function(f), .. } => {
                let _ = writeln!(out, "  {from} -> \"f {}\";", quote(f));
            }
            _ => {}
        }
    }
}

/// The arrows from an agent: to members, functions, and who takes over.
fn relations(program: &Program, n: usize, agent: &Agent, out: &mut String) {
    let place = |name: &str| program.agents.iter().position(|a| a.name == name);
    let mut to = |name: &str, label: &str| {
        if let Some(k) = place(name) {
            let _ = writeln!(out, "  a{n} -> a{k} [lhead=cluster_{k}, label=\"{label}\"];");
        }
    };
    if let Body::Team { members, .. } = &agent.body {
        members.iter().for_each(|m| to(&m.agent, "contains"));
    }
    for (policy, label) in [(&agent.fallback, "fallback"), (&agent.exit, "exit")] {
        if let Some(Policy::Agent(name)) = policy {
            to(name, label);
        }
    }
    if let Body::Talk { uses, .. } = &agent.body {
        for f in uses {
            let _ = writeln!(out, "  a{n} -> \"f {}\" [label=\"uses\"];", quote(f));
        }
    }
}

/// The functions that somebody calls or may call.
fn called(program: &Program) -> BTreeSet<&str> {
    let mut out = BTreeSet::new();
    for agent in &program.agents {
        if let Body::Talk { uses, .. } = &agent.body {
            out.extend(uses.iter().map(String::as_str));
        }
        for step in blocks(agent).iter().flat_map(|b| &b.steps) {
            if let StepKind::Call { who: Callee::Function(f), .. } = &step.kind {
                out.insert(f);
            }
        }
    }
    out
}
