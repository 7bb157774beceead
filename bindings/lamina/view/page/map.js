// Map: every chunk a point by meaning, written as pixels into one image.

import { ask, askBytes } from "/static/api.js";
import { count, h } from "/static/dom.js";
import { choice, emptiness, missing } from "/static/parts.js";
import { change } from "/static/state.js";

const PALETTE = [[0, 114, 178], [230, 159, 0], [0, 158, 115], [204, 121, 167], [213, 94, 0], [86, 180, 233], [138, 141, 0]];
const NONE = [140, 144, 148];
const FIELDS = ["topic", "type", "project", "age"];
const NEAR = 9;
const BLOCK = 500;

export default {
  name: "map",
  title: "Map",
  key: (params) => `map ${params.colour ?? ""}`,
  controls: (params) => [choice("Colour by", "colour", FIELDS.slice(1), params, "topic")],

  async render(params, overview, signal) {
    const nothing = emptiness(overview);
    if (nothing) return nothing;
    const points = read(await askBytes("/api/points", {}, signal));
    if (!points.n) return missing("No map", "This vault has no vectors to lay out. This brings them:", "lamina reindex --embedder wordllama");
    return draw(points, params, signal);
  },
};

/** The columns of the binary answer. */
function read(bytes) {
  const length = new DataView(bytes).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, length)));
  const kinds = { "<f4": Float32Array, "<i8": BigInt64Array, "<u2": Uint16Array };
  let at = 4 + length;
  for (const [name, kind] of header.columns) {
    const column = new kinds[kind](bytes, at, header.n);
    at += Math.ceil(column.byteLength / 8) * 8;
    header[`${name}s`] = column;
  }
  return header;
}

/** Colours of the points, one of the palette for each of the commonest values, and the legend. */
function colours(points, field) {
  if (field === "age") {
    const days = Array.from(points.createds, (us) => Number(us / 86_400_000_000n));
    const dated = days.filter((each) => each > -100_000);
    const [first, last] = [dated.reduce((a, b) => Math.min(a, b), Infinity), dated.reduce((a, b) => Math.max(a, b), -Infinity)];
    return {
      of: (i) => {
        if (days[i] < -100_000) return NONE;
        const t = (days[i] - first) / Math.max(last - first, 1);
        return [Math.round(60 + 170 * t), Math.round(90 + 69 * t), Math.round(160 * (1 - t))];
      },
      legend: [],
    };
  }
  const codes = points[`${field}s`];
  const names = points[field].map((each) => each.name ?? each);
  const sizes = new Array(names.length).fill(0);
  for (const code of codes) if (code < names.length) sizes[code] += 1;
  const order = names.map((_, i) => i).sort((a, b) => sizes[b] - sizes[a] || a - b);
  const place = new Map(order.map((code, i) => [code, PALETTE[i % PALETTE.length]]));
  return { of: (i) => place.get(codes[i]) ?? NONE, legend: order.map((code) => ({ code, name: names[code], size: sizes[code] })) };
}

/** The middle of each topic: the median of its points. */
function middles(points, groups) {
  const members = new Map(groups.map(({ code }) => [code, []]));
  points.topics.forEach((code, i) => members.get(code)?.push(i));
  const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
  return groups.map((group) => {
    const rows = members.get(group.code);
    return { ...group, x: median(rows.map((i) => points.xs[i])), y: median(rows.map((i) => points.ys[i])) };
  });
}

