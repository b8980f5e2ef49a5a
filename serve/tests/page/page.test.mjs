// The page in Chromium. PAGE_URL is a server of the indexes `sample` (sample.mjs) and `bare` (the same, nothing kept);
// PAGE_TLS_URL is one of `sample` with TLS, whose certificate nobody has signed.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

const { chromium } = createRequire(import.meta.url)(process.env.PLAYWRIGHT ?? "playwright-core");
const base = process.env.PAGE_URL;
const SAMPLE = "?index=sample";

let profile, context;

before(async () => {
  profile = await mkdtemp(join(tmpdir(), "page-"));
  context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    viewport: { width: 1366, height: 860 },
    ignoreHTTPSErrors: true,
    args: [
      "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
      "--disable-background-networking", "--disable-component-update", "--disable-sync",
    ],
  });
  context.setDefaultTimeout(10_000);
});

after(async () => {
  await context?.close();
  await rm(profile, { recursive: true, force: true, maxRetries: 5 });
});

/**
 * A test with a page. It fails on an error in the console, a violation of the content security policy, and a request
 * to another origin. `refused` is the number of requests that the server is expected to refuse.
 */
function visit(name, address, body, { refused = 0, size, media, at = base } = {}) {
  test(name, async () => {
    const page = await context.newPage();
    const [faults, failed] = [[], []];
    page.on("console", (message) => {
      if (!["error", "warning"].includes(message.type())) return;
      (message.text().startsWith("Failed to load resource") ? failed : faults).push(message.text());
    });
    page.on("pageerror", (error) => faults.push(error.stack));
    page.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(at) && !url.startsWith("data:")) faults.push(`a request to ${url}`);
    });
    await page.exposeFunction("reportViolation", (what) => faults.push(`CSP: ${what}`));
    await page.addInitScript(() =>
      addEventListener("securitypolicyviolation", (event) =>
        globalThis.reportViolation(`${event.violatedDirective} ${event.blockedURI}`),
      ),
    );
    if (size) await page.setViewportSize(size);
    if (media) await page.emulateMedia(media);
    await page.goto(at + address);
    await page.waitForFunction(() => document.querySelector("#index").options.length > 0);
    await body(page);
    assert.deepEqual(faults, []);
    assert.equal(failed.length, refused, failed.join("\n"));
    await page.close();
  });
}

async function search(page, query) {
  await page.fill("#query", query);
  await counted(page);
}

/** Waits for the count of the answer to the query in the address. */
async function counted(page) {
  await page.waitForFunction(() => /\d document/.test(document.querySelector("#count").textContent));
  await settled(page);
}

/** Waits until no request has been under way for a while. */
async function settled(page) {
  await page.waitForTimeout(150);
  await page.waitForLoadState("networkidle");
}

const count = async (page) => Number((await page.textContent("#count")).match(/^[\d,]+/)[0].replaceAll(",", ""));
const ids = (page) => page.$$eval("#hits .title", (links) => links.map((link) => new URL(link.href).searchParams.get("doc")));
const focused = (page) => page.evaluate(() => document.activeElement.closest(".hit") ? new URL(document.activeElement.href).searchParams.get("doc") : document.activeElement.id);

async function shot(page, name) {
  if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `${name}.png`) });
}

/** The answer of the server to the same search. */
async function answer(index, request) {
  const reply = await fetch(`${base}v1/indexes/${index}/search`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(request),
  });
  return reply.json();
}

visit("search as you type", SAMPLE, async (page) => {
  await page.locator("#query").pressSequentially("wing flutter", { delay: 15 });
  await counted(page);
  const told = await answer("sample", { query: "wing flutter", count: true });
  assert.deepEqual(await ids(page), told.hits.map((hit) => hit.id));
  assert.equal(await count(page), told.count);
  assert.match(page.url(), /q=wing\+flutter/);
  assert.match(await page.title(), /^wing flutter/);
  const words = await page.$$eval("#hits mark", (marks) => [...new Set(marks.map((mark) => mark.textContent))]);
  assert.deepEqual(words.sort(), ["flutter", "wing"]);
  await page.waitForFunction(() => /documents/.test(document.querySelector("#announce").textContent));
  await shot(page, "search");
});

