// Packs, lessons and settings.
import { facts, h, notice, show, table, tag, when } from "./dom.js";
import { nodes } from "./text.js";
import { render } from "./markdown.js";
import { get } from "./api.js";

function pack(one) {
  return h("section", { class: "card", "aria-label": one.name },
    h("h3", {}, nodes(one.name), " ", h("span", { class: "dim" }, one.version), " ", tag(one.origin)),
    h("p", {}, nodes(one.description)),
    facts([["Files", one.extensions.join(", ")], ["Categories", one.categories.join(", ")], ["Needs", one.depends_on.join(", ")]]),
    one.rules && h("details", {}, h("summary", {}, "Guardrails"), h("div", { class: "body md" }, render(one.rules))),
    one.taught.length > 0 && h("details", {}, h("summary", {}, `Lessons (${one.lessons})`),
      table([{ name: "Lesson", long: true }, { name: "Do", long: true }, { name: "Category" }, { name: "Utility", number: true }], one.taught.map((lesson) => [h("span", {}, nodes(lesson.title)), h("span", {}, nodes(lesson.actionable)), lesson.category, lesson.utility.toFixed(2)]), "Lessons")));
}

function lesson(one) {
  const head = one.header;
  return h("details", { class: "card" }, h("summary", {}, h("b", {}, nodes(head.failure_signature || head.id)), h("span", { class: "dim" }, ` · ${head.step_id} · ${when(head.timestamp)}`)),
    facts([["Why it failed", h("span", {}, nodes(head.root_cause_hypothesis))], ["Next strategy", h("span", {}, nodes(head.strategy_change))], ["Evidence", h("span", {}, nodes(head.evidence_of_novelty))], ["Run", head.task_id], ["Tags", head.tags.join(", ")]]),
    h("div", { class: "body md" }, render(one.body)));
}

export async function packs(page) {
  const [shelf, learned] = await Promise.all([get("/api/packs"), get("/api/lessons")]);
  show(page, h("h1", {}, "Packs and lessons"), shelf.problems.map((problem) => notice(`${problem.file}: ${problem.what ?? problem.reason ?? ""}`, true)),
    shelf.packs.length ? shelf.packs.map(pack) : notice("This project has no packs. `marvin packs new rust` creates a starter pack."),
    h("h2", {}, `Lessons from runs (${learned.total})`), learned.lessons.length ? learned.lessons.map(lesson) : h("p", { class: "dim" }, "No retries yet."));
}

export async function settings(page) {
  const { settings: all } = await get("/api/settings");
  const find = h("input", { type: "search", "aria-label": "Find a setting", placeholder: "Find a setting" });
  const body = h("div", {});
  const draw = () => {
    const word = find.value.toLowerCase();
    const rows = all.filter((one) => `${one.key} ${one.meaning} ${one.variables.join(" ")}`.toLowerCase().includes(word));
    show(body, table([{ name: "Setting" }, { name: "Value", long: true }, { name: "From", long: true }, { name: "Meaning" }],
      rows.map((one) => [h("code", { title: one.variables.join(", ") }, one.key), one.value ? h("code", {}, nodes(one.value)) : h("span", { class: "dim" }, "(unset)"), h("span", { class: one.origin === "default" ? "dim" : "" }, one.origin), one.meaning]), "Settings"));
  };
  find.addEventListener("input", draw);
  show(page, h("h1", {}, "Settings"), h("p", { class: "dim" }, "Read-only here; change settings in config.toml, the environment or flags."), find, body);
  draw();
}
