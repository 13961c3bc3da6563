// Scenes in a real browser. Every scene must leave the console clean, and no request may go to another machine.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import assert from "node:assert/strict";
import { INJECTIONS } from "./injections.mjs";
import { addTableScenes } from "./table.mjs";

const { MARVIN, PICTURES, MARVIN_TEST_BROWSER, TMPDIR } = process.env;
const { chromium } = createRequire(join(MARVIN_TEST_BROWSER, "package.json"))("playwright-core");
const BROWSER = process.env.MARVIN_TEST_CHROMIUM || "/usr/bin/chromium";
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"];

const servers = [];
process.on("exit", () => { for (const server of servers) server.kill("SIGKILL"); });

/** A home and a project, and the server in it. */
class World {
  constructor(name) {
    this.root = mkdtempSync(join(TMPDIR, `${name}-`));
    this.home = join(this.root, "home");
    this.project = join(this.root, "project");
    for (const folder of [this.home, join(this.project, ".marvin")]) mkdirSync(folder, { recursive: true });
    // The page decides for a person; without a terminal, the setting names that person.
    const settings = join(this.home, ".config/marvin");
    mkdirSync(settings, { recursive: true });
    writeFileSync(join(settings, "config.toml"), '[person]\nunattended = "browser suite"\n');
    this.env = { PATH: process.env.PATH, HOME: this.home, TMPDIR: this.root, LANG: "C.UTF-8", MARVIN_PROVIDER: "mock" };
  }

  marvin(...words) {
    const ended = spawnSync(MARVIN, words, { cwd: this.project, env: this.env, encoding: "utf8" });
    return ended.stdout;
  }

  profile(file, value) {
    const folder = join(this.home, ".config/marvin/profiles/default");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, file), JSON.stringify(value));
  }

  stored() {
    return JSON.parse(readFileSync(join(this.home, ".config/marvin/profiles/default/chat_log.json"), "utf8"));
  }

  async serve(script, port = 0) {
    const words = ["chat-ui", "--port", String(port), "--json"];
    if (script) {
      const file = join(this.root, `script-${Math.random()}.jsonl`);
      writeFileSync(file, script.map((one) => `${JSON.stringify(one)}\n`).join(""));
      words.push("--script", file);
    }
    this.server = spawn(MARVIN, words, { cwd: this.project, env: this.env, stdio: ["ignore", "pipe", "inherit"], detached: true });
    servers.push(this.server);
    const line = await new Promise((resolve, reject) => {
      let text = "";
      this.server.stdout.on("data", (data) => { text += data; if (text.includes("\n")) resolve(text); });
      this.server.on("exit", () => reject(new Error("the server ended")));
    });
    return JSON.parse(line);
  }

  end(signal = "SIGTERM") {
    const gone = new Promise((resolve) => this.server.on("exit", resolve));
    this.server.kill(signal);
    return gone;
  }
}

const browser = await chromium.launch({ executablePath: BROWSER, args: FLAGS });
const trouble = [];

async function open(url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1100, height: 760 }, ...options });
  const page = await context.newPage();
  const own = new URL(url).host;
  page.on("console", (message) => { if (message.type() === "error" && !page.expectsTrouble) trouble.push(`console: ${message.text()}`); });
  page.on("pageerror", (error) => trouble.push(`page: ${error.message}`));
  page.on("dialog", (dialog) => { trouble.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => { if (new URL(request.url()).host !== own) trouble.push(`asked elsewhere: ${request.url()}`); });
  page.on("popup", () => trouble.push("a window was opened"));
  await page.goto(url);
  return page;
}

const say = async (page, text) => {
  await page.fill("#box", text);
  await page.press("#box", "Enter");
};
const last = (page) => page.locator(".said.assistant").last();
const idle = (page) => page.waitForFunction(() => document.getElementById("status").textContent.includes("○ ready"), null, { timeout: 60000 });
const picture = (page, name) => page.screenshot({ path: join(PICTURES, `web-${name}.png`) });
const scenes = [];
const scene = (name, play) => scenes.push([name, play]);