visit("a late answer to an old query is dropped", SAMPLE, async (page) => {
  await page.route("**/search", async (route) => {
    if (route.request().postDataJSON().query === "wing") await new Promise((done) => setTimeout(done, 600));
    await route.continue().catch(() => {});
  });
  await page.fill("#query", "wing");
  await page.waitForTimeout(200);
  await page.fill("#query", "ablation");
  await page.waitForTimeout(900);
  const told = await answer("sample", { query: "ablation" });
  assert.deepEqual(await ids(page), told.hits.map((hit) => hit.id));
});

visit("the address holds the state, back and forward follow it", `${SAMPLE}&q=wing&mode=and&k1=0.9`, async (page) => {
  await counted(page);
  assert.equal(await page.inputValue("#query"), "wing");
  assert.equal(await page.inputValue("#k1-number"), "0.9");
  assert.ok(await page.isChecked("#mode [value=and]"));
  const first = await ids(page);
  await search(page, "ablation plasma");
  await page.press("#query", "Enter");
  const second = await ids(page);
  assert.notDeepEqual(second, first);
  await page.goBack();
  await page.waitForFunction(() => document.querySelector("#query").value === "wing");
  await settled(page);
  assert.deepEqual(await ids(page), first);
  await page.goForward();
  await settled(page);
  assert.deepEqual(await ids(page), second);
});

visit("modes", `${SAMPLE}&q=gyroscope gondola`, async (page) => {
  await counted(page);
  assert.equal(await count(page), 2);
  await page.click("#mode label:has-text('Phrase')");
  await page.waitForFunction(() => document.querySelector("#count").textContent.startsWith("1 document"));
  assert.deepEqual(await ids(page), ["phrase"]);
  await page.click("#mode label:has-text('All')");
  await page.waitForFunction(() => document.querySelector("#count").textContent.startsWith("2 documents"));
});

visit("indexes", SAMPLE, async (page) => {
  const names = await page.$$eval("#index option", (options) => options.map((option) => option.value));
  assert.ok(names.includes("bare") && names.includes("sample"));
  await page.selectOption("#index", "bare");
  await search(page, "wing");
  assert.match(page.url(), /index=bare/);
  assert.equal(await page.locator("#hits .hit").count(), 10);
  assert.equal(await page.locator("#hits .snippet:visible").count(), 0);
  assert.ok(await page.isVisible("#no-filters"));
  assert.ok(await page.isDisabled("#mode [value=phrase]"));
  assert.match(await page.textContent("#statistics"), /documents403/);
});

visit("examples find documents", SAMPLE, async (page) => {
  await page.waitForSelector("#examples button");
  assert.equal(await page.textContent("#start-title"), "Search 403 documents");
  const example = page.locator("#examples button").first();
  const query = await example.textContent();
  await shot(page, "start");
  await example.click();
  await counted(page);
  assert.equal(await page.inputValue("#query"), query);
  assert.ok((await count(page)) > 0);
  assert.ok(await page.isHidden("#start"));
});

visit("ways out of an empty result", `${SAMPLE}&q=wing zzzz&mode=and&filter=lang:de`, async (page) => {
  await page.waitForFunction(() => document.querySelector("#missing").textContent);
  assert.match(await page.textContent("#count"), /^No document matches/);
  assert.equal(await page.textContent("#missing"), "No document has “zzzz”.");
  const ways = await page.$$eval("#ways button", (buttons) => buttons.map((button) => button.textContent));
  const { count: number } = await answer("sample", { query: "wing", count: true });
  assert.deepEqual(ways, ["Search without filters", "Search for any of the words", `wing (${number})`]);
  await shot(page, "nothing");
  await page.getByRole("button", { name: "Search for any of the words" }).click();
  await counted(page);
  assert.ok(await page.isHidden("#nothing"));
  const told = await answer("sample", { query: "wing zzzz", filters: ["lang:de"], count: true });
  assert.equal(await count(page), told.count);
});

