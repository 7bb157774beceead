// Details of one chunk, beside the view.

import { ask, chunkPath } from "/static/api.js";
import { command, copier, h, quoted } from "/static/dom.js";
import { chunkLink } from "/static/parts.js";
import { kept } from "/static/kept.js";
import { change, go } from "/static/state.js";

/** Fill the column with a chunk; hide it without one. */
export async function showDetails(place, id, as_of) {
  place.hidden = !id;
  if (!id) return;
  let content;
  try {
    content = details(await ask(chunkPath(id), { as_of }));
  } catch (error) {
    content = [h("p", { class: "error", role: "alert" }, error.message)];
  }
  const close = h("button", { type: "button", "aria-label": "Close details", onclick: () => change({ chunk: "" }) }, "Close");
  place.replaceChildren(h("div", { class: "top" }, h("small", {}, "Chunk"), close), ...content.flat());
  place.scrollTop = 0;
}

function details(chunk) {
  const rows = [
    ["id", [h("code", {}, chunk.id), " ", copier(chunk.id)]],
    ["from", chunk.path ? opener(chunk) : chunk.source],
    ["written", time(chunk.created_at)], ["recorded", time(chunk.recorded_at)],
    ["type", chunk.type], ["collection", chunk.collection], ["project", chunk.project], ["session", chunk.session], ["agent", chunk.agent],
    ["tags", chunk.tags.join(", ")], ["status", chunk.status === "active" ? "" : [chunk.status, chunk.reason].filter(Boolean).join(": ")],
    ["pinned", chunk.pinned ? "yes" : ""], ["snoozed", time(chunk.snoozed_until)],
    ["freshness", [chunk.freshness, chunk.needs_review && "needs review"].filter(Boolean).join(", ")],
  ];
  return [
    h("h2", {}, chunk.label || chunk.text.trim().slice(0, 80) || chunk.id),
    h("table", {}, h("tbody", {}, rows.filter(([, value]) => value && value.length !== 0).map(([name, value]) =>
      h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, value))))),
    h("pre", { class: "text", tabindex: 0, "aria-label": "Text" }, chunk.text),
    chunk.text_left_out ? h("p", { class: "note" }, `${chunk.text_left_out.toLocaleString("en")} more characters: `, h("code", {}, `lamina get ${quoted(chunk.id)}`)) : "",
    section("Links", chunk.links.map((link) => [link.outward ? link.relation : `${link.relation} (from)`, link.other, link.label])),
    chunk.links.length ? h("p", {}, h("button", { type: "button", class: "plain", onclick: () => go("graph", { of: "links", center: chunk.id, node: chunk.id, chunk: chunk.id }) }, "Graph of its links")) : "",
    kept ? "" : h("p", {}, h("button", { type: "button", class: "plain", onclick: () => go("timeline", { from: chunk.id, chunk: chunk.id }) }, "What led here, and what came next")),
    chunk.links_left_out ? h("p", { class: "note" }, `${chunk.links_left_out} more`) : "",
    section("Similar", chunk.similar.map((each) => [each.score.toFixed(2), each.id, each.label])),
    chunk.history.length > 1 ? [h("h3", {}, "History"), h("ul", {}, chunk.history.map((event) =>
      h("li", {}, h("span", { class: "relation" }, time(event.recorded_at)), [event.kind, event.reason].filter(Boolean).join(": "))))] : "",
    h("h3", {}, "On the command line"),
    command(`lamina get ${quoted(chunk.id)}`),
    chunk.needs_review ? command(`lamina refresh ${quoted(chunk.id)} --yes`) : "",
  ];
}

const section = (title, rows) => rows.length ? [h("h3", {}, title), h("ul", {}, rows.map(([relation, id, label]) =>
  h("li", {}, h("span", { class: "relation" }, relation), chunkLink(id, label, "other"))))] : "";

const time = (iso) => iso ? String(iso).replace("T", " ").replace(/(:\d\d)(:\d\d)?(\.\d+)?(Z|\+00:00)?$/, "$1") : "";

/** The place in its file; the editor opens it where it knows `vscode:` addresses. */
function opener(chunk) {
  const spot = chunk.line ? `${chunk.path}:${chunk.line}` : chunk.path;
  const path = encodeURI(chunk.path).replace(/[?#]/g, encodeURIComponent);
  return [h("a", { href: `vscode://file/${path.replace(/^\//, "")}${chunk.line ? `:${chunk.line}` : ""}`, title: "Open in the editor" },
    chunk.line ? `${chunk.source ?? chunk.path}:${chunk.line}` : chunk.source ?? chunk.path), " ", copier(spot)];
}
