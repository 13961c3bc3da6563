// The bar of what waits for the person, on every page: commands, steps of workflows, questions, memory. It is answered in place.
import { h, show, tell } from "./dom.js";
import { nodes } from "./text.js";
import { approval, gist } from "./cards.js";
import { get } from "./api.js";

export class Waiting {
  /** `changed` is called when the list is another one. */
  constructor(changed) {
    this.all = [];
    this.changed = changed;
    this.element = document.getElementById("waiting");
    this.title = h("b", {});
    this.what = h("span", { class: "what" });
    this.card = h("div", {});
    this.fold = h("details", {}, h("summary", {}, this.title, this.what), this.card);
    this.more = h("a", { href: "#/approvals" });
    show(this.element, this.fold, this.more);
  }

  /** Reads the list again; a call while it is being read has it read once more. */
  async again() {
    this.stale = true;
    if (this.reading) return;
    this.reading = true;
    try {
      while (this.stale) {
        this.stale = false;
        this.take((await get("/api/approvals")).approvals);
      }
    } catch { /* the status line says that there is no connection */ } finally { this.reading = false; }
  }

  take(all) {
    const known = new Set(this.all.map((one) => one.id));
    const fresh = all.filter((one) => !known.has(one.id));
    this.all = all;
    if (fresh.length) tell(`Waiting for you: ${fresh[0].title} ${fresh[0].text}`);
    this.draw();
    this.changed();
  }

  /** The page of approvals shows all of it, and needs no bar. */
  draw(page = this.page) {
    this.page = page;
    const first = this.all[0];
    this.element.hidden = !first || page === "approvals";
    if (!first) { this.shown = null; return; }
    this.title.textContent = `! ${this.all.length} waiting for you`;
    show(this.what, nodes(`${first.title} ${gist({ text: first.text })}`));
    this.more.textContent = this.all.length > 1 ? `Show all ${this.all.length}` : "Open";
    if (this.shown === first.id) return;
    this.shown = first.id;
    show(this.card, approval(first, () => this.again()));
    // A memory can wait; a command is part of an answer.
    this.fold.open = first.kind !== "memory";
  }
}
