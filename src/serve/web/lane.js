// One role's side of the counter: what was said, what was replied, and the line to say more.
import { h, keyed } from "./dom.js";
import { count, span } from "./format.js";
import { change } from "./turn.js";

/**
 * A lane. `desk` holds the lanes' state and takes what is said; `examples` are lines to begin with.
 * Gives `{element, update(state)}`.
 */
export function lane(role, { title, greeting, examples, desk }) {
  const talk = h("ol", { class: "talk", "aria-label": `Conversation of ${title}`, "aria-live": "polite", tabindex: "0" });
  const field = h("textarea", { rows: "1", placeholder: `Speak as ${title} …`, "aria-label": `Speak as ${title}`, enterkeyhint: "send", autocomplete: "off", maxlength: "2000", id: `say-${role}` });
  const send = h("button", { type: "submit", class: "send", "aria-label": `Say it as ${title}` }, h("span", { "aria-hidden": "true" }, "↵"));
  const tries = h("ul", { class: "tries", "aria-label": "Lines to try" }, examples.map((line) => h("li", {}, h("button", { type: "button", onclick: () => say(line) }, line))));
  const form = h("form", { class: "say", onsubmit: (e) => {
    e.preventDefault();
    say(field.value);
  } }, field, send);
  field.addEventListener("keydown", (e) => {
    if (e.key === "Enter" && !e.shiftKey && !e.isComposing) {
      e.preventDefault();
      form.requestSubmit();
    }
  });
  const fit = () => {
    field.style.height = "auto";
    field.style.height = `${Math.min(field.scrollHeight, 120)}px`;
  };
  field.addEventListener("input", fit);
  const say = (text) => {
    const line = text.trim();
    if (!line) return;
    field.value = "";
    fit();
    desk.say(role, line).then((answered) => {
      if (answered || field.value) return;
      field.value = line;
      fit();
    });
  };
  const restart = h("button", { type: "button", class: "quiet", onclick: () => desk.restart(role) }, "New conversation");
  const branch = h("p", { class: "branch", hidden: true });
  const key = h("input", { type: "password", required: true, autocomplete: "off", "aria-label": `Operator's token for ${title}` });
  const lock = h("form", { class: "lock", hidden: true, onsubmit: (e) => {
    e.preventDefault();
    desk.unlock(role, key.value.trim());
    key.value = "";
  } }, h("p", {}, "This side changes what others see, so it needs an operator's token: open the address that the service printed, or give a token here."), key, h("button", { type: "submit", class: "button" }, "Open"));
  const element = h("section", { class: "pane lane", "aria-label": title, data: { role } },
    h("header", { class: "pane-head" }, h("h2", {}, title), branch, restart), talk, tries, lock, form);

  let last = 0;
  const update = (state) => {
    const mine = state.lanes[role];
    const shown = state.replay ? mine.turns.filter((t) => t.at <= state.replay.at) : mine.turns;
    const whole = mine.pending && !state.replay ? shown.filter((t) => !waits(t)) : shown;
    const rows = [{ key: "greeting", greeting }, ...whole.map((turn) => ({ key: `t${turn.turn}`, turn }))];
    if (mine.pending && !state.replay) rows.push({ key: "pending", pending: mine.pending });
    keyed(talk, rows, (row) => `${mine.session}/${row.key}`, () => h("li", { class: "exchange" }), (item, row) => fill(item, row, { role, desk, state }));
    branch.hidden = !mine.forkOf;
    branch.textContent = mine.forkOf ? `goes on differently after turn ${mine.forkOf}` : "";
    const quiet = mine.turns.length === 0 && !mine.pending;
    lock.hidden = !mine.locked;
    form.hidden = Boolean(mine.locked);
    tries.hidden = !quiet || Boolean(mine.locked);
    send.disabled = Boolean(mine.pending) || !mine.session;
    element.classList.toggle("past", Boolean(state.replay));
    const size = rows.length + (mine.pending?.reply?.length ?? 0);
    if (size !== last) talk.scrollTop = talk.scrollHeight;
    last = size;
  };
  return { element, update };
}

function fill(item, row, { role, desk, state }) {
  const stamp = row.turn ? `${row.turn.turn}/${row.turn.text.length}` : JSON.stringify(row);
  if (item.dataset.stamp !== stamp) {
    item.dataset.stamp = stamp;
    item.replaceChildren(...bubbles(row, role, desk));
  }
  const chosen = row.turn && state.selected?.role === role && state.selected.turn === row.turn.turn;
  item.classList.toggle("chosen", Boolean(chosen));
  item.querySelector(".open")?.setAttribute("aria-pressed", String(Boolean(chosen)));
}

function bubbles(row, role, desk) {
  if (row.greeting !== undefined) return row.greeting ? [h("p", { class: "reply" }, row.greeting)] : [];
  if (row.pending) {
    return [h("p", { class: "said" }, row.pending.text), h("p", { class: "reply" }, row.pending.reply || dots())];
  }
  const { turn } = row;
  const effects = (turn.effects ?? []).map(change);
  const shared = effects.filter((e) => e.scope !== "session").length;
  const facts = [count(turn.predicates.length, "predicate"), shared ? `${count(shared, "fact")} for everybody` : null, turn.times?.total ? span(turn.times.total) : null];
  return [
    h("p", { class: "said" }, turn.said ?? turn.predicates.join(" ")),
    h("p", { class: "reply" }, turn.text || (waits(turn) ? dots() : "")),
    h("button", { type: "button", class: "open", "aria-pressed": "false", onclick: () => desk.select(role, turn.turn) },
      h("span", { class: "open-n" }, `turn ${turn.turn}`), facts.filter(Boolean).map((f) => h("span", {}, f)), h("span", { class: "open-why" }, "why?")),
  ];
}

const dots = () => h("span", { class: "dots", "aria-label": "thinking" }, h("i"), h("i"), h("i"));

/** Whether a turn is not over: a function was called, and nothing came back yet. */
const waits = (turn) => !turn.text && Boolean(turn.rounds?.at(-1)?.calls?.length);
