"""Background verification of files that are too large to verify on opening.

A damaged segment is named in a warning: nothing can stand in for it, and a flipped bit in one of its rows is no reason to
refuse the others; what would copy its rows refuses.

A flipped byte of a forward or inverted list gives a row another score, one of Tantivy's files another candidate: nothing that a
reader could notice. What `damaged` names is read no more; the log stands in for it until the next write.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

from lamina_engine.errors import VaultCorrupt
from lamina_engine.index import inverted, terms, textindex
from lamina_engine.index.tables import LEXICAL, Tables, lists_path, terms_path
from lamina_engine.index.terms import TermsDamaged
from lamina_engine.index.textindex import TextIndexDamaged
from lamina_engine.store.segments import CHECKED_BYTES
from lamina_engine.store.snapshot import Snapshot

logger = logging.getLogger(__name__)

_NICE = 19


def damaged(tables: Tables, snapshot: Snapshot) -> dict[str, str]:
    """Verify files that were opened unread; return the damage by name. O(bytes), 2 GB/s.

    Files that vanish meanwhile were replaced, and are passed over.
    """
    found: dict[str, str] = {}
    for segment in snapshot.segments("chunks"):
        readers: tuple[tuple[Path, Callable[[Path], object]], ...] = (
            (terms_path(tables.folder, segment), partial(terms.open_terms, verify=True)),
            (lists_path(tables.folder, segment), partial(inverted.open_lists, rows=segment.rows, verify=True)),
        )
        for path, read in readers:
            with contextlib.suppress(OSError):
                if path.stat().st_size <= terms.CHECKED_BYTES or not tables.trusts(path.name):
                    continue
                try:
                    read(path)
                except TermsDamaged as error:
                    if path.exists():
                        found[path.name] = str(error)
    record = snapshot.manifest.indexes.get(LEXICAL)
    if record is not None and tables.trusts(str(record["folder"])):
        folder = tables.folder / str(record["folder"])
        try:
            if not textindex.is_small(folder):
                textindex.check_files(folder)
        except (TextIndexDamaged, OSError) as error:
            if folder.exists():
                found[folder.name] = str(error)
    return found


def name_damaged_segments(snapshot: Snapshot) -> None:
    """Warn of large segments whose bytes have changed. O(bytes)."""
    for log in snapshot.manifest.logs:
        for segment in snapshot.segments(log):
            if segment.ref.size >= CHECKED_BYTES:
                try:
                    segment.require_intact()
                except VaultCorrupt as error:
                    logger.warning("%s", error)


def on_a_thread(look: Callable[[], None], due: threading.Event, wait_s: float) -> threading.Thread:
    """Start a task on a low-priority thread, once it is due or the time is up."""

    def run() -> None:
        due.wait(wait_s)
        with contextlib.suppress(AttributeError, OSError):  # Linux: of this thread alone; elsewhere as it is
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        look()

    thread = threading.Thread(target=run, name="lamina-soundness", daemon=True)
    thread.start()
    return thread
