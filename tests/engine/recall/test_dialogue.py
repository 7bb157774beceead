"""Turns that ask, say little, or are by somebody whom the question names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import lamina
from lamina import FixedClock, Hit, Vault
from lamina_engine.chunks.turns import QUESTION, role_of_turn
from lamina_engine.recall.dialogue import named_agents, recompute_turn
from lamina_engine.recall.explain import recompute
from tests.conftest import NOW

TALK = [
    ("ana", "Has anybody seen my blue umbrella?"),
    ("bo.larsen", "Left it in the hallway behind the coats, I think, when we came home from the theatre on Sunday."),
    ("ana", "The rain was awful."),
    ("Melanie", "The blue kayak is mine, I bought it from a fisherman in Bergen last spring for very little money."),
    ("ana", "Blue kayak."),
    ("ana", "The green kayak belongs to the club, it was bought from a fisherman in Bergen many years ago."),
]


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[Vault]:
    with lamina.open(tmp_path / "v", create=True, clock=FixedClock(NOW)) as vault:
        vault.add([{"id": str(i), "text": text, "agent": who, "session": "s"} for i, (who, text) in enumerate(TALK)])
        yield vault


def found(vault: Vault, question: str, **options: object) -> dict[str, Hit]:
    return {hit.id: hit for hit in vault.recall(question, **options)}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "Where is it?",
        "Where is it? 🙂",
        'She asked "why?"',
        "Wow! Really?! [image: a cat]",
        "在哪里？",
        "Was ist das?\nSag es.",
    ],
)
def test_a_turn_that_asks_has_a_role(text: str) -> None:
    assert role_of_turn(text) == QUESTION


@pytest.mark.parametrize("text", ["", "It is here.", "See https://a.example/?page=2", "Really? " + 600 * "a"])
def test_others_have_none(text: str) -> None:
    assert role_of_turn(text) is None


def test_only_turns_of_sessions_ask(talk: Vault) -> None:
    talk.add([{"id": "note", "text": "Where is the umbrella?"}])
    roles = {hit.id: hit.role for hit in talk.recall("umbrella kayak rain", k=20)}
    assert roles["0"] == QUESTION
    assert roles["note"] is None
    assert roles["2"] is None


def test_the_turn_after_a_question_is_found_without_a_word_of_it(talk: Vault) -> None:
    hits = found(talk, "blue umbrella", lanes=["lexical"])
    assert hits["0"].terms["factor"] < 1.0
    before = found(talk, "blue umbrella", lanes=["lexical"], profile="default@1")
    given = hits["1"].terms["received"] - before["1"].terms["received"]
    assert given == pytest.approx(0.25 * hits["0"].terms["own"])


def test_a_short_turn_gives_to_the_turn_before_it_and_a_section_of_a_document_to_none(
    talk: Vault, tmp_path: Path
) -> None:
    hits = found(talk, "blue kayak")
    assert hits["3"].terms["received"] == pytest.approx(0.3 * hits["4"].terms["own"])
    page = tmp_path / "docs" / "boats.md"
    page.parent.mkdir()
    rules = [f"Rule {i}: whoever takes a boat out writes name, day and hour into book {i}." for i in range(20)]
    long, short = " ".join(rules), " ".join(rules[:5])
    page.write_text(f"# Boats\n\n{long}\n\n# Canoes\n\nThe red canoe. {short}\n\n# Oars\n\n{long}\n", encoding="utf-8")
    talk.ingest(page.parent)
    sections = [hit for hit in talk.recall("red canoe boat", k=20, per_source=None) if hit.source is not None]
    assert len(sections) > 1
    assert not any(hit.terms["received"] for hit in sections)


def test_a_turn_of_two_words_says_little(talk: Vault) -> None:
    hits = found(talk, "blue kayak")
    short, long = hits["4"].terms, hits["3"].terms
    assert short["turn"]["words"] == 2
    assert short["factor"] == pytest.approx(recompute_turn(short["turn"])) == pytest.approx(0.713, abs=0.001)
    assert short["factor"] < long["factor"] < 1.0


def test_a_named_speaker_leads(talk: Vault) -> None:
    for question in ("What kayak did Melanie buy?", "which kayak does Mel have", "the kayak that melanie bought"):
        terms = found(talk, question)["3"].terms["turn"]
        assert terms["named"] == pytest.approx(0.18), question
    assert found(talk, "which kayak")["3"].terms["turn"]["named"] == 0.0


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("What did Bo lose?", {"bo.larsen"}),
        ("anything by larsen", {"bo.larsen"}),
        ("When did ANA come?", {"ana"}),
        ("What has Ben?", set()),
        ("What has Mela?", {"Melanie"}),
        ("the melon", set()),
    ],
)
def test_names_are_read_tolerantly(talk: Vault, question: str, names: set[str]) -> None:
    view = talk._memory.view()
    assert {view.categories.value("agent", code) for code in named_agents(view, question)} == names


def test_scores_are_recomputed_with_turns(talk: Vault) -> None:
    for profile in ("default", "lexical", "temporal", "causal", "entity", "episodic"):
        for hit in talk.recall("Which blue kayak or umbrella has Melanie?", profile=profile):
            assert recompute(hit.terms) == pytest.approx(hit.score, abs=1e-6)


def test_what_is_no_turn_has_no_such_term(tmp_path: Path) -> None:
    with lamina.open(tmp_path / "v", create=True, clock=FixedClock(NOW)) as vault:
        vault.add([{"text": "Blue kayak."}, {"text": "Is the kayak blue?"}])
        hits = vault.recall("blue kayak")
        assert [hit.terms["factor"] for hit in hits] == [1.0, 1.0]
        assert all("turn" not in hit.terms for hit in hits)
