// Context: what an agent would be told for a prompt, and what the gate said.

import { ask } from "/static/api.js";
import { bar, command, count, h, quoted } from "/static/dom.js";
import { choice, chunkLink, emptiness } from "/static/parts.js";
import { change } from "/static/state.js";

const GATE = {
  full: "The gate is open: the best memory is close enough.",
  soft_gate: "The gate is half open: the best memory is near, so half of the budget is used.",
  soft_skip: "The gate is shut: the best memory is not close enough.",
  hard_skip: "The gate is shut: nothing is close.",
  off: "Nothing was looked for: the prompt is empty or a command, or injection is switched off.",
  failed: "Something went wrong; an agent would be told nothing. The viewer's terminal says more.",
};

export default {
  name: "context",
  title: "Context",
  key: (params) => `context ${params.prompt ?? ""}\u0000${params.project ?? ""}`,
  controls: (params, overview) => [choice("Project", "project", overview.projects.map((each) => each.project ?? each.name).filter(Boolean), params)],

  async render(params, overview, signal) {
    const form = h("form", {
      class: "ask",
      onsubmit: (event) => {
        event.preventDefault();
        change({ prompt: event.target.elements.prompt.value.trim(), chunk: "" });
      },
    }, h("label", {}, "A prompt, as you would give it to an agent",
      h("textarea", {
        name: "prompt", value: params.prompt ?? "",
        onkeydown: (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.target.form.requestSubmit(); },
      })), h("button", { class: "main" }, "Show what it would be told"), h("small", {}, "  Ctrl-Enter"));
    const head = [h("h2", {}, "Context"), h("p", { class: "note" }, "What a hook adds to a prompt in a new session. Looking writes nothing."), form];
    if (!params.prompt) return [...head, emptiness(overview) ?? ""];
    const block = await ask("/api/context", { prompt: params.prompt, project: params.project }, signal);
    return [...head, outcome(block), command(`lamina context turn ${quoted(params.prompt)} --session ${quoted("a-new-one")}`)];
  },
};

function outcome(block) {
  const told = block.items.length > 0;
  return h("section", { "aria-label": "Outcome" },
    h("h3", {}, told ? `${count(block.items.length, "memory", "memories")}, ${block.tokens} of ${block.budget} tokens` : "Nothing would be told"),
    told ? bar([[block.tokens / Math.max(block.budget, 1), "f1"]], `${block.tokens} of ${block.budget} tokens`) : "",
    h("p", {}, GATE[block.mode] ?? block.mode),
    block.mode === "off" ? "" : h("p", { class: "meta" }, h("span", {}, `gate ${block.mode}`), h("span", {}, `best confidence ${block.best.toFixed(2)}`)),
    told ? h("ol", { class: "hits" }, block.items.map((item) => h("li", {},
      h("div", { class: "head" }, chunkLink(item.id, item.title || item.text?.trim().split("\n")[0].slice(0, 120) || item.id), h("span", { class: "score" }, item.part)),
      h("div", { class: "meta" }, [item.date, item.type, item.age].filter(Boolean).map((each) => h("span", {}, each)))))) : "",
    told ? [h("h3", {}, "The block, as the agent reads it"), h("pre", { class: "block", tabindex: 0 }, block.text)] : "");
}
