// Points of the map: the columns of the binary answer, and which of them are shown.

const KINDS = { "<f4": Float32Array, "<i8": BigInt64Array, "<u2": Uint16Array };
const CORE = 0.75;
const FILTERS = ["type", "project", "collection", "freshness"];
const UNDATED = -8e18; // a date that is missing
export const NOW = 8e18; // later than any moment that something was recorded in or went

/** Read the columns; moments become numbers of microseconds, as big integers compare ten times as slowly. */
export function read(bytes) {
  const length = new DataView(bytes).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, length)));
  const column = {};
  let at = 4 + length;
  for (const [name, kind] of header.columns) {
    const values = new KINDS[kind](bytes, at, header.n);
    column[name] = kind === "<i8" ? Float64Array.from(values, Number) : values;
    at += Math.ceil(values.byteLength / 8) * 8;
  }
  return { n: header.n, snapshot: header.snapshot, values: header, column };
}

export const isDated = (us) => us > UNDATED;

/** The last moment of each second in which something was recorded or went, ascending. */
export function moments({ column: { recorded, gone } }) {
  const seconds = new Set();
  for (const each of [recorded, gone]) for (const us of each) if (us < NOW) seconds.add(Math.floor(us / 1e6));
  return [...seconds].sort((a, b) => a - b).map((second) => second * 1e6 + 999_999);
}

/** Mark what is known at a moment, or was known before and is gone, and passes the filters. */
export function match({ n, values, column }, { moment = NOW, status = "", since = -Infinity, until = Infinity, ...filters }, out) {
  const { recorded, gone, created } = column;
  const wanted = FILTERS.filter((name) => filters[name]).map((name) => [column[name], values[name].indexOf(filters[name])]);
  const dated = since > -Infinity || until < Infinity;
  const [active, former] = [status !== "gone", status !== ""];
  let count = 0;
  for (let i = 0; i < n; i += 1) {
    const shown = recorded[i] <= moment && (gone[i] > moment ? active : former)
      && (!dated || (created[i] >= since && created[i] < until)) && wanted.every(([codes, code]) => codes[i] === code);
    out[i] = shown ? 1 : 0;
    count += out[i];
  }
  return count;
}

/** Positions of shown points inside a polygon of [x, y]. */
export function within({ n, column: { x, y } }, shown, polygon) {
  const found = [];
  for (let i = 0; i < n; i += 1) {
    if (!shown[i]) continue;
    let inside = false;
    for (let a = 0, b = polygon.length - 1; a < polygon.length; b = a, a += 1) {
      const [ax, ay] = polygon[a];
      const [bx, by] = polygon[b];
      if (ay > y[i] !== by > y[i] && x[i] < (bx - ax) * (y[i] - ay) / (by - ay) + ax) inside = !inside;
    }
    if (inside) found.push(i);
  }
  return found;
}

/** The middle of each topic and the hull of most of its shown points, those nearest to it; largest topic first. */
export function outline({ n, values, column: { x, y, topic } }, shown) {
  const members = values.topic.map(() => []);
  for (let i = 0; i < n; i += 1) if (shown[i] && topic[i] < members.length) members[topic[i]].push(i);
  const found = members.map((rows, code) => {
    if (!rows.length) return null;
    const some = rows.filter((_, i) => i % Math.ceil(rows.length / 400) === 0);
    const [cx, cy] = [x, y].map((axis) => some.map((i) => axis[i]).sort((a, b) => a - b)[some.length >> 1]);
    const far = (i) => (x[i] - cx) ** 2 + (y[i] - cy) ** 2;
    const radius = some.map(far).sort((a, b) => a - b)[Math.floor(CORE * (some.length - 1))];
    return { code, name: values.topic[code].name, size: rows.length, x: cx, y: cy, hull: wrap(rows.filter((i) => far(i) <= radius), x, y) };
  });
  return found.filter(Boolean).sort((a, b) => b.size - a.size || a.code - b.code);
}

/** The farthest points in 24 directions, around. */
function wrap(rows, x, y) {
  const hull = [];
  for (let step = 0; step < 24; step += 1) {
    const [dx, dy] = [Math.cos(step * Math.PI / 12), Math.sin(step * Math.PI / 12)];
    let best = -Infinity;
    let found = -1;
    for (const i of rows) {
      const far = dx * x[i] + dy * y[i];
      if (far > best) [best, found] = [far, i];
    }
    if (found >= 0 && hull.at(-1) !== found && hull[0] !== found) hull.push(found);
  }
  return hull.map((i) => [x[i], y[i]]);
}

const MOST_CORNERS = 32;

/** A polygon as text, of few corners, for the address. */
export function writeArea(polygon) {
  const step = Math.ceil(polygon.length / MOST_CORNERS);
  return polygon.filter((_, i) => i % step === 0).map((corner) => corner.map((v) => Number(v.toPrecision(6))).join(",")).join(";");
}

/** The polygon of an address; null where there is none. */
export function readArea(text) {
  const polygon = (text ?? "").split(";").map((corner) => corner.split(",").map(Number));
  return polygon.length > 2 && polygon.every((corner) => corner.length === 2 && corner.every(Number.isFinite)) ? polygon : null;
}
