"""Recall of a past moment against a vault that was fed no more than was known then."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lamina
from lamina import FixedClock, Vault
from lamina_engine.clock import format_instant
from lamina_engine.embed.remote import CallableEmbedder
from tests.conftest import MEMORY, NOW

WORDS = ("ada", "billing", "cache", "deploy", "error", "fix", "graph")
STEP_S = 86_400.0


def bag(texts: list[str]) -> list[list[float]]:
    """One dimension a word: as much meaning as these tests need."""
    return [[float(text.count(word)) for word in WORDS] + [0.1] for text in texts]


texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
names = st.sampled_from(["a", "b", "c", "d", "e"])
record = st.fixed_dictionaries(
    {"text": texts, "id": names},
    optional={"session": st.sampled_from(["s", "t"]), "type": st.sampled_from(["rule", "agent_task"])},
)
steps = st.one_of(
    st.tuples(st.just("add"), st.lists(record, min_size=1, max_size=3)),
    st.tuples(st.just("update"), names, texts),
    st.tuples(st.sampled_from(["invalidate", "restore", "pin", "unpin"]), names),
)


def play(vault: Vault, clock: FixedClock, history: list[tuple[Any, ...]]) -> None:
    for kind, *rest in history:
        clock.advance(STEP_S)
        try:
            if kind == "add":
                vault.add(rest[0])
            elif kind == "update":
                vault.update(rest[0], text=rest[1])
            elif kind == "invalidate":
                vault.invalidate(rest[0], "wrong")
            elif kind == "unpin":
                vault.pin(rest[0], pinned=False)
            else:
                getattr(vault, kind)(rest[0])
        except lamina.ChunkNotFound:
            continue


def shown(vault: Vault, query: str, profile: str, **options: Any) -> list[tuple[Any, ...]]:
    hits = vault.recall(query, profile=profile, **options)
    return [(hit.id, hit.score, hit.text, hit.status, hit.recorded_at, hit.via, hit.terms) for hit in hits]


@settings(max_examples=8)
@given(st.lists(steps, min_size=1, max_size=7), st.data())
def test_a_past_recall_is_that_of_a_vault_fed_the_prefix(history: list[tuple[Any, ...]], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(history)))
    embedder = CallableEmbedder(bag, len(WORDS) + 1, "bag")
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        whole_clock, part_clock = FixedClock(NOW), FixedClock(NOW)
        with (
            lamina.open(Path(folder) / "whole", create=True, clock=whole_clock, embedder=embedder) as whole,
            lamina.open(Path(folder) / "part", create=True, clock=part_clock, embedder=embedder) as part,
        ):
            play(whole, whole_clock, history)
            play(part, part_clock, history[:cut])
            part_clock.advance(60)  # a batch of several rows takes some microseconds
            then = format_instant(part_clock.now_us())
            for query in ("ada cache", "fix error graph billing"):
                for profile in ("default", "temporal"):
                    for where in (None, {"status": {"in": ["active", "superseded", "invalidated"]}}):
                        ref = shown(part, query, profile, where=where)
                        got = shown(whole, query, profile, where=where, as_of=then)
                        assert got == ref


def test_a_moment_before_the_first_row_knows_nothing(vault: Vault) -> None:
    vault.add("something known")
    assert len(vault.recall("something", as_of="2000-01-01")) == 0
    assert len(vault.recall("something", as_of="2100-01-01")) == 1


def test_as_of_counts_ages_from_that_moment(lexical_vault: Vault, clock: FixedClock) -> None:
    lexical_vault.add("cache", created_at="2026-02-28")
    then = format_instant(clock.now_us() + 1_000_000)
    clock.advance(100 * 86_400)
    past = lexical_vault.recall("cache", profile="temporal", as_of=then)[0]
    now = lexical_vault.recall("cache", profile="temporal", as_of=then, now=format_instant(clock.now_us()))[0]
    assert past.terms["age_days"] == pytest.approx(1.5, abs=1e-3)
    assert now.terms["age_days"] == pytest.approx(101.5)
    assert lexical_vault.recall("cache", as_of=then).as_of == then


def test_statistics_are_those_of_the_moment(lexical_vault: Vault, clock: FixedClock) -> None:
    lexical_vault.add([{"text": "cache here"}, {"text": "nothing there"}])
    ref = lexical_vault.recall("cache")[0].terms["bm25"]
    then = format_instant(clock.now_us() + 1_000_000)
    clock.advance(60)
    lexical_vault.add([{"text": f"cache {i}"} for i in range(20)])
    assert lexical_vault.recall("cache", as_of=then)[0].terms["bm25"] == ref
    assert not np.isclose(lexical_vault.recall("cache", k=30)[-1].terms["bm25"], ref)


def test_a_moment_is_made_ready_once_a_version(lexical_vault: Vault, clock: FixedClock) -> None:
    view = lexical_vault._memory.view
    moments = []
    for i in range(4):
        lexical_vault.add(f"note {i} about the pump", project=f"p{i}")
        moments.append(clock.now_us())
        clock.advance(60)
    then = view().at(moments[1])
    assert (then.rows, view().at(moments[1]) is then) == (2, True)
    assert [view().at(moment).rows for moment in (*moments, moments[0])] == [1, 2, 3, 4, 1]
    assert len(view()._moments) <= 2
    lexical_vault.add("another")
    assert view().at(moments[1]) is not then
    assert lexical_vault._memory.at(moments[2]).view() is view().at(moments[2])
