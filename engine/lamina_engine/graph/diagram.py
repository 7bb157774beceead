"""Links of a vault as nodes and edges for a drawing: whole, or around one chunk."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lamina_engine.chunks.identities import find_ends
from lamina_engine.chunks.reading import chunks_at
from lamina_engine.clock import format_instant
from lamina_engine.graph.walks import MAX_BUDGET, neighbours
from lamina_engine.index import nodes
from lamina_engine.index.state import ACTIVE, INVALIDATED

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.results import Chunk

_LINE: Final = 120


def link_diagram(view: View, center: str | None, hops: int, limit: int | None) -> dict[str, Any]:
    """Return chunks and the links between them; see ``Vault.links.graph``."""
    state = nodes.state_of(view)
    graph = state.graph
    sources, targets = np.repeat(np.arange(graph.nodes), np.diff(graph.forward.indptr)), graph.forward.indices
    there = (state.status == ACTIVE) | (state.status == INVALIDATED)
    kept = there[sources] & there[targets]
    sources, targets, relations = sources[kept], targets[kept], graph.forward.relations[kept]
    degree = np.bincount(sources, minlength=graph.nodes) + np.bincount(targets, minlength=graph.nodes)
    linked = np.flatnonzero(degree)
    if center is not None:
        center = find_ends(view, [center])[center][0]
    elif limit is not None and linked.size > limit:
        center = str(view.snapshot.values("chunks", "id", state.rows[[int(np.argmax(degree))]])[0])
    if center is None:
        rows = state.rows[linked]
    else:
        most = MAX_BUDGET if limit is None else min(limit, MAX_BUDGET)
        near = neighbours(view, center, hops=hops, limit=most)[: most - 1]
        rows = view.rows_of_ids([center, *(each.id for each in near)])
    chunks = sorted(chunks_at(view, rows) if len(rows) else (), key=lambda chunk: chunk.id)
    names = dict(zip(graph.node_of([chunk.id for chunk in chunks]).tolist(), chunks, strict=True)) if chunks else {}
    edges = {
        (names[source].id, names[target].id, graph.relations[relation])
        for source, target, relation in zip(sources.tolist(), targets.tolist(), relations.tolist(), strict=True)
        if source in names and target in names
    }
    return {
        "nodes": [{"id": chunk.id, "category": chunk.type, "label": chunk.label or _line(chunk)} for chunk in chunks],
        "edges": [{"source": source, "target": target, "predicate": name} for source, target, name in sorted(edges)],
        "facts": {chunk.id: _facts(chunk) for chunk in chunks},
        "stats": {"chunks": int(linked.size), "links": int(sources.size)},
        "center": center, "left_out": max(0, int(linked.size) - len(chunks)),
    }  # fmt: skip


def _facts(chunk: Chunk) -> list[dict[str, str]]:
    day = (format_instant(chunk.created_at_us) or "")[:10]
    found = {"written": day, "project": chunk.project, "source": chunk.source, "text": _line(chunk)}
    return [{"key": key, "value": value} for key, value in found.items() if value]


def _line(chunk: Chunk) -> str:
    return re.sub(r"\s+", " ", chunk.text[: 3 * _LINE]).strip()[:_LINE]
