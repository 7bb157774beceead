// Freshness: what is still current by the history of its files, what is not, why, and which command refreshes it.

import { ask } from "/static/api.js";
import { bar, command, count, h, quoted } from "/static/dom.js";
import { choice, chunkLink, emptiness } from "/static/parts.js";
import { change } from "/static/state.js";

const TIERS = [
  ["expired", "f5", "Its file is gone, or has 25 commits or more since."],
  ["stale", "f2", "Ten or more commits to its file since."],
  ["aging", "f6", "Three or more commits to its file since."],
  ["fresh", "f3", "Hardly anything has changed since."],
  ["unknown", "f8", "Nothing can be said: no file, or no history of it."],
];
const REASONS = {
  commits: "by commits to the file", content_changed: "read differently now", deleted: "deleted", renamed: "renamed",
  history_rewritten: "with a history rewritten", age: "by age", no_path: "without a file", no_repo: "outside a repository",
  no_git: "without git", no_history: "older than the history", manual: "for a review that somebody asked for",
};

export default {
  name: "freshness",
  title: "Freshness",
  key: (params) => `freshness ${["tier", "project", "no_git"].map((name) => params[name] ?? "").join("\u0000")}`,

  controls: (params, overview) => [
    choice("Tier", "tier", TIERS.map(([name]) => name), params, "all"),
    choice("Project", "project", overview.projects.map((each) => each.project ?? each.name).filter(Boolean), params),
    choice("Judged by", "no_git", [["1", "age alone"]], params, "git history"),
  ],

  async render(params, overview, signal) {
    const nothing = emptiness(overview);
    if (nothing) return nothing;
    const { tier, project, no_git } = params;
    const report = await ask("/api/freshness", { tier, project, no_git, limit: tier ? 500 : 25 }, signal);
    const head = [h("h2", {}, "Freshness"), command(["lamina freshness", tier && `--tier ${tier}`, project && `--project ${quoted(project)}`, no_git && "--no-git-check"].filter(Boolean).join(" "))];
    if (!report.enabled) return [...head, h("p", { class: "note" }, "Freshness is switched off for this vault. ", h("code", {}, "FRESHNESS_ENABLED=true lamina view"), " judges it.")];
    const largest = Math.max(...Object.values(report.counts), 1);
    return [
      ...head,
      h("p", { class: "meta" }, h("span", {}, `${count(report.checked, "chunk")} judged`), h("span", {}, `${count(report.needs_review, "needs", "need")} a review`)),
      h("table", { class: "tiers" }, h("tbody", {}, TIERS.map(([name, kind]) => h("tr", {},
        h("th", { scope: "row" }, h("button", { type: "button", class: "plain", "aria-pressed": String(tier === name), onclick: () => change({ tier: tier === name ? "" : name, chunk: "" }) }, name)),
        h("td", { class: "number" }, (report.counts[name] ?? 0).toLocaleString("en")),
        h("td", {}, bar([[(report.counts[name] ?? 0) / largest, kind]], `${name} ${report.counts[name] ?? 0}`)),
        h("td", {}, reasons(report.reasons[name])))))),
      report.problems.length ? h("ul", { class: "list error" }, report.problems.map((each) => h("li", {}, each))) : "",
      report.counts.unknown === report.checked && report.checked ? h("p", { class: "note" }, "Nothing here was read from a file in a git repository. ",
        h("code", {}, "lamina ingest FOLDER"), " of a repository notes where each chunk comes from.") : "",
      TIERS.filter(([name]) => report.items[name]?.length && (tier || name !== "unknown")).map(([name, , meaning]) => section(name, meaning, report)),
    ];
  },
};

const reasons = (codes) => Object.entries(codes ?? {}).sort((a, b) => b[1] - a[1]).map(([code, n]) => `${n.toLocaleString("en")} ${REASONS[code] ?? code}`).join(", ");

function section(tier, meaning, report) {
  const items = report.items[tier];
  const left = report.counts[tier] - items.length;
  return h("section", { "aria-label": `${tier} chunks` },
    h("h3", {}, `${tier[0].toUpperCase()}${tier.slice(1)} `, h("small", {}, meaning)),
    ["expired", "stale", "aging"].includes(tier) ? command(`lamina refresh --tier ${tier} --yes`) : "",
    h("ol", { class: "hits" }, items.map((each) => h("li", {},
      h("div", { class: "head" }, chunkLink(each.id, each.label), h("span", { class: "score" }, each.commits === null ? "" : count(each.commits, "commit"))),
      h("div", { class: "meta" }, [each.path ?? each.source, each.reason, each.needs_review && "needs review"].filter(Boolean).map((part) => h("span", {}, part)))))),
    left ? h("p", {}, h("button", { type: "button", onclick: () => change({ tier, chunk: "" }) }, `${left.toLocaleString("en")} more`)) : "");
}