const long = Array.from({ length: 12000 }, (_, at) => `line ${at} of a very long answer with some words to fill it up, and more\n`).join("");
const markdown = "# A title\n\nSome **bold** and *soft* words, `code`, and a [link](https://example.com/there).\n\n- one\n- two\n\n1. first\n2. second\n\n> said by others\n\n```rust\nfn main() {\n    println!(\"hi\");\n}\n```\n\n| name | value |\n|---|---|\n| a | 1 |\n| b | 2 |\n\nDone.";

scene("first start", async (world) => {
  const { link: url } = world.ready;
  const bare = await open(url.split("#")[0]);
  await bare.getByText("Open the link that").waitFor();
  await bare.context().close();
  const page = await open(url);
  await page.locator("#box").waitFor();
  await page.getByText("What can I do for you?").waitFor();
  assert.ok(!page.url().includes("token"), page.url());
  assert.equal(await page.evaluate(() => document.activeElement.id), "box");
  const moved = await page.evaluate(() => new Promise((resolve) => {
    let sum = 0;
    new PerformanceObserver((list) => { for (const entry of list.getEntries()) sum += entry.value; }).observe({ type: "layout-shift", buffered: true });
    setTimeout(() => resolve(sum), 300);
  }));
  assert.ok(moved < 0.05, `the layout jumped by ${moved}`);
  const bytes = await page.evaluate(() => performance.getEntriesByType("resource").filter((one) => one.name.includes("/assets/")).reduce((sum, one) => sum + one.decodedBodySize, 0));
  assert.ok(bytes > 10000 && bytes < 150 * 1024, `${bytes} bytes`);
  await picture(page, "first-start");
  await page.reload();
  await page.locator("#box").waitFor();
  world.page = page;
});

scene("a streamed answer", async () => {
  // A slow model over HTTP.
  const speaker = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    const pieces = markdown.match(/[^]{1,12}/gu);
    const frame = (delta, reason = null) => response.write(`data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", model: "slow", choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`);
    const next = () => {
      const piece = pieces.shift();
      if (piece !== undefined) { frame({ content: piece }); setTimeout(next, 60); return; }
      frame({}, "stop");
      response.end("data: [DONE]\n\n");
    };
    next();
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => speaker.on("listening", resolve));
  const world = new World("slow");
  Object.assign(world.env, { MARVIN_PROVIDER: "openai", OPENAI_API_KEY: "not-a-key", OPENAI_BASE_URL: `http://127.0.0.1:${speaker.address().port}/v1` });
  const page = await open((await world.serve(null)).link);
  await say(page, "stream, please");
  await page.locator(".said.assistant .body.now").waitFor();
  const lengths = new Set();
  for (let at = 0; at < 100 && lengths.size < 4; at += 1) {
    lengths.add((await last(page).innerText()).length);
    await page.waitForTimeout(20);
  }
  assert.ok(lengths.size >= 4, `it came in ${lengths.size} pieces`);
  await idle(page);
  assert.equal(await last(page).locator(".body").textContent(), markdown);
  assert.equal(world.stored().at(-1).text, markdown);
  assert.equal(await last(page).locator(".body a").getAttribute("href"), "https://example.com/there");
  assert.equal(await last(page).locator("table tbody tr").count(), 2);
  assert.equal(await page.locator(".said.assistant").count(), 1, "drawn once");
  await picture(page, "answer");
  await page.reload();
  await page.locator(".said.assistant").waitFor();
  assert.equal(await last(page).locator(".body").textContent(), markdown);
  await last(page).getByRole("button", { name: "As stored" }).click();
  assert.equal(await last(page).locator(".body").textContent(), markdown);
  await page.context().close();
  await world.end();
  speaker.closeAllConnections();
  speaker.close();
});

scene("a tool call", async (world) => {
  const { page } = world;
  await say(page, "make the file");
  const card = last(page).locator(".tool").first();
  await card.locator(".tag.good").waitFor();
  await last(page).locator(".tool").nth(1).locator(".tag.bad").waitFor();
  await card.locator("summary").click();
  await card.getByText("Gate: allow").waitFor();
  await idle(page);
  await picture(page, "tool");
  // E8: they stay after a reload.
  await page.reload();
  await page.locator(".said.assistant .tool").nth(1).waitFor();
  assert.equal(await last(page).locator(".tool").count(), 2);
  await last(page).locator(".tool").first().locator(".tag.good").waitFor();
  await last(page).locator(".tool").nth(1).locator(".tag.bad").waitFor();
  await last(page).locator(".tool").first().locator("summary").click();
  await last(page).getByText("Gate: allow").first().waitFor();
  await picture(page, "tool-reloaded");
});

