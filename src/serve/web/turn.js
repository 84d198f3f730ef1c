// One turn opened up: words → predicates → decision → facts changed → text, with times and the model's share.
import { h, toast } from "./dom.js";
import { atom, bare, clock, count, money, parts, span } from "./format.js";
import { manner, tree } from "./proof.js";

const STAGES = [
  ["understand", "Words"],
  ["link", "Predicates"],
  ["decide", "Decision"],
  ["commit", "Facts changed"],
  ["render", "Text"],
];

/** To which stage each part of a turn belongs, in the order in which they are gone through. */
const PART_OF = { begin: "link", facts: "link", understand: "understand", decide: "decide", explain: "decide", commit: "commit", act: "commit", template: "render", render: "render" };

/** The opened turn. `service` answers questions about it; `title` says whose turn it is. */
export function opened(record, { service, session, title, onfork, onkeep }) {
  const source = (file, line) => service.source(file, line);
  const body = h("div", { class: "opened" });
  const switchTo = (to) => {
    manner.value = to;
    body.replaceWith(opened(record, { service, session, title, onfork, onkeep }));
  };
  const choice = (value, name) =>
    h("button", { type: "button", "aria-pressed": String(manner.value === value), onclick: () => switchTo(value) }, name);
  body.append(
    h("header", { class: "opened-head" },
      h("h2", {}, `Turn ${record.turn}`, h("span", { class: "aside" }, ` · ${title} · ${clock(record.at)}`)),
      h("div", { class: "switch", role: "group", "aria-label": "How proofs are shown" }, choice("words", "in words"), choice("rules", "as rules"))),
    times(record),
    h("ol", { class: "rail" },
      stage(1, record, words(record)),
      stage(2, record, predicates(record)),
      stage(3, record, decision(record, { source, service, session })),
      stage(4, record, changed(record)),
      stage(5, record, said(record))),
    h("footer", { class: "opened-foot" },
      h("div", { class: "doing" },
        onfork && h("button", { type: "button", class: "button", onclick: onfork }, "Go on differently from here"),
        onkeep && h("button", { type: "button", class: "button", onclick: onkeep }, "Keep as test")),
      whyNot(record, { service, session, source })));
  return body;
}

function stage(n, record, content) {
  const [phase, name] = STAGES[n - 1];
  const took = record.times && Object.entries(record.times).filter(([part]) => PART_OF[part] === phase).reduce((sum, [, t]) => sum + t, 0);
  return h("li", { class: "stage" },
    h("h3", {}, h("span", { class: "n", "aria-hidden": "true" }, String(n)), name, took > 0 && h("span", { class: "took" }, span(took))),
    h("div", { class: "stage-body" }, content));
}

/** How the turn's time was spent, as one bar; the model's share stands out. */
function times(record) {
  const phases = ["understand", "link", "decide", "commit", "render"];
  const of = (phase) => Object.entries(record.times ?? {}).filter(([part]) => PART_OF[part] === phase).reduce((sum, [, t]) => sum + t, 0);
  const spent = phases.map((phase) => [phase, of(phase)]);
  const model = record.times?.model ?? 0;
  const total = record.times?.total ?? spent.reduce((sum, [, t]) => sum + t, 0);
  if (!total) return "";
  const widths = spent.filter(([, t]) => t > 0);
  const bar = h("div", { class: "spent", role: "img", "aria-label": widths.map(([phase, t]) => `${phase} ${span(t)}`).join(", ") });
  for (const [phase, t] of widths) {
    const piece = h("span", { class: `piece ${phase}`, title: `${phase}: ${span(t)}` });
    piece.style.flexGrow = String(Math.max(t / total, 0.004));
    bar.append(piece);
  }
  const share = model ? `a model took ${span(model)} of it, ${Math.round((100 * model) / total)} %` : "no model was asked";
  return h("div", { class: "times" }, bar, h("p", { class: "aside" }, h("strong", {}, span(total)), ` in all · ${share}`));
}

function words(record) {
  const by = record.heard_by ? `heard by ${record.heard_by === "embedded" ? "the built-in translator" : record.heard_by}` : "";
  const sure = record.said && record.confidence ? `, ${Math.round(record.confidence * 100)} % sure` : "";
  return [
    record.said ? h("blockquote", {}, record.said) : h("p", { class: "aside" }, "Nothing was said in words; predicates arrived as they are."),
    by && h("p", { class: "aside" }, by + sure),
    ...exchanges(record.models?.understanding?.exchange),
    ...(record.unheard ?? []).map((w) => h("p", { class: "warn" }, "not understood: ", h("q", {}, w))),
    ...(record.asks ?? []).map((a) => h("p", { class: "warn" }, "half heard, asked back: ", atom(a))),
  ];
}

function exchanges(exchange) {
  if (!exchange) return [];
  const usage = exchange.usage ?? {};
  const tokens = (usage.input_tokens ?? usage.input ?? 0) + (usage.output_tokens ?? usage.output ?? 0);
  return [h("p", { class: "aside model" }, `${exchange.model ?? "a model"} was asked${tokens ? `, ${count(tokens, "token")}` : ""}`)];
}

