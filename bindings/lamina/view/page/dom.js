// Elements of the page. Text of a vault becomes text nodes here and nothing else.

const SVG = "http://www.w3.org/2000/svg";
// eslint-disable-next-line no-control-regex
const UNSEEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Text as it may be shown: what steers a terminal or turns the direction of writing becomes visible. */
export const shown = (text) => String(text).replace(UNSEEN, "\ufffd");

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : shown(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(shown(child)));
  }
  return element;
}

/** An element of HTML with attributes, listeners (`onclick`) and children. */
export const h = (tag, props, ...children) => fill(document.createElement(tag), props, children);

/** An element of SVG. */
export const s = (tag, props, ...children) => fill(document.createElementNS(SVG, tag), props, children);

/** One bar of several parts, [share of the whole width, class] each. */
export function bar(parts, label) {
  let x = 0;
  const pieces = parts.map(([share, kind]) => {
    const piece = s("rect", { x: 100 * x, y: 0, width: Math.max(100 * share, 0), height: 8, class: kind });
    x += share;
    return piece;
  });
  return s("svg", { class: "bar", viewBox: "0 0 100 8", preserveAspectRatio: "none", role: "img", "aria-label": label },
    s("rect", { x: 0, y: 0, width: 100, height: 8, class: "track" }), pieces);
}

/** A button that copies a text. */
export const copier = (text, label = "copy") => h("button", {
  type: "button", class: "plain small", title: `Copy ${text}`,
  onclick: async (event) => {
    const button = event.currentTarget;
    await navigator.clipboard.writeText(text);
    button.textContent = "copied";
    setTimeout(() => { button.textContent = label; }, 1200);
  },
}, label);

/** The command line that does the same. */
export const command = (line) => h("p", { class: "line" }, h("code", { class: "command" }, line), " ", copier(line));

/** A word as a shell takes it. */
export const quoted = (text) => /^[\w./:@#-]+$/.test(text) ? text : `'${String(text).replaceAll("'", "'\\''")}'`;

/** A day, or nothing. */
export const day = (iso) => (iso ? String(iso).slice(0, 10) : "undated");

export const count = (n, noun, many = `${noun}s`) => `${n.toLocaleString("en")} ${n === 1 ? noun : many}`;
