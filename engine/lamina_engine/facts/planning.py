"""What a write of facts does: which rows are new, which are there already, and what the new ones end.

Two facts meet where they are the same triple, whichever end it is told from, or values of one functional predicate of one
subject. Most rows of a large write meet nothing; those that do are settled one after the other, in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from lamina_engine.columns import numbers
from lamina_engine.facts.known import Value, known_of, roots
from lamina_engine.facts.shapes import MAX_TIME, MIN_TIME
from lamina_engine.facts.tables import CLOSE, FACT, RETRACT
from lamina_engine.facts.timeline import Outcome, Stretch, put

if TYPE_CHECKING:
    from lamina_engine.facts.book import Book
    from lamina_engine.facts.drafts import Columns

I64 = NDArray[np.int64]
BEFORE, ITSELF, AFTER = 0, 1, 2
"""Places of rows beside the one of the same draft."""
FIRST_TOKEN: Final = -2
"""A row that is not written yet is known by -2 - its place in the list of drafts and extras."""


class Extra(Struct, frozen=True, gc=False):
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
        self.book, self.columns, self._today, self._repeat = book, columns, today, repeat
        self.subjects, self.targets = subjects, targets
        self.good = [row for row in range(columns.n) if row not in columns.bad]
        self.begins = [None if begin == MIN_TIME else begin for begin in columns["valid_from"]]
        """None: since ever."""
        self.ends: list[int | None] = list(columns["valid_to"])
        """None: open."""
        self.found = list(range(FIRST_TOKEN, FIRST_TOKEN - columns.n, -1))
        """Row of each draft's fact: its token where it is to be written."""
        self.extras: list[Extra] = []
        self.added = len(self.good)
        self.unchanged = self.superseded = 0
        registry = book.registry
        self._turned = {name: registry.turned(name) for name in dict.fromkeys(columns["predicate"])}
        values = {row: self._value(row) for row in self._meeting()}
        for (row, value), group in zip(values.items(), known_of(book, values.values()), strict=True):
            self._settle(row, value, group)

    # ------------------------------------------------------------------ which rows meet others

    def _meeting(self) -> list[int]:
        """Return the rows that may meet a fact of the vault or of this write, in order."""
        if len(self.good) <= _FEW:
            return self.good
        good = np.array(self.good, np.int64)
        registry = self.book.registry
        predicates, code = _coded(self.columns["predicate"], good)
        subject = np.array(self.subjects, np.int64)[good]
        target = np.array(self.targets, np.int64)[good]
        two_ways = np.array([registry.inverse(name) is not None for name in predicates])[code]
        functional = np.array([registry.is_functional(name) for name in predicates])[code]
        group = subject * len(predicates) + code
        _, literal = _coded(self.columns["object"], good, named=False)
        value = np.where(target >= 0, target, -2 - literal)
        whole = np.where(functional, -1, value) + int(literal.max(initial=0)) + 3
        width = int(whole.max()) + 1
        if int(group.max()) >= _MOST // width:
            group = np.unique(group, return_inverse=True)[1]
        triple = group * width + whole
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
        registry = self.book.registry
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
        book, tables = self.book, self.book.tables
        out = np.zeros(len(subject), np.bool_)
        if not book.facts:
            return out
        own = np.array([tables.predicates.code(name) for name in predicates], np.int64)
        inverse = [book.registry.inverse(name) for name in predicates]
        other = np.array([-1 if name is None else tables.predicates.code(name) for name in inverse], np.int64)
        ends = np.unique(np.concatenate([subject, target[two_ways & (target >= 0)]]))
        members = [member for row in ends.tolist() if row < book.entity_rows for member in book.members(row)]
        rows = tables.by_subject.of_all(np.array(members, np.int64), book.facts)
        owner = roots(book, tables.subject.values[rows])
        width = len(tables.predicates.names) + 1
        there = np.unique(owner * width + tables.predicate.values[rows])
        out |= (own[code] >= 0) & np.isin(subject * width + own[code], there)
        return out | ((other[code] >= 0) & (target >= 0) & np.isin(target * width + other[code], there))

    # ------------------------------------------------------------------ one row after the other

    def _value(self, row: int) -> Value:
        """Return what a row says, in the form in which it is compared."""
        columns, registry = self.columns, self.book.registry
        predicate, subject, target = columns["predicate"][row], self.subjects[row], self.targets[row]
        if target < 0:
            return Value(subject, predicate, columns["object"][row], registry.is_functional(predicate))
        turned, inverse = self._turned[predicate], registry.inverse(predicate)
        if inverse == predicate and not registry.is_functional(predicate):
            turned = target < subject  # without a direction: the smaller number comes first
        if turned and inverse is not None:
            return Value(target, inverse, subject, registry.is_functional(inverse))
        return Value(subject, predicate, target, registry.is_functional(predicate))

    def _settle(self, row: int, value: Value, group: list[Stretch]) -> None:
        columns, held, functional = self.columns, value.held, value.functional
        begin, end = columns["valid_from"][row], columns["valid_to"][row]
        before = (
            None if self._repeat or begin is not None else next((each for each in group if each.value == held), None)
        )
        if before is not None:
            outcome = Outcome(before.row, before.begin, before.end)
        else:
            outcome = put(group, held, begin, end, self._today, functional=functional)
        if outcome.row != -1:
            self.found[row] = outcome.row
            self.unchanged += 1
            self.added -= 1
            return
        self.begins[row] = None if outcome.begin == MIN_TIME else outcome.begin
        self.ends[row] = None if outcome.end == MAX_TIME else outcome.end
        if outcome.ended is not None:
            self._end(row, group, outcome.ended, outcome.begin)
        group.append(Stretch(self.found[row], held, outcome.begin, outcome.end))
        if outcome.resumed is not None and outcome.ended is not None:
            token = FIRST_TOKEN - columns.n - len(self.extras)
            self.extras.append(
                Extra(row, AFTER, FACT, -1, outcome.ended.row, outcome.resumed.begin, outcome.resumed.end)
            )
            group.append(replace(outcome.resumed, row=token))

    def _end(self, row: int, group: list[Stretch], ended: Stretch, at: int) -> None:
        self.superseded += 1
        group.remove(ended)
        group.append(replace(ended, end=at))
        kind = CLOSE if at > MIN_TIME else RETRACT
        self.extras.append(Extra(row, BEFORE, kind, ended.row, ended.row, ended.begin, at))


_FEW: Final = 64
"""Below, every row is settled: telling them apart would cost more."""
_MOST: Final = 1 << 62


def _coded(column: Sequence[str], rows: I64, *, named: bool = True) -> tuple[list[str], I64]:
    """Return the different values of some rows of a column (only where ``named``), and the number of each row's value."""
    import pyarrow as pa

    values = column if len(rows) == len(column) else [column[row] for row in rows.tolist()]
    coded = pa.array(values, pa.string()).dictionary_encode()
    return coded.dictionary.to_pylist() if named else [], numbers(coded.indices).astype(np.int64)


def _repeated(values: I64) -> NDArray[np.bool_]:
    """Return bool (n,): True where a value occurs more than once."""
    ordered = np.sort(values)
    several = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(several):
        return np.zeros(len(values), np.bool_)
    at = np.minimum(np.searchsorted(several, values), len(several) - 1)
    repeated: NDArray[np.bool_] = several[at] == values
    return repeated
