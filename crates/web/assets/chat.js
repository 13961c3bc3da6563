// The conversation. Stored messages are shown as they are; streamed text is drawn as it arrives and replaced by the stored message.
import { h, show, tell, ticked } from "./dom.js";
import { nodes } from "./text.js";
import { Arriving, render } from "./markdown.js";
import { Card, gist } from "./cards.js";
import { Suggestions, help } from "./commands.js";
import { get, post } from "./api.js";

const NAMES = { you: "You", assistant: "Marvin", system: "Note" };
const PAGE = 100;

/** One thing that was said. */
function said(message) {
  const body = h("div", { class: "body md" }, message.role === "you" ? nodes(message.text) : render(message.text));
  const raw = h("button", { class: "plain", type: "button", "aria-pressed": "false", onclick: () => {
    const plain = raw.getAttribute("aria-pressed") === "false";
    raw.setAttribute("aria-pressed", String(plain));
    show(body, plain ? nodes(message.text) : render(message.text));
  } }, "As stored");
  return h("article", { class: `said ${message.role}`, "data-number": message.number, "data-run": message.run, "aria-label": `${NAMES[message.role] || message.role}, ${message.time}` },
    h("div", { class: "who" }, h("b", {}, NAMES[message.role] || message.role), h("span", {}, message.time), message.role === "assistant" && raw), body);
}

