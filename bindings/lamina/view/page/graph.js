// Graph: entities and what relates them, or the chunks that links join; by forces, with a slider of what was true when.

import { ask } from "/static/api.js";
import { command, count, day, h, quoted, s } from "/static/dom.js";
import { kept } from "/static/kept.js";
import { drawNetwork } from "/static/network.js";
import { lookOf } from "/static/palette.js";
import { chunkLink, choice, emptiness, field, missing } from "/static/parts.js";
import { change, current, go } from "/static/state.js";

const WHOLE = 2000;
const FACTS = 8;
const RELATIONS = 6;
const LISTED = 100;
let filters = null;
let finder = null;
let apply = () => {};

export default {
  name: "graph",
  title: "Graph",
  key: (params) => `graph ${["of", "center", "hops", "as_of"].map((name) => params[name] ?? "").join("\u0000")}`,
  update: (params) => apply(params),

  controls(params) {
    filters = h("fieldset", { class: "filters", hidden: true });
    finder = field("Find", "find", params, { type: "search", autocomplete: "off" });
    return [
      kept?.data ? "" : h("label", {}, "Show", h("select", { onchange: (event) => go("graph", { of: event.target.value, as_of: params.as_of }) },
        h("option", { value: "" }, "entities"), h("option", { value: "links", selected: params.of === "links" }, "links of chunks"))),
      finder, filters,
      params.center ? choice("Hops", "hops", ["1", "3", "4"], params, "2", { at: "" }) : "",
      kept ? "" : field("As known on", "as_of", params, { type: "date" }),
    ];
  },

  async render(params, overview, signal) {
    const { of, center, hops, as_of } = params;
    const [nothing, links] = [kept?.data ? null : emptiness(overview), of === "links"];
    if (nothing && !overview.stats.facts) return nothing;
    const graph = await ask("/api/graph", { of, center, hops, as_of, limit: WHOLE, history: links || kept ? undefined : 1 }, signal);
    return graph.nodes.length ? show(graph, params, signal) : nobody(links);
  },
};

/** Nothing to draw, with what would bring it. */
function nobody(links) {
  if (kept?.data) return missing("No graph", "This file holds no entities. This writes one that does:", "lamina export --format graph-json graph-data.json");
  if (links) return missing("No links", "No chunk is linked with another. This finds links:", "lamina links build");
  return h("div", {}, missing("No facts here", "This graph shows people, projects and things, and what relates them. Facts come from notes with fields, from extraction, or one at a time:", "lamina facts add Ann works_at Acme"),
    h("p", {}, h("button", { type: "button", onclick: () => change({ of: "links" }) }, "Show the links of chunks instead")));
}

const plain = (predicate) => predicate.replaceAll("_", " ");
const millis = (iso) => (iso ? Date.parse(iso) : NaN);
const holds = (each, moment) => !(millis(each.valid_from) > moment) && !(millis(each.valid_to) <= moment);