scene("a servitor at work", async () => {
  const world = new World("servitor");
  const made = { name: "create_file", arguments: { path: "ann.txt", content: "x\n" } };
  const { link: url } = await world.serve([
    { reply: { tool_calls: [{ name: "summon_servitor", arguments: { assignment: "begin", name: "Ann", commitments: ["file_exists:ann.txt"] } }] } },
    { when: { role: "Coder", contains: "Summoned Ann (id: ann)" }, reply: { text: "All is in hand." } },
    { when: { step: "ann", contains: "begin" }, reply: { tool_calls: [made] }, repeat: true },
    { when: { step: "ann", contains: "Created" }, reply: { text: "I made it.\nSTATUS: DONE" }, repeat: true },
    { when: { role: "Coder", contains: "Ann (id: ann) is done" }, reply: { text: "Ann did it." } },
  ]);
  const page = await open(url);
  await page.locator("#box").waitFor();
  await say(page, "have it made");
  await page.locator(".servitor").filter({ hasText: "Ann: summoned" }).waitFor();
  await page.locator(".servitor").filter({ hasText: "Ann: done" }).waitFor();
  await last(page).getByText("Ann did it.").waitFor();
  await picture(page, "servitor");
  await page.context().close();
  await world.end();
});

scene("an approval", async (world) => {
  const { page } = world;
  await say(page, "fetch it");
  const card = page.locator("#waiting .approval");
  await card.getByText("git push x").waitFor();
  assert.ok(await card.getByRole("button", { name: "No", exact: true }).isVisible());
  await page.waitForFunction(() => document.title === "(3) Chat · Marvin");
  await picture(page, "approval");
  await card.getByRole("button", { name: "No", exact: true }).click();
  await page.getByText("Answered: no").waitFor();
  await idle(page);
  await page.waitForFunction(() => document.title === "(2) Chat · Marvin");
});

scene("e1 what waits is on every page", async () => {
  const world = new World("waits");
  const { link: url } = await world.serve([{ reply: { text: "hi" } }]);
  const page = await open(url);
  await page.locator("#box").waitFor();
  assert.ok(await page.locator("#waiting").isHidden());
  writeFileSync(join(world.project, "w.json"), JSON.stringify({ workflow_id: "release", goal: "Release it", steps: [
    { id: "publish", worker: "approve", inputs: { question: "Publish version 1.2 to the registry?" } }, { id: "name", worker: "answer", inputs: { question: "What is the name of the release?" } },
    { id: "end", worker: "Echo", inputs: { text: "done" }, depends_on: ["publish", "name"] }] }));
  world.marvin("run-workflow", "w.json");
  await page.locator("#waiting").getByText("! 2 waiting for you").waitFor();
  assert.equal(await page.title(), "(2) Chat · Marvin");
  assert.equal(await page.locator('nav a[href="#/approvals"]').innerText(), "Approvals (2)");
  assert.match(await page.locator("#status").innerText(), /waiting for you 2/);
  await page.setViewportSize({ width: 390, height: 844 });
  await picture(page, "waiting-narrow");
  await page.setViewportSize({ width: 1100, height: 760 });
  for (const part of ["runs", "gate", "settings"]) {
    await page.evaluate((hash) => { location.hash = hash; }, `#/${part}`);
    await page.locator(".page h1").waitFor();
    assert.ok(await page.locator("#waiting .approval").getByText("Publish version 1.2").isVisible(), part);
  }
  await picture(page, "waiting");
  await page.locator("#waiting").getByRole("button", { name: "Approve" }).click();
  await page.locator("#waiting .approval").getByText("What is the name").waitFor();
  await page.locator("#waiting").getByLabel("Send this answer").fill("Deep Thought");
  await page.locator("#waiting").getByRole("button", { name: "Send this answer" }).click();
  await page.locator("#waiting").waitFor({ state: "hidden" });
  assert.equal(await page.title(), "Settings · Marvin");
  await page.context().close();
  await world.end();
});

