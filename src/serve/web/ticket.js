// The order as a ticket that fills while people talk. Its prices are read off the proof of the total: every charge is a fact.
import { h, keyed } from "./dom.js";
import { atom, bare, money, parts } from "./format.js";
import { tree } from "./proof.js";

/** The ticket of a role. `out` is the pattern by which a thing cannot be had any more. Gives `{element, update(state)}`. */
export function ticket(role, { service, title, out }) {
  const lines = h("ol", { class: "lines" });
  const none = h("p", { class: "aside" }, "Nothing is ordered.");
  const total = h("output", { class: "sum" });
  const wished = h("p", { class: "wished", hidden: true });
  const stamp = h("span", { class: "stamp" });
  const why = h("details", { class: "why-total", hidden: true });
  const element = h("section", { class: "ticket", "aria-label": title },
    h("header", {}, h("h2", {}, title), stamp), none, lines, wished,
    h("div", { class: "total" }, h("span", {}, "Total"), total), why);
  let shown = "";
  let known = "";
  let gone = new Map();
  let charged = new Map();

  const draw = (view, charges) => {
    const order = view.order ?? [];
    none.hidden = order.length > 0;
    keyed(lines, order, (line) => `${line.i} ${line.item}`, () => h("li", { class: "line" }), (item, line) => {
      const of = charges.get(line.i) ?? [];
      const base = of.find((c) => c.slot === "self" && c.what.startsWith("item("));
      const more = of.filter((c) => c !== base);
      const lost = [line.item, ...(line.parts ?? []).map((p) => p.dish)].map((name) => gone.get(name)).find(Boolean);
      const text = JSON.stringify([line, of, lost]);
      if (item.dataset.text === text) return;
      item.dataset.text = text;
      item.replaceChildren(
        h("div", { class: lost ? "row lost" : "row" }, h("span", {}, line.item), h("span", { class: "cents" }, base ? money(base.cents) : "")),
        lost ? row(`${lost}; taken off at the next turn`, null, "open") : "",
        ...(line.mods ?? []).map((m) => row(spoken(m), more.find((c) => c.slot === "self" && same(c.what, m)))),
        ...(line.parts ?? []).flatMap((p) => [
          row(p.dish ? p.dish : `${p.slot}: still open`, more.find((c) => c.slot === p.slot && c.what.startsWith("choice(")), p.dish ? "" : "open"),
          ...(p.mods ?? []).map((m) => row(spoken(m), more.find((c) => c.slot === p.slot && same(c.what, m)), "deep")),
        ]));
    });
  };

  /** What was ordered and cannot be had any more, as soon as somebody says so. */
  const lookForLost = async (state, session, view, asked) => {
    const names = (view.order ?? []).flatMap((line) => [line.item, ...(line.parts ?? []).map((p) => p.dish)]);
    const found = out && !state.replay && state.shared.length && names.length ? await service.holds(session, out.replace("{name}", "_")).catch(() => []) : [];
    if (asked !== known) return;
    gone = new Map(found.map((f) => [parts(f.atom).args[0], f.sentence.split(", because")[0]]));
    draw(view, charged);
  };

  const update = (state) => {
    const mine = state.lanes[role];
    const turns = state.replay ? mine.turns.filter((t) => t.at <= state.replay.at) : mine.turns;
    const last = turns.at(-1);
    const view = (last && (last.state ?? mine.state)) ?? {};
    const key = `${mine.session}/${last?.turn ?? 0}`;
    const shared = state.replay ? "replay" : `${mine.session}/${state.shared.map((f) => f.atom).join()}`;
    if (shared !== known) {
      known = shared;
      lookForLost(state, mine.session, view, shared);
    }
    if (key === shown) return;
    shown = key;
    charged = new Map();
    draw(view, charged);
    total.textContent = money(view.price ?? 0);
    stamp.textContent = { placed: "placed", cancelled: "cancelled", unconfirmed: "unconfirmed" }[view.status] ?? "";
    const wishes = view.shows?.wished ?? [];
    wished.hidden = wishes.length === 0;
    wished.textContent = wishes.length ? `asked for, not to be had: ${wishes.join(", ")}` : "";
    why.hidden = true;
    if (last && view.price) {
      service.proof(mine.session, last.turn, `view(price,${view.price})`).then((proof) => {
        if (shown !== key || !proof) return;
        charged = chargesOf(proof);
        draw(view, charged);
        why.hidden = false;
        why.open = false;
        why.replaceChildren(h("summary", {}, "Why this total"), tree(proof, (file, line) => service.source(file, line)));
      }, () => {});
    }
  };
  return { element, update };
}

/** The charges in a proof of a total, by the number of their line: `{cents, slot, what}`. */
export function chargesOf(proof) {
  const sum = proof.steps.flatMap((s) => s.from ?? []).find((f) => f.aggregate !== undefined && f.elements?.some((e) => e.tuple.length === 4));
  const all = (sum?.elements ?? []).map(({ tuple: [cents, place, slot, what] }) => ({ cents: Number(cents), place: Number(place), slot: bare(slot), what }));
  const places = [...new Set(all.map((c) => c.place))].sort((a, b) => a - b);
  return new Map(places.map((place, i) => [i + 1, all.filter((c) => c.place === place)]));
}

function row(text, charge, kind = "") {
  return h("div", { class: `row change ${kind}` }, h("span", {}, text), h("span", { class: "cents" }, charge ? `+ ${money(charge.cents)}` : ""));
}

/** A change as people say it. */
function spoken(mod) {
  const { name, args } = parts(mod);
  if (name === "change") {
    const [from, to] = parts(args[0]).args.map(bare);
    return `${to} instead of ${from}`;
  }
  if (name === "size") return args[0];
  if (args[0] === "yes") return `made ${name}`;
  if (args[0] === "no") return `not made ${name}`;
  return `${{ add: "with", no: "no", extra: "extra", less: "easy" }[name] ?? name} ${bare(args[0] ?? "")}`;
}

/** Whether a charge is for this change. */
function same(charge, mod) {
  const c = parts(charge);
  const m = parts(mod);
  if (c.name === "large") return m.name === "size" && m.args[0] === "large";
  if (c.name === "style") return c.args[0] === m.name;
  if (c.name === "swap") return m.name === "change" && m.args[0].startsWith("swap(") && c.args.map(bare).join() === parts(m.args[0]).args.map(bare).join();
  return c.name === m.name && c.args[0] === m.args[0];
}

/** What a view without an order shows: its values as a list. */
export function values(view) {
  return h("dl", { class: "values" }, Object.entries(view).map(([key, value]) => [h("dt", {}, key), h("dd", {}, atom(typeof value === "string" ? value : JSON.stringify(value)))]));
}
