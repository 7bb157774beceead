from __future__ import annotations

import numpy as np
import pytest

from lamina import FixedClock, InvalidArgument, Vault
from lamina_engine.known_profiles import BUILT_IN
from lamina_engine.recall.explain import recompute
from lamina_engine.recall.score import length_penalty

EPISODIC = BUILT_IN["episodic@1"]


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
