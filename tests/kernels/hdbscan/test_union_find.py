from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lamina_kernels.hdbscan.union_find import find, join, name_sets

pairs = st.integers(1, 12).flatmap(
    lambda n: st.tuples(st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=20))
)


@given(pairs)
def test_sets_are_named_by_their_lowest_row_whatever_the_order(case: tuple[int, list[tuple[int, int]]]) -> None:
    n, joined = case
    ref = [{i} for i in range(n)]
    parent, names = np.arange(n), np.empty(n, np.int64)
    for i, j in joined:
        new = ref[i] is not ref[j]
        assert join(parent, i, j) == new
        if new:
            ref[i] |= ref[j]
            for row in ref[i]:
                ref[row] = ref[i]
    name_sets(parent, names)
    assert names.tolist() == [min(each) for each in ref]
    assert [find(parent, i) for i in range(n)] == names.tolist()


def test_a_find_halves_its_path() -> None:
    parent = np.array([0, 0, 1, 2, 3])
    assert find(parent, 4) == 0
    assert parent.tolist() == [0, 0, 0, 2, 2]
