from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina_engine.errors import InvalidArgument
from lamina_engine.index.analysis import Analyzer, surface_hash, term_hash
from lamina_engine.index.scoring import (
    Bm25,
    ForwardLists,
    Statistics,
    WeightedQuery,
    inverse_document_frequency,
    scoring_terms,
    weigh,
)
from lamina_engine.index.terms import build_term_rows, slice_terms
from lamina_kernels.layouts import F64

WORDS = ("database", "databases", "foo_bar", "fooBar", "foo", "bar", "数据库", "the", "red", "green", "blue")
TEXT = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
ROWS = st.lists(st.tuples(TEXT, TEXT, TEXT), min_size=1, max_size=8)


def lists_of(rows: list[tuple[str, str, str]], cuts: tuple[int, ...] = ()) -> ForwardLists:
    built = build_term_rows([r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows])
    edges = sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})
    return ForwardLists([slice_terms(built, start, stop) for start, stop in itertools.pairwise(edges)])


def prepare(lists: ForwardLists, text: str, bm25: Bm25, stop: int | None = None) -> tuple[WeightedQuery, float]:
    terms = scoring_terms(Analyzer().query(text))
    statistics = lists.statistics(stop)
    frequencies = [frequency(lists, term_hash(term.stem), stop) for term in terms]
    return weigh(terms, frequencies, statistics.rows, bm25), statistics.average_length(bm25)


def frequency(lists: ForwardLists, key: int, stop: int | None) -> int:
    """Rows below ``stop`` that hold a term, one after the other."""
    held = [
        block.hashes[block.indptr[i] : block.indptr[i + 1]] for block in lists.blocks for i in range(len(block.lengths))
    ]
    return sum(key in hashes for hashes in held[:stop])


def oracle(rows: list[tuple[str, str, str]], text: str, bm25: Bm25) -> list[float]:
    """Scores from texts, by the definition: words counted in dictionaries, one row after the other."""
    weights = bm25.weights.tolist()
    zones = [[Analyzer().tokens(part) for part in row] for row in rows]
    lengths = [sum(w * len(part) for w, part in zip(weights, row, strict=True)) for row in zones]
    average = sum(lengths) / len(rows) or 1.0
    scores = [0.0] * len(rows)
    for term in scoring_terms(Analyzer().query(text)):
        df = sum(any(t.stem == term.stem for part in row for t in part) for row in zones)
        idf = math.log(1 + (len(rows) - df + 0.5) / (df + 0.5)) * term.weight
        forms: list[tuple[float, str, str]] = [(1.0, "stem", term.stem)]
        forms += [(bm25.surface / len(term.surfaces), "surface", s) for s in term.surfaces if s != term.stem]
        for share, field, wanted in forms:
            for i, row in enumerate(zones):
                hits = [
                    [t for t in part if getattr(t, field) == wanted and (field == "stem" or t.stem != wanted)]
                    for part in row
                ]
                tf = sum(w * len(part) for w, part in zip(weights, hits, strict=True))
                norm = bm25.k1 * (1 - bm25.b + bm25.b * lengths[i] / average)
                scores[i] += share * idf * tf * (bm25.k1 + 1) / (tf + norm) if tf else 0.0
    return scores


