from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.recall import score as c
from lamina_engine.recall.score import Traits, composite


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
    assert composite(traits(age_days=60), c.BY_MATCH).blend == pytest.approx(0.7 * 0.8 + 0.15 * 0.5 + 0.15 * 0.25)
    assert composite(traits(age_days=60), c.BY_RECENCY).blend == pytest.approx(0.08 + 0.35 + 0.05)
    for weights in (c.BALANCED, c.BY_MATCH, c.BY_RECENCY):
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
    assert c.pinned(0.2) == pytest.approx(0.5)
    assert c.pinned(0.9) == 1.0
    assert c.pinned(1.07) == 1.07  # the source system lowers it to 1
    high = traits(match=1.0, type="decision", age_days=0, quality=1.0)
    assert composite(high).score > 1.0
    assert composite(replace(high, pinned=True)).score == composite(high).score


def test_company_raises_partners_of_the_first_quarter() -> None:
    names, scores = list("abcdefgh"), [0.5] * 8
    together = {("a", "c"): 1, ("d", "b"): 99, ("e", "f"): 5, ("a", "b"): 3, ("b", "c"): 1}
    got = c.with_company(names, scores, together)
    assert got == pytest.approx([0.5, 0.5, 0.55, 0.575, 0.5, 0.5, 0.5, 0.5])
    assert c.with_company([], [], {}) == []
    assert c.with_company(["a", "b"], [1.0, 1.0], {("b", "a"): 1}) == pytest.approx([1.0, 1.1])


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