function draw(points, params, signal) {
  const { n, xs, ys } = points;
  const recordeds = Float64Array.from(points.recordeds, Number); // big integers compare ten times as slowly
  const groups = colours(points, "topic").legend;
  const names = middles(points, groups);
  const { of, legend } = colours(points, params.colour || "topic");
  const pixels = Uint32Array.from({ length: n }, (_, i) => {
    const [r, g, b] = of(i);
    return (255 << 24 | b << 16 | g << 8 | r) >>> 0;
  });
  const bounds = [xs, ys].map((axis) => axis.reduce(([low, high], v) => [Math.min(low, v), Math.max(high, v)], [Infinity, -Infinity]));
  const moments = recordeds.slice().sort();
  const canvas = h("canvas", { tabindex: 0, role: "application", "aria-label": "Map of all chunks. Arrow keys move, + and - zoom, 0 shows all; the topics are listed below." });
  const labels = h("canvas", { "aria-hidden": "true" });
  const tip = h("div", { class: "tip", hidden: true });
  const place = h("div", { class: "map" }, canvas, labels, tip);
  const pen = canvas.getContext("2d", { alpha: true });
  const writer = labels.getContext("2d");
  const view = { x: 0, y: 0, scale: 1 };
  const times = [];
  let shown = n ? moments[n - 1] : 0;
  let waiting = false;
  let image = null;
  let fitted = false;

  function fit() {
    view.scale = 0.92 * Math.min(...[canvas.width, canvas.height].map((size, axis) => size / Math.max(bounds[axis][1] - bounds[axis][0], 1e-6)));
    view.x = canvas.width / 2 - view.scale * (bounds[0][0] + bounds[0][1]) / 2;
    view.y = canvas.height / 2 - view.scale * (bounds[1][0] + bounds[1][1]) / 2;
    fitted = true;
    ask_frame();
  }

  function ask_frame() {
    if (!waiting && fitted) {
      waiting = true;
      requestAnimationFrame(paint);
    }
  }

  function paint() {
    waiting = false;
    const begun = performance.now();
    const { width, height } = canvas;
    if (image?.width !== width || image?.height !== height) image = pen.createImageData(width, height);
    const buffer = new Uint32Array(image.data.buffer);
    buffer.fill(0);
    const size = Math.max(n < 20_000 ? 3 : 2, Math.round((n < 20_000 ? 3 : 2) * devicePixelRatio));
    for (let i = 0; i < n; i += 1) {
      if (recordeds[i] > shown) continue;
      const x = (view.x + view.scale * xs[i]) | 0;
      const y = (view.y + view.scale * ys[i]) | 0;
      if (x < 0 || y < 0 || x >= width - size || y >= height - size) continue;
      const colour = pixels[i];
      for (let row = y * width + x, end = row + size * width; row < end; row += width) {
        for (let at = row; at < row + size; at += 1) buffer[at] = colour;
      }
    }
    pen.putImageData(image, 0, 0);
    write();
    times.push(performance.now() - begun);
    if (times.length > 120) times.shift();
    canvas.dataset.drawn = times.length;
    canvas.dataset.slowest = [...times].sort((a, b) => a - b)[Math.floor(0.95 * (times.length - 1))].toFixed(2);
  }

  /** Names of topics, the largest first; one that would lie on another is left out. */
  function write() {
    const style = getComputedStyle(document.body);
    const step = 13 * devicePixelRatio;
    writer.clearRect(0, 0, labels.width, labels.height);
    writer.font = `500 ${step}px ${style.fontFamily}`;
    writer.textAlign = "center";
    writer.lineWidth = 4 * devicePixelRatio;
    writer.strokeStyle = style.backgroundColor;
    writer.fillStyle = style.color;
    const taken = [];
    for (const { name, x, y } of names) {
      const text = name.length > 34 ? `${name.slice(0, 33)}…` : name;
      const half = writer.measureText(text).width / 2 + 6;
      const [cx, cy] = [view.x + view.scale * x, view.y + view.scale * y];
      if (cx - half < 0 || cx + half > labels.width || cy < step || cy > labels.height) continue;
      if (taken.some(([tx, ty, th]) => Math.abs(tx - cx) < th + half + step && Math.abs(ty - cy) < 2.4 * step)) continue;
      taken.push([cx, cy, half]);
      writer.strokeText(text, cx, cy);
      writer.fillText(text, cx, cy);
    }
  }

  function zoom(factor, cx = canvas.width / 2, cy = canvas.height / 2) {
    view.x = cx - factor * (cx - view.x);
    view.y = cy - factor * (cy - view.y);
    view.scale *= factor;
    ask_frame();
  }

  const spot = (event) => {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left) * canvas.width / box.width, (event.clientY - box.top) * canvas.height / box.height];
  };

  /** The point nearest to a place on the canvas, or -1. */
  function pick(cx, cy) {
    let best = (NEAR * devicePixelRatio) ** 2;
    let found = -1;
    for (let i = 0; i < n; i += 1) {
      if (recordeds[i] > shown) continue;
      const dx = view.x + view.scale * xs[i] - cx;
      const dy = view.y + view.scale * ys[i] - cy;
      if (dx * dx + dy * dy < best) [best, found] = [dx * dx + dy * dy, i];
    }
    return found;
  }

  const blocks = new Map();
  const name_of = async (i) => {
    const block = Math.floor(i / BLOCK);
    if (!blocks.has(block)) blocks.set(block, ask("/api/ids", { from: block * BLOCK, n: BLOCK }));
    const { ids, titles } = await blocks.get(block);
    return { id: ids[i % BLOCK], title: titles[i % BLOCK] };
  };

  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    drag = { at: spot(event), moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", async (event) => {
    const [x, y] = spot(event);
    if (drag) {
      const [fx, fy] = drag.at;
      drag.moved ||= Math.abs(x - fx) + Math.abs(y - fy) > 4;
      if (drag.moved) {
        view.x += x - fx;
        view.y += y - fy;
        drag.at = [x, y];
        ask_frame();
      }
      return;
    }
    const found = pick(x, y);
    tip.hidden = found < 0;
    if (found < 0) return;
    const { title, id } = await name_of(found);
    const topic = points.topic[points.topics[found]];
    tip.replaceChildren(title || id, topic ? h("div", { class: "meta" }, topic.name) : "");
    tip.style.left = `${Math.min(event.offsetX + 12, place.clientWidth - 200)}px`;
    tip.style.top = `${event.offsetY + 12}px`;
  });
  canvas.addEventListener("pointerup", async (event) => {
    const clicked = drag && !drag.moved;
    drag = null;
    const found = clicked ? pick(...spot(event)) : -1;
    if (found >= 0) change({ chunk: (await name_of(found)).id });
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 400), ...spot(event));
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const by = canvas.width / 12;
    const action = {
      ArrowLeft: () => { view.x += by; }, ArrowRight: () => { view.x -= by; }, ArrowUp: () => { view.y += by; },
      ArrowDown: () => { view.y -= by; }, "+": () => zoom(1.4), "-": () => zoom(1 / 1.4), 0: fit,
    }[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
    ask_frame();
  });

  const date = (us) => new Date(us / 1000).toISOString().slice(0, 10);
  const said = h("output", { class: "small" });
  const slider = h("input", { type: "range", min: 1, max: n, value: n, "aria-label": "Recorded by" });
  const tell = () => {
    shown = moments[Number(slider.value) - 1];
    const known = Number(slider.value);
    said.textContent = known === n ? `${count(n, "chunk")}, all` : `${count(known, "chunk")} recorded by ${date(shown)}`;
    ask_frame();
  };
  slider.addEventListener("input", tell);
  tell();

  const sized = new ResizeObserver(() => {
    for (const each of [canvas, labels]) {
      each.width = Math.round(place.clientWidth * devicePixelRatio);
      each.height = Math.round(place.clientHeight * devicePixelRatio);
    }
    if (fitted) ask_frame();
    else fit();
  });
  sized.observe(place);
  signal.addEventListener("abort", () => sized.disconnect());

  const to_topic = ({ x, y }) => {
    view.scale = 4 * Math.min(canvas.width / (bounds[0][1] - bounds[0][0]), canvas.height / (bounds[1][1] - bounds[1][0]));
    view.x = canvas.width / 2 - view.scale * x;
    view.y = canvas.height / 2 - view.scale * y;
    place.scrollIntoView({ block: "nearest" });
    ask_frame();
  };
  return [
    h("h2", {}, "Map"),
    h("p", { class: "note" }, "Near points mean alike. Drag moves, the wheel zooms, a click opens a chunk."),
    place,
    h("label", { class: "time" }, slider, said),
    params.colour && legend.length ? h("p", { class: "note" }, legend.slice(0, 7).map(({ name, size }) => `${name} ${size}`).join(" · ")) : "",
    names.length
      ? [h("h3", {}, "Topics"), h("ul", { class: "list topics" }, names.map((each) => h("li", {}, h("button", {
        type: "button", class: "plain", onclick: () => to_topic(each),
      }, each.name), " ", h("small", {}, each.size.toLocaleString("en")))))]
      : h("p", { class: "note" }, "No topics yet. ", h("code", {}, "lamina cluster"), " finds and names them."),
  ];
}
