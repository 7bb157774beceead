"""Forgetting: every byte of some chunks leaves the vault; contentless tombstones keep the row numbers of all others.

What is written anew is decided here, log by log; `lamina_engine.store.writer` makes it one commit, after which the old
files go. Everything derived is made again from what is left.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from lamina_engine.erasure import Erasure

if TYPE_CHECKING:
    from lamina_engine.memory import Memory

TOMBSTONE: Final = "forgotten-"
"""How the id of a tombstone begins; what follows is random and says nothing of the chunk."""


@dataclass(frozen=True, slots=True)
class ForgetReport:
    """What was forgotten, or would be."""

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
    """Bytes of the log files that are written anew: what the forgetting costs."""
    dry_run: bool
    """True where nothing was changed."""
    ids: tuple[str, ...]
    """Their ids."""


def forget(
    memory: Memory,
    where: Mapping[str, Any] | None = None,
    ids: Sequence[str] | None = None,
    *,
    dry_run: bool = True,
    token: Callable[[], str] = partial(secrets.token_hex, 8),
) -> ForgetReport:
    """Remove every byte of some chunks: all versions, vectors, events' words, places in sources, links.

    Parameters
    ----------
    memory : Memory
        The vault.
    where : mapping, optional
        A filter in the grammar of `lamina_engine.recall.where`. It is asked of the newest version of every chunk, those
        that are invalidated or removed included; a chunk that it accepts is forgotten with all its versions.
    ids : sequence of str, optional
        Ids, or unambiguous short ones.
    dry_run : bool
        Only count.
    token : callable
        Gives the random part of a tombstone's id.

    Returns
    -------
    ForgetReport

    Raises
    ------
    InvalidArgument
        When neither or both of ``where`` and ``ids`` are given, or what is given accepts everything.
    ChunkNotFound, AmbiguousId
        For an id; nothing is forgotten then.
    VaultCorrupt
        When a file that would be written anew is damaged.
    VaultReadOnly, VaultLocked, OSError
        Nothing has changed then, but where the very last flush to disk fails.

    Notes
    -----
    The files of the log that hold such rows, and those with rows that were indexed with their words, are written anew;
    then the forward lists of these files are analysed again, and all other indexes are built again. O(rows).

    A source keeps its row: ingested again unchanged it brings nothing back. Where its file is changed or moved and still
    has the text, that is new text.
    """
    _check(where, ids, dry_run)
    if dry_run:
        view = memory.view()
        return _report(Erasure(view.snapshot, _rows(memory, view, where, ids)).plan(), _names, dry_run=True)
    with memory.write() as (transaction, view):
        erasure = Erasure(view.snapshot, _rows(memory, view, where, ids), lambda: TOMBSTONE + token())
        plan = erasure.plan()
        if plan.chunks:
            _write(transaction, plan)
    return _report(plan, dry_run=False)
