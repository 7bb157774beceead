"""Sessions of the OpenAI Agents SDK: differential against its own, and what only a vault does."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip(
    "agents.memory", reason="openai-agents is not installed; .ci/run tests each adapter in an environment of its own"
)

from agents import SQLiteSession
from agents.memory import SessionSettings
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lamina
from lamina.adapters.openai_agents import LaminaSession
from tests.adapters.hostile import survives

ITEMS: list[dict[str, Any]] = [
    {"role": "user", "content": "Which database do we use?"},
    {"type": "function_call", "call_id": "c1", "name": "lookup", "arguments": '{"q": "database"}'},
    {"type": "function_call_output", "call_id": "c1", "output": "PostgreSQL 16"},
    {"role": "assistant", "content": [{"type": "output_text", "text": "PostgreSQL 16.", "annotations": []}]},
    {"role": "user", "content": "Which database do we use?"}, {"x": None, "n": 1.5, "deep": {"é": [1, True]}},
]  # fmt: skip

operations = st.one_of(
    st.tuples(st.just("add"), st.lists(st.sampled_from(ITEMS), max_size=3)),
    st.tuples(st.just("get"), st.none() | st.integers(-1, 4)),
    st.tuples(st.sampled_from(["pop", "clear"]), st.none()),
)
sequences = st.lists(operations, min_size=1, max_size=8)


async def run(session: Any, sequence: list[Any]) -> list[Any]:
    results = []
    for name, value in sequence:
        if name == "add":
            results.append(await session.add_items(value))
        elif name == "get":
            results.append(await session.get_items(value))
        else:
            results.append(await (session.pop_item() if name == "pop" else session.clear_session()))
    return [*results, await session.get_items()]


def compare(folder: Path, sequence: list[Any]) -> None:
    with lamina.open(folder, create=True) as vault:
        ours, theirs = LaminaSession("s", vault), SQLiteSession("s")
        assert asyncio.run(run(ours, sequence)) == asyncio.run(run(theirs, sequence))
        theirs.close()


_quiet = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@given(sequence=sequences)
@settings(max_examples=30, deadline=None, suppress_health_check=_quiet)
def test_random_operations_equal_the_sdks_own(tmp_path_factory: pytest.TempPathFactory, sequence: list[Any]) -> None:
    compare(tmp_path_factory.mktemp("session") / "v", sequence)


@pytest.mark.slow
@given(sequence=sequences)
@settings(max_examples=10_000, deadline=None, suppress_health_check=_quiet)
def test_ten_thousand_sequences_equal_the_sdks_own(
    tmp_path_factory: pytest.TempPathFactory, sequence: list[Any]
) -> None:
    compare(tmp_path_factory.mktemp("session") / "v", sequence)


def test_turns_are_found_by_recall_and_sessions_keep_apart(tmp_path: Path) -> None:
    with lamina.open(tmp_path / "v", create=True) as vault:
        one, other = LaminaSession("one", vault, project="api"), LaminaSession("other", vault)
        asyncio.run(one.add_items(ITEMS))  # type: ignore[arg-type]
        assert asyncio.run(other.get_items()) == []
        assert asyncio.run(other.pop_item()) is None
        hits = vault.recall("what does lookup say of the database", where={"project": "api"})
        assert {"lookup", "PostgreSQL"} <= {word for hit in hits for word in hit.text.replace("(", " ").split()}
        assert [session.session for session in vault.sessions()][:1] == ["one"]
        asyncio.run(one.clear_session())
        assert not vault.list()


def test_a_default_limit_is_kept(tmp_path: Path) -> None:
    session = LaminaSession("s", tmp_path / "v", session_settings=SessionSettings(limit=2))
    asyncio.run(session.add_items(ITEMS))  # type: ignore[arg-type]
    assert asyncio.run(session.get_items()) == ITEMS[-2:]
    assert asyncio.run(LaminaSession("s", tmp_path / "v").get_items()) == ITEMS


@pytest.mark.parametrize("wrong", [[{"a": object()}], ["text"], [{"role": "user", "content": "fine"}, 5]])
def test_items_that_are_no_objects_write_nothing(tmp_path: Path, wrong: Any) -> None:
    session = LaminaSession("s", tmp_path / "v")
    with pytest.raises(lamina.InvalidArgument, match="nothing was written"):
        asyncio.run(session.add_items(wrong))
    assert asyncio.run(session.get_items()) == []
    with pytest.raises(lamina.InvalidArgument, match="session_id"):
        LaminaSession("", tmp_path / "v")


_WRITER = """
import asyncio, sys
from lamina.adapters.openai_agents import LaminaSession
session = LaminaSession("s", sys.argv[1])
for i in range(100_000):
    asyncio.run(session.add_items([{"role": "user", "content": f"turn {i}"}, {"role": "assistant", "content": f"reply {i}"}]))
    print(i, flush=True)
"""


def test_what_was_added_survives_a_kill(tmp_path: Path) -> None:
    LaminaSession("s", tmp_path / "v")
    process = subprocess.Popen([sys.executable, "-c", _WRITER, str(tmp_path / "v")], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    done = [int(process.stdout.readline()) for _ in range(5)][-1]
    time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    done = max([done, *(int(line) for line in process.stdout.read().split())])
    process.wait()
    process.stdout.close()
    items = asyncio.run(LaminaSession("s", tmp_path / "v").get_items())
    assert len(items) % 2 == 0, "a call is one commit"
    assert [item["content"] for item in items][: 2 * done + 2] == [  # type: ignore[typeddict-item]
        f"{word} {i}" for i in range(done + 1) for word in ("turn", "reply")
    ]


def test_hostile_items_cost_nothing_but_themselves(tmp_path: Path) -> None:
    def act(text: str, name: str, metadata: dict[str, Any]) -> None:
        async def use() -> None:
            session = LaminaSession(name, tmp_path / "v")
            await session.add_items([{"role": "user", "content": text, **metadata}])
            await session.get_items(2)
            await session.pop_item()
            await session.clear_session()

        asyncio.run(use())

    survives(tmp_path, act)
