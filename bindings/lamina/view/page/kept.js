// What a page of one file has with it: it has no server.

const element = document.getElementById("kept");

/** The answers of an exported page, what it shows and what it contains; null where a server answers. */
export const kept = element ? JSON.parse(element.textContent) : null;

const LINE = 120;
const LINKS = 40;
let file = null;
let held = null;

async function unpack(text) {
  const packed = new Blob([bytes(text)]);
  return new Held(JSON.parse(await new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).text()));
}

const bytes = (text) => Uint8Array.from(atob(text), (each) => each.charCodeAt(0));

/** The answer that the page has for a path. */
export async function keptAnswer(path, params) {
  if (path === "/api/graph" && kept.data !== null) return neighbourhood(await (file ??= readFile()), params);
  const [, name, id] = /^\/api\/(\w+)\/?(.*)$/.exec(path);
  const answer = (await (held ??= unpack(kept.held)))[name]?.(params, decodeURIComponent(id));
  if (!answer) throw new Error("This page is a file and does not hold that; `lamina view` shows it.");
  return answer;
}

/** What the page holds, chunks as columns; its methods answer as the server's paths do. */
class Held {
  constructor(data) {
    this.data = data;
    this.numbers = new Map(data.chunks?.id.map((id, i) => [id, i]));
  }

  overview() { return this.data.overview; }

  topics() { return { topics: this.data.topics }; }

  points() { return bytes(this.data.points).buffer; }

  ids({ from, n, at }) {
    const { ids: all, chunks, snapshot } = this.data;
    const some = at === undefined ? all.slice(from, from + n) : at.split(",").map((i) => all[i]);
    const rows = some.map((each) => (Array.isArray(each) ? each : [chunks.id[each], this.nameOf(each)]));
    return { ids: rows.map(([id]) => id), titles: rows.map(([, title]) => title), snapshot };
  }

  topic(_, id) {
    const { topics, members: { [id]: flat }, chunks } = this.data;
    const topic = topics.find((each) => each.id === id);
    if (!topic) return undefined;
    const members = groups(flat, 2).map(([i, hundredths]) => ({ id: chunks.id[i], label: this.nameOf(i), probability: hundredths / 100, source: chunks.source[i] }));
    return { topic, members, left_out: topic.size - members.length };
  }

  chunk(_, id) {
    const i = this.numbers.get(id);
    if (i === undefined) return undefined;
    const chunk = Object.fromEntries(Object.entries(this.data.chunks).map(([name, column]) => [name, column[i]]));
    const links = this.edges().flatMap(([source, target, relation]) => [
      ...(source === i ? [[relation, true, target]] : []), ...(target === i && source !== i ? [[relation, false, source]] : []),
    ]).sort((a, b) => b[1] - a[1]);
    return {
      ...chunk, history: [], similar: [], links_left_out: Math.max(links.length - LINKS, 0),
      links: links.slice(0, LINKS).map(([relation, outward, other]) => ({ relation, outward, other: this.data.chunks.id[other], label: this.nameOf(other) })),
    };
  }

  graph(params) {
    return neighbourhood(params.of === "links" ? this.diagram() : this.data.graph ?? { nodes: [], edges: [], facts: {}, stats: {} }, params);
  }

  edges() {
    const { relations, edges } = this.data.links;
    return groups(edges, 3).map(([source, target, relation]) => [source, target, relations[relation]]);
  }

  nameOf(i) {
    const { label, text } = this.data.chunks;
    return label[i] || text[i].slice(0, LINE).replace(/\s+/g, " ").trim();
  }

