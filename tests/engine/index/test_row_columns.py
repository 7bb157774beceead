from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import lamina
from lamina import Vault
from lamina_engine.index.row_columns import NO_VALUE, RowColumn


class FakeSegment:
    def __init__(self, start: int, rows: int) -> None:
        self.start, self.rows = start, rows


class FakeSnapshot:
    """A version with these segment borders."""

    def __init__(self, borders: list[int]) -> None:
        pairs = itertools.pairwise([0, *borders])
        self._segments = [FakeSegment(start, stop - start) for start, stop in pairs]

    def rows(self, _log: str) -> int:
        return sum(segment.rows for segment in self._segments)

    def segments(self, _log: str) -> list[FakeSegment]:
        return self._segments

    def segments_from(self, _log: str, row: int) -> list[FakeSegment]:
        return [segment for segment in self._segments if segment.start + segment.rows > row]


def column() -> RowColumn:
    return RowColumn(lambda _, segment: np.arange(segment.start, segment.start + segment.rows) * 10)


def of(made: RowColumn, borders: list[int]) -> Any:
    snapshot: Any = FakeSnapshot(borders)
    return made.of(snapshot)


@given(st.lists(st.lists(st.integers(1, 60), unique=True, max_size=5).map(sorted), max_size=6))
def test_every_version_sees_its_rows_whatever_was_read_before(versions: list[list[int]]) -> None:
    made, seen = column(), []
    for borders in versions:
        rows = borders[-1] if borders else 0
        got = of(made, borders)
        assert got.tolist() == [10 * row for row in range(rows)]
        seen.append((got, rows))
    for got, rows in seen:  # what came later changed no version that is still being read
        assert got.tolist() == [10 * row for row in range(rows)]


def test_a_matrix_grows_as_a_column_does() -> None:
    made = RowColumn(lambda _, segment: np.arange(2 * segment.start, 2 * (segment.start + segment.rows)).reshape(-1, 2))
    first = of(made, [3, 4])
    got = of(made, [4, 9])
    np.testing.assert_array_equal(got, np.arange(18).reshape(9, 2))
    assert first.tolist() == got[:4].tolist()


def test_it_is_read_only_and_grows_without_a_copy_each_time() -> None:
    made = column()
    first = of(made, [5, 8])
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1
    of(made, [8, 100])
    grown = of(made, [8, 100, 101])
    assert np.shares_memory(of(made, [8, 100, 101, 102]), grown)


def test_fields_without_values_share_one_column_until_a_row_has_one(lexical_vault: Vault) -> None:
    def columns() -> dict[str, NDArray[np.int32]]:
        view = lexical_vault._memory.view()
        return {field: view.categories.column(view.snapshot, field) for field in ("session", "agent", "role")}

    lexical_vault.add([{"text": f"note {i}"} for i in range(3)])
    old, before = lexical_vault._memory.view(), columns()
    assert [column.tolist() for column in before.values()] == [[NO_VALUE] * 3] * 3
    assert np.shares_memory(before["agent"], before["role"])
    assert not before["agent"].flags.writeable
    lexical_vault.add([{"text": "a turn", "session": "s"}, {"text": "another note"}])
    for _ in range(2):
        assert columns()["session"].tolist() == [NO_VALUE] * 3 + [0, NO_VALUE]
        assert columns()["agent"].tolist() == [NO_VALUE] * 5
    lexical_vault.add("by Ada", agent="ada")
    assert columns()["agent"].tolist() == [NO_VALUE] * 5 + [0]
    assert old.categories.column(old.snapshot, "agent").tolist() == [NO_VALUE] * 3
    with lamina.open(lexical_vault.path, mode="r", embedder="none") as other:
        view = other._memory.view()
        for field, column in columns().items():
            assert view.categories.column(view.snapshot, field).tolist() == column.tolist()
