// The page: the visible part, the status line, and the event stream that all parts share.
import { h, money, notice, show } from "./dom.js";
import { nodes } from "./text.js";
import { get, listen, takeToken } from "./api.js";
import { Chat } from "./chat.js";
import { Waiting } from "./waiting.js";

const PARTS = [["chat", "Chat"], ["approvals", "Approvals"], ["runs", "Runs"], ["servitors", "Servitors"], ["calendar", "Calendar"], ["table", "Table"], ["gate", "Gate"], ["packs", "Packs"], ["settings", "Settings"]];
const LOAD = {
  approvals: async () => (await import("./approvals.js")).approvals,
  runs: async () => (await import("./runs.js")).runs,
  run: async () => (await import("./run.js")).run,
  servitors: async () => (await import("./servitors.js")).servitors,
  calendar: async () => (await import("./calendar.js")).calendar,
  table: async () => (await import("./table.js")).table,
  gate: async () => (await import("./gate.js")).gate,
  packs: async () => (await import("./shelf.js")).packs,
  settings: async () => (await import("./shelf.js")).settings,
};

const main = document.getElementById("main");
const app = { turbotime: [], part: null, chat: null, waiting: null };
const links = new Map(PARTS.map(([id, name]) => [id, h("a", { href: `#/${id}` }, h("span", { "data-name": name }, name))]));
const count = h("span", { class: "count" });

/** Navigation and title: where the person is, and how much waits. */
function drawNav() {
  const waiting = app.waiting?.all.length || 0;
  count.textContent = waiting ? ` (${waiting})` : "";
  for (const [id, link] of links) {
    if (id === app.current) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const name = (PARTS.find(([part]) => part === app.current) || [, "Marvin"])[1];
  document.title = `${waiting ? `(${waiting}) ` : ""}${name} · Marvin`;
}

function drawStatus(status) {
  app.status = status;
  const some = (name, value) => (value ? h("span", {}, `${name} `, h("b", {}, nodes(String(value)))) : null);
  const cost = status.budget_usd ? `${money(status.cost_usd)} of ${money(status.budget_usd)}` : money(status.cost_usd);
  show(document.getElementById("status"),
    h("span", {}, h("b", {}, app.lost ? "✕ not connected" : status.busy ? "● answering" : "○ ready")),
    some("waiting for you", app.waiting?.all.length), some("model", `${status.provider} / ${status.model}`), some("profile", status.profile), some("mode", status.mode), some("cost", cost), some("sandbox", status.sandbox),
    some("servitors", status.servitors), some("in", status.workspace));
  const banner = document.getElementById("banner");
  banner.hidden = !status.turbotime;
  if (status.turbotime) show(banner, h("b", {}, "TURBOTIME is on. "), status.turbotime.length ? `Tools: ${status.turbotime.join(", ")}` : "No tools are chosen.");
  app.chat?.status(status);
  drawNav();
}

/** The list of what waits is another one: every count follows it. */
function waits() {
  if (app.status) drawStatus(app.status);
  else drawNav();
}

/** Shows the part that the address names. */
async function route() {
  const [, id = "chat", more] = /^#\/(\w+)(?:\/(.+))?$/.exec(location.hash) || [];
  app.current = id;
  app.part?.end?.();
  app.part = null;
  drawNav();
  links.get(id)?.scrollIntoView({ block: "nearest", inline: "center" });
  app.waiting.draw(id);
  if (id === "chat" || !LOAD[id]) {
    show(main, app.chat.element);
    app.chat.toEnd();
    app.chat.box.focus({ preventScroll: true });
    return;
  }
  const page = h("div", { class: "page" });
  show(main, page);
  main.scrollTop = 0;
  main.focus({ preventScroll: true });
  try {
    const draw = await (id === "runs" && more ? LOAD.run() : LOAD[id]());
    const part = await draw(page, more && decodeURIComponent(more));
    if (page.isConnected) app.part = part || null;
    else part?.end?.();
  } catch (error) {
    show(page, h("h1", {}, "Cannot show this page"), notice(error.message, true));
  }
}

/** Lists follow what they list: the visible part is read again, more seldom where that takes long. */
async function followPart() {
  for (;;) {
    const begun = performance.now();
    if (app.part?.again && !document.hidden && !app.lost) await app.part.again().catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, Math.max(1500, (performance.now() - begun) * 10)));
  }
}

function hear(event) {
  if (event.kind === "status") drawStatus(event.data);
  if (event.kind.startsWith("approval.") || event.kind === "waiting" || event.kind === "gap" || (event.kind === "status" && event.data.approvals !== app.waiting.all.length)) app.waiting.again();
  app.chat.hear(event);
  app.part?.hear?.(event);
}

function connection(there, why) {
  const lost = app.lost;
  app.lost = !there;
  if (why) show(main, h("div", { class: "page" }, notice(why, true)));
  if (lost !== app.lost && app.status) drawStatus(app.status);
}

async function start() {
  show(document.getElementById("nav"), [...links.values()]);
  links.get("approvals").append(count);
  drawNav();
  let known = false;
  try {
    known = await takeToken();
  } catch (error) {
    show(main, h("div", { class: "page" }, h("h1", {}, "Marvin"), notice(error.message, true)));
    return;
  }
  if (!known) {
    show(main, h("div", { class: "page" }, h("h1", {}, "Marvin"), notice("Open the link that `marvin chat-ui` printed: it opens this server once.")));
    return;
  }
  try {
    app.chat = new Chat(app);
    app.waiting = new Waiting(waits);
    const status = await get("/api/status");
    app.turbotime = status.turbotime_tools;
    await app.chat.load();
    drawStatus(status);
    await route();
    addEventListener("hashchange", route);
    await app.waiting.again();
    const after = status.busy ? status.turn_after ?? status.seq : status.seq;
    listen(after, hear, connection);
    followPart();
  } catch (error) {
    show(main, h("div", { class: "page" }, notice(error.message, true)));
  }
}

start();