  /** Linked chunks and their links, as the server gives them. */
  diagram() {
    const { id, type, created_at: at, project, source, text } = this.data.chunks;
    const edges = this.edges();
    const linked = [...new Set(edges.flatMap(([a, b]) => [a, b]))].sort((a, b) => (id[a] < id[b] ? -1 : 1));
    const facts = (i) => Object.entries({ written: at[i]?.slice(0, 10), project: project[i], source: source[i], text: text[i].slice(0, LINE) })
      .filter(([, value]) => value).map(([key, value]) => ({ key, value }));
    return {
      nodes: linked.map((i) => ({ id: id[i], category: type[i], label: this.nameOf(i) })),
      edges: edges.map(([a, b, predicate]) => ({ source: id[a], target: id[b], predicate })),
      facts: Object.fromEntries(linked.map((i) => [id[i], facts(i)])), stats: {},
    };
  }
}

/** Numbers that lie one after the other, by so many. */
const groups = (flat, by) => Array.from({ length: flat.length / by }, (_, i) => flat.slice(by * i, by * (i + 1)));

async function readFile() {
  let answer;
  try {
    answer = await fetch(kept.data);
  } catch {
    throw new Error(`${kept.data} could not be read: a browser reads a file beside a page from a server only. `
      + "`python -m http.server` in this folder is one; open the page by its address.");
  }
  if (!answer.ok) throw new Error(`${kept.data} is not beside this page. \`lamina export --format graph-json ${kept.data}\` writes it.`);
  let found;
  try {
    found = await answer.json();
  } catch {
    throw new Error(`${kept.data} is no JSON. \`lamina export --format graph-json ${kept.data}\` writes it anew.`);
  }
  return checked(found);
}

/** The graph of a file that anybody may have written: what has no name is left out. */
function checked(found) {
  if (!Array.isArray(found?.nodes) || !Array.isArray(found.edges ?? [])) {
    throw new Error(`${kept.data} holds no graph: \`nodes\` and \`edges\` are missing. \`lamina export --format graph-json ${kept.data}\` writes one.`);
  }
  const named = (each) => typeof each === "string" && each !== "";
  const nodes = found.nodes.filter((each) => named(each?.id)).map((each) => ({ ...each, category: named(each.category) ? each.category : "other" }));
  const ids = new Set(nodes.map((each) => each.id));
  const edges = (found.edges ?? []).filter((each) => ids.has(each?.source) && ids.has(each.target)).map((each) => ({ ...each, predicate: String(each.predicate ?? "") }));
  const facts = Object.fromEntries(Object.entries(found.facts ?? {}).filter(([, each]) => Array.isArray(each)));
  return { nodes: [...new Map(nodes.map((each) => [each.id, each])).values()], edges, facts, stats: found.stats ?? {} };
}

/** A graph whole, or what lies around a node, as the server cuts it. */
function neighbourhood(graph, { center, hops = 2, limit = 2000 }) {
  const { nodes, edges, facts } = graph;
  if (!center && nodes.length <= limit) return { ...graph, center: null, left_out: 0 };
  const near = new Map(nodes.map(({ id }) => [id, []]));
  for (const { source, target } of edges) {
    near.get(source).push(target);
    near.get(target).push(source);
  }
  const folded = center?.toLowerCase();
  const first = folded ? nodes.find(({ id }) => id.toLowerCase() === folded) ?? nodes.find(({ id }) => id.toLowerCase().includes(folded))
    : nodes.reduce((best, each) => (near.get(each.id).length > near.get(best.id).length ? each : best));
  if (!first) throw new Error(`Nothing here is called ${center}.`);
  const inside = new Set([first.id]);
  let edge = [first.id];
  for (let hop = 0; hop < hops && edge.length; hop += 1) {
    const next = [];
    for (const other of [...new Set(edge.flatMap((id) => near.get(id)))].sort()) {
      if (inside.has(other) || inside.size >= limit) continue;
      inside.add(other);
      next.push(other);
    }
    edge = next;
  }
  return {
    nodes: nodes.filter(({ id }) => inside.has(id)), edges: edges.filter(({ source, target }) => inside.has(source) && inside.has(target)),
    facts: Object.fromEntries(Object.entries(facts).filter(([id]) => inside.has(id))), stats: graph.stats, center: first.id, left_out: nodes.length - inside.size,
  };
}
