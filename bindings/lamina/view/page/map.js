// Map: every chunk a point by meaning, with what was known at any moment.

import { ask, askBytes } from "/static/api.js";
import { count, h, s } from "/static/dom.js";
import { dayOf, histogram, startOf } from "/static/histogram.js";
import { colour, isDark } from "/static/palette.js";
import { choice, chunkLink, emptiness, missing } from "/static/parts.js";
import { Plot } from "/static/plot.js";
import { NOW, isDated, match, moments, outline, read, readArea, within, writeArea } from "/static/points.js";
import { change, current } from "/static/state.js";

const FIELDS = ["type", "project", "age", "freshness"];
const BLOCK = 500;
const PAGE = 100;
const PATIENCE_MS = 1_500;

let drawn = null; // the map on the page: its state, which the address changes

export default {
  name: "map",
  title: "Map",
  key: (params) => `map ${params.project ?? ""}`,
  controls: (params, overview) => [
    choice("Colour by", "colour", FIELDS, params, "topic"),
    choice("Project", "project", overview.projects.map((each) => each.project).filter(Boolean), params),
    choice("Type", "type", Object.keys(overview.stats.types), params),
  ],

  async render(params, overview, signal) {
    drawn = null;
    const nothing = emptiness(overview);
    if (nothing) return nothing;
    const waiting = setTimeout(() => signal.aborted || document.getElementById("view").replaceChildren(
      h("p", { class: "note" }, `Laying out ${count(overview.stats.chunks, "chunk")}. The places are kept: next time they are there at once.`)), PATIENCE_MS);
    const points = read(await askBytes("/api/points", { project: params.project }, signal).finally(() => clearTimeout(waiting)));
    if (!points.n) {
      return overview.stats.embedding.model ? missing("No map", "No chunk has a vector here. This looks again:", "lamina reindex")
        : missing("No map", "This vault has no vectors to lay out. This brings them:", "lamina reindex --embedder wordllama");
    }
    drawn = new Drawn(points, signal);
    drawn.update(params);
    return drawn.content(params);
  },

  update(params) {
    drawn?.update(params);
    for (const select of document.querySelectorAll("#controls select[name]")) select.value = params[select.name] ?? "";
  },
};

class Drawn {
  constructor(points, signal) {
    Object.assign(this, { points, signal, blocks: new Map(), moments: moments(points) });
    this.plot = new Plot(points, {
      click: async (i) => change({ chunk: (await this.nameOf(i)).id }),
      tell: (i) => this.tipOf(i),
      choose: (polygon) => this.choose(polygon),
    }, signal);
    this.histogram = histogram(points);
    this.legend = h("div", { class: "legend" });
    this.topics = h("section", { "aria-label": "Topics on the map" });
    this.list = h("section", { class: "chosen", "aria-label": "Chosen chunks" });
    this.said = h("output", { class: "small" });
    this.slider = h("input", {
      type: "range", min: 0, max: Math.max(this.moments.length - 1, 0), "aria-label": "Known on",
      oninput: () => this.show({ ...current().params, as_of: this.momentAt(Number(this.slider.value)) }),
      onchange: () => change({ as_of: this.momentAt(Number(this.slider.value)), chunk: "" }, { replace: true }),
    });
    this.lasso = h("button", {
      type: "button", "aria-pressed": "false", title: "Or hold Shift and draw; with the keyboard: Enter on the map",
      onclick: () => this.select(!this.plot.selecting),
    }, "Choose an area");
  }

  content(params) {
    const { values, column } = this.points;
    const named = [["Collection", "collection"], ["Freshness", "freshness"]].filter(([, name]) => values[name].length);
    document.getElementById("controls").append(
      ...named.map(([label, name]) => choice(label, name, values[name], params)),
      column.gone.some((us) => us < NOW) ? choice("Status", "status", [["gone", "no longer"], ["all", "both"]], params, "active") : "",
      this.histogram.element,
    );
    return [
      h("h2", {}, "Map"),
      h("p", { class: "note" }, "Near points mean alike. Drag moves, the wheel zooms, a click opens a chunk."),
      h("div", { class: "tools" }, this.lasso, this.legend),
      this.plot.element,
      this.moments.length > 1 ? h("label", { class: "time" }, this.slider, this.said) : this.said,
      this.list, this.topics,
    ];
  }

  /** A moment of the slider as the address has it; the last one is now. */
  momentAt(at) {
    if (at >= this.moments.length - 1) return "";
    return `${new Date(Math.floor(this.moments[at] / 1e6) * 1000).toISOString().slice(0, 19)}.999999Z`;
  }

  update(params) {
    this.plot.plane.look(params.at);
    this.show(params);
    this.slider.value = params.as_of ? Math.max(this.moments.findLastIndex((each) => each <= this.moment), 0) : this.moments.length - 1;
  }

  show({ colour: field = "topic", since, until, as_of: asOf, area, ...filters }) {
    const { type, project, collection, freshness, status } = filters;
    const asked = JSON.stringify([isDark(), field, since, until, asOf, area, type, project, collection, freshness, status]);
    if (asked === this.asked) return;
    this.asked = asked;
    const { points, plot } = this;
    const sixth = /\.\d{3}(\d{3})/.exec(asOf ?? "");
    this.moment = asOf ? Date.parse(asOf) * 1000 + Number(sixth?.[1] ?? 0) : NOW;
    const n = match(points, {
      moment: this.moment, type, project, collection, freshness, status, since: since && startOf(since), until: until && startOf(until),
    }, plot.shown);
    const outlines = outline(points, plot.shown);
    const { pixels, hues, legend, ages } = colour(points, field, plot.shown, outlines);
    const topicHues = field === "topic" ? hues : [];
    const polygon = readArea(area);
    this.listChosen(polygon && within(points, plot.shown, polygon));
    plot.show(pixels, topicHues, outlines);
    this.said.textContent = asOf ? `${count(n, "chunk")} known on ${asOf.slice(0, 16).replace("T", " ")}` : count(n, "chunk");
    this.histogram.update(plot.shown, { since, until });
    this.legend.replaceChildren(...key(field, legend, ages));
    this.topics.replaceChildren(...this.topicList(outlines, topicHues));
  }

