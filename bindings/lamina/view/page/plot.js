// The picture of the map: points written as pixels into one image, hulls below them, names above, and what hands choose on it.

import { NONE as GREY } from "/static/palette.js";
import { makePlane } from "/static/plane.js";

const LABEL = "Map of all chunks. Arrow keys move, + and - zoom, 0 shows all, Enter lists the chunks in the ring, Escape clears the list. Topics are listed below.";
const NEAR = 9;
const LONGEST_NAME = 34;
const NAME_ROOM = 24_000; // pixels of the map for each name: the largest topics in sight have one, others on coming near
const FEWEST_NAMES = 8;
const HULL_ROOM = 6_000; // and for each hull
const SMALLEST_HULL = 4; // chunks
const FAR_AWAY = 1_000; // one point in so many may lie outside of what is shown first,
const APART = 0.1; // farther off than this part of where the others lie
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

/** From where to where points lie; the few that lie far from all others do not make the rest small. */
function range(axis) {
  const sorted = axis.slice().sort();
  const few = Math.floor(sorted.length / FAR_AWAY);
  const [low, high] = [sorted[few], sorted[sorted.length - 1 - few]];
  const near = (high - low) * APART;
  return [Math.max(sorted[0], low - near), Math.min(sorted[sorted.length - 1], high + near)];
}

export class Plot {
  /** What hands do: `click` and `tell` are given a point by number, `choose` a polygon, or null. */
  constructor(points, { click, tell, choose }, signal) {
    Object.assign(this, { points, choose, shown: new Uint8Array(points.n).fill(1), chosen: null, outlines: [], selecting: false, lasso: null });
    const [[left, right], [top, bottom]] = [range(points.column.x), range(points.column.y)];
    this.layer = document.createElement("canvas");
    this.plane = makePlane("map", LABEL, {
      paint: (pen, view) => this.paint(pen, view), bounds: () => [left, top, right, bottom], pick: (x, y) => this.pick(x, y),
      click: (i) => { if (i >= 0) click(i); }, tell,
      grab: (_, x, y, event) => { if (event.shiftKey || this.selecting) this.lasso = [[x, y]]; return this.lasso; },
      drag: (lasso, x, y) => { lasso.push([x, y]); this.plane.draw(); },
      drop: (lasso, done) => { this.lasso = null; if (done && lasso.length > 2) choose(lasso); },
      keys: () => ({ Enter: () => choose(this.ring()), ...(this.chosen ? { Escape: () => choose(null) } : {}) }),
    }, signal);
    Object.assign(this, { element: this.plane.element, canvas: this.plane.canvas });
  }

  /** Draw in these colours what is marked as shown; the outlines are of topics. */
  show(pixels, hues, outlines) {
    Object.assign(this, { pixels, hues, outlines });
    this.plane.draw();
  }

  paint(pen, view) {
    const { layer, canvas: { width, height } } = this;
    if (!this.pixels) return;
    if (layer.width !== width || layer.height !== height || !this.image) {
      [layer.width, layer.height] = [width, height];
      this.writer = layer.getContext("2d");
      this.image = this.writer.createImageData(width, height);
    }
    const style = getComputedStyle(this.canvas);
    this.drawHulls(pen, view);
    this.writePoints(view);
    pen.drawImage(layer, 0, 0);
    this.drawNames(pen, view, style);
    this.drawHand(pen, view, style);
  }

