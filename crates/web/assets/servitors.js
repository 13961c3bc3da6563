// Servitors, and commitments of servitors and of the project.
import { facts, follow, h, money, notice, redraw, table, tag } from "./dom.js";
import { nodes, pre } from "./text.js";
import { get } from "./api.js";

function promised(list) {
  if (!list.length) return h("p", { class: "dim" }, "No commitments.");
  return table([{ name: "State" }, { name: "Commitment" }, { name: "Check", long: true }, { name: "Evidence", long: true }],
    list.map((one) => [tag(one.status), h("span", {}, nodes(one.description || one.id)), h("code", {}, nodes(`${one.kind}: ${one.assertion ?? ""}`)), h("span", { class: "dim" }, nodes(String(one.evidence ?? "").slice(0, 400)))]), "Commitments");
}

function servitor(one) {
  return h("section", { class: "card", "aria-label": one.name },
    h("h3", {}, nodes(one.name), " ", tag(one.dismissed ? "dismissed" : one.state)),
    pre(one.assignment),
    facts([["Why", one.reason && h("span", {}, nodes(one.reason))], ["Summoned by", one.parent], ["May write", one.access], ["Budget", one.budget_usd === null ? "" : money(one.budget_usd)], ["Rounds", one.budget_rounds], ["Tier", one.tier]]),
    promised(one.commitments), one.answer && [h("p", { class: "dim" }, "Last message"), pre(one.answer)]);
}

export async function servitors(page) {
  const again = follow(() => get("/api/servitors"), (all) => {
    const [here, gone] = [all.servitors.filter((one) => !one.dismissed), all.servitors.filter((one) => one.dismissed)];
    redraw(page, h("h1", {}, "Servitors and commitments"),
      all.problems.map((problem) => notice(problem, true)),
      here.length ? here.map(servitor) : notice("No servitors. `marvin servitors summon` creates one, and agents summon them too."),
      h("h2", {}, "Other commitments"),
      all.documents.length ? all.documents.map((one) => h("section", { class: "card" }, h("h3", {}, nodes(one.title || one.id)), promised(one.commitments))) : h("p", { class: "dim" }, "Neither the project nor a run has promised anything."),
      gone.length > 0 && h("details", {}, h("summary", {}, `Dismissed (${gone.length})`), gone.map(servitor)));
  });
  await again();
  return { again, hear: (event) => (event.kind.startsWith("servitor.") ? again() : undefined) };
}
