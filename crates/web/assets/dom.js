// Creates elements. Text is inserted only as text nodes; no file in this directory uses another way.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, properties, children) {
  for (const [key, value] of Object.entries(properties || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  add(element, children);
  return element;
}

function add(element, children) {
  for (const child of children) {
    if (child === undefined || child === null || child === false) continue;
    if (Array.isArray(child)) add(element, child);
    else element.append(child instanceof Node ? child : String(child));
  }
}

/** An element with its attributes, listeners (`onclick: …`) and children. */
export function h(name, properties, ...children) {
  return fill(document.createElement(name), properties, children);
}

/** The same for a picture. */
export function s(name, properties, ...children) {
  return fill(document.createElementNS(SVG, name), properties, children);
}

/** Puts these in the place of everything that was there. */
export function show(element, ...children) {
  element.replaceChildren();
  add(element, children);
}

/** The same for something that follows its data: the link that had the focus has it again, and parts stay scrolled as they were. */
export function redraw(element, ...children) {
  const focused = element.contains(document.activeElement) && document.activeElement.getAttribute("href");
  const scrolled = [...element.querySelectorAll(".graph, .scroll")].map((one) => [one.scrollLeft, one.scrollTop]);
  show(element, ...children);
  for (const [at, one] of [...element.querySelectorAll(".graph, .scroll")].entries()) [one.scrollLeft, one.scrollTop] = scrolled[at] || [0, 0];
  if (focused) element.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

/** Reads something, and draws it when it is another than before. */
export function follow(read, draw) {
  let shown;
  return async () => {
    const value = await read();
    const text = JSON.stringify(value);
    if (text === shown) return;
    shown = text;
    draw(value);
  };
}

/** Elements by key; one whose value is the same stays, with what is typed or opened in it. */
export function keyed(known, list, key, make) {
  return list.map((one) => {
    const [id, text] = [key(one), JSON.stringify(one)];
    if (known.get(id)?.text !== text) known.set(id, { text, element: make(one) });
    return known.get(id).element;
  });
}

/** Words for a state, with a sign: the colour says nothing that the words do not. */
const GOOD = new Set(["success", "succeeded", "allow", "passed", "done", "active", "verified", "yes", "completed", "winner"]);
const BAD = new Set(["failed", "failure", "deny", "not_verified", "could_not_run", "broken_off", "budget_spent", "refused"]);
const WARN = new Set(["ask", "blocked", "partial", "waiting", "pending", "retry_pending", "interrupted", "needs_input"]);

/** One word for one state, whichever record it comes from. */
const WORDS = { success: "succeeded", failure: "failed", broken_off: "interrupted" };

export function kindOf(word) {
  const plain = String(word || "").toLowerCase();
  return GOOD.has(plain) ? "good" : BAD.has(plain) ? "bad" : WARN.has(plain) ? "warn" : "";
}

export function tag(word, title) {
  const kind = kindOf(word);
  const sign = { good: "✓ ", bad: "✕ ", warn: "! " }[kind] || "";
  const plain = String(word ?? "").toLowerCase();
  return h("span", { class: `tag ${kind}`, title }, sign + (WORDS[plain] || plain.replaceAll("_", " ")));
}

/** A table; on a phone every row becomes a block. Cells may be nodes. */
export function table(heads, rows, caption) {
  const cell = (value, at) =>
    h("td", { class: heads[at].number ? "number" : heads[at].fixed ? "fixed" : heads[at].long && "long", "data-label": heads[at].name }, value === "" ? null : value);
  return h("div", { class: "scroll" }, h("table", { class: "wide" },
    caption && h("caption", { class: "unseen" }, caption),
    h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col", class: head.number && "number" }, head.name)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map(cell))))));
}

export function facts(pairs) {
  const shown = pairs.filter(([, value]) => value !== undefined && value !== null && value !== "");
  return h("dl", {}, shown.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

export function money(usd) {
  return usd === null || usd === undefined ? "" : `$${Number(usd).toFixed(usd && usd < 0.01 ? 5 : 4)}`;
}

export function when(stamp) {
  const date = new Date(stamp);
  return stamp && !Number.isNaN(date.getTime()) ? date.toLocaleString() : "";
}

export function bytes(count) {
  return count < 1024 ? `${count} B` : count < 1048576 ? `${(count / 1024).toFixed(1)} KB` : `${(count / 1048576).toFixed(1)} MB`;
}

/** A text whose parts in backticks are code. */
export function ticked(text, plain = String) {
  return text.split(/`([^`\n]+)`/).map((part, at) => (at % 2 ? h("code", {}, plain(part)) : plain(part)));
}

/** Something went wrong, or is worth a word. */
export function notice(text, bad) {
  return h("p", { class: bad ? "notice bad" : "notice", role: bad ? "alert" : undefined }, ticked(text));
}

/** Tells whoever listens instead of looking. */
export function tell(text) {
  const live = document.getElementById("live");
  live.textContent = "";
  requestAnimationFrame(() => { live.textContent = text; });
}
