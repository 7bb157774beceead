"""Link graph of a version: current links as compressed sparse rows, in both directions.

A node is a chunk's id, numbered when a link first names it; it outlives the chunk's rows. Which row a node has and
whether it may be walked belongs to a view: see `lamina_engine.index.nodes`. Ids are known by their 64-bit hashes. Rows
of the graph are ordered by the hash of the other end's id, then by relation, so walks do not depend on the order in
which links were written.

A saved graph covers a prefix of the log. What was written since is merged when the graph is read: the claims of the
sources it names are settled anew, and their rows, with those of their targets, replaced. So where a saved graph ends
changes no answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina_engine.errors import InvalidArgument
from lamina_engine.index.claims import (
    USAGE,
    Claims,
    LinkRows,
    current_claims,
    origin_ranks,
    read_rows,
    resolve_claims,
    squash,
)
from lamina_engine.index.keys import Hashes, KeyIndex, hash_ids
from lamina_kernels.graph import csr
from lamina_kernels.layouts import I32, I64, U8, Csr

if TYPE_CHECKING:
    from lamina_engine.store.snapshot import Snapshot

MAX_NAMES: Final = 256
"""Codes of relations and of origins are bytes."""


class LinkGraph(NamedTuple):
    """Standing links after a prefix of the links log. Immutable."""

    rows: int
    """Rows of the links log that it covers."""
    keys: KeyIndex
    """From the hash of an id to its node."""
    hashes: Hashes
    """uint64 (n,): the hash of each node's id."""
    relations: tuple[str, ...]
    """Relations by code."""
    origins: tuple[str, ...]
    """Origins by code."""
    claims: Claims
    forward: Csr
    """Standing links by source."""
    backward: Csr
    """The same by target."""

    @property
    def nodes(self) -> int:
        """Ids that the links log names, or named."""
        return len(self.hashes)

    @property
    def links(self) -> int:
        """Standing links."""
        return len(self.forward.indices)

    def node_of(self, identities: list[str]) -> I64:
        """Return int64: the node of each id, -1 for ids without links."""
        return self.keys.lookup(hash_ids(identities)) if identities and self.nodes else np.full(len(identities), -1)

    def extended(self, found: LinkRows, stop: int) -> LinkGraph:
        """Return the graph with later rows of the log merged in.

        Parameters
        ----------
        found : LinkRows
            Rows from `rows` on.
        stop : int
            Rows of the log that it covers then.

        Notes
        -----
        O(claims of the sources named), and a copy of the arrays.
        """
        if not len(found.rows):
            return self._replace(rows=stop)
        keys, hashes = self._with_nodes(np.concatenate([found.sources, found.targets]))
        relations, origins = _with_names(self.relations, found.relations), _with_names(self.origins, found.origins)
        sources, targets = (keys.lookup(each).astype(np.int32) for each in (found.sources, found.targets))
        n = len(hashes)
        touched = np.flatnonzero(_members(n, sources))
        before = self._claims_of(touched)
        relation_code = {name: code for code, name in enumerate(relations)}
        origin_code = {name: code for code, name in enumerate(origins)}
        settled = resolve_claims(
            n,
            np.concatenate([before.sources, sources]),
            np.concatenate([before.targets, targets]),
            np.concatenate([before.relations, np.array([relation_code[name] for name in found.relations], np.uint8)]),
            np.concatenate([before.origins, np.array([origin_code[name] for name in found.origins], np.uint8)]),
            np.concatenate([before.weights, found.weights]),
            np.concatenate([np.ones(len(before.sources), np.bool_), found.active]),
            np.concatenate([before.rows, found.rows]),
            origin_ranks(origins),
        )
        forward_rows = _rows_of(settled, hashes, relations)
        forward = csr.replace_rows(self.forward, touched, forward_rows)
        changed_targets = np.flatnonzero(_members(n, targets))
        backward = csr.replace_rows(
            self.backward, changed_targets, self._turned(n, touched, changed_targets, forward_rows, hashes, relations)
        )
        claims = _replaced(self.claims, touched, settled)
        return LinkGraph(stop, keys, hashes, relations, origins, claims, forward, backward)

    def _with_nodes(self, named: Hashes) -> tuple[KeyIndex, Hashes]:
        """Number the ids that no link named before, by hash."""
        fresh = np.sort(named[self.keys.lookup(named) < 0])
        fresh = fresh[np.concatenate([[True], fresh[1:] != fresh[:-1]])] if len(fresh) else fresh
        return self.keys.extend(fresh), np.concatenate([self.hashes, fresh])

    def _claims_of(self, nodes: I64) -> _Owned:
        """Return the claims of some sources; nodes that are new have none."""
        known = nodes[nodes < self.nodes]
        owners, found = csr.entries(self.claims.indptr, known)
        c = self.claims
        return _Owned(
            known[owners].astype(np.int32), c.targets[found], c.relations[found], c.origins[found], c.weights[found],
            c.rows[found],
        )  # fmt: skip

    def _turned(self, n: int, sources: I64, targets: I64, rows: Csr, hashes: Hashes, relations: tuple[str, ...]) -> Csr:
        """Return the rows by target of some targets after the rows of some sources changed."""
        known = targets[targets < self.nodes]
        owners, found = csr.entries(self.backward.indptr, known)
        others = self.backward.indices[found]
        kept = ~_members(n, sources)[others]
        owners, found, others = owners[kept], found[kept], others[kept]
        new = _members(n, targets)[rows.indices]
        return _ordered(
            n,
            np.concatenate([known[owners].astype(np.int32), rows.indices[new]]),
            np.concatenate([others, csr.sources(rows)[new]]),
            np.concatenate([self.backward.weights[found], rows.weights[new]]),
            np.concatenate([self.backward.relations[found], rows.relations[new]]),
            hashes,
            relations,
        )


