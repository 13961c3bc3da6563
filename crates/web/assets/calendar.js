// A month of the calendar: weeks as rows, days as cells, the events of a day in its cell.
import { h, notice, show } from "./dom.js";
import { nodes } from "./text.js";
import { get } from "./api.js";

const DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];

const two = (number) => String(number).padStart(2, "0");

/** The days on which an event is, as ISO dates; the end is exclusive. */
function days(event) {
  const first = new Date(`${event.start.slice(0, 10)}T00:00:00Z`);
  const end = new Date(`${event.end.slice(0, 10)}T00:00:00Z`);
  const ends = event.all_day || event.end.slice(11, 16) === "00:00" ? end : new Date(end.getTime() + 86_400_000);
  const all = [];
  for (let day = first; day < ends || all.length === 0; day = new Date(day.getTime() + 86_400_000)) all.push(day.toISOString().slice(0, 10));
  return all.slice(0, 62);
}

function entry(event, date) {
  const time = event.all_day || event.start.slice(0, 10) !== date ? "" : `${event.start.slice(11, 16)} `;
  const more = [event.location, event.recurrence, event.description].filter(Boolean).join(" · ");
  return h("li", { title: more || null }, h("span", { class: "dim" }, time), nodes(event.title));
}

function weeks(month) {
  const byDay = new Map();
  for (const event of month.events) for (const day of days(event)) byDay.set(day, [...(byDay.get(day) || []), event]);
  const first = new Date(Date.UTC(month.year, month.month - 1, 1));
  const length = new Date(Date.UTC(month.year, month.month, 0)).getUTCDate();
  const cells = Array.from({ length: (first.getUTCDay() + 6) % 7 }, () => h("td", {}));
  for (let day = 1; day <= length; day += 1) {
    const date = `${String(month.year).padStart(4, "0")}-${two(month.month)}-${two(day)}`;
    const events = byDay.get(date) || [];
    cells.push(h("td", { "aria-current": date === month.today ? "date" : null }, h("time", { datetime: date }, String(day)), events.length > 0 && h("ul", {}, events.map((event) => entry(event, date)))));
  }
  while (cells.length % 7 !== 0) cells.push(h("td", {}));
  return Array.from({ length: cells.length / 7 }, (_, week) => h("tr", {}, cells.slice(week * 7, week * 7 + 7)));
}

export async function calendar(page, more) {
  const wanted = /^(\d{4})-(\d{2})$/.exec(more || "");
  const month = await get(wanted ? `/api/calendar?year=${Number(wanted[1])}&month=${Number(wanted[2])}` : "/api/calendar");
  const link = (by, name) => {
    const at = new Date(Date.UTC(month.year, month.month - 1 + by, 1));
    return h("a", { href: `#/calendar/${String(at.getUTCFullYear()).padStart(4, "0")}-${two(at.getUTCMonth() + 1)}` }, name);
  };
  show(page,
    h("h1", {}, `${MONTHS[month.month - 1]} ${month.year}`),
    h("p", {}, link(-1, "← earlier"), " · ", h("a", { href: "#/calendar" }, "this month"), " · ", link(1, "later →")),
    h("table", { class: "month", "aria-label": "Calendar" }, h("thead", {}, h("tr", {}, DAYS.map((day) => h("th", { scope: "col" }, day)))), h("tbody", {}, weeks(month))),
    month.left_out > 0 && notice(`${month.left_out} further events are left out.`),
    h("p", { class: "dim" }, "Ask Marvin to add or remove events, or use `marvin calendar`."));
}
