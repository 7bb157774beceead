"""Inverted lists of several segments against a scan of every row."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import lamina
from lamina import FixedClock
from lamina_engine.index.analysis import Analyzer, term_hash
from lamina_engine.index.inverted import InvertedLists, InvertedSegment, open_lists, write_lists
from lamina_engine.index.scoring import Bm25, ForwardLists, WeightedQuery, scoring_terms, weigh
from lamina_engine.index.terms import TermsDamaged, build_term_rows
from lamina_engine.recall.lanes import rank_rows
from lamina_kernels.inverted import best_postings, code_lengths, find_terms, invert, locate_lengths
from lamina_kernels.layouts import TermRows
from tests.conftest import NOW
from tests.engine.index.building import build_at_once

WORDS = (
    "redis", "keeps", "sessions", "databases", "the", "backup", "nightly", "foo_bar", "fooBar", "queue", "latency", "of",
)  # fmt: skip
QUERIES = ("redis", "databases of the nightly backup", "fooBar latency", "nothing of that kind", "the of")
BM25 = Bm25(header=2.0)
COMPILED = (find_terms, code_lengths, best_postings)


def block_of(n: int, seed: int) -> TermRows:
    rng = np.random.default_rng(seed)
    bodies, headers, contexts = (
        [" ".join(rng.choice(WORDS, rng.integers(0, most))) for _ in range(n)] for most in (20, 4, 8)
    )
    return build_term_rows(bodies, headers, contexts, analyzer=Analyzer())


BLOCKS = [block_of(n, seed) for seed, n in enumerate((70, 1, 2, 130))]
ROWS = sum(block.lengths.shape[0] for block in BLOCKS)


def lists_of(blocks: list[TermRows]) -> tuple[InvertedLists, ForwardLists]:
    forward = ForwardLists(blocks)
    starts = forward.starts.tolist()
    segments = [InvertedSegment(start, block, invert(block)) for start, block in zip(starts, blocks, strict=False)]
    return InvertedLists(segments), forward


def frequencies(forward: ForwardLists, hashes: np.ndarray, stop: int) -> list[int]:
    """Rows below ``stop`` that hold each term, one row after the other."""
    held = [
        set(b.hashes[b.indptr[i] : b.indptr[i + 1]].tolist()) for b in forward.blocks for i in range(len(b.lengths))
    ]
    return [sum(key in row for row in held[:stop]) for key in hashes.tolist()]


def weighed(text: str, forward: ForwardLists, stop: int) -> WeightedQuery:
    terms = scoring_terms(Analyzer().query(text))
    hashes = weigh(terms, [1] * len(terms), ROWS, BM25).hashes  # every form, in the order of the terms
    found = dict(zip(hashes.tolist(), frequencies(forward, hashes, stop), strict=True))
    return weigh(terms, [found[term_hash(term.stem)] for term in terms], ROWS, BM25)


@pytest.fixture(params=["numpy", "compiled"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    for kernel in COMPILED:
        kernel.warm()
        if request.param == "numpy":
            monkeypatch.setattr(kernel, "_entry", None)
    return str(request.param)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("depth", [1, 10, 500])
@pytest.mark.parametrize("stop", [0, 1, 71, 72, 150, ROWS])
@pytest.mark.parametrize("text", QUERIES)
def test_the_best_rows_are_those_of_a_scan(text: str, stop: int, depth: int) -> None:
    lists, forward = lists_of(BLOCKS)
    query, average = weighed(text, forward, stop), forward.statistics(stop).average_length(BM25)
    for live in (None, (np.arange(ROWS) % 3 > 0).astype(np.uint8), np.zeros(ROWS, np.uint8)):
        scanned = forward.scan(np.ones(stop, np.uint8) if live is None else live[:stop], query, BM25, average)
        rows = np.flatnonzero(scanned)
        ref = rank_rows(rows, scanned[rows], depth)
        postings = lists.seek(query.hashes, stop=stop)
        assert postings.frequencies().tolist() == frequencies(forward, query.hashes, stop)
        beside = np.arange(0, stop, 5)[::-1].copy()
        found, scores, others = postings.best(query.idf, BM25, average, depth, live=live, beside=beside)
        every = forward.scan(np.ones(stop, np.uint8), query, BM25, average)
        assert others.tobytes() == every[beside].tobytes()
        assert found.tolist() == ref.rows.tolist()
        assert scores.tobytes() == ref.scores.tobytes()


def test_some_of_the_terms_in_another_order() -> None:
    lists, forward = lists_of(BLOCKS)
    query = weighed(QUERIES[1], forward, ROWS)
    backwards = query.hashes[::-1][:2].copy()
    ref, got = lists.seek(backwards, stop=ROWS), lists.seek(query.hashes, stop=ROWS).only(backwards)
    assert got.frequencies().tolist() == ref.frequencies().tolist()
    assert got.hashes.tolist() == backwards.tolist()


def test_without_segments_nothing_is_found() -> None:
    lists = InvertedLists([])
    postings = lists.seek(np.array([1, 2], np.uint32), stop=10)
    assert lists.rows == 0
    assert postings.frequencies().tolist() == [0, 0]
    assert postings.best(np.ones(2), BM25, 1.0, 5)[0].size == 0


@pytest.mark.usefixtures("way")
def test_without_terms_nothing_is_found() -> None:
    postings = lists_of(BLOCKS)[0].seek(np.empty(0, np.uint32), stop=ROWS)
    assert postings.frequencies().size == postings.rows_of_all().size == len(postings.rows_of_each()) == 0
    assert postings.best(np.empty(0), BM25, 1.0, 5)[0].size == 0


def test_threads_that_ask_first_together_keep_what_they_point_at() -> None:
    blocks = [block_of(900, seed) for seed in range(3)]
    forward = lists_of(blocks)[1]
    query, average = weighed("redis", forward, forward.rows), forward.statistics().average_length(BM25)
    for kernel in COMPILED:
        kernel.warm()
    for _ in range(60):
        lists, start = lists_of(blocks)[0], threading.Barrier(4)

        def ask(_: int, lists: InvertedLists = lists, start: threading.Barrier = start) -> list[int]:
            start.wait()
            rows: list[int] = lists.seek(query.hashes, stop=lists.rows).best(query.idf, BM25, average, 5)[0].tolist()
            return rows

        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(ask, range(4)))
        assert answers[1:] == answers[:-1]
        held = [each.lengths(BM25.weights) for each in lists.segments]
        np.testing.assert_array_equal(lists.lengths(BM25.weights), locate_lengths(held))


def test_rows_that_hold_all_of_some_terms() -> None:
    lists, forward = lists_of(BLOCKS)
    hashes = np.array([term_hash("redi"), term_hash("backup")], np.uint32)
    held = [
        set(b.hashes[b.indptr[i] : b.indptr[i + 1]].tolist()) for b in forward.blocks for i in range(len(b.lengths))
    ]
    for stop in (0, 71, 150, ROWS):
        ref = [row for row in range(stop) if set(hashes.tolist()) <= held[row]]
        assert lists.seek(hashes, stop=stop).rows_of_all().tolist() == ref
        assert lists.seek(np.append(hashes, np.uint32(7)), stop=stop).rows_of_all().tolist() == []
    assert ref


def hits(folder: Path, indexed: int) -> list[tuple[str, float, int | None]]:
    """Return what a fresh reader recalls, which has lists of so many rows."""
    with lamina.open(folder, clock=FixedClock(NOW), embedder="none") as vault:
        view = vault._memory.view()
        assert view.tables.inverted(view.snapshot).rows == indexed
        return [
            (hit.id, hit.score, hit.terms["lexical_rank"])
            for text in ("redis sessions", "nightly backup of databases", "number7")
            for hit in vault.recall(text, k=5, profile="lexical")
        ]


def test_a_vault_is_read_with_and_without_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_at_once(monkeypatch, 64)
    folder, rng = tmp_path / "v", np.random.default_rng(3)
    with lamina.open(folder, create=True, clock=FixedClock(NOW), embedder="none") as vault:
        vault.add([{"text": " ".join(rng.choice(WORDS, 6)) + f" number{i}"} for i in range(200)])
        vault.add([{"text": " ".join(rng.choice(WORDS, 6)) + f" number{i}"} for i in range(30)])  # made by the reader
        vault.add([{"text": " ".join(rng.choice(WORDS, 6)) + f" number{i}"} for i in range(100)])
    ref = hits(folder, 330)
    first, second = sorted((folder / "index" / "terms").glob("*.lists"))
    second.rename(tmp_path / "second")
    assert hits(folder, 200) == ref
    first.rename(tmp_path / "first")
    assert hits(folder, 0) == ref
    with lamina.open(folder, mode="r", clock=FixedClock(NOW), embedder="none") as vault:
        view = vault._memory.view()
        assert view.tables.inverted(view.snapshot).rows == 0
        (tmp_path / "first").rename(first)  # while somebody reads
        assert view.tables.inverted(view.snapshot).rows == 200
        second.write_bytes(b"of no use")
        assert view.tables.inverted(view.snapshot).rows == 200
        assert view.tables.distrusted == {second.name}
    with lamina.open(folder, clock=FixedClock(NOW), embedder="none") as vault:
        vault.add("one more")
        assert vault._memory.tables.inverted(vault._memory.view().snapshot).rows == 330
        assert vault.verify(deep=True).ok


def test_lists_of_segments_that_are_merged_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_at_once(monkeypatch, 16)
    with lamina.open(tmp_path / "v", create=True, clock=FixedClock(NOW), embedder="none") as vault:
        for start in range(0, 300, 20):
            vault.add([{"text": f"note {start + i}"} for i in range(20)])
        segments = [
            s.ref.name.removesuffix(".arrow") for s in vault._memory.view().snapshot.segments("chunks") if s.rows >= 16
        ]
    assert sorted(path.stem for path in (tmp_path / "v" / "index" / "terms").glob("*.lists")) == sorted(segments)


def test_lists_in_a_file_are_checked(tmp_path: Path) -> None:
    path, block = tmp_path / "t", BLOCKS[3]
    rows, lists = block.lengths.shape[0], invert(block)
    write_lists(path, rows, lists)
    write_lists(tmp_path / "u", rows, lists._replace(starts=lists.starts[::-1].copy()))
    for ref, array in zip(lists, open_lists(path, rows, verify=True), strict=True):
        np.testing.assert_array_equal(array, ref)
    with pytest.raises(TermsDamaged, match="out of order"):
        open_lists(tmp_path / "u", rows, verify=True)
    with pytest.raises(TermsDamaged, match="rows"):
        open_lists(path, rows + 1, verify=True)
    with pytest.raises(TermsDamaged, match="mapped"):
        open_lists(tmp_path / "none", rows, verify=True)
    raw = bytearray(path.read_bytes())
    raw[-900] ^= 0x10
    path.write_bytes(raw)
    with pytest.raises(TermsDamaged, match="checksum"):
        open_lists(path, rows, verify=True)
