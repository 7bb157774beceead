"""Products along paths against chains: ``python -m bench.experiment_sum_product [STORIES]``

Multiplying weights along paths and summing over paths was tried in the system that chains come from: with links of 0.8
a path of five keeps a third, one of ten a tenth, and what is reached cannot compete with direct hits (2 % of results
came from the graph). On planted stories: in how many is the cause among ten results, merged from hits and products;
what share of those results came from the graph; and what a chain holds.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

import lamina
from bench.episodes import table
from bench.stories import Planted, fill, measure, plant

WEIGHT: Final = 0.8
DEPTH: Final = 20
SEEDS: Final = 5
K: Final = 10
_LEAST: Final = 1e-6


def products(links: dict[str, list[str]], seeds: dict[str, float]) -> dict[str, float]:
    """Return the sum over backward paths from the seeds of the seed's score times 0.8 a link."""
    found: dict[str, float] = defaultdict(float)
    mass = dict(seeds)
    for _ in range(DEPTH):
        onward: dict[str, float] = defaultdict(float)
        for name, score in mass.items():
            for before in links.get(name, ()):
                onward[before] += WEIGHT * score
        for name, score in onward.items():
            found[name] += score
        mass = {name: score for name, score in onward.items() if score > _LEAST}
    return dict(found)


def compare(vault: lamina.Vault, links: Sequence[tuple[str, str]], stories: list[Planted]) -> dict[str, Any]:
    """Return what products and chains hold of the causes."""
    backward: dict[str, list[str]] = defaultdict(list)
    for source, target in links:
        backward[target].append(source)
    held, from_graph, shown = 0, 0, 0
    for story in stories:
        hits = {hit.id: hit.score for hit in vault.recall(story.question, k=K)}
        graph = products(backward, dict(list(hits.items())[:SEEDS]))
        merged = {name: max(hits.get(name, 0.0), graph.get(name, 0.0)) for name in {*hits, *graph}}
        best = sorted(merged, key=lambda name: (-merged[name], name))[:K]
        held += story.cause in best
        from_graph += sum(name not in hits for name in best)
        shown += len(best)
    chain = measure(vault, stories)
    return {
        "stories": len(stories), "weight": WEIGHT, "left_after": {str(n): WEIGHT**n for n in (5, 10, 15)},
        "sum_product": held / max(len(stories), 1), "results_from_graph": from_graph / max(shown, 1),
        "chain": chain.chain, "search": chain.search,
    }  # fmt: skip


def lines(found: dict[str, Any]) -> Iterator[str]:
    """Yield the findings for people."""
    left = ", ".join(f"{share:.2f} after {n}" for n, share in found["left_after"].items())
    yield f"links of {found['weight']}: {left} hops"
    rows = [(name, float(found[name])) for name in ("search", "sum_product", "chain", "results_from_graph")]
    yield from table([("of the causes", "share"), *rows])


def main(given: Sequence[str] | None = None) -> int:
    """Plant, compare, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.experiment_sum_product", description=__doc__)
    parser.add_argument("stories", type=int, nargs="?", default=96)
    parser.add_argument("--json", action="store_true", dest="as_json", help="one JSON document")
    chosen = parser.parse_args(given)
    corpus = plant(chosen.stories)
    with tempfile.TemporaryDirectory() as folder, lamina.open(f"{folder}/vault", create=True) as vault:
        fill(vault, corpus)
        found = compare(vault, corpus.links, corpus.stories)
    sys.stdout.write((json.dumps(found) if chosen.as_json else "\n".join(lines(found))) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
