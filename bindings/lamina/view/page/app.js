// The frame of the page: views, the search box, keys, the theme, and news of the vault.

import { ask, takeToken } from "/static/api.js";
import { showDetails } from "/static/details.js";
import { h } from "/static/dom.js";
import { kept } from "/static/kept.js";
import { address, change, current, go, onChange } from "/static/state.js";
import contextView from "/static/context.js";
import healthView from "/static/health.js";
import graphView from "/static/graph.js";
import mapView from "/static/map.js";
import factsView from "/static/facts.js";
import freshnessView from "/static/freshness.js";
import timelineView from "/static/timeline.js";
import topicsView from "/static/topics.js";
import searchView from "/static/search.js";

const VIEWS = [searchView, mapView, graphView, timelineView, topicsView, factsView, freshnessView, contextView, healthView]
  .filter((each) => !kept || kept.views.includes(each.name));
const place = (id) => document.getElementById(id);
let overview = null;
let running = new AbortController();

/** Show the view that the address names, and the details beside it. */
async function show() {
  const { view: name, params } = current();
  const view = VIEWS.find((each) => each.name === name) ?? VIEWS[0];
  place("views").replaceChildren(...VIEWS.map((each, i) => h("a", {
    href: address(each.name), "aria-current": each === view ? "page" : undefined,
    onclick: (event) => follow(event, () => go(each.name)),
  }, each.title, " ", h("kbd", {}, i + 1))));
  place("views").querySelector("[aria-current]").scrollIntoView({ block: "nearest", inline: "nearest" });
  document.title = `${view.title} · ${overview?.name ?? "Lamina"}`;
  if (document.activeElement !== place("question")) place("question").value = view.name === "search" ? params.q ?? "" : "";
  const seen = view.key(params);
  if (show.seen !== seen) {
    show.seen = seen;
    running.abort();
    running = new AbortController();
    await render(view, params, running.signal);
  } else {
    view.update?.(params);
  }
  const details = place("details");
  const chunk = params.chunk && `${params.chunk}\u0000${params.as_of ?? ""}`;
  if (show.chunk !== chunk) {
    show.chunk = chunk;
    await showDetails(details, params.chunk, params.as_of);
  }
}

async function render(view, params, signal) {
  const busy = setTimeout(() => signal.aborted || place("view").replaceChildren(h("p", { class: "note" }, "Looking…")), 400);
  try {
    overview ??= await ask("/api/overview");
    place("vault").textContent = overview.name;
    poll.snapshot ??= overview.snapshot;
    const controls = view.controls(params, overview);
    place("controls").hidden = controls.length === 0;
    place("controls").replaceChildren(...controls);
    const found = await view.render(params, overview, signal);
    if (!signal.aborted) {
      place("view").replaceChildren(...[found].flat(Infinity));
      place("view").scrollTop = 0;
    }
  } catch (error) {
    if (signal.aborted || error.name === "AbortError") return;
    place("view").replaceChildren(problem(error));
    place("controls").hidden = overview === null;
  } finally {
    clearTimeout(busy);
  }
}

/** What went wrong, in the server's words. */
function problem(error) {
  const document = error.document ?? {};
  const allowed = Array.isArray(document.allowed) ? document.allowed.join(", ") : document.allowed;
  return h("div", { role: "alert" }, h("h2", {}, "No answer"), h("p", { class: "error" }, error.message),
    allowed ? h("p", { class: "note" }, "Allowed: ", allowed) : "", document.do ? h("p", { class: "note" }, document.do) : "");
}

/** Follow a link inside the page; with a modifier the browser opens it elsewhere. */
function follow(event, action) {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  action();
}

async function poll() {
  if (document.hidden || overview === null) return;
  try {
    const { snapshot } = await ask("/api/version");
    if (snapshot === poll.snapshot) return;
    place("news").replaceChildren("The vault has changed since this page was drawn.",
      h("button", { type: "button", onclick: () => { poll.snapshot = snapshot; refresh(); } }, "Show it as it is now"));
    place("news").hidden = false;
  } catch (error) {
    place("news").replaceChildren(error.message);
    place("news").hidden = false;
  }
}

function refresh() {
  place("news").hidden = true;
  overview = null;
  show.seen = show.chunk = undefined;
  show();
}

const THEMES = ["auto", "dark", "light"];

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  place("theme").textContent = `Theme: ${theme}`;
  localStorage.setItem("lamina-theme", theme);
}

function showKeys() {
  const rows = [["/", "ask the vault"], [`1 to ${VIEWS.length}`, "views"], ["j, k", "next and last hit"], ["Enter", "details of a hit"],
    ["Esc", "close details"], ["r", "show the vault as it is now"], ["?", "these keys"]];
  place("keys").replaceChildren(h("h2", {}, "Keys"), h("table", {}, h("tbody", {}, rows.map(([key, what]) =>
    h("tr", {}, h("th", { scope: "row" }, h("kbd", {}, key)), h("td", {}, what))))), h("form", { method: "dialog" }, h("button", {}, "Close")));
  place("keys").showModal();
}

/** Move the focus through what can be opened in the view. */
function step(by) {
  const items = [...place("view").querySelectorAll("[data-open]")];
  const at = items.indexOf(document.activeElement);
  items[Math.min(Math.max(at + by, 0), items.length - 1)]?.focus();
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || place("keys").open) return;
  const typing = event.target.matches?.("input, textarea, select");
  if (event.key === "Escape") {
    if (typing) event.target.blur();
    else if (current().params.chunk) change({ chunk: "" });
    return;
  }
  if (typing) return;
  const view = VIEWS[Number(event.key) - 1];
  const action = view ? () => go(view.name)
    : { "/": () => place("question").focus(), j: () => step(1), k: () => step(-1), r: refresh, "?": showKeys }[event.key];
  if (action) {
    event.preventDefault();
    action();
  }
});

place("find").addEventListener("submit", (event) => {
  event.preventDefault();
  const question = place("question").value.trim();
  const { view, params } = current();
  const kept = view === "search" || view === "" ? params : {};
  if (question) go("search", { ...kept, q: question, chunk: "" });
  place("view").focus();
});
place("theme").addEventListener("click", () => {
  setTheme(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length]);
  show(); // what is drawn has its colours from the page
});

if (kept) {
  place("find").hidden = true;
  place("about").textContent = kept.about;
  place("about").hidden = false;
}
takeToken();
setTheme(localStorage.getItem("lamina-theme") ?? "auto");
onChange(show);
await show();
if (!kept) setInterval(poll, 2000);
