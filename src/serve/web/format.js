// How atoms, money and times look.
import { h } from "./dom.js";

/** Cents as people write them. */
export const money = (cents) => `$${(cents / 100).toFixed(2)}`;

/** A time of day. */
export const clock = (at) => new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });

/** A length of time in micro-, milli- or seconds. */
export function span(micros) {
  if (micros < 1000) return `${Math.round(micros)} µs`;
  if (micros < 1e6) return `${(micros / 1000).toFixed(micros < 1e4 ? 1 : 0)} ms`;
  return `${(micros / 1e6).toFixed(1)} s`;
}

/** `n thing` or `n things`. */
export const count = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;

const PIECE = /("(?:[^"\\]|\\.)*")|([A-Za-z_][\w']*)(?=\()|(\b-?\d+\b)|([(),])|([^"(),]+)/g;

/** An atom as code: its names stand out, its punctuation steps back. */
export function atom(text, tag = "code") {
  const out = h(tag, { class: "atom" });
  for (const [piece, quoted, functor, , mark] of String(text).matchAll(PIECE)) {
    const kind = quoted ? "q" : functor ? "f" : mark ? "p" : null;
    out.append(kind ? h("span", { class: kind }, piece) : piece);
    // A long atom may break after a comma and nowhere else.
    if (piece === ",") out.append(h("wbr"));
  }
  return out;
}

/** The name and the arguments of an atom; arguments that are names lose their quotes. */
export function parts(text) {
  const open = text.indexOf("(");
  if (open < 0) return { name: text, args: [] };
  const args = [];
  let depth = 0;
  let quoted = false;
  let from = open + 1;
  for (let i = open + 1; i < text.length; i += 1) {
    const c = text[i];
    if (quoted) {
      if (c === "\\") i += 1;
      else if (c === '"') quoted = false;
    } else if (c === '"') quoted = true;
    else if (c === "(") depth += 1;
    else if ((c === ")" && depth === 0) || (c === "," && depth === 0)) {
      args.push(bare(text.slice(from, i)));
      from = i + 1;
    } else if (c === ")") depth -= 1;
  }
  return { name: text.slice(0, open), args };
}

/** A name without its quotes. */
export function bare(text) {
  const t = text.trim();
  return t.startsWith('"') && t.endsWith('"') ? t.slice(1, -1).replaceAll('\\"', '"').replaceAll("\\\\", "\\") : t;
}

/** A name as the reasoner writes it. */
export const quoted = (name) => `"${name.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
