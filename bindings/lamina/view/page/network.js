// A drawn graph: nodes that a worker lays out, with what is chosen, found or hidden.

import { shown } from "/static/dom.js";
import { kept } from "/static/kept.js";
import { makePlane } from "/static/plane.js";

const LABEL = "Graph. Arrow keys move, + and - zoom, 0 shows all; its nodes are listed below.";
const LABELS = 160;
const NEAR = 8;
const LARGEST = 1.6; // so near a small graph is shown

/** Cut a name as the labels have it. */
export const short = (text) => (Array.from(text).length > 16 ? `${Array.from(text).slice(0, 14).join("")}…` : text);

const LAYOUT = "/static/layout.js";
let policy = null; // it can be made once

/** The layout's worker: a file of the server, or a part of the page that is a file. */
function makeWorker() {
  if (kept) return new Worker(URL.createObjectURL(new Blob([kept.worker], { type: "text/javascript" })));
  if (!window.trustedTypes) return new Worker(LAYOUT, { type: "module" });
  policy ??= trustedTypes.createPolicy("lamina", { createScriptURL: () => LAYOUT });
  return new Worker(policy.createScriptURL(LAYOUT), { type: "module" });
}

/**
 * Draw `nodes` ({id, label, category, degree}) and `edges` ({source, target, label}, by number). `looks` gives the colour of each node, and whether it
 * is a ring. `state()` gives what is `chosen` (a number or -1), and what is `hidden`, `dimmed` and `gone` (functions of nodes, nodes and edges); `onchoose(i)`
 * is told of clicks, `tell(i)` says what a node is. Times since `begun` stand on the canvas.
 */
