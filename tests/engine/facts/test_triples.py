from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.facts.triples import LITERAL, VOCABULARY, Triple, check_triples, is_echo, spelled


def raw(subject: object = "Keystone", predicate: object = "uses", object: object = "SQLite") -> dict[str, object]:
    return {"subject": subject, "predicate": predicate, "object": object}


def test_the_vocabulary_has_thirteen_predicates() -> None:
    assert len(VOCABULARY) == 13
    kept, dropped = check_triples([raw(predicate=name, object=f"it {i}") for i, name in enumerate(VOCABULARY)], most=13)
    assert [triple.predicate for triple in kept] == list(VOCABULARY)
    assert dropped == []


def test_prefers_and_avoids_have_a_text_for_object() -> None:
    kept, _ = check_triples([raw(predicate=name, object=f"{name} it") for name in VOCABULARY], most=13)
    assert {triple.predicate for triple in kept if triple.is_literal} == {"prefers", "avoids"} == set(LITERAL)


@pytest.mark.parametrize("said", ["Depends On", "depends-on", " DEPENDS  ON ", "depends_on"])
def test_spellings_of_a_predicate(said: str) -> None:
    assert check_triples([raw(predicate=said)])[0] == [Triple("Keystone", "depends_on", "SQLite")]


def test_an_unknown_predicate_is_dropped_and_its_siblings_stay() -> None:
    kept, dropped = check_triples([raw(), raw(predicate="is_like"), raw(object="Redis")])
    assert [triple.object for triple in kept] == ["SQLite", "Redis"]
    assert [drop.what for drop in dropped] == ["triple 2"]
    assert "is_like" in dropped[0].why


@pytest.mark.parametrize(("chars", "ok"), [(1, False), (2, True), (80, True), (81, False)])
def test_lengths_of_a_subject(chars: int, ok: bool) -> None:
    assert bool(check_triples([raw(subject="k" * chars)])[0]) is ok


@pytest.mark.parametrize(("chars", "ok"), [(1, False), (2, True), (120, True), (121, False)])
def test_lengths_of_an_object(chars: int, ok: bool) -> None:
    assert bool(check_triples([raw(object="k" * chars)])[0]) is ok


def test_the_sixth_triple_is_dropped_and_repetitions_do_not_count() -> None:
    kept, dropped = check_triples([raw(object=f"it {i // 2}") for i in range(12)])
    assert [triple.object for triple in kept] == [f"it {i}" for i in range(5)]
    assert len(dropped) == 2


@pytest.mark.parametrize("part", ["subject", "predicate", "object"])
@pytest.mark.parametrize("value", [None, "", "  ", 7])
def test_a_missing_part(part: str, value: object) -> None:
    kept, dropped = check_triples([{**raw(), part: value}, raw()])
    assert (len(kept), len(dropped)) == (1, 1)
    assert part in dropped[0].why


@pytest.mark.parametrize("echo", ["Subject", "<entity name>", "object", "...", "[value]", "--"])
def test_placeholders_of_the_question_are_no_triples(echo: str) -> None:
    assert is_echo(echo)
    assert check_triples([raw(object=echo if len(echo) > 1 else "xx")])[0] == []


@given(
    st.lists(
        st.fixed_dictionaries(
            {p: st.one_of(st.none(), st.text(max_size=130)) for p in ("subject", "predicate", "object")}
        )
    )
)
def test_nothing_raises_and_what_is_kept_is_within_bounds(triples: list[dict[str, object]]) -> None:
    kept, dropped = check_triples(triples)
    assert len(kept) <= 5
    assert len(kept) + len(dropped) <= len(triples)
    for triple in kept:
        assert 2 <= len(triple.subject) <= 80
        assert 2 <= len(triple.object) <= 120
        assert spelled(triple.predicate) in VOCABULARY
