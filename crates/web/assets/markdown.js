// Markdown as document nodes. Nothing is lost: the marks stay, dimmed, so the visible text equals the stored
// text. A link shows its target, which must be http, https or mailto. Images are not loaded.
import { h } from "./dom.js";
import { nodes } from "./text.js";

/** Characters beyond which a text is shown plainly, and a line without its marks. */
const LONGEST = 262144;
const LONGEST_LINE = 20000;
const DEEPEST = 6;

const mark = (text) => h("span", { class: "mark" }, nodes(text));
const gone = (text) => h("span", { class: "gone" }, nodes(text));

function link(text, address) {
  let url;
  try { url = new URL(address); } catch { return null; }
  if (!["http:", "https:", "mailto:"].includes(url.protocol)) return null;
  return h("a", { href: url.href, rel: "noopener noreferrer nofollow", target: "_blank", title: url.href }, text);
}

/** Nodes for the words of one line. */
function inline(text, depth) {
  if (depth > DEEPEST || text.length > LONGEST_LINE) return nodes(text);
  const found = [];
  let from = 0, at = 0;
  const take = (upTo, ...made) => {
    if (at > from) found.push(...nodes(text.slice(from, at)));
    found.push(...made);
    from = at = upTo;
  };
  const around = (sign, name) => {
    const end = text.indexOf(sign, at + sign.length);
    const inner = end < 0 ? "" : text.slice(at + sign.length, end);
    if (!inner || /^\s|\s$/.test(inner)) return false;
    take(end + sign.length, mark(sign), h(name, {}, inline(inner, depth + 1)), mark(sign));
    return true;
  };
  while (at < text.length) {
    const char = text[at], before = at ? text[at - 1] : " ";
    if (char === "\\" && at + 1 < text.length) { at += 2; continue; }
    if (char === "`") {
      const sign = /^`+/.exec(text.slice(at, at + 32))[0];
      const end = text.indexOf(sign, at + sign.length);
      if (end > 0) { take(end + sign.length, mark(sign), h("code", {}, nodes(text.slice(at + sign.length, end))), mark(sign)); continue; }
      at += sign.length; continue;
    }
    if (text.startsWith("**", at) && around("**", "strong")) continue;
    if (text.startsWith("__", at) && /\W/.test(before) && around("__", "strong")) continue;
    if (text.startsWith("~~", at) && around("~~", "s")) continue;
    if (char === "*" && text[at + 1] !== "*" && around("*", "em")) continue;
    if (char === "_" && /\W/.test(before) && text[at + 1] !== "_" && around("_", "em")) continue;
    if (char === "[") {
      const match = /^\[([^\]]{1,2000})\]\(([^\s)]{1,2000})((?:\s+"[^"]*")?)\)/.exec(text.slice(at, at + 4200));
      const made = match && link(inline(match[1], depth + 1), match[2]);
      if (made) {
        take(at + match[0].length, mark("["), made, mark("]("), h("span", { class: "url" }, nodes(match[2])), mark(`${match[3]})`));
        continue;
      }
    }
    if (char === "h" && /\W/.test(before)) {
      const match = /^https?:\/\/[^\s<>"'`\])]+[^\s<>"'`\]).,;:!?]/.exec(text.slice(at, at + 2000));
      const made = match && link(nodes(match[0]), match[0]);
      if (made) { take(at + match[0].length, made); continue; }
    }
    at += 1;
  }
  take(text.length);
  return found;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})([^`\n]*)\n?$/;
const RULER = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*\n?$/;

/** Where the blocks of a text begin and end: a line each, but for fences and tables. */
function blocks(text) {
  const lines = text.split(/(?<=\n)/);
  const found = [];
  for (let at = 0; at < lines.length; at += 1) {
    const fence = FENCE.exec(lines[at]);
    if (fence) {
      const begin = at, sign = fence[1];
      const closes = (line) => { const end = FENCE.exec(line); return end && end[1][0] === sign[0] && end[1].length >= sign.length && !end[2].trim(); };
      do { at += 1; } while (at < lines.length && !closes(lines[at]));
      found.push({ kind: "fence", lines: lines.slice(begin, at + 1), closed: at < lines.length });
      continue;
    }
    if (lines[at].includes("|") && at + 1 < lines.length && lines[at + 1].includes("|") && lines[at + 1].includes("-") && RULER.test(lines[at + 1])) {
      const begin = at;
      at += 1;
      while (at + 1 < lines.length && lines[at + 1].includes("|") && lines[at + 1].trim()) at += 1;
      found.push({ kind: "table", lines: lines.slice(begin, at + 1) });
      continue;
    }
    found.push({ kind: "line", lines: [lines[at]] });
  }
  return found;
}

function row(line, name) {
  const cells = h("tr", {});
  let cell = null;
  // A bar within code or after a backslash does not separate cells.
  for (const piece of line.match(/\\.|`[^`]*`|\||\n|[^|\\`\n]+|[\\`]/g) || []) {
    if (piece === "|" || piece === "\n") {
      if (cell !== null) cells.append(h(name, {}, inline(cell, 1)));
      cells.append(gone(piece));
      cell = null;
    } else {
      cell = (cell ?? "") + piece;
    }
  }
  if (cell !== null) cells.append(h(name, {}, inline(cell, 1)));
  return cells;
}

