"""Whole recalls: explanation, determinism, folding, variety, budget."""

from __future__ import annotations

import gc
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lamina
from lamina import FixedClock, Vault
from lamina_engine.embed.remote import CallableEmbedder
from lamina_engine.errors import EmbedderMismatch, InvalidArgument, InvalidConfig
from lamina_engine.recall.explain import recompute
from tests.conftest import NOW
from tests.engine.recall.corpus import QUERIES, records, same_part

PROFILES = """
[profiles.ranks]
base = "default"
fusion = "ranks"
[profiles.agedranks]
base = "temporal"
fusion = "ranks"
rank_constant = 10
spread = 0.5
[profiles.still]
base = "default"
spread = 0.0
[profiles.fewer]
base = "default"
diversity = { near_duplicate = 0.9 }
[profiles.varied]
base = "default"
diversity = { mmr = 0.3 }
"""


def make(root: Path, **options: Any) -> Vault:
    root.mkdir(exist_ok=True)
    (root / "vault.toml").write_text(PROFILES)
    return lamina.open(root, create=True, clock=FixedClock(NOW), **options)


@pytest.fixture(scope="module")
def diary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    with make(tmp_path_factory.mktemp("diary") / "vault") as vault:
        ids = vault.add(records(300))
        vault.update(ids[5], text="Redis replaces the old cache. Ada says so.")
        vault.invalidate(ids[9], "no longer so")
        yield vault


words = st.sampled_from(sorted({word for query in QUERIES for word in query.split()}))


@settings(max_examples=40)
@given(
    st.lists(words, min_size=1, max_size=6).map(" ".join),
    st.sampled_from(["default", "lexical", "temporal", "ranks", "agedranks", "still"]),
    st.sampled_from([None, ["lexical"], ["vector"]]),
    st.sampled_from([None, {"project": "api"}, {"owner": "ada"}, {"status": {"in": ["active", "invalidated"]}}]),
)
def test_terms_give_the_score_again(
    diary: Vault, query: str, profile: str, lanes: Any, where: dict[str, Any] | None
) -> None:
    hits = diary.recall(query, k=20, profile=profile, lanes=lanes, where=where)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    for hit in hits:
        assert recompute(hit.terms) == pytest.approx(hit.score, abs=1e-9)
        assert sum(hit.terms["words"].values()) == pytest.approx(hit.terms["bm25"], abs=1e-9)
        assert 0.0 <= hit.terms["coverage"] <= 1.0
        assert 0.0 < hit.score <= 1.0
        json.dumps(hit.to_dict(), allow_nan=False)
        unranked = hit.terms["lexical_rank"] is None and hit.terms["vector_rank"] is None
        assert hit.via == (("time" if "by_time" in hit.terms else "following") if unranked else None)


def test_the_spread_reaches_the_chunk_before_and_is_explained(diary: Vault) -> None:
    received = [hit for query in QUERIES for hit in diary.recall(query, k=50) if hit.terms["received"]]
    assert received
    assert all(recompute(hit.terms) == pytest.approx(hit.score, abs=1e-9) for hit in received)
    assert not any(hit.terms["received"] for query in QUERIES for hit in diary.recall(query, k=50, profile="still"))


def test_a_record_of_the_recall_names_profile_words_and_ranks(diary: Vault) -> None:
    hits = diary.recall("Redis cache", k=3, profile="ranks")
    got = hits.explain()
    assert (got["query"], got["profile"]) == ("Redis cache", "ranks@1")
    assert [hit["rank"] for hit in got["hits"]] == [1, 2, 3]
    assert {"redi", "cach"} & {word[:4] for word in got["words"]}
    assert got["candidates"]["scored"] >= 3


def test_a_query_without_words_or_matches_gives_nothing_or_only_meaning(diary: Vault, lexical_vault: Vault) -> None:
    for query in ("", "   ", "?!", "zzzzqqqq"):
        assert len(diary.recall(query, lanes=["lexical"])) == 0
        assert len(lexical_vault.recall(query)) == 0


def test_an_empty_vault_answers_every_profile_with_nothing(vault: Vault) -> None:
    for profile in ("default", "lexical", "temporal"):
        got = vault.recall("anything", profile=profile, as_of="2020-01-01")
        assert (len(got), got.profile.partition("@")[0]) == (0, profile)


def test_an_unknown_profile_is_refused(diary: Vault) -> None:
    with pytest.raises(InvalidConfig, match="fuzzy"):
        diary.recall("x", profile="fuzzy")


# ---------------------------------------------------------------- determinism


def answers(vault: Vault) -> str:
    found = [
        same_part(vault.recall(query, k=15, profile=profile).to_dict())
        for query in QUERIES[:8]
        for profile in ("default", "temporal", "ranks", "varied")
    ]
    return json.dumps(found)


@pytest.fixture(scope="module")
def batched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    root = tmp_path_factory.mktemp("batched") / "all"
    with make(root) as vault:
        vault.add(records(50))
        yield root, answers(vault)


@pytest.mark.parametrize("size", [1, 7])
def test_batching_changes_no_byte(batched: tuple[Path, str], tmp_path: Path, size: int) -> None:
    with make(tmp_path / "vault") as vault:
        given_ = records(50)
        for start in range(0, len(given_), size):
            vault.add(given_[start : start + size])
        got = answers(vault)
    assert got == batched[1]


def test_indexes_are_made_again_from_the_log(batched: tuple[Path, str], tmp_path: Path) -> None:
    root = tmp_path / "vault"
    shutil.copytree(batched[0], root)
    for entry in (root / "index").iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    with lamina.open(root, mode="r", clock=FixedClock(NOW)) as reader:
        assert answers(reader) == batched[1]
    with lamina.open(root, clock=FixedClock(NOW)) as writer:
        gone = writer.add("wholly unrelated", project="zzz")[0]
        writer._memory  # noqa: B018 - the write above has built the indexes again
        assert (root / "index" / "terms").is_dir()
        assert gone