visit("filters", `${SAMPLE}&q=wing`, async (page) => {
  await counted(page);
  const all = await count(page);
  const value = page.locator(".facet", { hasText: "lang" }).locator(".value", { hasText: "de" });
  const number = Number(await value.locator("small").textContent());
  await value.locator("label").click();
  await page.waitForFunction((number) => document.querySelector("#count").textContent.startsWith(`${number} documents`), number);
  assert.match(page.url(), /filter=lang%3Ade/);
  assert.ok((await page.textContent("#hits .meta")).includes("de"));
  await page.getByRole("button", { name: "Without lang de" }).click();
  await page.waitForFunction((left) => document.querySelector("#count").textContent.startsWith(`${left} documents`), all - number);
  assert.match(page.url(), /filter=-lang%3Ade/);
  await shot(page, "filter");
  await page.getByRole("button", { name: /Remove the filter not lang: de/ }).click();
  await page.waitForFunction((all) => document.querySelector("#count").textContent.startsWith(`${all} documents`), all);
  assert.equal(await page.locator("#chips li").count(), 0);
});

visit("filters alone", SAMPLE, async (page) => {
  const years = page.locator(".facet", { hasText: "year" });
  await years.getByRole("button", { name: / more$/ }).click();
  await years.locator(".value", { hasText: "1955" }).locator("label").click();
  await counted(page);
  const told = await answer("sample", { query: "", filters: ["year:1955"], count: true });
  assert.equal(await count(page), told.count);
  await page.click("#clear");
  await page.waitForSelector("#start", { state: "visible" });
});

visit("more results by cursor", `${SAMPLE}&q=wing`, async (page) => {
  await counted(page);
  for (const shown of [20, 30]) {
    await page.click("#more");
    await page.waitForFunction((shown) => document.querySelectorAll("#hits .hit").length === shown, shown);
  }
  const told = await answer("sample", { query: "wing", k: 30 });
  assert.deepEqual(await ids(page), told.hits.map((hit) => hit.id));
  assert.equal(await focused(page), told.hits[20].id);
  await search(page, "zeppelin");
  assert.ok(await page.isHidden("#more"));
});

