"""Forward lists of many rows of the log, analysed on several threads.

A row's terms depend on the row and those before it alone, so how rows are dealt out changes no byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lamina_engine.executor import usable_cpus
from lamina_engine.index.analysis import Analyzer
from lamina_engine.index.terms import build_term_rows, concat_terms
from lamina_engine.index.zones import zones_of
from lamina_engine.store.snapshot import Snapshot
from lamina_kernels.layouts import TermRows
from lamina_kernels.threads import ThreadTeam

_AT_ONCE: Final = 8_192
_MOST_THREADS: Final = 4
"""Cutting texts out of the log holds the interpreter's lock for a fifth of the time: more threads would wait for it."""


def make_analyzers() -> list[Analyzer]:
    """Return an analyzer for each thread; they keep their words from call to call."""
    return [Analyzer() for _ in range(min(usable_cpus(), _MOST_THREADS))]


def analyse_rows(snapshot: Snapshot, start: int, stop: int, analyzers: Sequence[Analyzer]) -> TermRows:
    """Return the forward lists of some rows; an analyzer serves one call at a time."""
    spans = [(at, min(at + _AT_ONCE, stop)) for at in range(start, stop, _AT_ONCE)]
    found: dict[int, TermRows] = {}

    def analyse(slot: int, span: tuple[int, int]) -> None:
        found[span[0]] = build_term_rows(*zones_of(snapshot, *span), analyzer=analyzers[slot])

    try:
        ThreadTeam(len(analyzers)).run(analyse, spans)
    except RuntimeError:  # a process that ends starts no thread any more
        left = [span for span in spans if span[0] not in found]
        ThreadTeam(1).run(analyse, left)
    return concat_terms([found[at] for at, _ in spans])