def test_threads_get_the_same_bytes(batched: tuple[Path, str]) -> None:
    with lamina.open(batched[0], mode="r", clock=FixedClock(NOW)) as vault, ThreadPoolExecutor(3) as pool:
        got = list(pool.map(lambda _: answers(vault), range(3)))
    assert got == [batched[1]] * 3


def test_another_process_gets_the_same_bytes(batched: tuple[Path, str]) -> None:
    script = (
        "import sys, lamina\n"
        "from lamina import FixedClock\n"
        "from tests.engine.recall.test_pipeline import answers\n"
        f"print(answers(lamina.open(sys.argv[1], mode='r', clock=FixedClock({NOW!r}))))\n"
    )
    here = Path(__file__).parents[3]
    got = subprocess.run(
        [sys.executable, "-c", script, str(batched[0])], cwd=here, capture_output=True, text=True, check=True
    )
    assert got.stdout.rstrip("\n") == batched[1]


# ---------------------------------------------------------------- repetition


def test_questions_leave_nothing_to_the_garbage_collector(diary: Vault) -> None:
    def ask() -> None:
        for query in (
            *QUERIES,
            "what did we decide 3 days ago?",
            "notes since March 2026",
            "the first week of last May",
        ):
            json.dumps([hit.to_dict() for hit in diary.recall(query)])
            assert diary.facts.ask(query) is not None

    ask()
    gc.collect()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        ask()
        gc.collect()
        left = {type(each).__name__ for each in gc.garbage if type(each).__module__.startswith("lamina")}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
    assert not left  # a parser that held itself had the collector run every forty recalls, .2 ms each


def test_equal_content_is_folded_into_the_best_and_named(lexical_vault: Vault) -> None:
    ids = lexical_vault.add(
        [{"text": "same words", "project": f"p{i}"} for i in range(5)] + [{"text": "other words here"}]
    )
    hits = lexical_vault.recall("words", k=10)
    assert [hit.text for hit in hits] == ["same words", "other words here"]
    assert {hits[0].id, *hits[0].terms["folded"]} == set(ids[:5])
    assert hits[1].terms["folded"] == []


@pytest.fixture
def plane_vault(tmp_path: Path) -> Iterator[Vault]:
    embedder = CallableEmbedder(lambda texts: [[1.0, 0.0, 0.0] for _ in texts], 3, "space")
    with make(tmp_path / "space", embedder=embedder) as vault:
        vault.add(
            [
                {"id": "a", "text": "first", "vector": [1.0, 0.0, 0.0]},
                {"id": "b", "text": "nearly first", "vector": [0.99, 0.14, 0.0]},
                {"id": "c", "text": "another matter", "vector": [0.7, 0.0, 0.71]},
            ]
        )
        yield vault


def test_near_duplicates_are_folded_where_the_profile_says_so(plane_vault: Vault) -> None:
    def got(profile: str) -> list[str]:
        return [hit.id for hit in plane_vault.recall("x", profile=profile, lanes=["vector"], vector=[1, 0, 0])]

    assert got("default") == ["a", "b", "c"]
    assert got("fewer") == ["a", "c"]
    assert got("varied") == ["a", "c", "b"]


def test_a_budget_of_tokens_skips_what_does_not_fit(lexical_vault: Vault) -> None:
    for name, words_, day in (("first", 32, "2026-02-03"), ("second", 720, "2026-02-02"), ("third", 24, "2026-02-01")):
        lexical_vault.add("needle" + " pad!" * words_, id=name, created_at=day)
    assert {hit.id for hit in lexical_vault.recall("needle", token_budget=100)} == {"first", "third"}
    assert {hit.id for hit in lexical_vault.recall("needle")} == {"first", "second", "third"}


# ---------------------------------------------------------------- models


def test_another_model_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with make(tmp_path / "v", embedder=CallableEmbedder(lambda texts: [[1.0, 0.0] for _ in texts], 2, "one")) as vault:
        vault.add("first")
    with lamina.open(
        tmp_path / "v", embedder=CallableEmbedder(lambda texts: [[1.0, 0.0] for _ in texts], 2, "two")
    ) as vault:
        before = vault.stats()["snapshot"]
        for call in (lambda: vault.add("second"), lambda: vault.recall("first")):
            with pytest.raises(EmbedderMismatch, match=r"one.*two"):
                call()
        assert vault.stats()["snapshot"] == before
        assert len(vault.recall("first", lanes=["lexical"])) == 1
        assert len(vault.recall("first", vector=[1.0, 0.0])) == 1  # the caller answers for the vector
        with pytest.raises(InvalidArgument, match="dimension 2"):
            vault.recall("first", vector=[1.0, 0.0, 0.0])


def test_equal_content_is_folded_however_often_it_stands(tmp_path: Path) -> None:
    with lamina.open(tmp_path / "v", create=True, embedder="none") as vault:
        vault.add([{"text": "the same heron", "project": f"p{i}"} for i in range(60)])
        vault.add("another heron")
        hits = vault.recall("heron", k=10)
        assert [hit.text for hit in hits].count("the same heron") == 1
        assert len(hits) == 2
        assert sorted(len(hit.terms["folded"]) for hit in hits) == [0, 59]


def test_a_lane_that_is_not_there_is_said(tmp_path: Path) -> None:
    with lamina.open(tmp_path / "v", create=True, embedder="none") as vault:
        vault.add("a heron")
        with pytest.raises(InvalidArgument, match="no vectors"):
            vault.recall("heron", lanes=["vector"])
