// Charts: bars, and the graph of a workflow. Every bar and box has a label; colours only repeat it.
import { kindOf, s } from "./dom.js";

const WIDTH = 720, LEFT = 190, RIGHT = 110, BAR = 18, GAP = 8;

/** Horizontal bars: [{ name, value, label }]. */
export function bars(title, rows) {
  const most = Math.max(...rows.map((row) => row.value), 0) || 1;
  const height = rows.length * (BAR + GAP) + GAP;
  const room = WIDTH - LEFT - RIGHT;
  const one = (row, at) => {
    const y = GAP + at * (BAR + GAP);
    const name = row.name.length > 26 ? `${row.name.slice(0, 25)}…` : row.name;
    return s("g", {}, s("title", {}, `${row.name}: ${row.label}`),
      s("text", { class: "num", x: LEFT - 8, y: y + 14 }, name),
      s("rect", { class: "bar", x: LEFT, y, width: Math.max((row.value / most) * room, row.value > 0 ? 1 : 0), height: BAR, rx: 3 }),
      s("text", { x: LEFT + (row.value / most) * room + 6, y: y + 14 }, row.label));
  };
  return s("svg", { class: "plot", viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": title },
    s("line", { class: "axis", x1: LEFT, x2: LEFT, y1: 0, y2: height }), rows.map(one));
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
