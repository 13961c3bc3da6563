// Text of models, tools and files, shown as it is stored: invisible control characters are drawn by name, and stay
// in the document as they are, so that copied text equals the stored text.
import { h } from "./dom.js";

const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;
const NAMES = {
  0x1b: "ESC", 0x07: "BEL", 0x08: "BS", 0x0d: "CR", 0x7f: "DEL", 0x200b: "ZWSP", 0x200e: "LRM", 0x200f: "RLM", 0x202a: "LRE",
  0x202b: "RLE", 0x202c: "PDF", 0x202d: "LRO", 0x202e: "RLO", 0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI", 0xfeff: "BOM",
};

function control(char) {
  const code = char.codePointAt(0);
  const number = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
  const name = NAMES[code] || number;
  return h("span", { class: "control", "data-name": name, title: `invisible character ${number}` }, h("span", {}, char));
}

/** Nodes for a text. */
export function nodes(text) {
  const found = [];
  let from = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > from) found.push(text.slice(from, match.index));
    found.push(control(match[0]));
    from = match.index + match[0].length;
  }
  if (from < text.length) found.push(text.slice(from));
  return found;
}

/** A block of text in which every character counts. */
export function pre(text, kind) {
  return h("pre", { class: kind, tabindex: text.length > 2000 ? "0" : undefined }, nodes(text));
}

/** A change: lines that begin with + and -, which say by themselves what they are. */
export function diff(text) {
  const line = (one) => {
    const kind = one.startsWith("+") ? "add" : one.startsWith("-") ? "del" : one.startsWith("@@") ? "at" : "";
    return h("span", { class: kind }, nodes(one));
  };
  return h("pre", { class: "diff", tabindex: "0", "aria-label": "change" }, text.replace(/\n$/, "").split("\n").slice(0, 4000).map(line));
}

export function isDiff(text) {
  return /^(diff --git |--- |\*\*\* Begin Patch|@@ )/m.test(text) && /^[+-]/m.test(text);
}
