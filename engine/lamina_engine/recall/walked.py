"""A walk that begins with a question: its best hits are the anchors, its words give the intent, its vector the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from lamina_engine.errors import InvalidArgument
from lamina_engine.recall.intent import classify
from lamina_engine.recall.pipeline import recall

if TYPE_CHECKING:
    from lamina_engine.graph.walks import Reached
    from lamina_engine.memory import Memory

ANCHORS: Final = 10
STRONG: Final = 0.5
"""Share of the best hit's score from which on a hit is an anchor; a weaker one may be walked to."""


def traverse(
    memory: Memory,
    start: str | Mapping[str, float] | Sequence[str],
    *,
    intent: str | None = None,
    depth: int = 2,
    beam: int = 5,
    budget: int = 30,
    relations: Sequence[str] | None = None,
    without: Sequence[str] = (),
    invalidated: bool = True,
) -> list[Reached]:
    """Return what a question, or anchors, lead to; see `lamina_engine.graph.walks.traverse`.

    Parameters
    ----------
    memory : Memory
    start : str, mapping or sequence of str
        A question, whose strong hits are the anchors, with their scores relative to the best; or ids, with or without
        scores.
    intent : {"why", "when", "entity", "what"}, optional
        By the question's words unless given; ``what`` for anchors.

    Raises
    ------
    ChunkNotFound, AmbiguousId, InvalidArgument, EmbedderMismatch, EmbeddingError, VaultCorrupt
    """
    from lamina_engine.graph import walks

    view, vector = memory.view(), None
    anchors: Mapping[str, float] | Sequence[str]
    if isinstance(start, str):
        found = recall(memory, start, k=ANCHORS, intent=intent).found
        best = max((hit.score for hit in found), default=0.0)
        anchors = {hit.chunk["id"]: hit.score / best for hit in found if hit.score >= STRONG * best > 0.0}
        intent = intent or classify(start).name
        if view.vector_rows and anchors and start.strip():
            memory.check_space(view.snapshot, None)
            vector = memory.embedder_for(view.snapshot.space).embed_query(start)
    elif isinstance(start, Mapping | Sequence):
        anchors = start
    else:
        raise InvalidArgument(f"traverse was given a {type(start).__name__}; give a question, ids, or ids with scores")
    return walks.traverse(
        view, anchors, intent=intent, depth=depth, beam=beam, budget=budget, vector=vector, relations=relations,
        without=without, invalidated=invalidated,
    )  # fmt: skip