export class Chat {
  constructor(app) {
    this.app = app;
    this.first = Infinity;
    this.last = -1;
    this.live = null;
    this.older = h("button", { type: "button", hidden: true, onclick: () => this.earlier() }, "Show earlier messages");
    this.empty = h("div", { class: "empty", hidden: true }, h("h1", {}, "What can I do for you?"), h("p", {}, "Models propose, the shell decides. Type / for commands."));
    this.log = h("div", { class: "log", role: "log", "aria-live": "off", "aria-label": "Conversation", tabindex: "0" }, this.older, this.empty);
    this.box = h("textarea", { id: "box", rows: "1", placeholder: "Ask Marvin", "aria-label": "Your message", autocomplete: "off", maxlength: "200000" });
    this.suggestions = new Suggestions(this.box);
    this.box.addEventListener("keydown", (event) => {
      if (this.suggestions.key(event)) return;
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); this.send(); }
      if (event.key === "Escape" && this.busy) this.stop();
    });
    this.now = h("div", { class: "said-now", role: "status" });
    this.sendButton = h("button", { class: "main", type: "button", onclick: () => this.send() }, "Send");
    this.stopButton = h("button", { type: "button", disabled: true, onclick: () => this.stop() }, "Stop");
    this.turbo = h("details", { class: "turbo", hidden: true });
    this.element = h("div", { class: "chat" }, this.log,
      h("div", { class: "ask" }, this.now, this.suggestions.list, this.box, h("div", { class: "row" }, this.sendButton, this.stopButton, h("span", { class: "grow" }), this.turbo)));
    this.log.addEventListener("scroll", () => { this.below = this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight < 90; }, { passive: true });
    this.below = true;
    // The tool calls of stored answers are read when the answer comes into view.
    this.views = new IntersectionObserver((seen) => { for (const one of seen) if (one.isIntersecting) { this.views.unobserve(one.target); this.calls(one.target); } }, { root: this.log, rootMargin: "400px" });
    new ResizeObserver(() => this.follow()).observe(this.log);
  }

  /** Shows what is stored. */
  async load() {
    const { messages, total } = await get("/api/messages", { limit: PAGE });
    for (const old of [...this.log.querySelectorAll(".said")]) old.remove();
    this.live = null;
    this.first = Infinity;
    this.last = -1;
    for (const message of messages) this.keep(message);
    this.count(total);
    this.toEnd();
  }

  count(total) {
    this.older.hidden = !(Number.isFinite(this.first) && this.first > 0);
    this.empty.hidden = total > 0 || Boolean(this.live);
  }

  keep(message) {
    if (message.number <= this.last) return;
    this.last = message.number;
    this.first = Math.min(this.first, message.number);
    this.empty.hidden = true;
    // The text that was drawn while it arrived is the stored one now.
    const drawn = this.live && (message.role === "you" ? this.live.you : this.live.adopt(message));
    if (drawn && drawn.dataset.number === undefined && (message.role !== "you" || this.live.prompt === message.text)) {
      drawn.dataset.number = message.number;
      drawn.querySelector(".who span").textContent = message.time;
      return;
    }
    // A live answer has shown its calls.
    this.log.append(this.live ? said(message) : this.seen(said(message)));
  }

  /** Has the tool calls of a stored answer shown. */
  seen(element) {
    if (element.dataset.run) this.views.observe(element);
    return element;
  }

  async calls(element) {
    const { calls, total } = await get(`/api/runs/${encodeURIComponent(element.dataset.run)}/calls`).catch(() => ({ calls: [], total: 0 }));
    const cards = calls.map((item) => {
      const card = new Card(item);
      if (item.ok === undefined) card.state.textContent = "interrupted";
      else card.finish(item);
      return card.element;
    });
    element.querySelector(".who").after(...cards, total > calls.length ? h("p", { class: "dim" }, `and ${total - calls.length} more`) : "");
    this.follow();
  }

  async earlier() {
    const height = this.log.scrollHeight;
    const { messages, total } = await get("/api/messages", { before: this.first, limit: PAGE * 10 });
    const all = messages.map((message) => this.seen(said(message)));
    this.older.after(...all);
    if (messages.length) this.first = messages[0].number;
    this.count(total);
    this.log.scrollTop += this.log.scrollHeight - height;
    all.at(-1)?.querySelector("button")?.focus({ preventScroll: true });
  }

  toEnd() {
    this.below = true;
    this.log.scrollTop = this.log.scrollHeight;
    // Elements below are rendered only when they come into view, and have their height only then.
    requestAnimationFrame(() => { this.log.scrollTop = this.log.scrollHeight; });
  }

  follow() {
    if (this.below) this.log.scrollTop = this.log.scrollHeight;
  }

  /** Draws what happened. */
  hear(event) {
    const { kind, data } = event;
    const item = data?.item;
    if (kind === "turn.started") this.begin(data.prompt);
    else if (kind === "message") this.keep(data);
    else if (kind === "queued") this.waits(data.text);
    else if (kind === "notice") { this.say(data.text); }
    else if (kind.startsWith("servitor.")) this.note(kind, data);
    else if (kind === "turn.failed") { this.say(data.error, true); this.end(); }
    else if (kind === "approval.asked") this.asked(data);
    else if (kind === "approval.answered") this.answered(data);
    else if (kind === "result") this.end(data);
    else if (kind === "gap") this.load();
    else if (kind === "model.reading" && this.live) this.live.reads(data);
    else if (item && this.live) this.live.hear(kind, item);
    this.follow();
  }

  begin(prompt) {
    this.live = new Live(prompt);
    this.empty.hidden = true;
    this.log.append(this.live.you, this.live.element);
    tell("Marvin is answering");
    this.follow();
  }

  end(result) {
    this.live?.end();
    if (result?.text) tell(result.text.slice(0, 600));
    else if (result?.error) tell(result.error);
  }

  /** A call waits; the bar above asks about it. */
  asked(one) {
    this.live?.element.append(h("p", { class: "warn", "data-asked": one.id }, "! ", nodes(`${one.title} ${gist({ text: one.text })}`)));
  }

  answered(data) {
    const line = this.log.querySelector(`[data-asked="${CSS.escape(data.id)}"]`);
    const words = { late: "no answer in time", broken_off: "interrupted" };
    line?.replaceWith(h("p", { class: "dim" }, `Answered: ${words[data.answer] || data.answer}`));
  }

  /** Several lines are a table in plain text. */
  say(text, bad) {
    this.now.classList.toggle("mono", !bad && text.includes("\n"));
    show(this.now, bad ? h("span", { class: "bad" }, "✕ ", ticked(text, nodes)) : ticked(text, nodes));
  }

  /** What a servitor does while the answer arrives: summoned, at work, waiting, dismissed. */
  note(kind, { name, to, reason }) {
    const what = kind === "servitor.state" ? (reason ? `${to} (${reason})` : to) : kind.slice("servitor.".length);
    this.live?.element.append(h("p", { class: "dim servitor" }, nodes(`${name}: ${what}`)));
  }

  waits(text) {
    show(this.now, "Queued: ", nodes(text.slice(0, 300)));
  }

  /** How it stands. */
  status(status) {
    this.busy = status.busy;
    this.stopButton.disabled = !status.busy;
    if (status.queued) this.waits(status.queued);
    else if (this.now.textContent.startsWith("Queued: ")) show(this.now);
    this.sendButton.textContent = status.busy ? "Send next" : "Send";
    this.tools(status.turbotime);
  }

  /** The switch of TURBOTIME, and its tools one by one. */
  tools(chosen) {
    this.turbo.hidden = !this.app.turbotime.length;
    const stands = JSON.stringify(chosen ?? null);
    if (this.turbo.hidden || this.stands === stands) return;
    this.stands = stands;
    const one = (name, text, on) => h("label", { class: "check" }, h("input", { type: "checkbox", value: name, checked: on, onchange: (event) => this.choose(event.target) }), text);
    show(this.turbo, h("summary", {}, `TURBOTIME: ${chosen ? chosen.length || "on" : "off"}`),
      h("fieldset", {}, h("legend", {}, "Frame and plan first, with these tools"), one("on", "On", Boolean(chosen)),
        this.app.turbotime.map((name) => one(name, name, Boolean(chosen?.includes(name))))));
  }

  async choose(box) {
    const all = [...this.turbo.querySelectorAll("input:checked")].map((one) => one.value);
    const off = !all.length || (box.value === "on" && !box.checked);
    const names = all.filter((name) => name !== "on");
    try { await this.does(`/turbotime ${off ? "off" : names.join(",") || "on"}`); } catch (error) { this.say(error.message, true); }
  }

  async stop() {
    try { this.takeBack((await post("/api/cancel", {})).queued); } catch (error) { this.say(error.message, true); }
    this.box.focus();
  }

  /** Puts a prompt that waited back into the input, before what is typed there. */
  takeBack(text) {
    if (!text) return;
    this.box.value = this.box.value.trim() ? `${text}\n${this.box.value}` : text;
    this.say("Interrupted. The prompt that waited was not sent; it is back in the input.");
  }

  /** Does a command; gives false when it was none. */
  async does(line) {
    const { reply, data } = await post("/api/command", { line });
    if (reply === "none") return false;
    const known = { runs: "#/runs", servitors: "#/servitors", memory: "#/approvals" };
    if (reply === "text" || reply === "changed") this.say(data);
    else if (reply === "wrong") this.say(data, true);
    else if (reply === "edit") this.say(`${data.what}: ${data.path}`);
    else if (reply === "again") { await this.load(); this.say(data); }
    else if (reply === "panel" && known[data[0]]) location.hash = known[data[0]];
    else if (reply === "panel" && data[0] === "help") show(this.now, await help());
    else if (reply === "panel") this.say(data[1]);
    else if (reply === "input") this.box.value = data;
    else if (reply === "speech") this.box.value += data;
    else if (reply === "returned") this.takeBack(data);
    else if (reply === "voice") this.say("Speech is recorded in the terminal only.");
    else if (reply === "quit") this.say("Close this page to leave; Ctrl+C ends the server.");
    return true;
  }

  async send() {
    const text = this.box.value;
    if (!text.trim() || this.sending) return;
    this.sending = true;
    this.suggestions.hide();
    this.now.classList.remove("mono");
    show(this.now);
    try {
      this.box.value = "";
      if (!(await this.does(text))) await post("/api/prompt", { text });
      this.toEnd();
    } catch (error) {
      this.box.value = text;
      this.say(error.message, true);
    } finally {
      this.sending = false;
      this.box.focus();
    }
  }
}

