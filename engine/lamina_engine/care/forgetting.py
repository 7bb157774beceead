"""Forgetting: removes every byte of some chunks, leaving contentless tombstones.

`lamina_engine.care.erasure` decides what to rewrite, log by log. One commit publishes it; then the old files are deleted,
and indexes are rebuilt from what is left.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lamina_engine.arguments import ids_of
from lamina_engine.care.erasure import Change, Erasure
from lamina_engine.care.salvage import remove_copies
from lamina_engine.chunks.identities import find_row
from lamina_engine.chunks.writing import add_events
from lamina_engine.errors import InvalidArgument, VaultCorrupt, VaultLocked
from lamina_engine.index.row_columns import NO_VALUE
from lamina_engine.index.state import FORGOTTEN, SUPERSEDED
from lamina_engine.recall import filters
from lamina_engine.reports import Report
from lamina_engine.store import journals
from lamina_engine.topics.places import remove_places

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_engine.recall.filters import Node
    from lamina_engine.store.snapshot import Rows
    from lamina_engine.store.transaction import Transaction

TOMBSTONE: Final = "forgotten-"
"""How the id of a tombstone begins; what follows is random and says nothing of the chunk."""
_LOGS: Final = (
    "chunks", "vectors", "events", "sources", "links", "topics", "members", "facts", "entities", "aliases", "origins", "freshness",
)  # fmt: skip
"""Logs that hold something of a chunk."""


@dataclass(frozen=True, slots=True, repr=False)
class ForgetReport(Report):
    """Report of a forget, done or planned."""

    chunks: int
    """How many chunks."""
    rows: int
    """Rows of the chunks log: all their versions."""
    vectors: int
    """Vectors, in every embedding space."""
    events: int
    """Events about them."""
    sources: int
    """Rows of the sources log that named them."""
    links: int
    """Rows of the links log that began or ended at one of them."""
    bytes: int
    """Bytes of the log files that are rewritten: the cost, not the space freed."""
    dry_run: bool
    """True where nothing was changed."""
    ids: tuple[str, ...]
    """Their ids."""
    facts: int = 0
    """Rows of the facts log that one of them says, with what became of those."""
    likeness: tuple[float, ...] = ()
    """Of each id to the query that chose it, the greatest first."""
    median: float | None = None
    """Median of the likeness."""


def _random() -> str:
    return secrets.token_hex(8)


def forget(
    memory: Memory,
    where: Mapping[str, Any] | None = None,
    ids: str | Sequence[str] | None = None,
    *,
    dry_run: bool = True,
    token: Callable[[], str] = _random,
) -> ForgetReport:
    """Remove every byte of some chunks: versions, vectors, events, places in sources, links.

    Notes
    -----
    Log files that hold such rows, and those with rows that were indexed with their words, are rewritten, and these rows
    analysed again; the other indexes are rebuilt. O(rows); memory for one rewritten file.

    A source keeps the digest of its bytes, so ingesting it again unchanged brings nothing back; its name goes with its last
    chunk. If its file was changed and still has the text, that counts as new text.
    """
    wanted = [ids] if isinstance(ids, str) else ids
    node = _check_arguments(memory, where, wanted)
    if not isinstance(dry_run, bool):
        raise InvalidArgument(f"dry_run={dry_run!r} must be True (only count) or False (forget)")
    if dry_run:
        return _Forgetting(memory.view(), node, wanted, token).report(dry_run=True)
    with memory.write(journal=False) as (transaction, view):
        forgetting = _Forgetting(view, node, wanted, token)
        forgetting.write(transaction)
        _clear_build_dir(memory)
    journals.erase(memory.root, forgetting.ids, forgetting.names())
    remove_places(memory.tables.folder)
    remove_copies(memory.root)
    return forgetting.report(dry_run=False)


def _clear_build_dir(memory: Memory) -> None:
    """Remove the files of an interrupted reindex; a running one publishes nothing of them."""
    from lamina_engine.reindex.derived import BUILDING, build_dir

    if (memory.tables.folder / BUILDING).is_dir():
        with contextlib.suppress(VaultLocked), build_dir(memory.tables.folder):
            pass


def _check_arguments(memory: Memory, where: Mapping[str, Any] | None, ids: Sequence[str] | None) -> Node | None:
    """Return the filter, or None for ids; refuse one that would forget everything."""
    if (where is None) == (ids is None):
        raise InvalidArgument("forget takes either where or ids, and needs one of them; give the chunks to forget")
    if ids is not None:
        if not ids_of(ids):
            raise InvalidArgument("ids is empty; give the ids of the chunks to forget")
        return None
    node = filters.parse_filter(where, memory.config.tz, memory.clock.now_us())
    if not filters.fields_of(node):
        raise InvalidArgument(
            f"where={where!r} names no field, so it accepts every chunk; to forget all of them delete the vault's folder"
        )
    return node


class _Forgetting:
    """Erasure in progress: its chunks, and the rewrite of each log."""

    def __init__(self, view: View, node: Node | None, ids: Sequence[str] | None, token: Callable[[], str]) -> None:
        self._snapshot, self._categories = view.snapshot, view.categories
        current = _matching(view, node) if ids is None else np.array([find_row(view, i) for i in ids], np.int64)
        self._ids: list[str] = list(dict.fromkeys(view.snapshot.values("chunks", "id", current)))
        parts = [view.all_rows_of_id(identity) for identity in self._ids]
        self._rows = np.sort(np.concatenate(parts)) if parts else np.empty(0, np.int64)
        stones = {identity: TOMBSTONE + token() for identity in self._ids}
        holders = view.snapshot.split(self._rows) if self._ids else []
        erasures = [Erasure(own, rows, stones, view.snapshot, self._rows) for own, rows in holders]
        self._names = [stones[name] for name in view.snapshot.values("chunks", "id", self._rows)]
        self._changes: dict[str, list[Change]] = {
            log: [change for each in erasures for change in each.changes(log)] for log in _LOGS
        }

    def write(self, transaction: Transaction) -> None:
        """Put everything into a transaction; nothing where no chunk matches."""
        for change in self._all():
            if not change.segment.is_intact():
                raise VaultCorrupt(
                    f"{change.segment.path} is damaged, and rewriting it would hide that; nothing was forgotten: "
                    "run `lamina verify`, put the file back from a copy, and forget again"
                )
            transaction.replace(change.segment, change.make)
        if self._ids:
            n = len(self._rows)
            add_events(transaction, "forget", self._names, self._rows, transaction.stamps(n), [None] * n)
            for name in self._snapshot.manifest.indexes:
                transaction.set_index(name, None)

    @property
    def ids(self) -> list[str]:
        """The ids that are forgotten."""
        return self._ids

    def names(self) -> set[str]:
        """Return the names of projects, sessions and collections that no other chunk has."""
        found: set[str] = set()
        for field in ("project", "session", "collection"):
            codes = self._categories.column(self._snapshot, field)
            own = np.bincount(codes[self._rows] - NO_VALUE)  # none counts as 0
            every = np.bincount(codes - NO_VALUE)[: len(own)]
            gone = np.flatnonzero((own > 0) & (own == every)) + NO_VALUE
            found |= {name for code in gone.tolist() if (name := self._categories.value(field, code)) is not None}
        return found | {name.partition("@")[0] for name in found}

    def report(self, *, dry_run: bool) -> ForgetReport:
        """Return the report."""
        counts = {log: sum(change.counted for change in changes) for log, changes in self._changes.items()}
        return ForgetReport(
            chunks=len(self._ids), rows=len(self._rows), vectors=counts["vectors"], events=counts["events"],
            sources=counts["sources"], links=counts["links"], bytes=sum(c.segment.ref.size for c in self._all()),
            dry_run=dry_run, ids=tuple(self._ids), facts=counts["facts"],
        )  # fmt: skip

    def _all(self) -> list[Change]:
        return [change for changes in self._changes.values() for change in changes]


def _matching(view: View, node: Node | None) -> Rows:
    """Return the newest rows of each chunk that a filter accepts, whatever their status."""
    newest = ~np.isin(view.state.status, (SUPERSEDED, FORGOTTEN))
    return np.flatnonzero(filters.evaluate(node, view, newest)) if node is not None else np.empty(0, np.int64)
