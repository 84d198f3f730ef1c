// For authors: what was said and not understood or held to be beside the point, the most frequent first, and any conversation kept as a test.
import { h, toast } from "./dom.js";
import { count } from "./format.js";
import { asTest, download } from "./keep.js";

/** Shows the authors' page in `main`. */
export function authors(main, { service, site, link }) {
  link(true);
  const body = h("tbody");
  const summary = h("p", { class: "aside" }, "Reading the log …");
  const kept = h("pre", { class: "source kept", hidden: true, tabindex: "0", "aria-label": "The test" });
  const table = h("table", {}, h("caption", { class: "aside" }, "Said and not understood, or held to be beside the point"), h("thead", {}, h("tr", {}, ["What was said", "Taken for", "Times", "In the conversation", ""].map((t) => h("th", { scope: "col" }, t || h("span", { class: "away" }, "Keep"))))), body);
  main.replaceChildren(h("div", { class: "authors" }, h("header", {}, h("h2", {}, "What was not understood"), summary), table, kept));

  const keep = async (row) => {
    try {
      const turns = await service.read(row.session);
      const until = turns.filter((t) => t.turn <= row.turn);
      const text = asTest(until, { id: `${row.session}-${row.turn}`, title: `Not understood: ${row.said}`, mend: true });
      kept.textContent = text;
      kept.hidden = false;
      download(`${row.session}-${row.turn}.yaml`, text);
      toast("Kept as a dialogue file: write into `expect` what should have come, and run `duologue test` on it.");
    } catch (error) {
      toast(error.message);
    }
  };

  const show = (told) => {
    const most = Math.max(1, ...told.unheard.map((u) => u.times));
    const missed = told.unheard.reduce((sum, u) => sum + u.times, 0);
    summary.textContent = told.turns === 0 ? "Nothing was said at this site yet." : `${count(told.turns, "turn")} in ${count(told.sessions, "conversation")}; ${missed === 0 ? "everything was understood." : `${missed} not understood, ${((100 * missed) / told.turns).toFixed(1)} %.`}`;
    body.replaceChildren(...told.unheard.map((u) => {
      const bar = h("span", { class: "bar-of" });
      bar.style.width = `${(100 * u.times) / most}%`;
      return h("tr", {}, h("th", { scope: "row" }, h("q", {}, u.said)), h("td", {}, u.heard ? h("code", {}, u.heard) : "nothing"), h("td", { class: "times-of" }, h("span", { class: "track" }, bar), h("span", {}, String(u.times))), h("td", { class: "aside" }, `turn ${u.turn}`),
        h("td", {}, h("button", { type: "button", class: "button", "aria-label": `Keep as test: ${u.said}`, onclick: () => keep(u) }, "Keep as test")));
    }));
    table.hidden = told.unheard.length === 0;
  };
  table.hidden = true;
  service.unheard(site).then(show, (error) => {
    summary.textContent = `${error.message}.`;
  });
}
