from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lamina_kernels.bytepairs import ID_BITS, join_word_pairs
from tests.oracles import bytepairs as oracle

Table = dict[tuple[int, int], tuple[int, int]]
TOKENS = 6


def encode(words: list[list[int]], table: Table) -> list[list[int]]:
    pairs = sorted(table)
    left_starts = np.searchsorted([left for left, _ in pairs], np.arange(TOKENS + 1)).astype(np.int32)
    rights = np.array([right for _, right in pairs], np.int32)
    merges = np.array([table[pair][0] << ID_BITS | table[pair][1] for pair in pairs], np.int64)
    starts = np.cumsum([0, *map(len, words)], dtype=np.int64)
    characters = np.array([token for word in words for token in word], np.int32)
    tokens, stops = np.full(characters.size, 9, np.uint16), np.empty(len(words), np.int64)
    join_word_pairs(characters, starts, left_starts, rights, merges, tokens, stops)
    bounds = [0, *stops.tolist()]
    assert (tokens[bounds[-1] :] == 9).all()
    return [tokens[start:stop].tolist() for start, stop in pairwise(bounds)]


token = st.integers(0, TOKENS - 1)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    pairs = draw(st.lists(st.tuples(token, token), max_size=12, unique=True))
    ranks = draw(st.permutations(range(len(pairs))))
    return {pair: (rank, draw(token)) for pair, rank in zip(pairs, ranks, strict=True)}


@given(st.lists(st.lists(token, max_size=9), max_size=5), tables())
def test_the_kernel_equals_the_oracle(words: list[list[int]], table: Table) -> None:
    assert encode(words, table) == [oracle.join(word, table) for word in words]


def test_of_equal_pairs_the_leftmost_is_joined() -> None:
    assert encode([[1, 1, 1], [1, 1, 1, 1], []], {(1, 1): (0, 2)}) == [[2, 1], [2, 2], []]
    assert encode([[0, 1, 2]], {(0, 1): (1, 3), (1, 2): (0, 4)}) == [[0, 4]]
