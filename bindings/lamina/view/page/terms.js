// Scores as bars: which part of a hit's score comes from which term.

import { bar, h, s } from "/static/dom.js";

/** Kinds of parts, with their class of colour and their name. */
export const PARTS = [
  ["words", "f1", "words"],
  ["meaning", "f2", "meaning"],
  ["passed", "f3", "passed on by neighbours"],
  ["facts", "f4", "facts"],
  ["links", "f5", "links"],
  ["recency", "f6", "recency"],
  ["other", "f8", "other"],
];

/** The parts of a score; they add up to it. */
export function parts(hit) {
  const t = hit.terms;
  const v = t.vector_share ?? 0;
  const own = t.fusion === "absolute" || t.fusion === undefined
    ? [(1 - v) * (t.coverage ?? 0), v * Math.max(t.cosine ?? 0, 0)]
    : [t.lexical_rank ? (1 - v) / (t.rank_constant + t.lexical_rank) : 0, t.vector_rank ? v / (t.rank_constant + t.vector_rank) : 0]
      .map((part) => part * (t.rank_constant + 1));
  const w = t.semantic_weight ?? 1;
  const rest = 1 - (t.facts_share ?? 0);
  const found = t.linked !== undefined
    ? { links: w * t.linked }
    : t.by_time
      ? {}
      : { words: w * rest * own[0], meaning: w * rest * own[1], passed: w * rest * (t.received ?? 0), facts: w * (t.fact ?? 0) };
  found.recency = (1 - w) * (t.recency ?? 0);
  const sum = Object.values(found).reduce((a, b) => a + b, 0);
  if (!(sum > 0)) return { other: hit.score };
  // factors (status, role, time, boosts, ceiling) act on all parts alike
  return Object.fromEntries(Object.entries(found).map(([name, part]) => [name, part * hit.score / sum]));
}

/** The bar of a hit, beside the best score of its list. */
export function scoreBar(hit, best) {
  const found = parts(hit);
  const pieces = PARTS.filter(([name]) => found[name] > 0).map(([name, kind]) => [found[name] / (best || 1), kind]);
  const said = PARTS.filter(([name]) => found[name] > 0).map(([name, , label]) => `${label} ${found[name].toFixed(3)}`);
  return bar(pieces, `score ${hit.score.toFixed(3)}: ${said.join(", ")}`);
}

/** The legend of the parts that a list of hits has. */
export function legend(hits) {
  const used = new Set(hits.flatMap((hit) => Object.entries(parts(hit)).filter(([, n]) => n > 0).map(([name]) => name)));
  return h("div", { class: "legend" }, PARTS.filter(([name]) => used.has(name)).map(([, kind, label]) =>
    h("span", {}, s("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" }, s("rect", { width: 10, height: 10, rx: 2, class: kind })), label)));
}

const plain = (value) => typeof value === "number"
  ? String(Math.round(value * 10_000) / 10_000)
  : Array.isArray(value) || (value && typeof value === "object") ? JSON.stringify(value) : String(value);

/** Every term of a score, with a bar where it is a share. */
export function termTable(terms) {
  const rows = Object.entries(terms).flatMap(([name, value]) =>
    value && typeof value === "object" && !Array.isArray(value)
      ? Object.entries(value).map(([inner, each]) => [`${name}: ${inner}`, each])
      : [[name, value]]);
  return h("table", {}, h("tbody", {}, rows.filter(([, value]) => value !== null && !(Array.isArray(value) && !value.length)).map(([name, value]) =>
    h("tr", {}, h("th", { scope: "row" }, name.replaceAll("_", " ")), h("td", { class: "number" }, plain(value)),
      h("td", {}, typeof value === "number" && value >= 0 && value <= 1 ? bar([[value, "f1"]], `${name} ${plain(value)}`) : "")))));
}
