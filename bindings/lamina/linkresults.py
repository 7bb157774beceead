"""What links and walks return: instants are ISO 8601 with Z, and every chunk that a walk came to shows its path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina_engine.clock import format_instant

if TYPE_CHECKING:
    from lamina_engine.graph.causes import Cause as Found
    from lamina_engine.graph.links import Link as Standing
    from lamina_engine.graph.walks import Reached, Step
    from lamina_engine.index.view import View


@dataclass(frozen=True, slots=True)
class Link:
    """A standing link."""

    source: str
    target: str
    relation: str
    weight: float
    origin: str
    """Whose word stands: ``user``, or a generator."""
    note: str | None
    created_at: str | None
    recorded_at: str
    count: int | None
    """How often, for relations that are counted."""
    status: str
    """Of the chunk at its other end, as seen from where it was asked."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Near:
    """A chunk that a walk came to, or that is like another."""

    id: str
    title: str | None
    text: str
    type: str
    source: str | None
    created_at: str | None
    status: str
    score: float
    """Of a walk: not bounded, comparable within one answer alone. Of a likeness: the cosine."""
    hops: int
    via: str | None
    """The path, in words: ``a1 -causal-> b2``; None for what it began with."""
    path: tuple[dict[str, Any], ...]
    """Each link of it: source, target, relation, weight, outward."""
    contradicts: bool
    """True where a link of the path says that its ends contradict each other."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self) | {"path": list(self.path)}


@dataclass(frozen=True, slots=True)
class Cause:
    """One hop of a chain of causes, seen from where it was asked."""

    id: str
    title: str | None
    text: str
    type: str
    source: str | None
    created_at: str | None
    status: str
    direction: str
    """``causes``: the chain leads on to it; ``caused_by``: it leads here."""
    depth: int
    confidence: float
    """Of the last link of its chain."""
    product: float
    """Of all links of its chain."""
    reason: str | None
    chain: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self) | {"chain": list(self.chain)}


def link_of(found: Standing) -> Link:
    """Return a link of the engine as users see it."""
    return Link(
        found.source, found.target, found.relation, found.weight, found.origin, found.note,
        format_instant(found.created_at), str(format_instant(found.recorded_at)), found.count, found.status,
    )  # fmt: skip


def reached(view: View, found: Sequence[Reached]) -> list[Near]:
    """Return what a walk came to."""
    shown = _shown(view, [each.id for each in found])
    return [
        Near(
            **about, status=each.status, score=each.score, hops=each.hops, via=_told(each.via),
            path=tuple(asdict(step) for step in each.via), contradicts=each.contradicts,
        )
        for each, about in zip(found, shown, strict=True)
    ]  # fmt: skip


def alike(view: View, found: Sequence[tuple[str, float]]) -> list[Near]:
    """Return chunks with their cosines."""
    shown = _shown(view, [name for name, _ in found])
    return [
        Near(**about, status="active", score=score, hops=0, via=None, path=(), contradicts=False)
        for (_, score), about in zip(found, shown, strict=True)
    ]


def caused(view: View, found: Sequence[Found]) -> list[Cause]:
    """Return the hops of chains of causes."""
    shown = _shown(view, [each.id for each in found])
    return [
        Cause(
            **about, status=each.status, direction=each.direction, depth=each.depth, confidence=each.confidence,
            product=each.product, reason=each.reason, chain=each.chain,
        )
        for each, about in zip(found, shown, strict=True)
    ]  # fmt: skip


_SHOWN = ("id", "title", "text", "type", "source", "created_at")


def _shown(view: View, ids: list[str]) -> list[dict[str, Any]]:
    rows = view.rows_of_ids(ids) if ids else np.empty(0, np.int64)
    records = view.snapshot.records("chunks", rows, _SHOWN) if ids else []
    return [{**record, "created_at": format_instant(record["created_at"])} for record in records]


def _told(path: Sequence[Step]) -> str | None:
    if not path:
        return None
    first = path[0]
    said = first.source if first.outward else first.target
    for step in path:
        said += f" -{step.relation}-> {step.target}" if step.outward else f" <-{step.relation}- {step.source}"
    return said
