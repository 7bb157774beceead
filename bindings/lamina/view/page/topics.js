// Topics: the tree with its sizes, and the chunks of one.

import { ask } from "/static/api.js";
import { bar, command, count, h } from "/static/dom.js";
import { chunkLink, emptiness, missing } from "/static/parts.js";
import { change } from "/static/state.js";

export default {
  name: "topics",
  title: "Topics",
  key: (params) => `topics ${params.topic ?? ""}`,
  controls: () => [],

  async render(params, overview, signal) {
    const nothing = emptiness(overview);
    if (nothing) return nothing;
    if (params.topic) return one(await ask(`/api/topic/${encodeURIComponent(params.topic)}`, {}, signal));
    const { topics } = await ask("/api/topics", {}, signal);
    if (!topics.length) return missing("No topics yet", "This finds and names them:", "lamina cluster");
    const largest = Math.max(...topics.map((topic) => topic.size));
    const below = (parent) => topics.filter((topic) => topic.parent === parent);
    const branch = (topic) => h("li", {},
      h("div", { class: "head" }, opener(topic.id, topic.name), h("span", { class: "score" }, topic.size.toLocaleString("en"))),
      bar([[topic.size / largest, "f1"]], count(topic.size, "chunk")),
      topic.children.length ? h("ol", { class: "hits branch" }, below(topic.id).map(branch)) : "");
    return [h("h2", {}, "Topics"), command("lamina topics"), h("ol", { class: "hits" }, below(null).map(branch))];
  },
};

const opener = (id, name) => h("button", { type: "button", class: "plain name", "data-open": id, onclick: () => change({ topic: id }) }, name);

function one({ topic, members, left_out: left }) {
  return [
    h("button", { type: "button", onclick: () => change({ topic: "", chunk: "" }) }, "All topics"),
    h("h2", {}, topic.name), h("p", { class: "meta" }, h("span", {}, count(topic.size, "chunk")), h("span", {}, topic.words.join(", "))),
    command(`lamina topics ${topic.id}`),
    h("ol", { class: "hits" }, members.map((each) => h("li", {},
      h("div", { class: "head" }, chunkLink(each.id, each.label), h("span", { class: "score" }, each.probability.toFixed(2))),
      each.source ? h("div", { class: "meta" }, each.source) : ""))),
    left ? h("p", { class: "note" }, `${left} more`) : "",
  ];
}
