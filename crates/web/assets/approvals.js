// Everything that waits for the user's decision: commands, questions, and memory candidates.
import { follow, h, keyed, notice, show, tag, when } from "./dom.js";
import { nodes, pre } from "./text.js";
import { approval } from "./cards.js";
import { get, post } from "./api.js";

function candidate(proposal, again) {
  const one = proposal.candidate;
  const says = h("p", { class: "dim", role: "status" });
  const text = h("textarea", { rows: "3" });
  text.value = one.text;
  const tags = h("input", { type: "text" });
  tags.value = one.tags.join(", ");
  const days = h("input", { type: "number", min: "0", max: "36500" });
  days.value = one.ttl_days ?? "";
  const decide = async (word) => {
    try {
      await post(`/api/memory/${encodeURIComponent(proposal.fingerprint)}`, word);
      await again();
    } catch (error) { show(says, error.message); }
  };
  const change = () => decide({ decision: "edit", text: text.value, tags: tags.value.split(",").map((word) => word.trim()).filter(Boolean), ttl_days: Number(days.value || 0) });
  const source = proposal.claimed_source ? `${one.source} (it claimed ${proposal.claimed_source})` : one.source;
  return h("section", { class: "approval", "aria-label": "May this be remembered?" },
    h("h3", {}, "! May this be remembered?"), pre(one.text),
    h("p", { class: "dim" }, tag(one.type), " ", one.ttl_days ? `for ${one.ttl_days} days` : "does not expire", one.tags.length ? ` · ${one.tags.join(", ")}` : ""),
    h("p", { class: "dim" }, `Source: ${source}; proposed by ${proposal.origin}, ${when(proposal.proposed_at_utc)}. `, nodes(one.why_store || "")),
    h("div", { class: "row" },
      h("button", { class: "main", type: "button", onclick: () => decide({ decision: "approve" }) }, "Remember it"),
      h("button", { type: "button", onclick: () => decide({ decision: "reject" }) }, "No")),
    h("details", {}, h("summary", {}, "Edit first"),
      h("label", {}, "Text", text), h("label", {}, "Tags, separated by commas", tags), h("label", {}, "Days until it expires (0: never)", days),
      h("p", {}, h("button", { type: "button", onclick: change }, "Remember the edited text"))), says);
}

export async function approvals(page) {
  const [asked, pending, kept] = [new Map(), new Map(), new Map()];
  const again = follow(() => Promise.all([get("/api/approvals"), get("/api/memory")]), ([{ approvals: waiting }, memory]) => {
    const forget = (id) => async () => { await post(`/api/memory/${encodeURIComponent(id)}`, { decision: "forget" }); await again(); };
    const remembered = (one) => h("div", { class: "card" }, pre(one.candidate.text),
      h("div", { class: "row" }, h("span", { class: "dim grow" }, `${one.candidate.type} · approved by ${one.approval.reviewer}, ${when(one.approval.decided_at_utc)}`),
        h("button", { type: "button", onclick: forget(one.id) }, "Forget it")));
    const others = waiting.filter((one) => one.kind !== "memory");
    show(page, h("h1", {}, "Approvals"),
      h("h2", {}, "Commands, steps and questions"),
      others.length ? keyed(asked, others, (one) => one.id, (one) => approval(one, again)) : notice("Nothing is waiting for you."),
      h("h2", {}, "Memory"),
      memory.pending.length ? keyed(pending, memory.pending, (one) => one.fingerprint, (one) => candidate(one, again)) : notice("No candidates. What agents propose to remember is listed here first."),
      h("h2", {}, `Remembered (${memory.remembered.length})`), keyed(kept, memory.remembered, (one) => one.id, remembered));
  });
  await again();
  return { again, hear: (event) => (event.kind.startsWith("approval.") || event.kind === "waiting" ? again() : undefined) };
}
