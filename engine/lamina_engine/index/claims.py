"""Claims about links: each origin's newest row, and the claim that takes precedence.

A link is a source, a target and a relation. Each origin (the user, a generator) claims it with a weight and a note; its
later row replaces its earlier one, and a row that is not active withdraws its claim and nobody else's. Of several
claims the one of the origin that comes first in `ORIGINS` stands, whichever was written first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina_engine import columns
from lamina_engine.errors import VaultCorrupt
from lamina_engine.index.keys import Hashes, hash_ids
from lamina_engine.store.segments import Segment
from lamina_engine.store.snapshot import Snapshot
from lamina_kernels.layouts import F32, I32, I64, U8

ORIGINS: Final = (
    "user", "beads", "clawpy", "import", "judged", "wikilink", "markdown", "sequence", "within-session",
    "cross-session", "brief", "debrief", "team", "temporal", "mention", "entity", "semantic", "similar",
    "usage",
)  # fmt: skip
"""Origins by priority, highest first; others come after these, by name."""

USAGE: Final = "usage"
"""The relation whose weight in the log is a count."""
_HALF_COUNT: Final = 3.0
_ENCODED_FROM: Final = 4_096  # rows from which encoding ids, which loads pyarrow.compute, saves more than it costs


def squash(count: F32) -> F32:
    """Return counts as weights in [0, 1): count / (count + 3), so 1 is 0.25 and 3 is 0.5."""
    return (count / (count + np.float32(_HALF_COUNT))).astype(np.float32)


def origin_ranks(origins: Sequence[str]) -> I64:
    """Rank origins by priority, int64; 0 is the highest."""
    place = {name: i for i, name in enumerate(ORIGINS)}
    order = sorted(range(len(origins)), key=lambda i: (place.get(origins[i], len(place)), origins[i]))
    return np.argsort(np.array(order, np.int64))


class LinkRows(NamedTuple):
    """Rows of the links log, in their order, without those that were forgotten.

    Attributes
    ----------
    sources, targets : uint64 (r,)
        Hashes of ids; see `lamina_engine.index.keys.hash_ids`.
    relations, origins : list of str
    weights : float32 (r,)
        As written: a count for `USAGE`.
    active : bool (r,)
    rows : int64 (r,)
        Numbers in the log.
    """

    sources: Hashes
    targets: Hashes
    relations: list[str]
    origins: list[str]
    weights: F32
    active: NDArray[np.bool_]
    rows: I64


def read_rows(snapshot: Snapshot, start: int, stop: int) -> LinkRows:
    """Read rows ``start`` to ``stop`` of the links log; 1 to 3 us a row."""
    parts: list[LinkRows] = []
    for segment in snapshot.segments("links"):
        begin, end = max(start, segment.start) - segment.start, min(stop, segment.start + segment.rows) - segment.start
        if begin >= end:
            continue
        relations = segment.texts("relation", begin, end)
        kept = np.array([name != "" for name in relations], np.bool_)
        parts.append(
            LinkRows(
                _hashes(segment, "source", begin, end)[kept],
                _hashes(segment, "target", begin, end)[kept],
                [name for name in relations if name],
                [name for name, keep in zip(segment.texts("origin", begin, end), kept.tolist(), strict=True) if keep],
                segment.numbers("weight")[begin:end][kept].astype(np.float32),
                np.array(segment.texts("active", begin, end), np.bool_)[kept],
                np.arange(begin, end)[kept] + segment.start,
            )
        )
    if len(parts) == 1:
        return parts[0]
    return LinkRows(
        _joined([part.sources for part in parts], np.uint64), _joined([part.targets for part in parts], np.uint64),
        [name for part in parts for name in part.relations], [name for part in parts for name in part.origins],
        _joined([part.weights for part in parts], np.float32), _joined([part.active for part in parts], np.bool_),
        _joined([part.rows for part in parts], np.int64),
    )  # fmt: skip


def _joined(arrays: list[Any], kind: Any) -> Any:
    return np.concatenate([np.empty(0, kind), *arrays])


def _hashes(segment: Segment, name: str, begin: int, end: int) -> Hashes:
    if end - begin < _ENCODED_FROM:
        return hash_ids(segment.texts(name, begin, end))
    encoded = segment.column(name)[begin:end].dictionary_encode()
    try:
        distinct: Hashes = hash_ids(encoded.dictionary.to_pylist())
    except UnicodeDecodeError as error:
        raise VaultCorrupt(f"{segment.path}, column {name}: {error}; `lamina verify --deep` says more") from error
    return distinct[columns.numbers(encoded.indices).astype(np.int64)]


class Claims(NamedTuple):
    """Active claims by source, target, relation code and origin's priority.

    Attributes
    ----------
    indptr : int64 (n + 1,)
    targets : int32 (c,)
    relations, origins : uint8 (c,)
        Codes.
    weights : float32 (c,)
        As written.
    rows : int64 (c,)
        Row of the links log that says it.
    """

    indptr: I64
    targets: I32
    relations: U8
    origins: U8
    weights: F32
    rows: I64


def resolve_claims(
    n: int, sources: I32, targets: I32, relations: U8, origins: U8, weights: F32, active: NDArray[np.bool_], rows: I64,
    ranks: I64,
) -> Claims:  # fmt: skip
    """Return the claims that are active after some rows, given in the order of the log.

    Parameters
    ----------
    n : int
        Nodes.
    sources, targets : int32 (r,)
    relations, origins : uint8 (r,)
        Codes.
    weights : float32 (r,)
    active : bool (r,)
    rows : int64 (r,)
    ranks : int64
        Priority of each origin code; see `origin_ranks`.

    Notes
    -----
    O(r log r).
    """
    order = np.lexsort((ranks[origins], relations, targets, sources))  # stable: equal ones stay in the order of the log
    last = np.ones(order.size, np.bool_)
    if order.size:
        same = np.ones(order.size - 1, np.bool_)
        for column in (sources, targets, relations, origins):
            ordered = column[order]
            same &= ordered[1:] == ordered[:-1]
        last[:-1] = ~same
    kept = order[last & active[order]]
    indptr = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(sources[kept], minlength=n), out=indptr[1:])
    return Claims(indptr, targets[kept], relations[kept], origins[kept], weights[kept], rows[kept])


def current_claims(claims: Claims, sources: I32) -> NDArray[np.bool_]:
    """Return bool (c,): True for each link's current claim; ``sources`` owns each claim."""
    first = np.ones(claims.targets.size, np.bool_)
    if first.size:
        first[1:] = (
            (sources[1:] != sources[:-1])
            | (claims.targets[1:] != claims.targets[:-1])
            | (claims.relations[1:] != claims.relations[:-1])
        )
    return first
