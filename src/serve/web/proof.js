// A proof as a tree to unfold, down to the file and line of every rule and to who told every fact.
import { h } from "./dom.js";
import { atom } from "./format.js";

/** How proofs are shown: in words, or as the rules have it. Kept for the visitor. */
export const manner = {
  get value() {
    return localStorage.getItem("duologue.proofs") ?? "words";
  },
  set value(to) {
    localStorage.setItem("duologue.proofs", to);
  },
};

/** The proof `{atom, steps}`; `source(file, line)` promises the lines around a rule. */
export function tree(proof, source) {
  const steps = new Map(proof.steps.map((step) => [step.atom, step]));
  const at = { steps, source, above: new Set() };
  return h("ul", { class: "proof" }, telling({ atom: proof.atom }, at).map((part) => node(part, at, true)));
}

function node(part, at, open = false) {
  if (part.absent !== undefined) return absent(part, at);
  if (part.test !== undefined) return leaf("=", h("span", {}, atom(part.test)));
  if (part.aggregate !== undefined) return aggregate(part, at);
  if (part.all !== undefined) return group("∀", atom(part.all), () => part.instances.flatMap((i) => below(i, at)), at);
  const step = at.steps.get(part.atom);
  if (!step || step.fact !== undefined) return fact(part.atom, step?.fact ?? "");
  const from = step.from ?? [];
  if (from.length === 0) return leaf("●", h("span", { class: "says" }, step.reading || atom(step.atom)), place(step, at));
  if (at.above.has(part.atom)) return leaf("↑", h("span", { class: "says" }, step.reading || atom(step.atom), h("span", { class: "aside" }, " (as above)")));
  const inside = { ...at, above: new Set([...at.above, part.atom]), says: step.reading };
  const head = step.reading ? h("span", { class: "says" }, step.reading) : atom(step.atom);
  return group("▸", head, () => below(from, inside), inside, { open, step, note: step.reading && manner.value === "rules" ? atom(step.atom) : null });
}

const below = (from, at) => from.flatMap((part) => telling(part, at)).map((part) => node(part, at));

/** The part, or its reasons: in words, what has no words of its own or says no more than what stands above it only passes on what stands below. */
function telling(part, at) {
  const step = manner.value === "words" ? at.steps.get(part.atom) : null;
  const from = step?.from ?? [];
  const idle = step?.reading ? step.reading === at.says && from.length > 0 : from.length === 1 && from[0].atom !== undefined;
  return idle ? from.flatMap((reason) => telling(reason, at)) : [part];
}

/** A part with others below it, made when it is unfolded for the first time. */
function group(sign, head, make, at, { open = false, step = null, note = null } = {}) {
  const inner = h("ul");
  const details = h("details", {}, h("summary", {}, h("span", { class: "sign", "aria-hidden": "true" }, sign), h("span", { class: "head" }, head, note && h("span", { class: "note" }, note))));
  if (step) details.append(place(step, at));
  details.append(inner);
  let made = false;
  const fill = () => {
    if (!details.open || made) return;
    made = true;
    inner.append(...make());
  };
  details.addEventListener("toggle", fill);
  details.open = open;
  fill();
  return h("li", { class: "step" }, details);
}

function leaf(sign, head, more = null) {
  return h("li", { class: "leaf" }, h("span", { class: "sign", "aria-hidden": "true" }, sign), h("span", { class: "head" }, head, more));
}

function fact(text, who) {
  const by = text.startsWith("in(") ? "said in this turn" : /, turn \d/.test(who) ? `told by ${who}` : who || "a fact";
  return leaf("●", h("span", {}, atom(text)), h("span", { class: "aside" }, ` ${by}`));
}

function absent(part, at) {
  const head = h("span", {}, h("span", { class: "not" }, "no "), atom(part.absent));
  if (!part.ways?.length) return leaf("∅", head);
  const ways = () => part.ways.map((way) => leaf("–", h("span", {}, h("span", { class: "aside" }, "a rule would need "), atom(way.fails)), place(way, at)));
  return group("∅", head, ways, at);
}

function aggregate(part, at) {
  if (!part.elements?.length) return leaf("Σ", atom(part.aggregate));
  const elements = () => part.elements.flatMap((e) => below(e.from, at));
  return group("Σ", atom(part.aggregate), elements, at);
}

/** Where a rule stands; pressed, the lines themselves. */
function place(step, at) {
  const [file, line] = splitPlace(step.rule ?? "");
  if (!line) return h("span", { class: "where" }, step.rule ?? "");
  const lines = h("pre", { class: "source", tabindex: "0", "aria-label": `${file}, from line ${line}`, hidden: true });
  const button = h("button", {
    type: "button",
    class: "where",
    "aria-expanded": "false",
    onclick: async () => {
      const open = lines.hidden;
      if (open && !lines.firstChild) {
        try {
          lines.append(...numbered(await at.source(file, line)));
        } catch (e) {
          lines.append(e.message);
        }
      }
      lines.hidden = !open;
      button.setAttribute("aria-expanded", String(open));
    },
  }, `${file}:${line}`);
  return h("span", { class: "place" }, button, lines);
}

function numbered({ from, line, lines }) {
  return lines.map((text, i) => h("span", { class: from + i === line ? "row here" : "row" }, h("span", { class: "n", "aria-hidden": "true" }, `${from + i}`.padStart(4)), `  ${text}\n`));
}

function splitPlace(text) {
  const at = text.lastIndexOf(":");
  const line = Number(text.slice(at + 1));
  return at > 0 && Number.isInteger(line) ? [text.slice(0, at), line] : [text, 0];
}
