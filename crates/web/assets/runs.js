// The list of runs, and what they cost.
import { follow, h, money, notice, redraw, table, tag, when } from "./dom.js";
import { nodes } from "./text.js";
import { bars } from "./plot.js";
import { get } from "./api.js";

const HEADS = [{ name: "Status" }, { name: "Run", fixed: true }, { name: "What", long: true }, { name: "Started", fixed: true }, { name: "Steps" }, { name: "Tools", number: true }, { name: "Cost", number: true }];

function row(run) {
  const what = String(run.workflow_id || run.goal || run.manner || "").slice(0, 160);
  const steps = run.counts ? Object.entries(run.counts).map(([word, count]) => `${count} ${word.toLowerCase().replaceAll("_", " ")}`).join(", ") : run.steps ?? "";
  return [tag(run.status), h("a", { href: `#/runs/${encodeURIComponent(run.run_id)}` }, run.run_id), h("span", {}, nodes(what)), when(run.started_at), steps, run.tool_calls ?? "", money(run.cost_usd)];
}

export async function runs(page) {
  let most = 50, older = [];
  const again = follow(() => get("/api/runs", { limit: most }), ({ runs: newest, total }) => draw(newest, total));
  const draw = (newest, total) => {
    older = newest.length ? older.filter((run) => run.run_id < newest.at(-1).run_id) : [];
    const all = [...newest, ...older];
    const priced = all.filter((run) => run.cost_usd > 0).slice(0, 30);
    const more = all.length < total && h("button", { type: "button", onclick: async () => {
      // The newest are followed; those before them are read once.
      if (most < 500) most += 50;
      else older.push(...(await get("/api/runs", { limit: 50, before: all.at(-1).run_id })).runs);
      if (older.length) draw(newest, total);
      else await again();
    } }, `Show more of ${total}`);
    redraw(page, h("h1", {}, `Runs (${total})`),
      all.length ? table(HEADS, all.map(row), "Runs, newest first") : notice("No runs yet. A question in the chat makes a run, and so does `marvin run-workflow`."), more,
      priced.length > 0 && [h("h2", {}, "Cost of the last runs"), bars("US dollars by run", priced.map((run) => ({ name: run.run_id, value: run.cost_usd, label: money(run.cost_usd) })))]);
  };
  await again();
  return { again };
}
