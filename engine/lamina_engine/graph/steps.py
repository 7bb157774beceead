"""Doubtful steps of sessions: after a pause, after "by the way", and across sessions.

A pause weakens a step and does not cut it: its weight halves with every eight hours past the first half. Where little is
left of it, likeness decides. From session to session nothing but likeness counts: what a session begins with is compared with the ends of
the five sessions before it, and goes on with the one that is most alike, or with none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import numpy as np

from lamina_engine.chunks.talk import without_tools
from lamina_engine.graph.likeness import Matter, likeness, matter_of

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_kernels.layouts import I64

PAUSE_US: Final = 30 * 60 * 1_000_000
"""A pause of up to half an hour weakens nothing."""
_HALVING_US: Final = 8 * 3600 * 1_000_000
LEAST: Final = 0.2
"""Weight below which there is no step: reached by a pause of 19 hours, or a likeness of 0.1."""
_OLDER_LEAST: Final = 0.3
"""The same for a session that others of the project lie between: of several, one is alike by chance more often."""
LOOK_BACK: Final = 5
"""Sessions before one that it may go on with."""
_HEAD_CHARS, _TAIL_CHARS = 1_500, 3_000
_MOST_CHUNKS: Final = 6


class _Files(msgspec.Struct, frozen=True):
    files: tuple[str, ...] = ()


_DECODER: Final = msgspec.json.Decoder(_Files)


def pause_weight(pause_us: float) -> float:
    """Return the weight of a step after a pause, in (0, 1]."""
    return 1.0 if pause_us <= PAUSE_US else 0.5 ** ((pause_us - PAUSE_US) / _HALVING_US)


def likeness_weight(a: Matter, b: Matter) -> float:
    """Return the weight of a step that two texts' likeness alone speaks for."""
    return min(1.0, 2.0 * likeness(a, b))


class Pages:
    """Words of the beginnings and ends of runs of chunks, read once each."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._heads: dict[int, Matter] = {}
        self._tails: dict[int, Matter] = {}

    def head(self, rows: I64) -> Matter:
        """Return what a run of chunks begins with."""
        first = int(rows[0])
        if first not in self._heads:
            self._heads[first] = self._read(rows[:_MOST_CHUNKS].tolist(), _HEAD_CHARS)
        return self._heads[first]

    def tail(self, rows: I64) -> Matter:
        """Return what a run of chunks ends with."""
        last = int(rows[-1])
        if last not in self._tails:
            self._tails[last] = self._read(rows[-_MOST_CHUNKS:].tolist()[::-1], _TAIL_CHARS)
        return self._tails[last]

    def _read(self, rows: Sequence[int], chars: int) -> Matter:
        texts: list[str] = []
        files: set[str] = set()
        for row in rows:
            (record,) = self._view.snapshot.records("chunks", np.array([row]), ("text", "metadata"))
            texts.append(without_tools(record["text"]))
            files |= _files_of(record["metadata"])
            chars -= len(texts[-1])
            if chars <= 0:
                break
        return matter_of(texts, files)


def _files_of(metadata: str | None) -> set[str]:
    if not metadata or '"files"' not in metadata:
        return set()
    try:
        return {file.rpartition("/")[2] for file in _DECODER.decode(metadata).files}
    except (msgspec.DecodeError, RecursionError):  # somebody else's metadata
        return set()


class Step(NamedTuple):
    """A session, by its place in a row of sessions, that goes on with an earlier one."""

    before: int
    after: int
    weight: float


def find_step(after: int, head: Matter, tail_of: Callable[[int], Matter]) -> Step | None:
    """Return the step to a session from the most alike one before it; of equals the last."""
    best: Step | None = None
    for before in range(after - 1, max(after - 1 - LOOK_BACK, -1), -1):
        weight = likeness_weight(tail_of(before), head)
        least = LEAST if before == after - 1 else _OLDER_LEAST
        if weight >= least and (best is None or weight > best.weight):
            best = Step(before, after, weight)
    return best