/** An answer that is arriving: texts and calls in the order in which they come. */
class Live {
  constructor(prompt) {
    this.prompt = prompt;
    this.you = said({ role: "you", text: prompt, time: "now" });
    delete this.you.dataset.number;
    this.element = h("article", { class: "said assistant", "aria-busy": "true", "aria-label": "Marvin" },
      h("div", { class: "who" }, h("b", {}, "Marvin"), h("span", {}, "now")));
    this.texts = new Map();
    this.cards = new Map();
  }

  text(id) {
    let arriving = this.texts.get(id);
    if (!arriving) {
      const body = h("div", { class: "body md now" });
      this.element.append(body);
      arriving = new Arriving(body);
      this.texts.set(id, arriving);
    }
    this.lastText = arriving;
    return arriving;
  }

  /** Shows how much of the prompt a slow model has read, until it answers. */
  reads({ done, total }) {
    if (!this.reading) {
      this.reading = h("p", { class: "dim", role: "status" });
      this.element.append(this.reading);
    }
    this.reading.textContent = `The model has read ${done} of ${total} tokens`;
  }

  hear(kind, item) {
    this.reading?.remove();
    this.reading = null;
    if (item.type === "message" && kind === "item.updated") {
      const arriving = this.text(item.id);
      if (item.restarted) arriving.restart();
      else arriving.add(item.delta || "");
    } else if (item.type === "message" && kind === "item.completed") {
      const arriving = this.text(item.id);
      arriving.finish(item.text || "");
      arriving.element.classList.remove("now");
    } else if (item.type === "tool_call" && kind === "item.started") {
      const card = new Card(item);
      this.cards.set(item.id, card);
      this.element.append(card.element);
    } else if (item.type === "tool_call" && kind === "item.completed") {
      this.cards.get(item.id)?.finish(item);
    }
  }

  /** The element, where its last text is this message's. */
  adopt(message) {
    return message.role === "assistant" && this.lastText?.text === message.text ? this.element : null;
  }

  end() {
    this.element.setAttribute("aria-busy", "false");
    // Interrupted before any text arrived.
    if (this.element.childElementCount === 1) this.element.remove();
    for (const arriving of this.texts.values()) {
      arriving.element.classList.remove("now");
      if (!arriving.over) arriving.finish(arriving.text);
    }
    for (const card of this.cards.values()) if (card.state.isConnected && card.state.textContent === "running") card.state.textContent = "interrupted";
  }
}

