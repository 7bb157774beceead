from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.index import tail as tail_module
from lamina_engine.index.tail import Tail, TailWords
from lamina_kernels.terms import find_entries
from tests.oracles.terms import Row, pack

ROWS = st.lists(
    st.dictionaries(st.integers(0, 9), st.tuples(st.integers(1, 3), st.integers(0, 2), st.integers(0, 2)), max_size=5),
    max_size=30,
)


@pytest.mark.parametrize("compiled", [True, False])
@given(
    rows=ROWS,
    cuts=st.lists(st.integers(0, 30)),
    query=st.lists(st.integers(0, 11), unique=True),
    stop=st.integers(90, 140),
)
def test_rows_are_matched_however_they_came(
    compiled: bool, rows: list[Row], cuts: list[int], query: list[int], stop: int
) -> None:
    if compiled:
        find_entries.warm()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tail_module, "_COPIED_ROWS", 4)
        if not compiled:
            patch.setattr(type(find_entries), "ready", property(lambda _: False))
        tail = Tail(100)
        edges = sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})
        for start, end in itertools.pairwise(edges):
            tail.append(pack(rows[start:end], [(1, 1, 1)] * (end - start)))
        assert tail.stop == 100 + len(rows)
        got = tail.match(np.array(query, np.uint32), stop)
    seen = rows[: max(stop - 100, 0)]
    found = sorted(zip(got.rows.tolist(), (query[term] for term in got.terms.tolist()), strict=True))
    assert found == sorted((100 + i, term) for i, row in enumerate(seen) for term in query if term in row)


def test_a_reader_keeps_what_it_has_seen() -> None:
    tail = Tail(0)
    tail.append(pack([{1: (1, 0, 0)}], [(1, 0, 0)]))
    before = tail._blocks
    tail.append(pack([{1: (1, 0, 0)}, {2: (1, 0, 0)}], [(1, 0, 0)] * 2))
    assert before[0][1].hashes.tolist() == [1]
    assert tail.match(np.array([1], np.uint32), 1).rows.tolist() == [0]
    assert tail.match(np.array([1], np.uint32), 9).rows.tolist() == [0, 1]


WORDS = st.lists(st.sampled_from("abcd"), max_size=4)


@given(
    rows=st.lists(st.tuples(WORDS, WORDS), max_size=12),
    query=st.lists(st.sampled_from("abcde"), min_size=1),
    stop=st.integers(5, 20),
)
def test_rows_with_any_and_with_all_words_are_those_that_hold_them(
    rows: list[tuple[list[str], list[str]]], query: list[str], stop: int
) -> None:
    tail = TailWords(5)
    tail.append([" ".join(title) for title, _ in rows], [" ".join(text) for _, text in rows])
    seen = {row: {*title, *text} for row, (title, text) in enumerate(rows, 5) if row < stop}
    assert tail.rows_of(query, stop).tolist() == [row for row, held in seen.items() if held & set(query)]
    assert tail.rows_with_all(query, stop).tolist() == [row for row, held in seen.items() if held >= set(query)]