class _Owned(NamedTuple):
    sources: I32
    targets: I32
    relations: U8
    origins: U8
    weights: NDArray[np.float32]
    rows: I64


def empty() -> LinkGraph:
    """Return the graph of an empty log."""
    at, i32, u8 = np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.uint8)
    f32, i64 = np.empty(0, np.float32), np.empty(0, np.int64)
    none = Csr(at, i32, f32, u8)
    return LinkGraph(0, KeyIndex(), np.empty(0, np.uint64), (), (), Claims(at, i32, u8, u8, f32, i64), none, none)


def build(snapshot: Snapshot, stop: int) -> LinkGraph:
    """Return the graph of the first rows of the links log. O(rows log rows)."""
    return empty().extended(read_rows(snapshot, 0, stop), stop)


def _members(n: int, nodes: NDArray[Any]) -> NDArray[np.bool_]:
    found = np.zeros(n, np.bool_)
    found[nodes] = True
    return found


def _with_names(names: tuple[str, ...], found: list[str]) -> tuple[str, ...]:
    """Append names that are new, in order; old codes stay."""
    longer = (*names, *sorted(set(found) - set(names)))
    if len(longer) > MAX_NAMES:
        raise InvalidArgument(f"the links log has {len(longer)} relations or origins; at most {MAX_NAMES} are allowed")
    return longer


def _rows_of(claims: Claims, hashes: Hashes, relations: tuple[str, ...]) -> Csr:
    """Return the standing links of claims as rows by source."""
    n = len(hashes)
    sources = np.repeat(np.arange(n, dtype=np.int32), np.diff(claims.indptr))
    kept = current_claims(claims, sources)
    weights = claims.weights[kept]
    if USAGE in relations:
        counted = claims.relations[kept] == relations.index(USAGE)
        weights[counted] = squash(weights[counted])
    return _ordered(n, sources[kept], claims.targets[kept], weights, claims.relations[kept], hashes, relations)


def _ordered(
    n: int,
    owners: I32,
    others: I32,
    weights: NDArray[np.float32],
    kinds: U8,
    hashes: Hashes,
    relations: tuple[str, ...],
) -> Csr:
    """Return rows by owner, then by hash of the other end, then by relation."""
    places = np.argsort(np.argsort(np.array(relations, np.str_))) if relations else np.empty(0, np.int64)
    order = np.lexsort((places[kinds], hashes[others]))
    return csr.build(n, owners[order], others[order], weights[order], kinds[order])


def _replaced(claims: Claims, nodes: I64, settled: Claims) -> Claims:
    """Replace the claims of some sources; as two `Csr`, which have three columns each."""
    ends = csr.replace_rows(
        Csr(claims.indptr, claims.targets, claims.weights, claims.relations), nodes,
        Csr(settled.indptr, settled.targets, settled.weights, settled.relations),
    )  # fmt: skip
    says = csr.replace_rows(
        Csr(claims.indptr, claims.rows, claims.weights, claims.origins), nodes,  # type: ignore[arg-type]
        Csr(settled.indptr, settled.rows, settled.weights, settled.origins),  # type: ignore[arg-type]
    )  # fmt: skip
    return Claims(ends.indptr, ends.indices, ends.relations, says.relations, ends.weights, says.indices)  # type: ignore[arg-type]
