"""The entities at the ends of facts: of each row its subject, and its object where that is an entity.

A large write names each thing many times. Each different name is taken once, in the order in which names first come;
where that might give anything else than taking row after row, row after row is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Final, NamedTuple

from lamina_engine.errors import AmbiguousEntity, InvalidArgument
from lamina_engine.facts.naming import Namer

if TYPE_CHECKING:
    from lamina_engine.facts.book import Book
    from lamina_engine.facts.drafts import Columns
    from lamina_engine.facts.predicates import Registry

_NONE: Final = (-1, 0)
"""What names nothing: no entity, from the first row on."""
_MOST_NAME: Final = 200
"""Most characters of an object that is looked up: what is longer names nothing."""


class Ends(NamedTuple):
    """Rows of the entities log by row of a write, and what is new of them."""

    namer: Namer
    subjects: list[int]
    """-1 for a row that is left out."""
    targets: list[int]
    """-1 where the object is a literal."""


def ends_of(book: Book, vault: str, columns: Columns, chunks: Sequence[str | None], *, skip_bad: bool) -> Ends:
    """Return the entities of each row; those that nothing has yet are made.

    Parameters
    ----------
    book : Book
        What is known.
    vault : str
        The vault's name.
    columns : Columns
        Rows in ``bad`` are passed over; rows whose names cannot be taken join them.
    chunks : sequence of (str or None)
        By row, the chunk that says so.
    skip_bad : bool
        Else the first row whose names cannot be taken is an error.

    Raises
    ------
    InvalidArgument, AmbiguousEntity
    """
    kinds = _object_kinds(book.registry, columns)
    names = dict.fromkeys(columns["subject"])
    names.update(dict.fromkeys(text for text, kind in zip(columns["object"], kinds, strict=True) if kind != "literal"))
    found = _at_once(Namer(book, vault, names), columns, chunks, kinds)
    if found is None:
        found = _one_by_one(Namer(book, vault, names), columns, chunks, kinds, skip_bad=skip_bad)
    return found


def _object_kinds(registry: Registry, columns: Columns) -> list[str | None]:
    """Return what each row's object is: entity, literal, or any; None for a bad row."""
    predicates, wanted, types = columns["predicate"], columns["kind"], columns["object_type"]
    registered = {name: registry.kind(name) for name in dict.fromkeys(predicates) if isinstance(name, str)}
    found: list[str | None] = list(map(registered.get, predicates))
    if _any_but("auto", wanted) or _any_but(None, types):
        found = [
            given if given != "auto" else kind if object_type is None else "entity"
            for kind, given, object_type in zip(found, wanted, types, strict=True)
        ]
    for row in columns.bad:
        found[row] = None
    return found


def _any_but(usual: Hashable, values: Sequence[Hashable]) -> bool:
    return not {usual}.issuperset(values)


# ---------------------------------------------------------------------- each different name once


def _at_once(
    namer: Namer, columns: Columns, chunks: Sequence[str | None], kinds: Sequence[str | None]
) -> Ends | None:  # fmt: skip
    """Return the ends of all rows; None where a name stands for different entities in different rows, or for none."""
    names, keys, types = _asked(columns, kinds)
    found: dict[Hashable, int] = {}
    try:
        if types or _any_but(None, chunks):
            found = _each(namer, names, keys, types, chunks)
        else:
            wanted = [name for name in dict.fromkeys(names) if name is not None]
            found.update(zip(wanted, namer.rows(wanted), strict=True))
        if namer.disturbed:
            return None
        subjects, targets = (list(map(found.get, keys[end::2], repeat(-1))) for end in (0, 1))
        if "any" in kinds and not _add_known(
            namer, columns["object"], kinds, lambda: _made_at(namer, keys, found), targets
        ):
            return None
    except (AmbiguousEntity, InvalidArgument):  # said of the right row when row after row is taken
        return None
    return Ends(namer, subjects, targets)


