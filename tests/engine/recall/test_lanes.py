"""The lanes with their indexes against the definition: every row scored."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lamina
from lamina import FixedClock, Vault
from lamina_engine.embed.remote import CallableEmbedder
from lamina_engine.index import indexer, lexical, tables, terms
from lamina_engine.index.analysis import Analyzer
from lamina_engine.index.scoring import Bm25
from lamina_engine.index.tables import Tables
from lamina_engine.recall import lanes, where
from lamina_engine.recall.lanes import Selection, Words
from lamina_engine.recall.mask import select
from tests.conftest import NOW
from tests.engine.recall.corpus import QUERIES, records, same_part

ROWS = 330
BLOCK = 64
FILTERS: list[dict[str, Any] | None] = [
    None, {"project": "api"}, {"project": "api", "type": "rule"}, {"owner": "ada"}, {"NOT": {"project": "api"}}, {"project": "nobody"},
    {"status": "superseded"}, {"created_at": {"gte": "2026-02-01"}}, {"collection": "notes", "n": {"lt": 100}},
]  # fmt: skip


def fill(vault: Vault) -> None:
    given = records(ROWS - 20)
    for start in range(0, len(given), 90):
        vault.add(given[start : start + 90])
    ids = sorted(chunk.id for chunk in vault.list(limit=None))
    for i in range(20):
        vault.update(ids[i * 7], text=f"Redis and the nightly backup, told again {i}")
    for i in range(5):
        vault.invalidate(ids[i * 11 + 1], "wrong")


@pytest.fixture(scope="module", params=["inverted", "tantivy"])
def blocks(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Vault]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indexer, "BLOCK_ROWS", BLOCK)
        if request.param == "inverted":
            patch.setattr(terms, "LEAST_ROWS", BLOCK)
            patch.setattr(tables, "LEAST_ROWS", BLOCK)
        else:
            without_lists(patch)
        patch.setattr(lanes, "NARROW_ROWS", 10)  # so that filters go through the index too
        with lamina.open(
            tmp_path_factory.mktemp("blocks") / "v", create=True, clock=FixedClock(NOW), embedder="none"
        ) as vault:
            fill(vault)
            yield vault


def without_lists(patch: pytest.MonkeyPatch) -> None:
    """Read vaults as if an older version had written the files of their forward lists."""
    patch.setattr(Tables, "inverted", lambda self, snapshot: None)


def words_of(vault: Vault, query: str) -> Words:
    return Words(vault._memory.view(), Analyzer().query(query), Bm25(header=2.0))


def test_the_index_covers_whole_blocks_and_the_tail_is_the_rest(blocks: Vault) -> None:
    words = words_of(blocks, "Redis")
    assert words.view.rows == ROWS
    if words.inverted is None:
        assert words.index is not None
        assert words.indexed == ROWS // BLOCK * BLOCK == 320
    else:
        assert words.index is None
        sizes = [segment.rows for segment in words.view.snapshot.segments("chunks")]
        last = max(i for i, size in enumerate(sizes) if size >= BLOCK)
        assert words.indexed == sum(sizes[: last + 1])
        assert BLOCK < words.indexed < ROWS
        assert len(words.inverted.segments) == last + 1


def test_a_word_by_which_too_many_rows_tie_is_scored_in_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexer, "BLOCK_ROWS", BLOCK)
    monkeypatch.setattr(lexical, "TIE_ROWS", 20)
    without_lists(monkeypatch)
    with lamina.open(tmp_path / "v", create=True, clock=FixedClock(NOW), embedder="none") as vault:
        vault.add([{"text": f"Redis keeps number{i}"} for i in range(2 * BLOCK)])
        words, everything = words_of(vault, "Redis"), Selection(None, 2 * BLOCK, (), True)
        assert words.index is not None
        assert words.index.search(words.stems, 10) is None
        assert words.lane(everything, 10).rows.tolist() == [*range(2 * BLOCK - 1, 2 * BLOCK - 11, -1)]


@pytest.mark.parametrize("filter_", FILTERS, ids=str)
def test_index_and_tail_find_what_a_scan_finds(blocks: Vault, filter_: dict[str, Any] | None) -> None:
    vocabulary = sorted({word for query in QUERIES for word in query.split()})
    rng = random.Random(3)
    queries = [*QUERIES, *(" ".join(rng.sample(vocabulary, 3)) for _ in range(8))]
    view = blocks._memory.view()
    selection = select(view, where.parse(filter_), None, None, invalidated=False)
    found = 0
    for query in queries:
        words = words_of(blocks, query)
        got, ref = words.lane(selection, ROWS), words._scan(selection, ROWS)
        assert got.rows.tolist() == ref.rows.tolist()
        assert got.scores.tolist() == ref.scores.tolist()
        found += len(ref.rows)
        # with a cut: the best are the same, all of them or, where Tantivy ranks by itself, as many as it is deep enough for
        exact = 60 if words.inverted is not None else 5
        assert words.lane(selection, 60).rows.tolist()[:exact] == ref.rows.tolist()[:exact]
    assert (found > 0) == (filter_ != {"project": "nobody"})


def test_blocks_change_no_answer(blocks: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexer, "BLOCK_ROWS", 4096)
    with lamina.open(tmp_path / "v", create=True, clock=FixedClock(NOW), embedder="none") as plain:
        fill(plain)
        assert words_of(plain, "Redis").index is None
        for query in QUERIES[::2]:
            for filter_ in FILTERS:
                for profile in ("lexical", "temporal"):
                    ref = plain.recall(query, profile=profile, where=filter_)
                    got = blocks.recall(query, profile=profile, where=filter_)
                    assert same_part(got.to_dict()) == same_part(ref.to_dict())


def test_a_reader_of_an_older_version_counts_only_its_own_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexer, "BLOCK_ROWS", 16)
    with lamina.open(tmp_path / "v", create=True, clock=FixedClock(NOW), embedder="none") as vault:
        vault.add(records(20))
        old = vault._memory.view()
        ref = Words(old, Analyzer().query("Redis backup"), Bm25())
        before = ref.lane(select(old, where.parse(None), None, None, invalidated=False), 50)
        vault.add(records(60)[20:])
        assert vault._memory.view().rows == 60
        words = Words(old, Analyzer().query("Redis backup"), Bm25())
        got = words.lane(select(old, where.parse(None), None, None, invalidated=False), 50)
        assert words.query.idf.tolist() == ref.query.idf.tolist()
        assert (got.rows.tolist(), got.scores.tolist()) == (before.rows.tolist(), before.scores.tolist())


# ---------------------------------------------------------------- vectors

N, DIM = 16_384 + 300, 32


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Vault, np.ndarray[Any, Any]]]:
    rng = np.random.default_rng(5)
    matrix = rng.standard_normal((N, DIM)).astype(np.float32)
    table = pa.table(
        {
            "text": [f"row {i}" for i in range(N)], "id": [f"r{i:05}" for i in range(N)], "project": [f"p{i % 50}" for i in range(N)],
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(matrix.reshape(-1)), DIM), "created_at": ["2026-01-01"] * N,
        }
    )  # fmt: skip
    embedder = CallableEmbedder(lambda texts: [[1.0] * DIM for _ in texts], DIM, "ones")
    with lamina.open(
        tmp_path_factory.mktemp("many") / "v", create=True, clock=FixedClock(NOW), embedder=embedder
    ) as vault:
        vault.add(table)
        yield vault, matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


@pytest.mark.parametrize(("filter_", "step"), [(None, 1), ({"project": "p7"}, 50), ({"NOT": {"project": "p7"}}, -50)])
def test_codes_find_the_nearest_and_scores_are_exact(
    many: tuple[Vault, np.ndarray[Any, Any]], filter_: Any, step: int
) -> None:
    vault, matrix = many
    rows = np.arange(N)
    rows = rows if step == 1 else rows[rows % 50 == 7] if step > 0 else rows[rows % 50 != 7]
    index = vault._memory.tables.quantised(vault._memory.view().snapshot)
    assert index is not None
    rng = np.random.default_rng(9)
    agreed = 0
    for _ in range(10):
        query = rng.standard_normal(DIM).astype(np.float32)
        ref = matrix[rows] @ (query / np.linalg.norm(query))
        best = rows[np.argsort(-ref, kind="stable")[:10]]
        hits = vault.recall("", k=10, lanes=["vector"], vector=query, where=filter_)
        for hit in hits:
            assert hit.score == pytest.approx(
                float(matrix[int(hit.id[1:])] @ (query / np.linalg.norm(query))), abs=1e-5
            )
        agreed += len({f"r{row:05}" for row in best} & {hit.id for hit in hits})
    assert agreed >= 98  # of 100: codes choose 200 candidates, exact vectors rank them


def test_a_narrow_filter_still_fills_k(blocks: Vault) -> None:
    rare = blocks.add([{"text": f"Redis note {i}", "project": "rare", "metadata": {"rank": i}} for i in range(12)])
    for filter_ in ({"project": "rare"}, {"id": {"in": rare}}, {"rank": {"gte": 0}}):
        hits = blocks.recall("Redis", k=10, where=filter_)
        assert len(hits) == 10
        assert {hit.id for hit in hits} <= set(rare)
