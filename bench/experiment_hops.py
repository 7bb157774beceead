"""Does it matter how relevance decays with hops? ``python -m bench.experiment_hops VAULT``

For every chunk of a session the chunks before it (and after it) are ranked by nothing but a curve over hops, and the
first related one is looked for: one that touched a same file, else one of the same topic. Equal weights share their
mean rank. All curves that fall strictly rank alike, so their mean reciprocal ranks are equal; a curve that holds, or
that has died, cannot tell its hops apart and loses. Beside it: how far away related chunks lie.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

import lamina
from bench.episodes import NONE, Line, read, run, table
from lamina_kernels.graph.chains import exponential_hop_decay, linear_hop_decay
from lamina_kernels.layouts import F64, I64

CURVES: Final[dict[str, Callable[[I64], F64]]] = {
    "linear, dies at 10": lambda hops: linear_hop_decay(hops, 0.0, 10.0),
    "hold 5, dies at 20": lambda hops: linear_hop_decay(hops, 5.0, 20.0),
    "0.87 a hop": lambda hops: exponential_hop_decay(hops, 0.87, 0.01),
    "0.033 less a hop": lambda hops: linear_hop_decay(hops, 0.0, 1.0 / 0.033),
    "none": lambda hops: np.ones(len(hops)),
}
BUCKETS: Final = ((1, 1), (2, 3), (4, 6), (7, 10), (11, 20), (21, 10_000))
_FURTHEST: Final = 60


def measure(vault: lamina.Vault) -> dict[str, Any]:
    """Return mean reciprocal ranks by direction and curve, and the share of related chunks by hops."""
    found = read(vault)
    cases = {way: [case for line in found.lines for case in _cases(line, way)] for way in ("backward", "forward")}
    ranks = {
        way: {name: _mean([_reciprocal(curve(np.arange(1, len(case) + 1)), case) for case in some]) for name, curve in CURVES.items()}
        for way, some in cases.items()
    }  # fmt: skip
    by_hops = {
        f"{low}" if low == high else (f"{low}-{high}" if high < _FURTHEST else f"{low}+"): _mean(
            [float(related) for case in cases["backward"] for related in case[low - 1 : high]]
        )
        for low, high in BUCKETS
    }
    return {"cases": {way: len(some) for way, some in cases.items()}, "mrr": ranks, "related_by_hops": by_hops}


def _cases(line: Line, way: str) -> Iterator[list[bool]]:
    """Yield, for each chunk with a related one, whether the chunk at each number of hops is related."""
    files = [frozenset(map(str, each.get("files") or ())) for each in line.metadata]
    for at in range(len(files)):
        others = range(at - 1, -1, -1) if way == "backward" else range(at + 1, len(files))
        related = [
            bool(files[at] & files[i]) if files[at] else line.topics[at] == line.topics[i] != NONE for i in others
        ][:_FURTHEST]
        if any(related):
            yield related


def _reciprocal(weights: Any, related: list[bool]) -> float:
    """Return one over the mean rank that the best related chunk has among its equals."""
    best = max(weight for weight, is_related in zip(weights.tolist(), related, strict=True) if is_related)
    above, equal = int((weights > best).sum()), int((weights == best).sum())
    among = sum(is_related for weight, is_related in zip(weights.tolist(), related, strict=True) if weight == best)
    return 1.0 / (above + (equal + 1) / (among + 1))


def _mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else 0.0


def lines(found: dict[str, Any]) -> Iterator[str]:
    """Yield the findings for people."""
    names = list(CURVES)
    yield from table(
        [
            ("curve", "MRR backward", "MRR forward"),
            *((n, *(found["mrr"][way][n] for way in found["mrr"])) for n in names),
        ]
    )
    yield ""
    yield from table([("hops back", "share related"), *found["related_by_hops"].items()])


if __name__ == "__main__":
    sys.exit(run("experiment_hops", __doc__, measure, lines))