  /** Points of one size: those of no value first, what was chosen last. */
  writePoints(view) {
    const { points: { n, column: { x: xs, y: ys } }, pixels, shown, chosen, image: { width, height } } = this;
    const buffer = new Uint32Array(this.image.data.buffer);
    buffer.fill(0);
    const least = n < 3_000 ? 5 : n < 20_000 ? 3 : 2;
    const size = Math.round(Math.min(least * Math.max(view.scale / view.whole, 1) ** 0.25, 9) * devicePixelRatio);
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

  /** The largest topics whose hull is in sight, one for so many pixels. */
  seen(view, room) {
    const { width, height } = this.canvas;
    const within = (axis, from, most) => (hull) => {
      const places = hull.map((corner) => from + view.scale * corner[axis]);
      return Math.max(...places) > 0 && Math.min(...places) < most;
    };
    const [across, down] = [within(0, view.x, width), within(1, view.y, height)];
    const most = width * height / (room * devicePixelRatio ** 2);
    return this.outlines.filter(({ hull, size }) => size >= SMALLEST_HULL && hull.length > 2 && across(hull) && down(hull)).slice(0, most);
  }

  drawHulls(pen, view) {
    const { hues } = this;
    const margin = 9 * devicePixelRatio;
    pen.lineJoin = "round";
    pen.lineWidth = devicePixelRatio;
    for (const { code, hull, x: cx, y: cy } of this.seen(view, HULL_ROOM)) {
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

  drawNames(pen, view, style) {
    const { width, height } = this.canvas;
    const size = 13 * devicePixelRatio;
    pen.font = `600 ${size}px ${style.fontFamily}`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.lineWidth = 4 * devicePixelRatio;
    pen.strokeStyle = style.backgroundColor;
    pen.fillStyle = style.color;
    const inside = this.outlines.map((each) => ({ ...each, x: view.x + view.scale * each.x, y: view.y + view.scale * each.y }))
      .filter(({ x, y }) => x > 0 && x < width && y > 0 && y < height).slice(0, Math.max(width * height / (NAME_ROOM * devicePixelRatio ** 2), FEWEST_NAMES));
    const names = inside.map(({ name, x, y, hull }) => {
      const text = name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME - 1)}…` : name;
      const heights = hull.map((each) => view.y + view.scale * each[1]);
      return { text, x, y, width: this.measure(text, pen), top: Math.min(...heights), bottom: Math.max(...heights) };
    });
    const placed = place(names, width, height, size);
    for (const { text, x, y } of placed) {
      pen.strokeText(text, x, y);
      pen.fillText(text, x, y);
    }
    this.canvas.dataset.names = JSON.stringify(placed.map(({ text, box }) => [text, ...box.map(Math.round)]));
  }

  measure(text, pen) {
    this.widths ??= new Map();
    const key = `${pen.font} ${text}`;
    if (!this.widths.has(key)) this.widths.set(key, pen.measureText(text).width);
    return this.widths.get(key);
  }

  /** The line of a selection, or the ring of the keyboard. */
  drawHand(pen, view, style) {
    if (!this.lasso && !this.canvas.matches(":focus-visible")) return;
    pen.lineWidth = 1.5 * devicePixelRatio;
    pen.strokeStyle = style.getPropertyValue("--accent") || style.color;
    pen.beginPath();
    for (const [x, y] of this.lasso ?? this.ring()) pen.lineTo(view.x + view.scale * x, view.y + view.scale * y);
    if (!this.lasso) pen.closePath();
    pen.stroke();
  }

  ring() {
    const { width, height } = this.canvas;
    const radius = Math.min(width, height) / RING;
    return Array.from({ length: 24 }, (_, i) => this.plane.place([
      width / 2 + radius * Math.cos(i * Math.PI / 12), height / 2 + radius * Math.sin(i * Math.PI / 12),
    ]));
  }

  /** The shown point nearest to a place, or -1: a look at each, which takes less of a frame than keeping a grid of what is shown. */
  pick(x, y) {
    const { points: { n, column: { x: xs, y: ys } }, shown, plane: { view } } = this;
    let best = (NEAR * devicePixelRatio / view.scale) ** 2;
    let found = -1;
    for (let i = 0; i < n; i += 1) {
      const square = (xs[i] - x) ** 2 + (ys[i] - y) ** 2;
      if (square < best && shown[i]) [best, found] = [square, i];
    }
    return found;
  }
}
