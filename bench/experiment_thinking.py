"""Thinking embedded or left out: ``python -m bench.experiment_thinking VAULT``

Wants a vault whose sessions were read with their thinking kept in the record (``metadata.thinking``). A chunk and the one
after it in its session should lie nearer to each other than chunks of different sessions do: the area under the curve
of that, with texts embedded as they are, and with the thinking put before them. Thinking talks about everything, so
it blurs; leaving it out gained 0.063 in the system that chains come from.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import lamina
from bench.episodes import read, run, table

MOST_PAIRS: Final = 2_000


def measure(vault: lamina.Vault) -> dict[str, Any]:
    """Return both areas, over pairs of which at least one chunk has thinking."""
    found = read(vault)
    view = vault._memory.view()
    texts: dict[int, tuple[str, str]] = {}
    near: list[tuple[int, int]] = []
    for line in found.lines:
        said = view.snapshot.values("chunks", "text", line.rows)
        for row, text, more in zip(line.rows.tolist(), said, line.metadata, strict=True):
            texts[row] = (str(text), str(more.get("thinking") or ""))
        near += [(a, b) for a, b in pairwise(line.rows.tolist()) if texts[a][1] or texts[b][1]]
    rng = random.Random(3)
    rng.shuffle(near)
    near = near[:MOST_PAIRS]
    session = {row: i for i, line in enumerate(found.lines) for row in line.rows.tolist()}
    rows = sorted(texts)
    far = [(a, b) for a, b in ((a, rng.choice(rows)) for a, _ in near) if session[a] != session[b]]
    if not near or not far:
        return {"pairs": len(near), "note": "no session has thinking in its record; read them with it kept"}
    embedder = vault._memory.embedder_for(view.snapshot.space)
    areas = {}
    for name, wide in (("left out", False), ("embedded", True)):
        some = sorted({row for pair in (*near, *far) for row in pair})
        wanted = [f"{texts[row][1]}\n\n{texts[row][0]}" if wide else texts[row][0] for row in some]
        vectors = dict(zip(some, embedder.embed_documents(wanted), strict=True))
        areas[name] = area(_cosines(vectors, near), _cosines(vectors, far))
    return {"pairs": len(near), "area": areas, "gain": areas["left out"] - areas["embedded"]}


def area(near: Sequence[float], far: Sequence[float]) -> float:
    """Return the chance that one of the first is above one of the second, ties counted half."""
    order = np.sort(np.asarray(far))
    below = np.searchsorted(order, near, "left")
    equal = np.searchsorted(order, near, "right") - below
    return float((below + equal / 2).mean() / len(order))


def _cosines(vectors: dict[int, NDArray[np.float32]], pairs: Sequence[tuple[int, int]]) -> list[float]:
    return [float(vectors[a] @ vectors[b]) for a, b in pairs]


def lines(found: dict[str, Any]) -> Iterator[str]:
    """Yield the findings for people."""
    if "note" in found:
        yield str(found["note"])
        return
    yield f"{found['pairs']} pairs"
    yield from table([("thinking", "area"), *found["area"].items(), ("gain", found["gain"])])


if __name__ == "__main__":
    sys.exit(run("experiment_thinking", __doc__, measure, lines))