visit("explain", `${SAMPLE}&q=wing flutter flutter`, async (page) => {
  await counted(page);
  const [hit] = (await answer("sample", { query: "wing flutter flutter", k: 1, explain: true })).hits;
  await page.locator(".hit .score").first().click();
  const rows = await page.$$eval(".why tbody tr", (rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
  assert.equal(rows.length, hit.terms.length);
  for (const term of hit.terms) {
    const row = rows.find(([name]) => name === term.term);
    const told = [term.tf, term.df, term.idf.toFixed(4), term.weight.toFixed(4), term.times, (term.weight * term.times).toFixed(4)];
    assert.deepEqual(row.slice(1), told.map(String));
  }
  assert.equal(await page.getAttribute(".hit .score", "aria-expanded"), "true");
  const widths = await page.$$eval(".hit:first-child .bar i", (parts) => parts.map((part) => part.getBoundingClientRect().width));
  assert.ok(widths.length === hit.terms.length && widths.every((width) => width > 0));
  await shot(page, "explain");
  await page.click("#explain");
  assert.equal(await page.locator(".why:visible").count(), 10);
});

visit("sliders rank again at once", `${SAMPLE}&q=wing flutter camber`, async (page) => {
  await counted(page);
  await page.locator("#b").evaluate((slider) => {
    for (const value of [0.6, 0.4, 0.2, 0]) {
      slider.value = value;
      slider.dispatchEvent(new Event("input", { bubbles: true }));
    }
  });
  await settled(page);
  let told = await answer("sample", { query: "wing flutter camber", b: 0 });
  assert.deepEqual(await ids(page), told.hits.map((hit) => hit.id));
  assert.match(page.url(), /b=0(&|$)/);
  assert.ok((await page.locator(".moved.up, .moved.down").count()) > 0);
  await page.selectOption("#formula", "bm25plus");
  assert.equal(await page.inputValue("#delta-number"), "1");
  await page.fill("#delta-number", "0.3");
  await settled(page);
  told = await answer("sample", { query: "wing flutter camber", formula: "bm25plus", b: 0, delta: 0.3 });
  assert.deepEqual(await ids(page), told.hits.map((hit) => hit.id));
  assert.equal(await page.textContent(".hit .number"), told.hits[0].score.toFixed(4));
  await shot(page, "sliders");
  await page.click("#reset");
  await settled(page);
  told = await answer("sample", { query: "wing flutter camber" });
  assert.deepEqual(await ids(page), told.hits.map((hit) => hit.id));
  assert.ok(await page.isDisabled("#reset"));
});

visit("a document in full", `${SAMPLE}&q=flutter`, async (page) => {
  await counted(page);
  const [first, second] = await ids(page);
  await page.locator(".hit .title").first().click();
  await page.waitForSelector("#document[open] #vector tbody tr");
  assert.match(page.url(), new RegExp(`doc=${first}`));
  assert.ok((await page.locator("#document-text mark").count()) > 0);
  assert.match(await page.textContent("#document-fields"), /lang/);
  const weights = await page.$$eval("#vector tbody b", (cells) => cells.map((cell) => Number(cell.textContent)));
  assert.deepEqual(weights, weights.toSorted((a, b) => b - a));
  await shot(page, "document");
  await page.click("#next");
  await page.waitForFunction((id) => new URL(location).searchParams.get("doc") === id, second);
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !document.querySelector("#document").open && !location.search.includes("doc="));
  assert.equal(await focused(page), second);
  await page.goForward();
  await page.waitForSelector("#document[open]");
  await page.goBack();
  await page.waitForSelector("#document:not([open])", { state: "attached" });
});

visit("a link to a document whose id has signs", `${SAMPLE}&doc=${encodeURIComponent("a/b c?#%")}`, async (page) => {
  await page.waitForSelector("#document[open] #vector tbody tr");
  assert.match(await page.textContent("#document-text"), /a gyroscope in a gondola/);
  await page.click("#close");
  await page.waitForFunction(() => !location.search.includes("doc="));
});

visit("text is text, and highlights count characters", `${SAMPLE}&q=zeppelin`, async (page) => {
  await counted(page);
  assert.equal(await page.textContent(".hit .title"), "<b>bold</b>");
  assert.ok((await page.textContent(".hit .snippet")).includes("<img src=x onerror=alert(1)>"));
  assert.deepEqual(await page.$$eval(".hit mark", (marks) => marks.map((mark) => mark.textContent)), ["zeppelin", "zeppelin"]);
  await page.locator(".hit .title").click();
  await page.waitForSelector("#document-text mark");
  assert.ok((await page.textContent("#document-text")).includes("<script>alert(2)</script>"));
  assert.equal(await page.locator("#hits img, #hits script, #document img, #document script").count(), 0);
});

visit("keyboard only", SAMPLE, async (page) => {
  await page.keyboard.press("Tab");
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("/");
  assert.equal(await focused(page), "query");
  await page.keyboard.type("wing flutter");
  await counted(page);
  const list = await ids(page);
  await page.keyboard.press("ArrowDown");
  assert.equal(await focused(page), list[0]);
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.notEqual(outline, "none");
  for (const key of ["j", "ArrowDown", "k"]) await page.keyboard.press(key);
  assert.equal(await focused(page), list[1]);
  await page.keyboard.press("e");
  assert.equal(await page.locator(".why:visible").count(), 1);
  await page.keyboard.press("Enter");
  await page.waitForSelector("#document[open]");
  await page.keyboard.press("j");
  await page.waitForFunction((id) => new URL(location).searchParams.get("doc") === id, list[2]);
  await page.keyboard.press("Escape");
  await page.waitForSelector("#document:not([open])", { state: "attached" });
  await page.waitForFunction(() => document.activeElement.closest(".hit"));
  assert.equal(await focused(page), list[2]);
  for (let presses = 0; presses < 8; presses++) await page.keyboard.press("j");
  assert.equal(await focused(page), "more");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll("#hits .hit").length === 20);
  await page.keyboard.press("Escape");
  assert.equal(await focused(page), "query");
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("?");
  await page.waitForSelector("#help[open]");
  await page.keyboard.press("Escape");
  await page.reload();
  await page.evaluate(() => document.activeElement.blur());
  await page.locator(".skip").focus();
  await page.keyboard.press("Enter");
  assert.equal(await focused(page), "results");
});

