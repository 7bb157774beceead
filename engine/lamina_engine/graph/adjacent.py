"""What lies one link away from each of a few hits, for a recall: rows first, ids and dates of the few that matter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lamina_engine.clock import MISSING_US
from lamina_engine.graph.leads import step_of
from lamina_engine.graph.registry import STANDARD, Registry
from lamina_engine.index import nodes
from lamina_kernels.graph import injection
from lamina_kernels.graph.csr import entries

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.results import Step
    from lamina_kernels.layouts import F64, I32, I64, U8


class Adjacent(NamedTuple):
    """Chunks around some hits: hit after hit, each other chunk once a hit, by the first link that leads to it.

    Attributes
    ----------
    hits : int64 (s,)
        Current rows.
    hit_nodes : int32 (s,)
        -1 for hits without links.
    owners : int64 (m,)
        Position of the hit.
    nodes : int32 (m,)
    rows : int64 (m,)
    entries : int64 (m,)
        Of the link among links by source, or by target.
    outward : uint8 (m,)
        1 where the hit is its source.
    """

    hits: I64
    hit_nodes: I32
    owners: I64
    nodes: I32
    rows: I64
    entries: I64
    outward: U8

    def only(self, places: I64) -> Adjacent:
        """Return some of them."""
        return Adjacent(
            self.hits, self.hit_nodes, self.owners[places], self.nodes[places], self.rows[places], self.entries[places],
            self.outward[places],
        )  # fmt: skip


def around(view: View, hits: I64, relations: Sequence[str], registry: Registry = STANDARD) -> Adjacent:
    """Return what the links of some relations lead to from each hit, in both directions, outward ones first.

    Parameters
    ----------
    view : View
    hits : int64 (s,)
        Rows.
    relations : sequence of str
        Those that no link has lead nowhere.

    Raises
    ------
    InvalidArgument
        For a relation that is not registered.

    Notes
    -----
    Chunks that may not be walked (removed, forgotten) are left out. O(links of the hits).
    """
    state = nodes.state_of(view)
    walked, _ = registry.masks(state.graph.relations, relations, "both")
    current = nodes.current_rows(view, hits)
    hit_nodes = nodes.nodes_of_rows(view, current)
    found = injection.gather_neighbours(state.graph.forward, state.graph.backward, hit_nodes, walked, state.blocked)
    return Adjacent(
        current, hit_nodes, found.owners, found.nodes, state.rows[found.nodes], found.entries, found.outward
    )


def chosen(view: View, found: Adjacent, scores: F64, worth: F64, most: int, *, best: bool) -> I64:
    """Return which chunks the hits bring along, each once: by score, then the newer link, then id.

    Parameters
    ----------
    found : Adjacent
    scores : float64 (m,)
        Of each chunk, beside its hit.
    worth, most, best
        As `lamina_kernels.graph.injection.choose_neighbours` has them.
    """
    unknown = np.empty(0, np.int64)
    picked, tied = injection.choose_neighbours(found.owners, found.nodes, scores, worth, unknown, most, best)
    if tied:
        places = _places(view, found, np.flatnonzero(np.bincount(found.owners)[found.owners] > most))
        picked, _ = injection.choose_neighbours(found.owners, found.nodes, scores, worth, places, most, best)
    return picked


def step_to(view: View, found: Adjacent, position: int) -> Step:
    """Return the link that leads from a hit to a chunk."""
    ends = np.array([found.hits[found.owners[position]], found.rows[position]])
    hit, name = (str(each) for each in view.snapshot.values("chunks", "id", ends))
    return step_of(nodes.state_of(view), int(found.entries[position]), bool(found.outward[position]), hit, name)


def _places(view: View, found: Adjacent, wanted: I64) -> I64:
    """Return the places of some chunks among each other: the newer its link to the hit, the earlier, then by id; else 0."""
    newest = (~_newest_links(view, found, wanted)).tolist()  # the other way round: it cannot overflow
    names = view.snapshot.values("chunks", "id", found.rows[wanted])
    keys = list(zip(newest, names, strict=True))
    places = np.zeros(len(found.rows), np.int64)
    places[wanted[sorted(range(len(keys)), key=keys.__getitem__)]] = np.arange(len(keys))
    return places


def _newest_links(view: View, found: Adjacent, wanted: I64) -> I64:
    """Return when the newest link between a hit and each of some chunks came to be, whichever way and relation; us UTC."""
    claims = nodes.state_of(view).graph.claims
    here, there = found.hit_nodes[found.owners[wanted]].astype(np.int64), found.nodes[wanted].astype(np.int64)
    ends, others = np.concatenate([here, there]), np.concatenate([there, here])
    pairs, said = entries(claims.indptr, ends)
    between = np.flatnonzero(claims.targets[said] == others[pairs])
    newest = np.full(len(here), MISSING_US, np.int64)
    np.maximum.at(newest, pairs[between] % len(here), nodes.link_dates(view, claims.rows[said[between]]))
    return newest
