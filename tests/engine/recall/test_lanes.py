"""The lanes with their indexes against the definition: every row scored."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lamina
from bench.harvest import chunks
from lamina import FixedClock, Vault
from lamina_engine.embed.remote import CallableEmbedder
from lamina_engine.index import inverted, textbuilder
from lamina_engine.index.analysis import Analyzer, term_hash
from lamina_engine.index.scoring import Bm25, scoring_terms, weigh
from lamina_engine.index.view import View
from lamina_engine.recall.filters import parse_filter, select_rows
from lamina_engine.recall.lanes import Lane, Selection, Words, rank_rows
from lamina_kernels.layouts import BOOL
from tests.conftest import NOW
from tests.engine.index.building import build_at_once, never_build
from tests.engine.recall.corpus import QUERIES, records, same_part

ROWS = 330
BLOCK = 16
FILTERS: list[dict[str, Any] | None] = [
    None, {"project": "api"}, {"project": "api", "type": "rule"}, {"owner": "ada"}, {"NOT": {"project": "api"}}, {"project": "nobody"},
    {"status": "superseded"}, {"created_at": {"gte": "2026-02-01"}}, {"collection": "notes", "n": {"lt": 100}},
]  # fmt: skip
WEIGHTS = (Bm25(header=2.0), Bm25(), Bm25(k1=0.4, b=0.2, body=3.0), Bm25(context=0.0, header=2.0), Bm25(surface=0.0))


def fill(vault: Vault) -> None:
    given = records(ROWS - 20)
    for start in range(0, len(given), 90):
        vault.add(given[start : start + 90])
    ids = sorted(chunk.id for chunk in vault.list(limit=None))
    for i in range(20):
        vault.update(ids[i * 7], text=f"Redis and the nightly backup, told again {i}")
    for i in range(5):
        vault.invalidate(ids[i * 11 + 1], "wrong")


@pytest.fixture(scope="module")
def blocks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    with pytest.MonkeyPatch.context() as patch:
        build_at_once(patch, BLOCK)
        with lamina.open(
            tmp_path_factory.mktemp("blocks") / "v", create=True, clock=FixedClock(NOW), embedder="none"
        ) as vault:
            fill(vault)
            yield vault


def words_of(view: View, query: str, bm25: Bm25 = WEIGHTS[0], scope: BOOL | None = None) -> Words:
    return Words(view, Analyzer().query(query), bm25, scope=scope)


def scanned(
    view: View, query: str, selection: Selection, depth: int, bm25: Bm25 = WEIGHTS[0], scope: BOOL | None = None
) -> Lane:
    """The definition: every selected row by its forward list, with frequencies counted row by row."""
    terms = scoring_terms(Analyzer().query(query))
    frequencies, count = list[float](), float(view.statistics.rows)
    for term in terms:
        rows = list[int]()
        for block, start in zip(view.forward.blocks, view.forward.starts.tolist(), strict=False):
            entries = np.flatnonzero(block.hashes == term_hash(term.stem))
            rows += (np.searchsorted(block.indptr, entries, side="right") - 1 + start).tolist()
        rows = [row for row in rows if row < view.rows]
        like_vault = 50.0 / count * len(rows)  # as many in fifty rows as in so many of the vault
        frequencies.append(len(rows) if scope is None else sum(scope[row] for row in rows) + like_vault)
    if scope is not None:
        count = sum(scope.tolist()) + 50.0
    weighed = weigh(terms, frequencies, count, bm25)
    live = np.ones(view.rows, np.uint8) if selection.live is None else selection.live.view(np.uint8)
    scores = view.forward.scan(live, weighed, bm25, view.statistics.average_length(bm25))
    found = np.flatnonzero(scores)
    return rank_rows(found, scores[found], depth)


def assert_exact(
    view: View, query: str, selection: Selection, depth: int, bm25: Bm25 = WEIGHTS[0], scope: BOOL | None = None
) -> int:
    words = words_of(view, query, bm25, scope)
    got, ref = words.lane(selection, depth), scanned(view, query, selection, depth, bm25, scope)
    assert got.rows.tolist() == ref.rows.tolist()
    assert got.scores.tolist() == ref.scores.tolist()
    assert words.score(got.rows).tolist() == got.scores.tolist()
    return len(ref.rows)


def test_lists_cover_the_segments_up_to_the_last_large_one_and_the_tail_is_the_rest(blocks: Vault) -> None:
    words = words_of(blocks._memory.view(), "Redis")
    ends = [s.start + s.rows for s in words.view.snapshot.segments("chunks") if s.rows >= BLOCK]
    assert 0 < words.indexed == ends[-1] < words.view.rows == ROWS


@pytest.mark.parametrize("filter_", FILTERS, ids=str)
def test_index_and_tail_find_what_a_scan_finds(blocks: Vault, filter_: dict[str, Any] | None) -> None:
    vocabulary = sorted({word for query in QUERIES for word in query.split()})
    rng = random.Random(3)
    queries = [*QUERIES, *(" ".join(rng.sample(vocabulary, rng.randint(1, 8))) for _ in range(20))]
    view = blocks._memory.view()
    selection = select_rows(view, parse_filter(filter_), None, None, invalidated=False)
    found = sum(
        assert_exact(view, query, selection, depth, rng.choice(WEIGHTS))
        for query in queries
        for depth in (3, 8, 60, ROWS)
    )
    assert (found > 0) == (filter_ != {"project": "nobody"})


@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 1.0])
def test_words_are_weighed_by_a_scope_as_a_scan_of_it_weighs_them(blocks: Vault, share: float) -> None:
    view = blocks._memory.view()
    scope = np.random.default_rng(4).random(view.rows) < share
    every = Selection(None, view.rows, (), True)
    assert sum(assert_exact(view, query, every, depth, scope=scope) for query in QUERIES for depth in (8, ROWS))
    weights = [words_of(view, query, scope=each).query.idf.tolist() for query in QUERIES for each in (scope, None)]
    assert weights[::2] != weights[1::2]


def test_every_moment_of_the_past_is_answered_as_a_scan_answers_it(blocks: Vault) -> None:
    snapshot = blocks._memory.view().snapshot
    for row in (0, 5, 17, 100, 200, 311, ROWS - 1):
        moment = int(snapshot.numbers("chunks", "recorded_at", np.array([row], np.int64))[0])
        view = View(snapshot, blocks._memory.tables, as_of_us=moment)
        assert view.rows >= row + 1
        for filter_ in FILTERS[:3]:
            selection = select_rows(view, parse_filter(filter_), None, None, invalidated=False)
            for query in QUERIES:
                assert_exact(view, query, selection, 5)


def test_blocks_change_no_answer(blocks: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    never_build(monkeypatch)
    with lamina.open(tmp_path / "v", create=True, clock=FixedClock(NOW), embedder="none") as plain:
        fill(plain)
        assert words_of(plain._memory.view(), "Redis").indexed == 0
        for query in QUERIES[::2]:
            for filter_ in FILTERS:
                for profile in ("lexical", "temporal"):
                    ref = plain.recall(query, profile=profile, where=filter_)
                    got = blocks.recall(query, profile=profile, where=filter_)
                    assert same_part(got.to_dict()) == same_part(ref.to_dict())


def test_batches_and_building_change_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(textbuilder, "BLOCK_ROWS", BLOCK)
    monkeypatch.setattr(inverted, "LEAST_ROWS", BLOCK)
    given, answers = records(200), []
    for size in (200, 64, 7):
        with lamina.open(tmp_path / str(size), create=True, clock=FixedClock(NOW), embedder="none") as vault:
            for start in range(0, 200, size):
                vault.add(given[start : start + size])
                vault.recall("Redis")  # beside the builder
            before = [same_part(vault.recall(query, profile="lexical").to_dict()) for query in QUERIES]
            vault._memory.indexer.text.join()
            assert words_of(vault._memory.view(), "Redis").indexed >= 168
            after = [same_part(vault.recall(query, profile="lexical").to_dict()) for query in QUERIES]
            assert before == after
            answers.append([[hit["text"] for hit in answer["hits"]] for answer in after])
    assert answers[0] == answers[1] == answers[2]


def test_threads_ask_while_the_index_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(textbuilder, "BLOCK_ROWS", BLOCK)
    monkeypatch.setattr(inverted, "LEAST_ROWS", BLOCK)
    failed: list[BaseException] = []

    def ask(view: View) -> None:
        try:
            for query in QUERIES:
                assert_exact(view, query, Selection(None, view.rows, (), True), 5)
        except BaseException as error:
            failed.append(error)

    given = records(240)
    with lamina.open(tmp_path / "v", create=True, clock=FixedClock(NOW), embedder="none") as vault:
        threads = []
        for start in range(0, 240, 40):
            vault.add(given[start : start + 40])
            threads.append(threading.Thread(target=ask, args=(vault._memory.view(),)))
            threads[-1].start()
        for thread in threads:
            thread.join()
    assert not failed


def test_a_reader_of_an_older_version_counts_only_its_own_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_at_once(monkeypatch, 16)
    with lamina.open(tmp_path / "v", create=True, clock=FixedClock(NOW), embedder="none") as vault:
        vault.add(records(20))
        old = vault._memory.view()
        everything = Selection(None, 20, (), True)
        ref = words_of(old, "Redis backup")
        before = ref.lane(everything, 50)
        vault.add(records(60)[20:])
        assert vault._memory.view().rows == 60
        words = words_of(old, "Redis backup")
        got = words.lane(everything, 50)
        assert words.query.idf.tolist() == ref.query.idf.tolist()
        assert (got.rows.tolist(), got.scores.tolist()) == (before.rows.tolist(), before.scores.tolist())


def _zipf_texts(n: int, seed: int) -> list[str]:
    """Made-up text: few words in most rows, many in one."""
    rng = np.random.default_rng(seed)
    words = np.array([f"w{i}" if i % 3 else f"running{i}s fooBar_{i}" for i in range(3_000)])
    return [" ".join(words[np.minimum(rng.zipf(1.3, rng.integers(3, 120)) - 1, 2_999)]) for _ in range(n)]


@pytest.mark.parametrize("questions", [300, pytest.param(5_000, marks=pytest.mark.slow)], ids=["short", "long"])
def test_questions_over_real_and_made_up_text_are_answered_as_a_scan_answers_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, questions: int
) -> None:
    build_at_once(monkeypatch, 256)
    rng = random.Random(questions)
    long = questions > 1_000
    texts = [
        *_zipf_texts(6_000 if long else 2_500, 1),
        *(chunk.text for chunk in itertools.islice(chunks(), 4_000 if long else 1_500)),
    ]
    rng.shuffle(texts)
    with lamina.open(tmp_path / "v", create=True, clock=FixedClock(NOW), embedder="none") as vault:
        given = [
            {"text": text, "project": rng.choice(("api", "web", "cli")), "type": rng.choice(("note", "rule")),
             "session": f"s{i // 40}" if i % 3 == 0 else None, "title": rng.choice((None, text[:30]))}
            for i, text in enumerate(texts)
        ]  # fmt: skip
        cut = len(given) - 300
        for start in range(0, cut, 1_000):
            vault.add(given[start : min(start + 1_000, cut)])
        vault.add(given[cut:])
        for chunk in vault.list({"project": "cli"}, limit=40):
            vault.invalidate(chunk.id, "wrong")
        newest, tables = vault._memory.view(), vault._memory.tables
        views = [newest]
        for share in (0.2, 0.77):
            row = np.array([int(newest.rows * share)], np.int64)
            moment = int(newest.snapshot.numbers("chunks", "recorded_at", row)[0])
            views.append(View(newest.snapshot, tables, as_of_us=moment))
        filters = (None, {"project": "api"}, {"project": "web", "type": "note"}, {"NOT": {"project": "api"}})
        chosen = [
            (view, select_rows(view, parse_filter(filter_), None, None, invalidated=False))
            for view in views
            for filter_ in filters
        ]
        for _ in range(questions):
            view, selection = rng.choice(chosen)
            text = rng.choice(texts).split() or ["w1"]
            start = rng.randrange(len(text))
            query = " ".join([*text[start : start + rng.randint(1, 9)], *rng.sample(["w0", "w1", "w2", "the"], 1)])
            assert_exact(view, query, selection, rng.choice((10, 50, 100)), rng.choice(WEIGHTS[:3]))
        assert tables.inverted(newest.snapshot).rows > newest.rows / 2


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


def test_ranked_breaks_ties_by_the_newer_row_and_leaves_zeros_out() -> None:
    got = rank_rows(np.array([3, 1, 2, 0]), np.array([0.5, 0.5, 0.9, 0.0]), 10)
    assert (got.rows.tolist(), got.scores.tolist()) == ([2, 3, 1], [0.9, 0.5, 0.5])
    assert rank_rows(np.array([3, 1, 2]), np.array([0.5, 0.5, 0.9]), 2).rows.tolist() == [2, 3]
    assert rank_rows(np.empty(0, np.int64), np.empty(0), 2).rows.tolist() == []
