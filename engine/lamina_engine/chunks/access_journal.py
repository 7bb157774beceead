"""The access journal: readers append recalled rows without a lock, writers log them.

One file of 16-byte records, the row and the moment, appended in one write for each recall. It names rows and no text.
Records written while a writer takes the file may be lost, and a crash just after a commit counts them twice: these are
statistics with a capped effect.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from lamina_engine.index.accesses import ACCESS
from lamina_engine.index.state import FORGOTTEN
from lamina_engine.real_files import open_to_append, read_file, remove_file

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.store.transaction import Transaction

FOLDER: Final = "journal"
MOST_BYTES: Final = 1 << 20
"""Largest size of a journal that no writer folds in: 65,536 accesses."""
_FILE: Final = "accesses"
_PENDING: Final = "accesses.taken"
_RECORD: Final = np.dtype([("row", "<i8"), ("us", "<i8")])


def note(root: Path, rows: Sequence[int], now_us: int) -> None:
    """Append recalled rows in one write. Never raises: on a read-only mount nothing is noted."""
    if not rows:
        return
    record = struct.pack(f"<{2 * len(rows)}q", *(number for row in rows for number in (row, now_us)))
    path = f"{root}/{FOLDER}/{_FILE}"
    with contextlib.suppress(OSError):
        try:
            file = open_to_append(path)
        except FileNotFoundError:
            (root / FOLDER).mkdir(exist_ok=True)
            file = open_to_append(path)
        try:
            if os.fstat(file).st_size < MOST_BYTES:
                os.write(file, record)
        finally:
            os.close(file)


def take(root: Path, transaction: Transaction, view: View) -> bool:
    """Add the journal's records to a transaction; return True if `drop` must follow its commit."""
    data = _read_pending(f"{root}/{FOLDER}/{_FILE}", f"{root}/{FOLDER}/{_PENDING}")
    if data is None:
        return False
    from lamina_engine.chunks.writing import add_events

    records = np.frombuffer(data[: len(data) - len(data) % _RECORD.itemsize], _RECORD)
    records = records[(records["row"] >= 0) & (records["row"] < view.rows)]
    records = records[view.state.status[records["row"]] != FORGOTTEN]
    rows, counts = np.unique(records["row"], return_counts=True)
    if len(rows):
        last = {row: int(records["us"][records["row"] == row].max()) for row in rows.tolist()}
        details = [
            msgspec.json.encode({"count": count, "last_us": last[row]}).decode()
            for row, count in zip(rows.tolist(), counts.tolist(), strict=True)
        ]
        ids = view.snapshot.values("chunks", "id", rows)
        add_events(transaction, ACCESS, ids, rows, transaction.stamps(len(rows)), [None] * len(rows), details)
    return True


def _read_pending(path: str, taken: str) -> bytes | None:
    """Return the journal's bytes; None if it is empty, which every write finds out in two calls."""
    for late in (False, True):
        with contextlib.suppress(OSError):
            if late:  # what an interrupted writer took stays in its place until it is in the log
                os.rename(path, taken)  # noqa: PTH104  a Path costs as much again
            return read_file(taken, 2 * MOST_BYTES)
    return None


def drop(root: Path) -> None:
    """Remove the entries that the log now holds."""
    with contextlib.suppress(OSError):
        remove_file(root / FOLDER / _PENDING)


def erase(root: Path) -> None:
    """Remove all that readers noted and no writer has taken."""
    for name in (_FILE, _PENDING):
        with contextlib.suppress(OSError):
            remove_file(root / FOLDER / name)
