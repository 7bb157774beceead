// Colours of the map and the graph. Categories have those of Okabe and Ito, ages those of cividis: both hold for people who see fewer colours.

import { isDated } from "/static/points.js";

export const CATEGORIES = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8a8d00"];
export const NONE = "#8c9094";
const AGES = ["#00204d", "#31446b", "#666970", "#958f78", "#cab969", "#ffe945"];
const TIERS = { fresh: "#0072b2", aging: "#56b4e9", stale: "#e69f00", expired: "#d55e00" };
const DAY = 86_400e6;

/** The look of a category by its size, the largest first: a colour, then its ring; what is rarer still shares one. */
export function lookOf(at) {
  const many = CATEGORIES.length;
  return at < 2 * many ? { colour: CATEGORIES[at % many], ring: at >= many } : { colour: NONE, ring: false };
}

/** A colour as it lies in the bytes of an image. */
const pixel = (hex) => {
  const value = parseInt(hex.slice(1), 16);
  return (255 << 24 | (value & 255) << 16 | (value & 0xff00) | value >> 16) >>> 0;
};

/**
 * Colours of all points by a field: pixels, and the legend of what is shown.
 * Topics lie apart and have names on the map: colours repeat, never in neighbours. Elsewhere what is rare shares one.
 */
export function colour(points, field, shown, outlines) {
  if (field === "age") return byAge(points, isDark() ? [0.3, 1] : [0, 0.85]);
  const names = points.values[field].map((each) => each.name ?? each);
  const codes = points.column[field];
  const sizes = new Float64Array(names.length + 1);
  for (let i = 0; i < points.n; i += 1) if (shown[i]) sizes[Math.min(codes[i], names.length)] += 1;
  const order = names.map((_, i) => i).sort((a, b) => sizes[b] - sizes[a] || a - b);
  const hues = names.map(() => NONE);
  if (field === "topic") spread(outlines, hues);
  else if (field === "freshness") names.forEach((name, i) => { hues[i] = TIERS[name] ?? NONE; });
  else order.slice(0, CATEGORIES.length).forEach((code, i) => { hues[code] = CATEGORIES[i]; });
  const bits = Uint32Array.from([...hues, NONE], pixel);
  const legend = order.filter((code) => hues[code] !== NONE && sizes[code]).map((code) => ({ name: names[code], hue: hues[code], size: sizes[code] }));
  const rest = shown.reduce((sum, each) => sum + each, 0) - legend.reduce((sum, { size }) => sum + size, 0);
  if (rest) legend.push({ name: field === "topic" || !order.some((code) => hues[code] === NONE && sizes[code]) ? `no ${field}` : "others", hue: NONE, size: rest });
  return { pixels: Uint32Array.from(codes, (code) => bits[Math.min(code, names.length)]), hues, legend };
}

/** Give each topic, the largest first, the colour that is farthest from its next use. */
function spread(outlines, hues) {
  const used = CATEGORIES.map(() => []);
  for (const { code, x, y } of outlines) {
    const room = used.map((places) => places.reduce((least, [px, py]) => Math.min(least, (px - x) ** 2 + (py - y) ** 2), Infinity));
    const at = room.indexOf(Math.max(...room));
    used[at].push([x, y]);
    hues[code] = CATEGORIES[at];
  }
}

/** True where the page is dark. */
export const isDark = () => getComputedStyle(document.body).backgroundColor.match(/\d+/g).slice(0, 3).every((each) => each < 128);

/** From old to new, by the part of the ramp that stands out from the ground. */
function byAge({ n, column: { created } }, [low, high]) {
  let [first, last] = [Infinity, -Infinity];
  for (const us of created) if (isDated(us)) [first, last] = [Math.min(first, us), Math.max(last, us)];
  const ramp = Uint32Array.from({ length: 64 }, (_, i) => pixel(mix(low + (high - low) * i / 63)));
  const none = pixel(NONE);
  const pixels = Uint32Array.from({ length: n }, (_, i) => isDated(created[i])
    ? ramp[Math.round(63 * (created[i] - first) / Math.max(last - first, DAY))] : none);
  return { pixels, hues: [], legend: [], ages: first <= last ? { first, last, steps: Array.from({ length: 24 }, (_, i) => mix(low + (high - low) * i / 23)) } : null };
}

function mix(share) {
  const at = Math.min(Math.floor(share * (AGES.length - 1)), AGES.length - 2);
  const part = share * (AGES.length - 1) - at;
  const [a, b] = [AGES[at], AGES[at + 1]].map((hex) => parseInt(hex.slice(1), 16));
  const channel = (shift) => Math.round((a >> shift & 255) * (1 - part) + (b >> shift & 255) * part);
  return `#${[16, 8, 0].map((shift) => channel(shift).toString(16).padStart(2, "0")).join("")}`;
}