function build(block) {
  const [first] = block.lines;
  if (block.kind === "fence") {
    const last = block.closed ? block.lines.at(-1) : "";
    const code = block.lines.slice(1, block.closed ? -1 : undefined).join("");
    return h("pre", { tabindex: code.length > 400 ? "0" : undefined }, mark(first), h("code", {}, nodes(code)), last && mark(last));
  }
  if (block.kind === "table") {
    const [head, ruler, ...rest] = block.lines;
    return h("table", {}, h("thead", {}, row(head, "th")), gone(ruler), h("tbody", {}, rest.map((line) => row(line, "td"))));
  }
  let match;
  if ((match = /^(#{1,6} +)([^\n]*)(\n?)$/.exec(first))) {
    return h("span", { class: `h${Math.min(match[1].trim().length, 3)}`, role: "heading", "aria-level": match[1].trim().length + 1 }, mark(match[1]), inline(match[2], 1), match[3]);
  }
  if ((match = /^(\s{0,3}(?:> ?)+)([^\n]*)(\n?)$/.exec(first))) {
    return h("span", { class: "quote" }, mark(match[1]), inline(match[2], 1), match[3]);
  }
  if ((match = /^(\s*(?:[-*+]|\d{1,9}[.)])\s+)([^\n]+)(\n?)$/.exec(first))) {
    return h("span", { class: "item" }, match[1], inline(match[2], 1), match[3]);
  }
  const words = first.endsWith("\n") ? first.slice(0, -1) : first;
  return h("span", {}, inline(words, 1), words.length < first.length && "\n");
}

/** Very much text: in pieces, so that only what is looked at is laid out. */
function plainly(text) {
  const pieces = [];
  for (let at = 0; at < text.length;) {
    let end = Math.min(at + 16384, text.length);
    const line = text.lastIndexOf("\n", end);
    if (end < text.length && line > at) end = line + 1;
    else if (end < text.length && /[\ud800-\udbff]/.test(text[end - 1])) end += 1;
    pieces.push(h("span", {}, nodes(text.slice(at, end))));
    at = end;
  }
  return pieces;
}

/** Nodes for a whole text. */
export function render(text) {
  return text.length > LONGEST ? plainly(text) : blocks(text).map(build);
}

/** A text that is still arriving: what is finished stays, only its end is made anew, once a frame. */
export class Arriving {
  constructor(element) {
    this.element = element;
    this.text = "";
    this.rest = "";
    this.frozen = 0;
    this.due = 0;
  }

  add(piece) {
    this.text += piece;
    this.rest += piece;
    if (!this.due) this.due = setTimeout(() => requestAnimationFrame(() => this.draw()), this.rest.length > 32768 ? 500 : 16);
  }

  restart() {
    this.text = this.rest = "";
    this.frozen = 0;
    this.element.replaceChildren();
  }

  draw() {
    this.due = 0;
    if (this.over) return;
    if (this.text.length > LONGEST) {
      // Too long for formatting: the rest is added as plain text.
      if (this.rest.length) this.element.append(h("span", {}, nodes(this.rest)));
      if (!this.plain) { this.plain = true; this.element.replaceChildren(...plainly(this.text)); }
      this.rest = "";
      return;
    }
    const found = blocks(this.rest);
    while (this.element.childNodes.length > this.frozen) this.element.lastChild.remove();
    for (const block of found) this.element.append(build(block));
    const finished = Math.max(0, found.length - 3);
    this.frozen += finished;
    this.rest = found.slice(finished).map((block) => block.lines.join("")).join("");
  }

  /** The whole text, as it is kept. */
  finish(text) {
    this.over = true;
    this.text = text;
    this.element.replaceChildren(...render(text));
  }
}
