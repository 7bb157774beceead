// Search: a recall as an agent gets it, each score with its terms, two profiles side by side.

import { AnswerError, ask } from "/static/api.js";
import { command, count, h, quoted } from "/static/dom.js";
import { choice, chunkLink, emptiness, field, meta, number, scope } from "/static/parts.js";
import { go } from "/static/state.js";
import { legend, scoreBar, termTable } from "/static/terms.js";

const PARAMS = ["q", "k", "profile", "beside", "project", "type", "as_of", "why_not", "since"];

export default {
  name: "search",
  title: "Search",
  key: (params) => `search ${PARAMS.map((name) => params[name] ?? "").join("\u0000")}`,

  controls: (params, overview) => [
    choice("Profile", "profile", overview.profiles, params, "the vault's own"),
    choice("Beside it", "beside", overview.profiles, params, "nothing"),
    choice("Hits", "k", ["20", "50"], params, "10"),
    ...scope(params, overview),
    field("Why not (id or path)", "why_not", params),
    field("Changed since", "since", params, { type: "date" }),
  ],

  async render(params, overview, signal) {
    if (!params.q) return emptiness(overview) ?? welcome(overview);
    const { q, k, project, type, as_of } = params;
    const profiles = [params.profile, ...(params.beside ? [params.beside] : [])];
    const asked = { q, k, project, type, as_of };
    const [absence, changed, ...answers] = await Promise.all([
      params.why_not && beside("Why not", "/api/why-not", { ...asked, profile: params.profile, id: params.why_not }, signal, why),
      params.since && beside("What changed", "/api/diff", { ...asked, profile: params.profile, since: params.since }, signal,
        ({ text }) => h("pre", {}, text)),
      ...profiles.map((profile) => ask("/api/recall", { ...asked, profile }, signal)),
    ]);
    const lists = answers.map((answer) => column(answer, params));
    return [
      h("h2", {}, q),
      overview.stats.embedding.model ? "" : h("p", { class: "note" }, "This vault has no vectors: words alone are compared. ",
        h("code", {}, "lamina reindex --embedder wordllama"), " brings them."),
      absence || "",
      changed || "",
      legend(answers.flatMap((answer) => answer.hits)),
      lists.length > 1 ? h("div", { class: "pair" }, lists) : lists[0],
    ];
  },
};

/** What is asked beside the hits; an id or a date that is wrong hides none of them. */
async function beside(label, path, params, signal, show) {
  const part = (shown) => h("section", { "aria-label": label }, shown);
  try {
    return part(show(await ask(path, params, signal)));
  } catch (error) {
    if (!(error instanceof AnswerError && error.status >= 400 && error.status < 500)) throw error;
    return part(h("p", { class: "note" }, error.message));
  }
}

/** Why a chunk is no hit, and what brings it in. */
const why = (absence) => [
  h("p", {}, chunkLink(absence.id, absence.id), `: ${absence.reason}`),
  absence.remedies.length
    ? h("ul", {}, absence.remedies.map((each) => h("li", {}, `${each.text}: hit ${each.rank}`)))
    : "",
];

function column(answer, params) {
  const { hits, explain } = answer;
  const best = Math.max(...hits.map((hit) => hit.score), 1e-9);
  const lanes = Object.entries(explain.candidates ?? {}).map(([lane, n]) => `${lane} ${n}`).join(", ");
  const line = ["lamina recall", quoted(answer.query), `--profile ${answer.profile.split("@")[0]}`, params.k && `--k ${params.k}`,
    params.project && `--project ${quoted(params.project)}`, params.type && `--type ${quoted(params.type)}`,
    params.as_of && `--as-of ${params.as_of}`].filter(Boolean).join(" ");
  return h("section", { "aria-label": `Hits by ${answer.profile}` },
    h("p", { class: "meta" }, [count(hits.length, "hit"), `profile ${answer.profile}`, lanes && `candidates: ${lanes}`,
      answer.as_of && `as known on ${answer.as_of.slice(0, 10)}`, explain.time && `time read as ${explain.time.read_as ?? explain.time.phrase}`,
      `${answer.took_ms.toFixed(1)} ms`].filter(Boolean).map((each) => h("span", {}, each))),
    command(line),
    hits.length
      ? h("ol", { class: "hits" }, hits.map((hit) => h("li", {},
        h("div", { class: "head" }, chunkLink(hit.id, hit.label || marked(hit.snippet), hit.label ? "name" : "name untitled"),
          h("span", { class: "score" }, hit.score.toFixed(3))),
        hit.label ? h("p", {}, marked(hit.snippet)) : "",
        meta(hit), hit.via ? h("div", { class: "meta" }, `via ${hit.via}`) : "",
        scoreBar(hit, best),
        h("details", {}, h("summary", {}, "every term"), termTable(hit.terms)))))
      : h("p", { class: "note" }, "Nothing matches. Another project, a wider date, or other words may."));
}

/** The snippet with its matched words marked; ranges count code points. */
function marked({ text, ranges }) {
  const points = Array.from(text);
  const pieces = [];
  let at = 0;
  for (const [start, stop] of ranges) {
    pieces.push(points.slice(at, start).join(""), h("mark", {}, points.slice(start, stop).join("")));
    at = stop;
  }
  return [pieces, points.slice(at).join("")];
}

function welcome(overview) {
  const { stats } = overview;
  const go_to = (q) => h("button", { type: "button", class: "plain", onclick: () => go("search", { q }) }, q);
  return [
    h("h2", {}, "What do you remember about…"),
    h("p", { class: "note" }, "A question finds what an agent would find, and shows why. Press ", h("kbd", {}, "/"), " and ask, such as ",
      go_to("what did we decide last week"), "."),
    h("div", { class: "numbers" }, number(stats.chunks, "chunks"), number(stats.sources, "sources"), number(stats.links, "links"),
      number(stats.facts, "facts"), number(stats.topics, "topics")),
  ];
}
