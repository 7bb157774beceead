"""Composite scoring through a whole recall."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina import FixedClock, InvalidConfig, Vault
from lamina_engine.known_profiles import Profiles
from lamina_engine.recall import score as formulas
from lamina_engine.recall.explain import recompute
from lamina_engine.recall.score import Traits, quality_of
from tests.engine.recall.corpus import QUERIES, records

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


def parts(vault: Vault, query: str, **options: Any) -> dict[str, dict[str, Any]]:
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
    ref = formulas.composite(
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
