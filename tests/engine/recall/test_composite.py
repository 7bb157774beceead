"""Composite scoring: its formula, and whole recalls by it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lamina
from lamina import FixedClock, InvalidConfig, Vault
from lamina_engine.profiles import Profiles
from lamina_engine.recall import composite as c
from lamina_engine.recall.composite import Traits, composite, quality_of
from lamina_engine.recall.explain import recompute
from lamina_engine.results import CompositeTerms
from tests.engine.recall.corpus import QUERIES, records


def traits(**given: object) -> Traits:
    return Traits(**{"match": 0.8, "chars": 100, **given})  # type: ignore[arg-type]


def test_golden_recency() -> None:
    """A note of 60 days is at one half; an unknown type is as a note; the future and hubs do not fade."""
    assert c.recency(60, c.KINDS["note"].half_life_days) == 0.5
    assert composite(traits(type="whatever", age_days=60)).recency == 0.5
    assert composite(traits(age_days=-10)).recency == 1.0
    assert composite(traits(age_days=None)).recency == 0.5
    assert composite(traits(age_days=math.nan)).recency == 0.5
    assert composite(traits(type="hub", age_days=10_000)).recency == 1.0


@pytest.mark.parametrize(
    ("type_", "days", "baseline"),
    [
        ("handoff", 30, 0.6), ("progress", 45, 0.5), ("conversation", 45, 0.55), ("problem", 60, 0.75),
        ("milestone", 60, 0.7), ("note", 60, 0.5), ("research", 90, 0.7), ("project", 120, 0.65), ("decision", 180, 0.85),
        ("preference", math.inf, 0.8), ("deductive", math.inf, 0.85), ("hub", math.inf, 0.8),
        ("antipattern", math.inf, 0.75), ("anything else", 60, 0.5),
    ],
)  # fmt: skip
def test_every_type_has_its_half_life_and_baseline(type_: str, days: float, baseline: float) -> None:
    assert composite(traits(type=type_, age_days=0)).half_life_days == days
    assert composite(traits(type=type_, age_days=0)).confidence == pytest.approx(baseline)


def test_golden_extended_half_life() -> None:
    """A note with 5 fresh accesses: 92.25 days, and .6371 in place of .5 at 60 days; at most three times the whole."""
    assert c.extended_half_life(60, 5, 0) == pytest.approx(92.25, abs=5e-3)
    assert c.extended_half_life(60, 5) == pytest.approx(92.25, abs=5e-3)
    assert composite(traits(age_days=60, accesses=5)).recency == pytest.approx(0.6371, abs=5e-5)
    assert c.extended_half_life(60, 10**9) == 180
    assert c.extended_half_life(60, 5, 90) == 60
    assert c.extended_half_life(60, 5, 45) == pytest.approx(60 + 18 * math.log(3.5))
    assert c.extended_half_life(math.inf, 5) == math.inf


def test_golden_stored_confidence() -> None:
    """Stored .25 with .5 computed gives .375; stored .5 says nothing."""
    assert c.confidence(traits(age_days=0, stored_confidence=0.25)) == pytest.approx(0.375)
    assert c.confidence(traits(age_days=0, stored_confidence=0.5)) == pytest.approx(0.5)
    assert c.confidence(traits(age_days=0, stored_confidence=1.0)) == pytest.approx(0.75)
    assert c.confidence(traits(type="decision", age_days=0, stored_confidence=1.0)) == 1.0


def test_confidence_grows_with_use_up_to_half_as_much_again() -> None:
    assert c.confidence(traits(age_days=0, accesses=1)) == pytest.approx(0.55)
    assert c.confidence(traits(age_days=0, accesses=10**9)) == pytest.approx(0.75)
    # the half-life that use extends is not that of confidence
    assert c.confidence(traits(age_days=60, accesses=1)) == pytest.approx(0.275)


def test_attention_falls_five_percent_a_week_to_one_half() -> None:
    assert c.attention("note", 7) == pytest.approx(0.95)
    assert c.attention("note", 10_000) == 0.5
    assert c.attention("note", None) == 1.0
    assert c.attention("note", -3) == 1.0


@pytest.mark.parametrize("type_", sorted(c.ATTENTIVE))
def test_exempt_types_are_not_lowered_for_want_of_attention(type_: str) -> None:
    assert c.attention(type_, 10_000) == 1.0


def test_golden_blend() -> None:
    """Score .8, recency .5, confidence .25 give .5875; other weights give others."""
    found = composite(traits(age_days=60))
    assert (found.recency, found.confidence) == (0.5, 0.25)
    assert found.blend == pytest.approx(0.5875)
    assert composite(traits(age_days=60), c.Weights(0.7, 0.15, 0.15)).blend == pytest.approx(
        0.7 * 0.8 + 0.15 * 0.5 + 0.15 * 0.25
    )
    assert composite(traits(age_days=60), c.BY_RECENCY).blend == pytest.approx(0.08 + 0.35 + 0.05)
    for weights in (c.BALANCED, c.BY_RECENCY):
        assert sum(weights) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("question", "ref"),
    [
        ("what is the latest on auth", True), ("where were we", True), ("what did we do yesterday", True),
        ("last week's plan", True), ("pick up where we left off", True), ("what were we working on", True),
        ("why did we choose it", False), ("discontinued parts", False), ("", False),
    ],
)  # fmt: skip
def test_questions_that_ask_for_the_newest(question: str, ref: bool) -> None:
    assert c.asks_for_newest(question) is ref


@pytest.mark.parametrize(
    ("chars", "ref"),
    [(0, 1.0), (499, 1.0), (500, 1.0), (1_000, 2 / 3), (2_000, 0.5), (4_000, 0.4), (13_000, 0.3), (64_000, 0.3)],
)
def test_golden_length(chars: int, ref: float) -> None:
    assert c.length_factor(chars) == pytest.approx(ref, abs=2e-3)


def test_quality_moves_from_seven_tenths_to_thirteen() -> None:
    assert [composite(traits(quality=q)).quality for q in (0.0, 0.5, 1.0)] == pytest.approx([0.7, 1.0, 1.3])
    assert composite(traits(quality=9.0)).quality == pytest.approx(1.3)


def test_repetition_is_worth_a_tenth_at_most() -> None:
    assert c.repetition_factor(1, 1) == 1.0
    assert c.repetition_factor(2, 1) == pytest.approx(1 + 0.03 * math.log(3))
    assert c.repetition_factor(1, 3) == pytest.approx(1 + 0.03 * math.log(3))
    assert c.repetition_factor(10**6, 1) == pytest.approx(1.1)


def test_a_pin_adds_three_tenths_up_to_one_and_never_lowers() -> None:
    assert c.add_pin(0.2) == pytest.approx(0.5)
    assert c.add_pin(0.9) == 1.0
    assert c.add_pin(1.07) == 1.07  # the source system lowers it to 1
    high = traits(match=1.0, type="decision", age_days=0, quality=1.0)
    assert composite(high).score > 1.0
    assert composite(replace(high, pinned=True)).score == composite(high).score


def test_company_raises_partners_of_the_first_quarter() -> None:
    names, scores = list("abcdefgh"), [0.5] * 8
    together = {("a", "c"): 1, ("d", "b"): 99, ("e", "f"): 5, ("a", "b"): 3, ("b", "c"): 1}
    got = c.boost_co_used(names, scores, together)
    assert got == pytest.approx([0.5, 0.5, 0.55, 0.575, 0.5, 0.5, 0.5, 0.5])
    assert c.boost_co_used([], [], {}) == []
    assert c.boost_co_used(["a", "b"], [1.0, 1.0], {("b", "a"): 1}) == pytest.approx([1.0, 1.1])


def test_the_score_is_the_product_of_its_terms() -> None:
    found = composite(traits(age_days=60, quality=0.8, chars=2_000, revisions=3, pinned=True), boost=1.08)
    raw = found.blend * found.quality * found.length * found.repetition * 1.08
    assert found.score == pytest.approx(raw + found.pin)
    assert found.pin == pytest.approx(0.3)


numbers = st.one_of(st.floats(), st.sampled_from([0.0, 0.5, 1.0, math.nan, math.inf, -math.inf]))


@given(numbers, numbers, numbers, numbers, st.booleans())
def test_composite_score_is_finite(match: float, age: float, stored: float, quality: float, pinned: bool) -> None:
    match = match if not math.isfinite(match) else max(min(match, 1.0), 0.0)
    found = composite(traits(match=match, age_days=age, stored_confidence=stored, quality=quality, pinned=pinned))
    assert math.isfinite(found.score)
    assert found.score >= 0.0


@given(st.floats(0, 1), st.floats(0, 3_000), st.floats(0, 3_000))
def test_newer_is_never_lower(match: float, first: float, second: float) -> None:
    newer, older = sorted((first, second))
    assert composite(traits(match=match, age_days=newer)).score >= composite(traits(match=match, age_days=older)).score


NOW = "2026-03-01T00:00:00Z"
TOML = """
[profiles.composed]
base = "causal"
[profiles.composed.composite]
on = true
[profiles.boosted]
base = "causal"
[profiles.boosted.composite]
on = true
match = 0.7
recency = 0.15
confidence = 0.15
boosts = { preference = 1.08 }
"""


def opened(root: Path, clock: FixedClock) -> Vault:
    lamina.open(root, create=True, clock=clock, embedder="none").close()
    with (root / "vault.toml").open("a") as file:
        file.write(TOML)
    return lamina.open(root, clock=clock, embedder="none")


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    with opened(tmp_path / "vault", FixedClock(NOW)) as found:
        yield found


def parts(vault: Vault, query: str, **options: Any) -> dict[str, CompositeTerms]:
    hits = vault.recall(query, **{"profile": "composed", **options})
    for hit in hits:
        assert recompute(hit.terms) == pytest.approx(hit.score, abs=1e-9)
    return {hit.id: hit.terms["composite"] for hit in hits}


def test_raw_is_the_default(vault: Vault) -> None:
    vault.add("The cache was replaced.", id="a")
    assert "composite" not in vault.recall("cache", profile="causal")[0].terms


def test_every_factor_is_that_of_the_formula(vault: Vault) -> None:
    """A note of 60 days that was used five times just now: half-life 92.25 days."""
    vault.add("The cache was replaced.", id="a", created_at="2025-12-31", type="note", metadata={"quality": 0.25})
    for _ in range(5):
        vault.used(["a"])
    (hit,) = vault.recall("cache replaced", profile="composed")
    got = hit.terms["composite"]
    ref = c.composite(
        Traits(
            match=hit.terms["semantic"], age_days=60.0, accesses=5, days_since_access=got["days_since_use"], quality=0.25,
            chars=len(hit.text),
        )
    )  # fmt: skip
    assert got["half_life_days"] == pytest.approx(92.25, abs=0.01)
    assert got["recency"] == pytest.approx(0.6371, abs=1e-4)
    assert (got["recency"], got["confidence"], got["quality"]) == (ref.recency, ref.confidence, 0.85)
    assert hit.score == pytest.approx(ref.score, abs=1e-12)
    assert got["uses"] == 5


def test_what_the_vault_knows_makes_the_facts(vault: Vault) -> None:
    text = "The cache was replaced by a faster cache."
    vault.add([{"text": text, "id": "a"}, {"text": text, "id": "b"}, {"text": "Another cache.", "id": "c"}])
    vault.update("c", text="Another cache, written twice.")
    vault.update("c", text="Another cache, written three times.")
    vault.pin("c")
    got = parts(vault, "cache")
    assert len(got) == 2
    assert {name: (part["revisions"], part["duplicates"], part["pinned"]) for name, part in got.items()} == {
        **{name: (1, 2, False) for name in got if name != "c"},
        "c": (3, 1, True),
    }


def test_stored_confidence_counts(vault: Vault) -> None:
    stored = {"a": 0.25, "b": 0.5, "c": True, "d": 7, "e": "high", "f": None}
    vault.add(
        [
            {"text": f"cache {i}", "id": name, "metadata": {"confidence": v}}
            for i, (name, v) in enumerate(stored.items())
        ]
    )
    got = {name: part["confidence"] for name, part in parts(vault, "cache").items()}
    assert got["b"] == got["c"] == got["d"] == got["e"] == got["f"] == pytest.approx(0.5)
    assert got["a"] == pytest.approx(0.375)


def test_what_was_used_with_the_first_hits_is_raised(vault: Vault) -> None:
    vault.add([{"text": f"cache{' cache' * (8 - i)} number {i}", "id": f"n{i}"} for i in range(8)])
    order = list(parts(vault, "cache"))
    for _ in range(2):
        vault.used([order[0], order[6]])
    vault.used([order[4], order[5]])
    got = {name: part["company"] for name, part in parts(vault, "cache").items()}
    assert got == {name: pytest.approx(1.15 if name == order[6] else 1.0) for name in order}


def test_a_question_for_what_is_newest_puts_decisions_first(vault: Vault) -> None:
    vault.add("The cache is slow.", id="note", type="note", created_at=NOW)
    vault.add("We said something about a cache once.", id="old", type="decision", created_at="2020-01-01")
    assert list(parts(vault, "the latest on the cache")) == ["old", "note"]
    assert parts(vault, "the latest on the cache")["old"]["weights"] == {
        "match": 0.1, "recency": 0.7, "confidence": 0.2
    }  # fmt: skip
    assert list(parts(vault, "the cache")) == ["note", "old"]


def test_boosts_by_type_and_what_does_not_fade(vault: Vault) -> None:
    vault.add("I like small caches.", id="p", type="preference", created_at="2020-01-01")
    got = parts(vault, "caches", profile="boosted")["p"]
    assert (got["boost"], got["half_life_days"], got["recency"]) == (1.08, None, 1.0)
    assert got["weights"] == {"match": 0.7, "recency": 0.15, "confidence": 0.15}
    assert parts(vault, "recent caches", profile="boosted")["p"]["boost"] == 1.0


@pytest.mark.parametrize("query", QUERIES)
def test_scores_are_computed_again_from_their_terms(query: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.getbasetemp() / "composed"
    if not root.exists():
        with opened(root, FixedClock(NOW)) as made:
            made.add(records(200))
    with lamina.open(root, clock=FixedClock(NOW)) as vault:
        hits = vault.recall(query, profile="composed", k=30)
        assert all(math.isfinite(hit.score) for hit in hits)
        assert [recompute(hit.terms) for hit in hits] == pytest.approx([hit.score for hit in hits], abs=1e-9)
        again = vault.recall(query, profile="composed", k=30)
        assert [(hit.id, hit.score, hit.terms) for hit in again] == [(hit.id, hit.score, hit.terms) for hit in hits]


@pytest.mark.parametrize("shares", [{"match": 0.9}, {"match": 1.0, "recency": 0.2, "confidence": 0.0}])
def test_shares_must_add_up(shares: dict[str, float]) -> None:
    with pytest.raises(InvalidConfig, match="add up to 1"):
        Profiles({"x": {"base": "causal", "composite": shares}})


@pytest.mark.parametrize(
    ("text", "headed", "marks", "quality"),
    [
        ("", False, 0, 0.2), ("x" * 50, False, 0, 0.3), ("x" * 201, False, 0, 0.4), ("x" * 501, True, 0, 0.6),
        ("- one\n- two" + " x" * 30, False, 0, 0.35), ("We decided so." + " x" * 30, False, 0, 0.45),
        ("The bug is fixed." + " x" * 30, False, 0, 0.4), ("x" * 60, False, 2, 0.4), ("x" * 60, False, 9, 0.45),
        ("- decided to fix it" + " x" * 600, True, 3, 1.0),
    ],
)  # fmt: skip
def test_quality_read_from_a_text(text: str, headed: bool, marks: int, quality: float) -> None:
    assert quality_of(text, headed, marks) == pytest.approx(quality)
