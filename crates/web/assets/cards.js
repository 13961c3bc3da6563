// Tool calls with the gate's verdict, and questions to the user.
import { h, show, tag, tell, ticked } from "./dom.js";
import { diff, isDiff, nodes, pre } from "./text.js";
import { post } from "./api.js";

/** What a call is about, in one line. */
export function gist(args) {
  if (!args || typeof args !== "object") return "";
  const value = args.command ?? args.command_line ?? args.path ?? args.query ?? args.url ?? args.text ?? Object.values(args)[0];
  return value === undefined ? "" : String(typeof value === "string" ? value : JSON.stringify(value)).split("\n")[0].slice(0, 200);
}

/** Texts of a call or a result that are changes. */
function changes(value) {
  const texts = value && typeof value === "object" ? Object.values(value).filter((one) => typeof one === "string") : [];
  return texts.filter(isDiff);
}

function edit(args) {
  const [before, after] = [args.old_str ?? args.old_string ?? args.old_text, args.new_str ?? args.new_string ?? args.new_text];
  if (typeof before !== "string" || typeof after !== "string") return null;
  const lines = (text, sign) => text.replace(/\n$/, "").split("\n").map((line) => `${sign}${line}`);
  return [...lines(before, "-"), ...lines(after, "+")].join("\n");
}

/** A call of a tool; it is finished later. */
export class Card {
  constructor(item) {
    this.args = item.arguments ?? {};
    this.state = h("span", { class: "tag" }, "running");
    this.inner = h("div", { class: "inner" });
    this.element = h("details", { class: "tool" },
      h("summary", {}, h("b", {}, nodes(item.name || "tool")), h("span", { class: "what" }, nodes(gist(this.args))), this.state), this.inner);
    const change = edit(this.args);
    const shown = changes(this.args).map(diff);
    if (change) shown.push(diff(change));
    show(this.inner, h("p", { class: "dim" }, "Arguments"), shown.length ? shown : pre(JSON.stringify(this.args, null, 2)));
  }

  finish(item) {
    const verdict = item.verdict || {};
    const stopped = verdict.decision && verdict.decision !== "allow";
    this.state.replaceWith(tag(stopped ? verdict.decision : item.ok ? "done" : "failed", verdict.reason));
    const result = item.result || {};
    const text = result.error || result.data?.output || result.data?.text || result.summary || item.why || "";
    this.inner.append(h("p", { class: "dim" }, `Gate: ${verdict.decision || "?"}, `, ticked(verdict.reason || "", nodes), verdict.rule && [" [", nodes(verdict.rule), "]"]));
    if (verdict.how_to_fix && stopped) this.inner.append(h("p", {}, ticked(verdict.how_to_fix, nodes)));
    for (const change of changes(result.data)) this.inner.append(diff(change));
    if (text) this.inner.append(h("p", { class: "dim" }, "Result"), pre(String(text)));
    if (item.repeated) this.inner.append(h("p", { class: "warn" }, `Same call, same result: ${item.repeated} times`));
  }
}

/** Something that waits for the person, with the answers that it takes. `done` is called when it was answered. */
export function approval(one, done) {
  const says = h("p", { class: "bad", role: "alert", hidden: true });
  const answer = async (word, text) => {
    for (const button of card.querySelectorAll("button")) button.disabled = true;
    try {
      await post(`/api/approvals/${encodeURIComponent(one.id)}`, text === undefined ? { answer: word } : { answer: word, text });
      tell(`Answered: ${word}`);
      done?.(word);
    } catch (error) {
      says.hidden = false;
      show(says, error.message);
      for (const button of card.querySelectorAll("button")) button.disabled = false;
      if (error.status === 404) done?.();
    }
  };
  const button = ({ answer: word, label }, at) => {
    if (word !== "edit") return h("button", { class: at === 0 && "main", type: "button", onclick: () => answer(word) }, label);
    const other = h("input", { type: "text", "aria-label": label });
    if (one.kind === "memory") other.value = one.text;
    const send = () => other.value.trim() && answer("edit", other.value);
    other.addEventListener("keydown", (event) => { if (event.key === "Enter" && !event.isComposing) send(); });
    return h("span", { class: "row grow" }, other, h("button", { class: at === 0 && "main", type: "button", onclick: send }, label));
  };
  const card = h("section", { class: "approval", "aria-label": one.title, "data-approval": one.id },
    h("h3", {}, "! ", nodes(one.title)), pre(one.text),
    h("p", { class: "dim" }, "From ", nodes(one.source), ". ", ticked(one.why, nodes)),
    h("div", { class: "row" }, one.choices.map(button)), says);
  return card;
}
