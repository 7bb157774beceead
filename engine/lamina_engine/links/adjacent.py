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
    from lamina_kernels.layouts import Csr


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
    found = state.graph.node_of(list(names)).astype(np.int64)
    both = ((state.graph.forward, True), (state.graph.backward, False))
    met = [_met(links, out, found, wanted != 0) for links, out in both]
    owner, others, relation, weight, outward = (np.concatenate(parts) for parts in zip(*met, strict=True))
    # of several links to one other the first stands, outward ones before inward ones
    order = np.lexsort((others, owner))
    distinct = np.ones(len(order), np.bool_)
    distinct[1:] = (np.diff(owner[order]) != 0) | (np.diff(others[order]) != 0)
    chosen = order[distinct]
    rows = state.rows[others[chosen]]
    blocked = state.blocked[others[chosen] >> 3] >> (others[chosen] & 7).astype(np.uint8) & 1
    chosen, rows = chosen[(rows >= 0) & (blocked == 0)], rows[(rows >= 0) & (blocked == 0)]
    others, relation, weight, outward = others[chosen], relation[chosen], weight[chosen], outward[chosen]
    cuts = np.searchsorted(owner[chosen], np.arange(len(names) + 1)).tolist()
    return [
        Around(name, node, others[i:j], rows[i:j], relation[i:j], weight[i:j], outward[i:j]) if i < j else None
        for name, node, i, j in zip(names, found.tolist(), cuts, cuts[1:], strict=False)
    ]


def _met(links: Csr, out: bool, found: I64, wanted: BOOL) -> tuple[I64, I64, U8, F32, BOOL]:
    """Return what nodes (-1: none) have links of some relations to: the position of each node, and the links."""
    known = np.flatnonzero(found >= 0)
    begin = links.indptr[found[known]].astype(np.int64)
    counts = links.indptr[found[known] + 1].astype(np.int64) - begin
    entries = np.repeat(begin - np.cumsum(counts) + counts, counts) + np.arange(int(counts.sum()))
    keep = wanted[links.relations[entries]]
    entries, owner = entries[keep], np.repeat(known, counts)[keep]
    targets = links.indices[entries].astype(np.int64)
    return owner, targets, links.relations[entries], links.weights[entries], np.full(len(entries), out)


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
