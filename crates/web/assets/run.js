// One run: summary, graph, timeline, trace, files, cost and lessons.
import { bytes, facts, follow, h, keyed, money, notice, redraw, show, table, tag, ticked, when } from "./dom.js";
import { diff, isDiff, nodes, pre } from "./text.js";
import { render } from "./markdown.js";
import { bars, graph } from "./plot.js";
import { get } from "./api.js";

const PAGE = 100;

/** Statuses of runs that may change at any moment. */
const OPEN = new Set(["RUNNING", "BLOCKED", "BROKEN_OFF"]);

/** A part that is read when it is opened. */
function lazy(title, fill) {
  const inner = h("div", {});
  let begun = false;
  return h("details", { class: "card", ontoggle: async (event) => {
    if (!event.target.open || begun) return;
    begun = true;
    try { await fill(inner); } catch (error) { show(inner, notice(error.message, true)); }
  } }, h("summary", {}, h("b", {}, title)), inner);
}

async function trace(path, inner) {
  let from = 0;
  const list = h("div", {});
  const button = h("button", { type: "button", onclick: () => more() }, "Show more");
  const one = (event) => {
    const { type, seq, timestamp, ...rest } = event;
    const item = rest.item ? `${rest.item.type ?? ""} ${rest.item.name ?? rest.item.model ?? ""}` : "";
    return h("details", { class: "tool" }, h("summary", {}, h("span", { class: "dim mono" }, seq ?? ""), h("b", {}, nodes(String(type ?? "?"))), h("span", { class: "what" }, nodes(item)), h("span", { class: "dim" }, when(timestamp))),
      h("div", { class: "inner" }, pre(JSON.stringify(rest, null, 2))));
  };
  const more = async () => {
    const page = await get(`${path}/trace`, { from, limit: PAGE });
    from = page.next;
    list.append(...page.events.map(one));
    button.hidden = !page.more;
  };
  show(inner, list, button);
  await more();
  return () => (button.hidden ? more() : undefined);
}

async function timeline(path, inner) {
  let after = 0;
  const body = h("div", {});
  const button = h("button", { type: "button", onclick: () => more() }, "Show more");
  const heads = [{ name: "When", fixed: true }, { name: "Step" }, { name: "Became" }, { name: "Attempt", number: true }, { name: "Detail", long: true }];
  const more = async () => {
    const { moments } = await get(`${path}/timeline`, { after, limit: 500 });
    if (moments.length) after = moments.at(-1).seq;
    const rows = table(heads, moments.map((one) => [when(one.at), one.step_id, tag(one.status), one.attempt || "", h("span", {}, ticked(one.detail, nodes))]), "Timeline");
    const there = body.querySelector("tbody");
    if (there) there.append(...rows.querySelectorAll("tbody > tr"));
    else if (moments.length) body.append(rows);
    button.hidden = moments.length < 500;
  };
  show(inner, body, button);
  await more();
  return () => (button.hidden ? more() : undefined);
}

function file(path, one) {
  return lazy(`${one.path} (${bytes(one.bytes)})`, async (inner) => {
    const { text, cut } = await get(`${path}/file`, { path: one.path });
    const shown = text === null ? notice("This is not a text file.") : isDiff(text) ? diff(text) : one.path.endsWith(".md") ? h("div", { class: "body md" }, render(text)) : pre(text);
    show(inner, shown, cut && notice("Only its beginning is shown."));
  });
}

function cost(run) {
  const models = Object.entries(run.cost);
  if (!models.length) return [];
  const total = models.reduce((sum, [, one]) => sum + one.usd, 0);
  let sum = 0;
  const calls = run.costs.slice(0, 60).map((one, at) => {
    sum += one.usd;
    return { name: `call ${at + 1}, ${one.model ?? ""}`, value: sum, label: money(sum) };
  });
  return [h("h2", {}, `Cost: ${money(total)}`),
    table([{ name: "Model" }, { name: "Replies", number: true }, { name: "Tokens in", number: true }, { name: "Tokens out", number: true }, { name: "Cost", number: true }],
      models.map(([name, one]) => [name, one.replies, one.input, one.output, money(one.usd)]), "Cost by model"),
    bars("Tokens by model", models.flatMap(([name, one]) => [{ name: `${name}, in`, value: one.input, label: String(one.input) }, { name: `${name}, out`, value: one.output, label: String(one.output) }])),
    total > 0 && calls.length > 1 && [h("h3", {}, "Cumulative"), bars("Cost after each call", calls)]];
}

function workflow(flow) {
  if (!flow) return [];
  const heads = [{ name: "Status" }, { name: "Step" }, { name: "Worker" }, { name: "Attempts", number: true }, { name: "Took", number: true }, { name: "Detail", long: true }];
  const took = (step) => (step.begun_ms && step.at_ms > step.begun_ms ? `${((step.at_ms - step.begun_ms) / 1000).toFixed(1)} s` : "");
  return [h("h2", {}, "Steps"),
    flow.picture && flow.steps.length === flow.picture.boxes.length && h("div", { class: "graph", tabindex: "0", role: "group", "aria-label": "Graph of the workflow" }, graph(flow.picture, flow.steps, `Steps of ${flow.workflow_id}`)),
    table(heads, flow.steps.map((step) => [tag(step.status), step.step_id, step.worker, step.attempts, took(step), h("span", {}, ticked(step.detail, nodes))]), "Steps"),
    flow.retries.length > 0 && [h("h2", {}, "Retries"), table([{ name: "Verdict" }, { name: "Step" }, { name: "Next" }, { name: "Why", long: true }, { name: "Lesson", long: true }],
      flow.retries.map((one) => [tag(one.allowed ? "allow" : "refused"), `${one.step_id}, after attempt ${one.attempt}`, one.strategy ?? "", h("span", {}, ticked(one.reason, nodes)), one.lesson ?? ""]), "Retries")]];
}

