"""Forward lists of many rows of the log, analysed on several threads.

A row's terms depend on the row and those before it alone, so how rows are dealt out changes no byte.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Final

from lamina_engine.executor import usable_cpus
from lamina_engine.index.analysis import Analyzer
from lamina_engine.index.terms import build_zones, concat_terms
from lamina_engine.index.zones import zones_of
from lamina_engine.store.snapshot import Snapshot
from lamina_kernels.layouts import TermRows
from lamina_kernels.threads import ThreadTeam

_AT_ONCE: Final = 2_048
_MOST_THREADS: Final = 4
"""Cutting texts out of the log holds the interpreter's lock for a fifth of the time: more threads would wait for it."""
_MOST_CHARS: Final = 1 << 27


class BodyWords:
    """Words of bodies, kept from their analysis until the text index takes them.

    To make them costs as much as to find them for forward lists. What is not here is made again.

    Parameters
    ----------
    in_step : bool
        Whether who is ahead waits: who takes, for rows that are still to be analysed; who puts, where much is kept.
    """

    def __init__(self, *, in_step: bool = False) -> None:
        self._kept: dict[int, list[str | None]] = {}
        """By first row."""
        self._chars = 0
        self._stop = 0
        """Rows below this have been put, where they come in order."""
        self._in_step = in_step
        self._changed = threading.Condition()

    def put(self, start: int, words: list[str | None]) -> None:
        """Keep the words of the rows from ``start`` on, unless there are too many.

        None stands for a row whose body is not its text.
        """
        chars = _count_chars(words)
        with self._changed:
            self._changed.wait_for(lambda: not self._in_step or self._chars < _MOST_CHARS)
            if self._chars < _MOST_CHARS:
                self._kept[start] = words
                self._chars += chars
            self._stop = start + len(words)
            self._changed.notify_all()

    def take(self, start: int, stop: int) -> list[str | None]:
        """Return the words of rows from ``start`` on, below ``stop``; none if not kept."""
        with self._changed:
            self._changed.wait_for(lambda: not self._in_step or self._stop > start)
            first = next((first for first, words in self._kept.items() if first <= start < first + len(words)), None)
            if first is None:
                return []
            words = self._kept.pop(first)
            self._chars -= _count_chars(words[: stop - first])
            if stop < first + len(words):
                self._kept[stop] = words[stop - first :]
            self._changed.notify_all()
            return words[start - first : stop - first]

    def stop_waiting(self) -> None:
        """Let nobody wait from now on: one of both has ended."""
        with self._changed:
            self._in_step = False
            self._changed.notify_all()


def _count_chars(words: list[str | None]) -> int:
    return sum(len(each) for each in words if each)


def make_analyzers() -> list[Analyzer]:
    """Return an analyzer for each thread; they keep their words from call to call."""
    return [Analyzer() for _ in range(min(usable_cpus(), _MOST_THREADS))]


def analyse_rows(
    snapshot: Snapshot, start: int, stop: int, analyzers: Sequence[Analyzer], kept: BodyWords | None = None
) -> TermRows:
    """Return the forward lists of some rows; an analyzer serves one call at a time.

    The words of the bodies are put into ``kept``.
    """
    spans = [(at, min(at + _AT_ONCE, stop)) for at in range(start, stop, _AT_ONCE)]
    found: dict[int, TermRows] = {}

    def analyse(slot: int, span: tuple[int, int]) -> None:
        words: list[str | None] | None = None if kept is None else []
        found[span[0]] = build_zones(zones_of(snapshot, *span), analyzers[slot], words)
        if kept is not None and words is not None:
            kept.put(span[0], words)

    try:
        ThreadTeam(len(analyzers)).run(analyse, spans)
    except RuntimeError:  # a process that ends starts no thread any more
        left = [span for span in spans if span[0] not in found]
        ThreadTeam(1).run(analyse, left)
    return concat_terms([found[at] for at, _ in spans])
