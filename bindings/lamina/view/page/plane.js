// A plane on a canvas: moved by dragging and arrow keys, zoomed by wheel, fingers and keys.

import { h } from "/static/dom.js";

const STILL = 4; // pixels that a click may slip

/**
 * Make a canvas a plane. `paint(pen, view)` draws it; `bounds()` gives [left, top, right, bottom] of what is on it. A press on what `grab(x, y)`
 * finds moves that by `drag(found, x, y)`, any other moves the plane; `click(x, y)` and `hover(x, y, event)` have places of the plane.
 */
export function makePlane(canvas, { paint, bounds, grab, drag, click, hover }, signal) {
  const view = { x: 0, y: 0, scale: 1, free: false };
  const pen = canvas.getContext("2d");
  const pointers = new Map();
  let held = null;
  let waiting = false;

  function draw() {
    if (waiting || !canvas.width) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      if (!view.free) fit();
      pen.setTransform(1, 0, 0, 1, 0, 0);
      pen.clearRect(0, 0, canvas.width, canvas.height);
      paint(pen, view);
    });
  }

  function fit() {
    const [left, top, right, bottom] = bounds();
    const room = 48 * devicePixelRatio;
    const scale = Math.min((canvas.width - room) / Math.max(right - left, 1), (canvas.height - room) / Math.max(bottom - top, 1));
    view.scale = Math.min(scale, 1.6 * devicePixelRatio);
    view.x = canvas.width / 2 - view.scale * (left + right) / 2;
    view.y = canvas.height / 2 - view.scale * (top + bottom) / 2;
  }

  /** Show all, and follow what moves until somebody takes the plane. */
  function fitAll() {
    view.free = false;
    draw();
  }

  function move(dx, dy) {
    view.free = true;
    view.x += dx;
    view.y += dy;
    draw();
  }

  function zoom(factor, cx = canvas.width / 2, cy = canvas.height / 2) {
    const scale = Math.min(Math.max(view.scale * factor, 0.01), 40);
    move(cx - scale / view.scale * (cx - view.x) - view.x, cy - scale / view.scale * (cy - view.y) - view.y);
    view.scale = scale;
  }

  /** Bring a place of the plane into the middle. */
  const centre = (x, y) => move(canvas.width / 2 - view.scale * x - view.x, canvas.height / 2 - view.scale * y - view.y);

  const spot = (event) => {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left) * canvas.width / box.width, (event.clientY - box.top) * canvas.height / box.height];
  };
  const place = ([x, y]) => [(x - view.x) / view.scale, (y - view.y) / view.scale];

  canvas.addEventListener("pointerdown", (event) => {
    const at = spot(event);
    pointers.set(event.pointerId, at);
    held = { at, moved: pointers.size > 1, found: pointers.size > 1 ? null : grab?.(...place(at)) ?? null };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const at = spot(event);
    const before = pointers.get(event.pointerId);
    if (!before) {
      hover?.(...place(at), event);
      return;
    }
    if (pointers.size > 1) {
      const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
      const apart = ([x, y]) => Math.hypot(x - other[0], y - other[1]) || 1;
      zoom(apart(at) / apart(before), ...other);
    } else {
      held.moved ||= Math.hypot(at[0] - held.at[0], at[1] - held.at[1]) > STILL * devicePixelRatio;
      if (held.moved && held.found !== null) drag(held.found, ...place(at));
      else if (held.moved) move(at[0] - before[0], at[1] - before[1]);
      else return;
    }
    pointers.set(event.pointerId, at);
  });
  const lift = (event) => {
    const clicked = pointers.delete(event.pointerId) && event.type === "pointerup" && held && !held.moved;
    if (pointers.size === 0) held = null;
    if (clicked) click?.(...place(spot(event)));
  };
  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);
  canvas.addEventListener("pointerleave", (event) => hover?.(NaN, NaN, event));
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 400), ...spot(event));
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const by = canvas.width / 12;
    const action = {
      ArrowLeft: () => move(by, 0), ArrowRight: () => move(-by, 0), ArrowUp: () => move(0, by), ArrowDown: () => move(0, -by),
      "+": () => zoom(1.4), "-": () => zoom(1 / 1.4), 0: fitAll,
    }[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  });

  const sized = new ResizeObserver(() => {
    canvas.width = Math.round(canvas.clientWidth * devicePixelRatio);
    canvas.height = Math.round(canvas.clientHeight * devicePixelRatio);
    draw();
  });
  sized.observe(canvas);
  signal.addEventListener("abort", () => sized.disconnect());

  const buttons = h("div", { class: "zoom" }, [["Zoom in", "+", () => zoom(1.4)], ["Zoom out", "−", () => zoom(1 / 1.4)], ["Show all", "⤢", fitAll]]
    .map(([label, sign, action]) => h("button", { type: "button", "aria-label": label, title: label, onclick: action }, sign)));
  return { view, draw, centre, take: () => { view.free = true; }, buttons };
}
