// Health: counts, sizes, indexes, and the check of the files.

import { ask } from "/static/api.js";
import { command, h } from "/static/dom.js";
import { emptiness, number } from "/static/parts.js";

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

export default {
  name: "health",
  title: "Health",
  key: () => "health",
  controls: () => [],

  async render(params, overview) {
    const { stats } = overview;
    const rows = Object.entries(stats.status).filter(([, n]) => n);
    return [
      h("h2", {}, overview.name), h("p", { class: "meta" }, h("span", {}, overview.path), h("span", {}, overview.tz), h("span", {}, `Lamina ${overview.lamina}`)),
      emptiness(overview) ?? "",
      h("div", { class: "numbers" }, number(stats.chunks, "chunks"), number(stats.sources, "sources"), number(stats.links, "links"),
        number(stats.facts, "facts"), number(stats.entities, "entities"), number(stats.topics, "topics"), number(size(stats.bytes), "on disk"),
        number(stats.snapshot, "snapshot"), number(stats.segments, "segments")),
      h("h3", {}, "Chunks by status"), table(rows),
      h("h3", {}, "Chunks by type"), table(Object.entries(stats.types).sort((a, b) => b[1] - a[1])),
      h("h3", {}, "Vectors"),
      stats.embedding.model ? h("p", { class: "meta" }, h("span", {}, stats.embedding.model.split(";")[0]), h("span", {}, `${stats.embedding.dim} dimensions`))
        : h("p", { class: "note" }, "None: words alone are compared. ", h("code", {}, "lamina reindex --embedder wordllama"), " brings them."),
      h("h3", {}, "Indexes"),
      table(Object.entries(stats.indexes).map(([name, index]) => [name, index.rows ?? 0])),
      h("p", { class: "note small" }, "Rows that each covers; newer ones are scanned."),
      stats.judging ? h("p", { class: "note" }, `The language model last ran ${stats.judging.at}; ${stats.judging.left} questions are left`,
        stats.judging.stopped ? `: ${stats.judging.stopped}` : ".") : "",
      h("h3", {}, "Files"), checker(), command("lamina verify --deep"),
    ];
  },
};

const table = (rows) => h("table", {},
  h("tbody", {}, rows.map(([name, n]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, n.toLocaleString("en"))))));

function size(bytes) {
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), UNITS.length - 1);
  return `${(bytes / 1024 ** power).toFixed(power ? 1 : 0)} ${UNITS[power]}`;
}

/** Check the files when asked to: it takes a while in a large vault. */
function checker() {
  const outcome = h("p", { class: "note", role: "status" }, "Not checked yet.");
  const button = h("button", {
    type: "button",
    onclick: async () => {
      button.disabled = true;
      outcome.textContent = "Checking…";
      try {
        const report = await ask("/api/verify");
        outcome.replaceChildren(report.ok ? "Every file has the name, size and order that it was written with; the command below reads every byte." : h("span", { class: "error" }, report.problems.join("; ")));
      } catch (error) {
        outcome.textContent = error.message;
      }
      button.disabled = false;
    },
  }, "Check the files");
  return h("div", {}, outcome, button);
}
