from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.facts import likeness
from lamina_engine.facts.extraction import extract_text
from lamina_engine.facts.likeness import anchors, differ_materially, says_the_same, shared_words, trigram_cosine
from lamina_engine.memory import Memory
from tests.engine.facts.test_observations import block

LONG = "prefers that every change of the deployment scripts is reviewed by somebody else before it is merged"


def test_the_same_said_of_two_people_is_never_one() -> None:
    assert trigram_cosine(f"Alice {LONG}", f"Bob {LONG}") > 0.93
    assert not says_the_same(f"Alice {LONG}", f"Bob {LONG}")
    assert not says_the_same("Alice likes Keystone", "Bob likes Keystone")
    assert says_the_same(f"Alice {LONG}", f"alice {LONG}.")


@pytest.mark.parametrize(
    ("first", "second", "differ"),
    [({"a", "b"}, {"a"}, False), ({"a"}, {"a", "b", "c"}, False), ({"a", "x"}, {"b", "x"}, True), (set(), {"a"}, False),
     ({"a"}, {"b"}, True), ({"a", "b", "c"}, {"a", "b", "d"}, False), (set(), set(), False)],
)  # fmt: skip
def test_anchors_that_differ_materially(first: set[str], second: set[str], differ: bool) -> None:
    assert differ_materially(first, second) is differ
    assert differ_materially(second, first) is differ


def test_what_anchors_are() -> None:
    text = "We moved Keystone to /srv/app on port 3055, see run_all and fooBar. The end."
    assert anchors(text) == {"keystone", "/srv/app", "3055", "run_all", "foobar"}
    assert anchors("nothing to hold on to") == set()


def test_without_anchors_texts_must_be_closer(monkeypatch: pytest.MonkeyPatch) -> None:
    for cosine, with_anchor, without in (
        (0.93, True, False),
        (0.929, False, False),
        (0.98, True, True),
        (0.979, True, False),
    ):
        monkeypatch.setattr(likeness, "trigram_cosine", lambda a, b, cosine=cosine: cosine)
        assert says_the_same(f"Alice {LONG}", f"Alice {LONG}") is with_anchor
        assert says_the_same(LONG, LONG) is without


def test_what_one_denies_the_other_does_not_say() -> None:
    assert not says_the_same(f"It is so that Alice {LONG}", f"It is not so that Alice {LONG}")


@given(st.text(max_size=60), st.text(max_size=60))
def test_bounds_and_symmetry(a: str, b: str) -> None:
    assert -1e-9 <= trigram_cosine(a, b) <= 1 + 1e-9
    assert trigram_cosine(a, b) == pytest.approx(trigram_cosine(b, a))
    assert says_the_same(a, b) == says_the_same(b, a)
    assert 0.0 <= shared_words(a, b) <= 1.0


def test_an_observation_said_again_in_nearly_the_same_words_stays_one_memory(memory: Memory) -> None:
    text = "Alice decided that Keystone keeps its queue in Postgres, and that nobody adds another broker this year."
    first = extract_text(memory, block(narrative=text))
    again = extract_text(
        memory, block(narrative=text.replace(", and", " and"), triples=(("Keystone", "uses", "Postgres"),))
    )
    other = extract_text(memory, block(narrative=text.replace("Alice", "Robin").replace("Keystone", "Moraine")))
    assert again.chunks == first.chunks
    assert (again.repeated, other.repeated) == (1, 0)
    assert memory.view().rows == 2
    assert again.added == 1
