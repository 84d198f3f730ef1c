//! A program in today's spelling: older words are replaced where they stand, blocks become keys, and everything else stays as it is written,
//! comments included.

use std::ops::Range;

use super::parse::{Data, Node, Word};
use super::syntax::{Document, StepKind};
use crate::diag::Source;

/// A part of the text with what stands there instead.
type Edit = (Range<usize>, String);

/// The text of a program in ADL 1.0 form.
pub fn export(source: &Source, root: &Node, document: &Document) -> String {
    let mut edits: Vec<Edit> = vec![];
    for (name, node) in root.members() {
        if name.text == "schedule" {
            edits.push((lines(source, name, node), String::new()));
        }
        agent(source, name, node, &mut edits);
    }
    for agent in &document.agents {
        let labels: Vec<&str> = agent.labels().iter().map(|l| l.text.as_str()).collect();
        let blocks: Vec<&str> = agent.blocks.iter().map(|b| b.name.text.as_str()).collect();
        for step in agent.steps() {
            if let StepKind::Call { target, .. } = &step.kind
                && labels.contains(&target.text.as_str())
                && !blocks.contains(&target.text.as_str())
                && document.agent(&target.text).is_none()
            {
                edits.push((step.span.clone(), "next".to_owned()));
            }
        }
    }
    apply(&source.text, edits)
}

/// The text with its edits, the later ones first; of two that overlap the first written counts.
fn apply(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|(at, _)| (at.start, at.end));
    let (mut out, mut from) = (String::new(), 0);
    for (at, new) in edits {
        if at.start < from {
            continue;
        }
        out.push_str(text.get(from..at.start).unwrap_or(""));
        out.push_str(&new);
        from = at.end;
    }
    out.push_str(text.get(from..).unwrap_or(""));
    out
}

/// The lines of a member, whole.
fn lines(source: &Source, key: &Word, value: &Node) -> Range<usize> {
    let last = source.text.get(..value.span.end.max(key.span.end)).map_or(key.span.end, |t| t.trim_end().len());
    line_at(source, key.span.start).start..line_at(source, last).end
}

/// The line that a place stands in.
fn line_at(source: &Source, at: usize) -> Range<usize> {
    let text = &source.text;
    let start = text.get(..at).and_then(|t| t.rfind('\n')).map_or(0, |n| n + 1);
    start..text.get(at..).and_then(|t| t.find('\n')).map_or(text.len(), |n| at + n + 1)
}

