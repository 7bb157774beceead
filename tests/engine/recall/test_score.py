"""Scores: age and boosts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamina
from lamina import FixedClock, InvalidArgument, Vault
from lamina_engine.chunks.batch import ChunkBatch
from lamina_engine.clock import MISSING_US, US_PER_DAY, parse_instant
from lamina_engine.embed.remote import CallableEmbedder
from lamina_engine.profiles import BUILT_IN, Decay
from lamina_engine.recall.explain import recompute
from lamina_engine.recall.score import ages, length_penalty
from tests.conftest import NOW

# semantic, age in days, half-life in days, blended with w = 0.7
VECTORS = [
    (0.8, 0, 14, 0.86), (0.8, 14, 14, 0.71), (0.8, 28, 14, 0.635), (0.9, 7, 7, 0.78), (0.75, 45, 30, 0.631066),
    (0.5, 180, 180, 0.50), (0.95, 365, 60, 0.669424), (0.7, 1, 7, 0.761717), (0.8, -5, 14, 0.86), (0.8, 0.5, 14, 0.852665),
]  # fmt: skip
TYPE_OF = {7: "github_ci_result", 14: "agent_task", 30: "jira_issue", 60: "rule", 180: "agent_handoff"}
NOW_US = parse_instant(NOW)


def exact(semantic: float, age_days: float, half_life_days: float, w: float = 0.7) -> float:
    return float(w * semantic + (1 - w) * 0.5 ** (max(age_days, 0) / half_life_days))


class FakeCategories:
    def __init__(self, types: list[str | None], collections: list[str | None]) -> None:
        self.names: dict[str, list[str | None]] = {"type": types, "collection": collections}

    def gather(self, _: Any, field: str, rows: Any) -> Any:
        distinct = self.values(field)
        return np.array(
            [-1 if self.names[field][r] is None else distinct.index(str(self.names[field][r])) for r in rows], np.int32
        )

    def numbers(self, field: str, known: Mapping[str, float], default: float) -> Any:
        return np.array([*(known.get(value, default) for value in self.values(field)), default])

    def values(self, field: str) -> list[str]:
        return sorted({name for name in self.names[field] if name is not None})


@dataclass
class FakeView:
    created_us: Any
    categories: Any
    snapshot: Any = None
    accesses: Any = None


def aged(
    created: list[int],
    types: list[str | None],
    decay: Decay,
    now_us: int = NOW_US,
    collections: list[str | None] | None = None,
) -> Any:
    view: Any = FakeView(np.array(created, np.int64), FakeCategories(types, collections or [None] * len(types)))
    return ages(view, np.arange(len(created), dtype=np.int64), decay, now_us)


def test_the_ten_golden_numbers() -> None:
    got = aged(
        [NOW_US - round(age * US_PER_DAY) for _, age, _, _ in VECTORS], [TYPE_OF[h] for _, _, h, _ in VECTORS], Decay()
    )
    assert (got.half_life_s / 86_400).tolist() == [h for _, _, h, _ in VECTORS]
    np.testing.assert_allclose(got.recency, [0.5 ** (max(age, 0) / h) for _, age, h, _ in VECTORS], rtol=1e-15)


def test_half_lives_are_looked_up_by_pair() -> None:
    types: list[str | None] = ["github_commit", "x", "x", "x", None, None, "rule"]
    collections: list[str | None] = ["discussions", "code-patterns", "nowhere", None, None, "conventions", "github"]
    got = aged([NOW_US] * 7, types, Decay(), collections=collections)
    assert (got.half_life_s / 86_400).tolist() == [14, 14, 21, 21, 21, 60, 60]


@pytest.mark.parametrize("half_life_days", [1.0, 30.0, 3650.0])
@pytest.mark.parametrize("now", [NOW, "2020-01-02", "2010-01-01", "0001-01-01"])
def test_a_missing_date_is_old_whatever_the_moment(now: str, half_life_days: float) -> None:
    decay = Decay(half_life_days=half_life_days, type_half_life_days={}, collection_half_life_days={})
    got = aged([MISSING_US, parse_instant(now)], [None, None], decay, parse_instant(now))
    assert got.dated.tolist() == [False, True]
    assert 0 <= got.recency[0] < 1e-3 < got.recency[1] == 1.0
    assert got.recency[0] == 0.5 ** (got.age_s[0] / got.half_life_s[0])


def test_a_missing_date_counts_as_the_first_of_2020() -> None:
    got = aged([MISSING_US], ["jira_issue"], Decay())
    assert got.age_s[0] == (NOW_US - parse_instant("2020-01-01")) / 1e6


@pytest.mark.parametrize(
    "created", [-(10**18), -(2**63) + 1, 2**63 - 1, parse_instant("9999-12-31"), parse_instant("0001-01-01")]
)
def test_absurd_dates_never_raise_and_are_never_fresher_than_now(created: int) -> None:
    got = aged([created, NOW_US], [None, None], Decay())
    assert 0.0 <= got.recency[0] <= got.recency[1] == 1.0
    assert got.recency[0] in (0.0, 1.0)
    assert np.isfinite(got.age_s).all()


def test_future_dates_count_as_now_exactly() -> None:
    got = aged([NOW_US + days * US_PER_DAY for days in (0, 5, 3650)], [None] * 3, Decay())
    assert got.recency.tolist() == [1.0, 1.0, 1.0]


def test_now_is_cut_to_whole_seconds() -> None:
    got = aged([NOW_US], [None], Decay(), NOW_US + 999_999)
    assert got.age_s.tolist() == [0.0]


# ---------------------------------------------------------------- through a whole recall


def plane(semantic: float) -> list[float]:
    return [semantic, float(np.sqrt(1 - semantic**2))]


@pytest.fixture
def plane_vault(tmp_path: Path, clock: FixedClock) -> Any:
    embedder = CallableEmbedder(lambda texts: [[1.0, 0.0] for _ in texts], 2, "plane", lane_weight=0.5)
    with lamina.open(tmp_path / "plane", create=True, clock=clock, embedder=embedder) as opened:
        yield opened


def test_the_golden_numbers_through_a_whole_recall(plane_vault: Vault) -> None:
    records = [
        {
            "id": f"v{i}",
            "text": f"number {i}",
            "type": TYPE_OF[half_life],
            "created_at": (NOW_US - round(age * US_PER_DAY)) / 1e6,
            "vector": plane(semantic),
        }
        for i, (semantic, age, half_life, _) in enumerate(VECTORS)
    ]
    plane_vault.add(records)
    hits = plane_vault.recall("anything", k=10, profile="temporal@1", lanes=["vector"], vector=[1.0, 0.0])
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert len(hits) == 10
    for hit in hits:
        semantic, age, half_life, published = VECTORS[int(hit.id[1:])]
        assert hit.score == pytest.approx(published, abs=2e-6)
        assert hit.terms["semantic"] == pytest.approx(semantic, abs=1e-6)
        assert hit.score == pytest.approx(exact(hit.terms["semantic"], age, half_life), abs=1e-12)
        assert hit.score == pytest.approx(recompute(hit.terms), abs=1e-12)
        assert hit.terms["age_days"] == pytest.approx(max(age, 0))
        assert hit.terms["half_life_days"] == half_life
        assert hit.terms["date_missing"] is False


def test_newer_never_ranks_below_older_and_age_off_is_similarity_alone(plane_vault: Vault) -> None:
    plane_vault.add(
        [
            {
                "id": f"d{day:03}",
                "text": f"day {day}",
                "created_at": (NOW_US - day * US_PER_DAY) / 1e6,
                "vector": plane(0.6),
            }
            for day in range(40)
        ]
    )
    plane_vault.add([{"id": "old but near", "text": "near", "created_at": "2019-01-01", "vector": plane(0.61)}])
    hits = plane_vault.recall("x", k=50, profile="temporal", lanes=["vector"], vector=[1, 0])
    assert [hit.id for hit in hits if hit.id != "old but near"] == [f"d{day:03}" for day in range(40)]
    assert hits[-1].id == "old but near"
    off = plane_vault.recall("x", k=50, profile="default", lanes=["vector"], vector=[1, 0])
    assert off[0].id == "old but near"
    assert [hit.score for hit in off] == [hit.terms["cosine"] for hit in off]


def test_ties_go_to_the_newer_then_to_the_smaller_id(plane_vault: Vault) -> None:
    for name, day in (("b", "2026-01-01"), ("a", "2026-01-01"), ("z", "2026-01-02"), ("c", "2026-01-01")):
        plane_vault.add([{"id": name, "text": f"text {name}", "created_at": day, "vector": [1.0, 0.0]}])
    hits = plane_vault.recall("x", lanes=["vector"], vector=[1, 0])
    assert len({hit.score for hit in hits}) == 1
    assert [hit.id for hit in hits] == ["z", "a", "b", "c"]


def undated(vault: Vault, dates: dict[str, int | None]) -> None:
    """Write chunks with dates that no caller can give: as another writer's vault may hold them."""
    from lamina_engine.chunks import writing

    n = len(dates)
    undated: list[int | None] = [None] * n
    batch = ChunkBatch(
        texts=[f"weather {i}" for i in range(n)], ids=list(dates), titles=[None] * n, headings=[[]] * n, types=["note"] * n,
        collections=["notes"] * n, projects=[None] * n, sessions=[None] * n, agents=[None] * n, sources=[None] * n,
        ordinals=[-1] * n, starts=[-1] * n, stops=[-1] * n, created_at=list(dates.values()), tags=[[]] * n, success=[None] * n,
        commits=[None] * n, blobs=[None] * n, metadata=[None] * n, fallback_created_at=undated,
    )  # fmt: skip
    writing.write(vault._memory, batch)


