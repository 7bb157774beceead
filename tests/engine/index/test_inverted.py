"""Inverted lists of several segments against a scan of every row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lamina
from lamina import FixedClock
from lamina_engine.index import indexer, tables
from lamina_engine.index import terms as terms_module
from lamina_engine.index.analysis import Analyzer, term_hash
from lamina_engine.index.inverted import InvertedLists, InvertedSegment
from lamina_engine.index.scoring import Bm25, ForwardLists, WeightedQuery, asked, weigh
from lamina_engine.index.terms import TermsDamaged, build_term_rows, open_inverted, open_terms, write_terms
from lamina_engine.recall.fuse import ranked
from lamina_kernels.inverted import best_postings, code_lengths, find_terms, invert
from lamina_kernels.layouts import TermRows
from tests.conftest import NOW

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
    return build_term_rows(bodies, headers, contexts, analyzer=Analyzer())[0]


BLOCKS = [block_of(n, seed) for seed, n in enumerate((70, 1, 2, 130))]
ROWS = sum(block.lengths.shape[0] for block in BLOCKS)


def lists_of(blocks: list[TermRows]) -> tuple[InvertedLists, ForwardLists]:
    forward = ForwardLists(blocks)
    starts = forward.starts.tolist()
    segments = [InvertedSegment(start, block, invert(block)) for start, block in zip(starts, blocks, strict=False)]
    return InvertedLists(segments), forward


def weighed(text: str, forward: ForwardLists, stop: int) -> WeightedQuery:
    terms = asked(Analyzer().query(text))
    hashes = weigh(terms, [1] * len(terms), ROWS, BM25).hashes  # every form, in the order of the terms
    found = dict(zip(hashes.tolist(), forward.document_frequencies(hashes, stop).tolist(), strict=True))
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
        ref = ranked(rows, scanned[rows], depth)
        sought = lists.seek(query.hashes, stop=stop)
        assert sought.frequencies().tolist() == forward.document_frequencies(query.hashes, stop).tolist()
        got = ranked(*sought.best(query.idf, BM25, average, depth, live=live), depth)
        assert got.rows.tolist() == ref.rows.tolist()
        assert got.scores.tobytes() == ref.scores.tobytes()


def test_some_of_the_terms_in_another_order() -> None:
    lists, forward = lists_of(BLOCKS)
    query = weighed(QUERIES[1], forward, ROWS)
    backwards = query.hashes[::-1][:2].copy()
    ref, got = lists.seek(backwards, stop=ROWS), lists.seek(query.hashes, stop=ROWS).only(backwards)
    assert got.frequencies().tolist() == ref.frequencies().tolist()
    assert got.hashes.tolist() == backwards.tolist()


def test_without_segments_nothing_is_found() -> None:
    lists = InvertedLists([])
    sought = lists.seek(np.array([1, 2], np.uint32), stop=10)
    assert lists.rows == 0
    assert sought.frequencies().tolist() == [0, 0]
    assert sought.best(np.ones(2), BM25, 1.0, 5)[0].size == 0


def hits(folder: Path) -> tuple[bool, list[tuple[str, float, int | None]]]:
    """Return whether a fresh reader has inverted lists, and what it recalls."""
    with lamina.open(folder, clock=FixedClock(NOW)) as vault:
        found = [
            (hit.id, hit.score, hit.terms["lexical_rank"])
            for text in ("redis sessions", "nightly backup of databases", "number7")
            for hit in vault.recall(text, k=5, profile="lexical")
        ]
        return vault._memory.view().inverted is not None, found


def test_an_older_vault_is_read_with_and_without_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terms_module, "LEAST_ROWS", 64)
    monkeypatch.setattr(tables, "LEAST_ROWS", 64)
    monkeypatch.setattr(indexer, "BLOCK_ROWS", 64)
    folder, rng = tmp_path / "v", np.random.default_rng(3)
    with lamina.open(folder, create=True, clock=FixedClock(NOW), embedder="none") as vault:
        vault.add([{"text": " ".join(rng.choice(WORDS, 6)) + f" number{i}"} for i in range(200)])
    ref = hits(folder)
    (path,) = (folder / "index" / "terms").iterdir()
    assert ref[0]
    assert open_inverted(path) is not None
    monkeypatch.setattr(terms_module, "LEAST_ROWS", 1000)  # as older versions wrote the file
    write_terms(path, open_terms(path, verify=True))
    assert open_inverted(path) is None
    assert hits(folder) == ref  # made in memory
    monkeypatch.setattr(tables, "_MADE_ROWS", 199)
    assert hits(folder) == (False, ref[1])  # by Tantivy


def test_lists_in_a_file_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "t"
    block = BLOCKS[3]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(terms_module, "LEAST_ROWS", 100)
        write_terms(path, block)
        inverted = invert(block)
        patch.setattr(terms_module, "invert", lambda rows: inverted._replace(starts=inverted.starts[::-1].copy()))
        write_terms(tmp_path / "u", block)
    got = open_inverted(path)
    assert got is not None
    for ref, array in zip(inverted, got, strict=True):
        np.testing.assert_array_equal(array, ref)
    with pytest.raises(TermsDamaged, match="out of order"):
        open_inverted(tmp_path / "u")
    raw = bytearray(path.read_bytes())
    raw[-900] ^= 0x10  # in the lists
    path.write_bytes(raw)
    with pytest.raises(TermsDamaged, match="checksum"):
        open_terms(path, verify=True)