/// How far a place is indented.
fn indent(source: &Source, at: usize) -> usize {
    source.text.get(..at).map_or(0, |t| t.len() - t.rfind('\n').map_or(0, |n| n + 1))
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn agent(source: &Source, name: &Word, node: &Node, edits: &mut Vec<Edit>) {
    let members = node.members();
    if name.text == "main" && !members.is_empty() && node.get("type").is_none() {
        let pad = members.first().map_or(2, |(k, _)| indent(source, k.span.start));
        let at = members.first().map_or(node.span.start, |(k, _)| k.span.start);
        edits.push((at..at, format!("type: flow agent\n{}", " ".repeat(pad))));
    }
    let sources: Vec<&(Word, Node)> = members.iter().filter(|(k, _)| matches!(k.text.as_str(), "sources" | "web" | "file")).collect();
    if let [first, rest @ ..] = sources.as_slice() {
        one_list(source, first, rest, edits);
    }
    for (key, value) in members {
        match key.text.as_str() {
            "type" => {
                if let Some(word) = value.word() {
                    let plain = word.text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
                    if plain != word.text {
                        edits.push((word.span, plain));
                    }
                }
            }
            "contain" => edits.push((key.span.clone(), "contains".to_owned())),
            "schedule" => edits.push((lines(source, key, value), String::new())),
            "exit" | "fallback" => {
                let first = value.list().and_then(|l| l.first()).unwrap_or(value);
                if let Some(policy) = first.get("policy").and_then(Node::word) {
                    edits.push((key.span.end..policy.span.end, format!(": {}", quoted(&policy.text))));
                }
            }
            "faq" => faq(source, key, value, edits),
            "args" => {
                if let Some(word) = value.word().filter(|_| !value.is_nothing()) {
                    edits.push((word.span.clone(), format!("[{}]", source.text.get(word.span.clone()).unwrap_or(&word.text))));
                }
            }
            "steps" => blocks(source, key, value, edits),
            _ => {}
        }
    }
}

/// Several lists of sources become one, where the first stands.
fn one_list(source: &Source, (key, value): &(Word, Node), rest: &[&(Word, Node)], edits: &mut Vec<Edit>) {
    if key.text != "sources" {
        edits.push((key.span.clone(), "sources".to_owned()));
    }
    if rest.is_empty() {
        return;
    }
    let raw = |n: &Node| source.text.get(n.span.clone()).unwrap_or("").trim_end().to_owned();
    let items = |n: &Node| n.list().map_or_else(|| vec![raw(n)], |l| l.iter().map(raw).collect());
    let more = rest.iter().flat_map(|(_, v)| items(v));
    let last = value.list().and_then(<[Node]>::last).map(|item| line_at(source, item.span.start));
    let dash = last.as_ref().and_then(|at| source.text.get(at.clone())).and_then(|line| line.split_once("- ")).map(|(pad, _)| pad);
    match (last, dash.filter(|pad| pad.trim().is_empty())) {
        (Some(at), Some(pad)) => edits.push((at.end..at.end, more.map(|item| format!("{pad}- {item}\n")).collect())),
        _ => {
            let pad = " ".repeat(indent(source, key.span.start));
            let all = items(value).into_iter().chain(more).map(|item| format!("\n{pad}- {item}"));
            edits.push((key.span.end..value.span.end, all.fold(":".to_owned(), |all, one| all + &one)));
        }
    }
    edits.extend(rest.iter().map(|(k, v)| (lines(source, k, v), String::new())));
}

/// Questions that are a map become a list.
fn faq(source: &Source, key: &Word, value: &Node, edits: &mut Vec<Edit>) {
    let Data::Map(members) = &value.data else { return };
    let pad = " ".repeat(indent(source, key.span.start));
    let raw = |n: &Range<usize>| source.text.get(n.clone()).unwrap_or("").to_owned();
    let text = match (value.get("q"), value.get("a")) {
        (Some(q), Some(a)) => format!(":\n{pad}- q: {}\n{pad}  a: {}", raw(&q.span), raw(&a.span)),
        _ => members.iter().map(|(q, a)| format!("\n{pad}- q: {}\n{pad}  a: {}", raw(&q.span), raw(&a.span))).fold(":".to_owned(), |all, one| all + &one),
    };
    let end = members.iter().map(|(_, v)| v.span.end).max().unwrap_or(value.span.end);
    edits.push((key.span.end..end, text));
}

/// `begin` and `end` go; a named block after the first becomes a key beside `steps`.
fn blocks(source: &Source, key: &Word, value: &Node, edits: &mut Vec<Edit>) {
    let Some(items) = value.list() else { return };
    let pad = " ".repeat(indent(source, key.span.start));
    let mut seen = 0;
    for item in items {
        let lone = item.word().map(|w| w.text.trim().to_owned());
        let named = item.get("begin").and_then(Node::word).filter(|w| !w.text.is_empty());
        let is_begin = lone.as_deref() == Some("begin") || item.get("begin").is_some();
        let is_end = lone.as_deref() == Some("end") || item.get("end").is_some();
        if !is_begin && !is_end {
            seen += 1;
            continue;
        }
        let line = line_at(source, item.span.start);
        match named.filter(|_| is_begin && seen > 0) {
            Some(name) => edits.push((line, format!("{pad}{}:\n", source.text.get(name.span).unwrap_or(&name.text)))),
            None => edits.push((line, String::new())),
        }
    }
}
