"""What a write of facts does: which rows are new, which are there already, and what the new ones end.

Two facts meet where they are the same triple, whichever end it is told from, or values of one functional predicate of one
subject. Most rows of a large write meet nothing; those that do are settled one after the other, in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from lamina_engine.columns import numbers
from lamina_engine.facts.about import settle
from lamina_engine.facts.tables import CLOSE, FACT, RETRACT
from lamina_engine.facts.timeline import EVER, NEVER, Outcome, Stretch, put

if TYPE_CHECKING:
    from lamina_engine.facts.book import Book
    from lamina_engine.facts.drafts import Columns
    from lamina_engine.store.writer import Transaction

I64 = NDArray[np.int64]
_BEFORE, _ITSELF, _AFTER = 0, 1, 2
_FIRST_TOKEN: Final = -2
"""A row that is not written yet is known by -2 - its place in the list of drafts and extras."""


@dataclass(slots=True)
class _Extra:
    """A row beside those of the drafts: the end of a fact, or what goes on after an interruption."""

    draft: int
    place: int
    kind: str
    amends: int
    """Row or token of the fact that it ends; -1 for one that goes on."""
    copied: int
    """Row or token of the fact whose subject, predicate, object, ... it has."""
    begin: int
    end: int


class Plan:
    """What a write does.

    Parameters
    ----------
    book : Book
        What is known.
    columns : Columns
        What is to be written; rows in ``bad`` are passed over.
    subjects, targets : sequence of int
        Entities of each row; -1 for a target that is a literal.
    today : int
        When the present day began, us UTC.
    repeat : bool
        Whether saying again what has ended begins it anew.
    """

    def __init__(
        self, book: Book, columns: Columns, subjects: Sequence[int], targets: Sequence[int], today: int, *, repeat: bool
    ) -> None:
        self._book, self._columns, self._today, self._repeat = book, columns, today, repeat
        self._subjects, self._targets = subjects, targets
        self._good = [row for row in range(columns.n) if row not in columns.bad]
        self._begins = [None if begin == EVER else begin for begin in columns["valid_from"]]
        """None: since ever."""
        self._ends: list[int | None] = list(columns["valid_to"])
        """None: open."""
        self._found = list(range(_FIRST_TOKEN, _FIRST_TOKEN - columns.n, -1))
        """Row of each draft's fact: its token where it is to be written."""
        self._extras: list[_Extra] = []
        self._origins: dict[int, int] = {}
        """By token of what goes on after an interruption, the row or token of the fact that it copies."""
        self._groups: dict[tuple[Any, ...], list[Stretch]] = {}
        self.added = len(self._good)
        self.unchanged = self.superseded = 0
        registry = book.registry
        self._turned = {name: registry.turned(name) for name in dict.fromkeys(columns["predicate"])}
        for row in self._meeting():
            self._settle(row)

    # ------------------------------------------------------------------ which rows meet others

    def _meeting(self) -> list[int]:
        """Return the rows that may meet a fact of the vault or of this write, in order."""
        if len(self._good) <= _FEW:
            return self._good
        good = np.array(self._good, np.int64)
        registry = self._book.registry
        predicates, code = _coded(self._columns["predicate"], good)
        subject = np.array(self._subjects, np.int64)[good]
        target = np.array(self._targets, np.int64)[good]
        two_ways = np.array([registry.inverse(name) is not None for name in predicates])[code]
        functional = np.array([registry.is_functional(name) for name in predicates])[code]
        _, group = np.unique(subject * len(predicates) + code, return_inverse=True)
        literals, literal = _coded(self._columns["object"], good)
        value = np.where(target >= 0, target, -2 - literal)
        whole = np.where(functional, -1, value) + len(literals) + 2
        triple = group * (int(whole.max()) + 1) + whole
        meets = _repeated(triple) | self._repeated_both_ways(two_ways, subject, code, target, predicates)
        meets |= self._in_vault(subject, target, code, predicates, two_ways)
        found: list[int] = good[meets].tolist()
        return found

    def _repeated_both_ways(
        self, two_ways: NDArray[np.bool_], subject: I64, code: I64, target: I64, predicates: Sequence[str]
    ) -> NDArray[np.bool_]:
        """Tell of rows with an inverse whether the same pair of entities (or a functional subject) comes again."""
        out = np.zeros(len(subject), np.bool_)
        rows = np.flatnonzero(two_ways & (target >= 0))
        if not len(rows):
            return out
        registry = self._book.registry
        pairs = [min(name, registry.inverse(name) or name) for name in predicates]
        family = np.array([pairs.index(name) for name in pairs], np.int64)[code[rows]]
        low, high = np.minimum(subject[rows], target[rows]), np.maximum(subject[rows], target[rows])
        functional = np.array(
            [registry.is_functional(name) or registry.is_functional(registry.inverse(name) or "") for name in predicates]
        )[code[rows]]  # fmt: skip
        ends = low * (int(high.max()) + 1) + high
        out[rows] = _repeated(ends * len(predicates) + family) | functional
        return out

    def _in_vault(
        self, subject: I64, target: I64, code: I64, predicates: Sequence[str], two_ways: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Tell of rows whether the vault has a fact of the same subject and predicate, told from either end."""
        book, tables = self._book, self._book.tables
        out = np.zeros(len(subject), np.bool_)
        if not book.facts:
            return out
        own = np.array([tables.predicates.code(name) for name in predicates], np.int64)
        inverse = [book.registry.inverse(name) for name in predicates]
        other = np.array([-1 if name is None else tables.predicates.code(name) for name in inverse], np.int64)
        ends = np.unique(np.concatenate([subject, target[two_ways & (target >= 0)]]))
        known = [row for row in ends.tolist() if row < book.entity_rows]
        held = [tables.by_subject.of(member, book.facts) for row in known for member in book.members(row)]
        owner = np.repeat(
            np.array([row for row in known for _ in book.members(row)], np.int64), [len(rows) for rows in held]
        )
        rows = np.concatenate(held) if held else np.empty(0, np.int64)
        width = len(tables.predicates.names) + 1
        there = np.unique(owner * width + tables.predicate.values[rows])
        out |= (own[code] >= 0) & np.isin(subject * width + own[code], there)
        return out | ((other[code] >= 0) & (target >= 0) & np.isin(target * width + other[code], there))

    # ------------------------------------------------------------------ one row after the other

    def _settle(self, row: int) -> None:
        columns, book = self._columns, self._book
        predicate, subject, target = columns["predicate"][row], self._subjects[row], self._targets[row]
        value: int | str = target if target >= 0 else columns["object"][row]
        turned = target >= 0 and self._turned[predicate]
        inverse = book.registry.inverse(predicate)
        if target >= 0 and inverse == predicate and not book.registry.is_functional(predicate):
            turned = target < subject  # without a direction: the smaller number comes first
        owner, name, held = subject, predicate, value
        if turned and inverse is not None:
            owner, name, held = target, inverse, subject
        functional = book.registry.is_functional(name)
        key = (owner, name) if functional else (owner, name, held)
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = self._known(owner, name, held, functional=functional)
        begin, end = columns["valid_from"][row], columns["valid_to"][row]
        before = (
            None if self._repeat or begin is not None else next((each for each in group if each.value == held), None)
        )
        if before is not None:
            outcome = Outcome(before.row, before.begin, before.end)
        else:
            outcome = put(group, held, begin, end, self._today, functional=functional)
        if outcome.row != -1:
            self._found[row] = outcome.row
            self.unchanged += 1
            self.added -= 1
            return
        self._begins[row] = None if outcome.begin == EVER else outcome.begin
        self._ends[row] = None if outcome.end == NEVER else outcome.end
        if outcome.ended is not None:
            self._end(row, group, outcome.ended, outcome.begin)
        group.append(Stretch(self._found[row], held, outcome.begin, outcome.end))
        if outcome.resumed is not None and outcome.ended is not None:
            token = _FIRST_TOKEN - columns.n - len(self._extras)
            self._extras.append(
                _Extra(row, _AFTER, FACT, -1, outcome.ended.row, outcome.resumed.begin, outcome.resumed.end)
            )
            group.append(outcome.resumed._replace(row=token))

    def _end(self, row: int, group: list[Stretch], ended: Stretch, at: int) -> None:
        self.superseded += 1
        group.remove(ended)
        group.append(ended._replace(end=at))
        kind = CLOSE if at > EVER else RETRACT
        self._extras.append(_Extra(row, _BEFORE, kind, ended.row, ended.row, ended.begin, at))

    def _known(self, owner: int, name: str, held: int | str, *, functional: bool) -> list[Stretch]:
        """Return what the vault says of a functional predicate of an entity, or of one triple."""
        book, tables = self._book, self._book.tables
        if owner >= book.entity_rows:
            return []
        inverse = book.registry.inverse(name)
        mine = _with(book, book.members(owner), name, tables.by_subject.of)
        its: I64 = np.empty(0, np.int64)
        if inverse is not None and functional:
            its = _with(book, book.members(owner), inverse, tables.by_target.of)
        elif inverse is not None and isinstance(held, int) and held < book.entity_rows:
            its = _with(book, book.members(held), inverse, tables.by_subject.of)
            its = its[np.isin(tables.target.values[its], book.members(owner))]
        found: list[Stretch] = []
        for rows, turned in ((mine, False), (np.setdiff1d(its, mine), True)):
            if len(rows):
                found += _stretches(book, rows, turned=turned)
        if functional:
            return found
        return [stretch for stretch in found if stretch.value == held and type(stretch.value) is type(held)]

    # ------------------------------------------------------------------ into the log

    def append(
        self, transaction: Transaction, sources: Sequence[str], chunks: Sequence[str | None], origin: str
    ) -> list[int]:
        """Append the rows; return the row of each draft's fact, -1 for one that was left out."""
        columns = self._columns
        drafts = [row for row in self._good if self._found[row] == _FIRST_TOKEN - row] if self.unchanged else self._good
        if not drafts:
            return self._resolved({})
        ordered = self._ordered(drafts)
        base = transaction.rows("facts")
        place = {token: base + at for at, (_, token) in enumerate(ordered)}
        if not self._extras:
            place = dict(zip((_FIRST_TOKEN - row for row in drafts), range(base, base + len(drafts)), strict=True))
        values: dict[str, list[Any]] = {
            "kind": [FACT] * len(drafts),
            "amends": [-1] * len(drafts),
            **{name: _taken(given, drafts) for name, given in self._plain(sources, chunks).items()},
        }
        stamps = transaction.stamps(len(drafts))
        if self._extras:
            stamp_of = dict(zip(drafts, stamps.tolist(), strict=True))
            self._add_extras(values, place, sources, chunks)
            order = {token: at for at, token in enumerate([_FIRST_TOKEN - row for row in drafts])}
            first = len(drafts)
            order.update({_FIRST_TOKEN - columns.n - at: first + at for at in range(len(self._extras))})
            permutation = [order[token] for _, token in ordered]
            values = {name: [column[at] for at in permutation] for name, column in values.items()}
            stamps = np.array([stamp_of[row] for (row, _), _ in ordered], np.int64)
        transaction.append("facts", values | {"origin": [origin] * len(stamps)}, stamps)
        return self._resolved(place)

    def _ordered(self, drafts: Sequence[int]) -> list[tuple[tuple[int, int], int]]:
        """Return ((draft, place), token) of all rows to write, in their order."""
        if not self._extras:
            return []
        found = [((row, _ITSELF), _FIRST_TOKEN - row) for row in drafts]
        found += [
            ((extra.draft, extra.place), _FIRST_TOKEN - self._columns.n - at) for at, extra in enumerate(self._extras)
        ]
        return sorted(found, key=lambda item: item[0])

    def _plain(self, sources: Sequence[str], chunks: Sequence[str | None]) -> dict[str, Sequence[Any]]:
        columns, targets = self._columns, self._targets
        objects = [text if at < 0 else None for at, text in zip(targets, columns["object"], strict=True)]
        return {
            "subject": self._subjects, "predicate": columns["predicate"], "target": targets, "object": objects,
            "category": columns["category"], "source": sources, "chunk": chunks, "confidence": columns["confidence"],
            "weight": columns["weight"], "valid_from": self._begins, "valid_to": self._ends,
        }  # fmt: skip

    def _add_extras(
        self, values: dict[str, list[Any]], place: dict[int, int], sources: Sequence[str], chunks: Sequence[str | None]
    ) -> None:
        plain = self._plain(sources, chunks)
        for extra in self._extras:
            values["kind"].append(extra.kind)
            values["amends"].append(place.get(extra.amends, extra.amends))
            said = self._copied(extra.copied, plain)
            if extra.kind != FACT:  # what it ends is told by its number; who ends it is told here
                said |= {"object": None, "category": None, "source": sources[extra.draft], "chunk": chunks[extra.draft]}
            for name in plain:
                if name not in ("valid_from", "valid_to"):
                    values[name].append(said[name])
            values["valid_from"].append(None if extra.begin == EVER else extra.begin)
            values["valid_to"].append(None if extra.end == NEVER else extra.end)

    def _copied(self, row: int, plain: dict[str, Sequence[Any]]) -> dict[str, Any]:
        """Return a fact of the vault, or of this write, by column."""
        while row <= _FIRST_TOKEN - self._columns.n:  # what goes on copies what was interrupted
            row = self._extras[_FIRST_TOKEN - self._columns.n - row].copied
        if row <= _FIRST_TOKEN:
            return {name: column[_FIRST_TOKEN - row] for name, column in plain.items()}
        (record,) = self._book.snapshot.records("facts", np.array([row], np.int64), tuple(plain))
        return record | {"confidence": float(settle(self._book, np.array([row], np.int64)).confidence[0])}

    def _resolved(self, place: dict[int, int]) -> list[int]:
        bad = self._columns.bad
        return [-1 if row in bad else place.get(found, found) for row, found in enumerate(self._found)]


_FEW: Final = 64
"""Below, every row is settled: telling them apart would cost more."""


def _coded(column: Sequence[str], rows: I64) -> tuple[list[str], I64]:
    """Return the different values of some rows of a column, and the number of each row's value."""
    import pyarrow as pa

    values = column if len(rows) == len(column) else [column[row] for row in rows.tolist()]
    coded = pa.array(values, pa.string()).dictionary_encode()
    return coded.dictionary.to_pylist(), numbers(coded.indices).astype(np.int64)


def _repeated(values: I64) -> NDArray[np.bool_]:
    """Return bool (n,): True where a value occurs more than once."""
    _, at, counts = np.unique(values, return_inverse=True, return_counts=True)
    repeated: NDArray[np.bool_] = counts[at] > 1
    return repeated


def _with(book: Book, members: Iterable[int], name: str, groups: Callable[[int, int], I64]) -> I64:
    code = book.tables.predicates.code(name)
    rows = np.concatenate([groups(member, book.facts) for member in members])
    found: I64 = rows[book.tables.predicate.values[rows] == code]
    return found


def _stretches(book: Book, rows: I64, *, turned: bool) -> list[Stretch]:
    """Return facts as stretches of what is at their other end."""
    standing, tables = settle(book, rows), book.tables
    others = (tables.subject if turned else tables.target).values[standing.rows].tolist()
    texts = [None] * len(others) if turned else book.snapshot.values("facts", "object", standing.rows)
    return [
        Stretch(row, book.root(other) if other >= 0 else text, begin, end)
        for row, other, text, begin, end in zip(
            standing.rows.tolist(),
            others,
            texts,
            standing.valid_from.tolist(),
            standing.valid_to.tolist(),
            strict=True,
        )
    ]


def _taken(column: Sequence[Any], rows: Sequence[int]) -> list[Any]:
    return list(column) if len(rows) == len(column) else [column[row] for row in rows]
