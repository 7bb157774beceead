"""Names and where they were found, as of a version.

They are kept, so that only what has changed is looked at again.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
from msgspec import Struct

from lamina_engine.errors import LaminaError
from lamina_engine.graph.naming import Name
from lamina_engine.index.sealed import Seal
from lamina_engine.index.state import ACTIVE, State

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory

logger = logging.getLogger(__name__)

MENTIONS: Final = "mentions"
"""Name of the record in a manifest: ``file``, and ``rows`` of the chunks log that it covers."""
_RULES: Final = 1
"""Counts up where the rules change by which names are found."""


class FoundDamaged(LaminaError, OSError):
    """Saved names that are torn or altered; they are looked for again."""


_SEAL: Final = Seal(b"LMNAMNT\n", _RULES, "QQ", what="names that texts mention", damaged=FoundDamaged)


class FoundName(Struct, frozen=True, array_like=True):
    """One name."""

    name: Name
    homes: tuple[str, ...]
    """Ids of the chunks that it stands for."""
    ordinary: bool
    rows: tuple[int, ...] | None
    """Rows whose texts hold it, ascending; None where they are too many, or it stands for several chunks."""


class Found(Struct, frozen=True):
    """All names of a version."""

    rows: int
    events: int
    """Rows of the chunks and events logs that it knows."""
    scale: tuple[int, int]
    """Texts and documents, rounded, by which limits are set."""
    names: list[FoundName]
    symbols: dict[int, list[tuple[str, str]]]
    """By row of code, the words of its definitions and the symbols they define."""

    def changed_rows(self, view: View) -> list[int]:
        """Return the rows that have become active since, or are so no more."""
        before = np.zeros(view.rows, np.bool_)
        before[: self.rows] = State(view.snapshot, rows=self.rows, events=self.events).status == ACTIVE
        rows: list[int] = np.flatnonzero(before != (view.state.status == ACTIVE)).tolist()
        return rows


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(Found)


def load(view: View) -> Found | None:
    """Return what an earlier version found; None where nothing is known."""
    record = view.snapshot.manifest.indexes.get(MENTIONS)
    if record is None:
        return None
    try:
        found = _DECODER.decode(_SEAL.open(view.tables.folder / str(record["file"]), verify=True).payload)
    except (FoundDamaged, OSError, msgspec.MsgspecError) as error:
        logger.warning("%s cannot be read (%s); all names are looked for again", record.get("file"), error)
        return None
    return found if found.rows <= view.rows and found.events <= view.snapshot.rows("events") else None


def save(memory: Memory, found: Found, generation: int) -> None:
    """Keep what was found, unless rows were forgotten since; a failure costs time, never a link."""
    try:
        with memory.write() as (transaction, view):  # under the lock: another writer removes what no version names
            if view.snapshot.manifest.rewritten != generation:
                return
            name = f"{MENTIONS}-{found.rows:012d}-{view.snapshot.version + 1:010d}.names"
            _SEAL.write(view.tables.folder / name, (found.rows, found.events), [_ENCODER.encode(found)], sync=False)
            transaction.set_index(MENTIONS, {"file": name, "rows": found.rows})
    except (LaminaError, OSError) as error:
        logger.warning("%s: names were not kept, the next build looks for all: %r", memory.root, error)
