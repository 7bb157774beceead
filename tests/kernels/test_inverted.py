"""Inverted lists against forward lists: every row that a scan finds best, with the bits of its score."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina_kernels import inverted as module
from lamina_kernels.inverted import (
    MOST_ROWS,
    ROOM,
    UNCODED,
    Inverted,
    Segments,
    best_postings,
    code_lengths,
    find_terms,
    find_terms_numpy,
    invert,
    length_norms,
    locate_lengths,
    sum_postings_numpy,
)
from lamina_kernels.layouts import F64, I64, U8, U16, TermRows
from lamina_kernels.terms import Blocks, scan_bm25_numpy

WEIGHTS = np.array([1.0, 2.0, 0.5])
K1, B, AVERAGE = 1.2, 0.75, 9.5


def rows_of(n: int, *, seed: int = 0, terms: int = 12, most: int = 3, empty: bool = True) -> TermRows:
    """Return forward lists of random rows; hashes spread over all of 32 bits."""
    rng = np.random.default_rng(seed)
    vocabulary = np.sort(rng.choice(1 << 32, terms, replace=False)).astype(np.uint32)
    chosen = [np.flatnonzero(rng.random(terms) < rng.random(terms)) for _ in range(n)]
    indptr = np.cumsum([0, *map(len, chosen)], dtype=np.int64)
    hashes = vocabulary[np.concatenate([np.empty(0, np.int64), *chosen])]
    zones = [rng.integers(0, most + 1, hashes.size).astype(np.uint8) for _ in range(3)]
    if not empty:
        zones[0] = np.maximum(zones[0], 1)
    lengths = rng.integers(0, 30, (n, 3)).astype(np.uint16)
    return TermRows(indptr, hashes, zones[0], zones[1], zones[2], lengths)


def query_of(block: TermRows, *, more: int = 1) -> np.ndarray:
    known = np.unique(block.hashes)
    return np.concatenate([known[::2], np.array([3, 1, 2][:more], np.uint32)])[::-1].astype(np.uint32)


def best(blocks: list[TermRows], hashes: np.ndarray, idf: F64, k: int, live: U8, stop: int) -> tuple[I64, F64]:
    """Return what the kernel keeps of several segments, best first; rows beside them have the scores of a scan."""
    rows, scores, sums = np.full(2 * k + ROOM, -9), np.full(2 * k + ROOM, -9.0), np.zeros(MOST_ROWS)
    sizes = [block.lengths.shape[0] for block in blocks]
    firsts = np.cumsum([0, *sizes])[:-1].tolist()
    stops = np.array([min(stop - first, n) for first, n in zip(firsts, sizes, strict=True) if first < stop], np.int64)
    # in no order, and of rows that are not seen too: those are left alone
    beside = np.random.default_rng(k).permutation(np.arange(0, sum(sizes) + 3, 2))
    lists = [invert(block) for block in blocks]
    spans = np.full((stops.size, hashes.size, 2), -9)
    find_terms(*Segments.of(lists), stops, hashes, spans)
    for one, below, found in zip(lists, stops.tolist(), spans, strict=False):
        np.testing.assert_array_equal(found, find_terms_numpy(one, hashes, below))
    lengths = [coded(block) for block in blocks]
    others = np.full(len(beside), -9.0)
    kept = best_postings(
        *Segments.of(lists), *Blocks.of(blocks), locate_lengths(lengths), K1, B, AVERAGE, stops, spans, hashes, idf, WEIGHTS,
        live, beside, k, sums, rows, scores, others,
    )  # fmt: skip
    assert not sums.any()
    every = np.concatenate(
        [
            scan_bm25_numpy(b, np.ones(b.lengths.shape[0], np.uint8), hashes, idf, WEIGHTS, K1, B, AVERAGE)
            for b in blocks
        ]
    )
    here = beside < min(stop, every.size)
    assert others[here].tobytes() == every[beside[here]].tobytes()
    assert (others[~here] == -9.0).all()
    return rows[:kept], scores[:kept]


def coded(block: TermRows) -> tuple[U16, F64]:
    """Return the length codes of a segment's rows, and the lengths."""
    codes, values = np.zeros(MOST_ROWS, np.uint16), np.empty(block.lengths.shape[0])
    count = code_lengths(block.lengths, WEIGHTS, codes, values)
    return codes, values[:count].copy()


