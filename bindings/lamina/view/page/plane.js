// A plane on a canvas: moved and zoomed by mouse, fingers, keys and buttons, with a tip beside the pointer. Where one looks is part of the address.

import { h } from "/static/dom.js";
import { current, note } from "/static/state.js";

const STILL = 4; // pixels that a click may slip
const FILLED = 0.9; // the part of the canvas that everything fills
const LEAST = 1 / 4; // zooms, as shares of the one that shows everything
const MOST = 4_000;
const NOTED_MS = 250; // so long after the last move the address has it
const KEPT_TIMES = 300;

/**
 * Make a plane of a class, with a name. Its hands: `paint(pen, view)` draws it; `bounds()` gives [left, top, right, bottom] of what is on it;
 * `pick(x, y)` the number of what lies at a place, or -1; `click(i)` and `tell(i)`, the content of the tip, are of such a number. A press on what
 * `grab(i, x, y, event)` returns goes to `drag(grabbed, x, y)`, and `drop(grabbed, done)` ends it; any other press moves the plane. `keys` are
 * further ones by name. `largest` is the scale of a plane with little on it.
 */
export function makePlane(kind, label, { paint, bounds, pick, click, tell, grab, drag, drop, keys = () => ({}), largest = Infinity }, signal) {
  const canvas = h("canvas", { tabindex: 0, role: "application", "aria-label": label });
  const tip = h("div", { class: "tip", role: "tooltip", hidden: true });
  const buttons = h("div", { class: "zoom" }, [["Zoom in", "+", () => zoom(1.4)], ["Zoom out", "−", () => zoom(1 / 1.4)], ["Show all", "⤢", fit]]
    .map(([name, sign, action]) => h("button", { type: "button", "aria-label": name, title: name, onclick: action }, sign)));
  const element = h("div", { class: `plane ${kind}` }, canvas, buttons, tip);
  const view = { x: 0, y: 0, scale: 1, whole: 1, free: false };
  const pen = canvas.getContext("2d");
  const pointers = new Map();
  const times = { drawing: [], frame: [] };
  let wanted = null; // [x, y, zoom] of an address, until somebody moves the plane
  let noted = "";
  let held = null;
  let hovered = -1;
  let waiting = false;
  let last = 0;
  let timer = 0;

  function draw() {
    if (waiting || !canvas.width) return;
    waiting = true;
    requestAnimationFrame((now) => {
      waiting = false;
      const begun = performance.now();
      if (!view.free) settle();
      pen.setTransform(1, 0, 0, 1, 0, 0);
      pen.clearRect(0, 0, canvas.width, canvas.height);
      paint(pen, view);
      count(now, performance.now() - begun);
    });
  }

  /** Show everything, or what the address names, as long as nobody has moved the plane: what is on it may still move. */
  function settle() {
    const [left, top, right, bottom] = bounds();
    const scale = FILLED * Math.min(canvas.width / Math.max(right - left, 1e-6), canvas.height / Math.max(bottom - top, 1e-6));
    view.whole = Math.min(scale, largest * devicePixelRatio);
    const [x, y, by] = wanted ?? [(left + right) / 2, (top + bottom) / 2, 1];
    view.scale = view.whole * by;
    view.x = canvas.width / 2 - view.scale * x;
    view.y = canvas.height / 2 - view.scale * y;
  }

  /** The counter: times of drawing, and between frames that follow each other; 95 of 100 took at most so many ms. */
  function count(now, drawing) {
    times.drawing.push(drawing);
    if (now - last < 100) times.frame.push(now - last);
    last = now;
    for (const [name, all] of Object.entries(times)) {
      if (all.length > KEPT_TIMES) all.shift();
      if (all.length) canvas.dataset[name] = [...all].sort((a, b) => a - b)[Math.floor(0.95 * (all.length - 1))].toFixed(2);
    }
    canvas.dataset.drawn = Number(canvas.dataset.drawn ?? 0) + 1;
    canvas.dataset.view = [view.x, view.y, view.scale].map((each) => each / devicePixelRatio).join(" ");
  }

  /** Somebody moved the plane: from now on it stays where it is, and the address has that. */
  function take() {
    view.free = true;
    draw();
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (signal.aborted) return;
      const [x, y] = place([canvas.width / 2, canvas.height / 2]);
      noted = [x.toPrecision(6), y.toPrecision(6), (view.scale / view.whole).toPrecision(4)].map(Number).join(",");
      note({ at: noted });
    }, NOTED_MS);
  }

  /** Look where an address says: "x,y,zoom" with the middle of what is seen, or everything. True where that is elsewhere. */
  function look(at = "") {
    if (at === noted) return false;
    const numbers = at.split(",").map(Number);
    aim(at, numbers.length === 3 && numbers.every(Number.isFinite) && numbers[2] >= LEAST && numbers[2] <= MOST ? numbers : null);
    return true;
  }

  function aim(at, numbers) {
    [noted, wanted] = [at, numbers];
    view.free = false;
    clearTimeout(timer);
    draw();
  }

  function fit() {
    aim("", null);
    note({ at: "" });
  }

  function move(dx, dy) {
    view.x += dx;
    view.y += dy;
    take();
  }

  function zoom(factor, cx = canvas.width / 2, cy = canvas.height / 2) {
    const scale = Math.min(Math.max(view.scale * factor, view.whole * LEAST), view.whole * MOST);
    const by = scale / view.scale;
    view.scale = scale;
    move((1 - by) * (cx - view.x), (1 - by) * (cy - view.y));
  }

  /** Bring a place of the plane into the middle, at least so near. */
  function centre(x, y, nearness = 0) {
    view.scale = Math.max(view.scale, nearness * view.whole);
    move(canvas.width / 2 - view.scale * x - view.x, canvas.height / 2 - view.scale * y - view.y);
  }

  const spot = (event) => {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left) * canvas.width / box.width, (event.clientY - box.top) * canvas.height / box.height];
  };
  const place = ([x, y]) => [(x - view.x) / view.scale, (y - view.y) / view.scale];

  async function hover(i, event) {
    hovered = i;
    canvas.classList.toggle("over", i >= 0);
    const content = i < 0 ? null : await tell(i);
    if (hovered !== i) return;
    tip.hidden = i < 0;
    if (i < 0) return;
    tip.replaceChildren(...content);
    const { offsetWidth: width, offsetHeight: height } = tip;
    tip.style.left = `${Math.max(0, Math.min(event.offsetX + 14, element.clientWidth - width - 4))}px`;
    tip.style.top = `${Math.max(0, event.offsetY + 14 + height > element.clientHeight ? event.offsetY - height - 8 : event.offsetY + 14)}px`;
  }

  function press(event) {
    const at = spot(event);
    pointers.set(event.pointerId, at);
    canvas.setPointerCapture(event.pointerId);
    hover(-1);
    if (pointers.size > 1) {
      if (held?.grabbed) drop?.(held.grabbed, false);
      held = { moved: true, grabbed: null };
    } else {
      held = { at, moved: false, grabbed: grab?.(pick(...place(at)), ...place(at), event) ?? null };
    }
  }

  function slide(event) {
    const at = spot(event);
    const before = pointers.get(event.pointerId);
    if (!before) {
      hover(pick(...place(at)), event);
      return;
    }
    if (pointers.size > 1) { // the other finger stays on its place
      const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
      const apart = ([x, y]) => Math.hypot(x - other[0], y - other[1]) || 1;
      zoom(apart(at) / apart(before), ...other);
    } else {
      held.moved ||= Math.hypot(at[0] - held.at[0], at[1] - held.at[1]) > STILL * devicePixelRatio;
      if (!held.moved) return;
      if (held.grabbed) drag(held.grabbed, ...place(at));
      else move(at[0] - before[0], at[1] - before[1]);
    }
    pointers.set(event.pointerId, at);
  }

  function lift(event) {
    const known = pointers.delete(event.pointerId);
    if (!known || pointers.size || !held) return;
    const { moved, grabbed } = held;
    const done = event.type === "pointerup";
    held = null;
    if (grabbed) drop?.(grabbed, done && moved);
    if (done && !moved) click(pick(...place(spot(event))));
    draw();
  }

  canvas.addEventListener("pointerdown", press);
  canvas.addEventListener("pointermove", slide);
  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);
  canvas.addEventListener("pointerleave", () => hover(-1));
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 400), ...spot(event));
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const by = canvas.width / 12;
    const action = {
      ArrowLeft: () => move(by, 0), ArrowRight: () => move(-by, 0), ArrowUp: () => move(0, by), ArrowDown: () => move(0, -by),
      "+": () => zoom(1.4), "-": () => zoom(1 / 1.4), 0: fit, ...keys(),
    }[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  });
  for (const name of ["focus", "blur"]) canvas.addEventListener(name, draw);

  const sized = new ResizeObserver(() => {
    const { width, height } = canvas;
    canvas.width = Math.round(canvas.clientWidth * devicePixelRatio);
    canvas.height = Math.round(canvas.clientHeight * devicePixelRatio);
    if (view.free) [view.x, view.y] = [view.x + (canvas.width - width) / 2, view.y + (canvas.height - height) / 2];
    draw();
  });
  sized.observe(canvas);
  signal.addEventListener("abort", () => sized.disconnect());
  look(current().params.at);
  return { element, canvas, view, draw, look, centre, place, take };
}
