"""Background verification of index files that are too large to verify on opening.

A flipped byte of a forward or inverted list gives a row another score, one of Tantivy's files another candidate: nothing that a
reader could notice. What `damaged` names is read no more; the log stands in for it until the next write.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

from lamina_engine.index import inverted, terms, textindex
from lamina_engine.index.tables import LEXICAL, Tables, lists_path, terms_path
from lamina_engine.index.terms import TermsDamaged
from lamina_engine.index.textindex import TextIndexDamaged
from lamina_engine.store.snapshot import Snapshot

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


def on_a_thread(look: Callable[[], None]) -> threading.Thread:
    """Start a task on a low-priority thread that may stop at any time."""

    def run() -> None:
        with contextlib.suppress(AttributeError, OSError):  # Linux: of this thread alone; elsewhere as it is
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        look()

    thread = threading.Thread(target=run, name="lamina-soundness", daemon=True)
    thread.start()
    return thread