visit("a phone", `${SAMPLE}&q=wing flutter`, async (page) => {
  await counted(page);
  const fits = () => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
  assert.ok(await fits());
  await shot(page, "phone");
  await page.getByRole("button", { name: "Ranking and filters" }).click();
  assert.ok(await page.isVisible("#b"));
  assert.ok(await fits());
  await shot(page, "phone-controls");
  await page.getByRole("button", { name: "Ranking and filters" }).click();
  await page.getByRole("button", { name: "Index and load" }).click();
  const top = (selector) => page.locator(selector).evaluate((element) => element.getBoundingClientRect().top);
  assert.ok((await top("#statistics")) < (await top("#count")));
  assert.ok(await fits());
  await shot(page, "phone-figures");
  await page.getByRole("button", { name: "Index and load" }).click();
  await page.locator(".hit .score").first().click();
  assert.ok(await fits());
  await shot(page, "phone-explain");
  await page.locator(".hit .title").first().click();
  await page.waitForSelector("#vector tbody tr");
  assert.ok(await fits());
  await shot(page, "phone-document");
}, { size: { width: 360, height: 740 } });

visit("dark, and the choice of it", `${SAMPLE}&q=wing flutter`, async (page) => {
  await counted(page);
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number)[0]);
  assert.ok((await ground()) < 60);
  await shot(page, "dark");
  await page.click("#theme");
  assert.ok((await ground()) > 200);
  await page.reload();
  assert.ok((await ground()) > 200);
  await page.evaluate(() => localStorage.clear());
}, { media: { colorScheme: "dark" } });

visit("an error in one line", `${SAMPLE}&q=wing&b=0.5`, async (page) => {
  await counted(page);
  await page.goto(`${base}${SAMPLE}&q=wing&b=7`);
  await page.waitForFunction(() => document.querySelector("#error").textContent);
  const line = await page.textContent("#error");
  assert.match(line, /\w+: .*b is 7/);
  assert.equal(await page.locator("#hits .hit").count(), 0);
  await shot(page, "error");
  await page.click("#reset");
  await counted(page);
  assert.equal(await page.textContent("#error"), "");
}, { refused: 1 });

visit("an index that is not there", "?index=nothing&q=wing", async (page) => {
  await page.waitForFunction(() => /nothing/.test(document.querySelector("#error").textContent));
  await page.selectOption("#index", "sample");
  await counted(page);
  assert.equal(await page.textContent("#error"), "");
}, { refused: 2 });

visit("a server that has gone", `${SAMPLE}&q=wing`, async (page) => {
  await counted(page);
  await page.route("**/search", (route) => route.abort());
  await page.fill("#query", "flutter");
  await page.waitForFunction(() => /does not answer/.test(document.querySelector("#error").textContent));
}, { refused: 1 });

visit("latency and load", `${SAMPLE}&q=wing`, async (page) => {
  await counted(page);
  assert.ok((await page.locator("#latency .server").count()) > 0);
  assert.match(await page.textContent("#latency-figures"), /(µs|ms)/);
  await page.waitForFunction(() => /searches a second\d/.test(document.querySelector("#load-figures").textContent), null, { timeout: 8000 });
});

visit("less motion", `${SAMPLE}&q=wing flutter`, async (page) => {
  await counted(page);
  await page.fill("#b-number", "0");
  await settled(page);
  assert.equal(await page.evaluate(() => document.getAnimations().length), 0);
}, { media: { reducedMotion: "reduce" } });

visit("nothing jumps while results change", `${SAMPLE}&q=wing`, async (page) => {
  await counted(page);
  await page.evaluate(() => {
    globalThis.shift = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (!entry.hadRecentInput) globalThis.shift += entry.value;
    }).observe({ type: "layout-shift" });
  });
  await page.fill("#b-number", "0");
  await settled(page);
  await page.waitForTimeout(400);
  assert.ok((await page.evaluate(() => globalThis.shift)) < 0.1);
});

visit("over TLS", SAMPLE, async (page) => {
  await search(page, "wing");
  assert.ok((await ids(page)).length > 0);
}, { at: process.env.PAGE_TLS_URL });