def _each(
    namer: Namer, names: Sequence[str | None], keys: Sequence[Hashable], types: Sequence[str | None],
    chunks: Sequence[str | None],
) -> dict[Hashable, int]:  # fmt: skip
    """Return the entity of each name and type, in the order in which they first come."""
    found: dict[Hashable, int] = {}
    for place in sorted(_first_places(keys).values()):
        name = names[place]
        if name is not None:
            found[keys[place]] = namer.row(name, types[place] if types else None, chunks[place // 2])
            if namer.disturbed:
                break
    return found


def _first_places(keys: Sequence[Hashable]) -> dict[Hashable, int]:
    return dict(zip(reversed(keys), range(len(keys) - 1, -1, -1), strict=True))


def _made_at(namer: Namer, keys: Sequence[Hashable], found: Mapping[Hashable, int]) -> dict[int, int]:
    """Return, by row of a new entity, the place of the name that made it."""
    first, made_at = _first_places(keys), dict[int, int]()
    for key, row in found.items():
        if row >= namer.base:
            made_at.setdefault(row, first[key])
    return made_at


def _asked(
    columns: Columns, kinds: Sequence[str | None]
) -> tuple[list[str | None], Sequence[Hashable], list[str | None]]:
    """Return the names that get an entity, a subject and an object in turn, with what tells them apart and their types."""
    names: list[str | None] = [None] * (2 * columns.n)
    names[0::2] = columns["subject"]
    names[1::2] = [text if kind == "entity" else None for text, kind in zip(columns["object"], kinds, strict=True)]
    for row in columns.bad:
        names[2 * row] = None
    if not (_any_but(None, columns["subject_type"]) or _any_but(None, columns["object_type"])):
        return names, names, []
    types: list[str | None] = [None] * (2 * columns.n)
    types[0::2], types[1::2] = columns["subject_type"], columns["object_type"]
    return names, list(zip(names, types, strict=True)), types


def _add_known(
    namer: Namer, objects: Sequence[str], kinds: Sequence[str | None], made_at: Callable[[], Mapping[int, int]],
    targets: list[int],
) -> bool:  # fmt: skip
    """Fill in objects that are entities where they name one already: of the vault, or made further up in this write.

    Returns
    -------
    bool
        False where one might name several.
    """
    rows = [row for row, kind in enumerate(kinds) if kind == "any" and len(objects[row]) <= _MOST_NAME]
    known: dict[str, tuple[int, int]] = {}
    places: Mapping[int, int] | None = None
    for text in namer.may_be_known(list(dict.fromkeys(objects[row] for row in rows))):
        made = namer.made_like(text)
        if not made:
            known[text] = namer.known(text, None), 0
        elif len(made) == 1 and namer.is_unheard(text):
            places = made_at() if places is None else places
            known[text] = made[0], places[made[0]]
        else:
            return False
    for row in rows if known else ():
        target, since = known.get(objects[row], _NONE)
        if since <= 2 * row + 1:
            targets[row] = target
    return True


# ---------------------------------------------------------------------- row after row


def _one_by_one(
    namer: Namer, columns: Columns, chunks: Sequence[str | None], kinds: Sequence[str | None], *, skip_bad: bool
) -> Ends:
    subjects, targets = [-1] * columns.n, [-1] * columns.n
    rows = zip(
        columns["subject"], columns["subject_type"], columns["object"], columns["object_type"], kinds, chunks, strict=True
    )  # fmt: skip
    for row, (subject, subject_type, object, object_type, kind, chunk) in enumerate(rows):
        if row in columns.bad:
            continue
        try:
            begun = namer.row(subject, subject_type, chunk)
            if kind == "entity":
                targets[row] = namer.row(object, object_type, chunk)
            elif kind == "any" and len(object) <= _MOST_NAME:
                targets[row] = namer.known(object, None)
            subjects[row] = begun
        except (InvalidArgument, AmbiguousEntity) as error:
            if not skip_bad:
                raise type(error)(columns.told(row, str(error))) from error
            columns.bad[row], targets[row] = str(error), -1
    return Ends(namer, subjects, targets)
