// The counter: two lanes side by side, the ticket and the shared facts between them, one turn opened up beside.
import { h, toast } from "./dom.js";
import { desk as makeDesk } from "./desk.js";
import { asTest, download } from "./keep.js";
import { lane } from "./lane.js";
import { menu } from "./menu.js";
import { shared } from "./shared.js";
import { ticket } from "./ticket.js";
import { inOrder, timeline } from "./timeline.js";
import { opened } from "./turn.js";

/** Shows the counter of an agent in `main`; gives what ends it. */
export function counter(main, { service, agent, site, plan, link }) {
  const roles = plan.roles;
  const names = (role) => agent.roles[role]?.title ?? role;
  const desk = makeDesk({ service, site, agent: agent.name, roles, sees: plan.ticket?.role ?? roles[0] });
  const lanes = roles.map((role) => lane(role, { title: names(role), greeting: agent.roles[role]?.greeting ?? "", examples: plan.examples?.[role] ?? [], desk }));
  const order = plan.ticket ? ticket(plan.ticket.role, { service, title: plan.ticket.title, out: plan.catalogue?.out }) : null;
  const facts = shared({ names, desk, plan: plan.shared });
  const card = plan.catalogue ? menu({ plan: plan.catalogue, role: plan.ticket.role, service, desk }) : null;
  const strip = timeline({ roles, names, desk });
  const hint = h("div", { class: "hint" }, h("h2", {}, "A turn, opened"), h("p", {}, "Say something on either side. Each turn can be opened here: words, predicates, decision with its proof, facts changed, text."),
    h("ol", { class: "pipeline", "aria-hidden": "true" }, ["words", "predicates", "decision", "facts", "text"].map((w) => h("li", {}, w))));
  const inspector = h("section", { class: "pane inspector", "aria-label": "The opened turn", tabindex: "0" }, hint);
  const middle = h("div", { class: "pane middle", tabindex: "0", role: "group", "aria-label": "Order and shared facts" }, order?.element, facts.element, card && h("button", { type: "button", class: "button wide", onclick: () => card.open() }, plan.catalogue.button));
  const panes = [lanes[0].element, middle, ...lanes.slice(1).map((l) => l.element)];
  const board = h("div", { class: "counter", data: { tab: "0" } }, ...panes, inspector, strip.element, card?.element, tabs());
  main.replaceChildren(board);

  function tabs() {
    const labels = [names(roles[0]), plan.ticket?.tab ?? "Facts", ...roles.slice(1).map(names), "Turn"].map((l) => l.replace(/^the /, ""));
    return h("nav", { class: "tabs", "aria-label": "Panes" }, labels.map((label, i) => h("button", { type: "button", "aria-pressed": String(i === 0), onclick: () => show(i) }, label)));
  }
  function show(i) {
    board.dataset.tab = String(i);
    board.querySelectorAll(".tabs button").forEach((b, n) => b.setAttribute("aria-pressed", String(n === i)));
  }

  const keep = (turn) => {
    const until = inOrder(desk.state).filter((t) => t.at <= turn.at);
    const id = `${agent.name}-${turn.session.slice(0, 8)}-${turn.turn}`;
    download(`${id}.yaml`, asTest(until, { id, title: `Kept from the console: ${turn.said ?? "a turn"}` }));
  };

  let drawn = "";
  const draw = (state) => {
    for (const part of [...lanes, order, facts, strip]) part?.update(state);
    card?.update(state);
    link(state.live);
    const chosen = state.selected && state.lanes[state.selected.role].turns.find((t) => t.turn === state.selected.turn);
    const key = chosen ? `${state.lanes[state.selected.role].session}/${chosen.turn}` : "";
    if (key === drawn) return;
    drawn = key;
    const { role } = state.selected ?? {};
    inspector.replaceChildren(chosen ? opened(chosen, { service, session: state.lanes[role].session, title: names(role), onfork: () => desk.fork(role, chosen.turn), onkeep: () => keep(chosen) }) : hint);
    inspector.scrollTop = 0;
  };
  const unwatch = desk.watch(draw);
  let unfollow = () => {};
  desk.start().then((end) => {
    unfollow = end;
  }, (error) => toast(error.message));

  const keys = (e) => {
    if (e.target.closest("input, textarea, dialog") || e.metaKey || e.ctrlKey || e.altKey) return;
    if (e.key === "ArrowLeft" && inOrder(desk.state).length) desk.step(-1);
    else if (e.key === "ArrowRight" && inOrder(desk.state).length) desk.step(1);
    else return;
    e.preventDefault();
  };
  document.addEventListener("keydown", keys);
  board.addEventListener("click", (e) => {
    if (e.target.closest(".open") && matchMedia("(max-width: 760px)").matches) show(panes.length);
  });
  return () => {
    unwatch();
    unfollow();
    document.removeEventListener("keydown", keys);
  };
}
