"""Entity resolution: an index of names, and names in questions and text to entities.

Levels are tried in turn: canonical id, name, alias, folded forms, and on request a part, a prefix or one edit. The first with a result
answers, and several entities make the name ambiguous: nothing is guessed. Keys of names are saved beside the other indexes
once there are thousands, as hashing them takes some microseconds each.
"""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina_engine import after_fork
from lamina_engine.errors import LaminaError
from lamina_engine.facts import names
from lamina_engine.facts.columns import GrowableArray, RowGroups, StringCodes
from lamina_engine.facts.schema import HOW, Entity, Mention, Resolution
from lamina_engine.index.keys import KeyIndex, hash_ids
from lamina_engine.index.sealed import Seal

if TYPE_CHECKING:
    from lamina_engine.facts.view import FactView
    from lamina_engine.index.tables import Tables
    from lamina_engine.memory import Memory
    from lamina_engine.store.segments import Segment
    from lamina_engine.store.snapshot import Snapshot

logger = logging.getLogger(__name__)

ENTITY, MERGE = "entity", "merge"
NAMES_INDEX: Final = "factnames"
"""Name of its record in a manifest: ``file``, ``rows`` of the entities log and ``aliases`` of the aliases log covered."""
_TAIL_ROWS: Final = 4_096
_TAIL_SHARE: Final = 4


class NamesDamaged(LaminaError, OSError):
    """Saved file of keys that is torn or altered; it is rebuilt from the log."""


_NAMES_SEAL: Final = Seal(b"LMNANAM\n", 1, "QQQ", what="names of entities", damaged=NamesDamaged)
"""Fields: entities, aliases, words of the longest name. Payload: keys of names, hashes of ids, keys of aliases; uint64."""
Hashes = NDArray[np.uint64]
_NO_KEYS: Final = np.empty(0, np.uint64)


class SavedKeys(NamedTuple):
    """Saved keys by row."""

    names: Hashes
    ids: Hashes
    aliases: Hashes
    longest: int


class NameIndex:
    """Index of names, aliases and ids by key, extended to the newest version read."""

    def __init__(self, saved: SavedKeys | None = None) -> None:
        self._saved = saved or SavedKeys(_NO_KEYS, _NO_KEYS, _NO_KEYS, 1)
        self.kinds, self.types = StringCodes(), StringCodes()
        self.kind, self.type = GrowableArray(np.int8), GrowableArray(np.int32)
        self.merges: list[tuple[int, int, int]] = []
        """(row, entity, into), ascending."""
        self.names, self.ids, self.aliases = KeyIndex(), KeyIndex(), KeyIndex()
        self.name_keys, self.id_keys, self.alias_keys = (GrowableArray(np.uint64) for _ in range(3))
        """By row: what those are made of."""
        self.longest = self._saved.longest
        """Words of the longest name or alias, at most `names.MAX_WORDS`."""
        self.by_entity = RowGroups()
        """Rows of the aliases log by entity."""
        self._lock = after_fork.make_rlock()

    def grow(self, snapshot: Snapshot) -> NameIndex:
        """Read the new rows of a version."""
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
            ids = np.concatenate([ids, hash_ids(segment.texts("id", skip + len(ids)))])
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
        """Return the keys of a segment's names from ``skip`` on, saved ones and new ones."""
        keys = saved[first : segment.start + segment.rows]
        written = segment.texts(column, skip + len(keys))
        if not written:
            return keys
        found, longest = names.keys_of(written)
        self.longest = min(max(self.longest, longest), names.MAX_WORDS)
        return np.concatenate([keys, found])

    def save(self, path: Path, entities: int, aliases: int) -> None:
        """Write the keys of the first rows."""
        parts = [
            self.name_keys.values[:entities],
            self.id_keys.values[:entities],
            self.alias_keys.values[:aliases],
        ]
        _NAMES_SEAL.write(
            path, (entities, aliases, self.longest), [part.astype("<u8").data for part in parts if len(part)]
        )


def open_keys(path: Path) -> SavedKeys:
    """Read a saved file of keys."""
    (entities, aliases, longest), payload = _NAMES_SEAL.open(path, verify=True)
    if len(payload) != 8 * (2 * entities + aliases):
        raise NamesDamaged(f"{path}: it does not hold the keys that its header says; it is made again from the log")
    keys = np.frombuffer(payload, "<u8")
    return SavedKeys(
        keys[:entities], keys[entities : 2 * entities], keys[2 * entities :], min(longest, names.MAX_WORDS)
    )


def name_index(tables: Tables, snapshot: Snapshot) -> NameIndex:
    """Return the index of names of a vault's tables, extended to a version."""
    return tables.cached("facts.names", lambda: NameIndex(_read_saved(tables, snapshot))).grow(snapshot)


