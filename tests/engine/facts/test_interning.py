"""Names taken once each against names taken row after row."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina import FixedClock
from lamina_engine.errors import LaminaError
from lamina_engine.facts import interning
from lamina_engine.facts.entities import EntityDraft, ensure_entities
from lamina_engine.facts.log import FactsWritten, write
from lamina_engine.facts.schema import Draft, DraftKind
from lamina_engine.memory import Memory
from tests.conftest import MEMORY
from tests.engine.store.faults import Quick

NAMES = (
    "Ann",
    "ann",
    "ANN",
    "Bob",
    "bob  smith",
    "Bob Smith",
    "C++",
    "C#",
    "Zoë",
    "Zoe",
    "東京",
    "a:b:c",
    "one",
    "!!!",
)
PREDICATES = ("uses", "owns", "works_at", "likes", "phone", "note_of")
TYPES = (None, None, None, "person", "concept")


@st.composite
def drafts(draw: st.DrawFn, *, typed: bool) -> list[Draft]:
    name, kind = st.sampled_from(NAMES), st.sampled_from(TYPES if typed else (None,))
    kinds: tuple[DraftKind, ...] = ("auto", "auto", "auto", "entity", "literal") if typed else ("auto",)
    objects = st.sampled_from(kinds)
    return [
        Draft(
            draw(name),
            draw(st.sampled_from(PREDICATES)),
            draw(name),
            kind=draw(objects),
            subject_type=draw(kind),
            object_type=draw(kind),
        )
        for _ in range(draw(st.integers(0, 12)))
    ]


def written(folder: Path, calls: Sequence[list[Draft]]) -> list[Any]:
    """What each call gives, and all entities and facts in the end."""
    found: list[Any] = []
    clock = FixedClock("2026-02-15T09:30:00Z")
    with closing(Memory(folder / "vault", create=True, clock=clock, embedder="none", files=Quick())) as memory:
        ensure_entities(memory, [EntityDraft("Ann", "project", ["one"])])
        for call in calls:
            try:
                result: FactsWritten | str = write(memory, call, skip_bad=True, index=False)
            except LaminaError as error:
                result = str(error)
            found.append(result)
        for log in ("entities", "facts"):
            for segment in memory.view().snapshot.segments(log):
                found += segment.batch.drop_columns(["recorded_at"]).to_pylist()
    return found


@pytest.mark.parametrize("typed", [False, True])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_each_name_once_gives_what_row_after_row_gives(typed: bool, data: st.DataObject) -> None:
    calls = data.draw(st.lists(drafts(typed=typed), min_size=1, max_size=3))
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        got = written(Path(folder) / "once", calls)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(interning, "_intern_by_name", lambda *_: None)
            ref = written(Path(folder) / "rows", calls)
    assert got == ref


def test_an_object_names_what_was_made_further_up(memory: Memory) -> None:
    calls = [Draft("Ann", "likes", "Bob"), Draft("Bob", "likes", "Bob"), Draft("Ann", "likes", "bob")]
    rows = write(memory, calls, index=False).rows
    (segment,) = memory.view().snapshot.segments("facts")
    assert segment.numbers("target")[rows[0]] == -1
    assert segment.numbers("target")[rows[1]] == segment.numbers("subject")[rows[1]] == 1


def test_a_large_write_without_doubt_is_not_taken_row_after_row(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interning, "_intern_by_row", lambda *_, **__: pytest.fail("row after row"))
    calls = [Draft(f"Person {at % 40}", "likes", f"thing {at % 7}") for at in range(200)]
    assert write(memory, calls, index=False).entities == 40
    assert write(memory, [Draft("person 3", "uses", "Person 4")], index=False).entities == 0
