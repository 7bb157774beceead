"""Facts in time, day by day: what a history of adds and closes leaves, painted cell by cell on a calendar."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

DAYS = 12
"""Cell 0 is everything before the first day, the last one everything from the last day on."""
FUNCTIONAL = {"status", "works_at", "owned_by"}
TURNED = {"child_of": "parent_of", "employs": "works_at", "owns": "owned_by"}
"""By a predicate, the one that says the same from the other end."""
BETWEEN_ENTITIES = {"parent_of", "child_of", "works_at", "employs", "owns", "owned_by"}


class Op(NamedTuple):
    """One thing said on a day."""

    kind: str
    """add or close."""
    subject: str
    predicate: str
    object: str
    begin: int | None
    """Cell; None where nothing is said of it."""
    end: int | None
    today: int


@dataclass
class Calendar:
    """Which stretch lies in which cell, by group of values that cannot overlap."""

    groups: dict[tuple[str, ...], list[tuple[str, int] | None]] = field(default_factory=dict)
    stretches: int = 0

    def play(self, op: Op) -> None:
        """Take in one more thing that was said."""
        subject, predicate, value = op.subject, op.predicate, op.object
        if predicate in TURNED:
            subject, predicate, value = value, TURNED[predicate], subject
        functional = predicate in FUNCTIONAL
        key = (subject, predicate) if functional else (subject, predicate, value)
        cells = self.groups.setdefault(key, [None] * DAYS)
        if op.kind == "add":
            self._add(cells, value, op, functional=functional)
        elif cells[-1] is not None and cells[-1][0] == value:
            self._close(cells, op)

    def _new(self, value: str) -> tuple[str, int]:
        self.stretches += 1
        return value, self.stretches

    def _add(self, cells: list[tuple[str, int] | None], value: str, op: Op, *, functional: bool) -> None:
        end = DAYS if op.end is None else op.end
        begin = op.begin
        if begin is None:
            said = any(cell is not None for cell in cells)
            begin = op.today if said and end > op.today else 0
        there = cells[begin]
        if there is not None and there[0] == value:
            last = max(at for at in range(DAYS) if cells[at] == there)
            if functional or end <= last + 1 or last + 1 == DAYS:
                return
            begin = last + 1
            if cells[begin] is not None:
                return
        there = cells[begin]
        mine, rest = self._new(value), None
        for at in range(begin, DAYS):
            here = cells[at]
            starts = (
                here is not None and (at == 0 or cells[at - 1] != here) and at > begin and here not in (there, rest)
            )
            if at < end and not starts:
                cells[at] = mine
            elif here is not None and here == there and at >= end:
                rest = rest or self._new(here[0])  # it goes on after the interruption
                cells[at] = rest
            else:
                break

    def _close(self, cells: list[tuple[str, int] | None], op: Op) -> None:
        open_ = cells[-1]
        first = cells.index(open_)
        end = max(op.today, first) if op.end is None else op.end
        for at in range(max(end, first), DAYS):
            cells[at] = None

    def at(self, day: int) -> set[tuple[str, str, str]]:
        """Return what holds on a day."""
        found = set()
        for key, cells in self.groups.items():
            cell = cells[day]
            if cell is not None:
                found.add((key[0], key[1], cell[0]))
        return found


def replay(history: list[Op], day: int) -> set[tuple[str, str, str]]:
    """Return what holds on a day after a history, told from the end that `TURNED` leads to."""
    calendar = Calendar()
    for op in history:
        calendar.play(op)
    return calendar.at(day)
