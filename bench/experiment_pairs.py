"""How many links all pairs of chunks at turn boundaries would make: ``python -m bench.experiment_pairs VAULT``

Linking every chunk of a turn with every chunk of the next was tried in the system that chains come from: five chunks on
either side make 25 links, most between chunks that have nothing to do with each other. One to one makes a line.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import groupby, pairwise
from typing import Any

import lamina
from bench.episodes import Line, read, run, table


def measure(vault: lamina.Vault) -> dict[str, Any]:
    """Return the links that are, those of one to one, and those of all pairs, over all sessions."""
    found = read(vault)
    sizes = [_turns(line) for line in found.lines]
    single = sum(sum(turns) - 1 for turns in sizes if turns)
    pairs = sum(a * b for turns in sizes for a, b in pairwise(turns))
    pairs += sum(size * (size - 1) // 2 for turns in sizes for size in turns)
    return {
        "sessions": len(found.lines), "chunks": sum(map(sum, sizes)), "turns": sum(map(len, sizes)),
        "largest_turn": max((size for turns in sizes for size in turns), default=0), "links": len(found.links),
        "one_to_one": single, "all_pairs": pairs, "ratio": pairs / single if single else 0.0,
    }  # fmt: skip


def _turns(line: Line) -> list[int]:
    """Return how many chunks each turn has; a chunk that says no turn is one of its own."""
    keys = [
        (each["turns"][0],) if isinstance(each.get("turns"), list) and each["turns"] else (None, i)
        for i, each in enumerate(line.metadata)
    ]
    return [len(list(group)) for _, group in groupby(keys)]


def lines(found: dict[str, Any]) -> Iterator[str]:
    """Yield the findings for people."""
    yield from table(list(found.items()))


if __name__ == "__main__":
    sys.exit(run("experiment_pairs", __doc__, measure, lines))
