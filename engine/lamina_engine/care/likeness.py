"""Chunks that are like a text, to be looked at before they are forgotten."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from lamina_engine.care.forgetting import ForgetReport, forget
from lamina_engine.errors import InvalidArgument
from lamina_engine.recall.pipeline import recall

if TYPE_CHECKING:
    from lamina_engine.memory import Memory

_MOST: Final = 10_000


def find_alike(memory: Memory, query: object, where: Mapping[str, Any] | None, threshold: object) -> dict[str, float]:
    """Return the likeness of each chunk that has at least ``threshold``, the most like first."""
    # likeness is the better of cosine and of the share of the query's words: neither depends on age, links or rank
    if not isinstance(query, str) or not query.strip():
        raise InvalidArgument(f"query={query!r} must be text that the chunks to forget are like")
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0.0 < threshold <= 1.0:
        raise InvalidArgument(f"threshold={threshold!r} must be a number above 0, at most 1")
    found = recall(memory, query, k=_MOST, profile="default@1", where=where, time="off", fill=True, per_source=None)
    alike = {hit.id: max(hit.terms["cosine"] or 0.0, hit.terms["coverage"]) for hit in found.hits}
    kept = [(name, score) for name, score in alike.items() if score >= threshold]
    return dict(sorted(kept, key=lambda pair: (-pair[1], pair[0])))


def forget_alike(
    memory: Memory, query: object, where: Mapping[str, Any] | None, threshold: object, *, dry_run: bool
) -> ForgetReport:
    """Forget the chunks that are like a text; their likeness is in the report."""
    alike = find_alike(memory, query, where, threshold)
    if not alike:
        return ForgetReport(0, 0, 0, 0, 0, 0, 0, dry_run, ())
    report = forget(memory, ids=list(alike), dry_run=dry_run)
    return replace(
        report, ids=tuple(alike), likeness=tuple(alike.values()), median=statistics.median(alike.values())
    )  # fmt: skip
