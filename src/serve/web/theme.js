// Light or dark as the visitor chose before, set before the first paint so that nothing flashes.
"use strict";
(() => {
  const kept = localStorage.getItem("duologue.theme");
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
  document.addEventListener("DOMContentLoaded", () => {
    document.getElementById("theme").addEventListener("click", () => {
      const shown = document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
      const next = shown === "dark" ? "light" : "dark";
      document.documentElement.dataset.theme = next;
      localStorage.setItem("duologue.theme", next);
    });
  });
})();
