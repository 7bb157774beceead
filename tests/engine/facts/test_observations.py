""""""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.facts.observations import (
    ELIGIBLE,
    LITERAL,
    OBSERVATION_TYPES,
    VOCABULARY,
    Triple,
    check_triples,
    is_placeholder,
    normalize_spelling,
    parse_observations,
)


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
    assert is_placeholder(echo)
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
        assert normalize_spelling(triple.predicate) in VOCABULARY


def block(
    kind: str = "decision", title: str = "Keystone moves to Postgres", facts: tuple[str, ...] = ("It had two writers.",),
    triples: tuple[tuple[str, str, str], ...] = (("Keystone", "migrated_to", "Postgres"),), narrative: str = "We moved.",
) -> str:  # fmt: skip
    said = "".join(
        f"<triple><subject>{s}</subject><predicate>{p}</predicate><object>{o}</object></triple>" for s, p, o in triples
    )
    listed = "".join(f"<fact>{fact}</fact>" for fact in facts)
    return (
        f"<observation><type>{kind}</type><title>{title}</title><narrative>{narrative}</narrative>"
        f"<facts>{listed}</facts><triples>{said}</triples></observation>"
    )


def test_a_block_gives_title_narrative_facts_and_triples() -> None:
    (found,), dropped = parse_observations(f"chatter {block()} more chatter")
    assert (found.type, found.title, found.narrative) == ("decision", "Keystone moves to Postgres", "We moved.")
    assert (found.facts, found.triples) == (("It had two writers.",), (Triple("Keystone", "migrated_to", "Postgres"),))
    assert (found.text, dropped) == ("We moved.\n\n- It had two writers.", [])


def test_confidence_by_type() -> None:
    found, _ = parse_observations("".join(block(kind) for kind in OBSERVATION_TYPES))
    assert {o.type for o in found if o.confidence == 0.9} == {"decision", "preference"}
    assert {o.confidence for o in found} == {0.9, 0.7}


def test_only_six_types_give_triples() -> None:
    found, dropped = parse_observations("".join(block(kind) for kind in OBSERVATION_TYPES))
    assert {o.type for o in found if o.triples} == ELIGIBLE
    assert len(ELIGIBLE) == 6
    assert {o.type for o in found if not o.triples} == {"bugfix", "change", "refactor"}
    assert len(dropped) == 3


def test_without_facts_there_are_no_triples() -> None:
    (found,), dropped = parse_observations(block(facts=("abc",)))  # too short to be one
    assert (found.facts, found.triples) == ((), ())
    assert len(dropped) == 2


def test_malformed_blocks_beside_good_ones_are_reported_and_the_good_ones_stay() -> None:
    text = (
        block("gossip") + block(title="Title") + "<observation><type>decision</type><title>Open ended"
        + block(title="Good one") + "<observation></observation>" + block(title="Another")
    )  # fmt: skip
    found, dropped = parse_observations(text)
    assert [observation.title for observation in found] == ["Good one", "Another"]
    assert [drop.what for drop in dropped] == [
        "observation 1",
        "observation 2",
        "observation 3",
        "observation 3",
        "observation 5",
    ]


def test_a_block_that_is_not_closed_loses_nothing_it_has() -> None:
    (first, second), _ = parse_observations(block().removesuffix("</observation>") + block(title="Next"))
    assert (first.title, second.title) == ("Keystone moves to Postgres", "Next")
    assert first.triples == second.triples


def test_a_bad_triple_costs_only_itself() -> None:
    (found,), dropped = parse_observations(block(triples=(("Keystone", "is", "x1"), ("Keystone", "uses", "Redis"))))
    assert found.triples == (Triple("Keystone", "uses", "Redis"),)
    assert dropped[0].what == "observation 1, triple 1"


def test_entities_of_markup_are_read() -> None:
    (found,), _ = parse_observations(block(title="R&amp;D moves", triples=(("R&amp;D", "uses", "C&lt;T&gt; lists"),)))
    assert (found.title, found.triples[0]) == ("R&D moves", Triple("R&D", "uses", "C<T> lists"))


def test_only_the_first_wrapper_counts_and_white_space_does_not() -> None:
    text = block().replace("</observation>", "<triples><triple><subject>no</subject></triple></triples></observation>")
    (found,), dropped = parse_observations(text.replace("><", ">\n   <").upper().replace("KEYSTONE", "Keystone"))
    assert len(found.triples) == 1
    assert dropped == []


@pytest.mark.parametrize(("chars", "left"), [(80, 80), (81, 80)])
def test_a_title_is_cut(chars: int, left: int) -> None:
    (found,), _ = parse_observations(block(title="t" * chars))
    assert len(found.title) == left


PIECES = ["<", ">", "a", " ", "<observation>", "</observation>", "<type>decision</type>", "<title>It is so</title>", "<facts>",
          "<fact>", "</fact>", "<triples>", "<triple>", "</triple>", "<subject>ab</subject>"]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_no_text_raises(text: str) -> None:
    found, _ = parse_observations(text)
    assert all(observation.type in OBSERVATION_TYPES for observation in found)