@pytest.mark.parametrize(("profile", "weight"), [("temporal@1", 0.7), ("temporal@2", 0.5)])
def test_missing_and_absurd_dates_through_a_whole_recall(lexical_vault: Vault, profile: str, weight: float) -> None:
    undated(
        lexical_vault,
        {
            "none": None,
            "ice age": -(10**18),
            "year 9999": parse_instant("9999-12-31"),
            "today": NOW_US,
            "last week": NOW_US - 7 * US_PER_DAY,
        },
    )
    hits = {hit.id: hit for hit in lexical_vault.recall("weather", profile=profile)}
    assert set(hits) == {"none", "ice age", "year 9999", "today", "last week"}
    assert hits["none"].terms["date_missing"] is True
    assert hits["none"].created_at is None
    assert hits["none"].terms["recency"] < 1e-3
    assert hits["ice age"].terms["recency"] == 0.0
    assert hits["year 9999"].terms["recency"] == hits["today"].terms["recency"] == 1.0
    for name in ("none", "ice age"):
        if profile == "temporal@1":
            assert hits[name].score < hits["last week"].score
        assert hits[name].score == pytest.approx(weight * hits[name].terms["semantic"], abs=4e-4)
    past = {hit.id: hit for hit in lexical_vault.recall("weather", profile=profile, now="2019-06-01")}
    assert past["none"].terms["recency"] < 1e-3
    assert [chunk.id for chunk in lexical_vault.list()] == ["year 9999", "today", "last week", "ice age", "none"]
    assert [hit.id for hit in lexical_vault.recall("weather", since="0001-01-01")] == [
        "year 9999",
        "today",
        "last week",
    ]