export function drawNetwork({ nodes, edges, looks, state, onchoose, tell, begun }, signal) {
  const places = new Float32Array(2 * nodes.length);
  const radii = Float32Array.from(nodes, ({ degree }) => Math.min(5 + 1.5 * degree, 18));
  const order = nodes.map((_, i) => i).sort((a, b) => nodes[b].degree - nodes[a].degree || a - b);
  const labels = nodes.map(({ label }) => shown(short(label)));
  let laid = false;
  let rest = false;

  const plane = makePlane("net", LABEL, {
    paint, pick, tell, click: onchoose, largest: LARGEST,
    bounds: () => nodes.reduce(([left, top, right, bottom], _, i) => [
      Math.min(left, places[2 * i]), Math.min(top, places[2 * i + 1]), Math.max(right, places[2 * i]), Math.max(bottom, places[2 * i + 1]),
    ], nodes.length ? [Infinity, Infinity, -Infinity, -Infinity] : [0, 0, 1, 1]),
    grab: (i) => (i < 0 ? null : { i }),
    drag: ({ i }, x, y) => {
      [places[2 * i], places[2 * i + 1]] = [x, y];
      worker.postMessage({ kind: "hold", index: i, x, y });
      plane.take();
    },
  }, signal);
  const { canvas } = plane;

  /** The node at a place, the last drawn first; -1 without one. */
  function pick(x, y) {
    const { hidden } = state();
    for (let at = 0; at < order.length; at += 1) {
      const i = order[at];
      if (Math.hypot(places[2 * i] - x, places[2 * i + 1] - y) <= Math.max(radii[i], NEAR / plane.view.scale) && !hidden(i)) return i;
    }
    return -1;
  }

  function paint(pen, view) {
    if (!laid) return;
    const { chosen, hidden, dimmed, gone } = state();
    const style = getComputedStyle(canvas);
    const drawn = edges.filter((edge) => !gone(edge) && !hidden(edge.source) && !hidden(edge.target));
    const incident = drawn.filter(({ source, target }) => source === chosen || target === chosen);
    const near = chosen >= 0 ? new Set([chosen, ...incident.flatMap(({ source, target }) => [source, target])]) : null;
    const bright = (i) => (near ? near.has(i) : !dimmed(i));
    pen.setTransform(view.scale, 0, 0, view.scale, view.x, view.y);
    pen.strokeStyle = style.color;
    trace(pen, drawn, near ? 0.05 : 0.22, devicePixelRatio / view.scale);
    trace(pen, incident, 0.7, 2 * devicePixelRatio / view.scale);
    for (let at = order.length - 1; at >= 0; at -= 1) {
      const i = order[at];
      if (hidden(i)) continue;
      pen.globalAlpha = bright(i) ? 0.9 : 0.1;
      pen.beginPath();
      pen.arc(places[2 * i], places[2 * i + 1], radii[i], 0, 7);
      pen.fillStyle = looks[i].colour;
      pen.fill();
      if (looks[i].ring) {
        pen.beginPath();
        pen.arc(places[2 * i], places[2 * i + 1], 0.55 * radii[i], 0, 7);
        pen.fillStyle = style.backgroundColor;
        pen.fill();
      }
      if (i === chosen) {
        pen.beginPath();
        pen.arc(places[2 * i], places[2 * i + 1], radii[i], 0, 7);
        pen.strokeStyle = style.color;
        pen.lineWidth = 3 * devicePixelRatio / view.scale;
        pen.stroke();
      }
    }
    write(pen, view, style, { bright, hidden, incident });
  }

  function trace(pen, some, alpha, width) {
    pen.globalAlpha = alpha;
    pen.lineWidth = width;
    pen.beginPath();
    for (const { source, target } of some) {
      pen.moveTo(places[2 * source], places[2 * source + 1]);
      pen.lineTo(places[2 * target], places[2 * target + 1]);
    }
    pen.stroke();
  }

  /** Names of nodes, those of many links first, and of the chosen one's relations; one that would lie on another is left out. */
  function write(pen, view, style, { bright, hidden, incident }) {
    const size = 12 * devicePixelRatio;
    const taken = [];
    const put = (text, at, y, colour) => {
      const half = pen.measureText(text).width / 2 + 3;
      if (at < 0 || at > canvas.width || y < 0 || y > canvas.height) return;
      const x = Math.max(half, Math.min(at, canvas.width - half));
      if (taken.some(([tx, ty, th]) => Math.abs(tx - x) < th + half && Math.abs(ty - y) < 1.3 * size)) return;
      taken.push([x, y, half]);
      pen.strokeText(text, x, y);
      pen.fillStyle = colour;
      pen.fillText(text, x, y);
    };
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.globalAlpha = 1;
    pen.font = `500 ${size}px ${style.fontFamily}`;
    pen.textAlign = "center";
    pen.lineWidth = 3 * devicePixelRatio;
    pen.strokeStyle = style.backgroundColor;
    pen.lineJoin = "round";
    for (const i of order) {
      if (taken.length >= LABELS) break;
      if (!hidden(i) && bright(i)) put(labels[i], view.x + view.scale * places[2 * i], view.y + view.scale * (places[2 * i + 1] + radii[i]) + size, style.color);
    }
    pen.font = `${size}px ${style.fontFamily}`;
    for (const { source, target, label } of incident.slice(0, 60)) {
      put(shown(label), view.x + view.scale * (places[2 * source] + places[2 * target]) / 2, view.y + view.scale * (places[2 * source + 1] + places[2 * target + 1]) / 2, style.accentColor);
    }
  }

  const worker = makeWorker();
  signal.addEventListener("abort", () => worker.terminate());
  worker.onmessage = ({ data }) => {
    places.set(data.places);
    if (!laid) requestAnimationFrame(() => { canvas.dataset.shown = Math.round(performance.now() - begun); });
    laid = true;
    plane.draw();
    if (data.rest && !rest) {
      rest = true;
      canvas.dataset.rest = Math.round(performance.now() - begun);
    }
  };
  worker.onerror = () => { canvas.dataset.rest = "failed"; };
  worker.postMessage({ kind: "start", radii, sources: edges.map(({ source }) => source), targets: edges.map(({ target }) => target) });
  return { ...plane, centre: (i) => plane.centre(places[2 * i], places[2 * i + 1]) };
}
