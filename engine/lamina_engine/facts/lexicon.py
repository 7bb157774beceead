"""What entities are called, for all versions of a vault in one process: names, aliases and ids by key.

The keys of names are hashes of their words, some microseconds each. Once there are thousands they are saved beside the other
indexes, row by row, so that a process that only wants to know whom a question names does not hash them all again.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina_engine import after_fork
from lamina_engine.errors import LaminaError
from lamina_engine.facts import manynames, names
from lamina_engine.facts.grown import Codes, Grouped, Grown
from lamina_engine.index.keys import KeyIndex, hash_ids
from lamina_engine.index.sealed import Seal

if TYPE_CHECKING:
    from lamina_engine.index.tables import Tables
    from lamina_engine.memory import Memory
    from lamina_engine.store.segments import Segment
    from lamina_engine.store.snapshot import Snapshot

logger = logging.getLogger(__name__)

ENTITY, MERGE = "entity", "merge"
INDEX: Final = "factnames"
"""Name of its record in a manifest: ``file``, ``rows`` of the entities log and ``aliases`` of the aliases log covered."""
_TAIL_ROWS: Final = 4_096
_TAIL_SHARE: Final = 4


class NamesDamaged(LaminaError, OSError):
    """A saved file of keys that is torn, altered or not one; it is made again from the log."""


_SEAL: Final = Seal(b"LMNANAM\n", 1, "QQQ", what="names of entities", damaged=NamesDamaged)
"""Fields: entities, aliases, words of the longest name. Payload: keys of names, hashes of ids, keys of aliases; uint64."""
Hashes = NDArray[np.uint64]
_NONE: Final = np.empty(0, np.uint64)


class Saved(NamedTuple):
    """Keys by row, as they were saved."""

    names: Hashes
    ids: Hashes
    aliases: Hashes
    longest: int


class Lexicon:
    """Names of entities, grown to the newest version asked for."""

    def __init__(self, saved: Saved | None = None) -> None:
        self._saved = saved or Saved(_NONE, _NONE, _NONE, 1)
        self.kinds, self.types = Codes(), Codes()
        self.kind, self.type = Grown(np.int8), Grown(np.int32)
        self.merges: list[tuple[int, int, int]] = []
        """(row, entity, into), ascending."""
        self.names, self.ids, self.aliases = KeyIndex(), KeyIndex(), KeyIndex()
        self.name_keys, self.id_keys, self.alias_keys = Grown(np.uint64), Grown(np.uint64), Grown(np.uint64)
        """By row: what those are made of."""
        self.longest = self._saved.longest
        """Words of the longest name or alias, at most `names.MAX_WORDS`."""
        self.by_entity = Grouped()
        """Rows of the aliases log by entity."""
        self._lock = after_fork.make_rlock()

    def grow(self, snapshot: Snapshot) -> Lexicon:
        """Take in the rows of a version that are new."""
        if self.kind.rows < snapshot.rows("entities") or self.aliases.rows < snapshot.rows("aliases"):
            with self._lock:
                for segment in snapshot.segments("entities"):
                    if segment.start + segment.rows > self.kind.rows:
                        self._take_entities(segment, self.kind.rows - segment.start)
                for segment in snapshot.segments("aliases"):
                    if segment.start + segment.rows > self.aliases.rows:
                        self._take_aliases(segment, self.aliases.rows - segment.start)
        return self

    def _take_entities(self, segment: Segment, skip: int) -> None:
        kinds = self.kinds.read(segment, "kind")[skip:]
        first = segment.start + skip
        present = kinds == self.kinds.code(ENTITY)
        for at in np.flatnonzero(kinds == self.kinds.code(MERGE)).tolist():
            entity, into = (int(segment.numbers(name)[skip + at]) for name in ("entity", "into"))
            self.merges.append((first + at, entity, into))
        keys = self._keys(self._saved.names, first, segment, "name", skip)
        ids = self._saved.ids[first : first + len(kinds)]
        if len(ids) < len(kinds):
            ids = np.concatenate([ids, hash_ids(segment.column("id").slice(skip + len(ids)).to_pylist())])
        self.names = self.names.extend(keys, present=present)
        self.ids = self.ids.extend(ids, present=present)
        self.name_keys.append(keys)
        self.id_keys.append(ids)
        self.type.append(self.types.read(segment, "type")[skip:])
        self.kind.append(kinds)  # last: its length tells other threads what is there

    def _take_aliases(self, segment: Segment, skip: int) -> None:
        first = segment.start + skip
        entities = segment.numbers("entity")[skip:].astype(np.int64)
        keys = self._keys(self._saved.aliases, first, segment, "alias", skip)
        self.by_entity.append(first, entities)
        self.alias_keys.append(keys)
        self.aliases = self.aliases.extend(keys, present=entities >= 0)

    def _keys(self, saved: Hashes, first: int, segment: Segment, column: str, skip: int) -> Hashes:
        """Return the keys of a segment's names from ``skip`` on: those that were saved, and the others."""
        known = saved[first : segment.start + segment.rows]
        written = segment.column(column).slice(skip + len(known)).to_pylist()
        if not written:
            return known
        found, longest = manynames.keys_of(written)
        self.longest = min(max(self.longest, longest), names.MAX_WORDS)
        return np.concatenate([known, found])

    def save(self, path: Path, entities: int, aliases: int) -> None:
        """Write the keys of the first rows."""
        parts = [
            self.name_keys.values[:entities],
            self.id_keys.values[:entities],
            self.alias_keys.values[:aliases],
        ]
        _SEAL.write(path, (entities, aliases, self.longest), [part.astype("<u8").data for part in parts if len(part)])