function predicates(record) {
  const admitted = record.predicates.map((p) => h("li", {}, atom(p)));
  const refused = (record.refused ?? []).map((r) => h("li", { class: "refused" }, h("s", {}, atom(r.text)), h("span", { class: "warn" }, r.message)));
  return admitted.length + refused.length ? h("ul", { class: "atoms" }, admitted, refused) : h("p", { class: "aside" }, "None.");
}

/** Every action with its sentence and its proof. */
function decision(record, { source, service, session }) {
  const list = h("ul", { class: "acts" });
  const show = (why) => {
    const known = new Map(why.map((w) => [w.action, w]));
    list.replaceChildren(...record.actions.map((action) => act(action, known.get(action), source)));
  };
  show(record.why ?? []);
  if (!record.why?.length && record.actions.length) {
    service.why(session, record.turn).then((answer) => show(answer.why ?? []), () => {});
  }
  const calls = (record.rounds ?? []).flatMap((r) => r.came ?? []);
  return [
    list,
    calls.length > 0 && h("p", { class: "aside" }, `called ${calls.map((c) => c.function).join(", ")}`),
  ];
}

function act(action, why, source) {
  if (!why) return h("li", {}, h("div", { class: "act" }, atom(action)));
  const proof = h("div", { class: "unfolded" });
  const together = why.takes_all_of?.length ? h("p", { class: "aside" }, "takes all of ", why.takes_all_of.map((a) => [atom(a), " "])) : null;
  const details = h("details", { class: "act", ontoggle: () => {
    if (details.open && !proof.firstChild) proof.append(tree(why.proof, source));
  } }, h("summary", {}, atom(action), h("span", { class: "sentence" }, why.sentence)), together, proof);
  return h("li", {}, details);
}

/** A change as the record has it: `add shared runout("X")`. */
export function change(text) {
  const [op, scope, ...rest] = String(text).split(" ");
  return { op, scope, fact: rest.join(" ") };
}

function changed(record) {
  const all = [...(record.rounds ?? []).flatMap((r) => r.effects ?? []), ...(record.effects ?? [])].map(change);
  const seen = new Set();
  const effects = all.filter((e) => !seen.has(`${e.op}${e.scope}${e.fact}`) && seen.add(`${e.op}${e.scope}${e.fact}`));
  const line = (e) => h("li", { class: e.op === "add" ? "plus" : "minus" }, h("span", { class: "sign" }, e.op === "add" ? "+" : "−"), atom(e.fact), e.scope !== "session" && h("span", { class: "scope" }, e.scope === "kb" ? "menu" : e.scope));
  const book = (e) => /^(said_last|was_added|was_removed|named|missed)\b/.test(e.fact);
  const telling = effects.filter((e) => !book(e));
  const keeping = effects.filter(book);
  const out = [];
  if (telling.length) out.push(h("ul", { class: "changes" }, telling.map(line)));
  if (keeping.length) out.push(h("details", { class: "more" }, h("summary", {}, `${telling.length ? "and " : ""}${count(keeping.length, "note")} about the conversation`), h("ul", { class: "changes" }, keeping.map(line))));
  if (!effects.length) out.push(h("p", { class: "aside" }, "Nothing changed."));
  if (record.ended) out.push(h("p", { class: "aside" }, `The conversation ended: ${record.ended}.`));
  return out;
}

function said(record) {
  const wording = record.models?.wording;
  return [h("p", { class: "reply" }, record.text), h("p", { class: "aside" }, wording ? `worded by ${wording.by}, checked against the actions` : "worded by templates: the actions, no more and no less"), ...exchanges(wording?.exchange)];
}

/** A question about what did not happen. */
function whyNot(record, { service, session }) {
  const field = h("input", { type: "text", name: "atom", placeholder: 'recommend(_,"Bean Burrito")', "aria-label": "Why was this not decided? An action or any other atom; _ stands for anything", autocomplete: "off", spellcheck: "false" });
  const answer = h("div", { class: "answer", "aria-live": "polite" });
  return h("form", { class: "whynot", onsubmit: async (e) => {
    e.preventDefault();
    if (!field.value.trim()) return;
    try {
      const told = await service.whyNot(session, record.turn, field.value.trim());
      answer.replaceChildren(because(told));
    } catch (error) {
      answer.replaceChildren(h("p", { class: "warn" }, error.message));
      toast(error.message);
    }
  } }, h("label", {}, h("span", {}, "Why not …"), field), h("button", { type: "submit", class: "button" }, "Ask"), answer);
}

/** The lines of a why-not answer, indented as they are. */
export function because(told) {
  const lines = told.because ?? [];
  return h("ul", { class: "because" }, lines.map((line) => {
    const depth = (line.length - line.trimStart().length) / 2;
    const item = h("li", {}, line.trim());
    item.style.setProperty("--depth", String(depth));
    return item;
  }));
}

/** What an action says in few words, for short lists. */
export function brief(action) {
  const { name, args } = parts(action);
  if (name === "price") return money(Number(args[0]));
  return [name, ...args.map(bare)].join(" ");
}
