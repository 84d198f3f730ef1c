//! Drawings of flows, as DOT and as SVG, with the place where a dialogue stands.

use std::collections::BTreeMap;
use std::fmt::Write;

use petgraph::graphmap::DiGraphMap;
use petgraph::visit::{IntoNodeReferences, Topo, Walker};

use super::{Edge, Flow, Node, NodeKind};
use crate::ir::draw::{quote, wrap};

/// What to point out in a drawing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Highlight {
    /// The node where the dialogue stands.
    pub current: Option<i32>,
    /// What is known.
    pub slots: BTreeMap<String, String>,
}

/// The lines that stand in a node's box: its number and kind, then what it asks, calls or tells.
fn lines(n: &Node, h: &Highlight) -> Vec<String> {
    let kind = match &n.kind {
        NodeKind::Request { optional: false, .. } => "request",
        NodeKind::Request { optional: true, .. } => "request, optional",
        NodeKind::Call { .. } => "external action",
        NodeKind::Inform => "inform",
        NodeKind::Confirm => "inform and confirm",
    };
    let mut out = vec![format!("{} {kind}", n.id)];
    if let NodeKind::Call { function, with } = &n.kind {
        let given = with.values().cloned().collect::<Vec<_>>().join(", ");
        out.push(if given.is_empty() { function.clone() } else { format!("{function} ({given})") });
    }
    for s in n.slots() {
        out.push(h.slots.get(&s.name).map_or_else(|| s.label.clone(), |v| format!("{} = {v}", s.label)));
    }
    out.extend(n.message.iter().flat_map(|m| wrap(m)));
    out
}

fn colour(n: &Node) -> &'static str {
    match n.kind {
        NodeKind::Request { .. } => "#dbe9f6",
        NodeKind::Call { .. } => "#e5e5e5",
        NodeKind::Inform => "#e2f0d9",
        NodeKind::Confirm => "#fff2cc",
    }
}

const CURRENT: &str = "#c00000";

/// The flow as a DOT graph.
pub fn dot(flow: &Flow, h: &Highlight) -> String {
    let mut out = format!(
        "digraph \"{}\" {{\n  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\"];\n",
        quote(&flow.name)
    );
    for n in &flow.nodes {
        let label = quote(&lines(n, h).join("\n"));
        let here = if h.current == Some(n.id) { format!(", color=\"{CURRENT}\", penwidth=3") } else { String::new() };
        let _ = writeln!(out, "  {} [label=\"{label}\", fillcolor=\"{}\"{here}];", n.id, colour(n));
    }
    for e in &flow.edges {
        let label = e.text.as_ref().map_or_else(String::new, |t| format!(" [label=\"{}\"]", quote(t)));
        let _ = writeln!(out, "  {} -> {}{label};", e.source, e.target);
    }
    out.push_str("}\n");
    out
}

// Wide enough for bold letters of the common sans-serif fonts.
const CHAR: i32 = 8;
const LINE: i32 = 17;
const PAD: i32 = 10;
const GAP_X: i32 = 50;
const GAP_Y: i32 = 60;

#[derive(Clone, Copy)]
struct Frame {
    x: i32,
    y: i32,
    w: i32,
    h: i32,
}

impl Frame {
    fn middle(self) -> i32 {
        self.x + self.w / 2
    }
}

fn int(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}

/// The rank of every node: its longest way from the start when edges that lead back are left out.
fn ranks(flow: &Flow) -> BTreeMap<i32, usize> {
    let mut forward: DiGraphMap<i32, ()> = DiGraphMap::new();
    let place = |id: i32| flow.nodes.iter().position(|n| n.id == id).unwrap_or(0);
    for n in &flow.nodes {
        forward.add_node(n.id);
    }
    for e in flow.edges.iter().filter(|e| place(e.source) < place(e.target)) {
        forward.add_edge(e.source, e.target, ());
    }
    let mut out: BTreeMap<i32, usize> = forward.node_references().map(|(n, _)| (n, 0)).collect();
    for n in Topo::new(&forward).iter(&forward) {
        let rank = out.get(&n).copied().unwrap_or(0);
        for m in forward.neighbors(n) {
            let r = out.entry(m).or_default();
            *r = (*r).max(rank + 1);
        }
    }
    out
}