scene("e2 runs follow their run", async () => {
  const world = new World("follows");
  const page = await open((await world.serve([{ reply: { text: "hi" } }])).link);
  await page.locator("#box").waitFor();
  await page.evaluate(() => { location.hash = "#/runs"; });
  await page.getByText("No runs yet").waitFor();
  const wait = (name) => ({ command: `while [ ! -e ${name} ]; do sleep 0.1; done` });
  writeFileSync(join(world.project, "w.json"), JSON.stringify({ workflow_id: "slow", goal: "Take a while", steps: [
    { id: "one", worker: "Command", inputs: wait("first") }, { id: "two", worker: "Command", inputs: wait("second"), depends_on: ["one"] }] }));
  const run = spawn(MARVIN, ["run-workflow", "w.json"], { cwd: world.project, env: world.env, stdio: "ignore" });
  servers.push(run);
  await page.locator("tbody tr").filter({ hasText: "running" }).waitFor();
  await page.locator("tbody a").click();
  const row = (step) => page.locator("tbody tr").filter({ hasText: step }).first();
  await row("one").getByText("running").waitFor();
  await page.locator("summary").filter({ hasText: "Timeline" }).click();
  await page.locator("details[open] tbody tr").first().waitFor();
  const before = await page.locator("details[open] tbody tr").count();
  writeFileSync(join(world.project, "first"), "");
  await row("two").getByText("running").waitFor();
  await page.waitForFunction((count) => document.querySelectorAll("details[open] tbody tr").length > count, before);
  writeFileSync(join(world.project, "second"), "");
  await page.locator("h1 .tag.good").waitFor();
  assert.equal(await page.locator("h1 .tag").innerText(), "✓ succeeded");
  await picture(page, "follows");
  await page.evaluate(() => { location.hash = "#/runs"; });
  await page.locator("tbody tr").filter({ hasText: "✓ succeeded" }).waitFor();
  await page.context().close();
  await world.end();
});

scene("the sessions of a self-improve run", async () => {
  const world = new World("improve");
  const runner = 'n=0; bad=0\ncheck() { n=$((n+1)); if [ "$2" = "$3" ]; then echo "ok $n - $1"; else echo "not ok $n - $1"; bad=1; fi; }\nfor file in tests/test_*.sh; do . "$file"; done\necho "1..$n"\nexit $bad\n';
  const files = { "src/sum.sh": "echo $(($1 - $2))\n", "tests/run.sh": runner, "tests/test_sum.sh": 'check sum "$(bash src/sum.sh 2 3)" 5\n' };
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(world.project, name, ".."), { recursive: true });
    writeFileSync(join(world.project, name), text);
  }
  const git = (...words) => spawnSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...words], { cwd: world.project, env: world.env });
  git("init", "-q", "-b", "main");
  git("add", "src", "tests");
  git("commit", "-q", "-m", "first");
  const fixed = "echo $(($1 + $2))";
  const session = (id, calls) => [
    { when: { role: "Planner", contains: `Session: ${id}\n` }, reply: { json: { status: "SUCCESS", summary: "a plan", workflow: { steps: [{ id: `work-${id}`, worker: "Implementer", description: "Make it right" }] } } } },
    ...calls.map((call) => ({ when: { step: `work-${id}` }, reply: { tool_calls: [call] } })),
    { when: { step: `work-${id}` }, reply: { json: { status: "SUCCESS", summary: "Done!" } }, repeat: true }];
  const fix = { name: "apply_patch", arguments: { path: "src/sum.sh", old_str: "echo $(($1 - $2))", new_str: fixed } };
  const note = { name: "create_file", arguments: { path: "docs/notes.md", content: "<img src=x onerror=alert(1)>\n" } };
  const script = [...session("1-1", []), ...session("1-2", [fix]), ...session("1-3", [fix, note]), { reply: { json: { status: "SUCCESS", summary: "All of it is done." } }, repeat: true }];
  const tape = join(world.root, "improve.jsonl");
  writeFileSync(tape, script.map((one) => `${JSON.stringify(one)}\n`).join(""));
  world.env.MARVIN_VERIFY_ROUNDS = "0";
  const report = JSON.parse(world.marvin("self-improve", "--goal", "Fix the sum <b>now</b>", "--evaluate", "bash tests/run.sh", "--sessions", "3", "--llm", "mock", "--script", tape, "--json"));
  const page = await open((await world.serve([{ reply: { text: "hi" } }])).link);
  await page.locator("#box").waitFor();
  await page.evaluate(() => { location.hash = "#/runs"; });
  await page.locator("tbody tr").filter({ hasText: "Fix the sum" }).locator("a").click();
  await page.getByRole("heading", { name: "Sessions" }).waitFor();
  const rows = page.getByRole("table", { name: "Sessions" }).locator("tbody tr");
  assert.equal(await rows.count(), 3);
  assert.match(await rows.filter({ hasText: "1-2" }).innerText(), /✓ winner/);
  assert.match(await rows.filter({ hasText: "1-1" }).innerText(), /failed/);
  const sessions = report.batches[0].sessions;
  assert.deepEqual(sessions.map((one) => one.changed_files.length), [0, 1, 2]);
  const criteria = (one) => one.score.slice(0, 4).reduce((sum, met) => sum + met);
  for (const [title, pick] of [["Criteria met, of 4", criteria], ["Passed tests", (one) => one.score[4]], ["Changed files", (one) => one.changed_files.length]]) {
    const plot = page.getByRole("group", { name: `${title}, by session` });
    assert.deepEqual((await plot.locator(".value").allInnerTexts()).map(Number), sessions.map(pick), title);
  }
  const energy = page.getByRole("group", { name: "Energy: model calls and tool calls, by session" });
  const used = (await energy.locator(".value").allInnerTexts()).map(Number);
  assert.equal(used.reduce((sum, one) => sum + one), report.energy.actual);
  await page.getByText(`${report.energy.planned} planned, ${report.energy.actual} used`).waitFor();
  await picture(page, "self-improve");
  await page.getByRole("group", { name: "Changed files, by session" }).scrollIntoViewIfNeeded();
  await picture(page, "self-improve-plots");
  await page.setViewportSize({ width: 390, height: 844 });
  await picture(page, "self-improve-narrow");
  await page.context().close();
  await world.end();
});

