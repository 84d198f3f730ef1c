// Flows: talk to one beside its graph, which shows where the conversation stands. The graph is read off the flow's own facts.
import { desk as makeDesk } from "./desk.js";
import { h, s, toast } from "./dom.js";
import { bare, parts } from "./format.js";
import { lane } from "./lane.js";
import { layout, wrap } from "./layout.js";
import { opened } from "./turn.js";

const ROLE = "speaker";
const KINDS = { request: "asks for", request_optional: "may ask for", call: "calls", inform: "tells", confirm: "tells, awaits yes or no" };

/** Shows the flows in `main`; gives what ends it. */
export function flows(main, { service, site, link }) {
  link(true);
  const choice = h("select", { id: "flow", "aria-label": "Flow" });
  const drawing = h("div", { class: "drawing", tabindex: "0", role: "group", "aria-label": "The graph" });
  const inspector = h("section", { class: "pane inspector", "aria-label": "The opened turn", tabindex: "0" });
  const side = h("div", { class: "flow-side" });
  main.replaceChildren(h("div", { class: "flows" },
    side,
    h("section", { class: "pane flow-pane", "aria-label": "Graph of the flow" }, h("header", { class: "pane-head" }, h("h2", {}, "Flow"), choice, h("p", { class: "aside" }, "Marked: where the conversation stands.")), drawing),
    inspector));
  let end = () => {};
  const begin = async (name) => {
    end();
    const own = { ...service, open: () => service.tryFlow(name), shared: async () => ({ facts: [], version: null }), events: () => () => {} };
    const desk = makeDesk({ service: own, site, agent: `flow:${name}`, roles: [ROLE] });
    const talk = lane(ROLE, { title: "the speaker", greeting: "", examples: ["Hello!"], desk });
    side.replaceChildren(talk.element);
    let shown = "";
    let drawn = "";
    const unwatch = desk.watch(async (state) => {
      talk.update(state);
      const mine = state.lanes[ROLE];
      const chosen = state.selected && mine.turns.find((t) => t.turn === state.selected.turn);
      const key = `${mine.session}/${chosen?.turn}`;
      if (key !== shown && chosen) inspector.replaceChildren(opened(chosen, { service, session: mine.session, title: "the speaker", onfork: () => desk.fork(ROLE, chosen.turn) }));
      else if (!chosen) inspector.replaceChildren(h("div", { class: "hint" }, h("h2", {}, "A turn, opened"), h("p", {}, "Say something to the flow; every turn can be opened here.")));
      shown = key;
      const where = `${mine.session}/${mine.turns.length}`;
      if (!mine.session || where === drawn) return;
      drawn = where;
      try {
        const [graph, now] = await Promise.all([service.facts(mine.session, "kb"), service.facts(mine.session, "session").catch(() => [])]);
        draw(drawing, graphOf(graph, now));
      } catch (error) {
        toast(error.message);
      }
    });
    end = unwatch;
    desk.start().catch((error) => toast(error.message));
  };
  choice.addEventListener("change", () => {
    localStorage.setItem("duologue.flow", choice.value);
    begin(choice.value);
  });
  service.flows().then((names) => {
    choice.append(...names.map((name) => h("option", { value: name }, name.replaceAll("_", " "))));
    const kept = localStorage.getItem("duologue.flow");
    choice.value = names.includes(kept) ? kept : names[0];
    if (choice.value) begin(choice.value);
    else drawing.append(h("p", { class: "aside" }, "No flow is built in."));
  }, (error) => toast(error.message));
  return () => end();
}