function show(graph, params, signal) {
  const begun = performance.now();
  const links = params.of === "links";
  const number = new Map(graph.nodes.map(({ id }, i) => [id, i]));
  const edges = graph.edges.map((edge) => ({ ...edge, source: number.get(edge.source), target: number.get(edge.target), label: plain(edge.predicate) }));
  const nodes = graph.nodes.map((each) => ({ ...each, label: each.label || each.id, degree: 0, facts: graph.facts[each.id] ?? [], edges: [] }));
  for (const edge of edges) {
    for (const end of new Set([edge.source, edge.target])) {
      nodes[end].degree += 1;
      nodes[end].edges.push(edge);
    }
  }
  const sizes = new Map();
  for (const { category } of nodes) sizes.set(category, (sizes.get(category) ?? 0) + 1);
  const categories = [...sizes].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  const looks = new Map(categories.map(([name], i) => [name, lookOf(i)]));
  const now = millis(graph.now) || Date.now();
  const dated = [...edges, ...nodes.flatMap((each) => each.facts)];
  const moments = [...new Set([...dated.flatMap((each) => [millis(each.valid_from), millis(each.valid_to)]).filter(Number.isFinite), now])].sort((a, b) => a - b);

  const state = { chosen: -1, moment: now, without: new Set(), found: null };
  const gone = (each) => !holds(each, state.moment);
  const past = nodes.map(() => false); // had facts, and none of them holds at the moment
  const hidden = (i) => past[i] || state.without.has(nodes[i].category);
  const matches = (i) => !state.found || nodes[i].id.toLowerCase().includes(state.found) || nodes[i].label.toLowerCase().includes(state.found);
  const settle = () => nodes.forEach((each, i) => {
    const all = [...each.edges, ...each.facts];
    past[i] = all.length > 0 && all.every(gone);
  });

  const card = h("section", { class: "card", "aria-label": "Chosen node", hidden: true });
  const list = h("ul", { class: "list topics" });
  const listed = h("h3", {});
  const net = drawNetwork({
    nodes, edges, looks: nodes.map(({ category }) => looks.get(category)), begun, tell: summary,
    state: () => ({ chosen: state.chosen, hidden, dimmed: (i) => !matches(i), gone }),
    onchoose: (i) => change({ node: nodes[i]?.id ?? "" }),
  }, signal);

  const relation = (edge, i) => (edge.source === i ? [edge.label, edge.target] : [`${edge.label} (from)`, edge.source]);
  const current_of = (i) => [nodes[i].facts.filter((each) => !gone(each)), nodes[i].edges.filter((each) => !gone(each))];

  /** A node in short: id, category, at most eight facts and six relations. */
  function summary(i) {
    const [facts, relations] = current_of(i);
    const more = facts.length - FACTS + relations.length - RELATIONS;
    return [
      h("b", {}, nodes[i].label), h("div", { class: "meta" }, nodes[i].category),
      ...facts.slice(0, FACTS).map(({ key, value }) => h("div", {}, h("span", { class: "key" }, plain(key)), " ", cut(value))),
      ...relations.slice(0, RELATIONS).map((edge) => {
        const [label, other] = relation(edge, i);
        return h("div", {}, h("span", { class: "key" }, label), " → ", cut(nodes[other].label));
      }),
      facts.length > FACTS || relations.length > RELATIONS ? h("div", { class: "meta" }, `${Math.max(more, 1)} more: click`) : "",
    ];
  }

  /** All of the chosen node, with ways to go on. */
  function describe(i) {
    card.hidden = i < 0;
    if (i < 0) return card.replaceChildren();
    const { id, label, category } = nodes[i];
    const [facts, relations] = current_of(i);
    const span = (each) => [each.valid_from && `since ${day(each.valid_from)}`, each.valid_to && `until ${day(each.valid_to)}`].filter(Boolean).join(" ");
    return card.replaceChildren(
      h("h3", {}, dot(looks.get(category)), " ", label), h("p", { class: "meta" }, category),
      h("p", {}, links ? [chunkLink(id, "Open the chunk", "other"), " · "] : kept ? "" : [h("button", { type: "button", class: "plain", onclick: () => go("facts", { entity: id }) }, "Facts"), " · "],
        h("button", { type: "button", class: "plain", onclick: () => change({ center: id, node: id, at: "" }) }, "Only what lies around it")),
      h("table", {}, h("tbody", {}, facts.map((each) => h("tr", {}, h("th", { scope: "row" }, plain(each.key)), h("td", {}, each.value, " ", h("small", {}, span(each))))))),
      relations.length ? h("ul", { class: "list" }, relations.map((edge) => {
        const [name, other] = relation(edge, i);
        return h("li", {}, h("span", { class: "relation" }, name), " ", opener(other), " ", h("small", {}, span(edge)));
      })) : "",
      links || kept ? "" : command(`lamina facts about ${quoted(id)}`),
    );
  }

  const opener = (i) => h("button", { type: "button", class: "plain", "data-open": nodes[i].id, onclick: () => { change({ node: nodes[i].id }); net.element.scrollIntoView({ block: "nearest" }); } }, nodes[i].label);

  function describeList() {
    const those = nodes.map((_, i) => i).filter((i) => !hidden(i) && matches(i)).sort((a, b) => nodes[b].degree - nodes[a].degree || a - b);
    listed.textContent = state.found ? `${count(those.length, "node")} found` : count(those.length, "node");
    list.replaceChildren(...those.slice(0, LISTED).map((i) => h("li", {}, opener(i), " ", h("small", {}, nodes[i].degree))),
      those.length > LISTED ? h("li", { class: "meta" }, `${those.length - LISTED} more; find them by name`) : "");
    return those;
  }

  const said = h("output", { class: "small" });
  const slider = h("input", { type: "range", min: 0, max: moments.length - 1, value: moments.indexOf(now), "aria-label": "True on" });
  const tell = () => {
    state.moment = moments[Number(slider.value)];
    settle();
    const true_then = dated.filter((each) => !gone(each)).length;
    said.textContent = `${state.moment === now ? "true now" : `true on ${new Date(state.moment).toISOString().slice(0, 10)}`}: ${true_then} of ${count(dated.length, "fact")}`;
  };
  slider.addEventListener("input", () => { tell(); refresh(); });
  slider.addEventListener("change", () => change({ valid_at: state.moment === now ? "" : new Date(state.moment).toISOString() }, { replace: true }));

  filters.hidden = false;
  filters.replaceChildren(h("legend", {}, "Categories"), ...categories.map(([name, n]) => h("label", { class: "row" },
    h("input", { type: "checkbox", value: name, onchange: () => {
      const off = [...filters.querySelectorAll("input")].filter((each) => !each.checked).map((each) => each.value);
      change({ hide: off.length ? JSON.stringify(off) : "" }, { replace: true });
    } }), dot(looks.get(name)), h("span", {}, name), h("small", {}, n))));
  const input = finder.querySelector("input");
  input.addEventListener("input", () => { state.found = input.value.trim().toLowerCase() || null; refresh(); });
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.stopPropagation();
    const [first] = describeList();
    if (state.found && !links && graph.left_out && (first === undefined || nodes[first].id.toLowerCase() !== state.found)) change({ center: input.value.trim(), node: "", find: "", at: "" });
    else if (first !== undefined) change({ node: nodes[first].id, find: input.value.trim() });
  });

  function refresh() {
    describe(state.chosen);
    describeList();
    net.draw();
  }

  /** Take over what the address says. */
  apply = (given) => {
    const before = state.chosen;
    state.chosen = number.get(given.node) ?? -1;
    state.without = new Set(read(given.hide));
    state.found = given.find?.trim().toLowerCase() || null;
    if (document.activeElement !== input) input.value = given.find ?? "";
    for (const each of filters.querySelectorAll("input")) each.checked = !state.without.has(each.value);
    const wanted = given.valid_at ? millis(given.valid_at) : now;
    slider.value = Math.max(moments.findLastIndex((each) => each <= wanted), 0);
    tell();
    refresh();
    const moved = net.look(given.at);
    if (!moved && state.chosen >= 0 && state.chosen !== before && net.canvas.dataset.rest && document.activeElement !== net.canvas) net.centre(state.chosen);
  };
  apply(current().params);

  const whole = count(nodes.length, links ? "chunk" : "node");
  return [
    h("h2", {}, links ? "Links of chunks" : "Graph"),
    h("p", { class: "note" }, graph.center !== null && graph.left_out
      ? [`${whole} around “${nodes[number.get(graph.center)]?.label ?? graph.center}”; ${graph.left_out.toLocaleString("en")} further ones are left out. `, links ? "" : "Find another by name, and Enter shows what lies around it. "]
      : `${whole}, ${count(edges.length, links ? "link" : "relation")}. `,
      "Drag moves, the wheel zooms, a click shows what a node has to do with."),
    params.center ? h("p", {}, h("button", { type: "button", onclick: () => change({ center: "", hops: "", at: "" }) }, "The whole graph")) : "",
    h("div", { class: "drawing" }, net.element, card),
    moments.length > 1 ? h("label", { class: "time" }, slider, said) : "",
    listed, list,
  ];
}

const cut = (value) => (String(value).length > 120 ? `${String(value).slice(0, 119)}…` : value);

function read(hide) {
  try {
    return hide ? JSON.parse(hide) : [];
  } catch {
    return [];
  }
}

/** A category's dot or ring. */
const dot = ({ colour, ring }) => s("svg", { viewBox: "0 0 10 10", class: "dot", "aria-hidden": "true" },
  ring ? s("circle", { cx: 5, cy: 5, r: 3.75, fill: "none", stroke: colour, "stroke-width": 2.5 }) : s("circle", { cx: 5, cy: 5, r: 5, fill: colour }));