scene("cancel, and one that waits", async (world) => {
  const { page } = world;
  await say(page, "take your time");
  await page.waitForFunction(() => document.getElementById("status").textContent.includes("answering"));
  await say(page, "and then this");
  await page.getByText("Queued: ").waitFor();
  await page.press("#box", "Escape");
  await idle(page);
  assert.ok(await page.locator(".said").count() > 4);
  // E8: what waited is not lost.
  assert.equal(await page.inputValue("#box"), "and then this");
  await page.getByText("it is back in the input").waitFor();
  await page.fill("#box", "");
});

scene("e5 commands are listed while one is typed, and the help is aligned", async (world) => {
  const { page } = world;
  await page.fill("#box", "/");
  const list = page.getByRole("listbox", { name: "Commands" });
  await list.getByText("/help").waitFor();
  await picture(page, "commands");
  await page.fill("#box", "/mo");
  await page.waitForFunction(() => document.querySelectorAll("#suggestions li").length === 1);
  await page.press("#box", "Tab");
  assert.equal(await page.inputValue("#box"), "/model ");
  await page.fill("#box", "/s");
  await list.getByText("/search").waitFor();
  await page.press("#box", "ArrowDown");
  await page.press("#box", "ArrowDown");
  await page.press("#box", "ArrowUp");
  assert.equal(await list.locator("[aria-selected=true] .mono").innerText(), "/servitors");
  await page.press("#box", "Escape");
  await list.waitFor({ state: "hidden" });
  await say(page, "/help");
  await page.locator(".commands").getByText("every command", { exact: false }).or(page.locator(".commands").getByText("this list")).waitFor();
  const lefts = await page.$$eval(".commands dd", (all) => [...new Set(all.map((one) => Math.round(one.getBoundingClientRect().left)))]);
  assert.equal(lefts.length, 1, `the meanings begin at ${lefts}`);
  await picture(page, "help");
  await say(page, "/status");
  await page.locator(".said-now.mono").waitFor();
});

scene("TURBOTIME", async (world) => {
  const { page } = world;
  await page.locator(".turbo summary").click();
  await page.getByLabel("scryfall.lookup").check();
  await page.locator("#banner").getByText("TURBOTIME is on").waitFor();
  assert.match(await page.locator("#banner").innerText(), /scryfall.lookup/);
  await picture(page, "turbotime");
  await page.getByLabel("On", { exact: true }).uncheck();
  await page.locator("#banner").waitFor({ state: "hidden" });
  await page.locator(".turbo summary").click();
});