def scanned(blocks: list[TermRows], hashes: np.ndarray, idf: F64, k: int, live: U8, stop: int) -> tuple[I64, F64]:
    every = [
        scan_bm25_numpy(b, np.ones(b.lengths.shape[0], np.uint8), hashes, idf, WEIGHTS, K1, B, AVERAGE) for b in blocks
    ]
    scores = np.concatenate(every)[:stop]
    if live.size:
        scores = scores * live[:stop]
    rows = np.flatnonzero(scores)
    order = rows[np.lexsort((-rows, -scores[rows]))][:k]
    return order, scores[order]


@given(
    sizes=st.lists(st.integers(1, 300), min_size=1, max_size=3),
    seed=st.integers(0, 1000),
    k=st.sampled_from([1, 2, 7, 200]),
    most=st.sampled_from([1, 3, 255]),
    filtered=st.booleans(),
    cut=st.floats(0, 1),
)
@settings(deadline=None, max_examples=60)
def test_keeps_what_a_scan_of_every_row_keeps(
    sizes: list[int], seed: int, k: int, most: int, filtered: bool, cut: float
) -> None:
    blocks = [rows_of(n, seed=seed + i, most=most) for i, n in enumerate(sizes)]
    rng = np.random.default_rng(seed)
    hashes = np.unique(np.concatenate([query_of(block) for block in blocks]))
    rng.shuffle(hashes)
    idf = rng.uniform(0.1, 3.0, hashes.size)
    live = (rng.random(sum(sizes)) < 0.5).astype(np.uint8) if filtered else np.empty(0, np.uint8)
    stop = round(cut * sum(sizes))
    ref, got = (way(blocks, hashes, idf, k, live, stop) for way in (scanned, best))
    assert got[0].tolist() == ref[0].tolist()
    assert got[1].tobytes() == ref[1].tobytes()


def test_sums_by_numpy_have_the_bits_of_a_scan() -> None:
    for most in (2, 255):
        block = rows_of(50, most=most)
        inverted, hashes = invert(block), query_of(block)
        idf = np.linspace(0.5, 2.0, hashes.size)
        ref = scan_bm25_numpy(block, np.ones(50, np.uint8), hashes, idf, WEIGHTS, K1, B, AVERAGE)
        norms = length_norms(block.lengths, WEIGHTS, K1, B, AVERAGE)
        got = sum_postings_numpy(
            inverted, block, norms, find_terms_numpy(inverted, hashes, MOST_ROWS), hashes, idf, WEIGHTS, K1
        )
        assert got.tobytes() == ref.tobytes()


@pytest.mark.parametrize("k", [1, 40, 3_000])
def test_many_rows_in_several_rooms_and_segments(k: int) -> None:
    rng = np.random.default_rng(k)
    blocks = []
    for n in (2 * ROOM + 77, 900, ROOM + 1):
        counts = rng.integers(1, 200, n).astype(np.uint8)
        none, lengths = np.zeros(n, np.uint8), rng.integers(1, 9, (n, 3)).astype(np.uint16)
        blocks.append(TermRows(np.arange(n + 1), np.full(n, 9, np.uint32), counts, none, none, lengths))
    total = sum(block.lengths.shape[0] for block in blocks)
    for live in (np.empty(0, np.uint8), (rng.random(total) < 0.3).astype(np.uint8)):
        given_ = np.array([9], np.uint32), np.ones(1), k, live, total
        ref, got = scanned(blocks, *given_), best(blocks, *given_)
        assert got[0].tolist() == ref[0].tolist()
        assert got[1].tobytes() == ref[1].tobytes()


def test_rows_with_equal_scores_the_newest_are_kept() -> None:
    n = 700  # more than are tested together
    one, none = np.ones(n, np.uint8), np.zeros(n, np.uint8)
    block = TermRows(np.arange(n + 1), np.full(n, 9, np.uint32), one, none, none, np.full((n, 3), 4, np.uint16))
    rows, scores = best([block, block], np.array([9], np.uint32), np.ones(1), 5, np.empty(0, np.uint8), 2 * n)
    assert rows.tolist() == [2 * n - 1 - i for i in range(5)]
    assert len(set(scores.tolist())) == 1