# ---------------------------------------------------------------------- temporal@2: age orders what matches


def test_age_lifts_nothing_that_matches_less_than_three_quarters(plane_vault: Vault) -> None:
    # findings, seeds-b gap 1: chores of today passed the one right old answer
    plane_vault.add([{"id": "answer", "text": "answer", "created_at": "2025-06-01", "vector": plane(0.8)}])
    plane_vault.add(
        [
            {"id": f"s{i}", "text": f"stranger {i}", "created_at": NOW_US / 1e6, "vector": plane(0.599 - i / 100)}
            for i in range(40)
        ]
    )
    hits = plane_vault.recall("x", k=50, profile="temporal", lanes=["vector"], vector=[1, 0])
    assert hits[0].id == "answer"
    for hit in hits[1:]:
        assert hit.score == pytest.approx(0.5 * hit.terms["semantic"], abs=1e-12)
        assert recompute(hit.terms) == pytest.approx(hit.score, abs=1e-12)


@pytest.mark.parametrize("days", [0, 100, 1_000])
def test_of_two_that_match_alike_the_newer_leads_however_old_both_are(plane_vault: Vault, days: int) -> None:
    for name, age, match in (("old", 90, 0.80), ("new", 30, 0.70)):
        created = (NOW_US - (age + days) * US_PER_DAY) / 1e6
        plane_vault.add([{"id": name, "text": name, "created_at": created, "vector": plane(match)}])
    hits = plane_vault.recall("x", profile="temporal", lanes=["vector"], vector=[1, 0])
    assert [hit.id for hit in hits] == ["new", "old"]
    assert (hits[0].terms["age"]["days"], hits[1].terms["age"]["days"]) == (0.0, 60.0)
    assert hits[0].terms["age_days"] == 30 + days
    assert hits[0].terms["age"]["best"] == pytest.approx(0.80, abs=1e-6)
    assert [recompute(hit.terms) for hit in hits] == pytest.approx([hit.score for hit in hits], abs=1e-12)


