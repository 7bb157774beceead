// Pieces that several views show.

import { count, day, h } from "/static/dom.js";
import { address, change, current } from "/static/state.js";

/** A link that opens a chunk beside the view. */
export const chunkLink = (id, label, kind = "name") => h("a", {
  class: kind, href: address(current().view, { ...current().params, chunk: id }), "data-open": id,
  onclick: (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    change({ chunk: id });
  },
}, label || id);

/** A choice that is part of the address; the first option stands for none. */
export const choice = (label, name, options, params, anyLabel = "any", further = {}) => h("label", {}, label, h("select", {
  name, onchange: (event) => change({ [name]: event.target.value, chunk: "", ...further }),
}, h("option", { value: "" }, anyLabel), options.map((each) => {
  const [value, text] = Array.isArray(each) ? each : [each, each];
  return h("option", { value, selected: params[name] === value }, text);
})));

/** A text that is part of the address, such as a date. */
export const field = (label, name, params, props = {}) => h("label", {}, label, h("input", {
  value: params[name] ?? "", ...props, onchange: (event) => change({ [name]: event.target.value.trim(), chunk: "" }),
}));

/** Project, type and moment: the filters that most views have. */
export const scope = (params, overview) => [
  choice("Project", "project", overview.projects.map((each) => each.project ?? each.name).filter(Boolean), params),
  choice("Type", "type", Object.keys(overview.stats.types), params),
  field("As known on", "as_of", params, { type: "date" }),
];

/** Where a chunk comes from, in one line. */
export const meta = (chunk) => h("div", { class: "meta" }, [
  day(chunk.created_at), chunk.type, chunk.project, chunk.source, chunk.status === "active" ? null : chunk.status,
  chunk.freshness, chunk.needs_review ? "needs review" : null,
].filter(Boolean).map((each) => h("span", {}, each)));

/** What is missing, and the command that brings it. */
export const missing = (title, text, line) => h("div", {}, h("h2", {}, title), h("p", { class: "note" }, text, " ", h("code", {}, line)));

/** True, with what to show, where the vault holds nothing. */
export const emptiness = (overview) => overview.stats.chunks ? null
  : missing("Nothing here yet", "The vault is empty. This reads a folder of notes, code or sessions into it:", "lamina ingest FOLDER");

export const number = (value, label) => h("div", {}, h("b", {}, typeof value === "number" ? value.toLocaleString("en") : value), h("span", {}, label));

export { count };
