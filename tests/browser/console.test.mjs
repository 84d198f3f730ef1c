// The console in a real browser: what a manager, a customer, an author and a researcher do with it.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { browser, counts, eventually, say, service, shows, visitor } from "./console.mjs";

const AXE = readFileSync(new URL("node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

let chrome;
before(async () => {
  chrome = await browser();
});
after(() => chrome.close());

/** A test on a service and with a visitor of its own; whatever the page complains of fails it. */
function visit(name, how, options = {}) {
  test(name, async (t) => {
    const at = await service();
    const who = await visitor(chrome, at.address, options);
    try {
      await how({ ...who, at, t });
      assert.deepEqual(who.errors, []);
    } finally {
      await who.context.close();
      at.stop();
    }
  });
}

/** Everything that axe finds wrong. */
async function accessible(page) {
  const found = await page.evaluate(`(() => { const module = undefined; ${AXE}; return axe.run(document, { resultTypes: ["violations"] }); })()`);
  assert.deepEqual(found.violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 160)).join(" | ")}`), []);
}

const ticket = (page) => page.locator(".ticket");
const talk = (page, role) => page.locator(`.lane[data-role=${role}] .talk`);

describe("at the counter", () => {
  visit("a meal is ordered, and the ticket has its prices", async ({ page }) => {
    await say(page, "customer", "two soft tacos and a large pepsi please");
    await assert.doesNotReject(ticket(page).locator(".line").nth(2).waitFor());
    await counts(ticket(page).locator(".line"), 3);
    await page.locator(".why-total").waitFor();
    const cents = (text) => Math.round(Number(text.replace(/[^0-9.]/g, "")) * 100);
    const lines = await ticket(page).locator(".line .cents").allTextContents();
    const sum = lines.filter(Boolean).map(cents).reduce((a, b) => a + b, 0);
    assert.ok(sum > 0);
    assert.equal(sum, cents(await ticket(page).locator(".sum").textContent()), "the charges shown add up to the total");
  });

  visit("a turn in which the kitchen is called stands there once", async ({ page }) => {
    for (const line of ["a milk please", "that's all", "yes"]) await say(page, "customer", line);
    await shows(ticket(page), /placed/i);
    await counts(talk(page, "customer").locator(".said"), 3);
    await page.reload();
    await counts(talk(page, "customer").locator(".said"), 3);
    await shows(talk(page, "customer").locator(".exchange").last(), /yes.*number/s);
  });

  visit("tomatoes run out on the other side, and the order reacts", async ({ page }) => {
    await say(page, "customer", "a crunchy taco supreme please");
    await shows(ticket(page), /Crunchy Taco Supreme/);
    await say(page, "manager", "we're out of tomatoes");
    const fact = page.locator(".facts li");
    await fact.waitFor();
    await shows(fact, /Tomatoes.*ran out.*we're out of tomatoes.*the manager/);
    await say(page, "customer", "and a pepsi");
    await shows(talk(page, "customer"), /tomatoes/i);
    await page.waitForFunction(() => !document.querySelector(".ticket .lines").textContent.includes("Crunchy Taco Supreme"));
    await shows(ticket(page), /Pepsi/);
  });

  visit("a proof unfolds down to the line of a rule", async ({ page }) => {
    await say(page, "manager", "we're out of tomatoes");
    await say(page, "customer", "a crunchy taco supreme please");
    const why = page.locator("details.act", { hasText: "unavailable" });
    await why.locator("> summary").click();
    await page.getByRole("button", { name: "as rules" }).click();
    await why.locator("> summary").click();
    // Each part is made when the one above it is unfolded, so they come one after the other.
    const proof = why.locator(".proof");
    await proof.waitFor();
    await eventually(async () => {
      const closed = proof.locator("details:not([open]) > summary");
      if ((await closed.count()) > 0) await closed.first().click();
      assert.match(await proof.textContent(), /includes Tomatoes, which ran out.*told by the manager, turn 1/s);
    });
    await shows(why.locator("> summary"), /includes Tomatoes, which ran out \(the manager, turn 1/);
    const where = why.locator("button.where", { hasText: "shared.lp" }).first();
    await where.click();
    const here = why.locator(".source .here");
    await here.waitFor();
    await shows(here, /unavailable\(/);
  });

  visit("why not? is answered for an item of the menu", async ({ page }) => {
    await say(page, "manager", "we're out of tomatoes");
    await page.getByRole("button", { name: /whole menu/ }).click();
    const item = page.locator(".menu .thing", { hasText: "Crunchy Taco Supreme" });
    await item.locator(".flag").waitFor();
    await item.click();
    await page.locator(".about .proof").waitFor();
    await shows(page.locator(".about"), /cannot be had, because.*Tomatoes, which ran out/s);
    await page.locator(".menu .thing", { hasText: "Bean Burrito" }).first().click();
    await page.locator(".about", { hasText: "Nothing stands in its way" }).waitFor();
    await shows(page.locator(".about .reply"), /Bean Burrito/);
    await page.getByRole("button", { name: "Order one" }).click();
    await ticket(page).locator(".line", { hasText: "Bean Burrito" }).waitFor();
  });

  visit("a turn is asked why something did not come about", async ({ page }) => {
    await say(page, "customer", "two soft tacos please");
    await page.getByLabel(/^Why was this not decided/).fill('unavailable("Soft Taco",_)');
    await page.getByRole("button", { name: "Ask" }).click();
    await page.locator(".because li").first().waitFor();
    await shows(page.locator(".because"), /ran out|runout/);
  });

  visit("turns are replayed one by one, by keys too", async ({ page }) => {
    await say(page, "customer", "two soft tacos please");
    await say(page, "manager", "we're out of tomatoes");
    await say(page, "customer", "and a large pepsi");
    await page.locator(".timeline .dot button").first().click();
    await counts(ticket(page).locator(".line"), 2);
    await counts(page.locator(".facts li"), 0);
    await shows(page.locator(".where-now"), /after turn 1 of 3/);
    await page.locator("h1").click();
    await page.keyboard.press("ArrowRight");
    await page.locator(".facts li").waitFor();
    await page.keyboard.press("ArrowRight");
    await ticket(page).locator(".line", { hasText: "Pepsi" }).waitFor();
    assert.ok(await page.getByRole("button", { name: "Back to now" }).isHidden());
  });

  visit("a conversation goes on differently from a turn", async ({ page }) => {
    await say(page, "customer", "two soft tacos please");
    await say(page, "customer", "and a large pepsi");
    await page.locator(".lane[data-role=customer] .open").first().click();
    await page.getByRole("button", { name: "Go on differently from here" }).click();
    await page.locator(".branch", { hasText: "after turn 1" }).waitFor();
    await counts(ticket(page).locator(".line"), 2);
    await say(page, "customer", "and a bean burrito");
    await shows(ticket(page), /Bean Burrito/);
    await eventually(async () => assert.doesNotMatch(await ticket(page).textContent(), /Pepsi/));
  });

  visit("what is said before the conversation is open is said when it is", async ({ page }) => {
    await page.evaluate(() => Object.keys(localStorage).filter((key) => key.startsWith("duologue.session/")).forEach((key) => localStorage.removeItem(key)));
    await page.route(/\/sessions$/, async (route) => {
      await new Promise((ready) => setTimeout(ready, 1500));
      await route.continue();
    });
    await page.reload();
    await say(page, "customer", "two soft tacos please");
    await shows(ticket(page), /Soft Taco/);
  });

  visit("after a reload it goes on where it was", async ({ page }) => {
    await say(page, "customer", "two soft tacos please");
    await say(page, "manager", "we're out of tomatoes");
    await page.reload();
    await ticket(page).locator(".line").nth(1).waitFor();
    await shows(talk(page, "customer"), /two soft tacos please/);
    await page.locator(".facts li", { hasText: "Tomatoes" }).waitFor();
    await say(page, "customer", "and a pepsi");
    await counts(ticket(page).locator(".line"), 3);
  });

  visit("two tabs on one session see the same", async ({ page, context, at }) => {
    await say(page, "customer", "two soft tacos please");
    const other = await visitor(chrome, at.url, { context });
    await other.page.locator(".link.live").waitFor();
    await ticket(other.page).locator(".line").nth(1).waitFor();
    await say(page, "customer", "and a pepsi");
    await ticket(other.page).locator(".line", { hasText: "Pepsi" }).waitFor();
    await say(other.page, "manager", "we're out of lettuce");
    await page.locator(".facts li", { hasText: "Lettuce" }).waitFor();
    assert.deepEqual(other.errors, []);
  });

  visit("words are never markup", async ({ page }) => {
    await say(page, "customer", '<img src=x onerror="alert(1)"><b>two soft tacos</b>');
    await counts(page.locator(".talk img, .talk b, .opened blockquote img"), 0);
    await shows(talk(page, "customer"), /<b>two soft tacos<\/b>/);
  });

  visit("it works by keyboard alone", async ({ page }) => {
    await page.getByLabel("Speak as the customer", { exact: true }).waitFor();
    const names = [];
    for (let i = 0; i < 30; i += 1) {
      await page.keyboard.press("Tab");
      names.push(await page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent));
    }
    assert.equal(names[0], "Skip to the conversation");
    for (const name of ["Speak as the customer", "Speak as the manager", "Counter", "Flows"]) assert.ok(names.includes(name), `${name} in ${names}`);
  });
});

test("without a token the manager's side stays shut, and opens with one", async () => {
  const at = await service();
  const { page, context } = await visitor(chrome, at.url);
  try {
    await page.locator(".lane[data-role=manager] .lock").waitFor();
    await say(page, "customer", "a pepsi please");
    await page.getByLabel("Operator's token for the manager").fill(decodeURIComponent(at.address.split("#token=")[1]));
    await page.locator(".lane[data-role=manager] .lock").getByRole("button", { name: "Open" }).click();
    await say(page, "manager", "we're out of tomatoes");
    await page.locator(".facts li", { hasText: "Tomatoes" }).waitFor();
  } finally {
    await context.close();
    at.stop();
  }
});

describe("on a phone", () => {
  visit("one pane shows at a time, and the whole width is enough", async ({ page }) => {
    await say(page, "customer", "two soft tacos please");
    await page.locator(".tabs").getByRole("button", { name: "Order" }).click();
    await ticket(page).locator(".line").nth(1).waitFor({ state: "visible" });
    assert.ok(await talk(page, "customer").isHidden());
    await page.locator(".tabs").getByRole("button", { name: "manager" }).click();
    await say(page, "manager", "we're out of tomatoes");
    await page.locator(".tabs").getByRole("button", { name: "Turn" }).click();
    await page.locator(".opened blockquote").waitFor({ state: "visible" });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing sticks out");
    await accessible(page);
  }, { width: 390, height: 844 });
});

describe("flows and authors", () => {
  visit("a flow's graph shows where the conversation stands", async ({ page }) => {
    await page.getByRole("link", { name: "Flows" }).click();
    await page.getByLabel("Flow", { exact: true }).selectOption("bank_balance");
    await page.locator(".node.here").waitFor();
    await say(page, "speaker", "hello, I would like to know my balance");
    await say(page, "speaker", "my name is Ada Brandt");
    await page.locator(".node .t-known").first().waitFor();
    await shows(page.locator(".node.here"), /FullName = .*AccountNumber/i);
    await accessible(page);
  });

  visit("what was not understood is listed, and kept as a test", async ({ page }) => {
    await say(page, "customer", "flarbl the wug, kindly");
    await say(page, "customer", "flarbl the wug, kindly");
    await page.getByRole("link", { name: "Authors" }).click();
    const row = page.locator("tbody tr", { hasText: "flarbl the wug" });
    await row.waitFor();
    await shows(row, /2/);
    const [file] = await Promise.all([page.waitForEvent("download"), row.getByRole("button").click()]);
    assert.match(file.suggestedFilename(), /\.yaml$/);
    await shows(page.locator(".kept"), /say: "flarbl the wug, kindly"/);
    await accessible(page);
  });
});

test("what the console asks of the service is asked by others in vain", async () => {
  const at = await service();
  try {
    const ask = (path, token, method = "GET") => fetch(at.url + path.slice(1), { method, headers: token ? { authorization: `Bearer ${token}` } : {} });
    const operator = decodeURIComponent(at.address.split("#token=")[1]);
    const opened = await (await ask("/v1/sites/main/sessions", null, "POST")).json();
    const source = "/v1/source?file=rules/core/turn.lp&line=33";
    assert.equal((await ask(source)).status, 401);
    assert.equal((await ask(source, opened.token)).status, 401, "a customer is no operator");
    assert.equal((await (await ask(source, operator)).json()).lines.length, 9);
    for (const file of ["Cargo.toml", "rules/../Cargo.toml", "/etc/passwd", "kb/drive_thru/model.txt"]) {
      assert.equal((await ask(`/v1/source?file=${encodeURIComponent(file)}&line=1`, operator)).status, 404, file);
    }
    assert.equal((await ask("/v1/flows/bank_balance/sessions", opened.token, "POST")).status, 401);
    assert.equal((await ask("/v1/flows/..%2Fbank_balance/sessions", operator, "POST")).status, 404);
    const holds = `/v1/sessions/${opened.session}/holds?atom=${encodeURIComponent("original_price(_,_)")}`;
    assert.equal((await ask(holds)).status, 401);
    const all = await (await ask(holds, opened.token)).json();
    assert.ok(all.holds.length > 20 && all.holds.every((f) => f.atom.startsWith("original_price(") && f.proof.steps.length > 0));
    assert.equal((await ask(`/v1/sessions/${opened.session}/holds?atom=no(`, opened.token)).status, 422);
  } finally {
    at.stop();
  }
});

test("the pages may load nothing from elsewhere, and are kept until they change", async () => {
  const at = await service();
  try {
    const page = await fetch(at.url);
    const policy = page.headers.get("content-security-policy");
    assert.match(policy, /default-src 'none'/);
    assert.doesNotMatch(policy, /unsafe/);
    const again = await fetch(at.url, { headers: { "if-none-match": page.headers.get("etag") } });
    assert.equal(again.status, 304);
    assert.equal((await fetch(`${at.url}app.js`)).headers.get("content-type"), "text/javascript; charset=utf-8");
    assert.equal((await fetch(`${at.url}missing.js`)).status, 404);
  } finally {
    at.stop();
  }
});

test("the service dies and comes back: what was said stays in the field, is taken once, and the conversation goes on", async () => {
  const store = join(mkdtempSync(join(tmpdir(), "duologue-")), "shop.db");
  const first = await service("--store", store);
  const { page, context } = await visitor(chrome, first.address);
  await say(page, "customer", "two soft tacos");
  first.stop("SIGKILL");
  await page.locator(".link.live").waitFor({ state: "detached" });
  const field = page.getByLabel("Speak as the customer", { exact: true });
  await field.fill("and a bean burrito");
  await field.press("Enter");
  await shows(page.locator(".toast.up"), /cannot be reached/);
  await eventually(async () => assert.equal(await field.inputValue(), "and a bean burrito"));
  const again = await service("--store", store, "--address", new URL(first.url).host);
  try {
    await page.locator(".link.live").waitFor();
    await field.press("Enter");
    await shows(talk(page, "customer"), /Bean Burrito/);
    await page.reload();
    await shows(ticket(page), /Soft Taco.*Bean Burrito/s);
    await page.locator(".opened").waitFor();
    assert.doesNotMatch(await page.locator(".opened").textContent(), /null|undefined|NaN/);
  } finally {
    await context.close();
    again.stop();
  }
});

describe("everybody", () => {
  for (const dark of [false, true]) {
    visit(`axe finds nothing, ${dark ? "dark" : "light"}`, async ({ page }) => {
      await say(page, "manager", "we're out of tomatoes");
      await say(page, "customer", "two soft tacos with guacamole, a crunchy taco supreme and a large pepsi please");
      await page.locator("details.act > summary").first().click();
      await page.locator(".unfolded .proof").first().waitFor();
      await accessible(page);
      await page.getByRole("button", { name: /whole menu/ }).click();
      await page.locator(".menu .thing .flag").first().waitFor();
      await page.locator(".menu .thing", { has: page.locator(".flag") }).first().click();
      await page.locator(".about .proof").waitFor();
      await accessible(page);
    }, { dark });
  }

  visit("nothing shifts while it loads", async ({ page, at, t }) => {
    const paints = [];
    for (let i = 0; i < 5; i += 1) {
      await page.goto("about:blank");
      await page.goto(at.url);
      await page.locator(".link.live").waitFor();
      const seen = await page.evaluate(() => new Promise((done) => {
        new PerformanceObserver((list) => done({ shift: list.getEntries().filter((e) => !e.hadRecentInput).reduce((sum, e) => sum + e.value, 0) })).observe({ type: "layout-shift", buffered: true });
        setTimeout(() => done({ shift: 0 }), 300);
      }));
      assert.ok(seen.shift < 0.02, `layout shift ${seen.shift}`);
      paints.push(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0));
    }
    // A figure, not a test: how busy the machine is with other tests decides it.
    t.diagnostic(`first paint after ${paints.map(Math.round).join(", ")} ms`);
  });

  visit("light and dark are a choice that stays", async ({ page }) => {
    const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await paper();
    await page.getByRole("button", { name: /light and dark/ }).click();
    const dark = await paper();
    assert.notEqual(light, dark);
    await page.reload();
    assert.equal(await paper(), dark);
  });
});
