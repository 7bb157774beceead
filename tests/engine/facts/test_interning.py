"""Names of a write, and the entities that they become."""

from __future__ import annotations

from lamina_engine.facts.log import write
from lamina_engine.facts.schema import Draft
from lamina_engine.memory import Memory


def test_an_object_names_what_was_made_further_up(memory: Memory) -> None:
    calls = [Draft("Ann", "likes", "Bob"), Draft("Bob", "likes", "Bob"), Draft("Ann", "likes", "bob")]
    rows = write(memory, calls, index=False).rows
    (segment,) = memory.view().snapshot.segments("facts")
    assert segment.numbers("target")[rows[0]] == -1
    assert segment.numbers("target")[rows[1]] == segment.numbers("subject")[rows[1]] == 1