@settings(deadline=None, max_examples=30)
@given(ROWS, TEXT, st.lists(st.integers(1, 7), max_size=3))
def test_scores_are_the_definition_on_every_path(rows: list[tuple[str, str, str]], text: str, cuts: list[int]) -> None:
    bm25 = Bm25()
    lists = lists_of(rows, tuple(cuts))
    query, average = prepare(lists, text, bm25)
    ref = oracle(rows, text, bm25)
    every = np.arange(len(rows))
    got = lists.score(every, query, bm25, average)
    np.testing.assert_allclose(got, ref, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(lists.scan(np.ones(len(rows), np.uint8), query, bm25, average), got)
    np.testing.assert_allclose(lists.contributions(every, query, bm25, average).sum(axis=1), got, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(lists.score(every[::-1], query, bm25, average)[::-1], got)


@settings(deadline=None, max_examples=25)
@given(ROWS, ROWS, TEXT)
def test_the_past_is_as_if_later_rows_were_not_there(
    before: list[tuple[str, str, str]], after: list[tuple[str, str, str]], text: str
) -> None:
    bm25 = Bm25()
    past, now = lists_of(before), lists_of(before + after, (2, 5))
    n = len(before)
    ref_query, ref_average = prepare(past, text, bm25)
    query, average = prepare(now, text, bm25, stop=n)
    ref = past.score(np.arange(n), ref_query, bm25, ref_average)
    np.testing.assert_array_equal(now.scan(np.ones(n, np.uint8), query, bm25, average), ref)


@pytest.mark.parametrize("n", [0, 1, 255, 256, 257, 1000])
def test_lengths_are_added_up(n: int) -> None:
    rows = [("red " * (i % 7), "green " * (i % 3), "blue " * (i % 2)) for i in range(n)]
    lists = lists_of(rows, (n // 3,))
    for stop in (None, n // 2):
        counted = rows[:stop]
        ref = [sum(len(row[zone].split()) for row in counted) for zone in range(3)]
        assert lists.statistics(stop).totals.tolist() == ref


def test_kernels_and_their_twins_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(f"red {'green ' * (i % 5)} w{i % 11}", "blue", "red") for i in range(200)]
    lists, bm25 = lists_of(rows, (70,)), Bm25()
    query, average = prepare(lists, "red green w3 w4", bm25)
    live = (np.arange(200) % 3 > 0).astype(np.uint8)

    def paths() -> list[F64]:
        chosen = lists.score(np.arange(0, 200, 7), query, bm25, average)
        return [chosen, lists.scan(live, query, bm25, average)]

    monkeypatch.setattr("lamina_engine.index.scoring._compiled", lambda *_: False)
    ref = paths()
    monkeypatch.setattr("lamina_engine.index.scoring._compiled", lambda *_: True)
    for left, right in zip(paths(), ref, strict=True):
        np.testing.assert_array_equal(left, right)


def test_the_identifier_as_written_comes_first() -> None:
    rows = [("call foo_bar here", "", ""), ("call fooBar here", "", ""), ("call foo bar here", "", "")]
    lists, bm25 = lists_of(rows), Bm25()
    for text, ref in (("foo_bar", [0, 1, 2]), ("databases foo bar", [2])):
        query, average = prepare(lists, text, bm25)
        order = np.argsort(-lists.score(np.arange(3), query, bm25, average))
        assert order[: len(ref)].tolist() == ref


def test_the_word_as_written_comes_before_its_stem() -> None:
    lists = lists_of([("one database", "", ""), ("one databases", "", "")])
    query, average = prepare(lists, "databases", Bm25())
    scores = lists.score(np.arange(2), query, Bm25(), average)
    assert scores[1] > scores[0] > 0
    assert query.terms == ("databas", '"databases"')


def test_a_zone_counts_by_its_weight() -> None:
    lists = lists_of([("red x", "", ""), ("x", "", "red")])
    query, average = prepare(lists, "red", Bm25())
    body, context = lists.score(np.arange(2), query, Bm25(), average)
    assert body > context > 0
    silent = Bm25(context=0.0)
    assert lists.score(np.arange(2), query, silent, average)[1] == 0


def test_stop_words_ask_only_alone() -> None:
    analyzer = Analyzer()
    assert [term.stem for term in scoring_terms(analyzer.query("what is the database"))] == ["databas"]
    assert [term.stem for term in scoring_terms(analyzer.query("to be or not to be"))] == ["to", "be", "or", "not"]
    assert scoring_terms(analyzer.query("")) == []


def test_a_query_that_nothing_holds_scores_zero() -> None:
    lists = lists_of([("red", "", ""), ("", "", "")])
    for text in ("", "absent"):
        query, average = prepare(lists, text, Bm25())
        assert query.hashes.size == 0
        assert lists.score(np.arange(2), query, Bm25(), average).tolist() == [0.0, 0.0]


def test_no_rows_at_all() -> None:
    lists, bm25 = ForwardLists([]), Bm25()
    query, average = prepare(lists, "red", bm25)
    assert (lists.rows, average) == (0, 1.0)
    assert lists.score(np.zeros(0, np.int64), query, bm25, average).tolist() == []
    assert lists.scan(np.zeros(0, np.uint8), query, bm25, average).tolist() == []


def test_statistics_of_shards_add_up() -> None:
    rows = [("red green", "x", ""), ("blue", "", "y z"), ("red", "", "")]
    whole = lists_of(rows).statistics()
    parts = [lists_of(rows[:1]).statistics(), lists_of(rows[1:]).statistics()]
    got = Statistics(sum(part.rows for part in parts), np.sum([part.totals for part in parts], axis=0))
    assert got.rows == whole.rows == 3
    np.testing.assert_array_equal(got.totals, whole.totals)
    assert whole.average_length(Bm25()) == pytest.approx((4 + 1 + 2 * 0.5) / 3)


def test_inverse_document_frequency_falls_and_stays_above_zero() -> None:
    values = [inverse_document_frequency(df, 100) for df in range(1, 101)]
    assert values == sorted(values, reverse=True)
    assert values[-1] > 0
    assert values[0] == pytest.approx(math.log(1 + 99.5 / 1.5))


def test_hashes_that_collide_are_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lamina_engine.index.scoring.stem_hashes", lambda *_: (9,))
    query = weigh(Analyzer().query("red blue"), [1, 2], 10, Bm25())
    assert query.hashes.tolist() == [9]
    assert query.idf[0] == pytest.approx(inverse_document_frequency(1, 10) + inverse_document_frequency(2, 10))
    assert surface_hash("red") != 9


@pytest.mark.parametrize("wrong", [{"k1": 0.0}, {"k1": math.nan}, {"b": 1.1}, {"context": -0.1}, {"surface": math.inf}])
def test_parameters_outside_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidArgument):
        Bm25(**wrong)


def test_rows_outside_are_refused() -> None:
    lists = lists_of([("red", "", "")])
    query, average = prepare(lists, "red", Bm25())
    for row in (-1, 1):
        with pytest.raises(InvalidArgument, match="not all within"):
            lists.score(np.array([row]), query, Bm25(), average)
