"""What lies one link away from each of a few chunks, for a recall: rows first, ids and dates of the few that matter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lamina_engine.index import nodes
from lamina_engine.links.registry import STANDARD, Registry
from lamina_engine.links.walks import Step
from lamina_kernels.layouts import BOOL, F32, I64, U8

if TYPE_CHECKING:
    from lamina_engine.index.nodes import NodeState
    from lamina_engine.index.view import View


class Around(NamedTuple):
    """The chunks around one, each once, by the first link that leads to it: outward ones before inward ones.

    Attributes
    ----------
    name : str
        Id of the one in the middle.
    node : int
    others : int64 (m,)
        Nodes.
    rows : int64 (m,)
        Their rows.
    relations : uint8 (m,)
    weights : float32 (m,)
    outward : bool (m,)
    """

    name: str
    node: int
    others: I64
    rows: I64
    relations: U8
    weights: F32
    outward: BOOL


class Adjacent(NamedTuple):
    """A chunk at the other end of a link."""

    row: int
    id: str
    created_at: int | None
    """Of the newest link between the two, us UTC."""
    step: Step


def around(
    view: View, names: Sequence[str], relations: Sequence[str], registry: Registry = STANDARD
) -> list[Around | None]:
    """Return what the links of some relations lead to from each chunk, in both directions; None where there are none.

    Parameters
    ----------
    view : View
    names : sequence of str
        Whole ids.
    relations : sequence of str
        Those that no link has lead nowhere.

    Raises
    ------
    InvalidArgument
        For a relation that is not registered.

    Notes
    -----
    Chunks that may not be walked (removed, forgotten) are left out. O(links of the chunks).
    """
    state = nodes.state_of(view)
    wanted, _ = registry.masks(state.graph.relations, relations, "both")
    found = state.graph.node_of(list(names)).tolist()
    return [
        _around(state, name, node, wanted != 0) if node >= 0 else None for name, node in zip(names, found, strict=True)
    ]


def _around(state: NodeState, name: str, node: int, wanted: BOOL) -> Around | None:
    others, relations, weights, outward = [], [], [], []
    for links, out in ((state.graph.forward, True), (state.graph.backward, False)):
        begin, end = int(links.indptr[node]), int(links.indptr[node + 1])
        entries = begin + np.flatnonzero(wanted[links.relations[begin:end]])
        others.append(links.indices[entries].astype(np.int64))
        relations.append(links.relations[entries])
        weights.append(links.weights[entries])
        outward.append(np.full(len(entries), out))
    every = np.concatenate(others)
    _, first = np.unique(every, return_index=True)
    rows = state.rows[every[first]]
    blocked = state.blocked[every[first] >> 3] >> (every[first] & 7).astype(np.uint8) & 1
    first = first[(rows >= 0) & (blocked == 0)]
    if not len(first):
        return None
    return Around(
        name, node, every[first], state.rows[every[first]], np.concatenate(relations)[first],
        np.concatenate(weights)[first], np.concatenate(outward)[first],
    )  # fmt: skip


def described(view: View, found: Around, chosen: I64) -> list[Adjacent]:
    """Return some of what lies around a chunk, with ids, the link to each, and when it came to be."""
    state = nodes.state_of(view)
    others, rows = found.others[chosen].tolist(), found.rows[chosen]
    ids = [str(name) for name in view.snapshot.values("chunks", "id", rows)]
    created = _created(view, state, found.node, set(others))
    out = []
    for position, other, row, name in zip(chosen.tolist(), others, rows.tolist(), ids, strict=True):
        outward = bool(found.outward[position])
        ends = (found.name, name) if outward else (name, found.name)
        relation = state.graph.relations[int(found.relations[position])]
        step = Step(*ends, relation, float(found.weights[position]), outward)
        out.append(Adjacent(row, name, created.get(other), step))
    return out


def _created(view: View, state: NodeState, node: int, others: set[int]) -> dict[int, int]:
    """Return when the newest link between a node and each of some others came to be."""
    claims = state.graph.claims
    pairs: list[tuple[int, int]] = []
    for owner in (node, *sorted(others)):
        for at in range(int(claims.indptr[owner]), int(claims.indptr[owner + 1])):
            target = int(claims.targets[at])
            if owner == node and target in others:
                pairs.append((target, at))
            elif owner != node and target == node:
                pairs.append((owner, at))
    rows = np.array([int(claims.rows[at]) for _, at in pairs], np.int64)
    newest: dict[int, int] = {}
    for (other, _), us in zip(pairs, view.snapshot.values("links", "created_at", rows), strict=True):
        if us is not None:
            newest[other] = max(newest.get(other, us), us)
    return newest