def open_names(path: Path) -> Saved:
    """Read a saved file of keys.

    Raises
    ------
    NamesDamaged, OSError
    """
    (entities, aliases, longest), payload = _SEAL.open(path, verify=True)
    if len(payload) != 8 * (2 * entities + aliases):
        raise NamesDamaged(f"{path}: it does not hold the keys that its header says; it is made again from the log")
    keys = np.frombuffer(payload, "<u8")
    return Saved(keys[:entities], keys[entities : 2 * entities], keys[2 * entities :], min(longest, names.MAX_WORDS))


def lexicon_of(tables: Tables, snapshot: Snapshot) -> Lexicon:
    """Return the names that go with a vault's tables, extended to a version."""
    return tables.cached("facts.names", lambda: Lexicon(_saved(tables, snapshot))).grow(snapshot)


def _saved(tables: Tables, snapshot: Snapshot) -> Saved | None:
    record = snapshot.manifest.indexes.get(INDEX)
    if record is None or not _fits(record, snapshot):
        return None
    try:
        return open_names(tables.folder / str(record["file"]))
    except (NamesDamaged, OSError) as error:
        logger.warning("%s cannot be read (%s); it is made again from the log", record["file"], error)
        return None


def _fits(record: dict[str, Any], snapshot: Snapshot) -> bool:
    return int(record["rows"]) <= snapshot.rows("entities") and int(record["aliases"]) <= snapshot.rows("aliases")


def keep_level(memory: Memory) -> None:
    """Save the keys again where many names are new: a quarter of what is saved, or 4,096. What fails here costs time alone."""
    if not _is_behind(memory.view().snapshot):
        return
    try:
        with memory.write() as (transaction, view):  # under the lock: another writer removes what no version names
            snapshot = view.snapshot
            if not _is_behind(snapshot):
                return
            entities, aliases = snapshot.rows("entities"), snapshot.rows("aliases")
            generation = snapshot.manifest.rewritten
            name = f"facts-{entities:012d}-{aliases:012d}{f'-{generation}' if generation else ''}.names"
            lexicon_of(view.tables, snapshot).save(view.tables.folder / name, entities, aliases)
            transaction.set_index(INDEX, {"file": name, "rows": entities, "aliases": aliases})
    except (LaminaError, OSError) as error:  # the names are committed: their caller must not write them twice
        logger.warning("%s: the keys of names were not saved, readers hash them: %r", memory.root, error)


def _is_behind(snapshot: Snapshot) -> bool:
    record = snapshot.manifest.indexes.get(INDEX)
    covered = int(record["rows"]) + int(record["aliases"]) if record is not None else 0
    new = snapshot.rows("entities") + snapshot.rows("aliases") - covered
    return new >= max(_TAIL_ROWS, covered // _TAIL_SHARE)
