"""Gate before the swap: new indexes must hold all rows, and find as much as the old ones.

The questions are the vault's own titles and headings; where it has few, the first words of its chunks join them. A
question is answered when a chunk of that source or title (or that very chunk) is among the ten best of one lane.
Each lane is judged alone: words would hide vectors that say nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina_engine.columns import validity
from lamina_engine.embed.protocol import Embedder
from lamina_engine.index.analysis import query_analyzer
from lamina_engine.index.scoring import Bm25
from lamina_engine.index.state import ACTIVE, FORGOTTEN
from lamina_engine.index.vectors import VectorBlocks
from lamina_engine.index.view import View
from lamina_engine.recall.lanes import Selection, Words, vector_lane
from lamina_engine.reindex.space import embedded_texts
from lamina_engine.store.segments import Segment

if TYPE_CHECKING:
    from lamina_engine.profiles import Profile

QUERIES: Final = 200
K: Final = 10
TOLERANCE: Final = 0.05
"""The new generation may find this share less than the old one."""
_FEW: Final = 20
_LOOKED_AT: Final = 4_096
_FIRST_WORDS: Final = 8
_ASKED_AGAIN: Final = 1_000
"""Rows without a vector that are embedded once more, to tell texts without tokens from vectors that were lost."""


class Query(NamedTuple):
    """A question and its answers."""

    text: str
    row: int
    title: str | None
    source: str | None


def sample_queries(view: View) -> list[Query]:
    """Return at most `QUERIES` questions: a function of the view alone."""
    active = np.flatnonzero(view.state.status == ACTIVE)
    rows = active[_spread_rows(len(active), _LOOKED_AT)]
    found: dict[str, Query] = {}
    records = view.snapshot.records("chunks", rows, ("title", "headings", "source", "text"))
    for row, record in zip(rows.tolist(), records, strict=True):
        for text in (record["title"], (record["headings"] or [None])[-1]):
            if text and text.strip():
                found.setdefault(text.strip(), Query(text.strip(), row, record["title"], record["source"]))
    queries = list(found.values())
    if len(queries) < _FEW:
        for i in _spread_rows(len(rows), QUERIES - len(queries)).tolist():
            words = " ".join(records[i]["text"].split()[:_FIRST_WORDS])
            if words:
                queries.append(Query(words, int(rows[i]), None, None))
    return [queries[i] for i in _spread_rows(len(queries), QUERIES).tolist()]


def _spread_rows(n: int, wanted: int) -> NDArray[np.int64]:
    picked = min(n, max(wanted, 0))
    return np.arange(picked, dtype=np.int64) * n // max(picked, 1)


def vector_recall(view: View, embedder: Embedder, queries: Sequence[Query], progress: Callable[[int], None]) -> float:
    """Return the share of questions that a view's vectors answer among the ten best."""
    live = _selection(view)
    return _recall(view, queries, lambda text: vector_lane(view, embedder.embed_query(text), live, K).rows, progress)


def lexical_recall(view: View, profile: Profile, queries: Sequence[Query], progress: Callable[[int], None]) -> float:
    """Return the share of questions that a view's words answer among the ten best."""
    p, analyzer = profile.lexical, query_analyzer()
    live = _selection(view)
    bm25 = Bm25(k1=p.k1, b=p.b, body=p.body, header=p.header, context=p.context, surface=p.surface)
    return _recall(
        view, queries, lambda text: Words(view, analyzer.query(text, view.languages), bm25).lane(live, K).rows, progress
    )


def _selection(view: View) -> Selection:
    live = np.equal(view.state.status, ACTIVE)
    return Selection(live, int(np.count_nonzero(live)), (), must_is_all=True)


def _recall(
    view: View, queries: Sequence[Query], ask: Callable[[str], NDArray[np.int64]], progress: Callable[[int], None]
) -> float:
    answered = 0
    for done, query in enumerate(queries, 1):
        rows = ask(query.text)
        titles, sources = view.snapshot.values("chunks", "title", rows), view.snapshot.values("chunks", "source", rows)
        answered += query.row in rows.tolist() or any(
            (query.title is not None and title == query.title) or (query.source is not None and source == query.source)
            for title, source in zip(titles, sources, strict=True)
        )
        progress(done)
    return answered / len(queries) if queries else 1.0


def missing_vectors(view: View, blocks: VectorBlocks, embedder: Embedder) -> dict[str, int]:
    """Count rows with vectors against rows with tokens: ``{"expected", "found", "missing"}``."""
    import pyarrow.compute as pc

    def has_text(segment: Segment) -> NDArray[np.bool_]:
        column = pc.utf8_trim_whitespace(segment.column("text"))
        filled = pc.fill_null(pc.not_equal(column, ""), False)
        return np.asarray(filled.to_numpy(zero_copy_only=False), np.bool_) & validity(segment.column("text"))

    rows = min(view.rows, blocks.rows)
    text = view.snapshot.column("chunks", "text", convert=has_text)[:rows].astype(np.bool_)
    text &= view.state.status[:rows] != FORGOTTEN
    present = np.zeros(rows, np.bool_)
    for first, part in blocks.slices(0, rows):
        present[first : first + len(part)] = part.any(axis=1)
    lacking = np.flatnonzero(text & ~present)
    asked = lacking[_spread_rows(len(lacking), _ASKED_AGAIN)]
    tokenless = 0
    if len(asked):
        again = embedder.embed_documents([row.text for row in embedded_texts(view.snapshot, asked)])
        tokenless = int(np.count_nonzero(~np.asarray(again).any(axis=1)))
    missing = len(lacking) if tokenless < len(asked) else 0  # one lost vector among those asked: none is excused
    found = int(np.count_nonzero(text & present))
    return {"expected": found + (len(lacking) - tokenless if missing else 0), "found": found, "missing": missing}


def judge(
    counts: dict[str, bool], recalls: dict[str, tuple[float | None, float | None]], tolerance: float
) -> list[str]:
    """Return the failures: wrong counts, and lanes with too little recall."""
    wrong = [f"{name} is wrong" for name, right in counts.items() if not right]
    for lane, (old, new) in recalls.items():
        if old is not None and new is not None and new < (1.0 - tolerance) * old:
            wrong.append(
                f"{lane} recall@{K} falls from {old:.3f} to {new:.3f}, allowed is {(1.0 - tolerance) * old:.3f}"
            )
    return wrong


def describe_gate(
    counts: dict[str, Any], recalls: dict[str, tuple[float | None, float | None]], queries: int, tolerance: float
) -> dict[str, Any]:
    """Return the gate's part of a report."""
    return {
        "counts": counts,
        "recall_at_10": {lane: {"old": old, "new": new} for lane, (old, new) in recalls.items()},
        "queries": queries,
        "tolerance": tolerance,
    }
