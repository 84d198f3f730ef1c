// What the tests share: the service on a port of its own, a browser, and visitors whose every script error counts.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const BINARY = process.env.DUOLOGUE ?? new URL("../../target/debug/duologue", import.meta.url).pathname;
const BROWSER = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);

/** A service in memory. */
export async function service(...more) {
  const child = spawn(BINARY, ["serve", "--demo", ...(more.includes("--address") ? [] : ["--address", "127.0.0.1:0"]), ...more], { stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout });
  const address = await new Promise((done, failed) => {
    child.once("exit", (code) => failed(new Error(`the service ended with ${code}`)));
    lines.on("line", (line) => {
      const found = /(http:\/\/\S+#token=\S+)/.exec(line);
      if (found) done(found[1]);
    });
  });
  return { address, url: address.split("#")[0], stop: (signal) => child.kill(signal) };
}

/** The browser; nothing in it may reach out. */
export const browser = () =>
  chromium.launch({
    executablePath: BROWSER,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });

/** Somebody who looks at the console. `errors` holds whatever the page complained of. */
export async function visitor(opened, address, { width = 1440, height = 900, dark = false, context } = {}) {
  const own = context ?? (await opened.newContext({ viewport: { width, height }, colorScheme: dark ? "dark" : "light", reducedMotion: "reduce", hasTouch: width < 500 }));
  const page = await own.newPage();
  const errors = [];
  page.on("pageerror", (e) => errors.push(e.message));
  page.on("console", (m) => ["error", "warning"].includes(m.type()) && errors.push(m.text()));
  page.setDefaultTimeout(30_000);
  await page.goto(address);
  return { page, errors, context: own };
}

const NAMES = { customer: "the customer", manager: "the manager", speaker: "the speaker" };

/** Says something and waits until it is answered. */
export async function say(page, role, text) {
  const field = page.getByLabel(`Speak as ${NAMES[role]}`, { exact: true });
  const before = await page.locator(`.lane[data-role=${role}] .open`).count();
  await field.fill(text);
  await field.press("Enter");
  await page.locator(`.lane[data-role=${role}] .open`).nth(before).waitFor();
}

/** Repeats a check until it holds: what is on a page follows an event of its own, at a time of its own. */
export async function eventually(check) {
  for (const until = Date.now() + 30_000; ; ) {
    try {
      return await check();
    } catch (error) {
      if (!(error instanceof assert.AssertionError) || Date.now() > until) throw error;
    }
    await new Promise((done) => setTimeout(done, 50));
  }
}

/** Waits until a place of the page shows a text. */
export const shows = (where, text) => eventually(async () => assert.match(await where.textContent(), text));

/** Waits until there are so many of it. */
export const counts = (where, n) => eventually(async () => assert.equal(await where.count(), n));
