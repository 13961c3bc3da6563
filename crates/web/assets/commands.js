// Commands of the input: a list while one is typed, and the help.
import { h, show } from "./dom.js";
import { get } from "./api.js";

let known;
const all = async () => (known ??= (await get("/api/commands")).commands);
const words = (one) => `${one.name}${one.words && one.name !== "!" ? " " : ""}${one.words}`;

/** Every command with its meaning, aligned. */
export async function help() {
  return [h("dl", { class: "commands" }, (await all()).map((one) => [h("dt", { class: "mono" }, words(one)), h("dd", {}, one.meaning)])),
    h("p", { class: "dim" }, "Everything else is a prompt; so is a line that begins with a space.")];
}

/** The commands that begin like what is typed. */
export class Suggestions {
  constructor(box) {
    this.box = box;
    this.list = h("ul", { id: "suggestions", class: "suggestions", role: "listbox", "aria-label": "Commands", hidden: true });
    box.setAttribute("aria-controls", "suggestions");
    box.addEventListener("input", () => this.draw());
    box.addEventListener("blur", () => this.hide());
  }

  async draw() {
    const typed = this.box.value;
    const found = /^[/!]\S*$/.test(typed) ? (await all().catch(() => [])).filter((one) => one.name.startsWith(typed)) : [];
    if (typed !== this.box.value) return;
    this.found = found;
    this.at = -1;
    this.list.hidden = !found.length;
    show(this.list, found.map((one) => h("li", { role: "option", id: `command${one.name}`, onmousedown: (event) => { event.preventDefault(); this.take(one); } }, h("span", { class: "mono" }, words(one)), h("span", { class: "dim" }, one.meaning))));
    this.choose(0);
  }

  hide() {
    this.list.hidden = true;
    this.box.removeAttribute("aria-activedescendant");
  }

  choose(by) {
    if (by) this.at = this.at < 0 && by < 0 ? this.found.length - 1 : (this.at + by + this.found.length) % this.found.length;
    for (const [at, one] of [...this.list.children].entries()) one.setAttribute("aria-selected", String(at === this.at));
    const one = this.list.children[this.at];
    if (one) { one.scrollIntoView({ block: "nearest" }); this.box.setAttribute("aria-activedescendant", one.id); } else this.box.removeAttribute("aria-activedescendant");
  }

  take(one) {
    this.box.value = one.words ? `${one.name}${one.name === "!" ? "" : " "}` : one.name;
    this.hide();
    this.box.focus();
  }

  /** Takes a key that is for the list; gives whether it was. */
  key(event) {
    if (this.list.hidden || event.isComposing) return false;
    const chosen = this.found[this.at];
    if (event.key === "ArrowDown") this.choose(1);
    else if (event.key === "ArrowUp") this.choose(-1);
    else if (event.key === "Tab" && !event.shiftKey) this.take(chosen || this.found[0]);
    else if (event.key === "Enter" && chosen && chosen.name !== this.box.value) this.take(chosen);
    else if (event.key === "Escape") this.hide();
    else return false;
    event.preventDefault();
    return true;
  }
}
