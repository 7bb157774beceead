"""From names to entities: by canonical id, name, alias, folded forms, and where asked by prefix or one edit.

The first of these that gives anything is the answer, and says which it was. Where it gives several entities the name is
ambiguous, and all of them are returned: nothing is guessed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from lamina_engine.facts import names
from lamina_engine.facts.shapes import HOW, Entity, Mention, Resolution
from lamina_engine.index.keys import hash_ids

if TYPE_CHECKING:
    from lamina_engine.facts.book import Book
    from lamina_engine.index.keys import KeyIndex

_LEAST_PREFIX: Final = 3
_LEAST_EDIT: Final = 5


class Called(NamedTuple):
    """An entity by one of its names."""

    row: int
    """What the entity has become."""
    name: str
    is_alias: bool


def resolve(book: Book, name: str, *, type: str | None = None, prefix: bool = False, edits: bool = False) -> Resolution:
    """Return what a name stands for.

    Parameters
    ----------
    book : Book
    name : str
        A canonical id, a name or an alias.
    type : str, optional
        Only entities of this type.
    prefix : bool
        Also try it as the beginning of names, from 3 characters on.
    edits : bool
        Also try names that differ by one letter, from 5 characters on.

    Raises
    ------
    InvalidArgument
        For an empty name, or one that is too long.

    Notes
    -----
    O(log names) without ``prefix`` and ``edits``; the first of those sorts all names once.
    """
    row = row_of_id(book, name) if isinstance(name, str) else -1
    if row >= 0:
        return Resolution((book.entity(row),), "id")
    text = names.clean(name)
    levels = _levels(text, called(book, names.key(text)))
    wanted = None if type is None else names.clean_type(type)
    for how, rows in zip(HOW[1:5], levels, strict=True):
        found = _entities(book, rows, wanted)
        if found:
            return Resolution(found, how)
    folded = names.fold(text)
    if prefix and len(folded) >= _LEAST_PREFIX:
        found = _entities(book, (each.row for each in _sorted_names(book).beginning(folded)), wanted)
        if found:
            return Resolution(found, "prefix")
    if edits and len(folded) >= _LEAST_EDIT:
        found = _entities(book, (each.row for each in _sorted_names(book).one_edit_away(folded)), wanted)
        if found:
            return Resolution(found, "edit")
    return Resolution((), "none")


def row_of_id(book: Book, identity: str) -> int:
    """Return the row of a canonical id, -1 where there is none."""
    if identity.count(":") < 2:
        return -1
    rows = book.lexicon.ids.all_rows(int(hash_ids([identity])[0]))
    rows = rows[rows < book.entity_rows]
    for row, found in zip(rows.tolist(), book.snapshot.values("entities", "id", rows), strict=True):
        if found == identity:
            return int(row)
    return -1


def called(book: Book, key: int) -> list[Called]:
    """Return the entities with a name or an alias of a key, names first, each in the order they were given."""
    if key == 0:
        return []
    found = []
    rows = _rows(book.lexicon.names, key, book.entity_rows)
    for row, name in zip(rows.tolist(), book.snapshot.values("entities", "name", rows), strict=True):
        now = book.root(row)
        found.append(Called(now, name, now != row))
    rows = _rows(book.lexicon.aliases, key, book.alias_rows)
    if len(rows):
        stands: dict[tuple[int, str], bool] = {}
        for record in book.snapshot.records("aliases", rows, ("alias", "entity", "active")):
            stands[book.root(record["entity"]), record["alias"]] = record["active"]
        found += [Called(row, alias, True) for (row, alias), active in stands.items() if active]
    return found


def _rows(index: KeyIndex, key: int, below: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    rows = np.sort(index.all_rows(key))
    return rows[rows < below]


def _levels(text: str, found: Iterable[Called]) -> tuple[list[int], list[int], list[int], list[int]]:
    """Return rows by exact name, exact alias, folded name, folded alias."""
    levels: tuple[list[int], list[int], list[int], list[int]] = ([], [], [], [])
    for each in found:
        levels[each.is_alias + 2 * (each.name != text)].append(each.row)
    return levels


def _entities(book: Book, rows: Iterable[int], type: str | None) -> tuple[Entity, ...]:
    found = (book.entity(row) for row in dict.fromkeys(rows))
    return tuple(
        sorted((entity for entity in found if type is None or entity.type == type), key=lambda entity: entity.id)
    )


# ---------------------------------------------------------------------- running text


def scan(book: Book, text: str) -> list[Mention]:
    """Return the names and aliases in a text, from the left, the longest at each place, none within another.

    Parameters
    ----------
    book : Book
    text : str

    Notes
    -----
    Whole words alone match. One look-up for each run of words: O(words · longest name · log names), whatever the number of
    names.
    """
    found = names.words(text)
    if not found:
        return []
    runs = names.run_keys([word for word, _, _ in found], book.lexicon.longest)
    keys = np.concatenate(runs)
    hit = (book.lexicon.names.lookup(keys, n_rows=book.entity_rows) >= 0) | (
        book.lexicon.aliases.lookup(keys, n_rows=book.alias_rows) >= 0
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
        mention = _mention(book, text, found[begin][1], found[begin + length - 1][2], key)
        if mention is not None:
            mentions.append(mention)
            free = begin + length
    return mentions


def _mention(book: Book, text: str, start: int, stop: int, key: int) -> Mention | None:
    said = text[start:stop]
    folded = names.fold(said)
    candidates = [each for each in called(book, key) if names.fold(each.name) == folded]
    for how, rows in zip(HOW[1:5], _levels(said, candidates), strict=True):
        entities = _entities(book, rows, None)
        if entities:
            return Mention(start, stop, said, entities, how)
    return None


# ---------------------------------------------------------------------- beginnings and slips


class SortedNames:
    """All names and aliases of a book, folded, in order from the front and from the back."""

    def __init__(self, found: Iterable[tuple[str, Called]]) -> None:
        self._forward = sorted(found, key=lambda item: (item[0], item[1].row))
        self._words = [folded for folded, _ in self._forward]
        self._backward = sorted((folded[::-1], at) for at, folded in enumerate(self._words))
        self._ends = [folded for folded, _ in self._backward]

    def beginning(self, prefix: str) -> Iterator[Called]:
        """Yield what begins with some letters."""
        for at in _beginning(self._words, prefix):
            yield self._forward[at][1]

    def one_edit_away(self, word: str) -> Iterator[Called]:
        """Yield what differs by one letter put in, left out or exchanged: the rest of it is equal before or after that."""
        half = len(word) // 2
        places = set(_beginning(self._words, word[:half]))
        places.update(self._backward[at][1] for at in _beginning(self._ends, word[half:][::-1]))
        for at in sorted(places):
            if one_edit(word, self._words[at]):
                yield self._forward[at][1]


def _beginning(ordered: list[str], prefix: str) -> range:
    begin = bisect_left(ordered, prefix)
    # no letter of a folded name is above the last of Unicode
    return range(begin, bisect_left(ordered, prefix + "\U0010ffff", begin))


def one_edit(first: str, second: str) -> bool:
    """Tell whether two words differ by exactly one letter put in, left out or exchanged."""
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


def _sorted_names(book: Book) -> SortedNames:
    return book.view.cached("facts.sorted_names", lambda: SortedNames(_all_names(book)))


def _all_names(book: Book) -> Iterator[tuple[str, Called]]:
    rows = np.arange(book.entity_rows)
    for row, name in zip(rows.tolist(), book.snapshot.values("entities", "name", rows), strict=True):
        if book.is_entity(row) and name:
            now = book.root(row)
            yield names.fold(name), Called(now, name, now != row)
    stands: dict[tuple[int, str], bool] = {}
    rows = np.arange(book.alias_rows)
    for record in book.snapshot.records("aliases", rows, ("alias", "entity", "active")):
        stands[record["entity"], record["alias"]] = record["active"]
    for (entity, alias), active in stands.items():
        if active and entity >= 0:
            yield names.fold(alias), Called(book.root(entity), alias, True)
