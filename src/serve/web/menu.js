// Everything that can be had, by group, with what is out greyed as it runs out; any of it can be asked "why not?".
import { h } from "./dom.js";
import { money, parts, quoted } from "./format.js";
import { tree } from "./proof.js";
import { because } from "./turn.js";

/** The catalogue in a dialog. `plan` is the domain's `catalogue`; gives `{element, open(), update(state)}`. */
export function menu({ plan, role, service, desk }) {
  const search = h("input", { type: "search", placeholder: "Find …", "aria-label": `Find in ${plan.title}`, autocomplete: "off" });
  const groups = h("div", { class: "groups" });
  const about = h("div", { class: "about", "aria-live": "polite" }, h("p", { class: "aside" }, "Choose anything to see why it can or cannot be had."));
  const close = h("button", { type: "button", class: "quiet", "aria-label": "Close", onclick: () => element.close() }, "✕");
  const element = h("dialog", { class: "menu", "aria-label": plan.title },
    h("header", {}, h("h2", {}, plan.title), search, close), h("div", { class: "menu-body" }, groups, about));
  let things = [];
  let out = new Map();
  let stamp = "";

  search.addEventListener("input", () => draw());
  element.addEventListener("click", (e) => {
    if (e.target === element) element.close();
  });

  const draw = () => {
    const wanted = search.value.trim().toLowerCase();
    const shown = things.filter((t) => t.name.toLowerCase().includes(wanted));
    const names = [...new Set(shown.map((t) => t.group))];
    groups.replaceChildren(...names.map((name) => h("section", {}, h("h3", {}, name), h("ul", {}, shown.filter((t) => t.group === name).map(item)))));
    if (!shown.length) groups.append(h("p", { class: "aside" }, "Nothing is called so."));
  };

  const item = (thing) => {
    const isOut = out.has(thing.name);
    return h("li", {}, h("button", { type: "button", class: isOut ? "thing out" : "thing", onclick: () => explain(thing) },
      h("span", {}, thing.name), isOut ? h("span", { class: "flag" }, "out") : h("span", { class: "cents" }, thing.cents === null ? "" : money(thing.cents)),
      h("span", { class: "ask" }, "why not?")));
  };

  const explain = async (thing) => {
    const { session, turns } = desk.state.lanes[role];
    const last = turns.at(-1)?.turn;
    const source = (file, line) => service.source(file, line);
    const head = h("h3", {}, thing.name);
    const order = h("button", { type: "button", class: "button", onclick: () => {
      element.close();
      desk.say(role, plan.say.replace("{name}", thing.name));
    } }, plan.order);
    about.replaceChildren(head, h("p", { class: "aside" }, "…"));
    try {
      const [reasons, then, never] = await Promise.all([
        service.holds(session, plan.out.replace("{name}", quoted(thing.name))),
        service.whatIf(session, plan.ask.replace("{name}", quoted(thing.name))),
        last ? service.whyNot(session, last, plan.why_not.replace("{name}", quoted(thing.name))).catch(() => null) : null,
      ]);
      const parts = [head];
      if (reasons.length) parts.push(h("p", { class: "verdict" }, "It cannot be had, because:"), ...reasons.map((r) => tree(r.proof, source)));
      else parts.push(h("p", { class: "verdict" }, "Nothing stands in its way."));
      if (then?.text) parts.push(h("h4", {}, "If it were ordered now"), h("p", { class: "reply" }, then.text));
      parts.push(order);
      if (never) parts.push(h("details", {}, h("summary", {}, plan.why_not_title), because(never)));
      about.replaceChildren(...parts);
    } catch (error) {
      about.replaceChildren(head, h("p", { class: "warn" }, error.message), order);
    }
  };

  const update = async (state) => {
    if (!element.open) return;
    const now = `${state.version}/${state.shared.map((f) => f.atom).join()}`;
    if (now === stamp) return;
    stamp = now;
    const session = state.lanes[role].session;
    const [kb, gone] = await Promise.all([service.facts(session, "kb"), service.holds(session, plan.out.replace("{name}", "_")).catch(() => [])]);
    things = catalogue(kb, plan);
    out = new Map(gone.map((g) => [parts(g.atom).args[0], g]));
    draw();
  };

  return {
    element,
    update,
    open() {
      element.showModal();
      stamp = "";
      update(desk.state);
    },
  };
}

/** The things of a catalogue: names by the facts that make them one, with group and price. */
export function catalogue(facts, plan) {
  const all = facts.map(parts);
  const group = new Map(all.filter((f) => f.name === plan.group).map((f) => f.args));
  const price = new Map(all.filter((f) => f.name === plan.price).map((f) => f.args));
  return all.filter((f) => plan.names.includes(f.name)).map((f) => ({ name: f.args[0], group: group.get(f.args[0]) ?? f.name, cents: price.has(f.args[0]) ? Number(price.get(f.args[0])) : null }));
}
