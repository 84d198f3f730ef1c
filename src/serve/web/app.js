// Starts the console: finds out what runs here and shows the view that the address names.
import { api } from "./api.js";
import { authors } from "./authors.js";
import { counter } from "./counter.js";
import { h } from "./dom.js";
import { flows } from "./flow.js";

const main = document.getElementById("main");
const service = api();
const VIEWS = { counter, flows, authors };
let leave = () => {};

/** Whether the page hears of changes as they happen. */
function link(live) {
  const place = document.getElementById("link");
  place.textContent = live ? "live" : "connecting …";
  place.classList.toggle("live", live);
}

async function show() {
  const name = location.hash.replace(/^#\//, "").split("/")[0] || "counter";
  const view = VIEWS[name] ?? counter;
  leave();
  leave = () => {};
  document.querySelectorAll(".views a").forEach((a) => {
    if (a.hash === `#/${name}`) a.setAttribute("aria-current", "page");
    else a.removeAttribute("aria-current");
  });
  try {
    const setting = await service.setting();
    document.getElementById("place").replaceChildren(setting.agent.title, h("span", {}, setting.site));
    leave = view(main, { service, ...setting, link }) ?? leave;
  } catch (error) {
    main.replaceChildren(h("p", { class: "notice", role: "alert" }, `The service cannot be reached: ${error.message}. Is duologue serve still running? Reload to try again.`));
  }
}

addEventListener("hashchange", show);
show();
