// Charts: bars, and the graph of a workflow. Every bar and box has a label; colours only repeat it.
import { h, kindOf, s } from "./dom.js";

/** Horizontal bars: [{ name, value, label }]. The text has the size of the page at every width. */
export function bars(title, rows) {
  const most = Math.max(...rows.map((row) => row.value), 0) || 1;
  const one = (row) => {
    const bar = h("span", { class: "bar" });
    bar.style.width = `${(row.value / most) * 100}%`;
    return h("div", { title: `${row.name}: ${row.label}` }, h("span", { class: "name" }, row.name), h("span", { class: "track" }, bar), h("span", { class: "value" }, row.label));
  };
  return h("div", { class: "plot", role: "group", "aria-label": title }, rows.map(one));
}

const SIGNS = { good: "✓ ", bad: "✕ ", warn: "! " };

/** The graph of a workflow, with where every step stands. */
export function graph(picture, steps, title) {
  const { box_width: width, box_height: height } = picture;
  const short = (text) => (text.length > 22 ? `${text.slice(0, 21)}…` : text);
  const arrow = ([from, to]) => {
    const [fx, fy] = picture.boxes[from], [tx, ty] = picture.boxes[to];
    const x1 = fx + width / 2, y1 = fy + height, x2 = tx + width / 2, y2 = ty - 6, bend = (y2 - y1) / 2;
    return [s("path", { class: "edge", d: `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}` }),
      s("path", { class: "tip", d: `M${x2 - 4} ${ty - 7}L${x2 + 4} ${ty - 7}L${x2} ${ty}Z` })];
  };
  const box = (step, at) => {
    const [x, y] = picture.boxes[at], kind = kindOf(step.status);
    return s("g", {}, s("title", {}, `${step.step_id}: ${step.status}${step.detail ? `, ${step.detail}` : ""}`),
      s("rect", { class: `box ${kind}`, x, y, width, height, rx: 8 }),
      s("text", { x: x + width / 2, y: y + 19, "text-anchor": "middle" }, short(step.step_id)),
      s("text", { class: "sub", x: x + width / 2, y: y + 36, "text-anchor": "middle" }, `${SIGNS[kind] || ""}${step.status.toLowerCase()} · ${short(step.worker)}`));
  };
  return s("svg", { class: "dag", viewBox: `0 0 ${picture.width} ${picture.height}`, width: picture.width, height: picture.height, role: "img", "aria-label": title },
    picture.arrows.map(arrow), steps.map(box));
}
