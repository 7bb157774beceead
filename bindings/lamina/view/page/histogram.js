// When the shown chunks were written: bars, and a brush that chooses a span of days.

import { h, s } from "/static/dom.js";
import { isDated } from "/static/points.js";
import { change } from "/static/state.js";

const DAY = 86_400e6;
const BARS = 42;
const HEIGHT = 48;

export const dayOf = (us) => new Date(us / 1000).toISOString().slice(0, 10);
export const startOf = (day) => Date.parse(`${day}T00:00:00Z`) * 1000;

/** A histogram of dates with two fields that say the same to the keyboard; `update` draws it anew. */
export function histogram({ n, column: { created } }) {
  let [first, last] = [Infinity, -Infinity];
  for (const us of created) if (isDated(us)) [first, last] = [Math.min(first, us), Math.max(last, us)];
  if (first > last) return { element: "", update() {} };
  [first, last] = [Math.floor(first / DAY) * DAY, (Math.floor(last / DAY) + 1) * DAY];
  const place = Int16Array.from(created, (us) => isDated(us) ? Math.min(Math.floor(BARS * (us - first) / (last - first)), BARS - 1) : -1);
  const all = s("g", { class: "track" });
  const bars = s("g", { class: "f1" });
  const brush = s("rect", { class: "brush", y: 0, height: HEIGHT });
  const picture = s("svg", { class: "dates", viewBox: `0 0 ${BARS} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": true }, all, bars, brush);
  const days = ["since", "until"].map((name) => h("input", {
    type: "date", "aria-label": name === "since" ? "Written from" : "Written before", onchange: (event) => change({ [name]: event.target.value }),
  }));

  const day_at = (event) => {
    const box = picture.getBoundingClientRect();
    return first + (last - first) * Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
  };
  const mark = (from, to) => {
    brush.setAttribute("x", BARS * (Math.max(from, first) - first) / (last - first));
    brush.setAttribute("width", BARS * Math.max(Math.min(to, last) - Math.max(from, first), 0) / (last - first));
  };
  let begun = null;
  picture.addEventListener("pointerdown", (event) => {
    begun = day_at(event);
    picture.setPointerCapture(event.pointerId);
  });
  picture.addEventListener("pointermove", (event) => {
    if (begun !== null) mark(Math.min(begun, day_at(event)), Math.max(begun, day_at(event)));
  });
  picture.addEventListener("pointerup", (event) => {
    const [from, to] = [begun, day_at(event)].sort((a, b) => a - b);
    begun = null;
    const wide = BARS * (to - from) / (last - first) > 0.5;
    change(wide ? { since: dayOf(from), until: dayOf(Math.ceil(to / DAY) * DAY) } : { since: "", until: "" });
  });

  const heights = (shown) => {
    const sizes = new Float64Array(BARS);
    for (let i = 0; i < n; i += 1) if (place[i] >= 0 && (!shown || shown[i])) sizes[place[i]] += 1;
    return sizes;
  };
  const most = Math.max(...heights(null), 1);
  const rows = (sizes) => Array.from(sizes, (size, i) => {
    const height = size ? Math.max(HEIGHT * Math.sqrt(size / most), 1.5) : 0;
    return s("rect", { x: i + 0.06, y: HEIGHT - height, width: 0.88, height });
  });
  all.replaceChildren(...rows(heights(null)));
  return {
    element: h("fieldset", { class: "filters written" }, h("legend", {}, "Written"), picture,
      h("div", { class: "span" }, h("small", {}, dayOf(first)), h("small", {}, dayOf(last - DAY))), days),
    update(shown, { since, until }) {
      bars.replaceChildren(...rows(heights(shown)));
      days[0].value = since ?? "";
      days[1].value = until ?? "";
      if (since || until) mark(since ? startOf(since) : first, until ? startOf(until) : last);
      else brush.setAttribute("width", 0);
    },
  };
}
