from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.facts.observations import ELIGIBLE, TYPES, parse_observations
from lamina_engine.facts.triples import Triple


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
    found, _ = parse_observations("".join(block(kind) for kind in TYPES))
    assert {o.type for o in found if o.confidence == 0.9} == {"decision", "preference"}
    assert {o.confidence for o in found} == {0.9, 0.7}


def test_only_six_types_give_triples() -> None:
    found, dropped = parse_observations("".join(block(kind) for kind in TYPES))
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
    assert all(observation.type in TYPES for observation in found)