@pytest.mark.parametrize("n", [0, 1, 2, 30])
@pytest.mark.parametrize("kernel", [True, False])
def test_postings_are_the_entries_by_term(n: int, kernel: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_AT_ONCE", 4)
    monkeypatch.setattr(module, "_KERNEL_ENTRIES", 0 if kernel else 1 << 62)
    monkeypatch.setattr(module, "is_ready", lambda _: kernel)
    block = rows_of(n)
    ref: dict[int, list[tuple[int, tuple[int, ...]]]] = {}
    for row in range(n):
        for e in range(block.indptr[row], block.indptr[row + 1]):
            counts = (int(block.body[e]), int(block.header[e]), int(block.context[e]))
            if any(counts):
                ref.setdefault(int(block.hashes[e]), []).append((row, counts))
    inverted = invert(block)
    got: dict[int, list[tuple[int, tuple[int, ...]]]] = {}
    for i, term in enumerate(inverted.terms.tolist()):
        span = slice(int(inverted.starts[i]), int(inverted.starts[i + 1]))
        triples = [tuple(inverted.triples[code].tolist()) for code in inverted.codes[span]]
        got[term] = list(zip(inverted.rows[span].tolist(), triples, strict=True))
    assert got == ref
    assert inverted.terms.tolist() == sorted(ref)
    assert [array.dtype for array in inverted] == [np.uint32, np.uint32, np.uint16, np.uint8, np.uint8]


def test_rare_and_great_counts_have_no_code() -> None:
    n = 400
    rng = np.random.default_rng(1)
    zones = [rng.integers(1, 32, n).astype(np.uint8) for _ in range(3)]
    zones[0][:3] = 32, 255, 40
    body, header, context = zones
    block = TermRows(np.arange(n + 1), np.full(n, 9, np.uint32), body, header, context, np.full((n, 3), 4, np.uint16))
    inverted = invert(block)
    assert (inverted.codes[:3] == UNCODED).all()
    assert 3 < np.count_nonzero(inverted.codes == UNCODED) < n  # 400 triples, nearly all different
    hashes, idf, none = np.array([9], np.uint32), np.ones(1), np.empty(0, np.uint8)
    ref, got = (way([block], hashes, idf, 50, none, n) for way in (scanned, best))
    assert got[0].tolist() == ref[0].tolist()
    assert got[1].tobytes() == ref[1].tobytes()


def test_terms_are_found_in_the_same_places() -> None:
    for n in (0, 1, 2, 20):
        inverted = invert(rows_of(n))
        wanted = np.concatenate([inverted.terms, np.array([0, 7, 2**32 - 1], np.uint32)])
        got = np.empty((wanted.size, 2), np.int64)
        find_terms(*Segments.of([inverted]), np.array([MOST_ROWS]), wanted, got[np.newaxis])
        np.testing.assert_array_equal(got, find_terms_numpy(inverted, wanted, MOST_ROWS))


@pytest.mark.parametrize("weights", [[1.0, 1.0, 0.5], [0.0, 0.0, 0.0], [0.37, 1e30, 3.0]])
def test_rows_of_one_length_share_a_code(weights: list[float]) -> None:
    lengths = np.random.default_rng(0).integers(0, 20, (300, 3)).astype(np.uint16)
    w = np.array(weights)
    codes, values = np.zeros(MOST_ROWS, np.uint16), np.empty(300)
    count = code_lengths(lengths, w, codes, values)
    wide = lengths.astype(np.float64)
    ref = w[0] * wide[:, 0] + w[1] * wide[:, 1] + w[2] * wide[:, 2]
    assert values[:count][codes[:300]].tobytes() == ref.tobytes()
    assert count == np.unique(ref).size


def test_postings_of_rows_that_do_not_exist_stay_inside() -> None:
    block = rows_of(20, terms=3, empty=False)
    inverted = invert(block)
    flipped = Inverted(
        inverted.terms, inverted.starts, inverted.rows ^ np.uint16(0x8000), inverted.codes | np.uint8(UNCODED),
        inverted.triples,
    )  # fmt: skip
    spans = find_terms_numpy(flipped, flipped.terms, MOST_ROWS)[np.newaxis]
    lengths = coded(block)
    rows, scores = np.zeros(10 + ROOM, np.int64), np.zeros(10 + ROOM)
    kept = best_postings(
        *Segments.of([flipped]), *Blocks.of([block]), locate_lengths([lengths]), K1, B, AVERAGE, np.array([20]), spans,
        flipped.terms, np.ones(3), WEIGHTS, np.empty(0, np.uint8), np.empty(0, np.int64), 5, np.zeros(MOST_ROWS), rows, scores,
        np.empty(0),
    )  # fmt: skip
    assert not kept
    assert not scores.any()