def test_a_better_match_or_a_newer_date_never_lowers_a_score(plane_vault: Vault) -> None:
    plane_vault.add(
        [
            {
                "id": f"{match:.2f} {day:03}", "text": f"{match} {day}", "created_at": (NOW_US - day * US_PER_DAY) / 1e6,
                "vector": plane(match),
            }
            for match in (0.5, 0.6, 0.65, 0.7, 0.75, 0.8)
            for day in (0, 10, 50, 200)
        ]
    )  # fmt: skip
    hits = plane_vault.recall("x", k=50, profile="temporal", lanes=["vector"], vector=[1, 0])
    score = {(float(hit.id[:4]), int(hit.id[5:])): hit.score for hit in hits}
    for (match, day), value in score.items():
        assert all(other >= value for (m, d), other in score.items() if m >= match and d <= day)


EPISODIC = BUILT_IN["episodic@2"]


def test_length_golden_numbers() -> None:
    got = length_penalty(np.array([0, 250, 500, 1_000, 2_000, 4_096]), EPISODIC.boosts.length_tokens)
    np.testing.assert_allclose(got, [1.0, 1.0, 1.0, 0.5, 1 / 3, 0.248], atol=5e-4)


def ask(vault: Vault, **options: object) -> dict[str, float]:
    return {hit.id: hit.score for hit in vault.recall("cache", profile="episodic", **options)}  # type: ignore[arg-type]


def test_the_newer_of_equal_chunks_leads_by_its_boost(lexical_vault: Vault, clock: FixedClock) -> None:
    moments = {"now": "2026-03-01T12:00:00Z", "two-days": "2026-02-27T12:00:00Z", "to-come": "2026-04-01"}
    lexical_vault.add([{"id": name, "text": f"cache {name}", "created_at": at} for name, at in moments.items()])
    hits = lexical_vault.recall("cache", profile="episodic")
    factors = {hit.id: hit.score / hit.terms["semantic"] for hit in hits}
    assert factors == pytest.approx({"now": 1.3, "two-days": 1.15, "to-come": 1.3})
    for hit in hits:
        assert recompute(hit.terms) == pytest.approx(hit.score, abs=1e-9)


def test_chunks_of_the_session_that_asks_gain_a_fifth(lexical_vault: Vault) -> None:
    lexical_vault.add([{"id": name, "text": f"cache {name}", "session": name} for name in ("mine", "other")])
    plain, asked = ask(lexical_vault), ask(lexical_vault, session="mine")
    assert asked["mine"] == pytest.approx(1.2 * plain["mine"])
    assert asked["other"] == plain["other"]
    assert ask(lexical_vault, session="never met") == plain
    hit = lexical_vault.recall("cache", profile="episodic", session="mine")[0]
    assert (hit.id, hit.terms["boosts"]["session"]) == ("mine", 1.2)
    assert recompute(hit.terms) == pytest.approx(hit.score, abs=1e-9)


def test_long_chunks_are_divided_by_their_length(lexical_vault: Vault) -> None:
    lexical_vault.add(
        [{"id": "long", "text": ("cache " + "word " * 799)[:4_000], "created_at": "2001-01-01"}]
    )  # 4,000 characters: 1,000 tokens
    hit = lexical_vault.recall("cache", profile="episodic")[0]
    assert hit.terms["boosts"]["tokens"] == 1_000
    assert hit.score == pytest.approx(0.5 * hit.terms["semantic"])
    assert recompute(hit.terms) == pytest.approx(hit.score, abs=1e-9)


def test_other_profiles_know_no_boosts(lexical_vault: Vault) -> None:
    lexical_vault.add([{"id": "a", "text": "cache", "created_at": "2026-03-01"}])
    assert "boosts" not in lexical_vault.recall("cache")[0].terms


@pytest.mark.parametrize("session", ["", 7])
def test_a_session_is_a_name(lexical_vault: Vault, session: object) -> None:
    with pytest.raises(InvalidArgument, match="session="):
        lexical_vault.recall("cache", session=session)  # type: ignore[arg-type]
