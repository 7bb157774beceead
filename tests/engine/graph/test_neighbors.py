from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import FixedClock
from lamina_engine.chunks import lifecycle
from lamina_engine.embed.remote import CallableEmbedder
from lamina_engine.errors import ChunkNotFound, InvalidArgument
from lamina_engine.graph.neighbors import similar, timeline
from lamina_engine.memory import Memory
from tests.engine.graph.filling import fill


def around(memory: Memory, identity: str, **options: int | bool) -> tuple[str, str]:
    found = timeline(memory.view(), identity, **options)  # type: ignore[arg-type]
    return "".join(each.id for each in found.before), "".join(each.id for each in found.after)


def test_before_and_after(memory: Memory) -> None:
    fill(memory, list("gfedcba"), collections=["x", "y"] * 3 + ["x"])
    assert around(memory, "d") == ("gfe", "cba")
    assert around(memory, "d", before=1, after=2) == ("e", "cb")
    assert around(memory, "d", before=0, after=0) == ("", "")
    assert around(memory, "c", same_collection=True) == ("ge", "a")
    lifecycle.invalidate(memory, "e", "no")
    assert around(memory, "d", before=2) == ("gf", "cba")
    assert timeline(memory.view(), "d").total == 6


@given(
    days=st.lists(st.integers(0, 2), min_size=1, max_size=7),
    at=st.integers(0, 6),
    before=st.integers(0, 3),
    after=st.integers(0, 3),
)
def test_equals_a_sorted_list(
    days: list[int], at: int, before: int, after: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    memory = Memory(tmp_path_factory.mktemp("v") / "vault", create=True, clock=FixedClock(0), embedder="none")
    names = [f"c{(3 * i) % 7}" for i in range(len(days))]
    fill(memory, names, created_at=days)
    focus = names[at % len(names)]
    line = [name for _, name in sorted(zip(days, names, strict=True))]
    place = line.index(focus)
    ref = ("".join(line[max(0, place - before) : place]), "".join(line[place + 1 : place + 1 + after]))
    assert around(memory, focus, before=before, after=after) == ref
    memory.close()


def test_without_a_date_there_is_no_timeline(memory: Memory) -> None:
    fill(memory, ["a", "b"], created_at=[None, 5], fallback_created_at=[None, None])
    with pytest.raises(InvalidArgument, match="no date"):
        timeline(memory.view(), "a")
    with pytest.raises(InvalidArgument, match="before"):
        timeline(memory.view(), "b", before=-1)
    with pytest.raises(ChunkNotFound):
        timeline(memory.view(), "z")
    assert around(memory, "b") == ("", "")


def test_similar(tmp_path: Path, clock: FixedClock) -> None:
    memory = Memory(
        tmp_path / "v",
        create=True,
        clock=clock,
        embedder=CallableEmbedder(lambda texts: np.eye(3)[: len(texts)], 3, identity="axes"),
    )
    vectors = np.array([[1, 0, 0], [0.8, 0.6, 0], [0.6, 0.8, 0], [0.8, 0.6, 0]], np.float32)
    fill(memory, list("abcd"), vectors=vectors)
    assert [(near.id, round(near.score, 6)) for near in similar(memory.view(), "a", k=3)] == [
        ("d", 0.8), ("b", 0.8), ("c", 0.6),
    ]  # fmt: skip
    assert [near.id for near in similar(memory.view(), "a", k=1)] == ["d"]
    with pytest.raises(InvalidArgument, match="k=0"):
        similar(memory.view(), "a", k=0)
    memory.close()


def test_without_a_vector_nothing_is_similar(memory: Memory) -> None:
    fill(memory, ["a"])
    with pytest.raises(InvalidArgument, match="no vector"):
        similar(memory.view(), "a")