fn layout(flow: &Flow, h: &Highlight) -> BTreeMap<i32, Frame> {
    let ranks = ranks(flow);
    let mut rows: BTreeMap<usize, Vec<(&Node, i32, i32)>> = BTreeMap::new();
    for n in &flow.nodes {
        let text = lines(n, h);
        let w = int(text.iter().map(|l| l.chars().count()).max().unwrap_or(0)) * CHAR + 2 * PAD;
        rows.entry(ranks.get(&n.id).copied().unwrap_or(0)).or_default().push((n, w, int(text.len()) * LINE + PAD));
    }
    let width = |row: &[(&Node, i32, i32)]| row.iter().map(|(_, w, _)| w + GAP_X).sum::<i32>() - GAP_X;
    let widest = rows.values().map(|r| width(r)).max().unwrap_or(0);
    let mut out = BTreeMap::new();
    let mut y = PAD;
    for row in rows.values() {
        let mut x = GAP_X + (widest - width(row)) / 2;
        for (n, w, h) in row {
            out.insert(n.id, Frame { x, y, w: *w, h: *h });
            x += w + GAP_X;
        }
        y += row.iter().map(|(_, _, h)| *h).max().unwrap_or(0) + GAP_Y;
    }
    out
}

fn escape(t: &str) -> String {
    t.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The middle of a cubic curve in one dimension.
fn halfway(a: i32, b: i32, c: i32, d: i32) -> i32 {
    (a + 3 * b + 3 * c + d) / 8
}

/// An edge: down the middle to the next rank, around the right side over several ranks, around the left side when it leads back. `lane` keeps
/// edges around one side apart. Gives the path and the place of its label.
fn path(e: &Edge, a: Frame, b: Frame, all: &BTreeMap<i32, Frame>, lane: i32) -> (String, i32, i32) {
    if e.source == e.target {
        let (x, y) = (a.x + a.w, a.y + a.h / 2);
        return (format!("M{x},{} C{},{} {},{} {},{}", y - 8, x + 50, y - 24, x + 50, y + 24, x + 4, y + 8), x + 42, y + 4);
    }
    let between: Vec<&Frame> = all.values().filter(|f| f.y + f.h > a.y.min(b.y) && f.y < (a.y + a.h).max(b.y + b.h)).collect();
    if b.y > a.y {
        let crossed = all.values().any(|f| f.y > a.y && f.y + f.h < b.y);
        if !crossed {
            let (x1, y1, x2, y2) = (a.middle(), a.y + a.h, b.middle(), b.y);
            let bend = (y2 - y1) / 2;
            return (format!("M{x1},{y1} C{x1},{} {x2},{} {x2},{}", y1 + bend, y2 - bend, y2 - 4), i32::midpoint(x1, x2), i32::midpoint(y1, y2) + 4);
        }
        return around(e, a, b, &between, lane, false);
    }
    // The side that no neighbour stands on is the free one.
    let neighbour = all.values().any(|f| f.x + f.w < a.x && f.y < a.y + a.h && f.y + f.h > a.y);
    around(e, a, b, &between, lane, !neighbour)
}

/// An edge around one side of what stands between its ends; the label stands outside of it.
fn around(e: &Edge, a: Frame, b: Frame, between: &[&Frame], lane: i32, left: bool) -> (String, i32, i32) {
    let label = e.text.as_ref().map_or(0, |t| int(t.chars().count()) * CHAR / 2) + 4;
    let (y1, y2) = (a.y + a.h / 2, b.y + b.h / 2);
    // A curve comes three quarters of the way to its outer points.
    let reach = 60 + 24 * lane;
    if left {
        let far = between.iter().map(|f| f.x).min().unwrap_or(0) - reach;
        let (x1, x2) = (a.x, b.x);
        return (format!("M{x1},{y1} C{far},{y1} {far},{y2} {},{y2}", x2 - 4), halfway(x1, far, far, x2) - label, i32::midpoint(y1, y2) + 4);
    }
    let far = between.iter().map(|f| f.x + f.w).max().unwrap_or(0) + reach;
    let (x1, x2) = (a.x + a.w, b.x + b.w);
    (format!("M{x1},{y1} C{far},{y1} {far},{y2} {},{y2}", x2 + 4), halfway(x1, far, far, x2) + label, i32::midpoint(y1, y2) + 4)
}

/// The flow as an SVG image.
pub fn svg(flow: &Flow, h: &Highlight) -> String {
    let boxes = layout(flow, h);
    let mut lane = 0;
    let mut edges = Vec::new();
    for e in &flow.edges {
        let (Some(a), Some(b)) = (boxes.get(&e.source), boxes.get(&e.target)) else { continue };
        let (d, x, y) = path(e, *a, *b, &boxes, lane);
        let straight = b.y > a.y && !boxes.values().any(|f| f.y > a.y && f.y + f.h < b.y);
        if e.source != e.target && !straight {
            lane += 1;
        }
        edges.push((d, e.text.as_deref(), x, y));
    }
    // Labels stand around their places and reach as far as the boxes or further.
    let half = |t: Option<&str>| t.map_or(0, |t| int(t.chars().count()) * CHAR / 2);
    let left = edges.iter().map(|(_, t, x, _)| x - half(*t)).chain(boxes.values().map(|b| b.x)).min().unwrap_or(0).min(0) - 2 * PAD;
    let right = edges.iter().map(|(_, t, x, _)| x + half(*t)).chain(boxes.values().map(|b| b.x + b.w)).max().unwrap_or(0) + 2 * PAD;
    let bottom = boxes.values().map(|b| b.y + b.h).max().unwrap_or(0) + PAD;
    let width = right - left;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{bottom}\" viewBox=\"{left} 0 {width} {bottom}\" font-family=\"sans-serif\" font-size=\"13\">\n<title>{}</title>\n\
         <defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"6\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\"><path d=\"M0,0 L8,4 L0,8 z\"/></marker></defs>\n",
        escape(&flow.name)
    );
    for (d, ..) in &edges {
        let _ = writeln!(out, "<path d=\"{d}\" fill=\"none\" stroke=\"#444\" marker-end=\"url(#tip)\"/>");
    }
    for n in &flow.nodes {
        let Some(b) = boxes.get(&n.id) else { continue };
        let (stroke, thick) = if h.current == Some(n.id) { (CURRENT, 3) } else { ("#444", 1) };
        let _ = writeln!(
            out,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"6\" fill=\"{}\" stroke=\"{stroke}\" stroke-width=\"{thick}\"/>",
            b.x,
            b.y,
            b.w,
            b.h,
            colour(n)
        );
        for (k, line) in lines(n, h).iter().enumerate() {
            let weight = if k == 0 { " font-weight=\"bold\"" } else { "" };
            let _ = writeln!(out, "<text x=\"{}\" y=\"{}\"{weight}>{}</text>", b.x + PAD, b.y + LINE * (int(k) + 1), escape(line));
        }
    }
    // The labels come last, each on a ground of its own, so that no line runs through their letters.
    for (_, text, x, y) in &edges {
        if let Some(t) = text {
            let (w, t) = (half(Some(*t)) * 2, escape(t));
            let _ = writeln!(out, "<rect x=\"{}\" y=\"{}\" width=\"{w}\" height=\"{LINE}\" fill=\"white\" fill-opacity=\"0.85\"/>", x - w / 2, y - 13);
            let _ = writeln!(out, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" fill=\"#444\" font-style=\"italic\">{t}</text>");
        }
    }
    out.push_str("</svg>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Source;
    use crate::lang::chief;

    #[test]
    fn drawings_show_where_the_dialogue_stands() {
        let text = r#"{"nodes": [{"id": 1, "type": "request", "slots": {"day": {"type": "day", "label": "Day"}}},
            {"id": 2, "type": "inform_and_confirm", "message": "Is <it> right?"}],
            "edges": [{"source": 1, "target": 2}, {"source": 2, "target": 1, "condition": "No"}]}"#;
        let (flow, found) = chief::read(&Source::new("f.json", text));
        assert_eq!(found, []);
        let program = flow.unwrap();
        let flow = program.graph().unwrap();
        let h = Highlight { current: Some(2), slots: [("day".to_owned(), "friday".to_owned())].into() };
        let d = dot(flow, &h);
        assert!(d.contains("Day = friday") && d.contains("2 -> 1 [label=\"No\"]") && d.contains("penwidth=3"), "{d}");
        let s = svg(flow, &h);
        assert!(s.contains("Is &lt;it&gt; right?") && s.matches("rx=\"6\"").count() == 2 && s.contains(CURRENT), "{s}");
    }
}
