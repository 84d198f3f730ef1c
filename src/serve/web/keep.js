// A conversation as a dialogue file that `duologue test` runs: what was said, what was heard, what came of it.

const text = (value) => JSON.stringify(value);
const list = (values) => `[${values.map(text).join(", ")}]`;

/**
 * The file. `turns` have their `role`; after the last one, which is the one to mend, `expect` is left to the author when `mend` is set.
 * JSON texts are YAML texts, so nothing that was said can break the file.
 */
export function asTest(turns, { id, title, mend = false }) {
  const steps = turns.map((turn, i) => {
    const last = mend && i === turns.length - 1;
    const lines = [`  - who: ${turn.role}`];
    if (turn.said) lines.push(`    say: ${text(turn.said)}`);
    if (last) lines.push("    # What was heard and done; write here what should have been.");
    lines.push(`    parsed: ${list(turn.predicates)}`, `    expect: ${list(turn.actions)}`);
    if (turn.ended) lines.push(`    ended: ${turn.ended}`);
    return lines.join("\n");
  });
  return `- id: ${text(id)}\n  title: ${text(title)}\n  steps:\n${steps.join("\n")}\n`;
}

/** Hands a text to the visitor as a file. */
export function download(name, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type: "application/yaml" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
