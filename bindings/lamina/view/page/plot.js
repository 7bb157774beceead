// The picture of the map: points written as pixels into one image, hulls below them, names above, and what hands do on it.

import { h } from "/static/dom.js";
import { NONE as GREY } from "/static/palette.js";

const NEAR = 9;
const LONGEST_NAME = 34;
const RING = 6; // the ring of the keyboard: this part of the shorter side

/** Place names, the first ones first, so that none lies on another: at the middle, else above or below the hull. */
export function place(names, width, height, size) {
  const taken = [];
  for (const each of names) {
    const half = each.width / 2 + 3;
    for (const y of [each.y, each.top - size, each.bottom + size]) {
      const box = [each.x - half, y - size * 0.75, each.x + half, y + size * 0.75];
      if (box[0] < 0 || box[1] < 0 || box[2] > width || box[3] > height) continue;
      if (taken.some(({ box: other }) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) continue;
      taken.push({ ...each, y, box });
      break;
    }
  }
  return taken;
}

/** Rows of a disc: [dy, from dx, to dx]. */
function disc(size) {
  const radius = size / 2;
  return Array.from({ length: size }, (_, dy) => {
    const half = Math.sqrt(Math.max(radius ** 2 - (dy + 0.5 - radius) ** 2, 0.5));
    return [dy, Math.round(radius - half), Math.round(radius + half)];
  });
}

export class Plot {
  constructor(points, { pick, choose, tip }) {
    this.points = points;
    this.on = { pick, choose, tip };
    this.shown = new Uint8Array(points.n).fill(1);
    this.chosen = null;
    this.outlines = [];
    this.selecting = false;
    this.view = null;
    this.times = { drawing: [], frame: [] };
    this.canvas = h("canvas", {
      tabindex: 0, role: "application",
      "aria-label": "Map of all chunks. Arrow keys move, + and - zoom, 0 shows all, Enter lists the chunks in the ring, Escape clears the list. Topics are listed below.",
    });
    this.pen = this.canvas.getContext("2d");
    this.layer = document.createElement("canvas");
    this.tip = h("div", { class: "tip", hidden: true });
    this.element = h("div", { class: "map" }, this.canvas, this.tip);
    this.bounds = [points.column.x, points.column.y].map((axis) => axis.reduce(([low, high], v) => [Math.min(low, v), Math.max(high, v)], [Infinity, -Infinity]));
    this.listen();
  }

  /** Draw in these colours what is marked as shown; the outlines are of topics. */
  show(pixels, hues, outlines) {
    Object.assign(this, { pixels, hues, outlines });
    this.ask();
  }

  ask() {
    if (this.waiting || !this.view || !this.pixels) return;
    this.waiting = true;
    requestAnimationFrame((now) => this.paint(now));
  }

  fit() {
    const { width, height } = this.canvas;
    const [[left, right], [low, high]] = this.bounds;
    const scale = 0.9 * Math.min(width / Math.max(right - left, 1e-6), height / Math.max(high - low, 1e-6));
    this.whole = scale;
    this.view = { scale, x: width / 2 - scale * (left + right) / 2, y: height / 2 - scale * (low + high) / 2 };
    this.ask();
  }

  zoom(factor, cx = this.canvas.width / 2, cy = this.canvas.height / 2) {
    const { view } = this;
    const scale = Math.min(Math.max(view.scale * factor, this.whole / 4), this.whole * 4_000);
    view.x = cx - scale / view.scale * (cx - view.x);
    view.y = cy - scale / view.scale * (cy - view.y);
    view.scale = scale;
    this.ask();
  }

  /** Show a place of the map in the middle. */
  go({ x, y }) {
    const scale = Math.max(this.view.scale, 4 * this.whole);
    this.view = { scale, x: this.canvas.width / 2 - scale * x, y: this.canvas.height / 2 - scale * y };
    this.ask();
  }

  resize() {
    const { clientWidth, clientHeight } = this.element;
    if (!clientWidth) return;
    const [width, height] = [clientWidth, clientHeight].map((size) => Math.round(size * devicePixelRatio));
    if (width === this.canvas.width && height === this.canvas.height && this.view) return;
    const before = this.view && { ...this.view, width: this.canvas.width, height: this.canvas.height };
    for (const each of [this.canvas, this.layer]) [each.width, each.height] = [width, height];
    this.writer = this.layer.getContext("2d");
    this.image = this.writer.createImageData(width, height);
    if (!before) this.fit();
    else this.view = { ...this.view, x: before.x + (width - before.width) / 2, y: before.y + (height - before.height) / 2 };
    this.ask();
  }

  paint(now) {
    this.waiting = false;
    const begun = performance.now();
    const { pen, canvas: { width, height } } = this;
    const style = getComputedStyle(document.body);
    pen.clearRect(0, 0, width, height);
    this.drawHulls();
    this.writePoints();
    pen.drawImage(this.layer, 0, 0);
    const names = this.drawNames(style);
    this.drawHand(style);
    this.count(now, performance.now() - begun, names);
  }

  /** Points of one size: those of no value first, what was chosen last. */
  writePoints() {
    const { points: { n, column: { x: xs, y: ys } }, view, pixels, shown, chosen, image: { width, height } } = this;
    const buffer = new Uint32Array(this.image.data.buffer);
    buffer.fill(0);
    const least = n < 3_000 ? 5 : n < 20_000 ? 3 : 2;
    const size = Math.round(Math.min(least * Math.max(view.scale / this.whole, 1) ** 0.25, 9) * devicePixelRatio);
    const rows = disc(size).map(([dy, from, to]) => [dy * width + from, to - from]);
    const [right, bottom] = [width - size, height - size];
    const [left, top] = [view.x - size / 2, view.y - size / 2];
    const write = (i, colour) => {
      const x = left + view.scale * xs[i];
      const y = top + view.scale * ys[i];
      if (!(x >= 0 && y >= 0 && x < right && y < bottom)) return;
      const corner = (y | 0) * width + (x | 0);
      for (const [offset, length] of rows) {
        for (let at = corner + offset, end = at + length; at < end; at += 1) buffer[at] = colour;
      }
    };
    for (let i = 0; i < n; i += 1) {
      if (shown[i]) write(i, chosen ? (pixels[i] & 0xffffff | 0x40000000) >>> 0 : pixels[i]);
    }
    if (chosen) for (const i of chosen) write(i, pixels[i]);
    this.writer.putImageData(this.image, 0, 0);
  }

  drawHulls() {
    const { pen, view, hues } = this;
    const margin = 9 * devicePixelRatio;
    pen.lineJoin = "round";
    pen.lineWidth = devicePixelRatio;
    for (const { code, hull, size, x: cx, y: cy } of this.outlines) {
      if (size < 4 || hull.length < 3) continue;
      pen.beginPath();
      for (const [x, y] of hull) {
        const far = view.scale * Math.hypot(x - cx, y - cy) || 1;
        const grown = view.scale * (far + margin) / far;
        pen.lineTo(view.x + view.scale * cx + grown * (x - cx), view.y + view.scale * cy + grown * (y - cy));
      }
      pen.closePath();
      pen.fillStyle = `${hues[code] ?? GREY}1a`;
      pen.strokeStyle = `${hues[code] ?? GREY}80`;
      pen.fill();
      pen.stroke();
    }
  }

  drawNames(style) {
    const { pen, view, canvas: { width, height } } = this;
    const size = 13 * devicePixelRatio;
    pen.font = `600 ${size}px ${style.fontFamily}`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.lineWidth = 4 * devicePixelRatio;
    pen.strokeStyle = style.backgroundColor;
    pen.fillStyle = style.color;
    const names = this.outlines.slice(0, 400).map(({ name, x, y, hull }) => {
      const text = name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME - 1)}…` : name;
      const heights = hull.map((each) => view.y + view.scale * each[1]);
      return {
        text, x: view.x + view.scale * x, y: view.y + view.scale * y, width: this.measure(text, pen),
        top: Math.min(...heights), bottom: Math.max(...heights),
      };
    });
    const placed = place(names.filter((each) => each.x > 0 && each.x < width && each.y > 0 && each.y < height), width, height, size);
    for (const { text, x, y } of placed) {
      pen.strokeText(text, x, y);
      pen.fillText(text, x, y);
    }
    return placed;
  }

  measure(text, pen) {
    this.widths ??= new Map();
    const key = `${pen.font} ${text}`;
    if (!this.widths.has(key)) this.widths.set(key, pen.measureText(text).width);
    return this.widths.get(key);
  }

  /** The line of a selection, or the ring of the keyboard. */
  drawHand(style) {
    const { pen, view, canvas } = this;
    if (!this.lasso && !canvas.matches(":focus-visible")) return;
    pen.lineWidth = 1.5 * devicePixelRatio;
    pen.strokeStyle = style.getPropertyValue("--accent") || style.color;
    pen.beginPath();
    for (const [x, y] of this.lasso ?? this.ring()) pen.lineTo(view.x + view.scale * x, view.y + view.scale * y);
    if (!this.lasso) pen.closePath();
    pen.stroke();
  }

  ring() {
    const { view, canvas: { width, height } } = this;
    const radius = Math.min(width, height) / RING;
    return Array.from({ length: 48 }, (_, i) => this.world([
      width / 2 + radius * Math.cos(i * Math.PI / 24), height / 2 + radius * Math.sin(i * Math.PI / 24),
    ], view));
  }

  /** The counter: times of drawing, and between frames that follow each other; 95 of 100 took at most so many ms. */
  count(now, drawing, names) {
    const { times, canvas, view } = this;
    times.drawing.push(drawing);
    if (now - this.last < 100) times.frame.push(now - this.last);
    this.last = now;
    for (const [name, all] of Object.entries(times)) {
      if (all.length > 300) all.shift();
      if (all.length) canvas.dataset[name] = [...all].sort((a, b) => a - b)[Math.floor(0.95 * (all.length - 1))].toFixed(2);
    }
    canvas.dataset.drawn = Number(canvas.dataset.drawn ?? 0) + 1;
    canvas.dataset.view = [view.x, view.y, view.scale].map((each) => each / devicePixelRatio).join(" ");
    canvas.dataset.names = JSON.stringify(names.map(({ text, box }) => [text, ...box.map(Math.round)]));
  }

  world([cx, cy], view = this.view) {
    return [(cx - view.x) / view.scale, (cy - view.y) / view.scale];
  }

  spot(event) {
    const box = this.canvas.getBoundingClientRect();
    return [(event.clientX - box.left) * this.canvas.width / box.width, (event.clientY - box.top) * this.canvas.height / box.height];
  }

  /** The shown point nearest to a spot, or -1. */
  pick([cx, cy]) {
    const { points: { n, column: { x: xs, y: ys } }, shown, view } = this;
    const [x, y] = this.world([cx, cy]);
    let best = (NEAR * devicePixelRatio / view.scale) ** 2;
    let found = -1;
    for (let i = 0; i < n; i += 1) {
      const square = (xs[i] - x) ** 2 + (ys[i] - y) ** 2;
      if (square < best && shown[i]) [best, found] = [square, i];
    }
    return found;
  }

  listen() {
    const { canvas } = this;
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => {
      drag = { at: this.spot(event), moved: false };
      if (event.shiftKey || this.selecting) this.lasso = [this.world(drag.at)];
      canvas.setPointerCapture(event.pointerId);
      this.hideTip();
    });
    canvas.addEventListener("pointermove", (event) => {
      const [x, y] = this.spot(event);
      if (!drag) return this.point(event, this.pick([x, y]));
      const [fx, fy] = drag.at;
      drag.moved ||= Math.abs(x - fx) + Math.abs(y - fy) > 4;
      if (!drag.moved) return undefined;
      drag.at = [x, y];
      if (this.lasso) this.lasso.push(this.world([x, y]));
      else {
        this.view.x += x - fx;
        this.view.y += y - fy;
      }
      return this.ask();
    });
    canvas.addEventListener("pointerup", (event) => {
      const { lasso } = this;
      const clicked = drag && !drag.moved;
      drag = this.lasso = null;
      const found = clicked ? this.pick(this.spot(event)) : -1;
      if (found >= 0) this.on.pick(found);
      else if (lasso?.length > 2) this.on.choose(lasso);
      this.ask();
    });
    canvas.addEventListener("pointercancel", () => { drag = this.lasso = null; });
    canvas.addEventListener("pointerleave", () => this.hideTip());
    for (const name of ["focus", "blur"]) canvas.addEventListener(name, () => this.ask());
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 400), ...this.spot(event));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const by = canvas.width / 12;
      const { view } = this;
      const action = {
        ArrowLeft: () => { view.x += by; }, ArrowRight: () => { view.x -= by; }, ArrowUp: () => { view.y += by; },
        ArrowDown: () => { view.y -= by; }, "+": () => this.zoom(1.4), "-": () => this.zoom(1 / 1.4), 0: () => this.fit(),
        Enter: () => this.on.choose(this.ring()), Escape: this.chosen ? () => this.on.choose(null) : undefined,
      }[event.key];
      if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      event.stopPropagation();
      action();
      this.ask();
    });
  }

  async point(event, found) {
    this.hovered = found;
    const content = found < 0 ? null : await this.on.tip(found);
    if (this.hovered !== found) return;
    this.tip.hidden = found < 0;
    if (found < 0) return;
    this.tip.replaceChildren(...content);
    const { clientWidth, clientHeight } = this.element;
    this.tip.style.left = `${Math.max(0, Math.min(event.offsetX + 12, clientWidth - 290))}px`;
    this.tip.style.top = `${Math.min(event.offsetY + 12, clientHeight - 60)}px`;
  }

  hideTip() {
    this.hovered = -1;
    this.tip.hidden = true;
  }
}