def _read_saved(tables: Tables, snapshot: Snapshot) -> SavedKeys | None:
    record = snapshot.manifest.indexes.get(NAMES_INDEX)
    if record is None or not _fits(record, snapshot):
        return None
    try:
        return open_keys(tables.folder / str(record["file"]))
    except (NamesDamaged, OSError) as error:
        logger.warning("%s cannot be read (%s); it is made again from the log", record["file"], error)
        return None


def _fits(record: dict[str, Any], snapshot: Snapshot) -> bool:
    return int(record["rows"]) <= snapshot.rows("entities") and int(record["aliases"]) <= snapshot.rows("aliases")


def sync_names(memory: Memory) -> None:
    """Save the keys of names where 4,096, or a quarter of those saved, are new."""
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
            name_index(view.tables, snapshot).save(view.tables.folder / name, entities, aliases)
            transaction.set_index(NAMES_INDEX, {"file": name, "rows": entities, "aliases": aliases})
    except (LaminaError, OSError) as error:  # the names are committed: their caller must not write them twice
        logger.warning("%s: the keys of names were not saved, readers hash them: %r", memory.root, error)


def _is_behind(snapshot: Snapshot) -> bool:
    record = snapshot.manifest.indexes.get(NAMES_INDEX)
    covered = int(record["rows"]) + int(record["aliases"]) if record is not None else 0
    new = snapshot.rows("entities") + snapshot.rows("aliases") - covered
    return new >= max(_TAIL_ROWS, covered // _TAIL_SHARE)


_MIN_PREFIX: Final = 3
_MIN_EDIT: Final = 5


class NameMatch(NamedTuple):
    """Entity by one of its names."""

    row: int
    """What the entity has become."""
    name: str
    is_alias: bool


def resolve(
    kg: FactView, name: str, *, type: str | None = None, part: bool = False, prefix: bool = False, edits: bool = False
) -> Resolution:
    """Return the entities of a canonical id, name or alias.

    ``part`` also tries names that have these words among theirs; ``prefix`` beginnings of names, from 3 characters on;
    ``edits`` names one letter away, from 5 on. O(log names) without these; the first of them sorts all names once.
    """
    row = row_of_id(kg, name) if isinstance(name, str) else -1
    if row >= 0:
        return Resolution((kg.entity(row),), "id")
    text = names.clean(name)
    levels = _match_levels(text, find_named(kg, names.key(text)))
    kind = None if type is None else names.clean_type(type)
    for how, rows in zip(HOW[1:5], levels, strict=True):
        found = _entities_at(kg, rows, kind)
        if found:
            return Resolution(found, how)
    folded = names.fold(text)
    for how, is_tried, find in (
        ("part", part, SortedNames.with_words),
        ("prefix", prefix and len(folded) >= _MIN_PREFIX, SortedNames.with_prefix),
        ("edit", edits and len(folded) >= _MIN_EDIT, SortedNames.one_edit_away),
    ):
        found = _entities_at(kg, (each.row for each in find(_sorted_names(kg), folded)), kind) if is_tried else ()
        if found:
            return Resolution(found, how)
    return Resolution((), "none")


def row_of_id(kg: FactView, identity: str) -> int:
    """Return the row of a canonical id, -1 where there is none."""
    if identity.count(":") < 2:
        return -1
    rows = kg.name_index.ids.all_rows(int(hash_ids([identity])[0]))
    rows = rows[rows < kg.entity_rows]
    for row, found in zip(rows.tolist(), kg.snapshot.values("entities", "id", rows), strict=True):
        if found == identity:
            return int(row)
    return -1


def find_named(kg: FactView, key: int) -> list[NameMatch]:
    """Return the entities with a name or alias of a key: names first, each in log order."""
    if key == 0:
        return []
    found = []
    rows = _visible_rows(kg.name_index.names, key, kg.entity_rows)
    for row, name in zip(rows.tolist(), kg.snapshot.values("entities", "name", rows), strict=True):
        now = kg.root(row)
        found.append(NameMatch(now, name, now != row))
    rows = _visible_rows(kg.name_index.aliases, key, kg.alias_rows)
    if len(rows):
        stands: dict[tuple[int, str], bool] = {}
        for record in kg.snapshot.records("aliases", rows, ("alias", "entity", "active")):
            stands[kg.root(record["entity"]), record["alias"]] = record["active"]
        found += [NameMatch(row, alias, True) for (row, alias), active in stands.items() if active]
    return found


def _visible_rows(index: KeyIndex, key: int, below: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    rows = np.sort(index.all_rows(key))
    return rows[rows < below]


def _match_levels(text: str, found: Iterable[NameMatch]) -> tuple[list[int], list[int], list[int], list[int]]:
    """Return rows by exact name, exact alias, folded name, folded alias."""
    levels: tuple[list[int], list[int], list[int], list[int]] = ([], [], [], [])
    for each in found:
        levels[each.is_alias + 2 * (each.name != text)].append(each.row)
    return levels


def _entities_at(kg: FactView, rows: Iterable[int], type: str | None) -> tuple[Entity, ...]:
    found = (kg.entity(row) for row in dict.fromkeys(rows))
    return tuple(
        sorted((entity for entity in found if type is None or entity.type == type), key=lambda entity: entity.id)
    )


# ---------------------------------------------------------------------- running text


def find_mentions(kg: FactView, text: str) -> list[Mention]:
    """Return the names and aliases in a text: leftmost longest, no overlaps, whole words only.

    One look-up for each run of words: O(words · longest name · log names).
    """
    found = names.words(text)
    if not found:
        return []
    runs = names.run_keys([word for word, _, _ in found], kg.name_index.longest)
    keys = np.concatenate(runs)
    hit = (kg.name_index.names.lookup(keys, n_rows=kg.entity_rows) >= 0) | (
        kg.name_index.aliases.lookup(keys, n_rows=kg.alias_rows) >= 0
    )
    places = np.flatnonzero(hit)
    if not len(places):
        return []
    begins = np.concatenate([np.arange(len(run)) for run in runs])[places].tolist()
    lengths = np.repeat(np.arange(1, len(runs) + 1), [len(run) for run in runs])[places].tolist()
    mentions: list[Mention] = []
    free = 0
    for begin, length, key in sorted(
        zip(begins, lengths, keys[places].tolist(), strict=True), key=lambda run: (run[0], -run[1])
    ):
        if begin < free:
            continue
        mention = _mention(kg, text, found[begin][1], found[begin + length - 1][2], key)
        if mention is not None:
            mentions.append(mention)
            free = begin + length
    return mentions


def _mention(kg: FactView, text: str, start: int, stop: int, key: int) -> Mention | None:
    mentioned = text[start:stop]
    folded = names.fold(mentioned)
    candidates = [each for each in find_named(kg, key) if names.fold(each.name) == folded]
    for how, rows in zip(HOW[1:5], _match_levels(mentioned, candidates), strict=True):
        entities = _entities_at(kg, rows, None)
        if entities:
            return Mention(start, stop, mentioned, entities, how)
    return None


# ---------------------------------------------------------------------- beginnings and slips


class SortedNames:
    """Folded names and aliases, sorted forwards and backwards."""

    def __init__(self, found: Iterable[tuple[str, NameMatch]]) -> None:
        self._forward = sorted(found, key=lambda item: (item[0], item[1].row))
        self._words = [folded for folded, _ in self._forward]
        self._backward = sorted((folded[::-1], at) for at, folded in enumerate(self._words))
        self._ends = [folded for folded, _ in self._backward]

    def with_words(self, part: str) -> Iterator[NameMatch]:
        """Yield names that have some words among theirs, in this order. O(names)."""
        wanted = f" {part} "
        for folded, match in self._forward:
            if wanted in f" {folded} ":
                yield match

    def with_prefix(self, prefix: str) -> Iterator[NameMatch]:
        """Yield names with a prefix."""
        for at in _prefix_range(self._words, prefix):
            yield self._forward[at][1]

    def one_edit_away(self, word: str) -> Iterator[NameMatch]:
        """Yield names one edit away: their first or last half equals the word's."""
        half = len(word) // 2
        places = set(_prefix_range(self._words, word[:half]))
        places.update(self._backward[at][1] for at in _prefix_range(self._ends, word[half:][::-1]))
        for at in sorted(places):
            if is_one_edit(word, self._words[at]):
                yield self._forward[at][1]


def _prefix_range(ordered: list[str], prefix: str) -> range:
    begin = bisect_left(ordered, prefix)
    # no letter of a folded name is above the last of Unicode
    return range(begin, bisect_left(ordered, prefix + "\U0010ffff", begin))


def is_one_edit(first: str, second: str) -> bool:
    """Return whether two words differ by one inserted, deleted or substituted letter."""
    if abs(len(first) - len(second)) > 1 or first == second:
        return False
    same = 0
    for a, b in zip(first, second, strict=False):
        if a != b:
            break
        same += 1
    if len(first) == len(second):
        return first[same + 1 :] == second[same + 1 :]
    longer, shorter = (first, second) if len(first) > len(second) else (second, first)
    return longer[same + 1 :] == shorter[same:]


def _sorted_names(kg: FactView) -> SortedNames:
    return kg.view.cached("facts.sorted_names", lambda: SortedNames(_all_names(kg)))


def _all_names(kg: FactView) -> Iterator[tuple[str, NameMatch]]:
    rows = np.arange(kg.entity_rows)
    for row, name in zip(rows.tolist(), kg.snapshot.values("entities", "name", rows), strict=True):
        if kg.is_entity(row) and name:
            now = kg.root(row)
            yield names.fold(name), NameMatch(now, name, now != row)
    stands: dict[tuple[int, str], bool] = {}
    rows = np.arange(kg.alias_rows)
    for record in kg.snapshot.records("aliases", rows, ("alias", "entity", "active")):
        stands[record["entity"], record["alias"]] = record["active"]
    for (entity, alias), active in stands.items():
        if active and entity >= 0:
            yield names.fold(alias), NameMatch(kg.root(entity), alias, True)
