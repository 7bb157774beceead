// Timeline: sessions as rows, their chunks in order, and from a chunk backward, forward, and along causes and effects.

import { ask } from "/static/api.js";
import { command, count, day, h, quoted, s } from "/static/dom.js";
import { chunkLink, choice, emptiness, field } from "/static/parts.js";
import { address, change, current } from "/static/state.js";

export default {
  name: "timeline",
  title: "Timeline",
  key: (params) => `timeline ${["session", "from", "project", "as_of"].map((name) => params[name] ?? "").join("\u0000")}`,

  controls: (params, overview) => [
    params.from ? "" : choice("Project", "project", overview.projects.map((each) => each.project ?? each.name).filter(Boolean), params),
    field("As known on", "as_of", params, { type: "date" }),
  ],

  async render(params, overview, signal) {
    const nothing = emptiness(overview);
    if (nothing) return nothing;
    const { as_of, project } = params;
    if (params.from) return chain(params.from, as_of, signal);
    if (params.session) return session(await ask(`/api/session/${encodeURIComponent(params.session)}`, { as_of }, signal));
    return sessions(await ask("/api/sessions", { project, as_of }, signal));
  },
};

const brief = (text) => (text.length > 90 ? `${text.slice(0, 89)}…` : text);
const minute = (iso) => (iso ? iso.slice(0, 16).replace("T", " ") : "undated");
const opener = (params, label, kind = "name") => {
  const now = current();
  return h("a", {
    class: kind, href: address(now.view, { ...now.params, ...params }), "data-open": Object.values(params).find(Boolean),
    onclick: (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      change(params);
    },
  }, label);
};

function sessions({ sessions: found, more, newest }) {
  if (!found.length) {
    return [
      h("h2", {}, "Timeline"),
      h("p", { class: "note" }, "No sessions here. This reads transcripts of agents: ", h("code", {}, "lamina ingest --kind sessions FOLDER")),
      newest.length ? [h("h3", {}, "Written last"), steps(newest)] : "",
    ];
  }
  const times = found.flatMap((each) => [each.started_at, each.ended_at]).filter(Boolean).map(Date.parse);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const at = (iso) => (last > first ? 100 * (Date.parse(iso) - first) / (last - first) : 0);
  return [
    h("h2", {}, "Timeline"), h("p", { class: "meta" }, h("span", {}, count(found.length, "session")), h("span", {}, `${day(found.at(-1).started_at)} to ${day(found[0].ended_at ?? found[0].started_at)}`)),
    command("lamina sessions"),
    h("ol", { class: "hits" }, found.map((each) => h("li", {},
      h("div", { class: "head" }, opener({ session: each.session, chunk: "" }, each.session), h("span", { class: "score" }, count(each.chunks, "chunk"))),
      each.summary ? h("p", {}, each.summary) : "",
      h("div", { class: "meta" }, [span(each), each.project, each.agents.join(", ")].filter(Boolean).map((part) => h("span", {}, part))),
      each.started_at ? s("svg", { class: "bar", viewBox: "0 0 100 8", preserveAspectRatio: "none", role: "img", "aria-label": span(each) },
        s("rect", { width: 100, height: 8, class: "track" }),
        s("rect", { x: Math.min(at(each.started_at), 99.2), width: Math.max(at(each.ended_at ?? each.started_at) - at(each.started_at), 0.8), height: 8, class: "f1" })) : ""))),
    more ? h("p", { class: "note" }, "Older ones are left out; choose a project, or an earlier day above.") : "",
  ];
}

const span = ({ started_at: start, ended_at: end }) => {
  if (!start) return "undated";
  const stop = end && minute(end) !== minute(start) ? ` to ${day(end) === day(start) ? minute(end).slice(11) : minute(end)}` : "";
  return minute(start) + stop;
};

function session({ session: name, chunks, left_out: left, handoff }) {
  return [
    h("button", { type: "button", onclick: () => change({ session: "", chunk: "" }) }, "All sessions"),
    h("h2", {}, name), h("p", { class: "meta" }, h("span", {}, count(chunks.length + left, "chunk")), h("span", {}, chunks.length ? `from ${minute(chunks[0].created_at)}` : "")),
    command(`lamina reconstruct ${quoted(name)}`),
    handoff.length ? [h("h3", {}, "What it handed over"), steps(handoff, false)] : "",
    h("h3", {}, "In order"), steps(chunks),
    left ? h("p", { class: "note" }, `${left.toLocaleString("en")} more`) : "",
  ];
}

/** Chunks one below the other, each with the way to what led to it. */
const steps = (chunks, onward = true, mark = null) => h("ol", { class: "steps" }, chunks.map((each) => h("li", { "aria-current": each.id === mark ? "true" : undefined },
  h("time", {}, minute(each.created_at)),
  h("div", {}, chunkLink(each.id, each.label), each.relation ? h("span", { class: "relation" }, ` ${each.relation}`) : "",
    each.line && each.line !== each.label ? h("p", {}, each.line) : "",
    h("div", { class: "meta" }, [each.type, each.status === "active" ? "" : each.status, each.note].filter(Boolean).map((part) => h("span", {}, part)),
      onward && each.id !== mark ? h("span", {}, opener({ from: each.id, session: "", chunk: each.id }, "chain", "other")) : "")))));

async function chain(id, as_of, signal) {
  const path = encodeURIComponent(id);
  const [back, forth, { causes }, around] = await Promise.all([
    ask(`/api/chain/${path}`, { direction: "backward", as_of }, signal), ask(`/api/chain/${path}`, { direction: "forward", as_of }, signal),
    ask(`/api/causes/${path}`, { as_of }, signal), ask(`/api/timeline/${path}`, { as_of }, signal),
  ]);
  const named = (way, relation) => causes.filter((each) => each.direction === way).map((each) => ({
    ...each, relation: each.depth > 1 ? `${relation}, ${each.depth} steps away` : relation, note: [each.reason, `sure ${each.product.toFixed(2)}`].filter(Boolean).join(", "),
  }));
  const part = (title, chunks, none) => [h("h3", {}, title), chunks.length ? steps(chunks, true, id) : h("p", { class: "note" }, none)];
  const why = (story) => story.reason ?? "No link leads on.";
  return [
    h("button", { type: "button", onclick: () => change({ from: "", chunk: "" }) }, "Timeline"),
    h("h2", {}, brief(around.focus.label)), h("p", { class: "meta" }, h("span", {}, minute(around.focus.created_at)), around.focus.session ? h("span", {}, opener({ session: around.focus.session, from: "", chunk: "" }, around.focus.session, "other")) : ""),
    part("How did we get here", back.chunks, why(back)), command(`lamina chain --from ${quoted(id)}`),
    part("What came next", forth.chunks, why(forth)), command(`lamina chain --from ${quoted(id)} --forward`),
    part("Causes", named("caused_by", "caused by"), "None recorded."), part("Effects", named("causes", "causes"), "None recorded."),
    command(causes.length ? `lamina causes ${quoted(id)}` : `lamina links add CAUSE ${quoted(id)} causal`),
    part("Before and after it in time", [...around.before, around.focus, ...around.after], "It has no date."), command(`lamina timeline ${quoted(id)}`),
  ];
}
