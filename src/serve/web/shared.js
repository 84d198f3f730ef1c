// What everybody at the site knows: the shared facts as they change, who said them, and the menu's version.
import { h, keyed } from "./dom.js";
import { clock, parts } from "./format.js";

/** The panel. `names` gives a role's title. Gives `{element, update(state)}`. */
export function shared({ names, desk, plan = {} }) {
  const list = h("ul", { class: "facts" });
  const none = h("p", { class: "aside" }, plan.nothing ?? "Nothing is known to everybody yet.");
  const version = h("p", { class: "version" });
  const element = h("section", { class: "shared", "aria-label": "What everybody knows" },
    h("header", {}, h("h2", {}, "Everybody knows"), version), none, h("div", { "aria-live": "polite" }, list));
  const update = (state) => {
    const facts = state.replay ? foldedUntil(state, state.replay.at) : state.shared;
    none.hidden = facts.length > 0;
    keyed(list, facts, (f) => f.atom, () => h("li"), (item, f) => {
      const { name, args } = parts(f.atom);
      const who = f.role ? `${names(f.role)}${f.at ? `, ${clock(f.at)}` : ""}` : "";
      const from = f.turn && state.lanes[f.role] ? h("button", { type: "button", class: "open", onclick: () => desk.select(f.role, f.turn) }, who) : h("span", { class: "aside" }, who);
      const words = sentence(f, state);
      const stamp = JSON.stringify([f, words]);
      if (item.dataset.stamp === stamp) return;
      item.dataset.stamp = stamp;
      item.replaceChildren(h("div", {}, h("span", { class: "fact-name" }, args.join(", ") || name), h("span", { class: "fact-kind" }, plan.words?.[name] ?? name.replaceAll("_", " "))), words ? h("q", {}, words) : "", from);
    });
    version.textContent = state.version === null ? "" : `menu version ${state.version}`;
  };
  return { element, update };
}

/** The words by which a fact was told, where this page knows them. */
function sentence(fact, state) {
  const turns = Object.values(state.lanes).flatMap((lane) => lane.turns);
  const told = (t) => t.said && (t.effects ?? []).some((e) => e === `add shared ${fact.atom}`) && (!fact.at || Math.abs(t.at - fact.at) < 5000);
  return fact.said ?? turns.findLast(told)?.said ?? "";
}

/** The shared facts as they were: the changes of all turns until then, one after the other. */
export function foldedUntil(state, at) {
  const turns = Object.entries(state.lanes).flatMap(([role, lane]) => lane.turns.map((t) => ({ ...t, role })));
  const changes = turns.filter((t) => t.at <= at).sort((a, b) => a.at - b.at).flatMap((t) => (t.effects ?? []).map((e) => ({ e, t })));
  // What stands now and no turn here brought about was there before.
  const touched = new Set(turns.flatMap((t) => (t.effects ?? []).filter((e) => e.includes(" shared ")).map((e) => e.replace(/^\w+ shared /, ""))));
  const facts = new Map(state.shared.filter((f) => !touched.has(f.atom)).map((f) => [f.atom, f]));
  for (const { e, t } of changes) {
    if (e.startsWith("add shared ")) facts.set(e.slice(11), { atom: e.slice(11), role: t.role, turn: t.turn, at: t.at });
    if (e.startsWith("del shared ")) facts.delete(e.slice(11));
  }
  return [...facts.values()];
}
