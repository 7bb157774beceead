// Facts: what is true now, since when, what was true before, and what contradicts itself.

import { ask } from "/static/api.js";
import { command, count, day, h, quoted } from "/static/dom.js";
import { choice, chunkLink, field, missing } from "/static/parts.js";
import { change } from "/static/state.js";

export default {
  name: "facts",
  title: "Facts",
  key: (params) => `facts ${["entity", "valid_at", "as_of", "history", "kind"].map((name) => params[name] ?? "").join("\u0000")}`,
  controls: (params) => params.entity ? [
    choice("Show", "history", [["1", "what ever was true"]], params, "what is true"),
    field("True on", "valid_at", params, { type: "date" }), field("As known on", "as_of", params, { type: "date" }),
  ] : [],

  async render(params, overview, signal) {
    if (!overview.stats.facts) return missing("No facts yet", "Facts come from notes with fields, from extraction, or one at a time:", "lamina facts add Ann works_at Acme");
    const { entity, valid_at, as_of, history } = params;
    const answer = await ask("/api/facts", { entity, valid_at, as_of, history }, signal);
    return entity ? about(answer) : all(answer, params);
  },
};

const opener = (name) => h("button", { type: "button", class: "plain name", "data-open": name, onclick: () => change({ entity: name }) }, name);

function all({ entities, contradictions }, params) {
  const types = [...new Set(entities.map((each) => each.type))].sort();
  const shown = entities.filter((each) => !params.kind || each.type === params.kind);
  return [
    h("h2", {}, "Facts"), h("p", { class: "meta" }, h("span", {}, count(entities.length, "entity", "entities"))),
    contradictions.length ? [h("h3", {}, "Contradictions"), h("ul", { class: "list" }, contradictions.map((each) =>
      h("li", {}, `${each.old.subject} ${each.old.key}: ${each.old.value}`, " or ", h("strong", {}, each.new.value), " ", h("small", {}, `${each.relation}, ${each.confidence.toFixed(2)}`))))] : "",
    h("p", {}, ["", ...types].map((type) => [h("button", {
      type: "button", "aria-pressed": String((params.kind ?? "") === type), onclick: () => change({ kind: type }),
    }, type || "all"), " "])),
    h("ol", { class: "hits" }, shown.map((each) => h("li", {}, h("div", { class: "head" }, opener(each.name), h("span", { class: "score" }, each.type))))),
  ];
}

function about({ entity, facts }) {
  const row = (fact) => h("tr", {}, h("td", {}, fact.key.replaceAll("_", " "), fact.direction === "in" && fact.key === fact.predicate ? " of" : ""),
    h("td", {}, fact.object_id || fact.direction === "in" ? opener(fact.value) : fact.value),
    h("td", {}, fact.valid_from ? day(fact.valid_from) : ""), h("td", {}, fact.valid_to ? day(fact.valid_to) : ""),
    h("td", { class: "number" }, fact.confidence.toFixed(2)),
    h("td", {}, fact.chunk ? chunkLink(fact.chunk, fact.source, "other") : fact.source, fact.status === "active" ? "" : ` (${fact.status})`));
  return [
    h("button", { type: "button", onclick: () => change({ entity: "", valid_at: "", history: "", chunk: "" }) }, "All entities"),
    h("h2", {}, entity.name), h("p", { class: "meta" }, entity.type),
    command(`lamina facts about ${quoted(entity.name)}`),
    facts.length ? h("table", { class: "wide" }, h("thead", {}, h("tr", {}, ["what", "value", "since", "until", "sure", "source"].map((each) => h("th", { scope: "col" }, each)))),
      h("tbody", {}, facts.map(row))) : h("p", { class: "note" }, "Nothing was true of it then."),
  ];
}
