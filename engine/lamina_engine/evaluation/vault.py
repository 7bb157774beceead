"""Coverage of one's own vault, without labels: chains, topics, lanes of the hits, latency.

Beginnings of evenly spaced chunks are asked; a chunk that was asked does not count among its own hits.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from lamina_engine.arguments import whole_of
from lamina_engine.chunks.handoffs import is_derived
from lamina_engine.graph.sessions import CHAIN_RELATIONS
from lamina_engine.index import nodes
from lamina_engine.recall.pipeline import recall
from lamina_engine.recall.stories import chain
from lamina_engine.reports import Report
from lamina_engine.topics.catalog import topics

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_kernels.layouts import BOOL, I64

_QUESTION_CHARS: Final = 200
_MARKS: Final = re.compile(r"^\[(?:User|Assistant)\]\s*", re.MULTILINE)
_HITS: Final = 10


@dataclass(frozen=True, slots=True)
class VaultReport(Report):
    """Measures of a vault; shares are None where there is nothing to take one of."""

    chunks: int
    in_sessions: int
    """Chunks of sessions."""
    in_chains: float | None
    """Share of these with a step to or from another chunk."""
    topics: int
    in_topics: float | None
    """Share of all chunks that have a topic."""
    asked: int
    by_words: float | None
    by_meaning: float | None
    by_both: float | None
    by_links: float | None
    """Shares of the hits that words alone found, vectors alone, both, and links, facts or topics."""
    chains_asked: int
    chains_told: float | None
    """Share of chunks of sessions whose question got a chain."""
    chain_chunks: float | None
    """Chunks of a chain, on average."""
    recall_ms: tuple[float, float]
    chain_ms: tuple[float, float]
    """Median and 95th percentile."""


def evaluate_vault(
    memory: Memory, *, sample: int, counter: Callable[[], float], progress: Callable[[str, int, int], None]
) -> VaultReport:
    """Measure a vault; ``counter`` gives seconds, ``sample`` is how many chunks are asked."""
    sample = whole_of(sample, "sample")
    view = memory.view()
    rows = np.flatnonzero(view.state.active())
    rows = rows[~is_derived(view, rows)] if len(rows) else rows
    talk = rows[view.categories.gather(view.snapshot, "session", rows) >= 0] if len(rows) else rows
    found = topics(memory)
    placed = sum(topic.size for topic in found if topic.parent is None)
    lanes, recall_times = _ask(memory, view, _spaced(rows, sample), counter, progress)
    told, chain_times = _tell(memory, view, _spaced(talk, sample), counter, progress)
    hits = sum(lanes.values())
    words, meaning, both, links = (_share(lanes[name], hits) for name in ("words", "meaning", "both", "links"))
    return VaultReport(
        len(rows), len(talk), _share(int(_is_linked(view, talk).sum()), len(talk)), len(found),
        _share(min(placed, len(rows)), len(rows)) if found else None, len(recall_times), words, meaning, both, links,
        len(chain_times), _share(sum(length > 0 for length in told), len(told)),
        _share(sum(told), sum(length > 0 for length in told)), _percentiles(recall_times), _percentiles(chain_times),
    )  # fmt: skip


def _spaced(rows: I64, most: int) -> I64:
    return rows[np.linspace(0, len(rows) - 1, min(most, len(rows))).astype(np.int64)] if len(rows) else rows


def _questions(view: View, rows: I64) -> list[tuple[str, str]]:
    """Return id and question of each row that has words."""
    names, texts = (view.snapshot.values("chunks", name, rows) for name in ("id", "text"))
    asked = [
        (str(name), _MARKS.sub("", text)[:_QUESTION_CHARS].strip()) for name, text in zip(names, texts, strict=True)
    ]
    return [(name, question) for name, question in asked if question]


def _ask(
    memory: Memory, view: View, rows: I64, counter: Callable[[], float], progress: Callable[[str, int, int], None]
) -> tuple[dict[str, int], list[float]]:
    lanes: dict[str, int] = {"words": 0, "meaning": 0, "both": 0, "links": 0}
    times: list[float] = []
    questions = _questions(view, rows)
    for done, (name, question) in enumerate(questions, 1):
        start = counter()
        hits = recall(memory, question, k=_HITS, syntax=False).hits
        times.append(counter() - start)
        for hit in hits:
            words, meaning = hit.terms.get("lexical_rank") is not None, hit.terms.get("vector_rank") is not None
            if hit.id != name:
                lanes["both" if words and meaning else "words" if words else "meaning" if meaning else "links"] += 1
        progress("recall", done, len(questions))
    return lanes, times


def _tell(
    memory: Memory, view: View, rows: I64, counter: Callable[[], float], progress: Callable[[str, int, int], None]
) -> tuple[list[int], list[float]]:
    """Return the length of the chain for each question, 0 for none, and the seconds it took."""
    lengths, times = [], []
    questions = _questions(view, rows)
    for done, (_, question) in enumerate(questions, 1):
        start = counter()
        story = chain(memory, question)
        times.append(counter() - start)
        lengths.append(len(story.chunks) if story.mode == "chain" else 0)
        progress("chains", done, len(questions))
    return lengths, times


def _is_linked(view: View, rows: I64) -> BOOL:
    """Return bool for some rows: whether each has a step to or from another chunk."""
    state = nodes.state_of(view)
    linked = np.zeros(state.graph.nodes, np.bool_)
    codes = [code for code, name in enumerate(state.graph.relations) if name in CHAIN_RELATIONS]
    for links in (state.graph.forward, state.graph.backward):
        owners = np.repeat(np.arange(state.graph.nodes), np.diff(links.indptr))
        linked[owners[np.isin(links.relations, codes)]] = True
    return np.isin(rows, state.rows[linked])


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _percentiles(seconds: list[float]) -> tuple[float, float]:
    if not seconds:
        return 0.0, 0.0
    middle, high = np.percentile(np.array(seconds) * 1e3, [50, 95]).tolist()
    return round(middle, 2), round(high, 2)