/** The graph that a flow's facts describe, and where the conversation stands in it. */
export function graphOf(kb, session) {
  const all = kb.map(parts);
  const now = session.map(parts);
  const of = (facts, name) => facts.filter((f) => f.name === name).map((f) => f.args);
  const known = new Map(of(now, "value"));
  const withheld = new Set(of(now, "withheld").map(([slot]) => slot));
  const last = of(now, "last").map(([act]) => act);
  const awaited = new Set(of(now, "awaited").map(([slot]) => slot));
  const acts = [...of(all, "act_of"), ...of(all, "act_if").map(([n, , act]) => [n, act])];
  const slots = of(all, "slot_at").map(([n, place, slot]) => ({ n, place: Number(place), slot })).sort((a, b) => a.place - b.place);
  const spoken = new Set(of(now, "said").map(([act]) => act));
  const nodes = of(all, "node").map(([id, kind]) => {
    const asks = slots.filter((x) => x.n === id).map((x) => x.slot);
    const calls = of(all, "calls").filter(([n]) => n === id).map(([, f]) => f);
    const does = acts.filter(([n]) => n === id).map(([, act]) => act);
    const lines = [
      ...asks.map((slot) => ({ text: known.has(slot) ? `${slot} = ${known.get(slot)}` : slot, kind: known.has(slot) ? "known" : withheld.has(slot) ? "withheld" : "open" })),
      ...calls.flatMap((f) => wrap(f).map((text) => ({ text, kind: "call" }))),
      ...(asks.length ? [] : does.slice(0, 2).flatMap((act) => wrap(act.replaceAll("_", " "), 28).map((text) => ({ text, kind: "act" })))),
    ];
    const waits = of(now, "waiting").some(([n]) => n === id);
    const asked = asks.some((slot) => awaited.has(slot));
    return { id, kind, lines: [{ text: `${id} · ${KINDS[kind] ?? kind}`, kind: "kind" }, ...lines], waits, asked, told: does.some((act) => last.includes(act)), been: does.some((act) => spoken.has(act)) || asks.some((slot) => known.has(slot)) || of(now, "called").some(([n]) => n === id) };
  });
  const here = nodes.find((n) => n.waits) ?? nodes.find((n) => n.asked) ?? nodes.find((n) => n.told) ?? (now.length ? null : nodes.find((n) => of(all, "start").some(([id]) => id === n.id)));
  const edges = of(all, "edge").map(([source, target, when]) => ({ source, target, text: bare(when) }));
  return { nodes: nodes.sort((a, b) => Number(a.id) - Number(b.id)), edges, here: here?.id ?? null };
}

/** Draws it. */
function draw(place, graph) {
  if (!graph.nodes.length) {
    place.replaceChildren(h("p", { class: "aside" }, "This flow has no nodes."));
    return;
  }
  const plan = layout(graph);
  const label = graph.here ? `Graph with ${graph.nodes.length} nodes; the conversation stands at node ${graph.here}` : `Graph with ${graph.nodes.length} nodes`;
  const svg = s("svg", { viewBox: `${-plan.left} 0 ${plan.width} ${plan.height}`, width: plan.width, height: plan.height, role: "img", "aria-label": label },
    s("defs", {}, s("marker", { id: "tip", viewBox: "0 0 8 8", refX: 6, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" }, s("path", { d: "M0,0.5 L7,4 L0,7.5 z" }))));
  for (const { edge, path } of plan.edges) svg.append(s("path", { class: edge.source === graph.here ? "edge out" : "edge", d: path, "marker-end": "url(#tip)" }));
  for (const { edge, x, y } of plan.edges) {
    if (!edge.text || edge.text === "always") continue;
    const text = edge.text.length > 26 ? `${edge.text.slice(0, 25)}…` : edge.text;
    const width = text.length * 6.4 + 8;
    svg.append(s("rect", { class: "label-back", x: x - width / 2, y: y - 12, width, height: 16, rx: 8 }), text_(x, y, text, "label"));
  }
  for (const node of graph.nodes) {
    const f = plan.nodes.get(node.id);
    const kind = ["node", node.kind, node.id === graph.here ? "here" : "", node.been ? "been" : ""].join(" ");
    const group = s("g", { class: kind }, s("rect", { x: f.x, y: f.y, width: f.w, height: f.h, rx: 9 }));
    node.lines.forEach((line, i) => group.append(text_(f.x + 12, f.y + 21 + i * 17, line.text.length > 30 ? `${line.text.slice(0, 29)}…` : line.text, `t-${line.kind}`)));
    svg.append(group);
  }
  place.replaceChildren(svg);
  const at = graph.here && plan.nodes.get(graph.here);
  if (at) place.scrollTo({ top: Math.max(at.y - place.clientHeight / 3, 0), left: Math.max(at.x + plan.left - place.clientWidth / 2, 0) });
}

function text_(x, y, text, kind) {
  const out = s("text", { x, y, class: kind });
  out.textContent = text;
  return out;
}