/** Sessions of a self-improve run: what they came to, and their figures side by side. */
function improve(one) {
  if (!one) return [];
  const sessions = one.batches.flatMap((batch) => batch.sessions);
  const heads = [{ name: "Status" }, { name: "Session", fixed: true }, { name: "Strategy", long: true }, { name: "Attempts", number: true }, { name: "Verification", long: true }, { name: "Changed files", long: true }];
  const row = (session) => [tag(session.is_winner ? "WINNER" : session.status), `${session.session_id} ${session.provider}`, session.strategy, session.attempts, h("span", {}, nodes(session.reason)), h("span", {}, nodes(session.changed_files.join(", ")))];
  const figures = [["Criteria met, of 4", "criteria"], ["Passed tests", "passed_tests"], ["Energy: model calls and tool calls", "energy"], ["Changed files", "changes"]];
  const plot = ([title, key]) => [h("h3", {}, title), bars(`${title}, by session`, sessions.map((session) => ({ name: `session ${session.session_id}`, value: session[key], label: String(session[key]) })))];
  return [h("h2", {}, "Sessions"),
    facts([["Energy", `${one.energy.planned} planned, ${one.energy.actual} used`], ...one.batches.flatMap((batch) => [[`Batch ${batch.batch}`, h("span", {}, nodes(batch.result))], ["Baseline", h("span", {}, nodes(batch.baseline))]])]),
    sessions.length ? [table(heads, sessions.map(row), "Sessions"), figures.map(plot)] : notice("No session has begun yet.")];
}

export async function run(page, id) {
  const path = `/api/runs/${encodeURIComponent(id)}`;
  const [head, record, files] = [h("div", {}), h("div", {}), h("div", {})];
  // Parts that were opened, each with what reads the rest of it.
  const opened = new Set(), known = new Map();
  const grows = (title, fill) => lazy(title, async (inner) => opened.add(await fill(inner)));
  let one;
  const draw = (next) => {
    one = next;
    const fact = one.facts || {};
    const tools = Object.entries(one.tools);
    redraw(head,
      h("h1", {}, one.run_id, " ", tag(one.status)),
      facts([["Goal", (one.workflow?.goal || fact.goal) && h("span", {}, nodes(String(one.workflow?.goal || fact.goal).slice(0, 2000)))], ["Kind", one.kind], ["Model", fact.model], ["Started", when(fact.startedAt)], ["Took", one.seconds === null ? "" : `${one.seconds.toFixed(1)} s`],
        ["Directory", one.run_path], ["Sandbox", fact.sandbox], ["Verified", one.verification?.status]]),
      workflow(one.workflow),
      improve(one.self_improve),
      fact.result && [h("h2", {}, "Answer"), h("div", { class: "card body md" }, render(String(fact.result)))],
      tools.length > 0 && [h("h2", {}, "Tools"), table([{ name: "Tool" }, { name: "Calls", number: true }, { name: "Failed", number: true }, { name: "Refused", number: true }], tools.map(([name, tool]) => [h("span", {}, nodes(name)), tool.calls, tool.failures, tool.refused]), "Tools")],
      one.refused.length > 0 && [h("h2", {}, "Asked about or refused"), table([{ name: "Verdict" }, { name: "Tool" }, { name: "What", long: true }, { name: "Why", long: true }], one.refused.map((no) => [tag(no.decision), no.tool, h("code", {}, nodes(no.what.slice(0, 300))), h("span", {}, ticked(no.reason, nodes))]), "Refused")],
      cost(one));
    const lessons = one.files.filter((file_) => file_.path.startsWith("lessons/"));
    const others = one.files.filter((file_) => !file_.path.startsWith("lessons/"));
    const shown = (list) => keyed(known, list, (file_) => file_.path, (file_) => file(path, file_));
    show(files, lessons.length > 0 && [h("h2", {}, "Lessons"), shown(lessons)],
      h("h2", {}, `Artifacts and other files (${others.length})`), others.length ? shown(others) : notice("No files."),
      one.problems.length > 0 && [h("h2", {}, "Unreadable files"), one.problems.map((problem) => notice(`${problem.file}: ${problem.reason}`, true))]);
  };
  const read = follow(() => get(path), draw);
  await read();
  show(record, h("h2", {}, "Record"),
    one.workflow && grows("Timeline", (inner) => timeline(path, inner)),
    grows("Trace", (inner) => trace(path, inner)));
  show(page, h("p", {}, h("a", { href: "#/runs" }, "← Runs")), head, record, files);
  let rounds = 0;
  return { again: async () => {
    rounds += 1;
    // One that is over changes only if it is resumed.
    if (!OPEN.has(one.status) && rounds % 10) return;
    await read();
    for (const rest of opened) await rest();
  } };
}
