// Layout of a graph, in a worker: d3's forces in a fixed number of steps from a fixed start, so that a graph lies the same each time.

import "/static/d3-dispatch.min.js";
import "/static/d3-quadtree.min.js";
import "/static/d3-timer.min.js";
import "/static/d3-force.min.js";

const STEPS = 200;
const TURN_MS = 40; // as long as it computes before it tells where things are, and listens
let nodes = [];
let simulation = null;
let waiting = false;

/** Begin with nodes by size and links between them. */
function start({ radii, sources, targets }) {
  nodes = Array.from(radii, (r) => ({ r }));
  const links = Array.from(sources, (source, i) => ({ source, target: targets[i] }));
  simulation = d3.forceSimulation(nodes).stop()
    .alphaMin(0.001).alphaDecay(1 - 0.001 ** (1 / STEPS))
    .force("charge", d3.forceManyBody().strength((node) => -60 - 6 * node.r).theta(1).distanceMax(900))
    .force("links", d3.forceLink(links).distance(46))
    .force("apart", d3.forceCollide((node) => node.r + 3))
    .force("x", d3.forceX().strength(0.05)).force("y", d3.forceY().strength(0.05));
  go();
}

/** Hold a node at a place, where it stays, and let the rest follow. */
function hold({ index, x, y }) {
  const node = nodes[index];
  [node.fx, node.fy] = [x, y];
  simulation.alpha(Math.max(simulation.alpha(), 0.3));
  go();
}

function go() {
  if (waiting) return;
  waiting = true;
  setTimeout(step);
}

function step() {
  waiting = false;
  const begun = performance.now();
  while (simulation.alpha() >= simulation.alphaMin() && performance.now() - begun < TURN_MS) simulation.tick();
  const rest = simulation.alpha() < simulation.alphaMin();
  const places = Float32Array.from({ length: 2 * nodes.length }, (_, i) => (i % 2 ? nodes[i >> 1].y : nodes[i >> 1].x));
  postMessage({ places, rest }, [places.buffer]);
  if (!rest) go();
}

addEventListener("message", ({ data }) => ({ start, hold })[data.kind](data));