scene("injections", async (world) => {
  const { page } = world;
  for (const text of INJECTIONS) {
    const before = await page.locator(".said.assistant").count();
    // Text of the user, of the model, and of a tool.
    await say(page, ` ${text.replaceAll("\n", " ")}`);
    await page.waitForFunction((count) => document.querySelectorAll(".said.assistant").length > count, before);
    await idle(page);
  }
  const stored = world.stored().filter((one) => one.role === "assistant").slice(-INJECTIONS.length);
  const shown = await page.$$eval(".said.assistant", (all) => all.map((one) => [...one.querySelectorAll(".body")].at(-1).textContent));
  for (const [at, text] of INJECTIONS.entries()) {
    assert.equal(stored[at].text, text, `stored: ${JSON.stringify(text)}`);
    assert.equal(shown.slice(-INJECTIONS.length)[at], text, `shown: ${JSON.stringify(text)}`);
  }
  const found = await page.evaluate(() => ({
    ran: window.ran, title: document.title,
    elements: document.querySelectorAll(".log script, .log img, .log iframe, .log svg, .log object, .log embed, .log style, .log link, .log form, .log meta, .log video, .log base, .log math").length,
    links: [...document.querySelectorAll("a")].map((one) => one.getAttribute("href")).filter((one) => !/^(#|https?:|mailto:)/.test(one)),
    handlers: [...document.querySelectorAll(".log *")].filter((one) => [...one.attributes].some((attribute) => attribute.name.startsWith("on"))).length,
    bare: [...document.querySelectorAll(".log a")].filter((one) => !one.rel.includes("noopener")).length,
    controls: document.querySelectorAll(".log .control").length,
    wide: document.documentElement.scrollWidth > innerWidth,
  }));
  assert.deepEqual(found, { ran: undefined, title: "(2) Chat · Marvin", elements: 0, links: [], handlers: 0, bare: 0, controls: found.controls, wide: false });
  assert.ok(found.controls >= 12, `${found.controls} hidden characters are shown`);
  await picture(page, "injections");
});

scene("a very long answer", async (world) => {
  const { page } = world;
  await say(page, "very long");
  await page.waitForFunction((length) => [...document.querySelectorAll(".said.assistant .body")].at(-1)?.textContent.length === length, long.length, { timeout: 60000 });
  await idle(page);
  assert.ok(long.length > 800000);
  const begun = Date.now();
  await page.fill("#box", "still quick?");
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  assert.ok(Date.now() - begun < 1500, `typing took ${Date.now() - begun} ms`);
  await page.fill("#box", "");
});

scene("every page, light and dark, wide and narrow", async (world) => {
  const run = (await world.page.evaluate(async () => (await fetch("/api/runs", { headers: { Authorization: `Bearer ${sessionStorage.getItem("marvin-token")}` } })).json())).runs.find((one) => one.workflow_id);
  const parts = ["chat", "approvals", "runs", `runs/${run.run_id}`, "servitors", "calendar", "table", "gate", "packs", "settings"];
  for (const [look, options] of [["light", {}], ["dark", { colorScheme: "dark" }], ["narrow", { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }]]) {
    const page = await open(world.ready.link, options);
    await page.locator("#box").waitFor();
    await page.locator("#waiting").waitFor();
    let widths;
    for (const part of parts) {
      await page.evaluate((hash) => { location.hash = hash; }, `#/${part}`);
      await page.locator(part === "chat" ? ".chat" : ".page h1").first().waitFor();
      if (part === "gate") {
        await page.fill("#command", "rm -rf ~/x && ls");
        await page.press("#command", "Enter");
        await page.locator(".card .tag").first().waitFor();
      }
      if (part.startsWith("runs/")) {
        await page.locator("svg.dag rect").first().waitFor();
        await page.locator("summary").filter({ hasText: "Timeline" }).click();
        await page.locator("details[open] table").waitFor();
      }
      await page.waitForTimeout(60);
      const wide = await page.evaluate(() => Math.max(document.documentElement.scrollWidth - innerWidth, document.getElementById("main").scrollWidth - document.getElementById("main").clientWidth));
      assert.ok(wide <= 0, `${look} ${part} is ${wide} px too wide`);
      // E3: nothing scrolls into nothing, words stay whole, and the navigation does not move.
      const found = await page.evaluate(() => {
        const main = document.getElementById("main"), last = main.querySelector(".page")?.lastElementChild;
        const words = [...document.querySelectorAll("td, button, .tag, th")].filter((one) => one.offsetParent && one.childElementCount === 0 && /^\S{1,12}$/.test(one.textContent));
        return {
          empty: last ? Math.round(main.scrollHeight - main.clientHeight > 0 ? main.scrollHeight - (last.getBoundingClientRect().bottom - main.getBoundingClientRect().top + main.scrollTop) : 0) : 0,
          outside: document.documentElement.scrollHeight - innerHeight,
          broken: words.filter((one) => { const range = document.createRange(); range.selectNodeContents(one); return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1; }).map((one) => one.textContent),
          nav: [...document.querySelectorAll("nav a")].map((one) => one.getBoundingClientRect().width.toFixed(1)).join(),
          current: (() => { const box = document.querySelector("nav a[aria-current]").getBoundingClientRect(); return box.left >= 0 && box.right <= innerWidth + 1; })(),
          small: [...document.querySelectorAll(".plot *")].filter((one) => one.textContent && one.getBoundingClientRect().height > 0 && parseFloat(getComputedStyle(one).fontSize) * (one.getScreenCTM?.().a ?? 1) < 11).length,
        };
      });
      assert.ok(found.empty < 80, `${look} ${part} scrolls ${found.empty} px into nothing`);
      assert.ok(found.outside <= 0, `${look} ${part}: the document is ${found.outside} px longer than the window`);
      assert.deepEqual(found.broken, [], `${look} ${part} breaks words`);
      widths ??= found.nav;
      assert.equal(found.nav, widths, `${look} ${part}: the navigation moved`);
      // E4
      assert.ok(found.current, `${look} ${part}: the current page is outside of the navigation`);
      assert.equal(found.small, 0, `${look} ${part}: the text of a chart is too small`);
      await picture(page, `${part.startsWith("runs/") ? "run" : part}-${look}`);
    }
    await page.evaluate(() => { location.hash = "#/chat"; });
    await page.locator(".turbo summary").click();
    const panel = await page.locator(".turbo fieldset").boundingBox();
    const { width } = page.viewportSize();
    assert.ok(panel.x >= 0 && panel.y >= 0 && panel.x + panel.width <= width, `${look}: the panel of TURBOTIME is cut off: ${JSON.stringify(panel)}`);
    await picture(page, `turbo-panel-${look}`);
    const dark = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.equal(look === "dark", dark === "rgb(20, 24, 28)", dark);
    await page.context().close();
  }
});

scene("by the keyboard alone", async (world) => {
  const page = await open(world.ready.link);
  await page.locator("#box").waitFor();
  const seen = [];
  for (let at = 0; at < 18; at += 1) {
    await page.keyboard.press("Tab");
    seen.push(await page.evaluate(() => {
      const one = document.activeElement, style = getComputedStyle(one);
      return { what: one === document.body ? "BODY" : one.textContent.trim().slice(0, 20) || one.id || one.tagName, outline: parseFloat(style.outlineWidth) > 0 && style.outlineStyle !== "none" };
    }));
  }
  const names = seen.map((one) => one.what);
  for (const name of ["Skip to the content", "Chat", "Runs", "Settings"]) assert.ok(names.includes(name), `${name} is not reached: ${names}`);
  for (const one of seen) assert.ok(one.outline || one.what === "BODY" || one.what === "HTML", `${one.what} shows no focus`);
  await page.context().close();
});

addTableScenes({ scene, World, open, picture, servers, MARVIN });

scene("five thousand messages", async () => {
  const world = new World("many");
  world.profile("chat_log.json", Array.from({ length: 5000 }, (_, at) => ({ role: at % 2 ? "assistant" : "you", text: `message ${at} with **some** words`, time: "12:00" })));
  const { link: url } = await world.serve([{ reply: { text: "the newest" } }]);
  const begun = Date.now();
  const page = await open(url);
  await page.locator(".log").getByText("message 4999").waitFor();
  assert.ok(Date.now() - begun < 6000, `${Date.now() - begun} ms`);
  const at = await page.evaluate(() => { const log = document.querySelector(".log"); return log.scrollHeight - log.scrollTop - log.clientHeight; });
  assert.ok(at < 100, `${at} px above the end`);
  for (let round = 0; round < 20 && await page.getByText("Show earlier messages").isVisible(); round += 1) {
    const count = await page.locator(".said").count();
    await page.getByText("Show earlier messages").click();
    await page.waitForFunction((before) => document.querySelectorAll(".said").length > before, count);
  }
  assert.equal(await page.locator(".said").count(), 5000);
  await say(page, "go");
  await page.locator(".log").getByText("the newest").waitFor();
  await picture(page, "many");
  await page.context().close();
  await world.end();
});

scene("a crash, and going on", async () => {
  const world = new World("crash");
  const { link: url } = await world.serve([{ delay_ms: 60000, reply: { text: "never" } }]);
  const page = await open(url);
  await say(page, "what was it?");
  await page.waitForFunction(() => document.getElementById("status").textContent.includes("answering"));
  await page.waitForTimeout(300);
  page.expectsTrouble = true;
  await world.end("SIGKILL");
  await page.getByText("✕ not connected").waitFor();
  await page.context().close();
  const again = await open((await world.serve([{ reply: { text: "It was this." } }])).link);
  const card = again.locator("#waiting .approval");
  await card.waitFor();
  assert.match(await card.innerText(), /what was it\?/);
  await picture(again, "resume");
  await card.getByRole("button", { name: "Yes, continue" }).click();
  await again.locator(".log").getByText("It was this.").waitFor();
  await again.context().close();
  await world.end();
});

const world = new World("main");
writeFileSync(join(world.project, "flow.json"), JSON.stringify({ workflow_id: "demo", goal: "Show what a workflow looks like", steps: [
  { id: "plan", worker: "Command", inputs: { command: "echo plan" } }, { id: "build", worker: "Command", inputs: { command: "echo built > built.txt" }, depends_on: ["plan"] },
  { id: "test", worker: "Command", inputs: { command: "exit 3" }, depends_on: ["build"] }, { id: "write", worker: "Command", inputs: { command: "echo words" }, depends_on: ["plan"] },
  { id: "ship", worker: "Echo", inputs: { text: "done" }, depends_on: ["test", "write"] }] }));
world.marvin("run-workflow", "flow.json");
world.marvin("packs", "new", "rust");
world.marvin("servitors", "summon", "Look through the tests and fix what is broken", "--name", "Arthur", "--commitment", "file_exists:report.md");
const candidates = ["The person prefers tabs.", "The service listens on port 8080."].map((text) => JSON.stringify({ text, type: "fact", tags: ["style"], ttl_days: null, source: "user_said", why_store: "It was said twice." })).join("\n");
writeFileSync(join(world.root, "import.jsonl"), `${candidates}\n`);
world.marvin("memory", "import", join(world.root, "import.jsonl"));
world.ready = await world.serve([
  { when: { contains: "make the file" }, reply: { text: "I make it.", tool_calls: [{ name: "create_file", arguments: { path: "a.txt", content: "one\ntwo\n" } }, { name: "run_command", arguments: { command: "rm -rf /" } }] } },
  { when: { contains: "catastrophe" }, reply: { text: "The file is there; the rest was refused." } },
  { when: { contains: "fetch it" }, reply: { tool_calls: [{ name: "run_command", arguments: { command: "git push x" } }] } },
  { when: { contains: "said no" }, reply: { text: "Then not." } },
  { when: { contains: "take your time" }, delay_ms: 60000, reply: { text: "never" } },
  { when: { contains: "very long" }, reply: { text: long }, chunks: 60 },
  ...INJECTIONS.map((text) => ({ reply: { text }, chunks: 5 })),
]);
const only = process.argv[2];
for (const [name, play] of scenes) {
  if (only && !name.includes(only) && name !== "first start") continue;
  const begun = Date.now();
  try { await play(world); } catch (error) {
    if (world.page) await picture(world.page, "failed").catch(() => {});
    console.error(`scene "${name}": ${error.stack}\n${trouble.join("\n")}`);
    process.exit(1);
  }
  console.log(`${name}: ${Date.now() - begun} ms`);
  assert.deepEqual(trouble, [], `scene "${name}"`);
}
await browser.close();
await world.end();
console.log("all scenes were played");
process.exit(0);
