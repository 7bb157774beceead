"""What links and topics bring into an answer: rows and scores at once, the way there only for what is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from msgspec import Struct

from lamina_engine.graph.leads import CONTRADICTS

if TYPE_CHECKING:
    from lamina_engine.graph.leads import Step
    from lamina_engine.recall.lanes import Selection
    from lamina_kernels.layouts import BOOL, F64, I64


class Brought(Struct, frozen=True):
    """Why a chunk is where it is: by a link, and not by its own match alone."""

    row: int
    semantic: float
    """What takes the place of its own semantic score."""
    via: str
    """The path, in words: ``a1 -blocks-> b2``."""
    path: tuple[dict[str, Any], ...]
    contradicts: bool
    sibling: bool = False
    """True where a topic, and no link, brought it in: it stands below every direct hit."""
    ceiling: float | None = None
    """Score that it was lowered to for that."""


class Batch(NamedTuple):
    """Rows that one thing brings in, each once.

    Attributes
    ----------
    rows : int64 (m,)
    semantic : float64 (m,)
        What takes the place of their own semantic scores.
    tell : callable
        Gives the whole of one by its position; it reads ids.
    """

    rows: I64
    semantic: F64
    tell: Callable[[int], Brought]


class Told(Mapping[int, Brought]):
    """What was brought in, by position among the candidates; each is told when it is first asked for.

    Parameters
    ----------
    sources : mapping of int to tuple
        By position: a batch's ``tell``, and the position in that batch.
    """

    def __init__(self, sources: Mapping[int, tuple[Callable[[int], Brought], int]]) -> None:
        self._sources = sources
        self._known: dict[int, Brought] = {}

    def __getitem__(self, position: int) -> Brought:
        if position not in self._known:
            tell, place = self._sources[position]
            self._known[position] = tell(place)
        return self._known[position]

    def __contains__(self, position: object) -> bool:
        return position in self._sources

    def __iter__(self) -> Iterator[int]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)


def linked(row: int, semantic: float, path: Sequence[Step]) -> Brought:
    """Return what a path of links brought in."""
    start = path[0].source if path[0].outward else path[0].target
    said = start
    for step in path:
        at = step.target if step.outward else step.source
        said += f" -{step.relation}-> {at}" if step.outward else f" <-{step.relation}- {at}"
    record = tuple(
        {
            "source": step.source, "target": step.target, "relation": step.relation, "weight": step.weight,
            "outward": step.outward,
        }
        for step in path
    )  # fmt: skip
    return Brought(row, semantic, said, record, contradicts=any(step.relation == CONTRADICTS for step in path))


def may_return(selection: Selection, rows: I64) -> BOOL:
    """Return bool (n,): which rows a request may return."""
    allowed = rows >= 0
    if selection.live is not None:
        allowed &= selection.live[rows]  # -1 reads the last row, which is no matter
    return allowed


def among(ascending: I64, rows: I64) -> BOOL:
    """Return bool (n,): which rows are among some others, of which there is one at least."""
    found: BOOL = ascending[np.minimum(np.searchsorted(ascending, rows), len(ascending) - 1)] == rows
    return found
