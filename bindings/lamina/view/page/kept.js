// What a page of one file has with it: it has no server.

const element = document.getElementById("kept");

/** The answers of an exported page, what it shows and what it contains; null where a server answers. */
export const kept = element ? JSON.parse(element.textContent) : null;

let file = null;
let answers = null;

async function unpack(text) {
  const packed = new Blob([Uint8Array.from(atob(text), (each) => each.charCodeAt(0))]);
  return JSON.parse(await new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).text());
}

/** The answer that the page has for a path. */
export async function keptAnswer(path, params) {
  if (path === "/api/graph" && kept.data !== null) return neighbourhood(await (file ??= readFile()), params);
  const found = (await (answers ??= unpack(kept.answers)))[path];
  if (found === undefined) throw new Error("This page is a file and does not hold that; `lamina view` shows it.");
  if (typeof found === "string") return Uint8Array.from(atob(found), (each) => each.charCodeAt(0)).buffer;
  return { "/api/graph": neighbourhood, "/api/ids": part }[path]?.(found, params) ?? found;
}

function part({ ids, titles, snapshot }, { from, n, at }) {
  const some = at === undefined ? (all) => all.slice(from, from + n) : (all) => at.split(",").map((i) => all[i]);
  return { ids: some(ids), titles: some(titles), snapshot };
}

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
