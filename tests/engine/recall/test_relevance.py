"""Confidence: what it means, what it does not depend on, and who goes by it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import lamina
from lamina import CallableEmbedder, FixedClock, InvalidArgument, Vault
from lamina_engine.profiles import BUILT_IN
from lamina_engine.recall.relevance import ENOUGH
from tests.conftest import NOW

NOTES = (
    "The nightly backup of the ledger goes to the vault in Bergen and is checked every Monday.",
    "Ferry timetables for the winter are printed in October.",
    "Anna repaired the pump of the greenhouse with a spare valve.",
    "The tram line to the harbour is closed until the bridge is painted.",
    "Bread for the festival is baked by the school in the old oven.",
    "The lighthouse keeper writes the weather into a blue book at noon.",
)


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    with lamina.open(tmp_path / "v", create=True, clock=FixedClock(NOW)) as opened:
        fill = [f"Parcel {i} of street {i % 13} was weighed by clerk {i % 7} on a quiet day." for i in range(200)]
        opened.add(
            [{"text": text, "created_at": f"2026-02-{1 + i % 27:02d}"} for i, text in enumerate([*NOTES, *fill])]
        )
        yield opened


def test_what_the_vault_answers_is_above_the_threshold_and_what_it_does_not_below(vault: Vault) -> None:
    for question in (
        "where does the nightly backup of the ledger go",
        "who repaired the pump of the greenhouse",
        "tram to the harbour",
    ):
        assert vault.recall(question).confidence >= ENOUGH, question
    for question in (
        "which treaty ended the Franco-Prussian war",
        "how do I grow tomatoes on Mars",
        "what is the airspeed of a swallow",
    ):
        hits = vault.recall(question)
        assert hits.confidence < ENOUGH, question
        assert hits.confidence >= 0.0


def _odds(chance: float) -> float:
    return chance / (1.0 - chance)


def test_an_unknown_number_is_the_point_of_a_short_question(vault: Vault) -> None:  # the last stranger: .91 sure
    vault.add("The runner ends with exit code 3 where a test failed, and with exit code 5 where none was found.")
    assert vault.recall("exit code 5").confidence >= ENOUGH
    assert vault.recall("exit code 1077").confidence < ENOUGH


def test_what_every_chunk_has_is_no_question(vault: Vault) -> None:  # the last stranger: `recall "the"` lists hits
    assert vault.recall("quiet day").confidence < ENOUGH
    assert vault.recall("lighthouse").confidence >= ENOUGH


def test_stop_words_alone_ask_nothing(vault: Vault) -> None:  # a stranger: 1.00 sure over 45,000 chunks of manuals
    for text in (
        "The valve is to be closed or not to be opened, whatever the pump of the harbour says in the winter.",
        "What it is that the pump does when the oil is cold: it is warmed, and the others wait for it.",
        "Die Pumpe ist alt, und was es kostet, ist das, was der Hafen im Winter zahlt.",
    ):
        vault.add(text)
    for question in ("to be or not to be", "what is it", "the of and", "was ist das"):
        found = vault.recall(question)
        assert found
        assert found.confidence < ENOUGH, question
    assert vault.recall("what is the lighthouse").confidence >= ENOUGH


def test_words_that_the_vault_does_not_know_lower_it(vault: Vault) -> None:  # findings, ranking: both scored .436
    known, strange = vault.recall("nightly backup"), vault.recall("nightly backup of the zyxomat quorvex")
    assert known[0].id == strange[0].id
    assert _odds(strange.confidence) < 0.2 * _odds(known.confidence)


@pytest.mark.parametrize(
    "question", ["nightly backup of the ledger", "backup of the zyxomat", "how do I grow tomatoes"]
)
def test_it_means_the_same_in_every_profile_and_for_every_k(vault: Vault, question: str) -> None:
    first = vault.recall(question).confidence
    for profile in BUILT_IN:
        found = {vault.recall(question, k, profile=profile).confidence for k in (1, 10, 60)}
        assert len(found) == 1
        got = found.pop()
        assert (got >= ENOUGH) == (first >= ENOUGH)
        if profile.startswith("lexical"):  # it has no vector
            assert got == pytest.approx(first, abs=0.15)
        else:
            assert got == pytest.approx(first, abs=1e-9)
    assert vault.recall(question, 5, offset=7).confidence == first
    assert vault.recall(question, per_source=None, fill=True).confidence == first


def test_nothing_is_returned_below_the_least(vault: Vault) -> None:
    assert vault.recall("nightly backup of the ledger", min_confidence=ENOUGH)
    far = vault.recall("which treaty ended the Franco-Prussian war", min_confidence=ENOUGH)
    assert not far
    assert far.confidence == vault.recall("which treaty ended the Franco-Prussian war").confidence
    assert far.to_dict()["confidence"] == round(far.confidence, 4)
    assert vault.recall("which treaty ended the Franco-Prussian war", min_confidence=0.0)


@pytest.mark.parametrize("least", [-0.1, 1.1, True, "0.5", float("nan")])
def test_what_is_no_confidence_is_refused(vault: Vault, least: object) -> None:
    with pytest.raises(InvalidArgument, match="min_confidence"):
        vault.recall("backup", min_confidence=least)  # type: ignore[arg-type]


def test_scores_do_not_change_and_a_least_score_leaves_hits_out(vault: Vault) -> None:
    hits = vault.recall("nightly backup of the ledger")
    best = hits.scoring(hits[0].score)
    assert [hit.id for hit in best] == [hits[0].id]
    assert (best.confidence, best.query) == (hits.confidence, hits.query)
    assert not hits.scoring(2.0)


def test_an_empty_vault_and_an_empty_question_are_sure_of_nothing(vault: Vault, tmp_path: Path) -> None:
    assert vault.recall("").confidence == 0.0
    with lamina.open(tmp_path / "empty", create=True) as empty:
        assert empty.recall("anything").confidence == 0.0


def test_a_time_and_a_fact_answer_surely(vault: Vault) -> None:
    assert vault.recall("what did I write in February 2026").confidence == 1.0
    vault.facts.add("Keystone", "port", "3055")
    assert vault.recall("what port does Keystone run on?").confidence >= 0.9


def test_likeness_alone_speaks_where_the_vault_knows_no_word(tmp_path: Path) -> None:
    def embed(texts: list[str]) -> np.ndarray:
        return np.array(
            [[1.0, 0.0, 0.1] if "Fähre" in text or "ferry" in text else [0.0, 1.0, 0.1] for text in texts], np.float32
        )

    with lamina.open(tmp_path / "v", create=True, embedder=CallableEmbedder(embed, identity="two")) as vault:
        vault.add([{"text": text} for text in ("the ferry leaves at nine", *(f"parcel {i}" for i in range(50)))])
        assert vault.recall("Fähre").confidence >= ENOUGH
