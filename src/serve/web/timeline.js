// All turns of the counter on one line: replay them one by one, or go on differently from any of them.
import { h, keyed, s } from "./dom.js";
import { change } from "./turn.js";

const ICONS = { first: "M4 3v10M13 3 6 8l7 5z", back: "M11 3 4 8l7 5z", play: "M4 2.500v11L13 8z", pause: "M5 3v10M11 3v10", on: "M5 3l7 5-7 5z" };

function icon(name) {
  return s("svg", { viewBox: "0 0 16 16", width: 15, height: 15, class: "icon", "aria-hidden": "true" }, s("path", { d: ICONS[name] }));
}

/** The strip below the lanes. Gives `{element, update(state)}`. */
export function timeline({ roles, names, desk }) {
  const dots = h("ol", { class: "dots-line", "aria-label": "Turns in order" });
  const step = (name, label, by) => h("button", { type: "button", class: "quiet", "aria-label": label, title: label, onclick: () => desk.step(by) }, icon(name));
  const play = h("button", { type: "button", class: "quiet", onclick: () => desk.play() });
  const now = h("button", { type: "button", class: "button", onclick: () => desk.now(), hidden: true }, "Back to now");
  const where = h("p", { class: "where-now", role: "status" });
  const element = h("section", { class: "timeline", "aria-label": "Replay" },
    h("div", { class: "controls" }, step("first", "To the first turn", "first"), step("back", "One turn back", -1), play, step("on", "One turn on", 1)), dots, where, now);
  const update = (state) => {
    const turns = inOrder(state);
    const until = state.replay ? turns.findIndex((t) => t.at === state.replay.at) : turns.length - 1;
    keyed(dots, turns, (t) => `${t.session}/${t.turn}`, (t) => {
      const everybody = (t.effects ?? []).map(change).some((e) => e.scope !== "session");
      const label = `Turn ${t.turn} of ${names(t.role)}: ${t.said ?? t.predicates.join(" ")}`;
      return h("li", { class: `dot row-${roles.indexOf(t.role)}${everybody ? " everybody" : ""}` },
        h("button", { type: "button", "aria-label": label, title: label, onclick: () => desk.goTo(t) }));
    }, (item, t) => {
      const i = turns.indexOf(t);
      item.classList.toggle("later", i > until);
      item.classList.toggle("chosen", state.selected?.role === t.role && state.selected.turn === t.turn);
    });
    now.hidden = !state.replay;
    where.textContent = turns.length === 0 ? "" : state.replay ? `as it was after turn ${until + 1} of ${turns.length}` : `${turns.length} so far`;
    play.replaceChildren(icon(state.playing ? "pause" : "play"));
    play.setAttribute("aria-label", state.playing ? "Pause" : "Play all turns");
    play.title = play.getAttribute("aria-label");
    element.querySelectorAll(".controls button").forEach((b) => {
      b.disabled = turns.length === 0;
    });
  };
  return { element, update };
}

/** The turns of all lanes as they were taken. */
export function inOrder(state) {
  return Object.entries(state.lanes)
    .flatMap(([role, lane]) => lane.turns.map((t) => ({ ...t, role, session: lane.session })))
    .sort((a, b) => a.at - b.at || a.turn - b.turn);
}
