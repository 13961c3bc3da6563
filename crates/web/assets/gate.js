// Decisions of the gate, and verdicts on command lines.
import { follow, h, notice, redraw, show, table, tag, ticked, when } from "./dom.js";
import { nodes, pre } from "./text.js";
import { bars } from "./plot.js";
import { get, post } from "./api.js";

function explained(one) {
  const segment = (part) => h("li", {}, tag(part.verdict), " ", h("code", {}, nodes(part.words.join(" "))),
    part.through.length > 0 && h("span", { class: "dim" }, ` started by ${part.through.join(", ")}`),
    h("ul", {}, part.effects.map((effect) => h("li", {}, `would ${effect.verb} `, h("code", {}, nodes(String(effect.target))))),
      part.verdict !== "allow" && h("li", {}, ticked(part.reason, nodes), ` [${part.rule}]`),
      part.safer && h("li", {}, "safer: ", h("code", {}, nodes(part.safer)))));
  return h("div", { class: "card", role: "status" },
    h("h3", {}, tag(one.verdict), " ", ticked(one.reason, nodes)),
    h("p", { class: "dim" }, `Layer ${one.layer}, rule ${one.rule}`), one.how_to_fix && h("p", {}, ticked(one.how_to_fix, nodes)),
    one.safer && h("p", {}, "Safer: ", h("code", {}, nodes(one.safer))),
    h("ul", {}, one.segments.map(segment)), one.doubts.map((doubt) => h("p", { class: "warn" }, "! Not certain: ", ticked(doubt, nodes))));
}

export async function gate(page) {
  const line = h("input", { type: "text", id: "command", autocomplete: "off", spellcheck: "false", placeholder: "rm -rf build && make" });
  const answer = h("div", {});
  const ask = async (command) => {
    if (!command.trim()) return;
    try { show(answer, pre(command), explained(await post("/api/gate/explain", { command }))); } catch (error) { show(answer, notice(error.message, true)); }
    answer.scrollIntoView({ block: "nearest" });
  };
  line.addEventListener("keydown", (event) => { if (event.key === "Enter") ask(line.value); });
  const why = (one) => h("button", { class: "plain", type: "button", onclick: () => ask(one.command) }, "Explain");
  const list = h("div", {});
  const again = follow(() => get("/api/gate/decisions", { limit: 200 }), ({ decisions, stats }) => {
    const counts = Object.entries(stats.decisions).map(([name, value]) => ({ name, value, label: String(value) }));
    redraw(list, h("h2", {}, `Decisions (${stats.total})`),
      stats.total > 0 && [bars("Decisions by verdict", counts), h("p", { class: "dim" }, `p50 ${stats.p50_ms.toFixed(2)} ms, p99 ${stats.p99_ms.toFixed(2)} ms.`)],
      decisions.length ? table([{ name: "Verdict" }, { name: "Command", long: true }, { name: "Why", long: true }, { name: "Rule" }, { name: "When", fixed: true }, { name: "", fixed: true }],
        decisions.map((one) => [tag(one.decision), h("code", {}, nodes(String(one.command ?? "").slice(0, 400))), h("span", {}, ticked(String(one.reasoning ?? ""), nodes)), h("span", { class: "dim" }, `${one.layer}: ${one.rule}`), when(one.timestamp), why(one)]), "Decisions, newest first")
        : notice("No command was judged here yet."));
  });
  show(page, h("h1", {}, "Gate"),
    h("h2", {}, "Try a command line"), h("p", { class: "dim" }, "Nothing is run."),
    h("div", { class: "row low" }, h("label", { class: "grow" }, "Command line", line), h("button", { type: "button", onclick: () => ask(line.value) }, "Explain")), answer, list);
  await again();
  return { again };
}