  topicList(outlines, hues) {
    if (!outlines.length) return [h("p", { class: "note" }, "No topics yet. ", h("code", {}, "lamina cluster"), " finds and names them.")];
    return [h("h3", {}, "Topics"), h("ul", { class: "list topics" }, outlines.map((each) => h("li", {}, swatch(hues[each.code]), h("button", {
      type: "button", class: "plain",
      onclick: () => {
        this.plot.plane.centre(each.x, each.y, 4);
        this.plot.element.scrollIntoView({ block: "nearest" });
      },
    }, each.name), " ", h("small", {}, each.size.toLocaleString("en")))))];
  }

  select(on) {
    this.plot.selecting = on;
    this.lasso.setAttribute("aria-pressed", on);
    this.plot.element.classList.toggle("selecting", on);
  }

  choose(polygon) {
    this.select(false);
    change({ area: polygon ? writeArea(polygon) : "" });
  }

  /** List what was chosen, the newest first; null clears it. */
  async listChosen(rows) {
    const { created } = this.points.column;
    const chosen = rows && [...rows].sort((a, b) => created[b] - created[a] || a - b);
    if (String(chosen) === String(this.plot.chosen)) return undefined;
    this.plot.chosen = chosen;
    if (!rows) return this.list.replaceChildren();
    const items = h("ol", { class: "hits" });
    const clear = h("button", { type: "button", onclick: () => this.choose(null) }, "Clear");
    const copy = h("button", {
      type: "button", onclick: () => navigator.clipboard.writeText([...items.querySelectorAll("[data-open]")].map((each) => each.dataset.open).join("\n")),
    }, "Copy the ids listed");
    const more = h("button", { type: "button", onclick: () => this.listMore(items, more) });
    this.list.replaceChildren(h("div", { class: "head" }, h("h3", {}, `${count(rows.length, "chunk")} chosen`), copy, clear), items, more);
    return this.listMore(items, more);
  }

  async listMore(items, more) {
    const { chosen } = this.plot;
    const rows = chosen.slice(items.childElementCount, items.childElementCount + PAGE);
    const { ids, titles } = rows.length ? await this.askIds({ at: rows.join(",") }) : { ids: [], titles: [] };
    if (this.plot.chosen !== chosen) return;
    items.append(...ids.map((id, at) => h("li", {}, h("div", { class: "head" }, chunkLink(id, titles[at] || id)), h("div", { class: "meta" }, this.facts(rows[at])))));
    const left = chosen.length - items.childElementCount;
    more.hidden = left <= 0;
    more.textContent = `${Math.min(left, PAGE).toLocaleString("en")} more of ${left.toLocaleString("en")}`;
  }

  facts(i) {
    const { values, column } = this.points;
    const topic = values.topic[column.topic[i]]?.name;
    const { created, gone } = column;
    return [isDated(created[i]) ? dayOf(created[i]) : "undated", values.type[column.type[i]], topic, gone[i] < NOW ? `until ${dayOf(gone[i])}` : null]
      .filter(Boolean).map((each) => h("span", {}, each));
  }

  async tipOf(i) {
    const { id, title } = await this.nameOf(i);
    return [title || id, h("div", { class: "meta" }, this.facts(i))];
  }

  async nameOf(i) {
    const block = Math.floor(i / BLOCK);
    if (!this.blocks.has(block)) this.blocks.set(block, this.askIds({ from: block * BLOCK, n: BLOCK }));
    const { ids, titles } = await this.blocks.get(block);
    return { id: ids[i % BLOCK], title: titles[i % BLOCK] };
  }

  /** Ids and titles, of the version that the points are of. */
  async askIds(which) {
    const { snapshot } = this.points;
    const found = await ask("/api/ids", { ...which, snapshot, project: current().params.project });
    if (found.snapshot !== snapshot) throw new Error("The vault has changed since this map was drawn; press r to draw it anew.");
    return found;
  }
}

const swatch = (hue) => hue ? s("svg", { class: "swatch", viewBox: "0 0 10 10", "aria-hidden": true }, s("circle", { cx: 5, cy: 5, r: 4.5, fill: hue })) : "";

/** The legend: values with their sizes, or the ramp of ages. */
function key(field, legend, ages) {
  if (ages) {
    return [h("span", {}, dayOf(ages.first)), s("svg", { class: "ramp", viewBox: `0 0 ${ages.steps.length} 1`, preserveAspectRatio: "none", role: "img", "aria-label": "from old to new" },
      ages.steps.map((fill, x) => s("rect", { x, y: 0, width: 1.05, height: 1, fill }))), h("span", {}, dayOf(ages.last))];
  }
  if (field === "freshness" && legend.every(({ name }) => name === "no freshness")) {
    return [h("span", {}, "No scan has looked yet; ", h("code", {}, "lamina freshness"), " does.")];
  }
  if (field === "topic") return [];
  return legend.map(({ name, hue, size }) => h("span", {}, swatch(hue), `${name} ${size.toLocaleString("en")}`));
}
