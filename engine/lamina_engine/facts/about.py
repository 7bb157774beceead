"""What is said of an entity, at any moment of valid time, as known at any moment of recorded time.

A fact is a row of the log. What became of it later (closed, retracted, believed less) are further rows that name it, and of
those a book sees, the last one stands. So a question of both times reads a few rows of one entity and changes nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina_engine.clock import MISSING_US
from lamina_engine.errors import InvalidArgument
from lamina_engine.facts.shapes import DIRECTIONS, MAX_TIME, Direction, Fact
from lamina_engine.facts.tables import FACT, RETRACT

if TYPE_CHECKING:
    from lamina_engine.columns import Reader
    from lamina_engine.facts.book import Book
    from lamina_engine.store.segments import Segment
    from lamina_engine.store.snapshot import Snapshot

I64 = NDArray[np.int64]


class Standing(NamedTuple):
    """Facts with what became of them."""

    rows: I64
    valid_from: I64
    valid_to: I64
    confidence: NDArray[np.float32]

    def kept(self, mask: NDArray[np.bool_]) -> Standing:
        """Return some of them."""
        return Standing(self.rows[mask], self.valid_from[mask], self.valid_to[mask], self.confidence[mask])


def about(
    book: Book, row: int, *, valid_at: int | None, direction: Direction = "both", predicates: Collection[str] | None = None
) -> list[Fact]:  # fmt: skip
    """Return what is said of an entity: as subject first, then as object; by predicate, then the earlier first.

    Parameters
    ----------
    book : Book
    row : int
        Number of the entity.
    valid_at : int, optional
        us UTC; only what holds then. Whatever was ever said (and not retracted), unless given.
    direction : {"both", "out", "in"}
        Facts that it is the subject of, or the object of.
    predicates : collection of str, optional
        Only these, as they read from the entity: ``owned_by`` also finds what is stored as ``owns`` of the other.

    Notes
    -----
    O(log facts + facts of the entity).
    """
    if direction not in DIRECTIONS:
        raise InvalidArgument(f"direction={direction!r} must be one of {', '.join(DIRECTIONS)}")
    row = book.root(row)
    found: list[Fact] = []
    members = book.members(row)
    if direction != "in":
        rows = _of(book.tables.by_subject.of, members, book.facts)
        found += _told(book, _chosen(book, rows, predicates, inward=False), valid_at, "out")
    if direction != "out":
        rows = _of(book.tables.by_target.of, members, book.facts)
        if direction == "both" and len(rows):  # a fact of an entity about itself is told once
            own = book.tables.subject.values[rows]
            rows = rows[own != members[0]] if len(members) == 1 else rows[~np.isin(own, members)]
        found += _told(book, _chosen(book, rows, predicates, inward=True), valid_at, "in")
    return found


def _of(groups: Callable[[int, int], I64], members: Sequence[int], below: int) -> I64:
    if len(members) == 1:
        return groups(members[0], below)
    return np.sort(np.concatenate([groups(member, below) for member in members]))


def _chosen(book: Book, rows: I64, predicates: Collection[str] | None, *, inward: bool) -> I64:
    """Return the rows with some predicates; amendments have the predicate of their fact."""
    if predicates is None or not len(rows):
        return rows
    registry = book.registry
    wanted = {registry.inverse(name) for name in predicates} if inward else set(predicates)
    codes = [book.tables.predicates.code(name) for name in wanted if name is not None]
    return rows[np.isin(book.tables.predicate.values[rows], codes)]


def _told(book: Book, rows: I64, valid_at: int | None, direction: Literal["out", "in"]) -> list[Fact]:
    if not len(rows):
        return []
    found = made(book, _holding(_settled(book, rows), valid_at), direction)
    found.sort(key=lambda fact: (fact.key, fact.valid_from or MISSING_US, fact.value, fact.row))
    return found


def _settled(book: Book, rows: I64) -> Standing:
    """Return the facts among ascending rows that have all amendments of theirs beside them."""
    tables = book.tables
    amends = tables.amends.values[rows]
    is_fact = amends < 0
    facts = rows[is_fact]
    standing = Standing(
        facts, tables.valid_from.values[facts], tables.valid_to.values[facts], tables.confidence.values[facts]
    )
    if len(facts) == len(rows):
        return standing
    return _amended(book, standing, rows[~is_fact], amends[~is_fact])


def _amended(book: Book, standing: Standing, rows: I64, amends: I64) -> Standing:
    """Apply amendments in the order of the log; what was retracted is left out."""
    tables, facts = book.tables, standing.rows
    at = np.searchsorted(facts, amends)
    known = at < len(facts)
    known[known] = facts[at[known]] == amends[known]
    at, rows = at[known], rows[known]
    last = np.full(len(facts), -1, np.int64)
    last[at] = rows  # of several the last stands: they ascend
    touched = np.flatnonzero(last >= 0)
    newest = last[touched]
    standing.valid_to[touched] = tables.valid_to.values[newest]
    standing.confidence[touched] = tables.confidence.values[newest]
    gone = touched[tables.kind.values[newest] == tables.kinds.code(RETRACT)]
    if not len(gone):
        return standing
    kept = np.ones(len(facts), np.bool_)
    kept[gone] = False
    return standing.kept(kept)


def _holding(standing: Standing, valid_at: int | None) -> Standing:
    if valid_at is None:
        return standing
    holds = (standing.valid_from <= valid_at) & (standing.valid_to > valid_at)
    return standing if holds.all() else standing.kept(holds)


def settle(book: Book, rows: I64) -> Standing:
    """Return the facts among some rows, ascending, with what became of them; other rows, and retracted ones, left out."""
    rows = distinct(rows[(rows >= 0) & (rows < book.facts)])
    kinds = book.tables.kind.values[rows]
    rows = rows[kinds == book.tables.kinds.code(FACT)]
    later = book.tables.by_fact.of_all(rows, book.facts)
    return _settled(book, np.sort(np.concatenate([rows, later])) if len(later) else rows)


def distinct(rows: I64) -> I64:
    """Return rows in ascending order, each once; for a few, as most are, faster than `np.unique`."""
    rows = np.sort(rows)
    return rows if len(rows) < 2 else rows[np.concatenate([[True], rows[1:] != rows[:-1]])]


def holding(book: Book, rows: I64, valid_at: int | None) -> Standing:
    """Return the facts among some rows that hold at a moment (at any, where none is given), ascending; see `settle`."""
    return _holding(settle(book, rows), valid_at)


def standing(book: Book, rows: I64, valid_at: int | None) -> NDArray[np.bool_]:
    """Tell of rows whether they are facts that hold at a moment; at any moment, where none is given.

    Returns
    -------
    bool (n,)
        False for amendments, and for what was retracted or forgotten.
    """
    return np.isin(rows, holding(book, rows, valid_at).rows)


def facts_at(book: Book, rows: Sequence[int]) -> list[Fact]:
    """Return facts by row, in the order given.

    Raises
    ------
    InvalidArgument
        For a row that is no fact, or that was retracted.
    """
    by_row = {fact.row: fact for fact in made(book, settle(book, np.array(rows, np.int64)), "out")}
    missing = [row for row in rows if row not in by_row]
    if missing:
        raise InvalidArgument(f"row {missing[0]} is no fact; ask for rows that an answer gave")
    return [by_row[row] for row in rows]


def find(
    book: Book, *, subject: int | None = None, predicate: str | None = None, object: int | str | None = None,
    valid_at: int | None = None,
) -> list[Fact]:  # fmt: skip
    """Return facts by subject, predicate and object (an entity's number, or a literal), in the order of the log.

    Parameters
    ----------
    book : Book
    subject : int, optional
    predicate : str, optional
        In its normal form; its inverse is not looked for.
    object : int or str, optional
    valid_at : int, optional
        Only what holds then.

    Notes
    -----
    O(facts of the subject, else of the object); O(facts) without either.
    """
    tables = book.tables
    if subject is not None:
        rows = _of(tables.by_subject.of, book.members(book.root(subject)), book.facts)
    elif isinstance(object, int):
        rows = _of(tables.by_target.of, book.members(book.root(object)), book.facts)
    else:
        rows = np.flatnonzero(tables.subject.values[: book.facts] >= 0)  # what was forgotten has none
    if predicate is not None:
        rows = rows[tables.predicate.values[rows] == tables.predicates.code(predicate)]
    if isinstance(object, int):
        rows = rows[np.isin(tables.target.values[rows], book.members(book.root(object)))]
    found = made(book, _holding(_settled(book, rows), valid_at), "out")
    return [fact for fact in found if not isinstance(object, str) or (fact.object_id is None and fact.object == object)]


# ---------------------------------------------------------------------- rows into facts

_TEXTS: Final = ("object", "category", "source", "chunk", "origin")
_NUMBERS: Final = ("weight", "recorded_at")


def made(book: Book, found: Standing, direction: Literal["out", "in"]) -> list[Fact]:
    """Return facts with their texts, in the order of the rows."""
    tables, registry, texts = book.tables, book.registry, book.fact_texts
    subjects, targets = tables.subject.values[found.rows].tolist(), tables.target.values[found.rows].tolist()
    codes = tables.predicate.values[found.rows].tolist()
    ends: dict[int, tuple[str, str, str]] = {}
    facts = []
    for row, subject, target, code, begins, stops, confidence in zip(
        found.rows.tolist(), subjects, targets, codes, found.valid_from.tolist(), found.valid_to.tolist(),
        found.confidence.tolist(), strict=True,
    ):  # fmt: skip
        object, category, source, chunk, origin, weight, recorded = texts.at(row)
        for end in (subject, target):
            if end >= 0 and end not in ends:
                ends[end] = book.called(end)
        name, identity, kind = ends[subject]
        other, other_id, _ = ends[target] if target >= 0 else (object or "", None, "")
        predicate = tables.predicates.names[code]
        facts.append(
            Fact(
                row, name, identity, predicate, other, other_id, category or kind, source, chunk, confidence, weight,
                None if begins == MISSING_US else begins, None if stops == MAX_TIME else stops, recorded, origin,
                direction, predicate if direction == "out" else registry.inverse(predicate) or predicate,
            )
        )  # fmt: skip
    return facts


class RowTexts:
    """Reads single rows of a log: some columns of any type, then some of numbers without nulls."""

    def __init__(self, segments: Sequence[Segment], names: Sequence[str], numbers: Sequence[str] = ()) -> None:
        self._segments, self._names, self._numbers = segments, names, numbers
        self._starts = [segment.start for segment in segments]
        self._readers: dict[int, list[Reader]] = {}

    def at(self, row: int) -> list[Any]:
        """Return the columns of a row."""
        part = bisect_right(self._starts, row) - 1
        readers = self._readers.get(part)
        if readers is None:
            segment = self._segments[part]
            readers = [segment.reader(name) for name in self._names]
            readers += [segment.numbers(name).data.__getitem__ for name in self._numbers]
            self._readers[part] = readers
        at = row - self._starts[part]
        return [read(at) for read in readers]


def fact_texts(snapshot: Snapshot) -> RowTexts:
    """Return what reads the texts of facts, as `made` wants them."""
    return RowTexts(snapshot.segments("facts"), _TEXTS, _NUMBERS)


def texts(book: Book, start: int, stop: int) -> list[tuple[int, str, str, str]]:
    """Return (row, subject, predicate, object) of the facts in a range of rows, whether they still hold or not.

    Notes
    -----
    A subject is named as it is called now: an index that outlives a merge keeps the former name.
    """
    stop = max(start, min(stop, book.facts))
    tables = book.tables
    rows = np.arange(start, stop)
    rows = rows[tables.kind.values[rows] == tables.kinds.code(FACT)]
    subjects, targets = tables.subject.values[rows].tolist(), tables.target.values[rows].tolist()
    called = _names(book, {*subjects, *targets} - {-1})
    objects: list[str | None] = []  # of all rows in the range: whole columns are read in a tenth of the time
    for segment in book.snapshot.segments("facts"):
        first = max(start - segment.start, 0)
        if first < segment.rows and segment.start < stop:
            objects += segment.column("object").slice(first, stop - segment.start - first).to_pylist()
    predicates = tables.predicates.names
    return [
        (row, called[subject], predicates[code], called[target] if target >= 0 else objects[row - start] or "")
        for row, subject, code, target in zip(
            rows.tolist(), subjects, tables.predicate.values[rows].tolist(), targets, strict=True
        )
    ]


def _names(book: Book, rows: Iterable[int]) -> dict[int, str]:
    wanted = sorted(rows)
    roots = np.array([book.root(row) for row in wanted] if book.parents else wanted, np.int64)
    return dict(zip(wanted, book.snapshot.values("entities", "name", roots), strict=True))
